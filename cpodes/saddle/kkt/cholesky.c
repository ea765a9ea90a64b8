/* Dense Cholesky factors: plain loops for small matrices, LAPACK for others. */
#include "cholesky.h"

#include "cpodes/saddle/lapack.h"
#include "cpodes/saddle/linsol.h"

#include <math.h>
#include <stdlib.h>

int cpCholeskyCreate(CPCholesky *c, int n) {
  const size_t length = (size_t)n + 1;
  c->n                = n;
  c->U                = malloc(length * length * sizeof *c->U);
  c->d                = malloc(length * sizeof *c->d);
  c->inverse          = malloc(length * sizeof *c->inverse);
  c->work             = malloc(length * sizeof *c->work);
  return c->U && c->d && c->inverse && c->work ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpCholeskyFree(CPCholesky *c) {
  free(c->U);
  free(c->d);
  free(c->inverse);
  free(c->work);
  *c = (CPCholesky){0};
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

void cpCholeskySolve(const CPCholesky *c, double *x) {
  cpCholeskyForward(c, x, c->n, 1);
  cpCholeskyBackward(c, x);
}

void cpCholeskyForward(const CPCholesky *c, double *X, int ld, int columns) {
  const double one = 1.0;
  for (int j = 0; j < columns; j++) {
    double *x = X + (size_t)j * (size_t)ld;
    for (int k = 0; k < c->n; k++) x[k] *= c->d[k];
    if (c->n <= CP_SMALL || columns == 1) solveTransposed(c, x);
  }
  if (c->n > CP_SMALL && columns > 1)
    F77(dtrsm)("L", "U", "T", "N", &c->n, &columns, &one, c->U, &c->n, X, &ld);
}

void cpCholeskyBackward(const CPCholesky *c, double *x) {
  solveUpper(c, x);
  for (int k = 0; k < c->n; k++) x[k] *= c->d[k];
}
