/* The rules of the projecting solver towards CVODES: return values, norms, self-checks, iteration
 * counts, bypass, inequality constraints. Each test fails if its rule is removed from the library. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

static Run run;

static void setup(void) { run_open(&run, ADAMS_FIXED_POINT, 1.0e-6); }

static void teardown(void) { run_close(&run); }

/* ---- return values of the inner solver ---- */

/* A positive number that CVODES does not define: it would repeat the step for ever, whereas it
 * stops after 10 failures of a known kind (CVodeSetMaxConvFails). */
#define ODD 77
enum { GOOD_SOLVES = 19, MAX_FAILURES = 10 };

static int odd_from_then_on(Run *r, const Attempt *a) {
  (void)a;
  return r->world.solves > GOOD_SOLVES ? ODD : 0;
}

START_TEST(an_odd_positive_return_of_the_inner_solver_ends_the_run) {
  run_intercept(&run, odd_from_then_on, NULL);
  int flag = CP_SUCCESS;
  while (flag == CP_SUCCESS && run.t < 1.0) flag = run_step(&run);
  ck_assert_int_eq(flag, CV_CONV_FAILURE);
  ck_assert_int_eq(run.world.solves, GOOD_SOLVES + MAX_FAILURES);
  ck_assert_good(&run);
}
END_TEST

/* A single one costs a convergence failure, and no more. */
static int odd_once(Run *r, const Attempt *a) {
  (void)a;
  return r->world.solves == 20 ? ODD : 0;
}

START_TEST(an_odd_positive_return_once_is_a_convergence_failure) {
  long int ncfn;
  run_intercept(&run, odd_once, NULL);
  run_until(&run, 1.0);
  ck_assert_success(&run, CVodeGetNumStepSolveFails(run.cvode_mem, &ncfn));
  ck_assert_int_eq(ncfn, 1);
  ck_assert_good(&run);
}
END_TEST

/* ---- norms ---- */

/* An inner solver that returns a NaN as its solution. */
static int nan_once(Run *r, const Attempt *a, N_Vector ycor, int flag) {
  (void)a;
  if (r->world.solves == 20) entries(ycor)[0] = NAN;
  return flag;
}

/* A projection that turns anything into a good state, so that it cannot be the part that detects
 * the fault. */
static int forgiving(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  N_Vector finite = vector_copy(yhat);
  if (!isfinite(entries(finite)[0])) pendulum_initial(&run.world.p, finite);
  const int flag = rod_projection(t, finite, y, eps, user_data);
  N_VDestroy(finite);
  return flag;
}

static int always_good(sunrealtype t, N_Vector y, sunrealtype *norm, void *user_data) {
  (void)t, (void)y, (void)user_data;
  *norm = 0.0;
  return 0;
}

/* With every norm, and also when the step is not projected at all: no projector, not its turn, or
 * not needed. */
enum { NO_PROJECTOR = 2, NOT_DUE, NOT_CALLED_FOR, N_VARIANTS };

static void choose_variant(int variant, CPProjector user) {
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, variant == NO_PROJECTOR ? NULL : user));
  if (variant < NO_PROJECTOR)
    ck_assert_success(&run,
                      CPIntegratorSetErrEst(run.mem, (CPErrEst)(CP_ERREST_PROJECTED + variant)));
  if (variant == NOT_DUE) ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 1000, 0));
  if (variant != NOT_CALLED_FOR) return;
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 1, 1));
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
}

START_TEST(a_correction_with_nan_is_rejected_before_cvodes_sees_its_norm) {
  long int ncfn, netf_before, netf;
  run_close(&run);
  run_open(&run, methods[_i / N_VARIANTS], 1.0e-6);
  const int measured               = _i % N_VARIANTS == NOT_CALLED_FOR;
  const CPUserProjection functions = {sizeof functions, forgiving, NULL, NULL,
                                      measured ? always_good : NULL};
  CPProjector user                 = CPProjectorCreateUser(&functions, run.y, test_context);
  choose_variant(_i % N_VARIANTS, user);
  run_intercept(&run, NULL, nan_once);
  while (run.world.solves < 19) ck_assert_success(&run, run_step(&run));
  ck_assert_success(&run, CVodeGetNumErrTestFails(run.cvode_mem, &netf_before));
  ck_assert_success(&run, run_step(&run));
  ck_assert_success(&run, CVodeGetNumStepSolveFails(run.cvode_mem, &ncfn));
  ck_assert_success(&run, CVodeGetNumErrTestFails(run.cvode_mem, &netf));
  ck_assert_int_eq(ncfn, 1);
  ck_assert_int_eq(netf, netf_before);
  run_until(&run, 1.0);
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
  CPIntegratorFree(&run.mem);
  CPProjectorFree(&user);
}
END_TEST

