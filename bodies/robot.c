/* Turns links and joints into a mechanism. Of several joints in a row, each leads to a body without mass, but the last one. */
#include "robot_impl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------- places -- */

void robotTurn(const sunrealtype *a, const sunrealtype *b, sunrealtype *e) {
  sunrealtype product[4], v[3];
  cross3(a + 1, b + 1, v);
  product[0] = a[0] * b[0] - dot3(a + 1, b + 1);
  for (int k = 0; k < 3; k++) product[k + 1] = a[0] * b[k + 1] + b[0] * a[k + 1] + v[k];
  memcpy(e, product, sizeof product);
}

void robotAxis(int k, sunrealtype angle, sunrealtype *e) {
  e[0] = cos(angle / 2);
  e[1] = e[2] = e[3] = 0;
  e[k + 1]           = sin(angle / 2);
}

void robotAngles(const sunrealtype *angle, int are_fixed, sunrealtype *e) {
  sunrealtype part[4];
  e[0] = 1, e[1] = e[2] = e[3] = 0;
  for (int k = 0; k < 3; k++) {
    robotAxis(k, angle[k], part);
    if (are_fixed) robotTurn(part, e, e);
    else robotTurn(e, part, e);
  }
}

/* The formula with the largest of the four divisors is used (S. W. Shepperd, J. Guidance and
 * Control 1, 1978). */
void robotAxes(sunrealtype axis[3][3], sunrealtype *e) {
  const sunrealtype trace = axis[0][0] + axis[1][1] + axis[2][2];
  int k                   = 0;
  for (int i = 1; i < 3; i++)
    if (axis[i][i] > axis[k][k]) k = i;
  if (trace > axis[k][k]) {
    const sunrealtype s = 2 * sqrt(1 + trace);
    e[0]                = s / 4;
    for (int i = 0; i < 3; i++)
      e[i + 1] = (axis[(i + 1) % 3][(i + 2) % 3] - axis[(i + 2) % 3][(i + 1) % 3]) / s;
  } else {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const sunrealtype s = 2 * sqrt(1 + 2 * axis[k][k] - trace);
    e[0]                = (axis[i][j] - axis[j][i]) / s;
    e[k + 1]            = s / 4;
    e[i + 1]            = (axis[k][i] + axis[i][k]) / s;
    e[j + 1]            = (axis[k][j] + axis[j][k]) / s;
  }
}

void robotPlace(const Place *parent, const sunrealtype *pos, const sunrealtype *quat, Place *place) {
  Pose pose;
  sunrealtype q[7], size = 0;
  robotPose(parent, &pose);
  toSpace(&pose, pos, q);
  add3(1, pose.r, q);
  robotTurn(parent->q + 3, quat, q + 3);
  for (int k = 3; k < 7; k++) size += q[k] * q[k];
  for (int k = 3; k < 7; k++) q[k] /= sqrt(size);
  memcpy(place->q, q, sizeof q);
  place->link = parent->link;
}

const char *const robot_moments[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};

void robotMass(Robot *r, const Place *place, const Mass *mass) {
  Mass moved = *mass;
  Pose pose;
  if (place->link == GROUND) return;
  robotPose(place, &pose);
  moveMass(&pose, &moved);
  addMass(&moved, &r->link[place->link].mass);
}

void robotLift(Robot *r, const Place *place, const Mass *mass, sunrealtype part) {
  Mass moved = *mass;
  Pose pose;
  if (place->link == GROUND || part == 0) return;
  robotPose(place, &pose);
  moveMass(&pose, &moved);
  scaleMass(part, &moved);
  addMass(&moved, &r->link[place->link].lifted);
}

void robotMarker(const Robot *r, const Place *place, CPMarker *on) {
  Place link = {.q = {0, 0, 0, 1, 0, 0, 0}};
  Pose frame, pose;
  sunrealtype arm[3];
  if (place->link != GROUND) link = r->link[place->link].place;
  robotPose(&link, &frame);
  robotPose(place, &pose);
  memcpy(arm, pose.r, sizeof arm);
  add3(-1, frame.r, arm);
  toBody(&frame, arm, on->point);
  toBody(&frame, pose.axis[2], on->axis);
  toBody(&frame, pose.axis[0], on->across);
}

