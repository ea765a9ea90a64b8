/* What a solver of saddle-point systems is, and what solvers share. */
#ifndef CPODES_SADDLE_IMPL_H
#define CPODES_SADDLE_IMPL_H

#include "saddle.h"

typedef struct CPSaddleOps_ {
  const char *name;
  CPSaddleType type;
  int keeps_pattern; /* the structure of A is analysed at creation */
  /* Memory of the content, from s->used.arena, which frees it. CP_SUCCESS, CP_MEM_FAIL, CP_LINSOL_FAIL, or
   * CP_ILL_INPUT where the solver does not take the kinds of W and A. */
  int (*create)(CPSaddle s);
  /* Factors of W (s->d or s->M) and of the rows in use of s->A, with s->ranktol. 0, a positive result, or a negative
   * code. Sets rank, sine, is_dependent, dependent, which say full rank before. */
  int (*factor)(CPSaddle s);
  /* As cpSaddleSolve; mu, unless NULL, is zero before. */
  int (*solve)(CPSaddle s, const double *f, const double *b, double *x, double *mu);
} CPSaddleOps;

extern const CPSaddleOps cpSaddleSchurOps, cpSaddleQROps, cpSaddleNullspaceOps, cpSaddleSparseOps,
    cpSaddleKktOps;

/* The rows in use as columns, X [n x nrows]. */
void cpSaddleGather(const CPSaddle s, double *X);
/* s_j = 1 / sqrt(w_jj), so that units do not matter; with a matrix W to a power of two, which rounds nothing. A
 * coordinate without mass: by the largest entry of its column, else of W. */
void cpSaddleScaleCoordinates(const CPSaddle s, double *scale);
/* Row i depends on others. */
void cpSaddleMarkDependent(CPSaddle s, int i);

#endif
