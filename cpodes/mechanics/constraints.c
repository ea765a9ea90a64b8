/* The constraints: p, and A, the velocity constraints v and the right-hand side b of the acceleration
 * constraints, which are formed by differences if the user does not give them:
 *
 *   A e_j = v(t, q, e_j) - v(t, q, 0), or without v  d/de p(t, q + e N e_j) at e = 0,
 *   v = A u + dp/dt,       b = -d/de v(t + e, q + e N u, u) at e = 0
 *
 * With neither A nor v, derivatives of p along the motion do not need the n columns of A:
 *
 *   v = d/de p(t, q + e N u) + dp/dt,    b = -d^2/de^2 p(t + e, q + e q' + e^2/2 q'') at e = 0,
 *
 * where q' = N(q) u and q'' = d/de N(q + e q') u at e = 0.
 *
 * The derivative of v along the motion with u held is dv/dt + (dv/dq) N u, and A u' = b makes the
 * total derivative of v zero. Differences are those of differences.c. */
#include "constraints.h"
#include "cpodes/base/random.h"
#include "differences.h"
#include "kinematics.h"
#include "motions.h"

#include <math.h>
#include <string.h>

/* ---- workspace ---- */

/* Is p all that is known of the constraints? */
static int isPositionsOnly(const CPMech mech) {
  return !mech->eq->A && !mech->eq->v && !cpMechMultiplies(mech);
}

static void createGroups(CPMech mech, CPMechFunctionRoom *room, CPArena *arena) {
  CP_ARRAYS(arena, mech->nu, &room->direction);
}

static void createColumns(CPMech mech, CPMechFunctionRoom *room, CPArena *arena) {
  CPMechDifferences *dA = &room->dA;
  CP_ARRAYS(arena, mech->nq, &room->q_near, &room->column);
  CP_ARRAYS(arena, mech->nu, &room->rest, &room->one);
  CP_ARRAYS(arena, mech->m, &dA->plus, &dA->minus, &dA->fourth, &dA->sixth);
}

static void createMotion(CPMech mech, CPMechFunctionRoom *room, CPArena *arena) {
  CPMechDifferences *dv = &room->dv, *dN = &room->dN;
  CP_ARRAYS(arena, mech->nq, &room->q_moved, &room->qdot);
  CP_ARRAYS(arena, mech->nu, &room->reach);
  CP_ARRAYS(arena, mech->m, &dv->plus, &dv->minus, &dv->fourth, &dv->sixth, &dv->centre);
  if (!isPositionsOnly(mech)) return; /* only curvatures of p need q'' */
  CP_ARRAYS(arena, mech->nq, &dN->plus, &dN->minus, &dN->fourth, &dN->sixth);
}

static void createRates(CPMech mech, CPMechFunctionRoom *room, CPArena *arena) {
  CPMechDifferences *dp = &room->dp;
  CP_ARRAYS(arena, mech->m, &dp->plus, &dp->minus, &dp->fourth, &dp->sixth);
}

CP_RARE int cpMechCreateRoom(CPMech mech, CPMechRoom which) {
  static void (*const creators[])(CPMech, CPMechFunctionRoom *,
                                  CPArena *) = {[CP_ROOM_OF_COLUMNS] = createColumns,
                                                [CP_ROOM_OF_MOTION]  = createMotion,
                                                [CP_ROOM_OF_RATES]   = createRates,
                                                [CP_ROOM_OF_GROUPS]  = createGroups};
  CPArena *arena                             = &mech->room.memory[which];
  creators[which](mech, &mech->room, arena);
  if (!cpArenaStatus(arena)) return CP_SUCCESS;
  cpArenaFree(arena); /* Memory may be found the next time. */
  return cpReason(mech->text, CP_MEM_FAIL, "no memory for differences");
}

void cpMechForgetReach(CPMech mech) {
  mech->room.grouped = 0;
  if (mech->room.memory[CP_ROOM_OF_MOTION].newest)
    memset(mech->room.reach, 0, (size_t)mech->nu * sizeof *mech->room.reach);
}

