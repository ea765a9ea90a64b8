/* The sparse linear solver by its table, against dense pivoted QR and the identities that define
 *   x = A (A'A)^+ r,   mu = (A'A)^+ A'x.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "saddle/right_inverse.h"
#include "support/alloc.h"
#include "support/support.h"

enum { MAX_N = 300, MAX_M = 240 };

static double ranktol;
static CPSaddle lin, dense;
static int n, m;
static char pattern[MAX_N][MAX_M];
static double A[MAX_N][MAX_M];
static double r[MAX_M], mu[MAX_M], expected_mu[MAX_M], x[MAX_N], y[MAX_N], expected_x[MAX_N];

/* A^T by components, with the structure and with only the nonzero columns */
static size_t start[MAX_N + 1], present_start[MAX_N + 1];
static int row[MAX_N * MAX_M], present_row[MAX_N * MAX_M];
static double value[MAX_N * MAX_M], present_value[MAX_N * MAX_M];
static const CPMat AT         = {.start = start, .row = row, .value = value};
static const CPMat present_AT = {.start = present_start, .row = present_row, .value = present_value};
static int present[MAX_M], npresent; /* the present columns */

static unsigned long long seed;

static void fill(double *v, int length) {
  for (int i = 0; i < length; i++) v[i] = random_number(&seed);
}

/* ---- matrices ---- */

static void set(int j, int i, double entry) {
  pattern[j][i] = 1;
  A[j][i]       = entry;
}

static void random_sparse(void) {
  n = 60, m = 40;
  for (int i = 0; i < m; i++) {
    set(i, i, 3.0 + random_number(&seed));
    for (int k = 0; k < 3; k++) set((7 * i + 11 * k + 5) % n, i, random_number(&seed));
  }
}

/* Positions of point masses in the plane, with distances between consecutive ones. */
static void chain(void) {
  n = 100, m = 50;
  for (int i = 0; i < m; i++) {
    const double angle = random_number(&seed), d[2] = {cos(angle), sin(angle)};
    for (int k = 0; k < 2; k++) {
      set(2 * i + k, i, d[k]);
      if (i > 0) set(2 * (i - 1) + k, i, -d[k]);
    }
  }
}

/* Joints of five rows between bodies of six coordinates: body b > 0 and parent(b). */
static void joints(int bodies, int (*parent)(int)) {
  n = 6 * bodies, m = 0;
  for (int b = 1; b < bodies; b++)
    for (int k = 0; k < 5; k++, m++)
      for (int c = 0; c < 6; c++) {
        set(6 * b + c, m, random_number(&seed) + (k == c ? 4.0 : 0.0));
        set(6 * parent(b) + c, m, random_number(&seed));
      }
}

static int parent_in_tree(int b) { return (b - 1) / 3; }
static int hub(int b) { return 0 * b; }

static void tree(void) { joints(30, parent_in_tree); }

static void star(void) { joints(16, hub); }

/* A star whose hub has three more constraints of its own. */
static void grounded_star(void) {
  star();
  for (int k = 0; k < 3; k++, m++)
    for (int c = 0; c < 6; c++) set(c, m, random_number(&seed) + (k == c ? 4.0 : 0.0));
}

/* So full that CHOLMOD uses supernodes, if CPODES_GPL is ON. */
static void full(void) {
  n = 300, m = 240;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) set(j, i, random_number(&seed) + (i == j ? 20.0 : 0.0));
}

static void single(void) {
  n = m = 1;
  set(0, 0, -2.0);
}

static void (*const model[])(void) = {random_sparse, chain,  tree, star,
                                      grounded_star, single, full};
enum { N_MODELS = sizeof model / sizeof model[0], GROUNDED = 4, SINGLE = 5, FULL = 6 };

static void clear(void) {
  seed = 1;
  memset(pattern, 0, sizeof pattern);
  memset(A, 0, sizeof A);
}

/* ---- solvers ---- */

static void gather_structure(void) {
  size_t count = 0;
  for (int j = 0; j < n; j++) {
    start[j] = count;
    for (int i = 0; i < m; i++)
      if (pattern[j][i]) row[count++] = i;
  }
  start[n] = count;
}