/* Finite entries whose norm overflows. */
static int huge_error(sunrealtype t, N_Vector y, N_Vector err, void *user_data) {
  (void)y, (void)user_data;
  if (t > 0.5) N_VConst(1.0e300, err);
  return 0;
}

START_TEST(a_projected_error_with_infinite_norm_is_never_handed_over) {
  CPProjector user = projector_of_user(rod_projection, huge_error, run.y);
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, user));
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_PROJECTED));
  int flag = CP_SUCCESS;
  while (flag == CP_SUCCESS && run.t < 1.0) flag = run_step(&run);
  ck_assert_int_eq(flag, CP_PROJ_NONFINITE);
  ck_assert_message(&run, "error estimate", "finite norm");
  ck_assert_good(&run);
  CPIntegratorFree(&run.mem);
  CPProjectorFree(&user);
}
END_TEST

/* ---- self-checks ---- */

/* A CVODES that works differently: its history is changed between the first step and the second. */
static void change_history(void) {
  sunrealtype t, gamma, rl1;
  N_Vector zn0, yn, f, zn1;
  void *data;
  ck_assert_success(&run, CVodeGetNonlinearSystemData(run.cvode_mem, &t, &zn0, &yn, &f, &gamma,
                                                      &rl1, &zn1, &data));
  entries(zn0)[1] += 1.0e-9; /* a thousandth of the tolerance */
}

START_TEST(a_cvodes_with_another_history_is_recognised_at_the_second_step) {
  run_close(&run);
  run_open(&run, methods[_i], 1.0e-6);
  ck_assert_success(&run, run_step(&run));
  change_history();
  ck_assert_flag(&run, run_step(&run), CP_SELFCHECK_FAIL);
  ck_assert_message(&run, "works differently");
}
END_TEST

/* The coefficient is part of the tolerance from which the solver infers the result of the error
 * test. */
static int change_coefficient(Run *r, const Attempt *a) {
  if (a->nst == 10) ck_assert_success(r, CVodeSetNonlinConvCoef(r->cvode_mem, 1.0e-6));
  return 0;
}

START_TEST(a_changed_convergence_coefficient_is_noticed) {
  run_intercept(&run, change_coefficient, NULL);
  ck_assert_flag(&run, run_to(&run, 1.0), CP_SELFCHECK_FAIL);
  ck_assert_message(&run, "CVodeSetNonlinConvCoef", "after the first step");
}
END_TEST

/* Returns the number of iterations until t = 1. */
static long int iterations_with(sunrealtype first, sunrealtype later) {
  long int n = 0;
  if (first > 0.0) ck_assert_success(&run, CVodeSetNonlinConvCoef(run.cvode_mem, first));
  ck_assert_success(&run, run_step(&run));
  if (later > 0.0) ck_assert_success(&run, CVodeSetNonlinConvCoef(run.cvode_mem, later));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
  CVodeGetNumNonlinSolvIters(run.cvode_mem, &n);
  run_close(&run);
  run_open(&run, ADAMS_FIXED_POINT, 1.0e-6);
  return n;
}

START_TEST(a_coefficient_counts_if_it_is_set_before_the_first_step) {
  const long int usual = iterations_with(0.0, 0.0);
  ck_assert_int_gt(iterations_with(1.0e-6, 0.0), usual);
  ck_assert_int_eq(iterations_with(0.1, 0.0), usual);
  ck_assert_int_eq(iterations_with(0.0, 1.0e-6), usual);
}
END_TEST

/* ---- the inner solver's iteration ---- */

