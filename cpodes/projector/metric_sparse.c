/* Sparse Cholesky factors of a metric: of M_ll = P^T L L^T P by CHOLMOD, F = P^T L^{-T}; held components
 * have unit rows and columns in M_ll and zero rows in F.
 *
 * A = L^{-1} P G_l^T by a sparse triangular solve per constraint: its column has entries where paths in the
 * elimination tree lead from the entries of its gradient to the root (J. R. Gilbert, T. Peierls, SIAM J.
 * Sci. Stat. Comput. 9 (1988) 862-874). That wants short paths, not least fill: minimum degree turns a
 * tridiagonal M into one path of n, nested dissection into some of log2 n. Structure and order are
 * found once.
 */
#include "metric_matrix.h"

#include <cholmod.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  cholmod_common common;
  cholmod_sparse *S; /* P M_ll P^T, upper triangle, columns sorted           */
  size_t *from;      /* [nnz of S] its entries in M's data                   */
  cholmod_factor *L; /* of S: simplicial, columns sorted, the diagonal first */
  size_t *start;     /* [nrows + 1] column k of A: start[k] ... in path      */
  int *path;         /* its rows, ascending                             */
  size_t *next;      /* [ncols] place in AT, per row of A                    */
  double *x;         /* [ncols] a column of A, zero between uses             */
} Sparse;

static void freeFactor(Sparse *s) {
  cholmod_l_free_sparse(&s->S, &s->common);
  cholmod_l_free_factor(&s->L, &s->common);
  free(s->from);
  s->from = NULL;
}

static void sparseDestroy(CPMetric metric) {
  Sparse *s = metric->content;
  freeFactor(s);
  cholmod_l_finish(&s->common);
  free(s->start);
  free(s->path);
  free(s->next);
  free(s->x);
  free(s);
  metric->content = NULL;
}

static int cholmodFlag(const Sparse *s) {
  if (s->common.status >= CHOLMOD_OK) return CP_SUCCESS; /* or a warning */
  return s->common.status == CHOLMOD_OUT_OF_MEMORY ? CP_MEM_FAIL : CP_LINSOL_FAIL;
}

/* ---- structure: what is needed while it is found ---- */

