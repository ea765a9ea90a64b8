/* Output on the manifold, local errors, counters, names and messages. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Run run;

static void setup(void) { run_open(&run, ADAMS_FIXED_POINT, 1.0e-6); }

static void teardown(void) { run_close(&run); }

static void open_method(int i) {
  run_close(&run);
  run_open(&run, methods[i], 1.0e-6);
}

/* ---- interpolated output ---- */

START_TEST(interpolated_output_is_on_the_manifold) {
  open_method(_i);
  for (int k = 1; k <= 60; k++) {
    ck_assert_success(&run, run_to(&run, 0.05 * k));
    ck_assert_good(&run);
  }
  ck_assert_int_gt(run_stats(&run).noutputs, 50);
}
END_TEST

START_TEST(without_output_projection_the_interpolant_is_returned) {
  open_method(_i);
  N_Vector raw = vector_copy(run.y);
  ck_assert_success(&run, CPIntegratorSetProjOutput(run.mem, SUNFALSE));
  for (int k = 1; k <= 20; k++) {
    ck_assert_success(&run, run_to(&run, 0.05 * k));
    ck_assert_success(&run, CVodeGetDky(run.cvode_mem, run.t, 0, raw));
    ck_assert_int_eq(same_bits(run.y, raw), 1);
    ck_assert_success(&run, CPIntegratorGetDky(run.mem, run.t, 0, raw));
    ck_assert_int_eq(same_bits(run.y, raw), 1);
  }
  ck_assert_int_eq(run_stats(&run).noutputs, 0);
  N_VDestroy(raw);
}
END_TEST

/* One run gives no output, the other all that is possible. */
START_TEST(asking_for_output_never_changes_the_trajectory) {
  Run asked;
  open_method(_i);
  run_open(&asked, methods[_i], 1.0e-6);
  N_Vector dky = vector_of(PENDULUM_N, NULL);
  while (run.t < 2.0) {
    sunrealtype h;
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&asked, run_step(&asked));
    ck_assert_success(&asked, CVodeGetLastStep(asked.cvode_mem, &h));
    ck_assert_success(&asked, CPIntegratorGetDky(asked.mem, asked.t - 0.3 * h, 0, dky));
    ck_assert_success(&asked, CPIntegratorGetDky(asked.mem, asked.t, 1, dky));
    ck_assert_success(&asked, CPIntegratorGetEstLocalErrors(asked.mem, dky));
    ck_assert_double_eq(run.t, asked.t);
    ck_assert_int_eq(same_bits(run.y, asked.y), 1);
  }
  N_VDestroy(dky);
  run_close(&asked);
}
END_TEST

START_TEST(dky_is_projected_and_its_derivatives_are_raw) {
  open_method(_i);
  N_Vector y = vector_of(PENDULUM_N, NULL), raw = vector_of(PENDULUM_N, NULL);
  sunrealtype h;
  run_until(&run, 1.0);
  ck_assert_success(&run, CVodeGetLastStep(run.cvode_mem, &h));
  const sunrealtype tn = run.t;
  for (int k = 0; k <= 4; k++) {
    run.t = tn - k * h / 4.0;
    ck_assert_success(&run, CPIntegratorGetDky(run.mem, run.t, 0, run.y));
    ck_assert_good(&run);
    ck_assert_success(&run, CPIntegratorGetDky(run.mem, run.t, 1, y));
    ck_assert_success(&run, CVodeGetDky(run.cvode_mem, run.t, 1, raw));
    ck_assert_int_eq(same_bits(y, raw), 1);
  }
  ck_assert_int_eq(CPIntegratorGetDky(run.mem, tn - 10.0 * h, 0, y), CV_BAD_T);
  ck_assert_int_eq(CPIntegratorGetDky(run.mem, tn, 100, y), CV_BAD_K);
  N_VDestroy(raw);
  N_VDestroy(y);
}
END_TEST

/* CVODES would divide 0 by 0. */
START_TEST(before_the_first_step_there_is_no_output) {
  open_method(_i);
  N_Vector y = vector_of(PENDULUM_N, NULL);
  for (int k = 0; k < 2; k++) {
    ck_assert_flag(&run, CPIntegratorGetDky(run.mem, 0.0, 0, y), CP_NO_INIT);
    ck_assert_message(&run, "no step");
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CPIntegratorGetDky(run.mem, run.t, 0, y));
    pendulum_initial(&run.world.p, y);
    ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y));
  }
  N_VDestroy(y);
}
END_TEST

