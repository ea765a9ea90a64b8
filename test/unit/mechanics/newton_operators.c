/* Iteration matrices of a mechanism that is given by its accelerations, or has its own kinematics;
 * failures of functions, of the matrix, of memory.
 *
 *   a_0 = -4 q_0^3 - 0.7 u_0 + q_1 u_1 + z,   a_1 = -q_0 q_1 - u_1 + cos t,   z' = -z^2 + q_0 u_1
 *
 * Source: made up. */
#include <cpodes/lu/lu_impl.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/counters.h>

#include "mechanics/lattice.h"
#include "mechanics/newton_fixture.h"
#include "support/alloc.h"
#include "support/mech_run.h"

#define GAMMA 0.3
#define TIME  0.7

/* Forward differences with steps of 1.5e-8, second derivatives up to 10; derivatives that are given
 * are accurate to the reference's 1e-12, and roundoff. */
#define COARSE 1.0e-6
#define GIVEN  1.0e-9

typedef struct {
  int calls, fails,
      code; /* udot_jac, or udot with derivatives by differences: its call number `fails`,
                             and all later ones if code is negative, returns code */
  int nan;  /* udot_jac writes a NaN into Uu */
} Device;

static int failure(Device *d) {
  d->calls++;
  if (d->fails == 0 || d->calls < d->fails) return 0;
  return d->calls == d->fails || d->code < 0 ? d->code : 0;
}

static int udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *a, sunrealtype *lambda, void *data) {
  (void)lambda, (void)data;
  a[0] = -4.0 * q[0] * q[0] * q[0] - 0.7 * u[0] + q[1] * u[1] + z[0];
  a[1] = -q[0] * q[1] - u[1] + cos(t);
  return 0;
}

static int zdot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *zd, void *data) {
  (void)t, (void)lambda, (void)data;
  zd[0] = -z[0] * z[0] + q[0] * u[1];
  return 0;
}

static int udot_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz, void *data) {
  Device *d = data;
  (void)t, (void)z;
  SM_ELEMENT_D(Uq, 0, 0) = -12.0 * q[0] * q[0];
  SM_ELEMENT_D(Uq, 0, 1) = u[1];
  SM_ELEMENT_D(Uq, 1, 0) = -q[1];
  SM_ELEMENT_D(Uq, 1, 1) = -q[0];
  SM_ELEMENT_D(Uu, 0, 0) = d->nan ? NAN : -0.7;
  SM_ELEMENT_D(Uu, 0, 1) = q[1];
  SM_ELEMENT_D(Uu, 1, 1) = -1.0;
  SM_ELEMENT_D(Uz, 0, 0) = 1.0;
  return failure(d);
}

static int auxiliary_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Zq,
                         SUNMatrix Zu, SUNMatrix Zz, void *data) {
  (void)t, (void)lambda, (void)data;
  SM_ELEMENT_D(Zq, 0, 0) = u[1];
  SM_ELEMENT_D(Zu, 0, 1) = q[0];
  SM_ELEMENT_D(Zz, 0, 0) = -2.0 * z[0];
  return 0;
}

static Device device;
static CPMech mech;
static N_Vector y;
static MessageLog messages;

static void create(int given) {
  const CPEquations model = {CP_SIZED(CPEquations),
                             .nu            = 2,
                             .nz            = 1,
                             .udot          = udot,
                             .zdot          = zdot,
                             .udot_jac      = given ? udot_jac : NULL,
                             .auxiliary_jac = given ? auxiliary_jac : NULL};
  device                  = (Device){0};
  messages                = (MessageLog){0};
  y                       = VECTOR(0.3, -0.5, 0.4, 0.8, 0.6);
  mech                    = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, &device), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
}

static void destroy(void) {
  CPMechFree(&mech);
  N_VDestroy(y);
}

/* ---- the matrix ---- */

START_TEST(half_the_matrix_solves_the_system) {
  CPMechNewtonMem newton = NULL;
  int renewed            = 0;
  create(_i);
  ck_assert_int_eq(CPMechSetNewton(mech, CP_NEWTON_HALF), CP_SUCCESS);
  ck_assert_int_eq(cpMechSetUp(mech, "test"), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonCreate(&newton, mech), CP_SUCCESS);
  ck_assert_int_eq(newton->S.lu->order, 3);
  SUNMatrix J = ode_jacobian(mech, TIME, y);
  ck_assert_int_eq(cpNewtonSystem(newton, TIME, entries(y), NULL, 0, GAMMA, &renewed), CP_SUCCESS);
  ck_assert_int_eq(SUNLinSolSetup(newton->LS, newton->matrix), 0);
  ck_assert_double_le(system_residual(newton, y, J, GAMMA), _i ? GIVEN : COARSE);
  SUNMatDestroy(J);
  cpMechNewtonFree(&newton);
  destroy();
}
END_TEST

