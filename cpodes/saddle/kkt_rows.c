/* Dependent rows of a sparse A, and the multipliers of minimum norm.
 *
 * The rows are those that the sparse Schur complement of A with W = diag(s)^{-2} drops. With A_d = C A_k of those kept,
 * multipliers that change no force are N w = (-C^T w, w). The product N w and its transpose take one solution each of
 * that saddle point,
 *
 *   C^T w = K^T (A_d^T w),   C y = A_d K y,
 *
 * and conjugate gradients for min |mu + N w| converge fast, the singular values of N being from 1
 * to sqrt(1 + |C|^2). */
#include "kkt_impl.h"

#include <math.h>
#include <string.h>

#define SHORTEST 1.0e-15 /* four roundings */
#define MAXITERS 100

int cpKktFindRows(CPSaddle s, double sine) {
  CPKkt *c                      = s->used.content;
  const CPSaddleOptions options = {.type = CP_SADDLE_SPARSE, .finest = s->options.finest};
  int flag     = c->rows ? CP_SUCCESS : cpSaddleCreate(&c->rows, options, NULL, &c->A);
  c->found     = 0;
  s->rank      = s->nrows;
  s->dependent = -1;
  memset(s->is_dependent, 0, (size_t)s->m);
  if (flag) return flag;
  c->A.value = s->A.value;
  cpSaddleScaleCoordinates(s, c->scale);
  for (int j = 0; j < s->n; j++) c->d[j] = c->scale[j] * c->scale[j];
  flag = cpSaddleFactor(c->rows, (CPWeight){.inverse = c->d}, &c->A, s->off, fmax(s->ranktol, sine));
  for (int i = 0; !flag && i < s->m; i++) {
    if (!c->rows->is_dependent[i]) continue;
    c->found = 1;
    cpSaddleMarkDependent(s, i);
  }
  return flag;
}

/* ---- minimum norm ---- */

/* q = N w; w [m]: zero in rows that are kept */
static int times(const CPSaddle s, const double *w, double *q) {
  CPKkt *c = s->used.content;
  cpMatTransposedTimes(&c->A, 1.0, w, 0.0, c->f);
  const int flag = cpSaddleSolve(c->rows, c->f, NULL, NULL, q);
  for (int i = 0; i < s->m; i++) q[i] = s->is_dependent[i] ? w[i] : -q[i];
  return flag;
}

/* g = N^T mu, zero in rows that are kept; *square = |g|^2 */
static int gradient(const CPSaddle s, const double *mu, double *g, double *square) {
  CPKkt *c       = s->used.content;
  const int flag = cpSaddleSolve(c->rows, NULL, mu, c->f, NULL);
  memcpy(g, mu, (size_t)s->m * sizeof *g);
  cpMatTimes(&c->A, -1.0, c->f, 1.0, g);
  *square = 0.0;
  for (int i = 0; i < s->m; i++) {
    if (!s->is_dependent[i]) g[i] = 0.0;
    *square += g[i] * g[i];
  }
  return flag;
}

static double squareOf(const double *v, int length) {
  double sum = 0.0;
  for (int i = 0; i < length; i++) sum += v[i] * v[i];
  return sum;
}

/* The gradient g bounds the distance from the minimum, since no singular value of N is below 1. Its
 * roundoff is u |N| |mu|, |N| as the directions show it; each step goes to the minimum along its
 * direction, so that mu does not grow even if roundoff has chosen that. */
int cpKktShorten(CPSaddle s, double *mu) {
  CPKkt *c         = s->used.content;
  const int m      = s->m;
  double largest_N = 1.0, before = INFINITY, gamma; /* |N|^2, |g|^2 */
  int flag = gradient(s, mu, c->g, &gamma);
  for (int k = 0; !flag && k < MAXITERS; k++) {
    if (gamma <= SHORTEST * SHORTEST * largest_N * squareOf(mu, m)) break;
    for (int i = 0; i < m; i++) c->p[i] = (k ? gamma / before * c->p[i] : 0.0) - c->g[i];
    flag = times(s, c->p, c->q);
    if (flag) break;
    const double square = squareOf(c->q, m), size = squareOf(c->p, m);
    double slope = 0.0; /* -mu^T N p */
    for (int i = 0; i < m; i++) slope -= c->p[i] * c->g[i];
    for (int i = 0; i < m; i++) mu[i] += slope / square * c->q[i];
    largest_N = fmax(largest_N, square / size);
    before    = gamma;
    flag      = gradient(s, mu, c->g, &gamma);
  }
  return flag;
}
