/* Bad input: each case has its own code and a message that names argument, rule and value. The
 * integrator survives callbacks that fail once. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <stdio.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static Run run;

static void setup(void) { run_open(&run, ADAMS_FIXED_POINT, 1.0e-6); }

static void teardown(void) { run_close(&run); }

/* ---- arguments ---- */

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
  ck_assert_int_eq(CPIntegratorSetProjector(NULL, run.P), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(NULL, run.inner), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetProjFrequency(NULL, 1, 0), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetErrEst(NULL, CP_ERREST_PROJECTED), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetMaxCorrection(NULL, 1.0), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetProjOutput(NULL, SUNTRUE), CP_MEM_NULL);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(NULL, NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorCalcIC(NULL, y), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorEvolve(NULL, 1.0, y, &t, CV_NORMAL), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorGetDky(NULL, 0.0, 0, y), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorGetEstLocalErrors(NULL, y), CP_MEM_NULL);
  ck_assert_int_eq(integrator_counters(NULL, &stats), CP_MEM_NULL);
  ck_assert_int_eq(CPObjectPrintStats(NULL, stdout, SUN_OUTPUTFORMAT_TABLE), CP_MEM_NULL);
  ck_assert_ptr_null(CPIntegratorGetCVodeMem(NULL));
  CPIntegratorFree(NULL);
  CPIntegratorFree(&none);
  ck_assert_ptr_null(CPIntegratorCreate("BDF", NULL));
  ck_assert_ptr_null(CPIntegratorCreate("", test_context));
  ck_assert_ptr_null(CPIntegratorCreate("bdf3", test_context));
}
END_TEST

/* A refused call changes nothing: the run after it equals a run without it to the last bit. */
#define refuse(call, expected, ...)           \
  do {                                        \
    run.log.count = 0;                        \
    ck_assert_flag(&run, call, expected);     \
    ck_assert_int_eq(run.log.count, 1);       \
    ck_assert_int_eq(run.log.code, expected); \
    ck_assert_message(&run, __VA_ARGS__);     \
  } while (0)

/* For each operation that a solver may lack */
START_TEST(solvers_without_an_operation_are_refused) {
  SUNNonlinearSolver inner = SUNNonlinSol_FixedPoint(run.y, 0, test_context);
  if (_i == 0) inner->ops->gettype = NULL;
  if (_i == 1) inner->ops->solve = NULL;
  if (_i == 2) inner->ops->setsysfn = NULL;
  if (_i == 3) inner->ops->setctestfn = NULL;
  refuse(CPIntegratorSetNonlinearSolver(run.mem, inner), CP_ILL_INPUT, "inner", "setsysfn");
  SUNNonlinSolFree(inner);
}
END_TEST

