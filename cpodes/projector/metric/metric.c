/* Weights w that measure, and the inverse metric D = F F^T of each level: diagonal here, else
 * metric/matrix.c. */
#include "cpodes/projector/projector_impl.h"

#include <math.h>
#include <stdlib.h>

int cpWeights(CPWork work, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  const int n = P->n, ones = work->norm == CP_NORM_L2 || !cpHasDiagonalMetric(P);
  const sunrealtype *z = N_VGetArrayPointer(y), *weight = ewt ? N_VGetArrayPointer(ewt) : NULL;
  const sunrealtype *id = P->id ? N_VGetArrayPointer(P->id) : NULL;
  for (int j = 0; j < n; j++) {
    const double w = weight ? weight[j] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(z[j])));
    if (!(w >= CP_LEAST_WEIGHT))
      return cpReason(work->text, CP_ILL_INPUT, CP_EWT_TOO_SMALL, CP_LEAST_WEIGHT, j, w);
    if (!isfinite(w))
      return cpReason(work->text, CP_ILL_INPUT, "ewt must be finite: ewt[%d] = %g", j, w);
    work->w[j]     = w;
    work->sqrtd[j] = ones ? 1.0 : 1.0 / w;
    if (id && id[j] == 0.0) work->sqrtd[j] = 0.0;
  }
  return CP_SUCCESS;
}

/* ---- structure ---- */

/* Places of the rows of a level; -1: of another one. */
static void placeRows(CPWork work, const CPLevel *level) {
  for (int i = 0; i < work->P->m; i++) work->rowpos[i] = -1;
  for (int k = 0; k < level->nrows; k++) work->rowpos[level->rows[k]] = k;
}

static int diagonalStructure(CPWork work, CPLevel *level) {
  const CPEntries *g = &work->g;
  size_t count       = 0;
  placeRows(work, level);
  for (int q = 0; q < level->ncols; q++)
    for (size_t k = g->start[level->cols[q]]; k < g->start[level->cols[q] + 1]; k++)
      count += work->rowpos[g->row[k]] >= 0;
  level->AT.start = calloc((size_t)level->ncols + 1, sizeof *level->AT.start);
  level->AT.row   = malloc((count + 1) * sizeof *level->AT.row);
  level->AT.value = malloc((count + 1) * sizeof *level->AT.value);
  level->from     = malloc((count + 1) * sizeof *level->from);
  if (!level->AT.start || !level->AT.row || !level->AT.value || !level->from) return CP_MEM_FAIL;
  count = 0;
  for (int q = 0; q < level->ncols; q++) {
    const int j = level->cols[q];
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      if (work->rowpos[g->row[k]] < 0) continue;
      level->AT.row[count] = work->rowpos[g->row[k]];
      level->from[count++] = k;
    }
    level->AT.start[q + 1] = count;
  }
  return CP_SUCCESS;
}

int cpMetricStructure(CPWork work, int l) {
  return cpHasDiagonalMetric(work->P) ? diagonalStructure(work, &work->levels[l])
                                      : cpMetricMatrixCreate(work, l);
}

int cpMetricEvaluate(CPWork work, sunrealtype t, N_Vector y) {
  return cpHasDiagonalMetric(work->P) ? CP_SUCCESS : cpMetricMatrixEvaluate(work, t, y);
}

/* ---- values ---- */

/* Which rows are columns of A: all, or those with a gradient. */
static void chooseRows(CPWork work, CPLevel *level, int all) {
  level->nact = 0;
  for (int k = 0; k < level->nrows; k++) {
    const int i     = level->rows[k];
    const int in    = all || work->rowscale[i] > 0.0;
    work->rowpos[i] = in ? level->nact : -1;
    if (in) level->act[level->nact++] = i;
  }
}

static void gatherStructured(CPWork work, CPLevel *level) {
  CPEntries *a = &level->AT;
  for (int q = 0; q < level->ncols; q++) {
    const double d = work->sqrtd[level->cols[q]];
    for (size_t k = a->start[q]; k < a->start[q + 1]; k++)
      a->value[k] = work->g.value[level->from[k]] * d * work->rowscale[level->rows[a->row[k]]];
  }
}

