/* MJCF, the file format of MuJoCo (https://mujoco.readthedocs.io/en/stable/XMLreference.html):
 * bodies, joints, inertias, default classes and equality constraints. A body without joints becomes
 * part of its parent. */
#include "mjcf_impl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FROM_INERTIAL, FROM_GEOMS, FROM_EITHER };

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
static const char *const no_yes[] = {"false", "true", NULL};

/* ------------------------------------------------------------------------- orientations -- */

static int unit(Mjcf *m, const xmlNode *n, const char *attribute, int size, sunrealtype *x) {
  sunrealtype sum = 0;
  for (int k = 0; k < size; k++) sum += x[k] * x[k];
  for (int k = 0; k < size; k++) x[k] /= sqrt(sum);
  return sum > 0 && isfinite(sum) ? 0 : robotWrong(m->r, n, "%s must not be zero", attribute);
}

/* e: out, the rotation that takes z to the unit vector v by the shortest way. */
static void turnZ(const sunrealtype *v, sunrealtype *e) {
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
  case 'q': memcpy(e, x, 4 * sizeof *e); return unit(m, n, attribute, 4, e);
  case 'a': {
    const sunrealtype half = x[3] * m->model->angle / 2;
    if (unit(m, n, attribute, 3, x)) return 1;
    e[0] = cos(half);
    for (int k = 0; k < 3; k++) e[k + 1] = sin(half) * x[k];
    return 0;
  }
  case 'x': /* y is made perpendicular to x. */
    memcpy(axis[0], x, sizeof axis[0]);
    memcpy(axis[1], x + 3, sizeof axis[1]);
    if (unit(m, n, attribute, 3, axis[0])) return 1;
    add3(-dot3(axis[0], x + 3), axis[0], axis[1]);
    if (unit(m, n, attribute, 3, axis[1])) return 1;
    cross3(axis[0], axis[1], axis[2]);
    robotAxes(axis, e);
    return 0;
  case 'z':
    if (unit(m, n, attribute, 3, x)) return 1;
    turnZ(x, e);
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

/* place = parent, followed by the position and orientation of n. */
static int readPlace(Mjcf *m, const xmlNode *n, const char *tag, const xmlNode *class_,
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

/* --------------------------------------------------------------------------------- inertia -- */

int mjcfList(Mjcf *m, const xmlNode *n, const char *attribute, sunrealtype **x, int *count) {
  const char *text = robotText(n, attribute);
  int most         = text != NULL;
  *x               = NULL;
  *count           = 0;
  if (!text) return 0;
  for (const char *c = text; *c; c++) most += strchr(" \t\r\n", *c) != NULL;
  if (!(*x = malloc((size_t)most * sizeof **x))) return robotWrong(m->r, n, "no memory");
  return robotNumbers(m->r, n, attribute, text, 0, most, *x, count);
}

/* The arrays of a MeshSource */
typedef struct {
  char *data;
  sunrealtype *point, *face;
} MeshArrays;

static void freeArrays(MeshArrays *own) { free(own->data), free(own->point), free(own->face); }

/* from: out, a mesh with the scale and the place of its element n, in `own`, which the caller frees in any case */
static int readMeshSource(Mjcf *m, const xmlNode *n, MeshSource *from, MeshArrays *own) {
  const xmlNode *class_;
  int npoints, nfaces;
  const char *file = robotText(n, "file"), *slash = file ? strrchr(file, '/') : NULL;
  *from = (MeshSource){.scale = {1, 1, 1}, .refquat = {1, 0, 0, 0}};
  *own  = (MeshArrays){0};
  if (mjcfClass(m, n, "class", NULL, &class_) ||
      mjcfNumbers(m, n, "mesh", class_, "scale", 3, 3, from->scale) ||
      mjcfNumbers(m, n, "mesh", class_, "refpos", 3, 3, from->refpos) ||
      mjcfNumbers(m, n, "mesh", class_, "refquat", 4, 4, from->refquat) ||
      unit(m, n, "refquat", 4, from->refquat))
    return 1;
  if (m->model->strippath && slash) file = slash + 1;
  if (file) own->data = robotFile(m->r, n, m->model->folder, file, &from->size);
  else if (mjcfList(m, n, "vertex", &own->point, &npoints) ||
           mjcfList(m, n, "face", &own->face, &nfaces))
    return 1;
  from->name = file, from->data = own->data, from->point = own->point, from->face = own->face;
  if (!file) from->npoints = npoints / 3, from->nfaces = nfaces / 3;
  return file && !own->data;
}

/* Computes the mass of a geom's mesh, for unit density. shell: 1 for its surface */
static int readMesh(Mjcf *m, const xmlNode *geom, const char *name, int shell, Mass *mass) {
  static const char *const ways[] = {"legacy", "convex", "exact", "shell", NULL};
  const xmlNode *class_;
  MeshSource from;
  MeshArrays own;
  int way     = MESH_LEGACY;
  const int i = robotFind(m->r, geom, "mesh", name);
  if (i < 0) return 1;
  MjcfMesh *mesh   = &m->model->mesh[i];
  const xmlNode *n = mesh->node;
  if (mesh->known[shell]) return *mass = mesh->mass[shell], 0;
  if (!robotText(n, "file") && !robotText(n, "vertex"))
    return robotWrong(m->r, n, "a mesh that a mass comes from must have a file or vertices");
  if (mjcfClass(m, n, "class", NULL, &class_) ||
      mjcfKeyword(m, n, "mesh", class_, "inertia", ways, &way))
    return 1;
  int failed = readMeshSource(m, n, &from, &own);
  if (!failed) {
    const char *wrong = meshMass(&from, shell ? MESH_SHELL : (MeshWay)way, mass);
    if (wrong == mesh_is_open)
      failed = robotTell(m->r, n, CHANGED,
                         "the mesh %.80s, which is open, to the cones from its middle", name);
    else if (wrong)
      failed = robotWrong(m->r, n, "%s\"%.100s\" %s", from.name ? "the file " : "the mesh ",
                          from.name ? from.name : name, wrong);
  }
  freeArrays(&own);
  mesh->known[shell] = !failed;
  mesh->mass[shell]  = *mass;
  return failed;
}

/* Reads the mesh of a geom that touches others (MeshOf), as MuJoCo does, with maxhullvert corners at most. */
static int readHull(Robot *r, const RobotGeom *g, void *mjcf, MeshHull *hull) {
  Mjcf *m          = mjcf;
  const xmlNode *n = g->mesh, *class_;
  MeshSource from;
  MeshArrays own   = {0};
  sunrealtype most = -1;
  const int before = r->message[0];
  m->model         = m->models[g->source];
  int failed       = mjcfClass(m, n, "class", NULL, &class_) ||
               mjcfNumbers(m, n, "mesh", class_, "maxhullvert", 1, 1, &most);
  if (!failed && most != -1 && !(most > 3))
    failed = robotWrong(r, n, "maxhullvert must be greater than 3, or -1");
  const int is_given = !failed && (robotText(n, "file") || robotText(n, "vertex"));
  if (is_given && readMeshSource(m, n, &from, &own)) r->message[0] = (char)before; /* as none */
  else if (is_given) failed = robotHull(r, n, &from, most > 0 ? (int)fmin(most, 1e6) : 0, hull);
  freeArrays(&own);
  m->model = m->models[0];
  return failed;
}

/* Adds a mass, given in the frame of place, to the body that is being read. */
static void takeMass(Mjcf *m, const Place *place, const Mass *mass) {
  Mass moved = *mass;
  Pose pose;
  robotPose(place, &pose);
  moveMass(&pose, &moved);
  addMass(&moved, m->body);
}

/* Applies what the compiler asks of the masses of all bodies. */
CP_RARE static void limitMass(const Mjcf *m, Mass *mass) {
  sunrealtype value[3], axis[3][3], sum = 0, changed = 0;
  principalInertia(mass->J, value, axis);
  if (mass->mass < m->model->least[0]) mass->mass = m->model->least[0];
  for (int k = 0; k < 3; k++) {
    if (m->model->least[1] > 0 && value[k] < m->model->least[1])
      value[k] = m->model->least[1], changed = 1;
    sum += value[k];
  }
  for (int k = 0; k < 3; k++)
    if (m->model->balance && value[k] > sum - value[k]) {
      value[0] = value[1] = value[2] = sum / 3;
      changed                        = 1;
      break;
    }
  if (changed > 0) composeInertia(value, axis, mass->J);
}

enum { MESH = NUM_SOLIDS, PLANE_GEOM, HFIELD, SDF };
static const char *const geom_types[] = {"sphere", "capsule", "ellipsoid", "cylinder", "box",
                                         "mesh",   "plane",   "hfield",    "sdf",      NULL};

/* size [3], place: out, those of a geom that is a solid */
static int readSolid(Mjcf *m, const xmlNode *n, const xmlNode *class_, int type, const Place *body,
                     sunrealtype *size, Place *place) {
  static const int sizes[NUM_SOLIDS] = {1, 2, 3, 2, 3};
  const char *fromto                 = mjcfGet(m, n, "geom", class_, "fromto");
  sunrealtype ends[6];
  if (fromto && type != SPHERE) {
    sunrealtype along[3], pos[3], e[4], half;
    if (robotNumbers(m->r, n, "fromto", fromto, 6, 6, ends, NULL) ||
        mjcfNumbers(m, n, "geom", class_, "size", 1, 3, size))
      return 1;
    for (int k = 0; k < 3; k++)
      along[k] = ends[k] - ends[k + 3], pos[k] = (ends[k] + ends[k + 3]) / 2;
    half = sqrt(dot3(along, along)) / 2;
    if (unit(m, n, "fromto", 3, along)) return 1;
    turnZ(along, e);
    robotPlace(body, pos, e, place);
    size[1] = sizes[type] == 2 ? half : size[0];
    size[2] = half;
  } else {
    if (mjcfNumbers(m, n, "geom", class_, "size", sizes[type], 3, size)) return 1;
  }
  for (int k = 0; k < sizes[type]; k++)
    if (!(size[k] > 0)) return robotWrong(m->r, n, "size must be %d positive numbers", sizes[type]);
  return 0;
}

/* Adds the mass of a geom at a place to that of its body. */
static int weighGeom(Mjcf *m, const xmlNode *n, const xmlNode *class_, int type, const Place *body,
                     Place place) {
  sunrealtype size[3] = {0, 0, 0}, density = 1000, total = NAN, group = 0;
  int shell = 0;
  Mass mass;
  if (mjcfNumbers(m, n, "geom", class_, "mass", 1, 1, &total) ||
      mjcfNumbers(m, n, "geom", class_, "density", 1, 1, &density) ||
      mjcfNumbers(m, n, "geom", class_, "group", 1, 1, &group) ||
      mjcfKeyword(m, n, "geom", class_, "shellinertia", no_yes, &shell))
    return 1;
  if (group < m->model->group[0] || group > m->model->group[1] || total == 0 || density == 0 ||
      type == PLANE_GEOM || type == HFIELD)
    return 0;
  if (total < 0 || density < 0) return robotWrong(m->r, n, "mass and density must not be negative");
  const char *mesh = mjcfGet(m, n, "geom", class_, "mesh");
  if ((shell && type != MESH) || type == SDF || (type == MESH && !mesh) || (type != MESH && mesh))
    return robotWrong(m->r, n,
                      "a mass from the shell of a shape, a signed distance, or a shape fitted to a "
                      "mesh is not supported; give the body an inertial element");
  if (type == MESH) {
    if (readMesh(m, n, mesh, shell, &mass)) return 1;
  } else {
    if (readSolid(m, n, class_, type, body, size, &place)) return 1;
    solidMass((SolidKind)type, size, &mass);
  }
  scaleMass(isnan(total) ? density : total / mass.mass, &mass);
  takeMass(m, &place, &mass);
  return 0;
}

CP_RARE static int readInertial(Mjcf *m, const xmlNode *n, const Place *body) {
  const char *full = robotText(n, "fullinertia"), *diagonal = robotText(n, "diaginertia"),
             *text = robotText(n, "mass");
  Mass mass        = {0};
  Place place;
  if (readPlace(m, n, "inertial", NULL, body, &place)) return 1;
  if (!text || !robotText(n, "pos")) return robotWrong(m->r, n, "pos and mass must be given");
  if ((full != NULL) == (diagonal != NULL))
    return robotWrong(m->r, n, "one of diaginertia and fullinertia must be given");
  if (robotNumbers(m->r, n, "mass", text, 1, 1, &mass.mass, NULL) ||
      robotNumbers(m->r, n, full ? "fullinertia" : "diaginertia", full ? full : diagonal,
                   full ? 6 : 3, full ? 6 : 3, mass.J, NULL))
    return 1;
  if (!(mass.mass >= 0))
    return robotWrong(m->r, n, "mass must not be negative, and is %g", (double)mass.mass);
  takeMass(m, &place, &mass);
  return 0;
}

/* ---------------------------------------------------------------------- bodies and joints -- */

/* Reads limits and friction. A joint with a range is limited unless it says otherwise. */
static int readStops(Mjcf *m, const xmlNode *n, const xmlNode *class_, RobotJoint *j) {
  static const char *const states[] = {"false", "true", "auto", NULL};
  enum { NO, YES, AUTO };
  int limited = AUTO, total = AUTO;
  if (mjcfKeyword(m, n, "joint", class_, "limited", states, &limited) ||
      mjcfNumbers(m, n, "joint", class_, "range", 2, 2, j->range) ||
      mjcfNumbers(m, n, "joint", class_, "frictionloss", 1, 1, &j->friction) ||
      mjcfKeyword(m, n, "joint", class_, "actuatorfrclimited", states, &total) ||
      mjcfNumbers(m, n, "joint", class_, "actuatorfrcrange", 2, 2, j->total))
    return 1;
  if (total == NO || (total == AUTO && !m->model->autolimits)) j->total[0] = j->total[1] = 0;
  if (limited == AUTO) limited = m->model->autolimits && mjcfGet(m, n, "joint", class_, "range");
  j->limited = limited && !(m->off & NO_LIMITS);
  if (m->off & NO_FRICTION) j->friction = 0;
  for (int k = 0; k < 2 && j->type != SLIDE; k++) j->range[k] *= m->model->angle;
  return 0;
}

CP_RARE static int readJoint(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *body) {
  static const char *const types[] = {"hinge", "slide", "ball", "free", NULL}; /* as in JointType */
  sunrealtype pos[3] = {0, 0, 0}, axis[3] = {0, 0, 1};
  const int is_free     = robotIs(n, "freejoint"); /* a freejoint has no class */
  int type              = is_free ? FREE : HINGE;
  const xmlNode *class_ = NULL;
  if (!is_free && (mjcfClass(m, n, "class", around, &class_) ||
                   mjcfKeyword(m, n, "joint", class_, "type", types, &type) ||
                   mjcfNumbers(m, n, "joint", class_, "pos", 3, 3, pos) ||
                   mjcfNumbers(m, n, "joint", class_, "axis", 3, 3, axis)))
    return 1;
  if (type == FREE && m->r->link[body->link].place.link != GROUND)
    return robotWrong(m->r, n, "a free joint must be on a body of the world");
  RobotJoint *j = robotJoint(m->r, n, (JointType)type, robotText(n, "name"), body, pos, axis);
  if (!j || is_free) return !j;
  if (readStops(m, n, class_, j)) return 1;
  const struct {
    const char *name;
    sunrealtype *x;
  } values[] = {{"ref", &j->ref},
                {"springref", &j->springref},
                {"stiffness", &j->stiffness},
                {"damping", &j->damping},
                {"armature", &j->armature}};
  for (int k = 0; k < 5; k++)
    if (mjcfNumbers(m, n, "joint", class_, values[k].name, 1, 1, values[k].x)) return 1;
  if (mjcfNumbers(m, n, "joint", class_, "springdamper", 2, 2, j->springdamper)) return 1;
  for (int k = 2; k < 5; k++)
    if (*values[k].x < 0)
      return robotWrong(m->r, n, "%s must not be negative, and is %g", values[k].name,
                        (double)*values[k].x);
  if (type == HINGE) j->ref *= m->model->angle, j->springref *= m->model->angle;
  if (type <= SLIDE) j->value[0] = j->ref;
  return 0;
}

/* The number of elements of a kind that a body has, within its frames as well */
static int countOf(const xmlNode *n, const char *tag) {
  int count = 0;
  for (const xmlNode *c = n->children; c; c = c->next)
    count += robotIs(c, tag) + (robotIs(c, "frame") ? countOf(c, tag) : 0);
  return count;
}

static int keepPlace(Robot *r, const xmlNode *n, const char *kind, const Place *place) {
  const char *name = robotText(n, "name");
  if (!name) return 0;
  if (ROOM(r->place, r->nplaces, 1)) return robotWrong(r, n, "no memory");
  r->place[r->nplaces] = *place;
  return robotName(r, n, kind, name, r->nplaces++);
}

static int hasElements(const xmlNode *n, const char *tag) {
  for (const xmlNode *c = n->children; c; c = c->next)
    if (c->type == XML_ELEMENT_NODE && (!tag || robotIs(c, tag))) return 1;
  return 0;
}

/* Notes elements that have no counterpart in the mechanism, if they may act on the motion. */
static int ignore(Mjcf *m, const xmlNode *n) {
  static const char *const plain[][2] = {{"flexcomp", "deformable bodies (flexcomp)"},
                                         {"deformable", "deformable bodies"},
                                         {"plugin", "plugins"},
                                         {"extension", "plugins"}};
  static const char *const silent     = " sensor keyframe visual statistic light camera texture "
                                        "material skin hfield size custom contact ";
  if (n->type != XML_ELEMENT_NODE || robotKnows(silent, n->name)) return 0;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (robotIs(n, plain[i][0]))
      return hasElements(n, NULL) || n->properties ? robotNote(m->r, n, "%s", plain[i][1]) : 0;
  return robotNote(m->r, n, "the unknown element %.60s", (const char *)n->name);
}

/* The bits of contype or conaffinity */
static unsigned bits(sunrealtype x) { return (unsigned)fmin(fmax(x, 0), 4294967295.0); }

/* Takes a geom at a place as what may touch others. */
static int takeGeom(Mjcf *m, const xmlNode *n, const xmlNode *class_, int type, const Place *body,
                    Place place) {
  static const CPShapeKind kinds[]  = {CP_SHAPE_SPHERE, CP_SHAPE_CAPSULE, CP_SHAPE_ELLIPSOID,
                                       CP_SHAPE_CYLINDER, CP_SHAPE_BOX};
  static const char *const others[] = {"meshes", "shapes fitted to meshes", "height fields",
                                       "signed distances"};
  Robot *r                          = m->r;
  sunrealtype bit = 1, affinity = 1, dimensions = 3, friction[3] = {1, 0, 0}, size[3] = {0, 0, 0};
  RobotGeom g = {.node = n, .name = robotText(n, "name"), .kind = -1, .body = m->here, .shape = -1};
  if (mjcfNumbers(m, n, "geom", class_, "contype", 1, 1, &bit) ||
      mjcfNumbers(m, n, "geom", class_, "conaffinity", 1, 1, &affinity) ||
      mjcfNumbers(m, n, "geom", class_, "condim", 1, 1, &dimensions) ||
      mjcfNumbers(m, n, "geom", class_, "friction", 1, 3, friction))
    return 1;
  g.type = bits(bit), g.affinity = bits(affinity);
  g.dimensions = (int)fmin(fmax(dimensions, 1), 6);
  g.friction   = fmax(friction[0], 0);
  g.tree       = body->link == GROUND ? -1 : m->tree;
  if (!g.name && !g.type && !g.affinity) return 0;
  const char *mesh = mjcfGet(m, n, "geom", class_, "mesh");
  if (mesh && type == MESH) {
    const int i = robotFind(r, n, "mesh", mesh);
    if (i < 0) return 1;
    g.kind = CP_SHAPE_MESH, g.mesh = m->model->mesh[i].node;
    while (m->models[g.source] != m->model) g.source++;
  } else if (mesh) g.what = others[1];
  else if (type == PLANE_GEOM) {
    if (mjcfNumbers(m, n, "geom", class_, "size", 1, 3, size)) return 1;
    g.kind = CP_SHAPE_PLANE;
    for (int k = 0; k < 2; k++) g.size[k] = 2 * fmax(size[k], 0);
  } else if (type < NUM_SOLIDS && mjcfGet(m, n, "geom", class_, "size")) {
    if (readSolid(m, n, class_, type, body, size, &place)) return 1;
    g.kind = (int)kinds[type];
    for (int k = 0; k < 3; k++) g.size[k] = (type == BOX ? 2 : 1) * size[k];
    if (type == CAPSULE || type == CYLINDER) g.size[2] = 2 * size[1];
  } else g.what = type < NUM_SOLIDS ? "geoms without a size" : others[type - MESH];
  return (g.name && robotName(r, n, "geom", g.name, r->ngeoms)) || robotGeom(r, &g, &place);
}

/* Reads a geom. has_mass: 1 if its body has the mass of its geoms */
CP_RARE static int readGeom(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *body,
                            int has_mass) {
  int type = SPHERE;
  const xmlNode *class_;
  Place place;
  return mjcfClass(m, n, "class", around, &class_) ||
         mjcfKeyword(m, n, "geom", class_, "type", geom_types, &type) ||
         readPlace(m, n, "geom", class_, body, &place) ||
         takeGeom(m, n, class_, type, body, place) ||
         (has_mass && weighGeom(m, n, class_, type, body, place));
}

/* Excludes pairs of bodies, before the contacts of geoms are known, or adds those of pairs of geoms, afterwards. */
static int readPairs(Mjcf *m, const xmlNode *section, int pairs) {
  Robot *r = m->r;
  for (const xmlNode *n = section->children; n; n = n->next) {
    const int is_pair    = robotIs(n, "pair");
    const char *names[2] = {robotText(n, is_pair ? "geom1" : "body1"),
                            robotText(n, is_pair ? "geom2" : "body2")};
    int of[2]            = {NONE, NONE};
    if ((!is_pair && !robotIs(n, "exclude")) || is_pair != pairs) continue;
    if (!names[0] || !names[1])
      return robotWrong(
          r, n, is_pair ? "geom1 and geom2 must be given" : "body1 and body2 must be given");
    for (int k = 0; k < 2; k++)
      if ((is_pair || strcmp(names[k], "world")) &&
          (of[k] = robotFind(r, n, is_pair ? "geom" : "body", names[k])) < 0)
        return 1;
    if (!is_pair) {
      if (robotExclude(r, n, of[0], of[1])) return 1;
      continue;
    }
    const RobotGeom *a = &r->geom[of[0]], *b = &r->geom[of[1]];
    const xmlNode *class_;
    sunrealtype dimensions  = a->dimensions > b->dimensions ? a->dimensions : b->dimensions,
                friction[5] = {fmax(a->friction, b->friction), 0, 0, 0, 0};
    if (mjcfClass(m, n, "class", NULL, &class_) ||
        mjcfNumbers(m, n, "pair", class_, "condim", 1, 1, &dimensions) ||
        mjcfNumbers(m, n, "pair", class_, "friction", 1, 5, friction))
      return 1;
    if (r->place[a->place].link == r->place[b->place].link) {
      if (robotTell(r, n, WITHOUT_EFFECT, "contacts between parts of one body")) return 1;
    } else if (robotTouch(r, n, of[0], of[1], dimensions > 1 ? fmax(friction[0], 0) : 0)) return 1;
  }
  return 0;
}

static int readBody(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *parent);

/* Bodies nest: what readChildren calls is not part of it (CP_RARE), so that 500 of them need little stack.
 * Reads the joints first, since they create the link, and then everything else. Frames are places
 * of their own on the same body. */
static int readChildren(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *body,
                        int joints, int geoms) {
  for (const xmlNode *c = n->children; c; c = c->next) {
    const int is_joint = robotIs(c, "joint") || robotIs(c, "freejoint");
    if (c->type != XML_ELEMENT_NODE) continue;
    if (robotIs(c, "frame")) {
      MjcfModel *outer = m->model;
      const xmlNode *class_;
      Place place;
      if (readPlace(m, c, "frame", NULL, body, &place)) return 1;
      m->model           = mjcfScope(m, c);
      const int attaches = m->model != outer, first = m->r->njoints;
      if (mjcfClass(m, c, "childclass", attaches ? NULL : around, &class_) ||
          readChildren(m, c, class_, &place, joints, geoms))
        return 1;
      if (attaches && !joints && !m->model->joints[1])
        m->model->joints[0] = first, m->model->joints[1] = m->r->njoints;
      m->model = outer;
    } else if (joints) {
      if (is_joint && body->link == GROUND)
        return robotWrong(m->r, c, "the world must have no joint");
      if (is_joint && readJoint(m, c, around, body)) return 1;
    } else if (robotIs(c, "body")) {
      if (readBody(m, c, around, body)) return 1;
    } else if (robotIs(c, "geom")) {
      if (readGeom(m, c, around, body, geoms)) return 1;
    } else if (robotIs(c, "site")) {
      const xmlNode *class_;
      Place place;
      if (mjcfClass(m, c, "class", around, &class_) ||
          readPlace(m, c, "site", class_, body, &place) || keepPlace(m->r, c, "site", &place))
        return 1;
    } else if (robotIs(c, "inertial")) {
      if (m->model->inertia != FROM_GEOMS && readInertial(m, c, body)) return 1;
    } else if (!is_joint) {
      if (robotIs(c, "attach")) return robotWrong(m->r, c, "an attached element contains this");
      if (ignore(m, c)) return 1;
    }
  }
  return 0;
}

static int readBody(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *parent) {
  const xmlNode *class_;
  Place place;
  const int inertial = countOf(n, "inertial");
  sunrealtype lifted = 0; /* the part of its weight that gravcomp carries */
  if ((robotText(n, "gravcomp") &&
       robotNumbers(m->r, n, "gravcomp", robotText(n, "gravcomp"), 1, 1, &lifted, NULL)) ||
      mjcfClass(m, n, "childclass", around, &class_) ||
      readPlace(m, n, "body", NULL, parent, &place))
    return 1;
  if (countOf(n, "joint") + countOf(n, "freejoint") > 0 &&
      (place.link = robotLink(m->r, n, robotText(n, "name"), &place)) < 0)
    return 1;
  if (inertial > 1)
    return robotWrong(m->r, n, "a body must have one inertial element, and has %d", inertial);
  const int geoms =
      (place.link != GROUND || m->total[1] > 0) &&
      (m->model->inertia == FROM_GEOMS || (m->model->inertia == FROM_EITHER && !inertial));
  Mass own = {0}, *around_it = m->body;
  const int outer = m->here;
  m->body         = &own;
  m->here         = robotText(n, "name") ? m->r->nplaces : UNNAMED;
  if (keepPlace(m->r, n, "body", &place) || readChildren(m, n, class_, &place, 1, 0) ||
      readChildren(m, n, class_, &place, 0, geoms))
    return 1;
  m->body = around_it;
  limitMass(m, &own);
  m->total[0] += own.mass;
  if (lifted < 0 && robotNote(m->r, n, "gravcomp below 0")) return 1;
  if (lifted > 0) robotLift(m->r, &(Place){{0, 0, 0, 1, 0, 0, 0}, place.link}, &own, lifted);
  if (place.link != GROUND) addMass(&own, &m->r->link[place.link].mass);
  m->tree += parent->link == GROUND && place.link != GROUND; /* A tree of bodies is complete. */
  m->here = outer;
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
        mjcfKeyword(m, n, "equality", class_, "active", no_yes, &active))
      return 1;
    if (!active) continue;
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
      mjcfKeyword(m, n, "compiler", NULL, "balanceinertia", no_yes, &m->model->balance) ||
      mjcfKeyword(m, n, "compiler", NULL, "autolimits", no_yes, &m->model->autolimits) ||
      mjcfKeyword(m, n, "compiler", NULL, "angle", angles, &degree) ||
      mjcfKeyword(m, n, "compiler", NULL, "coordinate", coordinates, &global) ||
      mjcfKeyword(m, n, "compiler", NULL, "inertiafromgeom", from, &m->model->inertia) ||
      mjcfKeyword(m, n, "compiler", NULL, "strippath", no_yes, &m->model->strippath) ||
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
  if (robotAttributes(m->r, n, " wind density viscosity ") ||
      mjcfNumbers(m, n, "option", NULL, "gravity", 3, 3, g))
    return 1;
  for (const xmlNode *c = n->children; c; c = c->next) {
    int gravity = 1;
    if (!robotIs(c, "flag")) {
      if (ignore(m, c)) return 1;
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
      if (!robotIs(n, "model") && ignore(m, n)) return 1;
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
      j->given |= !k;
      sunrealtype *e = k                 ? NULL
                       : j->type == BALL ? j->value
                       : j->type == FREE ? j->value + 3
                                         : NULL;
      if (e) failed = unit(m, key, "a quaternion of qpos", 4, e);
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
    if (what == WORLDS && !known) failed = ignore(m, n);
    if (robotIs(n, tags[what])) switch (what) {
      case COMPILERS: failed = readCompiler(m, n); break;
      case OPTIONS: failed = readOption(m, n, g); break;
      case DEFAULTS: failed = readClasses(m, n); break;
      case ASSETS: failed = readAssets(m, n); break;
      case WORLDS: /* That of an attached file is in the frame that replaces <attach>. */
        failed = readChildren(m, n, NULL, &world, 1, 0) || readChildren(m, n, NULL, &world, 0, 0);
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
        failed = robotIs(n, "contact") && readPairs(m, n, what == PAIRS);
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

/* Do equalities close loops? They are read when there are bodies. */
static int hasLoops(const Mjcf *m) {
  for (int i = 0; i < m->nmodels; i++)
    for (const xmlNode *n = m->models[i]->root->children; n; n = n->next)
      for (const xmlNode *c = robotIs(n, "equality") ? n->children : NULL; c; c = c->next)
        if (robotIs(c, "connect") || robotIs(c, "weld")) return 1;
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
  if (readKeyframe(m, key) || robotStart(r, known) || robotBuild(r)) return 1;
  r->meshes = readHull, r->meshes_data = m;
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
  return failed;
}
