/* The pendulum with period 2 of the SUNDIALS examples, against the errors and step counts that they
 * print.
 *
 * Source of the numbers: cvPendulum_dns (CVODE 6.4, BDF, Newton, dense, its own hook with a
 * hand-written L2 projection; cvPendulum_dns.out of the distribution) and cpsPend_dns, cpsPend_dnsL
 * (CPODES of SUNDIALS 2.7).
 *
 * At t = 30 the pendulum has just come to rest at (1, 0). On the manifold the state then follows
 * from y (an error of the energy) and vy (an error of the phase): x = 1 - y^2/2, vx = -y vy, so
 * only these two are compared. The same method with another projection makes errors of the same
 * size, but not the same errors; the two programs themselves differ by up to 1.5, which geometric
 * means over the tolerances must not exceed. Errors of single runs of either program scatter by a
 * factor of two, their step counts by 12 %. */
#include "reference.h"

#include <math.h>
#include <models/counters.h>

#define T_END             SUN_RCONST(30.0)
#define SCATTER_OF_ERRORS 4
#define SCATTER_OF_STEPS  1.12
#define LARGEST_MEAN      1.5

typedef struct {
  sunrealtype tol, y, vy; /* errors at t = 30 */
  long int steps;
} Published;

/* cvPendulum_dns; at 1e-5 and 1e-9 the larger errors of cpsPend_dns, from the same method. Its
 * steps there: 1415 and 6082. */
static const Published with_projection[] = {
    {1e-5, 3.2e-3, 9.9e-2, 1421},   {1e-6, 4.64e-4, 1.99e-2, 2089}, {1e-7, 7.79e-5, 3.51e-3, 3013},
    {1e-8, 1.37e-5, 5.99e-4, 4295}, {1e-9, 2.6e-6, 1.2e-4, 6542},
};
enum { NUM_PUBLISHED = sizeof with_projection / sizeof with_projection[0] };

static const Published cpsPend_dnsL = {1e-8, 5.49e-6, 2.854e-4, 4616};

static Mechanism pendulum_of_period_2(void) {
  Mechanism mech      = mechanism(PENDULUM);
  mech.par.pendulum.g = PENDULUM_G_PERIOD2;
  return mech;
}

static void compare(const Run *run, const Published *published) {
  const sunrealtype *s = entries(run->y);
  if (wants_figures())
    printf("tol %.0e: y %.2e (%.2e), vy %.2e (%.2e), steps %ld (%ld)\n", published->tol, s[1],
           published->y, s[3], published->vy, run_steps(run), published->steps);
  ck_assert_double_le(fabs(s[1]), SCATTER_OF_ERRORS * published->y);
  ck_assert_double_le(fabs(s[3]), SCATTER_OF_ERRORS * published->vy);
  ck_assert_double_gt(s[0], 0); /* and not at the other end of its swing */
  ck_assert_double_le((sunrealtype)run_steps(run), SCATTER_OF_STEPS * (sunrealtype)published->steps);
}

/* Loop index: norm */
START_TEST(bdf_is_as_accurate_as_the_hook_of_cvode) {
  sunrealtype y = 0, vy = 0;
  for (int k = 0; k < NUM_PUBLISHED; k++) {
    const Published *published = &with_projection[k];
    Mechanism mech             = pendulum_of_period_2();
    const Options options      = {
             .lmm = CV_BDF, .tol = published->tol, .norm = _i ? CP_NORM_L2 : CP_NORM_ERROR, .ctol = 1e-13};
    Run run = run_create(&mech, &options);

    run_to(&run, T_END);
    compare(&run, published);
    y += log(fabs(entries(run.y)[1]) / published->y) / NUM_PUBLISHED;
    vy += log(fabs(entries(run.y)[3]) / published->vy) / NUM_PUBLISHED;
    ck_assert_double_le(violation_at(&run, &mech, run.t, run.y), options.ctol);
    run_free(&run);
  }
  ck_assert_double_le(y, log(LARGEST_MEAN));
  ck_assert_double_le(vy, log(LARGEST_MEAN));
}
END_TEST

/* Three rows, the third the sum of the others: rank 2. Loop index: solver */
START_TEST(dependent_rows_give_the_published_trajectory) {
  Mechanism mech        = pendulum_of_period_2();
  mech.m                = PENDULUM_M_REDUNDANT;
  mech.c                = pendulum_constraints_redundant;
  mech.jac              = pendulum_jacobian_redundant;
  const Options options = {.lmm    = CV_BDF,
                           .tol    = cpsPend_dnsL.tol,
                           .linsol = _i ? CP_LINSOL_QR : CP_LINSOL_AUTO,
                           .norm   = CP_NORM_L2,
                           .ctol   = 1e-8};
  Run run               = run_create(&mech, &options);

  for (int t = 1; t <= T_END; t++) {
    run_to(&run, t);
    ck_assert_double_le(violation_at(&run, &mech, run.t, run.y), options.ctol);
  }
  compare(&run, &cpsPend_dnsL);

  ProjectorCounters stats;
  ck_assert_int_eq(projector_counters(run.projector, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.rank, 2);
  ck_assert_int_eq(stats.linsol, CP_LINSOL_QR); /* AUTO has switched to it */
  run_free(&run);
}
END_TEST

/* The solver that needs independent rows reports this. */
START_TEST(dependent_rows_are_refused_by_the_schur_complement) {
  Mechanism mech        = pendulum_of_period_2();
  mech.m                = PENDULUM_M_REDUNDANT;
  mech.c                = pendulum_constraints_redundant;
  mech.jac              = pendulum_jacobian_redundant;
  const Options options = {.lmm = CV_BDF, .tol = cpsPend_dnsL.tol, .linsol = CP_LINSOL_SCHUR};
  Run run               = run_create(&mech, &options);
  MessageLog log        = {0};
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run.cpode), message_log, &log), CP_SUCCESS);

  ck_assert_int_eq(CPIntegratorEvolve(run.cpode, T_END, run.y, &run.t, CV_NORMAL), CP_PROJ_RANK);
  ck_assert_int_ge(log.count, 1);
  run_free(&run);
}
END_TEST

TEST_SUITE(published) {
  Suite *suite = suite_create("published");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, bdf_is_as_accurate_as_the_hook_of_cvode, 0, 2);
  tcase_add_loop_test(tcase, dependent_rows_give_the_published_trajectory, 0, 2);
  tcase_add_test(tcase, dependent_rows_are_refused_by_the_schur_complement);
  suite_add_tcase(suite, tcase);
  return suite;
}
