/* Parallelograms in a row without gravity, that pass their singular positions: bars 2 k of length 1
 * turn uniformly about (2 k, 0), k = 0 ... loops, and bars 2 k + 1 of length 2 connect their ends.
 *
 *   q = (x, y, phi) of each bar, phi = pi/2 + 2 t of those that turn, 0 of the others
 *
 * All bars are in line at t = pi/4, 3 pi/4, 5 pi/4. */
#include "support/alloc.h"
#include "support/mech_run.h"
#include "support/support.h"

#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_mechanics.h>
#include <math.h>
#include <models/counters.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { LOOPS = 3, PINS = 3 * LOOPS + 1 };
static int loops;
static sunrealtype unit = 1; /* of length */
static int bars(void) { return 2 * loops + 1; }
static int npins(void) { return 3 * loops + 1; }
#define RATE  2.0
#define START (M_PI / 2)
#define T_END 5.3
/* Largest error of the rate in tolerances (5 with most compilers) */
#define MOST 30.0

/* Pin k joins the point at the distance from_k along bar bar_k to the same of other_k, or to (x_k, 0)
 * on the ground if other_k is -1. */
static struct {
  int bar, other;
  sunrealtype from, to, x;
} pin[PINS];

static void build(int count) {
  int k = 0;
  loops = count;
  for (int i = 0; i <= loops; i++) {
    pin[k].bar = 2 * i, pin[k].other = -1;
    pin[k].from = -0.5, pin[k].to = 0.0, pin[k].x = 2.0 * i;
    k++;
  }
  for (int i = 0; i < 2 * loops; i++, k++) {
    const int end = i % 2; /* of the bar that connects */
    pin[k].bar    = i - end + 1;
    pin[k].other  = pin[k].bar + (end ? 1 : -1);
    pin[k].from = end ? 1.0 : -1.0, pin[k].to = 0.5, pin[k].x = 0.0;
  }
  for (k = 0; k < npins(); k++) pin[k].from *= unit, pin[k].to *= unit, pin[k].x *= unit;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int j = 0; j < 3 * bars(); j++) SM_ELEMENT_D(M, j, j) = j % 3 == 2 ? 0.1 * unit * unit : 1.0;
  return 0;
}

static void add(const sunrealtype *q, int bar, sunrealtype at, sunrealtype *p) {
  p[0] += q[3 * bar] + at * cos(q[3 * bar + 2]);
  p[1] += q[3 * bar + 1] + at * sin(q[3 * bar + 2]);
}

static int pins(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  for (int k = 0; k < npins(); k++) {
    sunrealtype other[2] = {pin[k].x, 0.0};
    if (pin[k].other >= 0) add(q, pin[k].other, pin[k].to, other);
    add(q, pin[k].bar, pin[k].from, p + 2 * k);
    for (int i = 0; i < 2; i++) p[2 * k + i] -= other[i];
  }
  return 0;
}

static void derive(SUNMatrix A, const sunrealtype *q, int k, int bar, sunrealtype at,
                   sunrealtype sign) {
  SM_ELEMENT_D(A, 2 * k, 3 * bar) = SM_ELEMENT_D(A, 2 * k + 1, 3 * bar + 1) = sign;
  SM_ELEMENT_D(A, 2 * k, 3 * bar + 2)     = -sign * at * sin(q[3 * bar + 2]);
  SM_ELEMENT_D(A, 2 * k + 1, 3 * bar + 2) = sign * at * cos(q[3 * bar + 2]);
}

static int matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  for (int k = 0; k < npins(); k++) {
    derive(A, q, k, pin[k].bar, pin[k].from, 1.0);
    if (pin[k].other >= 0) derive(A, q, k, pin[k].other, pin[k].to, -1.0);
  }
  return 0;
}

static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                       void *data) {
  (void)t, (void)data;
  for (int k = 0; k < npins(); k++)
    for (int end = 0; end < 2; end++) {
      const int bar = end ? pin[k].other : pin[k].bar;
      if (bar < 0) continue;
      const sunrealtype phi = q[3 * bar + 2], rate = u[3 * bar + 2];
      const sunrealtype at = end ? -pin[k].to : pin[k].from;
      b[2 * k] += at * cos(phi) * rate * rate;
      b[2 * k + 1] += at * sin(phi) * rate * rate;
    }
  return 0;
}

