/* Quantities by name (guide, section "Sensors"): what each kind of element has, in one table; how names are read; and values. */
#include "laws.h"

#include "ropes.h"

#include "tree.h"
#include "wrench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of elements, as far as they differ in what they have */
enum {
  BODY    = 1,
  PLANAR  = 2, /* a body in the plane */
  JOINT   = 4,
  ANGULAR = 8, /* a joint with a coordinate that is an angle; displacement: SLIDING */
  SLIDING = 16,
  ROD     = 32,
  ACTUATOR =
      64, /* drives and couplers: the force on a displacement; TURNER: the torque on an angle */
  TURNER   = 128,
  DRIVEN   = 256, /* a drive */
  SPRINGY  = 512, /* springs and friction on displacements, or between points; TWISTED: on angles */
  TWISTED  = 1024,
  BETWEEN  = 2048, /* a spring between points */
  ELASTIC  = 4096, /* a spring */
  BUSHING  = 8192,
  LOADED   = 16384, /* a force on a point */
  TOUCHING = 32768,
  ACTIVE   = 65536,   /* an actuator with an activation */
  ROPED    = 131072,  /* an inextensible rope */
  SAMPLED  = 262144,  /* a controller */
  RELEASED = 524288,  /* a release */
  TYRED    = 1048576, /* a tyre, beside LOADED */
  SPHERED  = 2097152, /* an elastic sphere, beside LOADED */
  DRAGGED  = 4194304  /* what a fluid acts on, beside LOADED */
};

static const struct {
  const char *name;
  Quantity quantity;
  int of; /* kinds of elements */
  int vector;
  const char *unit, *of_angle; /* of_angle: if the coordinate is an angle */
} table[] = {
    {"position", POSITION, BODY | LOADED, 1, "m", NULL},
    {"velocity", VELOCITY, BODY | LOADED, 1, "m/s", NULL},
    {"acceleration", ACCELERATION_OF, BODY | LOADED, 1, "m/s^2", NULL},
    {"angle", ORIENTATION, PLANAR, 0, "rad", NULL},
    {"omega", OMEGA, BODY, 1, "rad/s", NULL},
    {"alpha", ALPHA, BODY, 1, "rad/s^2", NULL},
    {"kinetic_energy", KINETIC, BODY, 0, "J", NULL},
    {"momentum", MOMENTUM, BODY, 1, "kg m/s", NULL},
    {"angle", VALUE, ANGULAR | TWISTED, 0, "rad", "rad"},
    {"displacement", VALUE, SLIDING, 0, "m", "m"},
    {"length", VALUE, BETWEEN | ROPED, 0, "m", "m"},
    {"gap", VALUE, TOUCHING, 0, "m", "m"},
    {"rate", VALUE_RATE, ANGULAR | SLIDING | SPRINGY | TWISTED | ROPED, 0, "m/s", "rad/s"},
    {"acceleration", VALUE_RATE_2, ANGULAR | SLIDING | SPRINGY | TWISTED, 0, "m/s^2", "rad/s^2"},
    {"force", REACTION, JOINT | BUSHING | LOADED, 1, "N", "N"},
    {"torque", MOMENT, JOINT | BUSHING | TYRED | SPHERED | DRAGGED, 1, "N m", "N m"},
    {"force", SCALAR_FORCE, ACTUATOR | SPRINGY | ROPED, 0, "N", "N"},
    {"torque", SCALAR_FORCE, TURNER | TWISTED, 0, "N m", "N m"},
    {"axial", AXIAL, ROD, 0, "N", "N"},
    {"power", POWER, DRIVEN | SPRINGY | TWISTED | LOADED | ROPED, 0, "W", "W"},
    {"energy", STORED, ELASTIC, 0, "J", "J"},
    {"activation", ACTIVATION, ACTIVE, 0, "1", "1"},
    {"load", LOAD, TYRED | SPHERED, 0, "N", "N"},
    {"slip", SLIP_ALONG, TYRED, 0, "1", "1"},
    {"side_slip", SLIP_ACROSS, TYRED, 0, "1", "1"},
    {"output", OUTPUT, SAMPLED, 0, "", ""},
    {"trigger", TRIGGER, RELEASED, 0, "", ""}};
enum { ROWS = sizeof table / sizeof table[0] };

