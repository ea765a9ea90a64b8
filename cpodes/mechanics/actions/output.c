/* Quantities at one state, and counters. */
#include "actions.h"
#include "cpodes/mechanics/accelerations.h"
#include "cpodes/mechanics/forces.h"
#include "cpodes/mechanics/functions.h"

#include <math.h>
#include <string.h>

/* Workspace of one evaluation */
typedef struct {
  CPArena arena;
  double *a, *force, *Mu, *f; /* [nu] */
  double *lambda, *rows, *b;  /* [m] */
} Room;

/* Returns the largest |r_i| of the active rows with mask 1, or of all active rows if mask is
 * NULL. */
static double largest(const CPMech mech, const double *r, const char *mask) {
  double size = 0.0;
  for (int i = 0; i < mech->m; i++)
    if (!mech->rows.off[i] && (!mask || mask[i])) size = fmax(size, fabs(r[i]));
  return size;
}

static int residuals(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  double *r = room->rows;
  int flag  = cpMechPositions(mech, s->t, s->q, r); /* p(t, q) */
  if (flag) return flag;
  out->position = largest(mech, r, mech->model->rows.at_position);
  flag          = cpMechVelocities(mech, s->t, s->q, s->u, r); /* v(t, q, u) */
  if (flag) return flag;
  out->velocity = largest(mech, r, mech->model->rows.at_velocity);
  out->norms    = 0.0;
  for (int k = 0; k < cpMechNumNorms(mech); k++) {
    const CPUnitNorm n   = cpMechNorm(mech, k);
    const sunrealtype *q = s->q + n.first;
    out->norms           = fmax(out->norms, fabs(sqrt(cpDot(q, q, n.length)) - n.value));
  }
  out->acceleration = NAN; /* b needs a function v or b, which a model with operators may lack */
  if (mech->operators && !mech->eq->b && mech->na != mech->nv) return CP_SUCCESS;
  flag = cpMechB(mech, s, room->b);
  if (!flag) flag = cpMechTimes(mech, s->t, s->q, 0, room->a, r);
  for (int i = 0; !flag && i < mech->m; i++) r[i] -= room->b[i]; /* A a - b */
  if (!flag) out->acceleration = largest(mech, r, NULL);
  return flag;
}

/* Computes the constraint forces -A^T lambda, their power, and u.M u / 2. FULL motions have no
 * multiplier: the force that drives u_j is row j of M a - f. */
static int forces(CPMech mech, const CPMechState *s, Room *room, CPMechOutput *out) {
  const int nu  = mech->nu;
  double *force = room->force, *Mu = room->Mu;
  int flag = cpMechTimes(mech, s->t, s->q, 1, room->lambda, force);
  for (int j = 0; !flag && j < nu; j++) force[j] = -force[j];
  if (!flag && !mech->operators) flag = cpMechMass(mech, s->t, s->q);
  if (!flag && mech->motions->nfull > 0) {
    flag = cpMechForces(mech, s, room->f);
    if (!flag) flag = cpMechAddForces(mech, s, 1, room->lambda, room->f);
    cpMatTimes(&mech->userM.A, 1.0, room->a, 0.0, Mu);
    for (int j = 0; j < nu; j++)
      if (mech->motions->is_full[j]) force[j] = Mu[j] - room->f[j];
  }
  if (flag) return flag;
  out->power   = cpDot(force, s->u, nu);
  out->kinetic = NAN;
  if (mech->operators && !mech->eq->Mu) return CP_SUCCESS;
  if (!mech->operators) cpMatTimes(&mech->userM.A, 1.0, s->u, 0.0, Mu);
  else flag = cpMechOperator(mech, mech->eq->Mu, "Mu", s->t, s->q, s->u, Mu, nu);
  if (!flag) out->kinetic = 0.5 * cpDot(s->u, Mu, nu);
  return flag;
}

