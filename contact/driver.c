/* The contacts as an event source of a session. The root functions of a contact are
 *
 *   open       gap, falling       v_N, rising, in steps in which the gap may touch zero and open again: the gap
 *                                 is least there, so that a gap that is negative only within a step is found
 *   sliding    N, falling         v_T in the direction of sliding, falling; in space, |v_T| down to a
 *                                 few tolerances (Sliding.near), and from there on as in the plane
 *   sticking   N, falling         mu_s N - |F_T|, falling
 *
 * and 1 where there is none, or -1 in place of a v_N that is not needed, so that it can become one that
 * rises. The gap or N, and v_T or the distance from the cone, have two places each, which alternate at
 * events: integrators expect a function that has just had a root to be zero, but the new function is another
 * one, which is not. The tolerance is subtracted from v_N, since v_N may be zero all the time.
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

int contactMargins(CPContact c, sunrealtype t, N_Vector y, int check, const char *function) {
  int closed = 0, flag = CP_SUCCESS;
  /* Nothing depends on tangential velocities of open contacts, nor on gaps that are far and their laws. */
  memcpy(c->skipped, c->off, (size_t)c->na);
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    if (!flag && !point->step.is_left_out)
      flag = contactLawOf(c, i, t, N_VGetArrayPointer(y), check, function);
    if (point->phase != CP_CONTACT_OPEN) continue;
    memset(c->skipped + point->tangent, 1, (size_t)point->ntangents);
    if (point->step.is_left_out) c->skipped[point->normal] = 1;
  }
  const sunrealtype *q = N_VGetArrayPointer(y);
  if (!flag) flag = contactMeasureRows(c, t, q, q + c->nq, c->skipped, function);
  EACH_NEAR(c, i) closed |= c->point[i].phase != CP_CONTACT_OPEN && !c->point[i].is_elastic;
  if (flag || !closed) return flag;
  memcpy(c->b, c->v, (size_t)c->na * sizeof *c->v); /* The friction overwrites c->v. */
  flag = CPMechAccelerations(c->mech, t, y, c->udot, c->lambda);
  memcpy(c->v, c->b, (size_t)c->na * sizeof *c->v);
  return flag ? contactPassOn(c, flag) : CP_SUCCESS;
}

sunrealtype contactMargin(CPContact c, const Point *point, int margin, sunrealtype t) {
  const sunrealtype *v_T = c->v + point->tangent, N = contactNormal(point, c->lambda);
  sunrealtype s[2];
  if (margin == 1 && point->carried)
    return c->tol_v * c->scale[point->tangent] - contactLength(point->ntangents, v_T);
  if (point->is_elastic) return margin == 0 ? contactElasticMargin(c, point) : 0.0;
  if (margin == 0)
    return point->phase == CP_CONTACT_OPEN ? c->p[point->normal] : point->is_held ? 1.0 : N;
  contactTurned(contactSliding(point, t), t, s);
  if (point->phase == CP_CONTACT_STICKING) {
    sunrealtype F_T[2] = {0, 0};
    for (int k = 0; k < point->ntangents; k++)
      F_T[k] = point->implied >> k & 1 ? point->law.mu_static * N * s[k] - point->wedged[k]
                                       : c->lambda[point->tangent + k];
    return point->law.mu_static * N - contactLength(point->ntangents, F_T);
  }
  return v_T[0] * s[0] + (point->ntangents == 2 ? v_T[1] * s[1] : 0.0);
}

/* The end of the integrator's newest step */
static sunrealtype newestEnd(CPContact c) {
  sunrealtype t = c->t;
  CPObjectGetStat(CP_OBJECT(c->integrator), "current_time", &t);
  return t;
}

/* What friction on all sliding contacts takes from the speed of this one, if they belong to one body: of several feet each has
 * a part of the load. */
static sunrealtype frictionOn(CPContact c, const Point *point) {
  sunrealtype load = 0.0;
  EACH_NEAR(c, i)
    if (contactSlidesInSpace(&c->point[i]))
      load += c->point[i].law.mu * contactNormal(&c->point[i], c->lambda);
  return load * point->effect;
}

/* Keeps how contacts slide in space at the end of a step, where integrators evaluate root functions
 * before they search the step. (CVODES does so at outputs, too.) A step may be taken back and end
 * earlier, which replaces its former end. Integrators also evaluate them in states with errors at the
 * start, a resolution of t before the end of a run, and at other times in the state at the end, of which
 * nothing is kept. Returns 0 or an error code that has been reported. */
