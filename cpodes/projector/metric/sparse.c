/* Sparse Cholesky factors of a metric: of M_ll = P^T L L^T P by CHOLMOD, F = P^T L^{-T}; held
 * components have unit rows and columns in M_ll and zero rows in F. A = L^{-1} P G_l^T by a sparse
 * triangular solve per constraint, along the paths that metric/paths.c found. */
#include "metric_sparse.h"

#include <stdlib.h>
#include <sunmatrix/sunmatrix_sparse.h>

void cpMetricSparseFreeFactor(CPMetricSparse *s) {
  cholmod_l_free_sparse(&s->S, &s->common);
  cholmod_l_free_factor(&s->L, &s->common);
  free(s->from);
  s->from = NULL;
}

static void sparseDestroy(CPMetric metric) {
  CPMetricSparse *s = metric->content;
  cpMetricSparseFreeFactor(s);
  cholmod_l_finish(&s->common);
  free(s->start);
  free(s->path);
  free(s->next);
  free(s->x);
  free(s);
  metric->content = NULL;
}

int cpMetricSparseFlag(const CPMetricSparse *s) {
  if (s->common.status >= CHOLMOD_OK) return CP_SUCCESS; /* or a warning */
  return s->common.status == CHOLMOD_OUT_OF_MEMORY ? CP_MEM_FAIL : CP_LINSOL_FAIL;
}

/* L's structure, and all memory that factorisations need: by a first one, of I. */
static int firstFactor(const CPLevel *level) {
  CPMetricSparse *s             = level->metric->content;
  const SuiteSparse_long *start = s->S->p;
  double *value                 = s->S->x;
  s->common.method[0].ordering  = CHOLMOD_NATURAL;
  s->common.postorder           = 0;
  if (!(s->L = cholmod_l_analyze(s->S, &s->common))) return cpMetricSparseFlag(s);
  for (int b = 0; b < level->ncols; b++)
    for (SuiteSparse_long e = start[b]; e < start[b + 1]; e++)
      value[e] = e + 1 == start[b + 1] ? 1.0 : 0.0;
  cholmod_l_factorize(s->S, s->L, &s->common);
  return cpMetricSparseFlag(s);
}

static int sparseAllocate(CPLevel *level) {
  const size_t n    = (size_t)level->ncols;
  CPMetricSparse *s = level->metric->content = calloc(1, sizeof *s);
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
  int flag = sparseAllocate(level);
  if (!flag) flag = cpMetricSparseStructure(work, level);
  if (!flag) flag = firstFactor(level);
  return flag;
}

/* ---- values ---- */

static void permutedValues(const CPWork work, const CPLevel *level) {
  CPMetricSparse *s             = level->metric->content;
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
  CPMetricSparse *s = level->metric->content;
  const int *comp = level->metric->comp, n = level->ncols;
  const SuiteSparse_long *start = s->S->p, *first = s->L->p;
  permutedValues(work, level);
  cholmod_l_factorize(s->S, s->L, &s->common);
  if (s->common.status < CHOLMOD_OK)
    return cpReason(work->text, cpMetricSparseFlag(s),
                    "at t = %.15g: CHOLMOD failed in the metric (%d)", t, s->common.status);
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
  CPMetricSparse *s = level->metric->content;
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
  const CPMetricSparse *s = level->metric->content;
  const int *comp         = level->metric->comp;
  for (int a = level->ncols - 1; a >= 0; a--) backwardColumn(s->L, a, xl);
  for (int a = 0; a < level->ncols; a++) x[comp[a]] = cpIsHeld(work, comp[a]) ? 0.0 : xl[a];
}

static void sparseTransposedTimes(const CPWork work, const CPLevel *level, const double *z,
                                  double *xl) {
  const CPMetricSparse *s = level->metric->content;
  const int *comp         = level->metric->comp;
  for (int a = 0; a < level->ncols; a++) xl[a] = cpIsHeld(work, comp[a]) ? 0.0 : z[comp[a]];
  for (int a = 0; a < level->ncols; a++) forwardColumn(s->L, a, xl);
}

const CPMetricOps cpMetricSparseOps = {.create          = sparseCreate,
                                       .factor          = sparseFactor,
                                       .gather          = sparseGather,
                                       .times           = sparseTimes,
                                       .transposedTimes = sparseTransposedTimes,
                                       .destroy         = sparseDestroy};
