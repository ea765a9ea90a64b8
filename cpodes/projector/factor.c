/* G and its factors, and the block-triangular right inverse K of G that levels make of them:
 *
 *   level by level   x_l = D_l G_l^T (G_l D_l G_l^T)^+ (r_l - sum_{k<l} G_lk x_k),
 *
 * where G_l has the rows and columns of level l and D_l is D on its columns. With one level this is
 * K = D G^T (G D G^T)^+; with positions and velocities it satisfies the positions first and holds
 * them then.
 */
#include "projector_impl.h"

#include <math.h>

/* Sines of angles that count as zero: with exact entries of G, and with differences. */
#define RANK_TOLERANCE    1.0e-10
#define RANK_TOLERANCE_DQ 1.0e-6

/* Squares below or above these may have lost digits to under- or overflow. */
#define LEAST_SQUARE   1.0e-280
#define LARGEST_SQUARE 1.0e280

/* The norm so far with one more entry: of squares, or safe from under- and overflow, and slower. */
static double add(double sum, double entry, int safe) {
  return safe ? hypot(sum, entry) : sum + entry * entry;
}

/* |g_i| in the metric (rowscale) and in the weights (unit), over the components that row i moves:
 * those of its own level; and in the weights over all (s). Squared unless safe. 0 if squares were
 * not safe. */
static int sumRows(CPWork work, int safe) {
  const CPProjector P = work->P;
  const CPEntries *g  = &work->g;
  double *inMetric = work->rowscale, *inWeights = work->unit, *overAll = work->s;
  int fine = 1;
  for (int i = 0; i < P->m; i++) inMetric[i] = inWeights[i] = overAll[i] = 0.0;
  for (int j = 0; j < P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i     = g->row[k];
      const double gw = g->value[k] / work->w[j], gd = g->value[k] * work->sqrtd[j];
      overAll[i] = add(overAll[i], gw, safe);
      if (P->row_level[i] != P->col_level[j] || gd == 0.0) continue;
      inMetric[i]  = add(inMetric[i], gd, safe);
      inWeights[i] = add(inWeights[i], gw, safe);
      fine         = fine && inMetric[i] > LEAST_SQUARE && inMetric[i] < LARGEST_SQUARE;
    }
  return fine;
}

/* Scales of the rows for the factors (rowscale) and sizes of their residuals (unit, size). A row
 * that moves no component is measured over all. */
static void scaleRows(CPWork work) {
  const int safe = !sumRows(work, 0);
  if (safe) sumRows(work, 1);
  for (int i = 0; i < work->P->m; i++) {
    const int moves    = work->rowscale[i] > 0.0;
    const double size  = moves ? work->unit[i] : work->s[i];
    const double scale = safe ? work->rowscale[i] : sqrt(work->rowscale[i]);
    work->unit[i]      = safe ? size : sqrt(size);
    work->rowscale[i]  = moves ? 1.0 / scale : 0.0;
    work->size[i]      = work->P->ctol ? work->P->ctol[i] : work->unit[i];
  }
}

/* A = D^(1/2) G^T R of a level, from the rows that have a gradient. */
static void gatherLevel(CPWork work, int l) {
  const CPEntries *g = &work->g;
  CPLevel *level     = &work->levels[l];
  level->nact        = 0;
  for (int k = 0; k < level->nrows; k++) {
    const int i     = level->rows[k];
    work->rowpos[i] = work->rowscale[i] > 0.0 ? level->nact : -1;
    if (work->rowpos[i] >= 0) level->act[level->nact++] = i;
  }
  size_t count = 0;
  for (int q = 0; q < level->ncols; q++) {
    const int j        = level->cols[q];
    level->AT.start[q] = count;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i = g->row[k];
      if (work->P->row_level[i] != l || work->rowpos[i] < 0 || work->sqrtd[j] == 0.0) continue;
      level->AT.row[count]     = work->rowpos[i];
      level->AT.value[count++] = g->value[k] * work->sqrtd[j] * work->rowscale[i];
    }
  }
  level->AT.start[level->ncols] = count;
  level->lin->m                 = level->nact;
  level->lin->AT                = &level->AT;
}