static int follow(CPContact c, sunrealtype t, N_Vector y) {
  int known = 0;
  EACH_NEAR(c, i) {
    Point *point    = &c->point[i];
    Sliding *newest = &point->sliding[1];
    if (!contactSlidesInSpace(point) || t == newest->t || t <= point->sliding[0].t) continue;
    if (!known && newestEnd(c) != t) return CP_SUCCESS;
    const sunrealtype *v = c->v + point->tangent, *a = c->a + point->tangent;
    const sunrealtype speed = contactLength(2, v);
    sunrealtype along;
    if (contactIsGuided(point, t, v, &along)) {
      contactWatchOnset(c, point, t, along, speed);
      continue;
    }
    if (contactSpeed(point, t, v) <= contactZeroVelocity(c, point->tangent)) continue;
    const int flag = known ? CP_SUCCESS : contactRowAccelerations(c, t, y, "CPSessionRun");
    if (flag) return flag;
    const sunrealtype brake   = -(v[0] * a[0] + v[1] * a[1]) / speed,
                      stiff   = contactStiffEnd(c, point, speed, brake,
                                                (v[0] * a[1] - v[1] * a[0]) / speed),
                      in_vain = contactSliding(point, t)->in_vain;
    if (t > newest->t) point->sliding[0] = *newest;
    *newest        = (Sliding){.t = t, .s = {v[0] / speed, v[1] / speed}, .in_vain = in_vain};
    newest->t_half = brake > 0.0 ? t + 0.5 * speed / brake : INFINITY;
    newest->ends   = a[0] * a[0] + a[1] * a[1] < 2.0 * brake * frictionOn(c, point);
    newest->near   = fmax(contactNearEnd(c, point, speed, contactSliding(point, t)),
                        in_vain > 0.0 ? fmin(stiff, 0.5 * in_vain) : stiff);
    known          = 1;
  }
  return CP_SUCCESS;
}

/* Is this the end of a step, or the first state after a restart, that has not been seen yet? A step may be taken back and end earlier. */
static int isNewEnd(CPContact c, sunrealtype t) {
  if (isnan(c->end[1])) return 1;
  return t != c->end[1] && !(t <= c->end[0]) && newestEnd(c) == t;
}

/* Finds the contacts that are near in the step that ends at (t, y). */
static int findNear(CPContact c, sunrealtype t, N_Vector y) {
  const sunrealtype *now = N_VGetArrayPointer(y);
  const int is_next      = t > c->end[1];
  if (isnan(c->end[1])) return contactNear(c, t, now, now, 0.0);
  const sunrealtype t0 = is_next ? c->end[1] : c->end[0];
  return isnan(t0) ? contactNear(c, t, now, now, 0.0)
                   : contactNear(c, t0, is_next ? c->end_y : c->start_y, now, t - t0);
}

static int isLoaded(const Point *point) {
  return point->phase != CP_CONTACT_OPEN && !point->is_elastic;
}

/* Keeps the gaps, their rates and the loads N at the end of the newest step. Finds the open gaps that may touch zero within it and open
 * again, where integrators evaluate root functions at its end before they search it (follow): their rate changes its sign from - to +, and at its value at an end
 * the gap would close within the step. If the gap is a sinusoid, none of up to seven eighths of a period is missed, since the tangent of
 * 1 - cos x at x = 2.75 falls by more than 1 - cos x over 2 x. Other gaps have no root of v_N, so that many contacts that are
 * far away cost nothing. */
static void watchGaps(CPContact c, sunrealtype t, N_Vector y) {
  const int is_start = isnan(c->end[1]), is_next = !is_start && t > c->end[1];
  const size_t size = (size_t)c->n * sizeof *c->end_y;
  if (is_next) memcpy(c->start_y, c->end_y, size);
  if (is_next || is_start) c->end[0] = c->end[1];
  c->end[1] = t;
  memcpy(c->end_y, N_VGetArrayPointer(y), size);
  const sunrealtype h = is_start ? 0.0 : t - c->end[0];
  EACH_NEAR(c, i) {
    Point *point            = &c->point[i];
    const sunrealtype least = c->tol_v * c->scale[point->normal];
    sunrealtype *gap = point->step.gap, *rate = point->step.rate;
    sunrealtype *N = point->step.N;
    if (is_next) gap[0] = gap[1], rate[0] = rate[1], N[0] = N[1];
    gap[1] = c->p[point->normal], rate[1] = c->v[point->normal];
    N[1]                = isLoaded(point) ? contactNormal(point, c->lambda) : 0.0;
    point->load         = fmax(point->load, N[1]);
    const int is_near   = gap[0] <= -h * rate[0] || gap[1] <= h * rate[1];
    point->step.is_near = is_start || is_near || !(gap[0] > 0.0 && gap[1] > 0.0);
    point->step.turns   = point->phase == CP_CONTACT_OPEN && !is_start && rate[0] < least &&
                        rate[1] > least && is_near;
  }
}

