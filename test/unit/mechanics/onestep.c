/* Mechanical systems with one-step methods, explicit and implicit. */
#include "mechanics/systems.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <cpodes/mechanics/mech.h>
#include <math.h>
#include <models/counters.h>
#include <stdlib.h>
#include <string.h>

#define EXPLICIT "DOP853"
#define IMPLICIT "RADAU"
static const char *const methods[] = {EXPLICIT, "RADAU5", "RADAU9", "RADAU13", IMPLICIT};
enum { FIRST_RADAU = 1, METHODS = 4 };

static CPIntegrator mem;
static MessageLog messages;

static void create(const char *method, sunrealtype tol) {
  memset(&messages, 0, sizeof messages);
  mem = CPIntegratorCreate(method, test_context);
  ck_assert_ptr_nonnull(mem);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
  CPIntegratorSStolerances(mem, tol, tol);
  CPIntegratorSetMaxNumSteps(mem, -1);
}

static void attach(CPMech mech, sunrealtype t, N_Vector y) {
  ck_assert_msg(CPMechAttach(mech, mem, t, y) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
}

static void go_to(const char *name, sunrealtype tout, N_Vector y) {
  sunrealtype t;
  const int flag = CPIntegratorEvolve(mem, tout, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d, %s", name, flag,
                CPObjectGetLastMessage(CP_OBJECT(mem)));
}

static IntegratorCounters stats_of(void) {
  IntegratorCounters s;
  ck_assert_int_eq(integrator_counters(mem, &s), CP_SUCCESS);
  return s;
}

/* ---- every mechanism ---- */

/* Long enough for some tens of steps */
static sunrealtype duration(SystemName name) {
  return name == FLEXIBLE_CRANK ? 1.0e-3 : name == ANDREWS ? 2.0e-3 : 0.1;
}

static System *opened(SystemName name) {
  System *s = system_create(name);
  if (!s->model.M && !s->model.udot_jac)
    ck_assert_int_eq(CPMechSetNewton(s->mech, CP_NEWTON_HALF), CP_SUCCESS);
  return s;
}

static void by_bdf(System *s, sunrealtype tol, sunrealtype tout) {
  sunrealtype t;
  CPIntegrator cpode = CPIntegratorCreate("BDF", test_context);
  ck_assert_int_eq(CPMechAttach(s->mech, cpode, s->t, s->y), CP_SUCCESS);
  CPIntegratorSStolerances(cpode, tol, tol);
  CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(cpode), 1000000);
  ck_assert_int_eq(CPIntegratorEvolve(cpode, tout, s->y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&cpode);
}

/* Each step has an error of at most tol (1 + |y|), and in motions as short as these, less than a
 * period, no error grows tenfold. */
START_TEST(every_mechanism_moves_as_with_bdf) {
  const sunrealtype tol = 1.0e-7;
  System *one = opened(_i / METHODS), *bdf = opened(_i / METHODS);
  const sunrealtype tout = one->t + duration(_i / METHODS);
  create(methods[_i % METHODS], tol);
  if (!one->model.M && _i % METHODS >= FIRST_RADAU) { /* needs M and A */
    ck_assert_int_eq(CPMechAttach(one->mech, mem, one->t, one->y), CP_NOT_SUPPORTED);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(one->mech)), "operators");
    CPIntegratorFree(&mem);
    system_free(&one);
    system_free(&bdf);
    return;
  }
  attach(one->mech, one->t, one->y);
  go_to(one->name, tout, one->y);
  const IntegratorCounters s = stats_of();
  CPMechOutput out           = CP_INIT(CPMechOutput);
  CPMechEvaluate(one->mech, tout, one->y, &out);
  by_bdf(bdf, 1.0e-10, tout);
  for (int i = 0; i < one->n; i++) {
    const double size  = fabs(entries(bdf->y)[i]);
    const double error = fabs(entries(one->y)[i] - entries(bdf->y)[i]);
    ck_assert_msg(error <= 10.0 * (double)s.nst * tol * (1.0 + size),
                  "%s by %s: y[%d] is off by %g after %ld steps", one->name, methods[_i % METHODS],
                  i, error, s.nst);
  }
  ck_assert_double_le(system_norms(one, entries(one->y)), 1.0e-15);
  ck_assert_double_le(out.position, tol);
  CPIntegratorFree(&mem);
  system_free(&one);
  system_free(&bdf);
}
END_TEST

/* ---- Radau IIA: orders ---- */

typedef struct {
  sunrealtype state, udot, lambda; /* largest errors */
} Errors;

