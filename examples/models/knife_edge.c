#include "knife_edge.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

int knife_edge_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  const KnifeEdge *k   = user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);
  sunrealtype *sd      = N_VGetArrayPointer(ydot);

  const sunrealtype phi = s[2], xd = s[3], yd = s[4], phid = s[5];
  const sunrealtype pull = k->g * sin(k->alpha);
  const sunrealtype lambda =
      -pull * sin(phi) - phid * (xd * cos(phi) + yd * sin(phi)); /* per mass */

  sd[0] = xd;
  sd[1] = yd;
  sd[2] = phid;
  sd[3] = pull + lambda * sin(phi);
  sd[4] = -lambda * cos(phi);
  sd[5] = 0;
  return 0;
}

int knife_edge_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);

  N_VGetArrayPointer(c)[0] = s[3] * sin(s[2]) - s[4] * cos(s[2]);
  return 0;
}

int knife_edge_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c, (void)user_data;
  const sunrealtype *s = N_VGetArrayPointer(y);

  SM_ELEMENT_D(G, 0, 2) = s[3] * cos(s[2]) + s[4] * sin(s[2]);
  SM_ELEMENT_D(G, 0, 3) = sin(s[2]);
  SM_ELEMENT_D(G, 0, 4) = -cos(s[2]);
  return 0;
}

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const KnifeEdge *k = user_data;
  f[0]               = k->g * sin(k->alpha);
  return 0;
}

/* Row of A: the direction in which the blade does not slip */
static int across(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A, 0, 0) = sin(q[2]);
  SM_ELEMENT_D(A, 0, 1) = -cos(q[2]);
  return 0;
}

/* b = -phi' (velocity along the blade) */
static int turning(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *user_data) {
  (void)t, (void)user_data;
  b[0] = -u[2] * (u[0] * cos(q[2]) + u[1] * sin(q[2]));
  return 0;
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)u, (void)z, (void)udot, (void)C, (void)Fz, (void)user_data;
  SM_ELEMENT_D(K, 0, 2) = -lambda[0] * cos(q[2]);
  SM_ELEMENT_D(K, 1, 2) = -lambda[0] * sin(q[2]);
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)user_data;
  const sunrealtype s = sin(q[2]), c = cos(q[2]);
  SM_ELEMENT_D(Bq, 0, 2) = u[2] * (u[0] * s - u[1] * c) - (udot[0] * c + udot[1] * s);
  SM_ELEMENT_D(Bu, 0, 0) = -u[2] * c;
  SM_ELEMENT_D(Bu, 0, 1) = -u[2] * s;
  SM_ELEMENT_D(Bu, 0, 2) = -(u[0] * c + u[1] * s);
  return 0;
}

CPEquations knife_edge_model(void) {
  return (CPEquations){CP_SIZED(CPEquations),
                       .nu             = 3,
                       .nv             = 1,
                       .M              = unit_mass,
                       .A              = across,
                       .f              = weight,
                       .b              = turning,
                       .dynamics_jac   = dynamics_jac,
                       .constraint_jac = constraint_jac};
}

void knife_edge_initial(const KnifeEdge *k, N_Vector y) {
  N_VConst(0, y);
  N_VGetArrayPointer(y)[5] = k->omega;
}

sunrealtype knife_edge_energy(const KnifeEdge *k, N_Vector y) {
  const sunrealtype *s = N_VGetArrayPointer(y);
  return (s[3] * s[3] + s[4] * s[4]) / 2 - k->g * sin(k->alpha) * s[0];
}

void knife_edge_exact(const KnifeEdge *k, sunrealtype t, sunrealtype *y) {
  const sunrealtype w = k->omega, b = k->g * sin(k->alpha) / (2 * w * w);
  const sunrealtype wt = w * t;

  y[0] = b * sin(wt) * sin(wt);
  y[1] = b * (wt - sin(2 * wt) / 2);
  y[2] = wt;
  y[3] = b * w * sin(2 * wt);
  y[4] = 2 * b * w * sin(wt) * sin(wt);
  y[5] = w;
}
