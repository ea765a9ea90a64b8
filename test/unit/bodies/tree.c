/* Joint coordinates against absolute ones: reactions at the same states, motions, assemblies, names. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  CPBodies bodies;
  CPMech mech;
  N_Vector y;
} Built;

static void build(Built *b, CPFormulation formulation) {
  b->y = build_as(b->bodies, formulation, &b->mech);
}

static void discard(Built *b) {
  N_VDestroy(b->y);
  CPMechFree(&b->mech);
}

/* The motion of body i: its frame in space, by points, and the velocities of these points */
static void motion_of(const Built *b, int i, const sunrealtype *centre, sunrealtype *x,
                      sunrealtype *v, sunrealtype R[3][3], sunrealtype w[3]) {
  sunrealtype at[3], rate[3], axis_rate[3][3];
  ck_assert_int_eq(body_point(b->mech, i, centre, b->y, x, v), CP_SUCCESS);
  for (int k = 0; k < 3; k++) {
    sunrealtype point[3] = {centre[0], centre[1], centre[2]};
    point[k] += 1;
    ck_assert_int_eq(body_point(b->mech, i, point, b->y, at, rate), CP_SUCCESS);
    for (int l = 0; l < 3; l++) R[k][l] = at[l] - x[l], axis_rate[k][l] = rate[l] - v[l];
  }
  for (int k = 0; k < 3; k++) { /* in the body's axes: w_x = z . y' */
    const int j = (k + 1) % 3, l = (k + 2) % 3;
    w[k] = 0;
    for (int i2 = 0; i2 < 3; i2++) w[k] += R[l][i2] * axis_rate[j][i2];
  }
}

/* Three bodies, of which the joint in question leads from the second one to the third one, or back */
static const sunrealtype centre[3] = {0.1, -0.2, 0.15};

static CPBodies three_bodies(CPJointKind kind, int back) {
  static const char *const names[] = {"one", "two", "three"};
  const sunrealtype g[]            = {0.3, -9.81, 0.7};
  CPBodies b                       = CPBodiesCreate(3, g);
  for (int i = 0; i < 3; i++) {
    const CPBody body = {
        CP_NEW_BODY(names[i]), .mass = 1.3 - 0.2 * i, .inertia = {0.4, 0.5, 0.6, 0.05, -0.04, 0.03},
        .centre = {centre[0], centre[1], centre[2]}, .position = {0.5 + i, 0.4, 0.1 * i}};
    add_element(b, &body.head);
  }
  const CPMarker p = {.point = {0.3, -0.4, 0.2}, .axis = {0.5, 1, 0.3}, .across = {1, -0.2, 0.4}},
                 q = {.point = {-0.2, 0.4, 0.1}, .axis = {0.2, 1, -0.3}, .across = {0.7, 0.2, 0.4}};
  const CPJoint root  = {CP_NEW_JOINT("root"),
                         .kind = CP_JOINT_REVOLUTE,
                         .b    = "one",
                         .in   = CP_IN_BODIES,
                         .on_a = p,
                         .on_b = q},
                knee  = {CP_NEW_JOINT("knee"),
                         .kind = CP_JOINT_CYLINDRICAL,
                         .a    = "one",
                         .b    = "two",
                         .in   = CP_IN_BODIES,
                         .on_a = q,
                         .on_b = p},
                joint = {CP_NEW_JOINT("joint"),
                         .kind = kind,
                         .a    = back ? "three" : "two",
                         .b    = back ? "two" : "three",
                         .in   = CP_IN_BODIES,
                         .on_a = p,
                         .on_b = q};
  add_element(b, &root.head);
  add_element(b, &knee.head);
  add_element(b, &joint.head);
  const CPSpring spring = {CP_NEW_SPRING("spring"),   .a = "one",   .b = "three",
                           .stiffness = 30,           .damping = 2, .free = 0.5,
                           .point_b = {0.3, 0.1, 0.2}},
                 coil   = {CP_NEW_SPRING("coil"), .of = {"root", 0}, .stiffness = 7, .damping = 0.4,
                           .inertance = 0.3};
  const CPForce push    = {CP_NEW_FORCE("push"),      .body = "two",       .in = CP_IN_BODIES,
                           .point = {0.2, 0.1, -0.3}, .force = {3, -2, 1}, .follows = 1};
  add_element(b, &spring.head);
  add_element(b, &coil.head);
  add_element(b, &push.head);
  return b;
}

/* At the same motion of the bodies all joints have the same reactions: so the accelerations agree as well, since bodies obey
 * Newton's and Euler's laws. The absolute formulation has its own tests against closed forms and MuJoCo. */