/* The pendulum with n steps to t = 1, projected or not */
static Errors radau_errors(const char *method, int n, int projected) {
  System *s = system_create(PENDULUM);
  Errors e  = {0.0, 0.0, 0.0};
  sunrealtype exact[PENDULUM_N], udot[2][2], lambda[2], t;
  N_Vector y = vector_of(PENDULUM_N, NULL);
  pendulum_initial(&s->is.pendulum, y);
  create(method, 1.0e-12);
  CPIntegratorSetFixedStep(mem, 1.0 / n);
  attach(s->mech, 0.0, y);
  if (!projected) ck_assert_int_eq(CPIntegratorSetProjector(mem, NULL), CP_SUCCESS);
  for (int k = 0; k < n; k++) {
    ck_assert_int_eq(CPIntegratorEvolve(mem, 2.0, y, &t, CV_ONE_STEP), CP_SUCCESS);
    pendulum_exact(&s->is.pendulum, t, exact);
    CPMechAccelerations(s->mech, t, y, udot[0], &lambda[0]);
    for (int i = 0; i < PENDULUM_N; i++) {
      e.state       = fmax(e.state, fabs(entries(y)[i] - exact[i]));
      entries(y)[i] = exact[i];
    }
    CPMechAccelerations(s->mech, t, y, udot[1], &lambda[1]);
    for (int i = 0; i < 2; i++) e.udot = fmax(e.udot, fabs(udot[0][i] - udot[1][i]));
    e.lambda = fmax(e.lambda, fabs(lambda[0] - lambda[1]));
  }
  CPIntegratorFree(&mem);
  N_VDestroy(y);
  system_free(&s);
  return e;
}

/* Errors are 1e-5 to 1e-10 at these steps, and terms of higher order within 2^0.4 of the quotients. */
START_TEST(states_accelerations_and_multipliers_are_of_the_order_of_radau) {
  const int five = _i % 2, order = five ? 9 : 5, n = five ? 10 : 24;
  const char *method = five ? "RADAU9" : "RADAU5";
  const Errors one = radau_errors(method, n, _i < 2), half = radau_errors(method, 2 * n, _i < 2);
  const double orders[] = {log2(one.state / half.state), log2(one.udot / half.udot),
                           log2(one.lambda / half.lambda)};
  for (int k = 0; k < 3; k++)
    ck_assert_msg(orders[k] >= order - 0.4, "%s: %g of %d (%g)", method, orders[k], k, half.state);
}
END_TEST

/* ---- attached systems ---- */

