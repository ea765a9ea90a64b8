/* Shared by the tests of the mechanisms: checks a constraint Jacobian against differences, in its
 * sparse forms, and as products. States are random, |y_i| <= 1. Deviations fail the running test. */
#ifndef CPODES_TEST_JACOBIANS_H
#define CPODES_TEST_JACOBIANS_H

#include "support/support.h"
#include <cpodes/cpodes_projector.h>
#include <sunmatrix/sunmatrix_sparse.h>

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

/* jac, dense, against central differences of c at 10 states. For constraints whose terms are below
   10 and whose third derivatives are below 10 (polynomials of degree 2, sines with factors below
   5). */
void compare_jacobian(CPConstraintFn c, CPConstraintJacFn jac, int n, int m, sunrealtype t,
                      void *par);

/* The values of `sparse` in the pattern equal those of `dense` bit by bit, which is zero outside of
 * the pattern; the index arrays are ascending, and do not change. */
void compare_sparse(CPConstraintJacFn dense, CPConstraintJacFn sparse, SUNMatrix pattern, void *par);

/* The dense Jacobian at y; the caller frees it. */
SUNMatrix dense_jacobian(CPConstraintJacFn jac, int m, N_Vector y, void *par);

/* Gx <- G x and GTx <- G^T x of a dense G */
void dense_times(SUNMatrix G, N_Vector x, N_Vector Gx);
void dense_transposed_times(SUNMatrix G, N_Vector x, N_Vector GTx);
/* Entry (i, k) of G diag(D) G^T of a dense G */
sunrealtype dense_schur(SUNMatrix G, N_Vector D, sunindextype i, sunindextype k);

#endif
