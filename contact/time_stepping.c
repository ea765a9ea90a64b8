/* An interval of time stepping, where events follow each other too fast, the laws of contact have no solution, or the integrator finds no
 * step (CPContactSetTimeStepping). A step of length h from (t, y) is a flight without contacts, by the
 * integrator. Negative gaps are then projected to zero, and the impulses of the contacts whose gaps are not positive follow,
 *
 *   v+ = v + W P,  w = v+ + e v-,      v, v-: velocities of the rows at the end and at the start of the flight,
 *
 * with the laws of impacts (J. J. Moreau, 1988; M. Jean, Comput. Methods Appl. Mech. Eng. 177,
 * 1999). As the impulses come last, no closed gap has a negative rate after a step. Since the forces of resting contacts are
 * impulses too, no event has to be located, and infinitely many impacts take one step. The method
 * is of order one. h is halved until two halves of a step lead to the same positions as the whole
 * step, to within the tolerance.
 *
 * During the flight the forces of contacts that are closed at its start, and stay so, accelerate the bodies as well: with the impulses that
 * hold them,
 *
 *   0 = v + h a + W P      (and friction with its laws),      du = M^-1 A^T P,
 *
 * the flight begins with u + du / 2, which moves it by du h / 2, as a constant force does, and du / 2 is taken back at its end. So what
 * rests stays where it is, and does not creep by h^2 a / 2 in each step. */
#include "contact_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Contacts are calm after the mean time between events at the limit that starts an interval or, if an event soon follows the end of one, after
 * PARTS times as long. The longest step is that divided by PARTS; the first step is the mean time between the events that have started
 * the interval, divided by PARTS. */
#define PARTS 4

static sunrealtype part(CPContact c, sunrealtype duration) {
  return fmax(duration / PARTS, contactResolution(c->t));
}

static sunrealtype longest(CPContact c) { return part(c, c->calm); }

int contactResumes(const CPContact c, sunrealtype t) {
  return c->stats.nintervals > 0 && t - c->stats.interval_end <= fmax(c->calm, c->dense_time);
}

int contactBeginTimeStepping(CPContact c, sunrealtype t) {
  contactOpenAll(c);
  memset(c->carries, 0, (size_t)c->npoints);
  c->calm          = contactResumes(c, t) ? PARTS * c->calm : c->dense_time / c->dense;
  c->time_stepping = 1, c->t_busy = t, c->share = 1.0, c->push_t = NAN;
  /* Where the laws have no solution, there may have been fewer events. */
  const sunrealtype since = c->nrecent >= c->dense ? t - c->recent[c->nrecent % c->dense] : INFINITY;
  c->h                    = part(c, fmin(since, c->dense_time) / c->dense);
  c->least_h              = ldexp(c->h, -CP_MOST_ATTEMPTS);
  const int flag          = contactActivate(c);
  return flag ? contactPassOn(c, flag) : CP_SUCCESS;
}

int contactIsCalm(CPContact c) { return c->t - c->t_busy >= PARTS * longest(c); }

/* Solves for the impulses of the problem's contacts in a flight of length h, near those of the newest one, c->load [na], which become these.
 * persists: also if that takes long. Returns 0, or 1 if there are none. */
static int solveFrom(CPContact c, sunrealtype h, int persists) {
  ContactProblem *P  = &c->problem;
  sunrealtype factor = 1;
  for (int i = 0; i < P->n; i++) P->x[i] = h * c->load[c->row[i]];
  P->guessed = P->hurries = 1;
  int failed              = contactRestitution(c, 0, &factor);
  P->guessed = P->hurries = 0;
  if (failed && persists) factor = 1, failed = contactRestitution(c, 0, &factor);
  for (int i = 0; i < P->n && !failed; i++) c->load[c->row[i]] = P->x[i] / h;
  return failed;
}

/* c->push [nu] <- du / h, the change of velocities by the forces of contacts at rest, or that slide, at the start (t, y) of a flight of
 * length h. c->pushes: out, 1 if there are some. c->push_t: out, t if no sliding ends, so that it is the same for shorter flights. */