START_TEST(metric_and_iteration_matrix_are_those_of_the_method) {
  System *s = system_create(CAR_AXIS);
  create(IMPLICIT, 1.0e-6);
  attach(s->mech, s->t, s->y);
  ck_assert_int_eq(cpMechMetricInUse(s->mech), CP_METRIC_NEWTON);
  ck_assert_int_eq(s->mech->stats.newton, CP_NEWTON_KKT);
  CPIntegratorFree(&mem);
  create(EXPLICIT, 1.0e-6);
  attach(s->mech, s->t, s->y);
  ck_assert_int_eq(cpMechMetricInUse(s->mech), CP_METRIC_KINETIC);
  ck_assert_int_eq(s->mech->stats.newton, CP_NEWTON_NONE);
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

START_TEST(the_iteration_matrix_is_the_structured_one) {
  System *s = system_create(_i ? BENDING_CHAIN : CAR_AXIS); /* sparse; dense */
  create(IMPLICIT, 1.0e-6);
  attach(s->mech, s->t, s->y);
  go_to(s->name, s->t + 0.1, s->y);
  MechCounters m;
  mech_counters(s->mech, &m);
  const IntegratorCounters one = stats_of();
  ck_assert_int_eq(m.nnewton, one.nlinsetups);
  ck_assert_int_eq(m.npartials, one.njev);
  ck_assert_int_le(one.njev, one.nst); /* they serve more than one stage */
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

START_TEST(attaching_again_is_a_new_start) {
  System *s      = system_create(PENDULUM);
  N_Vector start = vector_copy(s->y), end;
  create(methods[_i], 1.0e-6);
  attach(s->mech, s->t, s->y);
  go_to(s->name, s->t + 0.2, s->y);
  end = vector_copy(s->y);
  attach(s->mech, s->t, start);
  ck_assert_int_eq(stats_of().nst, 0);
  go_to(s->name, s->t + 0.2, s->y);
  for (int i = 0; i < s->n; i++)
    ck_assert_double_le(fabs(entries(end)[i] - entries(s->y)[i]), 100.0 * 1.0e-6 * 10.0);
  CPIntegratorFree(&mem);
  N_VDestroy(start);
  N_VDestroy(end);
  system_free(&s);
}
END_TEST

/* L-stable methods damp a pendulum that swings below its tolerance, and their steps grow without
 * end. The iteration matrix then hardly contains A, and corrections by its factors are small
 * without leading to the manifold. */
START_TEST(steps_however_long_stay_on_the_manifold) {
  const sunrealtype tol = 5.0e-5;
  System *s             = system_create(PENDULUM);
  sunrealtype *y        = entries(s->y);
  const sunrealtype L   = hypot(y[0], y[1]);
  y[0] = y[2] = y[3] = 0.0, y[1] = -L;
  y[2] = tol;
  create(methods[_i], tol);
  attach(s->mech, s->t, s->y);
  while (s->t < 1.0e10) {
    double p[1];
    const int flag = CPIntegratorEvolve(mem, 1.0e13, s->y, &s->t, CV_ONE_STEP);
    ck_assert_msg(!flag, "%s: %s", methods[_i], CPObjectGetLastMessage(CP_OBJECT(mem)));
    system_p(s, entries(s->y), p);
    ck_assert_msg(fabs(p[0]) <= tol, "%s, t = %g: p = %g", methods[_i], (double)s->t, p[0]);
  }
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

START_TEST(one_integrator_at_a_time) {
  System *s = system_create(PENDULUM);
  create(EXPLICIT, 1.0e-6);
  attach(s->mech, s->t, s->y);
  CPIntegrator cpode = CPIntegratorCreate("BDF", test_context);
  CPIntegrator other = CPIntegratorCreate(NULL, test_context);
  ck_assert_int_eq(CPMechAttach(s->mech, cpode, s->t, s->y), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(s->mech)), "another integrator");
  ck_assert_int_eq(CPMechAttach(s->mech, other, s->t, s->y), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(s->mech)), "another integrator");
  ck_assert_int_eq(CPMechAttach(s->mech, NULL, s->t, s->y), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechAttach(NULL, mem, s->t, s->y), CP_MEM_NULL);
  CPIntegratorFree(&mem);
  ck_assert_int_eq(CPMechAttach(s->mech, cpode, s->t, s->y), CP_SUCCESS); /* it is free */
  CPIntegratorFree(&cpode);
  CPIntegratorFree(&other);
  system_free(&s);
}
END_TEST

static int other_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)y, (void)data;
  N_VConst(0.0, ydot);
  return 0;
}

START_TEST(an_integrator_with_a_right_hand_side_is_refused) {
  System *s = system_create(PENDULUM);
  create(EXPLICIT, 1.0e-6);
  ck_assert_int_eq(CPIntegratorInit(mem, other_rhs, s->t, s->y), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(s->mech, mem, s->t, s->y), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(s->mech)), "CPIntegratorCreate");
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

START_TEST(user_data_belongs_to_the_mechanism) {
  System *s = system_create(PENDULUM);
  create(methods[_i], 1.0e-6);
  attach(s->mech, s->t, s->y);
  ck_assert_int_eq(CPIntegratorSetUserData(mem, s), CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "CPMechSetUserData");
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

START_TEST(a_mechanism_that_is_freed_first_is_missed) {
  sunrealtype t;
  System *s  = system_create(PENDULUM);
  N_Vector y = vector_copy(s->y);
  create(methods[_i], 1.0e-6);
  attach(s->mech, s->t, s->y);
  system_free(&s);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "freed");
  CPIntegratorFree(&mem);
  N_VDestroy(y);
}
END_TEST

/* ---- failures and figures ---- */

static int (*true_force)(sunrealtype, const sunrealtype *, const sunrealtype *, const sunrealtype *,
                         sunrealtype *, void *);
static int force_fails; /* the return value of the forces ... */
static sunrealtype force_fails_from;

static int failing_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, sunrealtype *f, void *data) {
  return t > force_fails_from ? force_fails : true_force(t, q, u, z, f, data);
}

START_TEST(a_function_that_fails_is_named_and_the_state_is_the_last_good_one) {
  sunrealtype t, t_last = 0.0;
  System *s            = system_create(CAR_AXIS);
  N_Vector last        = vector_copy(s->y);
  int flag             = CP_SUCCESS;
  true_force           = s->mech->model->eq.f;
  s->mech->model->eq.f = failing_force;
  force_fails          = _i < METHODS ? 1 : -1;
  const int expected   = _i < METHODS ? CP_REPTD_USERFUNC_ERR : CP_USERFUNC_FAIL;
  create(methods[_i % METHODS], 1.0e-6);
  force_fails_from = s->t + 0.1;
  attach(s->mech, s->t, s->y);
  while (flag == CP_SUCCESS) {
    N_VScale(1.0, s->y, last);
    flag = CPIntegratorEvolve(mem, s->t + 1.0, s->y, &t, CV_ONE_STEP);
    if (flag == CP_SUCCESS) t_last = t;
  }
  ck_assert_int_eq(flag, expected);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mem)), "f ");
  ck_assert_double_eq(t, t_last);
  ck_assert_int_eq(same_bits(s->y, last), 1);
  CPIntegratorFree(&mem);
  N_VDestroy(last);
  system_free(&s);
}
END_TEST

