/* Block that rocks on its two lower corners until it stands (G. W. Housner, Bull. Seismol. Soc. Am. 53, 1963).
 *
 * Half width w, half height h, R = hypot(w, h), alpha = atan(w / h). Without sliding and with plastic impacts the block turns about
 * one corner, where psi = alpha - |theta| is the angle between the vertical through that corner and the line to the centre of mass,
 *
 *   psi'' = p^2 sin(psi),   p^2 = 3 g / (4 R),
 *
 * and each impact at theta = 0 multiplies theta' by 1 - 3/2 sin(alpha)^2. The flights about one corner become ever shorter, and
 * infinitely many impacts end in finite time. Between two of them, from an impact with the rate omega to the next, psi moves like a
 * pendulum:
 *
 *   cos(psi / 2) = k cd(p s | k^2),   k = cos(psi_m / 2),   cos(psi_m) = cos(alpha) + omega^2 / (2 p^2),
 *
 * where s is the time since the block was at rest, at psi_m, and cd is Jacobi's function (rocking_block_exact). Equations:
 * floor_body.h, with J = m R^2 / 3 and the points (-+w, -h).
 */
#ifndef CPODES_EXAMPLES_ROCKING_BLOCK_H
#define CPODES_EXAMPLES_ROCKING_BLOCK_H

#include "floor_body.h"

typedef struct {
  FloorBody body;       /* first: the user_data of the functions of floor_body.h */
  sunrealtype w, h;     /* [m] */
  sunrealtype theta0;   /* angle at the start, on the left corner [rad], 0 < theta0 < alpha */
  sunrealtype friction; /* the least coefficient without sliding */
} RockingBlock;

void rocking_block_init(RockingBlock *block, sunrealtype m, sunrealtype w, sunrealtype h,
                        sunrealtype g, sunrealtype theta0);
/* The block at the angle theta, turning about a corner at x = -+w: y [6], out; the block stands at x = 0. */
void rocking_block_at(const RockingBlock *block, sunrealtype theta, sunrealtype rate,
                      sunrealtype *y);
/* The motion from rest at theta0, without sliding; y [6]: out. At an impact, the state after it */
void rocking_block_exact(const RockingBlock *block, sunrealtype t, sunrealtype *y);
/* Time from which on the block stands */
sunrealtype rocking_block_rest(const RockingBlock *block);

#endif
