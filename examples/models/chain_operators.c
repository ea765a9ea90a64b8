/* The chain's constraint Jacobian as a sparse matrix and as products, and for conjugate gradients on
 * S = G D G^T the diagonal of S and a preconditioner.
 *
 *   G = [ G_r    0  ]   row i of G_r: d_i at r_i, -d_i at r_{i-1}
 *       [ W     G_r ]   row i of W:   w_i at r_i, -w_i at r_{i-1}
 */
#include "chain.h"
#include "chain_impl.h"

#include <sunmatrix/sunmatrix_sparse.h>

/* --------------------------------------------------------------------------- sparse Jacobian -- */

/* By columns, component k of mass i has two entries in rows `row` (link i) and row + 1 (link i + 1,
   unless it is the last mass) */
static void column_pattern(sunindextype n, sunindextype i, sunindextype row, sunindextype **index) {
  *(*index)++ = row;
  if (i + 1 < n) *(*index)++ = row + 1;
}

static void pattern_by_columns(sunindextype n, sunindextype *start, sunindextype *index) {
  const sunindextype *first = index;
  for (sunindextype j = 0; j < 4 * n; j++) {
    const sunindextype i = j / 2 % n;
    *start++             = (sunindextype)(index - first);
    if (j < 2 * n) column_pattern(n, i, i, &index);
    column_pattern(n, i, n + i, &index);
  }
  *start = (sunindextype)(index - first);
}

static sunrealtype *column_values(sunindextype n, const sunrealtype *a, sunindextype i, int k,
                                  sunrealtype *value) {
  *value++ = diff(a, i, k);
  if (i + 1 < n) *value++ = -diff(a, i + 1, k);
  return value;
}

static void fill_by_columns(sunindextype n, const sunrealtype *r, sunrealtype *value) {
  const sunrealtype *v = r + 2 * n;
  for (sunindextype j = 0; j < 2 * n; j++) {
    value = column_values(n, r, j / 2, (int)(j % 2), value);
    value = column_values(n, v, j / 2, (int)(j % 2), value);
  }
  for (sunindextype j = 0; j < 2 * n; j++) value = column_values(n, r, j / 2, (int)(j % 2), value);
}

/* By rows, link i has entries at r_{i-1} (unless it is the first) and r_i, from column + 2 i on */
static void row_pattern(sunindextype i, sunindextype column, sunindextype **index) {
  for (int k = i > 0 ? -2 : 0; k < 2; k++) *(*index)++ = column + 2 * i + k;
}

static void pattern_by_rows(sunindextype n, sunindextype *start, sunindextype *index) {
  const sunindextype *first = index;
  for (sunindextype row = 0; row < 2 * n; row++) {
    *start++ = (sunindextype)(index - first);
    row_pattern(row % n, 0, &index);
    if (row >= n) row_pattern(row - n, 2 * n, &index);
  }
  *start = (sunindextype)(index - first);
}

static sunrealtype *row_values(const sunrealtype *a, sunindextype i, sunrealtype *value) {
  if (i > 0)
    for (int k = 0; k < 2; k++) *value++ = -diff(a, i, k);
  for (int k = 0; k < 2; k++) *value++ = diff(a, i, k);
  return value;
}

static void fill_by_rows(sunindextype n, const sunrealtype *r, sunrealtype *value) {
  const sunrealtype *v = r + 2 * n;
  for (sunindextype i = 0; i < n; i++) value = row_values(r, i, value);
  for (sunindextype i = 0; i < n; i++) {
    value = row_values(v, i, value);
    value = row_values(r, i, value);
  }
}

SUNMatrix chain_pattern(sunindextype n, int type, SUNContext ctx) {
  SUNMatrix G = SUNSparseMatrix(2 * n, 4 * n, 12 * n - 6, type, ctx);
  if (!G) return NULL;
  if (type == CSC_MAT) {
    pattern_by_columns(n, SM_INDEXPTRS_S(G), SM_INDEXVALS_S(G));
  } else {
    pattern_by_rows(n, SM_INDEXPTRS_S(G), SM_INDEXVALS_S(G));
  }
  return G;
}

