/* MJCF, the file format of MuJoCo (https://mujoco.readthedocs.io/en/stable/XMLreference.html): default classes, orientations,
 * equality constraints, and the file as a whole */
#include "mjcf_impl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------- default classes -- */

const char *mjcfGet(const Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
                    const char *attribute) {
  const char *text = robotText(n, attribute);
  const xmlChar *t = BAD_CAST tag, *a = BAD_CAST attribute;
  for (; class_ && robotIs(class_->parent, "default") && !text; class_ = class_->parent)
    text = xmlHashLookup3(m->model->given, t, a, BAD_CAST robotText(class_, "class"));
  return text ? text : xmlHashLookup3(m->model->given, t, a, NULL);
}

int mjcfClass(Mjcf *m, const xmlNode *n, const char *attribute, const xmlNode *around,
              const xmlNode **class_) {
  const char *name = robotText(n, attribute);
  *class_          = around;
  if (!name) return 0;
  const int i = robotFind(m->r, n, "class", name);
  if (i >= 0) *class_ = m->model->class_[i];
  return i < 0;
}

static int readClasses(Mjcf *m, const xmlNode *n) {
  const int is_top = n->parent == m->model->root;
  const char *name = robotText(n, "class");
  char main[400];
  if (!name && !is_top) return robotWrong(m->r, n, "class must be given");
  if (!name) snprintf(main, sizeof main, "%.380smain", m->model->prefix), name = main;
  if (!is_top || !xmlHashLookup2(m->r->names, BAD_CAST "class", BAD_CAST name)) {
    if (ROOM(m->model->class_, m->model->nclasses, 1)) return robotWrong(m->r, n, "no memory");
    m->model->class_[m->model->nclasses] = n;
    if (robotName(m->r, n, "class", name, m->model->nclasses++)) return 1;
  }
  for (const xmlNode *c = n->children; c; c = c->next) {
    if (robotIs(c, "default") && readClasses(m, c)) return 1;
    if (c->type != XML_ELEMENT_NODE) continue;
    for (const xmlAttr *a = c->properties; a; a = a->next)
      if (xmlHashUpdateEntry3(m->model->given, c->name, a->name, is_top ? NULL : BAD_CAST name,
                              (void *)(intptr_t)robotText(c, (const char *)a->name), NULL))
        return robotWrong(m->r, c, "no memory");
  }
  return 0;
}

int mjcfNumbers(Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
                const char *attribute, int least, int most, sunrealtype *x) {
  const char *text = mjcfGet(m, n, tag, class_, attribute);
  return text ? robotNumbers(m->r, n, attribute, text, least, most, x, NULL) : 0;
}

int mjcfKeyword(Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
                const char *attribute, const char *const *words, int *i) {
  const char *text = mjcfGet(m, n, tag, class_, attribute);
  if (!text) return 0;
  for (*i = 0; words[*i]; ++*i)
    if (!strcmp(words[*i], text)) return 0;
  return robotWrong(m->r, n, "there is no %s \"%.60s\"", attribute, text);
}
const char *const mjcf_no_yes[] = {"false", "true", NULL};

/* ------------------------------------------------------------------------- orientations -- */

int mjcfUnit(Mjcf *m, const xmlNode *n, const char *attribute, int size, sunrealtype *x) {
  sunrealtype sum = 0;
  for (int k = 0; k < size; k++) sum += x[k] * x[k];
  for (int k = 0; k < size; k++) x[k] /= sqrt(sum);
  return sum > 0 && isfinite(sum) ? 0 : robotWrong(m->r, n, "%s must not be zero", attribute);
}

void mjcfTurnZ(const sunrealtype *v, sunrealtype *e) {
  const sunrealtype across = hypot(v[0], v[1]), angle = atan2(across, v[2]);
  robotAxis(0, angle, e);
  if (across > 0) {
    e[1] = -v[1] / across * sin(angle / 2);
    e[2] = v[0] / across * sin(angle / 2);
  }
}