/* ---- p ---- */

/* Evaluates p of the model only. Rows of motions are zero, because motions must be evaluated at the
 * time of the state only. */
static int modelPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p) {
  memset(p, 0, (size_t)mech->m * sizeof *p);
  if (mech->np == 0) return CP_SUCCESS;
  mech->stats.np++;
  const int flag = cpMechCall(mech, p, t, q, p);
  return cpMechChecked(mech, flag, t, "p", p, mech->np);
}

/* Each motion with a row has v = u_j - g', b = g'', and DIRECT also has p = q_i - g. */
int cpMechPositions(CPMech mech, sunrealtype t, const sunrealtype *q, double *p) {
  cpMechSkipRows(mech, 1);
  int flag = modelPositions(mech, t, q, p);
  cpMechSkipRows(mech, 0);
  if (!flag && mech->motions->count > 0) flag = cpMechMotions(mech, t);
  for (int k = 0; !flag && k < mech->motions->count; k++) {
    const CPPrescribed *g = &mech->motions->list[k];
    if (g->how == CP_MOTION_DIRECT) p[g->row] = q[g->i] - mech->motion[k].value;
  }
  return flag;
}

/* ---- A ---- */

/* If p does not change to the last bit in this part of the time, or of the reach of a coordinate, it does not
 * depend on that. The part is in no simple ratio to anything: p is the same at times before and after an
 * extremum, which may lie symmetrically on a grid of steps or outputs. */
#define CHANGE_PART 0.0150975533

/* p at q + e N d, where room.column is N d: d is e_j, or a direction */
static int alongColumn(CPMech mech, const CPMechState *s, double e, double *p) {
  double *q = mech->room.q_near;
  for (int i = 0; i < mech->nq; i++) q[i] = s->q[i] + e * mech->room.column[i];
  return modelPositions(mech, s->t, q, p);
}

/* column [na] <- d/de p(t, q + e N e_j) at e = 0; column must be zero before. At the first evaluation of a run the
 * first step is a part of the e for which positions change by their own size, or by 1 if that is larger: it may
 * have to shrink, if positions are angles of many turns. Later it is the one that was then good. */
static int columnOfPositions(CPMech mech, const CPMechState *s, int j, double *column) {
  const double size = cpLargest(s->q, mech->nq);
  int flag          = cpMechColumn(mech, s->q, j, mech->room.column);
  if (flag) return flag;
  const double speed   = cpLargest(mech->room.column, mech->nq);
  double *reach        = &mech->room.reach[j];
  CPMechDifferences *d = &mech->room.dA;
  if (speed == 0.0) return CP_SUCCESS;
  const double first = (*reach > 0.0 ? *reach : fmax(1.0, size)) / speed;
  flag = cpMechDifferentiate(mech, s, alongColumn, mech->np, size, first, CP_FIRST, d);
  if (flag) return flag;
  if (*reach == 0.0) *reach = d->time * speed;
  memcpy(column, d->sixth, (size_t)mech->np * sizeof *column);
  return CP_SUCCESS;
}

/* ---- A from p by groups of columns ----
 *
 * Most positions depend on few coordinates, and many are quadratic in them. Columns that share no row are found together, as one
 * derivative, and if p has been quadratic along all columns, from its values at both sides alone. The derivative in a random
 * direction r, which is computed with all care, then has to be A r. If it is not, all columns are computed again, each by itself. */

/* Is row i among those of the entries from first to n? */
static int hasRow(const CPMat *A, size_t first, size_t n, int i) {
  for (size_t k = first; k < n; k++)
    if (A->row[k] == i) return 1;
  return 0;
}

