/* Projections of vectors at states of mechanical systems, by every solver in every metric. With the
 * functions of systems.h the projector onto {p = 0, v = 0} is
 *
 *   w <- P_p w,  w = N^+ e_q;   e_q <- N w;   e_u <- P_v e_u - K_v V w;     error estimates: V = 0
 */
#include "mechanics/cases.h"

#include <cpodes/projector/projector_impl.h>
#include <float.h>
#include <math.h>

/* The projector of a case at s->y, and the errors that products with it may have */
typedef struct {
  double A[MAX_ROWS * MAX_U], V[MAX_ROWS * MAX_U];
  double K[2][MAX_ROWS * MAX_U]; /* positions, velocities */
  double condition;
  double noise[MAX_ROWS]; /* of row i of V e, per largest |e| */
} Reference;

/* Conjugate gradients end at 1e-10 of their residual (KRYLOV_TOL, krylov_impl.h). */
static double linear_noise(const Case *c, const Reference *r) {
  return (!c->s->model.M ? 1e-10 : 64 * DBL_EPSILON) * r->condition;
}

/* V by central differences of steps cbrt(u) scale along e: truncation u^(2/3) v''' scale^2 / 6,
 * roundoff u^(2/3) v / scale, where v and its derivatives are of the size of sum_j |A_ij u_j|. For
 * about ten coordinates that move together, v''' is up to a hundred times as large. */
static void noise_of_differences(const System *s, Reference *r) {
  const sunrealtype *u = entries(s->y) + s->nq;
  const double scale = fmax(1, N_VMaxNorm(s->y)), part = pow(DBL_EPSILON, 2.0 / 3) * 100 / 6;
  for (int i = 0; i < s->nv; i++) {
    r->noise[i] = 0;
    for (int j = 0; j < s->nu; j++)
      r->noise[i] += part * (fabs(r->A[i + j * s->nv]) + 1) * fabs(u[j]) * scale * scale;
  }
}

static void reference_at(const Case *c, Reference *r) {
  const System *s = c->s;
  double W[MAX_U * MAX_U];
  system_A(s, entries(s->y), r->A);
  system_V(s, entries(s->y), r->V);
  for (int velocities = 0; velocities < 2; velocities++) {
    system_metric(s, c->metric, velocities, entries(s->y), W);
    r->condition = system_lift(s, velocities ? s->nv : s->np, r->A, W, r->K[velocities]);
  }
  noise_of_differences(s, r);
}

/* x -= K B y with the first rows of B */
static void subtract(const System *s, int rows, const double *K, const double *B, const double *y,
                     double *x) {
  double By[MAX_ROWS] = {0};
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < s->nu; j++) By[i] += B[i + j * s->nv] * y[j];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < s->nu; j++) x[j] -= K[j + i * s->nu] * By[i];
}

/* v <- P v */
static void project_by_reference(const System *s, const Reference *r, int coupled, sunrealtype *v) {
  double w[MAX_U], e[MAX_U];
  system_N_inverse(s, entries(s->y), v, w);
  for (int j = 0; j < s->nu; j++) e[j] = w[j];
  subtract(s, s->np, r->K[0], r->A, e, w);
  system_N(s, entries(s->y), w, v);
  for (int j = 0; j < s->nu; j++) e[j] = v[s->nq + j];
  subtract(s, s->nv, r->K[1], r->A, e, v + s->nq);
  if (coupled) subtract(s, s->nv, r->K[1], r->V, w, v + s->nq);
}

/* A bound on the errors of component j of P v, where |v| is the largest entry of the vector. */
static double bound_of(const Case *c, const Reference *r, int j, double size) {
  const System *s = c->s;
  double bound    = 0;
  for (int i = 0; i < s->nv && j >= s->nq; i++)
    bound += fabs(r->K[1][j - s->nq + i * s->nu]) * r->noise[i] * size;
  return bound + linear_noise(c, r) * size;
}

static N_Vector random_vector(const System *s, unsigned long long seed) {
  unsigned long long state = seed;
  N_Vector v               = vector_copy(s->y);
  random_fill(v, &state);
  return v;
}

static void tangent(const Case *c, N_Vector v) {
  const int flag = CPProjectorProjectVector(c->P, CP_TANGENT, c->s->t, c->s->y, c->s->ewt, v);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d, %s", c->name, flag,
                CPObjectGetLastMessage(CP_OBJECT(c->P)));
}

static void cotangent(const Case *c, N_Vector v) {
  const int flag = CPProjectorProjectVector(c->P, CP_COTANGENT, c->s->t, c->s->y, c->s->ewt, v);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d, %s", c->name, flag,
                CPObjectGetLastMessage(CP_OBJECT(c->P)));
}

static void agree(const Case *c, const Reference *r, const char *what, N_Vector a, N_Vector b) {
  const double size = fmax(1, N_VMaxNorm(b));
  for (int j = 0; j < c->s->n; j++)
    case_no_larger(c, what, j, entries(a)[j] - entries(b)[j], bound_of(c, r, j, size));
}

START_TEST(tangents_are_those_of_the_functions) {
  FOR_CASES(c, _i, SOLVERS) {
    Reference r;
    N_Vector v = random_vector(c.s, 5), expected = vector_copy(v);
    reference_at(&c, &r);
    project_by_reference(c.s, &r, 1, entries(expected));
    tangent(&c, v);
    agree(&c, &r, "tangent", v, expected);
    tangent(&c, v);
    agree(&c, &r, "tangent of the tangent", v, expected);
    N_VDestroy(v);
    N_VDestroy(expected);
  }
}
END_TEST

