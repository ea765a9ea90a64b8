/* The index-3 system that RADAU5 solves in the race: its residual and Jacobian, over the mechanisms. */
#include <math.h>
#include <stdlib.h>

#include "bench/race/dense.h"
#include "bench/race/index3.h"
#include "support/support.h"

static const char *const mechanisms[] = {"pendulum",       "slider_crank",  "andrews",  "car_axis",
                                         "flexible_crank", "bushing_crank", "four_bar", "chain",
                                         "bending_chain",  "dense"};
enum { MECHANISMS = sizeof mechanisms / sizeof *mechanisms };

static CPPlugin *model;
static Index3 s;
static sunrealtype *Y; /* at the start, consistent */

static void create(int i) {
  char message[200];
  const CPPluginType *type = model_find(mechanisms[i]);
  const sunrealtype few[]  = {20}; /* number of coordinates of the dense one */
  model = CPPluginCreate(type ? type : &dense_type, type ? NULL : few, test_context, message,
                         sizeof message);
  ck_assert_msg(model != NULL, "%s", message);
  ck_assert(index3_takes(model));
  ck_assert_int_eq(index3_create(model, &s), 0);
  Y = calloc((size_t)s.n, sizeof *Y);
  ck_assert_ptr_nonnull(Y);
  ck_assert_int_eq(index3_start(&s, Y), 0);
}

static void release(void) {
  free(Y);
  index3_free(&s);
  CPPluginFree(&model);
}

static sunrealtype largest(sunindextype n, const sunrealtype *x) {
  sunrealtype most = 0;
  for (sunindextype i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* B Y' = r, with the accelerations of a CPMech */
START_TEST(the_start_satisfies_the_system) {
  create(_i);
  sunrealtype *r    = calloc((size_t)(3 * s.rows + s.rows * s.rows), sizeof *r);
  sunrealtype *udot = r + s.rows, *Bu = udot + s.rows, *B = Bu + s.rows;
  CPMech mech = CPPluginMech(model);
  ck_assert_int_eq(CPMechAccelerations(mech, 0, model->y0, udot, NULL), 0);
  ck_assert_int_eq(index3_residual(&s, 0, Y, r), 0);
  index3_mass(&s, B);
  for (sunindextype i = 0; i < s.rows; i++) {
    if (!s.full_mass) Bu[i] = i < s.nu ? B[i] * udot[i] : B[i];
    for (sunindextype j = 0; s.full_mass && j < s.rows; j++)
      Bu[i] += B[i + j * s.rows] * (j < s.nu ? udot[j] : 1); /* lambda' does not enter */
  }
  const sunrealtype scale = 1 + largest(s.rows, Bu) + largest(s.na, Y + s.n - s.na);
  for (sunindextype i = 0; i < s.rows; i++)
    ck_assert_double_eq_tol(r[i], Bu[i], 1e-10 * (i < s.nu ? scale : 1));
  CPMechFree(&mech);
  free(r);
  release();
}
END_TEST

/* A state off the motion, where no term vanishes */
static void move(void) {
  for (sunindextype i = 0; i < s.n; i++)
    Y[i] += 0.1 * (1 + fabs(Y[i])) * sin(1.0 + 3.0 * (double)i);
}

/* Central differences of step h have errors of h^2 and 1e-16/h, 1e-10 at h = 1e-5, times the scale of the column */
START_TEST(the_jacobian_is_the_derivative_of_the_residual) {
  create(_i);
  move();
  sunrealtype *J    = calloc((size_t)(s.rows * s.n), sizeof *J);
  sunrealtype *plus = calloc(2 * (size_t)s.rows, sizeof *plus), *minus = plus + s.rows;
  ck_assert_int_eq(index3_jacobian(&s, 0.3, Y, J), 0);
  for (sunindextype j = 0; j < s.n; j++) {
    const sunrealtype Y_j = Y[j], h = 1e-5 * (1 + fabs(Y_j));
    Y[j] = Y_j + h;
    ck_assert_int_eq(index3_residual(&s, 0.3, Y, plus), 0);
    Y[j] = Y_j - h;
    ck_assert_int_eq(index3_residual(&s, 0.3, Y, minus), 0);
    Y[j]                    = Y_j;
    const sunrealtype scale = largest(s.rows, J + j * s.rows) + 1e-6 * largest(s.rows, plus) / h;
    for (sunindextype i = 0; i < s.rows; i++)
      ck_assert_double_eq_tol(J[i + j * s.rows], (plus[i] - minus[i]) / (2 * h), 1e-6 * scale);
  }
  free(plus);
  free(J);
  release();
}
END_TEST

/* Without formulas: forward differences, with relative errors of 1e-8 */
START_TEST(differences_stand_in_for_formulas) {
  create(_i);
  move();
  const size_t size    = (size_t)(s.rows * s.n) * sizeof(sunrealtype);
  sunrealtype *formula = malloc(size), *difference = malloc(size);
  ck_assert(s.formulas);
  ck_assert_int_eq(index3_jacobian(&s, 0.3, Y, formula), 0);
  const long int before = s.residuals;
  s.formulas            = false;
  s.block[0].entries = s.block[1].entries = 0; /* K and C */
  ck_assert_int_eq(index3_jacobian(&s, 0.3, Y, difference), 0);
  ck_assert_int_eq(s.residuals - before, 1 + 2 * s.nu);
  const sunrealtype scale = largest(s.rows * s.n, formula) + largest(s.rows, s.base);
  for (sunindextype k = 0; k < s.rows * s.n; k++)
    ck_assert_double_eq_tol(formula[k], difference[k], 1e-5 * scale);
  free(formula);
  free(difference);
  release();
}
END_TEST

TEST_SUITE(index3) {
  Suite *suite = suite_create("index3");
  TCase *tcase = tcase_create("index3");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, the_start_satisfies_the_system, 0, MECHANISMS);
  tcase_add_loop_test(tcase, the_jacobian_is_the_derivative_of_the_residual, 0, MECHANISMS);
  tcase_add_loop_test(tcase, differences_stand_in_for_formulas, 0, MECHANISMS);
  suite_add_tcase(suite, tcase);
  return suite;
}
