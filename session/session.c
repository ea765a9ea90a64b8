/* The session as an object: its options, sources and results. */
#include "session_impl.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sessionPassOn(CPSession s, int flag, const char *text) {
  if (flag && text != s->log.text) snprintf(s->log.text, sizeof s->log.text, "%s", text);
  return flag;
}

int sessionOfIntegrator(CPSession s, int flag) {
  const char *text = CPObjectGetLastMessage(CP_OBJECT(s->mem));
  return sessionPassOn(s, flag,
                       text[0] || !s->mech ? text : CPObjectGetLastMessage(CP_OBJECT(s->mech)));
}

int sessionOfSource(CPSession s, const Source *source, int flag, const char *function) {
  const char *text = source->is.message ? source->is.message(source->is.data) : "";
  if (text && text[0]) return sessionPassOn(s, -abs(flag), text);
  return cpReport(&s->log, -abs(flag), function,
                  "at t = %.10g: the event source \"%s\" failed (%d)", s->t, source->is.name, flag);
}

int sessionIdle(CPSession s, int before_start, const char *function) {
  if (!s) return cpReport(NULL, CP_MEM_NULL, function, "session must not be NULL");
  const int flag = cpIdle(&s->log, function);
  if (flag) return flag;
  if (before_start && s->started)
    return cpReport(&s->log, CP_TOO_LATE, function, "call it before CPSessionStart");
  return CP_SUCCESS;
}

/* ---- life cycle ---- */

CPSession CPSessionCreate(const char *method, SUNContext ctx) {
  const char *name    = method ? method : "auto";
  const char *slash   = strchr(name, '/');
  const size_t length = slash ? (size_t)(slash - name) : strlen(name);
  if (!ctx) return cpRefuse(NULL, __func__, "ctx must not be NULL"), NULL;
  if (strlen(name) >= SESSION_NAME || !length || (slash && !slash[1]))
    return cpRefuse(NULL, __func__,
                    "method must be a name, two of them as in \"DOP853/BDF\", or \"auto\": %.80s",
                    name),
           NULL;
  const CPSession s = calloc(1, sizeof *s);
  if (!s) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a session"), NULL;
  s->log.kind = &sessionKind;
  s->ctx = ctx, s->rtol = NAN, s->stop = NAN;
  s->chooses  = !strcmp(name, "auto");
  s->suggests = s->chooses || (slash && !strcmp(slash + 1, "auto"));
  s->changes  = s->suggests || slash;
  if (s->chooses) strcpy(s->method, "DOP853");
  else snprintf(s->method, sizeof s->method, "%.*s", (int)length, name);
  snprintf(s->stiff, sizeof s->stiff, "%s", s->suggests ? "RADAU" : slash ? slash + 1 : name);
  return s;
}

static void freeVector(N_Vector *y) {
  if (*y) N_VDestroy(*y);
  *y = NULL;
}

static void freeVectors(CPSession s) {
  N_Vector *own[] = {&s->y,       &s->saved,   &s->between, &s->work[0],
                     &s->work[1], &s->work[2], &s->work[3]};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) freeVector(own[i]);
}

void CPSessionFree(CPSession *session) {
  const CPSession s = session ? *session : NULL;
  if (!s || sessionIdle(s, 0, __func__)) return;
  sessionFreeIntegrator(s);
  freeVectors(s);
  freeVector(&s->vatol);
  for (int i = 0; i < s->nsources; i++) free((char *)s->source[i].is.name);
  free(s->source), free(s->found), free(s->direction), free(s->times);
  free(s);
  *session = NULL;
}

/* ---- options ---- */

int CPSessionSetIntegrator(CPSession s, CPIntegrator integrator) {
  const int flag = sessionIdle(s, 1, __func__);
  if (flag) return flag;
  if (!integrator) return cpReport(&s->log, CP_ILL_INPUT, __func__, "integrator must not be NULL");
  s->mem = integrator, s->given = 1, s->chooses = s->suggests = s->changes = 0;
  return CP_SUCCESS;
}

/* Adds the event sources of its mechanical system. */
static int addOwnSources(CPSession s, const char *function) {
  const CPEquations *model = CPModelGetEquations(CPMechGetModel(s->mech));
  if (!model || !model->event_source) return CP_SUCCESS;
  void *data = NULL;
  int flag = CPMechGetData(s->mech, &data), more = 0;
  if (flag) return sessionPassOn(s, flag, CPObjectGetLastMessage(CP_OBJECT(s->mech)));
  while (!flag && !more) {
    CPEventSource source = CP_INIT(CPEventSource);
    more                 = model->event_source(s->nown, &source, data);
    if (more < 0)
      return cpReport(&s->log, more, function,
                      "event source %d of the mechanical system failed (%d)", s->nown, more);
    if (!more && !(flag = CPSessionAddSource(s, &source, NULL))) s->nown++;
  }
  return flag;
}

