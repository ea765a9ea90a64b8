/* Unit norms, 0 = |q| - value: alone, where each can be projected separately, and with other
 * constraints.
 *
 *   min sum_i (x_i - q_i)^2 / D_i  s.t.  |x| = value:
 *   x_i = q_i / (1 + lambda D_i),  lambda > -1 / max D.
 *
 * References solve this by bisection, in extended precision. */
#include <cpodes/cpodes_projector.h>
#include <cpodes/projector/projector_impl.h>
#include <float.h>
#include <math.h>
#include <models/counters.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "support/support.h"

enum { MAX_NORMS = 80, MAX_STATES = 400 };

/* The arrangement of the norms in the state. */
typedef enum { ROW, SIZES, LENGTHS, SPREAD, BACKWARDS, N_LAYOUTS } Layout;

static CPProjector P;
static N_Vector y, start, ewt;
static int *id; /* [n], or NULL */
static CPUnitNorm norms[MAX_NORMS];
static int nnorms, n;
static MessageLog messages;

/* ---- the reference ---- */

/* x_i for nu = 1 + lambda max D > 0; D relative to its maximum */
static long double entry(double q, long double D, long double nu) {
  return q == 0.0 ? 0.0L : q / (1.0L - D + nu * D);
}

static long double square_at(int length, const double *q, const long double *D, long double nu) {
  long double sum = 0.0L;
  for (int i = 0; i < length; i++) sum += entry(q[i], D[i], nu) * entry(q[i], D[i], nu);
  return sum;
}

/* The sum of squares is infinite at nu = 0 and decreases. */
static void nearest(int length, double value, const double *q, long double *D, double *x) {
  const long double square = (long double)value * value;
  long double most = 0.0L, low = 0.0L, high = 1.0L;
  for (int i = 0; i < length; i++)
    if (q[i] != 0.0 && D[i] > most) most = D[i];
  ck_assert(most > 0.0L);
  for (int i = 0; i < length; i++) D[i] /= most;
  while (square_at(length, q, D, high) > square) high *= 2.0L;
  for (int k = 0; k < 300; k++) {
    const long double middle = 0.5L * (low + high);
    if (square_at(length, q, D, middle) > square) low = middle;
    else high = middle;
  }
  for (int i = 0; i < length; i++) x[i] = (double)entry(q[i], D[i], high);
}

/* ---- projectors ---- */

static void put(int first, int length, double value) {
  norms[nnorms++] = (CPUnitNorm){first, length, value};
  if (first + length > n) n = first + length;
}

/* 70 quaternions are two groups of 32 and 6 more. */
static void lay_out(Layout layout) {
  static const int lengths[] = {4, 1, 3, 4, 2, 6, 4, 9};
  nnorms = n = 0;
  switch (layout) {
  case ROW:
    for (int k = 0; k < 70; k++) put(4 * k, 4, 1.0);
    break;
  case SIZES:
    for (int k = 0; k < 70; k++) put(4 * k, 4, 0.5 + 0.1 * k);
    break;
  case LENGTHS:
    for (int k = 0; k < 40; k++) put(n, lengths[k % 8], k % 3 ? 1.0 : 2.5);
    break;
  case SPREAD: /* position and quaternion of each body */
    for (int k = 0; k < 50; k++) put(7 * k + 3, 4, 1.0);
    break;
  default:
    for (int k = 69; k >= 0; k--) put(4 * k, 4, 3.0);
  }
  n += 2; /* behind the last one */
}

/* y on the spheres, weights 1 / (1e-6 |y_i| + 1e-6 i-dependent). */
static void create(CPNorm norm, CPLinSol solver) {
  unsigned long long seed = 5;
  y                       = vector_of(n, NULL);
  ewt                     = vector_of(n, NULL);
  random_fill(y, &seed);
  for (int k = 0; k < nnorms; k++) {
    sunrealtype *q = entries(y) + norms[k].first;
    double square  = 0.0;
    for (int i = 0; i < norms[k].length; i++) square += q[i] * q[i];
    for (int i = 0; i < norms[k].length; i++) q[i] *= norms[k].value / sqrt(square);
  }
  for (int j = 0; j < n; j++)
    entries(ewt)[j] = 1.0 / (1.0e-6 * fabs(entries(y)[j]) + 1.0e-6 * (1.0 + j % 5));
  start = vector_copy(y);
  P     = CPProjectorCreate(NULL, y, NULL, test_context);
  ck_assert_ptr_nonnull(P);
  memset(&messages, 0, sizeof messages);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &messages), CP_SUCCESS);
  for (int k = 0; k < nnorms; k++)
    ck_assert_int_eq(CPProjectorAddUnitNorm(P, norms[k].first, norms[k].length, norms[k].value),
                     CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetNorm(P, norm, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, solver), CP_SUCCESS);
}

