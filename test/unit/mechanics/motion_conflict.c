/* A slider-crank with two prescribed coordinates, the crank angle q and the slider position x, but
 * only one degree of freedom. Compatible motions are followed, others are named. */
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <string.h>

#include "models/slider_crank.h"
#include "support/mech_run.h"
#include "support/support.h"

/* The two motions, and the error of x */
typedef struct {
  sunrealtype a;                  /* crank length */
  sunrealtype offset, rate, bend; /* x(t) + offset + rate t + bend t^2 */
} Drive;

static const sunrealtype tol = 1e-8;

static SliderCrank crank;
static Drive drive;
static N_Vector y;
static CPMech mech;
static CPIntegrator mem;
static MessageLog messages;

/* q = 1 + t, sin p = -a sin q, x = cos p + a cos q; derivatives by the chain rule */
static int angle(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = 1.0 + t;
  return 0;
}

static int angle_rate(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 1.0;
  return 0;
}

static int angle_curvature(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 0.0;
  return 0;
}

static sunrealtype rod_angle(sunrealtype t, const Drive *d) { return asin(-d->a * sin(1.0 + t)); }

static sunrealtype rod_rate(sunrealtype t, const Drive *d) {
  return -d->a * cos(1.0 + t) / cos(rod_angle(t, d));
}

static int slider(sunrealtype t, sunrealtype *g, void *data) {
  const Drive *d = data;
  *g = cos(rod_angle(t, d)) + d->a * cos(1.0 + t) + d->offset + d->rate * t + d->bend * t * t;
  return 0;
}

static int slider_rate(sunrealtype t, sunrealtype *g, void *data) {
  const Drive *d = data;
  *g = -sin(rod_angle(t, d)) * rod_rate(t, d) - d->a * sin(1.0 + t) + d->rate + 2.0 * d->bend * t;
  return 0;
}

static int slider_curvature(sunrealtype t, sunrealtype *g, void *data) {
  const Drive *d      = data;
  const sunrealtype p = rod_angle(t, d), pd = rod_rate(t, d), q = 1.0 + t;
  const sunrealtype pdd = (sin(p) * pd * pd + d->a * sin(q)) / cos(p);
  *g                    = -cos(p) * pd * pd - sin(p) * pdd - d->a * cos(q) + 2.0 * d->bend;
  return 0;
}

/* Both are prescribed, starting from the state of q alone */
static void open_crank(CPMotionKind of_q, CPMotionKind of_x, Drive d) {
  const CPMotion by[] = {{0, of_q, angle, angle_rate, angle_curvature, 0.0, &drive},
                         {1, of_x, slider, slider_rate, slider_curvature, 0.0, &drive}};
  CPEquations model   = slider_crank_model();
  model.motions = by, model.nmotions = 2;
  crank             = slider_crank_haug();
  drive             = d;
  drive.a           = crank.a;
  const Drive right = {.a = crank.a};
  sunrealtype x, xd;
  slider(0.0, &x, (void *)&right);
  slider_rate(0.0, &xd, (void *)&right);
  y    = VECTOR(1.0, x, rod_angle(0.0, &right), 1.0, xd, rod_rate(0.0, &right));
  mech = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  memset(&messages, 0, sizeof messages);
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages);
  CPMechSetUserData(mech, &crank);
}

static int run_to(sunrealtype t_end, sunrealtype *t) {
  mem = CPIntegratorCreate("BDF", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 10000), CV_SUCCESS);
  return CPIntegratorEvolve(mem, t_end, y, t, CV_NORMAL);
}

static void close_crank(void) {
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
}

/* Loop index: ways of q and x */
enum { PAIRS = 9 };
static CPMotionKind way_of_q(int i) { return (CPMotionKind)(i / 3); }
static CPMotionKind way_of_x(int i) { return (CPMotionKind)(i % 3); }

static void ck_assert_names_a_motion(void) {
  ck_assert_msg(strstr(messages.text, "prescribed motion of coordinate") != NULL ||
                    strstr(messages.text, "prescribed are the coordinates 0, 1") != NULL,
                "no motion is named: %s", messages.text);
}

