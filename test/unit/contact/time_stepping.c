/* Time stepping through infinitely many impacts (CPContactSetTimeStepping), against closed forms. */
#include "fixture.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>

/* ---- a block that rocks on its corners (G. W. Housner, Bull. Seismol. Soc. Am. 53, 1963) ---- */

/* Half width b, half height h, mass 1, and constant rows for small angles: gaps y -+ b theta,
 * sliding velocities x' + h theta'. About a corner, without sliding, |theta|'' = -kappa = -3 g
 * sin(alpha) / (4 R), and each plastic impact multiplies the rate by r = 1 - 1.5 sin(alpha)^2. From
 * rest at theta0 the first impact is at t1 = sqrt(2 theta0 / kappa); the flights that follow last 2
 * t1 r, 2 t1 r^2, ..., so that the block rests from t1 (1 + r) / (1 - r) on. The corners alternate,
 * so the velocity after an impact of one of them does not determine the rest of its series. */
static const sunrealtype b = 0.25, h = 0.5, g = 9.81, theta0 = 0.01;

static int block_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  SM_ELEMENT_D(M, 2, 2)                         = (b * b + h * h) / 3;
  return 0;
}

static int block_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = f[2] = 0, f[1] = -g;
  return 0;
}

static int calls_until_failure = -1;

static int block_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1] - b * q[2], p[1] = q[1] + b * q[2];
  return calls_until_failure >= 0 && calls_until_failure-- == 0 ? -1 : 0;
}

static int block_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int k = 0; k < 2; k++) {
    SM_ELEMENT_D(A, k, 1) = 1, SM_ELEMENT_D(A, k, 2) = k == 0 ? -b : b;
    SM_ELEMENT_D(A, 2 + k, 0) = 1, SM_ELEMENT_D(A, 2 + k, 2) = h;
  }
  return 0;
}

static int block_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *out,
                   void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  memset(out, 0, 4 * sizeof *out);
  return 0;
}

static const CPEquations block = {
    CP_SIZED(CPEquations), .nu = 3,           .np = 2,         .nv = 4,     .M = block_mass,
    .A = block_rows,       .f = block_weight, .p = block_gaps, .b = block_b};
static const CPContactPoint corners[2] = {{CP_SIZED(CPContactPoint), .name = "left", .normal = 0,
                                           .tangent = 2, .ntangents = 1, .law.mu = 1},
                                          {CP_SIZED(CPContactPoint), .name = "right", .normal = 1,
                                           .tangent = 3, .ntangents = 1, .law.mu = 1}};

static sunrealtype sin2_alpha(void) { return b * b / (b * b + h * h); }
static sunrealtype kappa(void) { return 0.75 * g * b / (b * b + h * h); }
static sunrealtype time_of_rest(void) {
  const sunrealtype r = 1 - 1.5 * sin2_alpha();
  return sqrt(2 * theta0 / kappa()) * (1 + r) / (1 - r);
}

enum { DENSE = 10 };

static Run *rocking(int method, sunrealtype duration) {
  const sunrealtype y0[] = {0, b * theta0, theta0, 0, 0, 0};
  Run *run               = run_start(&block, NULL, 2, corners, y0, method, 1e-10);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, DENSE, duration), CP_SUCCESS);
  return run;
}

static ContactCounters stats_of(const Run *run) {
  ContactCounters stats;
  ck_assert_int_eq(contact_counters(run->contact, &stats), CP_SUCCESS);
  return stats;
}

static void rests(Run *run, sunrealtype slid) {
  const sunrealtype *y = entries(run->y);
  ck_assert_double_le(fabs(y[0] - h * theta0),
                      slid); /* x + h theta is constant if it does not slide */
  for (int i = 1; i < 6; i++) ck_assert_double_le(fabs(y[i]), 1e-9);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(phase_of(run->contact, i), CP_CONTACT_STICKING);
}

/* The interval ends when the set of loaded corners has stayed the same for duration / DENSE. That
 * begins when two flights last less than a step, whose length is at most a quarter of that. The
 * block may slide by its velocity times the duration of the interval. */
