/* Elements in YAML files: the keys of each kind, and what they mean together. */
#include "yaml_impl.h"

#include <string.h>

/* Two bodies, and a marker on each */
#define MARKERS(type_)                                                                         \
  FIELD(type_, "a", a, NAME, 0), FIELD(type_, "b", b, NAME, 0), FIELD(type_, "in", in, IN, 0), \
      QUANTITY(type_, "at", on_a.point, VECTOR, 0, "m"),                                       \
      QUANTITY(type_, "axis", on_a.axis, DIRECTION, 0, NULL),                                  \
      QUANTITY(type_, "across", on_a.across, DIRECTION, 0, NULL),                              \
      QUANTITY(type_, "at_b", on_b.point, VECTOR, 0, "m"),                                     \
      QUANTITY(type_, "axis_b", on_b.axis, DIRECTION, 0, NULL),                                \
      QUANTITY(type_, "across_b", on_b.across, DIRECTION, 0, NULL)

static const Field body_fields[]    = {FIELD(CPBody, "name", head.name, NAME, 1),
                                       QUANTITY(CPBody, "mass", mass, NUMBER, 1, "kg"),
                                       QUANTITY(CPBody, "inertia", inertia, INERTIA, 1, "kg m^2"),
                                       QUANTITY(CPBody, "centre", centre, VECTOR, 0, "m"),
                                       QUANTITY(CPBody, "at", position, VECTOR, 0, "m"),
                                       QUANTITY(CPBody, "quaternion", quaternion, FOUR, 0, "1"),
                                       QUANTITY(CPBody, "angle", angle, NUMBER, 0, "rad"),
                                       QUANTITY(CPBody, "velocity", velocity, VECTOR, 0, "m/s"),
                                       QUANTITY(CPBody, "omega", omega, VECTOR, 0, "rad/s"),
                                       QUANTITY(BodyKeys, "omega_body", omega_body, VECTOR, 0, "rad/s"),
                                       QUANTITY(CPBody, "spin", omega[2], NUMBER, 0, "rad/s"),
                                       {0}};
static const Field joint_fields[]   = {FIELD(CPJoint, "name", head.name, NAME, 1),
                                       FIELD(CPJoint, "kind", kind, KIND, 1),
                                       MARKERS(CPJoint),
                                       QUANTITY(CPJoint, "length", length, NUMBER, 0, "m"),
                                       QUANTITY(CPJoint, "radius", length, NUMBER, 0, "m"),
                                       FIELD(CPJoint, "switched", switched, YES, 0),
                                       FIELD(JointKeys, "motions", motion, MOTIONS, 0),
                                       FIELD(CPJoint, "start", start, STARTS, 0),
                                       {0}};
static const Field contact_fields[] = {
    FIELD(CPBodyContact, "name", head.name, NAME, 1),
    MARKERS(CPBodyContact),
    FIELD(CPBodyContact, "on", on, ON, 0),
    FIELD(CPBodyContact, "touch", touch, TOUCH, 0),
    QUANTITY(CPBodyContact, "radius_a", radius_a, NUMBER, 0, "m"),
    QUANTITY(CPBodyContact, "size", size, VECTOR, 0, "m"),
    QUANTITY(CPBodyContact, "length", size[2], NUMBER, 0, "m"),
    QUANTITY(CPBodyContact, "radius", radius, NUMBER, 0, "m"),
    QUANTITY(CPBodyContact, "friction", law.mu, NUMBER, 0, "1"),
    QUANTITY(CPBodyContact, "sticking", law.mu_static, NUMBER, 0, "1"),
    QUANTITY(CPBodyContact, "restitution", law.restitution, NUMBER, 0, "1"),
    FIELD(CPBodyContact, "poisson", law.kind, YES, 0),
    {0}};
static const Field coupler_fields[] = {FIELD(CPCoupler, "name", head.name, NAME, 1),
                                       FIELD(CouplerKeys, "of", of, COORDINATES, 1),
                                       QUANTITY(CouplerKeys, "ratio", ratio, RATIOS, 1, NULL),
                                       QUANTITY(CPCoupler, "offset", offset, NUMBER, 0, NULL),
                                       QUANTITY(CouplerKeys, "function", function, FUNCTION, 0, NULL),
                                       {0}};
