/* The march: steps, events, outputs. */
#include "session_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Times count as the same up to SAME units in the last place. */
#define SAME 4.0
/* More events than CP_MOST_ITERATIONS at one time, to within CP_LOCATED of it, are an error. */
#define MOST_EVENTS 100000

static int isAt(sunrealtype t, sunrealtype other) {
  return isfinite(other) && fabs(t - other) <= SAME * DBL_EPSILON * fabs(other);
}

/* ---- times of sources ---- */

/* The time of the first periodic event from the start on (is_start), or after the newest one. Those before `first`, or after it if the
 * run goes backwards, do not exist. */
static sunrealtype nextPeriod(CPSession s, const Source *source, int is_start) {
  const sunrealtype first = source->is.first, period = s->sign * source->is.period;
  const sunrealtype k = is_start ? fmax(0.0, ceil((s->t - first) / period - CP_LOCATED))
                                 : round((source->due - first) / period) + 1.0;
  return first + k * period;
}

/* The present time may be short of that of the source's newest event by roundoff. */
static void setDue(CPSession s, Source *source) {
  if (source->is.period > 0.0) {
    source->due = nextPeriod(s, source, !isfinite(source->due));
    return;
  }
  const int is_ahead =
      !source->again && isfinite(source->due) && s->sign * (source->due - s->t) > 0.0;
  const sunrealtype from = is_ahead ? source->due : s->t;
  source->due = source->is.next_time ? source->is.next_time(from, source->is.data) : INFINITY;
  if (isnan(source->due)) source->due = INFINITY;
}

static int isDue(CPSession s, const Source *source) {
  return isfinite(source->due) && (s->sign * (s->t - source->due) >= 0.0 || isAt(s->t, source->due));
}

static int anyDue(CPSession s) {
  for (int i = 0; i < s->nsources; i++)
    if (isDue(s, &s->source[i])) return 1;
  return 0;
}

/* The nearer of t1 and the earliest time of a source */
static sunrealtype limit(CPSession s, sunrealtype t1) {
  for (int i = 0; i < s->nsources; i++)
    if (isfinite(s->source[i].due) && s->sign * (t1 - s->source[i].due) > 0.0)
      t1 = s->source[i].due;
  return t1;
}

/* ---- the start ---- */

void sessionPause(CPSession s) {
  for (int i = 0; i < s->nsources; i++)
    if (s->source[i].is.paused) s->source[i].is.paused(s->source[i].is.data);
}

static int refused(CPSession s, int flag) {
  sessionPause(s);
  sessionFreeIntegrator(s);
  s->started = s->log.running = 0;
  return flag;
}

static int prepare(CPSession s, sunrealtype t0, N_Vector y, sunrealtype t_end, const char *function) {
  if (!y || !isfinite(t0) || isnan(t_end) || t0 == t_end)
    return cpReport(&s->log, CP_ILL_INPUT, function,
                    "y must not be NULL, t0 finite, and t_end another time: t0 = %g, t_end = %g",
                    t0, t_end);
  if (!s->mech && !s->f)
    return cpReport(&s->log, CP_NO_INIT, function,
                    "call CPSessionSetMech or CPSessionSetRhsFn first");
  if (isnan(s->rtol))
    return cpReport(&s->log, CP_NO_INIT, function, "call CPSessionSetTolerances first");
  if (s->ntimes > 1 && (s->times[s->ntimes - 1] - s->times[0]) * (t_end - t0) < 0.0)
    return cpReport(&s->log, CP_ILL_INPUT, function, "the times of the outputs lie against the run");
  N_Vector *own[] = {&s->y, &s->saved, &s->between};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (!*own[i] && !(*own[i] = N_VClone(y)))
      return cpReport(&s->log, CP_MEM_FAIL, function, "no memory for the state");
  if (N_VGetLength(y) != N_VGetLength(s->y))
    return cpReport(&s->log, CP_ILL_INPUT, function,
                    "y has another length than in the start before");
  return CP_SUCCESS;
}

