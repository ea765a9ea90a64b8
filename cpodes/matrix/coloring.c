/* Groups of columns that share no row: one difference quotient along a whole group gives all its
 * entries of the Jacobian (A. R. Curtis, M. J. D. Powell & J. K. Reid, J. Inst. Math. Appl. 13,
 * 1974, 117-119). Columns in their natural order take the first group that has none of their rows.
 *
 * The columns of one row are all of different groups, which fill intervals, mostly: each row keeps
 * the groups that it has met as intervals, few even where the row is long. */
#include "matrix.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  int first, last;
} Interval;

typedef struct {
  CPArena arena;
  int *group;    /* [cols] of each column */
  size_t *from;  /* [rows + 1] row i has met the groups of the intervals met[from[i]], ..., */
  int *count;    /* [rows] so many, in ascending order, with gaps between them */
  Interval *met; /* [start[cols]] */
} Greedy;

static int create(Greedy *g, const size_t *start, const int *row, int rows, int cols) {
  const size_t nnz = start[cols];
  CP_NEW(&g->arena, g->group, cols);
  CP_NEW(&g->arena, g->from, rows + 1);
  CP_NEW(&g->arena, g->count, rows);
  CP_NEW(&g->arena, g->met, nnz);
  if (!g->met) return CP_MEM_FAIL;
  for (size_t k = 0; k < nnz; k++) g->from[row[k] + 1]++;
  for (int i = 0; i < rows; i++) g->from[i + 1] += g->from[i];
  return CP_SUCCESS;
}

/* How many of row i's intervals start at or before the group. */
static int intervalsUpTo(const Greedy *g, int i, int group) {
  const Interval *met = g->met + g->from[i];
  int low = 0, high = g->count[i];
  while (low < high) {
    const int middle = (low + high) / 2;
    if (met[middle].first <= group) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The first group from this one on that row i has not met. */
static int nextFree(const Greedy *g, int i, int group) {
  const Interval *met = g->met + g->from[i];
  const int k         = intervalsUpTo(g, i, group);
  return k > 0 && met[k - 1].last >= group ? met[k - 1].last + 1 : group;
}

/* The first group that none of these rows has met: each row in turn moves it up until all agree. */
static int firstFree(const Greedy *g, const int *rows, size_t nrows) {
  int group = 0;
  for (size_t k = 0, agreed = 0; agreed < nrows; k = k + 1 < nrows ? k + 1 : 0) {
    const int next = nextFree(g, rows[k], group);
    agreed         = next == group ? agreed + 1 : 1;
    group          = next;
  }
  return group;
}

static void meet(Greedy *g, int i, int group) {
  Interval *met = g->met + g->from[i];
  const int k = intervalsUpTo(g, i, group), n = g->count[i];
  const int below     = k > 0 && met[k - 1].last == group - 1,
            above     = k < n && met[k].first == group + 1;
  const size_t behind = (size_t)(n - k) * sizeof *met;
  if (below && above) {
    met[k - 1].last = met[k].last;
    memmove(met + k, met + k + 1, behind - sizeof *met);
  } else if (below) met[k - 1].last = group;
  else if (above) met[k].first = group;
  else {
    memmove(met + k + 1, met + k, behind);
    met[k] = (Interval){group, group};
  }
  g->count[i] += 1 - below - above;
}

static int assignGroups(Greedy *g, const size_t *start, const int *row, int cols) {
  int ngroups = 0;
  for (int j = 0; j < cols; j++) {
    const size_t nrows = start[j + 1] - start[j];
    g->group[j]        = firstFree(g, row + start[j], nrows);
    for (size_t k = start[j]; k < start[j + 1]; k++) meet(g, row[k], g->group[j]);
    if (g->group[j] >= ngroups) ngroups = g->group[j] + 1;
  }
  return ngroups;
}

/* Lists the columns of each group in ascending order. */
static int listGroups(CPColoring *colors, const int *group, int cols) {
  const size_t ngroups = (size_t)colors->ngroups;
  colors->start        = calloc(ngroups + 2, sizeof *colors->start);
  colors->col          = malloc(((size_t)cols + 1) * sizeof *colors->col);
  if (!colors->start || !colors->col) return CP_MEM_FAIL;
  int *next = colors->start + 1; /* ends up as the start of the next group */
  for (int j = 0; j < cols; j++) colors->start[group[j] + 2]++;
  for (size_t k = 0; k < ngroups; k++) next[k + 1] += next[k];
  for (int j = 0; j < cols; j++) colors->col[next[group[j]]++] = j;
  return CP_SUCCESS;
}

int cpColoringCreate(CPColoring *colors, const size_t *start, const int *row, int rows, int cols) {
  Greedy g = {.group = NULL};
  *colors  = (CPColoring){0};
  int flag = create(&g, start, row, rows, cols);
  if (!flag) {
    colors->ngroups = assignGroups(&g, start, row, cols);
    flag            = listGroups(colors, g.group, cols);
  }
  cpArenaFree(&g.arena);
  if (flag) cpColoringFree(colors);
  return flag;
}

void cpColoringFree(CPColoring *colors) {
  free(colors->start);
  free(colors->col);
  *colors = (CPColoring){0};
}
