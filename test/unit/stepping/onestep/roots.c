/* Roots along the pendulum with period 2, x = 1 at rest at t = 0: x falls through zero at 1/2 and rises through it at
 * 3/2; it falls until 1/2, climbs until 1, and so on. */
#include "stepping/onestep/fixture.h"

#include <math.h>
#include <models/counters.h>

static OneRun run;
static long int g_calls;

static void setup(void) {
  one_open(&run, "DOP853", 1.0e-9);
  run.world.p.g = PENDULUM_G_PERIOD2;
  g_calls       = 0;
}

static void teardown(void) { one_close(&run); }

/* Steps at tol 1e-9 have errors of about 1e-7 at their ends, and x' is up to sqrt(2 g) = 5.2. */
#define NEAR 1.0e-6

static int position(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t;
  g_calls++;
  g[0] = entries(y)[0];
  return user_data == &run.world ? 0 : -1;
}

static int climbing(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g_calls++;
  g[0] = entries(y)[3];
  return 0;
}

/* Roots of functions of time alone, at times that are known only at run time. */
static sunrealtype when[3];
static int clocks(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  g_calls++;
  for (int i = 0; i < 3; i++) g[i] = t - when[i];
  return 0;
}

static void assert_root(sunrealtype t, int direction) {
  int found;
  ck_assert_returns(&run, one_to(&run, 10.0), CV_ROOT_RETURN);
  ck_assert_msg(fabs(run.t - t) <= NEAR, "t = %.15g, not %g", run.t, t);
  ck_assert_done(&run, CPIntegratorGetRootInfo(run.mem, &found));
  ck_assert_int_eq(found, direction);
}

START_TEST(each_change_of_sign_is_returned_once) {
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  for (int k = 0; k < 6; k++) assert_root(0.5 + k, k % 2 ? 1 : -1);
  ck_assert_int_eq(one_stats(&run).nge, g_calls);
}
END_TEST

/* g is zero at the returned state, not only near it: up to the roundoff of t, 100 eps (t + h), and
 * x' <= 5.3. */
START_TEST(g_is_zero_at_the_state_handed_out) {
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  for (int k = 0; k < 6; k++) {
    ck_assert_returns(&run, one_to(&run, 10.0), CV_ROOT_RETURN);
    ck_assert_double_le(fabs(entries(run.y)[0]), 5.3 * 100.0 * 2.3e-16 * (run.t + 1.0));
    ck_assert_double_le(violation_of(&run.world, run.y), 1.0e-8);
  }
}
END_TEST

START_TEST(only_roots_in_the_direction_asked_for_are_returned) {
  const int rising = 1, falling = -1, any = 0;
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  ck_assert_done(&run, CPIntegratorSetRootDirection(run.mem, &rising));
  assert_root(1.5, 1);
  ck_assert_done(&run, CPIntegratorSetRootDirection(run.mem, &falling));
  assert_root(2.5, -1);
  assert_root(4.5, -1);
  ck_assert_done(&run, CPIntegratorSetRootDirection(run.mem, &any));
  assert_root(5.5, 1);
}
END_TEST

static int above_level(sunrealtype t, N_Vector y, sunrealtype *g, void *level) {
  (void)t;
  g[0] = entries(y)[0] - *(const sunrealtype *)level;
  return 0;
}

START_TEST(root_functions_may_get_data_of_their_own) {
  sunrealtype level = 0.5;
  ck_assert_done(&run, CPIntegratorSetRootData(run.mem, &level));
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, above_level));
  ck_assert_returns(&run, one_to(&run, 10.0), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(entries(run.y)[0], 0.5, NEAR);
  ck_assert_done(&run, CPIntegratorSetRootData(run.mem, NULL)); /* the user data again */
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  assert_root(0.5, -1);
  ck_assert_int_eq(CPIntegratorSetRootData(NULL, &level), CP_MEM_NULL);
}
END_TEST

/* The pendulum is at rest at the start, which is no root, as in CVODES. */
START_TEST(a_root_at_the_start_is_ignored) {
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, climbing));
  for (int k = 1; k < 6; k++) assert_root(0.5 * k, k % 2 ? 1 : -1);
}
END_TEST

/* The roundoff of t = 0 underflows in steps of the smallest positive number, and no search may wait
 * for it. */
