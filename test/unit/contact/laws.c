/* Laws and settings beyond those of motions.c: static friction, other constraints, moving contacts, energy. */
#include "fixture.h"

#include <math.h>
#include <models/counters.h>

#define TIGHT SUN_RCONST(1.0e-11)

static Body point_mass(void) { return (Body){.m = 1, .J = 1, .g = 9.81, .npoints = 1}; }

/* ---- static friction ---- */

/* A force that grows with t pulls a block. */
static const sunrealtype growth = 5;
static int pull(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *f, void *user_data) {
  (void)q, (void)u, (void)z, (void)user_data;
  f[0] = growth * t;
  f[1] = -SUN_RCONST(9.81);
  return 0;
}

/* It sticks until growth t = mu_s g, then v = growth (t^2 - t0^2) / 2 - mu g (t - t0). */
START_TEST(block_breaks_loose_at_static_friction) {
  Body body                  = point_mass();
  CPEquations model          = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "block", .tangent = 1,
                                .ntangents = 1,           .law.mu = 0.2,   .law.mu_static = 0.3};
  const sunrealtype start[6] = {0}, g = SUN_RCONST(9.81), t0 = 0.3 * g / growth, t = 1;
  model.f  = pull;
  Run *run = run_start(&model, &body, 1, &point, start, _i, TIGHT);
  sunrealtype force[3];
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_STICKING);
  run_to(run, 0.4);
  ck_assert_int_eq(CPContactEvaluate(run->contact, 0.4, run->y, NULL, force, NULL, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(force[1], -growth * 0.4, 1e-10);
  run_to(run, t);
  ck_assert_int_eq(run->nevents, 1);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_SLIDING);
  ck_assert_double_eq_tol(run->event[0].t, t0, 1e-10);
  const sunrealtype v = growth * (t * t - t0 * t0) / 2 - 0.2 * g * (t - t0);
  ck_assert_double_eq_tol(entries(run->y)[3], v, 1e-9);
  ck_assert_int_eq(CPContactEvaluate(run->contact, t, run->y, NULL, force, NULL, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(force[1], -0.2 * g, 1e-10);
  run_free(&run);
}
END_TEST

/* In one of Painleve's configurations a sliding rod that is pulled up may stay or leave: it leaves. */
static int lift(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[1] = 2;
  return 0;
}

START_TEST(rod_that_may_stay_or_leave_leaves) {
  Body body         = {.m = 1, .J = SUN_RCONST(1.0) / 12, .g = 9.81, .npoints = 1, .a = {-0.5}};
  CPEquations model = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "end", .tangent = 1,
                                .ntangents = 1, .law.mu = 1.5};
  const sunrealtype theta = atan(2.0), y0[] = {0, 0.5 * sin(theta), theta, -1, 0, 0};
  model.f  = lift;
  Run *run = run_start(&model, &body, 1, &point, y0, DOP853, TIGHT);
  sunrealtype value;
  ck_assert_int_eq(CPContactPainleve(run->contact, 0, run->y, &value), CP_SUCCESS);
  ck_assert_double_lt(value, 0);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_OPEN);
  run_to(run, 0.1);
  ck_assert_double_eq_tol(entries(run->y)[4], 0.2, 1e-10);
  run_free(&run);
}
END_TEST

/* ---- beside another constraint ---- */

/* examples/rebound.c: a pendulum of length 1 that rebounds from the wall x = 0 without loss, at k - 1/2. Row 0 is its rod. */
static const sunrealtype K2 =
    1.85407467730137191843385034720; /* complete elliptic integral, m = 1/2 */

static int pendulum_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}
static int pendulum_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[1] = -4 * K2 * K2;
  return 0;
}
static int rod_and_wall(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  p[1] = q[0];
  return 0;
}
static int rod_and_wall_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = q[0], SM_ELEMENT_D(A, 0, 1) = q[1];
  SM_ELEMENT_D(A, 1, 0) = 1;
  return 0;
}
static int rod_and_wall_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                          void *user_data) {
  (void)t, (void)q, (void)user_data;
  b[0] = -u[0] * u[0] - u[1] * u[1];
  return 0;
}