static const Field rope_fields[]    = {FIELD(CPRope, "name", head.name, NAME, 1),
                                       FIELD(CPRope, "in", in, IN, 0),
                                       FIELD(RopeKeys, "along", path, NODES, 1),
                                       QUANTITY(CPRope, "length", length, NUMBER, 0, "m"),
                                       QUANTITY(CPRope, "rate", rate, NUMBER, 0, "m/s"),
                                       QUANTITY(RopeKeys, "motion", motion, MOTION, 0, "m"),
                                       QUANTITY(CPRope, "stiffness", stiffness, NUMBER, 0, "N/m"),
                                       QUANTITY(CPRope, "damping", damping, NUMBER, 0, "N s/m"),
                                       QUANTITY(CPRope, "restitution", restitution, NUMBER, 0, "1"),
                                       FIELD(CPRope, "taut", taut, YES, 0),
                                       {0}};
static const Field tendon_fields[]  = {FIELD(CPTendon, "name", head.name, NAME, 1),
                                       FIELD(TendonKeys, "of", of, COORDINATES, 0),
                                       QUANTITY(TendonKeys, "ratio", ratio, RATIOS, 0, NULL),
                                       FIELD(CPTendon, "in", in, IN, 0),
                                       FIELD(TendonKeys, "along", path, NODES, 0),
                                       QUANTITY(CPTendon, "stiffness", stiffness, NUMBER, 0, NULL),
                                       QUANTITY(CPTendon, "damping", damping, NUMBER, 0, NULL),
                                       QUANTITY(CPTendon, "free", free, NUMBER, 0, NULL),
                                       QUANTITY(CPTendon, "force", force, NUMBER, 0, NULL),
                                       QUANTITY(CPTendon, "inertance", inertance, NUMBER, 0, NULL),
                                       {0}};
static const Field drive_fields[]   = {FIELD(CPDrive, "name", head.name, NAME, 1),
                                       FIELD(CPDrive, "of", of, COORDINATE, 1),
                                       QUANTITY(DriveKeys, "motion", motion, MOTION, 0, "m|rad"),
                                       QUANTITY(CPDrive, "start", start, NUMBER, 0, "m|rad"),
                                       QUANTITY(CPDrive, "rate", rate, NUMBER, 0, "m/s|rad/s"),
                                       QUANTITY(CPDrive, "amplitude", amplitude, NUMBER, 0, "m|rad"),
                                       QUANTITY(CPDrive, "frequency", frequency, NUMBER, 0, "rad/s"),
                                       {0}};
static const Field spring_fields[]  = {
     FIELD(CPSpring, "name", head.name, NAME, 1),
     FIELD(CPSpring, "of", of, COORDINATE, 0),
     FIELD(CPSpring, "a", a, NAME, 0),
     FIELD(CPSpring, "b", b, NAME, 0),
     FIELD(CPSpring, "in", in, IN, 0),
     QUANTITY(CPSpring, "at", point_a, VECTOR, 0, "m"),
     QUANTITY(CPSpring, "at_b", point_b, VECTOR, 0, "m"),
     QUANTITY(CPSpring, "stiffness", stiffness, NUMBER, 0, "N/m|N m/rad"),
     QUANTITY(CPSpring, "damping", damping, NUMBER, 0, "N s/m|N m s"),
     QUANTITY(CPSpring, "free", free, NUMBER, 0, "m|rad"),
     QUANTITY(CPSpring, "force", force, FORMULA, 0, "N|N m"),
     QUANTITY(CPSpring, "inertance", inertance, NUMBER, 0, "kg|kg m^2"),
     {0}};
static const Field bushing_fields[] = {
    FIELD(CPBushing, "name", head.name, NAME, 1),
    MARKERS(CPBushing),
    QUANTITY(CPBushing, "stiffness", stiffness, VECTOR, 0, "N/m"),
    QUANTITY(CPBushing, "damping", damping, VECTOR, 0, "N s/m"),
    QUANTITY(CPBushing, "turn_stiffness", turn_stiffness, VECTOR, 0, "N m/rad"),
    QUANTITY(CPBushing, "turn_damping", turn_damping, VECTOR, 0, "N m s"),
    QUANTITY(CPBushing, "drag", drag, NUMBER, 0, "N m s"),
    FIELD(CPBushing, "angles", angles, YES, 0),
    {0}};
static const Field force_fields[]    = {FIELD(CPForce, "name", head.name, NAME, 1),
                                        FIELD(CPForce, "body", body, NAME, 1),
                                        FIELD(CPForce, "in", in, IN, 0),
                                        QUANTITY(CPForce, "at", point, VECTOR, 0, "m"),
                                        QUANTITY(CPForce, "force", force, FORMULAS, 1, "N"),
                                        FIELD(CPForce, "follows", follows, YES, 0),
                                        {0}};
