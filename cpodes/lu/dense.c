/* Dense LU factors with row interchanges, by LAPACK. Rows are scaled to their largest entry, so that the choice of
 * pivots does not depend on units: equations of motion and of constraints have different ones. */
#include "lu_impl.h"

#include "cpodes/base/compat.h"
#include "cpodes/saddle/lapack.h"
#include "cpodes/saddle/small.h"

#include <math.h>

typedef struct {
  int *pivot;      /* [order] */
  double *scale;   /* [order] */
  double *inverse; /* [parts * order] of the diagonal of U, for small orders */
} Dense;

static int denseCreate(CPLu lu) {
  Dense *d = lu->content = cpArenaAlloc(&lu->arena, 1, sizeof *d);
  if (!d) return CP_MEM_FAIL;
  CP_NEW(&lu->arena, d->pivot, lu->order);
  CP_NEW(&lu->arena, d->scale, lu->order);
  CP_NEW(&lu->arena, d->inverse, lu->parts * lu->order);
  const int flag = cpMatCreateDense(&lu->S, lu->order * lu->parts, lu->order);
  lu->S.rows     = lu->order;
  return flag ? flag : cpArenaStatus(&lu->arena);
}

/* Numbers have one or two parts. The size of a complex one is the larger one of these. */
CP_WIDE_PART double sizeOf(int parts, const double *x) {
  const double re = fabs(x[0]), im = parts == 2 ? fabs(x[1]) : 0.0;
  return re > im ? re : im;
}

static int scaleRows(CPLu lu, double *scale) {
  const int n = lu->order, parts = lu->parts;
  for (int i = 0; i < n; i++) scale[i] = 0.0;
  const double *entry = lu->S.value;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++, entry += parts) {
      const double size = sizeOf(parts, entry);
      if (!(size <= scale[i])) scale[i] = size;
    }
  for (int i = 0; i < n; i++) {
    if (!(scale[i] > 0.0) || !isfinite(scale[i])) return 1;
    scale[i] = 1.0 / scale[i];
  }
  double *value = lu->S.value;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      for (int part = 0; part < parts; part++) *value++ *= scale[i];
  return 0;
}

static int denseFactor(CPLu lu) {
  Dense *d      = lu->content;
  double *value = lu->S.value;
  int info      = 0;
  const int n = lu->order, parts = lu->parts;
  if (scaleRows(lu, d->scale)) return 1;
  if (parts == 1) F77(dgetrf)(&n, &n, value, &n, d->pivot, &info);
  else F77(zgetrf)(&n, &n, value, &n, d->pivot, &info);
  if (info) return info < 0 ? CP_LINSOL_FAIL : 1;
  for (int k = 0; n <= CP_SMALL && k < n; k++) {
    const double *u = value + (k * n + k) * parts, im = parts == 2 ? u[1] : 0.0;
    const double size = hypot(u[0], im);
    double *inverse   = d->inverse + k * parts;
    inverse[0]        = u[0] / size / size;
    if (parts == 2) inverse[1] = -im / size / size;
  }
  return 0;
}

/* ---- solutions: for small orders loops take half of the time of LAPACK, the reference or OpenBLAS ---- */

/* x <- f x */
CP_WIDE_PART void multiply(int parts, const double *f, double *x) {
  const double re = x[0];
  x[0] *= f[0];
  if (parts == 1) return;
  x[0] -= f[1] * x[1];
  x[1] = f[0] * x[1] + f[1] * re;
}

/* y <- y - f x, n numbers */
CP_WIDE_PART void subtract(int n, int parts, const double *f, const double *restrict x,
                           double *restrict y) {
  const double re = f[0], im = parts == 2 ? f[1] : 0.0;
  if (parts == 1)
    for (int i = 0; i < n; i++) y[i] -= re * x[i];
  else
    for (int i = 0; i < n; i++) {
      y[2 * i] -= re * x[2 * i] - im * x[2 * i + 1];
      y[2 * i + 1] -= re * x[2 * i + 1] + im * x[2 * i];
    }
}

CP_WIDE static void solveSmall(int n, int parts, const double *LU, const double *inverse, double *x) {
  for (int k = 0; k < n; k++)
    subtract(n - k - 1, parts, x + k * parts, LU + (k * n + k + 1) * parts, x + (k + 1) * parts);
  for (int k = n - 1; k >= 0; k--) {
    multiply(parts, inverse + k * parts, x + k * parts);
    subtract(k, parts, x + k * parts, LU + k * n * parts, x);
  }
}

/* L U x <- P D x, D the scales of the rows */
static int denseSolve(CPLu lu, double *x) {
  const Dense *d   = lu->content;
  const double *LU = lu->S.value;
  const int n = lu->order, parts = lu->parts, one = 1;
  int info = 0;
  for (int i = 0; i < n; i++)
    for (int part = 0; part < parts; part++) x[i * parts + part] *= d->scale[i];
  if (n > CP_SMALL) {
    if (parts == 1) F77(dgetrs)("N", &n, &one, LU, &n, d->pivot, x, &n, &info);
    else F77(zgetrs)("N", &n, &one, LU, &n, d->pivot, x, &n, &info);
    return info ? CP_LINSOL_FAIL : CP_SUCCESS;
  }
  for (int i = 0; i < n; i++)
    for (int part = 0; part < parts; part++) {
      double *a = x + i * parts + part, *b = x + (d->pivot[i] - 1) * parts + part, moved = *b;
      *b = *a;
      *a = moved;
    }
  solveSmall(n, parts, LU, d->inverse, x);
  return CP_SUCCESS;
}

const CPLuOps cpLuDenseOps = {denseCreate, denseFactor, denseSolve};
