/* Tangent projector P = I - K G and its transpose P' = I - G' K', K the right inverse of G
 * (factor.c). With one level P = I - D G' (G D G')^+ G, symmetric in the metric D^-1. */
#include "projector_impl.h"

/* Factors at (t, y), unless there are some that may be used: those of the projection that gave y.
 */
static int prepare(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = cpWorkUpdate(work, t, y, ewt);
  if (flag || (work->valid && !work->stale && work->age <= work->P->jacfreq)) return flag;
  flag = cpConstraint(work, t, y, work->c);
  return flag ? flag : cpFactor(work, t, y, ewt);
}

int cpTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  CP_COUNT(work, ntangent);
  if (work->P->user_kind) return cpUserTangent(work, t, y, v);
  int flag = prepare(work, t, y, ewt);
  if (flag) return cpCountFailure(work, flag);
  sunrealtype *vd = N_VGetArrayPointer(v);
  cpGradientTimes(work, vd, work->r);
  cpRightInverse(work, work->r, work->x);
  for (int j = 0; j < work->P->n; j++) vd[j] -= work->x[j];
  return CP_SUCCESS;
}

int cpCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  CP_COUNT(work, ntangent);
  int flag = prepare(work, t, y, ewt);
  if (flag) return cpCountFailure(work, flag);
  sunrealtype *wd = N_VGetArrayPointer(w);
  cpRightInverseTransposed(work, wd, work->r);  /* mu = K' w    */
  cpGradientTransposedTimes(work, work->r, wd); /* w  - G' mu   */
  return CP_SUCCESS;
}
