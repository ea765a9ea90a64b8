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

static int start_multistep(Integrator *s, sunrealtype t, N_Vector y) {
  Problem *p           = s->problem;
  const CPModel *model = p->model;
  CPodeMem mem         = s->multistep;
  void *cvode          = CPodeGetCVodeMem(mem);
  int flag             = CPodeSetErrHandlerFn(mem, take_message, p);
  if (p->contact) {
    if (!flag) flag = CPContactAttach(p->contact, mem, t, y, p->settings.rtol, p->settings.atol);
  } else if (p->mech) {
    if (!flag) flag = CPMechAttach(p->mech, mem, t, y);
  } else {
    if (!flag) flag = CPodeInit(mem, model->f, t, y);
    if (!flag) flag = CVodeSetUserData(cvode, model->data);
    if (!flag && p->P) flag = CPodeSetProjector(mem, p->P);
    if (!flag && p->linear) flag = CVodeSetLinearSolver(cvode, p->linear, p->J);
    if (!flag && p->iteration) flag = CPodeSetNonlinearSolver(mem, p->iteration);
    if (!flag && p->settings.method.max_order > 0)
      flag = CVodeSetMaxOrd(cvode, p->settings.method.max_order);
  }
  if (!flag && !p->contact) flag = CPodeSStolerances(mem, p->settings.rtol, p->settings.atol);
  if (!flag && model->nroots > 0) flag = CPodeRootInit(mem, model->nroots, model->type->roots);
  if (!flag && model->nroots > 0) flag = CVodeSetRootDirection(cvode, p->model->direction);
  if (!flag && p->settings.max_step > 0) flag = CVodeSetMaxStep(cvode, p->settings.max_step);
  return flag;
}

static int start_onestep(Integrator *s, sunrealtype t, N_Vector y) {
  Problem *p           = s->problem;
  const CPModel *model = p->model;
  CPOneStepMem mem     = s->onestep;
  int flag             = CPOneStepSetErrHandlerFn(mem, take_message, p);
  if (p->contact) {
    if (!flag)
      flag = CPContactAttachOneStep(p->contact, mem, t, y, p->settings.rtol, p->settings.atol);
  } else if (p->mech) {
    if (!flag) flag = CPMechAttachOneStep(p->mech, mem, t, y);
  } else {
    if (!flag) flag = CPOneStepInit(mem, model->f, t, y);
    if (!flag) flag = CPOneStepSetUserData(mem, model->data);
    if (!flag && p->P) flag = CPOneStepSetProjector(mem, p->P);
  }
  if (!flag && !p->contact) flag = CPOneStepSStolerances(mem, p->settings.rtol, p->settings.atol);
  if (!flag && model->nroots > 0) flag = CPOneStepRootInit(mem, model->nroots, model->type->roots);
  if (!flag && model->nroots > 0) flag = CPOneStepSetRootDirection(mem, model->direction);
  if (!flag) flag = CPOneStepSetMaxStep(mem, p->settings.max_step);
  if (!flag) flag = CPOneStepGetMethod(mem, NULL, &s->order, NULL, NULL);
  return flag;
}