/* AUTO: from now on the pivoted solver. */
static int swapSolver(CPLevel *level) {
  if (!level->spare) return 0;
  cpLinFree(&level->lin);
  level->lin     = level->spare;
  level->spare   = NULL;
  level->lin->m  = level->nact;
  level->lin->AT = &level->AT;
  return 1;
}

static int factorMatrix(CPWork work, CPLin lin) {
  lin->ranktol = work->P->jac ? RANK_TOLERANCE : RANK_TOLERANCE_DQ;
  return lin->ops->factor(lin);
}

static int factorLevel(CPWork work, sunrealtype t, int l) {
  CPLevel *level = &work->levels[l];
  gatherLevel(work, l);
  int flag = factorMatrix(work, level->lin);
  if (flag == CP_LIN_DEPENDENT && swapSolver(level)) flag = factorMatrix(work, level->lin);
  CP_COUNT(work, nsetups);
  if (flag == CP_LIN_DEPENDENT)
    return cpReason(
        work->text, -CP_PROJ_RANK,
        "at t = %.15g: constraint %d depends on others, and the linear solver '%s' needs "
        "independent ones (CP_LINSOL_AUTO and CP_LINSOL_QRP do not)",
        t, level->act[level->lin->dependent], level->lin->ops->name);
  if (flag)
    return cpReason(work->text, CP_LINSOL_FAIL, "at t = %.15g: LAPACK failed in '%s'", t,
                    level->lin->ops->name);
  work->P->stats.linsol = level->lin->ops->type;
  return CP_SUCCESS;
}

/* Part of its row below which an entry counts as roundoff: where zero is meant, users compute
 * cos(pi/2). */
#define ENTRY_ROUNDOFF 1.0e-12

/* A row that depends on a column of a higher level: 1, and which. */
static int contradictsLevels(const CPWork work, int *row, int *col) {
  const CPEntries *g = &work->g;
  for (int j = 0; work->nlevels > 1 && j < work->P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      const int i = g->row[k];
      if (work->P->row_level[i] >= work->P->col_level[j] || work->sqrtd[j] == 0.0) continue;
      const double part = fabs(g->value[k]) * work->sqrtd[j] * work->rowscale[i];
      if (work->rowscale[i] > 0.0 && part <= ENTRY_ROUNDOFF) continue;
      *row = i, *col = j;
      return 1;
    }
  return 0;
}

/* Levels that were given must be right. Those that were detected, from a few states, give way to a
 * single one. */
static int honourLevels(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  int row, col;
  if (!contradictsLevels(work, &row, &col)) return CP_SUCCESS;
  if (P->levels_given)
    return cpReason(work->text, CP_ILL_INPUT,
                    "at t = %.15g: row_level[%d] = %d, but constraint %d depends on component %d, "
                    "col_level[%d] = %d (CPProjectorSetLevels)",
                    t, row, P->row_level[row], row, col, col, P->col_level[col]);
  for (int i = 0; i < P->m; i++) P->row_level[i] = 0;
  for (int j = 0; j < P->n; j++) P->col_level[j] = 0;
  P->nlevels = 1;
  P->revision++;
  scaleRows(work);
  return cpWorkUpdate(work, t, y, ewt);
}

int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  work->valid = 0;
  int flag    = cpWeights(work, y, ewt);
  if (!flag) flag = cpJacobian(work, t, y, work->c);
  if (!flag) flag = cpGradientGather(work, t);
  if (flag) return flag;
  scaleRows(work);
  flag = honourLevels(work, t, y, ewt);
  for (int l = 0; !flag && l < work->nlevels; l++)
    if (work->levels[l].nrows > 0) flag = factorLevel(work, t, l);
  if (flag) return flag;
  work->valid            = 1;
  work->stale            = 0;
  work->age              = 0;
  work->P->stats.rank    = cpWorkRank(work);
  work->P->stats.nlevels = work->nlevels;
  return CP_SUCCESS;
}