/* The same integration by CVODES alone; LS, A: NULL if there is none. y: the final state. */
static void cvodes_alone(SUNLinearSolver LS, SUNMatrix A, N_Vector y, sunrealtype tout) {
  World world               = {.p = run.world.p};
  sunrealtype t             = 0.0;
  void *cvode_mem           = CVodeCreate(run.method.lmm, test_context);
  SUNNonlinearSolver solver = inner_solver(run.method, y);
  pendulum_initial(&world.p, y);
  ck_assert_int_eq(CVodeInit(cvode_mem, world_rhs, 0.0, y), CV_SUCCESS);
  ck_assert_int_eq(CVodeSStolerances(cvode_mem, run.tol, run.tol), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetNonlinearSolver(cvode_mem, solver), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(cvode_mem, &world), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 100000), CV_SUCCESS);
  if (LS) ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, LS, A), CV_SUCCESS);
  ck_assert_int_eq(CVode(cvode_mem, tout, y, &t, CV_NORMAL), CV_SUCCESS);
  CVodeFree(&cvode_mem);
  SUNNonlinSolFree(solver);
}

static int identity(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  (void)t, (void)eps, (void)user_data;
  N_VScale(1.0, yhat, y);
  return 0;
}

/* CVODES keeps a convergence rate between iterations, and asks the solver for the number of the
 * iteration: the norm that is handed over must not look like one of them. Newton's convergence test
 * is not that of CVODES, but is the same with and without a projector. (If every step is projected,
 * norms of BDF count three times, and those at higher orders 0.6 times, which no plain run can
 * match.) */
START_TEST(a_projection_that_moves_nothing_changes_no_bit) {
  const int every_second = _i % 2 == 0;
  Run lender;
  run_close(&run);
  run_open(&run, methods[_i / 2], 1.0e-6);
  run_open(&lender, methods[_i / 2], 1.0e-6); /* its linear solver */
  N_Vector expected = vector_copy(run.y);
  cvodes_defaults(run.cvode_mem); /* a user's settings apply */
  if (methods[_i / 2].inner == SUNNONLINEARSOLVER_FIXEDPOINT) {
    cvodes_alone(lender.LS, lender.A, expected, 3.0);
  } else {
    cvodes_defaults(lender.cvode_mem);
    ck_assert_success(&lender, CPIntegratorSetProjector(lender.mem, NULL));
    ck_assert_success(&lender, CPIntegratorSetProjOutput(lender.mem, SUNFALSE));
    ck_assert_success(&lender, run_to(&lender, 3.0));
    N_VScale(1.0, lender.y, expected);
  }
  CPProjector user = projector_of_user(identity, NULL, run.y);
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, user));
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, (CPErrEst)(CP_ERREST_PROJECTED + _i % 2)));
  if (every_second) ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, 2, 0));
  ck_assert_success(&run, CPIntegratorSetProjOutput(run.mem, SUNFALSE));
  ck_assert_success(&run, run_to(&run, 3.0));
  ck_assert_int_eq(same_bits(run.y, expected), 1);
  CPIntegratorFree(&run.mem);
  CPProjectorFree(&user);
  N_VDestroy(expected);
  run_close(&lender);
}
END_TEST

/* CVODES' linear solver interface skips a small residual in iterations after the first one, and
 * asks the solver for the iteration's number: a wrong answer changes the trajectory. */
START_TEST(with_a_krylov_solver_and_no_projector_the_wrapper_changes_no_bit) {
  run_close(&run);
  run_open(&run, BDF_NEWTON, 1.0e-6);
  SUNLinearSolver plain = SUNLinSol_SPGMR(run.y, SUN_PREC_NONE, 0, test_context);
  N_Vector expected     = vector_copy(run.y);
  cvodes_alone(plain, NULL, expected, 3.0);
  cvodes_defaults(run.cvode_mem);

  SUNLinearSolver wrapped = SUNLinSol_SPGMR(run.y, SUN_PREC_NONE, 0, test_context);
  ck_assert_success(&run, CVodeSetLinearSolver(run.cvode_mem, wrapped, NULL));
  ck_assert_success(&run, CPIntegratorSetProjector(run.mem, NULL));
  ck_assert_success(&run, run_to(&run, 3.0));
  ck_assert_int_eq(same_bits(run.y, expected), 1);
  CPIntegratorFree(&run.mem);
  SUNLinSolFree(wrapped);
  SUNLinSolFree(plain);
  N_VDestroy(expected);
}
END_TEST

/* ---- bypassing the integrator ---- */

static int no_sensitivity(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                          N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  (void)Ns, (void)t, (void)y, (void)ydot, (void)iS, (void)yS, (void)user_data, (void)tmp1,
      (void)tmp2;
  N_VConst(0.0, ySdot);
  return 0;
}