/* Two unit masses on springs, 0 = q_0 - q_1, whose accelerations by udot are those of the tied masses. */
static int springs(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   sunrealtype *f, void *data) {
  (void)t, (void)z, (void)data;
  f[0] = -3.0 * q[0], f[1] = -5.0 * q[1] - 0.2 * u[1];
  return 0;
}
static int unit_masses(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1.0;
  return 0;
}
static int tie(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t, (void)data;
  p[0] = q[0] - q[1];
  return 0;
}
static int tie_rate(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *v,
                    void *data) {
  (void)q;
  return tie(t, u, v, data);
}
static int tie_row(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(A, 0, 0) = 1.0, SM_ELEMENT_D(A, 0, 1) = -1.0;
  return 0;
}
static int no_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                void *data) {
  (void)t, (void)q, (void)u, (void)b, (void)data;
  return 0;
}
static int tied(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *a, sunrealtype *lambda, void *data) {
  sunrealtype f[2];
  springs(t, q, u, z, f, data);
  a[0] = a[1] = 0.5 * (f[0] + f[1]), lambda[0] = f[0] - a[0];
  return 0;
}
static int tied_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)Uz;
  for (int i = 0; i < 2; i++)
    SM_ELEMENT_D(Uq, i, 0) = -1.5, SM_ELEMENT_D(Uq, i, 1) = -2.5, SM_ELEMENT_D(Uu, i, 1) = -0.1;
  return failure(data);
}

/* udot_jac serves while the row is on. Where it is off, or udot_jac leaves u' to M and A, the matrix has derivatives by differences. */
START_TEST(derivatives_of_accelerations_are_those_of_the_rows_that_are_on) {
  static const struct {
    int on, code, calls;
    double bound;
  } CASE[] = {{1, 0, 1, GIVEN}, {0, 0, 0, COARSE}, {1, 1, 1, COARSE}, {1, 0, 1, GIVEN}};
  const CPEquations model = {
      CP_SIZED(CPEquations), .nu = 2,  .np = 1,       .nv = 1,      .na = 1,   .M = unit_masses,
      .f = springs,          .p = tie, .v = tie_rate, .A = tie_row, .b = no_b, .udot = tied,
      .udot_jac = tied_jac};
  CPMechNewtonMem newton = NULL;
  y                      = VECTOR(0.3, 0.3, 0.4, 0.4);
  mech                   = create_mech(&model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, &device), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetNewton(mech, CP_NEWTON_HALF), CP_SUCCESS);
  ck_assert_int_eq(cpMechSetUp(mech, "test"), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonCreate(&newton, mech), CP_SUCCESS);
  for (size_t k = 0; k < sizeof CASE / sizeof CASE[0]; k++) {
    int renewed = 0;
    device      = (Device){.fails = CASE[k].code != 0, .code = CASE[k].code};
    ck_assert_int_eq(CPMechSetActive(mech, &CASE[k].on), CP_SUCCESS);
    SUNMatrix J = ode_jacobian(mech, TIME, y);
    ck_assert_int_eq(cpNewtonSystem(newton, TIME, entries(y), NULL, 0, GAMMA, &renewed), CP_SUCCESS);
    ck_assert_int_eq(device.calls, CASE[k].calls);
    ck_assert_int_eq(SUNLinSolSetup(newton->LS, newton->matrix), 0);
    ck_assert_double_le(system_residual(newton, y, J, GAMMA), CASE[k].bound);
    SUNMatDestroy(J);
  }
  cpMechNewtonFree(&newton);
  destroy();
}
END_TEST

/* At rest at 0 the matrix is diag(1 + 0.7 gamma, 1 + gamma, 1 + 0) except for -gamma beside its
 * first entry, which is exactly zero with the derivative 4 instead of -0.7 and gamma = 1/4. */
