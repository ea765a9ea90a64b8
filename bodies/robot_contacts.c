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

/* Gives a geom its shape in the mechanism when it first needs one, if it has one. Returns 1 after a message. */
static int shapeOf(Robot *r, RobotGeom *g) {
  if (g->shape >= 0) return 0;
  const Place *place = &r->place[g->place];
  const char *body   = place->link == GROUND ? "ground" : r->link[place->link].name;
  char unique[128];
  MeshHull hull = {0};
  CPShape shape = {.kind = (CPShapeKind)g->kind,
                   .body = body,
                   .in   = CP_IN_BODIES,
                   .size = {g->size[0], g->size[1], g->size[2]}};
  int failed    = g->kind == CP_SHAPE_MESH && readPoints(r, g, &hull);
  if (g->kind >= 0 && !failed) {
    shape.points = hull.point, shape.npoints = hull.npoints;
    failed = robotUnique(r, g->node, g->name ? g->name : body, g->name ? "_shape" : "_geom", unique);
    shape.head = (CPElement)CP_NEW_SHAPE(unique);
    robotMarker(r, place, &shape.on);
    failed = failed || robotRefused(r, g->node, CPBodiesAdd(r->bodies, &shape.head, &g->shape));
  }
  free(hull.point);
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
  sunrealtype depth;
  Touching touching;
  for (int k = 0; k < 2 && a->kind >= 0 && b->kind >= 0; k++)
    if (shapeOf(r, k ? b : a)) return 1;
  if (a->kind < 0 || b->kind < 0)
    return robotNote(r, at, "contacts of %s", a->kind < 0 ? a->what : b->what);
  int shape[2] = {a->shape, b->shape};
  if (separate(r, at, shape, &touching, &depth)) return 1;
  switch (touching) {
  case SHAPES_APART:
    if (depth > 0 &&
        robotTell(r, at, CHANGED,
                  "the contact of %.50s and %.50s, which begin %.3g m in each other, to one in "
                  "which they touch",
                  nameOf(r, a), nameOf(r, b), (double)depth))
      return 1;
    break;
  case SHAPES_NO_MEMORY: return robotWrong(r, at, "no memory");
  case SHAPES_UNKNOWN:
    return robotNote(r, at, "contacts of boxes and meshes with cylinders and ellipsoids");
  case SHAPES_INSIDE:
    return robotNote(r, at, "the contact of %.50s and %.50s, which begin %.3g m in each other",
                     nameOf(r, a), nameOf(r, b), (double)depth);
  case SHAPES_UNCLEAR:
    return robotNote(
        r,
        at, "the contact of %.50s and %.50s, which begin deep in each other, or with parallel flat faces",
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
  r->geom[r->ngeoms]         = *g;
  r->geom[r->ngeoms++].place = r->nplaces;
  r->place[r->nplaces++]     = *place;
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
