/* Sensitivities of a mechanism with an auxiliary state and a prescribed motion: a pendulum below a cart.
 *
 *   q = (s, x, y)   cart, mass       0 = ((x - s)^2 + y^2 - L^2) / (2 L)
 *   f = (0, -k x', -g - k y'),       M = I
 *   z' = k (x'^2 + y'^2) + lambda / 10
 *   s  = a sin(w t), if it is prescribed */
#include "support/mech_run.h"
#include "support/support.h"

#include <cpodes/cpodes_sens.h>
#include <math.h>

enum { BY_L, BY_G, BY_K, BY_A, NS, NQ = 3, N = 2 * NQ + 1, FREE = -1 };

typedef struct {
  sunrealtype p[NS]; /* L, g, k, a */
  int nquad;         /* 1: z is a quadrature */
} Cart;

static const char *const names[] = {"BDF", "ADAMS", "DOP853", "RADAU",
                                    "ARKODE_DORMAND_PRINCE_7_4_5"};
enum { METHODS = sizeof names / sizeof *names };

static const sunrealtype w = 3.0;

static int mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *user_data) {
  (void)t, (void)q, (void)user_data;
  for (int j = 0; j < NQ; j++) SM_ELEMENT_D(M, j, j) = 1.0;
  return 0;
}
static int rod(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *user_data) {
  const sunrealtype L = ((Cart *)user_data)->p[BY_L];
  (void)t;
  SM_ELEMENT_D(A, 0, 0) = -(q[1] - q[0]) / L;
  SM_ELEMENT_D(A, 0, 1) = (q[1] - q[0]) / L;
  SM_ELEMENT_D(A, 0, 2) = q[2] / L;
  return 0;
}
static int forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                  sunrealtype *f, void *user_data) {
  const sunrealtype *p = ((Cart *)user_data)->p;
  (void)t, (void)q, (void)z;
  f[1] = -p[BY_K] * u[1];
  f[2] = -p[BY_K] * u[2] - p[BY_G];
  return 0;
}
static int length(sunrealtype t, const sunrealtype *q, sunrealtype *c, void *user_data) {
  const sunrealtype L = ((Cart *)user_data)->p[BY_L], d = q[1] - q[0];
  (void)t;
  c[0] = (d * d + q[2] * q[2] - L * L) / (2.0 * L);
  return 0;
}
static int right_side(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                      void *user_data) {
  const sunrealtype d = u[1] - u[0];
  (void)t, (void)q;
  b[0] = -(d * d + u[2] * u[2]) / ((Cart *)user_data)->p[BY_L];
  return 0;
}
static int power(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 const sunrealtype *lambda, sunrealtype *zdot, void *user_data) {
  (void)t, (void)q, (void)z;
  zdot[0] = ((Cart *)user_data)->p[BY_K] * (u[1] * u[1] + u[2] * u[2]) + lambda[0] / 10.0;
  return 0;
}
static int motion(sunrealtype t, sunrealtype *g, void *data) {
  *g = ((Cart *)data)->p[BY_A] * sin(w * t);
  return 0;
}
static int motion_rate(sunrealtype t, sunrealtype *g, void *data) {
  *g = ((Cart *)data)->p[BY_A] * w * cos(w * t);
  return 0;
}
static int motion_curvature(sunrealtype t, sunrealtype *g, void *data) {
  *g = -((Cart *)data)->p[BY_A] * w * w * sin(w * t);
  return 0;
}
static const CPEquations model = {
    CP_SIZED(CPEquations), .nu = NQ,    .nz = 1,         .np = 1,      .M = mass, .A = rod,
    .f = forces,           .p = length, .b = right_side, .zdot = power};

/* The mass hangs below the cart, which has its speed of t = 0; s: the derivatives of this start.
 * s [NS], or NULL */
static void start(const Cart *cart, N_Vector y, N_Vector *s) {
  sunrealtype *v = entries(y);
  N_VConst(0.0, y);
  v[2] = -cart->p[BY_L];
  v[3] = cart->p[BY_A] * w;
  v[4] = 0.3;
  for (int i = 0; s && i < NS; i++) N_VConst(0.0, s[i]);
  if (s) entries(s[BY_L])[2] = -1.0;
  if (s) entries(s[BY_A])[3] = w;
}

static CPMech create(Cart *cart, int how, N_Vector y) {
  const CPMotion by  = {.kind = (CPMotionKind)how,
                        .g    = motion,
                        .gd   = motion_rate,
                        .gdd  = motion_curvature,
                        .data = cart};
  CPEquations driven = model;
  driven.nquad       = cart->nquad;
  if (how != FREE) driven.motions = &by, driven.nmotions = 1;
  CPMech mech = create_mech(&driven, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechSetUserData(mech, cart), CP_SUCCESS);
  return mech;
}

