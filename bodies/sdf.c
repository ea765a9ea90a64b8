/* SDF (http://sdformat.org/spec), versions 1.4 to 1.12: links and the joints between them, in models. What joints fix to each
 * other is one body. The others are edges of a tree, in which each link hangs on the first one that leads to it, or close loops. A
 * link that nothing holds moves freely. */
#include "sdf_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Place space         = {{0, 0, 0, 1, 0, 0, 0}, GROUND};
static const sunrealtype none[3] = {0, 0, 0};

/* ----------------------------------------------------------------------------------- elements -- */

const char *sdfText(xmlNode *n) {
  for (xmlNode *c = n->children; c; c = c->next) {
    if ((c->type != XML_TEXT_NODE && c->type != XML_CDATA_SECTION_NODE) || !c->content) continue;
    char *text = (char *)c->content, *end = text + strlen(text);
    while (end > text && strchr(" \t\r\n", end[-1])) *--end = '\0';
    text += strspn(text, " \t\r\n");
    if (*text) return text;
  }
  return "";
}

const char *sdfChildText(const xmlNode *n, const char *tag) {
  xmlNode *c = robotChild(n, tag);
  return c ? sdfText(c) : NULL;
}

int sdfIsTrue(const char *text) {
  return text && (!strcmp(text, "1") || !strcmp(text, "true") || !strcmp(text, "True") ||
                  !strcmp(text, "TRUE"));
}

int sdfNumber(Sdf *s, const xmlNode *n, const char *tag, sunrealtype *x) {
  const xmlNode *c = robotChild(n, tag);
  const char *text = c ? sdfChildText(n, tag) : "", *digits = text + (*text == '-' || *text == '+');
  if (!*text) return 0;
  if (!strcmp(digits, "inf") || !strcmp(digits, "INF") || !strcmp(digits, "Inf")) {
    *x = *text == '-' ? -INFINITY : INFINITY;
    return 0;
  }
  return robotNumbers(s->r, c, tag, text, 1, 1, x, NULL);
}

/* The version of the file that an element comes from, 100 for 1.0, 112 for 1.12 */
static int versionOf(const xmlNode *n) {
  int major = 0, minor = 0;
  const char *text = NULL;
  for (; n && n->type == XML_ELEMENT_NODE && !text; n = n->parent)
    if (robotIs(n, "model") || robotIs(n, "sdf")) text = robotText(n, "version");
  return text && sscanf(text, "%3d.%3d", &major, &minor) > 0 ? 100 * major + minor : 0;
}

/* ----------------------------------------------------------------------------------- the tree -- */

/* The set in which a thing is; sets are joined where joints connect their links. Paths are halved (Tarjan). */
static int setOf(int *set, int i) {
  while (set[i] != i) i = set[i] = set[set[i]];
  return i;
}

int sdfIs(const SdfThing *t, const char *type) {
  const char *own = robotText(t->node, "type");
  return own && !strcmp(own, type);
}

/* The types of joints, and their freedoms in the order of the file */
static const struct {
  const char *name;
  JointType part[2];
  int count;
} types[] = {{"revolute", {HINGE}, 1},         {"continuous", {HINGE}, 1},
             {"prismatic", {SLIDE}, 1},        {"ball", {BALL}, 1},
             {"universal", {HINGE, HINGE}, 2}, {"revolute2", {HINGE, HINGE}, 2},
             {"screw", {SLIDE, HINGE}, 2},     {"fixed", {HINGE}, 0},
             {"gearbox", {HINGE}, 0},          {0}};

static int typeOf(const SdfThing *t) {
  int k = 0;
  while (types[k].name && !sdfIs(t, types[k].name)) k++;
  return k;
}

