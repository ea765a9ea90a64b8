/* Metrics that are not diagonal: the matrix M, dense or sparse, against the dense reference of
 * manifolds.h, for every solver that uses factors. */
#include "projector/fixture.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- the metrics ---- */

typedef enum { ALL_ENTRIES, BLOCKS, TRIDIAGONAL, DIAGONAL } Pattern;
typedef enum { M_DENSE, M_CSC, M_CSR } Form;

typedef struct {
  Pattern pattern;
  Form form;
  CPLinSol solver;
  Storage storage; /* of G */
} Choice;

static int in_pattern(Pattern pattern, int i, int j) {
  switch (pattern) {
  case ALL_ENTRIES: return 1;
  case BLOCKS: return i / 3 == j / 3;
  case TRIDIAGONAL: return abs(i - j) <= 1;
  default: return i == j;
  }
}

/* A kinetic energy that depends on the configuration: diagonal entries 3 ... 4; the others add up
 * to less than 1.8 in each row of at most 8 (Gershgorin: eigenvalues between 1.2 and 5.8). */
static long double entry_of(Pattern pattern, N_Vector y, int i, int j) {
  const sunrealtype *z = entries(y);
  if (!in_pattern(pattern, i, j)) return 0.0L;
  if (i == j) return 3.5L + 0.5L * sinl((long double)z[i] + i);
  return 0.5L / (1 + abs(i - j)) * cosl((long double)z[i] + z[j] + i * j);
}

enum { NOTHING = -1 };

/* user_data of all callbacks: the equations first, as equations_c and equations_jac expect. */
typedef struct {
  Equations eq;
  Choice choice;
  N_Vector ewt; /* if not NULL, M = diag(ewt^2) */
  long int calls;
  int flag;             /* the return value of the metric function */
  int bad_row, bad_col; /* an entry that is replaced; NOTHING: none */
  sunrealtype bad_value;
  int mirrored; /* also replaces the mirror image */
  int breaks_pattern;
} Metric;

static Metric mt;
static Case k;

static long double metric_entry(const Metric *m, N_Vector y, int i, int j) {
  if ((i == m->bad_row && j == m->bad_col) || (m->mirrored && j == m->bad_row && i == m->bad_col))
    return m->bad_value;
  if (m->ewt) return i == j ? (long double)entries(m->ewt)[i] * entries(m->ewt)[i] : 0.0L;
  return entry_of(m->choice.pattern, y, i, j);
}

static int metric_M(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  Metric *m = user_data;
  (void)t;
  m->calls++;
  if (SUNMatGetID(M) == SUNMATRIX_DENSE) {
    for (int i = 0; i < m->eq.mf->n; i++)
      for (int j = 0; j < m->eq.mf->n; j++) {
        ck_assert_double_eq(SM_ELEMENT_D(M, i, j), 0.0); /* as promised */
        SM_ELEMENT_D(M, i, j) = (sunrealtype)metric_entry(m, y, i, j);
      }
    return m->flag;
  }
  const int by_rows = SM_SPARSETYPE_S(M) == CSR_MAT;
  for (int a = 0; a < m->eq.mf->n; a++)
    for (sunindextype e = SM_INDEXPTRS_S(M)[a]; e < SM_INDEXPTRS_S(M)[a + 1]; e++) {
      const int b = (int)SM_INDEXVALS_S(M)[e];
      ck_assert_double_eq(SM_DATA_S(M)[e], 0.0);
      SM_DATA_S(M)[e] = (sunrealtype)metric_entry(m, y, by_rows ? a : b, by_rows ? b : a);
    }
  if (m->breaks_pattern) SM_INDEXVALS_S(M)[0] = 1;
  return m->flag;
}

static void full_metric(const Metric *m, N_Vector y, long double M[][MAX_STATES]) {
  for (int i = 0; i < m->eq.mf->n; i++)
    for (int j = 0; j < m->eq.mf->n; j++) M[i][j] = metric_entry(m, y, i, j);
}

