/* A sparse metric that couples many components is left to the solver, with the constraints, as a KKT
 * matrix (linsol/kkt/lin.c): F = I, and W = M_ll with the identity's rows and columns for components that
 * are held. */
#include "metric_whole.h"

#include "cpodes/saddle/components.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  CPMat W;
  size_t *from; /* [entries of W] in M's data */
} Whole;

const CPMat *cpMetricWhole(const CPMetric metric) {
  if (!metric || metric->ops != &cpMetricWholeOps) return NULL;
  return &((Whole *)metric->content)->W;
}

/* Bodies, and pairs of them, have blocks of their own, whose factors make A^T A no denser. */
#define LARGE_BLOCK 16

/* Order of the largest block of a symmetric pattern, after the best permutation; INT_MAX without
 * memory. */
static int largestBlock(const CPMat *A) {
  const CPEntries pattern = {A->start, A->row, NULL};
  int count = 0, largest = INT_MAX, *component = malloc((size_t)A->cols * sizeof *component);
  if (component && cpComponents(&pattern, A->cols, A->cols, component, &count, &largest))
    largest = INT_MAX;
  free(component);
  return largest;
}

int cpMetricIsWhole(const CPProjector P, const CPLevel *level) {
  if (level->nrows == 0 || (P->linsol != CP_LINSOL_AUTO && P->linsol != CP_LINSOL_SPARSE)) return 0;
  if (!P->M_tmpl || SUNMatGetID(P->M_tmpl) != SUNMATRIX_SPARSE || level->ncols != P->n) return 0;
  CPUserMat M;
  if (cpUserMatCreate(&M, P->M_tmpl, P->n, P->n, P->ctx)) return CP_MEM_FAIL;
  const int block = largestBlock(&M.A);
  cpUserMatFree(&M);
  return block == INT_MAX ? CP_MEM_FAIL : block > LARGE_BLOCK;
}

static void destroy(CPMetric metric) {
  Whole *w = metric->content;
  cpMatFree(&w->W);
  free(w->from);
  free(w);
  metric->content = NULL;
}

/* G's pattern on the rows of the level. */
static int copyPattern(CPWork work, CPLevel *level) {
  const CPEntries *g = &work->g;
  CPEntries *AT      = &level->AT;
  size_t count       = 0;
  if (!(AT->row = malloc((g->start[work->P->n] + 1) * sizeof *AT->row))) return CP_MEM_FAIL;
  for (int a = 0; a < level->ncols; a++) {
    for (size_t e = g->start[a]; e < g->start[a + 1]; e++) {
      const int k = level->metric->position[g->row[e]];
      if (k >= 0) AT->row[count++] = k;
    }
    AT->start[a + 1] = count;
  }
  return CP_SUCCESS;
}

static int create(CPWork work, CPLevel *level) {
  CPProjector P        = work->P;
  const size_t entries = cpMatrixEntries(P->M_tmpl);
  Whole *w = level->metric->content = calloc(1, sizeof *w);
  if (!w) return CP_MEM_FAIL;
  w->from  = malloc((entries + 1) * sizeof *w->from);
  int flag = cpMatCreateSparse(&w->W, P->n, P->n, entries);
  if (flag || !w->from) return CP_MEM_FAIL;
  cpMatrixPattern(P->M_tmpl, P->n, P->n, w->W.start, w->W.row, w->from);
  return copyPattern(work, level);
}

static int factor(CPWork work, sunrealtype t, CPLevel *level) {
  Whole *w                = level->metric->content;
  const sunrealtype *data = cpMatrixData(work->M);
  (void)t;
  for (int j = 0; j < w->W.cols; j++)
    for (size_t k = w->W.start[j]; k < w->W.start[j + 1]; k++) {
      const int i = w->W.row[k], held = cpIsHeld(work, i) || cpIsHeld(work, j);
      w->W.value[k] = !held ? data[w->from[k]] : i == j ? 1.0 : 0.0;
    }
  return CP_SUCCESS; /* the solver finds out whether it is definite */
}

static void gather(CPLevel *level) { (void)level; }

static void times(const CPWork work, const CPLevel *level, double *xl, double *x) {
  for (int a = 0; a < level->ncols; a++) x[a] = cpIsHeld(work, a) ? 0.0 : xl[a];
}

static void transposedTimes(const CPWork work, const CPLevel *level, const double *z, double *xl) {
  for (int a = 0; a < level->ncols; a++) xl[a] = cpIsHeld(work, a) ? 0.0 : z[a];
}

const CPMetricOps cpMetricWholeOps = {.create          = create,
                                      .factor          = factor,
                                      .gather          = gather,
                                      .times           = times,
                                      .transposedTimes = transposedTimes,
                                      .destroy         = destroy};
