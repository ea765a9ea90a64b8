/* What a mechanism consists of: numbers, names and descriptions. */
#include "formulas.h"
#include "polyhedra.h"
#include "ropes.h"
#include "sensors.h"
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The components of the state of one body: q, then u */
static const struct {
  const char *name, *unit, *meaning;
} states[2][13] = {
    {{"x", "m", "x of its centre of mass"},
     {"y", "m", "y of its centre of mass"},
     {"phi", "rad", "angle"},
     {"x'", "m/s", "velocity of its centre of mass, along x"},
     {"y'", "m/s", "velocity of its centre of mass, along y"},
     {"phi'", "rad/s", "angular velocity"}},
    {{"x", "m", "x of its centre of mass"},
     {"y", "m", "y of its centre of mass"},
     {"z", "m", "z of its centre of mass"},
     {"e0", "1", "quaternion, scalar"},
     {"e1", "1", "quaternion, along x"},
     {"e2", "1", "quaternion, along y"},
     {"e3", "1", "quaternion, along z"},
     {"x'", "m/s", "velocity of its centre of mass, along x of space"},
     {"y'", "m/s", "velocity of its centre of mass, along y of space"},
     {"z'", "m/s", "velocity of its centre of mass, along z of space"},
     {"wx", "rad/s", "angular velocity along its own axis x (omega_body, not omega)"},
     {"wy", "rad/s", "angular velocity along its own axis y (omega_body, not omega)"},
     {"wz", "rad/s", "angular velocity along its own axis z (omega_body, not omega)"}}};
static const char work[] = "W", activation[] = "activation";

static int countOf(const Mechanism *m, CPThing thing) {
  switch (thing) {
  case CP_BODY: return m->nbodies;
  case CP_JOINT: return m->njoints;
  case CP_COORDINATE: return m->ncoordinates;
  case CP_CONTACT: return m->ncontacts;
  case CP_SPRING: return m->nlengths;
  case CP_SHAPE: return m->nshapes;
  case CP_PARAMETER: return m->nparams;
  case CP_STATE: return bodiesStates(m);
  case CP_SENSOR: return bodiesSensors(m);
  case CP_CONTROLLER: return m->ncontrollers;
  case CP_RELEASE: return m->nreleases;
  case CP_PATH: return bodiesPathPart(m, NONE, NULL, NULL);
  }
  return 0;
}

int CPBodiesCount(CPBodies b, CPThing thing) {
  if (!b || (thing == CP_STATE && !b->numbered && bodiesChooseCoordinates(b))) return 0;
  return countOf(&b->m, thing);
}

static const char *const nouns[] = {"body",     "joint",      "coordinate", "contact",
                                    "spring",   "shape",      "parameter",  "state",
                                    "quantity", "controller", "release",    "path"};

int bodiesCheckIndex(CPLog *log, const Mechanism *m, CPThing thing, int i, const char *function) {
  if ((int)thing < 0 || (size_t)thing >= sizeof nouns / sizeof *nouns)
    return cpRefuse(log, function, "thing must be one of CPThing's, and is %d", (int)thing);
  if (i >= 0 && i < countOf(m, thing)) return CP_SUCCESS;
  return cpRefuse(log, function, "%s must be one of 0 ... %d, and is %d", nouns[thing],
                  countOf(m, thing) - 1, i);
}

/* ---------------------------------------------------------------------------------- names -- */

/* Returns the parameter "owner.field", or NONE. */
static int findParameter(const struct CPBodies_ *b, int owner, const char *field) {
  /* The parameters of an element are consecutive, in the order of names. */
  int i = 0;
  for (int last = b->m.nparams; i < last;) {
    const int middle = i + (last - i) / 2;
    if (b->label[middle].owner < owner) i = middle + 1;
    else last = middle;
  }
  for (; i < b->m.nparams && b->label[i].owner == owner; i++)
    if (b->label[i].field && !strcmp(field, b->label[i].field)) return i;
  return NONE;
}

