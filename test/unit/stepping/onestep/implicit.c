/* Diagonally implicit methods: orders on the manifold, failures of stages and of projections, roots, stops,
 * tables of the user's. */
#include "cpodes/base/compat.h"
#include "cpodes/stepping/onestep/onestep_impl.h"
#include "stepping/onestep/fixture.h"

#include <arkode/arkode_arkstep.h>
#include <math.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static OneRun run;
static SUNMatrix J;
static SUNLinearSolver LS;

/* One with an implicit first stage, and one with an explicit one */
static const char *const kinds[] = {"ARKODE_SDIRK_5_3_4", "ARKODE_ESDIRK436L2SA_6_3_4"};
enum { KINDS = 2 };

static void add_linear_solver(void) {
  J  = SUNDenseMatrix(PENDULUM_N, PENDULUM_N, test_context);
  LS = SUNLinSol_Dense(run.y, J, test_context);
  ck_assert_int_eq(CP_ARK(SetLinearSolver)(CPOneStepGetARKodeMem(run.mem), LS, J), 0);
}

static void open_run(const char *name, sunrealtype tol) {
  one_open(&run, name, tol);
  add_linear_solver();
}

static void close_run(void) {
  one_close(&run);
  SUNLinSolFree(LS);
  SUNMatDestroy(J);
}

/* ---- convergence ---- */

/* As onestep/methods.c, where the steps are smaller: stages are solved for to 1e-13, which a hundred steps add
 * up to 1e-11, a hundredth of the least error here. */
#define HIGHER_TERMS 0.4

START_TEST(errors_on_the_manifold_are_of_the_order_at_steps_and_between) {
  int order;
  open_run(cpImplicitNames[_i], 1.0e-11);
  ck_assert_int_eq(CP_ARK(SetMaxNonlinIters)(CPOneStepGetARKodeMem(run.mem), 20), 0);
  ck_assert_done(&run, CPOneStepGetMethod(run.mem, NULL, &order, NULL, NULL));
  const int n         = order < 4 ? 100 : order == 4 ? 50 : 30;
  const OneErrors one = one_errors(&run, n), half = one_errors(&run, 2 * n);
  const double end    = log2(one.end / half.end);
  const double inside = log2(one.inside / half.inside);
  ck_assert_msg(end >= order - HIGHER_TERMS, "%s: %g (%g)", run.method, end, half.end);
  ck_assert_msg(inside >= order - HIGHER_TERMS, "%s: %g between steps (%g)", run.method, inside,
                half.inside);
  close_run();
}
END_TEST

/* Bounds of onestep/steps.c */
static sunrealtype bound(sunrealtype tol, sunrealtype t) {
  const sunrealtype w = sqrt(run.world.p.g), V = sqrt(2.0 * run.world.p.g);
  return (double)one_stats(&run).nst * sqrt((double)PENDULUM_N) * tol * (1.0 + V) * w *
         (1.0 + w * t);
}

START_TEST(errors_fall_with_the_tolerance_on_the_manifold) {
  static const sunrealtype tols[] = {1.0e-4, 1.0e-6, 1.0e-8};
  sunrealtype before = INFINITY, first = 0.0;
  for (int k = 0; k < 3; k++) {
    sunrealtype worst = 0.0, violation = 0.0;
    open_run(cpImplicitNames[_i], tols[k]);
    for (int i = 1; i <= 20; i++) {
      ck_assert_done(&run, one_to(&run, 0.05 * i));
      worst     = fmax(worst, one_error(&run, run.t, run.y));
      violation = fmax(violation, violation_of(&run.world, run.y));
    }
    const Run as = {.world = run.world, .tol = tols[k]};
    ck_assert_double_le(violation, violation_bound(&as));
    ck_assert_msg(worst <= bound(tols[k], 1.0), "%s, tol = %g: %g", run.method, tols[k], worst);
    ck_assert_msg(worst < before, "%s, tol = %g: %g after %g", run.method, tols[k], worst, before);
    if (k == 0) first = worst;
    before = worst;
    close_run();
  }
  /* steps are as many as tol^(-1/3) at most, and errors of the iteration, which are proportional to tol,
   * add up over them: 1/460; steps as coarse as the first ones may be better by chance, ten times */
  ck_assert_msg(before < 10.0 / 460.0 * first, "%s: %g after %g", cpImplicitNames[_i], before,
                first);
}
END_TEST

