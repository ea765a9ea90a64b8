/* A metric matrix in the Krylov method: D x by the factors of metric/matrix.c, for states in one
 * memory. */
#include "krylov_impl.h"

#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Columns of a level; rows there are none: products with D are all that is wanted. */
static int buildLevel(CPWork work, int l) {
  const CPProjector P      = work->P;
  CPLevel *level           = &work->levels[l];
  const sunrealtype *given = P->col_level_v ? N_VGetArrayPointer(P->col_level_v) : NULL;
  level->cols              = malloc(((size_t)P->n + 1) * sizeof *level->cols);
  if (!level->cols) return CP_MEM_FAIL;
  for (int j = 0; j < P->n; j++)
    if ((given ? (int)given[j] : 0) == l) level->cols[level->ncols++] = j;
  return cpMetricMatrixCreate(work, l);
}

static int build(CPWork work) {
  const CPProjector P = work->P;
  const CPKrylov k    = work->krylov;
  int flag            = CP_SUCCESS;
  cpStorageFree(work);
  cpLevelsFree(work);
  free(k->xl);
  k->xl       = malloc((size_t)P->n * sizeof *k->xl);
  work->sqrtd = malloc((size_t)P->n * sizeof *work->sqrtd);
  work->M     = P->M_tmpl ? SUNMatClone(P->M_tmpl) : SUNDenseMatrix(P->n, P->n, P->ctx);
  if (!k->xl || !work->sqrtd || !work->M) return CP_MEM_FAIL;
  if (P->M_tmpl) cpMatrixZero(work->M, P->M_tmpl);
  for (int l = 0; !flag && l < k->nlevels; l++) flag = buildLevel(work, l);
  work->nlevels = k->nlevels;
  return flag;
}

int cpKrylovMetricCreate(CPWork work) {
  if (!work->P->metric_matrix) return CP_SUCCESS;
  if (!work->P->in_memory)
    return cpReason(
        work->text, CP_NOT_SUPPORTED,
        "a metric matrix needs states in one memory: CPProjectorSetMetric takes operators");
  const int flag = build(work);
  return flag ? cpReason(work->text, flag, "no memory for the metric") : CP_SUCCESS;
}

int cpKrylovMetricRenew(CPWork work) {
  const CPProjector P = work->P;
  const CPKrylov k    = work->krylov;
  if (!P->metric_matrix) return CP_SUCCESS;
  const sunrealtype *id = P->id ? N_VGetArrayPointer(P->id) : NULL;
  for (int j = 0; j < P->n; j++) work->sqrtd[j] = id && id[j] == 0.0 ? 0.0 : 1.0;
  int flag = cpMetricMatrixEvaluate(work, k->t, k->y);
  for (int l = 0; !flag && l < k->nlevels; l++) flag = cpMetricMatrixGather(work, k->t, l);
  return flag;
}

void cpKrylovMetricTimes(CPWork work, int l, N_Vector x, N_Vector Dx) {
  double *xl = work->krylov->xl;
  N_VConst(0.0, Dx);
  cpMetricMatrixTransposedTimes(work, l, N_VGetArrayPointer(x), xl);
  cpMetricMatrixTimes(work, l, xl, N_VGetArrayPointer(Dx));
}