/* -------------------------------------------------------------------------- links and joints -- */

/* Replaces characters that names of the mechanism must not have: blanks, control characters, dots. */
static void fit(char *name) {
  bodiesOneLine(name, 1);
  for (char *c = name; *c; c++)
    if (*c == '.' || *c == ' ') *c = '_';
}

/* The next number of each name is kept, so that n elements of one name take a time proportional to n. */
int robotUnique(Robot *r, const xmlNode *at, const char *base, const char *suffix, char *name) {
  enum { MOST = 90, SIZE = 128 };
  char stem[MOST + 1];
  snprintf(stem, sizeof stem, "%.*s%s", MOST - (int)strlen(suffix), base, suffix);
  fit(stem);
  intptr_t number = (intptr_t)xmlHashLookup2(r->names, BAD_CAST "number", BAD_CAST stem);
  do {
    if (number == 0) snprintf(name, SIZE, "%s", stem);
    else snprintf(name, SIZE, "%s_%d", stem, (int)number + 1);
    number++;
  } while (bodiesTaken(&r->bodies->m, name));
  return xmlHashUpdateEntry2(r->names, BAD_CAST "number", BAD_CAST stem, (void *)number, NULL)
             ? robotWrong(r, at, "no memory")
             : 0;
}

int robotLink(Robot *r, const xmlNode *node, const char *name, const Place *place) {
  if (ROOM(r->link, r->nlinks, 1)) return robotWrong(r, node, "no memory"), -1;
  Link *link = &r->link[r->nlinks];
  *link      = (Link){.node = node, .place = *place, .first = r->njoints};
  snprintf(link->name, sizeof link->name, "%.100s", name ? name : "body");
  return r->nlinks++;
}

static RobotJoint *newJoint(Robot *r, const xmlNode *node, JointType type, const char *name,
                            const Place *place, const sunrealtype *point, const sunrealtype *axis) {
  Pose pose;
  if (ROOM(r->joint, r->njoints, 1)) return robotWrong(r, node, "no memory"), NULL;
  RobotJoint *joint = &r->joint[r->njoints];
  *joint            = (RobotJoint){.node = node, .type = type, .name = name};
  robotPose(place, &pose);
  toSpace(&pose, point, joint->point);
  add3(1, pose.r, joint->point);
  toSpace(&pose, axis, joint->axis);
  const sunrealtype size = length3(axis);
  for (int k = 0; k < 3; k++) joint->axis[k] /= size > 0 ? size : 1;
  if (!(size > 0) && type != BALL && type != FREE)
    return robotWrong(r, node, "axis must not be zero"), NULL;
  if (type == BALL) joint->value[0] = 1;
  if (type == FREE) memcpy(joint->value, place->q, sizeof place->q);
  if (name && robotName(r, node, "joint", name, r->njoints)) return NULL;
  r->njoints++;
  return joint;
}

RobotJoint *robotJoint(Robot *r, const xmlNode *node, JointType type, const char *name,
                       const Place *place, const sunrealtype *point, const sunrealtype *axis) {
  RobotJoint *joint = newJoint(r, node, type, name, place, point, axis);
  if (joint) r->link[r->nlinks - 1].njoints++;
  return joint;
}

RobotJoint *robotClosing(Robot *r, const xmlNode *node, JointType type, const char *name,
                         const Place *place, const sunrealtype *point, const sunrealtype *axis,
                         const int *side) {
  RobotJoint *joint = newJoint(r, node, type, name, place, point, axis);
  if (joint) r->loops = joint->closes = 1, memcpy(joint->side, side, sizeof joint->side);
  return joint;
}

static int hasLaw(const RobotJoint *j) {
  return j->stiffness != 0 || j->damping != 0 || j->armature != 0;
}

int robotRefused(Robot *r, const xmlNode *at, int flag) {
  return flag < 0 ? robotWrong(r, at, "%s", CPObjectGetLastMessage(CP_OBJECT(r->bodies))) : 0;
}