static const Field friction_fields[] = {
    FIELD(CPFriction, "name", head.name, NAME, 1),
    FIELD(CPFriction, "of", of, COORDINATE, 1),
    QUANTITY(CPFriction, "factor", factor, NUMBER, 0, "1|m"),
    QUANTITY(CPFriction, "speed", speed, NUMBER, 0, "m/s|rad/s"),
    QUANTITY(CPFriction, "force", force, NUMBER, 0, "N|N m"),
    QUANTITY(CPFriction, "sticking", sticking, NUMBER, 0, "N|N m"),
    QUANTITY(CPFriction, "sticking_factor", sticking_factor, NUMBER, 0, "1|m"),
    {0}};

static const Field limit_fields[] = {
    FIELD(CPLimit, "name", head.name, NAME, 1),
    FIELD(CPLimit, "of", of, COORDINATE, 1),
    FIELD(CPLimit, "and", of[1], COORDINATE, 0),
    QUANTITY(CPLimit, "ratio", ratio, TWO, 0, NULL),
    QUANTITY(CPLimit, "lower", lower, NUMBER, 0, "m|rad"),
    QUANTITY(CPLimit, "upper", upper, NUMBER, 0, "m|rad"),
    QUANTITY(CPLimit, "restitution", restitution, NUMBER, 0, "1"),
    QUANTITY(CPLimit, "stiffness", stiffness, NUMBER, 0, "N/m|N m/rad"),
    QUANTITY(CPLimit, "damping", damping, NUMBER, 0, "N s/m|N m s"),
    {0}};
static const Field actuator_fields[] = {
    FIELD(ActuatorKeys, "name", actuator.head.name, NAME, 1),
    FIELD(ActuatorKeys, "of", actuator.of, COORDINATE, 0),
    QUANTITY(ActuatorKeys, "gear", actuator.gear, NUMBER, 0, "1"),
    QUANTITY(ActuatorKeys, "control", actuator.control, NUMBER, 0, NULL),
    QUANTITY(ActuatorKeys, "gain", actuator.gain, THREE, 0, NULL),
    QUANTITY(ActuatorKeys, "bias", actuator.bias, THREE, 0, NULL),
    QUANTITY(ActuatorKeys, "control_range", actuator.control_range, TWO, 0, NULL),
    QUANTITY(ActuatorKeys, "force_range", actuator.force_range, TWO, 0, "N|N m"),
    FIELD(ActuatorKeys, "dynamics", actuator.dynamics, DYNAMICS, 0),
    QUANTITY(ActuatorKeys, "time", actuator.times[0], NUMBER, 0, "s"),
    QUANTITY(ActuatorKeys, "times", actuator.times, THREE, 0, NULL),
    QUANTITY(ActuatorKeys, "activation", actuator.activation, NUMBER, 0, NULL),
    QUANTITY(ActuatorKeys, "activation_range", actuator.activation_range, TWO, 0, NULL),
    FIELD(ActuatorKeys, "a", actuator.a, NAME, 0),
    FIELD(ActuatorKeys, "b", actuator.b, NAME, 0),
    FIELD(ActuatorKeys, "in", actuator.in, IN, 0),
    QUANTITY(ActuatorKeys, "at", actuator.point_a, VECTOR, 0, "m"),
    QUANTITY(ActuatorKeys, "at_b", actuator.point_b, VECTOR, 0, "m"),
    QUANTITY(ActuatorKeys, "along", actuator.along, DIRECTION, 0, NULL),
    QUANTITY(ActuatorKeys, "push", actuator.push, DIRECTION, 0, NULL),
    QUANTITY(ActuatorKeys, "about", actuator.about, DIRECTION, 0, NULL),
    QUANTITY(ActuatorKeys, "curve", curve, CURVE, 0, "N|N m"),
    QUANTITY(ActuatorKeys, "peak_force", actuator.muscle.force, NUMBER, 0, "N|N m"),
    QUANTITY(ActuatorKeys, "lengths", actuator.muscle.length, TWO, 0, "m|rad"),
    QUANTITY(ActuatorKeys, "range", actuator.muscle.range, TWO, 0, "1"),
    QUANTITY(ActuatorKeys, "lmin", actuator.muscle.lmin, NUMBER, 0, "1"),
    QUANTITY(ActuatorKeys, "lmax", actuator.muscle.lmax, NUMBER, 0, "1"),
    QUANTITY(ActuatorKeys, "vmax", actuator.muscle.vmax, NUMBER, 0, "1/s"),
    QUANTITY(ActuatorKeys, "fpmax", actuator.muscle.fpmax, NUMBER, 0, "1"),
    QUANTITY(ActuatorKeys, "fvmax", actuator.muscle.fvmax, NUMBER, 0, "1"),
    {0}};
