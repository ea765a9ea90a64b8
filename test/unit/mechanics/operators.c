/* Projectors, Delassus operator and effective mass at one state, by their properties, for all kinds
 * of matrices and for operators.
 *
 * Tolerance: solutions lose the condition of S = A M^-1 A^T, at most |S||W|, which the tests
 * measure and assert to be below MOST; N^2 operations of roundoff 1.1e-16 go into an entry of order
 * one. (The eigenvalues of M are between N and N + N^2.) */
#include "mechanics/constant.h"
#include "models/spatial_four_bar.h"
#include "support/alloc.h"
#include "support/mech_run.h"

#include <math.h>
#include <models/counters.h>
#include <string.h>

#define MOST      SUN_RCONST(3.0e3)
#define TOLERANCE (N * N * SUN_RCONST(1.1e-16) * MOST)

static Constant c;

/* P[i][j] = (P e_j)_i */
static void projector(CPSpace space, sunrealtype P[N][N]) {
  for (int j = 0; j < N; j++) {
    sunrealtype e[N] = {0};
    e[j]             = 1;
    ck_assert_msg(CPMechProject(c.mech, space, 0, c.y, e) == CP_SUCCESS, "%s", c.log.text);
    for (int i = 0; i < N; i++) P[i][j] = e[i];
  }
}

/* S, or W if is_mass */
static void matrix(int is_mass, sunrealtype S[ROWS][ROWS]) {
  SUNMatrix dense = SUNDenseMatrix(ROWS, ROWS, test_context);
  const int flag  = CPMechDelassus(c.mech, 0, c.y, is_mass ? NULL : dense, is_mass ? dense : NULL);
  ck_assert_msg(flag == CP_SUCCESS, "%s", c.log.text);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) S[i][j] = SM_ELEMENT_D(dense, i, j);
  SUNMatDestroy(dense);
}

static sunrealtype norm(sunrealtype S[ROWS][ROWS]) {
  sunrealtype sum = 0;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) sum += S[i][j] * S[i][j];
  return sqrt(sum);
}

static void multiply(sunrealtype X[ROWS][ROWS], sunrealtype Y[ROWS][ROWS],
                     sunrealtype XY[ROWS][ROWS]) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) {
      XY[i][j] = 0;
      for (int k = 0; k < ROWS; k++) XY[i][j] += X[i][k] * Y[k][j];
    }
}

static void assert_near(sunrealtype a, sunrealtype b, const char *what, int i, int j) {
  ck_assert_msg(fabs(a - b) <= TOLERANCE, "%s (%d, %d): %g and %g", what, i, j, a, b);
}

static void assert_well_conditioned(void) {
  sunrealtype S[ROWS][ROWS], W[ROWS][ROWS];
  matrix(0, S);
  matrix(1, W);
  ck_assert_double_le(norm(S) * norm(W), MOST);
}

/* ---- projectors ---- */

/* A projector is determined by its range, here ker A without driven velocities, and by its symmetry
 * in the metric M. The trace shows that its range is complete. */
START_TEST(tangent_projector_is_the_one_onto_the_null_space_of_A) {
  sunrealtype P[N][N], trace = 0;
  constant_create(&c, _i);
  assert_well_conditioned();
  projector(CP_TANGENT, P);
  for (int j = 0; j < N; j++) {
    sunrealtype column[N], twice[N];
    for (int i = 0; i < N; i++) column[i] = twice[i] = P[i][j];
    for (int i = 0; i < ROWS; i++)
      if (constant_is_active(&c, i, 1)) assert_near(constant_row(&c, i, column), 0, "A P", i, j);
    if (c.driven) ck_assert_double_eq(P[DRIVEN][j], 0);
    ck_assert_int_eq(CPMechProject(c.mech, CP_TANGENT, 0, c.y, twice), CP_SUCCESS);
    for (int i = 0; i < N; i++) assert_near(twice[i], column[i], "P P - P", i, j);
    trace += P[j][j];
  }
  ck_assert_double_eq_tol(trace, N - constant_rank(&c, 1) - c.driven, N * TOLERANCE);
  constant_free(&c);
}
END_TEST

