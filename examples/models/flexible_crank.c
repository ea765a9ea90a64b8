#include "flexible_crank.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* --------------------------------------------------------------------------------------- rod -- */

#define PI 3.1415927 /* the source's */

enum { PHI1, PHI2, X3, Q1, Q4 = Q1 + 3 };

/* lengths [m], masses [kg], moments of inertia [kg m^2], height of the square section [m], density
   [kg/m^3], Young's modulus [N/m^2] */
static const sunrealtype l1 = 0.15, l2 = 0.30, m2 = 0.151104, m3 = 0.075552, J1 = 0.002727,
                         J2 = 0.0045339259, h = 0.008, rho = 7870, E = 0.20e12;

/* Finite-element matrices of mass, stiffness, damping and gyroscopic coupling, and vectors */
typedef struct {
  sunrealtype M[4][4], K[4][4], D[4][4], B[4][4];
  sunrealtype c1[4], c2[4], c12[4], c21[4];
} Rod;

static Rod rod(void) {
  const sunrealtype fm = rho * h * h * l2, fk = E * h * h / l2, fb = h * h * l2;
  const sunrealtype slender = fk * pow(PI, 4) * (h / l2) * (h / l2);
  const sunrealtype b13 = -16 * fb / pow(PI, 3), b14 = fb * (8 / pow(PI, 3) - 1 / PI);
  const sunrealtype b24 = fb / (2 * PI);
  return (Rod){
      .M   = {{fm / 2, 0, 0, 0}, {0, fm / 2, 0, 0}, {0, 0, 8 * fm, fm}, {0, 0, fm, 2 * fm}},
      .K   = {{slender / 24, 0, 0, 0},
              {0, 2 * slender / 3, 0, 0},
              {0, 0, 16 * fk / 3, -8 * fk / 3},
              {0, 0, -8 * fk / 3, 7 * fk / 3}},
      .D   = {{5, 0, 0, 0},
              {0, 25, 0, 0},
              {0, 0, 230.8375455264791 / 2, -262.688487992052 / 2},
              {0, 0, -262.688487992052 / 2, 421.7421837156818 / 2}},
      .B   = {{0, 0, b13, b14}, {0, 0, 0, b24}, {-b13, 0, 0, 0}, {-b14, -b24, 0, 0}},
      .c1  = {0, 0, fb * 2 / 3, fb / 6},
      .c2  = {fb * 2 / PI, 0, 0, 0},
      .c12 = {0, 0, l2 * fb / 3, l2 * fb / 6},
      .c21 = {l2 * fb / PI, -l2 * fb / (2 * PI), 0, 0},
  };
}

static sunrealtype dot4(const sunrealtype *a, const sunrealtype *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

/* a^T X b */
static sunrealtype form(const sunrealtype *a, sunrealtype X[4][4], const sunrealtype *b) {
  sunrealtype sum = 0;
  for (int i = 0; i < 4; i++) sum += a[i] * dot4(X[i], b);
  return sum;
}

/* -------------------------------------------------------------------------- masses and forces -- */

static void masses(const sunrealtype *q, sunrealtype M[FLEXIBLE_CRANK_NQ][FLEXIBLE_CRANK_NQ]) {
  Rod r               = rod();
  const sunrealtype S = sin(q[PHI1] - q[PHI2]), C = cos(q[PHI1] - q[PHI2]), *e = q + Q1;

  memset(M, 0, FLEXIBLE_CRANK_NQ * sizeof *M);
  M[PHI1][PHI1] = J1 + m2 * l1 * l1;
  M[PHI2][PHI2] = J2 + form(e, r.M, e) + 2 * rho * dot4(r.c12, e);
  M[X3][X3]     = m3;
  M[PHI1][PHI2] = l1 * l2 * m2 * C / 2 + rho * l1 * (S * dot4(r.c2, e) + C * dot4(r.c1, e));
  M[PHI2][PHI1] = M[PHI1][PHI2];
  for (int i = 0; i < 4; i++) {
    M[PHI1][Q1 + i] = M[Q1 + i][PHI1] = rho * l1 * (C * r.c2[i] - S * r.c1[i]);
    /* (e^T B)_i = -(B e)_i */
    M[PHI2][Q1 + i] = M[Q1 + i][PHI2] = rho * (r.c21[i] - dot4(r.B[i], e));
    for (int j = 0; j < 4; j++) M[Q1 + i][Q1 + j] = r.M[i][j];
  }
}

static int mass_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix Mmat, void *user_data) {
  (void)t, (void)user_data;
  sunrealtype M[FLEXIBLE_CRANK_NQ][FLEXIBLE_CRANK_NQ];
  masses(q, M);
  for (int i = 0; i < FLEXIBLE_CRANK_NQ; i++)
    for (int j = 0; j < FLEXIBLE_CRANK_NQ; j++) SM_ELEMENT_D(Mmat, i, j) = M[i][j];
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)z;
  Rod r               = rod();
  const sunrealtype S = sin(q[PHI1] - q[PHI2]), C = cos(q[PHI1] - q[PHI2]);
  const sunrealtype v1 = u[PHI1], v2 = u[PHI2], *e = q + Q1, *ed = u + Q1;
  const sunrealtype damping = ((const FlexibleCrank *)user_data)->damping;
  const sunrealtype c1e = dot4(r.c1, e), c2e = dot4(r.c2, e);

  f[PHI1] = -l1 * l2 * m2 * v2 * v2 * S / 2 + rho * l1 * v2 * v2 * (C * c2e - S * c1e) -
            2 * rho * l1 * v2 * (C * dot4(r.c1, ed) + S * dot4(r.c2, ed));
  f[PHI2] = l1 * l2 * m2 * v1 * v1 * S / 2 + rho * l1 * v1 * v1 * (S * c1e - C * c2e) -
            2 * rho * v2 * dot4(r.c12, ed) - 2 * v2 * form(ed, r.M, e) - rho * form(ed, r.B, ed);
  for (int i = 0; i < 4; i++)
    f[Q1 + i] = v2 * v2 * dot4(r.M[i], e) +
                rho * (v2 * v2 * r.c12[i] + l1 * v1 * v1 * (C * r.c1[i] + S * r.c2[i]) +
                       2 * v2 * dot4(r.B[i], ed)) -
                dot4(r.K[i], e) - damping * dot4(r.D[i], ed);
  return 0;
}

