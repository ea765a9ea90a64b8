/* Sparse LU factors (KLU) of the scaled KKT matrix K, in an order of little fill of K + K^T, and then
 * with the pivots of the factorisation before for as long as these are good. A system with known
 * solution size judges the factors: by its residual, and K by its solution, which is large if K is
 * singular. Only then dependent rows are looked for. */
#include "sparse_impl.h"

#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Residual of the trial system, relative to |K| |x| + |b|, above which the pivots are renewed; one
 * step of refinement takes what is below to roundoff. */
#define STABLE 1.0e-10

/* Angles that are too narrow are below 1e-6; the shares of accelerations without rows are not. */
#define NARROW      1.0e-5
#define LESS_NARROW 1.0e-4

/* What factors may be, beside a negative code. */
#define SINGULAR CP_LIN_SINGULAR
#define UNSTABLE 2

static int failure(const CPKktSparse *s) {
  return s->common.status == KLU_OUT_OF_MEMORY || s->common.status == KLU_TOO_LARGE ? CP_MEM_FAIL
                                                                                    : CP_LINSOL_FAIL;
}

static void sparseDestroy(CPKkt kkt) {
  CPKktSparse *s = kkt->content;
  klu_l_free_numeric(&s->numeric, &s->common);
  klu_l_free_symbolic(&s->symbolic, &s->common);
  cpKktSparseFreeRows(s);
  cpKktSparseFreeMass(s);
  cpKktSparseFreeMatrix(s);
  free(s);
  kkt->content = NULL;
}

/* Blocks of KLU's own are not asked for: the search for them loses the symmetry of the structure, and
 * may take long. The matrix is scaled already. */
static int sparseCreate(CPKkt kkt) {
  CPKktSparse *s = kkt->content = calloc(1, sizeof *s);
  if (!s) return CP_MEM_FAIL;
  klu_l_defaults(&s->common);
  s->common.btf   = 0;
  s->common.scale = -1;
  int flag        = cpKktSparseCreateMatrix(kkt);
  if (!flag) flag = cpKktSparseCreateMass(kkt);
  if (flag) return flag;
  s->symbolic = klu_l_analyze(s->order, s->start, s->row, &s->common);
  return s->symbolic ? CP_SUCCESS : failure(s);
}

/* ---- factors ---- */

static int backSolve(CPKktSparse *s, double *x) {
  return klu_l_solve(s->symbolic, s->numeric, s->order, 1, x, &s->common) ? 0 : failure(s);
}

/* b = s->x = K^{-1} b, s->r: its residual. 0, UNSTABLE, SINGULAR or a negative code. */
static int trialSolve(void *factors, double *b) {
  CPKktSparse *s = factors;
  double size = 0.0, largest_r = 0.0;
  memcpy(s->x, b, (size_t)s->order * sizeof *s->x);
  const int flag = backSolve(s, s->x);
  if (flag) return flag;
  cpKktSparseResidual(s, b, s->x, s->r);
  for (int k = 0; k < s->order; k++) {
    if (!isfinite(s->x[k])) return SINGULAR;
    size      = fmax(size, fabs(s->x[k]));
    largest_r = fmax(largest_r, fabs(s->r[k]));
    b[k]      = s->x[k];
  }
  return largest_r <= STABLE * (s->norm * size + 1.0) ? 0 : UNSTABLE;
}

/* 0, UNSTABLE, SINGULAR or a negative code. */
static int judge(CPKktSparse *s) { return cpLinJudge(trialSolve, s, s->b, s->order); }

static int factorAnew(CPKktSparse *s) {
  klu_l_free_numeric(&s->numeric, &s->common);
  s->numeric = klu_l_factor(s->start, s->row, s->value, s->symbolic, &s->common);
  if (s->common.status == KLU_OK) {
    const int flag = judge(s);
    return flag == UNSTABLE ? SINGULAR : flag;
  }
  klu_l_free_numeric(&s->numeric, &s->common);
  return s->common.status == KLU_SINGULAR ? SINGULAR : failure(s);
}

/* 0, SINGULAR or a negative code. */
static int factor(CPKktSparse *s) {
  if (s->numeric) {
    klu_l_refactor(s->start, s->row, s->value, s->symbolic, s->numeric, &s->common);
    if (s->common.status == KLU_OK && judge(s) == 0) return 0;
  }
  return factorAnew(s);
}