static const Field tyre_fields[] = {
    FIELD(CPTyre, "name", head.name, NAME, 1),
    FIELD(CPTyre, "body", body, NAME, 1),
    FIELD(CPTyre, "in", in, IN, 0),
    QUANTITY(CPTyre, "at", point, VECTOR, 0, "m"),
    QUANTITY(CPTyre, "axis", axis, DIRECTION, 0, NULL),
    QUANTITY(CPTyre, "ground", ground, VECTOR, 0, "m"),
    QUANTITY(CPTyre, "normal", normal, DIRECTION, 0, NULL),
    QUANTITY(CPTyre, "radius", radius, NUMBER, 1, "m"),
    QUANTITY(CPTyre, "stiffness", stiffness, NUMBER, 1, "N/m"),
    QUANTITY(CPTyre, "damping", damping, NUMBER, 0, "s/m"),
    QUANTITY(CPTyre, "friction", friction, NUMBER, 1, "1"),
    QUANTITY(CPTyre, "slip_stiffness", slip_stiffness, NUMBER, 1, "N"),
    QUANTITY(CPTyre, "half_length", half_length, NUMBER, 0, "m"),
    QUANTITY(CPTyre, "rolling", rolling, NUMBER, 0, "1"),
    QUANTITY(CPTyre, "speed", speed, NUMBER, 1, "m/s"),
    {0}};
static const Field sphere_fields[] = {
    FIELD(CPElasticSphere, "name", head.name, NAME, 1),
    MARKERS(CPElasticSphere),
    QUANTITY(CPElasticSphere, "radius", radius, NUMBER, 1, "m"),
    QUANTITY(CPElasticSphere, "radius_a", radius_a, NUMBER, 0, "m"),
    QUANTITY(CPElasticSphere, "modulus", modulus, NUMBER, 1, "N/m^2"),
    QUANTITY(CPElasticSphere, "damping", damping, NUMBER, 0, "s/m"),
    QUANTITY(CPElasticSphere, "friction", friction, NUMBER, 0, "1"),
    QUANTITY(CPElasticSphere, "sticking", sticking, NUMBER, 0, "1"),
    QUANTITY(CPElasticSphere, "viscous", viscous, NUMBER, 0, "s/m"),
    QUANTITY(CPElasticSphere, "speed", speed, NUMBER, 1, "m/s"),
    QUANTITY(CPElasticSphere, "share", share, NUMBER, 0, "1"),
    {0}};
static const Field drag_fields[]       = {FIELD(CPDrag, "name", head.name, NAME, 1),
                                          FIELD(CPDrag, "body", body, NAME, 1),
                                          FIELD(CPDrag, "in", in, IN, 0),
                                          QUANTITY(CPDrag, "at", on.point, VECTOR, 0, "m"),
                                          QUANTITY(CPDrag, "axis", on.axis, DIRECTION, 0, NULL),
                                          QUANTITY(CPDrag, "across", on.across, DIRECTION, 0, NULL),
                                          QUANTITY(CPDrag, "edges", edges, VECTOR, 0, "m"),
                                          QUANTITY(CPDrag, "half_axes", half_axes, VECTOR, 0, "m"),
                                          QUANTITY(CPDrag, "density", density, NUMBER, 0, "kg/m^3"),
                                          QUANTITY(CPDrag, "viscosity", viscosity, NUMBER, 0, "N*s/m^2"),
                                          QUANTITY(CPDrag, "wind", wind, VECTOR, 0, "m/s"),
                                          QUANTITY(CPDrag, "blunt", blunt, NUMBER, 0, "1"),
                                          QUANTITY(CPDrag, "slender", slender, NUMBER, 0, "1"),
                                          QUANTITY(CPDrag, "angular", angular, NUMBER, 0, "1"),
                                          QUANTITY(CPDrag, "kutta", kutta, NUMBER, 0, "1"),
                                          QUANTITY(CPDrag, "magnus", magnus, NUMBER, 0, "1"),
                                          {0}};