START_TEST(pendulum_rebounds_from_a_wall) {
  const CPEquations model    = {CP_SIZED(CPEquations),
                                .nu = 2,
                                .np = 2,
                                .M  = pendulum_mass,
                                .A  = rod_and_wall_rows,
                                .f  = pendulum_weight,
                                .p  = rod_and_wall,
                                .b  = rod_and_wall_b};
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "wall", .normal = 1,
                                .law.restitution = 1};
  const sunrealtype y0[]     = {1, 0, 0, 0};
  Run *run                   = run_start(&model, NULL, 1, &point, y0, _i, TIGHT);
  run_to(run, 5.25);
  ck_assert_int_eq(run->nevents, 5);
  /* 5 s of steps, each with an error of at most the tolerance */
  for (int k = 0; k < 5; k++)
    ck_assert_double_eq_tol(run->event[k].t, k + 0.5, _i == DOP853 || _i == RADAU ? 1e-9 : 1e-7);
  run_free(&run);
}
END_TEST

/* ---- a floor that moves ---- */

static const sunrealtype rise = 0.5;
static int rising_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)user_data;
  p[0] = q[1] - rise * t;
  return 0;
}
static int rising_v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                    void *user_data) {
  (void)t, (void)q, (void)user_data;
  v[0] = u[1] - rise, v[1] = u[0];
  return 0;
}

/* Above a steadily rising floor the motion is that above a floor at rest: impacts at t1 (1 + 2
 * e + ...), and then rest. */
START_TEST(ball_comes_to_rest_on_a_rising_floor) {
  Body body                  = point_mass();
  CPEquations model          = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "ball", .tangent = 1,
                                .law.restitution = 0.5};
  const sunrealtype y0[] = {0, 1, 0, 0, rise, 0}, t1 = sqrt(2 / SUN_RCONST(9.81));
  model.p  = rising_gap;
  model.v  = rising_v;
  Run *run = run_start(&model, &body, 1, &point, y0, _i, TIGHT);
  run_to(run, 3);
  for (int k = 0; k < 4; k++)
    ck_assert_double_eq_tol(run->event[k].t, t1 * (1 + 2 * (1 - pow(0.5, k))), 1e-9);
  ck_assert_double_eq_tol(entries(run->y)[1], 3 * rise, 1e-10);
  ck_assert_double_eq_tol(entries(run->y)[4], rise, 1e-10);
  run_free(&run);
}
END_TEST

/* ---- energy ---- */

/* A rod at 45 degrees whose end hits the floor elastically, with friction that stops the end.
 * Newton's law lets energy grow if the end slides slowly in the direction in which friction drives
 * it: with e = 1, by P_T v_T / 2 (Kane's paradox). */
START_TEST(energy_does_not_grow_where_newtons_law_would_let_it) {
  Body body = {.m = 1, .J = SUN_RCONST(1.0) / 12, .g = 9.81, .npoints = 1, .a = {-0.5}};
  const CPEquations model    = floor_body_model(&body);
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "end", .tangent = 1,
                                .ntangents = 1,           .law.mu = 5,   .law.restitution = 1};
  const sunrealtype pi = acos(-1), slides = _i % 2 ? SUN_RCONST(0.1) : SUN_RCONST(-0.1);
  const sunrealtype theta  = _i / 2 ? 3 * pi / 4 : pi / 4; /* mirrored */
  const sunrealtype y0[]   = {0, 0.5 * sin(theta), theta, slides, -1, 0};
  Run *run                 = run_start(&model, &body, 1, &point, y0, DOP853, TIGHT);
  const sunrealtype *y     = entries(run->y);
  const sunrealtype after  = y[3] * y[3] + y[4] * y[4] + y[5] * y[5] / 12,
                    before = 1 + slides * slides;
  ContactCounters stats;
  ck_assert_int_eq(contact_counters(run->contact, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nimpacts, 1);
  ck_assert_int_eq(stats.nreduced, _i == 1 || _i == 2);
  ck_assert_double_le(after, before * (1 + 1e-9));
  /* the largest e for which the energy does not grow */
  if (stats.nreduced) ck_assert_double_ge(after, before * (1 - 1e-9));
  ck_assert_double_ge(y[4] - 0.5 * cos(theta) * y[5], 0); /* v_N after */
  run_free(&run);
}
END_TEST

