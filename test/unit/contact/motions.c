/* Motions with contacts against closed forms, published numbers, and each other. */
#include "fixture.h"
#include "models/woodpecker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define TIGHT SUN_RCONST(1.0e-11)

static Body point_mass(void) { return (Body){.m = 1, .J = 1, .g = 9.81, .npoints = 1}; }

/* ---- one contact ---- */

/* From the height 1: impact k + 1 follows impact k after 2 e^k t1, and all of them end at t1 (1 + e) / (1 - e). Errors of velocities
 * after an impact grow by 2 / (g (1 - e)), about 2, in that time. */
START_TEST(bouncing_ball_comes_to_rest_where_the_series_ends) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .law.restitution = 0.9};
  const sunrealtype y0[] = {0, 1, 0, 0, 0, 0}, t1 = sqrt(2 / 9.81);
  Run *run   = run_start(&model, &body, 1, &point, y0, _i, asked_of(_i, TIGHT));
  int before = 0;
  run_to(run, 9);
  ck_assert_double_le(fabs(run->event[0].t - t1), 1e-10);
  for (int i = 0; i < run->nevents; i++) before += run->event[i].t < 8.5;
  ck_assert_int_eq(before, 44);
  const CPContactEvent *last = &run->event[run->nevents - 1];
  ck_assert_int_eq(last->accumulated, 1);
  ck_assert_double_le(fabs(last->t_closed - t1 * SUN_RCONST(1.9) / SUN_RCONST(0.1)),
                      _i == BDF ? 3e-10 : 1e-10);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_CLOSED); /* no friction */
  ck_assert_double_le(fabs(entries(run->y)[1]), TIGHT);
  ck_assert_double_le(fabs(entries(run->y)[4]), TIGHT);
  sunrealtype force[3];
  ck_assert_int_eq(CPContactEvaluate(run->contact, run->t, run->y, NULL, force, NULL, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(force[0], 9.81, 1e-12);
  run_free(&run);
}
END_TEST

/* Taken step by step, the ball strikes as in one call: the state before each impact is interpolated
 * and has the gap 0, the one after it has the velocity -e v, and both runs report the same events,
 * to the accuracy of the tolerance. */
START_TEST(steps_end_at_events_and_then_pass_them) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .law.restitution = 0.9};
  const sunrealtype y0[] = {0, 1, 0, 0, 0, 0}, v1 = sqrt(2 * SUN_RCONST(9.81));
  Run *whole    = run_start(&model, &body, 1, &point, y0, _i, TIGHT);
  Run *run      = run_start(&model, &body, 1, &point, y0, _i, TIGHT);
  sunrealtype t = 0, *y = entries(run->y);
  int flag = CP_SUCCESS, events = 0;
  N_Vector between = vector_copy(run->y);
  run_to(whole, 3);
  while (t < 3) {
    ck_assert_int_ge(flag = CPSessionStep(run->session, 3, run->y, &t), 0);
    if (flag != CV_ROOT_RETURN) continue;
    const sunrealtype before = y[4], at = t;
    CPContactEvent event = CP_INIT(CPContactEvent);
    ck_assert_int_eq(run->nevents, events);
    ck_assert_int_eq(CPSessionGetDky(run->session, t, 0, between), CP_SUCCESS);
    ck_assert_double_le(fabs(entries(between)[1]), 10 * TIGHT);
    ck_assert_double_le(fabs(before + v1 * pow(0.9, events)), 100 * TIGHT);
    ck_assert_int_eq(CPSessionStep(run->session, 3, run->y, &t), CP_SUCCESS);
    ck_assert_double_eq(t, at);
    ck_assert_double_eq_tol(y[4], -0.9 * before, 1e-14);
    ck_assert_int_eq(CPContactGetEvent(run->contact, 0, &event), CP_SUCCESS);
    ck_assert_int_eq(event.struck, 1);
    ck_assert_double_le(fabs(event.t - whole->event[events].t), 100 * TIGHT);
    ck_assert_double_eq(event.velocity[1][0], y[4]);
    events++;
  }
  ck_assert_int_eq(events, 4); /* at t1 (1 + 2 (e + e^2 + ...)): 0.45, 1.26, 2.00, 2.65 s */
  ck_assert_int_eq(CPContactGetEvent(run->contact, 1, &(CPContactEvent)CP_INIT(CPContactEvent)),
                   CP_ILL_INPUT);
  ck_assert_int_eq(CPContactGetEvent(run->contact, -1, &(CPContactEvent)CP_INIT(CPContactEvent)),
                   CP_ILL_INPUT);
  ck_assert_int_eq(CPContactGetEvent(run->contact, 0, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionStep(run->session, 0, run->y, &t), CP_ILL_INPUT);
  ck_assert_int_eq(CPSessionStep(run->session, 4, run->y, NULL), CP_ILL_INPUT);
  N_VDestroy(between);
  run_free(&run);
  run_free(&whole);
}
END_TEST