int chain_sparse_jacobian(sunrealtype t, N_Vector y, N_Vector cvec, SUNMatrix G, void *user_data) {
  (void)t, (void)cvec;
  const Chain *c       = user_data;
  const sunrealtype *r = N_VGetArrayPointer(y);
  if (SM_SPARSETYPE_S(G) == CSC_MAT) {
    fill_by_columns(c->n, r, SM_DATA_S(G));
  } else {
    fill_by_rows(c->n, r, SM_DATA_S(G));
  }
  return 0;
}

/* ---------------------------------------------------------------------------------- products -- */

int chain_jac_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector Gx, void *user_data) {
  (void)t;
  const sunindextype n = ((const Chain *)user_data)->n;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;
  const sunrealtype *xr = N_VGetArrayPointer(x), *xv = xr + 2 * n;
  sunrealtype *pos = N_VGetArrayPointer(Gx), *vel = pos + n;

  for (sunindextype i = 0; i < n; i++) {
    pos[i] = dot_diff(r, i, xr, i);
    vel[i] = dot_diff(v, i, xr, i) + dot_diff(r, i, xv, i);
  }
  return 0;
}

/* Component k of mass i of G_r^T a (r: the positions) or W^T a (r: the velocities) */
static sunrealtype pull(sunindextype n, const sunrealtype *r, sunindextype i, int k,
                        const sunrealtype *a) {
  const sunrealtype from_left = diff(r, i, k) * a[i];
  return i + 1 < n ? from_left - diff(r, i + 1, k) * a[i + 1] : from_left;
}

int chain_jac_trans_times(sunrealtype t, N_Vector y, N_Vector x, N_Vector GTx, void *user_data) {
  (void)t;
  const sunindextype n = ((const Chain *)user_data)->n;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;
  const sunrealtype *pos = N_VGetArrayPointer(x), *vel = pos + n;
  sunrealtype *zr = N_VGetArrayPointer(GTx), *zv = zr + 2 * n;

  for (sunindextype i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) {
      zr[2 * i + k] = pull(n, r, i, k, pos) + pull(n, v, i, k, vel);
      zv[2 * i + k] = pull(n, r, i, k, vel);
    }
  return 0;
}

/* ------------------------------------------------------------------ diagonal, preconditioner -- */

int chain_schur_diag(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data) {
  (void)t;
  const sunindextype n = ((const Chain *)user_data)->n;
  const sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;
  const sunrealtype *Dr = D ? N_VGetArrayPointer(D) : NULL, *Dv = D ? Dr + 2 * n : NULL;
  sunrealtype *pos = N_VGetArrayPointer(diag), *vel = pos + n;

  for (sunindextype i = 0; i < n; i++) {
    pos[i] = schur_entry(r, Dr, i);
    vel[i] = schur_entry(v, Dr, i) + schur_entry(r, Dv, i);
  }
  return 0;
}

int chain_prec_setup(sunrealtype t, N_Vector y, N_Vector D, void *user_data) {
  (void)t;
  Chain *c             = user_data;
  const sunindextype n = c->n;
  const sunrealtype *r = N_VGetArrayPointer(y), *Dr = D ? N_VGetArrayPointer(D) : NULL,
                    *Dv = D ? Dr + 2 * n : NULL;

  c->prec_ready = 0;
  if (factor_block(n, 0, r, Dr, c->prec_diag, c->prec_sub)) return 1;
  if (factor_block(n, 0, r, Dv, c->prec_diag + n, c->prec_sub + n)) return 1;
  c->prec_ready = 1;
  return 0;
}

int chain_prec_solve(sunrealtype t, N_Vector y, N_Vector res, N_Vector z, void *user_data) {
  (void)t, (void)y;
  const Chain *c       = user_data;
  const sunindextype n = c->n;
  if (!c->prec_ready) return -1;
  sunrealtype *zp = N_VGetArrayPointer(z);

  N_VScale(1, res, z);
  ldl_solve(n, c->prec_diag, c->prec_sub, zp);
  ldl_solve(n, c->prec_diag + n, c->prec_sub + n, zp + n);
  return 0;
}