START_TEST(rocking_block_rests_when_housner_says) {
  const sunrealtype calm[2] = {1e-3, 1e-4}, t = time_of_rest();
  for (int i = 0; i < 2; i++) {
    Run *run = rocking(_i, DENSE * calm[i]);
    run_to(run, 1);
    const ContactCounters stats = stats_of(run);
    const sunrealtype before    = t - stats.interval_begin;
    ck_assert_int_eq(stats.nintervals, 1);
    ck_assert_double_gt(before, 0);
    ck_assert_double_le(fabs(stats.interval_end - calm[i] - t), 2 * calm[i] / 4);
    rests(run, 1e-9 + kappa() * before * before);
    ck_assert_mentions(run->log.text, "time stepping");
    ck_assert_int_eq(run->event[run->nevents - 1].after, CP_CONTACT_STICKING);
    run_free(&run);
  }
}
END_TEST

START_TEST(a_stretch_may_be_cut_by_outputs_and_steps) {
  const sunrealtype t = time_of_rest();
  Run *run            = rocking(_i, 1e-2);
  while (run->t < t - 1e-3) ck_assert_int_ge(run_step(run, 1), 0);
  for (int i = 0; i < 40; i++) {
    const sunrealtype tout = t - 5e-4 + 7e-5 * i;
    if (tout <= run->t) continue;
    run_to(run, tout);
    ck_assert_double_eq(run->t, tout);
    if (tout < t) ck_assert_int_ge(run_step(run, 1), 0);
  }
  run_to(run, 1);
  ck_assert_int_eq(stats_of(run).nintervals, 1);
  rests(run, 1e-6);
  run_free(&run);
}
END_TEST

/* A function fails at its 1st, 4th, 16th, ... call in an interval: the state is that of the newest
 * step, and the run continues. */
START_TEST(a_failure_in_a_stretch_is_repaired) {
  Run *run = rocking(_i % 2 == 0 ? DOP853 : BDF, 1e-2);
  while (stats_of(run).nintervals == 0) ck_assert_int_ge(run_step(run, 1), 0);
  calls_until_failure = (1 << 2 * (_i / 2)) - 1;
  ck_assert_int_lt(run_solve(run, 1), 0);
  calls_until_failure = -1;
  ck_assert_double_eq(run->t, stats_of(run).interval_end);
  ck_assert_double_le(run->t, time_of_rest() + 2e-3);
  ck_assert_double_le(fabs(entries(run->y)[5]), kappa() * 1e-2);
  run_to(run, 1);
  ck_assert_int_eq(stats_of(run).nintervals, 1);
  rests(run, 1e-6);
  run_free(&run);
}
END_TEST

/* ---- a ball ---- */

/* With e = 0.9 the end of bouncing from the height 1 is at 8.578949178729 s (t1 (1 + e) / (1 - e)). Energy never grows. */
START_TEST(a_ball_loses_energy_until_it_rests) {
  Body body                  = {.m = 1, .J = 1, .g = 9.81, .npoints = 1};
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint floor = {CP_SIZED(CPContactPoint), .name = "floor", .tangent = 1,
                                .ntangents = 1, .law.restitution = 0.9};
  const sunrealtype y0[]     = {0, 1, 0, 1, 0, 0};
  sunrealtype energy         = 9.81;
  Run *run                   = run_start(&model, &body, 1, &floor, y0, _i, 1e-8);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 20, 0.2), CP_SUCCESS);
  for (int i = 0; i < 40; i++) {
    run_to(run, 8.4 + 0.01 * i);
    const sunrealtype *y = entries(run->y), now = y[4] * y[4] / 2 + 9.81 * y[1];
    ck_assert_double_le(now, energy + 1e-7);
    ck_assert_double_ge(y[1], -1e-8);
    energy = now;
  }
  ck_assert_int_eq(stats_of(run).nintervals, 1);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_CLOSED);
  ck_assert_double_eq_tol(entries(run->y)[0], run->t, 1e-6);
  run_free(&run);
}
END_TEST

/* ---- a block that slides to its end ---- */

