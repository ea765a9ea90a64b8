/* The choice of a method: with known spectra, over the catalogue of mechanisms, and when functions
 * fail.
 *
 *   x_i'' + c_i x_i' + k_i x_i = f_i     eigenvalues of x^2 + c_i x + k_i */
#include <cpodes/cpodes_plugin.h>
#include <math.h>
#include <models/counters.h>
#include <models/model.h>
#include <string.h>

#include "support/alloc.h"
#include "support/mech_run.h"
#include "support/support.h"

enum { N = 3 };
static N_Vector y;
static CPMech mech;
static MessageLog messages;

/* The behaviour of the force at its call number `fails` and later */
typedef struct {
  int calls, fails, code;
} Device;
static Device device;

static int force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 sunrealtype *f, void *data) {
  Device *d = data;
  (void)t, (void)q, (void)u, (void)z;
  memset(f, 0, N * sizeof *f);
  d->calls++;
  return d->fails > 0 && d->calls >= d->fails ? d->code : 0;
}

static SUNMatrix diagonal(const double *d) {
  SUNMatrix D = SUNDenseMatrix(N, N, test_context);
  for (int i = 0; i < N; i++) SM_ELEMENT_D(D, i, i) = d[i];
  return D;
}

/* Oscillators with these c and k, from (1, 1, third) with velocities (speed, 0, 0) */
static double third;
static void create(const double *c, const double *k, double speed) {
  static const double one[N] = {1.0, 1.0, 1.0};
  SUNMatrix M = diagonal(one), C = diagonal(c), K = diagonal(k);
  device            = (Device){0};
  messages          = (MessageLog){0};
  y                 = VECTOR(1.0, 1.0, third, speed, 0.0, 0.0);
  CPEquations model = linear_equations(N, M, C, K);
  model.f           = force;
  mech              = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, &device), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  SUNMatDestroy(M);
  SUNMatDestroy(C);
  SUNMatDestroy(K);
}

static void destroy(void) {
  third = 0.0;
  CPMechFree(&mech);
  N_VDestroy(y);
}

static CPMechSuggestion suggestion(double t_end, double rtol) {
  CPMechSuggestion s = CP_INIT(CPMechSuggestion);
  ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, t_end, rtol, &s), CP_SUCCESS);
  return s;
}

/* ---- known spectra ---- */

typedef struct {
  double c[N], k[N];
  double radius;
  int stiff;
} Spectrum;
/* clang-format off */
static const Spectrum spectra[] = {
    {{0.1, 0.2, 0.3}, {1.0, 1.0, 4.0}, 2.0, 0},   /* roots -0.15 +- 1.99 i, |root| = sqrt(k) */
    {{0.1, 0.2, 1e4}, {1.0, 1.0, 1.0}, 1e4, 1},   /* root -1e4 */
    {{0.1, 0.2, 3e4}, {1.0, 1.0, 2e8}, 2e4, 1},   /* roots -1e4, -2e4 */
    {{0.1, 0.2, 0.0}, {1.0, 1.0, 1e8}, 1e4, 1},   /* roots +- 1e4 i, at rest */
    {{0.1, 0.2, -1e4}, {1.0, 1.0, 1.0}, 1e4, 0},  /* root 1e4: a growing motion must be followed */
    {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, 0.0, 0},   /* J^2 = 0 */
};
/* clang-format on */
enum { SPECTRA = sizeof spectra / sizeof spectra[0] };

/* The iteration ends when the radius changes by a tenth. Since eigenvalues differ by a factor of at
 * least 2, the remaining change is less than a third of that. */
START_TEST(the_spectral_radius_is_that_of_the_roots) {
  const Spectrum *s = &spectra[_i];
  create(s->c, s->k, 0.1);
  const CPMechSuggestion found = suggestion(10.0, 1e-6);
  ck_assert_double_le(fabs(found.radius - s->radius), 0.05 * s->radius);
  ck_assert_int_eq(found.stiff, s->stiff);
  ck_assert_str_eq(found.method, s->stiff ? "RADAU" : "DOP853");
  ck_assert_mentions(found.reason, s->stiff          ? "stiff: the"
                                   : s->radius > 1e3 ? "not damped: the"
                                                     : "not stiff: ");
  destroy();
}
END_TEST

