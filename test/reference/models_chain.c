/* The chain's Jacobian in sparse form and as products, and what conjugate gradients get from it,
 * against dense matrices. Its motion: models.c.
 *
 * At random states |d|, |w| <= 2; a sum of k products is off by at most k + 1 roundoffs of each.
 */
#include "jacobians.h"

#include "models/chain.h"
#include <math.h>

enum { LENGTHS = 4 };
static const int lengths[LENGTHS] = {1, 2, 3, 8}; /* loop index: number of masses */

START_TEST(sparse_jacobian_is_the_dense_one) {
  const int n  = lengths[_i];
  Chain *chain = chain_create(n, 9.81);
  ck_assert_ptr_nonnull(chain);
  for (int type = 0; type < 2; type++) {
    SUNMatrix pattern = chain_pattern(n, type ? CSR_MAT : CSC_MAT, test_context);
    ck_assert_ptr_nonnull(pattern);
    compare_sparse(chain_jacobian, chain_sparse_jacobian, pattern, chain);
    SUNMatDestroy(pattern);
  }
  chain_free(&chain);
}
END_TEST

/* G has at most 8 entries in a row and 4 in a column, all below 2; |x| <= 1 */
START_TEST(products_are_those_of_the_matrix) {
  const int n             = lengths[_i];
  unsigned long long seed = 5;
  Chain *chain            = chain_create(n, 9.81);
  N_Vector y = vector_of(4 * n, NULL), x = vector_of(4 * n, NULL), w = vector_of(2 * n, NULL);
  N_Vector Gx = vector_of(2 * n, NULL), GTw = vector_of(4 * n, NULL);
  N_Vector Gx_dense = vector_of(2 * n, NULL), GTw_dense = vector_of(4 * n, NULL);

  for (int trial = 0; trial < 5; trial++) {
    random_fill(y, &seed);
    random_fill(x, &seed);
    random_fill(w, &seed);
    SUNMatrix G = dense_jacobian(chain_jacobian, 2 * n, y, chain);
    dense_times(G, x, Gx_dense);
    dense_transposed_times(G, w, GTw_dense);
    ck_assert_int_eq(chain_jac_times(0, y, x, Gx, chain), 0);
    ck_assert_int_eq(chain_jac_trans_times(0, y, w, GTw, chain), 0);
    /* the products take differences of x first: one more roundoff, in both: */
    ck_assert_double_le(max_distance(Gx, Gx_dense), 2 * (8 + 2) * 8 * 2 * ROUNDOFF);
    ck_assert_double_le(max_distance(GTw, GTw_dense), 2 * (4 + 2) * 4 * 2 * ROUNDOFF);
    SUNMatDestroy(G);
  }
  chain_free(&chain);
  N_VDestroy(y);
  N_VDestroy(x);
  N_VDestroy(w);
  N_VDestroy(Gx);
  N_VDestroy(GTw);
  N_VDestroy(Gx_dense);
  N_VDestroy(GTw_dense);
}
END_TEST

/* Random diagonal in (0, 1]; every third component of the state is held. */
static void random_diagonal(N_Vector D, unsigned long long *seed) {
  random_fill(D, seed);
  for (sunindextype j = 0; j < N_VGetLength(D); j++)
    entries(D)[j] = j % 3 == 2 ? 0 : 0.5 + fabs(entries(D)[j]) / 2;
}

/* Sums of at most 8 terms below 4 */
START_TEST(schur_diagonal_is_that_of_the_matrix) {
  const int n             = lengths[_i];
  unsigned long long seed = 6;
  Chain *chain            = chain_create(n, 9.81);
  N_Vector y = vector_of(4 * n, NULL), D = vector_of(4 * n, NULL), diag = vector_of(2 * n, NULL);

  for (int trial = 0; trial < 5; trial++) {
    random_fill(y, &seed);
    random_diagonal(D, &seed);
    SUNMatrix G = dense_jacobian(chain_jacobian, 2 * n, y, chain);
    ck_assert_int_eq(chain_schur_diag(0, y, D, diag, chain), 0);
    for (sunindextype i = 0; i < 2 * n; i++)
      ck_assert_double_le(fabs(entries(diag)[i] - dense_schur(G, D, i, i)),
                          2 * (8 + 2) * 8 * 4 * ROUNDOFF);
    SUNMatDestroy(G);
  }
  N_VConst(1, D);
  N_Vector unit = vector_copy(diag);
  ck_assert_int_eq(chain_schur_diag(0, y, D, diag, chain), 0);
  ck_assert_int_eq(chain_schur_diag(0, y, NULL, unit, chain), 0);
  ck_assert_int_eq(same_bits(diag, unit), 1);
  chain_free(&chain);
  N_VDestroy(y);
  N_VDestroy(D);
  N_VDestroy(diag);
  N_VDestroy(unit);
}
END_TEST

