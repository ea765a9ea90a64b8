/* Calls of cpodes_integrator.h with one-step methods. */
#include "world.h"

#include <math.h>
#include <models/counters.h>
#include <sunmatrix/sunmatrix_dense.h>

static Promise *promise(World *w) { return &w->promise[1]; }

static void destroy_matrix(void *A) { SUNMatDestroy(A); }

static const char *const methods[] = {"DOP853",
                                      NULL,
                                      "RADAU",
                                      "RADAU5",
                                      "RADAU9",
                                      "RADAU13",
                                      "ARKODE_DORMAND_PRINCE_7_4_5",
                                      "ARKODE_BOGACKI_SHAMPINE_4_2_3",
                                      "ARKODE_HEUN_EULER_2_1_2",
                                      "ARKODE_VERNER_8_5_6"};
enum { METHODS = sizeof methods / sizeof methods[0] };

/* A table of the user's: a midpoint rule without an embedded method, or an inconsistent one */
static void create_table(World *w) {
  ARKodeButcherTable B = ARKodeButcherTable_Alloc(2, SUNFALSE);
  if (!B) no_memory();
  B->q = 2, B->A[1][0] = 0.5, B->c[1] = 0.5, B->b[1] = chance(w, w->odd) ? 0.7 : 1.0;
  w->one = CREATE(w, CPIntegratorCreateTable(B, w->ctx));
  ARKodeButcherTable_Free(B);
}

void onestep_create(World *w) {
  if (w->one) return;
  if (chance(w, w->odd)) create_table(w);
  else {
    const char *method = chance(w, 0.4) ? "DOP853" : methods[below(w, METHODS)];
    if (chance(w, w->odd * 0.3)) method = "NO_SUCH_METHOD";
    say(w, "{%s} ", method ? method : "NULL");
    w->one = CREATE(w, CPIntegratorCreate(method, w->ctx));
  }
  if (!w->one) return;
  *promise(w) = (Promise){.eps = 0.1, .tstop = NAN};
  CALL(w, ONESTEP, CPObjectSetErrHandlerFn(CP_OBJECT(w->one), world_message, w));
  CALL(w, ONESTEP, CPIntegratorSetMaxNumSteps(w->one, 200));
}

void onestep_free(World *w) {
  FREE(w, CPIntegratorFree(&w->one));
  if (w->one) complain(w, "a free function that leaves its pointer", "CPIntegratorFree");
  w->P_of_one = w->mech_of_one = 0;
}

static sunrealtype start_time(World *w) {
  const sunrealtype t0 = chance(w, w->odd) ? number(w, 1e-3, 1e3) : w->t;
  if (t0 != w->t) w->another_solution = 1;
  return t0;
}

void onestep_init(World *w) {
  N_Vector y0 = start_state(w);
  if (y0 && N_VGetLength(y0) != w->m.n) y0 = w->start; /* the functions are for n components */
  const sunrealtype t0 = start_time(w);
  if (CALL(w, ONESTEP, CPIntegratorInit(w->one, mechanism_rhs, t0, y0)) == CP_SUCCESS)
    promise_start(w, promise(w), t0, y0);
}

static void reinit(World *w) {
  N_Vector y0          = start_state(w);
  const sunrealtype t0 = start_time(w);
  if (CALL(w, ONESTEP, CPIntegratorReInit(w->one, t0, y0)) == CP_SUCCESS)
    promise_start(w, promise(w), t0, y0);
}

static void looser(World *w, int flag, sunrealtype tol) {
  if (flag == CP_SUCCESS && tol > promise(w)->tol) promise(w)->tol = tol;
}

void onestep_tolerances(World *w) {
  const int how = below(w, 6);
  if (how == 0) {
    looser(w, CALL(w, ONESTEP, CPIntegratorWFtolerances(w->one, mechanism_weights)), WEIGHTS_TOL);
    return;
  }
  const sunrealtype reltol = number(w, 1e-9, 1e-3);
  if (how == 1) {
    N_Vector abstol = numbers(w, w->m.n, 1e-9, 1e-4);
    const int flag  = CALL(w, ONESTEP, CPIntegratorSVtolerances(w->one, reltol, abstol));
    if (flag == CP_SUCCESS) looser(w, flag, fmax(reltol, N_VMaxNorm(abstol)));
    return;
  }
  const sunrealtype abstol = number(w, 1e-9, 1e-4);
  looser(w, CALL(w, ONESTEP, CPIntegratorSStolerances(w->one, reltol, abstol)),
         fmax(reltol, abstol));
}

