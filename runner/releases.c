/* One event source for all releases: the load on one joint may become too large as another one is released, which is the same event. The
 * roots are the quantities NAME.trigger. */
#include "releases.h"
#include "mechanism.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char quantity[QUANTITY_NAME], joint[QUANTITY_NAME];
  sunindextype first, count, first_rate, nrates; /* the rows of its joint */
  sunrealtype at;                                /* its time, or infinity */
  int released, before;                          /* before: the newest event */
} Release;

struct Releases_ {
  int n, na,
      now; /* now: a trigger is positive where a run starts, or after an event of another source */
  CPMech mech;
  sunrealtype due;  /* the time of the next event */
  Release *release; /* [n] */
  int *direction, *mask;
  char text[QUANTITY_MESSAGE], message[QUANTITY_MESSAGE];
  CPEventSource source;
};

/* *value: out, that of the quantity NAME.trigger, or for a time 1 if it has come; -1 for what has been released. Returns 0 or a
 * negative code. */
static int trigger(Releases *all, Release *r, sunrealtype t, N_Vector y, sunrealtype *value) {
  if (!r->released && !isfinite(r->at))
    return mechanism_quantity(all->mech, r->quantity, t, y, value, all->message);
  *value = !r->released && r->at <= t ? 1 : -1;
  return 0;
}

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *data) {
  Releases *all = data;
  int flag      = 0;
  for (int i = 0; i < all->n && !flag; i++) {
    Release *r = &all->release[i];
    g[i]       = -1; /* times are no roots */
    if (isinf(r->at)) flag = trigger(all, r, t, y, &g[i]);
  }
  return flag;
}

static int switch_rows(Releases *all) {
  for (int i = 0; i < all->na; i++) all->mask[i] = -1;
  for (int i = 0; i < all->n; i++) {
    const Release *r = &all->release[i];
    for (sunindextype k = 0; k < r->count; k++) all->mask[r->first + k] = !r->released;
    for (sunindextype k = 0; k < r->nrates; k++) all->mask[r->first_rate + k] = !r->released;
  }
  return CPMechSetActive(all->mech, all->mask);
}

static int take_mech(CPMech mech, void *data) {
  Releases *all = data;
  if (!mech) return CP_ILL_INPUT;
  all->mech = mech;
  for (int i = 0; i < all->n; i++) all->release[i].released = 0;
  const int na = (int)CPMechGetNumMultipliers(mech);
  int *mask    = na == all->na ? all->mask : realloc(all->mask, (size_t)na * sizeof *mask);
  if (!mask) return CP_MEM_FAIL;
  all->mask = mask, all->na = na;
  return switch_rows(all);
}

/* Is a trigger positive that has not become so by a root? */
static int begin(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *data) {
  Releases *all = data;
  (void)session, (void)again;
  all->now = 0, all->message[0] = '\0';
  if (t_end < t) {
    snprintf(all->message, sizeof all->message, "releases cannot be followed backwards");
    return CP_ILL_INPUT;
  }
  for (int i = 0; i < all->n; i++) {
    sunrealtype value;
    const int flag = trigger(all, &all->release[i], t, y, &value);
    if (flag) return flag;
    all->now |= value > 0;
  }
  return 0;
}

static sunrealtype next_time(sunrealtype t, void *data) {
  Releases *all    = data;
  sunrealtype next = INFINITY;
  for (int i = 0; i < all->n; i++)
    if (!all->release[i].released && all->release[i].at > t) next = fmin(next, all->release[i].at);
  return all->due = all->now ? t : next;
}

/* Releases the joint. The text of the event names it. */
static int release(Releases *all, Release *r) {
  const size_t used = strlen(all->text);
  r->released       = 1;
  snprintf(all->text + used, sizeof all->text - used, "%s%s released", used ? ", " : "", r->joint);
  return switch_rows(all);
}

static int handle(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Releases *all       = data;
  const sunrealtype t = event->timed ? fmax(event->t, all->due) : event->t;
  int flag            = 0;
  (void)session;
  all->text[0] = '\0', all->now = 0;
  for (int i = 0; i < all->n; i++) all->release[i].before = all->release[i].released;
  for (int i = 0; i < all->n && !flag; i++) {
    Release *r = &all->release[i];
    if (!r->released && event->roots && event->roots[i] > 0) flag = release(all, r);
  }
  for (int i = 0; i < all->n && !flag; i++) { /* what is due, and what follows from it */
    Release *r = &all->release[i];
    sunrealtype value;
    flag = trigger(all, r, t, y, &value);
    if (flag || !(value > 0)) continue;
    flag = release(all, r);
    i    = -1;
  }
  return flag ? flag : all->text[0] ? CP_RESTART : CP_CONTINUE;
}

static void undo(CPSession session, N_Vector y, void *data) {
  Releases *all = data;
  (void)session, (void)y;
  for (int i = 0; i < all->n && all->text[0]; i++)
    all->release[i].released = all->release[i].before;
  switch_rows(all);
}

static const char *message(void *data) {
  const Releases *all = data;
  return all->message[0] ? all->message : NULL;
}

static const char *event_name(void *data) { return ((const Releases *)data)->text; }

static void make(CPBodies bodies, int i, Releases *all) {
  CPDescription d = {CP_SIZED(CPDescription)}, joint = {CP_SIZED(CPDescription)};
  Release *r = &all->release[i];
  CPBodiesDescribe(bodies, CP_RELEASE, i, &d);
  r->at = d.begin;
  snprintf(r->quantity, sizeof r->quantity, "%.*s.trigger", QUANTITY_NAME - 9, d.name);
  CPBodiesDescribe(bodies, CP_JOINT, d.joint, &joint);
  snprintf(r->joint, sizeof r->joint, "%s", joint.name);
  r->first = joint.first, r->count = joint.count;
  r->first_rate = joint.first_rate, r->nrates = joint.nrates;
  all->direction[i] = 1;
}

int releases_create(CPBodies bodies, Releases **address) {
  const int n = CPBodiesCount(bodies, CP_RELEASE);
  *address    = NULL;
  if (n == 0) return 0;
  Releases *all = *address = calloc(1, sizeof *all);
  if (!all) return -1;
  all->n         = n;
  all->release   = calloc((size_t)n, sizeof *all->release);
  all->direction = calloc((size_t)n, sizeof *all->direction);
  if (!all->release || !all->direction) {
    releases_free(address);
    return -1;
  }
  for (int i = 0; i < n; i++) make(bodies, i, all);
  all->source = (CPEventSource){.size       = sizeof all->source,
                                .name       = "releases",
                                .data       = all,
                                .nroots     = n,
                                .roots      = roots,
                                .direction  = all->direction,
                                .next_time  = next_time,
                                .start      = begin,
                                .handle     = handle,
                                .undo       = undo,
                                .message    = message,
                                .take_mech  = take_mech,
                                .event_name = event_name};
  return 0;
}

void releases_free(Releases **all) {
  if (!*all) return;
  free((*all)->release);
  free((*all)->direction);
  free((*all)->mask);
  free(*all);
  *all = NULL;
}

const CPEventSource *releases_source(const Releases *all) { return &all->source; }