static int no_sensitivities(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, N_Vector *yS,
                            N_Vector *ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  (void)Ns, (void)t, (void)y, (void)ydot, (void)yS, (void)user_data, (void)tmp1, (void)tmp2;
  N_VConst(0.0, ySdot[0]);
  return 0;
}

START_TEST(simultaneous_sensitivities_are_refused_as_a_bypass) {
  run_close(&run);
  run_open(&run, BDF_NEWTON, 1.0e-6);
  N_Vector s[1] = {VECTOR(0.0, 0.0, 0.0, 0.0)};
  ck_assert_success(&run, CVodeSensInit(run.cvode_mem, 1, CV_SIMULTANEOUS, no_sensitivities, s));
  ck_assert_success(&run, CVodeSensSStolerances(run.cvode_mem, 1.0e-6, (sunrealtype[]){1.0e-6}));
  ck_assert_flag(&run, run_step(&run), CP_BYPASSED);
  ck_assert_message(&run, "CV_STAGGERED", "CPIntegratorSetNonlinearSolver");
  N_VDestroy(s[0]);
}
END_TEST

START_TEST(staggered_sensitivities_are_no_bypass) {
  run_close(&run);
  run_open(&run, BDF_NEWTON, 1.0e-6);
  N_Vector s[1] = {VECTOR(0.0, 0.0, 0.0, 0.0)};
  if (_i == 0)
    ck_assert_success(&run, CVodeSensInit(run.cvode_mem, 1, CV_STAGGERED, no_sensitivities, s));
  else ck_assert_success(&run, CVodeSensInit1(run.cvode_mem, 1, CV_STAGGERED1, no_sensitivity, s));
  ck_assert_success(&run, CVodeSensSStolerances(run.cvode_mem, 1.0e-6, (sunrealtype[]){1.0e-6}));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
  N_VDestroy(s[0]);
}
END_TEST

/* CVODES' steps in the meantime are undone; with our solver back in place the run continues. */
START_TEST(a_nonlinear_solver_set_behind_our_back_is_noticed) {
  SUNNonlinearSolver other = inner_solver(run.method, run.y);
  while (run.t < 0.5) ck_assert_success(&run, run_step(&run));
  N_Vector last            = vector_copy(run.y);
  const sunrealtype t_last = run.t;
  ck_assert_success(&run, CVodeSetNonlinearSolver(run.cvode_mem, other));
  ck_assert_flag(&run, run_to(&run, 1.0), CP_BYPASSED);
  ck_assert_message(&run, "CPIntegratorSetNonlinearSolver");
  ck_assert_int_eq(same_bits(run.y, last), 1);
  ck_assert_double_eq(run.t, t_last);
  ck_assert_success(&run, CPIntegratorSetNonlinearSolver(run.mem, run.inner));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
  CPIntegratorFree(&run.mem);
  SUNNonlinSolFree(other);
  N_VDestroy(last);
}
END_TEST

/* ---- inequality constraints ---- */

/* x >= 0 holds at first and not later: CVODES would clip x. */
START_TEST(inequality_constraints_are_refused_and_switched_off) {
  N_Vector signs = VECTOR(1.0, 0.0, 0.0, 0.0);
  ck_assert_success(&run, CVodeSetConstraints(run.cvode_mem, signs));
  ck_assert_flag(&run, run_to(&run, 2.0), CP_NOT_SUPPORTED);
  ck_assert_message(&run, "CVodeSetConstraints", "switched off");
  ck_assert_int_eq(run_steps(&run), 0);
  ck_assert_success(&run, run_to(&run, 2.0));
  ck_assert_good(&run);
  N_VDestroy(signs);
}
END_TEST

START_TEST(inequality_constraints_are_refused_in_the_middle_of_a_run) {
  N_Vector signs = VECTOR(1.0, 0.0, 0.0, 0.0);
  ck_assert_success(&run, run_to(&run, 0.3));
  ck_assert_success(&run, CVodeSetConstraints(run.cvode_mem, signs));
  ck_assert_flag(&run, run_to(&run, 2.0), CP_NOT_SUPPORTED);
  ck_assert_success(&run, run_to(&run, 2.0));
  ck_assert_good(&run);
  N_VDestroy(signs);
}
END_TEST

/* SUNNONLINEARSOLVER_HYBRID of SUNDIALS 7.8 */
static SUNNonlinearSolver_Type hybrid(SUNNonlinearSolver NLS) {
  (void)NLS;
  return (SUNNonlinearSolver_Type)2;
}

