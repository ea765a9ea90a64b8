/* Mechanisms from YAML files (guide, chapter "Mechanisms as files"). Each section is a list of
 * mappings, and each mapping is a structure of cpodes_bodies.h, whose fields are listed in a table;
 * one function reads them all. There is no deeper nesting, so that no file leads to a recursion. */
#include "files.h"
#include "formulas.h"
#include "language/language.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

typedef enum {
  NUMBER,    /* a finite number */
  VECTOR,    /* three finite numbers, or two in the plane */
  DIRECTION, /* a nonzero vector; if it is missing, the structures have a default */
  INERTIA,
  FOUR,
  TWO,
  NAME,
  KIND,       /* a kind of joint */
  SHAPE,      /* a kind of shape */
  ON,         /* what a contact has on side a */
  TOUCH,      /* what a contact has on side b */
  IN,         /* "space" or "bodies" */
  COORDINATE, /* a name, or [name, k] */
  COORDINATES,
  FORMULA,  /* a number, or a function of t, and of a spring's x and v */
  FORMULAS, /* a vector of such functions of t and of the point's position and velocity */
  ENDS,     /* of a table */
  YES,      /* true or false */
  COPY      /* text, copied to an array of RUN_TEXT */
} Type;

typedef struct {
  const char *key;
  Type type;
  size_t offset;
  int required;
  /* what a number is measured in, "m|rad": the second one if the coordinate of the element is an angle; NULL: anything */
  const char *unit;
} Field;

#define QUANTITY(type_, key, member, kind, required, unit) \
  { key, kind, offsetof(type_, member), required, unit }
#define FIELD(type_, key, member, kind, required) QUANTITY(type_, key, member, kind, required, NULL)

/* Two bodies, and a marker on each */
#define MARKERS(type_)                                                                         \
  FIELD(type_, "a", a, NAME, 0), FIELD(type_, "b", b, NAME, 0), FIELD(type_, "in", in, IN, 0), \
      QUANTITY(type_, "at", on_a.point, VECTOR, 0, "m"),                                       \
      QUANTITY(type_, "axis", on_a.axis, DIRECTION, 0, NULL),                                  \
      QUANTITY(type_, "across", on_a.across, DIRECTION, 0, NULL),                              \
      QUANTITY(type_, "at_b", on_b.point, VECTOR, 0, "m"),                                     \
      QUANTITY(type_, "axis_b", on_b.axis, DIRECTION, 0, NULL),                                \
      QUANTITY(type_, "across_b", on_b.across, DIRECTION, 0, NULL)

typedef struct {
  CPBody body; /* first, so that its fields have the same offsets */
  sunrealtype omega_body[3];
} BodyKeys;

typedef struct {
  CPDrive drive; /* first, as the body above */
  sunrealtype motion;
} DriveKeys;

static const Field body_fields[]    = {FIELD(CPBody, "name", head.name, NAME, 1),
                                       QUANTITY(CPBody, "mass", mass, NUMBER, 1, "kg"),
                                       QUANTITY(CPBody, "inertia", inertia, INERTIA, 1, "kg m^2"),
                                       QUANTITY(CPBody, "centre", centre, VECTOR, 0, "m"),
                                       QUANTITY(CPBody, "at", position, VECTOR, 0, "m"),
                                       QUANTITY(CPBody, "quaternion", quaternion, FOUR, 0, "1"),
                                       QUANTITY(CPBody, "angle", angle, NUMBER, 0, "rad"),
                                       QUANTITY(CPBody, "velocity", velocity, VECTOR, 0, "m/s"),
                                       QUANTITY(CPBody, "omega", omega, VECTOR, 0, "rad/s"),
                                       QUANTITY(BodyKeys, "omega_body", omega_body, VECTOR, 0, "rad/s"),
                                       QUANTITY(CPBody, "spin", omega[2], NUMBER, 0, "rad/s"),
                                       {0}};
static const Field joint_fields[]   = {FIELD(CPJoint, "name", head.name, NAME, 1),
                                       FIELD(CPJoint, "kind", kind, KIND, 1),
                                       MARKERS(CPJoint),
                                       QUANTITY(CPJoint, "length", length, NUMBER, 0, "m"),
                                       QUANTITY(CPJoint, "radius", length, NUMBER, 0, "m"),
                                       {0}};
static const Field contact_fields[] = {
    FIELD(CPBodyContact, "name", head.name, NAME, 1),
    MARKERS(CPBodyContact),
    FIELD(CPBodyContact, "on", on, ON, 0),
    FIELD(CPBodyContact, "touch", touch, TOUCH, 0),
    QUANTITY(CPBodyContact, "radius_a", radius_a, NUMBER, 0, "m"),
    QUANTITY(CPBodyContact, "size", size, VECTOR, 0, "m"),
    QUANTITY(CPBodyContact, "length", size[2], NUMBER, 0, "m"),
    QUANTITY(CPBodyContact, "radius", radius, NUMBER, 0, "m"),
    QUANTITY(CPBodyContact, "friction", law.mu, NUMBER, 0, "1"),
    QUANTITY(CPBodyContact, "sticking", law.mu_static, NUMBER, 0, "1"),
    QUANTITY(CPBodyContact, "restitution", law.restitution, NUMBER, 0, "1"),
    FIELD(CPBodyContact, "poisson", law.kind, YES, 0),
    {0}};
static const Field coupler_fields[] = {FIELD(CPCoupler, "name", head.name, NAME, 1),
                                       FIELD(CPCoupler, "of", of, COORDINATES, 1),
                                       QUANTITY(CPCoupler, "ratio", ratio, TWO, 1, NULL),
                                       QUANTITY(CPCoupler, "offset", offset, NUMBER, 0, NULL),
                                       {0}};
static const Field drive_fields[]   = {FIELD(CPDrive, "name", head.name, NAME, 1),
                                       FIELD(CPDrive, "of", of, COORDINATE, 1),
                                       QUANTITY(DriveKeys, "motion", motion, FORMULA, 0, "m|rad"),
                                       QUANTITY(CPDrive, "start", start, NUMBER, 0, "m|rad"),
                                       QUANTITY(CPDrive, "rate", rate, NUMBER, 0, "m/s|rad/s"),
                                       QUANTITY(CPDrive, "amplitude", amplitude, NUMBER, 0, "m|rad"),
                                       QUANTITY(CPDrive, "frequency", frequency, NUMBER, 0, "rad/s"),
                                       {0}};
static const Field spring_fields[]  = {
     FIELD(CPSpring, "name", head.name, NAME, 1),
     FIELD(CPSpring, "of", of, COORDINATE, 0),
     FIELD(CPSpring, "a", a, NAME, 0),
     FIELD(CPSpring, "b", b, NAME, 0),
     FIELD(CPSpring, "in", in, IN, 0),
     QUANTITY(CPSpring, "at", point_a, VECTOR, 0, "m"),
     QUANTITY(CPSpring, "at_b", point_b, VECTOR, 0, "m"),
     QUANTITY(CPSpring, "stiffness", stiffness, NUMBER, 0, "N/m|N m/rad"),
     QUANTITY(CPSpring, "damping", damping, NUMBER, 0, "N s/m|N m s"),
     QUANTITY(CPSpring, "free", free, NUMBER, 0, "m|rad"),
     QUANTITY(CPSpring, "force", force, FORMULA, 0, "N|N m"),
     QUANTITY(CPSpring, "inertance", inertance, NUMBER, 0, "kg|kg m^2"),
     {0}};
