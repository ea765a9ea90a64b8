/* Rows that are off, left out by the model (CPEquations.skip_rows): a point mass on a rod of length 1 that hangs from the origin, with
 * a floor at y = -2 that is off,
 *
 *   u' = (0, -g) - lambda q,   lambda = (|u|^2 - g q_1) / |q|^2,   |u|^2 / 2 + g q_1 = const. */
#include "support/mech_run.h"
#include <cpodes/cpodes_integrator.h>

#include <sunmatrix/sunmatrix_dense.h>

#define G SUN_RCONST(9.81)

typedef struct {
  const char *off;
  int floors; /* evaluations of the floor's entries of A and b */
} Rod;

static int has_floor(void *data) {
  Rod *rod          = data;
  const int has_one = !rod->off || !rod->off[1];
  rod->floors += has_one;
  return has_one;
}

static int skip(const char *off, void *data) {
  ((Rod *)data)->off = off;
  return 0;
}

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  f[1] = -G;
  return 0;
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t;
  SM_ELEMENT_D(A, 0, 0) = q[0];
  SM_ELEMENT_D(A, 0, 1) = q[1];
  if (has_floor(data)) SM_ELEMENT_D(A, 1, 1) = 1;
  return 0;
}

static int positions(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  p[1] = q[1] + 2;
  return 0;
}

static int velocities(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                      void *data) {
  (void)t, (void)data;
  v[0] = q[0] * u[0] + q[1] * u[1];
  v[1] = u[1];
  return 0;
}

static int targets(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *data) {
  (void)t, (void)q;
  b[0] = -u[0] * u[0] - u[1] * u[1];
  if (has_floor(data)) b[1] = 0;
  return 0;
}

static const CPEquations model = {
    CP_SIZED(CPEquations), .nu = 2,        .np = 2,         .M = mass,    .A = rows,
    .f = weight,           .p = positions, .v = velocities, .b = targets, .skip_rows = skip};

START_TEST(a_run_evaluates_no_row_that_is_off) {
  Rod rod              = {0};
  const double tol     = 1e-8;
  MechRun *run         = mech_run_create(&model, &rod, (sunrealtype[]){0.6, -0.8, 0.4, 0.3});
  const sunrealtype *y = entries(run->y), lambda = 0.25 + 0.8 * G, E = 0.125 - 0.8 * G;
  sunrealtype udot[2], multiplier[2];
  ck_assert_int_eq(CPMechSetActive(run->mech, (int[]){1, 0}), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, multiplier), CP_SUCCESS);
  ck_assert_double_eq_tol(udot[0], -0.6 * lambda, 1e-14);
  ck_assert_double_eq_tol(udot[1], 0.8 * lambda - G, 1e-14);
  ck_assert_double_eq_tol(multiplier[0], lambda, 1e-14);
  ck_assert(multiplier[1] == 0);
  mech_run_start(run, _i ? CV_BDF : CV_ADAMS, tol);
  mech_run_to(run, 1);
  ck_assert_int_eq(rod.floors, 0);
  ck_assert_ptr_null(rod.off); /* nothing is left out of what others call */
  ck_assert_double_eq_tol((y[2] * y[2] + y[3] * y[3]) / 2 + G * y[1], E,
                          (double)mech_run_steps(run) * tol * G);
  mech_run_free(&run);
}
END_TEST

/* Without the rod the floor carries the weight. */
START_TEST(rows_that_come_on_are_evaluated) {
  Rod rod      = {0};
  MechRun *run = mech_run_create(&model, &rod, (sunrealtype[]){1, 0, 0, 0});
  sunrealtype udot[2], lambda[2];
  ck_assert_int_eq(CPMechSetActive(run->mech, (int[]){1, 0}), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_SUCCESS);
  ck_assert_double_eq_tol(udot[1], -G, 1e-14);
  ck_assert_int_eq(CPMechSetActive(run->mech, (int[]){0, 1}), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(run->mech, 0, run->y, udot, lambda), CP_SUCCESS);
  ck_assert_double_eq_tol(udot[1], 0, 1e-14);
  ck_assert_double_eq_tol(lambda[1], -G, 1e-14);
  ck_assert_int_gt(rod.floors, 0);
  mech_run_free(&run);
}
END_TEST

START_TEST(the_check_compares_rows_that_are_off) {
  Rod rod        = {0};
  MechRun *run   = mech_run_create(&model, &rod, (sunrealtype[]){0.6, -0.8, 0.4, 0.3});
  CPMechReport r = CP_INIT(CPMechReport);
  ck_assert_int_eq(CPMechSetActive(run->mech, (int[]){1, 0}), CP_SUCCESS);
  ck_assert_int_eq(CPMechCheck(run->mech, 0, run->y, &r), CP_SUCCESS);
  ck_assert_double_lt(r.A_p, 1e-8);
  ck_assert_int_gt(rod.floors, 0);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(skip_rows) {
  Suite *suite = suite_create("mechanics/skip_rows");
  TCase *tc    = tcase_create("skip_rows");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_run_evaluates_no_row_that_is_off, 0, 2);
  tcase_add_test(tc, rows_that_come_on_are_evaluated);
  tcase_add_test(tc, the_check_compares_rows_that_are_off);
  suite_add_tcase(suite, tc);
  return suite;
}
