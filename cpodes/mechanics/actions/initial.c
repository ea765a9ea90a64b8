/* Consistent states from a rough guess: positions by damped Gauss-Newton, then velocities, then
 * accelerations and multipliers. Components may be held, or cost more than others to move. */
#include "cpodes/mechanics/mechanics_impl.h"
#include "cpodes/mechanics/projection/space.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

/* A state is consistent if it is this part of the given units off, relative to the largest entry. */
#define CONSISTENT 1.0e-10

static int checkWeights(CPMech mech, N_Vector v, const char *name, int positive) {
  const char *function = "CPMechCalcIC";
  if (!v) return CP_SUCCESS;
  if (N_VGetLength(v) != mech->n || !cpHasData(v))
    return cpReport(&mech->log, CP_ILL_INPUT, function,
                    "%s must be a vector of length %d in one memory, has %ld", name, mech->n,
                    (long)N_VGetLength(v));
  if (cpVectorFinite(v) && (!positive || cpVectorPositive(v))) return CP_SUCCESS;
  return cpReport(&mech->log, CP_ILL_INPUT, function, "%s must be %sfinite", name,
                  positive ? "positive and " : "");
}

/* 1 / weights becomes the tolerance CONSISTENT times as large. */
static void makeWeights(CPMech mech, N_Vector y, N_Vector weights, N_Vector ewt) {
  const sunrealtype *z = N_VGetArrayPointer(y), *w = weights ? N_VGetArrayPointer(weights) : NULL;
  double largest = 1.0;
  for (int k = 0; k < mech->n; k++) largest = fmax(largest, fabs(z[k]) * (w ? w[k] : 1.0));
  for (int k = 0; k < mech->n; k++)
    N_VGetArrayPointer(ewt)[k] = (w ? w[k] : 1.0) / (CONSISTENT * largest);
}

/* ---- what is held ---- */

static int holdsQuaternion(const CPQuaternion *Q, const sunrealtype *id) {
  for (int k = 0; k < 4; k++)
    if (id[Q->first_q + k] == 0.0) return 1;
  return 0;
}

/* Does velocity j move a coordinate that is held? N of the user's. */
static int movesHeld(CPMech mech, const sunrealtype *q, const sunrealtype *id, int j, int *held) {
  double *column = mech->space->q;
  const int flag = cpMechColumn(mech, q, j, column);
  *held          = 0;
  for (int i = 0; !flag && i < mech->nq; i++) *held |= column[i] != 0.0 && id[i] == 0.0;
  return flag;
}

/* free [nu]: may x_j move at this level? */
static int freeColumns(CPMech mech, int which, const sunrealtype *y, const sunrealtype *id,
                       sunrealtype *free) {
  int flag = CP_SUCCESS, held = 0;
  for (int j = 0; j < mech->nu; j++) {
    const int i = which == CP_VELOCITIES ? mech->nq + j : mech->pair[j];
    free[j]     = (i < 0 || !id || id[i] != 0.0) && !mech->is_full[j];
  }
  if (which == CP_VELOCITIES || !id) return CP_SUCCESS;
  for (int k = 0; k < mech->nquaternions; k++)
    for (int d = 0; d < 3 && holdsQuaternion(&mech->quaternions[k], id); d++)
      free[mech->quaternions[k].first_u + d] = 0.0;
  for (int j = 0; mech->model.N && !flag && j < mech->nu; j++) {
    flag = movesHeld(mech, y, id, j, &held);
    if (held) free[j] = 0.0;
  }
  return flag;
}

/* id NULL: nothing but FULL motions; an array of ones would not do, for with an operator as metric none
 * can be held. */
static int hold(CPMech mech, const sunrealtype *y, const sunrealtype *id) {
  const int none   = !id && mech->nfull == 0;
  N_Vector columns = N_VNew_Serial(mech->nu, mech->ctx);
  int flag         = columns ? CP_SUCCESS : CP_MEM_FAIL;
  for (int which = 0; !flag && which < 2; which++) {
    CPProjector P = mech->space->level[which].P;
    if (!P) continue;
    flag = freeColumns(mech, which, y, id, N_VGetArrayPointer(columns));
    if (!flag) flag = CPProjectorSetFixed(P, none ? NULL : columns);
  }
  if (columns) N_VDestroy(columns);
  return flag;
}

/* ---- the state ---- */

/* In the metric of the weights, whatever that of the projections is. */
static int assemble(CPMech mech, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector id) {
  const CPMechMetric metric = mech->metric;
  const sunrealtype *z      = N_VGetArrayPointer(y);
  mech->metric              = CP_METRIC_ERROR;
  int flag                  = cpMechSpaceMetric(mech);
  if (!flag) flag = hold(mech, z, id ? N_VGetArrayPointer(id) : NULL);
  if (flag) cpWrite(cpWorkText(mech->P->work), "the projection cannot be set up");
  else flag = cpAssemble(mech->P->work, t, y, ewt);
  mech->metric      = metric;
  const int restore = hold(mech, z, NULL), back = cpMechSpaceMetric(mech);
  return flag ? flag : restore ? restore : back;
}

int CPMechCalcIC(CPMech mech, sunrealtype t, N_Vector y, N_Vector weights, N_Vector id,
                 sunrealtype *udot, sunrealtype *lambda) {
  int flag = cpMechCheckState(mech, y, __func__);
  if (!flag) flag = checkWeights(mech, weights, "weights", 1);
  if (!flag) flag = checkWeights(mech, id, "id", 0);
  if (flag) return flag;
  N_Vector ewt = N_VClone(y), start = N_VClone(y);
  if (!ewt || !start) flag = CP_MEM_FAIL;
  if (!flag) {
    N_VScale(1.0, y, start);
    makeWeights(mech, y, weights, ewt);
    flag = assemble(mech, t, y, ewt, id);
  }
  if (flag)
    flag = cpReport(&mech->log, flag > 0 ? -flag : flag, __func__, "%s",
                    flag == CP_MEM_FAIL ? "no memory" : cpWorkText(mech->P->work));
  else if (udot || lambda) {
    flag = CPMechAccelerations(mech, t, y, udot, lambda);
    if (flag) N_VScale(1.0, start, y);
  }
  if (ewt) N_VDestroy(ewt);
  if (start) N_VDestroy(start);
  return flag;
}
