/* Callbacks that fail, NaN and Inf, wrong Jacobians, no convergence: the right code, a message that
 * names the place, y and v unchanged, and a projector that continues once the cause is gone. */
#include "projector/fixture.h"

#include <math.h>

static Case k;

enum { FOREVER = 1000000 };

/* Projects a perturbed state and expects the code, a message with the word, and an unchanged y to
 * the last bit. */
static void expect_failure(int code, const char *word) {
  N_Vector start      = vector_copy(k.y);
  const int messages  = k.log.count;
  const long int fail = case_stats(&k).nfails;
  ck_assert_int_eq(CPProjectorProject(k.P, k.t, k.y, k.ewt), code);
  ck_assert_int_eq(k.log.count, messages + 1); /* one message for one failure */
  ck_assert_int_eq(k.log.code, code);
  ck_assert_str_eq(k.log.function, "CPProjectorProject");
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(k.P)), k.log.text);
  ck_assert_mentions(k.log.text, word);
  ck_assert_mentions(k.log.text, "t = ");
  ck_assert(same_bits(k.y, start));
  ck_assert_int_eq(case_stats(&k).nfails, fail + 1);
  N_VDestroy(start);
}

static void expect_success_after_repair(void) {
  k.eq.c_flag = k.eq.jac_flag = 0;
  k.eq.c_bad_until            = 0;
  k.eq.jac_factor             = 1.0;
  ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
  ck_assert_bound(&k, largest_residual(k.eq.mf, k.y), 1.0e-9);
}

/* ---- c fails ---- */

START_TEST(a_recoverable_failure_of_c_is_recoverable) {
  case_open(&k, equations_of(&crank_qu), settings[_i]);
  case_perturb(&k, 1.0e-4, 1);
  k.eq.c_flag       = 1;
  k.eq.c_flag_from  = 1;
  k.eq.c_flag_until = FOREVER;
  expect_failure(-CP_REPTD_USERFUNC_ERR, "constraint function");
  expect_success_after_repair();
  case_close(&k);
}
END_TEST

START_TEST(a_fatal_failure_of_c_is_fatal) {
  case_open(&k, equations_of(&crank_qu), settings[_i]);
  case_perturb(&k, 1.0e-4, 1);
  k.eq.c_flag       = -1;
  k.eq.c_flag_from  = 1;
  k.eq.c_flag_until = FOREVER;
  expect_failure(CP_USERFUNC_FAIL, "constraint function");
  expect_success_after_repair();
  case_close(&k);
}
END_TEST

/* Whichever call of c fails, the result is success, or the code with y unchanged; never another
 * code. */
START_TEST(a_failure_at_any_call_of_c_leaves_y_as_it_came) {
  for (long int call = 1;; call++) {
    case_open(&k, equations_of(&pendulum_qu), settings[_i]);
    case_perturb(&k, 1.0e-4, 1);
    N_Vector start    = vector_copy(k.y);
    k.eq.c_flag       = 1;
    k.eq.c_flag_from  = call;
    k.eq.c_flag_until = FOREVER;
    const int flag    = CPProjectorProject(k.P, k.t, k.y, k.ewt);
    if (flag != CP_SUCCESS) {
      ck_assert_int_eq(flag, -CP_REPTD_USERFUNC_ERR);
      ck_assert(same_bits(k.y, start));
    }
    const int reached = k.eq.c_calls >= call;
    expect_success_after_repair();
    N_VDestroy(start);
    case_close(&k);
    if (!reached) break; /* it has failed at every possible call */
    ck_assert_int_ne(flag, CP_SUCCESS);
    ck_assert_int_lt(call, 200);
  }
}
END_TEST

/* A function that has given up must not be called again. This holds in a second projection, too,
 * where stored factors permit another attempt after a failure. */
