/* Mechanisms as files in MJCF: the tree of their joints, each body in its frame where all coordinates are 0, the loops, and what acts on
 * single coordinates. What MJCF cannot say is listed in a comment. */
#include "cpodes/base/compat.h"
#include "robot_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOST, TENDONS, ACTUATORS, EQUALITIES, PAIRS, QPOS, QVEL, WHOLE, NUM_TEXTS };

/* What acts on coordinate k of a joint */
typedef struct {
  int joint, k, limited;
  sunrealtype stiffness, damping, free, armature, friction, range[2];
} Acting;

struct Written_ {
  Text text[NUM_TEXTS];
  Acting *acting;
  int *tendon; /* [ntendons] laws of those that have been written */
  int nacting, ntendons, failed;
};

/* A body in the tree. parent: a body, or GROUND; joint: that leads to it from there, or NONE: it moves freely; turned: it leads from it to the
 * parent; pose: where all coordinates are 0, of its centre of mass */
typedef struct {
  int parent, joint, turned, placed, children;
  Pose pose;
} Node;

int mjcfStartWriting(CPBodies b) { return !(b->mjcf = calloc(1, sizeof *b->mjcf)); }

void mjcfFreeWritten(CPBodies b) {
  for (int i = 0; b->mjcf && i < NUM_TEXTS; i++) free(b->mjcf->text[i].text);
  if (b->mjcf) free(b->mjcf->acting), free(b->mjcf->tendon);
  free(b->mjcf);
  b->mjcf = NULL;
}

/* Writes a text as the value of an attribute. */
static void putText(Text *out, const char *attribute, const char *text) {
  bodiesPut(out, " %s=\"", attribute);
  for (; *text; text++)
    if (strchr("<>&\"", *text)) bodiesPut(out, "&#%d;", *text);
    else bodiesPut(out, "%c", *text);
  bodiesPut(out, "%c", '"');
}

static void putNumbers(Text *out, const char *attribute, int n, const sunrealtype *x) {
  bodiesPut(out, " %s=\"", attribute);
  for (int i = 0; i < n; i++)
    bodiesPut(out, "%s%.17g", i ? " " : "", (double)(x[i] + 0)); /* no -0 */
  bodiesPut(out, "%c", '"');
}

/* Comments must not have two hyphens. */
static void putLost(Written *w, const char *what, const char *name) {
  bodiesPut(&w->text[LOST], "  %s: ", what);
  for (; *name; name++)
    bodiesPut(&w->text[LOST], "%c", *name == '-' && name[1] == '-' ? '_' : *name);
  bodiesPut(&w->text[LOST], "%c", '\n');
}

/* The name of coordinate k of a joint in MJCF, where each one is a joint */
static const char *jointName(const Mechanism *b, int joint, int k, char *name) {
  const char *own = b->text + b->joint[joint].name;
  snprintf(name, TEXT, k ? "%.400s_%d" : "%.400s", own, k + 1);
  return name;
}

static int jointOf(const Mechanism *b, const CPCoordinate *of) {
  return of->joint ? bodiesFind(b, NAME_JOINT, of->joint, strlen(of->joint)) : NONE;
}

/* What acts on coordinate k of a joint, or NULL */
static Acting *findActing(const Written *w, int joint, int k) {
  for (int i = 0; i < w->nacting; i++)
    if (w->acting[i].joint == joint && w->acting[i].k == k) return &w->acting[i];
  return NULL;
}

/* The same, new if nothing does; NULL without memory */
static Acting *acting(Written *w, int joint, int k) {
  Acting *a = findActing(w, joint, k);
  if (a) return a;
  if (ROOM(w->acting, w->nacting, 1)) return w->failed = 1, NULL;
  w->acting[w->nacting] = (Acting){.joint = joint, .k = k};
  return &w->acting[w->nacting++];
}

/* The same on a coordinate; also NULL if it is none of a joint */
static Acting *actingOn(CPBodies b, const CPCoordinate *of) {
  const int joint = jointOf(&b->m, of);
  return joint < 0 ? NULL : acting(b->mjcf, joint, of->k);
}

