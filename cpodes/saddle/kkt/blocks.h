/* The diagonal blocks of a mass matrix: bodies in absolute coordinates have a block each. */
#ifndef CPODES_KKT_BLOCKS_H
#define CPODES_KKT_BLOCKS_H

#include "cholesky.h"
#include "kkt.h"

/* first [n + 1]: out, first rows of the blocks of successive rows and columns that M is made of, and n.
 * Of a dense M by its values, of a sparse one by its structure. Returns their number. */
int cpKktBlocksFind(const CPMat *M, int *first);
/* Has none of them more than CP_SMALL rows? first as above. */
int cpKktBlocksAreSmall(const CPMat *M, int *first);
/* Upper triangle of block first ... first + size - 1 of M: S [size x size]. */
void cpKktBlocksGather(const CPMat *M, int first, int size, double *S);

/* M's Cholesky factors by blocks. */
typedef struct {
  int n, nblocks;
  int *first;        /* [n + 1] */
  CPCholesky *block; /* [nblocks], at most n: in the memory below */
  double *pool, *d, *inverse, *work;
  int valid;
  double *kept; /* [entries of M] values that the factors belong to, if valid */
} CPMassBlocks;

int cpKktBlocksCreate(CPMassBlocks *b, const CPMat *M); /* CP_SUCCESS or CP_MEM_FAIL */
void cpKktBlocksFree(CPMassBlocks *b);
/* Factors of the same values are kept. 0, or CP_KKT_NOT_DEFINITE: M is not positive definite, or
 * singular within roundoff. */
int cpKktBlocksFactor(CPMassBlocks *b, const CPMat *M);
/* With M = L L^T: X = L^{-1} X, X n x columns; x = L^{-T} x. */
void cpKktBlocksForward(const CPMassBlocks *b, double *X, int columns);
void cpKktBlocksBackward(const CPMassBlocks *b, double *x);

#endif
