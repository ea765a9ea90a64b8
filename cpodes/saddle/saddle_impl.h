/* The table of functions of a solver for saddle-point systems, and the parts that solvers share. */
#ifndef CPODES_SADDLE_IMPL_H
#define CPODES_SADDLE_IMPL_H

#include "saddle.h"
#include "small.h"

#include <string.h>

typedef struct CPSaddleOps_ {
  /* Allocates the content from s->used.arena, which also frees it. Returns CP_SUCCESS, CP_MEM_FAIL,
   * CP_LINSOL_FAIL, or CP_ILL_INPUT if the solver does not support these kinds of W and A. */
  int (*create)(CPSaddle s);
  /* Factors W (s->root or s->M) and the rows in use of s->A, with s->ranktol. Returns 0, a positive
   * result, or a negative code. Updates rank, sine, is_dependent and dependent. On entry these describe
   * full rank, or, if s->is_judged, the rows that are dependent, which the factors leave out. */
  int (*factor)(CPSaddle s);
  /* As cpSaddleSolve; on entry mu, unless NULL, is zero in rows that are off. */
  int (*solve)(CPSaddle s, const double *f, const double *b, double *x, double *mu);
  CPSaddleQuickFn quick; /* or NULL */
  /* Allocates what quick needs, which otherwise the second factorisation does. Returns 0 or CP_MEM_FAIL. NULL: nothing
   * is needed */
  int (*expect_quick)(CPSaddle s);
} CPSaddleOps;

extern const CPSaddleOps cpSaddleSchurOps, cpSaddleEnvelopeOps, cpSaddleNullspaceOps,
    cpSaddleSparseOps, cpSaddleKktOps, cpSaddleFewOps;

/* Gathers the rows in use into a dense matrix: a_kj of the k-th of them is stored in X[k row_stride
 * + j column_stride]. */
void cpSaddleGather(const CPSaddle s, double *X, size_t row_stride, size_t column_stride);
/* 1: angles are narrow because of W alone, and no other solver can take over. Cholesky factors then serve
 * down to the roundoff of their pivots, and solutions are refined. */
static inline int cpSaddleIsLast(const CPSaddle s) {
  return s->is_judged && s->judge->sine > CP_CHOLESKY_LEAST && s->general == CP_LINSOL_AUTO;
}
/* The least sine of an angle that counts where the elimination of other unknowns has amplified roundoff by one over the
 * squared sine: half of the digits remain. */
#define CP_LEAST_SINE_OF_PART sqrt(CP_HALF_DIGITS)
/* The least sine of an angle in the metric of W that Cholesky factors distinguish from dependence. */
static inline double cpSaddleLeastSine(const CPSaddle s) {
  if (cpSaddleIsLast(s)) return sqrt(CP_FLOOR_FACTOR * CP_UROUND);
  return s->ranktol > CP_CHOLESKY_LEAST ? s->ranktol : CP_CHOLESKY_LEAST;
}
/* Takes over the values of W. Returns CP_SADDLE_SAME if the factors are those of W and A (with the
 * ranktol of their time), else 0 or CP_SADDLE_NONFINITE. Many mass matrices are constant, and a
 * comparison costs little next to a factorisation. */
enum { CP_SADDLE_SAME = -1 };
int cpSaddleKeepWeight(CPSaddle s, const double *W);
static inline int cpSaddleTake(CPSaddle s, const double *W, const double *A) {
  size_t same = 0, entries = s->entries[1];
  const double *kept = s->A.value;
  if (!s->has_weight || memcmp(s->M.value, W, s->entries[0] * sizeof *W))
    if (!cpSaddleKeepWeight(s, W)) return CP_SADDLE_NONFINITE;
  while (same < entries && kept[same] == A[same]) same++;
  return same == entries && s->valid ? CP_SADDLE_SAME : 0;
}
/* Factors of S = A D A^T have errors of u over the squared sine of the narrowest angle in the metric of W. Solutions are
 * refined if these exceed CP_ROUNDED. */
static inline int cpSaddleIsRefined(const CPSaddle s) {
  return s->sine * s->sine * CP_ROUNDED < CP_UROUND;
}
/* Marks row i as dependent. */
void cpSaddleMarkDependent(CPSaddle s, int i);

/* If the rank is lower than the one that stands, ranktol is divided by this and the factorisation
 * repeated. */
#define CP_LESS_ANGLE 3.0

/* ---- judge.c: the rank of A ---- */

/* Determines the dependent rows of s->A from A alone, up to s->ranktol. Returns 0, a negative code, or
 * CP_SADDLE_DEPENDENT for a row whose length is not representable. */
int cpSaddleJudge(CPSaddle s);
/* Marks the rows as dependent that have been determined. */
void cpSaddleTakeJudged(CPSaddle s);
/* May the newest factorisation, which returned flag, have found a rank that is too low? */
int cpSaddleIsDoubtful(const CPSaddle s, int flag);
/* Decides whether it has. Returns 0 if its result stands, CP_SADDLE_JUDGED if the dependent rows have been
 * determined instead (is_judged), without factors, or as cpSaddleJudge. */
int cpSaddleDecide(CPSaddle s, int flag);

/* Factors of a W that is diagonal or block-diagonal: W = L L^T, F = L^{-T}, D = W^{-1} = F F^T.
 * Bodies in absolute coordinates have one block each; a dense W without zeros is one block. */

typedef struct {
  int n, nblocks; /* nblocks = 0: W is diagonal */
  int *first;     /* [nblocks + 1] first rows of the blocks, and n; a dense W may have n blocks */
  CPCholesky *block; /* [nblocks], at most n; their arrays lie in the memory below */
  double *pool, *d, *inverse, *work; /* d, inverse, work: [n], of a diagonal sparse W [0] */
  double *own;                       /* [n] of a dense or a diagonal W, else [0] */
  const double *root; /* [n] for a diagonal W: s->root, or own for a matrix; else NULL */
  long int of;        /* value of s->weights at factorisation; 0: there are no factors */
} CPWeightFactors;

/* S [size x size] <- the upper triangle of the diagonal block of M in rows first ... first + size -
 * 1. */
void cpWeightBlockGather(const CPMat *M, int first, int size, double *S);

/* Allocates from s->used.arena and returns its status. */
int cpWeightCreate(CPWeightFactors *w, CPSaddle s);
/* Factors s->M; factors of the same matrix are kept. Returns 0, or CP_SADDLE_NOT_DEFINITE if W is
 * not positive definite, or singular within roundoff. */
int cpWeightFactor(CPWeightFactors *w, CPSaddle s);
/* x <- F^T x, F x */
void cpWeightForward(const CPWeightFactors *w, double *x);
void cpWeightBackward(const CPWeightFactors *w, double *x);
/* XT <- XT F in place, XT dense [m x n] */
void cpWeightScale(const CPWeightFactors *w, int m, double *XT);

#endif
