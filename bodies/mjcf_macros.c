/* Elements of MJCF that stand for others: <replicate>, <attach> and <composite>. Each becomes a frame that contains what it stands for.
 * Copies have names of their own, and so have those of the elements outside of the tree of bodies that refer only to what is copied. */
#include "mjcf_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 200000, MOST_MODELS = 1000, MOST_NESTED = 30 };

static int noMemory(Mjcf *m, const xmlNode *n) { return robotWrong(m->r, n, "no memory"); }

/* Sets an attribute to a text, or to numbers. Returns 0, or 1 after a message. */
static int setText(Mjcf *m, xmlNodePtr n, const char *attribute, const char *text) {
  return xmlSetProp(n, BAD_CAST attribute, BAD_CAST text) ? 0 : noMemory(m, n);
}
static int setNumbers(Mjcf *m, xmlNodePtr n, const char *attribute, int count, const sunrealtype *x) {
  char text[200];
  for (int i = 0, at = 0; i < count; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%.17g", i ? " " : "", (double)x[i]);
  return setText(m, n, attribute, text);
}

static int hasScope(const Mjcf *m, const xmlNode *frame) {
  for (int i = 0; i < m->nscopes; i++)
    if (m->scope[i].frame == frame) return i + 1;
  return 0;
}

MjcfModel *mjcfScope(const Mjcf *m, const xmlNode *frame) {
  const int i = hasScope(m, frame);
  return i ? m->scope[i - 1].model : m->model;
}

static int setScope(Mjcf *m, const xmlNode *frame, MjcfModel *model) {
  if (ROOM(m->scope, m->nscopes, 1)) return noMemory(m, frame);
  m->scope[m->nscopes++] = (struct Scope){frame, model};
  return 0;
}

/* Frees an element and what is below it, with its scopes. */
static void freeElement(Mjcf *m, xmlNodePtr n) {
  int kept = 0;
  for (int i = 0; i < m->nscopes; i++) {
    const xmlNode *p = m->scope[i].frame;
    while (p && p != n) p = p->parent;
    if (!p) m->scope[kept++] = m->scope[i];
  }
  m->nscopes = kept;
  xmlUnlinkNode(n);
  xmlFreeNode(n);
}

/* ------------------------------------------------------------------------- copies and names -- */

/* Copies an element with all below it, and its position. Returns NULL after a message. */
static xmlNodePtr copyElement(Mjcf *m, const xmlNode *n) {
  if (++m->nelements > MOST_ELEMENTS) {
    robotWrong(m->r, n, "replicate makes more than %d elements", MOST_ELEMENTS);
    return NULL;
  }
  xmlNodePtr copy = xmlNewDocNode(m->r->doc, NULL, n->name, NULL);
  if (!copy) return noMemory(m, n), NULL;
  copy->_private = n->_private;
  int failed     = hasScope(m, n) && setScope(m, copy, mjcfScope(m, n));
  for (const xmlAttr *a = n->properties; a && !failed; a = a->next)
    failed = setText(m, copy, (const char *)a->name, robotText(n, (const char *)a->name));
  for (const xmlNode *c = n->children; c && !failed; c = c->next) {
    if (c->type != XML_ELEMENT_NODE) continue;
    xmlNodePtr child = copyElement(m, c);
    if (child) xmlAddChild(copy, child);
    failed = !child;
  }
  if (failed) freeElement(m, copy), copy = NULL;
  return copy;
}

/* The kind of what an attribute refers to in the tree of bodies, or of tendons: "joint" of jointinparent, "site" of refsite; or NULL */
static const char *kindOf(const xmlChar *attribute) {
  static const char *const kinds[] = {"body", "joint", "geom", "site", "tendon"};
  for (int i = 0; i < 5; i++)
    if (strstr((const char *)attribute, kinds[i])) return kinds[i];
  return NULL;
}

/* Which names of an element and those below it change: its own; also those to which it refers; all those of a file */
typedef enum { NAMES, REFERENCES, ALL } Names;

static int changes(const xmlNode *n, const xmlAttr *a, Names names) {
  const char *kind = kindOf(a->name);
  if (!xmlStrcmp(a->name, BAD_CAST "name")) return 1;
  if (names == NAMES || robotIs(n, "compiler")) return 0;
  if (robotIs(n, "attach")) /* The body or the frame is one of the file that it attaches. */
    return robotKnows(" prefix model ", a->name) || !robotText(n, "model");
  if (kind) return strcmp(kind, "body") || strcmp(robotText(n, (const char *)a->name), "world");
  return names == ALL && (robotKnows(" class childclass material mesh hfield ", a->name) ||
                          (robotIs(n, "composite") && robotKnows(" prefix ", a->name)));
}

/* of: (kind, name) of the elements whose references change, or NULL: all */
static int rename_(Mjcf *m, xmlNodePtr n, const char *prefix, const char *suffix, Names names,
                   xmlHashTablePtr of) {
  for (xmlAttr *a = n->properties; a; a = a->next) {
    const char *kind = kindOf(a->name);
    if (!changes(n, a, names) ||
        (of && kind &&
         !xmlHashLookup2(of, BAD_CAST kind, BAD_CAST robotText(n, (const char *)a->name))))
      continue;
    const char *text  = robotText(n, (const char *)a->name);
    const size_t size = strlen(prefix) + strlen(text) + strlen(suffix) + 1;
    char *whole       = malloc(size);
    if (!whole) return noMemory(m, n);
    snprintf(whole, size, "%s%s%s", prefix, text, suffix);
    const int failed = setText(m, n, (const char *)a->name, whole);
    free(whole);
    if (failed) return 1;
  }
  for (xmlNodePtr c = n->children; c; c = c->next)
    if (c->type == XML_ELEMENT_NODE && rename_(m, c, prefix, suffix, names, of)) return 1;
  return 0;
}

/* names: (kind, name) of all elements below n, and of n. Returns 0, or 1 after a message. */
static int listNames(Mjcf *m, const xmlNode *n, xmlHashTablePtr names) {
  const char *name = robotText(n, "name");
  const xmlChar *k = robotIs(n, "freejoint")                        ? BAD_CAST "joint"
                     : robotIs(n, "fixed") || robotIs(n, "spatial") ? BAD_CAST "tendon"
                                                                    : n->name;
  if (name && !xmlHashLookup2(names, k, BAD_CAST name) &&
      xmlHashAddEntry2(names, k, BAD_CAST name, (void *)n))
    return noMemory(m, n);
  for (const xmlNode *c = n->children; c; c = c->next)
    if (c->type == XML_ELEMENT_NODE && listNames(m, c, names)) return 1;
  return 0;
}

/* Counts references of an element, and of those below it, to what has one of these names, and to others. */
static void countReferences(const xmlNode *n, xmlHashTablePtr names, int *count) {
  for (const xmlAttr *a = n->properties; a; a = a->next) {
    const char *kind = kindOf(a->name), *text = robotText(n, (const char *)a->name);
    if (!kind || (!strcmp(kind, "body") && !strcmp(text, "world"))) continue;
    count[!xmlHashLookup2(names, BAD_CAST kind, BAD_CAST text)]++;
  }
  for (const xmlNode *c = n->children; c; c = c->next)
    if (c->type == XML_ELEMENT_NODE) countReferences(c, names, count);
}

/* What is done with elements outside of the tree of bodies of a model that refer to these names: they are copied with other names; or
 * removed; or all others are, and those that refer to other names as well. */
typedef enum { COPY, REMOVE, KEEP } Action;

static int treat(Mjcf *m, MjcfModel *model, xmlHashTablePtr names, Action action,
                 const char *prefix, const char *suffix) {
  static const char *const sections[] = {"tendon", "contact", "equality", "actuator"};
  for (int k = 0; k < 4; k++)
    for (xmlNodePtr s = model->root->children; s; s = s->next) {
      xmlNodePtr copies = NULL;
      for (xmlNodePtr n = robotIs(s, sections[k]) ? s->children : NULL, next; n; n = next) {
        int count[2] = {0, 0};
        next         = n->next;
        if (n->type != XML_ELEMENT_NODE) continue;
        countReferences(n, names, count);
        /* Of a file only what refers to nothing else is kept. */
        const int refers = count[0] > 0 && (action != KEEP || !count[1]);
        /* Actuators on a tendon follow it. */
        if (refers && k == 0 && listNames(m, n, names)) return 1;
        if (action == COPY && refers) {
          xmlNodePtr copy = copyElement(m, n);
          if (!copy) return 1;
          if (!model->copies) model->copies = xmlNewDocNode(m->r->doc, NULL, s->name, NULL);
          if (!copies && model->copies) copies = xmlNewChild(model->copies, NULL, s->name, NULL);
          if (!copies) return xmlFreeNode(copy), noMemory(m, n);
          copies->_private = s->_private;
          xmlAddChild(copies, copy);
          if (rename_(m, copy, prefix, suffix, REFERENCES, names)) return 1;
        } else if ((action == REMOVE && refers) || (action == KEEP && !refers)) {
          freeElement(m, n);
        }
      }
    }
  return 0;
}

/* The children of a node become those of another one. */
static void moveChildren(xmlNodePtr from, xmlNodePtr to) {
  for (xmlNodePtr c = from ? from->children : NULL, next; c; c = next) {
    next = c->next;
    xmlUnlinkNode(c);
    xmlAddChild(to, c);
  }
}

/* Adds the copies of references to their models. */
static void addCopies(Mjcf *m) {
  for (int i = 0; i < m->nmodels; i++) moveChildren(m->models[i]->copies, m->models[i]->root);
}

/* The same for all models, or one. subtree: with the names */
static int treatReferences(Mjcf *m, MjcfModel *one, const xmlNode *subtree, Action action,
                           const char *prefix, const char *suffix) {
  xmlHashTablePtr names = xmlHashCreate(64);
  int failed            = names ? listNames(m, subtree, names) : noMemory(m, subtree);
  for (int i = 0; i < m->nmodels && !failed; i++)
    if (!one || m->models[i] == one) failed = treat(m, m->models[i], names, action, prefix, suffix);
  xmlHashFree(names, NULL);
  return failed;
}

/* --------------------------------------------------------------------------------- replicate -- */

/* Replaces a <replicate> by frames with copies of what it contains, each displaced from the one before it, along its axes, and turned by a
 * multiple of the angles. */
static int replicate(Mjcf *m, xmlNodePtr n) {
  Place place           = {{0, 0, 0, 1, 0, 0, 0}, GROUND};
  sunrealtype offset[3] = {0, 0, 0}, angle[3] = {0, 0, 0}, count = 0;
  const char *sep = robotText(n, "sep"), *text = robotText(n, "count");
  static const sunrealtype upright[4] = {1, 0, 0, 0};
  if (!text) return robotWrong(m->r, n, "count must be given");
  if (robotNumbers(m->r, n, "count", text, 1, 1, &count, NULL) ||
      mjcfNumbers(m, n, "replicate", NULL, "offset", 3, 3, offset) ||
      mjcfNumbers(m, n, "replicate", NULL, "euler", 3, 3, angle))
    return 1;
  if (!(count >= 1 && count <= 1e6))
    return robotWrong(m->r, n, "count must be positive, and is %g", (double)count);
  size_t digits = 1;
  for (int last = (int)count - 1; last > 9; last /= 10) digits++;
  xmlNodePtr after = n;
  for (int i = 0; i < (int)count; i++) {
    char suffix[100], number[400];
    snprintf(number, sizeof number, "%07d", i);
    snprintf(suffix, sizeof suffix, "%.60s%s", sep ? sep : "", number + 7 - digits);
    xmlNodePtr frame = copyElement(m, n);
    if (!frame) return 1;
    after = xmlAddNextSibling(after, frame);
    xmlNodeSetName(frame, BAD_CAST "frame");
    for (int k = 0; k < 4; k++)
      xmlUnsetProp(frame, BAD_CAST((const char *[]){"euler", "sep", "count", "offset"}[k]));
    if (rename_(m, frame, "", suffix, NAMES, NULL) || setNumbers(m, frame, "pos", 3, place.q) ||
        setNumbers(m, frame, "quat", 4, place.q + 3) ||
        treatReferences(m, NULL, n, COPY, "", suffix))
      return 1;
    robotPlace(&place, offset, upright, &place); /* along the axes of this copy */
    snprintf(number, sizeof number, "%.17g %.17g %.17g", (double)((i + 1) * angle[0]),
             (double)((i + 1) * angle[1]), (double)((i + 1) * angle[2]));
    if (mjcfTurn(m, n, "euler", number, place.q + 3)) return 1;
  }
  if (treatReferences(m, NULL, n, REMOVE, NULL, NULL)) return 1;
  addCopies(m);
  freeElement(m, n);
  return 0;
}

/* ------------------------------------------------------------------------------------ attach -- */

/* Parses the file of an asset, with what it includes, as a model whose names have this prefix. Returns NULL after a message. */
static MjcfModel *readModel(Mjcf *m, const xmlNode *asset, const char *prefix) {
  const char *file = robotText(asset, "file");
  char path[1000];
  size_t size;
  if (!file || m->nmodels >= MOST_MODELS || m->model->depth >= MOST_NESTED ||
      bodiesBeside(m->model->file ? m->model->file : "", file, path, sizeof path)) {
    robotWrong(m->r, asset,
               file ? "there are more than %d models, or they contain each other"
                    : "file must be given",
               MOST_MODELS);
    return NULL;
  }
  char *data    = robotFile(m->r, asset, NULL, path, &size);
  xmlDocPtr doc = data ? robotIncluded(m->r, asset, path, data, size) : NULL;
  if (!doc) return NULL;
  const char *name = m->r->included[m->r->nincluded - 1];
  xmlNodePtr root  = xmlDocGetRootElement(doc);
  const int is     = robotIs(root, "mujoco");
  if (!is) robotWrong(m->r, asset, "the root of \"%.100s\" must be mujoco", path);
  xmlUnlinkNode(root);
  xmlAddChild((xmlNodePtr)m->r->doc, root); /* which frees it */
  xmlFreeDoc(doc);
  MjcfModel *model = is && !robotInclude(m->r, root, name) ? mjcfModel(m, root) : NULL;
  if (!model) return NULL;
  model->file   = name;
  model->prefix = prefix;
  model->depth  = m->model->depth + 1;
  return model;
}

/* Finds the asset of a model by its name, which is that in the file if the asset has none. */
static const xmlNode *findModel(Mjcf *m, const xmlNode *n, const char *name) {
  const xmlNode *unnamed = NULL;
  for (const xmlNode *s = m->model->root->children; s; s = s->next)
    for (const xmlNode *c = robotIs(s, "asset") ? s->children : NULL; c; c = c->next) {
      const char *own = robotIs(c, "model") ? robotText(c, "name") : NULL;
      if (own && !strcmp(own, name)) return c;
      if (robotIs(c, "model") && !own) unnamed = c;
    }
  if (!unnamed) robotWrong(m->r, n, "there is no model \"%.60s\"", name);
  return unnamed;
}

/* The body or frame of this name below n, or NULL */
static xmlNodePtr findElement(xmlNodePtr n, const char *tag, const char *name) {
  for (xmlNodePtr c = n->children; c; c = c->next) {
    if (c->type != XML_ELEMENT_NODE) continue;
    const char *own  = robotIs(c, tag) ? robotText(c, "name") : NULL;
    xmlNodePtr found = own && !strcmp(own, name) ? c : findElement(c, tag, name);
    if (found) return found;
  }
  return NULL;
}

/* Replaces an <attach> by a frame with a body, a frame, or the world of a file, or with a copy of a body or a frame of this one. */
static int attach(Mjcf *m, xmlNodePtr n) {
  const char *name = robotText(n, "model"), *tag = robotText(n, "body") ? "body" : "frame",
             *of = robotText(n, tag), *prefix = robotText(n, "prefix");
  MjcfModel *outer = m->model, *model = outer;
  xmlNodePtr part = NULL;
  char whole[400] = "";
  if (!prefix) return robotWrong(m->r, n, "prefix must be given");
  if (!name && !of) return robotWrong(m->r, n, "model, body or frame must be given");
  if (name) {
    const xmlNode *asset = findModel(m, n, name);
    if (!asset || !(model = readModel(m, asset, prefix))) return 1;
    m->model = model;
    const int failed =
        rename_(m, model->root, prefix, "", ALL, NULL) || mjcfSettings(m) || mjcfExpand(m);
    m->model = outer;
    if (failed) return 1;
  }
  if (of && snprintf(whole, sizeof whole, "%s%s", name ? prefix : "", of) < (int)sizeof whole)
    for (xmlNodePtr s = model->root->children; s && !part; s = s->next)
      if (robotIs(s, "worldbody")) part = findElement(s, tag, whole);
  if (of && !part) return robotWrong(m->r, n, "there is no %s \"%.60s\"", tag, of);
  for (const xmlNode *p = part ? part->parent : NULL; p; p = p->parent)
    if (p->type == XML_ELEMENT_NODE &&
        robotText(p, "childclass")) { /* that of the elements around it */
      if (setText(m, n, "childclass", robotText(p, "childclass"))) return 1;
      break;
    }
  if (!name) {
    if (!(part = copyElement(m, part))) return 1;
    xmlAddChild(n, part);
    if (treatReferences(m, NULL, part, COPY, prefix, "") ||
        rename_(m, part, prefix, "", NAMES, NULL))
      return 1;
    addCopies(m);
  } else if (part) {
    xmlUnlinkNode(part);
    xmlAddChild(n, part);
    if (treatReferences(m, model, part, KEEP, NULL, NULL)) return 1;
  }
  for (xmlNodePtr s = name ? model->root->children : NULL, next; s; s = next) {
    next = s->next;
    if (!robotIs(s, "worldbody")) continue;
    if (!part) moveChildren(s, n);
    freeElement(m, s);
  }
  xmlNodeSetName(n, BAD_CAST "frame");
  model->prefix = ""; /* Its names have it. */
  return name ? setScope(m, n, model) : 0;
}

/* --------------------------------------------------------------------------------- composite -- */

/* The points of a cable: given, or on a curve. x: out, [3 *count], which the caller frees */
static int readPoints(Mjcf *m, const xmlNode *n, sunrealtype **x, int *count) {
  const char *vertex = robotText(n, "vertex"), *curve = robotText(n, "curve");
  sunrealtype number[3] = {1, 1, 1}, size[3] = {1, 0, 0}, e[4] = {1, 0, 0, 0};
  const sunrealtype turn = 4 * atan(SUN_RCONST(1.0));
  Place place            = {{0, 0, 0, 1, 0, 0, 0}, GROUND};
  Pose pose;
  if (mjcfNumbers(m, n, "composite", NULL, "count", 1, 3, number) ||
      mjcfNumbers(m, n, "composite", NULL, "size", 1, 3, size) ||
      mjcfNumbers(m, n, "composite", NULL, "quat", 4, 4, e))
    return 1;
  if (vertex && mjcfList(m, n, "vertex", x, count)) return 1;
  if (!vertex) *count = 3 * (int)fmin(fmax(number[0], 0), MOST_ELEMENTS);
  *count /= 3;
  if (*count < 2 || number[1] > 1 || number[2] > 1)
    return robotWrong(m->r, n, "a cable must have two points or more, in one direction");
  robotPlace(&place, place.q, e, &place);
  robotPose(&place, &pose);
  if (!vertex && !(*x = malloc(3 * (size_t)*count * sizeof **x))) return noMemory(m, n);
  for (int i = 0; i < *count && !vertex; i++) {
    const sunrealtype s  = (sunrealtype)i / (*count - 1);
    const char *word     = curve ? curve : "";
    sunrealtype point[3] = {0, 0, 0};
    for (int k = 0; k < 3 && *(word += strspn(word, " ")); k++, word += strcspn(word, " ")) {
      const sunrealtype angle = turn * s * size[2];
      const size_t length     = strcspn(word, " ");
      point[k]                = length == 1 && *word == 's'   ? s * size[0]
                                : !strncmp(word, "cos(s)", 6) ? size[1] * cos(angle)
                                : !strncmp(word, "sin(s)", 6) ? size[1] * sin(angle)
                                : length == 1 && *word == '0' ? 0
                                                              : NAN;
      if (isnan(point[k]))
        return robotWrong(m->r, n, "curve must be three of s, cos(s), sin(s), 0");
    }
    toSpace(&pose, point, *x + 3 * i);
  }
  for (int i = 0; i < 3 * *count; i++)
    (*x)[i] = (float)(*x)[i]; /* MuJoCo keeps points and edges as floats. */
  return 0;
}

/* v = v / |v|, unless it is zero; returns |v|. */
static sunrealtype normalize(sunrealtype *v) {
  const sunrealtype size = sqrt(dot3(v, v));
  for (int k = 0; k < 3 && size > 0; k++) v[k] /= size;
  return size;
}

/* The frame of an edge of a cable, whose x axis is along it, and which turns from edge to edge by the least angle. normal: in, that of the edge
 * before it, out. The first one is in the plane of the edges; if they are parallel, it is any of those around it. */
static void frameOf(const sunrealtype *before, const sunrealtype *along, const sunrealtype *after,
                    sunrealtype *normal, sunrealtype *e) {
  sunrealtype axis[3][3], turn[4], binormal[3];
  if (before) {
    Place place = {{0, 0, 0, 1, 0, 0, 0}, GROUND};
    Pose pose;
    sunrealtype turned[3];
    cross3(before, along, binormal);
    const sunrealtype angle = atan2(normalize(binormal), dot3(before, along));
    turn[0]                 = cos(angle / 2);
    for (int k = 0; k < 3; k++) turn[k + 1] = sin(angle / 2) * binormal[k];
    memcpy(place.q + 3, turn, sizeof turn);
    robotPose(&place, &pose);
    toSpace(&pose, normal, turned);
    memcpy(normal, turned, sizeof turned);
  } else {
    sunrealtype least[3] = {0, 0, 0};
    if (after) cross3(along, after, binormal);
    if (!after || !(normalize(binormal) > 1e-12)) {
      const int k = fabs(along[1]) > fabs(along[0]) ? 0 : 1;
      least[k]    = k == 1 && along[0] > 0 ? 1 : -1; /* along the axes the frame is MuJoCo's */
      cross3(along, least, binormal);
      normalize(binormal);
    }
    cross3(binormal, along, normal);
  }
  normalize(normal);
  memcpy(axis[0], along, sizeof axis[0]);
  memcpy(axis[1], normal, sizeof axis[1]);
  cross3(axis[0], axis[1], axis[2]);
  robotAxes(axis, e);
}

/* Sets an attribute to a name in three parts. prefix: or NULL */
static int setName(Mjcf *m, xmlNodePtr n, const char *attribute, const char *prefix,
                   const char *kind, const char *name) {
  char whole[400];
  snprintf(whole, sizeof whole, "%.300s%s%s", prefix ? prefix : "", kind, name);
  return setText(m, n, attribute, whole);
}

/* Adds an element with a name, like the one of its kind in a composite, or an empty one. Returns NULL after a message. */
static xmlNodePtr addElement(Mjcf *m, const xmlNode *n, xmlNodePtr to, const char *tag,
                             const char *prefix, const char *kind, const char *name) {
  const xmlNode *own = robotChild(n, tag);
  xmlNodePtr e = own ? copyElement(m, own) : xmlNewDocNode(m->r->doc, NULL, BAD_CAST tag, NULL);
  if (!e) return own ? NULL : (noMemory(m, n), NULL);
  if (!own) e->_private = n->_private, m->nelements++;
  xmlAddChild(to, e);
  return setName(m, e, "name", prefix, kind, name) ? NULL : e;
}

/* Adds a body of a cable with its geom, joint, and the sites at the ends of the cable. Returns it, or NULL after a message. */
static xmlNodePtr addEdge(Mjcf *m, const xmlNode *n, xmlNodePtr to, int i, int last,
                          const char *const *name, sunrealtype length) {
  const char *initial = robotText(n, "initial"), *prefix = robotText(n, "prefix");
  const int is_free         = i == 0 && initial && !strcmp(initial, "free"),
            has_joint       = i > 0 || !initial || strcmp(initial, "none");
  const sunrealtype ends[6] = {0, 0, 0, length, 0, 0}, middle[3] = {length / 2, 0, 0};
  const xmlNode *shape = robotChild(n, "geom");
  sunrealtype size[3]  = {0, 0, 0};
  char number[40];
  snprintf(number, sizeof number, "%d", i);
  xmlNodePtr body = addElement(m, n, to, "body", prefix, "B_", name[0]);
  xmlNodePtr geom = body ? addElement(m, n, body, "geom", prefix, "G", number) : NULL;
  if (!geom || mjcfNumbers(m, shape, "geom", NULL, "size", 1, 3, size)) return NULL;
  size[0]         = length / 2;
  int failed      = !strcmp(robotText(shape, "type"), "box")
                        ? setNumbers(m, geom, "pos", 3, middle) || setNumbers(m, geom, "size", 3, size)
                        : setNumbers(m, geom, "fromto", 6, ends);
  xmlNodePtr part = NULL;
  if (!failed && has_joint) {
    part   = addElement(m, n, body, is_free ? "freejoint" : "joint", prefix, "J_", name[0]);
    failed = !part || setText(m, part, "type", "ball");
  }
  for (int end = 0; end < 2 && !failed; end++)
    if (i == (end ? last : 0) && (!end || last > 0)) {
      part   = addElement(m, n, body, "site", prefix, "S_", end ? "last" : "first");
      failed = !part || setNumbers(m, part, "pos", 3, end ? ends + 3 : ends);
    }
  return failed ? NULL : body;
}

/* Replaces a <composite> by a frame with a chain of bodies, connected by ball joints. Default classes have no effect in it. */
static int composite(Mjcf *m, xmlNodePtr n) {
  const char *type    = robotText(n, "type"), *prefix;
  const xmlNode *geom = robotChild(n, "geom");
  const char *shape   = geom ? robotText(geom, "type") : NULL;
  sunrealtype *x = NULL, along[2][3], e[2][4], normal[3], pos[3] = {0, 0, 0}, turn[4];
  int count              = 0;
  const MjcfModel *outer = m->model;
  xmlNodePtr root = xmlNewDocNode(m->r->doc, NULL, BAD_CAST "mujoco", NULL), to = n;
  if (!root) return noMemory(m, n);
  root->_private = n->_private;
  xmlAddChild((xmlNodePtr)m->r->doc, root);
  if (!type || strcmp(type, "cable"))
    return robotWrong(m->r, n, "type must be cable, and is \"%.40s\"", type ? type : "");
  if (!shape || !robotKnows(" capsule cylinder box ", BAD_CAST shape))
    return robotWrong(m->r, n, "the geom of a cable must be a capsule, a cylinder or a box");
  if (robotChild(n, "plugin") && robotNote(m->r, root, "plugins")) return 1;
  MjcfModel *model   = mjcfModel(m, root);
  xmlNodePtr contact = model ? xmlNewChild(root, NULL, BAD_CAST "contact", NULL) : NULL;
  if (!contact) return model ? noMemory(m, n) : 1;
  contact->_private = n->_private;
  model->angle = outer->angle, model->autolimits = outer->autolimits;
  xmlNodePtr from = copyElement(m, n); /* It is read while the composite becomes the chain. */
  if (!from || mjcfNumbers(m, n, "composite", NULL, "offset", 3, 3, pos) ||
      readPoints(m, n, &x, &count)) {
    xmlFreeNode(from);
    free(x);
    return 1;
  }
  prefix = robotText(from, "prefix");
  xmlFreeNodeList(n->children);
  n->children = n->last = NULL;
  while (n->properties) xmlRemoveProp(n->properties);
  xmlNodeSetName(n, BAD_CAST "frame");
  int failed = setScope(m, n, model);
  add3(1, x, pos);
  for (int i = 0; i < count - 1 && !failed; i++) {
    char number[2][40];
    const char *name[2];
    sunrealtype length = 0;
    for (int k = 0; k < 2; k++) {
      snprintf(number[k], sizeof number[k], "%d", i + k);
      name[k] = i + k == 0 ? "first" : i + k == count - 2 ? "last" : number[k];
    }
    memcpy(along[1], along[0], sizeof along[0]);
    memcpy(e[1], e[0], sizeof e[0]);
    for (int k = 0; k < 2 && i + k < count - 1; k++) {
      sunrealtype edge[3];
      for (int c = 0; c < 3; c++) edge[c] = (float)(x[3 * (i + k + 1) + c] - x[3 * (i + k) + c]);
      const sunrealtype size = normalize(edge);
      if (k == 0) length = size, memcpy(along[0], edge, sizeof edge);
      else memcpy(turn, edge, sizeof edge);
    }
    frameOf(i ? along[1] : NULL, along[0], count > 2 ? turn : NULL, normal, e[0]);
    memcpy(turn, e[0], sizeof turn);
    for (int k = 1; k < 4 && i; k++) e[1][k] = -e[1][k];
    if (i) robotTurn(e[1], e[0], turn);
    to     = addEdge(m, from, to, i, count - 2, name, length);
    failed = !to || setNumbers(m, to, "pos", 3, pos) || setNumbers(m, to, "quat", 4, turn);
    pos[0] = length, pos[1] = pos[2] = 0;
    if (failed || i == count - 2) continue;
    xmlNodePtr exclude = addElement(m, from, contact, "exclude", prefix, "", "");
    failed             = !exclude || setName(m, exclude, "body1", prefix, "B_", name[0]) ||
             setName(m, exclude, "body2", prefix, "B_", name[1]);
  }
  free(x);
  xmlFreeNode(from);
  return failed;
}

/* ------------------------------------------------------------------------------------------- */

/* Expands what is below n, the inner ones first: the numbers of inner copies come first in names. */
static int expand(Mjcf *m, xmlNodePtr n) {
  for (xmlNodePtr c = n->children, next; c; c = next) {
    next = c->next;
    if (c->type != XML_ELEMENT_NODE || hasScope(m, c)) continue;
    int failed = 0;
    if (expand(m, c)) return 1;
    if (robotIs(c, "replicate")) failed = replicate(m, c);
    else if (robotIs(c, "attach")) failed = attach(m, c);
    else if (robotIs(c, "composite")) failed = composite(m, c);
    if (failed) return 1;
  }
  return 0;
}

int mjcfExpand(Mjcf *m) {
  for (xmlNodePtr n = m->model->root->children; n; n = n->next)
    if (robotIs(n, "worldbody") && expand(m, n)) return 1;
  return 0;
}
