/* Steps: error control, counters, options of step sizes, both directions, restarts, output. */
#include "stepping/onestep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>

static OneRun run;

/* ---- accuracy ---- */

/* As in error_bound of stepping/multistep/fixture.c, with the number of steps */
static sunrealtype bound(sunrealtype tol, sunrealtype t) {
  const sunrealtype w = sqrt(run.world.p.g), V = sqrt(2.0 * run.world.p.g);
  return (double)one_stats(&run).nst * sqrt((double)PENDULUM_N) * tol * (1.0 + V) * w *
         (1.0 + w * t);
}

START_TEST(errors_fall_with_the_tolerance_on_the_manifold) {
  static const sunrealtype tols[] = {1.0e-5, 1.0e-7, 1.0e-9};
  sunrealtype before              = INFINITY;
  for (int k = 0; k < 3; k++) {
    sunrealtype worst = 0.0, violation = 0.0;
    one_open(&run, one_methods[_i], tols[k]);
    for (int i = 1; i <= 40; i++) {
      ck_assert_done(&run, one_to(&run, 0.05 * i));
      worst     = fmax(worst, one_error(&run, run.t, run.y));
      violation = fmax(violation, violation_of(&run.world, run.y));
    }
    const Run as = {.world = run.world, .tol = tols[k]};
    ck_assert_double_le(violation, violation_bound(&as));
    ck_assert_msg(worst <= bound(tols[k], 2.0), "%s, tol = %g: %g", run.method, tols[k], worst);
    ck_assert_msg(worst < 0.2 * before, "%s, tol = %g: %g after %g", run.method, tols[k], worst,
                  before);
    before = worst;
    one_close(&run);
  }
}
END_TEST

/* A closed orbit, forwards and backwards */
START_TEST(backward_integration_leads_back) {
  N_Vector start;
  one_open(&run, one_methods[_i], 1.0e-8);
  start = vector_copy(run.y);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_done(&run, CPIntegratorReInit(run.mem, 1.0, run.y));
  for (int i = 1; i <= 10; i++) {
    ck_assert_done(&run, one_to(&run, 1.0 - 0.1 * i));
    ck_assert_double_eq(run.t, 1.0 - 0.1 * i);
    ck_assert_double_le(one_error(&run, run.t, run.y), 2.0 * bound(1.0e-8, 1.0));
  }
  ck_assert_double_lt(one_stats(&run).hlast, 0.0);
  N_VDestroy(start);
  one_close(&run);
}
END_TEST

/* ---- output ---- */

/* Steps to t = 2; their ends are written to ends [MAX]. With output: interpolated states and
 * derivatives in each. */
enum { MAX = 400 };
static int march(sunrealtype (*ends)[PENDULUM_N], int output) {
  N_Vector dky = vector_of(PENDULUM_N, NULL);
  int n        = 0;
  for (; run.t < 2.0; n++) {
    ck_assert_int_lt(n, MAX);
    ck_assert_done(&run, one_step(&run));
    memcpy(ends[n], entries(run.y), sizeof ends[n]);
    const sunrealtype h = one_stats(&run).hlast;
    for (int i = 1; output && i < 4; i++)
      for (int k = 0; k < 2; k++)
        ck_assert_done(&run, CPIntegratorGetDky(run.mem, run.t - 0.25 * i * h, k, dky));
  }
  N_VDestroy(dky);
  return n;
}

START_TEST(output_changes_no_bit_of_the_trajectory) {
  static sunrealtype ends[2][MAX][PENDULUM_N];
  int n[2];
  for (int output = 0; output < 2; output++) {
    one_open(&run, one_methods[_i], _i == 2 || _i == 3 ? 1.0e-3 : 1.0e-6);
    n[output] = march(ends[output], output);
    ck_assert_int_eq(one_stats(&run).noutputs, output * 3 * n[output]);
    one_close(&run);
  }
  ck_assert_int_eq(n[0], n[1]);
  ck_assert_int_eq(memcmp(ends[0], ends[1], (size_t)n[0] * sizeof ends[0][0]), 0);
}
END_TEST

START_TEST(the_number_of_output_times_changes_no_bit_of_the_end) {
  N_Vector few = NULL;
  for (int many = 0; many < 2; many++) {
    one_open(&run, one_methods[_i], 1.0e-6);
    ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, 2.0));
    for (int i = 1; many && i < 200; i++) ck_assert_done(&run, one_to(&run, 0.01 * i));
    ck_assert_returns(&run, one_to(&run, 2.0), CV_TSTOP_RETURN);
    if (many) ck_assert_int_eq(same_bits(few, run.y), 1);
    else few = vector_copy(run.y);
    one_close(&run);
  }
  N_VDestroy(few);
}
END_TEST

