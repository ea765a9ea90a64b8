/* Impacts: momentum, energy, and the velocities after them.
 *
 * Tolerance of the mechanism with constant matrices: as in operators.c, for velocities of order one. */
#include "mechanics/constant.h"
#include "support/alloc.h"
#include "support/mech_run.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

#define TOLERANCE (N * N * SUN_RCONST(1.1e-16) * SUN_RCONST(3.0e3))

static Constant c;

/* ---- any mechanism ---- */

/* Rows that strike, among them the one that may be off. All of VELOCITIES are active. */
static const int named[VELOCITIES] = {0, 1, 0, 1}, nothing[VELOCITIES] = {0};

static sunrealtype *velocity(void) { return entries(c.y) + N; }

static sunrealtype v_of(int i) { return constant_row(&c, i, velocity()) + c.drift[i]; }

static void impact(const int *rows, sunrealtype e, sunrealtype impulse[ROWS]) {
  ck_assert_msg(CPMechImpact(c.mech, 0, c.y, rows, e, impulse) == CP_SUCCESS, "%s", c.log.text);
}

/* Only the first stage: nothing strikes, and the rows that are to strike are off. */
static void satisfy_others(void) {
  const int mask[ROWS] = {1, 0, 1, 0, 1};
  int before[ROWS]     = {1, 1, 1, 1, 1};
  before[OFF]          = !c.off;
  ck_assert_int_eq(CPMechSetActive(c.mech, mask), CP_SUCCESS);
  impact(nothing, 0, NULL);
  ck_assert_int_eq(CPMechSetActive(c.mech, before), CP_SUCCESS);
}

static sunrealtype kinetic_energy(void) { return constant_product(&c, velocity(), velocity()) / 2; }

/* (M (u+ - u-) + A^T impulse)_j */
static sunrealtype momentum(const sunrealtype *before, const sunrealtype *impulse, int j) {
  sunrealtype sum = 0;
  for (int k = 0; k < N; k++) sum += c.M[j][k] * (velocity()[k] - before[k]);
  for (int i = 0; i < ROWS; i++) sum += c.A[i][j] * impulse[i];
  return sum;
}

START_TEST(impulses_balance_the_jump_of_momentum) {
  sunrealtype before[N], impulse[ROWS];
  constant_create(&c, _i);
  memcpy(before, velocity(), sizeof before);
  impact(named, SUN_RCONST(0.7), impulse);
  for (int j = 0; j < N; j++)
    if (!c.driven || j != DRIVEN)
      ck_assert_double_eq_tol(momentum(before, impulse, j), 0, N * N * TOLERANCE); /* |M| */
  for (int i = VELOCITIES; i < ROWS; i++) ck_assert_double_eq(impulse[i], 0);
  if (c.driven) ck_assert_double_eq(velocity()[DRIVEN], DRIVEN_RATE);
  constant_free(&c);
}
END_TEST

/* v_i(u+) = -e v_i for the named rows, where v_i is the velocity after the others have been
 * satisfied. The same holds with moving surroundings (drift). */
START_TEST(named_rows_rebound_and_the_others_hold) {
  const sunrealtype e = SUN_RCONST(0.7);
  sunrealtype v[VELOCITIES], strikes = 0;
  constant_create(&c, _i);
  for (int i = 0; i < VELOCITIES && !c.dependent; i++) c.drift[i] = random_number(&c.state);
  N_Vector before = vector_copy(c.y);
  satisfy_others();
  for (int i = 0; i < VELOCITIES; i++) v[i] = v_of(i);
  N_VScale(1, before, c.y);
  impact(named, e, NULL);
  for (int i = 0; i < VELOCITIES; i++) {
    ck_assert_double_eq_tol(v_of(i), named[i] != 0 ? -e * v[i] : 0, TOLERANCE);
    strikes = fmax(strikes, fabs(named[i] * v[i]));
  }
  ck_assert_double_gt(strikes, SUN_RCONST(0.01)); /* the impact has an effect */
  N_VDestroy(before);
  constant_free(&c);
}
END_TEST