/* Columns of length one, or zero; and the nonzero ones separately. */
static void gather_values(void) {
  size_t count = 0, present_count = 0;
  int place[MAX_M];
  npresent = 0;
  for (int i = 0; i < m; i++) {
    long double norm2 = 0.0L;
    for (int j = 0; j < n; j++) norm2 += (long double)A[j][i] * A[j][i];
    for (int j = 0; norm2 > 0.0L && j < n; j++) A[j][i] /= (double)sqrtl(norm2);
    place[i] = npresent;
    if (norm2 > 0.0L) present[npresent++] = i;
  }
  for (int j = 0; j < n; j++) {
    present_start[j] = present_count;
    for (int i = 0; i < m; i++) {
      if (pattern[j][i]) value[count++] = A[j][i];
      if (A[j][i] == 0.0) continue;
      present_row[present_count]     = place[i];
      present_value[present_count++] = A[j][i];
    }
  }
  present_start[n] = present_count;
}

static void open_solver(void) {
  gather_structure();
  ranktol = 1.0e-10;
  ck_assert_int_eq(ri_create(&lin, CP_LINSOL_SPARSE, n, m, &AT), CP_SUCCESS);
}

static int factor(void) {
  gather_values();
  return ri_factor(lin, &AT, ranktol);
}

static void open_model(int i) {
  clear();
  model[i]();
  open_solver();
  ck_assert_int_eq(factor(), 0);
}

/* Random entries throughout the structure; large entries keep their places. */
static void change_values(void) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++)
      if (pattern[j][i]) A[j][i] += 0.1 * random_number(&seed);
}

static void open_dense(void) {
  ck_assert_int_eq(ri_create(&dense, CP_LINSOL_QR, n, npresent, &present_AT), CP_SUCCESS);
  ck_assert_int_eq(ri_factor(dense, &present_AT, 1.0e-10), 0);
}

static void solve(const double *rhs, double *result) {
  ck_assert_int_eq(ri_solve(lin, rhs, result), 0);
}

static void solve_t(const double *w, double *result) {
  ck_assert_int_eq(ri_solve_t(lin, w, result), 0);
}

/* The same by dense pivoted QR of the present columns. */
static void solve_dense(const double *rhs, double *result) {
  double compact[MAX_M];
  for (int k = 0; k < npresent; k++) compact[k] = rhs[present[k]];
  ck_assert_int_eq(ri_solve(dense, compact, result), 0);
}

static void solve_t_dense(const double *w, double *result) {
  double compact[MAX_M];
  ck_assert_int_eq(ri_solve_t(dense, w, compact), 0);
  memset(result, 0, (size_t)m * sizeof *result);
  for (int k = 0; k < npresent; k++) result[present[k]] = compact[k];
}

static double transposed_times(int i, const double *v) { /* (A'v)_i */
  long double sum = 0.0L;
  for (int j = 0; j < n; j++) sum += (long double)A[j][i] * v[j];
  return (double)sum;
}

static double times(int j, const double *v) { /* (A v)_j */
  long double sum = 0.0L;
  for (int i = 0; i < m; i++) sum += (long double)A[j][i] * v[i];
  return (double)sum;
}

static double norm(const double *v, int length) {
  long double sum = 0.0L;
  for (int i = 0; i < length; i++) sum += (long double)v[i] * v[i];
  return (double)sqrtl(sum);
}

/* |(A'A)^+| by power iteration, twice the result after 30 steps to be safe; columns have unit
 * length, so |A'A| <= m. */
static double inverse_norm(void) {
  double v[MAX_M], w[MAX_N], estimate = 1.0;
  fill(v, m);
  for (int k = 0; k < 30; k++) {
    const double length = norm(v, m);
    for (int i = 0; i < m; i++) v[i] /= length;
    solve_dense(v, w);
    solve_t_dense(w, v);
    estimate = norm(v, m);
  }
  return 2.0 * estimate;
}

/* Relative error of the normal equations by Cholesky: that of S, at most m |row of A|_max u < 10 u
 * in these matrices, and of its factor, about 10 u (few entries in a row), times the condition,
 * |S| < 10 times |S^+|. If an angle is too narrow for Cholesky, below 1e-6, it is the condition of
 * A, its root. */
static double bound(void) {
  const double inverse = inverse_norm();
  return 200.0 * DBL_EPSILON * (inverse > 1.0e12 ? sqrt(inverse) : inverse);
}

static void check_distance(const double *a, const double *b, int length, double tolerance) {
  double largest = 0.0;
  for (int i = 0; i < length; i++) largest = fmax(largest, fabs(a[i] - b[i]));
  ck_assert_double_le(largest, tolerance);
}

/* x and mu agree with dense QR, and are the transposes of each other. Columns are independent or
 * absent. */