START_TEST(unprojected_output_is_farther_off_the_manifold) {
  N_Vector y = vector_of(PENDULUM_N, NULL);
  one_open(&run, "DOP853", 1.0e-8);
  ck_assert_done(&run, one_to(&run, 0.5));
  const IntegratorCounters s = one_stats(&run);
  const sunrealtype between  = s.t - 0.4 * s.hlast;
  ck_assert_done(&run, CPIntegratorGetDky(run.mem, between, 0, y));
  const sunrealtype projected = violation_of(&run.world, y);
  ck_assert_done(&run, CPIntegratorSetProjOutput(run.mem, SUNFALSE));
  ck_assert_done(&run, CPIntegratorGetDky(run.mem, between, 0, y));
  ck_assert_double_gt(violation_of(&run.world, y), 10.0 * projected);
  ck_assert_int_eq(one_stats(&run).noutputs, s.noutputs + 1);
  N_VDestroy(y);
  one_close(&run);
}
END_TEST

START_TEST(ends_of_steps_are_given_as_they_are) {
  N_Vector y = vector_of(PENDULUM_N, NULL);
  one_open(&run, "DOP853", 1.0e-6);
  ck_assert_done(&run, one_step(&run));
  N_Vector first        = vector_copy(run.y);
  const sunrealtype one = run.t;
  ck_assert_done(&run, one_step(&run));
  ck_assert_done(&run, CPIntegratorGetDky(run.mem, one, 0, y));
  ck_assert_int_eq(same_bits(y, first), 1);
  ck_assert_done(&run, CPIntegratorGetDky(run.mem, run.t, 0, y));
  ck_assert_int_eq(same_bits(y, run.y), 1);
  ck_assert_int_eq(one_stats(&run).nfe_output, 0);
  N_VDestroy(first);
  N_VDestroy(y);
  one_close(&run);
}
END_TEST

/* The Taylor series from any point of the step: all derivatives of the interpolation polynomial. */
START_TEST(all_derivatives_belong_to_one_polynomial) {
  static const int degree[] = {7, 4, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 7, 3, 4, 4, 6, 8, 4};
  N_Vector d = vector_of(PENDULUM_N, NULL), sum = vector_of(PENDULUM_N, NULL);
  one_open(&run, one_methods[_i], 1.0e-3);
  ck_assert_done(&run, CPIntegratorSetProjOutput(run.mem, SUNFALSE));
  for (int i = 0; i < 3; i++) ck_assert_done(&run, one_step(&run));
  const sunrealtype h = one_stats(&run).hlast, t = run.t - 0.3 * h;
  sunrealtype power = 1.0;
  for (int k = 0; k <= degree[_i]; k++) {
    ck_assert_done(&run, CPIntegratorGetDky(run.mem, t, k, d));
    N_VLinearSum(1.0, sum, power, d, sum);
    power *= 0.3 * h / (k + 1);
  }
  /* coefficients are below 100 and of alternating sign */
  ck_assert_double_le(max_distance(sum, run.y), 1.0e-12);
  refused(&run, CPIntegratorGetDky(run.mem, t, degree[_i] + 1, d), CV_BAD_K, "k");
  refused(&run, CPIntegratorGetDky(run.mem, t, -1, d), CV_BAD_K, "k", "-1");
  refused(&run, CPIntegratorGetDky(run.mem, run.t + h, 0, d), CV_BAD_T, "last step");
  refused(&run, CPIntegratorGetDky(run.mem, run.t - 2.0 * h, 0, d), CV_BAD_T, "last step");
  N_VDestroy(d);
  N_VDestroy(sum);
  one_close(&run);
}
END_TEST

/* ---- counters ---- */

static int first_same_as_last(int method) {
  return strstr(one_methods[method], "BS54") || strstr(one_methods[method], "BS32") ||
         strstr(one_methods[method], "BOGACKI") || strstr(one_methods[method], "DORMAND");
}

