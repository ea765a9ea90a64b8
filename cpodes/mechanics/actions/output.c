/* Quantities of one state. */
#include "actions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Workspace of one evaluation. */
typedef struct {
  double *memory;
  double *a, *force, *Mu; /* [nu] */
  double *lambda, *rows;  /* [m] */
  double *b;              /* [m] */
} Room;

static int makeRoom(const CPMech mech, Room *room) {
  const size_t nu = (size_t)mech->nu, m = (size_t)mech->m;
  *room        = (Room){.memory = calloc(3 * nu + 3 * m, sizeof *room->memory)};
  room->a      = room->memory;
  room->force  = room->a + nu;
  room->Mu     = room->force + nu;
  room->lambda = room->Mu + nu;
  room->rows   = room->lambda + m;
  room->b      = room->rows + m;
  return room->memory ? CP_SUCCESS : CP_MEM_FAIL;
}

/* ---- residuals ---- */

/* Largest |r_i| of the active rows; mask NULL: all exist. */
static double largest(const CPMech mech, const double *r, const char *mask) {
  double size = 0.0;
  for (int i = 0; i < mech->m; i++)
    if (!mech->off[i] && (!mask || mask[i])) size = fmax(size, fabs(r[i]));
  return size;
}

static double largestNormError(const CPMech mech, const sunrealtype *q) {
  double size = 0.0;
  for (int k = 0; k < cpMechNumNorms(mech); k++) {
    const CPUnitNorm n = cpMechNorm(mech, k);
    size = fmax(size, fabs(sqrt(cpDot(q + n.first, q + n.first, n.length)) - n.value));
  }
  return size;
}

/* b asks for v or b, which codes with operators need not have. */
static int hasB(const CPMech mech) {
  return !mech->operators || mech->model.b || mech->na == mech->nv;
}

static int residuals(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  int flag = cpMechPositions(mech, s->t, s->q, room->rows);
  if (flag) return flag;
  out->position = largest(mech, room->rows, mech->at_position);
  flag          = cpMechVelocities(mech, s->t, s->q, s->u, room->rows);
  if (flag) return flag;
  out->velocity     = largest(mech, room->rows, mech->at_velocity);
  out->norms        = largestNormError(mech, s->q);
  out->acceleration = NAN;
  if (!hasB(mech)) return CP_SUCCESS;
  flag = cpMechB(mech, s->t, s->q, s->u, room->b);
  if (!flag) flag = cpMechATimes(mech, s->t, s->q, room->a, room->rows);
  for (int i = 0; !flag && i < mech->m; i++) room->rows[i] -= room->b[i];
  if (!flag) out->acceleration = largest(mech, room->rows, NULL);
  return flag;
}

/* ---- forces and energy ---- */

static int massTimes(CPMech mech, const CPMechState *s, double *y) {
  if (!mech->operators) {
    const int flag = cpMechMass(mech, s->t, s->q);
    if (!flag) cpMatTimes(&mech->userM.A, 1.0, s->u, 0.0, y);
    return flag;
  }
  return cpMechOperator(mech, mech->model.Mu, "Mu", s->t, s->q, s->u, y, mech->nu);
}

/* FULL motions have no multiplier: the force that drives u_j is in row j of M a - f. Scratch: Mu. */
static int addDrives(CPMech mech, const CPMechState *s, Room *room) {
  if (mech->nfull == 0) return CP_SUCCESS;
  int flag = cpMechForces(mech, s, room->Mu);
  if (!flag) flag = cpMechAddLambdaForces(mech, s, room->lambda, room->Mu);
  for (int j = 0; !flag && j < mech->nu; j++) room->Mu[j] = -room->Mu[j];
  if (!flag) flag = cpMechMass(mech, s->t, s->q);
  if (!flag) cpMatTimes(&mech->userM.A, 1.0, room->a, 1.0, room->Mu);
  for (int j = 0; !flag && j < mech->nu; j++)
    if (mech->is_full[j]) room->force[j] = room->Mu[j];
  return flag;
}

static int forces(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  int flag = cpMechATransposedTimes(mech, s->t, s->q, room->lambda, room->force);
  for (int j = 0; !flag && j < mech->nu; j++) room->force[j] = -room->force[j];
  if (!flag) flag = addDrives(mech, s, room);
  if (flag) return flag;
  out->power   = cpDot(room->force, s->u, mech->nu);
  out->kinetic = NAN;
  if (mech->operators && !mech->model.Mu) return CP_SUCCESS;
  flag = massTimes(mech, s, room->Mu);
  if (!flag) out->kinetic = 0.5 * cpDot(s->u, room->Mu, mech->nu);
  return flag;
}

/* ---- evaluation ---- */

static int evaluate(CPMech mech, sunrealtype t, const sunrealtype *y, Room *room, CPMechOutput *out) {
  CPMechState s;
  int flag = cpMechRead(mech, t, y, &s);
  if (!flag) flag = cpMechSolve(mech, &s, room->a, room->lambda);
  if (!flag) flag = residuals(mech, &s, room, out);
  if (!flag) flag = forces(mech, &s, room, out);
  out->rank   = mech->operators ? -1 : mech->kkt->rank;
  out->unique = mech->operators || mech->kkt->dependent < 0;
  return flag;
}

static void copyIfWanted(sunrealtype *to, const double *from, int length) {
  if (to) memcpy(to, from, (size_t)length * sizeof *to);
}

int cpMechEvaluateAt(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out) {
  Room room;
  CPMechOutput values = *out;
  int flag            = makeRoom(mech, &room);
  if (flag) cpReason(mech->text, flag, "out of memory");
  else flag = evaluate(mech, t, N_VGetArrayPointer(y), &room, &values);
  if (!flag) {
    *out = values;
    copyIfWanted(out->udot, room.a, mech->nu);
    copyIfWanted(out->lambda, room.lambda, mech->m);
    copyIfWanted(out->reaction, room.force, mech->nu);
    values.udot = values.lambda = values.reaction = NULL;
    mech->stats.last                              = values;
  }
  free(room.memory);
  return flag;
}

int CPMechEvaluate(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out) {
  int flag = cpMechCheckState(mech, y, __func__);
  if (flag) return flag;
  if (!out) return cpReport(&mech->log, CP_ILL_INPUT, __func__, "out must not be NULL");
  return cpMechReport(mech, cpMechEvaluateAt(mech, t, y, out), __func__);
}
