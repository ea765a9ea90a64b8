/* Dependent rows of a sparse A, and the multipliers of minimum norm.
 *
 * Rows A_d = C A_k of those kept: multipliers that change no force are N w = (-C^T w, w). The product
 * N w and its transpose take one solution each of the linear solver that found them, for with unit
 * rows, E A S and X = S A_k^T E,
 *
 *   C^T w = E (X^T X)^{-1} X^T (S A_d^T w),   C y = A_d S X (X^T X)^{-1} E y,
 *
 * and conjugate gradients for min |lambda + N w| converge fast, the singular values of N being from 1
 * to sqrt(1 + |C|^2). */
#include "sparse_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORTEST 1.0e-15 /* four roundings */
#define MAXITERS 100

void cpKktSparseFreeRows(CPKktSparse *s) {
  CPSparseRows *r = &s->rows;
  cpLinFree(&r->lin);
  free(r->A.value);
  free(r->unit);
  free(r->x);
  free(r->t);
  free(r->g);
  free(r->p);
  free(r->q);
  *r = (CPSparseRows){0};
}

static int createRows(CPKkt kkt) {
  CPKktSparse *s  = kkt->content;
  CPSparseRows *r = &s->rows;
  const size_t n = (size_t)kkt->n, m = (size_t)kkt->m;
  if (r->lin) return CP_SUCCESS;
  cpKktSparseFreeRows(s); /* what an earlier attempt may have left */
  r->A       = (CPEntries){.start = s->A.start, .row = s->A.row};
  r->A.value = calloc(s->A.start[n] + 1, sizeof *r->A.value);
  r->unit    = malloc(m * sizeof *r->unit);
  r->x       = malloc(n * sizeof *r->x);
  r->t       = malloc(m * sizeof *r->t);
  r->g       = malloc(m * sizeof *r->g);
  r->p       = malloc(m * sizeof *r->p);
  r->q       = malloc(m * sizeof *r->q);
  return r->A.value && r->unit && r->x && r->t && r->g && r->p && r->q
             ? cpLinCreate(&r->lin, CP_LINSOL_SPARSE, kkt->n, kkt->m, &r->A)
             : CP_MEM_FAIL;
}

/* E A S; rows that are not in use are absent. */
static void scaleRows(const CPKkt kkt) {
  CPKktSparse *s       = kkt->content;
  CPSparseRows *r      = &s->rows;
  const double *value  = kkt->A->value;
  const size_t entries = s->A.start[kkt->n];
  cpKktScaleCoordinates(kkt->M, s->scale);
  memset(r->unit, 0, (size_t)kkt->m * sizeof *r->unit);
  for (int k = 0; k < kkt->nrows; k++) r->unit[kkt->row[k]] = 1.0;
  memset(r->t, 0, (size_t)kkt->m * sizeof *r->t);
  for (int j = 0; j < kkt->n; j++)
    for (size_t e = s->A.start[j]; e < s->A.start[j + 1]; e++) {
      r->A.value[e] = s->scale[j] * value[e];
      r->t[s->A.row[e]] += r->A.value[e] * r->A.value[e];
    }
  for (int i = 0; i < kkt->m; i++) r->unit[i] *= r->t[i] > 0.0 ? 1.0 / sqrt(r->t[i]) : 0.0;
  for (size_t e = 0; e < entries; e++) r->A.value[e] *= r->unit[s->A.row[e]];
}

int cpKktSparseFindRows(CPKkt kkt, double sine) {
  CPKktSparse *s  = kkt->content;
  CPSparseRows *r = &s->rows;
  int flag        = createRows(kkt);
  r->found        = 0;
  kkt->rank       = kkt->nrows;
  kkt->dependent  = -1;
  memset(kkt->is_dependent, 0, (size_t)kkt->m);
  if (flag) return flag;
  scaleRows(kkt);
  r->lin->ranktol = fmax(kkt->ranktol, sine);
  flag            = r->lin->ops->factor(r->lin);
  for (int i = 0; !flag && i < kkt->m; i++) {
    if (!r->lin->is_dependent[i]) continue;
    r->found = 1;
    cpKktMarkDependent(kkt, i);
  }
  return flag;
}

/* ---- minimum norm ---- */

/* q = N w; w [m]: zero in rows that are kept */
static int times(const CPKkt kkt, CPSparseRows *r, const double *w, double *q) {
  const CPKktSparse *s = kkt->content;
  cpMatTransposedTimes(kkt->A, 1.0, w, 0.0, r->x);
  for (int j = 0; j < kkt->n; j++) r->x[j] *= s->scale[j];
  const int flag = r->lin->ops->solve_t(r->lin, r->x, q);
  for (int i = 0; i < kkt->m; i++) q[i] = kkt->is_dependent[i] ? w[i] : -r->unit[i] * q[i];
  return flag;
}

/* g = N^T lambda, zero in rows that are kept; *square = |g|^2 */
static int gradient(const CPKkt kkt, CPSparseRows *r, const double *lambda, double *g,
                    double *square) {
  const CPKktSparse *s = kkt->content;
  for (int i = 0; i < kkt->m; i++) r->t[i] = kkt->is_dependent[i] ? 0.0 : r->unit[i] * lambda[i];
  const int flag = r->lin->ops->solve(r->lin, r->t, r->x);
  for (int j = 0; j < kkt->n; j++) r->x[j] *= s->scale[j];
  memcpy(g, lambda, (size_t)kkt->m * sizeof *g);
  cpMatTimes(kkt->A, -1.0, r->x, 1.0, g);
  *square = 0.0;
  for (int i = 0; i < kkt->m; i++) {
    if (!kkt->is_dependent[i]) g[i] = 0.0;
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
 * roundoff is u |N| |lambda|, |N| as the directions show it; each step goes to the minimum along its
 * direction, so that lambda does not grow even if roundoff has chosen that. */
int cpKktSparseShorten(CPKkt kkt, double *lambda) {
  CPKktSparse *s   = kkt->content;
  CPSparseRows *r  = &s->rows;
  const int m      = kkt->m;
  double largest_N = 1.0, before = INFINITY, gamma; /* |N|^2, |g|^2 */
  int flag = gradient(kkt, r, lambda, r->g, &gamma);
  for (int k = 0; !flag && k < MAXITERS; k++) {
    const double length = squareOf(lambda, m);
    if (gamma <= SHORTEST * SHORTEST * largest_N * length) break;
    for (int i = 0; i < m; i++) r->p[i] = (k ? gamma / before * r->p[i] : 0.0) - r->g[i];
    flag = times(kkt, r, r->p, r->q);
    if (flag) break;
    const double square = squareOf(r->q, m), size = squareOf(r->p, m);
    double slope = 0.0; /* -lambda^T N p */
    for (int i = 0; i < m; i++) slope -= r->p[i] * r->g[i];
    for (int i = 0; i < m; i++) lambda[i] += slope / square * r->q[i];
    largest_N = fmax(largest_N, square / size);
    before    = gamma;
    flag      = gradient(kkt, r, lambda, r->g, &gamma);
  }
  return flag;
}
