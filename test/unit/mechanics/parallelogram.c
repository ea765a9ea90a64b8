/* A parallelogram of three bars without gravity, that passes its singular positions: bars 0 and 2 of
 * length 1 turn uniformly about (0, 0) and (2, 0), and bar 1 of length 2 connects their ends.
 *
 *   q = (x, y, phi) of each bar, phi_0 = phi_2 = pi/2 + 2 t, phi_1 = 0
 *
 * All bars are in line at t = pi/4, 3 pi/4, 5 pi/4. */
#include "support/support.h"

#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_onestep.h>
#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { BARS = 3, PINS = 4, NU = 3 * BARS, NP = 2 * PINS };
#define RATE  2.0
#define START (M_PI / 2)
#define T_END 5.3
/* Largest error of the rate in tolerances. Corrections of one tolerance are permitted, next to
 * positions where they are divided by the sine of the angle between constraints. */
#define MOST 200.0

/* Pin k joins the point at the distance from_k along bar bar_k to the same of other_k, or to (x_k, 0)
 * on the ground if other_k is -1. */
static const struct {
  int bar, other;
  sunrealtype from, to, x;
} pin[PINS] = {
    {0, -1, -0.5, 0.0, 0.0}, {2, -1, -0.5, 0.0, 2.0}, {1, 0, -1.0, 0.5, 0.0}, {1, 2, 1.0, 0.5, 0.0}};

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int j = 0; j < NU; j++) SM_ELEMENT_D(M, j, j) = j % 3 == 2 ? 0.1 : 1.0;
  return 0;
}

static void add(const sunrealtype *q, int bar, sunrealtype at, sunrealtype *p) {
  p[0] += q[3 * bar] + at * cos(q[3 * bar + 2]);
  p[1] += q[3 * bar + 1] + at * sin(q[3 * bar + 2]);
}

static int pins(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  for (int k = 0; k < PINS; k++) {
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
  for (int k = 0; k < PINS; k++) {
    derive(A, q, k, pin[k].bar, pin[k].from, 1.0);
    if (pin[k].other >= 0) derive(A, q, k, pin[k].other, pin[k].to, -1.0);
  }
  return 0;
}

static int centripetal(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                       void *data) {
  (void)t, (void)data;
  for (int k = 0; k < PINS; k++)
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
  sunrealtype *q = entries(y), *u = q + NU;
  memset(q, 0, 2 * NU * sizeof *q);
  for (int k = 0; k < 2; k++) {
    const int bar  = 2 * k;
    q[3 * bar]     = 2.0 * k;
    q[3 * bar + 1] = 0.5, q[3 * bar + 2] = START;
    u[3 * bar] = -0.5 * RATE, u[3 * bar + 2] = RATE;
  }
  q[3] = q[4] = 1.0;
  u[3]        = -RATE;
}

static const char *const methods[] = {"RADAU5", "RADAU", "RADAU9", "RADAU13"};
enum { METHODS = sizeof methods / sizeof *methods, LAST_DIGIT = 9 };

/* The kinetic energy, and so the rate, changes by errors alone. A step whose projection moves the
 * state by many tolerances has at least that error, whatever its estimate says: without regard to
 * that, the rate was wrong by 60,000 tolerances after one step of RADAU13. */
START_TEST(uniform_rotation_stays_uniform_through_singular_positions) {
  const CPMechModel model = {.nu = NU, .np = NP, .M = mass, .A = matrix, .p = pins, .b = centripetal};
  for (int digits = 4; digits <= LAST_DIGIT; digits++) {
    const sunrealtype tol = pow(10.0, -digits);
    sunrealtype t         = 0.0;
    N_Vector y            = vector_of(2 * NU, NULL);
    begin(y);
    CPMech mech      = CPMechCreate(&model, y, test_context);
    CPOneStepMem mem = CPOneStepCreate(methods[_i], test_context);
    ck_assert_int_eq(CPMechAttachOneStep(mech, mem, t, y), CP_SUCCESS);
    ck_assert_int_eq(CPOneStepSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_msg(CPOneStepEvolve(mem, T_END, y, &t, CV_NORMAL) == CP_SUCCESS, "%s at 1e-%d: %s",
                  methods[_i], digits, CPOneStepGetLastMessage(mem));
    const sunrealtype error = fabs(entries(y)[NU + 2] - RATE);
    ck_assert_msg(error <= MOST * tol, "%s at 1e-%d: the rate is wrong by %g tolerances",
                  methods[_i], digits, error / tol);
    CPOneStepFree(&mem);
    CPMechFree(&mech);
    N_VDestroy(y);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("a parallelogram");
  TCase *tc    = tcase_create("all");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, uniform_rotation_stays_uniform_through_singular_positions, 0, METHODS);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
