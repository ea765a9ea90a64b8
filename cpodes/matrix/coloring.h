/* Colouring of columns, for difference quotients. */
#ifndef CPODES_COLORING_H
#define CPODES_COLORING_H

#include <cpodes/cpodes_types.h>
#include <stddef.h>

/* Groups of columns that share no row: G by one evaluation of c per group. */
typedef struct {
  int ngroups;
  int *start; /* [ngroups + 1] */
  int *col;   /* [n] */
} CPColoring;

/* Columns of a pattern (rows x cols, by columns) that share no row, greedily. */
int cpColoringCreate(CPColoring *colors, const size_t *start, const int *row, int rows, int cols);
void cpColoringFree(CPColoring *colors);

#endif
