/* Contacts of URDF: the <collision> of its links, which touch those of all links but the neighbours, to which a joint connects them, if the
 * user asks for it: in Gazebo and Bullet the links of a robot do not touch each other by default. The format has no friction; its
 * coefficient is 1, as in Gazebo and MuJoCo. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "robot_impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of a mesh's file, which the caller frees, or NULL if there is none that may be read: a path from the folder of the robot, or
 * package://NAME/PATH, in the folder NAME beside or above the robot. */
static char *meshFile(Robot *r, const xmlNode *n, const char *uri, size_t *size) {
  char folder[PATH_MAX], path[2 * PATH_MAX], *data;
  const int before = r->message[0], is_package = !strncmp(uri, "package://", strlen("package://"));
  uri               = robotPath(uri);
  const char *slash = strrchr(r->file, '/'), *own = is_package ? strchr(uri, '/') : NULL;
  snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - r->file) + 1 : 1, slash ? r->file : ".");
  data = robotFile(r, n, NULL, uri, size);
  if (!data && own) data = robotFile(r, n, NULL, own + 1, size);
  for (char *end = !data && is_package ? realpath(path, folder) : NULL; end && !data;) {
    if (!(end = strrchr(folder, '/'))) break;
    *end = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, uri);
    data = robotFile(r, n, NULL, path, size);
    /* Files of a package whose folder has another name are in one that is above the robot. */
    if (!data && own) snprintf(path, sizeof path, "%s%s", folder, own);
    if (!data && own) data = robotFile(r, n, NULL, path, size);
  }
  r->message[0] = (char)before; /* A file that is missing is as no file. */
  return data;
}

/* The hull of a mesh (MeshOf) */
static int readHull(Robot *r, const RobotGeom *g, void *unused, MeshHull *hull) {
  MeshSource from = {.scale = {1, 1, 1}, .refquat = {1, 0, 0, 0}};
  const char *uri = robotText(g->mesh, "filename"), *scale = robotText(g->mesh, "scale");
  (void)unused;
  if (!uri || (scale && robotNumbers(r, g->mesh, "scale", scale, 3, 3, from.scale, NULL)))
    return uri != NULL;
  char *data = meshFile(r, g->mesh, uri, &from.size);
  if (!data) return 0;
  from.name = uri, from.data = data;
  const int failed = robotHull(r, g->mesh, &from, 0, hull);
  free(data);
  return failed;
}

/* Reads the size of a shape; g->kind: -1 if it has none, which is no error: other programs do without shapes. */
static void readSize(Robot *r, const xmlNode *geometry, RobotGeom *g) {
  static const struct {
    const char *tag, *attribute[2];
    CPShapeKind kind;
  } shapes[]       = {{"box", {"size"}, CP_SHAPE_BOX},
                      {"sphere", {"radius"}, CP_SHAPE_SPHERE},
                      {"cylinder", {"radius", "length"}, CP_SHAPE_CYLINDER},
                      {"capsule", {"radius", "length"}, CP_SHAPE_CAPSULE}};
  const int before = r->message[0];
  const xmlNode *n = robotChild(geometry, "mesh");
  sunrealtype x[3] = {0, 0, 0};
  g->kind = -1, g->what = "collision shapes that are not known, or have no size";
  if (n && robotText(n, "filename")) g->kind = CP_SHAPE_MESH, g->mesh = n;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !n; i++) {
    const int count = shapes[i].kind == CP_SHAPE_BOX ? 3 : 1;
    if (!(n = robotChild(geometry, shapes[i].tag))) continue;
    int wrong = 0;
    for (int k = 0; k < 2 && shapes[i].attribute[k] && !wrong; k++) {
      const char *text  = robotText(n, shapes[i].attribute[k]);
      sunrealtype *size = x + 2 * k;
      wrong = !text || robotNumbers(r, n, shapes[i].attribute[k], text, count, count, size, NULL);
      for (int l = 0; l < count; l++) wrong = wrong || !(size[l] > 0);
    }
    r->message[0] = (char)before;
    if (wrong) return;
    g->kind = (int)shapes[i].kind;
    for (int k = 0; k < 3; k++) g->size[k] = x[k];
  }
}

static int takeLink(Robot *r, const xmlNode *link, const Place *frame, int meshes) {
  for (const xmlNode *n = link->children; n; n = n->next) {
    const xmlNode *geometry = robotIs(n, "collision") ? robotChild(n, "geometry") : NULL;
    RobotGeom g             = {.node       = n,
                               .name       = frame->link == GROUND ? robotText(link, "name") : NULL,
                               .body       = frame->link,
                               .self       = 1,
                               .type       = 1,
                               .affinity   = 1,
                               .dimensions = 3,
                               .friction   = 1};
    Place place;
    if (!geometry) continue;
    readSize(r, geometry, &g);
    if (g.kind == CP_SHAPE_MESH && !meshes)
      g.kind = -1, g.what = "meshes of a robot with itself (contacts=meshes)";
    if (urdfOrigin(r, n, frame, &place) || robotGeom(r, &g, &place)) return 1;
  }
  return 0;
}

int urdfContacts(Robot *r, const xmlNode *const *link, const xmlNode *const *joint, int nlinks) {
  int touch = 0, shapes = 0;
  r->meshes = readHull;
  if (robotTouches(r, &touch)) return 1;
  for (int i = 0; i < nlinks; i++) shapes += robotChild(link[i], "collision") != NULL;
  if (!touch && shapes > 1 && !robotSetting(r, "contacts", NULL, 0))
    return robotTell(
        r, link[0], WITHOUT_EFFECT,
        "collision shapes of links, which touch each other with contacts=yes or meshes");
  if (touch && r->loops) /* The file's pose is a guess, and the assembly moves the links. */
    return robotNote(r, link[0], "contacts of robots with loops");
  for (int i = 0; i < nlinks && touch; i++) {
    const Place frame = r->place[i]; /* a copy: places move as they get more */
    const char *of    = joint[i] ? robotText(robotChild(joint[i], "parent"), "link") : NULL;
    const int parent  = of ? robotFind(r, joint[i], "link", of) : NONE;
    if (takeLink(r, link[i], &frame, touch > 1) ||
        (parent >= 0 && robotExclude(r, joint[i], r->place[parent].link, frame.link)))
      return 1;
  }
  return touch ? robotContacts(r) : 0;
}
