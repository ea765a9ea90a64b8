/* Sensitivities of a mechanical system, by its own partial derivatives. At one state, with
 *
 *   F = f - M a - A^T lambda,   B = b - A a,   Z = zdot               a = u' and lambda held
 *
 * and x = N^+ s_q, the derivative of (a, lambda) along s = (s_q, s_u, s_z) and with respect to a
 * parameter is
 *
 *   [ M A^T; A 0 ] [ da; dlambda ] = [ K x + C s_u + Fz s_z + Fp;  Bq x + Bu s_u + Bp ]        (S2)
 *
 * and, since that matrix is symmetric, all products with transposes need one solution only:
 *
 *   [ M A^T; A 0 ] [ w; mu ] = [ l_u;  Zl^T l_z ],
 *   l_u . da + l_z . Zl dlambda = w . F' + mu . B'.                                          (S3)
 *
 * Where u' is a function of the state alone, and the model knows its derivatives (udot_jac), da is their product with (x, s_u, s_z), and
 * w = l_u takes the place of the solution: no M is formed.
 *
 * If (S2) does not hold or is not known (operators, forces that depend on multipliers, FULL
 * motions, kinematics of the user), the whole right-hand side is differentiated along (s, p). */
#include "mechanics_impl.h"

#include <math.h>
#include <string.h>

/* ---- forward ---- */

/* The function to be differentiated by cpSensDirection. */
static int evaluateMoved(sunrealtype t, N_Vector y, N_Vector value, void *data) {
  CPMechSens sens     = ((CPMech)data)->sens;
  const CPMechState s = stateOf(sens, N_VGetArrayPointer(y));
  (void)t;
  return cpMechSensEvaluate(sens, &s, N_VGetArrayPointer(value));
}

static const CPParams no_params = {.p = NULL};
static const CPParams *paramsOf(const CPMechSens sens) {
  return sens->params ? sens->params : &no_params;
}

static double weightOf(CPAlong along, int i) { return along.dp ? along.dp[i] : i == along.iS; }

/* sens->result <- the derivatives of F, B, Z along these parameters; cpMechSensParameter uses it, too. */
static int alongParameters(CPMechSens sens, CPAlong along) {
  const int Ns = sens->params ? sens->params->Ns : 0;
  double *F    = N_VGetArrayPointer(sens->result);
  int flag     = CP_SUCCESS;
  for (int i = 0; !flag && i < Ns; i++)
    if (weightOf(along, i) != 0.0) flag = cpMechSensParameter(sens, i);
  memset(F, 0, sens->stride * sizeof *F);
  for (int i = 0; !flag && i < Ns; i++)
    for (size_t k = 0; weightOf(along, i) != 0.0 && k < sens->stride; k++)
      F[k] += weightOf(along, i) * byParam(sens, i)[k];
  return flag;
}

/* CPSensSystem's sizes: quadratures, which may be millions of J, have none. Positions alone say nothing where a body strikes the origin. */
static void sizes(N_Vector y, N_Vector size, void *data) {
  const CPMech mech    = data;
  const double *Y      = N_VGetArrayPointer(y);
  double *of           = N_VGetArrayPointer(size);
  const int n          = (int)mech->n - (int)mech->eq->nquad;
  const double least   = mech->eq->nangles > 0 ? 1.0 : mech->eq->typical; /* rad */
  const double largest = fmax(least, cpLargest(Y, n));
  for (int i = 0; i < mech->n; i++) of[i] = i < n ? cpSensSize(Y[i], largest) : INFINITY;
}

/* Does the model give all matrices of F and B, or those of u'? */
static int givesMatrices(const CPMechSens sens) {
  const CPMech mech        = sens->mech;
  const CPEquations *model = mech->eq;
  if (cpMechSensIsByUdot(sens)) return 1;
  return (model->dynamics_jac || cpMechIsLinear(mech)) && !cpMechForcesByDifference(mech) &&
         (mech->na == 0 || model->constraint_jac);
}

/* Solves (S2): sens->a and sens->lambda become the derivatives of u' and lambda. The right-hand
 * side, and Z', are in sens->result. They are computed by matrices if the user gives all those of F and B,
 * which costs less than differences of sixth order along s; those of Z are needed in any case, by lambda'. */