/* Redundant and compatible: the closed form to the error of the steps. Up to q = 2.8, since at the
 * dead centre, q = pi, x does not determine q. */
START_TEST(motions_that_go_together_are_followed) {
  sunrealtype t, x, q, udot[3];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot};
  long int steps;
  open_crank(way_of_q(_i), way_of_x(_i), (Drive){0});
  const int flag = run_to(1.8, &t);
  if (way_of_q(_i) == CP_MOTION_RATE && way_of_x(_i) == CP_MOTION_RATE && flag) {
    /* Positions drift, and with them the velocities that depend on them, which contradict each
     * other once the drift exceeds a tolerance. Roundoff decides whether that happens before the
     * end. */
    ck_assert_int_eq(flag, CP_PROJ_INCONSISTENT);
    ck_assert_names_a_motion();
    close_crank();
    return;
  }
  ck_assert_msg(flag == CV_SUCCESS, "%d: %s", flag, messages.text);
  CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps);
  angle(t, &q, NULL);
  slider(t, &x, &drive);
  /* local errors of sqrt(6) (1 + 4) tol / 6 each, which x follows with a factor below one */
  const sunrealtype bound = (sunrealtype)steps * sqrt(6.0) * 5.0 * tol / 6.0;
  ck_assert_double_le(fabs(entries(y)[0] - q), bound);
  ck_assert_double_le(fabs(entries(y)[1] - x), bound);
  ck_assert_int_eq(CPMechEvaluate(mech, t, y, &out), CP_SUCCESS);
  ck_assert_int_eq(out.unique, SUNFALSE);
  close_crank();
}
END_TEST

/* Positions, except with RATE, which has none. */
START_TEST(positions_that_contradict_have_no_consistent_state) {
  sunrealtype t;
  open_crank(way_of_q(_i), way_of_x(_i), (Drive){.offset = 0.1});
  if (way_of_q(_i) != CP_MOTION_RATE && way_of_x(_i) != CP_MOTION_RATE) {
    ck_assert_int_eq(CPMechCalcIC(mech, 0.0, y, NULL, NULL, NULL, NULL), CP_IC_FAIL);
    ck_assert_names_a_motion();
    ck_assert_int_eq(run_to(1.0, &t), CP_INCONSISTENT_IC);
    ck_assert_names_a_motion();
  }
  close_crank();
}
END_TEST

START_TEST(velocities_that_contradict_have_no_consistent_state) {
  sunrealtype t;
  open_crank(way_of_q(_i), way_of_x(_i), (Drive){.rate = 0.3});
  ck_assert_int_eq(CPMechCalcIC(mech, 0.0, y, NULL, NULL, NULL, NULL), CP_IC_FAIL);
  ck_assert_names_a_motion();
  ck_assert_int_eq(run_to(1.0, &t), CP_INCONSISTENT_IC);
  ck_assert_names_a_motion();
  close_crank();
}
END_TEST

START_TEST(accelerations_that_contradict_are_a_motion_conflict) {
  sunrealtype t, udot[3];
  open_crank(way_of_q(_i), way_of_x(_i), (Drive){.bend = 1.0});
  ck_assert_int_eq(CPMechAccelerations(mech, 0.0, y, udot, NULL), CP_MOTION_CONFLICT);
  ck_assert_names_a_motion();
  ck_assert_int_eq(run_to(1.0, &t), CP_MOTION_CONFLICT);
  ck_assert_names_a_motion();
  close_crank();
}
END_TEST

TEST_SUITE(motion_conflict) {
  Suite *suite = suite_create("mechanics/motion_conflict");
  TCase *tc    = tcase_create("motion_conflict");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, motions_that_go_together_are_followed, 0, PAIRS);
  tcase_add_loop_test(tc, positions_that_contradict_have_no_consistent_state, 0, PAIRS);
  tcase_add_loop_test(tc, velocities_that_contradict_have_no_consistent_state, 0, PAIRS);
  tcase_add_loop_test(tc, accelerations_that_contradict_are_a_motion_conflict, 0, PAIRS);
  suite_add_tcase(suite, tc);
  return suite;
}
