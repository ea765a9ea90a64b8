#include "newton_cradle.h"

#include "elliptic.h"
#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { X1, Y1, X2, Y2, Z = 2 * NEWTON_CRADLE_NQ };

#define FORCE   SUN_RCONST(3.0) /* [m/s^2], of case 2 */
#define FORCE_W SUN_RCONST(5.0) /* [rad/s] */
#define PI      SUN_RCONST(3.14159265358979323846)

/* Rod i as seen from its pivot */
static void rod_of(const NewtonCradle *c, int i, const sunrealtype *q, sunrealtype rod[2]) {
  rod[0] = q[2 * i] - (i == 0 ? c->R : -c->R);
  rod[1] = q[2 * i + 1];
}

sunrealtype newton_cradle_force_end(const NewtonCradle *c) {
  return c->driven ? 2 * PI / FORCE_W : 0;
}

/* F_1 */
static sunrealtype push(const NewtonCradle *c, sunrealtype t) {
  return t < newton_cradle_force_end(c) ? c->m * FORCE * (1 - cos(FORCE_W * t)) : 0;
}

/* -------------------------------------------------------------------------------- the system -- */

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  const NewtonCradle *c = user_data;
  for (int i = 0; i < NEWTON_CRADLE_NQ; i++) SM_ELEMENT_D(M, i, i) = c->m;
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)q, (void)u, (void)z;
  const NewtonCradle *c = user_data;
  f[X1]                 = push(c, t);
  f[Y1] = f[Y2] = -c->m * c->g;
  return 0;
}

static int work(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *zdot, void *user_data) {
  (void)q, (void)z, (void)lambda;
  zdot[0] = push(user_data, t) * u[X1];
  return 0;
}

static int stretch(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  const NewtonCradle *c = user_data;
  for (int i = 0; i < NEWTON_CRADLE_NP; i++) {
    sunrealtype rod[2];
    rod_of(c, i, q, rod);
    p[i] = (rod[0] * rod[0] + rod[1] * rod[1] - c->L * c->L) / (2 * c->L);
  }
  return 0;
}

static int directions(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  const NewtonCradle *c = user_data;
  for (int i = 0; i < NEWTON_CRADLE_NP; i++) {
    sunrealtype rod[2];
    rod_of(c, i, q, rod);
    for (int k = 0; k < 2; k++) SM_ELEMENT_D(A, i, 2 * i + k) = rod[k] / c->L;
  }
  return 0;
}

static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                       void *user_data) {
  (void)t, (void)q;
  const NewtonCradle *c = user_data;
  for (int i = 0; i < NEWTON_CRADLE_NP; i++)
    b[i] = -(u[2 * i] * u[2 * i] + u[2 * i + 1] * u[2 * i + 1]) / c->L;
  return 0;
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)C, (void)Fz;
  const NewtonCradle *c = user_data;
  for (int i = 0; i < NEWTON_CRADLE_NQ; i++) SM_ELEMENT_D(K, i, i) = -lambda[i / 2] / c->L;
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)q;
  const NewtonCradle *c = user_data;
  for (int i = 0; i < NEWTON_CRADLE_NQ; i++) {
    SM_ELEMENT_D(Bq, i / 2, i) = -udot[i] / c->L;
    SM_ELEMENT_D(Bu, i / 2, i) = -2 * u[i] / c->L;
  }
  return 0;
}

static int work_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, SUNMatrix Zq, SUNMatrix Zu, SUNMatrix Zz,
                    void *user_data) {
  (void)q, (void)u, (void)z, (void)lambda, (void)Zq, (void)Zz;
  SM_ELEMENT_D(Zu, 0, X1) = push(user_data, t);
  return 0;
}

CPEquations newton_cradle_model(const NewtonCradle *c) {
  CPEquations model = {CP_SIZED(CPEquations),
                       .nu             = NEWTON_CRADLE_NQ,
                       .np             = NEWTON_CRADLE_NP,
                       .M              = mass,
                       .A              = directions,
                       .f              = forces,
                       .p              = stretch,
                       .b              = centripetal,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
  if (c->driven) {
    model.nz            = 1;
    model.zdot          = work;
    model.auxiliary_jac = work_jac;
  }
  return model;
}

void newton_cradle_initial(const NewtonCradle *c, N_Vector y) {
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + NEWTON_CRADLE_NQ;
  N_VConst(0, y);
  q[X1] = c->R;
  q[X2] = -c->R;
  q[Y1] = q[Y2] = -c->L;
  u[X1]         = c->driven ? 0 : c->V;
}

sunrealtype newton_cradle_energy(const NewtonCradle *c, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + NEWTON_CRADLE_NQ;
  sunrealtype kinetic = 0;
  for (int i = 0; i < NEWTON_CRADLE_NQ; i++) kinetic += c->m * u[i] * u[i] / 2;
  return kinetic + c->m * c->g * (q[Y1] + q[Y2]);
}

/* ----------------------------------------------------------------------------------- impacts -- */

sunrealtype newton_cradle_gap(const NewtonCradle *c, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), dx = q[X1] - q[X2], dy = q[Y1] - q[Y2];
  return dx * dx + dy * dy - 4 * c->R * c->R;
}