static const Field bushing_fields[] = {
    FIELD(CPBushing, "name", head.name, NAME, 1),
    MARKERS(CPBushing),
    QUANTITY(CPBushing, "stiffness", stiffness, VECTOR, 0, "N/m"),
    QUANTITY(CPBushing, "damping", damping, VECTOR, 0, "N s/m"),
    QUANTITY(CPBushing, "turn_stiffness", turn_stiffness, VECTOR, 0, "N m/rad"),
    QUANTITY(CPBushing, "turn_damping", turn_damping, VECTOR, 0, "N m s"),
    QUANTITY(CPBushing, "drag", drag, NUMBER, 0, "N m s"),
    {0}};
static const Field force_fields[]    = {FIELD(CPForce, "name", head.name, NAME, 1),
                                        FIELD(CPForce, "body", body, NAME, 1),
                                        FIELD(CPForce, "in", in, IN, 0),
                                        QUANTITY(CPForce, "at", point, VECTOR, 0, "m"),
                                        QUANTITY(CPForce, "force", force, FORMULAS, 1, "N"),
                                        FIELD(CPForce, "follows", follows, YES, 0),
                                        {0}};
static const Field friction_fields[] = {FIELD(CPFriction, "name", head.name, NAME, 1),
                                        FIELD(CPFriction, "of", of, COORDINATE, 1),
                                        QUANTITY(CPFriction, "factor", factor, NUMBER, 1, "1|m"),
                                        QUANTITY(CPFriction, "speed", speed, NUMBER, 1, "m/s|rad/s"),
                                        {0}};

static const Field shape_fields[] = {FIELD(CPShape, "name", head.name, NAME, 1),
                                     FIELD(CPShape, "kind", kind, SHAPE, 1),
                                     FIELD(CPShape, "body", body, NAME, 1),
                                     FIELD(CPShape, "in", in, IN, 0),
                                     QUANTITY(CPShape, "at", on.point, VECTOR, 0, "m"),
                                     QUANTITY(CPShape, "axis", on.axis, DIRECTION, 0, NULL),
                                     QUANTITY(CPShape, "across", on.across, DIRECTION, 0, NULL),
                                     QUANTITY(CPShape, "size", size, VECTOR, 0, "m"),
                                     QUANTITY(CPShape, "radius", size[0], NUMBER, 0, "m"),
                                     QUANTITY(CPShape, "length", size[2], NUMBER, 0, "m"),
                                     QUANTITY(CPShape, "width", size[2], NUMBER, 0, "m"),
                                     {0}};

typedef struct {
  sunrealtype dimension, gravity[3];
  const char *robot;
} Head;
/* The sections of elements are not listed here; they have tables of their own. */
static const Field head_fields[] = {QUANTITY(Head, "dimension", dimension, NUMBER, 0, "1"),
                                    QUANTITY(Head, "gravity", gravity, VECTOR, 0, "m/s^2"),
                                    FIELD(Head, "robot", robot, NAME, 0),
                                    {0}};
static const Field run_fields[]  = {
     FIELD(Run, "title", title, COPY, 0),    QUANTITY(Run, "t_end", t_end, NUMBER, 0, "s"),
     FIELD(Run, "method", method, COPY, 0),  FIELD(Run, "assemble", assemble, YES, 0),
     FIELD(Run, "held", held, COPY, 0),      FIELD(Run, "sensors", sensors, COPY, 0),
     FIELD(Run, "balance", balance, YES, 0), {0}};

/* ---------------------------------------------------------------------------------- reader -- */

enum { DEEPEST = 8 }; /* The schema has 5 levels: file, couplers, coupler, of, coordinate. */

typedef struct {
  int name, node; /* name: offset in Reader.names; node: its index, or 0 in a free entry */
} Anchor;

typedef struct {
  const char *file, *data;
  size_t size; /* of the data, in bytes */
  yaml_document_t document;
  struct {
    int node, key; /* key: of a mapping, whose value comes next; or 0 */
  } open[DEEPEST]; /* the lists and mappings around the next node */
  int depth;
  Anchor *anchor; /* [capacity] hash table with open addressing */
  char *names;    /* of anchors, each terminated by a zero */
  int nanchors, capacity, nnames;
  int dimension;
  Scope *scope;     /* the file's parameters and functions */
  CPBodies bodies;  /* what has been read so far, or NULL */
  int angle;        /* is the coordinate of the element an angle? */
  Formula *formula; /* the functions of the element, or NULL */
  char *message;
  size_t length;
} Reader;