static int solveForward(CPMechSens sens, sunrealtype t, const sunrealtype *y, CPAlong along,
                        const sunrealtype *s) {
  const CPMech mech = sens->mech;
  double *F = N_VGetArrayPointer(sens->result), *B = F + mech->nu, *Z = B + mech->m;
  int flag = cpMechSensSetState(sens, t, y, NULL, NULL);
  if (flag) return flag;
  if (!givesMatrices(sens)) {
    N_VSetArrayPointer((sunrealtype *)s, sens->along); /* read only */
    N_VConst(0.0, sens->value);                        /* evaluateMoved sets nothing of p and v. */
    flag = cpSensDirection(&(CPSystem){.data = mech, .sens = &cpMechSensModel}, paramsOf(sens),
                           evaluateMoved, sens->t, sens->at_y, along, sens->along, sens->result,
                           sens->at_moved, sens->value, sens->error, mech);
  } else {
    double *const out[CP_OUTPUTS]         = {F, B, Z};
    const double *const by[CP_DIRECTIONS] = {sens->x, s + mech->nq, s + mech->nq + mech->nu, NULL};
    flag                                  = cpMechSensFindMatrices(sens);
    if (!flag) flag = alongParameters(sens, along);
    if (!flag) flag = cpMechKinematics(mech, sens->y, CP_N_INVERSE, s, sens->x); /* x = N^+ s_q */
    if (flag) return flag;
    for (int of = 0; of < CP_OUTPUTS; of++)
      for (int d = 0; d < CP_BY_LAMBDA; d++)
        cpBlockTimes(&sens->partials->block[of][d], 1.0, by[d], out[of]);
    flag = cpMechSensAddQuadratures(sens, by, Z + sens->partials->nz);
  }
  if (!flag && cpMechSensIsByUdot(sens)) {
    memcpy(sens->a, F, (size_t)mech->nu * sizeof *F);
    return CP_SUCCESS;
  }
  if (!flag) flag = cpMechSensFactor(sens);
  if (flag) return flag;
  flag = cpSaddleSolve(mech->kkt, F, B, sens->a, sens->lambda);
  return flag ? cpReason(mech->text, flag, "at t = %.10g: no solution for a sensitivity", sens->t)
              : CP_SUCCESS;
}

/* The quaternions of q += sign N(p) u, where N is evaluated with p in place of q. */
static int addQuaternions(CPMechSens sens, const sunrealtype *p, const sunrealtype *u, int sign,
                          sunrealtype *q) {
  const CPMech mech = sens->mech;
  const int flag =
      mech->coords->nquaternions > 0 ? cpMechKinematics(mech, p, CP_N, u, sens->qdot) : CP_SUCCESS;
  for (int k = 0; !flag && k < mech->coords->nquaternions; k++)
    for (int i = mech->coords->quaternions[k].first_q; i < mech->coords->quaternions[k].first_q + 4;
         i++)
      q[i] += sign * sens->qdot[i];
  return flag;
}

static int forwardRhs(CPMechSens sens, sunrealtype t, const sunrealtype *y, CPAlong along,
                      const sunrealtype *s, sunrealtype *sdot) {
  const CPMech mech = sens->mech;
  double *udot = sdot + mech->nq, *zdot = udot + mech->nu;
  int flag = solveForward(sens, t, y, along, s);
  if (!flag) flag = cpMechKinematics(mech, sens->y, CP_N, s + mech->nq, sdot); /* N(q) s_u */
  if (!flag) flag = addQuaternions(sens, s, sens->y + mech->nq, 1, sdot);      /* + N(s_q) u */
  if (flag) return flag;
  memcpy(udot, sens->a, (size_t)mech->nu * sizeof *udot);
  if (mech->nz == 0) return CP_SUCCESS;
  memcpy(zdot, N_VGetArrayPointer(sens->result) + mech->nu + mech->m,
         (size_t)mech->nz * sizeof *zdot); /* Z', without lambda' */
  if (mech->m == 0) return CP_SUCCESS;
  flag = cpMechSensFindMatrices(sens);
  if (flag) return flag;
  const CPPartials P                    = sens->partials;
  const double *const by[CP_DIRECTIONS] = {NULL, NULL, NULL, sens->lambda};
  cpBlockTimes(&P->block[CP_OF_Z][CP_BY_LAMBDA], 1.0, sens->lambda, zdot); /* + Zl lambda' */
  return cpMechSensAddQuadratures(sens, by, zdot + P->nz);
}

