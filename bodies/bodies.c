/* Construction of the mechanism: names, parameters, bodies, joints and forces. Each function checks
 * everything and allocates all memory before it changes anything. */
#include "bodies_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------------- joints -- */

enum { X, Y, Z };

typedef struct {
  const char *name;
  int nrows, nforced; /* nforced: rows of p; the other rows belong to v only */
  Measure row[MAX_ROWS];
  int ncoordinates;
  Term coordinate[3];
} Kind;

#define AXES_MEET \
  { POINT, 0, 0, 0 }
#define ALONG_(i) \
  { ALONG, 0, i, 0 }
#define DOT_(i, j) \
  { DOT, 0, i, j }
#define ANGLE_ \
  { ANGLE, 0, X, X }
#define COORD(...) \
  { .coef = 1, .ratio = NONE, .m = __VA_ARGS__ }

/* kinds[0] is for the plane, where nrows = 0 marks kinds that do not exist; kinds[1] is for space. */
static const Kind kinds[2][NUM_JOINTS] = {
    {[CP_JOINT_REVOLUTE]      = {"revolute", 1, 1, {AXES_MEET}, 1, {COORD(ANGLE_)}},
     [CP_JOINT_PRISMATIC]     = {"prismatic", 2, 2, {ALONG_(X), DOT_(X, Z)}, 1, {COORD(ALONG_(Z))}},
     [CP_JOINT_FIXED]         = {"fixed", 2, 2, {AXES_MEET, DOT_(X, Y)}, 0, {{0}}},
     [CP_JOINT_ROD]           = {"rod", 1, 1, {{LENGTH, 0, 0, 0}}, 0, {{0}}},
     [CP_JOINT_POINT_ON_LINE] = {"point_on_line", 1, 1, {ALONG_(X)}, 1, {COORD(ALONG_(Z))}},
     [CP_JOINT_ROLLING]       = {"rolling", 2, 1, {ALONG_(Z), {SPIN, 0, Y, X}}, 0, {{0}}}},
    {[CP_JOINT_BALL]     = {"ball", 1, 1, {AXES_MEET}, 0, {{0}}},
     [CP_JOINT_REVOLUTE] = {"revolute", 3, 3, {AXES_MEET, DOT_(X, Z), DOT_(Y, Z)}, 1, {COORD(ANGLE_)}},
     [CP_JOINT_UNIVERSAL]   = {"universal",
                               2,
                               2,
                               {AXES_MEET, DOT_(Z, Z)},
                               2,
                               {COORD({ANGLE, 0, X, Z}),
                                {.coef = -1, .ratio = NONE, .m = {ANGLE, 1, X, Z}}}},
     [CP_JOINT_CYLINDRICAL] = {"cylindrical",
                               4,
                               4,
                               {ALONG_(X), ALONG_(Y), DOT_(X, Z), DOT_(Y, Z)},
                               2,
                               {COORD(ALONG_(Z)), COORD(ANGLE_)}},
     [CP_JOINT_PRISMATIC]   = {"prismatic",
                               5,
                               5,
                               {ALONG_(X), ALONG_(Y), DOT_(X, Z), DOT_(Y, Z), DOT_(X, Y)},
                               1,
                               {COORD(ALONG_(Z))}},
     [CP_JOINT_PLANAR]      = {"planar",
                               3,
                               3,
                               {ALONG_(Z), DOT_(X, Z), DOT_(Y, Z)},
                               3,
                               {COORD(ALONG_(X)), COORD(ALONG_(Y)), COORD(ANGLE_)}},
     [CP_JOINT_FIXED] = {"fixed", 4, 4, {AXES_MEET, DOT_(X, Z), DOT_(Y, Z), DOT_(X, Y)}, 0, {{0}}},
     [CP_JOINT_ROD]   = {"rod", 1, 1, {{LENGTH, 0, 0, 0}}, 0, {{0}}},
     [CP_JOINT_POINT_ON_LINE] = {"point_on_line", 2, 2, {ALONG_(X), ALONG_(Y)}, 1, {COORD(ALONG_(Z))}},
     [CP_JOINT_POINT_ON_PLANE] = {"point_on_plane", 1, 1, {ALONG_(Z)}, 0, {{0}}},
     /* (x_a . d)' - r y_a . omega = 0, (y_a . d)' + r x_a . omega = 0 */
     [CP_JOINT_ROLLING] = {"rolling", 3, 1, {ALONG_(Z), {SPIN, 0, Y, X}, {SPIN, 0, X, Y}}, 0, {{0}}},
     [CP_JOINT_ROLLING_DISC] = {
         "rolling_disc", 3, 1, {ALONG_(Z), {ROLL, 0, X, Z}, {ROLL, 0, Y, Z}}, 0, {{0}}}}};

const char *bodiesKindName(int kind) {
  return kind >= 0 && kind < NUM_JOINTS ? kinds[1][kind].name : NULL;
}

/* ----------------------------------------------------------------- messages, memory, names -- */

int bodiesGiven(CPBodies b, const char *function, const char *names, int given) {
  return given ? CP_SUCCESS
               : cpReport(&b->log, CP_ILL_INPUT, function, "%s must not be NULL", names);
}

int bodiesRoom(void *address, int count, int more, size_t size) {
  void **array = address, *larger;
  int old      = count > 0 ? 8 : 0, length;
  while (old < count) old *= 2;
  for (length = 8; length < count + more;) length *= 2;
  if (length == old) return 0;
  if (!(larger = realloc(*array, (size_t)length * size))) return 1;
  *array = larger;
  return 0;
}

unsigned bodiesHash(const char *name, size_t length) { /* FNV-1a */
  unsigned h = 2166136261u;
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 16777619u;
  return h;
}

/* The entry of the name, or the free entry where it belongs. */
static Entry *entryOf(const struct CPBodies_ *b, const char *name, size_t length) {
  unsigned i = bodiesHash(name, length);
  for (;; i++) {
    Entry *e         = &b->entry[i & (unsigned)(b->capacity - 1)];
    const char *text = b->text + e->name;
    if (!e->kind || (e->kind > 0 && !strncmp(text, name, length) && !text[length])) return e;
  }
}

int bodiesNamed(const struct CPBodies_ *b, const char *name, size_t length) {
  const Entry *e = entryOf(b, name, length);
  return e->kind ? e->name : -1;
}

int bodiesFind(const struct CPBodies_ *b, int kind, const char *name, size_t length) {
  if (!name || b->capacity == 0) return -1;
  const Entry *e = entryOf(b, name, length);
  return e->kind == kind ? e->index : -1;
}