static const Field controller_fields[] = {
    FIELD(ControllerKeys, "name", controller.head.name, NAME, 1),
    FIELD(ControllerKeys, "of", controller.of, NAME, 1),
    QUANTITY(ControllerKeys, "every", controller.period, NUMBER, 1, "s"),
    QUANTITY(ControllerKeys, "first", controller.first, NUMBER, 0, "s"),
    QUANTITY(ControllerKeys, "delay", controller.delay, NUMBER, 0, "s"),
    FIELD(ControllerKeys, "control", control, SIGNAL, 1),
    {0}};
static const Field release_fields[] = {FIELD(ReleaseKeys, "name", release.head.name, NAME, 1),
                                       FIELD(ReleaseKeys, "joint", release.joint, NAME, 1),
                                       QUANTITY(ReleaseKeys, "load", release.load, NUMBER, 0, "N"),
                                       FIELD(ReleaseKeys, "when", when, SIGNAL, 0),
                                       QUANTITY(ReleaseKeys, "at", release.at, NUMBER, 0, "s"),
                                       {0}};
static const Field latch_fields[]   = {FIELD(ReleaseKeys, "name", release.head.name, NAME, 1),
                                       FIELD(ReleaseKeys, "joint", release.joint, NAME, 1),
                                       FIELD(ReleaseKeys, "when", when, SIGNAL, 0),
                                       QUANTITY(ReleaseKeys, "at", release.at, NUMBER, 0, "s"),
                                       {0}};
static const Field shape_fields[]   = {FIELD(CPShape, "name", head.name, NAME, 1),
                                       FIELD(CPShape, "kind", kind, SHAPE, 1),
                                       FIELD(CPShape, "body", body, NAME, 1),
                                       FIELD(CPShape, "in", in, IN, 0),
                                       QUANTITY(CPShape, "at", on.point, VECTOR, 0, "m"),
                                       QUANTITY(CPShape, "axis", on.axis, DIRECTION, 0, NULL),
                                       QUANTITY(CPShape, "across", on.across, DIRECTION, 0, NULL),
                                       QUANTITY(CPShape, "size", size, VECTOR, 0, "m"),
                                       QUANTITY(CPShape, "radius", size[0], NUMBER, 0, "m"),
                                       QUANTITY(CPShape, "length", size[2], NUMBER, 0, "m"),
                                       QUANTITY(CPShape, "width", size[2], NUMBER, 0, "m"),
                                       QUANTITY(CPShape, "points", points, POINTS, 0, "m"),
                                       FIELD(CPShape, "file", points, MESH_FILE, 0),
                                       {0}};

/* Refuses these keys, whose list ends with NULL. Returns 0, or 1 after a message. */
static int refuseKeys(Reader *r, const yaml_node_t *n, const char *what, const char *const *keys,
                      const char *why) {
  for (; *keys; keys++) {
    const yaml_node_t *given = yamlSection(r, n, *keys);
    if (given) return yamlWrong(r, given->start_mark, "%s has no %s %s", what, *keys, why);
  }
  return 0;
}

static int needKey(Reader *r, const yaml_node_t *n, const char *what, const char *key) {
  return yamlSection(r, n, key)
             ? 0
             : yamlWrong(r, n->start_mark, "%s with in: space needs %s", what, key);
}

/* omega_body is turned into the axes of space, in which CPBody has it. */
static int checkBody(Reader *r, const yaml_node_t *n, Element *e) {
  static const Space space        = {3, 6, 7, {0, 0}, {3, 3}};
  static const char *const keys[] = {"omega", "spin", NULL};
  CPBody *body                    = &e->body.body;
  const sunrealtype *quaternion = body->quaternion, size = hypot(length3(quaternion), quaternion[3]);
  sunrealtype q[7] = {0, 0, 0, 1, 0, 0, 0};
  Pose pose;
  if (!yamlSection(r, n, "omega_body")) return 0;
  if (r->dimension == 2)
    return yamlWrong(r, n->start_mark, "a body in the plane has spin, and no omega_body");
  if (refuseKeys(r, n, "a body", keys, "beside omega_body")) return 1;
  for (int k = 0; k < 4 && size > 0; k++) q[3 + k] = quaternion[k] / size;
  bodiesPoseAt(&space, q, NULL, NULL, &pose);
  toSpace(&pose, e->body.omega_body, body->omega);
  return 0;
}

static const char placed[] = "with in: space: the placement determines it";

