/* Contacts of the geoms of robots: which of them touch, and as what. */
#include "elements.h"
#include "hull.h"
#include "robot_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a geom is called in messages */
static const char *nameOf(const Robot *r, const RobotGeom *g) {
  const int link = r->place[g->place].link;
  return g->name ? g->name : link == GROUND ? "a geom of the world" : r->link[link].name;
}

int robotHull(Robot *r, const xmlNode *at, const MeshSource *from, int most, MeshHull *hull) {
  return meshHull(from, most, hull) == hull_no_memory ? robotWrong(r, at, "no memory") : 0;
}

/* Reads the hull of a geom that is a mesh. Without points it has no shape: messages about its file say nothing, as a file without that
 * mesh moves as well. Returns 1 after a message. */
static int readPoints(Robot *r, RobotGeom *g, MeshHull *hull) {
  if (r->meshes(r, g, r->meshes_data, hull)) return 1;
  if (!hull->point) g->kind = -1, g->what = "meshes that have no convex hull, or no file";
  return hull->is_concave &&
         robotTell(r, g->node, CHANGED,
                   "the shape of %.60s, which is not convex, to its convex hull", nameOf(r, g));
}

static int isRound(const RobotGeom *g) {
  return g->kind == CP_SHAPE_CYLINDER || g->kind == CP_SHAPE_ELLIPSOID;
}

/* The corners of a polyhedron within a cylinder, whose faces at the ends it has, or within an ellipsoid: on meridians and parallels that
 * are an angle 2 d apart. Returns 1 after a message. */
static int facetsOf(Robot *r, const RobotGeom *g, MeshHull *hull, sunrealtype *off) {
  static const int sides = 16;
  const int is_cylinder = g->kind == CP_SHAPE_CYLINDER, rings = is_cylinder ? 2 : sides / 2 + 1;
  const sunrealtype *size = g->size, d = 4 * atan(SUN_RCONST(1.0)) / sides,
                    half[3] = {size[0], size[!is_cylinder], is_cylinder ? size[2] / 2 : size[2]};
  sunrealtype *x = hull->point = malloc((size_t)(3 * rings * sides) * sizeof *x);
  if (!x) return robotWrong(r, g->node, "no memory");
  for (int i = 0; i < rings; i++) {
    const int is_pole     = !is_cylinder && (i == 0 || i == rings - 1);
    const sunrealtype rho = is_cylinder ? 1
                            : is_pole   ? 0
                                        : sin(2 * d * i),
                      z   = is_cylinder ? 2 * i - 1 : -cos(2 * d * i);
    for (int k = 0; k < (is_pole ? 1 : sides); k++, x += 3)
      x[0] = rho * cos(2 * d * k) * half[0], x[1] = rho * sin(2 * d * k) * half[1],
      x[2] = z * half[2];
  }
  hull->npoints = (int)(x - hull->point) / 3;
  *off          = is_cylinder ? (1 - cos(d)) * half[0]
                              : sin(d) * sin(d) * fmax(half[0], fmax(half[1], half[2]));
  return 0;
}

/* Gives a geom its shape in the mechanism when it first needs one, if it has one; or, if has_facets is set, that of a polyhedron.
 * shape: out. Returns 1 after a message. */
static int shapeOf(Robot *r, RobotGeom *g, int has_facets, int *shape) {
  const int is_own   = !has_facets || !isRound(g);
  int *index         = is_own ? &g->shape : &g->facets;
  const Place *place = &r->place[g->place];
  const char *body   = place->link == GROUND ? "ground" : r->link[place->link].name;
  char unique[128];
  MeshHull hull = {0};
  CPShape new   = {.kind = is_own ? (CPShapeKind)g->kind : CP_SHAPE_MESH,
                   .body = body,
                   .in   = CP_IN_BODIES,
                   .size = {g->size[0], g->size[1], g->size[2]}};
  int failed    = *index >= 0                ? 0
                  : !is_own                  ? facetsOf(r, g, &hull, &g->off)
                  : g->kind == CP_SHAPE_MESH ? readPoints(r, g, &hull)
                                             : 0;
  if (*index < 0 && g->kind >= 0 && !failed) {
    new.points = hull.point, new.npoints = hull.npoints;
    failed   = robotUnique(r, g->node, g->name ? g->name : body,
                         !is_own   ? "_facets"
                           : g->name ? "_shape"
                                     : "_geom",
                           unique);
    new.head = (CPElement)CP_NEW_SHAPE(unique);
    robotMarker(r, place, &new.on);
    failed = failed || robotRefused(r, g->node, CPBodiesAdd(r->bodies, &new.head, index));
  }
  free(hull.point);
  *shape = *index;
  return failed;
}

