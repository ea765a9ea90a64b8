/* The beginning of sliding in space. A contact at rest slips where its load A exceeds the friction G, in
 * the direction s of A. With the velocity v = rho s + w, w across s,
 *
 *   rho' = |A| - G,   w' = A_w - G w / |v|,
 *
 * so the direction of v follows that of the load within the time rho / G. The motion is smooth but stiff, and
 * at first its direction is finer than the tolerance. Below the speed R (Sliding.slow) friction therefore
 * has the direction of R s + w: it still balances the load across s, within the time R / G. If the load
 * turns away from s by the angle delta, w becomes R delta in place of rho delta, and positions are
 * wrong by less than R delta h after the time h; errors of rho are of higher order. s turns with the load
 * (Sliding.turn), so that delta is of second order. R is rho at the time at which R delta h is the
 * tolerance, or contactSlow if that is larger.
 *
 * Sliding that slows down until |A| < G holds it is as stiff near its end, and is guided in the same way. */
#include "contact_impl.h"

#include <math.h>
#include <string.h>

/* The direction is stiff if rho / G is below this fraction of the time, or G so much larger than the rate of
 * rho. Sensitivities need that: s does not
 * depend on parameters. */
#define STIFF 0.2
/* The friction's effect is seen in a turn by the angle STRAIGHT. Before the second derivative of its direction is
 * known, a slip is followed until it is 1 / STRAIGHT tolerances long, and from there on for up to AHEAD times that
 * time. */
#define STRAIGHT 0.001
#define AHEAD    8.0
/* Times are found by this factor, up to LONGEST times the first one. */
#define FACTOR  1.25
#define LONGEST 1.0e4

static int begins(const Point *point) {
  return contactSlidesInSpace(point) && point->sliding[0].slow == CONTACT_BEGINS;
}

/* The mean of |rho'|, and the largest rho, within the time h */
static sunrealtype rateAt(const ContactOnset *o, sunrealtype h) {
  return fabs(o->push) + 0.5 * o->growth * h;
}
static sunrealtype speedAt(const ContactOnset *o, sunrealtype h) {
  return o->rho + rateAt(o, h) * h;
}

/* The acceleration across s per angle delta: with rho = push h, w = rho delta takes 2 push of it. */
static sunrealtype lateral(const ContactOnset *o) {
  return fmax(o->G + 2.0 * o->push, STIFF * o->G);
}

/* Are errors below the tolerance if contact i is guided for the time h? delta is that with s at rest
 * (order 1) or turning (order 2). The error of the velocity is that of the position times the rate of turn. */
static int mayLast(CPContact c, int i, int order, sunrealtype h) {
  const ContactOnset *o = &c->onset[i];
  const sunrealtype delta =
      fabs(o->off) + (order == 1 ? fmax(STRAIGHT, fabs(o->turn) * h) : fabs(o->bend) * h * h);
  const sunrealtype off = speedAt(o, h) * delta * h, tol = c->scale[c->point[i].tangent];
  const int follows = rateAt(o, h) <= STIFF * o->G;
  return (follows || c->sens.Ns == 0) && off <= c->tol_q * tol &&
         off * fabs(o->turn) <= c->tol_v * tol;
}

/* The longest such time from h up to most, or 0 */
static sunrealtype duration(CPContact c, int i, int order, sunrealtype h, sunrealtype most) {
  if (!mayLast(c, i, order, h)) return 0.0;
  while (FACTOR * h <= most && mayLast(c, i, order, FACTOR * h)) h *= FACTOR;
  return h;
}

/* c->a <- the accelerations of rows at (t + h, y + h c->rate), c->rate <- y' there. Returns 0 or a failure. */
static int accelerate(CPContact c, sunrealtype t, sunrealtype h, N_Vector y) {
  N_VLinearSum(1.0, y, h, c->rate, c->trial);
  const int flag = CPMechRhs(t + h, c->trial, c->rate, c->mech);
  memcpy(c->udot, N_VGetArrayPointer(c->rate) + c->nq, (size_t)c->nu * sizeof *c->udot);
  return flag ? flag : contactRowAccelerations(c, t + h, c->trial, "CPSessionRun");
}

/* c->a of contact i in the direction of sliding at t, and across it (out) */
static sunrealtype along(CPContact c, int i, sunrealtype t, sunrealtype *across) {
  const sunrealtype *a = c->a + c->point[i].tangent;
  sunrealtype s[2];
  contactTurned(&c->point[i].sliding[0], t, s);
  *across = s[0] * a[1] - s[1] * a[0];
  return s[0] * a[0] + s[1] * a[1];
}

/* Turns the directions of sliding by an angle. */
static void turnAll(CPContact c, sunrealtype angle) {
  EACH_NEAR(c, i) {
    Sliding *now      = &c->point[i].sliding[0];
    const Sliding was = {.t = 0, .s = {now->s[0], now->s[1]}, .turn = 1.0};
    if (begins(&c->point[i])) contactTurned(&was, angle, now->s);
  }
}

