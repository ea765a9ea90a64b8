/* Bad input: each case has its own code and a message that names argument, rule and value. A
 * refused call changes nothing. */
#include "stepping/onestep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <stdio.h>

static OneRun run;

static void setup(void) { one_open(&run, "DOP853", 1.0e-6); }

static void teardown(void) { one_close(&run); }

START_TEST(null_objects_are_refused) {
  N_Vector y = run.y;
  sunrealtype t;
  IntegratorCounters stats;
  CPIntegrator none = NULL;
  ck_assert_int_eq(CPIntegratorInit(NULL, world_rhs, 0.0, y), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorReInit(NULL, 0.0, y), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSStolerances(NULL, 1.0e-6, 1.0e-6), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSVtolerances(NULL, 1.0e-6, y), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorWFtolerances(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetUserData(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetProjector(NULL, run.P), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetErrEst(NULL, CP_ERREST_PROJECTED), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetMaxCorrection(NULL, 1.0), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetProjOutput(NULL, SUNTRUE), CP_MEM_NULL);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetInitStep(NULL, 0.1), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetMinStep(NULL, 0.1), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetMaxStep(NULL, 0.1), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetFixedStep(NULL, 0.1), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(NULL, 1), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetStopTime(NULL, 1.0), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetStopTime(NULL, INFINITY), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorCalcIC(NULL, y), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorEvolve(NULL, 1.0, y, &t, CV_NORMAL), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorGetDky(NULL, 0.0, 0, y), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorGetEstLocalErrors(NULL, y), CP_MEM_NULL);
  ck_assert_int_eq(integrator_counters(NULL, &stats), CP_MEM_NULL);
  ck_assert_int_eq(CPObjectPrintStats(NULL, stdout, SUN_OUTPUTFORMAT_TABLE), CP_MEM_NULL);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "must not be NULL");
  ck_assert_int_eq(CPIntegratorSetUserData(NULL, &stats), CP_MEM_NULL);
  CPIntegratorFree(NULL);
  CPIntegratorFree(&none);
}
END_TEST

