#include "slider_crank_clearance.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

ClearanceCrank clearance_crank(sunrealtype c, sunrealtype g) {
  return (ClearanceCrank){.l1 = 0.153,
                          .l2 = 0.306,
                          .a  = 0.05,
                          .b  = 0.025,
                          .c  = c,
                          .m1 = 0.038,
                          .m2 = 0.038,
                          .m3 = 0.076,
                          .J1 = 7.4e-5,
                          .J2 = 5.9e-4,
                          .J3 = 2.7e-6,
                          .g  = g};
}

void clearance_crank_corner(const ClearanceCrank *crank, int k, sunrealtype *X, sunrealtype *Y) {
  *X = k % 2 == 0 ? -crank->a : crank->a;
  *Y = k < 2 ? crank->b : -crank->b;
}

void clearance_crank_centre(const ClearanceCrank *crank, const sunrealtype *q, sunrealtype *x) {
  x[0] = crank->l1 * cos(q[0]) + crank->l2 * cos(q[1]);
  x[1] = crank->l1 * sin(q[0]) + crank->l2 * sin(q[1]);
}

/* M_12 = coupling cos(theta2 - theta1) */
static sunrealtype coupling(const ClearanceCrank *s) { return (s->m2 / 2 + s->m3) * s->l1 * s->l2; }

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  const ClearanceCrank *s = user_data;
  (void)t;
  SM_ELEMENT_D(M, 0, 0) = s->J1 + (s->m1 / 4 + s->m2 + s->m3) * s->l1 * s->l1;
  SM_ELEMENT_D(M, 1, 1) = s->J2 + (s->m2 / 4 + s->m3) * s->l2 * s->l2;
  SM_ELEMENT_D(M, 2, 2) = s->J3;
  SM_ELEMENT_D(M, 0, 1) = SM_ELEMENT_D(M, 1, 0) = coupling(s) * cos(q[1] - q[0]);
  return 0;
}

/* Moments of the weights: of the crank, and of the rod */
static sunrealtype crankWeight(const ClearanceCrank *s) {
  return (s->m1 / 2 + s->m2 + s->m3) * s->g * s->l1;
}
static sunrealtype rodWeight(const ClearanceCrank *s) { return (s->m2 / 2 + s->m3) * s->g * s->l2; }

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  const ClearanceCrank *s = user_data;
  const sunrealtype k     = coupling(s) * sin(q[0] - q[1]);
  (void)t, (void)z;
  f[0] = -k * u[1] * u[1] - crankWeight(s) * cos(q[0]);
  f[1] = k * u[0] * u[0] - rodWeight(s) * cos(q[1]);
  return 0;
}

static int gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  const ClearanceCrank *s = user_data;
  sunrealtype x[2], X, Y;
  (void)t;
  clearance_crank_centre(s, q, x);
  for (int k = 0; k < CLEARANCE_CORNERS; k++) {
    clearance_crank_corner(s, k, &X, &Y);
    p[k] = s->b + s->c - (k < 2 ? 1 : -1) * (x[1] + X * sin(q[2]) + Y * cos(q[2]));
  }
  return 0;
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const ClearanceCrank *s = user_data;
  (void)t;
  for (int k = 0; k < CLEARANCE_CORNERS; k++) {
    const sunrealtype sign = k < 2 ? -1 : 1;
    sunrealtype X, Y;
    clearance_crank_corner(s, k, &X, &Y);
    SM_ELEMENT_D(A, k, 0)     = sign * s->l1 * cos(q[0]);
    SM_ELEMENT_D(A, k, 1)     = sign * s->l2 * cos(q[1]);
    SM_ELEMENT_D(A, k, 2)     = sign * (X * cos(q[2]) - Y * sin(q[2]));
    SM_ELEMENT_D(A, 4 + k, 0) = -s->l1 * sin(q[0]);
    SM_ELEMENT_D(A, 4 + k, 1) = -s->l2 * sin(q[1]);
    SM_ELEMENT_D(A, 4 + k, 2) = -X * sin(q[2]) - Y * cos(q[2]);
  }
  return 0;
}

static int bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *user_data) {
  const ClearanceCrank *s = user_data;
  const sunrealtype w1 = u[0] * u[0], w2 = u[1] * u[1], w3 = u[2] * u[2];
  (void)t;
  for (int k = 0; k < CLEARANCE_CORNERS; k++) {
    const sunrealtype sign = k < 2 ? -1 : 1;
    sunrealtype X, Y;
    clearance_crank_corner(s, k, &X, &Y);
    b[k] = sign *
           (s->l1 * sin(q[0]) * w1 + s->l2 * sin(q[1]) * w2 + (X * sin(q[2]) + Y * cos(q[2])) * w3);
    b[4 + k] =
        s->l1 * cos(q[0]) * w1 + s->l2 * cos(q[1]) * w2 + (X * cos(q[2]) - Y * sin(q[2])) * w3;
  }
  return 0;
}

CPEquations clearance_crank_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu = 3,
                       .np = CLEARANCE_CORNERS,
                       .nv = 2 * CLEARANCE_CORNERS,
                       .M  = mass,
                       .A  = rows,
                       .f  = forces,
                       .p  = gaps,
                       .b  = bias};
}

sunrealtype clearance_crank_energy(const ClearanceCrank *s, N_Vector y) {
  const sunrealtype *q = N_VGetArrayPointer(y), *u = q + 3;
  return ((s->J1 + (s->m1 / 4 + s->m2 + s->m3) * s->l1 * s->l1) * u[0] * u[0] +
          (s->J2 + (s->m2 / 4 + s->m3) * s->l2 * s->l2) * u[1] * u[1] + s->J3 * u[2] * u[2]) /
             2 +
         coupling(s) * cos(q[1] - q[0]) * u[0] * u[1] + crankWeight(s) * sin(q[0]) +
         rodWeight(s) * sin(q[1]);
}
