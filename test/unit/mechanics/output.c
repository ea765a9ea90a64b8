/* Quantities of one state against closed forms: a pendulum in Cartesian coordinates whose length
 * may change, the same constraint twice, a free body, and the printed statistics. */
#include "support/mech_run.h"

#include <math.h>
#include <models/counters.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE SUN_RCONST(1e-13) /* about 100 operations of roundoff 1.1e-16, values up to 10 */

/* ---- a pendulum ---- */

/* Mass m at (x, y) = L (sin theta, -cos theta), L = 1.5 + rate t, with the drive initially at rest:
 *   p = x^2 + y^2 - L^2,  A = 2 (x, y),  tension m (theta'^2 L + g cos theta) = 2 L lambda   (L'' = 0)
 * redundant: the same row once more. */
typedef struct {
  sunrealtype m, g, rate;
  int redundant, fails;
} Rod;

static const sunrealtype L0 = SUN_RCONST(1.5);

static sunrealtype length_of(const Rod *rod, sunrealtype t) { return L0 + rod->rate * t; }

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  const Rod *rod = data;
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = rod->m;
  return 0;
}

static int rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  for (int i = 0; i < SM_ROWS_D(A); i++)
    for (int j = 0; j < 2; j++) SM_ELEMENT_D(A, i, j) = 2 * q[j];
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  const Rod *rod = data;
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -rod->m * rod->g;
  return rod->fails;
}

static int distance(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const Rod *rod = data;
  for (int i = 0; i <= rod->redundant; i++)
    p[i] = q[0] * q[0] + q[1] * q[1] - length_of(rod, t) * length_of(rod, t);
  return 0;
}

static int distance_rate(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                         void *data) {
  const Rod *rod = data;
  for (int i = 0; i <= rod->redundant; i++)
    v[i] = 2 * (q[0] * u[0] + q[1] * u[1]) - 2 * length_of(rod, t) * rod->rate;
  return 0;
}

static int distance_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *data) {
  const Rod *rod = data;
  (void)t, (void)q;
  for (int i = 0; i <= rod->redundant; i++)
    b[i] = -2 * (u[0] * u[0] + u[1] * u[1]) + 2 * rod->rate * rod->rate;
  return 0;
}

static const sunrealtype theta = SUN_RCONST(0.7), omega = SUN_RCONST(-1.3);

/* At t = 0, turning with omega at theta. */
static MechRun *pendulum(Rod *rod) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 2,       .np = 1 + rod->redundant, .M = mass,      .A = rows,
      .f = weight,           .p = distance, .v = distance_rate,       .b = distance_b};
  const sunrealtype s = sin(theta), c = cos(theta);
  const sunrealtype y[] = {L0 * s, -L0 * c, L0 * omega * c + rod->rate * s,
                           L0 * omega * s - rod->rate * c};
  return mech_run_create(&model, rod, y);
}

static void evaluate(MechRun *run, CPMechOutput *out) {
  ck_assert_msg(CPMechEvaluate(run->mech, 0, run->y, out) == CP_SUCCESS, "%s", run->log.text);
}

static sunrealtype tension(const Rod *rod) {
  return rod->m * (omega * omega * L0 + rod->g * cos(theta));
}

START_TEST(outputs_of_a_pendulum_are_the_closed_forms) {
  sunrealtype udot[2], lambda[2], reaction[2];
  Rod rod          = {.m = 2, .g = SUN_RCONST(9.81), .rate = _i ? SUN_RCONST(0.4) : 0};
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda, .reaction = reaction};
  MechRun *run     = pendulum(&rod);
  evaluate(run, &out);
  const sunrealtype n[] = {sin(theta), -cos(theta)}; /* outwards; the angle runs along (-n_1, n_0) */
  /* L theta'' + 2 L' theta' = -g sin theta; outwards -L theta'^2 */
  const sunrealtype along = -rod.g * sin(theta), out_ = -L0 * omega * omega;
  for (int j = 0; j < 2; j++) {
    const sunrealtype e = j == 0 ? -n[1] : n[0];
    ck_assert_double_eq_tol(udot[j], along * e + out_ * n[j], TOLERANCE);
    ck_assert_double_eq_tol(reaction[j], -tension(&rod) * n[j], 10 * TOLERANCE);
  }
  ck_assert_double_eq_tol(lambda[0], tension(&rod) / (2 * L0), 10 * TOLERANCE);
  ck_assert_double_eq_tol(out.kinetic, rod.m * (L0 * L0 * omega * omega + rod.rate * rod.rate) / 2,
                          TOLERANCE);
  ck_assert_double_eq_tol(out.power, -tension(&rod) * rod.rate, 10 * TOLERANCE);
  ck_assert_double_le(out.position, TOLERANCE);
  ck_assert_double_le(out.velocity, TOLERANCE);
  ck_assert_double_le(out.acceleration, TOLERANCE);
  ck_assert_int_eq(out.rank, 1);
  ck_assert(out.unique);
  mech_run_free(&run);
}
END_TEST