START_TEST(bad_arguments_are_named_with_rule_and_value) {
  N_Vector longer = vector_of(PENDULUM_N + 1, NULL), bad = vector_copy(run.y),
           y        = vector_copy(run.y);
  N_Vector negative = VECTOR(1.0e-6, -1.0e-6, 1.0e-6, 1.0e-6),
           nan      = VECTOR(1.0e-6, NAN, 1.0e-6, 1.0e-6);
  OneRun other;
  sunrealtype t;
  one_open(&other, run.method, 1.0e-6);
  entries(bad)[2]      = NAN;
  CPProjector longer_P = projector_of_user(rod_projection, NULL, longer);

  refused(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, y), CP_ILL_INPUT, "CPIntegratorReInit");
  refused(&run, CPIntegratorReInit(run.mem, 0.0, NULL), CP_ILL_INPUT, "y0", "NULL");
  refused(&run, CPIntegratorReInit(run.mem, 0.0, longer), CP_ILL_INPUT, "y0", "length", "4", "5");
  refused(&run, CPIntegratorReInit(run.mem, 0.0, bad), CP_ILL_INPUT, "y0", "finite", "2");
  refused(&run, CPIntegratorReInit(run.mem, NAN, y), CP_ILL_INPUT, "t0", "finite", "nan");
  refused(&run, CPIntegratorSStolerances(run.mem, -1.0e-6, 1.0e-6), CP_ILL_INPUT, "reltol",
          "-1e-06");
  refused(&run, CPIntegratorSStolerances(run.mem, 1.0e-6, NAN), CP_ILL_INPUT, "abstol", "nan");
  refused(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, NULL), CP_ILL_INPUT, "abstol", "NULL");
  refused(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, longer), CP_ILL_INPUT, "abstol", "4", "5");
  refused(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, negative), CP_ILL_INPUT, "abstol", ">= 0",
          "-1e-06");
  refused(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, nan), CP_ILL_INPUT, "abstol", "finite");
  refused(&run, CPIntegratorWFtolerances(run.mem, NULL), CP_ILL_INPUT, "efun", "NULL");
  refused(&run, CPIntegratorSetProjector(run.mem, longer_P), CP_ILL_INPUT, "P", "length", "4", "5");
  refused(&run, CPIntegratorSetErrEst(run.mem, (CPErrEst)17), CP_ILL_INPUT, "mode", "17");
  refused(&run, CPIntegratorSetMaxCorrection(run.mem, -1.0), CP_ILL_INPUT, "wrms", "-1");
  refused(&run, CPIntegratorSetMaxCorrection(run.mem, NAN), CP_ILL_INPUT, "wrms", "nan");
  refused(&run, CPIntegratorSetInitStep(run.mem, INFINITY), CP_ILL_INPUT, "h", "finite", "inf");
  refused(&run, CPIntegratorSetMinStep(run.mem, INFINITY), CP_ILL_INPUT, "h", "finite", "inf");
  refused(&run, CPIntegratorSetMinStep(run.mem, -0.1), CP_ILL_INPUT, "h", ">= 0", "-0.1");
  refused(&run, CPIntegratorSetMaxStep(run.mem, NAN), CP_ILL_INPUT, "h", ">= 0", "nan");
  refused(&run, CPIntegratorSetMaxStep(run.mem, -1.0), CP_ILL_INPUT, "h", ">= 0", "-1");
  refused(&run, CPIntegratorSetFixedStep(run.mem, -0.1), CP_ILL_INPUT, "h", ">= 0", "-0.1");
  refused(&run, CPIntegratorSetStopTime(run.mem, NAN), CP_ILL_INPUT, "tstop", "finite", "nan");
  refused(&run, CPIntegratorGetEstLocalErrors(run.mem, y), CP_NO_INIT, "step");
  refused(&run, CPIntegratorGetEstLocalErrors(run.mem, NULL), CP_ILL_INPUT, "ele", "NULL");
  refused(&run, CPIntegratorGetDky(run.mem, 0.0, 0, y), CP_NO_INIT, "step");
  refused(&run, CPIntegratorGetDky(run.mem, 0.0, 0, NULL), CP_ILL_INPUT, "dky", "NULL");
  refused(&run, CPIntegratorGetDky(run.mem, 0.0, 0, longer), CP_ILL_INPUT, "dky", "4", "5");
  refused(&run, CPObjectPrintStats(CP_OBJECT(run.mem), NULL, SUN_OUTPUTFORMAT_TABLE), CP_ILL_INPUT,
          "out", "NULL");
  refused(&run, CPObjectPrintStats(CP_OBJECT(run.mem), stdout, (SUNOutputFormat)99), CP_ILL_INPUT,
          "fmt", "99");
  refused(&run, CPIntegratorCalcIC(run.mem, longer), CP_ILL_INPUT, "y0", "4", "5");
  refused(&run, CPIntegratorEvolve(run.mem, NAN, y, &t, CV_NORMAL), CP_ILL_INPUT, "tout", "nan");
  refused(&run, CPIntegratorEvolve(run.mem, 1.0, NULL, &t, CV_NORMAL), CP_ILL_INPUT, "yout", "NULL");
  refused(&run, CPIntegratorEvolve(run.mem, 1.0, y, NULL, CV_NORMAL), CP_ILL_INPUT, "tret", "NULL");
  refused(&run, CPIntegratorEvolve(run.mem, 1.0, longer, &t, CV_NORMAL), CP_ILL_INPUT, "yout", "4",
          "5");
  refused(&run, CPIntegratorEvolve(run.mem, 1.0, y, &t, 9), CP_ILL_INPUT, "itask", "CV_ONE_STEP",
          "9");
  ck_assert_done(&run, CPIntegratorEvolve(run.mem, 0.0, y, &t, CV_NORMAL)); /* takes no step */
  ck_assert_int_eq(run.world.f_calls + run.world.c_calls, 0);

  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_done(&other, one_to(&other, 1.0));
  ck_assert_int_eq(same_bits(run.y, other.y), 1);
  one_close(&other);
  CPProjectorFree(&longer_P);
  N_VDestroy(longer);
  N_VDestroy(bad);
  N_VDestroy(y);
  N_VDestroy(negative);
  N_VDestroy(nan);
}
END_TEST

