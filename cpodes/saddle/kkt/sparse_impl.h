/* Inside of the sparse solver. Scaled matrices: those with
 *
 *   D = diag(s, e),   s_j = 1 / sqrt(m_jj),   e_i = 1 / |row i of A diag(s)|
 *
 * on both sides, so that M has unit diagonal and A unit rows. */
#ifndef CPODES_KKT_SPARSE_IMPL_H
#define CPODES_KKT_SPARSE_IMPL_H

#include "kkt.h"

#include "cpodes/saddle/linsol.h"

#include <cholmod.h>
#include <klu.h>

typedef SuiteSparse_long Index;

/* Dependent rows, found when K is singular. */
typedef struct {
  CPLin lin;     /* of S A^T E, unit columns; NULL until it is needed */
  CPEntries A;   /* its entries; structure as below */
  double *unit;  /* [m] E: 1 / |row i of A S|, 0 in rows of zeros and rows not in use */
  double *x;     /* [n] */
  double *t, *g; /* [m] */
  double *p, *q; /* [m] directions of the multipliers */
  int found;     /* 1: at the newest factorisation */
} CPSparseRows;

/* Is M definite where A x = 0? */
typedef struct {
  int *first;     /* [n + 1] blocks of M */
  int nblocks;    /* 0: a block is too large for the array here */
  double *block;  /* [CP_SMALL^2] */
  int is_started; /* the rest, once it is needed: */
  cholmod_common common;
  cholmod_sparse *M; /* scaled, n x n */
  cholmod_factor *L;
} CPSparseMass;

typedef struct {
  int order;           /* n + m */
  CPMat M, A;          /* sparse: the caller's, or full structures for his dense matrices */
  int owns_M, owns_A;  /* the structures are ours */
  Index *start, *row;  /* K, scaled, [order + 1], entries of column j: M's, A's, and one on the */
  double *value;       /* diagonal of the second block, 1 for rows that are left out */
  size_t *transposed;  /* [entries of A] place of A^T's entry in K */
  double *scale;       /* [order] diagonal of D; 0: row of A is left out */
  double norm;         /* largest column sum of |K| */
  double *b, *x, *r;   /* [order] */
  klu_l_common common; /* of KLU */
  klu_l_symbolic *symbolic;
  klu_l_numeric *numeric;
  CPSparseRows rows;
  CPSparseMass mass;
} CPKktSparse;

/* sparse_matrix.c: structure of K, once; its values, without the rows that are dependent or off; rows
 * of zeros are marked as dependent. */
int cpKktSparseCreateMatrix(CPKkt kkt);
void cpKktSparseFreeMatrix(CPKktSparse *s);
void cpKktSparseForm(CPKkt kkt);
/* r = b - K x */
void cpKktSparseResidual(const CPKktSparse *s, const double *b, const double *x, double *r);

/* sparse_rows.c. Marks the rows, and no others, whose sine to the others is below the given one (or
 * ranktol, if that is larger); those of zeros are cpKktSparseForm's. 0 or a negative code. */
int cpKktSparseFindRows(CPKkt kkt, double sine);
/* lambda, zero in dependent rows, to its minimum norm; 0 or a negative code. */
int cpKktSparseShorten(CPKkt kkt, double *lambda);
void cpKktSparseFreeRows(CPKktSparse *s);

/* sparse_mass.c. M definite where A x = 0, with K known to be regular: 0, CP_KKT_NOT_DEFINITE or a
 * negative code. */
int cpKktSparseCheckMass(CPKkt kkt);
int cpKktSparseCreateMass(CPKkt kkt);
void cpKktSparseFreeMass(CPKktSparse *s);

#endif
