#include "jacobians.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Central differences of step e: truncation e^2 |c'''| / 6, roundoff of terms below 10 / e. */
void compare_jacobian(CPConstraintFn c, CPConstraintJacFn jac, int n, int m, sunrealtype t,
                      void *par) {
  const sunrealtype e = 1e-5, bound = e * e * 10 / 6 + 100 * ROUNDOFF / e;
  unsigned long long seed = 11;
  SUNMatrix G             = SUNDenseMatrix(m, n, test_context);
  N_Vector y = vector_of(n, NULL), before = vector_of(m, NULL), after = vector_of(m, NULL);

  for (int trial = 0; trial < 10; trial++) {
    random_fill(y, &seed);
    ck_assert_int_eq(SUNMatZero(G), 0);
    ck_assert_int_eq(c(t, y, before, par), 0);
    ck_assert_int_eq(jac(t, y, before, G, par), 0);
    for (int j = 0; j < n; j++) {
      const sunrealtype yj = entries(y)[j];
      entries(y)[j]        = yj - e;
      ck_assert_int_eq(c(t, y, before, par), 0);
      entries(y)[j] = yj + e;
      ck_assert_int_eq(c(t, y, after, par), 0);
      entries(y)[j] = yj;
      for (int i = 0; i < m; i++) {
        const sunrealtype quotient = (entries(after)[i] - entries(before)[i]) / (2 * e);
        ck_assert_double_le(fabs(SM_ELEMENT_D(G, i, j) - quotient), bound);
      }
    }
  }
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(before);
  N_VDestroy(after);
}

SUNMatrix dense_jacobian(CPConstraintJacFn jac, int m, N_Vector y, void *par) {
  SUNMatrix G = SUNDenseMatrix(m, N_VGetLength(y), test_context);
  N_Vector c  = vector_of(m, NULL);
  ck_assert_int_eq(SUNMatZero(G), 0);
  ck_assert_int_eq(jac(0, y, c, G, par), 0);
  N_VDestroy(c);
  return G;
}

/* Takes the entries of the sparse S out of the dense D; each must be there, bit by bit. */
static void take_out(SUNMatrix S, SUNMatrix D) {
  const int by_columns = SM_SPARSETYPE_S(S) == CSC_MAT;
  for (sunindextype p = 0; p < SM_NP_S(S); p++) {
    sunindextype last = -1;
    for (sunindextype e = SM_INDEXPTRS_S(S)[p]; e < SM_INDEXPTRS_S(S)[p + 1]; e++) {
      const sunindextype q = SM_INDEXVALS_S(S)[e];
      ck_assert_int_gt(q, last);
      ck_assert_int_lt(q, by_columns ? SM_ROWS_S(S) : SM_COLUMNS_S(S));
      sunrealtype *entry = by_columns ? &SM_ELEMENT_D(D, q, p) : &SM_ELEMENT_D(D, p, q);
      ck_assert_double_eq(SM_DATA_S(S)[e], *entry);
      *entry = 0;
      last   = q;
    }
  }
}

void compare_sparse(CPConstraintJacFn dense, CPConstraintJacFn sparse, SUNMatrix pattern, void *par) {
  const int m = (int)SM_ROWS_S(pattern), n = (int)SM_COLUMNS_S(pattern);
  unsigned long long seed = 17;
  N_Vector y = vector_of(n, NULL), c = vector_of(m, NULL);
  SUNMatrix S = SUNMatClone(pattern);
  ck_assert_int_eq(SM_INDEXPTRS_S(pattern)[SM_NP_S(pattern)], SM_NNZ_S(pattern));

  for (int trial = 0; trial < 3; trial++) {
    random_fill(y, &seed);
    ck_assert_int_eq(SUNMatCopy(pattern, S), 0);
    ck_assert_int_eq(sparse(0, y, c, S, par), 0);
    SUNMatrix D = dense_jacobian(dense, m, y, par);
    take_out(S, D);
    for (sunindextype k = 0; k < SM_LDATA_D(D); k++) ck_assert_double_eq(SM_DATA_D(D)[k], 0);
    SUNMatDestroy(D);
  }
  SUNMatDestroy(S);
  N_VDestroy(y);
  N_VDestroy(c);
}

void dense_times(SUNMatrix G, N_Vector x, N_Vector Gx) {
  N_VConst(0, Gx);
  for (sunindextype j = 0; j < SM_COLUMNS_D(G); j++)
    for (sunindextype i = 0; i < SM_ROWS_D(G); i++)
      entries(Gx)[i] += SM_ELEMENT_D(G, i, j) * entries(x)[j];
}

void dense_transposed_times(SUNMatrix G, N_Vector x, N_Vector GTx) {
  N_VConst(0, GTx);
  for (sunindextype j = 0; j < SM_COLUMNS_D(G); j++)
    for (sunindextype i = 0; i < SM_ROWS_D(G); i++)
      entries(GTx)[j] += SM_ELEMENT_D(G, i, j) * entries(x)[i];
}

sunrealtype dense_schur(SUNMatrix G, N_Vector D, sunindextype i, sunindextype k) {
  sunrealtype sum = 0;
  for (sunindextype j = 0; j < SM_COLUMNS_D(G); j++)
    sum += SM_ELEMENT_D(G, i, j) * entries(D)[j] * SM_ELEMENT_D(G, k, j);
  return sum;
}
