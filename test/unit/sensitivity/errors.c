/* Wrong use of sensitivities: every case is a named error with a remedy. */
#include "sensitivity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static SensRun r;
static Run *const run = &r.run;

static void open_states(void) {
  test_context_setup();
  sens_open_states(&r, ADAMS_FIXED_POINT, 1.0e-6);
}

static void close_states(void) {
  sens_close(&r);
  test_context_teardown();
}

#define ck_assert_error(call, code, ...) \
  do {                                   \
    ck_assert_flag(run, call, code);     \
    ck_assert_message(run, __VA_ARGS__); \
  } while (0)

/* ---- CPIntegratorSensInit1 ---- */

START_TEST(other_methods_are_refused) {
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_SIMULTANEOUS, sens_rhs, r.s),
                  CP_NOT_SUPPORTED, "CV_STAGGERED1");
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED, sens_rhs, r.s),
                  CP_NOT_SUPPORTED, "CV_STAGGERED1");
}
END_TEST

START_TEST(a_number_that_is_not_positive_is_refused) {
  ck_assert_error(CPIntegratorSensInit1(run->mem, 0, CV_STAGGERED1, sens_rhs, r.s), CP_ILL_INPUT,
                  "Ns = 0");
  ck_assert_error(CPIntegratorSensInit1(run->mem, -1, CV_STAGGERED1, sens_rhs, r.s), CP_ILL_INPUT,
                  "Ns = -1");
}
END_TEST

START_TEST(a_bad_start_is_refused) {
  N_Vector bad[NS] = {r.s[0], NULL}, shorter = vector_of(3, NULL);
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, NULL), CP_ILL_INPUT,
                  "yS0");
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, bad), CP_ILL_INPUT,
                  "yS0[1]");
  bad[1] = shorter;
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, bad), CP_ILL_INPUT,
                  "yS0[1]", "4");
  entries(r.s[1])[2] = NAN;
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, r.s), CP_ILL_INPUT,
                  "yS0[1]", "component 2");
  N_VDestroy(shorter);
}
END_TEST

START_TEST(sensitivities_after_the_first_step_are_too_late) {
  ck_assert_success(run, run_step(run));
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, r.s), CP_TOO_LATE,
                  "CPIntegratorReInit");
}
END_TEST

START_TEST(without_an_integrator_there_are_none) {
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  ck_assert_success(run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log));
  ck_assert_int_eq(CPIntegratorSensInit1(mem, NS, CV_STAGGERED1, sens_rhs, r.s), CP_NO_INIT);
  ck_assert_int_eq(CPIntegratorSensInit1(NULL, NS, CV_STAGGERED1, sens_rhs, r.s), CP_MEM_NULL);
  CPIntegratorFree(&mem);
}
END_TEST

START_TEST(sensitivities_that_are_set_up_a_second_time_are_refused) {
  sens_start(&r, 1);
  ck_assert_error(CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, r.s), CP_ILL_INPUT,
                  "CPIntegratorSensReInit");
}
END_TEST

/* ---- all other functions need sensitivities ---- */

static int use(int which, CPIntegrator mem) {
  sunrealtype t;
  switch (which) {
  case 0: return CPIntegratorSensReInit(mem, r.s);
  case 1: return CPIntegratorSetSensParams(mem, &run->world.p.L, NULL, NULL);
  case 2: return CPIntegratorSetSensConstraintFn(mem, sens_rows);
  case 3: return CPIntegratorSetSensNonlinearSolver(mem, NULL);
  case 4: return CPIntegratorSensCalcIC(mem);
  case 5: return CPIntegratorGetConsistentSensIC(mem, r.s);
  case 6: return CPIntegratorGetSens(mem, &t, r.s);
  case 7: return CPIntegratorGetSensDky(mem, 0.0, 0, r.s);
  default: return CPIntegratorSensRhs1(mem, 0.0, run->y, 0, r.s[0], r.s[1], r.s[0], r.s[1]);
  }
}
enum { USES = 9 };

