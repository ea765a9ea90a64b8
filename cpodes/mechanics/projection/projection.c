/* The projector of a mechanical system projects positions, then velocities, each in the space of
 * velocities (projection.h):
 *
 *   q <- q + N w, normalised, p(t, q) = 0;  then u <- u + x, v(t, q, u) = 0
 *
 * z does not change. Coordinates and velocities of FULL motions take their prescribed values. */
#include "projection.h"
#include "cpodes/mechanics/kinematics.h"
#include "cpodes/mechanics/motions.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

/* Rows are numbered in the order positions, velocities, motions (only FULL ones are used),
 * norms. */
static int firstMotion(const CPMech mech) {
  return mech->model->rows.count[CP_POSITIONS] + mech->model->rows.count[CP_VELOCITIES];
}
static int firstNorm(const CPMech mech) { return firstMotion(mech) + mech->motions->count; }

const char *cpMechNameRow(void *model, int i, char name[CP_ROW_NAME]) {
  const CPMech mech = model;
  char inner[CP_MECH_ROW_NAME];
  int row = 0;
  if (i < 0 || !mech->ready) {
    snprintf(name, CP_ROW_NAME, "the norm of a quaternion");
  } else if (i >= firstNorm(mech)) {
    const int k        = i - firstNorm(mech);
    const CPUnitNorm n = cpMechNorm(mech, k);
    snprintf(name, CP_ROW_NAME, "the norm of %s %d to %d",
             k < mech->coords->nquaternions ? "the quaternion" : "coordinates", n.first,
             n.first + n.length - 1);
  } else if (i >= firstMotion(mech)) {
    snprintf(name, CP_ROW_NAME, "the prescribed motion of coordinate %d",
             mech->motions->list[i - firstMotion(mech)].i);
  } else {
    const int which = i >= mech->model->rows.count[CP_POSITIONS];
    while (mech->model->rows.number[which][row] != i) row++;
    const char *before = !mech->eq->row_name || row >= mech->na ? which ? "velocity " : "position "
                         : which                                ? "the rate of "
                                                                : "";
    snprintf(name, CP_ROW_NAME, "%s%s", before, cpMechRowName(mech, row, inner));
  }
  return name;
}

/* ---- constraints without rows of A ---- */

/* The tolerance of component k, whose value is x. */
static double toleranceOf(const sunrealtype *ewt, int k, double x) {
  return ewt ? 1.0 / ewt[k] : CP_BLIND_TOLERANCE * (1.0 + fabs(x));
}

static void noteLarger(CPViolation *v, double norm, int worst, double residual) {
  if (norm > v->norm) *v = (CPViolation){norm, worst, residual};
}

/* Finds the distance of FULL coordinates and velocities from their prescribed values. */
static void violationOfMotions(const CPMech mech, const sunrealtype *y, const sunrealtype *ewt,
                               CPViolation *v) {
  for (int k = 0; k < mech->motions->count; k++) {
    const CPPrescribed *g  = &mech->motions->list[k];
    const CPMotionValue *m = &mech->motion[k];
    if (g->how != CP_MOTION_FULL) continue;
    const double q = y[g->i] - m->value, u = y[mech->nq + g->j] - m->rate;
    noteLarger(v, fabs(q) / toleranceOf(ewt, g->i, m->value), firstMotion(mech) + k, q);
    noteLarger(v, fabs(u) / toleranceOf(ewt, mech->nq + g->j, m->rate), firstMotion(mech) + k, u);
  }
}

/* Finds the distance of the norms from their values, in units of sqrt(sum (q_i t_i)^2) / |q|, where
 * t_i are the tolerances of the components. */
static void violationOfNorms(const CPMech mech, const sunrealtype *q, const sunrealtype *ewt,
                             CPViolation *v) {
  for (int k = 0; k < cpMechNumNorms(mech); k++) {
    const CPUnitNorm n = cpMechNorm(mech, k);
    double square = 0.0, unit = 0.0;
    for (int i = n.first; i < n.first + n.length; i++) {
      const double tolerance = toleranceOf(ewt, i, q[i]);
      square += q[i] * q[i];
      unit += (q[i] * tolerance) * (q[i] * tolerance);
    }
    const double norm = sqrt(square), off = norm - n.value;
    if (unit > 0.0) noteLarger(v, fabs(off) * norm / sqrt(unit), firstNorm(mech) + k, off);
  }
}

/* ---- the two problems ---- */

/* Sets problem `which` and its unknown to y: positions (x_j = q_i for pairs, else 0) or velocities.
 * Returns the iteration that solves it. */
