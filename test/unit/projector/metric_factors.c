/* Inside of a metric: the factors of a sparse M that is large, the structure of A = F^T G^T, products with
 * D, nested dissection; and memory, CHOLMOD's included. */
#include <cpodes/projector/metric/metric_matrix.h>

#include <SuiteSparse_config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "projector/fixture.h"
#include "support/alloc.h"

/* ---- a level with a banded metric, made by hand ---- */

typedef struct {
  struct CPProjector_ P;
  struct CPWork_ work;
  int band;
} Bench;

/* M: 4 on the diagonal, 1 / (2 band) beside it. */
static int band_M(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  const Bench *b = user_data;
  (void)t;
  (void)y;
  for (int j = 0; j < b->P.n; j++)
    for (sunindextype e = SM_INDEXPTRS_S(M)[j]; e < SM_INDEXPTRS_S(M)[j + 1]; e++)
      SM_DATA_S(M)[e] = SM_INDEXVALS_S(M)[e] == j ? 4.0 : 0.5 / b->band;
  return 0;
}

static SUNMatrix band_template(int n, int band) {
  SUNMatrix M      = SUNSparseMatrix(n, n, (2 * band + 1) * n, CSC_MAT, test_context);
  sunindextype nnz = 0;
  for (int j = 0; j < n; j++) {
    SM_INDEXPTRS_S(M)[j] = nnz;
    for (int i = j < band ? 0 : j - band; i <= j + band && i < n; i++) SM_INDEXVALS_S(M)[nnz++] = i;
  }
  SM_INDEXPTRS_S(M)[n] = nnz;
  return M;
}

static int *range(int n) {
  int *list = malloc(((size_t)n + 1) * sizeof *list);
  for (int i = 0; i < n; i++) list[i] = i;
  return list;
}

/* m constraints of a chain: k touches components stride k ... stride k + 3. */
static void chain_gradients(CPEntries *g, int n, int m, int stride) {
  size_t count = 0;
  g->start     = malloc(((size_t)n + 1) * sizeof *g->start);
  g->row       = malloc(4 * ((size_t)m + 1) * sizeof *g->row);
  g->value     = malloc(4 * ((size_t)m + 1) * sizeof *g->value);
  for (int j = 0; j < n; j++) {
    g->start[j] = count;
    for (int k = j < 3 ? 0 : (j - 3 + stride - 1) / stride; k < m && stride * k <= j; k++) {
      g->row[count]     = k;
      g->value[count++] = 1.0 + 0.25 * (j - stride * k);
    }
  }
  g->start[n] = count;
}

static void bench_open(Bench *b, int n, int m, int band) {
  memset(b, 0, sizeof *b);
  b->band     = band;
  b->work.P   = &b->P;
  b->P.ctx    = test_context;
  b->P.n      = n;
  b->P.m      = m;
  b->P.M_tmpl = band_template(n, band);
  b->work.M   = SUNMatClone(b->P.M_tmpl);
  cpMatrixZero(b->work.M, b->P.M_tmpl);
  b->P.metric_matrix = band_M;
  b->P.user_data     = b;
  b->P.linsol        = CP_LINSOL_BLOCK; /* AUTO would leave a long chain to the KKT matrix */
  b->work.sqrtd      = malloc((size_t)n * sizeof(double));
  for (int j = 0; j < n; j++) b->work.sqrtd[j] = 1.0;
  chain_gradients(&b->work.g, n, m, 2);
  CPLevel *level  = &b->work.levels[0];
  b->work.nlevels = 1;
  level->ncols    = n;
  level->nrows    = m;
  level->cols     = range(n);
  level->rows     = range(m);
}

static int bench_factor(Bench *b) {
  int flag = cpMetricMatrixCreate(&b->work, 0);
  if (!flag) flag = cpMetricMatrixEvaluate(&b->work, 0.0, NULL);
  if (!flag) flag = cpMetricMatrixGather(&b->work, 0.0, 0);
  return flag;
}

static void free_entries(CPEntries *a) {
  free(a->start);
  free(a->row);
  free(a->value);
}

