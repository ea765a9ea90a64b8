/* Dense Cholesky factors of a symmetric matrix in scaled form,
 *
 *   D S D = U^T U,   D = diag(d),
 *
 * that tell "positive definite" from "singular within roundoff": with d_k = 1 / sqrt(s_kk), or
 * whatever d makes the roundoff in the entries of D S D one of some 1e-15. */
#ifndef CPODES_CHOLESKY_H
#define CPODES_CHOLESKY_H

#include "cpodes/base/arena.h"
#include "small.h"

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

/* S = U^T U by columns of U, in place; 0 if S is not positive definite. Plain loops, for small n. */
int cpCholeskySmall(double *U, int n);

/* An angle (sine) below this cannot be told from dependence by Cholesky, which squares it. */
#define CP_CHOLESKY_LEAST 1.0e-6

#endif
