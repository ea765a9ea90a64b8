/* Gaps after an event. Those of closed contacts are projected to 0, since a root is only as exact as the interpolant on which it has been
 * found, and others follow the bodies that this moves: gaps of open contacts that touch are 0 up to errors of either sign. A gap that
 * begins below 0 would stay there, or be taken farther by each event. So those below 0 are projected with the closed ones,
 *
 *   g_i = 0 where i is closed,   g_i >= 0 where it is open,
 *
 * one after the other: each is projected to 0 that is below. Velocities are those of the closed contacts alone. A gap then crosses 0 where
 * the root function does, which is above it by no more than the digits to which projections find it, and that fades while a gap that
 * leaves with some velocity grows to four times its size, or in the first quarter of its flight if that is lower.
 *
 * A contact that opens at the root of its N leaves with neither velocity nor acceleration, g = j t^3 / 6, and stays within errors of a
 * step for long. Its root function lies above the gap by more, for it would be found again and again, but by much less than the
 * tolerance, so that nothing penetrates by a part of that: a mean of both, as gap and time are cube and root. It fades while the gap
 * grows to four times that. */
#include "contact_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* To what the gap of contact i is known at t if it is to be 0 */
static sunrealtype noiseOf(CPContact c, int i, sunrealtype t) {
  return contactClosedGap(c, i, t, c->noise_q);
}

void contactOffsets(CPContact c, sunrealtype t) {
  EACH_NEAR(c, i) {
    Point *point            = &c->point[i];
    const sunrealtype scale = c->scale[point->normal], gap = c->p[point->normal],
                      v = c->v[point->normal], noise = noiseOf(c, i, t);
    /* The height of a flight that is lower than the roundoff of the gap says nothing. */
    const int opens          = point->jerk > 0.0 && !(v > c->small_v * scale),
              is_seen        = point->height > 32.0 * c->round_q * scale;
    const sunrealtype height = is_seen ? point->height : INFINITY,
                      offset = opens ? cbrt(noise * noise * fmax(noise, c->small_q * scale))
                                     : fmin(noise, height / 32.0);
    if (point->phase != CP_CONTACT_OPEN || point->is_elastic) continue;
    point->zero[0] = gap <= offset ? gap - offset : 0.0, point->t_zero = t;
    point->fade = v > c->small_v * scale ? fmin(4.0 * fmax(fabs(gap), offset), height) / v
                  : opens                ? cbrt(24.0 * offset / point->jerk)
                                         : INFINITY;
  }
}

/* Marks the open contacts with gaps below 0. Returns the number of those that have not been marked before. */
static int findBelow(CPContact c, sunrealtype t) {
  int more = 0;
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    if (c->lifted[i] || point->phase != CP_CONTACT_OPEN || point->is_elastic) continue;
    if (c->p[point->normal] < -noiseOf(c, i, t)) c->lifted[i] = 1, more++;
  }
  return more;
}

/* y <- the projection of the state of the integrator, which has been restarted, on active rows */
static int project(CPContact c, N_Vector y) {
  return contactOfIntegrator(c, CPIntegratorCalcIC(c->integrator, y));
}

/* The same on gaps of open contacts as well that are below 0, for positions. Where other constraints let none of these gaps grow, as that
 * under a drive that pushes into a floor, they stay as they are, which is no failure: *stays <- 1. */
static int lift(CPContact c, sunrealtype t, N_Vector y, int *stays) {
  const size_t nu = (size_t)c->nu * sizeof(sunrealtype);
  memcpy(c->udot, N_VGetArrayPointer(y) + c->nq, nu);
  int flag = contactActivate(c);
  EACH_NEAR(c, i)
    if (c->lifted[i]) c->mask[c->point[i].normal] = 1;
  if (!flag) flag = CPMechSetActive(c->mech, c->mask);
  if (flag) return contactPassOn(c, flag);
  flag = contactOfIntegrator(c, CPIntegratorReInit(c->integrator, t, y));
  if (!flag) {
    CPObject object              = CP_OBJECT(c->integrator);
    const CPErrHandlerFn handler = object->handler;
    object->handler              = NULL;
    flag                         = CPIntegratorCalcIC(c->integrator, y);
    object->handler              = handler;
    *stays = flag == CP_IC_FAIL || flag == CP_PROJ_INCONSISTENT; /* and y is as it was */
    flag   = *stays ? 0 : contactOfIntegrator(c, flag);
  }
  const int restored = contactActivate(c);
  if (flag || restored) return flag ? flag : contactPassOn(c, restored);
  memcpy(N_VGetArrayPointer(y) + c->nq, c->udot, nu);
  flag = contactOfIntegrator(c, CPIntegratorReInit(c->integrator, t, y));
  return flag ? flag : project(c, y);
}

/* A contact that could not be lifted and goes on closing, or -1 */
static int findPushed(const CPContact c) {
  EACH_NEAR(c, i) {
    const int row = c->point[i].normal;
    if (c->lifted[i] && c->v[row] < -c->small_v * c->scale[row]) return i;
  }
  return -1;
}

int contactLift(CPContact c, sunrealtype t, N_Vector y, const char *function) {
  int stays = 0;
  memset(c->lifted, 0, (size_t)c->npoints);
  int flag = project(c, y);
  if (c->time_stepping) return flag; /* which has closed its gaps itself, and has no roots */
  if (!flag) flag = contactMeasure(c, t, y, function);
  while (!flag && !stays && findBelow(c, t)) {
    flag = lift(c, t, y, &stays);
    if (!flag) flag = contactMeasure(c, t, y, function);
  }
  const int pushed = stays && !flag ? findPushed(c) : -1;
  if (pushed >= 0) {
    snprintf(
        c->log.text,
        sizeof c->log.text, "at t = %.10g: contact \"%s\" penetrates: nothing gives way to it, and its gap closes at %.3e",
        t, c->point[pushed].name, -c->v[c->point[pushed].normal]);
    return contactTell(c, t, y, CP_CONTACT_PENETRATION, function);
  }
  if (!flag) contactOffsets(c, t);
  return flag;
}
