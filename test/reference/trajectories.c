/* Projected runs against reference trajectories: pendulum, slider-crank, car axis (tables and
 * their sources: *.csv in this folder) and knife edge (closed form).
 *
 * The bound on the error. Each step adds a local error whose weighted RMS norm CVODES keeps below
 * 1 and aims at 1/6 (the factor 6 is in its choice of the step), typically |error_i| <= sqrt(n) (1
 * + |y_i|) tol / 6. A perturbation grows at most by the condition of the mechanism until the end,
 * so N steps leave at most
 *
 *   N * condition * sqrt(n) * (1 + max |y|) * tol / 6
 *
 * if all have the same sign and the worst direction. They have not, so this bound is generous;
 * sharper are the tests over many tolerances, against the slope and the errors of CVODES without
 * projection.
 */
#include "reference.h"

#include <math.h>
#include <models/counters.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

static sunrealtype largest_component(const Mechanism *mech) {
  sunrealtype largest = 0;
  for (int i = 0; i < mech->nsamples; i++)
    for (int j = 0; j < mech->n; j++) largest = fmax(largest, fabs(mech->samples[i].y[j]));
  return largest;
}

static sunrealtype error_bound(const Mechanism *mech, sunrealtype tol, long int steps) {
  return (sunrealtype)steps * mech->condition * sqrt((sunrealtype)mech->n) *
         (1 + largest_component(mech)) * tol / 6;
}

/* Loop index: mechanism, method, solver, norm, Jacobian */
enum { NUM_COMBINATIONS = NUM_MECHANISMS * 2 * 3 * 2 * 2 };

