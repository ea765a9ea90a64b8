/* Dense matrices, column-major. Operations of order n^3 use BLAS and LAPACK for large matrices, and
 * plain loops for small ones, where a library call costs more than the arithmetic: dpotrf takes
 * three times as long as loops for n = 10. All other operations are loops, since memory bounds
 * their speed and dtrsv takes 300 instructions for n = 2 (bench/overhead.sh). */
#ifndef CPODES_SMALL_H
#define CPODES_SMALL_H

#include "cpodes/base/arena.h"
#include "cpodes/base/roundoff.h"
#include "cpodes/matrix/lapack.h"

/* S <- X^T X, upper triangle; XT [m x n], S [m x m] */
void cpGram(int m, int n, const double *XT, double *S);
/* Dense Cholesky factors of a symmetric matrix in scaled form,
 *
 *   D S D = U^T U,   D = diag(d),
 *
 * which distinguish "positive definite" from "singular within roundoff": d_k = 1 / sqrt(s_kk), or
 * any other d with which the entries of D S D have roundoff of about 1e-15. */

/* After creation n may be lowered; U is then n x n in the same memory. */
typedef struct {
  int n;
  double *U;       /* n x n, upper triangle: S on entry to the factorisation, U afterwards */
  double *d;       /* [n] */
  double *inverse; /* [n] 1 / u_kk */
  double *work;    /* [n] */
} CPCholesky;

int cpCholeskyCreate(CPCholesky *c, CPArena *arena, int n); /* CP_SUCCESS or CP_MEM_FAIL */

/* Sets d_k = 1 / sqrt(s_kk), or 1 where s_kk is not positive. */
void cpCholeskyUnitDiagonal(CPCholesky *c);
/* Factors S. Returns 0; or k + 1 if row k depends on others or makes S indefinite: its squared
 * pivot is not above least^2, or the least eigenvalue of D S D is roundoff, unless least is below
 * CP_CHOLESKY_LEAST. */
int cpCholeskyFactor(CPCholesky *c, double least);

/* x = S^{-1} x */
void cpCholeskySolve(const CPCholesky *c, double *x);
/* x = U^{-T} D x; x = D U^{-1} x. */
void cpCholeskyForward(const CPCholesky *c, double *x);
void cpCholeskyBackward(const CPCholesky *c, double *x);

/* A row in the span of others has a pivot that is roundoff times the squares of its coefficients in
 * them, which are large if those rows are at narrow angles. If the least squared pivot is below
 * this bound, the pivots alone do not decide, and cpJudge is called. */
#define CP_SMALL_PIVOT 1.0e-3
/* x <- S^{-1} x from the factors of S. Returns 0, or a code of the solver's own. */
typedef int (*CPSolveFn)(void *factors, double *x);
/* Is S singular within the roundoff of forming it? Decided by two steps of inverse iteration; x
 * [length]: workspace. Returns 0, CP_SINGULAR, or the code of solve. */
int cpJudge(CPSolveFn solve, void *factors, double *x, int length);
enum { CP_SINGULAR = 1 };

/* Random numbers in [1, 2), the same in each call. */
void cpRandomVector(double *v, int length);

/* Cholesky squares the angle between rows; it cannot distinguish a sine below this from
 * dependence. */
#define CP_CHOLESKY_LEAST CP_INEXACT

/* CP_FUZZ is the smallest eigenvalue of a scaled matrix that counts as nonzero: roundoff turns zero into about 1e-15,
 * and two columns at the angle CP_CHOLESKY_LEAST give 5e-13. Added to the diagonal, it lets a matrix that is
 * semidefinite within roundoff pass. */

#endif
