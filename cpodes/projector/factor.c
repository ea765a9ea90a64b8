/* G and its factors, and the block-triangular right inverse K of G that levels make of them:
 *
 *   level by level   x_l = D_l G_l^T (G_l D_l G_l^T)^+ (r_l - sum_{k<l} G_lk x_k),
 *
 * where G_l has the rows and columns of level l and D_l is D on its columns. With one level this is
 * K = D G^T (G D G^T)^+; with positions and velocities it satisfies the positions first and holds them then.
 */
#include "projector_impl.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Sines of angles that count as zero: with exact entries of G, and with differences. */
#define RANK_TOLERANCE    1.0e-10
#define RANK_TOLERANCE_DQ 1.0e-6

/* |g_i| in the metric (scales the rows for the factors) and in the weights (measures c_i), over the components that row i
 * can move. */
static void scaleRow(CPWork work, const CPLevel *level, int i) {
  double inMetric = 0.0, inWeights = 0.0;
  for (int k = 0; k < level->ncols; k++) {
    const int j     = level->cols[k];
    const double g2 = SM_ELEMENT_D(work->G, i, j) * SM_ELEMENT_D(work->G, i, j);
    if (work->d[j] == 0.0) continue;
    inMetric += g2 * work->d[j];
    inWeights += g2 / (work->w[j] * work->w[j]);
  }
  work->rowscale[i] = inMetric > 0.0 ? 1.0 / sqrt(inMetric) : 0.0;
  work->size[i]     = work->P->ctol ? work->P->ctol[i] : sqrt(inWeights);
}

/* A = D^(1/2) G^T R of a level, from the rows that have a gradient. */
static void gather(CPWork work, CPLevel *level) {
  level->nact = 0;
  for (int k = 0; k < level->nrows; k++) {
    scaleRow(work, level, level->rows[k]);
    if (work->rowscale[level->rows[k]] > 0.0) level->act[level->nact++] = level->rows[k];
  }
  level->lin->m = level->nact;
  for (int k = 0; k < level->nact; k++) {
    const int i    = level->act[k];
    double *column = level->lin->A + (size_t)k * (size_t)level->ncols;
    for (int l = 0; l < level->ncols; l++) {
      const int j = level->cols[l];
      column[l]   = SM_ELEMENT_D(work->G, i, j) * sqrt(work->d[j]) * work->rowscale[i];
    }
  }
}

/* AUTO: from now on the pivoted solver, on the same A. */
static int swapSolver(CPLevel *level) {
  if (!level->spare) return 0;
  CPLin failed  = level->lin;
  double *A     = failed->A;
  level->lin    = level->spare;
  level->spare  = NULL;
  failed->A     = level->lin->A;
  level->lin->A = A;
  level->lin->m = failed->m;
  cpLinFree(&failed);
  return 1;
}

static int factorLevel(CPWork work, sunrealtype t, CPLevel *level) {
  gather(work, level);
  level->lin->ranktol = work->P->jac ? RANK_TOLERANCE : RANK_TOLERANCE_DQ;
  int flag            = level->lin->ops->factor(level->lin);
  if (flag == CP_LIN_DEPENDENT && swapSolver(level)) {
    level->lin->ranktol = work->P->jac ? RANK_TOLERANCE : RANK_TOLERANCE_DQ;
    flag                = level->lin->ops->factor(level->lin);
  }
  work->stats.nsetups++;
  work->P->stats.nsetups++;
  if (flag == CP_LIN_DEPENDENT)
    return cpReason(work->text, -CP_PROJ_RANK,
                    "at t = %g: constraint %d depends on others, and the linear solver '%s' needs "
                    "independent ones "
                    "(CP_LINSOL_AUTO and CP_LINSOL_QRP do not)",
                    t, level->act[level->lin->dependent], level->lin->ops->name);
  if (flag)
    return cpReason(work->text, CP_LINSOL_FAIL, "at t = %g: LAPACK failed in '%s'", t,
                    level->lin->ops->name);
  work->P->stats.linsol = level->lin->ops->type;
  return CP_SUCCESS;
}