static int takeSpring(CPBodies b, const CPSpring *s) {
  Acting *a = s->law || s->function || s->force != 0 ? NULL : actingOn(b, &s->of);
  if (!a || (a->stiffness != 0 && s->stiffness != 0)) return 0;
  if (s->stiffness != 0) a->stiffness = s->stiffness, a->free = s->free;
  a->damping += s->damping;
  a->armature += s->inertance;
  return 1;
}

/* Drag between both bodies of a ball joint is its damping. */
static int takeBushing(CPBodies b, const CPBushing *s) {
  const Mechanism *m = &b->m;
  Pair of;
  for (int k = 0; k < 3; k++)
    if (s->stiffness[k] != 0 || s->damping[k] != 0 || s->turn_stiffness[k] != 0 ||
        s->turn_damping[k] != 0)
      return 0;
  if (bodiesFindSides(b, s->head.name, s->a, s->b, &of)) return 0;
  for (int i = 0; i < m->njoints; i++) {
    if (m->joint[i].kind != CP_JOINT_BALL) continue;
    const Side *side = m->pair[m->joint[i].pair].side;
    if (side[0].body != of.side[0].body || side[1].body != of.side[1].body) continue;
    Acting *a = acting(b->mjcf, i, 0);
    if (a) return a->damping += s->drag, 1;
  }
  return 0;
}

static int takeLimit(CPBodies b, const CPLimit *l) {
  Acting *a = l->of[1].joint || l->restitution > 0 || l->stiffness > 0 ? NULL : actingOn(b, l->of);
  if (!a || a->limited) return 0;
  a->limited  = 1;
  a->range[0] = fmax(l->lower, -1e10), a->range[1] = fmin(l->upper, 1e10);
  return 1;
}

static int takeFriction(CPBodies b, const CPFriction *f) {
  Acting *a = f->speed > 0 || f->sticking > f->force ? NULL : actingOn(b, &f->of);
  if (a) a->friction += f->force;
  return a != NULL;
}

static int takeCoupler(CPBodies b, const CPCoupler *c) {
  Text *out = &b->mjcf->text[EQUALITIES];
  char name[TEXT];
  const int i = jointOf(&b->m, &c->of[0]), j = jointOf(&b->m, &c->of[1]);
  if (c->function || c->nmore || i < 0 || j < 0) return 0;
  const sunrealtype x[2] = {c->offset / c->ratio[0], -c->ratio[1] / c->ratio[0]};
  bodiesPut(out, "    <joint");
  putText(out, "name", c->head.name);
  putText(out, "joint1", jointName(&b->m, i, c->of[0].k, name));
  putText(out, "joint2", jointName(&b->m, j, c->of[1].k, name));
  putNumbers(out, "polycoef", 2, x);
  bodiesPut(out, "/>\n");
  return 1;
}

static int takeTendon(CPBodies b, const CPTendon *t) {
  Written *w    = b->mjcf;
  Text *out     = &w->text[TENDONS];
  const int law = bodiesFind(&b->m, NAME_LAW, t->head.name, strlen(t->head.name));
  char name[TEXT];
  if (law < 0 || t->nnodes > 0 || t->function || t->force != 0 ||
      (t->stiffness > 0 && isnan(t->free)))
    return 0;
  for (int i = 0; i < t->ncoordinates; i++)
    if (jointOf(&b->m, &t->of[i]) < 0) return 0;
  if (ROOM(w->tendon, w->ntendons, 1)) return w->failed = 1;
  w->tendon[w->ntendons++] = law;
  bodiesPut(out, "    <fixed");
  putText(out, "name", t->head.name);
  if (t->stiffness > 0) putNumbers(out, "stiffness", 1, &t->stiffness);
  if (t->stiffness > 0) putNumbers(out, "springlength", 1, &t->free);
  if (t->damping > 0) putNumbers(out, "damping", 1, &t->damping);
  if (t->inertance > 0) putNumbers(out, "armature", 1, &t->inertance);
  bodiesPut(out, ">");
  for (int i = 0; i < t->ncoordinates; i++) {
    bodiesPut(out, "<joint");
    putText(out, "joint", jointName(&b->m, jointOf(&b->m, &t->of[i]), t->of[i].k, name));
    putNumbers(out, "coef", 1, &t->ratio[i]);
    bodiesPut(out, "/>");
  }
  bodiesPut(out, "</fixed>\n");
  return 1;
}

