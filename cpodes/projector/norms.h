/* Nearest points on spheres |q| = value in a diagonal metric: min sum_i (x_i - q_i)^2 / D_i. */
#ifndef CPODES_NORMS_H
#define CPODES_NORMS_H

#include "projector_impl.h"

/* Results of cpSphereNearest. */
#define CP_SPHERE_ZERO 1 /* q = 0 has no nearest point                                  */
#define CP_SPHERE_HELD 2 /* what may move cannot bring |q| to value                     */
#define CP_SPHERE_FAR  3 /* |q| / value is beyond CP_SPHERE_RANGE, and weights differ   */

/* q [length]: in, out, untouched on failure. D_i = 1 / weight_i^2, or 1 with weight NULL; 0,
 * held, where id_i = 0 (if id is NULL, all are free). Weights of one norm count as different by 1e70 at
 * most. x, D [length]: workspace. 0 or one of the results above; always 0 if all are free and
 * |q| / value is within the range. */
int cpSphereNearest(int length, double value, const double *weight, const double *id, double *q,
                    double *x, double *D);

/* |q|, safe from under- and overflow. */
double cpSphereNorm(int length, const double *q);

#define CP_SPHERE_RANGE 1.0e70 /* and its inverse */

/* Quaternions of one norm, one after another in memory, all free, in groups of CP_SPHERE_GROUP.
 * q, weight [4 count]: as above; value: within 1e-100 ... 1e100. */
#define CP_SPHERE_GROUP 32
/* Nearest points up to the first group with one too far from the sphere for that, or a rest that is
 * none. Returns how many quaternions that are; the others are untouched. */
int cpSphereGroups(int count, double value, const double *weight, double *q);

/* Are | |q|^2 / value^2 - 1 | in all groups at most CP_SPHERE_NEAR, and q thus finite? *worst: in,
 * 0; out, the largest; *which: out, where that is, untouched if it is 0. */
#define CP_SPHERE_NEAR 0.5
int cpSphereGroupsAreNear(int count, double value, const double *q, double *worst, int *which);

#endif
