/* Consistent states from a rough guess: positions by a damped Gauss-Newton iteration, then
 * velocities, then accelerations and multipliers. Components may be held, or weighted by the cost
 * of moving them. */
#include "cpodes/mechanics/mech.h"

#include <math.h>

static int checkWeights(CPMech mech, N_Vector weights, const char *function) {
  const int flag = weights ? cpMechCheckVector(mech, weights, "weights", function) : CP_SUCCESS;
  if (flag || !weights || N_VMin(weights) > 0.0) return flag;
  return cpRefuse(&mech->log, function, "weights must be positive");
}

int CPMechCalcIC(CPMech mech, sunrealtype t, N_Vector y, N_Vector weights, N_Vector id,
                 sunrealtype *udot, sunrealtype *lambda) {
  int flag = cpMechCheckState(mech, y, __func__);
  if (!flag) flag = checkWeights(mech, weights, __func__);
  if (!flag && id) flag = cpMechCheckVector(mech, id, "id", __func__);
  if (flag) return flag;
  N_Vector ewt = N_VClone(y), start = N_VClone(y);
  if (!ewt || !start) flag = CP_MEM_FAIL;
  if (!flag) {
    N_VScale(1.0, y, start);
    /* The tolerance of component k becomes CP_ROUNDED largest / w_k. Auxiliary states, such as a work of
     * millions of J, do not move. */
    const sunrealtype *z = N_VGetArrayPointer(y), *w = weights ? N_VGetArrayPointer(weights) : NULL;
    double largest = 1.0;
    for (int k = 0; k < mech->nq + mech->nu; k++)
      largest = fmax(largest, fabs(z[k]) * (w ? w[k] : 1.0));
    for (int k = 0; k < mech->n; k++)
      N_VGetArrayPointer(ewt)[k] = (w ? w[k] : 1.0) / (CP_ROUNDED * largest);
    flag = cpMechAssemble(mech, t, y, ewt, id ? N_VGetArrayPointer(id) : NULL);
  }
  if (flag)
    flag = cpReport(&mech->log, flag > 0 ? -flag : flag, __func__, "%s",
                    flag == CP_MEM_FAIL ? "no memory" : mech->text);
  else if (udot || lambda) {
    flag = CPMechAccelerations(mech, t, y, udot, lambda);
    if (flag) N_VScale(1.0, start, y);
  }
  if (ewt) N_VDestroy(ewt);
  if (start) N_VDestroy(start);
  return flag;
}
