#include "simulate.h"

#include "estimate.h"
#include "integrator.h"
#include "observe.h"

#include "../clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  Problem problem;
  RunInfo info;
  Rows *track;       /* the states at the ends of the run's steps and at outputs, or NULL */
  const Rows *times; /* times of the outputs, in the first column; NULL: equally spaced */
  Observer observer;
  Integrator integrator;
  Listener *listener;
  RunResult *result;    /* until the run is over, its counters are those up to the newest restart */
  N_Vector y, between;  /* the newest state, and an output within a step */
  sunrealtype t, t_end; /* t belongs to y */
  long next;            /* index of the next output */
  int next_stop;
  long attempts;   /* number of attempts before the newest step */
  int unjudged;    /* number of steps since the method was chosen, or judged again */
  bool stretching; /* is time stepping under way? */
} Run;

static double cpu_seconds(void) { return clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }

/* The counts of the whole run, also since the newest restart */
static RunResult count_all(const Run *run) {
  RunResult all = *run->result;
  integrator_add_counts(&run->integrator, &all);
  return all;
}

/* After a failure: if a restart that did not succeed has cleared the integrator's counters, those
 * before it count. */
static void keep_counts(Run *run, const RunResult *before) {
  if (count_all(run).steps < before->steps) *run->result = *before;
}

static int fail(Run *run, int flag, const char *text) {
  RunResult *r = run->result;
  r->ending    = RUN_FAILED;
  r->flag      = flag;
  if (text != r->message) snprintf(r->message, RUN_TEXT, "%s", text);
  return -1;
}

static int fail_integrator(Run *run, int flag) {
  return fail(run, flag, integrator_message(&run->integrator));
}

/* ------------------------------------------------------------------------------- the records -- */

static int tell_sample(Run *run, sunrealtype t, N_Vector y) {
  Sample sample;
  observe(&run->observer, t, y, &sample);
  run->result->samples++;
  return run->listener->sample(run->listener, &sample);
}

static int tell_step(Run *run) {
  Step step     = {.t = run->t};
  RunResult all = count_all(run);
  sunrealtype h = 0;
  integrator_newest(&run->integrator, &h, &step.order);
  const long attempts = all.steps + rejections(&all);
  step.h              = h;
  step.attempts       = attempts - run->attempts;
  run->attempts       = attempts;
  return run->listener->step(run->listener, &step);
}

/* Sends a step of time stepping that began at the time before. It is of order one, and its flights
 * restart the integrator and its counters. */
static int tell_stretch_step(Run *run, sunrealtype before) {
  RunResult *r = run->result;
  r->steps++;
  run->attempts   = r->steps + rejections(r);
  const Step step = {.t = run->t, .h = run->t - before, .order = 1, .attempts = 1};
  return run->problem.settings.steps ? run->listener->step(run->listener, &step) : 0;
}

static int tell_event(Run *run, RunEvent event) {
  run->result->events++;
  return run->listener->event(run->listener, &event);
}

/* The time of the next output, or the end if each step has an output. */
static sunrealtype next_output(const Run *run) {
  const long outputs = run->problem.settings.outputs;
  return run->next >= outputs ? run->t_end
         : run->times         ? run->times->data[run->next * run->times->width]
                              : run->t_end * (sunrealtype)run->next / (sunrealtype)outputs;
}

/* Sends all outputs that are due up to t, the end of the newest step. */
static int tell_outputs(Run *run) {
  const long outputs = run->problem.settings.outputs;
  if (outputs == 0) return tell_sample(run, run->t, run->y);
  for (; run->next <= outputs; run->next++) {
    const sunrealtype t = next_output(run);
    if (t > run->t) break;
    const int flag = t < run->t ? integrator_interpolate(&run->integrator, t, run->between) : 0;
    if (flag) return fail_integrator(run, flag);
    if (run->track && t < run->t) track_take(run->track, t, run->between);
    if (tell_sample(run, t, t < run->t ? run->between : run->y)) return -1;
  }
  return 0;
}

