/* Calls of cpodes_sens.h. */
#include "world.h"

#include <cvodes/cvodes.h>
#include <math.h>

static void *cvodes(World *w) { return CPIntegratorGetCVodeMem(w->mem); }

static World *of_callbacks; /* the functions do not get it */

/* By a central difference */
static int sens_rhs(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                    N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  sunrealtype *p      = &of_callbacks->m.p[iS];
  const sunrealtype e = 1e-6, kept = *p;
  int flag = 0;
  (void)Ns, (void)ydot;
  N_VConst(0.0, ySdot);
  for (int side = -1; side <= 1 && !flag; side += 2) {
    *p = kept + side * e;
    N_VLinearSum(1.0, y, side * e, yS, tmp1);
    flag = mechanism_rhs(t, tmp1, tmp2, user_data);
    N_VLinearSum(1.0, ySdot, side / (2.0 * e), tmp2, ySdot);
  }
  *p = kept;
  return flag ? flag : disturb(ON_SENS_RHS, N_VGetArrayPointer(ySdot), of_callbacks->m.n);
}

/* Vectors of zeros for the sensitivities */
static N_Vector *starts(World *w, N_Vector yS[PARAMETERS]) {
  for (int i = 0; i < PARAMETERS; i++) {
    yS[i] = N_VClone(w->start);
    if (!yS[i] || w->nvectors == POOL) no_memory();
    N_VConst(0.0, yS[i]);
    w->vectors[w->nvectors++] = yS[i];
  }
  return chance(w, w->odd * 0.3) ? NULL : yS;
}

/* n: of the parameters; lengths [PARAMETERS], plist [PARAMETERS]: their memory */
static CPParameters parameters(World *w, int n, N_Vector *y0S, sunrealtype *pbar, int *plist) {
  const sunrealtype size = number(w, 1.0, 20.0);
  /* the increments of differences would be too small */
  if (!(size >= 1.0 && size <= 20.0)) w->another_solution = 1;
  for (int i = 0; i < PARAMETERS; i++) pbar[i] = i == 1 ? size : 1.0, plist[i] = i;
  if (chance(w, w->odd)) plist[0] = -1;
  return (CPParameters){CP_SIZED(CPParameters),
                        .n      = n,
                        .values = chance(w, w->odd * 0.3) ? NULL : w->m.p,
                        .pbar   = chance(w, 0.7) ? pbar : NULL,
                        .plist  = chance(w, 0.5) ? plist : NULL,
                        .y0S    = y0S};
}

void sensitivity_set(World *w) {
  N_Vector yS[PARAMETERS], *yS0 = starts(w, yS);
  sunrealtype pbar[PARAMETERS];
  int plist[PARAMETERS];
  const int n = chance(w, w->odd) ? whole(w, 1, PARAMETERS) : 1 + below(w, PARAMETERS);
  if (n > PARAMETERS) return;
  of_callbacks                = w;
  const CPParameters by       = parameters(w, n, yS0, pbar, plist);
  const CPSens before         = CPIntegratorGetSens(w->mem, NULL);
  const CVSensRhs1Fn fS1      = chance(w, 0.5) && !w->mech ? sens_rhs : NULL;
  const CPConstraintSensFn cS = chance(w, 0.5) && !w->mech ? mechanism_constraint_sens : NULL;
  CPSens own                  = NULL;
  if (!CREATE(w, own = CPSensCreate(&by, w->start, w->ctx))) return;
  CALL(w, NOBODY, CPSensSetRhsFn(own, fS1, cS));
  CALL(w, NOBODY, CPSensSetErrCon(own, chance(w, 0.5)));
  if (CALL(w, CPODE, CPIntegratorSetSens(w->mem, own)) == CP_SUCCESS) {
    FREE(w, CPSensFree(&w->sens));
    w->sens          = own;
    w->sensitivities = n;
  } else {
    FREE(w, CPSensFree(&own));
    if (before != CPIntegratorGetSens(w->mem, NULL) && before) w->sensitivities = 0;
  }
}

/* Others have no handler of messages. */
static int are_computed(const World *w) {
  return w->mem && w->sens && CPIntegratorGetSens(w->mem, NULL) == w->sens;
}

