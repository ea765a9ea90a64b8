/* Integration through events. The root functions of a contact are
 *
 *   open       gap, falling       v_N, rising: the gap is least there, so that a gap that is negative
 *                                 only within a step is found
 *   sliding    N, falling         v_T in the direction of sliding, falling; in space, |v_T| down to a
 *                                 few tolerances (Heading.near), and from there on as in the plane
 *   sticking   N, falling         mu_s N - |F_T|, falling
 *
 * and 1 where there is none. The gap or N, and v_T or the distance from the cone, have two places
 * each, which alternate at events: integrators expect a function that has just had a root to be
 * zero, but the new function is another one, which is not. The tolerance is subtracted from v_N,
 * since v_N may be zero all the time.
 *
 * In space the direction of sliding is not known where |v_T| is as small as the errors of a step. Steps of
 * explicit methods across the end of sliding would then make it slide anew again and again, by some
 * tolerances. So the integrator stops shortly before (event.c). */
#include "contact_impl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than so many events at one time, to within NOW roundoffs of it, are an error. */
#define REPEATED 100
#define NOW      1.0e3

int contactMargins(CPContact c, sunrealtype t, N_Vector y, int check, const char *function) {
  int closed = 0, flag = contactLaws(c, t, check, function);
  if (!flag) flag = contactMeasure(c, t, y, function);
  for (int i = 0; i < c->npoints; i++) closed |= c->point[i].phase != CP_CONTACT_OPEN;
  if (flag || !closed) return flag;
  flag = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  /* The accelerations have overwritten c->v for the friction. */
  return flag ? contactPassOn(c, flag) : contactMeasure(c, t, y, function);
}

sunrealtype contactMargin(CPContact c, const Point *point, int margin, sunrealtype t) {
  const sunrealtype *v_T = c->v + point->tangent, *s = contactHeading(point, t)->s;
  const sunrealtype N = -c->lambda[point->normal];
  if (margin == 0) return point->phase == CP_CONTACT_OPEN ? c->p[point->normal] : N;
  if (point->phase == CP_CONTACT_STICKING) {
    sunrealtype F_T[2] = {0, 0};
    for (int k = 0; k < point->ntangents; k++)
      F_T[k] = point->implied >> k & 1 ? point->mu_static * N * s[k] : c->lambda[point->tangent + k];
    return point->mu_static * N - contactLength(point->ntangents, F_T);
  }
  return v_T[0] * s[0] + (point->ntangents == 2 ? v_T[1] * s[1] : 0.0);
}

/* The end of the integrator's newest step */
static sunrealtype newestEnd(CPContact c) {
  CPIntegratorStats stats = {.t = c->t};
  CPIntegratorGetStats(c->integrator, &stats);
  return stats.t;
}

/* Keeps how contacts slide in space at the end of a step, where integrators evaluate root functions
 * before they search the step. (CVODES does so at outputs, too.) A step may be taken back and end
 * earlier, which replaces its former end. At the start of sliding integrators also evaluate them in
 * states with errors, of which nothing is kept. Returns 0 or an error code that has been reported. */