START_TEST(c_is_not_called_again_after_a_fatal_failure) {
  for (int projections = 0; projections < 2; projections++)
    for (long int call = 1;; call++) {
      case_open(&k, equations_of(&pendulum_qu), settings[_i]);
      case_perturb(&k, 1.0e-4, 1);
      for (int p = 0; p < projections; p++)
        ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt));
      case_perturb(&k, 1.0e-4, 2);
      N_Vector start    = vector_copy(k.y);
      k.eq.c_flag       = -1;
      k.eq.c_flag_from  = k.eq.c_calls + call;
      k.eq.c_flag_until = FOREVER;
      const int flag    = CPProjectorProject(k.P, k.t, k.y, k.ewt);
      const int reached = k.eq.c_calls >= k.eq.c_flag_from;
      if (reached) {
        ck_assert_int_eq(flag, CP_USERFUNC_FAIL);
        ck_assert_int_eq(k.eq.c_calls, k.eq.c_flag_from);
        ck_assert(same_bits(k.y, start));
      }
      N_VDestroy(start);
      case_close(&k);
      if (!reached) break;
      ck_assert_int_lt(call, 200);
    }
}
END_TEST

START_TEST(nan_and_inf_from_c_are_recoverable_and_name_the_constraint) {
  const sunrealtype bad[] = {NAN, INFINITY, -INFINITY};
  for (int b = 0; b < 3; b++) {
    case_open(&k, equations_of(&crank_qu), settings[_i]);
    case_perturb(&k, 1.0e-4, 1);
    k.eq.c_bad       = bad[b];
    k.eq.c_bad_from  = 1;
    k.eq.c_bad_until = FOREVER;
    expect_failure(-CP_CNSTR_NONFINITE, "constraint 0");
    expect_success_after_repair();
    case_close(&k);
  }
}
END_TEST

/* ---- the Jacobian fails ---- */

START_TEST(a_recoverable_failure_of_the_jacobian_is_recoverable) {
  case_open(&k, equations_of(&crank_qu), solvers[_i]);
  case_perturb(&k, 1.0e-4, 1);
  k.eq.jac_flag       = 1;
  k.eq.jac_flag_from  = 1;
  k.eq.jac_flag_until = FOREVER;
  expect_failure(-CP_REPTD_USERFUNC_ERR, "Jacobian");
  expect_success_after_repair();
  case_close(&k);
}
END_TEST

START_TEST(a_fatal_failure_of_the_jacobian_is_fatal) {
  for (long int call = 1; call < 100; call++) {
    case_open(&k, equations_of(&crank_qu), solvers[_i]);
    case_perturb(&k, 1.0e-4, 1);
    k.eq.jac_flag       = -1;
    k.eq.jac_flag_from  = call;
    k.eq.jac_flag_until = FOREVER;
    N_Vector start      = vector_copy(k.y);
    const int flag      = CPProjectorProject(k.P, k.t, k.y, k.ewt);
    const int reached   = k.eq.jac_calls >= call;
    if (reached) {
      ck_assert_int_eq(flag, CP_USERFUNC_FAIL);
      ck_assert_int_eq(k.eq.jac_calls, call);
      ck_assert(same_bits(k.y, start));
      ck_assert_mentions(k.log.text, "Jacobian");
    }
    expect_success_after_repair();
    N_VDestroy(start);
    case_close(&k);
    if (!reached) return;
  }
  ck_abort_msg("the Jacobian is evaluated without end");
}
END_TEST

START_TEST(nan_and_inf_in_the_jacobian_are_recoverable_and_name_the_entry) {
  const sunrealtype bad[] = {NAN, INFINITY};
  for (int b = 0; b < 2; b++) {
    case_open(&k, equations_of(&crank_qu), solvers[_i]);
    case_perturb(&k, 1.0e-4, 1);
    k.eq.jac_factor = bad[b];
    k.eq.jac_row    = 1;
    k.eq.jac_col    = 2;
    expect_failure(-CP_CNSTRJAC_NONFINITE, "(1, 2)");
    expect_success_after_repair();
    case_close(&k);
  }
}
END_TEST

