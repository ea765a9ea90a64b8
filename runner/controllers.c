/* Each controller is sampled by one event source and, if it has a delay, acts by a second one, which takes the samples from a queue in
 * their order. */
#include "controllers.h"
#include "mechanism.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  CPMech mech;
  char quantity[QUANTITY_NAME], message[QUANTITY_MESSAGE];
  sunrealtype *parameter, start; /* what it sets, and its value before the run */
  int delayed, first, count, length;
  sunrealtype *queue; /* [length] samples on their way, from `first` on */
} Controller;

struct Controllers_ {
  int n, nsources;
  Controller *controller; /* [n] */
  CPEventSource *source;  /* [nsources] */
};

static int begin(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *data) {
  Controller *c = data;
  (void)session, (void)t, (void)t_end, (void)y;
  if (!again) *c->parameter = c->start, c->count = 0;
  return 0;
}

static int set(Controller *c, sunrealtype value) {
  const int changed = value != *c->parameter;
  *c->parameter     = value;
  return changed ? CP_RESTART : CP_CONTINUE;
}

static int sample(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Controller *c = data;
  sunrealtype value;
  (void)session;
  c->message[0]  = '\0';
  const int flag = mechanism_quantity(c->mech, c->quantity, event->t, y, &value, c->message);
  if (flag) return flag;
  if (!c->delayed) return set(c, value);
  if (c->count == c->length) return CP_CONTINUE; /* beyond the end of the run */
  c->queue[(c->first + c->count++) % c->length] = value;
  return CP_CONTINUE;
}

static int act(CPSession session, const CPEvent *event, N_Vector y, void *data) {
  Controller *c = data;
  (void)session, (void)event, (void)y;
  if (c->count == 0) return CP_CONTINUE;
  const sunrealtype value = c->queue[c->first];
  c->first                = (c->first + 1) % c->length;
  c->count--;
  return set(c, value);
}

static const char *message(void *data) {
  const Controller *c = data;
  return c->message[0] ? c->message : NULL;
}

static int make(CPBodies bodies, CPMech mech, int i, Controllers *all) {
  Controller *c       = &all->controller[i];
  CPDescription d     = {CP_SIZED(CPDescription)};
  sunrealtype *values = NULL;
  if (CPBodiesDescribe(bodies, CP_CONTROLLER, i, &d) || CPMechGetParameters(mech, &values, NULL))
    return -1;
  c->mech      = mech;
  c->parameter = values + d.parameter;
  c->start     = *c->parameter;
  c->delayed   = d.delay > 0;
  snprintf(c->quantity, sizeof c->quantity, "%.*s.output", QUANTITY_NAME - 8, d.name);
  CPEventSource source         = {.size    = sizeof source,
                                  .name    = c->quantity,
                                  .data    = c,
                                  .start   = begin,
                                  .handle  = sample,
                                  .message = message,
                                  .period  = d.period,
                                  .first   = d.begin};
  all->source[all->nsources++] = source;
  if (!c->delayed) return 0;
  c->length    = (int)fmin(d.delay / d.period, 1e6) + 2;
  c->queue     = calloc((size_t)c->length, sizeof *c->queue);
  source.start = NULL, source.handle = act, source.message = NULL;
  source.first                 = d.begin + d.delay;
  all->source[all->nsources++] = source;
  return c->queue ? 0 : -1;
}

int controllers_create(CPBodies bodies, CPMech mech, Controllers **address) {
  const int n = CPBodiesCount(bodies, CP_CONTROLLER);
  *address    = NULL;
  if (n == 0) return 0;
  Controllers *all = *address = calloc(1, sizeof *all);
  if (!all) return -1;
  all->controller = calloc((size_t)n, sizeof *all->controller);
  all->source     = calloc(2 * (size_t)n, sizeof *all->source);
  int failed      = !all->controller || !all->source;
  for (; all->n < n && !failed; all->n++) failed = make(bodies, mech, all->n, all);
  if (failed) controllers_free(address);
  return failed ? -1 : 0;
}

void controllers_free(Controllers **all) {
  if (!*all) return;
  for (int i = 0; i < (*all)->n && (*all)->controller; i++) free((*all)->controller[i].queue);
  free((*all)->controller);
  free((*all)->source);
  free(*all);
  *all = NULL;
}

const CPEventSource *controllers_sources(const Controllers *all, int *n) {
  *n = all ? all->nsources : 0;
  return all ? all->source : NULL;
}
