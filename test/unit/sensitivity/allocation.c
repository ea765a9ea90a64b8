/* Memory of sensitivities: nothing is allocated between the first step and the last, and every
 * allocation may fail. */
#include "sensitivity/fixture.h"
#include "support/alloc.h"
#include "support/mech_run.h"

#include <models/slider_crank.h>
#include <string.h>

/* ---- while stepping ---- */

static SensRun r;

static long int allocations_of_steps(int n) {
  int flag = CP_SUCCESS;
  alloc_watch();
  for (int k = 0; !flag && k < n; k++) {
    sunrealtype h;
    flag = sens_step(&r);
    if (!flag) flag = CPObjectGetStat(CP_OBJECT(r.run.mem), "last_step", &h);
    if (!flag) flag = CPSensGetDky(r.sens, r.run.t - h / 2.0, 0, r.s);
  }
  alloc_unwatch();
  ck_assert_success(&r.run, flag);
  return alloc_count();
}

START_TEST(stepping_allocates_nothing) {
  sens_open(&r, methods[_i], 1.0e-6);
  allocations_of_steps(1);
  ck_assert_int_eq(allocations_of_steps(100), 0);
  sens_close(&r);
}
END_TEST

/* ---- the n-th allocation fails ---- */

static MessageLog message;
static Pendulum pendulum;
static SliderCrank crank;

static int height(sunrealtype t, N_Vector y, sunrealtype *value, void *user_data) {
  (void)t, (void)user_data;
  value[0] = N_VGetArrayPointer(y)[1];
  return 0;
}

/* The calls after the set-up of the states, until the first code that is not success */
static int use(CPIntegrator mem, sunrealtype *p, N_Vector *s, N_Vector y0) {
  sunrealtype t        = 0.0, G, dG[NS];
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = height, .integrand = height};
  const CPGradientOptions by_sensitivities = {CP_SIZED(CPGradientOptions),
                                              .mode = CP_GRADIENT_FORWARD};
  CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = p, .y0S = s};
  CPSens sens             = CPSensCreate(&parameters, y0, test_context);
  int flag                = sens ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag) flag = CPIntegratorSetSens(mem, sens);
  if (!flag) flag = CPSensCalcIC(sens, s);
  if (!flag) flag = CPIntegratorEvolve(mem, 1.0, s[0], &t, CV_ONE_STEP);
  if (!flag) flag = CPIntegratorGradient(mem, t * 1.5, &F, NULL, &by_sensitivities, &G, dG, NULL);
  for (int k = 0; !flag && k < 2; k++) { /* with the parameters of sensitivities, and others */
    flag = CPIntegratorReInit(mem, 0.0, y0);
    if (!flag) flag = k ? CPIntegratorSetSens(mem, NULL) : CPSensCalcIC(sens, s);
    if (!flag)
      flag = CPIntegratorGradient(mem, t * 1.5, &F, k ? &parameters : NULL, NULL, &G, dG, NULL);
  }
  CPSensFree(&sens);
  return flag;
}

static int of_projector(const char *method, CPProjector P, N_Vector y0, N_Vector *s,
                        SUNNonlinearSolver fixed) {
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  int flag         = CP_MEM_FAIL;
  if (!mem) return flag;
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &message);
  flag = CPIntegratorGetCVodeMem(mem) ? CPIntegratorSetNonlinearSolver(mem, fixed) : CP_SUCCESS;
  if (!flag) flag = CPIntegratorInit(mem, pendulum_rhs, 0.0, y0);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1.0e-5, 1.0e-5);
  if (!flag) flag = CPIntegratorSetProjector(mem, P);
  if (!flag) flag = CPIntegratorSetUserData(mem, &pendulum);
  if (!flag) flag = use(mem, &pendulum.L, s, y0);
  CPIntegratorFree(&mem);
  return flag;
}

static int of_mechanism(const char *method, N_Vector y0, N_Vector *s) {
  const CPEquations model = slider_crank_model();
  CPIntegrator mem        = CPIntegratorCreate(method, test_context);
  CPMech mech             = mem ? create_mech(&model, y0, test_context) : NULL;
  int flag                = mech ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag) flag = CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &message);
  if (!flag) flag = CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &message);
  if (!flag) flag = CPMechSetUserData(mech, &crank);
  if (!flag) flag = CPMechAttach(mech, mem, 0.0, y0);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1.0e-5, 1.0e-5);
  if (!flag) flag = use(mem, &crank.J1, s, y0);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  return flag;
}

/* Far more than there are */
#define ENOUGH 2000

static void fail_each_in_turn(int mechanism, const char *method) {
  N_Vector y0 = vector_of(mechanism ? SLIDER_CRANK_N : PENDULUM_N, NULL);
  pendulum    = (Pendulum){1.0, 9.81};
  crank       = slider_crank_haug();
  if (mechanism) slider_crank_initial(&crank, y0);
  else pendulum_initial(&pendulum, y0);
  World world              = {.p = pendulum};
  CPProjector P            = mechanism ? NULL : world_projector(&world, y0);
  N_Vector *s              = N_VCloneVectorArray(NS, y0);
  SUNNonlinearSolver fixed = inner_solver(ADAMS_FIXED_POINT, y0);
  int n                    = 1;
  for (; n < ENOUGH; n++) {
    for (int i = 0; i < NS; i++) N_VConst(0.0, s[i]);
    memset(&message, 0, sizeof message);
    alloc_watch_failing(n);
    const int flag = mechanism ? of_mechanism(method, y0, s) : of_projector(method, P, y0, s, fixed);
    alloc_unwatch();
    ck_assert_msg(alloc_live() == 0, "allocation %d: %ld blocks are left", n, alloc_live());
    if (!alloc_has_failed()) {
      ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, message.text);
      break;
    }
    ck_assert_msg(flag < 0, "allocation %d failed, and nobody noticed", n);
  }
  ck_assert_int_lt(n, ENOUGH);
  CPProjectorFree(&P);
  SUNNonlinSolFree(fixed);
  N_VDestroyVectorArray(s, NS);
  N_VDestroy(y0);
}

