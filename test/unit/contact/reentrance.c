/* Functions of the user's that call the object that works for them: refused with CP_REENTERED, and
 * without any effect on the results. */
#include "contact/fixture.h"
#include "support/mech_run.h"

#include <cpodes/cpodes.h>
#include <cpodes/cpodes_contact.h>
#include <cpodes/cpodes_integrator.h>
#include <cvodes/cvodes_ls.h>
#include <math.h>
#include <sunlinsol/sunlinsol_dense.h>

/* ---- a rotation on the unit circle ---- */

/* The functions in which the integrator is called */
enum { F, CONSTRAINT, G_MATRIX, ROOTS, QUADRATURE, J_MATRIX, WEIGHTS, HANDLER, NONE };

typedef struct {
  int where, calls, others; /* the function that calls; calls made, and results but CP_REENTERED */
  CPIntegrator multistep;
  CPIntegrator onestep;
  CPProjector P;
  N_Vector own; /* results of the calls */
  void *jac_data;
} Circle;

static void expect_refusal(Circle *c, int flag) {
  c->calls++;
  c->others += flag != CP_REENTERED;
}

static int weights(N_Vector y, N_Vector ewt, void *data);
static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data);

static void call_back(Circle *c, int where) {
  sunrealtype t = 0.0;
  if (c->where != where || c->calls > 200) return;
  if (c->multistep) {
    expect_refusal(c, CPIntegratorEvolve(c->multistep, 9.0, c->own, &t, CV_ONE_STEP));
    expect_refusal(c, CPIntegratorReInit(c->multistep, 0.5, c->own));
    expect_refusal(c, CPIntegratorCalcIC(c->multistep, NULL));
    expect_refusal(c, CPIntegratorGetDky(c->multistep, 0.0, 0, c->own));
    expect_refusal(c, CPIntegratorSStolerances(c->multistep, 1.0, 1.0));
    expect_refusal(c, CPIntegratorSetProjector(c->multistep, NULL));
    expect_refusal(c, CPIntegratorRootInit(c->multistep, 0, NULL));
    expect_refusal(c, CPIntegratorSetNonlinearSolver(c->multistep, NULL));
    CPIntegrator freed = c->multistep;
    CPIntegratorFree(&freed);
    c->others += freed != c->multistep;
  } else {
    expect_refusal(c, CPIntegratorEvolve(c->onestep, 9.0, c->own, &t, CV_ONE_STEP));
    expect_refusal(c, CPIntegratorReInit(c->onestep, 0.5, c->own));
    expect_refusal(c, CPIntegratorCalcIC(c->onestep, NULL));
    expect_refusal(c, CPIntegratorGetDky(c->onestep, 0.0, 0, c->own));
    expect_refusal(c, CPIntegratorWFtolerances(c->onestep, weights));
    expect_refusal(c, CPIntegratorSetProjector(c->onestep, NULL));
    expect_refusal(c, CPIntegratorRootInit(c->onestep, 1, roots));
    expect_refusal(c, CPIntegratorSetFixedStep(c->onestep, 1.0));
    CPIntegrator freed = c->onestep;
    CPIntegratorFree(&freed);
    c->others += freed != c->onestep;
  }
  if (where != CONSTRAINT && where != G_MATRIX) return;
  expect_refusal(c, CPProjectorProject(c->P, 0.0, c->own, c->own));
  expect_refusal(c, CPProjectorSetEps(c->P, 1.0));
}

static int rotate(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t;
  call_back(data, F);
  entries(ydot)[0] = -entries(y)[1];
  entries(ydot)[1] = entries(y)[0];
  return 0;
}

static int circle(sunrealtype t, N_Vector y, N_Vector c, void *data) {
  (void)t;
  call_back(data, CONSTRAINT);
  entries(c)[0] = hypot(entries(y)[0], entries(y)[1]) - 1.0;
  return 0;
}

static int gradient(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *data) {
  (void)t, (void)c;
  call_back(data, G_MATRIX);
  const sunrealtype r = hypot(entries(y)[0], entries(y)[1]);
  for (int j = 0; j < 2; j++) SM_ELEMENT_D(G, 0, j) = entries(y)[j] / r;
  return 0;
}

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  (void)t;
  call_back(data, ROOTS);
  g[0] = entries(y)[0];
  return 0;
}

static int angle(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  (void)t, (void)y;
  call_back(data, QUADRATURE);
  entries(ydot)[0] = 1.0;
  return 0;
}

