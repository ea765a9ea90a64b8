/* Structure of A = L^{-1} P G_l^T in a sparse metric. A sparse triangular solve with the gradient
 * of a constraint fills the paths that lead from its entries to the root of L's elimination tree
 * (J. R. Gilbert, T. Peierls, SIAM J. Sci. Stat. Comput. 9 (1988) 862-874). That wants short paths,
 * not least fill: minimum degree turns a tridiagonal M into one path of n, nested dissection into
 * some of log2 n. Order and structure are found once. */
#include "metric_sparse.h"

#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* What is needed while it is found. */
typedef struct {
  int *row;      /* [n] row of A by component, the inverse of comp; -1: not of the level */
  size_t *start; /* [nrows + 1] gradient of the level's constraint k:                  */
  int *entry;    /* its components, start[k] ... start[k + 1] - 1                      */
  int *other;    /* [ncols] another comp                                               */
  int *mark;     /* [ncols] the constraint that came this way last                     */
  SuiteSparse_long *parent; /* [ncols] elimination tree of S, -1: root; before that places in S */
} Scratch;

static void scratchFree(Scratch *scratch) {
  free(scratch->row);
  free(scratch->start);
  free(scratch->entry);
  free(scratch->other);
  free(scratch->mark);
  free(scratch->parent);
}

/* The level's part of G by constraints. */
static int gradientPatterns(const CPWork work, const CPLevel *level, Scratch *scratch) {
  const CPEntries *g  = &work->g;
  const int *position = level->metric->position, m = level->nrows;
  size_t *start = scratch->start = calloc((size_t)m + 2, sizeof *start);
  if (!start) return CP_MEM_FAIL;
  if (m == 0) return CP_SUCCESS;
  for (int q = 0; q < level->ncols; q++)
    for (size_t e = g->start[level->cols[q]]; e < g->start[level->cols[q] + 1]; e++)
      if (position[g->row[e]] >= 0) start[position[g->row[e]] + 2]++;
  for (int k = 0; k < m; k++) start[k + 2] += start[k + 1];
  if (!(scratch->entry = malloc((start[m + 1] + 1) * sizeof *scratch->entry))) return CP_MEM_FAIL;
  for (int q = 0; q < level->ncols; q++)
    for (size_t e = g->start[level->cols[q]]; e < g->start[level->cols[q] + 1]; e++)
      if (position[g->row[e]] >= 0)
        scratch->entry[start[position[g->row[e]] + 1]++] = level->cols[q];
  return CP_SUCCESS; /* start[k + 1] has moved on from the start of row k to that of row k + 1 */
}

static int scratchCreate(const CPWork work, const CPLevel *level, Scratch *scratch) {
  const size_t n  = (size_t)level->ncols;
  scratch->row    = malloc((size_t)work->P->n * sizeof *scratch->row);
  scratch->other  = malloc(n * sizeof *scratch->other);
  scratch->mark   = malloc(n * sizeof *scratch->mark);
  scratch->parent = malloc(n * sizeof *scratch->parent);
  if (!scratch->row || !scratch->other || !scratch->mark || !scratch->parent) return CP_MEM_FAIL;
  for (int j = 0; j < work->P->n; j++) scratch->row[j] = -1;
  return gradientPatterns(work, level, scratch);
}

/* Room for S and from. */
static int allocateMatrix(const CPWork work, const CPLevel *level, const Scratch *scratch) {
  CPMetricSparse *s = level->metric->content;
  const int *comp = level->metric->comp, n = level->ncols;
  const sunindextype *pointer = SM_INDEXPTRS_S(work->P->M_tmpl);
  const sunindextype *index   = SM_INDEXVALS_S(work->P->M_tmpl);
  size_t count                = 0;
  for (int a = 0; a < n; a++)
    for (sunindextype e = pointer[comp[a]]; e < pointer[comp[a] + 1]; e++)
      count += scratch->row[index[e]] >= a;
  cpMetricSparseFreeFactor(s);
  s->S = cholmod_l_allocate_sparse((size_t)n, (size_t)n, count, 1, 1, 1, CHOLMOD_REAL, &s->common);
  s->from = malloc((count + 1) * sizeof *s->from);
  return s->S && s->from ? CP_SUCCESS : CP_MEM_FAIL;
}

