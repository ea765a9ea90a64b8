/* Wrong use of sensitivities: every case is a named error with a remedy. */
#include "cpodes/sensitivity/sens_impl.h"
#include "sensitivity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static SensRun r;
static Run *const run = &r.run;

static void open_states(void) {
  test_context_setup();
  sens_open_states(&r, ADAMS_FIXED_POINT, 1.0e-6);
}

static void close_states(void) {
  sens_close(&r);
  test_context_teardown();
}

#define ck_assert_error(call, code, ...) \
  do {                                   \
    ck_assert_flag(run, call, code);     \
    ck_assert_message(run, __VA_ARGS__); \
  } while (0)

static int first_component(sunrealtype t, N_Vector y, sunrealtype *values, void *user_data) {
  (void)t, (void)user_data;
  values[0] = entries(y)[0];
  return 0;
}

/* ---- creation, and the integrator ---- */

static CPSens sens; /* of the present test */

/* Creates sensitivities of this start, which an integrator then gets; returns the first failure. */
static int set(CPIntegrator mem, int Ns, N_Vector *y0S) {
  CPParameters parameters = sens_parameters(&r);
  parameters.n = Ns, parameters.y0S = y0S;
  CPSensFree(&sens);
  sens = CPSensCreate(&parameters, run->y, test_context);
  return sens ? CPIntegratorSetSens(mem, sens) : CP_ILL_INPUT;
}

START_TEST(a_number_that_is_not_positive_is_refused) {
  ck_assert_int_eq(set(run->mem, 0, r.s), CP_ILL_INPUT);
  ck_assert_int_eq(set(run->mem, -1, r.s), CP_ILL_INPUT);
  ck_assert_ptr_null(sens);
}
END_TEST

START_TEST(a_bad_start_is_refused) {
  N_Vector bad[NS] = {r.s[0], NULL}, shorter = vector_of(3, NULL);
  ck_assert_int_eq(set(run->mem, NS, bad), CP_ILL_INPUT);
  bad[1] = shorter;
  ck_assert_int_eq(set(run->mem, NS, bad), CP_ILL_INPUT);
  entries(r.s[1])[2] = NAN;
  ck_assert_int_eq(set(run->mem, NS, r.s), CP_ILL_INPUT);
  ck_assert_ptr_null(sens);
  /* of another length than the integrator's state */
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = &run->world.p.L,
                                   .y0S = &shorter};
  ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, shorter, test_context));
  ck_assert_error(CPIntegratorSetSens(run->mem, sens), CP_ILL_INPUT, "yS0[0]", "4");
  CPSensFree(&sens);
  N_VDestroy(shorter);
}
END_TEST

START_TEST(sensitivities_after_the_first_step_are_too_late) {
  ck_assert_success(run, run_step(run));
  ck_assert_error(set(run->mem, NS, r.s), CP_TOO_LATE, "CPIntegratorReInit");
  CPSensFree(&sens);
}
END_TEST

START_TEST(without_an_integrator_there_are_none) {
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context),
               one = CPIntegratorCreate("DOP853", test_context);
  ck_assert_success(run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log));
  ck_assert_success(run, CPObjectSetErrHandlerFn(CP_OBJECT(one), message_log, &run->log));
  ck_assert_int_eq(set(mem, NS, r.s), CP_NO_INIT);
  ck_assert_int_eq(set(NULL, NS, r.s), CP_MEM_NULL);
  ck_assert_int_eq(set(one, NS, r.s), CP_NO_INIT);
  ck_assert_ptr_null(CPIntegratorGetSens(NULL, NULL));
  ck_assert_ptr_null(CPIntegratorGetSens(mem, NULL));
  ck_assert_ptr_null(CPIntegratorGetSens(one, NULL));
  CPSensFree(&sens);
  CPIntegratorFree(&mem);
  CPIntegratorFree(&one);
}
END_TEST