/* Its two functions would never reach the inner solver: a crash at the first solve. */
START_TEST(a_solver_that_is_neither_newtons_nor_fixed_point_is_refused_at_once) {
  CPIntegrator mem         = CPIntegratorCreate("BDF", test_context);
  N_Vector y               = vector_of(2, NULL);
  SUNNonlinearSolver inner = SUNNonlinSol_Newton(y, test_context);
  inner->ops->gettype      = hybrid;
  MessageLog messages      = {0};
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, inner), CP_ILL_INPUT);
  ck_assert_mentions(messages.text, "type");
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(inner);
  N_VDestroy(y);
}
END_TEST

#if SUNDIALS_VERSION_MAJOR > 7 || (SUNDIALS_VERSION_MAJOR == 7 && SUNDIALS_VERSION_MINOR >= 3)
/* CVODES 7.3 can be given another history, even of another length (_i), and then has other vectors:
 * cpodes would write past the end of its own. */
START_TEST(a_history_that_cvodes_was_given_is_refused) {
  enum { LENGTH = 15 };
  sunrealtype t[LENGTH];
  N_Vector y[LENGTH], f[LENGTH];
  MessageLog messages = {0};
  CPObjectSetErrHandlerFn(CP_OBJECT(run.mem), message_log, &messages);
  for (int k = LENGTH - 1; k >= 0; k--) {
    ck_assert_success(&run, run_step(&run));
    t[k] = run.t;
    y[k] = _i ? vector_of(4000, NULL) : vector_copy(run.y);
    f[k] = vector_copy(y[k]);
  }
  ck_assert_int_eq(CVodeResizeHistory(run.cvode_mem, t, y, f, LENGTH, LENGTH), CV_SUCCESS);
  ck_assert_int_eq(run_step(&run), CP_NOT_SUPPORTED);
  ck_assert_mentions(messages.text, "CVodeResizeHistory");
  ck_assert_int_eq(CPIntegratorReInit(run.mem, 0.0, run.y), CP_NOT_SUPPORTED);
  ck_assert_int_eq(CPIntegratorGetDky(run.mem, run.t, 0, run.y), CP_NOT_SUPPORTED);
  for (int k = 0; k < LENGTH; k++) {
    N_VDestroy(y[k]);
    N_VDestroy(f[k]);
  }
}
END_TEST
#endif

TEST_SUITE(rules_solver) {
  Suite *suite = suite_create("the projecting solver's rules");
  TCase *tc    = tcase_create("rules");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, an_odd_positive_return_of_the_inner_solver_ends_the_run);
  tcase_add_test(tc, an_odd_positive_return_once_is_a_convergence_failure);
  tcase_add_loop_test(tc, a_correction_with_nan_is_rejected_before_cvodes_sees_its_norm, 0,
                      N_VARIANTS * n_methods);
  tcase_add_test(tc, a_projected_error_with_infinite_norm_is_never_handed_over);
  tcase_add_loop_test(tc, a_cvodes_with_another_history_is_recognised_at_the_second_step, 0,
                      n_methods);
  tcase_add_test(tc, a_changed_convergence_coefficient_is_noticed);
  tcase_add_test(tc, a_coefficient_counts_if_it_is_set_before_the_first_step);
  tcase_add_loop_test(tc, a_projection_that_moves_nothing_changes_no_bit, 0, 2 * n_methods);
  tcase_add_test(tc, with_a_krylov_solver_and_no_projector_the_wrapper_changes_no_bit);
  tcase_add_test(tc, simultaneous_sensitivities_are_refused_as_a_bypass);
  tcase_add_loop_test(tc, staggered_sensitivities_are_no_bypass, 0, 2);
  tcase_add_test(tc, a_nonlinear_solver_set_behind_our_back_is_noticed);
  tcase_add_test(tc, inequality_constraints_are_refused_and_switched_off);
  tcase_add_test(tc, inequality_constraints_are_refused_in_the_middle_of_a_run);
  tcase_add_test(tc, a_solver_that_is_neither_newtons_nor_fixed_point_is_refused_at_once);
#if SUNDIALS_VERSION_MAJOR > 7 || (SUNDIALS_VERSION_MAJOR == 7 && SUNDIALS_VERSION_MINOR >= 3)
  tcase_add_loop_test(tc, a_history_that_cvodes_was_given_is_refused, 0, 2);
#endif
  suite_add_tcase(suite, tc);
  return suite;
}
