/* Assembly from a guess: the right branch, redundant loops that do not fit by rounding, drives in
 * conflict, and what is said about them. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <models/counters.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CLOSED = 1e-9;

static CPBodies bodies;
static CPMech mech;
static N_Vector y;
static CPAssembly assembly = CP_INIT(CPAssembly);
static MessageLog messages;
static unsigned long long seed;

#define ADD(call) ck_assert_msg((call) >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(bodies)))

static void create(int dimension) {
  bodies = CPBodiesCreate(dimension, NULL);
  ck_assert_ptr_nonnull(bodies);
  memset(&messages, 0, sizeof messages);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(bodies), message_log, &messages), CP_SUCCESS);
}

static CPAssembly *fresh(void) {
  assembly = (CPAssembly)CP_INIT(CPAssembly);
  return &assembly;
}

static void start(void) {
  ck_assert_msg(build_mech(bodies, &mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  y = CPBodiesState(bodies, test_context);
  ck_assert_ptr_nonnull(y);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
}

static void clear(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

/* A body with a turn by any angle about any axis */
static CPBody turned(const char *name) {
  CPBody b = {CP_NEW_BODY(name), .mass = 1, .inertia = {1, 1.1, 1.2}};
  for (int k = 0; k < 4; k++) b.quaternion[k] = random_number(&seed);
  for (int k = 0; k < 3; k++) b.position[k] = random_number(&seed);
  b.angle = 3.14 * random_number(&seed);
  return b;
}

/* x <- the axes of a marker in space, for the attitude of body i, or of the ground (-1) */
static void axes_of(int dimension, int i, const CPMarker *m, double x[3][3]) {
  double axis[3][3], R[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  double size = 0, along = 0;
  for (int k = 0; k < 3; k++) size += m->axis[k] * m->axis[k];
  for (int k = 0; k < 3; k++) axis[2][k] = m->axis[k] / sqrt(size);
  for (int k = 0; k < 3; k++) along += m->across[k] * axis[2][k];
  size = 0;
  for (int k = 0; k < 3; k++) axis[0][k] = m->across[k] - along * axis[2][k];
  for (int k = 0; k < 3; k++) size += axis[0][k] * axis[0][k];
  for (int k = 0; k < 3; k++) axis[0][k] /= sqrt(size);
  for (int k = 0; k < 3; k++)
    axis[1][k] =
        axis[2][(k + 1) % 3] * axis[0][(k + 2) % 3] - axis[2][(k + 2) % 3] * axis[0][(k + 1) % 3];
  if (i >= 0 && dimension == 3) {
    const double *e = entries(y) + 7 * i + 3;
    for (int a = 0; a < 3; a++) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      R[a][a] = 1 - 2 * (e[b + 1] * e[b + 1] + e[c + 1] * e[c + 1]);
      R[b][a] = 2 * (e[a + 1] * e[b + 1] + e[0] * e[c + 1]);
      R[c][a] = 2 * (e[a + 1] * e[c + 1] - e[0] * e[b + 1]);
    }
  } else if (i >= 0) {
    const double phi = entries(y)[3 * i + 2];
    R[0][0] = R[1][1] = cos(phi);
    R[1][0]           = sin(phi);
    R[0][1]           = -R[1][0];
  }
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 3; l++)
      x[k][l] = R[l][0] * axis[k][0] + R[l][1] * axis[k][1] + R[l][2] * axis[k][2];
}

/* Asserts that axis k of both sides is equal. */
static void equal_axes(int dimension, const CPJoint *joint, int a, int b, int k) {
  double x[3][3], z[3][3];
  axes_of(dimension, a, &joint->on_a, x);
  axes_of(dimension, b, &joint->on_b, z);
  for (int l = 0; l < 3; l++)
    ck_assert_msg(fabs(x[k][l] - z[k][l]) <= CLOSED, "axis %d, component %d: %g and %g", k, l,
                  x[k][l], z[k][l]);
}

static CPMarker marker(int dimension) {
  CPMarker m;
  for (int k = 0; k < 3; k++) {
    m.point[k]  = random_number(&seed);
    m.axis[k]   = random_number(&seed);
    m.across[k] = random_number(&seed);
  }
  if (dimension == 2) m.point[2] = 0;
  return m;
}

static const struct {
  CPJointKind kind;
  int dimension, welds; /* welds: all axes must be equal, else z only */
} kinds[] = {{CP_JOINT_REVOLUTE, 3, 0},  {CP_JOINT_CYLINDRICAL, 3, 0}, {CP_JOINT_PLANAR, 3, 0},
             {CP_JOINT_PRISMATIC, 3, 1}, {CP_JOINT_FIXED, 3, 1},       {CP_JOINT_PRISMATIC, 2, 1},
             {CP_JOINT_FIXED, 2, 1}};
enum { KINDS = sizeof kinds / sizeof *kinds, TURNS = 1000 };

/* Two bodies, of which the first one hangs on a ball joint, so that both have to turn. */
START_TEST(joints_turned_by_any_angle_close_with_equal_axes) {
  const int d = kinds[_i].dimension;
  seed        = (unsigned long long)(31 + _i);
  for (int trial = 0; trial < TURNS; trial++) {
    create(d);
    const CPBody one = turned("one"), two = turned("two");
    CPBody flat[2] = {one, two};
    for (int i = 0; i < 2; i++) {
      if (d == 2) flat[i].position[2] = 0;
      ADD(CPBodiesAdd(bodies, &flat[i].head, NULL));
    }
    const CPJoint ball = {CP_NEW_JOINT("ball"), .kind = d == 3 ? CP_JOINT_BALL : CP_JOINT_REVOLUTE,
                          .b = "one"};
    CPJoint joint      = {CP_NEW_JOINT("joint"), .kind = kinds[_i].kind, .a = "one", .b = "two",
                          .in = CP_IN_BODIES};
    joint.on_a         = marker(d);
    joint.on_b         = marker(d);
    if (d == 2 && joint.kind == CP_JOINT_PRISMATIC) { /* z in the plane, x across it */
      joint.on_a.axis[2] = joint.on_b.axis[2] = 0;
    } else if (d == 2) {
      for (int k = 0; k < 3; k++) joint.on_a.axis[k] = joint.on_b.axis[k] = k == 2;
      joint.on_a.across[2] = joint.on_b.across[2] = 0;
    }
    ADD(CPBodiesAdd(bodies, &ball.head, NULL));
    ADD(CPBodiesAdd(bodies, &joint.head, NULL));
    start();
    ck_assert_msg(CPMechAssemble(mech, 0, y, fresh()) == CP_SUCCESS, "trial %d: %s", trial,
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    equal_axes(d, &joint, 0, 1, 2);
    if (kinds[_i].welds && !(d == 2 && joint.kind == CP_JOINT_PRISMATIC))
      equal_axes(d, &joint, 0, 1, 0);
    clear();
  }
}
END_TEST

/* An arm of three hinges, straight in the guess, whose hand is welded to the ground where it can be with
 * angles that add up to at most half a turn. */
START_TEST(the_hand_of_an_arm_closes_with_equal_axes) {
  static const char *const names[] = {"b1", "b2", "b3"}, *const hinges[] = {"j1", "j2", "j3"};
  seed = 5;
  for (int trial = 0; trial < TURNS / 4; trial++) {
    create(3);
    double angle = 0, x[2] = {0, 0};
    const double whole   = M_PI * random_number(&seed),
                 part[3] = {0.2 + 0.3 * fabs(random_number(&seed)), 0.3, 0};
    for (int i = 0; i < 3; i++) {
      const CPBody body   = {CP_NEW_BODY(names[i]), .mass = 1, .inertia = {1, 1, 1},
                             .position = {0.3 * i, 0, 0}};
      const CPJoint hinge = {CP_NEW_JOINT(hinges[i]),       .kind = CP_JOINT_REVOLUTE,
                             .a = i ? names[i - 1] : NULL,  .b = names[i],
                             .on_a.point = {0.3 * i, 0, 0}, .on_a.axis = {0, -1, 0}};
      ADD(CPBodiesAdd(bodies, &body.head, NULL));
      ADD(CPBodiesAdd(bodies, &hinge.head, NULL));
      angle += whole * (i < 2 ? part[i] : 1 - part[0] - part[1]);
      x[0] += 0.3 * cos(angle);
      x[1] += 0.3 * sin(angle);
    }
    const CPJoint weld = {
        CP_NEW_JOINT("weld"),
        .kind = CP_JOINT_FIXED,
        .b    = "b3",
        .in   = CP_IN_BODIES,
        .on_a = {{x[0], 0, x[1]}, {-sin(angle), 0, cos(angle)}, {cos(angle), 0, sin(angle)}},
        .on_b = {{0.3, 0, 0}, {0, 0, 1}, {1, 0, 0}}};
    ADD(CPBodiesAdd(bodies, &weld.head, NULL));
    start();
    ck_assert_msg(CPMechAssemble(mech, 0, y, fresh()) == CP_SUCCESS, "trial %d, %g: %s", trial,
                  whole, CPObjectGetLastMessage(CP_OBJECT(mech)));
    equal_axes(3, &weld, -1, 2, 0);
    equal_axes(3, &weld, -1, 2, 2);
    clear();
  }
}
END_TEST

/* A slide whose body cannot turn over, since a rod of fixed length and a plane hold it: its axes are
 * opposite to each other in the file. */
START_TEST(axes_that_must_be_opposite_are_refused) {
  create(3);
  const CPBody body  = {CP_NEW_BODY("body"), .mass = 1, .inertia = {1, 1, 1}};
  CPJoint joint      = {CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .b = "body",
                        .in = CP_IN_BODIES};
  joint.on_a.axis[2] = 1;
  joint.on_b.axis[2] = -1;
  CPJoint other      = {CP_NEW_JOINT("other"), .kind = CP_JOINT_REVOLUTE, .b = "body",
                        .in = CP_IN_BODIES};
  other.on_a.axis[2] = other.on_b.axis[2] = 1;
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  ADD(CPBodiesAdd(bodies, &other.head, NULL));
  start();
  N_Vector before = vector_copy(y);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_IC_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "opposite");
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)), "joint \"");
  ck_assert(same_bits(y, before));
  N_VDestroy(before);
  clear();
}
END_TEST

