/* The matrix method: residuals, G and its factors as arrays. */
#include "projector_impl.h"

#include <math.h>
#include <string.h>

/* ---- the parts of Newton's iteration ---- */

static int residuals(CPNewton *newton, sunrealtype t, N_Vector y) {
  return cpConstraint(newton->self, CP_COUNTER(nce), t, y, newton->rows->c);
}

static int renew(CPNewton *newton, sunrealtype t, N_Vector y, N_Vector ewt, int damped,
                 CPRank *rank) {
  CPWork work    = newton->self;
  work->damped   = damped > 0;
  const int flag = cpFactor(work, t, y, ewt);
  if (flag) return flag; /* the rank remains that of the last successful factorisation */
  *rank = (CPRank){.rank = cpWorkRank(work), .sine = 1.0};
  for (int l = 0; l < work->nlevels; l++) {
    const CPSaddle saddle = work->levels[l].saddle;
    if (!saddle) continue;
    rank->ndependent += saddle->nrows - saddle->rank;
    if (saddle->rank == 0) continue;
    rank->sine = fmin(rank->sine, saddle->sine);
    rank->is_doubtful |= !cpSaddleIsClear(saddle);
  }
  return CP_SUCCESS;
}

static int terms(CPNewton *newton, N_Vector y, double *result) {
  cpMatAbsTimes(&((CPWork)newton->self)->g, N_VGetArrayPointer(y), result);
  return 1;
}

static int times(CPNewton *newton, N_Vector x, double *r) {
  cpMatTimes(&((CPWork)newton->self)->g, 1.0, N_VGetArrayPointer(x), 0.0, r);
  return CP_SUCCESS;
}

/* mu = K^T g_i on the level of row i, which is not idle, for rows scaled to unit length */
static int combination(CPNewton *newton, int i, double *mu) {
  CPWork work        = newton->self;
  const CPRows *rows = newton->rows;
  CPLevel *level     = &work->levels[work->P->row_level[i]];
  memset(mu, 0, (size_t)work->P->m * sizeof *mu);
  for (int j = 0; j < work->P->n; j++) work->room.z[j] = cpMatEntry(&work->g, i, j);
  const int flag = cpLevelSolve(level, work->room.z, NULL, NULL, work->room.rl);
  for (int k = 0; !flag && k < level->nrows; k++) {
    const int row = level->rows[k];
    mu[row]       = work->room.rl[k] * rows->unit[row] / rows->unit[i]; /* 0: without a gradient */
  }
  return flag;
}

/* A Jacobian that has once agreed with differences is not compared again. */
static int compare(CPNewton *newton, sunrealtype t, N_Vector y) {
  CPWork work = newton->self;
  if (work->jac_is_right || cpJacobianAt(work, t, y)) return CP_SUCCESS;
  const int flag     = cpJacobianWrong(work, t, y, "no convergence, and ");
  work->jac_is_right = !flag;
  return flag;
}

static int explain(CPNewton *newton, sunrealtype t, N_Vector y, int damped) {
  CPWork work    = newton->self;
  const int flag = cpRowsExplain(newton, t, y, damped);
  if (flag == -CP_PROJ_INCONSISTENT && work->nlevels > 1 && !work->P->has_levels)
    cpAppend(work->text, sizeof work->text,
             " (in the levels that were detected, see CPProjectorSetLevels)");
  return flag;
}

static const CPNewtonParts parts = {.residuals = residuals,
                                    .renew     = renew,
                                    CP_ROWS_PARTS,
                                    .explain     = explain,
                                    .terms       = terms,
                                    .lift        = cpRightInverse,
                                    .times       = times,
                                    .combination = combination,
                                    .compare     = compare};

/* ---- the actions ---- */

static void *create(void *model, CPWork work) {
  (void)model;
  work->revision = work->shape = -1;
  cpNewtonInit(&work->newton, &work->arena, &parts, work, work, work->P->y_tmpl);
  work->newton.rows = &work->rows;
  cpWorkSetIterations(work, &work->newton, NULL);
  return work;
}

static void freeWork(void *self) {
  CPWork work = self;
  cpLevelsFree(work);
  cpArenaFree(&work->storage);
}