START_TEST(reactions_are_those_of_absolute_coordinates) {
  static const CPJointKind kinds[] = {CP_JOINT_BALL,        CP_JOINT_REVOLUTE,  CP_JOINT_UNIVERSAL,
                                      CP_JOINT_CYLINDRICAL, CP_JOINT_PRISMATIC, CP_JOINT_PLANAR,
                                      CP_JOINT_FIXED};
  const double bound               = 1e-11; /* of the largest force */
  unsigned long long seed          = 5 + (unsigned long long)_i;
  Built tree                       = {.bodies = three_bodies(kinds[_i / 2], _i % 2)},
        all                        = {.bodies = three_bodies(kinds[_i / 2], _i % 2)};
  build(&tree, CP_JOINT_COORDINATES);
  build(&all, CP_ABSOLUTE);
  ck_assert_int_eq(equations_of(tree.mech).nv, 0);
  random_fill(tree.y, &seed);
  const CPEquations e = equations_of(tree.mech);
  for (int i = 0; i < e.nquaternions; i++) {
    sunrealtype *quaternion = entries(tree.y) + e.quaternions[i].first_q, size = 0;
    for (int k = 0; k < 4; k++) size += quaternion[k] * quaternion[k];
    for (int k = 0; k < 4; k++) quaternion[k] /= sqrt(size);
  }
  for (int i = 0; i < 3; i++) {
    sunrealtype R[3][3], *q = entries(all.y) + 7 * i, *u = entries(all.y) + 21 + 6 * i;
    motion_of(&tree, i, centre, q, u, R, u + 3);
    const sunrealtype s = sqrt(1 + R[0][0] + R[1][1] + R[2][2]) / 2;
    ck_assert(s > 0.01);
    q[3] = s;
    for (int k = 0; k < 3; k++)
      q[4 + k] = (R[(k + 1) % 3][(k + 2) % 3] - R[(k + 2) % 3][(k + 1) % 3]) / (4 * s);
  }
  sunrealtype lambda[20] = {0};
  CPMechOutput out       = {CP_SIZED(CPMechOutput), .lambda = lambda};
  ck_assert_int_eq(CPMechEvaluate(all.mech, 0, all.y, &out), CP_SUCCESS);
  ck_assert_double_le(out.position, 1e-13);
  ck_assert_double_le(out.velocity, 1e-13);
  for (int i = 0; i < 3; i++) {
    sunrealtype F[2][3], T[2][3], size = 0;
    ck_assert_int_eq(CPMechGetReaction(all.mech, i, 0, all.y, lambda, F[0], T[0]), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetReaction(tree.mech, i, 0, tree.y, lambda, F[1], T[1]), CP_SUCCESS);
    for (int k = 0; k < 3; k++) size = fmax(size, fmax(fabs(F[0][k]), fabs(T[0][k])));
    for (int k = 0; k < 3; k++) {
      ck_assert_double_eq_tol(F[0][k], F[1][k], bound * size);
      ck_assert_double_eq_tol(T[0][k], T[1][k], bound * size);
    }
  }
  CPPowers powers[2] = {{CP_SIZED(CPPowers)}, {CP_SIZED(CPPowers)}};
  ck_assert_int_eq(CPMechGetPowers(all.mech, 0, all.y, lambda, &powers[0]), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetPowers(tree.mech, 0, tree.y, NULL, &powers[1]), CP_SUCCESS);
  ck_assert_double_eq_tol(powers[0].kinetic, powers[1].kinetic, 1e-12 * powers[0].kinetic);
  ck_assert_double_eq_tol(powers[0].dissipation, powers[1].dissipation, 1e-12);
  ck_assert_double_eq_tol(powers[0].applied, powers[1].applied, 1e-12);
  discard(&tree);
  discard(&all);
  CPBodiesFree(&tree.bodies);
  CPBodiesFree(&all.bodies);
}
END_TEST

/* Rows of a tree are independent at each position, for which explicit methods need not look. Another joint between two of its
 * bodies closes a loop. */
START_TEST(rows_of_trees_are_regular_and_those_of_loops_are_not) {
  const CPJoint bar = {CP_NEW_JOINT("bar"), .kind = CP_JOINT_BALL, .a = "one", .b = "three"};
  for (int closed = 0; closed < 2; closed++) {
    Built b = {.bodies = three_bodies(CP_JOINT_REVOLUTE, 0)};
    if (closed) add_element(b.bodies, &bar.head);
    build(&b, CP_ABSOLUTE);
    ck_assert_int_eq(equations_of(b.mech).regular, !closed);
    discard(&b);
    CPBodiesFree(&b.bodies);
  }
}
END_TEST