/* Its lowest velocity is 1 / SLOWEST. Far below that all is well: integrators probe root functions at states nearby, off by 1e-2. */
enum { SLOWEST = 50 };

static int fast_only(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)z, (void)user_data;
  f[0] = 0, f[1] = -g;
  return u[0] > 0.6 / SLOWEST && u[0] < 1.0 / SLOWEST;
}

/* A force cannot be evaluated at some low velocities. Friction mu g brings a block with the velocity 1 to them, where the integrator finds no
 * step; an impulse of friction in a step of 1/20 s takes the block from there to rest. It comes to rest where v^2 / 2 = mu g x, up
 * to the way within that step. Without time stepping the run ends. */
START_TEST(time_stepping_takes_over_where_the_integrator_finds_no_step) {
  const int with             = _i % 2;
  Body body                  = {.m = 1, .J = 1, .g = g, .npoints = 1};
  CPEquations model          = floor_body_model(&body);
  const CPContactPoint floor = {CP_SIZED(CPContactPoint), .name = "floor", .tangent = 1,
                                .ntangents = 1, .law.mu = 0.4};
  const sunrealtype y0[] = {0, 0, 0, 1, 0, 0}, end = 1 / (2 * 0.4 * g);
  model.f  = fast_only;
  Run *run = run_start(&model, &body, 1, &floor, y0, _i / 2, 1e-3);
  ck_assert_int_eq(CPIntegratorSetMaxStep(run_integrator(run), 0.001),
                   CP_SUCCESS); /* No step skips these velocities. */
  if (with) ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 2, 0.4), CP_SUCCESS);
  const int flag = run_solve(run, 1);
  if (with) {
    ck_assert_msg(flag >= 0, "%d: %s", flag, run->log.text);
    ck_assert_int_eq(stats_of(run).nintervals, 1);
    ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
    ck_assert_double_eq_tol(entries(run->y)[0], end, 0.05 / SLOWEST + 1e-3);
  } else ck_assert_int_lt(flag, 0);
  run_free(&run);
}
END_TEST

/* A duration far beyond that of the run does not make steps longer than flights: the first step is
 * a quarter of the mean time between the impacts at t1, 2 t1, 2.5 t1 and 2.75 t1, of which the last
 * is one too many. Longer steps are twice as long as the one before. */
START_TEST(steps_are_those_of_the_events_that_were_too_many) {
  Body body                  = {.m = 1, .J = 1, .g = 9.81, .npoints = 1};
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint floor = {CP_SIZED(CPContactPoint), .name = "floor", .law.restitution = 0.5};
  const sunrealtype y0[] = {0, 1, 0, 0, 0, 0}, t1 = sqrt(2 / SUN_RCONST(9.81)), s = 1.75 * t1 / 12;
  Run *run = run_start(&model, &body, 1, &floor, y0, _i, 1e-8);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 3, 1e9), CP_SUCCESS);
  run_to(run, 2.75 * t1 + (1 + 2 + 4 + 8) * s);
  const ContactCounters stats = stats_of(run);
  ck_assert_int_eq(stats.nintervals, 1);
  ck_assert_int_ge(stats.ninterval_steps, 4);
  run_free(&run);
}
END_TEST

/* ---- a column of balls ---- */

enum { BALLS = 3 };

static int column_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < BALLS; i++) SM_ELEMENT_D(M, i, i) = 1 + i;
  return 0;
}

static int column_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  for (int i = 0; i < BALLS; i++) f[i] = -g * (1 + i);
  return 0;
}

static int column_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  for (int i = 0; i < BALLS; i++) p[i] = i == 0 ? q[0] - b : q[i] - q[i - 1] - 2 * b;
  return 0;
}

static int column_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < BALLS; i++) SM_ELEMENT_D(A, i, i) = 1;
  for (int i = 1; i < BALLS; i++) SM_ELEMENT_D(A, i, i - 1) = -1;
  return 0;
}

static int column_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *out,
                    void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  memset(out, 0, BALLS * sizeof *out);
  return 0;
}