static int update(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  return cpWorkUpdate(self, t, y, ewt);
}

static int project(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result) {
  CPWork work = self;
  if (work->norms_apart && cpNormsProject(work, y, ewt, only_if_needed, result)) return CP_SUCCESS;
  return cpNewtonProject(&work->newton, t, y, ewt, only_if_needed, result);
}

static int violation(void *self, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *result) {
  CPWork work = self;
  if (work->norms_apart && cpNormsViolation(work, y, ewt, result)) return CP_SUCCESS;
  return cpNewtonViolation(&work->newton, t, y, ewt, result);
}

static int tangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  CPWork work           = self;
  sunrealtype *vd       = N_VGetArrayPointer(v);
  const sunrealtype *rd = r ? N_VGetArrayPointer(r) : NULL;
  if (work->norms_apart && cpNormsTangent(work, y, ewt, v, 0)) return CP_SUCCESS;
  int flag = cpNewtonPrepare(&work->newton, t, y, ewt);
  if (flag) return flag;
  cpMatTimes(&work->g, 1.0, vd, 0.0, work->room.r);
  for (int i = 0; rd && i < work->P->mc; i++) work->room.r[i] += rd[i];
  flag = cpRowsLift(&work->newton, work->room.r, work->room.x);
  for (int j = 0; !flag && j < work->P->n; j++) vd[j] -= work->room.x[j];
  return flag;
}

static int cotangent(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  CPWork work     = self;
  sunrealtype *wd = N_VGetArrayPointer(w);
  if (work->norms_apart && cpNormsTangent(work, y, ewt, w, 1)) return CP_SUCCESS;
  int flag = cpNewtonPrepare(&work->newton, t, y, ewt);
  if (!flag) flag = cpRightInverseTransposed(work, wd, work->room.r);     /* mu = K' w */
  if (!flag) cpMatTransposedTimes(&work->g, -1.0, work->room.r, 1.0, wd); /* w  - G' mu */
  return flag;
}

/* With levels, K makes velocities consistent with displaced positions. The signs are those of a step of the
 * power iteration towards the roundoff that K enlarges most. */
static int roundoff(void *self, sunrealtype t, N_Vector y, N_Vector ewt, double *norm) {
  CPWork work     = self;
  int flag        = cpNewtonPrepare(&work->newton, t, y, ewt);
  const double *w = N_VGetArrayPointer(ewt);
  if (flag) return flag;
  cpRowsRoundoff(&work->newton, y, NULL, work->room.r);
  flag = cpRowsLift(&work->newton, work->room.r, work->room.x);
  if (!flag) flag = cpRightInverseTransposed(work, work->room.x, work->rows.a);
  cpRowsRoundoff(&work->newton, y, work->rows.a, work->room.r);
  if (!flag) flag = cpRowsLift(&work->newton, work->room.r, work->room.x);
  for (int j = 0; !flag && j < work->P->n; j++) *norm += pow(work->room.x[j] * w[j], 2);
  *norm = sqrt(*norm / work->P->n);
  return flag;
}

/* If the factors are valid, they and G belong to (t, y). */
static int probe(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPWork work = self;
  int flag    = work->newton.valid ? CP_SUCCESS : cpWeights(work, y, ewt);
  if (!flag && !work->newton.valid) flag = cpJacobianAt(work, t, y);
  cpNewtonForget(&work->newton);
  return flag ? flag : cpJacobianWrong(work, t, y, "");
}

static int check(void *self, sunrealtype t, N_Vector y, N_Vector ewt, double *err, int *row,
                 int *col) {
  const int flag = cpWeights(self, y, ewt);
  return flag ? flag : cpJacobianError(self, t, y, err, row, col);
}

const CPProjectorKind cpMatrixKind = {.takes  = CP_TAKES_SOLVER | CP_TAKES_ROWS | CP_TAKES_MATRICES,
                                      .create = create,
                                      .free   = freeWork,
                                      .update = update,
                                      .project   = project,
                                      .violation = violation,
                                      .tangent   = tangent,
                                      .cotangent = cotangent,
                                      .roundoff  = roundoff,
                                      .probe     = probe,
                                      .check     = check};
