/* OpenSim's joints: pins and slides as they are, all others by functions of their coordinates: three translations along axes of the
 * parent's frame, then three rotations that follow each other. A free joint on the ground is none at all, and a ball joint has a
 * quaternion. Locked coordinates are constants. */
#include "osim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ the list -- */

/* Adds motion k of the joint, by function z of its coordinate `of`, or NONE; z is kept. */
static void addMotion(OsimJoint *j, int about, const sunrealtype *axis, int of, OsimFunction z) {
  const int k        = j->nmotions++;
  j->motion[k].about = about;
  j->motion[k].of    = of;
  j->motion[k].z     = z;
  memcpy(j->motion[k].axis, axis, sizeof j->motion[k].axis);
}

/* The joints that have the same motions always: the axis x, y, z, or X, Y, Z if it turns about it, of each of its coordinates, and the
 * order of these motions */
static const struct {
  const char *tag, *motions, *order;
} kinds[] = {{"WeldJoint", "", ""},         {"PinJoint", "Z", "0"},
             {"SliderJoint", "x", "0"},     {"UniversalJoint", "XY", "01"},
             {"GimbalJoint", "XYZ", "012"}, {"BallJoint", "XYZ", "012"},
             {"PlanarJoint", "Zxy", "120"}, {"FreeJoint", "XYZxyz", "345012"}};
enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

/* The word in a child's list of names that begins at `at`, which moves on; its index among the joint's coordinates, NONE if the list
 * has ended. Returns 0, or 1 after a message. */
static int nextCoordinate(Osim *o, const xmlNode *axis, const OsimJoint *j, const char **at,
                          int *of) {
  static const char blanks[] = " \t\r\n";
  char name[200];
  *at += strspn(*at, blanks);
  const size_t length = strcspn(*at, blanks);
  *of                 = NONE;
  if (length == 0) return 0;
  snprintf(name, sizeof name, "%.*s", (int)length, *at);
  *at += length;
  const int i = osimCoordinate(o, name);
  if (i < j->first || i >= j->first + j->ncoordinates)
    return robotWrong(o->r, axis, "the joint has no coordinate \"%.100s\"", name);
  *of = i - j->first;
  return 0;
}

/* One axis of a CustomJoint */
static int readAxis(Osim *o, const xmlNode *n, int about, OsimJoint *j) {
  char names[400];
  sunrealtype axis[3] = {0, 0, 0};
  int of, second;
  OsimFunction z;
  const char *at = osimText(n, "coordinates", names, sizeof names);
  if (nextCoordinate(o, n, j, &at, &of) || nextCoordinate(o, n, j, &at, &second)) return 1;
  if (second != NONE) return robotWrong(o->r, n, "a function of several coordinates is not read");
  if (osimNumbers(o->r, n, "axis", 3, axis)) return 1;
  if (!(length3(axis) > 0)) return robotWrong(o->r, n, "axis must be given, and not be zero");
  if (osimFunction(o->r, n, 1, &z)) return 1;
  if (of == NONE && (z.f || z.ratio != 0)) {
    const int failed = osimEvaluate(o->r, n, &z, 0, &z.offset, NULL);
    CPFunctionFree(&z.f);
    z.ratio = 0;
    if (failed) return 1;
  }
  if (of == NONE && z.offset == 0) return 0;
  if (!z.f && z.ratio == 0) of = NONE; /* a constant */
  addMotion(j, about, axis, of, z);
  return 0;
}

static int readTransform(Osim *o, const xmlNode *joint, OsimJoint *j) {
  const xmlNode *transform = robotChild(joint, "SpatialTransform");
  if (!transform) return robotWrong(o->r, joint, "SpatialTransform must be given");
  for (int k = 0; k < MOST_AXES; k++) {
    char name[20];
    const xmlNode *n = transform->children, *axis = NULL;
    snprintf(name, sizeof name, "%s%d", k < 3 ? "translation" : "rotation", k % 3 + 1);
    for (; n; n = n->next) {
      const char *own = robotIs(n, "TransformAxis") ? robotText(n, "name") : NULL;
      if (own && !strcmp(own, name)) axis = n;
    }
    if (axis && readAxis(o, axis, k >= 3, j)) return 1;
  }
  return 0;
}