/* With in: space, the keys of side b are those that on_b has then (CPJoint); others would have no effect,
 * and without them the side would be at the origin. A point on a line or plane is there at the
 * placement. */
static int checkJoint(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[3][2] = {{"at_b"}, {"axis_b"}, {"across_b"}};
  const CPJointKind k                 = e->joint.joint.kind;
  char what[60];
  JointKeys *own      = &e->joint;
  own->joint.motion   = own->nmotions > 0 ? own->motion : NULL;
  own->joint.nmotions = own->nmotions;
  for (int i = 0; i < own->nmotions; i++)
    if (own->motion[i].coordinate >= own->joint.ncoordinates)
      own->joint.ncoordinates = own->motion[i].coordinate + 1;
  if (k == CP_JOINT_CUSTOM && own->nmotions == 0)
    return yamlWrong(r, n->start_mark, "a joint custom needs motions");
  const int slides = k == CP_JOINT_POINT_ON_LINE || k == CP_JOINT_POINT_ON_PLANE,
            apart  = k == CP_JOINT_ROD || k == CP_JOINT_ROLLING || k == CP_JOINT_ROLLING_DISC,
            turned = k == CP_JOINT_UNIVERSAL || k == CP_JOINT_ROLLING_DISC;
  if (e->joint.joint.in != CP_IN_SPACE) return 0;
  snprintf(what, sizeof what, "a joint %s", bodiesKindName((int)k));
  if (slides && !yamlSection(r, n, "at_b"))
    memcpy(e->joint.joint.on_b.point, e->joint.joint.on_a.point, sizeof e->joint.joint.on_b.point);
  return (!slides && !apart && refuseKeys(r, n, what, keys[0], placed)) ||
         (!turned && refuseKeys(r, n, what, keys[1], placed)) ||
         refuseKeys(r, n, what, keys[2], placed) || (apart && needKey(r, n, what, "at_b")) ||
         (turned && needKey(r, n, what, "axis_b"));
}

static int checkContact(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[] = {"in",     "at",       "axis",  "across",   "at_b",
                                     "axis_b", "across_b", "touch", "radius_a", "size",
                                     "length", "radius",   NULL};
  if (e->contact.on == CP_ON_SURFACE) { /* the third word, "shape" */
    e->contact.on = CP_ON_SHAPE;
    return refuseKeys(r, n, "a contact", keys, "with on: shape");
  }
  return e->contact.in == CP_IN_SPACE && needKey(r, n, "a contact", "at_b");
}

static int checkBushing(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[] = {"at_b", "axis_b", "across_b", NULL};
  return e->bushing.in == CP_IN_SPACE && refuseKeys(r, n, "a bushing", keys, placed);
}

static long lengthOf(const yaml_node_t *n) {
  return n->data.sequence.items.top - n->data.sequence.items.start;
}

static int checkCoupler(Reader *r, const yaml_node_t *n, Element *e) {
  CouplerKeys *own         = &e->coupler;
  const yaml_node_t *ratio = yamlSection(r, n, "ratio"), *function = yamlSection(r, n, "function");
  const long count = lengthOf(yamlSection(r, n, "of"));
  if (count < 2) return yamlWrong(r, n->start_mark, "of must have two coordinates or more");
  if (lengthOf(ratio) != count)
    return yamlWrong(r, ratio->start_mark, "ratio must have as many numbers as of has coordinates");
  if (function && !(own->coupler.function = r->function[0]))
    return yamlWrong(r, function->start_mark, "function must depend on x, the second coordinate");
  memcpy(own->coupler.of, own->of, sizeof own->coupler.of);
  memcpy(own->coupler.ratio, own->ratio, sizeof own->coupler.ratio);
  own->coupler.nmore = (int)count - 2;
  own->coupler.more = own->of + 2, own->coupler.more_ratio = own->ratio + 2;
  return 0;
}

static int checkTendon(Reader *r, const yaml_node_t *n, Element *e) {
  TendonKeys *own       = &e->tendon;
  const yaml_node_t *of = yamlSection(r, n, "of"), *ratio = yamlSection(r, n, "ratio");
  const long count = of ? lengthOf(of) : 0;
  if (!of != !ratio || (ratio && lengthOf(ratio) != count))
    return yamlWrong(r, (ratio ? ratio : n)->start_mark,
                     "ratio must have as many numbers as of has coordinates");
  own->tendon.ncoordinates = (int)count;
  own->tendon.of = own->of, own->tendon.ratio = own->ratio;
  own->tendon.nnodes = own->path.nnodes, own->tendon.node = own->path.node;
  own->tendon.side = own->path.sided ? own->path.side : NULL;
  if (!yamlSection(r, n, "free")) own->tendon.free = NAN;
  return 0;
}

