/* Products and triangular systems of dense matrices, small or large. */
#include "small.h"

#include "cpodes/base/vectors.h"
#include "lapack.h"

#include <stddef.h>

static const int one = 1;

static const double *columnOf(const double *A, int ld, int j) { return A + (size_t)j * (size_t)ld; }

void cpSolveLower(int n, const double *L, int ld, int unit, double *x) {
  if (n > CP_SMALL) {
    F77(dtrsv)("L", "N", unit ? "U" : "N", &n, L, &ld, x, &one);
    return;
  }
  for (int k = 0; k < n; k++) {
    const double *l = columnOf(L, ld, k);
    if (!unit) x[k] /= l[k];
    for (int i = k + 1; i < n; i++) x[i] -= l[i] * x[k];
  }
}

void cpSolveLowerTransposed(int n, const double *L, int ld, double *x) {
  if (n > CP_SMALL) {
    F77(dtrsv)("L", "T", "N", &n, L, &ld, x, &one);
    return;
  }
  for (int k = n - 1; k >= 0; k--) {
    const double *l = columnOf(L, ld, k);
    for (int i = k + 1; i < n; i++) x[k] -= l[i] * x[i];
    x[k] /= l[k];
  }
}

void cpSolveUpper(int n, const double *U, int ld, double *x) {
  if (n > CP_SMALL) {
    F77(dtrsv)("U", "N", "N", &n, U, &ld, x, &one);
    return;
  }
  for (int k = n - 1; k >= 0; k--) {
    const double *u = columnOf(U, ld, k);
    x[k] /= u[k];
    for (int i = 0; i < k; i++) x[i] -= u[i] * x[k];
  }
}

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

void cpTimes(int n, int m, double alpha, const double *X, const double *x, double beta, double *y) {
  if (m > CP_SMALL || n > CP_SMALL) {
    F77(dgemv)("N", &n, &m, &alpha, X, &n, x, &one, &beta, y, &one);
    return;
  }
  for (int i = 0; i < n; i++) y[i] = beta == 0.0 ? 0.0 : beta * y[i];
  for (int j = 0; j < m; j++) {
    const double *column = columnOf(X, n, j), xj = alpha * x[j];
    for (int i = 0; i < n; i++) y[i] += column[i] * xj;
  }
}

void cpTransposedTimes(int n, int m, double alpha, const double *X, const double *x, double beta,
                       double *y) {
  if (m > CP_SMALL || n > CP_SMALL) {
    F77(dgemv)("T", &n, &m, &alpha, X, &n, x, &one, &beta, y, &one);
    return;
  }
  for (int j = 0; j < m; j++)
    y[j] = alpha * cpDot(columnOf(X, n, j), x, n) + (beta == 0.0 ? 0.0 : beta * y[j]);
}
