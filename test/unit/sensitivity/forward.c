/* Forward sensitivities are on the linearised manifold after every step, whatever happens in
 * between. */
#include "sensitivity/fixture.h"

#include <math.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

static SensRun r;

/* ---- after every step ---- */

START_TEST(every_step_satisfies_the_linearised_constraints) {
  (_i >= ALL_METHODS ? sens_open_rows : sens_open)(&r, methods[_i % ALL_METHODS], 1.0e-6);
  while (r.run.t < 5.0) {
    ck_assert_success(&r.run, sens_step(&r));
    ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
  }
  ck_assert_int_ge(sens_stats(&r).nproj, NS * run_steps(&r.run));
  sens_close(&r);
}
END_TEST

/* Shows that the bound above can be violated: the same run without a projector. The drift is of the
 * size of the integration error. */
START_TEST(without_projection_they_drift) {
  sens_open(&r, methods[_i], 1.0e-6);
  ck_assert_success(&r.run, CPIntegratorSetProjector(r.run.mem, NULL));
  sens_until(&r, 5.0);
  ck_assert_double_ge(residual_of(&r), 1.0e-9);
  sens_close(&r);
}
END_TEST

/* Errors of each step are at most tol (1 + |s|), |s| < 30, and grow linearly along the pendulum's
 * sensitivities: with some hundred steps a thousandfold bound is generous, and far below the drift
 * of a wrong equation. */
START_TEST(forward_sensitivities_are_the_derivatives_of_the_closed_form) {
  sens_open(&r, methods[_i], 1.0e-8);
  sens_until(&r, 3.0);
  ck_assert_bound(&r.run, sens_error(&r), 1.0e-5);
  sens_close(&r);
}
END_TEST

/* At 1e-10, with the same reasons for the factor 1000 */
START_TEST(errors_of_sensitivities_fall_with_the_tolerance) {
  const sunrealtype tol[] = {1.0e-6, 1.0e-10};
  sunrealtype error[2];
  for (int k = 0; k < 2; k++) {
    sens_open(&r, methods[_i], tol[k]);
    sens_until(&r, 3.0);
    error[k] = sens_error(&r);
    sens_close(&r);
  }
  ck_assert_msg(error[1] <= 1.0e-7 && error[1] <= 0.01 * error[0], "%s: %g, then %g",
                methods[_i].name, error[0], error[1]);
}
END_TEST

static int lowest(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0];
  return 0;
}

/* Roots lie within steps, which are repeated where interpolation would be too inaccurate. */
START_TEST(sensitivities_at_roots_are_those_of_the_closed_form) {
  int found = 0;
  sens_open(&r, methods[_i], 1.0e-8);
  ck_assert_success(&r.run, CPIntegratorRootInit(r.run.mem, 1, lowest));
  while (found < 4) {
    const int flag = run_to(&r.run, 10.0);
    ck_assert_flag(&r.run, flag, CV_ROOT_RETURN);
    ck_assert_success(&r.run, CPIntegratorGetDky(r.run.mem, r.run.t, 0, r.run.y));
    ck_assert_success(&r.run, sens_get(&r));
    /* They are projected at a state of their own, which differs by as much as projected states may. */
    ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF + violation_bound(&r.run));
    ck_assert_bound(&r.run, sens_error(&r), 1.0e-5);
    found++;
  }
  sens_close(&r);
}
END_TEST

/* Sensitivities grow with t, while the states do not, so that their tolerance asks for shorter steps. */
START_TEST(error_control_shortens_steps) {
  long int steps[2];
  for (int on = 0; on < 2; on++) {
    sens_open_states(&r, methods[_i], 1.0e-6);
    sens_start(&r, on);
    sens_until(&r, 10.0);
    steps[on] = run_steps(&r.run);
    sens_close(&r);
  }
  ck_assert_msg(steps[1] > steps[0], "%s: %ld, %ld", methods[_i].name, steps[0], steps[1]);
}
END_TEST

