/* Sparse templates that lack an entry, and sparse Jacobians with entries that are not finite, are
 * detected and named. */
#include <cpodes/cpodes_projector.h>
#include <math.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "support/support.h"

enum { N = 4, M = 2 };

/* c_0 = y_0 + 3 y_2 - 3,  c_1 = y_1 y_3 - 1. */
static int c(sunrealtype t, N_Vector y, N_Vector res, void *user_data) {
  const sunrealtype *x = entries(y);
  (void)t, (void)user_data;
  entries(res)[0] = x[0] + 3.0 * x[2] - 3.0;
  entries(res)[1] = x[1] * x[3] - 1.0;
  return 0;
}

/* Row 0 has the columns 0 (and 2), row 1 the columns 1 and 3. Without entry (0, 2), the columns 0,
 * 1 and 2 share no row and form one group. */
static SUNMatrix pattern(int type, int whole) {
  SUNMatrix csr       = SUNSparseMatrix(M, N, 3 + whole, CSR_MAT, test_context), csc;
  sunindextype *start = SUNSparseMatrix_IndexPointers(csr);
  sunindextype *col   = SUNSparseMatrix_IndexValues(csr);
  sunindextype all[] = {0, 2, 1, 3}, lacking[] = {0, 1, 3};
  const sunindextype row = 1 + whole;
  for (int k = 0; k < 3 + whole; k++) col[k] = whole ? all[k] : lacking[k];
  start[1] = row, start[2] = row + 2;
  for (int k = 0; k < 3 + whole; k++) SUNSparseMatrix_Data(csr)[k] = 1.0;
  if (type == CSR_MAT) return csr;
  ck_assert_int_eq(SUNSparseMatrix_ToCSC(csr, &csc), 0);
  SUNMatDestroy(csr);
  return csc;
}

/* The data of an entry, or NULL where the pattern has none. */
static sunrealtype *entry(SUNMatrix G, sunindextype i, sunindextype j) {
  const int by_rows       = SUNSparseMatrix_SparseType(G) == CSR_MAT;
  const sunindextype line = by_rows ? i : j, index = by_rows ? j : i;
  const sunindextype *start = SUNSparseMatrix_IndexPointers(G);
  for (sunindextype k = start[line]; k < start[line + 1]; k++)
    if (SUNSparseMatrix_IndexValues(G)[k] == index) return SUNSparseMatrix_Data(G) + k;
  return NULL;
}

static sunrealtype bad; /* put into entry (1, 3), if not 0 */

static int jac(sunrealtype t, N_Vector y, N_Vector res, SUNMatrix G, void *user_data) {
  (void)t, (void)res, (void)user_data;
  *entry(G, 0, 0) = 1.0;
  if (entry(G, 0, 2)) *entry(G, 0, 2) = 3.0;
  *entry(G, 1, 1) = entries(y)[3];
  *entry(G, 1, 3) = bad == 0.0 ? entries(y)[1] : bad;
  return 0;
}

static MessageLog messages;

static CPProjector open_projector(N_Vector y, SUNMatrix G, int user_jac) {
  N_Vector res  = vector_of(M, NULL);
  CPProjector P = CPProjectorCreate(c, y, res, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, user_jac ? jac : NULL, G), CP_SUCCESS);
  N_VDestroy(res);
  return P;
}

/* Loop index: orientation, user's function or differences. */
START_TEST(an_entry_outside_of_the_pattern_is_found_in_a_group_of_columns) {
  N_Vector y = VECTOR(0.5, 2.0, 0.5, 0.5), ewt = VECTOR(1e6, 1e6, 1e6, 1e6);
  sunrealtype err;
  sunindextype i = -1, j = -1;
  bad = 0.0;
  for (int whole = 0; whole <= 1; whole++) {
    SUNMatrix G   = pattern(_i % 2 ? CSR_MAT : CSC_MAT, whole);
    CPProjector P = open_projector(y, G, _i / 2);
    ck_assert_int_eq(CPProjectorCheckJac(P, 0.0, y, ewt, &err, &i, &j), CP_SUCCESS);
    if (whole) {
      ck_assert_double_le(err, 1e-6); /* differences: the root of roundoff */
    } else {                          /* (0, 2) is 3 of a row of length sqrt(10) */
      ck_assert_double_eq_tol(err, 3.0 / sqrt(10.0), 1e-6);
      ck_assert_int_eq((int)i, 0);
      ck_assert_int_eq((int)j, 2);
    }
    CPProjectorFree(&P);
    SUNMatDestroy(G);
  }
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

START_TEST(entries_that_are_not_finite_are_named) {
  const sunrealtype values[] = {NAN, INFINITY, -INFINITY};
  N_Vector y = VECTOR(0.5, 2.0, 0.5, 0.5), ewt = VECTOR(1e6, 1e6, 1e6, 1e6);
  SUNMatrix G   = pattern(_i % 2 ? CSR_MAT : CSC_MAT, 1);
  CPProjector P = open_projector(y, G, 1);
  for (int k = 0; k < 3; k++) {
    N_Vector before = vector_copy(y);
    bad             = values[k];
    ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), -CP_CNSTRJAC_NONFINITE);
    ck_assert_mentions(messages.text, "(1, 3)");
    ck_assert(same_bits(y, before));
    N_VDestroy(before);
  }
  bad = 0.0;
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, ewt), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(y)[0] + 3.0 * entries(y)[2] - 3.0), 1e-6);
  CPProjectorFree(&P);
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

TEST_SUITE(pattern) {
  Suite *suite = suite_create("pattern");
  TCase *tc    = tcase_create("pattern");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, an_entry_outside_of_the_pattern_is_found_in_a_group_of_columns, 0, 4);
  tcase_add_loop_test(tc, entries_that_are_not_finite_are_named, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