/* (y', lambda), as a right-hand side for cpSensDirection */
static int solutionAt(sunrealtype t, N_Vector y, N_Vector solution, void *data) {
  const CPMech mech  = data;
  sunrealtype *rates = N_VGetArrayPointer(solution);
  sunrealtype *a = rates + mech->nq, *lambda = rates + mech->n;
  CPMechState s;
  int flag = cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = cpMechSolve(mech, &s, a, lambda);
  return flag ? flag : cpMechOtherRates(mech, &s, lambda, rates);
}

/* change <- the derivatives of y' along (s, p) or, if it is longer, those of y' and lambda. Of a system that is not direct they are differences of
 * the whole solution, whose forces are linear along that direction. value, error: room, as long */
static int linearize(CPMechSens sens, sunrealtype t, N_Vector y, CPAlong along, N_Vector s,
                     N_Vector change, N_Vector value, N_Vector error) {
  const CPMech mech    = sens->mech;
  const sunrealtype *Y = N_VGetArrayPointer(y);
  sunrealtype *rates   = N_VGetArrayPointer(change);
  const int has_lambda = N_VGetLength(change) > mech->n;
  CPMechState state;
  int flag;
  if (cpMechSensIsDirect(mech)) {
    flag = forwardRhs(sens, t, Y, along, N_VGetArrayPointer(s), rates);
    if (has_lambda) memcpy(rates + mech->n, sens->lambda, (size_t)mech->m * sizeof *rates);
    return flag;
  }
  flag = cpMechRead(mech, t, Y, &state);
  if (!flag) flag = cpMechLinearizeForces(mech, &state);
  if (flag >= 0)
    flag = cpSensDirection(&(CPSystem){.data = mech, .sens = &cpMechSensModel}, paramsOf(sens),
                           has_lambda ? solutionAt : CPMechRhs, t, y, along, s, change,
                           sens->at_moved, value, error, mech);
  cpMechLinearizeForces(mech, NULL);
  return flag;
}

/* CVSensRhs1Fn; the factors and all partial derivatives at a state serve all its sensitivities. */
static int rhs(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
               N_Vector ySdot, void *data, N_Vector tmp1, N_Vector tmp2) {
  CPMech mech    = data;
  const int flag = cpMechUsable(mech, "CPIntegratorEvolve");
  (void)Ns, (void)ydot, (void)tmp2;
  if (flag) return flag;
  return mech->attached.cause = linearize(mech->sens, t, y, (CPAlong){.iS = iS}, yS, ySdot, tmp1,
                                          mech->sens->rates_error);
}

static int useParams(CPMechSens sens, const CPParams *params) {
  CPArena *arena = &sens->by_params;
  cpArenaFree(arena);
  sens->params = NULL;
  sens->valid = sens->checked = 0;
  if (!params) return CP_SUCCESS;
  CP_NEW(arena, sens->by_param, (size_t)params->Ns * sens->stride);
  CP_NEW(arena, sens->values_of_p, params->Ns);
  CP_NEW(arena, sens->known, params->Ns);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  sens->params = params;
  return CP_SUCCESS;
}

/* Are these the parameters of the newest product? */
static int isOwn(const CPMechSens sens, const CPParameters *given) {
  const CPParams *own = &sens->own;
  int same            = sens->params == own && own->Ns == given->n && own->p == given->values;
  for (int i = 0; same && i < given->n; i++) {
    const int k = given->plist ? given->plist[i] : i;
    same        = own->plist[i] == k && own->pbar[i] == (given->pbar     ? given->pbar[i]
                                                         : given->values ? fabs(given->values[k])
                                                                         : 0);
  }
  return same;
}

static int noParameters(CPMech mech) {
  return cpReason(mech->text, CP_MEM_FAIL, "no memory for parameters");
}

