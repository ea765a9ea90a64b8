/* Newton's cradle of two balls: adjacent pendulums that touch when they hang at rest, and collide elastically.
 *
 *   m (x_i'', y_i'') + lambda_i (x_i - X_i, y_i) / L = (F_i, -m g),   i = 1, 2   lambda_i: the rod's tension
 *
 *   0  = ((x_i - X_i)^2 + y_i^2 - L^2) / (2 L),   X_1 = R, X_2 = -R     rods     [m]
 *   0 <= d = (x_1 - x_2)^2 + (y_1 - y_2)^2 - 4 R^2                      contact  [m^2]
 *
 *   q = (x_1, y_1, x_2, y_2)   [m],   u = q'   [m/s]
 *
 * Case 1: ball 1 starts at the lowest point with the speed V. F = 0.
 * Case 2: both at rest; F_1 = 3 m (1 - cos 5 t) until t = 2 pi / 5, then 0. An auxiliary state, the
 *         force's work z' = F_1 x_1', is added: the energy less z is conserved. y = (q, u, z).
 *
 * At an impact the rods act as well as the contact: with the balls' speeds s_i along their circles,
 * a_i = cos(angle between rod i's tangent and the line of centres),
 *
 *   m s_1+ = m s_1 + a_1 P,  m s_2+ = m s_2 - a_2 P,   a_1 s_1+ - a_2 s_2+ = -(a_1 s_1 - a_2 s_2),
 *
 * which conserves the energy and satisfies the rods. It exchanges the components along the line of
 * centres, and so s_1 and s_2 if a_1 = a_2, as at the lowest point. Both balls together then move like
 * one pendulum, which is ball 1 to the right of the lowest point, and ball 2 to the left of it. Hence the
 * closed form newton_cradle_exact.
 *
 * Source: SUNDIALS 2.7, CPODES example cpsNewtCrd_dns (L = m = 1, R = 0.1, g = 9.8, V = 3).
 */
#ifndef CPODES_EXAMPLES_NEWTON_CRADLE_H
#define CPODES_EXAMPLES_NEWTON_CRADLE_H

#include <cpodes/cpodes_mechanics.h>

enum { NEWTON_CRADLE_NQ = 4, NEWTON_CRADLE_NP = 2 };

typedef struct {
  int driven;       /* case 2? */
  sunrealtype L, R; /* lengths of the rods, radius of the balls [m] */
  sunrealtype m, g; /* mass of a ball [kg], gravity along -y [m/s^2] */
  sunrealtype V;    /* case 1: speed of ball 1 at the start [m/s] */
} NewtonCradle;     /* the user_data of the model */

/* Its functions for a CPMech. The state has 8 entries, or 9 if driven */
CPEquations newton_cradle_model(const NewtonCradle *cradle);

/* y: out, at t = 0 */
void newton_cradle_initial(const NewtonCradle *cradle, N_Vector y);

/* Kinetic and potential energy [J] */
sunrealtype newton_cradle_energy(const NewtonCradle *cradle, N_Vector y);

/* d [m^2]; an impact is where it falls through 0 */
sunrealtype newton_cradle_gap(const NewtonCradle *cradle, N_Vector y);

/* The impact. y: in, out. If the balls already separate, y is unchanged. */
void newton_cradle_impact(const NewtonCradle *cradle, N_Vector y);

/* Time at which F ends; 0 if there is none */
sunrealtype newton_cradle_force_end(const NewtonCradle *cradle);

/* Returns 1 if there is a closed form. Case 1: V does not suffice to reach the highest point; case 2: L = 1, g = 9.8 */
int newton_cradle_is_known(const NewtonCradle *cradle);
/* State and tensions [2]: out, each may be NULL. At the time of an impact they are those after it. Returns 1 if
   they are not known (between 0 and newton_cradle_force_end). They are accurate to 1e-13 at t = 6 */
int newton_cradle_exact(const NewtonCradle *cradle, sunrealtype t, sunrealtype *y,
                        sunrealtype *lambda);
/* Time of impact i = 1, 2, ... [s] */
sunrealtype newton_cradle_impact_time(const NewtonCradle *cradle, int i);

#endif
