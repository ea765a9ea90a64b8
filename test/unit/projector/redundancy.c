/* Dependent, contradictory and empty constraints. */
#include "projector/fixture.h"

#include <cpodes/projector/projector_impl.h>
#include <math.h>
#include <string.h>

static Case k;

/* Scale factors of the rows of three copies; the first copy is the independent subset for the
 * comparison. */
static const sunrealtype scales[MAX_ROWS] = {1.0, 1.0, 1.0e4, -2.5, 3.0e-6, 7.0};

/* Every row `copies` times, with enough free states that there are at least as many states as rows. */
static Equations repeated(const Manifold *mf, int copies) {
  Equations eq = equations_of(mf);
  eq.copies    = copies;
  eq.scale     = scales;
  while (equations_rows(&eq) > equations_states(&eq)) eq.padding++;
  return eq;
}

static const Manifold *const loops[] = {&circle,     &sphere,      &planes,
                                        &crank_loop, &pendulum_qu, &pivot_moving};
enum { N_LOOPS = sizeof loops / sizeof loops[0] };

/* Index: solvers that accept dependent rows x Jacobian x norm; conjugate gradients x norm. */
enum { N_REVEALING = 14 };

static Setting revealing_setting(int i) {
  static const struct {
    CPLinSol type;
    Storage storage;
  } solver[]        = {{CP_LINSOL_AUTO, DENSE}, {CP_LINSOL_QR, DENSE}, {CP_LINSOL_SPARSE, CSC}};
  const CPNorm norm = i % 2 ? CP_NORM_L2 : CP_NORM_ERROR;
  if (i >= 12) return (Setting){CP_LINSOL_PRODUCTS, norm, 1, PRODUCTS, OF_NORM};
  return (Setting){solver[i / 4].type, norm, i / 2 % 2, solver[i / 4].storage, OF_NORM};
}

START_TEST(more_rows_than_columns_on_a_level_are_refused_where_full_rank_is_wanted) {
  case_open(&k, repeated(&pendulum_qu, 3), setting_of(CP_LINSOL_SCHUR, CP_NORM_ERROR, 1));
  case_set_levels(&k, 1);
  case_perturb(&k, 1.0e-4, 1);
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_RANK);
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

/* A closed chain of bars as in mechanics: the third equation is the sum of the first two, not a
 * copy. */
static void eval_dependent_sum(long double t, const long double *y, long double *c,
                               long double G[][MAX_STATES]) {
  (void)t;
  c[0] = y[0] * y[0] + y[1] * y[1] - 1.0L;
  c[1] = y[1] * y[2] - 0.5L;
  c[2] = c[0] + 3.0L * c[1];

  G[0][0] = 2.0L * y[0];
  G[0][1] = 2.0L * y[1];
  G[1][1] = y[2];
  G[1][2] = y[1];
  for (int j = 0; j < 3; j++) G[2][j] = G[0][j] + 3.0L * G[1][j];
}

static void eval_independent(long double t, const long double *y, long double *c,
                             long double G[][MAX_STATES]) {
  long double c3[3], G3[3][MAX_STATES] = {{0.0L}};
  eval_dependent_sum(t, y, c3, G3);
  memcpy(c, c3, 2 * sizeof *c);
  memcpy(G, G3, 2 * sizeof *G);
}

static const Manifold dependent_sum = {.name    = "dependent_sum",
                                       .n       = 3,
                                       .m       = 3,
                                       .eval    = eval_dependent_sum,
                                       .point   = {0.6, 0.8, 0.625},
                                       .nlevels = 1};
static const Manifold independent   = {.name    = "independent",
                                       .n       = 3,
                                       .m       = 2,
                                       .eval    = eval_independent,
                                       .point   = {0.6, 0.8, 0.625},
                                       .nlevels = 1};

START_TEST(a_row_that_is_a_combination_of_others_changes_nothing) {
  case_open(&k, equations_of(&independent), revealing_setting(_i));
  case_perturb(&k, 1.0e-4, 2);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  N_Vector expected = vector_copy(k.y);
  case_close(&k);
  sunindextype rank;
  case_open(&k, equations_of(&dependent_sum), revealing_setting(_i));
  case_perturb(&k, 1.0e-4, 2);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  if (k.setting.solver != CP_LINSOL_PRODUCTS) {
    ck_assert_success(&k, CPProjectorGetRank(k.P, &rank, NULL));
    ck_assert_int_eq(rank, 2);
  }
  ck_assert_bound(&k, wrms_distance(k.y, expected, k.ewt), k.eps);
  N_VDestroy(expected);
  case_close(&k);
}
END_TEST

