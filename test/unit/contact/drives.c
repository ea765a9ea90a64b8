/* Contacts beside prescribed motions: closed forms of a shaken table and of a belt. */
#include "fixture.h"

#include <math.h>

#define TIGHT SUN_RCONST(1.0e-10)

/* A table (X, Z) and a block (x, z) on it, y = (X, Z, x, z; u). The contact: gap z - Z, v_T = x' - X'. */
enum { N = 4 };
static const sunrealtype TABLE = 3, BLOCK = 2, G = 9.81;

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int j = 0; j < N; j++) SM_ELEMENT_D(M, j, j) = j < 2 ? TABLE : BLOCK;
  return 0;
}
static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(A, 0, 1) = SM_ELEMENT_D(A, 1, 0) = -1;
  SM_ELEMENT_D(A, 0, 3) = SM_ELEMENT_D(A, 1, 2) = 1;
  return 0;
}
static int weights(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  f[1] = -TABLE * G;
  f[3] = -BLOCK * G;
  return 0;
}
static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[3] - q[1];
  return 0;
}
static int no_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *data) {
  (void)t, (void)q, (void)u, (void)data;
  b[0] = b[1] = 0;
  return 0;
}

static const CPEquations model = {
    CP_SIZED(CPEquations), .nu = N,  .np = 1,  .nv = 2, .na = 2, .M = mass, .A = rows,
    .f = weights,          .p = gap, .b = no_b};

static const CPMotionKind ways[] = {CP_MOTION_DIRECT, CP_MOTION_RATE, CP_MOTION_FULL};
enum { WAYS = 3 };

/* A run of the table whose coordinates 0 and 1 are driven */
static Run *driven(const CPMotion drives[2], const CPContactPoint *point, const sunrealtype *y0) {
  CPEquations moved = model;
  moved.motions = drives, moved.nmotions = 2;
  return run_create(&moved, NULL, 1, point, y0);
}

/* ---- a table that is shaken, Z = a sin(w t), a w^2 = 4 g ---- */

static const sunrealtype SHAKE = 20, HEIGHT = SUN_RCONST(0.0981); /* w, a */

static int shake(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = HEIGHT * sin(SHAKE * t);
  return 0;
}
static int shake_rate(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = HEIGHT * SHAKE * cos(SHAKE * t);
  return 0;
}
static int shake_curvature(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = -HEIGHT * SHAKE * SHAKE * sin(SHAKE * t);
  return 0;
}

/* Z and its rate, and the block's height and rate at t after it has left the table at t1 */
static sunrealtype above(sunrealtype t, sunrealtype t1, sunrealtype *rate) {
  sunrealtype Z, Z1, V, V1;
  shake(t, &Z, NULL), shake(t1, &Z1, NULL), shake_rate(t, &V, NULL), shake_rate(t1, &V1, NULL);
  if (rate) *rate = V1 - G * (t - t1) - V;
  return Z1 + V1 * (t - t1) - G / 2 * (t - t1) * (t - t1) - Z;
}

/* The block leaves the table when the table's acceleration is -g, sin(w t1) = 1/4, strikes it at
 * the next zero t2 of the gap, and then has the relative velocity -e v; the table continues to move
 * as prescribed. Loop index: method and way. */