int robotFunction(Robot *r, const xmlNode *at, const CPFunctionOptions *options, CPFunction *f) {
  return CPFunctionCreate(options, f) ? robotWrong(r, at, "%.300s", CPObjectGetLastMessage(NULL))
                                      : 0;
}

/* Sets the points and axes of a joint in the frames of its bodies, so that its coordinate is the value of the file, or 0 if it is held there. */
static int takeFrames(Robot *r, const RobotJoint *j, CPJoint *joint) {
  Place side[2] = {{.link = j->side[0]}, {.link = j->side[1]}};
  CPMarker on   = {.axis = {j->axis[0], j->axis[1], j->axis[2]}};
  sunrealtype axis[3][3], turn[4];
  const char *wrong = bodiesAxes(3, 0, &on, axis);
  if (wrong) return robotWrong(r, j->node, "%s", wrong);
  for (int k = 0; k < 2; k++) {
    memcpy(side[k].q, j->point, sizeof j->point);
    robotAxes(axis, side[k].q + 3);
  }
  const sunrealtype coordinate = j->ref - (j->held ? j->value[0] : 0); /* in the reference pose */
  if (j->type == SLIDE) add3(-coordinate, axis[2], side[0].q);
  robotAxis(2, j->type == HINGE ? coordinate : 0, turn);
  robotTurn(side[1].q + 3, turn, side[1].q + 3);
  joint->in = CP_IN_BODIES;
  robotMarker(r, &side[0], &joint->on_a);
  robotMarker(r, &side[1], &joint->on_b);
  return 0;
}

/* Adds the stops and the dry friction of a joint, as far as it has a coordinate. */
static int addStops(Robot *r, const char *base, RobotJoint *j) {
  const int has = j->k != NONE;
  char name[128];
  if (j->limited && !has) {
    if (robotNote(r, j->node, "limits of joints")) return 1;
  } else if (j->limited && r->loose && r->loose[j - r->joint]) {
    if (robotNote(r, j->node, "limits of joints within which no loop closes")) return 1;
  } else if (j->limited) {
    j->has_stops = 1;
    if (robotUnique(r, j->node, base, "_limit", name)) return 1;
    const CPLimit limit = {CP_NEW_LIMIT(name), .of = {{j->joint, j->k}}, .lower = j->range[0],
                           .upper = j->range[1]};
    if (robotRefused(r, j->node, CPBodiesAdd(r->bodies, &limit.head, NULL))) return 1;
  }
  if (!(j->friction > 0)) return 0;
  if (!has) return robotNote(r, j->node, "friction of joints");
  if (robotUnique(r, j->node, base, "_friction", name)) return 1;
  const CPFriction friction = {CP_NEW_FRICTION(name), .of = {j->joint, j->k}, .force = j->friction};
  return robotRefused(r, j->node, CPBodiesAdd(r->bodies, &friction.head, NULL));
}

/* The law of a joint: a spring, or the damper of a ball or a free body. on: the bodies of both sides */
static int addLaw(Robot *r, const char *base, const RobotJoint *j, const char *const *on) {
  char law[128];
  if (robotUnique(r, j->node, base, "_spring", law)) return 1;
  if (j->type <= SLIDE) {
    const CPSpring spring = {CP_NEW_SPRING(law),    .of = {j->joint, 0},  .stiffness = j->stiffness,
                             .damping = j->damping, .free = j->springref, .inertance = j->armature};
    return robotRefused(r, j->node, CPBodiesAdd(r->bodies, &spring.head, NULL));
  }
  if ((j->stiffness != 0 && robotNote(r, j->node, "the stiffness of ball and free joints")) ||
      (j->armature != 0 && robotNote(r, j->node, "the armature of ball joints of bodies that move")))
    return 1;
  CPBushing bushing = {CP_NEW_BUSHING(law), .a = on[0], .b = on[1], .in = CP_IN_BODIES,
                       .drag = j->damping};
  if (j->side[1] != GROUND)
    memcpy(bushing.on_a.point, r->link[j->side[1]].place.q, sizeof j->point);
  for (int k = 0; k < 3 && j->type == FREE; k++) bushing.damping[k] = j->damping;
  return robotRefused(r, j->node, CPBodiesAdd(r->bodies, &bushing.head, NULL));
}

