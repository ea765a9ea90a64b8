#include "car_axis.h"

#include "kkt2.h"
#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

CarAxis car_axis_testset(void) {
  return (CarAxis){.L = 1, .L0 = 0.5, .eps = 1e-2, .m = 10, .r = 0.1, .w = 10, .grav = 1};
}

/* Foot (xb, yb) of the right spring and its first and second time derivative */
typedef struct {
  sunrealtype x, y, xd, yd, xdd, ydd;
} Foot;

static Foot foot(const CarAxis *a, sunrealtype t) {
  Foot b;
  b.y   = a->r * sin(a->w * t);
  b.yd  = a->r * a->w * cos(a->w * t);
  b.ydd = -a->w * a->w * b.y;
  b.x   = sqrt(a->L * a->L - b.y * b.y); /* and from xb^2 + yb^2 = L^2, differentiated: */
  b.xd  = -b.y * b.yd / b.x;
  b.xdd = -(b.xd * b.xd + b.yd * b.yd + b.y * b.ydd) / b.x;
  return b;
}

static sunrealtype mass_of(const CarAxis *a) { return a->m * a->eps * a->eps / 2; } /* K */

/* Forces of springs and weights */
static void forces(const CarAxis *a, const Foot *b, const sunrealtype *q, sunrealtype Q[4]) {
  const sunrealtype Ll = hypot(q[0], q[1]), Lr = hypot(q[2] - b->x, q[3] - b->y);
  const sunrealtype weight = mass_of(a) * a->grav;

  Q[0] = (a->L0 - Ll) * q[0] / Ll;
  Q[1] = (a->L0 - Ll) * q[1] / Ll - weight;
  Q[2] = (a->L0 - Lr) * (q[2] - b->x) / Lr;
  Q[3] = (a->L0 - Lr) * (q[3] - b->y) / Lr - weight;
}

/* b: minus the second derivatives of the constraints without those of q */
static void centripetal(const Foot *b, const sunrealtype *q, const sunrealtype *v,
                        sunrealtype rhs[2]) {
  const sunrealtype dxd = v[0] - v[2], dyd = v[1] - v[3];
  rhs[0] = -2 * (v[0] * b->xd + v[1] * b->yd) - q[0] * b->xdd - q[1] * b->ydd;
  rhs[1] = -2 * (dxd * dxd + dyd * dyd);
}

/* K a + G^T lambda = Q,  G a = b */
int car_axis_accelerations(const CarAxis *a, sunrealtype t, N_Vector y, sunrealtype acc[4],
                           sunrealtype lambda[2]) {
  const Foot b         = foot(a, t);
  const sunrealtype *q = N_VGetArrayPointer(y), *v = q + 4;
  const sunrealtype dx = q[0] - q[2], dy = q[1] - q[3];
  const sunrealtype K = mass_of(a), mass[4] = {K, K, K, K};
  const sunrealtype G1[4] = {b.x, b.y, 0, 0};
  const sunrealtype G2[4] = {2 * dx, 2 * dy, -2 * dx, -2 * dy};
  sunrealtype Q[4], rhs[2];
  forces(a, &b, q, Q);
  centripetal(&b, q, v, rhs);
  return kkt2_solve(4, mass, G1, G2, Q, rhs, acc, lambda);
}

int car_axis_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *sd      = N_VGetArrayPointer(ydot);
  sunrealtype lambda[2];

  for (int i = 0; i < 4; i++) sd[i] = s[4 + i];
  return car_axis_accelerations(user_data, t, y, sd + 4, lambda);
}

static int position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const CarAxis *a     = user_data;
  const Foot b         = foot(a, t);
  const sunrealtype dx = q[0] - q[2], dy = q[1] - q[3];
  p[0] = q[0] * b.x + q[1] * b.y;
  p[1] = dx * dx + dy * dy - a->L * a->L;
  return 0;
}

static int velocity(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                    void *user_data) {
  const Foot b = foot(user_data, t);
  v[0]         = u[0] * b.x + u[1] * b.y + q[0] * b.xd + q[1] * b.yd;
  v[1]         = 2 * ((q[0] - q[2]) * (u[0] - u[2]) + (q[1] - q[3]) * (u[1] - u[3]));
  return 0;
}

int car_axis_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  const sunrealtype *q = N_VGetArrayPointer(y);
  sunrealtype *r       = N_VGetArrayPointer(c);
  position(t, q, r, user_data);
  velocity(t, q, q + 4, r + 2, user_data);
  return 0;
}

