/* User-supplied kinematics, q' = N(q) u with CPFixedNorm, for systems whose quaternions
 * CPQuaternion handles as well: the same accelerations, projections, initial states and
 * trajectories. */
#include "mechanics/cases.h"
#include "support/mech_run.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const SystemName names[] = {BODIES, BODIES_IN_SPACE, SPATIAL_LOOP};
enum { NAMES = sizeof names / sizeof names[0] };

/* The system with the user's N, whose functions have their own user_data. */
static System *s;
static CPMech mech;
static MessageLog messages;

/* q' = E w / 2: body q o (0, w), world (0, w) o q. E^T E = |q|^2 I */
static void columns(const sunrealtype *q, double E[4][3]) {
  const double v       = s->frame == CP_FRAME_BODY ? 1 : -1; /* sign of v x w */
  const double e[4][3] = {{-q[1], -q[2], -q[3]},
                          {q[0], -v * q[3], v * q[2]},
                          {v * q[3], q[0], -v * q[1]},
                          {-v * q[2], v * q[1], q[0]}};
  memcpy(E, e, sizeof e);
}

static void quaternion_times(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x,
                             sunrealtype *y) {
  double E[4][3], norm2 = 0;
  columns(q, E);
  for (int i = 0; i < 4; i++) norm2 += q[i] * q[i];
  const int to_q      = what == CP_N || what == CP_N_INVERSE_TRANSPOSE;
  const double factor = what == CP_N || what == CP_N_TRANSPOSE ? 0.5 : 2 / norm2;
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 3; k++) {
      if (to_q) y[i] += factor * E[i][k] * x[k];
      else y[k] += factor * E[i][k] * x[i];
    }
}

/* Products N x but those with a single e_j, by which N itself is measured. */
static struct {
  int count, repeated;
  sunrealtype last[MAX_U];
} moves;

static void note_move(const sunrealtype *x) {
  const size_t size = (size_t)s->nu * sizeof *x;
  int nonzero       = 0;
  for (int j = 0; j < s->nu; j++) nonzero += x[j] != 0;
  if (nonzero == 1) return;
  moves.repeated += moves.count++ > 0 && !memcmp(moves.last, x, size);
  memcpy(moves.last, x, size);
}

/* Coordinates and velocities outside quaternions correspond in their order. */
static int kinematics(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x,
                      sunrealtype *y, void *data) {
  const int to_q = what == CP_N || what == CP_N_INVERSE_TRANSPOSE;
  int i = 0, j = 0;
  (void)data;
  if (what == CP_N) note_move(x);
  for (int k = 0; k <= s->nquaternions; k++) {
    const int end = k < s->nquaternions ? s->first_q[k] : s->nq;
    for (; i < end; i++, j++) {
      if (to_q) y[i] = x[j];
      else y[j] = x[i];
    }
    if (k == s->nquaternions) break;
    quaternion_times(q + i, what, x + (to_q ? j : i), y + (to_q ? i : j));
    i += 4, j += 3;
  }
  return 0;
}

static CPEquations model_of_user(void) {
  static CPFixedNorm norms[3];
  CPEquations model = s->model;
  model.N           = kinematics;
  model.quaternions = NULL, model.nquaternions = 0;
  model.norms = norms, model.nnorms = s->nquaternions;
  for (int k = 0; k < s->nquaternions; k++) norms[k] = (CPFixedNorm){s->first_q[k], 4, 1};
  return model;
}

static void create(int index) {
  s                       = system_create(names[index]);
  const CPEquations model = model_of_user();
  mech                    = create_mech(&model, s->y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetUserData(mech, s->user_data), CP_SUCCESS);
}

static void destroy(void) {
  CPMechFree(&mech);
  system_free(&s);
}

/* The same operations in another order: the bound is roundoff times the condition of A W^-1 A^T. */
static double roundoff(CPMechMetric metric) {
  double A[MAX_ROWS * MAX_U], W[MAX_U * MAX_U], K[MAX_ROWS * MAX_U];
  system_A(s, entries(s->y), A);
  system_metric(s, metric, 0, entries(s->y), W);
  return 1000 * DBL_EPSILON * system_lift(s, s->np, A, W, K);
}

START_TEST(accelerations_are_those_with_quaternions) {
  sunrealtype udot[2][MAX_U], lambda[2][MAX_ROWS];
  create(_i);
  ck_assert_int_eq(CPMechAccelerations(s->mech, s->t, s->y, udot[0], lambda[0]), CP_SUCCESS);
  ck_assert_msg(CPMechAccelerations(mech, s->t, s->y, udot[1], lambda[1]) == CP_SUCCESS, "%s",
                messages.text);
  /* b by differences of v, accurate to 1e-12 (member time of CPEquations), whose steps are the same */
  const double bound = 1e-12 / DBL_EPSILON * roundoff(CP_METRIC_KINETIC) / 1000;
  for (int j = 0; j < s->nu; j++)
    ck_assert_double_le(fabs(udot[0][j] - udot[1][j]), bound * (1 + fabs(udot[0][j])));
  destroy();
}
END_TEST