START_TEST(counters_are_those_of_the_callbacks) {
  one_open(&run, one_methods[_i], 1.0e-5);
  for (int i = 1; i <= 20; i++) ck_assert_done(&run, one_to(&run, 0.1 * i));
  const IntegratorCounters s = one_stats(&run);
  ck_assert_int_eq(s.nfe, run.world.f_calls);
  ck_assert_int_eq(s.nattempts, s.nst + s.netf + s.nrhsfails + s.nprojfails);
  /* rejected steps are not projected, unless the last stage is f there */
  ck_assert_int_eq(s.nproj, first_same_as_last(_i) ? s.nattempts : s.nst);
  ck_assert_int_eq(s.noutputs, 20);
  ck_assert_int_le(s.nce, run.world.c_calls); /* which include those for output */
  ck_assert_int_le(s.nje, run.world.jac_calls);
  ck_assert_int_ge(s.niters, s.nproj);

  ck_assert_double_ge(s.maxcorrection, s.correction);
  ck_assert_int_eq(s.njev + s.nlinsetups + s.nni + s.nsolvefails, 0);
  one_close(&run);
}
END_TEST

/* Without output, and after the comparison of G with differences of c, which is made once */
START_TEST(evaluations_of_the_constraints_are_counted_exactly) {
  one_open(&run, one_methods[_i], 1.0e-5);
  ck_assert_done(&run, one_step(&run));
  one_restart(&run, 0.0);
  run.world.c_calls = run.world.jac_calls = run.world.f_calls = 0;
  while (run.t < 1.0) ck_assert_done(&run, one_step(&run));
  const IntegratorCounters s = one_stats(&run);
  ck_assert_int_eq(s.nfe, run.world.f_calls);
  ck_assert_int_eq(s.nce, run.world.c_calls);
  ck_assert_int_eq(s.nje, run.world.jac_calls);
  one_close(&run);
}
END_TEST

START_TEST(estimates_are_projected_only_where_that_is_asked_for) {
  one_open(&run, one_methods[_i], 1.0e-5);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(one_stats(&run).nerrproj, 0);
  ck_assert_done(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  const long int before = one_stats(&run).nattempts;
  ck_assert_done(&run, one_to(&run, 2.0));
  const IntegratorCounters s = one_stats(&run);
  ck_assert_int_eq(s.nerrproj, (s.nattempts - before) * (_i == 0 ? 2 : 1)); /* two estimates */
  one_close(&run);
}
END_TEST

/* A projected estimate lies in the tangent space: its radial part is zero. */
START_TEST(the_projected_estimate_is_tangential) {
  N_Vector e = vector_of(PENDULUM_N, NULL);
  one_open(&run, one_methods[_i], 1.0e-4);
  ck_assert_done(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  ck_assert_done(&run, one_step(&run));
  ck_assert_int_eq(CPProjectorSetUserData(run.P, &run.world), CP_SUCCESS); /* new factors */
  ck_assert_done(&run, one_step(&run));
  ck_assert_done(&run, CPIntegratorGetEstLocalErrors(run.mem, e));
  const sunrealtype radial = entries(e)[0] * entries(run.y)[0] + entries(e)[1] * entries(run.y)[1];
  /* with factors of the state before its last correction, which is below 1e3 tolerances */
  ck_assert_double_le(fabs(radial), 0.1 * N_VMaxNorm(e));
  N_VDestroy(e);
  one_close(&run);
}
END_TEST

START_TEST(statistics_are_printed_in_both_formats) {
  char text[4096];
  one_open(&run, "DOP853", 1.0e-6);
  ck_assert_done(&run, one_to(&run, 1.0));
  for (int csv = 0; csv < 2; csv++) {
    FILE *out = tmpfile();
    ck_assert_ptr_nonnull(out);
    ck_assert_done(&run, CPObjectPrintStats(CP_OBJECT(run.mem), out,
                                            csv ? SUN_OUTPUTFORMAT_CSV : SUN_OUTPUTFORMAT_TABLE));
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    char line[64];
    snprintf(line, sizeof line, csv ? ",rhs_evals,%ld," : "rhs_evals                    = %ld\n",
             one_stats(&run).nfe);
    ck_assert_mentions(text, line);
    ck_assert_mentions(text, "projections");
  }
  one_close(&run);
}
END_TEST

/* ---- sizes ---- */

START_TEST(the_first_step_is_the_one_that_was_set) {
  one_open(&run, "DOP853", 1.0e-6);
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 1.0e-3));
  ck_assert_done(&run, one_step(&run));
  ck_assert_double_eq(run.t, 1.0e-3);
  ck_assert_double_eq(one_stats(&run).hfirst, 1.0e-3);
  ck_assert_int_eq(run.world.f_calls, 13); /* none to choose the size */
  refused(&run, CPIntegratorSetInitStep(run.mem, -1.0e-3), CP_ILL_INPUT, "direction", "-0.001");
  /* during the run it sets the next step */
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 2.0e-3));
  ck_assert_done(&run, one_step(&run));
  ck_assert_double_eq(one_stats(&run).hlast, 2.0e-3);
  one_restart(&run, 1.0);
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, -1.0e-3));
  refused(&run, one_to(&run, 2.0), CP_ILL_INPUT, "CPIntegratorSetInitStep", "-0.001", "2");
  ck_assert_done(&run, one_to(&run, 0.5));
  ck_assert_double_eq(one_stats(&run).hfirst, -1.0e-3);
  one_close(&run);
}
END_TEST