static int readKind(Osim *o, const xmlNode *n, OsimJoint *j) {
  int kind = 0;
  while (kind < NUM_KINDS && !robotIs(n, kinds[kind].tag)) kind++;
  if (robotIs(n, "CustomJoint")) return readTransform(o, n, j);
  if (kind == NUM_KINDS) return robotWrong(o->r, n, "this kind of joint is not read");
  const char *motions = kinds[kind].motions;
  if (j->ncoordinates != (int)strlen(motions))
    return robotWrong(o->r, n, "it must have %d coordinates, and has %d", (int)strlen(motions),
                      j->ncoordinates);
  for (const char *k = kinds[kind].order; *k; k++) {
    const char c                  = motions[*k - '0'];
    const int about               = c < 'a';
    sunrealtype axis[3]           = {0, 0, 0};
    axis[c - (about ? 'X' : 'x')] = 1;
    addMotion(j, about, axis, *k - '0', (OsimFunction){0, 1, NULL});
  }
  j->ball   = robotIs(n, "BallJoint");
  j->afloat = robotIs(n, "FreeJoint") && j->on[0].body == GROUND;
  for (int k = 0; k < j->ncoordinates; k++)
    if (o->coordinate[j->first + k].locked || o->coordinate[j->first + k].prescribed)
      j->ball = j->afloat = 0; /* It has Euler angles then. */
  return 0;
}

static int readCoordinates(Osim *o, const xmlNode *joint, OsimJoint *j) {
  const xmlNode *set = osimObjects(joint, "coordinates");
  if (!set) set = osimObjects(joint, "CoordinateSet");
  j->first = o->ncoordinates;
  for (const xmlNode *n = set ? set->children : NULL; n; n = n->next) {
    if (!robotIs(n, "Coordinate")) continue;
    OsimCoordinate c = {.node = n, .name = robotText(n, "name"), .joint = o->njoints, .k = NONE};
    if (!c.name || !*c.name) return robotWrong(o->r, n, "name must be given");
    if (osimNumbers(o->r, n, "default_value", 1, &c.value) ||
        osimNumbers(o->r, n, "default_speed_value", 1, &c.speed))
      return 1;
    c.locked                  = osimIs(n, "locked");
    const xmlNode *prescribed = robotChild(n, "prescribed_function");
    if (osimIs(n, "prescribed") && prescribed && prescribed->children) c.prescribed = prescribed;
    if (ROOM(o->coordinate, o->ncoordinates, 1)) return robotWrong(o->r, n, "no memory");
    o->coordinate[o->ncoordinates] = c;
    if (robotName(o->r, n, "coordinate", c.name, o->ncoordinates++)) return 1;
  }
  j->ncoordinates = o->ncoordinates - j->first;
  return 0;
}

/* child: the body in whose element the joint stands (before version 4), or NONE */
static int listJoint(Osim *o, const xmlNode *n, int child) {
  static const char *const parents[] = {"socket_parent_frame", "parent_body", "parent_frame", NULL};
  static const char *const children[] = {"socket_child_frame", "child_body", "child_frame", NULL};
  static const Pose unit              = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  if (ROOM(o->joint, o->njoints, 1)) return robotWrong(o->r, n, "no memory");
  OsimJoint *j = &o->joint[o->njoints];
  *j           = (OsimJoint){.node = n};
  if (osimFrame(o, n, parents, &j->on[0])) return 1;
  j->on[1] = (OsimFrame){child, unit};
  if (child == NONE && osimFrame(o, n, children, &j->on[1])) return 1;
  if (osimOffset(o->r, n, "location_in_parent", "orientation_in_parent", &j->on[0].pose) ||
      osimOffset(o->r, n, child == NONE ? "location_in_child" : "location",
                 child == NONE ? "orientation_in_child" : "orientation", &j->on[1].pose))
    return 1;
  if (j->on[0].body == j->on[1].body) return robotWrong(o->r, n, "a joint must connect two bodies");
  if (readCoordinates(o, n, j)) return 1;
  o->njoints++; /* whose functions are freed from here on */
  if (j->on[1].body != GROUND && o->body[j->on[1].body].joint == NONE)
    o->body[j->on[1].body].joint = o->njoints - 1;
  else j->afloat = 0;
  return readKind(o, n, j);
}