/* A motion without t is a number, which adds to the length. */
static int checkRope(Reader *r, const yaml_node_t *n, Element *e) {
  RopeKeys *own    = &e->rope;
  own->rope.node   = own->path.node;
  own->rope.nnodes = own->path.nnodes;
  if (own->path.sided)
    return yamlWrong(r, yamlSection(r, n, "along")->start_mark,
                     "side is a key of tendons; a rope runs about a pulley as its radius says");
  if (!yamlSection(r, n, "motion")) return 0;
  if (!(own->rope.function = r->function[0]))
    return yamlWrong(r, yamlSection(r, n, "motion")->start_mark, "motion must depend on t");
  return 0;
}

static int checkDrive(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[] = {"start", "rate", "amplitude", "frequency", NULL};
  if (!yamlSection(r, n, "motion")) return 0;
  e->drive.drive.start = e->drive.motion;
  if ((e->drive.drive.function = r->function[0])) e->drive.drive.start = 0;
  return refuseKeys(r, n, "a drive", keys, "beside motion");
}

static int checkSpring(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const ends[] = {"a", "b", "in", "at", "at_b", NULL};
  e->spring.function = r->function[0], e->spring.inputs = r->inputs;
  if (isnan(e->spring.free) && e->spring.of.joint) e->spring.free = 0; /* if free is not given */
  if (e->spring.of.joint) return refuseKeys(r, n, "a spring", ends, "beside of");
  return e->spring.in == CP_IN_SPACE && needKey(r, n, "a spring", "at_b");
}

/* A limit of one coordinate, or of two: `and`, with `ratio` */
static int checkLimit(Reader *r, const yaml_node_t *n, Element *e) {
  const yaml_node_t *ratio = yamlSection(r, n, "ratio");
  if (!yamlSection(r, n, "lower")) e->limit.lower = -INFINITY;
  if (!yamlSection(r, n, "upper")) e->limit.upper = INFINITY;
  if (!ratio == !e->limit.of[1].joint) return 0;
  return yamlWrong(r, (ratio ? ratio : n)->start_mark,
                   "a limit of two coordinates needs and, and ratio");
}

static int checkActuator(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const keys[] = {"a", "b", "in", "at", "at_b", "along", "push", "about", NULL};
  CPActuator *actuator            = &e->actuator.actuator;
  if ((actuator->function = r->function[0]) == NULL && e->actuator.curve != 0)
    return yamlWrong(r, yamlSection(r, n, "curve")->start_mark,
                     "curve must depend on t, x, v or w; a constant is bias");
  /* One that says nothing of its force is a motor. */
  if (!yamlSection(r, n, "gain") && !yamlSection(r, n, "bias") && !actuator->function &&
      actuator->muscle.force == 0)
    actuator->gain[0] = 1;
  if (actuator->of.joint) return refuseKeys(r, n, "an actuator", keys, "beside of");
  return actuator->in == CP_IN_SPACE && needKey(r, n, "an actuator", "at_b");
}

static int checkController(Reader *r, const yaml_node_t *n, Element *e) {
  e->controller.controller.function = r->function[0];
  e->controller.controller.inputs   = r->inputs;
  return r->function[0] ? 0
                        : yamlWrong(r, yamlSection(r, n, "control")->start_mark,
                                    "control must depend on t or on quantities");
}

static int checkWhen(Reader *r, const yaml_node_t *n, CPRelease *release) {
  const yaml_node_t *when = yamlSection(r, n, "when");
  release->function       = r->function[0];
  release->inputs         = r->inputs;
  return when && !release->function
             ? yamlWrong(r, when->start_mark, "when must depend on t or on quantities")
             : 0;
}

/* One of load, when and at */
static int checkRelease(Reader *r, const yaml_node_t *n, Element *e) {
  const yaml_node_t *load = yamlSection(r, n, "load");
  CPRelease *release      = &e->release.release;
  if ((yamlSection(r, n, "when") != NULL) + (load != NULL) + (yamlSection(r, n, "at") != NULL) != 1)
    return yamlWrong(r, n->start_mark, "a release needs one of load, when and at");
  if (load && !(release->load > 0))
    return yamlWrong(r, load->start_mark, "load must be positive, and is %g", (double)release->load);
  return checkWhen(r, n, release);
}

