/* Sensitivities of mechanical systems: right-hand sides, adjoints and runs of every model of
 * examples/models. */
#include "mechanics/systems.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <string.h>

/* ---- parameters ---- */

/* count parameters from p on; moving: one that does not move the constraints */
typedef struct {
  sunrealtype *p;
  int count, moving;
} Parameters;

static sunrealtype nothing = 1.0; /* a parameter on which nothing depends */

static Parameters parameters_of(System *s, SystemName name) {
  switch (name) {
  case PENDULUM: return (Parameters){&s->is.pendulum.L, 2, 1};
  case SLIDER_CRANK: return (Parameters){&s->is.slider_crank.a, 8, 4};
  case CAR_AXIS: return (Parameters){&s->is.car_axis.L, 7, 3};
  case FOUR_BAR:
  case FOUR_BAR_SPARSE: return (Parameters){&s->four_bar->g, 1, 0};
  case KNIFE_EDGE: return (Parameters){&s->is.knife_edge.g, 2, 1};
  case BODIES:
  case BODIES_IN_SPACE: return (Parameters){&s->is.bodies.body[0].m, 4, 1};
  case SPATIAL_LOOP: return (Parameters){&s->is.loop.body[0].m, 4, 0};
  case OPERATORS_CHAIN: return (Parameters){&s->chain->g, 1, 0};
  case BENDING_CHAIN: return (Parameters){&s->bending->k, 2, 0};
  case BUSHING_CRANK: return (Parameters){&s->is.bushing.K, 2, 0};
  case FLEXIBLE_CRANK: return (Parameters){&s->is.flexible.damping, 1, 0};
  default: return (Parameters){&nothing, 1, 0};
  }
}

/* ---- one state ---- */

typedef struct {
  System *s;
  Parameters par;
  sunrealtype size[8];
  CPParameters parameters;
  N_Vector along, adot, l, ldot, q, ref;
  unsigned long long seed;
} State;

static void setup(State *w, SystemName name) {
  memset(w, 0, sizeof *w);
  w->s   = system_create(name);
  w->par = parameters_of(w->s, name);
  for (int i = 0; i < w->par.count; i++) w->size[i] = fmax(fabs(w->par.p[i]), 0.1);
  w->parameters   = (CPParameters){CP_SIZED(CPParameters), .n = w->par.count, .values = w->par.p,
                                   .pbar = w->size};
  N_Vector *all[] = {&w->along, &w->adot, &w->l, &w->ldot, &w->ref};
  for (int k = 0; k < 5; k++) random_fill(*all[k] = vector_copy(w->s->y), &w->seed);
  w->q = vector_of(w->par.count, NULL);
  /* dependent rows have solutions for tangential directions only */
  CPProjector P = CPMechGetProjector(w->s->mech);
  ck_assert_int_eq(CPProjectorProjectVector(P, CP_TANGENT, w->s->t, w->s->y, w->s->ewt, w->along),
                   CP_SUCCESS);
}

static void teardown(State *w) {
  N_Vector all[] = {w->along, w->adot, w->l, w->ldot, w->ref, w->q};
  for (int k = 0; k < 6; k++) N_VDestroy(all[k]);
  system_free(&w->s);
}

/* The derivative of y' and of the multipliers along s and parameter i */
static int jvp(State *w, int i, N_Vector s, N_Vector sdot, sunrealtype *lambda) {
  sunrealtype dp[8] = {0};
  if (i >= 0) dp[i] = 1.0;
  return CPMechJvp(w->s->mech, w->s->t, w->s->y, &w->parameters, s, i >= 0 ? dp : NULL, sdot,
                   lambda);
}

/* u' and lambda by CPMechAccelerations; q' is N u */
static void right_hand_side(State *w, N_Vector y, N_Vector ydot) {
  System *s = w->s;
  system_N(s, entries(y), entries(y) + s->nq, entries(ydot));
  ck_assert_msg(CPMechAccelerations(s->mech, s->t, y, entries(ydot) + s->nq, NULL) == CP_SUCCESS,
                "%s: %s", s->name, CPObjectGetLastMessage(CP_OBJECT(s->mech)));
}

/* Differences of sixth order of the whole public right-hand side, along (s, e_i). */
static void differences(State *w, int i, N_Vector result) {
  const sunrealtype e = 2.0e-3 * fmin(1.0, w->size[i]);
  N_Vector y = vector_copy(w->s->y), ydot = vector_copy(y);
  const sunrealtype kept = w->par.p[i];
  N_VConst(0.0, result);
  for (int k = -3; k <= 3; k++) {
    if (k == 0) continue;
    w->par.p[i] = kept + k * e;
    N_VLinearSum(1.0, w->s->y, k * e, w->along, y);
    right_hand_side(w, y, ydot);
    N_VLinearSum(1.0, result, sixth_order(k) / e, ydot, result);
  }
  w->par.p[i] = kept;
  N_VDestroy(y);
  N_VDestroy(ydot);
}

/* Two formulas of sixth order, with their own steps and directions, agree to about 1e-12 times the
 * size of u', which is up to some thousand here; only for models without z. */
START_TEST(the_right_hand_side_is_the_derivative_of_the_accelerations) {
  State w;
  setup(&w, (SystemName)_i);
  for (int i = 0; i < w.par.count && w.s->nq + w.s->nu == w.s->n && !w.s->redundant; i++) {
    differences(&w, i, w.ref);
    ck_assert_int_eq(jvp(&w, i, w.along, w.adot, NULL), CP_SUCCESS);
    const sunrealtype bound = 1.0e-8 * (1.0 + N_VMaxNorm(w.ref));
    ck_assert_msg(max_distance(w.adot, w.ref) <= bound, "%s, parameter %d: off by %g of %g",
                  w.s->name, i, max_distance(w.adot, w.ref), N_VMaxNorm(w.ref));
  }
  teardown(&w);
}
END_TEST

/* The same for u' and the multipliers; with quaternions and operators these are the library's own
 * differences. */