CPNewton *cpMechPlace(CPMechProjection *own, int which, const sunrealtype *y) {
  CPMechProblem *p = &own->problem[which];
  CPNewton *newton = &p->factors->newton;
  const int nu = own->mech->nu, *pair = own->mech->coords->pair;
  double *x          = NV_DATA_S(p->x);
  p->q               = y;
  p->positions       = NULL;
  p->open            = 0.0;
  p->rates_are_known = 0;
  own->q_is_known    = 0;
  newton->self       = p;
  newton->rows       = &p->rows;
  p->rows.number     = own->mech->model->rows.number[which];
  if (which == CP_VELOCITIES) memcpy(x, y + own->mech->nq, (size_t)nu * sizeof *x);
  else
    for (int j = 0; j < nu; j++) x[j] = pair[j] >= 0 ? y[pair[j]] : 0.0;
  return newton;
}

static int isOn(const CPMechProjection *own, int which) { return own->problem[which].nactive > 0; }

/* Velocity rows that are dependent on the manifold contradict each other by the distance of the
 * positions from it, times the speed and the curvature of the rows. No angle bounds this factor, so
 * that for positions within eps there may be no consistent velocities. Positions are then projected
 * again, as accurately as conjugate gradients solve. */

/* Moves own->y to the manifold. assemble: 1 for the damped iteration, from far off */
static int move(CPMechProjection *own, sunrealtype t, N_Vector ewt, int only_if_needed,
                int assemble, CPProjected *result) {
  const CPMech mech = own->mech;
  sunrealtype *y = cpData(own->y), *u = y + mech->nq;
  CPViolation motions = {.worst = -1};
  double factor       = 1.0;
  int flag            = CP_SUCCESS;
  if (mech->motions->count > 0) {
    flag = cpMechMotions(mech, t);
    if (flag) return cpMechFailed(own, flag);
    violationOfMotions(mech, y, ewt ? N_VGetArrayPointer(ewt) : NULL, &motions);
  }
  *result = (CPProjected){.moved = mech->motions->nfull > 0 && cpMechPutFull(mech, y, u)};
  flag    = cpMechNormalise(mech, t, y);
  if (flag) return cpMechFailed(own, flag);
  for (int which = 0; which < 2; which++) {
    CPProjected one = {0};
    CPNewton *newton;
    if (!isOn(own, which)) continue;
    newton           = cpMechPlace(own, which, y);
    CPMechProblem *p = &own->problem[which];
    if (which == CP_VELOCITIES && isOn(own, CP_POSITIONS))
      p->positions = own->problem[CP_POSITIONS].rows.c,
      p->open      = factor < 1.0 ? cpLargest(p->positions, mech->m) : 0.0;
    if (newton->valid)
      flag = cpMechMeasureRows(p, ewt); /* The other problem may have made these factors. */
    if (flag) return flag;
    newton->bound_factor = which == CP_POSITIONS ? factor : 1.0;
    if (assemble) flag = cpNewtonDamped(newton, t, p->x, ewt);
    else flag = cpNewtonProject(newton, t, p->x, ewt, only_if_needed && factor == 1.0, &one);
    newton->bound_factor = 1.0;
    if (which == CP_VELOCITIES && flag == -CP_PROJ_INCONSISTENT && factor == 1.0 &&
        isOn(own, CP_POSITIONS)) {
      factor = CP_CG_RTOL_OF_STATE;
      which  = -1; /* again, from the present positions */
      continue;
    }
    if (!flag && which == CP_POSITIONS)
      flag = cpMechFailed(own, cpMechPositionsOf(p, t, NV_DATA_S(p->x)));
    if (flag) return flag;
    if (which == CP_POSITIONS) memcpy(y, own->q, (size_t)mech->nq * sizeof *y);
    else memcpy(u, NV_DATA_S(p->x), (size_t)mech->nu * sizeof *u);
    result->moved |= one.moved;
    if (one.violation > result->violation) result->violation = one.violation;
  }
  return CP_SUCCESS;
}

static int update(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPMechProjection *own = self;
  (void)t, (void)y, (void)ewt;
  if (own->mech->log.running)
    return cpReason(cpWorkText(own->work), CP_REENTERED,
                    "a function of the system's must not project by it");
  return cpMechFactorsUpdate(own);
}

static int project(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result) {
  CPMechProjection *own = self;
  cpCopy(own->y, y);
  const int flag = move(own, t, ewt, only_if_needed, 0, result);
  if (flag) return flag;
  result->moved |= !only_if_needed;
  if (result->moved) cpCopy(y, own->y);
  else CP_COUNT(own->work, nskipped);
  return CP_SUCCESS;
}

static int assemble(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPMechProjection *own = self;
  CPProjected result;
  cpCopy(own->y, y);
  for (int k = 0; k < 2; k++) cpNewtonForget(&own->factors[k].newton);
  const int flag = move(own, t, ewt, 0, 1, &result);
  if (!flag) cpCopy(y, own->y);
  return flag;
}

