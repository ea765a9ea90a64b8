#include "mechanics/systems.h"

#include <cpodes/matrix/lapack.h>
#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

void dgelsd_(const int *m, const int *n, const int *nrhs, double *a, const int *lda, double *b,
             const int *ldb, double *s, const double *rcond, int *rank, double *work,
             const int *lwork, int *iwork, int *info);

/* ---- functions of the model ---- */

/* D = S [rows x cols], which is dense or by columns. */
static void to_dense(SUNMatrix S, int rows, int cols, double *D) {
  memset(D, 0, (size_t)(rows * cols) * sizeof *D);
  for (int j = 0; j < cols; j++) {
    if (SUNMatGetID(S) == SUNMATRIX_DENSE)
      for (int i = 0; i < rows; i++) D[i + j * rows] = SM_ELEMENT_D(S, i, j);
    else
      for (sunindextype k = SM_INDEXPTRS_S(S)[j]; k < SM_INDEXPTRS_S(S)[j + 1]; k++)
        D[SM_INDEXVALS_S(S)[k] + j * rows] = SM_DATA_S(S)[k];
  }
}

static void clear(SUNMatrix S) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE) SUNMatZero(S);
  else memset(SM_DATA_S(S), 0, (size_t)SM_NNZ_S(S) * sizeof(sunrealtype)); /* keeps the pattern */
}

/* D = columns f(e_j) */
static void from_products(const System *s, const sunrealtype *q, CPMechTimesFn f, int rows,
                          double *D) {
  double e[MAX_U] = {0};
  for (int j = 0; j < s->nu; j++) {
    e[j] = 1;
    ck_assert_int_eq(f(s->t, q, e, D + j * rows, s->user_data), 0);
    e[j] = 0;
  }
}

static void matrix(const System *s, const sunrealtype *q, CPMechMatrixFn f, SUNMatrix S, int rows,
                   double *D) {
  clear(S);
  ck_assert_int_eq(f(s->t, q, S, s->user_data), 0);
  to_dense(S, rows, s->nu, D);
}

void system_A(const System *s, const sunrealtype *q, double *A) {
  if (s->model.Au) from_products(s, q, s->model.Au, s->nv, A);
  else matrix(s, q, s->model.A, s->A, s->nv, A);
}

void system_M(const System *s, const sunrealtype *q, double *M) {
  if (s->model.Mu) from_products(s, q, s->model.Mu, s->nu, M);
  else matrix(s, q, s->model.M, s->M, s->nu, M);
}

static void positions_at(const System *s, sunrealtype t, const sunrealtype *q, double *p) {
  for (int i = 0; i < s->np; i++) p[i] = 0;
  if (s->np > 0) ck_assert_int_eq(s->model.p(t, q, p, s->user_data), 0);
}

void system_p(const System *s, const sunrealtype *q, double *p) { positions_at(s, s->t, q, p); }

/* The fastest explicit motion has the frequency 10 (car axis; the flexible crank's is linear):
   truncation (10 h)^6 / 140 is below roundoff. */
static void add_rate(const System *s, const sunrealtype *q, double *v) {
  const double h = 1e-3;
  double plus[MAX_ROWS], minus[MAX_ROWS];
  for (int k = 1; k <= 3; k++) {
    positions_at(s, s->t + k * h, q, plus);
    positions_at(s, s->t - k * h, q, minus);
    for (int i = 0; i < s->np; i++) v[i] += sixth_order(k) / h * (plus[i] - minus[i]);
  }
}

void system_v(const System *s, const sunrealtype *q, const sunrealtype *u, double *v) {
  double A[MAX_ROWS * MAX_U];
  system_A(s, q, A);
  for (int i = 0; i < s->nv; i++) v[i] = 0;
  for (int j = 0; j < s->nu; j++)
    for (int i = 0; i < s->nv; i++) v[i] += A[i + j * s->nv] * u[j];
  add_rate(s, q, v);
}

/* ---- kinematics ---- */