static void destroy(void) {
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(start);
  N_VDestroy(ewt);
  free(id);
  id = NULL;
}

/* y <- start off the spheres, each component by up to `drift` of itself. */
static void drift_by(double drift, unsigned long long seed) {
  for (int j = 0; j < n; j++) entries(start)[j] *= 1.0 + drift * random_number(&seed);
  N_VScale(1.0, start, y);
}

static void hold(int first, int length) {
  if (!id) {
    id = malloc((size_t)n * sizeof *id);
    ck_assert_ptr_nonnull(id);
    for (int j = 0; j < n; j++) id[j] = 1;
  }
  for (int i = 0; i < length; i++) id[first + i] = 0;
  ck_assert_int_eq(CPProjectorSetFree(P, id), CP_SUCCESS);
}

static void project(void) {
  const int flag = CPProjectorProject(P, 0.0, y, ewt);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, CPObjectGetLastMessage(CP_OBJECT(P)));
}

static void metric_of(CPNorm norm, int first, int length, long double *D) {
  for (int i = 0; i < length; i++) {
    const long double w = entries(ewt)[first + i];
    D[i]                = norm == CP_NORM_L2 ? 1.0L : 1.0L / (w * w);
    if (id && id[first + i] == 0) D[i] = 0.0L;
  }
}

/* Newton's method with factors of the start moves along D q of the start, to another point, by the
 * square of the correction times the ratio of D's, which is 36 or more. */
static void check_nearest(CPNorm norm, double drift) {
  long double D[MAX_STATES];
  double expected[MAX_STATES];
  for (int k = 0; k < nnorms; k++) {
    const CPUnitNorm *u = &norms[k];
    metric_of(norm, u->first, u->length, D);
    nearest(u->length, u->value, entries(start) + u->first, D, expected);
    for (int i = 0; i < u->length; i++)
      ck_assert_msg(fabs(entries(y)[u->first + i] - expected[i]) <= 100.0 * u->value * drift * drift,
                    "norm %d, component %d: %.17g, nearest %.17g, was %.17g", k, i,
                    entries(y)[u->first + i], expected[i], entries(start)[u->first + i]);
  }
}

static int is_in_norm(int j) {
  for (int k = 0; k < nnorms; k++)
    if (j >= norms[k].first && j < norms[k].first + norms[k].length) return 1;
  return 0;
}

/* ---- the nearest point ---- */

static const CPLinSol solvers[] = {CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_SPARSE};
enum { N_SOLVERS = sizeof solvers / sizeof solvers[0] };

START_TEST(constraints_that_are_all_unit_norms_are_projected_to_the_nearest_point) {
  const CPNorm norm = _i % 2 ? CP_NORM_L2 : CP_NORM_ERROR;
  lay_out((Layout)(_i / 2 % N_LAYOUTS));
  create(norm, solvers[_i / 2 / N_LAYOUTS]);
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-8), CP_SUCCESS);
  drift_by(1.0e-6, 6);
  project();
  check_nearest(norm, 1.0e-6);
  for (int j = 0; j < n; j++)
    if (!is_in_norm(j)) ck_assert_double_eq(entries(y)[j], entries(start)[j]);
  destroy();
}
END_TEST

/* Far from the sphere a point on it is found, but not the nearest one. */
START_TEST(assembling_reaches_the_spheres_from_afar) {
  sunrealtype violation;
  lay_out(_i % 2 ? LENGTHS : ROW);
  create(_i / 2 % 2 ? CP_NORM_L2 : CP_NORM_ERROR, CP_LINSOL_SPARSE);
  drift_by(0.3, 9);
  N_VScale(_i / 4 ? 10.0 : 0.1, start, y);
  ck_assert_int_eq(CPProjectorAssemble(P, 0.0, y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, ewt, &violation, NULL), CP_SUCCESS);
  ck_assert_double_le(violation, CP_EPS_DEFAULT);
  destroy();
}
END_TEST

