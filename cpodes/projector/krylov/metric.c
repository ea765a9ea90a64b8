/* A metric matrix in the Krylov method: D x by the factors of its levels, for states in one memory. */
#include "krylov_impl.h"

#include <stdlib.h>
#include <sunmatrix/sunmatrix_dense.h>

static int build(CPWork work) {
  const CPProjector P      = work->P;
  const CPKrylov k         = work->krylov;
  const sunrealtype *given = P->col_level_v ? N_VGetArrayPointer(P->col_level_v) : NULL;
  int flag                 = CP_SUCCESS;
  cpStorageFree(work);
  cpLevelsFree(work);
  int *col_level = calloc((size_t)P->n + 1, sizeof *col_level);
  work->sqrtd    = malloc((size_t)P->n * sizeof *work->sqrtd);
  work->M        = P->M_tmpl ? SUNMatClone(P->M_tmpl) : SUNDenseMatrix(P->n, P->n, P->ctx);
  if (!col_level || !work->sqrtd || !work->M) flag = CP_MEM_FAIL;
  if (!flag && P->M_tmpl) cpMatrixZero(work->M, P->M_tmpl);
  for (int j = 0; !flag && given && j < P->n; j++) col_level[j] = (int)given[j];
  for (int l = 0; !flag && l < k->nlevels; l++) {
    flag = cpLevelCreate(work, l, NULL, col_level);
    if (!flag) flag = cpLevelOpen(work, l);
  }
  work->nlevels = k->nlevels;
  free(col_level);
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
  int flag = cpMetricEvaluate(work, k->t, k->y);
  for (int l = 0; !flag && l < k->nlevels; l++) {
    flag = cpLevelFactor(work, l, 0.0);
    if (flag > 0) flag = cpMetricIndefinite(work, k->t, &work->levels[l]);
    else if (flag)
      flag = cpReason(work->text, flag, "at t = %.15g: no factors of the metric", k->t);
  }
  return flag;
}

int cpKrylovMetricTimes(CPWork work, int l, N_Vector x, N_Vector Dx) {
  N_VConst(0.0, Dx);
  const int flag =
      cpLevelSolve(&work->levels[l], N_VGetArrayPointer(x), NULL, N_VGetArrayPointer(Dx), NULL);
  return flag ? cpReason(work->text, flag, "no solution with the metric") : CP_SUCCESS;
}
