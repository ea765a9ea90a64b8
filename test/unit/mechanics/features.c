/* Mechanical systems beyond positions and velocities: auxiliary states, and rows that constrain
 * accelerations only, each against a closed form; error weights with a time scale, and of groups. */
#include "support/mech_run.h"

#include <math.h>

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

/* Loop index of the tests: the method, and one more bit */
static int method_of(int index) { return index % 2 ? CV_ADAMS : CV_BDF; }

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (sunindextype i = 0; i < SM_ROWS_D(M); i++) SM_ELEMENT_D(M, i, i) = 1;
  return 0;
}

/* ------------------------------------------ auxiliary states: a spring with a Maxwell damper -- */

/* A mass on a frictionless table, whose spring k_0 has another, k_1, in series with a damper c
   beside it: with m = 1 the characteristic polynomial is s^3 + k_1/c s^2 + (k_0 + k_1) s + k_0
   k_1/c = (s + 1)(s^2 + 2 s + 5). z_0 is the damper's end, z_1 the impulse of the table. */
static const sunrealtype K0 = SUN_RCONST(5.0) / 3, K1 = SUN_RCONST(16.0) / 3,
                         DAMPER = SUN_RCONST(16.0) / 9, WEIGHT = SUN_RCONST(9.81);

static int table(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1;
  return 0;
}

static int springs(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *user_data) {
  (void)t, (void)u, (void)user_data;
  f[0] = -K0 * q[0] - K1 * (q[0] - z[0]);
  f[1] = -WEIGHT;
  return 0;
}

static int height(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *user_data) {
  (void)t, (void)user_data;
  p[0] = q[1];
  return 0;
}

static int damper_and_impulse(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                              const sunrealtype *z, const sunrealtype *lambda, sunrealtype *zdot,
                              void *user_data) {
  (void)t, (void)u, (void)user_data;
  zdot[0] = K1 * (q[0] - z[0]) / DAMPER;
  zdot[1] = -lambda[0];
  return 0;
}

static int springs_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                       SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)C, (void)user_data;
  SM_ELEMENT_D(K, 0, 0)  = -K0 - K1;
  SM_ELEMENT_D(Fz, 0, 0) = K1;
  return 0;
}

static int damper_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Zq, SUNMatrix Zu,
                      SUNMatrix Zz, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)Zu, (void)user_data;
  SM_ELEMENT_D(Zq, 0, 0) = K1 / DAMPER;
  SM_ELEMENT_D(Zz, 0, 0) = -K1 / DAMPER;
  return 0;
}

/* x = -e^-t / 2 + e^-t (3 cos 2t + sin 2t) / 2 from x = 1 at rest with z = 0. All roots are damped:
 * no perturbation of the springs grows, but |(x, v, z)| may grow by the condition of the
 * eigenvectors, below 10. A step's error in lambda, roundoff, drifts in z_1. */
START_TEST(maxwell_damper_is_the_closed_form) {
  const int by_user       = _i / 2;
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu            = 2,
                             .nz            = 2,
                             .np            = 1,
                             .M             = unit_mass,
                             .A             = table,
                             .f             = springs,
                             .p             = height,
                             .zdot          = damper_and_impulse,
                             .dynamics_jac  = by_user ? springs_jac : NULL,
                             .auxiliary_jac = by_user ? damper_jac : NULL};
  const sunrealtype y0[]  = {1, 0, 0, 0, 0, 0};
  MechRun *run            = mech_run_create(&model, NULL, y0);
  mech_run_start(run, method_of(_i), 1e-8);
  for (int i = 1; i <= 6; i++) {
    mech_run_to(run, i * 0.5);
    const sunrealtype e = exp(-run->t), c = cos(2 * run->t), s = sin(2 * run->t);
    const sunrealtype x  = e * (-1 + 3 * c + s) / 2;
    const sunrealtype v  = e * (1 - c - 7 * s) / 2;
    const sunrealtype a  = e * (-1 - 13 * c + 9 * s) / 2;
    const sunrealtype z0 = x + (a + K0 * x) / K1, impulse = WEIGHT * run->t;
    ck_assert_double_le(mech_run_error(run, 6, (sunrealtype[]){x, 0, v, 0, z0, impulse}),
                        mech_run_bound(run, impulse, 10));
  }
  mech_run_free(&run);
}
END_TEST

