/* Options of BDF and Adams: how often, when and how strictly the steps are projected, which norm CVODES
 * gets, and in which order all of this may be set. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <models/counters.h>

static Run run;

static void setup(void) { run_open(&run, ADAMS_FIXED_POINT, 1.0e-6); }

static void teardown(void) { run_close(&run); }

static void open_method(int i, sunrealtype tol) {
  run_close(&run);
  run_open(&run, methods[i], tol);
}

static long int error_test_failures(void) {
  long int netf;
  ck_assert_success(&run, CVodeGetNumErrTestFails(run.cvode_mem, &netf));
  return netf;
}

/* ---- tolerances ---- */

START_TEST(tolerances_after_the_first_step_need_a_new_start) {
  ck_assert_success(&run, run_to(&run, 1.0));
  N_Vector there = vector_copy(run.y), abstol = VECTOR(1e-8, 1e-8, 1e-8, 1e-8);
  if (_i == 0) ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-8, 1.0e-8));
  else ck_assert_success(&run, CPIntegratorSVtolerances(run.mem, 1.0e-8, abstol));
  ck_assert_int_eq(run_to(&run, 2.0), CP_TOO_LATE);
  ck_assert_mentions(run.log.text, "CPIntegratorReInit");
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 1.0, there));
  ck_assert_success(&run, run_to(&run, 2.0));
  ck_assert_success(&run, run_to(&run, 3.0));
  N_VDestroy(there);
  N_VDestroy(abstol);
}
END_TEST

/* ---- how often ---- */

START_TEST(every_third_step_is_projected) {
  const int n = 99;
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 3, 0));
  for (int k = 1; k <= n; k++) {
    ck_assert_success(&run, run_step(&run));
    if (k % 3 == 1) ck_assert_double_le(violation_of(&run.world, run.y), violation_bound(&run));
  }
  /* attempts that were rejected count as projections or as skipped, so the counts equal the number
   * of steps only without them */
  const IntegratorCounters stats = run_stats(&run);
  ck_assert_int_ge(stats.nproj, n / 3);
  ck_assert_int_le(stats.nproj, n / 3 + error_test_failures());
  ck_assert_int_ge(stats.nskipped, 2 * n / 3);
}
END_TEST

START_TEST(frequency_zero_is_the_default) {
  N_Vector expected = vector_copy(run.y);
  ck_assert_success(&run, run_to(&run, 1.0));
  N_VScale(1.0, run.y, expected);
  open_method(1, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 5, 0));
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 0, 0));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_int_eq(same_bits(run.y, expected), 1);
  N_VDestroy(expected);
}
END_TEST

/* If the violation is at most eps already, nothing moves; otherwise the projection is as usual. So
 * the state is always within the bound, and some steps are left alone if eps is the tolerance
 * itself. */
START_TEST(only_violated_states_are_projected_when_asked_for) {
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CPProjectorSetEps(run.P, 1.0));
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 1, 1));
  while (run.t < 1.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_bound(&run, violation_of(&run.world, run.y), violation_bound(&run) / CP_EPS_DEFAULT);
  }
  ck_assert_int_gt(run_stats(&run).nskipped, 0);
  ck_assert_int_gt(run_stats(&run).nproj, 0);
}
END_TEST

/* ---- the norm of the error estimate ---- */

/* One step from the same state by the same h, with an error that only one norm accepts; the counts
 * show which norm was used. */
START_TEST(the_norms_are_those_asked_for) {
  IntegratorCounters stats;
  open_method(_i / 3, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, (CPErrEst)(_i % 3)));
  run_until(&run, 2.0);
  ck_assert_good(&run);
  stats               = run_stats(&run);
  const int projected = _i % 3 == CP_ERREST_PROJECTED || _i % 3 == CP_ERREST_DEFAULT;
  ck_assert_int_eq(stats.nerrproj, projected ? stats.nproj : 0);
}
END_TEST

START_TEST(the_default_norm_is_projected_where_every_step_is) {
  N_Vector y[2];
  const int every = _i % 2;
  for (int k = 0; k < 2; k++) {
    open_method(_i / 2, 1.0e-6);
    const CPErrEst named = every ? CP_ERREST_PROJECTED : CP_ERREST_UNPROJECTED;
    ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, every ? 1 : 2, 0));
    ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, k ? named : CP_ERREST_DEFAULT));
    ck_assert_success(&run, run_to(&run, 1.0));
    y[k] = vector_copy(run.y);
  }
  ck_assert_int_eq(same_bits(y[0], y[1]), 1);
  N_VDestroy(y[0]);
  N_VDestroy(y[1]);
}
END_TEST

/* ---- large corrections ---- */

/* Long first steps leave the circle by many tolerances: with a bound they are cut; without one they
 * are accepted or not by the error test alone. A correction above the bound is never accepted. */