/* What remains of a violation is reported, whoever projects: factors of the iteration matrix here, which
 * bound it. */
START_TEST(the_violation_that_remains_is_bounded) {
  static const SystemName names[] = {PENDULUM, SLIDER_CRANK, CAR_AXIS, BODIES, BENDING_CHAIN};
  System *s                       = system_create(names[_i]);
  const sunrealtype end           = s->t + duration(names[_i]);
  create(IMPLICIT, 1.0e-6); /* the tolerance of s->ewt */
  attach(s->mech, s->t, s->y);
  while (s->t < end) {
    sunrealtype measured;
    ck_assert_int_eq(CPIntegratorEvolve(mem, end, s->y, &s->t, CV_ONE_STEP), CP_SUCCESS);
    ck_assert_int_eq(
        CPProjectorGetViolation(CPMechGetProjector(s->mech), s->t, s->y, s->ewt, &measured, NULL),
        CP_SUCCESS);
    ck_assert_double_gt(stats_of().violation, 0.0);
    ck_assert_double_le(measured, stats_of().violation);
  }
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

/* ---- stiffness, weights, motions ---- */

static long int bushing_steps(const char *method, sunrealtype stiffer) {
  BushingCrank crank = bushing_crank_stiff();
  crank.K *= stiffer;
  crank.C *= stiffer;
  CPEquations model = bushing_crank_model();
  N_Vector y        = vector_of(2 * BUSHING_CRANK_NQ, NULL);
  bushing_crank_initial(&crank, y);
  CPMech mech = create_mech(&model, y, test_context);
  CPMechSetUserData(mech, &crank);
  create(method, 1.0e-5);
  attach(mech, 0.0, y);
  go_to("bushing", 5.0, y);
  const long int steps = stats_of().nst;
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  return steps;
}

/* Explicit methods would take steps of about 2 m2 / C: 2.5e5 and 2.5e7 of them. */
START_TEST(steps_of_implicit_methods_do_not_depend_on_stiffness) {
  const long int steps   = bushing_steps(methods[_i], 1.0),
                 stiffer = bushing_steps(methods[_i], 1.0e2);
  ck_assert_int_lt(steps, 200);
  ck_assert_int_lt(stiffer, 2 * steps);
}
END_TEST

START_TEST(errors_of_velocities_are_weighted_with_the_time_scale) {
  long int steps[2];
  for (int weighted = 0; weighted < 2; weighted++) {
    System *s = system_create(FLEXIBLE_CRANK);
    CPMechSetErrorTimeScale(s->mech, weighted ? (_i ? CP_TAU_STEP : 1.0e-4) : 0.0);
    create(IMPLICIT, 1.0e-6);
    attach(s->mech, s->t, s->y);
    go_to(s->name, s->t + duration(FLEXIBLE_CRANK), s->y);
    steps[weighted] = stats_of().nst;
    CPIntegratorFree(&mem);
    system_free(&s);
  }
  ck_assert_int_lt(steps[1], steps[0]);
}
END_TEST

/* Two unit masses with a spring 5 between them; the first follows sin(2 t + 0.4). From a start on
 * it, the second's motion is only the forced one, which is 5 / (5 - 4) = 5 times as large. */
static int sine(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = sin(2.0 * t + 0.4);
  return 0;
}
static int sine_rate(sunrealtype t, sunrealtype *gd, void *data) {
  (void)data;
  *gd = 2.0 * cos(2.0 * t + 0.4);
  return 0;
}

START_TEST(prescribed_motions_are_followed) {
  const CPMotionKind how = (CPMotionKind)(_i / METHODS);
  const sunrealtype k = 5.0, tol = 1.0e-7, tout = 3.0;
  SUNMatrix M = SUNDenseMatrix(2, 2, test_context), K = SUNDenseMatrix(2, 2, test_context);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      SM_ELEMENT_D(M, i, j) = i == j;
      SM_ELEMENT_D(K, i, j) = i == j ? k : -k;
    }
  N_Vector y =
      vector_of(4, (sunrealtype[]){sin(0.4), 5.0 * sin(0.4), 2.0 * cos(0.4), 10.0 * cos(0.4)});
  const CPMotion by = {.kind = how, .g = sine, .gd = sine_rate, .step = 1.0e-3};
  CPEquations model = linear_equations(2, M, NULL, K);
  model.motions = &by, model.nmotions = 1;
  CPMech mech = create_mech(&model, y, test_context);
  create(methods[_i % METHODS], tol);
  attach(mech, 0.0, y);
  go_to("motion", tout, y);
  const sunrealtype x = sin(2.0 * tout + 0.4), v = 2.0 * cos(2.0 * tout + 0.4);
  const sunrealtype exact[] = {x, 5.0 * x, v, 5.0 * v};
  for (int i = 0; i < 4; i++) /* the free oscillation, of frequency sqrt(5), grows with no error */
    ck_assert_msg(fabs(entries(y)[i] - exact[i]) <= 11.0 * (double)stats_of().nst * tol,
                  "y[%d] is off by %g after %ld steps", i, entries(y)[i] - exact[i], stats_of().nst);
  if (how == CP_MOTION_FULL) ck_assert_double_le(fabs(entries(y)[0] - x), 1.0e-15);
  ck_assert_int_lt(stats_of().nst, 1000);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  SUNMatDestroy(M);
  SUNMatDestroy(K);
}
END_TEST