static int takeActuator(CPBodies b, const CPActuator *a) {
  Written *w      = b->mjcf;
  Text *out       = &w->text[ACTUATORS];
  const int joint = jointOf(&b->m, &a->of),
            law = a->of.joint ? bodiesFind(&b->m, NAME_LAW, a->of.joint, strlen(a->of.joint)) : NONE;
  int is_tendon = 0;
  char name[TEXT];
  for (int i = 0; i < w->ntendons && law >= 0; i++) is_tendon = is_tendon || w->tendon[i] == law;
  if ((joint < 0 && !is_tendon) || a->function || a->muscle.force > 0 ||
      a->dynamics == CP_ACTIVATION_MUSCLE)
    return 0;
  const sunrealtype gear = a->gear == 0 ? 1 : a->gear;
  bodiesPut(out, "    <general");
  putText(out, "name", a->head.name);
  if (is_tendon) putText(out, "tendon", a->of.joint);
  else putText(out, "joint", jointName(&b->m, joint, a->of.k, name));
  putNumbers(out, "gear", 1, &gear);
  bodiesPut(out, " gaintype=\"affine\" biastype=\"affine\"");
  putNumbers(out, "gainprm", 3, a->gain);
  putNumbers(out, "biasprm", 3, a->bias);
  if (a->control_range[0] < a->control_range[1]) putNumbers(out, "ctrlrange", 2, a->control_range);
  if (a->force_range[0] < a->force_range[1]) putNumbers(out, "forcerange", 2, a->force_range);
  if (a->activation_range[0] < a->activation_range[1])
    putNumbers(out, "actrange", 2, a->activation_range);
  if (a->dynamics == CP_ACTIVATION_INTEGRATOR) bodiesPut(out, " dyntype=\"integrator\"");
  if (a->dynamics == CP_ACTIVATION_FILTER) {
    bodiesPut(out, " dyntype=\"filter\"");
    putNumbers(out, "dynprm", 1, a->times);
  }
  bodiesPut(out, "/>\n");
  return 1;
}

static int takeContact(CPBodies b, const CPBodyContact *c) {
  Text *out                    = &b->mjcf->text[PAIRS];
  const sunrealtype friction[] = {c->law.mu, 0, 0, 0, 0};
  if (c->on != CP_ON_SHAPE || c->law.restitution > 0) return 0;
  bodiesPut(out, "    <pair");
  putText(out, "geom1", c->a);
  putText(out, "geom2", c->b);
  bodiesPut(out, " condim=\"%d\"", c->law.mu > 0 ? 3 : 1);
  putNumbers(out, "friction", 5, friction);
  bodiesPut(out, "/>\n");
  return 1;
}

void mjcfWriteElement(CPBodies b, const CPElement *e) {
  const void *element = e;
  int taken           = 0;
  switch (e->kind) {
  case CP_ELEMENT_BODY:
  case CP_ELEMENT_JOINT:
  case CP_ELEMENT_SHAPE: return; /* as they are at the end */
  case CP_ELEMENT_SPRING: taken = takeSpring(b, element); break;
  case CP_ELEMENT_BUSHING: taken = takeBushing(b, element); break;
  case CP_ELEMENT_LIMIT: taken = takeLimit(b, element); break;
  case CP_ELEMENT_FRICTION: taken = takeFriction(b, element); break;
  case CP_ELEMENT_COUPLER: taken = takeCoupler(b, element); break;
  case CP_ELEMENT_ACTUATOR: taken = takeActuator(b, element); break;
  case CP_ELEMENT_TENDON: taken = takeTendon(b, element); break;
  case CP_ELEMENT_CONTACT: taken = takeContact(b, element); break;
  default: break;
  }
  if (!taken) putLost(b->mjcf, "left out", e->name);
}

