/* Robots in XML: included files, and the format, MJCF, URDF or SDF. */
#include "robot_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INCLUDED = 1000, MOST_NESTED = 1000, MOST_PATH = 1000 };

/* Writes the notes of some groups as lines of one text, for the mechanism. */
static int writeNotes(Robot *r, Group low, Group high, char **text) {
  static const char *const titles[] = {
      "", "changed: ", "without effect in this run: ", "without meaning here: "};
  size_t size = 1, at = 0;
  for (int i = 0; i < r->nnotes; i++)
    size += strlen(robotSpot(r, r->note[i].node)->file) + sizeof r->note[i].text + 100;
  char *all = *text = calloc(size, 1);
  if (!all) return robotWrong(r, NULL, "no memory");
  for (Group g = low; g <= high; g++)
    for (int i = 0; i < r->nnotes; i++) {
      const Note *n    = &r->note[i];
      const Spot *spot = robotSpot(r, n->node);
      char *line       = all + at;
      if (n->group != g) continue;
      at += (size_t)snprintf(line, size - at, "%s:%d:%d: %s%s", spot->file, spot->line,
                             spot->column, titles[g], n->text);
      bodiesOneLine(line, 1);
      if (n->count > 1) at += (size_t)snprintf(all + at, size - at, " (%d times)", n->count);
      at += (size_t)snprintf(all + at, size - at, "\n");
    }
  return 0;
}

const char *robotPath(const char *uri) {
  static const char *const schemes[] = {"package://", "model://", "file://"};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
    if (!strncmp(uri, schemes[i], strlen(schemes[i]))) return uri + strlen(schemes[i]);
  return uri;
}

xmlNodePtr robotNext(xmlNodePtr n, const xmlNode *top) {
  do {
    if (n->children && n->type == XML_ELEMENT_NODE) n = n->children;
    else {
      while (!n->next && n != top) n = n->parent;
      n = n == top ? NULL : n->next;
    }
  } while (n && n->type != XML_ELEMENT_NODE);
  return n;
}

xmlDocPtr robotIncluded(Robot *r, const xmlNode *at, const char *path, char *data, size_t size) {
  char *name    = ROOM(r->included, r->nincluded, 1) ? NULL : malloc(strlen(path) + 1);
  xmlDocPtr doc = NULL;
  if (name) {
    r->included[r->nincluded++] = strcpy(name, path);
    doc                         = robotParse(r, name, data, size);
  } else robotWrong(r, at, "no memory");
  free(data);
  return doc;
}

/* Reads an included file, from the folder of the root's file or, if there is none, of the file that includes it. path [MOST_PATH]: out, from the
 * folder of the main file */
static char *readIncluded(Robot *r, const xmlNode *n, const char *root, char *path, size_t *size) {
  const char *file = robotText(n, "file"), *from = robotSpot(r, n)->file;
  char *data = NULL;
  for (int near = 0; near < 2 && !data; near++) {
    if (near && (from == r->file || strstr(r->message, "no memory"))) break;
    r->message[0] = '\0';
    if (bodiesBeside(near ? from : root ? root : "", file, path, MOST_PATH))
      robotWrong(r, n, "its path is too long");
    else data = robotFile(r, n, NULL, path, size);
  }
  return data;
}

/* Replaces <include file="..."/> by the children of that file's root, which keep their positions. A
 * file is included only once, so that there are no cycles. */
static int include(Robot *r, xmlNodePtr n, xmlNodePtr root, const char *file, int attached,
                   xmlNodePtr *next) {
  const char *named = robotText(n, "file");
  char path[MOST_PATH], kind[400];
  size_t size;
  int depth = 0; /* The readers are recursive, and libxml2 limits the depth of single files only. */
  for (const xmlNode *p = n->parent; p; p = p->parent) depth++;
  if (depth > MOST_NESTED)
    return robotWrong(r, n, "elements are nested deeper than %d", MOST_NESTED);
  if (!named || !*named) return robotWrong(r, n, "file must be given");
  if (r->nincluded >= MOST_INCLUDED)
    return robotWrong(r, n, "there are more than %d files", MOST_INCLUDED);
  /* A file may be attached twice, each time with what it includes. */
  if (file) snprintf(kind, sizeof kind, "file of %.300s (%d)", file, attached);
  else snprintf(kind, sizeof kind, "file");
  char *data = readIncluded(r, n, file, path, &size);
  if (data && robotName(r, n, kind, path, r->nincluded)) return free(data), 1;
  xmlDocPtr doc = data ? robotIncluded(r, n, path, data, size) : NULL;
  if (!doc) return 1;
  xmlNodePtr place = n, following;
  for (xmlNodePtr child = xmlDocGetRootElement(doc)->children; child; child = following) {
    following = child->next;
    if (child->type != XML_ELEMENT_NODE) continue;
    xmlUnlinkNode(child);
    place = xmlAddNextSibling(place, child);
  }
  xmlFreeDoc(doc);
  xmlFreeNodeList(n->children);
  n->children = n->last = NULL;
  *next                 = robotNext(n, root);
  xmlUnlinkNode(n);
  xmlFreeNode(n);
  return 0;
}

