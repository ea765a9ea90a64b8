/* Values of YAML files: numbers and expressions, names, words, and mappings as structures. */
#define _POSIX_C_SOURCE 200809L /* strtok_r */
#include "hull.h"
#include "yaml_impl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Place yamlPlace(const Reader *r, const yaml_node_t *n) {
  const int quoted = n->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                     n->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  return (Place){r->file, (int)n->start_mark.line + 1, (int)n->start_mark.column + 1 + quoted};
}

/* Is this text, which has no quotation marks, cut off within parentheses, as the comma of f(x, y) does within { } and [ ]? */
static int isCut(const yaml_node_t *n) {
  int depth = 0;
  for (const char *c = yamlText(n); *c; c++) depth += (*c == '(') - (*c == ')');
  return depth > 0 && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

int yamlWrongText(Reader *r, const char *key, const yaml_node_t *n) {
  const int cut = n && isCut(n);
  snprintf(r->message, r->length, "%s%s%s%s%s", CPObjectGetLastMessage(NULL),
           key || cut ? " (" : "", key ? key : "",
           cut ? "; within { } or [ ], a text with commas needs quotation marks" : "",
           key || cut ? ")" : "");
  bodiesOneLine(r->message, r->length);
  return 1;
}

/* The unit of a field, for the coordinate of this element. */
static const char *unitOf(const Reader *r, const char *unit, char own[UNIT]) {
  const char *second = unit ? strchr(unit, '|') : NULL;
  if (!second || r->angle) return second ? second + 1 : unit;
  snprintf(own, UNIT, "%.*s", (int)(second - unit), unit);
  return own;
}

/* Is this text a number alone, which needs no parser? */
static int isNumeral(const yaml_node_t *n, sunrealtype *x) {
  char *end = NULL;
  if (n->type != YAML_SCALAR_NODE || n->data.scalar.length == 0) return 0;
  const double value = strtod(yamlText(n), &end);
  if (end != yamlText(n) + n->data.scalar.length) return 0;
  *x = value;
  return 1;
}

int yamlNumber(Reader *r, const yaml_node_t *n, const char *key, const char *unit, sunrealtype *x) {
  char own[UNIT];
  const int numeral = isNumeral(n, x);
  if (numeral && isfinite(*x)) return 0;
  if (numeral || n->type != YAML_SCALAR_NODE || strlen(yamlText(n)) != n->data.scalar.length)
    return yamlWrong(r, n->start_mark, "%s must be a finite number%s%.40s", key,
                     n->type == YAML_SCALAR_NODE ? ", and is " : "",
                     n->type == YAML_SCALAR_NODE ? yamlText(n) : "");
  return cpScopeNumber(r->scope, yamlText(n), yamlPlace(r, n), unitOf(r, unit, own), x)
             ? yamlWrongText(r, key, n)
             : yamlKeep(r, n, key, x, NULL, 0, NULL);
}

int yamlKeep(Reader *r, const yaml_node_t *n, const char *key, const sunrealtype *x, CPFunction f,
             int nvariables, const char *const *variable) {
  const char *as[CP_MOST_VARIABLES];
  char inputs[TEXT], *save = NULL;
  Kept *kept = r->kept;
  Origin own = {.f = f, .value = x ? *x : 0};
  if (!kept) return 0;
  /* Quantities have the names of elements in the mechanism. */
  memcpy(inputs, r->inputs, sizeof inputs);
  const char *input = strtok_r(inputs, " ", &save);
  for (int i = 0; i < nvariables; i++) {
    as[i] = i < nvariables - r->ninputs ? variable[i] : input;
    if (i >= nvariables - r->ninputs) input = strtok_r(NULL, " ", &save);
  }
  if (cpScopeRewrite(r->scope, kept->top, yamlText(n), nvariables, variable, as, &own.text,
                     &own.uses) < 0)
    return yamlWrong(r, n->start_mark, "no memory");
  const uintptr_t place = (uintptr_t)x, start = (uintptr_t)r->element;
  const int is_own = r->element && (f || (place >= start && place < start + sizeof(Element)));
  own.at           = f ? sizeof(Element) : (size_t)(place - start);
  if (own.uses && (!is_own || !own.text || own.uses > 1)) {
    char text[200];
    snprintf(text, sizeof text, "%.150s%s", yamlText(n), strlen(yamlText(n)) > 150 ? "..." : "");
    bodiesOneLine(text, sizeof text);
    bodiesPut(&kept->values, "#   %.200s:%d: %s: %s\n", r->file, (int)n->start_mark.line + 1, key,
              text);
  }
  if (!is_own || !own.text || own.uses > 1) return free(own.text), 0;
  if (ROOM(kept->source, kept->nsources, 1))
    return free(own.text), yamlWrong(r, n->start_mark, "no memory");
  kept->source[kept->nsources++] = own;
  return 0;
}

/* Adds the quantities that an expression names, ELEMENT.QUANTITY, to the inputs of the element. */
static int findInputs(Reader *r, const yaml_node_t *n) {
  if (n->type != YAML_SCALAR_NODE) return 0;
  for (const char *c = yamlText(n); *c;) {
    char name[TEXT], *end, rule[RULE_TEXT];
    Sensor s;
    const size_t length = cpNameLength(c);
    strtod(c, &end);
    if (end > c && length == 0) {
      c = end;
      continue;
    }
    if (length + 3 > sizeof name && memchr(c, '.', length))
      return yamlWrong(r, n->start_mark, "the name %.40s... is too long", c);
    snprintf(name, sizeof name, " %.*s ", (int)length, c);
    c += length + (length == 0);
    if (!strchr(name, '.')) continue;
    char known[TEXT + 2];
    snprintf(known, sizeof known, "%s ", r->variables);
    if (strstr(known, name)) continue;
    name[length + 1] = '\0';
    char element[TEXT], input[2 * TEXT];
    const char *resolved = element, *dot = strchr(name, '.');
    snprintf(element, sizeof element, "%.*s", (int)(dot - name - 1), name + 1);
    if (yamlResolve(r, n, 0, &resolved)) return 1;
    snprintf(input, sizeof input, " %s%s", resolved, dot);
    if (bodiesSensor(&r->bodies->m, NULL, input + 1, &s, rule))
      return yamlWrong(r, n->start_mark, "%s", rule);
    const size_t before = strlen(r->inputs), more_of = strlen(input), named = strlen(r->variables);
    if (r->ninputs == CP_MOST_VARIABLES - 7 || before + more_of + 1 > sizeof r->inputs ||
        named + length + 2 > sizeof r->variables)
      return yamlWrong(r, n->start_mark, "a function may depend on at most %d quantities",
                       CP_MOST_VARIABLES - 7);
    memcpy(r->inputs + before, input, more_of + 1);
    memcpy(r->variables + named, name, length + 2);
    r->unit[r->ninputs++] = s.unit;
  }
  return 0;
}

/* Reads component k of a formula: x, if it does not depend on the variables, or a function in r->function. */
static int readFormula(Reader *r, const yaml_node_t *n, const Field *f, int nvariables,
                       const char *const *variable, const char *const *units, int k, sunrealtype *x) {
  const char *names[CP_MOST_VARIABLES], *of[CP_MOST_VARIABLES];
  char own[UNIT], variables[TEXT], *save = NULL;
  CPFunction function;
  int used = 0, count = nvariables;
  if (n->type != YAML_SCALAR_NODE || n->data.scalar.length == 0 || isNumeral(n, x) ||
      strlen(yamlText(n)) != n->data.scalar.length)
    return yamlNumber(r, n, f->key, f->unit, x);
  memcpy(variables, r->variables, sizeof variables);
  memcpy(names, variable, (size_t)count * sizeof *names);
  memcpy(of, units, (size_t)count * sizeof *of);
  for (char *name = strtok_r(variables, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
    names[count] = name;
    of[count]    = r->unit[count - nvariables];
    count++;
  }
  if (cpScopeParse(r->scope, yamlText(n), yamlPlace(r, n), count, names, of,
                   unitOf(r, f->unit, own), &function))
    return yamlWrongText(r, f->key, n);
  for (int i = 0; i < count; i++) used |= cpFunctionUses(function, i);
  if (used) return r->function[k] = function, yamlKeep(r, n, f->key, NULL, function, count, names);
  CPFunctionFree(&function);
  return yamlNumber(r, n, f->key, f->unit, x);
}

int yamlNumbers(Reader *r, const yaml_node_t *n, const Field *f, int least, int most,
                const char *rule, sunrealtype *x) {
  static const char *const variables[] = {"t", "x", "y", "z", "vx", "vy", "vz"}, *const units[] = {
                                                                                     "s",   "m",
                                                                                     "m",   "m",
                                                                                     "m/s", "m/s",
                                                                                     "m/s"};
  const char *key = f->key;
  if (n->type == YAML_SCALAR_NODE)
    return yamlWrong(r, n->start_mark, "%s must be a list of %s numbers, and is %.40s", key, rule,
                     yamlText(n));
  if (n->type != YAML_SEQUENCE_NODE)
    return yamlWrong(r, n->start_mark, "%s must be a list of %s numbers", key, rule);
  const yaml_node_item_t *item = n->data.sequence.items.start;
  const long count             = (long)(n->data.sequence.items.top - item);
  if (count < least || count > most)
    return yamlWrong(r, n->start_mark, "%s must be a list of %s numbers, and has %ld", key, rule,
                     count);
  for (long i = 0; i < count && f->type == FORMULAS; i++)
    if (findInputs(r, yamlNode(r, item[i]))) return 1;
  for (long i = 0; i < count; i++)
    if (f->type == FORMULAS
            ? readFormula(r, yamlNode(r, item[i]), f, 7, variables, units, (int)i, &x[i])
            : yamlNumber(r, yamlNode(r, item[i]), key, f->unit, &x[i]))
      return 1;
  return 0;
}

int yamlName(Reader *r, const yaml_node_t *n, const char *key, const char **name) {
  if (n->type != YAML_SCALAR_NODE || n->data.scalar.length == 0 ||
      strlen(yamlText(n)) != n->data.scalar.length)
    return yamlWrong(r, n->start_mark, "%s must be a name", key);
  if (bodiesControl(yamlText(n)))
    return yamlWrong(r, n->start_mark, "%s must not contain control characters, and is \"%.40s\"",
                     key, yamlText(n));
  *name = yamlText(n);
  return 0;
}

int yamlCoordinate(Reader *r, const yaml_node_t *n, const char *key, CPCoordinate *of) {
  sunrealtype k = 0;
  of->k         = 0;
  if (n->type != YAML_SEQUENCE_NODE)
    return yamlName(r, n, key, &of->joint) || yamlResolve(r, n, 0, &of->joint);
  const yaml_node_item_t *item = n->data.sequence.items.start;
  if (n->data.sequence.items.top - item != 2)
    return yamlWrong(r, n->start_mark,
                     "%s must be a joint's name, or [name, number of its coordinate]", key);
  if (yamlName(r, yamlNode(r, item[0]), key, &of->joint) ||
      yamlResolve(r, yamlNode(r, item[0]), 0, &of->joint) ||
      yamlNumber(r, yamlNode(r, item[1]), key, "1", &k))
    return 1;
  if (k != floor(k) || k < 0 || k > 9)
    return yamlWrong(r, yamlNode(r, item[1])->start_mark,
                     "the coordinate must be 0, 1 or 2, and is %g", (double)k);
  of->k = (int)k;
  return 0;
}

static const char *shapeName(int k) {
  static const char *const names[NUM_SHAPES] = {"box",     "cylinder",  "sphere", "wheel",
                                                "capsule", "ellipsoid", "plane",  "mesh"};
  return k < NUM_SHAPES ? names[k] : NULL;
}
static const char *endsName(int k) {
  static const char *const names[] = {"natural", "clamped", "periodic", "cubic"};
  return k <= CP_ENDS_CUBIC ? names[k] : NULL;
}
static const char *dynamicsName(int k) {
  static const char *const names[] = {"none", "integrator", "filter", "muscle"};
  return k <= CP_ACTIVATION_MUSCLE ? names[k] : NULL;
}
static const char *onName(int k) {
  static const char *const names[] = {"plane", "sphere",
                                      "shape"}; /* the last one instead of functions */
  return k <= CP_ON_SURFACE ? names[k] : NULL;
}

const char *yamlWord(Type type, int k) {
  switch (type) {
  case KIND: return bodiesKindName(k);
  case SHAPE: return shapeName(k);
  case DYNAMICS: return dynamicsName(k);
  case ON: return onName(k == CP_ON_SHAPE ? CP_ON_SURFACE : k);
  case TOUCH: return bodiesTouchName(k);
  case ENDS: return endsName(k);
  default: return "";
  }
}

void yamlListWord(Words *words, const char *word) {
  const size_t length = strlen(words->list);
  snprintf(words->list + length, sizeof words->list - length, "%s%s", length ? ", " : "", word);
  cpScopeShow(&words->wrong, word);
}

const char *yamlWords(Words *words) {
  const size_t length = strlen(words->list);
  if (words->wrong.best)
    snprintf(words->list + length, sizeof words->list - length, "; did you mean %s?",
             words->wrong.best);
  return words->list;
}

/* Sets an enumeration, which has the size of an int, to the index of a word among word(0), word(1),
 * ... Returns 0, or 1 after a message. */
static int readWord(Reader *r, const yaml_node_t *n, const char *key, const char *what,
                    const char *(*word)(int), char *at) {
  const char *name = NULL;
  if (yamlName(r, n, key, &name)) return 1;
  Words words = {.wrong = {.name = name, .length = strlen(name)}};
  for (int k = 0; word(k); k++) {
    if (!strcmp(word(k), name)) return memcpy(at, &k, sizeof k), 0;
    yamlListWord(&words, word(k));
  }
  return yamlWrong(r, n->start_mark, "there is no %s \"%.40s\", but %s", what, name,
                   yamlWords(&words));
}

/* The items of a list of mappings, or NULL after a message. form: of one of them; what: they are; count: out */
static const yaml_node_item_t *itemsOf(Reader *r, const yaml_node_t *n, const char *key,
                                       const char *form, int least, int most, const char *what,
                                       int *count) {
  if (n->type != YAML_SEQUENCE_NODE)
    return yamlWrong(r, n->start_mark, "%s must be a list, - %s", key, form), NULL;
  const yaml_node_item_t *item = n->data.sequence.items.start;
  const long length            = (long)(n->data.sequence.items.top - item);
  *count                       = (int)length;
  if (length >= least && length <= most) return item;
  return yamlWrong(r, n->start_mark, "%s must have %d to %d %s, and has %ld", key, least, most,
                   what, length),
         NULL;
}

static const Field node_fields[] = {FIELD(NodeKeys, "body", node.body, NAME, 0),
                                    QUANTITY(NodeKeys, "at", node.point, VECTOR, 1, "m"),
                                    QUANTITY(NodeKeys, "radius", node.radius, NUMBER, 0, "m"),
                                    QUANTITY(NodeKeys, "axis", node.axis, DIRECTION, 0, NULL),
                                    FIELD(NodeKeys, "turns", node.turns, COUNT, 0),
                                    QUANTITY(NodeKeys, "friction", node.friction, NUMBER, 0, "1"),
                                    QUANTITY(NodeKeys, "sticking", node.sticking, NUMBER, 0, "1"),
                                    QUANTITY(NodeKeys, "side", side.point, VECTOR, 0, "m"),
                                    FIELD(NodeKeys, "side_body", side.body, NAME, 0),
                                    {0}};

static int readNodes(Reader *r, const yaml_node_t *n, const Field *f, PathKeys *path) {
  const yaml_node_item_t *item =
      itemsOf(r, n, f->key, "{body: ..., at: ...}", 2, CP_MOST_NODES, "nodes", &path->nnodes);
  if (!item) return 1;
  for (int i = 0; i < path->nnodes; i++) {
    const yaml_node_t *at = yamlNode(r, item[i]);
    NodeKeys own          = {0};
    if (yamlMapping(r, at, "a node of a rope", node_fields, NULL, &own)) return 1;
    const yaml_node_t *side = yamlSection(r, at, "side"), *body = yamlSection(r, at, "side_body");
    if (body && !side) return yamlWrong(r, body->start_mark, "side_body needs a side");
    if (!body) own.side.body = own.node.body; /* that of the sphere or cylinder */
    path->node[i] = own.node, path->sides[i] = own.side;
    if (side) path->side[i] = &path->sides[i], path->sided = 1;
  }
  return 0;
}

/* The points of a mesh, which the reader owns until the next one, and their number */
static int readPoints(Reader *r, const yaml_node_t *n, const Field *f, const sunrealtype **points) {
  enum { MOST = 100000 };
  const Field one = {f->key, THREE, 0, 0, f->unit};
  int count;
  const yaml_node_item_t *item = itemsOf(r, n, f->key, "[x, y, z]", 4, MOST, "points", &count);
  if (!item) return 1;
  free(r->points);
  r->points = malloc(3 * (size_t)count * sizeof *r->points);
  if (!r->points) return yamlWrong(r, n->start_mark, "no memory for %d points", count);
  for (int i = 0; i < count; i++)
    if (yamlNumbers(r, yamlNode(r, item[i]), &one, 3, 3, "3", r->points + 3 * i)) return 1;
  *points                      = r->points;
  *(int *)(void *)(points + 1) = count; /* npoints comes after points */
  return 0;
}

/* The same of the convex hull of a mesh in a file */
static int readMesh(Reader *r, const yaml_node_t *n, const Field *f, const sunrealtype **points) {
  const yaml_node_t *scale = NULL;
  const char *name = NULL, *why = "its path is too long";
  char whole[4096];
  sunrealtype by = 1;
  size_t size;
  MeshHull hull;
  if (n->type == YAML_SEQUENCE_NODE) {
    const yaml_node_item_t *item = n->data.sequence.items.start;
    if (n->data.sequence.items.top - item != 2)
      return yamlWrong(r, n->start_mark, "%s must be a name, or [name, scale]", f->key);
    scale = yamlNode(r, item[1]), n = yamlNode(r, item[0]);
  }
  if (yamlName(r, n, f->key, &name) || (scale && yamlNumber(r, scale, f->key, "1", &by))) return 1;
  if (!(by > 0)) return yamlWrong(r, scale->start_mark, "the scale must be positive");
  char *data =
      bodiesBeside(r->file, name, whole, sizeof whole) ? NULL : bodiesFile(whole, &size, &why);
  if (!data)
    return yamlWrong(r, n->start_mark, "the file \"%.300s\" cannot be read: %s", name, why);
  const MeshSource from = {
      .name = name, .data = data, .size = size, .scale = {by, by, by}, .refquat = {1, 0, 0, 0}};
  why = meshHull(&from, 0, &hull);
  free(data);
  if (why) return yamlWrong(r, n->start_mark, "the mesh \"%.300s\": %s", name, why);
  free(r->points);
  *points = r->points          = hull.point;
  *(int *)(void *)(points + 1) = hull.npoints; /* npoints comes after points */
  return r->bodies && bodiesHasRead(r->bodies, whole)
             ? yamlWrong(r, n->start_mark, "no memory for the name of a file")
             : 0;
}

typedef struct {
  sunrealtype about[3], along[3];
  int of;
} MotionKeys;
static const Field motion_fields[] = {QUANTITY(MotionKeys, "about", about, DIRECTION, 0, NULL),
                                      QUANTITY(MotionKeys, "along", along, DIRECTION, 0, NULL),
                                      FIELD(MotionKeys, "of", of, COUNT, 0),
                                      {0}};

/* The motions of a joint: each about or along an axis, by a number or a function of x, coordinate `of` */
static int readMotions(Reader *r, const yaml_node_t *n, const Field *f, CPJointMotion *motion) {
  static const char *const by[] = {"by", NULL}, *const variable[] = {"x"}, *const unit[] = {"1"};
  static const Field value = {"by", FORMULA, 0, 1, "m|rad"};
  int count;
  const yaml_node_item_t *item =
      itemsOf(r, n, f->key, "{about: [...], by: ...}", 1, MOST_MOTIONS, "motions", &count);
  if (!item) return 1;
  for (int i = 0; i < count; i++) {
    const yaml_node_t *one = yamlNode(r, item[i]), *given;
    MotionKeys keys        = {{0}, {0}, 0};
    if (yamlMapping(r, one, "a motion of a joint", motion_fields, by, &keys)) return 1;
    const int about = length3(keys.about) > 0;
    if (about == (length3(keys.along) > 0))
      return yamlWrong(r, one->start_mark, "a motion of a joint needs either about or along");
    if (!(given = yamlSection(r, one, "by")))
      return yamlWrong(r, one->start_mark, "a motion of a joint needs by");
    motion[i] = (CPJointMotion){CP_SIZED(CPJointMotion), .about = about};
    memcpy(motion[i].axis, about ? keys.about : keys.along, sizeof keys.about);
    r->angle = about;
    if (readFormula(r, given, &value, 1, variable, unit, i, &motion[i].offset)) return 1;
    motion[i].function   = r->function[i];
    motion[i].coordinate = motion[i].function ? keys.of : -1;
    if (motion[i].function) motion[i].offset = 0;
  }
  *(int *)(void *)(motion + MOST_MOTIONS) = count;
  return 0;
}

static int readValue(Reader *r, const yaml_node_t *n, const Field *f, char *at) {
  static const char *const variables[]      = {"t", "x", "v", "w"},
                           *const lengths[] = {"s", "m", "m/s", "1"},
                           *const angles[]  = {"s", "rad", "rad/s", "1"};
  const char *name                          = NULL;
  const int size                            = r->dimension;
  sunrealtype *x                            = (sunrealtype *)(void *)at;
  const char *of = size == 2 ? "2 or 3" : "3"; /* number of components of a vector, for messages */
  switch (f->type) {
  case NUMBER: return yamlNumber(r, n, f->key, f->unit, x);
  case STARTS: return yamlNumbers(r, n, f, 1, MOST_MOTIONS, "1 to 6", x);
  case MOTIONS: return readMotions(r, n, f, (CPJointMotion *)(void *)at);
  case COUNT: {
    sunrealtype count = 0;
    if (yamlNumber(r, n, f->key, "1", &count)) return 1;
    if (count != floor(count) || count < 0 || count > 1000)
      return yamlWrong(r, n->start_mark, "%s must be a whole number from 0 to 1000, and is %g",
                       f->key, (double)count);
    *(int *)(void *)at = (int)count;
    return 0;
  }
  case SIGNAL:
  case FORMULA:
    if (findInputs(r, n)) return 1;
    /* fall through */
  case MOTION:
  case CURVE:
    return readFormula(r, n, f,
                       f->type == CURVE     ? 4
                       : f->type == FORMULA ? 3
                                            : 1,
                       variables, r->angle ? angles : lengths, 0, x);
  case FORMULAS:
  case VECTOR: return yamlNumbers(r, n, f, size, 3, of, x);
  case DIRECTION:
    if (yamlNumbers(r, n, f, size, 3, of, x)) return 1;
    return x[0] != 0 || x[1] != 0 || x[2] != 0
               ? 0
               : yamlWrong(r, n->start_mark, "%s must be a direction, and is zero", f->key);
  case FOUR: return yamlNumbers(r, n, f, 4, 4, "4", x);
  case THREE: return yamlNumbers(r, n, f, 3, 3, "3", x);
  case TWO: return yamlNumbers(r, n, f, 2, 2, "2", x);
  case INERTIA:
    if (size == 2) return yamlNumber(r, n, f->key, f->unit, x + 2);
    if (n->type == YAML_SEQUENCE_NODE &&
        n->data.sequence.items.top - n->data.sequence.items.start == 3)
      return yamlNumbers(r, n, f, 3, 3, "3", x);
    return yamlNumbers(r, n, f, 6, 6, "3 or 6", x);
  case NAME:
    if (yamlName(r, n, f->key, (const char **)(void *)at)) return 1;
    return r->in_element && yamlResolve(r, n, !strcmp(f->key, "name"), (const char **)(void *)at);
  case COORDINATE: return yamlCoordinate(r, n, f->key, (CPCoordinate *)(void *)at);
  case NODES: return readNodes(r, n, f, (PathKeys *)(void *)at);
  case MESH_FILE: return readMesh(r, n, f, (const sunrealtype **)(void *)at);
  case POINTS: return readPoints(r, n, f, (const sunrealtype **)(void *)at);
  case RATIOS: return yamlNumbers(r, n, f, 1, MOST_SUMMED, "1 to 32", x);
  case FUNCTION: {
    static const char *const second[] = {"x"}, *const unit[] = {"m", "rad"};
    return readFormula(r, n, f, 1, second, &unit[r->angle], 0, x);
  }
  case COORDINATES:
    if (n->type != YAML_SEQUENCE_NODE ||
        n->data.sequence.items.top - n->data.sequence.items.start < 1 ||
        n->data.sequence.items.top - n->data.sequence.items.start > MOST_SUMMED)
      return yamlWrong(r, n->start_mark, "%s must be a list of coordinates, at most %d", f->key,
                       MOST_SUMMED);
    for (int i = 0; i < n->data.sequence.items.top - n->data.sequence.items.start; i++)
      if (yamlCoordinate(r, yamlNode(r, n->data.sequence.items.start[i]), f->key,
                         (CPCoordinate *)(void *)at + i))
        return 1;
    return 0;
  case KIND: return readWord(r, n, f->key, "kind of joint", bodiesKindName, at);
  case SHAPE: return readWord(r, n, f->key, "kind of shape", shapeName, at);
  case DYNAMICS: return readWord(r, n, f->key, "dynamics", dynamicsName, at);
  case ENDS: return readWord(r, n, f->key, "kind of ends", endsName, at);
  case ON: return readWord(r, n, f->key, "surface of contacts in files", onName, at);
  case TOUCH: return readWord(r, n, f->key, "kind of contact", bodiesTouchName, at);
  case IN:
    if (yamlName(r, n, f->key, &name)) return 1;
    if (strcmp(name, "space") && strcmp(name, "bodies"))
      return yamlWrong(r, n->start_mark, "%s must be space or bodies, and is %.40s", f->key, name);
    *(CPIn *)(void *)at = name[0] == 's' ? CP_IN_SPACE : CP_IN_BODIES;
    return 0;
  case YES:
    if (yamlName(r, n, f->key, &name)) return 1;
    if (strcmp(name, "true") && strcmp(name, "false"))
      return yamlWrong(r, n->start_mark, "%s must be true or false, and is %.40s", f->key, name);
    *(int *)(void *)at = name[0] == 't';
    return 0;
  case COPY:
    if (yamlName(r, n, f->key, &name)) return 1;
    if (strlen(name) >= RUN_TEXT)
      return yamlWrong(r, n->start_mark, "%s must have fewer than %d characters", f->key, RUN_TEXT);
    memcpy(at, name, strlen(name) + 1);
    return 0;
  }
  return 0;
}

static int unknownKey(Reader *r, const yaml_node_t *key, const char *what, const Field *fields,
                      const char *const *sections) {
  Words words = {.wrong = {.name = yamlText(key), .length = strlen(yamlText(key))}};
  while (fields->key) yamlListWord(&words, (fields++)->key);
  while (sections && *sections) yamlListWord(&words, *sections++);
  return yamlWrong(r, key->start_mark, "%s has no key \"%.40s\"; it may have %s", what,
                   yamlText(key), yamlWords(&words));
}

/* What has a name is called by it: the mark is that of a line among many. */
static int lacks(Reader *r, const yaml_node_t *n, const char *what, const char *lacking) {
  for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
    const yaml_node_t *name = yamlNode(r, p->value);
    if (!strcmp(yamlText(yamlNode(r, p->key)), "name") && name->type == YAML_SCALAR_NODE)
      return yamlWrong(r, n->start_mark, "%s needs %s; \"%.100s\" has none", what, lacking,
                       yamlText(name));
  }
  return yamlWrong(r, n->start_mark, "%s needs %s", what, lacking);
}

int yamlMapping(Reader *r, const yaml_node_t *n, const char *what, const Field *fields,
                const char *const *sections, void *structure) {
  unsigned seen = 0, left = 0;
  if (n->type != YAML_MAPPING_NODE)
    return yamlWrong(r, n->start_mark, "%s must be a mapping, key: value", what);
  for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
    const yaml_node_t *key = yamlNode(r, p->key);
    const char *name       = NULL;
    unsigned *of           = &seen;
    int i                  = 0;
    if (yamlName(r, key, "a key", &name)) return 1;
    while (fields[i].key && strcmp(fields[i].key, name)) i++;
    if (!fields[i].key) {
      for (i = 0, of = &left; sections && sections[i] && strcmp(sections[i], name);) i++;
      if (!sections || !sections[i]) return unknownKey(r, key, what, fields, sections);
    }
    if (*of & (1u << i)) return yamlWrong(r, key->start_mark, "%s is given twice", name);
    *of |= 1u << i;
    if (of == &seen &&
        readValue(r, yamlNode(r, p->value), &fields[i], (char *)structure + fields[i].offset))
      return 1;
  }
  for (int i = 0; fields[i].key; i++)
    if (fields[i].required && !(seen & (1u << i))) return lacks(r, n, what, fields[i].key);
  return 0;
}
