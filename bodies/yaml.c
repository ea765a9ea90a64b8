/* Mechanisms from YAML files (guide, chapter "Mechanisms as files"): the sections of a file. There is no deeper nesting than in
 * its schema, so that no file leads to a recursion. */
#include "sensors.h"
#include "yaml_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  sunrealtype dimension, gravity[3];
  const char *robot;
} Head;
/* The sections of elements are not listed here; they have tables of their own. */
static const Field head_fields[] = {QUANTITY(Head, "dimension", dimension, NUMBER, 0, "1"),
                                    QUANTITY(Head, "gravity", gravity, VECTOR, 0, "m/s^2"),
                                    FIELD(Head, "robot", robot, NAME, 0),
                                    {0}};
static const Field run_fields[]  = {FIELD(Run, "title", title, COPY, 0),
                                    QUANTITY(Run, "t_end", t_end, NUMBER, 0, "s"),
                                    FIELD(Run, "method", method, COPY, 0),
                                    FIELD(Run, "assemble", assemble, YES, 0),
                                    FIELD(Run, "held", held, COPY, 0),
                                    FIELD(Run, "balance", balance, YES, 0),
                                    FIELD(Run, "coordinates", coordinates, COPY, 0),
                                    {0}};

/* Reads the bodies and joints of a robot's file, to which the sections add elements; settings
 * already in `run` are kept. open: 1 if sections add elements. Returns 0, or 1 after a message, which is the robot reader's if its
 * file is wrong. */
static int readRobot(Reader *r, const yaml_node_t *at, const char *path, Run *run, int open,
                     CPBodies *bodies) {
  char whole[4096];
  size_t size;
  const char *why = "its path is too long";
  if (r->dimension != 3) return yamlWrong(r, at->start_mark, "a robot needs dimension 3");
  char *data =
      bodiesBeside(r->file, path, whole, sizeof whole) ? NULL : bodiesFile(whole, &size, &why);
  if (!data)
    return yamlWrong(r, at->start_mark, "the file \"%.300s\" cannot be read: %s", path, why);
  Run own = *run;
  if (open) own.parameters = NULL; /* those of this file */
  own.open = open;
  *bodies  = bodiesReadXml(data, size, whole, &own, r->message, r->length);
  free(data);
  if (!*bodies) return 1;
  if (bodiesHasRead(*bodies, whole)) return yamlWrong(r, at->start_mark, "no memory");
  if (!run->title[0]) memcpy(run->title, own.title, sizeof run->title);
  return 0;
}

/* Appends the name of a quantity to those that the file asks for, with numbers in place of names in points. */
static int addSensor(Reader *r, yaml_mark_t at, const char *name, CPBodies b) {
  char rule[RULE_TEXT], own[2 * TEXT];
  Sensor s;
  if (bodiesSensor(&b->m, r->scope, name, &s, rule)) return yamlWrong(r, at, "%s", rule);
  const char *point = strchr(name, '('), *rest = point;
  if (point && s.kind == NAME_BODY && point - name > 6 && !strncmp(point - 6, ".point", 6)) {
    for (int depth = 0; *rest && (*rest != ')' || --depth > 0);) depth += *rest++ == '(';
    add3(1, b->m.body[s.index].centre, s.point);
    int end = snprintf(own, sizeof own, " %.*s(", (int)(point - name), name);
    for (int k = 0; k < 3; k++) { /* in as few digits as give the same number up to roundoff */
      int digits = 6;
      char number[40];
      do snprintf(number, sizeof number, "%.*g", digits, (double)s.point[k]);
      while (fabs(strtod(number, NULL) - (double)s.point[k]) > 1e-15 && digits++ < 17);
      end += snprintf(own + end, sizeof own - (size_t)end, "%c%s", k ? ',' : '[', number);
    }
    snprintf(own + end, sizeof own - (size_t)end, "]%.200s", rest);
  } else snprintf(own, sizeof own, " %s", name);
  const char *text = own + (b->nsensors == 0);
  const int length = (int)strlen(text);
  if (ROOM(b->sensors, b->nsensors, length + 1)) return yamlWrong(r, at, "no memory");
  memcpy(b->sensors + b->nsensors, text, (size_t)length + 1);
  b->nsensors += length;
  return 0;
}

