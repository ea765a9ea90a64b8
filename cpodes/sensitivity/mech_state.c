/* Derivatives of a mechanical system at a state, for all sensitivities there. */
#include "mech_impl.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>

/* ---- life cycle ---- */

static int allocate(CPMechSens sens) {
  const CPMech mech = sens->mech;
  const size_t nu = (size_t)mech->nu, m = (size_t)mech->m, n = (size_t)mech->n;
  sens->y = calloc(n + 4 * nu + 3 * m + (size_t)mech->nq, sizeof *sens->y);
  if (!sens->y) return CP_MEM_FAIL;
  sens->a0       = sens->y + n;
  sens->x        = sens->a0 + nu;
  sens->f        = sens->x + nu;
  sens->a        = sens->f + nu;
  sens->b        = sens->a + nu;
  sens->lambda   = sens->b + m;
  sens->lambda0  = sens->lambda + m;
  sens->qdot     = sens->lambda0 + m;
  sens->stride   = nu + 3 * m + (size_t)mech->nz;
  sens->value    = N_VNew_Serial((sunindextype)sens->stride, mech->ctx);
  sens->result   = N_VNew_Serial((sunindextype)sens->stride, mech->ctx);
  sens->at_y     = N_VMake_Serial(mech->n, sens->y, mech->ctx);
  sens->along    = N_VMake_Serial(mech->n, sens->y, mech->ctx);
  sens->at_moved = N_VNew_Serial(mech->n, mech->ctx);
  const int all  = sens->value && sens->result && sens->at_y && sens->along && sens->at_moved;
  return all ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpMechSensFree(CPMechSens *address) {
  CPMechSens sens = *address;
  if (!sens) return;
  cpPartialsFree(&sens->partials);
  cpParamsFree(&sens->own);
  N_Vector v[] = {sens->value, sens->result, sens->at_y, sens->along, sens->at_moved};
  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
    if (v[i]) N_VDestroy(v[i]);
  free(sens->y); /* the arrays are one */
  free(sens->by_param);
  free(sens->known);
  free(sens);
  *address = NULL;
}

CPMechSens cpMechSensOf(CPMech mech) {
  if (mech->sens) return mech->sens;
  CPMechSens sens = calloc(1, sizeof *sens);
  if (!sens) return NULL;
  sens->mech = mech;
  if (allocate(sens)) cpMechSensFree(&sens);
  return mech->sens = sens;
}

int cpMechSensIsDirect(const CPMech mech) {
  return !mech->operators && !mech->model.f_lambda && mech->nfull == 0 && !mech->model.N;
}

/* ---- the state ---- */

static CPMechState stateOf(const CPMechSens sens, const double *y) {
  const CPMech mech = sens->mech;
  return (CPMechState){sens->t, y, y + mech->nq, y + mech->nq + mech->nu};
}

static void noteFactors(CPMechSens sens) {
  sens->nM = sens->mech->stats.nM;
  sens->nA = sens->mech->stats.nA;
}

int cpMechSensFactor(CPMechSens sens) {
  const CPMech mech = sens->mech;
  if (sens->nM == mech->stats.nM && sens->nA == mech->stats.nA) return CP_SUCCESS;
  const int flag = cpMechFactor(mech, sens->t, sens->y);
  if (!flag) noteFactors(sens);
  return flag;
}

static int haveParametersMoved(const CPMechSens sens) {
  const CPParams *params = sens->params;
  for (int i = 0; params && params->p && i < params->Ns; i++)
    if (params->p[params->plist[i]] != sens->values_of_p[i]) return 1;
  return 0;
}

static int isSame(const CPMechSens sens, sunrealtype t, const sunrealtype *y) {
  return sens->valid && !haveParametersMoved(sens) && sens->t == t &&
         sens->layout == sens->mech->layout &&
         !memcmp(sens->y, y, (size_t)sens->mech->n * sizeof *y);
}

/* sens is to be at (t, y); its solution and factors follow. */
static void moveTo(CPMechSens sens, sunrealtype t, const sunrealtype *y) {
  sens->valid = sens->has_matrices = 0;
  sens->t                          = t;
  memcpy(sens->y, y, (size_t)sens->mech->n * sizeof *y);
}

/* ... and have come. */
static void haveArrived(CPMechSens sens) {
  const CPParams *params = sens->params;
  noteFactors(sens);
  sens->layout = sens->mech->layout;
  if (params) memset(sens->known, 0, (size_t)params->Ns);
  for (int i = 0; params && params->p && i < params->Ns; i++)
    sens->values_of_p[i] = params->p[params->plist[i]];
  sens->valid = 1;
}

int cpMechSensState(CPMechSens sens, sunrealtype t, const sunrealtype *y) {
  if (isSame(sens, t, y)) return CP_SUCCESS;
  moveTo(sens, t, y);
  const CPMechState s = stateOf(sens, sens->y);
  const int flag      = cpMechSolve(sens->mech, &s, sens->a0, sens->lambda0);
  if (!flag) haveArrived(sens);
  return flag;
}

/* A user's recursion leaves no factors. */
void cpMechSensKeep(CPMech mech, sunrealtype t, const sunrealtype *y, const sunrealtype *udot,
                    const sunrealtype *lambda) {
  CPMechSens sens       = mech->sens;
  const int has_factors = !mech->model.udot;
  if (!sens || !sens->params || !cpMechSensIsDirect(mech)) return;
  if (isSame(sens, t, y)) {
    if (has_factors) noteFactors(sens);
    return;
  }
  moveTo(sens, t, y);
  memcpy(sens->a0, udot, (size_t)mech->nu * sizeof *udot);
  memcpy(sens->lambda0, lambda, (size_t)mech->m * sizeof *lambda);
  haveArrived(sens);
  if (!has_factors) sens->nM = sens->nA = -1;
}

/* ---- partial derivatives to the state ---- */

/* Those of the iteration matrix with M and A, whichever the integrator uses */
static int createPartials(CPMechSens sens) {
  const int flag = cpPartialsCreate(&sens->partials, sens->mech, CP_NEWTON_KKT);
  if (flag) return cpReason(sens->mech->text, flag, "no memory for partial derivatives");
  sens->partials->sixth_order = 1;
  return CP_SUCCESS;
}

int cpMechSensMatrices(CPMechSens sens) {
  if (sens->has_matrices) return CP_SUCCESS;
  int flag = sens->partials ? CP_SUCCESS : createPartials(sens);
  if (!flag) flag = cpPartialsAt(sens->partials, sens->t, sens->y, NULL, NULL, NULL);
  sens->has_matrices = !flag;
  return flag;
}

/* ---- parameters ---- */

static int byUser(CPMechSens sens, int iS, double *values) {
  const CPMech mech   = sens->mech;
  const CPMechState s = stateOf(sens, sens->y);
  double *B = values + mech->nu, *Z = B + mech->m, *p = Z + mech->nz, *v = p + mech->m;
  memset(values, 0, sens->stride * sizeof *values);
  int flag =
      sens->jac(s.t, s.q, s.u, s.z, sens->a0, sens->lambda0, iS, values, mech->na ? B : NULL,
                mech->np ? p : NULL, mech->nv ? v : NULL, mech->nz ? Z : NULL, mech->user_data);
  flag = cpMechResult(mech, flag, sens->t, "parameter derivatives");
  return flag ? flag
              : cpMechFinite(mech, sens->t, "parameter derivatives", values, (int)sens->stride);
}

/* F, B, Z at s with the accelerations and multipliers of the state */
static int evaluate(CPMechSens sens, const CPMechState *s, double *value) {
  const CPMech mech = sens->mech;
  double *F = value, *B = F + mech->nu, *Z = B + mech->m;
  int flag = cpMechB(mech, s->t, s->q, s->u, B); /* may leave A elsewhere */
  if (!flag) flag = cpMechA(mech, s->t, s->q);
  if (!flag) flag = cpMechMass(mech, s->t, s->q);
  if (!flag) flag = cpMechForces(mech, s, F);
  if (!flag && mech->nz > 0) flag = cpMechAuxiliary(mech, s, sens->lambda0, Z);
  if (flag) return flag;
  cpMatTimes(&mech->A, -1.0, sens->a0, 1.0, B);
  cpMatTimes(&mech->userM.A, -1.0, sens->a0, 1.0, F);
  cpMatTransposedTimes(&mech->A, -1.0, sens->lambda0, 1.0, F);
  return CP_SUCCESS;
}

/* ... and p, v, at the state, with the parameters as they are */
static int evaluateAll(void *data, N_Vector value) {
  const CPMechSens sens = data;
  const CPMech mech     = sens->mech;
  const CPMechState s   = stateOf(sens, sens->y);
  double *F = N_VGetArrayPointer(value), *p = F + mech->nu + mech->m + mech->nz, *v = p + mech->m;
  int flag = mech->nprescribed > 0 ? cpMechMotions(mech, s.t) : CP_SUCCESS;
  if (!flag) flag = cpMechPositions(mech, s.t, s.q, p);
  if (!flag) flag = cpMechVelocities(mech, s.t, s.q, s.u, v);
  return flag ? flag : evaluate(sens, &s, F);
}

/* As a right-hand side (rhs.c) */
static int evaluateMoved(sunrealtype t, N_Vector y, N_Vector value, void *data) {
  CPMechSens sens     = ((CPMech)data)->sens;
  const CPMechState s = stateOf(sens, N_VGetArrayPointer(y));
  (void)t;
  return evaluate(sens, &s, N_VGetArrayPointer(value));
}

int cpMechSensAlong(CPMechSens sens, int iS, const sunrealtype *s) {
  N_VSetArrayPointer((sunrealtype *)s, sens->along); /* read only */
  return cpSensDirection(sens->params, evaluateMoved, sens->t, sens->at_y, iS, sens->along,
                         sens->result, sens->at_moved, sens->value, sens->mech);
}

/* The user's are wrong if they differ from differences by more than this part of the largest ... */
#define WRONG_PART 1.0e-5
/* ... and by more than this multiple of what two steps of differences differ by */
#define WRONG_SPREAD 100.0

/* values [count] against those of sens->result; spread: as far as that may be wrong */
static int checkPart(CPMechSens sens, int iS, const char *name, int first, int count,
                     const double *values, double spread) {
  const double *d   = N_VGetArrayPointer(sens->result) + first;
  const double size = fmax(cpLargest(values + first, count),
                           cpLargest(N_VGetArrayPointer(sens->result) + first, count));
  for (int i = 0; i < count; i++)
    if (fabs(values[first + i] - d[i]) > WRONG_PART * size + WRONG_SPREAD * spread)
      return cpReason(
          sens->mech->text, CP_MECH_DERIV_WRONG,
          "at t = %.15g: derivatives to parameter %d (CPMechSetParamJac): entry %d of %s "
          "is %.6g, differences say %.6g",
          sens->t, iS, i, name, values[first + i], d[i]);
  return CP_SUCCESS;
}

/* Differences of two steps: where they do not agree, they prove nothing. */
static int check(CPMechSens sens, int iS, const double *values) {
  const CPMech mech = sens->mech;
  const struct {
    const char *name;
    int count;
  } part[]       = {{"Fp", mech->nu}, {"Bp", mech->na}, {"motions' Bp", mech->m - mech->na},
                    {"Zp", mech->nz}, {"pp", mech->m},  {"vp", mech->m}};
  N_Vector other = N_VClone(sens->value);
  int flag       = other ? CP_SUCCESS : cpReason(mech->text, CP_MEM_FAIL, "no memory");
  if (!flag)
    flag = cpParamDifferenceOver(sens->params, iS, 0.5 * CP_PARAM_PART, evaluateAll, sens,
                                 sens->value, other);
  if (!flag)
    flag = cpParamDifference(sens->params, iS, evaluateAll, sens, sens->value, sens->result);
  if (!flag) N_VLinearSum(1.0, other, -1.0, sens->result, other);
  for (int k = 0, first = 0; !flag && k < 6; first += part[k++].count)
    flag = checkPart(sens, iS, part[k].name, first, part[k].count, values,
                     cpLargest(N_VGetArrayPointer(other) + first, part[k].count));
  if (other) N_VDestroy(other);
  sens->checked[iS] = !flag;
  return flag;
}

int cpMechSensParameter(CPMechSens sens, int iS) {
  int flag = CP_SUCCESS;
  if (!sens->params) return cpReason(sens->mech->text, CP_NO_INIT, "there are no parameters");
  double *values = cpByParam(sens, iS);
  if (sens->known[iS]) return CP_SUCCESS;
  if (sens->jac) flag = byUser(sens, iS, values);
  else if (!sens->params->p) memset(values, 0, sens->stride * sizeof *values);
  else {
    flag = cpParamDifference(sens->params, iS, evaluateAll, sens, sens->value, sens->result);
    memcpy(values, N_VGetArrayPointer(sens->result), sens->stride * sizeof *values);
  }
  if (!flag && sens->jac && sens->params->p && !sens->checked[iS]) flag = check(sens, iS, values);
  sens->known[iS] = !flag;
  return flag;
}

/* ---- which parameters ---- */

static int useParams(CPMechSens sens, const CPParams *params) {
  const size_t count = params ? (size_t)params->Ns : 0;
  free(sens->by_param);
  free(sens->known);
  sens->by_param = NULL;
  sens->known    = NULL;
  sens->params   = NULL;
  sens->valid    = 0;
  if (!params) return CP_SUCCESS;
  sens->by_param = calloc(count * (sens->stride + 1), sizeof *sens->by_param);
  sens->known    = calloc(2 * count, 1);
  if (!sens->by_param || !sens->known) return CP_MEM_FAIL;
  sens->values_of_p = sens->by_param + count * sens->stride;
  sens->checked     = sens->known + count;
  sens->params      = params;
  return CP_SUCCESS;
}

/* NULL: those of CPMechSetParams again, or none */
static int start(void *data, const CPParams *params) {
  CPMechSens sens = cpMechSensOf(data);
  if (!sens) return CP_MEM_FAIL;
  return useParams(sens, params ? params : sens->own.Ns > 0 ? &sens->own : NULL);
}

/* Rows of the projector: positions, then velocities */
static int rows(sunrealtype t, N_Vector y, int iS, N_Vector rv, int *given, void *data) {
  const CPMech mech = data;
  CPMechSens sens   = cpMechSensOf(mech);
  sunrealtype *r    = N_VGetArrayPointer(rv);
  *given            = sens && cpMechSensIsDirect(mech);
  if (!*given) return CP_SUCCESS;
  int flag = cpMechSensState(sens, t, N_VGetArrayPointer(y));
  if (!flag) flag = cpMechSensParameter(sens, iS);
  if (flag) return flag;
  const double *p = cpByParam(sens, iS) + mech->nu + mech->m + mech->nz, *v = p + mech->m;
  for (int i = 0; i < mech->m; i++)
    if (mech->at_position[i]) *r++ = mech->off[i] ? 0.0 : p[i];
  for (int i = 0; i < mech->m; i++)
    if (mech->at_velocity[i]) *r++ = mech->off[i] ? 0.0 : v[i];
  return CP_SUCCESS;
}

static const CPParams *params(void *data) {
  const CPMech mech = data;
  return mech->sens ? mech->sens->params : NULL;
}

const CPSensSystem cpMechSensModel = {.rhs        = CPMechSensRhs1,
                                     .start      = start,
                                     .rows       = rows,
                                     .adjoint    = CPMechAdjointRhs,
                                     .quadrature = CPMechAdjointQuadrature,
                                     .params     = params};

int CPMechSetParamJac(CPMech mech, CPMechParamJacFn jac) {
  int flag = cpMechOption(mech, 0, __func__);
  if (!flag && !mech->ready) flag = cpMechSetUp(mech, __func__);
  if (flag) return flag;
  CPMechSens sens = cpMechSensOf(mech);
  if (!sens) return cpReport(&mech->log, CP_MEM_FAIL, __func__, "no memory");
  sens->jac   = jac;
  sens->valid = 0;
  if (sens->params) memset(sens->checked, 0, (size_t)sens->params->Ns);
  return CP_SUCCESS;
}

int CPMechSetParams(CPMech mech, int Np, sunrealtype *p, const sunrealtype *pbar, const int *plist) {
  int flag = cpMechOption(mech, 0, __func__);
  if (!flag && !mech->ready) flag = cpMechSetUp(mech, __func__);
  if (flag) return flag;
  CPMechSens sens = cpMechSensOf(mech);
  CPParams params = {0};
  if (!sens) return cpReport(&mech->log, CP_MEM_FAIL, __func__, "no memory");
  if (sens->params && sens->params != &sens->own)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "the forward sensitivities of the integrator bring their parameters: use "
                    "CPodeSetSensParams");
  flag = cpParamsSet(&params, Np, p, pbar, plist, &mech->log, __func__);
  if (flag) return flag;
  cpParamsFree(&sens->own);
  sens->own = params;
  flag      = useParams(sens, &sens->own);
  return flag ? cpReport(&mech->log, flag, __func__, "no memory for parameters") : CP_SUCCESS;
}
