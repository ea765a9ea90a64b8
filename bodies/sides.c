/* The two sides of a joint or force: bodies, points and axes. */
#include "elements.h"

#include <string.h>

const char *bodiesAxes(int dimension, int in_plane, const CPMarker *m, sunrealtype axis[3][3]) {
  sunrealtype z[3] = {m->axis[0], m->axis[1], m->axis[2]},
              x[3] = {m->across[0], m->across[1], m->across[2]};
  for (int k = 0; k < 3; k++)
    if (!isfinite(z[k]) || !isfinite(x[k]) || !isfinite(m->point[k]))
      return "point and axes must be finite";
  if (dimension == 2 && (m->point[2] != 0 || (in_plane && z[2] != 0)))
    return "point and axis must lie in the plane";
  if (dimension == 2 && !in_plane) z[0] = z[1] = 0, z[2] = 1;
  sunrealtype size = length3(z);
  if (size == 0 && in_plane && dimension == 2) return "axis must not be zero";
  if (size == 0) z[2] = size = 1;
  for (int k = 0; k < 3; k++) z[k] /= size;
  if (dimension == 2 && in_plane) x[0] = -z[1], x[1] = z[0], x[2] = 0;
  if (length3(x) == 0) { /* Takes the axis of the frame that is farthest from z. */
    int k = 0;
    for (int i = 1; i < 3; i++)
      if (fabs(z[i]) < fabs(z[k])) k = i;
    x[k] = 1;
  }
  size = length3(x);
  add3(-dot3(x, z), z, x);
  const sunrealtype rest = length3(x);
  if (!(rest > SUN_RCONST(1e-8) * size)) return "across must not be along the axis";
  for (int k = 0; k < 3; k++) {
    axis[0][k] = x[k] / rest;
    axis[2][k] = z[k];
  }
  cross3(axis[2], axis[0], axis[1]);
  return NULL;
}

int bodiesFindBody(CPBodies b, const char *name, const char *body, int *index) {
  const int ground = !body || !strcmp(body, "ground");
  *index           = ground ? GROUND : bodiesFind(&b->m, NAME_BODY, body, strlen(body));
  if (ground || *index >= 0) return CP_SUCCESS;
  char more[SUGGESTION];
  return refused(b, CP_ILL_INPUT, "%s: there is no body \"%.100s\"%s", name, body,
                 bodiesSuggest(&b->m, NAME_BODY, body, strlen(body), more));
}

int bodiesFindSides(CPBodies b, const char *name, const char *a, const char *c, Pair *pair) {
  int flag = bodiesFindBody(b, name, a, &pair->side[0].body);
  if (!flag) flag = bodiesFindBody(b, name, c, &pair->side[1].body);
  if (flag) return flag;
  if (pair->side[0].body == pair->side[1].body)
    return refused(b, CP_ILL_INPUT, "%s: bodies a and b must differ, and both are \"%s\"", name,
                   a ? a : "ground");
  return CP_SUCCESS;
}

void bodiesPlaced(const Mechanism *b, const Pair *pair, Pose pose[2]) {
  for (int side = 0; side < 2; side++) {
    const int body       = pair->side[side].body;
    const sunrealtype *q = body == GROUND ? NULL : b->body[body].guess;
    if (!q) pose[side] = bodies_ground;
    else bodiesPoseAt(&b->space, q, q + b->space.nq, NULL, &pose[side]);
  }
}

int bodiesMakePair(CPBodies b, const char *name, CPIn in, int in_plane, const CPMarker *on_a,
                   const CPMarker *on_b, Pair *pair) {
  Pose pose[2];
  bodiesPlaced(&b->m, pair, pose);
  for (int side = 0; side < 2; side++) {
    Side *s              = &pair->side[side];
    const CPMarker *from = side ? on_b : on_a;
    const Body *body     = s->body == GROUND ? NULL : &b->m.body[s->body];
    sunrealtype axis[3][3], arm[3];
    const char *wrong = bodiesAxes(b->m.space.dimension, in_plane, from, axis);
    if (wrong) return refused(b, CP_ILL_INPUT, "%s: %s (body %s)", name, wrong, side ? "b" : "a");
    memcpy(s->point, from->point, sizeof s->point);
    memcpy(s->axis, axis, sizeof axis);
    if (!body) continue;
    if (in == CP_IN_BODIES) {
      add3(-1, body->centre, s->point);
      continue;
    }
    memcpy(arm, from->point, sizeof arm);
    add3(-1, pose[side].r, arm);
    toBody(&pose[side], arm, s->point);
    for (int k = 0; k < 3; k++) toBody(&pose[side], axis[k], s->axis[k]);
  }
  if (b->m.space.dimension == 2) { /* Brings the angle at the placement into (-pi, pi]. */
    const Measure angle = {ANGLE, 0, X, X};
    Jet jet;
    pair->turns = 0;
    bodiesJet(&b->m.space, b->m.param, pair, &angle, &pose[0], &pose[1], VALUES, &jet);
    pair->turns = jet.s - remainder(jet.s, 8 * atan(SUN_RCONST(1.0)));
  }
  return CP_SUCCESS;
}

sunrealtype bodiesDistance(const Mechanism *b, const Pair *pair) {
  Pose pose[2];
  Moving d;
  bodiesPlaced(b, pair, pose);
  bodiesSpan(pair, &pose[0], &pose[1], VALUES, &d);
  return sqrt(dot3(d.x, d.x));
}
