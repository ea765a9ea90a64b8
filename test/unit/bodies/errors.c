/* Wrong models are named and change nothing; every allocation fails in turn. */
#include "support/alloc.h"
#include "support/mech_run.h"
#include "support/support.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <string.h>

static CPBodies bodies;
static MessageLog messages;

static CPBody good_body(const char *name) {
  return (CPBody){.name = name, .mass = 1, .inertia = {1, 1, 1}, .position = {1, 0, 0}};
}
static CPJoint good_joint(void) {
  return (CPJoint){.name = "joint", .kind = CP_JOINT_REVOLUTE, .a = "ground", .b = "body"};
}
static CPSpring good_spring(void) {
  return (CPSpring){.name = "spring", .b = "body", .point_b = {1, 1, 0}, .stiffness = 1};
}

static void setup(void) {
  test_context_setup();
  bodies             = CPBodiesCreate(3, test_context);
  const CPBody body  = good_body("body");
  const CPJoint base = {.name = "base", .kind = CP_JOINT_REVOLUTE, .b = "body"};
  memset(&messages, 0, sizeof messages);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(bodies), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAddBody(bodies, &body), 0);
  ck_assert_int_eq(CPBodiesAddJoint(bodies, &base), 0);
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
  CPEquations model;
  ck_assert_int_eq(CPBodiesModel(bodies, &model), CP_SUCCESS);
  ck_assert_int_eq((int)model.nu, 6);
  ck_assert_int_eq((int)model.np, 5);
}

START_TEST(wrong_bodies_are_named) {
  CPBody b         = good_body("new");
  const char *word = "new";
  const char *rule = "mass must be positive";
  switch (_i) {
  case 0: b.mass = 0; break;
  case 1: b.mass = -1; break;
  case 2: b.mass = NAN; break;
  case 3: b.mass = INFINITY; break;
  case 4: b.inertia[2] = 2.1, rule = "at most the sum of the others"; break;
  case 5: b.inertia[0] = 0, rule = "principal moments must be positive"; break;
  case 6: b.inertia[3] = 1.2, rule = "principal moments must be positive"; break;
  case 7: b.inertia[4] = NAN, rule = "inertia must be finite"; break;
  case 8: b.centre[1] = INFINITY, rule = "centre must be finite"; break;
  case 9: b.position[2] = NAN, rule = "position must be finite"; break;
  case 10: b.quaternion[0] = NAN, rule = "quaternion must be finite"; break;
  case 11: b.velocity[0] = NAN, rule = "velocity must be finite"; break;
  case 12: b.omega[0] = NAN, rule = "omega must be finite"; break;
  case 13: b.name = NULL, word = "name", rule = "must not be empty"; break;
  case 14: b.name = "", word = "name", rule = "must not be empty"; break;
  case 15: b.name = "a b", word = "a b", rule = "no blank"; break;
  case 16: b.name = "a.b", word = "a.b", rule = "no dot"; break;
  case 17: b.name = "ground", word = "ground", rule = "must not be"; break;
  case 18: b.name = "body", word = "body", rule = "already"; break;
  case 19: b.name = "base", word = "base", rule = "already"; break;
  case 20: b.name = "gravity", word = "gravity", rule = "already"; break;
  case 21: b.angle = NAN, rule = "angle must be finite"; break;
  default: ck_abort();
  }
  refused(CPBodiesAddBody(bodies, &b), CP_ILL_INPUT, word, rule);
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
  case 11: j.name = "base", rule = "already"; break;
  case 12: /* the axis is the plane's */
    j.kind = CP_JOINT_ROLLING_DISC, j.length = 1, j.on_b.axis[2] = 1;
    rule = "must not be along the plane's normal";
    break;
  default: ck_abort();
  }
  refused(CPBodiesAddJoint(bodies, &j), CP_ILL_INPUT, j.name, rule);
}
END_TEST

static CPBodyContact good_contact(void) {
  return (CPBodyContact){.name     = "foot",
                         .b        = "body",
                         .on_a     = {.point = {0, 0, 0.5}},
                         .on_b     = {.point = {1, 0, 2}},
                         .radius   = 0.25,
                         .friction = 0.3};
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
  case 0: c.friction = -1; break;
  case 1: c.friction = NAN; break;
  case 2: c.sticking = INFINITY; break;
  case 3: c.restitution = -0.1, rule = "restitution must be from 0 to 1, and is -0.1"; break;
  case 4: c.restitution = 1.1, rule = "restitution must be from 0 to 1, and is 1.1"; break;
  case 5: c.radius = -1, rule = "radius must be finite and not negative, and is -1"; break;
  case 6: c.radius = NAN, rule = "radius must be finite"; break;
  case 7: c.b = "wheel", rule = "no body \"wheel\""; break;
  case 8: c.b = NULL, rule = "must differ"; break;
  case 9: c.name = "base", rule = "already"; break;
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
    c.touch = CP_TOUCH_BOX, c.name = "b", rule = "there is a \"b_3\" already";
    for (int k = 0; k < 3; k++) c.size[k] = 1;
    ck_assert_int_ge(CPBodiesAddForce(bodies, &(CPForce){.name = "b_3", .body = "body"}), 0);
    break;
  case 25: c.touch = CP_TOUCH_CYLINDER, c.size[2] = 1, c.name = NULL, rule = "empty"; break;
  default: ck_abort();
  }
  refused(CPBodiesAddContact(bodies, &c), code, c.name ? c.name : "", rule);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 0);
}
END_TEST