/* Marks the contacts that are open, and so far away that they cannot close within the newest step, which has its ends, at the rates that
 * their gaps have at these. Then the gap at its end takes the place of those within it, which integrators ask for to see slopes and to
 * locate the roots of others. Returns the number of contacts left out. */
static int leaveOut(CPContact c, sunrealtype t) {
  const sunrealtype *end = c->end;
  const int within       = t > end[0] && t < end[1] && newestEnd(c) == end[1];
  int count              = 0;
  EACH_NEAR(c, i) {
    Point *point            = &c->point[i];
    point->step.is_left_out = within && point->phase == CP_CONTACT_OPEN && !point->is_elastic &&
                              !point->step.is_near &&
                              (point->zero[0] == 0.0 || end[0] >= point->t_zero + point->fade);
    count += point->step.is_left_out;
  }
  return count;
}

/* Integrators also evaluate root functions at other times in the state at the end of a step, to see whether they depend on
 * time itself. Offsets and directions of sliding depend on the motion, and have the time of the end there. */
static sunrealtype ownTime(CPContact c, sunrealtype t, N_Vector y) {
  return c->end[1] > t && !memcmp(c->end_y, N_VGetArrayPointer(y), (size_t)c->n * sizeof *c->end_y)
             ? c->end[1]
             : t;
}

/* Root functions of a contact: two places for each of one or, with friction, two kinds, and v_N */
static int kindsOf(const Point *point) { return point->ntangents > 0 ? 2 : 1; }

/* In time stepping no event is located, and nothing is evaluated. */
static int noRoots(const CPContact c, sunrealtype *g) {
  for (int k = 0; k < c->first_root[c->npoints]; k++) g[k] = 1.0;
  return 0;
}

static int evaluateRoots(CPContact c, sunrealtype t, N_Vector y, sunrealtype *g) {
  if (c->time_stepping) return noRoots(c, g);
  const int nleft_out = leaveOut(c, t), far = nleft_out > 0 && nleft_out == c->nnear;
  const sunrealtype own = ownTime(c, t, y);
  const int is_end      = isNewEnd(c, t);
  if (is_end && findNear(c, t, y)) return -1;
  c->own           = own;
  const int failed = !far && contactMargins(c, t, y, 1, "CPSessionRun");
  c->own           = NAN;
  if (failed) return -1;
  if (is_end) watchGaps(c, t, y);
  if (!far && follow(c, t, y)) return -1;
  memcpy(g, c->no_root, (size_t)c->first_root[c->npoints] * sizeof *g);
  EACH_NEAR(c, i) {
    const Point *point     = &c->point[i];
    sunrealtype *at        = g + c->first_root[i] + kindsOf(point) * c->side,
                *rate_root = g + c->first_root[i + 1] - 1;
    /* Where the others no longer keep its gap as it is, its root appears, below zero. */
    if (point->is_kept && c->p[point->normal] >= -c->small_q * c->scale[point->normal]) continue;
    if (point->step.is_left_out) {
      at[0] = point->step.gap[1], *rate_root = -1;
      continue;
    }
    if (point->phase == CP_CONTACT_OPEN) {
      const sunrealtype passed = (own - point->t_zero) / point->fade;
      at[0] = point->is_elastic ? contactElasticMargin(c, point) : c->p[point->normal];
      if (point->zero[0] != 0.0) at[0] -= point->zero[0] * fmin(fmax(1.0 - passed, 0.0), 1.0);
      *rate_root = point->step.turns ? c->v[point->normal] - c->tol_v * c->scale[point->normal] : -1;
      continue;
    }
    *rate_root = 1;
    at[0]      = contactMargin(c, point, 0, own);
    if (point->ntangents == 0 || (contactIsImplied(point) && !point->carried)) continue;
    if (contactSlidesInSpace(point))
      at[1] = contactSpeed(point, own, c->v + point->tangent) - contactSliding(point, own)->near;
    else
      at[1] = contactMargin(c, point, 1, own) -
              (point->phase == CP_CONTACT_SLIDING ? point->zero[1] : 0.0);
  }
  return 0;
}