START_TEST(every_failed_allocation_is_told_and_leaves_nothing) {
  const char *const names[] = {"ADAMS", "DOP853", "RADAU"};
  fail_each_in_turn(_i % 2, names[_i / 2]);
}
END_TEST

/* The solver of sensitivities that were given up is freed, so CVODES must no longer know it. */
START_TEST(after_sensitivities_that_lacked_memory_the_states_go_on) {
  const CPEquations model = slider_crank_model();
  N_Vector y0 = vector_of(SLIDER_CRANK_N, NULL), *s = N_VCloneVectorArray(NS, y0);
  crank = slider_crank_haug();
  for (int n = 1, failed = 1; failed; n++) {
    sunrealtype t;
    slider_crank_initial(&crank, y0);
    for (int i = 0; i < NS; i++) N_VConst(0.0, s[i]);
    CPIntegrator mem = CPIntegratorCreate("ADAMS", test_context);
    CPMech mech      = create_mech(&model, y0, test_context);
    CPMechSetUserData(mech, &crank);
    CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &message);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y0), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-5, 1.0e-5), CP_SUCCESS);
    const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = &crank.J1, .y0S = s};
    CPSens sens                   = NULL;
    ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, y0, test_context));
    alloc_watch_failing(n);
    const int flag = CPIntegratorSetSens(mem, sens);
    alloc_unwatch();
    failed = alloc_has_failed();
    if (!failed) ck_assert_int_eq(flag, CP_SUCCESS);
    else ck_assert(flag == CP_MEM_FAIL || flag == CV_MEM_FAIL); /* of cpodes, or of CVODES */
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y0, &t, CV_ONE_STEP), CP_SUCCESS);
    CPSensFree(&sens);
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
    ck_assert_int_lt(n, ENOUGH);
  }
  N_VDestroyVectorArray(s, NS);
  N_VDestroy(y0);
}
END_TEST

/* ---- mechanical systems without an integrator ---- */

static int of_time(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = 1.0 + t;
  return 0;
}

/* With a full motion, derivatives are differences of the whole solution. */
enum { FORWARD, WITH_MOTION, ADJOINT, MECHANICAL };

static int derive(CPMech mech, N_Vector y, N_Vector *v, int which) {
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = &pendulum.L};
  sunrealtype one[1]            = {1.0}, lfp[1];
  return which == ADJOINT ? CPMechVjp(mech, 0.0, y, &parameters, v[0], v[1], lfp)
                          : CPMechJvp(mech, 0.0, y, &parameters, v[0], one, v[1], NULL);
}

/* Each call can be repeated at once. */
START_TEST(derivatives_of_mechanisms_that_lack_memory_say_so) {
  const CPMotion by = {.kind = CP_MOTION_FULL, .g = of_time, .step = 1.0e-3};
  CPEquations model = pendulum_model();
  pendulum          = (Pendulum){.L = 1.0, .g = 9.81};
  N_Vector y        = VECTOR(0.6, -0.8, 0.8, 0.6), v[2];
  if (_i == WITH_MOTION) model.motions = &by, model.nmotions = 1;
  for (int i = 0; i < 2; i++) v[i] = vector_copy(y);
  int failed = 1;
  for (int n = 1; failed; n++) {
    CPMech mech = create_mech(&model, y, test_context);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &message), CP_SUCCESS);
    ck_assert_int_eq(CPMechSetUserData(mech, &pendulum), CP_SUCCESS);
    alloc_watch_failing(n);
    const int flag = derive(mech, y, v, _i);
    alloc_unwatch();
    failed = alloc_has_failed();
    ck_assert_msg(flag == (failed ? CP_MEM_FAIL : CP_SUCCESS), "allocation %d: %d, %s", n, flag,
                  message.text);
    const int again = derive(mech, y, v, _i);
    ck_assert_msg(again == CP_SUCCESS, "after allocation %d: %d, %s", n, again, message.text);
    CPMechFree(&mech);
  }
  N_VDestroy(y);
  for (int i = 0; i < 2; i++) N_VDestroy(v[i]);
}
END_TEST

TEST_SUITE(allocation) {
  Suite *suite = suite_create("Memory of sensitivities");
  TCase *tc    = tcase_create("allocation");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, stepping_allocates_nothing, 0, ALL_METHODS);
  tcase_add_loop_test(tc, every_failed_allocation_is_told_and_leaves_nothing, 0, 6);
  tcase_add_test(tc, after_sensitivities_that_lacked_memory_the_states_go_on);
  tcase_add_loop_test(tc, derivatives_of_mechanisms_that_lack_memory_say_so, 0, MECHANICAL);
  suite_add_tcase(suite, tc);
  return suite;
}