static int height(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = g[1] = entries(y)[1];
  return 0;
}

START_TEST(arguments_of_roots_and_stop_times_are_named) {
  sunrealtype low, high;
  refused(&run, CPIntegratorSetRootDirection(run.mem, (int[]){0, 0}), CP_NO_INIT,
          "CPIntegratorRootInit");
  refused(&run, CPIntegratorRootInit(run.mem, -1, height), CP_ILL_INPUT, "nrtfn = -1");
  refused(&run, CPIntegratorRootInit(run.mem, 2, NULL), CP_ILL_INPUT, "g must not");
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 2, height));
  refused(&run, CPIntegratorSetRootDirection(run.mem, NULL), CP_ILL_INPUT, "rootdir");
  refused(&run, CPIntegratorSetRootDirection(run.mem, (int[]){0, 2}), CP_ILL_INPUT,
          "rootdir[1] = 2");
  refused(&run, CPIntegratorSetRootDirection(run.mem, (int[]){-2, 0}), CP_ILL_INPUT,
          "rootdir[0] = -2");
  refused(&run, CPIntegratorGetRootInfo(run.mem, NULL), CP_ILL_INPUT, "rootsfound");
  refused(&run, CPIntegratorGetRootWindow(run.mem, NULL, &high), CP_ILL_INPUT, "low and high");
  refused(&run, CPIntegratorGetRootWindow(run.mem, &low, NULL), CP_ILL_INPUT, "low and high");
  refused(&run, CPIntegratorGetRootWindow(run.mem, &low, &high), CP_NO_INIT, "root");
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 0, NULL));
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, -1.0)); /* the run may go there */
  refused(&run, one_to(&run, 1.0), CP_ILL_INPUT, "tstop", "-1");
}
END_TEST

START_TEST(statistics_that_cannot_be_written_are_told) {
  FILE *full = fopen("/dev/full", "w");
  if (!full) return;
  setvbuf(full, NULL, _IONBF, 0);
  for (int projects = 0; projects < 2; projects++) {
    ck_assert_done(&run, CPIntegratorSetProjector(run.mem, projects ? run.P : NULL));
    refused(&run, CPObjectPrintStats(CP_OBJECT(run.mem), full, SUN_OUTPUTFORMAT_TABLE),
            CP_ILL_INPUT, "writing to out failed");
    refused(&run, CPObjectPrintStats(CP_OBJECT(run.mem), full, SUN_OUTPUTFORMAT_CSV), CP_ILL_INPUT,
            "writing to out failed");
  }
  fclose(full);
}
END_TEST

/* A run backwards in time also has a direction. */
START_TEST(a_run_does_not_turn_round) {
  sunrealtype t;
  ck_assert_done(&run, CPIntegratorEvolve(run.mem, -1.0, run.y, &t, CV_ONE_STEP));
  refused(&run, CPIntegratorEvolve(run.mem, 1.0, run.y, &t, CV_ONE_STEP), CP_ILL_INPUT, "smaller t");
  ck_assert_done(&run, CPIntegratorReInit(run.mem, 0.0, run.y));
  ck_assert_done(&run, CPIntegratorEvolve(run.mem, 1.0, run.y, &t, CV_ONE_STEP));
  refused(&run, CPIntegratorEvolve(run.mem, -1.0, run.y, &t, CV_ONE_STEP), CP_ILL_INPUT, "larger t");
}
END_TEST

/* A first step has a sign. */
START_TEST(a_first_step_away_from_tout_is_refused) {
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, -0.01));
  refused(&run, one_to(&run, 1.0), CP_ILL_INPUT, "-0.01");
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 0.01));
  ck_assert_done(&run, one_to(&run, 1.0));
}
END_TEST

static int at_rest(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)y, (void)user_data;
  N_VConst(0.0, ydot);
  return 0;
}

/* y' = 0: the first step does not follow from derivatives; the solution equals the start, to the
 * last bit. */
