/* Inside of the sparse KKT solver. Scaled matrices: those with
 *
 *   diag(s, e),   s_j = 1 / sqrt(w_jj),   e_i = 1 / |row i of A diag(s)|
 *
 * on both sides, so that W has unit diagonal and A unit rows. */
#ifndef CPODES_KKT_IMPL_H
#define CPODES_KKT_IMPL_H

#include "saddle_impl.h"

#include <cholmod.h>
#include <klu.h>

typedef SuiteSparse_long Index;

typedef struct {
  int order;  /* n + m */
  CPMat M, A; /* W and A, sparse: those of the object, or full structures for its dense matrices */
  Index *start,
      *row;      /* K, scaled, [order + 1], entries of column j: those of W, of A, and one on the */
  double *value; /* diagonal of the second block, 1 for rows that are left out */
  size_t *transposed;  /* [entries of A] place of A^T's entry in K */
  double *scale;       /* [order] s and e; e_i = 0: row i is left out */
  double norm;         /* largest column sum of |K| */
  double *b, *x, *r;   /* [order] */
  klu_l_common common; /* of KLU */
  klu_l_symbolic *symbolic;
  klu_l_numeric *numeric;
  /* kkt_rows.c: dependent rows, looked for when K is singular */
  CPSaddle rows;     /* A with W = diag(s)^{-2}; NULL until it is needed */
  int found;         /* 1: at the newest factorisation */
  double *d, *f;     /* [n] */
  double *g, *p, *q; /* [m] gradient and directions of the multipliers */
  /* kkt_mass.c: is W definite where A x = 0? */
  int *first, nblocks; /* [n + 1] blocks of W; nblocks 0: one is too large for the array here */
  double *block;       /* [CP_SMALL^2] */
  int is_started;      /* the rest, once it is needed: */
  cholmod_common chol;
  cholmod_sparse *W; /* scaled, n x n */
  cholmod_factor *L;
} CPKkt;

/* kkt_rows.c. Marks the rows whose sine to the others is below the given one (or ranktol, if that is larger), and no
 * others. 0 or a negative code. */
int cpKktFindRows(CPSaddle s, double sine);
/* mu, zero in dependent rows, to its minimum norm; 0 or a negative code. */
int cpKktShorten(CPSaddle s, double *mu);

/* kkt_mass.c. W definite where A x = 0, with K known to be regular: 0, CP_SADDLE_NOT_DEFINITE or a negative code. */
int cpKktCheckMass(CPSaddle s);
int cpKktCreateMass(CPSaddle s);
void cpKktFreeMass(CPKkt *c);

#endif
