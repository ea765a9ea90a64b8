/* Pucks at rest under loads in time. Nothing moves, so nothing limits the steps; contacts slip or open where closed forms
 * say. An oscillator beside them, if there is one, limits the steps by a motion of its own. */
#include "fixture.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

static const sunrealtype mass_of_puck = 2, gravity = 9.81, friction = 0.5, t_end = 10;
#define WEIGHT (mass_of_puck * gravity)
#define CONE   (friction * WEIGHT) /* largest tangential force at rest */

typedef struct {
  int ntangents, oscillates;
  sunrealtype (*pull)(sunrealtype t);  /* tangential force, along (3, 4) / 5 in space */
  sunrealtype (*press)(sunrealtype t); /* normal force */
} Load;

/* q = (x, y, z, s): the puck's position, and the oscillator. */
enum { POSITIONS = 4 };

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *run) {
  (void)t, (void)q, (void)run;
  for (int i = 0; i < POSITIONS; i++) SM_ELEMENT_D(M, i, i) = mass_of_puck;
  return 0;
}
static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *run) {
  (void)t, (void)q, (void)run;
  SM_ELEMENT_D(A, 0, 2) = SM_ELEMENT_D(A, 1, 0) = SM_ELEMENT_D(A, 2, 1) = 1;
  return 0;
}
static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *run) {
  (void)t, (void)run;
  p[0] = q[2];
  return 0;
}
static int no_bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *run) {
  (void)t, (void)q, (void)u, (void)b, (void)run;
  return 0;
}
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *run) {
  const Load *load       = run;
  const sunrealtype pull = load->pull(t);
  (void)u, (void)z;
  f[0] = load->ntangents == 2 ? SUN_RCONST(0.6) * pull : pull;
  f[1] = load->ntangents == 2 ? SUN_RCONST(0.8) * pull : 0;
  f[2] = -load->press(t);
  f[3] = -2 * mass_of_puck * q[3];
  return 0;
}

static const CPEquations model = {
    CP_SIZED(CPEquations), .nu = POSITIONS, .np = 1,     .nv = 3, .na = 3, .M = mass, .A = rows,
    .f = forces,           .p = gap,        .b = no_bias};

/* ---- loads ---- */

/* A pulse without an end, and one that is 0 outside |x| < 1 with all its derivatives */
static sunrealtype gauss(sunrealtype x) { return exp(-x * x / 2); }
static sunrealtype bump(sunrealtype x) { return fabs(x) < 1 ? exp(1 - 1 / (1 - x * x)) : 0; }

static sunrealtype none(sunrealtype t) { return (void)t, SUN_RCONST(0.0); }
static sunrealtype weight(sunrealtype t) { return (void)t, WEIGHT; }
static sunrealtype steady(sunrealtype t) { return (void)t, SUN_RCONST(0.8) * CONE; }
static sunrealtype wave(sunrealtype t) { return SUN_RCONST(1.02) * CONE * sin(t / 2); }
static sunrealtype grows(sunrealtype t) { return CONE * t * sin(25 * t) / 7; }
static sunrealtype knock(sunrealtype t) {
  return SUN_RCONST(1.1) * CONE * gauss((t - 7) / SUN_RCONST(0.05));
}
static sunrealtype push(sunrealtype t) {
  return SUN_RCONST(1.1) * CONE * bump((t - 4) / SUN_RCONST(0.2));
}
static sunrealtype shaken_push(sunrealtype t) {
  return CONE * (SUN_RCONST(0.3) * sin(30 * t) + SUN_RCONST(0.8) * bump((t - 6) / SUN_RCONST(0.3)));
}
static sunrealtype lighter(sunrealtype t) {
  return WEIGHT * (1 - SUN_RCONST(0.25) * bump((t - 5) / SUN_RCONST(0.15)));
}
static sunrealtype trembles(sunrealtype t) {
  return WEIGHT * (1 - SUN_RCONST(0.03) * t * sin(40 * t));
}
static sunrealtype lifted(sunrealtype t) {
  return WEIGHT * (1 - SUN_RCONST(1.2) * gauss((t - 3) / SUN_RCONST(0.05)));
}

static const Load loads[] = {
    {.ntangents = 1, .pull = wave, .press = weight},
    {.ntangents = 1, .pull = grows, .press = weight},
    {.ntangents = 2, .pull = knock, .press = weight},
    {.ntangents = 1, .pull = push, .press = weight},
    {.ntangents = 2, .pull = shaken_push, .press = weight},
    {.ntangents = 1, .pull = steady, .press = lighter},
    {.ntangents = 2, .pull = steady, .press = trembles},
    {.ntangents = 0, .pull = none, .press = lifted}, /* without friction */
};
enum { LOADS = sizeof loads / sizeof *loads };

