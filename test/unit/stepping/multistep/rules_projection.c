/* Reasons why a run ends: a projection that fails beyond some time for any step, a start off the
 * manifold, and CVODES' own reasons. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <string.h>

static Run run;

static void setup(void) { run_open(&run, BDF_NEWTON, 1.0e-6); }

static void teardown(void) { run_close(&run); }

/* ---- steps too short to make progress ---- */

#define T_STAR 0.5

/* The pendulum's constraints, with the first one repeated: with other content after T_STAR. */
static sunrealtype jump;
static long int calls;

static int contradicting(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  World *world = user_data;
  calls++;
  pendulum_constraints_redundant(t, y, c, &world->p);
  entries(c)[2] = entries(c)[0] - (t > T_STAR ? jump : 0.0);
  return 0;
}

/* The rod becomes longer at one instant. */
static int lengthened(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  World *world = user_data;
  calls++;
  pendulum_constraints(t, y, c, &world->p);
  if (t > T_STAR) entries(c)[0] -= jump;
  return 0;
}

static int failing_beyond(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  World *world = user_data;
  calls++;
  pendulum_constraints(t, y, c, &world->p);
  return t > T_STAR ? 1 : 0;
}

static int projecting_until(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps,
                            void *user_data) {
  calls++;
  rod_projection(t, yhat, y, eps, user_data);
  return t > T_STAR ? 1 : 0;
}

static int projecting_errors_until(sunrealtype t, N_Vector y, N_Vector err, void *user_data) {
  (void)y, (void)user_data, (void)err;
  calls++;
  return t > T_STAR ? 1 : 0;
}

static const struct {
  const char *name;
  CPConstraintFn c;
  StateProjection g;
  ErrorProjection g_eps;
  sunindextype m;
  sunrealtype jump;
  int code;
  const char *word;
} dead_ends[] = {
    {"c fails", failing_beyond, NULL, NULL, 2, 0.0, CP_REPTD_USERFUNC_ERR, "constraint function"},
    {"contradiction", contradicting, NULL, NULL, 3, 1.0e-3, CP_PROJ_INCONSISTENT, "constraint "},
    {"jump", lengthened, NULL, NULL, 2, 1.0e-1, CP_PROJ_CORRECTION, "constraint 0"},
    {"g fails", NULL, projecting_until, NULL, 0, 0.0, CP_REPTD_USERFUNC_ERR, "projection function"},
    {"g_eps fails", NULL, rod_projection, projecting_errors_until, 0, 0.0, CP_REPTD_USERFUNC_ERR,
     "error projection"},
};
enum { N_DEAD_ENDS = sizeof dead_ends / sizeof dead_ends[0], N_METHODS = 4 };

/* A step of about 1e-2 shrinks to 1e3 units of roundoff by 19 cuts to a quarter, between which it
 * may grow by less than one such factor; a dead end is reached after a few hundred attempts of at
 * most ten evaluations. */
#define MANY 5000

START_TEST(a_projection_that_fails_from_some_time_on_ends_the_run) {
  run_close(&run);
  run_open(&run, methods[_i % N_METHODS], 1.0e-6);
  const int k      = _i / N_METHODS;
  const char *name = dead_ends[k].name;
  N_Vector c_tmpl  = vector_of(dead_ends[k].m, NULL);
  jump             = dead_ends[k].jump;
  CPProjector P    = dead_ends[k].c ? CPProjectorCreate(dead_ends[k].c, run.y, c_tmpl, test_context)
                                    : projector_of_user(dead_ends[k].g, dead_ends[k].g_eps, run.y);
  ck_assert_success(&run, CPProjectorSetUserData(P, &run.world));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, P));
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  ck_assert_success(&run, run_to(&run, 0.25));
  calls          = 0;
  const int flag = run_to(&run, 1.0);
  ck_assert_msg(flag == dead_ends[k].code, "%s, %s: %d, not %d: %s", run.method.name, name, flag,
                dead_ends[k].code, run.log.text);
  ck_assert_int_eq(run.log.code, flag);
  ck_assert_message(&run, dead_ends[k].word, "t = 0.5");
  ck_assert_int_lt(calls, MANY);
  ck_assert_double_le(run.t, T_STAR);
  ck_assert_double_ge(run.t, T_STAR - 1.0e-9); /* the run did come close */
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
  /* with another projector it continues */
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, NULL));
  CPProjectorFree(&P);
  N_VDestroy(c_tmpl);
}
END_TEST

/* ---- the start ---- */

static const struct {
  sunrealtype y0[PENDULUM_N];
  const char *words[3];
} starts[] = {
    {{1.001, 0.0, 0.0, 0.0}, {"constraint 0", "2.001e-03", "CPIntegratorCalcIC"}},
    {{1.0, 0.0, 0.01, 0.0}, {"constraint 1", "1.000e-02", "CPIntegratorCalcIC"}},
};