START_TEST(accelerations_and_multipliers_have_their_derivatives) {
  sunrealtype value[1024], sum[1024], result[1024];
  State w;
  setup(&w, (SystemName)_i);
  System *s    = w.s;
  const int nu = (int)s->nu, count = nu + (int)CPMechGetNumMultipliers(s->mech);
  N_Vector y = vector_copy(s->y);
  ck_assert_int_le(count, 1024);
  for (int i = 0; i < w.par.count && s->nq + s->nu == s->n && !s->redundant; i++) {
    const sunrealtype e = 2.0e-3 * fmin(1.0, w.size[i]), kept = w.par.p[i];
    sunrealtype size = 1.0;
    memset(sum, 0, sizeof sum);
    for (int k = -3; k <= 3; k++) {
      if (k == 0) continue;
      w.par.p[i] = kept + k * e;
      N_VLinearSum(1.0, s->y, k * e, w.along, y);
      ck_assert_int_eq(CPMechAccelerations(s->mech, s->t, y, value, value + nu), CP_SUCCESS);
      for (int j = 0; j < count; j++) sum[j] += sixth_order(k) / e * value[j];
    }
    w.par.p[i] = kept;
    ck_assert_msg(jvp(&w, i, w.along, w.adot, result + nu) == CP_SUCCESS, "%s: %s", s->name,
                  CPObjectGetLastMessage(CP_OBJECT(s->mech)));
    memcpy(result, entries(w.adot) + s->nq, (size_t)nu * sizeof *result);
    for (int j = 0; j < count; j++) size = fmax(size, fabs(sum[j]));
    for (int j = 0; j < count; j++)
      ck_assert_msg(fabs(result[j] - sum[j]) <= 1.0e-8 * size, "%s, parameter %d, %d: %.12g, %.12g",
                    s->name, i, j, result[j], sum[j]);
  }
  N_VDestroy(y);
  teardown(&w);
}
END_TEST

/* l . (J s + df/dp) = (J^T l) . s + l . df/dp: transposed code against the code itself */
START_TEST(the_adjoint_is_the_transpose) {
  State w;
  setup(&w, (SystemName)_i);
  System *s      = w.s;
  const int flag = CPMechVjp(s->mech, s->t, s->y, &w.parameters, w.l, w.ldot, entries(w.q));
  if (_i == OPERATORS_CHAIN) {
    ck_assert_int_eq(flag, CP_NOT_SUPPORTED);
    teardown(&w);
    return;
  }
  ck_assert_int_eq(flag, CP_SUCCESS);
  for (int i = 0; i < w.par.count; i++) {
    ck_assert_int_eq(jvp(&w, i, w.along, w.adot, NULL), CP_SUCCESS);
    const sunrealtype forward = dot(w.l, w.adot), back = dot(w.ldot, w.along) + entries(w.q)[i];
    sunrealtype size = 1.0;
    for (int j = 0; j < s->n; j++)
      size += fabs(entries(w.l)[j] * entries(w.adot)[j]) +
              fabs(entries(w.ldot)[j] * entries(w.along)[j]);
    ck_assert_msg(fabs(forward - back) <= 1.0e-10 * size, "%s, parameter %d: %.12g, %.12g", s->name,
                  i, forward, back);
  }
  teardown(&w);
}
END_TEST

/* The derivative is linear in the direction of states and parameters, whose parts may be left out. */
START_TEST(products_are_linear_in_their_directions) {
  State w;
  setup(&w, (SystemName)_i);
  System *s = w.s;
  sunrealtype dp[8];
  const int m      = (int)CPMechGetNumMultipliers(s->mech);
  sunrealtype *all = calloc(2 * ((size_t)m + 1), sizeof *all), *lambda = all + m + 1;
  N_Vector sum = vector_copy(s->y), rest = vector_copy(s->y);
  N_VConst(0.0, rest);
  for (int i = 0; i < w.par.count; i++) dp[i] = w.size[i] * (1 + i);
  ck_assert_int_eq(jvp(&w, -1, w.along, sum, all), CP_SUCCESS);
  for (int i = 0; i < w.par.count; i++) {
    ck_assert_int_eq(jvp(&w, i, rest, w.adot, lambda), CP_SUCCESS);
    N_VLinearSum(1.0, sum, dp[i], w.adot, sum);
    for (int k = 0; k < m; k++) all[k] += dp[i] * lambda[k];
  }
  ck_assert_int_eq(CPMechJvp(s->mech, s->t, s->y, &w.parameters, w.along, dp, w.adot, lambda),
                   CP_SUCCESS);
  ck_assert_double_le(max_distance(w.adot, sum), 1.0e-8 * (1.0 + N_VMaxNorm(sum)));
  for (int k = 0; k < m && !s->redundant; k++)
    ck_assert_double_le(fabs(all[k] - lambda[k]), 1.0e-8 * (1.0 + N_VMaxNorm(sum) + fabs(all[k])));
  free(all);
  N_VDestroy(sum), N_VDestroy(rest);
  teardown(&w);
}
END_TEST

/* A changed parameter is detected, although state and time are the same. */
START_TEST(results_follow_the_parameters) {
  State w;
  setup(&w, PENDULUM);
  System *s = w.s;
  ck_assert_int_eq(jvp(&w, 0, w.along, w.adot, NULL), CP_SUCCESS);
  s->is.pendulum.L *= 2;
  ck_assert_int_eq(jvp(&w, 0, w.along, w.ref, NULL), CP_SUCCESS);
  ck_assert(entries(w.adot)[2] != entries(w.ref)[2]);
  ck_assert_int_eq(jvp(&w, -1, w.along, w.adot, NULL), CP_SUCCESS);
  s->is.pendulum.g *= 2;
  ck_assert_int_eq(jvp(&w, -1, w.along, w.ref, NULL), CP_SUCCESS);
  ck_assert(entries(w.adot)[2] != entries(w.ref)[2]);
  teardown(&w);
}
END_TEST

/* ---- whole runs ---- */

/* y at t1 with the present parameter; sens: its sensitivity to it, or NULL. Returns the number of
 * convergence failures of the sensitivity's nonlinear solver. */
static const char *const names[] = {"BDF", "ADAMS", "DOP853", "RADAU"};
enum { METHODS = sizeof names / sizeof *names };

