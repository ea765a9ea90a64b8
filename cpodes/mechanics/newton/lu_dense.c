/* Dense LU factors with row interchanges, by LAPACK. Rows are scaled to their largest entry, so that the choice of
 * pivots does not depend on units: equations of motion and of constraints have different ones. */
#include "newton_impl.h"

#include "cpodes/saddle/lapack.h"
#include "cpodes/saddle/small.h"

#include <math.h>

typedef struct {
  int *pivot;    /* [order] */
  double *scale; /* [order] */
} Dense;

static int denseCreate(CPLu lu) {
  Dense *d = lu->content = cpArenaAlloc(lu->arena, 1, sizeof *d);
  if (!d) return CP_MEM_FAIL;
  CP_NEW(lu->arena, d->pivot, lu->order);
  CP_NEW(lu->arena, d->scale, lu->order);
  const int flag = cpMatCreateDense(&lu->S, lu->order, lu->order);
  return flag ? flag : cpArenaStatus(lu->arena);
}

static int scaleRows(CPMat *S, double *scale) {
  const size_t order = (size_t)S->rows;
  for (size_t i = 0; i < order; i++) scale[i] = 0.0;
  for (size_t j = 0; j < order; j++)
    for (size_t i = 0; i < order; i++) scale[i] = fmax(scale[i], fabs(S->value[i + j * order]));
  for (size_t i = 0; i < order; i++) {
    if (!(scale[i] > 0.0) || !isfinite(scale[i])) return 1;
    scale[i] = 1.0 / scale[i];
  }
  for (size_t j = 0; j < order; j++)
    for (size_t i = 0; i < order; i++) S->value[i + j * order] *= scale[i];
  return 0;
}

static int denseFactor(CPLu lu) {
  Dense *d    = lu->content;
  int info    = 0;
  const int n = lu->order;
  if (scaleRows(&lu->S, d->scale)) return 1;
  F77(dgetrf)(&n, &n, lu->S.value, &n, d->pivot, &info);
  return info < 0 ? CP_LINSOL_FAIL : info > 0;
}

/* L U x <- P D x, D the scales of the rows */
static int denseSolve(CPLu lu, double *x) {
  const Dense *d   = lu->content;
  const double *LU = lu->S.value;
  const int n = lu->order, one = 1;
  int info = 0;
  for (int i = 0; i < n; i++) x[i] *= d->scale[i];
  if (n > CP_SMALL) {
    F77(dgetrs)("N", &n, &one, LU, &n, d->pivot, x, &n, &info);
    return info ? CP_LINSOL_FAIL : CP_SUCCESS;
  }
  for (int i = 0; i < n; i++) {
    const double moved = x[d->pivot[i] - 1];
    x[d->pivot[i] - 1] = x[i];
    x[i]               = moved;
  }
  cpSolveLower(n, LU, n, 1, x);
  cpSolveUpper(n, LU, n, x);
  return CP_SUCCESS;
}

const CPLuOps cpLuDenseOps = {denseCreate, denseFactor, denseSolve};