static void remove_sensitivities(World *w) {
  CALL(w, CPODE, CPIntegratorSetSens(w->mem, NULL));
  if (chance(w, 0.5)) FREE(w, CPSensFree(&w->sens));
}

static void reinit(World *w) {
  N_Vector yS[PARAMETERS], *yS0 = starts(w, yS);
  if (are_computed(w)) CALL(w, NOBODY, CPSensReInit(w->sens, chance(w, 0.5) ? yS0 : NULL));
}

static void calc_ic(World *w) {
  N_Vector yS[PARAMETERS], *yS0 = starts(w, yS);
  if (are_computed(w)) CALL(w, NOBODY, CPSensCalcIC(w->sens, yS0));
}

static void results(World *w) {
  N_Vector yS[PARAMETERS], *out = starts(w, yS);
  sunrealtype t = 0.0, h = 0.0;
  if (!are_computed(w)) return;
  CVodeGetCurrentTime(cvodes(w), &t);
  if (!CALL(w, NOBODY, CPSensGetDky(w->sens, t, 0, out)) && out && !w->another_solution)
    for (int i = 0; i < w->sensitivities; i++)
      for (int k = 0; k < w->m.n; k++)
        if (!isfinite(N_VGetArrayPointer(out[i])[k]))
          complain(w, "sensitivities that are not finite", "%s: t = %g, component %d of %d",
                   w->call, t, k, i);
  CVodeGetLastStep(cvodes(w), &h);
  CALL(w, NOBODY, CPSensGetDky(w->sens, t - 0.1 * h, below(w, 2), out));
}

static void of_cvodes(World *w) {
  if (!w->sensitivities || !are_computed(w)) return;
  if (chance(w, 0.5)) CALL(w, NOBODY, CVodeSetSensErrCon(cvodes(w), below(w, 2)));
  else if (chance(w, 0.5)) CALL(w, NOBODY, CVodeSensToggleOff(cvodes(w)));
  else CALL(w, NOBODY, CVodeSetSensMaxNonlinIters(cvodes(w), 1 + below(w, 5)));
}

/* ---- functionals ---- */

/* The steps of a functional are limited only to a million, so they must not be tiny. */
static CPFunctional functional(World *w) {
  if (w->mem) {
    CVodeSetMaxStep(cvodes(w), 0.0);
    CVodeSetNonlinConvCoef(cvodes(w), 0.1);
    CPIntegratorSetMaxCorrection(w->mem, 0.0);
  }
  CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1,
                    .mxsteps = chance(w, 0.9) ? 200 : whole(w, 1, 100)};
  if (chance(w, 0.8)) F.end = mechanism_functional;
  if (chance(w, 0.5)) F.integrand = mechanism_functional;
  if (chance(w, 0.5)) F.end_grad = mechanism_functional_grad;
  if (chance(w, 0.5)) F.integrand_grad = mechanism_functional_grad;
  return F;
}

/* The state is at another time, which the promise does not know. */
static void moved(World *w) {
  sunrealtype reached = 0.0;
  if (!w->mem) return;
  if (w->promise[0].started && CVodeGetCurrentTime(cvodes(w), &reached) == CV_SUCCESS)
    w->promise[0].t = reached;
  w->promise[0].roots    = 0;
  w->promise[0].returned = NAN;
}

static sunrealtype ahead(World *w) {
  sunrealtype step = number(w, 1e-3, 0.05);
  /* CVODES' differences take about 1e5 steps to t = 1 */
  if (step > 0.1 && isfinite(step)) step = 0.1;
  return w->promise[0].t + (w->backward ? -step : step);
}

/* From a state that a start has made of 1e300, steps may be arbitrarily small. */
static int starts_anywhere(const World *w) {
  return w->promise[0].started && !w->promise[0].consistent;
}