static int isJoint(const xmlNode *n) {
  return n->type == XML_ELEMENT_NODE && strstr((const char *)n->name, "Joint") != NULL;
}

int osimListJoints(Osim *o) {
  for (int i = 0; i < o->nbodies; i++) {
    const xmlNode *joint = robotChild(o->body[i].node, "Joint");
    for (const xmlNode *n = joint ? joint->children : NULL; n; n = n->next)
      if (isJoint(n) && listJoint(o, n, i)) return 1;
  }
  const xmlNode *set = osimObjects(o->model, "JointSet");
  for (const xmlNode *n = set ? set->children : NULL; n; n = n->next)
    if (isJoint(n) && listJoint(o, n, NONE)) return 1;
  return 0;
}

/* --------------------------------------------------------------------------------- the mechanism -- */

/* Mends moments of inertia that no body has. value: in, out, principal ones. Returns whether it had to. */
static int mend(sunrealtype *value) {
  const sunrealtype before[3] = {value[0], value[1], value[2]};
  for (int k = 0; k < 3; k++) value[k] = fmax(value[k], 0);
  for (int k = 0; k < 3; k++) {
    const sunrealtype others = value[(k + 1) % 3] + value[(k + 2) % 3], e = value[k] - others;
    for (int i = 0; i < 3 && e > 0; i++) value[i] += i == k ? -e / 3 : e / 3;
  }
  return memcmp(before, value, sizeof before) != 0;
}

/* OpenSim's bodies have the moments of inertia that the file gives, even those that no body has; such a body is added with the nearest
 * ones, and gets its own afterwards. A body without mass has no inertia. */
static int addBody(Osim *o, OsimBody *body) {
  static const char *const moments[] = {"inertia_xx", "inertia_yy", "inertia_zz",
                                        "inertia_xy", "inertia_xz", "inertia_yz"};
  const xmlNode *n                   = body->node;
  sunrealtype J[6]                   = {0}, value[3], axis[3][3];
  CPBody b                           = {CP_NEW_BODY(body->name), .mass = 0};
  if (robotUnique(o->r, n, robotText(n, "name"), "", body->name)) return 1;
  if (osimNumbers(o->r, n, "mass", 1, &b.mass) ||
      osimNumbers(o->r, n, "mass_center", 3, b.centre) || osimNumbers(o->r, n, "inertia", 6, J))
    return 1;
  for (int k = 0; k < 6; k++)
    if (osimNumbers(o->r, n, moments[k], 1, &J[k])) return 1;
  if (b.mass == 0) memset(J, 0, sizeof J);
  principalInertia(J, value, axis);
  memcpy(b.inertia, J, sizeof J);
  const int unusual = mend(value);
  if (unusual) composeInertia(value, axis, b.inertia);
  const int i = o->r->bodies->m.nbodies;
  if (robotRefused(o->r, n, CPBodiesAdd(o->r->bodies, &b.head, NULL))) return 1;
  Mechanism *m = &o->r->bodies->m;
  memcpy(m->param + m->body[i].param + 1, J, sizeof J);
  m->body[i].full = J[3] != 0 || J[4] != 0 || J[5] != 0;
  return 0;
}

