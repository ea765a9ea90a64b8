/* CPIntegratorCalcIC on the slider-crank. */
#include "cpodes/stepping/stepper.h"
#include "stepping/multistep/fixture.h"

#include <math.h>
#include <models/slider_crank.h>
#include <string.h>

static SliderCrank crank;
static CPIntegrator mem;
static CPProjector P;
static N_Vector guess;
static MessageLog message;

static void create(N_Vector start) {
  N_Vector c  = vector_of(SLIDER_CRANK_M, NULL);
  SUNMatrix G = SUNDenseMatrix(SLIDER_CRANK_M, SLIDER_CRANK_N, test_context);
  crank       = slider_crank_haug();
  mem         = CPIntegratorCreate("BDF", test_context);
  P           = CPProjectorCreate(slider_crank_constraints, start, c, test_context);
  ck_assert_int_eq(CPProjectorSetUserData(P, &crank), CP_SUCCESS);
  ck_assert_int_eq(CPProjectorSetJacFn(P, slider_crank_jacobian, G), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &message), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, slider_crank_rhs, 0.0, start), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, P), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &crank), CP_SUCCESS);
  N_VDestroy(c);
  SUNMatDestroy(G);
}

/* Crank at 60 degrees; everything else is a poor guess. */
static void setup(void) {
  message = (MessageLog){0};
  guess   = VECTOR(1.0, 1.0, 0.0, 1.0, 0.0, 0.0);
  create(guess);
}

static void teardown(void) {
  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  N_VDestroy(guess);
}

static void tolerances(sunrealtype tol) {
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
}

/* The largest |c_i| of the integrator's start */
static sunrealtype violation(N_Vector y) {
  N_Vector c = vector_of(SLIDER_CRANK_M, NULL);
  slider_crank_constraints(0.0, y, c, &crank);
  const sunrealtype sup = N_VMaxNorm(c);
  N_VDestroy(c);
  return sup;
}

static N_Vector consistent(void) { return vector_copy(mem->y0); }

/* Rows have at most the length 1 + a + |velocities|, and the tolerance of a component is at most
 * tol (1 + 3): |c| <= eps tol * 4 * sqrt(6) * 4. */
#define BOUND(tol) (CP_EPS_DEFAULT * (tol)*4.0 * 2.5 * 4.0)

START_TEST(a_poor_guess_is_assembled) {
  tolerances(1.0e-8);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  N_Vector y = consistent();
  ck_assert_double_le(violation(y), BOUND(1.0e-8));
  /* the integration can start there: with a linear solver for BDF */
  Run lender = {.y = y, .cvode_mem = CPIntegratorGetCVodeMem(mem), .mem = mem};
  lender.A   = NULL;
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, NULL), CP_SUCCESS);
  SUNNonlinearSolver fixed_point = inner_solver(ADAMS_FIXED_POINT, y);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, fixed_point), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.1, y, &lender.t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(fixed_point);
  N_VDestroy(y);
}
END_TEST

/* A consistent start stays where it is, within the tolerance. */
START_TEST(a_consistent_start_stays) {
  slider_crank_initial(&crank, guess);
  ck_assert_int_eq(CPIntegratorReInit(mem, 0.0, guess), CP_SUCCESS);
  tolerances(1.0e-8);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  N_Vector y = consistent();
  ck_assert_double_le(max_distance(y, guess), 1.0e-14);
  N_VDestroy(y);
}
END_TEST

/* The crank's angle and speed are given; the rest has a closed form: sin p = -a sin q, x = cos
 * p + a cos q, and their rates. */
/* The pendulum hangs straight down up to cos(pi / 2) = 6e-17, with a velocity to the right: the
 * violation of the velocity constraint requires a vertical velocity of 6e-17, which is 60
 * tolerances. No start is nearer; one at 1e-14 exists. */