/* The kinds of an element, of a joint with its coordinate k; 0: it has no such coordinate, or is no element */
static int kindsOf(const Mechanism *m, const Sensor *s) {
  Term term;
  switch (s->kind) {
  case NAME_BODY: return m->space.dimension == 2 ? BODY | PLANAR : BODY;
  case NAME_BUSHING: return BUSHING;
  case NAME_FORCE: {
    static const int of_law[] = {
        [AT_A_POINT] = 0, [OF_A_TYRE] = TYRED, [OF_A_SPHERE] = SPHERED, [ON_A_BOX] = DRAGGED, [ON_AN_ELLIPSOID] = DRAGGED};
    return LOADED | of_law[m->force[s->index].law];
  }
  case NAME_CONTROLLER: return SAMPLED;
  case NAME_RELEASE: return RELEASED;
  case NAME_LAW: {
    const Law *law         = &m->law[s->index];
    const Measure *measure = &bodiesLawTerm(m, law, 0)->m;
    const MeasureKind kind = measure->kind;
    const int on           = bodiesIsAngle(measure) ? TWISTED
                             : kind == SPIN         ? TURNER | DRIVEN
                             : kind == WRENCH       ? ACTUATOR | DRIVEN
                                                    : SPRINGY;
    return on | (law->kind == SPRING ? ELASTIC : 0) |
           (kind == LENGTH || kind == WRAP ? BETWEEN : 0) | (law->activation ? ACTIVE : 0);
  }
  case NAME_JOINT: break;
  default: return 0;
  }
  const Joint *j = &m->joint[s->index];
  if (j->kind == NONE) {
    const Row *row = bodiesRowOf(m, j, 0);
    if (row->rope)
      return ROPED | (j->contact != NONE && m->contact[j->contact].elastic != NONE ? ELASTIC : 0);
    return (bodiesIsAngle(&bodiesRowTerm(m, row, 0)->m) ? TURNER : ACTUATOR) |
           (row->drive != NONE || j->nrows == 0 ? DRIVEN : 0);
  }
  if (m->joint[s->index].contact != NONE) return JOINT | TOUCHING;
  const int own = s->k > 0 ? 0 : j->kind == CP_JOINT_ROD ? JOINT | ROD : JOINT;
  if (bodiesCoordinateTerm(m, s->index, s->k, &term)) return own;
  return own | (bodiesIsAngle(&term.m) ? ANGULAR : SLIDING);
}

static void setRow(int row, int kinds, Sensor *s) {
  const int angle = kinds & (ANGULAR | TURNER | TWISTED);
  s->quantity     = table[row].quantity;
  s->vector       = table[row].vector;
  s->unit         = angle && table[row].of_angle ? table[row].of_angle : table[row].unit;
}

static int nameOf(const Mechanism *m, const Sensor *s) {
  return s->kind == NAME_BODY         ? m->body[s->index].name
         : s->kind == NAME_JOINT      ? m->joint[s->index].name
         : s->kind == NAME_FORCE      ? m->force[s->index].name
         : s->kind == NAME_CONTROLLER ? m->controller[s->index].name
         : s->kind == NAME_RELEASE    ? m->release[s->index].name
                                      : m->law[s->index].name;
}

/* Goes through all quantities until number `most`, or the one that is like *of (or NULL). s: out, the quantity; row: out, its row of
 * the table. Returns its number, or the number of all. */
static int walk(const Mechanism *m, int most, const Sensor *of, Sensor *s, int *row) {
  static const int kinds[] = {NAME_BODY,  NAME_JOINT,      NAME_LAW,
                              NAME_FORCE, NAME_CONTROLLER, NAME_RELEASE};
  const int counts[]       = {m->nbodies, m->njoints,      m->nlaws,
                              m->nforces, m->ncontrollers, m->nreleases};
  int at = 0, index = 0, has;
  for (int i = 0; i < 6; i++)
    for (int e = 0; e < counts[i]; e++) {
      *s             = (Sensor){.kind = kinds[i], .index = e, .frame = GROUND, .component = NONE};
      const int name = nameOf(m, s);
      s->kind        = bodiesLookUp(m, m->text + name, strlen(m->text + name), &index);
      if (index != e) continue; /* a bushing has several laws */
      for (; (has = kindsOf(m, s)); s->k++) {
        for (*row = 0; *row < ROWS; ++*row) {
          if (!(table[*row].of & has)) continue;
          setRow(*row, has, s);
          if (at == most || (of && of->kind == s->kind && of->index == e && of->k == s->k &&
                             of->quantity == s->quantity))
            return at;
          at++;
        }
        if (!(has & (ANGULAR | SLIDING))) break;
      }
    }
  return at;
}

int bodiesSensors(const Mechanism *m) {
  Sensor s;
  int row;
  return walk(m, -1, NULL, &s, &row);
}

