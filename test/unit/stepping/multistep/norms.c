/* The norms by which CVODES chooses its order: those at q-1 and q+1 are multiplied by the ratio
 * that the projection has caused in the one at q, and no other norm is. */
#include "fixture.h"

#include "cpodes/stepping/multistep/multistep_impl.h"

#include <math.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static Run run;

static void setup(void) { run_open(&run, BDF_NEWTON, 1.0e-6); }
static void teardown(void) { run_close(&run); }

static void open_method(int i, sunrealtype tol) {
  run_close(&run);
  run_open(&run, methods[i], tol);
}

/* ---- a vector that records its norms ---- */

static sunrealtype (*plain_norm)(N_Vector, N_Vector);
static N_Vector watched;       /* CVODES' zn[0] */
static long int norms, of_zn0; /* all, and those of zn[0] */

static sunrealtype spy(N_Vector x, N_Vector w) {
  norms++;
  of_zn0 += x == watched;
  return plain_norm(x, w);
}

/* The pendulum's state is normal to its circle: its projected norm would be 0, and CVODES would
 * never notice that the tolerances are too small. The vector's own norm of zn[0] is computed once a
 * step. */
START_TEST(the_norm_of_the_state_is_never_projected) {
  CPIntegrator mem = CPIntegratorCreate(run.method.lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  N_Vector y       = N_VClone(run.y);
  N_VScale(1.0, run.y, y);
  plain_norm           = y->ops->nvwrmsnorm;
  y->ops->nvwrmsnorm   = spy;
  SUNNonlinearSolver F = SUNNonlinSol_FixedPoint(y, 0, test_context);
  ck_assert_int_eq(CPIntegratorInit(mem, world_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, F), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, run.P), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &run.world), CV_SUCCESS);
  N_Vector yn, f, zn1;
  sunrealtype t = 0.0, gamma, rl1, tn;
  void *data;
  CVodeGetNonlinearSystemData(CPIntegratorGetCVodeMem(mem), &tn, &watched, &yn, &f, &gamma, &rl1,
                              &zn1, &data);
  of_zn0 = 0;
  for (int k = 0; k < 100; k++)
    ck_assert_int_eq(CPIntegratorEvolve(mem, 10.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
  ck_assert_int_eq(of_zn0, 100);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(F);
  N_VDestroy(y);
}
END_TEST

/* Vectors that a user clones from those of callbacks know nothing of the integrator: they can be used
 * after it is freed. */
static N_Vector kept;
static int keep_a_clone(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  if (!kept) kept = N_VClone(ydot);
  return world_rhs(t, y, ydot, user_data);
}

START_TEST(clones_of_the_vectors_of_callbacks_are_ordinary) {
  CPIntegrator mem     = CPIntegratorCreate("ADAMS", test_context);
  SUNNonlinearSolver F = SUNNonlinSol_FixedPoint(run.y, 0, test_context);
  sunrealtype t;
  ck_assert_int_eq(CPIntegratorInit(mem, keep_a_clone, 0.0, run.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, F), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &run.world), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.1, run.y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  ck_assert_ptr_nonnull(kept);
  ck_assert(kept->ops->nvgetvectorid == run.y->ops->nvgetvectorid);
  ck_assert(kept->ops->nvclone == run.y->ops->nvclone);
  ck_assert(kept->ops->nvdestroy == run.y->ops->nvdestroy);
  N_VConst(2.0, kept);
  ck_assert_double_eq(N_VWrmsNorm(kept, kept), 4.0);
  N_VDestroy(kept);
  SUNNonlinSolFree(F);
}
END_TEST

/* A user's N_VWrmsNorm of CVODES' vectors, in f, is that of the entries, to the last bit. */
static int norms_differ;
static int compare_norms(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  const int flag = world_rhs(t, y, ydot, user_data);
  N_Vector x = N_VClone(run.y), w = N_VClone(run.y);
  N_VScale(1.0, ydot, x);
  N_VConst(3.0, w);
  norms_differ += N_VWrmsNorm(ydot, w) != N_VWrmsNorm(x, w);
  N_VDestroy(x);
  N_VDestroy(w);
  return flag;
}

START_TEST(norms_that_a_user_takes_are_those_of_the_vector) {
  CPIntegrator mem     = CPIntegratorCreate("ADAMS", test_context);
  SUNNonlinearSolver F = SUNNonlinSol_FixedPoint(run.y, 0, test_context);
  N_Vector y           = N_VClone(run.y);
  sunrealtype t;
  N_VScale(1.0, run.y, y);
  norms_differ = 0;
  ck_assert_int_eq(CPIntegratorInit(mem, compare_norms, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, F), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, run.P), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &run.world), CV_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(norms_differ, 0);
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(F);
  N_VDestroy(y);
}
END_TEST