START_TEST(a_start_that_is_off_by_roundoff_is_consistent) {
  Run run;
  N_Vector straight = VECTOR(cos(2.0 * atan(1.0)), -1.0, 1.0, 0.0),
           skew     = VECTOR(1.0e-14, -1.0, 1.0, 0.0);
  run_open(&run, methods[_i], 1.0e-6);
  ck_assert_success(&run, CPIntegratorSStolerances(run.mem, 1.0e-6, 1.0e-18));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, straight));
  ck_assert_success(&run, run_step(&run));
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, skew));
  ck_assert_flag(&run, run_step(&run), CP_INCONSISTENT_IC);
  run_close(&run);
  N_VDestroy(straight);
  N_VDestroy(skew);
}
END_TEST

START_TEST(held_components_do_not_move_and_the_rest_follows) {
  const int id[] = {0, 1, 1, 0, 1, 1};
  tolerances(1.0e-10);
  ck_assert_int_eq(CPProjectorSetFree(P, id), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  N_Vector y          = consistent();
  const sunrealtype q = 1.0, u = 1.0, a = crank.a;
  const sunrealtype p = -asin(a * sin(q)), pd = -a * u * cos(q) / cos(p);
  ck_assert_double_eq(entries(y)[0], q);
  ck_assert_double_eq(entries(y)[3], u);
  const sunrealtype expected[] = {q, cos(p) + a * cos(q), p, u, -sin(p) * pd - a * sin(q) * u, pd};
  /* the inverse of the 2 x 2 blocks is at most 1/cos p < 1.2, applied to a residual of at most
   * BOUND */
  for (int i = 0; i < 6; i++)
    ck_assert_double_le(fabs(entries(y)[i] - expected[i]), 4.0 * BOUND(1.0e-10));
  N_VDestroy(y);
}
END_TEST

/* Without tolerances there are no error weights: the norm is Euclidean, and at least half of the
 * digits are accurate. */
START_TEST(no_tolerances_are_needed) {
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  N_Vector y = consistent();
  ck_assert_double_le(violation(y), BOUND(1.0e-8));
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.1, y, &(sunrealtype){0.0}, CV_NORMAL), CP_NO_INIT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "tolerances");
  N_VDestroy(y);
}
END_TEST

/* A second call changes nothing. */
START_TEST(calcic_is_idempotent) {
  tolerances(1.0e-8);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  N_Vector once = consistent();
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  N_Vector twice = consistent();
  ck_assert_double_le(max_distance(once, twice), CP_EPS_DEFAULT * 1.0e-8 * 4.0);
  N_VDestroy(once);
  N_VDestroy(twice);
}
END_TEST

/* q, x and p are held at values that do not close the loop. */
START_TEST(a_failure_leaves_y0_and_names_the_constraints) {
  const int id[] = {0, 0, 0, 1, 1, 1};
  tolerances(1.0e-8);
  ck_assert_int_eq(CPProjectorSetFree(P, id), CP_SUCCESS);
  const int flag = CPIntegratorCalcIC(mem, NULL);
  ck_assert_int_eq(flag, CP_IC_FAIL);
  ck_assert_int_eq(message.code, CP_IC_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "t = 0");
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)),
                     "violated most: constraint 1"); /* a sin 1 = 0.42, x: 0.27 */
  N_Vector y = consistent();
  ck_assert_int_eq(same_bits(y, guess), 1);
  N_VDestroy(y);
}
END_TEST

/* An impossible mechanism: the crank is longer than the rod and points where no slider reaches. */
START_TEST(an_impossible_mechanism_has_no_consistent_state) {
  const int id[] = {0, 1, 1, 0, 1, 1};
  crank.a        = 3.0;
  tolerances(1.0e-8);
  ck_assert_int_eq(CPProjectorSetFree(P, id), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_IC_FAIL);
  N_Vector y = consistent();
  ck_assert_int_eq(same_bits(y, guess), 1);
  N_VDestroy(y);
}
END_TEST