static int roots(sunrealtype t, N_Vector y, sunrealtype *g, void *contact) {
  const CPContact c = contact;
  const int failed  = evaluateRoots(c, t, y, g);
  EACH_NEAR(c, i) c->point[i].step.is_left_out = 0;
  return failed;
}

static const char *nameOfRoot(int i, void *contact) {
  const CPContact c = contact;
  int k             = 0;
  while (c->first_root[k + 1] <= i) k++;
  return c->point[k].name;
}

/* ---- starts ---- */

static void forgetRoots(CPContact c) {
  memset(c->fired, 0, (size_t)(ROOTS * c->npoints) * sizeof *c->fired);
}

/* Begins time stepping at an event at which the laws have no solution, as of bodies that are wedged while they slide: contacts then act by
 * impulses, in any direction. The event itself does not happen. */
static int yield(CPContact c, sunrealtype t, int *changed) {
  EACH_NEAR(c, i) c->event[i].struck = 0, c->event[i].before = c->event[i].after;
  *changed = 1, c->yielded = CONTACT_NO_LAW;
  return contactBeginTimeStepping(c, t);
}

/* Finds the phases at (t, y), with the impacts that happen there. If that fails, y and the phases are unchanged. */
static int findPhases(CPContact c, sunrealtype t, N_Vector y) {
  const size_t points = (size_t)c->npoints * sizeof *c->point;
  int changed;
  memcpy(c->earlier, c->point, points);
  forgetRoots(c);
  contactOpenAll(c);
  contactTolerances(c, y);
  const sunrealtype *q = N_VGetArrayPointer(y);
  int flag             = contactNear(c, t, q, q, 0.0);
  c->yields            = c->dense > 0;
  if (!flag) flag = contactEvent(c, t, y, &changed, "CPSessionStart");
  if (c->yields && flag == CP_CONTACT_NO_SOLUTION) flag = yield(c, t, &changed);
  c->yields = 0;
  if (!flag) contactOffsets(c, t);
  if (!flag) return CP_SUCCESS;
  contactAllNear(c);
  memcpy(c->point, c->earlier, points);
  contactActivate(c);
  return flag;
}

/* What an event changes, to be restored if a later part of it fails */
static void keep(CPContact c) {
  EACH_NEAR(c, i) c->kept.point[i] = c->point[i], c->kept.event[i] = c->event[i];
  c->kept.stats = c->stats, c->kept.side = c->side, c->kept.time_stepping = c->time_stepping;
}

static void restore(CPContact c) {
  EACH_NEAR(c, i) c->point[i] = c->kept.point[i], c->event[i] = c->kept.event[i];
  c->stats = c->kept.stats, c->side = c->kept.side, c->time_stepping = c->kept.time_stepping;
  c->changed = 0;
  contactActivate(c);
}

/* Finds the phases anew where another source has changed the state. Contacts that have had an event of their own at this time report
 * both as one. */
static int startAgain(CPContact c, sunrealtype t, N_Vector y) {
  contactAllNear(c);
  if (!c->changed) keep(c);
  const CPContactEvent *own = c->event_own;
  const int had             = c->changed;
  memcpy(c->event_own, c->event, (size_t)c->npoints * sizeof *c->event);
  EACH_NEAR(c, i) c->point[i].rested = c->kept.point[i].phase != CP_CONTACT_OPEN;
  c->time_stepping = 0;
  const int flag   = findPhases(c, t, y);
  for (int i = 0; i < c->npoints; i++) c->point[i].rested = 0;
  if (flag) return flag;
  EACH_NEAR(c, i) {
    CPContactEvent *event      = &c->event[i];
    const CPContactPhase after = event->after;
    if (had && own[i].struck && !event->struck) *event = own[i], event->after = after;
    event->before = c->kept.point[i].phase;
  }
  c->changed = c->found_anew = 1;
  return CP_SUCCESS;
}