START_TEST(satisfied_rows_leave_the_approach_alone) {
  sunrealtype before[N];
  constant_create(&c, _i);
  satisfy_others();
  memcpy(before, velocity(), sizeof before);
  satisfy_others();
  for (int j = 0; j < N; j++) ck_assert_double_eq_tol(velocity()[j], before[j], TOLERANCE);
  constant_free(&c);
}
END_TEST

/* T+ - T- = -(1 - e^2)/2 v^T S^+ v if the other rows hold. v^T S^+ v is the least n^T M n of all n
 * with A n = v, and belongs to the normal part of u-. */
START_TEST(energy_lost_is_that_of_the_closed_form) {
  const int all[ROWS]    = {1, 1, 1, 1, 1};
  const sunrealtype es[] = {0, SUN_RCONST(0.3), 1};
  for (int k = 0; k < 3; k++) {
    sunrealtype normal[N];
    constant_create(&c, _i);
    if (!c.driven) {
      satisfy_others();
      memcpy(normal, velocity(), sizeof normal);
      const sunrealtype before = kinetic_energy();
      ck_assert_int_eq(CPMechSetActive(c.mech, all), CP_SUCCESS);
      ck_assert_int_eq(CPMechProject(c.mech, CP_NORMAL, 0, c.y, normal), CP_SUCCESS);
      impact(named, es[k], NULL);
      const sunrealtype lost = (1 - es[k] * es[k]) / 2 * constant_product(&c, normal, normal);
      ck_assert_double_eq_tol(before - kinetic_energy(), lost, N * N * TOLERANCE); /* |M| */
      if (es[k] < 1) ck_assert_double_gt(lost, SUN_RCONST(1e-3));
    }
    constant_free(&c);
  }
}
END_TEST

/* S x = b, with S of the active rows, by elimination; S is definite. */
static void solve_delassus(sunrealtype x[VELOCITIES]) {
  sunrealtype S[ROWS][ROWS];
  constant_delassus(&c, 1, S);
  for (int k = 0; k < VELOCITIES; k++)
    for (int i = k + 1; i < VELOCITIES; i++) {
      const sunrealtype factor = S[i][k] / S[k][k];
      for (int j = k; j < VELOCITIES; j++) S[i][j] -= factor * S[k][j];
      x[i] -= factor * x[k];
    }
  for (int i = VELOCITIES - 1; i >= 0; i--) {
    for (int j = i + 1; j < VELOCITIES; j++) x[i] -= S[i][j] * x[j];
    x[i] /= S[i][i];
  }
}

/* T(u+) - T(u-) if all rows jumped at once: -L.v + L.S L / 2 with S L = r = the jump. */
static sunrealtype growth_in_one_stage(sunrealtype e) {
  sunrealtype r[VELOCITIES], L[VELOCITIES], sum = 0;
  for (int i = 0; i < VELOCITIES; i++) r[i] = L[i] = (named[i] != 0 ? 1 + e : 1) * v_of(i);
  solve_delassus(L);
  for (int i = 0; i < VELOCITIES; i++) sum += L[i] * (r[i] / 2 - v_of(i));
  return sum;
}

START_TEST(energy_never_grows_even_if_other_rows_did_not_hold) {
  int would_grow = 0;
  for (int trial = 0; trial < 200; trial++) {
    c = (Constant){.state = 5000 + (unsigned)trial};
    constant_fill(&c);
    constant_build(&c);
    const sunrealtype e = trial % 2 ? 1 : fabs(random_number(&c.state)), before = kinetic_energy();
    would_grow += growth_in_one_stage(e) > 0;
    impact(named, e, NULL);
    ck_assert_double_le(kinetic_energy(), before * (1 + TOLERANCE));
    constant_free(&c);
  }
  ck_assert_int_gt(would_grow, 10); /* so that there is growth to prevent */
}
END_TEST

