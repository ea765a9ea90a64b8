/* The polynomial of a step of Radau IIA: divided differences, prediction of the next step,
 * interpolation. */
#include "radau.h"

#include "explicit.h"

#include <math.h>
#include <string.h>

/* ---- sums ---- */

CP_WIDE static void sum(int n, const double *y0, int terms, const double *w, const double *Z,
                        int stride, double *restrict y) {
  if (y0) memcpy(y, y0, (size_t)n * sizeof *y);
  else memset(y, 0, (size_t)n * sizeof *y);
  for (int k = 0; k < terms; k++) {
    const double *restrict z = Z + (size_t)k * (size_t)stride, f = w[k];
    for (int j = 0; f != 0.0 && j < n; j++) y[j] += f * z[j];
  }
}

/* A function with several versions (CP_WIDE) would be exported if it were not static. */
void cpRadauSum(int n, const double *y0, int terms, const double *w, const double *Z, int stride,
                double *restrict y) {
  sum(n, y0, terms, w, Z, stride, y);
}

sunrealtype cpRadauSquares(int n, const sunrealtype *x, const sunrealtype *ewt) {
  sunrealtype s = 0.0;
  for (int j = 0; j < n; j++) s += x[j] * x[j] * ewt[j] * ewt[j];
  return s;
}

/* ---- the predictor: the polynomial of the last step ---- */

static double node(const CPRadauTable *T, int k) { return k < T->s ? T->c[T->s - 1 - k] : 0.0; }

void cpRadauDivide(const CPRadau R, const sunrealtype *x, const sunrealtype *x0, sunrealtype *D) {
  const CPRadauTable *T = R->table;
  const int s = T->s, N = R->N;
  const size_t bytes = (size_t)N * sizeof *D;
  for (int k = 0; k < s; k++) memcpy(D + k * N, x + (s - 1 - k) * N, bytes);
  memcpy(D + s * N, x0, bytes);
  for (int level = 1; level <= s; level++)
    for (int k = s; k >= level; k--) {
      const double f           = 1.0 / (node(T, k) - node(T, k - level));
      double *restrict a       = D + k * N;
      const double *restrict b = a - N;
      for (int j = 0; j < N; j++) a[j] = f * (a[j] - b[j]);
    }
}

void cpRadauDifferences(CPOneStep mem, sunrealtype h) {
  const CPRadau R        = mem->own;
  const sunrealtype *ewt = N_VGetArrayPointer(mem->base.ewt);
  cpRadauDivide(R, R->x, R->x0, R->D_new);
  for (int k = 0; k <= R->table->s; k++)
    R->size_new[k] = fabs(h) * sqrt(cpRadauSquares(R->n, R->D_new + k * R->N, ewt) / R->n);
}

/* Returns the degree with the least estimated error at theta, the end of the new step: from there
 * on the terms of the polynomial grow. The error of a degree is the next term; that of the highest
 * degree is extrapolated from the last two terms. */
static int degreeOf(const CPRadauTable *L, const sunrealtype *size, double theta) {
  double term[CP_RADAU_STAGES + 1], product = 1.0, least = INFINITY;
  int degree = 0;
  for (int k = 0; k <= L->s; k++) {
    term[k] = size[k] * product;
    product *= theta - node(L, k);
  }
  for (int k = 0; k <= L->s; k++) {
    const double error =
        k < L->s ? term[k + 1] : term[k] * fmin(1.0, term[k] / fmax(term[k - 1], 1.0e-300));
    if (error < least) least = error, degree = k;
  }
  return degree;
}

/* When the number of independent rows changes, multipliers jump between two steps. Their prediction
 * then omits the difference that contains their values at the start of the last step. */
void cpRadauPredict(CPOneStep mem, sunrealtype h, const sunrealtype *D, const sunrealtype *x0,
                    sunrealtype *x) {
  const CPRadau R       = mem->own;
  const CPRadauTable *T = R->table, *L = R->last;
  const int n = R->n, N = R->N;
  const size_t bytes = (size_t)N * sizeof *x;
  for (int i = 0; !L && i < T->s; i++) memcpy(x + i * N, x0, bytes);
  if (!L) return;
  const double ratio      = h / R->hlast;
  const int degree        = degreeOf(L, R->size, R->origin + ratio);
  const int degree_lambda = R->jump && degree == L->s ? degree - 1 : degree;
  for (int i = 0; i < T->s; i++) {
    double w[CP_RADAU_STAGES + 1] = {1.0};
    for (int k = 0; k < L->s; k++) w[k + 1] = w[k] * (R->origin + ratio * T->c[i] - node(L, k));
    sum(n, NULL, degree + 1, w, D, N, x + i * N);
    sum(R->system.m, NULL, degree_lambda + 1, w, D + n, N, x + i * N + n);
  }
}

void cpRadauStart(CPRadau R, const sunrealtype *D, sunrealtype *x) {
  double w[CP_RADAU_STAGES + 1] = {1.0};
  for (int k = 0; k < R->last->s; k++) w[k + 1] = -w[k] * node(R->last, k);
  sum(R->N, NULL, R->last->s + 1, w, D, R->N, x);
}

/* ---- interpolation: y(theta) = y_0 + h int_0^theta k, with k of the last step ---- */

int cpRadauDegree(CPOneStep mem) { return ((CPRadau)mem->own)->last->s + 1; }

/* The difference of order s also contains k at the start of the step. Its term vanishes at both
 * ends, and raises the order of the polynomial by one. Where the step skips a fast transient this
 * term is not small, and is left out. */
int cpRadauValue(CPOneStep mem, const sunrealtype *D, N_Vector ylast, sunrealtype t, int k,
                 N_Vector dky) {
  const CPRadau R       = mem->own;
  const CPRadauTable *L = R->last;
  const sunrealtype h = mem->hlast, theta = (t - mem->tlast) / h, unit = pow(h, -k);
  const int terms          = R->size[L->s] <= R->size[L->s - 1] ? L->s + 1 : L->s;
  const CPPolynomial blend = {{0.0, 0.0, 3.0, -2.0}}; /* for the correction by the projection */
  CPPolynomial product     = {{0.0, 1.0}}; /* the integral of prod_{l < p} (theta - node_l) */
  double w[CP_RADAU_STAGES + 1], moved = unit * cpPolynomialValue(&blend, 3, theta, k);
  for (int p = 0; p < terms; p++) {
    w[p] = h * unit * cpPolynomialValue(&product, p + 1, theta, k);
    double a[CP_MAX_DEGREE + 1];
    for (int i = 0; i <= p; i++) a[i] = (i + 1) * product.a[i + 1];
    a[p + 1] = 0.0;
    for (int i = p + 1; i >= 0; i--) {
      a[i]             = (i > 0 ? a[i - 1] : 0.0) - node(L, p) * a[i];
      product.a[i + 1] = a[i] / (i + 1);
    }
  }
  sunrealtype *y                = N_VGetArrayPointer(dky);
  const sunrealtype *correction = D + (L->s + 1) * R->N;
  sum(R->n, k == 0 ? N_VGetArrayPointer(ylast) : NULL, terms, w, D, R->N, y);
  for (int j = 0; j < R->n; j++) y[j] += moved * correction[j];
  return CP_SUCCESS;
}

int cpRadauInterpolate(CPOneStep mem, sunrealtype t, int k, N_Vector dky) {
  return cpRadauValue(mem, ((CPRadau)mem->own)->D, mem->ylast, t, k, dky);
}