/* Heights y - 1/2, whose roots lie between impacts, and y, whose roots are the impacts */
static int heights(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[1] - SUN_RCONST(0.5);
  g[1] = entries(y)[1];
  return 0;
}

/* The ball falls through 1/2 once, and rises and falls through it after each of the first three
 * impacts: e^6 > 1/2 > e^8. Impact k is at t1 (1 + 2 (e + ... + e^(k-1))), and the velocity after
 * it is e^k g t1. */
START_TEST(roots_of_the_user_are_returned_beside_events) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .law.restitution = 0.9};
  int direction[2]           = {0, -1};
  const sunrealtype y0[] = {0, 1, 0, 0, 0, 0}, g = 9.81, t1 = sqrt(2 / g);
  int crossings = 0, impacts = 0, flag;
  const int *found;
  sunrealtype impact = 0, speed = 0; /* the newest impact, and the speed after it */
  Run *run = run_create(&model, &body, 1, &point, y0);
  run_watch(run, 2, heights, direction);
  ck_assert_int_eq(run_attach(run, _i, TIGHT), CP_SUCCESS);
  /* A step over a parabola may be as long as a flight; the shortest time above 1/2 is 0.16 s. */
  ck_assert_int_eq(CPIntegratorSetMaxStep(run_integrator(run), 0.1), CP_SUCCESS);
  found = run->found;
  while ((flag = run_solve(run, 3.5)) == CP_STOPPED) {
    if (found[1]) {
      impact = impacts == 0 ? t1 : impact + 2 * t1 * pow(0.9, impacts);
      speed  = g * t1 * pow(0.9, ++impacts);
      ck_assert_int_eq(found[1], -1);
      ck_assert_double_le(fabs(run->t - impact), 100 * TIGHT);
    } else {
      const int rises            = impacts > 0 && crossings % 2 == 1;
      const sunrealtype root     = sqrt(speed * speed - g) / g,
                        expected = impacts == 0 ? sqrt(1 / g)
                                                : impact + speed / g + (rises ? -root : root);
      ck_assert_int_eq(found[0], rises ? 1 : -1);
      ck_assert_double_le(fabs(run->t - expected), 100 * TIGHT);
      crossings++;
    }
  }
  ck_assert_int_eq(flag, CP_SUCCESS);
  ck_assert_int_eq(crossings, 7);
  ck_assert_int_eq(impacts, 5);
  run_free(&run);
}
END_TEST

static int restart_there(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  (void)session, (void)event, (void)y;
  return *(const int *)data;
}

static int at_floor(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  (void)t, (void)data;
  g[0] = entries(y)[1];
  return 0;
}

/* Impacts are told also if another source has an event at the same time, and whatever it asks for. The first impacts of the ball are at
 * 0.45, 1.26 and 2.00 s. */
START_TEST(impacts_are_told_beside_events_of_others) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .law.restitution = 0.9};
  const sunrealtype y0[]     = {0, 1, 0, 0, 0, 0};
  for (int action = CP_CONTINUE; action <= CP_RESTART; action++) {
    Run *run                   = run_create(&model, &body, 1, &point, y0);
    const CPEventSource source = {.size   = sizeof source,
                                  .name   = "other",
                                  .data   = &action,
                                  .nroots = 1,
                                  .roots  = at_floor,
                                  .handle = restart_there};
    run->session               = session_of(run->contact, _i, TIGHT, TIGHT);
    ck_assert_int_eq(CPSessionAddSource(run->session, &source, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPSessionStart(run->session, 0, run->y, -2), CP_ILL_INPUT); /* backwards */
    ck_assert_int_eq(CPSessionStart(run->session, 0, run->y, 2.2), CP_SUCCESS);
    run_to(run, 2.2);
    ck_assert_int_eq(run->nevents, 3);
    for (int k = 0; k < 3; k++) {
      ck_assert_int_eq(run->event[k].struck, 1);
      ck_assert_int_eq(run->event[k].before, CP_CONTACT_OPEN);
      ck_assert_int_eq(run->event[k].after, CP_CONTACT_OPEN);
    }
    run_free(&run);
  }
}
END_TEST

