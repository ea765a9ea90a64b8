/* The direct linear solver for dense matrices by LAPACK (dgetrf, dgetrs), like
 * SUNLinSol_LapackDense, which Debian's SUNDIALS lacks. */
#ifndef CPODES_BENCH_LAPACK_DENSE_H
#define CPODES_BENCH_LAPACK_DENSE_H

#include <sundials/sundials_linearsolver.h>

/* For n x n matrices of SUNDenseMatrix; SUNLinSolFree frees it. NULL if memory is lacking */
SUNLinearSolver lapack_dense(sunindextype n, SUNContext ctx);

#endif
