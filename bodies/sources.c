/* What acts at times and events of a run, as event sources of the model (CPEquations.event_source): one source for all releases and
 * latches, since the load on one joint may become too large as another one is released, which is the same event; and for each controller
 * one that samples it and, if it has a delay, one that lets the samples act, from a queue in their order; and last that of the kinks
 * (kinks.c). */
#include "sources.h"
#include "formulas.h"
#include "kinks.h"
#include "polyhedra.h"

#include <cpodes/cpodes_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A controller in a run */
typedef struct {
  struct Acting_ *all;
  const Controller *is;
  sunrealtype start, newest; /* what its parameter has before the run, and has been set to */
  sunrealtype begins;        /* the time of the first sample of the run, or NaN before it */
  int length;
  sunrealtype *queue; /* [length] samples on their way: that number k at k modulo length */
  sunrealtype **held; /* [length + 1] what it sets: its parameter, and the queue */
  CPEventDerivatives samples, acts;
} Sampled;

typedef struct Acting_ {
  Mechanism *m;
  CPMech mech;      /* of the newest run */
  Sampled *sampled; /* [ncontrollers] */
  /* [2 nreleases] has it happened, and is its joint on; before: the newest event */
  char *now, *before;
  Latch *latch;   /* [nreleases] = m->latch */
  int *direction; /* [nreleases] */
  int *mask, na;
  sunrealtype *udot; /* [nu + na] accelerations and multipliers */
  int decides; /* the first release of the newest event, whose trigger is zero there, or NONE, */
  sunrealtype decided; /* and its time */
  sunrealtype starts;  /* the time of the start of the run */
  int acts; /* a trigger is positive where a run starts, or after an event of another source */
  N_Vector from,
      met; /* the states before and after the newest event at which a latch has closed, or NULL */
  sunrealtype **held; /* [OF_LATCH nreleases] the numbers that move latches */
  CPEventDerivatives derivatives;
  sunrealtype due; /* the time of the next event */
  char text[TEXT], message[TEXT];
} Acting;

/* *value: out, a quantity of the element of this name. udot: the accelerations and multipliers at (t, y), or NULL if they are not known.
 * Returns 0 or a negative code. */
static int quantity(Acting *all, int name, const char *what, sunrealtype t, N_Vector y,
                    const sunrealtype *udot, sunrealtype *value) {
  char text[TEXT];
  CPSensor s = {CP_SIZED(CPSensor), .udot = udot,
                .lambda = udot ? udot + bodiesVelocities(all->m) : NULL};
  snprintf(text, sizeof text, "%s.%s", all->m->text + name, what);
  const int flag  = CPMechGetSensor(all->mech, text, t, y, &s);
  *value          = s.value[0];
  all->message[0] = '\0';
  if (!flag && isfinite(*value)) return 0; /* an expression fails where it is not finite */
  char why[TEXT] = "";
  bodiesFailure(all->m, why, sizeof why);
  snprintf(all->message, sizeof all->message, "%.100s must be finite, and is not at t = %g%s%.300s",
           text, (double)t, why[0] ? ": " : "", why);
  return CP_USERFUNC_FAIL;
}

/* ---- releases ---- */

static sunrealtype timeOf(const Acting *all, int i) {
  const Release *r = &all->m->release[i];
  return r->timed ? all->m->param[r->at] : INFINITY;
}

/* May it happen: a release whose joint is on, or a latch whose joint is off? */
static int waits(const Acting *all, int i) {
  return !all->now[i] && all->now[all->m->nreleases + i] != all->m->release[i].closes;
}

/* *value: out, that of the quantity NAME.trigger, or for a time 1 if it has come; -1 for what cannot happen. Returns 0 or a negative
 * code. */
static int trigger(Acting *all, int i, sunrealtype t, N_Vector y, const sunrealtype *udot,
                   sunrealtype *value) {
  const Release *r = &all->m->release[i];
  if (waits(all, i) && !r->timed) return quantity(all, r->name, "trigger", t, y, udot, value);
  *value = waits(all, i) && timeOf(all, i) <= t ? 1 : -1;
  return 0;
}

/* Returns the accelerations and multipliers at (t, y), once for all triggers, or NULL if none needs them, or if they cannot be
 * computed, which the triggers report. */