/* A pattern of the positions that change, to the last bit, with each coordinate, and groups of its columns. */
static int findGroups(CPMech mech, const CPMechState *s) {
  CPMechFunctionRoom *room = &mech->room;
  CPArena *arena           = &room->memory[CP_ROOM_OF_GROUPS];
  double *here = room->dA.fourth, *there = room->dA.plus;
  CPMat *depends = &room->depends;
  cpArenaFree(arena);
  int flag = cpMechCreateRoom(mech, CP_ROOM_OF_GROUPS);
  if (!flag && cpMatCreateSparse(depends, mech->np, mech->nu, (size_t)mech->np * (size_t)mech->nu))
    flag = CP_MEM_FAIL;
  if (!flag) flag = cpMatOwn(arena, depends);
  if (flag) return cpReason(mech->text, CP_MEM_FAIL, "no memory for differences");
  flag     = modelPositions(mech, s->t, s->q, here);
  size_t n = 0;
  for (int j = 0; !flag && j < mech->nu; j++) {
    flag               = cpMechColumn(mech, s->q, j, room->column);
    const double speed = cpLargest(room->column, mech->nq),
                 e     = speed > 0.0 ? CHANGE_PART * room->reach[j] / speed : 0.0;
    const size_t first = n;
    for (int side = -1; !flag && e > 0.0 && side <= 1; side += 2) {
      flag = alongColumn(mech, s, side * e, there);
      for (int i = 0; i < mech->np; i++)
        if (there[i] != here[i] && !hasRow(depends, first, n, i)) depends->row[n++] = i;
    }
    depends->start[j + 1] = n;
  }
  if (!flag && cpColoringCreate(arena, &room->groups, depends))
    flag = cpReason(mech->text, CP_MEM_FAIL, "no memory for differences");
  /* columns take four calls or six, groups two, four or six, and the direction as many as a column */
  const int each = room->quadratic ? 4 : 6, group = room->quadratic ? 2 : 6;
  if (!flag) room->grouped = group * room->groups.ngroups + each < each * mech->nu ? 1 : -1;
  return flag;
}

/* room.column <- N direction, and the derivative of p along it */
static int alongDirection(CPMech mech, const CPMechState *s, CPMechDerivative which) {
  CPMechFunctionRoom *room = &mech->room;
  double reach             = INFINITY;
  int flag                 = cpMechKinematics(mech, s->q, CP_N, room->direction, room->column);
  if (flag) return flag;
  const double speed = cpLargest(room->column, mech->nq);
  for (int j = 0; j < mech->nu; j++)
    if (room->direction[j] != 0.0 && room->reach[j] > 0.0) reach = fmin(reach, room->reach[j]);
  if (speed == 0.0 || isinf(reach)) {
    memset(room->dA.sixth, 0, (size_t)mech->np * sizeof *room->dA.sixth);
    return CP_SUCCESS;
  }
  return cpMechDifferentiate(mech, s, alongColumn, mech->np, cpLargest(s->q, mech->nq),
                             reach / speed, which, &room->dA);
}

/* userA.A by groups. right: out, the derivative in a random direction agrees */
static int groupsOfPositions(CPMech mech, const CPMechState *s, int *right) {
  CPMechFunctionRoom *room = &mech->room;
  const CPColoring *groups = &room->groups;
  const CPMat *depends     = &room->depends;
  CPMat *A                 = &mech->userA.A;
  unsigned state           = 1;
  int flag                 = CP_SUCCESS;
  cpMatZero(A);
  for (int g = 0; !flag && g < groups->ngroups; g++) {
    memset(room->direction, 0, (size_t)mech->nu * sizeof *room->direction);
    for (int k = groups->start[g]; k < groups->start[g + 1]; k++)
      room->direction[groups->col[k]] = 1.0;
    flag = alongDirection(mech, s, room->quadratic ? CP_LINEAR : CP_FIRST);
    for (int k = groups->start[g]; !flag && k < groups->start[g + 1]; k++) {
      const int j = groups->col[k];
      for (size_t l = depends->start[j]; l < depends->start[j + 1]; l++)
        *cpMatAt(A, depends->row[l], j) = room->dA.sixth[depends->row[l]];
    }
  }
  for (int j = 0; j < mech->nu; j++) room->direction[j] = cpUniformAwayFromZero(&state);
  if (!flag) flag = alongDirection(mech, s, CP_FIRST);
  if (flag) return flag;
  const double error =
      (1 + groups->ngroups) * room->dA.noise + CP_ITERATED * cpLargest(room->dA.sixth, mech->np);
  double *Ar = room->dA.plus;
  cpMatTimes(A, 1.0, room->direction, 0.0, Ar);
  *right = 1;
  for (int i = 0; i < mech->np; i++) *right &= fabs(Ar[i] - room->dA.sixth[i]) <= error;
  return CP_SUCCESS;
}