static int addJoint(Robot *r, RobotJoint *j) {
  static const CPJointKind kinds[] = {[HINGE] = CP_JOINT_REVOLUTE,
                                      [SLIDE] = CP_JOINT_PRISMATIC,
                                      [BALL]  = CP_JOINT_BALL,
                                      [FREE]  = CP_JOINT_NONE,
                                      [PLANE] = CP_JOINT_PLANAR};
  const char *on[2], *base = j->name;
  for (int k = 0; k < 2; k++) {
    on[k] = j->side[k] == GROUND ? NULL : r->link[j->side[k]].name;
    if (!j->name && on[k]) base = on[k];
  }
  CPJoint joint = {CP_NEW_JOINT(j->joint), .a = on[0], .b = on[1],
                   .kind = j->held ? CP_JOINT_FIXED : kinds[j->type]};
  j->k          = j->held || j->type > SLIDE ? NONE : 0;
  snprintf(j->joint, sizeof j->joint, "%.90s", j->name ? j->name : "ground");
  fit(j->joint);
  if (bodiesTaken(&r->bodies->m,
                  j->joint) && /* In files, a body and a joint may have the same name. */
      robotUnique(r, j->node, base, "_joint", j->joint))
    return 1;
  if (joint.kind != CP_JOINT_NONE &&
      (takeFrames(r, j, &joint) ||
       robotRefused(r, j->node, CPBodiesAdd(r->bodies, &joint.head, NULL))))
    return 1;
  if (j->held) return 0;
  return addStops(r, base, j) || (hasLaw(j) && addLaw(r, base, j, on));
}

/* Moments of inertia a >= b >= c of real bodies obey a <= b + c. Those of files may not, by rounding or by mistake: with the
 * excess e = a - b - c, the nearest ones that do are a - e/3, b + e/3, c + e/3. */
static int mendInertia(Robot *r, const Link *link, sunrealtype *J) {
  sunrealtype value[3], axis[3][3];
  int k = 0;
  principalInertia(J, value, axis);
  for (int i = 1; i < 3; i++)
    if (value[i] > value[k]) k = i;
  const sunrealtype others = value[0] + value[1] + value[2] - value[k], e = value[k] - others,
                    least = fmin(fmin(value[0], value[1]), value[2]);
  if (!(e > SUN_RCONST(1e-12) * value[k]) || !(least > 0)) return 0; /* or refused (CPBodiesAdd) */
  if (value[k] > 2 * others)
    return robotWrong(r, link->node,
                      "no body has principal moments of %g, %g and %g: the largest is more than "
                      "twice the sum of the others",
                      (double)value[0], (double)value[1], (double)value[2]);
  if (robotTell(r, link->node, CHANGED,
                "the moments of inertia of %.60s to the nearest ones that a body can have: the "
                "largest was %.2g %% more than the others together",
                link->name, (double)(100 * e / others)))
    return 1;
  for (int i = 0; i < 3; i++) value[i] += i == k ? -e / 3 : e / 3;
  composeInertia(value, axis, J);
  return 0;
}

/* May links without mass move by what follows, loops or elements of other files? */
static int moreMoves(const Robot *r) { return r->loops || r->open; }

/* A thin body, with moments a, a and 0, that moves freely and bears no other has no equation for its spin about its axis. As no torque acts
 * about that, any moment there gives the same motion of a body that does not spin: it gets a. */
static int mendThin(Robot *r, const Link *link, sunrealtype *J) {
  static const sunrealtype rounding = SUN_RCONST(1e-12);
  const int own                     = (int)(link - r->link);
  int alone = r->joint[link->first].type == FREE && !moreMoves(r), axial = 0;
  sunrealtype value[3], axis[3][3];
  for (int i = 0; i < r->nlinks; i++) alone = alone && r->link[i].place.link != own;
  if (!alone) return 0;
  principalInertia(J, value, axis);
  for (int i = 1; i < 3; i++)
    if (value[i] < value[axial]) axial = i;
  const sunrealtype across = fmax(fmax(value[0], value[1]), value[2]);
  if (!(across > 0) || fabs(value[axial]) > rounding * across) return 0;
  value[axial] = across;
  composeInertia(value, axis, J);
  return robotTell(r, link->node, CHANGED,
                   "the moment of inertia of %.60s about its axis to that across it: 0 leaves its "
                   "spin without an equation of motion",
                   link->name);
}