START_TEST(names_of_a_box_that_is_refused_are_free_again) {
  CPBodyContact box  = good_contact();
  const CPForce last = {.name = "foot_8", .body = "body"};
  box.touch = CP_TOUCH_BOX, box.size[0] = box.size[1] = box.size[2] = 1;
  ck_assert_int_ge(CPBodiesAddForce(bodies, &last), 0);
  for (int k = 0; k < 30; k++) ck_assert_int_eq(CPBodiesAddContact(bodies, &box), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_JOINT), 1);
  box.name = "other";
  ck_assert_int_eq(CPBodiesAddContact(bodies, &box), 0);
  box.name = "foot_7", box.touch = CP_TOUCH_BALL;
  ck_assert_int_eq(CPBodiesAddContact(bodies, &box), 8);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 9);
  ck_assert_int_ge(CPBodiesFindParameter(bodies, "other_8.restitution"), 0);
  ck_assert_int_eq(CPBodiesFindParameter(bodies, "foot_1.length"), CP_ILL_INPUT);
}
END_TEST

/* A normal may have any length. The ball of the following test is 1.25 m above its plane; where the squares
 * of its normal overflowed, it fell through. */
START_TEST(axes_may_have_any_length) {
  static const sunrealtype lengths[] = {1e-300, 1e-200, 7, 1e200, 1e300};
  CPBodyContact contact              = good_contact();
  CPEquations model;
  sunrealtype p[6];
  contact.on_a.axis[2] = lengths[_i];
  ck_assert_int_eq(CPBodiesAddContact(bodies, &contact), 0);
  ck_assert_int_eq(CPBodiesModel(bodies, &model), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies);
  ck_assert_int_eq(model.p(0, entries(y), p, bodies), 0);
  ck_assert_double_eq_tol(p[5], 1.25, 1e-15);
  N_VDestroy(y);
}
END_TEST

/* The rows after the five rows of the hinge are the gap of a ball that is 1.25 m above its plane,
 * and two sliding velocities. All are inactive unless a CPContact activates them. */
START_TEST(contacts_tell_their_rows_constants_and_places) {
  const CPBodyContact contact = good_contact();
  CPBodiesContactRows rows;
  CPEquations model;
  CPMech mech;
  sunrealtype frame[12], p[6];
  ck_assert_int_eq(CPBodiesAddContact(NULL, &contact), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesAddContact(bodies, &contact), 0);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 1);
  ck_assert_int_eq(CPBodiesCount(NULL, CP_CONTACT), 0);
  ck_assert_int_eq(CPBodiesContact(bodies, 0, &rows), CP_NO_INIT);
  ck_assert_int_eq(CPBodiesMech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesModel(bodies, &model), CP_SUCCESS);
  CPBodiesParameters(bodies)[CPBodiesFindParameter(bodies, "foot.restitution")] = 0.5;
  ck_assert_int_eq(CPBodiesContact(bodies, 1, &rows), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesContact(bodies, -1, &rows), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesContact(bodies, 0, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesContact(bodies, 0, &rows), CP_SUCCESS);
  ck_assert_str_eq(rows.name, "foot");
  ck_assert_int_eq(rows.joint, 1);
  ck_assert_int_eq((int)rows.normal, 5);
  ck_assert_int_eq((int)rows.tangent, 6);
  ck_assert_int_eq(rows.ntangents, 2);
  ck_assert_double_eq(rows.mu, 0.3);
  ck_assert_double_eq(rows.mu_static, 0);
  ck_assert_double_eq(rows.restitution, 0.5);
  ck_assert_int_eq(rows.on, CP_ON_PLANE);
  N_Vector y = CPBodiesState(bodies);
  ck_assert_int_eq(model.p(0, entries(y), p, bodies), 0);
  ck_assert_double_eq_tol(p[5], 1.25, 1e-15);
  ck_assert_int_eq(CPBodiesContactFrame(bodies, 1, y, frame), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesContactFrame(bodies, 0, NULL, frame), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesContactFrame(bodies, 0, y, frame), CP_SUCCESS);
  const sunrealtype expected[6] = {1, 0, 1.75, 0, 0, 1};
  for (int k = 0; k < 6; k++) ck_assert_double_eq_tol(frame[k], expected[k], 1e-15);
  for (int k = 0; k < 3; k++) /* z x x = y */
    ck_assert_double_eq_tol(frame[9 + k], k == 0 ? -frame[7] : k == 1 ? frame[6] : 0, 1e-15);
  CPMechOutput out = {.udot = NULL};
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  ck_assert_int_eq((int)out.rank, 5);
  ck_assert_double_le(out.position, 1e-15);
  N_VDestroy(y);
  CPMechFree(&mech);
}
END_TEST