/* Reads the names of quantities, separated by blanks outside of parentheses, or a list of them. */
static int readSensors(Reader *r, const yaml_node_t *n, CPBodies b) {
  const int list                = n->type == YAML_SEQUENCE_NODE;
  const yaml_node_item_t *first = list ? n->data.sequence.items.start : NULL;
  const long count              = list ? (long)(n->data.sequence.items.top - first) : 1;
  for (long i = 0; i < count; i++) {
    const yaml_node_t *item = list ? yamlNode(r, first[i]) : n;
    const char *c;
    if (yamlName(r, item, "sensors", &c)) return 1;
    for (char word[TEXT]; *(c += strspn(c, " "));) {
      size_t length = 0;
      for (int depth = 0; *c && (*c != ' ' || depth > 0); c++) {
        depth += (*c == '(') - (*c == ')');
        if (length + 1 < sizeof word && *c != ' ') word[length++] = *c;
      }
      word[length] = '\0';
      if (addSensor(r, item->start_mark, word, b)) return 1;
    }
  }
  return 0;
}

/* Returns 0, or 1 after a message. */
static int chooseCoordinates(Reader *r, const yaml_node_t *n, const Run *run, CPBodies b) {
  if (!strcmp(run->coordinates, "joint")) b->formulation = CP_JOINT_COORDINATES;
  else if (!strcmp(run->coordinates, "absolute")) b->formulation = CP_ABSOLUTE;
  else if (run->coordinates[0])
    return yamlWrong(r, yamlSection(r, n, "coordinates")->start_mark,
                     "coordinates must be \"absolute\" or \"joint\"");
  return 0;
}

/* Checks that the names in `held` exist, and reads `sensors`. Returns 0, or 1 after a message. */
static int checkRun(Reader *r, const yaml_node_t *n, const Run *run, CPBodies b) {
  char more[SUGGESTION];
  size_t length;
  for (const char *name = run->held; *(name += strspn(name, " ")); name += length) {
    length = strcspn(name, " ");
    if (bodiesFind(&b->m, NAME_BODY, name, length) < 0)
      return yamlWrong(r, yamlSection(r, n, "held")->start_mark, "there is no body \"%.*s\"%s",
                       (int)length, name, bodiesSuggest(&b->m, NAME_BODY, name, length, more));
  }
  const yaml_node_t *sensors = yamlSection(r, n, "sensors");
  return sensors ? readSensors(r, sensors, b) : 0;
}

/* Is the coordinate of this element an angle? Of several, as a coupler has them, it is the second one. Returns -1 after a message:
 * without the coordinate, units are not known either. */
static int turns(Reader *r, const yaml_node_t *n, CPElementKind kind) {
  const yaml_node_t *of = n->type == YAML_MAPPING_NODE ? yamlSection(r, n, "of") : NULL;
  if (of && kind == CP_ELEMENT_COUPLER && of->type == YAML_SEQUENCE_NODE &&
      of->data.sequence.items.top - of->data.sequence.items.start > 1)
    of = yamlNode(r, of->data.sequence.items.start[1]);
  CPDescription d = CP_INIT(CPDescription);
  CPCoordinate c;
  char name[TEXT], more[SUGGESTION];
  int i;
  /* A controller is of an actuator, and the numbers of a tendon have any unit. */
  if (!of || kind == CP_ELEMENT_CONTROLLER || kind == CP_ELEMENT_TENDON) return 0;
  if (kind == CP_ELEMENT_COUPLER && of->type == YAML_SEQUENCE_NODE) return 0; /* too short */
  if (yamlCoordinate(r, of, "of", &c)) return -1;
  if (!bodiesLookUp(&r->bodies->m, c.joint, strlen(c.joint), &i))
    return yamlWrong(r, of->start_mark, "there is no joint \"%.100s\"%s", c.joint,
                     bodiesSuggest(&r->bodies->m, NAME_JOINT, c.joint, strlen(c.joint), more)),
           -1;
  snprintf(name, sizeof name, "%.400s.%d", c.joint, c.k);
  i = bodiesFindCoordinate(&r->bodies->m, name, strlen(name));
  return i >= 0 && !CPBodiesDescribe(r->bodies, CP_COORDINATE, i, &d) && d.kind == 1;
}

