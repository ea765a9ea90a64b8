/* Groups of columns that share no row. */
#include <cpodes/projector/projector_impl.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "support/support.h"

enum { MAX = 40 };

static int rows, cols;
static char has[MAX][MAX]; /* has[i][j]: row i has column j */
static size_t start[MAX + 1];
static int row[MAX * MAX];
static CPColoring colors;
static CPArena arena;

static void teardown(void) { cpArenaFree(&arena); }

static int color(size_t *from, int *index, int m, int n) {
  const CPMat A = {.rows = m, .cols = n, .start = from, .row = index};
  return cpColoringCreate(&arena, &colors, &A);
}

/* Compresses has[][]. */
static void compress(void) {
  size_t k = 0;
  for (int j = 0; j < cols; j++) {
    start[j] = k;
    for (int i = 0; i < rows; i++)
      if (has[i][j]) row[k++] = i;
  }
  start[cols] = k;
}

static int share_a_row(int j, int k) {
  for (int i = 0; i < rows; i++)
    if (has[i][j] && has[i][k]) return 1;
  return 0;
}

/* Each column is in one group, and no other column of the group shares a row with it. */
static void check_valid(void) {
  int seen[MAX] = {0};
  ck_assert_int_eq(colors.start[0], 0);
  ck_assert_int_eq(colors.start[colors.ngroups], cols);
  for (int g = 0; g < colors.ngroups; g++) {
    ck_assert_int_lt(colors.start[g], colors.start[g + 1]); /* no group is empty */
    for (int a = colors.start[g]; a < colors.start[g + 1]; a++) {
      seen[colors.col[a]]++;
      for (int b = colors.start[g]; b < a; b++)
        ck_assert_msg(!share_a_row(colors.col[a], colors.col[b]), "columns %d and %d share a row",
                      colors.col[a], colors.col[b]);
    }
  }
  for (int j = 0; j < cols; j++) ck_assert_int_eq(seen[j], 1);
}

static void check_groups(int expected) {
  compress();
  ck_assert_int_eq(color(start, row, rows, cols), CP_SUCCESS);
  check_valid();
  ck_assert_int_eq(colors.ngroups, expected);
  cpArenaFree(&arena);
}

static void clear(int m, int n) {
  rows = m, cols = n;
  memset(has, 0, sizeof has);
}

/* ---- number of groups ---- */

START_TEST(a_tridiagonal_matrix_takes_three_groups) {
  clear(MAX, MAX);
  for (int i = 0; i < MAX; i++)
    for (int j = 0; j < MAX; j++) has[i][j] = abs(i - j) <= 1;
  check_groups(3);
}
END_TEST

START_TEST(a_full_row_takes_a_group_for_each_column) {
  clear(MAX, MAX); /* an arrow: diagonal, a row, a column */
  for (int i = 0; i < MAX; i++) has[i][i] = has[0][i] = has[i][0] = 1;
  check_groups(MAX);
  clear(1, MAX);
  memset(has, 1, sizeof has);
  check_groups(MAX);
  clear(MAX, MAX);
  memset(has, 1, sizeof has);
  check_groups(MAX);
}
END_TEST

START_TEST(columns_that_share_nothing_are_one_group) {
  clear(MAX, MAX);
  for (int i = 0; i < MAX; i++) has[i][i] = 1;
  check_groups(1);
  clear(MAX, 7); /* one column, full, and columns in no row */
  for (int i = 0; i < MAX; i++) has[i][3] = 1;
  check_groups(1);
  clear(3, 1);
  check_groups(1);
}
END_TEST

/* ---- the greedy algorithm ---- */

/* First fit, by its definition */
static int first_fit(int *group) {
  int ngroups = 0;
  for (int j = 0; j < cols; j++) {
    int taken[MAX] = {0};
    for (int k = 0; k < j; k++)
      if (share_a_row(j, k)) taken[group[k]] = 1;
    group[j] = 0;
    while (taken[group[j]]) group[j]++;
    if (group[j] >= ngroups) ngroups = group[j] + 1;
  }
  return ngroups;
}

