/* Templates of G and of the metric: what is refused, naming the wrong number; entries by columns; a
 * matrix that keeps its pattern. Sparse ones by columns and by rows. */
#include <cpodes/projector/projector_impl.h>
#include <stdio.h>
#include <string.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "support/alloc.h"
#include "support/support.h"

enum { N = 4 };

static const int types[] = {CSC_MAT, CSR_MAT};

static CPProjector P;
static MessageLog logged;
static N_Vector y, c;
static int spoil; /* does the Jacobian function change the index arrays of its matrix? */

static int unused_metric(sunrealtype t, N_Vector state, SUNMatrix M, void *user_data) {
  (void)t;
  (void)state;
  (void)M;
  (void)user_data;
  return -1;
}

/* c_i = y_i - 1 */
static int constraints(sunrealtype t, N_Vector state, N_Vector residual, void *user_data) {
  (void)t;
  (void)user_data;
  for (int i = 0; i < N; i++) entries(residual)[i] = entries(state)[i] - 1.0;
  return 0;
}

static sunrealtype *entry_of(SUNMatrix A, sunindextype i, sunindextype j) {
  const int by_rows       = SM_SPARSETYPE_S(A) == CSR_MAT;
  const sunindextype line = by_rows ? i : j, across = by_rows ? j : i;
  for (sunindextype e = SM_INDEXPTRS_S(A)[line]; e < SM_INDEXPTRS_S(A)[line + 1]; e++)
    if (SM_INDEXVALS_S(A)[e] == across) return &SM_DATA_S(A)[e];
  return NULL;
}

static int jacobian(sunrealtype t, N_Vector state, N_Vector residual, SUNMatrix G, void *user_data) {
  (void)t;
  (void)state;
  (void)residual;
  (void)user_data;
  for (int i = 0; i < N; i++) *entry_of(G, i, i) = 1.0;
  if (spoil) SM_INDEXVALS_S(G)[0] = 1;
  return 0;
}

static void setup(void) {
  test_context_setup();
  memset(&logged, 0, sizeof logged);
  spoil = 0;
  y     = VECTOR(1.5, 2.0, 0.5, 1.0);
  c     = vector_of(N, NULL);
  P     = CPProjectorCreate(constraints, y, c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &logged), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetNorm(P, CP_NORM_L2, NULL, NULL), CP_SUCCESS);
}

static void teardown(void) {
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(c);
  test_context_teardown();
}

/* A matrix from its rows, '.' for an entry that it does not have; data by count from 1. */
static SUNMatrix matrix_of(int rows, int cols, const char *const *pattern, int type) {
  SUNMatrix dense = SUNDenseMatrix(rows, cols, test_context);
  ck_assert_ptr_nonnull(dense);
  for (int i = 0, k = 1; i < rows; i++)
    for (int j = 0; j < cols; j++) SM_ELEMENT_D(dense, i, j) = pattern[i][j] == '.' ? 0.0 : k++;
  SUNMatrix sparse = SUNSparseFromDenseMatrix(dense, 0.0, type);
  ck_assert_ptr_nonnull(sparse);
  SUNMatDestroy(dense);
  return sparse;
}

/* ---- refused templates ---- */

typedef enum { OF_G, OF_METRIC } Role;

static int set_template(Role role, SUNMatrix A) {
  return role == OF_G ? CPProjectorSetJacFn(P, jacobian, A)
                      : CPProjectorSetNorm(P, CP_NORM_MATRIX, unused_metric, A);
}