#ifdef CPODES_MECHANISMS_READ
/* Assembly and motion of closed loops: points of all bodies agree to the tolerances of both runs. */
START_TEST(loops_move_as_in_absolute_coordinates) {
  static const char *const files[] = {"four_bar",        "slider_crank", "spatial_crank",
                                      "double_wishbone", "bricard",      "andrews",
                                      "spatial_four_bar"};
  static const sunrealtype point[] = {0.1, 0.2, 0}, t_end[] = {0.3, 0.5, 0.3, 0.3, 0.3, 0.01, 0.5};
  const double bound = 1e-7; /* the tolerance is 1e-10, and errors grow a few hundred times */
  char path[500], message[READ_MESSAGE];
  CPBodiesFile file;
  Built one[2];
  snprintf(path, sizeof path, "%s/%s.yaml", CPODES_MECHANISMS, files[_i]);
  for (int k = 0; k < 2; k++) {
    sunrealtype t;
    one[k].bodies = read_bodies(path, NULL, 0, &file, message);
    ck_assert_msg(one[k].bodies != NULL, "%s", message);
    build(&one[k], (CPFormulation)k);
    CPAssembly assembly = {CP_SIZED(CPAssembly), .held = file.held};
    ck_assert_msg(CPMechAssemble(one[k].mech, 0, one[k].y, &assembly) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(one[k].mech)));
    CPIntegrator mem = CPIntegratorCreate(_i % 2 ? "RADAU" : "DOP853", test_context);
    ck_assert_int_eq(CPMechAttach(one[k].mech, mem, 0, one[k].y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-10, 1e-10), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetStopTime(mem, t_end[_i]), CP_SUCCESS);
    const int flag = CPIntegratorEvolve(mem, t_end[_i], one[k].y, &t, CV_NORMAL);
    ck_assert_msg(flag >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(mem)));
    CPIntegratorFree(&mem);
  }
  ck_assert(N_VGetLength(one[1].y) < N_VGetLength(one[0].y));
  for (int i = 0; i < CPBodiesCount(one[0].bodies, CP_BODY); i++) {
    sunrealtype x[2][3], v[2][3];
    for (int k = 0; k < 2; k++)
      ck_assert_int_eq(body_point(one[k].mech, i, point, one[k].y, x[k], v[k]), CP_SUCCESS);
    for (int k = 0; k < 3; k++) {
      ck_assert_double_eq_tol(x[0][k], x[1][k], bound);
      ck_assert_double_eq_tol(v[0][k], v[1][k], 100 * bound);
    }
  }
  for (int k = 0; k < 2; k++) {
    discard(&one[k]);
    CPBodiesFree(&one[k].bodies);
  }
}
END_TEST
#endif

/* By the Delassus operator and by the KKT system: u' and lambda at random states, where rows are independent and lambda unique,
 * so that it does not matter that loops are open. A redundant pair of rows, twice the same rod, has multipliers of least norm. */
START_TEST(rows_act_as_in_the_kkt_system) {
  static const CPJointKind kinds[]    = {CP_JOINT_BALL, CP_JOINT_REVOLUTE, CP_JOINT_PRISMATIC,
                                         CP_JOINT_PLANAR},
                           closings[] = {CP_JOINT_ROD, CP_JOINT_BALL, CP_JOINT_POINT_ON_LINE};
  const CPJointKind kind = kinds[_i % 4], closing = closings[_i / 4 % 3];
  const int floats        = _i / 12; /* the whole, on a fourth body */
  unsigned long long seed = 3 + (unsigned long long)_i;
  Built tree              = {.bodies = three_bodies(kind, 0)};
  const CPBody base       = {CP_NEW_BODY("base"), .mass = 2, .inertia = {1, 1.5, 2, 0.1, 0.2, 0.3},
                             .position = {0.2, -1, 0.4}};
  const CPMarker p = {.point = {-0.3, 0.4, 0.1}, .axis = {0.5, 0.2, 1}, .across = {1, -0.2, 0.4}},
                 q = {.point = {0.2, 0.1, -0.3}, .axis = {0.2, 1, 0.3}, .across = {0.7, 0.2, 0.4}};
  const CPJoint loop  = {CP_NEW_JOINT("loop"),
                         .kind = closing,
                         .a    = floats ? "base" : "ground",
                         .b    = "three",
                         .in   = CP_IN_BODIES,
                         .on_a = p,
                         .on_b = q},
                rod   = {CP_NEW_JOINT("rod"),
                         .kind = CP_JOINT_ROD,
                         .a    = "one",
                         .b    = "three",
                         .in   = CP_IN_BODIES,
                         .on_a = q,
                         .on_b = p},
                twin  = {CP_NEW_JOINT("twin"),
                         .kind = CP_JOINT_ROD,
                         .a    = "one",
                         .b    = "three",
                         .in   = CP_IN_BODIES,
                         .on_a = q,
                         .on_b = p};
  const CPDrive drive = {CP_NEW_DRIVE("drive"), .of = {"root", 0}, .rate = 2};
  if (floats) {
    const CPJoint hold = {CP_NEW_JOINT("hold"),
                          .kind = CP_JOINT_UNIVERSAL,
                          .a    = "base",
                          .b    = "two",
                          .in   = CP_IN_BODIES,
                          .on_a = q,
                          .on_b = p};
    add_element(tree.bodies, &base.head);
    add_element(tree.bodies, &hold.head);
  }
  add_element(tree.bodies, &loop.head);
  if (closing == CP_JOINT_ROD) {
    add_element(tree.bodies, &rod.head);
    add_element(tree.bodies, &twin.head);
    if (kind == CP_JOINT_BALL) add_element(tree.bodies, &drive.head);
  }
  build(&tree, CP_JOINT_COORDINATES);
  CPEquations e = equations_of(tree.mech);
  ck_assert(e.udot != NULL && e.nv > 0);
  random_fill(tree.y, &seed);
  sunrealtype udot[30], lambda[30], own[30] = {0}, alone[30], largest = 0, most = 0;
  void *data;
  ck_assert_int_eq(e.new_data(e.model_data, test_context, &data), 0);
  const sunrealtype *at = entries(tree.y);
  const char off[30]    = {0};
  ck_assert_int_eq(e.use_rows(off, data), 0);
  const int flag = e.udot(0, at, at + e.nq, NULL, alone, own, data);
  e.free_data(data);
  const int held = closing == CP_JOINT_BALL && !floats &&
                   (kind == CP_JOINT_REVOLUTE || kind == CP_JOINT_PRISMATIC);
  ck_assert_int_eq(flag, held); /* all axes are one: left to the KKT system */
  if (!held) ck_assert_int_eq(CPMechAccelerations(tree.mech, 0, tree.y, udot, lambda), CP_SUCCESS);
  if (held) e.nu = e.na = 0;
  for (int k = 0; k < e.nu; k++) largest = fmax(largest, fabs(udot[k]));
  for (int k = 0; k < e.na; k++) most = fmax(most, fabs(lambda[k]));
  for (int k = 0; k < e.nu; k++) ck_assert_double_eq_tol(udot[k], alone[k], 1e-10 * largest);
  for (int k = 0; k < e.na; k++) ck_assert_double_eq_tol(lambda[k], own[k], 1e-10 * most);
  discard(&tree);
  CPBodiesFree(&tree.bodies);
}
END_TEST

