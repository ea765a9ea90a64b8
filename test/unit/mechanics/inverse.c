/* Mechanisms by inverse dynamics: the same motions as by M, f and A, whatever else the model has; refusals,
 * failures, memory.
 *
 *   M = [2, c, 0; c, 1.5, 0.1; 0, 0.1, 1], c = 0.3 cos q_0,   p = q_0^2 / 2 + q_1 - cos q_2 + 1,
 *   f = (-4 q_0 - u_0 u_1 + z, -q_1 - stiff (u_1 + q_1 - sin t), -q_2^3 + u_0), f_lambda = (-lambda u_0 / 10, 0, 0),
 *   z' = u_0 - z + lambda / 10
 *
 * Source: made up. */
#include <cpodes/cpodes_integrator.h>
#include <cpodes/mechanics/mech.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/counters.h>
#include <models/joint_loop.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "support/alloc.h"
#include "support/mech_run.h"
#include "support/support.h"

enum { NU = 3 };

typedef struct {
  sunrealtype stiff;
  sunrealtype quadratic; /* times a_0^2 is added to r_0: not an inverse dynamics */
  sunrealtype light;     /* subtracted from M_22 */
  int calls, fails,
      code; /* call number `fails` of inverse returns code; all later ones if code < 0 */
  int nan;  /* or, if set, a NaN in r_1 */
} Device;

static void massOf(const Device *d, const sunrealtype *q, sunrealtype M[NU][NU]) {
  const sunrealtype rows[NU][NU] = {
      {2.0, 0.3 * cos(q[0]), 0.0}, {0.3 * cos(q[0]), 1.5, 0.1}, {0.0, 0.1, 1.0 - d->light}};
  memcpy(M, rows, sizeof rows);
}

static int M(sunrealtype t, const sunrealtype *q, SUNMatrix S, void *data) {
  sunrealtype m[NU][NU];
  (void)t;
  massOf(data, q, m);
  for (int i = 0; i < NU; i++)
    for (int j = 0; j < NU; j++) SM_ELEMENT_D(S, i, j) = m[i][j];
  return 0;
}

static int Mu(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y, void *data) {
  sunrealtype m[NU][NU];
  (void)t;
  massOf(data, q, m);
  for (int i = 0; i < NU; i++)
    for (int j = 0; j < NU; j++) y[i] += m[i][j] * x[j];
  return 0;
}

static int f(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
             sunrealtype *F, void *data) {
  const Device *d = data;
  F[0]            = -4.0 * q[0] - u[0] * u[1] + (z ? z[0] : 0.0);
  F[1]            = -q[1] - d->stiff * (u[1] + q[1] - sin(t));
  F[2]            = -q[2] * q[2] * q[2] + u[0];
  return 0;
}

static int inverse(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *a, sunrealtype *r, void *data) {
  Device *d = data;
  sunrealtype F[NU];
  d->calls++;
  if (d->fails && (d->calls == d->fails || (d->calls > d->fails && d->code < 0))) {
    r[1] = d->nan ? NAN : 0.0;
    return d->nan ? 0 : d->code;
  }
  Mu(t, q, a, r, d);
  f(t, q, u, z, F, d);
  for (int i = 0; i < NU; i++) r[i] -= F[i];
  r[0] += d->quadratic * a[0] * a[0];
  return 0;
}

static int inverse_without_z(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                             const sunrealtype *z, const sunrealtype *a, sunrealtype *r, void *data) {
  (void)z;
  return inverse(t, q, u, NULL, a, r, data);
}

static int f_without_z(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *F, void *data) {
  (void)z;
  return f(t, q, u, NULL, F, data);
}

static int f_lambda(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *F, void *data) {
  (void)t, (void)q, (void)z, (void)data;
  F[0] = -0.1 * lambda[0] * u[0];
  return 0;
}

static int zdot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *zd, void *data) {
  (void)t, (void)q, (void)data;
  zd[0] = u[0] - z[0] + 0.1 * lambda[0];
  return 0;
}