int mjcfTurn(Mjcf *m, const xmlNode *n, const char *attribute, const char *text, sunrealtype *e) {
  sunrealtype x[6], axis[3][3], part[4];
  const int length = attribute[0] == 'q' || attribute[0] == 'a' ? 4 : attribute[0] == 'x' ? 6 : 3;
  if (robotNumbers(m->r, n, attribute, text, length, length, x, NULL)) return 1;
  switch (attribute[0]) {
  case 'q': memcpy(e, x, 4 * sizeof *e); return mjcfUnit(m, n, attribute, 4, e);
  case 'a': {
    const sunrealtype half = x[3] * m->model->angle / 2;
    if (mjcfUnit(m, n, attribute, 3, x)) return 1;
    e[0] = cos(half);
    for (int k = 0; k < 3; k++) e[k + 1] = sin(half) * x[k];
    return 0;
  }
  case 'x': /* y is made perpendicular to x. */
    memcpy(axis[0], x, sizeof axis[0]);
    memcpy(axis[1], x + 3, sizeof axis[1]);
    if (mjcfUnit(m, n, attribute, 3, axis[0])) return 1;
    add3(-dot3(axis[0], x + 3), axis[0], axis[1]);
    if (mjcfUnit(m, n, attribute, 3, axis[1])) return 1;
    cross3(axis[0], axis[1], axis[2]);
    robotAxes(axis, e);
    return 0;
  case 'z':
    if (mjcfUnit(m, n, attribute, 3, x)) return 1;
    mjcfTurnZ(x, e);
    return 0;
  default: /* euler: about axes that rotate (xyz), or that are fixed (XYZ) */
    e[0] = 1, e[1] = e[2] = e[3] = 0;
    for (int k = 0; k < 3; k++) {
      const char c = m->model->eulerseq[k];
      robotAxis((c | 0x20) - 'x', x[k] * m->model->angle, part);
      if (c >= 'x') robotTurn(e, part, e);
      else robotTurn(part, e, e);
    }
    return 0;
  }
}

int mjcfPlace(Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
              const Place *parent, Place *place) {
  static const char *const ways[] = {"quat", "axisangle", "xyaxes", "zaxis", "euler"};
  sunrealtype pos[3] = {0, 0, 0}, e[4] = {1, 0, 0, 0};
  const char *way = NULL, *text = NULL;
  /* Those of the class count only if the element has none. */
  for (int own = 1; own >= 0 && !way; own--)
    for (int k = 0; k < 5; k++) {
      const char *given = own ? robotText(n, ways[k]) : mjcfGet(m, n, tag, class_, ways[k]);
      if (!given) continue;
      if (way && own)
        return robotWrong(m->r, n, "the orientation is given twice: by %s and by %s", way, ways[k]);
      way = ways[k], text = given;
    }
  if (way && mjcfTurn(m, n, way, text, e)) return 1;
  if (mjcfNumbers(m, n, tag, class_, "pos", 3, 3, pos)) return 1;
  robotPlace(parent, pos, e, place);
  return 0;
}

/* -------------------------------------------------------------------------------- equality -- */

/* Both sides are given by sites, or by bodies. With bodies, the sides coincide at the placement: at
 * the anchor or, for a weld, in the frame of body2, unless relpose gives the first side in that of
 * body1. */
static int readLoop(Mjcf *m, const xmlNode *n, int weld) {
  Robot *r                            = m->r;
  static const sunrealtype upright[4] = {1, 0, 0, 0};
  const char *one = robotText(n, "body1"), *two = robotText(n, "body2"),
             *site1 = robotText(n, "site1"), *site2 = robotText(n, "site2");
  const char *anchor = robotText(n, "anchor"), *relative = robotText(n, "relpose"),
             *name = robotText(n, "name");
  Place side[2]    = {{{0, 0, 0, 1, 0, 0, 0}, GROUND}, {{0, 0, 0, 1, 0, 0, 0}, GROUND}};
  sunrealtype x[7] = {0};
  if ((one != NULL) == (site1 != NULL) || (site1 != NULL) != (site2 != NULL) || (two && site1))
    return robotWrong(r, n, "body1 (and body2), or site1 and site2 must be given");
  for (int k = 0; k < 2; k++) {
    const char *of = k ? (site1 ? site2 : two) : (site1 ? site1 : one);
    const int i    = of && strcmp(of, "world") ? robotFind(r, n, site1 ? "site" : "body", of) : -2;
    if (i == -1) return 1;
    if (i >= 0) side[k] = r->place[i];
  }
  if (!weld && !site1 && !anchor) return robotWrong(r, n, "anchor must be given");
  if (!weld && !site1) {
    if (robotNumbers(r, n, "anchor", anchor, 3, 3, x, NULL)) return 1;
    robotPlace(&side[0], x, upright, &side[0]);
  }
  if (weld && relative && robotNumbers(r, n, "relpose", relative, 7, 7, x, NULL)) return 1;
  if (weld && (x[3] != 0 || x[4] != 0 || x[5] != 0 || x[6] != 0))
    robotPlace(&side[0], x, x + 3, &side[0]);
  else if (weld && !site1) memcpy(side[0].q, side[1].q, sizeof side[0].q);
  else if (!weld && !site1) memcpy(side[1].q, side[0].q, sizeof side[0].q);
  return robotLoop(r, n, name, weld, side);
}

