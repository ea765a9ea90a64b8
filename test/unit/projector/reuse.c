/* Reuse of G and its factors across projections, and the counters that show it. */
#include "projector/fixture.h"

#include <cpodes/projector/projector_impl.h>
#include <math.h>
#include <models/counters.h>

static Case k;

static void project(void) { ck_assert_success(&k, CPProjectorProject(k.P, k.t, k.y, k.ewt)); }

/* n projections of states that move along the unit circle by `angle` each, starting h away from
 * it. */
static void run_along_circle(int n, sunrealtype angle, sunrealtype h) {
  for (int step = 0; step < n; step++) {
    entries(k.y)[0] = (1.0 + h) * cos(0.6 + angle * step);
    entries(k.y)[1] = (1.0 + h) * sin(0.6 + angle * step);
    project();
    ck_assert_bound(&k, largest_residual(&circle, k.y),
                    1.0e-10); /* gradient 2, 1/ewt 1e-5, eps 1e-6, 5 x */
  }
}

/* Steps so small that nothing else requires new factors */
START_TEST(factors_serve_for_ten_projections) {
  case_open(&k, equations_of(&circle), settings[_i]);
  run_along_circle(1, 0.0, 0.0); /* the first projection sets up, and looks for levels */
  const ProjectorCounters before = case_stats(&k);
  run_along_circle(100, 1.0e-6, 1.0e-6);
  const long int renewed = case_stats(&k).nje - before.nje;
  ck_assert_int_ge(renewed, 10);
  ck_assert_int_le(renewed, 11);
  ck_assert_int_eq(case_stats(&k).nsetups - before.nsetups, renewed); /* one level */
  ck_assert_int_eq(case_stats(&k).nproj - before.nproj, 100);
  case_close(&k);
}
END_TEST

/* A quarter of a turn away the old gradient is tangent: no iteration with it converges. */
START_TEST(a_state_that_moved_far_gets_a_new_jacobian) {
  case_open(&k, equations_of(&circle), settings[_i]);
  run_along_circle(1, 0.0, 1.0e-4);
  const long int before = case_stats(&k).nje;
  entries(k.y)[0]       = cos(0.6 + 1.5707);
  entries(k.y)[1]       = sin(0.6 + 1.5707) + 1.0e-4;
  project();
  ck_assert_bound(&k, largest_residual(&circle, k.y), 1.0e-10);
  ck_assert_int_gt(case_stats(&k).nje, before);
  ck_assert_int_eq(case_stats(&k).nfails, 0);
  case_close(&k);
}
END_TEST

/* A quarter of a turn from where a violation was measured, or a vector projected, 5e-5 (5
 * tolerances) off: within the range of stored factors, whose gradient is tangent there. For a
 * matrix, and for products. */
START_TEST(factors_of_other_calls_are_no_reason_to_fail) {
  const Setting matrix   = setting_of(CP_LINSOL_AUTO, CP_NORM_ERROR, 1);
  const Setting products = {.solver = CP_LINSOL_PRODUCTS, .storage = PRODUCTS};
  sunrealtype norm;
  case_open(&k, equations_of(&circle), _i % 2 ? products : matrix);
  entries(k.y)[0] = cos(0.6);
  entries(k.y)[1] = sin(0.6);
  if (_i / 2) {
    N_Vector v = vector_copy(k.y);
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
    N_VDestroy(v);
  } else {
    ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL));
  }
  entries(k.y)[0] = -(1.0 + 5.0e-5) * sin(0.6);
  entries(k.y)[1] = (1.0 + 5.0e-5) * cos(0.6);
  project();
  ck_assert_bound(&k, largest_residual(&circle, k.y), 1.0e-10);
  case_close(&k);
}
END_TEST

/* From three times the radius the gradient of the start contracts only by 2/3: the iteration gets
 * new ones, also if the violation is evaluated first. */
START_TEST(far_starts_converge_where_only_what_needs_it_is_projected) {
  N_Vector y[2];
  for (int only_if_needed = 0; only_if_needed < 2; only_if_needed++) {
    CPProjected result;
    case_open(&k, equations_of(&circle), solvers[_i]);
    entries(k.y)[0] = 3.0 * cos(0.6);
    entries(k.y)[1] = 3.0 * sin(0.6);
    ck_assert_int_eq(cpProject(k.P->work, k.t, k.y, k.ewt, NULL, only_if_needed, &result),
                     CP_SUCCESS);
    ck_assert_int_eq(result.moved, 1);
    ck_assert_bound(&k, largest_residual(&circle, k.y), 1.0e-10);
    y[only_if_needed] = vector_copy(k.y);
    case_close(&k);
  }
  ck_assert_int_eq(same_bits(y[0], y[1]), 1); /* the same iteration */
  for (int i = 0; i < 2; i++) N_VDestroy(y[i]);
}
END_TEST