START_TEST(bad_arguments_are_named_with_rule_and_value) {
  N_Vector longer = vector_of(PENDULUM_N + 1, NULL), bad = vector_copy(run.y),
           y               = vector_copy(run.y);
  N_Vector negative        = VECTOR(1.0e-6, -1.0e-6, 1.0e-6, 1.0e-6),
           nan             = VECTOR(1.0e-6, NAN, 1.0e-6, 1.0e-6);
  SUNNonlinearSolver empty = SUNNonlinSolNewEmpty(test_context);
  Run other;
  sunrealtype t;
  run_open(&other, run.method, run.tol);
  entries(bad)[2]      = NAN;
  CPProjector longer_P = projector_of_user(rod_projection, NULL, longer);

  refuse(CPIntegratorInit(run.mem, world_rhs, 0.0, y), CP_ILL_INPUT, "CPIntegratorReInit");
  refuse(CPIntegratorReInit(run.mem, 0.0, NULL), CP_ILL_INPUT, "y0", "NULL");
  refuse(CPIntegratorReInit(run.mem, 0.0, longer), CP_ILL_INPUT, "y0", "length", "4", "5");
  refuse(CPIntegratorReInit(run.mem, 0.0, bad), CP_ILL_INPUT, "y0", "finite", "2");
  refuse(CPIntegratorReInit(run.mem, NAN, y), CP_ILL_INPUT, "t0", "finite", "nan");
  refuse(CPIntegratorSStolerances(run.mem, -1.0e-6, 1.0e-6), CP_ILL_INPUT, "reltol", ">= 0",
         "-1e-06");
  refuse(CPIntegratorSStolerances(run.mem, NAN, 1.0e-6), CP_ILL_INPUT, "reltol", "finite", "nan");
  refuse(CPIntegratorSStolerances(run.mem, INFINITY, 1.0e-6), CP_ILL_INPUT, "reltol", "finite",
         "inf");
  refuse(CPIntegratorSStolerances(run.mem, 1.0e-6, -3.0), CP_ILL_INPUT, "abstol", ">= 0", "-3");
  refuse(CPIntegratorSStolerances(run.mem, 1.0e-6, NAN), CP_ILL_INPUT, "abstol", "finite", "nan");
  refuse(CPIntegratorSStolerances(run.mem, 1.0e-6, INFINITY), CP_ILL_INPUT, "abstol", "finite",
         "inf");
  refuse(CPIntegratorSVtolerances(run.mem, 1.0e-6, NULL), CP_ILL_INPUT, "abstol", "NULL");
  refuse(CPIntegratorSVtolerances(run.mem, 1.0e-6, longer), CP_ILL_INPUT, "abstol", "length", "4",
         "5");
  refuse(CPIntegratorSVtolerances(run.mem, 1.0e-6, negative), CP_ILL_INPUT, "abstol", ">= 0",
         "-1e-06");
  refuse(CPIntegratorSVtolerances(run.mem, 1.0e-6, nan), CP_ILL_INPUT, "abstol", "finite");
  refuse(CPIntegratorSVtolerances(run.mem, -1.0, negative), CP_ILL_INPUT, "reltol", "-1");
  refuse(CPIntegratorWFtolerances(run.mem, NULL), CP_ILL_INPUT, "efun", "NULL");
  refuse(CPIntegratorSetProjector(run.mem, longer_P), CP_ILL_INPUT, "P", "length", "4", "5");
  refuse(CPIntegratorSetNonlinearSolver(run.mem, empty), CP_ILL_INPUT, "inner", "setsysfn");
  refuse(CPIntegratorSetProjFrequency(run.mem, -1, 0), CP_ILL_INPUT, "nsteps", "positive", "-1");
  refuse(CPIntegratorSetErrEst(run.mem, (CPErrEst)17), CP_ILL_INPUT, "mode", "CP_ERREST", "17");
  refuse(CPIntegratorSetMaxCorrection(run.mem, -1.0), CP_ILL_INPUT, "wrms", "positive", "-1");
  refuse(CPIntegratorSetMaxCorrection(run.mem, NAN), CP_ILL_INPUT, "wrms", "positive", "nan");
  refuse(CPIntegratorGetEstLocalErrors(run.mem, y), CP_NO_INIT, "step");
  refuse(CPIntegratorGetEstLocalErrors(run.mem, NULL), CP_ILL_INPUT, "ele", "NULL");
  refuse(CPIntegratorGetDky(run.mem, 0.0, 0, NULL), CP_ILL_INPUT, "dky", "NULL");
  refuse(CPIntegratorGetDky(run.mem, 0.0, 0, longer), CP_ILL_INPUT, "dky", "4", "5");
  refuse(CPObjectPrintStats(CP_OBJECT(run.mem), NULL, SUN_OUTPUTFORMAT_TABLE), CP_ILL_INPUT, "out",
         "NULL");
  refuse(CPObjectPrintStats(CP_OBJECT(run.mem), stdout, (SUNOutputFormat)99), CP_ILL_INPUT, "fmt",
         "99");
  refuse(CPIntegratorCalcIC(run.mem, longer), CP_ILL_INPUT, "y0", "4", "5");
  refuse(CPIntegratorEvolve(run.mem, NAN, y, &t, CV_NORMAL), CP_ILL_INPUT, "tout", "finite", "nan");
  refuse(CPIntegratorEvolve(run.mem, 1.0, NULL, &t, CV_NORMAL), CP_ILL_INPUT, "yout", "NULL");
  refuse(CPIntegratorEvolve(run.mem, 1.0, y, NULL, CV_NORMAL), CP_ILL_INPUT, "tret", "NULL");
  refuse(CPIntegratorEvolve(run.mem, 1.0, longer, &t, CV_NORMAL), CP_ILL_INPUT, "yout", "length",
         "4", "5");
  refuse(CPIntegratorEvolve(run.mem, 1.0, y, &t, 9), CP_ILL_INPUT, "itask", "CV_ONE_STEP", "9");

  ck_assert_success(&run, CPIntegratorSetMaxCorrection(run.mem, 0.0)); /* the default */

  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_success(&other, run_to(&other, 1.0));
  ck_assert_int_eq(same_bits(run.y, other.y), 1);
  run_step(&run);
  refuse(CPIntegratorGetEstLocalErrors(run.mem, longer), CP_ILL_INPUT, "ele", "length", "4", "5");
  run_close(&other);
  CPProjectorFree(&longer_P);
  SUNNonlinSolFreeEmpty(empty);
  N_VDestroy(longer);
  N_VDestroy(bad);
  N_VDestroy(y);
  N_VDestroy(negative);
  N_VDestroy(nan);
}
END_TEST

