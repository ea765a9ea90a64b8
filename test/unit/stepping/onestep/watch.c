/* Root functions of time alone at rest, y' = 0, where nothing limits the steps, and what their search costs elsewhere. */
#include "support/support.h"

#include <cpodes/cpodes_integrator.h>
#include <float.h>
#include <math.h>
#include <models/counters.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static const char *const methods[] = {"DOP853", "ARKODE_DORMAND_PRINCE_7_4_5", "RADAU", "BDF",
                                      "ADAMS"};
enum { METHODS = sizeof methods / sizeof *methods, ONESTEP = 3 };

static N_Vector y;
static CPIntegrator mem;
static SUNNonlinearSolver inner;
static MessageLog messages;

/* direction: that of the roots to be found */
static void open_run(const char *method, CVRhsFn f, CVRootFn g, int direction) {
  y   = vector_of(1, (sunrealtype[]){1});
  mem = CPIntegratorCreate(method, test_context);
  ck_assert_ptr_nonnull(mem);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorInit(mem, f, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorRootInit(mem, 1, g), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetRootDirection(mem, &direction), CP_SUCCESS);
  if (!CPIntegratorGetCVodeMem(mem)) return;
  inner = SUNNonlinSol_FixedPoint(y, 0, test_context);
  ck_assert_int_eq(CPIntegratorSetNonlinearSolver(mem, inner), CP_SUCCESS);
}

static void close_run(void) {
  CPIntegratorFree(&mem);
  if (inner) SUNNonlinSolFree(inner);
  inner = NULL;
  N_VDestroy(y);
}

static int rest(sunrealtype t, N_Vector state, N_Vector rate, void *data) {
  (void)t, (void)state, (void)data;
  N_VConst(0.0, rate);
  return 0;
}

/* A pulse 0.3 long that is 0 before and after: 1 in its middle, and 1/2 at +- 0.15 sqrt(1 - 1 / (1 + ln 2)) */
static sunrealtype middle;
static int pulse(sunrealtype t, N_Vector state, sunrealtype *g, void *data) {
  const sunrealtype x = (t - middle) / SUN_RCONST(0.15);
  (void)state, (void)data;
  g[0] = (fabs(x) < 1 ? exp(1 - 1 / (1 - x * x)) : 0) - SUN_RCONST(0.5);
  return 0;
}

/* 100 roundoffs of t and of the step, to which roots are located */
static sunrealtype located(void) {
  IntegratorCounters stats;
  ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
  return 100 * DBL_EPSILON * (fabs(stats.t) + fabs(stats.hlast) + 10);
}

START_TEST(a_pulse_in_time_is_found_at_rest) {
  const sunrealtype half = SUN_RCONST(0.15) * sqrt(1 - 1 / (1 + log(2)));
  for (int backward = 0; backward < 2; backward++)
    /* BDF and Adams lose a wanted crossing that follows an unwanted one in the same step (guide). */
    for (int direction = _i < ONESTEP ? -1 : 0; direction <= 1; direction++)
      for (int k = 1; k < 10; k++) {
        const sunrealtype way = backward ? -1 : 1;
        sunrealtype t;
        middle = way * (k + SUN_RCONST(0.123));
        open_run(methods[_i], rest, pulse, direction);
        ck_assert_int_eq(CPIntegratorEvolve(mem, way * 10, y, &t, CV_NORMAL), CV_ROOT_RETURN);
        ck_assert_double_eq_tol(t, middle + way * (direction < 0 ? half : -half), located());
        if (direction == 0) {
          ck_assert_int_eq(CPIntegratorEvolve(mem, way * 10, y, &t, CV_NORMAL), CV_ROOT_RETURN);
          ck_assert_double_eq_tol(t, middle + way * half, located());
        }
        ck_assert_int_eq(CPIntegratorEvolve(mem, way * 10, y, &t, CV_NORMAL), CP_SUCCESS);
        close_run();
      }
}
END_TEST

static int grows(sunrealtype t, N_Vector state, N_Vector rate, void *data) {
  (void)data;
  entries(rate)[0] = cos(20 * t) * entries(state)[0];
  return 0;
}

static long int calls;
static int of_the_state(sunrealtype t, N_Vector state, sunrealtype *g, void *data) {
  (void)t, (void)data;
  calls++;
  g[0] = entries(state)[0] + 1;
  return 0;
}

/* A function of the state is looked at some 25 times, after 9 doublings of the first distance, whatever the steps. One-step
 * methods call it three times for each step in any case, and CVODES once, and twice more at a start. */
START_TEST(a_function_of_the_state_takes_few_looks) {
  IntegratorCounters stats;
  sunrealtype t;
  open_run(methods[_i], grows, of_the_state, -1);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 100000), CP_SUCCESS);
  calls = 0;
  ck_assert_int_eq(CPIntegratorEvolve(mem, 10, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
  ck_assert_int_le(calls, 3 * stats.nst + 8 + 25 + 9);
  close_run();
}
END_TEST

TEST_SUITE(watch) {
  Suite *suite = suite_create("root functions of time");
  TCase *tc    = tcase_create("watch");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_pulse_in_time_is_found_at_rest, 0, METHODS);
  tcase_add_loop_test(tc, a_function_of_the_state_takes_few_looks, 0, METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
