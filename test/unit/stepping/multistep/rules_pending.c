/* The pending correction of the Adams methods is taken back whenever the attempt is repeated or the
 * call fails, so that the history starts from the last accepted state; and all methods return the
 * last good state after every failure. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* Test equations beside the pendulum's, with user_data World: a quadrature and a "sensitivity".
 * They oscillate much faster than the pendulum's steps, so that their error tests reject steps
 * whose state had passed. */
#define FAST 300.0

static Fault quad_fault, sens_fault;

static int fast_quadrature(sunrealtype t, N_Vector y, N_Vector q, void *user_data) {
  (void)y, (void)user_data;
  entries(q)[0] = cos(FAST * t);
  return fault_strikes(&quad_fault, t) ? quad_fault.flag : 0;
}

static int fast_sensitivity(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                            N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  (void)Ns, (void)y, (void)ydot, (void)iS, (void)yS, (void)user_data, (void)tmp1, (void)tmp2;
  N_VConst(cos(FAST * t), ySdot);
  return fault_strikes(&sens_fault, t) ? sens_fault.flag : 0;
}

static int fast_sensitivities(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, N_Vector *yS,
                              N_Vector *ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  return fast_sensitivity(Ns, t, y, ydot, 0, yS[0], ySdot[0], user_data, tmp1, tmp2);
}

static Run run;
static N_Vector s[1]; /* sensitivity */
static N_Vector q;    /* quadrature */
static SUNNonlinearSolver sens_solver;

static void open_with(Method method) {
  quad_fault = sens_fault = (Fault){0};
  run_open(&run, method, 1.0e-6);
}

static void setup(void) {
  open_with(ADAMS_FIXED_POINT);
  s[0]        = vector_of(PENDULUM_N, NULL);
  q           = vector_of(1, NULL);
  sens_solver = NULL;
}

static void teardown(void) {
  run_close(&run);
  if (sens_solver) SUNNonlinSolFree(sens_solver);
  N_VDestroy(s[0]);
  N_VDestroy(q);
}

static void add_quadrature(sunbooleantype error_test) {
  ck_assert_success(&run, CVodeQuadInit(run.cvode_mem, fast_quadrature, q));
  ck_assert_success(&run, CVodeQuadSStolerances(run.cvode_mem, 1.0e-6, 1.0e-6));
  ck_assert_success(&run, CVodeSetQuadErrCon(run.cvode_mem, error_test));
}

static void add_sensitivity(int ism, sunbooleantype error_test) {
  if (ism == CV_STAGGERED1) {
    ck_assert_success(&run, CVodeSensInit1(run.cvode_mem, 1, ism, fast_sensitivity, s));
    sens_solver = SUNNonlinSol_FixedPoint(run.y, 0, test_context);
    ck_assert_success(&run, CVodeSetNonlinearSolverSensStg1(run.cvode_mem, sens_solver));
  } else {
    ck_assert_success(&run, CVodeSensInit(run.cvode_mem, 1, ism, fast_sensitivities, s));
    sens_solver = SUNNonlinSol_FixedPointSens(1, run.y, 0, test_context);
    ck_assert_success(&run, CVodeSetNonlinearSolverSensStg(run.cvode_mem, sens_solver));
  }
  ck_assert_success(&run, CVodeSensSStolerances(run.cvode_mem, 1.0e-6, (sunrealtype[]){1.0e-6}));
  ck_assert_success(&run, CVodeSetSensErrCon(run.cvode_mem, error_test));
}

/* ---- repeated attempts ---- */

/* At order 1 the prediction is zn[0] + zn[1] and leaves zn[1] alone, so that ypred - zn[1] is the
 * state from which the attempt starts: the one that the last step returned, whatever attempts came
 * in between. A correction in the wrong place is about 1e-6 of the state; the roundoff of the sums
 * and of the four rescalings h/4 is at most 1e-15. */
#define ROUNDOFF 1.0e-14

static N_Vector accepted; /* result of the last step */

static int starts_from_the_accepted_state(Run *r, const Attempt *a) {
  N_Vector zn0 = vector_copy(a->ypred);
  N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, zn0);
  ck_assert_bound(r, max_distance(zn0, accepted), ROUNDOFF * (1.0 + N_VMaxNorm(accepted)));
  N_VDestroy(zn0);
  return 0;
}

