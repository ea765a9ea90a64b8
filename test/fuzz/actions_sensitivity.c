/* Calls of cpodes_sens.h. */
#include "world.h"

#include <cvodes/cvodes.h>
#include <math.h>
#include <models/counters.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

static void *cvodes(World *w) { return CPIntegratorGetCVodeMem(w->mem); }
static void destroy_nls(void *nls) { SUNNonlinSolFree(nls); }

static World *of_callbacks; /* CPIntegratorSensRhs1 and CPIntegratorForwardState need its mem */

static int sens_rhs(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                    N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  (void)Ns, (void)ydot, (void)user_data;
  const int flag = CPIntegratorSensRhs1(of_callbacks->mem, t, y, iS, yS, ySdot, tmp1, tmp2);
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

void sensitivity_init(World *w) {
  N_Vector yS[PARAMETERS], *yS0 = starts(w, yS);
  const int ism          = chance(w, w->odd) ? CV_SIMULTANEOUS : CV_STAGGERED1;
  const int Ns           = chance(w, w->odd) ? whole(w, 1, PARAMETERS) : 1 + below(w, PARAMETERS);
  const CVSensRhs1Fn fS1 = chance(w, 0.5) ? sens_rhs : NULL;
  if (Ns > PARAMETERS || w->adjoint) return;
  of_callbacks = w;
  if (CALL(w, CPODE, CPIntegratorSensInit1(w->mem, Ns, ism, fS1, yS0)) == CP_SUCCESS)
    w->sensitivities = Ns;
}

void sensitivity_parameters(World *w) {
  const sunrealtype size             = number(w, 1.0, 20.0);
  const sunrealtype pbar[PARAMETERS] = {1.0, size, 1.0};
  /* the increments of differences would be too small */
  if (!(size >= 1.0 && size <= 20.0)) w->another_solution = 1;
  int plist[PARAMETERS] = {0, 1, 2};
  if (chance(w, w->odd)) plist[0] = -1;
  CALL(w, CPODE,
       CPIntegratorSetSensParams(w->mem, w->m.p, chance(w, 0.7) ? pbar : NULL,
                                 chance(w, 0.5) ? plist : NULL));
  if (w->mem && w->sensitivities) CALL(w, NOBODY, CVodeSensEEtolerances(cvodes(w)));
}

static void reinit(World *w) {
  N_Vector yS[PARAMETERS], *yS0 = starts(w, yS);
  CALL(w, CPODE, CPIntegratorSensReInit(w->mem, yS0));
}

static void constraint_fn(World *w) {
  const CPConstraintSensFn cS = chance(w, 0.7) ? mechanism_constraint_sens : NULL;
  CALL(w, CPODE, CPIntegratorSetSensConstraintFn(w->mem, cS));
}

static void nonlinear_solver(World *w) {
  if (!w->mem) return;
  SUNNonlinearSolver nls = NULL;
  if (chance(w, 0.5)) nls = keep(w, SUNNonlinSol_FixedPoint(w->start, 0, w->ctx), destroy_nls);
  else if (chance(w, 0.5)) nls = keep(w, SUNNonlinSol_Newton(w->start, w->ctx), destroy_nls);
  CALL(w, CPODE, CPIntegratorSetSensNonlinearSolver(w->mem, nls));
}

static void calc_ic(World *w) {
  N_Vector yS[PARAMETERS], *yS0 = starts(w, yS);
  CALL(w, CPODE, CPIntegratorSensCalcIC(w->mem));
  CALL(w, CPODE, CPIntegratorGetConsistentSensIC(w->mem, yS0));
}

static void results(World *w) {
  N_Vector yS[PARAMETERS], *out = starts(w, yS);
  sunrealtype t = 0.0, h = 0.0;
  SensCounters stats;
  if (!CALL(w, CPODE, CPIntegratorGetSens(w->mem, &t, out)) && out && !w->another_solution)
    for (int i = 0; i < w->sensitivities; i++)
      for (int k = 0; k < w->m.n; k++)
        if (!isfinite(N_VGetArrayPointer(out[i])[k]))
          complain(w, "sensitivities that are not finite", "%s: t = %g, component %d of %d",
                   w->call, t, k, i);
  if (w->mem) CVodeGetLastStep(cvodes(w), &h);
  CALL(w, CPODE, CPIntegratorGetSensDky(w->mem, t - 0.1 * h, below(w, 2), out));
  CALL(w, CPODE, sens_counters(w->mem, &stats));
}

static void of_cvodes(World *w) {
  if (!w->sensitivities || !w->mem) return;
  if (chance(w, 0.5)) CALL(w, NOBODY, CVodeSetSensErrCon(cvodes(w), below(w, 2)));
  else if (chance(w, 0.5)) CALL(w, NOBODY, CVodeSensToggleOff(cvodes(w)));
  else CALL(w, NOBODY, CVodeSetSensMaxNonlinIters(cvodes(w), 1 + below(w, 5)));
}

/* ---- functionals ---- */

/* The steps of a functional are limited only to a million, so they must not be tiny. */
static CPFunctional functional(World *w) {
  if (w->mem) {
    CVodeSetMaxStep(cvodes(w), 0.0);
    CPIntegratorSetNonlinConvCoef(w->mem, 0.0);
    CPIntegratorSetMaxCorrection(w->mem, 0.0);
  }
  CPFunctional F = {.ng = 1, .mxsteps = chance(w, 0.9) ? 200 : whole(w, 1, 100)};
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

static void functional_forward(World *w) {
  if (starts_anywhere(w)) return;
  const CPFunctional F = functional(w);
  const sunrealtype t1 = ahead(w);
  sunrealtype G, dG[PARAMETERS];
  CALL(w, CPODE, CPIntegratorFunctionalForward(w->mem, t1, &F, &G, dG));
  moved(w);
}

static void functional_adjoint(World *w) {
  if (w->adjoint || starts_anywhere(w)) return;
  w->functionals           = 1;
  const CPFunctional F     = functional(w);
  const CPAdjointOptions o = {.steps  = whole(w, 1, 20),
                              .interp = chance(w, 0.5) ? CV_HERMITE : CV_POLYNOMIAL,
                              .lmm    = chance(w, 0.5) ? CV_BDF : CV_ADAMS,
                              .reltol = 1e-5};
  const sunrealtype t1     = ahead(w);
  N_Vector yS[PARAMETERS], *y0S = starts(w, yS), gradient[1] = {vector(w, w->m.n)};
  sunrealtype G, dG[PARAMETERS];
  if (o.steps > 1000) return; /* CVODES would allocate memory for as many steps */
  const int flag = CALL(w, CPODE,
                        CPIntegratorFunctionalAdjoint(w->mem, t1, &F, chance(w, 0.7) ? &o : NULL,
                                                      chance(w, 0.5) ? y0S : NULL, &G, dG,
                                                      chance(w, 0.5) ? gradient : NULL));
  if (!flag && !isfinite(G)) complain(w, "a functional that is not finite", "G = %g", G);
  w->promise[0].started = 0; /* at t1, in adjoint mode: CPIntegratorReInit is next */
  moved(w);
}

static void functional_check(World *w) {
  if (w->adjoint) return;
  w->functionals       = 1;
  const CPFunctional F = functional(w);
  const sunrealtype t1 = w->t + (w->backward ? -0.02 : 0.02), step = number(w, 1e-5, 1e-3);
  sunrealtype worst;
  FILE *file            = chance(w, 0.5) ? tmpfile() : NULL;
  w->promise[0].started = 0;
  CALL(w, CPODE,
       CPIntegratorFunctionalCheck(w->mem, w->t, t1, &F, NULL, mechanism_consistent_start, step,
                                   file, &worst));
  if (file) fclose(file);
}

/* ---- adjoint ---- */

static int backward_rhs(sunrealtype t, N_Vector y, N_Vector yB, N_Vector yBdot, void *user_data) {
  World *w       = of_callbacks;
  N_Vector yproj = N_VClone(y);
  (void)user_data;
  if (!yproj) return -1;
  const int flag = CPIntegratorForwardState(w->mem, t, y, yproj);
  N_VDestroy(yproj);
  N_VScale(-1.0, yB, yBdot);
  return flag ? flag : disturb(ON_ADJOINT, N_VGetArrayPointer(yBdot), w->m.n);
}

static void adjoint_init(World *w) {
  if (!w->mem || !w->promise[0].started || w->sensitivities || w->functionals || w->adjoint) return;
  /* CVODES loses track of its allocations: changing numbers of sensitivities, and a second
   * CVodeAdjInit, leak. */
  /* Polynomials must not have more points than there are, nor go backwards, which an odd tout may
   * cause (CVODES reads beyond its arrays). */
  const int steps  = 1 + below(w, 20);
  const int interp = steps > 12 && !w->backward && w->odd == 0.0 ? CV_POLYNOMIAL : CV_HERMITE;
  if (CALL(w, NOBODY, CVodeAdjInit(cvodes(w), steps, interp)) == CV_SUCCESS) w->adjoint = 1;
}

static void backward(World *w) {
  if (!w->adjoint || !w->mem) return;
  int which;
  of_callbacks = w;
  if (CALL(w, NOBODY, CVodeCreateB(cvodes(w), CV_ADAMS, &which)) != CV_SUCCESS) return;
  if (CALL(w, NOBODY, CVodeInitB(cvodes(w), which, backward_rhs, w->promise[0].t, w->start)))
    return;
  SUNNonlinearSolver nls = keep(w, SUNNonlinSol_FixedPoint(w->start, 0, w->ctx), destroy_nls);
  CALL(w, NOBODY, CVodeSStolerancesB(cvodes(w), which, 1e-4, 1e-4));
  CALL(w, NOBODY, CVodeSetNonlinearSolverB(cvodes(w), which, nls));
  CALL(w, CPODE, CPIntegratorB(w->mem, w->t, CV_NORMAL));
  moved(w);
  w->promise[0].started = 0; /* steps have been repeated: CPIntegratorReInit is next */
}

static void gradient(World *w) {
  N_Vector y = start_state(w), lambda = numbers(w, w->m.n, 0.1, 1.0), yproj = vector(w, w->m.n);
  CALL(w, CPODE, CPIntegratorProjectGradient(w->mem, w->t, y, lambda));
  if (w->promise[0].started && y && yproj)
    CALL(w, NOBODY, CPIntegratorForwardState(w->mem, w->t, y, yproj));
}

/* ---- mechanics ---- */

static void of_mechanics(World *w) {
  const sunrealtype pbar[PARAMETERS] = {1.0, 10.0, 1.0};
  sunrealtype udotS[MOST_U], lambdaS[MOST_ROWS + 1];
  N_Vector y = start_state(w), yS = numbers(w, w->m.n, 0.1, 1.0), l = numbers(w, w->m.n, 0.1, 1.0),
           ldot = vector(w, w->m.n), q = vector(w, PARAMETERS);
  const int which = below(w, 4), n = chance(w, w->odd) ? whole(w, 1, 3) : PARAMETERS;
  if (which == 0) {
    const CPMechParamJacFn jac = chance(w, 0.7) ? mechanism_param_jac : NULL;
    CALL(w, MECHANICS, CPMechSetParamJac(w->mech, jac));
  }
  if (which == 1 && n <= PARAMETERS)
    CALL(w, MECHANICS, CPMechSetParams(w->mech, n, w->m.p, chance(w, 0.7) ? pbar : NULL, NULL));
  if (which == 2)
    CALL(w, MECHANICS,
         CPMechSensAccelerations(w->mech, w->t, y, whole(w, 0, 2), yS, udotS, lambdaS));
  if (which == 3 && w->mech && y && l && ldot && q && N_VGetLength(y) == w->m.n &&
      N_VGetLength(l) == w->m.n && N_VGetLength(ldot) == w->m.n && N_VGetLength(q) == PARAMETERS) {
    CALL(w, NOBODY, CPMechAdjointRhs(w->t, y, l, ldot, w->mech));
    CALL(w, NOBODY, CPMechAdjointQuadrature(w->t, y, l, q, w->mech));
  }
}

const Action sensitivity_actions[] = {{"sensitivities: init", sensitivity_init, 3},
                                      {"sensitivities: parameters", sensitivity_parameters, 3},
                                      {"sensitivities: re-init", reinit, 3},
                                      {"sensitivities: constraints", constraint_fn, 2},
                                      {"sensitivities: nonlinear solver", nonlinear_solver, 2},
                                      {"sensitivities: consistent start", calc_ic, 2},
                                      {"sensitivities: results", results, 3},
                                      {"sensitivities: CVODES' options", of_cvodes, 2},
                                      {"functional: forward", functional_forward, 2},
                                      {"functional: adjoint", functional_adjoint, 2},
                                      {"functional: check", functional_check, 1},
                                      {"adjoint: init", adjoint_init, 1},
                                      {"adjoint: backward", backward, 2},
                                      {"adjoint: gradient", gradient, 1},
                                      {"sensitivities: mechanics", of_mechanics, 4},
                                      {NULL, NULL, 0}};