/* A four-bar linkage in the plane y = 0, the pin of whose rocker misses that of its rod by `off` across
 * the plane. Bodies are at their placement but for the angle `guess` of the crank. */
static void four_bar(double off, double guess) {
  static const struct {
    const char *name, *a, *b;
    double at[3];
  } hinges[] = {{"h1", NULL, "crank", {0, 0, 0}},
                {"h2", "crank", "rod", {0, 0, 0.2}},
                {"h3", NULL, "rocker", {0.4, 0, 0}}};
  create(3);
  const sunrealtype g[] = {0, 0, -9.81};
  const CPBody crank    = {CP_NEW_BODY("crank"), .mass = 1, .inertia = {1e-2, 1e-2, 1e-2},
                           .quaternion = {cos(guess / 2), 0, sin(guess / 2), 0}, .omega = {0, 1, 0}};
  const CPBody rod      = {CP_NEW_BODY("rod"), .mass = 1, .inertia = {1e-2, 1e-2, 1e-2},
                           .position = {0, 0, 0.2}};
  const CPBody rocker   = {CP_NEW_BODY("rocker"), .mass = 1, .inertia = {1e-2, 1e-2, 1e-2},
                           .position = {0.4, 0, 0}};
  ck_assert_int_eq(set_gravity(bodies, g), CP_SUCCESS);
  ADD(CPBodiesAdd(bodies, &crank.head, NULL));
  ADD(CPBodiesAdd(bodies, &rod.head, NULL));
  ADD(CPBodiesAdd(bodies, &rocker.head, NULL));
  for (int i = 0; i < 3; i++) {
    CPJoint hinge = {CP_NEW_JOINT(hinges[i].name),
                     .kind      = CP_JOINT_REVOLUTE,
                     .a         = hinges[i].a,
                     .b         = hinges[i].b,
                     .in        = CP_IN_BODIES,
                     .on_a.axis = {0, 1, 0},
                     .on_b.axis = {0, 1, 0}};
    memcpy(hinge.on_a.point, hinges[i].at, sizeof hinges[i].at);
    ADD(CPBodiesAdd(bodies, &hinge.head, NULL));
  }
  const CPJoint pin = {CP_NEW_JOINT("pin"),
                       .kind       = CP_JOINT_BALL,
                       .a          = "rod",
                       .b          = "rocker",
                       .in         = CP_IN_BODIES,
                       .on_a.point = {0.4, 0, 0.1},
                       .on_b.point = {0, off, 0.3}};
  ADD(CPBodiesAdd(bodies, &pin.head, NULL));
  start();
}

/* Largest |p_i| at y, with the offsets */
static double open_by(void) {
  CPMechOutput out = CP_INIT(CPMechOutput);
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  return out.position;
}

START_TEST(rounding_in_a_redundant_loop_becomes_a_reported_offset) {
  static const double guesses[] = {0, 0.1};
  four_bar(9e-8, guesses[_i]);
  ck_assert_msg(CPMechAssemble(mech, 0, y, fresh()) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  ck_assert_double_le(open_by(), 1e-12);
  ck_assert_mentions(assembly.notes, "joint \"pin\" along y");
  ck_assert_mentions(assembly.notes, "9e-08 m");
  /* all other points meet, in the plane */
  for (int i = 0; i < 4; i++) {
    sunrealtype P[12];
    ck_assert_int_eq(CPMechGetPoints(mech, CP_JOINT, i, y, P), CP_SUCCESS);
    for (int k = 0; k < 3; k++)
      ck_assert_double_le(fabs(P[3 + k] - P[k] - (i == 3 && k == 1 ? 9e-8 : 0)), 1e-11);
  }
  clear();
}
END_TEST

START_TEST(what_misses_by_more_than_rounding_stays_open) {
  four_bar(9e-6, 0);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_IC_FAIL);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)),
                     "the loop of joints h1, h2, h3, pin is redundant but for more than rounding");
  ck_assert_str_eq(assembly.notes, "");
  clear();
}
END_TEST

/* A pendulum of one hinge, with a second hinge or a second drive */
static void pendulum(int second_hinge) {
  create(2);
  const CPBody body = {CP_NEW_BODY("a"), .mass = 1, .inertia = {0, 0, 0.01}, .centre = {0.5, 0, 0}};
  const CPJoint p   = {CP_NEW_JOINT("p"), .kind = CP_JOINT_REVOLUTE, .b = "a"};
  const CPJoint p2  = {CP_NEW_JOINT("p2"), .kind = CP_JOINT_REVOLUTE, .b = "a",
                       .on_a.point = {1, 0, 0}};
  const CPDrive d   = {CP_NEW_DRIVE("d"), .of = {"p", 0}, .rate = 1};
  const CPDrive fine = {CP_NEW_DRIVE("fine"), .of = {"p", 0}, .rate = 1};
  const CPDrive e    = {CP_NEW_DRIVE("e"), .of = {"p", 0}, .rate = 2};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  ADD(CPBodiesAdd(bodies, &p.head, NULL));
  if (second_hinge) ADD(CPBodiesAdd(bodies, &p2.head, NULL));
  ADD(CPBodiesAdd(bodies, &d.head, NULL));
  if (!second_hinge) ADD(CPBodiesAdd(bodies, &fine.head, NULL));
  if (!second_hinge) ADD(CPBodiesAdd(bodies, &e.head, NULL));
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_IC_FAIL);
}

