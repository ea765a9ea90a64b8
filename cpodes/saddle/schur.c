/* Dense Schur complement S = A^T A = U^T U by Cholesky: x = A S^{-1} r, mu = S^{-1} A^T x.
 *
 * The products with A run over its nonzero entries where these are few, else through the BLAS. */
#include "lapack.h"
#include "linsol.h"
#include "small.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Part of nonzero entries above which A is treated as a dense matrix. */
#define DENSE_ABOVE 0.25

typedef struct {
  double *U;       /* m x m, upper triangle: Cholesky factor of S */
  double *mu;      /* [m] */
  double *inverse; /* [m] 1 / u_kk */
  double *A;       /* n x m, in use when is_dense */
  int is_dense;
} Schur;

static void schurDestroy(CPLin lin) {
  Schur *s = lin->content;
  free(s->U);
  free(s->mu);
  free(s->inverse);
  free(s->A);
  free(s);
  lin->content = NULL;
}

static int schurCreate(CPLin lin) {
  Schur *s = lin->content = calloc(1, sizeof *s);
  const size_t m = (size_t)lin->mmax, n = (size_t)lin->n;
  if (!s) return CP_MEM_FAIL;
  s->U       = malloc(m * m * sizeof *s->U);
  s->mu      = malloc(m * sizeof *s->mu);
  s->inverse = malloc(m * sizeof *s->inverse);
  s->A       = malloc(n * m * sizeof *s->A);
  return s->U && s->mu && s->inverse && s->A ? CP_SUCCESS : CP_MEM_FAIL;
}

/* Upper triangle of S = sum_j a_j a_j^T, a_j the entries of component j. */
static void schurComplement(CPLin lin, Schur *s) {
  const CPEntries *a = lin->AT;
  const double one = 1.0, zero = 0.0;
  const int m = lin->m, n = lin->n;
  s->is_dense = m > CP_SMALL && (double)a->start[n] > DENSE_ABOVE * n * m;
  if (s->is_dense) {
    cpLinScatter(lin, s->A);
    F77(dsyrk)("U", "T", &m, &n, &one, s->A, &n, &zero, s->U, &m);
    return;
  }
  memset(s->U, 0, (size_t)m * (size_t)m * sizeof *s->U);
  for (int j = 0; j < n; j++)
    for (size_t l = a->start[j]; l < a->start[j + 1]; l++) {
      double *column = s->U + (size_t)a->row[l] * (size_t)m;
      for (size_t k = a->start[j]; k <= l; k++) column[a->row[k]] += a->value[k] * a->value[l];
    }
}

static void cholesky(double *S, int m, int *info) {
  if (m <= CP_SMALL) F77(dpotf2)("U", &m, S, &m, info);
  else F77(dpotrf)("U", &m, S, &m, info);
}

/* U' U mu = mu by columns of U; 1 / u_kk in s->inverse */
static void backSolveSmall(const Schur *s, int m, double *mu) {
  for (int k = 0; k < m; k++) { /* U' z = mu */
    const double *u = s->U + (size_t)k * (size_t)m;
    for (int i = 0; i < k; i++) mu[k] -= u[i] * mu[i];
    mu[k] *= s->inverse[k];
  }
  for (int k = m - 1; k >= 0; k--) { /* U mu = z */
    const double *u = s->U + (size_t)k * (size_t)m;
    mu[k] *= s->inverse[k];
    for (int i = 0; i < k; i++) mu[i] -= u[i] * mu[k];
  }
}

/* mu = S^{-1} mu */
static void schurBackSolve(const Schur *s, int m, double *mu) {
  const int one = 1;
  if (m <= CP_SMALL) {
    backSolveSmall(s, m, mu);
    return;
  }
  F77(dtrsv)("U", "T", "N", &m, s->U, &m, mu, &one); /* U' z  = mu */
  F77(dtrsv)("U", "N", "N", &m, s->U, &m, mu, &one); /* U  mu = z  */
}

static int trialSolve(void *factors, double *mu) {
  const CPLin lin = factors;
  schurBackSolve(lin->content, lin->m, mu);
  return 0;
}