/* Writes "file:line:column: ..." and returns 1. */
static int wrong(Reader *r, yaml_mark_t at, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
static int wrong(Reader *r, yaml_mark_t at, const char *format, ...) {
  char text[TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  snprintf(r->message, r->length, "%s:%zu:%zu: %s", r->file, at.line + 1, at.column + 1, text);
  bodiesOneLine(r->message, r->length);
  return 1;
}

static const yaml_node_t *node(Reader *r, int index) {
  return yaml_document_get_node(&r->document, index);
}
static const char *anchorName(const Reader *r, const Anchor *a) { return r->names + a->name; }
static const char *text(const yaml_node_t *n) { return (const char *)n->data.scalar.value; }

/* Where the text of a scalar begins */
static Place placeOf(const Reader *r, const yaml_node_t *n) {
  const int quoted = n->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                     n->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  return (Place){r->file, (int)n->start_mark.line + 1, (int)n->start_mark.column + 1 + quoted};
}

/* The message is that of the expression or table. key: of a value, or NULL. Returns 1. */
static int wrongText(Reader *r, const char *key) {
  if (key) snprintf(r->message, r->length, "%s (%s)", CPObjectGetLastMessage(NULL), key);
  else snprintf(r->message, r->length, "%s", CPObjectGetLastMessage(NULL));
  bodiesOneLine(r->message, r->length);
  return 1;
}

enum { UNIT = 20 };
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
  const double value = strtod(text(n), &end);
  if (end != text(n) + n->data.scalar.length) return 0;
  *x = value;
  return 1;
}

/* unit: of the value, for expressions; NULL: any */
static int readNumber(Reader *r, const yaml_node_t *n, const char *key, const char *unit,
                      sunrealtype *x) {
  char own[UNIT];
  const int numeral = isNumeral(n, x);
  if (numeral && isfinite(*x)) return 0;
  if (numeral || n->type != YAML_SCALAR_NODE || strlen(text(n)) != n->data.scalar.length)
    return wrong(r, n->start_mark, "%s must be a finite number%s%.40s", key,
                 n->type == YAML_SCALAR_NODE ? ", and is " : "",
                 n->type == YAML_SCALAR_NODE ? text(n) : "");
  return cpScopeNumber(r->scope, text(n), placeOf(r, n), unitOf(r, unit, own), x) ? wrongText(r, key)
                                                                                  : 0;
}

/* Reads component k of a formula: x, if it does not depend on the variables, or a function in r->formula. */
static int readFormula(Reader *r, const yaml_node_t *n, const Field *f, int nvariables,
                       const char *const *variable, const char *const *units, int k, sunrealtype *x) {
  char own[UNIT];
  CPFunction function;
  int used = 0;
  if (n->type != YAML_SCALAR_NODE || n->data.scalar.length == 0 || isNumeral(n, x) ||
      strlen(text(n)) != n->data.scalar.length)
    return readNumber(r, n, f->key, f->unit, x);
  if (cpScopeParse(r->scope, text(n), placeOf(r, n), nvariables, variable, units,
                   unitOf(r, f->unit, own), &function))
    return wrongText(r, f->key);
  for (int i = 0; i < nvariables; i++) used |= cpFunctionUses(function, i);
  if (!used) {
    CPFunctionFree(&function);
    return readNumber(r, n, f->key, f->unit, x);
  }
  if (!r->formula) r->formula = bodiesNewFormula(&r->bodies->m);
  if (!r->formula) return CPFunctionFree(&function), wrong(r, n->start_mark, "no memory");
  r->formula->f[k] = function;
  return 0;
}

/* Reads least ... most numbers; rule is the wording of this condition in a message. */
static int readNumbers(Reader *r, const yaml_node_t *n, const Field *f, int least, int most,
                       const char *rule, sunrealtype *x) {
  static const char *const variables[] = {"t", "x", "y", "z", "vx", "vy", "vz"}, *const units[] = {
                                                                                     "s",   "m",
                                                                                     "m",   "m",
                                                                                     "m/s", "m/s",
                                                                                     "m/s"};
  const char *key = f->key;
  if (n->type == YAML_SCALAR_NODE)
    return wrong(r, n->start_mark, "%s must be a list of %s numbers, and is %.40s", key, rule,
                 text(n));
  if (n->type != YAML_SEQUENCE_NODE)
    return wrong(r, n->start_mark, "%s must be a list of %s numbers", key, rule);
  const yaml_node_item_t *item = n->data.sequence.items.start;
  const long count             = (long)(n->data.sequence.items.top - item);
  if (count < least || count > most)
    return wrong(r, n->start_mark, "%s must be a list of %s numbers, and has %ld", key, rule, count);
  for (long i = 0; i < count; i++)
    if (f->type == FORMULAS ? readFormula(r, node(r, item[i]), f, 7, variables, units, (int)i, &x[i])
                            : readNumber(r, node(r, item[i]), key, f->unit, &x[i]))
      return 1;
  return 0;
}

static int readName(Reader *r, const yaml_node_t *n, const char *key, const char **name) {
  if (n->type != YAML_SCALAR_NODE || n->data.scalar.length == 0 ||
      strlen(text(n)) != n->data.scalar.length)
    return wrong(r, n->start_mark, "%s must be a name", key);
  if (bodiesControl(text(n)))
    return wrong(r, n->start_mark, "%s must not contain control characters, and is \"%.40s\"", key,
                 text(n));
  *name = text(n);
  return 0;
}

static int readCoordinate(Reader *r, const yaml_node_t *n, const char *key, CPCoordinate *of) {
  sunrealtype k = 0;
  of->k         = 0;
  if (n->type != YAML_SEQUENCE_NODE) return readName(r, n, key, &of->joint);
  const yaml_node_item_t *item = n->data.sequence.items.start;
  if (n->data.sequence.items.top - item != 2)
    return wrong(r, n->start_mark, "%s must be a joint's name, or [name, number of its coordinate]",
                 key);
  if (readName(r, node(r, item[0]), key, &of->joint) ||
      readNumber(r, node(r, item[1]), key, "1", &k))
    return 1;
  if (k != floor(k) || k < 0 || k > 9)
    return wrong(r, node(r, item[1])->start_mark, "the coordinate must be 0, 1 or 2, and is %g",
                 (double)k);
  of->k = (int)k;
  return 0;
}

static const char *shapeName(int k) {
  static const char *const names[NUM_SHAPES] = {"box", "cylinder", "sphere", "wheel"};
  return k < NUM_SHAPES ? names[k] : NULL;
}
static const char *endsName(int k) {
  static const char *const names[] = {"natural", "clamped", "periodic"};
  return k <= CP_ENDS_PERIODIC ? names[k] : NULL;
}
static const char *onName(int k) {
  return k == CP_ON_PLANE ? "plane" : k == CP_ON_SPHERE ? "sphere" : NULL;
}

/* Appends a word to the list of allowed words at the end of a message. */
static void listWord(char list[TEXT / 2], const char *word) {
  const size_t length = strlen(list);
  snprintf(list + length, TEXT / 2 - length, "%s%s", length ? ", " : "", word);
}

/* Sets an enumeration, which has the size of an int, to the index of a word among word(0), word(1),
 * ... Returns 0, or 1 after a message. */
static int readWord(Reader *r, const yaml_node_t *n, const char *key, const char *what,
                    const char *(*word)(int), char *at) {
  const char *name    = NULL;
  char list[TEXT / 2] = "";
  if (readName(r, n, key, &name)) return 1;
  for (int k = 0; word(k); k++) {
    if (!strcmp(word(k), name)) return memcpy(at, &k, sizeof k), 0;
    listWord(list, word(k));
  }
  return wrong(r, n->start_mark, "there is no %s \"%.40s\", but %s", what, name, list);
}

static int readValue(Reader *r, const yaml_node_t *n, const Field *f, char *at) {
  static const char *const variables[] = {"t", "x", "v"}, *const lengths[] = {"s", "m", "m/s"},
                           *const angles[] = {"s", "rad", "rad/s"};
  const char *name                         = NULL;
  const int size                           = r->dimension;
  sunrealtype *x                           = (sunrealtype *)(void *)at;
  const char *of = size == 2 ? "2 or 3" : "3"; /* number of components of a vector, for messages */
  switch (f->type) {
  case NUMBER: return readNumber(r, n, f->key, f->unit, x);
  case FORMULA:
    return readFormula(r, n, f, strcmp(f->key, "motion") ? 3 : 1, variables,
                       r->angle ? angles : lengths, 0, x);
  case FORMULAS:
  case VECTOR: return readNumbers(r, n, f, size, 3, of, x);
  case DIRECTION:
    if (readNumbers(r, n, f, size, 3, of, x)) return 1;
    return x[0] != 0 || x[1] != 0 || x[2] != 0
               ? 0
               : wrong(r, n->start_mark, "%s must be a direction, and is zero", f->key);
  case FOUR: return readNumbers(r, n, f, 4, 4, "4", x);
  case TWO: return readNumbers(r, n, f, 2, 2, "2", x);
  case INERTIA:
    if (size == 2) return readNumber(r, n, f->key, f->unit, x + 2);
    if (n->type == YAML_SEQUENCE_NODE &&
        n->data.sequence.items.top - n->data.sequence.items.start == 3)
      return readNumbers(r, n, f, 3, 3, "3", x);
    return readNumbers(r, n, f, 6, 6, "3 or 6", x);
  case NAME: return readName(r, n, f->key, (const char **)(void *)at);
  case COORDINATE: return readCoordinate(r, n, f->key, (CPCoordinate *)(void *)at);
  case COORDINATES:
    if (n->type != YAML_SEQUENCE_NODE ||
        n->data.sequence.items.top - n->data.sequence.items.start != 2)
      return wrong(r, n->start_mark, "%s must be a list of two coordinates", f->key);
    for (int i = 0; i < 2; i++)
      if (readCoordinate(r, node(r, n->data.sequence.items.start[i]), f->key,
                         (CPCoordinate *)(void *)at + i))
        return 1;
    return 0;
  case KIND: return readWord(r, n, f->key, "kind of joint", bodiesKindName, at);
  case SHAPE: return readWord(r, n, f->key, "kind of shape", shapeName, at);
  case ENDS: return readWord(r, n, f->key, "kind of ends", endsName, at);
  case ON: return readWord(r, n, f->key, "surface of contacts in files", onName, at);
  case TOUCH: return readWord(r, n, f->key, "kind of contact", bodiesTouchName, at);
  case IN:
    if (readName(r, n, f->key, &name)) return 1;
    if (strcmp(name, "space") && strcmp(name, "bodies"))
      return wrong(r, n->start_mark, "%s must be space or bodies, and is %.40s", f->key, name);
    *(CPIn *)(void *)at = name[0] == 's' ? CP_IN_SPACE : CP_IN_BODIES;
    return 0;
  case YES:
    if (readName(r, n, f->key, &name)) return 1;
    if (strcmp(name, "true") && strcmp(name, "false"))
      return wrong(r, n->start_mark, "%s must be true or false, and is %.40s", f->key, name);
    *(int *)(void *)at = name[0] == 't';
    return 0;
  case COPY:
    if (readName(r, n, f->key, &name)) return 1;
    if (strlen(name) >= RUN_TEXT)
      return wrong(r, n->start_mark, "%s must have fewer than %d characters", f->key, RUN_TEXT);
    memcpy(at, name, strlen(name) + 1);
    return 0;
  }
  return 0;
}

static int unknownKey(Reader *r, const yaml_node_t *key, const char *what, const Field *fields,
                      const char *const *sections) {
  char list[TEXT / 2] = "";
  while (fields->key) listWord(list, (fields++)->key);
  while (sections && *sections) listWord(list, *sections++);
  return wrong(r, key->start_mark, "%s has no key \"%.40s\"; it may have %s", what, text(key), list);
}

/* Reads a mapping into the fields of a structure. sections: NULL, or keys that other functions
 * read. */
static int readMapping(Reader *r, const yaml_node_t *n, const char *what, const Field *fields,
                       const char *const *sections, void *structure) {
  unsigned seen = 0, left = 0;
  if (n->type != YAML_MAPPING_NODE)
    return wrong(r, n->start_mark, "%s must be a mapping, key: value", what);
  for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
    const yaml_node_t *key = node(r, p->key);
    const char *name       = NULL;
    unsigned *of           = &seen;
    int i                  = 0;
    if (readName(r, key, "a key", &name)) return 1;
    while (fields[i].key && strcmp(fields[i].key, name)) i++;
    if (!fields[i].key) {
      for (i = 0, of = &left; sections && sections[i] && strcmp(sections[i], name);) i++;
      if (!sections || !sections[i]) return unknownKey(r, key, what, fields, sections);
    }
    if (*of & (1u << i)) return wrong(r, key->start_mark, "%s is given twice", name);
    *of |= 1u << i;
    if (of == &seen &&
        readValue(r, node(r, p->value), &fields[i], (char *)structure + fields[i].offset))
      return 1;
  }
  for (int i = 0; fields[i].key; i++)
    if (fields[i].required && !(seen & (1u << i)))
      return wrong(r, n->start_mark, "%s needs %s", what, fields[i].key);
  return 0;
}