START_TEST(a_drive_that_contradicts_a_joint_is_named) {
  pendulum(1);
  ck_assert_mentions(messages.text, "drive \"d\" contradicts the joints");
  ck_assert_mentions(messages.text, "joint \"p2\"");
  ck_assert_ptr_null(strstr(messages.text, "stays open"));
  clear();
}
END_TEST

START_TEST(drives_that_contradict_each_other_are_named) {
  pendulum(0);
  ck_assert_mentions(messages.text, "drive \"e\" contradicts");
  ck_assert_mentions(messages.text, "\"d\"");
  ck_assert_int_ne(CPMechAssemble(mech, 0, y, &assembly),
                   CP_SUCCESS); /* with what the first call gave */
  clear();
}
END_TEST

/* The origin of the bar's frame, not its hinge, is given as at rest: omega = 3 is impossible. The
 * nearest velocities have omega = 3 J / (J + m r^2) in the metric of ones: 3 / (1 + 1/4). */
START_TEST(a_start_velocity_that_joints_change_is_reported) {
  create(2);
  const CPBody bar    = {CP_NEW_BODY("bar"), .mass = 1, .inertia = {0, 0, 1}, .omega = {0, 0, 3}};
  const CPJoint hinge = {CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .b = "bar",
                         .on_a.point = {0.5, 0, 0}};
  ADD(CPBodiesAdd(bodies, &bar.head, NULL));
  ADD(CPBodiesAdd(bodies, &hinge.head, NULL));
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(y)[5] - 2.4), 1e-9);
  ck_assert_mentions(assembly.notes, "body \"bar\": the angular velocity");
  ck_assert_mentions(assembly.notes, "2.4, not 3 rad/s (changed by 0.6 rad/s)");
  ck_assert_double_le(fabs(assembly.change - 0.2), 1e-9);
  CPMechAssemble(mech, 0, y, fresh()); /* these are possible */
  ck_assert_str_eq(assembly.notes, "");
  ck_assert_double_eq(assembly.change, 0);
  clear();
}
END_TEST

/* A rod on a hinge about y is to move along itself: the hinge takes omega_y = 1 rad/s, and nothing takes the other 1 m/s. */
START_TEST(a_start_velocity_that_no_joint_of_a_tree_has_is_reported) {
  create(3);
  const CPBody rod    = {CP_NEW_BODY("rod"),          .mass = 1,
                         .inertia = {0.01, 0.1, 0.1}, .position = {0.5, 0, 0},
                         .velocity = {1, 0, -0.5},    .omega = {0, 1, 0}};
  const CPJoint hinge = {CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .b = "rod",
                         .on_a.axis = {0, 1, 0}};
  ADD(CPBodiesAdd(bodies, &rod.head, NULL));
  ADD(CPBodiesAdd(bodies, &hinge.head, NULL));
  ADD(CPBodiesSetFormulation(bodies, CP_JOINT_COORDINATES));
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  ck_assert_double_le(fabs(entries(y)[1] - 1), 1e-15);
  ck_assert_mentions(
      assembly.notes,
      "body \"rod\": the velocity of the origin at the start becomes 0.5, not 1.118 m/s");
  ck_assert_double_le(fabs(assembly.change - 1 / sqrt(1.25)), 1e-9);
  entries(y)[1] = 2; /* not what is given */
  CPMechAssemble(mech, 0, y, fresh());
  ck_assert_str_eq(assembly.notes, "");
  clear();
}
END_TEST

/* A square of three rods, of which one has a spin: its loop changes the velocities as little as possible, in either formulation. */
START_TEST(start_velocities_of_loops_do_not_depend_on_the_formulation) {
  sunrealtype rate[2], x;
  for (int k = 0; k < 2; k++) {
    create(2);
    const CPBody rods[] = {
        {CP_NEW_BODY("a"), .mass = 1, .inertia = {0, 0, 0.1}, .position = {0, 0.5},
         .omega = {0, 0, 1}},
        {CP_NEW_BODY("b"), .mass = 2, .inertia = {0, 0, 0.1}, .position = {0.5, 1}},
        {CP_NEW_BODY("c"), .mass = 1, .inertia = {0, 0, 0.1}, .position = {1, 0.5}}};
    const CPJoint hinges[] = {
        {CP_NEW_JOINT("p"), .kind = CP_JOINT_REVOLUTE, .b = "a"},
        {CP_NEW_JOINT("q"), .kind = CP_JOINT_REVOLUTE, .a = "a", .b = "b", .on_a.point = {0, 1}},
        {CP_NEW_JOINT("r"), .kind = CP_JOINT_REVOLUTE, .a = "b", .b = "c", .on_a.point = {1, 1}},
        {CP_NEW_JOINT("s"), .kind = CP_JOINT_REVOLUTE, .b = "c", .on_a.point = {1, 0}}};
    for (int i = 0; i < 3; i++) ADD(CPBodiesAdd(bodies, &rods[i].head, NULL));
    for (int i = 0; i < 4; i++) ADD(CPBodiesAdd(bodies, &hinges[i].head, NULL));
    ADD(CPBodiesSetFormulation(bodies, k ? CP_JOINT_COORDINATES : CP_ABSOLUTE));
    start();
    ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
    ck_assert_mentions(assembly.notes, "body \"a\": the angular velocity at the start");
    ck_assert_int_eq(CPMechGetCoordinate(mech, 0, y, &x, &rate[k]), CP_SUCCESS);
    clear();
  }
  ck_assert_double_gt(fabs(rate[0]), 0.1);
  ck_assert_double_le(fabs(rate[1] - rate[0]), 1e-9);
}
END_TEST

/* Names of all rows of all elements: different, with the name of the element, and noun */
START_TEST(every_row_has_the_name_of_its_element) {
  enum { MOST = 80, LENGTH = 128 };
  char names[MOST][LENGTH];
  int rows = 0;
  for (int d = 2; d <= 3; d++)
    for (int kind = 0; kind < (CP_JOINT_ROLLING_DISC + 1); kind++) {
      create(d);
      seed                = 3;
      const CPBody body   = {CP_NEW_BODY("body"), .mass = 1, .inertia = {1, 1, 1},
                             .position = {0, 1, d - 2}};
      const CPJoint base  = {CP_NEW_JOINT("base"), .kind = CP_JOINT_REVOLUTE, .b = "body"};
      const CPJoint joint = {
          CP_NEW_JOINT("joint"), .kind = (CPJointKind)kind,        .b = "body",
          .length = 1,           .on_a.axis = {d == 2, 0, d == 3}, .on_b.axis = {1, 0, 0}};
      const CPDrive drive = {CP_NEW_DRIVE("drive"), .of = {"base", 0}};
      ADD(CPBodiesAdd(bodies, &body.head, NULL));
      ADD(CPBodiesAdd(bodies, &base.head, NULL));
      const int flag = CPBodiesAdd(bodies, &joint.head, NULL);
      ADD(CPBodiesAdd(bodies, &drive.head, NULL));
      ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
      const CPEquations model = equations_of(mech);
      ck_assert(model.row_name != NULL);
      rows = (int)model.nv;
      ck_assert_int_le(rows, MOST);
      int drives = 0, joints = 0;
      for (int i = 0; i < rows; i++) {
        model.row_name(CP_NAME_ROW, i, 0, names[i], LENGTH, CPMechGetUserData(mech));
        drives += strstr(names[i], "drive \"drive\"") != NULL;
        joints += strstr(names[i], "joint \"joint\"") != NULL;
        for (int k = 0; k < i; k++) ck_assert_str_ne(names[i], names[k]);
      }
      ck_assert_int_eq(drives, 1);
      ck_assert(flag < 0 || joints > 0);
      ck_assert_int_eq(rows - drives - joints, d == 2 ? 2 : 5);
      CPMechFree(&mech);
      CPBodiesFree(&bodies);
    }
}
END_TEST