/* Terms that the partial derivatives share: the state, and the vectors g = S c2 + C c1 and h = C c2 - S c1, for
   which dg = h d(phi1 - phi2), dh = -g d(phi1 - phi2) */
typedef struct {
  Rod r;
  sunrealtype S, C, v1, v2, a1, a2;
  const sunrealtype *e, *ed, *ae; /* elastic coordinates, their rates, accelerations */
  sunrealtype g[4], h[4];
} Flex;

static Flex flex(const sunrealtype *q, const sunrealtype *u, const sunrealtype *a) {
  Flex x = {.r  = rod(),
            .S  = sin(q[PHI1] - q[PHI2]),
            .C  = cos(q[PHI1] - q[PHI2]),
            .v1 = u[PHI1],
            .v2 = u[PHI2],
            .a1 = a[PHI1],
            .a2 = a[PHI2],
            .e  = q + Q1,
            .ed = u + Q1,
            .ae = a + Q1};
  for (int i = 0; i < 4; i++) {
    x.g[i] = x.S * x.r.c2[i] + x.C * x.r.c1[i];
    x.h[i] = x.C * x.r.c2[i] - x.S * x.r.c1[i];
  }
  return x;
}

/* Adds d/d(phi1 - phi2) of (f - M a)_row to the columns of both angles */
static void add_turn(SUNMatrix K, int row, sunrealtype value) {
  SM_ELEMENT_D(K, row, PHI1) += value;
  SM_ELEMENT_D(K, row, PHI2) -= value;
}

/* d(f - M a)/dq */
static void forces_by_positions(const Flex *x, SUNMatrix K) {
  const sunrealtype k0 = l1 * l2 * m2 / 2, rl = rho * l1, v11 = x->v1 * x->v1, v22 = x->v2 * x->v2;
  const sunrealtype dM12 = -k0 * x->S + rl * dot4(x->h, x->e);
  add_turn(K, PHI1,
           -k0 * v22 * x->C - rl * (v22 * dot4(x->g, x->e) + 2 * x->v2 * dot4(x->h, x->ed)) -
               dM12 * x->a2 + rl * dot4(x->g, x->ae));
  add_turn(K, PHI2, k0 * v11 * x->C + rl * v11 * dot4(x->g, x->e) - dM12 * x->a1);
  for (int i = 0; i < 4; i++) {
    const sunrealtype *M = x->r.M[i], *B = x->r.B[i];
    add_turn(K, Q1 + i, rl * (v11 * x->h[i] + x->g[i] * x->a1));
    SM_ELEMENT_D(K, PHI1, Q1 + i) = rl * (v22 * x->h[i] - x->g[i] * x->a2);
    SM_ELEMENT_D(K, PHI2, Q1 + i) =
        -rl * (v11 * x->h[i] + x->g[i] * x->a1) - 2 * x->v2 * dot4(M, x->ed) -
        2 * (dot4(M, x->e) + rho * x->r.c12[i]) * x->a2 - rho * dot4(B, x->ae);
    for (int j = 0; j < 4; j++)
      SM_ELEMENT_D(K, Q1 + i, Q1 + j) = v22 * M[j] - x->r.K[i][j] + rho * B[j] * x->a2;
  }
}