/* Angles that are 0 up to roundoff have the size of 1 rad, not their own: a damped joint of a robot in its zero position is stiff. */
START_TEST(angles_at_zero_have_the_size_of_a_radian) {
  static const sunindextype angles[N] = {0, 1, 2};
  static const double one[N] = {1, 1, 1}, c[N] = {0.1, 0.2, 1e4}, k[N] = {1, 1, 1};
  for (int exact = 0; exact < 2; exact++) {
    const double q = exact ? 0 : 1e-17;
    SUNMatrix M = diagonal(one), C = diagonal(c), K = diagonal(k);
    CPEquations model = linear_equations(N, M, C, K);
    model.angles = angles, model.nangles = N;
    y    = VECTOR(q, -q, q, 3.0, 0.0, 0.0);
    mech = create_mech(&model, y, test_context);
    ck_assert_ptr_nonnull(mech);
    const CPMechSuggestion found = suggestion(10.0, 1e-6);
    ck_assert_double_eq_tol(found.motion, 3.0, 1e-12);
    ck_assert_double_le(fabs(found.radius - 1e4), 0.05 * 1e4);
    ck_assert_str_eq(found.method, "RADAU");
    destroy();
    SUNMatDestroy(M), SUNMatDestroy(C), SUNMatDestroy(K);
  }
}
END_TEST

static int drag(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)t, (void)q, (void)z, (void)lambda, (void)data;
  udot[0] = -1e4 * u[0];
  return 0;
}

/* A mechanism that is given by its accelerations has no matrices for RADAU. */
START_TEST(operators_are_integrated_by_BDF) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 1, .udot = drag};
  y                       = VECTOR(1.0, 1e-6);
  mech                    = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  const CPMechSuggestion found = suggestion(10.0, 1e-6);
  ck_assert_int_eq(found.stiff, 1);
  ck_assert_str_eq(found.method, "BDF");
  destroy();
}
END_TEST

/* x_3 swings with 1e-5 of the size of positions, more than RADAU may skip at 1e-6 (3e-7), until it has
 * died out: as exp(-340 t) t = 0.01 later, as exp(-10 t) at t = 0.35, which it is allowed to take in a
 * run of 1.75. */
START_TEST(a_damped_oscillation_counts_until_it_has_died_out) {
  const double strong[N] = {0.1, 0.2, 680.0}, k[N] = {1.0, 1.0, 340.0 * 340.0 + 750.0 * 750.0};
  const double weak[N] = {0.1, 0.2, 20.0}, k_weak[N] = {1.0, 1.0, 1e6};
  third = 1e-5;
  create(strong, k, 0.1);
  CPMechSuggestion found = suggestion(10.0, 1e-6);
  ck_assert_double_le(fabs(found.radius - 823.5), 0.05 * 823.5);
  ck_assert_str_eq(found.method, "RADAU");
  ck_assert_mentions(found.reason, "decays at 3");
  ck_assert_str_eq(suggestion(10.0, 0.0).method, "RADAU"); /* only roundoff counts */
  destroy();
  third = 1e-5;
  create(weak, k_weak, 0.1);
  ck_assert_str_eq(suggestion(2.5, 1e-6).method, "RADAU");
  found = suggestion(1.0, 1e-6);
  ck_assert_str_eq(found.method, "DOP853");
  ck_assert_mentions(found.reason, "damped too slowly: the");
  destroy();
}
END_TEST

static double decay; /* of the roots -decay +- 750 i */
static int swing(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)t, (void)z, (void)lambda, (void)data;
  udot[0] = -2.0 * decay * u[0] - (decay * decay + 750.0 * 750.0) * (q[0] - 1.0);
  return 0;
}

/* At angles of 65.6 and 78.7 degrees from the negative axis; BDF is stable up to 73.4 at order 4. */
START_TEST(operators_are_integrated_by_BDF_where_it_is_stable) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 1, .udot = swing};
  decay                   = _i ? 150.0 : 340.0;
  y                       = VECTOR(1.0, 1e-6);
  mech                    = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_str_eq(suggestion(10.0, 1e-6).method, _i ? "DOP853" : "BDF");
  destroy();
}
END_TEST