static void bench_close(Bench *b) {
  CPLevel *level = &b->work.levels[0];
  cpMetricMatrixFree(&level->metric);
  free_entries(&level->AT);
  free_entries(&b->work.g);
  free(level->cols);
  free(level->rows);
  free(b->work.sqrtd);
  SUNMatDestroy(b->work.M);
  SUNMatDestroy(b->P.M_tmpl);
}

static double band_entry(const Bench *b, int i, int j) {
  return i == j ? 4.0 : abs(i - j) <= b->band ? 0.5 / b->band : 0.0;
}

/* M D x = x over the free components, D x = 0 for the held ones: eigenvalues of M in [3, 5], some band
 * products in each entry. */
static void expect_inverse(const Bench *b, const double *x, const double *Dx) {
  for (int i = 0; i < b->P.n; i++) {
    long double sum = 0.0L;
    const int held  = b->work.sqrtd[i] == 0.0;
    for (int j = i < b->band ? 0 : i - b->band; j <= i + b->band && j < b->P.n; j++)
      sum += (long double)band_entry(b, i, j) * Dx[j];
    if (held) ck_assert_double_eq(Dx[i], 0.0);
    else ck_assert_double_le(fabs((double)(sum - x[i])), 2.0e-15 * (b->band + 4));
  }
}

/* As conjugate gradients use it: a level with all columns and no rows, without gradients. */
START_TEST(products_with_D_need_no_rows) {
  Bench b;
  const int n = 5000;
  bench_open(&b, n, 0, _i);
  free_entries(&b.work.g);
  b.work.g = (CPEntries){NULL, NULL, NULL};
  for (int j = 0; j < n; j += 7) b.work.sqrtd[j] = 0.0;
  ck_assert_int_eq(bench_factor(&b), CP_SUCCESS);
  double *x = malloc((size_t)n * sizeof *x), *xl = malloc((size_t)n * sizeof *xl);
  double *Dx              = malloc((size_t)n * sizeof *Dx);
  unsigned long long seed = 1;
  for (int j = 0; j < n; j++) x[j] = random_number(&seed);
  cpMetricMatrixTransposedTimes(&b.work, 0, x, xl);
  cpMetricMatrixTimes(&b.work, 0, xl, Dx);
  expect_inverse(&b, x, Dx);
  free(x);
  free(xl);
  free(Dx);
  bench_close(&b);
}
END_TEST

/* Levels 0 and 2 may be in use and 1 not. */
START_TEST(a_level_without_components_is_no_trouble) {
  Bench b;
  bench_open(&b, 10, 0, 1);
  b.work.levels[0].ncols = 0;
  ck_assert_int_eq(bench_factor(&b), CP_SUCCESS);
  double nothing = 7.0;
  cpMetricMatrixTransposedTimes(&b.work, 0, &nothing, &nothing);
  cpMetricMatrixTimes(&b.work, 0, &nothing, &nothing);
  ck_assert_double_eq(nothing, 7.0);
  bench_close(&b);
}
END_TEST

/* Column k of A times F^T x is (G D x)_k, and A is where its structure says. Paths in the elimination tree of
 * a band that is halved again and again have at most band (log2(n) + 2) components, and those of the four
 * components of a constraint part at the lowest separators only: twice that. */
