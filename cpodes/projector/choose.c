/* Which linear solver AUTO takes: by size, pattern and (factor.c) rank. The limits are those of the
 * guide's table "Which solver", from bench/solvers. */
#include "projector_impl.h"

#include "../linsol/components.h"

#include <stdio.h>
#include <stdlib.h>

/* Up to so many constraints in a level dense factors cost less than a sparse solver's
 * administration. */
#define DENSE_UP_TO 24
/* Components of at most so many constraints are solved one by one. */
#define BLOCK_UP_TO 24
/* Part of entries in the pattern of A above which sparse factors do not pay. */
#define SPARSE_BELOW 0.25

/* What decides: over all levels, the largest. */
typedef struct {
  int rows, components, largest;
  double density;
} Shape;

static int measureLevel(const CPLevel *level, Shape *shape) {
  int components = 0, largest = 0;
  int *component = malloc(((size_t)level->nrows + 1) * sizeof *component);
  if (!component) return CP_MEM_FAIL;
  const int flag =
      cpComponents(&level->AT, level->ncols, level->nrows, component, &components, &largest);
  free(component);
  if (flag) return flag;
  const double full  = (double)level->ncols * level->nrows;
  const double share = (double)level->AT.start[level->ncols] / full;
  if (level->nrows > shape->rows) shape->rows = level->nrows;
  if (largest > shape->largest) shape->largest = largest;
  if (share > shape->density) shape->density = share;
  shape->components += components;
  return CP_SUCCESS;
}

static CPLinSol choose(CPWork work, const Shape *s) {
  if (s->components > work->nlevels && s->rows > 1 && s->largest <= BLOCK_UP_TO) {
    cpWrite(work->P->reason, "pattern falls into %d components of at most %d constraints",
            s->components, s->largest);
    return CP_LINSOL_BLOCK;
  }
  if (s->rows <= DENSE_UP_TO) {
    cpWrite(work->P->reason, "at most %d constraints in a level", s->rows);
    return CP_LINSOL_SCHUR;
  }
  if (s->density < SPARSE_BELOW) {
    cpWrite(work->P->reason, "up to %d constraints in a level, %.2g of G's entries in the pattern",
            s->rows, s->density);
    return CP_LINSOL_SPARSE;
  }
  cpWrite(work->P->reason, "%.2g of G's entries in the pattern", s->density);
  return CP_LINSOL_SCHUR;
}

int cpChooseSolver(CPWork work) {
  CPProjector P = work->P;
  Shape shape   = {0, 0, 0, 0.0};
  int flag      = CP_SUCCESS;
  work->linsol  = P->linsol;
  if (P->linsol != CP_LINSOL_AUTO) {
    cpWrite(P->reason, "asked for");
  } else if (!P->G_tmpl && P->nnorms == 0) {
    work->linsol = CP_LINSOL_SCHUR;
    cpWrite(P->reason, "G is dense");
  } else {
    for (int l = 0; !flag && l < work->nlevels; l++)
      if (work->levels[l].nrows > 0) flag = measureLevel(&work->levels[l], &shape);
    if (!flag) work->linsol = choose(work, &shape);
  }
  P->stats.linsol = work->linsol;
  work->compact   = !P->G_tmpl && !cpLinKeepsPattern(work->linsol);
  return flag;
}

const char *cpSolverName(CPLinSol type) {
  static const char *const names[] = {"not chosen yet",     "Schur complement", "QR",
                                      "QR with pivoting",   "sparse Cholesky",  "blocks",
                                      "conjugate gradients"};
  return names[type];
}
