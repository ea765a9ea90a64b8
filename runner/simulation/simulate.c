#include "simulate.h"

#include "../clock.h"
#include "../options.h"
#include "estimate.h"
#include "observe.h"

#include <cpodes/cpodes_session.h>
#include <math.h>
#include <models/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  Problem problem;
  Method asked; /* the method that the settings name */
  RunInfo info;
  Rows *track;       /* the states at the ends of the run's steps and at outputs, or NULL */
  Rows *jumps;       /* if there is a track: times at which the state jumps */
  const Rows *times; /* times of the outputs, in the first column; NULL: equally spaced */
  Observer observer;
  CPSession session;
  int model_source; /* the source of the model's own events and kinks */
  Listener *listener;
  RunResult *result;
  N_Vector y, between;  /* the newest state; an output within a step, and the reference */
  sunrealtype t, t_end; /* t belongs to y */
  sunrealtype *outputs; /* their times, the first at the start */
  long next;            /* index of the next one */
  long attempts;        /* number of attempts before the newest step */
  bool time_stepping;   /* is time stepping under way? */
  bool aborted;         /* a listener has ended the run */
  bool observed;        /* outputs have evaluated the model since work_since */
  bool jumped;          /* the state has jumped at an event whose time depends on the motion */
  /* CPU time and work when the session was called, or when a function of it returned */
  double since, work_since;
} Run;

static int fail(Run *run, int flag, const char *text) {
  RunResult *r = run->result;
  r->ending    = RUN_FAILED;
  r->flag      = flag;
  if (text != r->message) snprintf(r->message, RUN_TEXT, "%s", text);
  return -1;
}

static int abort_run(Run *run) {
  run->aborted = true;
  return -1;
}

/* -------------------------------------------------------------------------------- statistics -- */

/* Evaluations of the forces of a CPMech, with M and A or by udot */
static long mech_evaluations(CPMech mech) {
  const long forces        = count_of(CP_OBJECT(mech), "force_evals");
  const long accelerations = count_of(CP_OBJECT(mech), "accelerations");
  return forces > accelerations ? forces : accelerations;
}

static void add_counts(const Run *run, RunResult *total) {
  const CPObject s = CP_OBJECT(run->session);
  if (!s) return;
  total->steps += count_of(s, "steps");
  total->rejected_error += count_of(s, "err_test_fails");
  total->rejected_projection += count_of(s, "projection_fails");
  total->rejected_rhs += count_of(s, "rhs_fails");
  total->rejected_solve += count_of(s, "nonlin_conv_fails");
  total->rhs += count_of(s, "rhs_evals");
  total->jacobians += count_of(s, "jac_evals");
  total->factorisations += count_of(s, "lin_setups");
  total->projections += count_of(s, "projections");
}

/* The cost so far, in units of evaluations of accelerations: evaluations of p, partial derivatives
 * and factorisations count as one, and an attempted step as another four. Over 18 models and six
 * methods, CPU time agrees with it to 20 % on average. */
static double count_work(const Run *run) {
  const double step = 4;
  const CPMech mech = run->problem.mech;
  const CPObject m  = CP_OBJECT(mech);
  const CPObject s  = CP_OBJECT(run->session);
  const long evaluations =
      mech ? mech_evaluations(mech) + count_of(m, "position_constraint_evals") +
                 count_of(m, "partials_evals") + count_of(m, "newton_factorizations") +
                 count_of(m, "projection_factorizations")
           : count_of(s, "rhs_evals") + count_of(s, "projections") + count_of(s, "jac_evals") +
                 count_of(s, "lin_setups");
  return (double)evaluations + step * (double)count_of(s, "step_attempts");
}

