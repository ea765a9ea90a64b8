/* Adams' method with projection keeps the efficiency of its high orders. Step counts over ladders
 * of tolerances, since single counts scatter with the order that is chosen.
 *
 * The bounds: Adams without projection takes about 1,700 steps for the pendulum; the CPODES of
 * 2006, which spread the correction over the whole history, took 58,086 at 1e-9 and never left
 * order 2. Counts are those of CVODES and do not depend on the machine's speed.
 */
#include "reference.h"

#include <math.h>

enum { RUNGS = 9 };

/* 0.8 ... 1.25 times centre, in equal factors */
static sunrealtype rung(sunrealtype centre, int i) {
  return centre * 0.8 * pow(1.25 / 0.8, i / (RUNGS - 1.0));
}

/* One run to t_end. exact: the state there. */
typedef struct {
  long int steps;
  sunrealtype error;
  long int steps_above_order_6;
} Figures;

static Figures march(Mechanism *mech, sunrealtype tol, sunrealtype t_end, const sunrealtype *exact) {
  const Options options = {.lmm = CV_ADAMS, .tol = tol};
  Run run               = run_create(mech, &options);
  Figures figures       = {0};

  ck_assert_int_eq(CVodeSetStopTime(run.cvode_mem, t_end), CV_SUCCESS);
  while (run.t < t_end) {
    int order;
    const int flag = CPIntegratorEvolve(run.cpode, t_end, run.y, &run.t, CV_ONE_STEP);
    ck_assert(flag == CP_SUCCESS || flag == CV_TSTOP_RETURN);
    ck_assert_int_eq(CVodeGetLastOrder(run.cvode_mem, &order), CV_SUCCESS);
    if (order > 6) figures.steps_above_order_6++;
  }
  figures.steps = run_steps(&run);
  figures.error = error_against(run.y, exact);
  run_free(&run);
  if (wants_figures())
    printf("%-12s tol %.3e: steps %5ld, error %.2e, %ld of them above order 6\n", mech->name, tol,
           figures.steps, figures.error, figures.steps_above_order_6);
  return figures;
}

START_TEST(pendulum_takes_no_more_steps_than_without_projection) {
  const sunrealtype t_end = 20;
  Mechanism mech          = mechanism(PENDULUM);
  sunrealtype exact[PENDULUM_N], sum_of_logs = 0;
  pendulum_exact(&mech.par.pendulum, t_end, exact);

  for (int i = 0; i < RUNGS; i++) {
    const Figures figures = march(&mech, rung(1e-9, i), t_end, exact);
    ck_assert_int_le(figures.steps, 1900);
    ck_assert_double_lt(figures.error, 1e-5);
    sum_of_logs += log((sunrealtype)figures.steps);
  }
  ck_assert_double_le(exp(sum_of_logs / RUNGS), 1750);
}
END_TEST

START_TEST(most_steps_of_the_pendulum_are_above_order_6) {
  const sunrealtype t_end = 20;
  Mechanism mech          = mechanism(PENDULUM);
  sunrealtype exact[PENDULUM_N];
  pendulum_exact(&mech.par.pendulum, t_end, exact);

  const Figures figures = march(&mech, 1e-10, t_end, exact);
  ck_assert_int_gt(2 * figures.steps_above_order_6, figures.steps);
}
END_TEST

START_TEST(car_axis_takes_no_more_steps_than_without_projection) {
  Mechanism mech          = mechanism(CAR_AXIS);
  const Sample *end       = &mech.samples[mech.nsamples - 1];
  sunrealtype sum_of_logs = 0;

  for (int i = 0; i < RUNGS; i++)
    sum_of_logs += log((sunrealtype)march(&mech, rung(1e-10, i), end->t, end->y).steps);
  ck_assert_double_le(exp(sum_of_logs / RUNGS), 1900);
}
END_TEST

TEST_SUITE(ladder) {
  Suite *suite = suite_create("ladder");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_test(tcase, pendulum_takes_no_more_steps_than_without_projection);
  tcase_add_test(tcase, most_steps_of_the_pendulum_are_above_order_6);
  tcase_add_test(tcase, car_axis_takes_no_more_steps_than_without_projection);
  suite_add_tcase(suite, tcase);
  return suite;
}
