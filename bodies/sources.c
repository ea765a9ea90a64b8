/* What acts at times and events of a run, as event sources of the model (CPEquations.event_source): one source for all releases, since the
 * load on one joint may become too large as another one is released, which is the same event; and for each controller one that samples
 * it and, if it has a delay, one that lets the samples act, from a queue in their order. */
#include "sources.h"
#include "formulas.h"

#include <cpodes/cpodes_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A controller in a run */
typedef struct {
  struct Acting_ *all;
  const Controller *is;
  sunrealtype start, newest; /* what its parameter has before the run, and has been set to */
  int first, count, length;
  sunrealtype *queue; /* [length] samples on their way, from `first` on */
} Sampled;

typedef struct Acting_ {
  Mechanism *m;
  CPMech mech;             /* of the newest run */
  Sampled *sampled;        /* [ncontrollers] */
  char *released, *before; /* [nreleases] before: the newest event */
  int *direction;          /* [nreleases] */
  int *mask, na;
  int now; /* a trigger is positive where a run starts, or after an event of another source */
  sunrealtype due; /* the time of the next event */
  char text[TEXT], message[TEXT];
} Acting;

/* *value: out, a quantity of the element of this name. Returns 0 or a negative code. */
static int quantity(Acting *all, int name, const char *what, sunrealtype t, N_Vector y,
                    sunrealtype *value) {
  char text[TEXT];
  CPSensor s = CP_INIT(CPSensor);
  snprintf(text, sizeof text, "%s.%s", all->m->text + name, what);
  const int flag  = CPMechGetSensor(all->mech, text, t, y, &s);
  *value          = s.value[0];
  all->message[0] = '\0';
  if (!flag && isfinite(*value)) return 0; /* an expression fails where it is not finite */
  snprintf(all->message, sizeof all->message, "%.200s must be finite, and is not at t = %g", text,
           (double)t);
  return CP_USERFUNC_FAIL;
}

/* ---- releases ---- */

static sunrealtype timeOf(const Acting *all, int i) {
  const Release *r = &all->m->release[i];
  return r->timed ? all->m->param[r->at] : INFINITY;
}

/* *value: out, that of the quantity NAME.trigger, or for a time 1 if it has come; -1 for what has been released. Returns 0 or a
 * negative code. */
static int trigger(Acting *all, int i, sunrealtype t, N_Vector y, sunrealtype *value) {
  const Release *r = &all->m->release[i];
  if (!all->released[i] && !r->timed) return quantity(all, r->name, "trigger", t, y, value);
  *value = !all->released[i] && timeOf(all, i) <= t ? 1 : -1;
  return 0;
}

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  Acting *all = data;
  int flag    = 0;
  for (int i = 0; i < all->m->nreleases && !flag; i++) {
    g[i] = -1; /* times are no roots */
    if (!all->m->release[i].timed) flag = trigger(all, i, t, y, &g[i]);
  }
  return flag;
}

static int switchRows(Acting *all) {
  const Mechanism *m = all->m;
  for (int i = 0; i < all->na; i++) all->mask[i] = -1;
  for (int i = 0; i < m->nreleases; i++)
    bodiesMaskJoint(m, m->release[i].joint, !all->released[i], all->mask);
  return CPMechSetActive(all->mech, all->mask);
}

/* As all functions of releases, it gets the Acting. */
static int takeMech(CPMech mech, void *data) {
  Acting *all = data;
  if (!mech) return CP_ILL_INPUT;
  all->mech    = mech;
  const int na = (int)CPMechGetNumMultipliers(mech);
  int *mask    = na == all->na ? all->mask : realloc(all->mask, ((size_t)na + 1) * sizeof *mask);
  if (!mask) return CP_MEM_FAIL;
  all->mask = mask, all->na = na;
  memset(all->released, 0, (size_t)all->m->nreleases);
  return switchRows(all);
}

/* Is a trigger positive that has not become so by a root? */
static int begin(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *data) {
  Acting *all = data;
  (void)session, (void)again;
  all->now = 0, all->message[0] = '\0';
  if (t_end < t) {
    snprintf(all->message, sizeof all->message, "releases cannot be followed backwards");
    return CP_ILL_INPUT;
  }
  for (int i = 0; i < all->m->nreleases; i++) {
    sunrealtype value;
    const int flag = trigger(all, i, t, y, &value);
    if (flag) return flag;
    all->now |= value > 0;
  }
  return 0;
}

static sunrealtype nextTime(sunrealtype t, void *data) {
  Acting *all      = data;
  sunrealtype next = INFINITY;
  for (int i = 0; i < all->m->nreleases; i++)
    if (!all->released[i] && timeOf(all, i) > t) next = fmin(next, timeOf(all, i));
  return all->due = all->now ? t : next;
}

/* Releases a joint. The text of the event names it. */
static int release(Acting *all, int i) {
  const size_t used = strlen(all->text);
  all->released[i]  = 1;
  snprintf(all->text + used, sizeof all->text - used, "%s%s released", used ? ", " : "",
           all->m->text + all->m->joint[all->m->release[i].joint].name);
  return switchRows(all);
}

static int meet(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Acting *all         = data;
  const sunrealtype t = event->timed ? fmax(event->t, all->due) : event->t;
  const int n         = all->m->nreleases;
  int flag            = 0;
  (void)session;
  all->text[0] = '\0', all->now = 0;
  memcpy(all->before, all->released, (size_t)n);
  for (int i = 0; i < n && !flag; i++)
    if (!all->released[i] && event->roots && event->roots[i] > 0) flag = release(all, i);
  for (int i = 0; i < n && !flag; i++) { /* what is due, and what follows from it */
    sunrealtype value;
    flag = trigger(all, i, t, y, &value);
    if (flag || !(value > 0)) continue;
    flag = release(all, i);
    i    = -1;
  }
  return flag ? flag : all->text[0] ? CP_RESTART : CP_CONTINUE;
}