static void begin(N_Vector y) {
  sunrealtype *q = entries(y), *u = q + 3 * bars();
  memset(q, 0, (size_t)(6 * bars()) * sizeof *q);
  for (int bar = 0; bar < bars(); bar++) {
    const int turns = bar % 2 == 0;
    q[3 * bar]      = bar;
    q[3 * bar + 1]  = turns ? 0.5 : 1.0;
    q[3 * bar + 2]  = turns ? START : 0.0;
    u[3 * bar]      = turns ? -0.5 * RATE : -RATE;
    u[3 * bar + 2]  = turns ? RATE : 0.0;
  }
  for (int i = 0; i < 6 * bars(); i++)
    if (i % 3 < 2) q[i] *= unit;
}

static const char *const methods[] = {"RADAU5", "RADAU", "RADAU9", "RADAU13"};
enum { METHODS = sizeof methods / sizeof *methods, LAST_DIGIT = 10 };

/* The kinetic energy, and so the rate, changes by errors alone. A step whose projection moves the
 * state by many tolerances has at least that error, whatever its estimate says: without regard to
 * that, the rate was wrong by 60,000 tolerances after one step of RADAU13. If the iteration for the
 * stages does not converge in steps that pass the positions, shorter and shorter steps lead to
 * them, and three of these runs fail there. */