static int noMemory(CPBodies b, const char *function, const char *name) {
  return cpReport(&b->log, CP_MEM_FAIL, function, "no memory for \"%.100s\"", name);
}

/* Checks that the name is new, and makes room for it and for `params` parameters. Returns 0 or an
 * error code that has been reported. */
static int checkName(CPBodies b, const char *function, const char *name, int params) {
  if (b->ready)
    return cpReport(&b->log, CP_TOO_LATE, function, "the mechanism is complete: its CPMech exists");
  if (!name || !*name) return cpReport(&b->log, CP_ILL_INPUT, function, "name must not be empty");
  if (strpbrk(name, ". \t\n") || strlen(name) > 100)
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "name must have at most 100 characters, no blank and no dot: \"%.100s\"", name);
  if (bodiesControl(name))
    return cpReport(&b->log, CP_ILL_INPUT, function, "name must not contain control characters");
  if (!strcmp(name, "ground"))
    return cpReport(&b->log, CP_ILL_INPUT, function, "name must not be \"ground\"");
  if (2 * b->nentries >= b->capacity) { /* The table is at most half full. */
    const int old = b->capacity;
    Entry *before = b->entry, *more = calloc(old ? 2 * (size_t)old : 16, sizeof *more);
    if (!more) return noMemory(b, function, name);
    b->entry    = more;
    b->capacity = old ? 2 * old : 16;
    for (int i = 0; i < old; i++) {
      const char *text = b->text + before[i].name;
      if (before[i].kind > 0) *entryOf(b, text, strlen(text)) = before[i];
    }
    free(before);
  }
  if (ROOM(b->text, b->ntext, (int)strlen(name) + 1) || ROOM(b->param, b->nparams, params) ||
      ROOM(b->label, b->nparams, params))
    return noMemory(b, function, name);
  if (entryOf(b, name, strlen(name))->kind)
    return cpReport(&b->log, CP_ILL_INPUT, function, "name must be new: there is a \"%s\" already",
                    name);
  return CP_SUCCESS;
}

static int takeName(CPBodies b, const char *name, int kind, int index) {
  const int at = b->ntext;
  memcpy(b->text + at, name, strlen(name) + 1);
  *entryOf(b, name, strlen(name)) = (Entry){.name = at, .kind = kind, .index = index};
  b->ntext += (int)strlen(name) + 1;
  b->nentries++;
  return at;
}

int bodiesTaken(const struct CPBodies_ *b, const char *name) {
  return !strcmp(name, "ground") || entryOf(b, name, strlen(name))->kind;
}

/* Adds a parameter, for which there is room, and returns its index. */
static int takeParam(CPBodies b, int owner, const char *field, sunrealtype value) {
  b->label[b->nparams] = (Label){owner, field};
  b->param[b->nparams] = value;
  return b->nparams++;
}

static int allFinite(const sunrealtype *x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}
#define CHECK_FINITE(b, name, what, x, n)                                                        \
  if (!allFinite((x), (n)))                                                                      \
  return cpReport(&(b)->log, CP_ILL_INPUT, __func__, "%s: %s must be finite, and is %g", (name), \
                  (what), (double)firstBad((x), (n)))
static sunrealtype firstBad(const sunrealtype *x, int n) {
  int i = 0;
  while (i < n - 1 && isfinite(x[i])) i++;
  return x[i];
}

/* Checks that x is finite and positive, or not negative. Returns 0 or an error code that has been
 * reported. */
static int checkSign(CPBodies b, const char *function, const char *name, const char *what,
                     sunrealtype x, int positive) {
  if (isfinite(x) && (positive ? x > 0 : x >= 0)) return CP_SUCCESS;
  return cpReport(&b->log, CP_ILL_INPUT, function, "%s: %s must %s, and is %g", name, what,
                  positive ? "be positive" : "not be negative", (double)x);
}

/* ------------------------------------------------------------------------------ life cycle -- */

CPBodies CPBodiesCreate(int dimension, SUNContext ctx) {
  static const CPKind objects = {NULL, NULL, NULL};
  if (dimension != 2 && dimension != 3)
    return cpRefuse(NULL, __func__, "dimension must be 2 or 3, is %d", dimension), NULL;
  CPBodies b = calloc(1, sizeof *b);
  if (!b) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for bodies"), NULL;
  b->log.kind = &objects;
  b->ctx      = ctx;
  b->space = dimension == 3 ? (Space){3, 6, 7, {0, 0}, {3, 3}} : (Space){2, 3, 3, {0, 2}, {2, 3}};
  if (checkName(b, __func__, "gravity", 3)) {
    CPBodiesFree(&b);
    return NULL;
  }
  const int name                 = takeName(b, "gravity", NAME_OTHER, 0);
  static const char *const xyz[] = {"x", "y", "z"};
  for (int k = 0; k < 3; k++) takeParam(b, name, xyz[k], 0);
  return b;
}

void CPBodiesFree(CPBodies *bodies) {
  if (!bodies || !*bodies) return;
  CPBodies b    = *bodies;
  void *owned[] = {b->length, b->body,  b->joint, b->row,   b->roll,    b->pair,
                   b->drive,  b->law,   b->force, b->shape, b->contact, b->param,
                   b->text,   b->entry, b->label, b->notes, b->files,   b->changed};
  bodiesFreePlans(b);
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  free(b);
  *bodies = NULL;
}

const char *CPBodiesFileRead(CPBodies b, int i) {
  const char *path = b ? b->files : NULL, *end = path ? path + b->nfiles : NULL;
  while (i-- > 0 && path < end) path += strlen(path) + 1;
  return path < end ? path : NULL;
}

const char *CPBodiesNotes(CPBodies b) { return b && b->notes ? b->notes : ""; }

int CPBodiesSetGravity(CPBodies b, const sunrealtype *g) {
  if (!b) return CP_MEM_NULL;
  if (b->ready) return cpReport(&b->log, CP_TOO_LATE, __func__, "the mechanism is complete");
  if (bodiesGiven(b, __func__, "g", g != NULL)) return CP_ILL_INPUT;
  CHECK_FINITE(b, "gravity", "g", g, 3);
  if (b->space.dimension == 2 && g[2] != 0)
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "g[2] must be 0 in the plane, and is %g",
                    (double)g[2]);
  memcpy(b->param, g, 3 * sizeof *g);
  return CP_SUCCESS;
}

int CPBodiesSetBalance(CPBodies b) {
  if (!b) return CP_MEM_NULL;
  if (b->ready) return cpReport(&b->log, CP_TOO_LATE, __func__, "the mechanism is complete");
  b->balance = 1;
  return CP_SUCCESS;
}

