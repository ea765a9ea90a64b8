/* Failures during a run: each has its code and a message that gives place and reason. The state is
 * the last good one, and the next call continues from there. */
#include "stepping/onestep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>

static OneRun run;

static void setup(void) { one_open(&run, "DOP853", 1.0e-6); }

static void teardown(void) { one_close(&run); }

/* The returned state is the last good one: it is on the manifold, and equals the closed form. */
static void assert_last_good_state(void) {
  ck_assert_double_eq(run.t, one_stats(&run).t);
  ck_assert_double_le(violation_of(&run.world, run.y), 1.0e-5);
  ck_assert_double_le(one_error(&run, run.t, run.y), 1.0e-3);
}

/* ---- survived ---- */

static const Fault once_failing = {0.3, 1, 1, 0.0}, once_nan = {0.3, 1, 0, NAN};

START_TEST(a_recoverable_failure_of_f_has_the_step_retried_smaller) {
  one_close(&run);
  one_open(&run, one_methods[_i / 2], 1.0e-4);
  run.world.f = _i % 2 ? once_nan : once_failing;
  ck_assert_done(&run, one_to(&run, 1.0));
  const IntegratorCounters s = one_stats(&run);
  ck_assert_int_eq(s.nrhsfails, 1);
  ck_assert_int_eq(s.nattempts, s.nst + s.netf + s.nrhsfails + s.nprojfails);
  ck_assert_int_eq(s.nfe, run.world.f_calls);
  ck_assert_double_le(one_error(&run, 1.0, run.y), 0.1);
  ck_assert_int_eq(run.log.count, 0);
}
END_TEST

START_TEST(a_recoverable_failure_of_c_has_the_step_retried_smaller) {
  one_close(&run);
  one_open(&run, one_methods[_i / 2], 1.0e-4);
  run.world.c = _i % 2 ? once_nan : once_failing;
  ck_assert_done(&run, one_to(&run, 0.29));
  /* output would meet the fault, too */
  ck_assert_done(&run, CPIntegratorSetProjOutput(run.mem, SUNFALSE));
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(one_stats(&run).nprojfails, 1);
  ck_assert_int_eq(run.log.count, 0);
}
END_TEST

/* Projections that move the state too far cut the step. */
START_TEST(corrections_above_their_bound_have_the_step_retried_smaller) {
  ck_assert_done(&run, CPIntegratorSetMaxCorrection(run.mem, 0.01));
  ck_assert_done(&run, CPIntegratorSetProjOutput(run.mem, SUNFALSE));
  ck_assert_done(&run, one_to(&run, 1.0));
  const IntegratorCounters s = one_stats(&run);
  ck_assert_int_gt(s.nlargecorr, 0);
  ck_assert_int_eq(s.nlargecorr, s.nprojfails);
  ck_assert_double_le(s.maxcorrection, 0.01);
}
END_TEST

/* ---- warnings ---- */

/* Two constraints, one of which is lost after t = 0.5, when the state becomes so large that
 * roundoff violates the other one. */
static int explosion(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)y, (void)user_data;
  const sunrealtype rate = t > 0.5 ? 1.0e20 : 0.0;
  entries(ydot)[0] = 3.0 * rate, entries(ydot)[1] = rate, entries(ydot)[2] = 0.0;
  return 0;
}

static int lost_constraint(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  entries(c)[0] = entries(y)[0] - 3.0 * entries(y)[1];
  entries(c)[1] = t > 0.5 ? 0.0 : entries(y)[2];
  return 0;
}

/* The attempt to t = 0.8 is projected, and then rejected (except by Fehlberg's method of order 8,
 * whose estimate is zero where f depends on t alone). */
