/* Defects in the use of mechanical systems with integrators, each with its effect. */
#include "support/mech_run.h"

#include <cvodes/cvodes.h>
#include <models/counters.h>
#include <models/pendulum.h>

static MechRun *open_pendulum(Pendulum *pendulum) {
  const CPEquations model = pendulum_model();
  *pendulum               = (Pendulum){.L = 1, .g = 9.81};
  return mech_run_create(&model, pendulum, (sunrealtype[]){1, 0, 0, 0});
}

/* The user's pointer was mistaken for the CPMech, and the program crashed. */
START_TEST(user_data_that_replace_the_system_are_refused) {
  Pendulum pendulum;
  MechRun *run = open_pendulum(&pendulum);
  mech_run_start(run, _i ? CV_BDF : CV_ADAMS, 1e-6);
  void *cvode_mem = CPIntegratorGetCVodeMem(run->cpode);
  ck_assert_int_eq(CVodeSetUserData(cvode_mem, &pendulum), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(run->cpode, 1, run->y, &run->t, CV_NORMAL), CP_NOT_SUPPORTED);
  ck_assert_mentions(run->log.text, "CPMechSetUserData");
  ck_assert_int_eq(CVodeSetUserData(cvode_mem, run->mech), CV_SUCCESS);
  mech_run_to(run, 1);
  mech_run_free(&run);
}
END_TEST

/* CVODES' message names an init routine. */
START_TEST(a_missing_linear_solver_is_named) {
  Pendulum pendulum;
  MechRun *run = open_pendulum(&pendulum);
  ck_assert_int_eq(CPMechSetNewton(run->mech, CP_NEWTON_NONE), CP_SUCCESS);
  mech_run_start(run, CV_BDF, 1e-6);
  ck_assert_int_eq(CPIntegratorEvolve(run->cpode, 1, run->y, &run->t, CV_NORMAL), CV_NLS_INIT_FAIL);
  ck_assert_mentions(run->log.text, "CVodeSetLinearSolver");
  mech_run_free(&run);
}
END_TEST

static long int projection_factors(const MechRun *run) {
  MechCounters stats;
  ck_assert_int_eq(mech_counters(run->mech, &stats), CP_SUCCESS);
  return stats.nprojfact;
}

/* Factors of the old data's A and M continued to be used. */
START_TEST(new_user_data_want_new_factors) {
  Pendulum pendulum;
  MechRun *run = open_pendulum(&pendulum);
  ck_assert_int_eq(CPMechSetMetric(run->mech, CP_METRIC_KINETIC), CP_SUCCESS);
  mech_run_start(run, CV_BDF, 1e-6);
  ck_assert_int_eq(CVodeSetMaxStep(CPIntegratorGetCVodeMem(run->cpode), 1e-4), CV_SUCCESS);
  long int before[3];
  for (int k = 0; k < 3; k++) {
    if (k == 2) ck_assert_int_eq(CPMechSetUserData(run->mech, &pendulum), CP_SUCCESS);
    for (int i = 0; i < 5; i++)
      ck_assert_int_eq(CPIntegratorEvolve(run->cpode, 1, run->y, &run->t, CV_ONE_STEP), CP_SUCCESS);
    before[k] = projection_factors(run);
  }
  /* steps are short, so the factors would otherwise be kept */
  ck_assert_int_eq(before[1], before[0]);
  ck_assert_int_eq(before[2], before[1] + 1);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(regressions_use) {
  Suite *suite = suite_create("Mechanical systems: regressions of their use");
  TCase *tc    = tcase_create("regressions");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, user_data_that_replace_the_system_are_refused, 0, 2);
  tcase_add_test(tc, a_missing_linear_solver_is_named);
  tcase_add_test(tc, new_user_data_want_new_factors);
  suite_add_tcase(suite, tc);
  return suite;
}
