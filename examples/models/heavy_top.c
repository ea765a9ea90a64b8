#include "heavy_top.h"

#include "extrapolation.h"
#include "quaternions.h"
#include "rigid_body_impl.h"

#include <math.h>
#include <nvector/nvector_serial.h>

enum { TURN_RATE = 4, NZ = 7 }; /* z = (e, omega), the state of the reference in case 1 */

void heavy_top_create(HeavyTop *top, sunrealtype g) {
  *top        = (HeavyTop){.body = {.m = 15, .J = {0.234375, 0.46875, 0.234375}},
                           .tip  = {.kind = JOINT_BALL, .a = GROUND, .b = 0, .point_b = {0, -1, 0}},
                           .l    = 1,
                           .g    = g};
  top->bodies = (RigidBodies){.nbodies    = 1,
                              .njoints    = 1,
                              .body       = &top->body,
                              .joint      = &top->tip,
                              .g          = {0, 0, -g},
                              .frame      = CP_FRAME_BODY,
                              .quaternion = &top->quaternion};
}

/* About the origin: A across the axis, m g l */
static sunrealtype across(const HeavyTop *top) {
  return top->body.J[0] + top->body.m * top->l * top->l;
}
static sunrealtype weight(const HeavyTop *top) { return top->body.m * top->g * top->l; }

sunrealtype heavy_top_axial_spin(const HeavyTop *top) {
  const sunrealtype w = top->w;
  return (weight(top) + across(top) * w * w * cos(top->theta)) / (top->body.J[1] * w);
}

/* e_z in body axes */
static void vertical(const sunrealtype *e, sunrealtype k[3]) {
  const sunrealtype square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3];
  k[0]                     = 2 * (e[1] * e[3] - e[0] * e[2]) / square;
  k[1]                     = 2 * (e[2] * e[3] + e[0] * e[1]) / square;
  k[2]                     = (e[0] * e[0] - e[1] * e[1] - e[2] * e[2] + e[3] * e[3]) / square;
}

/* omega' at the attitude e */
static void angular_acceleration(const HeavyTop *top, const sunrealtype *e,
                                 const sunrealtype *omega, sunrealtype rate[3]) {
  const sunrealtype A = across(top), J[3] = {A, top->body.J[1], A};
  sunrealtype spin[3], k[3];
  vertical(e, k);
  for (int i = 0; i < 3; i++) spin[i] = J[i] * omega[i];
  cross3(spin, omega, rate);
  rate[0] -= weight(top) * k[2];
  rate[2] += weight(top) * k[0];
  for (int i = 0; i < 3; i++) rate[i] /= J[i];
}

static int euler_rhs(sunrealtype t, N_Vector z, N_Vector zdot, void *user_data) {
  (void)t;
  const sunrealtype *e = N_VGetArrayPointer(z), *omega = e + TURN_RATE;
  sunrealtype *edot = N_VGetArrayPointer(zdot);
  quaternion_times(e, 0, omega, edot);
  for (int k = 0; k < 4; k++) edot[k] /= 2;
  angular_acceleration(user_data, e, omega, edot + TURN_RATE);
  return 0;
}

/* Steps of half a radian of the fast spin; shorter ones only add roundoff */
static int extrapolated(const HeavyTop *top, sunrealtype t, sunrealtype z[NZ], SUNContext ctx) {
  const sunrealtype start[NZ] = {1, 0, 0, 0, 0, top->spin, SUN_RCONST(-4.61538)};
  for (int i = 0; i < NZ; i++) z[i] = start[i];
  if (t == 0) return 0;
  N_Vector state  = N_VMake_Serial(NZ, z, ctx);
  const int steps = (int)ceil(t * (20 + 2 * fabs(top->spin)));
  const int flag  = state ? extrapolate(euler_rhs, (void *)top, 0, t, steps, state) : -1;
  if (state) N_VDestroy(state);
  return flag;
}

/* Closed form; omega = p e_y + w R^T e_z */
static void steady(const HeavyTop *top, sunrealtype t, sunrealtype z[NZ]) {
  static const sunrealtype identity[4] = {1, 0, 0, 0},
                           axis[3][3]  = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const sunrealtype p                  = heavy_top_axial_spin(top) - top->w * cos(top->theta);
  sunrealtype precessed[4], tilted[4];
  quaternion_turned(identity, axis[2], top->w * t, precessed);
  quaternion_turned(precessed, axis[0], acos(SUN_RCONST(0.0)) - top->theta, tilted);
  quaternion_turned(tilted, axis[1], p * t, z);
  z[TURN_RATE + 0] = -top->w * sin(top->theta) * sin(p * t);
  z[TURN_RATE + 1] = p + top->w * cos(top->theta);
  z[TURN_RATE + 2] = top->w * sin(top->theta) * cos(p * t);
}

/* r = R X, r' = R (omega x X), lambda = m (r'' + g e_z) */
int heavy_top_motion(const HeavyTop *top, sunrealtype t, N_Vector y, sunrealtype lambda[3]) {
  const sunrealtype X[3] = {0, top->l, 0};
  sunrealtype z[NZ], *q = N_VGetArrayPointer(y), *u = q + 7;
  const sunrealtype *omega = z + TURN_RATE;
  sunrealtype rate[3], moving[3], tangential[3], acc[3];
  if (top->steady) steady(top, t, z);
  else if (extrapolated(top, t, z, y->sunctx)) return -1;
  for (int k = 0; k < 4; k++) q[3 + k] = z[k];
  for (int k = 0; k < 3; k++) u[3 + k] = omega[k];

  const Pose pose = rigid_body_pose(&top->bodies, 0, q, NULL);
  to_space(&pose, X, q);
  cross3(omega, X, moving);
  to_space(&pose, moving, u);
  angular_acceleration(top, z, omega, rate);
  cross3(rate, X, tangential);
  cross3(omega, moving, acc);
  for (int k = 0; k < 3; k++) acc[k] += tangential[k];
  to_space(&pose, acc, lambda);
  for (int k = 0; k < 3; k++) lambda[k] = top->body.m * (lambda[k] + (k == 2) * top->g);
  return 0;
}

sunrealtype heavy_top_momentum(const HeavyTop *top, N_Vector y) {
  sunrealtype L[3];
  rigid_body_momentum(&top->bodies, y, L);
  return L[2];
}