/* A column of balls of the radius b that is to fall from y0 */
static Run *column_start(int method, const sunrealtype *y0, sunrealtype duration) {
  static const CPEquations column       = {CP_SIZED(CPEquations), .nu = BALLS,      .np = BALLS,
                                           .M = column_mass,      .A = column_rows, .f = column_weight,
                                           .p = column_gaps,      .b = column_b};
  static const char *const names[BALLS] = {"floor", "lower", "upper"};
  CPContactPoint points[BALLS];
  for (int i = 0; i < BALLS; i++)
    points[i] = (CPContactPoint){CP_SIZED(CPContactPoint), .name = names[i], .normal = i,
                                 .law.restitution = 0.5};
  Run *run = run_start(&column, NULL, BALLS, points, y0, method, 1e-8);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, DENSE, duration), CP_SUCCESS);
  return run;
}

/* Balls of the radius b fall on a floor and on each other, and come to rest. The gap of the lowest one, which its flight has
 * made negative, is closed by raising it, and that must not push it into the next one. */
START_TEST(no_gap_is_negative_after_any_step) {
  const sunrealtype y0[2 * BALLS] = {0.3, 0.87, 1.44};
  Run *run                        = column_start(_i, y0, 0.2);
  int steps                       = 0;
  while (run->t < 2) {
    const int is_stepping = stats_of(run).time_stepping != 0;
    sunrealtype gap[BALLS];
    ck_assert_int_ge(run_step(run, 2), 0);
    ck_assert_int_eq(CPContactEvaluate(run->contact, run->t, run->y, NULL, NULL, gap, NULL),
                     CP_SUCCESS);
    for (int i = 0; i < BALLS && is_stepping; i++) ck_assert_double_ge(gap[i], -1e-9);
    steps += is_stepping;
  }
  ck_assert_int_gt(steps, 0);
  for (int i = 0; i < BALLS; i++) {
    ck_assert_double_eq_tol(entries(run->y)[i], b * (1 + 2 * i), 1e-7);
    ck_assert_double_le(fabs(entries(run->y)[BALLS + i]), 1e-9);
  }
  run_free(&run);
}
END_TEST

/* The upper ball falls from 2 m onto the others, which rest for less than the duration by then. That event alone resumes time
 * stepping, and the balls come to rest. */
START_TEST(an_event_soon_after_an_interval_resumes_it) {
  const sunrealtype y0[2 * BALLS] = {0.3, 0.87, 2.87}, calm = 0.5 / DENSE;
  Run *run = column_start(_i, y0, DENSE * calm);
  while (stats_of(run).nintervals < 1 || stats_of(run).time_stepping)
    ck_assert_int_ge(run_step(run, 3), 0);
  const ContactCounters first = stats_of(run);
  while (stats_of(run).nintervals < 2) ck_assert_int_ge(run_step(run, 3), 0);
  const ContactCounters second = stats_of(run);
  ck_assert_int_eq(second.nevents, first.nevents + 1);
  ck_assert_double_gt(second.interval_begin, first.interval_end + calm);
  ck_assert_mentions(run->log.text, "time stepping again");
  run_to(run, 4);
  ck_assert_int_eq(stats_of(run).time_stepping, 0);
  for (int i = 0; i < BALLS; i++)
    ck_assert_double_eq_tol(entries(run->y)[i], b * (1 + 2 * i), 1e-7);
  run_free(&run);
}
END_TEST

/* ---- what rests ---- */

enum { ALONG, ABOVE, BESIDE }; /* a block's place along the floor, its height, and that of a ball */

static int beside_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int beside_forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[ALONG] = 0.3 * g, f[ABOVE] = f[BESIDE] = -g;
  return 0;
}

static int beside_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[ABOVE], p[1] = q[BESIDE];
  return 0;
}

static int beside_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, ABOVE) = SM_ELEMENT_D(A, 1, BESIDE) = SM_ELEMENT_D(A, 2, ALONG) = 1;
  return 0;
}

static int beside_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *out,
                    void *user_data) {
  (void)t, (void)q, (void)u, (void)user_data;
  memset(out, 0, 3 * sizeof *out);
  return 0;
}