START_TEST(what_does_not_move_takes_few_steps) {
  for (int zero = 0; zero < 2; zero++) {
    N_Vector y = zero ? VECTOR(0.0, 0.0) : VECTOR(1.0, -2.0), start = vector_copy(y);
    sunrealtype t;
    IntegratorCounters stats;
    CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
    ck_assert_int_eq(CPIntegratorInit(mem, at_rest, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-8, 1.0e-8), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
    ck_assert(same_bits(y, start));
    integrator_counters(mem, &stats);
    ck_assert_int_le(stats.nst, 12); /* from 1e-6, growing at most tenfold */
    CPIntegratorFree(&mem);
    N_VDestroy(y);
    N_VDestroy(start);
  }
}
END_TEST

/* Invalid tables, made by hand */
START_TEST(tables_that_are_none_are_refused) {
  for (int wrong = 0; wrong < 9; wrong++) {
    ARKodeButcherTable B = ARKodeButcherTable_Alloc(2, SUNTRUE); /* Heun's method */
    sunrealtype **A = B->A, *b = B->b, *c = B->c;
    B->q = 2, B->p = 1;
    A[1][0] = c[1] = B->d[0] = 1.0;
    b[0] = b[1] = 0.5;
    if (wrong == 1) B->stages = 0;
    if (wrong == 2) B->q = 0;
    if (wrong == 3) B->A = NULL;
    if (wrong == 4) B->b = NULL;
    if (wrong == 5) B->c = NULL;
    if (wrong == 6) B->p = 0;
    if (wrong == 7) B->d[0] = 0.9;
    if (wrong == 8) b[0] = 0.4;
    CPIntegrator mem = CPIntegratorCreateTable(B, test_context);
    ck_assert_msg((mem == NULL) == (wrong > 0), "table %d", wrong);
    CPIntegratorFree(&mem);
    B->stages = 2, B->A = A, B->b = b, B->c = c;
    ARKodeButcherTable_Free(B);
  }
}
END_TEST

static N_Vector_ID of_a_device(N_Vector v) {
  (void)v;
  return SUNDIALS_NVEC_CUSTOM;
}

/* RADAU works on arrays, and its Jacobian is set up at the start. */
#if SUNDIALS_VERSION_MAJOR < 7
static int no_copy(SUNMatrix J, SUNMatrix copy) {
#else
static SUNErrCode no_copy(SUNMatrix J, SUNMatrix copy) {
#endif
  (void)J, (void)copy;
  return -1;
}

START_TEST(a_template_that_cannot_be_copied_is_refused) {
  SUNMatrix J  = SUNDenseMatrix(PENDULUM_N, PENDULUM_N, test_context);
  J->ops->copy = no_copy;
  CPIntegratorFree(&run.mem);
  run.mem = CPIntegratorCreate("RADAU", test_context);
  ck_assert_done(&run, CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &run.log));
  refused(&run, CPIntegratorSetJacFn(run.mem, J, NULL), CP_MEM_FAIL, "template");
  SUNMatDestroy(J);
}
END_TEST

START_TEST(what_RADAU_cannot_do_is_refused) {
  N_Vector far                = vector_copy(run.y);
  SUNMatrix J                 = SUNDenseMatrix(PENDULUM_N, PENDULUM_N, test_context);
  far->ops->nvgetvectorid     = of_a_device;
  far->ops->nvgetarraypointer = NULL;
  refused(&run, CPIntegratorSetJacFn(run.mem, J, NULL), CP_NOT_SUPPORTED, "RADAU does");
  CPIntegratorFree(&run.mem);
  run.mem = CPIntegratorCreate("RADAU", test_context);
  ck_assert_done(&run, CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &run.log));
  ck_assert_done(&run, CPIntegratorSetJacFn(run.mem, J, NULL));
  ck_assert_done(&run, CPIntegratorSetJacFn(run.mem, J, NULL)); /* replaces the first */
  refused(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, far), CP_ILL_INPUT, "y0", "RADAU");
  ck_assert_done(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, run.y));
  SUNMatDestroy(J);
  N_VDestroy(far);
}
END_TEST