/* Directions as in the table of cpodes_bodies.h */
START_TEST(a_row_has_its_direction) {
  static const char *const expected[] = {
      "joint \"weld\" along x",     "joint \"weld\" along y",     "joint \"weld\" along z",
      "joint \"weld\" about y_a",   "joint \"weld\" about x_a",   "joint \"weld\" about z_a",
      "contact \"foot\" along z_a", "contact \"foot\" along x_a", "contact \"foot\" along y_a"};
  char name[128];
  create(3);
  const CPBody body        = {CP_NEW_BODY("body"), .mass = 1, .inertia = {1, 1, 1}};
  const CPJoint weld       = {CP_NEW_JOINT("weld"), .kind = CP_JOINT_FIXED, .b = "body"};
  const CPBodyContact foot = {CP_NEW_CONTACT("foot"), .b = "body", .radius = 1};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  ADD(CPBodiesAdd(bodies, &weld.head, NULL));
  ADD(CPBodiesAdd(bodies, &foot.head, NULL));
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  const CPEquations model = equations_of(mech);
  ck_assert_int_eq((int)model.nv, 9);
  for (int i = 0; i < 9; i++) {
    model.row_name(CP_NAME_ROW, i, 0, name, sizeof name, CPMechGetUserData(mech));
    ck_assert_str_eq(name, expected[i]);
  }
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

/* The start is off the hinge: in position, or in velocity. */
START_TEST(a_start_off_its_joint_names_the_row) {
  create(2);
  const CPBody bar    = {CP_NEW_BODY("bar"), .mass = 1, .inertia = {0, 0, 1}};
  const CPJoint hinge = {CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .b = "bar"};
  ADD(CPBodiesAdd(bodies, &bar.head, NULL));
  ADD(CPBodiesAdd(bodies, &hinge.head, NULL));
  start();
  entries(y)[_i ? 4 : 1] = 0.1;
  N_Vector id            = vector_copy(y);
  N_VConst(0, id); /* everything is held */
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &messages), CP_SUCCESS);
  ck_assert_int_eq(CPMechCalcIC(mech, 0, y, NULL, id, NULL, NULL), CP_IC_FAIL);
  ck_assert_mentions(messages.text,
                     _i ? "the rate of joint \"hinge\" along y" : ": joint \"hinge\" along y");
  N_VDestroy(id);
  clear();
}
END_TEST

static const struct {
  const char *name;
  double tol;
} methods[] = {{"DOP853", 1e-6}, {"DOP853", 1e-9}, {"RADAU", 1e-6}, {"RADAU5", 1e-4}, {"BDF", 1e-6}};
enum { METHODS = sizeof methods / sizeof *methods };

/* Integrates from t = 0 to the end and returns the code. t: out. */
static int run_until(int k, double end, sunrealtype *t) {
  sunrealtype done = 0;
  const double tol = methods[k].tol;
  int flag         = CP_SUCCESS;
  memset(&messages, 0, sizeof messages);
  if (strcmp(methods[k].name, "BDF")) {
    CPIntegrator mem = CPIntegratorCreate(methods[k].name, test_context);
    ck_assert_ptr_nonnull(mem);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
    flag = CPIntegratorEvolve(mem, end, y, &done, CV_NORMAL);
    CPIntegratorFree(&mem);
  } else {
    CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
    ck_assert_ptr_nonnull(mem);
    ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &messages), CP_SUCCESS);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), -1), CP_SUCCESS);
    flag = CPIntegratorEvolve(mem, end, y, &done, CV_NORMAL);
    CPIntegratorFree(&mem);
  }
  *t = done;
  return flag;
}

static int run_with(int k, sunrealtype *t) { return run_until(k, 10, t); }

/* A motor turns the crank of a four-bar linkage whose rocker is too short to let it pass: at the angle phi,
 * where link and rocker are in line, |crank pin - rocker's pivot| = link - rocker. */
START_TEST(a_drive_that_cannot_pass_a_dead_centre_is_told_as_such) {
  const double crank = 0.05, rocker = 0.08, ground = 0.25, link = hypot(ground + crank, rocker),
               rate = 4;
  const double cosine =
      ((link - rocker) * (link - rocker) - crank * crank - ground * ground) / (2 * crank * ground);
  const double end = acos(cosine) / rate; /* 118.35 degrees */
  create(2);
  const CPBody body[]   = {{CP_NEW_BODY("crank"), 0.2, {0, 0, 1e-4}, .omega = {0, 0, rate}},
                           {CP_NEW_BODY("link"), 0.15, {0, 0, 8e-4}, .position = {-0.1, 0.04, 0}},
                           {CP_NEW_BODY("rocker"), 0.5, {0, 0, 0.015}, .position = {-ground, 0, 0}}};
  const CPJoint joint[] = {
      {CP_NEW_JOINT("pivot"), CP_JOINT_REVOLUTE, NULL, "crank", .in = CP_IN_SPACE},
      {CP_NEW_JOINT("left"), CP_JOINT_REVOLUTE, NULL, "rocker", .on_a.point = {-ground, 0, 0}},
      {CP_NEW_JOINT("pin"), CP_JOINT_REVOLUTE, "crank", "link", .on_a.point = {crank, 0, 0}},
      {CP_NEW_JOINT("ball"), CP_JOINT_REVOLUTE, "link", "rocker",
       .on_a.point = {-ground, rocker, 0}}};
  const CPDrive motor = {CP_NEW_DRIVE("motor"), .of = {"pivot", 0}, .rate = rate};
  for (int i = 0; i < 3; i++) ADD(CPBodiesAdd(bodies, &body[i].head, NULL));
  for (int i = 0; i < 4; i++) ADD(CPBodiesAdd(bodies, &joint[i].head, NULL));
  ADD(CPBodiesAdd(bodies, &motor.head, NULL));
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .held = "crank"}),
                   CP_SUCCESS);
  sunrealtype t;
  MechCounters stats;
  ck_assert_int_lt(run_with(_i, &t), 0);
  ck_assert_mentions(
      messages.text,
      "drive \"motor\" cannot turn \"crank\" beyond 118.4 degrees, a dead centre of ");
  for (int i = 1; i < 4; i++) ck_assert_mentions(messages.text, joint[i].head.name);
  ck_assert_ptr_null(strstr(messages.text, "constraint "));
  /* near the end, and not by thousands of evaluations */
  ck_assert_double_le(t, end + 1e-9);
  ck_assert_double_ge(t, end * (1 - 1e-5));
  ck_assert_int_eq(mech_counters(mech, &stats), CP_SUCCESS);
  ck_assert_int_le((int)stats.nf, 6000);
  clear();
}
END_TEST

/* A motor that begins to turn a rod of a triangle of rods, from rest, with an acceleration (k = 2) or a jerk (k = 3): g = (t / s)^k */
START_TEST(a_drive_that_begins_to_move_a_rigid_structure_is_told_as_held) {
  static const char format[] =
      "dimension: 2\ngravity: [0, -9.81]\nparameters: {w: 1 rad/s}\nbodies:\n"
      "  - {name: strut, mass: 1, inertia: 0.01, at: [0, 0.5]}\n"
      "  - {name: brace, mass: 1, inertia: 0.01, at: [0.5, 0.5]}\njoints:\n"
      "  - {name: foot, kind: revolute, b: strut, at: [0, 0]}\n"
      "  - {name: top, kind: revolute, a: strut, b: brace, at: [0, 1]}\n"
      "  - {name: anchor, kind: revolute, b: brace, at: [1, 0]}\n"
      "drives: [{name: motor, of: foot, motion: \"(w*t)^%d\"}]\n";
  for (int k = 2; k <= 3; k++)
    for (int formulation = 0; formulation < 2; formulation++) {
      char text[sizeof format];
      sunrealtype t;
      snprintf(text, sizeof text, format, k);
      ck_assert_int_eq(CPBodiesRead("triangle.yaml", text, strlen(text), &bodies, NULL), CP_SUCCESS);
      ck_assert_int_eq(
          CPBodiesSetFormulation(bodies, formulation ? CP_JOINT_COORDINATES : CP_ABSOLUTE),
          CP_SUCCESS);
      start();
      ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
      ck_assert_int_lt(run_with(_i, &t), 0);
      ck_assert_mentions(messages.text, "drive \"motor\" cannot turn \"strut\" beyond ");
      ck_assert_mentions(messages.text, "joint \"top\"");
      ck_assert_mentions(messages.text, formulation ? " holds it" : " hold it");
      ck_assert_double_le(t, 1e-3); /* 3 t^2 is a tolerance */
      clear();
    }
}
END_TEST

