/* Quantities of one state, and counters. */
#include "actions.h"

#include <math.h>
#include <string.h>

/* Workspace of one evaluation. */
typedef struct {
  CPArena arena;
  double *a, *force, *Mu;    /* [nu] */
  double *lambda, *rows, *b; /* [m] */
} Room;

static int makeRoom(const CPMech mech, Room *room) {
  *room                            = (Room){.a = NULL};
  double **const of_velocities[]   = {&room->a, &room->force, &room->Mu},
                 **const of_rows[] = {&room->lambda, &room->rows, &room->b};
  for (int k = 0; k < 3; k++) {
    CP_NEW(&room->arena, *of_velocities[k], mech->nu);
    CP_NEW(&room->arena, *of_rows[k], mech->m);
  }
  return cpArenaStatus(&room->arena);
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
  cpArenaFree(&room.arena);
  return flag;
}

int CPMechEvaluate(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out) {
  int flag = cpMechCheckState(mech, y, __func__);
  if (flag) return flag;
  if (!out) return cpReport(&mech->log, CP_ILL_INPUT, __func__, "out must not be NULL");
  return cpMechReport(mech, cpMechEvaluateAt(mech, t, y, out), __func__);
}

/* ---- counters ---- */

int CPMechGetStats(CPMech mech, CPMechStats *stats) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  if (!stats) return cpReport(&mech->log, CP_ILL_INPUT, __func__, "stats must not be NULL");
  *stats = mech->stats;
  return CP_SUCCESS;
}

static const char *solverName(const CPMech mech) {
  if (mech->operators) return "operators";
  return mech->kkt ? cpSaddleName(mech->kkt) : "none yet";
}

static const char *newtonName(CPMechNewton type) {
  switch (type) {
  case CP_NEWTON_KKT: return "KKT";
  case CP_NEWTON_HALF: return "half size";
  default: return "none";
  }
}

typedef struct {
  const char *name;
  enum { COUNT, VALUE, TEXT } kind;
  long int count;
  double value;
  const char *text;
} Line;

static int printLine(FILE *out, SUNOutputFormat fmt, const Line *line, int first) {
  const int table = fmt == SUN_OUTPUTFORMAT_TABLE;
  int bad         = table ? fprintf(out, "%-28s = ", line->name) < 0
                          : fprintf(out, "%s%s,", first ? "" : ",", line->name) < 0;
  switch (line->kind) {
  case COUNT: bad |= fprintf(out, "%ld", line->count) < 0; break;
  case VALUE: bad |= fprintf(out, "%.6e", line->value) < 0; break;
  case TEXT: bad |= fprintf(out, "%s", line->text) < 0; break;
  }
  return bad || (table && fputc('\n', out) == EOF);
}

/* At the newest state of the integrator, if accelerations exist there. */
static void evaluateNewest(CPMech mech) {
  CPMechOutput out = {0};
  sunrealtype t    = 0.0;
  N_Vector y       = mech->host.mem ? mech->host.ops->newest(mech->host.mem, &t) : NULL;
  if (y) cpMechEvaluateAt(mech, t, y, &out);
}

int cpMechPrintStats(CPMech mech, FILE *out, SUNOutputFormat fmt) {
  const CPMechStats before = mech->stats, *s = &before;
  evaluateNewest(mech); /* not to be counted as work of the integrator */
  const CPMechOutput newest = mech->stats.last, *last = &newest;
  mech->stats        = before;
  mech->stats.last   = newest;
  const Line lines[] = {
      {"Mass matrix evals", COUNT, .count = s->nM},
      {"Constraint matrix evals", COUNT, .count = s->nA},
      {"Force evals", COUNT, .count = s->nf},
      {"Acceleration constr evals", COUNT, .count = s->nb},
      {"Velocity constr evals", COUNT, .count = s->nv},
      {"Position constr evals", COUNT, .count = s->np},
      {"Accelerations", COUNT, .count = s->nudot},
      {"KKT factorizations", COUNT, .count = s->nkkt},
      {"Multiplier iterations", COUNT, .count = s->nlambda},
      {"Partial derivative evals", COUNT, .count = s->npartials},
      {"Difference evals", COUNT, .count = s->nDQ},
      {"Newton factorizations", COUNT, .count = s->nnewton},
      {"Projection factorizations", COUNT, .count = s->nprojfact},
      {"KKT solver", TEXT, .text = solverName(mech)},
      {"Newton matrix", TEXT, .text = newtonName(s->newton)},
      {"Rank of A", COUNT, .count = (long)last->rank},
      {"Multipliers unique", TEXT, .text = last->unique ? "yes" : "no"},
      {"Kinetic energy", VALUE, .value = last->kinetic},
      {"Power of constraints", VALUE, .value = last->power},
      {"Position residual", VALUE, .value = last->position},
      {"Velocity residual", VALUE, .value = last->velocity},
      {"Acceleration residual", VALUE, .value = last->acceleration},
      {"Quaternion norm error", VALUE, .value = last->norms},
  };
  int bad = 0;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    bad |= printLine(out, fmt, &lines[i], i == 0);
  if (fmt != SUN_OUTPUTFORMAT_TABLE) bad |= fputc('\n', out) == EOF;
  return bad;
}