static SUNMatrix metric_template(const Choice *choice, int n) {
  if (choice->form == M_DENSE) return SUNDenseMatrix(n, n, test_context);
  SUNMatrix M =
      SUNSparseMatrix(n, n, n * n, choice->form == M_CSR ? CSR_MAT : CSC_MAT, test_context);
  sunindextype nnz = 0;
  for (int a = 0; a < n; a++) {
    SM_INDEXPTRS_S(M)[a] = nnz;
    for (int b = 0; b < n; b++)
      if (in_pattern(choice->pattern, a, b)) SM_INDEXVALS_S(M)[nnz++] = b;
  }
  SM_INDEXPTRS_S(M)[n] = nnz;
  return M;
}

static void give_metric(const Choice *choice) {
  mt.choice   = *choice;
  SUNMatrix M = metric_template(choice, k.eq.mf->n);
  ck_assert_success(&k, CPProjectorSetNorm(k.P, CP_NORM_MATRIX, metric_M, M));
  SUNMatDestroy(M); /* the projector has a copy */
}

/* ---- cases ---- */

static const Pattern patterns[] = {ALL_ENTRIES, BLOCKS, BLOCKS, TRIDIAGONAL};
static const Form forms[]       = {M_DENSE, M_CSC, M_CSR, M_CSC};
static const CPLinSol types[]   = {CP_LINSOL_AUTO, CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_SPARSE};
enum { KINDS = sizeof forms / sizeof forms[0], TYPES = sizeof types / sizeof types[0] };
/* metrics x solvers x templates of G */
enum { CHOICES = KINDS * TYPES * 2 };

static Choice choice_of(int i) {
  return (Choice){.pattern = patterns[i / TYPES / 2],
                  .form    = forms[i / TYPES / 2],
                  .solver  = types[i / 2 % TYPES],
                  .storage = i % 2 ? CSC : DENSE};
}

static void open_metric(const Manifold *mf, Choice choice, int levels) {
  case_open(&k, equations_of(mf),
            (Setting){choice.solver, CP_NORM_ERROR, 1, choice.storage, OF_NORM});
  mt = (Metric){.eq = equations_of(mf), .bad_row = NOTHING, .bad_col = NOTHING};
  ck_assert_success(&k, CPProjectorSetUserData(k.P, &mt));
  case_set_levels(&k, levels);
  give_metric(&choice);
}

static N_Vector random_vector(unsigned long long seed) {
  N_Vector v = vector_copy(k.y);
  random_fill(v, &seed);
  return v;
}

static void reference_metric(int levels, const int *held, InverseMetric *metric) {
  long double M[MAX_STATES][MAX_STATES];
  full_metric(&mt, k.y, M);
  matrix_metric(k.eq.mf, levels, M, held, metric);
}

/* Vectors of size 1. The scaled gradients' smallest singular value is 0.06 in either norm of the
 * fixture (manifolds.h, apart), and the metric's condition is below 5: 0.06 / sqrt(5) = 1/37 here.
 * Normal equations square that: 1400, times about 100 roundings in sums of up to 8 terms. */
static const sunrealtype roundoff = 1400.0 * 100.0 * 1.2e-16;

/* ---- against the reference ---- */

START_TEST(P_and_its_transpose_are_those_of_the_dense_reference) {
  for (int i = 0; i < 2 * n_manifolds; i++) {
    const int levels = i % 2;
    InverseMetric metric;
    open_metric(manifolds[i / 2], choice_of(_i), levels);
    N_Vector v = random_vector(1), w = random_vector(2);
    N_Vector Pv = vector_copy(v), Ptw = vector_copy(w);
    reference_metric(levels, NULL, &metric);
    reference_tangent_in(k.eq.mf, levels, &metric, k.y, Pv);
    reference_cotangent_in(k.eq.mf, levels, &metric, k.y, Ptw);
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, w));
    ck_assert_bound(&k, max_distance(v, Pv), roundoff);
    ck_assert_bound(&k, max_distance(w, Ptw), roundoff);
    N_VDestroy(v);
    N_VDestroy(w);
    N_VDestroy(Pv);
    N_VDestroy(Ptw);
    case_close(&k);
  }
}
END_TEST