/* x_3 swings with 1e-5 of the size of positions, which RADAU may skip at 0.003 rtol^(2/3). J^4 y' is rho^5
 * times the amplitude, up to slower motion, (omega / rho)^5, and to the error of differences. */
START_TEST(oscillations_count_unless_they_are_below_the_tolerance) {
  const double c[N] = {0.1, 0.2, 0.0}, k[N] = {1.0, 1.0, 1e8};
  third = 1e-5;
  create(c, k, 0.1);
  const double skipped   = pow(1e-5 / 0.003, 1.5);
  CPMechSuggestion found = suggestion(10.0, 1.1 * skipped);
  ck_assert_int_eq(found.stiff, 1);
  ck_assert_str_eq(found.method, "RADAU");
  ck_assert_mentions(found.reason, "amplitude of 1e-05");
  found = suggestion(10.0, 0.9 * skipped);
  ck_assert_int_eq(found.stiff, 0);
  ck_assert_str_eq(found.method, "DOP853");
  ck_assert_mentions(found.reason, "not damped: the");
  ck_assert_int_eq(suggestion(10.0, 0.0).stiff, 0);
  destroy();
}
END_TEST

/* A system is stiff if its fast modes are fast compared with the motion, whatever the unit of time. */
START_TEST(the_unit_of_time_changes_nothing) {
  const double units[] = {1e-6, 1.0, 1e6}; /* t = unit * t' */
  for (int k = 0; k < SPECTRA; k++)
    for (int i = 0; i < 3; i++) {
      double c[N], stiffness[N];
      for (int j = 0; j < N; j++) {
        c[j]         = units[i] * spectra[k].c[j];
        stiffness[j] = units[i] * units[i] * spectra[k].k[j];
      }
      create(c, stiffness, 0.1 * units[i]);
      const CPMechSuggestion found = suggestion(10.0 / units[i], 1e-6);
      ck_assert_int_eq(found.stiff, spectra[k].stiff);
      ck_assert_double_le(fabs(found.radius - units[i] * spectra[k].radius),
                          0.05 * units[i] * spectra[k].radius);
      destroy();
    }
}
END_TEST

/* At all tolerances, and for fast and slow motions */
START_TEST(stiffness_of_decays_depends_on_the_motion_alone) {
  const double c[N] = {0.0, 0.0, 400.0}, k[N] = {1.0, 1.0, 1.0};
  create(c, k, 0.1);
  ck_assert_int_eq(suggestion(10.0, 1.0).stiff, 1);
  ck_assert_int_eq(suggestion(10.0, 1e-3).stiff, 1);
  ck_assert_int_eq(suggestion(10.0, 1e-12).stiff, 1);
  destroy();
  create(c, k, 100.0);
  ck_assert_int_eq(suggestion(10.0, 1e-3).stiff, 0);
  ck_assert_double_eq_tol(suggestion(10.0, 1e-3).motion, 100.0, 1e-12);
  destroy();
}
END_TEST

/* At rest in equilibrium, only the interval tells how slow the motion is. */
START_TEST(a_mechanism_at_rest_is_judged_by_the_interval) {
  const double c[N] = {0.0, 0.0, 1e4}, k[N] = {0.0, 0.0, 0.0};
  create(c, k, 0.0);
  ck_assert_double_eq_tol(suggestion(10.0, 1e-6).motion, 0.1, 1e-15);
  ck_assert_int_eq(suggestion(10.0, 1e-6).stiff, 1);
  ck_assert_int_eq(suggestion(1e-3, 1e-6).stiff, 0);
  ck_assert_int_eq(suggestion(-10.0, 1e-6).stiff, 1);
  destroy();
}
END_TEST

/* The suggestion agrees with the catalogue. The elastic rod's fast modes oscillate with 1.6e-8 of the
 * size, which RADAU may skip at tolerances above (1.6e-8 / 0.003)^1.5 = 1.2e-8. At 1e-2 the car axis, whose
 * springs oscillate with 5e-4, takes DOP853 less time (bench/README.md). */
