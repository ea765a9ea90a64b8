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