static const sunrealtype *accelerations(Acting *all, sunrealtype t, N_Vector y) {
  const Mechanism *m = all->m;
  int needed         = 0;
  for (int i = 0; i < m->nreleases && !needed; i++)
    needed = waits(all, i) && !m->release[i].timed &&
             bodiesSensorNeeds(m, &(Sensor){.kind = NAME_RELEASE, .index = i, .quantity = TRIGGER});
  if (!needed || CPMechAccelerations(all->mech, t, y, all->udot, all->udot + bodiesVelocities(m)))
    return NULL;
  return all->udot;
}

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  Acting *all             = data;
  const sunrealtype *udot = accelerations(all, t, y);
  int flag                = 0;
  for (int i = 0; i < all->m->nreleases && !flag; i++) {
    g[i] = -1; /* times are no roots */
    if (!all->m->release[i].timed) flag = trigger(all, i, t, y, udot, &g[i]);
  }
  return flag;
}

/* Switches the rows of all joints that are released or closed; strikes: those of contacts are off during the impact of a latch, after
 * which contacts begin again. */
static int switchRows(Acting *all, int strikes) {
  const Mechanism *m = all->m;
  for (int i = 0; i < all->na; i++) all->mask[i] = -1;
  for (int i = 0; i < m->ncontacts && strikes; i++)
    bodiesMaskJoint(m, m->contact[i].joint, 0, all->mask);
  for (int i = 0; i < m->nreleases; i++)
    bodiesMaskJoint(m, m->release[i].joint, all->now[m->nreleases + i], all->mask);
  return CPMechSetActive(all->mech, all->mask);
}

/* What has happened becomes `now`; strikes: as of switchRows */
static int become(Acting *all, const char *now, int strikes) {
  Mechanism *m = all->m;
  memmove(all->now, now, 2 * (size_t)m->nreleases);
  for (int i = 0; i < m->nreleases; i++)
    if (m->release[i].closes) bodiesSetLatch(m, i, now[i]);
  const int flag = CPMechSetUserData(all->mech, m); /* whose frames may have changed */
  return flag ? flag : switchRows(all, strikes);
}

/* As all functions of releases, it gets the Acting. */
static int takeMech(CPMech mech, void *data) {
  Acting *all = data;
  if (!mech) return CP_ILL_INPUT;
  all->mech   = mech;
  const int n = all->m->nreleases, na = (int)CPMechGetNumMultipliers(mech);
  const size_t nu = (size_t)bodiesVelocities(all->m);
  int *mask       = realloc(all->mask, ((size_t)na + 1) * sizeof *mask);
  if (mask) all->mask = mask;
  sunrealtype *udot = realloc(all->udot, (nu + (size_t)na + 1) * sizeof *udot);
  if (udot) all->udot = udot;
  if (!mask || !udot) return CP_MEM_FAIL;
  all->na = na;
  for (int i = 0; i < n; i++)
    all->before[i] = 0, all->before[n + i] = !all->m->joint[all->m->release[i].joint].latched;
  return become(all, all->before, 0);
}

/* Is a trigger positive that has not become so by a root? */
static int begin(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *data) {
  Acting *all = data;
  (void)session;
  all->acts = 0, all->message[0] = '\0';
  if (!again) all->starts = t;
  if (t_end < t) {
    snprintf(all->message, sizeof all->message, "releases cannot be followed backwards");
    return CP_ILL_INPUT;
  }
  const sunrealtype *udot = accelerations(all, t, y);
  for (int i = 0; i < all->m->nreleases; i++) {
    sunrealtype value;
    const int flag = trigger(all, i, t, y, udot, &value);
    if (flag) return flag;
    all->acts |= value > 0;
  }
  return 0;
}

static sunrealtype nextTime(sunrealtype t, void *data) {
  Acting *all      = data;
  sunrealtype next = INFINITY;
  for (int i = 0; i < all->m->nreleases; i++)
    if (!all->now[i] && timeOf(all, i) > t) next = fmin(next, timeOf(all, i));
  return all->due = all->acts ? t : next;
}

/* Closes a joint where the bodies are. Its velocities become those that it allows, by a plastic impact. */
static int closeJoint(Acting *all, int i, sunrealtype t, N_Vector y) {
  Mechanism *m    = all->m;
  const int joint = m->release[i].joint;
  sunrealtype *q  = N_VGetArrayPointer(y);
  bodiesPoses(m, q, q + bodiesCoordinates(m), NULL);
  bodiesCloseHere(m, joint, &all->latch[i].closed);
  memset(m->moved + OF_LATCH * i, 0, OF_LATCH * sizeof *m->moved);
  int flag = become(all, all->now, 1);
  if (!flag) flag = bodiesStrike(m, all->mech, t, y, NULL);
  if (flag)
    snprintf(all->message, sizeof all->message,
             "%.100s: at t = %g the joint cannot be closed: %.300s", m->text + m->release[i].name,
             (double)t, CPObjectGetLastMessage(CP_OBJECT(all->mech)));
  return flag;
}

