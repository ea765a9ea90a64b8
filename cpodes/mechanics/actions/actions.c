/* Linear problems at one state, with a choice of rows. */
#include "actions.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/functions.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

/* ---- life cycle ---- */

static int times(void *act, N_Vector v, N_Vector Av) {
  return cpActionTimes(act, NV_DATA_S(v), NV_DATA_S(Av));
}
static int transposed(void *act, N_Vector w, N_Vector ATw) {
  return cpActionTransposedTimes(act, NV_DATA_S(w), NV_DATA_S(ATw));
}
static int metric(void *act, N_Vector g, N_Vector Dg) {
  return cpActionInverseMass(act, NV_DATA_S(g), NV_DATA_S(Dg));
}

static const CPKrylovProducts products = {.times = times, .transposed = transposed, .metric = metric};

int cpActionOpen(CPAction *act, CPMech mech, sunrealtype t, N_Vector y, const char *function) {
  *act     = (CPAction){.mech = NULL};
  int flag = cpMechCheckState(mech, y, function);
  if (flag) return flag;
  if (mech->operators && !mech->eq->Minv)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, function,
                    "the operators lack M^{-1} x (Minv of the model)");
  act->mech      = mech;
  act->off       = mech->rows.off;
  act->rank      = mech->stats.rank;
  act->unique    = mech->stats.unique;
  CPArena *arena = &act->arena;
  CP_ARRAYS(arena, mech->nu, &act->w, &act->d, &act->f, &act->known);
  CP_ARRAYS(arena, mech->m, &act->x, &act->r, &act->mu, &act->b, &act->rest);
  CP_NEW(arena, act->out, 2 * mech->m);
  if (mech->operators && !cpArenaStatus(arena)) {
    act->right       = cpArenaTake(arena, N_VMake_Serial(mech->m, act->rest, mech->ctx));
    act->multipliers = cpArenaTake(arena, N_VMake_Serial(mech->m, act->mu, mech->ctx));
    act->solution    = cpArenaTake(arena, N_VMake_Serial(mech->nu, act->d, mech->ctx));
    act->ones        = cpArenaTake(arena, N_VNew_Serial(mech->m, mech->ctx));
    if (act->ones) N_VConst(1.0, act->ones);
    if (!cpArenaStatus(arena) &&
        cpKrylovCreate(&act->krylov, &products, act, act->solution, act->ones))
      arena->failed = 1;
  }
  if (cpArenaStatus(arena)) return cpReport(&mech->log, CP_MEM_FAIL, function, "out of memory");
  act->factored = act->out + mech->m;
  memset(act->out, 1, 2 * (size_t)mech->m);
  act->u = N_VGetArrayPointer(y) + mech->nq;
  flag   = cpMechRead(mech, t, N_VGetArrayPointer(y), &act->s);
  return flag ? cpMechReport(mech, flag, function) : CP_SUCCESS;
}

void cpActionClose(CPAction *act) {
  if (act->mech) {
    act->mech->rows.off     = act->off;
    act->mech->stats.rank   = act->rank;
    act->mech->stats.unique = act->unique;
  }
  cpKrylovFree(&act->krylov);
  cpArenaFree(&act->arena);
}

void cpActionRows(CPAction *act, int velocity_level) {
  const CPMech mech = act->mech;
  for (int i = 0; i < mech->m; i++)
    act->out[i] = (char)(act->off[i] || (velocity_level && !mech->model->rows.at_velocity[i]));
}

int cpActionFactor(CPAction *act) {
  if (act->mech->operators) return CP_SUCCESS;
  memcpy(act->factored, act->out, (size_t)act->mech->m);
  act->mech->rows.off  = act->factored;
  act->mech->solve.off = NULL;
  return cpMechFactor(act->mech, act->s.t, act->s.q);
}

/* ---- products ---- */

int cpActionTimes(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  int flag          = CP_SUCCESS;
  if (mech->operators) flag = cpMechTimes(mech, act->s.t, act->s.q, 0, x, y);
  else cpMatTimes(&mech->A, 1.0, x, 0.0, y);
  for (int i = 0; i < mech->m; i++)
    if (act->out[i]) y[i] = 0.0;
  return flag;
}

