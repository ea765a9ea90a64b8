/* Nearest points on spheres |q| = value, in a diagonal metric: min 1/2 sum_i (x_i - q_i)^2 / D_i. */
#ifndef CPODES_SPHERE_H
#define CPODES_SPHERE_H

#include "projector_impl.h"

/* Results of cpSphereNearest. */
#define CP_SPHERE_ZERO 1 /* q = 0 has no nearest point                      */
#define CP_SPHERE_HELD 2 /* what may move cannot bring |q| to value         */
#define CP_SPHERE_FAR  3 /* sums over- or underflow, or no convergence      */

/* q [length]: in, out, untouched on failure. D_i = 1 / weight_i^2, or 1 with weight NULL; 0, held, where
 * id_i = 0 (id NULL: all free). x, D [length]: workspace. 0 or one of the results above. */
int cpSphereNearest(int length, double value, const double *weight, const double *id, double *q,
                    double *x, double *D);

/* |q|, safe from under- and overflow. */
double cpSphereNorm(int length, const double *q);

/* CP_SPHERE_GROUP quaternions, one after another in memory, all free and near their spheres: the same for
 * all of them. u [CP_SPHERE_GROUP]: their norms. weight, q [4 CP_SPHERE_GROUP]: as above. *worst: in, out,
 * largest | |q|^2 / value^2 - 1 | so far; *which: out, the quaternion of this group where it was found.
 * 0: untouched, because one is too far away. */
#define CP_SPHERE_GROUP 32
int cpSphereGroup(const CPUnitNorm *u, const double *weight, double *q, double *worst, int *which);

#endif
