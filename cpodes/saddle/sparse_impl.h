/* The sparse Schur complement S = A^T A, where the columns of A (X of sparse_schur.c) have unit length or
 * are zero, and failures of CHOLMOD. Columns of zeros are absent: r and mu are 0 there, and they do not
 * count as dependent. (.)^+ is the inverse on an independent subset of the columns.
 *
 * Normally K = S = A^T A, of order m. A component shared by very many constraints (a coordinate of
 * a hub body) would fill S with a dense block; such components are kept as unknowns t beside mu:
 *
 *   K [mu; t] = [r; 0],   K = [S0  U; U^T  -I],   S = S0 + U U^T,
 *
 * where S0 is the contribution of the other components to S, and U is made of the kept rows of A,
 * transposed.
 *
 * Position: place in the order of elimination, by which K, its factor and the entries of A^T are
 * numbered here. */
#ifndef CPODES_SPARSE_IMPL_H
#define CPODES_SPARSE_IMPL_H

#include "saddle_impl.h"

#include <cholmod.h>

typedef SuiteSparse_long Index;

/* An entry of A in its column. It multiplies the entries first ... last of A^T, which are those of its
 * component in one triangle of S0; the entry itself is the last of them (upper triangle) or the first
 * (lower). */
typedef struct {
  int first, last;
} Entry;

/* Successive components of A with entries in the same constraints. The entries of A^T are `first` ... of
 * the first component, then those of the next one. */
typedef struct {
  int component, width; /* the first component; their number, at most MOST_ALIKE */
  int first, length;    /* entries of each component: `length` */
} Group;
#define MOST_ALIKE 3 /* as of point masses in space */

typedef struct {
  /* ---- what follows from the structure of A: all solvers for it share these arrays, which do not change ---- */
  int n, m;
  CPMat XT; /* A^T, m x n, entries by ascending position in each component; its values are the solver's own */
  /* [entries] places of the entries of XT in the order of ascending rows */
  size_t *from;
  int in_order;    /* from is 0, 1, 2 ... */
  int order;       /* of K: m + number of kept components */
  int *constraint; /* [order] the constraint at position k; -1: a kept component */
  int *component;  /* [order] the kept component at position k; -1: a constraint */
  int *position;   /* [entries] those of the entries of XT */
  /* columns of A without the kept components: the column at position k has the entries
   * entry[column[k]] ... entry[column[k + 1] - 1] */
  size_t *column; /* [order + 1] */
  Entry *entry;   /* [entries] */
  int is_lower;   /* 1: the lower triangle is formed, as CHOLMOD needs it for supernodes */
  /* entries of U: value[border_from[l]] is stored in K->x[border_to[l]] */
  size_t nborder, *border_to, *border_from;
  /* [order] entries of S0 in column k of K: K->p[k] (the diagonal) ... product_end[k] - 1 */
  Index *product_end;
  /* K = L D L^T where L fills its envelope: row k of L, which ends before the diagonal, has the
   * entries l[envelope[k]] ... l[envelope[k + 1] - 1], and columns of A need not have unit length */
  size_t *envelope; /* [order + 1] or NULL */
  int ngroups;
  Group *group; /* [ngroups] all components; allocated [n] */
  /* ---- the solver's own ---- */
  double ranktol;     /* a column is dependent below this sine of its angle */
  double sine;        /* the smallest sine of a column that counts as independent (an estimate) */
  int dependent;      /* a dependent column, -1 if there is none */
  char *is_dependent; /* [m] 1: this column depends on the columns with 0 */
  int is_regular;     /* S is regular, and so one solution serves A^T x and r; else 0 */
  cholmod_common common;
  char *present;       /* [order] 1: the column of A is not zero */
  char *dropped;       /* [order] 1: treated as absent, because it depends on the other columns */
  const double *value; /* [entries] the values of XT, or reduced */
  double *reduced;     /* [entries] the values of XT, zero in dropped columns */
  double *w; /* [order] workspace for one column of S0; zero between uses; NULL in the envelope */
  cholmod_sparse *K;            /* its structure is shared; NULL in the envelope */
  cholmod_factor *L;            /* K = L D L^T or L L^T; NULL: in the envelope */
  double least;                 /* the least ratio of a pivot to its entry of S, in the envelope */
  double *l, *d, *inverse;      /* [envelope[order]]; [order] D and its inverse */
  cholmod_dense *b, *x, *y, *e; /* right-hand side, solution, CHOLMOD's workspace */
  /* [n] a combination of dropped columns, then its residual outside the span of the others */
  double *z;
  double *coefficient; /* [m] coefficients of dropped columns in the kept ones */
  CPArena late; /* memory of reduced, z and coefficient, which are NULL until columns are dropped or kept */
  /* the kept column with the largest coefficient in that combination; -1: none is large */
  int suspect;
  int is_dd;              /* the newest factors are those of dd */
  struct CPSparseDD_ *dd; /* created at the first use */
} Sparse;

/* The code for a failure of CHOLMOD; to be called before any other of their functions. */
int cpCholmodFailure(const cholmod_common *chol);

/* Creates a solver for the structure that cpSparsePlan has analysed. Memory comes from the arena. Returns CP_SUCCESS,
 * CP_MEM_FAIL or CP_LINSOL_FAIL. */
int cpSparseCreate(Sparse *s, const Sparse *plan, CPArena *arena);
/* Factors S; returns 0 or a negative code. */
int cpSparseFactor(Sparse *s);
/* x = A S^+ r; mu = S^+ (A^T x - r), where r may be NULL, and must be unless is_regular. Only r and mu
 * may overlap. */
int cpSparseSolve(Sparse *s, const double *r, double *x);
int cpSparseSolveT(Sparse *s, const double *x, const double *r, double *mu);
/* CPSaddleQuickFn for D = diag(root)^2; X = root A^T, with columns of any length, is in XT. square [m]:
 * out, the squared lengths of the columns of X */
int cpSparseQuick(Sparse *s, const double *root, const double *f, const double *b, double *x,
                  double *mu, double *square);

/* sparse_order.c: sets what follows from the structure of A, where n, m, XT and from are given; the entries of the
 * columns of XT are permuted, and `from` with them. K has the values that do not depend on A, and L is symbolic. Memory
 * comes from the arena. Returns as cpSparseCreate. */
int cpSparsePlan(Sparse *s, CPArena *arena);

/* sparse_dd.c: like the functions of sparse.c. The factorisation sets s->dropped, and returns CP_SUCCESS or
 * CP_MEM_FAIL; r and x of the two solutions must not be NULL. */
int cpSparseDDFactor(Sparse *s);
void cpSparseDDSolve(const Sparse *s, const double *r, double *x);
void cpSparseDDSolveT(const Sparse *s, const double *x, double *mu);
void cpSparseDDFree(Sparse *s);

#endif
