/* Events of contacts as CPSessionGradient passes them: what is kept of each, and the derivatives S+ after it of S- before it, by the
 * formula of gradient.c. */
#include "contact_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An event, or the start */
typedef struct {
  sunrealtype t, share;
  N_Vector minus, plus; /* the states before and after it */
  Point *before, *after;
  int is_start, has_impact;
  char *keep, *plastic, *glued, *decided;
} Passage;

static void drop(void *record, void *contact) {
  Passage *e = record;
  (void)contact;
  if (!e) return;
  if (e->minus) N_VDestroy(e->minus);
  if (e->plus) N_VDestroy(e->plus);
  free(e->before), free(e->after), free(e->keep);
  free(e);
}

static Passage *newPassage(CPContact c) {
  const size_t n = (size_t)c->npoints;
  Passage *e     = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->minus = N_VClone(c->newest), e->plus = N_VClone(c->newest);
  e->before = calloc(n, sizeof *e->before), e->after = calloc(n, sizeof *e->after);
  e->keep = calloc(5 * n, sizeof *e->keep);
  if (!e->minus || !e->plus || !e->before || !e->after || !e->keep) {
    drop(e, c);
    return NULL;
  }
  e->plastic = e->keep + n, e->glued = e->plastic + n, e->decided = e->glued + n;
  return e;
}

/* Where another source has changed the system at a given time, the phases have been found anew, and no margin has decided that. */
static int record(void **record, sunrealtype t, int is_start, int met, int *jumps, void *contact) {
  const CPContact c = contact;
  const size_t n    = (size_t)c->npoints;
  if (c->dense > 0)
    return cpReport(&c->log, CP_NOT_SUPPORTED, "CPSessionGradient",
                    "time stepping (CPContactSetTimeStepping) has no sensitivities");
  const sunrealtype *y = N_VGetArrayPointer(c->newest);
  if (!c->recorded) { /* Of a recorded run none is far. */
    c->recorded    = 1;
    const int flag = contactNear(c, t, y, y, 0.0);
    if (flag) return flag;
  }
  Passage *e = *record = newPassage(c);
  if (!e)
    return cpReport(&c->log, CP_MEM_FAIL, "CPSessionGradient", "no memory for an event of contacts");
  e->t = t, e->share = c->share, e->is_start = is_start, e->has_impact = met && c->impact.any;
  N_VScale(1.0, met ? c->saved : c->newest, e->minus);
  N_VScale(1.0, c->newest, e->plus);
  memcpy(e->before,
         !met            ? c->point
         : c->found_anew ? c->kept.point
                         : c->before,
         n * sizeof *e->before);
  memcpy(e->after, c->point, n * sizeof *e->after);
  memcpy(e->keep, c->impact.keep, n);
  memcpy(e->plastic, c->impact.plastic, n);
  memcpy(e->glued, c->impact.glued, n);
  if (met && !is_start && !c->found_anew) contactDecided(c, e->decided);
  *jumps = e->has_impact || memchr(e->decided, 1, 2 * n) != NULL;
  for (size_t i = 0; i < n && !is_start; i++) *jumps |= e->before[i].phase != e->after[i].phase;
  return CP_SUCCESS;
}

/* Puts the contacts into the phases before or after the event. */
static int enter(const void *record, int after, sunrealtype t, N_Vector y, sunrealtype *part,
                 void *contact) {
  const CPContact c    = contact;
  const Passage *e     = record;
  const size_t points  = (size_t)c->npoints * sizeof *c->point;
  const char *function = "CPSessionGradient";
  memcpy(c->point, after ? e->after : e->before, points);
  memcpy(c->before, e->before, points);
  /* No root functions follow how contacts slide: contactSpeed is |v_T|. */
  for (int i = 0; i < c->npoints; i++)
    c->point[i].sliding[0].t_half = c->point[i].sliding[1].t_half = INFINITY;
  int flag = contactRows(c, t, N_VGetArrayPointer(y), contactOff(c));
  if (flag) return contactUserFailed(c, function, "A", t, flag);
  contactScales(c, y);
  contactTolerances(c, y);
  *part = fmin(*part, c->share = e->share);
  flag  = contactActivate(c);
  return flag ? contactPassOn(c, flag) : CP_SUCCESS;
}

/* Does a contact begin or end to slide in space at the event? The derivative of the direction of
 * sliding is unbounded there, and differences of f do not resolve it. */
static int checkSliding(CPContact c, const Passage *e, const char *function) {
  for (int i = 0; i < c->npoints; i++) {
    const int ends = contactSlidesInSpace(&e->before[i]) && e->decided[2 * i + 1],
              begins =
                  contactSlidesInSpace(&e->after[i]) && e->before[i].phase == CP_CONTACT_STICKING;
    if (ends || begins)
      return cpReport(&c->log, CP_CONTACT_NO_GRADIENT, function,
                      "at t = %.10g: contact \"%s\" %s to slide in space, which gradients do not "
                      "pass: use forward sensitivities (CPIntegratorSetSens)",
                      e->t, c->point[i].name, ends ? "ceases" : "begins");
  }
  return CP_SUCCESS;
}

/* The arrays for n directions, the first ones of these parameters */
static int prepare(CPContact c, const CPParameters *parameters, int n, const char *function) {
  if (c->sens.count != n && contactSensAllocate(c, n))
    return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for %d derivatives", n);
  for (int i = 0; i < n; i++) c->sens.which[i] = -1;
  return parameters ? contactSensParameters(c, parameters, function) : CP_SUCCESS;
}

static int jump(const void *record, sunrealtype t_before, const CPParameters *parameters, int n,
                int given, N_Vector *S, sunrealtype *dtau, void *contact) {
  const CPContact c    = contact;
  const Passage *e     = record;
  const char *function = "CPSessionGradient";
  sunrealtype part     = 1.0;
  int flag             = e->is_start ? CP_SUCCESS : checkSliding(c, e, function);
  if (!flag) flag = prepare(c, parameters, n, function);
  if (flag) return flag;
  c->t          = t_before;
  c->impact.any = e->has_impact;
  memcpy(c->impact.keep, e->keep, (size_t)c->npoints);
  memcpy(c->impact.plastic, e->plastic, (size_t)c->npoints);
  memcpy(c->impact.glued, e->glued, (size_t)c->npoints);
  flag = enter(e, 0, e->t, e->minus, &part, c);
  N_VScale(1.0, e->minus, c->saved);
  for (int i = 0; i < n && given && !flag; i++) N_VScale(1.0, S[i], c->sens.minus[i]);
  if (!given && !flag) flag = contactDirections(c, e->t, e->minus, function);
  if (!flag && !e->is_start) flag = contactSensBefore(c, e->t, e->minus, function);
  memcpy(c->sens.decided, e->decided, 2 * (size_t)c->npoints);
  if (!flag) flag = contactEventTimes(c, e->t, function);
  if (!flag) flag = enter(e, 1, e->t, e->plus, &part, c);
  if (!flag) flag = contactSensAfter(c, e->t, e->plus, function);
  for (int i = 0; i < n && !flag; i++) {
    N_VScale(1.0, c->sens.S[i], S[i]);
    dtau[i] = c->sens.dtau[i];
  }
  return flag;
}

const CPEventDerivatives contactDerivatives = {
    .size = sizeof contactDerivatives, .record = record, .drop = drop, .enter = enter, .jump = jump};