/* If no rows are named, all active rows of the model strike. */
START_TEST(no_list_means_all_active_rows) {
  sunrealtype v[VELOCITIES], impulse[ROWS];
  constant_create(&c, _i);
  for (int i = 0; i < VELOCITIES; i++) v[i] = v_of(i);
  impact(NULL, SUN_RCONST(0.5), impulse);
  for (int i = 0; i < VELOCITIES && !c.driven; i++)
    if (constant_is_active(&c, i, 1)) ck_assert_double_eq_tol(v_of(i), -v[i] / 2, TOLERANCE);
  if (c.off) ck_assert_double_eq(impulse[OFF], 0);
  constant_free(&c);
}
END_TEST

/* ---- failures: nothing is changed ---- */

static void assert_refused(const int *rows, sunrealtype e, int code, const char *word) {
  sunrealtype impulse[ROWS] = {1, 2, 3, 4, 5};
  N_Vector before           = vector_copy(c.y);
  const int flag            = CPMechImpact(c.mech, 0, c.y, rows, e, impulse);
  ck_assert_msg(flag == code, "%d, %s", flag, c.log.text);
  ck_assert_mentions(c.log.text, word);
  ck_assert(same_bits(before, c.y));
  for (int i = 0; i < ROWS; i++) ck_assert_double_eq(impulse[i], i + 1);
  N_VDestroy(before);
}

START_TEST(bad_arguments_are_refused) {
  constant_create(&c, 0);
  ck_assert_int_eq(CPMechImpact(NULL, 0, c.y, NULL, 0, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPMechImpact(c.mech, 0, NULL, NULL, 0, NULL), CP_ILL_INPUT);
  assert_refused(NULL, SUN_RCONST(-1e-3), CP_ILL_INPUT, "-0.001");
  assert_refused(NULL, SUN_RCONST(1.001), CP_ILL_INPUT, "1.001");
  assert_refused(NULL, NAN, CP_ILL_INPUT, "restitution");
  constant_free(&c);
}
END_TEST

/* Row 2 is row 0 - 2 row 1: with a drift of its own, all three cannot be zero. */
START_TEST(contradicting_rows_are_named) {
  constant_create(&c, 1);
  c.drift[2] = 1;
  assert_refused(NULL, 0, CP_KKT_INCONSISTENT, "contradicts");
  constant_free(&c);
}
END_TEST

/* A is not the derivative of v: the row that misses is named. */
static int twice_the_velocity(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              sunrealtype *v, void *data) {
  const Constant *k = data;
  (void)t, (void)q;
  for (int i = 0; i < VELOCITIES; i++) v[i] = (i == 3 ? 2 : 1) * constant_row(k, i, u);
  return 0;
}

START_TEST(wrong_A_is_found) {
  c          = (Constant){.state = 7};
  c.velocity = twice_the_velocity;
  constant_fill(&c);
  constant_build(&c);
  assert_refused(NULL, 0, CP_MECH_A_WRONG, "constraint 3");
  constant_free(&c);
}
END_TEST

static int failing(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                   void *data) {
  (void)t, (void)q, (void)u, (void)v, (void)data;
  return -3;
}

START_TEST(failing_function_is_named) {
  c          = (Constant){.state = 7};
  c.velocity = failing;
  constant_fill(&c);
  constant_build(&c);
  assert_refused(NULL, 0, CP_USERFUNC_FAIL, "function v failed (-3)");
  constant_free(&c);
}
END_TEST

/* The solver of these cases keeps its workspace when rows come and go, so no call may leave
 * additional memory. */
START_TEST(every_allocation_may_fail) {
  int n = 0, done = 0;
  constant_create(&c, _i < 4 ? _i : CONSTANT_CASES - 6 + _i);
  impact(nothing, 0, NULL); /* allocates the object's workspace */
  N_Vector before = vector_copy(c.y);
  for (n = 1; !done; n++) {
    alloc_watch_failing(n);
    const int flag = CPMechImpact(c.mech, 0, c.y, named, 1, NULL);
    alloc_unwatch();
    done = !alloc_has_failed();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_eq(flag, done ? CP_SUCCESS : CP_MEM_FAIL);
    if (!done) ck_assert(same_bits(before, c.y));
    ck_assert_int_lt(n, 100);
  }
  ck_assert_int_gt(n, 3);
  N_VDestroy(before);
  constant_free(&c);
}
END_TEST

/* ---- two balls on rods of length L, radius R, in contact at the lowest point ---- */

/* q = (x1, y1, x2, y2), suspended at (R, 0) and (-R, 0); row 2: the gap. Mass 1, as in CPODES 2.7's
 * example cpsNewtCrd_dns, where equal balls exchange their velocities (e = 1). In general Newton's
 * law and the momentum give (1 - e)/2 V and (1 + e)/2 V. */
static const sunrealtype L = 1, R = SUN_RCONST(0.1);

static int ball_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < 4; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int ball_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = (q[0] - R) * (q[0] - R) + q[1] * q[1] - L * L;
  p[1] = (q[2] + R) * (q[2] + R) + q[3] * q[3] - L * L;
  p[2] = (q[0] - q[2]) * (q[0] - q[2]) + (q[1] - q[3]) * (q[1] - q[3]) - 4 * R * R;
  return 0;
}