START_TEST(a_root_at_the_start_is_left_in_steps_of_any_size) {
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, climbing));
  ck_assert_done(&run, CPIntegratorSetMaxStep(run.mem, SUN_RCONST(4.9406564584124654e-324)));
  for (int k = 0; k < 3; k++)
    ck_assert_done(&run, CPIntegratorEvolve(run.mem, 1.0, run.y, &run.t, CV_ONE_STEP));
  ck_assert_int_le(g_calls, 30);
}
END_TEST

START_TEST(a_root_exactly_at_the_end_of_a_step_is_returned_once) {
  ck_assert_done(&run, CPIntegratorSetFixedStep(run.mem, 0.0625));
  when[0] = when[1] = when[2] = 0.25; /* four steps, exactly */
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 3, clocks));
  ck_assert_returns(&run, one_to(&run, 1.0), CV_ROOT_RETURN);
  ck_assert_double_eq(run.t, 0.25);
  ck_assert_done(&run, one_to(&run, 1.0));
}
END_TEST

START_TEST(roots_of_several_functions_come_in_order_and_together) {
  int found[3];
  ck_assert_done(&run, CPIntegratorSetFixedStep(run.mem, 0.125)); /* all in the third step */
  when[0] = 0.3, when[1] = 0.27, when[2] = 0.3;
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 3, clocks));
  ck_assert_done(&run, CPIntegratorGetRootInfo(run.mem, found));
  for (int i = 0; i < 3; i++) ck_assert_int_eq(found[i], 0); /* none yet */
  ck_assert_returns(&run, one_to(&run, 1.0), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(run.t, 0.27, 1.0e-13);
  CPIntegratorGetRootInfo(run.mem, found);
  ck_assert(found[0] == 0 && found[1] == 1 && found[2] == 0);
  ck_assert_returns(&run, one_to(&run, 1.0), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(run.t, 0.3, 1.0e-13);
  CPIntegratorGetRootInfo(run.mem, found);
  ck_assert(found[0] == 1 && found[1] == 0 && found[2] == 1);
  ck_assert_done(&run, one_to(&run, 1.0));
}
END_TEST

/* An output before the root comes first, one beyond it after it, whatever the steps. */
START_TEST(roots_and_outputs_come_in_the_order_of_time) {
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  ck_assert_done(&run, one_to(&run, 0.49));
  ck_assert_double_eq(run.t, 0.49);
  ck_assert_returns(&run, one_to(&run, 0.51), CV_ROOT_RETURN);
  ck_assert_done(&run, one_to(&run, 0.51));
  ck_assert_double_eq(run.t, 0.51);
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, 1.5 + 1.0e-3));
  ck_assert_returns(&run, one_to(&run, 2.0), CV_ROOT_RETURN);
  ck_assert_returns(&run, one_to(&run, 2.0), CV_TSTOP_RETURN);
  ck_assert_double_eq(run.t, 1.5 + 1.0e-3);
}
END_TEST

/* The times of roots do not depend on the output. */
START_TEST(output_changes_no_bit_of_a_root) {
  sunrealtype t[2];
  for (int output = 0; output < 2; output++) {
    int flag = CP_SUCCESS;
    one_restart(&run, 0.0);
    ck_assert_done(&run, CPIntegratorSetInitStep(run.mem, 0.0));
    ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
    for (int i = 1; output && flag == CP_SUCCESS && i < 100; i++) flag = one_to(&run, 0.013 * i);
    if (!output) flag = one_to(&run, 10.0);
    ck_assert_int_eq(flag, CV_ROOT_RETURN);
    t[output] = run.t;
  }
  ck_assert_double_eq(t[0], t[1]);
}
END_TEST

START_TEST(one_step_mode_returns_roots_and_then_the_step) {
  int roots = 0, flag = CP_SUCCESS;
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  for (sunrealtype before = 0.0; run.t < 2.0; before = run.t) {
    flag = one_step(&run);
    ck_assert(flag == CP_SUCCESS || flag == CV_ROOT_RETURN);
    ck_assert_double_gt(run.t, before);
    roots += flag == CV_ROOT_RETURN;
  }
  ck_assert_int_eq(roots, 2);
}
END_TEST

/* From above to zero: stays zero; is zero from the start; to zero and up again; to zero and further
 * down. Finally a plain root. */