static int p(sunrealtype t, const sunrealtype *q, sunrealtype *r, void *data) {
  (void)t, (void)data;
  r[0] = 0.5 * q[0] * q[0] + q[1] - cos(q[2]) + 1.0;
  return 0;
}

static int Au(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y, void *data) {
  (void)t, (void)data;
  y[0] = q[0] * x[0] + x[1] + sin(q[2]) * x[2];
  return 0;
}

static int ATl(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
               void *data) {
  (void)t, (void)data;
  y[0] = q[0] * x[0], y[1] = x[0], y[2] = sin(q[2]) * x[0];
  return 0;
}

static int A(sunrealtype t, const sunrealtype *q, SUNMatrix S, void *data) {
  (void)t, (void)data;
  SM_ELEMENT_D(S, 0, 0) = q[0], SM_ELEMENT_D(S, 0, 1) = 1.0, SM_ELEMENT_D(S, 0, 2) = sin(q[2]);
  return 0;
}

static int v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *r, void *data) {
  return Au(t, q, u, r, data);
}

static int b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *r, void *data) {
  (void)t, (void)data;
  r[0] = -u[0] * u[0] - cos(q[2]) * u[2] * u[2];
  return 0;
}

/* ---- the models: each feature by matrices and by inverse ---- */

enum { PLAIN, WITH_M, WITH_A, WITH_MU, NO_B, WITH_Z, DIRECT, RATE, FULL, SWITCHED, FEATURES };

static Device device;
static N_Vector y;
static MessageLog messages;

static int has_z(int feature) { return feature == WITH_Z; }

static CPEquations model_of(int feature, int by_inverse) {
  CPEquations m = {CP_SIZED(CPEquations),          .nu = NU, .np = 1, .p = p, .v = v,
                   .b = feature == NO_B ? NULL : b};
  if (has_z(feature)) m.nz = 1, m.zdot = zdot, m.f_lambda = f_lambda, m.Mu = by_inverse ? Mu : NULL;
  if (!by_inverse) {
    m.M = M, m.A = A, m.f = has_z(feature) ? f : f_without_z;
    return m;
  }
  m.inverse = has_z(feature) ? inverse : inverse_without_z;
  m.M       = feature == WITH_M ? M : NULL;
  m.Mu      = feature == WITH_MU || has_z(feature) ? Mu : NULL;
  if (feature == WITH_A) m.A = A;
  else m.Au = Au, m.ATl = ATl;
  return m;
}

static int drive(sunrealtype t, sunrealtype *g, void *data) {
  *g = *(sunrealtype *)data + 0.1 * sin(2.0 * t);
  return 0;
}

static CPMech create(int feature, int by_inverse) {
  static sunrealtype start;
  const int driven  = feature >= DIRECT && feature <= FULL;
  CPEquations model = model_of(feature, by_inverse);
  const CPMotion by = {.coordinate = 2,
                       .kind       = (CPMotionKind)(feature - DIRECT),
                       .g          = drive,
                       .step       = 1.0e-2,
                       .data       = &start};
  if (driven) model.motions = &by, model.nmotions = 1;
  const sunrealtype q0 = 0.6, q2 = 0.8, u0 = 0.4, u2 = driven ? 0.2 : -0.3;
  start             = q2;
  sunrealtype y0[7] = {q0, cos(q2) - 1.0 - 0.5 * q0 * q0, q2, u0, -q0 * u0 - sin(q2) * u2, u2, 0.5};
  y                 = vector_of(2 * NU + has_z(feature), y0);
  CPMech mech       = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, &device), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  if (feature == SWITCHED) ck_assert_int_eq(CPMechSetActive(mech, (int[]){0}), CP_SUCCESS);
  return mech;
}

static void setup(void) {
  test_context_setup();
  device   = (Device){.stiff = 3.0};
  messages = (MessageLog){0};
}

static void destroy(CPMech *mech) {
  CPMechFree(mech);
  N_VDestroy(y);
}

/* ---- values at one state ---- */

/* M by differences of r is accurate to roundoff of r at rest, and u' loses the condition of the matrices, below
 * 100. */
#define ROUNDED 1.0e-12

