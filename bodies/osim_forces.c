/* OpenSim's constraints and forces: couplers, points on lines, points and welds of loops; springs, bushings, limits and coordinate actuators,
 * and, in files of their own, paths, expressions and contacts.
 * The others are told as left out, or as without effect. */
#include "osim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------- constraints -- */

int osimForceName(Osim *o, const xmlNode *n, char *name) {
  const char *own = robotText(n, "name");
  return robotUnique(o->r, n, own && *own ? own : (const char *)n->name, "", name);
}

/* Adds a row: the coordinate is value, or offset + scale f(another one). */
static int couple(Osim *o, const xmlNode *n, OsimCoordinate *one, OsimCoordinate *two,
                  const OsimFunction *z) {
  char name[128];
  int flag;
  if (osimForceName(o, n, name)) return 1;
  const CPCoordinate of = {o->joint[one->joint].name, one->k};
  if (!two || (!z->f && z->ratio == 0)) {
    CPDrive drive = {CP_NEW_DRIVE(name), .of = of};
    if (osimEvaluate(o->r, n, z, two ? two->value : 0, &drive.start, NULL)) return 1;
    flag = CPBodiesAdd(o->r->bodies, &drive.head, NULL);
  } else {
    const CPCoupler coupler = {CP_NEW_COUPLER(name), .of = {of, {o->joint[two->joint].name, two->k}},
                               .ratio = {1, z->f ? -1 : -z->ratio}, .offset = z->offset,
                               .function = z->f};
    flag                    = CPBodiesAdd(o->r->bodies, &coupler.head, NULL);
  }
  return robotRefused(o->r, n, flag);
}

/* Reads the coordinate that a child names. */
static OsimCoordinate *named(Osim *o, const xmlNode *n, const char *tag) {
  char name[200];
  const int i = osimCoordinate(o, osimText(n, tag, name, sizeof name));
  if (i != NONE && (o->coordinate[i].k != NONE || o->coordinate[i].locked))
    return &o->coordinate[i];
  if (i == NONE) robotWrong(o->r, n, "there is no coordinate \"%.100s\"", name);
  else
    robotWrong(o->r, n,
               "the coordinate \"%.100s\" of a body that moves freely is not one of the state",
               name);
  return NULL;
}

static int addCoupler(Osim *o, const xmlNode *n) {
  const xmlNode *function = robotChild(n, "coupled_coordinates_function");
  sunrealtype scale       = 1;
  OsimFunction z;
  if (!function) return robotWrong(o->r, n, "coupled_coordinates_function must be given");
  if (osimNumbers(o->r, n, "scale_factor", 1, &scale)) return 1;
  OsimCoordinate *one = named(o, n, "dependent_coordinate_name"),
                 *two = one ? named(o, n, "independent_coordinate_names") : NULL;
  if (!one || !two) return 1;
  if (one->locked) return robotTell(o->r, n, WITHOUT_EFFECT, "couplers of locked coordinates");
  if (osimFunction(o->r, function, scale, &z)) return 1;
  if (two->locked) { /* whose value is known */
    sunrealtype value;
    const int failed = osimEvaluate(o->r, n, &z, two->value, &value, NULL);
    CPFunctionFree(&z.f);
    z = (OsimFunction){value, 0, NULL};
    return failed || couple(o, n, one, NULL, &z);
  }
  /* the start of the dependent coordinate and its speed, as the constraint says */
  sunrealtype slope;
  int failed = osimEvaluate(o->r, n, &z, two->value, &one->value, &slope);
  if (!failed) one->speed = slope * two->speed;
  if (!failed) failed = couple(o, n, one, two, &z);
  CPFunctionFree(&z.f);
  return failed;
}

/* frame [2]: out, those of two bodies that tags name, moved by what the children of location [2] and of the usual orientations say.
 * Returns 0, or 1 after a message. */
static int framesOf(Osim *o, const xmlNode *n, const char *const *first, const char *const *second,
                    const char *const *location, OsimFrame *frame) {
  return osimFrame(o, n, first, &frame[0]) || osimFrame(o, n, second, &frame[1]) ||
         osimOffset(o->r, n, location[0], "orientation_body_1", &frame[0].pose) ||
         osimOffset(o->r, n, location[1], "orientation_body_2", &frame[1].pose);
}
static const char *const in_bodies[] = {"location_body_1", "location_body_2"};