static int start(CPSession session, sunrealtype t, sunrealtype t_end, N_Vector y, int again,
                 void *contact) {
  const CPContact c    = contact;
  const char *function = "CPSessionStart";
  int flag             = contactReady(c, y, function);
  if (!flag && t_end < t)
    flag = cpReport(&c->log, CP_ILL_INPUT, function,
                    "contacts cannot be followed backwards: t0 = %g, t_end = %g", t, t_end);
  if (!flag && again && c->sens.Ns > 0)
    flag = cpReport(
        &c->log, CP_NOT_SUPPORTED, function,
        "at t = %.10g: derivatives do not pass events at which another source changes the state", t);
  if (flag) return flag;
  if (again) return contactRunning(c, startAgain(c, t, y));
  flag = CPMechSetUserData(c->mech, CPMechGetUserData(c->mech)); /* The data may have changed. */
  if (flag) return contactPassOn(c, flag);
  CPSessionGetTolerances(session, &c->rtol, &c->atol);
  c->session = session, c->integrator = NULL;
  c->known.t = NAN; /* Counters may begin anew. */
  c->t = c->t_first = t, c->t_last = t_end;
  c->nrecent = 0, c->sens.Ns = 0;
  c->share         = 1.0; /* also if no event is found here */
  c->time_stepping = c->changed = c->found_anew = c->recorded = 0;
  memset(&c->stats, 0, sizeof c->stats);
  contactAllNear(c);
  EACH_NEAR(c, i) {
    Point *point   = &c->point[i];
    point->is_kept = 0;
    point->turn.t = NAN, point->turn.gap = point->turn.nearest, point->turn.rate = 0.0;
  }
  return contactRunning(c, findPhases(c, t, y));
}

int contactOfIntegrator(CPContact c, int flag) {
  if (flag)
    snprintf(c->log.text, sizeof c->log.text, "%s",
             CPObjectGetLastMessage(CP_OBJECT(c->integrator)));
  return flag;
}

/* The factor on the tolerances for a flight of a multistep method from y, as far as the roundoff of the largest component permits, a
 * work as well: CVODES asks for no more digits of any. */
static sunrealtype partOfTolerance(CPContact c, N_Vector y) {
  if (!CPIntegratorGetCVodeMem(c->integrator)) return 1.0;
  const sunrealtype size = fmax(N_VMaxNorm(y), DBL_MIN), tol = c->rtol + c->atol / size;
  return fmin(1.0, fmax(c->share, 100.0 * DBL_EPSILON / tol));
}

static int setTolerances(CPContact c, N_Vector y) {
  const sunrealtype part = partOfTolerance(c, y);
  if (part == c->share_set) return CP_SUCCESS;
  const int flag = CPIntegratorSStolerances(c->integrator, part * c->rtol, part * c->atol);
  if (!flag) c->share_set = part;
  return flag;
}

/* Bounds the next step by the rates of coordinates that are angles at the end of the newest one, at t, and their change within that. A
 * body that turns at a constant rate or acceleration is integrated exactly at any step size, but the gap of a point on it is a
 * sinusoid, of which watchGaps sees the ends of a step. An angle turns by half of what that can follow at most, 2.75 = w h + a h^2 / 2 or
 * less: the body of one may be turned by another as well. */
static int boundStep(CPContact c, sunrealtype t, N_Vector y, int again) {
  const CPEquations *own = c->model;
  const sunrealtype *u   = N_VGetArrayPointer(y) + c->nq;
  sunrealtype w = 0, a = 0, set = 0, next = 0;
  if (own->nangles == 0) return CP_SUCCESS;
  for (int k = 0; k < own->nangles; k++) {
    sunindextype j = own->angles[k];
    for (int i = 0; i < own->nquaternions; i++) j -= own->quaternions[i].first_q < own->angles[k];
    w = fmax(w, fabs(u[j])), a = fmax(a, fabs(u[j] - c->turns.u[j]));
  }
  if (!again && t > c->turns.t) c->turns.a = a / (t - c->turns.t);
  c->turns.t = t, memcpy(c->turns.u, u, (size_t)c->nu * sizeof *u);
  /* CVODES has chosen the next step already, and bounds the one after that. */
  if (CPIntegratorGetCVodeMem(c->integrator) && !again)
    CPObjectGetStat(CP_OBJECT(c->integrator), "current_step", &next);
  CPObjectGetStat(CP_OBJECT(c->integrator), "max_step", &set);
  if (set != c->turns.max_step) c->turns.users = set;
  sunrealtype inverse = (w + c->turns.a * next) / 2.75 + sqrt(c->turns.a / 5.5);
  if (c->turns.users > 0.0) inverse = fmax(inverse, 1.0 / c->turns.users);
  c->turns.max_step = inverse > 0.0 ? 1.0 / inverse : 0.0;
  return contactOfIntegrator(c, CPIntegratorSetMaxStep(c->integrator, c->turns.max_step));
}

/* ---- events ---- */

/* A multistep method restarts at order one, and commits errors of the size of the tolerance in each
 * flight, however short. Errors of velocities would add up over the flights, and an error of the
 * height would halve a flight that is lower than the tolerance. Heights are proportional to the
 * squares of durations, so the tolerances of a flight are multiplied by the square of its share of
 * the time since the start. */