/* ------------------------------------------------------------------------------ the tree -- */

static const Pose *poseOf(const Node *node, int body) {
  return body < 0 ? &bodies_ground : &node[body].pose;
}

/* Hangs the body of one side of a joint on that of the other one, where all coordinates are 0; a ball joint is as at the start. */
static void hang(const Mechanism *b, Node *node, int joint, int turned) {
  const Pair *pair = &b->pair[b->joint[joint].pair];
  const Side *at = &pair->side[turned], *on = &pair->side[!turned];
  const Pose *base = poseOf(node, at->body);
  Node *n          = &node[on->body];
  sunrealtype axis[3][3], point[3];
  n->joint = joint, n->turned = turned, n->parent = at->body, n->placed = 1;
  if (at->body >= 0) node[at->body].children++;
  if (b->joint[joint].kind == CP_JOINT_BALL) {
    Pose placed[2];
    sunrealtype own[3];
    bodiesPlaced(b, pair, placed);
    for (int k = 0; k < 3; k++) {
      toBody(&placed[turned], placed[!turned].axis[k], own);
      toSpace(base, own, n->pose.axis[k]);
    }
  } else {
    for (int k = 0; k < 3; k++) toSpace(base, at->axis[k], axis[k]);
    for (int j = 0; j < 3; j++) {
      memset(n->pose.axis[j], 0, sizeof n->pose.axis[j]);
      for (int k = 0; k < 3; k++) add3(on->axis[k][j], axis[k], n->pose.axis[j]);
    }
  }
  toSpace(base, at->point, n->pose.r);
  add3(1, base->r, n->pose.r);
  toSpace(&n->pose, on->point, point);
  add3(-1, point, n->pose.r);
}

/* What a kind of joint is in MJCF: joints along or about axes of its frame, and how the names of their coordinates end */
typedef struct {
  const char *type, *state;
  int axis;
} Part;
static const Part parts[][4] = {
    [CP_JOINT_BALL]        = {{"ball", ".w", 2}},
    [CP_JOINT_REVOLUTE]    = {{"hinge", ".angle", 2}},
    [CP_JOINT_CYLINDRICAL] = {{"slide", ".displacement", 2}, {"hinge", ".1.angle", 2}},
    [CP_JOINT_PRISMATIC]   = {{"slide", ".displacement", 2}},
    [CP_JOINT_PLANAR]      = {{"slide", ".displacement", 0},
                              {"slide", ".1.displacement", 1},
                              {"hinge", ".2.angle", 2}},
    [CP_JOINT_FIXED]       = {{NULL, NULL, 0}}};

static int isEdge(const Joint *joint) {
  return joint->contact == NONE && joint->kind >= 0 && joint->kind <= CP_JOINT_FIXED &&
         (parts[joint->kind][0].type || joint->kind == CP_JOINT_FIXED);
}

/* Hangs bodies on those that hang already, by the first joints; the first one that is left moves freely. used [njoints]: out, 1 for those of
 * the tree */
static void makeTree(const Mechanism *b, Node *node, char *used) {
  for (int left = b->nbodies; left > 0;) {
    int found = 0;
    for (int j = 0; j < b->njoints; j++) {
      if (used[j] || !isEdge(&b->joint[j])) continue;
      const Side *side = b->pair[b->joint[j].pair].side;
      int placed[2];
      for (int k = 0; k < 2; k++) placed[k] = side[k].body < 0 || node[side[k].body].placed;
      if (placed[0] == placed[1] || (placed[1] && b->joint[j].kind == CP_JOINT_PLANAR)) continue;
      hang(b, node, j, placed[1]);
      used[j] = 1, found = 1, left--;
    }
    for (int i = 0; i < b->nbodies && !found; i++)
      if (!node[i].placed) {
        node[i].parent = GROUND, node[i].joint = NONE, node[i].placed = found = 1;
        bodiesPoseAt(&b->space, b->body[i].guess, NULL, NULL, &node[i].pose);
        left--;
      }
  }
}