START_TEST(a_rejected_attempt_warns_of_nothing) {
  const sunrealtype tols = 1.0e-6;
  N_Vector y = VECTOR(0.0, 0.0, 0.0), c = VECTOR(0.0, 0.0);
  CPProjector P    = CPProjectorCreate(lost_constraint, y, c, test_context);
  CPIntegrator mem = CPIntegratorCreate(one_methods[_i], test_context);
  MessageLog log   = {0};
  sunrealtype t;
  IntegratorCounters s;
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log);
  ck_assert_int_eq(CPIntegratorInit(mem, explosion, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tols, tols), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetErrEst(mem, CP_ERREST_PROJECTED), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetInitStep(mem, 0.3), CP_SUCCESS); /* its factors have two rows */
  ck_assert_int_eq(CPIntegratorEvolve(mem, 10.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetInitStep(mem, 0.5), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 10.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  integrator_counters(mem, &s);
  ck_assert_int_gt(s.nattempts, s.nst);
  ck_assert_double_le(t, 0.5);
  ck_assert_msg(log.count == 0, "%s: %s", one_methods[_i], log.text);
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(c);
}
END_TEST

/* ---- the end of the run ---- */

typedef struct {
  const char *what;
  Fault f, c, jac;
  int expected;
  const char *words[3];
} Case;

static const Case cases[] = {
    {"f for good", .f = {0.3, -1, -1, 0.0}, .expected = CV_RHSFUNC_FAIL,
     .words = {"right-hand side f", "(-1)"}},
    {"f recoverably", .f = {0.3, -1, 1, 0.0}, .expected = CV_REPTD_RHSFUNC_ERR,
     .words = {"right-hand side f", "every attempt", "(1)"}},
    {"f with NaN", .f = {0.3, -1, 0, NAN}, .expected = CP_RHS_NONFINITE,
     .words = {"NaN", "component 0", "every attempt"}},
    {"f with Inf", .f = {0.3, -1, 0, INFINITY}, .expected = CP_RHS_NONFINITE,
     .words = {"Inf", "component 0"}},
    {"c for good", .c = {0.3, -1, -1, 0.0}, .expected = CP_USERFUNC_FAIL, .words = {"c"}},
    {"c recoverably", .c = {0.3, -1, 1, 0.0}, .expected = CP_REPTD_USERFUNC_ERR,
     .words = {"every attempt"}},
    {"c with NaN", .c = {0.3, -1, 0, NAN}, .expected = CP_CNSTR_NONFINITE,
     .words = {"constraint 0", "every attempt"}},
    {"G for good", .jac = {0.3, -1, -1, 0.0}, .expected = CP_USERFUNC_FAIL, .words = {"t = 0."}},
    {"G recoverably", .jac = {0.3, -1, 1, 0.0}, .expected = CP_REPTD_USERFUNC_ERR,
     .words = {"every attempt"}},
    {"G with NaN", .jac = {0.3, -1, 0, NAN}, .expected = CP_CNSTRJAC_NONFINITE,
     .words = {"every attempt"}},
    {"a c that G does not belong to", .c = {0.3, -1, 0, 1.0}, .expected = CP_CNSTRJAC_WRONG,
     .words = {"constraint 0", "every attempt"}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

START_TEST(each_failure_ends_with_its_code_at_the_last_good_state) {
  const Case *of = &cases[_i];
  int flag       = CP_SUCCESS;
  run.world.f = of->f, run.world.c = of->c, run.world.jac = of->jac;
  while (!flag && run.t < 1.0) {
    ck_assert_int_eq(CPProjectorSetUserData(run.P, &run.world),
                     CP_SUCCESS); /* each step has a new G */
    flag = one_step(&run);
  }
  ck_assert_msg(flag == of->expected, "%s: %d, not %d: %s", of->what, flag, of->expected,
                run.log.text);
  ck_assert_int_eq(run.log.count, 1);
  ck_assert_mentions(run.log.text, "the last good state is that of t = 0.");
  for (int k = 0; k < 3 && of->words[k]; k++) ck_assert_mentions(run.log.text, of->words[k]);
  ck_assert_double_le(run.t, 0.3 + 1.0e-12);
  assert_last_good_state();
  refused(&run, CPIntegratorGetDky(run.mem, run.t, 0, run.y), CP_NO_INIT, "accepted step");
  run.world.f = run.world.c = run.world.jac = (Fault){0.0, 0, 0, 0.0};
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_double_le(one_error(&run, run.t, run.y), 1.0e-3);
}
END_TEST

/* Steps are cut down to the place where f ends, and no further. */
START_TEST(failures_beyond_a_time_are_approached) {
  run.world.f = (Fault){0.3, -1, 1, 0.0};
  ck_assert_returns(&run, one_to(&run, 1.0), CV_REPTD_RHSFUNC_ERR);
  ck_assert_double_le(fabs(run.t - 0.3), 1.0e-10);
  ck_assert_int_lt(one_stats(&run).nattempts, 200);
}
END_TEST

/* The last steps before that time may be so short that the next one would be below roundoff. Without
 * the fault the run continues. */
START_TEST(failures_beyond_a_time_are_named_at_any_tolerance) {
  for (int digits = 2; digits <= 7; digits++) {
    one_close(&run);
    one_open(&run, one_methods[_i], pow(10.0, -digits));
    run.world.f = (Fault){0.5, -1, 1, 0.0};
    refused(&run, one_to(&run, 1.0), CV_REPTD_RHSFUNC_ERR, "failed recoverably");
    refused(&run, one_to(&run, 1.0), CV_REPTD_RHSFUNC_ERR, "failed recoverably");
    const char *first = strstr(run.log.text, "every attempt");
    ck_assert_msg(!first || !strstr(first + 1, "every attempt"), "%s", run.log.text);
    run.world.f = (Fault){0.0, 0, 0, 0.0};
    ck_assert_done(&run, one_to(&run, 1.0));
    run.log = (MessageLog){0};
  }
}
END_TEST

/* The stages of the last step are then gone, and with them its interior. */
START_TEST(after_a_failed_step_there_is_no_output_within_the_one_before) {
  one_close(&run);
  one_open(&run, one_methods[_i], 1.0e-6);
  for (int k = 0; k < 5; k++) ck_assert_done(&run, one_step(&run));
  const IntegratorCounters s = one_stats(&run);
  run.world.f                = (Fault){run.t + 0.5 * s.hnext, -1, -1, 0.0};
  const sunrealtype last     = run.t;
  ck_assert_returns(&run, one_to(&run, last + 1.0), CV_RHSFUNC_FAIL);
  refused(&run, one_to(&run, last - 0.5 * s.hlast), CP_ILL_INPUT, "last good state", "tout = ");
  ck_assert_done(&run, one_to(&run, nextafter(last, 0.0))); /* except for roundoff */
  ck_assert_double_le(one_error(&run, last, run.y), 1.0e-3);
}
END_TEST

/* Also before the first step */
START_TEST(roundoff_before_the_start_is_the_start) {
  run.world.f = (Fault){-1.0, -1, -1, 0.0};
  one_restart(&run, 0.5);
  N_Vector y = vector_copy(run.y);
  ck_assert_returns(&run, one_to(&run, 1.0), CV_RHSFUNC_FAIL);
  run.world.f = (Fault){0.0, 0, 0, 0.0};
  ck_assert_done(&run, one_to(&run, 0.5 - 1.0e-15));
  ck_assert_int_eq(same_bits(run.y, y), 1);
  ck_assert_done(&run, one_to(&run, 1.0));
  N_VDestroy(y);
}
END_TEST

/* Sizes of attempts that failed must not be used for a new start; nor those that t does not
 * resolve. */
START_TEST(failed_attempts_leave_no_size_to_a_new_start) {
  one_close(&run);
  one_open(&run, one_methods[_i], 1.0e-6);
  run.world.f = (Fault){1.0e-30, -1, 1, 0.0};
  ck_assert_returns(&run, one_to(&run, 1.0), CV_REPTD_RHSFUNC_ERR);
  run.world.f = (Fault){0.0, 0, 0, 0.0};
  one_restart(&run, 1.0);
  ck_assert_done(&run, one_to(&run, 2.0));
  ck_assert_double_le(one_error(&run, 2.0, run.y), 0.1);

  one_restart(&run, 0.0);
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 1.0e-12));
  ck_assert_done(&run, one_step(&run));
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 0.0));
  ck_assert_done(&run, CPIntegratorReInit(run.mem, 1.0e9, run.y));
  ck_assert_done(&run, one_to(&run, 1.0e9 + 1.0));
}
END_TEST

