/* How residuals are measured: by the user's tolerances, or by the distance to their surface in
 * units of the state's tolerance. */
#include "projector_impl.h"

#include <float.h>
#include <math.h>

/* Squares below or above these may have lost digits to under- or overflow. */
#define LEAST_SQUARE   1.0e-280
#define LARGEST_SQUARE 1.0e280

/* |g_i|^2 in the diagonal metric (rowscale) and in the weights (unit), over the components that row
 * i moves: those of its own level. Where D = 1/w^2 both are one. */
static void sumSquares(CPWork work, int one) {
  const CPMat *g       = &work->g;
  const int *row_level = work->P->row_level, *col_level = work->P->col_level;
  double *inMetric = work->rowscale, *inWeights = work->unit;
  for (int i = 0; i < work->P->m; i++) inMetric[i] = inWeights[i] = 0.0;
  for (int j = 0; j < work->P->n; j++) {
    const double d = work->sqrtd[j], unit = one ? 0.0 : 1.0 / work->w[j];
    if (d == 0.0) continue;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i = g->row[k];
      if (row_level[i] != col_level[j]) continue;
      const double gd = g->value[k] * d;
      inMetric[i] += gd * gd;
      if (one) continue;
      const double gw = g->value[k] * unit;
      inWeights[i] += gw * gw;
    }
  }
}

static int isSafe(double square) {
  return (square > LEAST_SQUARE) & (square < LARGEST_SQUARE); /* no branch */
}

/* The roots. Rows whose squares are not safe, or that move no component, are left over: how many.
 */
static int takeRoots(CPWork work, int one) {
  double *inMetric = work->rowscale, *inWeights = work->unit;
  const int m = work->P->m;
  int unsafe  = 0;
  for (int i = 0; i < m; i++) {
    work->left[i] = (char)!(isSafe(inMetric[i]) & (one | isSafe(inWeights[i])));
    unsafe += work->left[i];
  }
  for (int i = 0; i < m; i++) inMetric[i] = sqrt(inMetric[i]);
  for (int i = 0; i < m; i++) inWeights[i] = one ? inMetric[i] : sqrt(inWeights[i]);
  return unsafe;
}

/* The same for the rows that takeRoots left over, safe from under- and overflow, and slower. A row
 * that moves no component is measured over all. */
static void sumSafely(CPWork work) {
  const CPProjector P = work->P;
  const CPMat *g      = &work->g;
  double *inMetric = work->rowscale, *inWeights = work->unit, *overAll = work->s;
  const char *left = work->left;
  for (int i = 0; i < P->m; i++)
    if (left[i]) inMetric[i] = inWeights[i] = overAll[i] = 0.0;
  for (int j = 0; j < P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i = g->row[k];
      if (!left[i]) continue;
      const double gw = g->value[k] / work->w[j], gd = g->value[k] * work->sqrtd[j];
      overAll[i] = hypot(overAll[i], gw);
      if (P->row_level[i] != P->col_level[j] || gd == 0.0) continue;
      inMetric[i]  = hypot(inMetric[i], gd);
      inWeights[i] = hypot(inWeights[i], gw);
    }
  for (int i = 0; i < P->m; i++)
    if (left[i] && !(inMetric[i] > 0.0)) inWeights[i] = overAll[i];
}

/* A row that is switched off has neither a gradient nor a residual that counts. */
static void leaveOut(CPWork work, int i) {
  work->rowscale[i] = work->unit[i] = 0.0;
  work->size[i]                     = INFINITY;
}

void cpScaleRows(CPWork work) {
  const CPProjector P = work->P;
  const double *ctol  = P->ctol ? N_VGetArrayPointer(P->ctol) : NULL;
  const int one       = work->norm == CP_NORM_ERROR && cpHasDiagonalMetric(P);
  sumSquares(work, one);
  if (takeRoots(work, one) > 0) sumSafely(work);
  for (int i = 0; i < P->m; i++) {
    double *scale = &work->rowscale[i];
    *scale        = *scale >= DBL_MIN ? 1.0 / *scale : 0.0; /* below, its inverse overflows */
    work->size[i] = ctol && i < P->mc ? ctol[i] : work->unit[i];
  }
  for (int i = 0; P->active && i < P->mc; i++)
    if (!cpIsActive(P, i)) leaveOut(work, i);
}

/* Residual that a row without any gradient may have. */
#define ZERO_ROW_RESIDUAL 1.0e-12

static double sizeOf(const CPWork work, int i) {
  return work->size[i] > 0.0 ? work->size[i] : ZERO_ROW_RESIDUAL;
}

int cpIsLeftAlone(const CPWork work, const double *c, int i) {
  return work->rowscale[i] == 0.0 && fabs(c[i]) <= sizeOf(work, i);
}

double cpViolation(CPWork work, const double *c, int *worst) {
  double violation = 0.0;
  *worst           = 0;
  for (int i = 0; i < work->P->m; i++) {
    if (cpIsLeftAlone(work, c, i)) continue;
    const double size = sizeOf(work, i);
    if (fabs(c[i]) > violation * size) violation = fabs(c[i]) / size, *worst = i;
  }
  return violation;
}

double cpDistance(const CPWork work, const double *c) {
  double largest = 0.0;
  for (int i = 0; i < work->P->m; i++)
    if (work->unit[i] > 0.0) largest = fmax(largest, fabs(c[i]) / work->unit[i]);
  return largest;
}

/* Multiple of roundoff in the terms of a constraint below which its residual is noise. */
#define FLOOR_FACTOR 8.0

/* c_i = O(u sum_j |G_ij y_j|). */
int cpAtRoundoffFloor(CPWork work, const double *y, const double *c, double eps) {
  const CPMat *g = &work->g;
  double *terms  = work->s;
  for (int i = 0; i < work->P->m; i++) terms[i] = 0.0;
  for (int j = 0; j < work->P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
      terms[g->row[k]] += fabs(g->value[k] * y[j]);
  for (int i = 0; i < work->P->m; i++)
    if (fabs(c[i]) > eps * work->size[i] && fabs(c[i]) > FLOOR_FACTOR * CP_UROUND * terms[i] &&
        !cpIsLeftAlone(work, c, i))
      return 0;
  return 1;
}