/* df/du */
static void forces_by_rates(Flex *x, sunrealtype damping, SUNMatrix C) {
  const sunrealtype k0 = l1 * l2 * m2 / 2, rl = rho * l1;
  SM_ELEMENT_D(C, PHI1, PHI2) =
      2 * (x->v2 * (rl * dot4(x->h, x->e) - k0 * x->S) - rl * dot4(x->g, x->ed));
  SM_ELEMENT_D(C, PHI2, PHI1) = 2 * x->v1 * (k0 * x->S - rl * dot4(x->h, x->e));
  SM_ELEMENT_D(C, PHI2, PHI2) = -2 * (rho * dot4(x->r.c12, x->ed) + form(x->ed, x->r.M, x->e));
  for (int i = 0; i < 4; i++) {
    const sunrealtype inertia     = dot4(x->r.M[i], x->e) + rho * x->r.c12[i];
    SM_ELEMENT_D(C, PHI1, Q1 + i) = -2 * rl * x->v2 * x->g[i];
    SM_ELEMENT_D(C, PHI2, Q1 + i) = -2 * x->v2 * inertia;
    SM_ELEMENT_D(C, Q1 + i, PHI1) = 2 * rl * x->v1 * x->g[i];
    SM_ELEMENT_D(C, Q1 + i, PHI2) = 2 * (x->v2 * inertia + rho * dot4(x->r.B[i], x->ed));
    for (int j = 0; j < 4; j++)
      SM_ELEMENT_D(C, Q1 + i, Q1 + j) = 2 * rho * x->v2 * x->r.B[i][j] - damping * x->r.D[i][j];
  }
}

/* ------------------------------------------------------------------------------- constraints -- */

static int position(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  p[0] = l1 * sin(q[PHI1]) + (l2 + q[Q4]) * sin(q[PHI2]);
  p[1] = q[X3] - l1 * cos(q[PHI1]) - (l2 + q[Q4]) * cos(q[PHI2]);
  p[2] = q[PHI1] - ((const FlexibleCrank *)user_data)->Omega * t;
  return 0;
}

static int velocity(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                    void *user_data) {
  (void)t;
  const sunrealtype l = l2 + q[Q4], s2 = sin(q[PHI2]), c2 = cos(q[PHI2]);
  v[0] = l1 * cos(q[PHI1]) * u[PHI1] + l * c2 * u[PHI2] + s2 * u[Q4];
  v[1] = u[X3] + l1 * sin(q[PHI1]) * u[PHI1] + l * s2 * u[PHI2] - c2 * u[Q4];
  v[2] = u[PHI1] - ((const FlexibleCrank *)user_data)->Omega;
  return 0;
}

static int constraint_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, PHI1) = l1 * cos(q[PHI1]);
  SM_ELEMENT_D(A, 0, PHI2) = (l2 + q[Q4]) * cos(q[PHI2]);
  SM_ELEMENT_D(A, 0, Q4)   = sin(q[PHI2]);
  SM_ELEMENT_D(A, 1, PHI1) = l1 * sin(q[PHI1]);
  SM_ELEMENT_D(A, 1, PHI2) = (l2 + q[Q4]) * sin(q[PHI2]);
  SM_ELEMENT_D(A, 1, X3)   = 1;
  SM_ELEMENT_D(A, 1, Q4)   = -cos(q[PHI2]);
  SM_ELEMENT_D(A, 2, PHI1) = 1;
  return 0;
}

static int acceleration(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                        void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype l = l2 + q[Q4], s2 = sin(q[PHI2]), c2 = cos(q[PHI2]);
  const sunrealtype v11 = u[PHI1] * u[PHI1], v22 = u[PHI2] * u[PHI2], v24 = 2 * u[PHI2] * u[Q4];
  b[0] = l1 * sin(q[PHI1]) * v11 + l * s2 * v22 - c2 * v24;
  b[1] = -l1 * cos(q[PHI1]) * v11 - l * c2 * v22 - s2 * v24;
  b[2] = 0;
  return 0;
}