/* Reports a failure, with the reason in mech->text. The parameters of the integrator's sensitivities apply again. */
static int end(CPMech mech, int flag, const char *function) {
  const CPMechSens sens = mech->sens;
  if (sens->theirs && sens->params != sens->theirs && useParams(sens, sens->theirs) && !flag)
    flag = noParameters(mech);
  return flag ? cpMechReport(mech, flag, function) : CP_SUCCESS;
}

static int checkResult(CPMech mech, N_Vector result, const char *name, const char *function) {
  if (!result || N_VGetLength(result) == mech->n) return CP_SUCCESS;
  return cpRefuse(&mech->log, function, "%s must have the length of y, %d", name, mech->n);
}

/* Prepares a product with respect to these parameters, or none if given is NULL. All other arguments have been
 * checked: from here on the parameters of the integrator's sensitivities are set aside, until end(). Returns 0 or
 * an error code that has been reported. */
static int begin(CPMech mech, const CPParameters *given, const char *function) {
  const CPMechSens sens = cpMechSensOf(mech);
  if (!sens) return cpReport(&mech->log, CP_MEM_FAIL, function, "no memory");
  CPParams params = {0};
  if (!given || !given->values) sens->valid = 0; /* They may have changed unseen. */
  if (!given || isOwn(sens, given)) return CP_SUCCESS;
  int flag = cpParamsSet(&params, given, &mech->log, function);
  if (flag) return flag;
  useParams(sens, NULL);
  cpParamsFree(&sens->own);
  sens->own = params;
  return useParams(sens, &sens->own) ? end(mech, noParameters(mech), function) : CP_SUCCESS;
}

int CPMechJvp(CPMech mech, sunrealtype t, N_Vector y, const CPParameters *parameters, N_Vector s,
              const sunrealtype *dp, N_Vector sdot, sunrealtype *lambdaS) {
  CPParameters own;
  int flag = cpMechCheckState(mech, y, __func__);
  if (!flag && parameters) flag = cpTake(&mech->log, &own, parameters, __func__), parameters = &own;
  if (!flag) flag = cpMechCheckVector(mech, s, "s", __func__);
  if (!flag) flag = checkResult(mech, sdot, "sdot", __func__);
  if (!flag && dp && !parameters) flag = cpRefuse(&mech->log, __func__, "dp needs parameters");
  for (int i = 0; !flag && dp && i < parameters->n; i++)
    if (!isfinite(dp[i]))
      flag = cpRefuse(&mech->log, __func__, "dp[%d] must be finite: %g", i, dp[i]);
  if (!flag) flag = begin(mech, parameters, __func__);
  if (flag) return flag;
  N_Vector *all       = mech->sens->solution;
  const double *rates = N_VGetArrayPointer(all[0]);
  flag = linearize(mech->sens, t, y, (CPAlong){.iS = -1, .dp = dp}, s, all[0], all[1], all[2]);
  if (!flag && sdot) memcpy(N_VGetArrayPointer(sdot), rates, (size_t)mech->n * sizeof *rates);
  if (!flag && lambdaS) memcpy(lambdaS, rates + mech->n, (size_t)mech->m * sizeof *lambdaS);
  return end(mech, flag, __func__);
}

/* ---- adjoint: l' = -J^T l, and l^T df/dp ---- */

static void addTransposed(const CPPartials P, CPOutput of, CPDirection by, const double *x,
                          double *result) {
  if (P->block[of][by].exists) cpMatTransposedTimes(&P->block[of][by].J, 1.0, x, 1.0, result);
}

/* The same of Z with lz, which contains its quadratures */
static void addTransposedZ(const CPMechSens sens, CPDirection by, const double *lz, double *g) {
  const CPPartials P               = sens->partials;
  const int columns[CP_DIRECTIONS] = {P->nu, P->nu, P->nz, sens->mech->m};
  const double *row                = sens->quadratures;
  addTransposed(P, CP_OF_Z, by, lz, g);
  if (P->nquad == 0 || !(cpLargest(lz + P->nz, P->nquad) > 0.0)) return;
  for (int before = 0; before < (int)by; before++) row += columns[before] * P->nquad;
  for (int j = 0; j < columns[by]; j++, row += P->nquad) g[j] += cpDot(row, lz + P->nz, P->nquad);
}