/* A user's N_VLinearSum of CVODES' vectors and others, in f, in every position: the sum of two
 * halves of x is x. */
static int sum_halves(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  N_Vector own = N_VClone(run.y), rate = N_VClone(run.y);
  N_VLinearSum(0.5, y, 0.5, y, own);
  const int flag = world_rhs(t, own, rate, user_data);
  N_VLinearSum(0.5, rate, 0.5, rate, ydot);
  N_VDestroy(own);
  N_VDestroy(rate);
  return flag;
}

START_TEST(sums_of_vectors_of_cvodes_and_others_are_right) {
  N_Vector ends[2];
  for (int summed = 0; summed < 2; summed++) {
    CPIntegrator mem     = CPIntegratorCreate("ADAMS", test_context);
    SUNNonlinearSolver F = SUNNonlinSol_FixedPoint(run.y, 2, test_context); /* Anderson's sums */
    N_Vector y = ends[summed] = N_VClone(run.y);
    sunrealtype t;
    N_VScale(1.0, run.y, y);
    ck_assert_int_eq(CPIntegratorInit(mem, summed ? sum_halves : world_rhs, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, F), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
    ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &run.world), CV_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, y, &t, CV_NORMAL), CP_SUCCESS);
    CPIntegratorFree(&mem);
    SUNNonlinSolFree(F);
  }
  ck_assert_int_eq(same_bits(ends[0], ends[1]), 1);
  N_VDestroy(ends[0]);
  N_VDestroy(ends[1]);
}
END_TEST

/* ---- nothing is global ---- */

static Run inner;
static int with_a_run_inside(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  if (run_step(&inner)) return -1;
  return world_rhs(t, y, ydot, user_data);
}

START_TEST(an_integrator_inside_the_right_hand_side_changes_no_bit) {
  N_Vector y[2];
  run_open(&inner, ADAMS_FIXED_POINT, 1.0e-8);
  for (int nested = 0; nested < 2; nested++) {
    CPIntegrator mem     = CPIntegratorCreate("ADAMS", test_context);
    SUNNonlinearSolver F = SUNNonlinSol_FixedPoint(run.y, 0, test_context);
    sunrealtype t;
    y[nested] = N_VClone(run.y);
    N_VScale(1.0, run.y, y[nested]);
    ck_assert_int_eq(CPIntegratorInit(mem, nested ? with_a_run_inside : world_rhs, 0.0, y[nested]),
                     0);
    ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, F), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetProjector(mem, run.P), CP_SUCCESS);
    ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &run.world), CV_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y[nested], &t, CV_NORMAL), CP_SUCCESS);
    CPIntegratorFree(&mem);
    SUNNonlinSolFree(F);
  }
  ck_assert_int_eq(same_bits(y[0], y[1]), 1);
  N_VDestroy(y[0]);
  N_VDestroy(y[1]);
  run_close(&inner);
}
END_TEST

/* ---- the order ---- */

/* A free particle on a circle that turns fast: the estimate is nearly normal. With a projected norm
 * at order q beside unprojected neighbours BDF stays at its present order; with three of one kind
 * it uses all orders available. */