static int resting(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  g[0] = fmax(0.0, 0.3 - t);
  g[1] = 0.0;
  g[2] = fmax(0.0, 0.5 - t) + fmax(0.0, t - 0.7);
  g[3] = fmax(0.0, 0.6 - t) + fmin(0.0, 0.7 - t);
  g[4] = 0.8 - t;
  return 0;
}

/* Each has its root where it reaches zero, and none where it leaves zero. */
START_TEST(functions_that_stay_at_zero_have_a_root_where_they_get_there) {
  static const int which[]         = {0, 2, 3, 4};
  static const sunrealtype where[] = {0.3, 0.5, 0.6, 0.8};
  sunrealtype low, high;
  int found[5], seen = 0;
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 5, resting));
  ck_assert_int_eq(CPIntegratorGetRootWindow(run.mem, &low, &high), CP_NO_INIT);
  ck_assert_int_eq(CPIntegratorGetRootWindow(NULL, &low, &high), CP_MEM_NULL);
  while (run.t < 1.0) {
    const int flag = _i ? one_step(&run) : one_to(&run, 1.0);
    ck_assert(flag == CP_SUCCESS || flag == CV_ROOT_RETURN);
    if (flag == CP_SUCCESS) continue;
    ck_assert_int_lt(seen, 4);
    ck_assert_double_eq_tol(run.t, where[seen], 1.0e-12);
    ck_assert_done(&run, CPIntegratorGetRootInfo(run.mem, found));
    for (int i = 0; i < 5; i++) ck_assert_int_eq(found[i], i == which[seen] ? -1 : 0);
    ck_assert_done(&run, CPIntegratorGetRootWindow(run.mem, &low, &high));
    ck_assert(low < high && high == run.t && where[seen] - low <= 1.0e-12);
    seen++;
  }
  ck_assert_int_eq(seen, 4);
}
END_TEST

/* Backwards in time, roots fall and rise in the direction of integration, as in CVODES. */
START_TEST(roots_are_found_backward) {
  int found;
  one_restart(&run, 2.0);
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  ck_assert_returns(&run, one_to(&run, 0.0), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(run.t, 1.5, NEAR);
  CPIntegratorGetRootInfo(run.mem, &found);
  ck_assert_int_eq(found, -1);
  ck_assert_returns(&run, one_to(&run, 0.0), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(run.t, 0.5, NEAR);
}
END_TEST

/* A wall at x = 0 reverses the velocity: the pendulum is back at its start at t = 1, and so on.
 * Each bounce is a restart with the present step size. (Interpolation shows the sign of x after
 * it.) */
START_TEST(bounces_are_restarts_that_keep_the_step_size) {
  const int falling = -1;
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  ck_assert_done(&run, CPIntegratorSetRootDirection(run.mem, &falling));
  for (int k = 0; k < 5; k++) {
    ck_assert_returns(&run, one_to(&run, 100.0), CV_ROOT_RETURN);
    ck_assert_double_eq_tol(run.t, 0.5 + k, (k + 1) * NEAR);
    const sunrealtype h = one_stats(&run).hnext;
    for (int i = 2; i < 4; i++) entries(run.y)[i] = -entries(run.y)[i];
    ck_assert_done(&run, CPIntegratorReInit(run.mem, run.t, run.y));
    const long int before = run.world.f_calls;
    ck_assert_done(&run, one_step(&run));
    const IntegratorCounters s = one_stats(&run);
    ck_assert_double_le(s.hfirst, h);
    ck_assert_int_eq(run.world.f_calls - before,
                     1 + 12 * s.nst + 11 * s.netf + s.nfe_output); /* none to choose h */
    ck_assert_int_eq(s.nfe_output, 3);
  }
}
END_TEST

/* Roots are not searched for where the run does not go. */
START_TEST(a_tout_on_the_wrong_side_is_refused) {
  one_restart(&run, 2.0);
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  ck_assert_done(&run, one_to(&run, 1.9)); /* backwards */
  const long int before = g_calls;
  refused(&run, one_to(&run, 3.0), CP_ILL_INPUT, "tout", "3");
  refused(&run, one_to(&run, 1.0e200), CP_ILL_INPUT, "tout", "1e+200");
  refused(&run, one_step(&run), CP_ILL_INPUT, "other side of the start", "smaller t");
  ck_assert_int_eq(g_calls, before);
}
END_TEST

/* ---- where a root has just been returned ---- */

/* y0 leaves 1 as c t^3, like a gap when the force in a contact vanishes: for a long time the change
 * is roundoff. y1 = t. */
static int opening(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)y;
  entries(ydot)[0] = 3.0 * *(sunrealtype *)user_data * t * t;
  entries(ydot)[1] = 1.0;
  return 0;
}

static int gap(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0] - 1.0;
  return 0;
}

