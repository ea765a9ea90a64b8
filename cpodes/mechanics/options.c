/* Options of CPMech. */
#include "mechanics_impl.h"

#include <math.h>
#include <string.h>

int CPMechSetUserData(CPMech mech, void *user_data) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  if (mech->model.data && user_data != mech->model.data)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "the functions of this model get the data that it brings (CPEquations)");
  if (mech->linear) mech->linear->user_data = user_data;
  else mech->user_data = user_data;
  /* This discards the stored factors, which may depend on the data. */
  if (mech->ready) CPProjectorSetUserData(mech->P, user_data);
  return CP_SUCCESS;
}

void *CPMechGetUserData(CPMech mech) {
  if (!mech) return NULL;
  return mech->linear ? mech->linear->user_data : mech->user_data;
}

int CPMechIsBusy(CPMech mech) { return mech && mech->log.running > 0; }

int CPMechSetErrHandlerFn(CPMech mech, CPErrHandlerFn handler, void *data) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  mech->log.handler = handler;
  mech->log.data    = data;
  return CPProjectorSetErrHandlerFn(mech->P, handler, data);
}

const char *CPMechGetLastMessage(CPMech mech) { return mech ? mech->log.text : ""; }

CPProjector CPMechGetProjector(CPMech mech) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL"), NULL;
  return mech->P;
}

sunindextype CPMechGetNumMultipliers(CPMech mech) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  sunindextype count = mech->na;
  for (int k = 0; k < mech->motions.count; k++)
    count += mech->motions.list[k].how != CP_MOTION_FULL;
  return count;
}

int CPMechGetNumMotions(CPMech mech) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  return mech->motions.count;
}

/* ---- coordinates ---- */

static int overlaps(int a, int alength, int b, int blength) {
  return a < b + blength && b < a + alength;
}

int CPMechAddQuaternion(CPMech mech, sunindextype first_q, sunindextype first_u, CPFrame frame) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_USE, __func__);
  if (flag) return flag;
  CPLog *log = &mech->log;
  if (mech->model.N)
    return cpReport(log, CP_NOT_SUPPORTED, __func__,
                    "the model has a function N of its own: CPMechAddUnitNorm normalises");
  if (frame != CP_FRAME_BODY && frame != CP_FRAME_WORLD)
    return cpRefuse(log, __func__, "frame must be CP_FRAME_BODY or CP_FRAME_WORLD, is %d",
                    (int)frame);
  if (first_q < 0 || first_q + 4 > mech->nq)
    return cpRefuse(log, __func__, "first_q must be from 0 to nq - 4 = %d: first_q = %ld",
                    mech->nq - 4, (long)first_q);
  if (first_u < 0 || first_u + 3 > mech->nu)
    return cpRefuse(log, __func__, "first_u must be from 0 to nu - 3 = %d: first_u = %ld",
                    mech->nu - 3, (long)first_u);
  CPMechCoordinates *coords = &mech->coords;
  const int is_behind       = first_q >= coords->end_q && first_u >= coords->end_u;
  for (int k = 0; !is_behind && k < coords->nquaternions; k++) {
    const CPQuaternion *Q = &coords->quaternions[k];
    if (overlaps((int)first_q, 4, Q->first_q, 4) || overlaps((int)first_u, 3, Q->first_u, 3))
      return cpRefuse(log, __func__,
                      "quaternions must not overlap: first_q = %ld, first_u = %ld, and there is "
                      "one with %d, %d",
                      (long)first_q, (long)first_u, Q->first_q, Q->first_u);
  }
  CPQuaternion *Q = cpMechGrow(mech, coords->quaternions, coords->nquaternions, sizeof *Q, __func__);
  if (!Q) return CP_MEM_FAIL;
  coords->quaternions = Q;
  int k               = coords->nquaternions++;
  for (; k > 0 && Q[k - 1].first_q > first_q; k--) Q[k] = Q[k - 1];
  Q[k]              = (CPQuaternion){(int)first_q, (int)first_u, frame};
  coords->end_q     = coords->end_q > first_q + 4 ? coords->end_q : (int)first_q + 4;
  coords->end_u     = coords->end_u > first_u + 3 ? coords->end_u : (int)first_u + 3;
  coords->is_paired = 0;
  return CP_SUCCESS;
}

int CPMechGetQuaternion(CPMech mech, int i, sunindextype *first_q, sunindextype *first_u) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  const CPMechCoordinates *coords = &mech->coords;
  if (!first_q || !first_u)
    return cpRefuse(&mech->log, __func__, "first_q and first_u must not be NULL");
  if (i < 0 || i >= coords->nquaternions)
    return cpRefuse(&mech->log, __func__, "i must be from 0 to %d, is %d", coords->nquaternions - 1,
                    i);
  *first_q = coords->quaternions[i].first_q;
  *first_u = coords->quaternions[i].first_u;
  return CP_SUCCESS;
}

int CPMechAddUnitNorm(CPMech mech, sunindextype first, sunindextype length, sunrealtype value) {
  int flag = cpMechOption(mech, CP_MECH_BEFORE_USE, __func__);
  if (flag) return flag;
  if (!mech->model.N)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "norms belong to a function N of the model: CPMechAddQuaternion has its own");
  if (first < 0 || length < 1 || first + length > mech->nq)
    return cpRefuse(&mech->log, __func__,
                    "components must be from 0 to nq - 1 = %d: first = %ld, length = %ld",
                    mech->nq - 1, (long)first, (long)length);
  if (!(value > 0.0) || !isnormal(value * value))
    return cpRefuse(&mech->log, __func__,
                    "value and its square must be positive and finite: value = %g", value);
  CPUnitNorm *norms =
      cpMechGrow(mech, mech->coords.norms, mech->coords.nnorms, sizeof *norms, __func__);
  if (!norms) return CP_MEM_FAIL;
  mech->coords.norms           = norms;
  norms[mech->coords.nnorms++] = (CPUnitNorm){(int)first, (int)length, value};
  return CP_SUCCESS;
}

