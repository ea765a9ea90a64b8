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
  static CPEquations name##_passed_on(CPEquations m) {                                            \
    m.M = name##_mass, m.f = name##_forces, m.p = name##_gaps, m.A = name##_rows, m.b = name##_b; \
    return m;                                                                                     \
  }

static const Body any = {.npoints = 1}; /* The functions are the same for all bodies. */
PASSED_ON(body, floor_body_model(&any))
PASSED_ON(ball, rolling_ball_model())
PASSED_ON(crank, clearance_crank_model())

CPEquations body_model(const Body *body) { return body_passed_on(floor_body_model(body)); }
CPEquations ball_model(void) { return ball_passed_on(rolling_ball_model()); }
CPEquations crank_model(void) { return crank_passed_on(clearance_crank_model()); }

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

Run *run_create(const CPEquations *model, void *user_data, int n, const CPContactPoint *points,
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
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->contact), message_log, &run->log),
                   CP_SUCCESS);
  return run;
}

static const char *const names[] = {"DOP853", "RADAU", "BDF", "ADAMS"};

CPSession session_of(CPContact contact, int method, sunrealtype rtol, sunrealtype atol) {
  CPSession session = CPSessionCreate(names[method], test_context);
  ck_assert_ptr_nonnull(session);
  ck_assert_int_eq(CPContactAttach(contact, session), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, rtol, atol, NULL), CP_SUCCESS);
  return session;
}

static int watched_roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  const Run *run = data;
  return run->roots(t, y, g, run->user_data);
}

static int at_watched(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Run *run = data;
  (void)session, (void)y;
  for (int i = 0; i < run->nroots; i++) run->found[i] = event->roots[i];
  return CP_STOP;
}

void run_watch(Run *run, int n, CVRootFn g, int *direction) {
  run->nroots = n, run->roots = g, run->direction = direction;
}

int run_attach(Run *run, int method, sunrealtype tol) {
  const CPEventSource watched = {.size      = sizeof watched,
                                 .name      = "watched",
                                 .data      = run,
                                 .nroots    = run->nroots,
                                 .roots     = watched_roots,
                                 .direction = run->direction,
                                 .handle    = at_watched};
  CPSessionFree(&run->session);
  run->session = session_of(run->contact, method, tol, tol);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->session), message_log, &run->log),
                   CP_SUCCESS);
  if (run->nroots > 0)
    ck_assert_int_eq(CPSessionAddSource(run->session, &watched, NULL), CP_SUCCESS);
  return CPSessionStart(run->session, 0, run->y, INFINITY);
}

Run *run_start(const CPEquations *model, void *user_data, int n, const CPContactPoint *points,
               const sunrealtype *y0, int method, sunrealtype tol) {
  Run *run       = run_create(model, user_data, n, points, y0);
  const int flag = run_attach(run, method, tol);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
  return run;
}

int run_solve(Run *run, sunrealtype tout) {
  return CPSessionRun(run->session, tout, run->y, &run->t);
}

int run_step(Run *run, sunrealtype tout) {
  return CPSessionStep(run->session, tout, run->y, &run->t);
}

CPIntegrator run_integrator(const Run *run) { return CPSessionGetIntegrator(run->session); }

void run_to(Run *run, sunrealtype tout) {
  const int flag = run_solve(run, tout);
  ck_assert_msg(flag == CP_SUCCESS, "%d at t = %.15g: %s", flag, run->t, run->log.text);
}

void run_compare(const Run *run, const Run *precise, sunrealtype bound, sunrealtype tol,
                 const char *what, int number) {
  for (int i = 0; i < (int)N_VGetLength(run->y); i++) {
    const sunrealtype error = fabs(entries(run->y)[i] - entries(precise->y)[i]);
    ck_assert_msg(error <= bound * tol, "%s %d, tol %g: component %d is off by %g tolerances", what,
                  number, tol, i, error / tol);
  }
}

void run_free(Run **run) {
  if (!*run) return;
  CPSessionFree(&(*run)->session);
  CPContactFree(&(*run)->contact);
  N_VDestroy((*run)->y);
  free(*run);
  *run = NULL;
}
