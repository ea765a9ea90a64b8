/* Contacts of two shapes: the parts that touch, and their rows. */
#include "elements.h"
#include "polyhedra.h"

#include <stdio.h>
#include <string.h>

enum { PARTS = 8 };

/* A part of a shape: a solid with its centre and axes in the body */
typedef struct {
  Side side;
  Solid solid;
} Part;

static Solid solidOf(const Shape *s) {
  static const Core cores[NUM_SHAPES] = {
      [CP_SHAPE_BOX] = BOX_CORE,      [CP_SHAPE_CYLINDER] = CYLINDER_CORE,
      [CP_SHAPE_SPHERE] = POINT_CORE, [CP_SHAPE_WHEEL] = CYLINDER_CORE,
      [CP_SHAPE_CAPSULE] = SEGMENT,   [CP_SHAPE_ELLIPSOID] = ELLIPSOID_CORE,
      [CP_SHAPE_PLANE] = HALF_SPACE,  [CP_SHAPE_MESH] = NO_SOLID};
  Solid solid = {cores[s->kind], {s->half[0], s->half[1], s->half[2]}, 0};
  if (solid.core == POINT_CORE || solid.core == SEGMENT) {
    solid.skin    = s->half[0];
    solid.half[0] = solid.half[1] = 0;
    if (solid.core == POINT_CORE) solid.half[2] = 0;
  }
  return solid;
}

/* What of a shape touches the other one, which is a plane or not. part: out. Returns the number of parts. */
static int partsOf(const Mechanism *m, const Shape *s, int on_plane, Part *part) {
  const Side *own   = &m->pair[s->pair].side[1];
  const Solid solid = solidOf(s);
  const int ends    = on_plane && (solid.core == SEGMENT || solid.core == CYLINDER_CORE),
            corners = on_plane && solid.core == BOX_CORE,
            n       = ends      ? 2
                      : corners ? 8
                                : 1;
  for (int i = 0; i < n; i++) {
    part[i] = (Part){*own, solid};
    for (int k = ends ? 2 : 0, bit = i; n > 1 && k < 3; k++, bit >>= 1)
      add3((bit & 1 ? 1 : -1) * solid.half[k], own->axis[k], part[i].side.point);
    if (corners || (ends && solid.core == SEGMENT))
      part[i].solid = (Solid){POINT_CORE, {0}, solid.skin};
    if (ends && solid.core == CYLINDER_CORE) part[i].solid.half[2] = 0;
  }
  return n;
}

static int isPolyhedron(const Shape *s) {
  return s->kind == CP_SHAPE_BOX || s->kind == CP_SHAPE_MESH;
}

/* Puts a plane first. Returns 1 if there is no contact of these shapes. */
static int order(const Shape *shape[2]) {
  if (shape[1]->kind == CP_SHAPE_PLANE) {
    const Shape *swap = shape[0];
    shape[0] = shape[1], shape[1] = swap;
  }
  if (shape[0]->kind == CP_SHAPE_PLANE) return shape[1]->kind == CP_SHAPE_PLANE;
  for (int k = 0; k < 2; k++) {
    const CPShapeKind other = shape[!k]->kind;
    if (isPolyhedron(shape[k]) && !isPolyhedron(shape[!k]) && other != CP_SHAPE_SPHERE &&
        other != CP_SHAPE_CAPSULE)
      return 1;
  }
  return 0;
}

/* The number of contacts of two ordered shapes for the features of polyhedra (touching.c), or 0. The simpler contacts of a box with a plane
 * and with a sphere have other rows. */
static int meetings(const Shape *const shape[2]) {
  const CPShapeKind a = shape[0]->kind, b = shape[1]->kind;
  const int meshes = (a == CP_SHAPE_MESH) + (b == CP_SHAPE_MESH),
            balls  = (a == CP_SHAPE_SPHERE) + (b == CP_SHAPE_SPHERE),
            rods   = (a == CP_SHAPE_CAPSULE) + (b == CP_SHAPE_CAPSULE);
  if (meshes == 0 && (a == CP_SHAPE_PLANE || balls > 0)) return 0;
  if (!isPolyhedron(shape[0]) && !isPolyhedron(shape[1])) return 0;
  return balls ? 1 : rods ? 4 : MEETING_CONTACTS;
}

/* The pair of part i of the second one of ordered shapes with the first one. Returns the number of parts. */
static int pairOf(const Mechanism *m, const Shape *shape[2], int i, Pair *pair) {
  Part part[2][PARTS];
  if (meetings(shape)) { /* What touches is found in a run (touching.c). */
    *pair = (Pair){.solid = {{NO_SOLID, {1, 0, 0}, 0}, {NO_SOLID, {1, 0, 0}, 0}}};
    for (int side = 0; side < 2; side++) pair->side[side] = m->pair[shape[side]->pair].side[1];
    return meetings(shape);
  }
  partsOf(m, shape[0], 0, part[0]);
  const int n   = partsOf(m, shape[1], shape[0]->kind == CP_SHAPE_PLANE, part[1]);
  *pair         = (Pair){.solid = {part[0][0].solid, part[1][i].solid}};
  pair->side[0] = part[0][0].side;
  pair->side[1] = part[1][i].side;
  return n;
}

