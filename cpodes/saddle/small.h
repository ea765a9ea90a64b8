/* Dense matrices, column-major: the BLAS for large ones, plain loops for small ones, where its calls
 * cost more than its arithmetic: dtrsv takes 300 instructions for n = 2 (bench/overhead.sh), dpotrf
 * three times as long as loops for n = 10. */
#ifndef CPODES_SMALL_H
#define CPODES_SMALL_H

/* Up to this order. */
#define CP_SMALL 32

/* x <- L^{-1} x, L^{-T} x, U^{-1} x, in place. L, U [n x n]: triangles of a matrix with leading
 * dimension ld; unit: L has ones on its diagonal, which are not stored. */
void cpSolveLower(int n, const double *L, int ld, int unit, double *x);
void cpSolveLowerTransposed(int n, const double *L, int ld, double *x);
void cpSolveUpper(int n, const double *U, int ld, double *x);

/* S <- X^T X, upper triangle; XT [m x n], S [m x m] */
void cpGram(int m, int n, const double *XT, double *S);
/* y <- alpha X x + beta y, y [n]; y <- alpha X^T x + beta y, y [m]; X [n x m] */
void cpTimes(int n, int m, double alpha, const double *X, const double *x, double beta, double *y);
void cpTransposedTimes(int n, int m, double alpha, const double *X, const double *x, double beta,
                       double *y);

#endif