/* --------------------------------------------------------------------------------- bodies -- */

/* Eigenvalues of a symmetric matrix (xx, yy, zz, xy, xz, yz), largest first (O. K. Smith, Comm. ACM
 * 4, 1961). */
static void principal(const sunrealtype *J, sunrealtype *value) {
  const sunrealtype m = (J[0] + J[1] + J[2]) / 3, a = J[0] - m, d = J[1] - m, f = J[2] - m;
  const sunrealtype off = J[3] * J[3] + J[4] * J[4] + J[5] * J[5];
  const sunrealtype p   = sqrt((a * a + d * d + f * f + 2 * off) / 6);
  const sunrealtype det =
      a * (d * f - J[5] * J[5]) - J[3] * (J[3] * f - J[5] * J[4]) + J[4] * (J[3] * J[5] - d * J[4]);
  const sunrealtype r     = p > 0 ? fmax(-1, fmin(1, det / (2 * p * p * p))) : 0;
  const sunrealtype third = 2 * acos(SUN_RCONST(-1.0)) / 3;
  for (int k = 0; k < 3; k++) value[k] = m + 2 * p * cos(acos(r) / 3 - k * third);
  /* The eigenvalue with cos(phi - 4 pi / 3) is the middle one. */
  const sunrealtype middle = value[2];
  if (middle > value[1]) value[2] = value[1], value[1] = middle;
}

int CPBodiesAddBody(CPBodies b, const CPBody *body) {
  static const char *const fields[] = {"J_xx", "J_yy", "J_zz", "J_xy", "J_xz", "J_yz"};
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "body", body != NULL)) return CP_ILL_INPUT;
  const sunrealtype *J = body->inertia, *e = body->quaternion;
  const int planar = b->space.dimension == 2;
  int flag         = checkName(b, __func__, body->name, 7);
  if (flag) return flag;
  CHECK_FINITE(b, body->name, "inertia", J, 6);
  CHECK_FINITE(b, body->name, "centre", body->centre, 3);
  CHECK_FINITE(b, body->name, "position", body->position, 3);
  CHECK_FINITE(b, body->name, "quaternion", e, 4);
  CHECK_FINITE(b, body->name, "angle", &body->angle, 1);
  CHECK_FINITE(b, body->name, "velocity", body->velocity, 3);
  CHECK_FINITE(b, body->name, "omega", body->omega, 3);
  flag = checkSign(b, __func__, body->name, "mass", body->mass, 1);
  if (!flag && planar) flag = checkSign(b, __func__, body->name, "J_zz", J[2], 1);
  if (flag) return flag;
  if (planar && (body->centre[2] != 0 || body->position[2] != 0 || body->velocity[2] != 0 ||
                 body->omega[0] != 0 || body->omega[1] != 0))
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "%s: a body in the plane must not leave it",
                    body->name);
  if (!planar) {
    sunrealtype p[3];
    principal(J, p);
    if (!(p[2] > 0) || p[0] > (p[1] + p[2]) * (1 + SUN_RCONST(1e-12)))
      return cpReport(&b->log, CP_ILL_INPUT, __func__,
                      "%s: principal moments must be positive, the largest at most the sum of the "
                      "others, and are %g, %g, %g",
                      body->name, (double)p[0], (double)p[1], (double)p[2]);
  }
  if (ROOM(b->body, b->nbodies, 1)) return noMemory(b, __func__, body->name);

  const int i = b->nbodies++;
  Body *new   = &b->body[i];
  *new        = (Body){.name = takeName(b, body->name, NAME_BODY, i), .param = b->nparams};
  takeParam(b, new->name, "mass", body->mass);
  for (int k = 0; k < 6; k++) takeParam(b, new->name, fields[k], planar && k != 2 ? 0 : J[k]);
  new->full = !planar && (J[3] != 0 || J[4] != 0 || J[5] != 0);
  memcpy(new->centre, body->centre, sizeof new->centre);
  sunrealtype *q = new->guess, arm[3], swing[3];
  if (planar) q[2] = body->angle;
  else {
    const sunrealtype size = hypot(length3(e), e[3]);
    for (int k = 0; k < 4; k++) q[3 + k] = size > 0 ? e[k] / size : k == 0;
  }
  Pose pose;
  bodiesPoseAt(&b->space, q, NULL, NULL, &pose);
  toSpace(&pose, body->centre, arm);
  cross3(body->omega, arm, swing);
  sunrealtype *u = q + b->space.nq, own[3];
  toBody(&pose, body->omega, own);
  for (int k = 0; k < (planar ? 2 : 3); k++) {
    q[k] = body->position[k] + arm[k];
    u[k] = body->velocity[k] + swing[k];
  }
  if (planar) u[2] = body->omega[2];
  else memcpy(u + 3, own, sizeof own);
  return i;
}

/* ---------------------------------------------------------------------------------- sides -- */

/* Computes the axes x, y, z of a side. in_plane: z lies in the plane. Returns NULL, or what is
 * wrong. */
static const char *makeAxes(int dimension, int in_plane, const CPMarker *m, sunrealtype axis[3][3]) {
  sunrealtype z[3] = {m->axis[0], m->axis[1], m->axis[2]},
              x[3] = {m->across[0], m->across[1], m->across[2]};
  if (!allFinite(m->axis, 3) || !allFinite(x, 3) || !allFinite(m->point, 3))
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

/* Finds the bodies of a pair by name. Returns 0 or an error code that has been reported. */
static int findBodies(CPBodies b, const char *function, const char *name, const char *a,
                      const char *c, Pair *pair) {
  const char *names[] = {a, c};
  for (int side = 0; side < 2; side++) {
    const char *body      = names[side];
    const int ground      = !body || !strcmp(body, "ground");
    pair->side[side].body = ground ? GROUND : bodiesFind(b, NAME_BODY, body, strlen(body));
    if (!ground && pair->side[side].body < 0)
      return cpReport(&b->log, CP_ILL_INPUT, function, "%s: there is no body \"%.100s\"", name,
                      body);
  }
  if (pair->side[0].body == pair->side[1].body)
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%s: bodies a and b must differ, and both are \"%s\"", name, a ? a : "ground");
  return CP_SUCCESS;
}

/* pose: out, the poses of both sides at the placement. */
static void placed(const struct CPBodies_ *b, const Pair *pair, Pose pose[2]) {
  for (int side = 0; side < 2; side++) {
    const int body = pair->side[side].body;
    if (body == GROUND) pose[side] = bodies_ground;
    else bodiesPoseAt(&b->space, b->body[body].guess, NULL, NULL, &pose[side]);
  }
}