/* One message, with these words; the projector is unchanged: without a Jacobian function. */
static void check_refused(Role role, SUNMatrix A, const char *const *words) {
  logged.count = 0;
  ck_assert_int_eq(set_template(role, A), CP_ILL_INPUT);
  ck_assert_int_eq(logged.count, 1);
  ck_assert_int_eq(logged.code, CP_ILL_INPUT);
  ck_assert_str_eq(logged.function, role == OF_G ? "CPProjectorSetJacFn" : "CPProjectorSetNorm");
  ck_assert_mentions(logged.text, role == OF_G ? "G_tmpl" : "M_tmpl");
  for (; *words; words++) ck_assert_mentions(logged.text, *words);
  ck_assert_ptr_null(P->G_tmpl);
  ck_assert_ptr_null(P->M_tmpl);
  ck_assert(!P->user.jac && !P->user.metric);
  SUNMatDestroy(A);
}
#define CHECK_REFUSED(role, A, ...) check_refused(role, A, (const char *const[]){__VA_ARGS__, NULL})

/* Index arrays of 4 lines (columns of CSC, rows of CSR) with places 0 ... 3 and room for 8 entries.
 * "line" and "across" in the expected words stand for column and row, or row and column. */
typedef struct {
  const char *rule;
  sunindextype pointer[N + 1], index[8];
  const char *words[3];
} Arrays;

static const Arrays bad_arrays[] = {
    {"the first pointer", {1, 2, 4, 6, 8}, {0, 0, 1, 1, 2, 2, 3, 3}, {"start at 0", "pointer 0 is 1"}},
    {"a smaller pointer",
     {0, 4, 3, 6, 8},
     {0, 1, 2, 3, 0, 1, 2, 3},
     {"decrease", "pointer 1 is 4", "pointer 2 is 3"}},
    {"a negative pointer",
     {0, -1, 4, 6, 8},
     {0, 1, 2, 3, 0, 1, 2, 3},
     {"decrease", "pointer 0 is 0", "pointer 1 is -1"}},
    {"beyond the storage",
     {0, 2, 4, 6, 9},
     {0, 1, 1, 2, 2, 3, 0, 3},
     {"its 8 entries", "pointer 4 is 9"}},
    {"no entries", {0, 0, 0, 0, 0}, {0}, {"no entries", "pattern", "index arrays"}},
    {"a large index",
     {0, 2, 4, 6, 8},
     {0, 1, 1, 2, 2, 3, 0, 4},
     {"across indices must be from 0 to 3", "line 3 has index 4"}},
    {"a negative index",
     {0, 2, 4, 6, 8},
     {0, 1, -1, 2, 2, 3, 0, 3},
     {"across indices must be from 0 to 3", "line 1 has index -1"}},
    {"unsorted",
     {0, 2, 4, 6, 8},
     {0, 1, 1, 2, 3, 2, 0, 3},
     {"ascend within a line", "line 2 has index 3 before 2"}},
    {"twice", {0, 3, 4, 6, 8}, {0, 2, 2, 1, 2, 3, 0, 3}, {"once", "line 0 has index 2 twice"}}};

/* text with "line" and "across" replaced */
static void translate(const char *text, int by_rows, char *result, size_t length) {
  const char *const names[2][2] = {{"line", by_rows ? "row" : "column"},
                                   {"across", by_rows ? "column" : "row"}};
  size_t used                   = 0;
  while (*text && used + 16 < length) {
    int found = -1;
    for (int k = 0; k < 2; k++)
      if (!strncmp(text, names[k][0], strlen(names[k][0]))) found = k;
    if (found < 0) {
      result[used++] = *text++;
      continue;
    }
    used += (size_t)sprintf(result + used, "%s", names[found][1]);
    text += strlen(names[found][0]);
  }
  result[used] = '\0';
}

/* Index: rule x orientation x role. */
START_TEST(bad_index_arrays_are_refused_with_their_number) {
  const Arrays *bad = &bad_arrays[_i / 4];
  const int type    = types[_i / 2 % 2];
  const Role role   = _i % 2 ? OF_METRIC : OF_G;
  char words[3][128];
  const char *list[4] = {NULL};
  for (int k = 0; k < 3 && bad->words[k]; k++) {
    translate(bad->words[k], type == CSR_MAT, words[k], sizeof words[k]);
    list[k] = words[k];
  }
  SUNMatrix A = SUNSparseMatrix(N, N, 8, type, test_context);
  ck_assert_ptr_nonnull(A);
  memcpy(SM_INDEXPTRS_S(A), bad->pointer, sizeof bad->pointer);
  memcpy(SM_INDEXVALS_S(A), bad->index, sizeof bad->index);
  check_refused(role, A, list);
}
END_TEST

