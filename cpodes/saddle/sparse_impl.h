/* Inside of the sparse solver.
 *
 * Normally K = S = A^T A, of order m. A component that very many constraints share (a coordinate of
 * a hub body) would fill S with a dense block; such components are kept as unknowns t beside mu:
 *
 *   K [mu; t] = [r; 0],   K = [S0  U; U^T  -I],   S = S0 + U U^T,
 *
 * with S0 the part of S made by the other components and U the kept rows of A, transposed.
 *
 * Position: place in the order of elimination, in which K, its factor and the entries of A^T here
 * are numbered.
 */
#ifndef CPODES_SPARSE_IMPL_H
#define CPODES_SPARSE_IMPL_H

#include "saddle_impl.h"

#include <SuiteSparseQR_C.h>
#include <cholmod.h>

typedef SuiteSparse_long Index;

typedef struct {
  cholmod_common common;
  int order;       /* of K: m and the kept components                              */
  int *constraint; /* [order] the constraint at position k, -1: a kept component   */
  char *present;   /* [order] 1: a column of A that is not zero                    */
  char *dropped;   /* [order] 1: treated as absent, for it depends on the other columns         */
  /* entries of A^T, by ascending position in each component, as those of c->XT */
  int *position;       /* [entries]                                                      */
  const double *value; /* [entries] those of c->XT, or reduced                           */
  double *reduced;     /* [entries] zero in dropped columns                              */
  /* columns of A without the kept components: entry e of the column at position k multiplies the
   * entries first[e] ... last[e], those of its component that fall into one triangle of S0;
   * itself is the last of them (upper triangle) or the first (lower) */
  size_t *column; /* [order + 1] */
  size_t *first, *last;
  int is_lower; /* the triangle CHOLMOD factors in place: lower for supernodes */
  /* entries of U: border_from[l] in value goes to K->x[border_to[l]] */
  size_t nborder, *border_to, *border_from;
  Index *product_end; /* [order] entries of S0 in column k of K: K->p[k] (the diagonal) ... here - 1 */
  double *w; /* [order] one column of S0; zero in between                                 */
  cholmod_sparse *K;
  cholmod_factor *L;            /* K = L D L^T or L L^T                      */
  cholmod_dense *b, *x, *y, *e; /* right-hand side, solution, CHOLMOD's workspace */
  double *z; /* [n] combination of dropped columns, then its distance from the span of the others */
  double *coefficient; /* [m] of dropped columns in those that are kept */
  int suspect; /* the kept column with the largest coefficient in that combination; -1: none is large */
  /* A = Q R E^T, made when it is needed for the first time */
  int is_qr;         /* the newest factors are these              */
  int left_out;      /* QR has left out columns before */
  cholmod_sparse *A; /* n x m */
  CPArena arena;     /* of A_from */
  size_t *A_from;    /* [entries] place of its entries in c->XT.value */
  SuiteSparseQR_C_factorization *QR;
  cholmod_dense *bn, *bm; /* right-hand sides, n and m */
} Sparse;

/* The code for a failure of CHOLMOD or SPQR, before anything else is asked of them. */
int cpSparseFailure(const Sparse *s);

/* sparse_order.c: everything above but the values and QR, from the structure of A. */
int cpSparseOrder(CPComplement *c, CPArena *arena);

/* sparse_qr.c: as the functions of the table; factor sets s->dropped */
int cpSparseQRFactor(CPComplement *c);
int cpSparseQRSolve(CPComplement *c, const double *r, double *x);
int cpSparseQRSolveT(CPComplement *c, const double *x, double *mu);
void cpSparseQRFree(Sparse *s);

#endif