START_TEST(the_order_rises_where_the_error_is_normal) {
  open_method(_i, 1.0e-8);
  run.world.p.g             = 0.0;
  const sunrealtype fast[4] = {1.0, 0.0, 0.0, 10.0};
  memcpy(entries(run.y), fast, sizeof fast);
  ck_assert_success(&run, CPIntegratorReInit(run.mem, 0.0, run.y));
  long int steps = 0, high = 0;
  while (run.t < 2.0) {
    int q;
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CVodeGetLastOrder(run.cvode_mem, &q));
    steps++;
    high += q >= 4;
  }
  ck_assert_int_gt(2 * high, steps);
}
END_TEST

/* Norms at other orders since the newest solve that have been multiplied. */
static long int norms_multiplied(void) { return ((CPMultistep)run.mem)->norms.taken; }

/* Stability-limit detection computes two more norms in each step of order 3 and above. */
START_TEST(stability_limit_detection_sees_norms_of_one_kind) {
  open_method(0, 1.0e-6);
  ck_assert_success(&run, CVodeSetStabLimDet(run.cvode_mem, 1));
  int high = 0;
  while (run.t < 2.0) {
    int q;
    ck_assert_success(&run, run_step(&run));
    ck_assert_success(&run, CVodeGetLastOrder(run.cvode_mem, &q));
    high += q >= 3;
    if (q >= 3) ck_assert_int_ge(norms_multiplied(), 2);
  }
  ck_assert_int_gt(high, 50);
  ck_assert_good(&run);
}
END_TEST

/* A vector's own norm, and the one that CVODES gets */
static sunrealtype own_norm;
static sunrealtype keep_norm(N_Vector x, N_Vector w) { return own_norm = plain_norm(x, w); }

/* Between two steps a norm with CVODES' weights is that of the vector times the ratio of the
 * projected estimate's norm to the unprojected one's. */