static int ball_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  SM_ELEMENT_D(A, 0, 0) = 2 * (q[0] - R);
  SM_ELEMENT_D(A, 0, 1) = 2 * q[1];
  SM_ELEMENT_D(A, 1, 2) = 2 * (q[2] + R);
  SM_ELEMENT_D(A, 1, 3) = 2 * q[3];
  for (int i = 0; i < 2; i++) {
    SM_ELEMENT_D(A, 2, i)     = 2 * (q[i] - q[2 + i]);
    SM_ELEMENT_D(A, 2, 2 + i) = -2 * (q[i] - q[2 + i]);
  }
  return 0;
}

START_TEST(two_balls_share_the_velocity_by_newtons_law) {
  const sunrealtype e = _i / SUN_RCONST(4.0), V = -3;
  const int open[] = {1, 1, 0}, hit[] = {0, 0, 1};
  sunrealtype impulse[3];
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 4,     .np = 3,
                             .M = ball_mass,        .A = ball_A, .p = ball_positions};
  N_Vector y              = VECTOR(R, -L, -R, -L, V, 0, 0, 0);
  CPMech mech             = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetActive(mech, open), CP_SUCCESS);
  ck_assert_int_eq(CPMechImpact(mech, 0, y, hit, e, impulse), CP_SUCCESS);
  const sunrealtype after[] = {(1 - e) / 2 * V, 0, (1 + e) / 2 * V, 0};
  for (int j = 0; j < 4; j++) /* M = 1, rows of length 2 to 6: a few operations of size V */
    ck_assert_double_eq_tol(entries(y)[4 + j], after[j], 50 * SUN_RCONST(1.1e-16) * 3);
  /* jump of ball 1: -A_20 Lambda = -4 R Lambda */
  ck_assert_double_eq_tol(impulse[2], (1 + e) / 2 * V / (4 * R), SUN_RCONST(1e-13));
  ck_assert_double_eq_tol(impulse[0], 0, SUN_RCONST(1e-14));
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* A rod that holds does not change anything, wherever the mass moves: the terms of A u cancel. */
static int rod_positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  return 0;
}

static int rod_A(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  SM_ELEMENT_D(A, 0, 0) = q[0];
  SM_ELEMENT_D(A, 0, 1) = q[1];
  return 0;
}

static int rod_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 2;
  return 0;
}