/* From rest, where a step of 10^12 is possible: its roundoff is 0.02. */
START_TEST(a_long_step_leaves_no_roundoff_to_a_new_start) {
  N_Vector y0 = vector_copy(run.y);
  N_VConst(0.0, run.y);
  N_VGetArrayPointer(run.y)[1] = -1.0;
  ck_assert_done(&run, CPIntegratorReInit(run.mem, 0.0, run.y));
  ck_assert_done(&run, CPIntegratorSetFixedStep(run.mem, 1.0e12));
  ck_assert_done(&run, CPIntegratorEvolve(run.mem, 1.0e12, run.y, &run.t, CV_ONE_STEP));
  ck_assert_done(&run, CPIntegratorSetFixedStep(run.mem, 0.0));
  ck_assert_done(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  run.world.f = (Fault){-1.0, -1, -1, 0.0};
  ck_assert_returns(&run, one_to(&run, 1.0), CV_RHSFUNC_FAIL);
  refused(&run, one_to(&run, -1.0e-3), CP_ILL_INPUT, "tout", "-0.001");
  N_VDestroy(y0);
}
END_TEST

START_TEST(a_step_that_cannot_be_told_from_none_is_too_close) {
  refused(&run, one_to(&run, 4.9406564584124654e-324), CV_TOO_CLOSE, "tout");
  ck_assert_done(&run, one_to(&run, 1.0));
}
END_TEST

START_TEST(a_first_evaluation_that_fails_has_codes_of_its_own) {
  run.world.f = (Fault){-1.0, -1, 1, 0.0};
  refused(&run, one_to(&run, 1.0), CV_FIRST_RHSFUNC_ERR, "right-hand side f", "t = 0");
  run.world.f = (Fault){-1.0, -1, -1, 0.0};
  refused(&run, one_to(&run, 1.0), CV_RHSFUNC_FAIL, "right-hand side f", "t = 0");
  run.world.f = (Fault){-1.0, -1, 0, NAN};
  refused(&run, one_to(&run, 1.0), CP_RHS_NONFINITE, "NaN", "t = 0");
  run.world.f = (Fault){0.0, 0, 0, 0.0};
  run.world.c = (Fault){-1.0, -1, 1, 0.0};
  ck_assert_done(&run, CPIntegratorReInit(run.mem, 0.0, run.y));
  refused(&run, one_to(&run, 1.0), CP_FIRST_USERFUNC_ERR, "c");
  run.world.c = (Fault){0.0, 0, 0, 0.0};
  ck_assert_done(&run, one_to(&run, 1.0));
}
END_TEST

START_TEST(too_many_steps_can_be_continued) {
  refused(&run, CPIntegratorSetMaxNumSteps(run.mem, -2), CP_ILL_INPUT, "mxsteps", "-2");
  ck_assert_done(&run, CPIntegratorSetMaxNumSteps(run.mem, 3));
  refused(&run, one_to(&run, 5.0), CV_TOO_MUCH_WORK, "3 steps", "tout = 5",
          "CPIntegratorSetMaxNumSteps");
  ck_assert_int_eq(one_stats(&run).nst, 3);
  assert_last_good_state();
  ck_assert_done(&run, CPIntegratorSetMaxNumSteps(run.mem, -1));
  ck_assert_done(&run, one_to(&run, 5.0));
}
END_TEST

START_TEST(too_many_steps_towards_a_fault_tell_its_reason) {
  run.world.f = (Fault){0.3, -1, 1, 0.0};
  ck_assert_done(&run, CPIntegratorSetMaxNumSteps(run.mem, 25));
  refused(&run, one_to(&run, 5.0), CV_TOO_MUCH_WORK, "25 steps", "right-hand side f",
          "failed recoverably");
  assert_last_good_state();
}
END_TEST

/* Not again with the limit after it, when only the error test has rejected attempts since. */
START_TEST(a_reason_of_failed_attempts_is_told_once) {
  ck_assert_done(&run, CPIntegratorSetMaxNumSteps(run.mem, 1));
  run.world.f = (Fault){0.3, 1, 1, 0.0};
  do refused(&run, one_to(&run, 5.0), CV_TOO_MUCH_WORK, "1 steps");
  while (!strstr(run.log.text, "attempts fail"));
  const long int netf = one_stats(&run).netf;
  run.world.f         = (Fault){0.0, 1, 0, 2.0};
  refused(&run, one_to(&run, 5.0), CV_TOO_MUCH_WORK, "1 steps");
  ck_assert_int_eq(one_stats(&run).netf, netf + 1);
  ck_assert_ptr_null(strstr(run.log.text, "attempts fail"));
}
END_TEST

START_TEST(the_default_is_500_steps) {
  ck_assert_done(&run, CPIntegratorSetMaxNumSteps(run.mem, 0));
  ck_assert_done(&run, CPIntegratorSetMaxStep(run.mem, 1.0e-3));
  ck_assert_returns(&run, one_to(&run, 5.0), CV_TOO_MUCH_WORK);
  ck_assert_int_eq(one_stats(&run).nst, 500);
}
END_TEST

/* A tolerance that the least step does not meet */
START_TEST(a_least_step_that_is_too_large_ends_the_run) {
  ck_assert_done(&run, CPIntegratorSetMinStep(run.mem, 1.0));
  ck_assert_done(&run, CPIntegratorSetMaxCorrection(run.mem, INFINITY));
  const int flag = one_to(&run, 5.0);
  ck_assert_msg(flag == CV_ERR_FAILURE || flag == CP_PROJ_CONV_FAILURE, "%d: %s", flag,
                run.log.text);
  ck_assert_mentions(run.log.text, "from t = 0");
  ck_assert_double_eq(run.t, 0.0);
}
END_TEST

/* Noise in f that no step size makes smooth */
static int noisy(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  static unsigned long long state = 1;
  const int flag                  = world_rhs(t, y, ydot, user_data);
  if (t > 0.1) entries(ydot)[2] += 1.0e20 * random_number(&state);
  return flag;
}

START_TEST(an_error_test_that_no_size_passes_ends_the_run) {
  CPIntegratorFree(&run.mem);
  run.mem = CPIntegratorCreate("ARKODE_CASH_KARP_6_4_5", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &run.log);
  CPIntegratorInit(run.mem, noisy, 0.0, run.y);
  CPIntegratorSStolerances(run.mem, 1.0e-10, 1.0e-10);
  CPIntegratorSetUserData(run.mem, &run.world);
  ck_assert_returns(&run, one_to(&run, 1.0), CV_ERR_FAILURE);
  ck_assert_mentions(run.log.text, "error test");
  ck_assert_double_le(fabs(run.t - 0.1), 1.0e-3);
}
END_TEST

START_TEST(tolerances_below_roundoff_are_told) {
  ck_assert_done(&run, CPIntegratorSStolerances(run.mem, 0.0, 1.0e-18));
  CPIntegratorSetProjector(run.mem, NULL);
  refused(&run, one_to(&run, 1.0), CV_TOO_MUCH_ACC, "roundoff", "t = 0");
}
END_TEST

START_TEST(weights_that_are_not_positive_are_told) {
  ck_assert_done(&run, CPIntegratorSStolerances(run.mem, 1.0e-6, 0.0)); /* y has zeros */
  refused(&run, one_to(&run, 1.0), CP_ILL_INPUT, "error weight", "t = 0");
}
END_TEST

static sunrealtype bad_weight;

static int bad_weights(N_Vector x, N_Vector ewt, void *user_data) {
  (void)x, (void)user_data;
  N_VConst(1.0e6, ewt);
  entries(ewt)[1] = bad_weight;
  return 0;
}

START_TEST(weights_of_the_user_that_are_bad_are_told) {
  bad_weight = ((const sunrealtype[]){0.0, -1.0, NAN, INFINITY})[_i];
  ck_assert_done(&run, CPIntegratorWFtolerances(run.mem, bad_weights));
  refused(&run, one_to(&run, 1.0), CP_ILL_INPUT, "error weight", "t = 0");
}
END_TEST

/* An f that fails only at interpolation's evaluations: the step is good. */
START_TEST(a_failure_of_f_between_steps_leaves_the_step_good) {
  N_Vector y = vector_of(PENDULUM_N, NULL);
  for (int i = 0; i < 3; i++) ck_assert_done(&run, one_step(&run));
  const IntegratorCounters s = one_stats(&run);
  run.world.f                = (Fault){0.0, -1, 1, 0.0};
  refused(&run, CPIntegratorGetDky(run.mem, s.t - 0.5 * s.hlast, 0, y), CV_REPTD_RHSFUNC_ERR, "f");
  run.world.f = (Fault){0.0, 0, 0, 0.0};
  ck_assert_done(&run, CPIntegratorGetDky(run.mem, s.t - 0.5 * s.hlast, 0, y));
  ck_assert_double_le(one_error(&run, s.t - 0.5 * s.hlast, y), 1.0e-3);
  ck_assert_int_eq(one_stats(&run).nrhsfails, 0);
  N_VDestroy(y);
}
END_TEST

/* y = (cos t, -sin t), whose f fails recoverably at one of its calls */
typedef struct {
  int calls, fails_at;
} Oscillator;

static int oscillate(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  Oscillator *o    = user_data;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = -entries(y)[0];
  (void)t;
  return ++o->calls == o->fails_at;
}

static int falls(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0];
  return 0;
}