int cpActionTransposedTimes(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  for (int i = 0; i < mech->m; i++) act->b[i] = act->out[i] ? 0.0 : x[i];
  if (mech->operators) return cpMechTimes(mech, act->s.t, act->s.q, 1, act->b, y);
  cpMatTransposedTimes(&mech->A, 1.0, act->b, 0.0, y);
  return CP_SUCCESS;
}

int cpActionMass(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  if (!mech->operators) {
    cpMatTimes(&mech->userM.A, 1.0, x, 0.0, y);
    return CP_SUCCESS;
  }
  if (!mech->eq->Mu)
    return cpReason(mech->text, CP_NOT_SUPPORTED, "the operators lack M x (Mu of the model)");
  return cpMechOperator(mech, mech->eq->Mu, "Mu", act->s.t, act->s.q, x, y, mech->nu);
}

int cpActionInverseMass(CPAction *act, const double *x, double *y) {
  const CPMech mech = act->mech;
  return cpMechOperator(mech, mech->eq->Minv, "Minv", act->s.t, act->s.q, x, y, mech->nu);
}

/* ---- conjugate gradients ---- */

int cpActionCG(CPAction *act, double *r, double *d, double *mu) {
  char *text          = act->mech->text;
  long int iterations = 0;
  N_VSetArrayPointer(r, act->right);
  N_VSetArrayPointer(d, act->solution);
  N_VSetArrayPointer(mu, act->multipliers);
  N_VConst(0.0, act->solution);
  cpKrylovReset(act->krylov);
  const int flag = cpKrylovSolve(act->krylov, act->ones, CP_FUZZ, act->right, act->solution,
                                 act->multipliers, &iterations, text);
  if (flag == -CP_METRIC_INDEFINITE)
    return cpReason(text, -CP_MASS_INDEFINITE,
                    "at t = %.10g: M^{-1} must be positive definite, and is not", act->s.t);
  if (flag == -CP_CNSTRJAC_WRONG || flag == -CP_PROJ_CONV_FAILURE)
    return cpReason(text, -CP_PROJ_CONV_FAILURE,
                    "at t = %.10g: conjugate gradients on A M^{-1} A^T do not converge: are Au and "
                    "ATl each other's transpose (CPMechCheck)?",
                    act->s.t);
  return flag;
}

/* ---- solution ---- */

int cpActionSolve(CPAction *act, const double *f_given, const double *r_given, double *d,
                  double *mu) {
  const CPMech mech = act->mech;
  const int nu = mech->nu, m = mech->m;
  double *f = act->f, *b = act->b, *known = act->known;
  for (int j = 0; j < nu; j++) f[j] = f_given ? f_given[j] : 0.0;
  for (int i = 0; i < m; i++) b[i] = r_given ? r_given[i] : 0.0;
  if (mech->operators) { /* A M^-1 A^T mu = A M^-1 f - b, d = M^-1 f - M^-1 A^T mu */
    double *free_d = known, *r = act->rest;
    int flag = cpActionInverseMass(act, f, free_d);
    if (!flag) flag = cpActionTimes(act, free_d, r);
    for (int i = 0; i < m; i++) r[i] -= act->out[i] ? 0.0 : b[i];
    if (!flag) flag = cpActionCG(act, r, d, mu);
    for (int j = 0; !flag && j < nu; j++) d[j] = free_d[j] - d[j];
    return flag;
  }
  /* Velocities of FULL motions are known: their columns move to the right-hand sides, and their
   * rows are those of the identity. */
  for (int j = 0; j < nu; j++) known[j] = mech->motions->is_full[j] ? d[j] : 0.0;
  if (mech->motions->nfull > 0) cpMechMoveKnown(mech, known, f, b);
  int flag = cpSaddleSolve(mech->kkt, f, b, d, mu);
  if (flag) return cpSaddleFailed(mech->kkt, flag, act->s.t, NULL, mech->text);
  flag = cpMechChecked(mech, 0, act->s.t, "velocity", d, nu);
  return flag ? flag : cpMechChecked(mech, 0, act->s.t, "impulse", mu, m);
}
