/* q' = N(q) u */
#ifndef CPODES_MECHANICS_KINEMATICS_H
#define CPODES_MECHANICS_KINEMATICS_H

#include "functions.h"

int cpMechAnyKinematics(CPMech mech, const sunrealtype *q, CPMechKinematics what, const double *x,
                        double *y);
static inline int cpMechKinematics(CPMech mech, const sunrealtype *q, CPMechKinematics what,
                                   const double *x, double *y) {
  if (!mech->coords->in_order) return cpMechAnyKinematics(mech, q, what, x, y);
  for (int j = 0; j < mech->nu; j++) y[j] = x[j]; /* q' = u, as in most small systems */
  return CP_SUCCESS;
}
/* yd [n] contains u'; sets the rest of y': q', z', and the prescribed rates. */
static inline int cpMechOtherRates(CPMech mech, const CPMechState *s, const double *lambda,
                                   sunrealtype *yd) {
  sunrealtype *udot = yd + mech->nq;
  int flag          = cpMechKinematics(mech, s->q, CP_N, s->u, yd);
  if (!flag && mech->nz > mech->stage.left_out)
    flag = cpMechAuxiliary(mech, s, lambda, udot + mech->nu);
  for (int k = mech->nz - mech->stage.left_out; k < mech->nz; k++) udot[mech->nu + k] = 0.0;
  if (!flag && mech->motions->nfull > 0) cpMechPutFullRates(mech, yd, udot);
  return flag;
}
/* column [nq] <- N(q) e_j */
int cpMechColumn(CPMech mech, const sunrealtype *q, int j, double *column);
/* result <- q + N(q) w, not normalised. result must not overlap q or w. */
int cpMechMove(CPMech mech, const sunrealtype *q, const double *w, double *result);
/* Returns the largest |q_i| that is not in a quaternion, whose size 1 says nothing about lengths, which may be
 * micrometres. */
double cpMechLargestCoordinate(const CPMech mech, const double *q);
/* Returns the largest rate of an angle in u. */
double cpMechFastestTurn(const CPMech mech, const double *u);
/* Normalises quaternions and norms in place. Returns 0 or -CP_QUATERNION_ZERO. */
int cpMechNormalise(CPMech mech, sunrealtype t, double *q);

#endif