/* ---- held components ---- */

START_TEST(held_components_stay_and_the_others_are_nearest) {
  const CPNorm norm = _i % 2 ? CP_NORM_L2 : CP_NORM_ERROR;
  lay_out(_i / 2 ? LENGTHS : ROW);
  create(norm, CP_LINSOL_SPARSE);
  for (int k = 0; k < nnorms; k++)
    if (norms[k].length > 1) hold(norms[k].first, norms[k].length / 2);
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-8), CP_SUCCESS);
  drift_by(1.0e-6, 14);
  project();
  check_nearest(norm, 1.0e-6);
  for (int j = 0; j < n; j++)
    if (id[j] == 0) ck_assert_double_eq(entries(y)[j], entries(start)[j]);
  destroy();
}
END_TEST

static void expect_failure(int code, const char *word) {
  ck_assert_int_eq(CPProjectorProject(P, 0.25, y, ewt), code);
  ck_assert_int_eq(messages.count, 1);
  ck_assert_mentions(messages.text, word);
  ck_assert_int_eq(same_bits(y, start), 1);
}

/* The faulty norm is the last but one: all before it could be projected. */
START_TEST(a_norm_whose_components_are_held_fails_and_nothing_moves) {
  lay_out(_i ? LENGTHS : ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  const CPUnitNorm *u = &norms[nnorms - 2];
  char name[64];
  hold(u->first, u->length);
  drift_by(1.0e-2, 15);
  snprintf(name, sizeof name, "components %d to %d", u->first, u->first + u->length - 1);
  expect_failure(-CP_PROJ_INCONSISTENT, name);
  destroy();
}
END_TEST

/* One tolerance is at least 1e-6 in every component, and that is the size of the gradient's unit. */
START_TEST(a_held_norm_within_its_tolerance_is_left_alone) {
  lay_out(ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  hold(4 * 68, 4);
  drift_by(0.0, 15);
  for (int i = 0; i < 4; i++) entries(start)[4 * 68 + i] *= 1.0 + 5.0e-7;
  N_VScale(1.0, start, y);
  project();
  for (int i = 0; i < 4; i++)
    ck_assert_double_eq(entries(y)[4 * 68 + i], entries(start)[4 * 68 + i]);
  destroy();
}
END_TEST

/* ---- no gradient ---- */

/* Alone, and in Newton's method. */
START_TEST(a_norm_that_is_zero_is_named_and_nothing_moves) {
  static const CPLinSol ways[] = {CP_LINSOL_SCHUR, CP_LINSOL_SPARSE};
  lay_out(_i / 2 ? LENGTHS : ROW);
  create(CP_NORM_ERROR, ways[_i % 2]);
  const CPUnitNorm *u = &norms[nnorms - 3];
  char name[64];
  drift_by(1.0e-7, 16);
  for (int i = 0; i < u->length; i++) entries(start)[u->first + i] = 0.0;
  N_VScale(1.0, start, y);
  snprintf(name, sizeof name, "components %d to %d", u->first, u->first + u->length - 1);
  expect_failure(-CP_CNSTRJAC_NONFINITE, name);
  ck_assert_mentions(messages.text, "0.25");
  destroy();
}
END_TEST

START_TEST(after_a_failure_the_next_projection_works) {
  lay_out(ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  drift_by(1.0e-6, 17);
  for (int i = 0; i < 4; i++) entries(y)[4 * 50 + i] = 0.0;
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), -CP_CNSTRJAC_NONFINITE);
  N_VScale(1.0, start, y);
  project();
  check_nearest(CP_NORM_ERROR, 1.0e-5); /* to eps of a tolerance */
  destroy();
}
END_TEST

/* ---- vectors ---- */

/* v - D q (q'v) / (q'D q) */
static void check_tangent(CPNorm norm, N_Vector v, N_Vector projected) {
  long double D[MAX_STATES];
  for (int k = 0; k < nnorms; k++) {
    const CPUnitNorm *u  = &norms[k];
    const sunrealtype *q = entries(y) + u->first, *w = entries(v) + u->first;
    long double qv = 0.0L, qDq = 0.0L;
    metric_of(norm, u->first, u->length, D);
    for (int i = 0; i < u->length; i++) {
      qv += (long double)q[i] * w[i];
      qDq += D[i] * q[i] * q[i];
    }
    for (int i = 0; i < u->length; i++)
      ck_assert_double_eq_tol(entries(projected)[u->first + i],
                              (double)(w[i] - D[i] * q[i] * qv / qDq), 1.0e2 * DBL_EPSILON);
  }
}

/* Sums of up to 9 terms below 10 with D's up to 36 apart: 1e2 u. */
START_TEST(tangent_vectors_lose_their_normal_part) {
  const CPNorm norm       = _i % 2 ? CP_NORM_L2 : CP_NORM_ERROR;
  unsigned long long seed = 18;
  lay_out((Layout)(_i / 2));
  create(norm, CP_LINSOL_SPARSE);
  N_Vector v = vector_of(n, NULL);
  drift_by(1.0e-6, 17);
  project();
  random_fill(v, &seed);
  N_Vector w = vector_copy(v);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, ewt, w), CP_SUCCESS);
  check_tangent(norm, v, w);
  N_VDestroy(v);
  N_VDestroy(w);
  destroy();
}
END_TEST