static int startSources(CPSession s, const char *function) {
  int flag = CP_SUCCESS;
  for (int i = 0; i < s->nsources && !flag; i++) {
    const CPEventSource *is = &s->source[i].is;
    flag                    = is->take_mech ? is->take_mech(s->mech, is->data) : CP_SUCCESS;
    if (flag) flag = sessionOfSource(s, &s->source[i], flag, function);
  }
  for (int i = 0; i < s->nsources && !flag; i++) {
    const CPEventSource *is = &s->source[i].is;
    s->source[i].due        = INFINITY;
    s->source[i].again      = 0;
    if (is->start) flag = is->start(s, s->t, s->t_end, s->y, 0, is->data);
    if (flag) flag = sessionOfSource(s, &s->source[i], flag, function);
    else setDue(s, &s->source[i]);
  }
  return flag;
}

int CPSessionStart(CPSession s, sunrealtype t0, N_Vector y, sunrealtype t_end) {
  int flag = sessionIdle(s, 0, __func__);
  if (flag) return flag;
  s->started = 0;
  sessionFreeIntegrator(s);
  flag = prepare(s, t0, y, t_end, __func__);
  if (flag) return flag;
  s->log.running = 1;
  s->t0 = s->t = t0, s->t_end = t_end, s->sign = t_end < t0 ? -1.0 : 1.0;
  s->pending = s->advanced = s->stopping = 0, s->todo = NOTHING;
  sessionFirstOutput(s, t0);
  s->nevents = s->repeated = 0, s->t_event = NAN;
  s->before = (CPIntegratorStats){0};
  N_VScale(1.0, y, s->y);
  flag = startSources(s, __func__);
  if (!flag) flag = sessionFirstMethod(s);
  if (!flag) flag = sessionCreateIntegrator(s, __func__);
  if (flag < 0) return refused(s, flag);
  sessionPause(s);
  N_VScale(1.0, s->y, y);
  s->started = 1, s->log.running = 0;
  return CP_SUCCESS;
}

/* ---- events ---- */

/* The name of what has had the event, for messages */
static const char *nameOf(CPSession s) {
  for (int i = 0; i < s->nsources; i++) {
    const Source *source = &s->source[i];
    for (int k = 0; k < source->is.nroots; k++)
      if (s->found[source->first + k])
        return source->is.root_name ? source->is.root_name(k, source->is.data) : source->is.name;
    if (isDue(s, source)) return source->is.name;
  }
  return "";
}

static int tooMany(CPSession s, const char *function) {
  const long int most = s->maxevents > 0 ? s->maxevents : MOST_EVENTS;
  const int now       = fabs(s->t - s->t_event) <= CP_LOCATED * fmax(fabs(s->t), DBL_MIN);
  s->repeated         = now ? s->repeated + 1 : 0;
  if (!now) s->t_event = s->t; /* the first of those at this time */
  if (s->repeated <= CP_MOST_ITERATIONS && s->nevents < most) return CP_SUCCESS;
  return cpReport(
      &s->log, CP_TOO_MANY_EVENTS, function, "at t = %.10g: %ld events %s, the newest at \"%s\"",
      s->t, s->repeated > CP_MOST_ITERATIONS ? s->repeated : s->nevents,
      s->repeated > CP_MOST_ITERATIONS ? "at this time" : "(CPSessionSetMaxEvents)", nameOf(s));
}

/* Does the source have an event at s->t? Fills in the event. */
static int hasEvent(CPSession s, int i, CPEvent *event) {
  const Source *source = &s->source[i];
  const int *found     = s->found + source->first;
  int any              = 0;
  for (int k = 0; k < source->is.nroots; k++) any |= found[k];
  *event = (CPEvent){.size   = sizeof *event,
                     .t      = s->t,
                     .source = i,
                     .name   = source->is.name,
                     .roots  = any ? found : NULL,
                     .timed  = isDue(s, source)};
  return any || event->timed;
}

