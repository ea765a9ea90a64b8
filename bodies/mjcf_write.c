/* Mechanisms as files in MJCF: the tree of their joints, each body in its frame where all coordinates are 0, the loops, and what acts on
 * single coordinates. What MJCF cannot say is listed in a comment. */
#include "polyhedra.h"
#include "writing.h"

#include <stdlib.h>
#include <string.h>

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
    Acting *a = writeToActing(b->written, i, 0);
    if (a) return a->damping += s->drag, 1;
  }
  return 0;
}

static int takeCoupler(CPBodies b, const CPCoupler *c) {
  Written *w  = b->written;
  const int i = writeJointOf(&b->m, &c->of[0]), j = writeJointOf(&b->m, &c->of[1]);
  if (c->function || c->nmore || i < 0 || j < 0) return 0;
  if (ROOM(w->coupled, w->ncoupled, 1)) return w->failed = 1;
  w->coupled[w->ncoupled++] =
      (Coupled){.row   = bodiesFind(&b->m, NAME_JOINT, c->head.name, strlen(c->head.name)),
                .joint = {i, j},
                .k     = {c->of[0].k, c->of[1].k},
                .x     = {c->offset / c->ratio[0], -c->ratio[1] / c->ratio[0]}};
  return 1;
}

static int takeTendon(CPBodies b, const CPTendon *t) {
  Written *w    = b->written;
  Text *out     = &w->text[TENDONS];
  const int law = bodiesFind(&b->m, NAME_LAW, t->head.name, strlen(t->head.name));
  char name[TEXT];
  if (law < 0 || t->nnodes > 0 || t->function || t->force != 0 ||
      (t->stiffness > 0 && isnan(t->free)))
    return 0;
  for (int i = 0; i < t->ncoordinates; i++)
    if (writeJointOf(&b->m, &t->of[i]) < 0) return 0;
  if (ROOM(w->tendon, w->ntendons, 1)) return w->failed = 1;
  w->tendon[w->ntendons++] = law;
  bodiesPut(out, "    <fixed");
  writeText(out, "name", t->head.name);
  if (t->stiffness > 0) writeNumbers(out, "stiffness", 1, &t->stiffness);
  if (t->stiffness > 0) writeNumbers(out, "springlength", 1, &t->free);
  if (t->damping > 0) writeNumbers(out, "damping", 1, &t->damping);
  if (t->inertance > 0) writeNumbers(out, "armature", 1, &t->inertance);
  bodiesPut(out, ">");
  for (int i = 0; i < t->ncoordinates; i++) {
    bodiesPut(out, "<joint");
    writeText(out, "joint", writeJointName(&b->m, writeJointOf(&b->m, &t->of[i]), t->of[i].k, name));
    writeNumbers(out, "coef", 1, &t->ratio[i]);
    bodiesPut(out, "/>");
  }
  bodiesPut(out, "</fixed>\n");
  return 1;
}