static long int run(System *s, const char *method, sunrealtype tol, sunrealtype *p,
                    sunrealtype size, int control, N_Vector y, N_Vector sens) {
  const sunrealtype t1          = s->t + 0.05;
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = p, .pbar = &size};
  CPSens own                    = NULL;
  sunrealtype t;
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &s->log), CP_SUCCESS);
  ck_assert_msg(CPMechAttach(s->mech, mem, s->t, s->y) == CP_SUCCESS, "%s: %s", s->name,
                s->log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 100000), CP_SUCCESS);
  if (sens) {
    ck_assert_ptr_nonnull(own = CPSensCreate(&parameters, s->y, test_context));
    ck_assert_int_eq(CPSensSetErrCon(own, control), CP_SUCCESS);
    ck_assert_msg(CPIntegratorSetSens(mem, own) == CP_SUCCESS, "%s: %s", s->name, s->log.text);
  }
  int flag = CPIntegratorEvolve(mem, t1, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%s: %d, %s", s->name, flag, s->log.text);
  long int nfails = 0;
  void *cvode_mem = CPIntegratorGetCVodeMem(mem);
  if (sens && cvode_mem) CVodeGetSensNumNonlinSolvConvFails(cvode_mem, &nfails);
  if (sens) ck_assert_int_eq(CPSensGetDky(own, t, 0, &sens), CP_SUCCESS);
  CPIntegratorFree(&mem);
  CPSensFree(&own);
  return nfails;
}

/* Runs from the same start with the parameter changed by 1e-3 of its size: central differences are
 * accurate to 1e-6 of the third derivative, and to the errors of some steps, times tol / 1e-3. */
START_TEST(sensitivities_are_those_of_runs_side_by_side) {
  const SystemName name    = (SystemName)(_i / METHODS);
  const char *const method = names[_i % METHODS];
  /* Errors of runs of the stiff crank by Adams are up to 5e-6 at 1e-10, which in a difference
   * exceeds the bound. */
  const sunrealtype tol = name == FLEXIBLE_CRANK ? 1.0e-11 : 1.0e-10, part = 1.0e-3;
  if (name == OPERATORS_CHAIN && (!strcmp(method, "BDF") || !strcmp(method, "RADAU")))
    return; /* needs a linear solver of the user's */
  System *s            = system_create(name);
  const Parameters par = parameters_of(s, name);
  sunrealtype *p = par.p + par.moving, kept = *p;
  /* the crank's damping is 0 here, and its unit is 1: velocities of its vibrations have errors of
   * 1e-7 */
  const sunrealtype size = fmax(fabs(*p), name == FLEXIBLE_CRANK ? 1 : 0.1);
  N_Vector y = vector_copy(s->y), plus = vector_copy(y), minus = vector_copy(y),
           sens = vector_copy(y);
  run(s, method, tol, p, size, 1, y, sens);
  *p = kept + part * size;
  run(s, method, tol, p, size, 1, plus, NULL);
  *p = kept - part * size;
  run(s, method, tol, p, size, 1, minus, NULL);
  *p = kept;
  N_VLinearSum(0.5 / (part * size), plus, -0.5 / (part * size), minus, plus);
  const sunrealtype bound = 1.0e-4 * N_VMaxNorm(sens) + 1.0e-5 / size;
  ck_assert_msg(max_distance(plus, sens) <= bound, "%s: off by %g of %g", s->name,
                max_distance(plus, sens), N_VMaxNorm(sens));
  N_VDestroy(y);
  N_VDestroy(plus);
  N_VDestroy(minus);
  N_VDestroy(sens);
  system_free(&s);
}
END_TEST

/* Unless the fixed-point iteration of the sensitivities fails, for which Adams repeats steps of the
 * stiff systems. */
START_TEST(without_error_control_states_are_the_same_to_the_last_bit) {
  const SystemName name    = (SystemName)(_i / METHODS);
  const char *const method = names[_i % METHODS];
  const int stiff          = name == BUSHING_CRANK || name == FLEXIBLE_CRANK;
  if (name == OPERATORS_CHAIN && (!strcmp(method, "BDF") || !strcmp(method, "RADAU"))) return;
  System *s            = system_create(name);
  const Parameters par = parameters_of(s, name);
  sunrealtype *p = par.p + par.moving, size = fmax(fabs(*p), 0.1);
  N_Vector alone = vector_copy(s->y), y = vector_copy(s->y), sens = vector_copy(s->y);
  run(s, method, 1.0e-6, p, size, 0, alone, NULL);
  const long int nfails = run(s, method, 1.0e-6, p, size, 0, y, sens);
  ck_assert_int_eq(nfails > 0, stiff && !strcmp(method, "ADAMS"));
  ck_assert_msg(nfails > 0 || same_bits(alone, y), "%s: off by %g", s->name, max_distance(alone, y));
  N_VDestroy(alone);
  N_VDestroy(y);
  N_VDestroy(sens);
  system_free(&s);
}
END_TEST

/* ---- derivatives by the user ---- */

static const char *broken; /* which entry is wrong */

/* pendulum_model: (x'', y'') + lambda (x, y)/L = (0, -g), p = (x^2 + y^2 - L^2)/(2 L) */
static int pendulum_parameters(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                               const sunrealtype *z, const sunrealtype *udot,
                               const sunrealtype *lambda, int iS, sunrealtype *Fp, sunrealtype *Bp,
                               sunrealtype *pp, sunrealtype *vp, sunrealtype *Zp, void *user_data) {
  const Pendulum *pendulum = user_data;
  const sunrealtype L2     = pendulum->L * pendulum->L;
  (void)t, (void)z;
  ck_assert_ptr_null(Zp);
  if (iS == 1) {
    Fp[1] = -1.0;
    return 0;
  }
  Fp[0] = lambda[0] * q[0] / L2;
  Fp[1] = lambda[0] * q[1] / L2;
  Bp[0] = (u[0] * u[0] + u[1] * u[1] + q[0] * udot[0] + q[1] * udot[1]) / L2;
  pp[0] = -(q[0] * q[0] + q[1] * q[1]) / (2.0 * L2) - 0.5;
  vp[0] = -(q[0] * u[0] + q[1] * u[1]) / L2;
  if (!strcmp(broken, "Fp")) Fp[1] *= 1.001;
  if (!strcmp(broken, "Bp")) Bp[0] += 1.0;
  if (!strcmp(broken, "pp")) pp[0] *= -1.0;
  if (!strcmp(broken, "vp")) vp[0] += 1.0e-3;
  if (!strcmp(broken, "NaN")) Fp[1] = NAN;
  return strcmp(broken, "failure") ? 0 : -1;
}

