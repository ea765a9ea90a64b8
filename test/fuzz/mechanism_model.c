/* The mechanism in the form that CPMech takes, and its sensitivities. */
#include "mechanism_impl.h"

#include <math.h>
#include <string.h>

/* What the entries of matrices depend on. */
typedef struct {
  const Mechanism *m;
  const sunrealtype *q, *u, *udot, *lambda;
} At;

/* ---- M and A ---- */

static int has_M(const void *data, int i, int j) {
  (void)data;
  return i == j;
}

static sunrealtype entry_M(const void *data, int i, int j) {
  const At *at = data;
  return i != j ? 0.0 : i < 2 ? 1.0 : i == at->m->x ? 2.0 : 0.5;
}

/* The nonholonomic row has an entry for df/du at X', since b depends on X' there. */
static int has_A(const void *data, int i, int j) {
  const Mechanism *m = ((const At *)data)->m;
  if (i < mechanism_pendulum_rows(m)) return j < 2;
  return j == m->x || (j == 0 && (m->features & NONHOLONOMIC));
}

static sunrealtype entry_A(const void *data, int i, int j) {
  const At *at = data;
  if (i < mechanism_pendulum_rows(at->m)) return j < 2 ? (i + 1) * at->q[j] : 0.0;
  return j == at->m->x ? 1.0 : 0.0;
}

static int filled(Callback which, SUNMatrix A, MatrixEntry entry, const At *at) {
  sunrealtype *values;
  const long n = matrix_fill(A, entry, at, &values);
  return disturb(which, values, n);
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)user_data;
  const At at = {.m = mechanism_in_use(), .q = q};
  return filled(ON_MASS, M, entry_M, &at);
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  const At at = {.m = mechanism_in_use(), .q = q};
  return filled(ON_ROWS, A, entry_A, &at);
}

/* ---- vectors ---- */

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)z, (void)user_data;
  const Mechanism *m = mechanism_in_use();
  f[0] = -m->p[BY_DAMPING] * u[0], f[1] = -m->p[BY_GRAVITY];
  if (m->x >= 0) f[m->x] = -2.0 * q[m->x] - 0.4 * u[m->x];
  return disturb(ON_FORCE, f, m->nu);
}

static int friction(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)z, (void)user_data;
  for (int k = 0; k < 2; k++) f[k] = -0.05 * fabs(lambda[0]) * tanh(u[k]);
  return disturb(ON_FRICTION, f, 2);
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)user_data;
  mechanism_p(mechanism_in_use(), t, q, p);
  return disturb(ON_POSITION, p, mechanism_in_use()->np);
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *user_data) {
  (void)user_data;
  mechanism_v(mechanism_in_use(), t, q, u, v);
  return disturb(ON_VELOCITY, v, mechanism_in_use()->nv);
}

static int accelerations_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           sunrealtype *b, void *user_data) {
  (void)user_data;
  const Mechanism *m = mechanism_in_use();
  const int n        = mechanism_pendulum_rows(m);
  for (int i = 0; i < n; i++) b[i] = -(i + 1) * (u[0] * u[0] + u[1] * u[1]);
  if (m->na > n)
    b[n] = m->features & RHEONOMIC      ? -1.2 * sin(2 * t)
           : m->features & NONHOLONOMIC ? 0.2 * u[0]
                                        : -q[m->x];
  return disturb(ON_B, b, m->na);
}

static int auxiliary(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                     const sunrealtype *lambda, sunrealtype *zdot, void *user_data) {
  (void)t, (void)u, (void)lambda, (void)user_data;
  zdot[0] = q[0] - z[0];
  return disturb(ON_AUXILIARY, zdot, 1);
}

static int kinematics(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x,
                      sunrealtype *y, void *user_data) {
  (void)user_data;
  const Mechanism *m  = mechanism_in_use();
  const int transpose = what == CP_N_INVERSE || what == CP_N_TRANSPOSE, first = m->quaternion;
  sunrealtype E[4][3], norm                                                   = 0.0;
  mechanism_quaternion(m, q + first, E);
  for (int i = 0; i < 4; i++) norm += q[first + i] * q[first + i];
  const sunrealtype scale = what == CP_N || what == CP_N_TRANSPOSE ? 0.5 : 2.0 / norm;
  memcpy(y, x, (size_t)first * sizeof *y);
  for (int i = 0; i < (transpose ? 3 : 4); i++) {
    y[first + i] = 0.0;
    for (int k = 0; k < (transpose ? 4 : 3); k++)
      y[first + i] += scale * (transpose ? E[k][i] : E[i][k]) * x[first + k];
  }
  return disturb(ON_KINEMATICS, y, transpose ? m->nu : m->nq);
}

/* ---- operators ---- */

static int recursion(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda, void *user_data) {
  (void)z, (void)user_data;
  mechanism_accelerations(mechanism_in_use(), t, q, u, udot, lambda);
  return disturb(ON_UDOT, udot, mechanism_in_use()->nu);
}