/* Returns the value of a key of a mapping, or NULL. */
static const yaml_node_t *section(Reader *r, const yaml_node_t *top, const char *key) {
  for (const yaml_node_pair_t *p = top->data.mapping.pairs.start; p < top->data.mapping.pairs.top;
       p++)
    if (node(r, p->key)->type == YAML_SCALAR_NODE && !strcmp(text(node(r, p->key)), key))
      return node(r, p->value);
  return NULL;
}

/* CP_RESTITUTION_POISSON is the value of "poisson: true", which is an int. */
typedef union {
  CPElement head;
  BodyKeys body;
  CPJoint joint;
  CPBodyContact contact;
  CPCoupler coupler;
  DriveKeys drive;
  CPSpring spring;
  CPBushing bushing;
  CPForce force;
  CPFriction friction;
  CPShape shape;
} Element;

/* ---- what the keys of an element mean together ---- */

/* Refuses these keys, whose list ends with NULL. Returns 0, or 1 after a message. */
static int refuseKeys(Reader *r, const yaml_node_t *n, const char *what, const char *const *keys,
                      const char *why) {
  for (; *keys; keys++) {
    const yaml_node_t *given = section(r, n, *keys);
    if (given) return wrong(r, given->start_mark, "%s has no %s %s", what, *keys, why);
  }
  return 0;
}

static int needKey(Reader *r, const yaml_node_t *n, const char *what, const char *key) {
  return section(r, n, key) ? 0 : wrong(r, n->start_mark, "%s with in: space needs %s", what, key);
}

/* omega_body is turned into the axes of space, in which CPBody has it. */
static int checkBody(Reader *r, const yaml_node_t *n, Element *e) {
  static const Space space        = {3, 6, 7, {0, 0}, {3, 3}};
  static const char *const keys[] = {"omega", "spin", NULL};
  CPBody *body                    = &e->body.body;
  const sunrealtype *quaternion = body->quaternion, size = hypot(length3(quaternion), quaternion[3]);
  sunrealtype q[7] = {0, 0, 0, 1, 0, 0, 0};
  Pose pose;
  if (!section(r, n, "omega_body")) return 0;
  if (r->dimension == 2)
    return wrong(r, n->start_mark, "a body in the plane has spin, and no omega_body");
  if (refuseKeys(r, n, "a body", keys, "beside omega_body")) return 1;
  for (int k = 0; k < 4 && size > 0; k++) q[3 + k] = quaternion[k] / size;
  bodiesPoseAt(&space, q, NULL, NULL, &pose);
  toSpace(&pose, e->body.omega_body, body->omega);
  return 0;
}

static const char placed[] = "with in: space: the placement determines it";

/* With in: space, the keys of side b are those that on_b has then (CPJoint); others would have no effect,
 * and without them the side would be at the origin. A point on a line or plane is there at the
 * placement. */
static int checkJoint(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[3][2] = {{"at_b"}, {"axis_b"}, {"across_b"}};
  const CPJointKind k                 = e->joint.kind;
  char what[60];
  const int slides = k == CP_JOINT_POINT_ON_LINE || k == CP_JOINT_POINT_ON_PLANE,
            apart  = k == CP_JOINT_ROD || k == CP_JOINT_ROLLING || k == CP_JOINT_ROLLING_DISC,
            turned = k == CP_JOINT_UNIVERSAL || k == CP_JOINT_ROLLING_DISC;
  if (e->joint.in != CP_IN_SPACE) return 0;
  snprintf(what, sizeof what, "a joint %s", bodiesKindName((int)k));
  if (slides && !section(r, n, "at_b"))
    memcpy(e->joint.on_b.point, e->joint.on_a.point, sizeof e->joint.on_b.point);
  return (!slides && !apart && refuseKeys(r, n, what, keys[0], placed)) ||
         (!turned && refuseKeys(r, n, what, keys[1], placed)) ||
         refuseKeys(r, n, what, keys[2], placed) || (apart && needKey(r, n, what, "at_b")) ||
         (turned && needKey(r, n, what, "axis_b"));
}

static int checkContact(Reader *r, const yaml_node_t *n, Element *e) {
  return e->contact.in == CP_IN_SPACE && needKey(r, n, "a contact", "at_b");
}

static int checkBushing(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[] = {"at_b", "axis_b", "across_b", NULL};
  return e->bushing.in == CP_IN_SPACE && refuseKeys(r, n, "a bushing", keys, placed);
}

static int checkDrive(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[] = {"start", "rate", "amplitude", "frequency", NULL};
  if (!section(r, n, "motion")) return 0;
  e->drive.drive.start = e->drive.motion;
  if (r->formula)
    e->drive.drive.g = bodiesMotionOf, e->drive.drive.data = r->formula, e->drive.drive.start = 0;
  return refuseKeys(r, n, "a drive", keys, "beside motion");
}

static int checkSpring(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const ends[] = {"a", "b", "in", "at", "at_b", NULL};
  if (r->formula) e->spring.law = bodiesLawOf, e->spring.data = r->formula;
  if (isnan(e->spring.free) && e->spring.of.joint) e->spring.free = 0; /* if free is not given */
  if (e->spring.of.joint) return refuseKeys(r, n, "a spring", ends, "beside of");
  return e->spring.in == CP_IN_SPACE && needKey(r, n, "a spring", "at_b");
}

