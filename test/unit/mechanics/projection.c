/* Projections of the states of mechanical systems: every mechanism of systems.h, in every metric,
 * by every solver of the projector, against the model's functions.
 *
 * In the space of velocities a projection from x0 is x1 = x0 + delta with c(x1) = 0 and, since G is
 * kept while the state is near, delta in range(D G^T) with G of the start. If positions and
 * velocities share their factors, both use G of the positions' start. */
#include "mechanics/cases.h"

#include <float.h>
#include <math.h>
#include <models/counters.h>

/* ---- on the manifold ---- */

/* The relative change of A in a disturbance of this size is a small multiple of the size: units,
 * which are those of the start, are known to a tenth; KRYLOV's are estimates, good to a quarter. */
static const double DISTURBANCE = 1e-3;
static double units_known(const Case *c) { return !c->s->model.M ? 1.1 * 1.25 : 1.1; }

/* |p_i|, |v_i| <= eps in units of the tolerance, which is what SetEps promises; norms to roundoff:
   squares, sum, root, quotient. */
static void is_on_manifold(const Case *c, N_Vector y, double eps) {
  const System *s = c->s;
  double A[MAX_ROWS * MAX_U], unit[MAX_ROWS], residual[MAX_ROWS];
  system_A(s, entries(y), A);
  for (int velocities = 0; velocities < 2; velocities++) {
    system_units(s, velocities, A, unit);
    if (velocities) system_v(s, entries(y), entries(y) + s->nq, residual);
    else system_p(s, entries(y), residual);
    for (int i = 0; i < (velocities ? s->nv : s->np); i++)
      case_no_larger(c, velocities ? "v" : "p", i, residual[i], units_known(c) * eps * unit[i]);
  }
  case_no_larger(c, "norm", 0, system_norms(s, entries(y)), 4 * DBL_EPSILON);
}

START_TEST(projected_states_satisfy_their_constraints) {
  FOR_CASES(c, _i, SOLVERS) {
    sunrealtype norm;
    sunindextype worst;
    N_Vector y = case_disturbed(c.s, DISTURBANCE);
    ck_assert_int_eq(CPProjectorGetViolation(c.P, c.s->t, y, c.s->ewt, &norm, &worst), CP_SUCCESS);
    ck_assert_msg(norm > 1, "%s: nothing to do", c.name);
    case_project(&c, y);
    is_on_manifold(&c, y, CP_EPS_DEFAULT);
    ck_assert_int_eq(CPProjectorGetViolation(c.P, c.s->t, y, c.s->ewt, &norm, &worst), CP_SUCCESS);
    case_no_larger(&c, "violation", 0, norm, units_known(&c) * CP_EPS_DEFAULT);
    ck_assert_double_eq(CP_EPS_DEFAULT, 0.1);
    N_VDestroy(y);
  }
}
END_TEST

/* The second projection moves the state by K r, and by the remainder after corrections that
 * contract; residuals of the first are at most eps, and those of v change with the positions.
 * Roundoff: of the terms of residuals (64 u), weighted by K. */
