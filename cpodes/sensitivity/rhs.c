/* (df/dy) s + df/dp by one difference of sixth order along (s, e_i):
 *
 *   d/de f(t, y + e s, p + e e_i) at e = 0,   f by CVODES' user_data */
#include "sens_impl.h"

#include "cpodes/base/differences.h"

#include <math.h>
#include <stdlib.h>

sunrealtype cpSensLeastSize(N_Vector y) { return fmax(N_VMaxNorm(y) * 1.0e-2, 1.0e-30); }

/* Largest e with |e s_j| <= CP_PARAM_PART of |y_j|, or of the typical size where y_j is small, and
 * likewise p. */
static sunrealtype step(const CPParams *params, int iS, N_Vector y, N_Vector s, N_Vector tmp) {
  N_VAbs(y, tmp);
  N_VAddConst(tmp, cpSensLeastSize(y), tmp);
  N_VDiv(s, tmp, tmp);
  sunrealtype rate = N_VMaxNorm(tmp);
  if (params->p) rate = fmax(rate, 1.0 / params->pbar[iS]);
  return rate > 0.0 ? CP_PARAM_PART / rate : CP_PARAM_PART;
}

int cpSensDirection(const CPParams *params, CVRhsFn f, sunrealtype t, N_Vector y, int iS,
                    N_Vector yS, N_Vector ySdot, N_Vector moved, N_Vector value, void *user_data) {
  const sunrealtype e    = step(params, iS, y, yS, moved);
  sunrealtype *p         = params->p ? &params->p[params->plist[iS]] : NULL;
  const sunrealtype kept = p ? *p : 0.0;
  int flag               = CP_SUCCESS;
  N_VConst(0.0, ySdot);
  for (int k = -3; !flag && k <= 3; k++) {
    if (k == 0) continue;
    if (p) *p = kept + k * e;
    N_VLinearSum(1.0, y, k * e, yS, moved);
    flag = f(t, moved, value, user_data);
    if (!flag)
      N_VLinearSum(1.0, ySdot, (k > 0 ? 1 : -1) * cpSixthOrder[abs(k) - 1] / e, value, ySdot);
  }
  if (p) *p = kept;
  return flag;
}

int CPodeSensRhs1(CPodeMem mem, sunrealtype t, N_Vector y, int iS, N_Vector yS, N_Vector ySdot,
                  N_Vector tmp1, N_Vector tmp2) {
  CPAttempt a;
  int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (!mem->base.f)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, __func__,
                    "f is not known: mem has been attached to memory of CVODES' (CPodeAttach)");
  flag = cpSensCheckIndex(mem, iS, __func__);
  if (!flag) flag = cpAttemptRead(mem, &a);
  if (flag) return flag;
  return cpSensDirection(&cpSensOf(mem)->params, mem->base.f, t, y, iS, yS, ySdot, tmp1, tmp2,
                         a.user_data);
}
