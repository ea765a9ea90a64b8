/* The dense linear solvers by their table: of A (n x m, unit columns) the right inverse of A'
 * and its transpose,
 *   x = A (A'A)^+ r,   mu = (A'A)^+ A'x.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "saddle/right_inverse.h"
#include "support/alloc.h"
#include "support/support.h"

enum { MAX_N = 40 };

/* A of n x m: full, or with entries only where a column's first component is at most `band` before
 * the row, as for the constraints of a chain. */
typedef struct {
  int n, m, band;
} Shape;

static const Shape shapes[]       = {{1, 1, 1},   {2, 1, 2},   {2, 2, 2},    {3, 2, 3},
                                     {5, 5, 5},   {7, 3, 7},   {20, 10, 20}, {40, 39, 40},
                                     {40, 1, 40}, {20, 15, 2}, {40, 39, 1},  {40, 40, 0}};
static const CPLinSol solver_of[] = {CP_LINSOL_SCHUR, CP_LINSOL_QR};
enum {
  N_SHAPES  = sizeof shapes / sizeof shapes[0],
  N_SOLVERS = sizeof solver_of / sizeof solver_of[0],
  N_PAIRS   = N_SHAPES * N_SOLVERS
};

static CPSaddle lin;
static int m_used; /* rows that have entries */
static sunrealtype r[MAX_N], x[MAX_N], mu[MAX_N];

/* A, column-major with leading dimension MAX_N, and its rows in compressed form. */
static sunrealtype A[MAX_N * MAX_N];
static size_t start[MAX_N + 1];
static int row[MAX_N * MAX_N];
static double value[MAX_N * MAX_N];
static const CPMat AT = {.start = start, .row = row, .value = value};

static sunrealtype *at(int j, int i) { return &A[j + i * MAX_N]; }

/* Factors of A with each column scaled to length 1, as the projector does. */
static int factor(void) {
  size_t k = 0;
  for (int i = 0; i < m_used; i++) {
    sunrealtype norm2 = 0.0;
    for (int j = 0; j < lin->n; j++) norm2 += *at(j, i) * *at(j, i);
    for (int j = 0; j < lin->n; j++) *at(j, i) /= sqrt(norm2);
  }
  for (int j = 0; j < lin->n; j++) {
    start[j] = k;
    for (int i = 0; i < m_used; i++)
      if (*at(j, i) != 0.0) {
        row[k]     = i;
        value[k++] = *at(j, i);
      }
  }
  start[lin->n] = k;
  return ri_factor(lin, &AT, 1.0e-10);
}

static void open_solver(CPLinSol type, int n, int m, int mmax) {
  ck_assert_int_eq(ri_create(&lin, type, n, mmax, &AT), CP_SUCCESS);
  m_used = m;
  memset(A, 0, sizeof A);
}

/* Random entries with 4 added on the diagonal, so that the columns are well separated: for these
 * shapes the smallest singular value of the unit columns is at least 0.05. */
static void fill_random(int band, unsigned long long seed) {
  for (int i = 0; i < m_used; i++)
    for (int j = 0; j < lin->n; j++) {
      const sunrealtype entry = random_number(&seed) + (i == j ? 4.0 : 0.0);
      *at(j, i)               = j >= i - band && j <= i + band ? entry : 0.0;
    }
}

static void open_pair(int pair) {
  const Shape s = shapes[pair / N_SOLVERS];
  open_solver(solver_of[pair % N_SOLVERS], s.n, s.m, s.m);
  fill_random(s.band, 1);
  ck_assert_int_eq(factor(), 0);
}

static void fill(sunrealtype *v, int length, unsigned long long seed) {
  for (int i = 0; i < length; i++) v[i] = random_number(&seed);
}

/* 40 operations per entry, and a condition of A'A below 1e4, the roundings of Cholesky included: 40
 * * 1e4 u = 1e-10 would be the worst case; for QR the condition of A itself, 1e2, counts. */
static sunrealtype bound(void) {
  return cpSaddleTypeOf(lin) == CP_LINSOL_SCHUR ? MAX_N * 1.0e4 * DBL_EPSILON
                                                : MAX_N * 1.0e2 * DBL_EPSILON;
}

START_TEST(each_solver_comes_with_its_type_and_name) {
  open_solver(solver_of[_i], 3, 2, 2);
  ck_assert_int_eq(cpSaddleTypeOf(lin), solver_of[_i]);
  ck_assert_int_gt((int)strlen(cpSaddleName(lin)), 0);
  cpSaddleFree(&lin);
  ck_assert_ptr_null(lin);
  cpSaddleFree(&lin);
  cpSaddleFree(NULL);
}
END_TEST