/* The session works from here on. The counters are read outside of its time, and only if an output may have changed them. */
static void leave(Run *run) {
  if (run->observed) run->work_since = count_work(run);
  run->observed = false;
  run->since    = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* It has worked up to here; what follows is output. */
static void enter(Run *run) {
  run->result->seconds += clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - run->since;
  const double work = count_work(run);
  run->result->work += work - run->work_since;
  run->work_since = work;
}

/* ------------------------------------------------------------------------------- the records -- */

static int tell_sample(Run *run, sunrealtype t, N_Vector y) {
  Sample sample;
  observe(&run->observer, t, y, &sample);
  run->observed = true;
  run->result->samples++;
  return run->listener->sample(run->listener, &sample) ? abort_run(run) : 0;
}

/* A step of time stepping is of order one. */
static int tell_step(Run *run, sunrealtype before) {
  Step step              = {.t = run->t};
  const CPIntegrator mem = CPSessionGetIntegrator(run->session);
  if (!run->problem.settings.steps) return 0;
  CPObjectGetStat(CP_OBJECT(mem), "last_step", &step.h);
  CPIntegratorGetMethod(mem, NULL, &step.order, NULL, NULL);
  const long attempts = count_of(CP_OBJECT(run->session), "step_attempts");
  step.attempts       = attempts - run->attempts;
  run->attempts       = attempts;
  if (run->time_stepping) step.h = run->t - before, step.order = 1, step.attempts = 1;
  return run->listener->step(run->listener, &step) ? abort_run(run) : 0;
}

static int tell_event(Run *run, RunEvent event) {
  run->result->events++;
  return run->listener->event(run->listener, &event) ? abort_run(run) : 0;
}

/* Sends what each contact did at the newest event. */
static int tell_contacts(Run *run) {
  const CPPlugin *model = run->problem.model;
  int told              = 0;
  for (int i = 0; i < model->ncontacts; i++) {
    CPContactEvent e = CP_INIT(CPContactEvent);
    if (CPContactGetEvent(run->problem.contact, i, &e)) continue;
    RunEvent event = {.kind        = EVENT_CONTACT,
                      .t           = run->t,
                      .root        = i,
                      .before      = e.before,
                      .after       = e.after,
                      .struck      = e.struck != 0,
                      .accumulated = e.accumulated != 0};
    snprintf(event.contact, sizeof event.contact, "%s", e.name ? e.name : "");
    if (!e.struck && e.before == e.after) continue;
    if (tell_event(run, event)) return -1;
    told = 1;
  }
  run->result->contact_events += told;
  return 0;
}

/* Sends the begin or the end of an interval of time stepping. */
static int tell_time_stepping(Run *run) {
  if (!run->problem.contact || run->time_stepping == is_time_stepping(run->problem.contact))
    return 0;
  run->time_stepping = !run->time_stepping;
  return tell_event(run, (RunEvent){.kind      = EVENT_TIME_STEPPING,
                                    .t         = run->t,
                                    .root      = -1,
                                    .direction = run->time_stepping ? 1 : -1});
}

/* ------------------------------------------------------------------- what the session calls -- */

/* Sends all outputs that are due up to t, the end of the newest step. They are the runner's, so that its work and time are those of the
 * integration alone. */
static int tell_outputs(Run *run, N_Vector y) {
  const long outputs = run->problem.settings.outputs;
  if (outputs == 0) return tell_sample(run, run->t, y);
  for (; run->next <= outputs && run->outputs[run->next] <= run->t; run->next++) {
    const sunrealtype t = run->outputs[run->next];
    const int flag = t < run->t ? CPSessionGetDky(run->session, t, 0, run->between) : CP_SUCCESS;
    if (flag)
      return fail(run, flag, CPObjectGetLastMessage(CP_OBJECT(run->session))), abort_run(run);
    if (run->track && t < run->t) track_take(run->track, t, run->between);
    if (tell_sample(run, t, t < run->t ? run->between : y)) return -1;
  }
  return 0;
}

static int at_step(CPSession session, sunrealtype t, N_Vector y, void *data) {
  Run *run                 = data;
  const sunrealtype before = run->t;
  const bool time_stepping = run->time_stepping;
  (void)session;
  enter(run);
  run->t   = t;
  int flag = tell_step(run, before);
  if (!flag) flag = tell_time_stepping(run);
  if (!flag && time_stepping && !run->time_stepping) flag = tell_contacts(run); /* at its end */
  if (!flag) flag = tell_outputs(run, y);
  if (!flag && run->track) track_take(run->track, t, y);
  leave(run);
  return flag;
}

/* Sends an event of a source that gives names to its events. */
static int tell_named(Run *run, const CPEvent *event) {
  RunEvent named = {.kind = EVENT_NAMED, .t = event->t, .root = -1};
  if (!event->is_named) return 0;
  snprintf(named.name, sizeof named.name, "%s", event->name);
  return tell_event(run, named);
}

/* After an event of contacts, or of the model's sources */
static int at_event(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Run *run = data;
  (void)session;
  if (event->source == run->model_source || !event->restarted) return 0; /* nothing has changed */
  enter(run);
  int flag = tell_named(run, event) || tell_contacts(run) || tell_time_stepping(run) ? -1 : 0;
  if (!flag && run->track) {
    const RunSettings *s = &run->problem.settings;
    run->jumped |=
        track_meet(run->track, run->jumps, event->t, y, s->rtol, s->atol) && !event->timed;
  }
  if (!flag && run->problem.settings.outputs == 0) flag = tell_sample(run, event->t, y);
  leave(run);
  return flag;
}

static int roots_of_model(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  const Problem *p = &((Run *)data)->problem;
  return p->model->type->roots(t, y, g, p->mech ? (void *)p->mech : p->model->data);
}

/* The next kink of the forces */
static sunrealtype next_kink(sunrealtype t, void *data) {
  const Run *run        = data;
  const CPPlugin *model = run->problem.model;
  int i                 = 0;
  while (i < model->nstops && model->stop[i] <= t) i++;
  return i < model->nstops && model->stop[i] < run->t_end ? model->stop[i] : INFINITY;
}

/* The model's own events and kinks, where the forces have another branch */
static int at_model(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Run *run              = data;
  const CPPlugin *model = run->problem.model;
  int flag = 0, action = event->timed ? CP_RESTART : CP_CONTINUE;
  (void)session;
  enter(run);
  for (int i = 0; i < model->nroots && event->roots && !flag; i++)
    if (event->roots[i])
      flag = tell_event(run, (RunEvent){.kind      = EVENT_ROOT,
                                        .t         = event->t,
                                        .root      = i,
                                        .direction = event->roots[i] > 0 ? 1 : -1});
  if (event->timed && !flag)
    flag = tell_event(run, (RunEvent){.kind = EVENT_STOP, .t = event->t, .root = -1});
  leave(run);
  if (flag || !event->roots || !model->type->event) return flag ? flag : action;
  if (!model->type->event(model, run->problem.mech, event->t, y, event->roots)) return CP_RESTART;
  fail(run, 0, "the model's event function ended the run");
  return abort_run(run);
}

/* Sets the options of a new integrator, and tells that it replaces another one. */
static int configure(CPIntegrator mem, const char *name, void *data) {
  Run *run   = data;
  Problem *p = &run->problem;
  if (!run->asked.name[0]) run->asked = p->settings.method;
  const bool same = !strcmp(name, p->settings.method.table), back = !strcmp(name, run->asked.table),
             was_short = !strcmp(p->settings.method.name, "bs32");
  if (back) p->settings.method = run->asked;
  else if (!same) method_find(name, &p->settings.method);
  const int flag = problem_configure(p, mem);
  if (flag || same) return flag;
  RunEvent event = {.kind = EVENT_METHOD, .t = run->t, .root = -1};
  if (method_is_multistep(&run->asked)) event.reason = back ? LEFT_SINGULAR : STARTS_SINGULAR;
  else if (!was_short && strcmp(name, "BS32"))
    event.reason = method_is_explicit(&p->settings.method) ? IS_NOT_STIFF : IS_STIFF;
  snprintf(event.method, sizeof event.method, "%s", p->settings.method.name);
  /* no event of the motion, so it is not counted as one */
  return run->listener->event(run->listener, &event) ? abort_run(run) : 0;
}

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

/* ------------------------------------------------------------------------------------- the run -- */

/* The times of the outputs, the first at the start. The last one of given times is before the end if an event there has changed the
 * state (track_meet). */
static int make_outputs(Run *run) {
  const long n = run->problem.settings.outputs;
  run->outputs = malloc(((size_t)n + 1) * sizeof *run->outputs);
  if (!run->outputs) return fail(run, CP_MEM_FAIL, "no memory for the outputs");
  run->outputs[0] = 0;
  for (long i = 1; i <= n; i++)
    run->outputs[i] = run->times ? run->times->data[i * run->times->width]
                      : i == n   ? run->t_end
                                 : run->t_end * (sunrealtype)i / (sunrealtype)n;
  return 0;
}

static int create_session(Run *run) {
  Problem *p              = &run->problem;
  const RunSettings *s    = &p->settings;
  const CPPlugin *model   = p->model;
  const CPEventSource own = {.size      = sizeof own,
                             .name      = model->type->name,
                             .data      = run,
                             .nroots    = model->nroots,
                             .roots     = roots_of_model,
                             .direction = model->direction,
                             .next_time = next_kink,
                             .handle    = at_model};
  char name[2 * METHOD_NAME];
  snprintf(name, sizeof name, "%s%s", s->method.table, p->chosen ? "/auto" : "");
  run->session = CPSessionCreate(name, p->ctx);
  if (!run->session) return fail(run, CP_ILL_INPUT, CPObjectGetLastMessage(NULL));
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(run->session), take_message, p);
  if (!flag && p->mech) flag = CPSessionSetMech(run->session, p->mech);
  if (!flag && !p->mech) flag = CPSessionSetRhsFn(run->session, model->f, model->data);
  if (!flag && p->contact) flag = CPContactAttach(p->contact, run->session);
  if (!flag && (model->nroots > 0 || model->nstops > 0))
    flag = CPSessionAddSource(run->session, &own, &run->model_source);
  if (!flag) flag = CPSessionSetTolerances(run->session, s->rtol, s->atol, NULL);
  if (!flag) flag = CPSessionSetConfigFn(run->session, configure, run);
  if (!flag) flag = CPSessionSetStepFn(run->session, at_step, run);
  if (!flag) flag = CPSessionSetEventFn(run->session, at_event, run);
  if (!flag) flag = CPSessionStart(run->session, 0, run->y, run->t_end);
  return flag ? fail(run, flag, CPObjectGetLastMessage(CP_OBJECT(run->session))) : 0;
}