/* ---- rows that are switched ---- */

/* The pendulum's rod is cut at t = 0.3, without a restart by the user: a parabola follows. Each
 * step has an error of tol (1 + |y|), |y| is below 5, and no error grows tenfold in so short a
 * time. */
START_TEST(rows_are_switched_between_steps_without_a_restart) {
  const sunrealtype tol = 1.0e-8, cut = 0.3, flight = 0.2;
  sunrealtype at[4], t;
  System *s = system_create(PENDULUM);
  pendulum_initial(&s->is.pendulum, s->y);
  create(methods[_i], tol);
  attach(s->mech, 0.0, s->y);
  CPIntegratorSetStopTime(mem, cut);
  ck_assert_int_eq(CPIntegratorEvolve(mem, cut, s->y, &t, CV_NORMAL), CV_TSTOP_RETURN);
  for (int i = 0; i < 4; i++) at[i] = entries(s->y)[i];
  ck_assert_int_eq(CPMechSetActive(s->mech, (int[]){0}), CP_SUCCESS);
  go_to("free flight", cut + flight, s->y);
  const sunrealtype g = s->is.pendulum.g, v = at[3] - g * flight;
  const sunrealtype y            = at[1] + at[3] * flight - g * flight * flight / 2.0;
  const sunrealtype exact[]      = {at[0] + at[2] * flight, y, at[2], v};
  const IntegratorCounters stats = stats_of();
  for (int i = 0; i < 4; i++)
    ck_assert_msg(fabs(entries(s->y)[i] - exact[i]) <= 10.0 * (double)stats.nst * tol * 6.0,
                  "%s: y[%d] is off by %g", methods[_i], i, entries(s->y)[i] - exact[i]);
  ck_assert_int_lt(stats.nst, 500);
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

/* ---- wrong partial derivatives ---- */

/* A pendulum, m = L = 1, whose K or C has a wrong entry */
typedef struct {
  sunrealtype K, C;
} Wrong;

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *entry) {
  (void)t, (void)q, (void)entry;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1.0;
  return 0;
}

static int rod(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *entry) {
  (void)t, (void)entry;
  SM_ELEMENT_D(A, 0, 0) = q[0], SM_ELEMENT_D(A, 0, 1) = q[1];
  return 0;
}

static int rod_length(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *entry) {
  (void)t, (void)entry;
  p[0] = 0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0);
  return 0;
}

static int weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *entry) {
  (void)t, (void)q, (void)u, (void)z, (void)entry;
  f[0] = 0.0, f[1] = -9.81;
  return 0;
}

static int wrong_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                     SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *entry) {
  const Wrong *wrong = entry;
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)Fz;
  SM_ELEMENT_D(K, 0, 0) = SM_ELEMENT_D(K, 1, 1) = -lambda[0];
  SM_ELEMENT_D(K, 1, 1) += wrong->K;
  SM_ELEMENT_D(C, 0, 0) = wrong->C;
  return 0;
}

/* The iteration makes corrections that are too small by orders of magnitude. Tests of corrections and
 * residuals let 6 of these 120 runs end with success and an energy that was wrong by up to 96,000
 * tolerances. */