static int checkForce(Reader *r, const yaml_node_t *n, Element *e) {
  if (r->formula) e->force.fn = bodiesForceOf, e->force.data = r->formula;
  if (r->formula && r->formula->f[2] && r->dimension == 2)
    return wrong(r, section(r, n, "force")->start_mark, "force must lie in the plane");
  return e->force.in == CP_IN_SPACE && needKey(r, n, "a force", "at");
}

static const struct {
  const char *key, *what;
  const Field *fields;
  CPElementKind kind;
  size_t size;
  int (*check)(Reader *r, const yaml_node_t *n, Element *e); /* or NULL */
} elements[] = {
    {"bodies", "a body", body_fields, CP_ELEMENT_BODY, sizeof(CPBody), checkBody},
    {"joints", "a joint", joint_fields, CP_ELEMENT_JOINT, sizeof(CPJoint), checkJoint},
    {"contacts", "a contact", contact_fields, CP_ELEMENT_CONTACT, sizeof(CPBodyContact),
     checkContact},
    {"couplers", "a coupler", coupler_fields, CP_ELEMENT_COUPLER, sizeof(CPCoupler), NULL},
    {"drives", "a drive", drive_fields, CP_ELEMENT_DRIVE, sizeof(CPDrive), checkDrive},
    {"springs", "a spring", spring_fields, CP_ELEMENT_SPRING, sizeof(CPSpring), checkSpring},
    {"bushings", "a bushing", bushing_fields, CP_ELEMENT_BUSHING, sizeof(CPBushing), checkBushing},
    {"forces", "a force", force_fields, CP_ELEMENT_FORCE, sizeof(CPForce), checkForce},
    {"frictions", "a friction", friction_fields, CP_ELEMENT_FRICTION, sizeof(CPFriction), NULL},
    {"shapes", "a shape", shape_fields, CP_ELEMENT_SHAPE, sizeof(CPShape), NULL}};
enum { NUM_ELEMENTS = sizeof elements / sizeof elements[0] };

/* Reads the bodies and joints of a robot's file, to which the sections add elements; settings
 * already in `run` are kept. Returns 0, or 1 after a message, which is the robot reader's if its
 * file is wrong. */
static int readRobot(Reader *r, const yaml_node_t *at, const char *path, Run *run, CPBodies *bodies) {
  char whole[4096];
  size_t size;
  const char *why = "its path is too long";
  if (r->dimension != 3) return wrong(r, at->start_mark, "a robot needs dimension 3");
  char *data =
      bodiesBeside(r->file, path, whole, sizeof whole) ? NULL : bodiesFile(whole, &size, &why);
  if (!data) return wrong(r, at->start_mark, "the file \"%.300s\" cannot be read: %s", path, why);
  Run own = *run;
  *bodies = bodiesReadXml(data, size, whole, &own, r->message, r->length);
  free(data);
  if (!*bodies) return 1;
  if (bodiesHasRead(*bodies, whole)) return wrong(r, at->start_mark, "no memory");
  if (!run->title[0]) memcpy(run->title, own.title, sizeof run->title);
  return 0;
}

/* Does this name ELEMENT.QUANTITY mean something? JOINT.force, JOINT.torque and their components .x, .y, .z; ROD.axial; DRIVE.force, or
 * DRIVE.torque of an angle; SPRING.length. With contacts there are none of forces, since the multipliers depend on what is closed. */
static int isSensor(const Mechanism *m, const char *name, size_t length) {
  const char *dot = memchr(name, '.', length);
  if (!dot) return 0;
  const char *quantity = dot + 1;
  const size_t element = (size_t)(dot - name);
  size_t n             = length - element - 1;
  const int joint      = bodiesFind(m, NAME_JOINT, name, element),
            law        = bodiesFind(m, NAME_LAW, name, element);
  const int axis       = n > 2 && quantity[n - 2] == '.' && strchr("xyz", quantity[n - 1]);
#define IS(word) (n == sizeof(word) - 1 && !strncmp(quantity, (word), n))
  if (law >= 0) return IS("length") && m->law[law].term.m.kind == LENGTH;
  if (joint < 0 || m->ncontacts > 0) return 0;
  const Joint *j = &m->joint[joint];
  if (j->kind == NONE)
    return m->row[j->first].drive != NONE &&
           (m->row[j->first].term[0].m.kind == ANGLE ? IS("torque") : IS("force"));
  if (IS("axial")) return j->kind == CP_JOINT_ROD;
  if (axis) n -= 2;
  return IS("force") || IS("torque");
#undef IS
}

/* Checks that the names in `held` and `sensors` exist. Returns 0, or 1 after a message. */
static int checkRun(Reader *r, const yaml_node_t *n, const Run *run, CPBodies b) {
  size_t length;
  for (const char *name = run->held; *(name += strspn(name, " ")); name += length) {
    length = strcspn(name, " ");
    if (bodiesFind(&b->m, NAME_BODY, name, length) < 0)
      return wrong(r, section(r, n, "held")->start_mark, "there is no body \"%.*s\"", (int)length,
                   name);
  }
  for (const char *name = run->sensors; *(name += strspn(name, " ")); name += length) {
    length = strcspn(name, " ");
    if (bodiesFindCoordinate(&b->m, name, length) < 0 && !isSensor(&b->m, name, length))
      return wrong(r, section(r, n, "sensors")->start_mark,
                   "there is no coordinate \"%.*s\" of a joint, nor a quantity such as pin.force, "
                   "pin.force.x, rod.axial, motor.torque, spring.length",
                   (int)length, name);
  }
  return 0;
}

/* Is the coordinate of this element an angle? */
static int turns(Reader *r, const yaml_node_t *n) {
  const yaml_node_t *of = n->type == YAML_MAPPING_NODE ? section(r, n, "of") : NULL;
  CPDescription d       = CP_INIT(CPDescription);
  CPCoordinate c;
  char name[TEXT];
  if (!of || readCoordinate(r, of, "of", &c)) return 0;
  snprintf(name, sizeof name, "%.400s.%d", c.joint, c.k);
  const int i = bodiesFindCoordinate(&r->bodies->m, name, strlen(name));
  return i >= 0 && !CPBodiesDescribe(r->bodies, CP_COORDINATE, i, &d) && d.kind == 1;
}

/* ---- names: parameters and functions ---- */

typedef struct {
  const char *is, *file;
  sunrealtype order;
  CPTableEnds ends;
} FunctionKeys;
static const Field function_fields[]         = {FIELD(FunctionKeys, "is", is, NAME, 0),
                                                FIELD(FunctionKeys, "file", file, NAME, 0),
                                                QUANTITY(FunctionKeys, "order", order, NUMBER, 0, "1"),
                                                FIELD(FunctionKeys, "ends", ends, ENDS, 0),
                                                {0}};
static const char *const function_sections[] = {"of", "unit", "columns", "units",  "rows",
                                                "x",  "y",    "values",  "slopes", NULL};

/* Reads a list of names, as many as there are. list [most]: out. Returns their number, or -1 after a message. */
static int readTexts(Reader *r, const yaml_node_t *n, const char *key, int least, int most,
                     const char **list) {
  const yaml_node_item_t *item = n->type == YAML_SEQUENCE_NODE ? n->data.sequence.items.start : NULL;
  const long count             = item ? (long)(n->data.sequence.items.top - item) : -1;
  if (count < least || count > most)
    return wrong(r, n->start_mark, "%s must be a list of %d to %d texts", key, least, most), -1;
  for (long i = 0; i < count; i++)
    if (readName(r, node(r, item[i]), key, &list[i])) return -1;
  return (int)count;
}