/* Half a radian per step: the factors of the previous step contract slowly, but the point must
 * still be accurate. */
START_TEST(long_steps_converge) {
  case_open(&k, equations_of(&circle), settings[_i]);
  run_along_circle(100, 0.5, 1.0e-3);
  ck_assert_int_eq(case_stats(&k).nfails, 0);
  case_close(&k);
}
END_TEST

/* With the gradient of a state 1.2 rad away the residual shrinks by 0.4 to 0.6 per correction: it
 * would converge, but new factors are made, which also serve the next projections. That takes few
 * evaluations: whether the residual is noise is not asked with the old ones. */
START_TEST(slow_convergence_has_the_factors_renewed_once) {
  case_open(&k, equations_of(&circle), setting_of((CPLinSol)_i, CP_NORM_L2, 1));
  run_along_circle(1, 0.0, 0.0);
  const long int before = case_stats(&k).nje, evaluations = case_stats(&k).nce;
  for (int step = 1; step <= 3;
       step++) { /* each is 5e-5 off: 5 tolerances, within the range of stored factors */
    entries(k.y)[0] = (1.0 + 5.0e-5) * cos(0.6 + 1.2);
    entries(k.y)[1] = (1.0 + 5.0e-5) * sin(0.6 + 1.2);
    project();
    ck_assert_bound(&k, largest_residual(&circle, k.y), 1.0e-10);
    ck_assert_int_eq(case_stats(&k).nje - before, 1);
    if (step == 1) ck_assert_int_le(case_stats(&k).nce - evaluations, 6);
  }
  case_close(&k);
}
END_TEST

/* Projections with reused factors still go to the nearest point to first order. */
START_TEST(reused_factors_give_the_nearest_point_to_first_order) {
  case_open(&k, equations_of(&circle), setting_of((CPLinSol)_i, CP_NORM_L2, 1));
  run_along_circle(1, 0.0, 0.0);
  entries(k.y)[0]       = (1.0 + 5.0e-5) * cos(0.601);
  entries(k.y)[1]       = (1.0 + 5.0e-5) * sin(0.601);
  const long int before = case_stats(&k).nje;
  project();
  ck_assert_int_eq(case_stats(&k).nje, before);
  /* the direction is 1e-3 off, the distance 5e-5 (5 tolerances): 5e-8, plus 10 % for higher terms */
  ck_assert_bound(&k, hypot(entries(k.y)[0] - cos(0.601), entries(k.y)[1] - sin(0.601)), 5.5e-8);
  case_close(&k);
}
END_TEST

/* Factors of one problem must not be used for another one. */
START_TEST(a_changed_option_takes_effect_at_once) {
  long double D[MAX_STATES];
  case_open(&k, equations_of(&planes), solvers[_i]);
  project();
  ck_assert_success(&k, CPProjectorSetNorm(k.P, CP_NORM_L2, NULL, NULL));
  case_perturb(&k, 1.0e-3, 1);
  N_Vector expected = vector_copy(k.y);
  inverse_metric(CP_NORM_L2, k.ewt, D);
  reference_project(&planes, 0, D, expected);
  project();
  ck_assert_bound(&k, max_distance(k.y, expected), 1.0e-14);

  ck_assert_success(&k, CPProjectorSetNorm(k.P, CP_NORM_ERROR, NULL, NULL));
  case_perturb(&k, 1.0e-3, 2);
  N_Vector fixed = vector_copy(k.y);
  int id[MAX_STATES];
  for (int j = 0; j < MAX_STATES; j++) id[j] = j != 4;
  ck_assert_success(&k, CPProjectorSetFree(k.P, id));
  inverse_metric(CP_NORM_ERROR, k.ewt, D);
  D[4] = 0.0L;
  reference_project(&planes, 0, D, fixed);
  project();
  ck_assert_bound(&k, max_distance(k.y, fixed), 1.0e-14);

  ck_assert_success(&k, CPProjectorSetFree(k.P, NULL));
  ck_assert_success(&k, CPProjectorSetLinearSolver(k.P, CP_LINSOL_QR));
  project();
  ck_assert_int_eq(case_stats(&k).linsol, CP_LINSOL_QR);
  N_VDestroy(expected);
  N_VDestroy(fixed);
  case_close(&k);
}
END_TEST