static void functional_gradient(World *w) {
  if (starts_anywhere(w)) return;
  const CPFunctional F      = functional(w);
  const CPGradientOptions o = {CP_SIZED(CPGradientOptions),
                               .mode  = chance(w, 0.4) ? CP_GRADIENT_FORWARD : CP_GRADIENT_ADJOINT,
                               .steps = whole(w, 1, 20), .method = chance(w, 0.5) ? "RADAU" : NULL,
                               .reltol = 1e-5};
  const sunrealtype t1      = ahead(w);
  N_Vector yS[PARAMETERS], *y0S = starts(w, yS), gradient[1] = {vector(w, w->m.n)};
  sunrealtype G, dG[PARAMETERS], pbar[PARAMETERS];
  int plist[PARAMETERS];
  const CPParameters by = parameters(w, PARAMETERS, chance(w, 0.5) ? y0S : NULL, pbar, plist);
  const int has         = CPIntegratorGetSens(w->mem, NULL) != NULL;
  const int flag        = CALL(w, CPODE,
                               CPIntegratorGradient(w->mem, t1, &F, has || chance(w, 0.2) ? NULL : &by,
                                             chance(w, 0.7) ? &o : NULL, &G, dG,
                                             chance(w, 0.5) ? gradient : NULL));
  if (!flag && !isfinite(G)) complain(w, "a functional that is not finite", "G = %g", G);
  w->promise[0].started = 0; /* at t1, perhaps in adjoint mode: CPIntegratorReInit is next */
  moved(w);
}

static void gradient_check(World *w) {
  const CPFunctional F      = functional(w);
  const CPGradientOptions o = {CP_SIZED(CPGradientOptions), .start = mechanism_consistent_start};
  const sunrealtype t1 = w->t + (w->backward ? -0.02 : 0.02), step = number(w, 1e-5, 1e-3);
  sunrealtype worst, pbar[PARAMETERS];
  int plist[PARAMETERS];
  const CPParameters by = parameters(w, 2, NULL, pbar, plist);
  FILE *file            = chance(w, 0.5) ? tmpfile() : NULL;
  w->promise[0].started = 0;
  CALL(w, CPODE, CPIntegratorGradientCheck(w->mem, w->t, t1, &F, &by, &o, step, file, &worst));
  if (!CPIntegratorGetSens(w->mem, NULL)) w->sensitivities = 0;
  if (file) fclose(file);
}

/* ---- mechanics ---- */

static void of_mechanics(World *w) {
  sunrealtype lambdaS[MOST_ROWS + 1], lfp[PARAMETERS], pbar[PARAMETERS];
  int plist[PARAMETERS];
  N_Vector y = start_state(w), s = numbers(w, w->m.n, 0.1, 1.0), l = numbers(w, w->m.n, 0.1, 1.0),
           out                     = vector(w, w->m.n);
  const sunrealtype dp[PARAMETERS] = {number(w, 0.1, 1.0), number(w, 0.1, 1.0), number(w, 0.1, 1.0)};
  const int which = below(w, 3), n = chance(w, w->odd) ? whole(w, 1, 3) : PARAMETERS;
  const CPParameters by = parameters(w, n, NULL, pbar, plist), *given = chance(w, 0.8) ? &by : NULL;
  if (n > PARAMETERS) return;
  if (which == 0) {
    const CPParamPartialsFn fn = chance(w, 0.7) ? mechanism_param_jac : NULL;
    CALL(w, MECHANICS, CPMechSetParamPartialsFn(w->mech, fn));
  }
  if (which == 1)
    CALL(w, MECHANICS,
         CPMechJvp(w->mech, w->t, y, given, s, chance(w, 0.7) ? dp : NULL,
                   chance(w, 0.7) ? out : NULL, chance(w, 0.7) ? lambdaS : NULL));
  if (which == 2)
    CALL(w, MECHANICS,
         CPMechVjp(w->mech, w->t, y, given, l, chance(w, 0.7) ? out : NULL,
                   chance(w, 0.7) ? lfp : NULL));
}

const Action sensitivity_actions[] = {{"sensitivities: set", sensitivity_set, 3},
                                      {"sensitivities: remove", remove_sensitivities, 1},
                                      {"sensitivities: re-init", reinit, 3},
                                      {"sensitivities: consistent start", calc_ic, 2},
                                      {"sensitivities: results", results, 3},
                                      {"sensitivities: CVODES' options", of_cvodes, 2},
                                      {"functional: gradient", functional_gradient, 4},
                                      {"functional: check", gradient_check, 1},
                                      {"sensitivities: mechanics", of_mechanics, 4},
                                      {NULL, NULL, 0}};