/* A joint between two points or frames. The tags name the bodies, locations, and a direction on the first one. */
static int addLoop(Osim *o, const xmlNode *n, CPJointKind kind, const char *const *first,
                   const char *const *second, const char *const *location, const char *direction) {
  char name[128];
  OsimFrame frame[2];
  sunrealtype axis[3] = {0, 0, 0};
  if (osimForceName(o, n, name) || framesOf(o, n, first, second, location, frame)) return 1;
  if (frame[0].body == frame[1].body)
    return robotTell(o->r, n, WITHOUT_EFFECT, "constraints between parts of one body");
  CPJoint joint = {CP_NEW_JOINT(name), .kind = kind, .in = CP_IN_BODIES,
                   .a = osimBodyName(o, frame[0].body), .b = osimBodyName(o, frame[1].body)};
  osimMarker(&frame[0], &joint.on_a);
  osimMarker(&frame[1], &joint.on_b);
  if (direction) {
    if (osimNumbers(o->r, n, direction, 3, axis)) return 1;
    if (!(length3(axis) > 0)) return robotWrong(o->r, n, "%s must not be zero", direction);
    toSpace(&frame[0].pose, axis, joint.on_a.axis);
    memset(joint.on_a.across, 0, sizeof joint.on_a.across);
  }
  if (kind == CP_JOINT_ROD && osimNumbers(o->r, n, "constant_distance", 1, &joint.length)) return 1;
  return robotRefused(o->r, n, CPBodiesAdd(o->r->bodies, &joint.head, NULL));
}