START_TEST(partial_derivatives_that_are_grossly_wrong_do_not_pass_unnoticed) {
  static const sunrealtype entries_of[] = {-1.0e3, -1.0e6, -1.0e9, -1.0e12, 1.0e300};
  const sunrealtype tol = pow(10.0, -4 - _i / METHODS % 3), wrong = entries_of[_i / METHODS / 3 % 5];
  Wrong entry             = {0};
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu           = 2,
                             .np           = 1,
                             .M            = unit_mass,
                             .A            = rod,
                             .p            = rod_length,
                             .f            = weight,
                             .dynamics_jac = wrong_jac};
  sunrealtype t           = 0.0;
  N_Vector y              = vector_of(4, (sunrealtype[]){1.0, 0.0, 0.0, 0.0});
  CPMech mech             = create_mech(&model, y, test_context);
  if (_i / METHODS / 15) entry.K = wrong;
  else entry.C = wrong;
  CPMechSetUserData(mech, &entry);
  create(methods[1 + _i % METHODS], tol);
  attach(mech, 0.0, y);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_MECH_DERIV_WRONG);
  ck_assert_mentions(messages.text, "dynamics_jac is grossly wrong");
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* A mass on a spring on a floor, with the load 1e6 and a damper of 1e-3 normal to it */
static int loaded(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  (void)t, (void)z, (void)data;
  f[0] = -9.81 * q[0], f[1] = -1.0e6 - 1.0e-3 * u[1];
  return 0;
}

static int floor_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[1];
  return 0;
}

static int floor_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(A, 0, 1) = 1.0;
  return 0;
}

static int loaded_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                      SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)Fz, (void)data;
  SM_ELEMENT_D(K, 0, 0) = -9.81;
  SM_ELEMENT_D(C, 1, 1) = -1.0e-3;
  return 0;
}

/* The damper changes the force by less than the roundoff of the load. Bennett's linkage stopped like this. */
START_TEST(right_partial_derivatives_that_are_hidden_by_roundoff_are_not_refused) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 2,        .np = 1,     .M = unit_mass,
      .A = floor_matrix,     .p = floor_gap, .f = loaded, .dynamics_jac = loaded_jac};
  N_Vector y  = vector_of(4, (sunrealtype[]){1.0, 0.0, 0.0, 0.0});
  CPMech mech = create_mech(&model, y, test_context);
  create(methods[1 + _i % METHODS], pow(10.0, -4 - 2 * (_i / METHODS)));
  attach(mech, 0.0, y);
  go_to("a load and a damper", 1.0, y);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* ---- units ---- */

/* A rod of the length 2 and the mass 1 in the plane, (x, y, phi), hanging at its end; x and y in the unit *data [m] */
static int rod_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  const sunrealtype unit = *(sunrealtype *)data;
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = unit * unit;
  SM_ELEMENT_D(M, 2, 2)                         = 1.0 / 12.0;
  return 0;
}

static int rod_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z;
  f[1] = -9.81 * *(sunrealtype *)data;
  return 0;
}

static int rod_end(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  const sunrealtype unit = *(sunrealtype *)data;
  (void)t;
  p[0] = unit * q[0] - sin(q[2]);
  p[1] = unit * q[1] + cos(q[2]);
  return 0;
}

static int rod_end_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t;
  SM_ELEMENT_D(A, 0, 0) = SM_ELEMENT_D(A, 1, 1) = *(sunrealtype *)data;
  SM_ELEMENT_D(A, 0, 2)                         = -cos(q[2]);
  SM_ELEMENT_D(A, 1, 2)                         = -sin(q[2]);
  return 0;
}

static int rod_end_rates(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                         void *data) {
  (void)t, (void)data;
  b[0] = -sin(q[2]) * u[2] * u[2];
  b[1] = cos(q[2]) * u[2] * u[2];
  return 0;
}

static long int evaluations_in_units(sunrealtype unit, sunrealtype tol) {
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 3,         .np = 2,      .M = rod_mass,
      .A = rod_end_matrix,   .f = rod_weight, .p = rod_end, .b = rod_end_rates};
  N_Vector y = vector_of(6, (sunrealtype[]){sin(1.0) / unit, -cos(1.0) / unit, 1.0, 0, 0, 0});
  N_Vector abstol =
      vector_of(6, (sunrealtype[]){tol / unit, tol / unit, tol, tol / unit, tol / unit, tol});
  CPMech mech = create_mech(&model, y, test_context);
  MechCounters stats;
  CPMechSetUserData(mech, &unit);
  create(EXPLICIT, tol);
  CPIntegratorSVtolerances(mem, tol, abstol);
  attach(mech, 0.0, y);
  go_to("a rod", 5.0, y);
  ck_assert_int_eq(mech_counters(mech, &stats), CP_SUCCESS);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(abstol);
  N_VDestroy(y);
  return stats.np;
}