/* The end of the series has an error of at most 100 tolerances, by each method, from 1e-4 to 1e-10. */
START_TEST(end_of_bouncing_has_the_accuracy_of_the_tolerance) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .law.restitution = 0.9};
  const sunrealtype y0[] = {0, 1, 0, 0, 0, 0}, end = sqrt(2 / 9.81) * 19;
  for (int digits = 4; digits <= 10; digits += 2) {
    const sunrealtype tol = pow(10, -digits);
    Run *run              = run_start(&model, &body, 1, &point, y0, _i, tol);
    run_to(run, 9);
    const CPContactEvent *last = &run->event[run->nevents - 1];
    ck_assert_int_eq(last->accumulated, 1);
    ck_assert_double_le(fabs(last->t_closed - end), 100 * tol);
    run_free(&run);
  }
}
END_TEST

/* Stops after v0 / (mu g), at the distance v0^2 / (2 mu g), and stays. */
START_TEST(sliding_block_stops) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "block", .tangent = 1,
                                .ntangents = 1, .law.mu = 0.3};
  const sunrealtype v0 = _i % 2 ? -2 : 2, y0[] = {0, 0, 0, v0, 0, 0}, a = 0.3 * 9.81;
  Run *run = run_start(&model, &body, 1, &point, y0, _i / 2, TIGHT);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_SLIDING);
  run_to(run, 2);
  ck_assert_int_eq(run->nevents, 1);
  ck_assert_double_le(fabs(run->event[0].t - 2 / a), 1e-10);
  ck_assert_double_le(fabs(entries(run->y)[0] - v0 * fabs(v0) / (2 * a)), 1e-10);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
  run_free(&run);
}
END_TEST

/* Friction would stop this velocity before the end of sliding could be distinguished from the
 * start: the block rests. Without this rule the end was missed, and friction accelerated the block
 * backwards. */
START_TEST(block_that_hardly_slides_rests) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "block", .tangent = 1,
                                .ntangents = 1, .law.mu = 0.3};
  const sunrealtype v0 = pow(10, _i / METHODS - 15), y0[] = {0, 0, 0, v0, 0, 0}, t0 = 0.25;
  Run *run           = run_start(&model, &body, 1, &point, y0, _i % METHODS, TIGHT);
  entries(run->y)[3] = v0;
  ck_assert_int_eq(CPSessionSetTolerances(run->session, 1e-8, 1e-16, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(run->session, t0, run->y, 1), CP_SUCCESS);
  run_to(run, 1);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
  ck_assert_double_le(fabs(entries(run->y)[0]), v0 * v0 + 1e-16);
  ck_assert_double_le(fabs(entries(run->y)[3]), 1e-16);
  run_free(&run);
}
END_TEST

/* Rolls after 2 v0 / (7 mu g), with 5/7 v0, at the distance 12 v0^2 / (49 mu g). */
START_TEST(slipping_ball_begins_to_roll) {
  RollingBall ball           = {.m = 1, .r = 0.1, .g = 9.81};
  const CPEquations model    = rolling_ball_model();
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .tangent = 1,
                                .ntangents = 1, .law.mu = 0.2};
  const sunrealtype v0 = 3, a = 0.2 * 9.81, y0[] = {0, ball.r, 0, v0, 0, 0},
                    rolls = 2 * v0 / (7 * a);
  Run *run                = run_start(&model, &ball, 1, &point, y0, _i, TIGHT);
  run_to(run, 1);
  const sunrealtype way = 12 * v0 * v0 / (49 * a) + SUN_RCONST(5.0) / 7 * v0 * (1 - rolls);
  ck_assert_int_eq(run->nevents, 1);
  ck_assert_double_le(fabs(run->event[0].t - rolls), 1e-10);
  ck_assert_double_le(fabs(entries(run->y)[0] - way), 1e-10);
  ck_assert_double_le(fabs(entries(run->y)[3] - SUN_RCONST(5.0) / 7 * v0), 1e-10);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
  run_free(&run);
}
END_TEST

