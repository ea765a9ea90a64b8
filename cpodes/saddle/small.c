/* Products and Cholesky factors of dense matrices. */
#include "small.h"

#include "cpodes/base/random.h"
#include "cpodes/base/vectors.h"
#include "cpodes/matrix/lapack.h"

#include <math.h>
#include <stddef.h>

void cpGram(int m, int n, const double *XT, double *S) {
  const double plus = 1.0, zero = 0.0;
  if (m > CP_SMALL || n > CP_SMALL) {
    F77(dsyrk)("U", "N", &m, &n, &plus, XT, &m, &zero, S, &m);
    return;
  }
  for (int k = 0; k < m * m; k++) S[k] = 0.0;
  for (int k = 0; k < n; k++, XT += m)
    for (int j = 0; j < m; j++)
      for (int i = 0; i <= j; i++) S[i + j * m] += XT[i] * XT[j];
}

/* ---- Cholesky factors ---- */

int cpCholeskyCreate(CPCholesky *c, CPArena *arena, int n) {
  c->n = n;
  CP_NEW(arena, c->U, (size_t)n * (size_t)n);
  CP_ARRAYS(arena, n, &c->d, &c->inverse, &c->work);
  return cpArenaStatus(arena);
}

static double *pivotColumn(const CPCholesky *c, int k) { return c->U + (size_t)k * (size_t)c->n; }

void cpCholeskyUnitDiagonal(CPCholesky *c) {
  for (int k = 0; k < c->n; k++) {
    const double s = pivotColumn(c, k)[k];
    c->d[k]        = s > 0.0 ? 1.0 / sqrt(s) : 1.0;
  }
}

/* Returns 0, or k + 1 if pivot k is not positive; its entry of U then keeps its value. */
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

/* U^T z = x in place; U z = x in place */
static void solveTransposed(const CPCholesky *c, double *x) {
  const int one = 1;
  if (c->n > CP_SMALL) {
    F77(dtrsv)("U", "T", "N", &c->n, c->U, &c->n, x, &one);
    return;
  }
  for (int k = 0; k < c->n; k++) {
    const double *u = pivotColumn(c, k);
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
    const double *u = pivotColumn(c, k);
    x[k] *= c->inverse[k];
    for (int i = 0; i < k; i++) x[i] -= u[i] * x[k];
  }
}

/* ---- singular matrices ---- */

void cpRandomVector(double *v, int length) {
  unsigned state = 1;
  for (int j = 0; j < length; j++) v[j] = 1.5 + 0.5 * cpUniform(&state);
}

/* The component of a random vector along the least eigenvector may be small by a factor of 100; in
 * its solution that eigenvector prevails, so the second solution measures the least eigenvalue. */
int cpJudge(CPSolveFn solve, void *factors, double *x, int length) {
  cpRandomVector(x, length);
  int flag = solve(factors, x);
  if (flag) return flag;
  const double size = sqrt(cpDot(x, x, length));
  /* Then S is regular, unless the component of the random vector along the least eigenvector is
   * below 1e-5. */
  if (size * CP_HALF_DIGITS < 1.0) return 0;
  if (!isfinite(size)) return CP_SINGULAR;
  for (int k = 0; k < length; k++) x[k] /= size;
  flag = solve(factors, x);
  if (flag) return flag;
  return sqrt(cpDot(x, x, length)) * CP_FUZZ < 1.0 ? 0 : CP_SINGULAR;
}

static int trialSolve(void *factors, double *x) {
  solveTransposed(factors, x);
  solveUpper(factors, x);
  return 0;
}

/* The pivot of a row in the span of others at narrow angles may not be small enough: the solution
 * of a system then decides, and the row of the least pivot is returned. */
int cpCholeskyFactor(CPCholesky *c, double least) {
  int smallest = 0, info = 0;
  for (int k = 0; k < c->n; k++) {
    double *u = pivotColumn(c, k);
    for (int i = 0; i <= k; i++) u[i] *= c->d[i] * c->d[k];
  }
  if (c->n <= CP_SMALL) info = factorSmall(c->U, c->n);
  else F77(dpotrf)("U", &c->n, c->U, &c->n, &info);
  if (c->n == 0 || info != 0) return info;
  for (int k = 0; k < c->n; k++) {
    const double pivot = pivotColumn(c, k)[k];
    if (!(pivot > least)) return k + 1;
    if (pivot < pivotColumn(c, smallest)[smallest]) smallest = k;
    c->inverse[k] = 1.0 / pivot;
  }
  const double pivot = pivotColumn(c, smallest)[smallest];
  if (least < CP_CHOLESKY_LEAST) return 0; /* The caller knows that S is regular. */
  if (pivot * pivot < CP_SMALL_PIVOT && cpJudge(trialSolve, c, c->work, c->n)) return smallest + 1;
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
  if (c->n == 1) { /* as on most levels of small systems */
    x[0] *= c->d[0] * c->inverse[0] * (c->d[0] * c->inverse[0]);
    return;
  }
  cpCholeskyForward(c, x);
  cpCholeskyBackward(c, x);
}
