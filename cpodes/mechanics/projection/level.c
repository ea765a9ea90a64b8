/* One level of a projection, by its inner projector: where it is, how it measures, what it counts.
 */
#include "projection.h"

CPWork cpMechLevelWork(CPWork work, int which) {
  const CPMech mech = work->P->model;
  return cpMechOwn(work)->level[mech->space->shared ? CP_POSITIONS : which];
}

int cpMechLevelIsOn(CPWork work, int which) {
  const CPMech mech = work->P->model;
  return mech->space->level[which].nrows > 0 && mech->space->level[which].nactive > 0;
}

/* Failures of the model's functions have their own reason. */
static int failed(CPWork work, CPWork inner, int flag) {
  const CPMech mech             = work->P->model;
  const int ours                = mech->space_flag;
  char motions[CP_MECH_MOTIONS] = "";
  if (ours) return cpReason(work->text, ours, "%s", mech->text);
  if (flag == -CP_PROJ_INCONSISTENT || flag == CP_IC_FAIL) cpMechMotionNames(mech, motions);
  return cpReason(work->text, flag, "%.*s%s", CP_TEXT_LENGTH - CP_MECH_MOTIONS, inner->text,
                  motions);
}

/* Rank of both levels, -1 before anything has been factored, and how many rows depend on others. */
static void gatherRank(CPMech mech) {
  CPProjector outer   = mech->P;
  outer->stats.rank   = -1;
  outer->ndependent   = 0;
  const CPMechSpace s = mech->space;
  for (int which = 0; which < 2; which++) {
    const CPProjector P = s->level[s->shared ? CP_POSITIONS : which].P;
    if (!P || P->stats.rank < 0) continue;
    outer->stats.rank = P->stats.rank + (outer->stats.rank > 0 ? outer->stats.rank : 0);
    outer->ndependent += P->ndependent;
  }
}

/* Counters that projectors have, without those of the calls themselves. */
static void clearCounters(CPProjectorStats *sum) {
  sum->niters = sum->nce = sum->nceDQ = sum->nje = sum->nsetups = sum->nfloor = 0;
  sum->nli = sum->nlinsolves = sum->nprods = sum->npsolves = 0;
}

static void addCounters(CPProjectorStats *sum, const CPProjectorStats *s) {
  sum->niters += s->niters, sum->nce += s->nce, sum->nceDQ += s->nceDQ, sum->nje += s->nje;
  sum->nsetups += s->nsetups, sum->nfloor += s->nfloor, sum->nli += s->nli;
  sum->nlinsolves += s->nlinsolves, sum->nprods += s->nprods, sum->npsolves += s->npsolves;
}

static void gatherFloor(CPWork work, int which, CPWork inner) {
  const CPMech mech = work->P->model;
  if (!inner->newton.floor.reached || inner->floor_accepted.reached) return;
  inner->floor_accepted = inner->newton.floor; /* once */
  if (which == CP_VELOCITIES) inner->newton.floor.worst += mech->space->level[0].nrows;
}

/* Counters of the inner works and projectors, as the outer one's. */
static void gatherStats(CPWork work) {
  const CPMech mech       = work->P->model;
  CPProjectorStats *outer = &work->P->stats;
  clearCounters(&work->stats);
  clearCounters(outer);
  for (int which = 0; which < 2; which++) {
    const CPWork inner  = cpMechOwn(work)->level[which];
    const CPProjector P = mech->space->level[which].P;
    if (!inner) continue;
    addCounters(&work->stats, &inner->stats);
    addCounters(outer, &P->stats);
    if (P->stats.linsol) outer->linsol = P->stats.linsol;
    gatherFloor(work, which, inner);
  }
  outer->nlevels        = 2;
  mech->stats.nprojfact = outer->nsetups;
  gatherRank(mech);
}

/* A metric that is not definite: M in place of Newton's matrix, and by default the error weights in
 * place of M. 0: there is none. */
static int otherMetric(CPMech mech) {
  const CPMechSpace s = mech->space;
  if (s->metric == CP_METRIC_NEWTON && !s->use_mass) return s->use_mass = 1;
  if (mech->metric != CP_METRIC_DEFAULT || s->not_definite) return 0;
  s->not_definite = 1;
  return cpMechSpaceMetric(mech) == CP_SUCCESS;
}

void cpMechLevelMeasure(CPWork inner, N_Vector x, N_Vector ewt) {
  const CPMechLevel *level = inner->P->user_data;
  if (level->mech->space->shared && inner->newton.valid && inner->revision == inner->P->revision)
    cpMeasureBy(inner, x, ewt);
}

int cpMechLevelCall(CPWork work, int which, sunrealtype t, const double *q, CPMechLevelFn call,
                    N_Vector ewt, void *arg) {
  const CPMech mech   = work->P->model;
  const CPMechSpace s = mech->space;
  const CPWork inner  = cpMechLevelWork(work, which);
  s->which            = which;
  s->t                = t;
  s->q0               = q;
  mech->space_flag    = 0;
  int flag            = CP_SUCCESS;
  if (ewt)
    flag = cpMechSpaceWeights(mech, which, q, N_VGetArrayPointer(ewt),
                              N_VGetArrayPointer(cpMechOwn(work)->weights));
  if (flag) return cpReason(work->text, flag, "%s", mech->text);
  N_Vector weights = ewt ? cpMechOwn(work)->weights : NULL;
  flag             = call(inner, t, cpMechOwn(work)->x, weights, arg);
  while (flag == -CP_METRIC_INDEFINITE && !mech->space_flag && otherMetric(mech)) {
    inner->newton.valid = 0;
    flag                = call(inner, t, cpMechOwn(work)->x, weights, arg);
  }
  gatherStats(work);
  return flag ? failed(work, inner, flag) : CP_SUCCESS;
}