/* Releases a joint, or closes it. The text of the event names it. is_zero: its trigger is zero there, or its time has come */
static int happen(Acting *all, int i, int is_zero, sunrealtype t, N_Vector y) {
  const Mechanism *m = all->m;
  const Release *r   = &m->release[i];
  const size_t used  = strlen(all->text);
  if (!used) all->decides = is_zero ? i : NONE, all->decided = t;
  all->now[i] = 1;
  for (int k = 0; k < m->nreleases; k++)
    if (m->release[k].joint == r->joint) all->now[m->nreleases + k] = (char)r->closes;
  snprintf(all->text + used, sizeof all->text - used, "%s%s %s", used ? ", " : "",
           m->text + m->joint[r->joint].name, r->closes ? "closed" : "released");
  return r->closes ? closeJoint(all, i, t, y) : switchRows(all, 0);
}

static int meet(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Acting *all         = data;
  const sunrealtype t = event->timed ? fmax(event->t, all->due) : event->t;
  const int n         = all->m->nreleases;
  int flag            = 0;
  (void)session;
  all->text[0] = '\0', all->acts = 0;
  memcpy(all->before, all->now, 2 * (size_t)n);
  if (!all->from && (!(all->from = N_VClone(y)) || !(all->met = N_VClone(y)))) return CP_MEM_FAIL;
  N_VScale(1, y, all->from);
  for (int i = 0; i < n && !flag; i++)
    if (waits(all, i) && event->roots && event->roots[i] > 0) flag = happen(all, i, 1, t, y);
  for (int i = 0; i < n && !flag; i++) { /* what is due, and what follows from it */
    sunrealtype value;
    flag = trigger(all, i, t, y, NULL, &value);
    if (flag || !(value > 0)) continue;
    flag = happen(all, i, all->m->release[i].timed && timeOf(all, i) >= t, t, y);
    i    = -1;
  }
  for (int i = 0; i < n; i++) /* a time that finds its joint as it would make it */
    if (timeOf(all, i) <= t) all->now[i] = 1;
  N_VScale(1, y, all->met);
  return flag ? flag : all->text[0] ? CP_RESTART : CP_CONTINUE;
}

static void undo(CPSession session, N_Vector y, void *data) {
  Acting *all = data;
  (void)session, (void)y;
  if (all->text[0]) become(all, all->before, 0);
}

/* ---- derivatives ---- */

/* Releases and latches at an event of a run that is differentiated */
typedef struct {
  Strike *strike; /* that of latches, or NULL */
  int decides;    /* its trigger is zero at the event, or NONE */
  char before[];  /* [4 nreleases] before and, from 2 nreleases on, after: Acting.now */
} Passage;

/* Does latch i close there? */
static int closesAt(const Acting *all, const Passage *e, int i) {
  return all->m->release[i].closes && e->before[2 * all->m->nreleases + i] && !e->before[i];
}

/* why: NULL: what the mech has reported */
static int refuse(Acting *all, sunrealtype t, int flag, const char *why) {
  char text[TEXT];
  snprintf(text, sizeof text, "%.200s: %s", all->text,
           why ? why : CPObjectGetLastMessage(CP_OBJECT(all->mech)));
  return bodiesRefuseEvent(all->message, t, all->mech, flag, text);
}

static int keepStrike(Acting *all, Passage *e, sunrealtype t) {
  const sunrealtype *u = N_VGetArrayPointer(all->from) + bodiesCoordinates(all->m);
  const int flag       = bodiesKeepStrike(all->m, all->mech, t, all->met, u, NULL, &e->strike);
  return flag ? refuse(all, t, flag, NULL) : 0;
}

static int keepEvent(void **record, sunrealtype t, int is_start, int met, int *jumps, void *data) {
  Acting *all    = data;
  const size_t n = 2 * (size_t)all->m->nreleases;
  const int own  = met && !is_start && all->text[0] && t == all->decided;
  Passage *e     = calloc(1, sizeof *e + 2 * n);
  int closes = 0, opens = 0;
  if (!e) return CP_MEM_FAIL;
  *record = e, e->decides = t != all->starts ? all->decides : NONE;
  memcpy(e->before, own ? all->before : all->now, n);
  memcpy(e->before + n, all->now, n);
  if (!own) return 0;
  for (int i = 0; i < all->m->nreleases; i++)
    closes |= closesAt(all, e, i),
        opens |= !all->m->release[i].closes && all->now[i] && !all->before[i];
  if (e->decides == NONE && t != all->starts)
    return refuse(all, t, CP_NOT_SUPPORTED,
                  "another event makes this happen, and the derivative of its time is not known");
  if (closes && opens)
    return refuse(all, t, CP_NOT_SUPPORTED,
                  "derivatives do not pass a latch and a release at one time");
  *jumps = (e->decides != NONE) + 2 * closes;
  return closes ? keepStrike(all, e, t) : 0;
}

