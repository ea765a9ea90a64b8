/* Partial derivatives of a mechanical system with respect to parameters: those of the user's function, which are compared with differences
 * at the first use, those of the model, or differences of sixth order */
#include "mechanics_impl.h"

#include "cpodes/mechanics/constraints.h"

#include <math.h>
#include <string.h>

int cpMechSensEvaluate(CPMechSens sens, const CPMechState *s, double *F) {
  const CPMech mech = sens->mech;
  return cpMechForm(mech, s, sens->a0, sens->lambda0, F, F + mech->nu, F + mech->nu + mech->m);
}

/* F, B, Z, p and v at the state, with the present values of the parameters. */
static int evaluateAll(sunrealtype t, N_Vector y, N_Vector value, void *data) {
  const CPMechSens sens = data;
  const CPMech mech     = sens->mech;
  const CPMechState s   = stateOf(sens, sens->y);
  double *F = N_VGetArrayPointer(value), *p = F + mech->nu + mech->m + mech->nz, *v = p + mech->m;
  (void)t, (void)y;
  int flag = mech->motions->count > 0 ? cpMechMotions(mech, s.t) : CP_SUCCESS;
  if (!flag) flag = cpMechPositions(mech, s.t, s.q, p);
  if (!flag) flag = cpMechVelocities(mech, s.t, s.q, s.u, v);
  return flag ? flag : cpMechSensEvaluate(sens, &s, F);
}

/* The user's derivatives are wrong if they differ from difference quotients by more than CP_INEXACT
 * of the largest entry plus this multiple of the difference between the quotients with two step sizes:
 * if these do not agree, they prove nothing. */
#define WRONG_SPREAD 100.0

/* Are these values the derivatives along this direction? iS: for the message */
static int compare(CPMechSens sens, CPAlong along, int iS, const double *values) {
  const CPMech mech = sens->mech;
  const struct {
    const char *name;
    int count;
  } part[]       = {{"Fp", mech->nu}, {"Bp", mech->na}, {"motions' Bp", mech->m - mech->na},
                    {"Zp", mech->nz}, {"pp", mech->m},  {"vp", mech->m}};
  N_Vector other = N_VClone(sens->value);
  if (!other) return cpReason(mech->text, CP_MEM_FAIL, "no memory");
  int flag = cpParamDifference(sens->params, along, 0.5 * CP_PARAM_PART, evaluateAll, sens->t, NULL,
                               sens, sens->value, other);
  if (!flag)
    flag = cpParamDifference(sens->params, along, CP_PARAM_PART, evaluateAll, sens->t, NULL, sens,
                             sens->value, sens->result);
  if (!flag) N_VLinearSum(1.0, other, -1.0, sens->result, other);
  const double *v = values, *d = N_VGetArrayPointer(sens->result), *e = N_VGetArrayPointer(other);
  for (int k = 0; !flag && k < 6; v += part[k].count, d += part[k].count, e += part[k++].count) {
    const double size = fmax(cpLargest(v, part[k].count), cpLargest(d, part[k].count));
    const double most = CP_INEXACT * size + WRONG_SPREAD * cpLargest(e, part[k].count);
    for (int i = 0; !flag && i < part[k].count; i++)
      if (fabs(v[i] - d[i]) > most)
        flag = cpReason(
            mech->text, CP_MECH_DERIV_WRONG,
            "at t = %.10g: derivatives to parameter %d (CPMechSetParamPartialsFn): entry %d of %s "
            "is %.6g, differences say %.6g",
            sens->t, iS, i, part[k].name, v[i], d[i]);
  }
  N_VDestroy(other);
  return flag;
}

/* byParam(iS) <- the user's derivatives */
static int given(CPMechSens sens, int iS) {
  const CPMech mech   = sens->mech;
  const CPMechState s = stateOf(sens, sens->y);
  double *F = byParam(sens, iS), *B = F + mech->nu, *Z = B + mech->m, *p = Z + mech->nz,
         *v = p + mech->m;
  memset(F, 0, sens->stride * sizeof *F);
  int flag = cpMechCallFunction(mech, sens->jac, s.t, s.q, s.u, s.z, sens->a0, sens->lambda0, iS, F,
                                mech->na ? B : NULL, mech->np ? p : NULL, mech->nv ? v : NULL,
                                mech->nz ? Z : NULL);
  flag     = cpMechResult(mech, flag, sens->t, "parameter derivatives");
  return flag ? flag
              : cpMechChecked(mech, 0, sens->t, "parameter derivatives", F, (int)sens->stride);
}

/* Checks the user's derivatives along one direction, in which each parameter moves by a part of its size, and for each parameter
 * only if that fails: differences for each would take twelve evaluations a parameter. */