int CPMechSetActive(CPMech mech, const sunrealtype *mask) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  if (mask && !cpAllFinite(mask, mech->na))
    return cpRefuse(&mech->log, __func__, "mask must be finite");
  for (int i = 0; i < mech->na; i++) mech->rows.off[i] = mask && mask[i] == 0.0;
  mech->rows.layout++;
  mech->solve.off = NULL;
  if (mech->kkt) cpSaddleForgetRank(mech->kkt);
  return CP_SUCCESS;
}

/* ---- methods ---- */

int CPMechSetMetric(CPMech mech, CPMechMetric metric) {
  int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  if (metric < CP_METRIC_DEFAULT || metric > CP_METRIC_L2)
    return cpRefuse(&mech->log, __func__, "metric must be one of CP_METRIC_..., is %d", (int)metric);
  if (mech->operators && metric == CP_METRIC_KINETIC && !mech->model.Minv)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "CP_METRIC_KINETIC needs the function Minv of a model of operators");
  if (mech->operators && metric == CP_METRIC_NEWTON)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "CP_METRIC_NEWTON needs the matrices M and A, or the model's inverse");
  mech->options.metric = metric;
  mech->not_definite   = 0;
  mech->options.metric_changes++;
  return CP_SUCCESS;
}

int CPMechSetLinearSolver(CPMech mech, CPKktLinSol type) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_USE, __func__);
  if (flag) return flag;
  if (type < CP_KKT_AUTO || type > CP_KKT_SPARSE_SCHUR)
    return cpRefuse(&mech->log, __func__, "type must be one of CP_KKT_..., is %d", (int)type);
  if (mech->operators)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "accelerations are those of the model's function udot");
  mech->options.linsol = type;
  return CP_SUCCESS;
}

int CPMechSetNewton(CPMech mech, CPMechNewton type) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_ATTACH, __func__);
  if (flag) return flag;
  if (type < CP_NEWTON_AUTO || type > CP_NEWTON_NONE)
    return cpRefuse(&mech->log, __func__, "type must be one of CP_NEWTON_..., is %d", (int)type);
  if (mech->operators && type == CP_NEWTON_KKT)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "CP_NEWTON_KKT needs the matrices M and A, or the model's inverse");
  mech->options.newton_type = type;
  return CP_SUCCESS;
}

int CPMechSetMultiplierTol(CPMech mech, sunrealtype rtol, sunrealtype atol, int maxiters) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  if (!(rtol >= 0.0) || isinf(rtol) || !(atol >= 0.0) || isinf(atol) || maxiters < 0)
    return cpRefuse(&mech->log, __func__,
                    "rtol, atol and maxiters must be positive, or 0 for the defaults: %g, %g, %d",
                    rtol, atol, maxiters);
  mech->multipliers.rtol     = rtol > 0.0 ? rtol : CP_LAMBDA_RTOL;
  mech->multipliers.atol     = atol;
  mech->multipliers.maxiters = maxiters > 0 ? maxiters : CP_LAMBDA_MAXITERS;
  return CP_SUCCESS;
}

int CPMechSetDifferenceTime(CPMech mech, sunrealtype time) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  if (!(time >= 0.0) || isinf(time))
    return cpRefuse(&mech->log, __func__, "time must be positive, or 0 for the default: time = %g",
                    time);
  mech->options.difference_time = time > 0.0 ? time : 1.0;
  return CP_SUCCESS;
}

int CPMechGetDifferenceBase(CPMech mech, const sunrealtype **q, const sunrealtype **u) {
  if (!mech || !mech->base || !q || !u) return 0;
  *q = mech->base->q, *u = mech->base->u;
  mech->base_asked = 1;
  return 1;
}

int CPMechSetErrorTimeScale(CPMech mech, sunrealtype tau, const int *z_order) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_ATTACH, __func__);
  if (flag) return flag;
  if (!(tau >= 0.0 || tau == CP_TAU_STEP) || isinf(tau))
    return cpRefuse(&mech->log, __func__,
                    "tau must be positive, CP_TAU_STEP, or 0 for no weighting: tau = %g", tau);
  if (z_order && mech->nz > 0) {
    int *copy = mech->options.z_order;
    if (!copy) copy = cpMechGrow(mech, NULL, 0, (size_t)mech->nz * sizeof *copy, __func__);
    if (!copy) return CP_MEM_FAIL;
    mech->options.z_order = memcpy(copy, z_order, (size_t)mech->nz * sizeof *copy);
  } else {
    mech->options.z_order = NULL;
  }
  mech->options.tau = tau;
  return CP_SUCCESS;
}

int CPMechSetGroupNorms(CPMech mech, sunbooleantype on) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_ATTACH, __func__);
  if (!flag) mech->options.group_norms = on;
  return flag;
}

int CPMechSetMaxOrd(CPMech mech, int maxord) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_ATTACH, __func__);
  if (flag) return flag;
  if (maxord < 0)
    return cpRefuse(&mech->log, __func__,
                    "maxord must be positive, or 0 for CVODES' default: maxord = %d", maxord);
  mech->options.maxord = maxord;
  return CP_SUCCESS;
}