/* A block under a load below its friction stays where it is while a ball bounces beside it, through several steps. Flights of one-step
 * methods are exact. */
START_TEST(what_rests_does_not_creep) {
  const CPEquations beside       = {CP_SIZED(CPEquations),
                                    .nu = 3,
                                    .np = 2,
                                    .nv = 3,
                                    .M  = beside_mass,
                                    .A  = beside_rows,
                                    .f  = beside_forces,
                                    .p  = beside_gaps,
                                    .b  = beside_b};
  const CPContactPoint points[2] = {
      {CP_SIZED(CPContactPoint), .name = "block", .normal = 0, .tangent = 2, .ntangents = 1,
       .law.mu = 0.4},
      {CP_SIZED(CPContactPoint), .name = "ball", .normal = 1, .law.restitution = 0.9}};
  const sunrealtype y0[6] = {0, 0, 1};
  Run *run                = run_start(&beside, NULL, 2, points, y0, _i, 1e-6);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 5, 0.5), CP_SUCCESS);
  run_to(run, 8.5);
  ck_assert_int_gt(stats_of(run).ninterval_steps, 8);
  for (int i = 0; i < 2; i++) {
    ck_assert_double_le(fabs(entries(run->y)[i]), 1e-10);
    ck_assert_double_le(fabs(entries(run->y)[3 + i]), 1e-10);
  }
  run_free(&run);
}
END_TEST

/* ---- the option ---- */

START_TEST(limits_that_are_none_are_refused) {
  Run *run    = rocking(_i, 1e-2);
  CPContact c = run->contact;
  ck_assert_int_eq(CPContactSetTimeStepping(NULL, 2, 1), CP_MEM_NULL);
  ck_assert_int_eq(CPContactSetTimeStepping(c, -1, 1), CP_ILL_INPUT);
  ck_assert_int_eq(CPContactSetTimeStepping(c, 1, 1), CP_ILL_INPUT);
  ck_assert_int_eq(CPContactSetTimeStepping(c, 5, 0), CP_ILL_INPUT);
  ck_assert_int_eq(CPContactSetTimeStepping(c, 5, NAN), CP_ILL_INPUT);
  while (stats_of(run).nintervals == 0) ck_assert_int_ge(run_step(run, 1), 0);
  ck_assert_int_eq(CPContactSetTimeStepping(c, 0, 0), CP_TOO_LATE);
  run_to(run, 1);
  ck_assert_int_eq(CPContactSetTimeStepping(c, 0, 0), CP_SUCCESS);
  run_free(&run);
  run = rocking(_i, 1e-2);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 0, 0), CP_SUCCESS);
  run_to(run, 1); /* by events alone */
  ck_assert_int_eq(stats_of(run).nintervals, 0);
  rests(run, 1e-8);
  run_free(&run);
}
END_TEST

TEST_SUITE(time_stepping) {
  Suite *suite = suite_create("contact/time_stepping");
  TCase *tc    = tcase_create("time_stepping");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, rocking_block_rests_when_housner_says, 0, METHODS);
  tcase_add_loop_test(tc, a_stretch_may_be_cut_by_outputs_and_steps, 0, METHODS);
  tcase_add_loop_test(tc, a_failure_in_a_stretch_is_repaired, 0, 2 * 5);
  tcase_add_loop_test(tc, a_ball_loses_energy_until_it_rests, 0, METHODS);
  tcase_add_loop_test(tc, time_stepping_takes_over_where_the_integrator_finds_no_step, 0,
                      2 * METHODS);
  tcase_add_loop_test(tc, steps_are_those_of_the_events_that_were_too_many, 0, METHODS);
  tcase_add_loop_test(tc, no_gap_is_negative_after_any_step, 0, METHODS);
  tcase_add_loop_test(tc, an_event_soon_after_an_interval_resumes_it, 0, METHODS);
  tcase_add_loop_test(tc, what_rests_does_not_creep, 0, RADAU + 1);
  tcase_add_test(tc, limits_that_are_none_are_refused);
  suite_add_tcase(suite, tc);
  return suite;
}