START_TEST(every_combination_stays_within_the_error_bound) {
  static const CPLinSol solvers[3] = {CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_AUTO};
  Mechanism mech                   = mechanism((MechanismId)(_i / 24));
  const Options options            = {.lmm                  = _i / 12 % 2 ? CV_ADAMS : CV_BDF,
                                      .tol                  = 1e-7,
                                      .linsol               = solvers[_i / 4 % 3],
                                      .norm                 = _i / 2 % 2 ? CP_NORM_L2 : CP_NORM_ERROR,
                                      .difference_quotients = _i % 2};
  Run run                          = run_create(&mech, &options);

  const sunrealtype error = run_over_table(&run, &mech);
  ck_assert_double_le(error, error_bound(&mech, options.tol, run_steps(&run)));

  ProjectorCounters stats;
  ck_assert_int_eq(projector_counters(run.projector, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.rank, mech.m);
  ck_assert_int_eq(stats.linsol,
                   options.linsol == CP_LINSOL_AUTO ? CP_LINSOL_SCHUR : options.linsol);
  ck_assert(options.difference_quotients ? stats.nceDQ > 0 : stats.nceDQ == 0);
  if (wants_figures())
    printf("%-12s %-5s solver %d norm %d dq %d: steps %5ld, error %.2e, bound %.2e\n", mech.name,
           method_name(options.lmm), (int)options.linsol, (int)options.norm,
           options.difference_quotients, run_steps(&run), error,
           error_bound(&mech, options.tol, run_steps(&run)));
  run_free(&run);
}
END_TEST

/* ---- in the metric of kinetic energy ---- */

/* M = diag(J1, m2, J2) for coordinates and velocities alike; its inverse as an operator */
static int crank_mass(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  const SliderCrank *s      = user_data;
  const sunrealtype mass[3] = {s->J1, s->m2, s->J2};
  const int sparse          = SUNMatGetID(M) == SUNMATRIX_SPARSE;
  (void)t, (void)y;
  for (int j = 0; j < SLIDER_CRANK_N; j++) {
    if (sparse) SUNSparseMatrix_Data(M)[j] = mass[j % 3];
    else SM_ELEMENT_D(M, j, j) = mass[j % 3];
  }
  return 0;
}

static SUNMatrix diagonal_template(void) {
  SUNMatrix M =
      SUNSparseMatrix(SLIDER_CRANK_N, SLIDER_CRANK_N, SLIDER_CRANK_N, CSC_MAT, test_context);
  ck_assert_ptr_nonnull(M);
  for (sunindextype j = 0; j < SLIDER_CRANK_N; j++) {
    SUNSparseMatrix_IndexPointers(M)[j + 1] = j + 1;
    SUNSparseMatrix_IndexValues(M)[j]       = j;
  }
  return M;
}

/* Loop index: form of the metric, method. All forms are one metric, so steps differ only by the
 * effect of roundoff. */
START_TEST(the_metric_of_kinetic_energy_stays_within_the_error_bound) {
  Mechanism mech        = mechanism(SLIDER_CRANK);
  const Options options = {.lmm = _i % 2 ? CV_ADAMS : CV_BDF, .tol = 1e-7};
  Run run               = run_create(&mech, &options);
  SUNMatrix M           = _i / 2 == 1 ? diagonal_template()
                                      : SUNDenseMatrix(SLIDER_CRANK_N, SLIDER_CRANK_N, test_context);
  ck_assert_int_eq(CPProjectorSetNorm(run.projector, CP_NORM_MATRIX, crank_mass, M), CP_SUCCESS);
  const sunrealtype error = run_over_table(&run, &mech);
  if (wants_figures())
    printf("kinetic energy, form %d, %s: steps %ld, error %.2e\n", _i / 2, method_name(options.lmm),
           run_steps(&run), error);
  ck_assert_double_le(error, error_bound(&mech, options.tol, run_steps(&run)));
  ck_assert_double_le(violation_at(&run, &mech, run.t, run.y), options.tol);
  SUNMatDestroy(M);
  run_free(&run);
}
END_TEST

/* ---- over the tolerances from 1e-5 to 1e-10 ---- */

enum { NUM_TOLERANCES = 11 };

static sunrealtype tolerance(int i) { return pow(10, -5 - i / 2.0); }

/* Error of the projected run */
static sunrealtype projected_error(Mechanism *mech, int lmm, sunrealtype tol) {
  const Options options   = {.lmm = lmm, .tol = tol};
  Run run                 = run_create(mech, &options);
  const sunrealtype error = run_over_table(&run, mech);
  run_free(&run);
  return error;
}

/* The same by CVODES without projection */
static sunrealtype plain_error(Mechanism *mech, int lmm, sunrealtype tol) {
  const Options options = {.lmm = lmm, .tol = tol};
  Run run               = run_create_plain(mech, &options);
  sunrealtype error     = 0;
  for (int i = 1; i < mech->nsamples; i++) {
    ck_assert_int_eq(CVode(run.cvode_mem, mech->samples[i].t, run.y, &run.t, CV_NORMAL), CV_SUCCESS);
    error = fmax(error, error_against(run.y, mech->samples[i].y));
  }
  run_free(&run);
  return error;
}

/* Largest of the errors at three neighbouring tolerances: a single one may be small by chance,
   since errors of both signs pass through zero. */
static sunrealtype typical_error(Mechanism *mech, int lmm, sunrealtype tol) {
  return fmax(projected_error(mech, lmm, tol),
              fmax(projected_error(mech, lmm, tol * 0.8), projected_error(mech, lmm, tol / 0.8)));
}

/* Least-squares slope of log(error) over log(tolerance). Proportional errors have 1; CVODES' own
   pendulum example has 0.775 (2.25e-3 at 1e-5, 1.79e-6 at 1e-9). Errors that scatter by a factor
   of 3, 0.5 decades, give a standard deviation 0.5 / sqrt(sum (x - mean)^2) = 0.5 / sqrt(27.5) =
   0.095 of the slope; twice that is allowed. Loop index: mechanism and method. */
START_TEST(error_falls_with_the_tolerance) {
  Mechanism mech = mechanism((MechanismId)(_i / 2));
  const int lmm  = _i % 2 ? CV_ADAMS : CV_BDF;

  sunrealtype xy = 0, xx = 0; /* x = log10(tolerance) without its mean, -7.5 */
  for (int i = 0; i < NUM_TOLERANCES; i++) {
    const sunrealtype x = log10(tolerance(i)) + 7.5;
    xx += x * x;
    xy += x * log10(typical_error(&mech, lmm, tolerance(i)));
  }
  if (wants_figures()) printf("%-12s %-5s slope %.2f\n", mech.name, method_name(lmm), xy / xx);
  ck_assert_double_ge(xy / xx, 0.775 - 2 * 0.095);
}
END_TEST

/* Geometric mean of the quotients of the errors with and without projection: at most what half a decade
 * of the tolerance makes, 10^(0.775 / 2) by the slope above. Projected estimates leave out most of the
 * normal part, which projections remove, so that steps are longer at the same tolerance. Loop index:
 * mechanism and method. */
START_TEST(projection_costs_no_accuracy) {
  Mechanism mech = mechanism((MechanismId)(_i / 2));
  const int lmm  = _i % 2 ? CV_ADAMS : CV_BDF;

  sunrealtype sum_of_logs = 0;
  for (int i = 0; i < NUM_TOLERANCES; i++)
    sum_of_logs +=
        log(projected_error(&mech, lmm, tolerance(i)) / plain_error(&mech, lmm, tolerance(i)));
  const sunrealtype mean = exp(sum_of_logs / NUM_TOLERANCES);
  if (wants_figures())
    printf("%-12s %-5s error with / without projection %.2f\n", mech.name, method_name(lmm), mean);
  ck_assert_double_le(mean, pow(10, 0.775 / 2));
}
END_TEST

TEST_SUITE(trajectories) {
  Suite *suite = suite_create("trajectories");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, every_combination_stays_within_the_error_bound, 0, NUM_COMBINATIONS);
  tcase_add_loop_test(tcase, the_metric_of_kinetic_energy_stays_within_the_error_bound, 0, 4);
  tcase_add_loop_test(tcase, error_falls_with_the_tolerance, 0, 2 * NUM_MECHANISMS);
  tcase_add_loop_test(tcase, projection_costs_no_accuracy, 0, 2 * NUM_MECHANISMS);
  suite_add_tcase(suite, tcase);
  return suite;
}