void newton_cradle_impact(const NewtonCradle *c, N_Vector y) {
  sunrealtype *q = N_VGetArrayPointer(y), *u = q + NEWTON_CRADLE_NQ;
  const sunrealtype dx = q[X1] - q[X2], dy = q[Y1] - q[Y2], distance = sqrt(dx * dx + dy * dy);
  sunrealtype tangent[2][2], speed[2], a[2];
  for (int i = 0; i < 2; i++) {
    sunrealtype rod[2];
    rod_of(c, i, q, rod);
    const sunrealtype length = sqrt(rod[0] * rod[0] + rod[1] * rod[1]);
    tangent[i][0]            = -rod[1] / length;
    tangent[i][1]            = rod[0] / length;
    speed[i]                 = tangent[i][0] * u[2 * i] + tangent[i][1] * u[2 * i + 1];
    a[i]                     = (tangent[i][0] * dx + tangent[i][1] * dy) / distance;
  }
  const sunrealtype closing = a[1] * speed[1] - a[0] * speed[0];
  if (closing <= 0) return;
  const sunrealtype P = 2 * closing / (a[0] * a[0] + a[1] * a[1]); /* per mass */
  for (int k = 0; k < 2; k++) {
    u[k] += P * a[0] * tangent[0][k];
    u[2 + k] -= P * a[1] * tangent[1][k];
  }
}

/* ------------------------------------------------------------------------------- closed form -- */

/* Case 2: first impact and its speed, from the source's motion under F (Taylor series with 18 digits, then
   the pendulum's elliptic integral) */
#define DRIVEN_IMPACT SUN_RCONST(1.66074269060055)
#define DRIVEN_SPEED  SUN_RCONST(2.71020785798696)

/* The pendulum that both balls form: its speed at the lowest point, and a time at which it is there */
static sunrealtype lowest_speed(const NewtonCradle *c) { return c->driven ? DRIVEN_SPEED : c->V; }

static sunrealtype parameter_of(const NewtonCradle *c) {
  return pow(lowest_speed(c), 2) / (4 * c->g * c->L);
}

static sunrealtype half_period(const NewtonCradle *c) {
  return 2 * elliptic_quarter(parameter_of(c)) * sqrt(c->L / c->g);
}

int newton_cradle_is_known(const NewtonCradle *c) {
  if (c->driven) return c->L == 1 && fabs(c->g - SUN_RCONST(9.8)) < 10 * SUN_UNIT_ROUNDOFF;
  return parameter_of(c) < 1;
}

sunrealtype newton_cradle_impact_time(const NewtonCradle *c, int i) {
  return (c->driven ? DRIVEN_IMPACT - half_period(c) : 0) + i * half_period(c);
}

/* Ball i and its rod's tension if the rod is at the angle psi from the downward vertical */
static void place(const NewtonCradle *c, int i, sunrealtype sine, sunrealtype cosine,
                  sunrealtype psi_dot, sunrealtype *y, sunrealtype *lambda) {
  if (y) {
    sunrealtype *u = y + NEWTON_CRADLE_NQ;
    y[2 * i]       = c->L * sine + (i == 0 ? c->R : -c->R);
    y[2 * i + 1]   = -c->L * cosine;
    u[2 * i]       = c->L * psi_dot * cosine;
    u[2 * i + 1]   = c->L * psi_dot * sine;
  }
  if (lambda) lambda[i] = c->m * (c->g * cosine + c->L * psi_dot * psi_dot);
}

/* With k = sqrt(m), w = sqrt(g/L), since the pendulum has been at the lowest point, going right, at t_0:
   sin psi = 2 k sn dn,  cos psi = 1 - 2 m sn^2,  psi' = 2 k w cn   at w (t - t_0) */
int newton_cradle_exact(const NewtonCradle *c, sunrealtype t, sunrealtype *y, sunrealtype *lambda) {
  const int at_rest = c->driven && t == 0;
  if (!at_rest && t < newton_cradle_force_end(c)) return 1;
  const sunrealtype w = sqrt(c->g / c->L), m = parameter_of(c), k = sqrt(m);
  const sunrealtype am = elliptic_amplitude(w * (t - newton_cradle_impact_time(c, 0)), m);
  const sunrealtype sn = sin(am), cn = cos(am), dn = sqrt(1 - m * sn * sn);
  const int left = sn < 0 || (sn == 0 && cn < 0);
  for (int i = 0; i < 2; i++) {
    if (i == left && !at_rest) {
      place(c, i, 2 * k * sn * dn, 1 - 2 * m * sn * sn, 2 * k * w * cn, y, lambda);
    } else {
      place(c, i, 0, 1, 0, y, lambda);
    }
  }
  if (y && c->driven) y[Z] = at_rest ? 0 : c->m * pow(DRIVEN_SPEED, 2) / 2;
  return 0;
}
