#include "projector/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#define ROW(solver, norm, jac) \
  { solver, norm, jac, DENSE, OF_NORM }
#define BOTH(solver, norm) ROW(solver, norm, 1), ROW(solver, norm, 0)
#define FOUR(solver)       BOTH(solver, CP_NORM_ERROR), BOTH(solver, CP_NORM_L2)

const Setting settings[] = {FOUR(CP_LINSOL_AUTO), FOUR(CP_LINSOL_SCHUR), FOUR(CP_LINSOL_QR)};
const int n_settings     = sizeof settings / sizeof settings[0];

const Setting solvers[] = {ROW(CP_LINSOL_AUTO, CP_NORM_ERROR, 1),
                           ROW(CP_LINSOL_SCHUR, CP_NORM_ERROR, 1),
                           ROW(CP_LINSOL_QR, CP_NORM_ERROR, 1)};
const int n_solvers     = sizeof solvers / sizeof solvers[0];

Setting setting_of(CPLinSol solver, CPNorm norm, int user_jac) {
  return (Setting){.solver = solver, .norm = norm, .user_jac = user_jac};
}

Equations equations_of(const Manifold *mf) {
  return (Equations){.mf = mf, .copies = 1, .jac_factor = 1.0};
}

static int rows_of_c(const Equations *eq) { return eq->mf->m - eq->mf->nnorms; }

int equations_rows(const Equations *eq) { return eq->copies * rows_of_c(eq); }

int equations_states(const Equations *eq) { return eq->mf->n + eq->padding; }

static int is_among(long int call, long int from, long int until) {
  return call >= from && call <= until;
}

static void evaluate(const Equations *eq, sunrealtype t, N_Vector y, long double *c,
                     long double G[][MAX_STATES]) {
  long double z[MAX_STATES];
  for (int j = 0; j < eq->mf->n; j++) z[j] = entries(y)[j];
  memset(c, 0, MAX_ROWS * sizeof *c);
  memset(G, 0, MAX_ROWS * sizeof *G);
  eq->mf->eval((long double)t, z, c, G);
}

static sunrealtype factor(const Equations *eq, int i) { return eq->scale ? eq->scale[i] : 1.0; }

int equations_c(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  Equations *eq = user_data;
  long double value[MAX_ROWS], G[MAX_ROWS][MAX_STATES];
  eq->c_calls++;
  evaluate(eq, t, y, value, G);
  for (int i = 0; i < equations_rows(eq); i++)
    entries(c)[i] = (sunrealtype)(value[i % rows_of_c(eq)] * factor(eq, i)) +
                    (eq->offset ? eq->offset[i] : 0.0);
  if (is_among(eq->c_calls, eq->c_bad_from, eq->c_bad_until)) entries(c)[0] = eq->c_bad;
  return is_among(eq->c_calls, eq->c_flag_from, eq->c_flag_until) ? eq->c_flag : 0;
}

static void fill_sparse(SUNMatrix A, const sunrealtype *dense, int rows) {
  const int by_rows = SM_SPARSETYPE_S(A) == CSR_MAT;
  for (sunindextype p = 0; p < SM_NP_S(A); p++)
    for (sunindextype k = SM_INDEXPTRS_S(A)[p]; k < SM_INDEXPTRS_S(A)[p + 1]; k++) {
      const sunindextype q = SM_INDEXVALS_S(A)[k];
      SM_DATA_S(A)[k]      = dense[by_rows ? p + q * rows : q + p * rows];
    }
}

/* G [rows x states], by columns: out */
static void dense_gradients(const Equations *eq, sunrealtype t, N_Vector y, sunrealtype *dense) {
  long double value[MAX_ROWS], G[MAX_ROWS][MAX_STATES];
  const int rows = equations_rows(eq);
  evaluate(eq, t, y, value, G);
  for (int j = 0; j < equations_states(eq); j++)
    for (int i = 0; i < rows; i++)
      dense[i + j * rows] =
          j < eq->mf->n ? (sunrealtype)(G[i % rows_of_c(eq)][j] * factor(eq, i)) : 0.0;
}

