/* Wrong models are named and change nothing; every allocation fails in turn. */
#include "support/alloc.h"
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

static CPBodies bodies;
static MessageLog messages;

static CPBody good_body(const char *name) {
  return (CPBody){CP_NEW_BODY(name), .mass = 1, .inertia = {1, 1, 1}, .position = {1, 0, 0}};
}
static CPJoint good_joint(void) {
  return (CPJoint){CP_NEW_JOINT("joint"), .kind = CP_JOINT_REVOLUTE, .a = "ground", .b = "body"};
}
static CPSpring good_spring(void) {
  return (CPSpring){CP_NEW_SPRING("spring"), .b = "body", .point_b = {1, 1, 0}, .stiffness = 1};
}

static int no_force(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    sunrealtype *f, void *data) {
  (void)t, (void)q, (void)u, (void)z, (void)f, (void)data;
  return 0;
}

static void setup(void) {
  test_context_setup();
  bodies             = CPBodiesCreate(3, NULL);
  const CPBody body  = good_body("body");
  const CPJoint base = {CP_NEW_JOINT("base"), .kind = CP_JOINT_REVOLUTE, .b = "body"};
  memset(&messages, 0, sizeof messages);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(bodies), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &body.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &base.head, NULL), CP_SUCCESS);
}

static void teardown(void) {
  CPBodiesFree(&bodies);
  CPBodiesFree(&bodies);
  CPBodiesFree(NULL);
  test_context_teardown();
}

/* Checks that the call failed with this code and a message with both words, and that the mechanism
 * is unchanged. */
static void refused(int got, int code, const char *first, const char *second) {
  ck_assert_int_eq(got, code);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), first);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), second);
  ck_assert_int_eq(messages.code, code);
  ck_assert_str_eq(messages.text, CPObjectGetLastMessage(CP_OBJECT(bodies)));
  ck_assert_int_eq(CPBodiesCount(bodies, CP_BODY), 1);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_JOINT), 1);
  CPModel model;
  ck_assert_int_eq(CPBodiesBuild(bodies, &model), CP_SUCCESS);
  ck_assert_int_eq((int)CPModelGetEquations(model)->nu, 6);
  ck_assert_int_eq((int)CPModelGetEquations(model)->np, 5);
  CPModelFree(&model);
}

/* The same for a function of mech */
static void refused_by(CPMech mech, int got, const char *word) {
  ck_assert_int_eq(got, CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), word);
}

START_TEST(wrong_bodies_are_named) {
  CPBody b         = good_body("new");
  const char *word = "new";
  const char *rule = "mass must not be negative";
  switch (_i) {
  case 0: b.mass = -1e-300; break;
  case 1: b.mass = -1; break;
  case 2: b.mass = NAN; break;
  case 3: b.mass = INFINITY; break;
  case 4: b.inertia[2] = 2.1, rule = "at most the sum of the others"; break;
  case 5: b.inertia[0] = -1e-9, rule = "principal moments must not be negative"; break;
  case 6: b.inertia[3] = 1.2, rule = "principal moments must not be negative"; break;
  case 7: b.inertia[4] = NAN, rule = "inertia must be finite"; break;
  case 8: b.centre[1] = INFINITY, rule = "centre must be finite"; break;
  case 9: b.position[2] = NAN, rule = "position must be finite"; break;
  case 10: b.quaternion[0] = NAN, rule = "quaternion must be finite"; break;
  case 11: b.velocity[0] = NAN, rule = "velocity must be finite"; break;
  case 12: b.omega[0] = NAN, rule = "omega must be finite"; break;
  case 13: b.head.name = NULL, word = "name", rule = "must not be empty"; break;
  case 14: b.head.name = "", word = "name", rule = "must not be empty"; break;
  case 15: b.head.name = "a b", word = "a b", rule = "no blank"; break;
  case 16: b.head.name = "a.b", word = "a.b", rule = "no dot"; break;
  case 17: b.head.name = "ground", word = "ground", rule = "must not be"; break;
  case 18: b.head.name = "body", word = "body", rule = "already"; break;
  case 19: b.head.name = "base", word = "base", rule = "already"; break;
  case 20: b.head.name = "gravity", word = "gravity", rule = "already"; break;
  case 21: b.angle = NAN, rule = "angle must be finite"; break;
  default: ck_abort();
  }
  refused(CPBodiesAdd(bodies, &b.head, NULL), CP_ILL_INPUT, word, rule);
}
END_TEST

START_TEST(wrong_joints_are_named) {
  CPJoint j        = good_joint();
  const char *rule = "";
  switch (_i) {
  case 0: j.a = "body", rule = "must differ"; break;
  case 1: j.b = NULL, rule = "must differ"; break;
  case 2: j.b = "wheel", rule = "no body \"wheel\""; break;
  case 3: j.b = "base", rule = "no body \"base\""; break;
  case 4: j.kind = (CPJointKind)99, rule = "kind"; break;
  case 5: j.on_a.point[0] = NAN, rule = "finite"; break;
  case 6: j.on_a.axis[0] = j.on_a.across[0] = 1, rule = "across must not be along the axis"; break;
  case 7: j.kind = CP_JOINT_ROD, j.length = -1, rule = "length must be positive"; break;
  case 8: j.kind = CP_JOINT_ROD, rule = "length must be positive"; break; /* the points meet */
  case 9: j.kind = CP_JOINT_ROLLING, rule = "radius must be positive"; break;
  case 10: j.in = CP_IN_BODIES, j.on_b.axis[0] = INFINITY, rule = "finite (body b)"; break;
  case 11: j.head.name = "base", rule = "already"; break;
  case 12: /* the axis is the plane's */
    j.kind = CP_JOINT_ROLLING_DISC, j.length = 1, j.on_b.axis[2] = 1;
    rule = "must not be along the plane's normal";
    break;
  default: ck_abort();
  }
  refused(CPBodiesAdd(bodies, &j.head, NULL), CP_ILL_INPUT, j.head.name, rule);
}
END_TEST

static CPBodyContact good_contact(void) {
  return (CPBodyContact){
      CP_NEW_CONTACT("foot"),       .b = "body",    .on_a = {.point = {0, 0, 0.5}},
      .on_b = {.point = {1, 0, 2}}, .radius = 0.25, .law.mu = 0.3};
}

/* A cone whose gradient has the length sqrt 2, and which ends at its tip and below */
static int cone(const sunrealtype *x, sunrealtype *phi, sunrealtype *g, sunrealtype *H,
                sunrealtype *T, void *data) {
  const sunrealtype r = sqrt(x[0] * x[0] + x[1] * x[1]);
  (void)H, (void)T, (void)data;
  *phi = x[2] - r;
  g[0] = -x[0] / r, g[1] = -x[1] / r, g[2] = 1;
  return r > 0 ? 0 : 3;
}

