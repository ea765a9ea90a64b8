/* Work-precision curves of the race: the envelope of a method's runs, and the cost of an accuracy
 * on it. */
#include <float.h>
#include <math.h>

#include "bench/race/curve.h"
#include "support/support.h"

#define COUNT(points) ((int)(sizeof(points) / sizeof *(points)))

/* ---- envelope ---- */

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

/* ---- cost ---- */

/* cost = 3 error^(-1/5), a method of order 5 */
static double power_law(double error) { return 3 * pow(error, -0.2); }

START_TEST(a_power_law_is_interpolated_exactly) {
  CurvePoint points[] = {{1e-2, 0}, {3e-5, 0}, {1e-9, 0}};
  for (int i = 0; i < COUNT(points); i++) points[i].cost = power_law(points[i].error);
  for (double error = 1e-2; error >= 1e-9; error /= 7) {
    double cost = 0;
    ck_assert_int_eq(curve_cost(points, COUNT(points), error, &cost), CURVE_INSIDE);
    /* logarithms near 20, each with an error of an ulp, in an exponent */
    ck_assert_double_eq_tol(cost / power_law(error), 1, 100 * DBL_EPSILON);
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

TEST_SUITE(curve) {
  Suite *suite = suite_create("curve");
  TCase *tcase = tcase_create("curve");
  tcase_add_test(tcase, an_envelope_does_not_depend_on_the_order_of_runs);
  tcase_add_test(tcase, a_power_law_is_interpolated_exactly);
  tcase_add_test(tcase, nothing_is_extrapolated_to_smaller_errors);
  tcase_add_test(tcase, larger_errors_cost_at_most_the_cheapest_run);
  suite_add_tcase(suite, tcase);
  return suite;
}
