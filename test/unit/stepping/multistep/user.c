/* The user's own projection in the integrator, against the internal one. */
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

static void use_user_projector(Run *r, CPErrProjFn g_eps) {
  user = CPProjectorCreateUser(rod_projection, g_eps, r->y, test_context);
  ck_assert_ptr_nonnull(user);
  ck_assert_success(r, CPProjectorSetUserData(user, &r->world));
  ck_assert_success(r, CPodeSetProjector(r->mem, user));
}

/* In the Euclidean norm and to roundoff both are the nearest point, positions first: equal steps, and states that differ by the
 * projections' convergence (1e-13) times the amplification of error_bound. The number of steps may change with a last bit in
 * a close decision, but not within the first fifty. */
START_TEST(a_user_projection_gives_the_steps_of_the_internal_one) {
  Run internal;
  open_method(_i / 2);
  run_open(&internal, run.method, 1.0e-6);
  const CPErrEst mode = (CPErrEst)(1 + _i % 2);
  N_Vector row = VECTOR(0.0, 1.0), col = VECTOR(0.0, 0.0, 1.0, 1.0);
  ck_assert_success(&internal, CPProjectorSetLevels(internal.P, row, col));
  ck_assert_success(&internal, CPProjectorSetNorm(internal.P, CP_NORM_L2));
  ck_assert_success(&internal, CPProjectorSetEps(internal.P, 1.0e-7));
  ck_assert_success(&internal, CPProjectorSetJacFrequency(internal.P, 1));
  ck_assert_success(&internal, CPodeSetProjErrEst(internal.mem, mode));
  ck_assert_success(&run, CPodeSetProjErrEst(run.mem, mode));
  use_user_projector(&run, rod_error_projection);
  for (int k = 0; k < 50; k++) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&internal, run_step(&internal));
    /* h follows the error norm, whose G is that of the state before the correction here, after it there: equal to a correction,
     * some 1e-5, relative */
    ck_assert_double_le(fabs(run.t - internal.t), 1.0e-4 * run.t);
    ck_assert_good(&run);
  }
  ck_assert_int_eq(run_steps(&run), run_steps(&internal));
  N_VDestroy(row);
  N_VDestroy(col);
  run_close(&internal);
}
END_TEST

START_TEST(the_error_projection_is_optional) {
  open_method(_i);
  use_user_projector(&run, NULL);
  ck_assert_success(&run, CPodeSetProjErrEst(run.mem, CP_ERREST_PROJECTED));
  run_until(&run, 1.0);
  ck_assert_good(&run);
}
END_TEST

START_TEST(the_violation_function_decides_whether_to_project) {
  open_method(_i);
  use_user_projector(&run, rod_error_projection);
  ck_assert_success(&run, CPProjectorSetEps(user, 1.0));
  ck_assert_success(&run, CPProjectorSetViolationFn(user, rod_violation));
  ck_assert_success(&run, CPodeSetProjTestCnstr(run.mem, SUNTRUE));
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
  use_user_projector(&run, NULL);
  if (_i) ck_assert_success(&run, CPProjectorSetViolationFn(user, rod_violation));
  ck_assert_success(&run, CPodeReInit(run.mem, 0.0, y0));
  ck_assert_flag(&run, run_step(&run), CP_INCONSISTENT_IC);
  ck_assert_message(&run, "off the manifold", "CPodeCalcIC");
  ck_assert_success(&run, CPodeCalcIC(run.mem));
  ck_assert_success(&run, run_step(&run));
  N_VDestroy(y0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("user projection");
  TCase *tc    = tcase_create("user");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, a_user_projection_gives_the_steps_of_the_internal_one, 0, 8);
  tcase_add_loop_test(tc, the_error_projection_is_optional, 0, 4);
  tcase_add_loop_test(tc, the_violation_function_decides_whether_to_project, 0, 4);
  tcase_add_loop_test(tc, a_start_off_the_users_manifold_is_refused, 0, 2);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