START_TEST(runs_backwards_in_time_have_sensitivities) {
  sens_open(&r, methods[_i], 1.0e-8);
  sens_until(&r, 1.0);
  ck_assert_success(&r.run, CPIntegratorReInit(r.run.mem, r.run.t, r.run.y));
  ck_assert_success(&r.run, CPSensReInit(r.sens, r.s));
  ck_assert_success(&r.run, run_to(&r.run, 0.25));
  ck_assert_success(&r.run, sens_get(&r));
  ck_assert_bound(&r.run, sens_error(&r), 1.0e-5);
  sens_close(&r);
}
END_TEST

static const CPLinSol solvers[] = {CP_LINSOL_SCHUR, CP_LINSOL_QR, CP_LINSOL_SPARSE, CP_LINSOL_AUTO};

START_TEST(every_solver_and_norm_of_the_projector_serves) {
  sens_open_states(&r, methods[_i % 2], 1.0e-6);
  ck_assert_success(&r.run, CPProjectorSetLinearSolver(r.run.P, solvers[_i / 4]));
  ck_assert_success(
      &r.run, CPProjectorSetNorm(r.run.P, _i / 2 % 2 ? CP_NORM_L2 : CP_NORM_ERROR, NULL, NULL));
  sens_start(&r, 1);
  sens_until(&r, 1.0);
  ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
  sens_close(&r);
}
END_TEST

/* Rows (2 x, 0) and (v, x) as products */
static int product(sunrealtype t, N_Vector yv, N_Vector v, N_Vector Gv, void *user_data) {
  const sunrealtype *y = entries(yv), *a = entries(v);
  (void)t, (void)user_data;
  entries(Gv)[0] = 2.0 * (y[0] * a[0] + y[1] * a[1]);
  entries(Gv)[1] = y[2] * a[0] + y[3] * a[1] + y[0] * a[2] + y[1] * a[3];
  return 0;
}
static int transposed_product(sunrealtype t, N_Vector yv, N_Vector w, N_Vector GTw, void *user_data) {
  const sunrealtype *y = entries(yv), *b = entries(w);
  (void)t, (void)user_data;
  for (int j = 0; j < 2; j++) {
    entries(GTw)[j]     = 2.0 * y[j] * b[0] + y[2 + j] * b[1];
    entries(GTw)[2 + j] = y[j] * b[1];
  }
  return 0;
}

/* Conjugate gradients end at the constraints' tolerance: eps = 1e-4 of 1e-6 (1 + |y|), 2e-10 or
 * less per row, which a sensitivity inherits in proportion to its size. */
START_TEST(with_products_only_they_satisfy_the_tolerance) {
  sens_open_states(&r, methods[_i], 1.0e-6);
  N_Vector c    = vector_of(PENDULUM_M, NULL);
  CPProjector P = CPProjectorCreateProducts(world_constraints, product, transposed_product, r.run.y,
                                            c, test_context);
  ck_assert_ptr_nonnull(P);
  ck_assert_success(&r.run, CPProjectorSetUserData(P, &r.run.world));
  ck_assert_success(&r.run, CPProjectorSetEps(P, 1.0e-4));
  ck_assert_success(&r.run, CPIntegratorSetProjector(r.run.mem, P));
  sens_start(&r, 1);
  while (r.run.t < 2.0) {
    ck_assert_success(&r.run, sens_step(&r));
    ck_assert_bound(&r.run, residual_of(&r), 1.0e-8);
  }
  sens_close(&r);
  CPProjectorFree(&P);
  N_VDestroy(c);
}
END_TEST

/* Only c is given: G s by a sixth-order difference, DBL_EPSILON / 3e-3 of terms |y| |s|. */
START_TEST(without_a_jacobian_they_satisfy_what_differences_allow) {
  sens_open_states(&r, methods[_i], 1.0e-8);
  ck_assert_success(&r.run, CPProjectorSetJacFn(r.run.P, NULL, NULL));
  sens_start(&r, 1);
  while (r.run.t < 2.0) {
    ck_assert_success(&r.run, sens_step(&r));
    ck_assert_bound(&r.run, residual_of(&r), 1.0e-11);
  }
  sens_close(&r);
}
END_TEST