/* (P v, x) = (v, P^T x). Entries are below 10, and those of P below 36. */
START_TEST(cotangents_are_what_the_transpose_makes) {
  const CPNorm norm       = _i % 2 ? CP_NORM_L2 : CP_NORM_ERROR;
  unsigned long long seed = 19;
  lay_out((Layout)(_i / 2));
  create(norm, CP_LINSOL_AUTO);
  N_Vector v = vector_of(n, NULL), x = vector_copy(v);
  drift_by(1.0e-6, 17);
  project();
  random_fill(v, &seed);
  random_fill(x, &seed);
  N_Vector Pv = vector_copy(v), PTx = vector_copy(x);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, ewt, Pv), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_COTANGENT, 0.0, y, ewt, PTx), CP_SUCCESS);
  ck_assert_double_eq_tol(N_VDotProd(Pv, x), N_VDotProd(v, PTx), 1.0e3 * n * DBL_EPSILON);
  ck_assert_double_gt(N_VMaxNorm(PTx), 0.0);
  N_VDestroy(v);
  N_VDestroy(x);
  N_VDestroy(Pv);
  N_VDestroy(PTx);
  destroy();
}
END_TEST

/* ---- violation, projections only where needed ---- */

START_TEST(the_violation_is_the_distance_in_units_of_the_tolerance) {
  sunrealtype violation;
  sunindextype worst;
  long double gradient = 0.0L, square = 0.0L;
  lay_out(ROW);
  create(_i ? CP_NORM_L2 : CP_NORM_ERROR, CP_LINSOL_SPARSE);
  for (int i = 0; i < 4; i++) entries(y)[4 * 41 + i] *= 1.0 + 1.0e-5;
  const sunrealtype *q = entries(y) + 4 * 41, *w = entries(ewt) + 4 * 41;
  for (int i = 0; i < 4; i++) square += (long double)q[i] * q[i];
  for (int i = 0; i < 4; i++) gradient += q[i] * q[i] / square / w[i] / w[i];
  const double expected = (double)((sqrtl(square) - 1.0L) / sqrtl(gradient));
  ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, ewt, &violation, &worst), CP_SUCCESS);
  ck_assert_int_eq((int)worst, 41);
  /* |q| - 1 = 1e-5 loses 11 digits */
  ck_assert_double_eq_tol(violation, expected, expected * 4.0 * DBL_EPSILON / 1.0e-5);

  destroy();
}
END_TEST