/* The length of the shape's largest half axis; a plane has no end */
static sunrealtype sizeOf(const Shape *s) {
  return s->kind == CP_SHAPE_PLANE ? INFINITY : fmax(s->half[0], fmax(s->half[1], s->half[2]));
}

/* How two shapes [2] begin. Of those that are in each other by a small part of the smaller one, a copy takes the place of one, moved so
 * that it touches the other one; depth: out. Returns 1 after a message. */
static int separate(Robot *r, const xmlNode *at, int *shape, Touching *touching, sunrealtype *depth) {
  static const sunrealtype little = SUN_RCONST(0.01);
  const Mechanism *m              = &r->bodies->m;
  char unique[128], base[128];
  Overlap overlap;
  *touching = bodiesTouching(m, shape[0], shape[1], &overlap);
  *depth    = overlap.depth;
  if (*touching != SHAPES_INSIDE ||
      *depth > little * fmin(sizeOf(&m->shape[shape[0]]), sizeOf(&m->shape[shape[1]])))
    return 0;
  snprintf(base, sizeof base, "%s", m->text + m->shape[overlap.shape].name);
  int *moved = &shape[shape[0] != overlap.shape];
  if (robotUnique(r, at, base, "", unique) ||
      robotRefused(r, at, *moved = bodiesMovedShape(r->bodies, *moved, unique, overlap.by)))
    return 1;
  *touching = bodiesTouching(m, shape[0], shape[1], &overlap);
  return 0;
}

/* Adds the contact of two geoms with this friction, or tells that it is left out. */
static int addPair(Robot *r, const xmlNode *at, RobotGeom *a, RobotGeom *b, sunrealtype friction) {
  const Mechanism *m = &r->bodies->m;
  char unique[128], base[128];
  RobotGeom *of[2] = {a, b};
  sunrealtype depth;
  Touching touching = SHAPES_UNKNOWN;
  int shape[2], has_facets = -1;
  /* Round shapes touch no polyhedra, and not with flat faces that are parallel to others. */
  while ((touching == SHAPES_UNKNOWN || touching == SHAPES_UNCLEAR) &&
         ++has_facets <= (isRound(a) || isRound(b))) {
    for (int k = 0; k < 2 && a->kind >= 0 && b->kind >= 0; k++)
      if (shapeOf(r, of[k], has_facets, &shape[k])) return 1;
    if (a->kind < 0 || b->kind < 0)
      return robotNote(r, at, "contacts of %s", a->kind < 0 ? a->what : b->what);
    if (separate(r, at, shape, &touching, &depth)) return 1;
  }
  switch (touching) {
  case SHAPES_APART:
    for (int k = 0; k < 2 && has_facets; k++)
      if (isRound(of[k]) &&
          robotTell(r, of[k]->node, CHANGED,
                    "the shape of %.50s, where it meets boxes and meshes or lies flat, to a "
                    "polyhedron within it, by at most %.3g m",
                    nameOf(r, of[k]), (double)of[k]->off))
        return 1;
    if (depth > 0 &&
        robotTell(r, at, CHANGED,
                  "the contact of %.50s and %.50s, which begin %.3g m in each other, to one in "
                  "which they touch",
                  nameOf(r, a), nameOf(r, b), (double)depth))
      return 1;
    break;
  case SHAPES_NO_MEMORY: return robotWrong(r, at, "no memory");
  case SHAPES_UNKNOWN: return robotNote(r, at, "contacts of planes with planes");
  case SHAPES_INSIDE:
    return robotNote(r, at, "the contact of %.50s and %.50s, which begin %.3g m in each other",
                     nameOf(r, a), nameOf(r, b), (double)depth);
  case SHAPES_UNCLEAR:
    return robotNote(r, at, "the contact of %.50s and %.50s, which begin deep in each other",
                     nameOf(r, a), nameOf(r, b));
  }
  snprintf(base, sizeof base, "%.44s_%.44s", nameOf(r, b),
           r->place[a->place].link == GROUND && !a->name ? "world" : nameOf(r, a));
  if (robotUnique(r, at, base, "", unique)) return 1;
  char one[128], other[128]; /* copies: the names of the mechanism move as it gets more */
  snprintf(one, sizeof one, "%s", m->text + m->shape[shape[0]].name);
  snprintf(other, sizeof other, "%s", m->text + m->shape[shape[1]].name);
  const CPBodyContact contact = {CP_NEW_CONTACT(unique), .a = one, .b = other, .on = CP_ON_SHAPE,
                                 .law = {.mu = friction}};
  return robotRefused(r, at, CPBodiesAdd(r->bodies, &contact.head, NULL));
}