/* ---- Poisson's law ---- */

/* A rod of length and mass 1 at the angle 0.8 falls on its end (-1/2, 0) and sticks throughout. In
 * closed form: compression stops the end by P_c, W P_c = -v; expansion has e P_cN, and the friction
 * that keeps the end from sliding, -W_TN / W_TT times that. Newton's law instead reverses v_N, with
 * another impulse. */
START_TEST(poissons_law_restores_impulses) {
  Body body = {.m = 1, .J = SUN_RCONST(1.0) / 12, .g = 9.81, .npoints = 1, .a = {-0.5}};
  const CPEquations model = floor_body_model(&body);
  const sunrealtype theta = 0.8, e = 0.6, x = -0.5 * cos(theta), y = -0.5 * sin(theta);
  const sunrealtype v[2] = {-1, 0.1}; /* normal, tangential */
  const sunrealtype y0[] = {0, -y, theta, v[1], v[0], 0};
  const sunrealtype W_N = 1 + 12 * x * x, W_T = 1 + 12 * y * y, W_NT = -12 * x * y,
                    det    = W_N * W_T - W_NT * W_NT;
  const sunrealtype P_c[2] = {-(W_T * v[0] - W_NT * v[1]) / det, -(W_N * v[1] - W_NT * v[0]) / det};
  const sunrealtype P[2]   = {(1 + e) * P_c[0], P_c[1] - W_NT / W_T * e * P_c[0]};
  CPContactPoint point     = {CP_SIZED(CPContactPoint),
                              .name            = "end",
                              .tangent         = 1,
                              .ntangents       = 1,
                              .law.mu          = 2,
                              .law.restitution = e,
                              .law.kind        = CP_RESTITUTION_POISSON};
  Run *run                 = run_start(&model, &body, 1, &point, y0, _i, TIGHT);
  ck_assert_double_le(fabs(P[1]), point.law.mu * P[0]); /* the closed form sticks */
  ck_assert_double_le(fabs(P_c[1]), point.law.mu * P_c[0]);
  const sunrealtype u[3] = {v[1] + P[1], v[0] + P[0], 12 * (x * P[0] - y * P[1])};
  for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(entries(run->y)[3 + i], u[i], 1e-12);
  run_free(&run);
  point.law.kind       = CP_RESTITUTION_NEWTON;
  run                  = run_start(&model, &body, 1, &point, y0, _i, TIGHT);
  const sunrealtype *w = entries(run->y) + 3;
  ck_assert_double_eq_tol(w[1] + x * w[2], -e * v[0], 1e-12);
  ck_assert_double_ge(fabs(w[1] - u[1]), 1e-2);
  run_free(&run);
}
END_TEST

/* Three balls in a line, the last two of which touch, e = 1: compression ends with the common
 * velocity 1/3, and expansion repeats its impulses 2/3 and 1/3. */
static int line_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}
static int line_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1] - q[0] - 1, p[1] = q[2] - q[1] - 1;
  return 0;
}
static int line_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 2; i++) SM_ELEMENT_D(A, i, i) = -1, SM_ELEMENT_D(A, i, i + 1) = 1;
  return 0;
}
static int line_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                  void *user_data) {
  (void)t, (void)q, (void)u, (void)b, (void)user_data;
  return 0;
}