int osimAddConstraints(Osim *o) {
  static const char *const body_1[] = {"socket_body_1", "body_1", "socket_frame1", "socket_frame_1",
                                       NULL},
                           *const body_2[]   = {"socket_body_2", "body_2", "socket_frame2",
                                                "socket_frame_2", NULL},
                           *const line[]     = {"socket_line_body", "line_body", NULL},
                           *const follower[] = {"socket_follower_body", "follower_body", NULL},
                           *const on_line[]  = {"point_on_line", "point_on_follower"};
  const xmlNode *set                         = osimObjects(o->model, "ConstraintSet");
  for (const xmlNode *n = set ? set->children : NULL; n; n = n->next) {
    int failed = 0;
    if (n->type != XML_ELEMENT_NODE || robotIs(n, "groups")) continue;
    if (osimIs(n, "isDisabled") || (robotChild(n, "isEnforced") && !osimIs(n, "isEnforced")))
      continue;
    if (robotIs(n, "CoordinateCouplerConstraint")) failed = addCoupler(o, n);
    else if (robotIs(n, "PointOnLineConstraint"))
      failed = addLoop(o, n, CP_JOINT_POINT_ON_LINE, line, follower, on_line, "line_direction_vec");
    else if (robotIs(n, "PointConstraint"))
      failed = addLoop(o, n, CP_JOINT_BALL, body_1, body_2, in_bodies, NULL);
    else if (robotIs(n, "WeldConstraint"))
      failed = addLoop(o, n, CP_JOINT_FIXED, body_1, body_2, in_bodies, NULL);
    else if (robotIs(n, "ConstantDistanceConstraint"))
      failed = addLoop(o, n, CP_JOINT_ROD, body_1, body_2, in_bodies, NULL);
    else failed = robotNote(o->r, n, "constraints of the kind %.60s", (const char *)n->name);
    if (failed) return 1;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------- forces -- */

static int addActuator(Osim *o, const xmlNode *n) {
  char name[128], coordinate[200];
  const int i  = osimCoordinate(o, osimText(n, "coordinate", coordinate, sizeof coordinate));
  CPActuator a = {CP_NEW_ACTUATOR(name), .gain = {1}};
  if (i == NONE || o->coordinate[i].k == NONE)
    return robotTell(o->r, n, WITHOUT_EFFECT, "actuators of coordinates that are not in the state");
  if (osimNumbers(o->r, n, "optimal_force", 1, &a.gain[0]) || osimForceName(o, n, name)) return 1;
  a.of = (CPCoordinate){o->joint[o->coordinate[i].joint].name, o->coordinate[i].k};
  return robotRefused(o->r, n, CPBodiesAdd(o->r->bodies, &a.head, NULL));
}

/* A spring between points, linear or by an expression */
static int addSpring(Osim *o, const xmlNode *n) {
  static const char *const first[]         = {"socket_body1", "body1", "socket_body_1", NULL},
                           *const second[] = {"socket_body2", "body2", "socket_body_2", NULL};
  char name[128];
  OsimFrame frame[2];
  sunrealtype point[2][3] = {{0}};
  CPSpring spring         = {CP_NEW_SPRING(name), .in = CP_IN_BODIES};
  if (osimForceName(o, n, name) || osimFrame(o, n, first, &frame[0]) ||
      osimFrame(o, n, second, &frame[1]) || osimNumbers(o->r, n, "point1", 3, point[0]) ||
      osimNumbers(o->r, n, "point2", 3, point[1]) ||
      osimNumbers(o->r, n, "stiffness", 1, &spring.stiffness) ||
      osimNumbers(o->r, n, "rest_length", 1, &spring.free))
    return 1;
  spring.a = osimBodyName(o, frame[0].body), spring.b = osimBodyName(o, frame[1].body);
  for (int k = 0; k < 2; k++) {
    sunrealtype *to = k ? spring.point_b : spring.point_a;
    toSpace(&frame[k].pose, point[k], to);
    add3(1, frame[k].pose.r, to);
  }
  if (!robotIs(n, "PointToPointSpring") && osimDistanceLaw(o, n, &spring.function)) return 1;
  const int flag = CPBodiesAdd(o->r->bodies, &spring.head, NULL);
  CPFunctionFree(&spring.function);
  return robotRefused(o->r, n, flag);
}

static int addBushing(Osim *o, const xmlNode *n) {
  static const char *const first[] = {"socket_frame1", "socket_frame_1", "frame1", "body_1", NULL},
                           *const second[] = {"socket_frame2", "socket_frame_2", "frame2", "body_2",
                                              NULL};
  char name[128];
  OsimFrame frame[2];
  CPBushing s = {CP_NEW_BUSHING(name), .in = CP_IN_BODIES, .angles = 1};
  if (osimForceName(o, n, name) || framesOf(o, n, first, second, in_bodies, frame) ||
      osimNumbers(o->r, n, "rotational_stiffness", 3, s.turn_stiffness) ||
      osimNumbers(o->r, n, "translational_stiffness", 3, s.stiffness) ||
      osimNumbers(o->r, n, "rotational_damping", 3, s.turn_damping) ||
      osimNumbers(o->r, n, "translational_damping", 3, s.damping))
    return 1;
  if (frame[0].body == frame[1].body)
    return robotTell(o->r, n, WITHOUT_EFFECT, "forces between parts of one body");
  s.a = osimBodyName(o, frame[0].body), s.b = osimBodyName(o, frame[1].body);
  osimMarker(&frame[0], &s.on_a);
  osimMarker(&frame[1], &s.on_b);
  return robotRefused(o->r, n, CPBodiesAdd(o->r->bodies, &s.head, NULL));
}

/* Is it an angle, whose numbers are in degrees? A coordinate whose value is not that of a rotation is none. */
static int isAngle(const Osim *o, const OsimCoordinate *c) {
  const OsimJoint *j = &o->joint[c->joint];
  int angle          = 0;
  for (int i = 0; i < j->nmotions; i++) {
    const OsimFunction *z = &j->motion[i].z;
    if (j->motion[i].of == (int)(c - o->coordinate) - j->first)
      angle |= j->motion[i].about && !z->f && z->ratio == 1 && z->offset == 0;
  }
  return angle;
}

/* Soft stops: a spring and a damper beyond each limit, whose constants rise by smooth() over the transition */
static int addLimit(Osim *o, const xmlNode *n) {
  static const char *const variable[] = {"t", "x", "v"};
  char name[128], coordinate[200], text[1000];
  sunrealtype K[2] = {1, 1}, at[2] = {0, 0}, damping = SUN_RCONST(0.001), width = SUN_RCONST(0.1);
  const int i = osimCoordinate(o, osimText(n, "coordinate", coordinate, sizeof coordinate));
  if (i == NONE || o->coordinate[i].k == NONE)
    return robotTell(o->r, n, WITHOUT_EFFECT, "limits of coordinates that are not in the state");
  if (osimNumbers(o->r, n, "lower_stiffness", 1, &K[0]) ||
      osimNumbers(o->r, n, "upper_stiffness", 1, &K[1]) ||
      osimNumbers(o->r, n, "lower_limit", 1, &at[0]) ||
      osimNumbers(o->r, n, "upper_limit", 1, &at[1]) ||
      osimNumbers(o->r, n, "damping", 1, &damping) ||
      osimNumbers(o->r, n, "transition", 1, &width) || osimForceName(o, n, name))
    return 1;
  if (!(width > 0))
    return robotWrong(o->r, n, "transition must be positive, and is %g", (double)width);
  const OsimCoordinate *c = &o->coordinate[i];
  const sunrealtype unit  = isAngle(o, c) ? atan(SUN_RCONST(1.0)) / 45 : 1;
  snprintf(text, sizeof text,
           "smooth((%.17g-x)/%.17g)*(%.17g*(%.17g-x)-%.17g*v)-"
           "smooth((x-%.17g)/%.17g)*(%.17g*(x-%.17g)+%.17g*v)",
           (double)(unit * at[0]), (double)(unit * width), (double)(K[0] / unit),
           (double)(unit * at[0]), (double)(damping / unit), (double)(unit * at[1]),
           (double)(unit * width), (double)(K[1] / unit), (double)(unit * at[1]),
           (double)(damping / unit));
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .text = text, .nvariables = 3,
                                     .variable = variable};
  CPSpring spring                 = {CP_NEW_SPRING(name), .of = {o->joint[c->joint].name, c->k}};
  if (robotFunction(o->r, n, &options, &spring.function)) return 1;
  const int flag = CPBodiesAdd(o->r->bodies, &spring.head, NULL);
  CPFunctionFree(&spring.function);
  return robotRefused(o->r, n, flag);
}

int osimAddForces(Osim *o) {
  static const char unmoved[] = " PathActuator PointActuator TorqueActuator BodyActuator "
                                "PointToPointActuator SpringGeneralizedForceActuator ";
  const xmlNode *set          = osimObjects(o->model, "ForceSet");
  for (const xmlNode *n = set ? set->children : NULL; n; n = n->next) {
    int failed = 0;
    if (n->type != XML_ELEMENT_NODE || robotIs(n, "groups")) continue;
    if (osimIs(n, "isDisabled") || (robotChild(n, "appliesForce") && !osimIs(n, "appliesForce")))
      continue;
    if (robotIs(n, "CoordinateActuator")) failed = addActuator(o, n);
    else if (robotIs(n, "CoordinateLimitForce")) failed = addLimit(o, n);
    else if (robotIs(n, "PointToPointSpring") || robotIs(n, "ExpressionBasedPointToPointForce"))
      failed = addSpring(o, n);
    else if (robotIs(n, "SpringGeneralizedForce") || robotIs(n, "ExpressionBasedCoordinateForce"))
      failed = osimAddCoordinateForce(o, n);
    else if (robotKnows(" PathSpring Ligament Blankevoort1991Ligament ", n->name))
      failed = osimAddPath(o, n);
    else if (robotIs(n, "BushingForce")) failed = addBushing(o, n);
    else if (robotIs(n, "HuntCrossleyForce")) failed = osimAddContact(o, n);
    else if (robotKnows(unmoved, n->name))
      failed = robotTell(o->r, n, WITHOUT_EFFECT, "actuators without a control, of the kind %.60s",
                         (const char *)n->name);
    else if (strstr((const char *)n->name, "Muscle"))
      failed = robotNote(o->r, n, "muscles of the kind %.60s", (const char *)n->name);
    else failed = robotNote(o->r, n, "forces of the kind %.60s", (const char *)n->name);
    if (failed) return 1;
  }
  return 0;
}
