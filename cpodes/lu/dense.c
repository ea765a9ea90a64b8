/* Dense LU factors with row interchanges, by LAPACK, or for small orders by loops. The loops take
 * half of the time of LAPACK (the reference or OpenBLAS) for solutions, and for factors two fifths
 * of it at order 6, and 0.7 to 1.1 of it at orders from 32 to 64. Rows are scaled to a largest
 * entry of 1, so that the choice of pivots does not depend on units, which differ between
 * equations of motion and constraints. */
#include "lu_impl.h"

#include "cpodes/base/compat.h"
#include "cpodes/matrix/lapack.h"

#include <math.h>

typedef struct {
  int *pivot;      /* [order] LAPACK's; for small orders the row of S that becomes row k of L U */
  double *scale;   /* [order] for the rows of S; for small orders for the rows of L U */
  double *inverse; /* [parts * order] 1 / diagonal of U, for small orders */
  double *free[2]; /* [order] real and imaginary parts of the components that are not fixed */
} Dense;

static int denseCreate(CPLu lu) {
  Dense *d = lu->content = cpArenaAlloc(&lu->arena, 1, sizeof *d);
  if (!d) return CP_MEM_FAIL;
  CP_NEW(&lu->arena, d->pivot, lu->order);
  CP_NEW(&lu->arena, d->scale, lu->order);
  CP_NEW(&lu->arena, d->inverse, lu->parts * lu->order);
  for (int part = 0; part < lu->parts; part++) CP_NEW(&lu->arena, d->free[part], lu->order);
  const int flag = cpMatCreateDense(&lu->S, lu->order * lu->parts, lu->order);
  lu->S.rows     = lu->order;
  return flag ? flag : cpArenaStatus(&lu->arena);
}

/* A number has one or two parts. The size of a complex number is max(|re|, |im|). */
CP_WIDE_PART double sizeOf(int parts, const double *x) {
  const double re = fabs(x[0]), im = parts == 2 ? fabs(x[1]) : 0.0;
  return re > im ? re : im;
}

CP_WIDE_PART int scaleRows(int n, int parts, double *value, double *scale) {
  for (int i = 0; i < n; i++) scale[i] = 0.0;
  const double *entry = value;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++, entry += parts) {
      const double size = sizeOf(parts, entry);
      if (!(size <= scale[i])) scale[i] = size;
    }
  for (int i = 0; i < n; i++) {
    if (!(scale[i] > 0.0) || !isfinite(scale[i])) return 1;
    scale[i] = 1.0 / scale[i];
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      for (int part = 0; part < parts; part++) *value++ *= scale[i];
  return 0;
}

CP_WIDE static int scaleLarge(int n, int parts, double *value, double *scale) {
  return parts == 1 ? scaleRows(n, 1, value, scale) : scaleRows(n, 2, value, scale);
}

/* ---- factors ---- */

/* x <- f x */
CP_WIDE_PART void multiply(int parts, const double *f, double *x) {
  const double re = x[0];
  x[0] *= f[0];
  if (parts == 1) return;
  x[0] -= f[1] * x[1];
  x[1] = f[0] * x[1] + f[1] * re;
}

/* y <- y - f x, for n numbers */
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

/* inverse <- 1 / x, without squares, which might underflow (Smith's algorithm). */
CP_WIDE_PART void invert(int parts, const double *x, double *inverse) {
  if (parts == 1) {
    inverse[0] = 1.0 / x[0];
  } else if (fabs(x[0]) >= fabs(x[1])) {
    const double ratio = x[1] / x[0], re = 1.0 / (x[0] + ratio * x[1]);
    inverse[0] = re;
    inverse[1] = -ratio * re;
  } else {
    const double ratio = x[0] / x[1], im = 1.0 / (x[1] + ratio * x[0]);
    inverse[0] = ratio * im;
    inverse[1] = -im;
  }
}

CP_WIDE_PART void exchange(int parts, double *a, double *b) {
  for (int part = 0; part < parts; part++) {
    const double moved = a[part];
    a[part]            = b[part];
    b[part]            = moved;
  }
}

/* Factors a matrix of order n column by column, with LAPACK's choice of pivots, the largest |re| +
 * |im|. Returns 1 if there is no pivot. */
CP_WIDE_PART int eliminate(int n, int parts, double *LU, int *row, double *inverse) {
  for (int i = 0; i < n; i++) row[i] = i;
  for (int k = 0; k < n; k++) {
    double *column = LU + k * n * parts, *below = column + (k + 1) * parts, largest = 0.0;
    int p = k;
    for (int i = k; i < n; i++) {
      const double size = fabs(column[i * parts]) + (parts == 2 ? fabs(column[i * parts + 1]) : 0.0);
      if (size > largest) largest = size, p = i;
    }
    if (!(largest > 0.0)) return 1;
    if (p != k) {
      const int moved = row[k];
      row[k]          = row[p];
      row[p]          = moved;
      for (int j = 0; j < n; j++)
        exchange(parts, LU + (j * n + k) * parts, LU + (j * n + p) * parts);
    }
    invert(parts, column + k * parts, inverse + k * parts);
    for (int i = 0; i < n - k - 1; i++) multiply(parts, inverse + k * parts, below + i * parts);
    for (int j = k + 1; j < n; j++) {
      double *other = LU + (j * n + k) * parts;
      if (other[0] == 0.0 && (parts == 1 || other[1] == 0.0)) continue;
      subtract(n - k - 1, parts, other, below, other + parts);
    }
  }
  return 0;
}