/* Where a tenth of a microsecond is the roundoff of time */
START_TEST(a_start_far_from_zero_is_one_like_others) {
  const sunrealtype far = 1.0e9;
  one_open(&run, one_methods[_i], 1.0e-6);
  ck_assert_done(&run, CPIntegratorReInit(run.mem, far, run.y));
  ck_assert_done(&run, one_to(&run, far + 1.0));
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0) + 1.0e-5);
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 1.0e-9));
  refused(&run, one_to(&run, far + 9.0), CV_TOO_MUCH_ACC, "1e-09", "roundoff of t");
  one_close(&run);
}
END_TEST

START_TEST(steps_keep_within_their_bounds) {
  one_open(&run, one_methods[_i], 1.0e-3);
  ck_assert_done(&run, CPIntegratorSetMaxStep(run.mem, 0.02));
  while (run.t < 0.5) {
    const sunrealtype before = run.t;
    ck_assert_done(&run, one_step(&run));
    ck_assert_double_le(run.t - before, 0.02 * (1.0 + 1.0e-12));
  }
  refused(&run, CPIntegratorSetMinStep(run.mem, 0.03), CP_ILL_INPUT, "0.03", "0.02");
  ck_assert_done(&run, CPIntegratorSetMinStep(run.mem, 0.01));
  ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 1.0e-5));
  ck_assert_done(&run, CPIntegratorSStolerances(run.mem, 1.0, 1.0));
  while (run.t < 1.0) {
    const sunrealtype before = run.t;
    ck_assert_done(&run, one_step(&run));
    ck_assert_double_ge(run.t - before, 0.01 * (1.0 - 1.0e-12));
  }
  one_close(&run);
}
END_TEST

START_TEST(fixed_steps_end_at_the_stop_time) {
  one_open(&run, "ARKODE_DORMAND_PRINCE_7_4_5", 1.0e-10); /* a tolerance that the steps do not meet */
  ck_assert_done(&run, CPIntegratorSetFixedStep(run.mem, 0.1));
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, 0.25));
  ck_assert_returns(&run, one_to(&run, 5.0), CV_TSTOP_RETURN);
  ck_assert_double_eq(run.t, 0.25);
  ck_assert_int_eq(one_stats(&run).nst, 3);
  ck_assert_done(&run, one_to(&run, 0.34)); /* the time is no longer in force */
  ck_assert_double_eq(one_stats(&run).t, 0.35);
  ck_assert_int_eq(one_stats(&run).netf, 0);
  one_close(&run);
}
END_TEST

START_TEST(a_stop_time_is_hit_and_cleared) {
  one_open(&run, one_methods[_i], 1.0e-6);
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, 0.3));
  ck_assert_done(&run, one_to(&run, 0.2));
  ck_assert_returns(&run, one_to(&run, 0.3), CV_TSTOP_RETURN);
  ck_assert_double_eq(run.t, 0.3);
  ck_assert_double_eq(one_stats(&run).t, 0.3);
  ck_assert_done(&run, one_to(&run, 0.4));
  refused(&run, CPIntegratorSetStopTime(run.mem, 0.1), CP_ILL_INPUT, "tstop", "0.1");
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, 0.6));
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, INFINITY));
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_double_le(one_error(&run, run.t, run.y), bound(1.0e-6, 1.0));
  one_close(&run);
}
END_TEST