START_TEST(A_of_a_long_chain_is_right_and_sparse) {
  Bench b;
  const int n = 10000, m = 4998;
  bench_open(&b, n, m, _i);
  ck_assert_int_eq(bench_factor(&b), CP_SUCCESS);
  const CPEntries *AT = &b.work.levels[0].AT, *g = &b.work.g;
  ck_assert_uint_le(AT->start[n], (size_t)(2.0 * _i * (log2(n) + 2.0)) * (size_t)m);
  double *x = malloc((size_t)n * sizeof *x), *xl = malloc((size_t)n * sizeof *xl);
  double *Dx = calloc((size_t)n, sizeof *Dx), *r = calloc((size_t)m, sizeof *r);
  unsigned long long seed = 2;
  for (int j = 0; j < n; j++) x[j] = random_number(&seed);
  cpMetricMatrixTransposedTimes(&b.work, 0, x, xl);
  for (int a = 0; a < n; a++)
    for (size_t p = AT->start[a]; p < AT->start[a + 1]; p++) {
      ck_assert(p == AT->start[a] || AT->row[p] > AT->row[p - 1]);
      r[AT->row[p]] += AT->value[p] * xl[a];
    }
  cpMetricMatrixTimes(&b.work, 0, xl, Dx);
  expect_inverse(&b, x, Dx);
  for (int j = 0; j < n; j++)
    for (size_t e = g->start[j]; e < g->start[j + 1]; e++) r[g->row[e]] -= g->value[e] * Dx[j];
  for (int k = 0; k < m; k++) /* sums of some 30 terms of size 1 */
    ck_assert_double_le(fabs(r[k]), 30.0 * 1.2e-16 * 4.0);
  free(x);
  free(xl);
  free(Dx);
  free(r);
  bench_close(&b);
}
END_TEST

/* ---- nested dissection ---- */

/* Length of the longest path in the elimination tree (J. W.-H. Liu, ACM Trans. Math. Software 12 (1986)
 * 127-148) for the order given. */
static int tree_height(SUNMatrix M, int n, const int *order) {
  int *place = malloc((size_t)n * sizeof *place), *parent = malloc((size_t)n * sizeof *parent);
  int *height = malloc((size_t)n * sizeof *height), highest = 0;
  for (int a = 0; a < n; a++) place[order[a]] = a;
  for (int a = 0; a < n; a++) {
    parent[a] = -1;
    for (sunindextype e = SM_INDEXPTRS_S(M)[order[a]]; e < SM_INDEXPTRS_S(M)[order[a] + 1]; e++)
      for (int c = place[SM_INDEXVALS_S(M)[e]]; c >= 0 && c < a; c = parent[c])
        if (parent[c] < 0) parent[c] = a;
        else if (parent[c] == a) break;
  }
  for (int a = n - 1; a >= 0; a--) {
    height[a] = parent[a] < 0 ? 1 : 1 + height[parent[a]];
    if (height[a] > highest) highest = height[a];
  }
  free(place);
  free(parent);
  free(height);
  return highest;
}

static void expect_permutation(const int *order, int n) {
  char *seen = calloc((size_t)n, 1);
  for (int a = 0; a < n; a++) {
    ck_assert(order[a] >= 0 && order[a] < n && !seen[order[a]]);
    seen[order[a]] = 1;
  }
  free(seen);
}

/* A path is halved by one vertex: 2^k - 1 vertices would do with height k, and layers halve it up to one
 * vertex; the last parts of 3 may be paths themselves. A band: separators of as many vertices. */
START_TEST(a_band_is_halved_until_nothing_is_left) {
  static const int lengths[] = {1, 2, 3, 4, 7, 100, 1000, 10000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    const int n = lengths[i], band = _i;
    SUNMatrix M = band_template(n, band);
    int *order  = range(n);
    ck_assert_int_eq(cpNestedDissection(SM_INDEXPTRS_S(M), SM_INDEXVALS_S(M), n, order, n),
                     CP_SUCCESS);
    expect_permutation(order, n);
    ck_assert_int_le(tree_height(M, n, order), (int)(band * (log2(n) + 2.0)));
    free(order);
    SUNMatDestroy(M);
  }
}
END_TEST

/* A pattern of n x n whose off-diagonal entries are drawn, with their mirror images. */
static SUNMatrix random_graph(int n, double share) {
  SUNMatrix M             = SUNSparseMatrix(n, n, n * n, CSC_MAT, test_context);
  char *in                = calloc((size_t)n * (size_t)n, 1);
  unsigned long long seed = 5;
  sunindextype nnz        = 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i <= j; i++)
      in[i + n * j] = in[j + n * i] = i == j || random_number(&seed) < 2.0 * share - 1.0;
  for (int j = 0; j < n; j++) {
    SM_INDEXPTRS_S(M)[j] = nnz;
    for (int i = 0; i < n; i++)
      if (in[i + n * j]) SM_INDEXVALS_S(M)[nnz++] = i;
  }
  SM_INDEXPTRS_S(M)[n] = nnz;
  free(in);
  return M;
}