/* c fails only between the steps. */
static sunrealtype last_step;
static int failing_between(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  World *world = user_data;
  pendulum_constraints(t, y, c, &world->p);
  return last_step > 0.0 && t < last_step ? 1 : 0;
}

START_TEST(output_that_cannot_be_projected_is_given_raw_and_the_step_stays) {
  N_Vector c = vector_of(PENDULUM_M, NULL), raw = vector_copy(run.y);
  CPProjector P = CPProjectorCreate(failing_between, run.y, c, test_context);
  ck_assert_success(&run, CPProjectorSetUserData(P, &run.world));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, P));
  run_until(&run, 0.5);
  last_step = run.t;
  ck_assert_flag(&run, run_to(&run, run.t - 1.0e-4), CP_OUTPUT_PROJ_FAIL);
  ck_assert_message(&run, "unprojected", "constraint function");
  ck_assert_success(&run, CVodeGetDky(run.cvode_mem, run.t, 0, raw));
  ck_assert_int_eq(same_bits(run.y, raw), 1);
  ck_assert_flag(&run, CPIntegratorGetDky(run.mem, last_step - 1.0e-4, 0, raw), CP_OUTPUT_PROJ_FAIL);
  run_until(&run, 1.0);
  ck_assert_good(&run);
  CPIntegratorFree(&run.mem);
  CPProjectorFree(&P);
  N_VDestroy(c);
  N_VDestroy(raw);
}
END_TEST

/* ---- local errors ---- */

/* G e at the state of the run, relative to the terms of the sums. raw: the estimate before its
 * projection, which may have been larger and then leaves roundoff of its own size. */
static sunrealtype off_tangent(N_Vector e, N_Vector raw) {
  const sunrealtype *z = entries(run.y), *v = entries(e);
  const sunrealtype row0 = z[0] * v[0] + z[1] * v[1];
  const sunrealtype row1 = z[2] * v[0] + z[3] * v[1] + z[0] * v[2] + z[1] * v[3];
  const sunrealtype size = N_VMaxNorm(e) + N_VMaxNorm(raw);
  return fmax(fabs(row0), fabs(row1)) / (size * (fabs(z[0]) + fabs(z[1]) + fabs(z[2]) + fabs(z[3])));
}

/* The estimate is projected on request: G is that of the state, and G e is roundoff. */
START_TEST(local_errors_of_an_unprojected_test_are_tangent) {
  N_Vector e = vector_of(PENDULUM_N, NULL), raw = vector_of(PENDULUM_N, NULL);
  open_method(_i);
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_UNPROJECTED));
  while (run.t < 1.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CPIntegratorGetEstLocalErrors(run.mem, e));
    ck_assert_success(&run, CVodeGetEstLocalErrors(run.cvode_mem, raw));
    ck_assert_bound(&run, off_tangent(e, raw), 1.0e-14);
  }
  N_VDestroy(e);
  N_VDestroy(raw);
}
END_TEST

/* An eighth of the normal part of the raw estimate remains in the tested one. (With BDF the
 * correction has already made the raw one tangent.) G is that before the correction there and that
 * of the state here: a difference of some tolerances. */
START_TEST(local_errors_of_a_projected_test_keep_an_eighth_of_what_is_normal) {
  N_Vector e = vector_of(PENDULUM_N, NULL), raw = vector_of(PENDULUM_N, NULL),
           w = vector_of(PENDULUM_N, NULL), x = vector_of(PENDULUM_N, NULL);
  open_method(1);
  ck_assert_int_eq(run.method.lmm, CV_ADAMS);
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  while (run.t < 1.0) {
    ck_assert_success(&run, CPProjectorSetUserData(run.P, &run.world)); /* a new G */
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CPIntegratorGetEstLocalErrors(run.mem, e));
    ck_assert_success(&run, CVodeGetEstLocalErrors(run.cvode_mem, raw));
    ck_assert_success(&run, CVodeGetErrWeights(run.cvode_mem, w));
    N_VLinearSum(1.0, e, -0.125, raw, x); /* P raw + (raw - P raw) / 8 - raw / 8 = 7/8 P raw */
    const sunrealtype correction = run_stats(&run).maxcorrection * run.tol * 10.0;
    ck_assert_bound(&run, off_tangent(x, raw), 1.0e-14 + correction);
  }
  N_VDestroy(w);
  N_VDestroy(x);
  N_VDestroy(e);
  N_VDestroy(raw);
}
END_TEST