/* Rows of a planar loop across its plane have gradients of roundoff, which give them no direction: whatever the plane is, a
 * four-bar in space starts where it is placed, and two of five rows are independent. */
START_TEST(planar_loops_may_lie_in_any_plane) {
  static const sunrealtype corner[4][2] = {{0, 0}, {0.1, 0.3}, {0.5, 0.35}, {0.4, 0}};
  static const char *const names[]      = {"ground", "crank", "coupler", "rocker", "ground"};
  const sunrealtype a = 0.3 + 0.7 * _i, b = 1.1 - 0.4 * _i, g[] = {0, 0, -9.81};
  const sunrealtype u[] = {cos(a), sin(a), 0}, v[] = {-sin(a) * cos(b), cos(a) * cos(b), sin(b)},
                    n[] = {sin(a) * sin(b), -cos(a) * sin(b), cos(b)};
  Built one             = {.bodies = CPBodiesCreate(3, g)};
  sunrealtype at[4][3];
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 3; k++) at[i][k] = corner[i][0] * u[k] + corner[i][1] * v[k];
  for (int i = 0; i < 3; i++) {
    CPBody body = {CP_NEW_BODY(names[i + 1]), .mass = 1, .inertia = {0.01, 0.01, 0.01}};
    for (int k = 0; k < 3; k++) body.position[k] = (at[i][k] + at[i + 1][k]) / 2;
    add_element(one.bodies, &body.head);
  }
  for (int i = 0; i < 4; i++) {
    char name[10];
    snprintf(name, sizeof name, "pin%d", i);
    const CPMarker pin  = {.point = {at[i][0], at[i][1], at[i][2]}, .axis = {n[0], n[1], n[2]}};
    const CPJoint joint = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE,
                           .a = i == 3 ? "ground" : names[i], .b = names[i == 3 ? 3 : i + 1],
                           .on_a = pin};
    add_element(one.bodies, &joint.head);
  }
  build(&one, CP_JOINT_COORDINATES);
  ck_assert_int_eq(equations_of(one.mech).nv, 5);
  ck_assert_msg(CPMechAssemble(one.mech, 0, one.y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(one.mech)));
  CPMechOutput out = {CP_SIZED(CPMechOutput)};
  ck_assert_int_eq(CPMechEvaluate(one.mech, 0, one.y, &out), CP_SUCCESS);
  ck_assert_int_eq(out.rank, 2);
  discard(&one);
  CPBodiesFree(&one.bodies);
}
END_TEST

/* A four-bar of a body that floats, whose last pin is a ball. The row across its plane depends on the others: if that is tilted from an
 * axis of space by theta, its gradient is theta times theirs, with an angle of roundoff over theta to them, which must not
 * count, neither where it starts nor as it tumbles. */