START_TEST(before_init_calls_are_refused) {
  sunrealtype t;
  N_Vector longer = vector_of(PENDULUM_N + 1, NULL), nothing = vector_copy(run.y);
  run_close(&run);
  run_create(&run, ADAMS_FIXED_POINT, 1.0e-6);
  entries(nothing)[1] = INFINITY;
  refuse(CPIntegratorEvolve(run.mem, 1.0, run.y, &t, CV_NORMAL), CP_NO_INIT, "CPIntegratorInit");
  refuse(CPIntegratorReInit(run.mem, 0.0, run.y), CP_NO_INIT, "CPIntegratorInit");
  refuse(CPIntegratorCalcIC(run.mem, NULL), CP_NO_INIT, "CPIntegratorInit");
  refuse(CPIntegratorGetDky(run.mem, 0.0, 0, run.y), CP_NO_INIT, "CPIntegratorInit");
  refuse(CPIntegratorGetEstLocalErrors(run.mem, run.y), CP_NO_INIT, "CPIntegratorInit");
  refuse(CPIntegratorCalcIC(run.mem, run.y), CP_NO_INIT, "CPIntegratorInit");
  refuse(CPIntegratorInit(run.mem, NULL, 0.0, run.y), CP_ILL_INPUT, "f", "NULL");
  refuse(CPIntegratorInit(run.mem, world_rhs, 0.0, NULL), CP_ILL_INPUT, "y0", "NULL");
  refuse(CPIntegratorInit(run.mem, world_rhs, 0.0, nothing), CP_ILL_INPUT, "y0", "finite", "1");
  refuse(CPIntegratorInit(run.mem, world_rhs, INFINITY, run.y), CP_ILL_INPUT, "t0", "finite", "inf");
  /* a projector that was given before determines the length of y0 */
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, run.P));
  refuse(CPIntegratorInit(run.mem, world_rhs, 0.0, longer), CP_ILL_INPUT, "y0", "length", "4", "5");
  ck_assert_success(&run, CPIntegratorInit(run.mem, world_rhs, 0.0, run.y));
  refuse(CPIntegratorEvolve(run.mem, 1.0, run.y, &t, CV_NORMAL), CP_NO_INIT, "tolerances");
  N_VDestroy(longer);
  N_VDestroy(nothing);
}
END_TEST

/* Tolerances of a length other than the state's, given before CPIntegratorInit. */
START_TEST(tolerances_of_another_length_are_found_at_init) {
  N_Vector longer = vector_of(PENDULUM_N + 1, NULL);
  N_VConst(1.0e-6, longer);
  run_close(&run);
  run_create(&run, ADAMS_FIXED_POINT, 1.0e-6);
  ck_assert_success(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, longer));
  refuse(CPIntegratorInit(run.mem, world_rhs, 0.0, run.y), CP_ILL_INPUT, "abstol", "4", "5");
  N_VDestroy(longer);
}
END_TEST

/* A weight that is not positive: a component at zero with abstol zero. */
START_TEST(a_weight_that_is_not_positive_is_an_error) {
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-6, 0.0));
  const int flag = run_to(&run, 1.0);
  ck_assert(flag == CP_ILL_INPUT || flag == CV_ILL_INPUT);
  ck_assert_message(&run, "weight");
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-6, 1.0e-6));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
}
END_TEST

/* For tolerances of 1e200 the weights are too small, since the inverse metric is 1 over their
 * squares; for 1e-310 they are infinite. */
