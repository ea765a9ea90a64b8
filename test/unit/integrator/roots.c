/* Roots of CVODES' at restarts: a ball that bounces, and a gap that opens slowly. */
#include "support/support.h"

#include <cpodes/cpodes.h>
#include <math.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { IMPACTS = 60, DECADES = 7 };

#define G 9.81

static CPodeMem mem;
static SUNNonlinearSolver NLS;
static SUNMatrix A;
static SUNLinearSolver LS;
static MessageLog messages;

static void open_run(int lmm, CVRhsFn f, N_Vector y, sunrealtype tol, CVRootFn g) {
  int falling     = -1;
  mem             = CPodeCreate(lmm, test_context);
  void *cvode_mem = CPodeGetCVodeMem(mem);
  CPodeSetErrHandlerFn(mem, message_log, &messages);
  ck_assert_int_eq(CPodeInit(mem, f, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPodeSStolerances(mem, tol, tol), CP_SUCCESS);
  NLS = SUNNonlinSol_FixedPoint(y, 0, test_context);
  A   = SUNDenseMatrix(N_VGetLength(y), N_VGetLength(y), test_context);
  LS  = SUNLinSol_Dense(y, A, test_context);
  if (lmm == CV_ADAMS) ck_assert_int_eq(CPodeSetNonlinearSolver(mem, NLS), CP_SUCCESS);
  else ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, LS, A), CV_SUCCESS);
  ck_assert_int_eq(CVodeRootInit(cvode_mem, 1, g), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetRootDirection(cvode_mem, &falling), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 100000), CV_SUCCESS);
}

static void close_run(void) {
  CPodeFree(&mem);
  SUNNonlinSolFree(NLS);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
}

/* ---- a ball ---- */

static int fall(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t, (void)user_data;
  entries(ydot)[0] = entries(y)[1];
  entries(ydot)[1] = -G;
  return 0;
}

static sunrealtype floor_height;

static int above_floor(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0] - floor_height;
  return 0;
}

/* With e = 0.9 the last bounces are 3 micrometres high: at loose tolerances that is below the error of a step, and all
 * the same the ball falls at each root, and never through the floor. An impact that comes after less than half of the time
 * that its speed gives it would be invented; where it is higher than some tolerances the time is right.
 * Loop index: method, height of the floor, tolerance. */
START_TEST(no_impact_of_a_ball_is_lost_and_none_invented) {
  const sunrealtype tol = pow(10, -4 - _i % DECADES), e = 0.9;
  floor_height  = _i / DECADES % 2;
  N_Vector y    = VECTOR(floor_height + 1.0, 0.0);
  sunrealtype t = 0.0, before = 0.0, flight = 0.0;
  open_run(_i / DECADES / 2 ? CV_ADAMS : CV_BDF, fall, y, tol, above_floor);
  for (int k = 0; k < IMPACTS; k++) {
    int flag = CP_SUCCESS;
    while (flag == CP_SUCCESS && entries(y)[0] > floor_height - 1.0)
      flag = CPode(mem, 1000.0, y, &t, k % 2 ? CV_NORMAL : CV_ONE_STEP);
    ck_assert_msg(flag == CV_ROOT_RETURN, "impact %d, tol %g: %d at t = %g, y = %g; %s", k, tol,
                  flag, t, entries(y)[0], messages.text);
    const sunrealtype speed = -entries(y)[1];
    ck_assert_msg(speed > 0.0, "impact %d, tol %g: at t = %g the ball rises with %g m/s", k, tol, t,
                  -speed);
    if (flight * flight * G / 8.0 > 100.0 * tol) /* the height between */
      ck_assert_double_eq_tol(t - before, flight, 0.3 * flight);
    before        = t;
    flight        = 2.0 * e * speed / G;
    entries(y)[1] = e * speed;
    ck_assert_int_eq(CPodeReInit(mem, t, y), CP_SUCCESS);
  }
  close_run();
  N_VDestroy(y);
}
END_TEST

/* ---- a gap that opens ---- */

static int opening(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)y, (void)user_data;
  entries(ydot)[0] = 3.0 * t * t;
  entries(ydot)[1] = 1.0;
  return 0;
}

static sunrealtype band;

static int gap(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0] - 1.0 + band;
  return 0;
}

/* As the guide has it: a contact closes where the gap is below zero by more than its error. */
START_TEST(a_gap_that_opens_slowly_has_no_root_with_a_band_of_some_tolerances) {
  const sunrealtype tol = pow(10, -4 - _i % DECADES);
  N_Vector y            = VECTOR(1.0 - 1.2e-16, 0.0);
  sunrealtype t         = 0.0;
  band                  = 10.0 * tol;
  open_run(_i / DECADES ? CV_ADAMS : CV_BDF, opening, y, tol, gap);
  ck_assert_int_eq(CPode(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  close_run();
  N_VDestroy(y);
}
END_TEST

/* The growth of the first step is limited after a root only. */
START_TEST(other_restarts_start_as_cvodes_does) {
  long int steps[2];
  for (int restarted = 0; restarted < 2; restarted++) {
    N_Vector y    = VECTOR(1.0, 0.0);
    sunrealtype t = 0.0;
    floor_height  = 0.0;
    open_run(CV_ADAMS, fall, y, 1.0e-6, above_floor);
    if (restarted) {
      ck_assert_int_eq(CPode(mem, 10.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
      entries(y)[0] = 1.0, entries(y)[1] = 0.0;
      ck_assert_int_eq(CPodeReInit(mem, 0.0, y), CP_SUCCESS);
    }
    ck_assert_int_eq(CPode(mem, 0.4, y, &t, CV_NORMAL), CP_SUCCESS);
    ck_assert_int_eq(CVodeGetNumSteps(CPodeGetCVodeMem(mem), &steps[restarted]), CV_SUCCESS);
    close_run();
    N_VDestroy(y);
  }
  ck_assert_int_eq(steps[0], steps[1]);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("roots at restarts");
  TCase *tcase = tcase_create("roots");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, no_impact_of_a_ball_is_lost_and_none_invented, 0, 4 * DECADES);
  tcase_add_loop_test(tcase, a_gap_that_opens_slowly_has_no_root_with_a_band_of_some_tolerances, 0,
                      2 * DECADES);
  tcase_add_test(tcase, other_restarts_start_as_cvodes_does);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