/* Reads a list of plain numbers. x: out, owned by the caller also after an error; count: out, their number. */
static int readList(Reader *r, const yaml_node_t *n, const char *key, sunrealtype **x, int *count) {
  const yaml_node_item_t *item = n->type == YAML_SEQUENCE_NODE ? n->data.sequence.items.start : NULL;
  if (!item) return wrong(r, n->start_mark, "%s must be a list of numbers", key);
  *count = (int)(n->data.sequence.items.top - item);
  if (!(*x = malloc(((size_t)*count + 1) * sizeof **x)))
    return wrong(r, n->start_mark, "no memory");
  for (int i = 0; i < *count; i++)
    if (readNumber(r, node(r, item[i]), key, "", &(*x)[i])) return 1;
  return 0;
}

/* Reads a list of rows with `columns` numbers each. */
static int readRows(Reader *r, const yaml_node_t *n, const char *key, int columns, sunrealtype **x,
                    int *count) {
  const Field plain            = {key, TWO, 0, 0, ""};
  const yaml_node_item_t *item = n->type == YAML_SEQUENCE_NODE ? n->data.sequence.items.start : NULL;
  char rule[UNIT];
  snprintf(rule, sizeof rule, "%d", columns);
  if (!item)
    return wrong(r, n->start_mark, "%s must be a list of lists of %d numbers", key, columns);
  *count = (int)(n->data.sequence.items.top - item);
  if (!(*x = malloc(((size_t)*count * (size_t)columns + 1) * sizeof **x)))
    return wrong(r, n->start_mark, "no memory");
  for (int i = 0; i < *count; i++)
    if (readNumbers(r, node(r, item[i]), &plain, columns, columns, rule,
                    *x + (size_t)i * (size_t)columns))
      return 1;
  return 0;
}

/* f: out, the function of an expression, {of: {phi: rad}, is: ...} */
static int readExpression(Reader *r, const yaml_node_t *n, const FunctionKeys *keys, CPFunction *f) {
  const char *variable[CP_MOST_VARIABLES], *unit[CP_MOST_VARIABLES], *result = NULL;
  const yaml_node_t *of = section(r, n, "of"), *is = section(r, n, "is"),
                    *value = section(r, n, "unit");
  int count                = 0;
  for (int i = 2; function_sections[i]; i++)
    if (section(r, n, function_sections[i]))
      return wrong(r, n->start_mark, "a function by an expression has no %s", function_sections[i]);
  if (!of || of->type != YAML_MAPPING_NODE)
    return wrong(r, (of ? of : n)->start_mark,
                 "a function needs of, a mapping of its variables to their units");
  if (value && readName(r, value, "unit", &result)) return 1;
  for (const yaml_node_pair_t *p = of->data.mapping.pairs.start; p < of->data.mapping.pairs.top;
       p++, count++) {
    if (count == CP_MOST_VARIABLES)
      return wrong(r, of->start_mark, "a function has at most %d variables", CP_MOST_VARIABLES);
    if (readName(r, node(r, p->key), "a variable", &variable[count]) ||
        readName(r, node(r, p->value), "a unit", &unit[count]))
      return 1;
  }
  return cpScopeParse(r->scope, keys->is, placeOf(r, is), count, variable, unit, result, f)
             ? wrongText(r, NULL)
             : 0;
}

/* f: out, a table, {rows: ...}, {file: ...} or a map, {x: ..., y: ..., values: ...} */
static int readTable(Reader *r, const yaml_node_t *n, const FunctionKeys *keys, CPFunction *f) {
  const yaml_node_t *rows = section(r, n, "rows"), *values = section(r, n, "values"), *at;
  sunrealtype *x = NULL, *y = NULL, *value = NULL, *pairs = NULL;
  const char *unit[3] = {"", "", ""}, *columns[2] = {NULL, NULL}, *why = "its path is too long";
  char whole[4096], *data = NULL;
  size_t size = 0;
  int nx = 0, ny = 0, slopes = 0, failed = 0;
  sunrealtype *slope = NULL;
  CPTable table      = {CP_SIZED(CPTable), .order = (int)keys->order, .ends = keys->ends};
  const Place place  = {keys->file ? whole : r->file, keys->file ? 1 : (int)n->start_mark.line + 1,
                       keys->file ? 1 : (int)n->start_mark.column + 1};
  if (section(r, n, "of") || section(r, n, "unit"))
    return wrong(r, n->start_mark, "a table has units, and neither of nor unit");
  if (!keys->file + !rows + !values != 2)
    return wrong(r, n->start_mark, "a function needs one of is, file, rows and values");
  if ((at = section(r, n, "units")) &&
      readTexts(r, at, "units", values ? 3 : 2, values ? 3 : 2, unit) < 0)
    return 1;
  if ((at = section(r, n, "columns")) && readTexts(r, at, "columns", 2, 2, columns) < 0) return 1;
  if ((at = section(r, n, "slopes"))) {
    failed = readList(r, at, "slopes", &slope, &slopes);
    if (!failed && slopes != 2 && slopes != 4)
      failed = wrong(r, at->start_mark, "slopes must be a list of 2 or 4 numbers");
    for (int i = 0; i < slopes && !failed; i++) table.slope[i] = slope[i];
  }
  if (!failed && keys->file) {
    at   = section(r, n, "file");
    data = bodiesBeside(r->file, keys->file, whole, sizeof whole) ? NULL
                                                                  : bodiesFile(whole, &size, &why);
    if (!data)
      failed = wrong(r, at->start_mark, "the file \"%.300s\" cannot be read: %s", keys->file, why);
    table.csv = data, table.length = size, table.column[0] = columns[0],
    table.column[1] = columns[1];
  } else if (!failed && rows) {
    failed = readRows(r, rows, "rows", 2, &pairs, &nx);
    x = malloc(((size_t)nx + 1) * sizeof *x), value = malloc(((size_t)nx + 1) * sizeof *value);
    if (!failed && (!x || !value)) failed = wrong(r, n->start_mark, "no memory");
    for (int i = 0; i < nx && !failed; i++) x[i] = pairs[2 * i], value[i] = pairs[2 * i + 1];
  } else if (!failed) {
    const yaml_node_t *of[2] = {section(r, n, "x"), section(r, n, "y")};
    int count                = 0;
    if (!of[0] || !of[1]) failed = wrong(r, n->start_mark, "a map needs x and y");
    failed = failed || readList(r, of[0], "x", &x, &nx) || readList(r, of[1], "y", &y, &ny) ||
             readRows(r, values, "values", ny, &value, &count);
    if (!failed && count != nx)
      failed = wrong(r, values->start_mark, "values must have a row for each of x, %d, and has %d",
                     nx, count);
  }
  table.nx = nx, table.x = x, table.ny = ny, table.y = y, table.value = value;
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions),
                                     .table      = &table,
                                     .nvariables = values ? 2 : 1,
                                     .unit       = unit,
                                     .result     = unit[values ? 2 : 1],
                                     .file       = place.file,
                                     .line       = place.line,
                                     .column     = place.column};
  if (!failed && CPFunctionCreate(&options, f)) failed = wrongText(r, NULL);
  void *owned[] = {x, y, value, pairs, slope, data};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  return failed;
}

