/* The stabilised index-2 system that IDA solves in the race: its start, residual and Jacobian, over the mechanisms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "bench/race/dense.h"
#include "bench/race/gear.h"
#include "support/support.h"

static const char *const mechanisms[] = {"pendulum",       "slider_crank",  "andrews",  "car_axis",
                                         "flexible_crank", "bushing_crank", "four_bar", "chain",
                                         "bending_chain",  "dense"};
enum { MECHANISMS = sizeof mechanisms / sizeof *mechanisms };

static CPPlugin *model;
static Gear gear;
static SUNMatrix J;
static N_Vector x, xdot, r;

/* few: small sizes of those that have one */
static void create(int i, bool sparse) {
  char message[200];
  const CPPluginType *type = model_find(mechanisms[i]);
  sunrealtype values[MODEL_MOST_PARAMETERS];
  if (!type) type = &dense_type;
  for (int k = 0; k < type->nparameters; k++) values[k] = type->parameters[k].value;
  for (int k = 0; k < type->nparameters; k++)
    if (!strcmp(type->parameters[k].name, "N")) values[k] = 2;
    else if (!strcmp(type->parameters[k].name, "n")) values[k] = 20;
  model = CPPluginCreate(type, values, test_context, message, sizeof message);
  ck_assert_msg(model != NULL, "%s", message);
  ck_assert(gear_takes(model));
  ck_assert_int_eq(gear_create(model, sparse, &gear, &J), 0);
  x    = vector_of(gear.n, NULL);
  xdot = vector_of(gear.n, NULL);
  r    = vector_of(gear.n, NULL);
  ck_assert_int_eq(gear_start(&gear, x, xdot), 0);
}

static void release(void) {
  N_VDestroy(x);
  N_VDestroy(xdot);
  N_VDestroy(r);
  SUNMatDestroy(J);
  gear_free(&gear);
  CPPluginFree(&model);
}

START_TEST(the_start_is_consistent) {
  create(_i, false);
  ck_assert_int_eq(gear_residual(0, x, xdot, r, &gear), 0);
  const sunrealtype forces = fmax(1, N_VMaxNorm(x)); /* multipliers, too */
  ck_assert_double_le(N_VMaxNorm(r), 1e-9 * forces);
  release();
}
END_TEST

/* A state off the motion, where no term vanishes except mu, whose derivative is omitted */
static void move(void) {
  const sunindextype multipliers = 2 * gear.nu + gear.m;
  for (sunindextype i = 0; i < gear.n; i++) {
    if (i < multipliers)
      entries(x)[i] += 0.1 * (1 + fabs(entries(x)[i])) * sin(1.0 + 3.0 * (double)i);
    if (i < multipliers) entries(xdot)[i] += 0.1 * cos(2.0 + 5.0 * (double)i);
  }
}

/* Residual at x and x' moved by h and cj h in component j, into column [n] */
static void residual_beside(sunindextype j, sunrealtype h, sunrealtype cj, sunrealtype *column) {
  const sunrealtype x_j = entries(x)[j], xdot_j = entries(xdot)[j];
  entries(x)[j] += h;
  entries(xdot)[j] += cj * h;
  ck_assert_int_eq(gear_residual(0.3, x, xdot, r, &gear), 0);
  memcpy(column, entries(r), (size_t)gear.n * sizeof *column);
  entries(x)[j]    = x_j;
  entries(xdot)[j] = xdot_j;
}

static sunrealtype largest(const sunrealtype *column) {
  sunrealtype most = 0;
  for (sunindextype i = 0; i < gear.n; i++) most = fmax(most, fabs(column[i]));
  return most;
}

/* Central differences of step h have errors of h^2 and 1e-16/h, 1e-10 at h = 1e-5, times the scale of the column */
START_TEST(the_jacobian_is_the_derivative_of_the_residual) {
  const sunrealtype cj = 7;
  create(_i, false);
  move();
  sunrealtype *plus = calloc(2 * (size_t)gear.n, sizeof *plus), *minus = plus + gear.n;
  ck_assert_int_eq(gear_jacobian(0.3, cj, x, xdot, r, J, &gear, NULL, NULL, NULL), 0);
  for (sunindextype j = 0; j < gear.n; j++) {
    const sunrealtype h = 1e-5 * (1 + fabs(entries(x)[j]));
    residual_beside(j, h, cj, plus);
    residual_beside(j, -h, cj, minus);
    const sunrealtype *column = SM_COLUMN_D(J, j);
    const sunrealtype scale   = largest(column) + 1e-6 * largest(plus) / h;
    for (sunindextype i = 0; i < gear.n; i++)
      ck_assert_double_eq_tol(column[i], (plus[i] - minus[i]) / (2 * h), 1e-6 * scale);
  }
  free(plus);
  release();
}
END_TEST

/* Also after the pattern has been cleared, as IDA does */
START_TEST(the_sparse_jacobian_is_the_dense_one) {
  create(_i, false);
  move();
  ck_assert_int_eq(gear_jacobian(0.3, 7, x, xdot, r, J, &gear, NULL, NULL, NULL), 0);
  SUNMatrix dense = SUNMatClone(J);
  SUNMatCopy(J, dense);
  release();
  create(_i, true);
  move();
  SUNMatZero(J);
  ck_assert_int_eq(gear_jacobian(0.3, 7, x, xdot, r, J, &gear, NULL, NULL, NULL), 0);
  for (sunindextype j = 0; j < gear.n; j++)
    for (sunindextype k = SM_INDEXPTRS_S(J)[j]; k < SM_INDEXPTRS_S(J)[j + 1]; k++) {
      sunrealtype *entry = &SM_ELEMENT_D(dense, SM_INDEXVALS_S(J)[k], j);
      ck_assert_double_eq_tol(*entry, SM_DATA_S(J)[k], 1e-13 * (1 + fabs(*entry)));
      *entry = 0;
    }
  for (sunindextype k = 0; k < SM_LDATA_D(dense); k++) ck_assert_double_eq(SM_DATA_D(dense)[k], 0);
  SUNMatDestroy(dense);
  release();
}
END_TEST

TEST_SUITE(gear) {
  Suite *suite = suite_create("gear");
  TCase *tcase = tcase_create("gear");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, the_start_is_consistent, 0, MECHANISMS);
  tcase_add_loop_test(tcase, the_jacobian_is_the_derivative_of_the_residual, 0, MECHANISMS);
  tcase_add_loop_test(tcase, the_sparse_jacobian_is_the_dense_one, 0, MECHANISMS);
  suite_add_tcase(suite, tcase);
  return suite;
}