START_TEST(wrong_forces_and_drives_are_named) {
  CPSpring s     = good_spring();
  CPForce f      = {.name = "force", .body = "body"};
  CPFriction r   = {.name = "friction", .of = {"base", 0}, .factor = 1, .speed = 1};
  CPDrive d      = {.name = "drive", .of = {"base", 0}};
  CPCoupler c    = {.name = "gear", .of = {{"base", 0}, {"base", 0}}, .ratio = {1, 2}};
  CPBushing bush = {.name = "bush", .b = "body"};
  switch (_i) {
  case 0:
    s.stiffness = NAN;
    refused(CPBodiesAddSpring(bodies, &s), CP_ILL_INPUT, "spring", "stiffness");
    break;
  case 1:
    s.point_b[1] = 0, s.point_b[0] = 0;
    refused(CPBodiesAddSpring(bodies, &s), CP_ILL_INPUT, "spring", "must not meet");
    break;
  case 2:
    s.of = (CPCoordinate){"base", 1};
    refused(CPBodiesAddSpring(bodies, &s), CP_ILL_INPUT, "base", "no coordinate 1");
    break;
  case 3:
    s.of.joint = "x";
    refused(CPBodiesAddSpring(bodies, &s), CP_ILL_INPUT, "spring", "no joint \"x\"");
    break;
  case 4:
    s.free = INFINITY;
    refused(CPBodiesAddSpring(bodies, &s), CP_ILL_INPUT, "spring", "free");
    break;
  case 5:
    s.b = "y";
    refused(CPBodiesAddSpring(bodies, &s), CP_ILL_INPUT, "spring", "no body \"y\"");
    break;
  case 6:
    f.body = NULL;
    refused(CPBodiesAddForce(bodies, &f), CP_ILL_INPUT, "force", "must differ");
    break;
  case 7:
    f.force[1] = NAN;
    refused(CPBodiesAddForce(bodies, &f), CP_ILL_INPUT, "force", "finite");
    break;
  case 8:
    r.factor = -1;
    refused(CPBodiesAddFriction(bodies, &r), CP_ILL_INPUT, "friction", "factor");
    break;
  case 9:
    r.speed = 0;
    refused(CPBodiesAddFriction(bodies, &r), CP_ILL_INPUT, "friction", "speed");
    break;
  case 10:
    r.of.joint = NULL;
    refused(CPBodiesAddFriction(bodies, &r), CP_ILL_INPUT, "friction", "no joint");
    break;
  case 11:
    d.rate = NAN;
    refused(CPBodiesAddDrive(bodies, &d), CP_ILL_INPUT, "drive", "finite");
    break;
  case 12:
    d.of.k = -1;
    refused(CPBodiesAddDrive(bodies, &d), CP_ILL_INPUT, "drive", "no coordinate");
    break;
  case 13:
    c.ratio[1] = 0;
    refused(CPBodiesAddCoupler(bodies, &c), CP_ILL_INPUT, "gear", "must not be 0");
    break;
  case 14:
    c.ratio[1] = 0.3;
    refused(CPBodiesAddCoupler(bodies, &c), CP_ILL_INPUT, "gear", "whole numbers");
    break;
  case 15:
    c.offset = NAN;
    refused(CPBodiesAddCoupler(bodies, &c), CP_ILL_INPUT, "gear", "offset");
    break;
  case 16:
    bush.turn_damping[2] = NAN;
    refused(CPBodiesAddBushing(bodies, &bush), CP_ILL_INPUT, "bush", "turn_damping");
    break;
  case 17:
    bush.b = NULL;
    refused(CPBodiesAddBushing(bodies, &bush), CP_ILL_INPUT, "bush", "must differ");
    break;
  case 18:
    refused(CPBodiesSetGravity(bodies, (sunrealtype[]){0, NAN, 0}), CP_ILL_INPUT, "gravity",
            "finite");
    break;
  case 19:
    refused(CPBodiesFindParameter(bodies, "body.length"), CP_ILL_INPUT, "parameter", "body.length");
    break;
  case 20:
    s.inertance = -1;
    refused(CPBodiesAddSpring(bodies, &s), CP_ILL_INPUT, "spring", "inertance must not be negative");
    break;
  case 21:
    bush.drag = NAN;
    refused(CPBodiesAddBushing(bodies, &bush), CP_ILL_INPUT, "bush", "drag must be finite");
    break;
  default: ck_abort();
  }
}
END_TEST