/* ---- the states' trajectory ---- */

START_TEST(without_error_control_they_do_not_change_the_states) {
  Run alone;
  run_open(&alone, methods[_i], 1.0e-6);
  sens_open_states(&r, methods[_i], 1.0e-6);
  sens_start(&r, 0);
  while (alone.t < 3.0) {
    ck_assert_success(&alone, run_step(&alone));
    ck_assert_success(&r.run, sens_step(&r));
    ck_assert(alone.t == r.run.t);
    ck_assert(same_bits(alone.y, r.run.y));
  }
  run_close(&alone);
  sens_close(&r);
}
END_TEST

/* ---- retries ---- */

/* Adams: corrections that were added to the predicted vectors have to be removed again, or no state
 * satisfies the equation. BDF has nothing pending. */
static void expect_good_run(sunrealtype error) {
  sens_until(&r, 3.0);
  ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
  ck_assert_bound(&r.run, sens_error(&r), error);
}

START_TEST(a_second_sensitivity_that_fails_recoverably_repeats_the_step) {
  sens_open(&r, methods[_i], 1.0e-8);
  r.faulty_iS = BY_G;
  r.fS        = (Fault){.after = 0.5, .times = 3, .flag = 1};
  expect_good_run(1.0e-5);
  ck_assert_int_eq(r.fS.times, 0);
  if (methods[_i].lmm == CV_ADAMS) ck_assert_int_gt(sens_stats(&r).ntakenback, 0);
  sens_close(&r);
}
END_TEST

START_TEST(a_rejected_error_of_sensitivities_repeats_the_step) {
  long int rejected = 0;
  sens_open(&r, methods[_i], 1.0e-8);
  ck_assert_success(&r.run, CVodeSetInitStep(r.run.cvode_mem, 0.05)); /* too large */
  expect_good_run(1.0e-5);
  ck_assert_success(&r.run, CVodeGetSensNumErrTestFails(r.run.cvode_mem, &rejected));
  ck_assert_int_gt(rejected, 0);
  sens_close(&r);
}
END_TEST

/* A quadrature that jumps at t = 1: its error test fails after the states were solved, before the
 * sensitivities are. */
static int jump(sunrealtype t, N_Vector y, N_Vector qdot, void *user_data) {
  (void)y, (void)user_data;
  entries(qdot)[0] = t > 1.0 ? 100.0 : 0.0;
  return 0;
}

START_TEST(a_rejected_error_of_quadratures_repeats_the_step) {
  N_Vector q        = vector_of(1, NULL);
  long int rejected = 0;
  sens_open(&r, methods[_i], 1.0e-8);
  ck_assert_success(&r.run, CVodeQuadInit(r.run.cvode_mem, jump, q));
  ck_assert_success(&r.run, CVodeSetQuadErrCon(r.run.cvode_mem, SUNTRUE));
  ck_assert_success(&r.run, CVodeQuadSStolerances(r.run.cvode_mem, 1.0e-6, 1.0e-6));
  expect_good_run(1.0e-5);
  ck_assert_success(&r.run, CVodeGetQuadNumErrTestFails(r.run.cvode_mem, &rejected));
  ck_assert_int_gt(rejected, 0);
  N_VDestroy(q);
  sens_close(&r);
}
END_TEST

START_TEST(a_failed_projection_rejects_the_step) {
  sens_open_rows(&r, methods[_i], 1.0e-8);
  r.cS = (Fault){.after = 0.5, .times = 3, .flag = 1};
  expect_good_run(1.0e-5);
  ck_assert_int_eq(sens_stats(&r).nprojfails, 3);
  sens_close(&r);
}
END_TEST

/* ---- the end of a run, and its continuation ---- */

typedef struct {
  const char *name;
  Fault fS, cS;
  int code;
  const char *word;
} End;