int CPSessionGetEvent(CPSession s, int source, CPEvent *event) {
  if (!s) return cpReport(NULL, CP_MEM_NULL, __func__, "session must not be NULL");
  if (source < 0 || source >= s->nsources || !event)
    return cpReport(&s->log, CP_ILL_INPUT, __func__,
                    "event must not be NULL, and source from 0 to %d: source = %d", s->nsources - 1,
                    source);
  hasEvent(s, source, event);
  return CP_SUCCESS;
}

/* Lets the sources handle the event. *action: out. */
static int handle(CPSession s, int *action, const char *function) {
  for (int i = 0; i < s->nsources; i++)
    s->source[i].acted = s->source[i].handled = s->source[i].again = s->source[i].restarts = 0;
  for (int i = 0; i < s->nsources; i++) {
    Source *source = &s->source[i];
    CPEvent event;
    if (!hasEvent(s, i, &event)) continue;
    const int asked = source->is.handle(s, &event, s->y, source->is.data);
    if (asked < 0) return sessionOfSource(s, source, asked, function);
    source->acted    = 1;
    source->handled  = 1;
    source->restarts = (asked & CP_RESTART) != 0;
    *action |= asked;
  }
  return CP_SUCCESS;
}

/* After a change by one source the others begin again. */
static int beginAgain(CPSession s, const char *function) {
  int flag = CP_SUCCESS, changes = 0;
  for (int i = 0; i < s->nsources; i++) changes += s->source[i].restarts;
  for (int i = 0; i < s->nsources && !flag; i++) {
    Source *source = &s->source[i];
    if (!source->is.start || changes == source->restarts) continue;
    flag = source->is.start(s, s->t, s->t_end, s->y, 1, source->is.data);
    if (flag) return sessionOfSource(s, source, flag, function);
    source->handled = 1;
    source->again   = source->is.next_time != NULL;
  }
  return CP_SUCCESS;
}

static void undo(CPSession s) {
  for (int i = s->nsources - 1; i >= 0; i--) {
    const Source *source = &s->source[i];
    if (source->handled && source->is.undo) source->is.undo(s, s->saved, source->is.data);
  }
  N_VScale(1.0, s->saved, s->y);
}

/* What a user's function has said. */
static int said(CPSession s, int result, const char *what, const char *function) {
  if (result < 0)
    return cpReport(&s->log, result, function, "at t = %.10g: the %s failed (%d)", s->t, what,
                    result);
  return result > 0 ? CP_STOPPED : CP_SUCCESS;
}

static int tellEvents(CPSession s, int restarted, const char *function) {
  int flag = CP_SUCCESS;
  for (int i = 0; i < s->nsources && s->event; i++) {
    CPEvent event;
    if (!s->source[i].handled || !hasEvent(s, i, &event)) continue;
    event.restarted = restarted;
    event.is_named  = s->source[i].is.event_name != NULL;
    if (event.is_named) event.name = s->source[i].is.event_name(s->source[i].is.data);
    if (event.is_named && !*event.name) continue;
    const int now = said(s, s->event(s, &event, s->y, s->event_data), "event function", function);
    if (!flag || now < 0) flag = now;
  }
  return flag;
}

/* Handles the event at s->t. */
static int meet(CPSession s, const char *function) {
  int action = 0, flag = tooMany(s, function);
  if (flag) return flag;
  N_VScale(1.0, s->y, s->saved);
  flag = handle(s, &action, function);
  if (!flag && action & CP_RESTART) flag = beginAgain(s, function);
  if (!flag && action & CP_RESTART) flag = sessionRestart(s, function);
  if (flag >= 0 && s->tape) {
    const int recorded = sessionRecord(s, function);
    if (recorded) flag = recorded;
  }
  if (flag < 0) {
    undo(s);
    return flag;
  }
  action |= flag;
  s->pending = s->advanced = 0;
  for (int k = 0; k < s->nroots; k++) /* times that are given do not accumulate by themselves */
    if (s->found[k]) {
      s->nevents++;
      break;
    }
  flag = tellEvents(s, action & CP_RESTART, function);
  for (int i = 0; i < s->nsources; i++)
    if (isDue(s, &s->source[i]) || s->source[i].again) setDue(s, &s->source[i]);
  if (s->nroots > 0) memset(s->found, 0, (size_t)s->nroots * sizeof *s->found);
  return flag ? flag : action & CP_STOP ? CP_STOPPED : CP_SUCCESS;
}