static int isEmpty(const CPLevel *level) { return level->nrows == 0 || level->nact == 0; }

/* s -= G x over the columns of one level: what its correction does to the levels above. */
static void subtractColumns(CPWork work, const CPLevel *level, const double *x, double *s) {
  const CPEntries *g = &work->g;
  for (int q = 0; q < level->ncols; q++) {
    const int j = level->cols[q];
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) s[g->row[k]] -= g->value[k] * x[j];
  }
}

void cpRightInverse(CPWork work, const double *r, double *x) {
  double *s = work->s;
  for (int i = 0; i < work->P->m; i++) s[i] = r[i];
  for (int j = 0; j < work->P->n; j++) x[j] = 0.0;
  for (int l = 0; l < work->nlevels; l++) {
    const CPLevel *level = &work->levels[l];
    if (isEmpty(level)) continue;
    for (int k = 0; k < level->nact; k++)
      work->rl[k] = s[level->act[k]] * work->rowscale[level->act[k]];
    level->lin->ops->solve(level->lin, work->rl, work->xl);
    for (int q = 0; q < level->ncols; q++) /* x_l = D^(1/2) A (A'A)^+ R s_l */
      x[level->cols[q]] = work->sqrtd[level->cols[q]] * work->xl[q];
    if (l + 1 < work->nlevels) subtractColumns(work, level, x, s);
  }
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
void cpRightInverseTransposed(CPWork work, const double *x, double *mu) {
  double *z = work->z;
  for (int j = 0; j < work->P->n; j++) z[j] = x[j];
  for (int i = 0; i < work->P->m; i++) mu[i] = 0.0;
  for (int l = work->nlevels - 1; l >= 0; l--) {
    const CPLevel *level = &work->levels[l];
    if (isEmpty(level)) continue;
    for (int q = 0; q < level->ncols; q++)
      work->xl[q] = work->sqrtd[level->cols[q]] * z[level->cols[q]];
    level->lin->ops->solve_t(level->lin, work->xl, work->rl);
    for (int k = 0; k < level->nact; k++)
      mu[level->act[k]] = work->rl[k] * work->rowscale[level->act[k]];
    if (l > 0) subtractRows(work, l, mu, z);
  }
}

/* Residual that a row without any gradient may have. */
#define ZERO_ROW_RESIDUAL 1.0e-12

/* A row that no component can move is satisfied within one tolerance: no correction can do better.
 */
double cpViolation(CPWork work, const double *c, int *worst) {
  double violation = 0.0;
  *worst           = 0;
  for (int i = 0; i < work->P->m; i++) {
    const double size = work->size[i] > 0.0 ? work->size[i] : ZERO_ROW_RESIDUAL;
    if (work->rowscale[i] == 0.0 && fabs(c[i]) <= size) continue;
    if (fabs(c[i]) > violation * size) violation = fabs(c[i]) / size, *worst = i;
  }
  return violation;
}

/* Multiple of roundoff in the terms of a constraint below which its residual is noise. */
#define FLOOR_FACTOR 8.0

/* c_i = O(u sum_j |G_ij y_j|). */
int cpAtRoundoffFloor(CPWork work, const double *y, const double *c, double eps) {
  const CPEntries *g = &work->g;
  double *terms      = work->s;
  for (int i = 0; i < work->P->m; i++) terms[i] = 0.0;
  for (int j = 0; j < work->P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++)
      terms[g->row[k]] += fabs(g->value[k] * y[j]);
  for (int i = 0; i < work->P->m; i++)
    if (fabs(c[i]) > eps * work->size[i] && fabs(c[i]) > FLOOR_FACTOR * CP_UROUND * terms[i])
      return 0;
  return 1;
}
