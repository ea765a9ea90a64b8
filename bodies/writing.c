/* Mechanisms as files of robots: what the writers of MJCF, URDF and SDF share. */
#include "writing.h"

#include "cpodes/base/compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void writeCharacter(Text *out, char c) {
  if (strchr("<>&\"", c)) bodiesPut(out, "&#%d;", c);
  else bodiesPut(out, "%c", c);
}

void writeList(Text *out, int n, const sunrealtype *x) {
  for (int i = 0; i < n; i++)
    bodiesPut(out, "%s%.17g", i ? " " : "", (double)(x[i] + 0)); /* no -0 */
}

void writeText(Text *out, const char *attribute, const char *text) {
  bodiesPut(out, " %s=\"", attribute);
  for (; *text; text++) writeCharacter(out, *text);
  bodiesPut(out, "%c", '"');
}

void writeNumbers(Text *out, const char *attribute, int n, const sunrealtype *x) {
  bodiesPut(out, " %s=\"", attribute);
  writeList(out, n, x);
  bodiesPut(out, "%c", '"');
}

/* Comments must not have two hyphens. */
void writeLost(Written *w, const char *what, const char *name) {
  bodiesPut(&w->text[LOST], "  %s: ", what);
  for (; *name; name++)
    bodiesPut(&w->text[LOST], "%c", *name == '-' && name[1] == '-' ? '_' : *name);
  bodiesPut(&w->text[LOST], "%c", '\n');
}

void writeLostVelocity(const Writer *x, int body) {
  const Body *own = &x->b->body[body];
  for (int k = 7; k < 13; k++)
    if (own->guess[k] != 0) {
      writeLost(x->w, "the velocity of", x->b->text + own->name);
      return;
    }
}

const char *writeJointName(const Mechanism *b, int joint, int k, char *name) {
  const char *own = b->text + b->joint[joint].name;
  snprintf(name, TEXT, k ? "%.400s_%d" : "%.400s", own, k + 1);
  return name;
}

int writeJointOf(const Mechanism *b, const CPCoordinate *of) {
  return of->joint ? bodiesFind(b, NAME_JOINT, of->joint, strlen(of->joint)) : NONE;
}

static Acting *findActing(const Written *w, int joint, int k) {
  for (int i = 0; i < w->nacting; i++)
    if (w->acting[i].joint == joint && w->acting[i].k == k) return &w->acting[i];
  return NULL;
}

static const Acting nothing = {.range = {SUN_RCONST(-1e10), SUN_RCONST(1e10)}};

const Acting *writeActing(const Written *w, int joint, int k) {
  const Acting *found = findActing(w, joint, k);
  return found ? found : &nothing;
}

Acting *writeToActing(Written *w, int joint, int k) {
  Acting *a = findActing(w, joint, k);
  if (a) return a;
  if (ROOM(w->acting, w->nacting, 1)) return w->failed = 1, NULL;
  a        = &w->acting[w->nacting++];
  *a       = nothing;
  a->joint = joint, a->k = k;
  return a;
}

/* The same on a coordinate; also NULL if it is none of a joint */
static Acting *actingOn(CPBodies b, const CPCoordinate *of) {
  const int joint = writeJointOf(&b->m, of);
  return joint < 0 ? NULL : writeToActing(b->written, joint, of->k);
}

static int takeSpring(CPBodies b, const CPSpring *s) {
  Acting *a = s->law || s->function || s->force != 0 ? NULL : actingOn(b, &s->of);
  if (!a || (a->stiffness != 0 && s->stiffness != 0)) return 0;
  if (s->stiffness != 0) a->stiffness = s->stiffness, a->free = s->free;
  a->damping += s->damping;
  a->armature += s->inertance;
  return 1;
}

static int takeLimit(CPBodies b, const CPLimit *l) {
  Acting *a = l->of[1].joint || l->restitution > 0 || l->stiffness > 0 ? NULL : actingOn(b, l->of);
  if (!a || a->limited) return 0;
  a->limited  = 1;
  a->range[0] = fmax(l->lower, a->range[0]), a->range[1] = fmin(l->upper, a->range[1]);
  return 1;
}

static int takeFriction(CPBodies b, const CPFriction *f) {
  Acting *a = f->speed > 0 || f->factor > 0 || f->sticking > f->force ? NULL : actingOn(b, &f->of);
  if (a) a->friction += f->force;
  return a != NULL;
}

static int mimic(Acting *a, const Acting *of, sunrealtype multiplier, sunrealtype offset) {
  if (!a || a->mimics) return 0;
  a->mimics = 1, a->of = of->joint, a->of_k = of->k;
  a->multiplier = multiplier, a->offset = offset;
  return 1;
}