void onestep_projector(World *w) {
  if (w->mech_of_one && !chance(w, w->odd)) return;
  if (chance(w, w->odd) || !w->P) {
    if (CALL(w, ONESTEP, CPIntegratorSetProjector(w->one, NULL)) == CP_SUCCESS) w->P_of_one = 0;
    promise(w)->projected = 0;
  } else if (CALL(w, ONESTEP, CPIntegratorSetProjector(w->one, w->P)) == CP_SUCCESS) {
    w->P_of_one           = 1;
    promise(w)->projected = promise(w)->t == promise(w)->t0;
  }
}

/* By differences; a full pattern suits every mechanism */
static void set_jacobian(World *w) {
  const sunindextype n = w->m.n;
  SUNMatrix J          = NULL;
  if (chance(w, 0.7))
    J = keep(w, SUNDenseMatrix(chance(w, w->odd) ? n + 1 : n, n, w->ctx), destroy_matrix);
  CALL(w, ONESTEP, CPIntegratorSetJacFn(w->one, J, NULL));
}

static void set_batch(World *w) {
  CALL(w, ONESTEP, CPIntegratorSetRhsBatchFn(w->one, chance(w, 0.8) ? mechanism_rhs_batch : NULL));
}

static void set_user_data(World *w) { CALL(w, ONESTEP, CPIntegratorSetUserData(w->one, w)); }

static void set_estimate(World *w) {
  CALL(w, ONESTEP, CPIntegratorSetErrEst(w->one, (CPErrEst)below(w, 4)));
}

static void set_max_correction(World *w) {
  const sunrealtype wrms = number(w, 1e-3, 1e4);
  CALL(w, ONESTEP, CPIntegratorSetMaxCorrection(w->one, wrms));
}

static void set_output(World *w) {
  w->off_manifold = 1;
  CALL(w, ONESTEP, CPIntegratorSetProjOutput(w->one, below(w, 2)));
}

static void set_handler(World *w) {
  w->loud = 1;
  CALL(w, ONESTEP, CPObjectSetErrHandlerFn(CP_OBJECT(w->one), NULL, NULL));
  if (chance(w, 0.8))
    CALL(w, ONESTEP, CPObjectSetErrHandlerFn(CP_OBJECT(w->one), world_message, w));
}

static void step_sizes(World *w) {
  const sunrealtype h = number(w, 1e-8, 0.1);
  const int which     = below(w, 4);
  if (which == 0) CALL(w, ONESTEP, CPIntegratorSetInitStep(w->one, h));
  if (which == 1) CALL(w, ONESTEP, CPIntegratorSetMaxStep(w->one, h));
  if (which == 2) CALL(w, ONESTEP, CPIntegratorSetMinStep(w->one, h * 1e-3));
  if (which == 3) {
    w->another_solution = 1;
    CALL(w, ONESTEP, CPIntegratorSetFixedStep(w->one, chance(w, 0.5) ? 0.0 : h));
  }
}

static void max_steps(World *w) {
  const int n = whole(w, 1, 300);
  CALL(w, ONESTEP, CPIntegratorSetMaxNumSteps(w->one, n == -1 || n > 300 ? 400 : n));
}

static void stop_time(World *w) {
  const sunrealtype ahead = number(w, 1e-3, 0.5),
                    tstop = promise(w)->t + (w->backward ? -ahead : ahead);
  if (chance(w, 0.8)) CALL(w, ONESTEP, CPIntegratorSetStopTime(w->one, tstop));
  else CALL(w, ONESTEP, CPIntegratorSetStopTime(w->one, INFINITY));
}

static void roots(World *w) {
  const int n = chance(w, 0.8) ? 2 : 0;
  if (CALL(w, ONESTEP, CPIntegratorRootInit(w->one, n, mechanism_roots)) == CP_SUCCESS)
    promise(w)->roots = n && promise(w)->t == promise(w)->t0 && promise(w)->started;
}

static void root_direction(World *w) {
  const int direction[2] = {below(w, 3) - 1, below(w, 3) - 1};
  promise(w)->roots      = 0;
  CALL(w, ONESTEP, CPIntegratorSetRootDirection(w->one, direction));
}