/* From no edges at all (n parts) through many parts to one that has no separators. */
START_TEST(any_graph_gives_an_order) {
  static const double shares[] = {0.0, 0.002, 0.005, 0.01, 0.05, 0.5, 1.0};
  const int n                  = 300;
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    SUNMatrix M = random_graph(n, shares[i]);
    int *order  = range(n);
    ck_assert_int_eq(cpNestedDissection(SM_INDEXPTRS_S(M), SM_INDEXVALS_S(M), n, order, n),
                     CP_SUCCESS);
    expect_permutation(order, n);
    if (shares[i] == 0.0) ck_assert_int_eq(tree_height(M, n, order), 1);
    free(order);
    SUNMatDestroy(M);
  }
}
END_TEST

/* ---- memory ---- */

/* CHOLMOD takes its memory from here: linked with --wrap these are the counted functions. */
static void count_cholmod(int on) {
  static struct SuiteSparse_config_struct saved;
  if (on) {
    saved                           = SuiteSparse_config;
    SuiteSparse_config.malloc_func  = malloc;
    SuiteSparse_config.calloc_func  = calloc;
    SuiteSparse_config.realloc_func = realloc;
    SuiteSparse_config.free_func    = free;
  } else {
    SuiteSparse_config = saved;
  }
}

START_TEST(every_allocation_of_a_sparse_metric_may_fail) {
  long n     = 0;
  int denied = 1;
  Bench b;
  bench_open(&b, 200, 98, 1);
  count_cholmod(1);
  for (; denied; n++) {
    alloc_watch_failing(n + 1);
    const int flag = bench_factor(&b);
    denied         = alloc_has_failed();
    CPLevel *level = &b.work.levels[0];
    cpMetricMatrixFree(&level->metric);
    free_entries(&level->AT);
    level->AT = (CPEntries){NULL, NULL, NULL};
    alloc_unwatch();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    ck_assert_msg(alloc_live() == 0, "%ld blocks are left after allocation %ld failed",
                  alloc_live(), n + 1);
    ck_assert_int_lt(n, 1000);
  }
  count_cholmod(0);
  ck_assert_int_gt(n, 30); /* CHOLMOD's are among them */
  bench_close(&b);
}
END_TEST

static int plain_M(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  for (int j = 0; j < 8; j++)
    if (SUNMatGetID(M) == SUNMATRIX_DENSE) SM_ELEMENT_D(M, j, j) = 2.0 + j;
    else SM_DATA_S(M)[j] = 2.0 + j;
  return 0;
}

static int plain_D(sunrealtype t, N_Vector y, N_Vector x, N_Vector Dx, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  for (int j = 0; j < 8; j++) entries(Dx)[j] = entries(x)[j] / (2.0 + j);
  return 0;
}

static SUNMatrix plain_template(int sparse) {
  if (!sparse) return SUNDenseMatrix(8, 8, test_context);
  SUNMatrix M = SUNSparseMatrix(8, 8, 8, CSC_MAT, test_context);
  for (int j = 0; j <= 8; j++) SM_INDEXPTRS_S(M)[j] = j;
  for (int j = 0; j < 8; j++) SM_INDEXVALS_S(M)[j] = j;
  return M;
}

static int use_metric(Case *k, SUNMatrix M, int which) {
  sunrealtype norm;
  int flag = which == 2 ? CPProjectorSetMetric(k->P, plain_D)
                        : CPProjectorSetMetricMatrix(k->P, plain_M, M);
  if (!flag) flag = CPProjectorProject(k->P, k->t, k->y, k->ewt);
  if (!flag) flag = CPProjectorGetViolation(k->P, k->t, k->y, k->ewt, &norm, NULL);
  return flag;
}