enum { MAX_ENTRIES = 3 * MAX_ROWS * (MAX_STATES + MAX_ROWS) };

int equations_jac(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix A, void *user_data) {
  Equations *eq  = user_data;
  const int rows = equations_rows(eq);
  sunrealtype G[MAX_ENTRIES];
  (void)c;
  eq->jac_calls++;
  dense_gradients(eq, t, y, G);
  for (int i = 0; eq->jac_noise != 0.0 && i < rows * equations_states(eq); i++)
    G[i] += eq->jac_noise;
  if (eq->jac_factor != 1.0) G[eq->jac_row + eq->jac_col * rows] *= eq->jac_factor;
  if (SUNMatGetID(A) == SUNMATRIX_SPARSE) fill_sparse(A, G, rows);
  else memcpy(SM_DATA_D(A), G, (size_t)(rows * equations_states(eq)) * sizeof *G);
  return is_among(eq->jac_calls, eq->jac_flag_from, eq->jac_flag_until) ? eq->jac_flag : 0;
}

int equations_Gv(sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv, void *user_data) {
  const Equations *eq = user_data;
  const int rows      = equations_rows(eq);
  sunrealtype G[MAX_ENTRIES];
  dense_gradients(eq, t, y, G);
  N_VConst(0.0, Gv);
  for (int j = 0; j < equations_states(eq); j++)
    for (int i = 0; i < rows; i++) entries(Gv)[i] += G[i + j * rows] * entries(v)[j];
  return 0;
}

int equations_GTw(sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw, void *user_data) {
  const Equations *eq = user_data;
  const int rows      = equations_rows(eq);
  sunrealtype G[MAX_ENTRIES];
  dense_gradients(eq, t, y, G);
  N_VConst(0.0, GTw);
  for (int j = 0; j < equations_states(eq); j++)
    for (int i = 0; i < rows; i++) entries(GTw)[j] += G[i + j * rows] * entries(w)[i];
  return 0;
}

int equations_diagonal(sunrealtype t, N_Vector y, N_Vector D, N_Vector diag, void *user_data) {
  const Equations *eq = user_data;
  const int rows      = equations_rows(eq);
  sunrealtype G[MAX_ENTRIES];
  dense_gradients(eq, t, y, G);
  N_VConst(0.0, diag);
  for (int j = 0; j < equations_states(eq); j++)
    for (int i = 0; i < rows; i++)
      entries(diag)[i] += entries(D)[j] * G[i + j * rows] * G[i + j * rows];
  return 0;
}

/* From a dense matrix with the pattern. */
static SUNMatrix sparse_of(SUNMatrix dense, Storage storage) {
  SUNMatrix sparse = SUNSparseFromDenseMatrix(dense, 0.0, storage == CSC ? CSC_MAT : CSR_MAT);
  ck_assert_ptr_nonnull(sparse);
  SUNMatDestroy(dense);
  return sparse;
}

SUNMatrix equations_template(const Equations *eq, Storage storage) {
  const int rows = equations_rows(eq), states = equations_states(eq);
  SUNMatrix dense = SUNDenseMatrix(rows, states, test_context);
  ck_assert_ptr_nonnull(dense);
  if (storage == DENSE) return dense;
  unsigned long long seed = 41;
  sunrealtype G[MAX_ENTRIES];
  N_Vector y = vector_of(states, NULL);
  for (int trial = 0; trial < 3; trial++) { /* at random states no entry is zero by chance */
    random_fill(y, &seed);
    dense_gradients(eq, eq->mf->time, y, G);
    for (int i = 0; i < rows * states; i++)
      if (G[i] != 0.0) SM_DATA_D(dense)[i] = 1.0;
  }
  N_VDestroy(y);
  return sparse_of(dense, storage);
}