START_TEST(before_init_calls_are_refused) {
  sunrealtype t;
  N_Vector longer = vector_of(PENDULUM_N + 1, NULL);
  CPIntegratorFree(&run.mem);
  run.mem = CPIntegratorCreate(NULL, test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &run.log);
  refused(&run, CPIntegratorEvolve(run.mem, 1.0, run.y, &t, CV_NORMAL), CP_NO_INIT,
          "CPIntegratorInit");
  refused(&run, CPIntegratorReInit(run.mem, 0.0, run.y), CP_NO_INIT, "CPIntegratorInit");
  refused(&run, CPIntegratorCalcIC(run.mem, NULL), CP_NO_INIT, "CPIntegratorInit");
  refused(&run, CPIntegratorGetDky(run.mem, 0.0, 0, run.y), CP_NO_INIT, "CPIntegratorInit");
  refused(&run, CPIntegratorGetEstLocalErrors(run.mem, run.y), CP_NO_INIT, "CPIntegratorInit");
  refused(&run, CPIntegratorCalcIC(run.mem, run.y), CP_NO_INIT, "CPIntegratorInit");
  refused(&run, CPIntegratorInit(run.mem, NULL, 0.0, run.y), CP_ILL_INPUT, "f", "NULL");
  refused(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, NULL), CP_ILL_INPUT, "y0", "NULL");
  ck_assert_done(&run, CPIntegratorSetProjector(run.mem, run.P));
  refused(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, longer), CP_ILL_INPUT, "y0", "4", "5");
  ck_assert_done(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, longer));
  refused(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, run.y), CP_ILL_INPUT, "abstol", "4", "5");
  ck_assert_done(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, run.y)); /* which contains zeros */
  ck_assert_done(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, run.y));
  N_VDestroy(longer);
}
END_TEST

START_TEST(tolerances_have_to_be_set) {
  CPIntegratorFree(&run.mem);
  run.mem = CPIntegratorCreate(NULL, test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &run.log);
  ck_assert_done(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, run.y));
  refused(&run, one_to(&run, 1.0), CP_NO_INIT, "CPIntegratorSStolerances");
  ck_assert_int_eq(run.world.f_calls, 0);
}
END_TEST

START_TEST(times_behind_the_last_step_are_refused) {
  for (int i = 0; i < 3; i++) ck_assert_done(&run, one_step(&run));
  const IntegratorCounters s = one_stats(&run);
  ck_assert_done(&run, one_to(&run, s.t - 0.5 * s.hlast)); /* within it */
  refused(&run, one_to(&run, s.t - 1.5 * s.hlast), CP_ILL_INPUT, "tout", "last step");
  ck_assert_double_eq(run.t, s.t);
  ck_assert_done(&run, one_to(&run, s.t + 1.0));
}
END_TEST

/* Missing operations of a vector are reported before they are needed. */
START_TEST(a_vector_without_an_operation_is_refused) {
  N_Vector y          = vector_copy(run.y);
  y->ops->nvlinearsum = NULL;
  refused(&run, CPIntegratorReInit(run.mem, 0.0, y), CP_VECTOROP_ERR, "y0", "N_VLinearSum");
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(bad_input) {
  Suite *suite = suite_create("bad input of one-step methods");
  TCase *tc    = tcase_create("bad input");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, null_objects_are_refused);
  tcase_add_test(tc, bad_arguments_are_named_with_rule_and_value);
  tcase_add_test(tc, before_init_calls_are_refused);
  tcase_add_test(tc, arguments_of_roots_and_stop_times_are_named);
  tcase_add_test(tc, statistics_that_cannot_be_written_are_told);
  tcase_add_test(tc, a_run_does_not_turn_round);
  tcase_add_test(tc, a_first_step_away_from_tout_is_refused);
  tcase_add_test(tc, what_does_not_move_takes_few_steps);
  tcase_add_test(tc, tables_that_are_none_are_refused);
  tcase_add_test(tc, what_RADAU_cannot_do_is_refused);
  tcase_add_test(tc, a_template_that_cannot_be_copied_is_refused);
  tcase_add_test(tc, tolerances_have_to_be_set);
  tcase_add_test(tc, times_behind_the_last_step_are_refused);
  tcase_add_test(tc, a_vector_without_an_operation_is_refused);
  suite_add_tcase(suite, tc);
  return suite;
}
