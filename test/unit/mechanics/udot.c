/* Accelerations by a recursion in addition to the matrices: a point mass on a rod of length 1 that
 * hangs from the origin,
 *
 *   u' = (0, -g) - lambda q,   lambda = (|u|^2 - g q_1) / |q|^2,   p = (|q|^2 - 1) / 2. */
#include "support/mech_run.h"
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_sens.h>

#include <math.h>
#include <models/counters.h>
#include <sunmatrix/sunmatrix_dense.h>

#define G SUN_RCONST(9.81)

typedef struct {
  int calls;
  sunrealtype wrong_udot, wrong_lambda; /* added to udot_0, lambda */
  int mass_fails;                       /* once */
} Rod;

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1;
  return ((Rod *)data)->mass_fails-- > 0 ? -1 : 0;
}

static int constraint(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)data;
  SM_ELEMENT_D(A, 0, 0) = q[0];
  SM_ELEMENT_D(A, 0, 1) = q[1];
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  f[1] = -G;
  return 0;
}

static int length(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = (q[0] * q[0] + q[1] * q[1] - 1) / 2;
  return 0;
}

static int recursion(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda, void *data) {
  (void)t, (void)z;
  Rod *rod = data;
  rod->calls++;
  *lambda = (u[0] * u[0] + u[1] * u[1] - G * q[1]) / (q[0] * q[0] + q[1] * q[1]);
  udot[0] = -*lambda * q[0] + rod->wrong_udot;
  udot[1] = -G - *lambda * q[1];
  *lambda += rod->wrong_lambda;
  return 0;
}

static const CPEquations model = {
    CP_SIZED(CPEquations), .nu = 2,     .np = 1,     .M = mass,
    .A = constraint,       .f = weight, .p = length, .udot = recursion};

static MechRun *create(Rod *rod, const CPEquations *m) {
  return mech_run_create(m, rod, (sunrealtype[]){1, 0, 0, 0});
}

/* The end of the run with only the matrices, after half a swing: errors grow no more than the
 * angle's own, which exp(sqrt(g) t) bounds. */
START_TEST(motion_is_that_of_the_matrices) {
  Rod with = {0}, without = {0};
  const int lmm           = _i ? CV_BDF : CV_ADAMS;
  CPEquations no_udot     = model;
  const sunrealtype t_end = SUN_RCONST(0.5), growth = exp(sqrt(G) * t_end);
  no_udot.udot = NULL;
  MechRun *a = create(&with, &model), *b = create(&without, &no_udot);
  mech_run_start(a, lmm, SUN_RCONST(1e-8));
  mech_run_start(b, lmm, SUN_RCONST(1e-8));
  mech_run_to(a, t_end);
  mech_run_to(b, t_end);
  const sunrealtype bound = mech_run_bound(a, 4, growth) + mech_run_bound(b, 4, growth);
  ck_assert_double_le(mech_run_error(a, 4, entries(b->y)), bound);
  MechCounters stats;
  ck_assert_int_eq(mech_counters(a->mech, &stats), CP_SUCCESS);
  ck_assert_int_gt(with.calls, mech_run_steps(a));
  ck_assert_int_eq(stats.nudot, with.calls + stats.nkkt); /* the latter for Newton's matrix */
  if (lmm == CV_ADAMS) ck_assert_int_eq(stats.nkkt, 1);   /* at the start, which is judged */
  mech_run_free(&a);
  mech_run_free(&b);
}
END_TEST