START_TEST(solvers_that_want_full_rank_refuse_dependent_rows_and_name_one) {
  for (int p = 0; p < N_LOOPS; p++) {
    case_open(&k, repeated(loops[p], 3), setting_of(CP_LINSOL_SCHUR, CP_NORM_ERROR, _i));
    case_set_levels(&k, 0);
    case_perturb(&k, 1.0e-4, 4);
    N_Vector start = vector_copy(k.y), v = vector_copy(k.y), v0 = vector_copy(v);
    ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_RANK);
    ck_assert_int_eq(k.log.code, -CP_PROJ_RANK);
    ck_assert_mentions(k.log.text, "constraint ");
    ck_assert(same_bits(k.y, start));
    ck_assert_int_eq(CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v), -CP_PROJ_RANK);
    ck_assert(same_bits(v, v0));
    ck_assert_int_eq(CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, v), -CP_PROJ_RANK);
    ck_assert(same_bits(v, v0));
    ck_assert_int_eq(case_stats(&k).nfails, 3);
    N_VDestroy(start);
    N_VDestroy(v);
    N_VDestroy(v0);
    case_close(&k);
  }
}
END_TEST

/* ---- contradictions ---- */

START_TEST(constraints_that_contradict_each_other_fail_and_are_named) {
  const sunrealtype offset[MAX_ROWS] = {0.0, 0.0, 0.0, 1.0e-2}; /* row 3: row 1 again, shifted */
  Equations eq                       = repeated(&planes, 2);
  const sunrealtype ones[MAX_ROWS]   = {1.0, 1.0, 1.0, 1.0};
  eq.offset                          = offset;
  eq.scale                           = ones;
  case_open(&k, eq, revealing_setting(_i));
  case_perturb(&k, 1.0e-4, 5);
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_INCONSISTENT);
  ck_assert_int_eq(k.log.code, -CP_PROJ_INCONSISTENT);
  ck_assert_msg(strstr(k.log.text, "constraint 1") || strstr(k.log.text, "constraint 3"),
                "\"%s\" names neither constraint 1 nor 3", k.log.text);
  ck_assert(same_bits(k.y, start));
  ck_assert_int_eq(case_stats(&k).nfails, 1);
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

START_TEST(two_circles_around_one_centre_contradict_each_other) {
  const sunrealtype offset[MAX_ROWS] = {0.0, 0.3}, ones[MAX_ROWS] = {1.0, 1.0};
  Equations eq = repeated(&circle, 2);
  eq.offset    = offset;
  eq.scale     = ones;
  case_open(&k, eq, revealing_setting(_i));
  case_perturb(&k, 1.0e-4, 6);
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_INCONSISTENT);
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

/* ---- rows of zeros ---- */

/* Sphere with a second row that is 0 * (...) + offset. */
static void open_zero_row(sunrealtype *scale, sunrealtype *offset, Setting setting) {
  Equations eq = equations_of(&sphere);
  eq.copies    = 2;
  eq.scale     = scale;
  eq.offset    = offset;
  case_open(&k, eq, setting);
  case_perturb(&k, 1.0e-4, 7);
}

START_TEST(a_satisfied_row_of_zeros_is_skipped) {
  sunrealtype scale[MAX_ROWS] = {1.0, 0.0}, offset[MAX_ROWS] = {0.0, 0.0};
  sunindextype rank;
  open_zero_row(scale, offset, settings[_i]);
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(&sphere, k.y), 1.0e-10);
  ck_assert_success(&k, CPProjectorGetRank(k.P, &rank, NULL));
  ck_assert_int_eq(rank, 1);
  case_close(&k);
}
END_TEST

START_TEST(an_unsatisfied_row_of_zeros_is_named) {
  sunrealtype scale[MAX_ROWS] = {1.0, 0.0}, offset[MAX_ROWS] = {0.0, 1.0e-3};
  open_zero_row(scale, offset, settings[_i]);
  N_Vector start = vector_copy(k.y);
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_INCONSISTENT);
  ck_assert_mentions(k.log.text, "constraint 1");
  ck_assert(same_bits(k.y, start));
  N_VDestroy(start);
  case_close(&k);
}
END_TEST