START_TEST(the_plane_refuses_what_leaves_it) {
  CPBodies plane = CPBodiesCreate(2, test_context);
  CPBody body    = good_body("body");
  CPJoint joint  = good_joint();
  ck_assert_int_eq(CPBodiesAddBody(plane, &body), 0);
  joint.kind = CP_JOINT_BALL;
  ck_assert_int_eq(CPBodiesAddJoint(plane, &joint), CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "no joint \"ball\" in the plane");
  joint.kind = CP_JOINT_PRISMATIC;
  ck_assert_int_eq(CPBodiesAddJoint(plane, &joint), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "axis must not be zero");
  joint.on_a.axis[0] = joint.on_a.axis[2] = 1;
  ck_assert_int_eq(CPBodiesAddJoint(plane, &joint), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "must lie in the plane");
  body.name = "second", body.position[2] = 1;
  ck_assert_int_eq(CPBodiesAddBody(plane, &body), CP_ILL_INPUT);
  body.position[2] = 0, body.inertia[2] = 0;
  ck_assert_int_eq(CPBodiesAddBody(plane, &body), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(plane)), "J_zz");
  ck_assert_int_eq(CPBodiesSetGravity(plane, (sunrealtype[]){0, 0, 1}), CP_ILL_INPUT);
  ck_assert_ptr_null(CPBodiesCreate(4, test_context));
  CPBodiesFree(&plane);
}
END_TEST

START_TEST(calls_out_of_order_are_refused) {
  sunrealtype x[3], T[3];
  CPBodiesPowers powers;
  CPMech mech, second;
  N_Vector y = CPBodiesState(bodies), wrong = vector_of(3, NULL);
  ck_assert_int_eq(CPBodiesCoordinate(bodies, (CPCoordinate){"base", 0}, y, x, T), CP_NO_INIT);
  ck_assert_int_eq(CPBodiesMech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesMech(bodies, &second), CP_TOO_LATE);
  ck_assert_ptr_null(second);
  const CPBody body = good_body("late");
  ck_assert_int_eq(CPBodiesAddBody(bodies, &body), CP_TOO_LATE);
  ck_assert_int_eq(CPBodiesSetGravity(bodies, x), CP_TOO_LATE);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_TOO_LATE);
  ck_assert_int_eq(CPBodiesCoordinate(bodies, (CPCoordinate){"base", 0}, wrong, x, T), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "13 components");
  ck_assert_int_eq(CPBodiesCoordinate(bodies, (CPCoordinate){"base", 1}, y, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesCoordinate(bodies, (CPCoordinate){NULL, 0}, y, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesPoint(bodies, "nobody", x, y, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesReaction(bodies, "nothing", 0, y, x, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesReaction(bodies, "base", 0, y, NULL, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesPoints(bodies, CP_JOINT, 1, y, x, T), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesGetPowers(bodies, 0, wrong, NULL, &powers), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesGetPowers(bodies, 0, NULL, NULL, &powers), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesAssemble(bodies, NULL, 0, y, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesAssemble(bodies, mech, 0, y, "body rotor"), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "rotor");
  ck_assert_int_eq(CPBodiesAddBody(NULL, &body), CP_MEM_NULL);
  ck_assert_ptr_null(CPBodiesState(NULL));
  CPMechFree(&mech);
  N_VDestroy(y);
  N_VDestroy(wrong);
}
END_TEST

START_TEST(arguments_that_are_NULL_are_refused) {
  N_Vector y    = NULL;
  sunrealtype x = 0, P[12];
  CPShapeKind kind;
  char message[100] = "";
  CPBodiesFile run;
  const CPShape sphere = {
      .name = "sphere", .body = "body", .kind = CP_SHAPE_SPHERE, .size = {1, 1, 1}};
  const CPSpring spring = {.name = "spring", .b = "body", .stiffness = 1, .point_a = {0, 0, 5}};
  ck_assert_int_eq(CPBodiesAddShape(bodies, &sphere), 0);
  ck_assert_int_ge(CPBodiesAddSpring(bodies, &spring), 0);
  const int added[] = {CPBodiesSetGravity(bodies, NULL), CPBodiesAddBody(bodies, NULL),
                       CPBodiesAddJoint(bodies, NULL),   CPBodiesAddContact(bodies, NULL),
                       CPBodiesAddCoupler(bodies, NULL), CPBodiesAddDrive(bodies, NULL),
                       CPBodiesAddSpring(bodies, NULL),  CPBodiesAddBushing(bodies, NULL),
                       CPBodiesAddForce(bodies, NULL),   CPBodiesAddFriction(bodies, NULL),
                       CPBodiesAddShape(bodies, NULL)};
  for (size_t k = 0; k < sizeof added / sizeof *added; k++)
    ck_assert_int_eq(added[k], CP_ILL_INPUT);
  CPEquations model;
  ck_assert_int_eq(CPBodiesModel(bodies, &model), CP_SUCCESS);
  y                 = CPBodiesState(bodies);
  const int asked[] = {CPBodiesCoordinate(bodies, (CPCoordinate){"base", 0}, y, NULL, &x),
                       CPBodiesCoordinate(bodies, (CPCoordinate){"base", 0}, y, &x, NULL),
                       CPBodiesPoint(bodies, "body", NULL, y, P, P),
                       CPBodiesReaction(bodies, "base", 0, y, P, NULL, P),
                       CPBodiesReaction(bodies, "base", 0, y, P, P, NULL),
                       CPBodiesGetPowers(bodies, 0, y, NULL, NULL),
                       CPBodiesParameterName(bodies, 0, NULL, 10),
                       CPBodiesSides(bodies, CP_JOINT, 0, NULL),
                       CPBodiesPoints(bodies, CP_JOINT, 0, y, NULL, P),
                       CPBodiesPoints(bodies, CP_JOINT, 0, y, P, NULL),
                       CPBodiesSides(bodies, CP_SPRING, 0, NULL),
                       CPBodiesPoints(bodies, CP_SPRING, 0, y, NULL, P),
                       CPBodiesPoints(bodies, CP_SPRING, 0, y, P, NULL),
                       CPBodiesShapePoints(bodies, 0, y, NULL, P),
                       CPBodiesShapePoints(bodies, 0, y, &kind, NULL)};
  for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
    ck_assert_int_eq(asked[k], CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "must not be NULL");
  }
  ck_assert_int_eq(CPBodiesPoint(bodies, "body", P, y, NULL, NULL), CP_SUCCESS);
  ck_assert_ptr_null(CPBodiesRead(NULL, test_context, &run, message, sizeof message));
  ck_assert_mentions(message, "NULL");
  ck_assert_ptr_null(CPBodiesRead("nowhere", test_context, &run, NULL, 0));
  const char *const texts[] = {NULL, "a.yaml", "a.yaml", "a.yaml"};
  for (int k = 0; k < 4; k++) {
    ck_assert_ptr_null(CPBodiesReadText(k == 1 ? NULL : "bodies:", 7, texts[k],
                                        k == 2 ? NULL : test_context, k == 3 ? NULL : &run, message,
                                        sizeof message));
    ck_assert_mentions(message, "must not be NULL");
  }
  ck_assert_ptr_null(CPBodiesReadText("[", 1, "a.yaml", test_context, &run, NULL, 100));
  N_VDestroy(y);
}
END_TEST

START_TEST(a_mechanism_without_bodies_is_refused) {
  CPBodies empty = CPBodiesCreate(3, test_context);
  CPMech mech;
  ck_assert_int_eq(CPBodiesMech(empty, &mech), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(empty)), "there must be a body");
  ck_assert_ptr_null(CPBodiesState(empty));
  CPBodiesFree(&empty);
}
END_TEST

/* The rod extends from (5, 0, 0) to a body that turns about the origin at the distance 1. */
START_TEST(a_loop_that_cannot_close_is_named) {
  CPMech mech;
  const CPJoint rod = {.name       = "short",
                       .kind       = CP_JOINT_ROD,
                       .b          = "body",
                       .in         = CP_IN_BODIES,
                       .on_a.point = {5, 0, 0},
                       .length     = 1};
  ck_assert_int_eq(CPBodiesAddJoint(bodies, &rod), 1);
  ck_assert_int_eq(CPBodiesMech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies), before = vector_copy(y);
  ck_assert_int_eq(CPBodiesAssemble(bodies, mech, 0, y, NULL), CP_IC_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "joint \"short\" stays open");
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
  CPBodiesPowers powers;
  const CPDrive drive = {.name = "drive", .of = {"base", 0}, .g = failing, .data = &result};
  ck_assert_int_eq(CPBodiesAddDrive(bodies, &drive), 1);
  ck_assert_int_eq(CPBodiesMech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies);
  sunrealtype udot[6], lambda[6] = {0};
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, lambda), CP_SUCCESS);
  result = -1;
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, lambda), CP_USERFUNC_FAIL);
  ck_assert_int_eq(CPBodiesGetPowers(bodies, 0, y, lambda, &powers), CP_USERFUNC_FAIL);
  result = 1;
  ck_assert_int_eq(CPBodiesGetPowers(bodies, 0, y, lambda, &powers), CP_REPTD_USERFUNC_ERR);
  N_VDestroy(y);
  CPMechFree(&mech);
}
END_TEST