static int jacobian(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector tmp1,
                    N_Vector tmp2, N_Vector tmp3) {
  (void)t, (void)y, (void)fy, (void)tmp1, (void)tmp2, (void)tmp3;
  call_back(data, J_MATRIX);
  SM_ELEMENT_D(J, 0, 1) = -1.0;
  SM_ELEMENT_D(J, 1, 0) = 1.0;
  return 0;
}

static int weights(N_Vector y, N_Vector ewt, void *data) {
  (void)y;
  call_back(data, WEIGHTS);
  N_VConst(1.0e6, ewt);
  return 0;
}

static void handler(int code, const char *function, const char *msg, void *data) {
  (void)code, (void)function, (void)msg;
  call_back(data, HANDLER);
}

/* Runs to t = 4, with a root at pi / 2. Its outputs are written to y [3 x 2]. */
static void run_circle(int method, Circle *c, sunrealtype *y) {
  N_Vector v = VECTOR(1.0, 0.0), cons = VECTOR(0.0), quad = VECTOR(0.0);
  SUNMatrix A = SUNDenseMatrix(2, 2, test_context), G = SUNDenseMatrix(1, 2, test_context);
  SUNLinearSolver LS = SUNLinSol_Dense(v, A, test_context);
  sunrealtype t      = 0.0;
  int flag           = 0;
  c->own             = vector_copy(v);
  c->P               = CPProjectorCreate(circle, v, cons, test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(c->P), handler, c);
  ck_assert_int_eq(CPProjectorSetJacFn(c->P, gradient, G), CP_SUCCESS); /* without data of its own */
  if (method == BDF || method == ADAMS) {
    c->multistep = CPIntegratorCreate(method == BDF ? "BDF" : "ADAMS", test_context);
    void *cvode  = CPIntegratorGetCVodeMem(c->multistep);
    CPObjectSetErrHandlerFn(CP_OBJECT(c->multistep), handler, c);
    flag |= CPIntegratorInit(c->multistep, rotate, 0.0, v) |
            CPIntegratorWFtolerances(c->multistep, weights);
    flag |= CVodeSetUserData(cvode, c) | CVodeSetLinearSolver(cvode, LS, A);
    flag |= CVodeSetJacFn(cvode, jacobian) | CVodeQuadInit(cvode, angle, quad);
    flag |=
        CPIntegratorRootInit(c->multistep, 1, roots) | CPIntegratorSetProjector(c->multistep, c->P);
  } else {
    c->onestep = CPIntegratorCreate(method == RADAU ? "RADAU" : "DOP853", test_context);
    CPObjectSetErrHandlerFn(CP_OBJECT(c->onestep), handler, c);
    if (method == RADAU) flag |= CPIntegratorSetJacFn(c->onestep, NULL, jacobian);
    flag |= CPIntegratorInit(c->onestep, rotate, 0.0, v) |
            CPIntegratorWFtolerances(c->onestep, weights);
    flag |= CPIntegratorSetUserData(c->onestep, c) | CPIntegratorRootInit(c->onestep, 1, roots);
    flag |= CPIntegratorSetProjector(c->onestep, c->P);
  }
  ck_assert_int_eq(flag, 0);
  for (int k = 0; k < 3; k++) {
    const sunrealtype tout = k == 0 ? 1.0 : 4.0;
    flag                   = c->multistep ? CPIntegratorEvolve(c->multistep, tout, v, &t, CV_NORMAL)
                                          : CPIntegratorEvolve(c->onestep, tout, v, &t, CV_NORMAL);
    ck_assert_int_eq(flag, k == 1 ? CV_ROOT_RETURN : CP_SUCCESS);
    for (int j = 0; j < 2; j++) y[2 * k + j] = entries(v)[j];
  }
  ck_assert_double_le(fabs(entries(v)[0] - cos(4.0)), 1.0e-4);
  flag = c->multistep ? CPIntegratorEvolve(c->multistep, NAN, v, &t, CV_NORMAL)
                      : CPIntegratorEvolve(c->onestep, NAN, v, &t, CV_NORMAL);
  ck_assert_int_eq(flag, CP_ILL_INPUT); /* a message */
  CPIntegratorFree(&c->multistep);
  CPIntegratorFree(&c->onestep);
  CPProjectorFree(&c->P);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  SUNMatDestroy(G);
  N_Vector *const all[] = {&v, &cons, &quad, &c->own};
  for (int k = 0; k < 4; k++) N_VDestroy(*all[k]);
}

