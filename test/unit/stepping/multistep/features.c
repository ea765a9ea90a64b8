/* CVODES' features, with projection: methods, one-step mode, roots, stop times, quadratures, restarts, backwards in time. */
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <models/counters.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static Run run;

static void setup(void) { run_open(&run, ADAMS_FIXED_POINT, 1.0e-6); }

static void teardown(void) { run_close(&run); }

static void open_method(int i, sunrealtype tol) {
  run_close(&run);
  run_open(&run, methods[i], tol);
}

/* ---- methods ---- */

START_TEST(every_method_follows_the_exact_solution_on_the_manifold) {
  const sunrealtype tols[] = {1.0e-4, 1.0e-6, 1.0e-8};
  open_method(_i / 3, tols[_i % 3]);
  while (run.t < 3.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_good(&run);
  }
  /* the error is projected at the projected state: a step is projected before its error test
   * rejects it */
  long int netf;
  ck_assert_success(&run, CVodeGetNumErrTestFails(run.cvode_mem, &netf));
  ck_assert_int_eq(run_stats(&run).nproj, run_steps(&run) + netf);
}
END_TEST

/* A right-hand side that calls CVode for the memory that has called it, at its call number 30 */
typedef struct {
  int calls, inner;
  void *cvode_mem;
  N_Vector y;
} Calling;

static int calling(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  Calling *c = data;
  sunrealtype reached;
  (void)t;
  N_VScale(-1.0, y, ydot);
  if (++c->calls == 30) c->inner = CVode(c->cvode_mem, 9.0, c->y, &reached, CV_NORMAL);
  return 0;
}

START_TEST(CVode_called_by_its_own_right_hand_side_ends_the_run) {
  Calling c                = {.inner = 1, .y = VECTOR(1.0)};
  MessageLog log           = {0};
  sunrealtype t            = 0.0;
  N_Vector y               = VECTOR(1.0);
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPoint(y, 0, test_context);
  CPIntegrator mem         = CPIntegratorCreate("ADAMS", test_context);
  c.cvode_mem              = CPIntegratorGetCVodeMem(mem);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, calling, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, fixed), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(c.cvode_mem, &c), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 5.0, y, &t, CV_NORMAL), CP_REENTERED);
  ck_assert_mentions(log.text, "must not call CVODES");
  ck_assert_int_lt(c.inner, 0);
  ck_assert_double_eq_tol(entries(y)[0], exp(-t), 1.0e-4); /* the last good state */
  ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 5.0, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_double_eq_tol(entries(y)[0], exp(-5.0), 1.0e-4);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(fixed);
  N_VDestroy(y);
  N_VDestroy(c.y);
}
END_TEST

static int relaxation(sunrealtype t, N_Vector y, N_Vector ydot, void *stiffness) {
  entries(ydot)[0] = -*(sunrealtype *)stiffness * (entries(y)[0] - cos(t));
  return 0;
}

/* Accuracy takes some tens of steps, and stability h of at most about 1e-4. */
START_TEST(fixed_point_iteration_warns_once_where_stability_limits_the_steps) {
  sunrealtype stiffness = _i ? 1.0e4 : 1.0, t = 0.0;
  MessageLog log = {0};
  N_Vector y = VECTOR(1.0), start = VECTOR(1.0);
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPoint(y, 0, test_context);
  CPIntegrator mem         = CPIntegratorCreate("ADAMS", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, relaxation, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-4, 1.0e-4), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, fixed), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &stiffness), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 1000000), CV_SUCCESS);
  for (int k = 0; k < 2; k++) {
    ck_assert_int_eq(CPIntegratorEvolve(mem, 0.25, y, &t, CV_NORMAL), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, y, &t, CV_NORMAL), CP_SUCCESS);
    ck_assert_int_eq(log.count, _i ? k + 1 : 0);
    ck_assert_int_eq(log.code, _i ? CV_WARNING : 0);
    if (_i) ck_assert_mentions(log.text, "stability limits the steps");
    ck_assert_int_eq(CPIntegratorReInit(mem, 0.0, start), CP_SUCCESS);
  }
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(fixed);
  N_VDestroy(y);
  N_VDestroy(start);
}
END_TEST