START_TEST(rod_that_holds_changes_nothing) {
  const int none[]        = {0};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,    .np = 1,
                             .M = rod_mass,         .A = rod_A, .p = rod_positions};
  for (int k = 0; k < 200; k++) {
    const sunrealtype angle = SUN_RCONST(0.03) * k, s = sin(angle), d = cos(angle);
    N_Vector y  = VECTOR(s, -d, 3 * d, 3 * s);
    CPMech mech = create_mech(&model, y, test_context);
    ck_assert_ptr_nonnull(mech);
    ck_assert_msg(CPMechImpact(mech, 0, y, k % 2 ? none : NULL, 1, NULL) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_eq_tol(entries(y)[2], 3 * d, SUN_RCONST(1e-14)); /* 3 x about 10 operations */
    ck_assert_double_eq_tol(entries(y)[3], 3 * s, SUN_RCONST(1e-14));
    CPMechFree(&mech);
    N_VDestroy(y);
  }
}
END_TEST

/* ---- motions at a kink: velocities become g', whatever e is ---- */

static int kinked(sunrealtype t, sunrealtype *g, void *data) {
  *g = *(sunrealtype *)data * t;
  return 0;
}

static int kinked_d(sunrealtype t, sunrealtype *g, void *data) {
  (void)t;
  *g = *(sunrealtype *)data;
  return 0;
}

static int kinked_dd(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 0;
  return 0;
}

static int coupled_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = 3;
  SM_ELEMENT_D(M, 1, 1) = 2;
  SM_ELEMENT_D(M, 0, 1) = SM_ELEMENT_D(M, 1, 0) = 1;
  return 0;
}

/* q_1 is driven, its speed jumps by 4: M_00 du_0 + M_01 4 = 0 in all three ways. */
START_TEST(velocities_follow_a_kink_of_a_motion) {
  const CPMotionKind how[] = {CP_MOTION_DIRECT, CP_MOTION_RATE, CP_MOTION_FULL};
  sunrealtype slope = 5, impulse[1] = {0};
  const CPMotion by = {
      .coordinate = 1, .kind = how[_i], .g = kinked, .gd = kinked_d, .gdd = kinked_dd, .data = &slope};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2, .M = coupled_mass, .motions = &by,
                             .nmotions = 1};
  N_Vector y              = VECTOR(0, 0, 7, 1);
  CPMech mech             = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechImpact(mech, 0, y, NULL, 1, impulse), CP_SUCCESS);
  ck_assert_double_eq_tol(entries(y)[3], 5, SUN_RCONST(1e-14)); /* a few operations of size 7 */
  ck_assert_double_eq_tol(entries(y)[2], 7 - SUN_RCONST(4.0) / 3, SUN_RCONST(1e-14));
  if (_i < 2) /* M_10 du_0 + M_11 4 + impulse = 0 */
    ck_assert_double_eq_tol(impulse[0], SUN_RCONST(4.0) / 3 - 8, SUN_RCONST(1e-14));
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(impact) {
  Suite *suite = suite_create("mechanics/impact");
  TCase *tc    = tcase_create("impact");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, impulses_balance_the_jump_of_momentum, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, named_rows_rebound_and_the_others_hold, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, satisfied_rows_leave_the_approach_alone, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, energy_lost_is_that_of_the_closed_form, 0, CONSTANT_CASES);
  tcase_add_test(tc, energy_never_grows_even_if_other_rows_did_not_hold);
  tcase_add_loop_test(tc, no_list_means_all_active_rows, 0, CONSTANT_CASES);
  tcase_add_test(tc, bad_arguments_are_refused);
  tcase_add_test(tc, contradicting_rows_are_named);
  tcase_add_test(tc, wrong_A_is_found);
  tcase_add_test(tc, failing_function_is_named);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, 6);
  tcase_add_loop_test(tc, two_balls_share_the_velocity_by_newtons_law, 0, 5);
  tcase_add_test(tc, rod_that_holds_changes_nothing);
  tcase_add_loop_test(tc, velocities_follow_a_kink_of_a_motion, 0, 3);
  suite_add_tcase(suite, tc);
  return suite;
}
