/* SPARSE where A's pattern consists of connected components. For A (n x m, unit columns)
 *   x = A (A'A)^+ r,   mu = (A'A)^+ A'x,
 * against the pivoted QR of the whole matrix, which shares nothing with it for independent columns. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "saddle/right_inverse.h"
#include "support/alloc.h"
#include "support/support.h"

enum { MAX_N = 160, MAX_M = 130, MAX_ENTRIES = MAX_N * 40 };

static const double ranktol = 1.0e-10;
static CPSaddle lin, dense;
static size_t start[MAX_N + 1];
static int row[MAX_ENTRIES];
static double value[MAX_ENTRIES];
static const CPMat AT = {.start = start, .row = row, .value = value};

/* The same without absent columns, for the solver of the whole matrix. */
static size_t dense_start[MAX_N + 1];
static int dense_row[MAX_ENTRIES], position[MAX_M];
static double dense_value[MAX_ENTRIES];
static const CPMat dense_AT = {.start = dense_start, .row = dense_row, .value = dense_value};

static double r[MAX_M], mu[MAX_M], mu_dense[MAX_M], x[MAX_N], x_dense[MAX_N];

/* Block b of the pattern: n x m, full, its state components and columns scattered over the whole. */
typedef struct {
  int n, m;
} Shape;

/* Sums of n and m at most MAX_N, MAX_M. */
static const Shape singles[] = {{4, 1}, {1, 1}, {7, 1}, {4, 1}, {2, 1}};
static const Shape mixed[]   = {{4, 1}, {6, 3}, {1, 1}, {12, 10}, {3, 2}, {5, 5}, {2, 1}, {9, 4}};
static const Shape one[]     = {{30, 20}};
static const Shape large[]   = {{60, 40}, {4, 1}, {50, 35}, {4, 2}};
static const struct {
  const Shape *shape;
  int nblocks;
} patterns[] = {{singles, 5}, {mixed, 8}, {one, 1}, {large, 4}};
enum { N_PATTERNS = 4, MAX_BLOCKS = 8 };

static int n, m, row_block[MAX_N], col_block[MAX_M];

/* Numbers 0 ... length - 1 are dealt to the blocks in turn, as long as a block needs more. */
static int strew(const Shape *shape, int nblocks, int columns, int *block) {
  int left[MAX_BLOCKS], length = 0, given = 1;
  for (int b = 0; b < nblocks; b++) left[b] = columns ? shape[b].m : shape[b].n;
  while (given) {
    given = 0;
    for (int b = 0; b < nblocks; b++) {
      if (left[b]-- <= 0) continue;
      block[length++] = b;
      given           = 1;
    }
  }
  return length;
}

static void set_pattern(const Shape *shape, int nblocks) {
  size_t k = 0;
  n        = strew(shape, nblocks, 0, row_block);
  m        = strew(shape, nblocks, 1, col_block);
  for (int j = 0; j < n; j++) {
    start[j] = k;
    for (int i = 0; i < m; i++)
      if (col_block[i] == row_block[j]) row[k++] = i;
  }
  start[n] = k;
  ck_assert_int_le((int)k, MAX_ENTRIES);
}

/* Each column to length 1, as the projector does; columns of zeros stay. */
static void normalise(void) {
  double square[MAX_M] = {0.0};
  for (size_t k = 0; k < start[n]; k++) square[row[k]] += value[k] * value[k];
  for (size_t k = 0; k < start[n]; k++)
    if (square[row[k]] > 0.0) value[k] /= sqrt(square[row[k]]);
}

/* Random, with 4 at the place of a block's diagonal: well apart, as in dense.c. */
static void fill_random(unsigned long long seed) {
  int seen_rows[MAX_BLOCKS] = {0};
  for (int j = 0; j < n; j++) {
    const int at = seen_rows[row_block[j]]++;
    int column   = 0;
    for (size_t k = start[j]; k < start[j + 1]; k++, column++)
      value[k] = random_number(&seed) + (column == at ? 4.0 : 0.0);
  }
  normalise();
}