/* Adams' errors fall with the tolerance; with a projection in the wrong place they do not, below
 * about order 2. */
START_TEST(adams_uses_its_high_orders) {
  int order, highest = 0;
  open_method(1, 1.0e-10);
  while (run.t < 3.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CVodeGetLastOrder(run.cvode_mem, &order));
    if (order > highest) highest = order;
  }
  ck_assert_int_gt(highest, 6);
  ck_assert_good(&run);
}
END_TEST

START_TEST(one_step_mode_takes_one_step_at_a_time) {
  open_method(_i, 1.0e-6);
  for (int k = 1; k <= 50; k++) {
    const sunrealtype before = run.t;
    ck_assert_success(&run, run_step(&run));
    ck_assert_int_eq(run_steps(&run), k);
    ck_assert_double_gt(run.t, before);
  }
  ck_assert_int_eq(run_stats(&run).noutputs,
                   0); /* states at the ends of steps are already projected */
}
END_TEST

START_TEST(backward_in_time_is_the_mirrored_motion) {
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, run_to(&run, -1.5));
  ck_assert_double_eq(run.t, -1.5);
  /* released at rest: y(-t) = y(t), y'(-t) = -y'(t) */
  run.t = 1.5;
  entries(run.y)[2] *= -1.0;
  entries(run.y)[3] *= -1.0;
  ck_assert_good(&run);
}
END_TEST

START_TEST(a_restart_repeats_the_run_bit_by_bit) {
  open_method(_i, 1.0e-6);
  N_Vector y0 = vector_copy(run.y), first = vector_copy(run.y);
  ck_assert_success(&run, run_to(&run, 1.0));
  N_VScale(1.0, run.y, first);
  const IntegratorCounters stats = run_stats(&run);
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, y0));
  ck_assert_int_eq(run_stats(&run).nproj, 0);
  ck_assert_int_eq(run_stats(&run).nce, 0);
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_int_eq(same_bits(run.y, first), 1);
  ck_assert_int_eq(run_stats(&run).nproj, stats.nproj);
  ck_assert_int_eq(run_stats(&run).niters, stats.niters);
  N_VDestroy(y0);
  N_VDestroy(first);
}
END_TEST

/* Options of CVODES reach it through CPIntegratorGetCVodeMem. */
START_TEST(the_maximum_order_and_stability_detection_are_cvodes_own) {
  int order, highest = 0;
  open_method(0, 1.0e-8);
  ck_assert_success(&run, CVodeSetMaxOrd(run.cvode_mem, 3));
  ck_assert_success(&run, CVodeSetStabLimDet(run.cvode_mem, SUNTRUE));
  while (run.t < 1.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CVodeGetLastOrder(run.cvode_mem, &order));
    if (order > highest) highest = order;
  }
  ck_assert_int_eq(highest, 3);
  ck_assert_good(&run);
}
END_TEST

/* ---- roots and stop times ---- */

/* The lowest point. */
static int below_the_pivot(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = N_VGetArrayPointer(y)[0];
  return 0;
}

/* At a root the state is projected. The root is that of CVODES' interpolant, and differs from the
 * exact one by the error of the state divided by the speed sqrt(2 g L) there. */
START_TEST(roots_are_located_and_their_state_is_projected) {
  int roots = 0, info;
  open_method(_i, 1.0e-6);
  const Pendulum *p = &run.world.p;
  ck_assert_success(&run, CVodeRootInit(run.cvode_mem, 1, below_the_pivot));
  while (run.t < 3.0) {
    const int flag = run_to(&run, 3.0);
    if (flag == CP_SUCCESS) break;
    ck_assert_int_eq(flag, CV_ROOT_RETURN);
    ck_assert_success(&run, CVodeGetRootInfo(run.cvode_mem, &info));
    roots++;
    ck_assert_int_eq(info, roots % 2 ? -1 : 1);
    ck_assert_good(&run);
    /* quarter period T/4, then every half period; T = 2 s at g = PENDULUM_G_PERIOD2, L = 1 */
    const sunrealtype T     = 2.0 * sqrt(PENDULUM_G_PERIOD2 / p->g);
    const sunrealtype speed = sqrt(2.0 * p->g * p->L);
    ck_assert_bound(&run, fabs(run.t - T * (2 * roots - 1) / 4.0), error_bound(&run) / speed);
  }
  ck_assert_int_eq(roots, 3); /* 0.59, 1.78, 2.96 */
}
END_TEST