#define NO_FAULT \
  { 0.0, 0, 0, 0.0 }

static const End ends[] = {
    {"dc/dp gives up", NO_FAULT, {0.5, -1, -1, 0}, CP_USERFUNC_FAIL, "dc/dp of sensitivity 0"},
    {"dc/dp never works", NO_FAULT, {0.5, -1, 1, 0}, CP_REPTD_USERFUNC_ERR, "dc/dp of sensitivity 0"},
    {"dc/dp is NaN", NO_FAULT, {0.5, -1, 0, NAN}, CP_CNSTR_NONFINITE, "row 0"},
    {"fS1 gives up", {0.5, -1, -1, 0}, NO_FAULT, CV_SRHSFUNC_FAIL, ""},
    {"fS1 never works", {0.5, -1, 1, 0}, NO_FAULT, CV_REPTD_SRHSFUNC_ERR, "sensitivity 0"},
    {"fS1 is NaN", {0.5, -1, 0, NAN}, NO_FAULT, CP_RHS_NONFINITE, "sensitivity 0"},
};
enum { ENDS = sizeof ends / sizeof ends[0] };

START_TEST(a_failure_names_its_cause_and_the_run_goes_on_once_it_is_repaired) {
  const End *end = &ends[_i / ALL_METHODS];
  sens_open_rows(&r, methods[_i % ALL_METHODS], 1.0e-8);
  r.fS = end->fS;
  r.cS = end->cS;
  if (r.run.cvode_mem) ck_assert_success(&r.run, CVodeSetMaxConvFails(r.run.cvode_mem, 100));
  int flag = CP_SUCCESS;
  while (flag >= 0 && r.run.t < 3.0) flag = sens_step(&r);
  ck_assert_msg(flag == end->code, "%s, %s: %d, %s", r.run.method.name, end->name, flag,
                CPObjectGetLastMessage(CP_OBJECT(r.run.mem)));
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(r.run.mem)), end->word);
  r.fS.times = r.cS.times = 0;
  if (strstr(CPObjectGetLastMessage(CP_OBJECT(r.run.mem)), "re-initialised") == NULL) {
    ck_assert_success(&r.run, sens_get(&r)); /* of the last good state */
    ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
  } else { /* the program keeps those of the last step */
    ck_assert_flag(&r.run, run_step(&r.run), CP_NO_INIT);
    ck_assert_success(&r.run, CPIntegratorReInit(r.run.mem, r.run.t, r.run.y));
    ck_assert_success(&r.run, CPSensReInit(r.sens, r.s));
  }
  expect_good_run(1.0e-5);
  sens_close(&r);
}
END_TEST

/* ---- other ways to project ---- */

START_TEST(steps_that_are_left_alone_leave_sensitivities_alone) {
  sens_open(&r, methods[_i], 1.0e-6);
  ck_assert_success(&r.run, CPIntegratorSetProjFrequency(r.run.mem, 5, 0));
  int on = 0, off = 0;
  for (int k = 0; k < 200; k++) {
    const long int before = run_stats(&r.run).nproj;
    ck_assert_success(&r.run, run_step(&r.run));
    sunrealtype t;
    ck_assert_success(&r.run, CVodeGetSens(r.run.cvode_mem, &t, r.s)); /* unprojected */
    const int projected = run_stats(&r.run).nproj > before;
    on += projected;
    if (projected) ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
    else off += residual_of(&r) > SENS_ROUNDOFF;
    ck_assert_success(&r.run, sens_get(&r));
    ck_assert_bound(&r.run, sens_residual(&r, r.run.y, r.s), SENS_ROUNDOFF);
  }
  ck_assert_int_gt(on, 30);
  ck_assert_int_gt(off, 100);
  sens_close(&r);
}
END_TEST

