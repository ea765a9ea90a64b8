/* The planar mechanisms by masses and forces against the same mechanisms as y' = f with
 * constraints; the functions of each model against each other; b and v by differences; invariants. */
#include "jacobians.h"
#include "mechanics_support.h"

#include "models/bushing_crank.h"
#include <math.h>

/* ---- accelerations ---- */

static sunrealtype largest(int n, const sunrealtype *x) {
  sunrealtype norm = 0;
  for (int i = 0; i < n; i++) norm = fmax(norm, fabs(x[i]));
  return norm;
}

/* Both solve the same equations, with KKT matrices of condition below 10 (mechanics_multipliers.c),
 * in a dozen operations per number. */
START_TEST(accelerations_are_those_of_the_f_c_form) {
  const PlanarOptions options = {.lmm = CV_ADAMS, .tol = 1e-6};
  Mechanism mech              = mechanism((MechanismId)_i);
  MechCase c                  = mech_case(_i);
  MechRun *run                = planar_run_create(&c, &options);
  for (int i = 0; i < c.nsamples; i++) {
    sunrealtype udot[MAX_NU];
    N_Vector y = vector_of(c.n, c.samples[i].y), ydot = vector_of(c.n, NULL);
    ck_assert_int_eq(mech.f(c.samples[i].t, y, ydot, &mech.par), 0);
    ck_assert_int_eq(CPMechAccelerations(run->mech, c.samples[i].t, y, udot, NULL), CP_SUCCESS);
    const sunrealtype *exact  = entries(ydot) + c.nu;
    const sunrealtype allowed = 2 * 12 * ROUNDOFF * 10 * (1 + largest(c.nu, exact));
    for (int k = 0; k < c.nu; k++) ck_assert_double_le(fabs(udot[k] - exact[k]), allowed);
    N_VDestroy(y);
    N_VDestroy(ydot);
  }
  mech_run_free(&run);
}
END_TEST

/* ---- trajectories ---- */

enum { NUM_TOLERANCES = 11 };

static sunrealtype tolerance(int i) { return pow(10, -5 - i / 2.0); }

/* Both are within their bounds of the same table, so their distance is below the sum of the bounds.
 * Errors that are projected in different metrics control steps and order, so the mean numbers of
 * steps over the tolerances agree only up to that effect and scatter: 0.96 to 1.01, and 0.82 on the
 * knife edge with Adams. Loop index: mechanism, method. */
START_TEST(trajectory_is_that_of_the_f_c_form) {
  const int lmm           = _i % 2 ? CV_ADAMS : CV_BDF;
  Mechanism mech          = mechanism((MechanismId)(_i / 2));
  MechCase c              = mech_case(_i / 2);
  sunrealtype sum_of_logs = 0;
  for (int i = 0; i < NUM_TOLERANCES; i++) {
    const sunrealtype tol            = tolerance(i);
    const Options options            = {.lmm = lmm, .tol = tol};
    const PlanarOptions options_mech = {.lmm = lmm, .tol = tol};
    Run run                          = run_create(&mech, &options);
    MechRun *run_mech                = planar_run_create(&c, &options_mech);
    sunrealtype apart                = 0;
    for (int k = 1; k < c.nsamples; k++) {
      run_to(&run, c.samples[k].t);
      mech_run_to(run_mech, c.samples[k].t);
      apart = fmax(apart, scaled_error(&c, c.n, run_mech->y, entries(run.y)));
    }
    const long int steps = run_steps(&run), steps_mech = mech_run_steps(run_mech);
    ck_assert_double_le(apart, mech_error_bound(&c, c.condition, tol, steps + steps_mech));
    if (wants_figures())
      printf("%-12s %-5s tol %.0e: %ld and %ld steps, %.1e apart\n", c.name, method_name(lmm), tol,
             steps, steps_mech, apart);
    sum_of_logs += log((sunrealtype)steps_mech / (sunrealtype)steps);
    mech_run_free(&run_mech);
    run_free(&run);
  }
  const sunrealtype ratio = exp(sum_of_logs / NUM_TOLERANCES);
  if (wants_figures()) printf("%-12s %-5s steps %.3f\n", c.name, method_name(lmm), ratio);
  ck_assert_double_le(fabs(log(ratio)), log(1.25));
}
END_TEST