START_TEST(failed_tangent_and_cotangent_projections_leave_the_vector_as_it_came) {
  case_open(&k, equations_of(&crank_qu), settings[_i]);
  N_Vector v = vector_copy(k.y), v0 = vector_copy(k.y);
  const struct {
    int c_flag, code;
    sunrealtype bad;
  } fault[] = {
      {1, -CP_REPTD_USERFUNC_ERR, 0.0}, {-1, CP_USERFUNC_FAIL, 0.0}, {0, -CP_CNSTR_NONFINITE, NAN}};
  for (int f = 0; f < 3; f++) {
    k.eq.c_flag      = fault[f].c_flag;
    k.eq.c_bad       = fault[f].bad;
    k.eq.c_flag_from = k.eq.c_bad_from = 1;
    k.eq.c_flag_until                  = FOREVER;
    k.eq.c_bad_until                   = isnan(fault[f].bad) ? FOREVER : 0;
    ck_assert_int_eq(CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v), fault[f].code);
    ck_assert_str_eq(k.log.function, "CPProjectorProjectVector");
    ck_assert(same_bits(v, v0));
    ck_assert_int_eq(CPProjectorProjectVector(k.P, CP_COTANGENT, k.t, k.y, k.ewt, v), fault[f].code);
    ck_assert_str_eq(k.log.function, "CPProjectorProjectVector");
    ck_assert(same_bits(v, v0));
  }
  ck_assert_int_eq(case_stats(&k).nfails, 6);
  expect_success_after_repair();
  ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
  N_VDestroy(v);
  N_VDestroy(v0);
  case_close(&k);
}
END_TEST

/* ---- a wrong Jacobian ---- */

START_TEST(a_wrong_jacobian_is_named_by_row_and_column) {
  case_open(&k, equations_of(&pendulum_qu), solvers[_i]);
  case_set_levels(&k, 0);
  case_perturb(&k, 1.0e-4, 1);
  /* the sign of d(x^2 + y^2)/dy, where y = -0.8: with 0.6 and +0.8 instead of 0.6 and -0.8 the
   * iteration contracts at best by (g - G) K = 1.28, so it cannot converge */
  k.eq.jac_factor = -1.0;
  k.eq.jac_row    = 0;
  k.eq.jac_col    = 1;
  expect_failure(-CP_CNSTRJAC_WRONG, "(0, 1)");
  expect_success_after_repair();
  case_close(&k);
}
END_TEST

START_TEST(CheckJac_finds_no_fault_in_a_right_jacobian) {
  case_open(&k, equations_of(manifolds[_i]), solvers[0]);
  sunrealtype err = -1.0;
  ck_assert_success(&k, CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, NULL, NULL));
  ck_assert_bound(&k, err, 1.0e-6); /* differences are accurate to about 1e-7 */
  ck_assert_bound(&k, 0.0, err);
  case_close(&k);
}
END_TEST

START_TEST(CheckJac_finds_each_wrong_entry) {
  const Manifold *mf = manifolds[_i];
  case_open(&k, equations_of(mf), solvers[0]);
  for (int i = 0; i < mf->m; i++)
    for (int j = 0; j < mf->n; j++) {
      sunrealtype err  = -1.0;
      sunindextype row = -9, col = -9;
      SUNMatrix G     = SUNDenseMatrix(mf->m, mf->n, test_context);
      N_Vector c      = vector_of(mf->m, NULL);
      k.eq.jac_factor = 1.0;
      ck_assert_int_eq(equations_jac(k.t, k.y, c, G, &k.eq), 0);
      const sunrealtype entry = SM_ELEMENT_D(G, i, j);
      sunrealtype size2       = 0.0; /* of the row, in units of the tolerances */
      for (int l = 0; l < mf->n; l++) {
        const sunrealtype g = SM_ELEMENT_D(G, i, l) / entries(k.ewt)[l];
        size2 += g * g;
      }
      const sunrealtype expected = 0.5 * fabs(entry) / entries(k.ewt)[j] / sqrt(size2);
      SUNMatDestroy(G);
      N_VDestroy(c);
      if (expected < 1.0e-4) continue; /* a zero, or insignificant in this row */
      k.eq.jac_factor = 1.5;
      k.eq.jac_row    = i;
      k.eq.jac_col    = j;
      ck_assert_success(&k, CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, &row, &col));
      ck_assert_int_eq(row, i);
      ck_assert_int_eq(col, j);
      /* relative to the norm of the wrong or of the right row, which differ by a factor of at most
       * 1.5 */
      ck_assert_double_ge(err, expected / 1.5 * (1.0 - 1.0e-5));
      ck_assert_double_le(err, expected * (1.0 + 1.0e-5));
    }
  case_close(&k);
}
END_TEST

