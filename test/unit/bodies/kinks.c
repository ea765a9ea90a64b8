/* Kinks of functions: sessions stop at them, steps keep to one piece, and what is evaluated outside of a session does not. */
#include "reading.h"
#include "support/support.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <string.h>

/* A slider of 1 kg along x with the elements of `rest`, and its run */
typedef struct {
  CPBodies bodies;
  CPMech mech;
  CPSession session;
  N_Vector y;
  sunrealtype t;
  sunrealtype evaluations, rejected;
} Slider;

static void start_file(Slider *s, const char *text, CPFormulation formulation) {
  test_context_setup();
  s->bodies = read_as("slider.yaml", text, strlen(text));
  ck_assert_msg(s->bodies != NULL, "%s", message);
  s->y       = build_as(s->bodies, formulation, &s->mech);
  s->session = NULL;
}

static void start(Slider *s, const char *rest, CPFormulation formulation) {
  char text[2000];
  snprintf(
      text,
      sizeof text, "dimension: 2\nrun: {balance: true}\njoints: [{name: s, kind: prismatic, b: b, axis: [1, 0, 0]}]\n%s",
      rest);
  start_file(s, text, formulation);
}

/* Runs from 0 to t_end. Returns what CPSessionRun returns. */
static int run(Slider *s, const char *method, sunrealtype tol, sunrealtype t_end) {
  s->session = CPSessionCreate(method, test_context);
  s->t       = 0;
  ck_assert_int_eq(CPSessionSetMech(s->session, s->mech), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(s->session, tol, tol, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(s->session, 0, s->y, t_end), CP_SUCCESS);
  const int flag = CPSessionRun(s->session, t_end, s->y, &s->t);
  CPObjectGetStat(CP_OBJECT(s->session), "rhs_evals", &s->evaluations);
  CPObjectGetStat(CP_OBJECT(s->session), "err_test_fails", &s->rejected);
  return flag;
}

static void stop(Slider *s) {
  CPSessionFree(&s->session);
  CPMechFree(&s->mech);
  N_VDestroy(s->y);
  CPBodiesFree(&s->bodies);
  test_context_teardown();
}

static const char body[]       = "bodies: [{name: b, mass: 1, inertia: 1}]\n";
static const char moving[]     = "bodies: [{name: b, mass: 1, inertia: 1, velocity: [1, 0, 0]}]\n";
static const char *const all[] = {"DOP853", "BS54", "BS32", "RADAU", "BDF", "ADAMS"};
enum { ONE_STEP = 4, METHODS = sizeof all / sizeof *all };

static sunrealtype position(const Slider *s) {
  return quantity_at(s->mech, "s.displacement", s->t, s->y, 0);
}
static sunrealtype speed(const Slider *s) { return quantity_at(s->mech, "s.rate", s->t, s->y, 0); }

/* The force 6 (t - 1) from 1 to 2.5: then x' = 6.75, x = 3.375. Within the pieces all methods but those of order 1 are exact. */
START_TEST(pieces_in_time_are_integrated_one_by_one) {
  static const char pulse[] = "springs: [{name: f, of: s, force: \"if(t < 1 s, 0 N, if(t < 2.5 s, "
                              "6 N/s*(t - 1 s), 0 N))\"}]\n";
  char text[1000];
  snprintf(text, sizeof text, "%s%s", body, pulse);
  for (int m = 0; m < METHODS; m++)
    for (int f = 0; f < 2; f++) {
      const sunrealtype tol = m < ONE_STEP ? 1e-3 : 1e-8, off = m < ONE_STEP ? 1e-13 : 1e-6;
      Slider s;
      start(&s, text, f ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
      ck_assert_int_eq(run(&s, all[m], tol, 3), CP_SUCCESS);
      ck_assert_double_eq_tol(speed(&s), 6.75, off);
      ck_assert_double_eq_tol(position(&s), 6.75, off);
      if (m < 2) ck_assert_double_eq(s.rejected, 0); /* whose estimates are exact as well */
      /* outside of the run, the pieces are those of the time */
      const sunrealtype at[] = {0.5, 2, 2.75}, F[] = {0, 6, 0};
      for (int k = 0; k < 3; k++)
        ck_assert_double_eq(quantity_at(s.mech, "f.force", at[k], s.y, 0), F[k]);
      stop(&s);
    }
}
END_TEST

/* The same force at the times -t, towards t = -3 */
START_TEST(pieces_in_time_are_integrated_one_by_one_backwards) {
  static const char pulse[] =
      "springs: [{name: f, of: s, force: \"if(t > -1 s, 0 N, if(t > -2.5 s, "
      "-6 N/s*(t + 1 s), 0 N))\"}]\n";
  char text[1000];
  snprintf(text, sizeof text, "%s%s", body, pulse);
  for (int m = 0; m < METHODS; m++) {
    const sunrealtype tol = m < ONE_STEP ? 1e-3 : 1e-8, off = m < ONE_STEP ? 1e-13 : 1e-6;
    Slider s;
    start(&s, text, CP_ABSOLUTE);
    ck_assert_int_eq(run(&s, all[m], tol, -3), CP_SUCCESS);
    ck_assert_double_eq_tol(speed(&s), -6.75, off);
    ck_assert_double_eq_tol(position(&s), 6.75, off);
    if (m < 2) ck_assert_double_eq(s.rejected, 0);
    stop(&s);
  }
}
END_TEST

/* A table of order 1, 24 times from end to end: x' and x are sums over its rows. */
START_TEST(rows_of_a_table_of_order_one_are_stops) {
  static const sunrealtype x[] = {0, 0.1, 0.2, 0.5}, F[] = {0, 2, -1, 0};
  static const char table[] = "functions: {q: {units: [s, N], order: 1, ends: periodic, rows: [[0, "
                              "0], [0.1, 2], [0.2, -1], [0.5, 0]]}}\n"
                              "springs: [{name: f, of: s, force: q(2*t)}]\n";
  sunrealtype X = 0, V = 0;
  char text[1000];
  snprintf(text, sizeof text, "%s%s", body, table);
  for (int k = 0; k < 24 * 3; k++) {
    const sunrealtype h = (x[k % 3 + 1] - x[k % 3]) / 2, a = F[k % 3], b = F[k % 3 + 1];
    X += h * V + h * h * (2 * a + b) / 6;
    V += h * (a + b) / 2;
  }
  for (int m = 0; m < ONE_STEP; m++) {
    Slider s;
    start(&s, text, CP_ABSOLUTE);
    ck_assert_int_eq(run(&s, all[m], 1e-3, 6), CP_SUCCESS);
    ck_assert_double_eq_tol(speed(&s), V, 1e-12);
    ck_assert_double_eq_tol(position(&s), X, 1e-12);
    stop(&s);
  }
}
END_TEST

/* A spring of 100 N/m on one side, and 25 N/m on the other: half periods pi/10 and pi/5. Kinks are roots; the error and the work stay
 * near those of a spring of 100 N/m on both sides. Steps that ignored them took three times as many evaluations (DOP853, 1e-8). */
START_TEST(kinks_in_a_coordinate_cost_as_little_as_none) {
  const sunrealtype pi = acos(-1.0), t_end = 10, period = 0.3 * pi,
                    phase = t_end - period * floor(t_end / period), late = phase - pi / 10;
  ck_assert_double_gt(late, 0);
  const sunrealtype exact[2] = {-sin(5 * late) / 5, sin(10 * t_end) / 10};
  for (int m = 0; m < METHODS; m++)
    for (int k = 5; k <= 9; k += 2) {
      const sunrealtype tol = pow(10, -k);
      sunrealtype off[2], work[2];
      if (test_is_short() && (m > 0 || k > 5)) continue;
      if (m == 2 && k > 7) continue; /* BS32 is of low order */
      for (int smooth = 0; smooth < 2; smooth++) {
        Slider s;
        char text[1000];
        snprintf(text, sizeof text, "%ssprings: [{name: f, of: s, force: \"%s\"}]\n", moving,
                 smooth ? "-100 N/m*x" : "-max(100 N/m*x, 25 N/m*x)");
        start(&s, text, CP_JOINT_COORDINATES);
        ck_assert_int_eq(run(&s, all[m], tol, t_end), CP_SUCCESS);
        off[smooth]  = fabs(position(&s) - exact[smooth]);
        work[smooth] = s.evaluations;
        stop(&s);
      }
      ck_assert_msg(off[0] <= 4 * fmax(off[1], 10 * tol), "%s, %g: %g, %g", all[m], tol, off[0],
                    off[1]);
      ck_assert_msg(work[0] <= 2 * work[1], "%s, %g: %g, %g", all[m], tol, work[0], work[1]);
    }
}
END_TEST

/* A map that depends on t alone, up to 2 at 1 and down again, has roots in place of stops. */
START_TEST(lines_of_a_map_of_order_one_are_roots) {
  static const char map[] = "functions: {m: {units: [s, m, N], order: 1, x: [0, 1, 2], y: [-10, 0, "
                            "10], values: [[0, 0, 0], [2, 2, 2], [0, 0, 0]]}}\n"
                            "springs: [{name: f, of: s, force: \"m(t, x)\"}]\n";
  char text[1000];
  snprintf(text, sizeof text, "%s%s", body, map);
  for (int m = 0; m < 2; m++) {
    Slider s;
    start(&s, text, CP_ABSOLUTE);
    ck_assert_int_eq(run(&s, all[m], 1e-4, 3), CP_SUCCESS);
    ck_assert_double_eq_tol(speed(&s), 1, 1e-10);
    ck_assert_double_eq(s.rejected, 0);
    stop(&s);
  }
}
END_TEST

/* A drive that moves at 0.4 m/s, rests, and goes back: each change of its speed is an impact, whose energy is in the balance. */
START_TEST(a_drive_that_changes_its_speed_is_an_impact) {
  static const char drive[] =
      "bodies: [{name: b, mass: 1, inertia: 1, velocity: [0.4, 0, 0]}]\n"
      "functions: {p: {units: [s, m], order: 1, rows: [[0, 0], [0.5, 0.2], [1, 0.2], [2, -1]]}}\n"
      "drives: [{name: d, of: s, motion: p(t)}]\n";
  for (int m = 0; m < METHODS; m++)
    for (int f = 0; f < 2; f++) {
      CPPowers powers = CP_INIT(CPPowers);
      Slider s;
      start(&s, drive, f ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
      ck_assert_int_eq(run(&s, all[m], 1e-6, 1.5), CP_SUCCESS);
      ck_assert_double_eq_tol(speed(&s), -1.2, 1e-12);
      ck_assert_double_eq_tol(position(&s), -0.4, 1e-12);
      ck_assert_int_eq(CPMechGetPowers(s.mech, s.t, s.y, NULL, &powers), CP_SUCCESS);
      const sunrealtype work = entries(s.y)[N_VGetLength(s.y) - 1];
      ck_assert_double_eq_tol(powers.kinetic, 0.72, 1e-12);
      ck_assert_double_eq_tol(work, 0.72 - 0.08, 1e-12);
      stop(&s);
    }
}
END_TEST

/* Friction by sign(v) stops the slider at x = 1/6 at t = 1/3. There, neither piece is a solution, and the run goes on beside both. */
START_TEST(a_slider_with_a_sign_comes_to_rest) {
  const sunrealtype tol = 1e-4;
  char text[1000];
  Slider s;
  snprintf(text, sizeof text, "%ssprings: [{name: f, of: s, force: -3 N*sign(v)}]\n", moving);
  start(&s, text, CP_JOINT_COORDINATES);
  ck_assert_int_eq(run(&s, "DOP853", tol, 0.5), CP_SUCCESS);
  ck_assert_double_le(fabs(speed(&s)), 10 * tol);
  ck_assert_double_eq_tol(position(&s), 1 / 6.0, 10 * tol);
  stop(&s);
}
END_TEST

/* From rest at a kink the acceleration decides on the piece: x'' = -1 - 20 |x| leads to x = (1 - cosh(sqrt(20) t)) / 20 < 0. Where the force
 * grows from 0, x'' = -t - 20 |x|, no derivative of x at the start does. */
START_TEST(a_slider_at_rest_at_a_kink_takes_the_piece_that_it_enters) {
  const sunrealtype w = sqrt(20.0), exact[] = {(1 - cosh(w)) / 20, (1 - sinh(w) / w) / 20};
  static const char *const loads[] = {"1 N", "1 N/s*t"};
  for (int k = 0; k < 2; k++)
    for (int m = 0; m < 2; m++) {
      char text[1000];
      Slider s;
      snprintf(text, sizeof text, "%ssprings: [{name: f, of: s, force: -%s - 20 N/m*abs(x)}]\n",
               body, loads[k]);
      start(&s, text, CP_JOINT_COORDINATES);
      ck_assert_int_eq(run(&s, all[m], 1e-9, 1), CP_SUCCESS);
      ck_assert_double_eq_tol(position(&s), exact[k], 1e-7);
      stop(&s);
    }
}
END_TEST

/* The motion x = 0.1 sin 10 t reaches the end of a piece at its turn, and goes back. */
START_TEST(an_end_that_is_only_touched_changes_nothing) {
  char text[1000];
  Slider s;
  snprintf(
      text, sizeof text,
      "%ssprings: [{name: f, of: s, stiffness: 100, force: \"-max(0 N, 1000 N/m*(x - 0.1 m))\"}]\n",
      moving);
  start(&s, text, CP_JOINT_COORDINATES);
  ck_assert_int_eq(run(&s, "DOP853", 1e-10, 2), CP_SUCCESS);
  ck_assert_double_eq_tol(position(&s), 0.1 * sin(20), 1e-7);
  stop(&s);
}
END_TEST

/* The samples of a controller take the piece that they are in, also beside a force with kinks: |x| is sqrt(x^2). */
START_TEST(functions_of_controllers_have_no_kinks) {
  static const char *const sizes[] = {"abs(s.displacement)", "sqrt(s.displacement^2)"};
  sunrealtype x[2];
  for (int k = 0; k < 2; k++) {
    char text[1000];
    Slider s;
    snprintf(text, sizeof text,
             "%ssprings: [{name: f, of: s, stiffness: 1, force: \"-max(0 N, 30 N/m*x)\"}]\n"
             "controllers: [{name: c, of: f.stiffness, every: 0.1, control: \"20 N/m + 100 "
             "N/m^2*%s\"}]\n",
             moving, sizes[k]);
    start(&s, text, CP_JOINT_COORDINATES);
    ck_assert_int_eq(run(&s, "DOP853", 1e-9, 3), CP_SUCCESS);
    x[k] = position(&s);
    stop(&s);
  }
  ck_assert_double_eq_tol(x[0], x[1], 1e-8);
}
END_TEST

/* Derivatives of solutions pass kinks, but no samples. */
START_TEST(kinks_are_no_events_that_derivatives_must_not_pass) {
  static const char
      spring[] = "springs: [{name: f, of: s, force: abs(x)*1 N/m}]\n",
      sampled[] =
          "controllers: [{name: c, of: f.stiffness, every: 0.1, control: s.displacement}]\n";
  for (int k = 0; k < 2; k++) {
    char text[1000];
    Slider s;
    snprintf(text, sizeof text, "%s%s%s", body, spring, k ? sampled : "");
    start(&s, text, CP_ABSOLUTE);
    const CPEquations e = equations_of(s.mech);
    ck_assert(e.event_source != NULL);
    ck_assert_int_eq(e.kinks, !k);
    stop(&s);
  }
}
END_TEST

/* Kinks that are crossed at unknown times, with closed forms: x(t) of the slider s, and of runs towards -t with the opposite velocity. v is
 * the velocity at the start, a parameter of the file. */
typedef struct {
  const char *name, *text;
  int joint_only, odd; /* odd: x(-t) = -x(t) from rest */
  sunrealtype v, t_end;
  sunrealtype (*exact)(sunrealtype t);
} Crossing;

/* y = max(0.3 x, x - 0.245), whose kink is at 0.35, and 4 N/m on x: (1 + a^2) x'' = -4 x with the slopes a = 0.3, then 1. At the kink
 * (1 + 1) u+ = (1 + 0.3) u-, the momentum along the new direction. */
static sunrealtype on_a_corner(sunrealtype t) {
  const sunrealtype kink = 0.35, w = sqrt(4 / 1.09), later = t - asin(kink * w) / w, w2 = sqrt(2);
  const sunrealtype v = sqrt(1 - kink * kink * w * w) * 1.3 / 2;
  return later < 0 ? sin(w * t) / w : kink * cos(w2 * later) + v / w2 * sin(w2 * later);
}

/* F = -100 x within +-10 N from x = 0 at 2 m/s: x = 0.2 sin 10 t up to 0.1, a parabola, and the same back to -0.1 */
static sunrealtype saturated(sunrealtype t) {
  const sunrealtype first = acos(-1.0) / 60, v = sqrt(3), up = 2 * v / 10,
                    period = 4 * first + 2 * up;
  const sunrealtype half = period / 2, turn = floor((t + first) / half),
                    sign = fmod(turn, 2) != 0 ? -1 : 1, at = t - turn * half;
  return sign * (at < first ? 0.2 * sin(10 * at) : 0.1 + v * (at - first) - 5 * pow(at - first, 2));
}

/* z' = 1 up to 0.3, x'' = z */
static sunrealtype wound_up(sunrealtype t) {
  const sunrealtype later = t - 0.3;
  return later < 0 ? t * t * t / 6 : 0.0045 + 0.045 * later + 0.15 * later * later;
}

/* x'' = 1, or 3 while another slider at 0.5 sin 2 t is beyond 0.35 */
static sunrealtype pushed(sunrealtype t) {
  const sunrealtype first = asin(0.7) / 2, later = t - first;
  return later < 0 ? t * t / 2 : first * first / 2 + first * later + 1.5 * later * later;
}

static const Crossing crossings[] = {
    {"a coupler",
     "dimension: 2\nbodies: [{name: b, mass: 1, inertia: 1, velocity: [v, 0]}, {name: c, mass: 1, "
     "inertia: 1, velocity: [0, 0.3*v]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}, {name: y, kind: prismatic, b: c, "
     "axis: [0, 1]}]\n"
     "couplers: [{name: cam, of: [y, s], ratio: [1, -1], function: \"max(0.3*x, x - 0.245 m)\"}]\n"
     "springs: [{name: k, of: s, stiffness: 4}]\n",
     0, 0, 1, 1.3, on_a_corner},
    {"a table of a coupler",
     "dimension: 3\nbodies: [{name: b, mass: 1, inertia: [1, 1, 1], velocity: [v, 0, 0]}, {name: "
     "c, mass: 1, inertia: [1, 1, 1], velocity: [0, 0.3*v, 0]}]\n"
     "functions: {f: {units: [m, m], order: 1, rows: [[-3, -0.9], [0.35, 0.105], [3, 2.755]]}}\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0, 0]}, {name: y, kind: prismatic, b: c, "
     "axis: [0, 1, 0]}]\n"
     "couplers: [{name: cam, of: [y, s], ratio: [1, -1], function: f(x)}]\n"
     "springs: [{name: k, of: s, stiffness: 4}]\n",
     0, 0, 1, 1.3, on_a_corner},
    {"a joint by functions",
     "dimension: 3\nbodies: [{name: b, mass: 1, inertia: [1, 1, 1], velocity: [v, 0.3*v, 0]}]\n"
     "joints: [{name: s, kind: custom, b: b, motions: [{along: [1, 0, 0], by: (1 m)*x, of: 0}, "
     "{along: [0, 1, 0], by: \"(1 m)*max(0.3*x, x - 0.245)\", of: 0}]}]\n"
     "springs: [{name: k, of: s, stiffness: 4}]\n",
     1, 0, 1, 1.3, on_a_corner},
    {"the range of a force",
     "dimension: 2\nbodies: [{name: b, mass: 1, inertia: 1, velocity: [v, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
     "actuators: [{name: a, of: s, gain: [1, 0, 0], bias: [0, -100, 0], force_range: [-10, 10]}]\n",
     0, 0, 2, 1, saturated},
    {"the range of an activation",
     "dimension: 2\nbodies: [{name: b, mass: 1, inertia: 1, velocity: [v, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
     "actuators: [{name: a, of: s, gain: [1, 0, 0], control: 1, dynamics: integrator, "
     "activation_range: [-0.3, 0.3]}]\n",
     0, 1, 0, 1, wound_up},
    {"a quantity of another element",
     "dimension: 2\nbodies: [{name: b, mass: 1, inertia: 1}, {name: c, mass: 1, inertia: 1, "
     "velocity: [v, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}, {name: o, kind: prismatic, b: c, "
     "axis: [1, 0]}]\n"
     "springs: [{name: k, of: o, stiffness: 4}, {name: f, of: s, force: \"if(o.displacement > 0.35 "
     "m, 3 N, 1 N)\"}]\n",
     0, 0, 1, 1, pushed}};

/* Loop index: one of the crossings. Errors are within ten tolerances, those of multistep methods, which begin with order 1 after each
 * kink, within a hundred: so they fall by a factor of 10^7 and more over the nine tolerances. */
START_TEST(errors_fall_with_the_tolerance_where_kinks_are_crossed) {
  const Crossing *c = &crossings[_i];
  for (int f = c->joint_only; f < 2; f++)
    for (int back = 0; back < 2; back++)
      for (int m = 0; m < METHODS; m++)
        for (int k = 3; k <= 11; k++) {
          const sunrealtype tol = pow(10, -k), bound = m < ONE_STEP ? 10 : 100;
          char text[1500];
          Slider s;
          if (m == 2 && k > 7) continue; /* BS32 is of low order */
          if (test_is_short() && (m > 0 || k % 4 != 3)) continue;
          snprintf(text, sizeof text, "parameters: {v: %g}\n%s", back ? -c->v : c->v, c->text);
          start_file(&s, text, f ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
          const int flag = run(&s, all[m], tol, back ? -c->t_end : c->t_end);
          ck_assert_msg(flag == CP_SUCCESS, "%s by %s at %g: %d", c->name, all[m], tol, flag);
          const sunrealtype want = (back && c->odd ? -1 : 1) * c->exact(c->t_end),
                            off  = fabs(position(&s) - want);
          ck_assert_msg(off <= bound * tol, "%s by %s at %g, backwards %d: %g", c->name, all[m],
                        tol, back, off);
          stop(&s);
        }
}
END_TEST

/* An angle in space jumps by a turn where those of joint coordinates go on, and the piece of a periodic table that is held goes with it. */
START_TEST(periodic_tables_of_an_angle_act_alike_in_both_coordinates) {
  static const char text[] = "dimension: 3\nfunctions: {f: {units: [rad, N m], order: 1, ends: "
                             "periodic, rows: [[0, 0], [1, "
                             "2], [4, -2], [6.283185307179586, 0]]}}\n"
                             "bodies: [{name: b, mass: 1, inertia: [1, 1, 1], omega: [0, 0, 3]}]\n"
                             "joints: [{name: s, kind: revolute, b: b, axis: [0, 0, 1]}]\n"
                             "springs: [{name: k, of: s, force: f(x)}]\n";
  sunrealtype rate[2];
  for (int f = 0; f < 2; f++) {
    Slider s;
    start_file(&s, text, f ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
    ck_assert_int_eq(run(&s, "DOP853", 1e-10, 4), CP_SUCCESS); /* almost two turns */
    rate[f] = speed(&s);
    stop(&s);
  }
  ck_assert_double_eq_tol(rate[0], rate[1], 1e-8);
}
END_TEST

TEST_SUITE(kinks) {
  Suite *suite = suite_create("bodies/kinks");
  TCase *tc    = tcase_create("kinks");
  tcase_add_test(tc, pieces_in_time_are_integrated_one_by_one);
  tcase_add_test(tc, pieces_in_time_are_integrated_one_by_one_backwards);
  tcase_add_test(tc, rows_of_a_table_of_order_one_are_stops);
  tcase_add_test(tc, kinks_in_a_coordinate_cost_as_little_as_none);
  tcase_add_test(tc, lines_of_a_map_of_order_one_are_roots);
  tcase_add_test(tc, a_drive_that_changes_its_speed_is_an_impact);
  tcase_add_test(tc, a_slider_with_a_sign_comes_to_rest);
  tcase_add_test(tc, a_slider_at_rest_at_a_kink_takes_the_piece_that_it_enters);
  tcase_add_test(tc, an_end_that_is_only_touched_changes_nothing);
  tcase_add_test(tc, functions_of_controllers_have_no_kinks);
  tcase_add_test(tc, kinks_are_no_events_that_derivatives_must_not_pass);
  tcase_add_loop_test(tc, errors_fall_with_the_tolerance_where_kinks_are_crossed, 0,
                      sizeof crossings / sizeof *crossings);
  tcase_add_test(tc, periodic_tables_of_an_angle_act_alike_in_both_coordinates);
  suite_add_tcase(suite, tc);
  return suite;
}