START_TEST(accelerations_are_those_of_the_matrices) {
  sunrealtype udot[2][NU], lambda[2][2] = {{0}};
  for (int k = 0; k < 2; k++) {
    CPMech mech = create(_i, k);
    ck_assert_int_eq(CPMechAccelerations(mech, 0.3, y, udot[k], lambda[k]), CP_SUCCESS);
    destroy(&mech);
  }
  for (int j = 0; j < NU; j++) ck_assert_double_eq_tol(udot[0][j], udot[1][j], ROUNDED);
  for (int i = 0; i < 2; i++) ck_assert_double_eq_tol(lambda[0][i], lambda[1][i], ROUNDED);
}
END_TEST

/* With quadratic, r(a) - r(0) is not M a: named by its part of r_0. */
START_TEST(check_compares_inverse_with_M) {
  CPMechReport report = CP_INIT(CPMechReport);
  CPMech mech         = create(_i, 1);
  ck_assert_msg(CPMechCheck(mech, 0.3, y, &report) == CP_SUCCESS, "%s", messages.text);
  ck_assert_double_le(report.inverse, ROUNDED);
  ck_assert_double_le(report.A_p, 1.0e-8);
  device.quadratic = 0.1;
  ck_assert_int_eq(CPMechCheck(mech, 0.3, y, &report), CP_MECH_DERIV_WRONG);
  ck_assert_mentions(messages.text, "inverse: of the difference");
  destroy(&mech);
}
END_TEST

/* ---- motions ---- */

typedef struct {
  int flag;
  sunrealtype t;
  MechCounters stats;
} Outcome;

static Outcome integrate(CPMech mech, const char *method, sunrealtype tol, sunrealtype t_end) {
  Outcome out       = {0};
  const int one     = strcmp(method, "BDF") != 0;
  CPIntegrator mem  = one ? NULL : CPIntegratorCreate("BDF", test_context);
  CPIntegrator step = one ? CPIntegratorCreate(method, test_context) : NULL;
  if (one) {
    CPObjectSetErrHandlerFn(CP_OBJECT(step), message_log, &messages);
    out.flag = CPMechAttach(mech, step, 0.0, y);
    if (!out.flag) out.flag = CPIntegratorSStolerances(step, tol, tol);
    if (!out.flag) out.flag = CPIntegratorEvolve(step, t_end, y, &out.t, CV_NORMAL);
  } else {
    CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages);
    out.flag = CPMechAttach(mech, mem, 0.0, y);
    if (!out.flag) out.flag = CPIntegratorSStolerances(mem, tol, tol);
    if (!out.flag) out.flag = CPIntegratorEvolve(mem, t_end, y, &out.t, CV_NORMAL);
  }
  mech_counters(mech, &out.stats);
  CPIntegratorFree(&mem);
  CPIntegratorFree(&step);
  return out;
}

static const char *const methods[] = {"DOP853", "RADAU", "BDF"};
enum { METHODS = sizeof methods / sizeof methods[0] };
#define T_END 2.0

/* By matrices and DOP853 at a tolerance of 1e-12. An error of a step grows at most by exp(L t) with L = 2 for the
 * equations above, and DOP853, RADAU and BDF take at most 400 steps. */
START_TEST(motions_are_those_of_the_matrices) {
  const int feature     = _i % FEATURES;
  const char *method    = methods[_i / FEATURES];
  const sunrealtype tol = 1.0e-8, bound = 400.0 * tol * exp(2.0 * T_END);
  CPMech mech = create(feature, 0);
  ck_assert_int_eq(integrate(mech, "DOP853", 1.0e-12, T_END).flag, CP_SUCCESS);
  N_Vector reference = vector_copy(y);
  destroy(&mech);
  mech              = create(feature, 1);
  const Outcome out = integrate(mech, method, tol, T_END);
  ck_assert_msg(out.flag == CP_SUCCESS, "%s", messages.text);
  ck_assert_double_le(max_distance(y, reference), bound);
  N_VDestroy(reference);
  destroy(&mech);
}
END_TEST