static int takeActuator(CPBodies b, const CPActuator *a) {
  Written *w      = b->written;
  Text *out       = &w->text[ACTUATORS];
  const int joint = writeJointOf(&b->m, &a->of),
            law = a->of.joint ? bodiesFind(&b->m, NAME_LAW, a->of.joint, strlen(a->of.joint)) : NONE;
  int is_tendon = 0;
  char name[TEXT];
  for (int i = 0; i < w->ntendons && law >= 0; i++) is_tendon = is_tendon || w->tendon[i] == law;
  if ((joint < 0 && !is_tendon) || a->function || a->muscle.force > 0 ||
      a->dynamics == CP_ACTIVATION_MUSCLE)
    return 0;
  const sunrealtype gear = a->gear == 0 ? 1 : a->gear;
  bodiesPut(out, "    <general");
  writeText(out, "name", a->head.name);
  if (is_tendon) writeText(out, "tendon", a->of.joint);
  else writeText(out, "joint", writeJointName(&b->m, joint, a->of.k, name));
  writeNumbers(out, "gear", 1, &gear);
  bodiesPut(out, " gaintype=\"affine\" biastype=\"affine\"");
  writeNumbers(out, "gainprm", 3, a->gain);
  writeNumbers(out, "biasprm", 3, a->bias);
  if (a->control_range[0] < a->control_range[1])
    writeNumbers(out, "ctrlrange", 2, a->control_range);
  if (a->force_range[0] < a->force_range[1]) writeNumbers(out, "forcerange", 2, a->force_range);
  if (a->activation_range[0] < a->activation_range[1])
    writeNumbers(out, "actrange", 2, a->activation_range);
  if (a->dynamics == CP_ACTIVATION_INTEGRATOR) bodiesPut(out, " dyntype=\"integrator\"");
  if (a->dynamics == CP_ACTIVATION_FILTER) {
    bodiesPut(out, " dyntype=\"filter\"");
    writeNumbers(out, "dynprm", 1, a->times);
  }
  bodiesPut(&w->text[CTRL], " %.17g", (double)a->control);
  if (a->dynamics != CP_ACTIVATION_NONE) bodiesPut(&w->text[ACT], " %.17g", (double)a->activation);
  bodiesPut(out, "/>\n");
  return 1;
}

static int takeContact(CPBodies b, const CPBodyContact *c) {
  Written *w                   = b->written;
  Text *out                    = &w->text[PAIRS];
  const sunrealtype friction[] = {c->law.mu, 0, 0, 0, 0};
  if (c->on != CP_ON_SHAPE || c->law.restitution > 0) return 0;
  bodiesPut(out, "    <pair");
  writeText(out, "geom1", c->a);
  writeText(out, "geom2", c->b);
  bodiesPut(out, " condim=\"%d\"", c->law.mu > 0 ? 3 : 1);
  writeNumbers(out, "friction", 5, friction);
  bodiesPut(out, "/>\n");
  return 1;
}

static void takeElement(CPBodies b, const CPElement *e) {
  const void *element = e;
  int taken           = 0;
  switch (e->kind) {
  case CP_ELEMENT_BUSHING: taken = takeBushing(b, element); break;
  case CP_ELEMENT_COUPLER: taken = takeCoupler(b, element); break;
  case CP_ELEMENT_ACTUATOR: taken = takeActuator(b, element); break;
  case CP_ELEMENT_TENDON: taken = takeTendon(b, element); break;
  case CP_ELEMENT_CONTACT: taken = takeContact(b, element); break;
  default: writeElement(b, e); return;
  }
  if (!taken) writeLost(b->written, "left out", e->name);
}

/* ------------------------------------------------------------------------------ the file -- */

/* pos, quat: the place of a frame on a body, as a side has it, from the body's origin, which is not its centre of mass. axis: or NULL */
static void putPlace(Text *out, const Writer *x, int body, const sunrealtype *point,
                     sunrealtype axis[3][3]) {
  sunrealtype pos[3], e[4];
  memcpy(pos, point, sizeof pos);
  if (body >= 0) add3(1, x->b->body[body].centre, pos);
  writeNumbers(out, "pos", 3, pos);
  if (!axis) return;
  robotAxes(axis, e);
  writeNumbers(out, "quat", 4, e);
}

