/* Contacts of SDF: the <collision> of links, which touch those of other models. Links of one model, with all that is in it, touch each
 * other where both have <self_collide>, unless a joint connects them. The hulls of meshes of one model often overlap where its parts do
 * not: they touch if the user asks for it. */
#include "sdf_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The hull of a mesh (MeshOf) */
static int readHull(Robot *r, const RobotGeom *g, void *sdf, MeshHull *hull) {
  MeshSource from;
  char *data;
  const char before = r->message[0];
  if (sdfMesh(sdf, g->mesh, &from, &data)) return 1;
  r->message[0]    = before; /* A file that is missing is as no file. */
  const int failed = data && robotHull(r, g->mesh, &from, 0, hull);
  free(data);
  return failed;
}

/* Turns a place so that its z axis is the normal of a plane. */
static int turnToNormal(Sdf *s, const xmlNode *plane, Place *place) {
  const char *text = sdfChildText(plane, "normal");
  sunrealtype n[3] = {0, 0, 1}, e[4];
  if (text && *text && robotNumbers(s->r, plane, "normal", text, 3, 3, n, NULL)) return 1;
  const sunrealtype size = sqrt(dot3(n, n));
  if (!(size > 0)) return robotWrong(s->r, plane, "the normal must not be 0");
  for (int k = 0; k < 3; k++) n[k] /= size;
  /* The shortest turn of z to n is about (-n_y, n_x, 0); of -z it is half a turn about x. */
  const sunrealtype w = sqrt(fmax(0, (1 + n[2]) / 2));
  e[0] = w, e[1] = w > 0 ? -n[1] / (2 * w) : 1, e[2] = w > 0 ? n[0] / (2 * w) : 0, e[3] = 0;
  const Place own = *place;
  robotPlace(&own, (const sunrealtype[3]){0, 0, 0}, e, place);
  return 0;
}

/* Reads kind and size of a shape, and turns the place of a plane. */
static int readShape(Sdf *s, const xmlNode *geometry, RobotGeom *g, Place *place) {
  static const struct {
    const char *tag;
    CPShapeKind kind;
  } tags[]         = {{"plane", CP_SHAPE_PLANE},        {"box", CP_SHAPE_BOX},
                      {"sphere", CP_SHAPE_SPHERE},      {"cylinder", CP_SHAPE_CYLINDER},
                      {"capsule", CP_SHAPE_CAPSULE},    {"mesh", CP_SHAPE_MESH},
                      {"ellipsoid", CP_SHAPE_ELLIPSOID}};
  const xmlNode *n = NULL;
  size_t i         = 0;
  g->what          = "height maps, polylines, cones and other shapes";
  while (i < sizeof tags / sizeof *tags && !(n = robotChild(geometry, tags[i].tag))) i++;
  if (!n) return 0;
  g->kind = (int)tags[i].kind;
  if (g->kind == CP_SHAPE_PLANE) return turnToNormal(s, n, place);
  if (g->kind == CP_SHAPE_MESH) {
    g->mesh = n;
    if (robotChild(n, "submesh")) g->kind = -1, g->what = "parts of meshes";
    return 0;
  }
  const int three  = g->kind == CP_SHAPE_BOX || g->kind == CP_SHAPE_ELLIPSOID;
  const char *name = g->kind == CP_SHAPE_BOX ? "size" : "radii", *text = sdfChildText(n, name);
  for (int k = 0; k < 3; k++) g->size[k] = 1; /* the defaults of the format */
  if (three && text && *text && robotNumbers(s->r, n, name, text, 3, 3, g->size, NULL)) return 1;
  if (!three && (sdfNumber(s, n, "radius", &g->size[0]) || sdfNumber(s, n, "length", &g->size[2])))
    return 1;
  for (int k = 0; k < 3; k++)
    if (!(g->size[k] > 0) || !isfinite(g->size[k]))
      g->kind = -1, g->what = "shapes whose sizes are not positive";
  return 0;
}

