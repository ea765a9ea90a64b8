/* Projection for CVODES memory that a code already owns. */
#include "stepping/multistep/fixture.h"

/* A program that uses CVODES without cpodes. */
typedef struct {
  World world;
  void *cvode_mem;
  SUNNonlinearSolver inner;
  SUNMatrix A;
  SUNLinearSolver LS;
  N_Vector y;
  sunrealtype t;
} Program;

static Run run; /* the same problem by CPIntegratorCreate */
static Program prog;
static CPIntegrator mem;
static CPProjector P;
static MessageLog message;

static void program_open(Method method, sunrealtype tol) {
  Run *r = &run;
  prog = (Program){.world = {.p = run.world.p}, .cvode_mem = CVodeCreate(method.lmm, test_context)};
  prog.y = vector_of(PENDULUM_N, NULL);
  pendulum_initial(&prog.world.p, prog.y);
  prog.inner = inner_solver(method, prog.y);
  ck_assert_success(r, CVodeInit(prog.cvode_mem, world_rhs, 0.0, prog.y));
  ck_assert_success(r, CVodeSStolerances(prog.cvode_mem, tol, tol));
  ck_assert_success(r, CVodeSetUserData(prog.cvode_mem, &prog.world));
  ck_assert_success(r, CVodeSetMaxNumSteps(prog.cvode_mem, 100000));
  ck_assert_success(r, CVodeSetNonlinearSolver(prog.cvode_mem, prog.inner));
  if (method.inner != SUNNONLINEARSOLVER_ROOTFIND) return;
  Run lender = {.y = prog.y, .cvode_mem = prog.cvode_mem};
  run_add_linear_solver(&lender);
  prog.A  = lender.A;
  prog.LS = lender.LS;
}

static void program_close(void) {
  CVodeFree(&prog.cvode_mem);
  if (prog.inner) SUNNonlinSolFree(prog.inner);
  if (prog.LS) SUNLinSolFree(prog.LS);
  if (prog.A) SUNMatDestroy(prog.A);
  if (prog.y) N_VDestroy(prog.y);
}

static void attach(int lmm, SUNNonlinearSolver inner) {
  mem = CPIntegratorAttach(prog.cvode_mem, lmm == CV_BDF ? "bdf" : "ADAMS", inner, prog.y,
                           test_context);
  ck_assert_ptr_nonnull(mem);
  P = world_projector(&prog.world, prog.y);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &message), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
}

static void setup(void) {
  message = (MessageLog){0};
  mem     = NULL;
  P       = NULL;
  prog    = (Program){0};
  run_open(&run, ADAMS_FIXED_POINT, 1.0e-6);
}

static void teardown(void) {
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  program_close();
  run_close(&run);
}

static void open_both(int i) {
  run_close(&run);
  run_open(&run, methods[i], 1.0e-6);
  cvodes_defaults(
      run.cvode_mem); /* attached memory has its owner's settings, and vectors with their own norms */
  ck_assert_success(&run, CPIntegratorSetErrEst(run.mem, CP_ERREST_UNPROJECTED));
  program_open(methods[i], 1.0e-6);
}

START_TEST(attaching_is_the_same_as_creating) {
  open_both(_i);
  attach(run.method.lmm, prog.inner);
  while (run.t < 2.0) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1000.0, prog.y, &prog.t, CV_ONE_STEP), CP_SUCCESS);
    ck_assert_double_eq(run.t, prog.t);
    ck_assert_int_eq(same_bits(run.y, prog.y), 1);
  }
}
END_TEST

/* inner NULL: a Newton solver, CVODES' default. */
START_TEST(attaching_without_a_solver_takes_newtons) {
  open_both(0);
  attach(run.method.lmm, NULL);
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(same_bits(run.y, prog.y), 1);
}
END_TEST

/* CVODES alone leaves the manifold by its errors, 0.3 in time 1 and at most about 100 tolerances,
 * so the projector that is added must start from its own state. */