static void watch_starts(void) {
  accepted = vector_copy(run.y);
  ck_assert_success(&run, CVodeSetMaxOrd(run.cvode_mem, 1));
  run_intercept(&run, starts_from_the_accepted_state, NULL);
}

/* Takes n steps, and returns the number of corrections that were taken back. */
static long int take_steps(int n) {
  for (int i = 0; i < n; i++) {
    ck_assert_success(&run, run_step(&run));
    N_VScale(1.0, run.y, accepted);
  }
  N_VDestroy(accepted);
  return run_stats(&run).ntakenback;
}

START_TEST(a_rejection_by_the_quadratures_error_takes_the_correction_back) {
  long int netfQ;
  add_quadrature(SUNTRUE);
  watch_starts();
  const long int taken_back = take_steps(300);
  ck_assert_success(&run, CVodeGetQuadNumErrTestFails(run.cvode_mem, &netfQ));
  ck_assert_int_gt(netfQ, 0);
  ck_assert_int_eq(taken_back, netfQ);
}
END_TEST

START_TEST(a_failure_of_the_quadratures_function_takes_the_correction_back) {
  long int ncfn;
  add_quadrature(SUNFALSE);
  quad_fault = (Fault){.after = 0.02, .times = 3, .flag = 1};
  watch_starts();
  const long int taken_back = take_steps(100);
  ck_assert_success(&run, CVodeGetNumStepSolveFails(run.cvode_mem, &ncfn));
  ck_assert_int_eq(ncfn, 3);
  ck_assert_int_eq(taken_back, 3);
}
END_TEST

START_TEST(a_rejection_by_the_sensitivities_error_takes_the_correction_back) {
  long int netfS;
  add_sensitivity(_i == 0 ? CV_STAGGERED1 : CV_STAGGERED, SUNTRUE);
  watch_starts();
  const long int taken_back = take_steps(300);
  ck_assert_success(&run, CVodeGetSensNumErrTestFails(run.cvode_mem, &netfS));
  ck_assert_int_gt(netfS, 0);
  ck_assert_int_eq(taken_back, netfS);
}
END_TEST

START_TEST(a_failed_solve_for_the_sensitivities_takes_the_correction_back) {
  add_sensitivity(_i == 0 ? CV_STAGGERED1 : CV_STAGGERED, SUNFALSE);
  sens_fault = (Fault){.after = 0.02, .times = 3, .flag = 1};
  watch_starts();
  ck_assert_int_gt(take_steps(100), 0);
}
END_TEST

/* A correction that CVODES' own error test will reject is never added. */
START_TEST(a_rejection_by_the_states_error_finds_nothing_to_take_back) {
  long int netf;
  const CPErrEst modes[] = {CP_ERREST_PROJECTED, CP_ERREST_UNPROJECTED};
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, modes[_i]));
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 0.05)); /* far too long */
  watch_starts();
  const long int taken_back = take_steps(200);
  ck_assert_success(&run, CVodeGetNumErrTestFails(run.cvode_mem, &netf));
  ck_assert_int_gt(netf, 0);
  ck_assert_int_eq(taken_back, 0);
}
END_TEST

/* When a solve of a later attempt fails, the correction of the earlier attempt is already gone. */
static int fails_twice_after_each_rejection(Run *r, const Attempt *a) {
  static long int nst_last = -1;
  static int fails;
  starts_from_the_accepted_state(r, a);
  if (a->nst != nst_last) {
    nst_last = a->nst;
    fails    = 0;
    return 0;
  }
  return fails++ < 2 ? SUN_NLS_CONV_RECVR : 0;
}

START_TEST(failed_solves_between_attempts_do_not_take_it_back_again) {
  add_quadrature(SUNTRUE);
  watch_starts();
  run_intercept(&run, fails_twice_after_each_rejection, NULL);
  ck_assert_int_gt(take_steps(200), 0);
}
END_TEST

/* At high order, too, the repaired history has the same accuracy; the fixed step between rejections
 * is that of the quadrature. */