static void check_both_solves(void) {
  open_dense();
  const double relative = bound();
  fill(r, m);
  fill(y, n);
  solve(r, x);
  solve_dense(r, expected_x);
  check_distance(x, expected_x, n, relative * norm(expected_x, n));
  for (int k = 0; k < npresent; k++)
    ck_assert_double_eq_tol(transposed_times(present[k], x), r[present[k]],
                            relative * norm(expected_x, n));
  solve_t(y, mu);
  solve_t_dense(y, expected_mu);
  check_distance(mu, expected_mu, m, relative * norm(expected_mu, m));
  double product = 0.0, transposed = 0.0;
  for (int j = 0; j < n; j++) product += x[j] * y[j];
  for (int i = 0; i < m; i++) transposed += r[i] * mu[i];
  ck_assert_double_eq_tol(product, transposed, relative * norm(x, n) * norm(y, n));
  cpSaddleFree(&dense);
}

START_TEST(independent_columns_give_the_solutions_of_dense_QR) {
  open_model(_i);
  ck_assert_int_eq(lin->rank, m);
  ck_assert_int_eq(lin->dependent, -1);
  for (int i = 0; i < m; i++) ck_assert_int_eq(lin->is_dependent[i], 0);
  check_both_solves();
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(the_solution_is_in_the_range_of_A) {
  open_model(_i);
  open_dense();
  fill(r, m);
  solve(r, x);
  solve_t(x, mu);
  for (int j = 0; j < n; j++) y[j] = times(j, mu);
  check_distance(x, y, n, bound() * norm(x, n));
  cpSaddleFree(&dense);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(new_values_in_the_same_structure_are_factored_afresh) {
  open_model(_i);
  for (int k = 0; k < 3; k++) {
    change_values();
    ck_assert_int_eq(factor(), 0);
    ck_assert_int_eq(lin->rank, m);
    check_both_solves();
  }
  cpSaddleFree(&lin);
}
END_TEST

/* ---- absent columns ---- */

static void remove_column(int i) {
  for (int j = 0; j < n; j++) A[j][i] = 0.0;
}

/* Their r is ignored, and their mu is zero. */
static void check_absent(int i) {
  fill(r, m);
  solve(r, x);
  r[i] += 1000.0;
  solve(r, y);
  check_distance(x, y, n, 0.0);
  solve_t(x, mu);
  ck_assert_double_eq(mu[i], 0.0);
  ck_assert_int_eq(lin->is_dependent[i], 0);
}

START_TEST(absent_columns_are_left_out) {
  open_model(_i);
  const int absent[] = {0, m / 2, m - 1};
  for (int k = 0; k < 3; k++) remove_column(absent[k]);
  ck_assert_int_eq(factor(), 0);
  ck_assert_int_eq(lin->rank, npresent);
  ck_assert_int_eq(lin->rank, m > 3 ? m - 3 : 0);
  ck_assert_int_eq(lin->dependent, -1);
  if (npresent) check_both_solves();
  for (int k = 0; k < 3; k++) check_absent(absent[k]);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(without_any_present_column_nothing_moves) {
  open_model(_i);
  for (int i = 0; i < m; i++) remove_column(i);
  ck_assert_int_eq(factor(), 0);
  ck_assert_int_eq(lin->rank, 0);
  fill(r, m);
  fill(y, n);
  solve(r, x);
  solve_t(y, mu);
  ck_assert_double_eq(norm(x, n), 0.0);
  ck_assert_double_eq(norm(mu, m), 0.0);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(rows_without_any_entry_in_the_structure_are_absent) {
  clear();
  chain();
  m += 2; /* two columns of A without an entry */
  open_solver();
  ck_assert_int_eq(factor(), 0);
  ck_assert_int_eq(lin->rank, m - 2);
  check_both_solves();
  check_absent(m - 1);
  cpSaddleFree(&lin);
  for (m = 0; m < 3; m += 2) { /* no entry at all, no column at all */
    clear();
    n = 3;
    open_solver();
    ck_assert_int_eq(factor(), 0);
    ck_assert_int_eq(lin->rank, 0);
    solve(r, x);
    solve_t(x, mu);
    ck_assert_double_eq(norm(x, n), 0.0);
    cpSaddleFree(&lin);
  }
}
END_TEST

/* ---- dependent columns ---- */

/* Two more columns: the first one with reversed sign, and the sum of the first and the last. And
 * one at an angle of about 1e-7 from the first, which Cholesky cannot distinguish from dependence:
 * double-double arithmetic decides. */
enum { N_DEPENDENT = 2, N_MORE = 3 };

static void add_dependent(int nearly) {
  for (int j = 0; j < n; j++) {
    const double a = A[j][0], b = A[j][m - 1];
    if (pattern[j][0]) set(j, m, -2.0 * a);
    if (!pattern[j][0] && !pattern[j][m - 1]) continue;
    set(j, m + 1, a + b);
    if (nearly) set(j, m + 2, a + 1.0e-7 * random_number(&seed));
  }
  m += N_DEPENDENT + (nearly != 0);
}

/* i: a model; N_MODELS + i: the same with a nearly dependent column. */
static void make_dependent(int i) {
  clear();
  model[i % N_MODELS]();
  if (i % N_MODELS == FULL) m -= N_MORE; /* makes room */
  add_dependent(i >= N_MODELS);
}

static void open_dependent(int i) {
  make_dependent(i);
  open_solver();
  ck_assert_int_eq(factor(), 0);
}

/* When the dependent columns are removed, rank columns remain, and they have that rank. */
static void check_independent_subset(int rank) {
  int count = 0;
  static double copy[MAX_N][MAX_M];
  memcpy(copy, A, sizeof A);
  ck_assert_int_eq(lin->rank, rank);
  for (int i = 0; i < m; i++) count += lin->is_dependent[i];
  ck_assert_int_eq(count, npresent - rank);
  ck_assert_int_eq(lin->dependent >= 0, count > 0);
  if (count) ck_assert_int_eq(lin->is_dependent[lin->dependent], 1);
  for (int i = 0; i < m; i++)
    if (lin->is_dependent[i]) remove_column(i);
  gather_values();
  open_dense();
  ck_assert_int_eq(dense->rank, rank);
  cpSaddleFree(&dense);
  memcpy(A, copy, sizeof A);
  gather_values();
}

/* For the right-hand side A'z of a random z, every solver gives the projection of z onto the range
 * of A; so does A mu of the same z, whatever mu is. */
static void check_consistent(void) {
  double z[MAX_N];
  open_dense();
  const double tolerance = bound() * sqrt((double)n);
  fill(z, n);
  for (int i = 0; i < m; i++) r[i] = transposed_times(i, z);
  solve(r, x);
  solve_dense(r, expected_x);
  check_distance(x, expected_x, n, tolerance);
  for (int i = 0; i < m; i++) ck_assert_double_eq_tol(transposed_times(i, x), r[i], tolerance);
  solve_t(z, mu);
  for (int j = 0; j < n; j++) y[j] = times(j, mu);
  check_distance(y, expected_x, n, tolerance);
  for (int i = 0; i < m; i++)
    if (lin->is_dependent[i]) ck_assert_double_eq(mu[i], 0.0);
  double product = 0.0, transposed = 0.0;
  fill(r, m); /* contradictory */
  solve(r, x);
  for (int j = 0; j < n; j++) product += x[j] * z[j];
  for (int i = 0; i < m; i++) transposed += r[i] * mu[i];
  ck_assert_double_eq_tol(product, transposed, bound() * norm(x, n) * norm(z, n));
  cpSaddleFree(&dense);
}

START_TEST(dependent_columns_have_the_rank_and_the_solution_of_an_independent_subset) {
  open_dependent(_i);
  check_independent_subset(_i == SINGLE ? 1 : m - N_DEPENDENT);
  check_consistent();
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(absent_columns_do_not_count_among_dependent_ones) {
  open_dependent(_i);
  remove_column(m / 3);
  ck_assert_int_eq(factor(), 0);
  check_independent_subset(m - N_DEPENDENT - 1);
  check_consistent();
  check_absent(m / 3);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(more_columns_than_components_have_the_rank_of_the_components) {
  clear();
  n = 20, m = 35;
  for (int i = 0; i < m; i++)
    for (int k = 0; k < 4; k++) set((i + k * k) % n, i, random_number(&seed) + (k ? 0.0 : 3.0));
  open_solver();
  ck_assert_int_eq(factor(), 0);
  check_independent_subset(n);
  check_consistent();
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(dependence_may_come_and_go) {
  open_dependent(_i);
  const int full_rank = m;
  static double singular[MAX_N][MAX_M];
  memcpy(singular, A, sizeof A);
  for (int k = 0; k < 2; k++) {
    change_values(); /* the last columns become independent */
    for (int pass = 0; pass < 2; pass++) {
      ck_assert_int_eq(factor(), 0);
      ck_assert_int_eq(lin->rank, full_rank);
      ck_assert_int_eq(lin->dependent, -1);
      check_both_solves();
    }
    memcpy(A, singular, sizeof A);
    ck_assert_int_eq(factor(), 0);
    check_independent_subset(full_rank - N_DEPENDENT);
    check_consistent();
  }
  cpSaddleFree(&lin);
}
END_TEST

/* ---- nearly dependent columns ---- */

/* Links 0 and 1 of a free chain, with two more columns: e and one at the angle phi from it, in
 * components of their own. For r = (0, 1) there x = (-cot, 1/sin ...) = e2 / sin phi. */
static void open_narrow(double phi, double tolerance) {
  clear();
  chain();
  set(n, m, 1.0);
  set(n, m + 1, cos(phi));
  set(n + 1, m + 1, sin(phi));
  n += 2, m += 2;
  open_solver();
  ranktol = tolerance;
  ck_assert_int_eq(factor(), 0);
}

START_TEST(an_angle_above_the_rank_tolerance_is_resolved) {
  const double phi = pow(10.0, -_i);
  open_narrow(phi, 1.0e-10);
  ck_assert_int_eq(lin->rank, m);
  memset(r, 0, sizeof r);
  r[m - 1] = 1.0;
  solve(r, x);
  /* 10 roundings, of the squares of the angle in Cholesky, which goes down to 1e-6 */
  const double u = 10.0 * DBL_EPSILON / (phi > 0.9e-6 ? phi * phi : phi);
  ck_assert_double_eq_tol(x[n - 1] * sin(phi), 1.0, u);
  ck_assert_double_eq_tol(x[n - 2] * sin(phi), 0.0, u);
  ck_assert_double_eq(norm(x, n - 2), 0.0);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(an_angle_below_the_rank_tolerance_counts_as_dependence) {
  const struct {
    double phi, ranktol;
    int deficit;
  } expected[] = {{0.5e-10, 1e-10, 1}, {2e-10, 1e-10, 0}, {1e-14, 1e-10, 1}, {0.5e-6, 1e-6, 1},
                  {2e-6, 1e-6, 0},     {1e-3, 1e-2, 1},   {0.0, 1e-10, 1}};
  for (size_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
    open_narrow(expected[k].phi, expected[k].ranktol);
    ck_assert_int_eq(lin->rank, m - expected[k].deficit);
    ck_assert_int_eq(lin->dependent >= m - 2, expected[k].deficit);
    cpSaddleFree(&lin);
  }
}
END_TEST

/* Each link of a chain has a twin that a component of its own keeps apart, by angles from 1e-12 to 1e-8. */
START_TEST(each_of_many_narrow_angles_decides_for_itself) {
  int dependent = 0;
  clear();
  chain();
  const int links = m;
  for (int i = 0; i < links; i++, n++, m++) {
    const double phi = pow(10.0, -12.0 + 4.0 * ((7 * i) % links + 0.25) / links);
    dependent += phi < 1.0e-10;
    for (int j = 0; j < 2 * links; j++)
      if (pattern[j][i]) set(j, m, A[j][i] * cos(phi));
    set(n, m, (i > 0 ? sqrt(2.0) : 1.0) * sin(phi));
  }
  open_solver();
  ck_assert_int_eq(factor(), 0);
  check_independent_subset(m - dependent);
  for (int i = 0; i < links; i++)
    ck_assert_int_eq(lin->is_dependent[i] + lin->is_dependent[links + i],
                     fabs(A[2 * links + i][links + i]) < 1.0e-10);
  cpSaddleFree(&lin);
}
END_TEST

/* The pivot of the third column is roundoff enlarged by one over the squared angle, above the
 * square of the least angle. (Rounding the columns puts the third at u / phi from the others.) */
START_TEST(a_column_in_the_span_of_a_narrow_pair_is_dependent) {
  const double phi = pow(10.0, -0.5 * _i);
  clear();
  chain();
  const double e[3] = {1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0}, f[3] = {-2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0};
  for (int k = 0; k < 3; k++) {
    set(n + k, m, e[k]);
    set(n + k, m + 1, e[k] * cos(phi) + f[k] * sin(phi));
    set(n + k, m + 2, f[k] + 0.1 * e[k]);
  }
  n += 3, m += 3;
  open_solver();
  ck_assert_int_eq(factor(), 0);
  check_independent_subset(m - 1);
  cpSaddleFree(&lin);
}
END_TEST

/* e0, e0 + 1e-5 (e1 + 1e-7 e2), e1: the second one is 1e-12 from the span of the others, but the
 * last one 1e-7 from that of the first two. */
START_TEST(the_order_of_columns_does_not_hide_dependence) {
  const int orders[6][3]     = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const double columns[3][3] = {{1.0, 0.0, 0.0}, {1.0, 1.0e-5, 1.0e-12}, {0.0, 1.0, 0.0}};
  clear();
  n = m = 3;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) set(j, orders[_i][i], columns[i][j]);
  open_solver();
  ck_assert_int_eq(factor(), 0);
  check_independent_subset(2);
  cpSaddleFree(&lin);
}
END_TEST

/* Three columns in a plane, the last two coordinates, beside a chain: column i at the given angle. */
static void turn_in_plane(const double angle[3]) {
  for (int i = 0; i < 3; i++) {
    set(n - 2, m - 3 + i, cos(angle[i]));
    set(n - 1, m - 3 + i, sin(angle[i]));
  }
}

/* At first any two of them are kept, and during the motion another pair becomes narrow. A residual
 * that contradicts the others by 1e-9, as off a manifold, then moves x by that over the sine of the
 * angle between those that are kept. */
START_TEST(among_dependent_columns_those_at_wide_angles_are_kept) {
  const double narrow = pow(10.0, -0.5 * (_i + 2)), contradiction = 1.0e-9;
  clear();
  chain();
  n += 2, m += 3;
  turn_in_plane((const double[3]){0.3, 1.3, 2.3});
  open_solver();
  for (int state = 0; state < 12; state++) {
    const int wide  = state / 2 % 3;
    double angle[3] = {0.3, 1.3, 2.3};
    for (int i = 0; state % 2 && i < 3; i++)
      angle[i] = i == wide ? 1.5 : i == (wide + 1) % 3 ? 0.3 : 0.3 + narrow;
    turn_in_plane(angle);
    ck_assert_int_eq(factor(), 0);
    check_independent_subset(m - 1);
    fill(y, n);
    for (int i = 0; i < m; i++)
      r[i] = transposed_times(i, y) + (i == m - 3 + wide || i == m - 1 ? contradiction : 0.0);
    solve(r, x);
    if (state % 2) ck_assert_int_eq(lin->is_dependent[m - 3 + wide], 0);
    /* x and y agree in the plane, where the columns span the whole space. */
    check_distance(x + n - 2, y + n - 2, 2, 4.0 * contradiction);
  }
  cpSaddleFree(&lin);
}
END_TEST

/* A hub in all constraints is all that separates the first two columns: without it their angle is
 * phi. */
static void open_pair_on_hub(double phi) {
  clear();
  n = 101, m = 100;
  for (int i = 0; i < m; i++) {
    set(0, i, random_number(&seed));
    set(i + 1, i, i == 1 ? sin(phi) : 1.0);
  }
  A[0][0] = 1.0, A[0][1] = -1.0;
  set(1, 1, cos(phi));
  open_solver();
  ck_assert_int_eq(factor(), 0);
}

START_TEST(columns_that_only_a_hub_keeps_apart_are_independent) {
  open_pair_on_hub(pow(10.0, -0.5 * _i));
  ck_assert_int_eq(lin->rank, m);
  open_dense();
  fill(r, m);
  solve(r, x);
  solve_dense(r, expected_x);
  /* 10 roundings, enlarged by 1 / phi^2 down to phi = 1e-4; from there on in double-double */
  const double tolerance = 10.0 * DBL_EPSILON / 1.0e-8 * norm(expected_x, n);
  check_distance(x, expected_x, n, tolerance);
  for (int i = 0; i < m; i++) ck_assert_double_eq_tol(transposed_times(i, x), r[i], tolerance);
  cpSaddleFree(&dense);
  cpSaddleFree(&lin);
}
END_TEST

/* ---- memory ---- */

static void setup(void) { alloc_count_suitesparse(1); }

START_TEST(factoring_and_solving_again_allocate_nothing) {
  open_model(_i);
  fill(r, m);
  solve(r, x);
  change_values();
  gather_values();
  alloc_watch();
  int flag = ri_factor(lin, &AT, ranktol);
  for (int k = 0; !flag && k < 3; k++) flag = ri_solve(lin, r, x);
  if (!flag) flag = ri_solve_t(lin, x, mu);
  alloc_unwatch();
  ck_assert_int_eq(flag, 0);
  /* CHOLMOD gets the workspace of its supernodes, a header and a block, for each factorisation */
  ck_assert_int_eq(alloc_count(), CPODES_GPL && _i == FULL ? 2 : 0);
  ck_assert_int_eq(alloc_live(), 0);
  cpSaddleFree(&lin);
}
END_TEST

/* Allocations of a factorisation of the present values and of both solves. */
static long allocations(void) {
  gather_values();
  fill(r, m);
  alloc_watch();
  int flag = ri_factor(lin, &AT, ranktol);
  if (!flag) flag = ri_solve(lin, r, x);
  if (!flag) flag = ri_solve_t(lin, x, mu);
  alloc_unwatch();
  ck_assert_int_eq(flag, 0);
  return alloc_count();
}

START_TEST(factoring_dependent_columns_again_allocates_nothing) {
  open_dependent(_i);
  ck_assert_int_eq(allocations(), 0);
  cpSaddleFree(&lin);
}
END_TEST

/* The factors in double-double arithmetic are allocated when they are first needed. */
START_TEST(absent_columns_need_no_double_double) {
  open_model(_i);
  remove_column(m / 2);
  ck_assert_int_eq(allocations(), 0);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(other_columns_may_become_dependent_without_double_double) {
  open_dependent(0);
  for (int j = 0; j < n; j++) /* the first one with reversed sign becomes independent */
    if (pattern[j][0]) A[j][m - 2] += random_number(&seed);
  ck_assert_int_eq(allocations(), 0);
  check_independent_subset(m - 1);
  for (int j = 0; j < n; j++) A[j][m - 2] = -A[j][0];
  ck_assert_int_eq(allocations(), 0);
  check_independent_subset(m - 2);
  cpSaddleFree(&lin);
}
END_TEST

START_TEST(after_near_dependence_has_gone_nothing_is_allocated_again) {
  open_dependent(N_MODELS);
  change_values();
  ck_assert_int_eq(factor(), 0); /* in double-double arithmetic, which finds full rank */
  ck_assert_int_eq(allocations(), 0);
  cpSaddleFree(&lin);
}
END_TEST

enum { MANY = 1000 };

START_TEST(every_allocation_of_creating_may_fail) {
  clear();
  model[_i]();
  gather_structure();
  long k = 0;
  for (int denied = 1; denied; k++) {
    alloc_watch_failing(k + 1);
    const int flag = ri_create(&lin, CP_LINSOL_SPARSE, n, m, &AT);
    denied         = alloc_has_failed();
    ck_assert_int_eq(lin == NULL, flag != CP_SUCCESS);
    /* without one of CHOLMOD's two orderings it uses the other one */
    if (denied && flag == CP_SUCCESS) {
      gather_values();
      ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
      ck_assert_int_eq(lin->rank, m);
    } else ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    cpSaddleFree(&lin);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_lt(k, MANY);
  }
  ck_assert_int_gt(k, 50);
}
END_TEST

/* One allocation in the first factorisation, solve or solve_t fails; nothing leaks, and the solver
 * continues when there is memory again. (CHOLMOD gets all its memory in the first factorisation;
 * factors in their envelope have theirs since creation.) */
static void fail_in_use(void) {
  gather_structure();
  gather_values();
  fill(r, m);
  long k = 0, failures = 0;
  for (int denied = 1; denied; k++) {
    alloc_watch_failing(-1);
    ck_assert_int_eq(ri_create(&lin, CP_LINSOL_SPARSE, n, m, &AT), CP_SUCCESS);
    const long live = alloc_live();
    alloc_watch_failing(k + 1);
    int flag = ri_factor(lin, &AT, ranktol);
    if (!flag) flag = ri_solve(lin, r, x);
    if (!flag) flag = ri_solve_t(lin, x, mu);
    denied          = alloc_has_failed();
    const long used = alloc_live();
    alloc_watch_failing(-1); /* The rest has all its memory. */
    if (flag || !denied) ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : 0);
    ck_assert_int_eq(ri_factor(lin, &AT, ranktol), 0);
    ck_assert_int_eq(ri_solve(lin, r, y), 0);
    if (!flag) check_distance(x, y, n, 1.0e4 * DBL_EPSILON * norm(y, n)); /* well-conditioned */
    failures += flag != 0;
    cpSaddleFree(&lin);
    ck_assert_int_eq(live + used + alloc_live(), 0);
    alloc_unwatch();
    ck_assert_int_lt(k, MANY);
  }
  ck_assert(failures > 0 || k == 1); /* k = 1: nothing was allocated */
}

START_TEST(every_allocation_of_the_first_use_may_fail) {
  clear();
  model[_i]();
  fail_in_use();
}
END_TEST

START_TEST(every_allocation_of_the_first_use_with_dependent_columns_may_fail) {
  make_dependent(_i);
  fail_in_use();
}
END_TEST

TEST_SUITE(sparse) {
  Suite *suite = suite_create("sparse");
  TCase *tc    = tcase_create("solutions");
  tcase_add_loop_test(tc, independent_columns_give_the_solutions_of_dense_QR, 0, N_MODELS);
  tcase_add_loop_test(tc, the_solution_is_in_the_range_of_A, 0, N_MODELS);
  tcase_add_loop_test(tc, new_values_in_the_same_structure_are_factored_afresh, 0, N_MODELS);
  tcase_add_loop_test(tc, absent_columns_are_left_out, 0, N_MODELS);
  tcase_add_loop_test(tc, without_any_present_column_nothing_moves, 0, N_MODELS);
  tcase_add_test(tc, rows_without_any_entry_in_the_structure_are_absent);
  suite_add_tcase(suite, tc);
  tc = tcase_create("dependence");
  tcase_add_loop_test(tc, dependent_columns_have_the_rank_and_the_solution_of_an_independent_subset,
                      0, N_MODELS);
  tcase_add_loop_test(tc, dependent_columns_have_the_rank_and_the_solution_of_an_independent_subset,
                      N_MODELS, N_MODELS + SINGLE);
  tcase_add_loop_test(tc, absent_columns_do_not_count_among_dependent_ones, 0, SINGLE);
  tcase_add_loop_test(tc, absent_columns_do_not_count_among_dependent_ones, N_MODELS,
                      N_MODELS + SINGLE);
  tcase_add_test(tc, more_columns_than_components_have_the_rank_of_the_components);
  tcase_add_loop_test(tc, dependence_may_come_and_go, 0, SINGLE);
  tcase_add_loop_test(tc, dependence_may_come_and_go, N_MODELS, N_MODELS + SINGLE);
  tcase_add_loop_test(tc, an_angle_above_the_rank_tolerance_is_resolved, 1, 10);
  tcase_add_test(tc, an_angle_below_the_rank_tolerance_counts_as_dependence);
  tcase_add_test(tc, each_of_many_narrow_angles_decides_for_itself);
  tcase_add_loop_test(tc, a_column_in_the_span_of_a_narrow_pair_is_dependent, 0, 11);
  tcase_add_loop_test(tc, the_order_of_columns_does_not_hide_dependence, 0, 6);
  tcase_add_loop_test(tc, among_dependent_columns_those_at_wide_angles_are_kept, 0, 15);
  tcase_add_loop_test(tc, columns_that_only_a_hub_keeps_apart_are_independent, 0, 17);
  suite_add_tcase(suite, tc);
  tc = tcase_create("memory");
  tcase_add_checked_fixture(tc, setup, NULL);
  tcase_add_loop_test(tc, factoring_and_solving_again_allocate_nothing, 0, N_MODELS);
  tcase_add_loop_test(tc, factoring_dependent_columns_again_allocates_nothing, 0, SINGLE);
  tcase_add_loop_test(tc, factoring_dependent_columns_again_allocates_nothing, N_MODELS,
                      N_MODELS + SINGLE);
  tcase_add_loop_test(tc, absent_columns_need_no_double_double, 0, SINGLE);
  tcase_add_test(tc, other_columns_may_become_dependent_without_double_double);
  tcase_add_test(tc, after_near_dependence_has_gone_nothing_is_allocated_again);
  tcase_add_loop_test(tc, every_allocation_of_creating_may_fail, 0, N_MODELS);
  tcase_add_loop_test(tc, every_allocation_of_the_first_use_may_fail, 0, N_MODELS);
  tcase_add_loop_test(tc, every_allocation_of_the_first_use_with_dependent_columns_may_fail, 0,
                      FULL);
  tcase_add_loop_test(tc, every_allocation_of_the_first_use_with_dependent_columns_may_fail,
                      N_MODELS, N_MODELS + SINGLE);
  suite_add_tcase(suite, tc);
  return suite;
}
