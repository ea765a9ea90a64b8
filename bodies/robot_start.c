/* Where a robot starts: values of its joints from a keyframe or by name, and forward kinematics from the reference pose, in
 * which the file describes its links. */
#include "robot_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The line KEY=TEXT of the settings, or NULL. length: out, of TEXT */
static const char *lineOf(const Robot *r, const char *key, size_t *length) {
  const size_t size = strlen(key);
  for (const char *line = r->settings; line && *line; line += strcspn(line, "\n") + 1) {
    *length = strcspn(line, "\n");
    if (*length > size && !strncmp(line, key, size) && line[size] == '=')
      return *length -= size + 1, line + size + 1;
    if (!line[*length]) break;
  }
  return NULL;
}

int robotSetting(Robot *r, const char *key, char *text, size_t size) {
  size_t length;
  const char *at = lineOf(r, key, &length);
  if (!at || length >= size) return at != NULL;
  memcpy(text, at, length);
  text[length] = '\0';
  return 1;
}

/* Reads a start value, or with a prime a rate, an expression of numbers with units. name [length] */
static int readStart(Robot *r, const char *name, size_t length, const char *text, StartOf find,
                     void *data) {
  char own[200], value[200];
  const int is_rate = length > 0 && name[length - 1] == '\'', n = (int)strcspn(text, "\n");
  snprintf(own, sizeof own, "%.*s", (int)length - is_rate, name);
  const char *unit = NULL;
  sunrealtype *to  = find(r, data, own, is_rate, &unit);
  if (!to) return 1;
  if (snprintf(value, sizeof value, "%.*s", n, text) >= (int)sizeof value)
    return robotWrong(r, NULL, "start.%s must have fewer than %d characters", own,
                      (int)sizeof value);
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .text = value, .result = unit};
  CPFunction f                    = NULL;
  const int wrong = CPFunctionCreate(&options, &f) || CPFunctionEvaluate(f, to, to, NULL, NULL);
  CPFunctionFree(&f);
  if (!wrong) return 0;
  return robotWrong(r, NULL, "start.%s must be a finite number, in rad or m, and is \"%s\": %s",
                    own, value, CPObjectGetLastMessage(NULL));
}

int robotStarts(Robot *r, const char *const *known, const char *has, StartOf find, void *data) {
  static const char prefix[] = "start.";
  const size_t skip          = sizeof prefix - 1;
  for (const char *line = r->settings; line && *line; line += strcspn(line, "\n") + 1) {
    const size_t size = strcspn(line, "\n"), key = strcspn(line, "=\n");
    int is_known = size == 0;
    for (int i = 0; known[i]; i++)
      is_known = is_known || (strlen(known[i]) == key && !strncmp(known[i], line, key));
    if (!strncmp(line, prefix, skip) && key < size) {
      if (readStart(r, line + skip, key - skip, line + key + 1, find, data)) return 1;
    } else if (!is_known)
      return robotWrong(r, NULL, "there is no parameter \"%.*s\": %s", (int)key, line, has);
    if (!line[size]) break;
  }
  return 0;
}

/* The value or rate of a hinge or slide */
static sunrealtype *jointAt(Robot *r, void *data, const char *name, int is_rate, const char **unit) {
  const int i = robotFind(r, NULL, "joint", name);
  (void)data;
  if (i < 0) return NULL;
  RobotJoint *j = &r->joint[i];
  r->moved      = 1;
  *unit         = j->type == HINGE ? (is_rate ? "rad/s" : "rad") : (is_rate ? "m/s" : "m");
  if (j->type <= SLIDE) return is_rate ? j->rate : j->value;
  robotWrong(r, NULL, "start.%s: it must be a hinge or a slide, which has one coordinate", name);
  return NULL;
}

/* Robots are often described in a pose that their joints cannot have: all coordinates are 0, or loops are folded, and singular. Programs
 * with soft limits push such joints to them within milliseconds. Coordinates start at the limit that is nearest to the pose; an assembly
 * keeps them within. Equal limits leave a joint no motion. */
static int enterLimits(Robot *r) {
  for (int i = 0; i < r->njoints; i++) {
    RobotJoint *j = &r->joint[i];
    if (j->type > SLIDE || !j->limited) continue;
    if (j->range[0] > j->range[1]) { /* of Bullet's URDF */
      j->limited = 0;
      if (robotTell(r, j->node, CHANGED,
                    "joints whose lower limit is above the upper one are not limited"))
        return 1;
      continue;
    }
    const sunrealtype x = fmax(j->range[0], fmin(j->range[1], j->value[0]));
    if (j->range[0] == j->range[1]) {
      j->held = 1;
      if (robotTell(r, j->node, CHANGED, "joints whose limits are equal are held there")) return 1;
    } else if (x != j->value[0] &&
               robotTell(r, j->node, CHANGED,
                         "starts of joints to their limits, which the given pose violates"))
      return 1;
    r->moved |= x != j->value[0];
    j->value[0] = x;
  }
  return 0;
}

