/* G and its factors, and the block-triangular right inverse K of G made of the levels:
 *
 *   level by level   x_l = K_l (r_l - sum_{k<l} G_lk x_k),   K_l = D_l G_l^T (G_l D_l G_l^T)^+,
 *
 * where G_l has the rows and columns of level l and D_l is D on its columns (level.c). With one
 * level this is K = D G^T (G D G^T)^+; with positions and velocities K satisfies the position
 * constraints first, and then holds the positions. */
#include "projector_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sets the values of G on the levels, and from these the sizes and units of all rows, and which
 * rows are idle. */
static void scaleRows(CPWork work) {
  const CPProjector P = work->P;
  CPRows *rows        = &work->rows;
  const double *ctol  = P->ctol ? N_VGetArrayPointer(P->ctol) : NULL;
  const int is_error  = work->norm == CP_NORM_ERROR && cpHasDiagonalMetric(P);
  double *one = work->room.z, *over_all = work->room.s, *largest = work->room.r;
  int idle = 0;
  for (int l = 0; l < work->nlevels; l++) {
    CPLevel *level = &work->levels[l];
    cpLevelTake(work, l);
    if (level->nrows == 0) continue;
    for (int q = 0; !is_error && q < level->ncols; q++)
      one[q] = level->root[q] == 0.0 ? 0.0 : 1.0 / rows->w[level->cols[q]];
    cpMatRowLengths(&level->A, is_error ? level->root : one, largest, level->length);
    for (int k = 0; k < level->nrows; k++) {
      const int i              = level->rows[k];
      rows->unit[i]            = level->length[k];
      idle |= rows->is_idle[i] = !(level->length[k] >= DBL_MIN);
    }
  }
  for (int j = 0; idle && j < P->n; j++) one[j] = 1.0 / rows->w[j];
  if (idle) cpMatRowLengths(&work->g, one, largest, over_all);
  for (int i = 0; i < P->m; i++) { /* a row that moves no component is measured over all */
    if (idle && rows->is_idle[i]) rows->unit[i] = over_all[i];
    rows->size[i] = ctol && i < P->mc ? ctol[i] : rows->unit[i];
    if (cpIsActive(P, i)) continue;
    rows->unit[i]    = 0.0;
    rows->size[i]    = INFINITY;
    rows->is_idle[i] = 1;
  }
}

/* Returns the sine below which rows count as dependent. It depends on the distance from the
 * manifold, unless the rows in use are known to be independent. In the damped iteration, far from
 * the manifold, it does not: no row is dropped there because of the distance. */
static double rankTolerance(CPWork work, const double *y) {
  int known    = 1;
  CPSaddle any = NULL;
  for (int l = 0; l < work->nlevels; l++) {
    CPLevel *level = &work->levels[l];
    if (level->nrows == 0) continue;
    for (int k = 0; k < level->nrows; k++) level->off[k] = work->rows.is_idle[level->rows[k]];
    known &= cpSaddleUseRows(level->saddle, level->off);
    any = level->saddle;
  }
  if (known || work->damped) return 0.0;
  return cpSaddleZeroAngle(any, cpRelativeDistance(&work->g, work->rows.c, work->rows.is_idle, y,
                                                   work->rows.w, work->room.z, work->room.s));
}

static int factorLevel(CPWork work, sunrealtype t, int l, double ranktol) {
  const CPLevel *level  = &work->levels[l];
  const CPSaddle saddle = level->saddle;
  const int flag        = cpLevelFactor(work, l, ranktol);
  char name[CP_ROW_NAME];
  CP_COUNT(work, nsetups);
  if (flag == CP_SADDLE_NOT_DEFINITE) {
    const int q = saddle->indefinite;
    return cpMetricIndefinite(work->text, t, q < 0 ? q : level->cols[q]);
  }
  if (flag) {
    const int i = saddle->dependent < 0 ? -1 : level->rows[saddle->dependent];
    return cpSaddleFailed(saddle, flag, t, cpRowName(work->P, i, name), work->text);
  }
  const CPLinSol in_use = cpSaddleTypeOf(saddle); /* may have changed with AUTO */
  if (in_use != work->linsol && work->P->options.linsol == CP_LINSOL_AUTO &&
      work->linsol != CP_LINSOL_QR) {
    cpWrite(work->P->reason, "constraints proved dependent");
    work->linsol = in_use;
  }
  return CP_SUCCESS;
}

/* No row may depend on a column of a higher level. If given levels violate this, that is an error;
 * levels detected from a few states are replaced by a single level. */
static int honourLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P  = work->P;
  const CPMat *g = &work->g;
  int row = -1, col = -1;
  for (int j = 0; !work->levels_fit && row < 0 && j < P->n; j++) {
    if (P->col_level[j] == 0 || work->sqrtd[j] == 0.0) continue;
    for (size_t k = g->start[j]; row < 0 && k < g->start[j + 1]; k++) {
      const int i = g->row[k];
      if (P->row_level[i] >= P->col_level[j] || g->value[k] == 0.0 || !cpIsActive(P, i)) continue;
      const double size = fabs(g->value[k]) / work->rows.w[j];
      if (work->rows.is_idle[i] || size > CP_ROUNDED * work->rows.unit[i]) row = i, col = j;
    }
  }
  if (row < 0) return CP_SUCCESS;
  if (P->has_levels)
    return cpReason(work->text, CP_ILL_INPUT,
                    "at t = %.10g: row_level[%d] = %d, but constraint %d depends on component %d, "
                    "col_level[%d] = %d (CPProjectorSetLevels)",
                    t, row, P->row_level[row], row, col, col, P->col_level[col]);
  for (int i = 0; i < P->m; i++) P->row_level[i] = 0;
  for (int j = 0; j < P->n; j++) P->col_level[j] = 0;
  P->nlevels = 1;
  P->revision++;
  int flag = cpWorkUpdate(work, t, y, ewt);
  if (!flag) flag = cpJacobian(work, t, y, work->rows.c);
  if (!flag) scaleRows(work);
  return flag;
}

