/* G and its factors, and the block-triangular right inverse K of G that levels make of them:
 *
 *   level by level   x_l = D_l G_l^T (G_l D_l G_l^T)^+ (r_l - sum_{k<l} G_lk x_k),
 *
 * where G_l has the rows and columns of level l and D_l = F_l F_l^T is D on its columns. With one
 * level this is K = D G^T (G D G^T)^+; with positions and velocities it satisfies the positions
 * first and holds them then. With A = F_l^T G_l^T R, R the rows' scales,
 *
 *   D_l G_l^T (G_l D_l G_l^T)^+ = F_l A (A^T A)^+ R.
 */
#include "projector_impl.h"

#include <math.h>
#include <string.h>

/* Sines of angles that count as zero: with exact entries of G, and with differences. */
#define RANK_TOLERANCE    1.0e-10
#define RANK_TOLERANCE_DQ 1.0e-6

/* Largest |c_i| / sum_j |G_ij y_j|: relative to the terms of the constraint, as far as G tells. */
static double relativeDistance(CPWork work, const double *y) {
  const CPEntries *g = &work->g;
  double *terms = work->s, largest = 0.0;
  for (int i = 0; i < work->P->m; i++) terms[i] = 0.0;
  for (int j = 0; j < work->P->n; j++) { /* displacements are zero where they start: radians */
    const double size = work->P->from_zero && y[j] == 0.0 ? 1.0 : fabs(y[j]);
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
      terms[g->row[k]] += fabs(g->value[k]) * size;
  }
  for (int i = 0; i < work->P->m; i++)
    if (work->rowscale[i] > 0.0 && terms[i] > 0.0)
      largest = fmax(largest, fabs(work->c[i]) / terms[i]);
  return largest;
}

static double fineTolerance(const CPWork work) {
  return work->P->jac || work->P->mc == 0 ? RANK_TOLERANCE : RANK_TOLERANCE_DQ;
}

static void chooseRankTolerance(CPWork work, const double *y) {
  sunindextype rows = 0;
  work->ranktol     = fineTolerance(work);
  for (int i = 0; i < work->P->m; i++) rows += work->rowscale[i] > 0.0;
  if (work->full_rank >= rows || work->assembling) return;
  work->ranktol = fmax(work->ranktol, cpLinZeroAngle(relativeDistance(work, y)));
}

/* AUTO: from now on the pivoted solver. */
static int swapSolver(CPWork work, CPLevel *level) {
  if (!level->spare) return 0;
  cpLinFree(&level->lin);
  level->lin    = level->spare;
  level->spare  = NULL;
  level->lin->m = level->nact;
  work->linsol  = level->lin->ops->type;
  cpWrite(work->P->reason, "constraints proved dependent");
  return 1;
}

/* Off the manifold rows may be dependent up to some angle: work->ranktol. But a rank that this level has had before
 * stands as long as the roundoff of the entries allows: the angles of the rows that make it may become
 * as small as that of the distance, and leaving one of them out sets a motion free that does not exist. */
static int factorMatrix(CPWork work, const CPLevel *level, CPLin lin) {
  lin->ranktol = work->ranktol;
  int flag     = lin->ops->factor(lin);
  while (!flag && lin->rank < level->known_rank && lin->ranktol > fineTolerance(work)) {
    lin->ranktol = fmax(lin->ranktol / CP_LIN_LESS_ANGLE, fineTolerance(work));
    flag         = lin->ops->factor(lin);
  }
  return flag;
}