START_TEST(tangent_projector_is_symmetric_in_the_kinetic_metric) {
  sunrealtype P[N][N];
  constant_create(&c, _i);
  projector(CP_TANGENT, P);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      sunrealtype Pi[N], Pj[N], ei[N] = {0}, ej[N] = {0};
      for (int k = 0; k < N; k++) Pi[k] = P[k][i], Pj[k] = P[k][j];
      ei[i] = ej[j] = 1;
      ck_assert_double_eq_tol(constant_product(&c, ei, Pj), constant_product(&c, Pi, ej),
                              N * N * TOLERANCE); /* |M| */
    }
  constant_free(&c);
}
END_TEST

START_TEST(tangent_and_normal_part_are_the_whole) {
  sunrealtype P[N][N], Q[N][N];
  constant_create(&c, _i);
  projector(CP_TANGENT, P);
  projector(CP_NORMAL, Q);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) assert_near(P[i][j] + Q[i][j], i == j, "P + Q", i, j);
  constant_free(&c);
}
END_TEST

START_TEST(cotangent_projector_is_the_transpose) {
  sunrealtype P[N][N], PT[N][N];
  constant_create(&c, _i);
  projector(CP_TANGENT, P);
  projector(CP_COTANGENT, PT);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      ck_assert_double_eq_tol(PT[i][j], P[j][i], N * N * TOLERANCE); /* |M| */
  constant_free(&c);
}
END_TEST

/* ---- S and its pseudo-inverse ---- */

START_TEST(delassus_operator_is_its_definition) {
  sunrealtype S[ROWS][ROWS], exact[ROWS][ROWS];
  constant_create(&c, _i);
  matrix(0, S);
  constant_delassus(&c, 0, exact);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) assert_near(S[i][j], exact[i][j], "S", i, j);
  constant_free(&c);
}
END_TEST

/* The four conditions of Moore and Penrose. */
START_TEST(effective_mass_is_the_pseudo_inverse) {
  sunrealtype S[ROWS][ROWS], W[ROWS][ROWS], SW[ROWS][ROWS], WS[ROWS][ROWS], X[ROWS][ROWS];
  constant_create(&c, _i);
  assert_well_conditioned();
  constant_delassus(&c, 0, S);
  matrix(1, W);
  multiply(S, W, SW);
  multiply(W, S, WS);
  multiply(SW, S, X);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) {
      assert_near(X[i][j], S[i][j], "S W S", i, j);
      assert_near(SW[i][j], SW[j][i], "S W", i, j);
      assert_near(WS[i][j], WS[j][i], "W S", i, j);
    }
  multiply(WS, W, X);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++)
      ck_assert_double_eq_tol(X[i][j], W[i][j], (1 + norm(W)) * TOLERANCE);
  constant_free(&c);
}
END_TEST

/* CPMechSolve's multipliers for A d = x are -W x. */
START_TEST(products_with_the_effective_mass_need_no_matrix) {
  sunrealtype W[ROWS][ROWS], x[ROWS], d[N], mu[ROWS], S[ROWS][ROWS], Sx[ROWS] = {0};
  constant_create(&c, _i);
  constant_delassus(&c, 0, S);
  matrix(1, W);
  for (int i = 0; i < ROWS; i++) x[i] = random_number(&c.state);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) Sx[i] += S[i][j] * x[j]; /* in the range of A */
  ck_assert_msg(CPMechSolve(c.mech, 0, c.y, 1, NULL, Sx, d, mu) == CP_SUCCESS, "%s", c.log.text);
  for (int i = 0; i < ROWS; i++) {
    sunrealtype sum = 0;
    for (int j = 0; j < ROWS; j++) sum += W[i][j] * Sx[j];
    ck_assert_double_eq_tol(mu[i], -sum, (1 + norm(W)) * (1 + norm(S)) * TOLERANCE);
  }
  constant_free(&c);
}
END_TEST

/* ---- state afterwards, and refused arguments ---- */