/* S and from, for the components in the order of comp. M's pattern is symmetric: it does not matter
 * whether it is stored by columns or by rows. */
static int permutedMatrix(const CPWork work, const CPLevel *level, Scratch *scratch) {
  CPMetricSparse *s = level->metric->content;
  const int *comp = level->metric->comp, n = level->ncols;
  const sunindextype *pointer = SM_INDEXPTRS_S(work->P->M_tmpl);
  const sunindextype *index   = SM_INDEXVALS_S(work->P->M_tmpl);
  for (int a = 0; a < n; a++) scratch->row[comp[a]] = a;
  const int flag = allocateMatrix(work, level, scratch);
  if (flag) return flag;
  SuiteSparse_long *start = s->S->p, *row = s->S->i, *next = scratch->parent;
  for (int b = 0; b <= n; b++) start[b] = 0;
  for (int a = 0; a < n; a++)
    for (sunindextype e = pointer[comp[a]]; e < pointer[comp[a] + 1]; e++)
      if (scratch->row[index[e]] >= a) start[scratch->row[index[e]] + 1]++;
  for (int b = 0; b < n; b++) start[b + 1] += start[b];
  for (int b = 0; b < n; b++) next[b] = start[b];
  for (int a = 0; a < n; a++) /* row by row, so that columns are sorted */
    for (sunindextype e = pointer[comp[a]]; e < pointer[comp[a] + 1]; e++) {
      const int b = scratch->row[index[e]];
      if (b < a) continue;
      s->from[next[b]] = (size_t)e;
      row[next[b]++]   = a;
    }
  return CP_SUCCESS;
}

/* comp by minimum degree. */
static int minimumDegree(const CPWork work, const CPLevel *level, Scratch *scratch) {
  CPMetricSparse *s = level->metric->content;
  int *comp         = level->metric->comp;
  const int flag    = permutedMatrix(work, level, scratch);
  if (flag) return flag;
  s->common.method[0].ordering = CHOLMOD_AMD;
  s->common.postorder          = 1;
  if (!(s->L = cholmod_l_analyze(s->S, &s->common))) return cpMetricSparseFlag(s);
  const SuiteSparse_long *order = s->L->Perm;
  for (int a = 0; a < level->ncols; a++) comp[a] = level->cols[order[a]];
  return CP_SUCCESS;
}

static int nestedDissection(const CPWork work, const CPLevel *level) {
  int *comp   = level->metric->comp;
  SUNMatrix M = work->P->M_tmpl;
  memcpy(comp, level->cols, (size_t)level->ncols * sizeof *comp);
  return cpNestedDissection(SM_INDEXPTRS_S(M), SM_INDEXVALS_S(M), work->P->n, comp, level->ncols);
}

/* S and its elimination tree, for comp. */
static int applyOrder(const CPWork work, const CPLevel *level, Scratch *scratch) {
  CPMetricSparse *s = level->metric->content;
  int flag          = permutedMatrix(work, level, scratch);
  if (!flag && !cholmod_l_etree(s->S, scratch->parent, &s->common)) flag = cpMetricSparseFlag(s);
  return flag;
}

/* Entries of column k of A, into path unless NULL. */
static size_t walk(const Scratch *scratch, int k, int *path) {
  size_t length = 0;
  for (size_t e = scratch->start[k]; e < scratch->start[k + 1]; e++)
    for (SuiteSparse_long a = scratch->row[scratch->entry[e]]; a >= 0 && scratch->mark[a] != k;
         a                  = scratch->parent[a]) {
      scratch->mark[a] = k;
      if (path) path[length] = (int)a;
      length++;
    }
  return length;
}

