/* Inside of the four-bar linkages: their rods and joints. */
#ifndef CPODES_EXAMPLES_FOUR_BAR_IMPL_H
#define CPODES_EXAMPLES_FOUR_BAR_IMPL_H

#include "four_bar.h"

#define FOUR_BAR_INERTIA (1 / SUN_RCONST(12.0)) /* of a rod about its centre [kg m^2] */

/* A joint at an end of a rod: its residual contains sign * (centre + side / 2 (cos phi, sin phi)) */
typedef struct {
  sunindextype joint;
  int sign, side;
} FourBarEnd;

/* The joints of a rod in ascending order; rod 2k is v_k, rod 2k-1 is h_k. Returns their number. */
int four_bar_ends(int N, sunindextype rod, FourBarEnd end[3]);

#endif