/* mu N - |F_T|, or N without friction, at rest */
static sunrealtype margin(const Load *load, sunrealtype t) {
  const sunrealtype N = load->press(t);
  return load->ntangents == 0 ? N : friction * N - fabs(load->pull(t));
}

/* Its first zero: a search in steps of a thousandth of the shortest pulse */
static sunrealtype onset(const Load *load) {
  sunrealtype low = 0, high = 0;
  while (margin(load, high) > 0) low = high, high += SUN_RCONST(5.0e-5);
  for (int k = 0; k < 60; k++) {
    const sunrealtype t                   = (low + high) / 2;
    *(margin(load, t) > 0 ? &low : &high) = t;
  }
  return high;
}

/* ---- runs ---- */

static CPContactEvent first;
static int stop_there(const CPContactEvent *event, void *run) {
  (void)run;
  first = *event;
  return 1;
}

/* To the first event, on the way to t_end: by one call, by up to 1,000, or by single steps. Returns 1 if there is none. */
enum { WHOLE, FRAMES, STEPS, WAYS };
static int runs_through(Run *run, int way) {
  const int frames = way == FRAMES ? 1000 : 1;
  int flag         = CP_SUCCESS;
  first            = (CPContactEvent){CP_SIZED(CPContactEvent), .t = NAN};
  ck_assert_int_eq(CPContactSetEventFn(run->contact, stop_there, NULL), CP_SUCCESS);
  for (int k = 1; way != STEPS && k <= frames && !flag; k++)
    flag = run_solve(run, t_end * k / frames);
  while (way == STEPS && run->t < t_end && flag >= 0 && isnan(first.t)) flag = run_step(run, t_end);
  ck_assert_msg(flag >= 0, "%d: %s", flag, run->log.text);
  return isnan(first.t);
}

/* Loop index: load, method, and with or without the oscillator. */
START_TEST(a_puck_at_rest_slips_or_lifts_when_its_load_says_so) {
  static const sunrealtype tolerances[] = {1.0e-3, 1.0e-6, 1.0e-9};
  Load load                             = loads[_i % LOADS];
  const int method                      = _i / LOADS % METHODS;
  const CPContactPoint point            = {CP_SIZED(CPContactPoint), .name = "puck", .tangent = 1,
                                           .ntangents = load.ntangents,
                                           .law.mu    = load.ntangents ? friction : 0};
  const sunrealtype y0[2 * POSITIONS] = {0, 0, 0, _i / (LOADS * METHODS)}, expected = onset(&load);
  for (int k = 0; k < (test_is_short() ? 1 : 3); k++)
    for (int way = 0; way < WAYS; way++) {
      Run *run = run_start(&model, &load, 1, &point, y0, method, tolerances[k]);
      ck_assert_msg(!runs_through(run, way), "load %d, tolerance %g, way %d: no event", _i % LOADS,
                    tolerances[k], way);
      ck_assert_int_eq(first.after, load.ntangents ? CP_CONTACT_SLIDING : CP_CONTACT_OPEN);
      /* The state is exact, and so is the root but for roundoff of t and of the margin. */
      ck_assert_double_eq_tol(first.t, expected, 1.0e-11);
      run_free(&run);
    }
}
END_TEST

/* A load that stays below the cone ends nothing. */
START_TEST(a_puck_stays_at_rest_as_long_as_its_load_says_so) {
  Load load                           = loads[0];
  const CPContactPoint point          = {CP_SIZED(CPContactPoint), .name = "puck", .tangent = 1,
                                         .ntangents = 1, .law.mu = 1.03 * friction};
  const sunrealtype y0[2 * POSITIONS] = {0};
  Run *run                            = run_start(&model, &load, 1, &point, y0, _i, 1.0e-6);
  run_to(run, t_end);
  ck_assert_int_eq(run->nevents, 0);
  for (int i = 0; i < POSITIONS; i++) ck_assert_double_eq(entries(run->y)[i], 0);
  run_free(&run);
}
END_TEST

/* ---- a disc between two walls, at the angle `slope` to the vertical, which meet above it ----
 *
 * A force W upwards presses it into the wedge, and a moment asks for more friction than the loads N = W / (2 sin(slope)) allow. With
 * tan(slope) < mu friction wedges it: both walls may press by any amount more, as far as they hold each other. Where friction was in
 * proportion to the loads, more W would ask for much smaller ones, since mu is close to tan(slope). */

