/* Workspace of one user of a projector: allocated once, brought in line when the projector's
 * options change. */
#include "projector_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

static void freeLevels(CPWork work) {
  for (int l = 0; l < CP_MAX_LEVELS; l++) {
    CPLevel *level = &work->levels[l];
    cpLinFree(&level->lin);
    cpLinFree(&level->spare);
    free(level->AT.start);
    free(level->AT.row);
    free(level->AT.value);
    free(level->rows);
    free(level->cols);
    free(level->act);
    memset(level, 0, sizeof *level);
  }
  work->nlevels = 0;
}

void cpWorkFree(CPWork *work_address) {
  CPWork work = work_address ? *work_address : NULL;
  if (!work) return;
  freeLevels(work);
  if (work->y) N_VDestroy(work->y);
  if (work->v) N_VDestroy(work->v);
  if (work->c) N_VDestroy(work->c);
  if (work->c2) N_VDestroy(work->c2);
  if (work->G) SUNMatDestroy(work->G);
  free(work->sqrtd);
  free(work->w);
  free(work->rowscale);
  free(work->size);
  free(work->unit);
  free(work->x);
  free(work->r);
  free(work->z);
  free(work->s);
  free(work->rowpos);
  free(work->g.start);
  free(work->g.row);
  free(work->g.value);
  free(work->xl);
  free(work->rl);
  free(work);
  *work_address = NULL;
}

static int allocateArrays(CPWork work, size_t n, size_t m) {
  double **ofN[] = {&work->sqrtd, &work->w, &work->x, &work->z, &work->xl};
  double **ofM[] = {&work->rowscale, &work->size, &work->unit, &work->r, &work->s, &work->rl};
  for (size_t i = 0; i < sizeof ofN / sizeof ofN[0]; i++)
    if (!(*ofN[i] = calloc(n, sizeof **ofN[i]))) return 0;
  for (size_t i = 0; i < sizeof ofM / sizeof ofM[0]; i++)
    if (!(*ofM[i] = calloc(m, sizeof **ofM[i]))) return 0;
  work->rowpos  = calloc(m, sizeof *work->rowpos);
  work->g.start = calloc(n + 1, sizeof *work->g.start);
  work->g.row   = malloc(n * m * sizeof *work->g.row);
  work->g.value = malloc(n * m * sizeof *work->g.value);
  return work->rowpos && work->g.start && work->g.row && work->g.value;
}

static int allocateInternal(CPWork work) {
  CPProjector P = work->P;
  work->c       = N_VClone(P->c_tmpl);
  work->c2      = N_VClone(P->c_tmpl);
  work->G       = SUNDenseMatrix(P->m, P->n, P->ctx);
  return work->c && work->c2 && work->G && allocateArrays(work, (size_t)P->n, (size_t)P->m);
}

int cpWorkCreate(CPWork *result, CPProjector P) {
  CPWork work = calloc(1, sizeof *work);
  *result     = NULL;
  if (!work) return CP_MEM_FAIL;
  work->P        = P;
  work->revision = -1;
  work->y        = N_VClone(P->y_tmpl);
  work->v        = N_VClone(P->y_tmpl);
  if (!work->y || !work->v || (!P->user_kind && !allocateInternal(work))) {
    cpWorkFree(&work);
    return CP_MEM_FAIL;
  }
  *result = work;
  return CP_SUCCESS;
}

/* Indices of the entries of level[] that are l; room for one at least, so that NULL means no
 * memory. */
static int *members(const int *level, int length, int l, int *count) {
  *count = 0;
  for (int i = 0; i < length; i++) *count += level[i] == l;
  int *list = malloc(((size_t)*count + 1) * sizeof *list);
  for (int i = 0, k = 0; list && i < length; i++)
    if (level[i] == l) list[k++] = i;
  return list;
}

static int buildLevel(CPWork work, int l) {
  CPProjector P        = work->P;
  CPLevel *level       = &work->levels[l];
  level->rows          = members(P->row_level, P->m, l, &level->nrows);
  level->cols          = members(P->col_level, P->n, l, &level->ncols);
  level->act           = malloc(((size_t)level->nrows + 1) * sizeof *level->act);
  const size_t entries = (size_t)level->nrows * (size_t)level->ncols + 1;
  level->AT.start      = calloc((size_t)level->ncols + 1, sizeof *level->AT.start);
  level->AT.row        = malloc(entries * sizeof *level->AT.row);
  level->AT.value      = malloc(entries * sizeof *level->AT.value);
  if (!level->rows || !level->cols || !level->act) return CP_MEM_FAIL;
  if (!level->AT.start || !level->AT.row || !level->AT.value) return CP_MEM_FAIL;
  if (level->nrows == 0) return CP_SUCCESS;
  const CPLinSol first = P->linsol == CP_LINSOL_AUTO ? CP_LINSOL_SCHUR : P->linsol;
  int flag             = cpLinCreate(&level->lin, first, level->ncols, level->nrows);
  if (!flag && P->linsol == CP_LINSOL_AUTO)
    flag = cpLinCreate(&level->spare, CP_LINSOL_QRP, level->ncols, level->nrows);
  return flag;
}

int cpWorkUpdate(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  int flag      = CP_SUCCESS;
  if (work->revision == P->revision && P->nlevels > 0) return CP_SUCCESS;
  work->valid        = 0;
  work->jac_is_right = 0;
  if (P->nlevels == 0) flag = cpDetectLevels(work, t, y, ewt);
  if (flag) return flag;
  freeLevels(work);
  work->nlevels = P->nlevels;
  for (int l = 0; !flag && l < P->nlevels; l++) flag = buildLevel(work, l);
  if (flag) {
    work->revision = -1;
    return cpReason(work->text, flag, "no memory for the linear solver");
  }
  work->revision = P->revision;
  return CP_SUCCESS;
}

sunindextype cpWorkRank(CPWork work) {
  sunindextype rank = 0;
  for (int l = 0; l < work->nlevels; l++)
    if (work->levels[l].lin) rank += work->levels[l].lin->rank;
  return rank;
}

int cpCountFailure(CPWork work, int flag) {
  CP_COUNT(work, nfails);
  return flag;
}
