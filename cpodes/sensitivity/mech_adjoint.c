/* Adjoint right-hand sides of a mechanical system, by (S3): l' = -J^T l, and l^T df/dp. */
#include "mech_impl.h"

#include <string.h>

static void addTransposed(const CPPartials P, CPOutput of, CPDirection by, const double *x,
                          double *result) {
  if (P->block[of][by].exists) cpMatTransposedTimes(&P->block[of][by].J, 1.0, x, 1.0, result);
}

/* sens->a = w, sens->lambda = mu of (S3) */
static int solve(CPMechSens sens, sunrealtype t, const sunrealtype *y, const sunrealtype *l) {
  const CPMech mech = sens->mech;
  if (!cpMechSensIsDirect(mech))
    return cpReason(
        mech->text, CP_NOT_SUPPORTED,
        "adjoints need M and A, without forces that depend on multipliers, FULL motions "
        "or kinematics of one's own");
  int flag = cpMechSensState(sens, t, y);
  if (!flag) flag = cpMechSensMatrices(sens);
  if (!flag) flag = cpMechSensFactor(sens);
  if (flag) return flag;
  memcpy(sens->f, l + mech->nq, (size_t)mech->nu * sizeof *sens->f);
  memset(sens->b, 0, (size_t)mech->m * sizeof *sens->b);
  addTransposed(sens->partials, CP_OF_Z, CP_BY_LAMBDA, l + mech->nq + mech->nu, sens->b);
  flag = cpSaddleSolve(mech->kkt, sens->f, sens->b, sens->a, sens->lambda);
  return flag ? cpReason(mech->text, flag, "at t = %.15g: no solution for an adjoint", t) : flag;
}

/* g_x = K^T w + Bq^T mu + Zq^T l_z, and so on, for one direction */
static void gather(const CPMechSens sens, CPDirection by, const double *lz, double *g) {
  addTransposed(sens->partials, CP_OF_F, by, sens->a, g);
  addTransposed(sens->partials, CP_OF_B, by, sens->lambda, g);
  addTransposed(sens->partials, CP_OF_Z, by, lz, g);
}

/* J^T l; E, the product with (0, omega / 2), is skew: E^T l_q = -N(l_q) u */
static int transposedJacobian(CPMechSens sens, const sunrealtype *l, sunrealtype *g) {
  const CPMech mech  = sens->mech;
  const CPPartials P = sens->partials;
  const double *lz   = l + mech->nq + mech->nu;
  double *gu = g + mech->nq, *gz = gu + mech->nu;
  int flag = cpMechKinematics(mech, P->q, CP_N_TRANSPOSE, l, gu);
  memset(sens->x, 0, (size_t)mech->nu * sizeof *sens->x);
  memset(gz, 0, (size_t)mech->nz * sizeof *gz);
  gather(sens, CP_BY_Q, lz, sens->x);
  gather(sens, CP_BY_U, lz, gu);
  if (mech->nz > 0) gather(sens, CP_BY_Z, lz, gz);
  if (!flag) flag = cpMechKinematics(mech, P->q, CP_N_INVERSE_TRANSPOSE, sens->x, g);
  if (!flag && mech->nquaternions > 0) flag = cpMechKinematics(mech, l, CP_N, P->u, sens->qdot);
  for (int k = 0; !flag && k < mech->nquaternions; k++)
    for (int i = mech->quaternions[k].first_q; i < mech->quaternions[k].first_q + 4; i++)
      g[i] -= sens->qdot[i];
  return flag;
}

/* The workspace, of a system that perhaps nobody has used before; NULL: mech->cause says why. */
static CPMechSens workspace(CPMech mech, const char *function) {
  mech->cause = mech->ready ? CP_SUCCESS : cpMechSetUp(mech, function);
  if (mech->cause) return NULL;
  CPMechSens sens = cpMechSensOf(mech);
  if (!sens) mech->cause = cpReason(mech->text, CP_MEM_FAIL, "no memory");
  return sens;
}

int CPMechAdjointRhs(sunrealtype t, N_Vector y, N_Vector yB, N_Vector yBdot, void *data) {
  CPMech mech          = data;
  CPMechSens sens      = workspace(mech, __func__);
  const sunrealtype *l = N_VGetArrayPointer(yB);
  if (!sens) return mech->cause;
  mech->cause = solve(sens, t, N_VGetArrayPointer(y), l);
  if (!mech->cause) mech->cause = transposedJacobian(sens, l, N_VGetArrayPointer(yBdot));
  if (!mech->cause) N_VScale(-1.0, yBdot, yBdot);
  return mech->cause;
}

int CPMechAdjointQuadrature(sunrealtype t, N_Vector y, N_Vector yB, N_Vector qBdot, void *data) {
  CPMech mech          = data;
  CPMechSens sens      = workspace(mech, __func__);
  const sunrealtype *l = N_VGetArrayPointer(yB), *lz = l + mech->nq + mech->nu;
  sunrealtype *q = N_VGetArrayPointer(qBdot);
  if (!sens) return mech->cause;
  if (!sens->params)
    return mech->cause = cpReason(mech->text, CP_NO_INIT, "there are no parameters");
  mech->cause = solve(sens, t, N_VGetArrayPointer(y), l);
  for (int i = 0; !mech->cause && i < sens->params->Ns; i++) {
    mech->cause     = cpMechSensParameter(sens, i);
    const double *F = cpByParam(sens, i), *B = F + mech->nu, *Z = B + mech->m;
    q[i] = -cpDot(F, sens->a, mech->nu) - cpDot(B, sens->lambda, mech->m) - cpDot(Z, lz, mech->nz);
  }
  return mech->cause;
}