static int start(Integrator *s, sunrealtype t, N_Vector y, char *message) {
  const Problem *p     = s->problem;
  const Method *method = &p->settings.method;
  if (method->lmm) s->multistep = CPodeCreate(method->lmm, p->ctx);
  else s->onestep = CPOneStepCreate(method->table, p->ctx);
  if (!s->multistep && !s->onestep) {
    snprintf(message, RUN_TEXT, "%s cannot be used, or there is no memory for it", method->name);
    return CP_MEM_FAIL;
  }
  const int flag     = s->multistep ? start_multistep(s, t, y) : start_onestep(s, t, y);
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

void integrator_free(Integrator *s) {
  CPodeFree(&s->multistep);
  CPOneStepFree(&s->onestep);
}

/* --------------------------------------------------------------------------------- the steps -- */

int integrator_stop_at(Integrator *s, sunrealtype t) {
  return s->multistep ? CVodeSetStopTime(CPodeGetCVodeMem(s->multistep), t)
                      : CPOneStepSetStopTime(s->onestep, t);
}

int integrator_step(Integrator *s, sunrealtype t_end, N_Vector y, sunrealtype *t) {
  if (s->problem->contact) return CPContactStep(s->problem->contact, t_end, y, t);
  return s->multistep ? CPode(s->multistep, t_end, y, t, CV_ONE_STEP)
                      : CPOneStepEvolve(s->onestep, t_end, y, t, CV_ONE_STEP);
}

int integrator_interpolate(Integrator *s, sunrealtype t, N_Vector y) {
  return s->multistep ? CPodeGetDky(s->multistep, t, 0, y) : CPOneStepGetDky(s->onestep, t, 0, y);
}

int integrator_roots(Integrator *s, int *found) {
  return s->multistep ? CVodeGetRootInfo(CPodeGetCVodeMem(s->multistep), found)
                      : CPOneStepGetRootInfo(s->onestep, found);
}

int integrator_restart(Integrator *s, sunrealtype t, N_Vector y) {
  return s->multistep ? CPodeReInit(s->multistep, t, y) : CPOneStepReInit(s->onestep, t, y);
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
  return s->multistep ? CPodeGetLastMessage(s->multistep) : CPOneStepGetLastMessage(s->onestep);
}

/* -------------------------------------------------------------------------------- statistics -- */

void integrator_newest(Integrator *s, sunrealtype *h, int *order) {
  CPOneStepStats stats = {0};
  if (s->multistep) {
    void *cvode = CPodeGetCVodeMem(s->multistep);
    CVodeGetLastStep(cvode, h);
    CVodeGetLastOrder(cvode, order);
    return;
  }
  CPOneStepGetStats(s->onestep, &stats);
  *h     = stats.hlast;
  *order = s->order;
}

static void add_multistep(const Integrator *s, RunResult *r) {
  void *cvode               = CPodeGetCVodeMem(s->multistep);
  CPodeProjStats projection = {0};
  long int steps = 0, error = 0, solve = 0, f = 0, differences = 0, jacobians = 0, setups = 0;
  CVodeGetNumSteps(cvode, &steps);
  CVodeGetNumErrTestFails(cvode, &error);
  CVodeGetNumStepSolveFails(cvode, &solve);
  CVodeGetNumRhsEvals(cvode, &f);
  if (s->problem->linear) {
    CVodeGetNumLinRhsEvals(cvode, &differences);
    CVodeGetNumJacEvals(cvode, &jacobians);
    CVodeGetNumLinSolvSetups(cvode, &setups);
  }
  CPodeGetProjStats(s->multistep, &projection);
  r->steps += steps;
  r->rejected_error += error;
  r->rejected_projection += projection.nprojfails;
  /* CVODES counts these as failures of its solver */
  r->rejected_solve += solve - projection.nprojfails;
  r->rhs += f + differences;
  r->jacobians += jacobians;
  r->factorisations += setups;
  r->projections += projection.nproj;
}

static void add_onestep(const Integrator *s, RunResult *r) {
  CPOneStepStats stats = {0};
  CPOneStepGetStats(s->onestep, &stats);
  r->steps += stats.nst;
  r->rejected_error += stats.netf;
  r->rejected_projection += stats.nprojfails;
  r->rejected_rhs += stats.nrhsfails;
  r->rejected_solve += stats.nsolvefails;
  r->rhs += stats.nfe;
  r->jacobians += stats.njev;
  r->factorisations += stats.nlinsetups;
  r->projections += stats.nproj;
}

void integrator_add_counts(const Integrator *s, RunResult *total) {
  if (s->multistep) add_multistep(s, total);
  if (s->onestep) add_onestep(s, total);
}