/* Prescribes a coordinate by its function of time. */
static int prescribe(Osim *o, OsimCoordinate *c) {
  char name[128];
  OsimFunction z;
  if (robotUnique(o->r, c->node, c->name, "_motion", name)) return 1;
  CPDrive drive = {CP_NEW_DRIVE(name), .of = {o->joint[c->joint].name, c->k}};
  if (osimFunction(o->r, c->prescribed, 1, &z)) return 1;
  drive.function = z.f;
  if (!z.f) drive.start = z.offset, drive.rate = z.ratio;
  const int flag = CPBodiesAdd(o->r->bodies, &drive.head, NULL);
  CPFunctionFree(&z.f);
  return robotRefused(o->r, c->node, flag);
}

/* Adds a joint; the coordinates that are not locked get numbers. */
static int addJoint(Osim *o, OsimJoint *j) {
  const char *name  = robotText(j->node, "name");
  OsimCoordinate *c = o->coordinate + j->first;
  CPJointMotion motion[MOST_AXES];
  const char *names[MOST_AXES];
  int count = 0, is_plain;
  if (j->afloat) return 0;
  if (robotUnique(o->r, j->node, name && *name ? name : "joint", "", j->name)) return 1;
  CPJoint joint = {CP_NEW_JOINT(j->name),
                   .kind   = CP_JOINT_CUSTOM,
                   .in     = CP_IN_BODIES,
                   .a      = osimBodyName(o, j->on[0].body),
                   .b      = osimBodyName(o, j->on[1].body),
                   .motion = motion};
  osimMarker(&j->on[0], &joint.on_a);
  osimMarker(&j->on[1], &joint.on_b);
  for (int k = 0; k < j->ncoordinates; k++) {
    c[k].k = c[k].locked ? NONE : count++;
    if (c[k].k != NONE && c[k].k < MOST_AXES)
      joint.start[c[k].k] = c[k].value,
      names[c[k].k]       = strlen(c[k].name) < OWN_NAME ? c[k].name : "";
  }
  is_plain = j->ncoordinates == 1 && count == 1 &&
             (robotIs(j->node, "PinJoint") || robotIs(j->node, "SliderJoint"));
  if (j->ball) joint.kind = CP_JOINT_BALL;
  else if (is_plain && robotIs(j->node, "PinJoint")) joint.kind = CP_JOINT_REVOLUTE;
  else if (is_plain) {
    joint.kind = CP_JOINT_PRISMATIC;
    for (int side = 0; side < 2; side++) {
      CPMarker *on = side ? &joint.on_b : &joint.on_a;
      memcpy(on->axis, j->on[side].pose.axis[0], sizeof on->axis);
      memcpy(on->across, j->on[side].pose.axis[1], sizeof on->across);
    }
  } else if (j->nmotions == 0) joint.kind = CP_JOINT_FIXED;
  for (int k = 0; k < j->nmotions && joint.kind == CP_JOINT_CUSTOM; k++) {
    const int of = j->motion[k].of, own = of == NONE ? NONE : c[of].k;
    const OsimFunction *z = &j->motion[k].z;
    CPJointMotion *m      = &motion[joint.nmotions++];
    *m = (CPJointMotion){CP_SIZED(CPJointMotion), .about = j->motion[k].about, .coordinate = own};
    memcpy(m->axis, j->motion[k].axis, sizeof m->axis);
    m->offset = z->offset;
    if (own != NONE && z->f) m->function = z->f;
    else if (own != NONE) m->ratio = z->ratio;
    else if (of != NONE && osimEvaluate(o->r, j->node, z, c[of].value, &m->offset, NULL)) return 1;
  }
  if (joint.kind == CP_JOINT_CUSTOM) joint.ncoordinates = count, joint.names = names;
  else memset(joint.start, 0, sizeof joint.start);
  if (joint.nmotions == 0) joint.motion = NULL;
  if (robotRefused(o->r, j->node, CPBodiesAdd(o->r->bodies, &joint.head, NULL))) return 1;
  for (int k = 0; k < j->ncoordinates; k++)
    if (c[k].prescribed && c[k].k != NONE && !j->ball && prescribe(o, &c[k])) return 1;
  return 0;
}

int osimAddJoints(Osim *o) {
  for (int i = 0; i < o->nbodies; i++)
    if (addBody(o, &o->body[i])) return 1;
  for (int i = 0; i < o->njoints; i++)
    if (addJoint(o, &o->joint[i])) return 1;
  return 0;
}