/* They can be replaced and removed, whichever of the objects is freed first. */
START_TEST(they_belong_to_one_integrator) {
  Run other;
  CPParameters known = CP_INIT(CPParameters);
  CPSens first       = NULL;
  run_open(&other, BDF_NEWTON, 1.0e-6);
  ck_assert_success(run, set(run->mem, NS, r.s));
  ck_assert_flag(&other, CPIntegratorSetSens(other.mem, sens), CP_ILL_INPUT);
  ck_assert_message(&other, "another integrator");
  ck_assert_ptr_eq(CPIntegratorGetSens(run->mem, &known), sens);
  ck_assert_int_eq(known.n, NS);
  ck_assert_ptr_eq(known.values, &run->world.p.L);
  ck_assert_double_eq(known.pbar[BY_G], run->world.p.g);
  ck_assert_int_eq(known.plist[BY_G], BY_G);
  ck_assert_double_eq(entries(known.y0S[BY_L])[0], 1.0);
  ck_assert_error(CPSensSetRhsFn(sens, NULL, NULL), CP_TOO_LATE, "CPIntegratorSetSens");
  first = sens, sens = NULL;
  ck_assert_success(run, set(run->mem, 1, r.s));
  ck_assert_success(&other, CPIntegratorSetSens(other.mem, first));
  ck_assert_success(&other, CPSensCalcIC(first, NULL));
  ck_assert_success(run, CPIntegratorSetSens(run->mem, NULL));
  ck_assert_success(run, CPIntegratorSetSens(run->mem, NULL));
  ck_assert_success(run, run_step(run)); /* without any */
  ck_assert_success(&other, run_step(&other));
  run_close(&other);
  CPSensFree(&first);
  CPSensFree(&sens);
  CPSensFree(NULL);
}
END_TEST

/* ---- functions that need sensitivities, or an integrator that computes them ---- */

static int use(int which, CPSens of) {
  switch (which) {
  case 0: return CPSensReInit(of, r.s);
  case 1: return CPSensCalcIC(of, r.s);
  case 2: return CPSensGetDky(of, 0.0, 0, r.s);
  case 3: return CPSensSetRhsFn(of, NULL, NULL);
  default: return CPSensSetErrCon(of, 1);
  }
}
enum { NEED_ONE = 3, USES = 5 };

START_TEST(every_function_names_what_has_to_come_first) {
  const CPParameters parameters = sens_parameters(&r);
  ck_assert_int_eq(use(_i, NULL), CP_MEM_NULL);
  ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, run->y, test_context));
  ck_assert_int_eq(use(_i, sens), _i < NEED_ONE ? CP_NO_INIT : CP_SUCCESS);
  CPSensFree(&sens);
}
END_TEST

START_TEST(every_argument_is_checked) {
  N_Vector shorter = vector_of(3, NULL), some[NS] = {r.s[0], NULL};
  const CPParameters parameters = sens_parameters(&r);
  ck_assert_ptr_null(CPSensCreate(NULL, run->y, test_context));
  ck_assert_ptr_null(CPSensCreate(&parameters, NULL, test_context));
  ck_assert_ptr_null(CPSensCreate(&parameters, run->y, NULL));
  sens_start(&r, 1);
  ck_assert_error(CPSensGetDky(r.sens, 0.0, 0, NULL), CP_ILL_INPUT, "yS");
  ck_assert_error(CPSensGetDky(r.sens, 0.0, 0, some), CP_ILL_INPUT, "yS");
  some[1] = shorter;
  ck_assert_error(CPSensGetDky(r.sens, 0.0, 0, some), CP_ILL_INPUT, "length", "3");
  ck_assert_error(CPSensReInit(r.sens, some), CP_ILL_INPUT, "yS0[1]");
  N_VDestroy(shorter);
}
END_TEST

/* ---- parameters ---- */