/* Opens the solvers of new levels. This waits for the first factors, since unit norms alone may need none
 * (norms.c). */
CP_RARE static int openLevels(CPWork work) {
  int flag = CP_SUCCESS;
  for (int l = 0; !flag && l < work->nlevels; l++)
    if (work->levels[l].nrows > 0 && !work->levels[l].saddle) flag = cpLevelOpen(work, l);
  work->is_open = !flag;
  return flag ? cpReason(
                    work->text, flag,
                    flag == CP_MEM_FAIL ? "no memory for the linear solver"
                    : work->linsol == CP_LINSOL_KKT
                        ? "CP_LINSOL_KKT is for a metric that is a sparse matrix (CP_NORM_MATRIX)"
                        : "the linear solver cannot be set up")
              : CP_SUCCESS;
}

int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPProjector P = work->P;
  int flag            = cpWeights(work, y, ewt);
  if (!flag) flag = cpJacobian(work, t, y, work->rows.c);
  if (flag) return flag;
  scaleRows(work);
  flag = honourLevels(work, t, y, ewt);
  if (!flag && !work->is_open) flag = openLevels(work);
  if (!flag) flag = cpMetricEvaluate(work, t, y);
  const double ranktol = flag ? 0.0 : rankTolerance(work, N_VGetArrayPointer(y));
  for (int l = 0; !flag && l < work->nlevels; l++)
    if (work->levels[l].nrows > 0) flag = factorLevel(work, t, l, ranktol);
  if (flag) return flag;
  memset(P->is_dependent, 0, (size_t)P->mc * sizeof *P->is_dependent);
  for (int l = 0; l < work->nlevels; l++) {
    const CPLevel *level = &work->levels[l];
    if (level->nrows > 0) cpSaddleRecordRank(level->saddle);
    for (int k = 0; k < level->nrows && level->saddle->dependent >= 0; k++) {
      if (level->saddle->is_dependent[k] && level->rows[k] < P->mc)
        P->is_dependent[level->rows[k]] = 1;
    }
  }
  P->stats.rank   = cpWorkRank(work);
  P->stats.linsol = work->linsol;
  return CP_SUCCESS;
}

/* Level by level, x_l = K_l s, where s is r minus the effect of the lower levels' corrections. */
int cpRightInverse(CPNewton *newton, const double *r, double *x) {
  const CPWork work = newton->self;
  const CPMat *g    = &work->g;
  double *s         = work->room.s;
  memcpy(s, r, (size_t)work->P->m * sizeof *s);
  for (int l = 0; l < work->nlevels; l++) {
    CPLevel *level = &work->levels[l];
    if (cpLevelIsEmpty(level)) {
      for (int q = 0; q < level->ncols; q++) x[level->cols[q]] = 0.0;
      continue;
    }
    for (int k = 0; k < level->nrows; k++) work->room.rl[k] = s[level->rows[k]];
    const int flag = cpLevelSolve(level, NULL, work->room.rl, x, NULL); /* x_l = K_l s */
    if (flag) return cpSaddleFailed(level->saddle, flag, NAN, NULL, work->text);
    for (int q = 0; l + 1 < work->nlevels && q < level->ncols; q++) { /* s -= G x_l */
      const int j      = level->cols[q];
      const size_t end = g->start[j + 1];
      for (size_t k = g->start[j]; k < end; k++) s[g->row[k]] -= g->value[k] * x[j];
    }
  }
  return CP_SUCCESS;
}

/* The transpose runs through the levels backwards: the effect of a level's multipliers on lower
 * columns is subtracted before the lower levels are solved. */
int cpRightInverseTransposed(CPWork work, const double *x, double *mu) {
  const CPMat *g      = &work->g;
  const CPProjector P = work->P;
  double *z           = work->room.z;
  for (int i = 0; i < P->m; i++) mu[i] = 0.0;
  for (int j = 0; j < P->n; j++) z[j] = x[j];
  for (int l = work->nlevels - 1; l >= 0; l--) {
    CPLevel *level = &work->levels[l];
    if (cpLevelIsEmpty(level)) continue;
    const int flag = cpLevelSolve(level, z, NULL, NULL, work->room.rl); /* mu_l = K_l^T z */
    if (flag) return cpSaddleFailed(level->saddle, flag, NAN, NULL, work->text);
    for (int k = 0; k < level->nrows; k++) mu[level->rows[k]] = work->room.rl[k];
    for (int j = 0; l > 0 && j < P->n; j++) { /* z -= G^T mu_l below */
      if (P->col_level[j] >= l) continue;
      for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
        if (P->row_level[g->row[k]] == l) z[j] -= g->value[k] * mu[g->row[k]];
    }
  }
  return CP_SUCCESS;
}