/* The derivatives of u' and lambda to parameter 0: a [3] */
static int accelerations(State *w, sunrealtype *a) {
  const int flag = jvp(w, 0, w->along, w->adot, a + 2);
  memcpy(a, entries(w->adot) + 2, 2 * sizeof *a);
  return flag;
}

static int with_parameters(const char *which, State *w, sunrealtype *a) {
  broken = which;
  setup(w, PENDULUM);
  ck_assert_int_eq(CPMechSetParamPartialsFn(w->s->mech, pendulum_parameters), CP_SUCCESS);
  return accelerations(w, a);
}

START_TEST(derivatives_by_the_user_are_those_by_differences) {
  State w;
  sunrealtype a[3], b[3];
  ck_assert_int_eq(with_parameters("nothing", &w, a), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetParamPartialsFn(w.s->mech, NULL), CP_SUCCESS);
  ck_assert_int_eq(accelerations(&w, b), CP_SUCCESS);
  for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(a[i], b[i], 1.0e-9 * (1 + fabs(b[i])));
  teardown(&w);
}
END_TEST

START_TEST(wrong_derivatives_are_named) {
  const char *parts[] = {"Fp", "Bp", "pp", "vp"};
  State w;
  sunrealtype a[3];
  ck_assert_int_eq(with_parameters(parts[_i], &w, a), CP_MECH_DERIV_WRONG);
  ck_assert_mentions(w.s->log.text, parts[_i]);
  ck_assert_mentions(w.s->log.text, "parameter 0");
  teardown(&w);
}
END_TEST

START_TEST(failing_derivatives_are_named) {
  State w;
  sunrealtype a[3];
  ck_assert_int_eq(with_parameters("failure", &w, a), CP_USERFUNC_FAIL);
  ck_assert_mentions(w.s->log.text, "parameter derivatives");
  teardown(&w);
}
END_TEST

START_TEST(derivatives_that_are_not_finite_are_named) {
  State w;
  sunrealtype a[3];
  ck_assert_int_eq(with_parameters("NaN", &w, a), CP_MECH_NONFINITE);
  ck_assert_mentions(w.s->log.text, "parameter derivatives");
  teardown(&w);
}
END_TEST

/* A mass on a spring that a motor's force z pulls: u' = -k q + z, z' = -z. There are no
 * constraints. */
static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *k) {
  (void)t, (void)q, (void)k;
  SUNDenseMatrix_Data(M)[0] = 1.0;
  return 0;
}
static int spring(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *k) {
  (void)t, (void)u;
  f[0] = z[0] - *(sunrealtype *)k * q[0];
  return 0;
}
static int motor(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 const sunrealtype *lambda, sunrealtype *zdot, void *k) {
  (void)t, (void)q, (void)u, (void)lambda, (void)k;
  zdot[0] = -z[0];
  return 0;
}
static int spring_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                      const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                      SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *k) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)C;
  SUNDenseMatrix_Data(K)[0]  = -*(sunrealtype *)k;
  SUNDenseMatrix_Data(Fz)[0] = 1.0;
  return 0;
}
static int motor_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                     const sunrealtype *lambda, SUNMatrix Zq, SUNMatrix Zu, SUNMatrix Zz, void *k) {
  (void)t, (void)q, (void)u, (void)z, (void)lambda, (void)Zq, (void)Zu, (void)k;
  SUNDenseMatrix_Data(Zz)[0] = -1.0;
  return 0;
}
static int spring_parameter(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, const sunrealtype *udot,
                            const sunrealtype *lambda, int iS, sunrealtype *Fp, sunrealtype *Bp,
                            sunrealtype *pp, sunrealtype *vp, sunrealtype *Zp, void *k) {
  (void)t, (void)u, (void)z, (void)udot, (void)lambda, (void)iS, (void)k;
  ck_assert(!Bp && !pp && !vp && Zp);
  Fp[0] = -q[0];
  return 0;
}

/* With and without the user's derivatives of z', with respect to the spring's constant, and of
 * both. */
START_TEST(without_constraints_the_derivatives_are_those_by_hand) {
  sunrealtype k           = 3.0;
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu            = 1,
                             .nz            = 1,
                             .M             = mass,
                             .f             = spring,
                             .zdot          = motor,
                             .dynamics_jac  = spring_jac,
                             .auxiliary_jac = _i & 1 ? motor_jac : NULL};
  N_Vector y = VECTOR(0.5, -1.0, 0.25), s = VECTOR(0.7, 0.2, -0.4), sdot = vector_copy(s);
  CPMech mech = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, &k), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetParamPartialsFn(mech, _i & 2 ? spring_parameter : NULL), CP_SUCCESS);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = &k};
  ck_assert_int_eq(CPMechJvp(mech, 0.0, y, &parameters, s, (sunrealtype[]){1.0}, sdot, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(entries(sdot)[0], 0.2, 1.0e-14);
  ck_assert_double_eq_tol(entries(sdot)[1], -3.0 * 0.7 - 0.4 - 0.5, 1.0e-9);
  ck_assert_double_eq_tol(entries(sdot)[2], 0.4, 1.0e-9);
  CPMechFree(&mech);
  N_VDestroy(y), N_VDestroy(s), N_VDestroy(sdot);
}
END_TEST

/* Many masses on springs, u' = -q, with the work z' = q . u; counts of evaluations */
enum { MASSES = 20 };
typedef struct {
  int leaves; /* udot_jac leaves u' to M and A */
  int rates, masses, udot_jacs;
} Counted;
static int unit_masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q;
  for (int i = 0; i < MASSES; i++) SM_ELEMENT_D(M, i, i) = 1;
  ((Counted *)data)->masses++;
  return 0;
}
static int springs(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *data) {
  (void)t, (void)u, (void)z, (void)data;
  for (int i = 0; i < MASSES; i++) f[i] = -q[i];
  return 0;
}
static int springs_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *udot, const sunrealtype *lambda,
                       SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)C, (void)Fz, (void)data;
  for (int i = 0; i < MASSES; i++) SM_ELEMENT_D(K, i, i) = -1;
  return 0;
}
static int springs_udot_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                            const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz,
                            void *data) {
  Counted *counted = data;
  counted->udot_jacs++;
  return counted->leaves ? 1 : springs_jac(t, q, u, z, NULL, NULL, Uq, Uu, Uz, data);
}
static int work(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *zdot, void *data) {
  (void)t, (void)z, (void)lambda;
  zdot[0] = 0;
  for (int i = 0; i < MASSES; i++) zdot[0] += q[i] * u[i];
  ((Counted *)data)->rates++;
  return 0;
}