/* Without the entries of rows that are left out and of components that are held. */
static void gatherCompact(CPWork work, int l) {
  const CPEntries *g   = &work->g;
  CPLevel *level       = &work->levels[l];
  const int *row_level = work->P->row_level;
  size_t count         = 0;
  for (int q = 0; q < level->ncols; q++) {
    const int j        = level->cols[q];
    level->AT.start[q] = count;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i = g->row[k];
      if (row_level[i] != l || work->rowpos[i] < 0 || work->sqrtd[j] == 0.0) continue;
      level->AT.row[count]     = work->rowpos[i];
      level->AT.value[count++] = g->value[k] * work->sqrtd[j] * work->rowscale[i];
    }
  }
  level->AT.start[level->ncols] = count;
}

/* Lengths of the columns of A, as it comes from another metric: the rows' scales. Rows without
 * gradient and those switched off keep 0. */
static int scaleColumns(CPWork work, const CPLevel *level) {
  const CPEntries *a = &level->AT;
  double *square     = work->rl;
  for (int k = 0; k < level->nrows; k++) square[k] = 0.0;
  for (size_t k = 0; k < a->start[level->ncols]; k++)
    square[a->row[k]] += a->value[k] * a->value[k];
  for (int k = 0; k < level->nrows; k++) {
    double *scale = &work->rowscale[level->rows[k]];
    if (!isfinite(square[k])) return k;
    *scale = *scale > 0.0 && square[k] > 0.0 ? 1.0 / sqrt(square[k]) : 0.0;
  }
  return -1;
}

static void scaleEntries(CPWork work, CPLevel *level) {
  CPEntries *a = &level->AT;
  for (size_t k = 0; k < a->start[level->ncols]; k++)
    a->value[k] *= work->rowscale[level->rows[a->row[k]]];
}

/* packed: AT without the rows that are left out. */
static void packEntries(CPWork work, CPLevel *level) {
  const CPEntries *a = &level->AT;
  CPEntries *packed  = &level->packed;
  size_t count       = 0;
  for (int q = 0; q < level->ncols; q++) {
    packed->start[q] = count;
    for (size_t k = a->start[q]; k < a->start[q + 1]; k++) {
      const int i = level->rows[a->row[k]];
      if (work->rowpos[i] < 0) continue;
      packed->row[count]     = work->rowpos[i];
      packed->value[count++] = a->value[k];
    }
  }
  packed->start[level->ncols] = count;
}

static int gatherOther(CPWork work, sunrealtype t, int l, int all) {
  CPLevel *level = &work->levels[l];
  int flag       = cpMetricMatrixGather(work, t, l);
  if (flag) return flag;
  const int bad = scaleColumns(work, level);
  if (bad >= 0) {
    char name[CP_ROW_NAME];
    return cpReason(work->text, -CP_METRIC_INDEFINITE,
                    "at t = %.15g: the gradient of %s has no finite length in the metric", t,
                    cpRowName(work->P, level->rows[bad], name));
  }
  chooseRows(work, level, all);
  scaleEntries(work, level);
  if (!all) packEntries(work, level);
  return CP_SUCCESS;
}

int cpMetricGather(CPWork work, sunrealtype t, int l) {
  CPLevel *level = &work->levels[l];
  const int all  = cpLinKeepsPattern(level->lin->ops->type);
  int flag       = CP_SUCCESS;
  if (cpHasDiagonalMetric(work->P)) {
    chooseRows(work, level, all);
    if (all) gatherStructured(work, level);
    else gatherCompact(work, l);
  } else {
    flag = gatherOther(work, t, l, all);
  }
  level->lin->m = level->nact;
  return flag;
}

/* ---- products ---- */

void cpMetricTimes(const CPWork work, int l, double *xl, double *x) {
  const CPLevel *level = &work->levels[l];
  if (level->metric) {
    cpMetricMatrixTimes(work, l, xl, x);
    return;
  }
  for (int q = 0; q < level->ncols; q++) x[level->cols[q]] = work->sqrtd[level->cols[q]] * xl[q];
}

void cpMetricTransposedTimes(const CPWork work, int l, const double *z, double *xl) {
  const CPLevel *level = &work->levels[l];
  if (level->metric) {
    cpMetricMatrixTransposedTimes(work, l, z, xl);
    return;
  }
  for (int q = 0; q < level->ncols; q++) xl[q] = work->sqrtd[level->cols[q]] * z[level->cols[q]];
}