/* Thrown obliquely without bouncing: the impulse of friction is mu times the normal one. */
START_TEST(plastic_impact_with_friction) {
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .tangent = 1,
                                .ntangents = 1, .law.mu = 0.25};
  const sunrealtype y0[] = {0, 0.5, 0, 3, 0, 0}, v = sqrt(9.81);
  Run *run = run_start(&model, &body, 1, &point, y0, DOP853, TIGHT);
  run_to(run, 0.4);
  const CPContactEvent *hit = &run->event[0];
  ck_assert_int_eq(hit->struck, 1);
  ck_assert_int_eq(hit->after, CP_CONTACT_SLIDING);
  ck_assert_double_le(fabs(hit->impulse[0] - v), 1e-10);
  ck_assert_double_le(fabs(hit->impulse[1] + 0.25 * v), 1e-10);
  ck_assert_double_le(fabs(hit->velocity[1][1] - (3 - 0.25 * v)), 1e-10);
  const sunrealtype later = 0.4 - sqrt(1 / SUN_RCONST(9.81));
  ck_assert_double_le(fabs(entries(run->y)[3] - (3 - 0.25 * v - 0.25 * 9.81 * later)), 1e-10);
  run_free(&run);
}
END_TEST

static int stop_here(const CPContactEvent *event, void *user_data) {
  (void)event, (void)user_data;
  return 1;
}

/* The peak memory of the program so far [kB]; 0 with the address sanitizer, which keeps freed
 * memory. */
static long int peak_memory(void) {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#else
  struct rusage usage;
  ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_maxrss;
#endif
}

/* An impact every 0.1: short flights must not be missed where the method's steps are longer. */
static const struct {
  int method;
  sunrealtype tol, energy;
} tireless[] = {{DOP853, 1e-10, 1e-7}, {BDF, 1e-7, 1e-3}}; /* at most one tolerance in each flight */

START_TEST(ten_thousand_impacts_do_not_drift) {
  const sunrealtype tol      = tireless[_i].tol;
  Body body                  = point_mass();
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .law.restitution = 1};
  const sunrealtype y0[]     = {0, SUN_RCONST(9.81) / 800, 0, 0, 0, 0};
  Run *run                   = run_start(&model, &body, 1, &point, y0, tireless[_i].method, tol);
  const sunrealtype *y       = entries(run->y);
  long int peak              = 0;
  ck_assert_int_eq(CPContactSetEventFn(run->contact, stop_here, NULL), CP_SUCCESS);
  for (int impact = 1; impact <= 10000; impact++) {
    ck_assert_int_eq(run_solve(run, 2000), CP_STOPPED);
    ck_assert_double_le(fabs(y[1]), tol);
    ck_assert_double_gt(y[4], 0);
    if (impact == 1000) peak = peak_memory();
  }
  ck_assert_int_le(peak_memory(), peak + 256); /* 30 bytes per impact */
  /* DOP853 is exact here: roundoff of t, 1e-13 at the end, shifts each impact, and v g times it
   * enters the energy. */
  const sunrealtype energy = y[4] * y[4] / 2 + 9.81 * y[1], start = 9.81 * y0[1];
  ck_assert_double_le(fabs(energy - start) / start, tireless[_i].energy);
  run_free(&run);
}
END_TEST

/* ---- a rod ---- */

/* Of length and mass 1 on its end (-1/2, 0), at the angle theta: n^T W (n - mu s) = 1 + 3 cos^2 - 3 mu sin cos where the end slides
 * to the left, with the least zero mu = 4/3 at tan theta = 2. */
static Body rod(void) {
  return (Body){.m = 1, .J = SUN_RCONST(1.0) / 12, .g = 9.81, .npoints = 1, .a = {-0.5}};
}

START_TEST(painleve_begins_at_four_thirds) {
  Body body               = rod();
  const CPEquations model = floor_body_model(&body);
  for (int above = 0; above < 2; above++) {
    const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "end", .tangent = 1,
                                  .ntangents = 1,
                                  .law.mu = SUN_RCONST(4.0) / 3 * (1 + (above ? 1e-12 : -1e-12))};
    int negative = 0, at_two = 0;
    for (int k = 0; k <= 200; k++) { /* tan theta from 0 to 4 */
      const sunrealtype theta = atan(0.02 * k), y0[] = {0, 0.5 * sin(theta), theta, -1, 0, 0};
      sunrealtype value;
      Run *run = run_create(&model, &body, 1, &point, y0);
      ck_assert_int_eq(CPContactPainleve(run->contact, 0, run->y, &value), CP_SUCCESS);
      const sunrealtype c = cos(theta), exact = 1 + 3 * c * c - 3 * point.law.mu * sin(theta) * c;
      ck_assert_double_le(fabs(value - exact), 1e-14);
      negative += value <= 0;
      if (k == 100) at_two = value <= 0;
      run_free(&run);
    }
    ck_assert_int_eq(at_two, above);
    ck_assert_int_eq(negative, above);
  }
}
END_TEST