/* The cost so far, in units of evaluations of accelerations: evaluations of p, partial derivatives
 * and factorisations count as one, and an attempted step as another four. Over 18 models and six
 * methods, CPU time agrees with it to 20 % on average. */
static double count_work(const Run *run) {
  const double step = 4;
  const CPMech mech = run->problem.mech;
  CPMechStats s     = {0};
  RunResult all     = count_all(run);
  if (mech && !CPMechGetStats(mech, &s))
    all.rhs = (s.nf > s.nudot ? s.nf : s.nudot) + s.np + s.npartials + s.nnewton + s.nprojfact;
  else all.rhs += all.projections + all.jacobians + all.factorisations;
  return (double)all.rhs + step * (double)(all.steps + rejections(&all));
}

/* ---------------------------------------------------------------------------- stops and events -- */

/* Steps must not pass the next kink of the forces, nor the end. */
static int set_stop(Run *run) {
  const CPModel *model = run->problem.model;
  while (run->next_stop < model->nstops && model->stop[run->next_stop] <= run->t) run->next_stop++;
  const bool kink = run->next_stop < model->nstops && model->stop[run->next_stop] < run->t_end;
  const int flag =
      integrator_stop_at(&run->integrator, kink ? model->stop[run->next_stop] : run->t_end);
  return flag ? fail_integrator(run, flag) : 0;
}

static int restart(Run *run) {
  RunResult all  = count_all(run);
  const int flag = integrator_restart(&run->integrator, run->t, run->y);
  if (flag) keep_counts(run, &all);
  if (flag) return fail_integrator(run, flag);
  *run->result = all; /* The restart has cleared the integrator's own counters. */
  return set_stop(run);
}

static int at_roots(Run *run) {
  const CPModel *model          = run->problem.model;
  int found[CP_MODEL_MAX_ROOTS] = {0};
  const int flag                = integrator_roots(&run->integrator, found);
  if (flag) return fail_integrator(run, flag);
  for (int i = 0; i < model->nroots; i++)
    if (found[i] && tell_event(run, (RunEvent){.kind      = EVENT_ROOT,
                                               .t         = run->t,
                                               .root      = i,
                                               .direction = found[i] > 0 ? 1 : -1}))
      return -1;
  if (!model->type->event) return 0;
  if (model->type->event(model, run->problem.mech, run->t, run->y, found))
    return fail(run, 0, "the model's event function ended the run");
  return restart(run);
}