START_TEST(error_estimates_go_level_by_level) {
  FOR_CASES(c, _i, SOLVERS) {
    Reference r;
    N_Vector v = random_vector(c.s, 6), expected = vector_copy(v);
    reference_at(&c, &r);
    project_by_reference(c.s, &r, 0, entries(expected));
    ck_assert_int_eq(cpProjectError(c.P->work, c.s->t, c.s->y, c.s->ewt, v), CP_SUCCESS);
    agree(&c, &r, "error", v, expected);
    N_VDestroy(v);
    N_VDestroy(expected);
  }
}
END_TEST

/* p, v and quaternion norms at y + h v */
static void functions_along(const System *s, N_Vector v, double h, double *p, double *rate,
                            double *norms) {
  N_Vector y = vector_copy(s->y);
  N_VLinearSum(1, s->y, h, v, y);
  system_p(s, entries(y), p);
  system_v(s, entries(y), entries(y) + s->nq, rate);
  for (int k = 0; k < s->nquaternions; k++) {
    norms[k] = 0;
    for (int i = 0; i < 4; i++) norms[k] += pow(entries(y)[s->first_q[k] + i], 2);
  }
  N_VDestroy(y);
}

/* Differences of sixth order over the whole state, steps 1e-2 of |v| = 1: truncation 1e-12 / 140 of the
   seventh derivative along some ten coordinates; roundoff 1e-14, of dp/dt 1e-11. */
START_TEST(tangents_keep_all_constraints) {
  const double h = 1e-2;
  FOR_CASES(c, _i, SOLVERS) {
    const System *s = c.s;
    Reference r;
    double at[2][3 * MAX_ROWS], sum[3 * MAX_ROWS] = {0};
    N_Vector v = random_vector(s, 7);
    reference_at(&c, &r);
    tangent(&c, v);
    N_VScale(1 / N_VMaxNorm(v), v, v);
    for (int k = 1; k <= 3; k++) {
      for (int side = 0; side < 2; side++)
        functions_along(s, v, side ? -k * h : k * h, at[side], at[side] + MAX_ROWS,
                        at[side] + 2 * MAX_ROWS);
      for (int i = 0; i < s->np; i++) sum[i] += sixth_order(k) / h * (at[0][i] - at[1][i]);
      for (int i = MAX_ROWS; i < MAX_ROWS + s->nv; i++)
        sum[i] += sixth_order(k) / h * (at[0][i] - at[1][i]);
      for (int i = 2 * MAX_ROWS; i < 2 * MAX_ROWS + s->nquaternions; i++)
        sum[i] += sixth_order(k) / h * (at[0][i] - at[1][i]);
    }
    const double truncation = 1e-9 * fmax(1, N_VMaxNorm(s->y));
    for (int i = 0; i < s->np; i++)
      case_no_larger(&c, "dp", i, sum[i], truncation + linear_noise(&c, &r));
    for (int i = 0; i < s->nv; i++)
      case_no_larger(&c, "dv", i, sum[MAX_ROWS + i],
                     truncation + r.noise[i] + linear_noise(&c, &r) * fmax(1, N_VMaxNorm(s->y)));
    for (int k = 0; k < s->nquaternions; k++)
      case_no_larger(&c, "d|q|", k, sum[2 * MAX_ROWS + k], 1e-13);
    N_VDestroy(v);
  }
}
END_TEST

/* <P v, w> = <v, P^T w>, both sides' terms with V by differences; P^T P^T = P^T */
START_TEST(cotangents_are_transposed) {
  FOR_CASES(c, _i, SOLVERS) {
    const System *s = c.s;
    Reference r;
    double bound = 0;
    N_Vector v = random_vector(s, 8), w = random_vector(s, 9);
    N_Vector Pv = vector_copy(v), PTw = vector_copy(w);
    reference_at(&c, &r);
    tangent(&c, Pv);
    cotangent(&c, PTw);
    const double size = fmax(N_VMaxNorm(Pv), 1);
    for (int j = 0; j < s->n; j++)
      bound += 2 * (bound_of(&c, &r, j, size) * fabs(entries(w)[j]) +
                    64 * DBL_EPSILON * fabs(entries(v)[j] * entries(PTw)[j]));
    case_no_larger(&c, "<P v, w> - <v, P^T w>", 0, dot(Pv, w) - dot(v, PTw), bound);
    N_Vector twice = vector_copy(PTw);
    cotangent(&c, twice);
    N_VLinearSum(1, twice, -1, PTw, twice);
    case_no_larger(&c, "P^T P^T w - P^T w along P v", 0, dot(twice, v), 2 * bound);
    N_VDestroy(v);
    N_VDestroy(w);
    N_VDestroy(Pv);
    N_VDestroy(PTw);
    N_VDestroy(twice);
  }
}
END_TEST

TEST_SUITE(tangent) {
  Suite *suite = suite_create("tangent");
  TCase *tcase = tcase_create("vectors");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, tangents_are_those_of_the_functions, 0, SYSTEMS);
  tcase_add_loop_test(tcase, error_estimates_go_level_by_level, 0, SYSTEMS);
  tcase_add_loop_test(tcase, tangents_keep_all_constraints, 0, SYSTEMS);
  tcase_add_loop_test(tcase, cotangents_are_transposed, 0, SYSTEMS);
  suite_add_tcase(suite, tcase);
  return suite;
}
