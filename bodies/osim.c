/* OpenSim's models (https://opensimconfluence.atlassian.net/wiki/spaces/OpenSim): bodies that joints connect to the ground, whose poses
 * are functions of coordinates; versions 2 to 4. Muscles and contacts are told as left out. */
#include "osim.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ elements -- */

const char *osimText(const xmlNode *n, const char *tag, char *text, size_t size) {
  static const char blanks[] = " \t\r\n";
  const xmlNode *c           = robotChild(n, tag);
  xmlChar *content           = c ? xmlNodeGetContent(c) : NULL;
  const char *from           = content ? (const char *)content : "";
  from += strspn(from, blanks);
  size_t length = strlen(from);
  while (length > 0 && strchr(blanks, from[length - 1])) length--;
  snprintf(text, size, "%.*s", (int)(length < size ? length : size - 1), from);
  xmlFree(content);
  return text;
}

int osimNumbers(Robot *r, const xmlNode *n, const char *tag, int count, sunrealtype *x) {
  char text[400];
  const xmlNode *c = robotChild(n, tag);
  return c && robotNumbers(r, c, tag, osimText(n, tag, text, sizeof text), count, count, x, NULL);
}

int osimIs(const xmlNode *n, const char *tag) {
  char text[20];
  osimText(n, tag, text, sizeof text);
  return !strcmp(text, "true") || !strcmp(text, "1");
}

const xmlNode *osimObjects(const xmlNode *n, const char *tag) {
  const xmlNode *set = robotChild(n, tag), *objects = robotChild(set, "objects");
  return objects ? objects : set;
}

int osimCoordinate(const Osim *o, const char *name) {
  const void *found = xmlHashLookup2(o->r->names, BAD_CAST "coordinate", BAD_CAST name);
  return found ? (int)(intptr_t)found - 1 : NONE;
}

void osimTimes(const Pose *a, const Pose *b, Pose *to) {
  Pose product = *a;
  toSpace(a, b->r, product.r);
  add3(1, a->r, product.r);
  for (int k = 0; k < 3; k++) toSpace(a, b->axis[k], product.axis[k]);
  *to = product;
}

void osimMarker(const OsimFrame *frame, CPMarker *on) {
  memcpy(on->point, frame->pose.r, sizeof on->point);
  memcpy(on->axis, frame->pose.axis[2], sizeof on->axis);
  memcpy(on->across, frame->pose.axis[0], sizeof on->across);
}

const char *osimBodyName(const Osim *o, int body) {
  return body == GROUND ? NULL : o->body[body].name;
}

/* -------------------------------------------------------------------------------------- frames -- */

int osimOffset(Robot *r, const xmlNode *n, const char *location, const char *orientation,
               Pose *pose) {
  sunrealtype turn[3] = {0, 0, 0};
  Place place         = {.q = {0, 0, 0}};
  Pose own;
  if (osimNumbers(r, n, location, 3, place.q) || osimNumbers(r, n, orientation, 3, turn)) return 1;
  robotAngles(turn, 0, place.q + 3);
  robotPose(&place, &own);
  osimTimes(pose, &own, pose);
  return 0;
}

/* The offset frame of this name in an element or in its lists, or NULL */
static const xmlNode *offsetIn(const xmlNode *n, const char *name) {
  static const char *const lists[] = {"frames", "components", "FrameSet", "ComponentSet"};
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
    const xmlNode *objects = osimObjects(n, lists[k]);
    for (const xmlNode *c = objects ? objects->children : NULL; c; c = c->next) {
      const char *own = c->type == XML_ELEMENT_NODE ? robotText(c, "name") : NULL;
      if (own && !strcmp(own, name) && robotIs(c, "PhysicalOffsetFrame")) return c;
    }
  }
  return NULL;
}

/* The offset frame that a path names as seen from an element: its own, or that of the element before it in the path. A body of that
 * name comes first, unless the name is a word alone. */
static const xmlNode *findOffset(const Osim *o, const xmlNode *from, const char *path) {
  static const char *const sets[] = {"JointSet", "BodySet", "ConstraintSet", "ForceSet",
                                     "ComponentSet"};
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const xmlNode *found = NULL;
  char owner[200]      = "";
  if (slash && slash > path) {
    const char *before = slash;
    while (before > path && before[-1] != '/') before--;
    snprintf(owner, sizeof owner, "%.*s", (int)(slash - before), before);
  }
  if (!*owner || !strcmp(owner, "..") || !strcmp(owner, ".")) found = offsetIn(from, name);
  for (size_t k = 0; k < sizeof sets / sizeof *sets && !found; k++) {
    const xmlNode *objects = osimObjects(o->model, sets[k]);
    for (const xmlNode *c = objects ? objects->children : NULL; c && !found; c = c->next) {
      const char *own = c->type == XML_ELEMENT_NODE ? robotText(c, "name") : NULL;
      if (own && *owner && !strcmp(own, owner)) found = offsetIn(c, name);
    }
  }
  if (!found && (*owner == '\0' || !strcmp(owner, "componentset")))
    found = offsetIn(o->model, name);
  return found;
}