/* For roots where the projection moves the height */
static int low_enough(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = N_VGetArrayPointer(y)[1] + 0.6;
  return 0;
}

/* CVODES locates a root to 100 roundoffs of t and h. At the projected state g is zero up to that,
 * and up to the change by the second of two projections: the square of the violation, which is
 * about 10 tolerances. */
START_TEST(functions_of_cpodes_are_zero_at_the_state_handed_out) {
  sunrealtype h, low, high;
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CPIntegratorRootInit(run.mem, 1, low_enough));
  ck_assert_flag(&run, CPIntegratorGetRootWindow(run.mem, &low, &high), CP_NO_INIT);
  ck_assert_flag(&run, run_to(&run, 3.0), CV_ROOT_RETURN);
  ck_assert_success(&run, CVodeGetLastStep(run.cvode_mem, &h));
  const sunrealtype width = 1.0e2 * SUN_UNIT_ROUNDOFF * (run.t + 2.0 * h);
  ck_assert_success(&run, CPIntegratorGetRootWindow(run.mem, &low, &high));
  ck_assert_double_eq(high, run.t);
  ck_assert_double_lt(low, high);
  ck_assert_bound(&run, high - low, width);
  const sunrealtype speed = sqrt(2.0 * run.world.p.g * run.world.p.L), again = 1.0e-10;
  ck_assert_bound(&run, fabs(N_VGetArrayPointer(run.y)[1] + 0.6), 2.0 * speed * width + again);
  ck_assert_flag(&run, CPIntegratorGetRootWindow(run.mem, NULL, &high), CP_ILL_INPUT);
  ck_assert_success(&run, run_to(&run, 0.7));
  ck_assert_flag(&run, CPIntegratorGetRootWindow(run.mem, &low, &high), CP_NO_INIT);
}
END_TEST

static long int roots_looked_for(void) {
  long int nge = 0;
  ck_assert_success(&run, CVodeGetNumGEvals(run.cvode_mem, &nge));
  return nge;
}

/* CVODES would search for a root up to there, in extrapolated states. */
START_TEST(tout_on_the_other_side_is_refused_before_a_root_is_looked_for) {
  const sunrealtype touts[] = {2.0, 1.0e200, 0.0};
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CVodeRootInit(run.cvode_mem, 1, below_the_pivot));
  ck_assert_success(&run, run_to(&run, -0.3));
  const long int nge = roots_looked_for();
  for (int k = 0; k < 3; k++) {
    ck_assert_flag(&run, run_to(&run, touts[k]), CP_ILL_INPUT);
    ck_assert_message(&run, "tout", "before the last step");
  }
  ck_assert_flag(&run, run_step(&run), CP_ILL_INPUT);
  ck_assert_message(&run, "tout", "smaller t");
  ck_assert_int_eq(roots_looked_for(), nge);
  ck_assert_success(&run, run_to(&run, -0.4));
  ck_assert_good(&run);
}
END_TEST

/* CVODES would go back to it. The root is at 0.59; tout lies in the same step. */
START_TEST(a_root_that_has_been_returned_is_not_found_again_by_output_before_it) {
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CVodeRootInit(run.cvode_mem, 1, below_the_pivot));
  ck_assert_flag(&run, run_to(&run, 3.0), CV_ROOT_RETURN);
  const sunrealtype root = run.t;
  for (int k = 1; k <= 3; k++) {
    const sunrealtype tout = root - k * 1.0e-5;
    ck_assert_success(&run, run_to(&run, tout));
    ck_assert_double_eq(run.t, tout);
    ck_assert_good(&run);
  }
  ck_assert_flag(&run, run_to(&run, 3.0), CV_ROOT_RETURN);
  ck_assert_double_gt(run.t, root + 1.0);
}
END_TEST