static int addElement(Reader *r, const yaml_node_t *n, const ElementKeys *keys) {
  static const char *const patterns[] = {"repeat", NULL};
  Element e;
  memset(&e, 0, sizeof e);
  if (keys->kind == CP_ELEMENT_SPRING) e.spring.free = NAN;
  r->ninputs = r->inputs[0] = r->variables[0] = 0;
  if ((r->angle = turns(r, n, keys->kind)) < 0) return 1;
  r->in_element = 1, r->element = (const char *)&e;
  const int wrong = yamlMapping(r, n, keys->what, keys->fields, patterns, &e);
  r->in_element = 0, r->element = NULL;
  if (wrong) return 1;
  if (keys->check && keys->check(r, n, &e)) return 1;
  if (yamlMirror(r, n, keys->kind, &e)) return 1;
  e.head.size = keys->size, e.head.kind = keys->kind;
  if (CPBodiesAdd(r->bodies, &e.head, NULL))
    return yamlWrong(r, n->start_mark, "%s", CPObjectGetLastMessage(CP_OBJECT(r->bodies)));
  return 0;
}

/* Reads an element and adds it to the mechanism. keys: its ElementKeys */
static int readElement(Reader *r, const yaml_node_t *n, void *keys) {
  const int failed = addElement(r, n, keys);
  for (int c = 0; c < MOST_MOTIONS; c++) CPFunctionFree(&r->function[c]);
  return failed;
}

static const char *const sections[] = {
    "bodies",     "joints",    "couplers",  "drives", "springs",         "bushings",    "forces",
    "frictions",  "limits",    "actuators", "ropes",  "tendons",         "controllers", "releases",
    "latches",    "shapes",    "contacts",  "tyres",  "elastic_spheres", "drags",       "run",
    "parameters", "functions", "include",   NULL};

int yamlOpen(Reader *r) {
  const yaml_node_t *top  = yaml_document_get_root_node(&r->document);
  const yaml_mark_t start = {0, 0, 0};
  Run none                = {0};
  Head head               = {.dimension = r->dimension};
  if (!top) return yamlWrong(r, start, "the file is empty");
  if (top->type == YAML_MAPPING_NODE && yamlNames(r, top, &none)) return 1;
  if (yamlMapping(r, top, "the file", head_fields, sections, &head)) return 1;
  if (head.dimension != r->dimension || head.robot)
    return yamlWrong(r, top->start_mark,
                     "a file that is included must have the same dimension, %d, and no robot",
                     r->dimension);
  return 0;
}