/* The name of entry k of a node's coordinates (level 0) or velocities (1), its unit and meaning; body: out, or NONE */
static void nameState(const Mechanism *b, const Node *node, int level, int k, CPDescription *d,
                      char *name) {
  static const char *const spin[] = {"wx", "wy", "wz"}, *const quaternion[] = {"e0", "e1", "e2",
                                                                               "e3"};
  static const char *const turns[] = {
      "relative angular velocity along the axis x of the body that it moves",
      "relative angular velocity along the axis y of the body that it moves",
      "relative angular velocity along the axis z of the body that it moves"};
  const Space *s = &b->space;
  if (node->joint == NONE) { /* as in absolute coordinates */
    const int at     = (node->kind == AFLOAT ? k : node->coordinate) + (level ? s->nq : 0);
    const Node *body = node; /* of a chain in the plane */
    while (body->body == NONE) body++;
    d->a       = body->body;
    d->unit    = states[s->dimension == 3][at].unit;
    d->meaning = states[s->dimension == 3][at].meaning;
    snprintf(name, TEXT, "%s.%s", b->text + b->body[d->a].name, states[s->dimension == 3][at].name);
    return;
  }
  const char *joint = b->text + b->joint[node->joint].name;
  d->joint          = node->joint;
  if (node->kind == SWIVEL) {
    d->unit    = level ? "rad/s" : "1";
    d->meaning = level ? turns[k] : "quaternion of the rotation in the joint";
    snprintf(name, TEXT, "%s.%s", joint, level ? spin[k] : quaternion[k]);
    return;
  }
  const int coordinate = node->coordinate + (node->kind == CUSTOM ? k : 0),
            angle      = node->kind == CUSTOM ? node->custom->angle[k] : node->kind == HINGE;
  char number[16]      = "";
  if (coordinate > 0) snprintf(number, sizeof number, ".%d", coordinate);
  d->unit = angle ? (level ? "rad/s" : "rad") : level ? "m/s" : "m";
  d->meaning =
      angle   ? (level ? "rate of the joint's angle" : "angle of the joint, which counts turns")
      : level ? "rate of the joint's displacement"
              : "displacement in the joint";
  if (node->kind == CUSTOM && node->custom->name[k][0]) d->meaning = node->custom->name[k];
  snprintf(name, TEXT, "%s%s.%s%s", joint, number, angle ? "angle" : "displacement",
           level ? "'" : "");
}

/* Returns the component of the state with this name, or NONE. body, joint: the element before the dot, or NONE */
static int findState(const Mechanism *b, const char *name, int body, int joint, const char *field) {
  const Space *s = &b->space;
  for (int k = 0; !b->tree && body >= 0 && k < s->nq + s->nu; k++)
    if (!strcmp(states[s->dimension == 3][k].name, field))
      return k < s->nq ? s->nq * body + k : s->nq * b->nbodies + s->nu * body + k - s->nq;
  for (int n = 0; b->tree && n < b->tree->nnodes; n++) {
    const Node *node = &b->tree->node[n];
    if (node->joint != NONE && node->joint != joint) continue;
    for (int level = 0; level < 2; level++)
      for (int k = 0; k < (level ? node->nu : node->nq); k++) {
        CPDescription d;
        char own[TEXT];
        nameState(b, node, level, k, &d, own);
        if (!strcmp(own, name)) return level ? b->tree->nq + node->u + k : node->q + k;
      }
  }
  return NONE;
}

/* A coordinate is JOINT or JOINT.K, where K has one digit, or the name of one of a joint by functions. */
int bodiesFindCoordinate(const Mechanism *b, const char *name, size_t length) {
  const char *dot     = memchr(name, '.', length);
  const size_t short_ = dot ? (size_t)(dot - name) : length;
  const int k         = !dot ? 0 : length == short_ + 2 ? dot[1] - '0' : NONE;
  const int joint     = bodiesFind(b, NAME_JOINT, name, short_);
  Term term;
  for (int i = 0; joint < 0 && i < b->njoints; i++) /* the name of a coordinate */
    for (int own = 0; b->joint[i].custom && own < b->joint[i].custom->n; own++)
      if (length > 0 && strlen(b->joint[i].custom->name[own]) == length &&
          !strncmp(b->joint[i].custom->name[own], name, length))
        return b->joint[i].first_coordinate + own;
  return joint < 0 || bodiesCoordinateTerm(b, joint, k, &term)
             ? NONE
             : b->joint[joint].first_coordinate + k;
}