static void open_solver(CPSaddle *solver, CPLinSol type, const CPMat *A) {
  ck_assert_int_eq(ri_create(solver, type, n, m, A), CP_SUCCESS);
}

static void open_pattern(int i) {
  set_pattern(patterns[i].shape, patterns[i].nblocks);
  fill_random(1);
  open_solver(&lin, CP_LINSOL_SPARSE, &AT);
}

static int is_absent(int i) {
  for (size_t k = 0; k < start[n]; k++)
    if (row[k] == i && value[k] != 0.0) return 0;
  return 1;
}

/* The whole matrix without absent columns, by pivoted QR. */
static void factor_dense(void) {
  size_t count = 0;
  int present  = 0;
  open_solver(&dense, CP_LINSOL_QR, &dense_AT);
  for (int i = 0; i < m; i++) position[i] = is_absent(i) ? -1 : present++;
  for (int j = 0; j < n; j++) {
    dense_start[j] = count;
    for (size_t k = start[j]; k < start[j + 1]; k++) {
      if (position[row[k]] < 0) continue;
      dense_row[count]     = position[row[k]];
      dense_value[count++] = value[k];
    }
  }
  dense_start[n] = count;
  ck_assert_int_eq(ri_factor(dense, &dense_AT, 1.0e-10), 0);
}

static void solve_dense(void) {
  double packed[MAX_M];
  for (int i = 0; i < m; i++)
    if (position[i] >= 0) packed[position[i]] = r[i];
  ck_assert_int_eq(ri_solve(dense, packed, x_dense), 0);
}

static void solve_t_dense(void) {
  double packed[MAX_M];
  ck_assert_int_eq(ri_solve_t(dense, x, packed), 0);
  for (int i = 0; i < m; i++) mu_dense[i] = position[i] >= 0 ? packed[position[i]] : 0.0;
}

static void close_all(void) {
  cpSaddleFree(&lin);
  cpSaddleFree(&dense);
}

static void fill(double *v, int length, unsigned long long seed) {
  for (int i = 0; i < length; i++) v[i] = random_number(&seed);
}

/* v [m] = A'w */
static void transposed_times(const double *w, double *v) {
  for (int i = 0; i < m; i++) v[i] = 0.0;
  for (int j = 0; j < n; j++)
    for (size_t k = start[j]; k < start[j + 1]; k++) v[row[k]] += value[k] * w[j];
}

/* v [n] = A w */
static void times(const double *w, double *v) {
  for (int j = 0; j < n; j++) {
    v[j] = 0.0;
    for (size_t k = start[j]; k < start[j + 1]; k++) v[j] += value[k] * w[row[k]];
  }
}

