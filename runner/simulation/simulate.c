#include "simulate.h"

#include "integrator.h"
#include "observe.h"

#include "../clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  Problem problem;
  RunInfo info;
  Observer observer;
  const IntegratorKind *kind;
  void *integrator;
  Listener *listener;
  RunResult *result;
  N_Vector y, between;  /* newest state; output within a step */
  sunrealtype t, t_end; /* of y */
  long next;            /* output */
  int next_stop;
  RunResult before; /* counters of what was before the newest start */
  long attempts;    /* before the newest step */
} Run;

static double cpu_seconds(void) { return clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }

static int fail(Run *run, int flag, const char *text) {
  RunResult *r = run->result;
  r->ending    = RUN_FAILED;
  r->flag      = flag;
  if (text != r->message) snprintf(r->message, RUN_TEXT, "%s", text);
  return -1;
}

static int fail_integrator(Run *run, int flag) {
  return fail(run, flag, run->kind->message(run->integrator));
}

/* ---------------------------------------------------------------------------------------- telling -- */

static int tell_sample(Run *run, sunrealtype t, N_Vector y) {
  Sample sample;
  observe(&run->observer, t, y, &sample);
  run->result->samples++;
  return run->listener->sample(run->listener, &sample);
}

/* Counters since t = 0, added to those of total */
static void add_counts(const Run *run, RunResult *total) {
  RunResult newest = {0};
  run->kind->count(run->integrator, &newest);
  result_add_counts(&newest, &run->before);
  result_add_counts(total, &newest);
}

static int tell_step(Run *run) {
  Step step     = {.t = run->t};
  RunResult all = {0};
  sunrealtype h = 0;
  run->kind->newest(run->integrator, &h, &step.order);
  add_counts(run, &all);
  const long attempts = all.steps + rejections(&all);
  step.h              = h;
  step.attempts       = attempts - run->attempts;
  run->attempts       = attempts;
  return run->listener->step(run->listener, &step);
}

static sunrealtype output_time(const Run *run, long k) {
  const long outputs = run->problem.settings.outputs;
  return k == outputs ? run->t_end : run->t_end * (sunrealtype)k / (sunrealtype)outputs;
}

/* All that are due up to t, the end of the newest step */
static int tell_outputs(Run *run) {
  const long outputs = run->problem.settings.outputs;
  if (outputs == 0) return tell_sample(run, run->t, run->y);
  for (; run->next <= outputs && output_time(run, run->next) <= run->t; run->next++) {
    const sunrealtype t = output_time(run, run->next);
    int flag            = 0;
    if (t < run->t) flag = run->kind->interpolate(run->integrator, t, run->between);
    if (flag) return fail_integrator(run, flag);
    if (tell_sample(run, t, t < run->t ? run->between : run->y)) return -1;
  }
  return 0;
}

static int tell_roots(Run *run, const int *found) {
  for (int i = 0; i < run->problem.model->nroots; i++) {
    const RunEvent event = {
        .kind = EVENT_ROOT, .t = run->t, .root = i, .direction = found[i] > 0 ? 1 : -1};
    if (!found[i]) continue;
    run->result->events++;
    if (run->listener->event(run->listener, &event)) return -1;
  }
  return 0;
}

/* ----------------------------------------------------------------------------- stops and events -- */

static int set_stop(Run *run) {
  const CPModel *model = run->problem.model;
  while (run->next_stop < model->nstops && model->stop[run->next_stop] <= run->t) run->next_stop++;
  const bool kink = run->next_stop < model->nstops && model->stop[run->next_stop] < run->t_end;
  const int flag =
      run->kind->stop_at(run->integrator, kink ? model->stop[run->next_stop] : run->t_end);
  return flag ? fail_integrator(run, flag) : 0;
}

static int restart(Run *run) {
  RunResult all = {0};
  add_counts(run, &all);
  run->before    = all;
  const int flag = run->kind->restart(run->integrator, run->t, run->y);
  return flag ? fail_integrator(run, flag) : set_stop(run);
}

static int at_roots(Run *run) {
  const CPModel *model          = run->problem.model;
  int found[CP_MODEL_MAX_ROOTS] = {0};
  const int flag                = run->kind->roots(run->integrator, found);
  if (flag) return fail_integrator(run, flag);
  if (tell_roots(run, found)) return -1;
  if (!model->type->event) return 0;
  if (model->type->event(model, run->problem.mech, run->t, run->y, found))
    return fail(run, 0, "the model's event function ended the run");
  return restart(run);
}