START_TEST(a_gap_that_opens_slowly_has_no_root) {
  const sunrealtype starts[] = {1.0, 1.0 - 1.2e-16, 1.0 + 2.3e-16};
  sunrealtype c = _i % 2 ? 1.0 : -1.0, t = 0.0;
  for (int i = 0; i < 3; i++) {
    N_Vector y       = VECTOR(starts[i], 0.0);
    CPIntegrator mem = CPIntegratorCreate(one_methods[_i / 2], test_context);
    ck_assert_int_eq(CPIntegratorInit(mem, opening, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetUserData(mem, &c), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorRootInit(mem, 1, gap), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetInitStep(mem, 1.0e-9), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
    CPIntegratorFree(&mem);
    N_VDestroy(y);
  }
}
END_TEST

/* Another function passes through zero before the one that was returned has left it. */
static int two(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  g[1] = t - when[0];
  return gap(t, y, g, user_data);
}

START_TEST(another_root_soon_after_a_start_at_zero_is_returned) {
  sunrealtype c = 1.0, t = 0.0;
  int found[2];
  when[0]          = 1.0e-8; /* y0 - 1 = 1e-24 */
  N_Vector y       = VECTOR(1.0, 0.0);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPIntegratorInit(mem, opening, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetUserData(mem, &c), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorRootInit(mem, 2, two), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(t, when[0], 1.0e-15);
  ck_assert_int_eq(CPIntegratorGetRootInfo(mem, found), CP_SUCCESS);
  ck_assert(found[0] == 0 && found[1] == 1);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

static int falling(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = SUN_RCONST(-9.81);
  return 0;
}

static int height(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  *g = entries(y)[0];
  return 0;
}

/* Flights of a ball from 2e-8 down to 4e-10 after t = 8.5. A function that is zero is first
 * evaluated after 1.9e-10: the root may come before the second evaluation, within the first step. */
START_TEST(flights_that_are_hardly_resolved_are_not_missed) {
  sunrealtype t = 0, speed = 1e-7;
  N_Vector y       = VECTOR(0, 0);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  entries(y)[0]    = 9.81 * 8.5 * 8.5 / 2;
  ck_assert_int_eq(CPIntegratorInit(mem, falling, t, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-11, 1e-11), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorRootInit(mem, 1, height), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 9, y, &t, CV_NORMAL), CV_ROOT_RETURN);
  for (; speed > 2e-9; speed *= 0.9) {
    const sunrealtype before = t;
    entries(y)[0] = 0, entries(y)[1] = speed;
    ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 9, y, &t, CV_NORMAL), CV_ROOT_RETURN);
    ck_assert_double_le(fabs(t - before - 2 * speed / 9.81), 1e-12);
  }
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

START_TEST(roots_can_be_set_and_taken_away_on_the_way) {
  ck_assert_done(&run, one_to(&run, 0.7));
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  assert_root(1.5, 1);
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 0, NULL));
  ck_assert_done(&run, one_to(&run, 3.0));
}
END_TEST

/* A jump also has a change of sign: it is located by bisection. */
static int jump(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  g_calls++;
  g[0] = t < 0.37 ? -1.0e-3 : 1.0e3;
  return 0;
}

/* z + 1 - DEPTH is negative for about 2 sqrt(2 DEPTH) / 5.2 = 0.017 around each bottom, which is
 * passed at t = 1/2, 3/2, ... */
#define DEPTH 1.0e-3
static int bottom(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[1] + 1.0 - DEPTH;
  return 0;
}

/* The steps are longer than that; with one direction every other root is returned. At tol 1e-6 the
 * time of a passage has an error of at most 1e-4. */
