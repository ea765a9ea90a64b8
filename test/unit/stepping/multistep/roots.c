/* CVODES' roots at restarts: a ball that bounces, and a gap that opens slowly. */
#include "support/mech_run.h"
#include "support/support.h"

#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

enum { IMPACTS = 60, DECADES = 7 };

#define G 9.81

static CPIntegrator mem;
static SUNNonlinearSolver NLS;
static SUNMatrix A;
static SUNLinearSolver LS;
static MessageLog messages;

/* With CVODES' own function in one direction, and with that of cpodes in any. */
enum { FALLING, ANY_DIRECTION, KINDS };

static void open_run(int lmm, CVRhsFn f, N_Vector y, sunrealtype tol, CVRootFn g, int kind) {
  int falling     = -1;
  mem             = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  void *cvode_mem = CPIntegratorGetCVodeMem(mem);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  ck_assert_int_eq(CPIntegratorInit(mem, f, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  NLS = SUNNonlinSol_FixedPoint(y, 0, test_context);
  A   = SUNDenseMatrix(N_VGetLength(y), N_VGetLength(y), test_context);
  LS  = SUNLinSol_Dense(y, A, test_context);
  if (lmm == CV_ADAMS) ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, NLS), CP_SUCCESS);
  else ck_assert_int_eq(CVodeSetLinearSolver(cvode_mem, LS, A), CV_SUCCESS);
  if (kind == FALLING) {
    ck_assert_int_eq(CVodeRootInit(cvode_mem, 1, g), CV_SUCCESS);
    ck_assert_int_eq(CVodeSetRootDirection(cvode_mem, &falling), CV_SUCCESS);
  } else ck_assert_int_eq(CPIntegratorRootInit(mem, 1, g), CP_SUCCESS);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 100000), CV_SUCCESS);
}

static void close_run(void) {
  CPIntegratorFree(&mem);
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

/* With e = 0.9 the last bounces are 3 micrometres high: at loose tolerances that is below the error
 * of a step, but the ball still falls at each root, and never through the floor. An impact after
 * less than half of the time of flight that follows from its speed would be spurious; where the
 * height exceeds some tolerances, the time is accurate. Loop index: kind of root functions, method,
 * height of the floor, tolerance. */
START_TEST(no_impact_of_a_ball_is_lost_and_none_invented) {
  const sunrealtype tol = pow(10, -4 - _i % DECADES), e = 0.9;
  floor_height  = _i / DECADES % 2;
  N_Vector y    = VECTOR(floor_height + 1.0, 0.0);
  sunrealtype t = 0.0, before = 0.0, flight = 0.0;
  open_run(_i / DECADES / 2 % 2 ? CV_ADAMS : CV_BDF, fall, y, tol, above_floor, _i / DECADES / 4);
  for (int k = 0; k < IMPACTS; k++) {
    int flag = CP_SUCCESS;
    while (flag == CP_SUCCESS && entries(y)[0] > floor_height - 1.0)
      flag = CPIntegratorEvolve(mem, 1000.0, y, &t, k % 2 ? CV_NORMAL : CV_ONE_STEP);
    ck_assert_msg(flag == CV_ROOT_RETURN, "impact %d, tol %g: %d at t = %g, y = %g; %s", k, tol,
                  flag, t, entries(y)[0], messages.text);
    const sunrealtype speed = -entries(y)[1];
    ck_assert_msg(speed > 0.0, "impact %d, tol %g: at t = %g the ball rises with %g m/s", k, tol, t,
                  -speed);
    if (flight * flight * G / 8.0 > 100.0 * tol) /* the height reached in between */
      ck_assert_double_eq_tol(t - before, flight, 0.3 * flight);
    before        = t;
    flight        = 2.0 * e * speed / G;
    entries(y)[1] = e * speed;
    ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
  }
  close_run();
  N_VDestroy(y);
}
END_TEST

/* Beside a pendulum, whose rod is a constraint, steps grow at other rates than those of the ball
 * alone, which are free of errors. q = (height of the ball, x, y of the bob) */
static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1.0;
  return 0;
}
static int weights(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = f[2] = -G;
  return 0;
}
static int rod(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1] * q[1] + q[2] * q[2] - 1.0;
  return 0;
}
static int rod_row(sunrealtype t, const sunrealtype *q, SUNMatrix A1, void *user_data) {
  (void)t, (void)user_data;
  SM_ELEMENT_D(A1, 0, 1) = 2.0 * q[1], SM_ELEMENT_D(A1, 0, 2) = 2.0 * q[2];
  return 0;
}
static int rod_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                 void *user_data) {
  (void)t, (void)q, (void)user_data;
  b[0] = -2.0 * (u[1] * u[1] + u[2] * u[2]);
  return 0;
}