/* Three links in line between two points of a body, or of the ground, in the plane */
static void links_between(const char *frame) {
  static const char *const names[] = {"b1", "b2", "b3"}, *const pins[] = {"p1", "p2", "p3", "p4"};
  for (int i = 0; i < 3; i++) {
    const CPBody body = {CP_NEW_BODY(names[i]), .mass = 1, .inertia = {0, 0, 0.1},
                         .position = {i + 0.5, 0, 0}};
    ADD(CPBodiesAdd(bodies, &body.head, NULL));
  }
  for (int i = 0; i < 4; i++) {
    const CPJoint pin = {CP_NEW_JOINT(pins[i]), .kind = CP_JOINT_REVOLUTE,
                         .a = i > 0 ? names[i - 1] : frame, .b = i < 3 ? names[i] : frame,
                         .on_a.point = {i, 0, 0}};
    ADD(CPBodiesAdd(bodies, &pin.head, NULL));
  }
}

static void links_in_line(void) {
  create(2);
  links_between(NULL);
}

/* Three links in line between two fixed points: to first order the pins move across the line, but the links
 * are as long as the distance of the points. Under its weight no finite force holds it. */
START_TEST(a_mechanism_that_is_shaky_at_the_start_says_so) {
  links_in_line();
  ck_assert_int_eq(set_gravity(bodies, (sunrealtype[]){0, -9.81, 0}), CP_SUCCESS);
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  const char *notes = assembly.notes;
  ck_assert_mentions(notes, "shaky");
  ck_assert_mentions(notes, "to first order it has 2 freedoms (joints p1, p2, p3, p4)");
  ck_assert_mentions(notes, "no finite reaction balances its load");
  sunrealtype t;
  ck_assert_int_eq(run_with(_i, &t), CP_KKT_INCONSISTENT);
  ck_assert_double_eq(t, 0);
  ck_assert_mentions(messages.text, "shaky");
  ck_assert_mentions(messages.text, "to first order it has 2 freedoms (joints p1, p2, p3, p4)");
  clear();
}
END_TEST

/* On a frame that moves they are as shaky, and do not take part in its motion. */
START_TEST(loops_that_are_shaky_on_a_frame_that_moves_say_so) {
  create(2);
  const CPBody frame = {CP_NEW_BODY("frame"), .mass = 50, .inertia = {0, 0, 5}};
  const CPJoint way  = {CP_NEW_JOINT("way"), .kind = _i ? CP_JOINT_REVOLUTE : CP_JOINT_PRISMATIC,
                        .b = "frame", .on_a.axis = {!_i, 0, _i}};
  ADD(CPBodiesAdd(bodies, &frame.head, NULL));
  ADD(CPBodiesAdd(bodies, &way.head, NULL));
  links_between("frame");
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  ck_assert_mentions(assembly.notes,
                     "to first order it has 3 freedoms (joints way, p1, p2, p3, p4), of which 1 "
                     "lead to finite motions (joints way)");
  clear();
}
END_TEST

/* The same links without weight: a ball pulls them across by a spring that is relaxed at the start. */
START_TEST(a_load_that_a_shaky_mechanism_gets_later_is_told_then) {
  links_in_line();
  const CPBody ball = {
      CP_NEW_BODY("ball"), 1, {0, 0, 0.1}, .position = {1, 1, 0}, .velocity = {0, 1, 0}};
  const CPSpring spring = {CP_NEW_SPRING("spring"),
                           .a         = "b1",
                           .b         = "ball",
                           .in        = CP_IN_SPACE,
                           .point_a   = {1, 0, 0},
                           .point_b   = {1, 1, 0},
                           .stiffness = 10,
                           .free      = 1};
  ADD(CPBodiesAdd(bodies, &ball.head, NULL));
  ADD(CPBodiesAdd(bodies, &spring.head, NULL));
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  sunrealtype t;
  ck_assert_int_eq(run_with(_i, &t), CP_KKT_INCONSISTENT);
  ck_assert_double_gt(t, 0);
  ck_assert_double_le(t, 0.1); /* after the first step */
  ck_assert_mentions(messages.text, "no finite reaction balances");
  clear();
}
END_TEST

/* A parallelogram that lies flat can go on as a parallelogram or as an antiparallelogram. */
START_TEST(a_start_where_motions_branch_says_so) {
  static const char *const names[] = {"b1", "b2", "b3"}, *const pins[] = {"p1", "p2", "p3", "p4"};
  static const double x[4] = {0, 1, 3, 2}; /* pins */
  create(2);
  for (int i = 0; i < 3; i++) {
    const CPBody body = {CP_NEW_BODY(names[i]), .mass = 1, .inertia = {0, 0, 0.1},
                         .position = {(x[i] + x[i + 1]) / 2, 0, 0}};
    ADD(CPBodiesAdd(bodies, &body.head, NULL));
  }
  for (int i = 0; i < 4; i++) {
    const CPJoint pin = {CP_NEW_JOINT(pins[i]), .kind = CP_JOINT_REVOLUTE,
                         .a = i > 0 ? names[i - 1] : NULL, .b = i < 3 ? names[i] : NULL,
                         .on_a.point = {x[i], 0, 0}};
    ADD(CPBodiesAdd(bodies, &pin.head, NULL));
  }
  start();
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  ck_assert_mentions(assembly.notes, "to first order it has 2 freedoms");
  ck_assert_mentions(assembly.notes, "of which 1 lead to finite motions");
  clear();
}
END_TEST

/* A planar four-bar in space has dependent rows everywhere: that is no singular position. */
START_TEST(redundant_rows_alone_are_not_singular) {
  four_bar(0, 0);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  ck_assert_ptr_null(strstr(assembly.notes, "freedoms"));
  clear();
}
END_TEST

/* Loops that move only by exact geometry: parallel axes of a four-bar, a skew isogram (Bennett's linkage: opposite
 * sides are equal, each axis is normal to both its links), Bricard's, and a parallelogram with a third crank */
