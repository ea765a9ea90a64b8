/* Block that is thrown up a slope with friction: it stops, and stays or slides back.
 *
 *   m x'' = -m g sin(alpha) + F,   m y'' = -m g cos(alpha) + N
 *   0 <= y  perpendicular to  N >= 0,   F = -mu N x'/|x'| where it slides, |F| <= mu N where it sticks
 *
 *   y = (x, y, x', y')   state [m, m, m/s, m/s]: distance up the slope, gap above it
 *   m  mass [kg], g  gravity [m/s^2], alpha  inclination [rad], mu  friction, v  speed at the start, x'(0) [m/s]
 *
 * It stops at t1 = v / (g (sin(alpha) + mu cos(alpha))), and slides back if tan(alpha) > mu (sliding_block_exact).
 */
#ifndef CPODES_EXAMPLES_SLIDING_BLOCK_H
#define CPODES_EXAMPLES_SLIDING_BLOCK_H

#include <cpodes/cpodes_contact.h>

typedef struct {
  sunrealtype m, g, alpha, mu, v;
} SlidingBlock; /* the user_data of the functions below */

/* Row 0 of p is the gap y, row 1 of v the tangential velocity x'. */
CPEquations sliding_block_model(void);
sunrealtype sliding_block_energy(const SlidingBlock *block, N_Vector y);
/* The motion from x = 0; y [4]: out */
void sliding_block_exact(const SlidingBlock *block, sunrealtype t, sunrealtype *y);

#endif