#define DISTURBED 1e-3

/* With equal weights of a quaternion's coordinates, for which both measure its rotations alike.
 * Roundoff decides which of dependent rows are left out, which changes the result to second order. */
START_TEST(projections_are_those_with_quaternions) {
  const CPMechMetric kinds[] = {CP_METRIC_ERROR, CP_METRIC_KINETIC, CP_METRIC_L2};
  for (int k = 0; k < 3; k++) {
    create(_i);
    N_Vector y[2], v[2];
    const CPMech both[] = {s->mech, mech};
    N_VConst(1e6, s->ewt);
    y[0] = case_disturbed(s, DISTURBED);
    system_normalise(s, entries(y[0]));
    y[1] = vector_copy(y[0]);
    v[0] = case_disturbed(s, 1);
    v[1] = vector_copy(v[0]);
    for (int i = 0; i < 2; i++) {
      CPProjector P = CPMechGetProjector(both[i]);
      ck_assert_int_eq(CPMechSetMetric(both[i], kinds[k]), CP_SUCCESS);
      ck_assert_msg(CPProjectorProject(P, s->t, y[i], s->ewt) == CP_SUCCESS, "%s", messages.text);
      ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, s->t, y[i], s->ewt, v[i]),
                       CP_SUCCESS);
    }
    const double bound = s->redundant ? s->nu * DISTURBED * DISTURBED : roundoff(kinds[k]);
    ck_assert_double_le(max_distance(y[0], y[1]), bound * (1 + N_VMaxNorm(y[0])));
    ck_assert_double_le(max_distance(v[0], v[1]), bound * (1 + N_VMaxNorm(v[0])));
    ck_assert_double_gt(max_distance(y[0], s->y), 1e-6);
    for (int i = 0; i < 2; i++) N_VDestroy(y[i]), N_VDestroy(v[i]);
    destroy();
  }
}
END_TEST

/* Residuals need the positions of each x, factors those of the first, and the result those of the last
 * one. */
START_TEST(a_projection_forms_the_positions_of_each_x_once) {
  create(_i);
  N_VConst(1e6, s->ewt);
  N_Vector y = case_disturbed(s, DISTURBED);
  system_normalise(s, entries(y));
  memset(&moves, 0, sizeof moves);
  ck_assert_msg(CPProjectorProject(CPMechGetProjector(mech), s->t, y, s->ewt) == CP_SUCCESS, "%s",
                messages.text);
  ck_assert_int_gt(moves.count, 0);
  ck_assert_int_eq(moves.repeated, 0);
  N_VDestroy(y);
  destroy();
}
END_TEST

START_TEST(norms_are_told_and_restored) {
  CPMechOutput out = CP_INIT(CPMechOutput);
  create(_i);
  N_Vector y = case_disturbed(s, 1e-3);
  ck_assert_int_eq(CPMechEvaluate(mech, s->t, y, &out), CP_SUCCESS);
  ck_assert_double_gt(out.norms, 1e-6);
  ck_assert_double_eq_tol(out.norms, system_norms(s, entries(y)), 4 * DBL_EPSILON);
  ck_assert_int_eq(CPProjectorProject(CPMechGetProjector(mech), s->t, y, s->ewt), CP_SUCCESS);
  ck_assert_double_le(system_norms(s, entries(y)), 4 * DBL_EPSILON);
  ck_assert_int_eq(CPMechEvaluate(mech, s->t, y, &out), CP_SUCCESS);
  ck_assert_double_le(out.norms, 4 * DBL_EPSILON);
  N_VDestroy(y);
  destroy();
}
END_TEST

/* A velocity that moves a held coordinate is held itself: here all rotations of one body. */
START_TEST(coordinates_of_a_norm_are_held_together) {
  create(0);
  N_Vector id = vector_of(s->n, NULL), y = case_disturbed(s, 1e-3), start = vector_copy(y);
  N_VConst(1, id);
  entries(id)[4] = 0;
  system_normalise(s, entries(start));
  ck_assert_msg(CPMechCalcIC(mech, s->t, y, NULL, id, NULL, NULL) == CP_SUCCESS, "%s",
                messages.text);
  for (int i = 3; i < 7; i++)
    ck_assert_double_le(fabs(entries(y)[i] - entries(start)[i]), 2 * DBL_EPSILON);
  CPMechOutput out = CP_INIT(CPMechOutput);
  ck_assert_int_eq(CPMechEvaluate(mech, s->t, y, &out), CP_SUCCESS);
  ck_assert_double_le(out.position, 1e-10 * fmax(1, N_VMaxNorm(y)) * 4); /* |row of A| < 4 */
  ck_assert_double_gt(max_distance(y, start), 1e-6);
  N_VDestroy(id);
  N_VDestroy(y);
  N_VDestroy(start);
  destroy();
}
END_TEST