START_TEST(functions_that_come_and_go_within_a_step_are_found) {
  const int direction   = _i % 3 - 1;
  const sunrealtype one = sqrt(DEPTH / run.world.p.g); /* from the bottom: 1 - cos(5.2 t) = DEPTH */
  int found;
  teardown();
  one_open(&run, one_methods[_i / 3], 1.0e-6);
  run.world.p.g = PENDULUM_G_PERIOD2;
  ck_assert_done(&run, CPIntegratorSetMaxNumSteps(run.mem, -1));
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, bottom));
  ck_assert_done(&run, CPIntegratorSetRootDirection(run.mem, &direction));
  for (int pass = 0; pass < 3; pass++)
    for (int side = -1; side <= 1; side += 2) {
      if (direction == -side) continue;
      ck_assert_returns(&run, one_to(&run, 10.0), CV_ROOT_RETURN);
      ck_assert_done(&run, CPIntegratorGetRootInfo(run.mem, &found));
      ck_assert_int_eq(found, side);
      ck_assert_msg(fabs(run.t - (0.5 + pass + side * one)) < 1.0e-4, "%s: pass %d at %.15g",
                    run.method, pass, run.t);
    }
}
END_TEST

/* x + 1 - depth = g^2 (t - 1)^4/8 - depth at the turning point on the left */
static sunrealtype depth;
static int turning(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0] + 1.0 - depth;
  return 0;
}

static const char *const turning_methods[] = {
    "DOP853", "ARKODE_DORMAND_PRINCE_7_4_5", "RADAU", "RADAU5", "RADAU9", "RADAU13"};

static sunrealtype end_of_run;
static int until_end(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  *g = t - end_of_run;
  return 0;
}

/* Roundoffs between the event and the end of the run */
START_TEST(a_run_with_an_event_at_its_end_is_complete) {
  static const int distances[] = {0, 1, 3, 4, 5, 10, 100, 1000};
  for (size_t k = 0; k < sizeof distances / sizeof *distances; k++)
    for (int kind = 0; kind < 4; kind++) {
      const int stops = kind / 2, itask = kind % 2 && stops ? CV_ONE_STEP : CV_NORMAL;
      sunrealtype t    = 0;
      N_Vector y       = VECTOR(1, 0);
      CPIntegrator mem = CPIntegratorCreate(turning_methods[_i], test_context);
      end_of_run       = 1.0 - distances[k] * SUN_UNIT_ROUNDOFF / 2.0;
      ck_assert_int_eq(CPIntegratorInit(mem, falling, t, y), CP_SUCCESS);
      ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
      ck_assert_int_eq(CPIntegratorRootInit(mem, 1, until_end), CP_SUCCESS);
      ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
      entries(y)[1] = 7.0;
      ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
      if (stops) ck_assert_int_eq(CPIntegratorSetStopTime(mem, 1.0), CP_SUCCESS);
      ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, itask),
                       stops ? CV_TSTOP_RETURN : CP_SUCCESS);
      ck_assert_double_eq_tol(t, 1.0, 1.0e-13);
      ck_assert_double_eq_tol(entries(y)[1], 7.0, 1.0e-11);
      CPIntegratorFree(&mem);
      N_VDestroy(y);
    }
}
END_TEST

static int rising(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)y, (void)user_data;
  entries(ydot)[0] = 1.0;
  return 0;
}
static int root_of_height(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = sqrt(entries(y)[0]) - 1.0;
  return 0;
}