START_TEST(wrong_contacts_are_named) {
  CPBodyContact c  = good_contact();
  int code         = CP_ILL_INPUT;
  const char *rule = "friction and sticking must be finite and not negative";
  switch (_i) {
  case 0: c.law.mu = -1; break;
  case 1: c.law.mu = NAN; break;
  case 2: c.law.mu_static = INFINITY; break;
  case 3: c.law.restitution = -0.1, rule = "restitution must be from 0 to 1, and is -0.1"; break;
  case 4: c.law.restitution = 1.1, rule = "restitution must be from 0 to 1, and is 1.1"; break;
  case 5: c.radius = -1, rule = "radius must be finite and not negative, and is -1"; break;
  case 6: c.radius = NAN, rule = "radius must be finite"; break;
  case 7: c.b = "wheel", rule = "no body \"wheel\""; break;
  case 8: c.b = NULL, rule = "must differ"; break;
  case 9: c.head.name = "base", rule = "already"; break;
  case 10: c.on = CP_ON_SURFACE + 1, rule = "must be of CPContactOn"; break;
  case 11: c.touch = CP_TOUCH_BOX + 1, rule = "and CPContactTouch, and are 0 and 4"; break;
  case 12: c.on = CP_ON_SURFACE, rule = "needs the function `surface`"; break;
  case 13: c.surface = cone, rule = "other kinds must have none"; break;
  case 14:
    c.on = CP_ON_SURFACE, c.surface = cone;
    rule = "by a distance, and the length of its gradient is 1.41421";
    break;
  case 15:
    c.on = CP_ON_SURFACE, c.surface = cone, c.radius = 0, c.on_b.point[0] = 0;
    rule = "fails at the placement (3)";
    break;
  case 16: c.on = CP_ON_SPHERE, c.radius = 0, rule = "radius_a + radius must not be 0"; break;
  case 17: c.on = CP_ON_SPHERE, c.radius_a = -0.2, rule = "they are -0.2 and 0.25"; break;
  case 18: c.on = CP_ON_SPHERE, c.radius_a = NAN, rule = "they are nan"; break;
  case 19: c.touch = CP_TOUCH_BOX, rule = "all sizes must be positive, and one is 0"; break;
  case 20:
    c.touch = CP_TOUCH_CYLINDER, c.size[2] = 1;
    rule = "the axis of the disc must not be along the plane's normal";
    break;
  case 21: c.touch = CP_TOUCH_DISC, rule = "the axis of the disc"; break;
  case 22:
    c.touch = CP_TOUCH_DISC, c.on_b.axis[0] = 1, c.radius = 0;
    rule = "radius must be positive, and is 0";
    break;
  case 23:
    c.touch = CP_TOUCH_DISC, c.on = CP_ON_SPHERE, code = CP_NOT_SUPPORTED;
    rule = "the edge of a disc touches planes only";
    break;
  case 24: /* the third vertex has a name that exists */
    c.touch = CP_TOUCH_BOX, c.head.name = "b", rule = "there is a \"b_3\" already";
    for (int k = 0; k < 3; k++) c.size[k] = 1;
    ck_assert_int_eq(CPBodiesAdd(bodies, &(CPForce){CP_NEW_FORCE("b_3"), .body = "body"}.head, NULL),
                     CP_SUCCESS);
    break;
  case 25: c.touch = CP_TOUCH_CYLINDER, c.size[2] = 1, c.head.name = NULL, rule = "empty"; break;
  default: ck_abort();
  }
  refused(CPBodiesAdd(bodies, &c.head, NULL), code, c.head.name ? c.head.name : "", rule);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 0);
}
END_TEST

START_TEST(names_of_a_box_that_is_refused_are_free_again) {
  CPBodyContact box  = good_contact();
  const CPForce last = {CP_NEW_FORCE("foot_8"), .body = "body"};
  int index;
  box.touch = CP_TOUCH_BOX, box.size[0] = box.size[1] = box.size[2] = 1;
  ck_assert_int_eq(CPBodiesAdd(bodies, &last.head, NULL), CP_SUCCESS);
  for (int k = 0; k < 30; k++) ck_assert_int_eq(CPBodiesAdd(bodies, &box.head, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_JOINT), 1);
  box.head.name = "other";
  ck_assert_int_eq(CPBodiesAdd(bodies, &box.head, &index), CP_SUCCESS);
  ck_assert_int_eq(index, 0);
  box.head.name = "foot_7", box.touch = CP_TOUCH_BALL;
  ck_assert_int_eq(CPBodiesAdd(bodies, &box.head, &index), CP_SUCCESS);
  ck_assert_int_eq(index, 8);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 9);
  ck_assert_int_ge(thing_named(bodies, CP_PARAMETER, "other_8.restitution"), 0);
  ck_assert_int_eq(thing_named(bodies, CP_PARAMETER, "foot_1.length"), CP_ILL_INPUT);
}
END_TEST

/* A normal may have any length. The ball of the following test is 1.25 m above its plane; where the squares
 * of its normal overflowed, it fell through. */