int cpFactor(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  work->valid = 0;
  int flag    = cpWeights(work, y, ewt);
  if (!flag) flag = cpJacobian(work, t, y, work->c);
  for (int l = 0; !flag && l < work->nlevels; l++)
    if (work->levels[l].nrows > 0) flag = factorLevel(work, t, &work->levels[l]);
  if (flag) return flag;
  work->valid            = 1;
  work->stale            = 0;
  work->age              = 0;
  work->P->stats.rank    = cpWorkRank(work);
  work->P->stats.nlevels = work->nlevels;
  return CP_SUCCESS;
}

/* r_l of a level, in the order of its solver: R (r - G x) over the columns of lower levels. */
static void levelRightHandSide(CPWork work, int l, const double *r, const double *x) {
  const CPLevel *level = &work->levels[l];
  for (int k = 0; k < level->nact; k++) {
    const int i = level->act[k];
    double sum  = r[i];
    for (int lower = 0; lower < l; lower++)
      for (int q = 0; q < work->levels[lower].ncols; q++) {
        const int j = work->levels[lower].cols[q];
        sum -= SM_ELEMENT_D(work->G, i, j) * x[j];
      }
    work->rl[k] = sum * work->rowscale[i];
  }
}

void cpRightInverse(CPWork work, const double *r, double *x) {
  for (int j = 0; j < work->P->n; j++) x[j] = 0.0;
  for (int l = 0; l < work->nlevels; l++) {
    const CPLevel *level = &work->levels[l];
    if (level->nact == 0 || level->nrows == 0) continue;
    levelRightHandSide(work, l, r, x);
    level->lin->ops->solve(level->lin, work->rl, work->xl);
    for (int q = 0; q < level->ncols; q++) /* x_l = D^(1/2) A (A'A)^+ R r_l */
      x[level->cols[q]] = sqrt(work->d[level->cols[q]]) * work->xl[q];
  }
}

/* The transpose runs through the levels backwards; what a level's multipliers ask of lower columns is taken off there
 * before these get their turn. x is overwritten. */
void cpRightInverseTransposed(CPWork work, const double *x_in, double *mu) {
  double *x = work->x;
  for (int j = 0; j < work->P->n; j++) x[j] = x_in[j];
  for (int i = 0; i < work->P->m; i++) mu[i] = 0.0;
  for (int l = work->nlevels - 1; l >= 0; l--) {
    const CPLevel *level = &work->levels[l];
    if (level->nact == 0 || level->nrows == 0) continue;
    for (int q = 0; q < level->ncols; q++)
      work->xl[q] = sqrt(work->d[level->cols[q]]) * x[level->cols[q]];
    level->lin->ops->solve_t(level->lin, work->xl, work->rl);
    for (int k = 0; k < level->nact; k++) {
      const int i = level->act[k];
      mu[i]       = work->rl[k] * work->rowscale[i];
      for (int lower = 0; lower < l; lower++)
        for (int q = 0; q < work->levels[lower].ncols; q++) {
          const int j = work->levels[lower].cols[q];
          x[j] -= SM_ELEMENT_D(work->G, i, j) * mu[i];
        }
    }
  }
}

/* Residual that a row without gradient may have: no correction can do better. */
#define ZERO_ROW_RESIDUAL 1.0e-12

double cpViolation(CPWork work, const double *c, int *worst) {
  double violation = 0.0;
  *worst           = 0;
  for (int i = 0; i < work->P->m; i++) {
    double size = work->size[i];
    if (work->rowscale[i] == 0.0 && !work->P->ctol) size = ZERO_ROW_RESIDUAL;
    if (fabs(c[i]) > violation * size) violation = fabs(c[i]) / size, *worst = i;
  }
  return violation;
}