/* Queries at a state use the matrices, with their rank. */
/* d(state)/d(angle of the start) at t_end; s [4]: out */
static void derivative_of_the_motion(const CPEquations *m, int lmm, sunrealtype t_end,
                                     sunrealtype *s) {
  Rod rod      = {0};
  MechRun *run = create(&rod, m);
  N_Vector yS  = vector_of(4, (sunrealtype[]){0, 1, 0, 0});
  mech_run_start(run, lmm, SUN_RCONST(1e-8));
  const CPParameters start = {CP_SIZED(CPParameters), .n = 1, .pbar = (sunrealtype[]){1},
                              .y0S = &yS};
  CPSens sens              = NULL;
  ck_assert_ptr_nonnull(sens = CPSensCreate(&start, run->y, test_context));
  ck_assert_int_eq(CPSensSetErrCon(sens, SUNTRUE), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetSens(run->cpode, sens), CP_SUCCESS);
  ck_assert_int_eq(
      CVodeSensSStolerances(CPIntegratorGetCVodeMem(run->cpode), 1e-8, (sunrealtype[]){1e-8}),
      CV_SUCCESS);
  mech_run_to(run, t_end);
  ck_assert_int_eq(CPSensGetDky(sens, t_end, 0, &yS), CP_SUCCESS);
  CPSensFree(&sens);
  for (int i = 0; i < 4; i++) s[i] = entries(yS)[i];
  N_VDestroy(yS);
  mech_run_free(&run);
}

/* Derivatives solve with factors of the matrices, which the recursion has not computed. */
START_TEST(sensitivities_are_those_of_the_matrices) {
  const int lmm           = _i ? CV_BDF : CV_ADAMS;
  CPEquations no_udot     = model;
  const sunrealtype t_end = SUN_RCONST(0.5);
  sunrealtype with[4], without[4];
  no_udot.udot = NULL;
  derivative_of_the_motion(&model, lmm, t_end, with);
  derivative_of_the_motion(&no_udot, lmm, t_end, without);
  for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(with[i], without[i], 1e-5);
}
END_TEST

START_TEST(quantities_come_from_the_matrices) {
  Rod rod      = {.wrong_udot = 1};
  MechRun *run = create(&rod, &model);
  sunrealtype udot[2], lambda;
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = &lambda};
  ck_assert_int_eq(CPMechEvaluate(run->mech, 0, run->y, &out), CP_SUCCESS);
  ck_assert_double_eq_tol(udot[0], 0, 1e-15);
  ck_assert_double_eq_tol(udot[1], -G, 1e-14);
  ck_assert_double_eq_tol(lambda, 0, 1e-14);
  ck_assert_int_eq(out.rank, 1);
  ck_assert_int_eq(rod.calls, 0);
  mech_run_free(&run);
}
END_TEST

/* Free fall, which the recursion does not include. */
START_TEST(rows_that_are_off_are_not_left_to_the_recursion) {
  Rod rod      = {0};
  MechRun *run = create(&rod, &model);
  ck_assert_int_eq(CPMechSetActive(run->mech, (int[]){0}), CP_SUCCESS);
  mech_run_start(run, CV_ADAMS, SUN_RCONST(1e-8));
  mech_run_to(run, 1);
  ck_assert_int_eq(rod.calls, 0);
  ck_assert_double_le(mech_run_error(run, 2, (sunrealtype[]){1, -G / 2}), mech_run_bound(run, 5, 1));
  mech_run_free(&run);
}
END_TEST

static int resting(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 1;
  return 0;
}

static int not_moving(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 0;
  return 0;
}

/* The mass is held at q_0 = 1, without constraints in the model. */
START_TEST(prescribed_motions_are_not_left_to_the_recursion) {
  Rod rod               = {0};
  const CPMotion held   = {.kind = _i ? CP_MOTION_FULL : CP_MOTION_DIRECT,
                           .g    = resting,
                           .gd   = not_moving,
                           .gdd  = not_moving};
  const CPEquations own = {CP_SIZED(CPEquations), .nu = 2,          .M = mass,    .f = weight,
                           .udot = recursion,     .motions = &held, .nmotions = 1};
  MechRun *run          = create(&rod, &own);
  mech_run_start(run, CV_ADAMS, SUN_RCONST(1e-8));
  mech_run_to(run, 1);
  ck_assert_int_eq(rod.calls, 0);
  ck_assert_double_le(mech_run_error(run, 2, (sunrealtype[]){1, -G / 2}), mech_run_bound(run, 5, 1));
  mech_run_free(&run);
}
END_TEST

