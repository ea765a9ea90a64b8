/* The measuring weights, and the user's metric, evaluated and checked in work->M. */
#include "projector_impl.h"

#include <math.h>

int cpWeights(CPWork work, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  const int n = P->n, ones = work->norm == CP_NORM_L2 || !cpHasDiagonalMetric(P);
  const sunrealtype *z = N_VGetArrayPointer(y), *weight = ewt ? N_VGetArrayPointer(ewt) : NULL;
  double *w = work->rows.w;
  for (int j = 0; j < n; j++) {
    w[j]           = cpWeightOf(weight, z, j);
    work->sqrtd[j] = ones ? 1.0 : 1.0 / w[j];
    if (P->free && P->free[j] == 0) work->sqrtd[j] = 0.0;
  }
  if (cpAllAtLeast(w, n, CP_LEAST_WEIGHT)) return CP_SUCCESS;
  int j = 0;
  while (w[j] >= CP_LEAST_WEIGHT && isfinite(w[j])) j++;
  if (isinf(w[j]) && w[j] > 0.0)
    return cpReason(work->text, CP_ILL_INPUT, "ewt must be finite: ewt[%d] = %g", j, w[j]);
  return cpReason(work->text, CP_ILL_INPUT, "ewt must be positive and at least %g: ewt[%d] = %g",
                  CP_LEAST_WEIGHT, j, w[j]);
}

/* ---- the user's metric ---- */

int cpMetricIndefinite(char *text, sunrealtype t, int component) {
  if (component < 0)
    return cpReason(text, -CP_METRIC_INDEFINITE,
                    "at t = %.10g: the metric is not positive definite on the tangent space", t);
  return cpReason(
      text, -CP_METRIC_INDEFINITE,
      "at t = %.10g: the metric is not positive definite (its Cholesky factorisation ends "
      "at component %d)",
      t, component);
}

int cpMetricCheck(const CPMat *W, sunrealtype t, char *text) {
  for (int j = 0; j < W->cols; j++) {
    if (!(cpMatEntry(W, j, j) > 0.0))
      return cpReason(
          text, -CP_METRIC_INDEFINITE,
          "at t = %.10g: the metric is not positive definite: its diagonal entry %d is %g", t, j,
          cpMatEntry(W, j, j));
  }
  if (cpMatIsSymmetric(W)) return CP_SUCCESS;
  for (int j = 0; j < W->cols; j++)
    for (size_t k = cpMatFirst(W, j); k < cpMatFirst(W, j + 1); k++) {
      const int i = cpMatRow(W, j, k);
      if (i >= j) break;
      const double other = cpMatEntry(W, j, i);
      if (W->value[k] == other) continue;
      if (fabs(W->value[k] - other) > CP_INEXACT * sqrt(*cpMatAt(W, i, i)) * sqrt(*cpMatAt(W, j, j)))
        return cpReason(text, -CP_METRIC_INDEFINITE,
                        "at t = %.10g: the metric is not symmetric: entry (%d, %d) is %.15g, entry "
                        "(%d, %d) is %.15g",
                        t, i, j, W->value[k], j, i, other);
    }
  return CP_SUCCESS;
}

int cpMetricEvaluate(CPWork work, sunrealtype t, N_Vector y) {
  const CPProjector P = work->P;
  CPUserMat *M        = &work->M;
  if (!P->user.metric) return CP_SUCCESS;
  cpUserMatClear(M);
  int flag = cpCallProjector(work, P->user.metric(t, y, M->S, cpWorkData(work)));
  if (flag) return cpUserResult(work->text, flag, t, "the metric");
  flag = cpTakeMatrix(work, t, M, "the metric", "CPProjectorSetNorm", -CP_METRIC_INDEFINITE);
  return flag ? flag : cpMetricCheck(&M->A, t, work->text);
}