/* ------------------------------------------------------------------------------ the file -- */

typedef struct {
  CPBodies bodies;
  const Mechanism *b;
  Written *w;
  Node *node;
  char *used;
  N_Vector y;
} Writer;

/* Coordinate k of a joint and its rate at the start: as the state has them, with their turns; where another joint cuts a loop, by the places
 * of the bodies */
static void startOf(const Writer *x, int joint, int k, sunrealtype *value) {
  const Mechanism *b = x->b;
  char name[TEXT];
  Pose pose[2];
  Term term;
  Jet jet;
  int i;
  snprintf(name, sizeof name, "%.400s%s", b->text + b->joint[joint].name,
           parts[b->joint[joint].kind][k].state);
  if (!CPBodiesFind(x->bodies, CP_STATE, name, &i)) {
    value[0] = N_VGetArrayPointer(x->y)[i];
    strcat(name, "'");
    if (!CPBodiesFind(x->bodies, CP_STATE, name, &i)) value[1] = N_VGetArrayPointer(x->y)[i];
    return;
  }
  bodiesCoordinateTerm(b, joint, k, &term);
  const Pair *pair = &b->pair[term.pair];
  for (int side = 0; side < 2; side++) {
    const int body       = pair->side[side].body;
    const sunrealtype *q = body < 0 ? NULL : b->body[body].guess;
    pose[side]           = bodies_ground;
    if (q) bodiesPoseAt(&b->space, q, q + 7, NULL, &pose[side]);
  }
  bodiesJet(&b->space, b->param, pair, &term.m, &pose[0], &pose[1], RATES, &jet);
  value[0] = term.coef * jet.s, value[1] = term.coef * jet.rate;
}

/* pos, quat: the place of a frame on a body, as a side has it, from the body's origin, which is not its centre of mass. axis: or NULL */
static void putPlace(Text *out, const Writer *x, int body, const sunrealtype *point,
                     sunrealtype axis[3][3]) {
  sunrealtype pos[3], e[4];
  memcpy(pos, point, sizeof pos);
  if (body >= 0) add3(1, x->b->body[body].centre, pos);
  putNumbers(out, "pos", 3, pos);
  if (!axis) return;
  robotAxes(axis, e);
  putNumbers(out, "quat", 4, e);
}

/* The same of a frame with this point and axes in space */
static void putInSpace(Text *out, const Writer *x, int body, const sunrealtype *point,
                       sunrealtype axis[3][3]) {
  const Pose *pose = poseOf(x->node, body);
  sunrealtype arm[3], at[3], own[3][3];
  memcpy(arm, point, sizeof arm);
  add3(-1, pose->r, arm);
  toBody(pose, arm, at);
  for (int k = 0; k < 3 && axis; k++) toBody(pose, axis[k], own[k]);
  putPlace(out, x, body, at, axis ? own : NULL);
}

/* The origin of a body's frame in space */
static void originOf(const Writer *x, int body, sunrealtype *r) {
  const Pose *pose = poseOf(x->node, body);
  memset(r, 0, 3 * sizeof *r);
  if (body < 0) return;
  toSpace(pose, x->b->body[body].centre, r);
  for (int k = 0; k < 3; k++) r[k] = pose->r[k] - r[k];
}

/* A body without mass between two joints, which in MJCF are both of the next body */
static int isBetween(const Writer *x, int body) {
  const Mechanism *b = x->b;
  const Node *n      = &x->node[body];
  for (int k = 0; k < 4; k++)
    if (b->param[b->body[body].param + k] != 0) return 0;
  for (int i = 0; i < b->nshapes; i++)
    if (b->pair[b->shape[i].pair].side[1].body == body) return 0;
  for (int i = 0; i < b->njoints; i++)
    for (int k = 0; k < 2 && !x->used[i] && b->joint[i].kind >= 0 && b->joint[i].contact == NONE;
         k++)
      if (b->pair[b->joint[i].pair].side[k].body == body) return 0;
  return n->children == 1 && n->joint >= 0;
}