static int enter(const void *record, int after, sunrealtype t, N_Vector y, sunrealtype *part,
                 void *data) {
  Acting *all      = data;
  const Passage *e = record;
  (void)t, (void)y, (void)part;
  return become(all, e->before + (after ? 2 * all->m->nreleases : 0), 0);
}

static int map(const void *record, sunrealtype t, N_Vector y, void *data) {
  Acting *all          = data;
  const Passage *e     = record;
  Mechanism *m         = all->m;
  const sunrealtype *q = N_VGetArrayPointer(y);
  bodiesUpdate(m); /* The parameters may be others. */
  bodiesPoses(m, q, q + bodiesCoordinates(m), NULL);
  for (int i = 0; i < m->nreleases; i++) {
    Side here;
    if (!closesAt(all, e, i)) continue;
    bodiesCloseHere(m, m->release[i].joint, &here);
    bodiesLatchMoves(&all->latch[i], &here, m->moved + OF_LATCH * i);
  }
  int flag = become(all, e->before + 2 * m->nreleases, 0);
  if (!flag) flag = bodiesStrikeBeside(e->strike, m, all->mech, t, y, NULL, NAN);
  const int back = become(all, e->before, 0);
  return flag ? flag : back;
}

static int margin(const void *record, sunrealtype t, N_Vector y, sunrealtype *value, void *data) {
  Acting *all      = data;
  const int i      = ((const Passage *)record)->decides;
  const Release *r = &all->m->release[i];
  bodiesUpdate(all->m); /* The parameters may be others. */
  *value = t - timeOf(all, i);
  return r->timed ? 0 : quantity(all, r->name, "trigger", t, y, NULL, value);
}

/* In the plane a frame moves along two axes, and turns about the third. */
static int makeLatches(Acting *all) {
  Mechanism *m = all->m;
  const int n  = m->nreleases;
  int count    = 0;
  all->latch   = calloc((size_t)n + 1, sizeof *all->latch);
  all->held    = calloc((size_t)(OF_LATCH * n) + 1, sizeof *all->held);
  if (!all->latch || !all->held) return CP_MEM_FAIL;
  for (int i = 0; i < n; i++) {
    all->latch[i].pair = m->joint[m->release[i].joint].pair;
    for (int k = 0; k < OF_LATCH && m->release[i].closes; k++)
      if (m->space.dimension == 3 || k < 2 || k == OF_LATCH - 1)
        all->held[count++] = &m->moved[OF_LATCH * i + k];
  }
  all->derivatives = (CPEventDerivatives){.size   = sizeof all->derivatives,
                                          .held   = all->held,
                                          .nheld  = count,
                                          .record = keepEvent,
                                          .drop   = bodiesDropEvent,
                                          .enter  = enter,
                                          .margin = margin,
                                          .map    = map};
  m->latch         = all->latch;
  return 0;
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
  c->begins          = NAN;
  return 0;
}

static int set(Sampled *c, sunrealtype value) {
  sunrealtype *own  = &c->all->m->param[c->is->param];
  const int changed = value != *own;
  *own = c->newest = value;
  return changed ? CP_RESTART : CP_CONTINUE;
}

/* The place of the sample at t */
static sunrealtype *placeAt(const Sampled *c, sunrealtype t) {
  return c->queue + (int)fmod(fabs(round((t - c->is->first) / c->is->period)), c->length);
}

static int sample(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Sampled *c = data;
  sunrealtype value;
  (void)session;
  const int flag = quantity(c->all, c->is->name, "output", event->t, y, NULL, &value);
  if (flag) return flag;
  if (isnan(c->begins)) c->begins = event->t;
  if (!c->queue) return set(c, value);
  *placeAt(c, event->t) = value;
  return CP_CONTINUE;
}

static int act(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Sampled *c          = data;
  const sunrealtype t = event->t - c->is->delay; /* when the sample was taken */
  (void)session, (void)y;
  return t > c->begins - c->is->period / 2 ? set(c, *placeAt(c, t)) : CP_CONTINUE;
}