START_TEST(a_projector_can_be_replaced_on_the_way) {
  sens_open(&r, methods[_i], 1.0e-6);
  sens_until(&r, 0.5);
  CPProjectorFree(&r.run.P);
  r.run.P = world_projector(&r.run.world, r.run.y);
  ck_assert_success(&r.run, CPProjectorSetLinearSolver(r.run.P, CP_LINSOL_QR));
  ck_assert_success(&r.run, CPIntegratorSetProjector(r.run.mem, r.run.P));
  sens_until(&r, 1.0);
  ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
  sens_close(&r);
}
END_TEST

/* dc/dg = 0: the user's error projection keeps G s = 0; dc/dL does not vanish. */
START_TEST(a_projection_of_the_users_serves_where_dcdp_vanishes) {
  const int plist[] = {BY_G};
  sens_open_states(&r, methods[_i], 1.0e-6);
  Run *run      = &r.run;
  CPProjector P = projector_of_user(rod_projection, rod_error_projection, run->y);
  ck_assert_ptr_nonnull(P);
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, P));
  N_VConst(0.0, r.s[0]); /* only one, to g */
  const CPParameters to_g = {CP_SIZED(CPParameters), .n = 1, .values = &run->world.p.L,
                             .plist = plist, .y0S = r.s};
  ck_assert_ptr_nonnull(r.sens = CPSensCreate(&to_g, run->y, test_context));
  ck_assert_success(run,
                    CPIntegratorSetSens(run->mem, r.sens)); /* f is differentiated by the library */
  while (run->t < 1.0) {
    ck_assert_success(run, run_step(run));
    ck_assert_success(run, sens_get(&r));
    const sunrealtype *y = entries(run->y), *s = entries(r.s[0]);
    ck_assert_bound(run, fabs(y[0] * s[0] + y[1] * s[1]) / (1 + N_VMaxNorm(r.s[0])), SENS_ROUNDOFF);
  }
  CPProjectorFree(&run->P);
  run->P = P;
  sens_close(&r);
}
END_TEST

/* the projection had an effect */

START_TEST(interpolated_sensitivities_satisfy_the_linearised_constraints) {
  sens_open(&r, methods[_i], 1.0e-4);
  N_Vector y = vector_copy(r.run.y);
  sens_until(&r, 1.0);
  for (int k = 0; k < 30; k++) {
    sunrealtype h, raw;
    ck_assert_success(&r.run, run_step(&r.run));
    ck_assert_success(&r.run, CVodeGetLastStep(r.run.cvode_mem, &h));
    const sunrealtype t = r.run.t - 0.4 * h;
    ck_assert_success(&r.run, CPIntegratorGetDky(r.run.mem, t, 0, y));
    ck_assert_success(&r.run, CVodeGetSensDky(r.run.cvode_mem, t, 0, r.s));
    raw = sens_residual(&r, y, r.s);
    ck_assert_success(&r.run, CPSensGetDky(r.sens, t, 0, r.s));
    ck_assert_bound(&r.run, sens_residual(&r, y, r.s), SENS_ROUNDOFF);
    ck_assert_double_gt(raw, SENS_ROUNDOFF); /* the projection had something to do */
  }
  N_VDestroy(y);
  sens_close(&r);
}
END_TEST

START_TEST(output_between_steps_is_projected) {
  sens_open(&r, methods[_i], 1.0e-4);
  for (int k = 1; k <= 20; k++) {
    ck_assert_success(&r.run, run_to(&r.run, 0.1 * k));
    ck_assert_success(&r.run, sens_get(&r));
    ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
  }
  sens_close(&r);
}
END_TEST

/* Requests for output do not change the trajectory. */
START_TEST(asking_for_sensitivities_changes_nothing) {
  SensRun quiet;
  sens_open(&quiet, methods[_i], 1.0e-6);
  sens_open(&r, methods[_i], 1.0e-6);
  for (int k = 0; k < 100; k++) {
    sunrealtype h;
    ck_assert_success(&quiet.run, run_step(&quiet.run));
    ck_assert_success(&r.run, sens_step(&r));
    ck_assert_success(&r.run, CPObjectGetStat(CP_OBJECT(r.run.mem), "last_step", &h));
    ck_assert_success(&r.run, CPSensGetDky(r.sens, r.run.t - h / 2, 0, r.s));
    ck_assert(same_bits(quiet.run.y, r.run.y));
  }
  sens_close(&quiet);
  sens_close(&r);
}
END_TEST