static int takeMimic(CPBodies b, const CPCoupler *c) {
  if (c->function || c->nmore || !actingOn(b, &c->of[0])) return 0;
  Acting *second = actingOn(b, &c->of[1]), *first = actingOn(b, &c->of[0]);
  if (!first || !second) return 0;
  const sunrealtype *r = c->ratio;
  return mimic(first, second, -r[1] / r[0], c->offset / r[0]) ||
         mimic(second, first, -r[0] / r[1], c->offset / r[1]);
}

const Collision *writeCollision(const Written *w, int shape) {
  for (int i = 0; i < w->ncollisions; i++)
    if (w->collision[i].shape == shape) return &w->collision[i];
  return NULL;
}

static int takeContact(CPBodies b, const CPBodyContact *c) {
  Written *w         = b->written;
  const Mechanism *m = &b->m;
  const char *of[]   = {c->a, c->b};
  int shape[2], moving = 0;
  if (c->on != CP_ON_SHAPE || c->law.restitution > 0) return 0;
  for (int k = 0; k < 2; k++) {
    shape[k] = bodiesFind(m, NAME_SHAPE, of[k], strlen(of[k]));
    moving += m->pair[m->shape[shape[k]].pair].side[1].body >= 0;
  }
  for (int k = 0; k < 2; k++) {
    Collision *own = (Collision *)writeCollision(w, shape[k]);
    if (!own) {
      if (ROOM(w->collision, w->ncollisions, 1)) return w->failed = 1;
      own  = &w->collision[w->ncollisions++];
      *own = (Collision){.shape = shape[k]};
    }
    own->meets |= moving == 2, own->friction = fmax(own->friction, c->law.mu);
  }
  writeLost(w, "a contact, by collision shapes, which touch all others", c->head.name);
  return 1;
}

void writeElement(CPBodies b, const CPElement *e) {
  const void *element = e;
  int taken           = 0;
  switch (e->kind) {
  case CP_ELEMENT_BODY:
  case CP_ELEMENT_JOINT:
  case CP_ELEMENT_SHAPE: return;
  case CP_ELEMENT_SPRING: taken = takeSpring(b, element); break;
  case CP_ELEMENT_LIMIT: taken = takeLimit(b, element); break;
  case CP_ELEMENT_FRICTION: taken = takeFriction(b, element); break;
  case CP_ELEMENT_COUPLER: taken = takeMimic(b, element); break;
  case CP_ELEMENT_CONTACT: taken = takeContact(b, element); break;
  default: break;
  }
  if (!taken) writeLost(b->written, "left out", e->name);
}

/* ------------------------------------------------------------------------------ the tree -- */

const Pose *writePose(const Node *node, int body) {
  return body < 0 ? &bodies_ground : &node[body].pose;
}

const Part write_parts[CP_JOINT_FIXED + 1][4] = {
    [CP_JOINT_BALL]        = {{"ball", ".w", 2}},
    [CP_JOINT_REVOLUTE]    = {{"hinge", ".angle", 2}},
    [CP_JOINT_CYLINDRICAL] = {{"slide", ".displacement", 2}, {"hinge", ".1.angle", 2}},
    [CP_JOINT_PRISMATIC]   = {{"slide", ".displacement", 2}},
    [CP_JOINT_PLANAR]      = {{"slide", ".displacement", 0},
                              {"slide", ".1.displacement", 1},
                              {"hinge", ".2.angle", 2}},
    [CP_JOINT_FIXED]       = {{NULL, NULL, 0}}};

const char *const write_shapes[] = {
    [CP_SHAPE_BOX] = "box",         [CP_SHAPE_CYLINDER] = "cylinder",
    [CP_SHAPE_SPHERE] = "sphere",   [CP_SHAPE_WHEEL] = "cylinder",
    [CP_SHAPE_CAPSULE] = "capsule", [CP_SHAPE_ELLIPSOID] = "ellipsoid",
    [CP_SHAPE_PLANE] = "plane",     [CP_SHAPE_MESH] = "mesh"};

static int isEdge(const Joint *joint) {
  return writeIsJoint(joint) && joint->kind <= CP_JOINT_FIXED &&
         (write_parts[joint->kind][0].type || joint->kind == CP_JOINT_FIXED);
}