START_TEST(tolerances_beyond_all_numbers_are_errors) {
  for (int k = 0; k < 2; k++) {
    run_close(&run);
    run_open(&run, ADAMS_FIXED_POINT, 1.0e-6);
    N_VConst(0.0, run.y);
    entries(run.y)[1] = -1.0; /* at rest */
    ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, run.y));
    ck_assert_success(&run,
                      CPIntegratorSStolerances(run.mem, k ? 0.0 : 1.0e-6, k ? 1.0e-310 : 1.0e200));
    ck_assert_flag(&run, run_to(&run, 1.0), CP_ILL_INPUT);
    ck_assert_message(&run, "ewt", k ? "finite" : "at least 1e-153");
    ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-6, 1.0e-6));
    ck_assert_success(&run, run_to(&run, 1.0));
  }
}
END_TEST

/* Constraints that change within a step: the rod becomes longer by half. Such an output is the
 * value of the polynomial. */
START_TEST(an_output_far_from_changed_constraints_is_told) {
  N_Vector before = vector_copy(run.y), v = vector_copy(run.y);
  for (int k = 0; k < 5; k++) run_step(&run);
  sunrealtype h;
  CVodeGetLastStep(run.cvode_mem, &h);
  ck_assert_success(&run, CVodeGetDky(run.cvode_mem, run.t - 0.5 * h, 0, before));
  run.world.p.L = 1.5;
  ck_assert_flag(&run, CPIntegratorGetDky(run.mem, run.t - 0.5 * h, 0, v), CP_OUTPUT_PROJ_FAIL);
  ck_assert_message(&run, "unprojected", "CPIntegratorSetMaxCorrection", "CPIntegratorReInit");
  ck_assert(same_bits(v, before));
  run.world.p.L = 1.0;
  ck_assert_success(&run, CPIntegratorGetDky(run.mem, run.t - 0.5 * h, 0, v));
  N_VDestroy(before);
  N_VDestroy(v);
}
END_TEST

START_TEST(a_run_does_not_turn_round) {
  sunrealtype t;
  for (int sign = -1; sign <= 1; sign += 2) {
    ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, run.y));
    ck_assert_success(&run, CPIntegratorEvolve(run.mem, sign, run.y, &t, CV_ONE_STEP));
    ck_assert_flag(&run, CPIntegratorEvolve(run.mem, -sign, run.y, &t, CV_ONE_STEP), CP_ILL_INPUT);
    ck_assert_message(&run, "other side of the start", sign > 0 ? "larger t" : "smaller t");
  }
}
END_TEST

START_TEST(counters_that_cannot_be_written_are_reported) {
  FILE *full = fopen("/dev/full", "w");
  if (!full) return;
  setvbuf(full, NULL, _IONBF, 0);
  for (int format = 0; format < 2; format++) {
    ck_assert_flag(&run, CPObjectPrintStats(CP_OBJECT(run.mem), full, (SUNOutputFormat)format),
                   CP_ILL_INPUT);
    ck_assert_message(&run, "writing to out failed");
  }
  fclose(full);
}
END_TEST

/* ---- callbacks that fail once ---- */

static void f_once(Fault fault) { run.world.f = fault; }
static void c_once(Fault fault) { run.world.c = fault; }
static void jac_once(Fault fault) {
  ck_assert_success(&run, CPProjectorSetUserData(run.P, &run.world));
  run.world.jac = fault;
}

static const struct {
  const char *name;
  void (*arrange)(Fault);
} callbacks[] = {{"f", f_once}, {"c", c_once}, {"Jacobian", jac_once}};

/* Recoverable, NaN, Inf, in the middle of a run. One step is repeated, and nothing else changes. */
START_TEST(a_callback_that_fails_once_costs_an_attempt) {
  const Fault faults[] = {
      {0.3, 1, 1, 0.0}, {0.3, 1, 0, NAN}, {0.3, 1, 0, INFINITY}, {0.3, 1, 0, -INFINITY}};
  const int which = _i % 3, fault = _i / 3 % 4, method = _i / 12;
  long int ncfn, netf;
  run_close(&run);
  run_open(&run, methods[method], 1.0e-6);
  callbacks[which].arrange(faults[fault]);
  run_until(&run, 1.0);
  ck_assert_good(&run);
  ck_assert_success(&run, CVodeGetNumStepSolveFails(run.cvode_mem, &ncfn));
  ck_assert_success(&run, CVodeGetNumErrTestFails(run.cvode_mem, &netf));
  ck_assert_msg(ncfn <= 1, "%s, %s: %ld failures", run.method.name, callbacks[which].name, ncfn);
}
END_TEST

/* ---- at the start ---- */

