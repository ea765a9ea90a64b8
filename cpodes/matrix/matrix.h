/* A real matrix, dense or sparse: one type for the matrices of
 * the user (SUNMatrix, dense, CSC or CSR), and for those made of them. */
#ifndef CPODES_MATRIX_H
#define CPODES_MATRIX_H

#include "cpodes/base/arena.h"

#include <cpodes/cpodes_types.h>
#include <stddef.h>
#include <sundials/sundials_matrix.h>

/* start NULL: dense, value column-major [rows * cols]. Else compressed columns: column j has entries
 * start[j] ... start[j + 1] - 1, rows ascending. */
typedef struct CPMat_ {
  int rows, cols;
  size_t *start; /* [cols + 1] */
  int *row;      /* [start[cols]] */
  double *value;
} CPMat;

/* Empty matrices. 0 or CP_MEM_FAIL, *A is then zero. entries: room of a sparse one, whose start is
 * zero. */
int cpMatCreateDense(CPMat *A, int rows, int cols);
int cpMatCreateSparse(CPMat *A, int rows, int cols, size_t entries);
/* Same structure, values zero. */
int cpMatClone(CPMat *A, const CPMat *like);
void cpMatFree(CPMat *A);
/* Whatever A is then, it is freed with the arena. 0 or CP_MEM_FAIL. */
int cpMatOwn(CPArena *arena, CPMat *A);

size_t cpMatEntries(const CPMat *A);
void cpMatZero(CPMat *A);
/* The place of entry (i, j), or NULL. */
double *cpMatAt(const CPMat *A, int i, int j);

/* Entries of column j: those from cpMatFirst(A, j) to cpMatFirst(A, j + 1), excluded; their rows. */
static inline size_t cpMatFirst(const CPMat *A, int j) {
  return A->start ? A->start[j] : (size_t)j * (size_t)A->rows;
}
static inline int cpMatRow(const CPMat *A, int j, size_t k) {
  return A->start ? A->row[k] : (int)(k - (size_t)j * (size_t)A->rows);
}

/* y (+)= alpha A x, y (+)= alpha A^T x: beta 0 or 1. */
void cpMatTimes(const CPMat *A, double alpha, const double *x, double beta, double *y);
/* y = |A| |x|, entry by entry */
void cpMatAbsTimes(const CPMat *A, const double *x, double *y);
void cpMatTransposedTimes(const CPMat *A, double alpha, const double *x, double beta, double *y);

/* Places (i, j) from which a pattern is made, in any order; a place may occur several times. A list of zeros is empty. */
typedef struct {
  size_t count, room;
  int (*place)[2]; /* row, column */
  int failed;      /* sticky: there was no memory for a place */
} CPPlaces;
void cpPlacesAdd(CPPlaces *list, int i, int j);
/* The entries of A, or of A^T, with the first of them at (row, col). */
void cpPlacesAddMat(CPPlaces *list, const CPMat *A, int row, int col, int transposed);
/* Those of A^T A; A is sparse. */
void cpPlacesAddNormal(CPPlaces *list, const CPMat *A);
/* A matrix with this pattern. The list is empty and its memory free afterwards. 0 or CP_MEM_FAIL. */
int cpMatFromPlaces(CPMat *A, int rows, int cols, CPPlaces *list);

/* A += alpha B, B's pattern within A's (or A dense). */
void cpMatAdd(CPMat *A, double alpha, const CPMat *B);

/* A SUNMatrix with the pattern of tmpl (NULL: dense) beside the CPMat that takes its values. */
typedef struct {
  SUNMatrix S, tmpl; /* the user's side; its template, ours */
  size_t *source;    /* [entries] place of the CPMat's entry in S's data; NULL: dense */
  CPMat A;           /* dense if S is, and then in its memory */
} CPUserMat;

/* U for tmpl, which has been checked (cpCheckPattern), is cloned, and may be NULL. 0 or CP_MEM_FAIL.
 */
int cpUserMatCreate(CPUserMat *U, SUNMatrix tmpl, int rows, int cols, SUNContext ctx);
void cpUserMatFree(CPUserMat *U);
int cpUserMatOwn(CPArena *arena, CPUserMat *U); /* as cpMatOwn */
/* Before the user's function: zeros, and the template's index arrays. */
void cpUserMatClear(CPUserMat *U);
/* After it: values into U->A. 0, or -1: not finite; -2: the index arrays have changed; *i, *j: where. */
int cpUserMatTake(CPUserMat *U, int *i, int *j);

#endif
