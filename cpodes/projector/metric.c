/* Weights that measure, and the user's metric: called and checked, into work->M. */
#include "projector_impl.h"

#include "cpodes/saddle/lapack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

int cpWeights(CPWork work, N_Vector y, N_Vector ewt) {
  CPProjector P = work->P;
  const int n = P->n, ones = work->norm == CP_NORM_L2 || !cpHasDiagonalMetric(P);
  const sunrealtype *z = N_VGetArrayPointer(y), *weight = ewt ? N_VGetArrayPointer(ewt) : NULL;
  const sunrealtype *id = P->id ? N_VGetArrayPointer(P->id) : NULL;
  for (int j = 0; j < n; j++) {
    const double w = weight ? weight[j] : 1.0 / (CP_BLIND_TOLERANCE * (1.0 + fabs(z[j])));
    if (!(w >= CP_LEAST_WEIGHT))
      return cpReason(work->text, CP_ILL_INPUT, CP_EWT_TOO_SMALL, CP_LEAST_WEIGHT, j, w);
    if (!isfinite(w))
      return cpReason(work->text, CP_ILL_INPUT, "ewt must be finite: ewt[%d] = %g", j, w);
    work->w[j]     = w;
    work->sqrtd[j] = ones ? 1.0 : 1.0 / w;
    if (id && id[j] == 0.0) work->sqrtd[j] = 0.0;
  }
  return CP_SUCCESS;
}

/* ---- the user's metric ---- */

/* Differences of mirrored entries, relative to the roots of their diagonals, that count as
 * symmetric: above what products and iterative inverses leave, far below what a wrong matrix shows.
 */
#define ASYMMETRY 1.0e-8

static int callMatrix(CPWork work, sunrealtype t, N_Vector y) {
  const CPProjector P = work->P;
  cpMatrixZero(work->M, P->M_tmpl);
  const int flag = P->metric_matrix(t, y, work->M, P->user_data);
  if (flag) return cpUserResult(work->text, flag, t, "the metric");
  if (!cpMatrixSamePattern(work->M, P->M_tmpl))
    return cpReason(work->text, CP_USERFUNC_FAIL,
                    "at t = %.15g: the metric function changed the index arrays of its template "
                    "(CPProjectorSetMetricMatrix)",
                    t);
  return CP_SUCCESS;
}

int cpMetricIndefinite(CPWork work, sunrealtype t, const CPLevel *level) {
  const int q = level->saddle->indefinite;
  if (q < 0)
    return cpReason(work->text, -CP_METRIC_INDEFINITE,
                    "at t = %.15g: the metric is not positive definite on the tangent space", t);
  return cpReason(
      work->text, -CP_METRIC_INDEFINITE,
      "at t = %.15g: the metric is not positive definite (its Cholesky factorisation ends "
      "at component %d)",
      t, level->cols[q]);
}

/* D column by column, D e_j. */
static int callOperator(CPWork work, sunrealtype t, N_Vector y) {
  const CPProjector P = work->P;
  N_Vector x = N_VClone(P->y_tmpl), Dx = N_VClone(P->y_tmpl);
  int flag = x && Dx ? CP_SUCCESS : cpReason(work->text, CP_MEM_FAIL, "no memory for the metric");
  for (int j = 0; !flag && j < P->n; j++) {
    N_VConst(0.0, x);
    N_VConst(0.0, Dx);
    N_VGetArrayPointer(x)[j] = 1.0;
    flag                     = P->metric(t, y, x, Dx, P->user_data);
    if (flag) flag = cpUserResult(work->text, flag, t, "the metric");
    else
      memcpy(SUNDenseMatrix_Column(work->M, j), N_VGetArrayPointer(Dx),
             (size_t)P->n * sizeof(double));
  }
  if (x) N_VDestroy(x);
  if (Dx) N_VDestroy(Dx);
  return flag;
}

/* D becomes its inverse, both triangles. */
static int invertOperator(CPWork work, sunrealtype t) {
  const int n    = work->P->n;
  sunrealtype *M = SM_DATA_D(work->M);
  int info       = 0;
  F77(dpotrf)("L", &n, M, &n, &info);
  const int bad = info;
  if (!info) F77(dpotri)("L", &n, M, &n, &info);
  for (int j = 0; !info && j < n; j++)
    for (int i = j + 1; i < n; i++) M[j + (size_t)i * (size_t)n] = M[i + (size_t)j * (size_t)n];
  if (!info) return CP_SUCCESS;
  return cpReason(
      work->text, -CP_METRIC_INDEFINITE,
      "at t = %.15g: the metric is not positive definite (its Cholesky factorisation ends "
      "at component %d)",
      t, (bad ? bad : info) - 1);
}