/* userA.A from p alone */
static int differencePositions(CPMech mech, const CPMechState *s) {
  CPMechFunctionRoom *room = &mech->room;
  int right = 0, flag = cpMechNeed(mech, CP_ROOM_OF_MOTION);
  if (!flag && room->grouped == 1) flag = groupsOfPositions(mech, s, &right);
  if (flag || right) return flag;
  /* If groups are wrong, p may not be quadratic here; if it has not been before, they are given up. */
  int quadratic = room->grouped == 0;
  if (room->grouped == 1 && !room->quadratic) room->grouped = -1;
  for (int j = 0; !flag && j < mech->nu; j++) {
    double *column = cpMatAt(&mech->userA.A, 0, j);
    memset(column, 0, (size_t)mech->na * sizeof *column);
    flag = columnOfPositions(mech, s, j, column);
    quadratic &= room->dA.quadratic;
  }
  if (flag || room->grouped == -1) return flag;
  room->quadratic = quadratic;
  return findGroups(mech, s);
}

/* Forms the dense userA.A of a model without a function A: column j is v(t, q, e_j) - v(t, q, 0),
 * or a difference of p if there is no v. */
CP_RARE static int differenceA(CPMech mech, sunrealtype t, const sunrealtype *q) {
  const CPMechState s = {.t = t, .q = q};
  int flag            = cpMechNeed(mech, CP_ROOM_OF_COLUMNS);
  if (flag) return flag;
  if (!mech->eq->v) return differencePositions(mech, &s);
  double *rest = mech->room.dA.plus, *e = mech->room.one;
  memset(rest, 0, (size_t)mech->na * sizeof *rest);
  flag = cpMechChecked(mech, cpMechCall(mech, v, t, q, e, rest), t, "v", rest, mech->na);
  for (int j = 0; !flag && j < mech->nu; j++) {
    double *column = cpMatAt(&mech->userA.A, 0, j);
    memset(column, 0, (size_t)mech->na * sizeof *column);
    e[j] = 1.0;
    flag = cpMechCall(mech, v, t, q, e, column);
    e[j] = 0.0;
    for (int i = 0; i < mech->na; i++) column[i] -= rest[i];
    flag = cpMechChecked(mech, flag, t, "v", column, mech->na);
  }
  return flag;
}

/* Forms the dense userA.A by the products with A, by columns or by rows. */
CP_RARE static int productsOfA(CPMech mech, sunrealtype t, const sunrealtype *q) {
  const int nu = mech->nu, na = mech->na, by_rows = na < nu;
  int flag = cpMechNeed(mech, CP_ROOM_OF_COLUMNS);
  if (flag) return flag;
  double *e = by_rows ? mech->room.dA.plus : mech->room.one, *row = mech->room.rest;
  if (by_rows) memset(e, 0, (size_t)na * sizeof *e);
  for (int k = 0; !flag && k < (by_rows ? na : nu); k++) {
    e[k] = 1.0;
    flag = by_rows ? cpMechOperator(mech, mech->eq->ATl, "ATl", t, q, e, row, nu)
                   : cpMechOperator(mech, mech->eq->Au, "Au", t, q, e,
                                    cpMatAt(&mech->userA.A, 0, k), na);
    e[k] = 0.0;
    for (int j = 0; by_rows && j < nu; j++) *cpMatAt(&mech->userA.A, k, j) = row[j];
  }
  return flag;
}

