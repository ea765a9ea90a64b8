/* Factors of a W that is diagonal or has diagonal blocks: W = L L^T, F = L^{-T}, D = W^{-1} = F F^T. Bodies in absolute
 * coordinates have a block each; a dense W without zeros is one block. */
#ifndef CPODES_WEIGHT_H
#define CPODES_WEIGHT_H

#include "cholesky.h"
#include "saddle_impl.h"

typedef struct {
  int n, nblocks;    /* nblocks 0: diagonal */
  int *first;        /* [n + 1] first rows of the blocks, and n */
  CPCholesky *block; /* [nblocks], at most n: in the memory below */
  double *pool, *d, *inverse, *work;
  double *root; /* [n] of a diagonal W: roots of D */
  int valid;
  double *kept; /* [entries of W] values that the factors belong to, if valid */
} CPWeightFactors;

/* The successive blocks that M is made of: of a dense M by its values, of a sparse one by its structure. first [n + 1];
 * returns their number. */
int cpWeightBlocksFind(const CPMat *M, int *first);
/* Has none of them more than CP_SMALL rows? first as above. */
int cpWeightBlocksAreSmall(const CPMat *M, int *first);
/* Upper triangle of the block first ... first + size - 1 of M: S [size x size]. */
void cpWeightBlockGather(const CPMat *M, int first, int size, double *S);

/* In s->used.arena; 0 or CP_MEM_FAIL. */
int cpWeightCreate(CPWeightFactors *w, CPSaddle s);
/* Of s->M or s->d; factors of the same matrix are kept. 0, or CP_SADDLE_NOT_DEFINITE: W is not positive definite, or
 * singular within roundoff. */
int cpWeightFactor(CPWeightFactors *w, const CPSaddle s);
/* x <- F^T x, F x */
void cpWeightForward(const CPWeightFactors *w, double *x);
void cpWeightBackward(const CPWeightFactors *w, double *x);
/* XT <- XT F in place, XT dense [m x n] */
void cpWeightScale(const CPWeightFactors *w, int m, double *XT);

#endif