static int at_stop(Run *run) {
  const RunEvent event = {.kind = EVENT_STOP, .t = run->t, .root = -1};
  if (run->t >= run->t_end) return 0;
  run->result->events++;
  if (run->listener->event(run->listener, &event)) return -1;
  return restart(run);
}

/* -------------------------------------------------------------------------------------- the run -- */

static int one_step(Run *run) {
  sunrealtype t      = run->t;
  const double start = cpu_seconds();
  const int flag     = run->kind->step(run->integrator, run->t_end, run->y, &t);
  run->result->seconds += cpu_seconds() - start;
  run->t = t;
  if (flag < 0) return fail_integrator(run, flag);
  if (run->problem.settings.steps && tell_step(run)) return -1;
  if (tell_outputs(run)) return -1;
  if (flag == CV_ROOT_RETURN) return at_roots(run);
  return flag == CV_TSTOP_RETURN ? at_stop(run) : 0;
}

/* An event so close to the end that no step fits between */
static bool is_at_end(const Run *run) {
  return run->t_end - run->t <= 100 * SUN_UNIT_ROUNDOFF * fabs(run->t_end);
}

static int march(Run *run) {
  N_VScale(1, run->problem.model->y0, run->y);
  if (tell_sample(run, 0, run->y) || set_stop(run)) return -1;
  run->next = 1;
  while (!is_at_end(run))
    if (one_step(run)) return -1;
  run->t = run->t_end;
  return run->problem.settings.outputs ? tell_outputs(run) : 0;
}

static int create(Run *run, const RunSettings *settings) {
  Problem *p    = &run->problem;
  char *message = run->result->message;
  if (problem_create(p, settings, message) ||
      observer_create(&run->observer, p, &run->info, message))
    return fail(run, RUN_FLAG_USAGE, message);
  run->t_end   = p->settings.t_end;
  run->kind    = p->settings.method.lmm ? &multistep_kind : &onestep_kind;
  run->y       = N_VClone(p->model->y0);
  run->between = N_VClone(p->model->y0);
  if (!run->y || !run->between) return fail(run, CP_MEM_FAIL, "no memory for the state");
  snprintf(run->info.method, METHOD_NAME, "%s", p->settings.method.name);
  const int flag = run->kind->create(p, &run->integrator, message);
  if (!flag) return 0;
  const char *reason = run->integrator ? run->kind->message(run->integrator) : message;
  return fail(run, flag, reason[0] || !p->mech ? reason : CPMechGetLastMessage(p->mech));
}

static void finish(Run *run) {
  const Problem *p  = &run->problem;
  RunResult *r      = run->result;
  r->t              = run->t;
  r->rank           = run->observer.rank;
  r->unique         = run->observer.unique;
  r->constraints    = p->mech ? run->observer.nlambda : run->info.nv;
  sunindextype rank = -1;
  if (p->P && !CPProjectorGetRank(p->P, &rank)) r->rank = (long)rank;
  if (!run->integrator) return;
  add_counts(run, r);
  if (p->mech) result_count_mech(p->mech, r);
}

static void destroy(Run *run) {
  if (run->integrator) run->kind->destroy(run->integrator);
  if (run->y) N_VDestroy(run->y);
  if (run->between) N_VDestroy(run->between);
  observer_free(&run->observer);
  problem_free(&run->problem);
}

/* The reference of some models takes longer than the run: the result is told before it is sought, and then again */
static void compare(Run *run) {
  run->result->error = CPModelError(run->problem.model, run->t, run->y);
  run->listener->end(run->listener, run->result);
}

void simulate(const RunSettings *settings, Listener *listener, RunResult *result) {
  Run run        = {.listener = listener, .result = result};
  *result        = (RunResult){.ending = RUN_DONE, .rank = -1, .error = NAN};
  const int flag = create(&run, settings) || listener->begin(listener, &run.info) || march(&run);
  finish(&run);
  listener->end(listener, result);
  if (!flag && run.info.known && !settings->unjudged) compare(&run);
  destroy(&run);
}
