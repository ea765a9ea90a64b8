/* The user's own projection in the integrator, compared with the internal one. */
#include "stepping/multistep/fixture.h"

#include <math.h>

static Run run;
static CPProjector user;

static void setup(void) {
  user = NULL;
  run_open(&run, ADAMS_FIXED_POINT, 1.0e-6);
}

static void teardown(void) {
  run_close(&run);
  CPProjectorFree(&user);
}

static void open_method(int i) {
  run_close(&run);
  run_open(&run, methods[i], 1.0e-6);
}

static int rod_violation(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data) {
  (void)t;
  *norm = violation_of(user_data, y) / 1.0e-6;
  return 0;
}

static void use_functions(Run *r, CPUserProjection functions) {
  functions.size = sizeof functions;
  user           = CPProjectorCreateUser(&functions, r->y, test_context);
  ck_assert_ptr_nonnull(user);
  ck_assert_success(r, CPProjectorSetUserData(user, &r->world));
  ck_assert_success(r, CPIntegratorSetProjector(r->mem, user));
}

static void use_user_projector(Run *r, ErrorProjection error) {
  use_functions(r, (CPUserProjection){.state = rod_projection, .error = error});
}

/* In the Euclidean norm both are the nearest point to roundoff, positions first: steps are equal,
 * and states differ by the projections' convergence (1e-13) times the amplification of error_bound.
 * The number of steps may change with a last bit in a close decision, but not within the first
 * fifty. */
START_TEST(a_user_projection_gives_the_steps_of_the_internal_one) {
  Run internal;
  open_method(_i / 2);
  run_open(&internal, run.method, 1.0e-6);
  const CPErrEst mode = (CPErrEst)(1 + _i % 2);
  const int row[]     = {0, 1};
  const int col[]     = {0, 0, 1, 1};
  ck_assert_success(&internal, CPProjectorSetLevels(internal.P, row, col));
  ck_assert_success(&internal, CPProjectorSetNorm(internal.P, CP_NORM_L2, NULL, NULL));
  ck_assert_success(&internal, CPProjectorSetEps(internal.P, 1.0e-7));
  ck_assert_success(&internal, CPIntegratorSetErrEst(internal.mem, mode));
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, mode));
  use_user_projector(&run, rod_error_projection);
  for (int k = 0; k < 50; k++) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&internal, CPProjectorSetUserData(internal.P, &internal.world)); /* a new G */
    ck_assert_success(&internal, run_step(&internal));
    /* h follows the error norm, whose G is that of the state before the correction here, after it
     * there: equal up to a correction, about 1e-5, relative */
    ck_assert_double_le(fabs(run.t - internal.t), 1.0e-4 * run.t);
    ck_assert_good(&run);
  }
  ck_assert_int_eq(run_steps(&run), run_steps(&internal));
  run_close(&internal);
}
END_TEST

static int both_calls, state_calls, error_calls; /* of the functions below */
static int both_flag;
static sunrealtype both_bad; /* written into the error, if not 0 */

static int count_state(sunrealtype t, N_Vector from, N_Vector to, sunrealtype eps, void *data) {
  state_calls++;
  return rod_projection(t, from, to, eps, data);
}

static int count_error(sunrealtype t, N_Vector at, N_Vector err, void *data) {
  error_calls++;
  return rod_error_projection(t, at, err, data);
}

static int state_and_error(sunrealtype t, N_Vector from, N_Vector to, N_Vector err, sunrealtype eps,
                           void *data) {
  both_calls++;
  const int flag = rod_projection(t, from, to, eps, data);
  if (flag || rod_error_projection(t, to, err, data)) return -1;
  if (both_bad != 0) entries(err)[0] = both_bad;
  return both_flag;
}