/* Shape a is `depth` in another one along n, which leads towards that, in the axes of a. */
static void overlaps(const Mechanism *m, const Shape *a, sunrealtype depth, const sunrealtype *n,
                     Overlap *overlap) {
  const Side *side = &m->pair[a->pair].side[1];
  *overlap         = (Overlap){.shape = (int)(a - m->shape), .depth = depth};
  for (int k = 0; k < 3; k++) add3(-depth * n[k], side->axis[k], overlap->by);
}

/* bodiesTouching of polyhedra: along the axis that separates them most */
static Touching polyhedraTouching(const Mechanism *m, const Shape *const shape[2],
                                  sunrealtype rounding, Overlap *overlap) {
  Placed p[2];
  sunrealtype along[3], n[3] = {0, 0, 0};
  Polyhedron own[2] = {{0}};
  int failed        = 0;
  for (int side = 0; side < 2; side++) {
    Pose pose[2];
    const Pair *pair = &m->pair[shape[side]->pair];
    bodiesPlaced(m, pair, pose);
    failed |= polyhedronOf(shape[side], &own[side]);
    p[side] = polyhedronPlaced(&own[side], &pair->side[1], &pose[1]);
  }
  sunrealtype between[3] = {p[1].x[0], p[1].x[1], p[1].x[2]};
  add3(-1, p[0].x, between);
  const sunrealtype size  = fmax(own[0].size, own[1].size),
                    balls = length3(between) - own[0].radius - own[1].radius,
                    gap   = failed || balls > 0 ? 0 : polyhedraSeparation(p, along);
  const int is_inside     = gap < -rounding * size;
  for (int i = 0; i < 3 && is_inside; i++) add3(along[i], p[0].R[i], n);
  if (is_inside) overlaps(m, shape[0], -gap, n, overlap);
  for (int side = 0; side < 2; side++) polyhedronFree(&own[side]);
  return failed ? SHAPES_NO_MEMORY : is_inside ? SHAPES_INSIDE : SHAPES_APART;
}

Touching bodiesTouching(const Mechanism *m, int a, int b, Overlap *overlap) {
  static const sunrealtype rounding = SUN_RCONST(1e-9);
  const Shape *shape[2]             = {&m->shape[a], &m->shape[b]};
  Touching touching                 = SHAPES_APART;
  *overlap                          = (Overlap){.depth = 0};
  if (order(shape)) return SHAPES_UNKNOWN;
  if (meetings(shape)) return polyhedraTouching(m, shape, rounding, overlap);
  for (int i = 0, n = 1; i < n; i++) {
    sunrealtype gap, point[3], normal[3], t[2][3], size = 0;
    Pair pair;
    Pose pose[2];
    n = pairOf(m, shape, i, &pair);
    bodiesPlaced(m, &pair, pose);
    if (bodiesNearest(&m->space, &pair, &pose[0], &pose[1], &gap, point, normal, t)) {
      touching = SHAPES_UNCLEAR;
      continue;
    }
    for (int side = 0; side < 2; side++)
      for (int k = 0; k < 3; k++)
        size = fmax(size, fabs(pair.solid[side].half[k]) + pair.solid[side].skin);
    if (gap < -rounding * fmax(size, length3(point)) && -gap > overlap->depth)
      overlaps(m, shape[0], -gap, normal, overlap);
  }
  return overlap->depth > 0 ? SHAPES_INSIDE : touching;
}

int bodiesMovedShape(CPBodies b, int shape, const char *name, const sunrealtype *by) {
  const Mechanism *m = &b->m;
  const Shape *of    = &m->shape[shape];
  const Side *side   = &m->pair[of->pair].side[1];
  const Body *body   = side->body == GROUND ? NULL : &m->body[side->body];
  const int edges    = of->kind == CP_SHAPE_BOX || of->kind == CP_SHAPE_PLANE;
  char text[128];
  int index = NONE;
  snprintf(text, sizeof text, "%s", body ? m->text + body->name : "ground"); /* Names move. */
  CPShape new = {.head = CP_NEW_SHAPE(name), .kind = of->kind, .body = text, .in = CP_IN_BODIES};
  for (int k = 0; k < 3; k++) {
    const int whole = edges || (k == 2 && of->kind != CP_SHAPE_ELLIPSOID);
    new.size[k]     = (whole ? 2 : 1) * of->half[k];
    new.on.point[k] = side->point[k] + by[k] + (body ? body->centre[k] : 0);
    new.on.axis[k] = side->axis[2][k], new.on.across[k] = side->axis[0][k];
  }
  if (of->mesh) new.points = *of->mesh->is.vertex, new.npoints = of->mesh->is.nvertices;
  const int flag = CPBodiesAdd(b, &new.head, &index);
  return flag < 0 ? flag : index;
}