START_TEST(rejected_steps_leave_the_trajectory_accurate) {
  add_quadrature(SUNTRUE);
  run_until(&run, 1.0);
  ck_assert_int_gt(run_stats(&run).ntakenback, 0);
  ck_assert_good(&run);
  /* int cos(w t) = sin(w t) / w, in steps with an error of at most the tolerance each */
  ck_assert_success(&run, CVodeGetQuad(run.cvode_mem, &run.t, q));
  ck_assert_bound(&run, fabs(entries(q)[0] - sin(FAST * run.t) / FAST),
                  (double)run_steps(&run) * 2.0e-6);
}
END_TEST

/* ---- failed calls ---- */

static void break_f(int flag) { run.world.f = (Fault){0.5, -1, flag, 0.0}; }
static void f_fatal(void) { break_f(-1); }
static void f_recoverable(void) { break_f(1); }
static void f_nan(void) { run.world.f = (Fault){0.5, -1, 0, NAN}; }
static void c_fatal(void) { run.world.c = (Fault){0.5, -1, -1, 0.0}; }
static void c_recoverable(void) { run.world.c = (Fault){0.5, -1, 1, 0.0}; }
static void c_nan(void) { run.world.c = (Fault){0.5, -1, 0, NAN}; }
static void jac_fatal(void) {
  ck_assert_success(&run, CPProjectorSetUserData(run.P, &run.world));
  run.world.jac = (Fault){0.5, -1, -1, 0.0};
}
static void jac_nan(void) {
  ck_assert_success(&run, CPProjectorSetUserData(run.P, &run.world));
  run.world.jac = (Fault){0.5, -1, 0, NAN};
}
static void quad_fatal(void) {
  add_quadrature(SUNFALSE);
  quad_fault = (Fault){0.5, -1, -1, 0.0};
}
/* All with Newton's method: SUNDIALS' fixed-point solver for sensitivities does not return fatal
 * failures. */
static void sens_fatal(void) {
  const int lmm = run.method.lmm;
  run_close(&run);
  open_with(lmm == CV_BDF ? methods[0] : methods[3]);
  ck_assert_success(&run, CVodeSensInit1(run.cvode_mem, 1, CV_STAGGERED1, fast_sensitivity, s));
  ck_assert_success(&run, CVodeSensSStolerances(run.cvode_mem, 1.0e-6, (sunrealtype[]){1.0e-6}));
  sens_fault = (Fault){0.5, -1, -1, 0.0};
}
static int no_convergence(Run *r, const Attempt *a) {
  return r->world.f.times == 0 && a->t > 0.5 && r->world.f.flag ? SUN_NLS_CONV_RECVR : 0;
}
static void solver_recoverable(void) {
  run.world.f = (Fault){0.5, 0, 1, 0.0}; /* only a switch */
  run_intercept(&run, no_convergence, NULL);
  ck_assert_success(&run, CVodeSetMinStep(run.cvode_mem, 1.0e-5));
}
static void repair(void) {
  run.world.f = run.world.c = run.world.jac = quad_fault = sens_fault = (Fault){0};
  ck_assert_success(&run, CVodeSetMinStep(run.cvode_mem, 0.0));
}

static const struct {
  const char *name;
  void (*arrange)(void);
  int code;
} failures[] = {
    {"f, fatal", f_fatal, CV_RHSFUNC_FAIL},
    {"f, recoverable", f_recoverable, CV_REPTD_RHSFUNC_ERR},
    {"f, NaN", f_nan, CP_RHS_NONFINITE},
    {"c, fatal", c_fatal, CP_USERFUNC_FAIL},
    {"c, recoverable", c_recoverable, CP_REPTD_USERFUNC_ERR},
    {"c, NaN", c_nan, CP_CNSTR_NONFINITE},
    {"Jacobian, fatal", jac_fatal, CP_USERFUNC_FAIL},
    {"Jacobian, NaN", jac_nan, CP_CNSTRJAC_NONFINITE},
    {"quadrature, fatal", quad_fatal, CV_QRHSFUNC_FAIL},
    {"sensitivity, fatal", sens_fatal, CV_SRHSFUNC_FAIL},
    {"nonlinear solver, recoverable", solver_recoverable, CV_CONV_FAILURE},
};
enum { N_FAILURES = sizeof failures / sizeof failures[0], N_METHODS = 4 };