START_TEST(a_singular_matrix_is_recoverable) {
  CPMechNewtonMem newton = NULL;
  int renewed            = 0;
  create(1);
  N_VConst(0.0, y);
  ck_assert_int_eq(CPMechSetNewton(mech, CP_NEWTON_HALF), CP_SUCCESS);
  ck_assert_int_eq(cpMechSetUp(mech, "test"), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonCreate(&newton, mech), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonSystem(newton, TIME, entries(y), NULL, 0, 0.25, &renewed), CP_SUCCESS);
  newton->P->block[CP_OF_F][CP_BY_U].J.value[0] = 4.0;
  ck_assert_int_eq(cpNewtonSystem(newton, TIME, entries(y), NULL, 1, 0.25, &renewed), CP_SUCCESS);
  ck_assert(!renewed);
  ck_assert_int_gt(SUNLinSolSetup(newton->LS, newton->matrix), 0);
  ck_assert_int_gt(mech->attached.cause, 0);
  ck_assert_mentions(mech->text, "singular");
  N_Vector x = vector_copy(y);
  ck_assert_int_gt(SUNLinSolSolve(newton->LS, newton->matrix, x, y, 0.0),
                   0); /* there are no factors */
  N_VDestroy(x);
  cpMechNewtonFree(&newton);
  destroy();
}
END_TEST

/* ---- user-supplied constant kinematics: q' = (u_0 + u_1 / 2, 2 u_1) ---- */

static int kinematics(const sunrealtype *q, CPMechKinematics what, const sunrealtype *x,
                      sunrealtype *w, void *data) {
  const int transposed = what == CP_N_TRANSPOSE || what == CP_N_INVERSE_TRANSPOSE;
  (void)q, (void)data;
  double N01 = 0.5, N11 = 2.0;
  if (what == CP_N_INVERSE || what == CP_N_INVERSE_TRANSPOSE) N01 = -0.25, N11 = 0.5;
  w[0] = x[0] + (transposed ? 0.0 : N01 * x[1]);
  w[1] = N11 * x[1] + (transposed ? N01 * x[0] : 0.0);
  return 0;
}

static int unit_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q, (void)data;
  SM_ELEMENT_D(M, 0, 0) = SM_ELEMENT_D(M, 1, 1) = 1.0;
  return 0;
}

static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *data) {
  return udot(t, q, u, z, f, NULL, data);
}

START_TEST(kinematics_of_the_user_are_part_of_the_matrix) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,      .nz = 1,        .M = unit_mass,
                             .f = forces,           .zdot = zdot, .N = kinematics};
  CPMechNewtonMem newton  = NULL;
  int renewed             = 0;
  y                       = VECTOR(0.3, -0.5, 0.4, 0.8, 0.6);
  mech                    = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPMechSetNewton(mech, _i ? CP_NEWTON_HALF : CP_NEWTON_KKT), CP_SUCCESS);
  ck_assert_int_eq(cpMechSetUp(mech, "test"), CP_SUCCESS);
  ck_assert_int_eq(cpNewtonCreate(&newton, mech), CP_SUCCESS);
  SUNMatrix J = ode_jacobian(mech, TIME, y);
  ck_assert_int_eq(cpNewtonSystem(newton, TIME, entries(y), NULL, 0, GAMMA, &renewed), CP_SUCCESS);
  ck_assert_int_eq(SUNLinSolSetup(newton->LS, newton->matrix), 0);
  ck_assert_double_le(system_residual(newton, y, J, GAMMA), COARSE);
  SUNMatDestroy(J);
  cpMechNewtonFree(&newton);
  destroy();
}
END_TEST

/* ---- in an integrator ---- */

typedef struct {
  int flag;
  sunrealtype t;
  CPMechNewton newton;
  long int nfails; /* failures of Newton's iteration */
} Outcome;

static Outcome integrate(CPMechNewton type) {
  Outcome out = {0};
  MechCounters stats;
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetNewton(mech, type), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-8), CP_SUCCESS);
  cvodes_defaults(CPIntegratorGetCVodeMem(mem)); /* several set-ups, so that a later one can fail */
  out.flag = CPIntegratorEvolve(mem, 3.0, y, &out.t, CV_NORMAL);
  CVodeGetNumNonlinSolvConvFails(CPIntegratorGetCVodeMem(mem), &out.nfails);
  mech_counters(mech, &stats);
  out.newton = stats.newton;
  CPIntegratorFree(&mem);
  return out;
}