int bodiesSensorIndex(const Mechanism *m, const Sensor *of) {
  Sensor s;
  int row;
  return walk(m, -1, of, &s, &row);
}

void bodiesSensorName(const Mechanism *m, int i, Sensor *s, char name[TEXT]) {
  int row;
  char k[16] = "";
  walk(m, i, NULL, s, &row);
  if (s->k > 0) snprintf(k, sizeof k, "%d.", s->k);
  snprintf(name, TEXT, "%s.%s%s", m->text + nameOf(m, s), k, table[row].name);
}

/* ---- names ---- */

static int wrong(char rule[RULE_TEXT], const char *name, const char *why) {
  snprintf(rule, RULE_TEXT, "there is no quantity \"%.100s\": %s", name, why);
  return 1;
}

/* Reads "(x, y, z)" or "([x, y, z])" behind a word, and moves *at behind it. Returns 0, 1, or CP_MEM_FAIL. */
static int readPoint(const Mechanism *m, Scope *scope, const char **at, sunrealtype x[3]) {
  const char *c = *at;
  int depth = 0, n = 0, bracket;
  if (*c++ != '(') return 1;
  c += strspn(c, " ");
  if ((bracket = *c == '[')) c++;
  for (const char *start = c;; c++) {
    char part[100];
    if (!*c) return 1;
    if (*c == '(') depth++;
    if (depth == 0 && (*c == ',' || *c == ')' || *c == ']')) {
      snprintf(part, sizeof part, "%.*s", (int)(c - start), start);
      if (n == 3 || c - start >= (int)sizeof part) return 1;
      const int flag = cpScopeNumber(scope, part, (Place){NULL, 1, 1}, "m", &x[n++]);
      if (flag) return flag == CP_MEM_FAIL ? flag : 1;
      if (*c != ',') break;
      start = c + 1;
    } else if (*c == ')') depth--;
  }
  if (bracket && *c++ != ']') return 1;
  c += strspn(c, " ");
  if (*c++ != ')') return 1;
  *at = c;
  return n < m->space.dimension;
}

/* Is this word next, as a part of the name? Moves *at behind it. */
static int isNext(const char **at, const char *word) {
  const size_t length = strlen(word);
  if (strncmp(*at, word, length) || ((*at)[length] && !strchr(".(", (*at)[length]))) return 0;
  *at += length;
  return 1;
}

/* The names of the stops of a limit, which have its forces: "; its stops are ...", or "" */
static const char *stopsOf(const Mechanism *m, const char *name, size_t length, char text[TEXT]) {
  int index;
  text[0] = '\0';
  for (int i = 0; i < 2; i++) {
    char stop[OWN_NAME * 2];
    const int size =
        snprintf(stop, sizeof stop, "%.*s_%s", (int)length, name, i ? "upper" : "lower");
    if (size >= (int)sizeof stop || bodiesLookUp(m, stop, (size_t)size, &index) != NAME_JOINT)
      continue;
    const size_t at = strlen(text);
    snprintf(text + at, TEXT - at, "%s \"%s\"", at ? " and" : "; its stops have:", stop);
  }
  return text;
}

/* What the element has, or, if there is none, the one with the nearest name */
static int suggest(const Mechanism *m, const char *name, const Sensor *s, char rule[RULE_TEXT]) {
  const size_t length = strcspn(name, ".");
  char suggestion[SUGGESTION], stops[TEXT];
  const int kinds = kindsOf(m, s);
  char list[200]  = "";
  const char *own = name[length] ? name + length + 1 : "";
  Nearest nearest = {.name = own, .length = strlen(own)};
  for (int row = 0; row < ROWS; row++)
    if (table[row].of & kinds) {
      cpScopeShow(&nearest, table[row].name);
      const size_t at = strlen(list);
      snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", table[row].name);
    }
  if (kinds)
    snprintf(rule, RULE_TEXT, "there is no quantity \"%.80s\"; %.*s has %s%s%s%s", name,
             (int)length, name, list, nearest.best ? "; did you mean " : "",
             nearest.best ? nearest.best : "", nearest.best ? "?" : "");
  else if (s->kind)
    snprintf(rule, RULE_TEXT, "there is no quantity \"%.80s\", as \"%.*s\" has none%.200s", name,
             (int)(length < 80 ? length : 80), name, stopsOf(m, name, length, stops));
  else
    snprintf(rule, RULE_TEXT, "there is no quantity \"%.80s\", as there is no element \"%.*s\"%s",
             name, (int)(length < 80 ? length : 80), name,
             bodiesSuggest(m, NONE, name, length, suggestion));
  return 1;
}