START_TEST(every_function_names_what_has_to_come_first) {
  ck_assert_int_eq(use(_i, NULL), CP_MEM_NULL);
  ck_assert_error(use(_i, run->mem), CP_NO_INIT, "CPIntegratorSensInit1");
}
END_TEST

START_TEST(every_argument_is_checked) {
  sunrealtype t;
  N_Vector shorter = vector_of(3, NULL), some[NS] = {r.s[0], NULL};
  sens_start(&r, 1);
  CPIntegrator mem = run->mem;
  ck_assert_error(CPIntegratorGetSens(mem, NULL, r.s), CP_ILL_INPUT, "tret");
  ck_assert_error(CPIntegratorGetSens(mem, &t, NULL), CP_ILL_INPUT, "yS");
  ck_assert_error(CPIntegratorGetSensDky(mem, 0.0, 0, NULL), CP_ILL_INPUT, "dkyS");
  ck_assert_error(CPIntegratorGetSensDky(mem, 0.0, 0, some), CP_ILL_INPUT, "dkyS");
  some[1] = shorter;
  ck_assert_error(CPIntegratorGetSensDky(mem, 0.0, 0, some), CP_ILL_INPUT, "length", "3");
  ck_assert_error(CPIntegratorGetConsistentSensIC(mem, NULL), CP_ILL_INPUT, "yS0");
  SUNNonlinearSolver empty = SUNNonlinSolNewEmpty(test_context);
  ck_assert_error(CPIntegratorSetSensNonlinearSolver(mem, empty), CP_ILL_INPUT, "setsysfn");
  SUNNonlinSolFreeEmpty(empty);
  ck_assert_error(CPIntegratorSensRhs1(mem, 0, run->y, -1, r.s[0], r.s[1], shorter, shorter),
                  CP_ILL_INPUT, "iS", "-1");
  ck_assert_error(CPIntegratorSensRhs1(mem, 0, run->y, NS, r.s[0], r.s[1], shorter, shorter),
                  CP_ILL_INPUT, "iS", "2");
  N_VDestroy(shorter);
}
END_TEST

/* ---- parameters ---- */

START_TEST(bad_parameters_are_named) {
  sunrealtype *p = &run->world.p.L, none[NS] = {1.0, 0.0}, minus[NS] = {1.0, -1.0},
              tiny[NS] = {1.0, 1.0e-16}, huge[NS] = {1.0, INFINITY};
  const int before[NS] = {0, -1};
  sens_start(&r, 1);
  ck_assert_error(CPIntegratorSetSensParams(run->mem, NULL, NULL, NULL), CP_ILL_INPUT, "p must not");
  ck_assert_error(CPIntegratorSetSensParams(run->mem, p, none, NULL), CP_ILL_INPUT, "pbar[1]", "0");
  ck_assert_error(CPIntegratorSetSensParams(run->mem, p, minus, NULL), CP_ILL_INPUT, "pbar[1]",
                  "-1");
  ck_assert_error(CPIntegratorSetSensParams(run->mem, p, huge, NULL), CP_ILL_INPUT, "pbar[1]",
                  "inf");
  ck_assert_error(CPIntegratorSetSensParams(run->mem, none + 1, NULL, NULL), CP_ILL_INPUT, "p[0]");
  ck_assert_error(CPIntegratorSetSensParams(run->mem, p, NULL, before), CP_ILL_INPUT, "plist[1]",
                  "-1");
  ck_assert_error(CPIntegratorSetSensParams(run->mem, p, tiny, NULL), CP_ILL_INPUT, "pbar[1]",
                  "roundoff");
  ck_assert_error(CPIntegratorSetSensParams(run->mem, none, NULL, NULL), CP_ILL_INPUT, "p[1]",
                  "pbar");
  sens_until(&r, 0.1); /* with the earlier parameters */
  ck_assert_bound(run, residual_of(&r), SENS_ROUNDOFF);
}
END_TEST

/* ---- dc/dp ---- */