START_TEST(uniform_rotation_stays_uniform_through_singular_positions) {
  build(1 + _i / METHODS);
  const char *method      = methods[_i % METHODS];
  const int nu            = 3 * bars();
  const CPEquations model = {CP_SIZED(CPEquations), .nu = nu,  .np = 2 * npins(), .M = mass,
                             .A = matrix,           .p = pins, .b = centripetal};
  for (int half = 8; half <= (test_is_short() ? 8 : 2 * LAST_DIGIT); half++) {
    const sunrealtype tol = (half % 2 ? 3.0 : 1.0) * pow(10.0, -((half + 1) / 2));
    sunrealtype t         = 0.0;
    N_Vector y            = vector_of(2 * nu, NULL);
    begin(y);
    CPMech mech      = create_mech(&model, y, test_context);
    CPIntegrator mem = CPIntegratorCreate(method, test_context);
    ck_assert_int_eq(CPMechAttach(mech, mem, t, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_msg(CPIntegratorEvolve(mem, T_END, y, &t, CV_NORMAL) == CP_SUCCESS, "%s at %g: %s",
                  method, tol, CPObjectGetLastMessage(CP_OBJECT(mem)));
    const sunrealtype error = fabs(entries(y)[nu + 2] - RATE);
    ck_assert_msg(error <= MOST * tol, "%s at %g: the rate is wrong by %g tolerances", method, tol,
                  error / tol);
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
    N_VDestroy(y);
  }
}
END_TEST

/* Lengths in other units, powers of two, with the same tolerances. Explicit methods evaluate the accelerations next to
 * singular positions at states on the manifold, up to a distance that used to be 1e-10 for all that is smaller than 1: the
 * rate was wrong by 17 tolerances for lengths of 1e-6, in place of 0.2. */
START_TEST(the_unit_of_length_changes_nothing) {
  static const char *const explicit_methods[] = {"Adams", "DOP853"};
  const sunrealtype tol                       = 1e-7;
  sunrealtype one                             = 0.0;
  long int steps                              = 0;
  for (int k = 0; k < 4; k++) {
    IntegratorCounters stats;
    sunrealtype t = 0.0;
    unit          = ldexp(1.0, (const int[]){0, -40, -20, 20}[k]);
    build(1);
    const int nu            = 3 * bars();
    const CPEquations model = {CP_SIZED(CPEquations), .nu = nu,  .np = 2 * npins(), .M = mass,
                               .A = matrix,           .p = pins, .b = centripetal};
    N_Vector y = vector_of(2 * nu, NULL), tols = N_VClone(y);
    begin(y);
    for (int i = 0; i < 2 * nu; i++) entries(tols)[i] = i % 3 < 2 ? tol * unit : tol;
    CPMech mech      = create_mech(&model, y, test_context);
    CPIntegrator mem = CPIntegratorCreate(explicit_methods[_i], test_context);
    ck_assert_int_eq(CPMechAttach(mech, mem, t, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSVtolerances(mem, tol, tols), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 20000), CP_SUCCESS);
    ck_assert_msg(CPIntegratorEvolve(mem, T_END, y, &t, CV_NORMAL) == CP_SUCCESS, "unit %g: %s",
                  unit, CPObjectGetLastMessage(CP_OBJECT(mem)));
    ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
    const sunrealtype error = (entries(y)[nu + 2] - RATE) / tol;
    if (k == 0) steps = stats.nst, one = error;
    ck_assert_int_eq(stats.nst, steps);
    ck_assert_double_eq_tol(error, one, 1e-3);
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
    N_VDestroy(y), N_VDestroy(tols);
  }
  unit = 1;
}
END_TEST

/* Below the roundoff of the constraints there, tolerances cannot count, which is told once. */
START_TEST(tolerances_below_the_roundoff_of_a_singular_position_are_told_once) {
  static const char *const all[] = {"DOP853", "BDF", "Adams"};
  build(3);
  const int nu            = 3 * bars();
  const CPEquations model = {CP_SIZED(CPEquations), .nu = nu,  .np = 2 * npins(), .M = mass,
                             .A = matrix,           .p = pins, .b = centripetal};
  for (int tight = 0; tight < 2; tight++) {
    const sunrealtype tol = tight ? 1e-12 : 1e-6;
    sunrealtype t         = 0.0;
    MessageLog log        = {0};
    N_Vector y            = vector_of(2 * nu, NULL);
    begin(y);
    CPMech mech      = create_mech(&model, y, test_context);
    CPIntegrator mem = CPIntegratorCreate(all[_i], test_context);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
    ck_assert_int_eq(CPMechAttach(mech, mem, t, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
    ck_assert_msg(CPIntegratorEvolve(mem, T_END, y, &t, CV_NORMAL) == CP_SUCCESS, "%s at %g: %s",
                  all[_i], tol, CPObjectGetLastMessage(CP_OBJECT(mem)));
    ck_assert_int_eq(log.count, tight);
    if (tight) ck_assert_mentions(log.text, "next to a singular position");
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
    N_VDestroy(y);
  }
}
END_TEST

/* The accelerated iteration allocates at the first position that needs it, in the middle of a run. */
START_TEST(allocations_on_the_way_may_fail) {
  int named = 0, failed = 1;
  build(1);
  const int nu            = 3 * bars();
  const CPEquations model = {CP_SIZED(CPEquations), .nu = nu,  .np = 2 * npins(), .M = mass,
                             .A = matrix,           .p = pins, .b = centripetal};
  for (long n = 1; failed; n++) {
    sunrealtype t = 0.0;
    N_Vector y    = vector_of(2 * nu, NULL);
    begin(y);
    CPMech mech      = create_mech(&model, y, test_context);
    CPIntegrator mem = CPIntegratorCreate("RADAU13", test_context);
    ck_assert_int_eq(CPMechAttach(mech, mem, t, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-5, 1.0e-5), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, T_END, y, &t, CV_ONE_STEP), CP_SUCCESS);
    alloc_watch_failing(n);
    int flag = CP_SUCCESS;
    while (!flag && t < T_END) flag = CPIntegratorEvolve(mem, T_END, y, &t, CV_ONE_STEP);
    alloc_unwatch();
    failed = alloc_has_failed();
    ck_assert_msg(flag == (failed ? CP_MEM_FAIL : CP_SUCCESS), "allocation %ld: %d, %s", n, flag,
                  CPObjectGetLastMessage(CP_OBJECT(mem)));
    if (failed && strstr(CPObjectGetLastMessage(CP_OBJECT(mem)), "iteration of the stages"))
      named++;
    CPIntegratorFree(&mem);
    CPMechFree(&mech);
    N_VDestroy(y);
  }
  ck_assert_int_eq(named, 2); /* two arrays */
}
END_TEST

TEST_SUITE(parallelogram) {
  Suite *suite = suite_create("a parallelogram");
  TCase *tc    = tcase_create("all");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, uniform_rotation_stays_uniform_through_singular_positions, 0,
                      LOOPS * METHODS);
  tcase_add_loop_test(tc, tolerances_below_the_roundoff_of_a_singular_position_are_told_once, 0, 3);
  tcase_add_loop_test(tc, the_unit_of_length_changes_nothing, 0, 2);
  tcase_add_test(tc, allocations_on_the_way_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
