/* BDF and Adams: CPode. */
#include "integrator.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  Problem *problem;
  CPodeMem mem;
  void *cvode;
} Multistep;

static int start_ode(Multistep *s) {
  Problem *p           = s->problem;
  const CPModel *model = p->model;
  int flag             = CPodeInit(s->mem, model->f, 0, model->y0);
  if (!flag) flag = CVodeSetUserData(s->cvode, model->data);
  if (!flag && p->P) flag = CPodeSetProjector(s->mem, p->P);
  if (!flag && p->linear) flag = CVodeSetLinearSolver(s->cvode, p->linear, p->J);
  if (!flag && p->iteration) flag = CPodeSetNonlinearSolver(s->mem, p->iteration);
  if (!flag && p->settings.method.max_order > 0)
    flag = CVodeSetMaxOrd(s->cvode, p->settings.method.max_order);
  return flag;
}

static int set_roots(Multistep *s) {
  CPModel *model = s->problem->model;
  if (model->nroots == 0) return 0;
  const int flag = CVodeRootInit(s->cvode, model->nroots, model->type->roots);
  return flag ? flag : CVodeSetRootDirection(s->cvode, model->direction);
}

static void destroy(void *self) {
  Multistep *s = self;
  if (!s) return;
  CPodeFree(&s->mem);
  free(s);
}

static int create(Problem *p, void **self, char *message) {
  Multistep *s = calloc(1, sizeof *s);
  if (s) s->mem = CPodeCreate(p->settings.method.lmm, p->ctx);
  if (!s || !s->mem) {
    destroy(s);
    snprintf(message, RUN_TEXT, "no memory for the integrator");
    return CP_MEM_FAIL;
  }
  *self      = s;
  s->problem = p;
  s->cvode   = CPodeGetCVodeMem(s->mem);
  int flag   = CPodeSetErrHandlerFn(s->mem, integrator_message, p);
  if (!flag) flag = p->mech ? CPMechAttach(p->mech, s->mem, 0, p->model->y0) : start_ode(s);
  if (!flag) flag = CPodeSStolerances(s->mem, p->settings.rtol, p->settings.atol);
  if (!flag) flag = set_roots(s);
  if (!flag && p->settings.max_step > 0) flag = CVodeSetMaxStep(s->cvode, p->settings.max_step);
  return flag;
}

static int stop_at(void *self, sunrealtype t) {
  Multistep *s = self;
  return CVodeSetStopTime(s->cvode, t);
}

static int step(void *self, sunrealtype t_end, N_Vector y, sunrealtype *t) {
  Multistep *s = self;
  return CPode(s->mem, t_end, y, t, CV_ONE_STEP);
}

static int interpolate(void *self, sunrealtype t, N_Vector y) {
  Multistep *s = self;
  return CPodeGetDky(s->mem, t, 0, y);
}

static int roots(void *self, int *found) {
  Multistep *s = self;
  return CVodeGetRootInfo(s->cvode, found);
}

static int restart(void *self, sunrealtype t, N_Vector y) {
  Multistep *s = self;
  return CPodeReInit(s->mem, t, y);
}

static void newest(void *self, sunrealtype *h, int *order) {
  Multistep *s = self;
  CVodeGetLastStep(s->cvode, h);
  CVodeGetLastOrder(s->cvode, order);
}

static void count(void *self, RunResult *r) {
  Multistep *s = self;
  long int f = 0, differences = 0;
  CPodeProjStats projection = {0};
  CVodeGetNumSteps(s->cvode, &r->steps);
  CVodeGetNumErrTestFails(s->cvode, &r->rejected_error);
  CVodeGetNumStepSolveFails(s->cvode, &r->rejected_solve);
  CVodeGetNumRhsEvals(s->cvode, &f);
  if (s->problem->linear) {
    CVodeGetNumLinRhsEvals(s->cvode, &differences);
    CVodeGetNumJacEvals(s->cvode, &r->jacobians);
    CVodeGetNumLinSolvSetups(s->cvode, &r->factorisations);
  }
  r->rhs = f + differences;
  if (CPodeGetProjStats(s->mem, &projection)) return;
  r->projections         = projection.nproj;
  r->rejected_projection = projection.nprojfails;
  r->rejected_solve -= projection.nprojfails; /* CVODES takes these for its solver's */
}

static const char *message(void *self) {
  Multistep *s = self;
  return CPodeGetLastMessage(s->mem);
}

const IntegratorKind multistep_kind = {.create      = create,
                                       .destroy     = destroy,
                                       .stop_at     = stop_at,
                                       .step        = step,
                                       .interpolate = interpolate,
                                       .roots       = roots,
                                       .restart     = restart,
                                       .newest      = newest,
                                       .count       = count,
                                       .message     = message};
