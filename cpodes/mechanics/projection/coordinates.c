/* The space of velocities (space.h): coordinates in it, and their weights. */
#include "space.h"

#include <math.h>
#include <string.h>

void cpMechSpaceStart(CPMech mech, const double *q, double *x) {
  for (int j = 0; j < mech->nu; j++) x[j] = mech->pair[j] >= 0 ? q[mech->pair[j]] : 0.0;
}

int cpMechSpacePositions(CPMech mech, const double *x) {
  const CPMechSpace s = mech->space;
  double *w           = mech->wspace;
  for (int j = 0; j < mech->nu; j++) w[j] = mech->pair[j] >= 0 ? 0.0 : x[j];
  int flag = cpMechMove(mech, s->q0, w, s->q);
  for (int j = 0; !flag && j < mech->nu; j++)
    if (mech->pair[j] >= 0) s->q[mech->pair[j]] = x[j];
  return flag ? flag : cpMechNormalise(mech, s->t, s->q);
}

/* Length of column j of N in the weights of q. */
static int columnWeight(CPMech mech, const double *q, const double *ewt, int j, double *w) {
  double sum = 0.0, *column = mech->space->q;
  const int flag = cpMechColumn(mech, q, j, column);
  for (int i = 0; !flag && i < mech->nq; i++) sum += (column[i] * ewt[i]) * (column[i] * ewt[i]);
  *w = sqrt(sum);
  return flag;
}

/* Columns of N of a quaternion have length 1/2 each. */
static void quaternionWeights(const CPQuaternion *Q, const double *ewt, double *w) {
  double sum = 0.0;
  for (int k = 0; k < 4; k++) sum += ewt[Q->first_q + k] * ewt[Q->first_q + k];
  for (int k = 0; k < 3; k++) w[Q->first_u + k] = 0.25 * sqrt(sum); /* |e_j ewt| for equal ewt */
}

int cpMechSpaceWeights(CPMech mech, int which, const double *q, const double *ewt, double *w) {
  int flag = CP_SUCCESS;
  if (which == CP_VELOCITIES) {
    memcpy(w, ewt + mech->nq, (size_t)mech->nu * sizeof *w);
    return CP_SUCCESS;
  }
  for (int j = 0; j < mech->nu; j++)
    if (mech->pair[j] >= 0) w[j] = ewt[mech->pair[j]];
  for (int k = 0; k < mech->nquaternions; k++) quaternionWeights(&mech->quaternions[k], ewt, w);
  for (int j = 0; mech->model.N && !flag && j < mech->nu; j++)
    flag = columnWeight(mech, q, ewt, j, &w[j]);
  return flag;
}
