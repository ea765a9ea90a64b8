/* Groups of columns that share no row: one difference quotient along the sum of a group's unit
 * vectors gives all entries of its columns (A. R. Curtis, M. J. D. Powell & J. K. Reid, J. Inst.
 * Math. Appl. 13, 1974, 117-119). The algorithm is greedy: in natural order, each column joins the
 * first group that has none of its rows. */
#include "matrix.h"

/* A row of k entries costs k^2 operations here. It needs at least k groups, and evaluating all rows
 * for each group costs more. */
int cpColoringCreate(CPArena *arena, CPColoring *colors, const CPMat *A) {
  const int cols  = A->cols;
  CPArena scratch = {0};
  CPMat byRows;
  int *group = CP_NEW(&scratch, group, cols), *taken = CP_NEW(&scratch, taken, cols + 1);
  *colors = (CPColoring){0};
  CP_NEW(arena, colors->start, cols + 2);
  CP_NEW(arena, colors->col, cols);
  int flag = cpArenaStatus(&scratch) ? CP_MEM_FAIL : cpArenaStatus(arena);
  if (!flag && A->start) flag = cpMatTransposed(&scratch, A, &byRows, NULL);
  for (int j = 0; !flag && j < cols; j++) {
    /* taken[g] = j + 1 if group g has an earlier column that shares a row with column j. In a dense
     * A all columns share rows. */
    for (size_t k = A->start ? A->start[j] : 0; A->start && k < A->start[j + 1]; k++)
      for (size_t l = byRows.start[A->row[k]]; byRows.row[l] < j; l++)
        taken[group[byRows.row[l]]] = j + 1;
    if (!A->start && A->rows > 0) group[j] = j;
    while (taken[group[j]] == j + 1) group[j]++;
    if (group[j] == colors->ngroups) colors->ngroups++;
    colors->start[group[j] + 2]++;
  }
  int *next = flag ? NULL : colors->start + 1; /* becomes the start of the next group */
  for (int g = 0; !flag && g < colors->ngroups; g++) next[g + 1] += next[g];
  for (int j = 0; !flag && j < cols; j++) colors->col[next[group[j]]++] = j;
  cpArenaFree(&scratch);
  return flag;
}