/* c = a o b, Hamilton's product */
static void multiply(const double a[4], const double b[4], double c[4]) {
  c[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  c[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  c[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  c[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

static int is_quaternion_q(const System *s, int i) {
  for (int k = 0; k < s->nquaternions; k++)
    if (i >= s->first_q[k] && i < s->first_q[k] + 4) return 1;
  return 0;
}

static int is_quaternion_u(const System *s, int j) {
  for (int k = 0; k < s->nquaternions; k++)
    if (j >= s->first_u[k] && j < s->first_u[k] + 3) return 1;
  return 0;
}

/* The coordinate of velocity j, those outside quaternions in their order; -1: none. */
static int coordinate_of(const System *s, int j) {
  int i = 0;
  if (is_quaternion_u(s, j)) return -1;
  for (int before = 0; before < j; before++) {
    if (is_quaternion_u(s, before)) continue;
    while (is_quaternion_q(s, i)) i++;
    i++;
  }
  while (is_quaternion_q(s, i)) i++;
  return i;
}

/* Column d of N of a quaternion */
static void quaternion_column(const System *s, const double *p, int d, double column[4]) {
  double omega[4] = {0};
  omega[1 + d]    = SUN_RCONST(0.5);
  if (s->frame == CP_FRAME_BODY) multiply(p, omega, column);
  else multiply(omega, p, column);
}

void system_N(const System *s, const sunrealtype *q, const double *w, double *result) {
  for (int j = 0; j < s->nu; j++)
    if (coordinate_of(s, j) >= 0) result[coordinate_of(s, j)] = w[j];
  for (int k = 0; k < s->nquaternions; k++) {
    double column[4], *r = result + s->first_q[k];
    for (int i = 0; i < 4; i++) r[i] = 0;
    for (int d = 0; d < 3; d++) {
      quaternion_column(s, q + s->first_q[k], d, column);
      for (int i = 0; i < 4; i++) r[i] += column[i] * w[s->first_u[k] + d];
    }
  }
}

/* Columns of N are orthogonal, of length |p| / 2. */
void system_N_inverse(const System *s, const sunrealtype *q, const double *d, double *w) {
  for (int j = 0; j < s->nu; j++)
    if (coordinate_of(s, j) >= 0) w[j] = d[coordinate_of(s, j)];
  for (int k = 0; k < s->nquaternions; k++)
    for (int axis = 0; axis < 3; axis++) {
      double column[4], sum = 0, square = 0;
      quaternion_column(s, q + s->first_q[k], axis, column);
      for (int i = 0; i < 4; i++) {
        sum += column[i] * d[s->first_q[k] + i];
        square += column[i] * column[i];
      }
      w[s->first_u[k] + axis] = sum / square;
    }
}

static double norm_of(const System *s, const sunrealtype *y, int k) {
  double square = 0;
  for (int i = 0; i < 4; i++) square += y[s->first_q[k] + i] * y[s->first_q[k] + i];
  return sqrt(square);
}

double system_norms(const System *s, const sunrealtype *y) {
  double worst = 0;
  for (int k = 0; k < s->nquaternions; k++) worst = fmax(worst, fabs(norm_of(s, y, k) - 1));
  return worst;
}

void system_normalise(const System *s, sunrealtype *y) {
  for (int k = 0; k < s->nquaternions; k++) {
    const double norm = norm_of(s, y, k);
    for (int i = 0; i < 4; i++) y[s->first_q[k] + i] /= norm;
  }
}

/* N w is perpendicular to the quaternion p0: p1 = (p0 + N w) / c with c = 1 / p0.p1 */
void system_displacement(const System *s, const sunrealtype *q0, const sunrealtype *q1, double *w) {
  double d[MAX_Q];
  for (int i = 0; i < s->nq; i++) d[i] = q1[i] - q0[i];
  for (int k = 0; k < s->nquaternions; k++) {
    const double *a = q0 + s->first_q[k], *b = q1 + s->first_q[k];
    const double c = 1 / (a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
    for (int i = 0; i < 4; i++) d[s->first_q[k] + i] = c * b[i] - a[i];
  }
  system_N_inverse(s, q0, d, w);
}

void system_displace(const System *s, const sunrealtype *q0, const double *w, sunrealtype *q1) {
  double d[MAX_Q];
  system_N(s, q0, w, d);
  for (int i = 0; i < s->nq; i++) q1[i] = q0[i] + d[i];
  system_normalise(s, q1);
}

/* v at q + h N w */
static void velocities_along(const System *s, const sunrealtype *y, const double *d, double h,
                             double *v) {
  double q[MAX_Q];
  for (int i = 0; i < s->nq; i++) q[i] = y[i] + h * d[i];
  system_v(s, q, y + s->nq, v);
}

/* Coordinates are angles, or lengths of order one: truncation (2e-2)^6 / 140 */
void system_V(const System *s, const sunrealtype *y, double *V) {
  const double h = 2e-2;
  double d[MAX_Q], plus[MAX_ROWS], minus[MAX_ROWS], e[MAX_U] = {0};
  memset(V, 0, (size_t)(s->nv * s->nu) * sizeof *V);
  for (int j = 0; j < s->nu; j++) {
    e[j] = 1;
    system_N(s, y, e, d);
    e[j] = 0;
    for (int k = 1; k <= 3; k++) {
      velocities_along(s, y, d, k * h, plus);
      velocities_along(s, y, d, -k * h, minus);
      for (int i = 0; i < s->nv; i++) V[i + j * s->nv] += sixth_order(k) / h * (plus[i] - minus[i]);
    }
  }
}

/* ---- projections ---- */

/* Error weights of w: those of its coordinate; for a quaternion divided by the length of N's
 * columns. */
static void weights(const System *s, int velocities, double *w) {
  const sunrealtype *ewt = entries(s->ewt);
  for (int j = 0; j < s->nu; j++)
    w[j] = velocities ? ewt[s->nq + j] : !is_quaternion_u(s, j) ? ewt[coordinate_of(s, j)] : 0;
  for (int k = 0; k < s->nquaternions && !velocities; k++) {
    double square = 0; /* the mean of the four, times |column|^2 = 1/4 */
    for (int i = 0; i < 4; i++) square += ewt[s->first_q[k] + i] * ewt[s->first_q[k] + i] / 16;
    for (int d = 0; d < 3; d++) w[s->first_u[k] + d] = sqrt(square);
  }
}

void system_units(const System *s, int velocities, const double *A, double *unit) {
  double w[MAX_U];
  weights(s, velocities, w);
  for (int i = 0; i < s->nv; i++) {
    unit[i] = 0;
    for (int j = 0; j < s->nu; j++) unit[i] = hypot(unit[i], A[i + j * s->nv] / w[j]);
  }
}

void system_metric(const System *s, CPMechMetric metric, int velocities, const sunrealtype *q,
                   double *W) {
  const CPMechMetric which = metric == CP_METRIC_DEFAULT ? s->normal : metric;
  double w[MAX_U];
  if (which == CP_METRIC_KINETIC || which == CP_METRIC_NEWTON) {
    system_M(s, q, W);
    return;
  }
  weights(s, velocities, w);
  memset(W, 0, (size_t)(s->nu * s->nu) * sizeof *W);
  for (int j = 0; j < s->nu; j++) W[j + j * s->nu] = which == CP_METRIC_L2 ? 1 : w[j] * w[j];
}

/* B = A L^-T with W = L L^T, its rows of unit length;  K = L^-T B^+ */
double system_lift(const System *s, int rows, const double *A, const double *W, double *K) {
  static double L[MAX_U * MAX_U], B[MAX_ROWS * MAX_U], X[MAX_U * MAX_U], work[100 * MAX_U * MAX_U];
  static int iwork[100 * MAX_U];
  double singular[MAX_U], length[MAX_ROWS];
  const int n = s->nu, ldx = n > rows ? n : rows, lwork = 100 * MAX_U * MAX_U;
  const double one = 1, rcond = 1e-9;
  int info, rank;
  if (rows == 0) return 1;
  memcpy(L, W, (size_t)(n * n) * sizeof *L);
  F77(dpotrf)("L", &n, L, &n, &info);
  ck_assert_int_eq(info, 0);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < rows; i++) B[i + j * rows] = A[i + j * s->nv];
  F77(dtrsm)("R", "L", "T", "N", &rows, &n, &one, L, &n, B, &rows);
  memset(X, 0, sizeof X);
  for (int i = 0; i < rows; i++) {
    length[i] = 0;
    for (int j = 0; j < n; j++) length[i] = hypot(length[i], B[i + j * rows]);
    for (int j = 0; j < n; j++) B[i + j * rows] /= length[i];
    X[i + i * ldx] = 1 / length[i];
  }
  dgelsd_(&rows, &n, &rows, B, &rows, X, &ldx, singular, &rcond, &rank, work, &lwork, iwork, &info);
  ck_assert_int_eq(info, 0);
  for (int i = 0; i < rows; i++) memcpy(K + i * n, X + i * ldx, (size_t)n * sizeof *K);
  F77(dtrsm)("L", "L", "T", "N", &n, &rows, &one, L, &n, K, &n);
  return singular[0] / singular[rank - 1];
}