/* Distances from t0 = 0 whose squares underflow, a step of 0, and NaN. */
START_TEST(times_next_to_the_start_are_too_close) {
  const sunrealtype tiny[] = {4.9406564584124654e-324, 1.0e-310, 1.0e-160};
  for (int k = 0; k < 3; k++)
    for (int how = 0; how < 3; how++) {
      open_method(_i, 1.0e-6);
      if (how == 1) ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, tiny[k]));
      if (how == 2) ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, tiny[k]));
      const int flag = run_to(&run, how == 0 ? tiny[k] : 1.0);
      if (flag != CV_TOO_CLOSE) ck_assert_good(&run); /* a step of 1e-160 is possible */
      ck_assert(flag == CV_TOO_CLOSE || (k == 2 && how > 0));
      if (how == 1) ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, 10.0));
      if (how == 2) ck_assert_success(&run, CVodeSetInitStep(run.cvode_mem, 0.0));
      ck_assert_success(&run, run_to(&run, 1.0));
      ck_assert_good(&run);
    }
}
END_TEST

/* If tout is the stop time, SUNDIALS 6 returns CV_SUCCESS, and 7 CV_TSTOP_RETURN. */
START_TEST(the_integration_stops_at_tstop) {
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, 0.7));
  ck_assert_flag(&run, run_to(&run, 1.0), CV_TSTOP_RETURN);
  ck_assert_double_eq(run.t, 0.7);
  ck_assert_good(&run);
  ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, 0.9));
  const int flag = run_to(&run, 0.9);
  ck_assert(flag == CP_SUCCESS || flag == CV_TSTOP_RETURN);
  ck_assert_double_eq(run.t, 0.9);
  ck_assert_good(&run);
  if (flag == CP_SUCCESS) { /* then the stop is reported now */
    ck_assert_flag(&run, run_to(&run, 2.0), CV_TSTOP_RETURN);
    ck_assert_double_eq(run.t, 0.9);
  }
  ck_assert_success(&run, run_to(&run, 2.0));
  ck_assert_good(&run);
}
END_TEST

/* f is not called beyond the stop time. */
START_TEST(no_function_is_called_beyond_tstop) {
  open_method(_i, 1.0e-6);
  ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, 0.7));
  run.world.f = run.world.c = (Fault){0.7 * (1.0 + 1.0e-15), -1, -1, 0.0};
  ck_assert_flag(&run, run_to(&run, 1.0), CV_TSTOP_RETURN);
}
END_TEST

/* After the failure CVODES changes its step once more by the factor that it already contains,
 * unless tstop - t equals the step to the last bit. The long step would then end at tstop, with the
 * state of a later time. */
START_TEST(a_failure_before_tstop_does_not_let_the_next_step_go_beyond) {
  for (int steps = 3; steps < 24; steps++) {
    sunrealtype h = 0.0, reached = 0.0;
    open_method(_i, 1.0e-6);
    for (int k = 0; k < steps; k++) ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CVodeGetCurrentStep(run.cvode_mem, &h));
    ck_assert_success(&run, CVodeGetCurrentTime(run.cvode_mem, &reached));
    ck_assert_success(&run, CVodeSetStopTime(run.cvode_mem, reached + 0.97 * h));
    run.world.c = (Fault){reached, 1, -1, 0.0};
    ck_assert_flag(&run, run_to(&run, 1.0), CP_USERFUNC_FAIL);
    ck_assert_double_eq(run.t, reached);
    ck_assert_flag(&run, run_to(&run, 1.0), CV_TSTOP_RETURN);
    ck_assert_good(&run);
  }
}
END_TEST

/* ---- quadratures and sensitivities see projected states ---- */

static sunrealtype worst_seen;
static long int seen;

static void look(const World *world, N_Vector y) {
  worst_seen = fmax(worst_seen, violation_of(world, y));
  seen++;
}

static int length_quadrature(sunrealtype t, N_Vector y, N_Vector q, void *user_data) {
  (void)t;
  look(user_data, y);
  entries(q)[0] = hypot(entries(y)[2], entries(y)[3]);
  return 0;
}

static int looking_sensitivity(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                               N_Vector ySdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  (void)Ns, (void)t, (void)ydot, (void)iS, (void)yS, (void)tmp1, (void)tmp2;
  look(user_data, y);
  N_VConst(0.0, ySdot);
  return 0;
}

