/* Work-precision curves of the race: the envelope of a method's runs, and what an accuracy costs on it. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/race/curve.h"
#include "support/support.h"

#define COUNT(points) ((int)(sizeof(points) / sizeof *(points)))

/* ---- envelope ---- */

START_TEST(an_envelope_has_the_runs_that_no_other_beats) {
  CurvePoint points[]     = {{1e-4, 3}, {1e-2, 1},
                             {1e-3, 2}, {2e-3, 2.5} /* worse and dearer than 1e-3 */,
                             {1e-5, 9}, {1e-6, 8} /* better and cheaper than 1e-5 */};
  const CurvePoint kept[] = {{1e-2, 1}, {1e-3, 2}, {1e-4, 3}, {1e-6, 8}};
  ck_assert_int_eq(curve_envelope(points, COUNT(points)), COUNT(kept));
  ck_assert_mem_eq(points, kept, sizeof kept);
}
END_TEST

START_TEST(an_envelope_does_not_depend_on_the_order_of_runs) {
  enum { RUNS = 40 };
  unsigned long long state = 7;
  CurvePoint points[RUNS], turned[RUNS];
  for (int i = 0; i < RUNS; i++)
    points[i] = (CurvePoint){pow(10, 3 * random_number(&state)), pow(10, random_number(&state))};
  for (int i = 0; i < RUNS; i++) turned[i] = points[RUNS - 1 - i];
  const int count = curve_envelope(points, RUNS);
  ck_assert_int_eq(curve_envelope(turned, RUNS), count);
  ck_assert_mem_eq(points, turned, (size_t)count * sizeof *points);
  for (int i = 1; i < count; i++)
    ck_assert(points[i].error < points[i - 1].error && points[i].cost > points[i - 1].cost);
}
END_TEST

START_TEST(of_equal_errors_the_cheapest_run_stays) {
  CurvePoint points[] = {{1e-3, 5}, {1e-3, 4}, {1e-3, 6}};
  ck_assert_int_eq(curve_envelope(points, COUNT(points)), 1);
  ck_assert_double_eq(points[0].cost, 4);
}
END_TEST

START_TEST(runs_that_are_no_points_on_logarithmic_axes_are_dropped) {
  CurvePoint points[] = {{0, 1}, {NAN, 1},      {INFINITY, 1}, {1, NAN},
                         {1, 0}, {1, INFINITY}, {-1, 1},       {0.5, 2}};
  ck_assert_int_eq(curve_envelope(points, COUNT(points)), 1);
  ck_assert_double_eq(points[0].error, 0.5);
  ck_assert_int_eq(curve_envelope(points, 0), 0);
}
END_TEST

/* ---- cost ---- */

/* cost = 3 error^(-1/5), a method of order 5 */
static double power_law(double error) { return 3 * pow(error, -0.2); }

START_TEST(a_power_law_is_interpolated_exactly) {
  CurvePoint points[] = {{1e-2, 0}, {3e-5, 0}, {1e-9, 0}};
  for (int i = 0; i < COUNT(points); i++) points[i].cost = power_law(points[i].error);
  for (double error = 1e-2; error >= 1e-9; error /= 7) {
    double cost = 0;
    ck_assert_int_eq(curve_cost(points, COUNT(points), error, &cost), CURVE_INSIDE);
    /* logarithms of some 20, with errors of an ulp each, in an exponent */
    ck_assert_double_eq_tol(cost / power_law(error), 1, 100 * DBL_EPSILON);
  }
}
END_TEST

START_TEST(the_cost_of_a_run_is_its_own) {
  const CurvePoint points[] = {{1e-2, 1}, {1e-4, 7}, {1e-5, 8}};
  for (int i = 0; i < COUNT(points); i++) {
    double cost = 0;
    ck_assert_int_eq(curve_cost(points, COUNT(points), points[i].error, &cost), CURVE_INSIDE);
    ck_assert_double_eq(cost, points[i].cost);
  }
}
END_TEST

START_TEST(nothing_is_extrapolated_to_smaller_errors) {
  const CurvePoint points[] = {{1e-2, 1}, {1e-4, 7}};
  double cost               = -1;
  ck_assert_int_eq(curve_cost(points, COUNT(points), 0.99e-4, &cost), CURVE_NOT_THERE);
  ck_assert_int_eq(curve_cost(points, 0, 1, &cost), CURVE_NOT_THERE);
  ck_assert_double_eq(cost, -1);
}
END_TEST

START_TEST(larger_errors_cost_at_most_the_cheapest_run) {
  const CurvePoint points[] = {{1e-2, 1}, {1e-4, 7}};
  double cost               = -1;
  ck_assert_int_eq(curve_cost(points, COUNT(points), 1.01e-2, &cost), CURVE_AT_MOST);
  ck_assert_double_eq(cost, 1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("curve");
  TCase *tcase = tcase_create("curve");
  tcase_add_test(tcase, an_envelope_has_the_runs_that_no_other_beats);
  tcase_add_test(tcase, an_envelope_does_not_depend_on_the_order_of_runs);
  tcase_add_test(tcase, of_equal_errors_the_cheapest_run_stays);
  tcase_add_test(tcase, runs_that_are_no_points_on_logarithmic_axes_are_dropped);
  tcase_add_test(tcase, a_power_law_is_interpolated_exactly);
  tcase_add_test(tcase, the_cost_of_a_run_is_its_own);
  tcase_add_test(tcase, nothing_is_extrapolated_to_smaller_errors);
  tcase_add_test(tcase, larger_errors_cost_at_most_the_cheapest_run);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
