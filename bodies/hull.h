/* The convex hull of points (hull.c) */
#ifndef CPODES_BODIES_HULL_H
#define CPODES_BODIES_HULL_H

#include <sundials/sundials_types.h>

typedef struct {
  int (*triangle)[3]; /* [ntriangles] indices of corners, counter-clockwise as seen from outside; owned by the caller */
  int ntriangles, ncorners;
} Hull;

/* hull: out, that of the points x [n], with `most` corners at most, those that are farthest out; 0: with all of them. Points that are
 * 1e-12 of the extent outside of a triangle are in its plane. Returns NULL, or what is wrong with the points, such as hull_no_memory;
 * then the hull has no triangles. */
const char *hullOf(const sunrealtype (*x)[3], int n, int most, Hull *hull);
extern const char hull_no_memory[];

#endif