/* As robots that hold nothing: neither A nor multipliers. */
START_TEST(motions_without_constraints_are_those_of_the_matrices) {
  const sunrealtype tol = 1.0e-8, bound = 400.0 * tol * exp(2.0 * T_END);
  N_Vector reference = NULL;
  for (int k = 0; k < 2; k++) {
    const CPEquations model =
        k ? (CPEquations){CP_SIZED(CPEquations), .nu = NU, .inverse = inverse_without_z}
          : (CPEquations){CP_SIZED(CPEquations), .nu = NU, .M = M, .f = f_without_z};
    y           = vector_of(2 * NU, (sunrealtype[]){0.6, 0.1, 0.8, 0.4, -0.2, -0.3});
    CPMech mech = create_mech(&model, y, test_context);
    ck_assert_ptr_nonnull(mech);
    ck_assert_int_eq(CPMechSetUserData(mech, &device), CP_SUCCESS);
    const Outcome out = integrate(mech, k ? methods[_i] : "DOP853", k ? tol : 1.0e-12, T_END);
    ck_assert_msg(out.flag == CP_SUCCESS, "%s", messages.text);
    if (k) ck_assert_double_le(max_distance(y, reference), bound);
    else reference = vector_copy(y);
    destroy(&mech);
  }
  N_VDestroy(reference);
}
END_TEST

/* Residuals need neither M nor factors: these are formed for Newton's matrices and for starts only. */
START_TEST(residuals_take_no_matrices) {
  device.stiff      = 1.0e4;
  CPMech mech       = create(PLAIN, 1);
  const Outcome out = integrate(mech, "RADAU", 1.0e-6, T_END);
  ck_assert_int_eq(out.flag, CP_SUCCESS);
  ck_assert_int_le(out.stats.nM, out.stats.npartials + 4);
  ck_assert_int_le(out.stats.nkkt, 2);
  ck_assert_int_gt(out.stats.nf, 3 * out.stats.nM);
  destroy(&mech);
}
END_TEST

/* BDF computes u' as accurately as its iteration needs, by recursions with kept factors: the steps of the
 * matrices, up to roundoff that decides between step sizes, and factors for a few evaluations. */
START_TEST(bdf_keeps_factors_of_accelerations) {
  MechCounters stats[2];
  long int steps[2];
  JointLoop *loop = joint_loop_create(_i ? 100 : 12);
  ck_assert_ptr_nonnull(loop);
  loop->k = 1.0, loop->d = 0.1;
  for (int k = 0; k < 2; k++) {
    CPEquations model = joint_loop_model(loop, k ? JOINT_LOOP_INVERSE : JOINT_LOOP_MATRICES);
    if (_i) model.M = joint_loop_model(loop, JOINT_LOOP_MATRICES).M;
    y = vector_of(2 * loop->n, NULL);
    joint_loop_guess(loop, y);
    CPMech mech      = create_mech(&model, y, test_context);
    CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
    sunrealtype t;
    ck_assert_int_eq(CPMechSetUserData(mech, loop), CP_SUCCESS);
    ck_assert_int_eq(CPMechCalcIC(mech, 0.0, y, NULL, NULL, NULL, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-5, 1.0e-5), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, _i ? 0.01 : 0.3, y, &t, CV_NORMAL), CP_SUCCESS);
    CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps[k]);
    mech_counters(mech, &stats[k]);
    CPIntegratorFree(&mem);
    destroy(&mech);
  }
  ck_assert_int_le(labs(steps[1] - steps[0]), steps[0] / 10);
  ck_assert_int_le(stats[1].nkkt, stats[1].nudot / 3);
  ck_assert_int_le(stats[1].nf, stats[1].nudot * loop->n);
  joint_loop_free(&loop);
}
END_TEST

