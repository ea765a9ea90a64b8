/* Products of dense matrices, on both sides of the order from which BLAS is used, each against its
 * definition by entries. */
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

int main(void) {
  Suite *suite = suite_create("small");
  TCase *tcase = tcase_create("small");
  tcase_add_loop_test(tcase, products_are_the_sums_of_their_definition, 0, N_ORDERS * N_ORDERS);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