START_TEST(backward_integration_leads_back) {
  open_run(kinds[_i], 1.0e-8);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_done(&run, CPOneStepReInit(run.mem, 1.0, run.y));
  ck_assert_done(&run, one_to(&run, 0.0));
  ck_assert_double_le(one_error(&run, 0.0, run.y), 2.0 * bound(1.0e-8, 1.0));
  ck_assert_double_lt(one_stats(&run).hlast, 0.0);
  close_run();
}
END_TEST

/* ---- counters ---- */

START_TEST(counters_are_those_of_the_callbacks) {
  open_run(kinds[_i], 1.0e-6);
  ck_assert_done(&run, one_to(&run, 1.0));
  const CPOneStepStats s = one_stats(&run);
  ck_assert_int_eq(s.nfe, run.world.f_calls); /* with differences and output */
  ck_assert_int_eq(s.nattempts, s.nst + s.netf + s.nrhsfails + s.nprojfails + s.nsolvefails);
  ck_assert_int_eq(s.nproj, s.nst);
  ck_assert_int_gt(s.njev, 0);
  ck_assert_int_ge(s.nlinsetups, s.njev);
  ck_assert_int_gt(s.nni, 3 * s.nst);
  one_restart(&run, 0.0);
  const CPOneStepStats none = one_stats(&run);
  ck_assert_int_eq(none.njev + none.nlinsetups + none.nni + none.nfe, 0);
  close_run();
}
END_TEST

START_TEST(output_changes_no_bit_of_the_trajectory) {
  N_Vector without = NULL, dky = vector_of(PENDULUM_N, NULL);
  for (int output = 0; output < 2; output++) {
    open_run(kinds[_i], 1.0e-6);
    for (int i = 0; i < 30; i++) {
      ck_assert_done(&run, one_step(&run));
      for (int k = 0; output && k < 3; k++)
        ck_assert_done(&run, CPOneStepGetDky(run.mem, run.t - 0.3 * one_stats(&run).hlast, k, dky));
    }
    if (output) ck_assert_int_eq(same_bits(without, run.y), 1);
    else without = vector_copy(run.y);
    close_run();
  }
  N_VDestroy(without);
  N_VDestroy(dky);
}
END_TEST

/* ---- failures ---- */

/* The fault strikes a few times, or (times < 0) for ever, beyond t = 0.4. */
static void open_faulty(int kind, Fault *fault, long int times, int flag) {
  open_run(kinds[kind], 1.0e-6);
  *fault = (Fault){.after = 0.4, .times = times, .flag = flag};
}

/* The run ends there with code, in the state of the last step; without the fault it goes on. */
static void assert_ends(Fault *fault, int code, const char *word) {
  N_Vector last = vector_of(PENDULUM_N, NULL);
  int flag      = CP_SUCCESS;
  while (flag == CP_SUCCESS) {
    N_VScale(1.0, run.y, last);
    flag = one_step(&run);
  }
  ck_assert_msg(flag == code, "%d, not %d: %s", flag, code, run.log.text);
  ck_assert_mentions(run.log.text, word);
  ck_assert_int_eq(run.log.count, 1);
  ck_assert_int_eq(same_bits(run.y, last), 1);
  ck_assert_double_le(run.t, 0.4 + 1.0e-10);
  *fault = (Fault){.times = 0};
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  N_VDestroy(last);
  close_run();
}