/* Hangs the body of one side of a joint on that of the other one, where all coordinates are 0; a ball joint is as at the start. */
static void hang(const Mechanism *b, Node *node, int joint, int turned) {
  const Pair *pair = &b->pair[b->joint[joint].pair];
  const Side *at = &pair->side[turned], *on = &pair->side[!turned];
  const Pose *base = writePose(node, at->body);
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

void writeStartBetween(const Writer *x, int joint, int k, sunrealtype *value) {
  const Mechanism *b = x->b;
  Pose pose[2];
  Term term;
  Jet jet;
  bodiesCoordinateTerm(b, joint, k, &term);
  const Pair *pair = &b->pair[term.pair];
  bodiesPlaced(b, pair, pose);
  bodiesJet(&b->space, b->param, pair, &term.m, &pose[0], &pose[1], RATES, &jet);
  value[0] = term.coef * jet.s, value[1] = term.coef * jet.rate;
}

void writeStart(const Writer *x, int joint, int k, sunrealtype *value) {
  const Mechanism *b = x->b;
  char name[TEXT];
  int i;
  snprintf(name, sizeof name, "%.400s%s", b->text + b->joint[joint].name,
           write_parts[b->joint[joint].kind][k].state);
  if (CPBodiesFind(x->bodies, CP_STATE, name, &i)) {
    writeStartBetween(x, joint, k, value);
    return;
  }
  value[0] = N_VGetArrayPointer(x->y)[i];
  strcat(name, "'");
  if (!CPBodiesFind(x->bodies, CP_STATE, name, &i)) value[1] = N_VGetArrayPointer(x->y)[i];
}

void writeAngles(sunrealtype axis[3][3], sunrealtype *angle) {
  /* A rotation by the first angle back leaves R_z R_y, whose second axis has the angle about z; next to a pitch of a quarter of a turn, the first
   * angle is lost to rounding, and the others make up for it. */
  const sunrealtype x = atan2(axis[1][2], axis[2][2]), c = cos(x), s = sin(x),
                    z = atan2(s * axis[2][0] - c * axis[1][0], c * axis[1][1] - s * axis[2][1]);
  angle[0]            = x;
  angle[1]            = atan2(-axis[0][2], cos(z) * axis[0][0] + sin(z) * axis[0][1]);
  angle[2]            = z;
}

void writeOrigin(const Writer *x, int body, sunrealtype *r) {
  const Pose *pose = writePose(x->node, body);
  memset(r, 0, 3 * sizeof *r);
  if (body < 0) return;
  toSpace(pose, x->b->body[body].centre, r);
  for (int k = 0; k < 3; k++) r[k] = pose->r[k] - r[k];
}

/* Lines in a comment */
static void writeLines(Written *w, const char *lines) {
  for (; lines && *lines; lines += strspn(lines, "\n")) {
    char line[TEXT];
    const size_t length = strcspn(lines, "\n");
    snprintf(line, sizeof line, "%.*s", (int)length, lines);
    writeLost(w, "beside it", line);
    lines += length;
  }
}

int writeStartFile(CPBodies b) { return !(b->written = calloc(1, sizeof(Written))); }

void writeFree(CPBodies b) {
  Written *w = b->written;
  for (int i = 0; w && i < NUM_TEXTS; i++) free(w->text[i].text);
  if (w) free(w->acting), free(w->coupled), free(w->tendon), free(w->collision);
  free(w);
  b->written = NULL;
}

const char *writeFile(CPBodies b, int from_zero, void (*put)(const Writer *x)) {
  Written *w                      = b->written;
  Text *out                       = &w->text[FINAL];
  const CPFormulation formulation = b->formulation;
  SUNContext ctx                  = NULL;
  Writer x                        = {.bodies = b, .b = &b->m, .w = w};
  x.node                          = calloc((size_t)b->m.nbodies + 1, sizeof *x.node);
  x.used                          = calloc((size_t)b->m.njoints + 1, 1);
  x.title                         = b->run.title[0] ? b->run.title : "mechanism";
  int failed                      = w->failed || !x.node || !x.used || cpContextCreate(&ctx);
  if (!failed) failed = CPBodiesSetFormulation(b, CP_JOINT_COORDINATES) != CP_SUCCESS;
  if (!failed) failed = !(x.y = CPBodiesState(b, ctx));
  if (!failed) {
    if (from_zero) makeTree(&b->m, x.node, x.used);
    for (int i = 0; i < b->m.nbodies && !from_zero; i++)
      bodiesPoseAt(&b->m.space, b->m.body[i].guess, NULL, NULL, &x.node[i].pose);
    writeLines(w, b->notes);
    writeLines(w, b->remarks);
    put(&x);
    if (w->text[LOST].text)
      bodiesPut(out, "<!-- What the original has beside this:\n%s-->\n", w->text[LOST].text);
    bodiesPut(out, "%s", w->text[WHOLE].text ? w->text[WHOLE].text : "");
    for (int i = 0; i < NUM_TEXTS; i++) failed = failed || w->text[i].failed;
  }
  CPBodiesSetFormulation(b, formulation);
  if (x.y) N_VDestroy(x.y);
  if (ctx) SUNContext_Free(&ctx);
  free(x.node);
  free(x.used);
  return failed ? NULL : out->text;
}