START_TEST(rows_and_rank_are_as_before) {
  MechCounters before, after;
  sunrealtype a[N], lambda[ROWS], again[ROWS], x[N] = {1};
  constant_create(&c, _i);
  ck_assert_int_eq(CPMechAccelerations(c.mech, 0, c.y, a, lambda), CP_SUCCESS);
  ck_assert_int_eq(mech_counters(c.mech, &before), CP_SUCCESS);
  ck_assert_int_eq(CPMechProject(c.mech, CP_TANGENT, 0, c.y, x), CP_SUCCESS);
  ck_assert_int_eq(CPMechSolve(c.mech, 0, c.y, 1, x, NULL, a, again), CP_SUCCESS);
  ck_assert_int_eq(mech_counters(c.mech, &after), CP_SUCCESS);
  ck_assert_int_eq(after.rank, before.rank);
  ck_assert_int_eq(after.unique, before.unique);
  ck_assert_int_eq(CPMechAccelerations(c.mech, 0, c.y, a, again), CP_SUCCESS);
  for (int i = 0; i < ROWS; i++) ck_assert_double_eq(again[i], lambda[i]);
  constant_free(&c);
}
END_TEST

START_TEST(bad_arguments_are_named) {
  sunrealtype x[N] = {1, 2, 3}, kept[N];
  SUNMatrix small  = SUNDenseMatrix(ROWS, ROWS - 1, test_context);
  constant_create(&c, 0);
  ck_assert_int_eq(CPMechProject(NULL, CP_TANGENT, 0, c.y, x), CP_MEM_NULL);
  ck_assert_int_eq(CPMechProject(c.mech, CP_TANGENT, 0, c.y, NULL), CP_ILL_INPUT);
  ck_assert_mentions(c.log.text, "x must not be NULL");
  ck_assert_int_eq(CPMechDelassus(c.mech, 0, c.y, small, NULL), CP_ILL_INPUT);
  ck_assert_mentions(c.log.text, "5 x 5");
  ck_assert_int_eq(CPMechDelassus(c.mech, 0, c.y, NULL, NULL), CP_ILL_INPUT);
  x[2] = NAN;
  memcpy(kept, x, sizeof x);
  ck_assert_int_eq(CPMechProject(c.mech, CP_COTANGENT, 0, c.y, x), CP_ILL_INPUT);
  ck_assert_mentions(c.log.text, "x[2]");
  ck_assert_int_eq(memcmp(x, kept, sizeof x), 0);
  SUNMatDestroy(small);
  constant_free(&c);
}
END_TEST

/* M = 0 in one direction: S does not exist, and is refused; P exists if A holds that direction. */
/* A x is a sum of products that overflow; x is as before. */
START_TEST(results_that_overflow_are_told) {
  sunrealtype x[N];
  constant_create(&c, 0);
  for (int k = 0; k < 3; k++) {
    for (int j = 0; j < N; j++) x[j] = j % 2 ? -1.7e308 : 1.7e308;
    ck_assert_int_eq(CPMechProject(c.mech, (CPSpace)k, 0, c.y, x), CP_MECH_NONFINITE);
    for (int j = 0; j < N; j++) ck_assert_double_eq(fabs(x[j]), 1.7e308);
  }
  constant_free(&c);
}
END_TEST

START_TEST(massless_velocity_has_projectors_but_no_delassus_operator) {
  SUNMatrix S      = SUNDenseMatrix(ROWS, ROWS, test_context);
  sunrealtype x[N] = {1, 2, 3, 4, 5, 6, 7};
  constant_create(&c, 0);
  for (int j = 0; j < N; j++) c.M[3][j] = c.M[j][3] = 0;
  ck_assert_int_eq(CPMechDelassus(c.mech, 0, c.y, S, NULL), CP_MASS_INDEFINITE);
  ck_assert_msg(CPMechProject(c.mech, CP_TANGENT, 0, c.y, x) == CP_SUCCESS, "%s", c.log.text);
  for (int i = 0; i < VELOCITIES; i++) assert_near(constant_row(&c, i, x), 0, "A P", i, 0);
  SUNMatDestroy(S);
  constant_free(&c);
}
END_TEST

/* ---- wrong operators ---- */

START_TEST(products_that_are_no_transposes_are_told) {
  sunrealtype x[N] = {1, 2, 3, 4, 5, 6, 7};
  c                = (Constant){.form = OPERATORS, .state = 12, .wrong_ATl = 3};
  constant_fill(&c);
  constant_build(&c);
  const int flag = CPMechProject(c.mech, CP_TANGENT, 0, c.y, x);
  ck_assert_msg(flag == CP_PROJ_CONV_FAILURE, "%d, %s", flag, c.log.text);
  ck_assert_mentions(c.log.text, "each other's transpose");
  ck_assert_double_eq(x[6], 7);
  constant_free(&c);
}
END_TEST