/* Writes the joints that lead to body `of`, as those of body `to`. */
static void putJoints(const Writer *x, int of, int to) {
  const Mechanism *b = x->b;
  const Node *n      = &x->node[of];
  Text *out = &x->w->text[WHOLE], *qpos = &x->w->text[QPOS], *qvel = &x->w->text[QVEL];
  char name[TEXT], state[TEXT];
  if (n->parent >= 0 && isBetween(x, n->parent)) putJoints(x, n->parent, to);
  if (n->joint == NONE) {
    sunrealtype q[7], v[6], arm[3], w[3], e[3];
    const sunrealtype *u = b->body[of].guess + 7;
    originOf(x, of, q);
    robotAxes(x->node[of].pose.axis, q + 3);
    memcpy(v, u, sizeof v);
    toSpace(&n->pose, u + 3, w);
    toSpace(&n->pose, b->body[of].centre, arm);
    cross3(w, arm, e);
    add3(-1, e, v);
    bodiesPut(out, "<freejoint/>\n");
    for (int k = 0; k < 7; k++) bodiesPut(qpos, " %.17g", (double)q[k]);
    for (int k = 0; k < 6; k++) bodiesPut(qvel, " %.17g", (double)v[k]);
    return;
  }
  const Joint *joint = &b->joint[n->joint];
  const Side *side   = &b->pair[joint->pair].side[!n->turned];
  for (int k = 0; k < 4 && parts[joint->kind][k].type; k++) {
    const Part *part = &parts[joint->kind][k];
    sunrealtype point[3], axis[3], own[3];
    const Acting none = {0}, *found = findActing(x->w, n->joint, k), *a = found ? found : &none;
    const int moves = strcmp(part->type, "ball") != 0;
    toSpace(&n->pose, side->point, point);
    add3(1, n->pose.r, point);
    toSpace(&n->pose, side->axis[part->axis], axis);
    toBody(poseOf(x->node, to), axis, own);
    for (int i = 0; i < 3 && n->turned; i++) own[i] = -own[i];
    bodiesPut(out, "<joint");
    putText(out, "name", jointName(b, n->joint, k, name));
    putText(out, "type", part->type);
    putInSpace(out, x, to, point, NULL);
    if (moves) putNumbers(out, "axis", 3, own);
    if (a->limited) putNumbers(out, "range", 2, a->range);
    if (a->stiffness != 0) putNumbers(out, "stiffness", 1, &a->stiffness);
    if (a->stiffness != 0) putNumbers(out, "springref", 1, &a->free);
    if (a->damping != 0) putNumbers(out, "damping", 1, &a->damping);
    if (a->armature != 0) putNumbers(out, "armature", 1, &a->armature);
    if (a->friction != 0) putNumbers(out, "frictionloss", 1, &a->friction);
    bodiesPut(out, "/>\n");
    sunrealtype value[2] = {0, 0};
    if (moves) startOf(x, n->joint, k, value);
    if (moves) bodiesPut(qpos, " %.17g", (double)value[0]);
    else bodiesPut(qpos, " 1 0 0 0");
    for (int i = 0; i < (moves ? 1 : 3); i++) {
      int at;
      snprintf(state, sizeof state, "%.400s%s%c", b->text + joint->name, part->state, "xyz"[i]);
      if (!moves && !CPBodiesFind(x->bodies, CP_STATE, state, &at))
        value[1] = N_VGetArrayPointer(x->y)[at];
      bodiesPut(qvel, " %.17g", (double)value[1]);
    }
  }
}

