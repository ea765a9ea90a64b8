/* The mechanism itself, and its functions for integrators and projectors. */
#include "mechanism_impl.h"

#include <math.h>
#include <string.h>

static const Mechanism *the; /* the mechanism whose functions are called */

const Mechanism *mechanism_in_use(void) { return the; }
void mechanism_use(Mechanism *m) { the = m; }

void mechanism_set_up(Mechanism *m, unsigned features, Form form, CPFrame frame) {
  if (features & (RHEONOMIC | NONHOLONOMIC | ACCELERATION | DRIVEN)) features |= EXTRA;
  if (features & RHEONOMIC) features &= ~(NONHOLONOMIC | ACCELERATION | DRIVEN);
  if (features & NONHOLONOMIC) features &= ~(ACCELERATION | DRIVEN);
  if (features & ACCELERATION) features &= ~DRIVEN;
  if (form == OPERATORS || form == BESIDE) features &= ~(FRICTION | DRIVEN);
  if (!(features & QUATERNION)) features &= ~KINEMATICS;
  /* there is no coordinate with a velocity of its own */
  if (features & KINEMATICS) features &= ~DRIVEN;
  const int extra = features & EXTRA ? 1 : 0, ball = features & QUATERNION ? 1 : 0;
  *m    = (Mechanism){.features = features, .form = form, .frame = frame, .p = {1.0, 9.81, 0.1}};
  m->nq = 2 + extra + 4 * ball;
  m->nu = 2 + extra + 3 * ball;
  m->nz = features & AUXILIARY ? 1 : 0;
  m->np = 1 + (features & REDUNDANT ? 1 : 0) + (features & RHEONOMIC ? 1 : 0);
  m->nv = m->np + (features & NONHOLONOMIC ? 1 : 0);
  m->na = m->nv + (features & ACCELERATION ? 1 : 0);
  m->n  = m->nq + m->nu + m->nz;
  m->m  = m->np + m->nv;
  m->x  = extra ? 2 : -1;
  m->quaternion = ball ? 2 + extra : -1;
  m->omega      = ball ? 2 + extra : -1;
}

/* The number of the pendulum's rows: row i is i + 1 times the first one. */
int mechanism_pendulum_rows(const Mechanism *m) { return m->features & REDUNDANT ? 2 : 1; }

/* q' = 1/2 E(q) omega for the quaternion q */
void mechanism_quaternion(const Mechanism *m, const sunrealtype *q, sunrealtype E[4][3]) {
  const sunrealtype s       = m->frame == CP_FRAME_BODY ? 1.0 : -1.0;
  const sunrealtype e[4][3] = {{-q[1], -q[2], -q[3]},
                               {q[0], -s * q[3], s * q[2]},
                               {s * q[3], q[0], -s * q[1]},
                               {-s * q[2], s * q[1], q[0]}};
  memcpy(E, e, sizeof e);
}

void mechanism_start(const Mechanism *m, sunrealtype t, const sunrealtype *choice, sunrealtype *y) {
  sunrealtype *u = y + m->nq;
  const double a = 3.0 * choice[0], w = 2.0 * choice[1], L = m->p[BY_LENGTH];
  memset(y, 0, m->n * sizeof *y);
  y[0] = L * cos(a), y[1] = L * sin(a), u[0] = -w * y[1], u[1] = w * y[0];
  if (m->x >= 0) {
    y[m->x] = choice[2], u[m->x] = choice[3];
    if (m->features & (RHEONOMIC | DRIVEN)) y[m->x] = 0.3 * sin(2 * t), u[m->x] = 0.6 * cos(2 * t);
    if (m->features & NONHOLONOMIC) u[m->x] = 0.2 * y[0];
  }
  if (m->quaternion >= 0) {
    sunrealtype *q = y + m->quaternion;
    q[0] = cos(choice[2]), q[1] = sin(choice[2]) * 0.6, q[2] = -sin(choice[2]) * 0.8;
    for (int k = 0; k < 3; k++) u[m->omega + k] = choice[k];
  }
  if (m->nz) y[m->nq + m->nu] = choice[3];
}