START_TEST(stiffness_is_recognised_in_the_catalogue) {
  for (int i = 0; model_type(i); i++) {
    const CPPluginType *type = model_type(i);
    char message[300];
    CPPlugin *model = CPPluginCreate(type, NULL, test_context, message, sizeof message);
    ck_assert_msg(model != NULL, "%s", message);
    CPMech m = CPPluginMech(model);
    ck_assert_ptr_nonnull(m);
    const int rod = strcmp(type->name, "flexible_crank") == 0;
    for (double rtol = 1e-2; rtol > 1e-10; rtol *= 0.1) {
      CPMechSuggestion s = CP_INIT(CPMechSuggestion);
      ck_assert_int_eq(CPMechSuggestMethod(m, 0.0, model->y0, type->t_end, rtol, &s), CP_SUCCESS);
      ck_assert_msg(s.stiff == (model->stiff && !(rod && rtol < 5e-8)), "%s at %g: %s", type->name,
                    rtol, s.reason);
    }
    CPMechFree(&m);
    CPPluginFree(&model);
  }
}
END_TEST

/* The tolerance decides between explicit methods, not between these and implicit ones. */
START_TEST(loose_tolerances_take_the_method_of_order_5) {
  create(spectra[5].c, spectra[5].k, 0.1);
  ck_assert_str_eq(suggestion(10.0, 1e-2).method, "BS54");
  ck_assert_str_eq(suggestion(10.0, 1e-3).method, "BS54");
  ck_assert_str_eq(suggestion(10.0, 0.9e-3).method, "DOP853");
  destroy();
  for (int k = 0; k < SPECTRA; k++) {
    if (!spectra[k].stiff) continue;
    create(spectra[k].c, spectra[k].k, 0.1);
    ck_assert_str_eq(suggestion(10.0, 1e-2).method, "RADAU");
    destroy();
  }
}
END_TEST

/* An oscillation of x_3 with 1e-3 of the size of positions, which no tolerance here lets RADAU skip. With k = 400 stability
 * requires 3.3 steps of DOP853 while positions change by their own size, with k = 9 half a step. */
START_TEST(where_a_fast_oscillation_limits_the_steps_order_8_is_taken_at_loose_tolerances) {
  static const double c[N] = {0.1, 0.2, 0.0}, k[2][N] = {{1.0, 1.0, 400.0}, {1.0, 1.0, 9.0}};
  third = 1e-3;
  for (int i = 0; i < 2; i++) {
    create(c, k[i], 0.1);
    ck_assert_str_eq(suggestion(10.0, 1e-2).method, i == 0 ? "DOP853" : "BS54");
    ck_assert_str_eq(suggestion(10.0, 1e-4).method, "DOP853");
    destroy();
  }
}
END_TEST

/* J^2 = 0: differences of the second product are roundoff, which is not iterated. */
START_TEST(a_motion_without_restoring_forces_takes_five_evaluations) {
  create(spectra[5].c, spectra[5].k, 0.1);
  ck_assert_mentions(suggestion(10.0, 1e-6).reason, "not stiff: no exponential or oscillation");
  ck_assert_int_le(device.calls, 5);
  destroy();
  char message[300];
  CPPlugin *model    = CPPluginCreate(model_find("pendulum"), NULL, test_context, message, 300);
  CPMech m           = CPPluginMech(model);
  CPMechSuggestion s = CP_INIT(CPMechSuggestion);
  MechCounters stats;
  ck_assert_int_eq(CPMechSuggestMethod(m, 0.0, model->y0, 20.0, 1e-6, &s), CP_SUCCESS);
  ck_assert_int_eq(mech_counters(m, &stats), CP_SUCCESS);
  ck_assert_int_le((int)stats.nf, 5);
  CPMechFree(&m);
  CPPluginFree(&model);
}
END_TEST

START_TEST(few_evaluations_are_enough_and_options_may_follow) {
  for (int k = 0; k < SPECTRA; k++) {
    create(spectra[k].c, spectra[k].k, 0.1);
    suggestion(10.0, 1e-6);
    ck_assert_int_le(device.calls, 25);
    ck_assert_int_eq(CPMechSetNewton(mech, CP_NEWTON_KKT), CP_SUCCESS);
    ck_assert_int_eq(CPMechSetErrorTimeScale(mech, 1), CP_SUCCESS);
    destroy();
  }
}
END_TEST

