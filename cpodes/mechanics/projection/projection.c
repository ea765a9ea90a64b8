/* The projector of a mechanical system: positions, then velocities, then the error estimate, each
 * in the space of velocities (space.h).
 *
 *   state     q <- q + N w, normalised, p(t, q) = 0;  then u <- u + x, v(t, q, u) = 0
 *   vectors   e_q <- N P N^+ e_q,   e_u <- P e_u - K (dv/dq) e_q'
 *
 * with P = I - K A, K = D A^T (A D A^T)^+ of each level, e_q' the projected e_q; a vector (e_q,
 * e_u) is then tangential to {p = 0, v = 0}. z is left alone. Coordinates and velocities of FULL
 * motions take their prescribed values, their errors are 0. */
#include "projection.h"

#include <stdio.h>
#include <string.h>

/* ---- the state ---- */

typedef struct {
  int only_if_needed, moved;
  CPProjected result;
} Projection;

static int projectLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  Projection *p = arg;
  CPProjected projected;
  cpMechLevelMeasure(inner, x, ewt);
  const int flag = cpProject(inner, t, x, ewt, p->only_if_needed, &projected);
  p->moved |= projected.moved;
  return flag;
}

static int assembleLevel(CPWork inner, sunrealtype t, N_Vector x, N_Vector ewt, void *arg) {
  Projection *p       = arg;
  p->moved            = 1;
  inner->newton.valid = 0;
  return cpAssemble(inner, t, x, ewt);
}

/* The newest projection's figures, of the level that is farther off. */
static void noteViolation(CPWork work, int which, CPProjected *result) {
  const CPMech mech  = work->P->model;
  const CPWork inner = cpMechLevelWork(work, which);
  const int first    = which == CP_VELOCITIES ? mech->space->level[0].nrows : 0;
  if (which == CP_POSITIONS || inner->newest.violation > result->violation)
    result->violation = inner->newest.violation;
  if (which == CP_POSITIONS || result->worst_start < 0)
    result->worst_start = first + inner->newest.worst_start;
}

/* work->v, which has y, to the manifold. */
static int move(CPWork work, sunrealtype t, N_Vector ewt, CPMechLevelFn call, Projection *p) {
  const CPMech mech = work->P->model;
  sunrealtype *y = N_VGetArrayPointer(work->v), *u = y + mech->nq;
  double *x = N_VGetArrayPointer(cpMechOwn(work)->x);
  double residual;
  int flag = mech->nprescribed > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  cpMechMotionsViolation(mech, y, ewt ? N_VGetArrayPointer(ewt) : NULL, &p->result.worst_start,
                         &residual);
  p->moved |= cpMechPutFull(mech, y, u);
  flag = cpMechNormalise(mech, t, y);
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  if (cpMechLevelIsOn(work, CP_POSITIONS)) {
    memcpy(cpMechOwn(work)->q, y, (size_t)mech->nq * sizeof(double));
    cpMechSpaceStart(mech, y, x);
    flag = cpMechLevelCall(work, CP_POSITIONS, t, cpMechOwn(work)->q, call, ewt, p);
    if (!flag && cpMechSpacePositions(mech, x))
      flag = cpReason(work->text, -CP_QUATERNION_ZERO, "%s", mech->text);
    if (flag) return flag;
    memcpy(y, mech->space->q, (size_t)mech->nq * sizeof(double));
    noteViolation(work, CP_POSITIONS, &p->result);
  }
  if (!cpMechLevelIsOn(work, CP_VELOCITIES)) return CP_SUCCESS;
  memcpy(x, u, (size_t)mech->nu * sizeof(double));
  flag = cpMechLevelCall(work, CP_VELOCITIES, t, y, call, ewt, p);
  if (flag) return flag;
  memcpy(u, x, (size_t)mech->nu * sizeof(double));
  noteViolation(work, CP_VELOCITIES, &p->result);
  return CP_SUCCESS;
}

static int project(void *self, sunrealtype t, N_Vector y, N_Vector ewt, int only_if_needed,
                   CPProjected *result) {
  CPWork work  = self;
  Projection p = {.only_if_needed = only_if_needed, .result = {.worst_start = -1}};
  int flag     = cpMechProjectionUpdate(work);
  if (flag) return flag;
  cpCopy(work->v, y);
  flag = move(work, t, ewt, projectLevel, &p);
  if (flag) return flag;
  *result       = p.result;
  result->moved = p.moved || !only_if_needed;
  if (result->moved) cpCopy(y, work->v);
  else CP_COUNT(work, nskipped);
  return CP_SUCCESS;
}

static int assemble(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPWork work  = self;
  Projection p = {0};
  int flag     = cpMechProjectionUpdate(work);
  if (!flag) {
    cpCopy(work->v, y);
    flag = move(work, t, ewt, assembleLevel, &p);
  }
  if (!flag) cpCopy(y, work->v);
  return flag;
}

/* ---- creation ---- */

/* Positions, then velocities, then FULL motions, then norms: names for messages. */
static const char *rowName(void *model, int i, char name[]) {
  const CPMech mech = model;
  char inner[CP_MECH_ROW_NAME];
  if (i < 0 || !mech->space) {
    snprintf(name, CP_ROW_NAME, "the norm of a quaternion");
    return name;
  }
  if (i >= cpMechNormRow(mech, 0)) {
    const int norm     = i - cpMechNormRow(mech, 0);
    const CPUnitNorm n = cpMechNorm(mech, norm);
    snprintf(name, CP_ROW_NAME, "the norm of %s %d to %d",
             norm < mech->nquaternions ? "the quaternion" : "coordinates", n.first,
             n.first + n.length - 1);
    return name;
  }
  const int np = mech->space->level[0].nrows, k = i - cpMechMotionRow(mech, 0);
  if (k >= 0 && k < mech->nprescribed) {
    snprintf(name, CP_ROW_NAME, "the prescribed motion of coordinate %d", mech->prescribed[k].i);
    return name;
  }
  const int which = i >= np, row = mech->space->level[which].row[i - which * np];
  snprintf(name, CP_ROW_NAME, "%s %.50s", which ? "velocity" : "position",
           cpMechRowName(mech, row, inner));
  return name;
}

static const CPProjectorKind kind = {.project     = project,
                                     .tangent     = cpMechTangent,
                                     .error       = cpMechError,
                                     .cotangent   = cpMechCotangent,
                                     .violation   = cpMechViolation,
                                     .assemble    = assemble,
                                     .probe       = cpMechProbe,
                                     .free        = cpMechFreeOwn,
                                     .iterations  = cpMechIterations,
                                     .name_row    = rowName,
                                     .rows_vector = cpMechRowsVector,
                                     .rows_at     = cpMechRowsAt};

int cpMechProjectorCreate(CPMech mech) {
  mech->P = cpProjectorCreateKind(&kind, mech, mech->y_tmpl, mech->ctx);
  return mech->P ? CP_SUCCESS : CP_MEM_FAIL;
}