static void putGeoms(const Writer *x, int body) {
  static const char *const types[] = {
      [CP_SHAPE_BOX] = "box",         [CP_SHAPE_CYLINDER] = "cylinder",
      [CP_SHAPE_SPHERE] = "sphere",   [CP_SHAPE_WHEEL] = "cylinder",
      [CP_SHAPE_CAPSULE] = "capsule", [CP_SHAPE_ELLIPSOID] = "ellipsoid",
      [CP_SHAPE_PLANE] = "plane"};
  const Mechanism *b = x->b;
  Text *out          = &x->w->text[WHOLE];
  for (int i = 0; i < b->nshapes; i++) {
    const Shape *shape = &b->shape[i];
    Side on            = b->pair[shape->pair].side[1];
    const int is_round = shape->kind == CP_SHAPE_CYLINDER || shape->kind == CP_SHAPE_WHEEL ||
                         shape->kind == CP_SHAPE_CAPSULE;
    sunrealtype size[3] = {shape->half[0], shape->half[1], shape->half[2]};
    if (on.body != body) continue;
    if (is_round) size[1] = size[2];
    if (shape->kind == CP_SHAPE_PLANE) size[2] = 1;
    bodiesPut(out, "<geom");
    putText(out, "name", b->text + shape->name);
    putText(out, "type", types[shape->kind]);
    putPlace(out, x, body, on.point, on.axis);
    putNumbers(out, "size", shape->kind == CP_SHAPE_SPHERE ? 1 : is_round ? 2 : 3, size);
    bodiesPut(out, "/>\n");
  }
}

/* The joints that close loops as constraints of MJCF between sites of both bodies: how many of them a kind takes */
static int nconstraints(const Joint *joint) {
  return joint->contact != NONE || joint->kind < 0 ? 0
         : joint->kind == CP_JOINT_BALL || joint->kind == CP_JOINT_FIXED
             ? 1
             : 2 * (joint->kind == CP_JOINT_REVOLUTE);
}

static void putSites(const Writer *x, int body) {
  const Mechanism *b = x->b;
  Text *out          = &x->w->text[WHOLE];
  for (int j = 0; j < b->njoints; j++)
    for (int k = 0; k < 2 && !x->used[j]; k++) {
      Side on = b->pair[b->joint[j].pair].side[k];
      for (int c = 0; c < nconstraints(&b->joint[j]) && on.body == body; c++) {
        if (c > 0)
          add3(1, on.axis[2], on.point); /* a second point of an axis, 1 m from the first one */
        bodiesPut(out, "<site name=\"loop%d_%d_%d\"", j, c, k);
        putPlace(out, x, body, on.point, on.axis);
        bodiesPut(out, "/>\n");
      }
    }
}

static void putLoops(const Writer *x) {
  const Mechanism *b = x->b;
  for (int j = 0; j < b->njoints; j++) {
    const Joint *joint = &b->joint[j];
    const char *name   = b->text + joint->name;
    const int count    = nconstraints(joint);
    if (x->used[j] || joint->contact != NONE || joint->kind < 0) continue;
    if (!count) putLost(x->w, "a joint of a kind that MJCF does not have", name);
    for (int c = 0; c < count; c++) {
      Text *out = &x->w->text[EQUALITIES];
      char own[TEXT];
      bodiesPut(out, "    <%s", joint->kind == CP_JOINT_FIXED ? "weld" : "connect");
      putText(out, "name", jointName(b, j, c, own));
      bodiesPut(out, " site1=\"loop%d_%d_0\" site2=\"loop%d_%d_1\"/>\n", j, c, j, c);
    }
  }
}