/* p = (s^2 - 1) L^2 if the state is s times too long, and so on. */
START_TEST(residuals_are_those_of_each_level) {
  const sunrealtype s = SUN_RCONST(1.01);
  Rod rod             = {.m = 2, .g = SUN_RCONST(9.81)};
  CPMechOutput out    = CP_INIT(CPMechOutput);
  MechRun *run        = pendulum(&rod);
  for (int j = 0; j < 2; j++) {
    entries(run->y)[2 + j] += SUN_RCONST(0.1) * entries(run->y)[j]; /* v = 0.2 s L^2 */
    entries(run->y)[j] *= s;
  }
  evaluate(run, &out);
  ck_assert_double_eq_tol(out.position, (s * s - 1) * L0 * L0, TOLERANCE);
  ck_assert_double_eq_tol(out.velocity, SUN_RCONST(0.2) * s * L0 * L0, TOLERANCE);
  ck_assert_double_le(out.acceleration, TOLERANCE); /* A u' = b holds everywhere */
  mech_run_free(&run);
}
END_TEST

/* Two rows share the load, and are reported as rank one: A^T lambda is unchanged. */
START_TEST(redundant_rows_share_the_reaction) {
  sunrealtype lambda[2], reaction[2];
  Rod rod          = {.m = 2, .g = SUN_RCONST(9.81), .redundant = 1};
  CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = lambda, .reaction = reaction};
  MechRun *run     = pendulum(&rod);
  evaluate(run, &out);
  ck_assert_int_eq(out.rank, 1);
  ck_assert(!out.unique);
  for (int i = 0; i < 2; i++)
    ck_assert_double_eq_tol(lambda[i], tension(&rod) / (4 * L0), 10 * TOLERANCE);
  ck_assert_double_eq_tol(reaction[0], -tension(&rod) * sin(theta), 10 * TOLERANCE);
  mech_run_free(&run);
}
END_TEST

/* A row that is off has no residual and no multiplier. */
START_TEST(rows_that_are_off_are_left_out) {
  const int off[] = {0};
  sunrealtype lambda[1], udot[2];
  Rod rod          = {.m = 2, .g = SUN_RCONST(9.81)};
  CPMechOutput out = {CP_SIZED(CPMechOutput), .lambda = lambda, .udot = udot};
  MechRun *run     = pendulum(&rod);
  entries(run->y)[0] += 1;
  ck_assert_int_eq(CPMechSetActive(run->mech, off), CP_SUCCESS);
  evaluate(run, &out);
  ck_assert_double_eq(out.position, 0);
  ck_assert_double_eq(out.velocity, 0);
  ck_assert_double_eq(lambda[0], 0);
  ck_assert_double_eq_tol(udot[1], -rod.g, TOLERANCE);
  ck_assert_int_eq(out.rank, 0);
  mech_run_free(&run);
}
END_TEST

START_TEST(failure_leaves_the_output_alone) {
  sunrealtype udot[2] = {5, 6};
  Rod rod             = {.m = 2, .g = SUN_RCONST(9.81), .fails = -1};
  CPMechOutput out    = {CP_SIZED(CPMechOutput), .udot = udot, .kinetic = 7};
  MechRun *run        = pendulum(&rod);
  ck_assert_int_eq(CPMechEvaluate(run->mech, 0, run->y, &out), CP_USERFUNC_FAIL);
  ck_assert_mentions(run->log.text, "function f failed");
  ck_assert_double_eq(out.kinetic, 7);
  ck_assert_double_eq(udot[1], 6);
  ck_assert_int_eq(CPMechEvaluate(run->mech, 0, run->y, NULL), CP_ILL_INPUT);
  mech_run_free(&run);
}
END_TEST

/* ---- norms, and operators ---- */

static int unit_inertia(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  for (int i = 0; i < 3; i++) SM_ELEMENT_D(M, i, i) = i + 1;
  return 0;
}

START_TEST(norm_of_a_quaternion_is_told) {
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu           = 3,
                             .nq           = 4,
                             .M            = unit_inertia,
                             .quaternions  = &(const CPQuaternion){0, 0, CP_FRAME_BODY},
                             .nquaternions = 1};
  const sunrealtype y[]   = {
        0, SUN_RCONST(0.6) * SUN_RCONST(1.001), 0, SUN_RCONST(0.8) * SUN_RCONST(1.001), 1, 2, 3};
  CPMechOutput out = CP_INIT(CPMechOutput);
  MechRun *run     = mech_run_create(&model, NULL, y);
  evaluate(run, &out);
  ck_assert_double_eq_tol(out.norms, SUN_RCONST(0.001), TOLERANCE);
  ck_assert_double_eq_tol(out.kinetic, (1 * 1 + 2 * 4 + 3 * 9) / SUN_RCONST(2.0), TOLERANCE);
  ck_assert_double_eq(out.power, 0);
  mech_run_free(&run);
}
END_TEST