/* ------------------------------------------------------------------------------------- the start -- */

/* R: out, the rotation of a ball or free joint, whose first three coordinates are body-fixed angles about x, y, z */
static void rotationOf(const OsimCoordinate *c, Pose *R) {
  const sunrealtype angle[3] = {c[0].value, c[1].value, c[2].value};
  Place place                = {.q = {0, 0, 0}};
  robotAngles(angle, 0, place.q + 3);
  robotPose(&place, R);
}

/* y = R^-1 x */
static void inverse(const Pose *a, Pose *to) {
  Pose own = *a;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) own.axis[i][k] = a->axis[k][i];
  toBody(a, a->r, own.r);
  for (int k = 0; k < 3; k++) own.r[k] = -own.r[k];
  *to = own;
}

/* q, u: out, of a ball joint's node, or of a body that moves freely. The speeds are the angular velocity and the velocity in the
 * frame on the parent. */
static void startFreely(const Osim *o, const OsimJoint *j, const Body *body, sunrealtype *q,
                        sunrealtype *u) {
  const OsimCoordinate *c = o->coordinate + j->first;
  Pose R, back, pose, turned;
  sunrealtype w[3], rate[3], arm[3], swing[3];
  rotationOf(c, &R);
  inverse(&j->on[1].pose, &back);
  if (j->afloat)
    for (int k = 0; k < 3; k++) R.r[k] = c[3 + k].value;
  osimTimes(&j->on[0].pose, &R, &pose); /* of the frame on the body */
  memcpy(arm, pose.r, sizeof arm);
  osimTimes(&pose, &back, &pose);
  turned = pose;
  for (int k = 0; k < 3; k++) rate[k] = c[k].speed;
  toSpace(&j->on[0].pose, rate, w);
  if (!j->afloat) {
    bodiesAttitude(&pose, q);
    toBody(&turned, w, u);
    return;
  }
  toSpace(&pose, body->centre, q);
  add3(1, pose.r, q);
  bodiesAttitude(&pose, q + 3);
  for (int k = 0; k < 3; k++) rate[k] = c[3 + k].speed, arm[k] = q[k] - arm[k];
  toSpace(&j->on[0].pose, rate, u);
  cross3(w, arm, swing), add3(1, swing, u);
  toBody(&turned, w, u + 3);
}

int osimPlace(Osim *o) {
  enum { EACH = 13 }; /* of a body: position and quaternion, velocities */
  const Mechanism *b = &o->r->bodies->m;
  sunrealtype *x     = calloc((size_t)(2 * b->ncoordinates + EACH * b->nbodies) + 1, sizeof *x),
              *rate = x + b->ncoordinates, *own = rate + b->ncoordinates;
  if (!x) return robotWrong(o->r, NULL, "no memory");
  for (int i = 0; i < o->nbodies; i++) {
    const int j     = o->body[i].joint;
    sunrealtype *at = own + EACH * i;
    const int ball = j != NONE && o->joint[j].ball, afloat = j != NONE && o->joint[j].afloat;
    if (!ball) memcpy(at, b->body[i].centre, sizeof b->body[i].centre);
    at[ball ? 0 : 3] = 1;
    if (ball || afloat) startFreely(o, &o->joint[j], &b->body[i], at, at + 7);
  }
  for (int i = 0; i < o->ncoordinates; i++) {
    const OsimCoordinate *c = &o->coordinate[i];
    const OsimJoint *j      = &o->joint[c->joint];
    if (c->k == NONE || j->ball || j->afloat) continue;
    const int joint = bodiesFind(b, NAME_JOINT, j->name, strlen(j->name)),
              at    = b->joint[joint].first_coordinate + c->k;
    x[at] = c->value, rate[at] = c->speed;
  }
  const int flag = bodiesPlaceAt(o->r->bodies, x, rate, own);
  free(x);
  return robotRefused(o->r, o->model, flag);
}