static int addLinks(Robot *r, const Place *start, sunrealtype (*velocity)[6]) {
  for (int i = 0; i < r->nlinks; i++) {
    Link *link = &r->link[i];
    char name[128];
    Pose pose;
    CPBody body = {CP_NEW_BODY(name), .mass = link->mass.mass};
    if (robotUnique(r, link->node, link->name, "", name)) return 1;
    robotPose(&link->place, &pose);
    memcpy(body.position, start[i].q, sizeof body.position);
    memcpy(body.quaternion, start[i].q + 3, sizeof body.quaternion);
    memcpy(body.velocity, velocity[i], sizeof body.velocity);
    memcpy(body.omega, velocity[i] + 3, sizeof body.omega);
    Pose back = {.r = {0, 0, 0}}; /* the inverse rotation */
    for (int k = 0; k < 3; k++)
      for (int l = 0; l < 3; l++) back.axis[k][l] = pose.axis[l][k];
    Mass own = link->mass;
    add3(-1, pose.r, own.centre);
    moveMass(&back, &own);
    /* Point masses in a row leave moments at the level of rounding errors of their offsets. */
    const sunrealtype rounding = SUN_RCONST(1e-15) * own.mass * dot3(own.centre, own.centre);
    for (int k = 0; k < 6; k++)
      if (fabs(own.J[k]) <= rounding) own.J[k] = 0;
    if (r->mends && (mendInertia(r, link, own.J) || mendThin(r, link, own.J))) return 1;
    memcpy(body.centre, own.centre, sizeof body.centre);
    memcpy(body.inertia, own.J, sizeof body.inertia);
    /* Products of inertia at the level of rounding errors are set to 0. */
    for (int k = 3; k < 6; k++)
      if (fabs(own.J[k]) < SUN_RCONST(1e-15) * (own.J[0] + own.J[1] + own.J[2]))
        body.inertia[k] = 0;
    memcpy(link->name, name, sizeof name);
    if (robotRefused(r, link->node, CPBodiesAdd(r->bodies, &body.head, NULL))) return 1;
  }
  return 0;
}

/* A constant force against the weight of what gravity does not act on */
static int addLift(Robot *r, const Link *link) {
  sunrealtype arm[3];
  const sunrealtype *g = r->bodies->m.param; /* begins with gravity */
  const Mass *lifted   = &link->lifted;
  char name[128];
  Pose pose;
  if (lifted->mass == 0) return 0;
  if (robotUnique(r, link->node, link->name, "_lift", name)) return 1;
  robotPose(&link->place, &pose);
  memcpy(arm, lifted->centre, sizeof arm);
  add3(-1, pose.r, arm);
  CPForce force = {CP_NEW_FORCE(name), .body = link->name, .in = CP_IN_BODIES};
  toBody(&pose, arm, force.point);
  for (int k = 0; k < 3; k++) force.force[k] = -lifted->mass * g[k];
  return robotRefused(r, link->node, CPBodiesAdd(r->bodies, &force.head, NULL));
}

