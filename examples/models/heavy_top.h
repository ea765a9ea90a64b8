/* Heavy symmetric top: a thin disc on a massless rod, whose end is held at the origin by a ball joint. Its
 * axis is the y axis of the body.
 *
 *   q = (r, e): centre of mass [m], unit quaternion;   u = (r', omega), omega in body axes [m/s, rad/s]
 *
 *   m r'' = -m g e_z + lambda,    J omega' = (J omega) x omega - X x R^T lambda
 *   0 = -(r - R(e) X),            X = (0, l, 0)                                    three rows [m]
 *
 * so that lambda is the force of the joint on the top. The moments of inertia about the origin are A = J_1 + m l^2
 * across and C = J_2 along the axis. The energy, the angular momentum about z, and omega_2 are conserved.
 *
 * Case 1: the axis starts horizontally, along +y, with omega = (0, spin, -4.61538). Its reference is
 *
 *   diag(A, C, A) omega' = (diag(A, C, A) omega) x omega + m g l (-k_3, 0, k_1),   k = R^T e_z
 *
 * by extrapolation, without any constraint. Case 2: steady precession of the axis with the rate w at the constant
 * angle theta from the vertical, in closed form. With the axial spin s from C s w - A w^2 cos theta = m g l and
 * p = s - w cos theta,
 *
 *   e(t) = q_z(w t) q_x(pi/2 - theta) q_y(p t),   q_k(x) = cos(x/2) + k sin(x/2)
 *
 * Sources: O. Bruels, A. Cardona, M. Arnold, Mechanism and Machine Theory 48 (2012); Z. Terze, A. Mueller,
 * D. Zlatar, Multibody System Dynamics 38 (2016); H. Goldstein, C. Poole, J. Safko, Classical Mechanics, 2002, 5.7.
 */
#ifndef CPODES_EXAMPLES_HEAVY_TOP_H
#define CPODES_EXAMPLES_HEAVY_TOP_H

#include "rigid_body.h"

enum { HEAVY_TOP_N = 13, HEAVY_TOP_NP = 3 }; /* lengths of the state and of lambda */

typedef struct {
  RigidBodies bodies; /* first, so that the top is user_data of rigid_body_model's functions */
  RigidBody body;
  Joint tip;
  CPQuaternion quaternion;
  sunrealtype l, g; /* from the origin to the centre of mass [m]; gravity along -z [m/s^2] */
  int steady;       /* case 2 */
  sunrealtype spin; /* case 1: omega_2 at first [rad/s] */
  sunrealtype theta,
      w; /* case 2: angle from the vertical [rad], rate of precession [rad/s], not 0 */
} HeavyTop;

/* Sets the benchmark's body, m = 15 kg, l = 1 m, J = diag(0.234375, 0.46875, 0.234375) kg m^2; the caller
   sets its start and g. The struct must not be moved. */
void heavy_top_create(HeavyTop *top, sunrealtype g);

/* The axial spin s of steady precession [rad/s] */
sunrealtype heavy_top_axial_spin(const HeavyTop *top);

/* The motion at t >= 0: y [13], lambda [3]: out. Returns 0, or -1 if out of memory */
int heavy_top_motion(const HeavyTop *top, sunrealtype t, N_Vector y, sunrealtype lambda[3]);

/* Angular momentum about z [kg m^2/s] */
sunrealtype heavy_top_momentum(const HeavyTop *top, N_Vector y);

#endif