/* The bits of a mask; without text, all that the format has */
static unsigned maskOf(const xmlNode *contact, const char *tag, unsigned otherwise) {
  const char *text = sdfChildText(contact, tag);
  return text && *text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

/* Reads what <surface> says of a shape: masks and friction. */
static int readSurface(Sdf *s, const xmlNode *surface, RobotGeom *g) {
  const xmlNode *contact = robotChild(surface, "contact"), *bounce = robotChild(surface, "bounce");
  const xmlNode *ode  = robotChild(robotChild(surface, "friction"), "ode");
  sunrealtype returns = 0;
  g->affinity         = maskOf(contact, "collide_bitmask", 65535);
  g->type             = maskOf(contact, "category_bitmask", g->affinity);
  if (sdfIsTrue(sdfChildText(contact, "collide_without_contact"))) g->type = g->affinity = 0;
  if (sdfNumber(s, ode, "mu", &g->friction) ||
      sdfNumber(s, bounce, "restitution_coefficient", &returns))
    return 1;
  g->friction = fmax(0, fmin(g->friction, SUN_RCONST(1e6)));
  return returns > 0 && robotNote(s->r, bounce, "the bounce of surfaces");
}

/* The outermost model of a thing */
static int outerModel(const Sdf *s, int i) {
  while (s->thing[i].scope != s->top && s->thing[i].scope != NONE) i = s->thing[i].scope;
  return i;
}

/* meshes: 1 if those of one model may touch each other */
static int takeLink(Sdf *s, int i, int meshes) {
  const SdfThing *t = &s->thing[i];
  const char *self  = sdfChildText(t->node, "self_collide");
  Place frame;
  if (sdfPlace(s, i, &frame)) return 1; /* r->place has those of links that move. */
  frame.link = s->r->place[i].link;
  if (!self) self = sdfChildText(s->thing[t->scope].node, "self_collide");
  for (const xmlNode *n = t->node->children; n; n = n->next) {
    const xmlNode *geometry = robotIs(n, "collision") ? robotChild(n, "geometry") : NULL,
                  *pose     = geometry ? robotChild(n, "pose") : NULL;
    const char *in          = pose ? robotText(pose, "relative_to") : NULL;
    RobotGeom g             = {.node       = n,
                               .name       = frame.link == GROUND ? t->path : NULL,
                               .kind       = -1,
                               .body       = frame.link,
                               .tree       = t->is_static ? -1 : outerModel(s, i),
                               .self       = sdfIsTrue(self),
                               .dimensions = 3,
                               .friction   = 1};
    Place place, at = frame;
    if (!geometry) continue;
    if (sdfRaw(s, n, &place) || (in && *in && sdfNamedPlace(s, t->scope, n, in, &at))) return 1;
    at.link   = frame.link;
    Place raw = place;
    robotPlace(&at, raw.q, raw.q + 3, &place);
    place.link = frame.link;
    if (readShape(s, geometry, &g, &place) || readSurface(s, robotChild(n, "surface"), &g))
      return 1;
    if (g.kind == CP_SHAPE_MESH && g.self && !meshes) {
      g.self = 0;
      if (robotNote(s->r, n, "contacts of meshes of one model (contacts=meshes)")) return 1;
    }
    if (robotGeom(s->r, &g, &place)) return 1;
  }
  return 0;
}

int sdfContacts(Sdf *s) {
  Robot *r  = s->r;
  int touch = 1;
  if (robotTouches(r, &touch)) return 1;
  r->meshes = readHull, r->meshes_data = s;
  r->least = 1;
  for (int i = 0; i < s->nthings && touch; i++) {
    const SdfThing *t = &s->thing[i];
    if (t->kind == SDF_LINK && takeLink(s, i, touch > 1)) return 1;
    if (t->kind == SDF_JOINT &&
        robotExclude(r, t->node, sdfOnLink(s, t->side[0]), sdfOnLink(s, t->side[1])))
      return 1;
  }
  return touch ? robotContacts(r) : 0;
}
