/* The saddle point [W A^T; A 0] where only products are known, on any N_Vector: conjugate gradients for
 * S mu = r, S = A D A^T with D = W^{-1}. Every decision comes out of global reductions, so that all processes of a
 * parallel vector take the same one. */
#ifndef CPODES_KRYLOV_H
#define CPODES_KRYLOV_H

#include "cpodes/base/arena.h"

/* Each returns 0 with a result that is finite, or a code whose reason it leaves where the caller finds it. */
typedef struct {
  int (*times)(void *self, N_Vector v, N_Vector Av); /* A v, 0 in rows that are off */
  int (*transposed)(void *self, N_Vector w, N_Vector ATw);
  int (*metric)(void *self, N_Vector g, N_Vector Dg);
  int (*precondition)(void *self, N_Vector r, N_Vector z); /* z = B r, B ~ S^{-1} */
  int own_preconditioner; /* precondition is the user's, and may be what is wrong */
} CPKrylovProducts;

typedef struct CPKrylov_ {
  const CPKrylovProducts *products;
  void *self;
  double largest;               /* Rayleigh quotient of B S so far */
  N_Vector z, q, Bq, p, scaled; /* like c; free between solves, as are the next: */
  N_Vector d, g, s;             /* like x */
  CPArena arena;
} * CPKrylov;

/* Returns CP_SUCCESS, or CP_MEM_FAIL with *krylov = NULL. */
int cpKrylovCreate(CPKrylov *krylov, const CPKrylovProducts *products, void *self, N_Vector x_tmpl,
                   N_Vector c_tmpl);
void cpKrylovFree(CPKrylov *krylov);
/* A, D or B have changed. */
void cpKrylovReset(CPKrylov krylov);

/* x <- x + D A^T S^+ r and, unless it is NULL, mu <- S^+ r. r: in, 0 in rows that are off; out, what remains of it: in
 * the norm max weight_i r_i^2 at most goal times as much, or what contradicts. 0, the code of a product, or one whose
 * reason is written to text [CP_TEXT_LENGTH]. *iterations is added to. */
int cpKrylovSolve(CPKrylov krylov, N_Vector weight, double goal, N_Vector r, N_Vector x,
                  N_Vector mu, long int *iterations, char *text);
/* sqrt(max weight_i c_i^2); tmp: like c */
double cpKrylovNorm(N_Vector weight, N_Vector c, N_Vector tmp);

#endif