START_TEST(planar_loops_may_be_nearly_across_an_axis) {
  static const sunrealtype corner[4][2] = {{0, 0}, {0, 0.2}, {0.4, 0.2}, {0.4, 0}};
  static const char *const names[]      = {"base", "crank", "coupler", "rocker", "base"};
  static const sunrealtype rtols[]      = {1e-3, 1e-6, 1e-9};
  const sunrealtype theta = _i ? pow(10, -_i) : 0, g[] = {0, 0, -9.81};
  const sunrealtype v[] = {0, -sin(theta), cos(theta)}, n[] = {0, cos(theta), sin(theta)};
  Built one = {.bodies = CPBodiesCreate(3, g)};
  for (int i = 0; i < 4; i++) {
    CPBody body = {CP_NEW_BODY(names[i]), .mass = i ? 0.4 : 3, .inertia = {0.002, 0.003, 0.004}};
    const sunrealtype *from = corner[i ? i - 1 : 0], *to = corner[i];
    for (int k = 0; k < 3; k++)
      body.position[k] =
          (from[0] + to[0]) / 2 * (k == 0) + (from[1] + to[1]) / 2 * v[k] + 0.05 * n[k];
    if (i == 1) body.omega[0] = 0.3 * n[0], body.omega[1] = 0.3 * n[1], body.omega[2] = 0.3 * n[2];
    if (i == 0) memset(body.position, 0, sizeof body.position);
    add_element(one.bodies, &body.head);
  }
  for (int i = 0; i < 4;
       i++) { /* base and crank, crank and coupler, base and rocker, coupler and rocker */
    static const int from[] = {0, 1, 0, 2}, to[] = {1, 2, 3, 3}, at[] = {0, 1, 3, 2};
    char name[10];
    snprintf(name, sizeof name, "pin%d", i);
    CPMarker pin = {.axis = {n[0], n[1], n[2]}};
    for (int k = 0; k < 3; k++)
      pin.point[k] = corner[at[i]][0] * (k == 0) + corner[at[i]][1] * v[k] + 0.05 * n[k];
    const CPJoint joint = {CP_NEW_JOINT(name), .kind = i == 3 ? CP_JOINT_BALL : CP_JOINT_REVOLUTE,
                           .a = names[from[i]], .b = names[to[i]], .on_a = pin};
    add_element(one.bodies, &joint.head);
  }
  build(&one, CP_JOINT_COORDINATES);
  ck_assert_msg(CPMechAssemble(one.mech, 0, one.y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(one.mech)));
  CPMechOutput out = {CP_SIZED(CPMechOutput)};
  ck_assert_int_eq(CPMechEvaluate(one.mech, 0, one.y, &out), CP_SUCCESS);
  ck_assert_int_eq(out.rank, 2);
  for (int k = 0; k < 3; k++) {
    N_Vector y          = N_VClone(one.y);
    CPIntegrator dop853 = CPIntegratorCreate("DOP853", test_context);
    sunrealtype t;
    N_VScale(1, one.y, y);
    ck_assert_int_eq(CPMechAttach(one.mech, dop853, 0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(dop853, rtols[k], rtols[k]), CP_SUCCESS);
    for (int stop = 1; stop <= 100; stop++)
      ck_assert_msg(CPIntegratorEvolve(dop853, 0.003 * stop, y, &t, CV_NORMAL) == CP_SUCCESS,
                    "theta %g, rtol %g: %s", (double)theta, (double)rtols[k],
                    CPObjectGetLastMessage(CP_OBJECT(dop853)));
    CPIntegratorFree(&dop853);
    N_VDestroy(y);
  }
  discard(&one);
  CPBodiesFree(&one.bodies);
}
END_TEST

/* Three links in line between two points of a hub, in the plane. As they turn with it, nothing accelerates them but towards its axis:
 * u' = 0. What their dependent rows ask for is the roundoff of centripetal accelerations, which contradicts nothing. */
START_TEST(links_in_line_on_a_hub_turn_with_it) {
  static const char *const names[] = {"hub", "one", "two", "three", "hub"};
  const sunrealtype rate = 0.1 + 0.7 * _i, g[] = {0, 0, 0};
  Built tree = {.bodies = CPBodiesCreate(2, g)};
  for (int i = 0; i < 4; i++) {
    const sunrealtype x = i == 0 ? 0 : i - 0.5;
    const CPBody body   = {CP_NEW_BODY(names[i]),        .mass = 1,
                           .inertia = {0, 0, 0.1},       .position = {x},
                           .velocity = {0, rate * x, 0}, .omega = {0, 0, rate}};
    add_element(tree.bodies, &body.head);
  }
  const CPJoint axle = {CP_NEW_JOINT("axle"), .kind = CP_JOINT_REVOLUTE, .b = "hub"};
  add_element(tree.bodies, &axle.head);
  for (int i = 0; i < 4; i++) {
    char name[10];
    snprintf(name, sizeof name, "pin%d", i);
    const CPJoint joint = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE, .a = names[i],
                           .b = names[i + 1], .on_a = {.point = {i}}};
    add_element(tree.bodies, &joint.head);
  }
  build(&tree, CP_JOINT_COORDINATES);
  ck_assert_msg(CPMechAssemble(tree.mech, 0, tree.y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(tree.mech)));
  sunrealtype udot[4];
  ck_assert_int_eq(equations_of(tree.mech).nu, 4);
  ck_assert_msg(CPMechAccelerations(tree.mech, 0, tree.y, udot, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(tree.mech)));
  for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(udot[i], 0, 1e-13 * rate * rate);
  discard(&tree);
  CPBodiesFree(&tree.bodies);
}
END_TEST

/* Parallelograms of two and of three cranks start flat, from a joint's zero, and turn without load: by the balance of energy at the rate
 * with which they start. Close to the start, roundoff of poses over the sine of the rows must not lead into the
 * antiparallelogram, which is 0.1 off. The bound of 1e-3 tells these apart; it is none on the error of BDF, which is up to 250
 * tolerances here. */
static void cranks(Built *b, CPFormulation formulation, int count, sunrealtype phi) {
  static const char *const names[] = {"crank0", "crank1", "crank2", "coupler"};
  const sunrealtype c = cos(phi), s = sin(phi), g[] = {0, 0, 0};
  b->bodies = CPBodiesCreate(2, g);
  for (int i = 0; i <= count; i++) {
    const sunrealtype x = i < count ? 0.25 + (sunrealtype)i / (count - 1) : 1,
                      v = i < count ? 0.25 : 0.5;
    const CPBody body   = {CP_NEW_BODY(names[i < count ? i : 3]),
                           .mass     = 1,
                           .inertia  = {0, 0, 0.1},
                           .position = {c * x, s * x},
                           .velocity = {-s * v, c * v},
                           .omega    = {0, 0, i < count}};
    add_element(b->bodies, &body.head);
  }
  for (int i = 0; i < 2 * count; i++) {
    const sunrealtype x = (sunrealtype)(i / 2) / (count - 1) + 0.5 * (i % 2);
    char name[10];
    snprintf(name, sizeof name, "pin%d", i);
    const CPJoint pin = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE,
                         .a = i % 2 ? names[i / 2] : NULL, .b = i % 2 ? "coupler" : names[i / 2],
                         .on_a = {.point = {c * x, s * x}}};
    add_element(b->bodies, &pin.head);
  }
  build(b, formulation);
}