/* Computes the points and axes of both sides, whose bodies are known. Returns 0 or an error code that
 * has been reported. */
static int makePair(CPBodies b, const char *function, const char *name, CPIn in, int in_plane,
                    const CPMarker *on_a, const CPMarker *on_b, Pair *pair) {
  Pose pose[2];
  placed(b, pair, pose);
  for (int side = 0; side < 2; side++) {
    Side *s              = &pair->side[side];
    const CPMarker *from = side ? on_b : on_a;
    const Body *body     = s->body == GROUND ? NULL : &b->body[s->body];
    sunrealtype axis[3][3], arm[3];
    const char *wrong = makeAxes(b->space.dimension, in_plane, from, axis);
    if (wrong)
      return cpReport(&b->log, CP_ILL_INPUT, function, "%s: %s (body %s)", name, wrong,
                      side ? "b" : "a");
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
  if (b->space.dimension == 2) { /* Brings the angle at the placement into (-pi, pi]. */
    const Measure angle = {ANGLE, 0, X, X};
    Jet jet;
    pair->turns = 0;
    bodiesJet(&b->space, b->param, pair, &angle, &pose[0], &pose[1], VALUES, &jet);
    pair->turns = jet.s - remainder(jet.s, 8 * atan(SUN_RCONST(1.0)));
  }
  return CP_SUCCESS;
}

/* |P_b - P_a| at the placement */
static sunrealtype distance(const struct CPBodies_ *b, const Pair *pair) {
  Pose pose[2];
  Moving d;
  placed(b, pair, pose);
  bodiesSpan(pair, &pose[0], &pose[1], VALUES, &d);
  return sqrt(dot3(d.x, d.x));
}

/* Is the disc of a contact not parallel to the plane at the placement? */
static int stands(const struct CPBodies_ *b, const Pair *pair) {
  /* the sine is the root of a difference from 1, which amplifies roundoff */
  static const sunrealtype least = SUN_RCONST(1e-6);
  const Measure sine             = {SINE, 0, Z, Z};
  Pose pose[2];
  Jet jet;
  placed(b, pair, pose);
  bodiesJet(&b->space, b->param, pair, &sine, &pose[0], &pose[1], VALUES, &jet);
  return jet.s > least;
}

/* Checks that the function of a surface has a gradient at the placement, and that it is a distance
 * if a ball touches it. Returns 0 or an error code that has been reported. */
static int checkSurface(CPBodies b, const char *function, const char *name, const Pair *pair,
                        sunrealtype radius) {
  static const sunrealtype rounding = SUN_RCONST(1e-8);
  sunrealtype g[3], t[2][3];
  Pose pose[2];
  placed(b, pair, pose);
  const int flag         = bodiesLevel(b->param, pair, &pose[0], &pose[1], g, t);
  const sunrealtype size = sqrt(dot3(g, g));
  if (flag)
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%s: the function of the surface fails at the placement (%d)", name, flag);
  if (!(size > 0) || !isfinite(size))
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%s: the gradient of the surface must be finite and not 0 at the placement, "
                    "and its length is %g",
                    name, (double)size);
  if (radius > 0 && fabs(size - 1) > rounding)
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%s: with a radius the surface must be given by a distance, and the length "
                    "of its gradient is %g",
                    name, (double)size);
  return CP_SUCCESS;
}

/* --------------------------------------------------------------------------------- joints -- */

/* Completes the markers of both sides: with CP_IN_SPACE on_b is on_a, as far as the kind of joint
 * allows. Returns 0 or an error code that has been reported. */
static int completeMarkers(CPBodies b, const CPJoint *joint, int in_plane, CPMarker *on_a,
                           CPMarker *on_b, const char *function) {
  const CPJointKind k = joint->kind;
  const int apart     = k == CP_JOINT_ROD || k == CP_JOINT_POINT_ON_LINE ||
                    k == CP_JOINT_POINT_ON_PLANE || k == CP_JOINT_ROLLING ||
                    k == CP_JOINT_ROLLING_DISC;
  if (joint->in == CP_IN_SPACE) {
    CPMarker same = *on_a;
    if (apart) memcpy(same.point, on_b->point, sizeof same.point);
    if (k == CP_JOINT_UNIVERSAL) { /* Both angles are 0 at the placement. */
      memcpy(same.axis, on_b->axis, sizeof same.axis);
      memcpy(same.across, on_a->axis, sizeof same.across);
      memcpy(on_a->across, on_b->axis, sizeof on_a->across);
    }
    if (k == CP_JOINT_ROLLING_DISC) { /* The direction of x_b does not matter. */
      memcpy(same.axis, on_b->axis, sizeof same.axis);
      memset(same.across, 0, sizeof same.across);
    }
    *on_b = same;
  } else if (b->space.dimension == 2 && in_plane && length3(on_b->axis) == 0) {
    on_b->axis[0] = 1; /* Points on lines, rolling and spheres do not use it. */
    if (k == CP_JOINT_PRISMATIC)
      return cpReport(&b->log, CP_ILL_INPUT, function, "%s: axis must not be zero (body b)",
                      joint->name);
  }
  return CP_SUCCESS;
}

static int aligns(const Measure *m) { return m->kind == DOT && m->i != m->j; }

/* Row r of a joint, or of a contact on a surface of this kind. param: its length, or NONE */
static Row makeRow(const Kind *kind, CPJointKind k, CPContactOn on, int r, int pair, int param) {
  Row row     = {.nterms = 1, .offset = r == 0 ? param : NONE, .drive = NONE};
  row.term[0] = (Term){1, NONE, pair, kind->row[r]};
  for (int i = 0; i < kind->nforced && aligns(&kind->row[r]); i++)
    row.aligns += aligns(&kind->row[i]);
  /* No slip along the axis j of the measure: the velocity of the centre, plus the part due to
   * rotation. */
  if (r >= kind->nforced) {
    row.nterms    = 2;
    row.offset    = NONE;
    row.term[1]   = (Term){r == 1 ? -1 : 1, param, pair, kind->row[r]};
    row.term[0].m = (Measure){ALONG, 0, kind->row[r].j, 0};
  }
  if (k == CP_JOINT_ROLLING_DISC && r == 0) { /* Height of the centre: z_a . d - radius sin = 0. */
    row.nterms  = 2;
    row.offset  = NONE;
    row.term[1] = (Term){-1, param, pair, {SINE, 0, Z, Z}};
  } else if (k == CP_JOINT_ROLLING_DISC) {
    row.term[0].m    = (Measure){ALONG, 0, kind->row[r].i, 0};
    row.term[1].coef = 1;
  }
  if (on != CP_ON_PLANE && r == 0) {
    row.term[0].m = (Measure){LEVEL, 0, 0, 0};
    if (on == CP_ON_SPHERE) row.offset = NONE;
  } else if (on != CP_ON_PLANE) { /* velocity along one tangent, rotation about the other one */
    row.term[0].m = (Measure){GLIDE, 0, r - 1, 0};
    row.term[1].m = (Measure){TWIST, 0, 2 - r, 0};
  }
  return row;
}