/* Finds the links that joints connect. */
static int findSides(Sdf *s) {
  static const char *const ends[] = {"parent", "child"};
  for (int i = 0; i < s->nthings; i++) {
    SdfThing *t      = &s->thing[i];
    const char *type = robotText(t->node, "type");
    if (t->kind != SDF_JOINT) continue;
    if (!types[typeOf(t)].name)
      return robotWrong(s->r, t->node, "there is no type \"%.60s\"", type ? type : "");
    for (int k = 0; k < 2; k++) {
      const char *name = sdfChildText(t->node, ends[k]);
      if (!name || !*name) return robotWrong(s->r, t->node, "%s must be given", ends[k]);
      if (sdfLinkOf(s, t->scope, t->node, name, &t->side[k])) return 1;
      if (t->side[k] != GROUND && s->thing[t->side[k]].is_static) t->side[k] = GROUND;
    }
    if (t->side[0] == t->side[1] && t->side[0] != GROUND)
      return robotWrong(s->r, t->node, "parent and child must be two links");
  }
  return 0;
}

/* Chooses the joints that are edges of the tree: fixed ones first, then in the order of the file. set [nthings + 1], where the last
 * one is that of the ground */
static void chooseEdges(Sdf *s, int *set) {
  for (int i = 0; i <= s->nthings; i++) set[i] = i;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < s->nthings; i++) {
      SdfThing *t = &s->thing[i];
      int of[2];
      if (t->kind != SDF_JOINT || sdfIs(t, "gearbox") || sdfIs(t, "fixed") != (pass == 0)) continue;
      for (int k = 0; k < 2; k++)
        of[k] = setOf(set, t->side[k] == GROUND ? s->nthings : t->side[k]);
      t->pair    = of[0] != of[1];
      set[of[0]] = of[1];
    }
}

/* ------------------------------------------------------------------------------------- joints -- */

int sdfAxis(Sdf *s, const SdfThing *t, const char *tag, sunrealtype *v) {
  const xmlNode *axis = robotChild(t->node, tag);
  xmlNode *xyz        = robotChild(axis, "xyz");
  sunrealtype own[3]  = {0, 0, 1};
  const int version   = versionOf(t->node);
  const char *in      = xyz ? robotText(xyz, "expressed_in") : NULL;
  Place place;
  Pose pose;
  if (xyz && *sdfText(xyz) && robotNumbers(s->r, xyz, "xyz", sdfText(xyz), 3, 3, own, NULL))
    return 1;
  if (axis && (!in || !*in) &&
      (version < 105 || (version < 107 && sdfIsTrue(sdfChildText(axis, "use_parent_model_frame")))))
    in = "__model__";
  if (in && *in ? sdfNamedPlace(s, t->scope, xyz ? xyz : t->node, in, &place)
                : sdfPlace(s, (int)(t - s->thing), &place))
    return 1;
  robotPose(&place, &pose);
  toSpace(&pose, own, v);
  return 0;
}

/* Reads damping, spring, friction and limits of an axis, if the file has it. Numbers from 1e16 on are no limits. */
static int readLaw(Sdf *s, const SdfThing *t, const char *tag, RobotJoint *j) {
  static const sunrealtype unlimited = 1e16;
  const xmlNode *axis = robotChild(t->node, tag), *dynamics = robotChild(axis, "dynamics"),
                *limit = robotChild(axis, "limit");
  j->range[0] = -INFINITY, j->range[1] = INFINITY;
  if (sdfNumber(s, dynamics, "damping", &j->damping) ||
      sdfNumber(s, dynamics, "friction", &j->friction) ||
      sdfNumber(s, dynamics, "spring_reference", &j->springref) ||
      sdfNumber(s, dynamics, "spring_stiffness", &j->stiffness) ||
      sdfNumber(s, limit, "lower", &j->range[0]) || sdfNumber(s, limit, "upper", &j->range[1]))
    return 1;
  if (!(j->damping >= 0) || !(j->stiffness >= 0) || !isfinite(j->damping + j->stiffness))
    return robotWrong(s->r, dynamics,
                      "damping and spring_stiffness must not be negative or infinite");
  for (int k = 0; k < 2; k++)
    if (fabs(j->range[k]) >= unlimited) j->range[k] = k ? INFINITY : -INFINITY;
  j->limited = !sdfIs(t, "continuous") && (isfinite(j->range[0]) || isfinite(j->range[1]));
  return 0;
}