/* ---- failures ---- */

START_TEST(bad_input_is_refused) {
  CPMechSuggestion s = CP_INIT(CPMechSuggestion);
  create(spectra[0].c, spectra[0].k, 0.1);
  ck_assert_int_eq(CPMechSuggestMethod(NULL, 0.0, y, 1.0, 1e-6, &s), CP_MEM_NULL);
  ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, NULL, 1.0, 1e-6, &s), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, 1.0, 1e-6, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "s must");
  ck_assert_int_eq(CPMechSuggestMethod(mech, 1.0, y, 1.0, 1e-6, &s), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechSuggestMethod(mech, NAN, y, 1.0, 1e-6, &s), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, INFINITY, 1e-6, &s), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "t_end");
  const double wrong[] = {-1e-6, INFINITY, NAN};
  for (int k = 0; k < 3; k++)
    ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, 1.0, wrong[k], &s), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "rtol");
  destroy();
}
END_TEST

/* At the state itself a failure is returned to the caller, and so is a permanent one nearby. If f
 * has no value at a nearby state, the iteration ends with its present result. */
START_TEST(functions_may_fail) {
  CPMechSuggestion s = CP_INIT(CPMechSuggestion);
  create(spectra[1].c, spectra[1].k, 0.1);
  device = (Device){.fails = 1, .code = -1};
  ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, 10.0, 1e-6, &s), CP_USERFUNC_FAIL);
  device = (Device){.fails = 1, .code = 1};
  ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, 10.0, 1e-6, &s), CP_REPTD_USERFUNC_ERR);
  for (int first = 2; first < 9; first++) {
    device = (Device){.fails = first, .code = 1};
    ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, 10.0, 1e-6, &s), CP_SUCCESS);
    ck_assert(isfinite(s.radius));
    if (device.calls < first) continue; /* the iteration had ended before */
    device = (Device){.fails = first, .code = -1};
    ck_assert_int_eq(CPMechSuggestMethod(mech, 0.0, y, 10.0, 1e-6, &s), CP_USERFUNC_FAIL);
  }
  destroy();
}
END_TEST

START_TEST(every_allocation_may_fail) {
  create(spectra[0].c, spectra[0].k, 0.1);
  int denied = 1;
  for (long k = 1; denied; k++) {
    CPMechSuggestion s = CP_INIT(CPMechSuggestion);
    alloc_watch_failing(k);
    const int flag = CPMechSuggestMethod(mech, 0.0, y, 10.0, 1e-6, &s);
    denied         = alloc_has_failed();
    alloc_unwatch();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
  }
  destroy();
}
END_TEST

TEST_SUITE(suggest) {
  Suite *suite = suite_create("the choice of a method");
  TCase *tc    = tcase_create("suggestions");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, the_spectral_radius_is_that_of_the_roots, 0, SPECTRA);
  tcase_add_test(tc, angles_at_zero_have_the_size_of_a_radian);
  tcase_add_test(tc, operators_are_integrated_by_BDF);
  tcase_add_test(tc, a_damped_oscillation_counts_until_it_has_died_out);
  tcase_add_loop_test(tc, operators_are_integrated_by_BDF_where_it_is_stable, 0, 2);
  tcase_add_test(tc, oscillations_count_unless_they_are_below_the_tolerance);
  tcase_add_test(tc, the_unit_of_time_changes_nothing);
  tcase_add_test(tc, stiffness_of_decays_depends_on_the_motion_alone);
  tcase_add_test(tc, a_mechanism_at_rest_is_judged_by_the_interval);
  tcase_add_test(tc, stiffness_is_recognised_in_the_catalogue);
  tcase_add_test(tc, loose_tolerances_take_the_method_of_order_5);
  tcase_add_test(tc, where_a_fast_oscillation_limits_the_steps_order_8_is_taken_at_loose_tolerances);
  tcase_add_test(tc, a_motion_without_restoring_forces_takes_five_evaluations);
  tcase_add_test(tc, few_evaluations_are_enough_and_options_may_follow);
  tcase_add_test(tc, bad_input_is_refused);
  tcase_add_test(tc, functions_may_fail);
  tcase_add_test(tc, every_allocation_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
