/* The chain as M = I, A with the rows (d_i at r_i, -d_i at r_{i-1}), and
 *
 *   K = -d(A^T lambda)/dq: -(lambda_i + lambda_{i+1}) on the diagonal, lambda_i next to it
 *   b - A u' = -|w_i|^2 - d_i . (u'_i - u'_{i-1})
 */
#include "chain_impl.h"
#include "chain_mechanism.h"
#include "columns.h"

#include <stdlib.h>

static sunindextype length_of(void *user_data) { return ((const Chain *)user_data)->n; }

void chain_put_masses(sunindextype n, SUNMatrix M) {
  Columns col = columns_of(M);
  for (sunindextype j = 0; j < 2 * n; j++, next_column(&col)) put_entry(&col, j, 1);
}

void chain_put_rods(sunindextype n, sunrealtype scale, const sunrealtype *x, SUNMatrix A) {
  Columns col = columns_of(A);
  for (sunindextype i = 0; i < n; i++)
    for (int k = 0; k < 2; k++, next_column(&col)) {
      put_entry(&col, i, scale * diff(x, i, k));
      if (i + 1 < n) put_entry(&col, i + 1, -scale * diff(x, i + 1, k));
    }
}

static int masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q;
  chain_put_masses(length_of(user_data), M);
  return 0;
}

static int rods(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t;
  chain_put_rods(length_of(user_data), 1, q, A);
  return 0;
}

static int weights(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z;
  const Chain *c = user_data;
  for (sunindextype i = 0; i < c->n; i++) f[2 * i + 1] = -c->g;
  return 0;
}

int chain_lengths(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t;
  const sunindextype n = length_of(user_data);
  for (sunindextype i = 0; i < n; i++) p[i] = (dot_diff(q, i, q, i) - 1) / 2;
  return 0;
}

int chain_rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                void *user_data) {
  (void)t;
  const sunindextype n = length_of(user_data);
  for (sunindextype i = 0; i < n; i++) v[i] = dot_diff(q, i, u, i);
  return 0;
}

int chain_centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *user_data) {
  (void)t, (void)q;
  const sunindextype n = length_of(user_data);
  for (sunindextype i = 0; i < n; i++) b[i] = -dot_diff(u, i, u, i);
  return 0;
}

static void put_stiffness(sunindextype n, const sunrealtype *lambda, SUNMatrix K) {
  Columns col = columns_of(K);
  for (sunindextype j = 0; j < 2 * n; j++, next_column(&col))
    for (sunindextype i = j / 2 - 1; i <= j / 2 + 1; i++)
      if (i >= 0 && i < n) put_entry(&col, 2 * i + j % 2, -tension_entry(n, lambda, i, j / 2));
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)C, (void)Fz;
  put_stiffness(length_of(user_data), lambda, K);
  return 0;
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *user_data) {
  (void)t, (void)q;
  const sunindextype n = length_of(user_data);
  chain_put_rods(n, -1, udot, Bq);
  chain_put_rods(n, -2, u, Bu);
  return 0;
}

/* The patterns, by filling the matrices for a state of zeros. */
static int create_templates(sunindextype n, SUNContext ctx, CPEquations *model) {
  const sunindextype nu = 2 * n;
  sunrealtype *zero     = calloc((size_t)nu, sizeof *zero);
  model->M_tmpl         = SUNSparseMatrix(nu, nu, nu, CSC_MAT, ctx);
  model->A_tmpl         = SUNSparseMatrix(n, nu, 2 * nu - 2, CSC_MAT, ctx);
  model->K_tmpl         = SUNSparseMatrix(nu, nu, 3 * nu - 4, CSC_MAT, ctx);
  model->Bq_tmpl        = SUNSparseMatrix(n, nu, 2 * nu - 2, CSC_MAT, ctx);
  model->Bu_tmpl        = SUNSparseMatrix(n, nu, 2 * nu - 2, CSC_MAT, ctx);
  const int failed      = !zero || !model->M_tmpl || !model->A_tmpl || !model->K_tmpl ||
                     !model->Bq_tmpl || !model->Bu_tmpl;
  if (!failed) {
    chain_put_masses(n, model->M_tmpl);
    chain_put_rods(n, 1, zero, model->A_tmpl);
    chain_put_rods(n, 1, zero, model->Bq_tmpl);
    chain_put_rods(n, 1, zero, model->Bu_tmpl);
    put_stiffness(n, zero, model->K_tmpl);
  }
  free(zero);
  return failed ? -1 : 0;
}

int chain_matrices(Chain *chain, int sparse, SUNContext ctx, CPEquations *model) {
  *model = (CPEquations){CP_SIZED(CPEquations),
                         .nu             = 2 * chain->n,
                         .np             = chain->n,
                         .M              = masses,
                         .A              = rods,
                         .f              = weights,
                         .p              = chain_lengths,
                         .v              = chain_rates,
                         .b              = chain_centripetal,
                         .dynamics_jac   = dynamics_jac,
                         .constraint_jac = constraint_jac};
  return sparse ? create_templates(chain->n, ctx, model) : 0;
}
