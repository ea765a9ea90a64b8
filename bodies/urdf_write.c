/* Mechanisms as files in URDF: the tree of their joints from the link "world", which is the ground, with the frame of each link at the joint that
 * leads to it, where all coordinates are 0. A joint with several coordinates is a chain with links without mass. Loops are pairs of links
 * closing_NAME_1 and _2. What URDF cannot say is listed in a comment. */
#include "writing.h"

#include <stdio.h>
#include <string.h>

/* The name [TEXT] of a link: that of its body, and of the ground one that no body has */
static const char *linkName(const Mechanism *b, int body, char *name) {
  if (body >= 0) return b->text + b->body[body].name;
  strcpy(name, "world");
  while (bodiesFind(b, NAME_BODY, name, strlen(name)) >= 0 && strlen(name) + 1 < TEXT)
    strcat(name, "_");
  return name;
}

/* r: out, the origin of a link's frame in space, whose axes are those of its body */
static void linkOrigin(const Writer *x, int body, sunrealtype *r) {
  const Node *n = body < 0 ? NULL : &x->node[body];
  if (!n || n->joint == NONE) {
    writeOrigin(x, body, r);
    return;
  }
  toSpace(&n->pose, x->b->pair[x->b->joint[n->joint].pair].side[!n->turned].point, r);
  add3(1, n->pose.r, r);
}

/* Writes the place of a point and of axes in space, in the frame of a link. */
static void putOrigin(Text *out, const Writer *x, int link, const sunrealtype *point,
                      sunrealtype axis[3][3]) {
  const Pose *pose = writePose(x->node, link);
  sunrealtype origin[3], arm[3], at[3], own[3][3], angle[3];
  linkOrigin(x, link, origin);
  memcpy(arm, point, sizeof arm);
  add3(-1, origin, arm);
  toBody(pose, arm, at);
  for (int k = 0; k < 3; k++) toBody(pose, axis[k], own[k]);
  writeAngles(own, angle);
  bodiesPut(out, "    <origin");
  writeNumbers(out, "xyz", 3, at);
  writeNumbers(out, "rpy", 3, angle);
  bodiesPut(out, "/>\n");
}

static int isRound(const Shape *s) {
  return s->kind == CP_SHAPE_CYLINDER || s->kind == CP_SHAPE_WHEEL;
}

static void putGeometry(Text *out, const Shape *s) {
  const sunrealtype size[3] = {2 * s->half[0], 2 * s->half[1], 2 * s->half[2]};
  bodiesPut(out, "    <geometry><%s",
            isRound(s)                   ? "cylinder"
            : s->kind == CP_SHAPE_SPHERE ? "sphere"
                                         : "box");
  if (s->kind == CP_SHAPE_BOX) writeNumbers(out, "size", 3, size);
  else writeNumbers(out, "radius", 1, &s->half[0]);
  if (isRound(s)) writeNumbers(out, "length", 1, &size[2]);
  bodiesPut(out, "/></geometry>\n");
}

static void putShapes(const Writer *x, int body) {
  const Mechanism *b = x->b;
  const Pose *pose   = writePose(x->node, body);
  Text *out          = &x->w->text[WHOLE];
  for (int i = 0; i < b->nshapes; i++) {
    const Shape *shape = &b->shape[i];
    const Side *on     = &b->pair[shape->pair].side[1];
    sunrealtype point[3], axis[3][3];
    if (on->body != body) continue;
    if (!isRound(shape) && shape->kind != CP_SHAPE_BOX && shape->kind != CP_SHAPE_SPHERE) {
      writeLost(x->w, "a shape of a kind that URDF does not have", b->text + shape->name);
      continue;
    }
    toSpace(pose, on->point, point);
    add3(1, pose->r, point);
    for (int k = 0; k < 3; k++) toSpace(pose, on->axis[k], axis[k]);
    for (int touches = 0; touches <= (writeCollision(x->w, i) != NULL); touches++) {
      const char *tag = touches ? "collision" : "visual";
      bodiesPut(out, "    <%s>\n", tag);
      putOrigin(out, x, body, point, axis);
      putGeometry(out, shape);
      bodiesPut(out, "    </%s>\n", tag);
    }
  }
}