START_TEST(a_block_leaves_a_shaken_table_and_comes_back) {
  const CPMotionKind how     = ways[_i % WAYS];
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "block", .law.restitution = 0.5};
  const sunrealtype y0[]     = {0, 0, 0, 0, 0, HEIGHT * SHAKE, 0, HEIGHT * SHAKE};
  const sunrealtype t1       = asin(SUN_RCONST(0.25)) / SHAKE;
  sunrealtype low = t1 + SUN_RCONST(0.1), high = low, rate, V, force[3];
  while (above(high, t1, NULL) > 0) low = high, high += SUN_RCONST(0.01);
  for (int k = 0; k < 100; k++) {
    const sunrealtype middle                      = (low + high) / 2;
    *(above(middle, t1, NULL) > 0 ? &low : &high) = middle;
  }
  above(low, t1, &rate);
  const CPMotion by[] = {
      {.coordinate = 1, .kind = how, .g = shake, .gd = shake_rate, .gdd = shake_curvature},
      {.coordinate = 0, .g = at_rest, .gd = at_rest, .gdd = at_rest}};
  Run *run = driven(by, &point, y0);
  ck_assert_int_eq(run_attach(run, _i / WAYS, TIGHT), CP_SUCCESS);
  run_to(run, t1 / 2); /* N = m (g + Z'') */
  ck_assert_int_eq(CPContactEvaluate(run->contact, run->t, run->y, NULL, force, NULL, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(force[0], BLOCK * G * (1 - 4 * sin(SHAKE * t1 / 2)), 1e-7);
  while (run->nevents < 2 || !run->event[run->nevents - 1].struck) run_to(run, run->t + 0.01);
  const CPContactEvent *leaves = &run->event[0], *strikes = &run->event[1];
  ck_assert_int_eq(leaves->after, CP_CONTACT_OPEN);
  ck_assert_double_eq_tol(leaves->t, t1, 1e3 * TIGHT);
  ck_assert_int_eq(strikes->struck, 1);
  ck_assert_double_eq_tol(strikes->t, low, 1e3 * TIGHT);
  ck_assert_double_eq_tol(strikes->velocity[0][0], rate, 1e4 * TIGHT);
  ck_assert_double_eq_tol(strikes->velocity[1][0], -0.5 * rate, 1e4 * TIGHT);
  /* as if the table's mass were infinite */
  ck_assert_double_eq_tol(strikes->impulse[0], -1.5 * BLOCK * rate, 1e5 * TIGHT);
  shake_rate(run->t, &V, NULL);
  ck_assert_double_eq_tol(entries(run->y)[N + 1], V, 1e3 * TIGHT);
  run_free(&run);
}
END_TEST

/* ---- a belt, X' = 1 ---- */

static const sunrealtype SPEED = 1, MU = 0.25;

static int belt(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = SPEED * t;
  return 0;
}
static int belt_rate(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = SPEED;
  return 0;
}

/* A block that is put on the belt slides until mu g t = 1, then it sticks. The drive's force, minus
 * the multiplier, is mu m g until then, and 0 afterwards. Loop index: method and way. */
START_TEST(a_block_on_a_belt_slides_and_is_taken_along) {
  const CPMotionKind how     = ways[_i % WAYS];
  const CPContactPoint point = {CP_SIZED(CPContactPoint), .name = "block", .tangent = 1,
                                .ntangents = 1, .law.mu = MU};
  const sunrealtype y0[] = {0, 0, 0, 0, SPEED, 0, 0, 0}, t1 = SPEED / (MU * G);
  sunrealtype udot[N], lambda[4];
  const CPMotion by[] = {{.coordinate = 0, .kind = how, .g = belt, .gd = belt_rate, .gdd = at_rest},
                         {.coordinate = 1, .g = at_rest, .gd = at_rest, .gdd = at_rest}};
  Run *run            = driven(by, &point, y0);
  CPMech mech         = run->mech;
  ck_assert_int_eq(run_attach(run, _i / WAYS, TIGHT), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetNumMultipliers(mech), how == CP_MOTION_FULL ? 3 : 4);
  run_to(run, t1 / 2);
  ck_assert_int_eq(phase_of(run->contact, 0), CP_CONTACT_SLIDING);
  ck_assert_int_eq(CPMechAccelerations(mech, run->t, run->y, udot, lambda), CP_SUCCESS);
  if (how != CP_MOTION_FULL) ck_assert_double_eq_tol(-lambda[2], MU * BLOCK * G, 1e-9);
  ck_assert_double_eq_tol(udot[2], MU * G, 1e-9);
  run_to(run, 2 * t1);
  ck_assert_int_eq(run->nevents, 1);
  ck_assert_int_eq(run->event[run->nevents - 1].after, CP_CONTACT_STICKING);
  ck_assert_double_eq_tol(run->event[run->nevents - 1].t, t1, 1e3 * TIGHT);
  ck_assert_int_eq(CPMechAccelerations(mech, run->t, run->y, udot, lambda), CP_SUCCESS);
  if (how != CP_MOTION_FULL) ck_assert_double_eq_tol(lambda[2], 0, 1e-9);
  ck_assert_double_eq_tol(entries(run->y)[2], SPEED * (2 * t1 - t1 / 2), 1e3 * TIGHT);
  ck_assert_double_eq_tol(entries(run->y)[N + 2], SPEED, 1e3 * TIGHT);
  run_free(&run);
}
END_TEST

TEST_SUITE(drives) {
  Suite *suite = suite_create("contacts beside prescribed motions");
  TCase *tcase = tcase_create("drives");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, a_block_leaves_a_shaken_table_and_comes_back, 0, METHODS * WAYS);
  tcase_add_loop_test(tcase, a_block_on_a_belt_slides_and_is_taken_along, 0, METHODS * WAYS);
  suite_add_tcase(suite, tcase);
  return suite;
}