START_TEST(a_restart_repeats_the_run_to_the_last_bit) {
  CPMech mech    = create(_i, 1);
  N_Vector first = vector_copy(y), end = NULL;
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  sunrealtype t;
  for (int k = 0; k < 2; k++) {
    N_VScale(1.0, first, y);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorEvolve(mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
    if (k) ck_assert(same_bits(y, end));
    else end = vector_copy(y);
  }
  N_VDestroy(first);
  N_VDestroy(end);
  CPIntegratorFree(&mem);
  destroy(&mech);
}
END_TEST

/* A loop of 10 and of 11 rods in joint coordinates, M by composite bodies for the reference. */
START_TEST(a_loop_of_rods_moves_as_by_its_matrices) {
  JointLoop *loop       = joint_loop_create(10 + _i / METHODS);
  N_Vector reference    = NULL;
  const sunrealtype tol = 1.0e-7;
  ck_assert_ptr_nonnull(loop);
  loop->d = 0.01;
  for (int k = 0; k < 2; k++) {
    const CPEquations model = joint_loop_model(loop, k ? JOINT_LOOP_INVERSE : JOINT_LOOP_MATRICES);
    y                       = vector_of(2 * loop->n, NULL);
    joint_loop_guess(loop, y);
    CPMech mech = create_mech(&model, y, test_context);
    ck_assert_int_eq(CPMechSetUserData(mech, loop), CP_SUCCESS);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
    ck_assert_int_eq(CPMechCalcIC(mech, 0.0, y, NULL, NULL, NULL, NULL), CP_SUCCESS);
    const Outcome out =
        integrate(mech, k ? methods[_i % METHODS] : "DOP853", k ? tol : 1.0e-12, 0.1);
    ck_assert_msg(out.flag == CP_SUCCESS, "%s", messages.text);
    if (k) ck_assert_double_le(max_distance(y, reference), 200.0 * tol * 10.0);
    else reference = vector_copy(y);
    destroy(&mech);
  }
  N_VDestroy(reference);
  joint_loop_free(&loop);
}
END_TEST

/* ---- refusals ---- */

static int any_udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *a, sunrealtype *lambda, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)a, (void)lambda, (void)data;
  return 1;
}

START_TEST(wrong_combinations_are_named) {
  SUNMatrix sparse = SUNSparseMatrix(NU, NU, NU, CSC_MAT, test_context);
  for (int j = 0; j <= NU; j++) SUNSparseMatrix_IndexPointers(sparse)[j] = j;
  for (int j = 0; j < NU; j++) SUNSparseMatrix_IndexValues(sparse)[j] = j;
  CPEquations m[] = {model_of(PLAIN, 1), model_of(PLAIN, 1), model_of(PLAIN, 1), model_of(PLAIN, 1),
                     model_of(WITH_Z, 1)};
  static const char *const words[] = {"f must not be given with inverse", "either A, or Au and ATl",
                                      "Au and ATl must be given together", "sparse M_tmpl",
                                      "M or Mu must be given with inverse if nz > 0"};
  m[0].f = f, m[1].A = A, m[2].ATl = NULL, m[3].M_tmpl = sparse, m[4].Mu = NULL;
  y           = vector_of(2 * NU + (_i == 4), NULL);
  CPMech mech = create_mech(&m[_i], y, test_context);
  ck_assert_ptr_null(mech);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), words[_i]);
  N_VDestroy(y);
  SUNMatDestroy(sparse);
}
END_TEST

/* A model that has only udot: what it lacks is named. */
START_TEST(operators_without_inverse_are_refused_as_before) {
  CPEquations model = {CP_SIZED(CPEquations), .nu = NU, .np = 1,   .p = p,
                       .udot = any_udot,      .Au = Au, .ATl = ATl};
  y                 = vector_of(2 * NU, NULL);
  CPMech mech       = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetNewton(mech, CP_NEWTON_KKT), CP_NOT_SUPPORTED);
  ck_assert_mentions(messages.text, "inverse");
  ck_assert_int_eq(CPMechSetMetric(mech, CP_METRIC_NEWTON), CP_NOT_SUPPORTED);
  ck_assert_mentions(messages.text, "inverse");
  ck_assert_int_ne(integrate(mech, "RADAU", 1.0e-6, 1.0).flag, CP_SUCCESS);
  ck_assert_mentions(messages.text, "inverse");
  destroy(&mech);
}
END_TEST