enum { SWAPPED = 2 };
static const struct {
  int pivots, third; /* third = SWAPPED: and the coupler is side b of all its joints */
  double at[6][3], axis[6][3], gravity[3];
} loops[] = {
    {4,
     0,
     {{0, 0, 0}, {0.3, 0.5, 0}, {1.2, 0.9, 0}, {1.1, 0, 0}},
     {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
     {3, 1, 8}},
    {4, 0, {{1, 0.2, 0.3}, {0.4, -0.9, -0.2}, {-1, -0.2, 0.3}, {-0.4, 0.9, -0.2}}, {{0}}, {3, 1, 8}},
    {6,
     0,
     {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}},
     {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
     {6, -8, 5}},
    {4,
     1,
     {{0, 0, 0}, {0.3, 0.5, 0}, {1.5, 0.5, 0}, {1.2, 0, 0}},
     {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
     {0, 9.81, 2}},
    {4,
     SWAPPED,
     {{0, 0, 0}, {0.3, 0.5, 0}, {1.5, 0.5, 0}, {1.2, 0, 0}},
     {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}},
     {0, 9.81, 2}}};
enum { LOOPS = sizeof loops / sizeof *loops, EXACT = 17 };

static void turn(const double *e, const double *x, double *Rx) {
  double first[3], second[3];
  for (int pass = 0; pass < 2; pass++) {
    const double *from = pass ? first : x;
    double *to         = pass ? second : first;
    for (int k = 0; k < 3; k++)
      to[k] = e[1 + (k + 1) % 3] * from[(k + 2) % 3] - e[1 + (k + 2) % 3] * from[(k + 1) % 3];
  }
  for (int k = 0; k < 3; k++) Rx[k] = x[k] + 2 * (e[0] * first[k] + second[k]);
}

static void rounded(int digits, int n, double *x) {
  for (int k = 0; k < n; k++) {
    char text[40];
    snprintf(text, sizeof text, "%.*e", digits - 1, x[k]);
    x[k] = strtod(text, NULL);
  }
}

static void any_turn(double *e) {
  double size = 0;
  for (int k = 0; k < 4; k++) e[k] = random_number(&seed), size += e[k] * e[k];
  for (int k = 0; k < 4; k++) e[k] /= sqrt(size);
}

/* A point and a direction in the frame of body b at r with the attitude e, or of the ground */
static CPMarker in_frame(int b, double (*r)[3], double (*e)[4], const double *at,
                         const double *axis, int digits) {
  CPMarker m = {{0}, {0}, {0}};
  double x[3];
  for (int k = 0; k < 3; k++) x[k] = at[k] - (b < 0 ? 0 : r[b][k]);
  memcpy(m.point, x, sizeof x);
  memcpy(m.axis, axis, sizeof m.axis);
  if (b >= 0) {
    const double back[4] = {e[b][0], -e[b][1], -e[b][2], -e[b][3]};
    turn(back, x, m.point);
    turn(back, axis, m.axis);
  }
  rounded(digits, 3, m.point);
  rounded(digits, 3, m.axis);
  return m;
}

static int beside_a_gap; /* a wheel far above the ground, and a drive that is open in the guess */

static void add_wheel(void) {
  const CPBody wheel       = {CP_NEW_BODY("wheel"), .mass = 1, .inertia = {1, 1, 1},
                              .position = {0, 0, 70}};
  const CPJoint axle       = {CP_NEW_JOINT("axle"), .kind = CP_JOINT_REVOLUTE, .b = "wheel",
                              .on_a = {.point = {0, 0, 70}, .axis = {0, 1, 0}}};
  const CPDrive motor      = {CP_NEW_DRIVE("motor"), .of = {"axle", 0}, .start = 0.3, .rate = 1};
  const CPBodyContact foot = {CP_NEW_CONTACT("foot"), .b = "wheel", .radius = 1};
  ADD(CPBodiesAdd(bodies, &wheel.head, NULL));
  ADD(CPBodiesAdd(bodies, &axle.head, NULL));
  ADD(CPBodiesAdd(bodies, &motor.head, NULL));
  ADD(CPBodiesAdd(bodies, &foot.head, NULL));
}

/* Loop k, tilted at random, with bodies of random attitudes, and all its data with so many digits */
static void tilted(int k, int digits) {
  static const char *const names[] = {"b1", "b2", "b3", "b4", "b5", "b6"};
  static const char *const hinge[] = {"J1", "J2", "J3", "J4", "J5", "J6", "K1", "K2"};
  const int n = loops[k].pivots, third = loops[k].third > 0, nbodies = n - 1 + third;
  double tilt[4], at[8][3], axis[8][3], r[6][3], e[6][4], g[3];
  seed = (unsigned long long)(7 + k);
  create(3);
  any_turn(tilt);
  for (int i = 0; i < n; i++) {
    double z[3];
    memcpy(z, loops[k].axis[i], sizeof z);
    const double *p = loops[k].at[i], *a = loops[k].at[(i + 1) % n],
                 *b = loops[k].at[(i + n - 1) % n];
    for (int l = 0; l < 3 && k == 1; l++) {
      const int j = (l + 1) % 3, m = (l + 2) % 3;
      z[l] = (a[j] - p[j]) * (b[m] - p[m]) - (a[m] - p[m]) * (b[j] - p[j]);
    }
    turn(tilt, p, at[i]);
    turn(tilt, z, axis[i]);
  }
  for (int l = 0; l < 3 && third; l++) { /* the third crank, in the middle of ground and coupler */
    at[n][l]     = (at[0][l] + at[3][l]) / 2;
    at[n + 1][l] = (at[1][l] + at[2][l]) / 2;
    axis[n][l] = axis[n + 1][l] = axis[0][l];
  }
  turn(tilt, loops[k].gravity, g);
  ck_assert_int_eq(set_gravity(bodies, g), CP_SUCCESS);
  for (int i = 0; i < nbodies; i++) {
    const int from = i == n - 1 ? n : i;
    for (int l = 0; l < 3; l++) r[i][l] = (at[from][l] + at[from + 1][l]) / 2;
    any_turn(e[i]);
    CPBody body = {CP_NEW_BODY(names[i]), .mass = 1, .inertia = {0.01, 0.02, 0.03}};
    memcpy(body.position, r[i], sizeof body.position);
    memcpy(body.quaternion, e[i], sizeof body.quaternion);
    rounded(digits, 3, body.position);
    rounded(digits, 4, body.quaternion);
    ADD(CPBodiesAdd(bodies, &body.head, NULL));
  }
  for (int i = 0; i < n + 2 * third; i++) {
    const int swap = loops[k].third == SWAPPED && i == 2;
    const int a    = swap ? i : i < n ? i - 1 : i == n ? -1 : n - 1;
    const int b    = swap ? i - 1 : i < n - 1 ? i : i == n - 1 ? -1 : i == n ? n - 1 : 1;
    CPJoint joint  = {CP_NEW_JOINT(hinge[i < n ? i : 6 + i - n]), .kind = CP_JOINT_REVOLUTE,
                      .a = a < 0 ? NULL : names[a], .b = b < 0 ? NULL : names[b], .in = CP_IN_BODIES};
    joint.on_a     = in_frame(a, r, e, at[i], axis[i], digits);
    joint.on_b     = in_frame(b, r, e, at[i], axis[i], digits);
    ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  }
  if (beside_a_gap) add_wheel();
  start();
}

/* From roundoff on every number of digits is repaired; those between would otherwise leave rows at angles that some
 * decisions of ranks take for 0 and others do not. */
START_TEST(loops_that_are_redundant_but_for_rounding_move_as_exact_ones) {
  for (int k = 0; k < METHODS; k++) {
    if (methods[k].tol > 1e-5) continue;
    sunrealtype t;
    N_Vector exact = NULL, guess;
    for (int digits = EXACT; digits >= 7; digits -= digits == EXACT ? 4 : 1) {
      if ((k > 0 || test_is_short()) && digits < EXACT && digits % 3 != 1) continue;
      tilted(_i, digits);
      guess = vector_copy(y);
      ck_assert_msg(CPMechAssemble(mech, 0, y, fresh()) == CP_SUCCESS, "%s, %d digits: %s",
                    methods[k].name, digits, CPObjectGetLastMessage(CP_OBJECT(mech)));
      if (digits <= 11) ck_assert_mentions(assembly.notes, "rounding");
      if (digits == EXACT) ck_assert_str_eq(assembly.notes, "");
      ck_assert_double_le(open_by(), 1e-11);
      ck_assert_msg(run_until(k, 1, &t) == CP_SUCCESS, "%s, loop %d, %d digits: %s",
                    methods[k].name, _i, digits, messages.text);
      double apart = 0, moved = 0;
      for (int i = 0; i < N_VGetLength(y) / 13 * 7; i++) {
        moved = fmax(moved, fabs(entries(y)[i] - entries(guess)[i]));
        if (exact) apart = fmax(apart, fabs(entries(y)[i] - entries(exact)[i]));
      }
      ck_assert_double_ge(moved, 0.1);
      ck_assert_double_le(apart, 100 * (pow(10, -digits) + methods[k].tol));
      if (!exact) exact = vector_copy(y);
      N_VDestroy(guess);
      clear();
    }
    N_VDestroy(exact);
  }
}
END_TEST

/* Three parallel cranks with a coupler, or two, turned at random, at the angle theta from their flat position, and turning */
static int two_cranks;
static CPFormulation formulation = CP_ABSOLUTE;
static void cranks(int k, int dimension, double theta, int digits) {
  static const char *const names[] = {"c0", "c1", "c2", "coupler"};
  static const char *const hinge[] = {"g0", "g1", "g2", "p0", "p1", "p2"};
  const double length = 0.6, foot[] = {-0.3, 0.4, 0.9}, rate = -6;
  const double arm[3] = {length * cos(theta), length * sin(theta), 0};
  double e[4], at[6][3], z[3], across[3], g[3];
  seed = (unsigned long long)(7 + k);
  create(dimension);
  any_turn(e);
  if (dimension == 2) {
    const double size = hypot(e[0], e[3]);
    e[0] /= size, e[3] /= size, e[1] = e[2] = 0;
  }
  turn(e, (double[]){0, 0, 1}, z);
  turn(e, (double[]){-rate * arm[1], rate * arm[0], 0}, across);
  turn(e, (double[]){0, 9.81, dimension == 2 ? 0 : 2}, g);
  ck_assert_int_eq(set_gravity(bodies, g), CP_SUCCESS);
  for (int i = 0; i < 6; i++) {
    turn(e, (double[]){foot[i % 3] + (i > 2) * arm[0], (i > 2) * arm[1], 0}, at[i]);
    rounded(digits, 3, at[i]);
  }
  for (int i = 0; i < 4; i++) {
    CPBody body = {CP_NEW_BODY(names[i]), .mass = 1, .inertia = {0.01, 0.01, 0.01}};
    for (int l = 0; l < 3; l++) {
      body.position[l] = i < 3 ? (at[i][l] + at[3 + i][l]) / 2 : at[4][l];
      body.velocity[l] = i < 3 ? across[l] / 2 : across[l];
      body.omega[l]    = i < 3 ? rate * z[l] : 0;
    }
    for (int l = 0; l < 3 && i == 3 && two_cranks; l++)
      body.position[l] = (at[3][l] + at[5][l]) / 2; /* where reactions balance it */
    rounded(digits, 3, body.position);
    if (i != 1 || !two_cranks) ADD(CPBodiesAdd(bodies, &body.head, NULL));
  }
  rounded(digits, 3, z);
  for (int i = 0; i < 6; i++) {
    CPJoint joint = {CP_NEW_JOINT(hinge[i]), .kind = CP_JOINT_REVOLUTE,
                     .a = i < 3 ? NULL : names[i - 3], .b = i < 3 ? names[i] : "coupler",
                     .in = CP_IN_SPACE};
    memcpy(joint.on_a.point, at[i], sizeof at[i]);
    if (dimension == 3) memcpy(joint.on_a.axis, z, sizeof z);
    if (i % 3 != 1 || !two_cranks) ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  }
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, formulation), CP_SUCCESS);
  start();
}