START_TEST(axes_may_have_any_length) {
  static const sunrealtype lengths[] = {1e-300, 1e-200, 7, 1e200, 1e300};
  CPBodyContact contact              = good_contact();
  CPMech mech;
  sunrealtype p[6];
  contact.on_a.axis[2] = lengths[_i];
  ck_assert_int_eq(CPBodiesAdd(bodies, &contact.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_int_eq(equations_of(mech).p(0, entries(y), p, CPMechGetUserData(mech)), 0);
  ck_assert_double_eq_tol(p[5], 1.25, 1e-15);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* The rows after the five rows of the hinge are the gap of a ball that is 1.25 m above its plane,
 * and two sliding velocities. All are inactive unless a CPContact activates them. */
START_TEST(contacts_tell_their_rows_constants_and_places) {
  const CPBodyContact contact = good_contact();
  CPDescription d             = CP_INIT(CPDescription);
  CPMech mech;
  sunrealtype frame[12], p[6];
  ck_assert_int_eq(CPBodiesAdd(NULL, &contact.head, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesAdd(bodies, &contact.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 1);
  ck_assert_int_eq(CPBodiesCount(NULL, CP_CONTACT), 0);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  CPBodiesParameters(bodies)[thing_named(bodies, CP_PARAMETER, "foot.restitution")] = 0.5;
  ck_assert_int_eq(CPBodiesDescribe(bodies, CP_CONTACT, 1, &d), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesDescribe(bodies, CP_CONTACT, -1, &d), CP_ILL_INPUT);
  ck_assert_int_eq(thing_named(bodies, CP_CONTACT, "foot"), 0);
  ck_assert_int_eq(thing_named(bodies, CP_CONTACT, "base"), CP_ILL_INPUT); /* a joint */
  d = thing_at(bodies, CP_CONTACT, 0);
  ck_assert_str_eq(d.name, "foot");
  ck_assert_int_eq(d.joint, 1);
  ck_assert_int_eq((int)d.first, 5);
  ck_assert_int_eq((int)d.count, 1);
  ck_assert_int_eq((int)d.first_rate, 6);
  ck_assert_int_eq((int)d.nrates, 2);
  ck_assert_double_eq(d.law->mu, 0.3);
  ck_assert_double_eq(d.law->mu_static, 0);
  ck_assert_double_eq(d.law->restitution, 0.5);
  ck_assert_int_eq((int)d.law->kind, CP_RESTITUTION_NEWTON);
  ck_assert_int_eq(d.kind, CP_ON_PLANE);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_int_eq(equations_of(mech).p(0, entries(y), p, CPMechGetUserData(mech)), 0);
  ck_assert_double_eq_tol(p[5], 1.25, 1e-15);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_CONTACT, 1, y, frame), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_CONTACT, 0, NULL, frame), CP_MEM_NULL);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_CONTACT, 0, y, frame), CP_SUCCESS);
  const sunrealtype expected[6] = {1, 0, 1.75, 0, 0, 1};
  for (int k = 0; k < 6; k++) ck_assert_double_eq_tol(frame[k], expected[k], 1e-15);
  for (int k = 0; k < 3; k++) /* z x x = y */
    ck_assert_double_eq_tol(frame[9 + k], k == 0 ? -frame[7] : k == 1 ? frame[6] : 0, 1e-15);
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = NULL};
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  ck_assert_int_eq((int)out.rank, 5);
  ck_assert_double_le(out.position, 1e-15);
  N_VDestroy(y);
  CPMechFree(&mech);
}
END_TEST

/* A motor with gear 2 on a hinge of inertia I: I x'' = gear F, F = gain w + bias_v gear x', both of them clamped. */
START_TEST(actuators_act_or_are_named) {
  CPActuator a    = {CP_NEW_ACTUATOR("motor"),
                     .of            = {"base", 0},
                     .control       = 3,
                     .gear          = 2,
                     .gain          = {5},
                     .bias          = {0, 0, -1},
                     .control_range = {-1, 1},
                     .force_range   = {-4, 9}};
  CPActuator good = a;
  a.gear          = NAN;
  refused(CPBodiesAdd(bodies, &a.head, NULL), CP_ILL_INPUT, "motor", "gear");
  a = good, a.control_range[0] = 2;
  refused(CPBodiesAdd(bodies, &a.head, NULL), CP_ILL_INPUT, "motor",
          "control_range must begin below its end, and is 2 to 1");
  a = good, a.of.k = 1;
  refused(CPBodiesAdd(bodies, &a.head, NULL), CP_ILL_INPUT, "base", "no coordinate 1");
  ck_assert_int_eq(CPBodiesAdd(bodies, &good.head, NULL), CP_SUCCESS);
  CPMech mech;
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_ptr_nonnull(y);
  CPPowers powers = {CP_SIZED(CPPowers)};
  sunrealtype x, rate;
  entries(y)[equations_of(mech).nq + 5] = 1; /* about the axis z of the hinge */
  ck_assert_int_eq(CPMechGetCoordinate(mech, 0, y, &x, &rate), CP_SUCCESS);
  ck_assert_double_eq_tol(rate, 1, 1e-15);
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, NULL, &powers), CP_SUCCESS);
  ck_assert_double_eq_tol(powers.applied, 2 * (5 - 2), 1e-14); /* w is 1 */
  sunrealtype *values;
  const int control = thing_named(bodies, CP_PARAMETER, "motor.control");
  ck_assert_int_ge(control, 0);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  values[control] = -3;
  powers          = (CPPowers){CP_SIZED(CPPowers)};
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, NULL, &powers), CP_SUCCESS);
  ck_assert_double_eq_tol(powers.applied, 2 * -4, 1e-14); /* F is clamped */
  N_VDestroy(y);
  CPMechFree(&mech);
}
END_TEST

START_TEST(wrong_forces_and_drives_are_named) {
  CPSpring s     = good_spring();
  CPForce f      = {CP_NEW_FORCE("force"), .body = "body"};
  CPFriction r   = {CP_NEW_FRICTION("friction"), .of = {"base", 0}, .factor = 1, .speed = 1};
  CPDrive d      = {CP_NEW_DRIVE("drive"), .of = {"base", 0}};
  CPCoupler c    = {CP_NEW_COUPLER("gear"), .of = {{"base", 0}, {"base", 0}}, .ratio = {1, 2}};
  CPBushing bush = {CP_NEW_BUSHING("bush"), .b = "body"};
  switch (_i) {
  case 0:
    s.stiffness = NAN;
    refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, "spring", "stiffness");
    break;
  case 1:
    s.point_b[1] = 0, s.point_b[0] = 0;
    refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, "spring", "must not meet");
    break;
  case 2:
    s.of = (CPCoordinate){"base", 1};
    refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, "base", "no coordinate 1");
    break;
  case 3:
    s.of.joint = "x";
    refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, "spring", "no joint \"x\"");
    break;
  case 4:
    s.free = INFINITY;
    refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, "spring", "free");
    break;
  case 5:
    s.b = "y";
    refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, "spring", "no body \"y\"");
    break;
  case 6:
    f.body = NULL;
    refused(CPBodiesAdd(bodies, &f.head, NULL), CP_ILL_INPUT, "force", "must differ");
    break;
  case 7:
    f.force[1] = NAN;
    refused(CPBodiesAdd(bodies, &f.head, NULL), CP_ILL_INPUT, "force", "finite");
    break;
  case 8:
    r.factor = -1;
    refused(CPBodiesAdd(bodies, &r.head, NULL), CP_ILL_INPUT, "friction", "factor");
    break;
  case 9:
    r.speed = -1;
    refused(CPBodiesAdd(bodies, &r.head, NULL), CP_ILL_INPUT, "friction", "speed");
    break;
  case 10:
    r.of.joint = NULL;
    refused(CPBodiesAdd(bodies, &r.head, NULL), CP_ILL_INPUT, "friction", "no joint");
    break;
  case 11:
    d.rate = NAN;
    refused(CPBodiesAdd(bodies, &d.head, NULL), CP_ILL_INPUT, "drive", "finite");
    break;
  case 12:
    d.of.k = -1;
    refused(CPBodiesAdd(bodies, &d.head, NULL), CP_ILL_INPUT, "drive", "no coordinate");
    break;
  case 13:
    c.ratio[1] = 0;
    refused(CPBodiesAdd(bodies, &c.head, NULL), CP_ILL_INPUT, "gear", "must not be 0");
    break;
  case 14:
    c.ratio[1] = 0.3;
    refused(CPBodiesAdd(bodies, &c.head, NULL), CP_ILL_INPUT, "gear", "whole numbers");
    break;
  case 15:
    c.offset = NAN;
    refused(CPBodiesAdd(bodies, &c.head, NULL), CP_ILL_INPUT, "gear", "offset");
    break;
  case 16:
    bush.turn_damping[2] = NAN;
    refused(CPBodiesAdd(bodies, &bush.head, NULL), CP_ILL_INPUT, "bush", "turn_damping");
    break;
  case 17:
    bush.b = NULL;
    refused(CPBodiesAdd(bodies, &bush.head, NULL), CP_ILL_INPUT, "bush", "must differ");
    break;
  case 18:
    ck_assert_ptr_null(CPBodiesCreate(3, (sunrealtype[]){0, NAN, 0}));
    ck_assert_mentions(CPObjectGetLastMessage(NULL), "gravity must be finite");
    break;
  case 19:
    refused(thing_named(bodies, CP_PARAMETER, "body.length"), CP_ILL_INPUT, "parameter",
            "body.length");
    break;
  case 20:
    s.inertance = -1;
    refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, "spring",
            "inertance must not be negative");
    break;
  case 21:
    bush.drag = NAN;
    refused(CPBodiesAdd(bodies, &bush.head, NULL), CP_ILL_INPUT, "bush", "drag must be finite");
    break;
  default: ck_abort();
  }
}
END_TEST