/* ---- the start ---- */

START_TEST(calculated_starts_are_the_nearest_consistent_ones) {
  sens_open_states(&r, methods[_i], 1.0e-6);
  entries(r.s[BY_L])[0] = 0.0; /* across the constraints: must become 1 */
  entries(r.s[BY_L])[1] = 0.3; /* along them: free */
  entries(r.s[BY_G])[2] = 0.2; /* x x' = 0: must become 0 */
  sens_start(&r, 1);
  ck_assert_flag(&r.run, sens_step(&r), CP_INCONSISTENT_IC);
  ck_assert_message(&r.run, "sensitivity 0", "CPSensCalcIC");
  ck_assert_success(&r.run, CPSensCalcIC(r.sens, r.s));
  ck_assert_double_le(sens_residual(&r, r.run.y, r.s), SENS_ROUNDOFF);
  ck_assert_double_eq_tol(entries(r.s[BY_L])[0], 1.0, 1e-13);
  ck_assert_double_eq_tol(entries(r.s[BY_L])[1], 0.3, 1e-13);
  ck_assert_double_eq_tol(entries(r.s[BY_G])[2], 0.0, 1e-13);
  sens_until(&r, 1.0);
  ck_assert_bound(&r.run, residual_of(&r), SENS_ROUNDOFF);
  sens_close(&r);
}
END_TEST

START_TEST(a_new_start_repeats_the_run_to_the_last_bit) {
  sens_open(&r, methods[_i], 1.0e-6);
  N_Vector y0 = vector_copy(r.run.y), *s0 = N_VCloneVectorArray(NS, y0), *first;
  for (int i = 0; i < NS; i++) N_VScale(1.0, r.s[i], s0[i]);
  first = N_VCloneVectorArray(NS, y0);
  for (int k = 0; k < 100; k++) ck_assert_success(&r.run, sens_step(&r));
  for (int i = 0; i < NS; i++) N_VScale(1.0, r.s[i], first[i]);
  ck_assert_success(&r.run, CPIntegratorReInit(r.run.mem, 0.0, y0));
  ck_assert_success(&r.run, CPSensReInit(r.sens, s0));
  for (int k = 0; k < 100; k++) ck_assert_success(&r.run, sens_step(&r));
  for (int i = 0; i < NS; i++) ck_assert(same_bits(first[i], r.s[i]));
  N_VDestroy(y0);
  N_VDestroyVectorArray(s0, NS);
  N_VDestroyVectorArray(first, NS);
  sens_close(&r);
}
END_TEST

START_TEST(sensitivities_follow_the_states_to_another_kind_of_solver) {
  long int matrices = 0;
  sens_open(&r, BDF_NEWTON, 1.0e-8);
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPoint(r.run.y, 0, test_context);
  ck_assert_success(&r.run, CPIntegratorSetNonlinearSolver(r.run.mem, fixed));
  expect_good_run(1.0e-5);
  ck_assert_success(&r.run, CVodeGetNumLinSolvSetups(r.run.cvode_mem, &matrices));
  ck_assert_int_eq(matrices, 0);
  sens_close(&r);
  SUNNonlinSolFree(fixed);
}
END_TEST

/* Removing the prediction of the first attempts leaves 0 of the moving components. */
START_TEST(a_first_step_much_too_long_leaves_the_start_of_the_sensitivities) {
  Run *const run = &r.run;
  sens_open(&r, methods[_i], 1.0e-6);
  sens_until(&r, 0.3);
  N_Vector y0 = vector_copy(run->y);
  ck_assert_success(run, CVodeSetInitStep(run->cvode_mem, 1.0e18));
  ck_assert_success(run, CVodeSetMaxConvFails(run->cvode_mem, 100000));
  ck_assert_success(run, CVodeSetMaxErrTestFails(run->cvode_mem, 100000));
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, NULL));
  ck_assert_success(run, CPIntegratorReInit(run->mem, run->t, y0));
  ck_assert_success(run, CPSensReInit(r.sens, r.s));
  for (int k = 0; k < 3; k++) {
    ck_assert_success(run, CPIntegratorEvolve(run->mem, 1.0e19, run->y, &run->t, CV_ONE_STEP));
    ck_assert_success(run, sens_get(&r));
    ck_assert_bound(run, sens_error(&r), 1.0e-3);
  }
  N_VDestroy(y0);
  sens_close(&r);
}
END_TEST