static int afterRestart(CPContact c, sunrealtype t, N_Vector y) {
  int flag  = setTolerances(c, y);
  c->end[1] = NAN;
  if (!flag && (flag = contactLift(c, t, y, "CPSessionRun")) != 0) return flag;
  if (!flag && (flag = boundStep(c, t, y, 1)) != 0) return flag;
  /* The tolerances resolve the flights, and sliding has no return to zero to be resolved: steps may
   * grow as after any start. */
  void *cvode = CPIntegratorGetCVodeMem(c->integrator);
  if (!flag && cvode) CVodeSetEtaMaxEarlyStep(cvode, 0.0);
  if (!flag && contactHasSens(c)) flag = contactSensRestart(c);
  return contactOfIntegrator(c, flag);
}

int contactRestart(CPContact c, sunrealtype t, N_Vector y) {
  const int flag = CPIntegratorReInit(c->integrator, t, y);
  return flag ? contactOfIntegrator(c, flag) : afterRestart(c, t, y);
}

static void announceBegin(CPContact c) {
  const sunrealtype newest_end = c->stats.interval_end;
  c->nrecent                   = 0;
  c->stats.nintervals++;
  c->stats.interval_begin = c->stats.interval_end = c->t;
  if (c->yielded == CONTACT_STUCK)
    cpReport(&c->log, CV_WARNING, "CPSessionRun",
             "from t = %.15g on: time stepping, since the integrator finds no step", c->t);
  else if (c->yielded)
    cpReport(&c->log, CV_WARNING, "CPSessionRun",
             "from t = %.15g on: time stepping, since no accelerations satisfy the laws of contact",
             c->t);
  else if (c->calm > c->dense_time / c->dense)
    cpReport(&c->log, CV_WARNING, "CPSessionRun",
             "from t = %.15g on: time stepping again, since an event follows its end at t = %.15g",
             c->t, newest_end);
  else
    cpReport(&c->log, CV_WARNING, "CPSessionRun",
             "from t = %.15g on: time stepping, since more than %d events lie within %g", c->t,
             c->dense, c->dense_time);
  c->yielded = 0;
}

static void announceEnd(CPContact c) {
  cpReport(&c->log, CV_WARNING, "CPSessionRun",
           "from t = %.15g to %.15g: time stepping; contacts are calm again",
           c->stats.interval_begin, c->stats.interval_end);
}

/* Calls the user's function for each contact that has changed. Returns 1 if it asks for a stop. */
static int tell(CPContact c) {
  int stop = 0;
  if (!c->event_fn) return 0;
  EACH_NEAR(c, i) {
    const CPContactEvent *event = &c->event[i];
    if (event->struck || event->before != event->after)
      stop |= c->event_fn(event, c->event_data) != 0;
  }
  return stop;
}

/* The integrator has been created or restarted. Returns CP_STOP if the user's function asks for that. */
static int started(CPSession session, sunrealtype t, N_Vector y, int again, void *contact) {
  const CPContact c  = contact;
  c->integrator      = CPSessionGetIntegrator(session);
  const char *method = "";
  CPIntegratorGetMethod(c->integrator, &method, NULL, NULL, NULL);
  c->is_explicit = !CPIntegratorGetCVodeMem(c->integrator) && strncmp(method, "RADAU", 5) != 0;
  if (!again) c->share_set = 0.0, c->end[1] = NAN;
  if (!again) c->turns.a = c->turns.max_step = c->turns.users = 0.0;
  int flag = again ? afterRestart(c, t, y) : contactOfIntegrator(c, setTolerances(c, y));
  if (!flag && !again) flag = boundStep(c, t, y, 1);
  if (!flag && !again) flag = contactSensStart(c, t, "CPSessionStart");
  const sunrealtype *now = N_VGetArrayPointer(y); /* With sensitivities none is far. */
  if (!flag && c->sens.Ns > 0) flag = contactNear(c, t, now, now, 0.0);
  if (flag) return flag;
  c->t = t, c->sens.t_minus = NAN;
  N_VScale(1.0, y, c->newest);
  if (!again && c->time_stepping) announceBegin(c);
  if (!again || !c->changed) return CP_SUCCESS;
  c->changed = 0;
  if (c->dense > 0) c->recent[c->nrecent++ % c->dense] = t;
  if (c->time_stepping) announceBegin(c);
  return contactRunning(c, tell(c)) ? CP_STOP : CP_SUCCESS;
}

