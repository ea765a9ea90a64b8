/* How residuals are measured: by the user's tolerances, or by the distance to their surface in
 * units of the state's tolerance. */
#include "projector_impl.h"

#include <math.h>

/* Squares below or above these may have lost digits to under- or overflow. */
#define LEAST_SQUARE   1.0e-280
#define LARGEST_SQUARE 1.0e280

/* The norm so far with one more entry: of squares, or safe from under- and overflow, and slower. */
static double add(double sum, double entry, int safe) {
  return safe ? hypot(sum, entry) : sum + entry * entry;
}

/* |g_i| in the diagonal metric (rowscale) and in the weights (unit), over the components that row i
 * moves: those of its own level; and in the weights over all (s). Squared unless safe. 0 if squares
 * were not safe. */
static int sumRows(CPWork work, int safe) {
  const CPProjector P = work->P;
  const CPEntries *g  = &work->g;
  double *inMetric = work->rowscale, *inWeights = work->unit, *overAll = work->s;
  int fine = 1;
  for (int i = 0; i < P->m; i++) inMetric[i] = inWeights[i] = overAll[i] = 0.0;
  for (int j = 0; j < P->n; j++) {
    const double unit = 1.0 / work->w[j];
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i     = g->row[k];
      const double gw = g->value[k] * unit, gd = g->value[k] * work->sqrtd[j];
      overAll[i] = add(overAll[i], gw, safe);
      if (P->row_level[i] != P->col_level[j] || gd == 0.0) continue;
      inMetric[i]  = add(inMetric[i], gd, safe);
      inWeights[i] = add(inWeights[i], gw, safe);
      fine         = fine && inMetric[i] > LEAST_SQUARE && inMetric[i] < LARGEST_SQUARE;
    }
  }
  return fine;
}

/* A row that is switched off has neither a gradient nor a residual that counts. */
static void leaveOut(CPWork work, int i) {
  work->rowscale[i] = work->unit[i] = 0.0;
  work->size[i]                     = INFINITY;
}

/* A row that moves no component is measured over all. */
void cpScaleRows(CPWork work) {
  const double *ctol = work->P->ctol ? N_VGetArrayPointer(work->P->ctol) : NULL;
  const int safe     = !sumRows(work, 0);
  if (safe) sumRows(work, 1);
  for (int i = 0; i < work->P->m; i++) {
    const int moves    = work->rowscale[i] > 0.0;
    const double size  = moves ? work->unit[i] : work->s[i];
    const double scale = safe ? work->rowscale[i] : sqrt(work->rowscale[i]);
    work->unit[i]      = safe ? size : sqrt(size);
    work->rowscale[i]  = moves ? 1.0 / scale : 0.0;
    work->size[i]      = ctol && i < work->P->mc ? ctol[i] : work->unit[i];
    if (!cpIsActive(work->P, i)) leaveOut(work, i);
  }
}

/* Residual that a row without any gradient may have. */
#define ZERO_ROW_RESIDUAL 1.0e-12

/* A row that no component can move is satisfied within one tolerance: no correction can do better.
 */
double cpViolation(CPWork work, const double *c, int *worst) {
  double violation = 0.0;
  *worst           = 0;
  for (int i = 0; i < work->P->m; i++) {
    const double size = work->size[i] > 0.0 ? work->size[i] : ZERO_ROW_RESIDUAL;
    if (work->rowscale[i] == 0.0 && fabs(c[i]) <= size) continue;
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
  const CPEntries *g = &work->g;
  double *terms      = work->s;
  for (int i = 0; i < work->P->m; i++) terms[i] = 0.0;
  for (int j = 0; j < work->P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
      terms[g->row[k]] += fabs(g->value[k] * y[j]);
  for (int i = 0; i < work->P->m; i++)
    if (fabs(c[i]) > eps * work->size[i] && fabs(c[i]) > FLOOR_FACTOR * CP_UROUND * terms[i])
      return 0;
  return 1;
}