static int follow(CPContact c, sunrealtype t, N_Vector y) {
  int known = 0;
  for (int i = 0; i < c->npoints; i++) {
    Point *point    = &c->point[i];
    Heading *newest = &point->heading[1];
    if (!contactSlidesInSpace(point) || t == newest->t || t <= point->heading[0].t) continue;
    const sunrealtype *v = c->v + point->tangent, *a = c->a + point->tangent;
    const sunrealtype speed = contactLength(2, v);
    const int ends          = contactHeading(point, t)->ends && contactIsSlow(c, point, speed);
    if (ends || contactSpeed(point, t, v) <= contactZeroVelocity(c, point->tangent)) continue;
    if (!known && newestEnd(c) - t > contactResolution(t)) return CP_SUCCESS;
    const int flag = known ? CP_SUCCESS : contactRowAccelerations(c, t, y, "CPContactSolve");
    if (flag) return flag;
    const sunrealtype brake = -(v[0] * a[0] + v[1] * a[1]) / speed;
    if (t > newest->t) point->heading[0] = *newest;
    *newest        = (Heading){.t = t, .s = {v[0] / speed, v[1] / speed}};
    newest->t_half = brake > 0.0 ? t + 0.5 * speed / brake : INFINITY;
    newest->near   = contactNearEnd(c, point, speed, contactHeading(point, t));
    known          = 1;
  }
  return CP_SUCCESS;
}

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *mech) {
  const CPContact c = CPMechGetUserData(mech);
  if (contactMargins(c, t, y, 1, "CPContactSolve")) return -1;
  if (!c->stretching && follow(c, t, y)) return -1;
  for (int i = 0; i < c->npoints; i++, g += ROOTS) {
    const Point *point        = &c->point[i];
    const sunrealtype passed  = (t - point->t_zero) / point->fade;
    const sunrealtype small_v = c->small_v * c->scale[point->normal];
    sunrealtype *at           = g + 2 * c->side;
    for (int k = 0; k < ROOTS; k++) g[k] = 1;
    if (c->stretching) continue;
    if (point->phase == CP_CONTACT_OPEN) {
      at[0] = contactMargin(c, point, 0, t) - point->zero[0] * fmin(fmax(1.0 - passed, 0.0), 1.0);
      g[ROOTS - 1] = c->v[point->normal] - 10.0 * small_v;
      continue;
    }
    at[0] = contactMargin(c, point, 0, t);
    if (point->ntangents == 0 || contactIsImplied(point)) continue;
    if (contactSlidesInSpace(point))
      at[1] = contactSpeed(point, t, c->v + point->tangent) - contactHeading(point, t)->near;
    else
      at[1] = contactMargin(c, point, 1, t) -
              (point->phase == CP_CONTACT_SLIDING ? point->zero[1] : 0.0);
  }
  return c->nroots > 0 ? c->root_fn(t, y, g, c->user_data) : 0;
}

int contactSetRoots(CPContact c, int n, CVRootFn g, const int *direction) {
  const size_t all = (size_t)(ROOTS * c->npoints + n);
  int *fired = calloc(2 * all, sizeof *fired), *copy = calloc((size_t)n + 1, sizeof *copy);
  if (!fired || !copy) {
    free(fired), free(copy);
    return 1;
  }
  for (int i = 0; i < n && direction; i++) copy[i] = direction[i];
  free(c->fired);
  free(c->direction);
  c->nroots = n, c->root_fn = g, c->fired = fired, c->direction = copy;
  return 0;
}

/* The integrator may have been freed since. */
static int isAttached(CPContact c) { return c->integrator && CPMechIsAttached(c->mech); }

int CPContactRootInit(CPContact c, int nrtfn, CVRootFn g, const int *direction) {
  const int flag = contactIdle(c, __func__);
  if (flag) return flag;
  if (isAttached(c))
    return contactError(c, CP_TOO_LATE, __func__, "call it before CPContactAttach...");
  if (nrtfn < 0 || (nrtfn > 0 && !g))
    return contactError(c, CP_ILL_INPUT, __func__,
                        "nrtfn must be >= 0, and g not NULL with nrtfn > 0: nrtfn = %d", nrtfn);
  for (int i = 0; i < nrtfn && direction; i++)
    if (direction[i] < -1 || direction[i] > 1)
      return contactError(c, CP_ILL_INPUT, __func__, "direction[%d] must be -1, 0 or 1, is %d", i,
                          direction[i]);
  return contactSetRoots(c, nrtfn, g, direction)
             ? contactError(c, CP_MEM_FAIL, __func__, "no memory for %d root functions", nrtfn)
             : CP_SUCCESS;
}

int CPContactGetRootInfo(CPContact c, int *found) {
  if (!c) return contactError(c, CP_MEM_NULL, __func__, "contact must not be NULL");
  if (!found) return contactError(c, CP_ILL_INPUT, __func__, "found must not be NULL");
  for (int i = 0; i < c->nroots; i++) found[i] = c->pending ? 0 : c->fired[ROOTS * c->npoints + i];
  return CP_SUCCESS;
}

/* ---- start ---- */

static int numberOfRoots(CPContact c) { return ROOTS * c->npoints + c->nroots; }

static void forgetRoots(CPContact c) {
  memset(c->fired, 0, (size_t)numberOfRoots(c) * sizeof *c->fired);
}

/* Saves the arrays that a start overwrites, or restores them. */
static void keepEarlier(CPContact c, int restore) {
  const size_t n = (size_t)c->npoints;
  const struct {
    void *array;
    size_t bytes;
  } kept[] = {{c->point, n * sizeof *c->point},
              {c->before, n * sizeof *c->before},
              {c->event, n * sizeof *c->event},
              {c->scale, (size_t)c->na * sizeof *c->scale},
              {c->error, (size_t)c->na * sizeof *c->error},
              {c->fired, (size_t)numberOfRoots(c) * sizeof *c->fired}};
  for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
    char *array = kept[k].array, *copy = array + kept[k].bytes;
    memcpy(restore ? array : copy, restore ? copy : array, kept[k].bytes);
  }
  N_VScale(1.0, restore ? c->earlier : c->saved, restore ? c->saved : c->earlier);
}