START_TEST(auto_takes_half_if_there_are_derivatives) {
  create(1);
  const Outcome out = integrate(CP_NEWTON_AUTO);
  ck_assert_int_eq(out.flag, CP_SUCCESS);
  ck_assert_int_eq(out.newton, CP_NEWTON_HALF);
  destroy();
}
END_TEST

START_TEST(kkt_of_operators_is_refused) {
  create(0);
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
  int flag = CPMechSetNewton(mech, CP_NEWTON_KKT);
  if (!flag) flag = CPMechAttach(mech, mem, 0.0, y);
  ck_assert_int_eq(flag, CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "CP_NEWTON_KKT");
  CPIntegratorFree(&mem);
  destroy();
}
END_TEST

/* A failure at one call: the set-up is repeated with a smaller step. */
START_TEST(recoverable_failures_are_recovered_from) {
  create(1);
  device.fails      = 1 + _i; /* the first set-up, or a later one */
  device.code       = 7;
  const Outcome out = integrate(CP_NEWTON_HALF);
  ck_assert_int_eq(out.flag, CP_SUCCESS);
  ck_assert_int_gt(device.calls, device.fails);
  destroy();
}
END_TEST

START_TEST(fatal_failures_end_the_run_with_their_reason) {
  create(1);
  device.fails      = 2;
  device.code       = -1;
  const Outcome out = integrate(CP_NEWTON_HALF);
  ck_assert_int_eq(out.flag, CP_USERFUNC_FAIL);
  ck_assert_mentions(messages.text, "udot_jac");
  destroy();
}
END_TEST

START_TEST(derivatives_that_are_no_numbers_are_named) {
  create(1);
  device.nan        = 1;
  const Outcome out = integrate(CP_NEWTON_HALF);
  ck_assert_int_eq(out.flag, CP_MECH_NONFINITE);
  ck_assert_mentions(messages.text, "udot_jac");
  destroy();
}
END_TEST

/* ---- memory ---- */

/* Dense and sparse matrices, real and complex, with all kinds of blocks; the structure is made at the first assembly. */
START_TEST(every_allocation_may_fail) {
  Lattice lattice = {.sparse = _i, .friction = 1, .nz = 2, .quaternions = 2, .b_by_differences = 1};
  int denied      = 1;
  for (long k = 1; denied; k++) {
    CPMechNewtonMem newton = NULL;
    N_Vector state         = lattice_state(&lattice);
    CPNewtonMatrix other   = {0};
    int renewed            = 0;
    alloc_watch();
    CPMech l = lattice_create(&lattice, test_context);
    ck_assert_int_eq(cpMechSetUp(l, "test"), CP_SUCCESS);
    const long held = alloc_live();
    alloc_watch_failing(k);
    int flag = cpNewtonCreate(&newton, l);
    if (!flag) flag = cpNewtonSystem(newton, TIME, entries(state), NULL, 0, GAMMA, &renewed);
    if (!flag) flag = cpNewtonMatrixCreate(&other, newton->P, 1);
    if (!flag) flag = cpNewtonAssemble(&other, GAMMA * (1.0 + I));
    denied = alloc_has_failed();
    ck_assert_int_eq(flag, denied ? CP_MEM_FAIL : CP_SUCCESS);
    cpNewtonMatrixFree(&other);
    cpMechNewtonFree(&newton);
    CPMechFree(&l); /* and what the analysis has left with the model */
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), -held);
    N_VDestroy(state);
  }
}
END_TEST

TEST_SUITE(newton_operators) {
  Suite *suite = suite_create("structured Newton: accelerations, failures");
  TCase *tc    = tcase_create("matrix");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, half_the_matrix_solves_the_system, 0, 2);
  tcase_add_loop_test(tc, kinematics_of_the_user_are_part_of_the_matrix, 0, 2);
  tcase_add_test(tc, derivatives_of_accelerations_are_those_of_the_rows_that_are_on);
  tcase_add_test(tc, a_singular_matrix_is_recoverable);
  tcase_add_test(tc, auto_takes_half_if_there_are_derivatives);
  tcase_add_test(tc, kkt_of_operators_is_refused);
  tcase_add_loop_test(tc, recoverable_failures_are_recovered_from, 0, 2);
  tcase_add_test(tc, fatal_failures_end_the_run_with_their_reason);
  tcase_add_test(tc, derivatives_that_are_no_numbers_are_named);
  tcase_add_loop_test(tc, every_allocation_may_fail, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