/* When the rod hangs down, the gradient of p_1 is that by y alone, which is small in millimetres. */
START_TEST(units_of_length_do_not_make_rows_lose_their_gradients) {
  const sunrealtype tol = pow(10.0, -4 - 2 * _i);
  const long int metres = evaluations_in_units(1.0, tol);
  ck_assert_int_le(labs(evaluations_in_units(1.0e-3, tol) - metres), metres / 20);
}
END_TEST

/* ---- the metric of projections ---- */

/* RADAU does not use its own factors there if rows are dependent. In the metric of M its errors on parallel
 * cranks that pass singular positions are 40 times as large. */
START_TEST(sparse_matrices_are_projected_in_the_metric_of_dense_ones) {
  System *s = system_create(_i ? FOUR_BAR_SPARSE : FOUR_BAR);
  create(IMPLICIT, 1e-6);
  attach(s->mech, s->t, s->y);
  go_to(s->name, s->t + 0.1, s->y);
  ck_assert_int_eq(cpMechMetricInUse(s->mech), CP_METRIC_NEWTON);
  CPIntegratorFree(&mem);
  system_free(&s);
}
END_TEST

/* ---- a jump within a step ---- */

#define DAMPED    1.0e5
#define VANISHING 20.0 /* the time at which the damper vanishes */

static int damped(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  (void)z, (void)data;
  f[0] = -q[0], f[1] = -4.0 * q[1] - (t < VANISHING ? DAMPED * u[1] : 0.0);
  return 0;
}

/* Two oscillators, the second one overdamped, q = exp(lambda t), until its damper vanishes. With the matrix
 * of the damped one, corrections are small although the undamped one is far from its equations: runs
 * ended with errors of 0.2 to 15 at most tolerances. */
START_TEST(a_damper_that_vanishes_within_a_step_is_seen) {
  const sunrealtype tol = pow(10.0, -3 - _i / METHODS), t_end = 40.0;
  const sunrealtype lambda = -8.0 / (DAMPED + sqrt(DAMPED * DAMPED - 16.0)),
                    left = exp(lambda * VANISHING), since = 2.0 * (t_end - VANISHING);
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2, .M = unit_mass, .f = damped};
  sunrealtype t           = 0.0;
  N_Vector y              = vector_of(4, (sunrealtype[]){1.0, 1.0, 0.0, lambda});
  CPMech mech             = create_mech(&model, y, test_context);
  create(methods[1 + _i % METHODS], tol);
  attach(mech, 0.0, y);
  CPIntegratorSetMaxNumSteps(mem, 5000);
  ck_assert_int_eq(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_double_eq_tol(entries(y)[1], left * (cos(since) + 0.5 * lambda * sin(since)),
                          1000.0 * tol);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* ---- a start leaves nothing of earlier runs but the step size and the number of stages ---- */

START_TEST(runs_after_a_restart_are_those_of_a_new_integrator) {
  sunrealtype end[2][4], t;
  IntegratorCounters stats[2];
  for (int again = 0; again < 2; again++) {
    System *s   = system_create(PENDULUM);
    N_Vector y0 = N_VClone(s->y);
    N_VScale(1.0, s->y, y0);
    create(methods[_i], 1.0e-7);
    attach(s->mech, 0.0, s->y);
    if (again) {
      go_to(methods[_i], 1.3, s->y);
      N_VScale(1.0, y0, s->y);
      ck_assert_int_eq(CPIntegratorReInit(mem, 0.0, s->y), CP_SUCCESS);
    }
    ck_assert_int_eq(CPIntegratorSetInitStep(mem, 0.01), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 2.0, s->y, &t, CV_NORMAL), CP_SUCCESS);
    stats[again] = stats_of();
    for (int i = 0; i < 4; i++) end[again][i] = entries(s->y)[i];
    CPIntegratorFree(&mem);
    N_VDestroy(y0);
    system_free(&s);
  }
  ck_assert_int_eq(stats[0].nst, stats[1].nst);
  ck_assert_int_eq(stats[0].nattempts, stats[1].nattempts);
  for (int i = 0; i < 4; i++) ck_assert_double_eq(end[0][i], end[1][i]);
}
END_TEST

/* ---- rows that are known to be independent ---- */

/* The angle between two rows is q_2, which grows at the rate 1. */
static int turning(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[0];
  p[1] = cos(q[2]) * q[0] + sin(q[2]) * q[1];
  return 0;
}

