/* The cost of DOP853 with projection: evaluations of f for a given error of the positions at the
 * end, against those of a program with a hand-written projection. Single runs scatter by a few per
 * cent, so the comparison uses geometric means over nine close tolerances, and a straight line
 * through the logarithms of two of these. */
#include "mechanics_support.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/counters.h>

typedef struct {
  int id;
  double error, evaluations; /* of the program with a hand-written projection */
} Target;

static const Target targets[] = {{ANDREWS, 1.3e-10, 2104.0}, {CAR_AXIS, 7.3e-11, 4629.0}};
enum { TARGETS = sizeof targets / sizeof targets[0] };

/* The most evaluations that a run may take */
#define FACTOR 1.3

typedef struct {
  double error, evaluations; /* logarithms */
} Point;

static double error_of_positions(const MechCase *c, N_Vector y) {
  const Sample *last = &c->samples[c->nsamples - 1];
  double error       = 0.0;
  for (int i = 0; i < c->nu; i++) error = fmax(error, fabs(entries(y)[i] - last->y[i]));
  return error;
}

static Point solve(MechCase *c, sunrealtype tol) {
  const sunrealtype t_end = c->samples[c->nsamples - 1].t;
  IntegratorCounters stats;
  sunrealtype t;
  N_Vector y       = vector_of(c->n, c->samples[0].y);
  CPMech mech      = create_mech(&c->model, y, test_context);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, &c->par), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetStopTime(mem, t_end), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CV_TSTOP_RETURN, "%s: %d, %s", c->name, flag,
                CPObjectGetLastMessage(CP_OBJECT(mem)));
  ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
  const Point p = {log(error_of_positions(c, y)), log((double)stats.nfe)};
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  return p;
}

enum { NEAR = 9 };
static Point mean(MechCase *c, sunrealtype tol) {
  Point sum = {0.0, 0.0};
  for (int i = 0; i < NEAR; i++) {
    const Point p = solve(c, tol * 0.8 * pow(1.25 / 0.8, (double)i / (NEAR - 1)));
    sum.error += p.error / NEAR;
    sum.evaluations += p.evaluations / NEAR;
  }
  return sum;
}

START_TEST(dop853_takes_as_few_evaluations_as_a_hand_written_projection) {
  const Target *target = &targets[_i];
  const double goal    = log(target->error);
  MechCase c           = mech_case(target->id);
  sunrealtype tol      = 1.0e-8;
  Point before = mean(&c, tol), now = before;
  for (; now.error > goal && tol > 1.0e-13; tol /= 2.0) {
    before = now;
    now    = mean(&c, tol / 2.0);
  }
  ck_assert_double_le(now.error, goal);
  const double part  = (goal - before.error) / (now.error - before.error);
  const double taken = exp(before.evaluations + part * (now.evaluations - before.evaluations));
  ck_assert_msg(taken <= FACTOR * target->evaluations, "%s: %.0f evaluations, not %.0f", c.name,
                taken, target->evaluations);
}
END_TEST

TEST_SUITE(onestep) {
  Suite *suite = suite_create("one-step methods");
  TCase *tc    = tcase_create("evaluations");
  tcase_set_timeout(tc, 120);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, dop853_takes_as_few_evaluations_as_a_hand_written_projection, 0, TARGETS);
  suite_add_tcase(suite, tc);
  return suite;
}
