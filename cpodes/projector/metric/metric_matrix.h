/* A metric that is not diagonal, on one level: D_l = F F^T is the inverse of the block of the
 * metric M that belongs to the level's free components. One file per kind of factors, with a table
 * of functions.
 *
 * The rows of A = F^T G^T and of F^T are in an order of the metric's own: row a is component
 * comp[a].
 */
#ifndef CPODES_METRIC_MATRIX_H
#define CPODES_METRIC_MATRIX_H

#include "cpodes/projector/projector_impl.h"

typedef struct {
  /* Structure of AT, level->AT.start [ncols + 1] (allocated, zeros) and row, and what the factors
   * need; CP_SUCCESS, CP_MEM_FAIL or CP_LINSOL_FAIL. metric->content is freed by destroy,
   * half-built or not. */
  int (*create)(CPWork work, CPLevel *level);
  /* F, from work->M; sets comp. 0, or a code with the reason in work->text. */
  int (*factor)(CPWork work, sunrealtype t, CPLevel *level);
  /* AT's values, G_l by comp (held components zero): in; A^T = G_l F: out. */
  void (*gather)(CPLevel *level);
  void (*times)(const CPWork work, const CPLevel *level, double *xl, double *x);
  void (*transposedTimes)(const CPWork work, const CPLevel *level, const double *z, double *xl);
  void (*destroy)(CPMetric metric);
} CPMetricOps;

struct CPMetric_ {
  const CPMetricOps *ops;
  int *comp;     /* [ncols] component that row a of A belongs to           */
  int *position; /* [m] of a constraint in level->rows, -1: of another level */
  void *content; /* the kind's own                                         */
};

/* metric/dense.c: M dense; D as an operator */
extern const CPMetricOps cpMetricDenseOps, cpMetricOperatorOps;
/* The operator's two vectors for a product with D. */
void cpMetricOperatorVectors(const CPMetric metric, N_Vector *x, N_Vector *Dx);
/* metric/sparse.c: M sparse */
extern const CPMetricOps cpMetricSparseOps;

/* dissection.c: the vertices of a graph (those in vertex [count]; neighbours of j:
 * index[pointer[j]] ... index[pointer[j + 1] - 1], both ways, j itself and others than the vertices
 * allowed) such that separators stand behind what they separate. CP_SUCCESS or CP_MEM_FAIL. */
int cpNestedDissection(const sunindextype *pointer, const sunindextype *index, int n, int *vertex,
                       int count);

/* AT's rows for an A with all entries, (level->nrows) in each component. */
int cpMetricFullStructure(CPLevel *level);
/* Is this component held? Its row of F is zero. */
static inline int cpIsHeld(const CPWork work, int j) { return work->sqrtd[j] == 0.0; }

/* Part of a diagonal entry that its pivot, after n subtractions, may have left as roundoff. */
static inline double cpPivotRoundoff(int n) { return n * CP_UROUND; }
/* -CP_METRIC_INDEFINITE: the factorisation ended at component j. */
int cpMetricIndefinite(CPWork work, sunrealtype t, int j);

#endif