START_TEST(without_a_user_jacobian_CheckJac_has_nothing_to_compare) {
  sunrealtype err = -1.0;
  case_open(&k, equations_of(&circle), setting_of(CP_LINSOL_AUTO, CP_NORM_ERROR, 0));
  ck_assert_success(&k, CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, NULL, NULL));
  ck_assert_double_eq(err, 0.0);
  case_close(&k);
}
END_TEST

START_TEST(CheckJac_reports_failing_callbacks) {
  sunrealtype err = 77.0;
  case_open(&k, equations_of(&circle), solvers[0]);
  k.eq.jac_flag       = 1;
  k.eq.jac_flag_from  = 1;
  k.eq.jac_flag_until = FOREVER;
  ck_assert_int_eq(CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, NULL, NULL),
                   CP_REPTD_USERFUNC_ERR);
  k.eq.jac_flag = -1;
  ck_assert_int_eq(CPProjectorCheckJac(k.P, k.t, k.y, k.ewt, &err, NULL, NULL), CP_USERFUNC_FAIL);
  expect_success_after_repair();
  case_close(&k);
}
END_TEST

/* ---- no convergence ---- */

/* x^2 + y^2 + 1 = 0 has no real solution. Newton's radii from 1.2 are 0.18 and -2.7. */
static void eval_no_solution(long double t, const long double *y, long double *c,
                             long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = y[0] * y[0] + y[1] * y[1] + 1.0L;
  G[0][0] = 2.0L * y[0];
  G[0][1] = 2.0L * y[1];
}

static const Manifold no_solution = {.name    = "no_solution",
                                     .n       = 2,
                                     .m       = 1,
                                     .eval    = eval_no_solution,
                                     .point   = {0.72, 0.96},
                                     .nlevels = 1};

START_TEST(constraints_without_a_solution_do_not_converge) {
  case_open(&k, equations_of(&no_solution), settings[_i]);
  expect_failure(-CP_PROJ_CONV_FAILURE, "constraint 0");
  ck_assert_int_lt(k.eq.c_calls, 200);
  case_close(&k);
}
END_TEST

/* An ill-placed state: the centre of the circle, where the gradient vanishes. */
START_TEST(a_vanishing_gradient_fails_and_names_the_constraint) {
  case_open(&k, equations_of(&circle), solvers[_i]);
  N_VConst(0.0, k.y);
  expect_failure(-CP_PROJ_INCONSISTENT, "constraint 0");
  case_close(&k);
}
END_TEST

/* Outside an integrator's step there is nothing to shorten, so failures are negative, also those of
 * callbacks. */