/* Steps until one fails; last: the state before that step. */
static int step_until_failure(N_Vector last, sunrealtype *t_last) {
  int flag = CP_SUCCESS;
  while (flag == CP_SUCCESS && run.t < 2.0) {
    N_VScale(1.0, run.y, last);
    *t_last = run.t;
    flag    = run_step(&run);
  }
  return flag;
}

START_TEST(after_a_failure_the_state_is_the_last_good_one_and_the_run_goes_on) {
  N_Vector last = vector_copy(run.y), history = vector_copy(run.y);
  sunrealtype t_last = 0.0;
  run_close(&run);
  open_with(methods[_i % N_METHODS]);
  failures[_i / N_METHODS].arrange();
  const int flag = step_until_failure(last, &t_last);
  ck_assert_msg(flag == failures[_i / N_METHODS].code, "%s, %s: %d, not %d: %s", run.method.name,
                failures[_i / N_METHODS].name, flag, failures[_i / N_METHODS].code, run.log.text);
  ck_assert_msg(same_bits(run.y, last), "%s, %s: the state is off by %g", run.method.name,
                failures[_i / N_METHODS].name, max_distance(run.y, last));
  ck_assert_double_eq(run.t, t_last);
  /* CVODES' own history is there as well, up to the roundoff of undoing a prediction of order 12 at
   * most */
  ck_assert_success(&run, CVodeGetDky(run.cvode_mem, run.t, 0, history));
  ck_assert_bound(&run, max_distance(history, last), 1.0e-13 * (1.0 + N_VMaxNorm(last)));
  repair();
  run_until(&run, 1.0);
  ck_assert_good(&run);
  N_VDestroy(history);
  N_VDestroy(last);
}
END_TEST

/* Newton's matrix may be full of the NaN that ended the run, depending on where that happens. */
START_TEST(nan_out_of_f_leaves_nothing_behind_once_repaired) {
  run_close(&run);
  open_with(methods[_i % 2 ? 3 : 0]);
  run.world.f = (Fault){0.3 + 0.02 * (_i / 2), -1, 0, NAN};
  ck_assert_flag(&run, run_to(&run, 1.0), CP_RHS_NONFINITE);
  repair();
  run_until(&run, 1.0);
  ck_assert_good(&run);
}
END_TEST

/* It fails once more, from the same state, with the same code. */
START_TEST(a_failure_that_is_not_repaired_is_reported_again) {
  N_Vector last = vector_copy(run.y);
  sunrealtype t_last;
  run_close(&run);
  open_with(methods[_i % N_METHODS]);
  failures[_i / N_METHODS].arrange();
  ck_assert_int_eq(step_until_failure(last, &t_last), failures[_i / N_METHODS].code);
  const int flag = step_until_failure(last, &t_last);
  ck_assert_msg(flag == failures[_i / N_METHODS].code, "%s, %s: %d, not %d: %s", run.method.name,
                failures[_i / N_METHODS].name, flag, failures[_i / N_METHODS].code, run.log.text);
  ck_assert_int_eq(same_bits(run.y, last), 1);
  ck_assert_good(&run);
  N_VDestroy(last);
}
END_TEST

static int root_fault(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)y, (void)user_data;
  g[0] = 1.0;
  return fault_strikes(&quad_fault, t) ? quad_fault.flag : 0;
}

/* The root function is called after the step: the state is that of its end. */
START_TEST(a_failed_root_function_leaves_the_step_in_place) {
  run_close(&run);
  open_with(methods[_i]);
  ck_assert_success(&run, CVodeRootInit(run.cvode_mem, 1, root_fault));
  quad_fault   = (Fault){0.5, -1, -1, 0.0};
  long int nst = 0;
  while (run.t < 2.0) {
    nst            = run_steps(&run);
    const int flag = run_step(&run);
    if (flag == CV_RTFUNC_FAIL) break;
    ck_assert_int_eq(flag, CP_SUCCESS);
  }
  ck_assert_int_eq(run_steps(&run), nst + 1);
  ck_assert_double_gt(run.t, 0.5);
  ck_assert_good(&run);
  repair();
  run_until(&run, 1.0);
  ck_assert_good(&run);
}
END_TEST

