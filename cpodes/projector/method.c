/* The actions of a projector, dispatched to its kind, and the warnings that follow from them. */
#include "projector_impl.h"

#include <math.h>

/* ---- actions ---- */

void cpWorkCount(CPWork work, size_t counter, long int n) {
  *(long int *)((char *)&work->stats + counter) += n;
  *(long int *)((char *)&work->P->stats + counter) += n;
}

/* Prepares an action. Without weights the L2 norm is used, which needs none. */
static int begin(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPProjectorKind *kind = work->kind;
  work->norm                  = ewt ? work->P->norm : CP_NORM_L2;
  return kind->update ? kind->update(work->self, t, y, ewt) : CP_SUCCESS;
}

/* Ends an action: counts a failure, and adds up the ranks of all iterations for the statistics. */
static int end(CPWork work, int flag) {
  CPProjector P = work->P;
  CPRank all    = {.rank = -1};
  for (int k = 0; k < work->niterations; k++) {
    const CPNewton *newton = work->iteration[k];
    if (newton->rank.rank < 0) continue;
    all.rank = (all.rank > 0 ? all.rank : 0) + newton->uses * newton->rank.rank;
  }
  if (all.rank >= 0) P->stats.rank = all.rank;
  if (flag) CP_COUNT(work, nfails);
  return flag;
}

int cpProject(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector e, int only_if_needed,
              CPProjected *result) {
  const CPProjectorKind *kind = work->kind;
  int flag                    = CP_SUCCESS;
  CP_COUNT(work, nproj);
  work->error = work->P->user.own.both ? e : NULL;
  *result     = (CPProjected){.worst_start = -1};
  if (only_if_needed && work->P->user.own.violation) {
    flag = cpUserViolation(work, t, y, &result->violation);
    if (!flag && result->violation <= work->P->options.eps) {
      cpWorkAge(work);
      CP_COUNT(work, nskipped);
      return CP_SUCCESS;
    }
    only_if_needed = 0;
  }
  if (!flag) flag = begin(work, t, y, ewt);
  if (!flag && kind->project) flag = kind->project(work->self, t, y, ewt, only_if_needed, result);
  else if (!flag) flag = cpNewtonProject(work->iteration[0], t, y, ewt, only_if_needed, result);
  result->with_error = !flag && result->moved && work->error;
  if (result->with_error) CP_COUNT(work, ntangent);
  work->newest = *result;
  if (flag) cpWorkForget(work);
  return end(work, flag);
}

int cpAssemble(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPProjectorKind *kind = work->kind;
  CP_COUNT(work, nproj);
  int flag = begin(work, t, y, ewt);
  if (!flag && kind->assemble) flag = kind->assemble(work->self, t, y, ewt);
  else if (!flag) flag = cpNewtonDamped(work->iteration[0], t, y, ewt);
  return end(work, flag);
}

int cpTangentTo(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, N_Vector r) {
  CP_COUNT(work, ntangent);
  const int flag = begin(work, t, y, ewt);
  return end(work, flag ? flag : work->kind->tangent(work->self, t, y, ewt, v, r));
}

int cpTangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  return cpTangentTo(work, t, y, ewt, v, NULL);
}

typedef int (*VectorAction)(void *self, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v);

static int act(CPWork work, VectorAction action, sunrealtype t, N_Vector y, N_Vector ewt,
               N_Vector v) {
  CP_COUNT(work, ntangent);
  const int flag = begin(work, t, y, ewt);
  return end(work, flag ? flag : action(work->self, t, y, ewt, v));
}

int cpProjectError(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  const VectorAction error = work->kind->error;
  return error ? act(work, error, t, y, ewt, v) : cpTangent(work, t, y, ewt, v);
}

int cpCotangent(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  const VectorAction cotangent = work->kind->cotangent;
  if (cotangent) return act(work, cotangent, t, y, ewt, w);
  return cpReason(work->text, CP_NOT_SUPPORTED,
                  "a user-supplied projection has no transpose; use an internal projector");
}

int cpStateViolation(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, CPViolation *violation) {
  const CPProjectorKind *kind = work->kind;
  *violation                  = (CPViolation){.worst = -1};
  if (work->P->user.own.violation) return cpUserViolation(work, t, y, &violation->norm);
  if (work->kind == &cpUserKind)
    return cpReason(work->text, CP_NOT_SUPPORTED,
                    "a user-supplied projection needs a function `violation` for that");
  int flag = begin(work, t, y, ewt);
  if (!flag && kind->violation) flag = kind->violation(work->self, t, y, ewt, violation);
  else if (!flag) flag = cpNewtonViolation(work->iteration[0], t, y, ewt, violation);
  return flag ? flag : end(work, CP_SUCCESS);
}