START_TEST(parameters_are_found_by_name) {
  const CPSpring s = good_spring();
  ck_assert_int_eq(CPBodiesAddSpring(bodies, &s), 0);
  const sunrealtype *p = CPBodiesParameters(bodies);
  ck_assert_double_eq(p[CPBodiesFindParameter(bodies, "body.mass")], 1);
  ck_assert_double_eq(p[CPBodiesFindParameter(bodies, "spring.stiffness")], 1);
  ck_assert_double_eq(p[CPBodiesFindParameter(bodies, "gravity.y")], 0);
  ck_assert_str_eq(CPBodiesName(bodies, CP_BODY, 0), "body");
  ck_assert_str_eq(CPBodiesName(bodies, CP_JOINT, 0), "base");
  ck_assert_ptr_null(CPBodiesName(bodies, CP_BODY, 1));
}
END_TEST

START_TEST(names_of_parameters_lead_back_to_them) {
  const CPSpring s = good_spring();
  char name[64];
  int count = 0;
  ck_assert_int_eq(CPBodiesAddSpring(bodies, &s), 0);
  for (; !CPBodiesParameterName(bodies, count, name, sizeof name); count++)
    ck_assert_int_eq(CPBodiesFindParameter(bodies, name), count);
  ck_assert_int_ge(count, 3 + 4 + 4); /* gravity, the body, the spring */
  refused(CPBodiesParameterName(bodies, count, name, sizeof name), CP_ILL_INPUT, "i must be", "0");
  ck_assert_int_eq(CPBodiesParameterName(NULL, 0, name, sizeof name), CP_MEM_NULL);
}
END_TEST

