/* Memory: nothing is allocated between the first step and the last, and everything is freed. */
#include "cpodes/base/compat.h"
#include "stepping/onestep/fixture.h"
#include "support/alloc.h"

#include <arkode/arkode_arkstep.h>
#include <models/counters.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

static OneRun run;

/* Check allocates for its own assertions: there are none between alloc_watch and alloc_unwatch. */
static int steps_with_output(int n, N_Vector dky) {
  IntegratorCounters s;
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && k < n; k++) {
    flag = one_step(&run);
    if (!flag) flag = integrator_counters(run.mem, &s);
    if (!flag) flag = CPIntegratorGetDky(run.mem, s.t - s.hlast / 2.0, 0, dky);
    if (!flag) flag = CPIntegratorGetEstLocalErrors(run.mem, dky);
  }
  return flag;
}

static long int allocations_of_steps(int n) {
  N_Vector dky = vector_of(PENDULUM_N, NULL);
  alloc_watch();
  const int flag = steps_with_output(n, dky);
  alloc_unwatch();
  ck_assert_done(&run, flag);
  N_VDestroy(dky);
  return alloc_count();
}

/* The first step sets up, and so does the first output. */
START_TEST(stepping_and_restarting_allocate_nothing) {
  one_open(&run, one_methods[_i], 1.0e-6);
  allocations_of_steps(1);
  ck_assert_int_eq(allocations_of_steps(50), 0);
  alloc_watch();
  int flag = CPIntegratorReInit(run.mem, run.t, run.y);
  if (!flag) flag = one_step(&run);
  alloc_unwatch();
  ck_assert_done(&run, flag);
  ck_assert_int_eq(alloc_count(), 0);
  one_close(&run);
}
END_TEST

/* ---- creation to destruction; test/fuzz/faults.c makes every allocation fail ---- */

static World world;
static MessageLog message;

static int never(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)y, (void)user_data;
  g[0] = 1.0;
  return 0;
}

static const char *const kinds[] = {"DOP853", "ARKODE_DORMAND_PRINCE_7_4_5", "RADAU"};
enum { KINDS = 3, EXPLICIT_KINDS = 2 };

/* The calls that allocate, in order. Returns 0, or the first code that is not success; NULL counts
 * as CP_MEM_FAIL. */
static int create_and_step(const char *method, CPIntegrator *mem, CPProjector P, N_Vector y,
                           N_Vector abstol) {
  sunrealtype t;
  *mem = CPIntegratorCreate(method, test_context);
  if (!*mem) return CP_MEM_FAIL;
  CPObjectSetErrHandlerFn(CP_OBJECT(*mem), message_log, &message);
  int flag = CPIntegratorInit(*mem, world_rhs, 0.0, y);
  if (!flag) flag = CPIntegratorSVtolerances(*mem, 1.0e-6, abstol);
  if (!flag) flag = CPIntegratorSetProjector(*mem, P);
  if (!flag) flag = CPIntegratorSetUserData(*mem, &world);
  if (!flag) flag = CPIntegratorRootInit(*mem, 1, never);
  if (!flag) flag = CPIntegratorCalcIC(*mem, NULL);
  if (!flag) flag = CPIntegratorEvolve(*mem, 1.0, y, &t, CV_ONE_STEP);
  if (!flag) flag = CPIntegratorGetDky(*mem, t / 2.0, 0, y);
  return flag;
}

START_TEST(a_whole_life_gives_all_memory_back) {
  N_Vector abstol = VECTOR(1.0e-6, 1.0e-6, 1.0e-6, 1.0e-6), y = vector_of(PENDULUM_N, NULL);
  world = (World){.p = {1.0, 9.81}};
  pendulum_initial(&world.p, y);
  CPProjector P = world_projector(&world, y);
  CPIntegrator mem;
  alloc_watch();
  const int flag = create_and_step(kinds[_i], &mem, P, y, abstol);
  CPIntegratorFree(&mem);
  alloc_unwatch();
  ck_assert_int_eq(flag, CP_SUCCESS);
  ck_assert_int_gt(alloc_count(), 0);
  ck_assert_int_eq(alloc_live(), 0);
  CPProjectorFree(&P);
  N_VDestroy(abstol);
  N_VDestroy(y);
}
END_TEST

START_TEST(implicit_steps_allocate_nothing) {
  one_open(&run, kinds[_i], 1.0e-6);
  allocations_of_steps(1);
  ck_assert_int_eq(allocations_of_steps(50), 0);
  one_close(&run);
}
END_TEST

/* Tables and templates are copied: each copy may lack memory, and succeeds when it is repeated. */
START_TEST(copies_without_memory_are_refused) {
  ARKodeButcherTable B = ARKodeButcherTable_LoadERKByName("ARKODE_HEUN_EULER_2_1_2");
  SUNMatrix J          = SUNDenseMatrix(2, 2, test_context);
  N_Vector y = VECTOR(1.0, 2.0), abstol = VECTOR(1.0e-6, 1.0e-6);
  int n = 1;
  for (int denied = 1; denied; n++) {
    alloc_watch_failing(n);
    CPIntegrator mem = CPIntegratorCreateTable(B, test_context);
    denied           = alloc_has_failed();
    CPIntegratorFree(&mem);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_gt(n, 3);
  CPIntegrator mem = CPIntegratorCreate("RADAU", test_context);
  alloc_watch_failing(1);
  const int template = CPIntegratorSetJacFn(mem, J, NULL);
  alloc_watch_failing(1);
  const int tolerances = CPIntegratorSVtolerances(mem, 1.0e-6, abstol);
  alloc_unwatch();
  ck_assert_int_eq(template, CP_MEM_FAIL);
  ck_assert_int_eq(tolerances, CP_MEM_FAIL);
  ck_assert_int_eq(CPIntegratorSetJacFn(mem, J, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSVtolerances(mem, 1.0e-6, abstol), CP_SUCCESS);
  CPIntegratorFree(&mem);
  ARKodeButcherTable_Free(B);
  SUNMatDestroy(J);
  N_VDestroy(y);
  N_VDestroy(abstol);
}
END_TEST

TEST_SUITE(allocation) {
  Suite *suite = suite_create("memory of one-step methods");
  TCase *tc    = tcase_create("memory");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, stepping_and_restarting_allocate_nothing, 0, n_one_methods);
  tcase_add_loop_test(tc, a_whole_life_gives_all_memory_back, 0, KINDS);
  tcase_add_loop_test(tc, implicit_steps_allocate_nothing, EXPLICIT_KINDS, KINDS);
  tcase_add_test(tc, copies_without_memory_are_refused);
  suite_add_tcase(suite, tc);
  return suite;
}
