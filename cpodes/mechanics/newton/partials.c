/* Everything in the iteration matrix that does not depend on gamma: M, A, the blocks by the user's
 * functions or by differences, and which rows are fixed. */
#include "newton_impl.h"

#include <string.h>

/* The matrix that a block's function fills, NULL if there is none. */
static SUNMatrix target(CPMechNewtonMem newton, CPOutput of, CPDirection by) {
  CPBlock *block = &newton->block[of][by];
  if (!block->given) return NULL;
  cpUserMatClear(&block->user);
  return block->user.S;
}

static int take(CPMechNewtonMem newton, CPOutput of, CPDirection by, const char *function) {
  CPBlock *block = &newton->block[of][by];
  if (!block->given) return CP_SUCCESS;
  const int flag = cpMechTake(newton->mech, &block->user, CP_SUCCESS, newton->t, function);
  if (flag) return flag;
  cpMatZero(&block->J);
  cpMatAdd(&block->J, 1.0, &block->user.A);
  return CP_SUCCESS;
}

static int takeAll(CPMechNewtonMem newton, int flag, CPOutput of, const char *function) {
  flag = cpMechResult(newton->mech, flag, newton->t, function);
  for (int by = CP_BY_Q; !flag && by <= CP_BY_Z; by++)
    flag = take(newton, of, (CPDirection)by, function);
  return flag;
}

/* ---- the user's functions ---- */

static int dynamics(CPMechNewtonMem newton) {
  const CPMech mech = newton->mech;
  SUNMatrix K = target(newton, CP_OF_F, CP_BY_Q), C = target(newton, CP_OF_F, CP_BY_U),
            Fz = target(newton, CP_OF_F, CP_BY_Z);
  if (!K && !C && !Fz) return CP_SUCCESS;
  const int flag = cpIsKkt(newton) ? mech->model.dynamics_jac(newton->t, newton->q, newton->u,
                                                              newton->z, newton->a, newton->lambda,
                                                              K, C, Fz, mech->user_data)
                                   : mech->model.udot_jac(newton->t, newton->q, newton->u,
                                                          newton->z, K, C, Fz, mech->user_data);
  return takeAll(newton, flag, CP_OF_F, cpIsKkt(newton) ? "dynamics_jac" : "udot_jac");
}

static int constraints(CPMechNewtonMem newton) {
  const CPMech mech = newton->mech;
  SUNMatrix Bq = target(newton, CP_OF_B, CP_BY_Q), Bu = target(newton, CP_OF_B, CP_BY_U);
  if (!Bq && !Bu) return CP_SUCCESS;
  const int flag = mech->model.constraint_jac(newton->t, newton->q, newton->u, newton->a, Bq, Bu,
                                              mech->user_data);
  return takeAll(newton, flag, CP_OF_B, "constraint_jac");
}

static int auxiliary(CPMechNewtonMem newton) {
  const CPMech mech = newton->mech;
  SUNMatrix Zq = target(newton, CP_OF_Z, CP_BY_Q), Zu = target(newton, CP_OF_Z, CP_BY_U),
            Zz = target(newton, CP_OF_Z, CP_BY_Z);
  if (!Zq && !Zu && !Zz) return CP_SUCCESS;
  const int flag = mech->model.auxiliary_jac(newton->t, newton->q, newton->u, newton->z,
                                             newton->lambda, Zq, Zu, Zz, mech->user_data);
  return takeAll(newton, flag, CP_OF_Z, "auxiliary_jac");
}

static int lambdaForces(CPMechNewtonMem newton) {
  const CPMech mech = newton->mech;
  SUNMatrix Fl      = target(newton, CP_OF_F, CP_BY_LAMBDA);
  if (!Fl) return CP_SUCCESS;
  int flag = mech->model.lambda_jac(newton->t, newton->q, newton->u, newton->z, newton->lambda, Fl,
                                    mech->user_data);
  flag     = cpMechResult(mech, flag, newton->t, "lambda_jac");
  return flag ? flag : take(newton, CP_OF_F, CP_BY_LAMBDA, "lambda_jac");
}

/* ---- all of it ---- */

static int keepState(CPMechNewtonMem newton, sunrealtype t, const sunrealtype *y) {
  const CPMech mech = newton->mech;
  CPMechState s;
  const int flag = cpMechRead(mech, t, y, &s);
  if (flag) return flag;
  newton->t = t;
  memcpy(newton->q, s.q, (size_t)mech->nq * sizeof *newton->q);
  memcpy(newton->u, s.u, (size_t)mech->nu * sizeof *newton->u);
  memcpy(newton->z, s.z, (size_t)mech->nz * sizeof *newton->z);
  return CP_SUCCESS;
}

/* u', lambda, and with them the rows that count. */
static int keepSolution(CPMechNewtonMem newton) {
  CPMech mech         = newton->mech;
  const CPMechState s = {newton->t, newton->q, newton->u, newton->z};
  const int flag      = cpMechSolve(mech, &s, newton->a, newton->lambda);
  if (flag) return flag;
  newton->layout = mech->layout;
  for (int j = 0; j < newton->nu; j++) newton->fixed[j] = mech->is_full[j];
  for (int i = 0; i < newton->m; i++)
    newton->fixed[newton->nu + i] = mech->off[i] || mech->kkt->is_dependent[i];
  return CP_SUCCESS;
}

static int keepMatrices(CPMechNewtonMem newton) {
  CPMech mech = newton->mech;
  if (!cpIsKkt(newton)) return CP_SUCCESS;
  int flag = cpMechMass(mech, newton->t, newton->q);
  if (!flag) flag = cpMechA(mech, newton->t, newton->q);
  if (flag) return flag;
  memcpy(newton->M.value, mech->userM.A.value, cpMatEntries(&newton->M) * sizeof(double));
  memcpy(newton->A.value, mech->A.value, cpMatEntries(&newton->A) * sizeof(double));
  return CP_SUCCESS;
}

int cpNewtonPartials(CPMechNewtonMem newton, sunrealtype t, const sunrealtype *y, const double *ewt) {
  newton->valid = 0;
  newton->mech->stats.npartials++;
  int flag = keepState(newton, t, y);
  if (!flag) flag = keepSolution(newton);
  if (!flag) flag = keepMatrices(newton);
  if (!flag) flag = dynamics(newton);
  if (!flag) flag = constraints(newton);
  if (!flag) flag = auxiliary(newton);
  if (!flag) flag = lambdaForces(newton);
  if (!flag) flag = cpNewtonDifferences(newton, ewt);
  newton->valid = !flag;
  return flag;
}