START_TEST(dimension_sides_and_numbers_of_elements_are_returned) {
  int sides[2];
  CPBodies plane = CPBodiesCreate(2, test_context);
  ck_assert_int_eq(CPBodiesDimension(plane), 2);
  ck_assert_int_eq(CPBodiesDimension(bodies), 3);
  ck_assert_int_eq(CPBodiesDimension(NULL), 0);
  ck_assert_int_eq(CPBodiesSides(bodies, CP_JOINT, 0, sides), CP_SUCCESS);
  ck_assert_int_eq(sides[0], -1); /* the ground */
  ck_assert_int_eq(sides[1], 0);
  refused(CPBodiesSides(bodies, CP_JOINT, 1, sides), CP_ILL_INPUT, "i must be", "1");
  ck_assert_int_eq(CPBodiesSides(NULL, CP_JOINT, 0, sides), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesJointKind(bodies, 0), CP_JOINT_REVOLUTE);
  refused(CPBodiesJointKind(bodies, -1), CP_ILL_INPUT, "i must be", "-1");
  ck_assert_int_eq(CPBodiesJointKind(NULL, 0), CP_MEM_NULL);
  CPBodiesFree(&plane);
}
END_TEST

START_TEST(wrong_shapes_are_named) {
  CPShape s        = {.name = "new", .kind = CP_SHAPE_BOX, .body = "body", .size = {1, 2, 3}};
  const char *word = "new", *rule = "all sizes must be positive";
  switch (_i) {
  case 0: s.size[0] = 0; break;
  case 1: s.size[1] = -2, word = "-2"; break;
  case 2: s.size[2] = NAN; break;
  case 3: s.kind = CP_SHAPE_WHEEL, s.size[2] = 0, word = "0"; break;
  case 4: s.kind = CP_SHAPE_SPHERE, s.size[0] = -5, word = "-5"; break;
  case 5: s.kind = CP_SHAPE_WHEEL + 1, rule = "kind must be one of", word = "4"; break;
  case 6: s.body = "nobody", rule = "no body"; break;
  case 7: s.body = NULL, rule = "must differ"; break;
  case 8: s.name = "body", word = "body", rule = "already"; break;
  case 9: s.on.point[1] = NAN, rule = "must be finite"; break;
  case 10: s.on.axis[0] = s.on.across[0] = 1, rule = "across must not be along"; break;
  }
  refused(CPBodiesAddShape(bodies, &s), CP_ILL_INPUT, rule, word);
  ck_assert_int_eq(CPBodiesAddShape(NULL, &s), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SHAPE), 0);
}
END_TEST

/* A spring from the ground to the body, and shapes on the body, whose frame is turned by 90 degrees about z and is at (1, 1, 0) */
START_TEST(what_drawings_show_is_where_it_is) {
  const CPSpring spring = good_spring(), at_joint = {.name = "coil", .of = {"base", 0}};
  const CPShape box           = {.name = "box",
                                 .kind = CP_SHAPE_BOX,
                                 .body = "body",
                                 .in   = CP_IN_BODIES,
                                 .on   = {.point = {3, 0, 0}},
                                 .size = {2, 4, 6}};
  const CPShape roll          = {.name = "roll",
                                 .kind = CP_SHAPE_CYLINDER,
                                 .body = "body",
                                 .on   = {.point = {1, 0, 2}, .axis = {5, 0, 0}, .across = {0, 1, 0}},
                                 .size = {0.5, 0, 3}};
  const sunrealtype turned[]  = {1, 1, 0, sqrt(0.5), 0, 0, sqrt(0.5)};
  const sunrealtype of_box[]  = {1, 4, 0, 1, 5, 0, -1, 4, 0, 1, 4, 3};
  const sunrealtype of_roll[] = {1, 1, 2, 0.5, 1, 2, 1, 1, 2.5, 1, 2.5, 2};
  const sunrealtype *wanted[] = {of_box, of_roll};
  const CPShapeKind kinds[]   = {CP_SHAPE_BOX, CP_SHAPE_CYLINDER};
  sunrealtype points[12], a[3], b[3];
  CPShapeKind kind;
  CPEquations model;
  int sides[2];
  ck_assert_int_ge(CPBodiesAddSpring(bodies, &at_joint), 0);
  ck_assert_int_ge(CPBodiesAddSpring(bodies, &spring), 0);
  ck_assert_int_eq(CPBodiesAddShape(bodies, &box), 0);
  ck_assert_int_eq(CPBodiesAddShape(bodies, &roll), 1);
  ck_assert_int_eq(CPBodiesModel(bodies, &model), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies);
  memcpy(N_VGetArrayPointer(y), turned, sizeof turned);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SHAPE), 2);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(CPBodiesShapePoints(bodies, i, y, &kind, points), CP_SUCCESS);
    ck_assert_int_eq(kind, kinds[i]);
    for (int k = 0; k < 12; k++) ck_assert_double_eq_tol(points[k], wanted[i][k], 1e-14);
  }
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SPRING), 1); /* only one has points */
  ck_assert_int_eq(CPBodiesSides(bodies, CP_SPRING, 0, sides), CP_SUCCESS);
  ck_assert_int_eq(sides[0], -1);
  ck_assert_int_eq(sides[1], 0);
  ck_assert_int_eq(CPBodiesPoints(bodies, CP_SPRING, 0, y, a, b), CP_SUCCESS);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(a[k], 0, 1e-14);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(b[k], k < 1 ? 0 : k < 2 ? 1 : 0, 1e-14);
  refused(CPBodiesPoints(bodies, CP_SPRING, 1, y, a, b), CP_ILL_INPUT, "i must be", "1");
  refused(CPBodiesSides(bodies, CP_SPRING, -1, sides), CP_ILL_INPUT, "i must be", "-1");
  refused(CPBodiesShapePoints(bodies, 2, y, &kind, points), CP_ILL_INPUT, "shape must be", "2");
  ck_assert_int_eq(CPBodiesPoints(NULL, CP_SPRING, 0, y, a, b), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesSides(NULL, CP_SPRING, 0, sides), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesShapePoints(NULL, 0, y, &kind, points), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesCount(NULL, CP_SPRING), 0);
  ck_assert_int_eq(CPBodiesCount(NULL, CP_SHAPE), 0);
  N_VDestroy(y);
}
END_TEST

