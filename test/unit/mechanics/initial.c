/* Consistent initial states of mechanical systems, and projections where rows are dependent. */
#include "mechanics/cases.h"

#include <float.h>
#include <math.h>

/* Residuals, in the units that weights of one give to 1e-10 of the largest entry (initial.c of the
 * library), are as small as projections leave them: a tenth of that. Here A is that of the result. */
static void is_consistent(const System *s, N_Vector y) {
  double A[MAX_ROWS * MAX_U], r[MAX_ROWS];
  const double part = 1.1 * 0.1e-10 * fmax(1, N_VMaxNorm(y));
  system_A(s, entries(y), A);
  for (int velocities = 0; velocities < 2; velocities++) {
    if (velocities) system_v(s, entries(y), entries(y) + s->nq, r);
    else system_p(s, entries(y), r);
    for (int i = 0; i < (velocities ? s->nv : s->np); i++) {
      /* roundoff of v on both sides, whose dp/dt is by differences here */
      double unit = 0, terms = 0;
      for (int j = 0; j < s->nu; j++) {
        const int turns =
            velocities || s->nquaternions == 0 ? 1 : 2; /* w of quaternions have half the weight */
        unit = hypot(unit, turns * A[i + j * s->nv]);
        terms += fabs(A[i + j * s->nv]) * (1 + fabs(entries(y)[s->nq * velocities + j]));
      }
      ck_assert_msg(fabs(r[i]) <= part * unit + (velocities ? 1e-11 : 64 * DBL_EPSILON) * terms,
                    "%s, %s %d: %g", s->name, velocities ? "v" : "p", i, r[i]);
    }
  }
  ck_assert_double_le(system_norms(s, entries(y)), 4 * DBL_EPSILON);
}

/* From a guess far beyond what a projection may correct; the accelerations are those of the result. */
START_TEST(rough_guesses_become_consistent) {
  System *s        = system_create((SystemName)_i);
  const double far = _i == ANDREWS ? 2e-2 : _i == FLEXIBLE_CRANK ? 1e-4 : 0.1;
  N_Vector y       = case_disturbed(s, far);
  double udot[MAX_U], lambda[MAX_ROWS], again[MAX_U];
  ck_assert_msg(CPMechCalcIC(s->mech, s->t, y, NULL, NULL, udot, lambda) == CP_SUCCESS, "%s: %s",
                s->name, s->log.text);
  is_consistent(s, y);
  ck_assert_int_eq(CPMechAccelerations(s->mech, s->t, y, again, NULL), CP_SUCCESS);
  for (int j = 0; j < s->nu; j++) ck_assert_double_eq(udot[j], again[j]);
  ck_assert_int_eq(CPMechCalcIC(s->mech, s->t, y, NULL, NULL, NULL, NULL), CP_SUCCESS);
  is_consistent(s, y);
  N_VDestroy(y);
  system_free(&s);
}
END_TEST

/* A component is held on both levels, and does not move; the others can be satisfied without it. */
START_TEST(held_components_stay) {
  System *s   = system_create((SystemName)_i);
  N_Vector id = vector_of(s->n, NULL), y = case_disturbed(s, 1e-3), start = vector_copy(y);
  N_VConst(1, id);
  /* coordinate 0 is free there, or driven */
  const int held    = _i == KNIFE_EDGE || _i == FLEXIBLE_CRANK ? 2 : 0;
  entries(id)[held] = entries(id)[s->nq + held] = 0;
  ck_assert_msg(CPMechCalcIC(s->mech, s->t, y, NULL, id, NULL, NULL) == CP_SUCCESS, "%s: %s",
                s->name, s->log.text);
  is_consistent(s, y);
  ck_assert_double_eq(entries(y)[held], entries(start)[held]);
  ck_assert_double_eq(entries(y)[s->nq + held], entries(start)[s->nq + held]);
  N_VDestroy(y);
  N_VDestroy(start);
  /* and only in this call: afterwards it moves with the others */
  y = case_disturbed(s, 1e-3);
  ck_assert_int_eq(CPProjectorProject(CPMechGetProjector(s->mech), s->t, y, s->ewt), CP_SUCCESS);
  N_VDestroy(y);
  N_VDestroy(id);
  system_free(&s);
}
END_TEST

