/* The direct linear solver of a dense matrix by LAPACK (dgetrf, dgetrs), as SUNLinSol_LapackDense, which
 * Debian's SUNDIALS does not have. */
#ifndef CPODES_BENCH_LAPACK_DENSE_H
#define CPODES_BENCH_LAPACK_DENSE_H

#include <sundials/sundials_linearsolver.h>

/* For n x n matrices of SUNDenseMatrix; SUNLinSolFree frees it. NULL without memory */
SUNLinearSolver lapack_dense(sunindextype n, SUNContext ctx);

#endif
