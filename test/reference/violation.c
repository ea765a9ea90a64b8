/* The constraint violation after every step and at every output is within its limit. */
#include "reference.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

static const int methods[2] = {CV_BDF, CV_ADAMS};

/* Loop index: mechanism, method, constraint tolerance. 1e-13 is about 100 units of roundoff of the
   largest terms in a constraint, far below the integration's tolerance. */
static const sunrealtype ctols[3] = {1e-6, 1e-9, 1e-13};

START_TEST(every_step_is_within_the_constraint_tolerance) {
  Mechanism mech          = mechanism((MechanismId)(_i / 6));
  const Options options   = {.lmm = methods[_i / 3 % 2], .tol = 1e-6, .ctol = ctols[_i % 3]};
  const sunrealtype t_end = mech.samples[mech.nsamples - 1].t;
  Run run                 = run_create(&mech, &options);

  while (run_step(&run, t_end))
    ck_assert_double_le(violation_at(&run, &mech, run.t, run.y), options.ctol);
  run_free(&run);
}
END_TEST

/* Many more outputs than steps, so that most are interpolated; CPIntegratorGetDky goes back within the
 * same step. */
START_TEST(every_output_is_within_the_constraint_tolerance) {
  enum { OUTPUTS = 2000 };
  Mechanism mech          = mechanism((MechanismId)(_i / 6));
  const Options options   = {.lmm = methods[_i / 3 % 2], .tol = 1e-6, .ctol = ctols[_i % 3]};
  const sunrealtype t_end = mech.samples[mech.nsamples - 1].t;
  Run run                 = run_create(&mech, &options);
  N_Vector dky            = vector_of(mech.n, NULL);

  for (int i = 1; i <= OUTPUTS; i++) {
    run_to(&run, i * t_end / OUTPUTS);
    ck_assert_double_le(violation_at(&run, &mech, run.t, run.y), options.ctol);

    sunrealtype t_now, h;
    ck_assert_int_eq(CVodeGetCurrentTime(run.cvode_mem, &t_now), CV_SUCCESS);
    ck_assert_int_eq(CVodeGetLastStep(run.cvode_mem, &h), CV_SUCCESS);
    ck_assert_int_eq(CPIntegratorGetDky(run.cpode, t_now - h / 3, 0, dky), CP_SUCCESS);
    ck_assert_double_le(violation_at(&run, &mech, t_now - h / 3, dky), options.ctol);
  }
  ck_assert_int_lt(run_steps(&run), OUTPUTS);
  N_VDestroy(dky);
  run_free(&run);
}
END_TEST

/* Row i of G in the units of the state's tolerance, sqrt(sum_j G_ij^2 / ewt_j^2): to first order
   |c_i| over this is the distance to surface i in these units. */
static sunrealtype row_size(SUNMatrix G, int i, N_Vector ewt) {
  sunrealtype sum = 0;
  for (sunindextype j = 0; j < N_VGetLength(ewt); j++) {
    const sunrealtype g = SM_ELEMENT_D(G, i, j) / N_VGetArrayPointer(ewt)[j];
    sum += g * g;
  }
  return sqrt(sum);
}

/* Without constraint tolerances the measure is the state's own: eps times the row's size. The size
 * belongs to the newest factors, which may be from one of the last ten projections.
 * The factor 1.01 allows for factors from before the correction, or from a step that was retried in
 * between. Loop index: mechanism, method, norm. */
START_TEST(every_step_is_within_a_fraction_of_the_state_tolerance) {
  enum { REMEMBERED = 11 };
  Mechanism mech        = mechanism((MechanismId)(_i / 4));
  const Options options = {
      .lmm = methods[_i / 2 % 2], .tol = 1e-6, .norm = _i % 2 ? CP_NORM_L2 : CP_NORM_ERROR};
  const sunrealtype t_end              = mech.samples[mech.nsamples - 1].t;
  Run run                              = run_create(&mech, &options);
  N_Vector ewt                         = vector_of(mech.n, NULL);
  sunrealtype sizes[REMEMBERED][MAX_M] = {{0}};

  for (int step = 0; run_step(&run, t_end); step++) {
    violation_at(&run, &mech, run.t, run.y); /* fills run.c */
    ck_assert_int_eq(SUNMatZero(run.G), 0);
    ck_assert_int_eq(mech.jac(run.t, run.y, run.c, run.G, &mech.par), 0);
    ck_assert_int_eq(CVodeGetErrWeights(run.cvode_mem, ewt), CV_SUCCESS);
    for (int i = 0; i < mech.m; i++) {
      sunrealtype size            = 0;
      sizes[step % REMEMBERED][i] = row_size(run.G, i, ewt);
      for (int k = 0; k < REMEMBERED; k++) size = fmax(size, sizes[k][i]);
      ck_assert_double_le(fabs(entries(run.c)[i]), 1.01 * CP_EPS_DEFAULT * size);
    }
  }
  N_VDestroy(ewt);
  run_free(&run);
}
END_TEST

TEST_SUITE(violation) {
  Suite *suite = suite_create("violation");
  TCase *tcase = tcase_create("reference");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, every_step_is_within_the_constraint_tolerance, 0, 6 * NUM_MECHANISMS);
  tcase_add_loop_test(tcase, every_output_is_within_the_constraint_tolerance, 0, 6 * NUM_MECHANISMS);
  tcase_add_loop_test(tcase, every_step_is_within_a_fraction_of_the_state_tolerance, 0,
                      4 * NUM_MECHANISMS);
  suite_add_tcase(suite, tcase);
  return suite;
}
