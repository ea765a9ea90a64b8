/* Paths that wrap around spheres and cylinders */
#ifndef CPODES_BODIES_WRAPPING_H
#define CPODES_BODIES_WRAPPING_H

#include "taylor.h"

/* A sphere about the origin, or a cylinder about z; side: where the path runs, if `sided` is 1; inside, if that lies inside */
typedef struct {
  int cylinder, sided;
  sunrealtype radius, side[3];
} Wrap;

/* The length of the path between two points, x [6], as a function of these coordinates up to this degree */
Taylor bodiesWrapped(const Wrap *w, const sunrealtype *x, int degree);

#endif