/* The same of a frame with this point and axes in space */
static void putInSpace(Text *out, const Writer *x, int body, const sunrealtype *point,
                       sunrealtype axis[3][3]) {
  const Pose *pose = writePose(x->node, body);
  sunrealtype arm[3], at[3], own[3][3];
  memcpy(arm, point, sizeof arm);
  add3(-1, pose->r, arm);
  toBody(pose, arm, at);
  for (int k = 0; k < 3 && axis; k++) toBody(pose, axis[k], own[k]);
  putPlace(out, x, body, at, axis ? own : NULL);
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
    for (int k = 0; k < 2 && !x->used[i] && writeIsJoint(&b->joint[i]); k++)
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
    const sunrealtype *q = b->body[of].guess, *u = q + 7; /* angular velocities are in its axes */
    sunrealtype e[4];
    Pose frame;
    bodiesFrameAt(b, of, q, u, &frame);
    robotAxes(frame.axis, e);
    bodiesPut(out, "<freejoint/>\n");
    for (int k = 0; k < 7; k++) bodiesPut(qpos, " %.17g", (double)(k < 3 ? frame.r[k] : e[k - 3]));
    for (int k = 0; k < 6; k++) bodiesPut(qvel, " %.17g", (double)(k < 3 ? frame.v[k] : u[k]));
    return;
  }
  const Joint *joint = &b->joint[n->joint];
  const Side *side   = &b->pair[joint->pair].side[!n->turned];
  for (int k = 0; k < 4 && write_parts[joint->kind][k].type; k++) {
    const Part *part = &write_parts[joint->kind][k];
    sunrealtype point[3], axis[3], own[3];
    const Acting *a = writeActing(x->w, n->joint, k);
    const int moves = strcmp(part->type, "ball") != 0;
    toSpace(&n->pose, side->point, point);
    add3(1, n->pose.r, point);
    toSpace(&n->pose, side->axis[part->axis], axis);
    toBody(writePose(x->node, to), axis, own);
    for (int i = 0; i < 3 && n->turned; i++) own[i] = -own[i];
    bodiesPut(out, "<joint");
    writeText(out, "name", writeJointName(b, n->joint, k, name));
    writeText(out, "type", part->type);
    putInSpace(out, x, to, point, NULL);
    if (moves) writeNumbers(out, "axis", 3, own);
    if (a->limited) writeNumbers(out, "range", 2, a->range);
    if (a->stiffness != 0) writeNumbers(out, "stiffness", 1, &a->stiffness);
    if (a->stiffness != 0) writeNumbers(out, "springref", 1, &a->free);
    if (a->damping != 0) writeNumbers(out, "damping", 1, &a->damping);
    if (a->armature != 0) writeNumbers(out, "armature", 1, &a->armature);
    if (a->friction != 0) writeNumbers(out, "frictionloss", 1, &a->friction);
    bodiesPut(out, "/>\n");
    sunrealtype value[2] = {0, 0};
    if (moves) writeStart(x, n->joint, k, value);
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
    writeText(out, "name", b->text + shape->name);
    writeText(out, "type", write_shapes[shape->kind]);
    putPlace(out, x, body, on.point, on.axis);
    if (shape->kind == CP_SHAPE_MESH) {
      writeText(out, "mesh", b->text + shape->name);
      bodiesPut(out, "/>\n");
      continue;
    }
    writeNumbers(out, "size", shape->kind == CP_SHAPE_SPHERE ? 1 : is_round ? 2 : 3, size);
    bodiesPut(out, "/>\n");
  }
}

