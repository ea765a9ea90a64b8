/* Models that files of SDF include: <include> with a <uri>, "model://arm", "file://arm/model.sdf" or "arm", of a file, or of a folder
 * in which model.config names the file. They are searched for in the folder of the file that includes them, in that of the main
 * file, and in folders that the user names (setting "models"), never elsewhere, and never in a network. */
#include "sdf_impl.h"

#include <libxml/parser.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INCLUDED = 1000, MOST_NESTED = 100, PATH_LENGTH = 1000 };

/* Does a path stay in its folder? */
static int isWithin(const char *path) {
  if (*path == '/') return 0;
  for (const char *at = path; *at; at += strcspn(at, "/") + (strchr(at, '/') != NULL))
    if (!strncmp(at, "..", 2) && (!at[2] || at[2] == '/')) return 0;
  return 1;
}

/* Reads a file, if it is there; path: relative to the folder of the main file unless it is absolute. Returns its text, which the caller
 * frees, or NULL, with a message, if out of memory. */
static char *readIf(Sdf *s, const char *path, size_t *size) {
  char whole[2 * PATH_LENGTH];
  const char *why;
  if (bodiesBeside(s->r->file, path, whole, sizeof whole)) return NULL;
  char *data = bodiesFile(whole, size, &why);
  if (data ? !bodiesHasRead(s->r->bodies, whole) : strcmp(why, "no memory") != 0) return data;
  robotWrong(s->r, NULL, "no memory");
  free(data);
  return NULL;
}

/* The name of the file that a model.config names: the one of the highest version. Returns 0, or 1 after a message. */
static int readConfig(Sdf *s, const char *path, const char *text, size_t size, char *name,
                      size_t length) {
  xmlDocPtr doc = robotParse(s->r, path, text, size);
  int best      = -1;
  name[0]       = '\0';
  if (!doc) return 1;
  for (xmlNode *n = xmlDocGetRootElement(doc)->children; n; n = n->next) {
    const char *version = robotIs(n, "sdf") ? robotText(n, "version") : NULL;
    int major = 1, minor = 0;
    if (!robotIs(n, "sdf") || (version && sscanf(version, "%3d.%3d", &major, &minor) < 1)) continue;
    if (100 * major + minor < best) continue;
    best = 100 * major + minor;
    snprintf(name, length, "%s", sdfText(n));
  }
  xmlFreeDoc(doc);
  return 0;
}

/* A search in one folder; path: out, the name of what has been found */
typedef char *(*Search)(Sdf *s, const char *folder, const char *uri, char *path, size_t *size);

static char *findFile(Sdf *s, const char *folder, const char *uri, char *path, size_t *size) {
  if (snprintf(path, PATH_LENGTH, "%s%s", folder, uri) >= PATH_LENGTH) return NULL;
  return readIf(s, path, size);
}

/* Finds the file of a uri in a folder, which is "" or ends with a slash. path: out, its name. Returns its text, which the caller
 * frees, or NULL, with a message if a file is there and is wrong. */
static char *findModel(Sdf *s, const char *folder, const char *uri, char *path, size_t *size) {
  char name[PATH_LENGTH / 2];
  char *data = findFile(s, folder, uri, path, size);
  if (data || s->r->message[0] ||
      snprintf(path, PATH_LENGTH, "%s%s/model.config", folder, uri) >= PATH_LENGTH)
    return data;
  if ((data = readIf(s, path, size))) {
    const int failed = readConfig(s, path, data, *size, name, sizeof name);
    free(data);
    if (failed || !isWithin(name)) return NULL;
  } else strcpy(name, "model.sdf");
  if (s->r->message[0]) return NULL;
  if (snprintf(path, PATH_LENGTH, "%s%s/%s", folder, uri, name) >= PATH_LENGTH) return NULL;
  return readIf(s, path, size);
}

/* The folder of the file that an element comes from, relative to that of the main file; "" or with a slash at its end */
static void folderOf(const Sdf *s, const xmlNode *n, char *folder) {
  const char *file = robotSpot(s->r, n)->file, *slash = strrchr(file, '/');
  const int is_main = !strcmp(file, s->r->file);
  snprintf(folder, PATH_LENGTH, "%.*s", slash && !is_main ? (int)(slash - file) + 1 : 0, file);
}