/* Errors of BDF are some three times those of Adams. Loop index: method, the pendulum's velocity at the start. */
START_TEST(a_ball_beside_a_pendulum_loses_no_impact) {
  static const sunrealtype swing[] = {0.0, 0.5, 2.0, 5.0, 20.0};
  const CPEquations model          = {CP_SIZED(CPEquations), .nu = 3,      .np = 1,  .M = unit_mass,
                                      .f = weights,          .A = rod_row, .p = rod, .b = rod_b};
  for (int k = 3; k <= (test_is_short() ? 3 : 8); k++)
    for (int high = 0; high < (test_is_short() ? 2 : 3); high++) {
      const sunrealtype tol = pow(10, -k) / (_i % 2 ? 1.0 : 3.0), e = 0.9;
      floor_height  = 0.7 * high;
      N_Vector y    = VECTOR(floor_height + 1.0, 0.0, -1.0, 0.0, swing[_i / 2], 0.0);
      sunrealtype t = 0.0;
      CPMech mech   = create_mech(&model, y, test_context);
      mem           = CPIntegratorCreate(_i % 2 ? "ADAMS" : "BDF", test_context);
      ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
      ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
      ck_assert_int_eq(CPIntegratorRootInit(mem, 1, above_floor), CP_SUCCESS);
      CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000);
      for (int impact = 0; impact < IMPACTS; impact++) {
        const int flag = CPIntegratorEvolve(mem, 20.0, y, &t, CV_NORMAL);
        if (flag != CV_ROOT_RETURN || entries(y)[3] > 0.0)
          ck_abort_msg("tol %g, floor %g: impact %d: %d, velocity %g", tol, floor_height, impact,
                       flag, entries(y)[3]);
        entries(y)[3] *= -e;
        ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
      }
      CPIntegratorFree(&mem);
      CPMechFree(&mech);
      N_VDestroy(y);
    }
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

/* As in the guide: a contact closes where the gap is below zero by more than its error. */
START_TEST(a_gap_that_opens_slowly_has_no_root_with_a_band_of_some_tolerances) {
  const sunrealtype tol = pow(10, -4 - _i % DECADES);
  N_Vector y            = VECTOR(1.0 - 1.2e-16, 0.0);
  sunrealtype t         = 0.0;
  band                  = 10.0 * tol;
  open_run(_i / DECADES ? CV_ADAMS : CV_BDF, opening, y, tol, gap, FALLING);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  close_run();
  N_VDestroy(y);
}
END_TEST

/* The growth of the first step is limited only after a root. */
START_TEST(other_restarts_start_as_cvodes_does) {
  long int steps[2];
  for (int restarted = 0; restarted < 2; restarted++) {
    N_Vector y    = VECTOR(1.0, 0.0);
    sunrealtype t = 0.0;
    floor_height  = 0.0;
    open_run(CV_ADAMS, fall, y, 1.0e-6, above_floor, FALLING);
    if (restarted) {
      ck_assert_int_eq(CPIntegratorEvolve(mem, 10.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
      entries(y)[0] = 1.0, entries(y)[1] = 0.0;
      ck_assert_int_eq(CPIntegratorReInit(mem, 0.0, y), CP_SUCCESS);
    }
    ck_assert_int_eq(CPIntegratorEvolve(mem, 0.4, y, &t, CV_NORMAL), CP_SUCCESS);
    ck_assert_int_eq(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps[restarted]), CV_SUCCESS);
    close_run();
    N_VDestroy(y);
  }
  ck_assert_int_eq(steps[0], steps[1]);
}
END_TEST

static sunrealtype end_of_run;

static int until_end(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  g[0] = t - end_of_run;
  return 0;
}

/* Roundoffs between the event and the end of the run; CVODES needs more than 4 of them for a step. */
START_TEST(a_run_with_an_event_at_its_end_is_complete) {
  static const int distances[] = {0, 1, 3, 4, 5, 6, 10, 100, 1000};
  for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
    N_Vector y    = VECTOR(1.0, 0.0);
    sunrealtype t = 0.0;
    end_of_run    = 1.0 - distances[k] * SUN_UNIT_ROUNDOFF / 2.0;
    open_run(_i % 2 ? CV_ADAMS : CV_BDF, fall, y, 1.0e-6, until_end, ANY_DIRECTION);
    if (_i / 2) ck_assert_int_eq(CVodeSetStopTime(CPIntegratorGetCVodeMem(mem), 1.0), CV_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
    entries(y)[1] = 7.0;
    ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
    ck_assert_int_ge(CPIntegratorEvolve(mem, 1.0, y, &t, _i / 2 ? CV_ONE_STEP : CV_NORMAL),
                     CP_SUCCESS);
    ck_assert_double_eq_tol(t, 1.0, 1.0e-12);
    ck_assert_double_eq_tol(entries(y)[1], 7.0, 1.0e-11);
    close_run();
    N_VDestroy(y);
  }
}
END_TEST

/* ---- values that are not numbers ---- */

static sunrealtype nan_from, fails_from;

/* The second function has its root at a height of 0.5. */
static int heights(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)user_data;
  g[0] = 1.0;
  g[1] = t < nan_from ? entries(y)[0] - 0.5 : NAN;
  return t < fails_from ? 0 : 3;
}

