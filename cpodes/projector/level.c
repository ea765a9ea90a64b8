/* Levels and their saddle points: on the rows and columns of level l, [W_l A_l^T; A_l 0] with A_l =
 * G_l, and W_l the block of the metric's matrix, or D_l^{-1} if the metric is diagonal. Fixed
 * components do not move: D_l is the inverse of the block of W on the free components, not the
 * block of an inverse. */
#include "projector_impl.h"

#include <string.h>

void cpLevelsFree(CPWork work) {
  for (int l = 0; l < CP_MAX_LEVELS; l++) {
    CPLevel *level = &work->levels[l];
    cpSaddleFree(&level->saddle);
    cpArenaFree(&level->arena);
    memset(level, 0, sizeof *level);
  }
  work->nlevels = work->is_open = 0;
}

/* ---- structure ---- */

/* Returns the indices i with level[i] = l, and their number in *count. (*place)[i] is the place of
 * i among them, -1 for the others. */
static int *members(CPArena *arena, const int *level, int length, int l, int **place, int *count) {
  int *list;
  *count = 0;
  CP_NEW(arena, *place, length);
  for (int i = 0; i < length; i++) *count += level[i] == l;
  CP_NEW(arena, list, *count);
  for (int i = 0, k = 0; list && i < length; i++) {
    (*place)[i] = level[i] == l ? k : -1;
    if (level[i] == l) list[k++] = i;
  }
  return list;
}

/* to <- the entries of `from` in the given columns, in rows that have a place. Returns their
 * number. They are only counted if `to` has no memory. A dense `to` has as many rows as there are
 * places. entry: out, their places in `from`; may be NULL. */
static size_t gather(const CPMat *from, const int *cols, const int *place, CPMat *to, size_t *entry) {
  size_t count = 0;
  for (int q = 0; q < to->cols; q++) {
    if (to->start) to->start[q] = count;
    for (size_t k = cpMatFirst(from, cols[q]); k < cpMatFirst(from, cols[q] + 1); k++) {
      const int p = place[cpMatRow(from, cols[q], k)];
      if (p < 0) continue;
      if (to->value && to->row) to->row[count] = p;
      if (to->value) to->value[count] = from->value[k];
      if (entry) entry[count] = k;
      count++;
    }
  }
  if (to->start) to->start[to->cols] = count;
  return count;
}

/* Allocates and fills the entries of `from` on the level, with their pattern. */
static int createMatrix(CPArena *arena, const CPMat *from, const int *cols, const int *place,
                        CPMat *to, size_t **entry) {
  const size_t count = gather(from, cols, place, to, NULL);
  if (from->start) {
    CP_NEW(arena, to->start, to->cols + 1);
    CP_NEW(arena, to->row, count);
  }
  CP_NEW(arena, to->value, count);
  if (entry) CP_NEW(arena, *entry, count);
  if (!cpArenaStatus(arena)) gather(from, cols, place, to, entry ? *entry : NULL);
  return cpArenaStatus(arena);
}

/* Is A the matrix g itself? It is on a single level, unless a metric that is a matrix requires a
 * copy in which fixed columns are zero. */
static int isWhole(const CPWork work) { return work->nlevels == 1 && cpHasDiagonalMetric(work->P); }

int cpLevelCreate(CPWork work, int l) {
  const CPProjector P = work->P;
  CPLevel *level      = &work->levels[l];
  CPArena *arena      = &level->arena;
  level->rows         = members(arena, P->row_level, P->m, l, &level->row_place, &level->nrows);
  level->cols         = members(arena, P->col_level, P->n, l, &level->col_place, &level->ncols);
  CP_ARRAYS(arena, level->ncols, &level->root, &level->f, &level->x);
  CP_NEW(arena, level->length, level->nrows);
  CP_NEW(arena, level->off, level->nrows);
  CP_NEW(arena, level->fixed, level->ncols);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  level->A = (CPMat){.rows = level->nrows, .cols = level->ncols};
  level->W = (CPMat){.rows = level->ncols, .cols = level->ncols};
  int flag = CP_SUCCESS;
  if (isWhole(work)) level->A = work->g;
  else if (level->nrows > 0)
    flag = createMatrix(arena, &work->g, level->cols, level->row_place, &level->A, &level->entry);
  else CP_NEW(arena, level->A.start, level->ncols + 1);
  if (!flag && !cpHasDiagonalMetric(P))
    flag = createMatrix(arena, &work->M.A, level->cols, level->col_place, &level->W, NULL);
  return flag ? flag : cpArenaStatus(arena);
}

int cpLevelOpen(CPWork work, int l) {
  const CPProjector P     = work->P;
  CPLevel *level          = &work->levels[l];
  const CPMat *W          = cpHasDiagonalMetric(P) ? NULL : &level->W;
  CPSaddleOptions options = {.type       = work->linsol,
                             .may_change = P->options.linsol == CP_LINSOL_AUTO,
                             .definite   = 1,
                             .finest     = P->user.jac || P->mc == 0 ? CP_ROUNDED : CP_INEXACT};
  const int sparse        = options.type == CP_LINSOL_SPARSE;
  if (W && !W->start && sparse) { /* W couples all rows: the Schur complement is dense */
    options.type       = CP_LINSOL_SCHUR;
    options.may_change = 1;
  }
  return cpSaddleCreate(&level->saddle, options, W, &level->A);
}

/* ---- values ---- */

void cpLevelTake(CPWork work, int l) {
  CPLevel *level = &work->levels[l];
  CPMat *A       = &level->A;
  for (int q = 0; q < level->ncols; q++) level->root[q] = work->sqrtd[level->cols[q]];
  if (level->nrows == 0 || isWhole(work)) return;
  if (work->compact) gather(&work->g, level->cols, level->row_place, A, NULL);
  else
    for (size_t k = 0, count = cpMatEntries(A); k < count; k++)
      A->value[k] = work->g.value[level->entry[k]];
}

int cpLevelFactor(CPWork work, int l, double ranktol) {
  CPLevel *level = &work->levels[l];
  CPMat *A = &level->A, *W = &level->W;
  CPWeight D = {.root = level->root, .length = work->norm == CP_NORM_ERROR ? level->length : NULL};
  if (!W->value) return cpSaddleFactor(level->saddle, D, A, ranktol);
  gather(&work->M.A, level->cols, level->col_place, W, NULL);
  for (int q = 0; q < level->ncols; q++) level->fixed[q] = level->root[q] == 0.0;
  cpMatFix(W, A, level->fixed);
  return cpSaddleFactor(level->saddle, (CPWeight){.matrix = W}, A, ranktol);
}

/* ---- solutions ---- */

/* In a diagonal metric, root = 0 already keeps components fixed. */
int cpLevelSolve(CPLevel *level, const double *f, const double *b, double *x, double *mu) {
  const int *cols = level->cols, n = level->ncols, diagonal = !level->W.value;
  for (int q = 0; f && q < n; q++)
    level->f[q] = diagonal || level->root[q] != 0.0 ? f[cols[q]] : 0.0;
  const int flag = cpSaddleSolve(level->saddle, f ? level->f : NULL, b, x ? level->x : NULL, mu);
  for (int q = 0; !flag && x && q < n; q++)
    x[cols[q]] = diagonal || level->root[q] != 0.0 ? level->x[q] : 0.0;
  return flag;
}