static sunrealtype factor;
static int wrong_rows(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data) {
  const int flag = sens_rows(t, y, iS, cp, user_data);
  N_VScale(factor, cp, cp);
  return flag;
}

START_TEST(dcdp_that_is_not_the_derivative_of_c_is_found_at_the_start) {
  const sunrealtype factors[] = {0.0, -1.0, 2.0, 1.001};
  factor                      = factors[_i];
  sens_start(&r, 1);
  ck_assert_success(run, CPIntegratorSetSensConstraintFn(run->mem, wrong_rows));
  ck_assert_error(sens_step(&r), CP_CNSTRSENS_WRONG, "sensitivity 0",
                  "CPIntegratorSetSensConstraintFn");
}
END_TEST

START_TEST(dcdp_that_is_right_is_not_refused_at_any_tolerance) {
  const sunrealtype tol[] = {1e-3, 1e-6, 1e-10, 1e-13};
  sens_close(&r);
  sens_open(&r, ADAMS_FIXED_POINT, tol[_i]);
  ck_assert_success(run, CPIntegratorSetSensConstraintFn(run->mem, sens_rows));
  ck_assert_success(run, sens_step(&r));
}
END_TEST

/* Without the parameters a comparison is impossible. */
START_TEST(dcdp_alone_is_believed) {
  const sunrealtype size[NS] = {1.0, 1.0};
  ck_assert_success(run, CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, r.s));
  ck_assert_success(run, CPIntegratorSetSensConstraintFn(run->mem, sens_rows));
  ck_assert_success(run, CVodeSensSStolerances(run->cvode_mem, 1e-6, (sunrealtype *)size));
  ck_assert_success(run, sens_step(&r));
  ck_assert_double_le(residual_of(&r), SENS_ROUNDOFF);
}
END_TEST

/* ---- the order of calls ---- */

START_TEST(a_new_start_of_the_states_wants_one_of_the_sensitivities) {
  N_Vector y0 = vector_copy(run->y), *s0 = N_VCloneVectorArray(NS, y0);
  for (int i = 0; i < NS; i++) N_VScale(1.0, r.s[i], s0[i]);
  sens_start(&r, 1);
  sens_until(&r, 0.1);
  ck_assert_error(CPIntegratorSensReInit(run->mem, s0), CP_TOO_LATE, "CPIntegratorReInit");
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_error(run_step(run), CP_NO_INIT, "CPIntegratorSensReInit");
  ck_assert_success(run, CPIntegratorSensReInit(run->mem, s0));
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0)); /* in the wrong order */
  ck_assert_error(run_step(run), CP_NO_INIT, "CPIntegratorSensReInit");
  ck_assert_success(run, CPIntegratorSensReInit(run->mem, s0));
  ck_assert_success(run, sens_step(&r));
  N_VDestroy(y0);
  N_VDestroyVectorArray(s0, NS);
}
END_TEST

START_TEST(sensitivities_can_be_switched_off) {
  N_Vector y0 = vector_copy(run->y);
  sens_start(&r, 1);
  ck_assert_success(run, CVodeSensToggleOff(run->cvode_mem));
  const int messages = run->log.count;
  ck_assert_success(run, run_to(run, 0.5));
  ck_assert_success(run, run_to(run, 1.0));
  ck_assert_int_eq(run->log.count, messages);
  ck_assert_int_eq(sens_stats(&r).nproj, 0);
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_success(run, CPIntegratorSensReInit(run->mem, r.s));
  ck_assert_success(run, sens_step(&r));
  ck_assert_int_eq(sens_stats(&r).nproj, NS);
  N_VDestroy(y0);
}
END_TEST

START_TEST(a_solver_that_goes_round_the_projection_is_found) {
  sens_start(&r, 1);
  SUNNonlinearSolver other = SUNNonlinSol_FixedPoint(run->y, 0, test_context);
  ck_assert_success(run, CVodeSetNonlinearSolverSensStg1(run->cvode_mem, other));
  ck_assert_error(run_step(run), CP_BYPASSED, "CPIntegratorSetSensNonlinearSolver");
  SUNNonlinSolFree(other);
}
END_TEST

