#include "integrator.h"

#include "../options.h"

#include <stdio.h>

/* Receives the integrator's messages: the first warnings go to stderr, errors are kept by GetLastMessage. */
static void take_message(int code, const char *function, const char *text, void *data) {
  enum { MOST_WARNINGS = 5 };
  Problem *p = data;
  (void)function;
  if (code != CV_WARNING || p->settings.silent) return;
  if (++p->warnings <= MOST_WARNINGS) complain("warning: %s", text);
  else if (p->warnings == MOST_WARNINGS + 1)
    complain("warning: there are more, which are not shown");
}

/* -------------------------------------------------------------------------------- life cycle -- */

static int start_method(Integrator *s, sunrealtype t, N_Vector y) {
  Problem *p           = s->problem;
  const CPModel *model = p->model;
  const double rtol = p->settings.rtol, atol = p->settings.atol;
  const CPIntegrator mem = s->mem;
  int flag               = CPIntegratorSetErrHandlerFn(mem, take_message, p);
  if (p->contact) {
    if (!flag) flag = CPContactAttach(p->contact, mem, t, y, rtol, atol);
  } else if (p->mech) {
    if (!flag) flag = CPMechAttach(p->mech, mem, t, y);
  } else {
    void *cvode = CPIntegratorGetCVodeMem(mem);
    if (!flag) flag = CPIntegratorInit(mem, model->f, t, y);
    if (!flag) flag = CPIntegratorSetUserData(mem, model->data);
    if (!flag && p->P) flag = CPIntegratorSetProjector(mem, p->P);
    if (!flag && cvode && p->linear) flag = CVodeSetLinearSolver(cvode, p->linear, p->J);
    if (!flag && cvode && p->iteration) flag = CPIntegratorSetNonlinearSolver(mem, p->iteration);
    if (!flag && cvode && p->settings.method.max_order > 0)
      flag = CVodeSetMaxOrd(cvode, p->settings.method.max_order);
  }
  if (!flag && !p->contact) flag = CPIntegratorSStolerances(mem, rtol, atol);
  if (!flag && model->nroots > 0)
    flag = CPIntegratorRootInit(mem, model->nroots, model->type->roots);
  if (!flag && model->nroots > 0) flag = CPIntegratorSetRootDirection(mem, model->direction);
  if (!flag && p->settings.max_step > 0) flag = CPIntegratorSetMaxStep(mem, p->settings.max_step);
  return flag;
}

static int start(Integrator *s, sunrealtype t, N_Vector y, char *message) {
  const Problem *p     = s->problem;
  const Method *method = &p->settings.method;
  s->mem               = CPIntegratorCreate(method->table, p->ctx);
  if (!s->mem) {
    snprintf(message, RUN_TEXT, "%s cannot be used, or there is no memory for it", method->name);
    return CP_MEM_FAIL;
  }
  const int flag     = start_method(s, t, y);
  const char *reason = integrator_message(s);
  if (flag)
    snprintf(message, RUN_TEXT, "%s",
             reason[0] || !p->mech ? reason : CPMechGetLastMessage(p->mech));
  return flag;
}

int integrator_create(Integrator *s, Problem *p, char *message) {
  *s = (Integrator){.problem = p};
  return start(s, 0, p->model->y0, message);
}

int integrator_change(Integrator *s, const Method *method, sunrealtype t, N_Vector y, char *message) {
  integrator_free(s);
  s->problem->settings.method = *method;
  return start(s, t, y, message);
}

void integrator_free(Integrator *s) { CPIntegratorFree(&s->mem); }

/* --------------------------------------------------------------------------------- the steps -- */

int integrator_stop_at(Integrator *s, sunrealtype t) { return CPIntegratorSetStopTime(s->mem, t); }

int integrator_step(Integrator *s, sunrealtype t_end, N_Vector y, sunrealtype *t) {
  if (s->problem->contact) return CPContactStep(s->problem->contact, t_end, y, t);
  return CPIntegratorEvolve(s->mem, t_end, y, t, CV_ONE_STEP);
}

int integrator_interpolate(Integrator *s, sunrealtype t, N_Vector y) {
  return CPIntegratorGetDky(s->mem, t, 0, y);
}

int integrator_roots(Integrator *s, int *found) { return CPIntegratorGetRootInfo(s->mem, found); }

int integrator_restart(Integrator *s, sunrealtype t, N_Vector y) {
  return CPIntegratorReInit(s->mem, t, y);
}

int integrator_pass_contacts(Integrator *s, sunrealtype t_end, N_Vector y, bool *restarted) {
  sunrealtype t    = 0; /* the time does not change */
  const int flag   = CPContactStep(s->problem->contact, t_end, y, &t);
  RunResult counts = {0};
  integrator_add_counts(s, &counts);
  *restarted = counts.steps == 0;
  return flag < 0 ? flag : 0;
}

const char *integrator_message(const Integrator *s) {
  if (s->problem->contact) return CPContactGetLastMessage(s->problem->contact);
  return CPIntegratorGetLastMessage(s->mem);
}

/* -------------------------------------------------------------------------------- statistics -- */

void integrator_newest(Integrator *s, sunrealtype *h, int *order) {
  CPIntegratorStats stats = {0};
  CPIntegratorGetStats(s->mem, &stats);
  CPIntegratorGetMethod(s->mem, NULL, order, NULL, NULL);
  *h = stats.hlast;
}

void integrator_add_counts(const Integrator *s, RunResult *total) {
  CPIntegratorStats stats = {0};
  if (!s->mem || CPIntegratorGetStats(s->mem, &stats)) return;
  total->steps += stats.nst;
  total->rejected_error += stats.netf;
  total->rejected_projection += stats.nprojfails;
  total->rejected_rhs += stats.nrhsfails;
  total->rejected_solve += stats.nsolvefails;
  total->rhs += stats.nfe;
  total->jacobians += stats.njev;
  total->factorisations += stats.nlinsetups;
  total->projections += stats.nproj;
}
