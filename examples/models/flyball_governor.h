/* Flyball governor: a shaft that turns about the vertical, a slider on it, and two rods with balls at their ends,
 * which swing out; stiff spring-dampers between the slider and the centres of the rods. Gravity along -z, density
 * 3000 kg/m^3.
 *
 *   shaft    0.01 x 0.01 x 1 m, 0.3 kg, from the origin upwards; revolute joint with the ground about z
 *   slider   cube of 0.1 m, 3 kg, at the height s = 0.5 m at first; prismatic joint with the shaft along z
 *   rods     0.01 x 0.01 x 1 m, 0.3 kg, hinged to the shaft at (+-0.05, 0, 1) about y, alpha = 30 deg below the
 *            horizontal at first, each with a ball of 5 kg at its end (one rigid body)
 *   springs  from (+-0.05, 0, s) to the rods' centres: K, C; their free length 0.5 m is the initial one
 *
 *   q = (r, e) of shaft, slider and rods: 28;   20 rows; 4 degrees of freedom
 *
 * Initially all bodies turn with the rate `speed`. The motion is symmetric: with Jz(alpha) the moment of inertia
 * about z, l(alpha, s) the length of the springs and T = K (l - 0.5) + C l' their tension,
 *
 *   Jz phi' = const,   Ja alpha'' = Jz' phi'^2 / 2 - 2 T dl/dalpha + 2 g (0.3/2 + 5) cos alpha
 *   3 s'' = -2 T dl/ds - 3 g
 *
 * which is the reference, by extrapolation. The system is stiff: initial eigenvalues are -8117, -20 and +-7.35 i
 * per second.
 *
 * Source: IFToMM library of computational benchmark problems, A05.
 */
#ifndef CPODES_EXAMPLES_FLYBALL_GOVERNOR_H
#define CPODES_EXAMPLES_FLYBALL_GOVERNOR_H

#include "rigid_body.h"

enum { SHAFT, SLIDER, RIGHT_ROD, LEFT_ROD, GOVERNOR_BODIES, GOVERNOR_N = 13 * GOVERNOR_BODIES };

typedef struct {
  RigidBodies bodies; /* first, so that the governor is user_data of rigid_body_model's functions */
  RigidBody body[GOVERNOR_BODIES];
  Joint joint[4];
  SpringDamper spring[2];
  CPQuaternion quaternion[GOVERNOR_BODIES];
  sunrealtype K, C, speed, g; /* [N/m], [N s/m], [rad/s], [m/s^2] */
} FlyballGovernor;

/* The struct must not be moved */
void flyball_governor_create(FlyballGovernor *governor, sunrealtype K, sunrealtype C,
                             sunrealtype speed, sunrealtype g);

/* Angles, height, and their rates */
typedef struct {
  sunrealtype phi, alpha, s, phi_rate, alpha_rate, s_rate;
} GovernorMotion;

/* Number of steps of the reference to t >= 0, which is explicit, so that stiffness limits the step size */
sunrealtype flyball_governor_steps(const FlyballGovernor *governor, sunrealtype t);
/* Returns 0, or -1 if out of memory */
int flyball_governor_motion(const FlyballGovernor *governor, sunrealtype t, SUNContext ctx,
                            GovernorMotion *motion);

/* y [52]: out, the state of all bodies */
void flyball_governor_place(const FlyballGovernor *governor, const GovernorMotion *motion,
                            N_Vector y);

#endif