/* CVODES' own call bypasses cpodes: with CV_SIMULTANEOUS also for the states. */
START_TEST(simultaneous_sensitivities_of_cvodes_are_found) {
  ck_assert_success(run, CVodeSensInit1(run->cvode_mem, NS, CV_SIMULTANEOUS, NULL, r.s));
  ck_assert_success(run, CVodeSensEEtolerances(run->cvode_mem));
  sunrealtype size[NS]     = {1.0, 9.81};
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPointSens(NS + 1, run->y, 0, test_context);
  ck_assert_success(run, CVodeSetNonlinearSolverSensSim(run->cvode_mem, fixed));
  ck_assert_success(run, CVodeSetSensParams(run->cvode_mem, &run->world.p.L, size, NULL));
  ck_assert_error(run_step(run), CP_BYPASSED, "CV_STAGGERED1");
  SUNNonlinSolFree(fixed);
}
END_TEST

START_TEST(consistent_starts_need_a_projector_and_a_start) {
  sens_start(&r, 1);
  ck_assert_success(run, sens_step(&r));
  ck_assert_error(CPIntegratorSensCalcIC(run->mem), CP_TOO_LATE, "CPIntegratorReInit");
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, NULL));
  ck_assert_error(CPIntegratorSensCalcIC(run->mem), CP_NO_PROJECTOR, "CPIntegratorSetProjector");
}
END_TEST

START_TEST(a_projection_of_the_users_cannot_follow_parameters) {
  CPProjector P = projector_of_user(rod_projection, rod_error_projection, run->y);
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, P));
  ck_assert_success(run, CPIntegratorSensInit1(run->mem, NS, CV_STAGGERED1, sens_rhs, r.s));
  ck_assert_success(run, CPIntegratorSetSensParams(run->mem, &run->world.p.L, NULL, NULL));
  ck_assert_success(run, CVodeSensEEtolerances(run->cvode_mem));
  const int unknown = sens_step(&r); /* it keeps G s = 0, and dx/dL = 1 at the start */
  CPIntegratorSetSensConstraintFn(run->mem, sens_rows);
  const int given = sens_step(&r);
  CPIntegratorSetProjector(run->mem, NULL);
  CPProjectorFree(&P);
  ck_assert_int_eq(unknown, CP_INCONSISTENT_IC);
  ck_assert_flag(run, given, CP_NOT_SUPPORTED);
}
END_TEST

/* ---- attached memory ---- */

static int first_component(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data) {
  (void)t, (void)user_data;
  values[0] = entries(y)[0];
  return 0;
}

