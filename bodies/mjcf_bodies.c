/* Bodies of MJCF: their inertia and geoms, joints, frames and sites. A body without joints becomes part of its parent. */
#include "mjcf_impl.h"

#include <stdlib.h>
#include <string.h>

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
      mjcfUnit(m, n, "refquat", 4, from->refquat))
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
int mjcfHull(Robot *r, const RobotGeom *g, void *mjcf, MeshHull *hull) {
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
  m->part = *place;
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
    if (mjcfUnit(m, n, "fromto", 3, along)) return 1;
    mjcfTurnZ(along, e);
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
      mjcfKeyword(m, n, "geom", class_, "shellinertia", mjcf_no_yes, &shell))
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
  if (mjcfPlace(m, n, "inertial", NULL, body, &place)) return 1;
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

int mjcfIgnore(Mjcf *m, const xmlNode *n) {
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
  RobotGeom g = {.node = n, .name = robotText(n, "name"), .kind = -1, .body = m->here};
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

/* --------------------------------------------------------------------------------- fluid -- */

static int hasFluid(const Mjcf *m) { return m->fluid[0] > 0 || m->fluid[1] > 0; }

static int takeDrag(Mjcf *m, const MjcfDrag *drag, const Place *place) {
  if (ROOM(m->drag, m->ndrags, 1) || ROOM(m->r->place, m->r->nplaces, 1))
    return robotWrong(m->r, drag->node, "no memory");
  m->drag[m->ndrags]           = *drag;
  m->drag[m->ndrags++].place   = m->r->nplaces;
  m->r->place[m->r->nplaces++] = *place;
  return 0;
}

/* Takes a geom if it has fluidshape="ellipsoid": the fluid acts on the ellipsoid with its half sizes. */
CP_RARE static int takeFluidShape(Mjcf *m, const xmlNode *n, const xmlNode *class_, int type,
                                  const Place *body, Place place) {
  static const char *const shapes[] = {"none", "ellipsoid", NULL};
  MjcfDrag drag                     = {.node = n, .coefficients = {0.5, 0.25, 1.5, 1, 1}};
  int shape                         = 0;
  sunrealtype *s                    = drag.size;
  if (body->link == GROUND || !hasFluid(m)) return 0;
  if (mjcfKeyword(m, n, "geom", class_, "fluidshape", shapes, &shape) ||
      mjcfNumbers(m, n, "geom", class_, "fluidcoef", 1, 5, drag.coefficients))
    return 1;
  if (!shape) return 0;
  m->has_fluid_shape = 1;
  if (type >= NUM_SOLIDS || mjcfGet(m, n, "geom", class_, "mesh"))
    return robotNote(m->r, n, "the drag of the fluid on meshes");
  if (readSolid(m, n, class_, type, body, s, &place)) return 1;
  if (type == SPHERE || type == CAPSULE) s[2] = type == CAPSULE ? s[0] + s[1] : s[0];
  if (type == CYLINDER) s[2] = s[1];
  if (type == SPHERE || type == CAPSULE || type == CYLINDER) s[1] = s[0];
  return takeDrag(m, &drag, &place);
}

/* The fluid acts on a body without such geoms as on the box with its mass and principal moments. Of equal moments any axes are principal
 * ones, but not equal for the drag: those of its only part count, otherwise those nearest to the body's. */
CP_RARE static int takeInertiaBox(Mjcf *m, const xmlNode *n, const Place *body, const Mass *mass) {
  MjcfDrag drag = {.node = n, .is_box = 1};
  Place place   = m->part;
  Mass own;
  Pose pose;
  sunrealtype value[3], axis[3][3], by_axis[3][3], turn[4], e[4];
  for (int try = 0; try < 2; try++) { /* in the axes of the part, then in those of the body */
    const Place back = {{0, 0, 0, place.q[3], -place.q[4], -place.q[5], -place.q[6]}, GROUND};
    int products     = 0;
    robotPose(&back, &pose);
    own = *mass;
    moveMass(&pose, &own);
    for (int k = 3; k < 6; k++) /* Roundoff would turn the axes of equal moments by any angle. */
      if (fabs(own.J[k]) <= SUN_RCONST(1e-12) * (own.J[0] + own.J[1] + own.J[2])) own.J[k] = 0;
      else products = 1;
    if (!products) break;
    if (!try) place = *body;
  }
  principalInertia(own.J, value, axis);
  for (int k = 0; k < 9; k++) by_axis[k / 3][k % 3] = axis[k % 3][k / 3];
  robotAxes(by_axis, turn);
  robotTurn(place.q + 3, turn, e);
  memcpy(place.q + 3, e, sizeof e);
  for (int k = 0; k < 3; k++)
    drag.size[k] =
        sqrt(fmax(0, 6 * (value[(k + 1) % 3] + value[(k + 2) % 3] - value[k]) / mass->mass));
  memcpy(place.q, mass->centre, sizeof mass->centre);
  place.link = body->link;
  return length3(drag.size) > 0 ? takeDrag(m, &drag, &place) : 0;
}

int mjcfDrags(Mjcf *m) {
  for (int i = 0; i < m->ndrags; i++) {
    const MjcfDrag *from = &m->drag[i];
    const Place *place   = &m->r->place[from->place];
    const Link *link     = &m->r->link[place->link];
    const char *own      = robotText(from->node, "name");
    const sunrealtype *c = from->coefficients;
    char name[128];
    if (robotUnique(m->r, from->node, own ? own : link->name, "_drag", name)) return 1;
    CPDrag drag = {CP_NEW_DRAG(name),      .body = link->name,       .in = CP_IN_BODIES,
                   .density = m->fluid[0], .viscosity = m->fluid[1], .blunt = c[0],
                   .slender = c[1],        .angular = c[2],          .kutta = c[3],
                   .magnus = c[4]};
    robotMarker(m->r, place, &drag.on);
    memcpy(drag.wind, m->fluid + 2, sizeof drag.wind);
    memcpy(from->is_box ? drag.edges : drag.half_axes, from->size, sizeof from->size);
    if (robotRefused(m->r, from->node, CPBodiesAdd(m->r->bodies, &drag.head, NULL))) return 1;
  }
  return 0;
}

/* Reads a geom. has_mass: 1 if its body has the mass of its geoms */
CP_RARE static int readGeom(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *body,
                            int has_mass) {
  int type = SPHERE;
  const xmlNode *class_;
  Place place;
  return mjcfClass(m, n, "class", around, &class_) ||
         mjcfKeyword(m, n, "geom", class_, "type", geom_types, &type) ||
         mjcfPlace(m, n, "geom", class_, body, &place) ||
         takeGeom(m, n, class_, type, body, place) ||
         takeFluidShape(m, n, class_, type, body, place) ||
         (has_mass && weighGeom(m, n, class_, type, body, place));
}

int mjcfPairs(Mjcf *m, const xmlNode *section, int pairs) {
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

/* Bodies nest: what mjcfChildren calls is not part of it (CP_RARE), so that 500 of them need little stack.
 * Reads the joints first, since they create the link, and then everything else. Frames are places
 * of their own on the same body. */
int mjcfChildren(Mjcf *m, const xmlNode *n, const xmlNode *around, const Place *body, int joints,
                 int geoms) {
  for (const xmlNode *c = n->children; c; c = c->next) {
    const int is_joint = robotIs(c, "joint") || robotIs(c, "freejoint");
    if (c->type != XML_ELEMENT_NODE) continue;
    if (robotIs(c, "frame")) {
      MjcfModel *outer = m->model;
      const xmlNode *class_;
      Place place;
      if (mjcfPlace(m, c, "frame", NULL, body, &place)) return 1;
      m->model           = mjcfScope(m, c);
      const int attaches = m->model != outer, first = m->r->njoints;
      if (mjcfClass(m, c, "childclass", attaches ? NULL : around, &class_) ||
          mjcfChildren(m, c, class_, &place, joints, geoms))
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
          mjcfPlace(m, c, "site", class_, body, &place) || keepPlace(m->r, c, "site", &place))
        return 1;
    } else if (robotIs(c, "inertial")) {
      if (m->model->inertia != FROM_GEOMS && readInertial(m, c, body)) return 1;
    } else if (!is_joint) {
      if (robotIs(c, "attach")) return robotWrong(m->r, c, "an attached element contains this");
      if (mjcfIgnore(m, c)) return 1;
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
      mjcfPlace(m, n, "body", NULL, parent, &place))
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
  const int outer = m->here, has_fluid_shape = m->has_fluid_shape;
  const Place part   = m->part;
  m->has_fluid_shape = 0, m->part = place;
  m->body = &own;
  m->here = robotText(n, "name") ? m->r->nplaces : UNNAMED;
  if (keepPlace(m->r, n, "body", &place) || mjcfChildren(m, n, class_, &place, 1, 0) ||
      mjcfChildren(m, n, class_, &place, 0, geoms))
    return 1;
  m->body = around_it;
  limitMass(m, &own);
  m->total[0] += own.mass;
  if (hasFluid(m) && !m->has_fluid_shape && place.link != GROUND && own.mass > 0 &&
      takeInertiaBox(m, n, &place, &own))
    return 1;
  m->has_fluid_shape = has_fluid_shape, m->part = part;
  if (lifted < 0 && robotNote(m->r, n, "gravcomp below 0")) return 1;
  if (lifted > 0) robotLift(m->r, &(Place){{0, 0, 0, 1, 0, 0, 0}, place.link}, &own, lifted);
  if (place.link != GROUND) addMass(&own, &m->r->link[place.link].mass);
  m->tree += parent->link == GROUND && place.link != GROUND; /* A tree of bodies is complete. */
  m->here = outer;
  return 0;
}
