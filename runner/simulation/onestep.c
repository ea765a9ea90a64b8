/* Runge-Kutta methods: CPOneStep. */
#include "integrator.h"

#include <arkode/arkode.h>
#include <arkode/arkode_arkstep.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  Problem *problem;
  CPOneStepMem mem;
  int order;
} OneStep;

#if SUNDIALS_VERSION_MAJOR >= 7
#define SET_LINEAR_SOLVER ARKodeSetLinearSolver
#else
#define SET_LINEAR_SOLVER ARKStepSetLinearSolver
#endif

static int start_ode(OneStep *s) {
  Problem *p           = s->problem;
  const CPModel *model = p->model;
  int flag             = CPOneStepInit(s->mem, model->f, 0, model->y0);
  if (!flag) flag = CPOneStepSetUserData(s->mem, model->data);
  if (!flag && p->P) flag = CPOneStepSetProjector(s->mem, p->P);
  void *arkode = CPOneStepGetARKodeMem(s->mem);
  if (!flag && arkode && p->linear) flag = SET_LINEAR_SOLVER(arkode, p->linear, p->J);
  return flag;
}

static int set_roots(OneStep *s) {
  const CPModel *model = s->problem->model;
  if (model->nroots == 0) return 0;
  const int flag = CPOneStepRootInit(s->mem, model->nroots, model->type->roots);
  return flag ? flag : CPOneStepSetRootDirection(s->mem, model->direction);
}

static void destroy(void *self) {
  OneStep *s = self;
  if (!s) return;
  CPOneStepFree(&s->mem);
  free(s);
}

static int create(Problem *p, void **self, char *message) {
  OneStep *s = calloc(1, sizeof *s);
  if (s) s->mem = CPOneStepCreate(p->settings.method.table, p->ctx);
  if (!s || !s->mem) {
    destroy(s);
    snprintf(message, RUN_TEXT, "%s cannot be used", p->settings.method.name);
    return CP_ILL_INPUT;
  }
  *self      = s;
  s->problem = p;
  int flag   = CPOneStepSetErrHandlerFn(s->mem, integrator_message, p);
  if (!flag) flag = p->mech ? CPMechAttachOneStep(p->mech, s->mem, 0, p->model->y0) : start_ode(s);
  if (!flag) flag = CPOneStepSStolerances(s->mem, p->settings.rtol, p->settings.atol);
  if (!flag) flag = set_roots(s);
  if (!flag) flag = CPOneStepSetMaxStep(s->mem, p->settings.max_step);
  if (!flag) flag = CPOneStepGetMethod(s->mem, NULL, &s->order, NULL, NULL);
  return flag;
}

static int stop_at(void *self, sunrealtype t) {
  OneStep *s = self;
  return CPOneStepSetStopTime(s->mem, t);
}

static int step(void *self, sunrealtype t_end, N_Vector y, sunrealtype *t) {
  OneStep *s = self;
  return CPOneStepEvolve(s->mem, t_end, y, t, CV_ONE_STEP);
}

static int interpolate(void *self, sunrealtype t, N_Vector y) {
  OneStep *s = self;
  return CPOneStepGetDky(s->mem, t, 0, y);
}

static int roots(void *self, int *found) {
  OneStep *s = self;
  return CPOneStepGetRootInfo(s->mem, found);
}

static int restart(void *self, sunrealtype t, N_Vector y) {
  OneStep *s = self;
  return CPOneStepReInit(s->mem, t, y);
}

static void newest(void *self, sunrealtype *h, int *order) {
  OneStep *s           = self;
  CPOneStepStats stats = {0};
  CPOneStepGetStats(s->mem, &stats);
  *h     = stats.hlast;
  *order = s->order;
}

static void count(void *self, RunResult *r) {
  OneStep *s           = self;
  CPOneStepStats stats = {0};
  if (CPOneStepGetStats(s->mem, &stats)) return;
  r->steps               = stats.nst;
  r->rejected_error      = stats.netf;
  r->rejected_projection = stats.nprojfails;
  r->rejected_rhs        = stats.nrhsfails;
  r->rejected_solve      = stats.nsolvefails;
  r->rhs                 = stats.nfe;
  r->jacobians           = stats.njev;
  r->factorisations      = stats.nlinsetups;
  r->projections         = stats.nproj;
}

static const char *message(void *self) {
  OneStep *s = self;
  return CPOneStepGetLastMessage(s->mem);
}

const IntegratorKind onestep_kind = {.create      = create,
                                     .destroy     = destroy,
                                     .stop_at     = stop_at,
                                     .step        = step,
                                     .interpolate = interpolate,
                                     .roots       = roots,
                                     .restart     = restart,
                                     .newest      = newest,
                                     .count       = count,
                                     .message     = message};
