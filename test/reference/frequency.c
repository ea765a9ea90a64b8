/* Projecting only some steps does not disturb the method: BDF takes as many steps as without
 * projection.
 *
 * Projected and unprojected steps alternate. A correction that entered the whole history would make
 * the component normal to the manifold grow (by 1.35 at order 4 and 1.9 at order 5 if every second
 * step is projected, the spectral radius of the history's update at constant step size). The step
 * size would then fall without end, or the error test would fail at every second step.
 *
 * Single counts scatter by 12 %, so geometric means over 4 mechanisms and 6 tolerances are
 * compared, which scatter by 12 % / sqrt(24) = 2.4 %. Without disturbance their quotient is 1; the
 * bound is two such deviations above. */
#include "reference.h"

#include <math.h>

enum { FIRST_DECADE = 5, LAST_DECADE = 10 };
static const sunrealtype bound = 1.05;

/* Projects every frequency-th step; 0: when the violation requires it. */
static const long int frequencies[] = {2, 3, 5, 10, 0};
enum { NUM_FREQUENCIES = sizeof frequencies / sizeof frequencies[0] };

/* Steps to the end of the mechanism's table */
static long int march(Run *run, const Mechanism *mech) {
  const sunrealtype t_end = mech->samples[mech->nsamples - 1].t;
  /* without projection: below 5000 */
  ck_assert_int_eq(CVodeSetMaxNumSteps(run->cvode_mem, 20000), CV_SUCCESS);
  ck_assert_int_eq(run->cpode ? CPIntegratorEvolve(run->cpode, t_end, run->y, &run->t, CV_NORMAL)
                              : CVode(run->cvode_mem, t_end, run->y, &run->t, CV_NORMAL),
                   CV_SUCCESS);
  return run_steps(run);
}

static long int steps_without_projection(Mechanism *mech, const Options *options) {
  Run run              = run_create_plain(mech, options);
  const long int steps = march(&run, mech);
  run_free(&run);
  return steps;
}

static long int steps_with_some_projected(Mechanism *mech, const Options *options,
                                          long int frequency) {
  Run run = run_create(mech, options);
  if (frequency > 0)
    ck_assert_int_eq(CPIntegratorSetProjFrequency(run.cpode, frequency, 0), CP_SUCCESS);
  else ck_assert_int_eq(CPIntegratorSetProjFrequency(run.cpode, 1, 1), CP_SUCCESS);
  const long int steps = march(&run, mech);
  run_free(&run);
  return steps;
}

START_TEST(bdf_takes_the_steps_of_plain_bdf_when_it_projects_some) {
  sunrealtype sum_of_logs = 0;
  int runs                = 0;
  for (int id = 0; id < NUM_MECHANISMS; id++)
    for (int decade = FIRST_DECADE; decade <= LAST_DECADE; decade++, runs++) {
      Mechanism mech        = mechanism((MechanismId)id);
      const Options options = {.lmm = CV_BDF, .tol = pow(10, -decade)};
      const long int plain  = steps_without_projection(&mech, &options);
      const long int some   = steps_with_some_projected(&mech, &options, frequencies[_i]);
      sum_of_logs += log((sunrealtype)some / (sunrealtype)plain);
      if (wants_figures())
        printf("%-12s frequency %2ld, tol 1e-%02d: steps %5ld, plain %5ld\n", mech.name,
               frequencies[_i], decade, some, plain);
    }
  const sunrealtype mean = exp(sum_of_logs / runs);
  if (wants_figures()) printf("geometric mean of the quotients %.4f\n", mean);
  ck_assert_double_le(mean, bound);
}
END_TEST

TEST_SUITE(frequency) {
  Suite *suite = suite_create("frequency");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, bdf_takes_the_steps_of_plain_bdf_when_it_projects_some, 0,
                      NUM_FREQUENCIES);
  suite_add_tcase(suite, tcase);
  return suite;
}