/* Undoes a start that has been refused: everything except the message becomes what it was. Returns
 * flag. */
static int refused(CPContact c, const struct CPContact_ *rest, int flag) {
  char text[CONTACT_TEXT];
  memcpy(text, c->message, sizeof text);
  *c = *rest;
  memcpy(c->message, text, sizeof text);
  keepEarlier(c, 1);
  contactActivate(c);
  return flag;
}

/* Checks the arguments of a start. Returns 0 or an error code that has been reported. */
static int mayStart(CPContact c, sunrealtype t0, N_Vector y, sunrealtype rtol, sunrealtype atol,
                    const char *function) {
  const int flag = contactReady(c, y, function);
  if (flag) return flag;
  if (!isfinite(t0))
    return contactError(c, CP_ILL_INPUT, function, "t0 must be finite: t0 = %g", t0);
  if (!(rtol >= 0.0 && atol >= 0.0 && rtol + atol > 0.0 && isfinite(rtol + atol)))
    return contactError(c, CP_ILL_INPUT, function,
                        "rtol and atol must be >= 0, and not both 0: rtol = %g, atol = %g", rtol,
                        atol);
  return CP_SUCCESS;
}

/* Finds the phases at the start, with the impacts that happen there. If that fails, y is unchanged. */
static int prepare(CPContact c, sunrealtype t0, N_Vector y, sunrealtype rtol, sunrealtype atol,
                   const char *function) {
  int changed;
  const int flag = CPMechSetUserData(c->mech, c); /* The data may have changed. */
  if (flag) return contactPassOn(c, flag);
  c->rtol = rtol, c->atol = atol, c->t = c->t_first = t0, c->repeated = 0;
  c->share_set = 0.0, c->pending = 0, c->stretching = 0, c->nrecent = 0;
  c->integrator = NULL, c->sens.Ns = c->sens.spent = 0;
  memset(&c->stats, 0, sizeof c->stats);
  forgetRoots(c);
  contactOpenAll(c);
  return contactEvent(c, t0, y, &changed, function);
}

/* The directions of all roots, with c->fired as workspace. */
static int *directions(CPContact c) {
  const int n = ROOTS * c->npoints;
  for (int i = 0; i < n; i++) c->fired[i] = i % ROOTS == ROOTS - 1 ? 1 : -1;
  memcpy(c->fired + n, c->direction, (size_t)c->nroots * sizeof *c->fired);
  return c->fired;
}

int contactOfIntegrator(CPContact c, int flag) {
  if (flag)
    snprintf(c->message, sizeof c->message, "%s", CPIntegratorGetLastMessage(c->integrator));
  return flag;
}

/* The factor on the tolerances for a flight that starts from y. Each step of a multistep method has
 * an error of up to the tolerance. These errors add up over the tens of steps of a flight, whose
 * number grows as tol^(-1 / (q + 1)) at order q, and events amplify them. With a factor of 1,
 * errors reach 390 tol and scale as tol^0.71; with this factor, they reach 36 tol and scale as
 * tol^0.88, for the same work at equal error (guide). */
#define MULTISTEP 0.3
#define COARSE    1.0e-4 /* the tolerance above which the factor is constant */
static sunrealtype partOfTolerance(CPContact c, N_Vector y) {
  if (!CPIntegratorGetCVodeMem(c->integrator)) return 1.0;
  const sunrealtype size = fmax(N_VMaxNorm(y), DBL_MIN), tol = c->rtol + c->atol / size;
  const sunrealtype part = MULTISTEP * fmin(1.0, pow(tol / COARSE, 1.0 / 6.0)) * c->share;
  return fmin(1.0, fmax(part, 100.0 * DBL_EPSILON / tol)); /* as far as roundoff permits */
}

static int setTolerances(CPContact c, N_Vector y) {
  const sunrealtype part = partOfTolerance(c, y);
  if (part == c->share_set) return CP_SUCCESS;
  const int flag = CPIntegratorSStolerances(c->integrator, part * c->rtol, part * c->atol);
  if (!flag) c->share_set = part;
  return flag;
}

/* Sets the integrator's tolerances and roots. has_roots: it has been given the root functions
 * before. Returns 0 or its code. */