/* One of when and at */
static int checkLatch(Reader *r, const yaml_node_t *n, Element *e) {
  CPRelease *latch = &e->release.release;
  latch->closes    = 1;
  if ((yamlSection(r, n, "when") != NULL) == (yamlSection(r, n, "at") != NULL))
    return yamlWrong(r, n->start_mark, "a latch needs one of when and at");
  return checkWhen(r, n, latch);
}

static int checkTyre(Reader *r, const yaml_node_t *n, Element *e) {
  return e->tyre.in == CP_IN_SPACE && needKey(r, n, "a tyre", "at");
}

static int checkSphere(Reader *r, const yaml_node_t *n, Element *e) {
  return e->sphere.in == CP_IN_SPACE && needKey(r, n, "an elastic sphere", "at_b");
}

static int checkDrag(Reader *r, const yaml_node_t *n, Element *e) {
  return e->drag.in == CP_IN_SPACE && needKey(r, n, "a drag", "at");
}

static int checkForce(Reader *r, const yaml_node_t *n, Element *e) {
  memcpy(e->force.function, r->function, sizeof r->function);
  e->force.inputs = r->inputs;
  if (r->function[2] && r->dimension == 2)
    return yamlWrong(r, yamlSection(r, n, "force")->start_mark, "force must lie in the plane");
  return e->force.in == CP_IN_SPACE && needKey(r, n, "a force", "at");
}

static int checkShape(Reader *r, const yaml_node_t *n, Element *e) {
  static const char *const file[] = {"file", NULL};
  (void)e;
  return yamlSection(r, n, "points") && refuseKeys(r, n, "a shape", file, "beside points");
}

const ElementKeys yaml_elements[] = {
    {"bodies", "a body", body_fields, CP_ELEMENT_BODY, sizeof(CPBody), checkBody},
    {"joints", "a joint", joint_fields, CP_ELEMENT_JOINT, sizeof(CPJoint), checkJoint},
    {"shapes", "a shape", shape_fields, CP_ELEMENT_SHAPE, sizeof(CPShape), checkShape},
    {"contacts", "a contact", contact_fields, CP_ELEMENT_CONTACT, sizeof(CPBodyContact),
     checkContact},
    {"couplers", "a coupler", coupler_fields, CP_ELEMENT_COUPLER, sizeof(CPCoupler), checkCoupler},
    {"drives", "a drive", drive_fields, CP_ELEMENT_DRIVE, sizeof(CPDrive), checkDrive},
    {"springs", "a spring", spring_fields, CP_ELEMENT_SPRING, sizeof(CPSpring), checkSpring},
    {"bushings", "a bushing", bushing_fields, CP_ELEMENT_BUSHING, sizeof(CPBushing), checkBushing},
    {"forces", "a force", force_fields, CP_ELEMENT_FORCE, sizeof(CPForce), checkForce},
    {"tyres", "a tyre", tyre_fields, CP_ELEMENT_TYRE, sizeof(CPTyre), checkTyre},
    {"elastic_spheres", "an elastic sphere", sphere_fields, CP_ELEMENT_SPHERE,
     sizeof(CPElasticSphere), checkSphere},
    {"drags", "a drag", drag_fields, CP_ELEMENT_DRAG, sizeof(CPDrag), checkDrag},
    {"tendons", "a tendon", tendon_fields, CP_ELEMENT_TENDON, sizeof(CPTendon), checkTendon},
    {"frictions", "a friction", friction_fields, CP_ELEMENT_FRICTION, sizeof(CPFriction), NULL},
    {"limits", "a limit", limit_fields, CP_ELEMENT_LIMIT, sizeof(CPLimit), checkLimit},
    {"actuators", "an actuator", actuator_fields, CP_ELEMENT_ACTUATOR, sizeof(CPActuator),
     checkActuator},
    {"ropes", "a rope", rope_fields, CP_ELEMENT_ROPE, sizeof(CPRope), checkRope},
    {"controllers", "a controller", controller_fields, CP_ELEMENT_CONTROLLER, sizeof(CPController),
     checkController},
    {"releases", "a release", release_fields, CP_ELEMENT_RELEASE, sizeof(CPRelease), checkRelease},
    {"latches", "a latch", latch_fields, CP_ELEMENT_RELEASE, sizeof(CPRelease), checkLatch},
    {0}};
