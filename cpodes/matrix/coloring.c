/* Groups of columns that share no row: one difference quotient along a whole group gives all its
 * entries of the Jacobian (A. R. Curtis, M. J. D. Powell & J. K. Reid, J. Inst. Math. Appl. 13,
 * 1974, 117-119). Columns in their natural order take the first group that has none of their rows. */
#include "matrix.h"

#include <stdlib.h>

/* A row of k entries takes k^2 operations here, and has k groups: fewer than evaluating all rows for each group takes. */
int cpColoringCreate(CPColoring *colors, const size_t *start, const int *row, int rows, int cols) {
  const CPMat A = {.rows = rows, .cols = cols, .start = (size_t *)start, .row = (int *)row};
  CPArena arena = {0};
  CPMat byRows;
  int *group = CP_NEW(&arena, group, cols), *taken = CP_NEW(&arena, taken, cols + 1);
  *colors = (CPColoring){.start = calloc((size_t)cols + 2, sizeof *colors->start),
                         .col   = calloc((size_t)cols + 1, sizeof *colors->col)};
  if (cpMatTransposed(&arena, &A, &byRows, NULL) || !colors->start || !colors->col) {
    cpArenaFree(&arena);
    cpColoringFree(colors);
    return CP_MEM_FAIL;
  }
  for (int j = 0; j < cols;
       j++) { /* taken: j + 1 for the groups of earlier columns that share a row with column j */
    for (size_t k = start[j]; k < start[j + 1]; k++)
      for (size_t l = byRows.start[row[k]]; byRows.row[l] < j; l++)
        taken[group[byRows.row[l]]] = j + 1;
    while (taken[group[j]] == j + 1) group[j]++;
    if (group[j] == colors->ngroups) colors->ngroups++;
    colors->start[group[j] + 2]++;
  }
  int *next = colors->start + 1; /* ends up as the start of the next group */
  for (int g = 0; g < colors->ngroups; g++) next[g + 1] += next[g];
  for (int j = 0; j < cols; j++) colors->col[next[group[j]]++] = j;
  cpArenaFree(&arena);
  return CP_SUCCESS;
}

void cpColoringFree(CPColoring *colors) {
  free(colors->start);
  free(colors->col);
  *colors = (CPColoring){0};
}