static int setUp(CPContact c, N_Vector y, int has_roots) {
  int flag = setTolerances(c, y);
  if (!flag && !has_roots) flag = CPIntegratorRootInit(c->integrator, numberOfRoots(c), roots);
  return flag ? flag : CPIntegratorSetRootDirection(c->integrator, directions(c));
}

/* Once an integrator of an earlier run has
 * been restarted, nothing can be refused any more: its root functions stay, and need no memory. For
 * a new integrator the earlier run ends, since the system would be attached to another integrator. */
int CPContactAttach(CPContact c, CPIntegrator mem, sunrealtype t0, N_Vector y, sunrealtype rtol,
                    sunrealtype atol) {
  if (!c || !mem) return contactError(c, CP_MEM_NULL, __func__, "contact and mem must not be NULL");
  int flag = contactIdle(c, __func__);
  if (!flag) flag = mayStart(c, t0, y, rtol, atol, __func__);
  if (flag) return flag;
  if (!isAttached(c)) c->integrator = NULL;
  keepEarlier(c, 0);
  const struct CPContact_ rest = *c;
  flag                         = prepare(c, t0, y, rtol, atol, __func__);
  if (flag) return refused(c, &rest, flag);
  flag = CPMechAttach(c->mech, mem, t0, y);
  if (flag) contactPassOn(c, flag);
  else {
    c->integrator = mem;
    if (mem != rest.integrator) c->sens.integrator = NULL;
    flag = setUp(c, y, mem == rest.integrator && !rest.sens.spent);
    contactOfIntegrator(c, flag);
  }
  if (flag) {
    N_VScale(1.0, c->saved, y);
    return refused(c, &rest, flag);
  }
  N_VScale(1.0, y, c->newest);
  forgetRoots(c);
  return CP_SUCCESS;
}

/* ---- events ---- */

/* A multistep method restarts at order one, and commits errors of the size of the tolerance in each
 * flight, however short. Errors of velocities would add up over the flights, and an error of the
 * height would halve a flight that is lower than the tolerance. Heights are proportional to the
 * squares of durations, so the tolerances of a flight are multiplied by the square of its share of
 * the time since the start. */
int contactRestart(CPContact c, sunrealtype t, N_Vector y) {
  int flag = CPIntegratorReInit(c->integrator, t, y);
  if (!flag) flag = setTolerances(c, y);
  /* A gap that has closed is zero only up to the roundoff of t, which may exceed the tolerance. */
  if (!flag) flag = CPIntegratorCalcIC(c->integrator, y);
  /* The tolerances resolve the flights, and sliding has no return to zero to be resolved: steps may
   * grow as after any start. */
  void *cvode = CPIntegratorGetCVodeMem(c->integrator);
  if (!flag && cvode) CVodeSetEtaMaxEarlyStep(cvode, 0.0);
  if (!flag && c->sens.Ns > 0) flag = contactSensRestart(c);
  return contactOfIntegrator(c, flag);
}

/* Checks the number of events. Returns 0 or an error code that has been reported. */
static int tooMany(CPContact c, sunrealtype t, long int count, const char *function) {
  const int now = fabs(t - c->t) <= NOW * DBL_EPSILON * fmax(fabs(t), DBL_MIN);
  int i         = 0;
  while (i < c->npoints - 1 && !c->fired[ROOTS * i] && !c->fired[ROOTS * i + 1]) i++;
  c->repeated = now ? c->repeated + 1 : 0;
  if (c->repeated <= REPEATED && count <= c->maxevents) return CP_SUCCESS;
  return contactError(
      c, CP_CONTACT_TOO_MANY, function, "at t = %.10g: %ld events %s, the newest at contact \"%s\"",
      t, c->repeated > REPEATED ? c->repeated : count,
      c->repeated > REPEATED ? "at this time" : "(CPContactSetMaxEvents)", c->point[i].name);
}

/* Calls the user's function for each contact that has changed. Returns 1 if it asks for a stop. */
static int tell(CPContact c) {
  int stop = 0;
  for (int i = 0; i < c->npoints && c->event_fn; i++) {
    const CPContactEvent *event = &c->event[i];
    if (event->struck || event->before != event->after)
      stop |= c->event_fn(event, c->user_data) != 0;
  }
  return stop;
}