static char *find(Sdf *s, const xmlNode *n, const char *uri, Search in, char *path, size_t *size) {
  char folder[PATH_LENGTH];
  uri = robotPath(uri);
  if (!*uri || strstr(uri, "://") || !isWithin(uri)) return NULL;
  folderOf(s, n, folder);
  char *data = in(s, folder, uri, path, size);
  if (!data && !s->r->message[0] && folder[0]) data = in(s, "", uri, path, size);
  for (const char *at = s->models; at && *at && !data && !s->r->message[0];) {
    const size_t length = strcspn(at, ":");
    if (length > 0 && length + 2 < sizeof folder) {
      snprintf(folder, sizeof folder, "%.*s%s", (int)length, at, at[length - 1] == '/' ? "" : "/");
      data = in(s, folder, uri, path, size);
    }
    at += length + (at[length] == ':');
  }
  return data;
}

/* The text of a file that n names, such as a mesh, which the caller frees, or NULL: it is searched for as models are. */
static char *readAsset(Sdf *s, const xmlNode *n, const char *uri, size_t *size) {
  char path[PATH_LENGTH];
  return find(s, n, uri, findFile, path, size);
}

int sdfMesh(Sdf *s, const xmlNode *n, MeshSource *from, char **data) {
  const char *uri = sdfChildText(n, "uri"), *scale = sdfChildText(n, "scale");
  *from = (MeshSource){.name = uri ? uri : "", .scale = {1, 1, 1}, .refquat = {1, 0, 0, 0}};
  *data = NULL;
  if (scale && robotNumbers(s->r, n, "scale", scale, 3, 3, from->scale, NULL)) return 1;
  from->data = *data = readAsset(s, n, from->name, &from->size);
  return 0;
}

/* The first model of a file, taken out of its tree */
static xmlNodePtr takeModel(xmlDocPtr doc) {
  for (xmlNode *n = xmlDocGetRootElement(doc)->children; n; n = n->next)
    if (robotIs(n, "model")) {
      xmlUnlinkNode(n);
      return n;
    }
  return NULL;
}

/* Moves a child of <include>, if there is one, to a model, in place of that child of its own. */
static void replace(xmlNodePtr include, xmlNodePtr model, const char *tag) {
  xmlNodePtr child = robotChild(include, tag), own = robotChild(model, tag);
  if (!child) return;
  if (own) xmlUnlinkNode(own), xmlFreeNode(own);
  xmlUnlinkNode(child);
  xmlAddChild(model, child);
}

/* Gives a model what <include> says of it: name, pose, placement_frame and static. */
static int dress(Sdf *s, xmlNodePtr n, xmlNodePtr model, const char *version) {
  const char *name = sdfChildText(n, "name"), *frame = sdfChildText(n, "placement_frame"),
             *still = sdfChildText(n, "static");
  if ((name && *name && !xmlSetProp(model, BAD_CAST "name", BAD_CAST name)) ||
      (frame && *frame && !xmlSetProp(model, BAD_CAST "placement_frame", BAD_CAST frame)) ||
      !xmlSetProp(model, BAD_CAST "version", BAD_CAST version))
    return robotWrong(s->r, n, "no memory");
  replace(n, model, "pose");
  if (still && *still) replace(n, model, "static");
  return 0;
}

/* The pose of an element, which gets one if it has none; NULL if out of memory */
static xmlNodePtr poseOf(xmlNodePtr n) {
  xmlNodePtr pose = robotChild(n, "pose");
  if (!pose && (pose = xmlNewChild(n, NULL, BAD_CAST "pose", BAD_CAST "0 0 0 0 0 0")))
    pose->_private = n->_private;
  return pose;
}

/* What an element with this tag names by an attribute, with the name of the model's frame changed to `frame` */
static int renamed(xmlNodePtr n, const char *attribute, const char *frame, int always) {
  const char *to   = robotText(n, attribute);
  const int is_own = to && !strcmp(to, "__model__");
  if (!is_own && !(always && (!to || !*to))) return 0;
  return !xmlSetProp(n, BAD_CAST attribute, BAD_CAST frame);
}