/* ---- steps ---- */

static const Source *advancing(CPSession s) {
  for (int i = 0; i < s->nsources; i++)
    if (s->source[i].is.advances && s->source[i].is.advances(s->source[i].is.data))
      return &s->source[i];
  return NULL;
}

/* A step of a source's own. It ends at the next output, since there are no outputs within it. */
static int advance(CPSession s, const Source *source, sunrealtype t1, const char *function) {
  if (s->next_output < s->ntimes && s->sign * (t1 - s->times[s->next_output]) > 0.0)
    t1 = s->times[s->next_output];
  int flag = CPIntegratorSetStopTime(s->mem, INFINITY);
  if (flag) return sessionOfIntegrator(s, flag);
  s->stop = INFINITY;
  N_VScale(1.0, s->y, s->saved);
  s->t_saved = s->t;
  flag       = source->is.advance(s, t1, s->y, &s->t, source->is.data);
  if (flag < 0) return sessionOfSource(s, source, flag, function);
  s->before.nst++;
  s->advanced = 1;
  s->stopping = (flag & CP_STOP) != 0;
  return flag & CP_ROOT ? CV_ROOT_RETURN : CP_SUCCESS;
}

static int integrate(CPSession s, sunrealtype t1, sunrealtype end) {
  int flag = CP_SUCCESS;
  if (s->stop != end) flag = CPIntegratorSetStopTime(s->mem, end);
  if (flag) return sessionOfIntegrator(s, flag);
  s->stop = end;
  /* If the run has no end, integrators get one that is so far away that half of the digits of t remain for it. */
  const sunrealtype far    = s->sign * fmax(1.0, fabs(s->t)) / CP_HALF_DIGITS,
                    tout   = isfinite(t1) ? t1 : s->t + far;
  const sunrealtype before = s->t;
  N_VScale(1.0, s->y, s->saved);
  s->failed = NULL;
  flag      = CPIntegratorEvolve(s->mem, tout, s->y, &s->t, CV_ONE_STEP);
  if (flag < 0 && flag != CP_OUTPUT_PROJ_FAIL) {
    /* The step may have succeeded, but the search for roots in it has not, and goes on with the next call. */
    s->t = before;
    N_VScale(1.0, s->saved, s->y);
  }
  if (flag == CV_RTFUNC_FAIL && s->failed && s->failed->is.message)
    return sessionOfSource(s, s->failed, flag, "CPSessionRun");
  if (flag < 0) return sessionOfIntegrator(s, flag);
  s->advanced = 0;
  if (flag == CV_TSTOP_RETURN) s->t = end, s->stop = NAN; /* no step is as short as roundoff */
  return flag;
}

/* Has the integrator tried smaller steps in vain? */
static int isStuck(int flag) {
  static const int codes[] = {CV_ERR_FAILURE,        CV_CONV_FAILURE,      CV_REPTD_RHSFUNC_ERR,
                              CP_REPTD_USERFUNC_ERR, CP_PROJ_CONV_FAILURE, CP_PROJ_RANK,
                              CP_PROJ_INCONSISTENT,  CP_PROJ_CORRECTION,   CP_KKT_INCONSISTENT,
                              CP_KKT_RANK,           CP_LAMBDA_CONV_FAIL};
  for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
    if (flag == codes[k]) return 1;
  return 0;
}

