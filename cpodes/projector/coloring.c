/* Groups of columns that share no row: one difference quotient along a whole group gives all its
 * entries of the Jacobian (A. R. Curtis, M. J. D. Powell & J. K. Reid, J. Inst. Math. Appl. 13, 1974,
 * 117-119). Columns in their natural order take the first group that has none of their rows.
 *
 * The columns of one row are all of different groups, so each row keeps the groups that it has met. Only
 * those above a gap: low[i] is the first group without row i, which keeps long rows cheap. The cost is at
 * most the sum of the squared row lengths. */
#include "projector_impl.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  int *group;         /* [cols] of each column                                  */
  int *low;           /* [rows] groups below have row i                         */
  size_t *from, *end; /* [rows + 1], [rows] those above are met[from[i]] ... met[end[i] - 1] */
  int *met;           /* [nnz]                                                  */
  size_t *mark;       /* [cols + 1] groups of the newest set have the newest stamp */
  size_t stamp;
} Greedy;

static int create(Greedy *g, const size_t *start, const int *row, int rows, int cols) {
  const size_t nnz = start[cols];
  g->group         = malloc(((size_t)cols + 1) * sizeof *g->group);
  g->low           = calloc((size_t)rows + 1, sizeof *g->low);
  g->from          = calloc((size_t)rows + 1, sizeof *g->from);
  g->end           = malloc(((size_t)rows + 1) * sizeof *g->end);
  g->met           = malloc((nnz + 1) * sizeof *g->met);
  g->mark          = calloc((size_t)cols + 1, sizeof *g->mark);
  if (!g->group || !g->low || !g->from || !g->end || !g->met || !g->mark) return CP_MEM_FAIL;
  for (size_t k = 0; k < nnz; k++) g->from[row[k] + 1]++;
  for (int i = 0; i < rows; i++) g->from[i + 1] += g->from[i];
  memcpy(g->end, g->from, (size_t)rows * sizeof *g->end);
  return CP_SUCCESS;
}

static void destroy(Greedy *g) {
  free(g->group);
  free(g->low);
  free(g->from);
  free(g->end);
  free(g->met);
  free(g->mark);
}

/* Gives the groups that row i has met, above low[i], the newest stamp. */
static void markRow(Greedy *g, int i) {
  for (size_t k = g->from[i]; k < g->end[i]; k++) g->mark[g->met[k]] = g->stamp;
}

/* The first group that has none of these rows. */
static int firstFree(Greedy *g, const int *rows, size_t nrows) {
  int group = 0;
  g->stamp++;
  for (size_t k = 0; k < nrows; k++) {
    if (g->low[rows[k]] > group) group = g->low[rows[k]];
    markRow(g, rows[k]);
  }
  while (g->mark[group] == g->stamp) group++;
  return group;
}

/* Row i meets a group; if that closes the gap, low[i] moves up to the next one. */
static void meet(Greedy *g, int i, int group) {
  g->met[g->end[i]++] = group;
  if (group > g->low[i]) return;
  g->stamp++;
  markRow(g, i);
  while (g->mark[g->low[i]] == g->stamp) g->low[i]++;
  size_t kept = g->from[i];
  for (size_t k = g->from[i]; k < g->end[i]; k++)
    if (g->met[k] > g->low[i]) g->met[kept++] = g->met[k];
  g->end[i] = kept;
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
  Greedy g = {0};
  *colors  = (CPColoring){0};
  int flag = create(&g, start, row, rows, cols);
  if (!flag) {
    colors->ngroups = assignGroups(&g, start, row, cols);
    flag            = listGroups(colors, g.group, cols);
  }
  destroy(&g);
  if (flag) cpColoringFree(colors);
  return flag;
}

void cpColoringFree(CPColoring *colors) {
  free(colors->start);
  free(colors->col);
  *colors = (CPColoring){0};
}