START_TEST(bad_parameters_are_named) {
  sunrealtype *p = &run->world.p.L, none[NS] = {1.0, 0.0}, minus[NS] = {1.0, -1.0},
              tiny[NS] = {1.0, 1.0e-16}, huge[NS] = {1.0, INFINITY};
  const int before[NS]            = {0, -1};
  const CPParameters bad[]        = {{CP_SIZED(CPParameters), .n = NS},
                                     {CP_SIZED(CPParameters), .n = NS, .values = p, .pbar = none},
                                     {CP_SIZED(CPParameters), .n = NS, .values = p, .pbar = minus},
                                     {CP_SIZED(CPParameters), .n = NS, .values = p, .pbar = huge},
                                     {CP_SIZED(CPParameters), .n = 1, .values = none + 1},
                                     {CP_SIZED(CPParameters), .n = NS, .values = p, .plist = before},
                                     {CP_SIZED(CPParameters), .n = NS, .values = p, .pbar = tiny},
                                     {CP_SIZED(CPParameters), .n = NS, .values = none}};
  const CPFunctional F            = {CP_SIZED(CPFunctional), .ng = 1, .end = first_component};
  static const char *const said[] = {"values",    "pbar[1]",  "pbar[1]",  "pbar[1]",
                                     "values[0]", "plist[1]", "roundoff", "values[1]"};
  sunrealtype G, dG[NS];
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    ck_assert_ptr_null(CPSensCreate(&bad[k], run->y, test_context));
    ck_assert_error(CPIntegratorGradient(run->mem, 1.0, &F, &bad[k], NULL, &G, dG, NULL),
                    CP_ILL_INPUT, said[k]);
  }
  const CPParameters unknown = {CP_SIZED(CPParameters), .n = NS, .pbar = minus};
  minus[1]                   = 1.0;
  ck_assert_ptr_nonnull(sens = CPSensCreate(&unknown, run->y, test_context));
  ck_assert_error(CPIntegratorSetSens(run->mem, sens), CP_ILL_INPUT, "df/dp", "CPSensSetRhsFn");
  CPSensFree(&sens);
}
END_TEST

/* ---- dc/dp ---- */

static sunrealtype factor;
static int wrong_rows(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data) {
  const int flag = sens_rows(t, y, iS, cp, user_data);
  N_VScale(factor, cp, cp);
  return flag;
}

START_TEST(dcdp_that_is_not_the_derivative_of_c_is_found_at_the_start) {
  const sunrealtype factors[] = {0.0, -1.0, 2.0, 1.001};
  factor                      = factors[_i];
  sens_start_with(&r, 1, wrong_rows);
  ck_assert_error(sens_step(&r), CP_CNSTRSENS_WRONG, "sensitivity 0", "CPSensSetRhsFn");
}
END_TEST

START_TEST(dcdp_that_is_right_is_not_refused_at_any_tolerance) {
  const sunrealtype tol[] = {1e-3, 1e-6, 1e-10, 1e-13};
  sens_close(&r);
  sens_open_rows(&r, ADAMS_FIXED_POINT, tol[_i]);
  ck_assert_success(run, sens_step(&r));
}
END_TEST

/* The right-hand side of the pendulum's sensitivities, by differences of this test's own */
static int known_rhs(int Ns, sunrealtype t, N_Vector y, N_Vector ydot, int iS, N_Vector s,
                     N_Vector sdot, void *user_data, N_Vector tmp1, N_Vector tmp2) {
  sunrealtype *p      = iS == BY_L ? &run->world.p.L : &run->world.p.g;
  const sunrealtype e = 1.0e-6, kept = *p;
  (void)Ns, (void)ydot;
  N_VConst(0.0, sdot);
  for (int side = -1; side <= 1; side += 2) {
    *p = kept + side * e;
    N_VLinearSum(1.0, y, side * e, s, tmp1);
    if (world_rhs(t, tmp1, tmp2, user_data)) return -1;
    N_VLinearSum(1.0, sdot, side / (2.0 * e), tmp2, sdot);
  }
  *p = kept;
  return 0;
}

/* Without the parameters a comparison is impossible. */
START_TEST(dcdp_alone_is_believed) {
  const sunrealtype size[NS]    = {1.0, 1.0};
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .pbar = size, .y0S = r.s};
  ck_assert_ptr_nonnull(r.sens = CPSensCreate(&parameters, run->y, test_context));
  ck_assert_int_eq(CPSensSetRhsFn(r.sens, known_rhs, sens_rows), CP_SUCCESS);
  ck_assert_success(run, CPIntegratorSetSens(run->mem, r.sens));
  ck_assert_success(run, CVodeSensSStolerances(run->cvode_mem, 1e-6, (sunrealtype *)size));
  ck_assert_success(run, sens_step(&r));
  ck_assert_double_le(residual_of(&r), SENS_ROUNDOFF);
}
END_TEST

/* ---- the order of calls ---- */