static int compareInts(const void *a, const void *b) {
  const int p = *(const int *)a, q = *(const int *)b;
  return (p > q) - (p < q);
}

int CPBodiesFind(CPBodies b, CPThing thing, const char *name, int *i) {
  if (!b) return CP_MEM_NULL;
  if (bodiesGiven(&b->log, __func__, "name and i", name && i)) return CP_ILL_INPUT;
  const char *dot     = strchr(name, '.');
  const size_t length = strlen(name), before = dot ? (size_t)(dot - name) : length;
  int found = NONE;
  switch (thing) {
  case CP_BODY: found = bodiesFind(&b->m, NAME_BODY, name, length); break;
  case CP_JOINT: found = bodiesFind(&b->m, NAME_JOINT, name, length); break;
  case CP_SHAPE: found = bodiesFind(&b->m, NAME_SHAPE, name, length); break;
  case CP_COORDINATE: found = bodiesFindCoordinate(&b->m, name, length); break;
  case CP_CONTACT: {
    const int joint = bodiesFind(&b->m, NAME_JOINT, name, length);
    if (joint >= 0) found = b->m.joint[joint].contact;
    break;
  }
  case CP_SPRING: {
    const int law = bodiesFind(&b->m, NAME_LAW, name, length);
    const int *at =
        law < 0 || b->m.nlengths == 0
            ? NULL
            : bsearch(&law, b->m.length, (size_t)b->m.nlengths, sizeof *b->m.length, compareInts);
    if (at) found = (int)(at - b->m.length);
    break;
  }
  case CP_PARAMETER: {
    const int owner = dot ? bodiesNamed(&b->m, name, before) : NONE;
    if (owner >= 0) found = findParameter(b, owner, dot + 1);
    for (int k = b->m.nparams - 1; k >= 0 && !dot && !b->label[k].field; k--)
      if (!strcmp(name, b->m.text + b->label[k].owner)) found = k;
    break;
  }
  case CP_STATE: {
    const int body  = dot ? bodiesFind(&b->m, NAME_BODY, name, before) : NONE;
    const int joint = dot ? bodiesFind(&b->m, NAME_JOINT, name, before) : NONE;
    if (!b->numbered && bodiesChooseCoordinates(b)) return CP_MEM_FAIL;
    if (body >= 0 || joint >= 0) found = findState(&b->m, name, body, joint, dot + 1);
    for (int k = 0; k < b->m.nlaws && dot && !strcmp(dot + 1, activation); k++)
      if (b->m.law[k].activation && bodiesFind(&b->m, NAME_LAW, name, before) == k)
        found = bodiesCoordinates(&b->m) + bodiesVelocities(&b->m) + b->m.law[k].activation - 1;
    if (b->m.balance && !strcmp(name, work)) found = CPBodiesCount(b, CP_STATE) - 1;
    break;
  }
  case CP_SENSOR: {
    Sensor s;
    char rule[RULE_TEXT];
    if (bodiesSensor(&b->m, NULL, name, &s, rule)) return cpRefuse(&b->log, __func__, "%s", rule);
    found = bodiesSensorIndex(&b->m, &s);
    break;
  }
  case CP_CONTROLLER: found = bodiesFind(&b->m, NAME_CONTROLLER, name, length); break;
  case CP_RELEASE: found = bodiesFind(&b->m, NAME_RELEASE, name, length); break;
  default: return bodiesCheckIndex(&b->log, &b->m, thing, 0, __func__);
  }
  if (found < 0) {
    return cpReport(&b->log, CP_ILL_INPUT, __func__, "there is no %s \"%.200s\"", nouns[thing],
                    name);
  }
  *i = found;
  return CP_SUCCESS;
}

/* --------------------------------------------------------------------------- descriptions -- */

int bodiesJointOf(const Mechanism *b, int coordinate) {
  int joint = 0; /* the last one that begins at or before this coordinate */
  for (int end = b->njoints; end - joint > 1;) {
    const int middle = joint + (end - joint) / 2;
    if (b->joint[middle].first_coordinate <= coordinate) joint = middle;
    else end = middle;
  }
  return joint;
}