/* The state at t = 0.4 and, unless s is NULL, its sensitivities */
static void run(Cart *cart, int how, const char *method, N_Vector y, N_Vector *s) {
  MessageLog log = {0};
  CPSens sens    = NULL;
  sunrealtype t;
  start(cart, y, s);
  CPMech mech      = create(cart, how, y);
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-10, 1.0e-10), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 100000), CP_SUCCESS);
  if (s) {
    const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = cart->p, .y0S = s};
    ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, y, test_context));
    ck_assert_int_eq(CPSensSetErrCon(sens, SUNTRUE), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetSens(mem, sens), CP_SUCCESS);
  }
  const int flag = CPIntegratorEvolve(mem, 0.4, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "motion %d, %s: %d, %s", how, method, flag, log.text);
  if (s) ck_assert_int_eq(CPSensGetDky(sens, t, 0, s), CP_SUCCESS);
  CPSensFree(&sens);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
}

/* Central differences with a step of 1e-3: 1e-6 of the third derivatives, and about 1e-8 / 1e-3
 * from the runs */
START_TEST(sensitivities_are_those_of_runs_side_by_side) {
  const int how            = _i / METHODS - 1;
  const char *const method = names[_i % METHODS];
  Cart cart                = {.p = {1.0, 9.81, 0.2, 0.5}};
  N_Vector y = vector_of(N, NULL), plus = vector_of(N, NULL), minus = vector_of(N, NULL);
  N_Vector *s = N_VCloneVectorArray(NS, y);
  run(&cart, how, method, y, s);
  for (int i = 0; i < NS; i++) {
    const sunrealtype kept = cart.p[i], e = 1.0e-3 * kept;
    cart.p[i] = kept + e;
    run(&cart, how, method, plus, NULL);
    cart.p[i] = kept - e;
    run(&cart, how, method, minus, NULL);
    cart.p[i] = kept;
    N_VLinearSum(0.5 / e, plus, -0.5 / e, minus, plus);
    ck_assert_msg(max_distance(plus, s[i]) <= 1.0e-4 * (1.0 + N_VMaxNorm(s[i])),
                  "motion %d, %s, parameter %d: off by %g of %g", how, method, i,
                  max_distance(plus, s[i]), N_VMaxNorm(s[i]));
  }
  N_VDestroyVectorArray(s, NS);
  N_VDestroy(y);
  N_VDestroy(plus);
  N_VDestroy(minus);
}
END_TEST

/* l . (J s + df/dp) = (J^T l) . s + l . df/dp, with z' that depends on the multiplier, and may be a quadrature */
START_TEST(the_adjoint_is_the_transpose) {
  const int how           = _i % 4 - 1;
  Cart cart               = {.p = {1.0, 9.81, 0.2, 0.5}, .nquad = _i / 4};
  unsigned long long seed = 11;
  N_Vector y = vector_of(N, NULL), l = vector_of(N, NULL), s = vector_of(N, NULL),
           sdot = vector_of(N, NULL), Jl = vector_of(N, NULL), q = vector_of(NS, NULL);
  run(&cart, how, "ADAMS", y, NULL);
  random_fill(l, &seed);
  random_fill(s, &seed);
  CPMech mech                   = create(&cart, how, y);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = cart.p};
  const int flag                = CPMechVjp(mech, 0.4, y, &parameters, l, Jl, entries(q));
  ck_assert_int_eq(flag, how == CP_MOTION_FULL ? CP_NOT_SUPPORTED : CP_SUCCESS);
  for (int i = 0; !flag && i < NS; i++) {
    sunrealtype dp[NS] = {0};
    dp[i]              = 1.0;
    ck_assert_int_eq(CPMechJvp(mech, 0.4, y, &parameters, s, dp, sdot, NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(dot(l, sdot), dot(Jl, s) + entries(q)[i], 1.0e-10 * 100);
  }
  CPMechFree(&mech);
  N_Vector all[] = {y, l, s, sdot, Jl, q};
  for (int k = 0; k < 6; k++) N_VDestroy(all[k]);
}
END_TEST

/* A rod that is switched off constrains no sensitivity: for free fall, that to g is (0, 0, -t^2/2). */
START_TEST(rows_that_are_off_constrain_nothing) {
  const int off = 0;
  Cart cart     = {.p = {1.0, 9.81, 1.0e-30, 0.5}};
  sunrealtype t;
  N_Vector y = vector_of(N, NULL), *s = N_VCloneVectorArray(NS, y);
  const sunrealtype size[NS] = {1.0, 1.0, 1.0, 1.0};
  start(&cart, y, s);
  CPMech mech      = create(&cart, FREE, y);
  CPIntegrator mem = CPIntegratorCreate(names[_i], test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetActive(mech, &off), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-8, 1.0e-8), CP_SUCCESS);
  N_VConst(0.0, s[BY_L]);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = cart.p, .pbar = size,
                                   .y0S = s};
  CPSens sens                   = NULL;
  ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, y, test_context));
  ck_assert_int_eq(CPIntegratorSetSens(mem, sens), CP_SUCCESS);
  ck_assert_msg(CPIntegratorEvolve(mem, 0.5, y, &t, CV_NORMAL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mem)));
  ck_assert_int_eq(CPSensGetDky(sens, t, 0, s), CP_SUCCESS);
  CPSensFree(&sens);
  ck_assert_double_eq_tol(entries(s[BY_G])[2], -t * t / 2.0, 1.0e-6);
  ck_assert_double_eq_tol(N_VMaxNorm(s[BY_L]), 0.0, 1.0e-12);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroyVectorArray(s, NS);
  N_VDestroy(y);
}
END_TEST