static void open_heights(int lmm, N_Vector y) {
  open_run(lmm, fall, y, 1.0e-8, above_floor, ANY_DIRECTION);
  ck_assert_int_eq(CPIntegratorRootInit(mem, 2, heights), CP_SUCCESS);
}

/* CVODES' search does not end after a NaN. */
START_TEST(a_root_function_that_is_nan_or_fails_ends_the_call) {
  N_Vector y    = VECTOR(1.0, 0.0);
  sunrealtype t = 0.0;
  nan_from      = _i / 2 ? INFINITY : 0.2;
  fails_from    = _i / 2 ? 0.2 : INFINITY;
  open_heights(_i % 2 ? CV_ADAMS : CV_BDF, y);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CV_RTFUNC_FAIL);
  ck_assert_ptr_nonnull(strstr(messages.text, _i / 2 ? "g failed (3)" : "g[1] is"));
  ck_assert_ptr_nonnull(strstr(messages.text, "at t = 0."));
  ck_assert_double_eq_tol(entries(y)[0], 1.0 - 0.5 * G * t * t, 1.0e-6); /* the last good state */
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CV_RTFUNC_FAIL);
  nan_from = fails_from = INFINITY; /* the run can continue */
  ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL),
                   t > sqrt(1.0 / G) ? CP_SUCCESS : CV_ROOT_RETURN);
  close_run();
  N_VDestroy(y);
}
END_TEST

START_TEST(roots_are_those_of_cvodes) {
  sunrealtype root[2];
  nan_from = fails_from = INFINITY;
  for (int ours = 0; ours < 2; ours++) {
    int found[2] = {7, 7};
    N_Vector y   = VECTOR(1.0, 0.0);
    open_heights(_i ? CV_ADAMS : CV_BDF, y);
    if (!ours)
      ck_assert_int_eq(CVodeRootInit(CPIntegratorGetCVodeMem(mem), 2, heights), CV_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &root[ours], CV_NORMAL), CV_ROOT_RETURN);
    ck_assert_int_eq(CVodeGetRootInfo(CPIntegratorGetCVodeMem(mem), found), CV_SUCCESS);
    ck_assert_int_eq(found[0], 0);
    ck_assert_int_eq(found[1], -1);
    ck_assert_double_eq_tol(root[ours], sqrt(1.0 / G), 1.0e-7);
    close_run();
    N_VDestroy(y);
  }
  ck_assert_int_eq(memcmp(&root[0], &root[1], sizeof root[0]), 0);
}
END_TEST

/* ---- functions that are exactly zero ---- */

/* From above to zero: stays zero; is zero from the start; to zero and up again; to zero and further
 * down. Finally a plain root. */
static int resting(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)y, (void)user_data;
  g[0] = fmax(0.0, 0.3 - t);
  g[1] = 0.0;
  g[2] = fmax(0.0, 0.5 - t) + fmax(0.0, t - 0.7);
  g[3] = fmax(0.0, 0.6 - t) + fmin(0.0, 0.7 - t);
  g[4] = 0.8 - t;
  return 0;
}

