#include "model_run.h"

#include <math.h>
#include <models/counters.h>
#include <models/plugin.h>
#include <stdlib.h>

CPPlugin *model_with(const char *name, const Setting *settings, int nsettings) {
  const CPPluginType *type = model_find(name);
  ck_assert_msg(type != NULL, "no model %s", name);
  return model_of(type, settings, nsettings);
}

CPPlugin *model_of(const CPPluginType *type, const Setting *settings, int nsettings) {
  char message[500];
  sunrealtype values[MODEL_MOST_PARAMETERS];
  for (int i = 0; i < type->nparameters; i++) values[i] = type->parameters[i].value;
  for (int i = 0; i < nsettings; i++) {
    const int changed = plugin_find_parameter(type, settings[i].name);
    ck_assert_msg(changed >= 0, "%s has no parameter %s", type->name, settings[i].name);
    values[changed] = settings[i].value;
  }
  CPPlugin *model = CPPluginCreate(type, values, test_context, message, sizeof message);
  ck_assert_msg(model != NULL, "%s", message);
  return model;
}

/* ---- the integrator ---- */

static void set_stop(ModelRun *run) { /* the next kink of the forces, if any */
  if (run->next_stop >= run->model->nstops) return;
  const sunrealtype stop = run->model->stop[run->next_stop];
  const int flag         = run->onestep ? CPIntegratorSetStopTime(run->onestep, stop)
                                        : CVodeSetStopTime(CPIntegratorGetCVodeMem(run->cpode), stop);
  ck_assert_int_eq(flag, 0);
}

static void create_multistep(ModelRun *run, int lmm, int *direction) {
  const CPPlugin *model = run->model;
  run->cpode            = CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  ck_assert(run->mech && run->cpode);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->cpode), message_log, &run->log),
                   CP_SUCCESS);
  ck_assert_msg(CPMechAttach(run->mech, run->cpode, 0, run->y) == CP_SUCCESS, "%s", run->log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(run->cpode, run->tol, run->tol), CP_SUCCESS);
  void *cvode_mem = CPIntegratorGetCVodeMem(run->cpode);
  ck_assert_int_eq(CVodeSetMaxNumSteps(cvode_mem, 1000000), CV_SUCCESS);
  if (model->nroots == 0) return;
  ck_assert_int_eq(CVodeRootInit(cvode_mem, model->nroots, model->type->roots), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetRootDirection(cvode_mem, direction), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetNoInactiveRootWarn(cvode_mem), CV_SUCCESS);
}

static void create_onestep(ModelRun *run, const int *direction) {
  const CPPlugin *model = run->model;
  run->onestep          = CPIntegratorCreate(model->stiff ? "RADAU" : "DOP853", test_context);
  ck_assert(run->mech && run->onestep);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->onestep), message_log, &run->log),
                   CP_SUCCESS);
  ck_assert_msg(CPMechAttach(run->mech, run->onestep, 0, run->y) == CP_SUCCESS, "%s", run->log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(run->onestep, run->tol, run->tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(run->onestep, -1), CP_SUCCESS);
  if (model->nroots == 0) return;
  /* the time during which the balls of the cradle overlap: a root function that changes its sign
   * twice in a step goes unnoticed */
  ck_assert_int_eq(CPIntegratorSetMaxStep(run->onestep, model->type->t_end / 100), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorRootInit(run->onestep, model->nroots, model->type->roots),
                   CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetRootDirection(run->onestep, direction), CP_SUCCESS);
}

ModelRun *model_run_create(const CPPlugin *model, int method, sunrealtype tol) {
  int direction[4] = {0};
  ModelRun *run    = calloc(1, sizeof *run);
  ck_assert_ptr_nonnull(run);
  run->model = model;
  run->tol   = tol;
  run->y     = vector_copy(model->y0);
  run->mech  = CPPluginMech(model);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(run->mech), message_log, &run->log),
                   CP_SUCCESS);
  for (int i = 0; i < model->nroots; i++) direction[i] = model->direction[i];
  if (method == ONE_STEP) create_onestep(run, direction);
  else create_multistep(run, method, direction);
  set_stop(run);
  return run;
}

void model_run_free(ModelRun **run) {
  CPIntegratorFree(&(*run)->cpode);
  CPIntegratorFree(&(*run)->onestep);
  CPMechFree(&(*run)->mech);
  N_VDestroy((*run)->y);
  free(*run);
  *run = NULL;
}

static long int steps_since_start(const ModelRun *run) {
  long int steps = 0;
  IntegratorCounters stats;
  if (run->onestep) {
    ck_assert_int_eq(integrator_counters(run->onestep, &stats), CP_SUCCESS);
    return stats.nst;
  }
  ck_assert_int_eq(CVodeGetNumSteps(CPIntegratorGetCVodeMem(run->cpode), &steps), CV_SUCCESS);
  return steps;
}

long int model_run_steps(const ModelRun *run) { return run->steps_before + steps_since_start(run); }

static void strike(ModelRun *run) {
  int found[4];
  ck_assert_int_lt(run->nevents, MODEL_RUN_EVENTS);
  run->event[run->nevents++] = run->t;
  ck_assert_int_eq(run->onestep ? CPIntegratorGetRootInfo(run->onestep, found)
                                : CVodeGetRootInfo(CPIntegratorGetCVodeMem(run->cpode), found),
                   0);
  ck_assert_int_eq(run->model->type->event(run->model, run->mech, run->t, run->y, found), 0);
}

static void start_anew(ModelRun *run) {
  run->steps_before = model_run_steps(run);
  ck_assert_int_eq(run->onestep ? CPIntegratorReInit(run->onestep, run->t, run->y)
                                : CPIntegratorReInit(run->cpode, run->t, run->y),
                   CP_SUCCESS);
  set_stop(run);
}

void model_run_to(ModelRun *run, sunrealtype t) {
  for (;;) {
    const int flag = run->onestep ? CPIntegratorEvolve(run->onestep, t, run->y, &run->t, CV_NORMAL)
                                  : CPIntegratorEvolve(run->cpode, t, run->y, &run->t, CV_NORMAL);
    ck_assert_msg(flag == CP_SUCCESS || flag == CV_ROOT_RETURN || flag == CV_TSTOP_RETURN,
                  "%s: %d at t = %g: %s", run->model->type->name, flag, run->t, run->log.text);
    if (flag == CP_SUCCESS) return;
    if (flag == CV_ROOT_RETURN) strike(run);
    if (flag == CV_TSTOP_RETURN) run->next_stop++;
    start_anew(run);
  }
}

sunrealtype model_run_violation(ModelRun *run) {
  CPMechOutput out = CP_INIT(CPMechOutput);
  ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
  ck_assert(isfinite(out.position) && isfinite(out.velocity));
  return fmax(out.position, out.velocity);
}

sunrealtype model_run_bound(const ModelRun *run, sunrealtype condition, sunrealtype size) {
  const sunrealtype steps = (sunrealtype)model_run_steps(run) / (run->onestep ? 1 : 6);
  return steps * condition * sqrt((sunrealtype)run->model->n) * (1 + size) * run->tol;
}