/* Adds a joint, or the rows of a contact, with room for `params` parameters under its name, its
 * length among them. Returns its index or an error code that has been reported. */
static int addJoint(CPBodies b, const CPJoint *joint, int params, const CPBodyContact *contact,
                    const char *function) {
  int flag = checkName(b, function, joint->name, params);
  if (flag) return flag;
  const CPJointKind k = joint->kind;
  const char *name    = joint->name;
  if (!bodiesKindName((int)k))
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%s: kind must be one of CPJointKind's, and is %d", name, (int)k);
  const Kind *kind = &kinds[b->space.dimension == 3][k];
  if (kind->nrows == 0)
    return cpReport(&b->log, CP_NOT_SUPPORTED, function,
                    "%s: there is no joint \"%s\" in the plane", name, bodiesKindName((int)k));
  Pair pair = {0};
  if ((flag = findBodies(b, function, name, joint->a, joint->b, &pair))) return flag;

  const int in_plane =
      k == CP_JOINT_PRISMATIC || k == CP_JOINT_POINT_ON_LINE || k == CP_JOINT_ROLLING;
  const CPContactOn on = contact ? contact->on : CP_ON_PLANE;
  CPMarker on_a = joint->on_a, on_b = joint->on_b;
  if (on == CP_ON_SPHERE && length3(on_a.axis) == 0) on_a.axis[1] = 1;
  if ((flag = completeMarkers(b, joint, in_plane, &on_a, &on_b, function))) return flag;
  if ((flag = makePair(b, function, name, joint->in, in_plane, &on_a, &on_b, &pair))) return flag;
  sunrealtype length = joint->length;
  if (k == CP_JOINT_ROD && length == 0) length = distance(b, &pair);
  const int has_length = k == CP_JOINT_ROD || k == CP_JOINT_ROLLING || k == CP_JOINT_ROLLING_DISC;
  const int is_point   = contact && k == CP_JOINT_ROLLING; /* a ball of radius 0 is a point */
  if (has_length && (!(is_point ? length >= 0 : length > 0) || !isfinite(length)))
    return cpReport(&b->log, CP_ILL_INPUT, function, "%s: %s must be %s, and is %g", name,
                    k == CP_JOINT_ROD ? "length" : "radius",
                    is_point ? "finite and not negative" : "positive", (double)length);
  if (k == CP_JOINT_ROLLING_DISC && !stands(b, &pair))
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%s: the axis of the disc must not be along the plane's normal", name);
  if (on == CP_ON_SURFACE) {
    pair.surface = (Surface){contact->surface, contact->data, {NONE, NONE}};
    if ((flag = checkSurface(b, function, name, &pair, length))) return flag;
  }
  if (ROOM(b->pair, b->npairs, 1) || ROOM(b->joint, b->njoints, 1) ||
      ROOM(b->row, b->nrows, MAX_ROWS) || ROOM(b->roll, b->nrolls, 2))
    return noMemory(b, function, name);

  const int i = b->njoints++, text = takeName(b, name, NAME_JOINT, i);
  const int param = has_length ? takeParam(b, text, "length", length) : NONE;
  if (on == CP_ON_SPHERE)
    pair.surface.radius[0] = takeParam(b, text, "radius_a", contact->radius_a),
    pair.surface.radius[1] = param;
  b->pair[b->npairs] = pair;
  b->joint[i]        = (Joint){
             text, (int)k, b->npairs, b->nrows, kind->nforced, b->nrolls, kind->nrows - kind->nforced, 0};
  for (int r = 0; r < kind->nrows; r++) {
    const Row row = makeRow(kind, k, on, r, b->npairs, param);
    if (r < kind->nforced) b->row[b->nrows++] = row;
    else b->roll[b->nrolls++] = row;
  }
  b->npairs++;
  return i;
}

int CPBodiesAddJoint(CPBodies b, const CPJoint *joint) {
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "joint", joint != NULL)) return CP_ILL_INPUT;
  return addJoint(b, joint, 1, NULL, __func__);
}

/* What the balls or edges of a contact are: their number, and the kind of joint whose rows each of
 * them has. */
static const struct {
  const char *name;
  int count[2]; /* in the plane, in space; 0: not available */
  CPJointKind kind;
} touches[NUM_TOUCH] = {{"ball", {1, 1}, CP_JOINT_ROLLING},
                        {"disc", {0, 1}, CP_JOINT_ROLLING_DISC},
                        {"cylinder", {0, 2}, CP_JOINT_ROLLING_DISC},
                        {"box", {4, 8}, CP_JOINT_ROLLING}};

const char *bodiesTouchName(int touch) {
  return touch >= 0 && touch < NUM_TOUCH ? touches[touch].name : NULL;
}

/* Checks the shapes and constants of a contact. Returns 0 or an error code that has been reported. */
static int checkContact(CPBodies b, const CPBodyContact *c, const char *function) {
  const char *name     = c->name ? c->name : "";
  const sunrealtype mu = c->friction, mu_s = c->sticking, e = c->restitution;
  const int planar = b->space.dimension == 2, touch = (int)c->touch, on = (int)c->on;
  if (!(mu >= 0) || !isfinite(mu) || !(mu_s >= 0) || !isfinite(mu_s))
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%.100s: friction and sticking must be finite and not negative, and are %g "
                    "and %g",
                    name, (double)mu, (double)mu_s);
  if (!(e >= 0 && e <= 1))
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%.100s: restitution must be from 0 to 1, and is %g", name, (double)e);
  if (!bodiesTouchName(touch) || on < 0 || on >= NUM_ON)
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%.100s: on and touch must be of CPContactOn and CPContactTouch, and are %d "
                    "and %d",
                    name, on, touch);
  if (touches[touch].count[!planar] == 0)
    return cpReport(&b->log, CP_NOT_SUPPORTED, function,
                    "%.100s: there is no %s in the plane, where a ball is a disc", name,
                    touches[touch].name);
  if (touches[touch].kind == CP_JOINT_ROLLING_DISC && on != CP_ON_PLANE)
    return cpReport(&b->log, CP_NOT_SUPPORTED, function,
                    "%.100s: the edge of a %s touches planes only", name, touches[touch].name);
  if (!c->surface != (on != CP_ON_SURFACE))
    return cpReport(
        &b->log, CP_ILL_INPUT, function,
        "%.100s: CP_ON_SURFACE needs the function `surface`, and other kinds must have none", name);
  const sunrealtype rho = c->radius_a + c->radius;
  if (on == CP_ON_SPHERE && (!isfinite(rho) || rho == 0 || (c->radius_a < 0 && rho > 0)))
    return cpReport(&b->log, CP_ILL_INPUT, function,
                    "%.100s: radius_a + radius must not be 0, nor positive with a hollow sphere "
                    "(radius_a < 0); they are %g and %g",
                    name, (double)c->radius_a, (double)c->radius);
  for (int k = touch == CP_TOUCH_BOX ? 0 : 2; k < b->space.dimension && touch > CP_TOUCH_DISC; k++)
    if (!(c->size[k] > 0) || !isfinite(c->size[k]))
      return cpReport(&b->log, CP_ILL_INPUT, function,
                      "%.100s: all sizes must be positive, and one is %g", name, (double)c->size[k]);
  return CP_SUCCESS;
}

