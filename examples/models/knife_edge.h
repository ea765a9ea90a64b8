/* Knife edge (ice skate) on an inclined plane: the blade does not slip sideways. Nonholonomic.
 *
 *   m x'' = m g sin(alpha) + lambda sin(phi),   m y'' = -lambda cos(phi),   J phi'' = 0
 *
 *   0 = x' sin(phi) - y' cos(phi)        velocity     [m/s]
 *
 *   lambda / m = -g sin(alpha) sin(phi) - phi' (x' cos(phi) + y' sin(phi))
 *
 *   y = (x, y, phi, x', y', phi')        state        [m, m, rad, m/s, m/s, rad/s]
 *   x  down the slope, y  along it, phi  angle of the blade from x
 *   g  gravity [m/s^2], alpha  inclination [rad], omega = phi'(0) [rad/s]; m and J drop out
 *
 * Released at the origin, at rest except for the spin and with the blade pointing downhill, it does not
 * slide down but drifts sideways on a cycloid (knife_edge_exact).
 * Source: Ju. I. Neimark and N. A. Fufaev, Dynamics of Nonholonomic Systems, AMS 1972; A. M. Bloch,
 * Nonholonomic Mechanics and Control, Springer 2003, section 1.6.
 */
#ifndef CPODES_EXAMPLES_KNIFE_EDGE_H
#define CPODES_EXAMPLES_KNIFE_EDGE_H

#include <cpodes/cpodes_mechanics.h>

enum { KNIFE_EDGE_N = 6, KNIFE_EDGE_M = 1 }; /* length of y and c */

typedef struct {
  sunrealtype g;     /* gravity [m/s^2] */
  sunrealtype alpha; /* inclination of the plane [rad] */
  sunrealtype omega; /* initial spin [rad/s], not 0 */
} KnifeEdge;         /* the user_data of the functions below */

int knife_edge_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data);
int knife_edge_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data);
int knife_edge_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data);

/* The same as functions for a CPMech with m = J = 1 and one velocity constraint, with partial derivatives and
   the same user_data. CPMech's multiplier is -lambda / m. */
CPEquations knife_edge_model(void);

/* y [6]: out, at the origin, blade downhill, spinning with omega */
void knife_edge_initial(const KnifeEdge *k, N_Vector y);

/* Translational kinetic and potential energy per mass [m^2/s^2]; the energy of the spin is
   constant by itself. 0 for the motion from knife_edge_initial */
sunrealtype knife_edge_energy(const KnifeEdge *k, N_Vector y);

/* The motion from knife_edge_initial:
     x = b sin^2(omega t),  y = b (omega t - sin(2 omega t) / 2),  phi = omega t
   with b = g sin(alpha) / (2 omega^2). y [6]: out */
void knife_edge_exact(const KnifeEdge *k, sunrealtype t, sunrealtype *y);

#endif
