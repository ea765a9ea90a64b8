/* Frames of SDF (http://sdformat.org/tutorials?tut=pose_frame_semantics). Links, joints, frames and models have a pose relative
 * to a frame of the same scope, which is that of the model unless it is named: to that of the child for joints, and to the frame to
 * which it is attached for frames. Each frame is attached to a link, or to the world. Before version 1.7 the frame of a pose
 * was named by "frame". */
#include "sdf_impl.h"

#include <stdio.h>
#include <string.h>

/* Names are followed from one to the next by recursion. As elements, they may be nested that deep. */
enum { MOST_FOLLOWED = 1000 };

static const Place origin = {{0, 0, 0, 1, 0, 0, 0}, GROUND};

/* c = a b, of poses */
static void follow(const Place *a, const Place *b, Place *c) { robotPlace(a, b->q, b->q + 3, c); }

static void invert(const Place *a, Place *inverse) {
  Pose pose;
  sunrealtype back[3];
  robotPose(a, &pose);
  toBody(&pose, pose.r, back);
  for (int k = 0; k < 3; k++) {
    inverse->q[k]     = -back[k];
    inverse->q[4 + k] = -a->q[4 + k];
  }
  inverse->q[3] = a->q[3];
  inverse->link = a->link;
}

/* ------------------------------------------------------------------------------------- names -- */

static void keyOf(int scope, char *key) { snprintf(key, 20, "%d", scope); }

static int add(Sdf *s, xmlNode *n, SdfKind kind, int scope) {
  const char *name = kind == SDF_WORLD ? "" : robotText(n, "name");
  char key[20];
  if (!name || (!*name && kind != SDF_WORLD)) return robotWrong(s->r, n, "name must be given");
  if (ROOM(s->thing, s->nthings, 1)) return robotWrong(s->r, n, "no memory");
  s->thing[s->nthings] = (SdfThing){.node  = n,
                                    .kind  = kind,
                                    .name  = name,
                                    .scope = scope,
                                    .joint = {NONE, NONE},
                                    .side  = {GROUND, GROUND}};
  SdfThing *t          = &s->thing[s->nthings];
  keyOf(scope, key);
  t->is_static = scope != NONE && s->thing[scope].is_static;
  if (kind == SDF_MODEL) t->is_static = t->is_static || sdfIsTrue(sdfChildText(n, "static"));
  const void *found = xmlHashLookup2(s->names, BAD_CAST key, BAD_CAST name);
  if (found && s->thing[(intptr_t)found - 1].kind == kind)
    return robotWrong(s->r, n, "there is a %s of this name already", (const char *)n->name);
  s->nthings++;
  /* Before version 1.7 names of links and joints might be equal. */
  if (found && kind != SDF_LINK && kind != SDF_MODEL) return 0;
  return xmlHashUpdateEntry2(s->names, BAD_CAST key, BAD_CAST name, (void *)(intptr_t)s->nthings,
                             NULL)
             ? robotWrong(s->r, n, "no memory")
             : 0;
}

int sdfGather(Sdf *s, xmlNode *n, int scope) {
  static const struct {
    const char *tag;
    SdfKind kind;
  } tags[] = {{"link", SDF_LINK}, {"joint", SDF_JOINT}, {"frame", SDF_FRAME}, {"model", SDF_MODEL}};
  for (xmlNode *c = n->children; c; c = c->next)
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
      if (!robotIs(c, tags[i].tag) || (scope == NONE && tags[i].kind != SDF_MODEL)) continue;
      if (add(s, c, tags[i].kind, scope)) return 1;
      if (tags[i].kind == SDF_MODEL && sdfGather(s, c, s->nthings - 1)) return 1;
    }
  return 0;
}

/* The thing of a name of `length` characters, or NONE */
static int lookUp(Sdf *s, int scope, const char *name, size_t length) {
  char key[20], part[500];
  keyOf(scope, key);
  if (length >= sizeof part) return NONE;
  memcpy(part, name, length);
  part[length]      = '\0';
  const void *found = xmlHashLookup2(s->names, BAD_CAST key, BAD_CAST part);
  return found ? (int)(intptr_t)found - 1 : NONE;
}