static const struct {
  const char *name;
  int which; /* the callback */
  Fault fault;
  int code;
  const char *words[2];
} starts[] = {
    {"f recoverable", 0, {-1.0, -1, 1, 0.0}, CV_FIRST_RHSFUNC_ERR, {"", ""}},
    {"f fatal", 0, {-1.0, -1, -1, 0.0}, CV_RHSFUNC_FAIL, {"", ""}},
    {"f NaN", 0, {-1.0, -1, 0, NAN}, CP_RHS_NONFINITE, {"NaN", "component 0"}},
    {"f Inf", 0, {-1.0, -1, 0, INFINITY}, CP_RHS_NONFINITE, {"Inf", "component 0"}},
    {"c recoverable", 1, {-1.0, -1, 1, 0.0}, CP_FIRST_USERFUNC_ERR, {"t = 0", "constraint function"}},
    {"c fatal", 1, {-1.0, -1, -1, 0.0}, CP_USERFUNC_FAIL, {"t = 0", "constraint function"}},
    {"c NaN", 1, {-1.0, -1, 0, NAN}, CP_CNSTR_NONFINITE, {"t = 0", "constraint 0"}},
    {"c Inf", 1, {-1.0, -1, 0, INFINITY}, CP_CNSTR_NONFINITE, {"t = 0", "constraint 0"}},
    {"Jacobian recoverable", 2, {-1.0, -1, 1, 0.0}, CP_FIRST_USERFUNC_ERR, {"t = 0", "Jacobian"}},
    {"Jacobian fatal", 2, {-1.0, -1, -1, 0.0}, CP_USERFUNC_FAIL, {"t = 0", "Jacobian"}},
    {"Jacobian NaN", 2, {-1.0, -1, 0, NAN}, CP_CNSTRJAC_NONFINITE, {"t = 0", "Jacobian"}},
    {"Jacobian wrong", 2, {-1.0, -1, 0, 3.0}, CP_CNSTRJAC_WRONG, {"entry (0, 0)", "3"}},
};
enum { N_STARTS = sizeof starts / sizeof starts[0], N_METHODS = 4 };

/* CVODES may first warn about a tiny step. */
static void errors_only(int code, const char *function, const char *msg, void *data) {
  if (code < 0) message_log(code, function, msg, data);
}

START_TEST(a_callback_that_fails_at_the_start_is_told_apart) {
  const int k = _i / N_METHODS;
  run_close(&run);
  run_open(&run, methods[_i % N_METHODS], 1.0e-6);
  N_Vector begin = vector_copy(run.y);
  callbacks[starts[k].which].arrange(starts[k].fault);
  ck_assert_success(&run, CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), errors_only, &run.log));
  const int flag = run_to(&run, 1.0);
  ck_assert_msg(flag == starts[k].code, "%s, %s: %d, not %d: %s", run.method.name, starts[k].name,
                flag, starts[k].code, run.log.text);
  ck_assert_int_eq(run.log.count, 1);
  ck_assert_message(&run, starts[k].words[0], starts[k].words[1]);
  ck_assert_int_eq(same_bits(run.y, begin), 1);
  run.world.f = run.world.c = run.world.jac = (Fault){0};
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
  N_VDestroy(begin);
}
END_TEST

/* A Jacobian that becomes wrong: with the opposite sign every correction doubles the residual. */
static int reversed;
static int reversing_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  const int flag = world_jacobian(t, y, c, G, user_data);
  sunrealtype *g = SUNDenseMatrix_Data(G);
  for (int k = 0; reversed && t > 0.3 && k < PENDULUM_M * PENDULUM_N; k++) g[k] = -g[k];
  return flag;
}

START_TEST(a_jacobian_that_becomes_wrong_is_named) {
  run_close(&run);
  run_open(&run, methods[_i], 1.0e-6);
  SUNMatrix G = SUNDenseMatrix(PENDULUM_M, PENDULUM_N, test_context);
  ck_assert_success(&run, CPProjectorSetJacFn(run.P, reversing_jacobian, G));
  SUNMatDestroy(G);
  reversed = 1;
  ck_assert_flag(&run, run_to(&run, 1.0), CP_CNSTRJAC_WRONG);
  ck_assert_message(&run, "entry (", "constraint Jacobian");
  ck_assert_good(&run);
  reversed = 0;
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
}
END_TEST

/* ---- user functions ---- */

