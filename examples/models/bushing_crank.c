#include "bushing_crank.h"

#include "slider_crank_impl.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

BushingCrank bushing_crank_stiff(void) {
  return (BushingCrank){.crank = slider_crank_haug(), .K = 1e6, .C = 1e5};
}

static int mass_matrix(sunrealtype t, const sunrealtype *r, SUNMatrix M, void *user_data) {
  (void)t, (void)r;
  const SliderCrank *s                     = &((const BushingCrank *)user_data)->crank;
  const sunrealtype mass[BUSHING_CRANK_NQ] = {s->J1, s->m2, s->m2, s->J2};
  for (int i = 0; i < BUSHING_CRANK_NQ; i++) SM_ELEMENT_D(M, i, i) = mass[i];
  return 0;
}

/* Spring-damper from the middle of the crank to the middle of the rod's upper half, by the vector
   (dx, dy) between them; F; bushing */
static int forces(sunrealtype t, const sunrealtype *r, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)z;
  const BushingCrank *s    = user_data;
  const SliderCrank *k     = &s->crank;
  const sunrealtype half_a = k->a / 2, s1 = sin(r[0]), c1 = cos(r[0]), s2 = sin(r[3]),
                    c2 = cos(r[3]);
  const sunrealtype dx = r[1] - c2 / 2 - half_a * c1, dy = r[2] - s2 / 2 - half_a * s1;
  const sunrealtype dx_dot = u[1] + s2 * u[3] / 2 + half_a * s1 * u[0];
  const sunrealtype dy_dot = u[2] - c2 * u[3] / 2 - half_a * c1 * u[0];
  const sunrealtype l = hypot(dx, dy), l_dot = (dx * dx_dot + dy * dy_dot) / l;
  const sunrealtype phi = (k->k * (l - k->l0) + k->c * l_dot) / l;

  f[0] = -phi * half_a * (dx * s1 - dy * c1);
  f[1] = -phi * dx + k->F;
  f[2] = -phi * dy - s->K * r[2] - s->C * u[2];
  f[3] = -phi * (dx * s2 - dy * c2) / 2 - k->F * s2;
  return 0;
}

static int pin_position(sunrealtype t, const sunrealtype *r, sunrealtype *p, void *user_data) {
  (void)t;
  const sunrealtype a = ((const BushingCrank *)user_data)->crank.a;
  p[0]                = r[1] - cos(r[3]) - a * cos(r[0]);
  p[1]                = r[2] - sin(r[3]) - a * sin(r[0]);
  return 0;
}

static int pin_matrix(sunrealtype t, const sunrealtype *r, SUNMatrix A, void *user_data) {
  (void)t;
  const sunrealtype a   = ((const BushingCrank *)user_data)->crank.a;
  SM_ELEMENT_D(A, 0, 0) = a * sin(r[0]);
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 0, 3) = sin(r[3]);
  SM_ELEMENT_D(A, 1, 0) = -a * cos(r[0]);
  SM_ELEMENT_D(A, 1, 2) = 1;
  SM_ELEMENT_D(A, 1, 3) = -cos(r[3]);
  return 0;
}

static int pin_acceleration(sunrealtype t, const sunrealtype *r, const sunrealtype *u,
                            sunrealtype *b, void *user_data) {
  (void)t;
  const sunrealtype a = ((const BushingCrank *)user_data)->crank.a;
  b[0]                = -(a * cos(r[0]) * u[0] * u[0] + cos(r[3]) * u[3] * u[3]);
  b[1]                = -(a * sin(r[0]) * u[0] * u[0] + sin(r[3]) * u[3] * u[3]);
  return 0;
}

/* K = d/dq (f - A^T lambda), C = df/du; M is constant */
static int dynamics_jac(sunrealtype t, const sunrealtype *r, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)z, (void)udot, (void)Fz;
  const BushingCrank *s    = user_data;
  const CrankSpring spring = crank_spring(&s->crank, r, r[2], 3);
  crank_spring_partials(&s->crank, &spring, BUSHING_CRANK_NQ, u, K, C);
  crank_pin_stiffness(&s->crank, r, 3, lambda, K);
  SM_ELEMENT_D(K, 2, 2) -= s->K;
  SM_ELEMENT_D(C, 2, 2) -= s->C;
  SM_ELEMENT_D(K, 3, 3) -= s->crank.F * cos(r[3]);
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *r, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t;
  crank_pin_partials(&((const BushingCrank *)user_data)->crank, r, u, udot, 3, Bq, Bu);
  return 0;
}

CPEquations bushing_crank_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = BUSHING_CRANK_NQ,
                       .np             = BUSHING_CRANK_NP,
                       .M              = mass_matrix,
                       .A              = pin_matrix,
                       .f              = forces,
                       .p              = pin_position,
                       .b              = pin_acceleration,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

sunrealtype bushing_crank_energy(const BushingCrank *s, N_Vector y) {
  const SliderCrank *k = &s->crank;
  const sunrealtype *r = N_VGetArrayPointer(y), *u = r + BUSHING_CRANK_NQ;
  const CrankSpring spring  = crank_spring(k, r, r[2], 3);
  const sunrealtype stretch = hypot(spring.d[0], spring.d[1]) - k->l0;
  const sunrealtype kinetic =
      (k->J1 * u[0] * u[0] + k->m2 * (u[1] * u[1] + u[2] * u[2]) + k->J2 * u[3] * u[3]) / 2;
  return kinetic + (k->k * stretch * stretch + s->K * r[2] * r[2]) / 2 - k->F * (r[1] + cos(r[3]));
}

void bushing_crank_initial(const BushingCrank *s, N_Vector y) {
  sunrealtype *r = N_VGetArrayPointer(y);
  N_VConst(0, y);
  r[0] = acos(SUN_RCONST(0.0));
  r[3] = asin(-s->crank.a);
  r[1] = cos(r[3]);
}
