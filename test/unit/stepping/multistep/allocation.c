/* Memory: nothing is allocated between the first step and the last, and everything is freed. */
#include "stepping/multistep/fixture.h"
#include "support/alloc.h"

#include <sunnonlinsol/sunnonlinsol_newton.h>

/* ---- while stepping ---- */

static Run run;

/* Check allocates for its own assertions: there are none between alloc_watch and alloc_unwatch. */
static int steps_with_output(int n, N_Vector dky) {
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < n; k++) {
    sunrealtype h;
    flag = run_step(&run);
    if (!flag) flag = CVodeGetLastStep(run.cvode_mem, &h);
    if (!flag) flag = CPIntegratorGetDky(run.mem, run.t - h / 2.0, 0, dky);
    if (!flag) flag = CPIntegratorGetEstLocalErrors(run.mem, dky);
  }
  return flag;
}

static long int allocations_of_steps(int n) {
  N_Vector dky = vector_of(PENDULUM_N, NULL);
  alloc_watch();
  const int flag = steps_with_output(n, dky);
  alloc_unwatch();
  ck_assert_success(&run, flag);
  N_VDestroy(dky);
  return alloc_count();
}

/* The first step sets up, and so does the first output of each kind. Only calls by cpodes and by
 * this program are counted. */
START_TEST(stepping_allocates_nothing) {
  run_open(&run, methods[_i % 4], 1.0e-6);
  if (_i >= 4)
    ck_assert_success(&run, CPProjectorSetJacFn(run.P, NULL, NULL)); /* difference quotients */
  allocations_of_steps(1);
  ck_assert_int_eq(allocations_of_steps(200), 0);
  run_close(&run);
}
END_TEST

/* Failing projections and error-test failures do not allocate either. */
START_TEST(repeated_steps_allocate_nothing) {
  run_open(&run, methods[_i], 1.0e-6);
  ck_assert_success(&run, CPIntegratorSetMaxCorrection(run.mem, 1.0e-2));
  ck_assert_success(&run, CVodeSetMaxConvFails(run.cvode_mem, 50));
  allocations_of_steps(1);
  ck_assert_int_eq(allocations_of_steps(200), 0);
  ck_assert_int_gt(run_stats(&run).nprojfails, 0);
  run_close(&run);
}
END_TEST

START_TEST(a_restart_allocates_nothing) {
  run_open(&run, ADAMS_FIXED_POINT, 1.0e-6);
  N_Vector y0 = vector_copy(run.y);
  ck_assert_success(&run, run_to(&run, 1.0));
  alloc_watch();
  int flag = CPIntegratorReInit(run.mem, 0.0, y0);
  if (!flag) flag = run_to(&run, 1.0);
  alloc_unwatch();
  ck_assert_success(&run, flag);
  ck_assert_int_eq(alloc_count(), 0);
  N_VDestroy(y0);
  run_close(&run);
}
END_TEST

/* ---- creation to destruction; test/fuzz/faults.c makes every allocation fail ---- */

static World world;
static MessageLog message;

static int no_root(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)y, (void)user_data;
  g[0] = 1.0;
  return 0;
}

/* The calls that allocate, in order. Returns 0, or the first code that is not success; NULL counts
 * as CP_MEM_FAIL. */
static int create_and_step(CPIntegrator *mem, CPProjector P, N_Vector y, N_Vector abstol,
                           SUNNonlinearSolver inner) {
  sunrealtype t;
  *mem = CPIntegratorCreate("ADAMS", test_context);
  if (!*mem) return CP_MEM_FAIL;
  CPObjectSetErrHandlerFn(CP_OBJECT(*mem), message_log, &message);
  int flag = CPIntegratorInit(*mem, world_rhs, 0.0, y);
  if (!flag) flag = CPIntegratorRootInit(*mem, 1, no_root);
  if (!flag) flag = CPIntegratorSVtolerances(*mem, 1.0e-6, abstol);
  if (!flag) flag = CPIntegratorSetProjector(*mem, P);
  if (!flag) flag = CPIntegratorSetNonlinearSolver(*mem, inner);
  if (!flag) flag = CVodeSetUserData(CPIntegratorGetCVodeMem(*mem), &world);
  if (!flag) flag = CPIntegratorCalcIC(*mem, NULL);
  if (!flag) flag = CPIntegratorEvolve(*mem, 1.0, y, &t, CV_ONE_STEP);
  return flag;
}

/* Everything that CPIntegratorCreate ... CPIntegratorEvolve allocated is freed. */
START_TEST(a_whole_life_gives_all_memory_back) {
  N_Vector abstol = VECTOR(1.0e-6, 1.0e-6, 1.0e-6, 1.0e-6), y = vector_of(PENDULUM_N, NULL);
  world = (World){.p = {1.0, 9.81}};
  pendulum_initial(&world.p, y);
  SUNNonlinearSolver inner = inner_solver(ADAMS_FIXED_POINT, y);
  CPProjector P            = world_projector(&world, y);
  CPIntegrator mem;
  alloc_watch();
  const int flag = create_and_step(&mem, P, y, abstol, inner);
  CPIntegratorFree(&mem);
  alloc_unwatch();
  ck_assert_int_eq(flag, CP_SUCCESS);
  ck_assert_int_gt(alloc_count(), 0);
  ck_assert_int_eq(alloc_live(), 0);
  CPProjectorFree(&P);
  SUNNonlinSolFree(inner);
  N_VDestroy(abstol);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(allocation) {
  Suite *suite = suite_create("memory of the integrator");
  TCase *tc    = tcase_create("memory");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, stepping_allocates_nothing, 0, 8);
  tcase_add_loop_test(tc, repeated_steps_allocate_nothing, 0, 4);
  tcase_add_test(tc, a_restart_allocates_nothing);
  tcase_add_test(tc, a_whole_life_gives_all_memory_back);
  suite_add_tcase(suite, tc);
  return suite;
}