/* With a given first step f at the start is ARKODE's to ask for, which goes on to the stages whatever it returns. */
START_TEST(a_first_f_that_is_not_finite_has_the_step_retried) {
  open_run(kinds[_i], 1.0e-6);
  ck_assert_done(&run, CPOneStepSetInitStep(run.mem, 1.0e-3));
  run.world.f = (Fault){.after = -1.0, .times = 1, .value = NAN};
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(run.world.f.times, 0);
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  close_run();
}
END_TEST

START_TEST(a_projection_that_fails_has_the_step_retried) {
  open_faulty(_i, &run.world.c, 3, 1);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(one_stats(&run).nprojfails, 3);
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  ck_assert_int_eq(run.log.count, 0);
  close_run();
}
END_TEST

START_TEST(a_projection_that_always_fails_ends_the_run_in_the_last_good_state) {
  open_faulty(_i, &run.world.c, -1, 1);
  assert_ends(&run.world.c, CP_REPTD_USERFUNC_ERR, "constraint");
}
END_TEST

START_TEST(a_constraint_that_fails_for_good_ends_the_run) {
  open_faulty(_i, &run.world.c, -1, -1);
  assert_ends(&run.world.c, CP_USERFUNC_FAIL, "constraint");
}
END_TEST

START_TEST(a_correction_above_its_bound_has_the_step_retried) {
  open_run(kinds[_i], 1.0e-4);
  ck_assert_done(&run, one_to(&run, 1.0));
  const sunrealtype half = 0.5 * one_stats(&run).maxcorrection;
  one_restart(&run, 0.0);
  ck_assert_done(&run, CPOneStepSetProjMaxCorrection(run.mem, half));
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_gt(one_stats(&run).nlargecorr, 0);
  ck_assert_double_le(one_stats(&run).maxcorrection, half);
  close_run();
}
END_TEST

START_TEST(an_f_that_fails_has_the_step_retried) {
  open_faulty(_i, &run.world.f, 3, 1);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(one_stats(&run).nrhsfails, 3);
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  ck_assert_int_eq(run.log.count, 0);
  close_run();
}
END_TEST

START_TEST(an_f_that_always_fails_ends_the_run_in_the_last_good_state) {
  open_faulty(_i, &run.world.f, -1, 1);
  assert_ends(&run.world.f, CV_REPTD_RHSFUNC_ERR, "f failed");
}
END_TEST

START_TEST(an_f_that_fails_for_good_ends_the_run) {
  open_faulty(_i, &run.world.f, -1, -1);
  assert_ends(&run.world.f, CV_RHSFUNC_FAIL, "f failed for good");
}
END_TEST

START_TEST(an_f_that_is_not_finite_ends_the_run) {
  open_faulty(_i, &run.world.f, -1, 0);
  run.world.f.value = NAN;
  assert_ends(&run.world.f, CP_RHS_NONFINITE, "NaN");
}
END_TEST

/* Of the iteration's Jacobian */
static Fault iteration;

static int faulty_jacobian(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix out, void *data,
                           N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  World *world = CPOneStepGetUserData(data);
  (void)fy, (void)tmp1, (void)tmp2, (void)tmp3;
  const int strikes = fault_strikes(&iteration, t);
  if (strikes && iteration.flag) return iteration.flag;
  sunrealtype f[2][PENDULUM_N]; /* differences */
  N_Vector z = vector_copy(y), fz = vector_of(PENDULUM_N, NULL);
  for (int j = 0; j < PENDULUM_N; j++) {
    for (int side = 0; side < 2; side++) {
      N_VScale(1.0, y, z);
      entries(z)[j] += side ? 1.0e-6 : -1.0e-6;
      world_rhs(t, z, fz, world);
      memcpy(f[side], entries(fz), sizeof f[side]);
    }
    for (int i = 0; i < PENDULUM_N; i++) SM_ELEMENT_D(out, i, j) = (f[1][i] - f[0][i]) / 2.0e-6;
  }
  if (strikes) SM_ELEMENT_D(out, 2, 1) = iteration.value;
  N_VDestroy(z);
  N_VDestroy(fz);
  return 0;
}

