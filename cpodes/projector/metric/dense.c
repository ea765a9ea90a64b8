/* Dense Cholesky factors of a metric: of M_ff = L L^T, then F = L^{-T}; or of an operator's D with
 * the free components of the level last, D = [L_hh 0; L_fh L_ff] [...]^T, then F = L_ff. Row a of A
 * is the a-th free component, the rows of held ones stand behind them and are zero. */
#include "cpodes/saddle/lapack.h"
#include "cpodes/saddle/small.h"
#include "metric_matrix.h"

#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef struct {
  double *L;      /* lower triangle; M: [ncols x ncols], D: [n x n]        */
  double *F;      /* within L: L, or L_ff                                  */
  int ld;         /* of L                                                  */
  int nfree;      /* free components: comp[0] ... comp[nfree - 1]          */
  double *kept;   /* M: lower triangle of the matrix that L belongs to     */
  int nkept;      /* its order; 0: there is none                           */
  int *order;     /* D: [n] component of each row of L                     */
  N_Vector x, Dx; /* D: unit vector, and its product                       */
} Dense;

static void denseDestroy(CPMetric metric) {
  Dense *d = metric->content;
  free(d->L);
  free(d->kept);
  free(d->order);
  if (d->x) N_VDestroy(d->x);
  if (d->Dx) N_VDestroy(d->Dx);
  free(d);
  metric->content = NULL;
}

static int allocateSquare(CPLevel *level, int n) {
  Dense *d = level->metric->content = calloc(1, sizeof *d);
  if (!d || !(d->L = malloc((size_t)n * (size_t)n * sizeof *d->L))) return CP_MEM_FAIL;
  d->ld = n;
  return cpMetricFullStructure(level);
}

static int denseCreate(CPWork work, CPLevel *level) {
  (void)work;
  const int flag = allocateSquare(level, level->ncols);
  const size_t n = (size_t)level->ncols;
  Dense *d       = level->metric->content;
  if (flag) return flag;
  d->kept = malloc(n * n * sizeof *d->kept);
  return d->kept ? CP_SUCCESS : CP_MEM_FAIL;
}

