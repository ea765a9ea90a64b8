/* Sensitivities of a mechanical system: the state at which it is differentiated, with its factors, partial derivatives, and rates of
 * quadratures. */
#include "mechanics_impl.h"

#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>

/* ---- life cycle ---- */

void cpMechSensFree(CPMechSens *address) {
  CPMechSens sens = *address;
  if (!sens) return;
  cpPartialsFree(&sens->partials);
  cpParamsFree(&sens->own);
  cpArenaFree(&sens->by_params);
  cpArenaFree(&sens->arena);
  free(sens);
  *address = NULL;
}

static void forgetMatrices(CPMechSens sens) {
  cpPartialsFree(&sens->partials);
  sens->has_matrices = sens->has_quadratures = 0;
}

void cpMechSensForget(CPMech mech) {
  if (!mech->sens) return;
  forgetMatrices(mech->sens);
  mech->sens->valid = mech->sens->leaves_udot = 0;
}

CPMechSens cpMechSensOf(CPMech mech) {
  if (mech->sens) return mech->sens;
  CPMechSens sens = calloc(1, sizeof *sens);
  if (!sens) return NULL;
  CPArena *arena = &sens->arena;
  const int nu = mech->nu, m = mech->m;
  sens->mech   = mech;
  sens->stride = (size_t)(nu + 3 * m + mech->nz);
  CP_NEW(arena, sens->y, mech->n);
  CP_ARRAYS(arena, nu, &sens->a0, &sens->x, &sens->f, &sens->a);
  CP_ARRAYS(arena, m, &sens->lambda0, &sens->b, &sens->lambda);
  CP_NEW(arena, sens->qdot, mech->nq);
  const size_t quads = (size_t)mech->eq->nquad;
  CP_NEW(arena, sens->change, quads);
  CP_NEW(arena, sens->quadratures, quads * (size_t)(2 * nu + mech->nz + m));
  CP_NEW(arena, sens->unit, mech->n + m);
  sens->value       = cpArenaTake(arena, N_VNew_Serial((sunindextype)sens->stride, mech->ctx));
  sens->result      = cpArenaTake(arena, N_VNew_Serial((sunindextype)sens->stride, mech->ctx));
  sens->error       = cpArenaTake(arena, N_VNew_Serial((sunindextype)sens->stride, mech->ctx));
  sens->at_y        = cpArenaTake(arena, N_VMake_Serial(mech->n, sens->y, mech->ctx));
  sens->along       = cpArenaTake(arena, N_VMake_Serial(mech->n, sens->y, mech->ctx));
  sens->at_moved    = cpArenaTake(arena, N_VNew_Serial(mech->n, mech->ctx));
  sens->rates_error = cpArenaTake(arena, N_VNew_Serial(mech->n, mech->ctx));
  for (int k = 0; k < 3; k++)
    sens->solution[k] = cpArenaTake(arena, N_VNew_Serial(mech->n + m, mech->ctx));
  if (cpArenaStatus(arena)) cpMechSensFree(&sens);
  return mech->sens = sens;
}

int cpMechSensIsDirect(const CPMech mech) {
  return !mech->operators && !cpMechHasLambdaForces(mech) && mech->motions->nfull == 0 &&
         !mech->eq->N;
}

int cpMechSensIsByUdot(const CPMechSens sens) {
  const CPMech mech        = sens->mech;
  const CPEquations *model = mech->eq;
  return model->udot_jac && !sens->leaves_udot && mech->m == 0 && mech->nz == model->nquad &&
         mech->forces.count == 0 && !(sens->params && sens->params->p);
}

/* ---- the state ---- */

/* Are the factors of mech->kkt those of the state? They are from now on. */
static int hasFactors(const CPMechSens sens) {
  return sens->nM == sens->mech->stats.nM && sens->nA == sens->mech->stats.nA;
}
static void takeFactors(CPMechSens sens) {
  sens->nM = sens->mech->stats.nM, sens->nA = sens->mech->stats.nA;
}

int cpMechSensFactor(CPMechSens sens) {
  const int flag = hasFactors(sens) ? CP_SUCCESS : cpMechFactor(sens->mech, sens->t, sens->y);
  if (!flag) takeFactors(sens);
  return flag;
}

static int isSame(const CPMechSens sens, sunrealtype t, const sunrealtype *y) {
  const CPParams *params = sens->params;
  for (int i = 0; params && params->p && i < params->Ns; i++)
    if (params->p[params->plist[i]] != sens->values_of_p[i]) return 0;
  return sens->valid && sens->t == t && sens->layout == sens->mech->rows.layout &&
         !memcmp(sens->y, y, (size_t)sens->mech->n * sizeof *y);
}