static void putLink(const Writer *x, int body) {
  const Mechanism *b   = x->b;
  const sunrealtype *p = body < 0 ? NULL : b->param + b->body[body].param;
  Text *out            = &x->w->text[WHOLE];
  char name[TEXT];
  bodiesPut(out, "  <link");
  writeText(out, "name", linkName(b, body, name));
  bodiesPut(out, ">\n");
  if (p && p[0] > 0) {
    Pose pose = x->node[body].pose;
    bodiesPut(out, "    <inertial>\n");
    putOrigin(out, x, body, pose.r, pose.axis);
    bodiesPut(out, "    <mass");
    writeNumbers(out, "value", 1, p);
    bodiesPut(out, "/><inertia");
    for (int k = 0; k < 6; k++) writeNumbers(out, robot_moments[k], 1, p + 1 + k);
    bodiesPut(out, "/>\n    </inertial>\n");
  }
  putShapes(x, body);
  bodiesPut(out, "  </link>\n");
}

/* Opens a joint that leads from one link to another. */
static void openJoint(Text *out, const char *name, const char *type, const char *parent,
                      const char *child) {
  bodiesPut(out, "  <joint");
  writeText(out, "name", name);
  writeText(out, "type", type);
  bodiesPut(out, ">\n    <parent");
  writeText(out, "link", parent);
  bodiesPut(out, "/><child");
  writeText(out, "link", child);
  bodiesPut(out, "/>\n");
}

/* Writes what acts on coordinate k of a joint. A slide has a limit, which is wide if there is none, as URDF wants it. */
static void putActing(const Writer *x, int joint, int k, int slides) {
  static const sunrealtype most = SUN_RCONST(1e10);
  const Acting *a               = writeActing(x->w, joint, k);
  Text *out                     = &x->w->text[WHOLE];
  char name[TEXT];
  if (a->damping != 0 || a->friction != 0) {
    bodiesPut(out, "    <dynamics");
    writeNumbers(out, "damping", 1, &a->damping);
    writeNumbers(out, "friction", 1, &a->friction);
    bodiesPut(out, "/>\n");
  }
  if (a->limited || slides) {
    bodiesPut(out, "    <limit");
    writeNumbers(out, "lower", 1, &a->range[0]);
    writeNumbers(out, "upper", 1, &a->range[1]);
    writeNumbers(out, "effort", 1, &most);
    writeNumbers(out, "velocity", 1, &most);
    bodiesPut(out, "/>\n");
  }
  if (a->mimics) {
    bodiesPut(out, "    <mimic");
    writeText(out, "joint", writeJointName(x->b, a->of, a->of_k, name));
    writeNumbers(out, "multiplier", 1, &a->multiplier);
    writeNumbers(out, "offset", 1, &a->offset);
    bodiesPut(out, "/>\n");
  }
  writeJointName(x->b, joint, k, name);
  if (a->stiffness != 0) writeLost(x->w, "the spring on the joint", name);
  if (a->armature != 0) writeLost(x->w, "the inertance on the joint", name);
}

/* What the start is, which URDF does not have. It comes from the placements of bodies: what is within their rounding is 0. */
static void putStart(const Writer *x, int joint, int k) {
  const Pair *pair = &x->b->pair[x->b->joint[joint].pair];
  char name[TEXT], text[TEXT + 80];
  sunrealtype value[2] = {0, 0}, size = 1; /* of an angle, or of positions */
  for (int side = 0; side < 2; side++) {
    const int body = pair->side[side].body;
    size += length3(pair->side[side].point) + (body < 0 ? 0 : length3(x->b->body[body].guess));
  }
  writeStart(x, joint, k, value);
  for (int i = 0; i < 2; i++)
    if (fabs(value[i]) <= SUN_UNIT_ROUNDOFF * size) value[i] = 0;
  writeJointName(x->b, joint, k, name);
  if (value[0] == 0 && value[1] == 0) return;
  snprintf(text, sizeof text, "%.400s=%.17g, at the rate %.17g", name, (double)value[0],
           (double)value[1]);
  writeLost(x->w, "the start", text);
}