/* With and without a previous query. */
START_TEST(the_norm_that_was_violated_most_is_told) {
  static const int most[] = {0, 41, 63, 64, 69};
  const int k = most[_i % 5], asked = _i / 5 % 2;
  CPProjected result = {.moved = -1};
  lay_out(_i / 10 ? SIZES : ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  for (int j = 0; j < n; j++) entries(y)[j] *= 1.0 + (j / 4 == k ? 1.0e-4 : 1.0e-6);
  ck_assert_int_eq(cpProject(P->work, 0.0, y, ewt, NULL, asked, &result), CP_SUCCESS);
  ck_assert_int_eq(result.moved, 1);
  ck_assert_int_eq(result.worst_start, k);
  ck_assert_double_le(result.violation, CP_EPS_DEFAULT);
  destroy();
}
END_TEST

START_TEST(a_state_within_its_tolerance_is_not_moved_if_the_caller_allows_that) {
  ProjectorCounters stats;
  sunrealtype violation;
  sunindextype worst;
  CPProjected result = {.moved = -1};
  lay_out(_i % 2 ? LENGTHS : ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  if (_i / 2) hold(norms[5].first, 2);
  drift_by(1.0e-8, 19); /* 1e-2 tolerances and less */
  ck_assert_int_eq(cpProject(P->work, 0.0, y, ewt, NULL, 1, &result), CP_SUCCESS);
  ck_assert_int_eq(result.moved, 0);
  ck_assert_int_eq(same_bits(y, start), 1);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nskipped, 1);
  ck_assert_int_eq(stats.niters, 0);
  ck_assert_double_le(result.violation, 2.0e-2);
  ck_assert_double_gt(result.violation, 0.0);
  const sunrealtype measured =
      result.violation; /* the same as by G, whose residuals of 1e-8 lose 8 digits */
  const int which = result.worst_start;
  ck_assert_int_eq(CPProjectorGetViolation(P, 0.0, y, ewt, &violation, &worst), CP_SUCCESS);
  ck_assert_double_eq_tol(measured, violation, measured * 1.0e-6);
  ck_assert_int_eq(which, (int)worst);
  destroy();
}
END_TEST

/* As the integrator calls it, without checking the state before. */
START_TEST(a_state_that_is_not_finite_fails_recoverably) {
  const double bad[] = {NAN, INFINITY, -INFINITY};
  lay_out(_i % 2 ? LENGTHS : ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  for (int only_if_needed = 0; only_if_needed <= 1; only_if_needed++)
    for (int k = 0; k < 3; k++) {
      CPProjected result = {.moved = -1};
      drift_by(1.0e-8, 19);
      entries(y)[9]   = bad[k];
      N_Vector before = vector_copy(y);
      ck_assert_int_eq(cpProject(P->work, 0.0, y, ewt, NULL, only_if_needed, &result),
                       -CP_CNSTR_NONFINITE);
      ck_assert_mentions(P->work->text, "the norm of components");
      ck_assert_int_eq(result.moved, 0);
      ck_assert_int_eq(same_bits(y, before), 1);
      N_VDestroy(before);
    }
  destroy();
}
END_TEST

/* ---- closed forms ---- */

static double residual_of(int k) {
  long double square = 0.0L;
  for (int i = 0; i < norms[k].length; i++)
    square += (long double)entries(y)[norms[k].first + i] * entries(y)[norms[k].first + i];
  return fabs((double)(sqrtl(square) - norms[k].value));
}

/* x = q - mu D q with one mu, here that of the component that moves most. Sums of up to 9 squares, a root that is at least half of
 * m_1, and the products leave 20 roundings of |q| at most. */
START_TEST(far_norms_alone_move_along_D_q_onto_their_spheres) {
  const CPNorm norm = _i % 2 ? CP_NORM_L2 : CP_NORM_ERROR;
  ProjectorCounters stats;
  long double D[MAX_STATES];
  sunindextype rank;
  lay_out((Layout)(_i / 2));
  create(norm, CP_LINSOL_AUTO);
  drift_by(0.01, 31);
  project();
  for (int k = 0; k < nnorms; k++) {
    const int first = norms[k].first, length = norms[k].length;
    const sunrealtype *x = entries(y) + first, *q = entries(start) + first;
    long double mu = 0.0L, most = 0.0L;
    metric_of(norm, first, length, D);
    ck_assert_double_le(residual_of(k), 20.0 * DBL_EPSILON * norms[k].value);
    for (int i = 0; i < length; i++)
      if (D[i] * fabs(q[i]) > most) most = D[i] * fabs(q[i]), mu = (q[i] - x[i]) / (D[i] * q[i]);
    for (int i = 0; i < length; i++)
      ck_assert_double_eq_tol(x[i], (double)(q[i] - mu * D[i] * q[i]),
                              20.0 * DBL_EPSILON * norms[k].value);
  }
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.niters, 1);
  ck_assert_int_eq(stats.nje, 0); /* no factors */
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq((int)rank, nnorms);
  destroy();
}
END_TEST

/* One norm, among many near ones, lies where digits would be lost: the iteration takes all of them. */
START_TEST(a_norm_without_a_closed_form_leaves_all_to_the_iteration) {
  static const double factors[] = {1.0e-3, 5.0, 1.0e3};
  ProjectorCounters stats;
  lay_out(_i % 2 ? SPREAD : ROW);
  create(CP_NORM_L2, CP_LINSOL_AUTO);
  drift_by(1.0e-6, 32);
  for (int i = 0; i < 4; i++) entries(y)[norms[40].first + i] *= factors[_i / 2];
  project();
  for (int k = 0; k < nnorms; k++) ck_assert_double_le(residual_of(k), CP_EPS_DEFAULT * 1.0e-5);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nje > 0, factors[_i / 2] > 1.0); /* From inside D = I has a closed form. */
  destroy();
}
END_TEST