/* ---- automatic choice ---- */

/* Two copies of the pendulum's rows. A failure in between, and the end of a workspace that factored
 * last (an integrator's), leave the newest factorisation that existed. */
START_TEST(the_dependent_rows_are_those_of_the_rank) {
  sunindextype rank;
  int dependent[4];
  CPWork other;
  CPProjected result;
  case_open(&k, repeated(&pendulum_qu, 2), setting_of(CP_LINSOL_QR, CP_NORM_ERROR, 1));
  for (int i = 0; i < 3; i++) {
    if (i == 0) ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    if (i == 1) { /* detects dependent rows on the first level, and ends there */
      ck_assert_success(&k, CPProjectorSetLinearSolver(k.P, CP_LINSOL_SCHUR));
      ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), -CP_PROJ_RANK);
      ck_assert_success(&k, CPProjectorSetLinearSolver(k.P, CP_LINSOL_QR));
    }
    if (i == 2) {
      ck_assert_int_eq(cpWorkCreate(&other, k.P), CP_SUCCESS);
      ck_assert_int_eq(cpProject(other, k.t, k.y, k.ewt, NULL, 0, &result), CP_SUCCESS);
      cpWorkFree(&other);
    }
    ck_assert_success(&k, CPProjectorGetRank(k.P, &rank, dependent));
    ck_assert_int_eq((int)rank, 2);
    for (int row = 0; row < 2; row++) /* one of each pair */
      ck_assert_int_eq(dependent[row] + dependent[row + 2], 1);
  }
  case_close(&k);
}
END_TEST

START_TEST(auto_stays_with_cholesky_while_constraints_are_independent) {
  for (int p = 0; p < n_manifolds; p++) {
    sunindextype rank;
    case_open(&k, equations_of(manifolds[p]), setting_of(CP_LINSOL_AUTO, CP_NORM_ERROR, _i));
    case_perturb(&k, 1.0e-4, 8);
    ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
    ck_assert_int_eq(case_stats(&k).linsol, CP_LINSOL_SCHUR);
    ck_assert_success(&k, CPProjectorGetRank(k.P, &rank, NULL));
    ck_assert_int_eq(rank, manifolds[p]->m);
    case_close(&k);
  }
}
END_TEST

START_TEST(the_rank_is_unknown_before_the_first_projection) {
  sunindextype rank = 77;
  case_open(&k, equations_of(&circle), solvers[_i]);
  ck_assert_int_eq(CPProjectorGetRank(k.P, &rank, NULL), CP_NO_INIT);
  ck_assert_int_eq(rank, 77);
  ck_assert_int_eq(case_stats(&k).rank, -1);
  case_close(&k);
}
END_TEST

/* 0 = a,  0 = a (1 + b),  0 = a + s (b + 10 b^2) in y = (a, b, s): the second row depends on the
 * first on the manifold, and is at an angle of about |a| to it elsewhere; the third is at the angle
 * s. */
static int narrow_rows(sunrealtype t, N_Vector y, N_Vector c, void *rows) {
  const sunrealtype a = entries(y)[0], b = entries(y)[1], s = entries(y)[2];
  (void)t;
  entries(c)[0] = a;
  entries(c)[1] = a + s * (b + 10 * b * b);
  if (*(const int *)rows > 2) entries(c)[2] = a * (1 + b);
  return 0;
}

static int narrow_gradients(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *rows) {
  const sunrealtype a = entries(y)[0], b = entries(y)[1], s = entries(y)[2];
  (void)t, (void)c;
  SUNMatZero(G);
  SM_ELEMENT_D(G, 0, 0) = SM_ELEMENT_D(G, 1, 0) = 1;
  SM_ELEMENT_D(G, 1, 1)                         = s * (1 + 20 * b);
  SM_ELEMENT_D(G, 1, 2)                         = b + 10 * b * b;
  if (*(const int *)rows > 2) SM_ELEMENT_D(G, 2, 0) = 1 + b, SM_ELEMENT_D(G, 2, 1) = a;
  return 0;
}