START_TEST(independent_columns_have_full_rank) {
  open_pair(_i);
  ck_assert_int_eq(lin->rank, m_used);
  ck_assert_int_eq(lin->dependent, -1);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(A_transposed_times_the_solution_is_the_right_hand_side) {
  open_pair(_i);
  fill(r, m_used, 3);
  ri_solve(lin, r, x);
  for (int i = 0; i < m_used; i++) {
    long double sum = 0.0L;
    for (int j = 0; j < lin->n; j++) sum += (long double)*at(j, i) * x[j];
    ck_assert_double_eq_tol((sunrealtype)sum, r[i], bound());
  }
  cpSaddleFree(&lin);
}
END_TEST

/* The solution has no part orthogonal to the columns: x = A mu with its own multipliers. */
START_TEST(the_solution_is_the_shortest) {
  open_pair(_i);
  fill(r, m_used, 4);
  ri_solve(lin, r, x);
  ri_solve_t(lin, x, mu);
  for (int j = 0; j < lin->n; j++) {
    long double sum = 0.0L;
    for (int i = 0; i < m_used; i++) sum += (long double)*at(j, i) * mu[i];
    ck_assert_double_eq_tol((sunrealtype)sum, x[j], 100.0 * bound()); /* |mu| may be 100 |x| */
  }
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(solve_t_recovers_the_multipliers_and_ignores_what_is_orthogonal) {
  open_pair(_i);
  sunrealtype expected[MAX_N], along[MAX_N] = {0.0}, z[MAX_N], Az[MAX_N];
  fill(expected, m_used, 5);
  for (int i = 0; i < m_used; i++)
    for (int j = 0; j < lin->n; j++) along[j] += *at(j, i) * expected[i];
  ri_solve_t(lin, along, mu);
  for (int i = 0; i < m_used; i++) ck_assert_double_eq_tol(mu[i], expected[i], 100.0 * bound());
  /* z - A (A'A)^-1 A'z is orthogonal to the columns */
  fill(z, lin->n, 6);
  ri_solve_t(lin, z, mu);
  for (int j = 0; j < lin->n; j++) {
    Az[j] = 0.0;
    for (int i = 0; i < m_used; i++) Az[j] += *at(j, i) * mu[i];
    z[j] -= Az[j];
  }
  ri_solve_t(lin, z, mu);
  for (int i = 0; i < m_used; i++) ck_assert_double_eq_tol(mu[i], 0.0, 1.0e4 * bound());
  cpSaddleFree(&lin);
}
END_TEST

/* solve(r)'w = r'solve_t(w) */
static void check_transposed(void) {
  sunrealtype w[MAX_N];
  long double left = 0.0L, right = 0.0L;
  fill(r, m_used, 7);
  fill(w, lin->n, 8);
  ri_solve(lin, r, x);
  ri_solve_t(lin, w, mu);
  for (int j = 0; j < lin->n; j++) left += (long double)x[j] * w[j];
  for (int i = 0; i < m_used; i++) right += (long double)r[i] * mu[i];
  ck_assert_double_eq_tol((sunrealtype)left, (sunrealtype)right, 1.0e2 * bound());
}

START_TEST(solve_t_is_the_transpose_of_solve) {
  open_pair(_i);
  check_transposed();
  cpSaddleFree(&lin);
}
END_TEST

/* Levels use solvers that were allocated for more columns than they have at present. */
START_TEST(fewer_columns_than_allocated_are_factored_as_if_they_were_all) {
  sunrealtype full[MAX_N];
  open_solver(solver_of[_i], 7, 3, 3);
  fill_random(MAX_N, 1);
  ck_assert_int_eq(factor(), 0);
  fill(r, 3, 9);
  ri_solve(lin, r, full);
  cpSaddleFree(&lin);

  open_solver(solver_of[_i], 7, 3, 6);
  fill_random(MAX_N, 1);
  ck_assert_int_eq(factor(), 0);
  ri_solve(lin, r, x);
  for (int j = 0; j < 7; j++) ck_assert_double_eq_tol(x[j], full[j], bound());

  m_used = 0; /* no column: nothing moves */
  ck_assert_int_eq(factor(), 0);
  ri_solve(lin, r, x);
  for (int j = 0; j < 7; j++) ck_assert_double_eq(x[j], 0.0);
  cpSaddleFree(&lin);
}
END_TEST

/* ---- dependent columns ---- */

/* Columns 0 and 1 random, 2 = column 0 reversed in sign, 3 = a combination. */
static void open_dependent(CPLinSol type) {
  open_solver(type, 6, 4, 4);
  fill_random(MAX_N, 10);
  for (int j = 0; j < 6; j++) {
    *at(j, 2) = -*at(j, 0);
    *at(j, 3) = *at(j, 0) - 2.0 * *at(j, 1);
  }
}

START_TEST(solvers_that_want_full_rank_name_a_dependent_column) {
  open_dependent(solver_of[_i]);
  ck_assert_int_eq(factor(), CP_SADDLE_DEPENDENT);
  ck_assert_int_ge(lin->dependent, 2); /* the first that depends on those before it */
  ck_assert_int_lt(lin->dependent, 4);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(pivoted_QR_finds_the_rank_and_solves_a_consistent_right_hand_side) {
  open_dependent(CP_LINSOL_QR);
  ck_assert_int_eq(factor(), 0);
  ck_assert_int_eq(lin->rank, 2);
  ck_assert_int_ge(lin->dependent, 0);
  sunrealtype y[MAX_N];
  fill(y, 6, 11);
  for (int i = 0; i < 4; i++) { /* r = A'y */
    r[i] = 0.0;
    for (int j = 0; j < 6; j++) r[i] += *at(j, i) * y[j];
  }
  ri_solve(lin, r, x);
  for (int i = 0; i < 4; i++) {
    long double sum = 0.0L;
    for (int j = 0; j < 6; j++) sum += (long double)*at(j, i) * x[j];
    ck_assert_double_eq_tol((sunrealtype)sum, r[i], bound());
  }
  check_transposed();
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(a_projector_made_of_pivoted_QR_does_not_depend_on_repeated_columns) {
  sunrealtype w[MAX_N], single[MAX_N];
  fill(w, 6, 12);
  for (int m = 2; m <= 4;
       m += 2) { /* I - A mu(w) with two columns, and with two dependent ones more */
    open_dependent(CP_LINSOL_QR);
    m_used = m;
    ck_assert_int_eq(factor(), 0);
    ri_solve_t(lin, w, mu);
    for (int j = 0; j < 6; j++) {
      sunrealtype tangential = w[j];
      for (int i = 0; i < m; i++) tangential -= *at(j, i) * mu[i];
      if (m == 2) single[j] = tangential;
      else ck_assert_double_eq_tol(tangential, single[j], bound());
    }
    cpSaddleFree(&lin);
  }
}
END_TEST

/* Five columns of length three are always dependent. */
START_TEST(more_columns_than_components_are_dependent) {
  open_solver(solver_of[_i], 3, 5, 5);
  fill_random(MAX_N, 13);
  const int flag = factor();
  if (cpSaddleTypeOf(lin) != CP_LINSOL_QR) {
    ck_assert_int_eq(flag, CP_SADDLE_DEPENDENT);
    ck_assert_int_ge(lin->dependent, 0);
    ck_assert_int_lt(lin->dependent, 5);
  } else {
    sunrealtype y[3];
    ck_assert_int_eq(flag, 0);
    ck_assert_int_eq(lin->rank, 3);
    fill(y, 3, 14);
    for (int i = 0; i < 5; i++) {
      r[i] = 0.0;
      for (int j = 0; j < 3; j++) r[i] += *at(j, i) * y[j];
    }
    ri_solve(lin, r, x); /* A'x = A'y, and A' has full rank: x = y */
    for (int j = 0; j < 3; j++) ck_assert_double_eq_tol(x[j], y[j], bound());
    check_transposed();
  }
  cpSaddleFree(&lin);
}
END_TEST

/* ---- ill-conditioned columns ---- */

/* Two columns with the angle phi between them: e1 and (cos phi, sin phi). For r = (0, 1): x = e2
 * / sin(phi). */
static int solve_narrow(CPLinSol type, sunrealtype phi) {
  open_solver(type, 3, 2, 2);
  *at(0, 0) = 1.0;
  *at(0, 1) = cos(phi);
  *at(1, 1) = sin(phi);
  r[0]      = 0.0;
  r[1]      = 1.0;
  int flag  = factor();
  if (!flag) ri_solve(lin, r, x);
  return flag;
}

START_TEST(QR_keeps_its_digits_where_cholesky_has_lost_them) {
  for (sunrealtype phi = 1.0e-1; phi > 1.0e-9; phi *= 0.1) {
    /* the columns are rounded: the small angle has the relative error u/phi; 10 operations */
    ck_assert_int_eq(solve_narrow(solver_of[_i], phi), 0);
    ck_assert_int_eq(lin->rank, 2);
    ck_assert_double_eq_tol(x[1] * sin(phi), 1.0, 10.0 * DBL_EPSILON / phi);
    ck_assert_double_eq_tol(x[0] * sin(phi), 0.0, 10.0 * DBL_EPSILON / phi);
    ck_assert_double_eq(x[2], 0.0);
    cpSaddleFree(&lin);
  }
}
END_TEST

/* Cholesky of A'A has the relative error u / phi^2: it must be right to that, or report the columns
 * as dependent. */
START_TEST(cholesky_is_accurate_or_says_dependent) {
  int refused = 0;
  for (sunrealtype phi = 1.0e-1; phi > 1.0e-9; phi *= 0.1) {
    const int flag = solve_narrow(CP_LINSOL_SCHUR, phi);
    if (flag == 0) {
      ck_assert_double_eq_tol(x[1] * sin(phi), 1.0, 10.0 * DBL_EPSILON / (phi * phi));
    } else {
      ck_assert_int_eq(flag, CP_SADDLE_DEPENDENT);
      ck_assert_int_eq(lin->dependent, 1);
      ck_assert_double_lt(phi, 1.0e-5);
      refused++;
    }
    cpSaddleFree(&lin);
  }
  ck_assert_int_gt(refused, 0);
}
END_TEST

START_TEST(an_angle_below_the_rank_tolerance_counts_as_dependence) {
  solve_narrow(CP_LINSOL_QR, 1.0e-12);
  ck_assert_int_eq(lin->rank, 1);
  cpSaddleFree(&lin);
}
END_TEST

/* ---- creation ---- */

START_TEST(unknown_types_are_refused) {
  const CPLinSol unknown[] = {(CPLinSol)17, (CPLinSol)-1};
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(ri_create(&lin, unknown[i], 3, 2, &AT), CP_ILL_INPUT);
    ck_assert_ptr_null(lin);
  }
}
END_TEST

START_TEST(every_allocation_may_fail) {
  long n = 0;
  for (int denied = 1; denied; n++) {
    alloc_watch_failing(n + 1);
    int flag = ri_create(&lin, solver_of[_i], 7, 3, &AT);
    denied   = alloc_has_failed();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    if (denied) ck_assert_ptr_null(lin);
    cpSaddleFree(&lin);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_lt(n, 100);
  }
  ck_assert_int_gt(n, 3);
}
END_TEST

START_TEST(factoring_and_solving_allocate_nothing) {
  open_solver(solver_of[_i], 20, 10, 10);
  fill_random(MAX_N, 1);
  fill(r, 10, 2);
  alloc_watch();
  const int flag = factor();
  ri_solve(lin, r, x);
  ri_solve_t(lin, x, mu);
  alloc_unwatch();
  ck_assert_int_eq(flag, 0);
  ck_assert_int_eq(alloc_count(), 0);
  cpSaddleFree(&lin);
}
END_TEST

TEST_SUITE(dense) {
  Suite *suite = suite_create("dense");
  TCase *tc    = tcase_create("dense");
  tcase_add_loop_test(tc, each_solver_comes_with_its_type_and_name, 0, N_SOLVERS);
  tcase_add_loop_test(tc, independent_columns_have_full_rank, 0, N_PAIRS);
  tcase_add_loop_test(tc, A_transposed_times_the_solution_is_the_right_hand_side, 0, N_PAIRS);
  tcase_add_loop_test(tc, the_solution_is_the_shortest, 0, N_PAIRS);
  tcase_add_loop_test(tc, solve_t_recovers_the_multipliers_and_ignores_what_is_orthogonal, 0,
                      N_PAIRS);
  tcase_add_loop_test(tc, solve_t_is_the_transpose_of_solve, 0, N_PAIRS);
  tcase_add_loop_test(tc, fewer_columns_than_allocated_are_factored_as_if_they_were_all, 0,
                      N_SOLVERS);
  tcase_add_loop_test(tc, solvers_that_want_full_rank_name_a_dependent_column, 0, 1);
  tcase_add_test(tc, pivoted_QR_finds_the_rank_and_solves_a_consistent_right_hand_side);
  tcase_add_test(tc, a_projector_made_of_pivoted_QR_does_not_depend_on_repeated_columns);
  tcase_add_loop_test(tc, more_columns_than_components_are_dependent, 0, N_SOLVERS);
  tcase_add_loop_test(tc, QR_keeps_its_digits_where_cholesky_has_lost_them, 1, N_SOLVERS);
  tcase_add_test(tc, cholesky_is_accurate_or_says_dependent);
  tcase_add_test(tc, an_angle_below_the_rank_tolerance_counts_as_dependence);
  tcase_add_test(tc, unknown_types_are_refused);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, N_SOLVERS);
  tcase_add_loop_test(tc, factoring_and_solving_allocate_nothing, 0, N_SOLVERS);
  suite_add_tcase(suite, tc);
  return suite;
}