void mechanism_accelerations(const Mechanism *m, sunrealtype t, const sunrealtype *q,
                             const sunrealtype *u, sunrealtype *udot, sunrealtype *lambda) {
  const int rows = mechanism_pendulum_rows(m), x = m->x;
  const sunrealtype fX = -m->p[BY_DAMPING] * u[0], fY = -m->p[BY_GRAVITY];
  const sunrealtype mu =
      (q[0] * fX + q[1] * fY + u[0] * u[0] + u[1] * u[1]) / (q[0] * q[0] + q[1] * q[1]);
  memset(udot, 0, m->nu * sizeof *udot);
  udot[0] = fX - mu * q[0], udot[1] = fY - mu * q[1];
  if (x >= 0) {
    const sunrealtype f = -2.0 * q[x] - 0.4 * u[x];
    udot[x]             = m->features & (RHEONOMIC | DRIVEN) ? -1.2 * sin(2 * t)
                          : m->features & NONHOLONOMIC       ? 0.2 * u[0]
                          : m->features & ACCELERATION       ? -q[x]
                                                             : f / 2.0;
    if (lambda && m->na > rows) lambda[rows] = f - 2.0 * udot[x];
  }
  if (lambda) /* of minimum norm */
    for (int i = 0; i < rows; i++) lambda[i] = mu * (i + 1) / (rows == 2 ? 5.0 : 1.0);
}

void mechanism_derivative(const Mechanism *m, sunrealtype t, const sunrealtype *y,
                          sunrealtype *ydot) {
  const sunrealtype *u = y + m->nq;
  memcpy(ydot, u, (size_t)(m->x >= 0 ? 3 : 2) * sizeof *ydot);
  if (m->quaternion >= 0) {
    sunrealtype E[4][3];
    mechanism_quaternion(m, y + m->quaternion, E);
    for (int i = 0; i < 4; i++) {
      ydot[m->quaternion + i] = 0.0;
      for (int k = 0; k < 3; k++) ydot[m->quaternion + i] += 0.5 * E[i][k] * u[m->omega + k];
    }
  }
  mechanism_accelerations(m, t, y, u, ydot + m->nq, NULL);
  if (m->nz) ydot[m->nq + m->nu] = y[0] - y[m->nq + m->nu];
}

/* In steps of at most 1/500, whose errors are about 1e-10. */
void mechanism_advance(const Mechanism *m, sunrealtype t, sunrealtype tout, sunrealtype *y) {
  const int steps     = 1 + (int)(500.0 * fabs(tout - t));
  const sunrealtype h = (tout - t) / steps, c[4] = {0.0, 0.5, 0.5, 1.0}, b[4] = {1, 2, 2, 1};
  for (int k = 0; k < steps; k++, t += h) {
    sunrealtype stage[MOST_N], slope[MOST_N] = {0}, sum[MOST_N] = {0};
    for (int s = 0; s < 4; s++) {
      for (int i = 0; i < m->n; i++) stage[i] = y[i] + h * c[s] * slope[i];
      mechanism_derivative(m, t + c[s] * h, stage, slope);
      for (int i = 0; i < m->n; i++) sum[i] += h * b[s] / 6.0 * slope[i];
    }
    for (int i = 0; i < m->n; i++) y[i] += sum[i];
  }
}

void mechanism_p(const Mechanism *m, sunrealtype t, const sunrealtype *q, sunrealtype *p) {
  const sunrealtype L = m->p[BY_LENGTH];
  const int rows      = mechanism_pendulum_rows(m);
  for (int i = 0; i < rows; i++) p[i] = (i + 1) * (q[0] * q[0] + q[1] * q[1] - L * L) / 2.0;
  if (m->np > rows) p[rows] = q[m->x] - 0.3 * sin(2 * t);
}

