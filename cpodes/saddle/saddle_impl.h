/* What a solver of saddle-point systems is, and what solvers share. */
#ifndef CPODES_SADDLE_IMPL_H
#define CPODES_SADDLE_IMPL_H

#include "saddle.h"
#include "small.h"

typedef struct CPSaddleOps_ {
  /* Memory of the content, from s->used.arena, which frees it. CP_SUCCESS, CP_MEM_FAIL, CP_LINSOL_FAIL, or
   * CP_ILL_INPUT where the solver does not take the kinds of W and A. */
  int (*create)(CPSaddle s);
  /* Factors of W (s->root or s->M) and of the rows in use of s->A, with s->ranktol. 0, a positive result, or a negative
   * code. Sets rank, sine, is_dependent, dependent, which say full rank before. */
  int (*factor)(CPSaddle s);
  /* As cpSaddleSolve; mu, unless NULL, is zero before. */
  int (*solve)(CPSaddle s, const double *f, const double *b, double *x, double *mu);
} CPSaddleOps;

extern const CPSaddleOps cpSaddleSchurOps, cpSaddleEnvelopeOps, cpSaddleNullspaceOps,
    cpSaddleComplementOps, cpSaddleKktOps;

/* The rows in use, dense: a_kj of the k-th of them goes to X[k row_stride + j column_stride]. */
void cpSaddleGather(const CPSaddle s, double *X, size_t row_stride, size_t column_stride);
/* s_j = 1 / sqrt(w_jj) of a matrix W, so that units do not matter; to a power of two, which rounds nothing. A
 * coordinate without mass: by the largest entry of its column, else of W. */
void cpSaddleScaleCoordinates(const CPSaddle s, double *scale);
/* Row i depends on others. */
void cpSaddleMarkDependent(CPSaddle s, int i);

/* Factors of a W that is diagonal or has diagonal blocks: W = L L^T, F = L^{-T}, D = W^{-1} = F F^T. Bodies in absolute
 * coordinates have a block each; a dense W without zeros is one block. */

typedef struct {
  int n, nblocks;    /* nblocks 0: diagonal */
  int *first;        /* [n + 1] first rows of the blocks, and n */
  CPCholesky *block; /* [nblocks], at most n: in the memory below */
  double *pool, *d, *inverse, *work;
  const double *root; /* [n] of a diagonal W: s->root */
  long int of;        /* s->weights that the factors belong to; 0: there are none */
} CPWeightFactors;

/* The successive blocks that M is made of: of a dense M by its values, of a sparse one by its structure. first [n + 1];
 * returns their number. */
int cpWeightBlocksFind(const CPMat *M, int *first);
/* Upper triangle of the block first ... first + size - 1 of M: S [size x size]. */
void cpWeightBlockGather(const CPMat *M, int first, int size, double *S);

/* In s->used.arena, whose status it returns. */
int cpWeightCreate(CPWeightFactors *w, CPSaddle s);
/* Of s->M; factors of the same matrix are kept. 0, or CP_SADDLE_NOT_DEFINITE: W is not positive definite, or
 * singular within roundoff. */
int cpWeightFactor(CPWeightFactors *w, CPSaddle s);
/* x <- F^T x, F x */
void cpWeightForward(const CPWeightFactors *w, double *x);
void cpWeightBackward(const CPWeightFactors *w, double *x);
/* XT <- XT F in place, XT dense [m x n] */
void cpWeightScale(const CPWeightFactors *w, int m, double *XT);

/* Solvers of the sparse Schur complement S = X^T X, X n x m with unit columns or columns of zeros, which are absent:
 * their r and mu are 0, they do not count as dependent. (.)^+ is the inverse on an independent subset of
 * the columns. One table of functions, one file per solver (block.c, sparse.c). */

typedef struct CPComplement_ CPComplement;

typedef struct {
  /* From the structure of X^T, whose columns may get another order of their entries, and `from` with them; memory from the
   * arena. CP_SUCCESS, CP_MEM_FAIL or CP_LINSOL_FAIL. */
  int (*create)(CPComplement *c, CPArena *arena);
  int (*factor)(CPComplement *c);                            /* 0 or a negative code */
  int (*solve)(CPComplement *c, const double *r, double *x); /* x  = X S^+ r, r and x apart */
  int (*solveTransposed)(CPComplement *c, const double *x,
                         double *mu); /* mu = S^+ X^T x, x and mu apart */
} CPComplementOps;

struct CPComplement_ {
  const CPComplementOps *ops;
  int n, m;
  CPMat XT; /* m x n, sparse; values at factor */
  size_t *from; /* [entries] their places in the order of ascending rows, which is A's if D is diagonal */
  double ranktol;     /* a column is dependent below this sine of its angle */
  double sine;        /* the smallest sine of a column that counts as independent (estimate) */
  int dependent;      /* a dependent column, -1 if there is none; of the sparse solver */
  char *is_dependent; /* [m] 1: this column depends on those with 0 */
  void *content;      /* the solver's own */
};

extern const CPComplementOps cpBlockComplementOps, cpSparseComplementOps;

#endif