START_TEST(projecting_twice_moves_nothing) {
  const double eps = 1e-5;
  FOR_CASES(c, _i, SOLVERS) {
    const System *s = c.s;
    double A[MAX_ROWS * MAX_U], K[MAX_ROWS * MAX_U], V[MAX_ROWS * MAX_U], W[MAX_U * MAX_U];
    double unit[MAX_ROWS], w[MAX_U] = {0}, bound[MAX_U] = {0};
    N_Vector y = case_disturbed(s, DISTURBANCE);
    ck_assert_int_eq(CPProjectorSetEps(c.P, eps), CP_SUCCESS);
    case_project(&c, y);
    N_Vector once = vector_copy(y);
    case_project(&c, y);
    system_A(s, entries(y), A);
    system_V(s, entries(y), V);
    for (int velocities = 0; velocities < 2; velocities++) {
      const int rows = velocities ? s->nv : s->np;
      system_metric(s, c.metric, velocities, entries(y), W);
      system_lift(s, rows, A, W, K);
      system_units(s, velocities, A, unit);
      for (int i = 0; i < rows; i++) {
        const double *x = entries(once) + (velocities ? s->nq : 0);
        double residual = eps * unit[i];
        for (int j = 0; j < s->nu; j++) {
          residual += 64 * DBL_EPSILON * fabs(A[i + j * s->nv]) * (1 + fabs(x[j]));
          if (velocities) residual += fabs(V[i + j * s->nv]) * bound[j];
        }
        unit[i] = residual;
      }
      if (!velocities) system_displacement(s, entries(once), entries(y), w);
      else
        for (int j = 0; j < s->nu; j++) w[j] = entries(y)[s->nq + j] - entries(once)[s->nq + j];
      for (int j = 0; j < s->nu; j++) {
        bound[j] = 0;
        for (int i = 0; i < rows; i++)
          bound[j] += units_known(&c) * fabs(K[j + i * s->nu]) * unit[i];
      }
      for (int j = 0; j < s->nu; j++)
        case_no_larger(&c, velocities ? "move of u" : "move of w", j, w[j], bound[j]);
    }
    N_VDestroy(once);
    N_VDestroy(y);
  }
}
END_TEST

/* ---- the nearest point ---- */

/* x - K A x for x [nu], and the size of its terms */
static void normal_free(const System *s, int rows, const double *A, const double *K,
                        const double *x, double *rest, double *size) {
  for (int j = 0; j < s->nu; j++) rest[j] = x[j], size[j] = fabs(x[j]);
  for (int i = 0; i < rows; i++) {
    double Ax = 0, terms = 0;
    for (int j = 0; j < s->nu; j++) {
      Ax += A[i + j * s->nv] * x[j];
      terms += fabs(A[i + j * s->nv] * x[j]);
    }
    for (int j = 0; j < s->nu; j++) {
      rest[j] -= K[j + i * s->nu] * Ax;
      size[j] += fabs(K[j + i * s->nu]) * terms;
    }
  }
}

/* delta = D G^T mu to roundoff, level by level: the roundoff of x (which affects a small delta) and
 * of the condition of both sides' factorisations. The disturbance is below the ten tolerances
 * beyond which factors are computed anew for the velocities. AUTO tries Cholesky factors on
 * dependent rows first. */
START_TEST(corrections_are_along_the_normals_of_the_metric) {
  FOR_CASES(c, _i, SOLVERS) {
    const System *s = c.s;
    double A[MAX_ROWS * MAX_U], K[MAX_ROWS * MAX_U], W[MAX_U * MAX_U];
    double w[MAX_U], rest[MAX_U], size[MAX_U], moved[MAX_U];
    ProjectorCounters stats;
    N_Vector y = case_disturbed(s, DISTURBANCE / 1000), start = vector_copy(y);
    case_project(&c, y);
    ck_assert_int_eq(projector_counters(c.P, &stats), CP_SUCCESS);
    if (s->model.M && !s->redundant)
      ck_assert_msg(stats.nsetups == (s->np == 0 || case_is_shared(&c) ? 1 : 2),
                    "%s: %ld factorisations", c.name, stats.nsetups);
    system_normalise(s, entries(start));
    for (int velocities = 0; velocities < 2; velocities++) {
      const int rows       = velocities ? s->nv : s->np;
      const sunrealtype *q = entries(velocities && !case_is_shared(&c) ? y : start);
      if (rows == 0) continue;
      system_A(s, q, A);
      system_metric(s, c.metric, velocities, q, W);
      const double condition = system_lift(s, rows, A, W, K);
      if (!velocities) system_displacement(s, entries(start), entries(y), w);
      else
        for (int j = 0; j < s->nu; j++) w[j] = entries(y)[s->nq + j] - entries(start)[s->nq + j];
      normal_free(s, rows, A, K, w, rest, size);
      for (int j = 0; j < s->nu; j++) moved[j] = 1 + fabs(entries(start)[s->nq * velocities + j]);
      double largest = 0, roundoff = 0;
      for (int j = 0; j < s->nu; j++)
        largest = fmax(largest, size[j]), roundoff = fmax(roundoff, moved[j]);
      for (int j = 0; j < s->nu; j++)
        case_no_larger(&c, velocities ? "tangential part of u" : "tangential part of w", j, rest[j],
                       100 * DBL_EPSILON * condition * (largest + roundoff));
    }
    N_VDestroy(start);
    N_VDestroy(y);
  }
}
END_TEST