START_TEST(an_inconsistent_start_is_refused_before_f_is_called) {
  N_Vector y0 = vector_of(PENDULUM_N, starts[_i].y0), y = vector_of(PENDULUM_N, NULL);
  sunrealtype t = -1.0;
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_flag(&run, CPIntegratorEvolve(run.mem, 1.0, y, &t, CV_NORMAL), CP_INCONSISTENT_IC);
  ck_assert_message(&run, starts[_i].words[0], starts[_i].words[1], starts[_i].words[2], "t = 0");
  ck_assert_int_eq(run.world.f_calls, 0);
  ck_assert_int_eq(same_bits(y, y0), 1); /* the last good state is the start */
  ck_assert_double_eq(t, 0.0);
  /* CPIntegratorCalcIC repairs it */
  ck_assert_success(&run, CPIntegratorCalcIC(run.mem, NULL));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_double_le(violation_of(&run.world, run.y), violation_bound(&run));
  N_VDestroy(y0);
  N_VDestroy(y);
}
END_TEST

/* Attached memory shows its error weights only in the first solve. */
START_TEST(an_inconsistent_start_of_attached_memory_is_refused_in_the_first_solve) {
  N_Vector y0 = vector_of(PENDULUM_N, starts[_i].y0), y = vector_copy(y0);
  sunrealtype t            = -1.0;
  MessageLog log           = {0};
  void *cvode_mem          = CVodeCreate(CV_ADAMS, test_context);
  SUNNonlinearSolver inner = inner_solver(ADAMS_FIXED_POINT, y);
  ck_assert_success(&run, CVodeInit(cvode_mem, world_rhs, 0.0, y0));
  ck_assert_success(&run, CVodeSStolerances(cvode_mem, 1.0e-6, 1.0e-6));
  ck_assert_success(&run, CVodeSetUserData(cvode_mem, &run.world));
  ck_assert_success(&run, CVodeSetNonlinearSolver(cvode_mem, inner));
  CPIntegrator mem = CPIntegratorAttach(cvode_mem, "ADAMS", inner, y0, test_context);
  ck_assert_success(&run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log));
  ck_assert_success(&run, CPIntegratorSetProjector(mem, run.P));
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_INCONSISTENT_IC);
  for (int k = 0; k < 3; k++)
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), starts[_i].words[k]);
  ck_assert_int_eq(log.code, CP_INCONSISTENT_IC);
  ck_assert_int_eq(log.count, 1);
  ck_assert_double_eq(t, 0.0);
  ck_assert_double_le(max_distance(y, y0), 1.0e-15);
  ck_assert_success(&run, CPIntegratorCalcIC(mem, NULL));
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  CVodeFree(&cvode_mem);
  SUNNonlinSolFree(inner);
  N_VDestroy(y0);
  N_VDestroy(y);
}
END_TEST

/* A tenth of the tolerance off the manifold is not inconsistent; ten times the tolerance is. */
START_TEST(a_start_is_as_good_as_the_tolerance_asks_for) {
  N_Vector y0 = VECTOR(1.0 + 1.0e-7, 0.0, 0.0, 0.0);
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
  entries(y0)[0] = 1.0 + 2.0e-5;
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_flag(&run, run_to(&run, 1.0), CP_INCONSISTENT_IC);
  N_VDestroy(y0);
}
END_TEST

/* A projector set in the middle of a run is compared with the state of that time. */
START_TEST(a_projector_set_later_is_checked_where_it_is_set) {
  ck_assert_success(&run, run_to(&run, 0.3));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
  run.world.p.L = 1.5; /* another manifold */
  ck_assert_flag(&run, run_to(&run, 1.0), CP_INCONSISTENT_IC);
  ck_assert_message(&run, "constraint 0");
  run.world.p.L = 1.0;
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
}
END_TEST

/* ---- CVODES' own failures ---- */

static void too_much_work(void) { ck_assert_success(&run, CVodeSetMaxNumSteps(run.cvode_mem, 5)); }
static void too_accurate(void) {
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-18, 1.0e-18));
}
static void first_f(void) { run.world.f = (Fault){-1.0, -1, 1, 0.0}; }
static void fatal_f(void) { run.world.f = (Fault){0.2, -1, -1, 0.0}; }
static void repeated_f(void) { run.world.f = (Fault){0.2, -1, 1, 0.0}; }
static void minimal_step(void) {
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-4, 1.0e-4));
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 0.05));
  ck_assert_success(&run, CVodeSetMinStep(run.cvode_mem, 0.05));
}
static void tstop_behind(void) { ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, -1.0)); }
static void no_linear_solver(void) {
  CPIntegratorFree(&run.mem);
  run.mem = CPIntegratorCreate("BDF", test_context);
  ck_assert_success(&run, CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &run.log));
  ck_assert_success(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, run.y));
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-6, 1.0e-6));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
}

