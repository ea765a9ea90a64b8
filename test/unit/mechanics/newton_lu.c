/* LU factors of iteration matrices, dense and sparse, by systems whose solutions are known. */
#include <cpodes/mechanics/newton/newton_impl.h>
#include <math.h>
#include <string.h>

#include "support/support.h"

enum { N = 3, SOLVERS = 2 };

static struct CPLu_ lu;
static CPArena arena;
static const CPLuOps *const solvers[SOLVERS] = {&cpLuDenseOps, &cpLuKluOps};

static void create(int solver) {
  CPPlaces all = {0};
  lu           = (struct CPLu_){.ops = solvers[solver], .arena = &arena, .order = N, .is_new = 1};
  ck_assert_int_eq(lu.ops->create(&lu), CP_SUCCESS);
  if (solver == 0) return;
  for (int k = 0; k < N * N; k++) cpPlacesAdd(&all, k % N, k / N);
  ck_assert_int_eq(cpMatFromPlaces(&lu.S, N, N, &all), CP_SUCCESS);
}

static void destroy(void) {
  cpMatFree(&lu.S);
  cpArenaFree(&arena);
}

/* A by rows */
static int factor(const double A[N][N]) {
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) lu.S.value[N * j + i] = A[i][j];
  return lu.ops->factor(&lu);
}

/* Largest error of the solution of A x = A (1, 2, 3) */
static double error(const double A[N][N]) {
  double x[N] = {0.0}, largest = 0.0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) x[i] += A[i][j] * (j + 1);
  ck_assert_int_eq(lu.ops->solve(&lu, x), CP_SUCCESS);
  for (int i = 0; i < N; i++) largest = fmax(largest, fabs(x[i] - (i + 1)));
  return largest;
}

/* Condition numbers are below 100 once the rows have one size: 100 roundoffs. */
#define BOUND 1.0e-13

static const double plain[N][N]  = {{4.0, 1.0, 0.5}, {1.0, 3.0, 1.0}, {0.5, 1.0, 5.0}};
static const double pivots[N][N] = {{1e-20, 1.0, 0.5}, {1.0, 1e-20, 1.0}, {0.5, 1.0, 1e-20}};
/* Equations in units of their own */
static const double scaled[N][N]   = {{4e12, 1e12, 5e11}, {1.0, 3.0, 1.0}, {5e-13, 1e-12, 5e-12}};
static const double singular[N][N] = {{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}};
static const double empty[N][N]    = {{1.0, 2.0, 3.0}, {0.0, 0.0, 0.0}, {1.0, 0.0, 1.0}};

START_TEST(solutions_are_right) {
  create(_i);
  ck_assert_int_eq(factor(plain), 0);
  ck_assert_double_le(error(plain), BOUND);
  ck_assert_int_eq(factor(scaled), 0);
  ck_assert_double_le(error(scaled), BOUND);
  destroy();
}
END_TEST

/* The pivots of the first matrix are 1e-20 in the second: with them nothing would be right. */
START_TEST(pivots_are_chosen_anew_where_the_old_ones_are_bad) {
  create(_i);
  ck_assert_int_eq(factor(plain), 0);
  ck_assert_int_eq(factor(pivots), 0);
  ck_assert_double_le(error(pivots), BOUND);
  ck_assert_int_eq(factor(plain), 0);
  ck_assert_double_le(error(plain), BOUND);
  destroy();
}
END_TEST

START_TEST(a_singular_matrix_is_told) {
  create(_i);
  ck_assert_int_eq(factor(singular), 1);
  ck_assert_int_eq(factor(plain), 0); /* and the next one is as if it had not been */
  ck_assert_double_le(error(plain), BOUND);
  ck_assert_int_eq(factor(singular), 1);
  ck_assert_int_eq(factor(empty), 1);
  ck_assert_int_eq(factor(plain), 0);
  ck_assert_double_le(error(plain), BOUND);
  destroy();
}
END_TEST

static Suite *lu_suite(void) {
  Suite *suite = suite_create("LU factors");
  TCase *tc    = tcase_create("factors");
  tcase_add_loop_test(tc, solutions_are_right, 0, SOLVERS);
  tcase_add_loop_test(tc, pivots_are_chosen_anew_where_the_old_ones_are_bad, 0, SOLVERS);
  tcase_add_loop_test(tc, a_singular_matrix_is_told, 0, SOLVERS);
  suite_add_tcase(suite, tc);
  return suite;
}

int main(void) { return run_suite(lu_suite()); }
