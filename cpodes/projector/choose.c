/* The choice of the linear solver for AUTO, by size, pattern and (factor.c) rank. The limits are
 * those of the guide's table "Which solver", from bench/solvers. */
#include "projector_impl.h"

#include <stdint.h>
#include <stdlib.h>

/* Up to this many constraints in a level dense factors cost less than sparse ones. */
#define DENSE_UP_TO 8

/* *part <- the fraction of nonzeros in A^T A, where constraints are neighbours if they share a
 * component. Samples rows, evenly distributed, with a bit each: exact for up to 64 constraints. */
static int density(const CPLevel *level, double *part) {
  const int most       = 8 * (int)sizeof(uint64_t);
  const int stride     = (level->nrows + most - 1) / most;
  const int samples    = (level->nrows + stride - 1) / stride;
  uint64_t *neighbours = calloc((size_t)level->nrows, sizeof *neighbours);
  double count         = 0.0;
  if (!neighbours) return CP_MEM_FAIL;
  for (int q = 0; q < level->ncols; q++) {
    const size_t first = level->A.start[q], end = level->A.start[q + 1];
    uint64_t sampled = 0;
    for (size_t k = first; k < end; k++) {
      const int i = level->A.row[k];
      if (i % stride == 0 && i / stride < most) sampled |= UINT64_C(1) << i / stride;
    }
    for (size_t k = first; k < end; k++) neighbours[level->A.row[k]] |= sampled;
  }
  for (int i = 0; i < level->nrows; i++)
    for (uint64_t bits = neighbours[i]; bits; bits &= bits - 1) count += 1.0;
  free(neighbours);
  *part = count / ((double)level->nrows * samples);
  return CP_SUCCESS;
}

/* Chooses by the largest level, and by the densest one. */
static int choose(CPWork work) {
  const CPProjector P = work->P;
  int rows            = 0;
  double densest      = 0.0;
  for (int l = 0; l < work->nlevels; l++) {
    double part = 0.0;
    if (work->levels[l].nrows > 0 && density(&work->levels[l], &part)) return CP_MEM_FAIL;
    if (work->levels[l].nrows > rows) rows = work->levels[l].nrows;
    densest = fmax(densest, part);
  }
  if (rows <= DENSE_UP_TO) cpWrite(P->reason, "at most %d constraints in a level", rows);
  else
    cpWrite(P->reason, "up to %d constraints in a level, %.2g of them coupled to each", rows,
            densest);
  work->linsol =
      rows > DENSE_UP_TO && densest <= CP_SPARSE_UP_TO ? CP_LINSOL_SPARSE : CP_LINSOL_SCHUR;
  return CP_SUCCESS;
}

int cpChooseSolver(CPWork work) {
  CPProjector P = work->P;
  int flag = CP_SUCCESS, kkt = 0; /* 1: a level's sparse metric needs KKT */
  work->linsol = P->options.linsol;
  for (int l = 0; l < work->nlevels; l++) {
    const CPLevel *level = &work->levels[l];
    kkt |= level->W.start && level->nrows > 0 && !cpSaddleHasSmallBlocks(&level->W);
  }
  if (kkt && (P->options.linsol == CP_LINSOL_AUTO || P->options.linsol == CP_LINSOL_SPARSE)) {
    work->linsol = CP_LINSOL_KKT;
    cpWrite(P->reason, "the metric is sparse and couples many components");
  } else if (P->options.linsol != CP_LINSOL_AUTO) {
    cpWrite(P->reason, "asked for");
  } else if (!P->G_tmpl && P->nnorms == 0) {
    work->linsol = CP_LINSOL_SCHUR;
    cpWrite(P->reason, "G is dense");
  } else flag = choose(work);
  P->stats.linsol = work->linsol;
  work->compact   = !P->G_tmpl && cpHasDiagonalMetric(P) && !cpSaddleKeepsPattern(work->linsol);
  return flag;
}