int cpMechCallA(CPMech mech, sunrealtype t, const sunrealtype *q) {
  if (mech->na == 0) return CP_SUCCESS;
  mech->stats.nA++;
  if (cpMechMultiplies(mech)) return productsOfA(mech, t, q);
  if (!mech->eq->A) return differenceA(mech, t, q);
  cpMechSkipRows(mech, 1);
  const int flag = cpMechCall(mech, A, t, q, mech->userA.S);
  cpMechSkipRows(mech, 0);
  return flag ? cpMechResult(mech, flag, t, "A") : CP_SUCCESS;
}

void cpMechPlaceA(CPMech mech) {
  const size_t entries = mech->rows.place ? cpMatEntries(&mech->userA.A) : 0;
  for (size_t k = 0; k < entries; k++) mech->A.value[mech->rows.place[k]] = mech->userA.A.value[k];
  if (!mech->rows.place) mech->A.value = mech->userA.A.value;
}

int cpMechA(CPMech mech, sunrealtype t, const sunrealtype *q) {
  if (mech->na == 0) return CP_SUCCESS;
  cpUserMatClear(&mech->userA);
  int flag = cpMechCallA(mech, t, q);
  if (!flag) flag = cpMechTake(mech, &mech->userA, 0, t, "A");
  if (!flag) cpMechPlaceA(mech);
  return flag;
}

/* In a time shorter than CP_LOCATED times |t|, or of the time in which positions change (at most the
 * default, 1), only roundoff changes: b would be 0, or noise. */
static int checkTime(CPMech mech, double t, double own) {
  const double time = mech->eq->time, least_own = CP_LOCATED * fmin(own, 1.0),
               least = fmax(CP_LOCATED * fabs(t), least_own);
  if (time >= least) return CP_SUCCESS;
  /* If only |t| is too large, the failure is recoverable: t may belong to a step that is much too
   * long. */
  return cpReason(
      mech->text, time >= least_own ? -CP_ILL_INPUT : CP_ILL_INPUT,
      "at t = %.10g: the time of differences, %g (member time of CPEquations), is shorter "
      "than %g, in which nothing but roundoff changes",
      t, mech->eq->time, least);
}

/* ---- v ---- */

static int positionsLater(CPMech mech, const CPMechState *s, double e, double *p) {
  return modelPositions(mech, s->t + e, s->q, p);
}

/* v += dp/dt. p: p(t, q), or NULL */
static int addRates(CPMech mech, sunrealtype t, const sunrealtype *q, const double *p, double *v) {
  const CPMechState s  = {.t = t, .q = q};
  CPMechDifferences *d = &mech->room.dp;
  if (mech->np == 0) return CP_SUCCESS;
  int flag = cpMechNeed(mech, CP_ROOM_OF_RATES);
  if (!flag) flag = checkTime(mech, t, INFINITY);
  if (!flag && p) {
    flag = modelPositions(mech, t + CHANGE_PART * mech->eq->time, q, d->plus);
    if (!flag && !memcmp(d->plus, p, (size_t)mech->np * sizeof *p)) return CP_SUCCESS;
  }
  if (!flag)
    flag = cpMechDifferentiate(mech, &s, positionsLater, mech->np, cpLargest(q, mech->nq),
                               mech->eq->time, CP_FIRST, d);
  for (int i = 0; !flag && i < mech->np; i++) v[i] += d->sixth[i];
  return flag;
}

/* room.qdot <- N u, and *time, in which positions change by their own size, or by 1 if that is larger, but at most
 * the time set by the options. If only p is known, the columns of A have found how far positions may move. */
static int findPace(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                    double *time) {
  int flag = cpMechNeed(mech, CP_ROOM_OF_MOTION);
  if (!flag) flag = cpMechKinematics(mech, q, CP_N, u, mech->room.qdot);
  if (flag) return flag;
  const double speed = cpLargest(mech->room.qdot, mech->nq),
               size  = fmax(1.0, cpLargest(q, mech->nq));
  double rate        = 0.0;
  for (int j = 0; j < mech->nu; j++) {
    if (mech->room.reach[j] == 0.0) rate = fmax(rate, speed / size);
    else rate = fmax(rate, fabs(u[j]) / mech->room.reach[j]);
  }
  *time = fmin(mech->eq->time, 1.0 / rate);
  return checkTime(mech, t, size / speed);
}