START_TEST(attached_memory_has_sensitivities_and_gets_its_solver_back) {
  sunrealtype t;
  void *cvode_mem          = CVodeCreate(CV_ADAMS, test_context);
  SUNNonlinearSolver inner = SUNNonlinSol_FixedPoint(run->y, 0, test_context);
  ck_assert_success(run, CVodeInit(cvode_mem, world_rhs, 0.0, run->y));
  ck_assert_success(run, CVodeSStolerances(cvode_mem, 1e-6, 1e-6));
  ck_assert_success(run, CVodeSetNonlinearSolver(cvode_mem, inner));
  ck_assert_success(run, CVodeSetUserData(cvode_mem, &run->world));
  CPIntegrator mem = CPIntegratorAttach(cvode_mem, "ADAMS", inner, run->y, test_context);
  CPIntegrator own = run->mem;
  run->mem         = mem; /* so that sens_rhs finds it */
  ck_assert_success(run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log));
  ck_assert_success(run, CPIntegratorSetProjector(mem, run->P));
  ck_assert_success(run, CPIntegratorSensInit1(mem, NS, CV_STAGGERED1, NULL, r.s));
  ck_assert_success(run, CPIntegratorSetSensParams(mem, &run->world.p.L, NULL, NULL));
  ck_assert_success(run, CVodeSensEEtolerances(cvode_mem));
  ck_assert_error(CPIntegratorSensRhs1(mem, 0.0, run->y, 0, r.s[0], r.s[1], r.s[0], r.s[1]),
                  CP_NOT_SUPPORTED, "CPIntegratorAttach"); /* f is not known */
  const CPFunctional F = {.ng = 1, .end = first_component};
  sunrealtype G, dG[NS];
  ck_assert_error(CPIntegratorFunctionalAdjoint(mem, 0.1, &F, NULL, NULL, &G, dG, NULL),
                  CP_NOT_SUPPORTED, "options->adjoint");
  ck_assert_success(run, CPIntegratorEvolve(mem, 0.1, run->y, &t, CV_ONE_STEP));
  ck_assert_success(run, CPIntegratorGetSens(mem, &t, r.s));
  ck_assert_double_le(residual_of(&r), SENS_ROUNDOFF);
  CPIntegratorFree(&mem);
  run->mem = own;
  ck_assert_int_eq(CVode(cvode_mem, 1.0, run->y, &t, CV_NORMAL), CV_SUCCESS); /* states alone */
  ck_assert_int_eq(CVodeReInit(cvode_mem, 1.0, run->y), CV_SUCCESS);
  ck_assert_int_eq(CVode(cvode_mem, 2.0, run->y, &t, CV_NORMAL),
                   CV_SUCCESS); /* after all solvers were set up */
  CVodeFree(&cvode_mem);
  SUNNonlinSolFree(inner);
}
END_TEST

/* ---- adjoint ---- */

START_TEST(backward_runs_before_forward_ones_are_named) {
  int ncheck;
  sunrealtype t;
  ck_assert_flag(run, CPIntegratorB(run->mem, 0.0, CV_NORMAL), CV_NO_ADJ);
  ck_assert_flag(run, CPIntegratorF(run->mem, 1.0, run->y, &t, CV_NORMAL, &ncheck), CV_NO_ADJ);
  ck_assert_success(run, CVodeAdjInit(run->cvode_mem, 10, CV_HERMITE));
  ck_assert_error(CPIntegratorF(run->mem, 1.0, run->y, &t, CV_NORMAL, NULL), CP_ILL_INPUT, "ncheck");
  ck_assert_int_eq(CPIntegratorF(NULL, 1.0, run->y, &t, CV_NORMAL, &ncheck), CP_MEM_NULL);
  const int flag = CPIntegratorB(run->mem, 0.0, CV_NORMAL);
  ck_assert_msg(flag == CV_NO_FWD || flag == CV_NO_BCK, "%d: %s", flag,
                CPObjectGetLastMessage(CP_OBJECT(run->mem)));
  ck_assert_int_eq(CPIntegratorB(NULL, 0.0, CV_NORMAL), CP_MEM_NULL);
}
END_TEST

/* CVodeF takes a derivative of the sensitivities before any check. */
START_TEST(differences_of_cvodes_without_parameters_are_refused_with_checkpoints) {
  int ncheck;
  sunrealtype t;
  Run other;
  run_open(&other, ADAMS_FIXED_POINT, 1.0e-6);
  ck_assert_success(&other, CPIntegratorSensInit1(other.mem, NS, CV_STAGGERED1, NULL, r.s));
  ck_assert_success(&other, CVodeSensEEtolerances(other.cvode_mem));
  ck_assert_success(&other, CVodeAdjInit(other.cvode_mem, 10, CV_HERMITE));
  ck_assert_flag(&other, CPIntegratorF(other.mem, 1.0, other.y, &t, CV_NORMAL, &ncheck),
                 CV_ILL_INPUT);
  ck_assert_message(&other, "CPIntegratorSetSensParams");
  run_close(&other);
}
END_TEST

START_TEST(a_gradient_without_weights_is_refused) {
  N_Vector v = vector_copy(run->y);
  ck_assert_success(run, CPIntegratorSStolerances(run->mem, 1.0e-6, 0.0)); /* at rest */
  ck_assert_error(CPIntegratorProjectGradient(run->mem, 0, run->y, v), CP_ILL_INPUT, "weights");
  N_VDestroy(v);
}
END_TEST