/* Sends what each contact did at the newest event. */
static int tell_contacts(Run *run) {
  const CPModel *model = run->problem.model;
  int told             = 0;
  for (int i = 0; i < model->ncontacts; i++) {
    CPContactEvent e;
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

/* Sends the begin or the end of a stretch of time stepping. */
static int tell_stretch(Run *run) {
  CPContactStats stats;
  if (CPContactGetStats(run->problem.contact, &stats) || run->stretching == (stats.stretching != 0))
    return 0;
  run->stretching = stats.stretching != 0;
  return tell_event(run, (RunEvent){.kind      = EVENT_STRETCH,
                                    .t         = run->t,
                                    .root      = -1,
                                    .direction = run->stretching ? 1 : -1});
}

/* Handles a step of time stepping, and the event at the end of a stretch. */
static int in_stretch(Run *run, sunrealtype before) {
  if (tell_stretch_step(run, before) || tell_stretch(run)) return -1;
  if (run->stretching) return 0;
  return tell_contacts(run) || set_stop(run) ? -1 : 0;
}

/* Handles contacts; the state before the event has been sent. */
static int at_contacts(Run *run) {
  RunResult all  = count_all(run);
  bool restarted = false;
  const int flag = integrator_pass_contacts(&run->integrator, run->t_end, run->y, &restarted);
  if (flag) keep_counts(run, &all);
  if (flag) return fail_integrator(run, flag);
  if (!restarted) return 0; /* nothing has changed */
  *run->result = all;
  if (tell_contacts(run) || tell_stretch(run)) return -1;
  if (run->problem.settings.outputs == 0 && tell_sample(run, run->t, run->y)) return -1;
  return set_stop(run);
}

static int at_kink(Run *run) {
  return tell_event(run, (RunEvent){.kind = EVENT_STOP, .t = run->t, .root = -1}) || restart(run)
             ? -1
             : 0;
}

/* ------------------------------------------------------------------------------ stiffness -- */

/* A chosen method is judged again after this many steps, which costs about one of DOP853. It is
 * replaced if CPMechSuggestMethod names another one at the newest state, and if the newest step h
 * agrees: up to h rho = 6 DOP853 is stable, so that its steps are limited by stability if h rho is
 * near 6, and RADAU's steps are no longer than DOP853's could be if h rho is small. */
enum { STEPS_BETWEEN = 50 };
static const double limited = 3;

static int follow_stiffness(Run *run) {
  Problem *p = &run->problem;
  CPMechSuggestion s;
  Method method;
  sunrealtype h = 0;
  int order;
  if (!p->chosen || !p->mech || p->contact || ++run->unjudged < STEPS_BETWEEN) return 0;
  run->unjudged = 0;
  if (CPMechSuggestMethod(p->mech, run->t, run->y, run->t_end, p->settings.rtol, &s)) return 0;
  method = p->settings.method;
  method_suggested(s.method, &method);
  integrator_newest(&run->integrator, &h, &order);
  if (!strcmp(method.name, p->settings.method.name) ||
      (fabs(h) * s.radius > limited) != (s.stiff != 0))
    return 0;
  RunResult all  = count_all(run);
  const int flag = integrator_change(&run->integrator, &method, run->t, run->y, all.message);
  *run->result   = all;
  if (flag) return fail(run, flag, run->result->message);
  RunEvent event = {.kind = EVENT_METHOD, .t = run->t, .root = -1, .direction = s.stiff ? 1 : -1};
  snprintf(event.method, sizeof event.method, "%s", method.name);
  /* no event of the motion, so it is not counted as one */
  return run->listener->event(run->listener, &event) || set_stop(run) ? -1 : 0;
}

/* ------------------------------------------------------------------------------------- the run -- */

static int march(Run *run) {
  const RunSettings *s = &run->problem.settings;
  N_VScale(1, run->problem.model->y0, run->y);
  if (tell_sample(run, 0, run->y) || set_stop(run)) return -1;
  if (run->track) track_take(run->track, 0, run->y);
  run->next = 1;
  /* An event may be so close to the end that no step fits in between. */
  while (run->t_end - run->t > 100 * SUN_UNIT_ROUNDOFF * fabs(run->t_end)) {
    const sunrealtype before = run->t;
    const bool stretching    = run->stretching; /* there are no outputs within its steps */
    sunrealtype t            = run->t;
    const double start       = cpu_seconds();
    const double work        = count_work(run);
    const RunResult counted  = count_all(run);
    const int flag =
        integrator_step(&run->integrator, stretching ? next_output(run) : run->t_end, run->y, &t);
    run->result->seconds += cpu_seconds() - start;
    run->result->work += count_work(run) - work; /* without the outputs */
    run->t = t;
    if (flag < 0) keep_counts(run, &counted);
    if (flag < 0) return fail_integrator(run, flag);
    if (stretching ? in_stretch(run, before) : s->steps && tell_step(run)) return -1;
    if (tell_outputs(run)) return -1;
    if (run->track) track_take(run->track, run->t, run->y);
    if (flag == CV_ROOT_RETURN && !stretching &&
        (run->problem.contact ? at_contacts(run) : at_roots(run)))
      return -1;
    if (flag == CV_TSTOP_RETURN && run->t < run->t_end && at_kink(run)) return -1;
    if (flag == CV_SUCCESS && run->t < run->t_end && follow_stiffness(run)) return -1;
  }
  run->t = run->t_end;
  return s->outputs ? tell_outputs(run) : 0;
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
  const CPModelType *type = info->settings->model.type;
  const char *at          = info->settings->curves;
  int found[KINDS]        = {0};
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
  snprintf(run->info.method, METHOD_NAME, "%s", p->settings.method.name);
  const int flag = integrator_create(&run->integrator, p, message);
  return flag ? fail(run, flag, message) : 0;
}

/* Takes the counts of a CPMech, which include evaluations for differences, and subtracts those of
 * the observer. */
static void take_mech_counts(CPMech mech, long observed, RunResult *r) {
  CPMechStats stats;
  if (!mech || CPMechGetStats(mech, &stats)) return;
  r->rhs = (stats.nf > stats.nudot ? stats.nf : stats.nudot) - observed;
  if (stats.npartials > 0) r->jacobians = stats.npartials;
  if (stats.nnewton > 0) r->factorisations = stats.nnewton;
}

static void take_contact_counts(const Problem *p, RunResult *r) {
  CPContactStats stats;
  if (!p->contact || CPContactGetStats(p->contact, &stats)) return;
  r->ncontacts     = p->model->ncontacts;
  r->impacts       = stats.nimpacts;
  r->accumulations = stats.naccumulations;
  r->reduced       = stats.nreduced;
  r->stretches     = stats.nstretches;
}

static void finish(Run *run) {
  const Problem *p  = &run->problem;
  RunResult *r      = run->result;
  sunindextype rank = -1;
  r->t              = run->t;
  r->rank           = run->observer.rank;
  r->unique         = run->observer.unique;
  r->constraints    = p->mech ? run->observer.nlambda : run->info.nv;
  if (p->P && !CPProjectorGetRank(p->P, &rank)) r->rank = (long)rank;
  integrator_add_counts(&run->integrator, r);
  take_mech_counts(p->mech, run->observer.observed, r);
  take_contact_counts(p, r);
}

/* The reference of some models takes longer than the run, so the result is sent before the
 * reference is computed, and again afterwards. */
static void compare(Run *run, const Measure *measure) {
  const CPModel *model = run->problem.model;
  RunResult *r         = run->result;
  r->error             = CPModelError(model, run->t, run->y);
  if (isfinite(r->error) && measure->n > 0 && !model->type->reference(model, run->t, run->between))
    r->off = measure_distance(measure, N_VGetArrayPointer(run->y), N_VGetArrayPointer(run->between),
                              (long)CPModelNumCompared(model), run->t);
  run->listener->end(run->listener, r);
}

static void destroy(Run *run) {
  integrator_free(&run->integrator);
  if (run->y) N_VDestroy(run->y);
  if (run->between) N_VDestroy(run->between);
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
  Rows track      = {.rows = 0};
  Measure measure = {.n = 0};
  Run run         = {.listener = listener, .result = result, .track = &track};
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
  if (!flag && track_begin(&track, run.info.n))
    flag = fail(&run, CP_MEM_FAIL, "no memory for the states of the run");
  const bool begun = !flag && !listener->begin(listener, &run.info);
  flag             = !begun || march(&run);
  finish(&run);
  rows_end(&track);
  /* A model that crashes when it is evaluated once more must not take the result with it. */
  result->estimate.pending = !flag;
  listener->end(listener, result);
  const bool measured = begun && !measure_create(&measure, &run.observer, &run.info, &track) &&
                        !listener->scales(listener, &measure.scales);
  result->estimate.pending = !flag && measured && settings->estimated;
  if (result->estimate.pending) estimate_error(&run.problem, &track, &measure, listener, result);
  else listener->end(listener, result);
  if (!flag && run.info.known && !settings->unjudged) compare(&run, &measure);
  measure_free(&measure);
  rows_free(&track);
  destroy(&run);
}