/* The part of a joint with one axis. back: 1 if it leads from the child to the parent, so that its axis is the opposite one;
 * side: NULL in the row of the newest link, else the links of a loop. which: 0 or 1, what the joint keeps of it */
static int addPart(Sdf *s, SdfThing *t, JointType type, const char *tag, const char *name, int back,
                   const int *side, int which) {
  sunrealtype axis[3];
  Place at;
  if (sdfPlace(s, (int)(t - s->thing), &at) || sdfAxis(s, t, tag, axis)) return 1;
  for (int k = 0; k < 3 && back; k++) axis[k] = -axis[k];
  RobotJoint *j = side ? robotClosing(s->r, t->node, type, name, &space, at.q, axis, side)
                       : robotJoint(s->r, t->node, type, name, &space, at.q, axis);
  if (!j) return 1;
  t->joint[which] = s->r->njoints - 1;
  if (type == SLIDE && sdfIs(t, "screw")) return 0;
  if (type != BALL) return readLaw(s, t, tag, j);
  const xmlNode *a = robotChild(t->node, tag), *dynamics = robotChild(a, "dynamics");
  return sdfNumber(s, dynamics, "damping", &j->damping);
}

/* A name of a part of a joint, which the thing of the joint owns */
static const char *partName(Sdf *s, SdfThing *t, const char *suffix) {
  const size_t size = strlen(t->path) + 1;
  char *both        = realloc(t->path, 2 * size + strlen(suffix));
  if (!both) return robotWrong(s->r, t->node, "no memory"), NULL;
  t->path = both;
  memcpy(both + size, both, size);
  strcpy(both + 2 * size - 1, suffix);
  return both + size;
}

/* A joint as the last ones of the newest link, or as a loop. Of two freedoms, the first one moves a body without mass. */
static int addJoint(Sdf *s, SdfThing *t, int back, int closes) {
  const int k = typeOf(t), is_screw = sdfIs(t, "screw"), two = types[k].count == 2;
  int side[2] = {sdfOnLink(s, t->side[0]), sdfOnLink(s, t->side[1])};
  /* Both names live in one text, which moves as it grows. */
  const char *second = two ? partName(s, t, is_screw ? "_slide" : "_2") : NULL;
  if (two && !second) return 1;
  if (closes &&
      two) { /* The first freedom leads to a link without mass, the second one closes the loop. */
    Place at;
    if (sdfPlace(s, (int)(t - s->thing), &at)) return 1;
    at.link = side[0];
    if ((side[0] = robotLink(s->r, t->node, t->path, &at)) < 0) return 1;
  }
  for (int i = 0; i < types[k].count; i++) {
    const int part    = back ? types[k].count - 1 - i : i; /* of the file */
    const char *tag   = part && !is_screw ? "axis2" : "axis",
               *name  = part == is_screw ? t->path : second;
    const int as_loop = closes && i == types[k].count - 1;
    if (addPart(s, t, types[k].part[part], tag, name, back, as_loop ? side : NULL, part != is_screw))
      return 1;
  }
  return 0;
}

/* The links from which a link hangs, or the ground, and the joint between them */
typedef struct {
  int joint, next;
} Edge;

/* Reads a link that hangs by joint t on one that has been read, or by nothing if t is NULL. */
static int readLink(Sdf *s, int i, SdfThing *t) {
  SdfThing *link = &s->thing[i];
  Place place;
  if (sdfPlace(s, i, &place)) return 1;
  const int back = t && t->side[0] == i;
  place.link     = t ? sdfOnLink(s, t->side[back ? 1 : 0]) : GROUND;
  if (!t || !sdfIs(t, "fixed")) {
    if ((place.link = robotLink(s->r, link->node, link->path, &place)) < 0) return 1;
    if (t ? addJoint(s, t, back, 0) : !robotJoint(s->r, link->node, FREE, NULL, &place, none, none))
      return 1;
  }
  s->r->place[i] = place;
  return sdfMass(s, i);
}

