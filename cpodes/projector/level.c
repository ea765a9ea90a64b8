/* Levels and their saddle points: on the rows and columns of level l, [W_l A_l^T; A_l 0] with A_l = G_l and W_l the block
 * of the metric's matrix, or D_l^{-1} of a diagonal metric. Components that are held do not move: D_l is the inverse of
 * the block of those that are free, not the block of an inverse. */
#include "projector_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* Sines of angles that count as zero: with exact entries of G, and with differences. */
#define RANK_TOLERANCE    1.0e-10
#define RANK_TOLERANCE_DQ 1.0e-6

void cpLevelsFree(CPWork work) {
  for (int l = 0; l < CP_MAX_LEVELS; l++) {
    CPLevel *level = &work->levels[l];
    cpSaddleFree(&level->saddle);
    cpArenaFree(&level->arena);
    memset(level, 0, sizeof *level);
  }
  work->nlevels = 0;
}

/* ---- structure ---- */

/* Indices of the entries of level[] that are l. */
static int *members(CPArena *arena, const int *level, int length, int l, int *count) {
  int *list;
  *count = 0;
  for (int i = 0; i < length; i++) *count += level[i] == l;
  CP_NEW(arena, list, *count);
  for (int i = 0, k = 0; list && i < length; i++)
    if (level[i] == l) list[k++] = i;
  return list;
}

/* A's pattern: that of g on the level. */
static int createRows(CPWork work, CPLevel *level, int l) {
  const CPMat *g       = &work->g;
  const int *row_level = work->P->row_level;
  size_t count         = 0;
  CPMat *A             = &level->A;
  for (int q = 0; level->nrows > 0 && q < level->ncols; q++)
    for (size_t k = g->start[level->cols[q]]; k < g->start[level->cols[q] + 1]; k++)
      count += row_level[g->row[k]] == l;
  *A = (CPMat){.rows = level->nrows, .cols = level->ncols};
  CP_NEW(&level->arena, A->start, level->ncols + 1);
  CP_NEW(&level->arena, A->row, count);
  CP_NEW(&level->arena, A->value, count);
  CP_NEW(&level->arena, level->from, count);
  CP_NEW(&level->arena, level->off, level->nrows);
  if (cpArenaStatus(&level->arena)) return CP_MEM_FAIL;
  for (int k = 0; k < level->nrows; k++) work->rowpos[level->rows[k]] = k;
  count = 0;
  for (int q = 0; q < level->ncols; q++) {
    const int j = level->cols[q];
    for (size_t k = level->nrows > 0 ? g->start[j] : 0; level->nrows > 0 && k < g->start[j + 1];
         k++) {
      if (row_level[g->row[k]] != l) continue;
      A->row[count]        = work->rowpos[g->row[k]];
      level->from[count++] = k;
    }
    A->start[q + 1] = count;
  }
  return CP_SUCCESS;
}

/* W's pattern: that of M on the level. */
static int createWeight(CPWork work, CPLevel *level) {
  const CPProjector P = work->P;
  const int n = P->n, nl = level->ncols;
  const size_t entries = cpMatrixEntries(work->M), square = (size_t)nl * (size_t)nl;
  const int sparse = P->M_tmpl && SUNMatGetID(P->M_tmpl) == SUNMATRIX_SPARSE;
  CPArena scratch = {0}, *arena = &level->arena;
  size_t *start = CP_NEW(&scratch, start, n + 1), *source = CP_NEW(&scratch, source, entries),
         count = 0;
  int *row = CP_NEW(&scratch, row, entries), *place = CP_NEW(&scratch, place, n);
  level->W = (CPMat){.rows = nl, .cols = nl};
  CP_NEW(arena, level->W.value, entries < square ? entries : square);
  CP_NEW(arena, level->W_from, entries < square ? entries : square);
  if (sparse) {
    CP_NEW(arena, level->W.start, nl + 1);
    CP_NEW(arena, level->W.row, entries);
  }
  const int flag = cpArenaStatus(&scratch) ? CP_MEM_FAIL : cpArenaStatus(arena);
  if (!flag) cpMatrixPattern(work->M, n, n, start, row, source);
  for (int j = 0; !flag && j < n; j++) place[j] = -1;
  for (int q = 0; !flag && q < nl; q++) place[level->cols[q]] = q;
  for (int q = 0; !flag && q < nl; q++) {
    for (size_t k = start[level->cols[q]]; k < start[level->cols[q] + 1]; k++) {
      if (place[row[k]] < 0) continue;
      if (sparse) level->W.row[count] = place[row[k]];
      level->W_from[count++] = source[k];
    }
    if (sparse) level->W.start[q + 1] = count;
  }
  cpArenaFree(&scratch);
  return flag;
}

