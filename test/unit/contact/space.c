/* Friction in space: a puck of unit mass on a rough table, drawn by a spring to a point that may
 * move; its sliding turns, ends and begins again. Errors and gradients against runs at a tight
 * tolerance. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { GRAVITY, FRICTION, STIFFNESS, SPEED, DRIVE, PARAMETERS };

typedef struct {
  sunrealtype p[PARAMETERS];
} Puck;

static const sunrealtype *of(void *run) { return ((Puck *)((Run *)run)->user_data)->p; }

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *run) {
  (void)t, (void)q, (void)run;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}
static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *run) {
  (void)t, (void)q, (void)run;
  SM_ELEMENT_D(A, 0, 2) = SM_ELEMENT_D(A, 1, 0) = SM_ELEMENT_D(A, 2, 1) = 1;
  return 0;
}
/* The point to which the spring draws the puck is (0, DRIVE t). */
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *run) {
  const sunrealtype *p = of(run);
  (void)u, (void)z;
  f[0] = -p[STIFFNESS] * q[0], f[1] = p[STIFFNESS] * (p[DRIVE] * t - q[1]), f[2] = -p[GRAVITY];
  return 0;
}
static int gap(sunrealtype t, const sunrealtype *q, sunrealtype *g, void *run) {
  (void)t, (void)run;
  g[0] = q[2];
  return 0;
}
static int no_bias(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *run) {
  (void)t, (void)q, (void)u, (void)run;
  b[0] = b[1] = b[2] = 0;
  return 0;
}
static int law(int i, CPContactPoint *point, void *run) {
  (void)i;
  point->mu = point->mu_static = of(run)[FRICTION];
  return 0;
}

static const CPMechModel model = {
    .nu = 3, .np = 1, .nv = 3, .M = mass, .A = rows, .f = forces, .p = gap, .b = no_bias};
static const CPContactPoint contact = {
    .name = "puck", .normal = 0, .tangent = 1, .ntangents = 2, .mu = 1};

enum { STATES = 6 };

/* From (1, 0) at the velocity (0, SPEED) */
static Run *start(Puck *puck, int method, sunrealtype tol) {
  const sunrealtype y0[STATES] = {1, 0, 0, 0, puck->p[SPEED], 0};
  Run *run                     = run_create(&model, puck, 1, &contact, y0);
  ck_assert_int_eq(CPContactSetLawFn(run->contact, law), CP_SUCCESS);
  const int flag = run_attach(run, method, tol);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
  return run;
}

/* The state at t by DOP853 at a tight tolerance */
static void precise(const sunrealtype *p, sunrealtype t, sunrealtype *y) {
  Puck puck;
  memcpy(puck.p, p, sizeof puck.p);
  Run *run = start(&puck, DOP853, 1e-13);
  run_to(run, t);
  memcpy(y, entries(run->y), STATES * sizeof *y);
  run_free(&run);
}

/* The spring takes the puck past its centre; the slower it starts, the nearer to zero its velocity
 * passes where it turns. It stops there, or later. */
START_TEST(sliding_turns_and_ends) {
  static const sunrealtype speeds[] = {1, 0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6};
  for (int k = 0; k < 2 * (int)(sizeof speeds / sizeof *speeds); k++) {
    const Puck usual = {.p = {9.81, k % 2 ? 0.05 : 0.01, 1, speeds[k / 2], 0}};
    sunrealtype y[STATES], most = 0;
    precise(usual.p, 20, y);
    for (int e = 0; e < 6; e++) {
      const sunrealtype tol = pow(10, -3 - e);
      Puck puck             = usual;
      Run *run              = start(&puck, _i, tol);
      run_to(run, 20);
      for (int j = 0; j < STATES; j++) most = fmax(most, fabs(entries(run->y)[j] - y[j]) / tol);
      ck_assert_int_le(run->all, 12);
      run_free(&run);
    }
    ck_assert_msg(most <= 100, "mu = %g, speed %g: %g tolerances", usual.p[FRICTION], speeds[k / 2],
                  most);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("contact/space");
  TCase *tc    = tcase_create("space");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, sliding_turns_and_ends, 0, METHODS);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
