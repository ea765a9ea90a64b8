/* Positions and velocities as problems in the space of velocities (projection.h): the unknowns,
 * their weights, and the residuals. */
#include "cpodes/mechanics/kinematics.h"
#include "projection.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

int cpMechFailed(CPMechProjection *own, int flag) {
  return flag ? cpReason(cpWorkText(own->work), flag, "%s", own->mech->text) : CP_SUCCESS;
}

int cpMechPositionsOf(CPMechProblem *p, sunrealtype t, const double *x) {
  CPMechProjection *own = p->own;
  const CPMech mech     = own->mech;
  double *w = own->z, *q = own->q;
  if (mech->coords->in_order && mech->coords->nnorms == 0) { /* q is x */
    for (int j = 0; j < mech->nu; j++) q[j] = x[j];
    return CP_SUCCESS;
  }
  if (own->q_is_known && !memcmp(own->x_of_q, x, (size_t)mech->nu * sizeof *x)) return CP_SUCCESS;
  own->q_is_known = 0;
  for (int j = 0; j < mech->nu; j++) w[j] = mech->coords->pair[j] >= 0 ? 0.0 : x[j];
  int flag = cpMechMove(mech, p->q, w, q);
  for (int j = 0; !flag && j < mech->nu; j++)
    if (mech->coords->pair[j] >= 0) q[mech->coords->pair[j]] = x[j];
  if (!flag) flag = cpMechNormalise(mech, t, q);
  if (flag) return flag;
  memcpy(own->x_of_q, x, (size_t)mech->nu * sizeof *x);
  own->q_is_known = 1;
  return CP_SUCCESS;
}

/* v <- A u + rates. The rates, and A in mech->A, remain valid as long as q and t do not change. */
static int affineVelocities(CPMechProblem *p, sunrealtype t, const double *u, double *v) {
  const CPMech mech = p->own->mech;
  const int known   = p->rates_are_known && p->rates_t == t;
  const int flag    = known ? CP_SUCCESS : cpMechRates(mech, t, p->q, p->positions, p->rates);
  if (flag) return flag;
  p->rates_are_known = 1;
  p->rates_t         = t;
  cpMatTimes(&mech->A, 1.0, u, 0.0, v);
  for (int i = 0; i < mech->m; i++) v[i] += p->rates[i];
  return CP_SUCCESS;
}

int cpMechResiduals(CPNewton *newton, sunrealtype t, N_Vector xv) {
  CPMechProblem *p  = newton->self;
  const CPMech mech = p->own->mech;
  const double *x   = NV_DATA_S(xv);
  double *c         = p->rows.c;
  int flag          = CP_SUCCESS;
  CP_COUNT(p->own->work, nce);
  if (p->which == CP_POSITIONS) {
    flag = cpMechPositionsOf(p, t, x);
    if (!flag) flag = cpMechPositions(mech, t, p->own->q, c);
  } else {
    flag = mech->eq->v || mech->operators ? cpMechVelocities(mech, t, p->q, x, c)
                                          : affineVelocities(p, t, x, c);
  }
  for (int i = 0; p->nactive < mech->m && i < mech->m; i++)
    if (p->off[i]) c[i] = 0.0;
  return cpMechFailed(p->own, flag);
}

int cpMechWeights(CPMechProblem *p, const sunrealtype *ewt, double *w) {
  const CPMech mech = p->own->mech;
  const double *x   = NV_DATA_S(p->x);
  if (!ewt) {
    for (int j = 0; j < mech->nu; j++) w[j] = cpWeightOf(NULL, x, j);
    return CP_SUCCESS;
  }
  if (p->which == CP_VELOCITIES) {
    memcpy(w, ewt + mech->nq, (size_t)mech->nu * sizeof *w);
    return CP_SUCCESS;
  }
  for (int j = 0; j < mech->nu; j++)
    if (mech->coords->pair[j] >= 0) w[j] = ewt[mech->coords->pair[j]];
  for (int k = 0; k < mech->coords->nquaternions;
       k++) { /* |N e_j| ewt for equal ewt, since columns of N have the length 1/2 */
    const CPMechQuaternion *Q = &mech->coords->quaternions[k];
    double sum                = 0.0;
    for (int i = 0; i < 4; i++) sum += ewt[Q->first_q + i] * ewt[Q->first_q + i];
    for (int j = 0; j < 3; j++) w[Q->first_u + j] = 0.25 * sqrt(sum);
  }
  for (int j = 0; mech->eq->N && j < mech->nu;
       j++) { /* length of column j of N in the weights of q */
    double sum = 0.0, *column = p->own->d;
    const int flag = cpMechColumn(mech, p->q, j, column);
    if (flag) return cpMechFailed(p->own, flag);
    for (int i = 0; i < mech->nq; i++) sum += (column[i] * ewt[i]) * (column[i] * ewt[i]);
    w[j] = sqrt(sum);
  }
  return CP_SUCCESS;
}
