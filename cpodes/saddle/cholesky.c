/* Dense Cholesky factors: plain loops for small matrices, LAPACK for others. */
#include "cholesky.h"

#include "lapack.h"
#include "linsol.h"

#include <math.h>

int cpCholeskyCreate(CPCholesky *c, CPArena *arena, int n) {
  c->n = n;
  CP_NEW(arena, c->U, (size_t)n * (size_t)n);
  CP_NEW(arena, c->d, n);
  CP_NEW(arena, c->inverse, n);
  CP_NEW(arena, c->work, n);
  return cpArenaStatus(arena);
}

static double *columnOf(const CPCholesky *c, int k) { return c->U + (size_t)k * (size_t)c->n; }

void cpCholeskyUnitDiagonal(CPCholesky *c) {
  for (int k = 0; k < c->n; k++) {
    const double s = columnOf(c, k)[k];
    c->d[k]        = s > 0.0 ? 1.0 / sqrt(s) : 1.0;
  }
}

/* The pivot that fails keeps its value. */
static int factorSmall(double *U, int n) {
  for (int k = 0; k < n; k++) {
    double *u = U + (size_t)k * (size_t)n, square = u[k];
    for (int i = 0; i < k; i++) {
      const double *v = U + (size_t)i * (size_t)n;
      for (int l = 0; l < i; l++) u[i] -= v[l] * u[l];
      u[i] /= v[i];
      square -= u[i] * u[i];
    }
    if (!(square > 0.0)) return k + 1;
    u[k] = sqrt(square);
  }
  return 0;
}

int cpCholeskySmall(double *U, int n) { return factorSmall(U, n) == 0; }

static int factorScaled(CPCholesky *c) {
  int info = 0;
  for (int k = 0; k < c->n; k++) {
    double *u = columnOf(c, k);
    for (int i = 0; i <= k; i++) u[i] *= c->d[i] * c->d[k];
  }
  if (c->n <= CP_SMALL) return factorSmall(c->U, c->n);
  F77(dpotrf)("U", &c->n, c->U, &c->n, &info);
  return info;
}

/* U^T z = x in place; U z = x in place */
static void solveTransposed(const CPCholesky *c, double *x) {
  const int one = 1;
  if (c->n > CP_SMALL) {
    F77(dtrsv)("U", "T", "N", &c->n, c->U, &c->n, x, &one);
    return;
  }
  for (int k = 0; k < c->n; k++) {
    const double *u = columnOf(c, k);
    for (int i = 0; i < k; i++) x[k] -= u[i] * x[i];
    x[k] *= c->inverse[k];
  }
}

static void solveUpper(const CPCholesky *c, double *x) {
  const int one = 1;
  if (c->n > CP_SMALL) {
    F77(dtrsv)("U", "N", "N", &c->n, c->U, &c->n, x, &one);
    return;
  }
  for (int k = c->n - 1; k >= 0; k--) {
    const double *u = columnOf(c, k);
    x[k] *= c->inverse[k];
    for (int i = 0; i < k; i++) x[i] -= u[i] * x[k];
  }
}

static int trialSolve(void *factors, double *x) {
  solveTransposed(factors, x);
  solveUpper(factors, x);
  return 0;
}

/* A row in the span of others at narrow angles has a pivot that is not small enough: then the
 * solution of a system tells, and the row of the least pivot is named. */
int cpCholeskyFactor(CPCholesky *c, double least) {
  int smallest   = 0;
  const int info = factorScaled(c);
  if (c->n == 0 || info != 0) return info;
  for (int k = 0; k < c->n; k++) {
    const double pivot = columnOf(c, k)[k];
    if (!(pivot > least)) return k + 1;
    if (pivot < columnOf(c, smallest)[smallest]) smallest = k;
    c->inverse[k] = 1.0 / pivot;
  }
  const double pivot = columnOf(c, smallest)[smallest];
  if (pivot * pivot < CP_LIN_SMALL_PIVOT && cpLinJudge(trialSolve, c, c->work, c->n))
    return smallest + 1;
  return 0;
}

void cpCholeskyForward(const CPCholesky *c, double *x) {
  for (int k = 0; k < c->n; k++) x[k] *= c->d[k];
  solveTransposed(c, x);
}

void cpCholeskyBackward(const CPCholesky *c, double *x) {
  solveUpper(c, x);
  for (int k = 0; k < c->n; k++) x[k] *= c->d[k];
}

void cpCholeskySolve(const CPCholesky *c, double *x) {
  cpCholeskyForward(c, x);
  cpCholeskyBackward(c, x);
}