static CPProjector narrow_projector(int *rows, N_Vector y) {
  const int id[] = {1, 1, 0}; /* s is held */
  N_Vector c     = vector_of(*rows, NULL);
  SUNMatrix G    = SUNDenseMatrix(*rows, 3, test_context);
  CPProjector P  = CPProjectorCreate(narrow_rows, y, c, test_context);
  ck_assert_int_eq(CPProjectorSetUserData(P, rows), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, narrow_gradients, G), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetFree(P, id), CP_SUCCESS);
  SUNMatDestroy(G);
  N_VDestroy(c);
  return P;
}

/* From a state so far away that the angle of the third row is below what counts as zero there.
 * Without the first projection nobody could know that row. */
START_TEST(a_rank_that_has_been_found_stands_where_its_angle_is_narrow) {
  int rows          = 3;
  sunindextype rank = -1;
  N_Vector y = VECTOR(1e-8, 1e-8, 0.5), ewt = VECTOR(1e6, 1e6, 1e6);
  CPProjector P = narrow_projector(&rows, y);
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq(rank, 2);
  entries(y)[0] = 1e-5, entries(y)[1] = 1e-4, entries(y)[2] = 1e-3;
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq(rank, 2);
  ck_assert_double_le(fabs(entries(y)[1]), 1e-6); /* the tolerance */
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

/* a and b are zero up to errors, so only s sets the scale; 1e-8 is far below the angle 0.005. */
START_TEST(narrow_rows_count_where_components_are_zero_but_for_errors) {
  int rows          = 3;
  sunindextype rank = -1;
  N_Vector y = VECTOR(1e-8, 1e-8, 0.005), ewt = VECTOR(1e6, 1e6, 1e6);
  CPProjector P = narrow_projector(&rows, y);
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorGetRank(P, &rank, NULL), CP_SUCCESS);
  ck_assert_int_eq(rank, 2);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

/* A residual of eps tolerances would leave b off by eps / s tolerances. */
START_TEST(narrow_angles_do_not_make_projections_inaccurate) {
  int rows   = 2;
  N_Vector y = VECTOR(1e-9, 1e-9, 0.5), ewt = VECTOR(1e6, 1e6, 1e6);
  CPProjector P = narrow_projector(&rows, y);
  for (int i = 0; i < 10; i++) /* both rows count from now on; the factors are old at the end */
    ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  entries(y)[1] = 1e-2, entries(y)[2] = 1e-5;
  ck_assert_int_eq(CPProjectorProject(P, 0, y, ewt), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(y)[1]), 1e-6);
  CPProjectorFree(&P);
  N_VDestroy(y);
  N_VDestroy(ewt);
}
END_TEST

TEST_SUITE(redundancy) {
  Suite *suite = suite_create("redundancy");
  TCase *tc    = tcase_create("redundancy");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, more_rows_than_columns_on_a_level_are_refused_where_full_rank_is_wanted);
  tcase_add_loop_test(tc, a_row_that_is_a_combination_of_others_changes_nothing, 0, N_REVEALING);
  tcase_add_loop_test(tc, solvers_that_want_full_rank_refuse_dependent_rows_and_name_one, 0, 2);
  tcase_add_loop_test(tc, constraints_that_contradict_each_other_fail_and_are_named, 0, N_REVEALING);
  tcase_add_loop_test(tc, two_circles_around_one_centre_contradict_each_other, 0, N_REVEALING);
  tcase_add_loop_test(tc, a_satisfied_row_of_zeros_is_skipped, 0, n_settings);
  tcase_add_loop_test(tc, an_unsatisfied_row_of_zeros_is_named, 0, n_settings);
  tcase_add_test(tc, the_dependent_rows_are_those_of_the_rank);
  tcase_add_loop_test(tc, auto_stays_with_cholesky_while_constraints_are_independent, 0, 2);
  tcase_add_loop_test(tc, the_rank_is_unknown_before_the_first_projection, 0, n_solvers);
  tcase_add_test(tc, a_rank_that_has_been_found_stands_where_its_angle_is_narrow);
  tcase_add_test(tc, narrow_rows_count_where_components_are_zero_but_for_errors);
  tcase_add_test(tc, narrow_angles_do_not_make_projections_inaccurate);
  suite_add_tcase(suite, tc);
  return suite;
}