/* Each has its root where it reaches zero, and none where it leaves zero. */
START_TEST(functions_that_stay_at_zero_have_a_root_where_they_get_there) {
  static const int which[]         = {0, 2, 3, 4};
  static const sunrealtype where[] = {0.3, 0.5, 0.6, 0.8};
  N_Vector y                       = VECTOR(1.0, 0.0);
  sunrealtype t                    = 0.0, low, high;
  int found[5], flag, seen = 0;
  open_run(_i % 2 ? CV_ADAMS : CV_BDF, fall, y, 1.0e-6, above_floor, ANY_DIRECTION);
  ck_assert_int_eq(CPIntegratorRootInit(mem, 5, resting), CP_SUCCESS);
  while (t < 1.0) {
    flag = CPIntegratorEvolve(mem, 1.0, y, &t, _i / 2 ? CV_ONE_STEP : CV_NORMAL);
    ck_assert_msg(flag >= 0, "%s", messages.text);
    if (flag != CV_ROOT_RETURN) continue;
    ck_assert_int_lt(seen, 4);
    ck_assert_double_eq_tol(t, where[seen], 1.0e-12);
    ck_assert_int_eq(CVodeGetRootInfo(CPIntegratorGetCVodeMem(mem), found), CV_SUCCESS);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(found[i], i == which[seen] ? -1 : 0);
    ck_assert_int_eq(CPIntegratorGetRootWindow(mem, &low, &high), CP_SUCCESS);
    ck_assert(low < high && high == t && where[seen] - low <= 1.0e-12);
    seen++;
  }
  ck_assert_int_eq(seen, 4);
  close_run();
  N_VDestroy(y);
}
END_TEST

START_TEST(wrong_arguments_are_refused) {
  N_Vector y       = VECTOR(1.0, 0.0);
  CPIntegrator raw = CPIntegratorCreate("BDF", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(raw), message_log, &messages);
  ck_assert_int_eq(CPIntegratorRootInit(NULL, 1, heights), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorRootInit(raw, 1, heights), CP_NO_INIT);
  ck_assert_int_eq(CPIntegratorInit(raw, fall, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorRootInit(raw, -1, heights), CP_ILL_INPUT);
  ck_assert_int_eq(CPIntegratorRootInit(raw, 1, NULL), CP_ILL_INPUT);
  sunrealtype low, high;
  ck_assert_int_eq(CPIntegratorGetRootWindow(NULL, &low, &high), CP_MEM_NULL);
  ck_assert_int_eq(CPIntegratorGetRootWindow(raw, NULL, &high), CP_ILL_INPUT);
  ck_assert_int_eq(CPIntegratorGetRootWindow(raw, &low, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPIntegratorGetRootWindow(raw, &low, &high), CP_NO_INIT); /* no root functions */
  ck_assert_int_eq(CPIntegratorRootInit(raw, 1, heights), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorGetRootWindow(raw, &low, &high), CP_NO_INIT); /* no root yet */
  ck_assert_int_eq(CPIntegratorRootInit(raw, 0, NULL), CP_SUCCESS);
  CPIntegratorFree(&raw);
  N_VDestroy(y);
}
END_TEST

static int fallen(sunrealtype t, N_Vector y, sunrealtype *g, void *height) {
  (void)t;
  g[0] = entries(y)[0] - *(const sunrealtype *)height;
  return 0;
}

/* A ball that falls from 1 to 1/2, by both methods. Without data of their own root functions get the user data. */
START_TEST(root_functions_may_get_data_of_their_own) {
  sunrealtype half = 0.5, quarter = 0.25, t;
  const N_Vector y = VECTOR(1.0, 0.0);
  open_run(_i ? CV_BDF : CV_ADAMS, fall, y, 1e-8, fallen, ANY_DIRECTION);
  ck_assert_int_eq(CPIntegratorSetUserData(mem, &quarter), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetRootData(mem, &half), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(t, sqrt(2 * 0.5 / G), 1e-6);
  ck_assert_int_eq(CPIntegratorSetRootData(mem, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorReInit(mem, t, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CV_ROOT_RETURN);
  ck_assert_double_eq_tol(t, sqrt(2 * 0.75 / G), 1e-6);
  close_run();
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(roots) {
  Suite *suite = suite_create("roots at restarts");
  TCase *tcase = tcase_create("roots");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, no_impact_of_a_ball_is_lost_and_none_invented, 0, KINDS * 4 * DECADES);
  tcase_add_loop_test(tcase, a_ball_beside_a_pendulum_loses_no_impact, 0, 10);
  tcase_add_loop_test(tcase, a_gap_that_opens_slowly_has_no_root_with_a_band_of_some_tolerances, 0,
                      2 * DECADES);
  tcase_add_test(tcase, other_restarts_start_as_cvodes_does);
  tcase_add_loop_test(tcase, a_run_with_an_event_at_its_end_is_complete, 0, 4);
  tcase_add_loop_test(tcase, a_root_function_that_is_nan_or_fails_ends_the_call, 0, 4);
  tcase_add_loop_test(tcase, roots_are_those_of_cvodes, 0, 2);
  tcase_add_loop_test(tcase, functions_that_stay_at_zero_have_a_root_where_they_get_there, 0, 4);
  tcase_add_loop_test(tcase, root_functions_may_get_data_of_their_own, 0, 2);
  tcase_add_test(tcase, wrong_arguments_are_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}