static int march(Run *run) {
  const long outputs = run->problem.settings.outputs;
  if (make_outputs(run) || tell_sample(run, 0, run->y)) return -1;
  if (run->track) track_take(run->track, 0, run->y);
  run->next = 1;
  int flag  = CPSessionSetOutputFn(run->session, (int)outputs, run->outputs + 1, NULL, NULL);
  if (!flag) {
    leave(run);
    flag = CPSessionRun(run->session, run->t_end, run->y, &run->t);
    enter(run);
  }
  if (run->aborted) return -1;
  if (flag) return fail(run, flag, CPObjectGetLastMessage(CP_OBJECT(run->session)));
  run->t = run->t_end; /* An event may be so close to the end that no step fits in between. */
  return outputs ? tell_outputs(run, run->y) : 0;
}

/* Checks that all names of --curves exist, and that there are not too many of one kind. */
static int select_curves(const RunInfo *info, char *message) {
  const struct {
    NameOf *name;
    long count;
  } kinds[] = {{component_name, info->nq},
               {velocity_name, info->nu},
               {multiplier_name, info->nlambda},
               {gap_name, info->ncontacts},
               {contact_phase_name, info->ncontacts}};
  enum { KINDS = sizeof kinds / sizeof kinds[0] };
  const CPPluginType *type = info->settings->model.type;
  const char *at           = info->settings->curves;
  int found[KINDS]         = {0};
  while (at) {
    const size_t length = strcspn(at, ",");
    char wanted[RUN_TEXT], name[RUN_TEXT];
    int known = 0;
    snprintf(wanted, sizeof wanted, "%.*s", (int)length, at);
    if (!wanted[0])
      return refuse(message, "--curves: \"%.100s\" has a comma too many, or names nothing",
                    info->settings->curves);
    for (int kind = 0; kind < KINDS; kind++)
      for (long i = 0; i < kinds[kind].count; i++) {
        kinds[kind].name(info, i, name, sizeof name);
        if (strcmp(name, wanted)) continue;
        known = 1;
        if (++found[kind] <= RUN_CURVES) continue;
        return refuse(
            message,
            "--curves: at most %d of a kind: coordinates, velocities, multipliers, gaps, phases",
            RUN_CURVES);
      }
    for (int i = 0; i < type->nquantities; i++)
      known = known || !strcmp(type->quantities[i].name, wanted);
    if (!known)
      return refuse(message,
                    "--curves: %s has no coordinate, velocity, quantity, multiplier, gap or phase "
                    "\"%.100s\"; the first line of --csv names them all",
                    type->name, wanted);
    at += length;
    at = *at ? at + 1 : NULL;
  }
  return 0;
}

