/* Bricard's mechanism: five rods and the ground, joined to a loop by six revolute joints. Initially its links lie
 * along six edges of a cube. It is a loop of spatial_loop.h whose 30 rows have rank 29 everywhere on the motion; the
 * dependent combination of rows changes with the position.
 *
 *   J_1 (0,0,0)    axis y, ground - rod 1        rods of l = 1 m, 1 kg, square of 0.1 m:
 *   J_2 (1,0,0)    axis z, rod 1 - rod 2         I along the rod 1/600, across 1.01/12 kg m^2
 *   J_3 (1,-1,0)   axis x, rod 2 - rod 3
 *   J_4 (1,-1,1)   axis y, rod 3 - rod 4         gravity along -y; from rest
 *   J_5 (0,-1,1)   axis z, rod 4 - rod 5
 *   J_6 (0,0,1)    axis x, rod 5 - ground
 *
 * The loop is closed as long as the angles at J_1, J_3, J_5 are -(Theta - pi/2), those at J_2 and J_4
 * -(Phi - pi/2), and (1 + cos Theta)(1 + cos Phi) = 1. With tan(Theta/2) = sqrt(3) sin s that is
 *
 *   tan(Phi/2) = sqrt(3) cos s / sqrt(D),  D = 1 + 3 sin^2 s,    dTheta/ds = 2 sqrt(3) cos s / D,
 *   dPhi/ds = -2 sqrt(3) sin s / sqrt(D)
 *
 * for all s: the reference, by extrapolation for s alone.
 *
 * Sources: IFToMM library of computational benchmark problems, A04; Y. Chen, Z. You, T. Tarnai, Int. J. Solids and
 * Structures 42 (2005), on the loop's closure.
 */
#ifndef CPODES_EXAMPLES_BRICARD_H
#define CPODES_EXAMPLES_BRICARD_H

#include "spatial_loop.h"

enum { BRICARD_RODS = 5, BRICARD_N = 13 * BRICARD_RODS };

void bricard_create(SpatialLoop *loop, sunrealtype g);

/* y [65]: out, the state at t >= 0. Returns 0, or -1 if out of memory */
int bricard_motion(const SpatialLoop *loop, sunrealtype t, N_Vector y);

#endif