static int alongVelocity(CPMech mech, const CPMechState *s, double e, double *p) {
  double *q = mech->room.q_moved;
  for (int i = 0; i < mech->nq; i++) q[i] = s->q[i] + e * mech->room.qdot[i];
  return modelPositions(mech, s->t, q, p);
}

/* v <- d/de p(t, q + e N u) */
static int velocitiesOfPositions(CPMech mech, sunrealtype t, const sunrealtype *q,
                                 const sunrealtype *u, double *v) {
  const CPMechState s  = {.t = t, .q = q, .u = u};
  CPMechDifferences *d = &mech->room.dv;
  double time;
  int flag = findPace(mech, t, q, u, &time);
  if (!flag)
    flag = cpMechDifferentiate(mech, &s, alongVelocity, mech->np, cpLargest(q, mech->nq), time,
                               CP_FIRST, d);
  for (int i = 0; !flag && i < mech->np; i++) v[i] = d->sixth[i];
  return flag;
}

/* The model's rows: its v, or A u + dp/dt. */
static int modelVelocities(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           double *v) {
  if (mech->nv == 0) return CP_SUCCESS;
  mech->stats.nv++;
  if (mech->eq->v) return cpMechChecked(mech, cpMechCall(mech, v, t, q, u, v), t, "v", v, mech->nv);
  int flag = isPositionsOnly(mech) ? velocitiesOfPositions(mech, t, q, u, v)
                                   : cpMechTimes(mech, t, q, 0, u, v);
  for (int i = mech->nv; !flag && i < mech->m; i++) v[i] = 0.0;
  return flag ? flag : addRates(mech, t, q, NULL, v);
}

/* v += u_j - g' in the rows of motions; u may be NULL. */
static int addMotions(CPMech mech, sunrealtype t, const sunrealtype *u, double *v) {
  const int flag = mech->motions->count > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
  for (int k = 0; !flag && k < mech->motions->count; k++) {
    const CPPrescribed *g = &mech->motions->list[k];
    if (g->row >= 0) v[g->row] = (u ? u[g->j] : 0.0) - mech->motion[k].rate;
  }
  return flag;
}

int cpMechVelocities(CPMech mech, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     double *v) {
  memset(v, 0, (size_t)mech->m * sizeof *v);
  cpMechSkipRows(mech, 1);
  const int flag = modelVelocities(mech, t, q, u, v);
  cpMechSkipRows(mech, 0);
  return flag ? flag : addMotions(mech, t, u, v);
}

int cpMechRates(CPMech mech, sunrealtype t, const sunrealtype *q, const double *p, double *rates) {
  memset(rates, 0, (size_t)mech->m * sizeof *rates);
  mech->stats.nv++;
  int flag = cpMechA(mech, t, q);
  if (!flag) flag = addRates(mech, t, q, p, rates);
  return flag ? flag : addMotions(mech, t, NULL, rates);
}

/* ---- b ---- */

/* v at (t + e, q + e qdot, u), without dp/dt if p does not depend on t */
static int alongMotion(CPMech mech, const CPMechState *s, double e, double *v) {
  double *q = mech->room.q_moved;
  for (int i = 0; i < mech->nq; i++) q[i] = s->q[i] + e * mech->room.qdot[i];
  memset(v, 0, (size_t)mech->m * sizeof *v);
  return mech->room.is_moving ? modelVelocities(mech, s->t + e, q, s->u, v)
                              : cpMechTimes(mech, s->t + e, q, 0, s->u, v);
}

