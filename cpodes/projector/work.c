/* Workspace of one user of a projector, allocated once, and brought in line when the projector's
 * options change. */
#include "projector_impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

int cpWorkCreate(CPWork *result, CPProjector P) {
  CPWork work = calloc(1, sizeof *work);
  *result     = NULL;
  if (!work) return CP_MEM_FAIL;
  work->P    = P;
  work->kind = P->kind;
  if (!work->kind->spares_vectors) work->v = cpArenaVector(&work->arena, P->y_tmpl);
  work->self = P->kind->create ? P->kind->create(P->model, work) : work;
  if (work->self && !cpArenaStatus(&work->arena)) *result = work;
  else cpWorkFree(&work);
  return *result ? CP_SUCCESS : CP_MEM_FAIL;
}

void cpWorkFree(CPWork *work_address) {
  CPWork work = *work_address;
  if (!work) return;
  if (work->kind->free && work->self) work->kind->free(work->self); /* P may have been freed */
  cpArenaFree(&work->arena);
  free(work);
  *work_address = NULL;
}

void cpWorkLend(CPWork work, void *user_data) {
  if (work) work->lent = user_data;
}

/* ---- storage: matrices and vectors of P's sizes ---- */

static int createStorage(CPWork work) {
  CPProjector P  = work->P;
  CPArena *arena = &work->storage;
  CPRoom *room   = &work->room;
  CP_ARRAYS(arena, P->n, &work->sqrtd, &room->x, &room->z);
  CP_ARRAYS(arena, P->m, &room->r, &room->s, &room->rl, &room->c2);
  cpRowsCreate(&work->rows, arena, P->m, P->n);
  if (P->mc > 0) work->uc = cpArenaVector(arena, P->c_tmpl);
  if (P->user.metric && (cpUserMatOwn(arena, &work->M) ||
                         cpUserMatCreate(&work->M, NULL, P->M_tmpl, P->n, P->n, P->ctx)))
    return CP_MEM_FAIL;
  return cpArenaStatus(arena) ? CP_MEM_FAIL : cpJacobianCreate(work);
}

static int levelsFit(const CPWork work) {
  const CPProjector P = work->P;
  for (int j = 0; P->nlevels > 1 && j < P->n; j++)
    for (size_t k = work->g.start[j]; k < work->g.start[j + 1]; k++)
      if (P->row_level[work->g.row[k]] < P->col_level[j]) return 0;
  return 1;
}

int cpWorkUpdate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  if (work->contents != P->options.contents) {
    work->contents     = P->options.contents;
    work->jac_is_right = 0;
    cpNewtonReset(&work->newton);
    for (int l = 0; l < work->nlevels; l++)
      if (work->levels[l].saddle) cpSaddleForgetRank(work->levels[l].saddle);
  }
  if (work->revision == P->revision && P->nlevels > 0) return CP_SUCCESS;
  cpNewtonForget(&work->newton);
  if (!P->in_memory)
    return cpReason(work->text, CP_NOT_SUPPORTED,
                    "the vectors do not lie in one memory of less than %d entries: only "
                    "CPProjectorCreateProducts can work on them",
                    INT_MAX);
  if (P->m == 0)
    return cpReason(work->text, CP_ILL_INPUT,
                    "there is no constraint: give a function c, or call CPProjectorAddUnitNorm");
  int flag = CP_SUCCESS;
  if (work->shape != P->shape) {
    cpArenaFree(&work->storage);
    work->shape  = -1;
    work->colors = (CPColoring){0};
    flag         = createStorage(work);
    if (flag) return cpReason(work->text, flag, "no memory for the constraint Jacobian");
    work->shape = P->shape;
  }
  if (P->nlevels == 0) {
    work->compact = !P->G_tmpl;
    flag          = cpSplitLevels(work, t, y, ewt);
    if (flag) return flag;
  }
  cpLevelsFree(work);
  cpJacobianPattern(work);
  work->nlevels    = P->nlevels;
  work->levels_fit = levelsFit(work);
  cpNormsLayOut(work);
  for (int l = 0; !flag && l < work->nlevels; l++) flag = cpLevelCreate(work, l);
  if (!flag) flag = cpChooseSolver(work);
  P->stats.nlevels = work->nlevels;
  work->revision   = flag ? -1 : P->revision;
  return flag ? cpReason(work->text, flag, "no memory for the linear solver") : CP_SUCCESS;
}

sunindextype cpWorkRank(CPWork work) {
  sunindextype rank = 0;
  for (int l = 0; l < work->nlevels; l++)
    if (work->levels[l].saddle) rank += work->levels[l].saddle->rank;
  return rank;
}

sunindextype cpProjectorLength(const CPProjector P) { return N_VGetLength(P->y_tmpl); }

int cpProjectorNeedsData(const CPProjector P) { return P->in_memory; }

int cpProjectorMeasures(const CPProjector P) {
  return P->kind != &cpUserKind || P->user.own.violation;
}

sunrealtype cpProjectorEps(const CPProjector P) { return P->options.eps; }

int cpProjectorIsRough(const CPProjector P) {
  return P->kind == &cpMatrixKind && P->c_tmpl && !P->user.jac && P->nnorms == 0;
}

const char *cpRowName(const CPProjector P, int i, char name[CP_ROW_NAME]) {
  if (P->kind->name_row) return P->kind->name_row(P->model, i, name);
  if (i < 0) {
    snprintf(name, CP_ROW_NAME, "a constraint of another process");
  } else if (i < P->mc || !P->in_memory) {
    snprintf(name, CP_ROW_NAME, "constraint %d", i);
  } else {
    const CPUnitNorm *u = &P->norms[i - P->mc];
    snprintf(name, CP_ROW_NAME, "the norm of components %d to %d", u->first,
             u->first + u->length - 1);
  }
  return name;
}
