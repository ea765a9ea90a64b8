/* Ball that bounces on the floor until it rests.
 *
 *   m y'' = -m g + N,   0 <= y  perpendicular to  N >= 0,   v+ = -e v- at an impact
 *
 *   y = (y, y')   state [m, m/s]; y is the gap, N the force of the floor [N]
 *   m  mass [kg], g  gravity [m/s^2], h  height of the start [m], e  restitution
 *
 * The ball is released at rest. With t1 = sqrt(2 h / g), impact n is at t1 (1 + 2 (e + ... + e^(n-1))), and all of them
 * end at t1 (1 + e) / (1 - e), which a program that steps from impact to impact never reaches (bouncing_ball_exact).
 */
#ifndef CPODES_EXAMPLES_BOUNCING_BALL_H
#define CPODES_EXAMPLES_BOUNCING_BALL_H

#include <cpodes/cpodes_contact.h>

typedef struct {
  sunrealtype m; /* mass [kg] */
  sunrealtype g; /* gravity [m/s^2] */
  sunrealtype h; /* height of the start [m] */
  sunrealtype e; /* restitution, 0 to 1 */
} BouncingBall;  /* the user_data of the functions below */

/* Row 0 of p is the gap. */
CPEquations bouncing_ball_model(void);
sunrealtype bouncing_ball_energy(const BouncingBall *ball, N_Vector y);
/* The motion from rest at the height h; y [2]: out. At an impact, the state after it */
void bouncing_ball_exact(const BouncingBall *ball, sunrealtype t, sunrealtype *y);

#endif
