/* The closest points of two convex solids, and how they move (closest.c). */
#ifndef CPODES_BODIES_CLOSEST_H
#define CPODES_BODIES_CLOSEST_H

#include "taylor.h"

/* A solid is a core with a skin of the thickness `skin`: a point, or a segment along z; a cylinder about z, a box, or an ellipsoid,
 * with their centre at the origin; or the half-space z <= 0. Of a point and a half-space b, and of two lines along z, the gap has
 * either sign: between lines it is that along z_a x z_b. Between a line and a point it is that of a segment without ends. NO_SOLID is nowhere: its gap is half[0]. */
typedef enum {
  NO_SOLID,
  POINT_CORE,
  SEGMENT,
  CYLINDER_CORE,
  BOX_CORE,
  ELLIPSOID_CORE,
  HALF_SPACE,
  LINE
} Core;

typedef struct {
  Core core;
  sunrealtype half[3]; /* of a segment the last one; of a cylinder its radius twice, and half its length */
  sunrealtype skin;
} Solid;

/* The gap between solid a and solid b, whose centre is at x and whose axis k is column k of R, in the axes of a; n: out, the unit
 * normal from a to b; at: out, the point of the surface of b, from the centre of b, in the axes of a. All are functions of six
 * variables, up to this degree: three displacements of b along the axes of a, and three components of a rotation vector about them.
 * Below zero the gap is minus the depth, as long as that is less than radii of curvature. Returns 0, or 1 if there are no such
 * points, where the results are those of balls around both solids, or on a plane more than one, where they are those of one of them. Between
 * parallel faces that are apart they are those of one of them as well. */
int closestPoints(const Solid *a, const Solid *b, const sunrealtype *x, sunrealtype R[3][3],
                  int degree, Taylor *gap, Taylor *n, Taylor *at);

#endif