/* Nearest point to y on the manifold, level by level, by Lagrange-Newton:
     x <- x0 + K (A (x - x0) - c(x)),  K, A of x
   whose fixed points have c = 0 and W (x - x0) in range(A^T) at the result. W that of the start. */
static void nearest(const Case *c, N_Vector y) {
  const System *s = c->s;
  double A[MAX_ROWS * MAX_U], K[MAX_ROWS * MAX_U], W[MAX_U * MAX_U], r[MAX_ROWS];
  double w[MAX_U] = {0};
  N_Vector start  = vector_copy(y);
  sunrealtype *q = entries(y), *u = q + s->nq;
  system_normalise(s, entries(start));
  system_normalise(s, q);
  for (int k = 0; k < 2 * 30; k++) {
    const int velocities = k >= 30, rows = velocities ? s->nv : s->np;
    if (k == 0 || k == 30)
      system_metric(s, c->metric, velocities, entries(velocities ? y : start), W);
    system_A(s, q, A);
    system_lift(s, rows, A, W, K);
    if (!velocities) system_displacement(s, entries(start), q, w);
    else
      for (int j = 0; j < s->nu; j++) w[j] = u[j] - entries(start)[s->nq + j];
    if (velocities) system_v(s, q, u, r);
    else system_p(s, q, r);
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < s->nu; j++) r[i] -= A[i + j * s->nv] * w[j];
    for (int j = 0; j < s->nu; j++) w[j] = 0;
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < s->nu; j++) w[j] -= K[j + i * s->nu] * r[i];
    if (!velocities && s->np > 0) system_displace(s, entries(start), w, q);
    for (int j = 0; velocities && j < s->nu; j++) u[j] = entries(start)[s->nq + j] + w[j];
  }
  N_VDestroy(start);
}

/* Distance of the projected state from the nearest one */
static double miss(const Case *c, double size) {
  N_Vector y = case_disturbed(c->s, size), best = vector_copy(y);
  nearest(c, best);
  case_project(c, y);
  const double distance = max_distance(y, best);
  N_VDestroy(best);
  N_VDestroy(y);
  return distance;
}

/* Using G of the start instead of that of the result is an error of second order: a quarter of the
 * disturbance leaves a sixteenth, up to terms of third order, and to the effect of eps, 1e-7 of the
 * tolerance. Rows that are dependent on the manifold, but not off it, are an exception: there the
 * least singular values of G are of the size of the disturbance, and its tangential part moves the
 * state along with them. The state is then no farther away than the disturbance was. */
START_TEST(projections_are_nearest_points) {
  FOR_CASES(c, _i, 1) {
    const double size = 4e-3, tolerance = 1e-6 * (1 + N_VMaxNorm(c.s->y));
    ck_assert_int_eq(CPProjectorSetEps(c.P, 1e-7), CP_SUCCESS);
    const double coarse = miss(&c, size), fine = miss(&c, size / 4);
    const double bound = c.s->redundant ? size / 4 : coarse / 12 + 1e-6 * tolerance;
    case_no_larger(&c, "distance from the nearest point, of", 0, fine, bound);
  }
}
END_TEST

TEST_SUITE(projection) {
  Suite *suite = suite_create("projection");
  TCase *tcase = tcase_create("states");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, projected_states_satisfy_their_constraints, 0, SYSTEMS);
  tcase_add_loop_test(tcase, projecting_twice_moves_nothing, 0, SYSTEMS);
  tcase_add_loop_test(tcase, corrections_are_along_the_normals_of_the_metric, 0, SYSTEMS);
  tcase_add_loop_test(tcase, projections_are_nearest_points, 0, SYSTEMS);
  suite_add_tcase(suite, tcase);
  return suite;
}
