/* Solvers of the sparse Schur complement S = X^T X, X n x m with unit columns or columns of zeros, which are absent:
 * their r and mu are 0, they count neither in rank nor as dependent. (.)^+ is the inverse on an independent subset of
 * the columns. One table of functions, one file per solver (block.c, sparse.c). */
#ifndef CPODES_COMPLEMENT_H
#define CPODES_COMPLEMENT_H

#include "saddle_impl.h"

typedef struct CPComplement_ CPComplement;

typedef struct {
  /* From the structure of X^T; memory from the arena. CP_SUCCESS, CP_MEM_FAIL or CP_LINSOL_FAIL. */
  int (*create)(CPComplement *c, CPArena *arena);
  int (*factor)(CPComplement *c);                            /* 0 or a negative code */
  int (*solve)(CPComplement *c, const double *r, double *x); /* x  = X S^+ r, r and x apart */
  int (*solveTransposed)(CPComplement *c, const double *x,
                         double *mu); /* mu = S^+ X^T x, x and mu apart */
} CPComplementOps;

struct CPComplement_ {
  const CPComplementOps *ops;
  int n, m;
  CPMat XT;           /* m x n, sparse; values at factor */
  double ranktol;     /* a column is dependent below this sine of its angle */
  int rank;           /* at the newest factorisation */
  double sine;        /* the smallest sine of a column that counts as independent (estimate) */
  int dependent;      /* a dependent column, -1 if there is none */
  char *is_dependent; /* [m] 1: this column depends on those with 0 */
  void *content;      /* the solver's own */
};

extern const CPComplementOps cpBlockComplementOps, cpSparseComplementOps;

#endif
