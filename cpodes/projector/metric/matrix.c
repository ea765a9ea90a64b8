/* Metrics that are not diagonal: M as a matrix, dense or sparse, or D = M^{-1} as an operator. On
 * each level D = F F^T by Cholesky factors, so that the linear solvers see A = F^T G^T as ever:
 *
 *   M dense     M_ff = L L^T                F = L^{-T}        (metric/dense.c)
 *   M sparse    M_ff = P^T L L^T P          F = P^T L^{-T}    (metric/sparse.c)
 *   D operator  D permuted = L L^T, free    F = L_ff          (metric/dense.c)
 *               components of the level last
 *
 * f: the level's free components. Those that are held, or of other levels, do not move: D is the
 * inverse of M's block M_ff, not the block of M's inverse; of an operator it is the Schur
 * complement D_ff - D_fh D_hh^{-1} D_hf, whose factor is the last block of that of D.
 *
 * Products with D alone (KRYLOV): a level with nrows = 0 and the columns wanted, for which
 * cpMetricMatrixCreate and cpMetricMatrixGather touch neither g nor rows; with sqrtd 1 or 0,
 * work->M and after cpMetricMatrixEvaluate and cpMetricMatrixGather
 *
 *   cpMetricMatrixTransposedTimes(work, l, x, xl);
 *   cpMetricMatrixTimes(work, l, xl, Dx);             Dx_j of the level's columns only, held ones 0
 */
#include "metric_whole.h"

#include <math.h>
#include <stdlib.h>

/* NULL: no memory */
static const CPMetricOps *kindOf(const CPProjector P, const CPLevel *level) {
  if (P->metric) return &cpMetricOperatorOps;
  const int whole = cpMetricIsWhole(P, level);
  if (whole) return whole > 0 ? &cpMetricWholeOps : NULL;
  const int sparse = P->M_tmpl && SUNMatGetID(P->M_tmpl) == SUNMATRIX_SPARSE;
  return sparse ? &cpMetricSparseOps : &cpMetricDenseOps;
}

static int mapRows(CPMetric metric, const CPLevel *level, int m) {
  if (level->nrows == 0) return CP_SUCCESS;
  if (!(metric->position = malloc((size_t)m * sizeof *metric->position))) return CP_MEM_FAIL;
  for (int i = 0; i < m; i++) metric->position[i] = -1;
  for (int k = 0; k < level->nrows; k++) metric->position[level->rows[k]] = k;
  return CP_SUCCESS;
}

int cpMetricMatrixCreate(CPWork work, int l) {
  CPLevel *level  = &work->levels[l];
  CPMetric metric = level->metric = calloc(1, sizeof *metric);
  if (!metric) return CP_MEM_FAIL;
  metric->ops     = kindOf(work->P, level);
  metric->comp    = malloc(((size_t)level->ncols + 1) * sizeof *metric->comp);
  level->AT.start = calloc((size_t)level->ncols + 1, sizeof *level->AT.start);
  if (!metric->ops || !metric->comp || !level->AT.start) return CP_MEM_FAIL;
  for (int q = 0; q < level->ncols; q++) metric->comp[q] = level->cols[q];
  int flag = mapRows(metric, level, work->P->m);
  if (!flag) flag = metric->ops->create(work, level);
  if (flag) return flag;
  level->AT.value = malloc((level->AT.start[level->ncols] + 1) * sizeof *level->AT.value);
  return level->AT.value ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpMetricMatrixFree(CPMetric *metric) {
  if (!metric || !*metric) return;
  if ((*metric)->content) (*metric)->ops->destroy(*metric);
  free((*metric)->comp);
  free((*metric)->position);
  free(*metric);
  *metric = NULL;
}

int cpMetricFullStructure(CPLevel *level) {
  CPEntries *AT  = &level->AT;
  const size_t m = (size_t)level->nrows, n = (size_t)level->ncols;
  if (!(AT->row = malloc((n * m + 1) * sizeof *AT->row))) return CP_MEM_FAIL;
  for (size_t a = 0; a <= n; a++) AT->start[a] = a * m;
  for (size_t a = 0; a < n; a++)
    for (size_t k = 0; k < m; k++) AT->row[a * m + k] = (int)k;
  return CP_SUCCESS;
}

/* AT <- G_l by the metric's order of the components. Both have their rows in ascending order. */
static void scatterGradients(const CPWork work, CPLevel *level) {
  const CPEntries *g = &work->g, *AT = &level->AT;
  const int *position = level->metric->position;
  for (size_t p = 0; p < AT->start[level->ncols]; p++) AT->value[p] = 0.0;
  for (int a = 0; level->nrows > 0 && a < level->ncols; a++) {
    const int j = level->metric->comp[a];
    size_t p    = AT->start[a];
    for (size_t e = g->start[j]; !cpIsHeld(work, j) && e < g->start[j + 1]; e++) {
      const int k = position[g->row[e]];
      if (k < 0) continue;
      while (AT->row[p] < k) p++;
      AT->value[p] = g->value[e];
    }
  }
}

static int checkFinite(CPWork work, sunrealtype t, const CPLevel *level) {
  for (int a = 0; a < level->ncols; a++)
    for (size_t p = level->AT.start[a]; p < level->AT.start[a + 1]; p++)
      if (!isfinite(level->AT.value[p]))
        return cpReason(work->text, -CP_METRIC_INDEFINITE,
                        "at t = %.15g: the gradient of constraint %d overflows in the metric, at "
                        "component %d: the metric is too close to singular",
                        t, level->rows[level->AT.row[p]], level->metric->comp[a]);
  return CP_SUCCESS;
}

int cpMetricMatrixGather(CPWork work, sunrealtype t, int l) {
  CPLevel *level = &work->levels[l];
  const int flag = level->metric->ops->factor(work, t, level);
  if (flag) return flag;
  scatterGradients(work, level);
  level->metric->ops->gather(level);
  return checkFinite(work, t, level);
}

void cpMetricMatrixTimes(const CPWork work, int l, double *xl, double *x) {
  const CPLevel *level = &work->levels[l];
  level->metric->ops->times(work, level, xl, x);
}

void cpMetricMatrixTransposedTimes(const CPWork work, int l, const double *z, double *xl) {
  const CPLevel *level = &work->levels[l];
  level->metric->ops->transposedTimes(work, level, z, xl);
}

int cpMetricIndefinite(CPWork work, sunrealtype t, int j) {
  return cpReason(
      work->text, -CP_METRIC_INDEFINITE,
      "at t = %.15g: the metric is not positive definite (its Cholesky factorisation ends "
      "at component %d)",
      t, j);
}