/* Joints in a row become links of their own, without mass but the last one, so that each link has one joint. */
static int splitRows(Robot *r) {
  int count = 0;
  for (int i = 0; i < r->nlinks; i++) count += r->link[i].njoints;
  Link *all = malloc(((size_t)count + 1) * sizeof *all);
  int *last = malloc(((size_t)r->nlinks + 1) * sizeof *last), n = 0, failed = 0;
  if (!all || !last) {
    free(all);
    free(last);
    return robotWrong(r, NULL, "no memory");
  }
  for (int i = 0; i < r->nlinks; i++) {
    const Link *link      = &r->link[i];
    const RobotJoint *row = &r->joint[link->first];
    for (int k = 0; k < link->njoints && link->njoints > 1; k++)
      if (row[k].type == FREE) failed = robotWrong(r, row[k].node, "a free joint must be alone");
    for (int k = 0; k < link->njoints; k++, n++) {
      all[n]            = *link;
      all[n].first      = link->first + k;
      all[n].njoints    = 1;
      all[n].place.link = k > 0                        ? n - 1
                          : link->place.link == GROUND ? GROUND
                                                       : last[link->place.link];
      RobotJoint *joint = &r->joint[all[n].first];
      joint->side[0]    = all[n].place.link;
      joint->side[1]    = n;
      if (k == link->njoints - 1) continue;
      all[n].mass = all[n].lifted = (Mass){0};
      snprintf(all[n].name, sizeof all[n].name, "%.45s_%.45s", link->name,
               row[k].name ? row[k].name : "part");
    }
    last[i] = n - 1;
  }
  for (int i = 0; i < r->nplaces; i++)
    if (r->place[i].link != GROUND) r->place[i].link = last[r->place[i].link];
  for (int i = 0; i < r->njoints; i++)
    for (int k = 0; k < 2 && r->joint[i].closes; k++)
      if (r->joint[i].side[k] != GROUND) r->joint[i].side[k] = last[r->joint[i].side[k]];
  free(r->link);
  free(last);
  r->link = all, r->nlinks = n;
  return failed;
}

/* The armature a of a joint is on the diagonal of M. Of a free body, and of a ball joint of the world, it is that of a sphere with the
 * mass and the moments a at the origin of the body's frame, on which gravity does not act, as its moments are equal about all axes. */
static void addRotors(Robot *r) {
  for (int i = 0; i < r->nlinks; i++) {
    Place at         = r->link[i].place;
    RobotJoint *j    = &r->joint[r->link[i].first];
    const Mass rotor = {
        j->type == FREE ? j->armature : 0, {0, 0, 0}, {j->armature, j->armature, j->armature}};
    if (j->type != FREE && !(j->type == BALL && at.link == GROUND)) continue;
    at.link = i;
    robotMass(r, &at, &rotor);
    robotLift(r, &at, &rotor, 1);
    j->armature = 0;
  }
}

/* A joint that moves no mass has no equation of motion. Such joints of URDF, at tips and of frames, are held where they start,
 * unless loops or elements that follow may move them. */
static int holdMassless(Robot *r) {
  sunrealtype *moved = calloc((size_t)r->nlinks + 1, sizeof *moved);
  int failed         = moved ? 0 : robotWrong(r, NULL, "no memory");
  for (int i = r->nlinks - 1; i >= 0 && !failed; i--) {
    const Link *link = &r->link[i];
    RobotJoint *j    = &r->joint[link->first];
    moved[i] += link->mass.mass + (j->type <= SLIDE ? j->armature : 0);
    if (link->place.link != GROUND) moved[link->place.link] += moved[i];
    if (moved[i] > 0 || moreMoves(r)) continue;
    if (!r->mends)
      failed =
          robotWrong(r, link->node,
                     "this body moves and must have mass: by an inertial element, or by shapes");
    else
      failed = robotTell(r, j->node, CHANGED, "joints that move no mass are held, as %.80s",
                         j->name ? j->name : link->name);
    j->held = 1;
  }
  free(moved);
  return failed;
}

int robotBuild(Robot *r) {
  if (robotSprings(r) || splitRows(r)) return 1;
  addRotors(r);
  if (holdMassless(r)) return 1;
  Place *start              = malloc(((size_t)r->nlinks + 1) * sizeof *start);
  sunrealtype(*velocity)[6] = calloc((size_t)r->nlinks + 1, sizeof *velocity);
  int failed                = !start || !velocity ? robotWrong(r, NULL, "no memory") : 0;
  if (!failed) failed = robotStartPlaces(r, start, velocity) || addLinks(r, start, velocity);
  free(start);
  free(velocity);
  if (failed) return 1;
  for (int i = 0; i < r->nlinks; i++)
    if (addJoint(r, &r->joint[r->link[i].first]) || addLift(r, &r->link[i])) return 1;
  for (int i = 0; i < r->njoints; i++)
    if (r->joint[i].closes && addJoint(r, &r->joint[i])) return 1;
  return 0;
}