/* Three cranks must be parallelograms of their own to pass the flat position, where all rows that are dependent there
 * have to close. */
START_TEST(three_cranks_with_rounded_data_pass_their_flat_position) {
  static const double from[] = {0.3, 0.02};
  const int dimension        = 2 + _i % 2;
  for (int method = 0; method < METHODS; method++) {
    const int place = (method + _i) % 3;
    if (methods[method].tol > 1e-5) continue;
    sunrealtype t;
    N_Vector exact = NULL;
    for (int digits = EXACT; digits >= 7; digits -= EXACT - 7) {
      cranks(place, dimension, from[_i / 2], digits);
      ck_assert_msg(CPMechAssemble(mech, 0, y, fresh()) == CP_SUCCESS, "%s",
                    CPObjectGetLastMessage(CP_OBJECT(mech)));
      if (digits == 7) ck_assert_mentions(assembly.notes, "redundant but for rounding");
      ck_assert_msg(run_until(method, 0.8, &t) == CP_SUCCESS, "%s, %d, %d digits: %s",
                    methods[method].name, place, digits, messages.text);
      double apart = 0;
      for (int i = 0; i < (dimension == 2 ? 12 : 28) && exact; i++)
        apart = fmax(apart, fabs(entries(y)[i] - entries(exact)[i]));
      /* BDF's errors are up to three times those of Adams at the same tolerance. */
      ck_assert_double_le(apart, 1e-5 + (strcmp(methods[method].name, "BDF") == 0 ? 300 : 100) *
                                            methods[method].tol);
      if (exact) N_VDestroy(exact);
      exact = digits == EXACT ? vector_copy(y) : NULL;
      clear();
    }
  }
}
END_TEST

/* In the flat position itself, or 5e-5 rad beside it, an error of 1e-7 would decide which velocities are possible, and would close
 * the way through the next one: frames are moved so that two branches of motions meet there again. The other branch is 0.1 off; the
 * bound is none on the errors of BDF, up to 1,000 tolerances. */
START_TEST(rounded_parallelograms_leave_their_flat_position_as_exact_ones) {
  static const double from[] = {0, -5e-5}; /* turning away from it */
  const int dimension        = 2 + _i % 2;
  two_cranks                 = 1;
  for (int method = 0; method < METHODS; method++) {
    const int place = (method + _i) % 3;
    if (methods[method].tol > 1e-5) continue;
    sunrealtype t;
    N_Vector exact = NULL;
    for (int digits = EXACT; digits >= 7; digits -= EXACT - 7) {
      cranks(place, dimension, from[_i / 2], digits);
      ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
      if (_i < 2) ck_assert_mentions(assembly.notes, "to first order it has 2 freedoms");
      ck_assert_double_le(assembly.change, 1e-5);
      ck_assert_msg(run_until(method, 0.8, &t) == CP_SUCCESS, "%s, %d, %d digits: %s",
                    methods[method].name, place, digits, messages.text);
      double apart = 0;
      for (int i = 0; i < 3 * (dimension == 2 ? 3 : 7) && exact; i++)
        apart = fmax(apart, fabs(entries(y)[i] - entries(exact)[i]));
      ck_assert_double_le(apart, 1e-2);
      if (exact) N_VDestroy(exact);
      exact = digits == EXACT ? vector_copy(y) : NULL;
      clear();
    }
  }
  two_cranks = 0;
}
END_TEST

/* In coordinates of joints all rows of the loop but one vanish there, up to the errors of the fit, which would give them any direction. Loop
 * index: turn in space. */
START_TEST(joint_coordinates_leave_a_rounded_flat_position_as_an_exact_one) {
  two_cranks  = 1;
  formulation = CP_JOINT_COORDINATES;
  for (int method = 0; method < 4; method += 2) {
    const double tol = methods[method].tol;
    sunrealtype t;
    N_Vector exact = NULL;
    for (int digits = EXACT; digits >= 7; digits -= EXACT - 7) {
      cranks(_i, 3, 0, digits);
      ck_assert_msg(CPMechAssemble(mech, 0, y, fresh()) == CP_SUCCESS, "%d digits: %s", digits,
                    CPObjectGetLastMessage(CP_OBJECT(mech)));
      ck_assert_double_le(assembly.change, 1e-5);
      ck_assert_msg(run_until(method, 0.8, &t) == CP_SUCCESS, "%s, %d digits: %s",
                    methods[method].name, digits, messages.text);
      for (int i = 0; i < 6 && exact; i++)
        ck_assert_double_eq_tol(entries(y)[i], entries(exact)[i], 1e-5 + 100 * tol);
      if (exact) N_VDestroy(exact);
      exact = digits == EXACT ? vector_copy(y) : NULL;
      clear();
    }
  }
  two_cranks  = 0;
  formulation = CP_ABSOLUTE;
}
END_TEST

/* In a session the first step is DOP853's, since BDF and Adams would begin with order one where f grows as the inverse of the distance from
 * the start. */