START_TEST(a_row_without_entries_is_refused) {
  const char *const G[]       = {"xx..", ".xx.", "....", "x..x"};
  const char *const last[]    = {"xx..", ".xx.", "x..x", "...."};
  const char *const columns[] = {"x..x", ".x..", "xx..", ".x.x"}; /* column 2 is in no constraint */
  CHECK_REFUSED(OF_G, matrix_of(N, N, G, types[_i]), "each row", "row 2 has none");
  CHECK_REFUSED(OF_G, matrix_of(N, N, last, types[_i]), "each row", "row 3 has none");
  SUNMatrix A = matrix_of(N, N, columns, types[_i]);
  ck_assert_int_eq(set_template(OF_G, A), CP_SUCCESS);
  SUNMatDestroy(A);
}
END_TEST

START_TEST(a_metric_template_needs_its_diagonal_and_a_symmetric_pattern) {
  const char *const diagonal[] = {"xx..", "x.x.", ".xx.", "...x"};
  const char *const last[]     = {"xx.x", "xxx.", ".xx.", "x..."};
  const char *const upper[]    = {"xx..", ".xx.", ".xx.", "...x"};
  const char *const lower[]    = {"x...", ".x..", ".xx.", "...x"};
  const char *const corner[]   = {"x..x", ".xx.", ".xx.", "...x"};
  const char *const good[]     = {"xx.x", "xx..", "..x.", "x..x"};
  const int type               = types[_i];
  CHECK_REFUSED(OF_METRIC, matrix_of(N, N, diagonal, type), "whole diagonal", "entry (1, 1)");
  CHECK_REFUSED(OF_METRIC, matrix_of(N, N, last, type), "whole diagonal", "entry (3, 3)");
  CHECK_REFUSED(OF_METRIC, matrix_of(N, N, upper, type), "symmetric", "has entry (0, 1)",
                "not (1, 0)");
  CHECK_REFUSED(OF_METRIC, matrix_of(N, N, lower, type), "symmetric", "has entry (2, 1)",
                "not (1, 2)");
  CHECK_REFUSED(OF_METRIC, matrix_of(N, N, corner, type), "symmetric", "has entry (0, 3)",
                "not (3, 0)");
  SUNMatrix M = matrix_of(N, N, good, type);
  ck_assert_int_eq(set_template(OF_METRIC, M), CP_SUCCESS);
  SUNMatDestroy(M);
}
END_TEST

/* Every entry of a full pattern is missing in turn. */
START_TEST(each_missing_entry_of_a_metric_is_found) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      char rows[N][N + 1], missing[32], there[32];
      const char *pattern[N];
      for (int k = 0; k < N; k++) pattern[k] = strcpy(rows[k], "xxxx");
      rows[i][j] = '.';
      sprintf(missing, "(%d, %d)", i, j);
      sprintf(there, "(%d, %d)", j, i);
      CHECK_REFUSED(OF_METRIC, matrix_of(N, N, pattern, types[_i]), missing, there);
    }
}
END_TEST

static SUNMatrix sparse_matrix(sunindextype rows, sunindextype cols, int type) {
  SUNMatrix A = SUNSparseMatrix(rows, cols, 8, type, test_context);
  ck_assert_ptr_nonnull(A);
  return A;
}

static SUNMatrix dense_matrix(sunindextype rows, sunindextype cols) {
  SUNMatrix A = SUNDenseMatrix(rows, cols, test_context);
  ck_assert_ptr_nonnull(A);
  return A;
}