void bodiesCoordinate(const Mechanism *b, int i, Term *term) {
  const int joint = bodiesJointOf(b, i);
  bodiesCoordinateTerm(b, joint, i - b->joint[joint].first_coordinate, term);
}

static int pathPair(const Mechanism *b, int i) {
  const Term *part;
  int name;
  bodiesPathPart(b, i, &part, &name);
  return bodiesPathPair(part);
}

int bodiesPairOf(const Mechanism *b, CPThing thing, int i) {
  return thing == CP_JOINT     ? b->joint[i].pair
         : thing == CP_CONTACT ? b->joint[b->contact[i].joint].pair
         : thing == CP_SPRING  ? bodiesLawTerm(b, &b->law[b->length[i]], 0)->pair
         : thing == CP_SHAPE   ? b->shape[i].pair
         : thing == CP_PATH    ? pathPair(b, i)
                               : NONE;
}

static void describeJoint(const struct CPBodies_ *b, int i, CPDescription *d) {
  const Joint *joint = &b->m.joint[i];
  d->name            = b->m.text + joint->name;
  d->kind            = joint->kind == NONE ? CP_JOINT_NONE : joint->kind;
  d->nrates          = joint->nrolls;
  for (int r = 0; r < joint->nrows && b->m.row[joint->first].first != NONE; r++)
    d->count += bodiesComponents(&b->m, &b->m.row[joint->first + r]);
  if (joint->nrows > 0) d->first = b->m.row[joint->first].first;
  if (joint->nrolls > 0) d->first_rate = b->m.roll[joint->first_roll].first;
}

/* The turns of a limit that is not known up to them */
static void describeGap(const Mechanism *b, const Row *row, CPDescription *d) {
  if (!row->limit) return;
  d->period  = bodiesPeriod(b, row);
  d->nearest = (row->other == NONE ? 0 : row->limit * b->param[row->other] / 2) -
               row->limit * b->param[row->offset] / (row->other == NONE ? 1 : 2);
}

static void describeState(CPBodies b, int i, CPDescription *d) {
  const Space *s   = &b->m.space;
  const Tree *tree = b->m.tree;
  const int nq     = bodiesCoordinates(&b->m);
  const int z      = i - nq - bodiesVelocities(&b->m);
  d->kind          = i >= nq;
  if (z >= 0 && z < b->m.nactivations) {
    int law = 0;
    while (b->m.law[law].activation != z + 1) law++;
    d->kind = 3, d->unit = "1", d->meaning = "of an actuator, between its control and its force";
    snprintf(b->described, sizeof b->described, "%s.%s", b->m.text + b->m.law[law].name, activation);
    return;
  }
  if (z >= 0) {
    *d = (CPDescription){.name    = work,
                         .unit    = "J",
                         .kind    = 2,
                         .a       = NONE,
                         .b       = NONE,
                         .joint   = NONE,
                         .meaning = "of drives, forces, dampers and friction since the start"};
    return;
  }
  const int j = d->kind ? i - nq : i, each = d->kind ? s->nu : s->nq;
  if (tree) {
    const Node *node = NULL;
    for (int n = 0; n < tree->nnodes; n++) {
      const Node *at  = &tree->node[n];
      const int first = d->kind ? at->u : at->q;
      if (j >= first && j < first + (d->kind ? at->nu : at->nq)) node = at;
    }
    nameState(&b->m, node, d->kind, j - (d->kind ? node->u : node->q), d, b->described);
    return;
  }
  const int k = j % each + (d->kind ? s->nq : 0);
  d->a        = j / each;
  d->unit     = states[s->dimension == 3][k].unit;
  d->meaning  = states[s->dimension == 3][k].meaning;
  snprintf(b->described, sizeof b->described, "%s.%s", b->m.text + b->m.body[d->a].name,
           states[s->dimension == 3][k].name);
}

