#include "spatial_chain.h"

#include "elliptic.h"
#include <math.h>
#include <stdlib.h>

/* Joint i, from the rod before (the ground) to rod i */
static Joint joint_of(int i, const SpatialChainData *data) {
  const sunrealtype half = data->l / 2;
  Joint joint            = {.kind    = JOINT_BALL,
                            .a       = i == 0 ? GROUND : i - 1,
                            .b       = i,
                            .point_a = {i == 0 ? 0 : half, 0, 0},
                            .point_b = {-half, 0, 0},
                            .axis_a  = {1, 0, 0},
                            .axis_b  = {1, 0, 0}};
  if (i > 0) {
    joint.k = data->k;
    joint.d = data->d;
  }
  return joint;
}

SpatialChain *spatial_chain_create(int n, const SpatialChainData *data) {
  SpatialChain *chain = calloc(1, sizeof *chain);
  if (!chain) return NULL;
  chain->data       = *data;
  chain->body       = calloc((size_t)n, sizeof *chain->body);
  chain->joint      = calloc((size_t)n, sizeof *chain->joint);
  chain->quaternion = calloc((size_t)n, sizeof *chain->quaternion);
  if (!chain->body || !chain->joint || !chain->quaternion) {
    spatial_chain_free(&chain);
    return NULL;
  }
  const sunrealtype axial = data->m * data->radius * data->radius / 2;
  const sunrealtype cross = axial / 2 + data->m * data->l * data->l / 12;
  for (int i = 0; i < n; i++) {
    chain->body[i]  = (RigidBody){.m = data->m, .J = {axial, cross, cross}};
    chain->joint[i] = joint_of(i, data);
  }
  chain->bodies = (RigidBodies){.nbodies    = n,
                                .njoints    = n,
                                .body       = chain->body,
                                .joint      = chain->joint,
                                .g          = {0, -data->g, 0},
                                .frame      = CP_FRAME_BODY,
                                .quaternion = chain->quaternion};
  return chain;
}

void spatial_chain_free(SpatialChain **chain) {
  if (!*chain) return;
  free((*chain)->body);
  free((*chain)->joint);
  free((*chain)->quaternion);
  free(*chain);
  *chain = NULL;
}

void spatial_chain_initial(const SpatialChain *chain, const SpatialChainStart *from, N_Vector y) {
  const sunrealtype angle = from->angle, spin = from->spin;
  const sunrealtype turn[3] = {0, 0, angle}, omega[3] = {0, spin, 0};
  for (int i = 0; i < chain->bodies.nbodies; i++) {
    const sunrealtype along = (i + SUN_RCONST(0.5)) * chain->data.l;
    const sunrealtype r[3]  = {along * cos(angle), along * sin(angle), 0};
    const sunrealtype v[3]  = {0, 0, -spin * r[0]}; /* omega x r */
    rigid_body_place(&chain->bodies, i, r, turn, v, omega, y);
  }
}

void spatial_chain_end(const SpatialChain *chain, int i, N_Vector y, sunrealtype end[3]) {
  const sunrealtype *r = N_VGetArrayPointer(y) + 7 * i;
  end[0]               = chain->data.l / 2;
  end[1] = end[2] = 0;
  rigid_body_direction(&chain->bodies, i, y, end);
  for (int k = 0; k < 3; k++) end[k] += r[k];
}

/* With s = l / 2 from the joint to the centre, psi the angle from the downward vertical, psi_0 at first,
   k = sin(psi_0 / 2), w^2 = m g s / (J_2 + m s^2):
   sin(psi/2) = k sn,  cos(psi/2) = dn,  psi' = 2 k w cn   at K + w t,  psi'' = -w^2 sin psi
   The rod is at the angle psi - pi/2 above +x. */
void spatial_chain_exact(const SpatialChain *chain, sunrealtype angle, sunrealtype t,
                         sunrealtype *y, sunrealtype *lambda) {
  const RigidBody *rod = &chain->body[0];
  const sunrealtype s = chain->data.l / 2, g = chain->data.g, right = acos(SUN_RCONST(0.0));
  const sunrealtype w  = sqrt(rod->m * g * s / (rod->J[1] + rod->m * s * s));
  const sunrealtype k  = sin((angle + right) / 2);
  const sunrealtype am = elliptic_amplitude(elliptic_quarter(k * k) + w * t, k * k);
  const sunrealtype sn = sin(am), cn = cos(am), dn = sqrt(1 - k * k * sn * sn);
  const sunrealtype half = k * sn, sine = 2 * half * dn, cosine = 1 - 2 * half * half;
  const sunrealtype rate = 2 * k * w * cn, acc = -w * w * sine;
  if (y) {
    const sunrealtype turned    = (2 * atan2(half, dn) - right) / 2; /* half the angle above +x */
    const sunrealtype state[13] = {
        s * sine,          -s * cosine,     0, cos(turned), 0, 0,   sin(turned),
        s * rate * cosine, s * rate * sine, 0, 0,           0, rate};
    for (int i = 0; i < 13; i++) y[i] = state[i];
  }
  if (lambda) { /* m r'' = (0, -m g, 0) + lambda */
    lambda[0] = rod->m * s * (acc * cosine - rate * rate * sine);
    lambda[1] = rod->m * (s * (acc * sine + rate * rate * cosine) + g);
    lambda[2] = 0;
  }
}
