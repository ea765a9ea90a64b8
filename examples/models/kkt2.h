/* Accelerations and multipliers, for a diagonal mass matrix and two position constraints:
 *
 *   M a + G^T lambda = Q,   G a = b
 *
 * by   (G M^-1 G^T) lambda = G M^-1 Q - b,   a = M^-1 (Q - G^T lambda).
 */
#ifndef CPODES_EXAMPLES_KKT2_H
#define CPODES_EXAMPLES_KKT2_H

#include <sundials/sundials_types.h>

/* nq: number of coordinates; mass, Q [nq]; G1, G2 [nq]: rows of G; b [2]. a [nq], lambda [2]: out.
   Returns 0, or 1 if the constraints are dependent. */
int kkt2_solve(int nq, const sunrealtype *mass, const sunrealtype *G1, const sunrealtype *G2,
               const sunrealtype *Q, const sunrealtype b[2], sunrealtype *a, sunrealtype lambda[2]);

#endif