int cpRoundoff(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, double *norm) {
  const CPProjectorKind *kind = work->kind;
  *norm                       = 0.0;
  if (!kind->roundoff) return CP_SUCCESS;
  const int flag = begin(work, t, y, ewt);
  cpWorkForget(work); /* Factors of another state would give its angles. */
  return flag ? flag : kind->roundoff(work->self, t, y, ewt, norm);
}

int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPProjectorKind *kind = work->kind;
  if (!kind->probe) return CP_SUCCESS;
  const int flag = begin(work, t, y, ewt);
  return flag ? flag : kind->probe(work->self, t, y, ewt);
}

int cpRowsVector(CPWork work, N_Vector *c) {
  const CPProjectorKind *kind = work->kind;
  *c                          = NULL;
  if (!kind->rows_vector && !work->P->c_tmpl) return CP_SUCCESS;
  *c = kind->rows_vector ? kind->rows_vector(work->self) : N_VClone(work->P->c_tmpl);
  return *c ? CP_SUCCESS : CP_MEM_FAIL;
}

int cpRowsAt(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  const CPProjectorKind *kind = work->kind;
  return kind->rows_at ? kind->rows_at(work->self, t, y, c) : cpUserConstraint(work, t, y, c);
}

/* ---- kept factors ---- */

void cpWorkForget(CPWork work) {
  for (int k = 0; work && k < work->niterations; k++) work->iteration[k]->valid = 0;
}

double cpWorkSine(CPWork work) {
  double sine = 1.0;
  for (int k = 0; k < work->niterations; k++) sine = fmin(sine, work->iteration[k]->rank.sine);
  return sine;
}

void cpWorkAge(CPWork work) {
  for (int k = 0; k < work->niterations; k++) work->iteration[k]->age += work->iteration[k]->uses;
}

void cpWorkRestart(CPWork work, CPProjectorStats *base) {
  *base = (CPProjectorStats){0};
  if (!work) return;
  cpWorkForget(work);
  work->warn.rank_fell = 0;
  work->warn.floor     = (CPFloor){0};
  *base                = work->stats;
}

/* ---- warnings ---- */

/* Factors of an attempt that was rejected belong to a state that the motion may not reach. */
void cpWorkAttempt(CPWork work) {
  for (int k = 0; work && k < work->niterations; k++) {
    work->iteration[k]->floor.reached = 0;
    work->iteration[k]->valid &= work->iteration[k]->accepted;
  }
}

/* A rank that falls indicates a singular position, from which the motion may continue in more than
 * one way. */
void cpWorkAccepted(CPWork work) {
  for (int k = 0; work && k < work->niterations; k++) {
    CPNewton *newton = work->iteration[k];
    newton->accepted = 1;
    if (newton->floor.reached) work->warn.floor = newton->floor;
    if (!newton->valid || newton->rank.rank < 0) continue;
    if (newton->rank.rank < newton->highest_rank) work->warn.rank_fell = newton->highest_rank;
    else if (!newton->rank.is_doubtful) newton->highest_rank = newton->rank.rank;
  }
}

const CPFloor *cpWorkFloor(CPWork work) { return &work->warn.floor; }

sunindextype cpWorkRankFell(CPWork work) {
  const sunindextype rank = work->warn.rank_fell;
  work->warn.rank_fell    = 0;
  return rank;
}

/* ---- access for other rooms ---- */

char *cpWorkText(CPWork work) { return work->text; }

const CPProjectorStats *cpWorkStats(CPWork work) { return &work->stats; }

N_Vector cpWorkScratch(CPWork work) {
  if (!work->v) work->v = cpArenaVector(&work->arena, work->P->y_tmpl);
  work->arena.failed = 0; /* Memory may be found the next time. */
  return work->v;
}

void *cpWorkSelf(CPWork work) { return work->self; }

void cpWorkWorstName(CPWork work, char name[CP_ROW_NAME]) {
  if (work->kind == &cpUserKind) name[0] = '\0';
  else cpRowName(work->P, work->newest.worst_start, name);
}

const CPProjectorOptions *cpWorkOptions(CPWork work) { return &work->P->options; }

void cpWorkSetIterations(CPWork work, CPNewton *first, CPNewton *second) {
  work->iteration[0] = first;
  work->iteration[1] = second;
  work->niterations  = 1 + (second != NULL);
}

void cpWorkSetSolver(CPWork work, CPLinSol linsol, int nlevels) {
  work->P->stats.linsol  = linsol;
  work->P->stats.nlevels = nlevels;
}