/* A step that tstop has cut contains no information about the size that the error permits. */
START_TEST(the_step_size_survives_a_stop_time) {
  one_open(&run, "DOP853", 1.0e-6);
  ck_assert_done(&run, one_to(&run, 1.0));
  const IntegratorCounters s = one_stats(&run);
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, s.t + 1.0e-3 * s.hnext));
  ck_assert_returns(&run, one_to(&run, 5.0), CV_TSTOP_RETURN);
  ck_assert_double_ge(one_stats(&run).hnext, s.hnext);
  one_close(&run);
}
END_TEST

/* ---- restarts ---- */

/* One evaluation at the new start, and no search for a first step */
START_TEST(a_restart_keeps_the_step_size_and_clears_counters) {
  one_open(&run, one_methods[_i], 1.0e-6);
  ck_assert_done(&run, one_to(&run, 1.0));
  const sunrealtype next = one_stats(&run).hnext;
  one_restart(&run, 1.0);
  const IntegratorCounters s = one_stats(&run);
  ck_assert_int_eq(s.nst + s.nattempts + s.nfe + s.nproj + s.nce + s.nje, 0);
  ck_assert_double_eq(s.hnext, next);
  run.world.f_calls = 0;
  ck_assert_done(&run, one_step(&run));
  if (one_stats(&run).nattempts == 1) ck_assert_double_eq(one_stats(&run).hfirst, next);
  ck_assert_int_eq(one_stats(&run).nfe, run.world.f_calls);
  one_close(&run);
}
END_TEST

START_TEST(an_inconsistent_start_is_refused_and_made_consistent) {
  N_Vector y = vector_of(PENDULUM_N, NULL);
  one_open(&run, "DOP853", 1.0e-6);
  entries(run.y)[0] = 1.01;
  ck_assert_done(&run, CPIntegratorReInit(run.mem, 0.0, run.y));
  refused(&run, one_to(&run, 1.0), CP_INCONSISTENT_IC, "constraint 0", "CPIntegratorCalcIC",
          "t = 0");
  ck_assert_int_eq(run.world.f_calls, 0);
  ck_assert_done(&run, CPIntegratorCalcIC(run.mem, y));
  ck_assert_double_le(violation_of(&run.world, y), 1.0e-9);
  ck_assert_done(&run, one_to(&run, 1.0));
  refused(&run, CPIntegratorCalcIC(run.mem, NULL), CP_TOO_LATE, "CPIntegratorReInit");
  ck_assert_done(&run, CPIntegratorSetProjector(run.mem, NULL));
  refused(&run, CPIntegratorCalcIC(run.mem, NULL), CP_NO_PROJECTOR, "CPIntegratorSetProjector");
  ck_assert_done(&run, one_to(&run, 1.5)); /* without a search */
  N_VDestroy(y);
  one_close(&run);
}
END_TEST

/* Without a projector the methods are the plain ones: the state drifts off the constraints. */
START_TEST(without_projector_constraints_drift) {
  one_open(&run, "ARKODE_BOGACKI_SHAMPINE_4_2_3", 1.0e-4);
  ck_assert_done(&run, CPIntegratorSetProjector(run.mem, NULL));
  ck_assert_done(&run, one_to(&run, 3.0));
  const Run as = {.world = run.world, .tol = 1.0e-4};
  ck_assert_double_gt(violation_of(&run.world, run.y), 10.0 * violation_bound(&as));
  ck_assert_int_eq(one_stats(&run).nproj, 0);
  ck_assert_int_eq(run.world.c_calls, 0);
  one_close(&run);
}
END_TEST

/* ---- tolerances ---- */

static int weights(N_Vector y, N_Vector ewt, void *user_data) {
  const World *world = user_data;
  N_VAbs(y, ewt);
  N_VScale(1.0e-6, ewt, ewt);
  N_VAddConst(ewt, 1.0e-6, ewt);
  if (!(N_VMin(ewt) > 0.0)) return -1;
  N_VInv(ewt, ewt);
  return world->p.L == 1.0 ? 0 : -1; /* this is the user's pointer */
}

/* y' = 1: steps of one size would all be rounded in the same direction at a large t. */
static int unit_rate(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)y, (void)user_data;
  N_VConst(1.0, ydot);
  return 0;
}