/* K = d/dq (f - M udot - A^T lambda), C = df/du */
static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)z, (void)Fz;
  Flex x              = flex(q, u, udot);
  const sunrealtype l = l2 + q[Q4], s2 = sin(q[PHI2]), c2 = cos(q[PHI2]);
  const sunrealtype across = c2 * lambda[0] + s2 * lambda[1];
  forces_by_positions(&x, K);
  forces_by_rates(&x, ((const FlexibleCrank *)user_data)->damping, C);
  SM_ELEMENT_D(K, PHI1, PHI1) += l1 * (sin(q[PHI1]) * lambda[0] - cos(q[PHI1]) * lambda[1]);
  SM_ELEMENT_D(K, PHI2, PHI2) += l * (s2 * lambda[0] - c2 * lambda[1]);
  SM_ELEMENT_D(K, PHI2, Q4) -= across;
  SM_ELEMENT_D(K, Q4, PHI2) -= across;
  return 0;
}

/* Bq = d(b - A udot)/dq, Bu = db/du */
static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype l = l2 + q[Q4], v1 = u[PHI1], v2 = u[PHI2], v4 = u[Q4];
  const sunrealtype a1 = udot[PHI1], a2 = udot[PHI2], a4 = udot[Q4];
  /* unit vectors along the crank and the rod, and across them */
  const sunrealtype e1[2] = {cos(q[PHI1]), sin(q[PHI1])}, n1[2] = {-e1[1], e1[0]};
  const sunrealtype e2[2] = {cos(q[PHI2]), sin(q[PHI2])}, n2[2] = {-e2[1], e2[0]};
  for (int row = 0; row < 2; row++) { /* along y; along x, with the opposite sign */
    const int k                 = 1 - row;
    const sunrealtype sign      = row ? -1 : 1;
    SM_ELEMENT_D(Bq, row, PHI1) = sign * l1 * (n1[k] * v1 * v1 + e1[k] * a1);
    SM_ELEMENT_D(Bq, row, PHI2) =
        sign * (l * (n2[k] * v2 * v2 + e2[k] * a2) + 2 * e2[k] * v2 * v4 - n2[k] * a4);
    SM_ELEMENT_D(Bq, row, Q4)   = sign * (e2[k] * v2 * v2 - n2[k] * a2);
    SM_ELEMENT_D(Bu, row, PHI1) = sign * 2 * l1 * e1[k] * v1;
    SM_ELEMENT_D(Bu, row, PHI2) = sign * 2 * (l * e2[k] * v2 - n2[k] * v4);
    SM_ELEMENT_D(Bu, row, Q4)   = -sign * 2 * n2[k] * v2;
  }
  return 0;
}

FlexibleCrank flexible_crank_testset(void) { return (FlexibleCrank){.Omega = 150}; }

CPEquations flexible_crank_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = FLEXIBLE_CRANK_NQ,
                       .np             = FLEXIBLE_CRANK_NP,
                       .M              = mass_matrix,
                       .A              = constraint_matrix,
                       .f              = forces,
                       .p              = position,
                       .v              = velocity,
                       .b              = acceleration,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

/* ------------------------------------------------------------------------------------ states -- */

void flexible_crank_initial(N_Vector y) {
  static const sunrealtype start[2 * FLEXIBLE_CRANK_NQ] = {0,
                                                           0,
                                                           0.4500169327969,
                                                           0,
                                                           0,
                                                           1.03339863e-5,
                                                           1.69327969e-5, /* positions */
                                                           150,
                                                           -74.99576703969453,
                                                           -2.689386719979040e-6,
                                                           0.4448961125815990,
                                                           4.634339319238670e-3,
                                                           -1.785910760000550e-6,
                                                           -2.689386719979040e-6};
  memcpy(N_VGetArrayPointer(y), start, sizeof start);
}

/* The rod's deflection at the fraction s of its length: sin(pi s) q1 + sin(2 pi s) q2 across it, and along it
   the quadratic through 0, q3 at its middle and q4 at its end */
void flexible_crank_shape(const sunrealtype *q, int npoints, sunrealtype (*x)[2]) {
  const sunrealtype e[2] = {cos(q[PHI2]), sin(q[PHI2])}, n[2] = {-e[1], e[0]};
  const sunrealtype *elastic = q + Q1;
  for (int i = 0; i < npoints; i++) {
    const sunrealtype s      = (sunrealtype)i / (npoints - 1);
    const sunrealtype across = sin(PI * s) * elastic[0] + sin(2 * PI * s) * elastic[1];
    const sunrealtype along  = l2 * s + 4 * s * (1 - s) * elastic[2] + s * (2 * s - 1) * elastic[3];
    x[i][0]                  = l1 * cos(q[PHI1]) + along * e[0] + across * n[0];
    x[i][1]                  = l1 * sin(q[PHI1]) + along * e[1] + across * n[1];
  }
}