/* Roundoff of |q| is a hundred tolerances: reached, and counted. */
START_TEST(a_tolerance_below_roundoff_is_no_failure_of_norms_alone) {
  ProjectorCounters stats;
  double largest = 0.0;
  lay_out(_i % 2 ? LENGTHS : ROW);
  create(_i / 2 ? CP_NORM_L2 : CP_NORM_ERROR, CP_LINSOL_AUTO);
  N_VConst(1.0e18, ewt);
  drift_by(1.0e-10, 33);
  project();
  for (int k = 0; k < nnorms; k++) largest = fmax(largest, residual_of(k) / norms[k].value);
  ck_assert_double_le(largest, 20.0 * DBL_EPSILON);
  ck_assert_int_eq(projector_counters(P, &stats), CP_SUCCESS);
  ck_assert_int_eq(stats.nfloor, 1);
  destroy();
}
END_TEST

/* An integrator's own workspace gets weights that no public call has looked at. */
START_TEST(weights_of_an_integrator_are_checked) {
  static const double bad[] = {0.0, -1.0e6, NAN, INFINITY, -INFINITY, 1.0e-200};
  CPProjected result;
  CPWork work;
  lay_out(_i % 2 ? SPREAD : ROW);
  create(_i / 2 ? CP_NORM_L2 : CP_NORM_ERROR, CP_LINSOL_AUTO);
  ck_assert_int_eq(cpWorkCreate(&work, P), CP_SUCCESS);
  drift_by(1.0e-6, 34);
  for (int k = 0; k < 6; k++) {
    const double good             = entries(ewt)[norms[45].first];
    entries(ewt)[norms[45].first] = bad[k];
    ck_assert_int_eq(cpProject(work, 0.0, y, ewt, NULL, 0, &result), CP_ILL_INPUT);
    ck_assert_mentions(work->text, "ewt must be");
    ck_assert_int_eq(same_bits(y, start), 1);
    entries(ewt)[norms[45].first] = good;
  }
  ck_assert_int_eq(cpProject(work, 0.0, y, ewt, NULL, 0, &result), CP_SUCCESS);
  cpWorkFree(&work);
  destroy();
}
END_TEST

/* ---- not alone ---- */

/* c = y_0 - y_4: shares components with two of the norms. */
static int difference(sunrealtype t, N_Vector state, N_Vector c, void *user_data) {
  (void)t;
  (void)user_data;
  entries(c)[0] = entries(state)[0] - entries(state)[4];
  return 0;
}

/* Stationarity with another constraint: (x - q) / D = -G'mu with the three gradients. Their
 * multipliers follow from the three components that each has alone or shares, so this is checked as
 * P (x - q) = 0  by the tangent projector of the result, which is linear and checked above for
 * norms. The error is that of Newton's method with the factors of the start, the square of the
 * correction. */
static void check_stationary(double bound) {
  N_Vector d = vector_copy(y);
  N_VLinearSum(1.0, y, -1.0, start, d);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, 0.0, y, ewt, d), CP_SUCCESS);
  ck_assert_double_le(N_VMaxNorm(d), bound);
  N_VDestroy(d);
}

