/* Mechanisms as YAML files, by the tables with which they are read: each element is written as it is added, but for bodies, which readers
 * may place later. Functions have no text. */
#include "yaml_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last texts are those of what cannot be written, and of the whole file. */
enum { MOST_KINDS = 40, MISSING = MOST_KINDS, WHOLE, NUM_TEXTS };

/* A body as it was added, without its name, and its placement then */
typedef struct {
  CPBody body;
  sunrealtype guess[13];
} Added;

typedef struct {
  Text text[NUM_TEXTS]; /* by CPElementKind, of which there are fewer than MOST_KINDS */
  Added *added;         /* all bodies */
  int nadded, failed;   /* failed: there was no memory */
} Record;

CP_PRINTF(3, 4) static void put(Record *r, int which, const char *format, ...) {
  va_list args;
  va_start(args, format);
  bodiesPutList(&r->text[which], format, args);
  va_end(args);
  if (r->text[which].failed) r->failed = 1;
}

/* Names may have any characters but controls. */
static void putName(Record *r, int which, const char *name) {
  put(r, which, "\"");
  for (; *name; name++) put(r, which, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
  put(r, which, "\"");
}

static void putNumbers(Record *r, int which, const sunrealtype *x, int n) {
  put(r, which, "[");
  for (int i = 0; i < n; i++) put(r, which, "%s%.17g", i ? ", " : "", (double)x[i]);
  put(r, which, "]");
}

static void putCoordinate(Record *r, int which, const CPCoordinate *of) {
  if (of->k) put(r, which, "[");
  putName(r, which, of->joint);
  if (of->k) put(r, which, ", %d]", of->k);
}

/* The number of numbers that a value of this type has, or 0 */
static int countOf(Type type, int dimension) {
  switch (type) {
  case NUMBER:
  case MOTION:
  case SIGNAL:
  case FORMULA:
  case CURVE: return 1;
  case VECTOR:
  case DIRECTION:
  case FORMULAS:
  case THREE: return 3;
  case INERTIA: return dimension == 2 ? 1 : 6;
  case FOUR: return 4;
  case TWO: return 2;
  default: return 0;
  }
}

/* Writes the value of a key, unless it is what a file without it means. */
static void putField(Record *r, int which, const Field *f, const char *at, int dimension) {
  const sunrealtype *x = (const sunrealtype *)(const void *)at;
  const int n          = countOf(f->type, dimension);
  const int word       = *(const int *)(const void *)at;
  int given            = f->required;
  if (f->type == INERTIA && dimension == 2) x += 2;
  for (int i = 0; i < n; i++) given = given || (x[i] != 0 && isfinite(x[i]));
  if (n > 0) {
    if (!given) return;
    put(r, which, ", %s: ", f->key);
    if (n == 1) put(r, which, "%.17g", (double)x[0]);
    else putNumbers(r, which, x, n);
    return;
  }
  switch (f->type) {
  case NAME: {
    const char *name = *(const char *const *)(const void *)at;
    if (!name || !strcmp(f->key, "name")) return;
    put(r, which, ", %s: ", f->key);
    putName(r, which, name);
    return;
  }
  case COORDINATE: {
    const CPCoordinate *of = (const CPCoordinate *)(const void *)at;
    if (!of->joint) return;
    put(r, which, ", %s: ", f->key);
    putCoordinate(r, which, of);
    return;
  }
  case POINTS: {
    const sunrealtype *point = *(const sunrealtype *const *)(const void *)at;
    const int count          = *(const int *)(const void *)(at + sizeof point);
    if (!point) return;
    put(r, which, ", %s: [", f->key);
    for (int i = 0; i < count; i++) {
      if (i) put(r, which, ", ");
      putNumbers(r, which, point + 3 * i, 3);
    }
    put(r, which, "]");
    return;
  }
  case COUNT:
    if (word) put(r, which, ", %s: %d", f->key, word);
    return;
  case YES:
    if (word) put(r, which, ", %s: true", f->key);
    return;
  case IN:
    if (word != CP_IN_SPACE) put(r, which, ", %s: bodies", f->key);
    return;
  default:
    if (word || f->required) put(r, which, ", %s: %s", f->key, yamlWord(f->type, word));
  }
}

static int hasNoText(CPFunction f) { return f && !cpFunctionText(f, NULL); }

/* Writes the text of a function of one plain variable as one of a variable with a unit. */
static void putFunction(Record *r, int which, CPFunction f, const char *variable, const char *unit) {
  const char *own, *text = cpFunctionText(f, &own);
  const size_t length      = strlen(own);
  static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (const char *at = text; *at;) {
    const size_t word = strspn(at, more), rest = word ? word : 1;
    if (word == length && !strncmp(at, own, length))
      put(r, which, *unit ? "(%s/(1 %s))" : "%s%s", variable, unit);
    else put(r, which, "%.*s", (int)rest, at);
    at += rest;
  }
}

/* Is this coordinate an angle? */
static int turns(CPBodies b, const CPCoordinate *of) {
  Term term;
  return bodiesNamedCoordinate(b, "", *of, &term) >= 0 &&
         (term.m.kind == ANGLE || (term.m.kind == OWN && term.m.j == 1));
}

static const char missing_tendon[] =
    "a tendon by a function, with divided parts, or with more of them than files have";

static void putMissing(Text *text, const char *what, const char *name) {
  bodiesPut(text, "# %s, which has no text, is missing: %s\n", what, name);
}

/* Does the element act on a tendon that is missing? */
static int hangs(const Record *r, const CPElement *e) {
  const void *element = e;
  const char *of      = e->kind == CP_ELEMENT_LIMIT      ? ((const CPLimit *)element)->of[0].joint
                        : e->kind == CP_ELEMENT_FRICTION ? ((const CPFriction *)element)->of.joint
                        : e->kind == CP_ELEMENT_ACTUATOR ? ((const CPActuator *)element)->of.joint
                                                         : NULL;
  Text line           = {0};
  if (!of || !r->text[MISSING].text) return 0;
  putMissing(&line, missing_tendon, of);
  const int found = line.text && strstr(r->text[MISSING].text, line.text);
  free(line.text);
  return found;
}

/* Does a function, or what files cannot say, belong to the element? */
static const char *lost(const CPElement *e) {
  const void *element = e;
  switch (e->kind) {
  case CP_ELEMENT_JOINT:
    return ((const CPJoint *)element)->kind == CP_JOINT_CUSTOM ? "a joint by functions" : NULL;
  case CP_ELEMENT_COUPLER:
    return hasNoText(((const CPCoupler *)element)->function) ? "a coupler by a function" : NULL;
  case CP_ELEMENT_DRIVE: {
    const CPDrive *drive = element;
    return drive->g || hasNoText(drive->function) ? "a drive by a function" : NULL;
  }
  case CP_ELEMENT_SPRING: {
    const CPSpring *spring = element;
    return spring->law || spring->function ? "a spring by a function" : NULL;
  }
  case CP_ELEMENT_FORCE: {
    const CPForce *force = element;
    int functions        = force->fn != NULL;
    for (int k = 0; k < 3; k++) functions = functions || force->function[k];
    return functions ? "a force by functions" : NULL;
  }
  case CP_ELEMENT_CONTACT:
    return ((const CPBodyContact *)element)->on == CP_ON_SURFACE
               ? "a contact on a surface by a function"
               : NULL;
  case CP_ELEMENT_ACTUATOR:
    return ((const CPActuator *)element)->function ? "an actuator by a function" : NULL;
  case CP_ELEMENT_ROPE: return "a rope";
  case CP_ELEMENT_CONTROLLER: return "a controller";
  case CP_ELEMENT_RELEASE: return "a release";
  case CP_ELEMENT_TENDON: {
    const CPTendon *tendon = element;
    int divided            = tendon->function != NULL;
    for (int k = 0; k < tendon->nnodes - 1 && tendon->divisor; k++)
      divided = divided || tendon->divisor[k] != 1;
    return divided || tendon->nnodes > CP_MOST_NODES || tendon->ncoordinates > CP_MOST_COUPLED
               ? missing_tendon
               : NULL;
  }
  default: return NULL;
  }
}

/* Has a key before f the same number? */
static int isWritten(const Field *first, const Field *f) {
  for (const Field *g = first; g < f; g++) {
    const int n = countOf(g->type, 3);
    if (f->offset >= g->offset &&
        f->offset < g->offset + (n > 0 ? (size_t)n * sizeof(sunrealtype) : 1))
      return 1;
  }
  return 0;
}

/* Writes n coordinates and their ratios, those from number `first` on from the lists `more`. */
static void putSum(Record *r, int which, int n, int first, const CPCoordinate *of,
                   const CPCoordinate *more, const sunrealtype *ratio,
                   const sunrealtype *more_ratio) {
  put(r, which, ", of: [");
  for (int i = 0; i < n; i++) {
    if (i) put(r, which, ", ");
    putCoordinate(r, which, i < first ? &of[i] : &more[i - first]);
  }
  put(r, which, "], ratio: [");
  for (int i = 0; i < n; i++)
    put(r, which, "%s%.17g", i ? ", " : "", (double)(i < first ? ratio[i] : more_ratio[i - first]));
  put(r, which, "]");
}

static void putPath(Record *r, int which, const CPTendon *t) {
  put(r, which, ", along: [");
  for (int k = 0; k < t->nnodes; k++) {
    const CPRopeNode *node = &t->node[k], *side = t->side ? t->side[k] : NULL;
    put(r, which, k ? ", {body: " : "{body: ");
    putName(r, which, node->body ? node->body : "ground");
    put(r, which, ", at: "), putNumbers(r, which, node->point, 3);
    if (node->radius != 0) put(r, which, ", radius: %.17g", (double)node->radius);
    if (length3(node->axis) > 0) put(r, which, ", axis: "), putNumbers(r, which, node->axis, 3);
    if (node->turns) put(r, which, ", turns: %d", node->turns);
    if (side) {
      put(r, which, ", side: "), putNumbers(r, which, side->point, 3);
      put(r, which, ", side_body: "), putName(r, which, side->body ? side->body : "ground");
    }
    put(r, which, "}");
  }
  put(r, which, "]");
}

static void putElement(CPBodies b, const CPElement *e) {
  Record *r            = b->written;
  const ElementKeys *k = yaml_elements;
  const int kind       = (int)e->kind;
  const char *start = (const char *)e, *what = lost(e);
  while (k->key && k->kind != e->kind) k++;
  if (!what && hangs(r, e)) what = "what acts on a missing tendon";
  /* Nor do tables have what is made of a list, but for the coordinates of couplers. */
  for (const Field *f = k->fields; k->key && f->key && e->kind != CP_ELEMENT_COUPLER; f++)
    if (!what && f->required && f->offset >= k->size) what = k->what;
  if (what || !k->key || kind >= MOST_KINDS) {
    putMissing(&r->text[MISSING], what ? what : "an element", e->name);
    r->failed = r->failed || r->text[MISSING].failed;
    return;
  }
  put(r, kind, "  - {name: ");
  putName(r, kind, e->name);
  for (const Field *f = k->fields; f->key; f++) {
    /* Some keys are others for the same member, as `radius` for a length; those behind the element are made from it below. */
    if (f->offset >= k->size || isWritten(k->fields, f)) continue;
    /* Without these keys numbers are others than 0. */
    const int is_number =
        ((kind == CP_ELEMENT_SPRING || kind == CP_ELEMENT_TENDON) && !strcmp(f->key, "free")) ||
        (kind == CP_ELEMENT_LIMIT && (!strcmp(f->key, "lower") || !strcmp(f->key, "upper")));
    const sunrealtype *x       = (const sunrealtype *)(const void *)(start + f->offset);
    const CPActuator *actuator = (const CPActuator *)(const void *)e;
    const int is_gain = kind == CP_ELEMENT_ACTUATOR && !strcmp(f->key, "gain") && length3(x) == 0 &&
                        actuator->muscle.force == 0;
    if (is_number && *x == 0) put(r, kind, ", %s: 0", f->key);
    else if (is_gain) put(r, kind, ", gain: [0, 0, 0]");
    else putField(r, kind, f, start + f->offset, b->m.space.dimension);
  }
  if (e->kind == CP_ELEMENT_COUPLER) {
    const CPCoupler *c = (const CPCoupler *)(const void *)e;
    putSum(r, kind, 2 + c->nmore, 2, c->of, c->more, c->ratio, c->more_ratio);
    if (c->function) {
      put(r, kind, ", function: \"");
      putFunction(r, kind, c->function, "x", turns(b, &c->of[1]) ? "" : "m");
      put(r, kind, "\"");
    }
  }
  if (e->kind == CP_ELEMENT_TENDON) {
    const CPTendon *t = (const CPTendon *)(const void *)e;
    if (t->ncoordinates > 0)
      putSum(r, kind, t->ncoordinates, t->ncoordinates, t->of, NULL, t->ratio, NULL);
    if (t->nnodes > 0) putPath(r, kind, t);
  }
  const CPDrive *drive = (const CPDrive *)(const void *)e;
  if (e->kind == CP_ELEMENT_DRIVE && drive->function) {
    put(r, kind, ", motion: \"(");
    putFunction(r, kind, drive->function, "t", "s");
    put(r, kind, turns(b, &drive->of) ? ")\"" : ") * 1 m\"");
  }
  put(r, kind, "}\n");
}

static void takeElement(CPBodies b, const CPElement *e) {
  Record *r = b->written;
  if (e->kind != CP_ELEMENT_BODY) {
    putElement(b, e);
    return;
  }
  if (ROOM(r->added, r->nadded, 1)) {
    r->failed = 1;
    return;
  }
  Added *own = &r->added[r->nadded];
  own->body  = *(const CPBody *)(const void *)e;
  memcpy(own->guess, b->m.body[r->nadded++].guess, sizeof own->guess);
}

/* Writes all bodies where they are now: the origin of a frame from the centre of mass, and the velocity of the origin. */
static void putBodies(CPBodies b) {
  const Record *r = b->written;
  const Space *s  = &b->m.space;
  for (int i = 0; i < r->nadded; i++) {
    CPBody body          = r->added[i].body;
    const sunrealtype *q = b->m.body[i].guess, *u = q + s->nq;
    body.head.name = b->m.text + b->m.body[i].name;
    if (memcmp(q, r->added[i].guess, sizeof r->added[i].guess)) {
      Pose frame;
      bodiesFrameAt(&b->m, i, q, u, &frame);
      if (s->dimension == 2) body.angle = q[2];
      else memcpy(body.quaternion, q + 3, sizeof body.quaternion);
      memcpy(body.position, frame.r, sizeof body.position);
      memcpy(body.velocity, frame.v, sizeof body.velocity);
      memcpy(body.omega, frame.w, sizeof body.omega);
    }
    putElement(b, &body.head);
  }
}

static int startRecord(CPBodies b) { return !(b->written = calloc(1, sizeof(Record))); }

static void freeRecord(CPBodies b) {
  Record *r = b->written;
  for (int i = 0; i < NUM_TEXTS && r; i++) free(r->text[i].text);
  if (r) free(r->added);
  free(r);
  b->written = NULL;
}

/* Lines as comments */
static void putLines(Record *r, const char *lines) {
  while (lines && *lines) {
    const size_t length = strcspn(lines, "\n");
    put(r, WHOLE, "#   %.*s\n", (int)length, lines);
    lines += length + (lines[length] == '\n');
  }
}

static const char *finish(CPBodies b, const char *from) {
  Record *r = b->written;
  char name[TEXT];
  if (r->failed) return NULL;
  putBodies(b);
  snprintf(name, sizeof name, "%.300s", from);
  bodiesOneLine(name, sizeof name);
  put(r, WHOLE, "# From %s. What that file has beside it:\n", name);
  putLines(r, b->notes);
  putLines(r, b->remarks);
  if (r->text[MISSING].text) put(r, WHOLE, "%s", r->text[MISSING].text);
  put(r, WHOLE, "dimension: %d\ngravity: ", b->m.space.dimension);
  putNumbers(r, WHOLE, b->m.param, 3);
  put(r, WHOLE, "\nrun: {title: ");
  putName(r, WHOLE, b->run.title[0] ? b->run.title : "mechanism");
  put(r, WHOLE, ", t_end: %.17g, assemble: %s, balance: %s, coordinates: %s", (double)b->run.t_end,
      b->run.assemble ? "true" : "false", b->run.balance ? "true" : "false",
      b->formulation == CP_JOINT_COORDINATES ? "joint" : "absolute");
  if (b->run.method[0]) put(r, WHOLE, ", method: %s", b->run.method);
  if (b->run.held[0]) put(r, WHOLE, ", held: "), putName(r, WHOLE, b->run.held);
  put(r, WHOLE, "}\n");
  for (const ElementKeys *k = yaml_elements; k->key; k++)
    if (r->text[k->kind].text) put(r, WHOLE, "%s:\n%s", k->key, r->text[k->kind].text);
  return r->failed ? NULL : r->text[WHOLE].text;
}

const FileWriter yaml_writer = {NULL, startRecord, takeElement, finish, freeRecord};
