#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------- models of the catalogue -- */

static void *data_of(void *run) { return ((Run *)run)->user_data; }

/* A model's functions, which get the run in place of its data */
#define PASSED_ON(name, model)                                                                    \
  static int name##_mass(sunrealtype t, const sunrealtype *q, SUNMatrix M, void *run) {           \
    return (model).M(t, q, M, data_of(run));                                                      \
  }                                                                                               \
  static int name##_forces(sunrealtype t, const sunrealtype *q, const sunrealtype *u,             \
                           const sunrealtype *z, sunrealtype *f, void *run) {                     \
    return (model).f(t, q, u, z, f, data_of(run));                                                \
  }                                                                                               \
  static int name##_gaps(sunrealtype t, const sunrealtype *q, sunrealtype *p, void *run) {        \
    return (model).p(t, q, p, data_of(run));                                                      \
  }                                                                                               \
  static int name##_rows(sunrealtype t, const sunrealtype *q, SUNMatrix A, void *run) {           \
    return (model).A(t, q, A, data_of(run));                                                      \
  }                                                                                               \
  static int name##_b(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *b,  \
                      void *run) {                                                                \
    return (model).b(t, q, u, b, data_of(run));                                                   \
  }                                                                                               \
  static CPMechModel name##_passed_on(CPMechModel m) {                                            \
    m.M = name##_mass, m.f = name##_forces, m.p = name##_gaps, m.A = name##_rows, m.b = name##_b; \
    return m;                                                                                     \
  }

static const Body any = {.npoints = 1}; /* The functions are the same for all bodies. */
PASSED_ON(body, floor_body_model(&any))
PASSED_ON(ball, rolling_ball_model())
PASSED_ON(crank, clearance_crank_model())

CPMechModel body_model(const Body *body) { return body_passed_on(floor_body_model(body)); }
CPMechModel ball_model(void) { return ball_passed_on(rolling_ball_model()); }
CPMechModel crank_model(void) { return crank_passed_on(clearance_crank_model()); }

int at_rest(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 0;
  return 0;
}

/* --------------------------------------------------------------------------------------------- runs -- */

static int keep_event(const CPContactEvent *event, void *user_data) {
  Run *run = user_data;
  run->all++;
  if (run->nevents < MAX_EVENTS) run->event[run->nevents++] = *event;
  return 0;
}

Run *run_create(const CPMechModel *model, void *user_data, int n, const CPContactPoint *points,
                const sunrealtype *y0) {
  const sunindextype nq = model->nq ? model->nq : model->nu;
  Run *run              = calloc(1, sizeof *run);
  ck_assert_ptr_nonnull(run);
  run->user_data = user_data;
  run->y         = vector_of(nq + model->nu + model->nz, y0);
  run->contact   = CPContactCreate(model, n, points, run->y, test_context);
  ck_assert_ptr_nonnull(run->contact);
  ck_assert_int_eq(CPContactSetUserData(run->contact, run), CP_SUCCESS);
  ck_assert_int_eq(CPContactSetEventFn(run->contact, keep_event), CP_SUCCESS);
  ck_assert_int_eq(CPContactSetErrHandlerFn(run->contact, message_log, &run->log), CP_SUCCESS);
  return run;
}

int run_attach(Run *run, int method, sunrealtype tol) {
  if (method == DOP853 || method == RADAU) {
    run->onestep = CPIntegratorCreate(method == RADAU ? "RADAU" : "DOP853", test_context);
    ck_assert_ptr_nonnull(run->onestep);
    CPIntegratorSetErrHandlerFn(run->onestep, message_log, &run->log);
    const int flag = CPContactAttach(run->contact, run->onestep, 0, run->y, tol, tol);
    if (!flag) CPIntegratorSetMaxNumSteps(run->onestep, 100000);
    return flag;
  }
  run->multistep = CPIntegratorCreate(method == BDF ? "BDF" : "ADAMS", test_context);
  ck_assert_ptr_nonnull(run->multistep);
  CPIntegratorSetErrHandlerFn(run->multistep, message_log, &run->log);
  const int flag = CPContactAttach(run->contact, run->multistep, 0, run->y, tol, tol);
  if (!flag) CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(run->multistep), 100000);
  return flag;
}

Run *run_start(const CPMechModel *model, void *user_data, int n, const CPContactPoint *points,
               const sunrealtype *y0, int method, sunrealtype tol) {
  Run *run       = run_create(model, user_data, n, points, y0);
  const int flag = run_attach(run, method, tol);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
  return run;
}

int run_solve(Run *run, sunrealtype tout) {
  return CPContactSolve(run->contact, tout, run->y, &run->t);
}

void run_to(Run *run, sunrealtype tout) {
  const int flag = run_solve(run, tout);
  ck_assert_msg(flag == CP_SUCCESS, "%d at t = %.15g: %s", flag, run->t, run->log.text);
}

void run_free(Run **run) {
  if (!*run) return;
  CPIntegratorFree(&(*run)->multistep);
  CPIntegratorFree(&(*run)->onestep);
  if ((*run)->solver) SUNNonlinSolFree((*run)->solver);
  CPContactFree(&(*run)->contact);
  N_VDestroy((*run)->y);
  free(*run);
  *run = NULL;
}