/* The constants of laws must be good before anything is integrated with them. */
static int ready(CPSession session, sunrealtype t, void *contact) {
  const CPContact c = contact;
  (void)session;
  return contactLaws(c, t, NULL, 1, "CPSessionRun");
}

/* A gap that jumps below zero has no root. */
static int accepted(CPSession session, sunrealtype t, N_Vector y, void *contact) {
  const CPContact c = contact;
  (void)session;
  int bad = CP_SUCCESS;
  if (t == c->end[1]) { /* as usual: watchGaps has kept the gaps and their rates */
    EACH_NEAR(c, i) {
      const Point *point  = &c->point[i];
      c->p[point->normal] = point->step.gap[1];
      c->v[point->normal] = point->step.rate[1];
    }
  } else bad = contactMeasure(c, t, y, "CPSessionRun");
  if (bad) return bad;
  EACH_NEAR(c, i)
    if (!bad) bad = contactPenetrates(c, i, t);
  if (bad) {
    contactKeep(c, y);
    forgetRoots(c);
    return contactTell(c, t, y, bad, "CPSessionRun");
  }
  contactCountTurns(c, t);
  return boundStep(c, t, y, 0);
}

/* Does an event at t exceed the number of events that the user allows within the duration, or follow an interval that they have caused? */
static int areDense(CPContact c, sunrealtype t) {
  return c->dense > 0 &&
         (contactResumes(c, t) ||
          (c->nrecent >= c->dense && t - c->recent[c->nrecent % c->dense] <= c->dense_time));
}

/* The roots of an event; those of both places are merged into the first. */
static void take(CPContact c, const int *found) {
  forgetRoots(c);
  EACH_NEAR(c, i) {
    const int kinds = kindsOf(&c->point[i]), *own = found + c->first_root[i];
    for (int k = 0; k < kinds; k++) c->fired[ROOTS * i + k] = own[k] | own[kinds + k];
    c->fired[ROOTS * i + ROOTS - 1] = found[c->first_root[i + 1] - 1];
  }
}

/* Handles the event at c->fired. changed: out. If that fails, the integrator is already past the event. */
static int pass(CPContact c, sunrealtype t, N_Vector y, int *changed) {
  const char *function = "CPSessionRun";
  int flag             = CP_SUCCESS;
  keep(c);
  if (contactHasSens(c) && t != c->sens.t_minus) { /* not again after a failure */
    flag = contactOfIntegrator(c, CPSensGetDky(c->sens.object, t, 0, c->sens.minus));
    if (!flag) c->sens.t_minus = t;
  }
  if (!flag && c->sens.Ns > 0) flag = contactSensBefore(c, t, y, function);
  c->yields = c->dense > 0;
  if (!flag) flag = contactEvent(c, t, y, changed, function);
  if (c->yields && flag == CP_CONTACT_NO_SOLUTION) flag = yield(c, t, changed);
  c->yields = 0;
  if (!flag && *changed) {
    if (c->sens.Ns > 0) contactDecided(c, c->sens.decided);
    if (c->sens.Ns > 0) flag = contactEventTimes(c, t, function);
    if (!flag && c->sens.Ns > 0) flag = contactSensAfter(c, t, y, function);
    if (!flag && !c->time_stepping && areDense(c, t)) flag = contactBeginTimeStepping(c, t);
    if (flag) c->time_stepping = 0, contactUndo(c, y);
    else c->side = !c->side;
  }
  if (flag) c->stats = c->kept.stats;
  c->changed    = !flag && *changed;
  c->found_anew = 0;
  return flag;
}

static int handle(CPSession session, const CPEvent *event, N_Vector y, void *contact) {
  const CPContact c = contact;
  int changed       = 0;
  (void)session;
  take(c, event->roots);
  const int flag = contactRunning(c, pass(c, event->t, y, &changed));
  return flag ? flag : changed ? CP_RESTART : CP_CONTINUE;
}

static void undo(CPSession session, N_Vector y, void *contact) {
  const CPContact c = contact;
  (void)session, (void)y;
  if (c->changed) restore(c);
}

/* ---- time stepping ---- */

int contactAdvance(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t) {
  const int flag = CPIntegratorEvolve(c->integrator, tout, y, t, CV_NORMAL);
  return flag < 0 ? contactOfIntegrator(c, flag) : flag;
}