static void root_info(World *w) {
  int found[2];
  sunrealtype low, high;
  CALL(w, ONESTEP, CPIntegratorGetRootInfo(w->one, found));
  CALL(w, ONESTEP, CPIntegratorGetRootWindow(w->one, &low, &high));
}

/* ---- actions ---- */

static void calc_ic(World *w) {
  N_Vector y0 = vector(w, w->m.n);
  if (CALL(w, ONESTEP, CPIntegratorCalcIC(w->one, y0)) == CP_SUCCESS)
    promise_start(w, promise(w), promise(w)->t0, y0);
}

void onestep_evolve(World *w) {
  Promise *k             = promise(w);
  N_Vector yout          = vector(w, w->m.n);
  const int itask        = chance(w, 0.3) ? CV_ONE_STEP : chance(w, w->odd) ? 7 : CV_NORMAL;
  const sunrealtype back = w->backward ? -1.0 : 1.0, step = number(w, 1e-6, 0.3),
                    tout = k->t + (chance(w, w->odd) ? -back : back) * step;
  sunrealtype tret       = k->t;
  IntegratorCounters stats;
  if (yout) N_VConst(SENTINEL, yout);
  say(w, "{tout = %.17g, %s} ", tout, itask == CV_NORMAL ? "normal" : "one step");
  const int flag = CALL(w, ONESTEP, CPIntegratorEvolve(w->one, tout, yout, &tret, itask));
  if (!w->one || integrator_counters(w->one, &stats) != CP_SUCCESS) return;
  promise_judge(w, k, flag, tout, itask, yout, tret, stats.t);
}

static void get_dky(World *w) {
  IntegratorCounters s = {0};
  if (CALL(w, ONESTEP, integrator_counters(w->one, &s)) != CP_SUCCESS) return;
  const int k = chance(w, 0.7) ? 0 : whole(w, 0, 5);
  const sunrealtype t =
      s.t - s.hlast * random_between(&w->random, 0.0, chance(w, w->odd) ? 3.0 : 1.0);
  N_Vector dky = vector(w, w->m.n);
  say(w, "{t = %.17g} ", t);
  const int flag = CALL(w, ONESTEP, CPIntegratorGetDky(w->one, t, k, dky));
  if (flag == CP_SUCCESS && k == 0)
    promise_compare(w, promise(w), t, dky, "wrong output within the step");
}

static void results(World *w) {
  N_Vector ele = vector(w, w->m.n);
  const char *name;
  int order, embedded, stages;
  CALL(w, ONESTEP, CPIntegratorGetEstLocalErrors(w->one, ele));
  CALL(w, ONESTEP, CPIntegratorGetMethod(w->one, &name, &order, &embedded, &stages));
  FILE *file = tmpfile();
  if (!file) return;
  CALL(w, ONESTEP,
       CPObjectPrintStats(CP_OBJECT(w->one), file,
                          chance(w, 0.5) ? SUN_OUTPUTFORMAT_TABLE : SUN_OUTPUTFORMAT_CSV));
  fclose(file);
}

const Action onestep_actions[] = {{"create a one-step method", onestep_create, 1},
                                  {"free the one-step method", onestep_free, 1},
                                  {"one-step: init", onestep_init, 1},
                                  {"one-step: re-init", reinit, 4},
                                  {"one-step: tolerances", onestep_tolerances, 2},
                                  {"one-step: projector", onestep_projector, 2},
                                  {"one-step: Jacobian", set_jacobian, 1},
                                  {"one-step: f at several points", set_batch, 1},
                                  {"one-step: user data", set_user_data, 1},
                                  {"one-step: estimate", set_estimate, 2},
                                  {"one-step: bound of corrections", set_max_correction, 2},
                                  {"one-step: project output", set_output, 1},
                                  {"one-step: handler", set_handler, 1},
                                  {"one-step: step sizes", step_sizes, 3},
                                  {"one-step: most steps", max_steps, 1},
                                  {"one-step: stop time", stop_time, 2},
                                  {"one-step: roots", roots, 2},
                                  {"one-step: direction of roots", root_direction, 1},
                                  {"one-step: roots found", root_info, 1},
                                  {"one-step: consistent start", calc_ic, 3},
                                  {"one-step", onestep_evolve, 30},
                                  {"one-step: output", get_dky, 5},
                                  {"one-step: results", results, 1},
                                  {NULL, NULL, 0}};