static int factorLevel(CPWork work, sunrealtype t, int l) {
  CPLevel *level = &work->levels[l];
  int flag       = cpMetricGather(work, t, l);
  if (flag) return flag;
  flag = factorMatrix(work, level, level->lin);
  if (flag == CP_LIN_DEPENDENT && swapSolver(work, level))
    flag = factorMatrix(work, level, level->lin);
  CP_COUNT(work, nsetups);
  if (flag == CP_LIN_INDEFINITE)
    return cpReason(work->text, -CP_METRIC_INDEFINITE,
                    "at t = %.15g: the metric is not positive definite on the tangent space", t);
  if (flag == CP_LIN_DEPENDENT) {
    char name[CP_ROW_NAME];
    return cpReason(work->text, -CP_PROJ_RANK,
                    "at t = %.15g: %s depends on others, and the linear solver '%s' needs "
                    "independent ones (CP_LINSOL_AUTO, QRP, SPARSE and BLOCK do not)",
                    t, cpRowName(work->P, level->act[level->lin->dependent], name),
                    level->lin->ops->name);
  }
  if (flag)
    return cpReason(work->text, flag, "at t = %.15g: %s in the linear solver '%s'", t,
                    flag == CP_MEM_FAIL ? "no memory" : "LAPACK or SuiteSparse failed",
                    level->lin->ops->name);
  return CP_SUCCESS;
}

/* Part of its row below which an entry counts as roundoff: where zero is meant, users compute
 * cos(pi/2). */
#define ENTRY_ROUNDOFF 1.0e-12

/* Does row i, with an entry in column j, depend on a higher level than its own? */
static int isAbove(const CPWork work, int i, int j) {
  return work->P->row_level[i] < work->P->col_level[j];
}

int cpLevelsMayFail(const CPWork work) {
  const CPEntries *g = &work->g;
  for (int j = 0; work->nlevels > 1 && j < work->P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
      if (isAbove(work, g->row[k], j)) return 1;
  return 0;
}

/* A row that depends on a column of a higher level: 1, and which. */
static int contradictsLevels(const CPWork work, int *row, int *col) {
  const CPEntries *g = &work->g;
  for (int j = 0; work->levels_may_fail && j < work->P->n; j++) {
    if (work->P->col_level[j] == 0 || work->sqrtd[j] == 0.0) continue;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i = g->row[k];
      if (!isAbove(work, i, j) || g->value[k] == 0.0 || !cpIsActive(work->P, i)) continue;
      const double part = fabs(g->value[k]) * work->sqrtd[j] * work->rowscale[i];
      if (work->rowscale[i] > 0.0 && part <= ENTRY_ROUNDOFF) continue;
      *row = i, *col = j;
      return 1;
    }
  }
  return 0;
}

/* Levels that were given must be right. Those that were detected, from a few states, give way to a
 * single one. */
static int honourLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  int row, col;
  if (!contradictsLevels(work, &row, &col)) return CP_SUCCESS;
  if (P->row_level_v)
    return cpReason(work->text, CP_ILL_INPUT,
                    "at t = %.15g: row_level[%d] = %d, but constraint %d depends on component %d, "
                    "col_level[%d] = %d (CPProjectorSetLevels)",
                    t, row, P->row_level[row], row, col, col, P->col_level[col]);
  for (int i = 0; i < P->m; i++) P->row_level[i] = 0;
  for (int j = 0; j < P->n; j++) P->col_level[j] = 0;
  P->nlevels = 1;
  P->revision++;
  int flag = cpWorkUpdate(work, t, y, ewt);
  if (!flag) flag = cpGradientGather(work, t, N_VGetArrayPointer(y));
  if (!flag) cpScaleRows(work);
  return flag;
}

static void noteRank(CPWork work) {
  const sunindextype rank = cpWorkRank(work);
  if (cpWorkSine(work) <= CP_LIN_CLEARLY * work->ranktol)
    return; /* dependent rows may look independent */
  if (rank > work->full_rank) work->full_rank = rank;
  for (int l = 0; l < work->nlevels; l++) {
    CPLevel *level = &work->levels[l];
    if (level->lin && level->lin->rank > level->known_rank) level->known_rank = level->lin->rank;
  }
}

static void noteDependent(CPWork work) {
  CPProjector P = work->P;
  memset(P->is_dependent, 0, (size_t)P->mc * sizeof *P->is_dependent);
  P->ndependent = 0;
  for (int l = 0; l < work->nlevels; l++) {
    const CPLevel *level = &work->levels[l];
    for (int k = 0; level->lin && k < level->nact; k++) {
      if (!level->lin->is_dependent[k]) continue;
      P->ndependent++;
      if (level->act[k] < P->mc) P->is_dependent[level->act[k]] = 1;
    }
  }
}

