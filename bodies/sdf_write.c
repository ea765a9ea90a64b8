/* Mechanisms as files in SDF: a model with all bodies where they start, in whose formats joints may close loops; there all coordinates are 0.
 * What SDF cannot say is listed in a comment. */
#include "writing.h"

#include <string.h>

/* Writes numbers as an element. */
static void put(Text *out, const char *tag, int n, const sunrealtype *x) {
  bodiesPut(out, "<%s>", tag);
  writeList(out, n, x);
  bodiesPut(out, "</%s>", tag);
}

/* Writes a name, where two colons would be those between a model and what is in it. */
static void putName(Text *out, const char *name) {
  for (; *name; name++) writeCharacter(out, (char)(*name == ':' && name[1] == ':' ? '_' : *name));
}

/* The same as an element, and as an attribute */
static void putNamed(Text *out, const char *tag, const char *name) {
  bodiesPut(out, "<%s>", tag);
  putName(out, name);
  bodiesPut(out, "</%s>", tag);
}
static void putAttribute(Text *out, const char *attribute, const char *name) {
  bodiesPut(out, " %s=\"", attribute);
  putName(out, name);
  bodiesPut(out, "%c", '"');
}

static void putPose(Text *out, const sunrealtype *r, sunrealtype axis[3][3]) {
  sunrealtype pose[6] = {r[0], r[1], r[2]};
  if (axis) writeAngles(axis, pose + 3);
  put(out, "pose", 6, pose);
}

static void putGeometry(Text *out, const Shape *s) {
  static const sunrealtype up[] = {0, 0, 1};
  const char *tag               = write_shapes[s->kind];
  sunrealtype full[3];
  for (int k = 0; k < 3; k++) full[k] = 2 * s->half[k];
  bodiesPut(out, "<geometry><%s>", tag);
  if (s->kind == CP_SHAPE_PLANE) put(out, "normal", 3, up);
  else if (s->kind == CP_SHAPE_BOX) put(out, "size", 3, full);
  else if (s->kind == CP_SHAPE_ELLIPSOID) put(out, "radii", 3, s->half);
  else put(out, "radius", 1, s->half);
  if (!strcmp(tag, "cylinder") || !strcmp(tag, "capsule")) put(out, "length", 1, full + 2);
  bodiesPut(out, "</%s></geometry>", tag);
}

/* Writes the shapes of a body, or of the ground. */
static void putShapes(const Writer *x, int body) {
  const Mechanism *b = x->b;
  Text *out          = &x->w->text[WHOLE];
  for (int i = 0; i < b->nshapes; i++) {
    const Shape *shape    = &b->shape[i];
    const Collision *meet = writeCollision(x->w, i);
    Side *on              = &b->pair[shape->pair].side[1];
    const char *name      = b->text + shape->name;
    sunrealtype at[3];
    if (on->body != body) continue;
    if (shape->kind == CP_SHAPE_MESH || (shape->kind == CP_SHAPE_PLANE && body >= 0)) {
      writeLost(x->w, "a mesh, or a plane that moves", name);
      continue;
    }
    memcpy(at, on->point, sizeof at);
    if (body >= 0) add3(1, b->body[body].centre, at);
    for (int touches = 0; touches <= (meet != NULL); touches++) {
      const char *tag = touches ? "collision" : "visual";
      bodiesPut(out, "<%s", tag);
      putAttribute(out, "name", name);
      bodiesPut(out, ">");
      putPose(out, at, on->axis);
      putGeometry(out, shape);
      if (touches) {
        bodiesPut(out, "<surface><friction><ode>");
        put(out, "mu", 1, &meet->friction);
        bodiesPut(out, "</ode></friction></surface>");
      }
      bodiesPut(out, "</%s>\n", tag);
    }
  }
}

/* Do shapes of a body touch those of others that move, which are links of the same model? */
static int meetsOthers(const Writer *x, int body) {
  int any = 0;
  for (int i = 0; i < x->b->nshapes; i++) {
    const Collision *meet = writeCollision(x->w, i);
    any |= x->b->pair[x->b->shape[i].pair].side[1].body == body && meet && meet->meets;
  }
  return any;
}

/* Writes the shapes of the ground as a model that does not move. */
static void putGround(const Writer *x) {
  Text *out = &x->w->text[WHOLE];
  int any   = 0;
  for (int i = 0; i < x->b->nshapes; i++) any |= x->b->pair[x->b->shape[i].pair].side[1].body < 0;
  if (!any) return;
  bodiesPut(out, "<model");
  putAttribute(out, "name", strcmp(x->title, "ground") ? "ground" : "ground_");
  bodiesPut(out, "><static>true</static><link name=\"ground\">\n");
  putShapes(x, GROUND);
  bodiesPut(out, "</link></model>\n");
}

static void putLink(const Writer *x, int body) {
  const Mechanism *b   = x->b;
  const sunrealtype *p = b->param + b->body[body].param;
  const char *name     = b->text + b->body[body].name;
  Text *out            = &x->w->text[WHOLE];
  sunrealtype origin[3];
  writeOrigin(x, body, origin);
  bodiesPut(out, "<link");
  putAttribute(out, "name", name);
  bodiesPut(out, ">");
  putPose(out, origin, x->node[body].pose.axis);
  bodiesPut(out, "\n<inertial>");
  putPose(out, b->body[body].centre, NULL);
  put(out, "mass", 1, p);
  bodiesPut(out, "<inertia>");
  for (int k = 0; k < 6; k++) put(out, robot_moments[k], 1, p + 1 + k);
  bodiesPut(out, "</inertia></inertial>\n");
  if (!(p[0] > 0)) writeLost(x->w, "a link without mass, which Gazebo does not accept", name);
  writeLostVelocity(x, body);
  putShapes(x, body);
  if (meetsOthers(x, body)) bodiesPut(out, "<self_collide>true</self_collide>");
  bodiesPut(out, "</link>\n");
}