/* b by differences of v, where room.is_moving tells once whether p depends on t. */
static int derivativeOfVelocities(CPMech mech, const CPMechState *s, double time) {
  CPMechDifferences *d = &mech->room.dv;
  mech->room.is_moving = 1;
  if (!mech->eq->v && mech->np > 0) {
    int flag = modelPositions(mech, s->t, s->q, d->plus);
    if (!flag) flag = modelPositions(mech, s->t + CHANGE_PART * time, s->q, d->minus);
    if (flag) return flag;
    mech->room.is_moving = memcmp(d->plus, d->minus, (size_t)mech->np * sizeof *d->plus) != 0;
  }
  return cpMechDifferentiate(mech, s, alongMotion, mech->nv, cpLargest(s->u, mech->nu), time,
                             CP_FIRST, d);
}

/* N(q + e q') u */
static int ratesAlong(CPMech mech, const CPMechState *s, double e, double *rates) {
  double *q = mech->room.q_moved;
  for (int i = 0; i < mech->nq; i++) q[i] = s->q[i] + e * mech->room.qdot[i];
  return cpMechKinematics(mech, q, CP_N, s->u, rates);
}

/* p at (t + e, q + e q' + e^2/2 q''), with q'' in room.dN.sixth */
static int alongPath(CPMech mech, const CPMechState *s, double e, double *p) {
  double *q = mech->room.q_moved;
  for (int i = 0; i < mech->nq; i++)
    q[i] = s->q[i] + e * (mech->room.qdot[i] + 0.5 * e * mech->room.dN.sixth[i]);
  return modelPositions(mech, s->t + e, q, p);
}

static int curvatureOfPositions(CPMech mech, const CPMechState *s, double time) {
  CPMechDifferences *dN = &mech->room.dN;
  int flag              = CP_SUCCESS;
  memset(dN->sixth, 0, (size_t)mech->nq * sizeof *dN->sixth);
  if (mech->eq->N || mech->coords->nquaternions > 0)
    flag = cpMechDifferentiate(mech, s, ratesAlong, mech->nq, cpLargest(mech->room.qdot, mech->nq),
                               time, CP_FIRST, dN);
  if (flag) return flag;
  return cpMechDifferentiate(mech, s, alongPath, mech->np, cpLargest(s->q, mech->nq), time,
                             CP_SECOND, &mech->room.dv);
}

/* b by differences */
CP_RARE static int byDifferences(CPMech mech, sunrealtype t, const sunrealtype *q,
                                 const sunrealtype *u, double *b) {
  const CPMechState s  = {.t = t, .q = q, .u = u};
  CPMechDifferences *d = &mech->room.dv;
  double time;
  int flag = findPace(mech, t, q, u, &time);
  if (!flag && isPositionsOnly(mech)) flag = curvatureOfPositions(mech, &s, time);
  else if (!flag) flag = derivativeOfVelocities(mech, &s, time);
  for (int i = 0; !flag && i < mech->nv; i++) b[i] = -d->sixth[i];
  return flag;
}

int cpMechCallB(CPMech mech, const CPMechState *s, double *b) {
  if (mech->na == 0) return CP_SUCCESS;
  mech->stats.nb++;
  if (!mech->eq->b) return byDifferences(mech, s->t, s->q, s->u, b);
  cpMechSkipRows(mech, 1);
  const int flag = cpMechCall(mech, b, s->t, s->q, s->u, b);
  cpMechSkipRows(mech, 0);
  return flag ? cpMechResult(mech, flag, s->t, "b") : CP_SUCCESS;
}

int cpMechPlaceB(CPMech mech, sunrealtype t, double *b) {
  const int flag = mech->motions->count > 0 ? cpMechMotions(mech, t) : CP_SUCCESS;
  for (int k = 0; !flag && k < mech->motions->count; k++)
    if (mech->motions->list[k].row >= 0) b[mech->motions->list[k].row] = mech->motion[k].curvature;
  return flag;
}

int cpMechB(CPMech mech, const CPMechState *s, double *b) {
  memset(b, 0, (size_t)mech->m * sizeof *b);
  int flag = cpMechCallB(mech, s, b);
  if (!flag) flag = cpMechChecked(mech, 0, s->t, "b", b, mech->na);
  return flag ? flag : cpMechPlaceB(mech, s->t, b);
}