/* The thing of a name, or NONE. A name may itself contain "::" before version 1.8. */
static int seek(Sdf *s, int scope, const char *name) {
  while (1) {
    const int whole = lookUp(s, scope, name, strlen(name));
    const char *end = strstr(name, "::");
    if (whole != NONE || !end) return whole;
    scope = lookUp(s, scope, name, (size_t)(end - name));
    if (scope == NONE || s->thing[scope].kind != SDF_MODEL) return NONE;
    name = end + 2;
  }
}

int sdfFind(Sdf *s, int scope, const xmlNode *at, const char *name) {
  const int i = name ? seek(s, scope, name) : NONE;
  if (i == NONE) return robotWrong(s->r, at, "there is no \"%.100s\"", name ? name : ""), -1;
  return i;
}

static int noFrame(Sdf *s, const xmlNode *at, const char *name) {
  if (!s->missing) return robotWrong(s->r, at, "there is no frame \"%.100s\"", name);
  return robotWrong(s->r, at,
                    "there is no frame \"%.100s\"; the model %.100s has not been found: --param "
                    "models=FOLDER names a folder with models",
                    name, s->missing);
}

static int tooDeep(Sdf *s, const xmlNode *at) {
  return s->depth > MOST_FOLLOWED
             ? robotWrong(s->r, at, "frames follow each other over more than %d", MOST_FOLLOWED)
             : 0;
}

/* ------------------------------------------------------------------------------------- poses -- */

int sdfRaw(Sdf *s, const xmlNode *n, Place *place) {
  xmlNode *pose        = robotChild(n, "pose");
  const char *text     = pose ? sdfText(pose) : "",
             *format   = pose ? robotText(pose, "rotation_format") : NULL;
  const int quaternion = format && !strcmp(format, "quat_xyzw");
  sunrealtype x[7] = {0}, e[4], size = 0;
  *place = origin;
  if (!*text) return 0;
  if (format && !quaternion && strcmp(format, "euler_rpy"))
    return robotWrong(s->r, pose, "there is no rotation_format \"%.60s\"", format);
  if (robotNumbers(s->r, pose, "pose", text, quaternion ? 7 : 6, quaternion ? 7 : 6, x, NULL))
    return 1;
  if (quaternion) {
    for (int k = 3; k < 7; k++) size += x[k] * x[k];
    if (!(size > 0)) return robotWrong(s->r, pose, "the quaternion must not be zero");
    e[0] = x[6];
    memcpy(e + 1, x + 3, 3 * sizeof *e);
  } else {
    const sunrealtype unit = sdfIsTrue(robotText(pose, "degrees")) ? acos(-1.0) / 180 : 1;
    for (int k = 3; k < 6; k++) x[k] *= unit;
    robotAngles(x + 3, 1, e);
  }
  robotPlace(&origin, x, e, place);
  return 0;
}

static int resolve(Sdf *s, int i);

/* Index of a thing, where MODEL::__model__ is the frame of the model, or NONE */
static int seekModel(Sdf *s, int scope, const char *name) {
  static const char own[] = "::__model__";
  const int i             = seek(s, scope, name);
  const size_t length     = strlen(name);
  char model[500];
  if (i != NONE || length < sizeof own || strcmp(name + length - (sizeof own - 1), own)) return i;
  snprintf(model, sizeof model, "%.*s", (int)(length - (sizeof own - 1)), name);
  return seek(s, scope, model);
}

/* pose: out, that of a named frame relative to the scope in which it is named */
static int named(Sdf *s, int scope, const xmlNode *at, const char *name, Place *pose) {
  Place part;
  *pose = origin;
  if (!strcmp(name, "__model__") || !strcmp(name, "__root__")) return 0;
  int i = seekModel(s, scope, name);
  if (i == NONE && !strcmp(name, "world")) {
    if (scope == s->top) return 0;
    if (sdfPlace(s, scope, &part)) return 1;
    invert(&part, pose);
    return 0;
  }
  if (i == NONE) return noFrame(s, at, name);
  if (tooDeep(s, at)) return 1;
  s->depth++;
  int failed = 0;
  for (; i != scope && i != NONE && !failed; i = s->thing[i].scope) {
    failed = resolve(s, i);
    if (!failed) follow(&s->thing[i].pose, pose, pose);
  }
  s->depth--;
  return failed;
}