/* sqrt(y) has no value beside the start y = 0, at states to which errors would lead but not the motion. */
START_TEST(functions_that_end_where_the_run_begins_have_roots) {
  N_Vector y       = VECTOR(0);
  sunrealtype t    = 0;
  CPIntegrator mem = CPIntegratorCreate(turning_methods[_i], test_context);
  ck_assert_int_eq(CPIntegratorInit(mem, rising, t, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorRootInit(mem, 1, root_of_height), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 2.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(t, 1.0, 1e-12);
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

/* g counts as zero up to 10 tolerances of 2 tol. The steps after the first root may end where it does. */
START_TEST(a_function_that_turns_back_soon_after_a_root_has_two_roots) {
  const sunrealtype tightest = test_is_short() ? 1.0e-5 : 1.0e-9,
                    deepest  = test_is_short() ? 60.0 : 200.0;
  for (sunrealtype tol = 1.0e-5; tol > 0.9 * tightest; tol *= pow(10.0, -0.25))
    for (sunrealtype large = 50.0; large < deepest; large *= 1.2)
      for (int one = 0; one < 2; one++) {
        int found, side = -1;
        teardown();
        one_open(&run, turning_methods[_i], tol);
        run.world.p.g = PENDULUM_G_PERIOD2;
        depth         = large * tol;
        ck_assert_done(&run, CPIntegratorSetMaxNumSteps(run.mem, -1));
        ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, turning));
        while (run.t < 2.0) {
          const int flag = one ? one_step(&run) : one_to(&run, 2.0);
          ck_assert(flag == CP_SUCCESS || flag == CV_ROOT_RETURN);
          if (flag == CP_SUCCESS) continue;
          ck_assert_done(&run, CPIntegratorGetRootInfo(run.mem, &found));
          ck_assert_msg(found == side, "%s: tol = %g, depth / tol = %g, t = %g", run.method, tol,
                        large, run.t);
          side = -side;
        }
        if (side > 0) ck_abort_msg("%s: tol = %g, depth / tol = %g", run.method, tol, large);
      }
}
END_TEST

enum { STOP, ROOT, SECOND_ROOT };

/* The largest error of the state at a time, at the stop of a run, at the root of a function, or at a
 * root that follows another one, anywhere in a step */
static sunrealtype largest_error(const char *method, sunrealtype tol, int what) {
  sunrealtype largest = 0.0;
  for (int k = 0; k < 20; k += test_is_short() ? 10 : 1) {
    teardown();
    one_open(&run, method, tol);
    when[0] = when[1] = when[2] = 0.3 + 0.02 * k;
    if (what == SECOND_ROOT) when[1] -= 0.03;
    if (what == STOP) ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, when[0]));
    else ck_assert_done(&run, CPIntegratorRootInit(run.mem, 3, clocks));
    if (what == SECOND_ROOT) ck_assert_returns(&run, one_to(&run, 1.0), CV_ROOT_RETURN);
    ck_assert_returns(&run, one_to(&run, 1.0), what == STOP ? CV_TSTOP_RETURN : CV_ROOT_RETURN);
    ck_assert_double_eq_tol(run.t, when[0], 1.0e-12);
    largest = fmax(largest, one_error(&run, run.t, run.y));
  }
  return largest;
}

/* Interpolation adds 0.1 tolerances in the norm of the error test, at most twice that in a
 * component; runs with roots and runs with stops have different steps. */
START_TEST(states_at_roots_are_as_accurate_as_ends_of_steps) {
  for (sunrealtype tol = 1.0e-4; tol > (test_is_short() ? 1.0e-5 : 1.0e-9); tol *= 0.01) {
    const sunrealtype at_end = largest_error(one_methods[_i], tol, STOP);
    for (int what = ROOT; what <= SECOND_ROOT; what++) {
      const sunrealtype at_root = largest_error(one_methods[_i], tol, what);
      ck_assert_msg(at_root <= 1.5 * at_end + 0.5 * tol, "%s: %.3g and %.3g tolerances of %g",
                    one_methods[_i], at_root / tol, at_end / tol, tol);
    }
  }
}
END_TEST

/* A step that is repeated for its second root may end before its first one. */
START_TEST(steps_that_are_repeated_after_a_root_do_not_lead_back_to_it) {
  for (int k = 0; k < 100; k += test_is_short() ? 49 : 1) {
    int roots = 0;
    teardown();
    one_open(&run, one_methods[_i], k % 2 ? 1.0e-3 : 1.0e-5);
    when[0] = 0.3 + 0.005 * k, when[1] = when[0] - 0.03, when[2] = when[0] - 0.06;
    ck_assert_done(&run, CPIntegratorRootInit(run.mem, 3, clocks));
    for (sunrealtype before = 0.0; run.t < 1.0; before = run.t) {
      roots += one_step(&run) == CV_ROOT_RETURN;
      if (!(run.t > before))
        ck_abort_msg("%s: from %.15g to %.15g", one_methods[_i], before, run.t);
    }
    ck_assert_int_eq(roots, 3);
  }
}
END_TEST

static int far_away(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[1] + 10.0;
  return 0;
}

START_TEST(functions_far_from_zero_take_no_evaluation_of_f) {
  ck_assert_done(&run, CPIntegratorSetStopTime(run.mem, 2.0));
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, far_away));
  ck_assert_returns(&run, one_to(&run, 2.0), CV_TSTOP_RETURN);
  ck_assert_int_eq(one_stats(&run).nfe_output, 0);
}
END_TEST