/* v, b and partial derivatives by differences: still within the bound. The road of the car axis has
   the frequency 10. Loop index: mechanism, method */
START_TEST(differences_replace_v_b_and_partial_derivatives) {
  const int id                = _i / 2;
  MechCase c                  = mech_case(id);
  const PlanarOptions options = {.lmm             = _i % 2 ? CV_ADAMS : CV_BDF,
                                 .tol             = 1e-7,
                                 .by_differences  = 1,
                                 .difference_time = id == CAR_AXIS ? 0.1 : 0};
  MechRun *run                = planar_run_create(&c, &options);
  const PlanarFigures f       = planar_run_over_table(run, &c);
  if (wants_figures())
    printf("%-14s %-5s by differences: steps %ld, error %.1e\n", c.name, method_name(options.lmm),
           f.steps, f.error);
  if (id == FLEXIBLE_CRANK) /* as in mechanics_trajectories.c */
    ck_assert_double_le(f.positions,
                        mech_error_bound(&c, c.condition_of_positions, options.tol, f.steps));
  else ck_assert_double_le(f.error, mech_error_bound(&c, c.condition, options.tol, f.steps));
  ck_assert_double_le(f.violation, options.tol);
  mech_run_free(&run);
}
END_TEST

/* ---- the models' functions ---- */

/* At states near the middle of the table, disturbed, and therefore on no manifold. */
START_TEST(functions_of_the_models_agree) {
  const PlanarOptions options = {.lmm = CV_BDF, .tol = 1e-6};
  MechCase c                  = mech_case(_i);
  MechRun *run                = planar_run_create(&c, &options);
  const Sample *s             = &c.samples[c.nsamples / 2];
  unsigned long long seed     = 5;
  for (int trial = 0; trial < 10; trial++) {
    CPMechReport report = CP_INIT(CPMechReport);
    N_Vector y          = vector_of(c.n, s->y);
    for (int i = 0; i < c.n; i++) entries(y)[i] += 1e-3 * c.scale[i] * random_number(&seed);
    ck_assert_msg(CPMechCheck(run->mech, s->t, y, &report) == CP_SUCCESS, "%s: %s", c.name,
                  CPObjectGetLastMessage(CP_OBJECT(run->mech)));
    const sunrealtype errors[] = {report.A_p, report.A_v, report.v_p, report.b_v,
                                  report.M,   report.K,   report.Bq,  report.Bu};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
      ck_assert_double_le(errors[i], 1e-6);
    N_VDestroy(y);
  }
  mech_run_free(&run);
}
END_TEST

/* On the line y = 0, where the bushing exerts no force, its slider-crank has the same forces as the
 * other one. */
START_TEST(bushing_crank_has_the_forces_of_the_slider_crank) {
  const CPEquations stiff = bushing_crank_model(), rigid = slider_crank_model();
  BushingCrank bushing    = bushing_crank_stiff();
  unsigned long long seed = 8;
  for (int trial = 0; trial < 20; trial++) {
    sunrealtype q[3], u[3], f[3], f4[4];
    for (int i = 0; i < 3; i++) {
      q[i] = random_number(&seed) + (i == 1 ? 2 : 0); /* the slider right of the crank */
      u[i] = random_number(&seed);
    }
    const sunrealtype q4[4] = {q[0], q[1], 0, q[2]}, u4[4] = {u[0], u[1], 0, u[2]};
    ck_assert_int_eq(stiff.f(0, q4, u4, NULL, f4, &bushing), 0);
    ck_assert_int_eq(rigid.f(0, q, u, NULL, f, &bushing.crank), 0);
    const sunrealtype both[3] = {f4[0], f4[1], f4[3]};
    for (int i = 0; i < 3; i++) ck_assert_double_le(fabs(f[i] - both[i]), 100 * ROUNDOFF * 10);
  }
}
END_TEST

