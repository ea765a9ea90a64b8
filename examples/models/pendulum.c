#include "pendulum.h"

#include "elliptic.h"
#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

int pendulum_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  const Pendulum *p     = user_data;
  const sunrealtype *s  = N_VGetArrayPointer(y);
  sunrealtype *sd       = N_VGetArrayPointer(ydot);
  const sunrealtype tau = (s[2] * s[2] + s[3] * s[3] - p->g * s[1]) / (p->L * p->L);

  sd[0] = s[2];
  sd[1] = s[3];
  sd[2] = -s[0] * tau;
  sd[3] = -s[1] * tau - p->g;
  return 0;
}

int pendulum_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const Pendulum *p    = user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *r       = N_VGetArrayPointer(c);

  r[0] = s[0] * s[0] + s[1] * s[1] - p->L * p->L;
  r[1] = s[0] * s[2] + s[1] * s[3];
  return 0;
}

int pendulum_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);

  for (int j = 0; j < 2; j++) {
    SM_ELEMENT_D(G, 0, j)     = 2 * s[j];
    SM_ELEMENT_D(G, 1, j)     = s[2 + j];
    SM_ELEMENT_D(G, 1, 2 + j) = s[j];
  }
  return 0;
}

/* ------------------------------------------------------------------- by masses and forces -- */

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 2; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -((const Pendulum *)user_data)->g;
  return 0;
}

static int stretch(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  const sunrealtype L = ((const Pendulum *)user_data)->L;
  p[0]                = (q[0] * q[0] + q[1] * q[1] - L * L) / (2 * L);
  return 0;
}

static int direction(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  for (int i = 0; i < 2; i++) SM_ELEMENT_D(A, 0, i) = q[i] / ((const Pendulum *)user_data)->L;
  return 0;
}

static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                       void *user_data) {
  (void)t, (void)q;
  b[0] = -(u[0] * u[0] + u[1] * u[1]) / ((const Pendulum *)user_data)->L;
  return 0;
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)C, (void)Fz;
  for (int i = 0; i < 2; i++) SM_ELEMENT_D(K, i, i) = -lambda[0] / ((const Pendulum *)user_data)->L;
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)q;
  const sunrealtype L = ((const Pendulum *)user_data)->L;
  for (int i = 0; i < 2; i++) {
    SM_ELEMENT_D(Bq, 0, i) = -udot[i] / L;
    SM_ELEMENT_D(Bu, 0, i) = -2 * u[i] / L;
  }
  return 0;
}

CPEquations pendulum_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = 2,
                       .np             = 1,
                       .M              = unit_mass,
                       .A              = direction,
                       .f              = weight,
                       .p              = stretch,
                       .b              = centripetal,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

sunrealtype pendulum_tension(const Pendulum *p, N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  return (s[2] * s[2] + s[3] * s[3] - p->g * s[1]) / p->L;
}

/* ------------------------------------------------------------------------------ redundant rows -- */

int pendulum_constraints_redundant(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  sunrealtype *r = N_VGetArrayPointer(c);

  int flag = pendulum_constraints(t, y, c, user_data); /* fills the first two */
  r[2]     = r[0] + r[1];
  return flag;
}

int pendulum_jacobian_redundant(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  int flag = pendulum_jacobian(t, y, c, G, user_data);
  for (int j = 0; j < PENDULUM_N; j++)
    SM_ELEMENT_D(G, 2, j) = SM_ELEMENT_D(G, 0, j) + SM_ELEMENT_D(G, 1, j);
  return flag;
}

/* ------------------------------------------------------------------------------------- motion -- */

void pendulum_initial(const Pendulum *p, N_Vector y) {
  N_VConst(0, y);
  N_VGetArrayPointer(y)[0] = p->L;
}

sunrealtype pendulum_energy(const Pendulum *p, N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  return (s[2] * s[2] + s[3] * s[3]) / 2 + p->g * s[1];
}

/* With psi the angle from the downward vertical, psi(0) = pi/2, k = sqrt(1/2), w = sqrt(g/L):
   sin psi = 2 k sn dn,  cos psi = 1 - sn^2,  psi' = 2 k w cn   at K + w t */
void pendulum_exact(const Pendulum *p, sunrealtype t, sunrealtype *y) {
  const sunrealtype k = sqrt(SUN_RCONST(0.5)), w = sqrt(p->g / p->L);
  const sunrealtype m = SUN_RCONST(0.5), am = elliptic_amplitude(elliptic_quarter(m) + w * t, m);
  const sunrealtype sn = sin(am), cn = cos(am), dn = sqrt(1 - m * sn * sn);
  const sunrealtype sin_psi = 2 * k * sn * dn, cos_psi = cn * cn, psi_dot = 2 * k * w * cn;

  y[0] = p->L * sin_psi;
  y[1] = -p->L * cos_psi;
  y[2] = p->L * psi_dot * cos_psi;
  y[3] = p->L * psi_dot * sin_psi;
}