static int follow(Osim *o, const xmlNode *from, const char *path, OsimFrame *frame) {
  enum { DEEPEST = 20 };
  static const Pose unit = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const xmlNode *chain[DEEPEST];
  char text[400];
  int depth = 0;
  snprintf(text, sizeof text, "%s", path);
  for (const xmlNode *at = from, *own; (own = findOffset(o, at, text)); at = own) {
    if (depth == DEEPEST) return robotWrong(o->r, own, "frames are nested deeper than %d", DEEPEST);
    chain[depth++] = own;
    if (!robotChild(own, "socket_parent"))
      return robotWrong(o->r, own, "socket_parent must be given");
    osimText(own, "socket_parent", text, sizeof text);
    if (!strcmp(text, "..")) { /* that of the element in which it stands */
      const xmlNode *up = own->parent;
      while (up && !robotText(up, "name") && up->parent) up = up->parent;
      while (up && !robotIs(up, "Body") && !robotIs(up, "Ground") && up->parent) up = up->parent;
      const char *name = up && up->type == XML_ELEMENT_NODE ? robotText(up, "name") : NULL;
      snprintf(text, sizeof text, "%s", name ? name : "");
      break;
    }
  }
  const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
  frame->body = GROUND;
  frame->pose = unit;
  if (strcmp(name, "ground") != 0) {
    frame->body = robotFind(o->r, from, "body", name);
    if (frame->body < 0) return 1;
  }
  while (depth-- > 0)
    if (osimOffset(o->r, chain[depth], "translation", "orientation", &frame->pose)) return 1;
  return 0;
}

int osimFrame(Osim *o, const xmlNode *n, const char *const *tags, OsimFrame *frame) {
  char path[400] = "";
  for (const char *const *tag = tags; *tag && !*path; tag++) osimText(n, *tag, path, sizeof path);
  for (const xmlNode *c = osimObjects(n, "connectors") ? osimObjects(n, "connectors")->children
                                                       : NULL;
       c && !*path; c   = c->next) { /* of version 3.5 */
    const char *name = c->type == XML_ELEMENT_NODE ? robotText(c, "name") : NULL;
    for (const char *const *tag = tags; name && *tag && !*path; tag++)
      if (!strcmp(name, *tag)) osimText(c, "connectee_name", path, sizeof path);
  }
  if (!*path) return robotWrong(o->r, n, "%s must be given", *tags);
  return follow(o, n, path, frame);
}

/* -------------------------------------------------------------------------------------- bodies -- */

static int listBodies(Osim *o) {
  const xmlNode *set = osimObjects(o->model, "BodySet");
  for (const xmlNode *n = set ? set->children : NULL; n; n = n->next) {
    const char *name = n->type == XML_ELEMENT_NODE ? robotText(n, "name") : NULL;
    if (!robotIs(n, "Body") || (name && !strcmp(name, "ground"))) continue;
    if (!name || !*name) return robotWrong(o->r, n, "name must be given");
    if (ROOM(o->body, o->nbodies, 1)) return robotWrong(o->r, n, "no memory");
    o->body[o->nbodies] = (OsimBody){.node = n, .joint = NONE};
    if (robotName(o->r, n, "body", name, o->nbodies++)) return 1;
  }
  return 0;
}

/* The start value or speed of a coordinate. data: an Osim. One that turns and slides at once has any unit. */
static sunrealtype *coordinateAt(Robot *r, void *data, const char *name, int is_rate,
                                 const char **unit) {
  Osim *o     = data;
  const int i = osimCoordinate(o, name);
  int moves   = 0; /* 1: along an axis; 2: about one */
  for (int k = 0; k < o->njoints; k++)
    for (int a = 0; a < o->joint[k].nmotions; a++)
      if (o->joint[k].motion[a].of != NONE && o->joint[k].first + o->joint[k].motion[a].of == i)
        moves |= o->joint[k].motion[a].about ? 2 : 1;
  if (moves == 1) *unit = is_rate ? "m/s" : "m";
  if (moves == 2) *unit = is_rate ? "rad/s" : "rad";
  if (i != NONE) return is_rate ? &o->coordinate[i].speed : &o->coordinate[i].value;
  robotWrong(r, NULL, "there is no coordinate \"%.100s\"", name);
  return NULL;
}

int robotReadOsim(Robot *r, const xmlNode *root) {
  static const char *const known[] = {NULL};
  Osim o                           = {.r = r, .model = robotChild(root, "Model")};
  sunrealtype g[3]                 = {0, SUN_RCONST(-9.80665), 0};
  int failed                       = 0;
  if (!o.model) return robotWrong(r, root, "there is no Model");
  const char *title = robotText(o.model, "name");
  if (title) r->title = title;
  failed =
      osimNumbers(r, o.model, "gravity", 3, g) || listBodies(&o) || osimListJoints(&o) ||
      robotStarts(r, known, "a model has start.COORDINATE and start.COORDINATE'", coordinateAt, &o);
  if (!failed) failed = robotRefused(r, root, bodiesSetGravity(r->bodies, g));
  if (!failed) r->bodies->formulation = CP_JOINT_COORDINATES;
  if (!failed)
    failed = osimAddJoints(&o) || osimAddConstraints(&o) || osimPlace(&o) || osimAddForces(&o);
  for (int i = 0; i < o.njoints; i++)
    for (int k = 0; k < o.joint[i].nmotions; k++) CPFunctionFree(&o.joint[i].motion[k].z.f);
  free(o.body);
  free(o.joint);
  free(o.coordinate);
  return failed;
}