START_TEST(poissons_law_passes_impulses_on) {
  const CPEquations model       = {CP_SIZED(CPEquations), .nu = 3,        .np = 2,        .nv = 2,
                                   .M = line_mass,        .A = line_rows, .p = line_gaps, .b = line_b};
  const CPContactPoint points[] = {{CP_SIZED(CPContactPoint), .name = "first", .normal = 0,
                                    .law.restitution = 1, .law.kind = CP_RESTITUTION_POISSON},
                                   {CP_SIZED(CPContactPoint), .name = "second", .normal = 1,
                                    .law.restitution = 1, .law.kind = CP_RESTITUTION_POISSON}};
  const sunrealtype y0[]        = {-0.5, 1, 2, 1, 0, 0};
  Run *run                      = run_start(&model, NULL, 2, points, y0, _i, TIGHT);
  run_to(run, 1);
  ck_assert_double_eq_tol(run->event[0].t, 0.5, 1e-10);
  ck_assert_double_eq_tol(entries(run->y)[3], -SUN_RCONST(1.0) / 3, 1e-10);
  ck_assert_double_eq_tol(entries(run->y)[4], SUN_RCONST(2.0) / 3, 1e-10);
  ck_assert_double_eq_tol(entries(run->y)[5], SUN_RCONST(2.0) / 3, 1e-10);
  run_free(&run);
}
END_TEST

/* The ends of a rod, one of which slides to the right on the floor. With the normal force N and
 * friction -mu N the lower end does not leave the floor: y'' + (theta'' x = 0) for theta' = 0. All
 * follow from one solution for the accelerations, whatever the unit of mass. */
START_TEST(quantities_of_contacts_are_those_of_the_floor) {
  const sunrealtype unit = ldexp(1, 70 * _i), m = 2 * unit, J = 0.3 * unit, g = 9.81, mu = 0.2,
                    theta       = 0.4;
  Body body                     = {.m = m, .J = J, .g = g, .npoints = 2, .a = {-0.5, 0.5}};
  const CPEquations model       = floor_body_model(&body);
  const CPContactPoint points[] = {{CP_SIZED(CPContactPoint), .name = "lower", .normal = 0,
                                    .tangent = 2, .ntangents = 1, .law.mu = mu},
                                   {CP_SIZED(CPContactPoint), .name = "upper", .normal = 1,
                                    .tangent = 3, .ntangents = 1, .law.mu = mu}};
  const sunrealtype x = -0.5 * cos(theta), y = -0.5 * sin(theta);
  const sunrealtype y0[] = {0, -y, theta, 3, 0, 0};
  Run *run               = run_start(&model, &body, 2, points, y0, DOP853, TIGHT);
  /* m y'' = N - m g, J theta'' = x N + y mu N, since v_T = x' - y theta' and F = -mu N */
  const sunrealtype N = g / (1 / m + x * (x + y * mu) / J);
  sunrealtype force[6], gap[2], udot[3], lambda[4], kinetic = m * 9 / 2;
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda};
  MechCounters before, after;
  ck_assert_int_eq(mech_counters(run->mech, &before), CP_SUCCESS);
  ck_assert_int_eq(CPContactEvaluate(run->contact, 0, run->y, &out, force, gap, NULL), CP_SUCCESS);
  ck_assert_int_eq(mech_counters(run->mech, &after), CP_SUCCESS);
  ck_assert_int_eq(after.nudot, before.nudot + 1);
  const sunrealtype expected[] = {N, -mu * N, 0, 0, 0, 0};
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(force[i], expected[i], 1e-12 * m * g);
  ck_assert_double_eq_tol(gap[0], 0, 1e-15);
  ck_assert_double_eq_tol(gap[1], -2 * y, 1e-15);
  ck_assert_double_eq_tol(udot[0], -mu * N / m, 1e-12 * g);
  ck_assert_double_eq_tol(udot[1], N / m - g, 1e-12 * g);
  ck_assert_double_eq_tol(udot[2], N * (x + y * mu) / J, 1e-12 * g);
  ck_assert_double_eq_tol(lambda[0], -N, 1e-12 * m * g);
  ck_assert_double_eq_tol(out.kinetic, kinetic, 1e-12 * kinetic);
  ck_assert_ptr_eq(out.lambda, lambda);
  sunrealtype same[6];
  ck_assert_int_eq(CPContactEvaluate(run->contact, 0, run->y, NULL, same, NULL, NULL), CP_SUCCESS);
  ck_assert_mem_eq(same, force, sizeof same);
  /* Gaps alone require no solution. */
  ck_assert_int_eq(CPContactEvaluate(run->contact, 0, run->y, NULL, NULL, gap, NULL), CP_SUCCESS);
  ck_assert_int_eq(mech_counters(run->mech, &before), CP_SUCCESS);
  ck_assert_int_eq(before.nudot, after.nudot + 1);
  run_free(&run);
}
END_TEST