START_TEST(attaching_in_the_middle_of_a_run_goes_on_from_there) {
  open_both(_i);
  ck_assert_int_eq(CVode(prog.cvode_mem, 0.05, prog.y, &prog.t, CV_NORMAL), CV_SUCCESS);
  attach(run.method.lmm, prog.inner);
  const int flag = CPIntegratorEvolve(mem, 2.0, prog.y, &prog.t, CV_NORMAL);
  /* the drift was above the tolerance: this is reported, and repaired by a restart */
  if (flag == CP_INCONSISTENT_IC) {
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "CPIntegratorReInit");
    ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_TOO_LATE);
    ck_assert_int_eq(CPIntegratorReInit(mem, prog.t, prog.y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 2.0, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  } else ck_assert_int_eq(flag, CP_SUCCESS);
  ck_assert_double_eq(prog.t, 2.0);
  ck_assert_success(&run, run_to(&run, 2.0)); /* for its count of steps */
  N_VScale(1.0, prog.y, run.y);
  ck_assert_good(&run);
}
END_TEST

START_TEST(a_method_that_the_memory_does_not_have_is_noticed) {
  open_both(_i);
  attach(run.method.lmm == CV_BDF ? CV_ADAMS : CV_BDF, prog.inner);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 2.0, prog.y, &prog.t, CV_NORMAL), CP_SELFCHECK_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "lmm");
}
END_TEST

