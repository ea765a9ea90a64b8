/* [W A^T; A 0] = L D L^T without pivoting, of small dense matrices in one pass. The first n pivots are those of W; the
 * others are those of -S, S = A W^{-1} A^T, so that these are the factors of the Schur complement's method. Rows of L
 * begin with the first entry of the matrix that is not zero, which keeps diagonal and block-diagonal W as cheap as they
 * are. */
#ifndef CPODES_ENVELOPE_H
#define CPODES_ENVELOPE_H

#include "cpodes/base/arena.h"
#include "cpodes/matrix/matrix.h"

typedef struct {
  int n, order, room; /* of W; of W and the rows in use; most rows */
  int *first;         /* [room] */
  double *L;          /* [room x room] by rows, below the diagonal */
  double *inverse;    /* [room] 1 / d_k */
  double *size;       /* [room] w_kk, or s_kk: a pivot is this times the squared sine of an angle */
  double *work;       /* [room] */
} CPEnvelope;

int cpEnvelopeCreate(CPEnvelope *e, CPArena *arena, int n, int m); /* CP_SUCCESS or CP_MEM_FAIL */

/* Each factors as cpCholeskyFactor (small.h), with scaling to unit diagonal: 0, or k + 1 for the row that fails. The
 * upper triangle of W counts. */
int cpEnvelopeFactorWeight(CPEnvelope *e, const double *W, double least);
/* The rows of A [m x n] with these numbers; sine <- the smallest sine. */
int cpEnvelopeFactorRows(CPEnvelope *e, const CPMat *A, const int *row, int nrows, double least,
                         double *sine);
/* z [order] <- the solution for the right-hand side z. first: entries before this one are zero; last: those before this
 * one are not computed. */
void cpEnvelopeSolve(const CPEnvelope *e, int first, int last, double *z);

#endif