static int violation(void *self, sunrealtype t, N_Vector yv, N_Vector ewt, CPViolation *v) {
  CPMechProjection *own = self;
  const CPMech mech     = own->mech;
  const sunrealtype *y = N_VGetArrayPointer(yv), *w = ewt ? N_VGetArrayPointer(ewt) : NULL;
  int flag = CP_SUCCESS;
  if (mech->motions->nfull > 0) flag = cpMechMotions(mech, t);
  if (flag) return cpMechFailed(own, flag);
  *v = (CPViolation){.worst = -1};
  violationOfNorms(mech, y, w, v);
  violationOfMotions(mech, y, w, v);
  for (int which = 0; !flag && which < 2; which++) {
    CPViolation one;
    if (!isOn(own, which)) continue;
    flag = cpNewtonViolation(cpMechPlace(own, which, y), t, own->problem[which].x, ewt, &one);
    if (!flag) noteLarger(v, one.norm, one.worst, one.residual);
  }
  return flag;
}

/* Checks that A is the derivative of p and v. */
static int probe(void *self, sunrealtype t, N_Vector yv, N_Vector ewt) {
  CPMechProjection *own = self;
  const sunrealtype *y  = N_VGetArrayPointer(yv);
  int flag              = CP_SUCCESS;
  for (int which = 0; !flag && which < 2; which++) {
    CPMechProblem *p = &own->problem[which];
    if (!isOn(own, which)) continue;
    cpMechPlace(own, which, y);
    flag = cpMechWeights(p, ewt ? N_VGetArrayPointer(ewt) : NULL, p->rows.w);
    if (!flag) flag = cpMechCompareDerivative(p, t, p->x, "");
    cpNewtonForget(&p->factors->newton);
  }
  return flag;
}

/* ---- life cycle ---- */

static void *create(void *mech, CPWork work) {
  CPMechProjection *own = calloc(1, sizeof *own);
  if (own) *own = (CPMechProjection){.mech = mech, .work = work, .layout = -1, .contents = -1};
  return own;
}

static void freeProjection(void *self) {
  CPMechProjection *own = self;
  if (!own) return;
  cpMechProjectionClear(own);
  free(own);
}

static const CPProjectorKind kind = {.takes     = CP_TAKES_SOLVER,
                                     .refusal   = "P is the projector of a mechanical system: its "
                                                  "constraints and metric are options of that",
                                     .create    = create,
                                     .free      = freeProjection,
                                     .update    = update,
                                     .project   = project,
                                     .tangent   = cpMechTangent,
                                     .error     = cpMechError,
                                     .cotangent = cpMechCotangent,
                                     .violation = violation,
                                     .assemble  = assemble,
                                     .roundoff  = cpMechRoundoff,
                                     .probe     = probe,
                                     .rows_vector    = cpMechRowsVector,
                                     .rows_at        = cpMechRowsAt,
                                     .name_row       = cpMechNameRow,
                                     .spares_vectors = 1};

int cpMechProjectorCreate(CPMech mech) {
  mech->P = cpProjectorCreateKind(&kind, mech, NULL, mech->y_tmpl, NULL, mech->ctx);
  return mech->P ? CP_SUCCESS : CP_MEM_FAIL;
}

/* ---- initial states ---- */

/* held_j <- 1 if x_j would move a component that id holds. */
static int fixComponents(CPMechProblem *p, const sunrealtype *y, const sunrealtype *id) {
  const CPMech mech = p->own->mech;
  double *column    = p->own->d;
  int flag          = CP_SUCCESS;
  for (int j = 0; j < mech->nu; j++) {
    const int i = p->which == CP_VELOCITIES ? mech->nq + j : mech->coords->pair[j];
    if (i >= 0 && id[i] == 0.0) p->fixed[j] = 1;
  }
  if (p->which == CP_VELOCITIES) return CP_SUCCESS;
  for (int k = 0; k < mech->coords->nquaternions; k++) {
    const CPMechQuaternion *Q = &mech->coords->quaternions[k];
    for (int i = 0; i < 4; i++)
      if (id[Q->first_q + i] == 0.0) memset(p->fixed + Q->first_u, 1, 3);
  }
  for (int j = 0; mech->eq->N && !flag && j < mech->nu; j++) {
    flag = cpMechColumn(mech, y, j, column);
    for (int i = 0; !flag && i < mech->nq; i++)
      if (column[i] != 0.0 && id[i] == 0.0) p->fixed[j] = 1;
  }
  return cpMechFailed(p->own, flag);
}

int cpMechAssemble(CPMech mech, sunrealtype t, N_Vector y, N_Vector ewt, const sunrealtype *id) {
  CPWork work;
  if (cpWorkCreate(&work, mech->P)) return cpReason(mech->text, CP_MEM_FAIL, "no memory");
  CPMechProjection *own = cpWorkSelf(work);
  own->initial          = 1;
  int flag              = cpMechFactorsUpdate(own);
  for (int which = 0; !flag && id && which < 2; which++)
    flag = fixComponents(&own->problem[which], N_VGetArrayPointer(y), id);
  if (!flag) flag = cpAssemble(work, t, y, ewt);
  if (flag) cpReason(mech->text, flag, "%s", cpWorkText(work));
  cpWorkFree(&work);
  return flag;
}