static void eval_line(long double t, const long double *y, long double *c,
                      long double G[][MAX_STATES]) {
  (void)t;
  c[0]    = y[1] - 0.6L;
  G[0][1] = 1.0L;
}

static const Manifold line = {
    .name = "line", .n = 2, .m = 1, .eval = eval_line, .point = {0.8, 0.6}, .nlevels = 1, .apart = 1.0};

/* Other user data may mean another problem: with the circle's gradient the line would be met
 * elsewhere. */
START_TEST(other_user_data_mean_new_factors) {
  Equations other = equations_of(&line);
  case_open(&k, equations_of(&circle), setting_of((CPLinSol)_i, CP_NORM_L2, 1));
  project();
  ck_assert_success(&k, CPProjectorSetUserData(k.P, &other));
  entries(k.y)[0] = 0.8;
  entries(k.y)[1] = 0.6 + 1.0e-5;
  project();
  ck_assert_double_eq(entries(k.y)[0], 0.8);
  ck_assert_double_eq_tol(entries(k.y)[1], 0.6, 1.0e-15);
  case_close(&k);
}
END_TEST

/* ---- counters ---- */

START_TEST(the_counters_are_those_of_the_callbacks) {
  case_open(&k, equations_of(manifolds[_i / n_settings]), settings[_i % n_settings]);
  sunrealtype norm;
  for (int step = 0; step < 5; step++) {
    case_perturb(&k, 1.0e-4, (unsigned long long)step);
    N_Vector v = vector_copy(k.y);
    project();
    ck_assert_success(&k, CPProjectorProjectVector(k.P, CP_TANGENT, k.t, k.y, k.ewt, v));
    ck_assert_success(&k, CPProjectorGetViolation(k.P, k.t, k.y, k.ewt, &norm, NULL));
    N_VDestroy(v);
  }
  const ProjectorCounters s = case_stats(&k);
  ck_assert_int_eq(s.nce + s.nceDQ, k.eq.c_calls);
  if (k.setting.user_jac) {
    ck_assert_int_eq(s.nje, k.eq.jac_calls);
    ck_assert_int_eq(s.nceDQ, 0);
  } else {
    ck_assert_int_eq(s.nceDQ, s.nje * k.eq.mf->n);
  }
  ck_assert_int_eq(s.nproj, 5);
  ck_assert_int_eq(s.ntangent, 5);
  ck_assert_int_ge(s.niters, 5);
  ck_assert_int_eq(s.nfails, 0);
  ck_assert_int_ge(s.nsetups, 1);
  case_close(&k);
}
END_TEST

START_TEST(counters_start_at_zero) {
  case_open(&k, equations_of(&circle), solvers[_i]);
  const ProjectorCounters s = case_stats(&k);
  ck_assert_int_eq(s.nproj + s.nskipped + s.ntangent + s.niters + s.nfails + s.nce + s.nceDQ +
                       s.nje + s.nsetups + s.nfloor,
                   0);
  ck_assert_int_eq(s.rank, -1);
  ck_assert_int_eq(s.nlevels, 0);
  ck_assert_int_eq(k.eq.c_calls, 0); /* creating and setting evaluates nothing */
  case_close(&k);
}
END_TEST

TEST_SUITE(reuse) {
  Suite *suite = suite_create("reuse");
  TCase *tc    = tcase_create("reuse");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, factors_serve_for_ten_projections, 0, n_settings);
  tcase_add_loop_test(tc, a_state_that_moved_far_gets_a_new_jacobian, 0, n_settings);
  tcase_add_loop_test(tc, factors_of_other_calls_are_no_reason_to_fail, 0, 4);
  tcase_add_loop_test(tc, far_starts_converge_where_only_what_needs_it_is_projected, 0, n_solvers);
  tcase_add_loop_test(tc, long_steps_converge, 0, n_settings);
  tcase_add_loop_test(tc, slow_convergence_has_the_factors_renewed_once, CP_LINSOL_AUTO,
                      CP_LINSOL_QR + 1);
  tcase_add_loop_test(tc, reused_factors_give_the_nearest_point_to_first_order, CP_LINSOL_AUTO,
                      CP_LINSOL_QR + 1);
  tcase_add_loop_test(tc, a_changed_option_takes_effect_at_once, 0, n_solvers);
  tcase_add_loop_test(tc, other_user_data_mean_new_factors, CP_LINSOL_AUTO, CP_LINSOL_QR + 1);
  tcase_add_loop_test(tc, the_counters_are_those_of_the_callbacks, 0, n_manifolds * n_settings);
  tcase_add_loop_test(tc, counters_start_at_zero, 0, n_solvers);
  suite_add_tcase(suite, tc);
  return suite;
}