/* Dense, sparse, operator, on two levels. The object does its work with memory again, and then without
 * asking for more. */
START_TEST(a_projector_survives_what_its_metric_did_not_get) {
  SUNMatrix M = plain_template(_i == 1);
  long n      = 0;
  int denied  = 1;
  count_cholmod(1);
  for (; denied; n++) {
    Case k;
    case_open(&k, equations_of(&bodies_blocked),
              (Setting){CP_LINSOL_SCHUR, CP_NORM_ERROR, 1, DENSE, OF_NORM});
    case_set_levels(&k, 1);
    case_perturb(&k, 1.0e-4, 1);
    alloc_watch_failing(n + 1);
    int flag = use_metric(&k, M, _i);
    alloc_unwatch();
    denied = alloc_has_failed();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    case_perturb(&k, 1.0e-4, 1);
    ck_assert_int_eq(use_metric(&k, M, _i), CP_SUCCESS);
    alloc_watch();
    flag = CP_SUCCESS;
    for (int step = 0; !flag && step < 30; step++) {
      entries(k.y)[0] += 1.0e-5;
      flag = CPProjectorProject(k.P, k.t, k.y, k.ewt);
    }
    alloc_unwatch();
    ck_assert_int_eq(flag, CP_SUCCESS);
    ck_assert_int_eq(alloc_count(), 0);
    case_close(&k);
    ck_assert_int_lt(n, 1000);
  }
  count_cholmod(0);
  ck_assert_int_gt(n, 5);
  SUNMatDestroy(M);
}
END_TEST

/* Neither with values that fail, nor with other components held. (Nor may Check's assertions allocate
 * while it is counted.) */
START_TEST(factorisations_after_the_first_allocate_nothing) {
  Bench b;
  int failed = 0, refused = 0;
  bench_open(&b, 1000, 498, 3);
  count_cholmod(1);
  ck_assert_int_eq(bench_factor(&b), CP_SUCCESS);
  const double before = b.work.levels[0].AT.value[0];
  alloc_watch();
  for (int step = 0; step < 5; step++) {
    b.work.sqrtd[step] = 0.0;
    failed |= cpMetricMatrixEvaluate(&b.work, 0.0, NULL);
    failed |= cpMetricMatrixGather(&b.work, 0.0, 0);
    SM_DATA_S(b.work.M)[SM_INDEXPTRS_S(b.work.M)[500]]     = 100.0; /* (497, 500) */
    SM_DATA_S(b.work.M)[SM_INDEXPTRS_S(b.work.M)[498] - 1] = 100.0; /* (500, 497) */
    refused += cpMetricMatrixGather(&b.work, 0.0, 0) == -CP_METRIC_INDEFINITE;
  }
  for (int step = 0; step < 5; step++) b.work.sqrtd[step] = 1.0;
  failed |= cpMetricMatrixEvaluate(&b.work, 0.0, NULL);
  failed |= cpMetricMatrixGather(&b.work, 0.0, 0);
  alloc_unwatch();
  ck_assert_int_eq(failed, 0);
  ck_assert_int_eq(refused, 5);
  ck_assert_int_eq(alloc_count(), 0);
  ck_assert_double_eq(b.work.levels[0].AT.value[0], before); /* and nothing stays behind */
  count_cholmod(0);
  bench_close(&b);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("metric_factors");
  TCase *tc    = tcase_create("metric_factors");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, products_with_D_need_no_rows, 1, 5);
  tcase_add_test(tc, a_level_without_components_is_no_trouble);
  tcase_add_loop_test(tc, A_of_a_long_chain_is_right_and_sparse, 1, 5);
  tcase_add_loop_test(tc, a_band_is_halved_until_nothing_is_left, 1, 5);
  tcase_add_test(tc, any_graph_gives_an_order);
  tcase_add_test(tc, every_allocation_of_a_sparse_metric_may_fail);
  tcase_add_loop_test(tc, a_projector_survives_what_its_metric_did_not_get, 0, 3);
  tcase_add_test(tc, factorisations_after_the_first_allocate_nothing);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