/* When a solve is accepted, as these are, the next call of f is between the state and its staggered
 * sensitivities. After its failure CVODES continues with a history that it did not restore. */
static int fail_the_next_f(Run *r, const Attempt *a, N_Vector ycor, int flag) {
  (void)a, (void)ycor;
  if (r->world.solves == 22) r->world.f = (Fault){-1.0e9, 1, 1, 0.0};
  return flag;
}

static void open_with_sensitivity(int i) {
  run_close(&run);
  open_with(methods[i % 2]);
  add_sensitivity(i / 2 ? CV_STAGGERED : CV_STAGGERED1, SUNFALSE);
}

static void expect_lost_history(void) {
  N_Vector last = vector_copy(run.y);
  sunrealtype t_last;
  ck_assert_int_eq(step_until_failure(last, &t_last), CV_UNREC_RHSFUNC_ERR);
  ck_assert_message(&run, "sensitivities");
  ck_assert_int_eq(same_bits(run.y, last), 1);
  ck_assert_double_eq(run.t, t_last);
  N_VDestroy(last);
}

START_TEST(a_failure_of_f_between_state_and_sensitivities_is_told_and_undone) {
  open_with_sensitivity(_i);
  run_intercept(&run, NULL, fail_the_next_f);
  expect_lost_history();
  run_until(&run, 1.0);
  ck_assert_good(&run);
}
END_TEST

/* The step to a stop time is repeated between the same times. */
static int fail_the_f_at_the_stop(Run *r, const Attempt *a, N_Vector ycor, int flag) {
  (void)ycor;
  if (a->t == 0.5) r->world.f = (Fault){-1.0e9, 1, 1, 0.0};
  return flag;
}

START_TEST(such_a_failure_at_a_stop_time_is_told_and_undone) {
  open_with_sensitivity(_i);
  run_intercept(&run, NULL, fail_the_f_at_the_stop);
  ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, 0.5));
  expect_lost_history();
  run_intercept(&run, NULL, NULL);
  ck_assert_int_eq(CPIntegratorEvolve(run.mem, 1.0, run.y, &run.t, CV_NORMAL), CV_TSTOP_RETURN);
  run_until(&run, 1.0);
  ck_assert_good(&run);
}
END_TEST

/* Too much work is no failure of a step: the state is that at the end of the last one. */
START_TEST(too_many_steps_return_the_state_of_the_last_one) {
  N_Vector expected = vector_copy(run.y);
  run_close(&run);
  open_with(methods[_i]);
  for (int k = 0; k < 20; k++) ck_assert_success(&run, run_step(&run));
  N_VScale(1.0, run.y, expected);
  const sunrealtype t_expected = run.t;
  run_close(&run);
  open_with(methods[_i]);
  ck_assert_success(&run, CVodeSetMaxNumSteps(run.cvode_mem, 20));
  ck_assert_flag(&run, run_to(&run, 1000.0), CV_TOO_MUCH_WORK);
  ck_assert_double_eq(run.t, t_expected);
  ck_assert_int_eq(same_bits(run.y, expected), 1);
  ck_assert_success(&run, CVodeSetMaxNumSteps(run.cvode_mem, 10000));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_good(&run);
  N_VDestroy(expected);
}
END_TEST

/* ---- new starts ---- */

/* The step counter of a restarted run happens to equal that of the failed one. */
START_TEST(a_restart_knows_nothing_of_a_pending_correction) {
  N_Vector y0 = vector_copy(run.y), expected = vector_copy(run.y);
  ck_assert_success(&run, run_to(&run, 0.7));
  N_VScale(1.0, run.y, expected);
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  add_quadrature(SUNFALSE);
  quad_fault = (Fault){-1.0, 0, -1, 0.0};
  ck_assert_success(&run, run_step(&run));
  quad_fault.times = -1;
  ck_assert_flag(&run, run_step(&run), CV_QRHSFUNC_FAIL);
  quad_fault.times = 0;
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_int_eq(run_stats(&run).ntakenback, 0);
  ck_assert_success(&run, run_to(&run, 0.7));
  ck_assert_int_eq(same_bits(run.y, expected), 1);
  ck_assert_int_eq(run_stats(&run).ntakenback, 0);
  N_VDestroy(y0);
  N_VDestroy(expected);
}
END_TEST