void mechanism_v(const Mechanism *m, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                 sunrealtype *v) {
  const int rows = mechanism_pendulum_rows(m);
  for (int i = 0; i < rows; i++) v[i] = (i + 1) * (q[0] * u[0] + q[1] * u[1]);
  if (m->nv > rows) v[rows] = u[m->x] - (m->features & RHEONOMIC ? 0.6 * cos(2 * t) : 0.2 * q[0]);
}

void mechanism_constraints(const Mechanism *m, sunrealtype t, const sunrealtype *y, sunrealtype *c) {
  mechanism_p(m, t, y, c);
  mechanism_v(m, t, y, y + m->nq, c + m->np);
}

/* ---- dc/dy ---- */

int mechanism_has(const Mechanism *m, int i, int j) {
  const int velocity = i >= m->np, row = velocity ? i - m->np : i;
  if (row < mechanism_pendulum_rows(m))
    return j < 2 || (velocity && (j == m->nq || j == m->nq + 1));
  if (!velocity) return j == m->x;
  return j == m->nq + m->x || (j == 0 && (m->features & NONHOLONOMIC));
}

sunrealtype mechanism_entry(const Mechanism *m, int i, int j, const sunrealtype *y) {
  const int velocity = i >= m->np, row = velocity ? i - m->np : i;
  if (!mechanism_has(m, i, j)) return 0.0;
  if (row >= mechanism_pendulum_rows(m)) return j == 0 ? -0.2 : 1.0;
  if (!velocity) return (row + 1) * y[j];
  return (row + 1) * (j < 2 ? y[m->nq + j] : y[j - m->nq]);
}

typedef struct {
  const Mechanism *m;
  const sunrealtype *y;
} AtState;

static int has_c(const void *data, int i, int j) {
  return mechanism_has(((const AtState *)data)->m, i, j);
}
static sunrealtype entry_c(const void *data, int i, int j) {
  const AtState *at = data;
  return mechanism_entry(at->m, i, j, at->y);
}

SUNMatrix matrix_of(Form form, int rows, int columns, HasEntry has, const void *data,
                    SUNContext ctx) {
  if (form != CSC && form != CSR) return SUNDenseMatrix(rows, columns, ctx);
  const int csc = form == CSC, lines = csc ? columns : rows, length = csc ? rows : columns;
  SUNMatrix A =
      SUNSparseMatrix(rows, columns, (sunindextype)rows * columns, csc ? CSC_MAT : CSR_MAT, ctx);
  if (!A) return NULL;
  sunindextype k = 0;
  for (int i = 0; i < lines; i++) {
    SM_INDEXPTRS_S(A)[i] = k;
    for (int j = 0; j < length; j++)
      if (csc ? has(data, j, i) : has(data, i, j)) SM_INDEXVALS_S(A)[k++] = j;
  }
  SM_INDEXPTRS_S(A)[lines] = k;
  return A;
}

long matrix_fill(SUNMatrix A, MatrixEntry entry, const void *data, sunrealtype **values) {
  if (SUNMatGetID(A) == SUNMATRIX_DENSE) {
    for (sunindextype j = 0; j < SM_COLUMNS_D(A); j++)
      for (sunindextype i = 0; i < SM_ROWS_D(A); i++)
        SM_ELEMENT_D(A, i, j) = entry(data, (int)i, (int)j);
    *values = SM_DATA_D(A);
    return SM_LDATA_D(A);
  }
  const int csc = SM_SPARSETYPE_S(A) == CSC_MAT;
  for (sunindextype i = 0; i < SM_NP_S(A); i++)
    for (sunindextype k = SM_INDEXPTRS_S(A)[i]; k < SM_INDEXPTRS_S(A)[i + 1]; k++) {
      const int j     = (int)SM_INDEXVALS_S(A)[k];
      SM_DATA_S(A)[k] = csc ? entry(data, j, (int)i) : entry(data, (int)i, j);
    }
  *values = SM_DATA_S(A);
  return SM_INDEXPTRS_S(A)[SM_NP_S(A)];
}