/* Rows that meet at ever wider angles may have come from a singular position, and the stages of a step are then computed a
 * second time; not if the model says that there is none. */
START_TEST(stages_are_computed_once_where_rows_are_regular) {
  sunrealtype evaluations[2], attempts;
  SUNMatrix M = SUNDenseMatrix(3, 3, test_context);
  for (int j = 0; j < 3; j++) SM_ELEMENT_D(M, j, j) = 1.0;
  for (int regular = 0; regular < 2; regular++) {
    const CPEquations model = {CP_SIZED(CPEquations), .nu = 3,      .np = 2,
                               .M_tmpl = M,           .p = turning, .regular = regular};
    N_Vector y              = vector_of(6, (sunrealtype[]){0.0, 0.0, 0.1, 0.0, 0.0, 1.0});
    CPMech mech             = create_mech(&model, y, test_context);
    CPIntegrator one        = CPIntegratorCreate("DOP853", test_context);
    sunrealtype t;
    ck_assert_int_eq(CPMechAttach(mech, one, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(one, 1e-3, 1e-3), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetStopTime(one, 1.4), CP_SUCCESS);
    ck_assert_int_ge(CPIntegratorEvolve(one, 1.4, y, &t, CV_NORMAL), 0);
    ck_assert_double_eq_tol(entries(y)[2], 1.5, 1e-3);
    CPObjectGetStat(CP_OBJECT(one), "rhs_evals", &evaluations[regular]);
    CPObjectGetStat(CP_OBJECT(one), "step_attempts", &attempts);
    CPIntegratorFree(&one);
    CPMechFree(&mech);
    N_VDestroy(y);
  }
  SUNMatDestroy(M);
  ck_assert_double_le(evaluations[1], 12 * attempts + 2);
  ck_assert_double_gt(evaluations[0], evaluations[1] + 10);
}
END_TEST

TEST_SUITE(onestep) {
  Suite *suite = suite_create("mechanical systems in one-step methods");
  TCase *tc    = tcase_create("all");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, every_mechanism_moves_as_with_bdf, 0, SYSTEMS * METHODS);
  tcase_add_loop_test(tc, states_accelerations_and_multipliers_are_of_the_order_of_radau, 0, 4);
  tcase_add_test(tc, metric_and_iteration_matrix_are_those_of_the_method);
  tcase_add_loop_test(tc, the_iteration_matrix_is_the_structured_one, 0, 2);
  tcase_add_loop_test(tc, attaching_again_is_a_new_start, 0, METHODS);
  tcase_add_loop_test(tc, steps_however_long_stay_on_the_manifold, FIRST_RADAU, METHODS);
  tcase_add_test(tc, one_integrator_at_a_time);
  tcase_add_test(tc, an_integrator_with_a_right_hand_side_is_refused);
  tcase_add_loop_test(tc, user_data_belongs_to_the_mechanism, 0, METHODS);
  tcase_add_loop_test(tc, a_mechanism_that_is_freed_first_is_missed, 0, METHODS);
  tcase_add_loop_test(tc, a_function_that_fails_is_named_and_the_state_is_the_last_good_one, 0,
                      2 * METHODS);
  tcase_add_loop_test(tc, the_violation_that_remains_is_bounded, 0, 5);
  tcase_add_loop_test(tc, steps_of_implicit_methods_do_not_depend_on_stiffness, 1, METHODS);
  tcase_add_loop_test(tc, errors_of_velocities_are_weighted_with_the_time_scale, 0, 2);
  tcase_add_loop_test(tc, rows_are_switched_between_steps_without_a_restart, 0, METHODS);
  tcase_add_loop_test(tc, prescribed_motions_are_followed, 0, 3 * METHODS);
  tcase_add_loop_test(tc, units_of_length_do_not_make_rows_lose_their_gradients, 0, 4);
  tcase_add_loop_test(tc, sparse_matrices_are_projected_in_the_metric_of_dense_ones, 0, 2);
  tcase_add_loop_test(tc, partial_derivatives_that_are_grossly_wrong_do_not_pass_unnoticed, 0,
                      30 * METHODS);
  tcase_add_loop_test(tc, right_partial_derivatives_that_are_hidden_by_roundoff_are_not_refused, 0,
                      METHODS * 3);
  tcase_add_loop_test(tc, a_damper_that_vanishes_within_a_step_is_seen, 0, 5 * METHODS);
  tcase_add_loop_test(tc, runs_after_a_restart_are_those_of_a_new_integrator, 0, METHODS);
  tcase_add_test(tc, stages_are_computed_once_where_rows_are_regular);
  suite_add_tcase(suite, tc);
  return suite;
}