START_TEST(indefinite_inverse_mass_is_told) {
  sunrealtype x[N] = {1, 2, 3, 4, 5, 6, 7};
  c                = (Constant){.form = OPERATORS, .state = 12};
  constant_fill(&c);
  for (int i = 0; i < N; i++) c.M[i][i] -= 100;
  constant_build(&c);
  ck_assert_int_eq(CPMechProject(c.mech, CP_TANGENT, 0, c.y, x), CP_MASS_INDEFINITE);
  ck_assert_mentions(c.log.text, "M^{-1} must be positive definite");
  constant_free(&c);
}
END_TEST

/* ---- a closed loop in space, with 3 dependent rows of 20 ---- */

enum { BAR_NU = 18 };

typedef struct {
  SpatialFourBar bar;
  CPMech mech;
  N_Vector y;
} Loop;

static void create_loop(Loop *loop, int sparse) {
  const sunrealtype rods[3] = {1, 2, SUN_RCONST(1.5)}, rest[3] = {0};
  sunrealtype angle[3] = {SUN_RCONST(1.1), 0, 0};
  CPEquations model;
  spatial_four_bar_create(&loop->bar, rods, 2, SUN_RCONST(9.81), CP_FRAME_BODY);
  ck_assert_int_eq(spatial_four_bar_close(&loop->bar, angle), 0);
  ck_assert_int_eq(rigid_body_model(&loop->bar.bodies, sparse, test_context, &model), 0);
  loop->y = vector_of(SPATIAL_FOUR_BAR_N, NULL);
  spatial_four_bar_place(&loop->bar, angle, rest, loop->y);
  loop->mech = create_mech(&model, loop->y, test_context);
  ck_assert_ptr_nonnull(loop->mech);
  rigid_body_model_free(&model);
  ck_assert_int_eq(CPMechSetUserData(loop->mech, &loop->bar.bodies), CP_SUCCESS);
}

static void effective_mass_times(Loop *loop, const sunrealtype *x, sunrealtype *Wx) {
  SUNMatrix W = SUNDenseMatrix(SPATIAL_FOUR_BAR_ROWS, SPATIAL_FOUR_BAR_ROWS, test_context);
  ck_assert_int_eq(CPMechDelassus(loop->mech, 0, loop->y, NULL, W), CP_SUCCESS);
  for (int i = 0; i < SPATIAL_FOUR_BAR_ROWS; i++) {
    Wx[i] = 0;
    for (int j = 0; j < SPATIAL_FOUR_BAR_ROWS; j++) Wx[i] += SM_ELEMENT_D(W, i, j) * x[j];
  }
  SUNMatDestroy(W);
}

/* One degree of freedom: the tangent part of anything is a multiple of one motion. */
START_TEST(closed_loop_has_one_tangent_by_dense_and_sparse_matrices) {
  Loop loop[2];
  sunrealtype x[2][BAR_NU], w[2][SPATIAL_FOUR_BAR_ROWS], r[SPATIAL_FOUR_BAR_ROWS], trace = 0;
  unsigned long long state = 3;
  for (int i = 0; i < SPATIAL_FOUR_BAR_ROWS; i++) r[i] = random_number(&state);
  for (int j = 0; j < BAR_NU; j++) x[0][j] = x[1][j] = random_number(&state);
  for (int k = 0; k < 2; k++) {
    create_loop(&loop[k], k);
    ck_assert_int_eq(CPMechProject(loop[k].mech, CP_TANGENT, 0, loop[k].y, x[k]), CP_SUCCESS);
    effective_mass_times(&loop[k], r, w[k]);
  }
  for (int j = 0; j < BAR_NU; j++) {
    sunrealtype e[BAR_NU] = {0};
    e[j]                  = 1;
    ck_assert_int_eq(CPMechProject(loop[0].mech, CP_TANGENT, 0, loop[0].y, e), CP_SUCCESS);
    trace += e[j];
    ck_assert_double_eq_tol(x[0][j], x[1][j], TOLERANCE);
  }
  ck_assert_double_eq_tol(trace, 1, TOLERANCE);
  for (int i = 0; i < SPATIAL_FOUR_BAR_ROWS; i++) {
    ck_assert_double_eq_tol(w[0][i], w[1][i], TOLERANCE);
    ck_assert_double_gt(fabs(w[0][i]), 0);
  }
  for (int k = 0; k < 2; k++) {
    CPMechFree(&loop[k].mech);
    N_VDestroy(loop[k].y);
  }
}
END_TEST

