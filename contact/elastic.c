/* Elastic contacts. Where the gap g is negative, the normal force is that of a spring and a damper, N = -k g - d g', and not a
 * reaction; it never pulls. With
 *
 *   x = g + max(0, (d / k) g'),
 *
 * the contact is closed where x < 0: it closes where the gap is 0, and opens where N is. Within a phase the force is smooth, also
 * beyond its end, and both ends are roots, up to a tenth of the tolerance, by which x passes 0 so that the root functions of a new
 * phase begin clearly above it. Elastic contacts take no part in impacts, nor in the problem of the accelerations, in which their
 * forces are applied ones. */
#include "contact_impl.h"

#include <math.h>
#include <string.h>

static sunrealtype excess(const Point *point, sunrealtype gap, sunrealtype rate) {
  return gap + fmax(0.0, point->law.damping / point->law.stiffness * rate);
}

sunrealtype contactElasticMargin(const CPContact c, const Point *point) {
  const sunrealtype x = excess(point, c->p[point->normal], c->v[point->normal]);
  return (point->phase == CP_CONTACT_OPEN ? x : -x) + c->small_q * c->scale[point->normal];
}

sunrealtype contactElasticForce(const CPContact c, const Point *point, sunrealtype gap,
                                sunrealtype rate) {
  const int closed =
      c->time_stepping ? excess(point, gap, rate) < 0.0 : point->phase != CP_CONTACT_OPEN;
  return closed ? -point->law.stiffness * gap - point->law.damping * rate : 0.0;
}

void contactElasticPhases(CPContact c) {
  EACH_NEAR(c, i) {
    Point *point = &c->point[i];
    if (!point->is_elastic) continue;
    point->phase = c->before[i].phase;
    if (!c->fired[ROOTS * i] && contactElasticMargin(c, point) > 0.0) continue;
    point->phase = point->phase == CP_CONTACT_OPEN ? CP_CONTACT_CLOSED : CP_CONTACT_OPEN;
  }
}

/* A_N^T N */
static int force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 const sunrealtype *lambda, sunrealtype *f, void *data) {
  const CPContact c = data;
  int closed = 0, flag = 0;
  (void)z, (void)lambda;
  memset(c->skipped, 1, (size_t)c->na);
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    if (!point->is_elastic || !(c->time_stepping || point->phase != CP_CONTACT_OPEN)) continue;
    if ((flag = contactLawOf(c, i, t, q, 0, "CPSessionRun"))) return flag;
    closed                    = 1;
    c->skipped[point->normal] = 0;
  }
  if (!closed) return 0;
  memset(c->elastic.p, 0, (size_t)c->na * sizeof *c->elastic.p);
  memset(c->elastic.N, 0, (size_t)c->na * sizeof *c->elastic.N);
  flag = contactCall(c, p, t, q, c->elastic.p);
  if (!flag) flag = contactSome(c, t, q, u, c->elastic.v);
  if (flag) return flag;
  EACH_NEAR(c, i) {
    const Point *point = &c->point[i];
    const int row      = point->normal;
    if (point->is_elastic)
      c->elastic.N[row] = contactElasticForce(
          c, point, contactOnTurn(point, t, c->elastic.p[row], c->elastic.v[row]),
          c->elastic.v[row]);
  }
  contactTransposedTimes(c, c->some, c->elastic.N, f);
  return 0;
}

int contactAddElasticForce(CPContact c) {
  const CPMechForce own = {CP_SIZED(CPMechForce), .f = force, .data = c};
  return CPMechAddForce(c->mech, &own, &c->elastic.force);
}