START_TEST(rod_that_jams_is_named) {
  Body body               = rod();
  const CPEquations model = floor_body_model(&body);
  const sunrealtype theta = atan(2.0), y0[] = {0, 0.5 * sin(theta), theta, -1, 0, 0};
  CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "end of the rod", .tangent = 1,
                          .ntangents = 1, .law.mu = 1.5};
  Run *run             = run_create(&model, &body, 1, &point, y0);
  ck_assert_int_eq(run_attach(run, DOP853, TIGHT), CP_CONTACT_PAINLEVE);
  ck_assert_mentions(run->log.text, "end of the rod");
  ck_assert_mentions(run->log.text, "mu = 1.5");
  ck_assert_int_eq(memcmp(entries(run->y), y0, sizeof y0), 0);
  run_free(&run);
  point.law.mu = 1.3;
  run          = run_start(&model, &body, 1, &point, y0, DOP853, TIGHT);
  run_to(run, 0.01);
  run_free(&run);
}
END_TEST

/* No force holds the end of the rod on the floor while it slides, but an impulse does, which ends the sliding: without a collision, an impact
 * (Genot and Brogliato 1999). With the least change of velocity that leaves the end at rest, the rod turns about it: its angular momentum about
 * the end stays, so theta' = -sin(theta) v / 2 / (1/3) for the velocity v of the centre before. */
START_TEST(rod_that_jams_stops_by_an_impulse) {
  Body body               = rod();
  const CPEquations model = floor_body_model(&body);
  const sunrealtype theta = atan(2.0), y0[] = {0, 0.5 * sin(theta), theta, -1, 0, 0};
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "end of the rod", .tangent = 1,
                                .ntangents = 1, .law.mu = 1.5};
  const sunrealtype rate = 1.5 * sin(theta) * 1, later = 1e-4;
  Run *run = run_create(&model, &body, 1, &point, y0);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 10, 1e-3), CP_SUCCESS);
  ck_assert_int_eq(run_attach(run, DOP853, TIGHT), CP_SUCCESS);
  run_to(run, later);
  const sunrealtype *y = entries(run->y);
  /* gravity changes the rate by at most 3/2 g t */
  ck_assert_double_eq_tol(y[5], rate, 15 * later);
  ck_assert_double_eq_tol(y[3] + 0.5 * sin(y[2]) * y[5], 0, 1e-9);
  ck_assert_double_eq_tol(y[4] - 0.5 * cos(y[2]) * y[5], 0, 1e-9);
  ck_assert_mentions(run->log.text, "no accelerations satisfy the laws of contact");
  run_free(&run);
}
END_TEST

/* ---- several contacts ---- */

/* siconos-tutorials, examples/mechanics/ImpactingStick: length 1, mass 1, 45 degrees, e = 1,
 * mu = 0.01. Without friction the energy would be constant; the errors of 300 steps stay below 300
 * tolerances of the energy's terms. */
START_TEST(energy_of_an_impacting_stick_never_grows) {
  Body body = {.m = 1, .J = SUN_RCONST(1.0) / 12, .g = 10, .npoints = 2, .a = {-0.5, 0.5}};
  const CPEquations model       = floor_body_model(&body);
  const sunrealtype e           = _i % 2 ? SUN_RCONST(0.5) : 1;
  const CPContactPoint points[] = {
      {CP_SIZED(CPContactPoint), .name = "left", .normal = 0, .tangent = 2, .ntangents = 1,
       .law.mu = 0.01, .law.restitution = e},
      {CP_SIZED(CPContactPoint), .name = "right", .normal = 1, .tangent = 3, .ntangents = 1,
       .law.mu = 0.01, .law.restitution = e}};
  const sunrealtype pi = acos(-1), y0[] = {0, 1, pi / 4, -0.5, 0.1, 0.1};
  Run *run           = run_start(&model, &body, 2, points, y0, _i / 2, 1e-10);
  sunrealtype before = floor_body_energy(&body, run->y);
  for (int k = 1; k <= 100; k++) {
    run_to(run, 0.02 * k);
    const sunrealtype now = floor_body_energy(&body, run->y);
    ck_assert_double_le(now, before + 1e-10 * 300);
    before = now;
  }
  ck_assert_int_ge(run->nevents, 5);
  for (int i = 0; i < run->nevents; i++) {
    const CPContactEvent *event = &run->event[i];
    ck_assert_double_ge(event->impulse[0], 0);
    ck_assert_double_le(fabs(event->impulse[1]), 0.01 * event->impulse[0] * (1 + 1e-12));
  }
  run_free(&run);
}
END_TEST

