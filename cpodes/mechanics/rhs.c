/* y' = f(t, y) for CVODES: (q, u, z)' = (N u, a, zdot). */
#include "mechanics_impl.h"

/* q' and u' of FULL motions are prescribed. */
static void putFullRates(CPMech mech, sunrealtype *qdot, sunrealtype *udot) {
  for (int k = 0; k < mech->nprescribed; k++) {
    const CPPrescribed *g = &mech->prescribed[k];
    if (g->how != CP_MOTION_FULL) continue;
    qdot[g->i] = g->rate;
    udot[g->j] = g->curvature;
  }
}

int cpMechRhs(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  CPMech mech     = data;
  sunrealtype *yd = N_VGetArrayPointer(ydot), *udot = yd + mech->nq, *zdot = udot + mech->nu;
  CPMechState s;
  int flag = cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = cpMechKinematics(mech, s.q, CP_N, s.u, yd);
  if (!flag) flag = cpMechAccelerate(mech, &s, udot, mech->lambda);
  if (!flag) flag = cpMechAuxiliary(mech, &s, mech->lambda, zdot);
  if (!flag) putFullRates(mech, yd, udot);
  if (!flag && mech->sens) cpMechSensKeep(mech, t, N_VGetArrayPointer(y), udot, mech->lambda);
  mech->cause = flag;
  return flag;
}