START_TEST(a_norm_at_another_order_is_multiplied_as_that_of_the_step) {
  CPIntegrator mem = CPIntegratorCreate("ADAMS", test_context);
  N_Vector y = N_VClone(run.y), x = NULL, yn, f, zn1, zn0;
  N_VScale(1.0, run.y, y);
  plain_norm           = y->ops->nvwrmsnorm;
  y->ops->nvwrmsnorm   = keep_norm;
  SUNNonlinearSolver F = SUNNonlinSol_FixedPoint(y, 0, test_context);
  sunrealtype t        = 0.0, gamma, rl1, tn;
  void *data;
  ck_assert_int_eq(CPIntegratorInit(mem, world_rhs, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, F), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetProjector(mem, run.P), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetUserData(CPIntegratorGetCVodeMem(mem), &run.world), CV_SUCCESS);
  const CPOrderNorms *taken = &((CPMultistep)mem)->norms;
  for (int k = 0; k < 20; k++) {
    ck_assert_int_eq(CPIntegratorEvolve(mem, 10.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
    CVodeGetNonlinearSystemData(CPIntegratorGetCVodeMem(mem), &tn, &zn0, &yn, &f, &gamma, &rl1,
                                &zn1, &data);
    const sunrealtype given = N_VWrmsNorm(zn1, taken->ewt);
    ck_assert_double_eq(given, taken->ratio * own_norm);
    ck_assert_double_gt(taken->ratio, 0.0);
    ck_assert_double_lt(taken->ratio, 1.0 + 1e-6); /* a projection in the norm of the error */
    N_VConst(2.0, y);
    x = N_VClone(zn1);
    N_VScale(1.0, zn1, x);
    ck_assert_double_eq(N_VWrmsNorm(x, taken->ewt), own_norm); /* a vector of the user */
    N_VDestroy(x);
    ck_assert_double_eq(N_VWrmsNorm(zn1, y), own_norm); /* other weights */
  }
  CPIntegratorFree(&mem);
  SUNNonlinSolFree(F);
  N_VDestroy(y);
}
END_TEST

/* ---- a CVODES with other internals ---- */

/* The state is as if the norms of the newest choice had not been computed. */
static int hide_the_norms(Run *r, const Attempt *a) {
  (void)a;
  ((CPMultistep)r->mem)->norms.choice.taken = 0;
  return 0;
}

START_TEST(an_order_that_changes_without_norms_ends_the_run) {
  open_method(_i, 1.0e-6);
  run_intercept(&run, hide_the_norms, NULL);
  int flag = CP_SUCCESS;
  while (!flag && run.t < 2.0) flag = run_step(&run);
  ck_assert_int_eq(flag, CP_SELFCHECK_FAIL);
  ck_assert_message(&run, "order");
}
END_TEST

/* ---- a user's error projection that fails during the choice of order ---- */

static long int error_projections, fails_at;
static int failing_flag;
static int failing_projection(sunrealtype t, N_Vector y, N_Vector e, void *user_data) {
  (void)t, (void)y, (void)e, (void)user_data;
  return ++error_projections == fails_at ? failing_flag : 0;
}
static int no_projection(sunrealtype t, N_Vector yhat, N_Vector y, sunrealtype eps, void *user_data) {
  (void)t, (void)eps, (void)user_data;
  N_VScale(1.0, yhat, y);
  return 0;
}

/* Each of the first calls in turn fails: recoverably, and the run continues; fatally, and it ends
 * with the user's code and the last good state. */
START_TEST(error_projections_that_fail_are_handled) {
  failing_flag = _i ? -1 : 1;
  for (fails_at = 1; fails_at < 40; fails_at++) {
    open_method(1, 1.0e-6);
    error_projections = 0;
    CPProjector user  = projector_of_user(no_projection, failing_projection, run.y);
    ck_assert_success(&run, CPIntegratorSetProjector(run.mem, user));
    int flag = CP_SUCCESS;
    while (!flag && error_projections < 60) flag = run_step(&run);
    if (failing_flag > 0) ck_assert_int_eq(flag, CP_SUCCESS);
    else {
      ck_assert_int_eq(flag, CP_USERFUNC_FAIL);
      ck_assert_int_eq(isfinite(entries(run.y)[0]), 1);
      ck_assert_int_eq(run_step(&run), CP_SUCCESS); /* the fault is repaired */
    }
    CPIntegratorFree(&run.mem);
    CPProjectorFree(&user);
  }
}
END_TEST

/* The error is returned by the call in which it occurred, since the next one may be made after the
 * fault is repaired. */
START_TEST(a_fatal_error_projection_ends_the_call_that_it_was_made_in) {
  failing_flag = -1;
  for (fails_at = 1; fails_at < 40; fails_at++) {
    open_method(1, 1.0e-6);
    error_projections = 0;
    CPProjector user  = projector_of_user(no_projection, failing_projection, run.y);
    ck_assert_success(&run, CPIntegratorSetProjector(run.mem, user));
    while (error_projections < fails_at) {
      const int flag = run_step(&run);
      ck_assert_int_eq(flag, error_projections < fails_at ? CP_SUCCESS : CP_USERFUNC_FAIL);
    }
    ck_assert_success(&run, run_step(&run));
    CPIntegratorFree(&run.mem);
    CPProjectorFree(&user);
  }
}
END_TEST

TEST_SUITE(norms) {
  Suite *suite = suite_create("norms of three orders");
  TCase *tc    = tcase_create("norms");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, the_norm_of_the_state_is_never_projected);
  tcase_add_test(tc, clones_of_the_vectors_of_callbacks_are_ordinary);
  tcase_add_test(tc, sums_of_vectors_of_cvodes_and_others_are_right);
  tcase_add_test(tc, norms_that_a_user_takes_are_those_of_the_vector);
  tcase_add_test(tc, an_integrator_inside_the_right_hand_side_changes_no_bit);
  tcase_add_loop_test(tc, the_order_rises_where_the_error_is_normal, 0, n_methods);
  tcase_add_test(tc, stability_limit_detection_sees_norms_of_one_kind);
  tcase_add_test(tc, a_norm_at_another_order_is_multiplied_as_that_of_the_step);
  tcase_add_loop_test(tc, an_order_that_changes_without_norms_ends_the_run, 0, n_methods);
  tcase_add_loop_test(tc, error_projections_that_fail_are_handled, 0, 2);
  tcase_add_test(tc, a_fatal_error_projection_ends_the_call_that_it_was_made_in);
  suite_add_tcase(suite, tc);
  return suite;
}
