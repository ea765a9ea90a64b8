#include "slider_crank.h"

#include "kkt2.h"
#include "slider_crank_impl.h"
#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

SliderCrank slider_crank_haug(void) {
  return (SliderCrank){.a = 0.5, .J1 = 1, .m2 = 1, .J2 = 2, .k = 1, .c = 1, .l0 = 1, .F = 1};
}

/* Length l and rate l' of the spring at r = (q, x, p), u = r' */
static void spring(const SliderCrank *s, const sunrealtype *r, const sunrealtype *u, sunrealtype *l,
                   sunrealtype *l_dot) {
  const sunrealtype a = s->a, q = r[0], x = r[1], p = r[2], qd = u[0], xd = u[1], pd = u[2];
  const sunrealtype reach = cos(p) + a * cos(q);

  *l     = sqrt(x * x - x * reach + (1 + a * a) / 4 + a * cos(p - q) / 2);
  *l_dot = (2 * x * xd - xd * reach + x * (sin(p) * pd + a * sin(q) * qd) -
            a * sin(p - q) * (pd - qd) / 2) /
           (2 * *l);
}

/* Generalised forces Q of spring, damper and F */
static void forces(const SliderCrank *s, const sunrealtype *r, const sunrealtype *u,
                   sunrealtype Q[3]) {
  const sunrealtype a = s->a, q = r[0], x = r[1], p = r[2];
  sunrealtype l, l_dot;
  spring(s, r, u, &l, &l_dot);
  const sunrealtype phi = (s->k * (l - s->l0) + s->c * l_dot) / l;

  Q[0] = -phi * a * (sin(p - q) / 2 + x * sin(q)) / 2;
  Q[1] = phi * (cos(p) / 2 - x + a * cos(q) / 2) + s->F;
  Q[2] = -phi * (x * sin(p) - a * sin(p - q) / 2) / 2 - s->F * sin(p);
}

/* b = -G' (q', x', p') */
static void centripetal(const SliderCrank *s, const sunrealtype *r, const sunrealtype *u,
                        sunrealtype b[2]) {
  b[0] = -(s->a * cos(r[0]) * u[0] * u[0] + cos(r[2]) * u[2] * u[2]);
  b[1] = -(s->a * sin(r[0]) * u[0] * u[0] + sin(r[2]) * u[2] * u[2]);
}

/* M a + G^T lambda = Q,  G a = b */
static int accelerations(const SliderCrank *s, const sunrealtype *y, sunrealtype acc[3],
                         sunrealtype lambda[2]) {
  const sunrealtype a = s->a, q = y[0], p = y[2];
  const sunrealtype mass[3] = {s->J1, s->m2, s->J2};
  const sunrealtype G1[3]   = {a * sin(q), 1, sin(p)};
  const sunrealtype G2[3]   = {-a * cos(q), 0, -cos(p)};
  sunrealtype Q[3], b[2];
  forces(s, y, y + 3, Q);
  centripetal(s, y, y + 3, b);
  return kkt2_solve(3, mass, G1, G2, Q, b, acc, lambda);
}

int slider_crank_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *sd      = N_VGetArrayPointer(ydot);
  sunrealtype lambda[2];

  for (int i = 0; i < 3; i++) sd[i] = s[3 + i];
  return accelerations(user_data, s, sd + 3, lambda);
}

static int pin_position(sunrealtype t, const sunrealtype *r, sunrealtype *p, void *user_data) {
  (void)t;
  const sunrealtype a = ((const SliderCrank *)user_data)->a;
  p[0]                = r[1] - cos(r[2]) - a * cos(r[0]);
  p[1]                = -sin(r[2]) - a * sin(r[0]);
  return 0;
}

int slider_crank_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  const sunrealtype a  = ((const SliderCrank *)user_data)->a;
  const sunrealtype *s = N_VGetArrayPointer(y);
  const sunrealtype q = s[0], p = s[2], qd = s[3], xd = s[4], pd = s[5];
  sunrealtype *r = N_VGetArrayPointer(c);

  pin_position(t, s, r, user_data);
  r[2] = xd + sin(p) * pd + a * sin(q) * qd;
  r[3] = -cos(p) * pd - a * cos(q) * qd;
  return 0;
}