static int resolve(Sdf *s, int i) {
  SdfThing *t = &s->thing[i];
  Place raw, base = origin, placed, inverse;
  if (t->state == POSE_KNOWN) return 0;
  if (t->state == POSE_SOUGHT)
    return robotWrong(s->r, t->node, "its pose is relative to itself, by way of other frames");
  t->state            = POSE_SOUGHT;
  const xmlNode *pose = robotChild(t->node, "pose");
  const char *to = pose ? robotText(pose, "relative_to") : NULL, *placement = NULL;
  if (pose && (!to || !*to)) to = robotText(pose, "frame");
  if (!to || !*to) {
    to = NULL;
    if (t->kind == SDF_JOINT) to = sdfChildText(t->node, "child");
    if (t->kind == SDF_FRAME) to = robotText(t->node, "attached_to");
    if (to && (!*to || !strcmp(to, "world"))) to = NULL;
  }
  if (sdfRaw(s, t->node, &raw) || (to && named(s, t->scope, t->node, to, &base))) return 1;
  if (t->kind == SDF_MODEL) placement = robotText(t->node, "placement_frame");
  if (placement && *placement) {
    if (named(s, i, t->node, placement, &placed)) return 1;
    invert(&placed, &inverse);
    follow(&raw, &inverse, &raw);
  }
  follow(&base, &raw, &t->pose);
  t->state = POSE_KNOWN;
  return 0;
}

int sdfPlace(Sdf *s, int i, Place *place) {
  Place whole = origin;
  if (tooDeep(s, s->thing[i].node)) return 1;
  s->depth++;
  int failed = 0;
  for (; i != NONE && s->thing[i].kind != SDF_WORLD && !failed; i = s->thing[i].scope) {
    failed = resolve(s, i);
    if (!failed) follow(&s->thing[i].pose, &whole, &whole);
  }
  s->depth--;
  *place = whole;
  return failed;
}

int sdfNamedPlace(Sdf *s, int scope, const xmlNode *at, const char *name, Place *place) {
  Place in, base = origin;
  if (named(s, scope, at, name, &in) ||
      (scope != NONE && s->thing[scope].kind != SDF_WORLD && sdfPlace(s, scope, &base)))
    return 1;
  follow(&base, &in, place);
  return 0;
}

/* ---------------------------------------------------------------------------- attached links -- */

/* link: out, the link to which the frame of a model is attached: the one that it names, else its first one, or that of its first
 * model */
static int canonical(Sdf *s, int model, int *link) {
  const SdfThing *t = &s->thing[model];
  const char *name  = robotText(t->node, "canonical_link");
  if (name && *name) {
    if (tooDeep(s, t->node)) return 1;
    s->depth++;
    const int failed = sdfLinkOf(s, model, t->node, name, link);
    s->depth--;
    return failed;
  }
  for (int i = model + 1; i < s->nthings; i++)
    if (s->thing[i].kind == SDF_LINK && s->thing[i].scope == model) return *link = i, 0;
  for (int i = model + 1; i < s->nthings; i++)
    if (s->thing[i].kind == SDF_MODEL && s->thing[i].scope == model) return canonical(s, i, link);
  if (t->is_static) return *link = GROUND, 0;
  return robotWrong(s->r, t->node, "the model has no link");
}

int sdfLinkOf(Sdf *s, int scope, const xmlNode *at, const char *name, int *link) {
  if (!strcmp(name, "__model__") && scope != s->top) return canonical(s, scope, link);
  const int i = seekModel(s, scope, name);
  *link       = GROUND;
  if (i == NONE && !strcmp(name, "world")) return 0;
  if (i == NONE) return noFrame(s, at, name);
  const SdfThing *t = &s->thing[i];
  const char *to    = t->kind == SDF_JOINT   ? sdfChildText(t->node, "child")
                      : t->kind == SDF_FRAME ? robotText(t->node, "attached_to")
                                             : NULL;
  if (t->kind == SDF_LINK) return *link = i, 0;
  if (t->kind == SDF_MODEL) return canonical(s, i, link);
  if (!to || !*to) return t->scope == s->top ? 0 : canonical(s, t->scope, link);
  if (tooDeep(s, at)) return 1;
  s->depth++;
  const int failed = sdfLinkOf(s, t->scope, t->node, to, link);
  s->depth--;
  return failed;
}