static void putBody(const Writer *x, int body, int base) {
  const Mechanism *b = x->b;
  Text *out          = &x->w->text[WHOLE];
  if (body >= 0 && isBetween(x, body)) {
    for (int i = 0; i < b->nbodies; i++)
      if (x->node[i].parent == body) putBody(x, i, base);
    return;
  }
  if (body >= 0) {
    const Body *own      = &b->body[body];
    const sunrealtype *p = b->param + own->param;
    sunrealtype r[3], J[6];
    originOf(x, body, r);
    memcpy(J, p + 1, sizeof J);
    bodiesPut(out, "<body");
    putText(out, "name", b->text + own->name);
    putInSpace(out, x, base, r, x->node[body].pose.axis);
    bodiesPut(out, ">\n");
    putJoints(x, body, body);
    bodiesPut(out, "<inertial");
    putNumbers(out, "pos", 3, own->centre);
    putNumbers(out, "mass", 1, p);
    putNumbers(out, "fullinertia", 6, J);
    bodiesPut(out, "/>\n");
  }
  putGeoms(x, body);
  putSites(x, body);
  for (int i = 0; i < b->nbodies; i++)
    if (x->node[i].parent == body) putBody(x, i, body);
  if (body >= 0) bodiesPut(out, "</body>\n");
}

static void putSection(Written *w, int which, const char *tag) {
  if (w->text[which].text)
    bodiesPut(&w->text[WHOLE], "  <%s>\n%s  </%s>\n", tag, w->text[which].text, tag);
}

/* Lines in a comment */
static void putLines(Written *w, const char *lines) {
  for (; lines && *lines; lines += strspn(lines, "\n")) {
    char line[TEXT];
    const size_t length = strcspn(lines, "\n");
    snprintf(line, sizeof line, "%.*s", (int)length, lines);
    putLost(w, "beside it", line);
    lines += length;
  }
}

const char *mjcfWriteFile(CPBodies b) {
  Written *w                      = b->mjcf;
  Text *out                       = &w->text[WHOLE];
  const CPFormulation formulation = b->formulation;
  SUNContext ctx                  = NULL;
  Writer x                        = {b,
                                     &b->m,
                                     w,
                                     calloc((size_t)b->m.nbodies + 1, sizeof(Node)),
                                     calloc((size_t)b->m.njoints + 1, 1),
                                     NULL};
  int failed                      = w->failed || !x.node || !x.used || cpContextCreate(&ctx);
  if (!failed) failed = CPBodiesSetFormulation(b, CP_JOINT_COORDINATES) != CP_SUCCESS;
  if (!failed) failed = !(x.y = CPBodiesState(b, ctx));
  if (!failed) {
    makeTree(&b->m, x.node, x.used);
    putLines(w, b->notes);
    putLines(w, b->remarks);
    bodiesPut(out, "<mujoco");
    putText(out, "model", b->run.title[0] ? b->run.title : "mechanism");
    bodiesPut(out, ">\n");
    putLoops(&x);
    if (w->text[LOST].text)
      bodiesPut(out, "<!-- What the original has beside this:\n%s-->\n", w->text[LOST].text);
    bodiesPut(out, "  <compiler angle=\"radian\" inertiafromgeom=\"false\"/>\n  <option");
    putNumbers(out, "gravity", 3, b->m.param);
    bodiesPut(out, "/>\n  <default>\n    <geom contype=\"0\" conaffinity=\"0\"/>\n  </default>\n"
                   "  <worldbody>\n");
    putBody(&x, GROUND, GROUND);
    bodiesPut(out, "  </worldbody>\n");
    putSection(w, EQUALITIES, "equality");
    putSection(w, TENDONS, "tendon");
    putSection(w, ACTUATORS, "actuator");
    putSection(w, PAIRS, "contact");
    const char *position = w->text[QPOS].text, *rate = w->text[QVEL].text;
    bodiesPut(
        out, "  <keyframe>\n    <key name=\"start\" qpos=\"%s\" qvel=\"%s\"/>\n  </keyframe>\n</mujoco>\n",
        position ? position + 1 : "", rate ? rate + 1 : "");
    for (int i = 0; i < NUM_TEXTS; i++) failed = failed || w->text[i].failed;
  }
  CPBodiesSetFormulation(b, formulation);
  if (x.y) N_VDestroy(x.y);
  if (ctx) SUNContext_Free(&ctx);
  free(x.node);
  free(x.used);
  return failed ? NULL : w->text[WHOLE].text;
}