static int inverse(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *a, sunrealtype *r, void *user_data) {
  const At at    = {.m = mechanism_in_use()};
  const int flag = forces(t, q, u, z, r, user_data);
  for (int i = 0; i < at.m->nu; i++) r[i] = entry_M(&at, i, i) * a[i] - r[i];
  return flag ? flag : disturb(ON_INVERSE, r, at.m->nu);
}

static int times_A(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                   void *user_data) {
  (void)t, (void)user_data;
  const At at = {.m = mechanism_in_use(), .q = q};
  for (int i = 0; i < at.m->na; i++) {
    y[i] = 0.0;
    for (int j = 0; j < at.m->nu; j++) y[i] += entry_A(&at, i, j) * x[j];
  }
  return disturb(ON_TIMES, y, at.m->na);
}

static int times_AT(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                    void *user_data) {
  (void)t, (void)user_data;
  const At at = {.m = mechanism_in_use(), .q = q};
  for (int j = 0; j < at.m->nu; j++) {
    y[j] = 0.0;
    for (int i = 0; i < at.m->na; i++) y[j] += entry_A(&at, i, j) * x[i];
  }
  return disturb(ON_TIMES, y, at.m->nu);
}

static int times_M(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                   void *user_data) {
  (void)t, (void)q, (void)user_data;
  const At at = {.m = mechanism_in_use()};
  for (int i = 0; i < at.m->nu; i++) y[i] = entry_M(&at, i, i) * x[i];
  return disturb(ON_TIMES, y, at.m->nu);
}

static int times_M_inverse(sunrealtype t, const sunrealtype *q, const sunrealtype *x,
                           sunrealtype *y, void *user_data) {
  (void)t, (void)q, (void)user_data;
  const At at = {.m = mechanism_in_use()};
  for (int i = 0; i < at.m->nu; i++) y[i] = x[i] / entry_M(&at, i, i);
  return disturb(ON_TIMES, y, at.m->nu);
}

/* ---- partial derivatives ---- */

static sunrealtype entry_K(const void *data, int i, int j) {
  const At *at = data;
  if (i != j) return 0.0;
  if (i == at->m->x) return -2.0;
  sunrealtype sum = 0.0;
  for (int k = 0; k < mechanism_pendulum_rows(at->m); k++) sum -= (k + 1) * at->lambda[k];
  return i < 2 ? sum : 0.0;
}

static sunrealtype entry_C(const void *data, int i, int j) {
  const At *at = data;
  return i != j ? 0.0 : i == 0 ? -at->m->p[BY_DAMPING] : i == at->m->x ? -0.4 : 0.0;
}

static sunrealtype entry_Bq(const void *data, int i, int j) {
  const At *at = data;
  if (i < mechanism_pendulum_rows(at->m)) return j < 2 ? -(i + 1) * at->udot[j] : 0.0;
  return j == at->m->x && (at->m->features & ACCELERATION) ? -1.0 : 0.0;
}

static sunrealtype entry_Bu(const void *data, int i, int j) {
  const At *at = data;
  if (i < mechanism_pendulum_rows(at->m)) return j < 2 ? -2.0 * (i + 1) * at->u[j] : 0.0;
  return j == 0 && (at->m->features & NONHOLONOMIC) ? 0.2 : 0.0;
}

/* If M and A are sparse, matrices without a template are NULL. */
static int filled_both(SUNMatrix K, MatrixEntry k, SUNMatrix C, MatrixEntry c, const At *at) {
  sunrealtype *values = NULL;
  long n              = 0;
  if (C) n = matrix_fill(C, c, at, &values);
  if (K) n = matrix_fill(K, k, at, &values);
  return disturb(ON_PARTIALS, values, n);
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)z, (void)Fz, (void)user_data;
  const At at = {mechanism_in_use(), q, u, udot, lambda};
  return filled_both(K, entry_K, C, entry_C, &at);
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)user_data;
  const At at = {mechanism_in_use(), q, u, udot, NULL};
  return filled_both(Bq, entry_Bq, Bu, entry_Bu, &at);
}

static int auxiliary_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Zq,
                         SUNMatrix Zu, SUNMatrix Zz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)Zu, (void)user_data;
  SUNMatrix const of[2]      = {Zq, Zz};
  const sunrealtype entry[2] = {1.0, -1.0};
  for (int k = 0; k < 2; k++)
    if (!of[k]) continue;
    else if (SUNMatGetID(of[k]) == SUNMATRIX_DENSE) SM_DATA_D(of[k])[0] = entry[k];
    else SM_DATA_S(of[k])[0] = entry[k]; /* full: its first entry is that of row and column 0 */
  return disturb(ON_PARTIALS, NULL, 0);
}