/* The joints that close loops as constraints of MJCF between sites of both bodies: how many of them a kind takes */
static int nconstraints(const Joint *joint) {
  if (!writeIsJoint(joint)) return 0;
  if (joint->kind == CP_JOINT_REVOLUTE) return 2;
  return joint->kind == CP_JOINT_BALL || joint->kind == CP_JOINT_FIXED;
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

static void putCouplers(const Writer *x) {
  const Mechanism *b = x->b;
  Text *out          = &x->w->text[EQUALITIES];
  char name[TEXT];
  for (const Coupled *c = x->w->coupled; c && c < x->w->coupled + x->w->ncoupled; c++) {
    if (!x->used[c->joint[0]] || !x->used[c->joint[1]]) {
      writeLost(x->w, "the coupler of a joint that closes a loop", b->text + b->joint[c->row].name);
      continue;
    }
    bodiesPut(out, "    <joint");
    writeText(out, "name", b->text + b->joint[c->row].name);
    writeText(out, "joint1", writeJointName(b, c->joint[0], c->k[0], name));
    writeText(out, "joint2", writeJointName(b, c->joint[1], c->k[1], name));
    writeNumbers(out, "polycoef", 2, c->x);
    bodiesPut(out, "/>\n");
  }
}

static void putLoops(const Writer *x) {
  const Mechanism *b = x->b;
  for (int j = 0; j < b->njoints; j++) {
    const Joint *joint = &b->joint[j];
    const char *name   = b->text + joint->name;
    const int count    = nconstraints(joint);
    if (x->used[j] || !writeIsJoint(joint)) continue;
    if (!count) writeLost(x->w, "a joint of a kind that MJCF does not have", name);
    for (int c = 0; c < count; c++) {
      Text *out = &x->w->text[EQUALITIES];
      char own[TEXT];
      bodiesPut(out, "    <%s", joint->kind == CP_JOINT_FIXED ? "weld" : "connect");
      writeText(out, "name", writeJointName(b, j, c, own));
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
    writeOrigin(x, body, r);
    memcpy(J, p + 1, sizeof J);
    bodiesPut(out, "<body");
    writeText(out, "name", b->text + own->name);
    putInSpace(out, x, base, r, x->node[body].pose.axis);
    bodiesPut(out, ">\n");
    putJoints(x, body, body);
    bodiesPut(out, "<inertial");
    writeNumbers(out, "pos", 3, own->centre);
    writeNumbers(out, "mass", 1, p);
    writeNumbers(out, "fullinertia", 6, J);
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

/* The corners of meshes, of which readers make convex hulls */
static void putMeshes(const Writer *x) {
  const Mechanism *b = x->b;
  Text *out          = &x->w->text[WHOLE];
  int any            = 0;
  for (int i = 0; i < b->nshapes; i++) {
    const Shape *shape = &b->shape[i];
    if (shape->kind != CP_SHAPE_MESH) continue;
    if (!any++) bodiesPut(out, "  <asset>\n");
    bodiesPut(out, "    <mesh");
    writeText(out, "name", b->text + shape->name);
    writeNumbers(out, "vertex", 3 * shape->mesh->is.nvertices, *shape->mesh->is.vertex);
    bodiesPut(out, "/>\n");
  }
  if (any) bodiesPut(out, "  </asset>\n");
}

static void putFile(const Writer *x) {
  Written *w = x->w;
  Text *out  = &w->text[WHOLE];
  bodiesPut(out, "<mujoco");
  writeText(out, "model", x->title);
  bodiesPut(out, ">\n  <compiler angle=\"radian\" inertiafromgeom=\"false\"/>\n  <option");
  writeNumbers(out, "gravity", 3, x->b->param);
  bodiesPut(out, "/>\n  <default>\n    <geom contype=\"0\" conaffinity=\"0\"/>\n  </default>\n");
  putMeshes(x);
  bodiesPut(out, "  <worldbody>\n");
  putBody(x, GROUND, GROUND);
  bodiesPut(out, "  </worldbody>\n");
  putCouplers(x);
  putLoops(x);
  putSection(w, EQUALITIES, "equality");
  putSection(w, TENDONS, "tendon");
  putSection(w, ACTUATORS, "actuator");
  putSection(w, PAIRS, "contact");
  bodiesPut(out, "  <keyframe>\n    <key name=\"start\"");
  for (int k = 0; k < 4; k++) {
    static const char *const keys[] = {"qpos", "qvel", "ctrl", "act"};
    const char *numbers             = w->text[QPOS + k].text;
    if (numbers) bodiesPut(out, " %s=\"%s\"", keys[k], numbers + 1);
  }
  bodiesPut(out, "/>\n  </keyframe>\n</mujoco>\n");
}

static const char *finish(CPBodies b, const char *from) {
  (void)from;
  return writeFile(b, 1, putFile);
}

const FileWriter mjcf_writer = {"MJCF", writeStartFile, takeElement, finish, writeFree};