int robotStart(Robot *r, const char *const *known) {
  char has[100];
  snprintf(has, sizeof has, "a robot has start.JOINT, start.JOINT' and %s", known[0]);
  return robotStarts(r, known, has, jointAt, NULL) || enterLimits(r);
}

/* A rigid motion x -> e x e^-1 + s of what the reference pose contains, and its velocity at the origin */
typedef struct {
  sunrealtype e[4], s[3], w[3], v[3];
} Displacement;

static void turnBy(const sunrealtype *e, const sunrealtype *x, sunrealtype *y) {
  const Place turn = {.q = {0, 0, 0, e[0], e[1], e[2], e[3]}};
  Pose pose;
  robotPose(&turn, &pose);
  toSpace(&pose, x, y);
}

/* d <- (rotation turn about the point p) d */
static void turnAbout(const sunrealtype *turn, const sunrealtype *p, Displacement *d) {
  sunrealtype arm[3], turned[3];
  for (int k = 0; k < 3; k++) arm[k] = d->s[k] - p[k];
  turnBy(turn, arm, turned);
  for (int k = 0; k < 3; k++) d->s[k] = p[k] + turned[k];
  robotTurn(turn, d->e, d->e);
}

/* The body turns with w about the point p in addition. */
static void spinAbout(const sunrealtype *w, const sunrealtype *p, Displacement *d) {
  sunrealtype v[3];
  cross3(p, w, v);
  add3(1, w, d->w);
  add3(1, v, d->v);
}

/* d: in, the displacement of what the joint is on; out, that of what it leads to */
static void moveJoint(const RobotJoint *j, const Place *place, Displacement *d) {
  sunrealtype axis[3], point[3], w[3] = {0, 0, 0}, turn[4], own[4];
  turnBy(d->e, j->axis, axis);
  turnBy(d->e, j->point, point);
  add3(1, d->s, point);
  const sunrealtype by = j->value[0] - j->ref, half = by / 2;
  switch (j->type) {
  case HINGE:
    turn[0] = cos(half);
    for (int k = 0; k < 3; k++) turn[k + 1] = sin(half) * axis[k];
    turnAbout(turn, point, d);
    add3(j->rate[0], axis, w);
    spinAbout(w, point, d);
    break;
  case SLIDE:
    add3(by, axis, d->s);
    add3(j->rate[0], axis, d->v);
    break;
  case BALL: { /* value: of the link, in its own axes; e p = (e p e^-1) e */
    robotTurn(d->e, place->q + 3, own);
    const sunrealtype back[4] = {own[0], -own[1], -own[2], -own[3]};
    robotTurn(own, j->value, turn);
    robotTurn(turn, back, turn);
    turnAbout(turn, point, d);
    robotTurn(own, j->value, own);
    turnBy(own, j->rate, w);
    spinAbout(w, point, d);
    break;
  }
  case FREE: { /* value: position and quaternion of the link in space */
    const sunrealtype *e = place->q + 3, back[4] = {e[0], -e[1], -e[2], -e[3]};
    sunrealtype from[3];
    robotTurn(j->value + 3, back, d->e);
    turnBy(d->e, place->q, from);
    for (int k = 0; k < 3; k++) d->s[k] = j->value[k] - from[k];
    turnBy(j->value + 3, j->rate + 3, w);
    memset(d->w, 0, sizeof d->w);
    memcpy(d->v, j->rate, sizeof d->v);
    spinAbout(w, j->value, d);
    break;
  }
  case PLANE: break; /* starts at the reference */
  }
}

int robotStartPlaces(Robot *r, Place *place, sunrealtype (*velocity)[6]) {
  static const Displacement still = {.e = {1, 0, 0, 0}};
  Displacement *moved             = calloc((size_t)r->nlinks + 1, sizeof *moved);
  if (!moved) return robotWrong(r, NULL, "no memory");
  for (int i = 0; i < r->nlinks; i++) { /* Parents come before their children. */
    const Link *link = &r->link[i];
    Displacement *d  = &moved[i];
    sunrealtype swing[3];
    *d = link->place.link == GROUND ? still : moved[link->place.link];
    for (int k = 0; k < link->njoints; k++) moveJoint(&r->joint[link->first + k], &link->place, d);
    place[i] = link->place;
    if (!r->moved) continue;
    turnBy(d->e, link->place.q, place[i].q);
    add3(1, d->s, place[i].q);
    robotTurn(d->e, link->place.q + 3, place[i].q + 3);
    cross3(d->w, place[i].q, swing);
    for (int k = 0; k < 3; k++) {
      velocity[i][k]     = d->v[k] + swing[k];
      velocity[i][3 + k] = d->w[k];
    }
  }
  free(moved);
  return 0;
}