int CPBodiesAddContact(CPBodies b, const CPBodyContact *contact) {
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "contact", contact != NULL)) return CP_ILL_INPUT;
  int flag = checkContact(b, contact, __func__);
  if (flag) return flag;
  const int n                   = touches[contact->touch].count[b->space.dimension == 3];
  const struct CPBodies_ before = *b;
  char name[128]; /* Names longer than 100 characters are refused, so this is long enough. */
  CPJoint rows = {.name   = contact->name,
                  .kind   = touches[contact->touch].kind,
                  .a      = contact->a,
                  .b      = contact->b,
                  .in     = contact->in,
                  .on_a   = contact->on_a,
                  .on_b   = contact->on_b,
                  .length = contact->radius};
  sunrealtype axis[3][3];
  const char *wrong = n > 1 ? makeAxes(b->space.dimension, 0, &contact->on_b, axis) : NULL;
  if (wrong)
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "%.100s: %s (body b)",
                    contact->name ? contact->name : "", wrong);
  for (int k = 0; k < n && flag >= 0; k++) {
    if (n > 1) { /* The bits of k select the corner; for the two ends, the only bit does. */
      snprintf(name, sizeof name, "%.110s_%d", contact->name ? contact->name : "", k + 1);
      rows.name = contact->name && *contact->name ? name : NULL;
      rows.on_b = contact->on_b;
      for (int i = n == 2 ? 2 : 0, bit = k; i < b->space.dimension; i++, bit >>= 1)
        add3((bit & 1 ? 1 : -1) * contact->size[i] / 2, axis[i], rows.on_b.point);
      if (n > 2) memcpy(rows.on_b.axis, axis[b->space.dimension == 3 ? 2 : 0], sizeof *axis);
    }
    const int radius = b->nparams; /* index of the joint's first parameter */
    flag             = ROOM(b->contact, b->ncontacts, 1) ? noMemory(b, __func__, rows.name)
                                                         : addJoint(b, &rows, 5, contact, __func__);
    if (flag < 0) break;
    const int text           = b->joint[flag].name;
    b->contact[b->ncontacts] = (Contact){flag, radius, b->nparams, contact->poisson, contact->on};
    takeParam(b, text, "friction", contact->friction);
    takeParam(b, text, "sticking", contact->sticking);
    takeParam(b, text, "restitution", contact->restitution);
    b->ncontacts++;
  }
  if (flag >= 0) return before.ncontacts;
  /* Frees the names of the parts before the one that failed. */
  for (int i = 0; i < b->capacity; i++)
    if (b->entry[i].kind > 0 && b->entry[i].name >= before.ntext) b->entry[i].kind = -1;
  b->ntext = before.ntext, b->njoints = before.njoints, b->nrows = before.nrows;
  b->nrolls = before.nrolls, b->npairs = before.npairs, b->nparams = before.nparams;
  b->ncontacts = before.ncontacts;
  return flag;
}

int bodiesCoordinateTerm(const struct CPBodies_ *b, int joint, int k, Term *term) {
  const Joint *j = &b->joint[joint];
  if (j->kind == NONE) return 1;
  const Kind *kind = &kinds[b->space.dimension == 3][j->kind];
  if (k < 0 || k >= kind->ncoordinates) return 1;
  *term      = kind->coordinate[k];
  term->pair = j->pair;
  return 0;
}

/* term: out, the term of a coordinate given by name. Returns the joint's index, or an error code
 * that has been reported. */
static int findCoordinate(CPBodies b, const char *function, const char *name, CPCoordinate of,
                          Term *term) {
  const int j = of.joint ? bodiesFind(b, NAME_JOINT, of.joint, strlen(of.joint)) : -1;
  if (j < 0)
    return cpReport(&b->log, CP_ILL_INPUT, function, "%s: there is no joint \"%.100s\"", name,
                    of.joint ? of.joint : "");
  if (bodiesCoordinateTerm(b, j, of.k, term))
    return cpReport(&b->log, CP_ILL_INPUT, function, "%s: joint \"%s\" has no coordinate %d", name,
                    of.joint, of.k);
  return j;
}

/* Adds a row of one or two coordinates as a joint of its own, for couplers and drives. */
static void takeRow(CPBodies b, int text, const Row *row) {
  b->joint[b->njoints++] = (Joint){text, NONE, row->term[0].pair, b->nrows, 1, b->nrolls, 0, 0};
  b->row[b->nrows++]     = *row;
}