/* PROJECTED: its WRMS norm is the one that CVODES has tested, at most 1 after an accepted step. */
START_TEST(local_errors_are_those_of_the_error_test) {
  N_Vector e = vector_of(PENDULUM_N, NULL), w = vector_of(PENDULUM_N, NULL),
           zero = vector_of(PENDULUM_N, NULL);
  open_method(_i);
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  sunrealtype largest = 0.0;
  while (run.t < 1.0) {
    ck_assert_success(&run, CVodeGetErrWeights(run.cvode_mem, w));
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CVodeGetErrWeights(run.cvode_mem, w));
    ck_assert_success(&run, CPIntegratorGetEstLocalErrors(run.mem, e));
    const sunrealtype norm = wrms_distance(e, zero, w);
    ck_assert_double_le(norm, 1.0 + 1.0e-12);
    largest = fmax(largest, norm);
  }
  ck_assert_double_gt(largest, 0.1); /* CVODES aims at 1/6 */
  N_VDestroy(e);
  N_VDestroy(w);
  N_VDestroy(zero);
}
END_TEST

static N_Vector newest_correction;
static int keep_correction(Run *r, const Attempt *a, N_Vector ycor, int flag) {
  (void)r, (void)a;
  N_VScale(1.0, ycor, newest_correction);
  return flag;
}

/* Without any error projection the estimate is a multiple of the inner solver's correction: the
 * part that the projection adds to that with BDF is no error. (x parallel to y: |x_i y_j - x_j y_i|
 * is the roundoff of subtracting the projection's part, 1e-16 of the largest.) */
START_TEST(local_errors_do_not_contain_the_projections_correction) {
  N_Vector e = vector_of(PENDULUM_N, NULL), raw = vector_of(PENDULUM_N, NULL);
  open_method(_i);
  newest_correction = vector_of(PENDULUM_N, NULL);
  CPProjector user  = projector_of_user(rod_projection, NULL, run.y);
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, user));
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_UNPROJECTED));
  run_intercept(&run, NULL, keep_correction);
  while (run.t < 0.5) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CPIntegratorGetEstLocalErrors(run.mem, e));
    ck_assert_success(&run, CVodeGetEstLocalErrors(run.cvode_mem, raw));
    const sunrealtype *x = entries(e), *z = entries(newest_correction);
    const sunrealtype size = (N_VMaxNorm(e) + N_VMaxNorm(raw)) * N_VMaxNorm(newest_correction);
    for (int i = 1; i < PENDULUM_N; i++)
      ck_assert_bound(&run, fabs(x[i] * z[0] - x[0] * z[i]), 1.0e-14 * size);
  }
  CPIntegratorFree(&run.mem);
  CPProjectorFree(&user);
  N_VDestroy(newest_correction);
  N_VDestroy(raw);
  N_VDestroy(e);
}
END_TEST

/* ---- counters ---- */

#define PRINTED 8192

static void print_stats(char text[PRINTED], SUNOutputFormat fmt) {
  FILE *out = tmpfile();
  ck_assert_ptr_nonnull(out);
  ck_assert_success(&run, CPObjectPrintStats(CP_OBJECT(run.mem), out, fmt));
  rewind(out);
  const size_t length = fread(text, 1, PRINTED - 1, out);
  text[length]        = '\0';
  fclose(out);
}

/* The number after a name */
static long int printed(const char *text, const char *name) {
  const char *line = strstr(text, name);
  ck_assert_msg(line != NULL, "no \"%s\" in\n%s", name, text);
  return strtol(strchr(line, '=') + 1, NULL, 10);
}

START_TEST(counters_are_printed_by_name) {
  char text[PRINTED];
  ck_assert_success(&run, run_to(&run, 0.77));
  print_stats(text, SUN_OUTPUTFORMAT_TABLE);
  const IntegratorCounters stats = run_stats(&run);
  ck_assert_int_eq(printed(text, "steps "), run_steps(&run));
  ck_assert_int_eq(printed(text, "\nprojections "), stats.nproj);
  ck_assert_int_eq(printed(text, "output_projections"), stats.noutputs);
  ck_assert_int_eq(printed(text, "constraint_evals"), stats.nce);
}
END_TEST