int cpLevelCreate(CPWork work, int l, const int *row_level, const int *col_level) {
  const CPProjector P = work->P;
  CPLevel *level      = &work->levels[l];
  CPArena *arena      = &level->arena;
  level->rows         = members(arena, row_level, row_level ? P->m : 0, l, &level->nrows);
  level->cols         = members(arena, col_level, P->n, l, &level->ncols);
  CP_NEW(arena, level->root, level->ncols);
  CP_NEW(arena, level->f, level->ncols);
  CP_NEW(arena, level->x, level->ncols);
  if (cpArenaStatus(arena)) return CP_MEM_FAIL;
  const int flag = createRows(work, level, l);
  return flag || cpHasDiagonalMetric(P) ? flag : createWeight(work, level);
}

/* Bodies, and pairs of them, have blocks of their own in a metric, whose factors make A D A^T no denser. */
#define SMALL_BLOCK 16

int cpLevelHasSmallBlocks(const CPLevel *level) {
  return cpSaddleHasSmallBlocks(&level->W, SMALL_BLOCK);
}

/* Products with D alone have no rows. */
int cpLevelOpen(CPWork work, int l) {
  const CPProjector P     = work->P;
  CPLevel *level          = &work->levels[l];
  const CPMat *W          = cpHasDiagonalMetric(P) ? NULL : &level->W;
  CPSaddleOptions options = {.type = level->nrows > 0 ? cpSaddleOfLin(work->linsol) : CP_SADDLE_AUTO,
                             .may_change = P->linsol == CP_LINSOL_AUTO,
                             .definite   = 1,
                             .finest = P->jac || P->mc == 0 ? RANK_TOLERANCE : RANK_TOLERANCE_DQ};
  const int structured    = options.type == CP_SADDLE_SPARSE || options.type == CP_SADDLE_BLOCK;
  if (W && !W->start && structured) { /* what couples all rows is dense */
    options.type       = CP_SADDLE_SCHUR;
    options.may_change = 1;
  } else if (W && structured && !cpLevelHasSmallBlocks(level)) options.type = CP_SADDLE_KKT;
  return cpSaddleCreate(&level->saddle, options, W, &level->A);
}

/* ---- values ---- */

/* Of a dense G, whose zeros are left out. */
static void gatherCompact(CPWork work, CPLevel *level, int l) {
  const CPMat *g       = &work->g;
  const int *row_level = work->P->row_level;
  size_t count         = 0;
  for (int q = 0; q < level->ncols; q++) {
    const int j       = level->cols[q];
    level->A.start[q] = count;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) {
      if (row_level[g->row[k]] != l) continue;
      level->A.row[count]     = work->rowpos[g->row[k]];
      level->A.value[count++] = g->value[k];
    }
  }
  level->A.start[level->ncols] = count;
}

/* Rows without a gradient and rows that are switched off. */
void cpLevelRows(CPWork work, int l) {
  CPLevel *level = &work->levels[l];
  for (int k = 0; k < level->nrows; k++) level->off[k] = !(work->rowscale[level->rows[k]] > 0.0);
}

int cpLevelFactor(CPWork work, int l, double ranktol) {
  CPLevel *level  = &work->levels[l];
  const CPMat *A  = &level->A;
  CPWeight weight = {.root = level->root};
  if (work->compact) gatherCompact(work, level, l);
  else
    for (size_t k = 0; k < A->start[level->ncols]; k++) A->value[k] = work->g.value[level->from[k]];
  for (int q = 0; q < level->ncols; q++) level->root[q] = work->sqrtd[level->cols[q]];
  if (!cpHasDiagonalMetric(
          work->P)) { /* the identity's rows and columns for components that are held */
    const CPMat *W          = &level->W;
    const sunrealtype *data = cpMatrixData(work->M);
    for (int q = 0; q < level->ncols; q++) {
      for (size_t k = cpMatFirst(W, q); k < cpMatFirst(W, q + 1); k++) {
        const int p = cpMatRow(W, q, k), held = level->root[p] == 0.0 || level->root[q] == 0.0;
        W->value[k] = !held ? data[level->W_from[k]] : p == q ? 1.0 : 0.0;
      }
      for (size_t k = A->start[q]; level->root[q] == 0.0 && k < A->start[q + 1]; k++)
        A->value[k] = 0.0;
    }
    weight = (CPWeight){.matrix = W};
  }
  return cpSaddleFactor(level->saddle, weight, A, level->off, ranktol);
}

/* ---- solutions ---- */

/* In a diagonal metric held components stay without more ado. */
int cpLevelSolve(CPLevel *level, const double *f, const double *b, double *x, double *mu) {
  const int *cols = level->cols, n = level->ncols, diagonal = !level->W.value;
  for (int q = 0; f && q < n; q++)
    level->f[q] = diagonal || level->root[q] != 0.0 ? f[cols[q]] : 0.0;
  const int flag = cpSaddleSolve(level->saddle, f ? level->f : NULL, b, x ? level->x : NULL, mu);
  for (int q = 0; !flag && x && q < n; q++)
    x[cols[q]] = diagonal || level->root[q] != 0.0 ? level->x[q] : 0.0;
  return flag;
}