START_TEST(a_new_start_of_the_states_wants_one_of_the_sensitivities) {
  N_Vector y0 = vector_copy(run->y), *s0 = N_VCloneVectorArray(NS, y0);
  for (int i = 0; i < NS; i++) N_VScale(1.0, r.s[i], s0[i]);
  sens_start(&r, 1);
  sens_until(&r, 0.1);
  ck_assert_error(CPSensReInit(r.sens, s0), CP_TOO_LATE, "CPIntegratorReInit");
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_error(run_step(run), CP_NO_INIT, "CPSensReInit");
  ck_assert_success(run, CPSensReInit(r.sens, s0));
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0)); /* in the wrong order */
  ck_assert_error(run_step(run), CP_NO_INIT, "CPSensReInit");
  ck_assert_success(run, CPSensReInit(r.sens, s0));
  ck_assert_success(run, sens_step(&r));
  N_VDestroy(y0);
  N_VDestroyVectorArray(s0, NS);
}
END_TEST

START_TEST(sensitivities_can_be_switched_off) {
  N_Vector y0 = vector_copy(run->y);
  sens_start(&r, 1);
  ck_assert_success(run, CVodeSensToggleOff(run->cvode_mem));
  const int messages = run->log.count;
  ck_assert_success(run, run_to(run, 0.5));
  ck_assert_success(run, run_to(run, 1.0));
  ck_assert_int_eq(run->log.count, messages);
  ck_assert_int_eq(sens_stats(&r).nproj, 0);
  ck_assert_success(run, CPIntegratorReInit(run->mem, 0.0, y0));
  ck_assert_success(run, CPSensReInit(r.sens, r.s));
  ck_assert_success(run, sens_step(&r));
  ck_assert_int_eq(sens_stats(&r).nproj, NS);
  N_VDestroy(y0);
}
END_TEST

START_TEST(a_solver_that_goes_round_the_projection_is_found) {
  sens_start(&r, 1);
  SUNNonlinearSolver other = SUNNonlinSol_FixedPoint(run->y, 0, test_context);
  ck_assert_success(run, CVodeSetNonlinearSolverSensStg1(run->cvode_mem, other));
  ck_assert_error(run_step(run), CP_BYPASSED, "CPIntegratorSetSens");
  SUNNonlinSolFree(other);
}
END_TEST

/* CVODES' own call bypasses cpodes: with CV_SIMULTANEOUS also for the states. */
START_TEST(simultaneous_sensitivities_of_cvodes_are_found) {
  ck_assert_success(run, CVodeSensInit1(run->cvode_mem, NS, CV_SIMULTANEOUS, NULL, r.s));
  ck_assert_success(run, CVodeSensEEtolerances(run->cvode_mem));
  sunrealtype size[NS]     = {1.0, 9.81};
  SUNNonlinearSolver fixed = SUNNonlinSol_FixedPointSens(NS + 1, run->y, 0, test_context);
  ck_assert_success(run, CVodeSetNonlinearSolverSensSim(run->cvode_mem, fixed));
  ck_assert_success(run, CVodeSetSensParams(run->cvode_mem, &run->world.p.L, size, NULL));
  ck_assert_error(run_step(run), CP_BYPASSED, "CV_STAGGERED1");
  SUNNonlinSolFree(fixed);
}
END_TEST

START_TEST(consistent_starts_need_a_projector_and_a_start) {
  sens_start(&r, 1);
  ck_assert_success(run, sens_step(&r));
  ck_assert_error(CPSensCalcIC(r.sens, NULL), CP_TOO_LATE, "CPIntegratorReInit");
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, NULL));
  ck_assert_error(CPSensCalcIC(r.sens, NULL), CP_NO_PROJECTOR, "CPIntegratorSetProjector");
}
END_TEST

START_TEST(a_projection_of_the_users_cannot_follow_parameters) {
  CPProjector P = projector_of_user(rod_projection, rod_error_projection, run->y);
  ck_assert_success(run, CPIntegratorSetProjector(run->mem, P));
  sens_start(&r, 0);
  const int unknown = sens_step(&r); /* it keeps G s = 0, and dx/dL = 1 at the start */
  CPSensFree(&r.sens);
  sens_start_with(&r, 0, sens_rows);
  const int given = sens_step(&r);
  CPIntegratorSetProjector(run->mem, NULL);
  CPProjectorFree(&P);
  ck_assert_int_eq(unknown, CP_INCONSISTENT_IC);
  ck_assert_flag(run, given, CP_NOT_SUPPORTED);
}
END_TEST

/* ---- attached memory ---- */