START_TEST(parallelograms_leave_their_flat_position_as_such) {
  static const CPFormulation formulations[] = {CP_JOINT_COORDINATES, CP_ABSOLUTE};
  const sunrealtype tol = 1e-6, origin[3] = {0, 0, 0}, phi = 0.3 + 0.37 * (_i / 4), end = 1;
  const int count = 2 + _i % 2;
  sunrealtype t, x[3];
  Built b;
  cranks(&b, formulations[_i / 2 % 2], count, phi);
  CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
  ck_assert_ptr_nonnull(mem);
  ck_assert_int_eq(CPMechAssemble(b.mech, 0, b.y, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(b.mech, mem, 0, b.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_msg(CPIntegratorEvolve(mem, end, b.y, &t, CV_NORMAL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mem)));
  for (int i = 0; i <= count; i++) {
    const sunrealtype foot = i < count ? (sunrealtype)i / (count - 1) : 0.5,
                      r    = i < count ? 0.25 : 0.5;
    ck_assert_int_eq(body_point(b.mech, i, origin, b.y, x, NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(x[0], foot * cos(phi) + r * cos(phi + end), 1000 * tol);
    ck_assert_double_eq_tol(x[1], foot * sin(phi) + r * sin(phi + end), 1000 * tol);
  }
  CPIntegratorFree(&mem);
  discard(&b);
  CPBodiesFree(&b.bodies);
}
END_TEST

/* Three links in line between two points of the ground bear a load along them: they remain at rest. Its moments cancel in f but for
 * roundoff, which is no load across them. */
START_TEST(links_in_line_bear_a_load_along_them) {
  static const char *const names[] = {NULL, "one", "two", "three", NULL};
  const sunrealtype phi = 0.3 + 0.37 * _i, c = cos(phi), s = sin(phi), g[] = {9.81 * c, 9.81 * s, 0};
  const sunrealtype origin[3] = {0, 0, 0};
  sunrealtype t, x[3];
  Built tree = {.bodies = CPBodiesCreate(2, g)};
  for (int i = 1; i < 4; i++) {
    const CPBody body = {CP_NEW_BODY(names[i]), .mass = 1, .inertia = {0, 0, 0.1},
                         .position = {c * (i - 0.5), s * (i - 0.5)}};
    add_element(tree.bodies, &body.head);
  }
  for (int i = 0; i < 4; i++) {
    char name[10];
    snprintf(name, sizeof name, "pin%d", i);
    const CPJoint pin = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE, .a = i < 3 ? names[i] : NULL,
                         .b = i < 3 ? names[i + 1] : "three", .on_a = {.point = {c * i, s * i}}};
    add_element(tree.bodies, &pin.head);
  }
  build(&tree, CP_JOINT_COORDINATES);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_ptr_nonnull(mem);
  ck_assert_int_eq(CPMechAssemble(tree.mech, 0, tree.y, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(tree.mech, mem, 0, tree.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
  ck_assert_msg(CPIntegratorEvolve(mem, 1, tree.y, &t, CV_ONE_STEP) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mem)));
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(body_point(tree.mech, i, origin, tree.y, x, NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(x[0], c * (i + 0.5), 1e-5);
    ck_assert_double_eq_tol(x[1], s * (i + 0.5), 1e-5);
  }
  CPIntegratorFree(&mem);
  discard(&tree);
  CPBodiesFree(&tree.bodies);
}
END_TEST

/* Names lead back to their components, whose kinds are in order. */
START_TEST(every_component_has_a_name) {
  Built b = {.bodies = three_bodies((CPJointKind)_i, 0)};
  build(&b, CP_JOINT_COORDINATES);
  const int n = CPBodiesCount(b.bodies, CP_STATE);
  int kind    = 0;
  ck_assert_int_eq(N_VGetLength(b.y), n);
  for (int i = 0; i < n; i++) {
    const CPDescription d = thing_at(b.bodies, CP_STATE, i);
    char name[200];
    ck_assert(d.kind >= kind && *d.unit && *d.meaning);
    kind = d.kind;
    snprintf(name, sizeof name, "%s", d.name);
    ck_assert_int_eq(thing_named(b.bodies, CP_STATE, name), i);
  }
  const CPEquations e = equations_of(b.mech);
  void *data;
  ck_assert_int_eq(CPMechGetData(b.mech, &data), CP_SUCCESS);
  for (int i = 0; i < e.nu; i++) { /* also that to which a velocity belongs, in messages */
    char name[256] = "";
    e.row_name(CP_NAME_VELOCITY, i, 0, name, sizeof name, data);
    ck_assert(!strncmp(name, i ? "joint \"" : "joint \"root\"", 7) || !strncmp(name, "body \"", 6));
  }
  ck_assert_int_eq(thing_named(b.bodies, CP_STATE, "root.angle"), 0);
  ck_assert_int_eq(thing_named(b.bodies, CP_STATE, "one.x"), CP_ILL_INPUT);
  discard(&b);
  CPBodiesFree(&b.bodies);
}
END_TEST

/* Two turns of a hinge with a spring: x'' = -k x / J, exactly, with x counting turns. */
START_TEST(springs_count_turns) {
  const sunrealtype k = 3, J = 0.5, start = 4 * acos(-1.0), t_end = 2;
  CPBodies b          = CPBodiesCreate(3, NULL);
  const CPBody disc   = {CP_NEW_BODY("disc"), .mass = 1, .inertia = {J, J, J}};
  const CPJoint pin   = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "disc"};
  const CPSpring coil = {CP_NEW_SPRING("coil"), .of = {"pin", 0}, .stiffness = k};
  sunrealtype t;
  add_element(b, &disc.head);
  add_element(b, &pin.head);
  add_element(b, &coil.head);
  Built one = {.bodies = b};
  build(&one, CP_JOINT_COORDINATES);
  entries(one.y)[0] = start;
  CPIntegrator mem  = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechAttach(one.mech, mem, 0, one.y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-12, 1e-12), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetStopTime(mem, t_end), CP_SUCCESS);
  ck_assert(CPIntegratorEvolve(mem, t_end, one.y, &t, CV_NORMAL) >= 0);
  ck_assert_double_eq_tol(entries(one.y)[0], start * cos(sqrt(k / J) * t_end), 1e-9);
  CPIntegratorFree(&mem);
  discard(&one);
  CPBodiesFree(&b);
}
END_TEST

/* A body that is welded to the ground has no velocities: it keeps its absolute coordinates. */
START_TEST(what_cannot_move_stays_in_absolute_coordinates) {
  CPBodies b         = CPBodiesCreate(3, NULL);
  const CPBody block = {CP_NEW_BODY("block"), .mass = 1, .inertia = {1, 1, 1}};
  const CPJoint weld = {CP_NEW_JOINT("weld"), .kind = CP_JOINT_FIXED, .b = "block"};
  add_element(b, &block.head);
  add_element(b, &weld.head);
  Built one = {.bodies = b};
  build(&one, CP_JOINT_COORDINATES);
  ck_assert_int_eq(N_VGetLength(one.y), 13);
  ck_assert_int_eq(CPBodiesSetFormulation(b, (CPFormulation)2), CP_ILL_INPUT);
  ck_assert_int_eq(CPBodiesSetFormulation(NULL, CP_ABSOLUTE), CP_MEM_NULL);
  discard(&one);
  CPBodiesFree(&b);
}
END_TEST

/* Released at rest along a straight line: angular accelerations of links are sums of those in the hinges. */
START_TEST(long_chains_need_no_matrices) {
  enum { LINKS = 300 };
  const sunrealtype g[] = {1, 0, -9.81};
  Built one[2];
  static sunrealtype udot[2][6 * LINKS];
  for (int k = 0; k < 2; k++) {
    char link[20], last[20] = "ground", joint[20];
    one[k].bodies = CPBodiesCreate(3, g);
    for (int i = 0; i < LINKS; i++) {
      snprintf(link, sizeof link, "link%d", i);
      snprintf(joint, sizeof joint, "joint%d", i);
      const CPBody rod    = {CP_NEW_BODY(link), .mass = 1, .inertia = {0.01, 0.01, 0.002},
                             .position = {0, 0, -0.2 * i - 0.1}};
      const CPJoint hinge = {CP_NEW_JOINT(joint), .kind = CP_JOINT_REVOLUTE, .a = last, .b = link,
                             .on_a = {.point = {0, 0, -0.2 * i}, .axis = {0, 1, 0}}};
      add_element(one[k].bodies, &rod.head);
      add_element(one[k].bodies, &hinge.head);
      snprintf(last, sizeof last, "%s", link);
    }
    build(&one[k], (CPFormulation)k);
    CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot[k]};
    ck_assert_int_eq(CPMechEvaluate(one[k].mech, 0, one[k].y, &out), CP_SUCCESS);
  }
  ck_assert(equations_of(one[1].mech).M == NULL);
  ck_assert_int_eq(N_VGetLength(one[1].y), 2 * LINKS);
  sunrealtype sum = 0, largest = 0;
  for (int i = 0; i < LINKS; i++) largest = fmax(largest, fabs(udot[0][6 * i + 4]));
  ck_assert(largest > 1);
  for (int i = 0; i < LINKS; i++) {
    sum += udot[1][i];
    ck_assert_double_eq_tol(sum, udot[0][6 * i + 4], 1e-11 * largest);
  }
  for (int k = 0; k < 2; k++) {
    discard(&one[k]);
    CPBodiesFree(&one[k].bodies);
  }
}
END_TEST

/* A point at distance 1 from a hinge is at (cos x, sin x), whatever x is: about multiples of pi/2, after many turns, and beyond all
 * counting. Both are functions of the library here; in the tree they are series. */
START_TEST(angles_have_their_sines_and_cosines) {
  const sunrealtype arm[] = {1, 0, 0}, quarter = acos(SUN_RCONST(0.0)),
                    beyond[] = {1e5, 1.5 * 1048576, 1.6e6, 1e9, 1e15};
  const CPBody disc          = {CP_NEW_BODY("disc"), .mass = 1, .inertia = {1, 1, 1}};
  const CPJoint pin          = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "disc"};
  Built one                  = {.bodies = CPBodiesCreate(3, NULL)};
  add_element(one.bodies, &disc.head);
  add_element(one.bodies, &pin.head);
  build(&one, CP_JOINT_COORDINATES);
  for (int i = -400; i <= 400; i++)
    for (int k = 0; k < 8; k++) {
      const sunrealtype x = k < 2   ? i * quarter / (k ? 1 : 16)
                            : k < 3 ? (i + 0.5) * quarter * (1 + 3 * DBL_EPSILON)
                                    : (i < 0 ? -1 : 1) * beyond[k - 3] + i;
      sunrealtype at[3];
      entries(one.y)[0] = x;
      ck_assert_int_eq(body_point(one.mech, 0, arm, one.y, at, NULL), CP_SUCCESS);
      ck_assert_msg(fabs(at[0] - cos(x)) <= 2 * DBL_EPSILON &&
                        fabs(at[1] - sin(x)) <= 2 * DBL_EPSILON,
                    "x = %.17g: %.17g, %.17g", (double)x, (double)at[0], (double)at[1]);
    }
  discard(&one);
  CPBodiesFree(&one.bodies);
}
END_TEST

static void accelerations_of(const Built *b, sunrealtype *udot) {
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = udot};
  ck_assert_int_eq(CPMechEvaluate(b->mech, 0, b->y, &out), CP_SUCCESS);
}