/* Rows of G D G^T z on the level, D = 0 outside of its columns, and r of the level; the other level
 * is omitted. L D L^T of a tridiagonal, positive definite S solves (S + E) z = r with |E| below 10
 * roundoffs of |L| D |L^T|, which is below 3 times the largest entry of S (N. J. Higham, Accuracy
 * and Stability of Numerical Algorithms, 2002, 9.6); three entries in a row. S itself, whose
 * entries are sums of 6 terms, adds less than as much again. */
static void check_level(SUNMatrix G, N_Vector D, N_Vector r, N_Vector z, int n, int level) {
  sunrealtype largest = 0, solution = 0;
  for (int i = level * n; i < (level + 1) * n; i++) {
    largest  = fmax(largest, dense_schur(G, D, i, i));
    solution = fmax(solution, fabs(entries(z)[i]));
    ck_assert(isfinite(entries(z)[i]));
  }
  for (int i = level * n; i < (level + 1) * n; i++) {
    if (dense_schur(G, D, i, i) == 0) continue; /* held at both ends */
    sunrealtype residual = -entries(r)[i];
    for (int k = level * n; k < (level + 1) * n; k++)
      residual += dense_schur(G, D, i, k) * entries(z)[k];
    ck_assert_double_le(fabs(residual), 2 * 3 * 10 * 3 * ROUNDOFF * (largest * solution + 1));
  }
}

START_TEST(preconditioner_solves_each_level) {
  const int n             = lengths[_i];
  unsigned long long seed = 7;
  Chain *chain            = chain_create(n, 9.81);
  N_Vector y = vector_of(4 * n, NULL), D = vector_of(4 * n, NULL);
  N_Vector r = vector_of(2 * n, NULL), z = vector_of(2 * n, NULL);

  ck_assert_int_lt(chain_prec_solve(0, y, r, z, chain), 0); /* nothing has been set up */
  for (int trial = 0; trial < 5; trial++) {
    random_fill(y, &seed);
    random_fill(r, &seed);
    random_diagonal(D, &seed);
    if (trial == 4) /* the first mass is held: a row of zeros */
      for (int k = 0; k < 2; k++) entries(D)[k] = entries(D)[2 * n + k] = 0;
    ck_assert_int_eq(chain_prec_setup(0, y, D, chain), 0);
    ck_assert_int_eq(chain_prec_solve(0, y, r, z, chain), 0);
    SUNMatrix G = dense_jacobian(chain_jacobian, 2 * n, y, chain);
    for (int level = 0; level < 2; level++) {
      N_Vector moved = vector_copy(D);
      for (int j = 0; j < 2 * n; j++) entries(moved)[(1 - level) * 2 * n + j] = 0;
      check_level(G, moved, r, z, n, level);
      N_VDestroy(moved);
    }
    SUNMatDestroy(G);
  }
  N_VConst(1, D);
  N_Vector unit = vector_copy(z);
  ck_assert_int_eq(chain_prec_setup(0, y, D, chain), 0);
  ck_assert_int_eq(chain_prec_solve(0, y, r, z, chain), 0);
  ck_assert_int_eq(chain_prec_setup(0, y, NULL, chain), 0);
  ck_assert_int_eq(chain_prec_solve(0, y, r, unit, chain), 0);
  ck_assert_int_eq(same_bits(z, unit), 1);
  chain_free(&chain);
  N_VDestroy(y);
  N_VDestroy(D);
  N_VDestroy(r);
  N_VDestroy(z);
  N_VDestroy(unit);
}
END_TEST

/* Three masses on a line, of which only the middle one can move: two rods, one component. All
 * entries are 1, so that the second pivot is exactly 0. */
START_TEST(preconditioner_reports_a_singular_block) {
  Chain *chain = chain_create(3, 9.81);
  N_Vector y = vector_of(12, NULL), D = vector_of(12, NULL), r = vector_of(6, NULL);
  chain_initial(chain, y);
  N_VConst(1, D);
  ck_assert_int_eq(chain_prec_setup(0, y, D, chain), 0);
  N_VConst(0, D);
  entries(D)[2] = 1;
  ck_assert_int_gt(chain_prec_setup(0, y, D, chain), 0);
  ck_assert_int_lt(chain_prec_solve(0, y, r, r, chain), 0);
  chain_free(&chain);
  N_VDestroy(y);
  N_VDestroy(D);
  N_VDestroy(r);
}
END_TEST

TEST_SUITE(models_chain) {
  Suite *suite = suite_create("models_chain");
  TCase *tcase = tcase_create("chain");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, sparse_jacobian_is_the_dense_one, 0, LENGTHS);
  tcase_add_loop_test(tcase, products_are_those_of_the_matrix, 0, LENGTHS);
  tcase_add_loop_test(tcase, schur_diagonal_is_that_of_the_matrix, 0, LENGTHS);
  tcase_add_loop_test(tcase, preconditioner_solves_each_level, 0, LENGTHS);
  tcase_add_test(tcase, preconditioner_reports_a_singular_block);
  suite_add_tcase(suite, tcase);
  return suite;
}