START_TEST(other_types_and_sizes_are_refused) {
  char type[16];
  for (Role role = OF_G; role <= OF_METRIC; role++) {
    SUNMatrix band = SUNBandMatrix(N, 1, 1, test_context);
    ck_assert_ptr_nonnull(band);
    sprintf(type, "type %d", (int)SUNMatGetID(band));
    CHECK_REFUSED(role, band, "dense or a sparse", type);
    CHECK_REFUSED(role, dense_matrix(3, 4), "4 x 4", "3 x 4");
    for (int k = 0; k < 2; k++) {
      CHECK_REFUSED(role, sparse_matrix(4, 5, types[k]), "4 x 4", "4 x 5");
      CHECK_REFUSED(role, sparse_matrix(5, 5, types[k]), "4 x 4", "5 x 5");
    }
  }
}
END_TEST

/* Three constraints. */
START_TEST(a_transposed_template_is_called_so) {
  N_Vector three = vector_of(3, NULL);
  CPProjectorFree(&P);
  P = CPProjectorCreate(constraints, y, three, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(P), message_log, &logged), CP_SUCCESS);
  CHECK_REFUSED(OF_G, dense_matrix(4, 3), "3 x 4", "4 x 3", "transposed");
  for (int k = 0; k < 2; k++)
    CHECK_REFUSED(OF_G, sparse_matrix(4, 3, types[k]), "3 x 4", "4 x 3", "transposed");
  SUNMatrix other = dense_matrix(4, 4);
  ck_assert_int_eq(set_template(OF_G, other), CP_ILL_INPUT);
  ck_assert_ptr_null(strstr(logged.text, "transposed"));
  SUNMatDestroy(other);
  N_VDestroy(three);
}
END_TEST

START_TEST(without_memory_a_template_is_refused_as_such) {
  const char *const good[] = {"xx.x", "xx..", "..x.", "x..x"};
  const Role role          = _i % 2 ? OF_METRIC : OF_G;
  SUNMatrix A              = matrix_of(N, N, good, types[_i / 2]);
  int failures             = 0;
  for (long n = 1;; n++) {
    logged.count = 0;
    alloc_watch_failing(n);
    const int flag = set_template(role, A);
    alloc_unwatch();
    if (!alloc_has_failed()) {
      ck_assert_int_eq(flag, CP_SUCCESS);
      break;
    }
    failures++;
    ck_assert_int_eq(flag, CP_MEM_FAIL);
    ck_assert_int_eq(logged.count, 1);
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_ge(failures, role == OF_G ? 2 : 1); /* rows, the copy */
  SUNMatDestroy(A);
}
END_TEST

/* ---- entries by columns ---- */

enum { ROWS = 7, COLS = 11 };

static void random_pattern(char rows[ROWS][COLS + 1], const char **pattern,
                           unsigned long long *seed) {
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < COLS; j++) rows[i][j] = random_number(seed) > 0.2 ? 'x' : '.';
    rows[i][COLS] = '\0';
    pattern[i]    = rows[i];
  }
}

START_TEST(the_entries_are_listed_by_columns_with_their_place) {
  unsigned long long seed = (unsigned long long)_i + 1;
  char rows[ROWS][COLS + 1];
  const char *pattern[ROWS];
  random_pattern(rows, pattern, &seed);
  for (int k = 0; k < 2; k++) {
    SUNMatrix A = matrix_of(ROWS, COLS, pattern, types[k]);
    size_t start[COLS + 1], source[ROWS * COLS], e = 0;
    int row[ROWS * COLS];
    cpMatrixPattern(A, ROWS, COLS, start, row, source);
    for (int j = 0; j < COLS; j++) {
      ck_assert_uint_eq(start[j], e);
      for (int i = 0; i < ROWS; i++) {
        if (rows[i][j] == '.') continue;
        ck_assert_int_eq(row[e], i);
        ck_assert_ptr_eq(cpMatrixData(A) + source[e], entry_of(A, i, j));
        e++;
      }
    }
    ck_assert_uint_eq(start[COLS], e);
    ck_assert_uint_eq(cpMatrixEntries(A), e);
    SUNMatDestroy(A);
  }
}
END_TEST

