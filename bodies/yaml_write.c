/* Mechanisms as YAML files, by the tables with which they are read: each element is written as it is added, but for bodies, which readers
 * may place later. A function is written from its program, as an expression of plain numbers; tables and functions that are called get
 * names in the section `functions`. */
#include "laws.h"
#include "muscles.h"
#include "yaml_impl.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last texts are those of what cannot be written, of functions, and of the whole file. */
enum { MOST_KINDS = 40, MISSING = MOST_KINDS, FUNCTIONS, WHOLE, NUM_TEXTS };

/* A body as it was added, without its name, and its placement then */
typedef struct {
  CPBody body;
  sunrealtype guess[13];
  Origin *source;
  int nsources;
} Added;

/* A function that is in the section `functions` */
typedef struct {
  CPFunction f;
  char name[24];
} Named;

/* An actuator whose bias and peak force, which a reader may derive from the whole mechanism, are written at last, at this offset of its row */
typedef struct {
  size_t at;
  int law;
} Later;

typedef struct {
  Text text[NUM_TEXTS]; /* by the rows of yaml_elements, of which there are fewer than MOST_KINDS */
  Added *added;         /* all bodies */
  Named *named;
  Later *later;
  int nadded, nnamed, nlater, failed; /* failed: there was no memory */
  const char *element; /* the structure that is written, and the expressions of its numbers */
  Origin *source;
  int nsources;
  Text parameters, values; /* as Kept has them */
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

/* The expression of a number, or of its opposite, as mirror images have it; or NULL */
static Origin *originOf(Record *r, const sunrealtype *x) {
  for (int i = 0; i < r->nsources; i++) {
    Origin *s = &r->source[i];
    if (!s->f && (const char *)x == r->element + s->at && fabs(s->value) == fabs(*x)) return s;
  }
  return NULL;
}

static void putNumber(Record *r, int which, const sunrealtype *x) {
  Origin *s = originOf(r, x);
  if (!s) put(r, which, "%.17g", (double)*x);
  else put(r, which, s->value == *x ? "\"%s\"" : "\"-(%s)\"", s->text);
  if (s) s->used = 1;
}

static void putNumbers(Record *r, int which, const sunrealtype *x, int n) {
  put(r, which, "[");
  for (int i = 0; i < n; i++) {
    if (i) put(r, which, ", ");
    putNumber(r, which, &x[i]);
  }
  put(r, which, "]");
}

/* Forgets the expressions of the element, and tells which ones have not been written. */
static void endOrigins(Record *r, const char *name) {
  for (int i = 0; i < r->nsources; i++)
    if (r->source[i].uses && !r->source[i].used)
      bodiesPut(&r->values, "#   %s: %.200s\n", name, r->source[i].text);
  bodiesFreeOrigins(r->source, r->nsources);
  r->source = NULL, r->nsources = 0, r->element = NULL;
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
  for (int i = 0; i < n; i++) given = given || (x[i] != 0 && isfinite(x[i])) || originOf(r, &x[i]);
  if (n > 0) {
    if (!given) return;
    put(r, which, ", %s: ", f->key);
    if (n == 1) putNumber(r, which, x);
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
  case MESH_FILE: return; /* by its points */
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
  case STARTS: {
    int count = MOST_MOTIONS;
    while (count > 0 && x[count - 1] == 0) count--;
    if (count > 0) put(r, which, ", %s: ", f->key), putNumbers(r, which, x, count);
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

/* ---- functions ---- */

static void putTable(Record *r, const char *name, const CPTable *t) {
  put(r, FUNCTIONS, "  %s: {order: %d, ends: %s", name, t->order, yamlWord(ENDS, (int)t->ends));
  if (t->ends == CP_ENDS_CLAMPED)
    put(r, FUNCTIONS, ", slopes: "), putNumbers(r, FUNCTIONS, t->slope, t->order == 5 ? 4 : 2);
  if (t->y) {
    put(r, FUNCTIONS, ", x: "), putNumbers(r, FUNCTIONS, t->x, t->nx);
    put(r, FUNCTIONS, ", y: "), putNumbers(r, FUNCTIONS, t->y, t->ny);
  }
  put(r, FUNCTIONS, t->y ? ",\n    values: [" : ",\n    rows: [");
  for (int i = 0; i < t->nx; i++) {
    const sunrealtype row[] = {t->x[i], t->value[i]};
    if (i > 0) put(r, FUNCTIONS, ", ");
    putNumbers(r, FUNCTIONS, t->y ? t->value + (size_t)i * (size_t)t->ny : row, t->y ? t->ny : 2);
  }
  put(r, FUNCTIONS, "]}\n");
}

/* f1, f2, ..., as far as no parameter and no other function has this name */
static void freeName(const Record *r, char name[24]) {
  char line[30];
  const char *taken = r->parameters.text ? r->parameters.text : "";
  int is_taken      = 1;
  for (int i = r->nnamed + 1; is_taken; i++) {
    snprintf(name, 24, "f%d", i);
    snprintf(line, sizeof line, "\n  %s: ", name);
    is_taken = strstr(taken, line) || !strncmp(taken, line + 1, strlen(line + 1));
    for (int k = 0; k < r->nnamed; k++) is_taken = is_taken || !strcmp(r->named[k].name, name);
  }
}

/* The name by which expressions call a function, for the record `data`; one that has none yet is written, after those that it calls. Returns
 * as FunctionName. */
static int nameOf(CPFunction f, void *data, const char **known) {
  Record *r     = data;
  CPTable table = {.value = NULL};
  CPFunction of = NULL;
  char name[24], own[CP_MOST_VARIABLES][12], *text = NULL;
  const char *variable[CP_MOST_VARIABLES];
  for (int i = 0; i < r->nnamed; i++)
    if (r->named[i].f == f) return *known = r->named[i].name, 0;
  const int n = cpFunctionCount(f), is_text = cpFunctionTable(f, &table, &of);
  if (is_text < 0) return is_text;
  for (int i = 0; i < n; i++) {
    snprintf(own[i], sizeof own[i], "x%d", i + 1);
    variable[i] = own[i];
  }
  const int flag = is_text ? cpFunctionText(f, variable, nameOf, r, &text)
                   : of    ? nameOf(of, r, known)
                           : 0;
  if (flag) return flag;
  if (of) snprintf(name, sizeof name, "%.20s'", *known);
  else freeName(r, name);
  if (text) {
    put(r, FUNCTIONS, "  %s: {of: {", name);
    for (int i = 0; i < n; i++) put(r, FUNCTIONS, "%s%s: \"1\"", i ? ", " : "", own[i]);
    put(r, FUNCTIONS, "}, is: \"%s\"}\n", text);
  } else if (!of) putTable(r, name, &table);
  free(text);
  free((void *)(uintptr_t)table.value);
  if (ROOM(r->named, r->nnamed, 1)) return CP_MEM_FAIL;
  r->named[r->nnamed].f = cpFunctionShare(f);
  *known                = strcpy(r->named[r->nnamed++].name, name);
  return 0;
}

/* A variable with its unit as a plain number, x or (x/(1 m)) */
static void plainly(const char *name, const char *unit, char text[2 * TEXT]) {
  if (!unit || !*unit || !strcmp(unit, "1") || !strcmp(unit, "rad"))
    snprintf(text, 2 * TEXT, "%s", name);
  else if (unit[0] == '1') snprintf(text, 2 * TEXT, "(%s*(1 %s))", name, unit + 2); /* 1/s */
  else snprintf(text, 2 * TEXT, "(%s/(1 %s))", name, unit);
}

/* Writes a function, of variables whose names and units are lists, and of inputs, plus a constant, with the unit of its result (NULL: none). Returns
 * 0, or 1 if it cannot be written. */
static int putFormula(CPBodies b, Text *line, CPFunction f, const char *names, const char *units,
                      const char *inputs, const char *result, sunrealtype more) {
  Record *r = b->written;
  for (int i = 0; i < r->nsources; i++)
    if (r->source[i].f == f && more == 0)
      return r->source[i].used = 1, bodiesPut(line, "\"%s\"", r->source[i].text), 0;
  char own[CP_MOST_VARIABLES][2 * TEXT], word[TEXT], unit[TEXT], rule[RULE_TEXT];
  const char *variable[CP_MOST_VARIABLES], *list[] = {names, inputs ? inputs : ""};
  int n = 0;
  for (int of = 0; of < 2; of++)
    for (const char *at = bodiesNextWord(list[of], word); *word; at = bodiesNextWord(at, word)) {
      Sensor s;
      if (of == 0) units = bodiesNextWord(units, unit);
      else if (cpNameLength(word) != strlen(word) || bodiesSensor(&b->m, NULL, word, &s, rule))
        return 1;
      if (n == CP_MOST_VARIABLES) return 1;
      plainly(word, of ? s.unit : unit, own[n]);
      variable[n] = own[n];
      n++;
    }
  char *text = NULL;
  const int flag =
      n == cpFunctionCount(f) ? cpFunctionText(f, variable, nameOf, b->written, &text) : 1;
  if (flag) return line->failed = line->failed || flag < 0, 1;
  bodiesPut(line, result ? "\"(%s)*1 %s" : "\"%s", text, result);
  if (more != 0) bodiesPut(line, " + %.17g %s", (double)more, result ? result : "");
  bodiesPut(line, "\"");
  free(text);
  return 0;
}

static int usesNothing(CPFunction f) {
  for (int i = 0; i < cpFunctionCount(f); i++)
    if (cpFunctionUses(f, i)) return 0;
  return 1;
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
  bodiesPut(text, "# %s, which files have not, is missing: %s\n", what, name);
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

/* What of the element files cannot say, or NULL: functions of a program, and tendons of several parts */
static const char *lost(const CPElement *e) {
  const void *element = e;
  switch (e->kind) {
  case CP_ELEMENT_DRIVE: return ((const CPDrive *)element)->g ? "a drive by a function" : NULL;
  case CP_ELEMENT_SPRING: return ((const CPSpring *)element)->law ? "a spring by a function" : NULL;
  case CP_ELEMENT_FORCE: return ((const CPForce *)element)->fn ? "a force by functions" : NULL;
  case CP_ELEMENT_CONTACT:
    return ((const CPBodyContact *)element)->on == CP_ON_SURFACE
               ? "a contact on a surface by a function"
               : NULL;
  case CP_ELEMENT_TENDON: {
    const CPTendon *tendon = element;
    int divided            = tendon->function != NULL;
    for (int k = 0; k < tendon->nnodes - 1 && tendon->divisor; k++)
      divided = divided || tendon->divisor[k] != 1;
    return divided || tendon->nnodes > CP_MOST_NODES || tendon->ncoordinates > MOST_SUMMED
               ? missing_tendon
               : NULL;
  }
  default: return NULL;
  }
}

/* Has a key before f all the numbers of f? */
static int isWritten(const Field *first, const Field *f) {
  for (const Field *g = first; g < f; g++) {
    const int n = countOf(g->type, 3), own = countOf(f->type, 3);
    if (f->offset >= g->offset && f->offset + (own > 0 ? (size_t)own * sizeof(sunrealtype) : 1) <=
                                      g->offset + (n > 0 ? (size_t)n * sizeof(sunrealtype) : 1))
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

/* side [nnodes]: points on whose sides the path runs, or NULL */
static void putPath(Record *r, int which, int nnodes, const CPRopeNode *nodes,
                    const CPRopeNode *const *sides) {
  put(r, which, ", along: [");
  for (int k = 0; k < nnodes; k++) {
    const CPRopeNode *node = &nodes[k], *side = sides ? sides[k] : NULL;
    put(r, which, k ? ", {body: " : "{body: ");
    putName(r, which, node->body ? node->body : "ground");
    put(r, which, ", at: "), putNumbers(r, which, node->point, 3);
    if (node->radius != 0) put(r, which, ", radius: %.17g", (double)node->radius);
    if (length3(node->axis) > 0) put(r, which, ", axis: "), putNumbers(r, which, node->axis, 3);
    if (node->turns) put(r, which, ", turns: %d", node->turns);
    if (node->friction != 0) put(r, which, ", friction: %.17g", (double)node->friction);
    if (node->sticking != 0) put(r, which, ", sticking: %.17g", (double)node->sticking);
    if (side) {
      put(r, which, ", side: "), putNumbers(r, which, side->point, 3);
      put(r, which, ", side_body: "), putName(r, which, side->body ? side->body : "ground");
    }
    put(r, which, "}");
  }
  put(r, which, "]");
}

/* The motions of a joint by functions. A constant is one without a coordinate. */
static int putMotions(CPBodies b, Text *line, const CPJoint *joint) {
  bodiesPut(line, ", motions: [");
  for (int i = 0; i < joint->nmotions; i++) {
    const CPJointMotion *m = &joint->motion[i];
    const char *unit       = m->about ? NULL : "m";
    bodiesPut(line, "%s{%s: [%.17g, %.17g, %.17g]", i ? ", " : "", m->about ? "about" : "along",
              (double)m->axis[0], (double)m->axis[1], (double)m->axis[2]);
    if (m->coordinate > 0) bodiesPut(line, ", of: %d", m->coordinate);
    bodiesPut(line, ", by: ");
    if (m->coordinate < 0) bodiesPut(line, "%.17g", (double)m->offset);
    else if (m->function) {
      if (usesNothing(m->function) ||
          putFormula(b, line, m->function, "x", "1", NULL, unit, m->offset))
        return 1;
    } else
      bodiesPut(line, "\"(%.17g*x + %.17g)*1%s\"", m->ratio == 0 ? 1 : (double)m->ratio,
                (double)m->offset, m->about ? "" : " m");
    bodiesPut(line, "}");
  }
  bodiesPut(line, "]");
  return 0;
}

static const char *const angle_units  = "s rad rad/s 1";
static const char *const length_units = "s m m/s 1";

/* Writes the functions of an element as keys. Returns 0, or 1 if they cannot be written. */
static int putFunctions(CPBodies b, Text *line, const CPElement *e) {
  const void *element = e;
  switch (e->kind) {
  case CP_ELEMENT_JOINT: {
    const CPJoint *joint = element;
    return joint->kind == CP_JOINT_CUSTOM && putMotions(b, line, joint);
  }
  case CP_ELEMENT_COUPLER: {
    const CPCoupler *c = element;
    if (!c->function) return 0;
    bodiesPut(line, ", function: ");
    return putFormula(b, line, c->function, "x", turns(b, &c->of[1]) ? "rad" : "m", NULL, NULL, 0);
  }
  case CP_ELEMENT_DRIVE: {
    const CPDrive *d = element;
    if (!d->function) return 0;
    bodiesPut(line, ", motion: ");
    return putFormula(b, line, d->function, "t", "s", NULL, turns(b, &d->of) ? NULL : "m", 0);
  }
  case CP_ELEMENT_ROPE: {
    const CPRope *rope = element;
    if (!rope->function) return 0;
    bodiesPut(line, ", motion: ");
    return usesNothing(rope->function) ||
           putFormula(b, line, rope->function, "t", "s", NULL, "m", 0);
  }
  case CP_ELEMENT_SPRING: {
    const CPSpring *s = element;
    const int angle   = s->of.joint && turns(b, &s->of);
    if (!s->function) return 0;
    bodiesPut(line, ", force: ");
    return putFormula(b, line, s->function, "t x v", angle ? angle_units : length_units, s->inputs,
                      angle ? "N m" : "N", s->force);
  }
  case CP_ELEMENT_FORCE: {
    const CPForce *f = element;
    if (!f->function[0] && !f->function[1] && !f->function[2]) return 0;
    bodiesPut(line, ", force: [");
    for (int k = 0; k < 3; k++) {
      if (k > 0) bodiesPut(line, ", ");
      if (!f->function[k]) bodiesPut(line, "%.17g", (double)f->force[k]);
      else if (putFormula(b, line, f->function[k], "t x y z vx vy vz", "s m m m m/s m/s m/s",
                          f->inputs, "N", f->force[k]))
        return 1;
    }
    bodiesPut(line, "]");
    return 0;
  }
  case CP_ELEMENT_ACTUATOR: {
    const CPActuator *a = element;
    const int angle     = a->of.joint && turns(b, &a->of);
    if (!a->function) return 0;
    bodiesPut(line, ", curve: ");
    return usesNothing(a->function) ||
           putFormula(b, line, a->function, "t x v w", angle ? angle_units : length_units, NULL,
                      angle ? "N m" : "N", 0);
  }
  case CP_ELEMENT_CONTROLLER: {
    const CPController *c = element;
    bodiesPut(line, ", control: ");
    return usesNothing(c->function) ||
           putFormula(b, line, c->function, "t", "s", c->inputs, NULL, 0);
  }
  case CP_ELEMENT_RELEASE: {
    const CPRelease *release = element;
    if (!release->function) return 0;
    bodiesPut(line, ", when: ");
    return usesNothing(release->function) ||
           putFormula(b, line, release->function, "t", "s", release->inputs, NULL, 0);
  }
  default: return 0;
  }
}

/* Is this number written although it is 0, as the key without a value means another one? */
static int isNumberAnyway(const CPElement *e, const char *key) {
  const int ends = !strcmp(key, "lower") || !strcmp(key, "upper");
  return e->kind == CP_ELEMENT_LIMIT
             ? ends
             : (e->kind == CP_ELEMENT_SPRING || e->kind == CP_ELEMENT_TENDON) &&
                   !strcmp(key, "free");
}

/* Is the number of this key written with the functions, or at last? */
static int isElsewhere(const CPElement *e, const char *key) {
  const void *element = e;
  const CPForce *f    = element;
  if (e->kind == CP_ELEMENT_ACTUATOR) return !strcmp(key, "bias") || !strcmp(key, "peak_force");
  if (strcmp(key, "force")) return 0;
  return e->kind == CP_ELEMENT_SPRING  ? ((const CPSpring *)element)->function != NULL
         : e->kind == CP_ELEMENT_FORCE ? f->function[0] || f->function[1] || f->function[2]
                                       : 0;
}

static void putFields(Record *r, int which, const ElementKeys *k, const CPElement *e, int dimension) {
  const char *start = r->element = (const char *)e;
  for (const Field *f = k->fields; f->key; f++) {
    /* Some keys are others for the same member, as `radius` for a length; those behind the element are made from it by others. */
    if (f->offset >= k->size || isWritten(k->fields, f) || isElsewhere(e, f->key)) continue;
    const sunrealtype *x       = (const sunrealtype *)(const void *)(start + f->offset);
    const CPActuator *actuator = (const CPActuator *)(const void *)e;
    const int is_gain          = e->kind == CP_ELEMENT_ACTUATOR && !strcmp(f->key, "gain") &&
                        length3(x) == 0 && actuator->muscle.force == 0;
    if (isNumberAnyway(e, f->key) && *x == 0) put(r, which, ", %s: 0", f->key);
    else if (is_gain) put(r, which, ", gain: [0, 0, 0]");
    else putField(r, which, f, start + f->offset, dimension);
  }
}

/* The row of an element; a latch is a release that closes. */
static const ElementKeys *keysOf(const CPElement *e) {
  const ElementKeys *k = yaml_elements;
  const int closes = e->kind == CP_ELEMENT_RELEASE && ((const CPRelease *)(const void *)e)->closes;
  while (k->key && (k->kind != e->kind || (closes && strcmp(k->key, "latches")))) k++;
  return k;
}

static void putElement(CPBodies b, const CPElement *e) {
  Record *r            = b->written;
  const ElementKeys *k = keysOf(e);
  const int row        = (int)(k - yaml_elements);
  const char *what     = lost(e);
  Text functions       = {0};
  if (!what && hangs(r, e)) what = "what acts on a missing tendon";
  if (!what && k->key && putFunctions(b, &functions, e)) what = k->what;
  r->failed = r->failed || functions.failed;
  if (what || !k->key || row >= MOST_KINDS) {
    putMissing(&r->text[MISSING], what ? what : "an element", e->name);
    r->failed = r->failed || r->text[MISSING].failed;
    free(functions.text);
    return;
  }
  put(r, row, "  - {name: ");
  putName(r, row, e->name);
  putFields(r, row, k, e, b->m.space.dimension);
  const CPTendon *t  = (const CPTendon *)(const void *)e;
  const CPRope *rope = (const CPRope *)(const void *)e;
  const CPCoupler *c = (const CPCoupler *)(const void *)e;
  if (e->kind == CP_ELEMENT_COUPLER)
    putSum(r, row, 2 + c->nmore, 2, c->of, c->more, c->ratio, c->more_ratio);
  if (e->kind == CP_ELEMENT_TENDON && t->ncoordinates > 0)
    putSum(r, row, t->ncoordinates, t->ncoordinates, t->of, NULL, t->ratio, NULL);
  if (e->kind == CP_ELEMENT_TENDON && t->nnodes > 0) putPath(r, row, t->nnodes, t->node, t->side);
  if (e->kind == CP_ELEMENT_ROPE) putPath(r, row, rope->nnodes, rope->node, NULL);
  if (functions.text) put(r, row, "%s", functions.text);
  free(functions.text);
  if (e->kind == CP_ELEMENT_ACTUATOR) {
    if (ROOM(r->later, r->nlater, 1)) r->failed = 1;
    else r->later[r->nlater++] = (Later){r->text[row].length, b->m.nlaws - 1};
  }
  put(r, row, "}\n");
}

static void takeElement(CPBodies b, const CPElement *e) {
  Record *r  = b->written;
  Kept *kept = b->kept;
  if (kept) {
    r->source = kept->source, r->nsources = kept->nsources;
    kept->source = NULL, kept->nsources = 0;
  }
  if (e->kind != CP_ELEMENT_BODY) {
    putElement(b, e);
    endOrigins(r, e->name);
    return;
  }
  if (ROOM(r->added, r->nadded, 1)) {
    r->failed = 1;
    endOrigins(r, e->name);
    return;
  }
  Added *own    = &r->added[r->nadded];
  own->body     = *(const CPBody *)(const void *)e;
  own->source   = r->source;
  own->nsources = r->nsources;
  r->source = NULL, r->nsources = 0;
  memcpy(own->guess, b->m.body[r->nadded++].guess, sizeof own->guess);
}

/* Writes all bodies where they are now: the origin of a frame from the centre of mass, and the velocity of the origin. */
static void putBodies(CPBodies b) {
  Record *r      = b->written;
  const Space *s = &b->m.space;
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
    r->source = r->added[i].source, r->nsources = r->added[i].nsources;
    r->added[i].source = NULL, r->added[i].nsources = 0;
    putElement(b, &body.head);
    endOrigins(r, body.head.name);
  }
}

/* Completes the actuators. */
static void putLater(CPBodies b) {
  Record *r                = b->written;
  const CPElement actuator = {.kind = CP_ELEMENT_ACTUATOR};
  const int row            = (int)(keysOf(&actuator) - yaml_elements);
  const Text text          = r->text[row];
  size_t from              = 0;
  if (r->nlater == 0) return;
  r->text[row] = (Text){0};
  for (int i = 0; i < r->nlater; from = r->later[i++].at) {
    const Law *law          = &b->m.law[r->later[i].law];
    const sunrealtype *bias = b->m.param + law->param + BIAS;
    put(r, row, "%.*s", (int)(r->later[i].at - from), text.text + from);
    if (length3(bias) > 0) put(r, row, ", bias: "), putNumbers(r, row, bias, 3);
    if (law->muscle != NONE)
      put(r, row, ", peak_force: %.17g", (double)b->m.param[law->muscle + PEAK_FORCE]);
  }
  put(r, row, "%s", text.text + from);
  free(text.text);
}

int yamlTakeTexts(CPBodies b, Kept *kept) {
  Record *r = b->written;
  if (!r->parameters.text) r->parameters = kept->parameters, kept->parameters = (Text){0};
  bodiesPut(&r->values, "%s", kept->values.text ? kept->values.text : "");
  return r->values.failed;
}

static int startRecord(CPBodies b) {
  Record *r = b->written = calloc(1, sizeof *r);
  if (r && b->kept) r->parameters = b->kept->parameters, b->kept->parameters = (Text){0};
  return !r;
}

static void freeRecord(CPBodies b) {
  Record *r = b->written;
  for (int i = 0; i < NUM_TEXTS && r; i++) free(r->text[i].text);
  for (int i = 0; r && i < r->nnamed; i++) CPFunctionFree(&r->named[i].f);
  for (int i = 0; r && i < r->nadded; i++)
    bodiesFreeOrigins(r->added[i].source, r->added[i].nsources);
  if (r) bodiesFreeOrigins(r->source, r->nsources), free(r->parameters.text), free(r->values.text);
  if (r) free(r->added), free(r->named), free(r->later);
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
  putLater(b);
  snprintf(name, sizeof name, "%.300s", from);
  bodiesOneLine(name, sizeof name);
  put(r, WHOLE, "# From %s. What that file has beside it:\n", name);
  putLines(r, b->notes);
  putLines(r, b->remarks);
  if (r->values.text && r->values.length > 0)
    put(r, WHOLE, "# Numbers stand for expressions of parameters in\n%s", r->values.text);
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
  if (b->sensors) put(r, WHOLE, ", sensors: "), putName(r, WHOLE, b->sensors);
  put(r, WHOLE, "}\n");
  if (r->parameters.text) put(r, WHOLE, "parameters:\n%s", r->parameters.text);
  if (r->text[FUNCTIONS].text) put(r, WHOLE, "functions:\n%s", r->text[FUNCTIONS].text);
  for (const ElementKeys *k = yaml_elements; k->key; k++)
    if (r->text[k - yaml_elements].text)
      put(r, WHOLE, "%s:\n%s", k->key, r->text[k - yaml_elements].text);
  return r->failed || r->values.failed ? NULL : r->text[WHOLE].text;
}

const FileWriter yaml_writer = {NULL, startRecord, takeElement, finish, freeRecord};