/* As in a program whose constraint function reads what its right-hand side reads. */
START_TEST(a_projector_without_data_gets_those_of_CVODES) {
  open_both(_i);
  attach(run.method.lmm, prog.inner);
  ck_assert_int_eq(CPProjectorSetUserData(P, NULL), CP_SUCCESS);
  while (run.t < 0.5) {
    ck_assert_success(&run, run_step(&run));
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1000.0, prog.y, &prog.t, CV_ONE_STEP), CP_SUCCESS);
    ck_assert_int_eq(same_bits(run.y, prog.y), 1);
  }
  const sunrealtype t = prog.t - 1.0e-3; /* an output, which is projected, too */
  ck_assert_int_eq(CPIntegratorGetDky(mem, t, 0, prog.y), CP_SUCCESS);
  ck_assert_success(&run, CPIntegratorGetDky(run.mem, t, 0, run.y));
  ck_assert_int_eq(same_bits(run.y, prog.y), 1);
  ck_assert_int_eq(CPIntegratorReInit(mem, 0.0, prog.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
}
END_TEST

static int no_sensitivity(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector yS,
                          N_Vector ySdot, void *data, N_Vector tmp1, N_Vector tmp2) {
  (void)Ns, (void)t, (void)y, (void)ydot, (void)iS, (void)yS, (void)data, (void)tmp1, (void)tmp2;
  N_VConst(0.0, ySdot);
  return 0;
}

START_TEST(memory_with_sensitivities_is_refused_until_they_are_freed) {
  open_both(_i);
  N_Vector s = vector_copy(prog.y);
  ck_assert_int_eq(CVodeSensInit1(prog.cvode_mem, 1, CV_STAGGERED1, no_sensitivity, &s), CV_SUCCESS);
  ck_assert_ptr_null(CPIntegratorAttach(prog.cvode_mem, run.method.lmm == CV_BDF ? "BDF" : "ADAMS",
                                        prog.inner, prog.y, test_context));
  CVodeSensFree(prog.cvode_mem);
  attach(run.method.lmm, prog.inner);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  N_VDestroy(s);
}
END_TEST

/* The owner's settings stay: CVodeSetNonlinearSolver would reset it to 3. */
static int set_calls;
static int count_set(SUNNonlinearSolver NLS, int maxiters) {
  (void)NLS, (void)maxiters;
  set_calls++;
  return 0;
}

START_TEST(attaching_and_freeing_leave_the_iteration_limit_alone) {
  open_both(1);
  prog.inner->ops->setmaxiters = count_set;
  set_calls                    = 0;
  attach(run.method.lmm, prog.inner);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.2, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  ck_assert_int_eq(set_calls, 0);
}
END_TEST

/* CPIntegratorFree restores the original state: the program continues with CVode and with the inner solver
 * in its place, and a new integration with CVODES alone equals, to the last bit, one that never
 * used cpodes. */
START_TEST(freeing_gives_the_memory_back) {
  N_Vector expected;
  open_both(_i);
  N_Vector y0 = vector_copy(prog.y);
  ck_assert_int_eq(CVode(prog.cvode_mem, 1.0, prog.y, &prog.t, CV_NORMAL), CV_SUCCESS);
  expected = vector_copy(prog.y);
  ck_assert_int_eq(CVodeReInit(prog.cvode_mem, 0.0, y0), CV_SUCCESS);

  attach(run.method.lmm, prog.inner);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  ck_assert_ptr_null(mem);
  ck_assert_int_eq(CVode(prog.cvode_mem, 1.0, prog.y, &prog.t, CV_NORMAL), CV_SUCCESS);
  ck_assert_success(&run, run_to(&run, 1.0));
  N_VScale(1.0, prog.y, run.y);
  ck_assert_bound(&run, error_of(&run), error_bound(&run));

  ck_assert_int_eq(CVodeReInit(prog.cvode_mem, 0.0, y0), CV_SUCCESS);
  ck_assert_int_eq(CVode(prog.cvode_mem, 1.0, prog.y, &prog.t, CV_NORMAL), CV_SUCCESS);
  ck_assert_int_eq(same_bits(prog.y, expected), 1);
  N_VDestroy(y0);
  N_VDestroy(expected);
}
END_TEST

/* cpodes' own Newton solver is freed as well: CVODES then needs another one, and a restart to
 * connect it to the linear solver. */
START_TEST(after_attaching_without_a_solver_cvodes_gets_another_one) {
  open_both(0);
  attach(run.method.lmm, NULL);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  ck_assert_int_eq(CVodeSetNonlinearSolver(prog.cvode_mem, prog.inner), CV_SUCCESS);
  ck_assert_int_eq(CVodeReInit(prog.cvode_mem, prog.t, prog.y), CV_SUCCESS);
  ck_assert_int_eq(CVode(prog.cvode_mem, 1.0, prog.y, &prog.t, CV_NORMAL), CV_SUCCESS);
  ck_assert_success(&run, run_to(&run, 1.0));
  N_VScale(1.0, prog.y, run.y);
  ck_assert_bound(&run, error_of(&run), error_bound(&run));
}
END_TEST

START_TEST(attached_memory_can_be_restarted) {
  open_both(_i);
  N_Vector y0 = vector_copy(prog.y);
  attach(run.method.lmm, prog.inner);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorReInit(mem, 0.0, y0), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, prog.y, &prog.t, CV_NORMAL), CP_SUCCESS);
  ck_assert_success(&run, run_to(&run, 1.0));
  ck_assert_int_eq(same_bits(run.y, prog.y), 1);
  ck_assert_int_eq(CPIntegratorInit(mem, world_rhs, 0.0, y0), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "CPIntegratorReInit");
  N_VDestroy(y0);
}
END_TEST

