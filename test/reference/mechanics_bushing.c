/* A slider-crank whose guide is a stiff bushing (models/bushing_crank.h): the metric of the projection
 * decides how many steps BDF takes, since the bushing acts along the normals of the constraints.
 */
#include "mechanics_support.h"

#include "models/bushing_crank.h"
#include <math.h>

static const sunrealtype t_end = 20;
enum { N_STATE = 2 * BUSHING_CRANK_NQ, NUM_TOLERANCES = 21 };

static BushingCrank bushing_crank;

static void setup(void) { bushing_crank = bushing_crank_stiff(); }

/* To t_end; y [8]: out. Returns the number of steps */
static long int steps_of(const PlanarOptions *options, sunrealtype *y) {
  const CPEquations model = bushing_crank_model();
  N_Vector start          = vector_of(N_STATE, NULL);
  bushing_crank_initial(&bushing_crank, start);
  MechRun *run = planar_run_of(&model, &bushing_crank, entries(start), options);
  mech_run_to(run, t_end);
  for (int i = 0; i < N_STATE; i++) y[i] = entries(run->y)[i];
  const long int steps = mech_run_steps(run);
  mech_run_free(&run);
  N_VDestroy(start);
  return steps;
}

/* Geometric mean of the steps over tolerances close to 1e-8: steps of single runs scatter by a tenth. */
static sunrealtype mean_steps(CPMechMetric metric, int without_projection) {
  sunrealtype sum_of_logs = 0, y[N_STATE];
  for (int i = 0; i < NUM_TOLERANCES; i++) {
    const PlanarOptions options = {.lmm                = CV_BDF,
                                   .tol                = 1e-8 * pow(1.03, i - NUM_TOLERANCES / 2),
                                   .metric             = metric,
                                   .without_projection = without_projection};
    sum_of_logs += log((sunrealtype)steps_of(&options, y));
  }
  const sunrealtype mean = exp(sum_of_logs / NUM_TOLERANCES);
  if (wants_figures())
    printf("tol 1e-8, metric %d%s: %.0f steps\n", (int)metric,
           without_projection ? ", not projected" : "", mean);
  return mean;
}

/* In some metrics the projection excites the stiff modes. With CVODES' convergence test, the
 * remaining errors of Newton's iteration cost steps: 1,174 without projection, 712 in Newton's
 * metric, 2,866 with error weights, 5,308 in the kinetic metric. */
/* Projected norms count three times: 3^(1/6) = 1.2 times the steps at order 5. */
START_TEST(no_metric_takes_more_steps_than_no_projection) {
  static const CPMechMetric metrics[] = {CP_METRIC_NEWTON, CP_METRIC_ERROR, CP_METRIC_KINETIC};
  const sunrealtype none              = mean_steps(CP_METRIC_ERROR, 1);
  for (int k = 0; k < 3; k++) ck_assert_double_le(mean_steps(metrics[k], 0), 1.05 * 1.2 * none);
  ck_assert_double_le(none, 800);
}
END_TEST

/* Geometric mean of the errors at the end over tolerances close to tol, against `exact`. Over seven
 * of them the mean itself still scatters by a factor of three (metric ERROR, 1e-6: 1.5e-4; over 21
 * tolerances 4.4e-4). */
static sunrealtype mean_error(CPMechMetric metric, sunrealtype tol, const sunrealtype *exact) {
  sunrealtype sum_of_logs = 0, y[N_STATE];
  for (int k = 0; k < NUM_TOLERANCES; k++) {
    const PlanarOptions options = {
        .lmm = CV_BDF, .tol = tol * pow(1.03, k - NUM_TOLERANCES / 2), .metric = metric};
    sunrealtype error = 0;
    steps_of(&options, y);
    for (int i = 0; i < N_STATE; i++) error = fmax(error, fabs(y[i] - exact[i]));
    sum_of_logs += log(error);
  }
  return exp(sum_of_logs / NUM_TOLERANCES);
}

/* All metrics integrate the same motion. The errors at tolerances around 1e-6 and 1e-8 are against
 * a run at 1e-11 without projection; their quotient is at least that of the tolerances to the power
 * 0.775 - 2 * 0.095 (trajectories.c). Those of single runs scatter, since the springs along the
 * normals are excited by chance. */
START_TEST(every_metric_integrates_the_same_motion) {
  const CPMechMetric metric = (CPMechMetric)_i;
  const PlanarOptions fine  = {.lmm = CV_BDF, .tol = 1e-11, .without_projection = 1};
  sunrealtype exact[N_STATE];
  steps_of(&fine, exact);
  const sunrealtype coarse = mean_error(metric, 1e-6, exact),
                    tight  = mean_error(metric, 1e-8, exact);
  if (wants_figures()) printf("metric %d: errors %.1e, %.1e\n", _i, coarse, tight);
  ck_assert_double_le(tight, coarse * pow(1e-2, 0.775 - 2 * 0.095));
}
END_TEST

TEST_SUITE(mechanics_bushing) {
  Suite *suite = suite_create("mechanics_bushing");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 120);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tcase, setup, NULL);
  tcase_add_test(tcase, no_metric_takes_more_steps_than_no_projection);
  tcase_add_loop_test(tcase, every_metric_integrates_the_same_motion, CP_METRIC_ERROR,
                      CP_METRIC_L2 + 1);
  suite_add_tcase(suite, tcase);
  return suite;
}