/* ---- failures ---- */

/* At the first call, in the first step and later. */
static const int calls[] = {1, 40, 150};
enum { CALLS = sizeof calls / sizeof calls[0] };

START_TEST(failures_of_inverse_are_named) {
  const char *method = methods[_i % METHODS];
  device.fails       = calls[_i / METHODS];
  device.code        = -1;
  CPMech mech        = create(PLAIN, 1);
  ck_assert_int_eq(integrate(mech, method, 1.0e-6, T_END).flag, CP_USERFUNC_FAIL);
  ck_assert_mentions(messages.text, "inverse");
  destroy(&mech);
}
END_TEST

START_TEST(recoverable_failures_are_recovered_from) {
  const char *method = methods[_i % METHODS];
  device.fails       = calls[1 + _i / METHODS];
  device.code        = 1;
  CPMech mech        = create(PLAIN, 1);
  const Outcome out  = integrate(mech, method, 1.0e-6, T_END);
  ck_assert_msg(out.flag == CP_SUCCESS, "%s", messages.text);
  ck_assert_int_gt(device.calls, device.fails);
  destroy(&mech);
}
END_TEST

START_TEST(values_that_are_no_numbers_are_named) {
  const char *method = methods[_i % METHODS];
  device.fails       = calls[_i / METHODS];
  device.code        = -1;
  device.nan         = 1;
  CPMech mech        = create(PLAIN, 1);
  ck_assert_int_eq(integrate(mech, method, 1.0e-6, T_END).flag, CP_MECH_NONFINITE);
  ck_assert_mentions(messages.text, "inverse[1] is");
  destroy(&mech);
}
END_TEST

/* A moving mass of 0.1^2 / 1.5 or less in coordinate 2 makes M indefinite, and it is so on the null space of A. */
START_TEST(indefinite_masses_are_named) {
  device.light = 3.0;
  CPMech mech  = create(PLAIN, 1);
  ck_assert_int_eq(integrate(mech, methods[_i], 1.0e-6, T_END).flag, CP_MASS_INDEFINITE);
  destroy(&mech);
}
END_TEST

/* ---- multipliers that z' takes ----
 *
 *   q = g = 2 + sin t by p = (q^2 - g^2) / 2,   u' = F - q lambda,   F = g'' + g c
 *   z' = lambda = c = 100 cos 3 t,   z = 100 sin(3 t) / 3 */
static int pressed_inverse(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, const sunrealtype *a, sunrealtype *r, void *data) {
  (void)q, (void)u, (void)z, (void)data;
  r[0] = a[0] + sin(t) - (2.0 + sin(t)) * 100.0 * cos(3.0 * t);
  return 0;
}

static int pressed_p(sunrealtype t, const sunrealtype *q, sunrealtype *r, void *data) {
  (void)data;
  r[0] = 0.5 * (q[0] * q[0] - (2.0 + sin(t)) * (2.0 + sin(t)));
  return 0;
}

static int pressed_v(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *r,
                     void *data) {
  (void)data;
  r[0] = q[0] * u[0] - (2.0 + sin(t)) * cos(t);
  return 0;
}

static int pressed_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *r,
                     void *data) {
  (void)q, (void)data;
  r[0] = -u[0] * u[0] + cos(t) * cos(t) - (2.0 + sin(t)) * sin(t);
  return 0;
}

static int pressed_A(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *r,
                     void *data) {
  (void)t, (void)data;
  r[0] = q[0] * x[0];
  return 0;
}

static int pressed_M(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *r,
                     void *data) {
  (void)t, (void)q, (void)data;
  r[0] = x[0];
  return 0;
}

static int pressed_z(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                     const sunrealtype *z, const sunrealtype *lambda, sunrealtype *zd, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)data;
  zd[0] = lambda[0];
  return 0;
}

static int pressed_mass(sunrealtype t, const sunrealtype *q, SUNMatrix S, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(S, 0, 0) = 1.0;
  return 0;
}

/* The constraint gives u' at once, but lambda lagged with kept factors, and z was off by many tolerances. u' and
 * z' are now as accurate as the iteration needs: the steps are those with factors of each evaluation (M). */