static void forgetMarks(const CPLevel *level, Scratch *scratch) {
  for (int a = 0; a < level->ncols; a++) scratch->mark[a] = -1;
}

static size_t countEntries(const CPLevel *level, Scratch *scratch) {
  size_t count = 0;
  forgetMarks(level, scratch);
  for (int k = 0; k < level->nrows; k++) count += walk(scratch, k, NULL);
  return count;
}

/* Sum over the constraints of the longest path to the root: at most as many entries as A has, and
 * easily found where these are far too many to be counted one by one. */
static size_t sumOfPaths(const CPLevel *level, Scratch *scratch) {
  int *length = scratch->mark;
  size_t sum  = 0;
  for (int a = level->ncols - 1; a >= 0; a--) /* parents stand behind their children */
    length[a] = scratch->parent[a] < 0 ? 1 : 1 + length[scratch->parent[a]];
  for (int k = 0; k < level->nrows; k++) {
    int longest = 0;
    for (size_t e = scratch->start[k]; e < scratch->start[k + 1]; e++) {
      const int path = length[scratch->row[scratch->entry[e]]];
      if (path > longest) longest = path;
    }
    sum += (size_t)longest;
  }
  return sum;
}

/* Times the entries of G from which paths count as long. Bodies of 6 components stay below. */
#define LONG_PATHS 6

/* Minimum degree, unless its paths are long and those of nested dissection are shorter. */
static int chooseOrder(const CPWork work, const CPLevel *level, Scratch *scratch) {
  int *comp = level->metric->comp, *other = scratch->other;
  int flag = minimumDegree(work, level, scratch);
  if (!flag) flag = applyOrder(work, level, scratch);
  if (flag) return flag;
  const size_t paths = sumOfPaths(level, scratch);
  if (paths <= LONG_PATHS * scratch->start[level->nrows]) return CP_SUCCESS;
  memcpy(other, comp, (size_t)level->ncols * sizeof *comp);
  flag = nestedDissection(work, level);
  if (!flag) flag = applyOrder(work, level, scratch);
  if (flag || sumOfPaths(level, scratch) < paths) return flag;
  memcpy(comp, other, (size_t)level->ncols * sizeof *comp);
  return applyOrder(work, level, scratch);
}

static int ascending(const void *a, const void *b) {
  const int i = *(const int *)a, j = *(const int *)b;
  return (i > j) - (i < j);
}

/* A's columns (path) and, from them, AT. */
static int pathStructure(CPLevel *level, Scratch *scratch) {
  CPMetricSparse *s  = level->metric->content;
  CPEntries *AT      = &level->AT;
  const int m        = level->nrows;
  const size_t count = countEntries(level, scratch);
  s->path            = malloc((count + 1) * sizeof *s->path);
  AT->row            = malloc((count + 1) * sizeof *AT->row);
  if (!s->path || !AT->row) return CP_MEM_FAIL;
  forgetMarks(level, scratch);
  for (int k = 0; k < m; k++) {
    int *path           = s->path + s->start[k];
    const size_t length = walk(scratch, k, path);
    s->start[k + 1]     = s->start[k] + length;
    qsort(path, length, sizeof *path, ascending);
    for (size_t e = 0; e < length; e++) AT->start[path[e] + 1]++;
  }
  for (int a = 0; a < level->ncols; a++) AT->start[a + 1] += AT->start[a];
  for (int a = 0; a < level->ncols; a++) s->next[a] = AT->start[a];
  for (int k = 0; k < m; k++)
    for (size_t e = s->start[k]; e < s->start[k + 1]; e++) AT->row[s->next[s->path[e]]++] = k;
  return CP_SUCCESS;
}

int cpMetricSparseStructure(const CPWork work, CPLevel *level) {
  Scratch scratch = {0};
  int flag        = scratchCreate(work, level, &scratch);
  if (!flag) flag = chooseOrder(work, level, &scratch);
  if (!flag) flag = pathStructure(level, &scratch);
  scratchFree(&scratch);
  return flag;
}