static int readEqualities(Mjcf *m, const xmlNode *section) {
  Robot *r = m->r;
  for (const xmlNode *n = section->children; n; n = n->next) {
    const int weld = robotIs(n, "weld"), joint = robotIs(n, "joint");
    const xmlNode *class_;
    int active = 1;
    if (n->type != XML_ELEMENT_NODE) continue;
    if (mjcfClass(m, n, "class", NULL, &class_) ||
        mjcfKeyword(m, n, "equality", class_, "active", mjcf_no_yes, &active))
      return 1;
    if (!active) continue;
    if (robotIs(n, "tendon")) {
      if (mjcfTendonEquality(m, n)) return 1;
      continue;
    }
    if (!weld && !joint && !robotIs(n, "connect")) {
      if (robotNote(r, n, "the equality constraint %.60s", (const char *)n->name)) return 1;
      continue;
    }
    if (!joint) {
      if (readLoop(m, n, weld)) return 1;
      continue;
    }
    const char *two = robotText(n, "joint2"), *text = robotText(n, "polycoef");
    sunrealtype c[5] = {0, 1, 0, 0, 0};
    const int i      = robotFind(r, n, "joint", robotText(n, "joint1")),
              j      = two && i >= 0 ? robotFind(r, n, "joint", two) : -1;
    if (i < 0 || (two && j < 0) || (text && robotNumbers(r, n, "polycoef", text, 1, 5, c, NULL)))
      return 1;
    if (!two) c[2] = c[3] = c[4] = 0;
    if (robotCouple(r, n, robotText(n, "name"), i, j, c)) return 1;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------ file -- */

static int readCompiler(Mjcf *m, const xmlNode *n) {
  static const char *const angles[]             = {"radian", "degree", NULL},
                           *const from[]        = {"false", "true", "auto", NULL},
                           *const coordinates[] = {"local", "global", NULL};
  int degree = -1, global = 0;
  sunrealtype total = 0; /* An attached file does not set the mass of all bodies. */
  const char *seq = robotText(n, "eulerseq"), *folder = robotText(n, "meshdir");
  if (mjcfNumbers(m, n, "compiler", NULL, "boundmass", 1, 1, &m->model->least[0]) ||
      mjcfNumbers(m, n, "compiler", NULL, "boundinertia", 1, 1, &m->model->least[1]) ||
      mjcfNumbers(m, n, "compiler", NULL, "settotalmass", 1, 1,
                  m->model->file ? &total : &m->total[1]) ||
      mjcfKeyword(m, n, "compiler", NULL, "balanceinertia", mjcf_no_yes, &m->model->balance) ||
      mjcfKeyword(m, n, "compiler", NULL, "autolimits", mjcf_no_yes, &m->model->autolimits) ||
      mjcfKeyword(m, n, "compiler", NULL, "angle", angles, &degree) ||
      mjcfKeyword(m, n, "compiler", NULL, "coordinate", coordinates, &global) ||
      mjcfKeyword(m, n, "compiler", NULL, "inertiafromgeom", from, &m->model->inertia) ||
      mjcfKeyword(m, n, "compiler", NULL, "strippath", mjcf_no_yes, &m->model->strippath) ||
      mjcfNumbers(m, n, "compiler", NULL, "inertiagrouprange", 2, 2, m->model->group))
    return 1;
  if (global) return robotWrong(m->r, n, "coordinate must be local");
  if (seq && (strlen(seq) != 3 || strspn(seq, "xyzXYZ") != 3))
    return robotWrong(m->r, n, "eulerseq must be three letters of xyzXYZ, and is \"%.20s\"", seq);
  if (seq) m->model->eulerseq = seq;
  if (degree >= 0) m->model->angle = degree ? atan(SUN_RCONST(1.0)) / 45 : 1;
  if (!folder) folder = robotText(n, "assetdir");
  if (folder) m->model->folder = folder;
  return 0;
}

/* Flags switch off parts that the mechanism does not have, or does. */
static int readFlags(Mjcf *m, const xmlNode *n, int *gravity) {
  static const char *const states[] = {"disable", "enable", NULL};
  static const struct {
    const char *flag;
    int off; /* 0: the mechanism has it, and keeps it */
  } flags[] = {{"contact", NO_CONTACT},
               {"limit", NO_LIMITS},
               {"frictionloss", NO_FRICTION},
               {"actuation", NO_ACTUATION},
               {"constraint", NO_CONTACT | NO_LIMITS | NO_FRICTION},
               {"equality", 0},
               {"passive", 0},
               {"spring", 0},
               {"damper", 0}};
  if (mjcfKeyword(m, n, "flag", NULL, "gravity", states, gravity)) return 1;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    int on = 1;
    if (mjcfKeyword(m, n, "flag", NULL, flags[i].flag, states, &on)) return 1;
    if (!on) m->off |= flags[i].off;
    if (!on && !flags[i].off && robotNote(m->r, n, "the flag %s", flags[i].flag)) return 1;
  }
  return 0;
}

static int readOption(Mjcf *m, const xmlNode *n, sunrealtype *g) {
  if (mjcfNumbers(m, n, "option", NULL, "density", 1, 1, &m->fluid[0]) ||
      mjcfNumbers(m, n, "option", NULL, "viscosity", 1, 1, &m->fluid[1]) ||
      mjcfNumbers(m, n, "option", NULL, "wind", 3, 3, m->fluid + 2) ||
      mjcfNumbers(m, n, "option", NULL, "gravity", 3, 3, g))
    return 1;
  for (const xmlNode *c = n->children; c; c = c->next) {
    int gravity = 1;
    if (!robotIs(c, "flag")) {
      if (mjcfIgnore(m, c)) return 1;
      continue;
    }
    if (readFlags(m, c, &gravity)) return 1;
    if (!gravity) g[0] = g[1] = g[2] = 0;
  }
  return 0;
}

static int readAssets(Mjcf *m, const xmlNode *section) {
  for (const xmlNode *n = section->children; n; n = n->next) {
    char base[400];
    if (!robotIs(n, "mesh")) {
      if (!robotIs(n, "model") && mjcfIgnore(m, n)) return 1;
      continue;
    }
    const char *name = robotText(n, "name"), *file = robotText(n, "file"),
               *slash = file ? strrchr(file, '/') : NULL;
    if (!name) { /* Defaults to the file's name without folder and extension. */
      snprintf(base, sizeof base, "%s%s", m->model->prefix, slash ? slash + 1 : file ? file : "");
      if (strrchr(base, '.')) *strrchr(base, '.') = '\0';
      name = base;
    }
    if (ROOM(m->model->mesh, m->model->nmeshes, 1)) return robotWrong(m->r, n, "no memory");
    m->model->mesh[m->model->nmeshes] = (MjcfMesh){.node = n};
    if (robotName(m->r, n, "mesh", name, m->model->nmeshes++)) return 1;
  }
  return 0;
}

/* Starts the joints at the keyframe of this name, or does nothing if `name` is empty. */
static int readKeyframe(Mjcf *m, const char *name) {
  static const int sizes[][2] = {
      [HINGE] = {1, 1}, [SLIDE] = {1, 1}, [BALL] = {4, 3}, [FREE] = {7, 6}};
  Robot *r           = m->r;
  const xmlNode *key = NULL;
  int size[2] = {0, 0}, failed = 0, first = 0, end = r->njoints;
  if (!*name) return 0;
  for (int i = 0; i < m->nmodels; i++)
    for (const xmlNode *n = m->models[i]->root->children; n; n = n->next)
      for (const xmlNode *c = robotIs(n, "keyframe") ? n->children : NULL; c; c = c->next) {
        const char *own = robotIs(c, "key") ? robotText(c, "name") : NULL;
        if (own && !strcmp(own, name)) key = c, m->keyed = m->models[i];
      }
  if (!key) return robotWrong(r, m->model->root, "there is no keyframe \"%.60s\"", name);
  m->key = key;
  if (m->keyed->file) first = m->keyed->joints[0], end = m->keyed->joints[1];
  for (int i = first; i < end; i++)
    for (int k = 0; k < 2; k++) size[k] += sizes[r->joint[i].type][k];
  for (int k = 0; k < 2 && !failed; k++) {
    const char *attribute = k ? "qvel" : "qpos", *text = robotText(key, attribute);
    sunrealtype *x = text ? malloc(((size_t)size[k] + 1) * sizeof *x) : NULL;
    if (text && !x) failed = robotWrong(r, key, "no memory");
    if (x) failed = robotNumbers(r, key, attribute, text, size[k], size[k], x, NULL);
    for (int i = first, at = 0; i < end && x && !failed; at += sizes[r->joint[i++].type][k]) {
      RobotJoint *j = &r->joint[i];
      memcpy(k ? j->rate : j->value, x + at, (size_t)sizes[j->type][k] * sizeof *x);
      sunrealtype *e = k                 ? NULL
                       : j->type == BALL ? j->value
                       : j->type == FREE ? j->value + 3
                                         : NULL;
      if (e) failed = mjcfUnit(m, key, "a quaternion of qpos", 4, e);
      r->moved = 1;
    }
    free(x);
  }
  return failed;
}

/* Reads the sections of the kind `what` of the current model, in the order of the file. */
enum {
  COMPILERS,
  OPTIONS,
  DEFAULTS,
  ASSETS,
  WORLDS,
  EQUALITIES,
  TENDONS,
  ACTUATORS,
  NUM_SECTIONS,
  EXCLUSIONS = NUM_SECTIONS,
  PAIRS
};

static int readSections(Mjcf *m, int what) {
  static const char *const tags[NUM_SECTIONS] = {"compiler",  "option",   "default", "asset",
                                                 "worldbody", "equality", "tendon",  "actuator"};
  static const Place world                    = {{0, 0, 0, 1, 0, 0, 0}, GROUND};
  sunrealtype g[3]                            = {0, 0, -9.81};
  for (xmlNodePtr n = m->model->root->children; n; n = n->next) {
    int failed = 0, known = 0;
    for (int i = 0; i < NUM_SECTIONS; i++) known = known || robotIs(n, tags[i]);
    if (what == WORLDS && !known) failed = mjcfIgnore(m, n);
    if (robotIs(n, tags[what])) switch (what) {
      case COMPILERS: failed = readCompiler(m, n); break;
      case OPTIONS: failed = readOption(m, n, g); break;
      case DEFAULTS: failed = readClasses(m, n); break;
      case ASSETS: failed = readAssets(m, n); break;
      case WORLDS: /* That of an attached file is in the frame that replaces <attach>. */
        failed = mjcfChildren(m, n, NULL, &world, 1, 0) || mjcfChildren(m, n, NULL, &world, 0, 0);
        break;
      case EQUALITIES: failed = readEqualities(m, n); break;
      case TENDONS: failed = mjcfTendons(m, n); break;
      default: failed = mjcfActuators(m, n); break;
      }
    if (failed) return 1;
  }
  return what == OPTIONS ? robotRefused(m->r, m->model->root, bodiesSetGravity(m->r->bodies, g)) : 0;
}

/* Reads the sections of the kind `what` of all models. */
static int readModels(Mjcf *m, int what) {
  int failed = 0;
  for (int i = 0; i < m->nmodels && !failed; i++) {
    m->model = m->models[i];
    /* A keyframe of an attached file counts its own actuators. */
    if (what == ACTUATORS && m->keyed == m->model) m->nactuators = m->nactivations = 0;
    if (what < NUM_SECTIONS) failed = readSections(m, what);
    else
      for (const xmlNode *n = m->model->root->children; n && !failed; n = n->next)
        failed = robotIs(n, "contact") && mjcfPairs(m, n, what == PAIRS);
  }
  m->model = m->models[0];
  return failed;
}

int mjcfSettings(Mjcf *m) {
  MjcfModel *model = m->model;
  if (readSections(m, COMPILERS) || readSections(m, DEFAULTS)) return 1;
  if (model->file) {
    char folder[1000];
    if (bodiesBeside(model->file, model->folder ? model->folder : "", folder, sizeof folder))
      return robotWrong(m->r, model->root, "the path of its files is too long");
    model->joined = malloc(strlen(folder) + 1);
    if (!model->joined) return robotWrong(m->r, model->root, "no memory");
    model->folder = strcpy(model->joined, folder);
  }
  return readSections(m, ASSETS);
}

MjcfModel *mjcfModel(Mjcf *m, xmlNodePtr root) {
  MjcfModel *model = ROOM(m->models, m->nmodels, 1) ? NULL : calloc(1, sizeof *model);
  if (!model) return robotWrong(m->r, root, "no memory"), NULL;
  *model                  = (MjcfModel){.root       = root,
                                        .inertia    = FROM_EITHER,
                                        .angle      = atan(SUN_RCONST(1.0)) / 45,
                                        .group      = {0, 5},
                                        .eulerseq   = "xyz",
                                        .prefix     = "",
                                        .autolimits = 1,
                                        .given      = xmlHashCreate(64)};
  m->models[m->nmodels++] = model;
  return model->given ? model : (robotWrong(m->r, root, "no memory"), NULL);
}

/* Do equalities close loops, or couple joints that may be at their limits? They are read when there are bodies. */
static int hasLoops(const Mjcf *m) {
  for (int i = 0; i < m->nmodels; i++)
    for (const xmlNode *n = m->models[i]->root->children; n; n = n->next)
      for (const xmlNode *c = robotIs(n, "equality") ? n->children : NULL; c; c = c->next)
        if (robotIs(c, "connect") || robotIs(c, "weld") || robotIs(c, "tendon")) return 1;
  return 0;
}

/* Starts the joints, and adds all bodies, with their contacts. */
static int build(Mjcf *m) {
  static const char *const known[] = {"start", "files", "contacts", NULL};
  Robot *r                         = m->r;
  char key[200]                    = "";
  int touch                        = 1;
  for (int i = 0; i < r->nlinks && m->total[1] > 0 && m->total[0] > 0; i++)
    scaleMass(m->total[1] / m->total[0], &r->link[i].mass),
        scaleMass(m->total[1] / m->total[0], &r->link[i].lifted);
  if (robotSetting(r, known[0], key, sizeof key) && !*key)
    return robotWrong(r, NULL, "start must be the name of a keyframe");
  r->loops = hasLoops(m);
  if (readKeyframe(m, key) || robotStart(r, known) || robotBuild(r) || mjcfDrags(m)) return 1;
  r->meshes = mjcfHull, r->meshes_data = m;
  if (robotTouches(r, &touch)) return 1;
  return m->off & NO_CONTACT || !touch
             ? 0
             : readModels(m, EXCLUSIONS) || robotContacts(r) || readModels(m, PAIRS);
}

int robotReadMjcf(Robot *r, xmlNodePtr root) {
  Mjcf m     = {.r = r, .here = NONE};
  m.model    = mjcfModel(&m, root);
  int failed = !m.model || mjcfSettings(&m) || readSections(&m, OPTIONS) || mjcfExpand(&m) ||
               readModels(&m, WORLDS) || build(&m);
  for (int what = EQUALITIES; what <= ACTUATORS && !failed; what++) failed = readModels(&m, what);
  for (int i = 0; i < m.nmodels; i++) {
    MjcfModel *model = m.models[i];
    free(model->class_);
    free(model->mesh);
    free(model->joined);
    xmlHashFree(model->given, NULL);
    xmlFreeNode(model->copies);
    free(model);
  }
  free(m.models);
  free(m.scope);
  free(m.tendon);
  free(m.derived);
  free(m.drag);
  return failed;
}