SUNMatrix mechanism_jacobian_template(const Mechanism *m, Form form, SUNContext ctx) {
  const AtState at = {m, NULL};
  return matrix_of(form, m->m, m->n, has_c, &at, ctx);
}

static int has_diagonal(const void *data, int i, int j) {
  (void)data;
  return i == j;
}

SUNMatrix mechanism_metric_template(const Mechanism *m, Form form, SUNContext ctx) {
  return matrix_of(form, m->n, m->n, has_diagonal, NULL, ctx);
}

/* ---- callbacks ---- */

static sunrealtype *of(N_Vector v) { return N_VGetArrayPointer(v); }

int mechanism_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)user_data;
  mechanism_derivative(the, t, of(y), of(ydot));
  return disturb(ON_RHS, of(ydot), the->n);
}

int mechanism_rhs_batch(int k, const sunrealtype *t, const sunrealtype *Y, sunrealtype *F,
                        void *user_data) {
  (void)user_data;
  for (int i = 0; i < k; i++)
    mechanism_derivative(the, t[i], Y + (size_t)i * the->n, F + (size_t)i * the->n);
  return disturb(ON_RHS, F, (long)k * the->n);
}

int mechanism_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)user_data;
  mechanism_constraints(the, t, of(y), of(c));
  return disturb(ON_CONSTRAINT, of(c), the->m);
}

int mechanism_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const AtState at = {the, of(y)};
  sunrealtype *values;
  const long n = matrix_fill(G, entry_c, &at, &values);
  return disturb(ON_JACOBIAN, values, n);
}

int mechanism_jac_times(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data) {
  (void)t, (void)user_data;
  for (int i = 0; i < the->m; i++) {
    of(Gv)[i] = 0.0;
    for (int j = 0; j < the->n; j++) of(Gv)[i] += mechanism_entry(the, i, j, of(y)) * of(v)[j];
  }
  return disturb(ON_JAC_TIMES, of(Gv), the->m);
}

int mechanism_jac_trans_times(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data) {
  (void)t, (void)user_data;
  for (int j = 0; j < the->n; j++) {
    of(GTw)[j] = 0.0;
    for (int i = 0; i < the->m; i++) of(GTw)[j] += mechanism_entry(the, i, j, of(y)) * of(w)[i];
  }
  return disturb(ON_JAC_TRANS_TIMES, of(GTw), the->n);
}

static sunrealtype diagonal[MOST_C]; /* of the preconditioner */

static void schur_diagonal(N_Vector y, N_Vector D, sunrealtype *diag) {
  for (int i = 0; i < the->m; i++) {
    diag[i] = 0.0;
    for (int j = 0; j < the->n; j++) {
      const sunrealtype g = mechanism_entry(the, i, j, of(y));
      diag[i] += (D ? of(D)[j] : 1.0) * g * g;
    }
  }
}

int mechanism_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data) {
  (void)t, (void)user_data;
  schur_diagonal(y, D, of(diag));
  return disturb(ON_SCHUR_DIAG, of(diag), the->m);
}

int mechanism_prec_setup(sunrealtype t, N_Vector y, N_Vector D, void *user_data) {
  (void)t, (void)user_data;
  schur_diagonal(y, D, diagonal);
  return disturb(ON_PREC_SETUP, diagonal, the->m);
}

int mechanism_prec_solve(sunrealtype t, N_Vector y, N_Vector r, N_Vector z, void *user_data) {
  (void)t, (void)y, (void)user_data;
  for (int i = 0; i < the->m; i++) of(z)[i] = diagonal[i] > 0.0 ? of(r)[i] / diagonal[i] : of(r)[i];
  return disturb(ON_PREC_SOLVE, of(z), the->m);
}

int mechanism_metric(sunrealtype t, N_Vector y, N_Vector x, N_Vector Dx, void *user_data) {
  (void)t, (void)y, (void)user_data;
  for (int i = 0; i < the->n; i++) of(Dx)[i] = of(x)[i] / (1.0 + i);
  return disturb(ON_METRIC, of(Dx), the->n);
}