START_TEST(a_dense_matrix_has_all_entries) {
  SUNMatrix A = dense_matrix(2, 3);
  size_t start[4], source[6];
  int row[6];
  ck_assert_uint_eq(cpMatrixEntries(A), 6);
  cpMatrixPattern(A, 2, 3, start, row, source);
  for (int j = 0; j <= 3; j++) ck_assert_uint_eq(start[j], 2 * (size_t)j);
  for (int k = 0; k < 6; k++) {
    ck_assert_int_eq(row[k], k % 2);
    ck_assert_ptr_eq(cpMatrixData(A) + source[k], &SM_ELEMENT_D(A, k % 2, k / 2));
  }
  SUNMatDestroy(A);
}
END_TEST

/* ---- a matrix that keeps its pattern ---- */

static void change_pointer(SUNMatrix A) { SM_INDEXPTRS_S(A)[1]++; }
static void change_last_pointer(SUNMatrix A) { SM_INDEXPTRS_S(A)[SM_NP_S(A)]--; }
static void change_index(SUNMatrix A) {
  const sunindextype last = SM_INDEXPTRS_S(A)[SM_NP_S(A)] - 1;
  SM_INDEXVALS_S(A)[last]--;
}
static void clear(SUNMatrix A) { ck_assert_int_eq(SUNMatZero(A), 0); }
static void cut_down(SUNMatrix A) { /* to one entry: SUNDIALS 7 refuses to have none */
  clear(A);
  ck_assert_int_eq(SUNSparseMatrix_Reallocate(A, 1), 0);
}

static void (*const changes[])(SUNMatrix) = {change_pointer, change_last_pointer, change_index,
                                             clear, cut_down};
enum { N_CHANGES = sizeof changes / sizeof changes[0] };

START_TEST(a_changed_pattern_is_seen_and_restored) {
  const char *const pattern[] = {"xx.x", "xx..", "..x.", "x..x"};
  SUNMatrix tmpl              = matrix_of(N, N, pattern, types[_i % 2]);
  CPUserMat U;
  ck_assert_int_eq(cpUserMatCreate(&U, NULL, tmpl, N, N, test_context), CP_SUCCESS);
  SUNMatrix A = U.S;
  clear(A);
  cpUserMatClear(&U);
  ck_assert(cpMatrixSamePattern(A, tmpl));
  changes[_i / 2](A);
  ck_assert(!cpMatrixSamePattern(A, tmpl));
  cpUserMatClear(&U);
  ck_assert(cpMatrixSamePattern(A, tmpl));
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      if (pattern[i][j] != '.') ck_assert_double_eq(*entry_of(A, i, j), 0.0);
      else ck_assert_ptr_null(entry_of(A, i, j));
  cpUserMatFree(&U);
  SUNMatDestroy(tmpl);
}
END_TEST

/* Of a CSC matrix they are the data of S, which a larger storage moves. */
START_TEST(values_follow_a_matrix_that_the_user_enlarges) {
  const char *const pattern[] = {"xx.x", "xx..", "..x.", "x..x"};
  SUNMatrix tmpl              = matrix_of(N, N, pattern, types[_i]);
  CPUserMat U;
  ck_assert_int_eq(cpUserMatCreate(&U, NULL, tmpl, N, N, test_context), CP_SUCCESS);
  for (int room = 1 << 4; room <= 1 << 20; room *= 16) {
    cpUserMatClear(&U);
    ck_assert_int_eq(SUNSparseMatrix_Reallocate(U.S, room), 0);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        if (pattern[i][j] != '.') *entry_of(U.S, i, j) = room + N * i + j;
    ck_assert_int_eq(cpUserMatCopy(&U), CP_SUCCESS);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        if (pattern[i][j] != '.') ck_assert_double_eq(*cpMatAt(&U.A, i, j), room + N * i + j);
  }
  cpUserMatFree(&U);
  SUNMatDestroy(tmpl);
}
END_TEST