/* Defines the file's parameters, with what replaces them (run->parameters), and its functions. */
static int readNames(Reader *r, const yaml_node_t *top, const Run *run) {
  const yaml_node_t *parameters   = section(r, top, "parameters"),
                    *functions    = section(r, top, "functions");
  const yaml_node_t *maps[2]      = {parameters, functions};
  static const char *const keys[] = {"parameters", "functions"};
  const char *name;
  for (int k = 0; k < 2; k++) {
    if (maps[k] && maps[k]->type != YAML_MAPPING_NODE)
      return wrong(r, maps[k]->start_mark, "%s must be a mapping, name: value", keys[k]);
    for (const yaml_node_pair_t *p = maps[k] ? maps[k]->data.mapping.pairs.start : NULL;
         maps[k] && p < maps[k]->data.mapping.pairs.top; p++) {
      const yaml_node_t *key = node(r, p->key), *n = node(r, p->value);
      FunctionKeys own = {0};
      CPFunction f     = NULL;
      if (readName(r, key, "a key", &name)) return 1;
      if (k == 0 && (n->type != YAML_SCALAR_NODE || strlen(text(n)) != n->data.scalar.length))
        return wrong(r, n->start_mark, "a parameter must be a number or an expression");
      if (k == 1 && (readMapping(r, n, "a function", function_fields, function_sections, &own) ||
                     (own.is ? readExpression(r, n, &own, &f) : readTable(r, n, &own, &f))))
        return 1;
      const int flag = cpScopeDefine(r->scope, name, k ? NULL : text(n), f,
                                     k ? placeOf(r, key) : placeOf(r, n), 0);
      CPFunctionFree(&f);
      if (flag) return wrongText(r, NULL);
    }
    for (const char *line = k == 0 ? run->parameters : NULL; line && *line;) { /* NAME=TEXT */
      char own[TEXT], *value;
      const size_t length = strcspn(line, "\n");
      snprintf(own, sizeof own, "%.*s", (int)length, line);
      line += length + (line[length] != '\0');
      if (length >= sizeof own || !(value = strchr(own, '=')))
        return wrong(r, top->start_mark,
                     "a parameter must be NAME=VALUE in fewer than %d characters, and is %.40s",
                     TEXT, own);
      char *end = value;
      *value++  = '\0';
      while (end > own && end[-1] == ' ') *--end = '\0';
      if (!cpScopeHas(r->scope, own + strspn(own, " "))) {
        char list[TEXT / 2] = "";
        for (const yaml_node_pair_t *p = parameters ? parameters->data.mapping.pairs.start : NULL;
             parameters && p < parameters->data.mapping.pairs.top; p++)
          listWord(list, text(node(r, p->key)));
        return wrong(r, (parameters ? parameters : top)->start_mark,
                     "there is no parameter \"%.60s\"%s%s", own, list[0] ? ", but " : "", list);
      }
      if (cpScopeDefine(r->scope, own + strspn(own, " "), value, NULL, (Place){own, 1, 1}, 1))
        return wrongText(r, NULL);
    }
  }
  /* also those that are not used must have a value */
  for (const yaml_node_pair_t *p = parameters ? parameters->data.mapping.pairs.start : NULL;
       parameters && p < parameters->data.mapping.pairs.top; p++) {
    sunrealtype value;
    if (cpScopeNumber(r->scope, text(node(r, p->key)), placeOf(r, node(r, p->key)), NULL, &value))
      return wrongText(r, NULL);
  }
  return 0;
}

static int readDocument(Reader *r, Run *run, CPBodies *bodies) {
  static const char *const sections[] = {
      "bodies",    "joints", "couplers", "drives", "springs",    "bushings",  "forces",
      "frictions", "shapes", "contacts", "run",    "parameters", "functions", NULL};
  const yaml_node_t *top  = yaml_document_get_root_node(&r->document);
  const yaml_mark_t start = {0, 0, 0};
  Head head               = {.dimension = 3};
  if (!top) return wrong(r, start, "the file is empty");
  if (top->type == YAML_MAPPING_NODE && readNames(r, top, run)) return 1;
  if (top->type == YAML_MAPPING_NODE) { /* the dimension decides the length of vectors */
    const yaml_node_t *given = section(r, top, "dimension");
    if (given && readNumber(r, given, "dimension", "1", &head.dimension)) return 1;
    if (head.dimension != 2 && head.dimension != 3)
      return wrong(r, given->start_mark, "dimension must be 2 or 3, and is %g",
                   (double)head.dimension);
  }
  r->dimension = (int)head.dimension;
  if (readMapping(r, top, "the file", head_fields, sections, &head)) return 1;
  const yaml_node_t *of_run = section(r, top, "run");
  if (of_run && readMapping(r, of_run, "run", run_fields, NULL, run)) return 1;
  if (of_run && !(run->t_end > 0))
    return wrong(r, of_run->start_mark, "t_end must be positive, and is %g", (double)run->t_end);
  if (head.robot) {
    if (readRobot(r, section(r, top, "robot"), head.robot, run, bodies)) return 1;
  } else if (!(*bodies = CPBodiesCreate(r->dimension, NULL))) return wrong(r, start, "no memory");
  r->bodies = *bodies;
  if ((section(r, top, "gravity") && bodiesSetGravity(*bodies, head.gravity)) ||
      (run->balance && CPBodiesSetBalance(*bodies)))
    return wrong(r, start, "%s", CPObjectGetLastMessage(CP_OBJECT(*bodies)));
  for (int k = 0; k < NUM_ELEMENTS; k++) {
    const yaml_node_t *list = section(r, top, elements[k].key);
    if (!list && k == 0 && !head.robot) return wrong(r, top->start_mark, "the file needs bodies");
    if (!list) continue;
    if (list->type != YAML_SEQUENCE_NODE)
      return wrong(r, list->start_mark, "%s must be a list, - {name: ..., ...}", elements[k].key);
    for (const yaml_node_item_t *i = list->data.sequence.items.start;
         i < list->data.sequence.items.top; i++) {
      const yaml_node_t *n = node(r, *i);
      Element e;
      memset(&e, 0, sizeof e);
      if (elements[k].kind == CP_ELEMENT_SPRING) e.spring.free = NAN;
      r->formula = NULL;
      r->angle   = turns(r, n);
      if (readMapping(r, n, elements[k].what, elements[k].fields, NULL, &e)) return 1;
      if (elements[k].check && elements[k].check(r, n, &e)) return 1;
      e.head.size = elements[k].size, e.head.kind = elements[k].kind;
      if (CPBodiesAdd(*bodies, &e.head, NULL))
        return wrong(r, n->start_mark, "%s", CPObjectGetLastMessage(CP_OBJECT(*bodies)));
    }
  }
  if (CPBodiesCount(*bodies, CP_BODY) == 0)
    return wrong(r, top->start_mark, "there must be a body; there is none");
  const yaml_node_t *method = of_run ? section(r, of_run, "method") : NULL;
  if (method) {
    run->method_at[0] = (int)method->start_mark.line + 1;
    run->method_at[1] = (int)method->start_mark.column + 1;
  }
  return of_run ? checkRun(r, of_run, run, *bodies) : 0;
}

/* The position of the byte `offset`, where libyaml has stopped decoding; libyaml's own marks do not
 * reach that far. */
static yaml_mark_t markAt(const Reader *r, size_t offset) {
  const unsigned char *data = (const unsigned char *)r->data;
  const int low             = r->size > 1 && data[0] == 0xFF && data[1] == 0xFE, /* UTF-16 */
      high                  = r->size > 1 && data[0] == 0xFE && data[1] == 0xFF;
  const size_t width        = low || high ? 2 : 1;
  yaml_mark_t mark          = {0, 0, 0};
  size_t i = width == 2 ? 2 : r->size > 2 && !memcmp(data, "\xEF\xBB\xBF", 3) ? 3 : 0;
  for (; i + width <= offset && i + width <= r->size; i += width) {
    const int c = width == 1 ? data[i] : data[i + (high ? 1 : 0)] + 256 * data[i + (high ? 0 : 1)];
    if (c == '\n') mark.line++, mark.column = 0;
    else if (width == 1 ? (c & 0xC0) != 0x80 : (c & 0xFC00) != 0xDC00) mark.column++;
  }
  return mark;
}