/* Where the integrator finds no step, as among bodies whose friction wedges them, contacts act by impulses for a while. */
static int takeOver(CPSession session, sunrealtype t, N_Vector y, int code, void *contact) {
  const CPContact c = contact;
  (void)session, (void)code;
  if (c->dense == 0 || c->time_stepping) return 0;
  c->t = t, c->yielded = CONTACT_STUCK;
  N_VScale(1.0, y, c->newest);
  const int flag = contactBeginTimeStepping(c, t);
  if (flag) return flag;
  announceBegin(c);
  return 1;
}

static int advances(void *contact) { return ((CPContact)contact)->time_stepping; }

/* Ends the interval at (t, y) by an event, after which the integrator takes over again. */
static int endTimeStepping(CPContact c, sunrealtype t, N_Vector y) {
  const CPContactStats stats = c->stats;
  const char *function       = "CPSessionRun";
  int changed, flag;
  forgetRoots(c);
  if ((flag = contactMeasure(c, t, y, function))) return flag;
  EACH_NEAR(c, i) /* as if each closed gap had just had a root */
    c->fired[ROOTS * i] = c->p[c->point[i].normal] <= contactClosedGap(c, i, t, c->small_q) ? -1 : 0;
  c->yields = 1;
  flag      = contactEvent(c, t, y, &changed, function);
  c->yields = 0;
  if (flag == CP_CONTACT_NO_SOLUTION) { /* It goes on, from y as it was. */
    c->t_busy = t;
    contactOpenAll(c);
    flag = contactActivate(c);
    return flag ? contactPassOn(c, flag) : CP_CONTINUE;
  }
  if (flag) return flag;
  c->time_stepping = 0;
  flag             = contactRestart(c, t, y);
  forgetRoots(c);
  if (flag) {
    c->stats = stats, c->time_stepping = 1;
    contactUndo(c, y);
    return flag;
  }
  N_VScale(1.0, y, c->newest);
  announceEnd(c);
  return tell(c) ? CP_STOP : CP_CONTINUE;
}

/* Takes a step of time stepping, and ends the interval if the set of loaded contacts has settled. */
static int advance(CPSession session, sunrealtype tout, N_Vector y, sunrealtype *t, void *contact) {
  const CPContact c = contact;
  (void)session;
  const int advanced = contactRunning(c, contactTimeStep(c, tout, y, t, "CPSessionRun"));
  if (advanced < 0) return advanced;
  contactCountTurns(c, *t);
  if (advanced == CV_ROOT_RETURN) return CP_ROOT;
  return contactIsCalm(c) ? contactRunning(c, endTimeStepping(c, *t, y)) : CP_CONTINUE;
}

/* ---- the source ---- */

static const char *message(void *contact) { return ((CPContact)contact)->log.text; }

int CPContactAttach(CPContact c, CPSession session) {
  int flag = contactIdle(c, __func__);
  if (flag) return flag;
  if (!session) return cpReport(&c->log, CP_ILL_INPUT, __func__, "session must not be NULL");
  const int n    = c->first_root[c->npoints];
  int *direction = malloc((size_t)n * sizeof *direction);
  if (!direction) return cpReport(&c->log, CP_MEM_FAIL, __func__, "no memory");
  for (int k = 0; k < n; k++) direction[k] = c->no_root[k] < 0.0 ? 1 : -1;
  const CPEventSource source = {.size        = sizeof source,
                                .name        = "contacts",
                                .data        = c,
                                .nroots      = n,
                                .roots       = roots,
                                .direction   = direction,
                                .root_name   = nameOfRoot,
                                .start       = start,
                                .started     = started,
                                .ready       = ready,
                                .accepted    = accepted,
                                .handle      = handle,
                                .undo        = undo,
                                .advances    = advances,
                                .advance     = advance,
                                .message     = message,
                                .take_over   = takeOver,
                                .derivatives = &contactDerivatives};
  flag                       = CPSessionSetMech(session, c->mech);
  if (!flag) flag = CPSessionAddSource(session, &source, NULL);
  free(direction);
  if (flag)
    snprintf(c->log.text, sizeof c->log.text, "%s", CPObjectGetLastMessage(CP_OBJECT(session)));
  return flag;
}

int CPContactGetEvent(CPContact c, int i, CPContactEvent *event) {
  if (!c) return cpReport(NULL, CP_MEM_NULL, __func__, "contact must not be NULL");
  CPContactEvent older; /* of an earlier version's program */
  const int flag = cpTake(&c->log, &older, event, __func__);
  if (flag) return flag;
  if (i < 0 || i >= c->npoints)
    return cpRefuse(&c->log, __func__, "i must be from 0 to %d: %d", c->npoints - 1, i);
  cpGive(event, &c->event[i]);
  return CP_SUCCESS;
}