/* In the plane, shapes need no length, and have no third half axis. */
START_TEST(shapes_of_the_plane_are_flat) {
  CPBodies plane      = CPBodiesCreate(2, test_context);
  const CPBody body   = {.name = "body", .mass = 1, .inertia = {0, 0, 1}};
  const CPShape wheel = {.name = "wheel", .kind = CP_SHAPE_WHEEL, .body = "body", .size = {2}};
  sunrealtype points[12];
  CPShapeKind kind;
  CPEquations model;
  ck_assert_int_eq(CPBodiesAddBody(plane, &body), 0);
  ck_assert_int_eq(CPBodiesAddShape(plane, &wheel), 0);
  ck_assert_int_eq(CPBodiesModel(plane, &model), CP_SUCCESS);
  N_Vector y = CPBodiesState(plane);
  ck_assert_int_eq(CPBodiesShapePoints(plane, 0, y, &kind, points), CP_SUCCESS);
  for (int k = 0; k < 3; k++) ck_assert_double_eq(points[9 + k], points[k]);
  ck_assert_double_eq_tol(hypot(points[3], points[4]), 2, 1e-14);
  N_VDestroy(y);
  CPBodiesFree(&plane);
}
END_TEST

START_TEST(shapes_of_the_ground_stay) {
  const CPShape stone = {.name = "stone",
                         .kind = CP_SHAPE_SPHERE,
                         .body = "ground",
                         .on   = {.point = {1, 2, 3}},
                         .size = {0.5}};
  sunrealtype points[12];
  CPShapeKind kind;
  CPEquations model;
  ck_assert_int_eq(CPBodiesAddShape(bodies, &stone), 0);
  ck_assert_int_eq(CPBodiesModel(bodies, &model), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies);
  ck_assert_int_eq(CPBodiesShapePoints(bodies, 0, y, &kind, points), CP_SUCCESS);
  for (int k = 0; k < 12; k++)
    ck_assert_double_eq(points[k], k % 3 + 1 + (k >= 3 && k / 3 - 1 == k % 3 ? 0.5 : 0));
  N_VDestroy(y);
}
END_TEST

/* A program that creates the CPMech from the functions of the model gets the same system as from
 * CPBodiesMech. */
START_TEST(a_system_of_the_programs_own_is_the_same) {
  const sunrealtype g[] = {0, -9.81, 0};
  CPEquations model;
  sunrealtype own_udot[6], udot[6];
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetGravity(bodies, g), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesModel(bodies, &model), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies);
  CPMech own = create_mech(&model, y, test_context);
  ck_assert_int_eq(CPBodiesPrepare(NULL, own), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesPrepare(bodies, NULL), CP_MEM_NULL);
  ck_assert_int_eq(CPBodiesPrepare(bodies, own), CP_SUCCESS);
  ck_assert_ptr_eq(CPMechGetUserData(own), bodies);
  ck_assert_int_eq(CPMechAccelerations(own, 0, y, own_udot, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesMech(bodies, &mech), CP_SUCCESS);
  ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, NULL), CP_SUCCESS);
  for (int j = 0; j < 6; j++) ck_assert_double_eq(own_udot[j], udot[j]);
  ck_assert_double_eq_tol(udot[1], -9.81 / 2, 1e-12); /* arm 1, mass 1, J_zz = 1 */
  CPMechFree(&own);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* A mechanism with one element of each kind. Returns 0 or the first code. */