int mechanism_model(const Mechanism *m, int partials, int own_velocity, int own_b, SUNContext ctx,
                    CPEquations *model) {
  const At at = {.m = m};
  *model      = (CPEquations){CP_SIZED(CPEquations), .nu = m->nu, .nz = m->nz,
                              .np = m->np,           .nv = m->nv, .na = m->na};
  model->nq   = m->nq;
  model->p    = positions;
  if (own_velocity || m->nv > m->np) model->v = velocities;
  if (own_b || m->na > m->nv) model->b = accelerations_b;
  if (m->nz) model->zdot = auxiliary;
  if (m->features & KINEMATICS) model->N = kinematics;
  if (m->form == OPERATORS || m->form == BESIDE) model->udot = recursion;
  if (m->form == OPERATORS) {
    model->Au = times_A, model->ATl = times_AT, model->Mu = times_M, model->Minv = times_M_inverse;
    return 1;
  }
  if (m->form == INVERSE) {
    model->inverse = inverse, model->Mu = m->nz ? times_M : NULL;
    if (m->na) model->Au = times_A, model->ATl = times_AT;
  } else {
    model->M = mass, model->A = rows, model->f = forces;
  }
  if (m->features & FRICTION) model->f_lambda = friction;
  else if (partials) {
    model->dynamics_jac = dynamics_jac, model->constraint_jac = constraint_jac;
    if (m->nz) model->auxiliary_jac = auxiliary_jac;
  }
  if (m->form != CSC && m->form != CSR) return 1;
  model->M_tmpl = matrix_of(m->form, m->nu, m->nu, has_M, &at, ctx);
  model->A_tmpl = matrix_of(m->form, m->na, m->nu, has_A, &at, ctx);
  if (partials > 1) {
    model->K_tmpl = model->C_tmpl = model->M_tmpl;
    model->Bq_tmpl = model->Bu_tmpl = model->A_tmpl;
  }
  return model->M_tmpl && model->A_tmpl;
}

/* ---- motions ---- */

int mechanism_motion(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = 0.3 * sin(2 * t);
  return disturb(ON_MOTION, g, 1);
}

int mechanism_motion_rate(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = 0.6 * cos(2 * t);
  return disturb(ON_MOTION, g, 1);
}

int mechanism_motion_acceleration(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = -1.2 * sin(2 * t);
  return disturb(ON_MOTION, g, 1);
}

/* ---- sensitivities ---- */

int mechanism_constraint_sens(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data) {
  (void)t, (void)y, (void)user_data;
  const Mechanism *m = mechanism_in_use();
  sunrealtype *c     = N_VGetArrayPointer(cp);
  if (iS == BY_LENGTH)
    for (int i = 0; i < mechanism_pendulum_rows(m); i++) c[i] = -(i + 1) * m->p[BY_LENGTH];
  return disturb(ON_CONSTRAINT_SENS, c, m->m);
}

int mechanism_param_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        int iS, sunrealtype *Fp, sunrealtype *Bp, sunrealtype *pp, sunrealtype *vp,
                        sunrealtype *Zp, void *user_data) {
  (void)t, (void)q, (void)z, (void)udot, (void)lambda, (void)Bp, (void)vp, (void)Zp, (void)user_data;
  const Mechanism *m = mechanism_in_use();
  if (iS == BY_GRAVITY) Fp[1] = -1.0;
  if (iS == BY_DAMPING) Fp[0] = -u[0];
  if (iS == BY_LENGTH)
    for (int i = 0; i < mechanism_pendulum_rows(m); i++) pp[i] = -(i + 1) * m->p[BY_LENGTH];
  return disturb(ON_PARAM_JAC, Fp, m->nu);
}

int mechanism_functional(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data) {
  (void)t, (void)user_data;
  values[0] = N_VGetArrayPointer(y)[0];
  return disturb(ON_FUNCTIONAL, values, 1);
}

int mechanism_functional_grad(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                              void *user_data) {
  (void)t, (void)y, (void)k, (void)gp, (void)user_data;
  N_VGetArrayPointer(gy)[0] = 1.0;
  return disturb(ON_FUNCTIONAL_GRAD, N_VGetArrayPointer(gy), mechanism_in_use()->n);
}

/* Every rod starts at rest from the same angle. */
int mechanism_consistent_start(sunrealtype t0, N_Vector y0, void *user_data) {
  (void)user_data;
  const sunrealtype choice[4] = {-0.2, 0.0, 0.1, 0.1};
  mechanism_start(mechanism_in_use(), t0, choice, N_VGetArrayPointer(y0));
  return disturb(ON_START, N_VGetArrayPointer(y0), mechanism_in_use()->n);
}

void mechanism_coordinates(const Mechanism *m, CPEquations *model) {
  static CPQuaternion quaternion; /* of one mechanism at a time */
  static CPFixedNorm norm;
  static CPMotion motion;
  quaternion = (CPQuaternion){m->quaternion, m->omega, m->frame};
  norm       = (CPFixedNorm){m->quaternion, 4, 1.0};
  motion     = (CPMotion){.coordinate = m->x, .g = mechanism_motion, .step = 1e-3};
  if (m->quaternion >= 0 && m->features & KINEMATICS) model->norms = &norm, model->nnorms = 1;
  else if (m->quaternion >= 0) model->quaternions = &quaternion, model->nquaternions = 1;
  if (m->features & DRIVEN) model->motions = &motion, model->nmotions = 1;
}