/* Distance to the nearest point in the metric at the start, in weighted units. */
static sunrealtype distance_to_reference(const Manifold *mf, Choice choice, int levels,
                                         sunrealtype h) {
  InverseMetric metric;
  open_metric(mf, choice, levels);
  ck_assert_success(&k, CPProjectorSetEps(k.P, 1.0e-9));
  case_perturb(&k, h, 3);
  N_Vector expected = vector_copy(k.y);
  reference_metric(levels, NULL, &metric);
  reference_project_in(mf, levels, &metric, expected);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(mf, k.y), 1.0e-9);
  sunrealtype distance = 0.0;
  for (int j = 0; j < mf->n; j++)
    distance = fmax(distance, entries(k.ewt)[j] * fabs(entries(k.y)[j] - entries(expected)[j]));
  N_VDestroy(expected);
  return distance;
}

/* The nearest point differs from that of simplified Newton, whose G and M are those of the start,
 * by O(distance^2): ten times nearer, a hundred times smaller; 50 leaves room for third order. Both
 * are accurate to eps = 1e-9 of a tolerance along the surfaces' normals, times 1/apart = 37 and the
 * ratio of the tolerances, below 60. */
START_TEST(the_projection_is_the_nearest_point_in_the_metric_to_first_order) {
  for (int i = 0; i < 2 * n_manifolds; i++) {
    const Manifold *mf    = manifolds[i / 2];
    const sunrealtype far = distance_to_reference(mf, choice_of(_i), i % 2, 1.0e-3);
    case_close(&k);
    const sunrealtype near = distance_to_reference(mf, choice_of(_i), i % 2, 1.0e-4);
    ck_assert_bound(&k, near, far / 50.0 + 37.0 * 60.0 * 1.0e-9);
    case_close(&k);
  }
}
END_TEST

/* Linear constraints, M at the start: no second order. 1e-2 away, in L2 that is 1e-2 * roundoff. */
START_TEST(linear_constraints_are_projected_exactly) {
  InverseMetric metric;
  open_metric(&planes, choice_of(_i), 0);
  case_perturb(&k, 1.0e-2, 4);
  N_Vector expected = vector_copy(k.y);
  reference_metric(0, NULL, &metric);
  reference_project_in(&planes, 0, &metric, expected);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, max_distance(k.y, expected), roundoff);
  N_VDestroy(expected);
  case_close(&k);
}
END_TEST

/* v'M P w = w'M P v, terms of size 6 n at most. */
START_TEST(P_is_symmetric_in_the_metric) {
  for (int i = 0; i < n_manifolds; i++) {
    long double M[MAX_STATES][MAX_STATES], defect = 0.0L;
    open_metric(manifolds[i], choice_of(_i), 0);
    N_Vector v = random_vector(5), w = random_vector(6);
    N_Vector Pv = vector_copy(v), Pw = vector_copy(w);
    full_metric(&mt, k.y, M);
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, Pv));
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, Pw));
    for (int a = 0; a < k.eq.mf->n; a++)
      for (int b = 0; b < k.eq.mf->n; b++)
        defect += M[a][b] * (entries(v)[a] * entries(Pw)[b] - entries(w)[a] * entries(Pv)[b]);
    ck_assert_bound(&k, (sunrealtype)fabsl(defect), 6.0 * k.eq.mf->n * roundoff);
    N_VDestroy(v);
    N_VDestroy(w);
    N_VDestroy(Pv);
    N_VDestroy(Pw);
    case_close(&k);
  }
}
END_TEST

/* ---- held components ---- */

static void hold(const int *held) {
  int id[MAX_STATES];
  for (int j = 0; j < k.eq.mf->n; j++) id[j] = !held[j];
  ck_assert_success(&k, CPProjectorSetFree(k.P, id));
}