static int sustain(CPContact c, sunrealtype t, sunrealtype h, N_Vector y, const char *function) {
  ContactProblem *P = &c->problem;
  int ends = 0, flag = contactMeasure(c, t, y, function);
  if (!flag && contactRows(c, t, N_VGetArrayPointer(y), contactOff(c)))
    flag = contactUserFailed(c, function, "A", t, -1);
  if (flag) return flag;
  contactScales(c, y);
  contactTolerances(c, y);
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    const int row      = point->normal;
    c->keep[i]         = !point->is_elastic &&
                 (point->is_held || (c->p[row] <= contactClosedGap(c, i, t, c->small_q) &&
                                     fabs(c->v[row]) <= c->small_v * c->scale[row]));
  }
  flag      = contactPose(c, t, y, function);
  c->pushes = 0, c->push_t = NAN;
  if (flag || P->n == 0) return flag;
  /* Where forces cannot be evaluated, or there are no impulses, the flight has to do without: it tells the former itself. */
  CPObject object              = CP_OBJECT(c->mech);
  const CPErrHandlerFn handler = object->handler;
  object->handler              = NULL;
  flag                         = contactFreeAccelerations(c, t, y, function);
  object->handler              = handler;
  if (flag) return CP_SUCCESS;
  for (int k = 0; k < P->ncontacts; k++) {
    const Point *point = &c->point[P->law[k].contact];
    for (int i = P->law[k].first; i <= P->law[k].first + P->law[k].ntangents; i++) {
      c->velocity[i] = c->v[c->row[i]] + h * c->a[c->row[i]];
      c->before_v[i] = c->e[i] = 0.0;
    }
    if (point->is_held) c->velocity[P->law[k].first] = -h * point->law.force;
  }
  if (solveFrom(c, h, 0)) return CP_SUCCESS;
  for (int k = 0; k < P->ncontacts; k++) {
    const ContactLaw *law  = &P->law[k];
    const Point *point     = &c->point[law->contact];
    const sunrealtype zero = c->small_v * c->scale[point->tangent];
    ends |= contactLength(law->ntangents, c->v + point->tangent) > zero &&
            contactLength(law->ntangents, P->w + law->first + 1) <= zero;
  }
  flag = contactActivateRows(c, 0);
  if (!flag) flag = contactReact(c, P->x, c->before_v, NULL);
  if (flag) return contactPassOn(c, flag);
  for (int j = 0; j < c->nu; j++) c->push[j] = c->udot[j] / h;
  c->pushes = 1, c->push_t = ends ? NAN : t;
  return CP_SUCCESS;
}

/* u += s du / h */
static void push(const CPContact c, sunrealtype s, N_Vector y) {
  sunrealtype *u = N_VGetArrayPointer(y) + c->nq;
  for (int j = 0; j < c->nu && c->pushes; j++) u[j] += s * c->push[j];
}

/* Computes impulses at the end (t, y) of a flight of length h that began with the row velocities c->approach. Dry friction is an
 * impulse of at most h times its force.
 * c->keep: out, marks the loaded contacts. */
static int strike(CPContact c, sunrealtype t, sunrealtype h, N_Vector y, const char *function) {
  ContactProblem *P = &c->problem;
  int pressed = 0, flag = contactMeasure(c, t, y, function);
  if (flag) return flag;
  flag = contactRows(c, t, N_VGetArrayPointer(y), contactOff(c));
  if (flag) return contactUserFailed(c, function, "A", t, flag);
  contactScales(c, y);
  contactTolerances(c, y);
  EACH_NEAR(c, i)
    c->keep[i] = !c->point[i].is_elastic &&
                 c->p[c->point[i].normal] <= contactClosedGap(c, i, t, c->small_q);
  contactGather(c, c->keep);
  for (int k = 0; k < P->ncontacts; k++)
    pressed |= c->point[P->law[k].contact].is_held || c->v[c->row[P->law[k].first]] < 0.0;
  if (pressed) flag = contactPose(c, t, y, function);
  memset(c->keep, 0, (size_t)c->npoints);
  c->slides = 0;
  if (!pressed || flag) return flag;
  for (int k = 0; k < P->ncontacts; k++) {
    const Point *point = &c->point[P->law[k].contact];
    const int N        = P->law[k].first;
    const int strikes  = c->approach[point->normal] < -c->small_v * c->scale[point->normal];
    for (int i = N; i <= N + P->law[k].ntangents; i++) {
      c->velocity[i] = c->v[c->row[i]];
      c->before_v[i] = c->approach[c->row[i]];
      c->e[i]        = strikes ? contactE(point, i - N) : 0.0;
    }
    if (point->is_held) c->velocity[N] = -h * point->law.force;
  }
  if (solveFrom(c, h, h <= c->least_h))
    return contactReported(c, contactNoSolution(c, t, "impulses"), function);
  for (int k = 0; k < P->ncontacts; k++) {
    const ContactLaw *law  = &P->law[k];
    const sunrealtype zero = c->small_v * c->scale[c->point[law->contact].tangent];
    c->keep[law->contact]  = P->x[law->first] > 0.0;
    c->slides |= c->keep[law->contact] && law->mu > 0.0 &&
                 contactLength(law->ntangents, P->w + law->first + 1) > zero;
  }
  flag = contactApplyImpulses(c, t, y, function);
  return flag == CP_CONTACT_NO_SOLUTION ? contactReported(c, flag, function) : flag;
}

