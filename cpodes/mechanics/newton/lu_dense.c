/* Dense LU factors with row interchanges, by LAPACK. Rows are scaled to their largest entry, so that the
 * choice of pivots does not depend on units: equations of motion and of constraints have different
 * ones. */
#include "newton_impl.h"

#include "cpodes/saddle/lapack.h"
#include "cpodes/saddle/small.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  int *pivot;    /* [order] */
  double *scale; /* [order] */
} Dense;

static void denseDestroy(CPLu lu) {
  Dense *d = lu->content;
  if (!d) return;
  free(d->pivot);
  free(d->scale);
  free(d);
  lu->content = NULL;
}

static int denseCreate(CPLu lu) {
  const size_t order = (size_t)lu->order;
  Dense *d = lu->content = calloc(1, sizeof *d);
  if (!d) return CP_MEM_FAIL;
  d->pivot  = malloc(order * sizeof *d->pivot);
  d->scale  = malloc(order * sizeof *d->scale);
  lu->value = malloc(order * order * sizeof *lu->value);
  return d->pivot && d->scale && lu->value ? CP_SUCCESS : CP_MEM_FAIL;
}

static int scaleRows(CPLu lu, double *scale) {
  const size_t order = (size_t)lu->order;
  for (size_t i = 0; i < order; i++) scale[i] = 0.0;
  for (size_t j = 0; j < order; j++)
    for (size_t i = 0; i < order; i++) scale[i] = fmax(scale[i], fabs(lu->value[i + j * order]));
  for (size_t i = 0; i < order; i++) {
    if (!(scale[i] > 0.0) || !isfinite(scale[i])) return 1;
    scale[i] = 1.0 / scale[i];
  }
  for (size_t j = 0; j < order; j++)
    for (size_t i = 0; i < order; i++) lu->value[i + j * order] *= scale[i];
  return 0;
}

static int denseFactor(CPLu lu) {
  Dense *d    = lu->content;
  int info    = 0;
  const int n = lu->order;
  if (scaleRows(lu, d->scale)) return 1;
  F77(dgetrf)(&n, &n, lu->value, &n, d->pivot, &info);
  return info < 0 ? CP_LINSOL_FAIL : info > 0;
}

/* P L U x = x: rows interchanged, then both triangles */
static void solveSmall(const CPLu lu, const int *pivot, double *x) {
  const int n = lu->order;
  for (int i = 0; i < n; i++) {
    const double moved = x[pivot[i] - 1];
    x[pivot[i] - 1]    = x[i];
    x[i]               = moved;
  }
  cpSolveLower(n, lu->value, n, 1, x);
  cpSolveUpper(n, lu->value, n, x);
}

static int denseSolve(CPLu lu, double *x) {
  const Dense *d = lu->content;
  const int n = lu->order, one = 1;
  int info = 0;
  for (int i = 0; i < n; i++) x[i] *= d->scale[i];
  if (n <= CP_SMALL) solveSmall(lu, d->pivot, x);
  else F77(dgetrs)("N", &n, &one, lu->value, &n, d->pivot, x, &n, &info);
  return info ? CP_LINSOL_FAIL : CP_SUCCESS;
}

const CPLuOps cpLuDenseOps = {
    .create = denseCreate, .factor = denseFactor, .solve = denseSolve, .destroy = denseDestroy};