static void expect_reference(int levels, const int *held, sunrealtype bound) {
  InverseMetric metric;
  N_Vector v = random_vector(7), v0 = vector_copy(v), Pv = vector_copy(v);
  reference_metric(levels, held, &metric);
  reference_tangent_in(k.eq.mf, levels, &metric, k.y, Pv);
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
  ck_assert_bound(&k, max_distance(v, Pv), bound);
  for (int j = 0; j < k.eq.mf->n; j++)
    if (held[j])
      ck_assert_mem_eq(entries(v) + j, entries(v0) + j, sizeof(sunrealtype)); /* every bit */
  N_VDestroy(v);
  N_VDestroy(v0);
  N_VDestroy(Pv);
}

/* One, another, none: factors are renewed, structures stay. With fewer free components the
 * constraints are closer to dependent, by a factor below 4 for these: 16 in the normal equations. */
START_TEST(held_components_keep_every_bit_and_the_others_move_as_if_they_were_not_there) {
  const Manifold *const some[] = {&sphere,      &planes,   &crank_loop,
                                  &pendulum_qu, &crank_qu, &bodies_blocked};
  for (size_t i = 0; i < 2 * sizeof some / sizeof some[0]; i++) {
    const Manifold *mf   = some[i / 2];
    const int levels     = (int)(i % 2);
    int held[MAX_STATES] = {0};
    open_metric(mf, choice_of(_i), levels);
    for (int which = 0; which < 2; which++) {
      if (mf == &crank_loop && which == 1)
        continue; /* the slider alone may be held, or the crank */
      held[which ? mf->n - 1 : 0] = 1;
      hold(held);
      expect_reference(levels, held, 16.0 * roundoff);
      held[which ? mf->n - 1 : 0] = 0;
    }
    ck_assert_success(&k, CPProjectorSetFree(k.P, NULL));
    expect_reference(levels, held, roundoff);
    case_close(&k);
  }
}
END_TEST

/* ---- agreement ---- */

/* M = diag(ewt^2) is the error norm. Vectors in the units of the tolerances. */
START_TEST(squared_weights_as_metric_are_the_error_norm) {
  static const Form each[] = {M_DENSE, M_CSC, M_CSR};
  for (int i = 0; i < 2 * n_manifolds; i++) {
    Choice choice = choice_of(_i);
    choice.form   = each[(_i + i) % 3];
    if (choice.form != M_DENSE) choice.pattern = DIAGONAL;
    open_metric(manifolds[i / 2], choice, i % 2);
    mt.ewt     = k.ewt;
    N_Vector v = random_vector(8), y = NULL;
    N_VDiv(v, k.ewt, v);
    N_Vector other = vector_copy(v);
    case_perturb(&k, 1.0e-4, 9);
    y = vector_copy(k.y);
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_success(&k, CPProjectorSetNorm(k.P, CP_NORM_ERROR, NULL, NULL));
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, y, k.ewt, other));
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, y, k.ewt));
    /* the metric's condition, the weights' spread of 60 squared, does not affect the gradients */
    ck_assert_bound(&k, wrms_distance(v, other, k.ewt), roundoff);
    /* both are at most eps from the manifold; roundoff in y of size 2 is 1e-10 of a tolerance of
     * 3e-7 */
    ck_assert_bound(&k, wrms_distance(y, k.y, k.ewt), 1.0e-8);
    N_VDestroy(v);
    N_VDestroy(other);
    N_VDestroy(y);
    case_close(&k);
  }
}
END_TEST

START_TEST(the_metric_is_evaluated_with_the_jacobian_and_no_more) {
  for (int levels = 0; levels < 2; levels++) {
    open_metric(&crank_qu, choice_of(_i), levels);
    for (int step = 0; step < 20; step++) {
      case_perturb(&k, 1.0e-4, (unsigned long long)step + 1);
      ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    }
    const long int evaluations = case_stats(&k).nje;
    ck_assert_int_ge(evaluations, 2); /* at least one per ten projections */
    ck_assert_int_lt(evaluations, 20);
    ck_assert_int_eq(mt.calls, evaluations);
    case_close(&k);
  }
}
END_TEST