static int user_flag;
static sunrealtype user_value;
static int bad_projection(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps,
                          void *user_data) {
  rod_projection(t, yhat, y, eps, user_data);
  if (t > 0.3 && user_value != 0.0) entries(y)[0] = user_value;
  return t > 0.3 ? user_flag : 0;
}
static int bad_error_projection(sunrealtype t, N_Vector y, N_Vector err, void *user_data) {
  rod_error_projection(t, y, err, user_data);
  if (t > 0.3 && user_value != 0.0) entries(err)[0] = user_value;
  return t > 0.3 ? user_flag : 0;
}
static int bad_violation(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data) {
  (void)y, (void)user_data;
  *norm = t > 0.3 && user_value != 0.0 ? user_value : 0.0;
  return t > 0.3 ? user_flag : 0;
}

static const struct {
  int which; /* 0 projection, 1 error projection, 2 violation */
  int flag;
  sunrealtype value;
  int code;
  const char *word;
} user_failures[] = {
    {0, -1, 0.0, CP_USERFUNC_FAIL, "projection function"},
    {0, 1, 0.0, CP_REPTD_USERFUNC_ERR, "projection function"},
    {0, 0, NAN, CP_PROJ_NONFINITE, "projection function"},
    {1, -1, 0.0, CP_USERFUNC_FAIL, "error projection"},
    {1, 1, 0.0, CP_REPTD_USERFUNC_ERR, "error projection"},
    {1, 0, NAN, CP_PROJ_NONFINITE, "error projection"},
    {2, -1, 0.0, CP_USERFUNC_FAIL, "violation function"},
    {2, 1, 0.0, CP_USERFUNC_FAIL, "violation function"},
    {2, 0, NAN, CP_USERFUNC_FAIL, "violation function"},
    {2, 0, -1.0, CP_USERFUNC_FAIL, "violation function"},
};
enum { N_USER_FAILURES = sizeof user_failures / sizeof user_failures[0] };

START_TEST(failures_of_user_functions_have_their_codes) {
  const int k = _i / N_METHODS, which = user_failures[k].which;
  run_close(&run);
  run_open(&run, methods[_i % N_METHODS], 1.0e-6);
  const CPUserProjection functions = {sizeof functions, which == 0 ? bad_projection : rod_projection,
                                      which == 1 ? bad_error_projection : NULL, NULL,
                                      which == 2 ? bad_violation : NULL};
  CPProjector user                 = CPProjectorCreateUser(&functions, run.y, test_context);
  user_flag                        = user_failures[k].flag;
  user_value                       = user_failures[k].value;
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  if (which == 2) { ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 1, 1)); }
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, user));
  const int flag = run_to(&run, 1.0);
  ck_assert_msg(flag == user_failures[k].code, "%s, case %d: %d, not %d: %s", run.method.name, k,
                flag, user_failures[k].code, run.log.text);
  ck_assert_message(&run, user_failures[k].word, "t = 0.3");
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
  user_flag  = 0;
  user_value = 0.0;
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
  CPIntegratorFree(&run.mem);
  CPProjectorFree(&user);
}
END_TEST

TEST_SUITE(errors) {
  Suite *suite = suite_create("bad input");
  TCase *tc    = tcase_create("errors");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, null_objects_are_refused);
  tcase_add_test(tc, bad_arguments_are_named_with_rule_and_value);
  tcase_add_loop_test(tc, solvers_without_an_operation_are_refused, 0, 4);
  tcase_add_test(tc, before_init_calls_are_refused);
  tcase_add_test(tc, tolerances_of_another_length_are_found_at_init);
  tcase_add_test(tc, a_weight_that_is_not_positive_is_an_error);
  tcase_add_test(tc, tolerances_beyond_all_numbers_are_errors);
  tcase_add_test(tc, counters_that_cannot_be_written_are_reported);
  tcase_add_test(tc, a_run_does_not_turn_round);
  tcase_add_test(tc, an_output_far_from_changed_constraints_is_told);
  tcase_add_loop_test(tc, a_callback_that_fails_once_costs_an_attempt, 0, 48);
  tcase_add_loop_test(tc, a_callback_that_fails_at_the_start_is_told_apart, 0, N_STARTS * N_METHODS);
  tcase_add_loop_test(tc, a_jacobian_that_becomes_wrong_is_named, 0, N_METHODS);
  tcase_add_loop_test(tc, failures_of_user_functions_have_their_codes, 0,
                      N_USER_FAILURES * N_METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