START_TEST(norms_and_other_constraints_hold_together) {
  static const CPLinSol ways[] = {CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_SPARSE, CP_LINSOL_AUTO};
  sunindextype rank;
  lay_out(ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  CPProjectorFree(&P);
  N_Vector c = vector_of(1, NULL);
  P          = CPProjectorCreate(difference, y, c, test_context);
  for (int k = 0; k < 3; k++) CPProjectorAddUnitNorm(P, 4 * k, 4, 1.0);
  ck_assert_int_eq(CPProjectorSetLinearSolver(P, ways[_i]), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-6), CP_SUCCESS);
  for (int k = 0; k < 2; k++) { /* both quaternions begin with the same component */
    entries(start)[4 * k]     = 0.5;
    entries(start)[4 * k + 1] = k ? 0.1 : 0.5;
    entries(start)[4 * k + 2] = k ? -0.7 : -0.5;
    entries(start)[4 * k + 3] = 0.5;
  }
  drift_by(1.0e-6, 20);
  project();
  ck_assert_double_le(fabs(entries(y)[0] - entries(y)[4]), 1.0e-11); /* eps times 1e-5 */
  for (int k = 0; k < 3; k++) ck_assert_double_le(residual_of(k), 1.0e-11);
  ck_assert_double_le(residual_of(2), 1.0e-11);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq((int)rank, 4);
  N_VDestroy(c);
  destroy();
}
END_TEST

/* Two norms of three components each, of which they share two. */
START_TEST(norms_that_share_components_hold_together) {
  sunindextype rank;
  nnorms = n = 0;
  put(0, 3, 1.0);
  put(1, 3, 1.0);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  const sunrealtype point[] = {0.6, 0.48, 0.64, -0.6};
  memcpy(entries(start), point, sizeof point);
  drift_by(1.0e-6, 21);
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-6), CP_SUCCESS);
  project();
  for (int k = 0; k < 2; k++) ck_assert_double_le(residual_of(k), 1.0e-11);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq((int)rank, 2);
  check_stationary(1.0e-10);
  destroy();
}
END_TEST

static int out_of_reach(sunrealtype t, N_Vector state, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  entries(c)[0] = entries(state)[0] - 3.0; /* not on the unit sphere */
  return 0;
}

/* From inside the sphere the iteration ends with both violated; a norm has no index in c. */
START_TEST(assembling_names_a_norm_by_its_components) {
  nnorms = n = 0;
  put(0, 4, 1.0);
  create(CP_NORM_L2, CP_LINSOL_AUTO);
  CPProjectorFree(&P);
  N_Vector c = VECTOR(0.0);
  P          = CPProjectorCreate(out_of_reach, y, c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorAddUnitNorm(P, 0, 4, 1.0), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorAssemble(P, 0.0, y, ewt), CP_IC_FAIL);
  ck_assert_mentions(messages.text, "the norm of components 0 to 3 (");
  N_VDestroy(c);
  destroy();
}
END_TEST

/* The same norm twice: one depends on the other. */
START_TEST(a_norm_given_twice_counts_once) {
  sunindextype rank;
  nnorms = n = 0;
  put(0, 4, 1.0);
  put(0, 4, 1.0);
  put(4, 4, 1.0);
  create(CP_NORM_L2, CP_LINSOL_SPARSE);
  drift_by(1.0e-6, 22);
  ck_assert_int_eq(CPProjectorSetEps(P, 1.0e-6), CP_SUCCESS);
  project();
  for (int k = 0; k < 3; k++) ck_assert_double_le(residual_of(k), 1.0e-11);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq((int)rank, 2);
  destroy();
}
END_TEST

/* ---- input ---- */

#define LARGEST ((sunindextype)(sizeof(sunindextype) == 8 ? INT64_MAX : INT32_MAX))

static const struct {
  sunindextype first, length;
  sunrealtype value;
  const char *word;
} bad[] = {
    {-1, 4, 1.0, "first = -1"},    {0, 0, 1.0, "length = 0"},     {0, -4, 1.0, "length = -4"},
    {279, 4, 1.0, "first = 279"},  {0, 283, 1.0, "length = 283"}, {4, 4, 0.0, "value = 0"},
    {4, 4, -1.0, "value = -1"},    {4, 4, NAN, "value = "},       {4, 4, INFINITY, "value = inf"},
    {4, LARGEST, 1.0, "length ="}, {LARGEST, 4, 1.0, "first ="}};
enum { N_BAD = sizeof bad / sizeof bad[0] };

START_TEST(bad_norms_are_refused_and_change_nothing) {
  lay_out(ROW);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  ck_assert_int_eq(CPProjectorAddUnitNorm(P, bad[_i].first, bad[_i].length, bad[_i].value),
                   CP_ILL_INPUT);
  ck_assert_int_eq(messages.count, 1);
  ck_assert_mentions(messages.text, bad[_i].word);
  drift_by(1.0e-6, 23);
  project();
  check_nearest(CP_NORM_ERROR, 1.0e-5); /* to eps of a tolerance */
  destroy();
}
END_TEST