int cpMechEvaluateAt(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out) {
  const size_t nu = (size_t)mech->nu, m = (size_t)mech->m;
  CPMechOutput values = *out;
  CPMechState s;
  Room room = {.a = NULL};
  CP_ARRAYS(&room.arena, nu, &room.a, &room.force, &room.Mu, &room.f);
  CP_ARRAYS(&room.arena, m, &room.lambda, &room.rows, &room.b);
  int flag = cpArenaStatus(&room.arena);
  if (flag) cpReason(mech->text, flag, "out of memory");
  if (!flag) flag = cpMechRead(mech, t, N_VGetArrayPointer(y), &s);
  if (!flag) flag = cpMechSolve(mech, &s, room.a, room.lambda);
  if (!flag) flag = residuals(mech, &s, &room, &values);
  if (!flag) flag = forces(mech, &s, &room, &values);
  if (!flag) {
    values.rank   = mech->operators ? -1 : mech->kkt->rank;
    values.unique = mech->operators || mech->kkt->dependent < 0;
    *out          = values;
    if (out->udot) memcpy(out->udot, room.a, nu * sizeof *room.a);
    if (out->lambda) memcpy(out->lambda, room.lambda, m * sizeof *room.lambda);
    if (out->reaction) memcpy(out->reaction, room.force, nu * sizeof *room.force);
    values.udot = values.lambda = values.reaction = NULL;
    mech->stats.last                              = values;
  }
  cpArenaFree(&room.arena);
  return flag;
}

int CPMechEvaluate(CPMech mech, sunrealtype t, N_Vector y, CPMechOutput *out) {
  int flag = cpMechCheckState(mech, y, __func__);
  if (flag) return flag;
  if (!out) return cpRefuse(&mech->log, __func__, "out must not be NULL");
  return cpMechReport(mech, cpMechEvaluateAt(mech, t, y, out), __func__);
}

/* ---- counters ---- */

int CPMechGetStats(CPMech mech, CPMechStats *stats) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  if (!stats) return cpRefuse(&mech->log, __func__, "stats must not be NULL");
  *stats = mech->stats;
  if (stats->nkkt > 0 && mech->kkt) stats->linsol = cpSaddleAsKkt(cpSaddleTypeOf(mech->kkt));
  return CP_SUCCESS;
}

int cpMechPrintStats(FILE *out, SUNOutputFormat fmt, void *data) {
  const CPMech mech        = data;
  const CPMechStats before = mech->stats, *s = &before;
  const char *solver = mech->operators ? "operators"
                       : mech->kkt     ? cpSaddleName(mech->kkt)
                                       : "none yet";
  const char *newton = s->newton == CP_NEWTON_KKT    ? "KKT"
                       : s->newton == CP_NEWTON_HALF ? "half size"
                                                     : "none";
  CPMechOutput at    = {0};
  sunrealtype t      = 0.0;
  N_Vector y         = mech->host ? cpStepperNewest(mech->host, &t) : NULL;
  if (y) cpMechEvaluateAt(mech, t, y, &at); /* not counted as work of the integrator */
  const CPMechOutput newest = mech->stats.last, *last = &newest;
  mech->stats              = before;
  mech->stats.last         = newest;
  const CPFigure figures[] = {
      {"Mass matrix evals", .count = s->nM},
      {"Constraint matrix evals", .count = s->nA},
      {"Force evals", .count = s->nf},
      {"Acceleration constr evals", .count = s->nb},
      {"Velocity constr evals", .count = s->nv},
      {"Position constr evals", .count = s->np},
      {"Accelerations", .count = s->nudot},
      {"KKT factorizations", .count = s->nkkt},
      {"Multiplier iterations", .count = s->nlambda},
      {"Partial derivative evals", .count = s->npartials},
      {"Difference evals", .count = s->nDQ},
      {"Newton factorizations", .count = s->nnewton},
      {"Projection factorizations", .count = s->nprojfact},
      {"KKT solver", .text = solver},
      {"Newton matrix", .text = newton},
      {"Rank of A", .count = (long)last->rank},
      {"Multipliers unique", .text = last->unique ? "yes" : "no"},
      {"Kinetic energy", .value = last->kinetic, .digits = 6},
      {"Power of constraints", .value = last->power, .digits = 6},
      {"Position residual", .value = last->position, .digits = 6},
      {"Velocity residual", .value = last->velocity, .digits = 6},
      {"Acceleration residual", .value = last->acceleration, .digits = 6},
      {"Quaternion norm error", .value = last->norms, .digits = 6},
  };
  return cpPrintFigures(out, fmt, figures, sizeof figures / sizeof figures[0]);
}
