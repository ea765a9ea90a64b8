#include "slider_crank.h"

#include "kkt2.h"
#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

SliderCrank slider_crank_haug(void) {
  return (SliderCrank){.a = 0.5, .J1 = 1, .m2 = 1, .J2 = 2, .k = 1, .c = 1, .l0 = 1, .F = 1};
}

/* Length l and rate l' of the spring at (q, x, p, q', x', p') */
static void spring(const SliderCrank *s, const sunrealtype *y, sunrealtype *l, sunrealtype *l_dot) {
  const sunrealtype a = s->a, q = y[0], x = y[1], p = y[2], qd = y[3], xd = y[4], pd = y[5];
  const sunrealtype reach = cos(p) + a * cos(q);

  *l     = sqrt(x * x - x * reach + (1 + a * a) / 4 + a * cos(p - q) / 2);
  *l_dot = (2 * x * xd - xd * reach + x * (sin(p) * pd + a * sin(q) * qd) -
            a * sin(p - q) * (pd - qd) / 2) /
           (2 * *l);
}

/* Generalised forces Q of spring, damper and F */
static void forces(const SliderCrank *s, const sunrealtype *y, sunrealtype Q[3]) {
  const sunrealtype a = s->a, q = y[0], x = y[1], p = y[2];
  sunrealtype l, l_dot;
  spring(s, y, &l, &l_dot);
  const sunrealtype phi = (s->k * (l - s->l0) + s->c * l_dot) / l;

  Q[0] = -phi * a * (sin(p - q) / 2 + x * sin(q)) / 2;
  Q[1] = phi * (cos(p) / 2 - x + a * cos(q) / 2) + s->F;
  Q[2] = -phi * (x * sin(p) - a * sin(p - q) / 2) / 2 - s->F * sin(p);
}

/* M a + G^T lambda = Q,  G a = -G' (q', x', p') */
static int accelerations(const SliderCrank *s, const sunrealtype *y, sunrealtype acc[3],
                         sunrealtype lambda[2]) {
  const sunrealtype a = s->a, q = y[0], p = y[2], qd = y[3], pd = y[5];
  const sunrealtype mass[3] = {s->J1, s->m2, s->J2};
  const sunrealtype G1[3]   = {a * sin(q), 1, sin(p)};
  const sunrealtype G2[3]   = {-a * cos(q), 0, -cos(p)};
  const sunrealtype b[2]    = {-(a * cos(q) * qd * qd + cos(p) * pd * pd),
                               -(a * sin(q) * qd * qd + sin(p) * pd * pd)};
  sunrealtype Q[3];
  forces(s, y, Q);
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

int slider_crank_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const sunrealtype a  = ((const SliderCrank *)user_data)->a;
  const sunrealtype *s = N_VGetArrayPointer(y);
  const sunrealtype q = s[0], x = s[1], p = s[2], qd = s[3], xd = s[4], pd = s[5];
  sunrealtype *r = N_VGetArrayPointer(c);

  r[0] = x - cos(p) - a * cos(q);
  r[1] = -sin(p) - a * sin(q);
  r[2] = xd + sin(p) * pd + a * sin(q) * qd;
  r[3] = -cos(p) * pd - a * cos(q) * qd;
  return 0;
}

int slider_crank_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c;
  const sunrealtype a  = ((const SliderCrank *)user_data)->a;
  const sunrealtype *s = N_VGetArrayPointer(y);
  const sunrealtype q = s[0], p = s[2], qd = s[3], pd = s[5];

  for (int v = 0; v < 2; v++) { /* positions with respect to (q, x, p), velocities to their rates */
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
  spring(s, r, &l, &l_dot);

  const sunrealtype kinetic = (s->J1 * r[3] * r[3] + s->m2 * r[4] * r[4] + s->J2 * r[5] * r[5]) / 2;
  return kinetic + s->k * (l - s->l0) * (l - s->l0) / 2 - s->F * (r[1] + cos(r[2]));
}

sunrealtype slider_crank_dissipation(const SliderCrank *s, N_Vector y) {
  sunrealtype l, l_dot;
  spring(s, N_VGetArrayPointer(y), &l, &l_dot);
  return s->c * l_dot * l_dot;
}

int slider_crank_accelerations(const SliderCrank *s, N_Vector y, sunrealtype acc[3],
                               sunrealtype lambda[2]) {
  return accelerations(s, N_VGetArrayPointer(y), acc, lambda);
}