/* ---- CVODES' differences, in which f fails ---- */

static int failures, what; /* remaining failures; 1 and -1 are returned, 0 puts a NaN into f */

static int fails_where_moved(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const World *world = user_data;
  const int flag     = pendulum_rhs(t, y, ydot, (void *)&world->p);
  if (world->p.L == 1.0 || failures == 0) return flag;
  failures--;
  if (what == 0) entries(ydot)[2] = NAN;
  return what;
}

/* CVODES leaves the parameter at its changed value. */
START_TEST(a_failure_leaves_the_parameters_as_they_are) {
  static const int kinds[] = {-1, 1, 0};
  Run other;
  run_create(&other, ADAMS_FIXED_POINT, 1.0e-6);
  what        = kinds[_i];
  failures    = 0;
  other.inner = inner_solver(other.method, other.y);
  ck_assert_success(&other, CPIntegratorSetNonlinearSolver(other.mem, other.inner));
  ck_assert_success(&other, CPIntegratorInit(other.mem, fails_where_moved, 0.0, other.y));
  ck_assert_success(&other, CPIntegratorSStolerances(other.mem, 1.0e-6, 1.0e-6));
  ck_assert_success(&other, CVodeSetUserData(other.cvode_mem, &other.world));
  ck_assert_success(&other, CPIntegratorSensInit1(other.mem, NS, CV_STAGGERED1, NULL, r.s));
  ck_assert_success(&other, CPIntegratorSetSensParams(other.mem, &other.world.p.L, NULL, NULL));
  ck_assert_success(&other, CVodeSensEEtolerances(other.cvode_mem));
  ck_assert_success(&other, run_to(&other, 0.2));
  failures = 1; /* the step is repeated, or the run ends */
  run_to(&other, 1.0);
  ck_assert_double_eq(other.world.p.L, 1.0);
  failures = 1000000;
  ck_assert_int_lt(run_to(&other, 2.0), 0);
  ck_assert_double_eq(other.world.p.L, 1.0);
  run_close(&other);
}
END_TEST

START_TEST(before_the_first_step_there_are_no_results) {
  sunrealtype t;
  sens_start(&r, 1);
  ck_assert_error(CPIntegratorGetSens(run->mem, &t, r.s), CP_NO_INIT, "no step");
  ck_assert_error(CPIntegratorGetSensDky(run->mem, 0, 0, r.s), CP_NO_INIT, "no step");
}
END_TEST

START_TEST(arguments_of_the_adjoint_helpers_are_checked) {
  N_Vector shorter = vector_of(3, NULL), v = vector_copy(run->y);
  CPIntegrator mem = run->mem;
  ck_assert_int_eq(CPIntegratorForwardState(NULL, 0, v, v), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorProjectGradient(NULL, 0, v, v), CP_MEM_NULL);
  ck_assert_error(CPIntegratorForwardState(mem, 0, NULL, v), CP_ILL_INPUT, "y must not");
  ck_assert_error(CPIntegratorForwardState(mem, 0, v, shorter), CP_ILL_INPUT, "yproj", "3");
  ck_assert_error(CPIntegratorProjectGradient(mem, 0, v, NULL), CP_ILL_INPUT, "lambda");
  /* A failure leaves lambda unchanged. */
  N_Vector lambda = vector_copy(v), kept = vector_copy(v);
  run->world.c = (Fault){-1.0, 1, -1, 0.0};
  ck_assert_error(CPIntegratorProjectGradient(mem, 0, v, lambda), CP_USERFUNC_FAIL, "constraint");
  run->world.c = (Fault){-1.0, 1000, 1, 0.0};
  ck_assert_error(CPIntegratorProjectGradient(mem, 0, v, lambda), CP_REPTD_USERFUNC_ERR,
                  "constraint");
  run->world.c = (Fault){-1.0, 1, -1, 0.0};
  ck_assert_error(CPIntegratorForwardState(mem, 0, v, lambda), CP_USERFUNC_FAIL,
                  "cannot be projected");
  N_VScale(1.0, v, lambda);
  ck_assert(same_bits(lambda, kept));
  for (int i = 0; i < PENDULUM_N; i++)
    entries(lambda)[i] = entries(kept)[i] = i % 2 ? 1.7e308 : -1.7e308;
  entries(v)[0] = 0.6, entries(v)[1] = -0.8; /* the products with G overflow there */
  ck_assert_error(CPIntegratorProjectGradient(mem, 0, v, lambda), CP_PROJ_NONFINITE, "not finite");
  ck_assert(same_bits(lambda, kept));
  N_VDestroy(lambda);
  N_VDestroy(kept);
  ck_assert_success(run, CPIntegratorSetProjector(mem, NULL));
  ck_assert_error(CPIntegratorProjectGradient(mem, 0, v, v), CP_NO_PROJECTOR,
                  "CPIntegratorSetProjector");
  N_Vector same = vector_copy(v); /* without a projector a state is its own projection */
  N_VConst(0.0, same);
  ck_assert_success(run, CPIntegratorForwardState(mem, 0, v, same));
  ck_assert(same_bits(v, same));
  N_VDestroy(same);
  N_VDestroy(shorter);
  N_VDestroy(v);
}
END_TEST