static double distance(const double *a, const double *b, int length) {
  double largest = 0.0;
  for (int i = 0; i < length; i++) {
    const double d = fabs(a[i] - b[i]);
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

/* Condition of A'A below 1e4 (as in dense.c), 60 operations per entry: the worst case of
 * Cholesky. */
static const double bound = 60.0 * 1.0e4 * DBL_EPSILON;

static void check_transposed(void) {
  double w[MAX_N];
  long double left = 0.0L, right = 0.0L;
  fill(r, m, 7);
  fill(w, n, 8);
  ck_assert_int_eq(ri_solve(lin, r, x), 0);
  ck_assert_int_eq(ri_solve_t(lin, w, mu), 0);
  for (int j = 0; j < n; j++) left += (long double)x[j] * w[j];
  for (int i = 0; i < m; i++) right += (long double)r[i] * mu[i];
  ck_assert_double_eq_tol((double)left, (double)right, 1.0e2 * bound);
}

/* ---- independent columns ---- */

START_TEST(solutions_are_those_of_the_whole_matrix) {
  open_pattern(_i);
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  ck_assert_int_eq(lin->rank, m);
  ck_assert_int_eq(lin->dependent, -1);
  factor_dense();
  fill(r, m, 2);
  ck_assert_int_eq(ri_solve(lin, r, x), 0);
  solve_dense();
  ck_assert_double_le(distance(x, x_dense, n), bound);
  fill(x, n, 3);
  ck_assert_int_eq(ri_solve_t(lin, x, mu), 0);
  solve_t_dense();
  ck_assert_double_le(distance(mu, mu_dense, m), 100.0 * bound); /* |mu| may be 100 |x| */
  close_all();
}
END_TEST

START_TEST(the_solution_satisfies_its_equations_and_lies_in_the_range) {
  double v[MAX_M], Amu[MAX_N];
  open_pattern(_i);
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  fill(r, m, 4);
  ri_solve(lin, r, x);
  transposed_times(x, v);
  ck_assert_double_le(distance(v, r, m), bound);
  ri_solve_t(lin, x, mu);
  times(mu, Amu);
  ck_assert_double_le(distance(Amu, x, n), 100.0 * bound);
  check_transposed();
  close_all();
}
END_TEST

START_TEST(new_values_make_new_factors) {
  open_pattern(_i);
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  for (unsigned long long seed = 20; seed < 23; seed++) {
    fill_random(seed);
    ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
    factor_dense();
    fill(r, m, seed);
    ri_solve(lin, r, x);
    solve_dense();
    ck_assert_double_le(distance(x, x_dense, n), bound);
    cpSaddleFree(&dense);
  }
  close_all();
}
END_TEST

/* Explicit zeros in the pattern are ordinary values. */
START_TEST(entries_of_the_pattern_may_be_zero) {
  open_pattern(1);
  for (size_t k = 0; k < start[n]; k += 3)
    if (fabs(value[k]) < 0.5) value[k] = 0.0;
  normalise();
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  factor_dense();
  ck_assert_int_eq(lin->rank, dense->rank);
  fill(r, m, 2);
  ri_solve(lin, r, x);
  solve_dense();
  ck_assert_double_le(distance(x, x_dense, n), bound);
  close_all();
}
END_TEST

/* ---- absent columns ---- */

/* Every third column is absent, one of one column and, in the pattern of one block, 7 of 20. */
START_TEST(absent_columns_neither_count_nor_matter) {
  double again[MAX_N];
  open_pattern(_i);
  int present = m;
  for (int i = 0; i < m; i += 3) {
    for (size_t k = 0; k < start[n]; k++)
      if (row[k] == i) value[k] = 0.0;
    present--;
  }
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  ck_assert_int_eq(lin->rank, present);
  ck_assert_int_eq(lin->dependent, -1);
  for (int i = 0; i < m; i++) ck_assert_int_eq(lin->is_dependent[i], 0);
  factor_dense();
  fill(r, m, 2);
  ri_solve(lin, r, x);
  solve_dense();
  ck_assert_double_le(distance(x, x_dense, n), bound);
  for (int i = 0; i < m; i += 3) r[i] = i % 2 ? NAN : INFINITY;
  ri_solve(lin, r, again);
  ck_assert_mem_eq(x, again, (size_t)n * sizeof *x);
  fill(x, n, 3);
  ri_solve_t(lin, x, mu);
  solve_t_dense();
  ck_assert_double_le(distance(mu, mu_dense, m), 100.0 * bound);
  for (int i = 0; i < m; i += 3) ck_assert_double_eq(mu[i], 0.0);
  close_all();
}
END_TEST

START_TEST(without_any_present_column_nothing_moves) {
  open_pattern(_i);
  memset(value, 0, sizeof value);
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  ck_assert_int_eq(lin->rank, 0);
  fill(r, m, 2);
  fill(x, n, 3);
  ri_solve_t(lin, x, mu);
  for (int i = 0; i < m; i++) ck_assert_double_eq(mu[i], 0.0);
  ri_solve(lin, r, x);
  for (int j = 0; j < n; j++) ck_assert_double_eq(x[j], 0.0);
  close_all();
}
END_TEST

/* ---- dependent columns ---- */

/* Entry (j, i) of A, NULL outside of the pattern. */
static double *at(int j, int i) {
  for (size_t k = start[j]; k < start[j + 1]; k++)
    if (row[k] == i) return &value[k];
  return NULL;
}

/* The k-th column of a block. */
static int column_of(int block, int k) {
  for (int i = 0; i < m; i++)
    if (col_block[i] == block && k-- == 0) return i;
  ck_abort_msg("block %d has no such column", block);
}

/* In blocks 1 and 3 of `mixed` column 1 becomes minus column 0, in block 3 column 4 becomes
 * column 2 - 2 column 3, too: three dependent columns. */
static void make_dependent(void) {
  for (int j = 0; j < n; j++) {
    if (row_block[j] != 1 && row_block[j] != 3) continue;
    const int b             = row_block[j];
    *at(j, column_of(b, 1)) = -*at(j, column_of(b, 0));
    if (b == 3) *at(j, column_of(b, 4)) = *at(j, column_of(b, 2)) - 2.0 * *at(j, column_of(b, 3));
  }
  normalise();
}

/* The rank of the columns that are not reported as dependent, by modified Gram-Schmidt in long
 * double. */
static int rank_of_independent(void) {
  static long double basis[MAX_M][MAX_N];
  int rank = 0;
  for (int i = 0; i < m; i++) {
    if (lin->is_dependent[i] || is_absent(i)) continue;
    long double *v = basis[rank], square = 0.0L;
    for (int j = 0; j < n; j++) v[j] = at(j, i) ? *at(j, i) : 0.0L;
    for (int pass = 0; pass < 2; pass++)
      for (int k = 0; k < rank; k++) {
        long double along = 0.0L;
        for (int j = 0; j < n; j++) along += basis[k][j] * v[j];
        for (int j = 0; j < n; j++) v[j] -= along * basis[k][j];
      }
    for (int j = 0; j < n; j++) square += v[j] * v[j];
    if (square < 1.0e-12L) continue; /* independent ones here have 0.05^2 at least */
    for (int j = 0; j < n; j++) v[j] /= sqrtl(square);
    rank++;
  }
  return rank;
}

static int count_dependent(void) {
  int count = 0;
  for (int i = 0; i < m; i++) count += lin->is_dependent[i];
  return count;
}

START_TEST(dependent_columns_are_found_in_their_blocks) {
  open_pattern(1);
  make_dependent();
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  ck_assert_int_eq(lin->rank, m - 3);
  ck_assert_int_eq(count_dependent(), 3);
  ck_assert_int_eq(rank_of_independent(), m - 3);
  ck_assert_int_ge(lin->dependent, 0);
  ck_assert_int_eq(lin->is_dependent[lin->dependent], 1);
  for (int i = 0; i < m; i++)
    if (lin->is_dependent[i]) ck_assert_int_eq(col_block[i] == 1 || col_block[i] == 3, 1);
  close_all();
}
END_TEST

/* With r = A'y all subsets of columns give the same point. */
static void check_consistent(void) {
  double y[MAX_N], v[MAX_M];
  fill(y, n, 11);
  transposed_times(y, r);
  ck_assert_int_eq(ri_solve(lin, r, x), 0);
  transposed_times(x, v);
  ck_assert_double_le(distance(v, r, m), bound);
  factor_dense();
  ck_assert_int_eq(lin->rank, dense->rank);
  solve_dense();
  ck_assert_double_le(distance(x, x_dense, n), 100.0 * bound);
  check_transposed();
  cpSaddleFree(&dense);
}

START_TEST(consistent_dependent_columns_are_solved) {
  open_pattern(1);
  make_dependent();
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  check_consistent();
  close_all();
}
END_TEST

/* The projector I - A mu(.) does not depend on which columns count as dependent. */
START_TEST(the_tangent_projector_is_that_of_the_whole_matrix) {
  double normal[MAX_N], normal_dense[MAX_N] = {0.0};
  open_pattern(1);
  make_dependent();
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  factor_dense();
  fill(x, n, 12);
  ri_solve_t(lin, x, mu);
  solve_t_dense();
  times(mu, normal);
  times(mu_dense, normal_dense);
  ck_assert_double_le(distance(normal, normal_dense, n), 1.0e3 * bound);
  close_all();
}
END_TEST

START_TEST(the_rank_may_come_back_and_go_again) {
  open_pattern(1);
  for (unsigned long long round = 0; round < 3; round++) {
    fill_random(30 + round);
    make_dependent();
    ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
    ck_assert_int_eq(lin->rank, m - 3);
    check_consistent();
    fill_random(40 + round);
    ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
    ck_assert_int_eq(lin->rank, m);
    ck_assert_int_eq(lin->dependent, -1);
    ck_assert_int_eq(count_dependent(), 0);
    check_consistent();
  }
  close_all();
}
END_TEST

/* Block 3 has the absent column 0, of which column 1 is the copy: no dependence remains there. */
START_TEST(an_absent_column_is_no_reason_for_dependence) {
  open_pattern(1);
  make_dependent();
  for (int j = 0; j < n; j++)
    if (row_block[j] == 3) *at(j, column_of(3, 0)) = 0.0;
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  ck_assert_int_eq(lin->rank, m - 3); /* one absent, one of block 1, one more of block 3 */
  ck_assert_int_eq(count_dependent(), 2);
  ck_assert_int_eq(lin->is_dependent[column_of(3, 0)], 0);
  ck_assert_int_eq(rank_of_independent(), m - 3);
  check_consistent();
  fill(x, n, 3);
  ri_solve_t(lin, x, mu);
  ck_assert_double_eq(mu[column_of(3, 0)], 0.0);
  close_all();
}
END_TEST

START_TEST(more_columns_than_components_of_the_state) {
  static const Shape wide[] = {{2, 5}, {4, 1}, {3, 3}};
  set_pattern(wide, 3);
  fill_random(13);
  open_solver(&lin, CP_LINSOL_SPARSE, &AT);
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  ck_assert_int_eq(lin->rank, 2 + 1 + 3);
  ck_assert_int_eq(count_dependent(), 3);
  ck_assert_int_eq(rank_of_independent(), 6);
  check_consistent();
  close_all();
}
END_TEST

/* Two columns at an angle of 10^-_i: Cholesky of A'A distinguishes them down to 1e-6, and pivoted
 * QR, which takes over, down to ranktol. The error of a solution along the difference is u over the
 * angle; for Cholesky it is u over its square, while that is in use. */
START_TEST(small_angles_are_told_from_dependence_down_to_the_rank_tolerance) {
  static const Shape two[] = {{2, 2}, {4, 1}};
  const double angle       = pow(10.0, -_i);
  set_pattern(two, 2);
  fill_random(14);
  const int a = column_of(0, 0), b = column_of(0, 1);
  int first = -1, second = -1;
  for (int j = 0; j < n; j++)
    if (row_block[j] == 0) *(first < 0 ? &first : &second) = j;
  *at(first, a)  = 1.0;
  *at(second, a) = 0.0;
  *at(first, b)  = cos(angle);
  *at(second, b) = sin(angle);
  open_solver(&lin, CP_LINSOL_SPARSE, &AT);
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  ck_assert_int_eq(lin->rank, angle > lin->ranktol ? 3 : 2);
  if (angle > lin->ranktol) {
    fill(r, m, 2);
    ri_solve(lin, r, x);
    const double expected = (r[b] - cos(angle) * r[a]) / sin(angle); /* x_1 = r_a, A'x = r */
    const double error    = _i < 6 ? DBL_EPSILON / (angle * angle) : DBL_EPSILON / angle;
    ck_assert_double_eq_tol(x[first], r[a], 10.0 * error * fabs(expected));
    ck_assert_double_eq_tol(x[second], expected, 10.0 * error * fabs(expected));
  }
  close_all();
}
END_TEST

/* ---- memory ---- */

START_TEST(every_allocation_may_fail) {
  long count = 0;
  set_pattern(mixed, 8);
  for (int denied = 1; denied; count++) {
    alloc_watch_failing(count + 1);
    const int flag = ri_create(&lin, CP_LINSOL_SPARSE, n, m, &AT);
    denied         = alloc_has_failed();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    if (denied) ck_assert_ptr_null(lin);
    cpSaddleFree(&lin);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_lt(count, 100);
  }
  ck_assert_int_gt(count, 8);
}
END_TEST

START_TEST(independent_columns_are_factored_and_solved_without_allocations) {
  open_pattern(_i / 2);
  for (size_t k = 0; _i % 2 && k < start[n]; k++)
    if (row[k] % 3 == 0) value[k] = 0.0;
  fill(r, m, 2);
  alloc_watch();
  const int flag = ri_factor(lin, &AT, ranktol);
  ri_solve(lin, r, x);
  ri_solve_t(lin, x, mu);
  alloc_unwatch();
  ck_assert_int_eq(flag, 0);
  ck_assert_int_eq(alloc_count(), 0);
  close_all();
}
END_TEST

START_TEST(dependent_columns_are_factored_again_without_allocations) {
  open_pattern(1);
  make_dependent();
  ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
  alloc_watch();
  const int flag = ri_factor(lin, &AT, ranktol);
  alloc_unwatch();
  ck_assert_int_eq(flag, 0);
  ck_assert_int_eq(alloc_count(), 0);
  close_all();
}
END_TEST

/* The number of allocations does not grow with the number of blocks, except for a list of entries
 * that doubles. */
START_TEST(the_number_of_allocations_is_nearly_that_of_one_block) {
  static const Shape few[] = {{3, 2}};
  long counts[2];
  for (int i = 0; i < 2; i++) {
    if (i) set_pattern(mixed, 8);
    else set_pattern(few, 1);
    alloc_watch();
    ck_assert_int_eq(ri_create(&lin, CP_LINSOL_SPARSE, n, m, &AT), CP_SUCCESS);
    alloc_unwatch();
    counts[i] = alloc_count();
    cpSaddleFree(&lin);
  }
  ck_assert_int_le(counts[1], counts[0] + 4);
}
END_TEST

TEST_SUITE(separate) {
  Suite *suite = suite_create("separate");
  TCase *tc    = tcase_create("separate");
  tcase_add_loop_test(tc, solutions_are_those_of_the_whole_matrix, 0, N_PATTERNS);
  tcase_add_loop_test(tc, the_solution_satisfies_its_equations_and_lies_in_the_range, 0, N_PATTERNS);
  tcase_add_loop_test(tc, new_values_make_new_factors, 0, N_PATTERNS);
  tcase_add_test(tc, entries_of_the_pattern_may_be_zero);
  tcase_add_loop_test(tc, absent_columns_neither_count_nor_matter, 0, N_PATTERNS);
  tcase_add_loop_test(tc, without_any_present_column_nothing_moves, 0, N_PATTERNS);
  tcase_add_test(tc, dependent_columns_are_found_in_their_blocks);
  tcase_add_test(tc, consistent_dependent_columns_are_solved);
  tcase_add_test(tc, the_tangent_projector_is_that_of_the_whole_matrix);
  tcase_add_test(tc, the_rank_may_come_back_and_go_again);
  tcase_add_test(tc, an_absent_column_is_no_reason_for_dependence);
  tcase_add_test(tc, more_columns_than_components_of_the_state);
  tcase_add_loop_test(tc, small_angles_are_told_from_dependence_down_to_the_rank_tolerance, 1, 13);
  tcase_add_test(tc, every_allocation_may_fail);
  tcase_add_loop_test(tc, independent_columns_are_factored_and_solved_without_allocations, 0,
                      2 * N_PATTERNS);
  tcase_add_test(tc, dependent_columns_are_factored_again_without_allocations);
  tcase_add_test(tc, the_number_of_allocations_is_nearly_that_of_one_block);
  suite_add_tcase(suite, tc);
  return suite;
}
