/* CPMech along reference trajectories (*.csv in this folder, with their sources): pendulum,
 * slider-crank, car axis, knife edge, Andrews' squeezing mechanism and the flexible slider-crank, by
 * BDF with structured Newton and by Adams' methods. The bound on the error is that of trajectories.c,
 * in the norm that is scaled with the size of each component:
 *
 *   N * condition * sqrt(n) * tol / 6      after N steps
 *
 * The flexible slider-crank is judged by its positions: where one of its rod is off by a tolerance, the
 * rod oscillates with up to 40,000 tolerances per second.
 */
#include "mechanics_support.h"

#include <math.h>

static int judged_by_positions(int id) { return id == FLEXIBLE_CRANK; }

static sunrealtype judged_error(int id, const PlanarFigures *f) {
  return judged_by_positions(id) ? f->positions : f->error;
}

static sunrealtype judged_bound(int id, const MechCase *c, sunrealtype tol, long int steps) {
  return mech_error_bound(c, judged_by_positions(id) ? c->condition_of_positions : c->condition,
                          tol, steps);
}

static PlanarFigures figures_of(MechCase *c, const PlanarOptions *options) {
  MechRun *run          = planar_run_create(c, options);
  const PlanarFigures f = planar_run_over_table(run, c);
  mech_run_free(&run);
  return f;
}

/* ---- all metrics ---- */

/* Loop index: mechanism, method, metric */
enum { NUM_METRICS = 4, NUM_COMBINATIONS = NUM_MECH_CASES * 2 * NUM_METRICS };

START_TEST(every_metric_stays_within_the_error_bound) {
  static const CPMechMetric metrics[NUM_METRICS] = {CP_METRIC_ERROR, CP_METRIC_KINETIC,
                                                    CP_METRIC_NEWTON, CP_METRIC_L2};
  const int id                                   = _i / (2 * NUM_METRICS);
  const PlanarOptions options                    = {.lmm    = _i / NUM_METRICS % 2 ? CV_ADAMS : CV_BDF,
                                                    .tol    = 1e-7,
                                                    .metric = metrics[_i % NUM_METRICS]};
  MechCase c                                     = mech_case(id);
  if (options.lmm == CV_ADAMS && options.metric == CP_METRIC_NEWTON)
    return; /* has no iteration matrix */

  const PlanarFigures f = figures_of(&c, &options);
  if (wants_figures())
    printf("%-14s %-5s metric %d: steps %6ld, error %.2e (positions %.2e), bound %.2e, |c| %.1e\n",
           c.name, method_name(options.lmm), (int)options.metric, f.steps, f.error, f.positions,
           judged_bound(id, &c, options.tol, f.steps), f.violation);
  ck_assert_double_le(judged_error(id, &f), judged_bound(id, &c, options.tol, f.steps));
  ck_assert_double_le(f.violation, options.tol);
}
END_TEST

/* ---- over the tolerances from 1e-5 to 1e-10 ---- */

enum { NUM_TOLERANCES = 11 };

static sunrealtype tolerance(int i) { return pow(10, -5 - i / 2.0); }

static sunrealtype error_at(int id, MechCase *c, int lmm, sunrealtype tol) {
  const PlanarOptions options = {.lmm = lmm, .tol = tol};
  const PlanarFigures f       = figures_of(c, &options);
  ck_assert_double_le(judged_error(id, &f), judged_bound(id, c, tol, f.steps));
  return judged_error(id, &f);
}

/* Largest of the errors at three neighbouring tolerances: a single one may be small by chance. */
static sunrealtype typical_error(int id, MechCase *c, int lmm, sunrealtype tol) {
  return fmax(error_at(id, c, lmm, tol),
              fmax(error_at(id, c, lmm, tol * 0.8), error_at(id, c, lmm, tol / 0.8)));
}

/* Least-squares slope of log(error) over log(tolerance), with the bound of trajectories.c: 0.775
 * minus twice the standard deviation of errors that scatter by half a decade. An error below the
 * tolerance counts as the tolerance, since it need not fall (flexible crank, BDF: a fiftieth at
 * 1e-5). Loop index: mechanism and method. */
START_TEST(error_falls_with_the_tolerance) {
  const int id   = _i / 2;
  const int lmm  = _i % 2 ? CV_ADAMS : CV_BDF;
  MechCase c     = mech_case(id);
  sunrealtype xy = 0, xx = 0; /* x = log10(tolerance) without its mean, -7.5 */
  for (int i = 0; i < NUM_TOLERANCES; i++) {
    const sunrealtype x     = log10(tolerance(i)) + 7.5,
                      error = fmax(typical_error(id, &c, lmm, tolerance(i)), tolerance(i));
    if (wants_figures())
      printf("%-14s %-5s tol %.1e error %.2e\n", c.name, method_name(lmm), tolerance(i), error);
    xx += x * x;
    xy += x * log10(error);
  }
  if (wants_figures()) printf("%-14s %-5s slope %.2f\n", c.name, method_name(lmm), xy / xx);
  ck_assert_double_ge(xy / xx, 0.775 - 2 * 0.095);
}
END_TEST

TEST_SUITE(mechanics_trajectories) {
  Suite *suite = suite_create("mechanics_trajectories");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, every_metric_stays_within_the_error_bound, 0, NUM_COMBINATIONS);
  tcase_add_loop_test(tcase, error_falls_with_the_tolerance, 0, 2 * NUM_MECH_CASES);
  suite_add_tcase(suite, tcase);
  return suite;
}
