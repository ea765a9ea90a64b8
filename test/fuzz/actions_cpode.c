/* Calls of cpodes_integrator.h with BDF and Adams, and CVODES' own functions on their memory. */
#include "cpodes/base/compat.h"
#include "world.h"

#include <cvodes/cvodes_ls.h>
#include <math.h>
#include <models/counters.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

static Promise *promise(World *w) { return &w->promise[0]; }
static void *cvodes(World *w) { return CPIntegratorGetCVodeMem(w->mem); }

static void destroy_nls(void *nls) { SUNNonlinSolFree(nls); }
static void destroy_ls(void *ls) { SUNLinSolFree(ls); }
static void destroy_matrix(void *A) { SUNMatDestroy(A); }

static SUNNonlinearSolver nonlinear_solver(World *w, int newton) {
  SUNNonlinearSolver nls = newton ? SUNNonlinSol_Newton(w->start, w->ctx)
                                  : SUNNonlinSol_FixedPoint(w->start, below(w, 3), w->ctx);
  say(w, newton ? "{Newton} " : "{fixed point} ");
  return keep(w, nls, destroy_nls);
}

/* ---- life cycle ---- */

static void ready(World *w, sunrealtype tol) {
  if (!w->mem) return;
  *promise(w)      = (Promise){.tol = tol, .eps = 0.1, .tstop = NAN};
  w->sensitivities = 0;
  CALL(w, CPODE, CPObjectSetErrHandlerFn(CP_OBJECT(w->mem), world_message, w));
  CALL(w, NOBODY, CVodeSetMaxNumSteps(cvodes(w), 200));
}