/* Writes an axis, and what acts on coordinate k, which is 0 at the start. */
static void putAxis(const Writer *x, const char *tag, int joint, int k, const sunrealtype *axis) {
  const Acting *a    = writeActing(x->w, joint, k);
  Text *out          = &x->w->text[WHOLE];
  sunrealtype now[2] = {0, 0}, of[2] = {0, 0};
  char name[TEXT];
  writeStartBetween(x, joint, k, now);
  bodiesPut(out, "<%s>", tag);
  put(out, "xyz", 3, axis);
  if (a->limited) {
    const sunrealtype range[2] = {a->range[0] - now[0], a->range[1] - now[0]};
    bodiesPut(out, "<limit>");
    put(out, "lower", 1, &range[0]);
    put(out, "upper", 1, &range[1]);
    bodiesPut(out, "</limit>");
  }
  if (a->damping != 0 || a->friction != 0 || a->stiffness != 0) {
    const sunrealtype free = a->free - now[0];
    bodiesPut(out, "<dynamics>");
    put(out, "damping", 1, &a->damping);
    put(out, "friction", 1, &a->friction);
    put(out, "spring_reference", 1, &free);
    put(out, "spring_stiffness", 1, &a->stiffness);
    bodiesPut(out, "</dynamics>");
  }
  if (a->mimics) {
    writeStartBetween(x, a->of, a->of_k, of);
    const sunrealtype offset = a->multiplier * of[0] + a->offset - now[0], reference = 0;
    bodiesPut(out, "<mimic");
    putAttribute(out, "joint", x->b->text + x->b->joint[a->of].name);
    writeText(out, "axis", a->of_k ? "axis2" : "axis");
    bodiesPut(out, ">");
    put(out, "multiplier", 1, &a->multiplier);
    put(out, "offset", 1, &offset);
    put(out, "reference", 1, &reference);
    bodiesPut(out, "</mimic>");
  }
  bodiesPut(out, "</%s>\n", tag);
  if (a->armature != 0)
    writeLost(x->w, "the inertance on the joint", writeJointName(x->b, joint, k, name));
}

/* What a kind of joint is in SDF, and the sides on which its axes are */
static const struct {
  const char *type;
  int naxes, side[2];
} kinds[] = {[CP_JOINT_BALL]      = {"ball", 0, {0, 0}},
             [CP_JOINT_REVOLUTE]  = {"revolute", 1, {0, 0}},
             [CP_JOINT_PRISMATIC] = {"prismatic", 1, {0, 0}},
             [CP_JOINT_FIXED]     = {"fixed", 0, {0, 0}},
             [CP_JOINT_UNIVERSAL] = {"universal", 2, {0, 1}}};

static void putJoint(const Writer *x, int j) {
  const Mechanism *b = x->b;
  const Joint *joint = &b->joint[j];
  const Side *side   = b->pair[joint->pair].side;
  const char *name   = b->text + joint->name;
  const int turned   = side[1].body < 0; /* The world is no child. */
  Text *out          = &x->w->text[WHOLE];
  if (!writeIsJoint(joint)) return;
  if (joint->kind >= (int)(sizeof kinds / sizeof *kinds) || !kinds[joint->kind].type ||
      (turned && side[0].body < 0)) {
    writeLost(x->w, "a joint of a kind that SDF does not have", name);
    return;
  }
  const Side *of[2]    = {&side[turned], &side[!turned]}; /* parent, child */
  const char *tags[2]  = {"axis", "axis2"};
  const int child      = of[1]->body;
  sunrealtype point[3] = {0, 0, 0};
  memcpy(point, of[1]->point, sizeof point);
  add3(1, b->body[child].centre, point);
  bodiesPut(out, "<joint");
  putAttribute(out, "name", name);
  writeText(out, "type", kinds[joint->kind].type);
  bodiesPut(out, ">");
  putPose(out, point, NULL);
  putNamed(out, "parent", of[0]->body < 0 ? "world" : b->text + b->body[of[0]->body].name);
  putNamed(out, "child", b->text + b->body[child].name);
  bodiesPut(out, "\n");
  const int naxes = kinds[joint->kind].naxes;
  for (int k = 0; k < naxes; k++) {
    const int from = turned ? naxes - 1 - k : k; /* the coordinate of the joint */
    const Side *on = &side[kinds[joint->kind].side[from]];
    sunrealtype axis[3], own[3];
    toSpace(writePose(x->node, on->body), on->axis[2], axis);
    toBody(&x->node[child].pose, axis, own);
    for (int i = 0; i < 3 && turned; i++) own[i] = -own[i];
    putAxis(x, tags[k], j, from, own);
  }
  bodiesPut(out, "</joint>\n");
}

static void putFile(const Writer *x) {
  Text *out = &x->w->text[WHOLE];
  bodiesPut(out, "<sdf version=\"1.11\">\n<world name=\"world\">\n");
  put(out, "gravity", 3, x->b->param);
  bodiesPut(out, "\n<model");
  putAttribute(out, "name", x->title);
  bodiesPut(out, ">\n");
  for (int i = 0; i < x->b->nbodies; i++) putLink(x, i);
  for (int j = 0; j < x->b->njoints; j++) putJoint(x, j);
  bodiesPut(out, "</model>\n");
  putGround(x);
  bodiesPut(out, "</world>\n</sdf>\n");
}

static const char *finish(CPBodies b, const char *from) {
  (void)from;
  return writeFile(b, 0, putFile);
}

const FileWriter sdf_writer = {"SDF", writeStartFile, writeElement, finish, writeFree};