typedef struct {
  int *row;      /* [n] row of A by component, the inverse of comp; -1: not of the level */
  size_t *start; /* [nrows + 1] gradient of the level's constraint k:                  */
  int *entry;    /* its components, start[k] ... start[k + 1] - 1                      */
  int *other;    /* [ncols] another comp                                               */
  int *mark;     /* [ncols] the constraint that came this way last                     */
  SuiteSparse_long *parent; /* [ncols] elimination tree of S, -1: root                            */
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

/* S and from, for the components in the order of comp. M's pattern is symmetric: it does not matter
 * whether it is stored by columns or by rows. */
static int permutedMatrix(const CPWork work, const CPLevel *level, Scratch *scratch) {
  Sparse *s                   = level->metric->content;
  const int *comp             = level->metric->comp;
  const sunindextype *pointer = SM_INDEXPTRS_S(work->P->M_tmpl);
  const sunindextype *index   = SM_INDEXVALS_S(work->P->M_tmpl);
  const size_t n = (size_t)level->ncols, most = cpMatrixEntries(work->P->M_tmpl);
  freeFactor(s);
  s->S    = cholmod_l_allocate_sparse(n, n, most, 1, 1, 1, CHOLMOD_REAL, &s->common);
  s->from = malloc((most + 1) * sizeof *s->from);
  if (!s->S || !s->from) return CP_MEM_FAIL;
  SuiteSparse_long *start = s->S->p, *row = s->S->i;
  for (size_t b = 0; b <= n; b++) start[b] = 0;
  for (int a = 0; a < level->ncols; a++) scratch->row[comp[a]] = a;
  for (int a = 0; a < level->ncols; a++)
    for (sunindextype e = pointer[comp[a]]; e < pointer[comp[a] + 1]; e++)
      if (scratch->row[index[e]] >= a) start[scratch->row[index[e]] + 1]++;
  for (size_t b = 0; b < n; b++) start[b + 1] += start[b];
  for (int a = 0; a < level->ncols; a++) /* row by row, so that columns are sorted */
    for (sunindextype e = pointer[comp[a]]; e < pointer[comp[a] + 1]; e++) {
      const int b = scratch->row[index[e]];
      if (b < a) continue;
      s->from[start[b]] = (size_t)e;
      row[start[b]++]   = a;
    }
  for (size_t b = n; b > 0; b--) start[b] = start[b - 1];
  start[0] = 0;
  return CP_SUCCESS;
}

/* comp by minimum degree. */
static int minimumDegree(const CPWork work, const CPLevel *level, Scratch *scratch) {
  Sparse *s      = level->metric->content;
  int *comp      = level->metric->comp;
  const int flag = permutedMatrix(work, level, scratch);
  if (flag) return flag;
  s->common.method[0].ordering = CHOLMOD_AMD;
  s->common.postorder          = 1;
  if (!(s->L = cholmod_l_analyze(s->S, &s->common))) return cholmodFlag(s);
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
  Sparse *s = level->metric->content;
  int flag  = permutedMatrix(work, level, scratch);
  if (!flag && !cholmod_l_etree(s->S, scratch->parent, &s->common)) flag = cholmodFlag(s);
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

/* Sum over the constraints of the longest path to the root: at most as many entries as A has, and easily
 * found where these are far too many to be counted one by one. */
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
  Sparse *s          = level->metric->content;
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

/* L's structure, and all memory that factorisations need: by a first one, of I. */
static int firstFactor(const CPLevel *level) {
  Sparse *s                     = level->metric->content;
  const SuiteSparse_long *start = s->S->p;
  double *value                 = s->S->x;
  s->common.method[0].ordering  = CHOLMOD_NATURAL;
  s->common.postorder           = 0;
  if (!(s->L = cholmod_l_analyze(s->S, &s->common))) return cholmodFlag(s);
  for (int b = 0; b < level->ncols; b++)
    for (SuiteSparse_long e = start[b]; e < start[b + 1]; e++)
      value[e] = e + 1 == start[b + 1] ? 1.0 : 0.0;
  cholmod_l_factorize(s->S, s->L, &s->common);
  return cholmodFlag(s);
}

static int sparseAllocate(CPLevel *level) {
  const size_t n = (size_t)level->ncols;
  Sparse *s = level->metric->content = calloc(1, sizeof *s);
  if (!s || !cholmod_l_start(&s->common)) return CP_MEM_FAIL;
  s->common.print      = 0;
  s->common.nmethods   = 1;
  s->common.supernodal = CHOLMOD_SIMPLICIAL;
  s->common.final_ll   = 1;
  s->start             = calloc((size_t)level->nrows + 1, sizeof *s->start);
  s->next              = calloc(n, sizeof *s->next);
  s->x                 = calloc(n, sizeof *s->x);
  return s->start && s->next && s->x ? CP_SUCCESS : CP_MEM_FAIL;
}

static int sparseCreate(CPWork work, CPLevel *level) {
  Scratch scratch = {0};
  int flag        = sparseAllocate(level);
  if (!flag) flag = scratchCreate(work, level, &scratch);
  if (!flag) flag = chooseOrder(work, level, &scratch);
  if (!flag) flag = pathStructure(level, &scratch);
  if (!flag) flag = firstFactor(level);
  scratchFree(&scratch);
  return flag;
}

/* ---- values ---- */

static void permutedValues(const CPWork work, const CPLevel *level) {
  Sparse *s                     = level->metric->content;
  const int *comp               = level->metric->comp;
  const SuiteSparse_long *start = s->S->p, *row = s->S->i;
  const sunrealtype *M = SM_DATA_S(work->M);
  double *value        = s->S->x;
  for (int b = 0; b < level->ncols; b++)
    for (SuiteSparse_long e = start[b]; e < start[b + 1]; e++) {
      const int held = cpIsHeld(work, comp[b]) || cpIsHeld(work, comp[row[e]]);
      value[e]       = !held ? M[s->from[e]] : row[e] == b ? 1.0 : 0.0;
    }
}

static int sparseFactor(CPWork work, sunrealtype t, CPLevel *level) {
  Sparse *s       = level->metric->content;
  const int *comp = level->metric->comp, n = level->ncols;
  const SuiteSparse_long *start = s->S->p, *first = s->L->p;
  permutedValues(work, level);
  cholmod_l_factorize(s->S, s->L, &s->common);
  if (s->common.status < CHOLMOD_OK)
    return cpReason(work->text, cholmodFlag(s), "at t = %.15g: CHOLMOD failed in the metric (%d)",
                    t, s->common.status);
  if (s->L->minor < (size_t)n) return cpMetricIndefinite(work, t, comp[s->L->minor]);
  const double *pivot = s->L->x, *value = s->S->x;
  for (int a = 0; a < n; a++) {
    const double diagonal = value[start[a + 1] - 1], root = pivot[first[a]];
    if (root * root <= cpPivotRoundoff(n) * diagonal) return cpMetricIndefinite(work, t, comp[a]);
  }
  return CP_SUCCESS;
}

/* x <- one column further in L^{-1} x. */
static void forwardColumn(const cholmod_factor *L, int a, double *x) {
  const SuiteSparse_long first = ((SuiteSparse_long *)L->p)[a], *row = L->i;
  const SuiteSparse_long end = first + ((SuiteSparse_long *)L->nz)[a];
  const double *value        = L->x;
  if (x[a] == 0.0) return;
  x[a] /= value[first];
  for (SuiteSparse_long e = first + 1; e < end; e++) x[row[e]] -= value[e] * x[a];
}

/* ... in L^{-T} x, from the last column to the first. */
static void backwardColumn(const cholmod_factor *L, int a, double *x) {
  const SuiteSparse_long first = ((SuiteSparse_long *)L->p)[a], *row = L->i;
  const SuiteSparse_long end = first + ((SuiteSparse_long *)L->nz)[a];
  const double *value        = L->x;
  double sum                 = x[a];
  for (SuiteSparse_long e = first + 1; e < end; e++) sum -= value[e] * x[row[e]];
  x[a] = sum / value[first];
}

/* A <- L^{-1} A, column by column: out of AT, solved, and back. */
static void sparseGather(CPLevel *level) {
  Sparse *s     = level->metric->content;
  double *value = level->AT.value, *x = s->x;
  for (int a = 0; a < level->ncols; a++) s->next[a] = level->AT.start[a];
  for (int k = 0; k < level->nrows; k++) {
    const int *path     = s->path + s->start[k];
    const size_t length = s->start[k + 1] - s->start[k];
    for (size_t e = 0; e < length; e++) x[path[e]] = value[s->next[path[e]]];
    for (size_t e = 0; e < length; e++) forwardColumn(s->L, path[e], x);
    for (size_t e = 0; e < length; e++) {
      value[s->next[path[e]]++] = x[path[e]];
      x[path[e]]                = 0.0;
    }
  }
}

static void sparseTimes(const CPWork work, const CPLevel *level, double *xl, double *x) {
  const Sparse *s = level->metric->content;
  const int *comp = level->metric->comp;
  for (int a = level->ncols - 1; a >= 0; a--) backwardColumn(s->L, a, xl);
  for (int a = 0; a < level->ncols; a++) x[comp[a]] = cpIsHeld(work, comp[a]) ? 0.0 : xl[a];
}

static void sparseTransposedTimes(const CPWork work, const CPLevel *level, const double *z,
                                  double *xl) {
  const Sparse *s = level->metric->content;
  const int *comp = level->metric->comp;
  for (int a = 0; a < level->ncols; a++) xl[a] = cpIsHeld(work, comp[a]) ? 0.0 : z[comp[a]];
  for (int a = 0; a < level->ncols; a++) forwardColumn(s->L, a, xl);
}

const CPMetricOps cpMetricSparseOps = {.create          = sparseCreate,
                                       .factor          = sparseFactor,
                                       .gather          = sparseGather,
                                       .times           = sparseTimes,
                                       .transposedTimes = sparseTransposedTimes,
                                       .destroy         = sparseDestroy};