TEST_SUITE(forward) {
  Suite *suite = suite_create("Forward sensitivities");
  TCase *tc    = tcase_create("forward");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, every_step_satisfies_the_linearised_constraints, 0, 2 * ALL_METHODS);
  tcase_add_loop_test(tc, without_projection_they_drift, 0, ALL_METHODS);
  tcase_add_loop_test(tc, forward_sensitivities_are_the_derivatives_of_the_closed_form, 0,
                      ALL_METHODS);
  tcase_add_loop_test(tc, errors_of_sensitivities_fall_with_the_tolerance, 0, ALL_METHODS);
  tcase_add_loop_test(tc, sensitivities_at_roots_are_those_of_the_closed_form, 0, ALL_METHODS);
  tcase_add_loop_test(tc, error_control_shortens_steps, 4, ALL_METHODS);
  tcase_add_loop_test(tc, runs_backwards_in_time_have_sensitivities, 0, ALL_METHODS);
  tcase_add_loop_test(tc, every_solver_and_norm_of_the_projector_serves, 0, 16);
  tcase_add_loop_test(tc, with_products_only_they_satisfy_the_tolerance, 0, ALL_METHODS);
  tcase_add_loop_test(tc, without_a_jacobian_they_satisfy_what_differences_allow, 0, ALL_METHODS);
  tcase_add_loop_test(tc, without_error_control_they_do_not_change_the_states, 0, ALL_METHODS);
  tcase_add_loop_test(tc, a_second_sensitivity_that_fails_recoverably_repeats_the_step, 0,
                      ALL_METHODS);
  tcase_add_loop_test(tc, a_rejected_error_of_sensitivities_repeats_the_step, 0, 4);
  tcase_add_loop_test(tc, a_rejected_error_of_quadratures_repeats_the_step, 0, 4);
  tcase_add_loop_test(tc, a_failed_projection_rejects_the_step, 0, ALL_METHODS);
  tcase_add_loop_test(tc, a_failure_names_its_cause_and_the_run_goes_on_once_it_is_repaired, 0,
                      ENDS * ALL_METHODS);
  tcase_add_loop_test(tc, steps_that_are_left_alone_leave_sensitivities_alone, 0, 2);
  tcase_add_loop_test(tc, a_projector_can_be_replaced_on_the_way, 0, ALL_METHODS);
  tcase_add_loop_test(tc, a_projection_of_the_users_serves_where_dcdp_vanishes, 0, ALL_METHODS);
  tcase_add_loop_test(tc, interpolated_sensitivities_satisfy_the_linearised_constraints, 0, 4);
  tcase_add_loop_test(tc, output_between_steps_is_projected, 0, ALL_METHODS);
  tcase_add_loop_test(tc, asking_for_sensitivities_changes_nothing, 0, ALL_METHODS);
  tcase_add_loop_test(tc, calculated_starts_are_the_nearest_consistent_ones, 0, ALL_METHODS);
  tcase_add_loop_test(tc, a_new_start_repeats_the_run_to_the_last_bit, 0,
                      4); /* one-step methods keep their step size */
  tcase_add_test(tc, sensitivities_follow_the_states_to_another_kind_of_solver);
  tcase_add_loop_test(tc, a_first_step_much_too_long_leaves_the_start_of_the_sensitivities, 0,
                      n_methods);
  suite_add_tcase(suite, tc);
  return suite;
}