START_TEST(steps_are_as_long_as_the_time_that_they_take) {
  const sunrealtype t0 = 1.0e6;
  sunrealtype t        = t0;
  N_Vector y           = VECTOR(0.0);
  CPIntegrator mem     = CPIntegratorCreate(one_methods[_i], test_context);
  ck_assert_int_eq(CPIntegratorInit(mem, unit_rate, t0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetFixedStep(mem, 0.01), CP_SUCCESS);
  for (int k = 0; k < 400; k++)
    ck_assert_int_eq(CPIntegratorEvolve(mem, t0 + 10.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(y)[0] - (t - t0)), 1.0e-12);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

START_TEST(three_ways_of_the_same_tolerances_give_the_same_bits) {
  N_Vector first = NULL, abstol = VECTOR(1.0e-6, 1.0e-6, 1.0e-6, 1.0e-6);
  for (int k = 0; k < 3; k++) {
    one_open(&run, "DOP853", 1.0e-6);
    if (k == 1) ck_assert_done(&run, CPIntegratorSVtolerances(run.mem, 1.0e-6, abstol));
    if (k == 2) ck_assert_done(&run, CPIntegratorWFtolerances(run.mem, weights));
    ck_assert_done(&run, one_to(&run, 1.0));
    if (k) ck_assert_int_eq(same_bits(first, run.y), 1);
    else first = vector_copy(run.y);
    one_close(&run);
  }
  N_VDestroy(first);
  N_VDestroy(abstol);
}
END_TEST

/* The state is then off the manifold by many of the new tolerances. */
START_TEST(tolerances_may_be_changed_between_steps) {
  one_open(&run, "DOP853", 1.0e-3);
  ck_assert_done(&run, one_to(&run, 1.0));
  const sunrealtype loose = fabs(one_stats(&run).hlast);
  ck_assert_done(&run, CPIntegratorSStolerances(run.mem, 1.0e-11, 1.0e-11));
  run.t = one_stats(&run).t;
  while (run.t < 1.5) { ck_assert_done(&run, one_step(&run)); }
  ck_assert_double_lt(fabs(one_stats(&run).hlast), 0.5 * loose);
  one_close(&run);
}
END_TEST

TEST_SUITE(steps) {
  Suite *suite = suite_create("steps of one-step methods");
  TCase *tc    = tcase_create("steps");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_set_timeout(tc, 60);
  const int n = n_one_methods;
  tcase_add_loop_test(tc, errors_fall_with_the_tolerance_on_the_manifold, 0, n);
  tcase_add_loop_test(tc, backward_integration_leads_back, 0, n);
  tcase_add_loop_test(tc, output_changes_no_bit_of_the_trajectory, 0, n);
  tcase_add_loop_test(tc, the_number_of_output_times_changes_no_bit_of_the_end, 0, n);
  tcase_add_test(tc, unprojected_output_is_farther_off_the_manifold);
  tcase_add_test(tc, ends_of_steps_are_given_as_they_are);
  tcase_add_loop_test(tc, all_derivatives_belong_to_one_polynomial, 0, n);
  tcase_add_loop_test(tc, counters_are_those_of_the_callbacks, 0, n_explicit_methods);
  tcase_add_loop_test(tc, evaluations_of_the_constraints_are_counted_exactly, 0, n);
  tcase_add_loop_test(tc, estimates_are_projected_only_where_that_is_asked_for, 0,
                      n_explicit_methods);
  tcase_add_loop_test(tc, the_projected_estimate_is_tangential, 0, n_explicit_methods);
  tcase_add_test(tc, statistics_are_printed_in_both_formats);
  tcase_add_test(tc, the_first_step_is_the_one_that_was_set);
  tcase_add_loop_test(tc, a_start_far_from_zero_is_one_like_others, 0, n);
  tcase_add_loop_test(tc, steps_keep_within_their_bounds, 0, n);
  tcase_add_test(tc, fixed_steps_end_at_the_stop_time);
  tcase_add_loop_test(tc, a_stop_time_is_hit_and_cleared, 0, n);
  tcase_add_test(tc, the_step_size_survives_a_stop_time);
  tcase_add_loop_test(tc, a_restart_keeps_the_step_size_and_clears_counters, 0, n);
  tcase_add_test(tc, an_inconsistent_start_is_refused_and_made_consistent);
  tcase_add_test(tc, without_projector_constraints_drift);
  tcase_add_loop_test(tc, steps_are_as_long_as_the_time_that_they_take, 0, n);
  tcase_add_test(tc, three_ways_of_the_same_tolerances_give_the_same_bits);
  tcase_add_test(tc, tolerances_may_be_changed_between_steps);
  suite_add_tcase(suite, tc);
  return suite;
}