/* Reads the links of a tree from a root on, where i = nthings is the ground. queue [nthings + 1] */
static int readTree(Sdf *s, int root, const int *first, const Edge *edge, int *queue, int *seen) {
  int end      = 0;
  queue[end++] = root;
  seen[root]   = 1;
  if (root != s->nthings && readLink(s, root, NULL)) return 1;
  for (int k = 0; k < end; k++)
    for (int e = first[queue[k]]; e != NONE; e = edge[e].next) {
      SdfThing *t = &s->thing[edge[e].joint];
      for (int side = 0; side < 2; side++) {
        const int to = t->side[side];
        if (to == GROUND || seen[to]) continue;
        seen[to]     = 1;
        queue[end++] = to;
        if (readLink(s, to, t)) return 1;
      }
    }
  return 0;
}

/* Edges are kept in lists of the links at both ends, in the order of the file. */
static int readTrees(Sdf *s) {
  const size_t n = (size_t)s->nthings + 1;
  int *work = malloc(4 * n * sizeof *work), nedges = 0, failed = 0;
  Edge *edge = malloc(2 * n * sizeof *edge);
  if (!work || !edge) {
    free(work);
    free(edge);
    return robotWrong(s->r, NULL, "no memory");
  }
  int *first = work, *queue = work + n, *seen = work + 2 * n, *led = work + 3 * n;
  chooseEdges(s, queue);
  for (size_t i = 0; i < n; i++) first[i] = NONE, seen[i] = led[i] = 0;
  for (int i = s->nthings - 1; i >= 0; i--) {
    const SdfThing *t = &s->thing[i];
    if (!t->pair) continue;
    for (int k = 0; k < 2; k++) {
      const int at = t->side[k] == GROUND ? s->nthings : t->side[k];
      edge[nedges] = (Edge){i, first[at]};
      first[at]    = nedges++;
    }
    if (t->side[1] != GROUND) led[t->side[1]] = 1;
  }
  failed = readTree(s, s->nthings, first, edge, queue, seen);
  /* Other trees begin at a link to which no joint leads. Each has one, as it has one more link than joints. */
  for (int i = 0; i < s->nthings && !failed; i++) {
    const SdfThing *t = &s->thing[i];
    if (t->kind == SDF_LINK && !t->is_static && !seen[i] && !led[i])
      failed = readTree(s, i, first, edge, queue, seen);
  }
  free(work);
  free(edge);
  return failed;
}

/* ------------------------------------------------------------------------------------- names -- */

/* The name of a link or joint in the mechanism: that of the file with the names of the models around it, but for a single outer one. */
static int nameThings(Sdf *s) {
  int models = 0;
  for (int i = 0; i < s->nthings; i++)
    models += s->thing[i].kind == SDF_MODEL && s->thing[i].scope == s->top && !s->thing[i].is_static;
  for (int i = 0; i < s->nthings; i++) {
    SdfThing *t = &s->thing[i];
    size_t size = strlen(t->name) + 1;
    if (t->kind != SDF_LINK && t->kind != SDF_JOINT) continue;
    for (int pass = 0; pass < 2; pass++) { /* the length, then the text, from its end on */
      char *at = pass ? t->path + size - strlen(t->name) - 1 : NULL;
      if (pass) strcpy(at, t->name);
      for (int k = t->scope; k != NONE && s->thing[k].kind == SDF_MODEL; k = s->thing[k].scope) {
        if (models < 2 && s->thing[k].scope == s->top) break;
        const size_t more = strlen(s->thing[k].name) + 2;
        if (!pass) size += more;
        else {
          at -= more;
          memcpy(at, s->thing[k].name, more - 2);
          memcpy(at + more - 2, "::", 2);
        }
      }
      if (!pass && !(t->path = malloc(size))) return robotWrong(s->r, t->node, "no memory");
    }
  }
  return 0;
}