/* A block of 1 x 1/2 that rocks without sliding: each plastic impact of a corner reduces the angular rate by the factor
 * 1 - 3/2 sin^2 alpha = 0.7 (G. W. Housner, Bull. Seism. Soc. America 53, 1963), until it stands. */
START_TEST(rocking_block_is_housners) {
  Body body                     = {.m       = 1,
                                   .J       = SUN_RCONST(1.25) / 12,
                                   .g       = 9.81,
                                   .npoints = 2,
                                   .a       = {-0.25, 0.25},
                                   .b       = {-0.5, -0.5}};
  const CPEquations model       = floor_body_model(&body);
  const CPContactPoint points[] = {{CP_SIZED(CPContactPoint), .name = "left", .normal = 0,
                                    .tangent = 2, .ntangents = 1, .law.mu = 0.6},
                                   {CP_SIZED(CPContactPoint), .name = "right", .normal = 1,
                                    .tangent = 3, .ntangents = 1, .law.mu = 0.6}};
  const sunrealtype theta = 0.2, y0[] = {0, 0.25 * sin(theta) + 0.5 * cos(theta), theta, 0, 0, 0};
  Run *run    = run_start(&model, &body, 2, points, y0, _i, 1e-10);
  int impacts = 0;
  run_to(run, 4);
  for (int i = 0; i + 1 < run->nevents && !run->event[i].accumulated; i++) {
    const CPContactEvent *a = &run->event[i], *b = &run->event[i + 1];
    const CPContactEvent *hit = a->struck ? a : b, *left = a->struck ? b : a;
    if (a->t != b->t || hit->velocity[0][0] > -1e-3) continue;
    ck_assert_double_eq_tol(left->velocity[1][0] / -hit->velocity[0][0], 0.7, 1e-10);
    impacts++;
  }
  ck_assert_int_ge(impacts, 15);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
  ck_assert_int_eq(phase_of(run->contact, 1), CP_CONTACT_STICKING);
  ck_assert_double_eq_tol(entries(run->y)[1], 0.5, 1e-9);
  ck_assert_double_eq_tol(entries(run->y)[2], 0, 1e-9);
  sunrealtype force[6];
  ck_assert_int_eq(CPContactEvaluate(run->contact, run->t, run->y, NULL, force, NULL, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(force[0], 9.81 / 2, 1e-8);
  ck_assert_double_eq_tol(force[3], 9.81 / 2, 1e-8);
  ck_assert_double_eq_tol(force[1] + force[4], 0, 1e-8);
  run_free(&run);
}
END_TEST

/* A block so high that friction tips it where it slides, mu h > w. It is dropped and rocks. When
 * its impacts accumulate, it is left with a sliding velocity that lifts one corner by less than the
 * tolerance, for 4e-8 s. It then comes to rest: no corner may instead fall back from the tolerance,
 * again and again. */
START_TEST(block_that_tips_while_it_slides_comes_to_rest) {
  const sunrealtype drop = 2e-5 * (1 + _i / METHODS);
  Body body              = {
                   .m = 1, .J = SUN_RCONST(0.34) / 3, .g = 9.81, .npoints = 2, .a = {-0.3, 0.3}, .b = {-0.5, -0.5}};
  const CPEquations model       = floor_body_model(&body);
  const CPContactPoint points[] = {{CP_SIZED(CPContactPoint), .name = "left", .normal = 0,
                                    .tangent = 2, .ntangents = 1, .law.mu = 0.66},
                                   {CP_SIZED(CPContactPoint), .name = "right", .normal = 1,
                                    .tangent = 3, .ntangents = 1, .law.mu = 0.65,
                                    .law.restitution = 0.19}};
  const sunrealtype y0[]        = {0, 0.5 + drop, 0, 0, 0, 0};
  Run *run                      = run_start(&model, &body, 2, points, y0, _i % METHODS, 1e-8);
  sunrealtype force[6];
  run_to(run, 0.1); /* It rocks for a few milliseconds. */
  ck_assert_int_le(run->all, 100);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(phase_of(run->contact, i), CP_CONTACT_STICKING);
  ck_assert_int_eq(CPContactEvaluate(run->contact, run->t, run->y, NULL, force, NULL, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(force[0] + force[3], 9.81, 1e-8);
  run_free(&run);
}
END_TEST

/* The sequence of contacts and phases, as text. */
static void sequence(const Run *run, char *text, size_t length) {
  size_t used = 0;
  text[0]     = '\0';
  for (int i = 0; i < run->nevents; i++)
    used += (size_t)snprintf(text + used, length - used, "%d%c%d ", run->event[i].contact,
                             run->event[i].struck ? '!' : ':', run->event[i].after);
  ck_assert_uint_lt(used, length);
}

/* Glocker's constants */
static Run *woodpecker(int method, sunrealtype tol) {
  static Woodpecker toy = {.g = 9.81, .c = 5.6e-3};
  CPEquations model     = woodpecker_model();
  CPContactPoint contact[WOODPECKER_CONTACTS];
  N_Vector y0 = N_VNew_Serial(6, test_context);
  woodpecker_initial(y0);
  woodpecker_contacts(0.3, 0.5, contact);
  Run *run = run_start(&model, &toy, WOODPECKER_CONTACTS, contact, entries(y0), method, tol);
  N_VDestroy(y0);
  return run;
}

/* Against exponentials of the matrices of its phases, which are linear (woodpecker.py, to 1e-12).
 * Published numbers are less accurate: Siconos' impacts of the beak at 0.08104 and 0.22710 have an
 * error of first order in its step 2e-5, which that file reproduces. */
START_TEST(woodpecker_has_the_events_of_the_exponentials) {
  const sunrealtype exact[18] = {0.021636314053, 0.061213931248, 0.067023398145, 0.077877992290,
                                 0.080988805419, 0.081575328790, 0.083416385579, 0.118675112949,
                                 0.121335470558, 0.167389522869, 0.206999848513, 0.212830080144,
                                 0.223748643920, 0.226841494027, 0.227414803667, 0.229281419834,
                                 0.264594986865, 0.267380890512};
  const int contact[18]       = {1, 1, 1, 2, 0, 2, 2, 1, 1, 1, 1, 1, 2, 0, 2, 2, 1, 1};
  Run *run                    = woodpecker(_i, TIGHT);
  run_to(run, 0.3);
  ck_assert_int_eq(run->nevents, 18);
  for (int i = 0; i < 18; i++) {
    ck_assert_int_eq(run->event[i].contact, contact[i]);
    ck_assert_double_le(fabs(run->event[i].t - exact[i]), 100 * TIGHT);
  }
  run_free(&run);
}
END_TEST

/* Period of the limit cycle by woodpecker.py. The distances of pecks approach it with a factor of
 * -0.84 per cycle, and their limit (Aitken) much faster. */
START_TEST(woodpecker_has_the_period_of_the_exponentials) {
  sunrealtype peck[4] = {0};
  Run *run            = woodpecker(_i, TIGHT);
  run_to(run, 4);
  for (int i = 0; i < run->nevents; i++)
    if (run->event[i].contact == 0) {
      memmove(peck, peck + 1, 3 * sizeof *peck);
      peck[3] = run->event[i].t;
    }
  const sunrealtype d0 = peck[1] - peck[0], d1 = peck[2] - peck[1], d2 = peck[3] - peck[2];
  ck_assert_double_eq_tol(d2 - (d2 - d1) * (d2 - d1) / (d2 - 2 * d1 + d0), 0.145976065, 1e-8);
  run_free(&run);
}
END_TEST

/* A gap that closes at some velocity is zero up to the roundoff of t, which is more than such a
 * tolerance. */
START_TEST(woodpecker_runs_at_the_tightest_tolerance) {
  Run *run = woodpecker(_i, 1e-12);
  run_to(run, 3);
  run_free(&run);
}
END_TEST

/* Events and the state at the end have errors of at most 100 tolerances, and the sequence of events
 * is the same for all tolerances. (Angular velocities are 100 times as large as the rest.) */
START_TEST(woodpecker_has_the_accuracy_of_the_tolerance) {
  char expected[1000], found[1000];
  Run *exact = woodpecker(DOP853, 1e-13);
  run_to(exact, 0.3);
  sequence(exact, expected, sizeof expected);
  for (int digits = 4; digits <= 10; digits += 2) {
    const sunrealtype tol = pow(10, -digits);
    Run *run              = woodpecker(_i, asked_of(_i, tol));
    run_to(run, 0.3);
    sequence(run, found, sizeof found);
    ck_assert_str_eq(found, expected);
    for (int i = 0; i < run->nevents; i++)
      ck_assert_double_le(fabs(run->event[i].t - exact->event[i].t), 100 * tol);
    for (int i = 0; i < 6; i++)
      ck_assert_double_le(fabs(entries(run->y)[i] - entries(exact->y)[i]),
                          (i < 3 ? 100 : 10000) * tol);
    run_free(&run);
  }
  run_free(&exact);
}
END_TEST

/* Boxes of random shape, friction and restitution fall on an edge: no event is missed at any
 * tolerance, and energy does not grow by more than the errors of steps of 1/4 s. */
START_TEST(random_boxes_fall) {
  unsigned long long seed = 11;
  for (int trial = 0; trial < 70; trial++) {
    sunrealtype r[9];
    for (int i = 0; i < 9; i++) r[i] = random_number(&seed);
    if (test_is_short() && trial % 9) continue;
    const sunrealtype w = 0.1 + 0.4 * fabs(r[0]), h = 0.1 + 0.4 * fabs(r[1]),
                      tol   = pow(10, -4 - trial % 7);
    Body body               = {.m       = 1,
                               .J       = (w * w + h * h) / 3,
                               .g       = 9.81,
                               .npoints = 4,
                               .a       = {-w, w, w, -w},
                               .b       = {-h, -h, h, h}};
    const CPEquations model = floor_body_model(&body);
    CPContactPoint corner[4];
    for (int k = 0; k < 4; k++)
      corner[k] = (CPContactPoint){CP_SIZED(CPContactPoint),
                                   .name            = "corner",
                                   .normal          = k,
                                   .tangent         = 4 + k,
                                   .ntangents       = 1,
                                   .law.mu          = 1.2 * fabs(r[2]),
                                   .law.mu_static   = trial % 2 ? 1.4 * fabs(r[2]) : 0,
                                   .law.restitution = trial % 5 ? 0.9 * fabs(r[3]) : 0,
                                   .law.tangential  = trial % 3 ? 0 : 0.5 * fabs(r[4]),
                                   .law.kind = trial % 3 && trial % 2 ? CP_RESTITUTION_POISSON
                                                                      : CP_RESTITUTION_NEWTON};
    const sunrealtype y0[] = {0, 1, 3 * r[5], 3 * r[6], r[7], 5 * r[8]};
    Run *run               = run_start(&model, &body, 4, corner, y0, _i, tol);
    sunrealtype before     = floor_body_energy(&body, run->y);
    for (int k = 1; k <= 12; k++) {
      run_to(run, SUN_RCONST(0.25) * k);
      const sunrealtype now = floor_body_energy(&body, run->y);
      ck_assert_double_le(now, before + 1000 * tol);
      before = now;
    }
    run_free(&run);
  }
}
END_TEST

TEST_SUITE(motions) {
  Suite *suite = suite_create("contact/motions");
  TCase *tc    = tcase_create("motions");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, bouncing_ball_comes_to_rest_where_the_series_ends, 0, METHODS);
  tcase_add_loop_test(tc, steps_end_at_events_and_then_pass_them, 0, METHODS);
  tcase_add_loop_test(tc, roots_of_the_user_are_returned_beside_events, 0, METHODS);
  tcase_add_loop_test(tc, impacts_are_told_beside_events_of_others, 0, METHODS);
  tcase_add_loop_test(tc, end_of_bouncing_has_the_accuracy_of_the_tolerance, 0, METHODS);
  tcase_add_loop_test(tc, sliding_block_stops, 0, 2 * METHODS);
  tcase_add_loop_test(tc, block_that_hardly_slides_rests, 0, 9 * METHODS);
  tcase_add_loop_test(tc, slipping_ball_begins_to_roll, 0, METHODS);
  tcase_add_test(tc, plastic_impact_with_friction);
  tcase_add_loop_test(tc, ten_thousand_impacts_do_not_drift, 0,
                      (int)(sizeof tireless / sizeof *tireless));
  tcase_add_test(tc, painleve_begins_at_four_thirds);
  tcase_add_test(tc, rod_that_jams_is_named);
  tcase_add_test(tc, rod_that_jams_stops_by_an_impulse);
  tcase_add_loop_test(tc, energy_of_an_impacting_stick_never_grows, 0, 2 * METHODS);
  tcase_add_loop_test(tc, rocking_block_is_housners, 0, METHODS);
  tcase_add_loop_test(tc, block_that_tips_while_it_slides_comes_to_rest, 0, 5 * METHODS);
  tcase_add_loop_test(tc, woodpecker_has_the_events_of_the_exponentials, 0, METHODS);
  tcase_add_loop_test(tc, woodpecker_has_the_period_of_the_exponentials, 0, 2);
  tcase_add_loop_test(tc, woodpecker_runs_at_the_tightest_tolerance, 0, 2);
  tcase_add_loop_test(tc, woodpecker_has_the_accuracy_of_the_tolerance, 0, METHODS);
  tcase_add_loop_test(tc, random_boxes_fall, 0, METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