START_TEST(bdf_and_adams_leave_flat_starts_in_sessions) {
  static const char *const names[] = {"DOP853", "BDF", "ADAMS"};
  two_cranks                       = 1;
  for (int k = 0; k < 6; k++) {
    N_Vector exact = NULL;
    for (int run = 0; run < 5; run++) {
      const double tol = run == 0 ? 1e-10 : run % 2 ? 1e-5 : 1e-8;
      sunrealtype t;
      cranks(k, 2, 0, EXACT);
      ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
      CPSession session = CPSessionCreate(names[(run + 1) / 2], test_context);
      ck_assert_int_eq(CPSessionSetMech(session, mech), CP_SUCCESS);
      ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
      ck_assert_int_eq(CPSessionStart(session, 0, y, 0.8), CP_SUCCESS);
      ck_assert_msg(CPSessionRun(session, 0.8, y, &t) == CP_SUCCESS, "%s, %g, %d: %s",
                    names[(run + 1) / 2], tol, k, CPObjectGetLastMessage(CP_OBJECT(session)));
      for (int i = 0; i < 9 && exact; i++)
        ck_assert_double_le(fabs(entries(y)[i] - entries(exact)[i]), 1000 * tol);
      CPSessionFree(&session);
      if (!exact) exact = vector_copy(y);
      clear();
    }
    N_VDestroy(exact);
  }
  two_cranks = 0;
}
END_TEST

/* A first step of 1e-10 s, after which the angle between constraints is as small, failed from half of such starts. */
START_TEST(bdf_leaves_a_flat_start_in_space) {
  sunrealtype t;
  two_cranks = 1;
  for (int k = 0; k < 10; k++) {
    cranks(k, 3, 0, EXACT);
    ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
    ck_assert_msg(run_until(METHODS - 1, 0.8, &t) == CP_SUCCESS, "%d: %s", k, messages.text);
    clear();
  }
  two_cranks = 0;
}
END_TEST

/* Where a third crank depends on the others only but for rounding, too, and its bearing is not on their line, no frames fit. */
START_TEST(rounded_data_in_a_singular_position_are_refused) {
  for (int k = 0; k < 3; k++) {
    cranks(k, 2 + _i, 0, 7);
    ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_IC_FAIL);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)),
                       "two branches of motions meet there (joints g0, ");
    clear();
    cranks(k, 2 + _i, 0, EXACT);
    ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
    /* although rows are dependent along the motion, too */
    ck_assert_mentions(
        assembly.notes,
        "to first order it has 2 freedoms (joints g0, g1, g2, p0, p1, p2), of which 1 lead");
    clear();
  }
}
END_TEST

/* Gaps of contacts and angles of drives are no misfits of loops. */
START_TEST(what_is_open_elsewhere_does_not_keep_loops_from_fitting) {
  beside_a_gap = 1;
  tilted(_i, 9);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  ck_assert_mentions(assembly.notes, "redundant but for rounding");
  clear();
}
END_TEST

/* Without the offsets the assembled state is open by the rounding. */
START_TEST(offsets_of_an_assembled_mechanism_apply_to_an_equal_one) {
  tilted(_i, 7);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_SUCCESS);
  const int count = assembly.noffsets;
  ck_assert_int_gt(count, 0);
  sunrealtype *offsets = malloc((size_t)count * sizeof *offsets);
  ck_assert_ptr_nonnull(offsets);
  memcpy(offsets, assembly.offsets, (size_t)count * sizeof *offsets);
  N_Vector assembled = vector_copy(y);
  clear();
  tilted(_i, 7);
  N_VScale(1, assembled, y);
  ck_assert_double_ge(open_by(), 1e-9);
  ck_assert_int_eq(
      CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .offsets = offsets}),
      CP_SUCCESS);
  ck_assert_double_le(open_by(), 1e-11);
  N_VDestroy(assembled);
  free(offsets);
  clear();
}
END_TEST

/* With five digits frames would have to be moved by more than rounding may be. */
START_TEST(loops_that_are_redundant_but_for_more_than_rounding_are_refused) {
  tilted(_i, 5);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, fresh()), CP_IC_FAIL);
  const char *said = CPObjectGetLastMessage(CP_OBJECT(mech));
  if (_i == 3) { /* here too few rows are dependent to tell by how much */
    ck_assert_mentions(said, "stays open (by ");
    ck_assert_mentions(said, "; rounding in loops is closed up to ");
  } else {
    ck_assert_mentions(said, "the loop of joints J1, J2, J3, J4");
    ck_assert_mentions(said, "redundant but for more than rounding");
    ck_assert_mentions(said, "would have to be moved by ");
    ck_assert_mentions(said, "the limits are ");
  }
  clear();
}
END_TEST

TEST_SUITE(assembly) {
  Suite *suite = suite_create("bodies/assembly");
  TCase *tc    = tcase_create("assembly");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, joints_turned_by_any_angle_close_with_equal_axes, 0, KINDS);
  tcase_add_test(tc, the_hand_of_an_arm_closes_with_equal_axes);
  tcase_add_test(tc, axes_that_must_be_opposite_are_refused);
  tcase_add_loop_test(tc, rounding_in_a_redundant_loop_becomes_a_reported_offset, 0, 2);
  tcase_add_test(tc, what_misses_by_more_than_rounding_stays_open);
  tcase_add_test(tc, a_drive_that_contradicts_a_joint_is_named);
  tcase_add_test(tc, drives_that_contradict_each_other_are_named);
  tcase_add_test(tc, a_start_velocity_that_joints_change_is_reported);
  tcase_add_test(tc, a_start_velocity_that_no_joint_of_a_tree_has_is_reported);
  tcase_add_test(tc, start_velocities_of_loops_do_not_depend_on_the_formulation);
  tcase_add_test(tc, every_row_has_the_name_of_its_element);
  tcase_add_test(tc, a_row_has_its_direction);
  tcase_add_loop_test(tc, a_start_off_its_joint_names_the_row, 0, 2);
  tcase_add_loop_test(tc, a_drive_that_cannot_pass_a_dead_centre_is_told_as_such, 0, METHODS);
  tcase_add_loop_test(tc, a_drive_that_begins_to_move_a_rigid_structure_is_told_as_held, 0, METHODS);
  tcase_add_loop_test(tc, a_mechanism_that_is_shaky_at_the_start_says_so, 0, METHODS);
  tcase_add_loop_test(tc, a_load_that_a_shaky_mechanism_gets_later_is_told_then, 0, METHODS);
  tcase_add_loop_test(tc, loops_that_are_shaky_on_a_frame_that_moves_say_so, 0, 2);
  tcase_add_test(tc, a_start_where_motions_branch_says_so);
  tcase_add_test(tc, redundant_rows_alone_are_not_singular);
  tcase_add_loop_test(tc, loops_that_are_redundant_but_for_rounding_move_as_exact_ones, 0, LOOPS);
  tcase_add_loop_test(tc, loops_that_are_redundant_but_for_more_than_rounding_are_refused, 0, LOOPS);
  tcase_add_loop_test(tc, three_cranks_with_rounded_data_pass_their_flat_position, 0, 4);
  tcase_add_test(tc, bdf_leaves_a_flat_start_in_space);
  tcase_add_test(tc, bdf_and_adams_leave_flat_starts_in_sessions);
  tcase_add_loop_test(tc, rounded_parallelograms_leave_their_flat_position_as_exact_ones, 0, 4);
  tcase_add_loop_test(tc, joint_coordinates_leave_a_rounded_flat_position_as_an_exact_one, 0, 30);
  tcase_add_loop_test(tc, rounded_data_in_a_singular_position_are_refused, 0, 2);
  tcase_add_loop_test(tc, offsets_of_an_assembled_mechanism_apply_to_an_equal_one, 0, LOOPS);
  tcase_add_loop_test(tc, what_is_open_elsewhere_does_not_keep_loops_from_fitting, 0, LOOPS);
  suite_add_tcase(suite, tc);
  return suite;
}
