/* Projected runs against reference trajectories: pendulum, slider-crank, car axis (their tables
 * and sources: *.csv in this folder) and knife edge (closed form).
 *
 * The bound on the error. Each step adds a local error whose weighted RMS norm CVODES keeps below
 * 1 and aims at 1/6 (its step size carries the factor 6), so |error_i| <= sqrt(n) (1 + |y_i|) tol
 * / 6 typically. A perturbation grows at most by the condition of the mechanism until the end, so
 * N steps leave at most
 *
 *   N * condition * sqrt(n) * (1 + max |y|) * tol / 6
 *
 * if all had the same sign and direction. They have not: errors lie well below. That the error
 * also falls as the tolerance does is tested apart.
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

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
enum { NUM_COMBINATIONS = NUM_MECHANISMS * 2 * 4 * 2 * 2 };

START_TEST(every_combination_stays_within_the_error_bound) {
  static const CPLinSol solvers[4] = {CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_QRP, CP_LINSOL_AUTO};
  Mechanism mech                   = mechanism((MechanismId)(_i / 32));
  const Options options            = {.lmm                  = _i / 16 % 2 ? CV_ADAMS : CV_BDF,
                                      .tol                  = 1e-7,
                                      .linsol               = solvers[_i / 4 % 4],
                                      .norm                 = _i / 2 % 2 ? CP_NORM_L2 : CP_NORM_ERROR,
                                      .difference_quotients = _i % 2};
  Run run                          = run_create(&mech, &options);

  const sunrealtype error = run_over_table(&run, &mech);
  ck_assert_double_le(error, error_bound(&mech, options.tol, run_steps(&run)));

  CPProjectorStats stats;
  ck_assert_int_eq(CPProjectorGetStats(run.projector, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.rank, mech.m);
  ck_assert_int_eq(stats.linsol,
                   options.linsol == CP_LINSOL_AUTO ? CP_LINSOL_SCHUR : options.linsol);
  ck_assert(options.difference_quotients ? stats.nceDQ > 0 : stats.nceDQ == 0);
  if (getenv("CPODES_TEST_FIGURES"))
    printf("%-12s %-5s solver %d norm %d dq %d: steps %5ld, error %.2e, bound %.2e\n", mech.name,
           method_name(options.lmm), (int)options.linsol, (int)options.norm,
           options.difference_quotients, run_steps(&run), error,
           error_bound(&mech, options.tol, run_steps(&run)));
  run_free(&run);
}
END_TEST

/* Two decades of the tolerance: proportional errors would fall by 100, and CVODES' by some 6 per
   decade, 36 (its own pendulum example: 2.3e-3, 7.8e-5, 1.8e-6 at 1e-5, 1e-7, 1e-9); 10 leaves
   room for errors that happen to cancel at one tolerance. Loop index: mechanism and method. */
START_TEST(a_hundredth_of_the_tolerance_gives_a_tenth_of_the_error) {
  Mechanism mech  = mechanism((MechanismId)(_i / 2));
  Options options = {.lmm = _i % 2 ? CV_ADAMS : CV_BDF};

  sunrealtype last = INFINITY;
  for (int decade = 5; decade <= 9; decade += 2) {
    options.tol             = pow(10, -decade);
    Run run                 = run_create(&mech, &options);
    const sunrealtype error = run_over_table(&run, &mech);
    ck_assert_double_le(error, last / 10);
    if (getenv("CPODES_TEST_FIGURES"))
      printf("%-12s %-5s tol 1e-%d: steps %5ld, error %.2e\n", mech.name, method_name(options.lmm),
             decade, run_steps(&run), error);
    last = error;
    run_free(&run);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("trajectories");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, every_combination_stays_within_the_error_bound, 0, NUM_COMBINATIONS);
  tcase_add_loop_test(tcase, a_hundredth_of_the_tolerance_gives_a_tenth_of_the_error, 0,
                      2 * NUM_MECHANISMS);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
