/* Masses of links of SDF: as given, or, with auto="true", those of the shapes with which they touch. */
#include "sdf_impl.h"

#include <stdlib.h>

/* The mass of a cone of unit density, whose axis is z and whose frame is in the middle of its height h: the base is at -h/2. Its
 * centre is h/4 above the base, J_zz = 3/10 m r^2, J_xx = 3/20 m r^2 + 3/80 m h^2. */
static void coneMass(sunrealtype r, sunrealtype h, Mass *mass) {
  const sunrealtype m = acos(-1.0) / 3 * r * r * h;
  *mass               = (Mass){.mass = m, .centre = {0, 0, -h / 4}};
  mass->J[0] = mass->J[1] = m * (3 * r * r / 20 + 3 * h * h / 80);
  mass->J[2]              = 3 * m * r * r / 10;
}

/* from: unit density. Returns 1 after a message. known: out, 0 if the shape has no mass, or none that is known */
static int meshOf(Sdf *s, xmlNode *n, Mass *mass, int *known) {
  MeshSource from;
  char *data;
  if (sdfMesh(s, n, &from, &data) || s->r->message[0]) return 1;
  *known = 0;
  if (!data) return robotNote(s->r, n, "the mass of the mesh %.100s, which is not read", from.name);
  const char *wrong = meshMass(&from, MESH_EXACT, mass);
  free(data);
  *known = !wrong || wrong == mesh_is_open;
  if (!*known) return robotNote(s->r, n, "the mass of the mesh %.100s: it %.60s", from.name, wrong);
  return 0;
}

/* The mass of a geometry of unit density */
static int shapeMass(Sdf *s, const xmlNode *geometry, Mass *mass, int *known) {
  static const struct {
    const char *tag;
    SolidKind kind;
  } tags[]            = {{"sphere", SPHERE},     {"capsule", CAPSULE}, {"ellipsoid", ELLIPSOID},
                         {"cylinder", CYLINDER}, {"box", BOX},         {"cone", NUM_SOLIDS}};
  sunrealtype size[3] = {1, 1, 1};
  xmlNode *n          = NULL;
  size_t k            = 0;
  *known              = 1;
  for (; k < sizeof tags / sizeof *tags && !n; k++) n = robotChild(geometry, tags[k].tag);
  if (!n && (n = robotChild(geometry, "mesh"))) return meshOf(s, n, mass, known);
  if (!n) {
    n      = robotChild(geometry, "polyline");
    *known = 0;
    return n ? robotNote(s->r, n, "masses of %.40s shapes", (const char *)n->name) : 0;
  }
  const SolidKind kind = tags[k - 1].kind;
  const char *text     = sdfChildText(n, kind == BOX ? "size" : "radii");
  if (kind == BOX || kind == ELLIPSOID) {
    if (text && robotNumbers(s->r, n, kind == BOX ? "size" : "radii", text, 3, 3, size, NULL))
      return 1;
  } else if (sdfNumber(s, n, "radius", &size[0]) || sdfNumber(s, n, "length", &size[1])) return 1;
  for (int i = 0; i < 3; i++)
    if (!(size[i] > 0) || !isfinite(size[i]))
      return robotWrong(s->r, n, "its size must be positive, and is %g", (double)size[i]);
  if (kind == BOX)
    for (int i = 0; i < 3; i++) size[i] /= 2;
  if (kind == CYLINDER || kind == CAPSULE) size[1] /= 2;
  if (kind == NUM_SOLIDS) coneMass(size[0], size[1], mass);
  else solidMass(kind, size, mass);
  return 0;
}

/* The mass of all shapes with which a link touches, in the frame of the link */
static int massOfShapes(Sdf *s, int i, const xmlNode *inertial, Mass *sum) {
  const xmlNode *link = s->thing[i].node;
  sunrealtype common  = 1000;
  if (sdfNumber(s, inertial, "density", &common)) return 1;
  for (xmlNode *n = link->children; n; n = n->next) {
    const xmlNode *geometry = robotIs(n, "collision") ? robotChild(n, "geometry") : NULL;
    sunrealtype density     = common;
    Mass mass;
    Place place;
    Pose pose;
    int known;
    if (!geometry) continue;
    if (sdfNumber(s, n, "density", &density) || sdfRaw(s, n, &place) ||
        shapeMass(s, geometry, &mass, &known))
      return 1;
    if (!known) continue;
    if (!(density > 0) || !isfinite(density))
      return robotWrong(s->r, n, "density must be positive, and is %g", (double)density);
    robotPose(&place, &pose);
    moveMass(&pose, &mass);
    scaleMass(density, &mass);
    addMass(&mass, sum);
  }
  return 0;
}

int sdfMass(Sdf *s, int i) {
  const xmlNode *link = s->thing[i].node, *n = robotChild(link, "inertial");
  const xmlNode *inertia = robotChild(n, "inertia");
  const char *falls      = sdfChildText(link, "gravity");
  Mass mass              = {.mass = 1, .J = {1, 1, 1}}; /* the defaults of the format */
  Place at, place = s->r->place[i];
  if (place.link == GROUND) return 0;
  if (!n &&
      robotTell(s->r, link, CHANGED, "links without inertial have 1 kg and 1 kg m^2, as SDF says"))
    return 1;
  if (n && sdfIsTrue(robotText(n, "auto"))) {
    mass = (Mass){0};
    if (massOfShapes(s, i, n, &mass)) return 1;
    if (!(mass.mass > 0))
      return robotWrong(s->r, n, "a mass from shapes needs a collision with a shape that has one");
  } else if (n) {
    if (sdfNumber(s, n, "mass", &mass.mass)) return 1;
    for (int k = 0; k < 6; k++)
      if (sdfNumber(s, inertia, robot_moments[k], &mass.J[k])) return 1;
    if (!(mass.mass >= 0) || !isfinite(mass.mass))
      return robotWrong(s->r, n, "mass must not be negative, and is %g", (double)mass.mass);
    if (sdfRaw(s, n, &at)) return 1;
    robotPlace(&place, at.q, at.q + 3, &place);
  }
  robotMass(s->r, &place, &mass);
  if (falls && *falls && !sdfIsTrue(falls)) robotLift(s->r, &place, &mass, 1);
  return 0;
}