static sunrealtype entry_metric(const void *data, int i, int j) {
  (void)data;
  return i == j ? 1.0 + i : 0.0;
}

int mechanism_metric_matrix(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  (void)t, (void)y, (void)user_data;
  sunrealtype *values;
  const long n = matrix_fill(M, entry_metric, NULL, &values);
  return disturb(ON_METRIC_MATRIX, values, n);
}

/* The closest point for the pendulum; everything else is moved to where it has to be. */
int mechanism_projection(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  (void)eps, (void)user_data;
  N_VScale(1.0, yhat, y);
  sunrealtype *q = of(y), *u = q + the->nq;
  const sunrealtype L = the->p[BY_LENGTH], r = hypot(q[0], q[1]);
  q[0] *= L / r, q[1] *= L / r;
  const sunrealtype s = (q[0] * u[0] + q[1] * u[1]) / (L * L);
  u[0] -= s * q[0], u[1] -= s * q[1];
  if (the->features & RHEONOMIC) q[the->x] = 0.3 * sin(2 * t), u[the->x] = 0.6 * cos(2 * t);
  if (the->features & NONHOLONOMIC) u[the->x] = 0.2 * q[0];
  if (the->quaternion >= 0) {
    sunrealtype norm = 0.0;
    for (int k = 0; k < 4; k++) norm += q[the->quaternion + k] * q[the->quaternion + k];
    for (int k = 0; k < 4; k++) q[the->quaternion + k] /= sqrt(norm);
  }
  return disturb(ON_PROJECTION, of(y), the->n);
}

int mechanism_error_projection(sunrealtype t, N_Vector y, N_Vector err, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *q = of(y), L2 = the->p[BY_LENGTH] * the->p[BY_LENGTH];
  sunrealtype *e = of(err), *eu = e + the->nq;
  const sunrealtype s = (q[0] * e[0] + q[1] * e[1]) / L2, w = (q[0] * eu[0] + q[1] * eu[1]) / L2;
  e[0] -= s * q[0], e[1] -= s * q[1], eu[0] -= w * q[0], eu[1] -= w * q[1];
  return disturb(ON_ERROR_PROJECTION, e, the->n);
}

int mechanism_state_and_error(sunrealtype t, N_Vector yhat, N_Vector y, N_Vector err,
                              sunrealtype eps, void *data) {
  const int flag = mechanism_projection(t, yhat, y, eps, data);
  return flag ? flag : mechanism_error_projection(t, y, err, data);
}

int mechanism_violation(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data) {
  (void)user_data;
  sunrealtype c[MOST_C];
  mechanism_constraints(the, t, of(y), c);
  *norm = 0.0;
  for (int i = 0; i < the->m; i++) *norm = fmax(*norm, 1e5 * fabs(c[i]));
  return disturb(ON_VIOLATION, norm, 1);
}

int mechanism_weights(N_Vector y, N_Vector ewt, void *user_data) {
  (void)user_data;
  for (int i = 0; i < the->n; i++) of(ewt)[i] = 1.0 / (WEIGHTS_TOL * (fabs(of(y)[i]) + 1.0));
  return disturb(ON_WEIGHTS, of(ewt), the->n);
}

static void roots(sunrealtype t, N_Vector y, sunrealtype *g) {
  g[0] = of(y)[1] + 0.5 * the->p[BY_LENGTH];
  g[1] = t - ROOT_TIME;
}
int mechanism_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)user_data;
  roots(t, y, g);
  return disturb(ON_ROOT, g, 2);
}
int mechanism_roots_unchecked(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)user_data;
  roots(t, y, g);
  return disturb(ON_ROOT, NULL, 0);
}

int mechanism_quadrature(sunrealtype t, N_Vector y, N_Vector qdot, void *user_data) {
  (void)t, (void)user_data;
  of(qdot)[0] = of(y)[0];
  return disturb(ON_QUADRATURE, of(qdot), 1);
}