/* Every entry of y and of ewt may be the bad one. */
START_TEST(entries_that_are_not_finite_or_not_positive_are_found_anywhere) {
  static const double not_finite[] = {NAN, INFINITY, -INFINITY},
                      refused[]    = {0.0, -0.0, -1.0, -1.0e-310, NAN, INFINITY, -INFINITY};
  lay_out(SIZES);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  for (int j = 0; j < n; j++) {
    char name[32];
    const double good = entries(y)[j], weight = entries(ewt)[j];
    entries(y)[j] = not_finite[j % 3];
    snprintf(name, sizeof name, "y[%d]", j);
    ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_ILL_INPUT);
    ck_assert_mentions(messages.text, name);
    entries(y)[j]   = good;
    entries(ewt)[j] = refused[j % 7];
    snprintf(name, sizeof name, "ewt[%d]", j);
    ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_ILL_INPUT);
    ck_assert_mentions(messages.text, name);
    entries(ewt)[j] = weight;
  }
  destroy();
}
END_TEST

START_TEST(projecting_allocates_nothing) {
  lay_out((Layout)_i);
  create(CP_NORM_ERROR, CP_LINSOL_SPARSE);
  project();
  drift_by(1.0e-3, 24);
  alloc_watch();
  const int flag = CPProjectorProject(P, 0.0, y, ewt);
  alloc_unwatch();
  ck_assert_int_eq(flag, CP_SUCCESS);
  ck_assert_int_eq(alloc_count(), 0);
  destroy();
}
END_TEST

TEST_SUITE(norms) {
  Suite *suite = suite_create("norms");
  TCase *tc    = tcase_create("norms");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, constraints_that_are_all_unit_norms_are_projected_to_the_nearest_point, 0,
                      2 * N_LAYOUTS * N_SOLVERS);
  tcase_add_loop_test(tc, assembling_reaches_the_spheres_from_afar, 0, 8);
  tcase_add_loop_test(tc, held_components_stay_and_the_others_are_nearest, 0, 4);
  tcase_add_loop_test(tc, a_norm_whose_components_are_held_fails_and_nothing_moves, 0, 2);
  tcase_add_test(tc, a_held_norm_within_its_tolerance_is_left_alone);
  tcase_add_loop_test(tc, a_norm_that_is_zero_is_named_and_nothing_moves, 0, 4);
  tcase_add_test(tc, after_a_failure_the_next_projection_works);
  tcase_add_loop_test(tc, tangent_vectors_lose_their_normal_part, 0, 2 * N_LAYOUTS);
  tcase_add_loop_test(tc, cotangents_are_what_the_transpose_makes, 0, 2 * N_LAYOUTS);
  tcase_add_loop_test(tc, the_violation_is_the_distance_in_units_of_the_tolerance, 0, 2);
  tcase_add_loop_test(tc, the_norm_that_was_violated_most_is_told, 0, 20);
  tcase_add_loop_test(tc, a_state_that_is_not_finite_fails_recoverably, 0, 2);
  tcase_add_loop_test(tc, a_state_within_its_tolerance_is_not_moved_if_the_caller_allows_that, 0, 4);
  tcase_add_loop_test(tc, far_norms_alone_move_along_D_q_onto_their_spheres, 0, 2 * N_LAYOUTS);
  tcase_add_loop_test(tc, a_norm_without_a_closed_form_leaves_all_to_the_iteration, 0, 6);
  tcase_add_loop_test(tc, a_tolerance_below_roundoff_is_no_failure_of_norms_alone, 0, 4);
  tcase_add_loop_test(tc, weights_of_an_integrator_are_checked, 0, 4);
  tcase_add_loop_test(tc, norms_and_other_constraints_hold_together, 0, 4);
  tcase_add_test(tc, norms_that_share_components_hold_together);
  tcase_add_test(tc, assembling_names_a_norm_by_its_components);
  tcase_add_test(tc, a_norm_given_twice_counts_once);
  tcase_add_loop_test(tc, bad_norms_are_refused_and_change_nothing, 0, N_BAD);
  tcase_add_test(tc, entries_that_are_not_finite_or_not_positive_are_found_anywhere);
  tcase_add_loop_test(tc, projecting_allocates_nothing, 0, N_LAYOUTS);
  suite_add_tcase(suite, tc);
  return suite;
}
