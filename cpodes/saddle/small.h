/* Dense matrices, column-major. What takes n^3 operations is the BLAS' and LAPACK's for large ones, plain loops for small
 * ones, where their calls cost more than the arithmetic: dpotrf takes three times as long as loops for n = 10. All else is
 * loops: memory is what limits it, and dtrsv takes 300 instructions for n = 2 (bench/overhead.sh). */
#ifndef CPODES_SMALL_H
#define CPODES_SMALL_H

#include "cpodes/base/arena.h"
#include "cpodes/matrix/lapack.h"

/* S <- X^T X, upper triangle; XT [m x n], S [m x m] */
void cpGram(int m, int n, const double *XT, double *S);
/* Dense Cholesky factors of a symmetric matrix in scaled form,
 *
 *   D S D = U^T U,   D = diag(d),
 *
 * that tell "positive definite" from "singular within roundoff": with d_k = 1 / sqrt(s_kk), or
 * whatever d makes the roundoff in the entries of D S D one of some 1e-15. */

/* n may be less than at creation; U is then n x n in the same memory. */
typedef struct {
  int n;
  double *U;       /* n x n, upper triangle: S before, U after the factorisation */
  double *d;       /* [n] */
  double *inverse; /* [n] 1 / u_kk */
  double *work;    /* [n] */
} CPCholesky;

int cpCholeskyCreate(CPCholesky *c, CPArena *arena, int n); /* CP_SUCCESS or CP_MEM_FAIL */

/* d_k = 1 / sqrt(s_kk); 1 where s_kk is not positive. */
void cpCholeskyUnitDiagonal(CPCholesky *c);
/* Factors S. 0; or k + 1, k a row that depends on others or makes S indefinite: when its squared pivot
 * is not above least^2 or, least_eigenvalue of D S D is roundoff. */
int cpCholeskyFactor(CPCholesky *c, double least);

/* x = S^{-1} x */
void cpCholeskySolve(const CPCholesky *c, double *x);
/* x = U^{-T} D x; x = D U^{-1} x. */
void cpCholeskyForward(const CPCholesky *c, double *x);
void cpCholeskyBackward(const CPCholesky *c, double *x);

/* A row in the span of others has a pivot of S that is roundoff times the squares of its coefficients, which rows at
 * narrow angles make large: where the least squared pivot is below this, it takes more to tell. */
#define CP_SMALL_PIVOT 1.0e-3
/* x = S^{-1} x from the factors of S; 0, or a code of the solver's own. */
typedef int (*CPSolveFn)(void *factors, double *x);
/* Is S singular within the roundoff of forming it? Two steps of inverse iteration tell; x [length]:
 * workspace. 0, CP_SINGULAR, or the code of solve. */
int cpJudge(CPSolveFn solve, void *factors, double *x, int length);
#define CP_SINGULAR 1

/* Random numbers in [1, 2), always the same. */
void cpRandomVector(double *v, int length);

/* An angle (sine) below this cannot be told from dependence by Cholesky, which squares it. */
#define CP_CHOLESKY_LEAST 1.0e-6

#endif