/* Finds the shapes, a plane first, and checks that they are apart. Returns 0 or an error code that has been reported. */
static int findShapes(CPBodies b, const CPBodyContact *c, const char *name, const Shape *shape[2]) {
  const char *names[2] = {c->a, c->b};
  char more[SUGGESTION];
  Overlap overlap;
  int index[2];
  if (b->m.space.dimension == 2)
    return refused(b, CP_NOT_SUPPORTED, "%s: contacts of shapes are those in space", name);
  for (int side = 0; side < 2; side++) {
    const char *of = names[side] ? names[side] : "";
    index[side]    = bodiesFind(&b->m, NAME_SHAPE, of, strlen(of));
    if (index[side] < 0)
      return refused(b, CP_ILL_INPUT, "%s: there is no shape \"%.100s\"%s", name, of,
                     bodiesSuggest(&b->m, NAME_SHAPE, of, strlen(of), more));
    shape[side] = &b->m.shape[index[side]];
  }
  if (b->m.pair[shape[0]->pair].side[1].body == b->m.pair[shape[1]->pair].side[1].body)
    return refused(b, CP_ILL_INPUT, "%s: \"%.100s\" and \"%.100s\" are shapes of the same body",
                   name, c->a, c->b);
  switch (bodiesTouching(&b->m, index[0], index[1], &overlap)) {
  case SHAPES_APART: break;
  case SHAPES_NO_MEMORY: return bodiesNoMemory(b, name);
  case SHAPES_UNKNOWN:
    return refused(
        b, CP_NOT_SUPPORTED,
        "%s: there is no contact of \"%.100s\" and \"%.100s\": boxes and meshes touch each "
        "other, spheres, capsules and planes, and planes do not touch planes",
        name, c->a, c->b);
  case SHAPES_INSIDE:
    return refused(b, CP_ILL_INPUT, "%s: \"%.100s\" and \"%.100s\" begin in each other, %g m deep",
                   name, c->a, c->b, (double)overlap.depth);
  case SHAPES_UNCLEAR:
    return refused(b, CP_ILL_INPUT,
                   "%s: \"%.100s\" and \"%.100s\" begin in each other, so deep that they have no "
                   "nearest points, or with "
                   "parallel flat faces",
                   name, c->a, c->b);
  }
  order(shape);
  return CP_SUCCESS;
}

int bodiesAddShapeContact(CPBodies b, const CPBodyContact *contact) {
  enum { PARAMS = 4 }; /* radius, friction, sticking, restitution */
  const char *name       = contact->head.name;
  const Mechanism before = b->m;
  const Shape *shape[2];
  char own[128]; /* Names longer than 100 characters are refused, so this is long enough. */
  int flag = bodiesCheckName(b, name, 0);
  if (!flag) flag = findShapes(b, contact, name, shape);
  if (flag) return flag;
  const int plane = shape[0]->kind == CP_SHAPE_PLANE;
  for (int i = 0, n = 1; i < n; i++) {
    Pair pair;
    n = pairOf(&b->m, shape, i, &pair);
    snprintf(own, sizeof own, n > 1 ? "%.110s_%d" : "%.110s", name, i + 1);
    if ((flag = bodiesCheckName(b, own, PARAMS))) break;
    if (bodiesJointRoom(b) || ROOM(b->m.contact, b->m.ncontacts, 1) ||
        ROOM(b->m.meeting, b->m.nmeetings, 1)) {
      flag = bodiesNoMemory(b, own);
      break;
    }
    const int text = bodiesTakeName(b, own, NAME_JOINT, b->m.njoints);
    /* A ball on a plane has simpler measures. */
    const int ball       = plane && pair.solid[1].core == POINT_CORE;
    const CPContactOn on = ball ? CP_ON_PLANE : CP_ON_SHAPE;
    const int radius     = ball ? bodiesTakeParam(b, text, "length", pair.solid[1].skin) : NONE;
    const int joint      = bodiesTakeJoint(b, text, CP_JOINT_ROLLING, on, &pair, radius);
    bodiesTakeContact(b, joint, on, &contact->law, radius);
  }
  if (flag < 0) bodiesForget(b, &before);
  else if (meetings(shape))
    b->m.meeting[b->m.nmeetings++] =
        (Meeting){{(int)(shape[0] - b->m.shape), (int)(shape[1] - b->m.shape)},
                  before.ncontacts,
                  meetings(shape)};
  return flag < 0 ? flag : before.ncontacts;
}
