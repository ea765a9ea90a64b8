/* Dense LU factors with row interchanges, by LAPACK. Rows are scaled to their largest entry, so that the choice of
 * pivots does not depend on units: equations of motion and of constraints have different ones. */
#include "lu_impl.h"

#include "cpodes/saddle/lapack.h"
#include "cpodes/saddle/small.h"

#include <math.h>

typedef struct {
  int *pivot;    /* [order] */
  double *scale; /* [order] */
} Dense;

static int denseCreate(CPLu lu) {
  Dense *d = lu->content = cpArenaAlloc(&lu->arena, 1, sizeof *d);
  if (!d) return CP_MEM_FAIL;
  CP_NEW(&lu->arena, d->pivot, lu->order);
  CP_NEW(&lu->arena, d->scale, lu->order);
  const int flag = cpMatCreateDense(&lu->S, lu->order * lu->parts, lu->order);
  lu->S.rows     = lu->order;
  return flag ? flag : cpArenaStatus(&lu->arena);
}

/* The size of a complex number is the larger one of its parts. */
static int scaleRows(CPLu lu, double *scale) {
  const size_t order = (size_t)lu->order, parts = (size_t)lu->parts, column = order * parts;
  double *value = lu->S.value;
  for (size_t i = 0; i < order; i++) scale[i] = 0.0;
  for (size_t j = 0; j < order; j++)
    for (size_t i = 0; i < column; i++)
      scale[i / parts] = fmax(scale[i / parts], fabs(value[i + j * column]));
  for (size_t i = 0; i < order; i++) {
    if (!(scale[i] > 0.0) || !isfinite(scale[i])) return 1;
    scale[i] = 1.0 / scale[i];
  }
  for (size_t j = 0; j < order; j++)
    for (size_t i = 0; i < column; i++) value[i + j * column] *= scale[i / parts];
  return 0;
}

static int denseFactor(CPLu lu) {
  Dense *d      = lu->content;
  double *value = lu->S.value;
  int info      = 0;
  const int n   = lu->order;
  if (scaleRows(lu, d->scale)) return 1;
  if (lu->parts == 1) F77(dgetrf)(&n, &n, value, &n, d->pivot, &info);
  else F77(zgetrf)(&n, &n, value, &n, d->pivot, &info);
  return info < 0 ? CP_LINSOL_FAIL : info > 0;
}

/* L U x <- P D x, D the scales of the rows */
static int denseSolve(CPLu lu, double *x) {
  const Dense *d   = lu->content;
  const double *LU = lu->S.value;
  const int n = lu->order, one = 1;
  int info = 0;
  for (int i = 0; i < n * lu->parts; i++) x[i] *= d->scale[i / lu->parts];
  if (lu->parts == 2) {
    F77(zgetrs)("N", &n, &one, LU, &n, d->pivot, x, &n, &info);
    return info ? CP_LINSOL_FAIL : CP_SUCCESS;
  }
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
