/* Multipliers and accelerations of CPMech: at the states of the reference tables, which list them, and
 * along trajectories; the tension of a pendulum's rod in closed form.
 */
#include "jacobians.h"
#include "mechanics_support.h"

#include <math.h>

/* ---- at the tables' states ---- */

/* Tables have 17 digits of the state and 16 of the rest. Roundoff in M, A and f is amplified by the KKT
   matrix; relative changes of the state by the sensitivity of accelerations and multipliers. Both were
   computed apart, at all rows of the tables: condition, M and A scaled to unit rows, and sensitivity,
   relative to the largest entry: slider-crank 4 and 2, car axis 8 and 1,000 (its springs have forces
   near zero, and 1/K = 2000), Andrews' mechanism 440 and 50, flexible slider-crank 7 and 30. A dozen
   operations go into each number. */
static sunrealtype amplification(int id) {
  switch (id) {
  case SLIDER_CRANK: return 6;
  case CAR_AXIS: return 1010;
  case ANDREWS: return 490;
  default: return 40;
  }
}

static sunrealtype max_abs(int n, const sunrealtype *x) {
  sunrealtype largest = 0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  return largest;
}

/* Loop index: mechanism, linear solver */
START_TEST(tables_are_reproduced) {
  const int id                = _i / 2;
  const PlanarOptions options = {
      .lmm = CV_ADAMS, .tol = 1e-6, .linsol = _i % 2 ? CP_LINSOL_QR : CP_LINSOL_SCHUR};
  MechCase c = mech_case(id);
  if (!c.nlambda) return; /* not in the table */
  MechRun *run = planar_run_create(&c, &options);
  for (int i = 0; i < c.nsamples; i++) {
    const Sample *s           = &c.samples[i];
    const sunrealtype *l_ref  = s->more + c.nudot;
    const sunrealtype allowed = 12 * ROUNDOFF * amplification(id);
    sunrealtype udot[MAX_NU], lambda[MAX_NA];
    N_Vector y = vector_of(c.n, s->y);
    ck_assert_int_eq(CPMechAccelerations(run->mech, s->t, y, udot, lambda), CP_SUCCESS);
    for (int k = 0; k < c.nlambda; k++)
      ck_assert_double_le(fabs(lambda[k] - c.lambda_sign * l_ref[k]),
                          allowed * (1 + max_abs(c.nlambda, l_ref)));
    for (int k = 0; k < c.nudot; k++)
      ck_assert_double_le(fabs(udot[k] - s->more[k]), allowed * (1 + max_abs(c.nudot, s->more)));
    N_VDestroy(y);
  }
  mech_run_free(&run);
}
END_TEST

/* ---- along trajectories ---- */

/* Sum over i of scale_i |d lambda_k / d y_i|, the largest over k and the table, by differences */
static sunrealtype sensitivity(MechRun *run, const MechCase *c) {
  const sunrealtype step = 1e-6;
  sunrealtype largest    = 0;
  for (int row = 0; row < c->nsamples; row++) {
    sunrealtype udot[MAX_NU], base[MAX_NA], moved[MAX_NA], sum[MAX_NA] = {0};
    N_Vector y = vector_of(c->n, c->samples[row].y);
    ck_assert_int_eq(CPMechAccelerations(run->mech, c->samples[row].t, y, udot, base), CP_SUCCESS);
    for (int i = 0; i < c->n; i++) {
      entries(y)[i] += step * c->scale[i];
      ck_assert_int_eq(CPMechAccelerations(run->mech, c->samples[row].t, y, udot, moved),
                       CP_SUCCESS);
      entries(y)[i] = c->samples[row].y[i];
      for (int k = 0; k < c->na; k++) sum[k] += fabs(moved[k] - base[k]) / step;
    }
    largest = fmax(largest, max_abs(c->na, sum));
    N_VDestroy(y);
  }
  return largest;
}

/* The multipliers follow from the state, so they are as accurate. Factor 2: curvature. Loop index:
 * mechanism, method. */
START_TEST(multipliers_are_as_good_as_the_state) {
  const int id                = _i / 2;
  const PlanarOptions options = {.lmm = _i % 2 ? CV_ADAMS : CV_BDF, .tol = 1e-8};
  MechCase c                  = mech_case(id);
  if (!c.nlambda) return;
  MechRun *run           = planar_run_create(&c, &options);
  const sunrealtype by_y = sensitivity(run, &c);
  const PlanarFigures f  = planar_run_over_table(run, &c);
  if (wants_figures())
    printf("%-14s %-5s multipliers off by %.1e, state by %.1e, sensitivity %.1e\n", c.name,
           method_name(options.lmm), f.lambda, f.error, by_y);
  ck_assert_double_le(f.lambda, 2 * by_y * f.error);
  mech_run_free(&run);
}
END_TEST

/* ---- tension of the pendulum's rod ---- */

static const Pendulum pendulum = {.L = 1, .g = SUN_RCONST(9.81)};

/* The tension at a state, (v^2 - g y) / L per mass, assumes the length L of the rod; the multiplier
 * uses the length that the state has, and is smaller by twice the stretch. Against the tension of
 * the exact motion, -3 g y(t) / L, it is also off by the state's error e: d lambda = 2 v dv - g dy
 * with |v| <= sqrt(2 g L), in sum 2 sqrt(2) sqrt(2 g L) + g, and e^2 of each velocity. Over the
 * first ten seconds. Loop index: method, tolerance. */
START_TEST(multiplier_is_the_tension_of_the_rod) {
  const PlanarOptions options = {.lmm = _i % 2 ? CV_ADAMS : CV_BDF, .tol = pow(10, -5 - _i / 2)};
  const CPEquations model     = pendulum_model();
  const sunrealtype g = pendulum.g, size = 3 * g, by_state = 4 * sqrt(g) + g;
  sunrealtype start[PENDULUM_N], exact[PENDULUM_N], worst  = 0;
  pendulum_exact(&pendulum, 0, start);
  MechRun *run = planar_run_of(&model, (void *)&pendulum, start, &options);
  for (int i = 1; i <= 100; i++) {
    sunrealtype lambda;
    CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = &lambda};
    mech_run_to(run, i / 10.0);
    ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
    const sunrealtype off     = fabs(lambda - pendulum_tension(&pendulum, run->y));
    const sunrealtype stretch = 2 * out.position * size;
    ck_assert_double_le(off, 1.01 * stretch + 10 * ROUNDOFF * size);
    worst = fmax(worst, off);

    pendulum_exact(&pendulum, run->t, exact);
    const sunrealtype e = error_against(run->y, exact);
    ck_assert_double_le(fabs(lambda + size * exact[1]),
                        by_state * e + 2 * e * e + 1.01 * stretch + 10 * ROUNDOFF * size);
  }
  if (wants_figures())
    printf("tension, %-5s tol %.0e: off by %.1e tol\n", method_name(options.lmm), options.tol,
           worst / options.tol);
  ck_assert_double_le(worst, 10 * options.tol);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(mechanics_multipliers) {
  Suite *suite = suite_create("mechanics_multipliers");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, tables_are_reproduced, 0, 2 * NUM_MECH_CASES);
  tcase_add_loop_test(tcase, multipliers_are_as_good_as_the_state, 0, 2 * NUM_MECH_CASES);
  tcase_add_loop_test(tcase, multiplier_is_the_tension_of_the_rod, 0, 2 * 6);
  suite_add_tcase(suite, tcase);
  return suite;
}