/* Rows off the diagonal sum up to at most 2 (0.6 - 0.05) + sum_{k=2}^{17} 2 0.1 / (1 + k) < 1.6. */
sunrealtype fixture_metric(MetricKind kind, sunindextype i, sunindextype j) {
  const sunindextype apart = i > j ? i - j : j - i;
  if (apart == 0) return 2.0 + 0.5 * (sunrealtype)(i % 3);
  const sunrealtype next = apart == 1 ? -0.6 : 0.0;
  return kind == MATRIX_CSC ? next : next + 0.1 / (1.0 + (sunrealtype)apart);
}

static int metric_matrix(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  const sunindextype n = SUNMatGetID(M) == SUNMATRIX_SPARSE ? SM_NP_S(M) : SM_COLUMNS_D(M);
  for (sunindextype j = 0; j < n; j++) {
    if (SUNMatGetID(M) == SUNMATRIX_SPARSE) {
      for (sunindextype k = SM_INDEXPTRS_S(M)[j]; k < SM_INDEXPTRS_S(M)[j + 1]; k++)
        SM_DATA_S(M)[k] = fixture_metric(MATRIX_CSC, SM_INDEXVALS_S(M)[k], j);
    } else {
      for (sunindextype i = 0; i < n; i++)
        SM_ELEMENT_D(M, i, j) = fixture_metric(MATRIX_DENSE, i, j);
    }
  }
  return 0;
}

static int metric_operator(sunrealtype t, N_Vector y, N_Vector x, N_Vector Dx, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  const sunindextype n = N_VGetLength(x);
  for (sunindextype i = 0; i < n; i++) {
    long double sum = 0.0L;
    for (sunindextype j = 0; j < n; j++) sum += fixture_metric(OPERATOR, i, j) * entries(x)[j];
    entries(Dx)[i] = (sunrealtype)sum;
  }
  return 0;
}

static int metric_inverse(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  const int n = (int)SM_COLUMNS_D(M);
  (void)t, (void)y, (void)user_data;
  for (int b = 0; b < n; b++) {
    long double D[MAX_STATES][MAX_STATES], x[MAX_STATES] = {0.0L};
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) D[i][j] = fixture_metric(OPERATOR, i, j);
    x[b] = 1.0L;
    solve_dense(n, D, x);
    for (int i = 0; i < n; i++) SM_ELEMENT_D(M, i, b) = (sunrealtype)x[i];
  }
  return 0;
}

int case_has_products(Setting setting) {
  return setting.storage == PRODUCTS || setting.storage == PRODUCTS_AND_DIAGONAL;
}

static void set_point(Case *k) {
  for (int j = 0; j < equations_states(&k->eq); j++)
    entries(k->y)[j] = j < k->eq.mf->n ? k->eq.mf->point[j] : 0.25 * j;
}

static void set_gradients(Case *k) {
  const Setting s = k->setting;
  if (s.storage == PRODUCTS_AND_DIAGONAL)
    ck_assert_success(k, CPProjectorSetSchurDiag(k->P, equations_diagonal));
  if (!case_has_products(s) && (s.user_jac || s.storage != DENSE)) {
    SUNMatrix G = equations_template(&k->eq, s.storage);
    ck_assert_success(k, CPProjectorSetJacFn(k->P, s.user_jac ? equations_jac : NULL, G));
    SUNMatDestroy(G);
  }
}

static void set_metric(Case *k) {
  const MetricKind kind = k->setting.metric;
  const int n           = equations_states(&k->eq);
  if (kind == OPERATOR) ck_assert_success(k, CPProjectorSetMetricProduct(k->P, metric_operator));
  if (kind == OPERATOR || kind == OF_NORM) return;
  SUNMatrix M = SUNDenseMatrix(n, n, test_context);
  ck_assert_ptr_nonnull(M);
  for (int i = 0; i < n * n; i++) SM_DATA_D(M)[i] = fixture_metric(kind, i % n, i / n);
  if (kind == MATRIX_CSC) M = sparse_of(M, CSC);
  ck_assert_success(k, CPProjectorSetNorm(k->P, CP_NORM_MATRIX,
                                          kind == INVERSE ? metric_inverse : metric_matrix, M));
  SUNMatDestroy(M);
}