/* The arc of a quarter period is pi/2 L. */
START_TEST(quadratures_are_taken_of_projected_states) {
  open_method(_i, 1.0e-6);
  N_Vector q          = vector_of(1, NULL);
  const sunrealtype T = 2.0 * sqrt(PENDULUM_G_PERIOD2 / run.world.p.g);
  worst_seen          = 0.0;
  seen                = 0;
  ck_assert_success(&run, CVodeQuadInit(run.cvode_mem, length_quadrature, q));
  ck_assert_success(&run, CVodeQuadSStolerances(run.cvode_mem, 1.0e-6, 1.0e-6));
  ck_assert_success(&run, CVodeSetQuadErrCon(run.cvode_mem, SUNTRUE));
  ck_assert_success(&run, run_to(&run, T / 4.0));
  ck_assert_int_ge(seen, run_steps(&run));
  ck_assert_bound(&run, worst_seen, violation_bound(&run));
  ck_assert_success(&run, CVodeGetQuad(run.cvode_mem, &run.t, q));
  /* speed errors of error_bound over T/4, plus the quadrature's own */
  ck_assert_bound(&run, fabs(entries(q)[0] - acos(0.0)), (T / 4.0 + 1.0) * error_bound(&run));
  N_VDestroy(q);
}
END_TEST

START_TEST(staggered_sensitivities_see_projected_states) {
  open_method(_i, 1.0e-6);
  N_Vector s[1]             = {vector_of(PENDULUM_N, NULL)};
  SUNNonlinearSolver solver = inner_solver(run.method, run.y);
  worst_seen                = 0.0;
  seen                      = 0;
  ck_assert_success(&run, CVodeSensInit1(run.cvode_mem, 1, CV_STAGGERED1, looking_sensitivity, s));
  ck_assert_success(&run, CVodeSensSStolerances(run.cvode_mem, 1.0e-6, (sunrealtype[]){1.0e-6}));
  ck_assert_success(&run, CVodeSetNonlinearSolverSensStg1(run.cvode_mem, solver));
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_int_ge(seen, run_steps(&run));
  ck_assert_bound(&run, worst_seen, violation_bound(&run));
  CPIntegratorFree(&run.mem);
  SUNNonlinSolFree(solver);
  N_VDestroy(s[0]);
}
END_TEST

TEST_SUITE(features) {
  Suite *suite = suite_create("CVODES' features with projection");
  TCase *tc    = tcase_create("features");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, every_method_follows_the_exact_solution_on_the_manifold, 0, 12);
  tcase_add_test(tc, adams_uses_its_high_orders);
  tcase_add_test(tc, CVode_called_by_its_own_right_hand_side_ends_the_run);
  tcase_add_loop_test(tc, fixed_point_iteration_warns_once_where_stability_limits_the_steps, 0, 2);
  tcase_add_loop_test(tc, one_step_mode_takes_one_step_at_a_time, 0, 4);
  tcase_add_loop_test(tc, backward_in_time_is_the_mirrored_motion, 0, 4);
  tcase_add_loop_test(tc, a_restart_repeats_the_run_bit_by_bit, 0, 4);
  tcase_add_test(tc, the_maximum_order_and_stability_detection_are_cvodes_own);
  tcase_add_loop_test(tc, roots_are_located_and_their_state_is_projected, 0, 4);
  tcase_add_loop_test(tc, functions_of_cpodes_are_zero_at_the_state_handed_out, 0, 4);
  tcase_add_loop_test(tc, tout_on_the_other_side_is_refused_before_a_root_is_looked_for, 0, 4);
  tcase_add_loop_test(tc, a_root_that_has_been_returned_is_not_found_again_by_output_before_it, 0,
                      4);
  tcase_add_loop_test(tc, times_next_to_the_start_are_too_close, 0, 4);
  tcase_add_loop_test(tc, the_integration_stops_at_tstop, 0, 4);
  tcase_add_loop_test(tc, no_function_is_called_beyond_tstop, 0, 4);
  tcase_add_loop_test(tc, a_failure_before_tstop_does_not_let_the_next_step_go_beyond, 0, 4);
  tcase_add_loop_test(tc, quadratures_are_taken_of_projected_states, 0, 4);
  tcase_add_loop_test(tc, staggered_sensitivities_see_projected_states, 0, 4);
  suite_add_tcase(suite, tc);
  return suite;
}