/* -------------------------------------------------------------------------------- couplings -- */

int robotLoop(Robot *r, const xmlNode *at, const char *name, int weld, const Place *side) {
  char unique[128];
  const char *bodies[2], *base = name;
  for (int k = 0; k < 2; k++)
    bodies[k] = side[k].link == GROUND ? NULL : r->link[side[k].link].name;
  if (side[0].link == side[1].link)
    return robotTell(r, at, WITHOUT_EFFECT, "loops between parts of one body");
  if (!base) base = bodies[0] ? bodies[0] : "world";
  if (robotUnique(r, at, base, name ? "" : weld ? "_weld" : "_connect", unique)) return 1;
  CPJoint joint = {CP_NEW_JOINT(unique), .kind = weld ? CP_JOINT_FIXED : CP_JOINT_BALL,
                   .a = bodies[0], .b = bodies[1], .in = CP_IN_BODIES};
  robotMarker(r, &side[0], &joint.on_a);
  robotMarker(r, &side[1], &joint.on_b);
  return robotRefused(r, at, CPBodiesAdd(r->bodies, &joint.head, NULL));
}

/* f: out, P(x - ref). Returns as robotFunction. */
static int polynomial(Robot *r, const xmlNode *at, sunrealtype ref, const sunrealtype *c,
                      CPFunction *f) {
  static const char *const variable[] = {"x"};
  char text[300];
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .text = text, .nvariables = 1,
                                     .variable = variable};
  snprintf(text, sizeof text, "poly(x - (%.17g), %.17g, %.17g, %.17g, %.17g, %.17g)", (double)ref,
           (double)c[0], (double)c[1], (double)c[2], (double)c[3], (double)c[4]);
  return robotFunction(r, at, &options, f);
}

int robotCoupler(Robot *r, const xmlNode *at, const CPCoupler *coupler) {
  const CPFormulation asked = r->bodies->formulation;
  r->bodies->formulation    = CP_JOINT_COORDINATES;
  const int flag            = CPBodiesAdd(r->bodies, &coupler->head, NULL);
  r->bodies->formulation    = asked;
  return robotRefused(r, at, flag);
}

int robotCouple(Robot *r, const xmlNode *at, const char *name, int i, int j, const sunrealtype *c) {
  char unique[128];
  const RobotJoint *one = &r->joint[i], *two = j >= 0 ? &r->joint[j] : NULL;
  const int linear = c[2] == 0 && c[3] == 0 && c[4] == 0, constant = linear && c[1] == 0;
  sunrealtype offset = one->ref + c[0];
  if (one->held) return robotTell(r, at, WITHOUT_EFFECT, "couplings of joints that are held");
  if (two && two->held) {
    const sunrealtype x = two->value[0] - two->ref;
    offset              = one->ref + c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
    two                 = NULL;
  }
  if (robotUnique(r, at, name ? name : one->joint, name ? "" : "_coupler", unique)) return 1;
  for (int side = 0; side < 2; side++) {
    const RobotJoint *joint = side ? two : one;
    if (joint && (joint->type > SLIDE || joint->k == NONE))
      return robotWrong(
          r, at, "the joint \"%.60s\" has no coordinate of its own: it must be a hinge or a slide",
          joint->name);
  }
  if (!two || constant) {
    const CPDrive drive = {CP_NEW_DRIVE(unique), .of = {one->joint, one->k}, .start = offset};
    return robotRefused(r, at, CPBodiesAdd(r->bodies, &drive.head, NULL));
  }
  CPCoupler coupler = {CP_NEW_COUPLER(unique), .of = {{one->joint, one->k}, {two->joint, two->k}},
                       .ratio = {1, linear ? -c[1] : -1}, .offset = offset - c[1] * two->ref};
  if (!linear) {
    coupler.offset = one->ref;
    if (polynomial(r, at, two->ref, c, &coupler.function)) return 1;
  }
  const int failed = robotCoupler(r, at, &coupler);
  CPFunctionFree(&coupler.function);
  return failed;
}