/* Joints that are no edges: fixed ones weld, after the bodies have been made. */
static int closeLoops(Sdf *s, int welds) {
  for (int i = 0; i < s->nthings; i++) {
    SdfThing *t = &s->thing[i];
    if (t->kind != SDF_JOINT || t->pair || sdfIs(t, "gearbox") || sdfIs(t, "fixed") != welds)
      continue;
    const int link[2] = {sdfOnLink(s, t->side[0]), sdfOnLink(s, t->side[1])};
    Place side[2];
    if (link[0] == link[1]) {
      if (!welds &&
          robotTell(s->r, t->node, WITHOUT_EFFECT, "joints between what is fixed to each other"))
        return 1;
    } else if (!welds) {
      if (addJoint(s, t, 0, 1)) return 1;
    } else {
      if (sdfPlace(s, i, &side[0])) return 1;
      side[1]      = side[0];
      side[0].link = link[0], side[1].link = link[1];
      if (robotLoop(s->r, t->node, t->path, 1, side)) return 1;
    }
  }
  return 0;
}

/* ----------------------------------------------------------------------------------- the file -- */

static int readGravity(Sdf *s, const xmlNode *world) {
  sunrealtype g[3]       = {0, 0, SUN_RCONST(-9.8)};
  xmlNode *n             = robotChild(world, "gravity");
  const xmlNode *physics = robotChild(world, "physics");
  if (!n) n = robotChild(physics, "gravity"); /* until version 1.5 */
  if (n && *sdfText(n) && robotNumbers(s->r, n, "gravity", sdfText(n), 3, 3, g, NULL)) return 1;
  return robotRefused(s->r, n ? n : world, bodiesSetGravity(s->r->bodies, g));
}

int robotReadSdf(Robot *r, xmlNode *root) {
  static const char *const known[] = {"models", "contacts", NULL};
  Sdf s                            = {.r = r, .top = NONE};
  const int version                = versionOf(root);
  char models[2000];
  xmlNode *world = robotChild(root, "world");
  if (version < 104 || version > 112)
    return robotWrong(r, root, "the version must be one from 1.4 to 1.12, and is \"%.20s\"",
                      robotText(root, "version") ? robotText(root, "version") : "");
  if (robotSetting(r, known[0], models, sizeof models)) s.models = models;
  r->mends   = 1;
  s.names    = xmlHashCreate(64);
  int failed = s.names ? sdfInclude(&s, root) : robotWrong(r, root, "no memory");
  if (!failed && world) { /* It is a thing as well, whose inside has names. */
    failed = ROOM(s.thing, s.nthings, 1) ? robotWrong(r, root, "no memory") : 0;
    if (!failed)
      s.thing[s.nthings++] = (SdfThing){.node  = world,
                                        .kind  = SDF_WORLD,
                                        .name  = "",
                                        .scope = NONE,
                                        .state = POSE_KNOWN,
                                        .pose  = space};
    s.top = 0;
  }
  if (!failed) failed = sdfGather(&s, world ? world : root, s.top);
  if (!failed && s.nthings > 0) {
    failed     = ROOM(r->place, 0, s.nthings) ? robotWrong(r, root, "no memory") : 0;
    r->nplaces = failed ? 0 : s.nthings;
    for (int i = 0; i < r->nplaces; i++) r->place[i] = space;
  }
  const xmlNode *model = world ? world : robotChild(root, "model");
  if (!failed && !model) failed = robotWrong(r, root, "there is neither a model nor a world");
  if (!failed) {
    r->title = robotText(model, "name");
    failed   = nameThings(&s) || readGravity(&s, world) || findSides(&s) || readTrees(&s) ||
             closeLoops(&s, 0) || robotStart(r, known) || robotBuild(r) || closeLoops(&s, 1) ||
             sdfCouple(&s) || sdfContacts(&s) || sdfTell(&s, root);
  }
  for (int i = 0; i < s.nthings; i++) free(s.thing[i].path);
  free(s.thing);
  xmlHashFree(s.names, NULL);
  return failed;
}