static int create(Run *run, const RunSettings *settings) {
  Problem *p    = &run->problem;
  char *message = run->result->message;
  if (problem_create(p, settings, message) ||
      observer_create(&run->observer, p, &run->info, message))
    return fail(run, RUN_FLAG_USAGE, message);
  if (select_curves(&run->info, message)) return fail(run, RUN_FLAG_USAGE, message);
  run->t_end   = p->settings.t_end;
  run->y       = N_VClone(p->model->y0);
  run->between = N_VClone(p->model->y0);
  if (!run->y || !run->between) return fail(run, CP_MEM_FAIL, "no memory for the state");
  N_VScale(1, p->model->y0, run->y);
  snprintf(run->info.method, METHOD_NAME, "%s", p->settings.method.name);
  run->model_source = -1;
  return create_session(run);
}

/* Takes the counts of a CPMech, which include evaluations for differences, and subtracts those of
 * the observer. */
static void take_mech_counts(CPMech mech, long observed, RunResult *r) {
  if (!mech) return;
  const long partials = count_of(CP_OBJECT(mech), "partials_evals");
  const long newton   = count_of(CP_OBJECT(mech), "newton_factorizations");
  r->rhs              = mech_evaluations(mech) - observed;
  if (partials > 0) r->jacobians = partials;
  if (newton > 0) r->factorisations = newton;
}