int slider_crank_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c;
  const sunrealtype a  = ((const SliderCrank *)user_data)->a;
  const sunrealtype *s = N_VGetArrayPointer(y);
  const sunrealtype q = s[0], p = s[2], qd = s[3], pd = s[5];

  for (int v = 0; v < 2; v++) { /* positions by (q, x, p), velocities by their rates */
    SM_ELEMENT_D(G, 2 * v, 3 * v)         = a * sin(q);
    SM_ELEMENT_D(G, 2 * v, 3 * v + 1)     = 1;
    SM_ELEMENT_D(G, 2 * v, 3 * v + 2)     = sin(p);
    SM_ELEMENT_D(G, 2 * v + 1, 3 * v)     = -a * cos(q);
    SM_ELEMENT_D(G, 2 * v + 1, 3 * v + 2) = -cos(p);
  }
  SM_ELEMENT_D(G, 2, 0) = a * cos(q) * qd; /* velocities with respect to positions */
  SM_ELEMENT_D(G, 2, 2) = cos(p) * pd;
  SM_ELEMENT_D(G, 3, 0) = a * sin(q) * qd;
  SM_ELEMENT_D(G, 3, 2) = sin(p) * pd;
  return 0;
}

/* ------------------------------------------------------------------- by masses and forces -- */

static int mass_matrix(sunrealtype t, const sunrealtype *r, SUNMatrix M, void *user_data) {
  (void)t, (void)r;
  const SliderCrank *s  = user_data;
  SM_ELEMENT_D(M, 0, 0) = s->J1;
  SM_ELEMENT_D(M, 1, 1) = s->m2;
  SM_ELEMENT_D(M, 2, 2) = s->J2;
  return 0;
}

static int pin_matrix(sunrealtype t, const sunrealtype *r, SUNMatrix A, void *user_data) {
  (void)t;
  const sunrealtype a   = ((const SliderCrank *)user_data)->a;
  SM_ELEMENT_D(A, 0, 0) = a * sin(r[0]);
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 0, 2) = sin(r[2]);
  SM_ELEMENT_D(A, 1, 0) = -a * cos(r[0]);
  SM_ELEMENT_D(A, 1, 2) = -cos(r[2]);
  return 0;
}

static int pin_acceleration(sunrealtype t, const sunrealtype *r, const sunrealtype *u,
                            sunrealtype *b, void *user_data) {
  (void)t;
  centripetal(user_data, r, u, b);
  return 0;
}

static int applied(sunrealtype t, const sunrealtype *r, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)z;
  forces(user_data, r, u, f);
  return 0;
}

/* K = d/dq (Q - A^T lambda), C = dQ/du; M is constant */
static int dynamics_jac(sunrealtype t, const sunrealtype *r, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)z, (void)udot, (void)Fz;
  const SliderCrank *s     = user_data;
  const CrankSpring spring = crank_spring(s, r, 0, 2);
  crank_spring_partials(s, &spring, 3, u, K, C);
  crank_pin_stiffness(s, r, 2, lambda, K);
  SM_ELEMENT_D(K, 2, 2) -= s->F * cos(r[2]);
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *r, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t;
  crank_pin_partials(user_data, r, u, udot, 2, Bq, Bu);
  return 0;
}

CPEquations slider_crank_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = 3,
                       .np             = 2,
                       .M              = mass_matrix,
                       .A              = pin_matrix,
                       .f              = applied,
                       .p              = pin_position,
                       .b              = pin_acceleration,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

/* ------------------------------------------------------------------------------------- motion -- */

void slider_crank_initial(const SliderCrank *s, N_Vector y) {
  sunrealtype *r = N_VGetArrayPointer(y);

  N_VConst(0, y);
  r[0] = acos(SUN_RCONST(0.0));
  r[2] = asin(-s->a);
  r[1] = cos(r[2]);
}

sunrealtype slider_crank_energy(const SliderCrank *s, N_Vector y) {
  const sunrealtype *r = N_VGetArrayPointer(y);
  sunrealtype l, l_dot;
  spring(s, r, r + 3, &l, &l_dot);

  const sunrealtype kinetic = (s->J1 * r[3] * r[3] + s->m2 * r[4] * r[4] + s->J2 * r[5] * r[5]) / 2;
  return kinetic + s->k * (l - s->l0) * (l - s->l0) / 2 - s->F * (r[1] + cos(r[2]));
}

sunrealtype slider_crank_dissipation(const SliderCrank *s, N_Vector y) {
  const sunrealtype *r = N_VGetArrayPointer(y);
  sunrealtype l, l_dot;
  spring(s, r, r + 3, &l, &l_dot);
  return s->c * l_dot * l_dot;
}

int slider_crank_accelerations(const SliderCrank *s, N_Vector y, sunrealtype acc[3],
                               sunrealtype lambda[2]) {
  return accelerations(s, N_VGetArrayPointer(y), acc, lambda);
}