int bodiesSensor(const Mechanism *m, Scope *scope, const char *name, Sensor *s,
                 char rule[RULE_TEXT]) {
  const size_t element = strcspn(name, ".");
  const char *at       = name + element, *word;
  *s                   = (Sensor){.frame = GROUND, .component = NONE};
  s->kind              = bodiesLookUp(m, name, element, &s->index);
  int kinds = kindsOf(m, s), row = 0;
  if (!kinds) return suggest(m, name, s, rule);
  if (s->kind == NAME_BODY) add3(-1, m->body[s->index].centre, s->point);
  if (*at) at++;
  word = at;
  if (s->kind == NAME_BODY && isNext(&at, "centre")) memset(s->point, 0, sizeof s->point);
  else if (s->kind == NAME_BODY && isNext(&at, "point")) {
    sunrealtype x[3] = {0, 0, 0};
    const int flag   = readPoint(m, scope, &at, x);
    if (flag)
      return wrong(rule, name,
                   flag == CP_MEM_FAIL ? "no memory"
                                       : "a point is point([x, y, z]), in the frame of the body");
    add3(1, x, s->point);
  }
  if (at > word && *at++ != '.') return suggest(m, name, s, rule);
  const int has_coordinate = kinds & (ANGULAR | SLIDING);
  const int numbered       = has_coordinate && *at >= '0' && *at <= '9' && (!at[1] || at[1] == '.');
  if (numbered) {
    s->k = *at - '0';
    at += at[1] ? 2 : 1;
    if (!(kinds = kindsOf(m, s)) || !(kinds & (ANGULAR | SLIDING)))
      return wrong(rule, name, "the joint has fewer coordinates");
  }
  if (!*at && has_coordinate && (numbered || !name[element])) {
    s->quantity = VALUE, s->unit = kinds & ANGULAR ? "rad" : "m";
    return 0;
  }
  word = at;
  /* without a number, the angle, or the displacement, is the first one of the joint */
  for (int k = 0; has_coordinate && !numbered && k < 3; k++) {
    const Sensor other = {.kind = s->kind, .index = s->index, .k = k};
    const int wanted   = isNext(&at, "angle") ? ANGULAR : isNext(&at, "displacement") ? SLIDING : 0;
    at                 = word;
    if (!(kindsOf(m, &other) & wanted)) continue;
    s->k  = k;
    kinds = kindsOf(m, s);
    break;
  }
  while (row < ROWS && (!(table[row].of & kinds) || !isNext(&at, table[row].name))) row++;
  if (row == ROWS) return suggest(m, name, s, rule);
  setRow(row, kinds, s);
  if (s->vector && !strncmp(at, ".in(", 4)) {
    const char *body    = at + 4;
    const size_t length = strcspn(body, ")");
    s->frame            = bodiesFind(m, NAME_BODY, body, length);
    if (!body[length] || (s->frame < 0 && (length != 6 || strncmp(body, "ground", length))))
      return wrong(rule, name, "in(...) must name a body, or the ground");
    at = body + length + 1;
  }
  if (s->vector && *at == '.' && at[1] >= 'x' && at[1] <= 'z' && !at[2])
    s->component = at[1] - 'x', at += 2;
  return *at ? suggest(m, name, s, rule) : 0;
}

/* ---- values ---- */