typedef int (*Call)(void);

static int call_tangent(void) {
  sunrealtype x[N] = {1, 2, 3};
  return CPMechProject(c.mech, CP_TANGENT, 0, c.y, x);
}

static int call_solve(void) {
  sunrealtype r[ROWS] = {0}, d[N], mu[ROWS];
  return CPMechSolve(c.mech, 0, c.y, 1, NULL, r, d, mu);
}

static int call_matrix(void) {
  SUNMatrix W    = SUNDenseMatrix(ROWS, ROWS, test_context);
  const int flag = W ? CPMechDelassus(c.mech, 0, c.y, NULL, W) : CP_MEM_FAIL;
  if (W) SUNMatDestroy(W);
  return flag;
}

/* Dense, with all rows active: the solver has its workspace after the first call. */
START_TEST(every_allocation_may_fail) {
  const Call calls[] = {call_tangent, call_solve, call_matrix};
  int n = 0, done = 0;
  constant_create(&c, 1);
  ck_assert_int_eq(calls[_i](), CP_SUCCESS);
  for (n = 1; !done; n++) {
    alloc_watch_failing(n);
    const int flag = calls[_i]();
    alloc_unwatch();
    done = !alloc_has_failed();
    ck_assert_int_eq(alloc_live(), 0);
    ck_assert_int_eq(flag, done ? CP_SUCCESS : CP_MEM_FAIL);
    ck_assert_int_lt(n, 100);
  }
  ck_assert_int_gt(n, 3);
  constant_free(&c);
}
END_TEST

/* M and A as arrays, of dense and sparse matrices, each evaluated once, and of products */
START_TEST(terms_are_the_matrices) {
  sunrealtype M[N * N], A[ROWS * N], before, after;
  constant_create(&c, _i);
  CPMechOutput terms  = {CP_SIZED(CPMechOutput), .M = M, .A = A};
  const CPObject mech = CP_OBJECT(c.mech);
  ck_assert_int_eq(CPObjectGetStat(mech, "constraint_matrix_evals", &before), CP_SUCCESS);
  ck_assert_msg(CPMechEvaluate(c.mech, 0, c.y, &terms) == CP_SUCCESS, "%s", c.log.text);
  ck_assert_int_eq(CPObjectGetStat(mech, "constraint_matrix_evals", &after), CP_SUCCESS);
  ck_assert(c.form == OPERATORS || after - before <= 1);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < N; j++)
      ck_assert_double_eq(A[i + ROWS * j], c.off && i == OFF ? 0 : c.A[i][j]);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) ck_assert_double_eq(M[i + N * j], c.M[i][j]);
  constant_free(&c);
}
END_TEST

TEST_SUITE(operators) {
  Suite *suite = suite_create("mechanics/operators");
  TCase *tc    = tcase_create("operators");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, tangent_projector_is_the_one_onto_the_null_space_of_A, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, tangent_projector_is_symmetric_in_the_kinetic_metric, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, tangent_and_normal_part_are_the_whole, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, cotangent_projector_is_the_transpose, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, delassus_operator_is_its_definition, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, effective_mass_is_the_pseudo_inverse, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, products_with_the_effective_mass_need_no_matrix, 0, CONSTANT_CASES);
  tcase_add_loop_test(tc, rows_and_rank_are_as_before, 0, CONSTANT_CASES - 2); /* with matrices */
  tcase_add_loop_test(tc, terms_are_the_matrices, 0, CONSTANT_CASES);
  tcase_add_test(tc, bad_arguments_are_named);
  tcase_add_test(tc, results_that_overflow_are_told);
  tcase_add_test(tc, massless_velocity_has_projectors_but_no_delassus_operator);
  tcase_add_test(tc, products_that_are_no_transposes_are_told);
  tcase_add_test(tc, indefinite_inverse_mass_is_told);
  tcase_add_test(tc, closed_loop_has_one_tangent_by_dense_and_sparse_matrices);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, 3);
  suite_add_tcase(suite, tc);
  return suite;
}