START_TEST(the_check_compares_both) {
  static const Rod rods[]   = {{0}, {.wrong_udot = 0.1}, {.wrong_lambda = 0.1}};
  static const char *said[] = {"", "udot: u'[0]", "udot: lambda[0]"};
  Rod rod                   = rods[_i];
  MechRun *run              = create(&rod, &model);
  CPMechReport report       = CP_INIT(CPMechReport);
  const int flag            = CPMechCheck(run->mech, 0, run->y, &report);
  ck_assert_int_eq(flag, _i ? CP_MECH_DERIV_WRONG : CP_SUCCESS);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(run->mech)), said[_i]);
  if (_i) ck_assert_double_gt(report.udot, 1e-3);
  else ck_assert_double_lt(report.udot, 1e-14);
  mech_run_free(&run);
}
END_TEST

/* The recursion ignores rows that are off: its lambda is not 0 there. */
START_TEST(the_check_does_not_compare_rows_that_are_off_and_motions) {
  Rod rod             = {0};
  const CPMotion held = {.kind = CP_MOTION_FULL, .g = resting, .gd = not_moving, .gdd = not_moving};
  const CPEquations own = {CP_SIZED(CPEquations), .nu = 2,          .M = mass,    .f = weight,
                           .udot = recursion,     .motions = &held, .nmotions = 1};
  MechRun *run        = mech_run_create(_i ? &own : &model, &rod, (sunrealtype[]){0.6, -0.8, 0, 0});
  CPMechReport report = CP_INIT(CPMechReport);
  if (!_i) ck_assert_int_eq(CPMechSetActive(run->mech, (int[]){0}), CP_SUCCESS);
  const int flag = CPMechCheck(run->mech, 0, run->y, &report);
  ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(run->mech)));
  mech_run_free(&run);
}
END_TEST

/* One-step methods use the matrices at the end of a step, which detect singular positions. */
START_TEST(matrices_that_fail_at_the_end_of_a_step_end_the_run) {
  Rod rod          = {0};
  MechRun *run     = create(&rod, &model);
  CPIntegrator one = CPIntegratorCreate("DOP853", test_context);
  MessageLog log   = {0};
  sunrealtype t;
  ck_assert_ptr_nonnull(one);
  CPObjectSetErrHandlerFn(CP_OBJECT(one), message_log, &log);
  ck_assert_int_eq(CPMechAttach(run->mech, one, 0, run->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(one, 1e-8, 1e-8), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(one, 0.1, run->y, &t, CV_NORMAL), CP_SUCCESS);
  rod.mass_fails = 1;
  ck_assert_int_eq(CPIntegratorEvolve(one, 0.5, run->y, &t, CV_NORMAL), CP_USERFUNC_FAIL);
  ck_assert_mentions(log.text, "M failed");
  ck_assert_int_eq(CPIntegratorEvolve(one, 0.5, run->y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&one);
  mech_run_free(&run);
}
END_TEST

TEST_SUITE(udot) {
  Suite *suite = suite_create("mechanics/udot");
  TCase *tc    = tcase_create("udot");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, motion_is_that_of_the_matrices, 0, 2);
  tcase_add_test(tc, quantities_come_from_the_matrices);
  tcase_add_loop_test(tc, sensitivities_are_those_of_the_matrices, 0, 2);
  tcase_add_test(tc, rows_that_are_off_are_not_left_to_the_recursion);
  tcase_add_loop_test(tc, prescribed_motions_are_not_left_to_the_recursion, 0, 2);
  tcase_add_test(tc, matrices_that_fail_at_the_end_of_a_step_end_the_run);
  tcase_add_loop_test(tc, the_check_compares_both, 0, 3);
  tcase_add_loop_test(tc, the_check_does_not_compare_rows_that_are_off_and_motions, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