static int build_all(CPBodies *all, CPMech *mech, N_Vector *y) {
  CPBody one       = good_body("one");
  one.omega[2]     = 1; /* the drive forbids it: the assembly tries what it can hold */
  const CPBody two = {.name = "two", .mass = 1, .inertia = {1, 1, 1}, .position = {2, 0, 0}};
  const CPJoint j1 = {.name = "j1", .kind = CP_JOINT_REVOLUTE, .b = "one"};
  const CPJoint j2 = {.name = "j2", .kind = CP_JOINT_ROLLING, .a = "one", .b = "two", .length = 1};
  const CPDrive drive      = {.name = "drive", .of = {"j1", 0}};
  const CPJoint j3         = {.name = "j3", .kind = CP_JOINT_CYLINDRICAL, .a = "one", .b = "two"};
  const CPCoupler gear     = {.name = "gear", .of = {{"j1", 0}, {"j3", 1}}, .ratio = {1, 2}};
  const CPSpring spring    = {.name = "spring", .a = "one", .b = "two", .in = CP_IN_BODIES};
  const CPBushing bushing  = {.name = "bushing", .a = "one", .b = "two"};
  const CPForce force      = {.name = "force", .body = "two"};
  const CPFriction rub     = {.name = "rub", .of = {"j1", 0}, .speed = 1};
  const CPBodyContact foot = {.name = "foot", .b = "two", .on_b = {.point = {2, 0, 1}}};
  const CPBodyContact box  = {.name  = "box",
                              .b     = "two",
                              .touch = CP_TOUCH_BOX,
                              .size  = {1, 1, 1},
                              .on_b  = {.point = {2, 0, 1}}};
  const CPShape ball       = {.name = "ball", .kind = CP_SHAPE_SPHERE, .body = "one", .size = {1}};
  int flag                 = (*all = CPBodiesCreate(3, test_context)) ? 0 : CP_MEM_FAIL;
#define STEP(call) \
  if (flag >= 0) flag = (call)
  STEP(CPObjectSetErrHandlerFn(CP_OBJECT(*all), message_log, &messages));
  STEP(CPBodiesAddBody(*all, &one));
  STEP(CPBodiesAddBody(*all, &two));
  STEP(CPBodiesAddJoint(*all, &j1));
  STEP(CPBodiesAddJoint(*all, &j2));
  STEP(CPBodiesAddJoint(*all, &j3));
  STEP(CPBodiesAddContact(*all, &foot));
  STEP(CPBodiesAddContact(*all, &box));
  STEP(CPBodiesAddDrive(*all, &drive));
  STEP(CPBodiesAddCoupler(*all, &gear));
  STEP(CPBodiesAddSpring(*all, &spring));
  STEP(CPBodiesAddBushing(*all, &bushing));
  STEP(CPBodiesAddForce(*all, &force));
  STEP(CPBodiesAddFriction(*all, &rub));
  STEP(CPBodiesAddShape(*all, &ball));
  STEP(CPBodiesMech(*all, mech));
  if (flag >= 0 && !(*y = CPBodiesState(*all))) flag = CP_MEM_FAIL;
  STEP(CPBodiesAssemble(*all, *mech, 0, *y, "one"));
  return flag;
}

START_TEST(the_nth_allocation_may_fail) {
  long n = 0;
  for (int failed = 1; failed;) {
    CPBodies all = NULL;
    CPMech mech  = NULL;
    N_Vector y   = NULL;
    alloc_watch_failing(++n);
    const int flag = build_all(&all, &mech, &y);
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
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, wrong_bodies_are_named, 0, 22);
  tcase_add_loop_test(tc, wrong_joints_are_named, 0, 13);
  tcase_add_loop_test(tc, wrong_contacts_are_named, 0, 26);
  tcase_add_test(tc, names_of_a_box_that_is_refused_are_free_again);
  tcase_add_loop_test(tc, axes_may_have_any_length, 0, 5);
  tcase_add_test(tc, contacts_tell_their_rows_constants_and_places);
  tcase_add_loop_test(tc, wrong_forces_and_drives_are_named, 0, 22);
  tcase_add_loop_test(tc, wrong_shapes_are_named, 0, 11);
  tcase_add_test(tc, what_drawings_show_is_where_it_is);
  tcase_add_test(tc, shapes_of_the_plane_are_flat);
  tcase_add_test(tc, shapes_of_the_ground_stay);
  tcase_add_test(tc, the_plane_refuses_what_leaves_it);
  tcase_add_test(tc, calls_out_of_order_are_refused);
  tcase_add_test(tc, arguments_that_are_NULL_are_refused);
  tcase_add_test(tc, a_mechanism_without_bodies_is_refused);
  tcase_add_test(tc, a_loop_that_cannot_close_is_named);
  tcase_add_test(tc, a_failing_function_is_reported);
  tcase_add_test(tc, parameters_are_found_by_name);
  tcase_add_test(tc, names_of_parameters_lead_back_to_them);
  tcase_add_test(tc, dimension_sides_and_numbers_of_elements_are_returned);
  tcase_add_test(tc, a_system_of_the_programs_own_is_the_same);
  tcase_add_test(tc, the_nth_allocation_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