/* Squares of such half axes are 0 or infinite, as are those of a parameter that becomes 0; the duplication of Carlson's integral must end. */
START_TEST(half_axes_without_added_masses_end_in_a_failure) {
  static const sunrealtype out[] = {1e-200, 1e200};
  CPDrag drag                    = {CP_NEW_DRAG("air"), .body = "body", .density = 1};
  CPMech mech;
  sunrealtype *values;
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < 3; k++) drag.half_axes[k] = out[i];
    refused(CPBodiesAdd(bodies, &drag.head, NULL), CP_ILL_INPUT, "air", "half_axes");
  }
  for (int k = 0; k < 3; k++) drag.half_axes[k] = 1 + k;
  ck_assert_int_eq(CPBodiesAdd(bodies, &drag.head, NULL), CP_SUCCESS);
  N_Vector y = build_as(bodies, (CPFormulation)_i, &mech), ydot = N_VClone(y);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  values[thing_named(bodies, CP_PARAMETER, "air.size_x")] = 0;
  values[thing_named(bodies, CP_PARAMETER, "air.size_y")] = 0;
  ck_assert_int_ne(CPMechRhs(0, y, ydot, mech), 0);
  N_VDestroy(y), N_VDestroy(ydot);
  CPMechFree(&mech);
}
END_TEST

