/* Slider-crank of Haug: integral of the kinetic energy over ten seconds and its gradient with respect to
 * crank length, spring stiffness and damping.
 *
 * Source of the value 3.3366160663: SUNDIALS, example idasSlCrank_dns, with rtol 1e-6 and atol 1e-7. */
#include "reference.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NS = 3 };
static const int plist[NS] = {0, 4, 5}; /* a, k, c of SliderCrank */

/* 1/2 u' M u */
static int kinetic(sunrealtype t, N_Vector y, sunrealtype *h, void *user_data) {
  const SliderCrank *s = user_data;
  const sunrealtype *u = entries(y) + 3;
  (void)t;
  h[0] = 0.5 * (s->J1 * u[0] * u[0] + s->m2 * u[1] * u[1] + s->J2 * u[2] * u[2]);
  return 0;
}

static int start(sunrealtype t0, N_Vector y0, void *user_data) {
  (void)t0;
  slider_crank_initial(user_data, y0);
  return 0;
}

typedef struct {
  SliderCrank crank;
  MechRun *run;
  CPParameters parameters;
  CPSens sens;
  CPFunctional F;
} Work;

static void open(Work *w, int lmm, sunrealtype tol) {
  const CPEquations model = slider_crank_model();
  N_Vector y0             = vector_of(SLIDER_CRANK_N, NULL);
  w->crank                = slider_crank_haug();
  w->F =
      (CPFunctional){CP_SIZED(CPFunctional), .ng = 1, .integrand = kinetic, .user_data = &w->crank};
  slider_crank_initial(&w->crank, y0);
  w->run = mech_run_create(&model, &w->crank, entries(y0));
  mech_run_start(w->run, lmm, tol);
  w->parameters =
      (CPParameters){CP_SIZED(CPParameters), .n = NS, .values = &w->crank.a, .plist = plist};
  ck_assert_ptr_nonnull(w->sens = CPSensCreate(&w->parameters, y0, test_context));
  ck_assert_int_eq(CPSensSetErrCon(w->sens, SUNTRUE), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetSens(w->run->cpode, w->sens), CP_SUCCESS);
  N_VDestroy(y0);
}

static void close(Work *w) {
  mech_run_free(&w->run);
  CPSensFree(&w->sens);
}

/* With the crank upright at (0, a) and the rod down to its slider, a change of a turns the rod.
 * CPSensCalcIC computes the consistent start of the sensitivity, which is checked below. */
static sunrealtype value_at(int lmm, sunrealtype tol) {
  Work w;
  sunrealtype G, dG[NS];
  open(&w, lmm, tol);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .mode = CP_GRADIENT_FORWARD};
  ck_assert_int_eq(CPSensCalcIC(w.sens, NULL), CP_SUCCESS);
  ck_assert_msg(CPIntegratorGradient(w.run->cpode, 10.0, &w.F, NULL, &options, &G, dG, NULL) ==
                    CP_SUCCESS,
                "%s", w.run->log.text);
  if (wants_figures()) printf("%s %.0e: %.12f\n", method_name(lmm), tol, G);
  close(&w);
  return G;
}

/* The published run's tolerance of 1e-6 applies to each step; it ends with an error of about 1e-5. */
START_TEST(the_functional_agrees_with_the_published_one_to_its_accuracy) {
  ck_assert_double_eq_tol(value_at(_i, 1.0e-9), 3.3366160663, 2.0e-5);
}
END_TEST

START_TEST(the_functional_is_converged_to_nine_digits) {
  const sunrealtype tight = value_at(_i, 1.0e-12);
  ck_assert_double_eq_tol(value_at(_i, 1.0e-11), tight, 3.0e-9);
  ck_assert_double_eq_tol(tight, value_at(_i == CV_BDF ? CV_ADAMS : CV_BDF, 1.0e-12), 3.0e-9);
}
END_TEST

/* Central differences with a step of 1e-3 are accurate to about 1e-6 of the gradient. */
START_TEST(gradients_agree_both_ways_and_with_differences) {
  Work w;
  char *text        = NULL;
  size_t length     = 0;
  FILE *out         = open_memstream(&text, &length);
  sunrealtype worst = 1.0;
  open(&w, _i, 1.0e-10);
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = 1.0e-10,
                                     .abstol = 1.0e-10, .start = start};
  ck_assert_msg(CPIntegratorGradientCheck(w.run->cpode, 0.0, 10.0, &w.F, &w.parameters, &options,
                                          1.0e-3, out, &worst) == CP_SUCCESS,
                "%s", w.run->log.text);
  fclose(out);
  if (wants_figures()) puts(text);
  ck_assert_double_lt(worst, 1.0e-6);
  const char *line = strchr(text, '\n');
  for (int i = 0; i < NS; i++, line = strchr(line + 1, '\n')) {
    int k, parameter;
    double forward, adjoint, difference;
    ck_assert_int_eq(
        sscanf(line, "%d %d %lf %lf %lf", &k, &parameter, &forward, &adjoint, &difference), 5);
    ck_assert_int_eq(parameter, plist[i]);
    ck_assert_double_eq_tol(forward, difference, 1.0e-4 * fabs(forward));
  }
  free(text);
  close(&w);
}
END_TEST

TEST_SUITE(sensitivity_slider_crank) {
  Suite *suite = suite_create("Sensitivities of the slider-crank");
  TCase *tc    = tcase_create("slider_crank");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, the_functional_agrees_with_the_published_one_to_its_accuracy, CV_ADAMS,
                      CV_BDF + 1);
  tcase_add_loop_test(tc, the_functional_is_converged_to_nine_digits, CV_ADAMS, CV_BDF + 1);
  tcase_add_loop_test(tc, gradients_agree_both_ways_and_with_differences, CV_ADAMS, CV_BDF + 1);
  suite_add_tcase(suite, tc);
  return suite;
}