/* Solves (S3): sens->a = w, sens->lambda = mu. Returns 0, or a code with the reason in mech->text. */
static int solveAdjoint(CPMechSens sens, sunrealtype t, N_Vector y, N_Vector yB) {
  const CPMech mech    = sens->mech;
  const sunrealtype *l = N_VGetArrayPointer(yB);
  const int quads      = (int)mech->eq->nquad;
  if (!cpMechSensIsDirect(mech))
    return cpReason(mech->text, CP_NOT_SUPPORTED,
                    "adjoints need M and A, without forces that depend on multipliers, FULL "
                    "motions or kinematics of one's own");
  int flag = cpMechSensSetState(sens, t, N_VGetArrayPointer(y), NULL, NULL);
  if (!flag) flag = cpMechSensFindMatrices(sens);
  if (!flag && sens->partials->nquad > 0 && cpLargest(l + mech->n - quads, quads) > 0.0)
    flag = cpMechSensFindQuadratures(sens);
  if (!flag && cpMechSensIsByUdot(sens)) {
    memcpy(sens->a, l + mech->nq, (size_t)mech->nu * sizeof *sens->a);
    return CP_SUCCESS;
  }
  if (!flag) flag = cpMechSensFactor(sens);
  if (flag) return flag;
  memcpy(sens->f, l + mech->nq, (size_t)mech->nu * sizeof *sens->f);
  memset(sens->b, 0, (size_t)mech->m * sizeof *sens->b);
  addTransposedZ(sens, CP_BY_LAMBDA, l + mech->nq + mech->nu, sens->b);
  flag = cpSaddleSolve(mech->kkt, sens->f, sens->b, sens->a, sens->lambda);
  return flag ? cpReason(mech->text, flag, "at t = %.10g: no solution for an adjoint", t)
              : CP_SUCCESS;
}

/* g += K^T w + Bq^T mu + Zq^T l_z, or the same for another direction than q. */
static void gather(const CPMechSens sens, CPDirection by, const double *lz, double *g) {
  addTransposed(sens->partials, CP_OF_F, by, sens->a, g);
  addTransposed(sens->partials, CP_OF_B, by, sens->lambda, g);
  addTransposedZ(sens, by, lz, g);
}

/* Jl <- J^T l, by the solution of (S3) */
static int timesStates(CPMechSens sens, N_Vector yB, N_Vector Jl) {
  const CPMech mech    = sens->mech;
  const CPPartials P   = sens->partials;
  const sunrealtype *l = N_VGetArrayPointer(yB), *lz = l + mech->nq + mech->nu;
  double *g = N_VGetArrayPointer(Jl), *gu = g + mech->nq, *gz = gu + mech->nu;
  int flag = cpMechKinematics(mech, P->q, CP_N_TRANSPOSE, l, gu);
  memset(sens->x, 0, (size_t)mech->nu * sizeof *sens->x);
  memset(gz, 0, (size_t)mech->nz * sizeof *gz);
  gather(sens, CP_BY_Q, lz, sens->x);
  gather(sens, CP_BY_U, lz, gu);
  if (mech->nz > 0) gather(sens, CP_BY_Z, lz, gz);
  if (!flag) flag = cpMechKinematics(mech, P->q, CP_N_INVERSE_TRANSPOSE, sens->x, g);
  /* N(q) u = E q, where E, the product with (0, omega / 2), is skew: E^T l_q = -N(l_q) u. */
  return flag ? flag : addQuaternions(sens, l, P->u, -1, g);
}

/* lfp [Ns] <- l^T df/dp, by the solution of (S3) */
static int timesParameters(CPMechSens sens, N_Vector yB, sunrealtype *lfp) {
  const CPMech mech     = sens->mech;
  const sunrealtype *lz = N_VGetArrayPointer(yB) + mech->nq + mech->nu;
  int flag              = CP_SUCCESS;
  for (int i = 0; !flag && sens->params && i < sens->params->Ns; i++) {
    flag            = cpMechSensParameter(sens, i);
    const double *F = byParam(sens, i), *B = F + mech->nu, *Z = B + mech->m;
    lfp[i] = cpDot(F, sens->a, mech->nu) + cpDot(B, sens->lambda, mech->m) + cpDot(Z, lz, mech->nz);
  }
  return flag;
}