/* ------------------------------------------------------- rows of accelerations only, na > nv -- */

/* A mass in the plane, with y = 0 on all three levels, and x'' = -4 x on that of accelerations
 * only, by a drive that acts against a force: x = cos 2 t, lambda_1 = F - x''. */
static const sunrealtype DRIVE = 5;

static int table_and_drive(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  (void)t, (void)q, (void)user_data;
  SM_ELEMENT_D(A, 0, 1) = 1;
  SM_ELEMENT_D(A, 1, 0) = 1;
  return 0;
}

static int push(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *f, void *user_data) {
  (void)t, (void)q, (void)u, (void)z, (void)user_data;
  f[0] = DRIVE, f[1] = -WEIGHT;
  return 0;
}

static int drive_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                   void *user_data) {
  (void)t, (void)u, (void)user_data;
  b[0] = 0, b[1] = -4 * q[0];
  return 0;
}

/* A perturbation of the velocity moves the position by half of it, and one of the position changes
 * the velocity by twice of it. */
START_TEST(acceleration_rows_drive_the_motion) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 2,   .np = 1,     .na = 2,     .M = unit_mass,
      .A = table_and_drive,  .f = push, .p = height, .b = drive_b};
  const sunrealtype y0[] = {1, 0, 0, 0};
  MechRun *run           = mech_run_create(&model, NULL, y0);
  sunrealtype udot[2], lambda[2];
  mech_run_start(run, method_of(_i), 1e-8);
  mech_run_to(run, 5);
  const sunrealtype *s = entries(run->y);
  ck_assert_double_le(mech_run_error(run, 4, (sunrealtype[]){cos(10.0), 0, -2 * sin(10.0), 0}),
                      mech_run_bound(run, 2, 2));
  ck_assert_int_eq(CPMechGetNumMultipliers(run->mech), 2);
  ck_assert_int_eq(CPMechAccelerations(run->mech, run->t, run->y, udot, lambda), CP_SUCCESS);
  ck_assert_double_le(fabs(udot[0] + 4 * s[0]), 20 * ROUNDOFF * DRIVE);
  ck_assert_double_le(fabs(lambda[0] + WEIGHT), 20 * ROUNDOFF * WEIGHT);
  ck_assert_double_le(fabs(lambda[1] - (DRIVE + 4 * s[0])), 40 * ROUNDOFF * DRIVE);
  mech_run_free(&run);
}
END_TEST

/* b is needed, since no velocity constraint has that row's derivative */
START_TEST(acceleration_rows_want_b) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,   .np = 1,    .na = 2, .M = unit_mass,
                             .A = table_and_drive,  .f = push, .p = height};
  N_Vector y              = vector_of(4, NULL);
  ck_assert_ptr_null(create_mech(&model, y, test_context));
  N_VDestroy(y);
}
END_TEST

/* --------------------------------------------------------------------- error time scale -- */

/* Weights are 1 / (rtol |y| + atol); those of velocities are multiplied by tau, those of z_k by
 * tau^order_k. */
static void assert_weights(const MechRun *run, const sunrealtype *y, sunrealtype tol,
                           sunrealtype tau, const int *order) {
  N_Vector weights = vector_of(6, NULL);
  ck_assert_int_eq(CVodeGetErrWeights(CPIntegratorGetCVodeMem(run->cpode), weights), CV_SUCCESS);
  for (int i = 0; i < 6; i++) {
    const int power            = i < 2 ? 0 : i < 4 ? 1 : order[i - 4];
    const sunrealtype expected = pow(tau, power) / (tol * fabs(y[i]) + tol);
    ck_assert_double_eq_tol(entries(weights)[i], expected, 10 * ROUNDOFF * expected);
  }
  N_VDestroy(weights);
}

