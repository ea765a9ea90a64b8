/* Options of CPMech. */
#include "mech.h"

#include <math.h>

int CPMechSetUserData(CPMech mech, void *user_data) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  if ((mech->eq->model_data || mech->eq->new_data) && user_data != mech->user_data)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "the functions of this model get the data that it brings (CPEquations)");
  mech->user_data = user_data;
  /* This discards the stored factors, which may depend on the data. */
  if (mech->ready) CPProjectorSetUserData(mech->P, user_data);
  return CP_SUCCESS;
}

int CPMechGetData(CPMech mech, void **data) {
  if (!mech || !data || cpMechData(mech)) return CP_USERFUNC_FAIL;
  *data = mech->data;
  return CP_SUCCESS;
}

void *CPMechGetUserData(CPMech mech) { return mech ? mech->user_data : NULL; }

CPProjector CPMechGetProjector(CPMech mech) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL"), NULL;
  return mech->P;
}

sunindextype CPMechGetNumMultipliers(CPMech mech) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  return mech->m;
}

/* ---- rows ---- */

int CPMechSetActive(CPMech mech, const int *mask) {
  const int flag = cpMechOption(mech, CP_MECH_ANYTIME, __func__);
  if (flag) return flag;
  for (int i = 0; i < mech->na; i++)
    if (!mask || mask[i] >= 0) mech->rows.off[i] = mask && !mask[i];
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
  if (mech->operators && metric == CP_METRIC_KINETIC && !mech->eq->Minv)
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

int CPMechSetLinearSolver(CPMech mech, CPLinSol type) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_USE, __func__);
  if (flag) return flag;
  if (type < CP_LINSOL_AUTO || type > CP_LINSOL_KKT)
    return cpRefuse(&mech->log, __func__,
                    "type must be one of CP_LINSOL_AUTO ... CP_LINSOL_KKT, is %d", (int)type);
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

int CPMechSetErrorTimeScale(CPMech mech, sunrealtype tau) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_ATTACH, __func__);
  if (flag) return flag;
  if (!(tau >= 0.0 || tau == CP_TAU_STEP) || isinf(tau))
    return cpRefuse(&mech->log, __func__,
                    "tau must be positive, CP_TAU_STEP, or 0 for no weighting: tau = %g", tau);
  mech->options.tau = tau;
  return CP_SUCCESS;
}

int CPMechSetGroupNorms(CPMech mech, sunbooleantype on) {
  const int flag = cpMechOption(mech, CP_MECH_BEFORE_ATTACH, __func__);
  if (!flag) mech->options.group_norms = on;
  return flag;
}