int CPBodiesAddCoupler(CPBodies b, const CPCoupler *coupler) {
  static const char *const fields[] = {"ratio_1", "ratio_2"};
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "coupler", coupler != NULL)) return CP_ILL_INPUT;
  const char *name = coupler->name;
  int flag = checkName(b, __func__, name, 3), angles = 0, whole = 1, same = 0;
  if (flag) return flag;
  CHECK_FINITE(b, name, "offset", &coupler->offset, 1);
  Row row = {.nterms = 2, .drive = NONE};
  for (int k = 0; k < 2; k++) {
    const sunrealtype ratio = coupler->ratio[k];
    const int joint         = flag;
    if ((flag = findCoordinate(b, __func__, name, coupler->of[k], &row.term[k])) < 0) return flag;
    /* flag is the joint of the second coordinate */
    same = flag == joint && coupler->of[0].k == coupler->of[1].k;
    if (ratio == 0 || !isfinite(ratio))
      return cpReport(&b->log, CP_ILL_INPUT, __func__, "%s: ratios must not be 0, and one is %g",
                      name, (double)ratio);
    angles += row.term[k].m.kind == ANGLE;
    whole = whole && ratio == floor(ratio);
  }
  row.wraps = angles > 0 && b->space.dimension == 3;
  if (row.wraps && angles == 2 && !whole)
    return cpReport(&b->log, CP_ILL_INPUT, __func__,
                    "%s: ratios of angles must be whole numbers (of teeth), and are %g and %g",
                    name, (double)coupler->ratio[0], (double)coupler->ratio[1]);
  if (same)
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "%s: the two coordinates must differ", name);
  if (ROOM(b->joint, b->njoints, 1) || ROOM(b->row, b->nrows, 1))
    return noMemory(b, __func__, name);
  const int text = takeName(b, name, NAME_JOINT, b->njoints), i = b->njoints;
  row.offset = takeParam(b, text, "offset", coupler->offset);
  for (int k = 0; k < 2; k++) row.term[k].ratio = takeParam(b, text, fields[k], coupler->ratio[k]);
  takeRow(b, text, &row);
  return i;
}

int CPBodiesAddDrive(CPBodies b, const CPDrive *drive) {
  static const char *const fields[] = {"start", "rate", "amplitude", "frequency"};
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "drive", drive != NULL)) return CP_ILL_INPUT;
  const char *name           = drive->name;
  const sunrealtype values[] = {drive->start, drive->rate, drive->amplitude, drive->frequency};
  int flag                   = checkName(b, __func__, name, 4);
  if (flag) return flag;
  CHECK_FINITE(b, name, "start, rate, amplitude, frequency", values, 4);
  Row row = {.nterms = 1, .offset = NONE, .drive = b->ndrives};
  if ((flag = findCoordinate(b, __func__, name, drive->of, &row.term[0])) < 0) return flag;
  row.wraps = row.term[0].m.kind == ANGLE;
  if (ROOM(b->joint, b->njoints, 1) || ROOM(b->row, b->nrows, 1) || ROOM(b->drive, b->ndrives, 1))
    return noMemory(b, __func__, name);
  const int text = takeName(b, name, NAME_JOINT, b->njoints), i = b->njoints;
  b->drive[b->ndrives++] = (Drive){drive->g, drive->data, b->nparams};
  for (int k = 0; k < 4; k++) takeParam(b, text, fields[k], values[k]);
  takeRow(b, text, &row);
  return i;
}

/* --------------------------------------------------------------------------------- forces -- */

int CPBodiesAddSpring(CPBodies b, const CPSpring *spring) {
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "spring", spring != NULL)) return CP_ILL_INPUT;
  const char *name = spring->name;
  int flag         = checkName(b, __func__, name, 5);
  if (flag) return flag;
  CHECK_FINITE(b, name, "stiffness", &spring->stiffness, 1);
  CHECK_FINITE(b, name, "damping", &spring->damping, 1);
  CHECK_FINITE(b, name, "force", &spring->force, 1);
  if ((flag = checkSign(b, __func__, name, "inertance", spring->inertance, 0))) return flag;
  Pair pair         = {0};
  Term term         = {1, NONE, b->npairs, {LENGTH, 0, 0, 0}};
  sunrealtype x     = spring->free;
  const int between = !spring->of.joint;
  if (between) {
    CPMarker ends[2] = {{.axis = {0, 0, 1}}, {.axis = {0, 0, 1}}};
    memcpy(ends[0].point, spring->point_a, sizeof ends[0].point);
    memcpy(ends[1].point, spring->point_b, sizeof ends[1].point);
    if ((flag = findBodies(b, __func__, name, spring->a, spring->b, &pair))) return flag;
    if ((flag = makePair(b, __func__, name, spring->in, 0, &ends[0], &ends[1], &pair))) return flag;
    const sunrealtype now = distance(b, &pair);
    if (!(now > 0))
      return cpReport(&b->log, CP_ILL_INPUT, __func__, "%s: the points must not meet", name);
    if (isnan(x)) x = now;
  } else if ((flag = findCoordinate(b, __func__, name, spring->of, &term)) < 0) {
    return flag;
  }
  CHECK_FINITE(b, name, "free", &x, 1);
  if (ROOM(b->pair, b->npairs, 1) || ROOM(b->law, b->nlaws, 1) || ROOM(b->length, b->nlengths, 1))
    return noMemory(b, __func__, name);
  if (between) b->pair[b->npairs++] = pair, b->length[b->nlengths++] = b->nlaws;
  const int i = b->nlaws++, text = takeName(b, name, NAME_OTHER, i);
  b->law[i] =
      (Law){SPRING, term, b->nparams, b->nparams + 3, NONE, NONE, spring->law, spring->data};
  takeParam(b, text, "stiffness", spring->stiffness);
  takeParam(b, text, "damping", spring->damping);
  takeParam(b, text, "free", x);
  takeParam(b, text, "force", spring->force);
  if (spring->inertance == 0) return i;
  b->law[i].inertance = takeParam(b, text, "inertance", spring->inertance);
  b->ninertances++;
  return i;
}