/* Switches the rows of gaps below `least` times their scale on, beside those that are on already. Returns 1 if there are any. */
static int markNegative(CPContact c, sunrealtype least) {
  int any = 0;
  EACH_NEAR(c, i) {
    Point *point  = &c->point[i];
    const int row = point->normal;
    if (point->is_elastic || point->phase != CP_CONTACT_OPEN || !(c->p[row] < least * c->scale[row]))
      continue;
    point->phase = CP_CONTACT_CLOSED, any = 1;
  }
  return any;
}

static int ofProjector(CPContact c, CPProjector projector, int flag) {
  snprintf(c->log.text, sizeof c->log.text, "%s", CPObjectGetLastMessage(CP_OBJECT(projector)));
  return flag;
}

/* c->saved <- the nearest state in which the gaps that are on are zero, up to roundoff of the largest coordinate; or a near one, if
 * they are too far from that */
static int closeThese(CPContact c, sunrealtype t, sunrealtype size) {
  int flag = contactActivate(c);
  if (flag) return contactPassOn(c, flag);
  N_VConst(1.0 / (CP_ROUNDED * size), c->rate);
  const CPProjector projector = CPMechGetProjector(c->mech);
  if ((flag = CPProjectorProject(projector, t, c->saved, c->rate)) <= 0)
    return flag ? ofProjector(c, projector, flag) : flag;
  c->frictionless = 1;
  flag            = CPMechCalcIC(c->mech, t, c->saved, NULL, NULL, NULL, NULL);
  c->frictionless = 0;
  return flag ? contactPassOn(c, flag) : flag;
}

/* q <- the nearest positions without negative gaps; u stays. What closes some gaps may make others negative, whose rows are added. */
static int closeGaps(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  sunrealtype *q = N_VGetArrayPointer(y), size = fmax(1.0, contactLargest(c->nq + c->nu, q));
  int flag = contactMeasure(c, t, y, function), closed = 0;
  N_VScale(1.0, y, c->saved);
  while (!flag && markNegative(c, -CP_ROUNDED * size)) {
    closed = 1;
    flag   = closeThese(c, t, size);
    if (!flag) flag = contactMeasure(c, t, c->saved, function);
  }
  EACH_NEAR(c, i) c->point[i].phase = CP_CONTACT_OPEN;
  const int restored = contactActivate(c);
  if (flag || restored) return flag ? flag : contactPassOn(c, restored);
  if (closed) memcpy(q, N_VGetArrayPointer(c->saved), (size_t)c->nq * sizeof *q);
  return CP_SUCCESS;
}

/* Takes one step from (*t, y) to t_end, or as far as the integrator goes. Returns the integrator's
 * code, or an error code that has been reported. */