/* ---- invariants ---- */

static sunrealtype energy_of(int id, const MechCase *c, N_Vector y) {
  if (id == PENDULUM) return pendulum_energy(&c->par.pendulum, y);
  if (id == KNIFE_EDGE) return knife_edge_energy(&c->par.knife_edge, y);
  return andrews_energy(y);
}

/* Sum of scale_i |dE / dy_i|, the largest over the table, by differences */
static sunrealtype energy_sensitivity(int id, const MechCase *c) {
  sunrealtype worst = 0;
  for (int row = 0; row < c->nsamples; row++) {
    N_Vector y      = vector_of(c->n, c->samples[row].y);
    sunrealtype sum = 0;
    for (int i = 0; i < c->n; i++) {
      const sunrealtype at = entries(y)[i], step = 1e-5 * c->scale[i];
      entries(y)[i]          = at + step;
      const sunrealtype more = energy_of(id, c, y);
      entries(y)[i]          = at - step;
      sum += fabs(more - energy_of(id, c, y)) / 2e-5;
      entries(y)[i] = at;
    }
    worst = fmax(worst, sum);
    N_VDestroy(y);
  }
  return worst;
}

/* Each step changes the energy by at most its local error times dE/dy; there is no other source.
 * The constraints are ideal: their power is the multipliers times the violation of the velocities.
 * Loop index: mechanism, method. */
START_TEST(energy_is_constant_and_constraints_do_no_work) {
  static const int conservative[3] = {PENDULUM, KNIFE_EDGE, ANDREWS};
  const int id                     = conservative[_i / 2];
  const PlanarOptions options      = {.lmm = _i % 2 ? CV_ADAMS : CV_BDF, .tol = 1e-8};
  MechCase c                       = mech_case(id);
  MechRun *run                     = planar_run_create(&c, &options);
  const sunrealtype start = energy_of(id, &c, run->y), by_y = energy_sensitivity(id, &c);
  for (int i = 1; i < c.nsamples; i++) {
    sunrealtype udot[MAX_NU], lambda[MAX_NA], reaction[MAX_NU];
    CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda,
                        .reaction = reaction};
    mech_run_to(run, c.samples[i].t);
    ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
    const sunrealtype per_step = sqrt((sunrealtype)c.n) * options.tol / 6 * by_y;
    ck_assert_double_le(fabs(energy_of(id, &c, run->y) - start),
                        (sunrealtype)mech_run_steps(run) * per_step);
    const sunrealtype force = largest(c.na, lambda), speed = largest(c.nu, entries(run->y) + c.nu);
    ck_assert_double_le(fabs(out.power), c.na * force * (out.velocity + 10 * ROUNDOFF * speed));
    ck_assert_int_eq(out.rank, c.na);
    ck_assert(out.unique);
  }
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(mechanics_forms) {
  Suite *suite = suite_create("mechanics_forms");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, accelerations_are_those_of_the_f_c_form, 0, NUM_MECHANISMS);
  tcase_add_loop_test(tcase, trajectory_is_that_of_the_f_c_form, 0, 2 * NUM_MECHANISMS);
  tcase_add_loop_test(tcase, differences_replace_v_b_and_partial_derivatives, 0, 2 * NUM_MECH_CASES);
  tcase_add_loop_test(tcase, functions_of_the_models_agree, 0, NUM_MECH_CASES);
  tcase_add_test(tcase, bushing_crank_has_the_forces_of_the_slider_crank);
  tcase_add_loop_test(tcase, energy_is_constant_and_constraints_do_no_work, 0, 2 * 3);
  suite_add_tcase(suite, tcase);
  return suite;
}