/* The joint's body swings like a pendulum, for less than a period: errors grow about tenfold. */
START_TEST(trajectories_are_those_with_quaternions) {
  const sunrealtype end = 0.5, tol = 1e-8, growth = 10;
  create(_i / 2);
  const CPEquations model = model_of_user();
  MechRun *run[2]         = {mech_run_create(&s->model, s->user_data, entries(s->y)),
                             mech_run_create(&model, s->user_data, entries(s->y))};
  for (int k = 0; k < 2; k++) {
    mech_run_start(run[k], _i % 2 ? CV_ADAMS : CV_BDF, tol);
    mech_run_to(run[k], end);
    ck_assert_double_le(system_norms(s, entries(run[k]->y)), 4 * DBL_EPSILON);
  }
  const sunrealtype size = N_VMaxNorm(run[0]->y);
  ck_assert_double_le(mech_run_error(run[1], s->n, entries(run[0]->y)),
                      mech_run_bound(run[0], size, growth) + mech_run_bound(run[1], size, growth));
  ck_assert_int_le(mech_run_steps(run[1]), 2 * mech_run_steps(run[0])); /* Newton's matrix is right */
  for (int k = 0; k < 2; k++) mech_run_free(&run[k]);
  destroy();
}
END_TEST

/* Coordinates and velocities may be in any order, provided that they are separate. */
START_TEST(quaternions_may_be_in_any_order) {
  create(0);
  const CPQuaternion *of = s->model.quaternions;
  ck_assert_int_eq(s->model.nquaternions, 2);
  const CPQuaternion swapped[] = {of[1], of[0]};
  sunrealtype udot[2][MAX_U];
  CPEquations model = s->model;
  model.quaternions = swapped;
  CPMechFree(&mech);
  mech = create_mech(&model, s->y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, s->user_data), CP_SUCCESS);
  ck_assert_int_eq(CPModelGetEquations(CPMechGetModel(mech))->quaternions[0].first_q, of[0].first_q);
  ck_assert_int_eq(CPMechAccelerations(s->mech, s->t, s->y, udot[0], NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(mech, s->t, s->y, udot[1], NULL), CP_SUCCESS);
  ck_assert_mem_eq(udot[0], udot[1], (size_t)s->nu * sizeof **udot);
  destroy();
}
END_TEST

/* Half turns have only one nonzero entry. */
START_TEST(half_turns_are_quaternions) {
  create(0);
  CPMechFree(&mech);
  mech = create_mech(&s->model, s->y, test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, s->user_data), CP_SUCCESS);
  for (int i = 0; i < 4; i++) entries(s->y)[s->first_q[0] + i] = i == _i;
  CPMechOutput out = CP_INIT(CPMechOutput);
  ck_assert_int_eq(CPMechEvaluate(mech, s->t, s->y, &out), CP_SUCCESS);
  ck_assert_double_le(out.norms, 1.0e-12);
  destroy();
}
END_TEST

/* Projections report a state there that cannot be normalised. */
START_TEST(norm_of_zero_is_named) {
  create(0);
  N_Vector y = vector_copy(s->y), before;
  for (int i = 0; i < 4; i++) entries(y)[s->first_q[0] + i] = 0;
  before         = vector_copy(y);
  const int flag = CPMechCalcIC(mech, s->t, y, NULL, NULL, NULL, NULL);
  ck_assert_msg(flag == CP_QUATERNION_ZERO, "%d, %s", flag, messages.text);
  ck_assert_mentions(messages.text, "coordinates 3 to 6");
  ck_assert(same_bits(y, before));
  N_VDestroy(y);
  N_VDestroy(before);
  destroy();
}
END_TEST

TEST_SUITE(kinematics) {
  Suite *suite = suite_create("mechanics/kinematics");
  TCase *tc    = tcase_create("kinematics");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, accelerations_are_those_with_quaternions, 0, NAMES);
  tcase_add_loop_test(tc, projections_are_those_with_quaternions, 0, NAMES);
  tcase_add_loop_test(tc, a_projection_forms_the_positions_of_each_x_once, 0, NAMES);
  tcase_add_loop_test(tc, norms_are_told_and_restored, 0, NAMES);
  tcase_add_test(tc, coordinates_of_a_norm_are_held_together);
  tcase_add_loop_test(tc, trajectories_are_those_with_quaternions, 0, 2 * NAMES);
  tcase_add_test(tc, quaternions_may_be_in_any_order);
  tcase_add_loop_test(tc, half_turns_are_quaternions, 0, 4);
  tcase_add_test(tc, norm_of_zero_is_named);
  suite_add_tcase(suite, tc);
  return suite;
}