static int exists(int method, int where) {
  if (where == QUADRATURE) return method == BDF || method == ADAMS;
  return where != J_MATRIX || method != DOP853;
}

START_TEST(an_integrator_called_by_its_own_functions_refuses_and_goes_on_unchanged) {
  const int method = _i / NONE, where = _i % NONE;
  sunrealtype alone[6], disturbed[6];
  Circle quiet = {.where = NONE}, loud = {.where = where};
  run_circle(method, &quiet, alone);
  run_circle(method, &loud, disturbed);
  ck_assert_int_eq(loud.calls > 0, exists(method, where));
  ck_assert_int_eq(loud.others, 0);
  for (int k = 0; k < 6; k++) ck_assert_double_eq(alone[k], disturbed[k]);
}
END_TEST

/* ---- a system on a circle, by coordinates ---- */

enum { FORCES, MASS, ROWS, GAPS, SYSTEM_ROOTS, SYSTEM_NONE };

typedef struct {
  int where, calls, others, answers;
  CPMech mech;
  CPIntegrator mem;
  N_Vector y;
} Bead;

static void call_system(Bead *b, int where) {
  sunrealtype t = 0.0, a[2];
  if (b->where != where || b->calls > 100) return;
  CPMechOutput out  = {CP_SIZED(CPMechOutput), .udot = a};
  const int flags[] = {CPIntegratorEvolve(b->mem, 9.0, b->y, &t, CV_ONE_STEP),
                       CPMechSetActive(b->mech, NULL),
                       CPMechSetUserData(b->mech, NULL),
                       CPMechAttach(b->mech, b->mem, 0.0, b->y),
                       CPMechEvaluate(b->mech, 0.0, b->y, &out),
                       CPMechAccelerations(b->mech, 0.0, b->y, a, NULL),
                       CPMechRhs(0.0, b->y, b->y, b->mech),
                       CPProjectorProject(CPMechGetProjector(b->mech), 0.0, b->y, NULL)};
  const int refused = where == SYSTEM_ROOTS ? 4 : 8; /* Root functions may ask for quantities. */
  for (int k = 0; k < refused; k++) b->others += flags[k] != CP_REENTERED;
  for (int k = refused; k < 8; k++) b->answers += flags[k] == CP_SUCCESS;
  b->calls++;
}

static int bead_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *data) {
  (void)t, (void)q;
  call_system(data, MASS);
  for (int j = 0; j < 2; j++) SM_ELEMENT_D(M, j, j) = 1.0;
  return 0;
}

static int bead_forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z;
  call_system(data, FORCES);
  f[1] = -1.0;
  return 0;
}

static int bead_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *data) {
  (void)t;
  call_system(data, ROWS);
  for (int j = 0; j < 2; j++) SM_ELEMENT_D(A, 0, j) = q[j];
  return 0;
}

static int bead_gap(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *data) {
  (void)t;
  call_system(data, GAPS);
  p[0] = 0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0);
  return 0;
}

static int bead_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,
                  void *data) {
  (void)t, (void)q, (void)data;
  b[0] = -(u[0] * u[0] + u[1] * u[1]);
  return 0;
}

static int bead_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *mech) {
  (void)t;
  call_system(CPMechGetUserData(mech), SYSTEM_ROOTS);
  g[0] = entries(y)[0] + 9.0;
  return 0;
}