static void take_contact_counts(const Problem *p, RunResult *r) {
  const CPObject contact = CP_OBJECT(p->contact);
  if (!contact) return;
  r->ncontacts     = p->model->ncontacts;
  r->impacts       = count_of(contact, "impacts");
  r->accumulations = count_of(contact, "accumulations");
  r->reduced       = count_of(contact, "reduced_impacts");
  r->intervals     = count_of(contact, "intervals");
}

static void finish(Run *run) {
  const Problem *p  = &run->problem;
  RunResult *r      = run->result;
  sunindextype rank = -1;
  r->t              = run->t;
  r->rank           = run->observer.rank;
  r->unique         = run->observer.unique;
  r->constraints    = p->mech ? run->observer.nlambda : run->info.nv;
  if (p->P && !CPProjectorGetRank(p->P, &rank, NULL)) r->rank = (long)rank;
  add_counts(run, r);
  take_mech_counts(p->mech, run->observer.observed, r);
  take_contact_counts(p, r);
}

/* The reference of some models takes longer than the run, so the result is sent before the
 * reference is computed, and again afterwards. */
static void compare(Run *run, const Measure *measure) {
  const CPPlugin *model = run->problem.model;
  RunResult *r          = run->result;
  r->error              = plugin_error(model, run->t, run->y);
  if (isfinite(r->error) && measure->n > 0 && !model->type->reference(model, run->t, run->between))
    r->off = measure_distance(measure, N_VGetArrayPointer(run->y), N_VGetArrayPointer(run->between),
                              (long)plugin_num_compared(model), run->t);
  run->listener->end(run->listener, r);
}

static void destroy(Run *run) {
  CPSessionFree(&run->session);
  if (run->y) N_VDestroy(run->y);
  if (run->between) N_VDestroy(run->between);
  free(run->outputs);
  observer_free(&run->observer);
  problem_free(&run->problem);
}

void simulate_beside(const RunSettings *settings, const Rows *times, Listener *listener,
                     RunResult *result) {
  Run run = {.listener = listener, .result = result, .times = times};
  *result = (RunResult){.ending = RUN_DONE};
  if (!create(&run, settings)) march(&run);
  finish(&run);
  destroy(&run);
}

void simulate(const RunSettings *settings, Listener *listener, RunResult *result) {
  Rows track = {.rows = 0}, jumps = {.rows = 0};
  Measure measure = {.n = 0};
  Run run         = {.listener = listener, .result = result, .track = &track, .jumps = &jumps};
  *result         = (RunResult){.ending   = RUN_DONE,
                                .rank     = -1,
                                .error    = NAN,
                                .off      = {.part = NAN},
                                .estimate = {.wanted = settings->estimated,
                                             .error  = NAN,
                                             .worst  = {.part = NAN, .component = -1},
                                             .part   = NAN,
                                             .lost   = NAN,
                                             .apart  = NAN}};
  int flag        = create(&run, settings);
  if (!flag && (track_begin(&track, run.info.n) || track_begin(&jumps, 0)))
    flag = fail(&run, CP_MEM_FAIL, "no memory for the states of the run");
  const bool begun = !flag && !listener->begin(listener, &run.info);
  flag             = !begun || march(&run);
  finish(&run);
  rows_end(&track);
  /* A model that crashes when it is evaluated once more must not take the result with it. */
  result->estimate.pending = !flag;
  listener->end(listener, result);
  const bool measured =
      begun && !measure_create(&measure, &run.observer, &run.info, &track, &jumps, run.jumped) &&
      !listener->scales(listener, &measure.scales);
  result->estimate.pending = !flag && measured && settings->estimated;
  if (result->estimate.pending) estimate_error(&run.problem, &track, &measure, listener, result);
  else listener->end(listener, result);
  if (!flag && run.info.known && !settings->unjudged) compare(&run, &measure);
  measure_free(&measure);
  rows_free(&track);
  rows_free(&jumps);
  destroy(&run);
}