int CPBodiesAddBushing(CPBodies b, const CPBushing *bushing) {
  static const char *const fields[6][3] = {{"kx", "dx", "x0"},    {"ky", "dy", "y0"},
                                           {"kz", "dz", "z0"},    {"kxx", "dxx", "xx0"},
                                           {"kyy", "dyy", "yy0"}, {"kzz", "dzz", "zz0"}};
  static const Measure measures[6]      = {ALONG_(X),  ALONG_(Y),  ALONG_(Z),
                                           DOT_(Z, Y), DOT_(X, Z), DOT_(Y, X)};
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "bushing", bushing != NULL)) return CP_ILL_INPUT;
  const char *name = bushing->name;
  int flag         = checkName(b, __func__, name, 19);
  if (flag) return flag;
  Pair pair = {0};
  CHECK_FINITE(b, name, "stiffness", bushing->stiffness, 3);
  CHECK_FINITE(b, name, "damping", bushing->damping, 3);
  CHECK_FINITE(b, name, "turn_stiffness", bushing->turn_stiffness, 3);
  CHECK_FINITE(b, name, "turn_damping", bushing->turn_damping, 3);
  CHECK_FINITE(b, name, "drag", &bushing->drag, 1);
  if (b->space.dimension == 2 && bushing->drag != 0)
    return cpReport(&b->log, CP_NOT_SUPPORTED, __func__, "%s: there is no drag in the plane", name);
  if ((flag = findBodies(b, __func__, name, bushing->a, bushing->b, &pair))) return flag;
  const CPMarker *on_b = bushing->in == CP_IN_SPACE ? &bushing->on_a : &bushing->on_b;
  if ((flag = makePair(b, __func__, name, bushing->in, 0, &bushing->on_a, on_b, &pair)))
    return flag;
  if (ROOM(b->pair, b->npairs, 1) || ROOM(b->law, b->nlaws, 9)) return noMemory(b, __func__, name);
  const int first = b->nlaws, text = takeName(b, name, NAME_OTHER, first);
  b->pair[b->npairs] = pair;
  for (int k = 0; k < 6; k++) {
    const int planar = b->space.dimension == 2;
    if (planar && k >= 2 && k != 5) continue;
    const sunrealtype stiffness = k < 3 ? bushing->stiffness[k] : bushing->turn_stiffness[k - 3],
                      damping   = k < 3 ? bushing->damping[k] : bushing->turn_damping[k - 3];
    const Measure m             = planar && k == 5 ? (Measure)ANGLE_ : measures[k];
    b->law[b->nlaws++] =
        (Law){SPRING, {1, NONE, b->npairs, m}, b->nparams, NONE, NONE, NONE, NULL, NULL};
    takeParam(b, text, fields[k][0], stiffness);
    takeParam(b, text, fields[k][1], damping);
    takeParam(b, text, fields[k][2], 0);
  }
  const int drag = bushing->drag != 0 ? takeParam(b, text, "drag", bushing->drag) : NONE;
  for (int k = 0; k < 3 && drag != NONE; k++)
    b->law[b->nlaws++] =
        (Law){DRAG, {1, NONE, b->npairs, {SPIN, 0, k, 0}}, drag, NONE, NONE, NONE, NULL, NULL};
  b->npairs++;
  return first;
}

int CPBodiesAddForce(CPBodies b, const CPForce *force) {
  static const char *const fields[] = {"force_x", "force_y", "force_z"};
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "force", force != NULL)) return CP_ILL_INPUT;
  const char *name = force->name;
  int flag         = checkName(b, __func__, name, 3);
  if (flag) return flag;
  CHECK_FINITE(b, name, "force", force->force, 3);
  if (force->fn && force->follows)
    return cpReport(&b->log, CP_NOT_SUPPORTED, __func__,
                    "%s: a force with a function must not follow the body", name);
  if (b->space.dimension == 2 && force->force[2] != 0)
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "%s: force must lie in the plane", name);
  Pair pair             = {0};
  const CPMarker origin = {.axis = {0, 0, 1}};
  CPMarker at           = origin;
  memcpy(at.point, force->point, sizeof at.point);
  if ((flag = findBodies(b, __func__, name, NULL, force->body, &pair))) return flag;
  if ((flag = makePair(b, __func__, name, force->in, 0, &origin, &at, &pair))) return flag;
  if (ROOM(b->pair, b->npairs, 1) || ROOM(b->force, b->nforces, 1))
    return noMemory(b, __func__, name);
  const int i = b->nforces++, text = takeName(b, name, NAME_OTHER, i);
  b->force[i] = (PointForce){b->npairs, b->nparams, force->follows, force->fn, force->data};
  for (int k = 0; k < 3; k++) takeParam(b, text, fields[k], force->force[k]);
  b->pair[b->npairs++] = pair;
  return i;
}

int CPBodiesAddFriction(CPBodies b, const CPFriction *friction) {
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "friction", friction != NULL)) return CP_ILL_INPUT;
  const char *name = friction->name;
  int flag         = checkName(b, __func__, name, 2);
  if (flag) return flag;
  Term term;
  if ((flag = findCoordinate(b, __func__, name, friction->of, &term)) < 0) return flag;
  const int joint = flag;
  if ((flag = checkSign(b, __func__, name, "factor", friction->factor, 0))) return flag;
  if ((flag = checkSign(b, __func__, name, "speed", friction->speed, 1))) return flag;
  if (ROOM(b->law, b->nlaws, 1)) return noMemory(b, __func__, name);
  const int i = b->nlaws++, text = takeName(b, name, NAME_OTHER, i);
  b->law[i] = (Law){FRICTION, term, b->nparams, NONE, joint, NONE, NULL, NULL};
  takeParam(b, text, "factor", friction->factor);
  takeParam(b, text, "speed", friction->speed);
  b->nfrictions++;
  return i;
}

int CPBodiesAddShape(CPBodies b, const CPShape *shape) {
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(b, __func__, "shape", shape != NULL)) return CP_ILL_INPUT;
  const char *name = shape->name;
  int flag         = checkName(b, __func__, name, 0);
  if (flag) return flag;
  if ((int)shape->kind < 0 || (int)shape->kind >= NUM_SHAPES)
    return cpReport(&b->log, CP_ILL_INPUT, __func__,
                    "%s: kind must be one of CPShapeKind's, and is %d", name, (int)shape->kind);
  const CPShapeKind kind  = shape->kind;
  const sunrealtype *size = shape->size;
  const int round = kind != CP_SHAPE_BOX, planar = b->space.dimension == 2;
  const sunrealtype half[3] = {round ? size[0] : size[0] / 2, round ? size[0] : size[1] / 2,
                               planar                    ? 0
                               : kind == CP_SHAPE_SPHERE ? size[0]
                                                         : size[2] / 2};
  for (int k = 0; k < b->space.dimension; k++)
    if (!(half[k] > 0) || !isfinite(half[k]))
      return cpReport(&b->log, CP_ILL_INPUT, __func__,
                      "%s: all sizes must be positive, and one is %g", name,
                      (double)(round && k < 2 ? size[0] : size[k]));
  Pair pair             = {0};
  const CPMarker origin = {.axis = {0, 0, 1}};
  if (shape->body && !strcmp(shape->body, "ground")) pair.side[0].body = pair.side[1].body = GROUND;
  else if ((flag = findBodies(b, __func__, name, NULL, shape->body, &pair))) return flag;
  if ((flag = makePair(b, __func__, name, shape->in, 0, &origin, &shape->on, &pair))) return flag;
  if (ROOM(b->pair, b->npairs, 1) || ROOM(b->shape, b->nshapes, 1))
    return noMemory(b, __func__, name);
  const int i = b->nshapes++;
  takeName(b, name, NAME_OTHER, i);
  b->shape[i]          = (Shape){kind, b->npairs, {half[0], half[1], half[2]}};
  b->pair[b->npairs++] = pair;
  return i;
}