int contactAdvance(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t, int itask,
                   const char *function) {
  memset(c->fired + ROOTS * c->npoints, 0, (size_t)c->nroots * sizeof *c->fired);
  int flag = CPIntegratorEvolve(c->integrator, tout, y, t, itask);
  if (flag < 0) return contactOfIntegrator(c, flag);
  c->sens.at_start = 0;
  if (flag != CV_ROOT_RETURN && c->stretching) return flag;
  if (flag != CV_ROOT_RETURN) { /* A gap that jumps below zero has no root. */
    int bad = contactMeasure(c, *t, y, function);
    for (int i = 0; i < c->npoints && !bad; i++) bad = contactPenetrates(c, i, *t, function);
    return bad ? bad : flag;
  }
  flag = CPIntegratorGetRootInfo(c->integrator, c->fired);
  sunrealtype at;
  if (!flag && c->sens.Ns > 0)
    flag = contactOfIntegrator(c, CPIntegratorGetSens(c->integrator, &at, c->sens.minus));
  return flag ? flag : CV_ROOT_RETURN;
}

/* Does an event at t exceed the number of events that the user allows within the duration? */
static int areDense(CPContact c, sunrealtype t) {
  return c->dense > 0 && c->nrecent >= c->dense &&
         t - c->recent[c->nrecent % c->dense] <= c->dense_time;
}

static void announceBegin(CPContact c) {
  c->nrecent = 0;
  c->stats.nstretches++;
  c->stats.stretch_begin = c->stats.stretch_end = c->t;
  contactError(c, CV_WARNING, "CPContactSolve",
               "from t = %.15g on: time stepping, since more than %d events lie within %g", c->t,
               c->dense, c->dense_time);
}

static void announceEnd(CPContact c) {
  contactError(c, CV_WARNING, "CPContactSolve",
               "from t = %.15g to %.15g: time stepping; contacts are calm again",
               c->stats.stretch_begin, c->stats.stretch_end);
}

/* Handles the event at the roots of c->fired. changed: out. If that fails, the integrator is
 * already past the event, which stays pending: the next call begins with it. Returns 0 or an error
 * code that has been reported. */
static int pass(CPContact c, sunrealtype t, N_Vector y, long int count, int *changed,
                const char *function) {
  const CPContactStats stats = c->stats;
  int flag                   = tooMany(c, t, count, function);
  if (!flag && c->sens.Ns > 0) flag = contactSensBefore(c, t, y, function);
  if (flag) N_VScale(1.0, y, c->saved);
  else flag = contactEvent(c, t, y, changed, function);
  if (!flag && *changed) {
    if (c->sens.Ns > 0) flag = contactSensAfter(c, t, y, function);
    if (!flag && areDense(c, t)) flag = contactStretchBegin(c, t);
    c->side = !c->side;
    if (!flag) flag = contactRestart(c, t, y);
    if (!flag && c->tape && contactRecord(c, t, y))
      flag = contactError(c, CP_MEM_FAIL, function, "no memory for the events of an adjoint");
    if (flag) {
      c->side = !c->side, c->stretching = 0;
      contactUndo(c, y);
    }
  }
  c->pending = flag != 0, c->t_pending = t;
  if (flag) {
    c->stats = stats;
    return flag;
  }
  if (*changed) {
    c->t = t;
    N_VScale(1.0, y, c->newest);
    if (c->dense > 0) c->recent[c->nrecent++ % c->dense] = t;
  }
  if (c->stretching) announceBegin(c);
  return CP_SUCCESS;
}

/* Takes a step of time stepping. If the set of loaded contacts has settled at its end, handles the
 * event after which the integrator takes over again. */
static int stretch(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t, const char *function) {
  const int advanced = contactStretchStep(c, tout, y, t, function);
  if (advanced < 0) return advanced;
  if (advanced == CV_ROOT_RETURN || !contactStretchIsCalm(c)) return advanced;
  const CPContactStats stats = c->stats;
  int changed, flag;
  forgetRoots(c);
  flag = contactMeasure(c, *t, y, function);
  for (int i = 0; i < c->npoints && !flag; i++) /* as if each closed gap had just had a root */
    c->fired[ROOTS * i] = c->p[c->point[i].normal] <= contactClosedGap(c, i, *t) ? -1 : 0;
  if (!flag) flag = contactEvent(c, *t, y, &changed, function);
  if (flag) return flag;
  c->stretching = 0;
  flag          = contactRestart(c, *t, y);
  forgetRoots(c);
  if (flag) {
    c->stats = stats, c->stretching = 1;
    contactUndo(c, y);
    return flag;
  }
  N_VScale(1.0, y, c->newest);
  announceEnd(c);
  return tell(c) ? CV_ROOT_RETURN : advanced;
}