START_TEST(out_of_order_is_refused) {
  N_Vector y = vector_copy(guess), shorter = vector_of(2, NULL);
  ck_assert_int_eq(CPIntegratorCalcIC(NULL, NULL), CP_MEM_NULL);
  CPIntegrator fresh = CPIntegratorCreate("BDF", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(fresh), message_log, &message), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(fresh, y), CP_NO_INIT);
  ck_assert_int_eq(CPIntegratorInit(fresh, slider_crank_rhs, 0.0, guess), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(fresh, NULL), CP_NO_PROJECTOR);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(fresh)), "CPIntegratorSetProjector");
  ck_assert_int_eq(CPIntegratorCalcIC(fresh, shorter), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(fresh)), "6");
  CPIntegratorFree(&fresh);
  N_VDestroy(y);
  N_VDestroy(shorter);
}
END_TEST

START_TEST(initial_conditions_after_the_first_step_are_too_late) {
  sunrealtype t;
  SUNNonlinearSolver fixed_point = inner_solver(ADAMS_FIXED_POINT, guess);
  tolerances(1.0e-6);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, fixed_point), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, guess, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_TOO_LATE);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "CPIntegratorReInit");
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(fixed_point);
}
END_TEST

/* User functions that fail: their codes, and an unchanged guess. */
static int failing_flag;
static int failing(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  slider_crank_constraints(t, y, c, user_data);
  return failing_flag;
}

START_TEST(a_failing_constraint_function_is_named) {
  N_Vector c        = vector_of(SLIDER_CRANK_M, NULL);
  CPProjector fails = CPProjectorCreate(failing, guess, c, test_context);
  ck_assert_int_eq(CPProjectorSetUserData(fails, &crank), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, fails), CP_SUCCESS);
  tolerances(1.0e-8);
  failing_flag = -1;
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_USERFUNC_FAIL);
  failing_flag = 1;
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_REPTD_USERFUNC_ERR);
  N_Vector y = consistent();
  ck_assert_int_eq(same_bits(y, guess), 1);
  failing_flag = 0;
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  CPProjectorFree(&fails);
  N_VDestroy(c);
  N_VDestroy(y);
}
END_TEST

/* With the user's own projection */
static int closing(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  (void)t, (void)eps;
  const sunrealtype a = ((SliderCrank *)user_data)->a, q = entries(yhat)[0], u = entries(yhat)[3];
  const sunrealtype p = -asin(a * sin(q)), pd = -a * u * cos(q) / cos(p);
  const sunrealtype z[] = {q, cos(p) + a * cos(q), p, u, -sin(p) * pd - a * sin(q) * u, pd};
  memcpy(entries(y), z, sizeof z);
  return 0;
}

START_TEST(a_user_projection_makes_the_start_consistent) {
  CPProjector user = projector_of_user(closing, NULL, guess);
  ck_assert_int_eq(CPProjectorSetUserData(user, &crank), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, user), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorCalcIC(mem, NULL), CP_SUCCESS);
  N_Vector y = consistent();
  ck_assert_double_le(violation(y), 1.0e-15);
  CPIntegratorFree(&mem);
  CPProjectorFree(&user);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(initial) {
  Suite *suite = suite_create("consistent initial conditions");
  TCase *tc    = tcase_create("initial");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, a_poor_guess_is_assembled);
  tcase_add_test(tc, a_consistent_start_stays);
  tcase_add_loop_test(tc, a_start_that_is_off_by_roundoff_is_consistent, 0, n_methods);
  tcase_add_test(tc, held_components_do_not_move_and_the_rest_follows);
  tcase_add_test(tc, no_tolerances_are_needed);
  tcase_add_test(tc, calcic_is_idempotent);
  tcase_add_test(tc, a_failure_leaves_y0_and_names_the_constraints);
  tcase_add_test(tc, an_impossible_mechanism_has_no_consistent_state);
  tcase_add_test(tc, out_of_order_is_refused);
  tcase_add_test(tc, initial_conditions_after_the_first_step_are_too_late);
  tcase_add_test(tc, a_failing_constraint_function_is_named);
  tcase_add_test(tc, a_user_projection_makes_the_start_consistent);
  suite_add_tcase(suite, tc);
  return suite;
}