/* ---- failures ---- */

static void open_failing(int i) {
  open_metric(&crank_loop, choice_of(i), 0);
  case_perturb(&k, 1.0e-4, 11);
}

static void spoil(int row, int col, sunrealtype value, int mirrored) {
  mt.bad_row   = row;
  mt.bad_col   = col;
  mt.bad_value = value;
  mt.mirrored  = mirrored;
}

/* The call fails with the code and a message with both words; y stays; without the fault it
 * succeeds. */
static void expect_failure(int code, const char *word, const char *other) {
  N_Vector start = vector_copy(k.y), v = random_vector(12), v0 = vector_copy(v);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), code);
  ck_assert_int_eq(k.log.code, code);
  ck_assert_mentions(k.log.text, word);
  ck_assert_mentions(k.log.text, other);
  ck_assert(same_bits(k.y, start));
  ck_assert_int_eq(CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v), code);
  ck_assert(same_bits(v, v0));
  mt.flag = mt.breaks_pattern = 0;
  spoil(NOTHING, NOTHING, 0.0, 0);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(k.eq.mf, k.y), 1.0e-9);
  N_VDestroy(start);
  N_VDestroy(v);
  N_VDestroy(v0);
  case_close(&k);
}

START_TEST(a_metric_that_fails_for_good_ends_the_projection) {
  open_failing(_i);
  mt.flag = -3;
  expect_failure(CP_USERFUNC_FAIL, "metric", "-3");
}
END_TEST

START_TEST(a_metric_that_fails_recoverably_does_so_for_the_projection) {
  open_failing(_i);
  mt.flag = 4;
  expect_failure(-CP_REPTD_USERFUNC_ERR, "metric", "4");
}
END_TEST

START_TEST(an_entry_that_is_not_finite_is_named) {
  const sunrealtype values[] = {NAN, INFINITY, -INFINITY};
  for (int which = 0; which < 9; which++) {
    open_failing(_i);
    spoil(which < 3 ? 1 : 0, 1, values[which % 3], which >= 6);
    expect_failure(-CP_METRIC_INDEFINITE,
                   which < 3   ? "entry (1, 1) of the metric is"
                   : which < 6 ? "entry (0, 1) of the metric is"
                               : " of the metric is", /* or its mirror image */
                   which % 3 ? "inf" : "nan");
  }
}
END_TEST

/* Entry (0, 1) of M is 0.24 cos: a difference of 0.01 is far above 1e-8. */
START_TEST(an_asymmetric_metric_is_refused_with_both_entries) {
  open_failing(_i);
  spoil(0, 1, 0.015625, 0);
  expect_failure(-CP_METRIC_INDEFINITE, "entry (0, 1) is 0.015625", "entry (1, 0) is");
  ck_assert_ptr_null(strstr(k.log.text, "(1, 0) is 0.015625"));
}
END_TEST

/* The residual of a product with 1e-10 accuracy does not count as asymmetry. */
START_TEST(roundoff_is_not_asymmetry) {
  open_failing(_i);
  /* the metric depends on y: the fault is in the first evaluation, which is at this y */
  spoil(0, 1, (sunrealtype)(metric_entry(&mt, k.y, 0, 1) + 1.0e-10L), 0);
  N_Vector v = random_vector(13);
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
  N_VDestroy(v);
  case_close(&k);
}
END_TEST

START_TEST(a_diagonal_entry_that_is_not_positive_is_named) {
  for (int which = 0; which < 2; which++) {
    open_failing(_i);
    spoil(2, 2, which ? -0.5 : 0.0, 1);
    expect_failure(-CP_METRIC_INDEFINITE, "diagonal entry 2", which ? "-0.5" : "is 0");
  }
}
END_TEST