int cpMechSensSetState(CPMechSens sens, sunrealtype t, const sunrealtype *y,
                       const sunrealtype *udot, const sunrealtype *lambda) {
  const CPMech mech      = sens->mech;
  const CPParams *params = sens->params;
  const int known        = isSame(sens, t, y),
            has_factors  = udot ? !mech->eq->udot : !cpMechSensIsByUdot(sens);
  int flag               = CP_SUCCESS;
  if (known && !udot) return CP_SUCCESS;
  if (!known) {
    sens->valid = sens->has_matrices = sens->has_quadratures = 0;
    sens->t                                                  = t;
    memcpy(sens->y, y, (size_t)mech->n * sizeof *y);
    const CPMechState s = stateOf(sens, sens->y);
    if (!udot && !cpMechSensIsByUdot(sens)) flag = cpMechSolve(mech, &s, sens->a0, sens->lambda0);
    if (flag) return flag;
    if (udot) memcpy(sens->a0, udot, (size_t)mech->nu * sizeof *udot);
    if (udot) memcpy(sens->lambda0, lambda, (size_t)mech->m * sizeof *lambda);
    if (params) memset(sens->known, 0, (size_t)params->Ns);
    for (int i = 0; params && params->p && i < params->Ns; i++)
      sens->values_of_p[i] = params->p[params->plist[i]];
    sens->layout = mech->rows.layout;
    sens->nM = sens->nA = -1;
    sens->valid         = 1;
  }
  if (has_factors) takeFactors(sens);
  return CP_SUCCESS;
}

void cpMechSensKeep(CPMech mech, sunrealtype t, const sunrealtype *y, const sunrealtype *udot,
                    const sunrealtype *lambda) {
  const CPMechSens sens = mech->sens;
  if (sens && sens->params && cpMechSensIsDirect(mech))
    cpMechSensSetState(sens, t, y, udot, lambda);
}

/* Increments relative to the sizes of states: smaller than those that are best for smooth functions, as curves of forces have
 * knots and friction changes within a small part of the velocity. Roundoff is 1e-13 of the forces. */
#define STATE_PART 1.0e-3

int cpMechSensFindMatrices(CPMechSens sens) {
  const int by_udot = cpMechSensIsByUdot(sens);
  int flag          = CP_SUCCESS;
  if (sens->partials && sens->partials->kkt == by_udot) forgetMatrices(sens);
  if (sens->has_matrices) return CP_SUCCESS;
  if (!sens->partials) {
    flag =
        cpPartialsCreate(&sens->partials, sens->mech, by_udot ? CP_NEWTON_HALF : CP_NEWTON_KKT, 1);
    if (flag) return cpReason(sens->mech->text, flag, "no memory for partial derivatives");
    sens->partials->sixth_order = STATE_PART;
  }
  const int has_factors     = !by_udot && hasFactors(sens);
  sens->partials->keep_rank = sens->partials->has_factors = has_factors;
  flag = cpPartialsAt(sens->partials, sens->t, sens->y, sens->a0, sens->lambda0, NULL);
  if (flag > 0 && by_udot) { /* It leaves u' to M. */
    const CPMechState s = stateOf(sens, sens->y);
    sens->leaves_udot   = 1;
    flag                = cpMechSolve(sens->mech, &s, sens->a0, sens->lambda0);
    if (!flag) takeFactors(sens);
    return flag ? flag : cpMechSensFindMatrices(sens);
  }
  if (!flag && (has_factors || sens->mech->m > 0)) takeFactors(sens);
  sens->has_matrices = !flag;
  return flag;
}

/* ---- quadratures ---- */

int cpMechSensAddQuadratures(CPMechSens sens, const double *const along[CP_DIRECTIONS], double *Zq) {
  const CPMech mech   = sens->mech;
  const CPPartials P  = sens->partials;
  const CPMechState s = {P->t, P->q, P->u, P->z};
  if (P->nquad == 0 || mech->stage.left_out > 0) return CP_SUCCESS;
  int flag = cpMechLinearizeForces(mech, &s);
  if (flag > 0) flag = CP_SUCCESS;
  for (int by = 0; !flag && by < CP_DIRECTIONS; by++) {
    const double *d[CP_DIRECTIONS] = {NULL};
    d[by]                          = along[by];
    if (!d[by]) continue;
    flag = cpPartialsAlong(P, d, sens->change);
    for (int k = 0; !flag && k < P->nquad; k++) Zq[k] += sens->change[k];
  }
  cpMechLinearizeForces(mech, NULL);
  return flag;
}

int cpMechSensFindQuadratures(CPMechSens sens) {
  const CPPartials P               = sens->partials;
  const int columns[CP_DIRECTIONS] = {P->nu, P->nu, P->nz, sens->mech->m};
  double *row                      = sens->quadratures;
  int flag                         = CP_SUCCESS;
  if (sens->has_quadratures) return CP_SUCCESS;
  memset(sens->unit, 0, (size_t)(sens->mech->n + sens->mech->m) * sizeof *sens->unit);
  for (int by = 0; by < CP_DIRECTIONS; by++)
    for (int j = 0; !flag && j < columns[by]; j++, row += P->nquad) {
      const double *along[CP_DIRECTIONS] = {NULL};
      along[by]                          = sens->unit;
      sens->unit[j]                      = 1.0;
      memset(row, 0, (size_t)P->nquad * sizeof *row);
      flag          = cpMechSensAddQuadratures(sens, along, row);
      sens->unit[j] = 0.0;
    }
  sens->has_quadratures = !flag;
  return flag;
}