START_TEST(attached_memory_has_sensitivities_and_gets_its_solver_back) {
  sunrealtype t;
  void *cvode_mem          = CVodeCreate(CV_ADAMS, test_context);
  SUNNonlinearSolver inner = SUNNonlinSol_FixedPoint(run->y, 0, test_context);
  ck_assert_success(run, CVodeInit(cvode_mem, world_rhs, 0.0, run->y));
  ck_assert_success(run, CVodeSStolerances(cvode_mem, 1e-6, 1e-6));
  ck_assert_success(run, CVodeSetNonlinearSolver(cvode_mem, inner));
  ck_assert_success(run, CVodeSetUserData(cvode_mem, &run->world));
  CPIntegrator mem = CPIntegratorAttach(cvode_mem, "ADAMS", inner, run->y, test_context);
  CPIntegrator own = run->mem;
  run->mem         = mem; /* so that sens_rhs finds it */
  ck_assert_success(run, CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &run->log));
  ck_assert_success(run, CPIntegratorSetProjector(mem, run->P));
  const CPParameters parameters = sens_parameters(&r);
  ck_assert_ptr_nonnull(r.sens = CPSensCreate(&parameters, run->y, test_context));
  ck_assert_success(run, CPIntegratorSetSens(mem, r.sens)); /* f is not known */
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = first_component};
  sunrealtype G, dG[NS];
  ck_assert_error(CPIntegratorGradient(mem, 0.1, &F, NULL, NULL, &G, dG, NULL), CP_NOT_SUPPORTED,
                  "options->adjoint");
  ck_assert_success(run, CPIntegratorEvolve(mem, 0.1, run->y, &t, CV_ONE_STEP));
  ck_assert_int_eq(CPSensGetDky(r.sens, t, 0, r.s), CP_SUCCESS);
  ck_assert_double_le(residual_of(&r), SENS_ROUNDOFF);
  CPIntegratorFree(&mem);
  run->mem = own;
  ck_assert_int_eq(CVode(cvode_mem, 1.0, run->y, &t, CV_NORMAL), CV_SUCCESS); /* states alone */
  ck_assert_int_eq(CVodeReInit(cvode_mem, 1.0, run->y), CV_SUCCESS);
  ck_assert_int_eq(CVode(cvode_mem, 2.0, run->y, &t, CV_NORMAL),
                   CV_SUCCESS); /* after all solvers were set up */
  CVodeFree(&cvode_mem);
  SUNNonlinSolFree(inner);
}
END_TEST

/* ---- differences in which f fails ---- */

static int failures, what; /* remaining failures; 1 and -1 are returned, 0 puts a NaN into f */

static int fails_where_moved(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const World *world = user_data;
  const int flag     = pendulum_rhs(t, y, ydot, (void *)&world->p);
  if (world->p.L == 1.0 || failures == 0) return flag;
  failures--;
  if (what == 0) entries(ydot)[2] = NAN;
  return what;
}

START_TEST(a_failure_leaves_the_parameters_as_they_are) {
  static const int kinds[] = {-1, 1, 0};
  Run other;
  run_create(&other, ADAMS_FIXED_POINT, 1.0e-6);
  what        = kinds[_i];
  failures    = 0;
  other.inner = inner_solver(other.method, other.y);
  ck_assert_success(&other, CPIntegratorSetNonlinearSolver(other.mem, other.inner));
  ck_assert_success(&other, CPIntegratorInit(other.mem, fails_where_moved, 0.0, other.y));
  ck_assert_success(&other, CPIntegratorSStolerances(other.mem, 1.0e-6, 1.0e-6));
  ck_assert_success(&other, CVodeSetUserData(other.cvode_mem, &other.world));
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = &other.world.p.L,
                                   .y0S = r.s};
  ck_assert_ptr_nonnull(r.sens = CPSensCreate(&parameters, other.y, test_context));
  ck_assert_success(&other, CPIntegratorSetSens(other.mem, r.sens));
  ck_assert_success(&other, run_to(&other, 0.2));
  failures = 1; /* the step is repeated, or the run ends */
  run_to(&other, 1.0);
  ck_assert_double_eq(other.world.p.L, 1.0);
  failures = 1000000;
  ck_assert_int_lt(run_to(&other, 2.0), 0);
  ck_assert_double_eq(other.world.p.L, 1.0);
  run_close(&other);
}
END_TEST