int CPMechVjp(CPMech mech, sunrealtype t, N_Vector y, const CPParameters *parameters, N_Vector l,
              N_Vector Jl, sunrealtype *lfp) {
  CPParameters own;
  int flag = cpMechCheckState(mech, y, __func__);
  if (!flag && parameters) flag = cpTake(&mech->log, &own, parameters, __func__), parameters = &own;
  if (!flag) flag = cpMechCheckVector(mech, l, "l", __func__);
  if (!flag) flag = checkResult(mech, Jl, "Jl", __func__);
  if (!flag && lfp && !parameters) flag = cpRefuse(&mech->log, __func__, "lfp needs parameters");
  if (!flag) flag = begin(mech, parameters, __func__);
  if (flag) return flag;
  flag = solveAdjoint(mech->sens, t, y, l);
  if (!flag && Jl) flag = timesStates(mech->sens, l, Jl);
  if (!flag && lfp) flag = timesParameters(mech->sens, l, lfp);
  return end(mech, flag, __func__);
}

/* CPSensSystem's products, while the integrator runs */
static int products(sunrealtype t, N_Vector y, N_Vector l, N_Vector Jl, sunrealtype *lfp,
                    void *data) {
  const CPMech mech = data;
  int flag          = mech->ready && !mech->log.running ? CP_SUCCESS
                                                        : cpMechCheckState(mech, y, "CPIntegratorGradient");
  if (flag) return flag;
  const CPMechSens sens = cpMechSensOf(mech);
  if (!sens) flag = cpReason(mech->text, CP_MEM_FAIL, "no memory");
  if (!flag) flag = solveAdjoint(sens, t, y, l);
  if (!flag && Jl) flag = timesStates(sens, l, Jl);
  if (!flag && lfp) flag = timesParameters(sens, l, lfp);
  return mech->attached.cause = flag;
}

/* ---- the parameters ---- */

/* CPSensSystem's start */
static int start(void *data, const CPParams *params) {
  CPMechSens sens = cpMechSensOf(data);
  if (!sens) return CP_MEM_FAIL;
  sens->theirs   = NULL;
  const int flag = useParams(sens, params);
  if (!flag) sens->theirs = params;
  return flag;
}

/* dc/dp in the order of the projector's rows: positions, then velocities. */
static int rows(sunrealtype t, N_Vector y, int iS, N_Vector rv, int *given, void *data) {
  const CPMech mech = data;
  CPMechSens sens   = cpMechSensOf(mech);
  sunrealtype *r    = N_VGetArrayPointer(rv);
  *given            = sens && cpMechSensIsDirect(mech);
  if (!*given) return CP_SUCCESS;
  int flag = cpMechSensSetState(sens, t, N_VGetArrayPointer(y), NULL, NULL);
  if (!flag) flag = cpMechSensParameter(sens, iS);
  if (flag) return flag;
  const double *p = byParam(sens, iS) + mech->nu + mech->m + mech->nz, *v = p + mech->m;
  for (int i = 0; i < mech->m; i++)
    if (mech->model->rows.at_position[i]) *r++ = mech->rows.off[i] ? 0.0 : p[i];
  for (int i = 0; i < mech->m; i++)
    if (mech->model->rows.at_velocity[i]) *r++ = mech->rows.off[i] ? 0.0 : v[i];
  return CP_SUCCESS;
}

static int transposes(void *mech) { return cpMechSensIsDirect(mech); }

const CPSensSystem cpMechSensModel = {.rhs        = rhs,
                                      .start      = start,
                                      .rows       = rows,
                                      .products   = products,
                                      .transposes = transposes,
                                      .sizes      = sizes};

int CPMechSetParamPartialsFn(CPMech mech, CPParamPartialsFn fn) {
  int flag = cpMechOption(mech, 0, __func__);
  if (!flag && !mech->ready) flag = cpMechSetUp(mech, __func__);
  if (flag) return flag;
  const CPMechSens sens = cpMechSensOf(mech);
  if (!sens) return cpReport(&mech->log, CP_MEM_FAIL, __func__, "no memory");
  sens->jac   = fn;
  sens->valid = sens->checked = 0;
  return CP_SUCCESS;
}
