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

int cpMatrixTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  sunrealtype *vd = N_VGetArrayPointer(v);
  int flag        = prepare(work, t, y, ewt);
  if (flag) return flag;
  cpGradientTimes(work, vd, work->r);
  flag = cpRightInverse(work, work->r, work->x);
  for (int j = 0; !flag && j < work->P->n; j++) vd[j] -= work->x[j];
  return flag;
}

int cpMatrixCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  sunrealtype *wd = N_VGetArrayPointer(w);
  int flag        = prepare(work, t, y, ewt);
  if (!flag) flag = cpRightInverseTransposed(work, wd, work->r); /* mu = K' w    */
  if (!flag) cpGradientTransposedTimes(work, work->r, wd);       /* w  - G' mu   */
  return flag;
}