/* A quaternion is held as a whole by one of its coordinates. */
START_TEST(held_quaternions_stay) {
  System *s   = system_create(BODIES);
  N_Vector id = vector_of(s->n, NULL), y = case_disturbed(s, 1e-3), start = vector_copy(y);
  N_VConst(1, id);
  entries(id)[4] = 0;
  system_normalise(s, entries(start));
  ck_assert_int_eq(CPMechCalcIC(s->mech, s->t, y, NULL, id, NULL, NULL), CP_SUCCESS);
  is_consistent(s, y);
  for (int i = 3; i < 7; i++)
    ck_assert_double_le(fabs(entries(y)[i] - entries(start)[i]), 2 * DBL_EPSILON);
  N_VDestroy(y);
  N_VDestroy(start);
  N_VDestroy(id);
  system_free(&s);
}
END_TEST

/* Pendulum at (1 + d, 0): with weights w_x >> w_y, the nearest point of the circle is reached along
 * y as far as x permits: a component that costs 1e4 times as much moves by at most 1e-4 of the
 * other, to first order. From (0.6, 0.8) off by d along the rod, moves are in the ratio x w_y^2 : y
 * w_x^2. */
START_TEST(weights_tell_what_moves) {
  System *s      = system_create(PENDULUM);
  const double d = 1e-5, heavy = 1e2;
  N_Vector y = VECTOR(0.6 * (1 + d), 0.8 * (1 + d), 0, 0), w = VECTOR(heavy, 1, 1, 1);
  ck_assert_int_eq(CPMechCalcIC(s->mech, 0, y, w, NULL, NULL, NULL), CP_SUCCESS);
  const double dx = entries(y)[0] - 0.6 * (1 + d), dy = entries(y)[1] - 0.8 * (1 + d);
  ck_assert_double_le(fabs(dx / dy * heavy * heavy / 0.75 - 1), 1e-4); /* d, and roundoff of dx */
  N_VDestroy(y);
  N_VDestroy(w);
  system_free(&s);
}
END_TEST

/* ---- singular positions ---- */

static const CPLinSol with_rank[] = {CP_LINSOL_AUTO, CP_LINSOL_QR, CP_LINSOL_SPARSE};

/* All rods of four-bar linkages are horizontal: with N windows, A loses rank by N (the source of
 * four_bar.h). A state there is projected where it is, and vectors according to the reference. */
START_TEST(singular_positions_lose_rank) {
  System *s     = system_create(_i % 2 ? FOUR_BAR_SPARSE : FOUR_BAR);
  CPProjector P = CPMechGetProjector(s->mech);
  double A[MAX_ROWS * MAX_U], K[MAX_ROWS * MAX_U], W[MAX_U * MAX_U], w[MAX_U], expected[MAX_U];
  sunindextype rank;
  four_bar_state(s->four_bar, acos(0.0), 0, s->y);
  N_Vector y = vector_copy(s->y), v = case_disturbed(s, 1);
  ck_assert_int_eq(CPMechSetMetric(s->mech, CP_METRIC_KINETIC), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, with_rank[_i / 2]), CP_SUCCESS);
  ck_assert_msg(CPProjectorProject(P, 0, y, s->ewt) == CP_SUCCESS, "%s", s->log.text);
  ck_assert_double_le(max_distance(y, s->y), 32 * DBL_EPSILON);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  system_A(s, entries(s->y), A);
  system_metric(s, CP_METRIC_KINETIC, 0, entries(s->y), W);
  const double condition = system_lift(s, s->np, A, W, K);
  ck_assert_int_eq(rank, 2 * (s->np - 2)); /* both levels, two windows */
  for (int j = 0; j < s->nu; j++) w[j] = expected[j] = entries(v)[j];
  for (int i = 0; i < s->np; i++)
    for (int k = 0; k < s->nu; k++)
      for (int j = 0; j < s->nu; j++) expected[j] -= K[j + i * s->nu] * A[i + k * s->nv] * w[k];
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0, s->y, s->ewt, v), CP_SUCCESS);
  for (int j = 0; j < s->nu; j++)
    ck_assert_double_le(fabs(entries(v)[j] - expected[j]), 1000 * DBL_EPSILON * condition);
  N_VDestroy(y);
  N_VDestroy(v);
  system_free(&s);
}
END_TEST

TEST_SUITE(initial) {
  Suite *suite = suite_create("initial");
  TCase *tcase = tcase_create("initial");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, rough_guesses_become_consistent, 0, SYSTEMS);
  tcase_add_loop_test(tcase, held_components_stay, 0, SYSTEMS);
  tcase_add_test(tcase, held_quaternions_stay);
  tcase_add_test(tcase, weights_tell_what_moves);
  tcase_add_loop_test(tcase, singular_positions_lose_rank, 0, 6);
  suite_add_tcase(suite, tcase);
  return suite;
}