START_TEST(a_jacobian_that_fails_has_the_step_retried) {
  open_faulty(_i, &iteration, 3, 1);
  ck_assert_int_eq(CP_ARK(SetJacFn)(CPOneStepGetARKodeMem(run.mem), faulty_jacobian), 0);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(iteration.times, 0);
  ck_assert_int_ge(one_stats(&run).nsolvefails, 1); /* an attempt may ask more than once */
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  close_run();
}
END_TEST

/* Inf would be a pivot, and one component stand still. */
START_TEST(a_jacobian_that_is_inf_has_the_step_retried) {
  open_faulty(_i, &iteration, 3, 0);
  iteration.value = INFINITY;
  ck_assert_int_eq(CP_ARK(SetJacFn)(CPOneStepGetARKodeMem(run.mem), faulty_jacobian), 0);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(iteration.times, 0);
  ck_assert_int_ge(one_stats(&run).nsolvefails, 1);
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  close_run();
}
END_TEST

START_TEST(a_jacobian_that_stays_inf_ends_the_run_and_is_named) {
  open_faulty(_i, &iteration, -1, 0);
  iteration.value = INFINITY;
  ck_assert_int_eq(CP_ARK(SetJacFn)(CPOneStepGetARKodeMem(run.mem), faulty_jacobian), 0);
  int flag = CP_SUCCESS;
  while (flag == CP_SUCCESS && run.t < 1000.0) flag = one_step(&run);
  ck_assert_int_eq(flag, CP_RHS_NONFINITE);
  ck_assert_mentions(CPOneStepGetLastMessage(run.mem), "matrix of Newton's iteration");
  close_run();
}
END_TEST

START_TEST(a_jacobian_that_fails_for_good_ends_the_run) {
  open_faulty(_i, &iteration, -1, -1);
  ck_assert_int_eq(CP_ARK(SetJacFn)(CPOneStepGetARKodeMem(run.mem), faulty_jacobian), 0);
  int flag = CP_SUCCESS;
  while (flag == CP_SUCCESS && run.t < 1000.0) flag = one_step(&run);
  ck_assert_int_eq(flag, CV_LSETUP_FAIL);
  ck_assert_mentions(CPOneStepGetLastMessage(run.mem), "setup");
  iteration = (Fault){.times = 0};
  ck_assert_done(&run, one_step(&run));
  close_run();
}
END_TEST

START_TEST(newtons_iteration_without_linear_solver_is_refused) {
  one_open(&run, kinds[_i], 1.0e-6);
  ck_assert_int_eq(one_step(&run), CV_NLS_INIT_FAIL);
  ck_assert_mentions(CPOneStepGetLastMessage(run.mem), "CPOneStepGetARKodeMem");
  add_linear_solver();
  ck_assert_done(&run, one_to(&run, 0.5));
  close_run();
}
END_TEST

START_TEST(fixed_point_iteration_needs_no_linear_solver) {
  one_open(&run, kinds[_i], 1.0e-6);
  SUNNonlinearSolver fp = SUNNonlinSol_FixedPoint(run.y, 0, test_context);
  ck_assert_int_eq(CP_ARK(SetNonlinearSolver)(CPOneStepGetARKodeMem(run.mem), fp), 0);
  run.world.f = (Fault){.after = 0.4, .times = 3, .flag = 1};
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_int_eq(one_stats(&run).nrhsfails, 3);
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  one_close(&run);
  SUNNonlinSolFree(fp);
}
END_TEST

/* ---- roots and stops ---- */

/* x = 0, the lowest point */
static int lowest(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  (void)t, (void)data;
  g[0] = entries(y)[0];
  return 0;
}