static void undo(CPSession session, N_Vector y, void *data) {
  Acting *all = data;
  (void)session, (void)y;
  if (all->text[0]) memcpy(all->released, all->before, (size_t)all->m->nreleases);
  switchRows(all);
}

static const char *messageOf(void *data) {
  const Acting *all = data;
  return all->message[0] ? all->message : NULL;
}

static const char *nameOfEvent(void *data) { return ((const Acting *)data)->text; }

static const CPEventSource releases = {.name       = "releases",
                                       .roots      = roots,
                                       .next_time  = nextTime,
                                       .start      = begin,
                                       .handle     = meet,
                                       .undo       = undo,
                                       .message    = messageOf,
                                       .take_mech  = takeMech,
                                       .event_name = nameOfEvent};

/* ---- controllers ---- */

static int takeMechOfSampled(CPMech mech, void *data) {
  ((Sampled *)data)->all->mech = mech;
  return mech ? 0 : CP_ILL_INPUT;
}

/* A run begins with the parameter as it was before, unless somebody else has set it. */
static int beginSampled(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                        void *data) {
  Sampled *c         = data;
  sunrealtype *value = &c->all->m->param[c->is->param];
  (void)session, (void)t, (void)t_end, (void)y;
  if (again) return 0;
  if (*value != c->newest) c->start = *value;
  *value = c->newest = c->start;
  c->count           = 0;
  return 0;
}

static int set(Sampled *c, sunrealtype value) {
  sunrealtype *own  = &c->all->m->param[c->is->param];
  const int changed = value != *own;
  *own = c->newest = value;
  return changed ? CP_RESTART : CP_CONTINUE;
}

static int sample(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Sampled *c = data;
  sunrealtype value;
  (void)session;
  const int flag = quantity(c->all, c->is->name, "output", event->t, y, &value);
  if (flag) return flag;
  if (!c->queue) return set(c, value);
  if (c->count == c->length) return CP_CONTINUE; /* beyond the end of the run */
  c->queue[(c->first + c->count++) % c->length] = value;
  return CP_CONTINUE;
}

static int act(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Sampled *c = data;
  (void)session, (void)event, (void)y;
  if (c->count == 0) return CP_CONTINUE;
  const sunrealtype value = c->queue[c->first];
  c->first                = (c->first + 1) % c->length;
  c->count--;
  return set(c, value);
}

static const char *messageOfSampled(void *data) { return messageOf(((Sampled *)data)->all); }

static CPEventSource sourceOf(Sampled *c, int acts) {
  return (CPEventSource){.name      = c->all->m->text + c->is->name,
                         .data      = c,
                         .start     = acts ? NULL : beginSampled,
                         .handle    = acts ? act : sample,
                         .message   = messageOfSampled,
                         .take_mech = takeMechOfSampled,
                         .period    = c->is->period,
                         .first     = c->is->first + (acts ? c->is->delay : 0)};
}

/* ---- all ---- */

void bodiesFreeActing(Mechanism *m) {
  Acting *all = m->acting;
  if (!all) return;
  for (int i = 0; i < m->ncontrollers && all->sampled; i++) free(all->sampled[i].queue);
  free(all->sampled);
  free(all->released);
  free(all->direction);
  free(all->mask);
  free(all);
  m->acting = NULL;
}

static int make(Mechanism *m) {
  const size_t n = (size_t)m->nreleases, nc = (size_t)m->ncontrollers;
  Acting *all = m->acting = calloc(1, sizeof *all);
  if (!all) return CP_MEM_FAIL;
  all->m         = m;
  all->sampled   = calloc(nc + 1, sizeof *all->sampled);
  all->released  = calloc(2 * n + 1, 1);
  all->direction = malloc((n + 1) * sizeof *all->direction);
  int failed     = !all->sampled || !all->released || !all->direction;
  all->before    = all->released ? all->released + n : NULL;
  for (size_t i = 0; i < n && !failed; i++) all->direction[i] = 1;
  for (size_t i = 0; i < nc && !failed; i++) {
    Sampled *c = &all->sampled[i];
    c->all = all, c->is = &m->controller[i];
    c->start = c->newest = m->param[c->is->param];
    if (!(c->is->delay > 0)) continue;
    c->length = (int)fmin(c->is->delay / c->is->period, 1e6) + 2;
    failed    = !(c->queue = calloc((size_t)c->length, sizeof *c->queue));
  }
  if (failed) bodiesFreeActing(m);
  return failed ? CP_MEM_FAIL : 0;
}

int bodiesEventSource(int i, CPEventSource *source, void *mechanism) {
  Mechanism *m      = mechanism;
  const size_t size = source->size;
  int k             = i - (m->nreleases > 0); /* among those of controllers */
  if (!m->acting && make(m)) return CP_MEM_FAIL;
  if (k < 0) {
    *source      = releases;
    source->data = m->acting, source->nroots = m->nreleases;
    source->direction = m->acting->direction;
  }
  for (int c = 0; k >= 0; c++) {
    if (c == m->ncontrollers) return 1;
    Sampled *own = &m->acting->sampled[c];
    const int n  = own->queue ? 2 : 1;
    if (k < n) *source = sourceOf(own, k == 1);
    k -= n;
  }
  source->size = size;
  return 0;
}
