/* The saddle point [W A^T; A 0] for matrices known by their products only, on any N_Vector:
 * conjugate gradients for S mu = r, S = A D A^T with D = W^{-1}. Every decision follows from global
 * reductions, so that all processes of a parallel vector take the same one. */
#ifndef CPODES_KRYLOV_H
#define CPODES_KRYLOV_H

#include "cpodes/base/arena.h"

/* Each returns 0 and a finite result, or a code whose reason it has left where the caller finds
 * it. */
typedef struct {
  int (*times)(void *self, N_Vector v, N_Vector Av); /* A v, 0 in rows that are switched off */
  int (*transposed)(void *self, N_Vector w, N_Vector ATw);
  int (*metric)(void *self, N_Vector g, N_Vector Dg);
  /* z = B r, B ~ S^{-1}, by the user's function, which may be the cause of a failure; NULL: B is
   * diagonal */
  int (*precondition)(void *self, N_Vector r, N_Vector z);
} CPKrylovProducts;

typedef struct CPKrylov_ {
  const CPKrylovProducts *products;
  void *self;
  N_Vector diagonal;            /* of B, without precondition */
  double largest;               /* largest Rayleigh quotient of B S so far */
  N_Vector z, q, Bq, p, scaled; /* workspace of a solve, like c */
  N_Vector d, g, s;             /* workspace of a solve, like x */
  CPArena arena;
} * CPKrylov;

/* The diagonal of B must outlive *krylov; its values may change. Returns CP_SUCCESS, or CP_MEM_FAIL
 * with *krylov = NULL. */
int cpKrylovCreate(CPKrylov *krylov, const CPKrylovProducts *products, void *self, N_Vector x_tmpl,
                   N_Vector diagonal);
void cpKrylovFree(CPKrylov *krylov);
/* To be called when A, D or B has changed. */
void cpKrylovReset(CPKrylov krylov);

/* x <- x + D A^T S^+ r and, unless mu is NULL, mu <- S^+ r. r: in, 0 in rows that are switched off;
 * out, the residual. It is at most rtol times its initial size in the norm cpKrylovNorm, unless the
 * rows contradict each other: then r is the part outside the range of A. Returns 0, the code of a
 * product that failed, or a code whose reason is written to text [CP_TEXT_LENGTH]. The iterations
 * are added to *iterations. */
int cpKrylovSolve(CPKrylov krylov, N_Vector weight, double rtol, N_Vector r, N_Vector x,
                  N_Vector mu, long int *iterations, char *text);
/* sqrt(max weight_i c_i^2); tmp: workspace like c */
double cpKrylovNorm(N_Vector weight, N_Vector c, N_Vector tmp);

#endif
