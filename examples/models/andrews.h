/* Andrews' squeezing mechanism: seven bodies in the plane, their angles, three closed loops.
 *
 *   M(q) q'' + A(q)^T lambda = f(q, q'),   0 = p(q)  six equations,   no auxiliary states
 *
 *   q = (beta, Theta, gamma, Phi, delta, Omega, epsilon) [rad]
 *
 *   X = rr cos beta - d cos(beta + Theta),   Y = rr sin beta - d sin(beta + Theta)   [m]
 *
 *   0 = X - ss sin gamma - xb                                 positions [m]
 *   0 = Y + ss cos gamma - yb
 *   0 = X - e sin(Phi + delta) - zt cos delta - xa
 *   0 = Y + e cos(Phi + delta) - zt sin delta - ya
 *   0 = X - zf cos(Omega + epsilon) - u sin epsilon - xa
 *   0 = Y - zf sin(Omega + epsilon) + u cos epsilon - ya
 *
 * A constant torque drives beta, a spring acts on gamma. Masses, forces and parameters (SI units) are
 * in andrews.c; t in [0, 0.03] s, in which beta turns two and a half times.
 *
 * Source: W. Schiehlen (ed.), Multibody Systems Handbook, Springer 1990; E. Hairer, G. Wanner,
 * Solving Ordinary Differential Equations II, section VII.7; Test Set for IVP Solvers, "andrews".
 */
#ifndef CPODES_EXAMPLES_ANDREWS_H
#define CPODES_EXAMPLES_ANDREWS_H

#include <cpodes/cpodes_mechanics.h>

enum { ANDREWS_NQ = 7, ANDREWS_NP = 6 }; /* coordinates and constraints; the state has 14 entries */

/* Its functions for a CPMech; they have no user_data */
CPEquations andrews_model(void);

/* y [14]: out, at rest */
void andrews_initial(N_Vector y);

/* Kinetic energy, energy of the spring and potential - mom beta of the torque [J], conserved */
sunrealtype andrews_energy(N_Vector y);

/* The seven bodies join O and P; P and F; B, F and D; E and F; A and E; G and F; A and G. A spring
   pulls from C at D. O, A, B and C are fixed. */
enum {
  ANDREWS_O,
  ANDREWS_A,
  ANDREWS_B,
  ANDREWS_C,
  ANDREWS_P,
  ANDREWS_F,
  ANDREWS_D,
  ANDREWS_E,
  ANDREWS_G,
  ANDREWS_JOINTS
};
/* x: out, positions of these points [m] */
void andrews_joints(N_Vector y, sunrealtype x[ANDREWS_JOINTS][2]);

#endif
