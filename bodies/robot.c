/* Turns links and joints into a mechanism. A body of MJCF may have several joints in a row; those
 * that together amount to one joint of cpodes_bodies.h (universal, cylindrical, planar, ball) are
 * recognised. */
#include "robot_impl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sunrealtype small =
    SUN_RCONST(1e-6); /* tolerance of directions and places in files, which have about six digits */

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

void robotMass(Robot *r, const Place *place, const Mass *mass) {
  Mass moved = *mass;
  Pose pose;
  if (place->link == GROUND) return;
  robotPose(place, &pose);
  moveMass(&pose, &moved);
  addMass(&moved, &r->link[place->link].mass);
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

RobotJoint *robotJoint(Robot *r, const xmlNode *node, JointType type, const char *name,
                       const Place *place, const sunrealtype *point, const sunrealtype *axis) {
  Pose pose;
  if (ROOM(r->joint, r->njoints, 1)) return robotWrong(r, node, "no memory"), NULL;
  RobotJoint *joint = &r->joint[r->njoints];
  *joint            = (RobotJoint){.node = node, .type = type, .name = name, .sign = 1};
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
  r->link[r->nlinks - 1].njoints++;
  r->njoints++;
  return joint;
}

static int perpendicular(const sunrealtype *a, const sunrealtype *b) {
  return fabs(dot3(a, b)) < small;
}

/* point: out, where two perpendicular lines meet. Returns 0 if they do not meet. */
static int meet(const RobotJoint *a, const RobotJoint *b, sunrealtype *point) {
  sunrealtype d[3] = {0, 0, 0}, rest[3];
  add3(1, b->point, d);
  add3(-1, a->point, d);
  memcpy(point, a->point, 3 * sizeof *point);
  memcpy(rest, d, sizeof rest);
  add3(dot3(d, a->axis), a->axis, point);
  add3(-dot3(d, a->axis), a->axis, rest);
  add3(-dot3(d, b->axis), b->axis, rest);
  return sqrt(dot3(rest, rest)) < small;
}

static int hasLaw(const RobotJoint *j) {
  return j->stiffness != 0 || j->damping != 0 || j->armature != 0;
}

/* Combines n joints in a row into one joint of the mechanism; its kind remains CP_JOINT_NONE for a
 * free body. held: out, the coordinate that none of them moves, or NONE. Returns 0 if there is no
 * such joint. */
static int combine(RobotJoint *j, int n, CPJoint *joint, int *held) {
  CPMarker *a = &joint->on_a;
  joint->kind = CP_JOINT_NONE;
  *held       = NONE;
  memcpy(a->point, j[0].point, sizeof a->point);
  memcpy(a->axis, j[0].axis, sizeof a->axis);
  if (n == 1 && j->type == FREE) return 1;
  if (n == 1) {
    joint->kind = j->type == HINGE   ? CP_JOINT_REVOLUTE
                  : j->type == SLIDE ? CP_JOINT_PRISMATIC
                  : j->type == PLANE ? CP_JOINT_PLANAR
                                     : CP_JOINT_BALL;
  } else if (n == 2 && j[0].type == HINGE && j[1].type == HINGE) {
    if (perpendicular(j[0].axis, j[1].axis) && meet(&j[0], &j[1], a->point)) {
      joint->kind = CP_JOINT_UNIVERSAL;
      memcpy(joint->on_b.axis, j[1].axis, sizeof j[1].axis);
      j[1].k = 1;
    }
  } else if (n == 2 && j[0].type + j[1].type == HINGE + SLIDE) {
    const int hinge = j[1].type == HINGE;
    sunrealtype cross[3];
    cross3(j[0].axis, j[1].axis, cross);
    if (sqrt(dot3(cross, cross)) < small) {
      joint->kind    = CP_JOINT_CYLINDRICAL;
      j[hinge].k     = 1;
      j[!hinge].sign = dot3(j[0].axis, j[1].axis);
      memcpy(a->point, j[hinge].point, sizeof a->point);
      memcpy(a->axis, j[hinge].axis, sizeof a->axis);
    } else if (hinge && perpendicular(j[0].axis, j[1].axis)) { /* The slide does not turn. */
      joint->kind = CP_JOINT_PLANAR;
      j[1].k      = 2;
      *held       = 1;
      memcpy(a->point, j[1].point, sizeof a->point);
      memcpy(a->axis, j[1].axis, sizeof a->axis);
      memcpy(a->across, j[0].axis, sizeof a->across);
    }
  } else if (n == 2 && j[0].type == SLIDE && j[1].type == SLIDE) {
    if (perpendicular(j[0].axis, j[1].axis)) {
      joint->kind = CP_JOINT_PLANAR;
      j[1].k      = 1;
      *held       = 2;
      cross3(j[0].axis, j[1].axis, a->axis);
      memcpy(a->across, j[0].axis, sizeof a->across);
    }
  } else if (n == 3 && j[0].type == SLIDE && j[1].type == SLIDE && j[2].type == HINGE) {
    sunrealtype y[3];
    cross3(j[2].axis, j[0].axis, y);
    if (perpendicular(j[0].axis, j[2].axis) && fabs(dot3(y, j[1].axis)) > 1 - small * small) {
      joint->kind = CP_JOINT_PLANAR;
      j[1].k      = 1;
      j[1].sign   = dot3(y, j[1].axis);
      j[2].k      = 2;
      memcpy(a->point, j[2].point, sizeof a->point);
      memcpy(a->axis, j[2].axis, sizeof a->axis);
      memcpy(a->across, j[0].axis, sizeof a->across);
    }
  } else if (n == 3 && j[0].type == HINGE && j[1].type == HINGE && j[2].type == HINGE) {
    sunrealtype other[3], d = 0;
    const int ball = perpendicular(j[0].axis, j[1].axis) && perpendicular(j[1].axis, j[2].axis) &&
                     perpendicular(j[0].axis, j[2].axis) && meet(&j[0], &j[1], a->point) &&
                     meet(&j[1], &j[2], other);
    for (int k = 0; k < 3; k++) d = fmax(d, fabs(other[k] - a->point[k]));
    if (ball && d < small && !hasLaw(&j[0]) && !hasLaw(&j[1]) && !hasLaw(&j[2])) {
      joint->kind = CP_JOINT_BALL;
      for (int i = 0; i < 3; i++) j[i].k = NONE; /* The ball has no coordinates. */
    }
  }
  return joint->kind != CP_JOINT_NONE;
}

int robotRefused(Robot *r, const xmlNode *at, int flag) {
  return flag < 0 ? robotWrong(r, at, "%s", CPObjectGetLastMessage(CP_OBJECT(r->bodies))) : 0;
}

/* Moves the points and axes of a joint, given in space in the reference pose, to the frames of its bodies, so that its
 * coordinates are the values of the joints in the row. */
static int takeFrames(Robot *r, const Link *link, RobotJoint *j, CPJoint *joint) {
  Place side[2]   = {{.link = link->place.link}, {.link = (int)(link - r->link)}};
  const int hooke = joint->kind == CP_JOINT_UNIVERSAL;
  CPMarker on_b   = joint->on_a;
  if (hooke) { /* The angles are those from x_a to z_b, and from z_a to x_b. */
    memcpy(on_b.axis, joint->on_b.axis, sizeof on_b.axis);
    memcpy(on_b.across, joint->on_a.axis, sizeof on_b.across);
    memcpy(joint->on_a.across, joint->on_b.axis, sizeof on_b.across);
  }
  for (int k = 0; k < 2; k++) {
    const CPMarker *on = k ? &on_b : &joint->on_a;
    sunrealtype axis[3][3], turn[4], angle = 0;
    const char *wrong = bodiesAxes(3, 0, on, axis);
    if (wrong) return robotWrong(r, j->node, "%s", wrong);
    memcpy(side[k].q, on->point, sizeof on->point);
    for (int i = 0; i < link->njoints; i++) {
      const sunrealtype ref = j[i].sign * j[i].ref;
      if (j[i].type == HINGE && (!hooke || i == k)) angle = hooke && k == 0 ? -ref : ref;
      if (j[i].type == SLIDE && k == 0)
        add3(-ref, axis[joint->kind == CP_JOINT_PLANAR ? j[i].k : 2], side[0].q);
    }
    robotAxes(axis, side[k].q + 3);
    robotAxis(2, hooke || k == 1 ? angle : 0, turn);
    robotTurn(side[k].q + 3, turn, side[k].q + 3);
  }
  joint->in = CP_IN_BODIES;
  robotMarker(r, &side[0], &joint->on_a);
  robotMarker(r, &side[1], &joint->on_b);
  return 0;
}

/* Adds the stops and the dry friction of a joint, as far as it has a coordinate and the start lies between the stops. */
static int addStops(Robot *r, const Link *link, const RobotJoint *j) {
  const char *base = j->name ? j->name : link->name;
  const int has = j->k != NONE && j->type <= SLIDE, turned = j->sign < 0;
  char name[128];
  if (j->limited && (!has || !(j->range[0] < j->range[1]))) {
    if (robotNote(r, j->node, "limits of joints")) return 1;
  } else if (j->limited && !(j->value[0] >= j->range[0] && j->value[0] <= j->range[1])) {
    if (robotNote(r, j->node, "limits of joints that the start violates")) return 1;
  } else if (j->limited) {
    if (robotUnique(r, j->node, base, "_limit", name)) return 1;
    const CPLimit limit = {CP_NEW_LIMIT(name), .of = {{j->joint, j->k}},
                           .lower = j->sign * j->range[turned],
                           .upper = j->sign * j->range[!turned]};
    if (robotRefused(r, j->node, CPBodiesAdd(r->bodies, &limit.head, NULL))) return 1;
  }
  if (!(j->friction > 0)) return 0;
  if (!has) return robotNote(r, j->node, "friction of joints");
  if (robotUnique(r, j->node, base, "_friction", name)) return 1;
  const CPFriction friction = {CP_NEW_FRICTION(name), .of = {j->joint, j->k}, .force = j->friction};
  return robotRefused(r, j->node, CPBodiesAdd(r->bodies, &friction.head, NULL));
}

static int addJoint(Robot *r, Link *link, RobotJoint *j) {
  const int parent = link->place.link;
  const char *body = link->name, *on = parent == GROUND ? NULL : r->link[parent].name;
  int held;
  char name[128], drive[128];
  CPJoint joint = {CP_NEW_JOINT(name), .a = on, .b = body};
  if (!combine(j, link->njoints, &joint, &held))
    return robotWrong(
        r, j->node,
        "this body's %d joints in a row are not supported; there are two hinges whose axes meet at "
        "right angles, a slide and a hinge along it, a slide and then a hinge across it, two "
        "slides "
        "at right angles, the same and a hinge across both, and three hinges without springs, "
        "dampers and armatures whose axes meet at right angles",
        link->njoints);
  if (joint.kind != CP_JOINT_NONE && takeFrames(r, link, j, &joint)) return 1;
  snprintf(name, sizeof name, "%.90s", j->name ? j->name : "ground");
  fit(name);
  if (bodiesTaken(&r->bodies->m, name) && /* In files, a body and a joint may have the same name. */
      robotUnique(r, j->node, j->name ? j->name : link->name, "_joint", name))
    return 1;
  if (joint.kind != CP_JOINT_NONE &&
      robotRefused(r, j->node, CPBodiesAdd(r->bodies, &joint.head, NULL)))
    return 1;
  if (held != NONE) {
    if (robotUnique(r, j->node, name, "_held", drive)) return 1;
    const CPDrive hold = {CP_NEW_DRIVE(drive), .of = {name, held}};
    if (robotRefused(r, j->node, CPBodiesAdd(r->bodies, &hold.head, NULL))) return 1;
  }
  for (int i = 0; i < link->njoints; i++, j++) {
    char law[128];
    snprintf(j->joint, sizeof j->joint, "%s", name);
    if (addStops(r, link, j)) return 1;
    if (!hasLaw(j)) continue;
    int flag;
    if (j->type == HINGE && j->stiffness > 0 &&
        fabs(j->springref - j->ref) > 4 * atan(SUN_RCONST(1.0)))
      return robotWrong(r, j->node,
                        "springref must be at most half a turn from ref, and is %g rad from it",
                        (double)(j->springref - j->ref));
    if (robotUnique(r, j->node, j->name ? j->name : link->name, "_spring", law)) return 1;
    if (j->type == BALL || j->type == FREE) {
      CPBushing bushing = {CP_NEW_BUSHING(law), .a = on, .b = body, .in = CP_IN_BODIES,
                           .drag = j->damping};
      if (j->stiffness != 0 || j->armature != 0)
        return robotWrong(r, j->node,
                          "a ball or free joint must have neither stiffness nor armature");
      memcpy(bushing.on_a.point, link->place.q, sizeof j->point);
      for (int k = 0; k < 3 && j->type == FREE; k++) bushing.damping[k] = j->damping;
      flag = CPBodiesAdd(r->bodies, &bushing.head, NULL);
    } else {
      const CPSpring spring = {
          CP_NEW_SPRING(law),    .of = {j->joint, j->k},         .stiffness = j->stiffness,
          .damping = j->damping, .free = j->sign * j->springref, .inertance = j->armature};
      flag = CPBodiesAdd(r->bodies, &spring.head, NULL);
    }
    if (robotRefused(r, j->node, flag)) return 1;
  }
  return 0;
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

static int addLinks(Robot *r, const Place *start, sunrealtype (*velocity)[6]) {
  for (int i = 0; i < r->nlinks; i++) {
    Link *link = &r->link[i];
    char name[128];
    Pose pose;
    CPBody body = {CP_NEW_BODY(name), .mass = link->mass.mass};
    if (robotUnique(r, link->node, link->name, "", name)) return 1;
    if (!(link->mass.mass > 0))
      return robotWrong(r, link->node,
                        "this body moves and must have mass: by an inertial element, or by shapes");
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
    if (r->mends && mendInertia(r, link, own.J)) return 1;
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

int robotBuild(Robot *r) {
  Place *start              = malloc(((size_t)r->nlinks + 1) * sizeof *start);
  sunrealtype(*velocity)[6] = calloc((size_t)r->nlinks + 1, sizeof *velocity);
  int failed                = !start || !velocity ? robotWrong(r, NULL, "no memory") : 0;
  if (!failed) failed = robotSprings(r);
  if (!failed) failed = robotStartPlaces(r, start, velocity) || addLinks(r, start, velocity);
  free(start);
  free(velocity);
  if (failed) return 1;
  for (int i = 0; i < r->nlinks; i++)
    if (addJoint(r, &r->link[i], r->joint + r->link[i].first)) return 1;
  return 0;
}

/* -------------------------------------------------------------------------------- couplings -- */

int robotCouple(Robot *r, const xmlNode *at, const char *name, int i, int j, sunrealtype offset,
                sunrealtype ratio) {
  char unique[128];
  const RobotJoint *one = &r->joint[i], *two = j >= 0 ? &r->joint[j] : NULL;
  offset += one->ref - (two ? ratio * two->ref : 0);
  if (robotUnique(r, at, name ? name : one->joint, name ? "" : "_coupler", unique)) return 1;
  for (int side = 0; side < 2; side++) {
    const RobotJoint *joint = side ? two : one;
    if (joint && (joint->type > SLIDE || joint->k == NONE))
      return robotWrong(
          r, at, "the joint \"%.60s\" has no coordinate of its own: it must be a hinge or a slide",
          joint->name);
  }
  int flag;
  if (!two || ratio == 0) {
    const CPDrive drive = {CP_NEW_DRIVE(unique), .of = {one->joint, one->k},
                           .start = one->sign * offset};
    flag                = CPBodiesAdd(r->bodies, &drive.head, NULL);
  } else {
    const CPCoupler coupler   = {CP_NEW_COUPLER(unique),
                                 .of    = {{one->joint, one->k}, {two->joint, two->k}},
                                 .ratio = {one->sign, -ratio * two->sign}, .offset = offset};
    const CPFormulation asked = r->bodies->formulation;
    r->bodies->formulation    = CP_JOINT_COORDINATES; /* in which any ratio will do */
    flag                      = CPBodiesAdd(r->bodies, &coupler.head, NULL);
    r->bodies->formulation    = asked;
  }
  return robotRefused(r, at, flag);
}