int CPBodiesDescribe(CPBodies b, CPThing thing, int i, CPDescription *out) {
  if (!b) return CP_MEM_NULL;
  if (!b->numbered && bodiesChooseCoordinates(b)) return CP_MEM_FAIL;
  const int flag = bodiesCheckIndex(&b->log, &b->m, thing, i, __func__);
  if (flag) return flag;
  CPDescription d = {0};
  const int taken = cpTake(&b->log, &d, out, __func__);
  if (taken) return taken;
  d              = (CPDescription){.name       = b->described,
                                   .unit       = "",
                                   .meaning    = "",
                                   .a          = NONE,
                                   .b          = NONE,
                                   .joint      = NONE,
                                   .first      = NONE,
                                   .first_rate = NONE,
                                   .parameter  = NONE};
  const int pair = bodiesPairOf(&b->m, thing, i);
  if (pair >= 0) d.a = b->m.pair[pair].side[0].body, d.b = b->m.pair[pair].side[1].body;
  switch (thing) {
  case CP_BODY:
    d.name = b->m.text + b->m.body[i].name;
    memcpy(d.centre, b->m.body[i].centre, sizeof d.centre);
    break;
  case CP_JOINT: describeJoint(b, i, &d); break;
  case CP_CONTACT: {
    Contact *contact = &b->m.contact[i];
    describeJoint(b, contact->joint, &d);
    d.joint = contact->joint;
    d.kind  = (int)contact->on;
    d.law   = &contact->law;
    bodiesContactLaw(0, NULL, i, contact->force == NONE ? d.first : d.first_rate, &contact->law,
                     &b->m);
    if (contact->force != NONE) {
      int load = 0;
      d.first  = NONE;
      contact->law.nloads =
          contact->load != NONE ? bodiesReactionRows(&b->m, contact->load, &load) : 0;
      contact->law.load = load;
    } else describeGap(&b->m, &b->m.row[b->m.joint[contact->joint].first], &d);
    break;
  }
  case CP_COORDINATE: {
    Term term;
    d.joint          = bodiesJointOf(&b->m, i);
    const int k      = i - b->m.joint[d.joint].first_coordinate;
    const char *name = b->m.text + b->m.joint[d.joint].name;
    bodiesCoordinate(&b->m, i, &term);
    d.kind = bodiesIsAngle(&term.m);
    d.unit = d.kind ? "rad" : "m";
    if (k == 0) d.name = name;
    else snprintf(b->described, sizeof b->described, "%s.%d", name, k);
    break;
  }
  case CP_PATH: {
    const Term *part;
    int name;
    bodiesPathPart(&b->m, i, &part, &name);
    d.name = b->m.text + name;
    break;
  }
  case CP_SPRING: d.name = b->m.text + b->label[b->m.law[b->m.length[i]].param].owner; break;
  case CP_SHAPE:
    d.name = b->m.text + b->m.shape[i].name;
    d.kind = (int)b->m.shape[i].kind;
    d.a = d.b, d.b = NONE;
    if (d.kind == CP_SHAPE_MESH) {
      const Mesh *mesh = b->m.shape[i].mesh;
      d.points = *mesh->is.vertex, d.npoints = mesh->is.nvertices;
      d.edges = mesh->ends, d.nedges = mesh->is.nedges;
    }
    break;
  case CP_PARAMETER:
    d.value = b->m.param[i];
    snprintf(b->described, sizeof b->described, "%s%s%s", b->m.text + b->label[i].owner,
             b->label[i].field ? "." : "", b->label[i].field ? b->label[i].field : "");
    break;
  case CP_STATE: describeState(b, i, &d); break;
  case CP_CONTROLLER: {
    const Controller *c = &b->m.controller[i];
    d.name              = b->m.text + c->name;
    d.parameter = c->param, d.period = c->period, d.begin = c->first, d.delay = c->delay;
    break;
  }
  case CP_RELEASE: {
    const Release *release = &b->m.release[i];
    d.name                 = b->m.text + release->name;
    d.joint                = release->joint;
    d.begin                = release->timed ? b->m.param[release->at] : INFINITY;
    break;
  }
  case CP_SENSOR: {
    Sensor s;
    bodiesSensorName(&b->m, i, &s, b->described);
    d.unit   = s.unit;
    d.kind   = s.vector;
    d.nrates = bodiesSensorNeeds(&b->m, &s);
    break;
  }
  }
  cpGive(out, &d);
  return CP_SUCCESS;
}