START_TEST(auxiliary_variables_take_accurate_multipliers) {
  static const sunrealtype tols[] = {1.0e-4, 1.0e-6, 1.0e-7};
  const sunrealtype tol = tols[_i], t_end = 2.0, z = 100.0 * sin(3.0 * t_end) / 3.0,
                    unit = tol * (1.0 + fabs(z));
  sunrealtype ends[2];
  for (int k = 0; k < 2; k++) {
    const CPEquations model = {CP_SIZED(CPEquations),
                               .nu      = 1,
                               .nz      = 1,
                               .np      = 1,
                               .inverse = pressed_inverse,
                               .M       = k ? NULL : pressed_mass,
                               .Mu      = pressed_M,
                               .Au      = pressed_A,
                               .ATl     = pressed_A,
                               .p       = pressed_p,
                               .v       = pressed_v,
                               .b       = pressed_b,
                               .zdot    = pressed_z};
    y                       = vector_of(3, (sunrealtype[]){2.0, 1.0, 0.0});
    CPMech mech             = create_mech(&model, y, test_context);
    ck_assert_int_eq(integrate(mech, "BDF", tol, t_end).flag, CP_SUCCESS);
    ends[k] = N_VGetArrayPointer(y)[2];
    destroy(&mech);
  }
  ck_assert_double_le(fabs(ends[1] - ends[0]), 0.1 * unit);
  ck_assert_double_le(fabs(ends[1] - z), 100.0 * unit);
}
END_TEST

/* ---- memory ---- */

START_TEST(every_allocation_may_fail) {
  int denied = 1;
  for (long k = 1; denied; k++) {
    CPMech mech = create(_i < METHODS ? WITH_Z : PLAIN, 1); /* BDF keeps factors without f_lambda */
    alloc_watch_failing(k);
    const Outcome out = integrate(mech, methods[_i % METHODS], 1.0e-4, 0.01);
    denied            = alloc_has_failed();
    alloc_unwatch();
    ck_assert_msg(denied ? out.flag != CP_SUCCESS : out.flag == CP_SUCCESS, "%ld: %d", k, out.flag);
    destroy(&mech);
  }
}
END_TEST

TEST_SUITE(inverse) {
  Suite *suite = suite_create("mechanisms by inverse dynamics");
  TCase *tc    = tcase_create("all");
  tcase_add_checked_fixture(tc, setup, test_context_teardown);
  tcase_add_loop_test(tc, accelerations_are_those_of_the_matrices, 0, FEATURES);
  tcase_add_loop_test(tc, check_compares_inverse_with_M, 0, WITH_Z);
  tcase_add_loop_test(tc, motions_are_those_of_the_matrices, 0, FEATURES * METHODS);
  tcase_add_loop_test(tc, motions_without_constraints_are_those_of_the_matrices, 0, METHODS);
  tcase_add_test(tc, residuals_take_no_matrices);
  tcase_add_loop_test(tc, bdf_keeps_factors_of_accelerations, 0, 2);
  tcase_add_loop_test(tc, a_restart_repeats_the_run_to_the_last_bit, PLAIN, WITH_A + 1);
  tcase_add_loop_test(tc, a_loop_of_rods_moves_as_by_its_matrices, 0, 2 * METHODS);
  tcase_add_loop_test(tc, wrong_combinations_are_named, 0, 5);
  tcase_add_test(tc, operators_without_inverse_are_refused_as_before);
  tcase_add_loop_test(tc, failures_of_inverse_are_named, 0, CALLS * METHODS);
  tcase_add_loop_test(tc, recoverable_failures_are_recovered_from, 0, (CALLS - 1) * METHODS);
  tcase_add_loop_test(tc, values_that_are_no_numbers_are_named, 0, CALLS * METHODS);
  tcase_add_loop_test(tc, indefinite_masses_are_named, 0, METHODS);
  tcase_add_loop_test(tc, auxiliary_variables_take_accurate_multipliers, 0, 3);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, 2 * METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