/* Any number of the bodies and of a spring on a coordinate may change between two evaluations at one state, and change back. */
START_TEST(numbers_may_change_at_any_time) {
  static const char *const names[] = {"one.mass",     "two.J_xy",  "three.J_zz", "coil.stiffness",
                                      "coil.damping", "coil.free", "coil.force", "coil.inertance"};
  sunrealtype *value[2], udot[3][8];
  Built b[2];
  for (int k = 0; k < 2; k++) {
    b[k].bodies = three_bodies(CP_JOINT_UNIVERSAL, 0);
    build(&b[k], CP_JOINT_COORDINATES);
    ck_assert_int_eq(CPMechGetParameters(b[k].mech, &value[k], NULL), CP_SUCCESS);
    const int n = (int)N_VGetLength(b[k].y);
    for (int i = 0; i < n; i++) entries(b[k].y)[i] += 0.3 * sin(3 * i + 1.0);
  }
  const int at = thing_named(b[0].bodies, CP_PARAMETER, names[_i]);
  ck_assert_int_ge(at, 0);
  value[1][at] += 0.11; /* before its first evaluation */
  accelerations_of(&b[0], udot[0]);
  accelerations_of(&b[1], udot[1]);
  ck_assert(memcmp(udot[0], udot[1], 5 * sizeof udot[0][0]) != 0);
  for (int k = 0; k < 2; k++) {
    value[0][at] = value[1][at] - 0.11 * k;
    accelerations_of(&b[0], udot[2]);
    for (int i = 0; i < 5; i++)
      ck_assert_double_eq_tol(udot[2][i], udot[!k][i], 1e-12 * (1 + fabs(udot[!k][i])));
  }
  for (int k = 0; k < 2; k++) {
    discard(&b[k]);
    CPBodiesFree(&b[k].bodies);
  }
}
END_TEST