START_TEST(random_patterns_are_grouped_by_first_fit) {
  unsigned long long seed = (unsigned long long)_i + 1;
  const sunrealtype empty = 0.98 * random_number(&seed); /* from nearly full to nearly empty */
  int group[MAX];
  clear(1 + _i % MAX, 1 + _i * 7 % MAX);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) has[i][j] = random_number(&seed) > empty;
  check_groups(first_fit(group));
  compress();
  ck_assert_int_eq(color(start, row, rows, cols), CP_SUCCESS);
  for (int g = 0; g < colors.ngroups; g++)
    for (int k = colors.start[g]; k < colors.start[g + 1]; k++)
      ck_assert_int_eq(group[colors.col[k]], g);
}
END_TEST

/* Two of three columns are in one row, and all are in short rows: the groups of that row never
 * include the first. */
START_TEST(columns_of_a_long_row_leave_a_group_to_the_others) {
  enum { LONG = 3000 };
  size_t *from = malloc((LONG + 1) * sizeof *from), k = 0;
  int *index = malloc(4 * LONG * sizeof *index);
  ck_assert(from && index);
  for (int j = 0; j < LONG; j++) {
    from[j] = k;
    if (j % 3) index[k++] = 0;
    for (int i = 1; i <= 3; i++) index[k++] = j + i;
  }
  from[LONG] = k;
  ck_assert_int_eq(color(from, index, LONG + 3, LONG), CP_SUCCESS);
  /* the long row's columns; column 0 (mod 3) shares rows with two of them, and group 0 is free */
  ck_assert_int_eq(colors.ngroups, LONG / 3 * 2 + 1);
  free(from);
  free(index);
}
END_TEST

START_TEST(a_dense_matrix_takes_a_group_for_each_column) {
  ck_assert_int_eq(color(NULL, NULL, 2, 5), CP_SUCCESS);
  ck_assert_int_eq(colors.ngroups, 5);
  for (int j = 0; j < 5; j++) {
    ck_assert_int_eq(colors.start[j], j);
    ck_assert_int_eq(colors.col[j], j);
  }
}
END_TEST

START_TEST(without_memory_nothing_is_left_behind) {
  clear(MAX, MAX);
  for (int i = 0; i < MAX; i++)
    for (int j = 0; j < MAX; j++) has[i][j] = abs(i - j) <= 1;
  compress();
  long n = 0;
  do {
    alloc_watch_failing(++n);
    const int flag = color(start, row, rows, cols);
    if (flag) cpArenaFree(&arena);
    alloc_unwatch();
    ck_assert_int_eq(flag, alloc_has_failed() ? CP_MEM_FAIL : CP_SUCCESS);
    if (flag) ck_assert_int_eq(alloc_live(), 0);
  } while (alloc_has_failed());
  ck_assert_int_ge(n, 3);
}
END_TEST

TEST_SUITE(coloring) {
  Suite *suite = suite_create("coloring");
  TCase *tc    = tcase_create("coloring");
  tcase_add_checked_fixture(tc, NULL, teardown);
  tcase_add_test(tc, a_tridiagonal_matrix_takes_three_groups);
  tcase_add_test(tc, a_dense_matrix_takes_a_group_for_each_column);
  tcase_add_test(tc, a_full_row_takes_a_group_for_each_column);
  tcase_add_test(tc, columns_that_share_nothing_are_one_group);
  tcase_add_loop_test(tc, random_patterns_are_grouped_by_first_fit, 0, 200);
  tcase_add_test(tc, columns_of_a_long_row_leave_a_group_to_the_others);
  tcase_add_test(tc, without_memory_nothing_is_left_behind);
  suite_add_tcase(suite, tc);
  return suite;
}