/* *taken <- the source that goes on where the integrator has failed, or NULL. Returns the failure, which the source takes away, or its own. */
static int takeOver(CPSession s, int flag, const Source **taken, const char *function) {
  for (int i = 0; i < s->nsources && isStuck(flag); i++) {
    const Source *source = &s->source[i];
    if (!source->is.take_over) continue;
    const int answer = source->is.take_over(s, s->t, s->y, flag, source->is.data);
    if (answer < 0) return sessionOfSource(s, source, answer, function);
    if (answer == 0) continue;
    *taken = source;
    return CP_SUCCESS;
  }
  return flag;
}

/* Do the sources accept the step? */
static int accept(CPSession s, const char *function) {
  for (int i = 0; i < s->nsources; i++) {
    const CPEventSource *is = &s->source[i].is;
    const int judged        = is->accepted ? is->accepted(s, s->t, s->y, is->data) : 0;
    if (judged) return sessionOfSource(s, &s->source[i], judged, function);
  }
  return CP_SUCCESS;
}

/* ---- outputs ---- */

static int outputs(CPSession s, const char *function) {
  int flag = CP_SUCCESS;
  for (; s->next_output < s->ntimes && !flag; s->next_output++) {
    const sunrealtype t = s->times[s->next_output];
    if (s->sign * (t - s->t) > 0.0) break;
    if (!s->output.fn) continue;
    const int within = s->sign * (s->t - t) > 0.0 && s->sign * (t - s->t0) > 0.0;
    if (within) flag = CPSessionGetDky(s, t, 0, s->between);
    if (!flag)
      flag = said(s, s->output.fn(s, t, within ? s->between : s->y, s->output.data),
                  "output function", function);
    if (flag < 0) return flag; /* The output is still due. */
  }
  return flag;
}

/* What follows a step, in order: the sources accept it, the outputs up to its end are sent, and the user's function is called. What
 * fails is tried again with the next call. */
static int finish(CPSession s, const char *function) {
  int flag = CP_SUCCESS, now = CP_SUCCESS;
  if (s->todo == ACCEPT) {
    flag = accept(s, function);
    if (flag) return flag;
    s->todo = OUTPUTS;
  }
  if (s->todo == OUTPUTS) {
    flag = outputs(s, function);
    if (flag < 0) return flag;
    s->todo = TELL;
  }
  if (s->todo == TELL && s->step.fn)
    now = said(s, s->step.fn(s, s->t, s->y, s->step.data), "step function", function);
  if (now < 0) return now;
  s->todo            = NOTHING;
  const int stopping = s->stopping;
  s->stopping        = 0;
  return now || flag || stopping ? CP_STOPPED : CP_SUCCESS;
}

/* ---- calls ---- */

/* Takes a step. Returns 0 or an error. */
static int take(CPSession s, sunrealtype t1, const char *function) {
  const sunrealtype end  = limit(s, t1);
  const Source *advances = advancing(s);
  int flag               = advances ? CP_SUCCESS : sessionJudge(s, function);
  if (flag) return flag;
  if (!advances) {
    flag = integrate(s, t1, end);
    if (flag < 0) flag = takeOver(s, flag, &advances, function);
  }
  if (advances && !flag) flag = advance(s, advances, end, function);
  if (flag < 0) return flag;
  const int is_root = flag == CV_ROOT_RETURN;
  flag = is_root ? sessionOfIntegrator(s, CPIntegratorGetRootInfo(s->mem, s->found)) : CP_SUCCESS;
  if (flag) return flag;
  s->pending = is_root || anyDue(s);
  s->todo    = is_root || advances ? OUTPUTS : ACCEPT;
  return CP_SUCCESS;
}