int robotInclude(Robot *r, xmlNodePtr root, const char *file) {
  const int attached = r->nincluded;
  for (xmlNodePtr n = root, next; n; n = next) {
    next = robotNext(n, root);
    if (robotIs(n, "include") && n != root && include(r, n, root, file, attached, &next)) return 1;
  }
  return 0;
}

/* loose: in, the stops that are left out, or NULL, and then out, those that the loops cannot keep (robotLooseStops) */
static CPBodies readXml(const char *data, size_t size, const char *name, Run *run, char *message,
                        size_t length, char **loose) {
  Robot r    = {.file     = name,
                .message  = message,
                .length   = length,
                .settings = run->parameters,
                .open     = run->open,
                .loose    = *loose};
  int failed = !(r.names = xmlHashCreate(64)) || !(r.bodies = CPBodiesCreate(3, NULL));
  if (!failed) failed = bodiesRecord(r.bodies, run->writes);
  if (failed) robotWrong(&r, NULL, "no memory");
  if (!failed) failed = !(r.doc = robotParse(&r, name, data, size));
  xmlNodePtr root   = r.doc ? xmlDocGetRootElement(r.doc) : NULL;
  const int is_sdf  = root && robotIs(root, "sdf"); /* whose <include> is another one */
  const int is_osim = root && robotIs(root, "OpenSimDocument");
  if (!failed && !is_sdf) failed = robotInclude(&r, root, NULL);
  if (!failed && robotIs(root, "mujoco")) failed = robotReadMjcf(&r, root);
  else if (!failed && robotIs(root, "robot")) failed = robotReadUrdf(&r, root);
  else if (!failed && is_sdf) failed = robotReadSdf(&r, root);
  else if (!failed && is_osim) failed = robotReadOsim(&r, root);
  else if (!failed)
    failed = robotWrong(&r, root,
                        "the root must be mujoco (MJCF), robot (URDF), sdf (SDF) or "
                        "OpenSimDocument (OpenSim)");
  if (!failed && CPBodiesCount(r.bodies, CP_BODY) == 0)
    failed = robotWrong(&r, root, "no body moves");
  if (!failed && run->balance) failed = robotRefused(&r, root, CPBodiesSetBalance(r.bodies));
  if (!failed) r.bodies->formulation = CP_JOINT_COORDINATES;
  if (!failed)
    failed = writeNotes(&r, LEFT_OUT, LEFT_OUT, &r.bodies->notes) ||
             writeNotes(&r, CHANGED, WITHOUT_MEANING, &r.bodies->remarks);
  const char *title = is_sdf || is_osim ? r.title
                      : root ? robotText(root, robotIs(root, "mujoco") ? "model" : "name")
                             : NULL;
  if (!failed && !*loose) *loose = robotLooseStops(&r);
  if (!failed && title) snprintf(run->title, sizeof run->title, "%s", title);
  bodiesOneLine(run->title, sizeof run->title);
  if (failed) CPBodiesFree(&r.bodies);
  for (int i = 0; i < r.nincluded; i++) free(r.included[i]);
  void *owned[] = {r.link, r.joint, r.note, r.place, r.included, r.spot, r.geom, r.excluded};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  xmlHashFree(r.names, NULL);
  xmlFreeDoc(r.doc);
  return r.bodies;
}

CPBodies bodiesReadXml(const char *data, size_t size, const char *name, Run *run, char *message,
                       size_t length) {
  char *loose = NULL;
  CPBodies b  = readXml(data, size, name, run, message, length, &loose);
  if (b && loose) {
    CPBodiesFree(&b);
    b = readXml(data, size, name, run, message, length, &loose);
  }
  free(loose);
  return b;
}