static const struct {
  const char *name;
  void (*arrange)(void);
  int code;
} reasons[] = {
    {"too much work", too_much_work, CV_TOO_MUCH_WORK},
    {"too much accuracy", too_accurate, CV_TOO_MUCH_ACC},
    {"f at the start", first_f, CV_FIRST_RHSFUNC_ERR},
    {"f, fatal", fatal_f, CV_RHSFUNC_FAIL},
    {"f, repeatedly", repeated_f, CV_REPTD_RHSFUNC_ERR},
    {"error test", minimal_step, CV_ERR_FAILURE},
    {"tstop", tstop_behind, CV_ILL_INPUT},
    {"no linear solver", no_linear_solver, CV_NLS_INIT_FAIL},
};
enum { N_REASONS = sizeof reasons / sizeof reasons[0] };

START_TEST(failures_of_cvodes_keep_their_code_and_are_reported_once) {
  reasons[_i].arrange();
  run.log.count  = 0;
  const int flag = run_to(&run, 1.0);
  ck_assert_msg(flag == reasons[_i].code, "%s: %d, not %d: %s", reasons[_i].name, flag,
                reasons[_i].code, run.log.text);
  ck_assert_int_eq(run.log.code, flag);
  ck_assert_int_eq(run.log.count, 1);
  ck_assert_str_eq(run.log.text, CPObjectGetLastMessage(CP_OBJECT(run.mem)));
  ck_assert_int_gt(strlen(run.log.text), 10);
}
END_TEST

/* Length and rate in rows that are almost parallel */
static int narrow_constraints(sunrealtype t, N_Vector y, N_Vector c, void *data) {
  const sunrealtype *v = entries(y), L = ((World *)data)->p.L;
  (void)t;
  entries(c)[0] = (v[0] * v[0] + v[1] * v[1] - L * L) / 2;
  entries(c)[1] = entries(c)[0] + 1.0e-4 * (v[0] * v[2] + v[1] * v[3]);
  return 0;
}

START_TEST(an_error_test_that_ends_the_run_names_constraints_that_are_almost_dependent) {
  if (_i) {
    N_Vector c = vector_of(2, NULL);
    CPProjectorFree(&run.P);
    run.P = CPProjectorCreate(narrow_constraints, run.y, c, test_context);
    ck_assert_success(&run, CPProjectorSetUserData(run.P, &run.world));
    ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
    N_VDestroy(c);
  }
  ck_assert_success(&run, run_to(&run, 0.3));
  run.world.f = (Fault){run.t, -1, 0, 50.0}; /* a jump */
  ck_assert_success(&run, CVodeSetMaxErrTestFails(run.cvode_mem, 1));
  ck_assert_flag(&run, run_to(&run, 1.0), CV_ERR_FAILURE);
  ck_assert_msg(!strstr(run.log.text, "dependent") == !_i, "%s", run.log.text);
}
END_TEST

START_TEST(a_tout_at_the_start_takes_no_step) {
  ck_assert_success(&run, run_to(&run, 0.0));
  ck_assert_int_eq(run.world.f_calls, 0);
  ck_assert_flag(&run, run_to(&run, 4.9406564584124654e-324), CV_TOO_CLOSE);
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
}
END_TEST

TEST_SUITE(rules_projection) {
  Suite *suite = suite_create("what ends a run");
  TCase *tc    = tcase_create("ends");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, a_projection_that_fails_from_some_time_on_ends_the_run, 0,
                      N_DEAD_ENDS * N_METHODS);
  tcase_add_loop_test(tc, an_inconsistent_start_is_refused_before_f_is_called, 0, 2);
  tcase_add_loop_test(tc, an_inconsistent_start_of_attached_memory_is_refused_in_the_first_solve, 0,
                      2);
  tcase_add_test(tc, a_start_is_as_good_as_the_tolerance_asks_for);
  tcase_add_test(tc, a_projector_set_later_is_checked_where_it_is_set);
  tcase_add_loop_test(tc, failures_of_cvodes_keep_their_code_and_are_reported_once, 0, N_REASONS);
  tcase_add_loop_test(
      tc, an_error_test_that_ends_the_run_names_constraints_that_are_almost_dependent, 0, 2);
  tcase_add_test(tc, a_tout_at_the_start_takes_no_step);
  suite_add_tcase(suite, tc);
  return suite;
}
