/* Error control for stiff mechanisms, with the flexible slider-crank (models/flexible_crank.h): at
 * loose tolerances BDF of high order resolves the rod's fast oscillations, whose amplitude is far
 * below the tolerance. Order 2 damps them, and velocity errors weighted with the step do not
 * require them. */
#include "mechanics_support.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/counters.h>

typedef struct {
  sunrealtype elastic; /* largest error of q1, ..., q4 over the table [m] */
  long int forces;     /* evaluations of f, those for differences included */
} Cost;

static Cost cost_of(MechCase *c, const PlanarOptions *options) {
  Cost cost    = {0, 0};
  MechRun *run = planar_run_create(c, options);
  MechCounters stats;
  for (int i = 1; i < c->nsamples; i++) {
    mech_run_to(run, c->samples[i].t);
    for (int k = 3; k < c->nu; k++)
      cost.elastic = fmax(cost.elastic, fabs(entries(run->y)[k] - c->samples[i].y[k]));
  }
  ck_assert(isfinite(cost.elastic));
  if (options->maxord > 0) {
    int order;
    ck_assert_int_eq(CVodeGetLastOrder(CPIntegratorGetCVodeMem(run->cpode), &order), CV_SUCCESS);
    ck_assert_int_le(order, options->maxord);
  }
  ck_assert_int_eq(mech_counters(run->mech, &stats), CP_SUCCESS);
  cost.forces = stats.nf;
  mech_run_free(&run);
  return cost;
}

enum { NUM_TOLERANCES = 9 };

/* Fewest evaluations over tolerances from 1e-3 to 1e-7 with an error of the rod of at most target */
static long int fewest_forces(MechCase *c, int maxord, sunrealtype tau, sunrealtype target) {
  long int fewest = 0;
  for (int i = 0; i < NUM_TOLERANCES; i++) {
    const PlanarOptions options = {
        .lmm = CV_BDF, .tol = pow(10, -3 - i / 2.0), .maxord = maxord, .tau = tau};
    const Cost cost = cost_of(c, &options);
    if (wants_figures())
      printf("order %d, tau %g, tol %.0e: f %ld, rod %.1e\n", maxord, tau, options.tol, cost.forces,
             cost.elastic);
    if (cost.elastic <= target && (!fewest || cost.forces < fewest)) fewest = cost.forces;
  }
  ck_assert_int_gt(fewest, 0);
  return fewest;
}

/* The rod bends by 8e-4 m. To an eighth of that, order 2 and a time scale take a seventh of the
   evaluations at most (bench/flexible.c: a fourteenth). */
START_TEST(order_two_and_time_scale_save_a_factor_of_seven_at_loose_accuracy) {
  static const sunrealtype scales[] = {CP_TAU_STEP, 1e-3};
  MechCase c                        = mech_case(FLEXIBLE_CRANK);
  const long int plain              = fewest_forces(&c, 0, 0, 1e-4),
                 both               = fewest_forces(&c, 2, scales[_i], 1e-4);
  ck_assert_int_le(7 * both, plain);
}
END_TEST

/* At tight tolerances the oscillations have to be resolved, and order 2 costs more than it saves. */
START_TEST(order_two_saves_nothing_at_tight_tolerances) {
  MechCase c            = mech_case(FLEXIBLE_CRANK);
  PlanarOptions options = {.lmm = CV_BDF, .tol = 1e-9};
  const Cost plain      = cost_of(&c, &options);
  options.maxord        = 2;
  const Cost capped     = cost_of(&c, &options);
  ck_assert_int_gt(capped.forces, plain.forces);
}
END_TEST

/* RADAU's derivatives at the start also serve the second step, which is up to five times as long.
 * Slow contraction with these does not mean slow contraction with new ones: stages need no
 * derivatives of their own. */
START_TEST(old_derivatives_do_not_make_stages_get_their_own) {
  static const sunrealtype tol[] = {1.0, 0.3, 0.1, 1e-2};
  MechCase c                     = mech_case(FLEXIBLE_CRANK);
  const sunrealtype t_end        = c.samples[c.nsamples - 1].t;
  N_Vector y                     = vector_of(c.n, c.samples[0].y);
  CPMech mech                    = create_mech(&c.model, y, test_context);
  CPIntegrator mem               = CPIntegratorCreate("RADAU", test_context);
  IntegratorCounters stats;
  sunrealtype t;
  ck_assert_int_eq(CPMechSetUserData(mech, &c.par), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, c.samples[0].t, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol[_i], tol[_i]), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL), CV_SUCCESS);
  ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
  ck_assert_int_le(stats.njev, stats.nattempts);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(mechanics_flexible) {
  Suite *suite = suite_create("mechanics_flexible");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, order_two_and_time_scale_save_a_factor_of_seven_at_loose_accuracy, 0,
                      2);
  tcase_add_test(tcase, order_two_saves_nothing_at_tight_tolerances);
  tcase_add_loop_test(tcase, old_derivatives_do_not_make_stages_get_their_own, 0, 4);
  suite_add_tcase(suite, tcase);
  return suite;
}