int robotTouch(Robot *r, const xmlNode *at, int i, int j, sunrealtype friction) {
  return addPair(r, at, &r->geom[i], &r->geom[j], friction);
}

int robotGeom(Robot *r, const RobotGeom *g, const Place *place) {
  if (ROOM(r->place, r->nplaces, 1) || ROOM(r->geom, r->ngeoms, 1))
    return robotWrong(r, g->node, "no memory");
  RobotGeom *new = &r->geom[r->ngeoms++];
  *new           = *g;
  new->place = r->nplaces, new->shape = new->facets = -1;
  r->place[r->nplaces++] = *place;
  return 0;
}

int robotExclude(Robot *r, const xmlNode *at, int a, int b) {
  if (ROOM(r->excluded, r->nexcluded, 1)) return robotWrong(r, at, "no memory");
  r->excluded[r->nexcluded][0]   = a;
  r->excluded[r->nexcluded++][1] = b;
  return 0;
}

int robotTouches(Robot *r, int *on) {
  static const char *const words[] = {"no", "yes", "meshes"};
  char text[20]                    = "";
  int k                            = 0;
  if (!robotSetting(r, "contacts", text, sizeof text)) return 0;
  while (k < 3 && strcmp(text, words[k])) k++;
  *on = k;
  return k < 3 ? 0 : robotWrong(r, NULL, "contacts must be yes, no or meshes, and is \"%s\"", text);
}

static int isExcluded(const Robot *r, const RobotGeom *a, const RobotGeom *b) {
  for (int i = 0; i < r->nexcluded; i++) {
    const int *of = r->excluded[i];
    if ((of[0] == a->body && of[1] == b->body) || (of[0] == b->body && of[1] == a->body)) return 1;
  }
  return 0;
}

static int moves(const Robot *r, const RobotGeom *g) { return r->place[g->place].link != GROUND; }

/* Do two geoms touch where they meet? */
static int mayTouch(const Robot *r, const RobotGeom *a, const RobotGeom *b) {
  return r->place[a->place].link != r->place[b->place].link &&
         (a->tree != b->tree || (a->self && b->self)) &&
         ((a->type & b->affinity) || (b->type & a->affinity)) && !isExcluded(r, a, b);
}

/* Their coefficient of friction */
static sunrealtype frictionOf(const Robot *r, const RobotGeom *a, const RobotGeom *b) {
  if (a->dimensions <= 1 && b->dimensions <= 1) return 0;
  return r->least ? fmin(a->friction, b->friction) : fmax(a->friction, b->friction);
}

int robotContacts(Robot *r) {
  /* Each pair has three rows, which all states are evaluated for: thousands of pairs take seconds for a few steps. */
  enum { MOST_PAIRS = 2000 };
  int pairs = 0; /* of bodies that move */
  for (int j = 0; j < r->ngeoms; j++)
    for (int i = 0; i < j && pairs <= MOST_PAIRS; i++)
      pairs +=
          moves(r, &r->geom[i]) && moves(r, &r->geom[j]) && mayTouch(r, &r->geom[i], &r->geom[j]);
  if (pairs > MOST_PAIRS &&
      robotNote(r, r->geom[r->ngeoms - 1].node,
                "contacts of bodies that move with each other, of more than %d pairs", MOST_PAIRS))
    return 1;
  for (int j = 0; j < r->ngeoms; j++)
    for (int i = 0; i < j; i++) {
      RobotGeom *a = &r->geom[i], *b = &r->geom[j];
      if ((pairs > MOST_PAIRS && moves(r, a) && moves(r, b)) || !mayTouch(r, a, b)) continue;
      /* Geoms of the world come first, whatever the order of the file. */
      RobotGeom *first = moves(r, b) ? a : b, *second = moves(r, b) ? b : a;
      if (addPair(r, second->node, first, second, frictionOf(r, a, b))) return 1;
    }
  return 0;
}
