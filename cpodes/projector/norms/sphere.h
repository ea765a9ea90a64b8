/* Nearest points on spheres |q| = value in a diagonal metric: min sum_i (x_i - q_i)^2 / D_i. */
#ifndef CPODES_SPHERE_H
#define CPODES_SPHERE_H

#include "../projector_impl.h"

/* Results of cpSphereNearest. */
#define CP_SPHERE_ZERO 1 /* q = 0 has no nearest point                                  */
#define CP_SPHERE_HELD 2 /* what may move cannot bring |q| to value                     */
#define CP_SPHERE_FAR  3 /* |q| / value is beyond CP_SPHERE_RANGE, and weights differ   */

/* q [length]: in, out, untouched on failure. D_i = 1 / weight_i^2, or 1 with weight NULL; 0,
 * held, where id_i = 0 (id NULL: all free). Weights of one norm count as different by 1e70 at
 * most. x, D [length]: workspace. 0 or one of the results above; always 0 if all are free and
 * |q| / value is within the range. */
int cpSphereNearest(int length, double value, const double *weight, const double *id, double *q,
                    double *x, double *D);

/* |q|, safe from under- and overflow. */
double cpSphereNorm(int length, const double *q);

#define CP_SPHERE_RANGE 1.0e70 /* and its inverse */

/* CP_SPHERE_GROUP quaternions of one norm, one after another in memory, all free. q, weight
 * [4 CP_SPHERE_GROUP]: as above. Are all |q| / value within the range? */
#define CP_SPHERE_GROUP 32
int cpSphereGroupInRange(double value, const double *q);

/* Nearest points for all of them, if they are near the sphere. *worst: in, out, largest
 * | |q|^2 / value^2 - 1 | so far; *which: out, the quaternion of this group where it was found. 0:
 * untouched, because one is too far away. */
int cpSphereGroup(double value, const double *weight, double *q, double *worst, int *which);

#endif