/* Directions with an infinite or a NaN component are refused, and change no parameter. */
START_TEST(parameters_survive_directions_that_are_not_finite) {
  const sunrealtype odd[] = {INFINITY, -INFINITY, NAN};
  const Cart given        = {.p = {1.0, 9.81, 0.2, 0.5}};
  Cart cart               = given;
  sunrealtype dp[NS]      = {0, 1, 0, 0};
  N_Vector y = vector_of(N, NULL), s = vector_of(N, NULL), sdot = vector_of(N, NULL);
  start(&cart, y, NULL);
  CPMech mech                   = create(&cart, FREE, y);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = cart.p};
  dp[BY_L]                      = odd[_i];
  ck_assert_int_eq(CPMechJvp(mech, 0.0, y, &parameters, s, dp, sdot, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "dp[0]");
  entries(s)[2] = odd[_i];
  dp[BY_L]      = 0.0;
  ck_assert_int_ne(CPMechJvp(mech, 0.0, y, &parameters, s, dp, sdot, NULL), CP_SUCCESS);
  for (int i = 0; i < NS; i++) ck_assert_double_eq(cart.p[i], given.p[i]);
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(s);
  N_VDestroy(sdot);
}
END_TEST

/* A product in the middle of a run, with other parameters and a result of the wrong length */
START_TEST(a_refused_product_leaves_the_sensitivities_of_a_run_alone) {
  Cart cart  = {.p = {1.0, 9.81, 0.2, 0.5}};
  N_Vector y = vector_of(N, NULL), wrong = vector_of(N + 1, NULL), *s = N_VCloneVectorArray(NS, y);
  N_Vector known = vector_of(N, NULL), *known_s = N_VCloneVectorArray(NS, y);
  run(&cart, FREE, "BDF", known, known_s);
  start(&cart, y, s);
  CPMech mech                   = create(&cart, FREE, y);
  CPIntegrator mem              = CPIntegratorCreate("BDF", test_context);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = NS, .values = cart.p, .y0S = s};
  const CPParameters others     = {CP_SIZED(CPParameters), .n = 1, .values = cart.p,
                                   .plist = (int[]){BY_G}};
  CPSens sens                   = NULL;
  sunrealtype t, lfp;
  ck_assert_int_eq(CPMechAttach(mech, mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1.0e-10, 1.0e-10), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 100000), CP_SUCCESS);
  ck_assert_ptr_nonnull(sens = CPSensCreate(&parameters, y, test_context));
  ck_assert_int_eq(CPSensSetErrCon(sens, SUNTRUE), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetSens(mem, sens), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.4, y, &t, CV_ONE_STEP), CP_SUCCESS);
  if (_i == 0)
    ck_assert_int_eq(CPMechJvp(mech, t, y, &others, known, NULL, wrong, NULL), CP_ILL_INPUT);
  else ck_assert_int_eq(CPMechVjp(mech, t, y, &others, known, wrong, &lfp), CP_ILL_INPUT);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.4, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(CPSensGetDky(sens, t, 0, s), CP_SUCCESS);
  for (int i = 0; i < NS; i++)
    ck_assert_double_le(max_distance(s[i], known_s[i]), 1.0e-6 * (1.0 + N_VMaxNorm(known_s[i])));
  CPSensFree(&sens);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroyVectorArray(s, NS);
  N_VDestroyVectorArray(known_s, NS);
  N_VDestroy(y);
  N_VDestroy(known);
  N_VDestroy(wrong);
}
END_TEST

TEST_SUITE(motion) {
  Suite *suite = suite_create("Sensitivities with motions and auxiliary states");
  TCase *tc    = tcase_create("motion");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, sensitivities_are_those_of_runs_side_by_side, 0, 4 * METHODS);
  tcase_add_loop_test(tc, the_adjoint_is_the_transpose, 0, 8);
  tcase_add_loop_test(tc, rows_that_are_off_constrain_nothing, 0, METHODS);
  tcase_add_loop_test(tc, parameters_survive_directions_that_are_not_finite, 0, 3);
  tcase_add_loop_test(tc, a_refused_product_leaves_the_sensitivities_of_a_run_alone, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