int car_axis_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)c;
  const Foot b         = foot(user_data, t);
  const sunrealtype *q = N_VGetArrayPointer(y), *v = q + 4;
  const sunrealtype base[2] = {b.x, b.y}, base_dot[2] = {b.xd, b.yd};

  for (int i = 0; i < 2; i++) { /* the x and the y components */
    const sunrealtype d = 2 * (q[i] - q[2 + i]), d_dot = 2 * (v[i] - v[2 + i]);
    SM_ELEMENT_D(G, 0, i)     = base[i];
    SM_ELEMENT_D(G, 1, i)     = d;
    SM_ELEMENT_D(G, 1, 2 + i) = -d;
    SM_ELEMENT_D(G, 2, i)     = base_dot[i];
    SM_ELEMENT_D(G, 2, 4 + i) = base[i];
    SM_ELEMENT_D(G, 3, i)     = d_dot;
    SM_ELEMENT_D(G, 3, 2 + i) = -d_dot;
    SM_ELEMENT_D(G, 3, 4 + i) = d;
    SM_ELEMENT_D(G, 3, 6 + i) = -d;
  }
  return 0;
}

/* ------------------------------------------------------------------- by masses and forces -- */

static int mass_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  for (int i = 0; i < 4; i++) SM_ELEMENT_D(M, i, i) = mass_of(user_data);
  return 0;
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const Foot b              = foot(user_data, t);
  const sunrealtype base[2] = {b.x, b.y};
  for (int i = 0; i < 2; i++) { /* the x and the y components */
    SM_ELEMENT_D(A, 0, i)     = base[i];
    SM_ELEMENT_D(A, 1, i)     = 2 * (q[i] - q[2 + i]);
    SM_ELEMENT_D(A, 1, 2 + i) = -2 * (q[i] - q[2 + i]);
  }
  return 0;
}

static int acceleration(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                        void *user_data) {
  const Foot base = foot(user_data, t);
  centripetal(&base, q, u, b);
  return 0;
}

static int applied(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)u, (void)z;
  const Foot b = foot(user_data, t);
  forces(user_data, &b, q, f);
  return 0;
}

/* K += derivative of the force -(l - L0) e of the spring with the vector l e = (dx, dy) in its own two
   coordinates from `first` on: -e e^T - (1 - L0 / l) (I - e e^T) */
static void spring_stiffness(sunrealtype L0, sunrealtype dx, sunrealtype dy, int first, SUNMatrix K) {
  const sunrealtype l = hypot(dx, dy), e[2] = {dx / l, dy / l}, across = 1 - L0 / l;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      SM_ELEMENT_D(K, first + i, first + j) += (across - 1) * e[i] * e[j] - (i == j ? across : 0);
}

/* K = d/dq (f - A^T lambda): the axle's multiplier acts like a spring of stiffness 2 lambda2 */
static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)u, (void)z, (void)udot, (void)C, (void)Fz;
  const CarAxis *a = user_data;
  const Foot b     = foot(a, t);
  spring_stiffness(a->L0, q[0], q[1], 0, K);
  spring_stiffness(a->L0, q[2] - b.x, q[3] - b.y, 2, K);
  for (int i = 0; i < 4; i++) {
    SM_ELEMENT_D(K, i, i) -= 2 * lambda[1];
    SM_ELEMENT_D(K, i, (i + 2) % 4) += 2 * lambda[1];
  }
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)q;
  const Foot b            = foot(user_data, t);
  const sunrealtype bd[2] = {b.xd, b.yd}, bdd[2] = {b.xdd, b.ydd};
  for (int i = 0; i < 2; i++) { /* the x and the y components */
    SM_ELEMENT_D(Bq, 0, i) = -bdd[i];
    SM_ELEMENT_D(Bu, 0, i) = -2 * bd[i];
    for (int side = 0; side < 2; side++) {
      const int sign                    = side ? 1 : -1;
      SM_ELEMENT_D(Bq, 1, 2 * side + i) = sign * 2 * (udot[i] - udot[2 + i]);
      SM_ELEMENT_D(Bu, 1, 2 * side + i) = sign * 4 * (u[i] - u[2 + i]);
    }
  }
  return 0;
}

CPEquations car_axis_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = 4,
                       .np             = 2,
                       .M              = mass_matrix,
                       .A              = constraint_matrix,
                       .f              = applied,
                       .p              = position,
                       .v              = velocity,
                       .b              = acceleration,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

/* ------------------------------------------------------------------------------------- motion -- */

void car_axis_initial(const CarAxis *a, N_Vector y) {
  sunrealtype *s = N_VGetArrayPointer(y);

  N_VConst(0, y);
  s[1] = a->L0;
  s[2] = a->L;
  s[3] = a->L0;
  s[4] = s[6] = -a->r * a->w * a->L0 / a->L; /* velocity constraint at t = 0: xl' L + yl r w = 0 */
}

void car_axis_foot(const CarAxis *a, sunrealtype t, sunrealtype x[2]) {
  const Foot b = foot(a, t);
  x[0]         = b.x;
  x[1]         = b.y;
}