START_TEST(before_the_first_step_there_is_the_start_alone) {
  sens_start(&r, 1);
  for (int i = 0; i < NS; i++) N_VConst(7.0, r.s[i]);
  ck_assert_success(run, CPSensGetDky(r.sens, 0, 0, r.s));
  ck_assert_double_eq(entries(r.s[BY_L])[0], 1.0);
  ck_assert_double_eq(N_VMaxNorm(r.s[BY_G]), 0.0);
  ck_assert_error(CPSensGetDky(r.sens, 0, 1, r.s), CP_NO_INIT, "no step");
  ck_assert_error(CPSensGetDky(r.sens, 0.1, 0, r.s), CP_NO_INIT, "no step");
}
END_TEST

/* They are switched off by an adjoint gradient: another projector, a new start, and the end of the integrator. */
START_TEST(switched_off_they_survive_all_changes) {
  SensRun one;
  sunrealtype G, dG[NS];
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = first_component};
  for (int again = 0; again < 2; again++) {
    sens_open(&one, methods[_i], 1.0e-6);
    N_Vector y0 = vector_copy(one.run.y);
    ck_assert_success(&one.run,
                      CPIntegratorGradient(one.run.mem, 0.3, &F, NULL, NULL, &G, dG, NULL));
    if (again) {
      CPProjectorFree(&one.run.P);
      one.run.P = world_projector(&one.run.world, one.run.y);
      ck_assert_success(&one.run, CPIntegratorSetProjector(one.run.mem, one.run.P));
      ck_assert_success(&one.run, CPIntegratorReInit(one.run.mem, 0.0, y0));
      ck_assert_success(&one.run, CPSensReInit(one.sens, NULL));
      sens_until(&one, 0.5);
      ck_assert_bound(&one.run, residual_of(&one), SENS_ROUNDOFF);
    }
    N_VDestroy(y0);
    sens_close(&one);
  }
}
END_TEST

START_TEST(every_code_has_its_name) {
  char *name = CPGetReturnFlagName(CP_CNSTRSENS_WRONG);
  ck_assert_str_eq(name, "CP_CNSTRSENS_WRONG");
  free(name);
}
END_TEST

TEST_SUITE(errors) {
  Suite *suite = suite_create("Wrong use of sensitivities");
  TCase *tc    = tcase_create("errors");
  tcase_add_checked_fixture(tc, open_states, close_states);
  tcase_add_test(tc, a_number_that_is_not_positive_is_refused);
  tcase_add_test(tc, a_bad_start_is_refused);
  tcase_add_test(tc, sensitivities_after_the_first_step_are_too_late);
  tcase_add_test(tc, without_an_integrator_there_are_none);
  tcase_add_test(tc, they_belong_to_one_integrator);
  tcase_add_loop_test(tc, every_function_names_what_has_to_come_first, 0, USES);
  tcase_add_test(tc, every_argument_is_checked);
  tcase_add_test(tc, bad_parameters_are_named);
  tcase_add_test(tc, before_the_first_step_there_is_the_start_alone);
  tcase_add_loop_test(tc, a_failure_leaves_the_parameters_as_they_are, 0, 3);
  tcase_add_loop_test(tc, dcdp_that_is_not_the_derivative_of_c_is_found_at_the_start, 0, 4);
  tcase_add_loop_test(tc, dcdp_that_is_right_is_not_refused_at_any_tolerance, 0, 4);
  tcase_add_test(tc, dcdp_alone_is_believed);
  tcase_add_test(tc, a_new_start_of_the_states_wants_one_of_the_sensitivities);
  tcase_add_test(tc, sensitivities_can_be_switched_off);
  tcase_add_test(tc, a_solver_that_goes_round_the_projection_is_found);
  tcase_add_test(tc, simultaneous_sensitivities_of_cvodes_are_found);
  tcase_add_test(tc, consistent_starts_need_a_projector_and_a_start);
  tcase_add_test(tc, a_projection_of_the_users_cannot_follow_parameters);
  tcase_add_test(tc, attached_memory_has_sensitivities_and_gets_its_solver_back);
  tcase_add_loop_test(tc, switched_off_they_survive_all_changes, 0, ALL_METHODS);
  tcase_add_test(tc, every_code_has_its_name);
  suite_add_tcase(suite, tc);
  return suite;
}