static int cannotParse(const yaml_parser_t *parser, Reader *r) {
  const yaml_mark_t at = parser->problem_mark;
  if (parser->error == YAML_MEMORY_ERROR) return wrong(r, at, "no memory");
  if (parser->error == YAML_READER_ERROR)
    return wrong(r, markAt(r, parser->problem_offset), "not a text in UTF-8 or UTF-16: %s",
                 parser->problem);
  return wrong(r, at, "no YAML: %s", parser->problem ? parser->problem : "it ends too early");
}

/* The entry of an anchor in the hash table, or the free one where it belongs */
static Anchor *anchorOf(const Reader *r, const char *name) {
  unsigned i = bodiesHash(name, strlen(name));
  for (;; i++) {
    Anchor *a = &r->anchor[i & (unsigned)(r->capacity - 1)];
    if (!a->node || !strcmp(anchorName(r, a), name)) return a;
  }
}

/* Gives a node its name; the table is at most half full. Returns 0, or 1 after a message. */
static int addAnchor(Reader *r, const yaml_event_t *e, const char *name, int of) {
  if (2 * r->nanchors >= r->capacity) {
    const Reader old = *r;
    r->capacity      = old.capacity ? 2 * old.capacity : 16;
    r->anchor        = calloc((size_t)r->capacity, sizeof *r->anchor);
    for (int i = 0; r->anchor && i < old.capacity; i++)
      if (old.anchor[i].node) *anchorOf(r, anchorName(r, &old.anchor[i])) = old.anchor[i];
    free(old.anchor);
    if (!r->anchor) return wrong(r, e->start_mark, "no memory");
  }
  Anchor *a        = anchorOf(r, name);
  const int length = (int)strlen(name) + 1;
  if (a->node) return wrong(r, e->start_mark, "there is an anchor %.40s already", name);
  if (ROOM(r->names, r->nnames, length)) return wrong(r, e->start_mark, "no memory");
  memcpy(r->names + r->nnames, name, (size_t)length);
  *a = (Anchor){.name = r->nnames, .node = of};
  r->nnames += length;
  r->nanchors++;
  return 0;
}

/* Adds the node of an event to the document. Returns its index, or 0 after a message. */
static int addNode(Reader *r, const yaml_event_t *e) {
  yaml_document_t *d = &r->document;
  const char *anchor = NULL;
  int i              = 0;
  switch (e->type) {
  case YAML_ALIAS_EVENT: {
    const char *name = (const char *)e->data.alias.anchor;
    i                = r->nanchors ? anchorOf(r, name)->node : 0;
    if (!i) wrong(r, e->start_mark, "there is no anchor %.40s", name);
    return i;
  }
  case YAML_SCALAR_EVENT:
    anchor = (const char *)e->data.scalar.anchor;
    i      = yaml_document_add_scalar(d, NULL, e->data.scalar.value, (int)e->data.scalar.length,
                                      e->data.scalar.style);
    break;
  case YAML_SEQUENCE_START_EVENT:
    anchor = (const char *)e->data.sequence_start.anchor;
    i      = yaml_document_add_sequence(d, NULL, e->data.sequence_start.style);
    break;
  default:
    anchor = (const char *)e->data.mapping_start.anchor;
    i      = yaml_document_add_mapping(d, NULL, e->data.mapping_start.style);
  }
  if (!i) return wrong(r, e->start_mark, "no memory"), 0;
  yaml_document_get_node(d, i)->start_mark = e->start_mark;
  return anchor && addAnchor(r, e, anchor, i) ? 0 : i;
}

/* Takes an event of the document. Returns 0, or 1 after a message. */
static int takeEvent(Reader *r, const yaml_event_t *e) {
  if (e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT) return r->depth--, 0;
  const int i = addNode(r, e);
  if (!i) return 1;
  if (r->depth > 0) {
    const int parent = r->open[r->depth - 1].node;
    int *key = &r->open[r->depth - 1].key, added = 1;
    if (node(r, parent)->type == YAML_SEQUENCE_NODE)
      added = yaml_document_append_sequence_item(&r->document, parent, i);
    else if (!*key) *key = i;
    else added = yaml_document_append_mapping_pair(&r->document, parent, *key, i), *key = 0;
    if (!added) return wrong(r, e->start_mark, "no memory");
  }
  if (e->type != YAML_SEQUENCE_START_EVENT && e->type != YAML_MAPPING_START_EVENT) return 0;
  if (r->depth == DEEPEST)
    return wrong(r, e->start_mark, "a mechanism has at most %d levels of lists and mappings",
                 DEEPEST);
  r->open[r->depth].node  = i;
  r->open[r->depth++].key = 0;
  return 0;
}

/* Builds the document from libyaml's events: its own loader searches all earlier anchors for each
 * anchor and alias, and takes a time that is quadratic in the depth. Without a document in the file,
 * r->document has no node. Returns 0, or 1 after a message. */
static int load(yaml_parser_t *parser, Reader *r) {
  int failed = 0, ended = 0, documents = 0;
  while (!failed && !ended) {
    yaml_event_t e;
    if (!yaml_parser_parse(parser, &e)) return cannotParse(parser, r);
    if (e.type == YAML_STREAM_END_EVENT) ended = 1;
    else if (e.type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
      failed = wrong(r, e.start_mark, "a file is one document, and this is a second one");
    else if (e.type >= YAML_ALIAS_EVENT) failed = takeEvent(r, &e);
    yaml_event_delete(&e);
  }
  return failed;
}

/* libyaml compares each %TAG with all before it. */
static int hasDirectives(const Reader *r, int most) {
  char last = '\n';
  int count = 0;
  for (size_t i = 0; i < r->size; i++) {
    if (r->data[i] == '%' && (last == '\n' || last == '\r')) count++;
    if (r->data[i]) last = r->data[i]; /* UTF-16 has zeros. */
  }
  return count > most;
}

CPBodies bodiesReadYaml(const char *data, size_t size, const char *name, Run *run, char *message,
                        size_t length) {
  enum { MOST_DIRECTIVES = 100 };
  static const yaml_mark_t start = {0, 0, 0};
  yaml_parser_t parser;
  CPBodies bodies = NULL;
  Reader r = {.file = name, .data = data, .size = size, .message = message, .length = length};
  if (!(r.scope = cpScopeCreate())) return snprintf(message, length, "%s: no memory", name), NULL;
  if (!yaml_parser_initialize(&parser)) {
    snprintf(message, length, "%s: no memory", name);
    return cpScopeFree(r.scope), NULL;
  }
  yaml_parser_set_input_string(&parser, (const unsigned char *)data, size);
  int failed = hasDirectives(&r, MOST_DIRECTIVES)
                   ? wrong(&r, start, "there are more than %d directives", MOST_DIRECTIVES)
                   : 0;
  if (!failed && !yaml_document_initialize(&r.document, NULL, NULL, NULL, 1, 1))
    failed = wrong(&r, start, "no memory");
  else if (!failed) {
    failed = load(&parser, &r) || readDocument(&r, run, &bodies);
    yaml_document_delete(&r.document);
  }
  free(r.anchor);
  free(r.names);
  cpScopeFree(r.scope);
  yaml_parser_delete(&parser);
  if (failed) CPBodiesFree(&bodies);
  return bodies;
}
