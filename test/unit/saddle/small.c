/* Products, symmetric parts and Cholesky factors of dense matrices, on both sides of the order from
 * which BLAS is used, each against its definition by entries. */
#include <cpodes/matrix/matrix.h>
#include <cpodes/saddle/small.h>
#include <float.h>
#include <math.h>

#include "support/support.h"

enum { MAX = 40 };

static const int orders[] = {1, 2, 5, CP_SMALL, CP_SMALL + 1, MAX};
enum { N_ORDERS = sizeof orders / sizeof orders[0] };

/* X [n x m] with its columns one after another */
START_TEST(products_are_the_sums_of_their_definition) {
  const int n = orders[_i / N_ORDERS], m = orders[_i % N_ORDERS];
  double X[MAX * MAX], S[MAX * MAX], u[MAX], v[MAX];
  const CPMat A = {.rows = n, .cols = m, .value = X};
  for (int k = 0; k < n * m; k++) X[k] = sin(1 + 5 * k);
  for (int i = 0; i < MAX; i++) u[i] = cos(i), v[i] = sin(i);
  cpGram(n, m, X, S);
  cpMatTimes(&A, -2, v, 1, u);          /* u = cos - 2 X v */
  cpMatTransposedTimes(&A, 3, u, 1, v); /* v = 3 X'u + sin */
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int j = 0; j < m; j++) sum += X[i + j * n] * sin(j);
    ck_assert_double_le(fabs(u[i] - (cos(i) - 2 * sum)), 8 * (m + 1) * DBL_EPSILON);
  }
  for (int j = 0; j < m; j++) {
    double sum = 0, size = 0;
    for (int i = 0; i < n; i++) sum += X[i + j * n] * u[i], size += fabs(u[i]);
    ck_assert_double_le(fabs(v[j] - (3 * sum + sin(j))), 8 * (n + 1) * DBL_EPSILON * (1 + size));
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i <= j; i++) {
      double dot = 0;
      for (int k = 0; k < m; k++) dot += X[i + k * n] * X[j + k * n];
      ck_assert_double_le(fabs(S[i + j * n] - dot), 8 * (m + 1) * DBL_EPSILON);
    }
}
END_TEST

/* A dense matrix is passed over in tiles; every entry differs from its mirror image. */
START_TEST(the_symmetric_part_is_the_mean_of_mirrored_entries) {
  const int n = orders[_i];
  double X[MAX * MAX];
  CPMat A = {.rows = n, .cols = n, .value = X};
  for (int k = 0; k < n * n; k++) X[k] = sin(1 + 5 * k);
  ck_assert_int_eq(cpMatIsSymmetric(&A), n == 1);
  cpMatSymmetrise(&A);
  ck_assert(cpMatIsSymmetric(&A));
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      ck_assert_double_eq(X[i + j * n], 0.5 * (sin(1 + 5 * (i + j * n)) + sin(1 + 5 * (j + i * n))));
  for (int i = 1; i < n; i++) { /* a single entry off the diagonal is found */
    const double before = X[i];
    X[i] += 1;
    ck_assert(!cpMatIsSymmetric(&A));
    X[i] = before;
  }
}
END_TEST

START_TEST(solutions_satisfy_their_equations) {
  const int n   = orders[_i];
  CPArena arena = {0};
  CPCholesky c  = {0};
  double S[MAX * MAX], x[MAX];
  ck_assert_int_eq(cpCholeskyCreate(&c, &arena, n), CP_SUCCESS);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) S[i + j * n] = c.U[i + j * n] = i == j ? 1 + i : 0.5 / n;
  for (int i = 0; i < n; i++) x[i] = cos(i);
  cpCholeskyUnitDiagonal(&c);
  ck_assert_int_eq(cpCholeskyFactor(&c, CP_CHOLESKY_LEAST), 0);
  cpCholeskySolve(&c, x);
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int j = 0; j < n; j++) sum += S[i + j * n] * x[j];
    ck_assert_double_le(fabs(sum - cos(i)), 8 * (n + 1) * DBL_EPSILON);
  }
  cpArenaFree(&arena);
}
END_TEST

TEST_SUITE(small) {
  Suite *suite = suite_create("small");
  TCase *tcase = tcase_create("small");
  tcase_add_loop_test(tcase, products_are_the_sums_of_their_definition, 0, N_ORDERS * N_ORDERS);
  tcase_add_loop_test(tcase, the_symmetric_part_is_the_mean_of_mirrored_entries, 0, N_ORDERS);
  tcase_add_loop_test(tcase, solutions_satisfy_their_equations, 0, N_ORDERS);
  suite_add_tcase(suite, tcase);
  return suite;
}