/* A column that depends on others although its pivot is not small enough: that of the least one. */
static void checkSingular(CPLin lin, Schur *s) {
  const size_t m = (size_t)lin->m;
  int least      = 0;
  if (!cpLinJudge(trialSolve, lin, s->mu, lin->m)) return;
  for (int k = 1; k < lin->m; k++)
    if (s->U[(size_t)k * (m + 1)] < s->U[(size_t)least * (m + 1)]) least = k;
  lin->dependent = least;
}

/* With unit columns the squared pivot u_kk^2 is the squared sine of column k's angle to the columns
 * before it. Cholesky of S squares the condition, so that an angle below the root of its roundoff
 * cannot be told from dependence. */
static int schurFactor(CPLin lin) {
  Schur *s    = lin->content;
  const int m = lin->m;
  int info;
  lin->rank      = m;
  lin->dependent = -1;
  lin->sine      = 1.0;
  s->is_dense    = 0;
  if (m == 0) return 0;
  schurComplement(lin, s);  /* S = A' A */
  cholesky(s->U, m, &info); /* S = U' U */
  if (info < 0) return CP_LINSOL_FAIL;
  if (info > 0) lin->dependent = info - 1;
  const double limit = fmax(lin->ranktol, 1.0e-6);
  for (int k = 0; !info && lin->dependent < 0 && k < m; k++) {
    const double pivot = s->U[(size_t)k * (size_t)(m + 1)];
    if (!(pivot > limit)) lin->dependent = k;
    else s->inverse[k] = 1.0 / pivot;
    lin->sine = fmin(lin->sine, pivot);
  }
  if (lin->dependent < 0 && lin->sine * lin->sine < CP_LIN_SMALL_PIVOT) checkSingular(lin, s);
  memset(lin->is_dependent, 0, (size_t)m);
  if (lin->dependent < 0) return 0;
  lin->is_dependent[lin->dependent] = 1;
  return CP_LIN_DEPENDENT;
}

/* x = A mu */
static void multiply(CPLin lin, const Schur *s, const double *mu, double *x) {
  const CPEntries *a = lin->AT;
  const double done = 1.0, zero = 0.0;
  const int m = lin->m, n = lin->n, one = 1;
  if (s->is_dense) {
    F77(dgemv)("N", &n, &m, &done, s->A, &n, mu, &one, &zero, x, &one);
    return;
  }
  for (int j = 0; j < n; j++) {
    x[j] = 0.0;
    for (size_t k = a->start[j]; k < a->start[j + 1]; k++) x[j] += a->value[k] * mu[a->row[k]];
  }
}

/* mu = A' x */
static void multiplyTransposed(CPLin lin, const Schur *s, const double *x, double *mu) {
  const CPEntries *a = lin->AT;
  const double done = 1.0, zero = 0.0;
  const int m = lin->m, n = lin->n, one = 1;
  if (s->is_dense) {
    F77(dgemv)("T", &n, &m, &done, s->A, &n, x, &one, &zero, mu, &one);
    return;
  }
  for (int i = 0; i < m; i++) mu[i] = 0.0;
  for (int j = 0; j < n; j++)
    for (size_t k = a->start[j]; k < a->start[j + 1]; k++) mu[a->row[k]] += a->value[k] * x[j];
}

static int schurSolve(CPLin lin, const double *r, double *x) {
  Schur *s = lin->content;
  for (int k = 0; k < lin->m; k++) s->mu[k] = r[k];
  schurBackSolve(s, lin->m, s->mu); /* mu = S^-1 r */
  multiply(lin, s, s->mu, x);       /* x  = A mu   */
  return 0;
}

static int schurSolveT(CPLin lin, const double *x, double *mu) {
  const Schur *s = lin->content;
  multiplyTransposed(lin, s, x, mu); /* A' x          */
  schurBackSolve(s, lin->m, mu);     /* mu = S^-1 A'x */
  return 0;
}

const CPLinOps cpSchurOps = {.name    = "Schur complement, Cholesky",
                             .type    = CP_LINSOL_SCHUR,
                             .create  = schurCreate,
                             .factor  = schurFactor,
                             .solve   = schurSolve,
                             .solve_t = schurSolveT,
                             .destroy = schurDestroy};
