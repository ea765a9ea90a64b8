/* The model's derivatives with respect to its parameters, against differences of sixth order of F = f - M a - A^T lambda, of
 * B = b - A a, of p, v and z' */
#ifndef CPODES_TEST_BY_PARAMETERS_H
#define CPODES_TEST_BY_PARAMETERS_H

#include "support/things.h"

#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* x += sign S y, or S^T y */
static inline void add_times(SUNMatrix S, int transposed, sunrealtype sign, const sunrealtype *y,
                             sunrealtype *x) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE) {
    for (sunindextype j = 0; j < SM_COLUMNS_D(S); j++)
      for (sunindextype i = 0; i < SM_ROWS_D(S); i++)
        x[transposed ? j : i] += sign * SM_ELEMENT_D(S, i, j) * y[transposed ? i : j];
    return;
  }
  for (sunindextype j = 0; j < SM_COLUMNS_S(S); j++)
    for (sunindextype k = SM_INDEXPTRS_S(S)[j]; k < SM_INDEXPTRS_S(S)[j + 1]; k++) {
      const sunindextype i = SM_INDEXVALS_S(S)[k];
      x[transposed ? j : i] += sign * SM_DATA_S(S)[k] * y[transposed ? i : j];
    }
}

/* SUNMatZero forgets the pattern of a sparse matrix. */
static inline void zero_entries(SUNMatrix S) {
  const int is_dense       = SUNMatGetID(S) == SUNMATRIX_DENSE;
  const sunindextype count = is_dense ? SM_LDATA_D(S) : SM_NNZ_S(S);
  memset(is_dense ? SM_DATA_D(S) : SM_DATA_S(S), 0, (size_t)count * sizeof(sunrealtype));
}

/* With its pattern */
static inline SUNMatrix copy_of(SUNMatrix tmpl, int rows, int cols) {
  SUNMatrix S = tmpl ? SUNMatClone(tmpl) : SUNDenseMatrix(rows, cols, test_context);
  ck_assert_ptr_nonnull(S);
  if (tmpl) ck_assert_int_eq(SUNMatCopy(tmpl, S), 0);
  return S;
}

typedef struct {
  CPEquations e;
  void *data;
  sunrealtype t, *y, *a, *lambda;
  SUNMatrix M, A;
  int n;
} Residual;

/* out [n]: F, B, p, v, z' */
static inline void residual(const Residual *r, sunrealtype *out) {
  const CPEquations *e = &r->e;
  const sunrealtype *q = r->y, *u = q + e->nq, *z = u + e->nu;
  sunrealtype *B = out + e->nu, *p = B + e->nv, *v = p + e->nv;
  memset(out, 0, (size_t)r->n * sizeof *out);
  zero_entries(r->M);
  ck_assert_int_eq(e->M(r->t, q, r->M, r->data), 0);
  ck_assert_int_eq(e->f(r->t, q, u, z, out, r->data), 0);
  add_times(r->M, 0, -1, r->a, out);
  if (e->nv > 0) {
    zero_entries(r->A);
    ck_assert_int_eq(e->A(r->t, q, r->A, r->data), 0);
    add_times(r->A, 1, -1, r->lambda, out);
    ck_assert_int_eq(e->b(r->t, q, u, B, r->data), 0);
    add_times(r->A, 0, -1, r->a, B);
    if (e->p) ck_assert_int_eq(e->p(r->t, q, p, r->data), 0);
    ck_assert_int_eq(e->v(r->t, q, u, v, r->data), 0);
  }
  if (e->nz > 0) ck_assert_int_eq(e->zdot(r->t, q, u, z, r->lambda, v + e->nv, r->data), 0);
}

/* by [n]: out, the derivative with respect to one parameter; size [n]: of the entries of the differences over their step, in whose
 * roundoff nothing is seen */
static inline void difference_by(const Residual *r, sunrealtype *value, sunrealtype *by,
                                 sunrealtype *size) {
  const sunrealtype own = *value, step = 0.01 * (own != 0 ? fabs(own) : 1);
  sunrealtype *at = calloc((size_t)r->n, sizeof *at);
  memset(by, 0, (size_t)r->n * sizeof *by), memset(size, 0, (size_t)r->n * sizeof *size);
  for (int k = -3; k <= 3; k++) {
    *value = own + k * step;
    residual(r, at);
    for (int i = 0; i < r->n; i++) {
      by[i] += sixth_order(k) * at[i] / step;
      size[i] = fmax(size[i], fabs(at[i]) / step);
    }
  }
  *value = own;
  free(at);
}

static inline sunrealtype largest_of(const sunrealtype *x, int n) {
  sunrealtype most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* Checks the parameters first ... at (t, y), with any accelerations and multipliers. Returns the number of parameters on which
 * something depends. */
static inline int check_by_parameters(CPMech mech, sunrealtype t, N_Vector y, int first,
                                      sunrealtype bound) {
  unsigned long long seed = 11;
  int all, active = 0;
  sunrealtype *values;
  Residual r           = {.e = equations_of(mech), .t = t, .y = entries(y)};
  const CPEquations *e = &r.e;
  if (!e->M || e->f_lambda) return 1; /* without matrices, or with friction */
  ck_assert_int_eq(CPMechGetData(mech, &r.data), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, &all), CP_SUCCESS);
  const int nu = (int)e->nu, nv = (int)e->nv, nz = (int)e->nz, n = all - first;
  r.n             = nu + 3 * nv + nz;
  N_Vector random = N_VNew_Serial(nu + nv + 1, test_context);
  random_fill(random, &seed);
  r.a = entries(random), r.lambda = r.a + nu;
  r.M                = copy_of(e->M_tmpl, nu, nu);
  r.A                = nv == 0 ? NULL : copy_of(e->A_tmpl, nv, nu);
  sunrealtype *exact = calloc((size_t)(r.n * (n + 2)), sizeof *exact), *by = exact + r.n * n,
              *size = by + r.n;
  int *plist        = calloc((size_t)n + 1, sizeof *plist);
  for (int k = 0; k < n; k++) plist[k] = first + k;
  const CPMechColumns columns = {
      exact, exact + nu, exact + nu + nv, exact + nu + 2 * nv, exact + nu + 3 * nv, (size_t)r.n};
  const sunrealtype *q = r.y;
  static const sunrealtype cancelled =
      1e-13; /* roundoff of terms of order 1 to 100 whose sum is 0 */
  ck_assert_int_eq(e->parameters_jac(t, q, q + e->nq, q + e->nq + nu, r.a, r.lambda, values, n,
                                     plist, &columns, r.data),
                   0);
  for (int k = 0; k < n; k++) {
    difference_by(&r, &values[plist[k]], by, size);
    const int count[] = {nu, nv, nv, nv, nz};
    active += largest_of(by, r.n) > 0;
    for (int part = 0, at = 0; part < 5; at += count[part++]) {
      const sunrealtype most  = largest_of(by + at, count[part]),
                        noise = 2e-13 * largest_of(size + at, count[part]) + cancelled;
      for (int i = 0; i < count[part]; i++)
        ck_assert_msg(fabs(exact[r.n * k + at + i] - by[at + i]) <= bound * most + noise,
                      "parameter %d, part %d, entry %d: %.12g, differences say %.12g (%g)", plist[k],
                      part, i, (double)exact[r.n * k + at + i], (double)by[at + i], (double)noise);
    }
  }
  free(exact), free(plist);
  SUNMatDestroy(r.M);
  if (r.A) SUNMatDestroy(r.A);
  N_VDestroy(random);
  return active;
}

#endif