int CPSessionSetMech(CPSession s, CPMech mech) {
  const int flag = sessionIdle(s, 1, __func__);
  if (flag || mech == s->mech) return flag;
  if (s->nown > 0)
    return cpReport(&s->log, CP_ILL_INPUT, __func__,
                    "the session has the event sources of another mechanical system");
  s->mech = mech;
  return addOwnSources(s, __func__);
}

int CPSessionSetRhsFn(CPSession s, CVRhsFn f, void *user_data) {
  const int flag = sessionIdle(s, 1, __func__);
  if (!flag) s->f = f, s->f_data = user_data;
  return flag;
}

int CPSessionSetTolerances(CPSession s, sunrealtype reltol, sunrealtype abstol, N_Vector vabstol) {
  const int flag = sessionIdle(s, 0, __func__);
  if (flag) return flag;
  if (!(reltol >= 0.0 && abstol >= 0.0 && isfinite(reltol + abstol)))
    return cpReport(&s->log, CP_ILL_INPUT, __func__,
                    "reltol and abstol must be >= 0 and finite: reltol = %g, abstol = %g", reltol,
                    abstol);
  N_Vector copy = vabstol ? N_VClone(vabstol) : NULL;
  if (vabstol && !copy)
    return cpReport(&s->log, CP_MEM_FAIL, __func__, "no memory for the tolerances");
  if (copy) N_VScale(1.0, vabstol, copy);
  freeVector(&s->vatol);
  s->rtol = reltol, s->atol = copy ? N_VMin(copy) : abstol, s->vatol = copy;
  return CP_SUCCESS;
}

int CPSessionGetTolerances(CPSession s, sunrealtype *reltol, sunrealtype *abstol) {
  if (!s) return cpReport(NULL, CP_MEM_NULL, __func__, "session must not be NULL");
  if (reltol) *reltol = s->rtol;
  if (abstol) *abstol = s->atol;
  return CP_SUCCESS;
}

int CPSessionSetConfigFn(CPSession s, CPConfigFn fn, void *data) {
  const int flag = sessionIdle(s, 0, __func__);
  if (!flag) s->config = fn, s->config_data = data;
  return flag;
}

int CPSessionSetStepFn(CPSession s, CPStateFn fn, void *data) {
  const int flag = sessionIdle(s, 0, __func__);
  if (!flag) s->step = (StateFn){fn, data};
  return flag;
}

int CPSessionSetEventFn(CPSession s, CPEventFn fn, void *data) {
  const int flag = sessionIdle(s, 0, __func__);
  if (!flag) s->event = fn, s->event_data = data;
  return flag;
}

int CPSessionSetOutputFn(CPSession s, int n, const sunrealtype *times, CPStateFn fn, void *data) {
  const int flag = sessionIdle(s, 0, __func__);
  if (flag) return flag;
  if (n < 0 || (n > 0 && !times))
    return cpReport(&s->log, CP_ILL_INPUT, __func__,
                    "n must be >= 0, and times not NULL with n > 0: n = %d", n);
  const sunrealtype sign = n > 1 && times[n - 1] < times[0] ? -1.0 : 1.0;
  for (int i = 0; i < n; i++)
    if (!isfinite(times[i]) || (i > 0 && !(sign * (times[i] - times[i - 1]) >= 0.0)))
      return cpReport(&s->log, CP_ILL_INPUT, __func__,
                      "times must be finite and in order: times[%d] = %g", i, times[i]);
  sunrealtype *copy = malloc(((size_t)n + 1) * sizeof *copy);
  if (!copy) return cpReport(&s->log, CP_MEM_FAIL, __func__, "no memory for %d times", n);
  if (n > 0) memcpy(copy, times, (size_t)n * sizeof *copy);
  free(s->times);
  s->times = copy, s->ntimes = n, s->output = (StateFn){fn, data};
  sessionFirstOutput(s, s->started ? s->t : -INFINITY);
  return CP_SUCCESS;
}

