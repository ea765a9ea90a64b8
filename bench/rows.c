#include "rows.h"
#include "check.h"
#include "states.h"
#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

static sunrealtype p(sunrealtype x) { return x + x * x / 2; }

/* Allocates m rows of count entries each. */
static Rows *create(sunindextype m, sunindextype n, sunindextype count) {
  Rows *rows           = CHECK_POINTER(calloc(1, sizeof *rows));
  const size_t entries = (size_t)m * (size_t)count;
  unsigned seed        = 3;
  rows->m              = m;
  rows->n              = n;
  rows->start          = CHECK_POINTER(calloc((size_t)m + 1, sizeof *rows->start));
  rows->col            = CHECK_POINTER(calloc(entries, sizeof *rows->col));
  rows->B              = CHECK_POINTER(calloc(entries, sizeof *rows->B));
  rows->p              = CHECK_POINTER(calloc((size_t)n, sizeof *rows->p));
  for (size_t k = 0; k < entries; k++) rows->B[k] = random_number(&seed);
  for (sunindextype j = 0; j < n; j++) rows->p[j] = p(random_number(&seed) / 2);
  for (sunindextype i = 0; i <= m; i++) rows->start[i] = i * count;
  return rows;
}

Rows *rows_blocks(sunindextype count, sunindextype m, sunindextype n) {
  Rows *rows = create(count * m, count * n, n);
  for (sunindextype i = 0; i < rows->m; i++)
    for (sunindextype k = 0; k < n; k++) rows->col[i * n + k] = i / m * n + k;
  return rows;
}

/* Each remaining column is chosen with the probability that leads to count columns in total (Knuth,
 * The Art of Computer Programming 2, 3.4.2, algorithm S). */
Rows *rows_scattered(sunindextype m, sunindextype n, sunindextype count) {
  Rows *rows    = create(m, n, count);
  unsigned seed = 5;
  for (sunindextype i = 0; i < m; i++)
    for (sunindextype j = 0, found = 0; found < count; j++) {
      const sunrealtype u = (random_number(&seed) + 1) / 2;
      if (u * (sunrealtype)(n - j) < (sunrealtype)(count - found))
        rows->col[i * count + found++] = j;
    }
  return rows;
}

void rows_repeat(Rows *rows) {
  static const sunrealtype scale[] = {1.0, 1.0e3, 1.0e-3};
  const sunindextype m = rows->m, nnz = rows->start[m];
  rows->start = CHECK_POINTER(realloc(rows->start, (size_t)(3 * m + 1) * sizeof *rows->start));
  rows->col   = CHECK_POINTER(realloc(rows->col, (size_t)(3 * nnz) * sizeof *rows->col));
  rows->B     = CHECK_POINTER(realloc(rows->B, (size_t)(3 * nnz) * sizeof *rows->B));
  for (int r = 1; r < 3; r++) {
    for (sunindextype i = 1; i <= m; i++) rows->start[r * m + i] = r * nnz + rows->start[i];
    memcpy(rows->col + r * nnz, rows->col, (size_t)nnz * sizeof *rows->col);
    for (sunindextype k = 0; k < nnz; k++) rows->B[r * nnz + k] = scale[r] * rows->B[k];
  }
  rows->m = 3 * m;
}

void rows_free(Rows **address) {
  Rows *rows = *address;
  if (!rows) return;
  free(rows->start);
  free(rows->col);
  free(rows->B);
  free(rows->p);
  free(rows);
  *address = NULL;
}

void rows_state(const Rows *rows, N_Vector y) {
  sunrealtype *z = N_VGetArrayPointer(y);
  for (sunindextype j = 0; j < rows->n; j++) z[j] = sqrt(1 + 2 * rows->p[j]) - 1;
}

SUNMatrix rows_pattern(const Rows *rows, SUNContext ctx) {
  const sunindextype nnz = rows->start[rows->m];
  SUNMatrix G            = CHECK_POINTER(SUNSparseMatrix(rows->m, rows->n, nnz, CSR_MAT, ctx));
  memcpy(SM_INDEXPTRS_S(G), rows->start, (size_t)(rows->m + 1) * sizeof *rows->start);
  memcpy(SM_INDEXVALS_S(G), rows->col, (size_t)nnz * sizeof *rows->col);
  return G;
}

int rows_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  (void)t;
  const Rows *rows     = user_data;
  const sunrealtype *z = N_VGetArrayPointer(y);
  sunrealtype *r       = N_VGetArrayPointer(c);
  for (sunindextype i = 0; i < rows->m; i++) {
    r[i] = 0;
    for (sunindextype k = rows->start[i]; k < rows->start[i + 1]; k++)
      r[i] += rows->B[k] * (p(z[rows->col[k]]) - rows->p[rows->col[k]]);
  }
  return 0;
}

int rows_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  (void)t, (void)c;
  const Rows *rows     = user_data;
  const sunrealtype *z = N_VGetArrayPointer(y);
  const int dense      = SUNMatGetID(G) == SUNMATRIX_DENSE;
  for (sunindextype i = 0; i < rows->m; i++)
    for (sunindextype k = rows->start[i]; k < rows->start[i + 1]; k++) {
      const sunrealtype entry = rows->B[k] * (1 + z[rows->col[k]]);
      if (dense) SM_ELEMENT_D(G, i, rows->col[k]) = entry;
      else SM_DATA_S(G)[k] = entry;
    }
  return 0;
}

int rows_times(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data) {
  (void)t;
  const Rows *rows     = user_data;
  const sunrealtype *z = N_VGetArrayPointer(y), *x = N_VGetArrayPointer(v);
  sunrealtype *r = N_VGetArrayPointer(Gv);
  for (sunindextype i = 0; i < rows->m; i++) {
    r[i] = 0;
    for (sunindextype k = rows->start[i]; k < rows->start[i + 1]; k++)
      r[i] += rows->B[k] * (1 + z[rows->col[k]]) * x[rows->col[k]];
  }
  return 0;
}

int rows_trans_times(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data) {
  (void)t;
  const Rows *rows     = user_data;
  const sunrealtype *z = N_VGetArrayPointer(y), *mu = N_VGetArrayPointer(w);
  sunrealtype *x = N_VGetArrayPointer(GTw);
  N_VConst(0, GTw);
  for (sunindextype i = 0; i < rows->m; i++)
    for (sunindextype k = rows->start[i]; k < rows->start[i + 1]; k++)
      x[rows->col[k]] += rows->B[k] * (1 + z[rows->col[k]]) * mu[i];
  return 0;
}

int rows_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data) {
  (void)t;
  const Rows *rows     = user_data;
  const sunrealtype *z = N_VGetArrayPointer(y), *d = N_VGetArrayPointer(D);
  sunrealtype *r = N_VGetArrayPointer(diag);
  for (sunindextype i = 0; i < rows->m; i++) {
    r[i] = 0;
    for (sunindextype k = rows->start[i]; k < rows->start[i + 1]; k++) {
      const sunrealtype entry = rows->B[k] * (1 + z[rows->col[k]]);
      r[i] += d[rows->col[k]] * entry * entry;
    }
  }
  return 0;
}