/* CVodeF steps without CPIntegratorEvolve and leaves its last correction pending; a new start with a shorter
 * step then looks like a retry of the same first step. */
START_TEST(a_restart_after_a_forward_run_knows_nothing_of_its_last_correction) {
  N_Vector y0 = vector_copy(run.y), expected = vector_copy(run.y);
  const sunrealtype h = 1.0e-4; /* the error of the first step, g h^2 / 2, passes the test */
  int ncheck;
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 0.1 * h));
  ck_assert_success(&run, run_to(&run, 0.7));
  N_VScale(1.0, run.y, expected);
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, h));
  ck_assert_success(&run, CVodeAdjInit(run.cvode_mem, 20, CV_HERMITE));
  ck_assert_success(&run, CVodeF(run.cvode_mem, 0.7, run.y, &run.t, CV_ONE_STEP, &ncheck));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 0.1 * h));
  ck_assert_success(&run, run_to(&run, 0.7));
  ck_assert_int_eq(run_stats(&run).ntakenback, 0);
  ck_assert_int_eq(same_bits(run.y, expected), 1);
  N_VDestroy(y0);
  N_VDestroy(expected);
}
END_TEST

/* ---- adjoint ---- */

/* lambda' = -J^T lambda, J = df/dy of the pendulum's f. */
static int adjoint_rhs(sunrealtype t, N_Vector y, N_Vector lambda, N_Vector lambdadot,
                       void *user_data) {
  (void)t;
  const Pendulum *p    = user_data;
  const sunrealtype *z = N_VGetArrayPointer(y), *l = N_VGetArrayPointer(lambda);
  sunrealtype *ld       = N_VGetArrayPointer(lambdadot);
  const sunrealtype L2  = p->L * p->L;
  const sunrealtype tau = (z[2] * z[2] + z[3] * z[3] - p->g * z[1]) / L2;
  const sunrealtype lx  = l[2] * z[0] + l[3] * z[1]; /* -(lx) is the factor of tau's derivative */
  ld[0]                 = tau * l[2];
  ld[1]                 = tau * l[3] - p->g / L2 * lx;
  ld[2]                 = -l[0] + 2.0 * z[2] / L2 * lx;
  ld[3]                 = -l[1] + 2.0 * z[3] / L2 * lx;
  return 0;
}

static sunrealtype final_x(sunrealtype angle, sunrealtype T, sunrealtype tol) {
  Run other;
  run_open(&other, ADAMS_FIXED_POINT, tol);
  N_Vector y0 = VECTOR(cos(angle), sin(angle), 0.0, 0.0);
  ck_assert_success(&other, CPIntegratorReInit(other.mem, 0.0, y0));
  ck_assert_success(&other, run_to(&other, T));
  const sunrealtype x = entries(other.y)[0];
  run_close(&other);
  N_VDestroy(y0);
  return x;
}

/* d x(T) / d angle(0) = lambda(0) . (0, L, 0, 0), by checkpoints from which CVODES repeats the
 * forward run backwards in time, compared with central differences of projected runs. The error is
 * that of the steps of the forward and the backward run, each at most 2 tol and growing as in
 * error_bound; the differences, extrapolated from h = 1e-3 and 2e-3, have errors of only about h^4
 * and 1e-11 300/h. */