static void create(Case *k, CPProductFn Gv, CPProductFn GTw) {
  const int rows = equations_rows(&k->eq), products = case_has_products(k->setting);
  N_Vector c = rows > 0 ? vector_of(rows, NULL) : NULL;
  k->P       = products ? CPProjectorCreateProducts(equations_c, Gv, GTw, k->y, c, test_context)
                        : CPProjectorCreate(c ? equations_c : NULL, k->y, c, test_context);
  ck_assert_ptr_nonnull(k->P);
  ck_assert_success(k, CPObjectSetErrHandlerFn(CP_OBJECT(k->P), message_log, &k->log));
  ck_assert_success(k, CPProjectorSetUserData(k->P, &k->eq));
  if (!products) ck_assert_success(k, CPProjectorSetLinearSolver(k->P, k->setting.solver));
  ck_assert_success(k, CPProjectorSetNorm(k->P, k->setting.norm, NULL, NULL));
  ck_assert_success(k, CPProjectorSetEps(k->P, k->eps));
  if (rows > 0) set_gradients(k);
  for (int u = 0; u < k->eq.mf->nnorms; u++)
    ck_assert_success(k, CPProjectorAddUnitNorm(k->P, k->eq.mf->norm[u].first,
                                                k->eq.mf->norm[u].length, k->eq.mf->norm[u].value));
  set_metric(k);
  if (c) N_VDestroy(c);
}

void case_use_products(Case *k, CPProductFn Gv, CPProductFn GTw) {
  CPProjectorFree(&k->P);
  create(k, Gv, GTw);
}

void case_open(Case *k, Equations eq, Setting setting) {
  static const sunrealtype atol[3] = {1.0e-6, 5.0e-6, 3.0e-7};
  memset(k, 0, sizeof *k);
  k->eq      = eq;
  k->setting = setting;
  k->t       = eq.mf->time;
  k->eps     = 1.0e-6;
  k->y       = vector_of(equations_states(&eq), NULL);
  k->ewt     = vector_copy(k->y);
  set_point(k);
  for (int j = 0; j < equations_states(&eq); j++)
    entries(k->ewt)[j] = 1.0 / (1.0e-5 * fabs(entries(k->y)[j]) + atol[j % 3]);

  create(k, equations_Gv, equations_GTw);
}

void case_close(Case *k) {
  CPProjectorFree(&k->P);
  N_VDestroy(k->ewt);
  N_VDestroy(k->y);
}

void case_perturb(Case *k, sunrealtype h, unsigned long long seed) {
  set_point(k);
  for (int j = 0; j < equations_states(&k->eq); j++) entries(k->y)[j] += h * random_number(&seed);
}

enum { MOST = 3 * MAX_ROWS + MAX_STATES };

void case_set_levels(Case *k, int levels) {
  const Manifold *mf = k->eq.mf;
  int row[MOST] = {0}, col[MOST] = {0};
  for (int i = 0; levels && i < equations_rows(&k->eq); i++)
    row[i] = mf->row_level[i % rows_of_c(&k->eq)];
  for (int j = 0; levels && j < equations_states(&k->eq); j++)
    col[j] = j < mf->n ? mf->col_level[j] : mf->nlevels - 1;
  ck_assert_success(k, CPProjectorSetLevels(k->P, row, col));
}

/* mask_i <- 0 where the bit is set, else 1 */
static void unmask(int length, int period, unsigned bits, int *mask) {
  for (int i = 0; i < length; i++) mask[i] = bits >> i % period & 1u ? 0 : 1;
}

void case_hold(Case *k, unsigned components) {
  int id[MOST];
  unmask(equations_states(&k->eq), equations_states(&k->eq), components, id);
  ck_assert_success(k, CPProjectorSetFree(k->P, id));
}

void case_switch_off(Case *k, unsigned rows) {
  int mask[MOST];
  unmask(equations_rows(&k->eq), rows_of_c(&k->eq), rows, mask);
  ck_assert_success(k, CPProjectorSetActive(k->P, mask));
}

ProjectorCounters case_stats(Case *k) {
  ProjectorCounters stats;
  ck_assert_success(k, projector_counters(k->P, &stats));
  return stats;
}