START_TEST(the_plane_refuses_what_leaves_it) {
  CPBodies plane = CPBodiesCreate(2, NULL);
  CPBody body    = good_body("body");
  CPJoint joint  = good_joint();
  ck_assert_int_eq(CPBodiesAdd(plane, &body.head, NULL), CP_SUCCESS);
  joint.kind = CP_JOINT_BALL;
  ck_assert_int_eq(CPBodiesAdd(plane, &joint.head, NULL), CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "no joint \"ball\" in the plane");
  joint.kind = CP_JOINT_PRISMATIC;
  ck_assert_int_eq(CPBodiesAdd(plane, &joint.head, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "axis must not be zero");
  joint.on_a.axis[0] = joint.on_a.axis[2] = 1;
  ck_assert_int_eq(CPBodiesAdd(plane, &joint.head, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "must lie in the plane");
  body.head.name = "second", body.position[2] = 1;
  ck_assert_int_eq(CPBodiesAdd(plane, &body.head, NULL), CP_ILL_INPUT);
  body.position[2] = 0, body.inertia[2] = -1;
  ck_assert_int_eq(CPBodiesAdd(plane, &body.head, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "J_zz");
  ck_assert_ptr_null(CPBodiesCreate(2, (sunrealtype[]){0, 0, 1}));
  ck_assert_ptr_null(CPBodiesCreate(4, NULL));
  CPBodiesFree(&plane);
}
END_TEST

START_TEST(wrong_arguments_are_refused) {
  sunrealtype x[3], T[3], P[12];
  CPPowers powers = CP_INIT(CPPowers);
  CPMech mech;
  N_Vector y = CPBodiesState(bodies, test_context), wrong = vector_of(3, NULL);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetCoordinate(mech, 0, wrong, x, T), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "13 components");
  ck_assert_int_eq(CPMechGetCoordinate(mech, 1, y, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetCoordinate(mech, -1, y, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(body_point(mech, 1, x, y, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetReaction(mech, 1, 0, y, x, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetReaction(mech, 0, 0, y, NULL, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_JOINT, 1, y, P), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetPowers(mech, 0, wrong, NULL, &powers), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetPowers(mech, 0, NULL, NULL, &powers), CP_MEM_NULL);
  ck_assert_int_eq(CPMechAssemble(NULL, 0, y, NULL), CP_MEM_NULL);
  ck_assert_int_eq(
      CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .held = "body rotor"}),
      CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "rotor");
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, &(CPAssembly){.size = 0}), CP_OLD_STRUCT);
  ck_assert_int_eq(CPBodiesAdd(NULL, &(CPBody){CP_NEW_BODY("none"), .mass = 1}.head, NULL),
                   CP_MEM_NULL);
  ck_assert_ptr_null(CPBodiesState(NULL, test_context));
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(wrong);
}
END_TEST

/* Quantities of bodies need a CPMech of bodies. */
START_TEST(other_systems_have_no_bodies) {
  static const sunrealtype one[] = {1};
  SUNMatrix M                    = SUNDenseMatrix(1, 1, test_context);
  SM_ELEMENT_D(M, 0, 0)          = one[0];
  CPModel model =
      CPModelCreate(&(CPEquations){CP_SIZED(CPEquations), .nu = 1, .M_tmpl = M, .f = no_force});
  N_Vector y  = vector_of(2, NULL);
  CPMech mech = CPMechCreate(model, y, test_context);
  ck_assert_ptr_nonnull(mech);
  ck_assert_int_eq(CPMechGetParameters(mech, NULL, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "CPBodiesBuild");
  ck_assert_int_eq(CPMechGetCoordinate(mech, 0, y, NULL, NULL), CP_ILL_INPUT);
  CPMechFree(&mech);
  CPModelFree(&model);
  SUNMatDestroy(M);
  N_VDestroy(y);
}
END_TEST

/* Each CPMech has its own parameters, and a model does not change with the description. */
START_TEST(models_and_their_systems_are_independent) {
  const CPBody late = good_body("late");
  CPModel model;
  sunrealtype *p[2], udot[2][6];
  CPMech mech[2];
  int n;
  set_gravity(bodies, (sunrealtype[]){0, -9.81, 0});
  ck_assert_int_eq(CPBodiesBuild(bodies, &model), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_int_eq(CPBodiesAdd(bodies, &late.head, NULL), CP_SUCCESS);
  CPBodiesParameters(bodies)[1] = 0;
  CPBodiesFree(&bodies);
  for (int k = 0; k < 2; k++) mech[k] = CPMechCreate(model, y, test_context);
  CPModelFree(&model); /* the systems keep it */
  for (int k = 0; k < 2; k++) ck_assert_int_eq(CPMechGetParameters(mech[k], &p[k], &n), CP_SUCCESS);
  ck_assert_int_eq(n, 3 + 7);
  p[1][1] = -1;
  for (int k = 0; k < 2; k++)
    ck_assert_int_eq(CPMechAccelerations(mech[k], 0, y, udot[k], NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(udot[0][1], -9.81 / 2, 1e-12); /* arm 1, mass 1, J_zz = 1 */
  ck_assert_double_eq_tol(udot[1][1], -0.5, 1e-12);
  for (int k = 0; k < 2; k++) CPMechFree(&mech[k]);
  N_VDestroy(y);
}
END_TEST

START_TEST(arguments_that_are_NULL_are_refused) {
  sunrealtype P[12];
  int i;
  CPMech mech;
  CPModel *none = NULL;
  ck_assert_int_eq(CPBodiesBuild(bodies, none), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesAdd(bodies, NULL, NULL), CP_ILL_INPUT);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y            = CPBodiesState(bodies, test_context);
  const int described[] = {CPBodiesDescribe(bodies, CP_JOINT, 0, NULL),
                           CPBodiesFind(bodies, CP_JOINT, NULL, &i),
                           CPBodiesFind(bodies, CP_JOINT, "base", NULL)};
  for (size_t k = 0; k < sizeof described / sizeof *described; k++)
    ck_assert_int_eq(described[k], CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "must not be NULL");
  const int asked[] = {
      CPMechGetFrame(mech, 0, P, y, NULL), CPMechGetReaction(mech, 0, 0, y, P, NULL, P),
      CPMechGetReaction(mech, 0, 0, y, P, P, NULL), CPMechGetPowers(mech, 0, y, NULL, NULL),
      CPMechGetPoints(mech, CP_JOINT, 0, y, NULL)};
  for (size_t k = 0; k < sizeof asked / sizeof *asked; k++)
    ck_assert_int_eq(asked[k], CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "must not be NULL");
  ck_assert_int_eq(body_point(mech, 0, P, y, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetCoordinate(mech, 0, y, NULL, NULL), CP_SUCCESS);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

START_TEST(readers_refuse_arguments_that_are_missing) {
  CPBodies b = bodies;
  ck_assert_int_eq(CPBodiesRead(NULL, "bodies:", 7, &b, NULL), CP_ILL_INPUT);
  ck_assert_ptr_null(b);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "must not be NULL");
  ck_assert_int_eq(CPBodiesRead("a.yaml", "bodies:", 7, NULL, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "must not be NULL");
  ck_assert_int_eq(CPBodiesRead("nowhere", NULL, 0, &b, NULL), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(NULL), "nowhere: it cannot be opened");
  ck_assert_int_eq(CPBodiesRead("a.yaml", "[", 1, &b, &(CPBodiesFile){.size = 0}), CP_OLD_STRUCT);
  ck_assert_int_eq(CPBodiesRead("a.yaml", "[", 1, &b, NULL), CP_ILL_INPUT);
}
END_TEST

/* A program that was built with an earlier version has shorter structures, and one of a later version longer ones. */
START_TEST(elements_have_the_members_that_their_size_says) {
  struct {
    CPBody known;
    double later;
  } longer               = {.known = good_body("longer"), .later = 1};
  longer.known.head.size = sizeof longer;
  CPBody body            = good_body("shorter");
  body.velocity[0]       = NAN;
  body.head.size         = offsetof(CPBody, velocity);
  ck_assert_int_eq(CPBodiesAdd(bodies, &longer.known.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &body.head, NULL), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_double_eq(entries(y)[3 * 7 + 2 * 6], 0);
  N_VDestroy(y);
}
END_TEST

START_TEST(elements_without_a_head_are_refused) {
  CPBody body = good_body("new");
  switch (_i) {
  case 0: body.head.size = 0; break;
  case 1: body.head.size = sizeof body.head - 1; break;
  case 2: body.head.kind = (CPElementKind)-1; break;
  case 3: body.head.kind = (CPElementKind)1000; break;
  }
  refused(CPBodiesAdd(bodies, &body.head, NULL), _i < 2 ? CP_OLD_STRUCT : CP_ILL_INPUT,
          _i < 2 ? "size" : "kind", "must be");
}
END_TEST

START_TEST(a_mechanism_without_bodies_is_refused) {
  CPBodies empty = CPBodiesCreate(3, NULL);
  CPModel model;
  ck_assert_int_eq(CPBodiesBuild(empty, &model), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(empty)), "there must be a body");
  ck_assert_ptr_null(CPBodiesState(empty, test_context));
  CPBodiesFree(&empty);
}
END_TEST

/* The rod extends from (5, 0, 0) to a body that turns about the origin at the distance 1. */
START_TEST(a_loop_that_cannot_close_is_named) {
  CPMech mech;
  const CPJoint rod = {CP_NEW_JOINT("short"), .kind = CP_JOINT_ROD,    .b = "body",
                       .in = CP_IN_BODIES,    .on_a.point = {5, 0, 0}, .length = 1};
  ck_assert_int_eq(CPBodiesAdd(bodies, &rod.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context), before = vector_copy(y);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_IC_FAIL);
  ck_assert_mentions(
      CPObjectGetLastMessage(CP_OBJECT(mech)),
      "joint \"short\" stays open (by 3 m and 0 rad where the loops are nearest to closed)");
  ck_assert(same_bits(y, before));
  N_VDestroy(before);
  N_VDestroy(y);
  CPMechFree(&mech);
}
END_TEST

static int failing(sunrealtype t, sunrealtype *g, void *data) {
  (void)t;
  g[0] = g[1] = g[2] = 0;
  return *(const int *)data;
}

START_TEST(a_failing_function_is_reported) {
  int result = 0;
  CPMech mech;
  CPPowers powers     = CP_INIT(CPPowers);
  const CPDrive drive = {CP_NEW_DRIVE("drive"), .of = {"base", 0}, .g = failing, .data = &result};
  ck_assert_int_eq(CPBodiesAdd(bodies, &drive.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  sunrealtype udot[6], lambda[6] = {0};
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, lambda), CP_SUCCESS);
  result = -1;
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, lambda), CP_USERFUNC_FAIL);
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, lambda, &powers), CP_USERFUNC_FAIL);
  result = 1;
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, lambda, &powers), CP_REPTD_USERFUNC_ERR);
  N_VDestroy(y);
  CPMechFree(&mech);
}
END_TEST

START_TEST(parameters_are_found_by_name) {
  const CPSpring s = good_spring();
  ck_assert_int_eq(CPBodiesAdd(bodies, &s.head, NULL), CP_SUCCESS);
  const sunrealtype *p = CPBodiesParameters(bodies);
  ck_assert_double_eq(p[thing_named(bodies, CP_PARAMETER, "body.mass")], 1);
  ck_assert_double_eq(p[thing_named(bodies, CP_PARAMETER, "spring.stiffness")], 1);
  ck_assert_double_eq(p[thing_named(bodies, CP_PARAMETER, "gravity.y")], 0);
  ck_assert_str_eq(thing_at(bodies, CP_BODY, 0).name, "body");
  ck_assert_str_eq(thing_at(bodies, CP_JOINT, 0).name, "base");
}
END_TEST

static int is_angle(int i) { return thing_at(bodies, CP_COORDINATE, i).kind; }

/* Each thing is found by the name in its description. */
START_TEST(names_of_things_lead_back_to_them) {
  const CPSpring s         = good_spring();
  const CPBody second      = good_body("second");
  const CPJoint slider     = {CP_NEW_JOINT("slider"), .kind = CP_JOINT_CYLINDRICAL, .a = "body",
                              .b = "second"};
  const CPBodyContact foot = good_contact();
  const CPShape ball = {CP_NEW_SHAPE("ball"), .kind = CP_SHAPE_SPHERE, .body = "body", .size = {1}};
  const CPElement *const elements[] = {&s.head, &second.head, &slider.head, &foot.head, &ball.head};
  for (int k = 0; k < 5; k++) ck_assert_int_eq(CPBodiesAdd(bodies, elements[k], NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  const int counts[] = {2, 3, 3, 1, 1, 1, 3 + 7 + 4 + 7 + 4, 2 * 13 + 1};
  for (int thing = CP_BODY; thing <= CP_STATE; thing++) {
    ck_assert_int_eq(CPBodiesCount(bodies, (CPThing)thing), counts[thing]);
    for (int i = 0; i < counts[thing]; i++) {
      char name[64];
      snprintf(name, sizeof name, "%s", thing_at(bodies, (CPThing)thing, i).name);
      ck_assert_int_eq(thing_named(bodies, (CPThing)thing, name), i);
    }
    ck_assert_int_eq(thing_named(bodies, (CPThing)thing, "nothing"), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "\"nothing\"");
    ck_assert_int_eq(CPBodiesCount(NULL, (CPThing)thing), 0);
  }
  ck_assert_int_eq(CPBodiesCount(bodies, (CPThing)99), 0);
  ck_assert_int_eq(thing_named(bodies, (CPThing)99, "body"), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesFind(NULL, CP_BODY, "body", &(int){0}), CP_MEM_NULL);
  ck_assert_str_eq(thing_at(bodies, CP_COORDINATE, 2).name, "slider.1");
  ck_assert_int_eq(thing_named(bodies, CP_COORDINATE, "slider.0"), 1);
  ck_assert(is_angle(0) && !is_angle(1) && is_angle(2));
  ck_assert_str_eq(thing_at(bodies, CP_COORDINATE, 1).unit, "m");
  ck_assert_int_eq(thing_at(bodies, CP_COORDINATE, 2).joint, 1);
  ck_assert_int_eq(thing_named(bodies, CP_STATE, "second.wy"), 2 * 7 + 6 + 4);
  ck_assert_str_eq(thing_at(bodies, CP_STATE, 24).unit, "rad/s");
  ck_assert_int_eq(thing_at(bodies, CP_STATE, 24).a, 1);
  ck_assert_str_eq(thing_at(bodies, CP_STATE, 26).name, "W");
  ck_assert_double_eq(
      thing_at(bodies, CP_PARAMETER, thing_named(bodies, CP_PARAMETER, "foot.friction")).value, 0.3);
}
END_TEST

START_TEST(joints_are_described) {
  CPDescription d = thing_at(bodies, CP_JOINT, 0);
  ck_assert_int_eq(d.a, -1); /* the ground */
  ck_assert_int_eq(d.b, 0);
  ck_assert_int_eq(d.kind, CP_JOINT_REVOLUTE);
  ck_assert_int_eq((int)d.count, 5);
  refused(CPBodiesDescribe(bodies, CP_JOINT, 1, &d), CP_ILL_INPUT, "joint must be", "1");
  refused(CPBodiesDescribe(bodies, CP_JOINT, -1, &d), CP_ILL_INPUT, "joint must be", "-1");
  ck_assert_int_eq(CPBodiesDescribe(NULL, CP_JOINT, 0, &d), CP_MEM_NULL);
  d.size = 0;
  ck_assert_int_eq(CPBodiesDescribe(bodies, CP_JOINT, 0, &d), CP_OLD_STRUCT);
}
END_TEST

START_TEST(wrong_shapes_are_named) {
  CPShape s        = {CP_NEW_SHAPE("new"), .kind = CP_SHAPE_BOX, .body = "body", .size = {1, 2, 3}};
  const char *word = "new", *rule = "all sizes must be positive";
  switch (_i) {
  case 0: s.size[0] = 0; break;
  case 1: s.size[1] = -2, word = "-2"; break;
  case 2: s.size[2] = NAN; break;
  case 3: s.kind = CP_SHAPE_WHEEL, s.size[2] = 0, word = "0"; break;
  case 4: s.kind = CP_SHAPE_SPHERE, s.size[0] = -5, word = "-5"; break;
  case 5: s.kind = CP_SHAPE_MESH + 1, rule = "kind must be one of", word = "8"; break;
  case 6: s.body = "nobody", rule = "no body"; break;
  case 7: s.body = NULL, rule = "must differ"; break;
  case 8: s.head.name = "body", word = "body", rule = "already"; break;
  case 9: s.on.point[1] = NAN, rule = "must be finite"; break;
  case 10: s.on.axis[0] = s.on.across[0] = 1, rule = "across must not be along"; break;
  }
  refused(CPBodiesAdd(bodies, &s.head, NULL), CP_ILL_INPUT, rule, word);
  ck_assert_int_eq(CPBodiesAdd(NULL, &s.head, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SHAPE), 0);
}
END_TEST

/* A spring from the ground to the body, and shapes on the body, whose frame is turned by 90 degrees about z and is at (1, 1, 0) */
START_TEST(what_drawings_show_is_where_it_is) {
  const CPSpring spring = good_spring(), at_joint = {CP_NEW_SPRING("coil"), .of = {"base", 0}};
  const CPShape box           = {CP_NEW_SHAPE("box"), .kind = CP_SHAPE_BOX,       .body = "body",
                                 .in = CP_IN_BODIES,  .on = {.point = {3, 0, 0}}, .size = {2, 4, 6}};
  const CPShape roll          = {CP_NEW_SHAPE("roll"), .kind = CP_SHAPE_CYLINDER, .body = "body",
                                 .on   = {.point = {1, 0, 2}, .axis = {5, 0, 0}, .across = {0, 1, 0}},
                                 .size = {0.5, 0, 3}};
  const sunrealtype turned[]  = {1, 1, 0, sqrt(0.5), 0, 0, sqrt(0.5)};
  const sunrealtype of_box[]  = {1, 4, 0, 1, 5, 0, -1, 4, 0, 1, 4, 3};
  const sunrealtype of_roll[] = {1, 1, 2, 0.5, 1, 2, 1, 1, 2.5, 1, 2.5, 2};
  const sunrealtype *wanted[] = {of_box, of_roll};
  const CPShapeKind kinds[]   = {CP_SHAPE_BOX, CP_SHAPE_CYLINDER};
  sunrealtype points[12];
  CPMech mech;
  int index;
  ck_assert_int_eq(CPBodiesAdd(bodies, &at_joint.head, &index), CP_SUCCESS);
  ck_assert_int_eq(index, -1);
  ck_assert_int_eq(CPBodiesAdd(bodies, &spring.head, &index), CP_SUCCESS);
  ck_assert_int_eq(index, 0);
  ck_assert_int_eq(CPBodiesAdd(bodies, &box.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &roll.head, &index), CP_SUCCESS);
  ck_assert_int_eq(index, 1);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  memcpy(N_VGetArrayPointer(y), turned, sizeof turned);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SHAPE), 2);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(CPMechGetPoints(mech, CP_SHAPE, i, y, points), CP_SUCCESS);
    ck_assert_int_eq(thing_at(bodies, CP_SHAPE, i).kind, kinds[i]);
    ck_assert_int_eq(thing_at(bodies, CP_SHAPE, i).a, 0);
    for (int k = 0; k < 12; k++) ck_assert_double_eq_tol(points[k], wanted[i][k], 1e-14);
  }
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SPRING), 1); /* only one has points */
  ck_assert_int_eq(thing_at(bodies, CP_SPRING, 0).a, -1);
  ck_assert_int_eq(thing_at(bodies, CP_SPRING, 0).b, 0);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_SPRING, 0, y, points), CP_SUCCESS);
  for (int k = 0; k < 12; k++) ck_assert_double_eq_tol(points[k], k == 4, 1e-14);
  refused_by(mech, CPMechGetPoints(mech, CP_SPRING, 1, y, points), "spring must be");
  refused_by(mech, CPMechGetPoints(mech, CP_SHAPE, 2, y, points), "shape must be");
  refused_by(mech, CPMechGetPoints(mech, CP_BODY, 0, y, points), "CP_SHAPE");
  ck_assert_int_eq(CPMechGetPoints(NULL, CP_SPRING, 0, y, points), CP_MEM_NULL);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* In the plane, shapes need no length, and have no third half axis. */