/* ---- a rod on a hinge, whose tip strikes a floor: J a'' = -m g L/2 cos a, gap h + L sin a ---- */

enum { ROD_LENGTH = 1 };
static const sunrealtype floor_below = SUN_RCONST(0.9);

static int rod_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = 1;
  return 0;
}
static int rod_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = floor_below + ROD_LENGTH * sin(q[0]);
  return 0;
}
static int rod_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = ROD_LENGTH * cos(q[0]);
  SM_ELEMENT_D(A, 1, 0) = -ROD_LENGTH * sin(q[0]);
  return 0;
}
static int rod_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                 void *user_data) {
  (void)t, (void)user_data;
  b[0] = ROD_LENGTH * sin(q[0]) * u[0] * u[0];
  b[1] = ROD_LENGTH * cos(q[0]) * u[0] * u[0];
  return 0;
}
static int rod_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, sunrealtype *f, void *user_data) {
  (void)t, (void)u, (void)z, (void)user_data;
  f[0] = -SUN_RCONST(4.905) * cos(q[0]);
  return 0;
}

/* The impulses (P, -mu P sign(v_T)) turn the rod by P (cos a - mu |sin a|) if it goes back: where tan |a| > 1/mu they cannot, and it
 * stops; with less friction it has the velocity -e. */
START_TEST(a_rod_within_the_cone_of_friction_stops) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 1,       .np = 1,         .nv = 2,      .na = 2,
      .M = rod_mass,         .A = rod_rows, .f = rod_weight, .p = rod_gap, .b = rod_b};
  const int jams             = _i % 2;
  const CPContactPoint point = {
      CP_SIZED(CPContactPoint), .name = "tip",          .tangent = 1,
      .ntangents = 1,           .law.restitution = 0.3, .law.mu = jams ? 0.6 : 0.2};
  const sunrealtype start[] = {0, 0}, a = -asin(floor_below);
  Run *run = run_start(&model, NULL, 1, &point, start, _i / 2, TIGHT);
  while (run->nevents == 0) ck_assert_int_ge(run_step(run, 2), CP_SUCCESS);
  const CPContactEvent *event = &run->event[0];
  const sunrealtype before    = event->velocity[0][0];
  ck_assert_double_eq_tol(before, -cos(a) * sqrt(9.81 * floor_below), 1e-7);
  ck_assert_double_eq_tol(event->velocity[1][0], jams ? 0 : -0.3 * before, 1e-9);
  ck_assert_int_eq(event->after, jams ? CP_CONTACT_STICKING : CP_CONTACT_OPEN);
  ck_assert_double_eq_tol(entries(run->y)[0], a, 1e-7);
  if (jams) run_to(run, 2); /* It stays there. */
  if (jams) ck_assert_double_eq_tol(entries(run->y)[0], a, 1e-7);
  run_free(&run);
}
END_TEST