/* There are as many names as values. */
START_TEST(csv_counters_come_in_pairs) {
  char text[PRINTED];
  ck_assert_success(&run, run_to(&run, 0.77));
  print_stats(text, SUN_OUTPUTFORMAT_CSV);
  int commas = 0;
  for (const char *s = text; *s; s++) commas += *s == ',';
  ck_assert_int_eq(commas % 2, 1);
}
END_TEST

/* c_calls counts all evaluations: for the steps, for the start's check, for outputs. */
START_TEST(the_counters_of_the_steps_are_part_of_the_projectors) {
  ProjectorCounters all;
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_success(&run, projector_counters(run.P, &all));
  const IntegratorCounters stats = run_stats(&run);
  ck_assert_int_eq(all.nce, run.world.c_calls);
  ck_assert_int_eq(all.nje, run.world.jac_calls);
  ck_assert_int_gt(stats.nproj, 0);
  ck_assert_int_le(stats.nce, all.nce);
  ck_assert_int_le(stats.nje, all.nje);
  ck_assert_int_le(stats.niters, all.niters);
  ck_assert_int_ge(stats.niters, stats.nproj); /* a projection makes at least one correction */
}
END_TEST

/* ---- names and messages ---- */

static const struct {
  int code;
  const char *name;
} codes[] = {
    {CP_SUCCESS, "CP_SUCCESS"},
    {CP_MEM_NULL, "CP_MEM_NULL"},
    {CP_MEM_FAIL, "CP_MEM_FAIL"},
    {CP_ILL_INPUT, "CP_ILL_INPUT"},
    {CP_NO_INIT, "CP_NO_INIT"},
    {CP_NO_PROJECTOR, "CP_NO_PROJECTOR"},
    {CP_TOO_LATE, "CP_TOO_LATE"},
    {CP_VECTOROP_ERR, "CP_VECTOROP_ERR"},
    {CP_NOT_SUPPORTED, "CP_NOT_SUPPORTED"},
    {CP_REENTERED, "CP_REENTERED"},
    {CP_INCONSISTENT_IC, "CP_INCONSISTENT_IC"},
    {CP_IC_FAIL, "CP_IC_FAIL"},
    {CP_FIRST_USERFUNC_ERR, "CP_FIRST_USERFUNC_ERR"},
    {CP_USERFUNC_FAIL, "CP_USERFUNC_FAIL"},
    {CP_REPTD_USERFUNC_ERR, "CP_REPTD_USERFUNC_ERR"},
    {CP_USERFUNC_FAIL, "CP_USERFUNC_FAIL"},
    {CP_REPTD_USERFUNC_ERR, "CP_REPTD_USERFUNC_ERR"},
    {CP_USERFUNC_FAIL, "CP_USERFUNC_FAIL"},
    {CP_REPTD_USERFUNC_ERR, "CP_REPTD_USERFUNC_ERR"},
    {CP_USERFUNC_FAIL, "CP_USERFUNC_FAIL"},
    {CP_REPTD_USERFUNC_ERR, "CP_REPTD_USERFUNC_ERR"},
    {CP_USERFUNC_FAIL, "CP_USERFUNC_FAIL"},
    {CP_PROJ_CONV_FAILURE, "CP_PROJ_CONV_FAILURE"},
    {CP_PROJ_RANK, "CP_PROJ_RANK"},
    {CP_PROJ_INCONSISTENT, "CP_PROJ_INCONSISTENT"},
    {CP_PROJ_CORRECTION, "CP_PROJ_CORRECTION"},
    {CP_CNSTRJAC_WRONG, "CP_CNSTRJAC_WRONG"},
    {CP_LINSOL_FAIL, "CP_LINSOL_FAIL"},
    {CP_RHS_NONFINITE, "CP_RHS_NONFINITE"},
    {CP_CNSTR_NONFINITE, "CP_CNSTR_NONFINITE"},
    {CP_CNSTRJAC_NONFINITE, "CP_CNSTRJAC_NONFINITE"},
    {CP_PROJ_NONFINITE, "CP_PROJ_NONFINITE"},
    {CP_BYPASSED, "CP_BYPASSED"},
    {CP_SELFCHECK_FAIL, "CP_SELFCHECK_FAIL"},
    {CP_OUTPUT_PROJ_FAIL, "CP_OUTPUT_PROJ_FAIL"},
    {CV_TOO_MUCH_WORK, "CV_TOO_MUCH_WORK"},
    {CV_CONV_FAILURE, "CV_CONV_FAILURE"},
    {CV_TSTOP_RETURN, "CV_TSTOP_RETURN"},
    {CV_ROOT_RETURN, "CV_ROOT_RETURN"},
    {CV_RHSFUNC_FAIL, "CV_RHSFUNC_FAIL"},
};
enum { N_CODES = sizeof codes / sizeof codes[0] };