/* A product takes six evaluations of the work's rate for q and six for u, not for each of them; an adjoint that the work does not
 * enter takes none of these. With udot_jac no M is formed, unless that leaves u' to M. */
START_TEST(works_and_known_accelerations_take_few_evaluations) {
  enum { N = 2 * MASSES + 1 };
  const int knows         = _i > 0;
  Counted counted         = {.leaves = _i == 2};
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu           = MASSES,
                             .nz           = 1,
                             .nquad        = 1,
                             .M            = unit_masses,
                             .f            = springs,
                             .zdot         = work,
                             .dynamics_jac = springs_jac,
                             .udot_jac     = knows ? springs_udot_jac : NULL};
  N_Vector y = vector_of(N, NULL), s = vector_of(N, NULL), l = vector_of(N, NULL),
           sdot = vector_of(N, NULL), Jl = vector_of(N, NULL);
  unsigned long long seed = 5;
  random_fill(y, &seed), random_fill(s, &seed), random_fill(l, &seed);
  CPMech mech          = create_mech(&model, y, test_context);
  const sunrealtype *q = entries(y), *u = q + MASSES, *sq = entries(s), *su = sq + MASSES;
  ck_assert_int_eq(CPMechSetUserData(mech, &counted), CP_SUCCESS);
  sunrealtype change = 0, *lw = &entries(l)[N - 1];
  for (int i = 0; i < MASSES; i++) change += sq[i] * u[i] + q[i] * su[i];

  ck_assert_int_eq(CPMechJvp(mech, 0, y, NULL, s, NULL, sdot, NULL), CP_SUCCESS);
  ck_assert_int_le(counted.rates, 14);
  if (knows) ck_assert_int_eq(counted.udot_jacs, 1);
  if (_i == 1) ck_assert_int_eq(counted.masses, 0);
  else ck_assert_int_gt(counted.masses, 0);
  for (int i = 0; i < MASSES; i++) {
    ck_assert_double_eq_tol(entries(sdot)[i], su[i], 1e-15);
    ck_assert_double_eq_tol(entries(sdot)[MASSES + i], -sq[i], 1e-15);
  }
  ck_assert_double_eq_tol(entries(sdot)[N - 1], change, 1e-11);

  for (int enters = 0; enters < 2; enters++) {
    counted.rates = 0;
    *lw           = enters;
    ck_assert_int_eq(CPMechVjp(mech, 0, y, NULL, l, Jl, NULL), CP_SUCCESS);
    if (!enters) ck_assert_int_le(counted.rates, 2);
    for (int i = 0; i < MASSES; i++) {
      const sunrealtype *lq = entries(l), *lu = lq + MASSES;
      ck_assert_double_eq_tol(entries(Jl)[i], -lu[i] + *lw * u[i], 1e-11);
      ck_assert_double_eq_tol(entries(Jl)[MASSES + i], lq[i] + *lw * q[i], 1e-11);
    }
  }
  CPMechFree(&mech);
  N_Vector all[] = {y, s, l, sdot, Jl};
  for (int k = 0; k < 5; k++) N_VDestroy(all[k]);
}
END_TEST

/* A drive moves the mass data[0] at the rate 1, q_0 = t, against a spring on another one: lambda = -m (g + q_1), and its power, the
 * quadrature, is the rate times lambda. */
static const sunrealtype gravity = 9.81, lifting_rate = 0.1194;
static int lifted_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = *(sunrealtype *)data;
  return 0;
}
static int lifted_weight(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, sunrealtype *f, void *data) {
  (void)t, (void)u, (void)z;
  f[0] = -*(sunrealtype *)data * (gravity + q[1]);
  return 0;
}
static int lifted_weight_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *z, const sunrealtype *udot,
                             const sunrealtype *lambda, SUNMatrix K, SUNMatrix C, SUNMatrix Fz,
                             void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)C, (void)Fz;
  SM_ELEMENT_D(K, 0, 1) = -*(sunrealtype *)data;
  return 0;
}
static int drive_matrix(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(A, 0, 0) = 1;
  return 0;
}
static int drive_motion(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)data;
  p[0] = q[0] - t;
  return 0;
}
static int no_curvature(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                        void *data) {
  (void)t, (void)q, (void)u, (void)data;
  b[0] = 0;
  return 0;
}
static int no_change(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *udot, SUNMatrix Bq, SUNMatrix Bu, void *data) {
  (void)t, (void)q, (void)u, (void)udot, (void)Bq, (void)Bu, (void)data;
  return 0;
}
static int drive_power(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, const sunrealtype *lambda, sunrealtype *zdot,
                       void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  zdot[0] = lifting_rate * lambda[0];
  return 0;
}

/* _i: masses of 1 kg to 1e9 kg. The derivative of the power is as exact in any unit: without roundoff but that of differences whose
 * increments are 1e-3 of the multiplier */
START_TEST(works_of_large_forces_have_their_derivatives) {
  sunrealtype m           = pow(1e3, _i);
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu             = 2,
                             .nz             = 1,
                             .nquad          = 1,
                             .np             = 1,
                             .nv             = 1,
                             .na             = 1,
                             .M              = lifted_mass,
                             .f              = lifted_weight,
                             .A              = drive_matrix,
                             .p              = drive_motion,
                             .b              = no_curvature,
                             .zdot           = drive_power,
                             .dynamics_jac   = lifted_weight_jac,
                             .constraint_jac = no_change};
  N_Vector y = vector_of(5, (sunrealtype[]){0, 0.5, 1, 0, 0}), s = vector_of(5, NULL),
           sdot           = vector_of(5, NULL);
  CPMech mech             = create_mech(&model, y, test_context);
  unsigned long long seed = 7;
  random_fill(s, &seed);
  ck_assert_int_eq(CPMechSetUserData(mech, &m), CP_SUCCESS);
  ck_assert_int_eq(CPMechJvp(mech, 0, y, NULL, s, NULL, sdot, NULL), CP_SUCCESS);
  const sunrealtype power = -lifting_rate * m * entries(s)[1];
  ck_assert_double_eq_tol(entries(sdot)[4] / power, 1, 1e-10);
  CPMechFree(&mech);
  N_VDestroy(y), N_VDestroy(s), N_VDestroy(sdot);
}
END_TEST

