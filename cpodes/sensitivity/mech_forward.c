/* Forward sensitivities of a mechanical system: (S2), or differences of the whole right-hand side. */
#include "mech_impl.h"

#include <nvector/nvector_serial.h>
#include <string.h>

/* Derivatives of outputs along s, without parameters: result += block x */
static void addBlock(const CPPartials P, CPOutput of, CPDirection by, const double *x,
                     double *result) {
  if (P->block[of][by].exists) cpMatTimes(&P->block[of][by].J, 1.0, x, 1.0, result);
}

/* Are the partial derivatives the user's, so that they cost less than differences along s? */
static int isGiven(const CPMech mech) {
  const CPMechModel *model = &mech->model;
  return model->dynamics_jac && (mech->na == 0 || model->constraint_jac) &&
         (mech->nz == 0 || model->auxiliary_jac);
}

/* F', B', Z' along s by matrices, into sens->result */
static int byMatrices(CPMechSens sens, int iS, const sunrealtype *s) {
  const CPMech mech = sens->mech;
  double *F = N_VGetArrayPointer(sens->result), *B = F + mech->nu, *Z = B + mech->m;
  int flag = cpMechSensMatrices(sens);
  if (!flag) flag = cpMechSensParameter(sens, iS);
  if (!flag) flag = cpMechKinematics(mech, sens->y, CP_N_INVERSE, s, sens->x);
  if (flag) return flag;
  double *const out[CP_OUTPUTS]        = {F, B, Z};
  const double *const by[CP_BY_LAMBDA] = {sens->x, s + mech->nq, s + mech->nq + mech->nu};
  memcpy(F, cpByParam(sens, iS), sens->stride * sizeof *F);
  for (int of = 0; of < CP_OUTPUTS; of++)
    for (int d = 0; d < CP_BY_LAMBDA; d++)
      addBlock(sens->partials, (CPOutput)of, (CPDirection)d, by[d], out[of]);
  return CP_SUCCESS;
}

/* sens->a, sens->lambda: derivatives of u' and lambda */
static int solveDirect(CPMechSens sens, int iS, const sunrealtype *s) {
  const CPMech mech = sens->mech;
  int flag          = isGiven(mech) ? byMatrices(sens, iS, s) : cpMechSensAlong(sens, iS, s);
  if (!flag) flag = cpMechSensFactor(sens);
  if (flag) return flag;
  const double *F = N_VGetArrayPointer(sens->result);
  flag            = cpSaddleSolve(mech->kkt, F, F + mech->nu, sens->a, sens->lambda);
  return flag ? cpReason(mech->text, flag, "at t = %.15g: no solution for a sensitivity", sens->t)
              : CP_SUCCESS;
}

/* q' = N(q) u, which is bilinear where there are quaternions: N(q) s_u + N(s_q) u */
static int positions(CPMechSens sens, const sunrealtype *s, sunrealtype *qdot) {
  const CPMech mech = sens->mech;
  int flag          = cpMechKinematics(mech, sens->y, CP_N, s + mech->nq, qdot);
  if (!flag && mech->nquaternions > 0)
    flag = cpMechKinematics(mech, s, CP_N, sens->y + mech->nq, sens->qdot);
  for (int k = 0; !flag && k < mech->nquaternions; k++)
    for (int i = mech->quaternions[k].first_q; i < mech->quaternions[k].first_q + 4; i++)
      qdot[i] += sens->qdot[i];
  return flag;
}

/* Z' + Zl lambda' */
static int auxiliary(CPMechSens sens, sunrealtype *zdot) {
  const CPMech mech = sens->mech;
  const double *Z   = N_VGetArrayPointer(sens->result) + mech->nu + mech->m;
  memcpy(zdot, Z, (size_t)mech->nz * sizeof *zdot);
  const int flag = cpMechSensMatrices(sens);
  if (!flag) addBlock(sens->partials, CP_OF_Z, CP_BY_LAMBDA, sens->lambda, zdot);
  return flag;
}