/* merge="true": what the model contains is moved beside it, and its own frame becomes a frame with a name. */
static int merge(Sdf *s, xmlNodePtr model) {
  char frame[300];
  xmlNodePtr next, at = model, first = NULL;
  const char *name = robotText(model, "name");
  snprintf(frame, sizeof frame, "_merged__%.200s__model__", name ? name : "");
  int failed = 0;
  for (xmlNodePtr c = model->children; c && !failed; c = next) {
    next               = c->next;
    const int is_joint = robotIs(c, "joint"), is_frame = robotIs(c, "frame"),
              is_link = robotIs(c, "link");
    if (c->type != XML_ELEMENT_NODE || robotIs(c, "pose") || robotIs(c, "static")) continue;
    if (is_link && !first) first = c;
    if (is_frame) failed = renamed(c, "attached_to", frame, 1);
    if (is_link || robotIs(c, "model") || is_joint || is_frame) {
      const int always = is_link || robotIs(c, "model");
      xmlNodePtr pose  = always ? poseOf(c) : robotChild(c, "pose");
      failed = failed || (always && !pose) || (pose && renamed(pose, "relative_to", frame, always));
    }
    for (int k = 0; k < 2 && is_joint && !failed; k++) {
      xmlNodePtr axis = robotChild(c, k ? "axis2" : "axis"), xyz = robotChild(axis, "xyz");
      xmlNodePtr end = robotChild(c, k ? "parent" : "child");
      if (xyz) failed = renamed(xyz, "expressed_in", frame, 0);
      if (end && !strcmp(sdfText(end), "__model__")) xmlNodeSetContent(end, BAD_CAST frame);
    }
    xmlUnlinkNode(c);
    at = xmlAddNextSibling(at, c);
  }
  /* What is left of the model is the frame. */
  if (failed || !first)
    return robotWrong(s->r, model, first ? "no memory" : "the model has no link");
  xmlNodeSetName(model, BAD_CAST "frame");
  const char *link = robotText(model, "canonical_link");
  failed           = !xmlSetProp(model, BAD_CAST "attached_to",
                                 BAD_CAST(link && *link ? link : robotText(first, "name"))) ||
           !xmlSetProp(model, BAD_CAST "name", BAD_CAST frame);
  xmlNodePtr pose = poseOf(model);
  if (failed || !pose || renamed(pose, "relative_to", "__model__", 1))
    return robotWrong(s->r, model, "no memory");
  return 0;
}

/* next: out, the element that follows in the tree */
static int include(Sdf *s, xmlNodePtr n, xmlNodePtr *next) {
  Robot *r          = s->r;
  const char *uri   = sdfChildText(n, "uri");
  xmlNodePtr parent = n->parent, model = NULL;
  char path[PATH_LENGTH] = "", version[20] = "";
  size_t size = 0;
  int depth   = 0;
  for (const xmlNode *p = parent; p; p = p->parent) depth++;
  if (depth > MOST_NESTED) return robotWrong(r, n, "models are nested deeper than %d", MOST_NESTED);
  if (!uri || !*uri) return robotWrong(r, n, "uri must be given");
  if (r->nincluded >= MOST_INCLUDED)
    return robotWrong(r, n, "there are more than %d files", MOST_INCLUDED);
  char *data = find(s, n, uri, findModel, path, &size);
  if (r->message[0]) return free(data), 1;
  if (!data) { /* Only what names its parts needs it. */
    if (!s->missing) s->missing = uri;
    return robotNote(r, n, "the model %.100s, which is not in the folder of the file", uri);
  }
  s->read += size;
  if (s->read > INT_MAX) return free(data), robotWrong(r, n, "the included files are too long");
  xmlDocPtr doc = robotIncluded(r, n, path, data, size);
  if (!doc) return 1;
  xmlNodePtr top      = xmlDocGetRootElement(doc);
  const char *written = robotText(top, "version");
  snprintf(version, sizeof version, "%s", written ? written : "");
  if (robotIs(top, "sdf") && (model = takeModel(doc))) xmlAddNextSibling(n, model);
  xmlFreeDoc(doc);
  if (!model) return robotNote(r, n, "the file %.100s, in which there is no model", uri);
  if (dress(s, n, model, version)) return 1;
  if (sdfIsTrue(robotText(n, "merge")) && merge(s, model)) return 1;
  *next = model;
  xmlUnlinkNode(n);
  xmlFreeNode(n);
  return 0;
}

int sdfInclude(Sdf *s, xmlNode *root) {
  int failed = 0;
  for (xmlNodePtr n = root, next; n && !failed; n = next) {
    next = robotNext(n, root);
    if (robotIs(n, "include") &&
        (robotIs(n->parent, "world") || robotIs(n->parent, "model") || n->parent == root))
      failed = include(s, n, &next);
  }
  return failed;
}