static int damped(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  const sunrealtype *p = data;
  (void)t, (void)z;
  f[0] = -p[0] * q[0] - p[1] * u[0];
  return 0;
}
static int unknown(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *udot, const sunrealtype *lambda, const sunrealtype *values,
                   int n, const int *plist, const CPMechColumns *columns, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)udot, (void)lambda, (void)values, (void)n, (void)plist,
      (void)columns, (void)data;
  return CP_PARAMETERS_UNKNOWN;
}

/* Where a model does not know its derivatives, those of all parameters are differences, and none is lost when another one is found. */
START_TEST(parameters_that_a_model_does_not_know_have_differences) {
  sunrealtype p[]         = {3, 0.4}, lfp[2];
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 1, .M = mass, .f = damped,
                             .parameters_jac = unknown};
  N_Vector y = VECTOR(0.5, -1), s = VECTOR(0, 0), l = VECTOR(0, 1), out = vector_copy(s);
  CPMech mech = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, p), CP_SUCCESS);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 2, .values = p};
  ck_assert_int_eq(CPMechJvp(mech, 0, y, &parameters, s, (sunrealtype[]){1, 3}, out, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(entries(out)[1], -0.5 + 3, 1e-11);
  for (int k = 0; k < 2; k++) {
    ck_assert_int_eq(CPMechVjp(mech, 0, y, &parameters, l, out, lfp), CP_SUCCESS);
    ck_assert_double_eq_tol(lfp[0], -0.5, 1e-11);
    ck_assert_double_eq_tol(lfp[1], 1, 1e-11);
  }
  CPMechFree(&mech);
  N_VDestroy(y), N_VDestroy(s), N_VDestroy(l), N_VDestroy(out);
}
END_TEST

/* The power of a force whose curve has a knot at u = 1, where its third derivative jumps, as an auxiliary state whose derivatives
 * are differences */
static int curve(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 const sunrealtype *lambda, sunrealtype *zdot, void *k) {
  (void)t, (void)q, (void)z, (void)lambda, (void)k;
  zdot[0] = pow(fmax(u[0] - 1.0, 0.0), 3);
  return 0;
}
START_TEST(differences_stay_near_the_knot_of_a_curve) {
  sunrealtype k           = 3.0;
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 1,      .nz = 1, .M = mass,
                             .f = spring,           .zdot = curve};
  N_Vector y = VECTOR(0.5, 1.002, 0.25), l = VECTOR(0.0, 0.0, 1.0), Jl = vector_copy(l);
  CPMech mech = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, &k), CP_SUCCESS);
  ck_assert_int_eq(CPMechVjp(mech, 0.0, y, NULL, l, Jl, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(entries(Jl)[1], 3 * 0.002 * 0.002, 1.0e-6);
  CPMechFree(&mech);
  N_VDestroy(y), N_VDestroy(l), N_VDestroy(Jl);
}
END_TEST

/* A force in steps of 1e-6, as of a table that was rounded: smaller increments than the first make its differences worse. */
static int rounded(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *k) {
  (void)t, (void)u, (void)z, (void)k;
  f[0] = round(1e6 * sin(q[0])) / 1e6;
  return 0;
}
START_TEST(differences_that_get_worse_are_not_taken) {
  sunrealtype k           = 3.0;
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 1, .M = mass, .f = rounded};
  for (int i = 0; i < 20; i++) {
    const sunrealtype q = 0.3 + 0.01 * i;
    N_Vector y = VECTOR(q, 0.0), s = VECTOR(1.0, 0.0), out = vector_copy(s);
    CPMech mech = create_mech(&model, y, test_context);
    ck_assert_int_eq(CPMechSetUserData(mech, &k), CP_SUCCESS);
    ck_assert_int_eq(CPMechJvp(mech, 0.0, y, NULL, s, NULL, out, NULL), CP_SUCCESS);
    /* The first increment, at least 9e-4, has errors of up to sum |w_k| 1e-6 / 9e-4. A finer one, whose estimate is less by chance,
     * has four times that; those of the finest ones are 64 times as large. */
    ck_assert_double_eq_tol(entries(out)[1], cos(q), 4 * 0.92 * 1e-6 / 9e-4);
    CPMechFree(&mech);
    N_VDestroy(y), N_VDestroy(s), N_VDestroy(out);
  }
}
END_TEST

/* Derivatives of z' alone are compared as well. */
START_TEST(derivatives_of_auxiliary_states_are_checked_alone) {
  sunrealtype k     = 3.0;
  CPEquations model = {
      CP_SIZED(CPEquations),     .nu = 1, .nz = 1, .M = mass, .f = spring, .zdot = motor,
      .auxiliary_jac = motor_jac};
  CPMechReport report = CP_INIT(CPMechReport);
  N_Vector y          = VECTOR(0.5, -1.0, 0.25);
  CPMech mech         = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPMechSetUserData(mech, &k), CP_SUCCESS);
  ck_assert_int_eq(CPMechCheck(mech, 0.0, y, &report), CP_SUCCESS);
  ck_assert_double_le(report.Zz, 1.0e-8);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* ---- wrong use ---- */