void cpode_create(World *w) {
  if (w->mem) return;
  const int lmm = chance(w, 0.5) ? CV_BDF : CV_ADAMS;
  say(w, "{%s} ", lmm == CV_BDF ? "BDF" : "ADAMS");
  w->mem = CREATE(w, CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", w->ctx));
  ready(w, 0.0);
}

#ifdef CP_CVODES_HAS_EHFUN
static void ignore(int code, const char *module, const char *function, char *msg, void *data) {
  (void)code, (void)module, (void)function, (void)msg, (void)data;
}
#endif

/* CVODES memory of the program, perhaps after some steps */
void cpode_attach(World *w) {
  if (w->mem) return;
  const int lmm = chance(w, 0.5) ? CV_BDF : CV_ADAMS, newton = chance(w, 0.5);
  const sunrealtype tol = random_magnitude(&w->random, 1e-8, 1e-4);
  void *cv              = CVodeCreate(lmm, w->ctx);
  N_Vector y            = nearby(w, 0.0);
  if (!y || N_VGetLength(y) != w->m.n) y = w->start;
#ifdef CP_CVODES_HAS_EHFUN
  CVodeSetErrHandlerFn(cv, ignore, NULL);
#endif
  w->foreign = cv;
  say(w, "{%s} ", lmm == CV_BDF ? "BDF" : "ADAMS");
  if (CALL(w, NOBODY, CVodeInit(cv, mechanism_rhs, w->t, w->start)) != CV_SUCCESS) {
    CVodeFree(&w->foreign); /* CVODES does not survive a linear solver before CVodeInit */
    return;
  }
  CALL(w, NOBODY, CVodeSStolerances(cv, tol, tol));
  SUNNonlinearSolver nls = nonlinear_solver(w, newton);
  CALL(w, NOBODY, CVodeSetNonlinearSolver(cv, nls));
  if (newton) {
    SUNMatrix A        = keep(w, SUNDenseMatrix(w->m.n, w->m.n, w->ctx), destroy_matrix);
    SUNLinearSolver ls = keep(w, SUNLinSol_Dense(w->start, A, w->ctx), destroy_ls);
    CALL(w, NOBODY, CVodeSetLinearSolver(cv, ls, A));
  }
  const int wrong = chance(w, w->odd * 0.3), own = newton && chance(w, 0.3);
  if (wrong) say(w, "{wrong method} ");
  w->mem = CREATE(w, CPIntegratorAttach(cv, wrong == (lmm == CV_BDF) ? "ADAMS" : "BDF",
                                        own ? NULL : nls, y, w->ctx));
  ready(w, tol);
  if (w->mem) promise_start(w, promise(w), w->t, w->start);
}

void cpode_free(World *w) {
  FREE(w, CPIntegratorFree(&w->mem));
  FREE(w, CPSensFree(&w->sens));
  if (w->mem) complain(w, "a free function that leaves its pointer", "CPIntegratorFree");
  w->P_of_mem = w->mech_of_mem = 0;
  if (w->foreign) CVodeFree(&w->foreign);
}

static int start_from(World *w, sunrealtype t0, N_Vector y0, int flag) {
  if (flag == CP_SUCCESS) promise_start(w, promise(w), t0, y0);
  return flag;
}

static sunrealtype start_time(World *w) {
  const sunrealtype t0 = chance(w, w->odd) ? number(w, 1e-3, 1e3) : w->t;
  if (t0 != w->t) w->another_solution = 1; /* starts are consistent at w->t */
  return t0;
}

void cpode_init(World *w) {
  N_Vector y0 = start_state(w);
  if (y0 && N_VGetLength(y0) != w->m.n) y0 = w->start; /* the functions are for n components */
  const sunrealtype t0 = start_time(w);
  start_from(w, t0, y0, CALL(w, CPODE, CPIntegratorInit(w->mem, mechanism_rhs, t0, y0)));
}

static void reinit(World *w) {
  N_Vector y0          = start_state(w);
  const sunrealtype t0 = start_time(w);
  start_from(w, t0, y0, CALL(w, CPODE, CPIntegratorReInit(w->mem, t0, y0)));
}

static void looser(World *w, int flag, sunrealtype tol) {
  if (flag == CP_SUCCESS && tol > promise(w)->tol) promise(w)->tol = tol;
}

void cpode_tolerances(World *w) {
  const int how = below(w, 6);
  if (how == 0) {
    looser(w, CALL(w, CPODE, CPIntegratorWFtolerances(w->mem, mechanism_weights)), WEIGHTS_TOL);
    return;
  }
  const sunrealtype reltol = number(w, 1e-9, 1e-3);
  if (how == 1) {
    N_Vector abstol = numbers(w, w->m.n, 1e-9, 1e-4);
    const int flag  = CALL(w, CPODE, CPIntegratorSVtolerances(w->mem, reltol, abstol));
    if (flag == CP_SUCCESS) looser(w, flag, fmax(reltol, N_VMaxNorm(abstol)));
    return;
  }
  const sunrealtype abstol = number(w, 1e-9, 1e-4);
  looser(w, CALL(w, CPODE, CPIntegratorSStolerances(w->mem, reltol, abstol)), fmax(reltol, abstol));
}

/* ---- options ---- */

void cpode_projector(World *w) {
  if (w->mech_of_mem && !chance(w, w->odd)) return;
  const int none = chance(w, w->odd) || !w->P;
  if (none) {
    if (CALL(w, CPODE, CPIntegratorSetProjector(w->mem, NULL)) == CP_SUCCESS) w->P_of_mem = 0;
    promise(w)->projected = 0;
  } else if (CALL(w, CPODE, CPIntegratorSetProjector(w->mem, w->P)) == CP_SUCCESS) {
    w->P_of_mem           = 1;
    promise(w)->projected = promise(w)->t == promise(w)->t0;
  }
}

static void set_nonlinear_solver(World *w) {
  SUNNonlinearSolver nls = chance(w, 0.2) ? NULL : nonlinear_solver(w, chance(w, 0.4));
  CALL(w, CPODE, CPIntegratorSetNonlinearSolver(w->mem, nls));
}

/* Solvers that CVODES' own memory does not survive: before CVodeInit, and one that it gets after
 * the first step without a set-up */
static int before_first_step(World *w) {
  long int nst = 0;
  return w->mem && promise(w)->started && CVodeGetNumSteps(cvodes(w), &nst) == CV_SUCCESS &&
         nst == 0;
}

static void set_linear_solver(World *w) {
  if (!before_first_step(w)) return;
  SUNMatrix A        = keep(w, SUNDenseMatrix(w->m.n, w->m.n, w->ctx), destroy_matrix);
  SUNLinearSolver ls = keep(w, SUNLinSol_Dense(w->start, A, w->ctx), destroy_ls);
  CALL(w, NOBODY, CVodeSetLinearSolver(cvodes(w), ls, A));
}

void cpode_solver(World *w) {
  if (chance(w, 0.5)) {
    set_linear_solver(w);
    return;
  }
  /* An allocation in this call may be made to fail. */
  SUNNonlinearSolver nls = nonlinear_solver(w, 0);
  CALL(w, CPODE, CPIntegratorSetNonlinearSolver(w->mem, nls));
}

static void set_conv_coef(World *w) {
  const sunrealtype coef = number(w, 1e-3, 0.3);
  if (coef > 0.3) w->another_solution = 1;
  if (w->mem && CPIntegratorGetCVodeMem(w->mem)) CVodeSetNonlinConvCoef(cvodes(w), coef);
}

static void set_frequency(World *w) {
  const int n = whole(w, 1, 10), violated = below(w, 2);
  if (n != 1 || violated) w->off_manifold = 1;
  CALL(w, CPODE, CPIntegratorSetProjFrequency(w->mem, n, violated));
}

static void set_estimate(World *w) {
  CALL(w, CPODE, CPIntegratorSetErrEst(w->mem, (CPErrEst)below(w, 4)));
}

static void set_max_correction(World *w) {
  const sunrealtype wrms = number(w, 1e-3, 1e4);
  CALL(w, CPODE, CPIntegratorSetMaxCorrection(w->mem, wrms));
}

static void set_output(World *w) {
  w->off_manifold = 1;
  CALL(w, CPODE, CPIntegratorSetProjOutput(w->mem, below(w, 2)));
}

static void set_handler(World *w) {
  w->loud = 1;
  CALL(w, CPODE, CPObjectSetErrHandlerFn(CP_OBJECT(w->mem), NULL, NULL));
  if (chance(w, 0.8)) CALL(w, CPODE, CPObjectSetErrHandlerFn(CP_OBJECT(w->mem), world_message, w));
}

/* ---- CVODES' options ---- */

/* After the first step CVODES does not evaluate the functions when they are set, so it finds roots
 * of the past. */
static void roots(World *w) {
  if (!before_first_step(w)) return;
  int directions[2] = {0, 0};
  const int n       = chance(w, 0.8) ? 2 : 0;
  const int flag    = w->foreign || chance(w, 0.3)
                          ? CALL(w, NOBODY, CVodeRootInit(cvodes(w), n, mechanism_roots_unchecked))
                          : CALL(w, CPODE, CPIntegratorRootInit(w->mem, n, mechanism_roots));
  if (flag != CP_SUCCESS) return;
  /* the directions stay if the functions stay */
  if (n) CALL(w, NOBODY, CVodeSetRootDirection(cvodes(w), directions));
  promise(w)->roots = n > 0, promise(w)->root_free = promise(w)->t;
}

static void root_direction(World *w) {
  int direction[2]  = {below(w, 3) - 1, below(w, 3) - 1};
  promise(w)->roots = 0;
  CALL(w, NOBODY, CVodeSetRootDirection(cvodes(w), direction));
}

static void root_info(World *w) {
  int found[2];
  sunrealtype low, high;
  if (w->mem) CALL(w, NOBODY, CVodeGetRootInfo(cvodes(w), found));
  CALL(w, CPODE, CPIntegratorGetRootWindow(w->mem, &low, &high));
}

static void stop_time(World *w) {
  const sunrealtype ahead = number(w, 1e-3, 0.5),
                    tstop = promise(w)->t + (w->backward ? -ahead : ahead);
  CALL(w, NOBODY, CVodeSetStopTime(cvodes(w), tstop));
}

static void step_sizes(World *w) {
  const sunrealtype h = number(w, 1e-8, 0.1);
  const int which     = below(w, 3);
  if (isnan(h)) return; /* CVODES accepts NaN */
  if (which == 0) CALL(w, NOBODY, CVodeSetInitStep(cvodes(w), h));
  if (which == 1) CALL(w, NOBODY, CVodeSetMaxStep(cvodes(w), h));
  if (which == 2) CALL(w, NOBODY, CVodeSetMinStep(cvodes(w), h * 1e-3));
}

static void limits(World *w) {
  const int n = whole(w, 1, 12), which = below(w, 6);
  if (!promise(w)->started || n < 1) return; /* CVODES 6.4 prints, or returns codes of its solver */
  if (which == 0) CALL(w, NOBODY, CVodeSetMaxNumSteps(cvodes(w), n > 0 && n < 99 ? 20 * n : 100));
  if (which == 1 && before_first_step(w)) /* CVODES overwrites its history if the order is higher */
    CALL(w, NOBODY, CVodeSetMaxOrd(cvodes(w), n));
  /* Steps that CVODES changes because of inequality constraints need not become smaller, so all
   * attempts may be used. */
  const int fails = n < 10000 ? n : 10000;
  if (which == 2) CALL(w, NOBODY, CVodeSetMaxErrTestFails(cvodes(w), fails));
  if (which == 3) CALL(w, NOBODY, CVodeSetMaxConvFails(cvodes(w), fails));
  if (which == 4 && n > 1) /* A single iteration keeps steps so small that it converges at once. */
    CALL(w, NOBODY, CVodeSetMaxNonlinIters(cvodes(w), n));
  if (which == 5) CALL(w, NOBODY, CVodeSetStabLimDet(cvodes(w), below(w, 2)));
}

static void constraints(World *w) {
  if (!promise(w)->started) return;
  N_Vector c = N_VClone(w->start);
  if (!c) no_memory();
  N_VConst(0.0, c);
  N_VGetArrayPointer(c)[0] = 1.0;
  w->another_solution      = 1;
  CALL(w, NOBODY, CVodeSetConstraints(cvodes(w), chance(w, 0.5) ? c : NULL));
  N_VDestroy(c);
}

static void user_data(World *w) {
  if (w->mech_of_mem && !chance(w, w->odd)) return;
  CALL(w, NOBODY, CVodeSetUserData(cvodes(w), w));
}

static void quadrature(World *w) {
  if (!w->mem || promise(w)->quadrature) return;
  promise(w)->quadrature = 1;
  N_Vector q             = N_VNew_Serial(1, w->ctx);
  if (!q) no_memory();
  N_VConst(0.0, q);
  if (CALL(w, NOBODY, CVodeQuadInit(cvodes(w), mechanism_quadrature, q)) == CV_SUCCESS &&
      chance(w, 0.5)) {
    CALL(w, NOBODY, CVodeSetQuadErrCon(cvodes(w), SUNTRUE));
    CALL(w, NOBODY, CVodeQuadSStolerances(cvodes(w), 1e-5, 1e-5));
  }
  N_VDestroy(q);
}

/* ---- actions ---- */

static void calc_ic(World *w) {
  N_Vector y0 = vector(w, w->m.n);
  sunrealtype t0; /* differs from the promise's if CVODES had to be re-initialised */
  if (CALL(w, CPODE, CPIntegratorCalcIC(w->mem, y0)) == CP_SUCCESS &&
      CVodeGetCurrentTime(cvodes(w), &t0) == CV_SUCCESS)
    promise_start(w, promise(w), t0, y0);
}

void cpode_evolve(World *w) {
  Promise *k             = promise(w);
  N_Vector yout          = vector(w, w->m.n);
  const int itask        = chance(w, 0.3) ? CV_ONE_STEP : chance(w, w->odd) ? 7 : CV_NORMAL;
  const sunrealtype back = w->backward ? -1.0 : 1.0, step = number(w, 1e-6, 0.3),
                    tout = k->t + (chance(w, w->odd) ? -back : back) * step;
  sunrealtype tret = k->t, reached = k->t0;
  if (yout) N_VConst(SENTINEL, yout);
  say(w, "{tout = %.17g, %s} ", tout, itask == CV_NORMAL ? "normal" : "one step");
  const int flag = CALL(w, CPODE, CPIntegratorEvolve(w->mem, tout, yout, &tret, itask));
  if (!w->mem) return;
  CVodeGetCurrentTime(cvodes(w), &reached);
  promise_judge(w, k, flag, tout, itask, yout, tret, reached);
}

static void get_dky(World *w) {
  if (!w->mem) return;
  sunrealtype reached = 0.0, h = 0.0;
  CVodeGetCurrentTime(cvodes(w), &reached);
  CVodeGetLastStep(cvodes(w), &h);
  const int k         = chance(w, 0.7) ? 0 : whole(w, 0, 5);
  const sunrealtype t = reached - h * random_between(&w->random, 0.0, chance(w, w->odd) ? 3.0 : 1.0);
  N_Vector dky        = vector(w, w->m.n);
  say(w, "{t = %.17g} ", t);
  const int flag = CALL(w, CPODE, CPIntegratorGetDky(w->mem, t, k, dky));
  if (flag == CP_SUCCESS && k == 0)
    promise_compare(w, promise(w), t, dky, "wrong output within the step");
}

static void results(World *w) {
  N_Vector ele = vector(w, w->m.n);
  IntegratorCounters stats;
  CALL(w, CPODE, CPIntegratorGetEstLocalErrors(w->mem, ele));
  CALL(w, CPODE, integrator_counters(w->mem, &stats));
  FILE *file = tmpfile();
  if (!file) return;
  CALL(w, CPODE,
       CPObjectPrintStats(CP_OBJECT(w->mem), file,
                          chance(w, 0.5) ? SUN_OUTPUTFORMAT_TABLE : SUN_OUTPUTFORMAT_CSV));
  fclose(file);
}

const Action cpode_actions[] = {{"create a multistep method", cpode_create, 1},
                                {"attach to CVODES", cpode_attach, 1},
                                {"free the multistep method", cpode_free, 1},
                                {"multistep: init", cpode_init, 1},
                                {"multistep: re-init", reinit, 4},
                                {"multistep: tolerances", cpode_tolerances, 2},
                                {"multistep: projector", cpode_projector, 2},
                                {"multistep: nonlinear solver", set_nonlinear_solver, 2},
                                {"multistep: linear solver", set_linear_solver, 1},
                                {"multistep: convergence", set_conv_coef, 1},
                                {"multistep: frequency", set_frequency, 1},
                                {"multistep: estimate", set_estimate, 2},
                                {"multistep: bound of corrections", set_max_correction, 2},
                                {"multistep: project output", set_output, 1},
                                {"multistep: handler", set_handler, 1},
                                {"multistep: roots", roots, 2},
                                {"multistep: direction of roots", root_direction, 1},
                                {"multistep: roots found", root_info, 1},
                                {"multistep: stop time", stop_time, 2},
                                {"multistep: step sizes", step_sizes, 2},
                                {"multistep: limits", limits, 2},
                                {"multistep: inequalities", constraints, 1},
                                {"multistep: user data", user_data, 1},
                                {"multistep: quadrature", quadrature, 1},
                                {"multistep: consistent start", calc_ic, 3},
                                {"multistep: evolve", cpode_evolve, 30},
                                {"multistep: output", get_dky, 5},
                                {"multistep: results", results, 1},
                                {NULL, NULL, 0}};