static int step(CPContact c, sunrealtype t_end, N_Vector y, sunrealtype *t, const char *function) {
  const sunrealtype t0 = *t, *now = N_VGetArrayPointer(y);
  const int known = *t == c->t && c->push_t == *t;
  int flag        = contactRestart(c, *t, y);
  if (!flag && !known) flag = sustain(c, *t, t_end - t0, y, function);
  if (!flag) flag = contactActivate(c);
  if (flag) return flag;
  memcpy(c->start_y, now, (size_t)c->n * sizeof *now);
  push(c, 0.5 * (t_end - t0), y);
  if (c->pushes) flag = contactOfIntegrator(c, CPIntegratorReInit(c->integrator, *t, y));
  const int advanced = flag ? flag : contactAdvance(c, t_end, y, t);
  if (advanced < 0) return advanced;
  push(c, -0.5 * (t_end - t0), y);
  flag = contactNear(c, t0, c->start_y, now, *t - t0);
  if (!flag)
    flag = contactMeasureRows(c, t0, c->start_y, c->start_y + c->nq, contactOff(c), function);
  if (flag) return flag;
  memcpy(c->approach, c->v, (size_t)c->na * sizeof *c->v);
  flag = closeGaps(c, *t, y, function);
  if (!flag) flag = strike(c, *t, *t - t0, y, function);
  return flag ? flag : advanced;
}

/* Does the set of contacts loaded in the newest step differ from carries? Updates carries. */
static int hasChanged(CPContact c, char *carries) {
  const int changed = memcmp(carries, c->keep, (size_t)c->npoints) != 0;
  memcpy(carries, c->keep, (size_t)c->npoints);
  return changed;
}

/* Restores the state, the time and the set of loaded contacts from before the step. */
static void goBack(CPContact c, N_Vector y, sunrealtype *t) {
  memcpy(c->trial_carries, c->carries, (size_t)c->npoints);
  N_VScale(1.0, c->newest, y);
  *t = c->t;
}

/* Largest difference of positions, in units of the tolerance */
static sunrealtype difference(CPContact c, N_Vector x, N_Vector y) {
  const sunrealtype *a = N_VGetArrayPointer(x), *b = N_VGetArrayPointer(y);
  sunrealtype size = 0, most = 0;
  for (int i = 0; i < c->nq; i++)
    size = fmax(size, fabs(b[i])), most = fmax(most, fabs(a[i] - b[i]));
  return most / (c->atol + c->rtol * size);
}

int contactTimeStep(CPContact c, sunrealtype tout, N_Vector y, sunrealtype *t, const char *function) {
  const sunrealtype t0 = c->t, most = longest(c), least = c->least_h;
  /* What remains to tout is no step of its own if it is roundoff of the time: it would carry no loads. */
  const int is_last = tout - t0 <= c->h + contactResolution(tout);
  sunrealtype h = is_last ? tout - t0 : c->h, error = 0;
  int flag, changed, halved = 0;
  for (;; h /= 2, halved = 1) {
    c->yields = h > ldexp(least, -CP_MOST_ATTEMPTS);
    goBack(c, y, t);
    flag    = step(c, t0 + h, y, t, function);
    changed = hasChanged(c, c->trial_carries);
    if (flag == CP_CONTACT_NO_SOLUTION && c->yields)
      continue; /* at other places there may be impulses */
    if (flag || h <= contactResolution(t0)) break;
    N_VScale(1.0, y, c->trial);
    goBack(c, y, t);
    flag    = step(c, t0 + h / 2, y, t, function);
    changed = hasChanged(c, c->trial_carries);
    if (!flag) {
      flag = step(c, t0 + h, y, t, function);
      changed |= hasChanged(c, c->trial_carries);
      error = difference(c, c->trial, y);
    }
    if (flag == CP_CONTACT_NO_SOLUTION && c->yields) continue;
    if (flag || error <= 1.0 || h <= least) break;
  }
  c->yields = 0;
  if (flag < 0) { /* The next call starts from here again. */
    goBack(c, y, t);
    return flag;
  }
  c->t = *t;
  N_VScale(1.0, y, c->newest);
  memcpy(c->carries, c->trial_carries, (size_t)c->npoints);
  if (changed || c->slides) c->t_busy = *t;
  if (halved) c->h = fmax(h, least);
  /* The error of a step of order one grows with h^2. */
  else if (h == c->h && 4 * error <= 1.0) c->h = fmin(2 * h, most);
  c->stats.ninterval_steps++;
  c->stats.interval_end = *t;
  return flag;
}