static const sunrealtype slope = 0.3, barely = 0.32;
enum { DISC = 3 };

/* q = (x, z, angle), radius 1 */
static int disc_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *run) {
  (void)t, (void)q, (void)run;
  for (int i = 0; i < DISC; i++) SM_ELEMENT_D(M, i, i) = i < 2 ? mass_of_puck : mass_of_puck / 2;
  return 0;
}
static int disc_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *run) {
  (void)t, (void)q, (void)run;
  for (int i = 0; i < 2; i++) { /* the normals, and the tangents, which point up */
    const sunrealtype side = i == 0 ? 1 : -1;
    SM_ELEMENT_D(A, i, 0) = side * cos(slope), SM_ELEMENT_D(A, i, 1) = -sin(slope);
    SM_ELEMENT_D(A, 2 + i, 0) = side * sin(slope), SM_ELEMENT_D(A, 2 + i, 1) = cos(slope);
    SM_ELEMENT_D(A, 2 + i, 2) = -side;
  }
  return 0;
}
static int disc_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *run) {
  (void)t, (void)run;
  for (int i = 0; i < 2; i++) p[i] = (i == 0 ? 1 : -1) * cos(slope) * q[0] - sin(slope) * q[1];
  return 0;
}
static int disc_load(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *f, void *rate) {
  (void)q, (void)u, (void)z;
  f[1] = WEIGHT * (1 + *(const sunrealtype *)rate * t), f[2] = 2.5 * WEIGHT;
  return 0;
}

/* All changes of W go into the normal forces, N = N(0) + (W(t) - W(0)) / (2 sin(slope)), whether it grows or falls (loop index), and
 * there is no event: forces that begin well within the cones stay there. */
START_TEST(walls_press_on_a_wedged_disc_by_what_its_load_changes) {
  const CPEquations disc = {
      CP_SIZED(CPEquations), .nu = DISC,     .np = 2,        .nv = 4,        .na = 4,
      .M = disc_mass,        .A = disc_rows, .f = disc_load, .p = disc_gaps, .b = no_bias};
  const CPContactPoint walls[]   = {{CP_SIZED(CPContactPoint), .name = "left", .normal = 0,
                                     .tangent = 2, .ntangents = 1, .law.mu = barely},
                                    {CP_SIZED(CPContactPoint), .name = "right", .normal = 1,
                                     .tangent = 3, .ntangents = 1, .law.mu = barely}};
  const int falls                = _i / METHODS;
  const sunrealtype y0[2 * DISC] = {0}, spacing = falls ? 0.1 : 0.2;
  sunrealtype rate = falls ? -0.9 : 1;
  Run *run         = run_start(&disc, &rate, 2, walls, y0, _i % METHODS, 1.0e-6);
  sunrealtype before[2 * 3], force[2 * 3];
  ck_assert_int_eq(CPContactEvaluate(run->contact, 0, run->y, NULL, before, NULL, NULL), CP_SUCCESS);
  for (int k = 1; k <= 10; k++) {
    run_to(run, k * spacing);
    ck_assert_int_eq(CPContactEvaluate(run->contact, run->t, run->y, NULL, force, NULL, NULL),
                     CP_SUCCESS);
    for (int i = 0; i < DISC; i++) ck_assert_double_le(fabs(entries(run->y)[i]), 1e-12);
    for (int i = 0; i < 2; i++) {
      const sunrealtype N = force[3 * i], change = rate * WEIGHT * run->t / (2 * sin(slope));
      ck_assert_double_le(fabs(force[3 * i + 1]), barely * N);
      ck_assert_double_le(fabs(N - before[3 * i] - change), 1e-12 * before[3 * i]);
    }
  }
  ck_assert_int_eq(run->nevents, 0);
  run_free(&run);
}
END_TEST

TEST_SUITE(rest) {
  Suite *suite = suite_create("contact/rest");
  TCase *tc    = tcase_create("rest");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_puck_at_rest_slips_or_lifts_when_its_load_says_so, 0,
                      2 * LOADS * METHODS);
  tcase_add_loop_test(tc, a_puck_stays_at_rest_as_long_as_its_load_says_so, 0, METHODS);
  tcase_add_loop_test(tc, walls_press_on_a_wedged_disc_by_what_its_load_changes, 0, 2 * METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
