/* Inside of a sparse metric: M_ll = P^T L L^T P, F = P^T L^{-T} (metric/sparse.c), and the
 * structure of A = L^{-1} P G_l^T (metric/paths.c). */
#ifndef CPODES_METRIC_SPARSE_H
#define CPODES_METRIC_SPARSE_H

#include "metric_matrix.h"

#include <cholmod.h>

typedef struct {
  cholmod_common common;
  cholmod_sparse *S; /* P M_ll P^T, upper triangle, columns sorted           */
  size_t *from;      /* [nnz of S] its entries in M's data                   */
  cholmod_factor *L; /* of S: simplicial, columns sorted, the diagonal first */
  size_t *start;     /* [nrows + 1] column k of A: start[k] ... in path      */
  int *path;         /* its rows, ascending                                  */
  size_t *next;      /* [ncols] place in AT, per row of A                    */
  double *x;         /* [ncols] a column of A, zero between uses             */
} CPMetricSparse;

/* The order of the components (comp) that keeps A sparse, S and from, path and level->AT.row.
 * CP_SUCCESS, CP_MEM_FAIL or CP_LINSOL_FAIL. */
int cpMetricSparseStructure(const CPWork work, CPLevel *level);
void cpMetricSparseFreeFactor(CPMetricSparse *s); /* S, from and L */
/* The code that CHOLMOD's status asks for. */
int cpMetricSparseFlag(const CPMetricSparse *s);

#endif