START_TEST(a_jump_is_located) {
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, jump));
  ck_assert_returns(&run, one_to(&run, 1.0), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(run.t, 0.37, 1.0e-12);
  ck_assert_int_lt(g_calls, 250 + 100); /* up to 100 looks for functions of time (watch.h) */
}
END_TEST

/* ---- failures ---- */

static int g_result;
static sunrealtype g_value;
static int misbehaving(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  position(t, y, g, user_data);
  if (t < 0.2) return 0;
  g[0] += g_value;
  return g_result;
}

/* c fails permanently once, at the first state between two steps that a root function needs. */
static int armed;
static int spoiling(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  const int flag = position(t, y, g, user_data);
  if (g[0] < 0.0 && !armed++) run.world.c = (Fault){.after = -1.0, .times = 1, .flag = -1};
  return flag;
}

START_TEST(a_projection_that_fails_for_good_ends_the_search_and_no_root_is_lost) {
  armed = 0;
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, spoiling));
  ck_assert_returns(&run, one_to(&run, 10.0), CP_USERFUNC_FAIL);
  ck_assert_mentions(run.log.text, "root functions");
  assert_root(0.5, -1);
}
END_TEST

/* Far from zero at both ends of the step, and near zero in between: slopes at both ends are needed.
 * At one call c begins to fail permanently. */
static sunrealtype centre, width;
static long int spoils_at;
static int near_zero_between(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  g[0] = (t - centre) * (t - centre) + 0.01 * width * width;
  if (++g_calls == spoils_at) run.world.c = (Fault){.after = -1.0, .times = 1, .flag = -1};
  return 0;
}

START_TEST(a_projection_that_fails_for_good_ends_the_search_wherever_it_is) {
  int nfailures = 0;
  for (spoils_at = 1; spoils_at <= g_calls + 1; spoils_at++) {
    one_restart(&run, 0.0);
    for (int k = 0; k < 3; k++) ck_assert_done(&run, one_step(&run));
    const IntegratorCounters s = one_stats(&run);
    width                      = s.hlast;
    centre                     = s.t - 0.5 * width;
    ck_assert_done(&run, one_to(&run, s.t - 0.9 * width)); /* the search begins within the step */
    g_calls = 0;
    ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, near_zero_between));
    const int flag    = one_step(&run); /* the end of that step is available */
    const int spoiled = g_calls >= spoils_at && run.world.c.times == 0;
    ck_assert_returns(&run, flag, spoiled ? CP_USERFUNC_FAIL : CP_SUCCESS);
    nfailures += spoiled;
    run.world.c.times = 0;
    ck_assert_done(&run, CPIntegratorRootInit(run.mem, 0, NULL));
  }
  ck_assert_int_ge(nfailures, 3);
}
END_TEST

START_TEST(failing_root_functions_end_the_call) {
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, misbehaving));
  g_result = _i ? 0 : 7;
  g_value  = _i ? NAN : 0.0;
  refused(&run, one_to(&run, 1.0), CV_RTFUNC_FAIL, "root function g", _i ? "NaN" : "7", "t = ");
  ck_assert_double_eq(run.t, one_stats(&run).t);
  g_result = 0, g_value = 0.0;
  assert_root(0.5, -1);
}
END_TEST

static long int g_fails_at;
static int position_that_fails(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  const int flag = position(t, y, g, user_data);
  return g_calls == g_fails_at ? -1 : flag;
}

/* For each call of g that may fail, also one after the root has been located */
START_TEST(no_root_is_lost_where_g_fails_once) {
  int failed = 1;
  for (g_fails_at = 1; failed && g_fails_at < 1000; g_fails_at++) {
    one_restart(&run, 0.0);
    g_calls = 0;
    ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position_that_fails));
    for (int k = 0; k < 2; k++) {
      int flag = one_to(&run, 10.0);
      failed   = g_calls >= g_fails_at;
      if (flag == CV_RTFUNC_FAIL) flag = one_to(&run, 10.0);
      ck_assert_returns(&run, flag, CV_ROOT_RETURN);
      ck_assert_double_le(fabs(run.t - 0.5 - k), NEAR);
    }
  }
  ck_assert_int_eq(failed, 0);
}
END_TEST