static int operatorCreate(CPWork work, CPLevel *level) {
  const CPProjector P = work->P;
  int flag            = allocateSquare(level, P->n);
  Dense *d            = level->metric->content;
  if (flag) return flag;
  d->order = malloc((size_t)P->n * sizeof *d->order);
  d->x     = N_VClone(P->y_tmpl);
  d->Dx    = N_VClone(P->y_tmpl);
  return d->order && d->x && d->Dx ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpMetricOperatorVectors(const CPMetric metric, N_Vector *x, N_Vector *Dx) {
  const Dense *d = metric->content;
  *x             = d->x;
  *Dx            = d->Dx;
}

/* comp: the free components of the level, then the held ones. */
static void separate(const CPWork work, const CPLevel *level) {
  Dense *d  = level->metric->content;
  int *comp = level->metric->comp, last = level->ncols;
  d->nfree = 0;
  for (int q = 0; q < level->ncols; q++) {
    const int j = level->cols[q];
    if (cpIsHeld(work, j)) comp[--last] = j;
    else comp[d->nfree++] = j;
  }
}

/* L <- Cholesky factor of the matrix in work->M, rows and columns as in order [n]. */
static int cholesky(CPWork work, sunrealtype t, Dense *d, const int *order, int n) {
  const size_t ld = (size_t)d->ld;
  int info        = 0;
  for (int b = 0; b < n; b++) {
    const sunrealtype *column = SUNDenseMatrix_Column(work->M, order[b]);
    for (int a = b; a < n; a++) d->L[(size_t)a + ld * (size_t)b] = column[order[a]];
  }
  if (n > 0) F77(dpotrf)("L", &n, d->L, &d->ld, &info);
  if (info < 0) return cpReason(work->text, CP_LINSOL_FAIL, "at t = %.15g: dpotrf failed", t);
  if (info > 0) return cpMetricIndefinite(work, t, order[info - 1]);
  for (int a = 0; a < n; a++) {
    const double pivot    = d->L[(size_t)a * (ld + 1)];
    const double diagonal = SM_ELEMENT_D(work->M, order[a], order[a]);
    if (pivot * pivot <= cpPivotRoundoff(n) * diagonal)
      return cpMetricIndefinite(work, t, order[a]);
  }
  return CP_SUCCESS;
}

/* Mass matrices are often constant. */
static int isKept(CPWork work, const Dense *d, const int *order) {
  const size_t ld = (size_t)d->ld;
  if (d->nkept != d->nfree) return 0;
  for (int b = 0; b < d->nfree; b++) {
    const sunrealtype *column = SUNDenseMatrix_Column(work->M, order[b]);
    for (int a = b; a < d->nfree; a++)
      if (d->kept[(size_t)a + ld * (size_t)b] != column[order[a]]) return 0;
  }
  return 1;
}

static void keep(CPWork work, Dense *d, const int *order) {
  const size_t ld = (size_t)d->ld;
  for (int b = 0; b < d->nfree; b++) {
    const sunrealtype *column = SUNDenseMatrix_Column(work->M, order[b]);
    for (int a = b; a < d->nfree; a++) d->kept[(size_t)a + ld * (size_t)b] = column[order[a]];
  }
  d->nkept = d->nfree;
}

static int denseFactor(CPWork work, sunrealtype t, CPLevel *level) {
  Dense *d         = level->metric->content;
  const int *order = level->metric->comp;
  separate(work, level);
  d->F = d->L;
  if (isKept(work, d, order)) return CP_SUCCESS;
  d->nkept       = 0;
  const int flag = cholesky(work, t, d, order, d->nfree);
  if (!flag) keep(work, d, order);
  return flag;
}

static int operatorFactor(CPWork work, sunrealtype t, CPLevel *level) {
  Dense *d    = level->metric->content;
  const int n = work->P->n, l = (int)(level - work->levels);
  int k = 0;
  separate(work, level);
  for (int j = 0; j < n; j++)
    if (work->P->col_level[j] != l || cpIsHeld(work, j)) d->order[k++] = j;
  for (int a = 0; a < d->nfree; a++) d->order[k + a] = level->metric->comp[a];
  d->F = d->L + (size_t)k * ((size_t)n + 1);
  return cholesky(work, t, d, d->order, n);
}

/* A^T = G L^{-T} */
static void denseGather(CPLevel *level) {
  const Dense *d   = level->metric->content;
  const double one = 1.0;
  if (level->nrows == 0 || d->nfree == 0) return;
  F77(dtrsm)
  ("R", "L", "T", "N", &level->nrows, &d->nfree, &one, d->F, &d->ld, level->AT.value, &level->nrows);
}

/* A^T = G L_ff */
static void operatorGather(CPLevel *level) {
  const Dense *d   = level->metric->content;
  const double one = 1.0;
  if (level->nrows == 0 || d->nfree == 0) return;
  F77(dtrmm)
  ("R", "L", "N", "N", &level->nrows, &d->nfree, &one, d->F, &d->ld, level->AT.value, &level->nrows);
}

/* ---- products with F and F^T, in place ---- */

typedef void (*Product)(const Dense *d, double *x);

static void solveLower(const Dense *d, double *x) { cpSolveLower(d->nfree, d->F, d->ld, 0, x); }

static void solveLowerTransposed(const Dense *d, double *x) {
  cpSolveLowerTransposed(d->nfree, d->F, d->ld, x);
}

static void lowerTimes(const Dense *d, double *x) {
  const int one = 1;
  F77(dtrmv)("L", "N", "N", &d->nfree, d->F, &d->ld, x, &one);
}

static void lowerTransposedTimes(const Dense *d, double *x) {
  const int one = 1;
  F77(dtrmv)("L", "T", "N", &d->nfree, d->F, &d->ld, x, &one);
}

static void spread(const CPLevel *level, Product product, double *xl, double *x) {
  const Dense *d  = level->metric->content;
  const int *comp = level->metric->comp;
  if (d->nfree > 0) product(d, xl);
  for (int a = 0; a < level->ncols; a++) x[comp[a]] = a < d->nfree ? xl[a] : 0.0;
}

static void collect(const CPLevel *level, Product product, const double *z, double *xl) {
  const Dense *d  = level->metric->content;
  const int *comp = level->metric->comp;
  for (int a = 0; a < level->ncols; a++) xl[a] = a < d->nfree ? z[comp[a]] : 0.0;
  if (d->nfree > 0) product(d, xl);
}

static void denseTimes(const CPWork work, const CPLevel *level, double *xl, double *x) {
  (void)work;
  spread(level, solveLowerTransposed, xl, x); /* L^{-T} xl */
}

static void denseTransposedTimes(const CPWork work, const CPLevel *level, const double *z,
                                 double *xl) {
  (void)work;
  collect(level, solveLower, z, xl); /* L^{-1} z_f */
}

static void operatorTimes(const CPWork work, const CPLevel *level, double *xl, double *x) {
  (void)work;
  spread(level, lowerTimes, xl, x); /* L_ff xl */
}

static void operatorTransposedTimes(const CPWork work, const CPLevel *level, const double *z,
                                    double *xl) {
  (void)work;
  collect(level, lowerTransposedTimes, z, xl); /* L_ff^T z_f */
}

const CPMetricOps cpMetricDenseOps = {.create          = denseCreate,
                                      .factor          = denseFactor,
                                      .gather          = denseGather,
                                      .times           = denseTimes,
                                      .transposedTimes = denseTransposedTimes,
                                      .destroy         = denseDestroy};

const CPMetricOps cpMetricOperatorOps = {.create          = operatorCreate,
                                         .factor          = operatorFactor,
                                         .gather          = operatorGather,
                                         .times           = operatorTimes,
                                         .transposedTimes = operatorTransposedTimes,
                                         .destroy         = denseDestroy};