/* Returns CV_TSTOP_RETURN at t1, CV_ROOT_RETURN where an event is pending, CP_SUCCESS, CP_STOPPED or an error. */
static int oneStep(CPSession s, sunrealtype t1, const char *function) {
  int flag = CP_SUCCESS;
  if (s->todo == NOTHING) {
    flag = outputs(s, function); /* at the start */
    if (flag) return flag;
    if (s->pending || anyDue(s)) return meet(s, function);
    if (isAt(s->t, t1)) {
      s->t = t1;
      flag = outputs(s, function);
      return flag ? flag : CV_TSTOP_RETURN;
    }
    flag = take(s, t1, function);
  }
  if (!flag) flag = finish(s, function);
  if (flag) return flag;
  return s->pending ? CV_ROOT_RETURN : s->t == t1 ? CV_TSTOP_RETURN : CP_SUCCESS;
}

/* Begins a call. Returns 0, or a code that has been reported. */
static int begin(CPSession s, sunrealtype t1, N_Vector y, const sunrealtype *t,
                 const char *function) {
  int flag = sessionIdle(s, 0, function);
  if (flag) return flag;
  if (!s->started) return cpReport(&s->log, CP_NO_INIT, function, "call CPSessionStart first");
  if (!y || !t || N_VGetLength(y) != N_VGetLength(s->y))
    return cpReport(&s->log, CP_ILL_INPUT, function, "y must be a state, and t must not be NULL");
  if (isnan(t1) || s->sign * (t1 - s->t) < 0.0)
    return cpReport(&s->log, CP_ILL_INPUT, function,
                    "t1 must not lie before %.15g, where the run is: t1 = %.15g", s->t, t1);
  if (s->mech && !(CPMechGetUse(s->mech) & CP_MECH_ATTACHED))
    return cpReport(
        &s->log, CP_NO_INIT, function,
        "the integrator of the mechanical system has been freed: call CPSessionStart again");
  s->log.running = 1;
  for (int i = 0; i < s->nsources && !flag; i++) {
    const CPEventSource *is = &s->source[i].is;
    if (is->ready) flag = is->ready(s, s->t, is->data);
    if (flag) flag = sessionOfSource(s, &s->source[i], flag, function);
  }
  s->log.running = flag == CP_SUCCESS;
  s->nevents     = 0;
  return flag;
}

static int end(CPSession s, int flag, N_Vector y, sunrealtype *t) {
  sessionPause(s);
  s->log.running = 0;
  *t             = s->t;
  N_VScale(1.0, s->y, y);
  return flag;
}

int CPSessionStep(CPSession s, sunrealtype t1, N_Vector y, sunrealtype *t) {
  const int flag = begin(s, t1, y, t, __func__);
  return flag ? flag : end(s, oneStep(s, t1, __func__), y, t);
}

int CPSessionRun(CPSession s, sunrealtype t1, N_Vector y, sunrealtype *t) {
  int flag = begin(s, t1, y, t, __func__);
  if (flag) return flag;
  do flag = oneStep(s, t1, __func__);
  while (flag == CP_SUCCESS || flag == CV_ROOT_RETURN);
  return end(s, flag == CV_TSTOP_RETURN ? CP_SUCCESS : flag, y, t);
}

int CPSessionGetDky(CPSession s, sunrealtype t, int k, N_Vector dky) {
  if (!s) return cpReport(NULL, CP_MEM_NULL, __func__, "session must not be NULL");
  if (!s->mem || !dky)
    return cpReport(&s->log, CP_ILL_INPUT, __func__,
                    "dky must not be NULL, and there must be a run");
  if (!s->advanced) return sessionOfIntegrator(s, CPIntegratorGetDky(s->mem, t, k, dky));
  const sunrealtype x = (t - s->t_saved) / (s->t - s->t_saved);
  if (k != 0 || !(x >= 0.0 && x <= 1.0))
    return cpReport(
        &s->log, k != 0 ? CV_BAD_K : CV_BAD_T, __func__,
        "in a step of a source's own, k must be 0 and t between %.15g and %.15g: k = %d, t = %.15g",
        s->t_saved, s->t, k, t);
  N_VLinearSum(1.0 - x, s->saved, x, s->y, dky);
  return CP_SUCCESS;
}