static int falling(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)data;
  udot[0] = -1;
  return 0;
}

static int triple(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                  void *data) {
  (void)t, (void)q, (void)data;
  y[0] = 3 * x[0];
  return 0;
}

START_TEST(operators_without_mass_have_no_kinetic_energy) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 1, .udot = falling,
                             .Mu = _i ? triple : NULL};
  const sunrealtype y[]   = {0, 2};
  CPMechOutput out        = CP_INIT(CPMechOutput);
  MechRun *run            = mech_run_create(&model, NULL, y);
  evaluate(run, &out);
  if (_i) ck_assert_double_eq(out.kinetic, 6);
  else ck_assert(isnan(out.kinetic));
  ck_assert_int_eq(out.rank, -1);
  mech_run_free(&run);
}
END_TEST

/* ---- statistics ---- */

START_TEST(statistics_keep_the_newest_output) {
  sunrealtype udot[2];
  MechCounters stats;
  Rod rod          = {.m = 2, .g = SUN_RCONST(9.81), .rate = SUN_RCONST(0.4)};
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot};
  MechRun *run     = pendulum(&rod);
  evaluate(run, &out);
  ck_assert_int_eq(mech_counters(run->mech, &stats), CP_SUCCESS);
  ck_assert_double_eq(stats.last.kinetic, out.kinetic);
  ck_assert_double_eq(stats.last.power, out.power);
  ck_assert_int_eq(stats.rank, 1);
  ck_assert(stats.unique && stats.nkkt >= 1 && stats.nM >= 1 && stats.nf >= 1);
  mech_run_free(&run);
}
END_TEST

/* The value after a name, in either format; fails if there is none. */
static void printed(const char *text, const char *name, int table, char value[64]) {
  const char *place = strstr(text, name);
  ck_assert_msg(place != NULL, "%s is missing in\n%s", name, text);
  place += strlen(name);
  place += strspn(place, table ? " =" : ",");
  const size_t length = strcspn(place, table ? "\n" : ",\n");
  ck_assert_uint_lt(length, 64);
  memcpy(value, place, length);
  value[length] = '\0';
}

START_TEST(counters_and_the_newest_quantities_are_printed) {
  const int table  = _i == 0;
  char *text       = NULL, value[64];
  size_t length    = 0;
  CPMechOutput now = CP_INIT(CPMechOutput);
  MechCounters counters;
  Rod rod      = {.m = 2, .g = SUN_RCONST(9.81)};
  MechRun *run = pendulum(&rod);
  evaluate(run, &now);
  ck_assert_int_eq(mech_counters(run->mech, &counters), CP_SUCCESS);
  FILE *out = open_memstream(&text, &length);
  ck_assert_ptr_nonnull(out);
  ck_assert_int_eq(CPObjectPrintStats(CP_OBJECT(run->mech), out,
                                      table ? SUN_OUTPUTFORMAT_TABLE : SUN_OUTPUTFORMAT_CSV),
                   CP_SUCCESS);
  fclose(out);
  printed(text, "kinetic_energy", table, value);
  ck_assert_double_eq_tol(atof(value), now.kinetic, SUN_RCONST(1e-9) * now.kinetic);
  printed(text, "mass_evals", table, value);
  ck_assert_int_eq(atol(value), counters.nM);
  printed(text, "last_rank", table, value);
  ck_assert_str_eq(value, "1");
  if (!table) { /* one line of names and values */
    int commas = 0;
    for (const char *c = text; *c; c++) commas += *c == ',';
    ck_assert_int_eq(commas % 2, 1);
    ck_assert_ptr_eq(strchr(text, '\n'), text + length - 1);
  }
  free(text);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(output) {
  Suite *suite = suite_create("mechanics/output");
  TCase *tc    = tcase_create("output");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, outputs_of_a_pendulum_are_the_closed_forms, 0, 2);
  tcase_add_test(tc, residuals_are_those_of_each_level);
  tcase_add_test(tc, redundant_rows_share_the_reaction);
  tcase_add_test(tc, rows_that_are_off_are_left_out);
  tcase_add_test(tc, failure_leaves_the_output_alone);
  tcase_add_test(tc, norm_of_a_quaternion_is_told);
  tcase_add_loop_test(tc, operators_without_mass_have_no_kinetic_energy, 0, 2);
  tcase_add_test(tc, statistics_keep_the_newest_output);
  tcase_add_loop_test(tc, counters_and_the_newest_quantities_are_printed, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