/* Writes the joints that lead to a body. */
static void putJoint(const Writer *x, int body) {
  const Mechanism *b = x->b;
  const Node *n      = &x->node[body];
  Text *out          = &x->w->text[WHOLE];
  char name[TEXT], parent[TEXT], link[TEXT];
  sunrealtype origin[3], axes[3][3];
  Pose pose         = n->pose;
  const char *child = linkName(b, body, link), *from = linkName(b, n->parent, parent);
  linkOrigin(x, body, origin);
  memcpy(axes, pose.axis, sizeof axes);
  if (n->joint == NONE) {
    snprintf(name, sizeof name, "%.400s_free", child);
    openJoint(out, name, "floating", from, child);
    putOrigin(out, x, GROUND, origin, axes);
    bodiesPut(out, "  </joint>\n");
    writeLostVelocity(x, body);
    return;
  }
  const Joint *joint = &b->joint[n->joint];
  const Side *side   = &b->pair[joint->pair].side[!n->turned];
  const Part *part   = write_parts[joint->kind];
  int k              = 0;
  do {
    const int last = !part[k].type || !part[k + 1].type, moves = part[k].type != NULL,
              turns = moves && !strcmp(part[k].type, "hinge"),
              balls = moves && !strcmp(part[k].type, "ball");
    char between[TEXT];
    writeJointName(b, n->joint, k, name);
    snprintf(between, sizeof between, "%.400s_link", name);
    if (!last) {
      bodiesPut(out, "  <link");
      writeText(out, "name", between);
      bodiesPut(out, "/>\n");
    }
    openJoint(out, name,
              !moves                                    ? "fixed"
              : balls                                   ? "spherical"
              : !turns                                  ? "prismatic"
              : writeActing(x->w, n->joint, k)->limited ? "revolute"
                                                        : "continuous",
              from, last ? child : between);
    if (k == 0) putOrigin(out, x, n->parent, origin, axes);
    if (moves && !balls) {
      sunrealtype axis[3];
      for (int i = 0; i < 3; i++)
        axis[i] = n->turned ? -side->axis[part[k].axis][i] : side->axis[part[k].axis][i];
      bodiesPut(out, "    <axis");
      writeNumbers(out, "xyz", 3, axis);
      bodiesPut(out, "/>\n");
      putActing(x, n->joint, k, !turns);
      putStart(x, n->joint, k);
    }
    if (balls) writeLost(x->w, "a ball joint, which is Bullet's spherical", name);
    bodiesPut(out, "  </joint>\n");
    from = strcpy(parent, between);
  } while (part[k].type && part[++k].type);
}

/* A link at a point of a body, in the axes of that */
static void putClosing(const Writer *x, const char *name, int body, const sunrealtype *point) {
  Text *out = &x->w->text[WHOLE];
  Pose pose = *writePose(x->node, body);
  char joint[TEXT], parent[TEXT];
  sunrealtype at[3], axes[3][3];
  toSpace(&pose, point, at);
  add3(1, pose.r, at);
  memcpy(axes, pose.axis, sizeof axes);
  bodiesPut(out, "  <link");
  writeText(out, "name", name);
  bodiesPut(out, "/>\n");
  snprintf(joint, sizeof joint, "%.400s_weld", name);
  openJoint(out, joint, "fixed", linkName(x->b, body, parent), name);
  putOrigin(out, x, body, at, axes);
  bodiesPut(out, "  </joint>\n");
}

/* Joints that are none of the tree: balls by the points that meet, hinges by two points of their axes, 1 m from each other */
static void putLoops(const Writer *x) {
  const Mechanism *b = x->b;
  for (int j = 0; j < b->njoints; j++) {
    const Joint *joint = &b->joint[j];
    const char *own    = b->text + joint->name;
    const int points = joint->kind == CP_JOINT_BALL ? 1 : joint->kind == CP_JOINT_REVOLUTE ? 2 : 0;
    if (x->used[j] || !writeIsJoint(joint)) continue;
    writeLost(x->w, points ? "a loop, by pairs of links" : "a loop that URDF cannot say", own);
    for (int i = 0; i < points; i++)
      for (int k = 0; k < 2; k++) {
        Side on = b->pair[joint->pair].side[k];
        char name[TEXT];
        snprintf(name, sizeof name, i ? "closing_%.400s_axis_%d" : "closing_%.400s_%d", own, k + 1);
        if (i) add3(1, on.axis[2], on.point);
        putClosing(x, name, on.body, on.point);
      }
  }
}

static void putFile(const Writer *x) {
  static const sunrealtype weight[] = {0, 0, SUN_RCONST(-9.81)};
  const Mechanism *b                = x->b;
  Text *out                         = &x->w->text[WHOLE];
  char text[TEXT];
  bodiesPut(out, "<robot");
  writeText(out, "name", x->title);
  bodiesPut(out, ">\n");
  snprintf(text, sizeof text, "%.17g %.17g %.17g", (double)b->param[0], (double)b->param[1],
           (double)b->param[2]);
  if (memcmp(b->param, weight, sizeof weight)) writeLost(x->w, "gravity", text);
  putLink(x, GROUND);
  for (int i = 0; i < b->nbodies; i++) putLink(x, i);
  for (int i = 0; i < b->nbodies; i++) putJoint(x, i);
  putLoops(x);
  bodiesPut(out, "</robot>\n");
}

static const char *finish(CPBodies b, const char *from) {
  (void)from;
  return writeFile(b, 1, putFile);
}

const FileWriter urdf_writer = {"URDF", writeStartFile, writeElement, finish, writeFree};
