#include "fixture.h"
#include "support/mech_run.h"

#include <math.h>
#include <stdlib.h>

int at_rest(sunrealtype t, sunrealtype *g, void *data) {
  (void)t, (void)data;
  *g = 0;
  return 0;
}

/* --------------------------------------------------------------------------------------------- runs -- */

static int keep_event(const CPContactEvent *event, void *data) {
  Run *run = data;
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
  run->mech      = create_mech(model, run->y, test_context);
  ck_assert_ptr_nonnull(run->mech);
  ck_assert_int_eq(CPMechSetUserData(run->mech, user_data), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->mech), message_log, &run->log),
                   CP_SUCCESS);
  run->contact = CPContactCreate(run->mech, n, points);
  ck_assert_ptr_nonnull(run->contact);
  ck_assert_int_eq(CPContactSetEventFn(run->contact, keep_event, run), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->contact), message_log, &run->log),
                   CP_SUCCESS);
  return run;
}

static const char *const names[] = {"DOP853", "RADAU", "BDF", "ADAMS"};

sunrealtype asked_of(int method, sunrealtype tol) {
  const sunrealtype part = 0.3 * fmin(1.0, pow(2.0e4 * tol, 1.0 / 6.0));
  return tol * (method == BDF ? part / 3.0 : method == ADAMS ? part : 1.0);
}

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

CPContactPhase phase_of(CPContact contact, int i) {
  CPContactPhase phase[MAX_CONTACTS];
  ck_assert_int_eq(CPContactEvaluate(contact, 0, NULL, NULL, NULL, NULL, phase), CP_SUCCESS);
  return phase[i];
}

void run_watch(Run *run, int n, CVRootFn g, int *direction) {
  run->nroots = n, run->roots = g, run->direction = direction;
}

int with_sens(CPIntegrator integrator, const char *method, void *sens) {
  (void)method;
  return CPIntegratorSetSens(integrator, sens);
}

void run_differentiate(Run *run, const CPParameters *parameters) {
  ck_assert_ptr_nonnull(run->sens = CPSensCreate(parameters, run->y, test_context));
  ck_assert_int_eq(CPSensSetErrCon(run->sens, SUNTRUE), CP_SUCCESS);
}

void run_sensitivities(const Run *run, N_Vector *S) {
  const int flag = CPSensGetDky(run->sens, run->t, 0, S);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, run->log.text);
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
  if (run->sens)
    ck_assert_int_eq(CPSessionSetConfigFn(run->session, with_sens, run->sens), CP_SUCCESS);
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
  CPSensFree(&(*run)->sens);
  CPContactFree(&(*run)->contact);
  CPMechFree(&(*run)->mech);
  N_VDestroy((*run)->y);
  free(*run);
  *run = NULL;
}