CP_WIDE static int factorSmall(int n, int parts, double *LU, int *row, double *scale,
                               double *inverse, double *work) {
  if (parts == 1 ? scaleRows(n, 1, LU, work) : scaleRows(n, 2, LU, work)) return 1;
  if (parts == 1 ? eliminate(n, 1, LU, row, inverse) : eliminate(n, 2, LU, row, inverse)) return 1;
  for (int i = 0; i < n; i++) scale[i] = work[row[i]];
  return 0;
}

static int denseFactor(CPLu lu) {
  Dense *d      = lu->content;
  double *value = lu->S.value;
  int info      = 0;
  const int n = lu->S.cols, parts = lu->parts;
  if (n == 0) return 0;
  if (n <= CP_SMALL) return factorSmall(n, parts, value, d->pivot, d->scale, d->inverse, lu->work);
  if (scaleLarge(n, parts, value, d->scale)) return 1;
  if (parts == 1) F77(dgetrf)(&n, &n, value, &n, d->pivot, &info);
  else F77(zgetrf)(&n, &n, value, &n, d->pivot, &info);
  return info != 0; /* other failures of LAPACK are illegal arguments */
}

/* ---- solutions ---- */

CP_WIDE_PART void substitute(int n, int parts, const double *LU, const double *inverse, double *x) {
  for (int k = 0; k < n; k++)
    subtract(n - k - 1, parts, x + k * parts, LU + (k * n + k + 1) * parts, x + (k + 1) * parts);
  for (int k = n - 1; k >= 0; k--) {
    multiply(parts, inverse + k * parts, x + k * parts);
    subtract(k, parts, x + k * parts, LU + k * n * parts, x);
  }
}

CP_WIDE static void solveSmall(int n, int parts, const double *LU, const Dense *d, double *x,
                               double *re, double *im) {
  if (parts == 1) {
    for (int i = 0; i < n; i++) x[i] = d->scale[i] * re[d->pivot[i]];
    substitute(n, 1, LU, d->inverse, x);
    for (int i = 0; i < n; i++) re[i] = x[i];
    return;
  }
  for (int i = 0; i < n; i++) {
    x[2 * i]     = d->scale[i] * re[d->pivot[i]];
    x[2 * i + 1] = d->scale[i] * im[d->pivot[i]];
  }
  substitute(n, 2, LU, d->inverse, x);
  for (int i = 0; i < n; i++) {
    re[i] = x[2 * i];
    im[i] = x[2 * i + 1];
  }
}

/* Solves L U x = P D b, with the row scales D. */
static int solveFree(CPLu lu, double *re, double *im) {
  const Dense *d   = lu->content;
  const double *LU = lu->S.value;
  const int n = lu->S.cols, parts = lu->parts, one = 1;
  int info  = 0;
  double *x = parts == 1 ? re : lu->work;
  if (n <= CP_SMALL) {
    solveSmall(n, parts, LU, d, lu->work, re, im);
    return CP_SUCCESS;
  }
  if (parts == 2) cpLuJoin(n, re, im, x);
  for (int i = 0; i < n; i++)
    for (int part = 0; part < parts; part++) x[i * parts + part] *= d->scale[i];
  if (parts == 1) F77(dgetrs)("N", &n, &one, LU, &n, d->pivot, x, &n, &info);
  else F77(zgetrs)("N", &n, &one, LU, &n, d->pivot, x, &n, &info);
  if (parts == 2) cpLuPart(n, x, re, im);
  return CP_SUCCESS;
}

/* Fixed components of the solution are those of the right-hand side, and have no part in the others. */
static int denseSolve(CPLu lu, double *re, double *im) {
  const Dense *d     = lu->content;
  double *const x[2] = {re, im};
  if (lu->S.cols == lu->order) return solveFree(lu, re, im);
  if (lu->S.cols == 0) return CP_SUCCESS;
  for (int part = 0; part < lu->parts; part++)
    for (int i = 0; i < lu->order; i++)
      if (lu->at[i] >= 0) d->free[part][lu->at[i]] = x[part][i];
  const int flag = solveFree(lu, d->free[0], d->free[1]);
  for (int part = 0; part < lu->parts; part++)
    for (int i = 0; i < lu->order; i++)
      if (lu->at[i] >= 0) x[part][i] = d->free[part][lu->at[i]];
  return flag;
}

const CPLuOps cpLuDenseOps = {denseCreate, denseFactor, denseSolve};