START_TEST(bad_arguments_of_roots_are_named) {
  const int bad = 3;
  int found;
  refused(&run, CPIntegratorSetRootDirection(run.mem, &bad), CP_NO_INIT, "CPIntegratorRootInit");
  refused(&run, CPIntegratorGetRootInfo(run.mem, &found), CP_NO_INIT, "CPIntegratorRootInit");
  refused(&run, CPIntegratorRootInit(run.mem, -1, position), CP_ILL_INPUT, "nrtfn", "-1");
  refused(&run, CPIntegratorRootInit(run.mem, 1, NULL), CP_ILL_INPUT, "g", "NULL");
  ck_assert_done(&run, CPIntegratorRootInit(run.mem, 1, position));
  refused(&run, CPIntegratorSetRootDirection(run.mem, &bad), CP_ILL_INPUT, "rootdir[0]", "3");
  refused(&run, CPIntegratorSetRootDirection(run.mem, NULL), CP_ILL_INPUT, "rootdir", "NULL");
  refused(&run, CPIntegratorGetRootInfo(run.mem, NULL), CP_ILL_INPUT, "rootsfound", "NULL");
  ck_assert_int_eq(CPIntegratorRootInit(NULL, 1, position), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorSetRootDirection(NULL, &bad), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorGetRootInfo(NULL, &found), CP_MEM_NULL);
}
END_TEST

TEST_SUITE(roots) {
  Suite *suite = suite_create("roots of one-step methods");
  TCase *tc    = tcase_create("roots");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, each_change_of_sign_is_returned_once);
  tcase_add_test(tc, g_is_zero_at_the_state_handed_out);
  tcase_add_test(tc, only_roots_in_the_direction_asked_for_are_returned);
  tcase_add_test(tc, a_root_at_the_start_is_ignored);
  tcase_add_test(tc, root_functions_may_get_data_of_their_own);
  tcase_add_test(tc, a_root_at_the_start_is_left_in_steps_of_any_size);
  tcase_add_test(tc, a_root_exactly_at_the_end_of_a_step_is_returned_once);
  tcase_add_test(tc, roots_of_several_functions_come_in_order_and_together);
  tcase_add_test(tc, roots_and_outputs_come_in_the_order_of_time);
  tcase_add_test(tc, output_changes_no_bit_of_a_root);
  tcase_add_loop_test(tc, functions_that_stay_at_zero_have_a_root_where_they_get_there, 0, 2);
  tcase_add_test(tc, one_step_mode_returns_roots_and_then_the_step);
  tcase_add_test(tc, roots_are_found_backward);
  tcase_add_test(tc, bounces_are_restarts_that_keep_the_step_size);
  tcase_add_test(tc, a_tout_on_the_wrong_side_is_refused);
  tcase_add_loop_test(tc, a_gap_that_opens_slowly_has_no_root, 0, 2 * n_one_methods);
  tcase_add_test(tc, another_root_soon_after_a_start_at_zero_is_returned);
  tcase_add_test(tc, flights_that_are_hardly_resolved_are_not_missed);
  tcase_add_loop_test(tc, a_run_with_an_event_at_its_end_is_complete, 0, 6);
  tcase_add_loop_test(tc, functions_that_end_where_the_run_begins_have_roots, 0, 6);
  tcase_add_test(tc, roots_can_be_set_and_taken_away_on_the_way);
  tcase_add_loop_test(tc, functions_that_come_and_go_within_a_step_are_found, 0, 3 * n_one_methods);
  tcase_add_loop_test(tc, a_function_that_turns_back_soon_after_a_root_has_two_roots, 0, 6);
  tcase_add_loop_test(tc, states_at_roots_are_as_accurate_as_ends_of_steps, 0, n_one_methods);
  tcase_add_loop_test(tc, steps_that_are_repeated_after_a_root_do_not_lead_back_to_it, 0,
                      n_one_methods);
  tcase_add_test(tc, functions_far_from_zero_take_no_evaluation_of_f);
  tcase_add_test(tc, a_jump_is_located);
  tcase_add_test(tc, a_projection_that_fails_for_good_ends_the_search_and_no_root_is_lost);
  tcase_add_test(tc, a_projection_that_fails_for_good_ends_the_search_wherever_it_is);
  tcase_add_loop_test(tc, failing_root_functions_end_the_call, 0, 2);
  tcase_add_test(tc, no_root_is_lost_where_g_fails_once);
  tcase_add_test(tc, bad_arguments_of_roots_are_named);
  suite_add_tcase(suite, tc);
  return suite;
}