START_TEST(a_large_correction_rejects_the_step) {
  const sunrealtype bound = 1.0e-2;
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetMaxCorrection(run.mem, bound));
  ck_assert_success(&run, CVodeSetMaxConvFails(run.cvode_mem, 50));
  run_until(&run, 0.5);
  ck_assert_good(&run);
  const IntegratorCounters stats = run_stats(&run);
  ck_assert_int_gt(stats.nlargecorr, 0);
  ck_assert_int_eq(stats.nprojfails, stats.nlargecorr);
  ck_assert_double_le(stats.maxcorrection, bound);
  ck_assert_double_gt(stats.maxcorrection, 0.0);
}
END_TEST

START_TEST(an_infinite_bound_lets_every_correction_pass) {
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetMaxCorrection(run.mem, INFINITY));
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 0.1));
  ck_assert_success(&run, run_to(&run, 0.5));
  ck_assert_int_eq(run_stats(&run).nlargecorr, 0);
  ck_assert_good(&run);
}
END_TEST

/* ---- settings of CVODES ---- */

/* CVODES keeps the step if it could grow by less than 1.5; the guide promises 1.3 (BDF) and 1.25
 * (Adams). An attempt that grew may have failed and been cut to any size. */
START_TEST(steps_grow_where_cvodes_would_keep_them) {
  open_method(_i, 1.0e-6);
  const sunrealtype kept = run.method.lmm == CV_ADAMS ? 1.25 : 1.3;
  sunrealtype last = 0.0, h, least = INFINITY;
  long int failures = 0;
  while (run.t < 5.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CVodeGetLastStep(run.cvode_mem, &h));
    const long int failed = error_test_failures();
    if (h > last * (1.0 + 1.0e-12) && failed == failures) least = fmin(least, h / last);
    last     = h;
    failures = failed;
  }
  ck_assert_double_ge(least, kept * (1.0 - 1.0e-12));
  ck_assert_double_lt(least, 1.5);
}
END_TEST

/* CVODES makes a new matrix after 20 steps; if nothing else requires one, after 60. */
START_TEST(newton_matrices_serve_sixty_steps) {
  long int steps, setups;
  open_method(0, 1.0e-6); /* BDF, Newton */
  ck_assert_success(
      &run, CVodeSetMaxStep(run.cvode_mem, 1.0e-3)); /* constant steps, except for the first ones */
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_success(&run, CVodeGetNumSteps(run.cvode_mem, &steps));
  ck_assert_success(&run, CVodeGetNumLinSolvSetups(run.cvode_mem, &setups));
  ck_assert_int_gt(steps, 1000);
  ck_assert_int_ge(setups, 1000 / 60);
  ck_assert_int_lt(setups, 1000 / 20);
}
END_TEST

/* ---- order of the calls ---- */

/* All options of the sequence, in an order given by the digits of a permutation */
static void set_option(Run *r, int which) {
  switch (which) {
  case 0: ck_assert_success(r, CPIntegratorSStolerances(r->mem, 1.0e-7, 1.0e-7)); break;
  case 1: ck_assert_success(r, CPIntegratorSetProjector(r->mem, r->P)); break;
  case 2: ck_assert_success(r, CPIntegratorSetNonlinearSolver(r->mem, r->inner)); break;
  case 3: ck_assert_success(r, CPIntegratorSetProjFrequency(r->mem, 2, 0)); break;
  case 4: ck_assert_success(r, CPIntegratorSetErrEst(r->mem, CP_ERREST_UNPROJECTED)); break;
  case 5: ck_assert_success(r, CVodeSetNonlinConvCoef(r->cvode_mem, 0.05)); break;
  default: ck_assert_success(r, CPIntegratorInit(r->mem, world_rhs, 0.0, r->y));
  }
}

enum { N_OPTIONS = 7 };

static void run_in_order(int rotation, int backwards, N_Vector result) {
  Run r;
  run_create(&r, ADAMS_FIXED_POINT, 1.0e-7);
  r.inner = inner_solver(r.method, r.y);
  for (int k = 0; k < N_OPTIONS; k++) {
    const int which = (k + rotation) % N_OPTIONS;
    set_option(&r, backwards ? N_OPTIONS - 1 - which : which);
  }
  ck_assert_success(&r, CVodeSetUserData(r.cvode_mem, &r.world));
  ck_assert_success(&r, CVodeSetMaxNumSteps(r.cvode_mem, 10000));
  ck_assert_success(&r, run_to(&r, 1.0));
  N_VScale(1.0, r.y, result);
  run_close(&r);
}

START_TEST(the_order_of_the_set_functions_does_not_matter) {
  N_Vector expected = vector_of(PENDULUM_N, NULL), y = vector_of(PENDULUM_N, NULL);
  run_in_order(0, 0, expected);
  for (int rotation = 0; rotation < N_OPTIONS; rotation++)
    for (int backwards = 0; backwards < 2; backwards++) {
      run_in_order(rotation, backwards, y);
      ck_assert_msg(same_bits(y, expected), "rotation %d, %s", rotation,
                    backwards ? "backwards" : "forwards");
    }
  N_VDestroy(expected);
  N_VDestroy(y);
}
END_TEST

/* ---- tolerances ---- */