static void run_bead(Bead *b, sunrealtype *end) {
  const CPEquations model = {CP_SIZED(CPEquations), .nu = 2,        .np = 1,       .M = bead_mass,
                             .f = bead_forces,      .A = bead_rows, .p = bead_gap, .b = bead_b};
  MessageLog log          = {0};
  N_Vector y              = VECTOR(1.0, 0.0, 0.0, 0.0);
  sunrealtype t           = 0.0;
  b->y                    = vector_copy(y);
  b->mech                 = create_mech(&model, y, test_context);
  b->mem                  = CPIntegratorCreate("BDF", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(b->mech), message_log, &log);
  CPObjectSetErrHandlerFn(CP_OBJECT(b->mem), message_log, &log);
  ck_assert_int_eq(CPMechSetUserData(b->mech, b), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(b->mech, b->mem, 0.0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(b->mem, 1.0e-6, 1.0e-6), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorRootInit(b->mem, 1, bead_roots), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(b->mem, 1.0, y, &t, CV_NORMAL), CP_SUCCESS);
  for (int k = 0; k < 4; k++) end[k] = entries(y)[k];
  CPIntegratorFree(&b->mem);
  CPMechFree(&b->mech);
  N_VDestroy(y);
  N_VDestroy(b->y);
}

START_TEST(a_system_called_by_its_own_functions_refuses_and_goes_on_unchanged) {
  sunrealtype alone[4], disturbed[4];
  Bead quiet = {.where = SYSTEM_NONE}, loud = {.where = _i};
  run_bead(&quiet, alone);
  run_bead(&loud, disturbed);
  ck_assert_int_gt(loud.calls, 0);
  ck_assert_int_eq(loud.others, 0);
  if (_i != SYSTEM_ROOTS) /* whose evaluations leave other factors behind */
    for (int k = 0; k < 4; k++) ck_assert_double_eq(alone[k], disturbed[k]);
  else ck_assert_int_gt(loud.answers, 0);
}
END_TEST

/* ---- contacts ---- */

static int law_calls, law_others, event_calls, event_others, event_answers;

static int calling_laws(int i, CPContactLaw *law, void *user_data) {
  Run *run = user_data;
  sunrealtype t, force[3];
  (void)i, (void)law;
  if (run->session) law_others += CPSessionRun(run->session, 9.0, run->y, &t) != CP_REENTERED;
  law_others +=
      CPContactEvaluate(run->contact, 0.0, run->y, NULL, force, NULL, NULL) != CP_REENTERED;
  law_others += CPContactSetLawFn(run->contact, NULL, NULL) != CP_REENTERED;
  law_calls++;
  return 0;
}

static int calling_event(const CPContactEvent *event, void *user_data) {
  Run *run = user_data;
  sunrealtype t, force[3];
  (void)event;
  event_others += CPSessionRun(run->session, 9.0, run->y, &t) != CP_REENTERED;
  event_others += CPSessionStep(run->session, 9.0, run->y, &t) != CP_REENTERED;
  event_others += CPContactSetTimeStepping(run->contact, 0, 0) != CP_REENTERED;
  event_others += CPSessionStart(run->session, 0.0, run->y, 9.0) != CP_REENTERED;
  event_answers +=
      CPContactEvaluate(run->contact, 1.0, run->y, NULL, force, NULL, NULL) == CP_SUCCESS;
  event_calls++;
  return 0;
}

START_TEST(contacts_called_by_their_own_functions_refuse) {
  const Body body              = {.npoints = 1, .m = 1, .J = 1, .g = 10};
  const CPEquations model      = floor_body_model(&body);
  const CPContactPoint point[] = {
      {CP_SIZED(CPContactPoint), .name = "foot", .normal = 0, .law.restitution = 0.5}};
  const sunrealtype y0[] = {0, 1, 0, 0, 0, 0};
  law_calls = law_others = event_calls = event_others = event_answers = 0;
  Run *run = run_create(&model, (void *)&body, 1, point, y0);
  ck_assert_int_eq(CPContactSetLawFn(run->contact, calling_laws, run), CP_SUCCESS);
  ck_assert_int_eq(CPContactSetEventFn(run->contact, calling_event, run), CP_SUCCESS);
  ck_assert_int_eq(run_attach(run, _i, 1.0e-6), CP_SUCCESS);
  run_to(run, 1.0); /* the first impact is at sqrt(0.2), the second one as long after it */
  ck_assert_int_eq(event_calls, 2 - (2.0 * sqrt(0.2) > 1.0));
  ck_assert_int_gt(law_calls, 0);
  ck_assert_int_eq(law_others, 0);
  ck_assert_int_eq(event_others, 0);
  ck_assert_int_eq(event_answers, event_calls);
  run_free(&run);
}
END_TEST

TEST_SUITE(reentrance) {
  Suite *suite = suite_create("contact/reentrance");
  TCase *tcase = tcase_create("reentrance");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, an_integrator_called_by_its_own_functions_refuses_and_goes_on_unchanged,
                      0, METHODS * NONE);
  tcase_add_loop_test(tcase, a_system_called_by_its_own_functions_refuses_and_goes_on_unchanged, 0,
                      SYSTEM_NONE);
  tcase_add_loop_test(tcase, contacts_called_by_their_own_functions_refuse, 0, METHODS);
  suite_add_tcase(suite, tcase);
  return suite;
}