START_TEST(every_return_value_has_its_name) {
  char *name = CPGetReturnFlagName(codes[_i].code);
  ck_assert_str_eq(name, codes[_i].name);
  free(name);
}
END_TEST

START_TEST(the_version_has_the_numbers_of_its_text) {
  int major = -1, minor = -1, patch = -1;
  char numbers[40];
  const char *version = CPGetVersion(&major, &minor, &patch);
  snprintf(numbers, sizeof numbers, "%d.%d.%d", major, minor, patch);
  ck_assert_int_eq(strncmp(version, numbers, strlen(numbers)), 0);
  ck_assert_str_eq(CPGetVersion(NULL, NULL, NULL), CP_VERSION);
}
END_TEST

/* Every message goes to the handler, and the newest is kept. */
START_TEST(messages_go_to_the_handler) {
  run.log.count = 0;
  ck_assert_int_eq(CPIntegratorSetProjFrequency(run.mem, -2, 0), CP_ILL_INPUT);
  ck_assert_int_eq(run.log.count, 1);
  ck_assert_int_eq(run.log.code, CP_ILL_INPUT);
  ck_assert_str_eq(run.log.function, "CPIntegratorSetProjFrequency");
  ck_assert_message(&run, "nsteps", "positive", "-2");
  /* also those of CVODES outside of CPIntegratorEvolve */
  ck_assert_int_eq(CVodeSetMaxOrd(run.cvode_mem, -1), CV_ILL_INPUT);
#if SUNDIALS_VERSION_MAJOR < 7
  ck_assert_int_eq(run.log.count, 2);
  ck_assert_int_eq(run.log.code, CV_ILL_INPUT);
#endif
}
END_TEST

START_TEST(there_is_no_message_before_the_first) {
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(mem)), "");
  CPIntegratorFree(&mem);
}
END_TEST

TEST_SUITE(output) {
  Suite *suite = suite_create("output");
  TCase *tc    = tcase_create("output");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, interpolated_output_is_on_the_manifold, 0, 4);
  tcase_add_loop_test(tc, without_output_projection_the_interpolant_is_returned, 0, 4);
  tcase_add_loop_test(tc, asking_for_output_never_changes_the_trajectory, 0, 4);
  tcase_add_loop_test(tc, dky_is_projected_and_its_derivatives_are_raw, 0, 4);
  tcase_add_loop_test(tc, before_the_first_step_there_is_no_output, 0, 4);
  tcase_add_test(tc, output_that_cannot_be_projected_is_given_raw_and_the_step_stays);
  tcase_add_loop_test(tc, local_errors_of_an_unprojected_test_are_tangent, 0, 4);
  tcase_add_test(tc, local_errors_of_a_projected_test_keep_an_eighth_of_what_is_normal);
  tcase_add_loop_test(tc, local_errors_are_those_of_the_error_test, 0, 4);
  tcase_add_loop_test(tc, local_errors_do_not_contain_the_projections_correction, 0, 4);
  tcase_add_test(tc, counters_are_printed_by_name);
  tcase_add_test(tc, csv_counters_come_in_pairs);
  tcase_add_test(tc, the_counters_of_the_steps_are_part_of_the_projectors);
  tcase_add_loop_test(tc, every_return_value_has_its_name, 0, N_CODES);
  tcase_add_test(tc, the_version_has_the_numbers_of_its_text);
  tcase_add_test(tc, messages_go_to_the_handler);
  tcase_add_test(tc, there_is_no_message_before_the_first);
  suite_add_tcase(suite, tc);
  return suite;
}