static int direct(CPMechSens sens, sunrealtype t, const sunrealtype *y, int iS,
                  const sunrealtype *s, sunrealtype *sdot) {
  const CPMech mech = sens->mech;
  int flag          = cpMechSensState(sens, t, y);
  if (!flag) flag = solveDirect(sens, iS, s);
  if (!flag) flag = positions(sens, s, sdot);
  if (flag) return flag;
  memcpy(sdot + mech->nq, sens->a, (size_t)mech->nu * sizeof *sdot);
  return mech->nz > 0 ? auxiliary(sens, sdot + mech->nq + mech->nu) : CP_SUCCESS;
}

int CPMechSensRhs1(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                   N_Vector ySdot, void *data, N_Vector tmp1, N_Vector tmp2) {
  CPMech mech     = data;
  CPMechSens sens = cpMechSensOf(mech);
  (void)Ns, (void)ydot;
  if (!sens || !sens->params)
    return mech->cause = cpReason(mech->text, CP_NO_INIT, "there are no parameters");
  if (cpMechSensIsDirect(mech))
    mech->cause = direct(sens, t, N_VGetArrayPointer(y), iS, N_VGetArrayPointer(yS),
                         N_VGetArrayPointer(ySdot));
  else
    mech->cause = cpSensDirection(sens->params, cpMechRhs, t, y, iS, yS, ySdot, tmp1, tmp2, mech);
  return mech->cause;
}

/* ---- accelerations and multipliers ---- */

typedef struct {
  CPMechSens sens;
  sunrealtype t;
  N_Vector y, s;
  int iS;
} Direction;

/* (u', lambda) at y + e s with the parameter moved likewise, in place of a right-hand side */
static int solutionAt(sunrealtype t, N_Vector y, N_Vector solution, void *data) {
  const CPMech mech = data;
  sunrealtype *a    = N_VGetArrayPointer(solution);
  CPMechState s;
  int flag = cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = cpMechSolve(mech, &s, a, a + mech->nu);
  return flag;
}

static int byDifferences(CPMechSens sens, sunrealtype t, N_Vector y, int iS, N_Vector s) {
  const CPMech mech = sens->mech;
  N_Vector moved = N_VClone(y), value = N_VNew_Serial(mech->nu + mech->m, mech->ctx),
           result = N_VNew_Serial(mech->nu + mech->m, mech->ctx);
  int flag = moved && value && result ? CP_SUCCESS : cpReason(mech->text, CP_MEM_FAIL, "no memory");
  if (!flag)
    flag = cpSensDirection(sens->params, solutionAt, t, y, iS, s, result, moved, value, mech);
  if (!flag) {
    memcpy(sens->a, N_VGetArrayPointer(result), (size_t)mech->nu * sizeof *sens->a);
    memcpy(sens->lambda, N_VGetArrayPointer(result) + mech->nu, (size_t)mech->m * sizeof *sens->a);
  }
  if (moved) N_VDestroy(moved);
  if (value) N_VDestroy(value);
  if (result) N_VDestroy(result);
  return flag;
}

int CPMechSensAccelerations(CPMech mech, sunrealtype t, N_Vector y, int iS, N_Vector yS,
                            sunrealtype *udotS, sunrealtype *lambdaS) {
  int flag = cpMechCheckState(mech, y, __func__);
  if (!flag) flag = cpMechCheckState(mech, yS, __func__);
  if (flag) return flag;
  CPMechSens sens = cpMechSensOf(mech);
  if (!sens || !sens->params || iS < 0 || iS >= sens->params->Ns)
    return cpReport(&mech->log, CP_ILL_INPUT, __func__, "iS must be that of a sensitivity, is %d",
                    iS);
  if (cpMechSensIsDirect(mech)) {
    flag = cpMechSensState(sens, t, N_VGetArrayPointer(y));
    if (!flag) flag = solveDirect(sens, iS, N_VGetArrayPointer(yS));
  } else flag = byDifferences(sens, t, y, iS, yS);
  if (flag) return cpMechReport(mech, flag, __func__);
  if (udotS) memcpy(udotS, sens->a, (size_t)mech->nu * sizeof *udotS);
  if (lambdaS) memcpy(lambdaS, sens->lambda, (size_t)mech->m * sizeof *lambdaS);
  return CP_SUCCESS;
}