/* The rod beside a ball that bounces at once too often, so that the rod strikes within an interval of time stepping */
static int rod_and_ball_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}
static int rod_and_ball_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  p[1] = q[1];
  return rod_gap(t, q, p, user_data);
}
static int rod_and_ball_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = ROD_LENGTH * cos(q[0]);
  SM_ELEMENT_D(A, 1, 1) = 1;
  SM_ELEMENT_D(A, 2, 0) = -ROD_LENGTH * sin(q[0]);
  return 0;
}
static int rod_and_ball_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                          void *user_data) {
  (void)t, (void)user_data;
  b[0] = ROD_LENGTH * sin(q[0]) * u[0] * u[0];
  b[1] = 0;
  b[2] = ROD_LENGTH * cos(q[0]) * u[0] * u[0];
  return 0;
}
static int rod_and_ball_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                               const sunrealtype *z, sunrealtype *f, void *user_data) {
  f[1] = -SUN_RCONST(9.81);
  return rod_weight(t, q, u, z, f, user_data);
}

/* The rod within the cone stops there as well: where there are no impulses with restitution, there are without. */
START_TEST(a_rod_within_the_cone_of_friction_stops_in_time_stepping) {
  const CPEquations model       = {CP_SIZED(CPEquations),
                                   .nu = 2,
                                   .np = 2,
                                   .nv = 3,
                                   .na = 3,
                                   .M  = rod_and_ball_mass,
                                   .A  = rod_and_ball_rows,
                                   .f  = rod_and_ball_weight,
                                   .p  = rod_and_ball_gap,
                                   .b  = rod_and_ball_b};
  const CPContactPoint points[] = {
      {CP_SIZED(CPContactPoint), .name = "tip", .tangent = 2, .ntangents = 1,
       .law.restitution = 0.3, .law.mu = 0.6},
      {CP_SIZED(CPContactPoint), .name = "ball", .normal = 1, .law.restitution = 0.5}};
  const sunrealtype start[] = {0, 0.01, 0, 0}, a = -asin(floor_below);
  ContactCounters stats;
  Run *run = run_start(&model, NULL, 2, points, start, _i, 1e-6);
  ck_assert_int_eq(CPContactSetTimeStepping(run->contact, 2, 1e9), CP_SUCCESS);
  for (int k = 1; k <= 200; k++) run_to(run, 0.01 * k);
  ck_assert_int_eq(contact_counters(run->contact, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nintervals, 1);
  ck_assert_double_eq_tol(entries(run->y)[0], a, 1e-6);
  ck_assert_double_eq_tol(entries(run->y)[2], 0, 1e-6);
  run_free(&run);
}
END_TEST

TEST_SUITE(laws) {
  Suite *suite = suite_create("contact/laws");
  TCase *tc    = tcase_create("laws");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, block_breaks_loose_at_static_friction, 0, METHODS);
  tcase_add_test(tc, rod_that_may_stay_or_leave_leaves);
  tcase_add_loop_test(tc, pendulum_rebounds_from_a_wall, 0, METHODS);
  tcase_add_loop_test(tc, ball_comes_to_rest_on_a_rising_floor, 0, METHODS);
  tcase_add_loop_test(tc, energy_does_not_grow_where_newtons_law_would_let_it, 0, 4);
  tcase_add_loop_test(tc, a_rod_within_the_cone_of_friction_stops, 0, 2 * METHODS);
  tcase_add_loop_test(tc, a_rod_within_the_cone_of_friction_stops_in_time_stepping, 0, METHODS);
  tcase_add_loop_test(tc, poissons_law_restores_impulses, 0, METHODS);
  tcase_add_loop_test(tc, poissons_law_passes_impulses_on, 0, METHODS);
  tcase_add_loop_test(tc, quantities_of_contacts_are_those_of_the_floor, -1, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