static const char *messageOfSampled(void *data) { return messageOf(((Sampled *)data)->all); }

static CPEventSource sourceOf(Sampled *c, int acts) {
  return (CPEventSource){.name        = c->all->m->text + c->is->name,
                         .data        = c,
                         .start       = acts ? NULL : beginSampled,
                         .handle      = acts ? act : sample,
                         .message     = messageOfSampled,
                         .take_mech   = takeMechOfSampled,
                         .derivatives = acts ? &c->acts : &c->samples,
                         .period      = c->is->period,
                         .first       = c->is->first + (acts ? c->is->delay : 0)};
}

/* ---- all ---- */

void bodiesFreeActing(Mechanism *m) {
  Acting *all = m->acting;
  if (!all) return;
  for (int i = 0; i < m->ncontrollers && all->sampled; i++)
    free(all->sampled[i].queue), free(all->sampled[i].held);
  free(all->sampled);
  free(all->now);
  free(all->latch);
  free(all->held);
  if (all->from) N_VDestroy(all->from);
  if (all->met) N_VDestroy(all->met);
  free(all->direction);
  free(all->mask);
  free(all->udot);
  free(all);
  m->acting = NULL, m->latch = NULL;
}

/* The parameter is set by what acts, or by the samples if there is no delay. */
static int makeHeld(Sampled *c) {
  const int n = c->length;
  if (!(c->held = malloc(((size_t)n + 1) * sizeof *c->held))) return CP_MEM_FAIL;
  c->held[0] = &c->all->m->param[c->is->param];
  for (int k = 0; k < n; k++) c->held[1 + k] = &c->queue[k];
  c->acts    = (CPEventDerivatives){.size = sizeof c->acts, .held = c->held, .nheld = 1};
  c->samples = (CPEventDerivatives){
      .size = sizeof c->samples, .held = n ? c->held + 1 : c->held, .nheld = n ? n : 1, .nmemory = n};
  return 0;
}

static int make(Mechanism *m) {
  const size_t n = (size_t)m->nreleases, nc = (size_t)m->ncontrollers;
  Acting *all = m->acting = calloc(1, sizeof *all);
  if (!all) return CP_MEM_FAIL;
  all->m         = m;
  all->sampled   = calloc(nc + 1, sizeof *all->sampled);
  all->now       = calloc(4 * n + 1, 1);
  all->direction = malloc((n + 1) * sizeof *all->direction);
  int failed     = !all->sampled || !all->now || !all->direction || makeLatches(all);
  all->before    = all->now ? all->now + 2 * n : NULL;
  for (size_t i = 0; i < n && !failed; i++) all->direction[i] = 1;
  for (size_t i = 0; i < nc && !failed; i++) {
    Sampled *c = &all->sampled[i];
    c->all = all, c->is = &m->controller[i];
    c->start = c->newest = m->param[c->is->param];
    c->length            = c->is->delay > 0 ? (int)fmin(c->is->delay / c->is->period, 1e8) + 2 : 0;
    if (c->length > 0) c->queue = calloc((size_t)c->length, sizeof *c->queue);
    failed = (c->length > 0 && !c->queue) || makeHeld(c);
  }
  if (failed) bodiesFreeActing(m);
  return failed ? CP_MEM_FAIL : 0;
}

int bodiesEventSource(int i, CPEventSource *source, void *mechanism) {
  Mechanism *m      = mechanism;
  const size_t size = source->size;
  const int others  = (m->nreleases > 0) + (m->nmeetings > 0);
  int k             = i - others; /* among those of controllers */
  if (m->nreleases + m->ncontrollers > 0 && !m->acting && make(m)) return CP_MEM_FAIL;
  if (k == -1 && m->nmeetings > 0) {
    if (touchingSource(m, source)) return CP_MEM_FAIL;
  } else if (k < 0) {
    *source      = releases;
    source->data = m->acting, source->nroots = m->nreleases;
    source->direction = m->acting->direction, source->derivatives = &m->acting->derivatives;
  }
  for (int c = 0; k >= 0; c++) {
    if (c == m->ncontrollers) return k == 0 && bodiesHasKinks(m) ? bodiesKinkSource(source, m) : 1;
    Sampled *own = &m->acting->sampled[c];
    const int n  = own->queue ? 2 : 1;
    if (k < n) *source = sourceOf(own, k == 1);
    k -= n;
  }
  source->size = size;
  return 0;
}
