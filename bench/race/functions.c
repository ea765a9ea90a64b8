#include "functions.h"

#include <cpodes/matrix/lapack.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

void F77(dgemv)(const char *trans, const int *m, const int *n, const double *alpha, const double *a,
                const int *lda, const double *x, const int *incx, const double *beta, double *y,
                const int *incy);

/* ------------------------------------------------------------------------------------ matrices -- */

static int is_dense(SUNMatrix S) { return SUNMatGetID(S) == SUNMATRIX_DENSE; }

sunindextype matrix_entries(SUNMatrix S) {
  return is_dense(S) ? SM_LDATA_D(S) : SM_INDEXPTRS_S(S)[SM_NP_S(S)];
}

sunrealtype *matrix_values(SUNMatrix S) { return is_dense(S) ? SM_DATA_D(S) : SM_DATA_S(S); }

void matrix_clear(SUNMatrix S) {
  memset(matrix_values(S), 0, (size_t)matrix_entries(S) * sizeof(sunrealtype));
}

SUNMatrix matrix_copy(SUNMatrix S) {
  SUNMatrix copy = SUNMatClone(S);
  if (copy && SUNMatCopy(S, copy)) {
    SUNMatDestroy(copy);
    return NULL;
  }
  return copy;
}

SUNMatrix matrix_like(SUNMatrix tmpl, sunindextype rows, sunindextype cols, SUNContext ctx) {
  SUNMatrix S = tmpl ? matrix_copy(tmpl) : SUNDenseMatrix(rows, cols, ctx);
  if (S) matrix_clear(S);
  return S;
}

void matrix_places(SUNMatrix S, sunindextype *row, sunindextype *col) {
  if (is_dense(S)) {
    const sunindextype rows = SM_ROWS_D(S);
    for (sunindextype k = 0; k < SM_LDATA_D(S); k++) row[k] = k % rows, col[k] = k / rows;
    return;
  }
  sunindextype *major = SM_SPARSETYPE_S(S) == CSC_MAT ? col : row;
  sunindextype *minor = SM_SPARSETYPE_S(S) == CSC_MAT ? row : col;
  for (sunindextype j = 0; j < SM_NP_S(S); j++)
    for (sunindextype k = SM_INDEXPTRS_S(S)[j]; k < SM_INDEXPTRS_S(S)[j + 1]; k++)
      major[k] = j, minor[k] = SM_INDEXVALS_S(S)[k];
}

static void dense_times(const char *trans, SUNMatrix S, sunrealtype scale, const sunrealtype *x,
                        sunrealtype *y) {
  const int rows = (int)SM_ROWS_D(S), cols = (int)SM_COLUMNS_D(S), unit = 1;
  const double one = 1;
  F77(dgemv)(trans, &rows, &cols, &scale, SM_DATA_D(S), &rows, x, &unit, &one, y, &unit);
}

/* y[index] += S x[major]: by columns S x, by rows S^T x */
static void scatter(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y) {
  const sunindextype *start = SM_INDEXPTRS_S(S), *index = SM_INDEXVALS_S(S);
  const sunrealtype *value = SM_DATA_S(S);
  for (sunindextype j = 0; j < SM_NP_S(S); j++)
    for (sunindextype k = start[j]; k < start[j + 1]; k++) y[index[k]] += scale * value[k] * x[j];
}

/* y[major] += S x[index]: by columns S^T x, by rows S x */
static void gather(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y) {
  const sunindextype *start = SM_INDEXPTRS_S(S), *index = SM_INDEXVALS_S(S);
  const sunrealtype *value = SM_DATA_S(S);
  for (sunindextype j = 0; j < SM_NP_S(S); j++) {
    sunrealtype sum = 0;
    for (sunindextype k = start[j]; k < start[j + 1]; k++) sum += value[k] * x[index[k]];
    y[j] += scale * sum;
  }
}

void matrix_times(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y) {
  if (is_dense(S)) dense_times("N", S, scale, x, y);
  else if (SM_SPARSETYPE_S(S) == CSC_MAT) scatter(S, scale, x, y);
  else gather(S, scale, x, y);
}

void matrix_trans_times(SUNMatrix S, sunrealtype scale, const sunrealtype *x, sunrealtype *y) {
  if (is_dense(S)) dense_times("T", S, scale, x, y);
  else if (SM_SPARSETYPE_S(S) == CSC_MAT) gather(S, scale, x, y);
  else scatter(S, scale, x, y);
}

/* ----------------------------------------------------------------------------------- functions -- */

int mech_mass(const CPPlugin *model, sunrealtype t, const sunrealtype *q, SUNMatrix M) {
  matrix_clear(M);
  return model->mech.M(t, q, M, model->data);
}

int mech_rows(const CPPlugin *model, sunrealtype t, const sunrealtype *q, SUNMatrix A) {
  matrix_clear(A);
  return model->mech.A(t, q, A, model->data);
}

int mech_forces(const CPPlugin *model, sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                sunrealtype *f) {
  memset(f, 0, (size_t)model->mech.nu * sizeof *f);
  return model->mech.f ? model->mech.f(t, q, u, NULL, f, model->data) : 0;
}

int mech_positions(const CPPlugin *model, sunrealtype t, const sunrealtype *q, sunrealtype *p) {
  memset(p, 0, (size_t)model->mech.np * sizeof *p);
  return model->mech.p(t, q, p, model->data);
}

int mech_velocities(const CPPlugin *model, sunrealtype t, const sunrealtype *q,
                    const sunrealtype *u, SUNMatrix A, sunrealtype *v) {
  memset(v, 0, (size_t)model->mech.np * sizeof *v);
  if (model->mech.v) return model->mech.v(t, q, u, v, model->data);
  matrix_times(A, 1, u, v);
  return 0;
}
