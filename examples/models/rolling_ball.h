/* Solid ball that slips on a floor, and finally rolls.
 *
 *   m x'' = F,   m y'' = -m g + N,   2/5 m r^2 phi'' = -r F
 *   0 <= y - r  perpendicular to  N >= 0,   v_T = x' - r phi',   F = -mu N v_T/|v_T| or |F| <= mu N where it rolls
 *
 *   y = (x, y, phi, x', y', phi')   state [m, m, rad, m/s, m/s, rad/s]: centre, angle of the spin
 *   m  mass [kg], r  radius [m], g  gravity [m/s^2], mu  friction, v  speed at the start [m/s], without spin
 *
 * It rolls from t1 = 2 v / (7 mu g) on, with 5/7 v, after the distance 12 v^2 / (49 mu g) (rolling_ball_exact).
 */
#ifndef CPODES_EXAMPLES_ROLLING_BALL_H
#define CPODES_EXAMPLES_ROLLING_BALL_H

#include <cpodes/cpodes_contact.h>

typedef struct {
  sunrealtype m, r, g;
} RollingBall; /* the user_data of the functions below */

/* Row 0 of p is the gap y - r, row 1 of v the sliding velocity. */
CPEquations rolling_ball_model(void);
sunrealtype rolling_ball_energy(const RollingBall *ball, N_Vector y);
/* The motion from x = 0 with the speed v; y [6]: out */
void rolling_ball_exact(const RollingBall *ball, sunrealtype mu, sunrealtype v, sunrealtype t,
                        sunrealtype *y);

#endif