/* Largest multiplier, and the largest of the others, in the solution of the trial system. */
static double largestMultiplier(const CPKkt kkt, int *row) {
  const CPKktSparse *s = kkt->content;
  double largest       = 0.0;
  for (int k = 0; k < kkt->nrows; k++) {
    const double size = fabs(s->x[kkt->n + kkt->row[k]]);
    if (size > largest) largest = size, *row = kkt->row[k];
  }
  return largest;
}

static double largestAcceleration(const CPKkt kkt) {
  const CPKktSparse *s = kkt->content;
  double largest       = 0.0;
  for (int j = 0; j < kkt->n; j++) largest = fmax(largest, fabs(s->x[j]));
  return largest;
}

/* Is K singular for rows at angles that are too narrow? Then the trial has large multipliers, at
 * accelerations that are smaller by the angle; else x^T M x = 0 and A x = 0 for some x. */
static int isForRows(const CPKkt kkt, int *row) {
  const CPKktSparse *s = kkt->content;
  return s->numeric && largestMultiplier(kkt, row) * NARROW >= largestAcceleration(kkt);
}

/* Without the rows whose sine to the others is below the given one. Codes of factor. */
static int factorWithout(CPKkt kkt, double sine) {
  CPKktSparse *s = kkt->content;
  const int flag = cpKktSparseFindRows(kkt, sine);
  if (flag) return flag;
  cpKktSparseForm(kkt);
  return s->rows.found ? factor(s) : SINGULAR;
}

/* K is singular: without dependent rows, if they have not been looked for; and once more with those at
 * less narrow angles, for the search may miss one that comes out of roundoff. */
static int leaveOut(CPKkt kkt) {
  CPKktSparse *s = kkt->content;
  int row = -1, flag = SINGULAR;
  if (kkt->nrows > 0 && !s->rows.found) flag = factorWithout(kkt, CP_CHOLESKY_LEAST);
  if (flag == SINGULAR && isForRows(kkt, &row)) flag = factorWithout(kkt, LESS_NARROW);
  if (flag != SINGULAR) return flag;
  if (!isForRows(kkt, &row)) return CP_KKT_NOT_DEFINITE;
  cpKktMarkDependent(kkt, row);
  return CP_KKT_DEPENDENT;
}

static int sparseFactor(CPKkt kkt) {
  CPKktSparse *s   = kkt->content;
  const int search = s->rows.found || kkt->ranktol > CP_KKT_RANKTOL; /* once, and again */
  int flag         = search && kkt->nrows > 0 ? cpKktSparseFindRows(kkt, CP_CHOLESKY_LEAST) : 0;
  if (flag) return flag;
  cpKktSparseForm(kkt);
  flag = factor(s);
  if (flag == SINGULAR) flag = leaveOut(kkt);
  int row                 = -1;
  const double multiplier = largestMultiplier(kkt, &row);
  if (multiplier > 0.0) kkt->sine = fmin(1.0, largestAcceleration(kkt) / multiplier);
  return flag ? flag : cpKktSparseCheckMass(kkt);
}

/* ---- solution ---- */

/* x = K^{-1} b, refined once */
static int solveScaled(CPKktSparse *s) {
  memcpy(s->x, s->b, (size_t)s->order * sizeof *s->x);
  int flag = backSolve(s, s->x);
  if (flag) return flag;
  cpKktSparseResidual(s, s->b, s->x, s->r);
  flag = backSolve(s, s->r);
  for (int k = 0; k < s->order; k++) s->x[k] += s->r[k];
  return flag;
}

static int sparseSolve(CPKkt kkt, const double *f, const double *b, double *a, double *lambda) {
  CPKktSparse *s  = kkt->content;
  const int n     = kkt->n;
  const double *d = s->scale, *e = s->scale + n;
  for (int j = 0; j < n; j++) s->b[j] = d[j] * f[j];
  for (int i = 0; i < kkt->m; i++) s->b[n + i] = e[i] > 0.0 ? e[i] * b[i] : 0.0;
  const int flag = solveScaled(s);
  if (flag) return flag;
  for (int j = 0; j < n; j++) a[j] = d[j] * s->x[j];
  for (int i = 0; i < kkt->m; i++) lambda[i] = e[i] * s->x[n + i];
  return s->rows.found ? cpKktSparseShorten(kkt, lambda) : 0;
}

const CPKktOps cpKktSparseOps = {.name    = "sparse KKT matrix",
                                 .type    = CP_KKT_SPARSE,
                                 .create  = sparseCreate,
                                 .factor  = sparseFactor,
                                 .solve   = sparseSolve,
                                 .destroy = sparseDestroy};