/* Checks the arguments of an integration to tout. Returns 0 or an error code that has been
 * reported. */
static int mayGoOn(CPContact c, sunrealtype tout, N_Vector y, const sunrealtype *t,
                   const char *function) {
  int flag = contactIdle(c, function);
  if (!flag) flag = contactReady(c, y, function);
  if (flag) return flag;
  if (!t) return contactError(c, CP_ILL_INPUT, function, "t must not be NULL");
  if (!isAttached(c) || c->sens.spent)
    return contactError(c, CP_NO_INIT, function, "call CPContactAttach or CPContactAttach first");
  const sunrealtype from = c->pending ? c->t_pending : c->t;
  if (tout >= from && isfinite(tout)) return contactLaws(c, from, 1, function);
  return contactError(c, CP_ILL_INPUT, function,
                      "tout must be finite and not before %.15g, the newest event or start: "
                      "tout = %.15g",
                      from, tout);
}

/* Is tout too close to the newest start for the integrators? Then sets *t = tout, and y to the
 * state of the start. */
static int isThere(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t) {
  if (tout - c->t > 4 * DBL_EPSILON * fabs(tout)) return 0;
  *t = tout;
  N_VScale(1.0, c->newest, y);
  return 1;
}

/* Have roots of contacts fired? Merges the roots of both places into the first. */
static int contactsFired(CPContact c) {
  int contacts = 0;
  for (int *f = c->fired; f < c->fired + ROOTS * c->npoints; f += ROOTS) {
    f[0] |= f[2], f[1] |= f[3];
    contacts |= f[0] | f[1] | f[ROOTS - 1];
  }
  return contacts;
}

static int userFired(CPContact c) {
  int fired = 0;
  for (int i = 0; i < c->nroots; i++) fired |= c->fired[ROOTS * c->npoints + i] != 0;
  return fired;
}

/* Handles the event at *t, or the pending one, and reports it to the user's function. Returns
 * CV_ROOT_RETURN if the caller has to return, 0, or an error code that has been reported. */
static int meetEvent(CPContact c, N_Vector y, sunrealtype *t, long int count, const char *function) {
  int changed = 0, flag = CP_SUCCESS;
  if (c->pending) {
    *t = c->t_pending;
    N_VScale(1.0, c->saved, y);
  }
  if (c->pending || contactsFired(c)) flag = pass(c, *t, y, count, &changed, function);
  if (flag) return flag;
  return (changed && tell(c)) || userFired(c) ? CV_ROOT_RETURN : CP_SUCCESS;
}

static int solve(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t, const char *function) {
  int flag = CP_SUCCESS;
  for (long int count = 1; !flag;) {
    if (!c->pending && isThere(c, tout, y, t)) return CP_SUCCESS;
    if (c->stretching) {
      flag = stretch(c, tout, y, t, function);
      continue;
    }
    if (!c->pending) {
      flag = contactAdvance(c, tout, y, t, CV_NORMAL, function);
      if (flag != CV_ROOT_RETURN) return flag;
    }
    flag = meetEvent(c, y, t, count++, function);
  }
  return flag;
}

int CPContactSolve(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t) {
  const int flag = mayGoOn(c, tout, y, t, __func__);
  return flag ? flag : contactRunning(c, solve(c, tout, y, t, __func__));
}

static int oneStep(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t, const char *function) {
  if (c->pending) return meetEvent(c, y, t, 1, function);
  if (isThere(c, tout, y, t)) return CP_SUCCESS;
  if (c->stretching) return stretch(c, tout, y, t, function);
  const int flag = contactAdvance(c, tout, y, t, CV_ONE_STEP, function);
  if (flag == CV_ROOT_RETURN && contactsFired(c)) {
    c->pending = 1, c->t_pending = *t;
    N_VScale(1.0, y, c->saved);
  }
  return flag;
}

int CPContactStep(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t) {
  const int flag = mayGoOn(c, tout, y, t, __func__);
  return flag ? flag : contactRunning(c, oneStep(c, tout, y, t, __func__));
}

int CPContactGetEvent(CPContact c, int i, CPContactEvent *event) {
  if (!c) return contactError(NULL, CP_MEM_NULL, __func__, "contact must not be NULL");
  if (i < 0 || i >= c->npoints || !event)
    return contactError(c, CP_ILL_INPUT, __func__,
                        "event must not be NULL, and i from 0 to %d: i = %d", c->npoints - 1, i);
  *event = c->event[i];
  return CP_SUCCESS;
}