/* m_01 = 5 with diagonals below 4: det < 0. Its factorisation ends at 0 or 1, by its order. */
START_TEST(an_indefinite_metric_is_refused_with_a_component) {
  open_failing(_i);
  spoil(0, 1, 5.0, 1);
  expect_failure(-CP_METRIC_INDEFINITE, "not positive definite", "component ");
  ck_assert(strstr(k.log.text, "component 0") || strstr(k.log.text, "component 1"));
}
END_TEST

/* The second pivot of (1, 1; 1, 1 + 4.4e-16) is positive, but consists only of the last digits of
 * the entries. */
static int singular_M(sunrealtype t, N_Vector y, SUNMatrix M, void *user_data) {
  (void)t;
  (void)y;
  (void)user_data;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const sunrealtype value = i == 2 || j == 2 ? i == j : i + j == 2 ? 1.0 + 4.4e-16 : 1.0;
      if (SUNMatGetID(M) == SUNMATRIX_DENSE) SM_ELEMENT_D(M, i, j) = value;
      else SM_DATA_S(M)[3 * j + i] = value;
    }
  return 0;
}

START_TEST(a_metric_that_is_singular_up_to_roundoff_is_refused) {
  const Choice choice = {.pattern = ALL_ENTRIES, .form = (Form)_i, .solver = CP_LINSOL_AUTO};
  open_metric(&crank_loop, choice, 0);
  SUNMatrix M = metric_template(&choice, 3);
  ck_assert_success(&k, CPProjectorSetNorm(k.P, CP_NORM_MATRIX, singular_M, M));
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_METRIC_INDEFINITE);
  ck_assert_mentions(k.log.text, "not positive definite");
  SUNMatDestroy(M);
  case_close(&k);
}
END_TEST

START_TEST(a_changed_pattern_is_refused) {
  open_failing(_i);
  if (mt.choice.form != M_DENSE) {
    mt.breaks_pattern = 1;
    expect_failure(CP_USERFUNC_FAIL, "index arrays", "CPProjectorSetNorm");
  } else {
    case_close(&k);
  }
}
END_TEST

TEST_SUITE(metric) {
  Suite *suite = suite_create("metric");
  TCase *tc    = tcase_create("metric");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, P_and_its_transpose_are_those_of_the_dense_reference, 0, CHOICES);
  tcase_add_loop_test(tc, the_projection_is_the_nearest_point_in_the_metric_to_first_order, 0,
                      CHOICES);
  tcase_add_loop_test(tc, linear_constraints_are_projected_exactly, 0, CHOICES);
  tcase_add_loop_test(tc, P_is_symmetric_in_the_metric, 0, CHOICES);
  tcase_add_loop_test(
      tc, held_components_keep_every_bit_and_the_others_move_as_if_they_were_not_there, 0, CHOICES);
  tcase_add_loop_test(tc, squared_weights_as_metric_are_the_error_norm, 0, CHOICES);
  tcase_add_loop_test(tc, the_metric_is_evaluated_with_the_jacobian_and_no_more, 0, CHOICES);
  tcase_add_loop_test(tc, a_metric_that_fails_for_good_ends_the_projection, 0, CHOICES);
  tcase_add_loop_test(tc, a_metric_that_fails_recoverably_does_so_for_the_projection, 0, CHOICES);
  tcase_add_loop_test(tc, an_entry_that_is_not_finite_is_named, 0, CHOICES);
  tcase_add_loop_test(tc, an_asymmetric_metric_is_refused_with_both_entries, 0, CHOICES);
  tcase_add_loop_test(tc, roundoff_is_not_asymmetry, 0, CHOICES);
  tcase_add_loop_test(tc, a_diagonal_entry_that_is_not_positive_is_named, 0, CHOICES);
  tcase_add_loop_test(tc, an_indefinite_metric_is_refused_with_a_component, 0, CHOICES);
  tcase_add_loop_test(tc, a_metric_that_is_singular_up_to_roundoff_is_refused, M_DENSE, M_CSR + 1);
  tcase_add_loop_test(tc, a_changed_pattern_is_refused, 0, CHOICES);
  suite_add_tcase(suite, tc);
  return suite;
}