/* Outputs between the ends of steps, and a root at pi/2, need stages of their own. */
START_TEST(a_recoverable_failure_of_f_in_a_stage_of_an_interpolant_has_the_step_repeated) {
  static const char *const names[] = {"DOP853", "BS54", "BS32"};
  Oscillator o                     = {0, 0};
  int last                         = 3;
  for (int k = 2; k <= last; k++) { /* the first one has a code of its own */
    int flag = 0, roots = 0;
    sunrealtype t    = 0.0;
    N_Vector y       = vector_of(2, (const sunrealtype[]){1.0, 0.0});
    CPIntegrator mem = CPIntegratorCreate(names[_i], test_context);
    o                = (Oscillator){0, k};
    ck_assert_int_eq(CPIntegratorInit(mem, oscillate, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetUserData(mem, &o), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorRootInit(mem, 1, falls), CP_SUCCESS);
    for (int i = 1; i <= 40;) {
      flag = CPIntegratorEvolve(mem, 0.05 * i, y, &t, CV_NORMAL);
      ck_assert_msg(flag >= 0, "call %d: %s", k, CPObjectGetLastMessage(CP_OBJECT(mem)));
      ck_assert_double_le(hypot(entries(y)[0] - cos(t), entries(y)[1] + sin(t)), 1.0e-4);
      if (flag == CV_ROOT_RETURN) roots++;
      else ck_assert_double_eq(t, 0.05 * i++);
    }
    ck_assert_int_eq(roots, 1);
    last = o.calls < 150 ? o.calls : 150;
    CPIntegratorFree(&mem);
    N_VDestroy(y);
  }
}
END_TEST

START_TEST(output_that_cannot_be_projected_is_given_raw) {
  ck_assert_done(&run, one_step(&run));
  ck_assert_done(&run, one_step(&run));
  const IntegratorCounters s = one_stats(&run);
  run.t                      = s.t - 0.5 * s.hlast;
  run.world.c                = (Fault){0.0, -1, 1, 0.0};
  refused(&run, one_to(&run, run.t), CP_OUTPUT_PROJ_FAIL, "unprojected");
  ck_assert_double_eq(run.t, s.t - 0.5 * s.hlast);
  ck_assert_double_le(one_error(&run, run.t, run.y), 1.0e-3);
  run.world.c = (Fault){0.0, 0, 0, 0.0};
  ck_assert_done(&run, one_to(&run, 1.0));
}
END_TEST

/* ---- an unprojected estimate, fixed steps ---- */

START_TEST(a_failure_in_a_fixed_step_ends_the_run) {
  ck_assert_done(&run, CPIntegratorSetFixedStep(run.mem, 0.05));
  run.world.f = once_failing;
  ck_assert_returns(&run, one_to(&run, 1.0), CV_REPTD_RHSFUNC_ERR);
  ck_assert_int_eq(one_stats(&run).nattempts, one_stats(&run).nst + 1);
  assert_last_good_state();
}
END_TEST

TEST_SUITE(failures) {
  Suite *suite = suite_create("failures of one-step methods");
  TCase *tc    = tcase_create("failures");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, a_recoverable_failure_of_f_has_the_step_retried_smaller, 0,
                      2 * n_one_methods);
  tcase_add_loop_test(tc, a_recoverable_failure_of_c_has_the_step_retried_smaller, 0,
                      2 * n_one_methods);
  tcase_add_test(tc, corrections_above_their_bound_have_the_step_retried_smaller);
  tcase_add_loop_test(tc, each_failure_ends_with_its_code_at_the_last_good_state, 0, CASES);
  tcase_add_test(tc, failures_beyond_a_time_are_approached);
  tcase_add_loop_test(tc, failures_beyond_a_time_are_named_at_any_tolerance, 0, n_one_methods);
  tcase_add_loop_test(tc, a_rejected_attempt_warns_of_nothing, 0, 12);
  tcase_add_loop_test(tc, after_a_failed_step_there_is_no_output_within_the_one_before, 0,
                      n_one_methods);
  tcase_add_test(tc, roundoff_before_the_start_is_the_start);
  tcase_add_loop_test(tc, failed_attempts_leave_no_size_to_a_new_start, 0, n_one_methods);
  tcase_add_test(tc, a_long_step_leaves_no_roundoff_to_a_new_start);
  tcase_add_test(tc, a_step_that_cannot_be_told_from_none_is_too_close);
  tcase_add_test(tc, a_first_evaluation_that_fails_has_codes_of_its_own);
  tcase_add_test(tc, too_many_steps_can_be_continued);
  tcase_add_test(tc, too_many_steps_towards_a_fault_tell_its_reason);
  tcase_add_test(tc, a_reason_of_failed_attempts_is_told_once);
  tcase_add_test(tc, the_default_is_500_steps);
  tcase_add_test(tc, a_least_step_that_is_too_large_ends_the_run);
  tcase_add_test(tc, an_error_test_that_no_size_passes_ends_the_run);
  tcase_add_test(tc, tolerances_below_roundoff_are_told);
  tcase_add_test(tc, weights_that_are_not_positive_are_told);
  tcase_add_loop_test(tc, weights_of_the_user_that_are_bad_are_told, 0, 4);
  tcase_add_test(tc, a_failure_of_f_between_steps_leaves_the_step_good);
  tcase_add_loop_test(
      tc, a_recoverable_failure_of_f_in_a_stage_of_an_interpolant_has_the_step_repeated, 0, 3);
  tcase_add_test(tc, output_that_cannot_be_projected_is_given_raw);
  tcase_add_test(tc, a_failure_in_a_fixed_step_ends_the_run);
  suite_add_tcase(suite, tc);
  return suite;
}