START_TEST(GetViolation_reports_failing_callbacks_with_negative_codes) {
  sunrealtype norm   = 77.0;
  sunindextype worst = 5;
  case_open(&k, equations_of(&pendulum_qu), settings[_i]);
  const struct {
    int c_flag, code;
    sunrealtype bad;
  } fault[] = {
      {1, CP_REPTD_USERFUNC_ERR, 0.0}, {-1, CP_USERFUNC_FAIL, 0.0}, {0, CP_CNSTR_NONFINITE, NAN}};
  for (int f = 0; f < 3; f++) {
    k.eq.c_flag      = fault[f].c_flag;
    k.eq.c_bad       = fault[f].bad;
    k.eq.c_flag_from = k.eq.c_bad_from = 1;
    k.eq.c_flag_until = k.eq.c_bad_until = 0;
    if (isnan(fault[f].bad)) k.eq.c_bad_until = FOREVER;
    else k.eq.c_flag_until = FOREVER;
    ck_assert_int_eq(CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, &worst), fault[f].code);
    ck_assert_str_eq(k.log.function, "CPProjectorGetViolation");
    ck_assert_double_eq(norm, 77.0);
    ck_assert_int_eq(worst, 5);
  }
  expect_success_after_repair();
  case_close(&k);
}
END_TEST

/* Residuals over tolerances that are denormal overflow, in the first violation or in later ones. The iteration
 * has no ratio to go by, but ends. */
START_TEST(a_violation_that_overflows_ends_the_iteration) {
  case_open(&k, equations_of(&crank_qu), settings[_i]);
  N_Vector ctol = vector_of(equations_rows(&k.eq), NULL);
  N_VConst(1.0e-320, ctol);
  case_perturb(&k, 1.0e-4, 1);
  ck_assert_int_eq(CPProjectorSetConstraintTol(k.P, ctol), CP_SUCCESS);
  expect_failure(-CP_PROJ_CONV_FAILURE, "constraint");
  ck_assert_int_lt(k.eq.c_calls, 200);
  ck_assert_int_eq(CPProjectorSetConstraintTol(k.P, NULL), CP_SUCCESS);
  expect_success_after_repair();
  N_VDestroy(ctol);
  case_close(&k);
}
END_TEST

TEST_SUITE(failures) {
  Suite *suite = suite_create("failures");
  TCase *tc    = tcase_create("failures");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_recoverable_failure_of_c_is_recoverable, 0, n_settings);
  tcase_add_loop_test(tc, a_fatal_failure_of_c_is_fatal, 0, n_settings);
  tcase_add_loop_test(tc, a_failure_at_any_call_of_c_leaves_y_as_it_came, 0, n_settings);
  tcase_add_loop_test(tc, c_is_not_called_again_after_a_fatal_failure, 0, n_settings);
  tcase_add_loop_test(tc, nan_and_inf_from_c_are_recoverable_and_name_the_constraint, 0, n_settings);
  tcase_add_loop_test(tc, a_recoverable_failure_of_the_jacobian_is_recoverable, 0, n_solvers);
  tcase_add_loop_test(tc, a_fatal_failure_of_the_jacobian_is_fatal, 0, n_solvers);
  tcase_add_loop_test(tc, nan_and_inf_in_the_jacobian_are_recoverable_and_name_the_entry, 0,
                      n_solvers);
  tcase_add_loop_test(tc, failed_tangent_and_cotangent_projections_leave_the_vector_as_it_came, 0,
                      n_settings);
  tcase_add_loop_test(tc, a_wrong_jacobian_is_named_by_row_and_column, 0, n_solvers);
  tcase_add_loop_test(tc, CheckJac_finds_no_fault_in_a_right_jacobian, 0, n_manifolds);
  tcase_add_loop_test(tc, CheckJac_finds_each_wrong_entry, 0, n_manifolds);
  tcase_add_test(tc, without_a_user_jacobian_CheckJac_has_nothing_to_compare);
  tcase_add_test(tc, CheckJac_reports_failing_callbacks);
  tcase_add_loop_test(tc, constraints_without_a_solution_do_not_converge, 0, n_settings);
  tcase_add_loop_test(tc, a_violation_that_overflows_ends_the_iteration, 0, n_settings);
  tcase_add_loop_test(tc, a_vanishing_gradient_fails_and_names_the_constraint, 0, n_solvers);
  tcase_add_loop_test(tc, GetViolation_reports_failing_callbacks_with_negative_codes, 0, n_settings);
  suite_add_tcase(suite, tc);
  return suite;
}