static int weights(N_Vector y, N_Vector ewt, void *user_data) {
  (void)user_data;
  for (sunindextype i = 0; i < N_VGetLength(y); i++)
    entries(ewt)[i] = 1.0 / (1.0e-6 * fabs(entries(y)[i]) + 1.0e-6);
  return 0;
}

START_TEST(the_three_kinds_of_tolerances_agree) {
  N_Vector expected = vector_copy(run.y), abstol = VECTOR(1.0e-6, 1.0e-6, 1.0e-6, 1.0e-6);
  ck_assert_success(&run, run_to(&run, 1.0));
  N_VScale(1.0, run.y, expected);
  open_method(1, 1.0e-3);
  if (_i == 0) ck_assert_success(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, abstol));
  else ck_assert_success(&run, CPIntegratorWFtolerances(run.mem, weights));
  N_VConst(-1.0, abstol); /* it was copied */
  ck_assert_success(&run, run_to(&run, 1.0));
  /* 1/(rtol |y| + atol) is rounded differently by the vector operations: equal steps, and states
   * equal up to amplified roundoff */
  ck_assert_bound(&run, max_distance(run.y, expected), 1.0e-12);
  N_VDestroy(expected);
  N_VDestroy(abstol);
}
END_TEST

/* A new inner solver, between runs. */
START_TEST(the_nonlinear_solver_can_be_changed_before_the_first_step) {
  N_Vector y0 = vector_copy(run.y);
  ck_assert_success(&run, run_to(&run, 0.5));
  ck_assert_flag(&run, CPIntegratorSetNonlinearSolver(run.mem, NULL), CP_TOO_LATE);
  ck_assert_message(&run, "CPIntegratorReInit");
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_success(&run, CPIntegratorSetNonlinearSolver(run.mem, NULL)); /* Newton */
  run_add_linear_solver(&run);
  ck_assert_success(&run, run_to(&run, 0.5));
  ck_assert_good(&run);
  N_VDestroy(y0);
}
END_TEST

/* CVODES' own functions on CVODES' memory: alone, or after those of cpodes, whose tolerances are
 * then ignored. */
START_TEST(tolerances_of_cvodes_functions_are_those_of_the_run) {
  const Method method = methods[_i % 4];
  run_close(&run);
  run_open(&run, method, 1.0e-8);
  ck_assert_success(&run, run_to(&run, 1.0));
  N_Vector expected = vector_copy(run.y), start = vector_of(PENDULUM_N, NULL);
  pendulum_initial(&run.world.p, start);
  run_close(&run);
  run_create(&run, method, 1.0e-8);
  run.inner = inner_solver(method, run.y);
  ck_assert_success(&run, CPIntegratorSetNonlinearSolver(run.mem, run.inner));
  if (_i / 4) ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-3, 1.0e-3));
  ck_assert_success(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, run.y));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
  ck_assert_success(&run, CVodeSetUserData(run.cvode_mem, &run.world));
  ck_assert_success(&run, CVodeSStolerances(run.cvode_mem, 1.0e-8, 1.0e-8));
  if (method.inner == SUNNONLINEARSOLVER_ROOTFIND) run_add_linear_solver(&run);
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_int_eq(same_bits(run.y, expected), 1);
  entries(start)[0] += 1.0e-6; /* negligible at a tolerance of 1e-3 */
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, start));
  ck_assert_flag(&run, run_to(&run, 1.0), CP_INCONSISTENT_IC);
  N_VDestroy(expected);
  N_VDestroy(start);
}
END_TEST

TEST_SUITE(options) {
  Suite *suite = suite_create("options");
  TCase *tc    = tcase_create("options");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, tolerances_after_the_first_step_need_a_new_start, 0, 2);
  tcase_add_loop_test(tc, every_third_step_is_projected, 0, 4);
  tcase_add_test(tc, frequency_zero_is_the_default);
  tcase_add_loop_test(tc, only_violated_states_are_projected_when_asked_for, 0, 4);
  tcase_add_loop_test(tc, the_norms_are_those_asked_for, 0, 12);
  tcase_add_loop_test(tc, the_default_norm_is_projected_where_every_step_is, 0, 8);
  tcase_add_loop_test(tc, a_large_correction_rejects_the_step, 0, 4);
  tcase_add_loop_test(tc, an_infinite_bound_lets_every_correction_pass, 0, 4);
  tcase_add_loop_test(tc, steps_grow_where_cvodes_would_keep_them, 0, 4);
  tcase_add_test(tc, newton_matrices_serve_sixty_steps);
  tcase_add_test(tc, the_order_of_the_set_functions_does_not_matter);
  tcase_add_loop_test(tc, tolerances_of_cvodes_functions_are_those_of_the_run, 0, 8);
  tcase_add_loop_test(tc, the_three_kinds_of_tolerances_agree, 0, 2);
  tcase_add_test(tc, the_nonlinear_solver_can_be_changed_before_the_first_step);
  suite_add_tcase(suite, tc);
  return suite;
}