/* The two functions, called one after the other, do the same: equal steps to the last bit. */
START_TEST(state_and_error_in_one_call_give_the_same_steps) {
  Run apart;
  both_calls = state_calls = error_calls = both_flag = 0, both_bad = 0;
  open_method(_i);
  run_open(&apart, run.method, 1.0e-6);
  use_functions(
      &run, (CPUserProjection){.state = count_state, .error = count_error, .both = state_and_error});
  CPProjector one = user;
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  use_user_projector(&apart, rod_error_projection);
  ck_assert_success(&apart, CPIntegratorSetErrEst(apart.mem, CP_ERREST_PROJECTED));
  for (int k = 0; k < 50; k++) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&apart, run_step(&apart));
    ck_assert_double_eq(run.t, apart.t);
    for (int i = 0; i < 4; i++) ck_assert_double_eq(entries(run.y)[i], entries(apart.y)[i]);
  }
  ck_assert_int_ge(both_calls, 50);
  ck_assert_int_le(state_calls, 2); /* the start */
  ck_assert_int_eq(run_stats(&run).nerrproj, run_stats(&apart).nerrproj);
  ck_assert_int_eq(error_calls, run_stats(&run).nerrproj - both_calls); /* those at other orders */
  run_close(&apart);
  CPIntegratorFree(&run.mem);
  CPProjectorFree(&one);
}
END_TEST

START_TEST(an_error_of_the_function_for_both_is_told) {
  both_flag = _i % 2 ? -1 : 0, both_bad = _i % 2 ? 0 : NAN;
  open_method(_i / 2);
  use_functions(&run, (CPUserProjection){.state = rod_projection,
                                         .error = rod_error_projection,
                                         .both  = state_and_error});
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  ck_assert_int_lt(run_step(&run), 0);
  ck_assert_message(&run, "projection function", _i % 2 ? "failed" : "NaN");
  both_flag = 0, both_bad = 0;
}
END_TEST

START_TEST(the_error_projection_is_optional) {
  open_method(_i);
  use_user_projector(&run, NULL);
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  run_until(&run, 1.0);
  ck_assert_good(&run);
}
END_TEST

START_TEST(the_violation_function_decides_whether_to_project) {
  open_method(_i);
  use_functions(&run, (CPUserProjection){.state     = rod_projection,
                                         .error     = rod_error_projection,
                                         .violation = rod_violation});
  ck_assert_success(&run, CPProjectorSetEps(user, 1.0));
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 1, 1));
  while (run.t < 1.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_double_le(violation_of(&run.world, run.y), 1.0e-6 * (1.0 + 1.0e-12));
    ck_assert_double_le(run_stats(&run).violation, 1.0); /* eps, or 0 after a projection */
  }
  ck_assert_int_gt(run_stats(&run).nskipped, 0);
  ck_assert_int_gt(run_stats(&run).nproj, 0);
}
END_TEST

START_TEST(a_start_off_the_users_manifold_is_refused) {
  N_Vector y0 = VECTOR(1.001, 0.0, 0.0, 0.0);
  use_functions(
      &run, (CPUserProjection){.state = rod_projection, .violation = _i ? rod_violation : NULL});
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_flag(&run, run_step(&run), CP_INCONSISTENT_IC);
  ck_assert_message(&run, "off the manifold", "CPIntegratorCalcIC");
  ck_assert_success(&run, CPIntegratorCalcIC(run.mem, NULL));
  ck_assert_success(&run, run_step(&run));
  N_VDestroy(y0);
}
END_TEST

TEST_SUITE(user) {
  Suite *suite = suite_create("user projection");
  TCase *tc    = tcase_create("user");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, a_user_projection_gives_the_steps_of_the_internal_one, 0, 8);
  tcase_add_loop_test(tc, the_error_projection_is_optional, 0, 4);
  tcase_add_loop_test(tc, state_and_error_in_one_call_give_the_same_steps, 0, 4);
  tcase_add_loop_test(tc, an_error_of_the_function_for_both_is_told, 0, 8);
  tcase_add_loop_test(tc, the_violation_function_decides_whether_to_project, 0, 4);
  tcase_add_loop_test(tc, a_start_off_the_users_manifold_is_refused, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