static int checkGiven(CPMechSens sens) {
  const CPParams *params = sens->params;
  CPArena arena          = {0};
  double *dp, *sum;
  CP_NEW(&arena, dp, params->Ns);
  CP_NEW(&arena, sum, sens->stride);
  int flag = cpArenaStatus(&arena);
  if (flag) cpReason(sens->mech->text, flag, "no memory");
  for (int i = 0; !flag && i < params->Ns; i++) {
    flag  = given(sens, i);
    dp[i] = params->pbar[i] * (1.0 - 0.5 * fmod(0.618 * i, 1.0)); /* equal columns do not cancel */
    for (size_t k = 0; !flag && k < sens->stride; k++) sum[k] += dp[i] * byParam(sens, i)[k];
    sens->known[i] = !flag;
  }
  if (!flag) flag = compare(sens, (CPAlong){.dp = dp}, 0, sum);
  if (flag == CP_MECH_DERIV_WRONG)
    for (int i = flag = 0; !flag && i < params->Ns; i++)
      flag = compare(sens, (CPAlong){.iS = i}, i, byParam(sens, i));
  cpArenaFree(&arena);
  if (flag) memset(sens->known, 0, (size_t)params->Ns);
  sens->checked = !flag;
  return flag;
}

/* The forces of CPMechAddForce at the state, and their power in z', with the present values of the parameters */
static int evaluateAdded(sunrealtype t, N_Vector y, N_Vector value, void *data) {
  const CPMechSens sens = data;
  const CPMechState s   = stateOf(sens, sens->y);
  double *F             = N_VGetArrayPointer(value);
  (void)t, (void)y;
  N_VConst(0.0, value);
  const CPMech mech = sens->mech;
  double *Z         = F + mech->nu + mech->m;
  int flag          = cpMechAddForces(mech, &s, 0, NULL, F);
  if (!flag) flag = cpMechAddForces(mech, &s, 1, sens->lambda0, F);
  if (!flag && mech->eq->work > 0)
    flag = cpMechForcePower(mech, &s, sens->lambda0, &Z[mech->eq->work - 1]);
  return flag;
}

/* by_param <- the derivatives of the model with respect to all parameters, and those of the forces of CPMechAddForce by differences.
 * Returns CP_PARAMETERS_UNKNOWN if the model does not know them. */
static int ofModel(CPMechSens sens) {
  const CPMech mech      = sens->mech;
  const CPParams *params = sens->params;
  const CPMechState s    = stateOf(sens, sens->y);
  double *F = sens->by_param, *B = F + mech->nu, *Z = B + mech->m, *p = Z + mech->nz,
         *v                   = p + mech->m;
  const CPMechColumns columns = {F,
                                 mech->na ? B : NULL,
                                 mech->np ? p : NULL,
                                 mech->nv ? v : NULL,
                                 mech->nz ? Z : NULL,
                                 sens->stride};
  const size_t size           = (size_t)params->Ns * sens->stride;
  if (!mech->eq->parameters_jac || mech->motions->count > 0) return CP_PARAMETERS_UNKNOWN;
  memset(F, 0, size * sizeof *F);
  cpMechSkipRows(mech, 1);
  int flag = cpMechCall(mech, parameters_jac, s.t, s.q, s.u, s.z, sens->a0, sens->lambda0,
                        params->p, params->Ns, params->plist, &columns);
  cpMechSkipRows(mech, 0);
  if (flag == CP_PARAMETERS_UNKNOWN) return flag;
  flag = cpMechResult(mech, flag, sens->t, "parameter derivatives");
  if (!flag) flag = cpMechChecked(mech, 0, sens->t, "parameter derivatives", F, (int)size);
  for (int i = 0; !flag && mech->forces.count > 0 && i < params->Ns; i++) {
    flag = cpParamDifference(params, (CPAlong){.iS = i}, CP_PARAM_PART, evaluateAdded, sens->t,
                             NULL, sens, sens->value, sens->result);
    for (size_t k = 0; k < sens->stride && !flag; k++)
      byParam(sens, i)[k] += N_VGetArrayPointer(sens->result)[k];
  }
  if (!flag) memset(sens->known, 1, (size_t)params->Ns);
  return flag;
}

int cpMechSensParameter(CPMechSens sens, int iS) {
  int flag = CP_SUCCESS;
  if (!sens->params) return cpReason(sens->mech->text, CP_NO_INIT, "there are no parameters");
  const int moves = sens->params->p != NULL;
  if (sens->jac && moves && !sens->checked) flag = checkGiven(sens);
  if (flag || sens->known[iS]) return flag;
  /* The model knows all or none, and is asked before the first one at a state: its answer takes the place of all. */
  if (!sens->jac && moves && !memchr(sens->known, 1, (size_t)sens->params->Ns)) {
    flag = ofModel(sens);
    if (flag != CP_PARAMETERS_UNKNOWN) return flag;
  }
  if (sens->jac) flag = given(sens, iS);
  else {
    memset(byParam(sens, iS), 0, sens->stride * sizeof(double));
    if (moves)
      flag = cpParamDifference(sens->params, (CPAlong){.iS = iS}, CP_PARAM_PART, evaluateAll,
                               sens->t, NULL, sens, sens->value, sens->result);
    if (moves)
      memcpy(byParam(sens, iS), N_VGetArrayPointer(sens->result), sens->stride * sizeof(double));
  }
  sens->known[iS] = !flag;
  return flag;
}