START_TEST(the_adjoint_runs_over_restored_checkpoints) {
  const sunrealtype T = 2.0, tol = 1.0e-9, h = 1.0e-3;
  N_Vector lambda           = VECTOR(1.0, 0.0, 0.0, 0.0);
  SUNNonlinearSolver solver = inner_solver(ADAMS_FIXED_POINT, lambda);
  int ncheck, which;
  run_close(&run);
  run_open(&run, methods[_i / 2], tol);
  ck_assert_success(&run, CPIntegratorSetProjFrequency(run.mem, _i % 2 ? 3 : 1, 0));
  ck_assert_success(&run, CVodeAdjInit(run.cvode_mem, 20, CV_POLYNOMIAL));
  ck_assert_success(&run, CVodeF(run.cvode_mem, T, run.y, &run.t, CV_NORMAL, &ncheck));
  ck_assert_int_gt(ncheck, 5);
  const long int steps = run_steps(&run);
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
  ck_assert_success(&run, CVodeCreateB(run.cvode_mem, CV_ADAMS, &which));
  ck_assert_success(&run, CVodeInitB(run.cvode_mem, which, adjoint_rhs, T, lambda));
  ck_assert_success(&run, CVodeSStolerancesB(run.cvode_mem, which, tol, tol));
  ck_assert_success(&run, CVodeSetNonlinearSolverB(run.cvode_mem, which, solver));
  ck_assert_success(&run, CVodeSetUserDataB(run.cvode_mem, which, &run.world.p));
  ck_assert_success(&run, CVodeSetMaxNumStepsB(run.cvode_mem, which, 100000));
  const int backward = CVodeB(run.cvode_mem, 0.0, CV_NORMAL);
  ck_assert(backward == CV_SUCCESS || backward == CV_TSTOP_RETURN); /* SUNDIALS 6, 7 */
  ck_assert_success(&run, CVodeGetB(run.cvode_mem, which, &run.t, lambda));
  long int steps_back;
  ck_assert_success(&run, CVodeGetNumSteps(CVodeGetAdjCVodeBmem(run.cvode_mem, which), &steps_back));
  const sunrealtype gradient = run.world.p.L * entries(lambda)[1];
  const sunrealtype f2       = (final_x(2 * h, T, 1e-11) - final_x(-2 * h, T, 1e-11)) / (4.0 * h);
  const sunrealtype f1       = (final_x(h, T, 1e-11) - final_x(-h, T, 1e-11)) / (2.0 * h);
  const sunrealtype expected = f1 + (f1 - f2) / 3.0;
  const sunrealtype w        = sqrt(run.world.p.g / run.world.p.L);
  ck_assert_bound(&run, fabs(gradient - expected),
                  (double)(steps + steps_back) * 2.0 * tol * w * (1.0 + w * T) + 1.0e-5 * h);
  CPIntegratorFree(&run.mem);
  SUNNonlinSolFree(solver);
  N_VDestroy(lambda);
}
END_TEST

TEST_SUITE(rules_pending) {
  Suite *suite = suite_create("pending corrections and the last good state");
  TCase *tc    = tcase_create("retries");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, a_rejection_by_the_quadratures_error_takes_the_correction_back);
  tcase_add_test(tc, a_failure_of_the_quadratures_function_takes_the_correction_back);
  tcase_add_loop_test(tc, a_rejection_by_the_sensitivities_error_takes_the_correction_back, 0, 2);
  tcase_add_loop_test(tc, a_failed_solve_for_the_sensitivities_takes_the_correction_back, 0, 2);
  tcase_add_loop_test(tc, a_rejection_by_the_states_error_finds_nothing_to_take_back, 0, 2);
  tcase_add_test(tc, failed_solves_between_attempts_do_not_take_it_back_again);
  tcase_add_test(tc, rejected_steps_leave_the_trajectory_accurate);
  suite_add_tcase(suite, tc);
  tc = tcase_create("failures");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, after_a_failure_the_state_is_the_last_good_one_and_the_run_goes_on, 0,
                      N_FAILURES * N_METHODS);
  tcase_add_loop_test(tc, nan_out_of_f_leaves_nothing_behind_once_repaired, 0, 40);
  tcase_add_loop_test(tc, a_failure_that_is_not_repaired_is_reported_again, 0,
                      N_FAILURES * N_METHODS);
  tcase_add_loop_test(tc, a_failure_of_f_between_state_and_sensitivities_is_told_and_undone, 0, 4);
  tcase_add_loop_test(tc, such_a_failure_at_a_stop_time_is_told_and_undone, 0, 4);
  tcase_add_loop_test(tc, a_failed_root_function_leaves_the_step_in_place, 0, N_METHODS);
  tcase_add_loop_test(tc, too_many_steps_return_the_state_of_the_last_one, 0, N_METHODS);
  suite_add_tcase(suite, tc);
  tc = tcase_create("restarts");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, a_restart_knows_nothing_of_a_pending_correction);
  tcase_add_test(tc, a_restart_after_a_forward_run_knows_nothing_of_its_last_correction);
  tcase_add_loop_test(tc, the_adjoint_runs_over_restored_checkpoints, 0, 2 * N_METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