/* The entries of a matrix as they stand in its data, by columns (CSR: by rows, mirrored). */
typedef struct {
  const sunindextype *start, *row; /* NULL: dense */
  const sunrealtype *value;
  int n, by_rows;
} View;

static View viewOf(SUNMatrix M, int n) {
  if (SUNMatGetID(M) != SUNMATRIX_SPARSE) return (View){.value = SM_DATA_D(M), .n = n};
  return (View){.start   = SM_INDEXPTRS_S(M),
                .row     = SM_INDEXVALS_S(M),
                .value   = SM_DATA_S(M),
                .n       = n,
                .by_rows = SM_SPARSETYPE_S(M) == CSR_MAT};
}

static int compareIndices(const void *a, const void *b) {
  const sunindextype i = *(const sunindextype *)a, j = *(const sunindextype *)b;
  return (i > j) - (i < j);
}

/* Entry (i, j), which is in the pattern. */
static sunrealtype entryOf(const View *v, sunindextype i, sunindextype j) {
  if (!v->start) return v->value[i + j * v->n];
  const size_t length        = (size_t)(v->start[j + 1] - v->start[j]);
  const sunindextype *column = v->row + v->start[j];
  const sunindextype *place  = bsearch(&i, column, length, sizeof i, compareIndices);
  return place ? v->value[place - v->row] : 0.0;
}

static int notFinite(CPWork work, sunrealtype t, const View *v, sunindextype i, sunindextype j,
                     sunrealtype value) {
  return cpReason(work->text, -CP_METRIC_INDEFINITE,
                  "at t = %.15g: entry (%ld, %ld) of the metric is %g", t,
                  (long int)(v->by_rows ? j : i), (long int)(v->by_rows ? i : j), value);
}

static int checkDiagonal(CPWork work, sunrealtype t, const View *v) {
  for (int j = 0; j < v->n; j++) {
    const sunrealtype m = entryOf(v, j, j);
    if (!isfinite(m)) return notFinite(work, t, v, j, j, m);
    if (m <= 0.0)
      return cpReason(
          work->text, -CP_METRIC_INDEFINITE,
          "at t = %.15g: the metric is not positive definite: its diagonal entry %d is %g", t, j, m);
  }
  return CP_SUCCESS;
}

static int checkPair(CPWork work, sunrealtype t, const View *v, sunindextype i, sunindextype j,
                     sunrealtype m) {
  if (!isfinite(m)) return notFinite(work, t, v, i, j, m);
  const sunrealtype mirror = entryOf(v, j, i);
  if (m == mirror || !isfinite(mirror)) return CP_SUCCESS; /* the latter has its own turn */
  const sunrealtype size = sqrt(entryOf(v, i, i)) * sqrt(entryOf(v, j, j));
  if (fabs(m - mirror) <= ASYMMETRY * size) return CP_SUCCESS;
  return cpReason(
      work->text, -CP_METRIC_INDEFINITE,
      "at t = %.15g: the metric is not symmetric: entry (%ld, %ld) is %.15g, entry (%ld, "
      "%ld) is %.15g",
      t, (long int)i, (long int)j, v->by_rows ? mirror : m, (long int)j, (long int)i,
      v->by_rows ? m : mirror);
}

static int checkEntries(CPWork work, sunrealtype t) {
  const View v = viewOf(work->M, work->P->n);
  int flag     = checkDiagonal(work, t, &v);
  for (sunindextype j = 0; !flag && j < v.n; j++) {
    const sunindextype first = v.start ? v.start[j] : j * v.n;
    const sunindextype end   = v.start ? v.start[j + 1] : first + v.n;
    for (sunindextype e = first; !flag && e < end; e++)
      flag = checkPair(work, t, &v, v.row ? v.row[e] : e - first, j, v.value[e]);
  }
  return flag;
}

int cpMetricEvaluate(CPWork work, sunrealtype t, N_Vector y) {
  if (cpHasDiagonalMetric(work->P)) return CP_SUCCESS;
  int flag = work->P->metric ? callOperator(work, t, y) : callMatrix(work, t, y);
  if (!flag) flag = checkEntries(work, t);
  return flag || !work->P->metric ? flag : invertOperator(work, t);
}