int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = cpWeights(work, y, ewt);
  if (!flag) flag = cpJacobian(work, t, y, work->c);
  if (!flag) flag = cpGradientGather(work, t, N_VGetArrayPointer(y));
  if (flag) return flag;
  cpScaleRows(work);
  chooseRankTolerance(work, N_VGetArrayPointer(y));
  flag = honourLevels(work, t, y, ewt);
  if (!flag) flag = cpMetricEvaluate(work, t, y);
  for (int l = 0; !flag && l < work->nlevels; l++)
    if (work->levels[l].nrows > 0) flag = factorLevel(work, t, l);
  if (flag) return flag;
  noteRank(work);
  noteDependent(work);
  work->P->stats.rank   = cpWorkRank(work);
  work->P->stats.linsol = work->linsol;
  return CP_SUCCESS;
}

static int isEmpty(const CPLevel *level) { return level->nrows == 0 || level->nact == 0; }

static int failedSolve(CPWork work, const CPLevel *level, int flag) {
  return cpReason(work->text, flag, "%s in the linear solver '%s'",
                  flag == CP_MEM_FAIL ? "no memory" : "LAPACK or SuiteSparse failed",
                  level->lin->ops->name);
}

/* s -= G x over the columns of one level: what its correction does to the levels above. */
static void subtractColumns(CPWork work, const CPLevel *level, const double *x, double *s) {
  const CPEntries *g = &work->g;
  for (int q = 0; q < level->ncols; q++) {
    const int j = level->cols[q];
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) s[g->row[k]] -= g->value[k] * x[j];
  }
}

int cpRightInverse(CPWork work, const double *r, double *x) {
  double *s = work->s;
  memcpy(s, r, (size_t)work->P->m * sizeof *s);
  for (int l = 0; l < work->nlevels; l++) {
    const CPLevel *level = &work->levels[l];
    if (isEmpty(level)) {
      for (int q = 0; q < level->ncols; q++) x[level->cols[q]] = 0.0;
      continue;
    }
    for (int k = 0; k < level->nact; k++)
      work->rl[k] = s[level->act[k]] * work->rowscale[level->act[k]];
    const int flag = level->lin->ops->solve(level->lin, work->rl, work->xl);
    if (flag) return failedSolve(work, level, flag);
    cpMetricTimes(work, l, work->xl, x); /* x_l = F A (A'A)^+ R s_l */
    if (l + 1 < work->nlevels) subtractColumns(work, level, x, s);
  }
  return CP_SUCCESS;
}

/* z_j -= (G^T mu)_j over the columns below level l, mu that of level l. */
static void subtractRows(CPWork work, int l, const double *mu, double *z) {
  const CPEntries *g = &work->g;
  for (int j = 0; j < work->P->n; j++) {
    if (work->P->col_level[j] >= l) continue;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
      if (work->P->row_level[g->row[k]] == l) z[j] -= g->value[k] * mu[g->row[k]];
  }
}

/* The transpose runs through the levels backwards; what a level's multipliers ask of lower columns
 * is taken off there before these get their turn. */
int cpRightInverseTransposed(CPWork work, const double *x, double *mu) {
  double *z = work->z;
  for (int j = 0; j < work->P->n; j++) z[j] = x[j];
  for (int i = 0; i < work->P->m; i++) mu[i] = 0.0;
  for (int l = work->nlevels - 1; l >= 0; l--) {
    const CPLevel *level = &work->levels[l];
    if (isEmpty(level)) continue;
    cpMetricTransposedTimes(work, l, z, work->xl);
    const int flag = level->lin->ops->solve_t(level->lin, work->xl, work->rl);
    if (flag) return failedSolve(work, level, flag);
    for (int k = 0; k < level->nact; k++)
      mu[level->act[k]] = work->rl[k] * work->rowscale[level->act[k]];
    if (l > 0) subtractRows(work, l, mu, z);
  }
  return CP_SUCCESS;
}