int bodiesSensorTerm(const Mechanism *m, const Sensor *s, Pair *own, Term *term) {
  static const Side origin = {GROUND, {0, 0, 0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  if (s->quantity == VALUE || s->quantity == VALUE_RATE) {
    if (s->kind == NAME_LAW) {
      if (m->law[s->index].nterms > 1 || m->law[s->index].is_tendon) return NONE;
      *term = *bodiesLawTerm(m, &m->law[s->index], 0);
    } else if (m->joint[s->index].contact != NONE || m->joint[s->index].kind == NONE) return NONE;
    else bodiesCoordinateTerm(m, s->index, s->k, term);
    return s->quantity == VALUE_RATE;
  }
  *term = (Term){
      .coef = 1, .ratio = NONE, .pair = NONE, .m = {ALONG, 0, s->component, 0}, .velocity = NONE};
  *own = (Pair){.side = {origin, origin}};
  if (s->kind != NAME_BODY || s->frame != GROUND) return NONE;
  own->side[1].body = s->index;
  memcpy(own->side[1].point, s->point, sizeof s->point);
  if (s->quantity == ORIENTATION) return term->m = (Measure){ANGLE, 0, 0, 0}, 0;
  if (s->component == NONE) return NONE;
  if (s->quantity == OMEGA && m->space.dimension == 2 && s->component == 2)
    return term->m = (Measure){ANGLE, 0, 0, 0}, 1;
  if (s->quantity == OMEGA && m->space.dimension == 3)
    return term->m = (Measure){SPIN, 0, s->component, 0}, 1;
  return s->quantity == POSITION ? 0 : s->quantity == VELOCITY ? 1 : NONE;
}

static int needsMultipliers(const Mechanism *m, const Sensor *s) {
  if (s->kind == NAME_RELEASE) {
    const Release *release = &m->release[s->index];
    int needs              = !release->formula && !release->timed;
    for (int i = 0; i < release->ninputs && !needs; i++)
      needs = needsMultipliers(m, &release->input[i]);
    return needs;
  }
  if (s->kind == NAME_LAW)
    return m->law[s->index].kind == FRICTION &&
           (s->quantity == SCALAR_FORCE || s->quantity == POWER);
  return s->kind == NAME_JOINT && s->quantity >= REACTION;
}
static int needsAccelerations(const Mechanism *m, const Sensor *s) {
  for (int i = 0; s->kind == NAME_RELEASE && i < m->release[s->index].ninputs; i++)
    if (needsAccelerations(m, &m->release[s->index].input[i])) return 1;
  if (s->quantity == ACCELERATION_OF || s->quantity == ALPHA || s->quantity == VALUE_RATE_2)
    return 1;
  if (s->kind == NAME_LAW)
    return m->law[s->index].inertance != NONE &&
           (s->quantity == SCALAR_FORCE || s->quantity == POWER);
  return m->tree && needsMultipliers(m, s);
}

int bodiesSensorNeeds(const Mechanism *m, const Sensor *s) {
  return needsMultipliers(m, s) || needsAccelerations(m, s);
}

/* The state at which a sensor is evaluated */
typedef struct {
  sunrealtype t;
  const sunrealtype *q, *u, *udot, *lambda;
} At;

/* F, N += the wrench on b about P_b of a force T along a term of this pair */
static void addWrench(const Mechanism *m, const Term *term, sunrealtype T, sunrealtype *F,
                      sunrealtype *N) {
  const Pair *pair = &m->pair[term->pair];
  const Pose *pose = bodiesPose(m, pair->side[1].body);
  Jet jet;
  sunrealtype arm[3], lever[3];
  bodiesTermJet(m, term, GRADIENT, &jet);
  toSpace(pose, pair->side[1].point, arm);
  EACH_DIRECTION(&m->space, bodiesMask(&m->space, pair, &term->m).g & 0xC, j) {
    const sunrealtype part = term->coef * T * jet.g[j], e[3] = {j % 3 == 0, j % 3 == 1, j % 3 == 2};
    if (j % 6 < 3) {
      F[j % 3] += part;
      cross3(arm, e, lever);
      add3(-part, lever, N);
    } else add3(part, pose->axis[j % 3], N);
  }
}

/* The wrench of a bushing on its body b, or on a, with the opposite sign, if b is the ground */
static int bushingForce(Mechanism *m, int first, sunrealtype *F, sunrealtype *N) {
  const int own    = bodiesLawTerm(m, &m->law[first], 0)->pair;
  const Pair *pair = &m->pair[own];
  int flag         = 0;
  for (int i = first; i < m->nlaws && bodiesLawTerm(m, &m->law[i], 0)->pair == own; i++) {
    const Term *term = bodiesLawTerm(m, &m->law[i], 0);
    Jet jet;
    sunrealtype T[3];
    bodiesTermJet(m, term, VALUES, &jet);
    if (bodiesLaw(m, &m->law[i], 0, jet.s, jet.rate, 0, VALUES, T)) flag = 1;
    if (term->m.kind == SPIN) { /* a pure torque about the axis of a */
      sunrealtype axis[3];
      toSpace(bodiesPose(m, pair->side[0].body), pair->side[0].axis[term->m.i], axis);
      add3(T[0], axis, N);
    } else if (pair->side[1].body != GROUND) addWrench(m, term, T[0], F, N);
  }
  return flag;
}

static int scalarForce(Mechanism *m, const Sensor *s, const At *at, sunrealtype *T,
                       sunrealtype *rate) {
  if (s->kind == NAME_JOINT) { /* a drive or a coupler */
    const Row *row = bodiesRowOf(m, &m->joint[s->index], 0);
    DriveAt drive  = {0};
    const int flag = row->drive == NONE ? 0 : bodiesDrive(m, row->drive, at->t, &drive);
    *T = -at->lambda[row->first], *rate = drive.rate;
    if (row->rope) { /* the rate of minus its length: the power is that on its bodies */
      RopeState rope;
      if (bodiesRope(m, &m->joint[s->index], at->t, &rope)) return 1;
      *rate = -rope.rate;
      if (rope.is_elastic) *T = rope.tension;
    } else if (m->joint[s->index].contact != NONE) { /* of a coordinate with dry friction */
      sunrealtype x;
      bodiesSum(m, row->term, row->nterms, 0, VALUES, &x, rate, NULL);
    }
    return flag;
  }
  const Law *law = &m->law[s->index];
  sunrealtype x, values[3];
  int first, count;
  bodiesLawAt(m, s->index, at->q, at->u, &x, rate);
  const sunrealtype N =
      law->kind == FRICTION ? bodiesReactionSize(m, law->joint, at->lambda, &first, &count) : 0;
  const int flag = bodiesLaw(m, law, at->t, x, *rate, N, VALUES, values);
  *T             = values[0];
  if (law->inertance != NONE) {
    sunrealtype now[2], acc;
    bodiesLawSum(m, law, ACCELERATION, &now[0], &now[1], &acc);
    *T -= m->param[law->inertance] * acc;
  }
  return flag;
}

static int inFrame(Mechanism *m, const Sensor *s, const At *at, sunrealtype *x);

/* The function of a controller or a release, of its inputs [n] at this state */
static int output(Mechanism *m, const Formula *formula, int n, const Sensor *input, const At *at,
                  sunrealtype *x) {
  sunrealtype inputs[CP_MOST_VARIABLES];
  int flag = 0;
  for (int i = 0; i < n && !flag; i++) {
    sunrealtype value[3] = {0, 0, 0};
    flag                 = inFrame(m, &input[i], at, value);
    inputs[i]            = value[0];
  }
  return flag ? flag : bodiesFormula(m, formula, 0, at->t, n, inputs, x, NULL);
}

/* What becomes positive where a joint is released */
static int trigger(Mechanism *m, const Sensor *s, const At *at, sunrealtype *x) {
  const Release *release = &m->release[s->index];
  Sensor force           = {.kind      = NAME_JOINT,
                            .index     = release->joint,
                            .quantity  = REACTION,
                            .vector    = 1,
                            .frame     = GROUND,
                            .component = NONE};
  sunrealtype F[3]       = {0, 0, 0};
  if (release->formula) return output(m, release->formula, release->ninputs, release->input, at, x);
  const int flag = release->timed ? 0 : inFrame(m, &force, at, F);
  *x             = (release->timed ? at->t : length3(F)) - m->param[release->at];
  return flag;
}

static int wrenchQuantity(const Mechanism *m, const Sensor *s, sunrealtype *x) {
  WrenchState wrench;
  const int flag = bodiesWrench(m, &m->force[s->index], &wrench);
  if (s->quantity == REACTION) memcpy(x, wrench.force, sizeof wrench.force);
  else if (s->quantity == MOMENT) memcpy(x, wrench.torque, sizeof wrench.torque);
  else
    x[0] = s->quantity == LOAD          ? wrench.load
           : s->quantity == SLIP_ALONG  ? wrench.slip[0]
           : s->quantity == SLIP_ACROSS ? wrench.slip[1]
                                        : wrench.power;
  return flag;
}

/* x [3]: out, the value in space, or its first component. Poses have been computed. Returns what a user's function
 * returned. */
static int evaluate(Mechanism *m, const Sensor *s, const At *at, sunrealtype *x) {
  sunrealtype F[3] = {0, 0, 0}, N[3] = {0, 0, 0}, rate = 0;
  const int level   = s->quantity - VALUE,
            has_law = s->kind == NAME_FORCE && m->force[s->index].law != AT_A_POINT;
  int flag          = 0;
  Moving d;
  Term term;
  Jet jet;
  switch (s->quantity) {
  case POSITION:
  case VELOCITY:
  case ACCELERATION_OF: {
    Pair own         = {.side = {{.body = GROUND}, {.body = s->index}}};
    const Pair *pair = s->kind == NAME_FORCE ? &m->pair[m->force[s->index].pair] : &own;
    memcpy(own.side[1].point, s->point, sizeof s->point);
    bodiesSpan(pair, &bodies_ground, bodiesPose(m, pair->side[1].body), ACCELERATION, &d);
    memcpy(x,
           s->quantity == POSITION   ? d.x
           : s->quantity == VELOCITY ? d.rate
                                     : d.acc,
           3 * sizeof *x);
    return 0;
  }
  case ORIENTATION:
    x[0] = m->pose[s->index].phi + 8 * atan(SUN_RCONST(1.0)) * m->pose[s->index].turns;
    return 0;
  case OMEGA: memcpy(x, m->pose[s->index].w, 3 * sizeof *x); return 0;
  case ALPHA: memcpy(x, m->pose[s->index].alpha, 3 * sizeof *x); return 0;
  case MOMENTUM:
    for (int k = 0; k < 3; k++) x[k] = m->param[m->body[s->index].param] * m->pose[s->index].v[k];
    return 0;
  case KINETIC: x[0] = bodiesKinetic(m, s->index); return 0;
  case VALUE:
  case VALUE_RATE:
  case VALUE_RATE_2:
    if (s->kind == NAME_JOINT && m->joint[s->index].kind == NONE) {
      RopeState rope;
      flag = bodiesRope(m, &m->joint[s->index], at->t, &rope);
      x[0] = level ? rope.rate : rope.length;
      return flag;
    }
    if (s->kind == NAME_JOINT && m->joint[s->index].contact != NONE) {
      const Row *row = &m->row[m->joint[s->index].first];
      bodiesSum(m, row->term, row->nterms, 0, VALUES, &x[0], &rate, NULL);
      if (row->offset != NONE) x[0] -= m->param[row->offset];
      return 0;
    }
    if (s->kind == NAME_LAW) {
      sunrealtype sum[3];
      if (level < 2) bodiesLawAt(m, s->index, at->q, at->u, &sum[0], &sum[1]);
      else bodiesLawSum(m, &m->law[s->index], ACCELERATION, &sum[0], &sum[1], &sum[2]);
      x[0] = sum[level];
      return 0;
    }
    bodiesCoordinateTerm(m, s->index, s->k, &term);
    treeCountTurns(m, &term);
    bodiesTermJet(m, &term, level == 2 ? ACCELERATION : VALUES, &jet);
    x[0] = term.coef * (level == 0 ? jet.s : level == 1 ? jet.rate : jet.acc);
    return 0;
  case REACTION:
  case MOMENT:
    if (has_law) return wrenchQuantity(m, s, x);
    if (s->kind == NAME_FORCE) return bodiesForceOf(m, s->index, at->t, x, N);
    flag = s->kind == NAME_BUSHING ? bushingForce(m, s->index, F, N)
                                   : bodiesReaction(m, at->t, at->lambda, s->index, F, N);
    memcpy(x, s->quantity == REACTION ? F : N, sizeof F);
    return flag;
  case AXIAL: {
    const Pair *pair = &m->pair[m->joint[s->index].pair];
    bodiesSpan(pair, bodiesPose(m, pair->side[0].body), bodiesPose(m, pair->side[1].body), VALUES,
               &d);
    flag = bodiesReaction(m, at->t, at->lambda, s->index, F, N);
    x[0] = -dot3(F, d.x) / length3(d.x); /* a rod that pulls b towards a */
    return flag;
  }
  case SCALAR_FORCE:
  case POWER:
    if (has_law) return wrenchQuantity(m, s, x);
    if (s->kind == NAME_FORCE) {
      flag = bodiesForceOf(m, s->index, at->t, F, N);
      x[0] = dot3(F, N);
      return flag;
    }
    flag = scalarForce(m, s, at, &x[0], &rate);
    if (s->quantity == POWER) x[0] *= rate;
    return flag;
  case OUTPUT: {
    const Controller *c = &m->controller[s->index];
    return output(m, c->formula, c->ninputs, c->input, at, x);
  }
  case TRIGGER: return trigger(m, s, at, x);
  case LOAD:
  case SLIP_ALONG:
  case SLIP_ACROSS: return wrenchQuantity(m, s, x);
  case ACTIVATION: x[0] = m->z[m->law[s->index].activation - 1]; return 0;
  case STORED: {
    RopeState rope;
    if (s->kind == NAME_JOINT) {
      flag = bodiesRope(m, &m->joint[s->index], at->t, &rope);
      x[0] = rope.energy;
      return flag;
    }
    bodiesLawAt(m, s->index, at->q, at->u, x, &rate);
    const sunrealtype stretch = lawStretch(m, &m->law[s->index], x[0]);
    x[0]                      = m->param[m->law[s->index].param] * stretch * stretch / 2;
    return 0;
  }
  }
  return 0;
}

/* x [3]: in, the value in space; out, in the axes of its body, or the first component that it is */
static void toFrame(const Mechanism *m, const Sensor *s, sunrealtype *x) {
  if (s->vector && s->frame != GROUND) {
    const Pose *pose        = &m->pose[s->frame];
    sunrealtype distance[3] = {x[0], x[1], x[2]}, origin[3];
    toSpace(pose, m->body[s->frame].centre, origin);
    for (int k = 0; k < 3 && s->quantity == POSITION; k++) distance[k] += origin[k] - pose->r[k];
    toBody(pose, distance, x);
  }
  if (s->component > 0) x[0] = x[s->component];
}

/* x [3]: out, the value in its axes. Returns as evaluate. */
static int inFrame(Mechanism *m, const Sensor *s, const At *at, sunrealtype *x) {
  const int flag = evaluate(m, s, at, x);
  if (!flag) toFrame(m, s, x);
  return flag;
}

/* found: out, u' [nu] and the multipliers [nv] of the motion at y. Returns 0, or an error code that has been reported. */
static int solve(CPMech mech, Mechanism *m, sunrealtype t, N_Vector y, sunrealtype **found) {
  const int nu = bodiesVelocities(m);
  *found       = malloc((size_t)(nu + m->nv + 1) * sizeof **found);
  if (!*found) return cpReport(CP_OBJECT(mech), CP_MEM_FAIL, "CPMechGetSensor", "no memory");
  const int flag = CPMechAccelerations(mech, t, y, *found, *found + nu);
  m->z           = N_VGetArrayPointer(y) + bodiesCoordinates(m) + nu;
  return flag;
}

int CPMechGetSensor(CPMech mech, const char *name, sunrealtype t, N_Vector y, CPSensor *sensor) {
  Mechanism *m;
  Sensor s;
  CPSensor own;
  char rule[RULE_TEXT];
  sunrealtype *found = NULL, in_space[3] = {0, 0, 0}, x[3];
  int flag = bodiesAt(mech, y, __func__, &m);
  if (!flag) flag = cpTake(CP_OBJECT(mech), &own, sensor, __func__);
  if (flag) return flag;
  if (bodiesGiven(CP_OBJECT(mech), __func__, "name", name != NULL)) return CP_ILL_INPUT;
  if (bodiesSensor(m, NULL, name, &s, rule)) return cpRefuse(CP_OBJECT(mech), __func__, "%s", rule);
  At at = {t, N_VGetArrayPointer(y), N_VGetArrayPointer(y) + bodiesCoordinates(m), own.udot,
           own.lambda};
  if ((needsMultipliers(m, &s) && !at.lambda) || (needsAccelerations(m, &s) && !at.udot)) {
    flag    = solve(mech, m, t, y, &found);
    at.udot = found;
    if (!flag && !at.lambda) at.lambda = found + bodiesVelocities(m);
  }
  if (!flag) {
    bodiesPoses(m, at.q, at.u, needsAccelerations(m, &s) ? at.udot : NULL);
    flag = evaluate(m, &s, &at, in_space);
    if (flag)
      flag = cpReport(CP_OBJECT(mech), flag < 0 ? CP_USERFUNC_FAIL : CP_REPTD_USERFUNC_ERR,
                      __func__, "%.100s: at t = %g a function of a drive or a force failed (%d)",
                      name, (double)t, flag);
  }
  memcpy(x, in_space, sizeof x);
  if (!flag) toFrame(m, &s, x);
  if (!flag && own.gradient &&
      bodiesSensorNeeds(m, &s)) { /* at the motion, not what the caller has given */
    if (!found) flag = solve(mech, m, t, y, &found);
    at.udot = found, at.lambda = found + bodiesVelocities(m);
    if (!flag) bodiesPoses(m, at.q, at.u, found);
    if (!flag && evaluate(m, &s, &at, in_space))
      flag = cpReport(CP_OBJECT(mech), CP_REPTD_USERFUNC_ERR, __func__,
                      "%.100s: at t = %g it has no value in the motion", name, (double)t);
  }
  if (!flag && own.gradient)
    flag = bodiesSlope(mech, m, &s, name, t, y, at.lambda, in_space, own.gradient);
  free(found);
  if (flag) return flag;
  own.count = s.vector && s.component == NONE ? 3 : 1;
  own.unit  = s.unit;
  for (int k = 0; k < 3; k++) own.value[k] = k < own.count ? x[k] + 0.0 : 0; /* -0 becomes 0 */
  cpGive(sensor, &own);
  return CP_SUCCESS;
}