START_TEST(roots_are_found_where_the_pendulum_passes_them) {
  sunrealtype exact[PENDULUM_N];
  int found = 0;
  open_run(kinds[_i], 1.0e-8);
  ck_assert_done(&run, CPOneStepRootInit(run.mem, 1, lowest));
  ck_assert_returns(&run, one_to(&run, 10.0), CV_ROOT_RETURN);
  pendulum_exact(&run.world.p, run.t, exact);
  ck_assert_double_le(fabs(exact[0]), bound(1.0e-8, run.t));
  ck_assert_double_le(fabs(entries(run.y)[0]), 1.0e-12);
  ck_assert_done(&run, CPOneStepGetRootInfo(run.mem, &found));
  ck_assert_int_eq(found, -1);
  close_run();
}
END_TEST

START_TEST(a_restart_after_an_event_keeps_the_step_size) {
  open_run(kinds[_i], 1.0e-6);
  ck_assert_done(&run, one_to(&run, 0.7));
  const sunrealtype h = one_stats(&run).hnext;
  one_restart(&run, 0.2);
  ck_assert_done(&run, one_step(&run));
  ck_assert_double_eq_tol(one_stats(&run).hfirst, h, 1.0e-14);
  ck_assert_done(&run, one_to(&run, 1.0));
  ck_assert_double_le(one_error(&run, 1.0, run.y), bound(1.0e-6, 1.0));
  close_run();
}
END_TEST

START_TEST(stop_times_are_hit_again_and_again) {
  open_run(kinds[_i], 1.0e-6);
  for (int i = 1; i <= 20; i++) {
    ck_assert_done(&run, CPOneStepSetStopTime(run.mem, 0.07 * i));
    ck_assert_returns(&run, one_to(&run, 1000.0), CV_TSTOP_RETURN);
    ck_assert_double_eq(run.t, 0.07 * i);
    ck_assert_double_le(one_error(&run, run.t, run.y), bound(1.0e-6, run.t));
  }
  close_run();
}
END_TEST

/* ---- tables ---- */

START_TEST(a_table_of_the_users_has_its_order) {
  sunrealtype A = 0.5, b = 1.0, c = 0.5; /* the implicit midpoint rule */
  ARKodeButcherTable B = ARKodeButcherTable_Create(1, 2, 0, &c, &A, &b, NULL);
  one_open(&run, kinds[0], 1.0e-11);
  CPOneStepMem other = run.mem;
  run.mem            = CPOneStepCreateTable(B, test_context);
  ck_assert_ptr_nonnull(run.mem);
  ck_assert_ptr_null(CPOneStepGetARKodeMem(run.mem));
  ck_assert_done(&run, CPOneStepInit(run.mem, world_rhs, 0.0, run.y));
  ck_assert_done(&run, CPOneStepSStolerances(run.mem, 1.0e-11, 1.0e-11));
  ck_assert_done(&run, CPOneStepSetProjector(run.mem, run.P));
  ck_assert_done(&run, CPOneStepSetUserData(run.mem, &run.world));
  add_linear_solver();
  const OneErrors one = one_errors(&run, 100), half = one_errors(&run, 200);
  ck_assert_double_ge(log2(one.end / half.end), 2.0 - HIGHER_TERMS);
  ck_assert_double_ge(log2(one.inside / half.inside), 2.0 - HIGHER_TERMS);
  CPOneStepFree(&other);
  ARKodeButcherTable_Free(B);
  close_run();
}
END_TEST

START_TEST(errors_are_tested_without_projection) {
  open_run(kinds[_i], 1.0e-6);
  refused(&run, CPOneStepSetProjErrEst(run.mem, CP_ERREST_PROJECTED), CP_NOT_SUPPORTED, "implicit");
  ck_assert_done(&run, CPOneStepSetProjErrEst(run.mem, CP_ERREST_UNPROJECTED));
  ck_assert_done(&run, one_to(&run, 0.5));
  ck_assert_int_eq(one_stats(&run).nerrproj, 0);
  close_run();
}
END_TEST