START_TEST(arguments_of_products_are_checked) {
  State w;
  setup(&w, PENDULUM);
  CPMech mech = w.s->mech;
  N_Vector y = w.s->y, shorter = vector_of(1, NULL);
  const sunrealtype t = w.s->t, dp[1] = {1.0};
  const CPParameters no   = {CP_SIZED(CPParameters), .n = 0, .values = w.par.p},
                     none = {CP_SIZED(CPParameters), .n = 1};
  sunrealtype lfp[1];
  ck_assert_int_eq(CPMechJvp(NULL, t, y, NULL, w.along, NULL, w.adot, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPMechVjp(NULL, t, y, NULL, w.l, w.ldot, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPMechSetParamPartialsFn(NULL, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPMechJvp(mech, t, y, NULL, w.along, dp, w.adot, NULL), CP_ILL_INPUT);
  ck_assert_mentions(w.s->log.text, "parameters");
  ck_assert_int_eq(CPMechVjp(mech, t, y, NULL, w.l, w.ldot, lfp), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechJvp(mech, t, y, &no, w.along, dp, w.adot, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechJvp(mech, t, y, &none, w.along, dp, w.adot, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechJvp(mech, t, y, NULL, shorter, NULL, w.adot, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechJvp(mech, t, y, NULL, NULL, NULL, w.adot, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechJvp(mech, t, shorter, NULL, w.along, NULL, w.adot, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechJvp(mech, t, y, NULL, w.along, NULL, shorter, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechVjp(mech, t, y, NULL, shorter, w.ldot, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechVjp(mech, t, y, NULL, w.l, shorter, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechJvp(mech, t, y, NULL, w.along, NULL, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechVjp(mech, t, y, NULL, w.l, NULL, NULL), CP_SUCCESS);
  N_VDestroy(shorter);
  teardown(&w);
}
END_TEST

/* The system has not been used before, so it has no workspace yet. */
START_TEST(the_adjoint_needs_no_integrator) {
  System *s   = system_create(PENDULUM);
  CPMech mech = create_mech(&s->model, s->y, test_context);
  N_Vector l = vector_copy(s->y), Jl = vector_copy(s->y), expected = vector_copy(s->y);
  ck_assert_int_eq(CPMechSetUserData(mech, s->user_data), CP_SUCCESS);
  ck_assert_int_eq(CPMechVjp(mech, s->t, s->y, NULL, l, Jl, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechVjp(s->mech, s->t, s->y, NULL, l, expected, NULL), CP_SUCCESS);
  ck_assert_double_le(max_distance(Jl, expected), 0.0);
  N_VDestroy(l), N_VDestroy(Jl), N_VDestroy(expected);
  CPMechFree(&mech);
  system_free(&s);
}
END_TEST

/* Its matrices are the user's, so that only u' needs f and the factors, whatever the number of products. */
START_TEST(a_state_is_evaluated_and_factored_once_for_all_products) {
  static const char *const counters[] = {"force_evals", "kkt_factorizations"};
  State w;
  setup(&w, BENDING_CHAIN);
  const CPObject mech = CP_OBJECT(w.s->mech);
  for (int k = 0; k < 4; k++) { /* the first product checks the derivatives of the parameters */
    sunrealtype before[2], after[2];
    if (k < 3) entries(w.s->y)[w.s->nq] += 1.0e-3;
    for (int i = 0; i < 2; i++)
      ck_assert_int_eq(CPObjectGetStat(mech, counters[i], &before[i]), CP_SUCCESS);
    ck_assert_int_eq(CPMechVjp(w.s->mech, w.s->t, w.s->y, &w.parameters, w.l, w.ldot, NULL), 0);
    ck_assert_int_eq(jvp(&w, -1, w.along, w.adot, NULL), CP_SUCCESS);
    for (int i = 0; i < 2; i++) {
      ck_assert_int_eq(CPObjectGetStat(mech, counters[i], &after[i]), CP_SUCCESS);
      if (k > 0) ck_assert_double_eq(after[i] - before[i], k < 3 ? 1.0 : 0.0);
    }
  }
  teardown(&w);
}
END_TEST

static int first_component(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = entries(y)[0];
  return 0;
}

/* The gradient of the mean of the first component at these times, by adjoints or forwards. Returns the evaluations of f. */
static sunrealtype mean_of_times(SystemName name, const char *method, int ntimes,
                                 CPGradientMode mode, sunrealtype *dG) {
  enum { MOST = 1000 };
  sunrealtype times[MOST], G, before, after;
  State w;
  setup(&w, name);
  System *s        = w.s;
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  for (int j = 0; j < ntimes; j++) times[j] = s->t + (j + 1.0) / ntimes;
  const CPFunctional F = {CP_SIZED(CPFunctional), .ng = 1, .end = first_component, .ntimes = ntimes,
                          .times = times};
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = 1.0e-7, .mode = mode};
  w.parameters.n                  = 1;
  w.parameters.plist              = &w.par.moving;
  N_Vector y0S                    = N_VClone(s->y);
  N_VConst(0.0, y0S);
  w.parameters.y0S = &y0S;
  ck_assert_int_eq(CPMechAttach(s->mech, mem, s->t, s->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-7, 1.0e-7), CP_SUCCESS);
  ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(s->mech), "force_evals", &before), CP_SUCCESS);
  ck_assert_msg(CPIntegratorGradient(mem, s->t + 1.0, &F, &w.parameters, &options, &G, dG, NULL) == 0,
                "%s, %s: %s", s->name, method, CPObjectGetLastMessage(CP_OBJECT(mem)));
  ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(s->mech), "force_evals", &after), CP_SUCCESS);
  dG[0] /= ntimes;
  N_VDestroy(y0S);
  CPIntegratorFree(&mem);
  teardown(&w);
  return after - before;
}

/* A thousand times within some twenty steps are taken together; if each ended a step of twelve stages, they would cost thirty times
 * as much as one. Forward sensitivities, which are interpolated, have the same gradient. */
START_TEST(a_thousand_times_cost_little_more_than_one) {
  static const char *const by[]    = {"BDF", "ADAMS", "DOP853", "RADAU"};
  static const SystemName system[] = {PENDULUM, KNIFE_EDGE};
  const SystemName name            = system[_i / 4];
  sunrealtype adjoint, forward, one;
  const sunrealtype few  = mean_of_times(name, by[_i % 4], 1, CP_GRADIENT_ADJOINT, &one),
                    many = mean_of_times(name, by[_i % 4], 1000, CP_GRADIENT_ADJOINT, &adjoint);
  mean_of_times(name, by[_i % 4], 1000, CP_GRADIENT_FORWARD, &forward);
  ck_assert_msg(many <= 4.0 * few, "%s: %g evaluations for 1000 times, %g for one", by[_i % 4],
                many, few);
  ck_assert_msg(fabs(adjoint - forward) <= 1.0e-6 * fmax(1.0, fabs(forward)), "%s: %.12g, %.12g",
                by[_i % 4], adjoint, forward);
}
END_TEST

/* The derivative of a quaternion may be zero, other than a quaternion. */
START_TEST(a_start_need_not_depend_on_parameters) {
  State w;
  setup(&w, BODIES);
  N_VConst(0.0, w.along);
  ck_assert_int_eq(jvp(&w, 0, w.along, w.adot, NULL), CP_SUCCESS);
  teardown(&w);
}
END_TEST

/* Products in between have parameters of their own. */
START_TEST(forward_sensitivities_keep_their_parameters) {
  State w;
  setup(&w, BODIES);
  System *s        = w.s;
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  CPSens sens      = NULL;
  sunrealtype t;
  N_Vector found[2][8];
  const CPParameters one = {CP_SIZED(CPParameters), .n = 1, .values = w.par.p + 1, .pbar = w.size};
  for (int k = 0; k < 2; k++) {
    mem = k ? CPIntegratorCreate("BDF", test_context) : mem;
    CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &s->log);
    ck_assert_int_eq(CPMechAttach(s->mech, mem, s->t, s->y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
    ck_assert_ptr_nonnull(sens = CPSensCreate(&w.parameters, s->y, test_context));
    ck_assert_int_eq(CPIntegratorSetSens(mem, sens), CP_SUCCESS);
    for (int i = 0; i < w.par.count; i++) found[k][i] = vector_copy(s->y);
    for (int n = 1; n <= 5; n++) {
      ck_assert_int_eq(CPIntegratorEvolve(mem, s->t + 1, w.ref, &t, CV_ONE_STEP), CP_SUCCESS);
      if (k) ck_assert_int_eq(CPMechJvp(s->mech, t, w.ref, &one, w.along, NULL, w.adot, NULL), 0);
      if (k) ck_assert_int_eq(CPMechVjp(s->mech, t, w.ref, &one, w.l, w.ldot, entries(w.q)), 0);
    }
    ck_assert_int_eq(CPSensGetDky(sens, t, 0, found[k]), CP_SUCCESS);
    CPIntegratorFree(&mem);
    CPSensFree(&sens);
  }
  for (int i = 0; i < w.par.count; i++) {
    ck_assert(same_bits(found[0][i], found[1][i]));
    N_VDestroy(found[0][i]), N_VDestroy(found[1][i]);
  }
  teardown(&w);
}
END_TEST

/* The reason is the system's. */
START_TEST(a_consistent_start_that_fails_is_named) {
  System *s        = system_create(PENDULUM);
  N_Vector v       = vector_copy(s->y);
  sunrealtype p[2] = {1, 9.81};
  broken           = "failure";
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &s->log);
  ck_assert_int_eq(CPMechAttach(s->mech, mem, s->t, s->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = p, .y0S = &v};
  CPSens sens                   = NULL;
  ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, s->y, test_context));
  ck_assert_int_eq(CPIntegratorSetSens(mem, sens), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetParamPartialsFn(s->mech, pendulum_parameters), CP_SUCCESS);
  ck_assert_int_eq(CPSensCalcIC(sens, NULL), CP_USERFUNC_FAIL);
  ck_assert_mentions(s->log.text, "parameter derivatives");
  CPIntegratorFree(&mem);
  CPSensFree(&sens);
  N_VDestroy(v);
  system_free(&s);
}
END_TEST

static int no_rows(sunrealtype t, N_Vector y, int iS, N_Vector cp, void *user_data) {
  (void)t, (void)y, (void)iS, (void)cp, (void)user_data;
  return 0;
}

START_TEST(constraints_of_a_system_are_its_own) {
  System *s        = system_create(PENDULUM);
  N_Vector v       = vector_copy(s->y);
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &s->log);
  ck_assert_int_eq(CPMechAttach(s->mech, mem, s->t, s->y), CP_SUCCESS);
  sunrealtype p                 = 1;
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = &p, .y0S = &v};
  CPSens sens                   = NULL;
  ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, s->y, test_context));
  ck_assert_int_eq(CPSensSetRhsFn(sens, NULL, no_rows), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetSens(mem, sens), CP_NOT_SUPPORTED);
  ck_assert_mentions(s->log.text, "CPMechSetParamPartialsFn");
  CPIntegratorFree(&mem);
  CPSensFree(&sens);
  N_VDestroy(v);
  system_free(&s);
}
END_TEST

TEST_SUITE(mechanics) {
  Suite *suite = suite_create("Sensitivities of mechanical systems");
  TCase *tc    = tcase_create("mechanics");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, the_right_hand_side_is_the_derivative_of_the_accelerations, 0, SYSTEMS);
  tcase_add_loop_test(tc, accelerations_and_multipliers_have_their_derivatives, 0, SYSTEMS);
  tcase_add_loop_test(tc, the_adjoint_is_the_transpose, 0, SYSTEMS);
  tcase_add_loop_test(tc, products_are_linear_in_their_directions, 0, SYSTEMS);
  tcase_add_test(tc, results_follow_the_parameters);
  tcase_add_loop_test(tc, sensitivities_are_those_of_runs_side_by_side, 0, METHODS * SYSTEMS);
  tcase_add_loop_test(tc, without_error_control_states_are_the_same_to_the_last_bit, 0,
                      METHODS * SYSTEMS);
  tcase_add_test(tc, derivatives_by_the_user_are_those_by_differences);
  tcase_add_loop_test(tc, wrong_derivatives_are_named, 0, 4);
  tcase_add_test(tc, failing_derivatives_are_named);
  tcase_add_test(tc, derivatives_that_are_not_finite_are_named);
  tcase_add_test(tc, differences_stay_near_the_knot_of_a_curve);
  tcase_add_test(tc, differences_that_get_worse_are_not_taken);
  tcase_add_loop_test(tc, without_constraints_the_derivatives_are_those_by_hand, 0, 4);
  tcase_add_loop_test(tc, works_and_known_accelerations_take_few_evaluations, 0, 3);
  tcase_add_loop_test(tc, works_of_large_forces_have_their_derivatives, 0, 4);
  tcase_add_test(tc, parameters_that_a_model_does_not_know_have_differences);
  tcase_add_test(tc, derivatives_of_auxiliary_states_are_checked_alone);
  tcase_add_test(tc, arguments_of_products_are_checked);
  tcase_add_test(tc, the_adjoint_needs_no_integrator);
  tcase_add_test(tc, a_state_is_evaluated_and_factored_once_for_all_products);
  tcase_add_loop_test(tc, a_thousand_times_cost_little_more_than_one, 0, 8);
  tcase_add_test(tc, a_start_need_not_depend_on_parameters);
  tcase_add_test(tc, forward_sensitivities_keep_their_parameters);
  tcase_add_test(tc, a_consistent_start_that_fails_is_named);
  tcase_add_test(tc, constraints_of_a_system_are_its_own);
  suite_add_tcase(suite, tc);
  return suite;
}