START_TEST(matrices_of_one_template_share_index_arrays_and_not_values) {
  const char *const pattern[] = {"xx.x", "xx..", "..x.", "x..x"};
  SUNMatrix tmpl              = matrix_of(N, N, pattern, types[_i]);
  CPMemo memo;
  CPUserMat U[2];
  ck_assert_int_eq(cpMemoCreate(&memo), CP_SUCCESS);
  for (int k = 0; k < 2; k++)
    ck_assert_int_eq(cpUserMatCreate(&U[k], memo, tmpl, N, N, test_context), CP_SUCCESS);
  ck_assert_ptr_eq(U[0].A.start, U[1].A.start);
  ck_assert_ptr_eq(U[0].A.row, U[1].A.row);
  ck_assert_ptr_eq(U[0].tmpl, tmpl);
  for (int k = 0; k < 2; k++) {
    cpUserMatClear(&U[k]);
    *entry_of(U[k].S, 3, 0) = 7 + k;
    ck_assert_int_eq(cpUserMatCopy(&U[k]), CP_SUCCESS);
  }
  for (int k = 0; k < 2; k++) ck_assert_double_eq(*cpMatAt(&U[k].A, 3, 0), 7 + k);
  cpUserMatFree(&U[0]);
  ck_assert_double_eq(*cpMatAt(&U[1].A, 3, 0), 8);
  cpUserMatFree(&U[1]);
  cpMemoFree(&memo);
  SUNMatDestroy(tmpl);
}
END_TEST

START_TEST(a_jacobian_function_that_changes_the_pattern_fails) {
  const char *const pattern[] = {"xx.x", "xx..", "..x.", "x..x"};
  SUNMatrix G                 = matrix_of(N, N, pattern, types[_i]);
  N_Vector before             = vector_copy(y);
  ck_assert_int_eq(CPProjectorSetJacFn(P, jacobian, G), CP_SUCCESS);
  SUNMatDestroy(G); /* it was cloned */
  spoil = 1;
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_USERFUNC_FAIL);
  ck_assert_mentions(logged.text, "index arrays");
  ck_assert(same_bits(y, before));
  spoil = 0;
  ck_assert_int_eq(CPProjectorProject(P, 0.0, y, NULL), CP_SUCCESS);
  for (int i = 0; i < N; i++) /* linear: y = 1 but for the roundoff of one solve with G = I */
    ck_assert_double_eq_tol(entries(y)[i], 1.0, 1.0e-14);
  N_VDestroy(before);
}
END_TEST

TEST_SUITE(template) {
  const int n_bad = sizeof bad_arrays / sizeof bad_arrays[0];
  Suite *suite    = suite_create("template");
  TCase *tc       = tcase_create("template");
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, bad_index_arrays_are_refused_with_their_number, 0, 4 * n_bad);
  tcase_add_loop_test(tc, a_row_without_entries_is_refused, 0, 2);
  tcase_add_loop_test(tc, a_metric_template_needs_its_diagonal_and_a_symmetric_pattern, 0, 2);
  tcase_add_loop_test(tc, each_missing_entry_of_a_metric_is_found, 0, 2);
  tcase_add_test(tc, other_types_and_sizes_are_refused);
  tcase_add_test(tc, a_transposed_template_is_called_so);
  tcase_add_loop_test(tc, without_memory_a_template_is_refused_as_such, 0, 4);
  tcase_add_loop_test(tc, the_entries_are_listed_by_columns_with_their_place, 0, 20);
  tcase_add_test(tc, a_dense_matrix_has_all_entries);
  tcase_add_loop_test(tc, a_changed_pattern_is_seen_and_restored, 0, 2 * N_CHANGES);
  tcase_add_loop_test(tc, values_follow_a_matrix_that_the_user_enlarges, 0, 2);
  tcase_add_loop_test(tc, matrices_of_one_template_share_index_arrays_and_not_values, 0, 2);
  tcase_add_loop_test(tc, a_jacobian_function_that_changes_the_pattern_fails, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