TEST_SUITE(tree) {
  Suite *suite = suite_create("bodies/tree");
  TCase *tc    = tcase_create("tree");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, reactions_are_those_of_absolute_coordinates, 0, 14);
#ifdef CPODES_MECHANISMS_READ
  tcase_add_loop_test(tc, loops_move_as_in_absolute_coordinates, 0, 7);
#endif
  tcase_add_loop_test(tc, rows_act_as_in_the_kkt_system, 0, 24);
  tcase_add_loop_test(tc, planar_loops_may_lie_in_any_plane, 0, 8);
  tcase_add_loop_test(tc, planar_loops_may_be_nearly_across_an_axis, 0, 17);
  tcase_add_loop_test(tc, links_in_line_on_a_hub_turn_with_it, 0, 8);
  tcase_add_loop_test(tc, parallelograms_leave_their_flat_position_as_such, 0, 16);
  tcase_add_loop_test(tc, links_in_line_bear_a_load_along_them, 0, 6);
  tcase_add_loop_test(tc, every_component_has_a_name, 0, CP_JOINT_FIXED + 1);
  tcase_add_test(tc, rows_of_trees_are_regular_and_those_of_loops_are_not);
  tcase_add_test(tc, springs_count_turns);
  tcase_add_test(tc, angles_have_their_sines_and_cosines);
  tcase_add_loop_test(tc, numbers_may_change_at_any_time, 0, 8);
  tcase_add_test(tc, long_chains_need_no_matrices);
  tcase_add_test(tc, what_cannot_move_stays_in_absolute_coordinates);
  suite_add_tcase(suite, tc);
  return suite;
}