/* A time, and the size of the step before: the weights of a step are computed at its start. */
START_TEST(time_scale_weights_velocities_and_auxiliary_states) {
  static const int order[] = {2, 1};
  const sunrealtype tol = SUN_RCONST(1e-6), tau = _i ? CP_TAU_STEP : SUN_RCONST(0.25);
  const sunrealtype start[6] = {1};
  const CPEquations model    = {CP_SIZED(CPEquations),
                                .nu      = 2,
                                .nz      = 2,
                                .np      = 1,
                                .M       = unit_mass,
                                .A       = table,
                                .f       = springs,
                                .p       = height,
                                .zdot    = damper_and_impulse,
                                .z_order = order};
  MechRun *run               = mech_run_create(&model, NULL, start);
  sunrealtype y[6], step;
  ck_assert_int_eq(CPMechSetErrorTimeScale(run->mech, 1), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetErrorTimeScale(run->mech, tau), CP_SUCCESS); /* the last one counts */
  mech_run_start(run, CV_BDF, tol);
  ck_assert_int_ge(CPIntegratorEvolve(run->cpode, 1, run->y, &run->t, CV_ONE_STEP), 0);
  for (int i = 0; i < 6; i++) y[i] = entries(run->y)[i];
  ck_assert_int_eq(CVodeGetLastStep(CPIntegratorGetCVodeMem(run->cpode), &step), CV_SUCCESS);
  ck_assert_double_lt(step, 1);
  ck_assert_int_ge(CPIntegratorEvolve(run->cpode, 1, run->y, &run->t, CV_ONE_STEP), 0);
  assert_weights(run, y, tol, _i ? step : tau, order);
  mech_run_free(&run);
}
END_TEST

/* --------------------------------------------------------------------- norms of groups -- */

static int damper(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  const sunrealtype *lambda, sunrealtype *zdot, void *user_data) {
  (void)t, (void)u, (void)lambda, (void)user_data;
  zdot[0] = K1 * (q[0] - z[0]) / DAMPER;
  return 0;
}

/* |y|^2 = |q|^2 + |u|^2 + |z|^2 of WRMS norms, for q and u with two components and z with one */
START_TEST(groups_have_norms_of_their_own) {
  const sunrealtype tol = SUN_RCONST(1e-6), tau = SUN_RCONST(0.25), start[5] = {1};
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,    .nz = 1,      .np = 1,
                             .M = unit_mass,        .A = table, .f = springs, .p = height,
                             .zdot = damper};
  const sunrealtype e[5]  = {3 * tol, -4 * tol, 5 * tol, 7 * tol, 2 * tol};
  MechRun *run            = mech_run_create(&model, NULL, start);
  N_Vector weights = N_VClone(run->y), error = N_VClone(run->y);
  sunrealtype expected = 0;
  ck_assert_int_eq(CPMechSetErrorTimeScale(run->mech, tau), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetGroupNorms(run->mech, SUNTRUE), CP_SUCCESS);
  mech_run_start(run, CV_BDF, tol);
  ck_assert_int_ge(CPIntegratorEvolve(run->cpode, 1, run->y, &run->t, CV_ONE_STEP), 0);
  ck_assert_int_eq(CVodeGetErrWeights(CPIntegratorGetCVodeMem(run->cpode), weights), CV_SUCCESS);
  for (int i = 0; i < 5; i++) { /* The step began at the start. */
    const int size        = i < 4 ? 2 : 1;
    const sunrealtype one = e[i] / (tol * fabs(start[i]) + tol) * (i / 2 == 1 ? tau : 1);
    expected += one * one / size;
    entries(error)[i] = e[i];
  }
  expected = sqrt(expected);
  ck_assert_double_eq_tol(N_VWrmsNorm(error, weights), expected, 20 * ROUNDOFF * expected);
  N_VDestroy(weights);
  N_VDestroy(error);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(features) {
  Suite *suite = suite_create("features");
  TCase *tcase = tcase_create("features");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, maxwell_damper_is_the_closed_form, 0, 4);
  tcase_add_loop_test(tcase, acceleration_rows_drive_the_motion, 0, 2);
  tcase_add_test(tcase, acceleration_rows_want_b);
  tcase_add_loop_test(tcase, time_scale_weights_velocities_and_auxiliary_states, 0, 2);
  tcase_add_test(tcase, groups_have_norms_of_their_own);
  suite_add_tcase(suite, tcase);
  return suite;
}