START_TEST(explicit_methods_have_no_memory_of_arkodes) {
  one_open(&run, "DOP853", 1.0e-6);
  ck_assert_ptr_null(CPOneStepGetARKodeMem(run.mem));
  one_close(&run);
}
END_TEST

int main(void) {
  int names = 0;
  while (cpImplicitNames[names]) names++;
  TCase *orders = tcase_create("orders");
  tcase_add_loop_test(orders, errors_on_the_manifold_are_of_the_order_at_steps_and_between, 0,
                      names);
  tcase_add_loop_test(orders, errors_fall_with_the_tolerance_on_the_manifold, 2, names);
  tcase_add_loop_test(orders, backward_integration_leads_back, 0, KINDS);
  tcase_add_test(orders, a_table_of_the_users_has_its_order);
  tcase_add_test(orders, explicit_methods_have_no_memory_of_arkodes);
  TCase *steps = tcase_create("steps");
  tcase_add_loop_test(steps, counters_are_those_of_the_callbacks, 0, KINDS);
  tcase_add_loop_test(steps, output_changes_no_bit_of_the_trajectory, 0, KINDS);
  tcase_add_loop_test(steps, roots_are_found_where_the_pendulum_passes_them, 0, KINDS);
  tcase_add_loop_test(steps, a_restart_after_an_event_keeps_the_step_size, 0, KINDS);
  tcase_add_loop_test(steps, stop_times_are_hit_again_and_again, 0, KINDS);
  tcase_add_loop_test(steps, errors_are_tested_without_projection, 0, KINDS);
  TCase *failures = tcase_create("failures");
  tcase_add_loop_test(failures, a_first_f_that_is_not_finite_has_the_step_retried, 0, KINDS);
  tcase_add_loop_test(failures, a_projection_that_fails_has_the_step_retried, 0, KINDS);
  tcase_add_loop_test(failures, a_projection_that_always_fails_ends_the_run_in_the_last_good_state,
                      0, KINDS);
  tcase_add_loop_test(failures, a_constraint_that_fails_for_good_ends_the_run, 0, KINDS);
  tcase_add_loop_test(failures, a_correction_above_its_bound_has_the_step_retried, 0, KINDS);
  tcase_add_loop_test(failures, an_f_that_fails_has_the_step_retried, 0, KINDS);
  tcase_add_loop_test(failures, an_f_that_always_fails_ends_the_run_in_the_last_good_state, 0,
                      KINDS);
  tcase_add_loop_test(failures, an_f_that_fails_for_good_ends_the_run, 0, KINDS);
  tcase_add_loop_test(failures, an_f_that_is_not_finite_ends_the_run, 0, KINDS);
  tcase_add_loop_test(failures, a_jacobian_that_fails_has_the_step_retried, 0, KINDS);
  tcase_add_loop_test(failures, a_jacobian_that_is_inf_has_the_step_retried, 0, KINDS);
  tcase_add_loop_test(failures, a_jacobian_that_stays_inf_ends_the_run_and_is_named, 0, KINDS);
  tcase_add_loop_test(failures, a_jacobian_that_fails_for_good_ends_the_run, 0, KINDS);
  tcase_add_loop_test(failures, fixed_point_iteration_needs_no_linear_solver, 0, KINDS);
  tcase_add_loop_test(failures, newtons_iteration_without_linear_solver_is_refused, 0, KINDS);
  Suite *suite  = suite_create("implicit one-step methods");
  TCase *each[] = {orders, steps, failures};
  for (int i = 0; i < 3; i++) {
    tcase_add_checked_fixture(each[i], test_context_setup, test_context_teardown);
    tcase_set_timeout(each[i], 60);
    suite_add_tcase(suite, each[i]);
  }
  return run_suite(suite);
}