START_TEST(every_code_has_its_name) {
  char *name = CPGetReturnFlagName(CP_CNSTRSENS_WRONG);
  ck_assert_str_eq(name, "CP_CNSTRSENS_WRONG");
  free(name);
}
END_TEST

TEST_SUITE(errors) {
  Suite *suite = suite_create("Wrong use of sensitivities");
  TCase *tc    = tcase_create("errors");
  tcase_add_checked_fixture(tc, open_states, close_states);
  tcase_add_test(tc, other_methods_are_refused);
  tcase_add_test(tc, a_number_that_is_not_positive_is_refused);
  tcase_add_test(tc, a_bad_start_is_refused);
  tcase_add_test(tc, sensitivities_after_the_first_step_are_too_late);
  tcase_add_test(tc, without_an_integrator_there_are_none);
  tcase_add_test(tc, sensitivities_that_are_set_up_a_second_time_are_refused);
  tcase_add_loop_test(tc, every_function_names_what_has_to_come_first, 0, USES);
  tcase_add_test(tc, every_argument_is_checked);
  tcase_add_test(tc, bad_parameters_are_named);
  tcase_add_test(tc, before_the_first_step_there_are_no_results);
  tcase_add_loop_test(tc, a_failure_leaves_the_parameters_as_they_are, 0, 3);
  tcase_add_loop_test(tc, dcdp_that_is_not_the_derivative_of_c_is_found_at_the_start, 0, 4);
  tcase_add_loop_test(tc, dcdp_that_is_right_is_not_refused_at_any_tolerance, 0, 4);
  tcase_add_test(tc, dcdp_alone_is_believed);
  tcase_add_test(tc, a_new_start_of_the_states_wants_one_of_the_sensitivities);
  tcase_add_test(tc, sensitivities_can_be_switched_off);
  tcase_add_test(tc, a_solver_that_goes_round_the_projection_is_found);
  tcase_add_test(tc, simultaneous_sensitivities_of_cvodes_are_found);
  tcase_add_test(tc, consistent_starts_need_a_projector_and_a_start);
  tcase_add_test(tc, a_projection_of_the_users_cannot_follow_parameters);
  tcase_add_test(tc, attached_memory_has_sensitivities_and_gets_its_solver_back);
  tcase_add_test(tc, backward_runs_before_forward_ones_are_named);
  tcase_add_test(tc, differences_of_cvodes_without_parameters_are_refused_with_checkpoints);
  tcase_add_test(tc, a_gradient_without_weights_is_refused);
  tcase_add_test(tc, arguments_of_the_adjoint_helpers_are_checked);
  tcase_add_test(tc, every_code_has_its_name);
  suite_add_tcase(suite, tc);
  return suite;
}