static int readDocument(Reader *r, Run *run, Files *files, CPBodies *bodies) {
  static const char *const of_a_run[] = {"sensors", NULL};
  const yaml_node_t *top              = yaml_document_get_root_node(&r->document);
  const yaml_mark_t start             = {0, 0, 0};
  Head head                           = {.dimension = 3};
  if (!top) return yamlWrong(r, start, "the file is empty");
  if (top->type == YAML_MAPPING_NODE && yamlSection(r, top, "closed_loop")) {
    const char *slash = strrchr(r->file, '/'), *own = slash ? slash + 1 : r->file,
               *dot = strrchr(own, '.');
    char urdf[1000];
    snprintf(urdf, sizeof urdf, "%.*s.urdf", dot ? (int)(dot - own) : (int)strlen(own), own);
    r->dimension = 3;
    return readRobot(r, yamlSection(r, top, "closed_loop"), urdf, run, 0, bodies);
  }
  if (top->type == YAML_MAPPING_NODE && yamlNames(r, top, run)) return 1;
  if (top->type == YAML_MAPPING_NODE) { /* the dimension decides the length of vectors */
    const yaml_node_t *given = yamlSection(r, top, "dimension");
    if (given && yamlNumber(r, given, "dimension", "1", &head.dimension)) return 1;
    if (head.dimension != 2 && head.dimension != 3)
      return yamlWrong(r, given->start_mark, "dimension must be 2 or 3, and is %g",
                       (double)head.dimension);
  }
  r->dimension = (int)head.dimension;
  if (yamlMapping(r, top, "the file", head_fields, sections, &head)) return 1;
  const yaml_node_t *of_run = yamlSection(r, top, "run");
  if (of_run && yamlMapping(r, of_run, "run", run_fields, of_a_run, run)) return 1;
  if (of_run && !(run->t_end > 0))
    return yamlWrong(r, of_run->start_mark, "t_end must be positive, and is %g", (double)run->t_end);
  if (head.robot) {
    if (readRobot(r, yamlSection(r, top, "robot"), head.robot, run, 1, bodies)) return 1;
  } else if (!(*bodies = CPBodiesCreate(r->dimension, NULL)))
    return yamlWrong(r, start, "no memory");
  (*bodies)->kept = r->kept;
  if (bodiesRecord(*bodies, run->writes)) return yamlWrong(r, start, "no memory");
  r->bodies = *bodies;
  if ((yamlSection(r, top, "gravity") && bodiesSetGravity(*bodies, head.gravity)) ||
      (run->balance && CPBodiesSetBalance(*bodies)))
    return yamlWrong(r, start, "%s", CPObjectGetLastMessage(CP_OBJECT(*bodies)));
  if (of_run && chooseCoordinates(r, of_run, run, *bodies)) return 1;
  if (yamlInclude(r, top, files)) return 1;
  for (int k = 0; yaml_elements[k].key; k++)
    for (int i = 0; i <= files->count; i++) {
      Reader *of       = i == 0 ? r : files->reader[i - 1];
      ElementKeys keys = yaml_elements[k];
      const yaml_node_t *list =
          yamlSection(of, yaml_document_get_root_node(&of->document), keys.key);
      if (!list && k == 0 && !head.robot && files->count == 0)
        return yamlWrong(r, top->start_mark, "the file needs bodies");
      if (!list) continue;
      if (list->type != YAML_SEQUENCE_NODE)
        return yamlWrong(of, list->start_mark, "%s must be a list, - {name: ..., ...}", keys.key);
      for (const yaml_node_item_t *item = list->data.sequence.items.start;
           item < list->data.sequence.items.top; item++)
        if (yamlRepeat(of, yamlNode(of, *item), readElement, &keys)) return 1;
    }
  if (CPBodiesCount(*bodies, CP_BODY) == 0)
    return yamlWrong(r, top->start_mark, "there must be a body; there is none");
  const yaml_node_t *method = of_run ? yamlSection(r, of_run, "method") : NULL;
  if (method) {
    run->method_at[0] = (int)method->start_mark.line + 1;
    run->method_at[1] = (int)method->start_mark.column + 1;
  }
  return of_run ? checkRun(r, of_run, run, *bodies) : 0;
}

CPBodies bodiesReadYaml(const char *data, size_t size, const char *name, Run *run, char *message,
                        size_t length) {
  CPBodies bodies = NULL;
  Files files     = {0};
  Kept kept       = {.nsources = 0};
  Reader r   = {.file = name, .data = data, .size = size, .message = message, .length = length};
  int failed = !(r.scope = cpScopeCreate(NULL));
  if (run->writes == 1) kept.top = r.scope, r.kept = &kept;
  if (failed) snprintf(message, length, "%s: no memory", name);
  failed = failed || yamlParse(&r) || readDocument(&r, run, &files, &bodies);
  for (int i = files.count - 1; i >= 0; i--) { /* scopes before those around them */
    yamlClose(files.reader[i]);
    free(files.reader[i]);
  }
  free(files.reader);
  yamlClose(&r);
  if (bodies) bodies->kept = NULL;
  if (!failed && r.kept &&
      (kept.parameters.failed || kept.values.failed || yamlTakeTexts(bodies, &kept))) {
    snprintf(message, length, "%s: no memory", name);
    failed = 1;
  }
  free(kept.parameters.text);
  free(kept.values.text);
  bodiesFreeOrigins(kept.source, kept.nsources);
  if (failed) CPBodiesFree(&bodies);
  return bodies;
}
