/* The LAPACK and BLAS routines that are used, with the 32-bit indices of Debian's libraries.
 * Complex numbers are pairs of doubles. */
#ifndef CPODES_LAPACK_H
#define CPODES_LAPACK_H

#define F77(name) name##_

/* Up to this order plain loops take less time than calls. */
#define CP_SMALL 32

void F77(dsyrk)(const char *uplo, const char *trans, const int *n, const int *k, const double *alpha,
                const double *a, const int *lda, const double *beta, double *c, const int *ldc);
void F77(dsymm)(const char *side, const char *uplo, const int *m, const int *n, const double *alpha,
                const double *a, const int *lda, const double *b, const int *ldb,
                const double *beta, double *c, const int *ldc);
void F77(dsyr2k)(const char *uplo, const char *trans, const int *n, const int *k,
                 const double *alpha, const double *a, const int *lda, const double *b,
                 const int *ldb, const double *beta, double *c, const int *ldc);
void F77(dgemv)(const char *trans, const int *m, const int *n, const double *alpha, const double *a,
                const int *lda, const double *x, const int *incx, const double *beta, double *y,
                const int *incy);
void F77(dgemm)(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                const double *alpha, const double *a, const int *lda, const double *b,
                const int *ldb, const double *beta, double *c, const int *ldc);
void F77(dtrsv)(const char *uplo, const char *trans, const char *diag, const int *n,
                const double *a, const int *lda, double *x, const int *incx);
void F77(dtrsm)(const char *side, const char *uplo, const char *trans, const char *diag,
                const int *m, const int *n, const double *alpha, const double *a, const int *lda,
                double *b, const int *ldb);
void F77(dpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info);
void F77(dgetrf)(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void F77(dgetrs)(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda,
                 const int *ipiv, double *b, const int *ldb, int *info);
void F77(zgetrf)(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void F77(zgetrs)(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda,
                 const int *ipiv, double *b, const int *ldb, int *info);
void F77(dgeqrf)(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
                 const int *lwork, int *info);
void F77(dgeqp3)(const int *m, const int *n, double *a, const int *lda, int *jpvt, double *tau,
                 double *work, const int *lwork, int *info);
void F77(dorgqr)(const int *m, const int *n, const int *k, double *a, const int *lda,
                 const double *tau, double *work, const int *lwork, int *info);

#endif