/* Computes the onsets of contacts that begin to slide. Returns the time for which they have been
 * followed, or 0. */
static sunrealtype measure(CPContact c, sunrealtype t, N_Vector y) {
  sunrealtype h = INFINITY, next = INFINITY, across;
  N_VConst(0.0, c->rate);
  turnAll(c, STRAIGHT);
  const int flag = accelerate(c, t, 0.0, y);
  turnAll(c, -STRAIGHT);
  if (flag) return 0.0;
  EACH_NEAR(c, i)
    if (begins(&c->point[i])) along(c, i, t, &across), c->onset[i].G = -across / STRAIGHT;
  N_VConst(0.0, c->rate);
  if (accelerate(c, t, 0.0, y)) return 0.0;
  EACH_NEAR(c, i) {
    ContactOnset *o = &c->onset[i];
    if (!begins(&c->point[i])) continue;
    o->push = along(c, i, t, &across);
    o->G += across / STRAIGHT;
    o->off = across / lateral(o);
    /* G would move it by a tolerance in this time. */
    if (o->G > 0.0) h = fmin(h, sqrt(2.0 * c->tol_q * c->scale[c->point[i].tangent] / o->G));
  }
  if (isinf(h)) return 0.0;
  h = fmax(h, 10.0 * contactResolution(t));
  if (accelerate(c, t, h, y)) return 0.0;
  EACH_NEAR(c, i) {
    ContactOnset *o = &c->onset[i];
    if (!begins(&c->point[i])) continue;
    o->growth                   = fabs(along(c, i, t + h, &across) - o->push) / h;
    o->turn                     = (across / lateral(o) - o->off) / h;
    c->point[i].sliding[0].turn = o->turn;
    const sunrealtype lasts     = duration(c, i, 1, h, LONGEST * h);
    if (lasts > 0.0) next = fmin(next, lasts);
  }
  if (isinf(next)) return 0.0;
  if (accelerate(c, t, 0.5 * next, y) || accelerate(c, t, next, y)) /* the midpoint rule */
    return 0.0;
  EACH_NEAR(c, i) {
    ContactOnset *o = &c->onset[i];
    if (!begins(&c->point[i])) continue;
    o->growth = fmax(o->growth, fabs(along(c, i, t + next, &across) - o->push) / next);
    o->bend   = ((across - o->push * o->turn * next) / lateral(o) - o->off) / (next * next);
  }
  return next;
}

void contactOnset(CPContact c, sunrealtype t, N_Vector y) {
  int any = 0;
  EACH_NEAR(c, i) any |= begins(&c->point[i]);
  if (!any) return;
  EACH_NEAR(c, i) {
    const sunrealtype *v = c->v + c->point[i].tangent;
    if (begins(&c->point[i])) c->onset[i].rho = hypot(v[0], v[1]);
  }
  const sunrealtype h = measure(c, t, y);
  EACH_NEAR(c, i) {
    Point *point = &c->point[i];
    if (!begins(point)) continue;
    const ContactOnset *o   = &c->onset[i];
    const sunrealtype lasts = h > 0.0 ? duration(c, i, 2, h / AHEAD, AHEAD * h) : 0.0,
                      /* Sliding that stops without stiffness keeps its direction. */
        lags = o->push < 0.0 && lasts == 0.0 ? o->G * o->rho / -o->push : 0.0;
    point->sliding[0].slow =
        fmax(fmax(contactSlow(c, point), 2.0 * o->rho), fmax(speedAt(o, lasts), lags));
    if (lasts == 0.0) point->sliding[0].turn = 0.0;
    /* Where contacts share a load they begin to slide a little before it is large enough (event.c), and
     * go back at first. */
    if (point->sliding[0].near < 0.0 && o->push < 0.0 && o->growth > 0.0)
      point->sliding[0].near -= o->push * o->push / o->growth;
  }
}

void contactWatchOnset(CPContact c, Point *point, sunrealtype t, sunrealtype along,
                       sunrealtype speed) {
  Sliding *now             = &point->sliding[0];
  const sunrealtype across = sqrt(fmax(speed * speed - along * along, 0.0));
  if (across * (t - now->t) > c->tol_q * c->scale[point->tangent])
    now->slow = fmin(now->slow, fmax(contactSlow(c, point), along));
}

sunrealtype contactStiffEnd(CPContact c, const Point *point, sunrealtype speed, sunrealtype brake,
                            sunrealtype across) {
  const sunrealtype G   = point->law.mu * contactNormal(point, c->lambda) * point->effect;
  const sunrealtype tol = c->tol_q * c->scale[point->tangent];
  if (!(brake > 0.0 && brake < STIFF * G && fabs(across) < STIFF * brake)) return 0.0;
  return fmin(sqrt(tol * brake / STRAIGHT), cbrt(tol * brake * brake * speed / fabs(across)));
}