void sessionFirstOutput(CPSession s, sunrealtype t) {
  s->next_output = 0;
  while (s->next_output < s->ntimes && s->sign * (t - s->times[s->next_output]) > 0.0)
    s->next_output++;
}

int CPSessionSetMaxEvents(CPSession s, long int maxevents) {
  const int flag = sessionIdle(s, 0, __func__);
  if (flag) return flag;
  if (maxevents < 0)
    return cpReport(&s->log, CP_ILL_INPUT, __func__, "maxevents must be >= 0: maxevents = %ld",
                    maxevents);
  s->maxevents = maxevents;
  return CP_SUCCESS;
}

/* ---- sources ---- */

/* Returns the rule that a source breaks, or NULL. */
static const char *brokenRule(const CPEventSource *source) {
  if (!source->name || !source->handle) return "source->name and source->handle must not be NULL";
  if (source->nroots < 0 || (source->nroots > 0 && !source->roots))
    return "source->nroots must be >= 0, and source->roots not NULL if it is > 0";
  if (!(source->period >= 0.0) || isinf(source->period) || !isfinite(source->first))
    return "source->period must be >= 0 and finite, and source->first finite";
  if (source->period > 0.0 && source->next_time)
    return "source->next_time must be NULL beside a period";
  if ((source->advances || source->take_over) && !(source->advances && source->advance))
    return "source->advances and take_over need advance, and take_over needs advances";
  for (int i = 0; i < source->nroots && source->direction; i++)
    if (source->direction[i] < -1 || source->direction[i] > 1)
      return "source->direction must consist of -1, 0 and 1";
  return NULL;
}

int CPSessionAddSource(CPSession s, const CPEventSource *source, int *id) {
  CPEventSource own;
  int flag = sessionIdle(s, 1, __func__);
  if (!flag) flag = cpTake(&s->log, &own, source, __func__);
  if (flag) return flag;
  const char *rule = brokenRule(source = &own);
  if (rule) return cpReport(&s->log, CP_ILL_INPUT, __func__, "%s", rule);
  const int first = s->nroots, n = first + source->nroots;
  char *name   = malloc(strlen(source->name) + 1);
  Source *more = realloc(s->source, ((size_t)s->nsources + 1) * sizeof *more);
  if (more) s->source = more;
  int *direction = realloc(s->direction, ((size_t)n + 1) * sizeof *direction);
  if (direction) s->direction = direction;
  int *found = realloc(s->found, ((size_t)n + 1) * sizeof *found);
  if (found) s->found = found;
  if (!name || !more || !direction || !found) {
    free(name);
    return cpReport(&s->log, CP_MEM_FAIL, __func__, "no memory for an event source");
  }
  for (int i = first; i < n; i++)
    direction[i] = source->direction ? source->direction[i - first] : 0;
  memset(found, 0, (size_t)n * sizeof *found);
  Source *new       = &s->source[s->nsources];
  *new              = (Source){.is = *source, .first = first, .due = INFINITY};
  new->is.name      = strcpy(name, source->name);
  new->is.direction = NULL;
  if (id) *id = s->nsources;
  s->nroots = n;
  s->nsources++;
  return CP_SUCCESS;
}

/* ---- results ---- */

CPIntegrator CPSessionGetIntegrator(CPSession s) { return s ? s->mem : NULL; }

/* Adds the counters of s's integrator to *sum. A source's own step restarts the integrator as it likes, and counts as one step. */
static void add(CPSession s, CPIntegratorStats *sum) {
  CPIntegratorStats now;
  if (!s->mem || s->advanced) return;
  CP_OBJECT(s->mem)->kind->read(CP_OBJECT(s->mem), &now);
  for (const CPCounter *c = cpIntegratorCounters; c->name; c++) {
    const void *from = (const char *)&now + c->at;
    void *to         = (char *)sum + c->at;
    if (c->type == CP_OF_LONG) *(long int *)to += *(const long int *)from;
    else memcpy(to, from, sizeof(sunrealtype)); /* sizes of steps and what follows them */
  }
}

void sessionCount(CPSession s) { add(s, &s->before); }

static void readCounters(CPObject object, void *counters) {
  const CPSession s              = (CPSession)object;
  *(CPIntegratorStats *)counters = s->before;
  if (s->started) add(s, counters);
}

static CPObject owned(CPObject session) {
  const CPSession s = (CPSession)session;
  return s->given ? NULL : CP_OBJECT(s->mem);
}

const CPKind sessionKind = {cpIntegratorCounters, readCounters, owned};