START_TEST(what_cannot_be_attached_is_refused) {
  N_Vector longer = vector_of(PENDULUM_N + 1, NULL);
  program_open(ADAMS_FIXED_POINT, 1.0e-6);
  void *raw = CVodeCreate(CV_ADAMS, test_context);
  ck_assert_ptr_null(CPIntegratorAttach(NULL, "ADAMS", prog.inner, prog.y, test_context));
  ck_assert_ptr_null(
      CPIntegratorAttach(raw, "ADAMS", prog.inner, prog.y, test_context)); /* no CVodeInit */
  ck_assert_ptr_null(CPIntegratorAttach(prog.cvode_mem, "DOP853", prog.inner, prog.y, test_context));
  ck_assert_ptr_null(CPIntegratorAttach(prog.cvode_mem, "ADAMS", prog.inner, NULL, test_context));
  ck_assert_ptr_null(CPIntegratorAttach(prog.cvode_mem, "ADAMS", prog.inner, longer, test_context));
  ck_assert_ptr_null(CPIntegratorAttach(prog.cvode_mem, "ADAMS", prog.inner, prog.y, NULL));
  N_Vector poor          = vector_of(PENDULUM_N, NULL);
  poor->ops->nvlinearsum = NULL;
  ck_assert_ptr_null(CPIntegratorAttach(prog.cvode_mem, "ADAMS", prog.inner, poor, test_context));
  N_VDestroy(poor);
  ck_assert_int_eq(CVode(prog.cvode_mem, 0.1, prog.y, &prog.t, CV_NORMAL), CV_SUCCESS);
  ck_assert_ptr_null(CPIntegratorAttach(prog.cvode_mem, "ADAMS", NULL, prog.y, test_context));
  ck_assert_int_eq(CVode(prog.cvode_mem, 0.2, prog.y, &prog.t, CV_NORMAL), CV_SUCCESS); /* unharmed */
  CVodeFree(&raw);
  N_VDestroy(longer);
}
END_TEST

static int no_root(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)y, (void)user_data;
  *g = 1.0;
  return 0;
}

static void assert_told(int flag) {
  ck_assert_int_lt(flag, 0);
  ck_assert_int_eq(message.count, 1);
  ck_assert_int_eq(message.code, flag);
  ck_assert_str_eq(message.text, CPObjectGetLastMessage(CP_OBJECT(mem)));
  message = (MessageLog){0};
}

/* CVODES tells the program, not the integrator, so its error belongs to the function that was
 * called. */
START_TEST(errors_of_cvodes_have_a_message_of_the_integrator) {
  N_Vector y = vector_of(PENDULUM_N, NULL);
  program_open(BDF_NEWTON, 1.0e-6);
  attach(CV_BDF, prog.inner);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &prog.t, CV_NORMAL), CP_SUCCESS);
  message = (MessageLog){0};
  assert_told(CPIntegratorGetDky(mem, 100.0, 0, y));
  assert_told(CPIntegratorGetDky(mem, 1.0, 20, y));
  assert_told(CPIntegratorRootInit(mem, 1, no_root));
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "CVodeRootInit");
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(attach) {
  Suite *suite = suite_create("attaching");
  TCase *tc    = tcase_create("attaching");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, attaching_is_the_same_as_creating, 0, 4);
  tcase_add_loop_test(tc, a_projector_without_data_gets_those_of_CVODES, 0, 4);
  tcase_add_loop_test(tc, memory_with_sensitivities_is_refused_until_they_are_freed, 0, 4);
  tcase_add_test(tc, attaching_without_a_solver_takes_newtons);
  tcase_add_loop_test(tc, attaching_in_the_middle_of_a_run_goes_on_from_there, 0, 4);
  tcase_add_loop_test(tc, a_method_that_the_memory_does_not_have_is_noticed, 0, 4);
  tcase_add_test(tc, attaching_and_freeing_leave_the_iteration_limit_alone);
  tcase_add_loop_test(tc, freeing_gives_the_memory_back, 0, 4);
  tcase_add_test(tc, after_attaching_without_a_solver_cvodes_gets_another_one);
  tcase_add_loop_test(tc, attached_memory_can_be_restarted, 0, 4);
  tcase_add_test(tc, what_cannot_be_attached_is_refused);
  tcase_add_test(tc, errors_of_cvodes_have_a_message_of_the_integrator);
  suite_add_tcase(suite, tc);
  return suite;
}
