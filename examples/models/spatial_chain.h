/* Chain in space: n equal rods, solid cylinders, on ball joints; the first one hangs from the origin. Each
 * joint between two rods may resist bending (rigid_body.h).
 *
 *   q = (r, e) of each rod: centre [m], unit quaternion;  u = (r', omega), omega in body axes
 *
 *   rod i: its axis along its x,  a_i = R_i (1, 0, 0);  J = m diag(R^2 / 2, R^2/4 + l^2/12, the same)
 *   joint i: p_i = end of rod i - 1 - beginning of rod i = 0   three rows; lambda_i: the force on rod i
 *   between rods: the potential k (1 - a_i . a_{i+1}), the torque -d (omega_i - omega_{i+1})
 *
 * Gravity acts along -y. The energy is conserved if d = 0, and else falls by d |omega_i - omega_{i+1}|^2 per
 * second. The angular momentum about y is conserved, and if d = 0 also the angular velocity of each rod about
 * its axis, about which no torque acts. A chain that starts in a vertical plane, at rest across it, stays in
 * it. With n = 1 and a start at rest it is the physical pendulum, spatial_chain_exact.
 *
 * K, C, Bq and Bu couple neighbours only: sparse, a step costs O(n).
 *
 * Source: rigid_body.h; no published numbers belong to it.
 */
#ifndef CPODES_EXAMPLES_SPATIAL_CHAIN_H
#define CPODES_EXAMPLES_SPATIAL_CHAIN_H

#include "rigid_body.h"

typedef struct {
  sunrealtype l, radius, m; /* of a rod [m, m, kg] */
  sunrealtype g;            /* gravity [m/s^2] */
  sunrealtype k, d;         /* spring [N m] and damper [N m s] of each joint between rods */
} SpatialChainData;

typedef struct {
  RigidBodies bodies; /* user_data of rigid_body_model's functions; it is first so that the chain can be passed as well */
  RigidBody *body;          /* [n] */
  Joint *joint;             /* [n] */
  CPQuaternion *quaternion; /* [n] */
  SpatialChainData data;
} SpatialChain;

/* Returns NULL if out of memory. */
SpatialChain *spatial_chain_create(int n, const SpatialChainData *data);
void spatial_chain_free(SpatialChain **chain); /* *chain may be NULL */

typedef struct {
  sunrealtype angle, spin; /* above +x [rad]; about y [rad/s] */
} SpatialChainStart;

/* y [13 n]: out, straight, turning about y as a whole */
void spatial_chain_initial(const SpatialChain *chain, const SpatialChainStart *from, N_Vector y);

/* The end of rod i [3]: out */
void spatial_chain_end(const SpatialChain *chain, int i, N_Vector y, sunrealtype end[3]);

/* The motion of a single rod from rest at the angle (rad): y [13], lambda [3]: out, each may be NULL. The
   angle is good to some 10 eps (1 + t sqrt(g/l)) */
void spatial_chain_exact(const SpatialChain *chain, sunrealtype angle, sunrealtype t,
                         sunrealtype *y, sunrealtype *lambda);

/* The motion from spatial_chain_initial in minimal coordinates, by extrapolation in nsteps equal steps to the
   time t >= 0. The method is explicit, so that stiff joints limit the step size; each step costs O(n^3). y [13 n],
   lambda [3 n]: out, lambda may be NULL. error: out, the largest difference of y from the result with twice the
   step. Returns 0, or -1 if out of memory or if it diverged. */
int spatial_chain_reference(const SpatialChain *chain, const SpatialChainStart *from, sunrealtype t,
                            int nsteps, N_Vector y, sunrealtype *lambda, sunrealtype *error);

#endif