START_TEST(shapes_of_the_plane_are_flat) {
  CPBodies plane      = CPBodiesCreate(2, NULL);
  const CPBody body   = {CP_NEW_BODY("body"), .mass = 1, .inertia = {0, 0, 1}};
  const CPShape wheel = {CP_NEW_SHAPE("wheel"), .kind = CP_SHAPE_WHEEL, .body = "body", .size = {2}};
  sunrealtype points[12];
  CPMech mech;
  ck_assert_int_eq(CPBodiesAdd(plane, &body.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(plane, &wheel.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(build_mech(plane, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(plane, test_context);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_SHAPE, 0, y, points), CP_SUCCESS);
  for (int k = 0; k < 3; k++) ck_assert_double_eq(points[9 + k], points[k]);
  ck_assert_double_eq_tol(hypot(points[3], points[4]), 2, 1e-14);
  CPMechFree(&mech);
  N_VDestroy(y);
  CPBodiesFree(&plane);
}
END_TEST

START_TEST(shapes_of_the_ground_stay) {
  const CPShape stone = {CP_NEW_SHAPE("stone"), .kind = CP_SHAPE_SPHERE, .body = "ground",
                         .on = {.point = {1, 2, 3}}, .size = {0.5}};
  sunrealtype points[12];
  CPMech mech;
  ck_assert_int_eq(CPBodiesAdd(bodies, &stone.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_SHAPE, 0, y, points), CP_SUCCESS);
  for (int k = 0; k < 12; k++)
    ck_assert_double_eq(points[k], k % 3 + 1 + (k >= 3 && k / 3 - 1 == k % 3 ? 0.5 : 0));
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* A mechanism with one element of each kind. Returns 0 or the first code. */
static int build_all(CPFormulation formulation, CPBodies *all, CPMech *mech, N_Vector *y) {
  CPBody one       = good_body("one");
  one.omega[2]     = 1; /* the drive forbids it: the assembly tries what it can hold */
  const CPBody two = {CP_NEW_BODY("two"), .mass = 1, .inertia = {1, 1, 1}, .position = {2, 0, 0}};
  const CPJoint j1 = {CP_NEW_JOINT("j1"), .kind = CP_JOINT_REVOLUTE, .b = "one"};
  const CPJoint j2 = {CP_NEW_JOINT("j2"), .kind = CP_JOINT_ROLLING, .a = "one", .b = "two",
                      .length = 1};
  const CPDrive drive  = {CP_NEW_DRIVE("drive"), .of = {"j1", 0}};
  const CPJoint j3     = {CP_NEW_JOINT("j3"), .kind = CP_JOINT_CYLINDRICAL, .a = "one", .b = "two"};
  const CPCoupler gear = {CP_NEW_COUPLER("gear"), .of = {{"j1", 0}, {"j3", 1}}, .ratio = {1, 2}};
  const CPSpring spring    = {CP_NEW_SPRING("spring"), .a = "one", .b = "two", .in = CP_IN_BODIES};
  const CPBushing bushing  = {CP_NEW_BUSHING("bushing"), .a = "one", .b = "two"};
  const CPForce force      = {CP_NEW_FORCE("force"), .body = "two"};
  const CPFriction rub     = {CP_NEW_FRICTION("rub"), .of = {"j1", 0}, .speed = 1};
  const CPLimit stops      = {CP_NEW_LIMIT("stops"), .of = {{"j1", 0}}, .lower = -1, .upper = 1};
  const CPBodyContact foot = {CP_NEW_CONTACT("foot"), .b = "two", .on_b = {.point = {2, 0, 1}}};
  const CPBodyContact box  = {CP_NEW_CONTACT("box"), .b = "two", .touch = CP_TOUCH_BOX,
                              .size = {1, 1, 1}, .on_b = {.point = {2, 0, 1}}};
  const CPShape ball = {CP_NEW_SHAPE("ball"), .kind = CP_SHAPE_SPHERE, .body = "one", .size = {1}};
  const CPTyre tyre  = {CP_NEW_TYRE("tyre"), .body = "two",       .radius = 1, .stiffness = 1,
                        .friction = 1,       .slip_stiffness = 1, .speed = 1,  .ground = {0, 0, -2}};
  const CPElasticSphere soft = {
      CP_NEW_SPHERE("soft"), .a = "one",   .b = "two", .radius = 1,
      .radius_a = 0.1,       .modulus = 1, .speed = 1, .on_b = {.point = {2, 0, 1}}};
  int flag = (*all = CPBodiesCreate(3, NULL)) ? 0 : CP_MEM_FAIL;
#define STEP(call) \
  if (flag >= 0) flag = (call)
  STEP(CPObjectSetErrHandlerFn(CP_OBJECT(*all), message_log, &messages));
  STEP(CPBodiesAdd(*all, &one.head, NULL));
  STEP(CPBodiesAdd(*all, &two.head, NULL));
  STEP(CPBodiesAdd(*all, &j1.head, NULL));
  STEP(CPBodiesAdd(*all, &j2.head, NULL));
  STEP(CPBodiesAdd(*all, &j3.head, NULL));
  STEP(CPBodiesAdd(*all, &foot.head, NULL));
  STEP(CPBodiesAdd(*all, &box.head, NULL));
  STEP(CPBodiesAdd(*all, &stops.head, NULL));
  STEP(CPBodiesAdd(*all, &drive.head, NULL));
  STEP(CPBodiesAdd(*all, &gear.head, NULL));
  STEP(CPBodiesAdd(*all, &spring.head, NULL));
  STEP(CPBodiesAdd(*all, &bushing.head, NULL));
  STEP(CPBodiesAdd(*all, &force.head, NULL));
  STEP(CPBodiesAdd(*all, &rub.head, NULL));
  STEP(CPBodiesAdd(*all, &ball.head, NULL));
  STEP(CPBodiesAdd(*all, &tyre.head, NULL));
  STEP(CPBodiesAdd(*all, &soft.head, NULL));
  STEP(CPBodiesSetFormulation(*all, formulation));
  STEP(build_mech(*all, mech));
  if (flag >= 0 && !(*y = CPBodiesState(*all, test_context))) flag = CP_MEM_FAIL;
  STEP(CPMechAssemble(*mech, 0, *y, &(CPAssembly){CP_SIZED(CPAssembly), .held = "one"}));
  return flag;
}

START_TEST(the_nth_allocation_may_fail) {
  long n = 0;
  for (int failed = 1; failed;) {
    CPBodies all = NULL;
    CPMech mech  = NULL;
    N_Vector y   = NULL;
    alloc_watch_failing(++n);
    const int flag = build_all((CPFormulation)_i, &all, &mech, &y);
    failed         = alloc_has_failed();
    if (!failed) ck_assert_int_eq(flag, CP_SUCCESS);
    if (failed) ck_assert_msg(flag == CP_MEM_FAIL || flag >= 0, "allocation %ld: %d", n, flag);
    if (y) N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&all);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_gt(n, 30);
}
END_TEST

TEST_SUITE(errors) {
  Suite *suite = suite_create("bodies/errors");
  TCase *tc    = tcase_create("errors");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, wrong_bodies_are_named, 0, 22);
  tcase_add_loop_test(tc, wrong_joints_are_named, 0, 13);
  tcase_add_loop_test(tc, wrong_contacts_are_named, 0, 26);
  tcase_add_test(tc, names_of_a_box_that_is_refused_are_free_again);
  tcase_add_loop_test(tc, axes_may_have_any_length, 0, 5);
  tcase_add_test(tc, contacts_tell_their_rows_constants_and_places);
  tcase_add_test(tc, actuators_act_or_are_named);
  tcase_add_loop_test(tc, wrong_forces_and_drives_are_named, 0, 22);
  tcase_add_loop_test(tc, wrong_shapes_are_named, 0, 11);
  tcase_add_test(tc, what_drawings_show_is_where_it_is);
  tcase_add_test(tc, shapes_of_the_plane_are_flat);
  tcase_add_test(tc, shapes_of_the_ground_stay);
  tcase_add_test(tc, the_plane_refuses_what_leaves_it);
  tcase_add_test(tc, wrong_arguments_are_refused);
  tcase_add_test(tc, other_systems_have_no_bodies);
  tcase_add_test(tc, models_and_their_systems_are_independent);
  tcase_add_test(tc, arguments_that_are_NULL_are_refused);
  tcase_add_test(tc, readers_refuse_arguments_that_are_missing);
  tcase_add_test(tc, elements_have_the_members_that_their_size_says);
  tcase_add_loop_test(tc, elements_without_a_head_are_refused, 0, 4);
  tcase_add_test(tc, a_mechanism_without_bodies_is_refused);
  tcase_add_test(tc, a_loop_that_cannot_close_is_named);
  tcase_add_test(tc, a_failing_function_is_reported);
  tcase_add_test(tc, parameters_are_found_by_name);
  tcase_add_loop_test(tc, half_axes_without_added_masses_end_in_a_failure, CP_ABSOLUTE,
                      CP_JOINT_COORDINATES + 1);
  tcase_add_test(tc, names_of_things_lead_back_to_them);
  tcase_add_test(tc, joints_are_described);
  tcase_add_loop_test(tc, the_nth_allocation_may_fail, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  suite_add_tcase(suite, tc);
  return suite;
}
