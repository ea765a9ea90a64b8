/* The two solids of closest.c, their features, and the first guess (features.c). */
#ifndef CPODES_BODIES_CLOSEST_IMPL_H
#define CPODES_BODIES_CLOSEST_IMPL_H

#include "closest.h"

#include <math.h>

enum { MOST = 8, RING = 1, ROUND = 2 };

typedef struct {
  int end[3];  /* -1, 1: at this end of axis k; 0: not */
  int line[3]; /* 1: any point along axis k */
  int curved;  /* RING, ROUND (an ellipsoid), or 0 */
} Feature;

typedef struct {
  const Solid *solid[2];
  const sunrealtype *x;
  sunrealtype (*R)[3];
  Feature feature[2];
  int n; /* of unknowns */
  sunrealtype z[MOST], J[MOST][MOST];
  int pivot[MOST];
} Closest;

static inline sunrealtype closestLength(const sunrealtype *x) {
  return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

/* The feature of a core that is nearest to y, where a core with a volume is thinner by the part `less` of its least half axis; q: out,
 * its point. Returns 1 if y is inside. */
int closestProject(const Solid *s, sunrealtype less, const sunrealtype *y, sunrealtype *q,
                   Feature *f);
/* A point in the axes of a, or in those of b; a direction in those of b */
void closestFromB(const Closest *c, const sunrealtype *y, sunrealtype *x);
void closestToB(const Closest *c, int direction, const sunrealtype *x, sunrealtype *y);
/* A size of a solid, and the radius of a ball around it */
sunrealtype closestSize(const Solid *s);
sunrealtype closestRadius(const Solid *s);
/* The feature of a solid with the outward normal m */
Feature closestSupport(const Solid *s, const sunrealtype *m);
/* Features, normal and lambdas, with thinner cores. A point may be inside of the other solid. Returns 1 if others are not apart. */
int closestGuess(Closest *c, sunrealtype less);

#endif
