/* Couplers of several coordinates and by functions, from files, against closed forms. */
#include "reading.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>

#include <math.h>

static CPBodies bodies;
static CPMech mech;
static N_Vector y;
static MessageLog log_;

static void open_as(const char *name, const char *text, CPFormulation formulation) {
  bodies = read_as(name, text, strlen(text));
  ck_assert_msg(bodies != NULL, "%s", message);
  y = build_as(bodies, formulation, &mech);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log_), CP_SUCCESS);
  ck_assert_msg(CPMechAssemble(mech, 0, y, NULL) == CP_SUCCESS, "%s", log_.text);
}

static void release(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

static sunrealtype quantity(const char *name, sunrealtype t) {
  return quantity_at(mech, name, t, y, 0);
}

static const char *const methods[] = {"DOP853", "RADAU"};
static const double tols[]         = {1e-4, 1e-6, 1e-9};
enum { NMETHODS = 2, NTOLS = 3, FORMULATIONS = 2 };

/* x_1 + x_2 = 2 x_3: with the torque T on the cage and the inertias J_i the row has the multiplier
 * l = (2 T / J_3) / (1/J_1 + 1/J_2 + 4/J_3), and x_1'' = l / J_1, x_2'' = l / J_2. */
START_TEST(a_differential_shares_its_torque) {
  static const char text[] = "dimension: 3\n"
                             "bodies:\n"
                             "  - {name: left, mass: 1, inertia: [1, 1, 0.2]}\n"
                             "  - {name: right, mass: 1, inertia: [1, 1, 0.5]}\n"
                             "  - {name: cage, mass: 1, inertia: [1, 1, 0.9]}\n"
                             "joints:\n"
                             "  - {name: l, kind: revolute, b: left}\n"
                             "  - {name: r, kind: revolute, b: right}\n"
                             "  - {name: c, kind: revolute, b: cage}\n"
                             "couplers: [{name: gear, of: [l, r, c], ratio: [1, 1, -2]}]\n"
                             "springs: [{name: motor, of: c, force: 3}]\n";
  const int tol_at         = _i / NMETHODS % NTOLS;
  open_as("differential.yaml", text, (CPFormulation)(_i / NMETHODS / NTOLS));
  const sunrealtype T = 3, J[] = {0.2, 0.5, 0.9}, t = 1.1, tol = tols[tol_at],
                    l = 2 * T / J[2] / (1 / J[0] + 1 / J[1] + 4 / J[2]);
  evolve_mech(mech, y, methods[_i % NMETHODS], tol, t);
  const sunrealtype rates[]        = {l / J[0] * t, l / J[1] * t, (T - 2 * l) / J[2] * t};
  static const char *const names[] = {"l.rate", "r.rate", "c.rate"};
  for (int k = 0; k < 3; k++)
    ck_assert_double_eq_tol(quantity(names[k], t), rates[k], 10 * tol * (1 + fabs(rates[k])));
  ck_assert_double_eq_tol(fabs(quantity("gear.torque", t)), l, 10 * tol * (1 + l));
  release();
}
END_TEST

/* The shaft turns at w: x = e (1 - cos(w t + 0.3)), and the force of the cam is m x'' + k x */
START_TEST(a_cam_moves_its_follower_by_its_lift) {
  static const char text[] =
      "dimension: 2\n"
      "bodies:\n"
      "  - {name: shaft, mass: 1, inertia: 0.1}\n"
      "  - {name: follower, mass: 2, inertia: 0.1}\n"
      "joints:\n"
      "  - {name: turn, kind: revolute, b: shaft}\n"
      "  - {name: lift, kind: prismatic, b: follower, axis: [0, 1]}\n"
      "couplers:\n"
      "  - {name: cam, of: [lift, turn], ratio: [1, -1], function: 20 mm*(1 - cos(x))}\n"
      "drives: [{name: motor, of: turn, start: 0.3, rate: 7}]\n"
      "springs: [{name: spring, of: lift, stiffness: 50}]\n";
  const int tol_at = _i / NMETHODS % NTOLS;
  open_as("cam.yaml", text, (CPFormulation)(_i / NMETHODS / NTOLS));
  const sunrealtype t = 2.3, tol = tols[tol_at], e = 0.02, w = 7, a = w * t + 0.3,
                    x = e * (1 - cos(a)), acc = e * w * w * cos(a);
  evolve_mech(mech, y, methods[_i % NMETHODS], tol, t);
  ck_assert_double_eq_tol(quantity("lift.displacement", t), x, 10 * tol);
  ck_assert_double_eq_tol(quantity("lift.rate", t), e * w * sin(a), 10 * tol);
  ck_assert_double_eq_tol(quantity("cam.force", t), 2 * acc + 50 * x, 10 * tol * 50);
  release();
}
END_TEST

/* joint1 - ref1 = P(joint2 - ref2): at the assembly and along the motion, with turns that joint2 counts */
START_TEST(polynomials_of_equalities_hold_beyond_a_turn) {
  static const char text[] =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody><body><joint name=\"j\" axis=\"0 0 1\" "
      "ref=\"20\"/>"
      "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/></body>"
      "<body><joint name=\"s\" type=\"slide\" ref=\"0.1\"/>"
      "<inertial pos=\"0 0 0\" mass=\"2\" diaginertia=\"1 1 1\"/></body></worldbody>"
      "<equality><joint joint1=\"s\" joint2=\"j\" polycoef=\"0.02 0.1 -0.03 0.004 "
      "-0.0005\"/></equality>"
      "</mujoco>";
  const sunrealtype degree = acos(-1.0) / 180, ref = 20 * degree;
  sunrealtype rate;
  open_as("cam.xml", text, CP_JOINT_COORDINATES);
  const int j = thing_named(bodies, CP_STATE, "j.angle'");
  ck_assert_int_ge(j, 0);
  N_VGetArrayPointer(y)[j] = 5;
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
  const sunrealtype s0 = quantity("s.rate", 0), j0 = N_VGetArrayPointer(y)[j],
                    energy = j0 * j0 + 2 * s0 * s0;
  evolve_mech(mech, y, "DOP853", 1e-9, 3);
  const sunrealtype angle = N_VGetArrayPointer(y)[thing_named(bodies, CP_STATE, "j.angle")],
                    x = angle - ref, P = 0.02 + x * (0.1 + x * (-0.03 + x * (0.004 - x * 0.0005))),
                    slope = 0.1 + x * (-0.06 + x * (0.012 - x * 0.002));
  ck_assert_double_gt(fabs(x), 7); /* more than a turn */
  ck_assert_double_eq_tol(quantity("s.displacement", 3), 0.1 + P, 1e-8 * (1 + fabs(P)));
  rate = N_VGetArrayPointer(y)[j];
  ck_assert_double_eq_tol(quantity("s.rate", 3), slope * rate, 1e-8 * (1 + fabs(slope * rate)));
  /* no force does work: 1/2 (1 + 2 P'^2) j'^2 is as at the start */
  ck_assert_double_eq_tol((1 + 2 * slope * slope) * rate * rate, energy, 1e-7 * energy);
  release();
}
END_TEST

static const struct {
  const char *keys, *rule;
} wrong[] = {{"of: [a, b, c], ratio: [1, 2]", "ratio must have as many numbers"},
             {"of: [a, b, a], ratio: [1, 2, 3]", "g: all coordinates must differ"},
             {"of: [a, b, c], ratio: [1, 2, 0]", "g: ratios must not be 0"},
             {"of: [a, b], ratio: [1, 0.5]", "g: ratios of angles must be whole numbers"},
             {"of: [a, b], ratio: [1, 1], function: 2*t", "\"t\""},
             {"of: [a, b], ratio: [1, 1], function: 2", "function must depend on x"}};

START_TEST(wrong_couplers_are_refused_by_name) {
  char text[1000];
  snprintf(text, sizeof text,
           "bodies:\n  - {name: p, mass: 1, inertia: [1, 1, 1]}\n"
           "  - {name: q, mass: 1, inertia: [1, 1, 1]}\n"
           "  - {name: s, mass: 1, inertia: [1, 1, 1]}\n"
           "joints:\n  - {name: a, kind: revolute, b: p}\n  - {name: b, kind: revolute, b: q}\n"
           "  - {name: c, kind: revolute, b: s}\ncouplers: [{name: g, %s}]\n",
           wrong[_i].keys);
  assert_refused(read_as("my.yaml", text, strlen(text)), "my.yaml:9:", wrong[_i].rule);
}
END_TEST

/* A tendon over two sliders: x = 2 x_1 - 3 x_2 with the stiffness k moves x_1 by -2 T, x_2 by 3 T for T = k x, masses m_1, m_2:
 * x'' = -(4 k / m_1 + 9 k / m_2) x; and along two points of one line, the length of both parts */
START_TEST(tendons_of_files_vibrate_about_their_rest) {
  static const char text[] =
      "dimension: 2\n"
      "bodies:\n  - {name: p, mass: 2, inertia: 1}\n  - {name: q, mass: 3, inertia: 1, at: [0, "
      "1]}\n"
      "joints:\n  - {name: a, kind: prismatic, b: p, axis: [1, 0]}\n"
      "  - {name: b, kind: prismatic, b: q, at: [0, 1], axis: [1, 0]}\n"
      "tendons:\n  - {name: sum, of: [a, b], ratio: [2, -3], stiffness: 5, free: 0.4}\n"
      "  - {name: path, along: [{at: [3, 0]}, {body: p, at: [0, 0]}, {at: [-1, 0]}]}\n"
      "limits: [{name: stop, of: path, upper: 5}]\n"
      "actuators: [{name: motor, of: sum, gain: [1, 0, 0], control: 0}]\n";
  const int tol_at = _i / NMETHODS % NTOLS;
  open_as("tendons.yaml", text, (CPFormulation)(_i / NMETHODS / NTOLS));
  const sunrealtype t = 0.7, tol = tols[tol_at], w = sqrt(4 * 5.0 / 2 + 9 * 5.0 / 3);
  evolve_mech(mech, y, methods[_i % NMETHODS], tol, t);
  const sunrealtype x = 0.4 - 0.4 * cos(w * t);
  ck_assert_double_eq_tol(2 * quantity("a.displacement", t) - 3 * quantity("b.displacement", t), x,
                          10 * tol * 5);
  ck_assert_double_eq_tol(quantity("sum.force", t), 5 * (0.4 - x), 10 * tol * 25);
  ck_assert_double_eq_tol(quantity("path.length", t), 4, 1e-12);
  release();
}
END_TEST

static const struct {
  const char *keys, *rule;
} wrong_tendons[] = {
    {"of: [a, b], ratio: [1]", "ratio must have as many numbers"},
    {"of: [a, b], ratio: [1, 2, 3]", "ratio must have as many numbers"},
    {"of: [a, b], ratio: [1, 0]", "g: ratios must not be 0"},
    {"of: [a, b], ratio: [1, 1], along: [{at: [0, 0, 0]}, {body: p, at: [1, 0, 0]}]",
     "g: a tendon has coordinates, each with a ratio, or two nodes or more"},
    {"stiffness: 1", "g: a tendon has coordinates"},
    {"along: [{at: [0, 0, 0]}, {body: p, at: [0, 0, 0]}]",
     "g: node 1 and the next one are at one point"},
    {"along: [{at: [0, 0, 0]}, {body: p, at: [1, 0, 0], radius: 0.1}]",
     "g: node 2 has a radius, and must be between two points"},
    {"along: [{at: [0, 0, 0]}, {at: [1, 0, 0], radius: 0.1}, {at: [2, 0, 0], radius: 0.1}, "
     "{body: p, at: [3, 0, 0]}]",
     "g: node 2 has a radius, and must be between two points"},
    {"along: [{at: [0, 0, 0]}, {at: [1, 0, 0], radius: -0.1}, {body: p, at: [2, 0, 0]}]",
     "g: the radius of node 2 must be positive, and is -0.1"},
    {"along: [{at: [0, 0, 0]}, {at: [1, 0, 0], radius: 0.1}, {body: p, at: [0, 0, 0]}]",
     "g: node 1 and the next point are at one point"},
    {"of: [a, b], ratio: [1, 1], stiffness: -1", "g: stiffness"}};

START_TEST(wrong_tendons_are_refused_by_name) {
  char text[1000];
  snprintf(text, sizeof text,
           "bodies:\n  - {name: p, mass: 1, inertia: [1, 1, 1]}\n"
           "  - {name: q, mass: 1, inertia: [1, 1, 1]}\n"
           "joints:\n  - {name: a, kind: revolute, b: p}\n  - {name: b, kind: revolute, b: q}\n"
           "tendons: [{name: g, %s}]\n",
           wrong_tendons[_i].keys);
  assert_refused(read_as("my.yaml", text, strlen(text)), "my.yaml:7:", wrong_tendons[_i].rule);
}
END_TEST

/* From (-2, 0.5) to (2, 0.5) past a circle of the radius 1 about the origin: over it, or under it, where that is the side of a point, of
 * the same body or of another one. Both tangents are sqrt(rho^2 - 1) long; a rope has no such side. */
START_TEST(the_side_on_which_a_path_of_a_file_runs_is_a_point) {
  static const char *const sides[] = {"", ", side: [0, 3]", ", side: [0, -3]",
                                      ", side: [0, -3], side_body: q"};
  const sunrealtype rho = sqrt(SUN_RCONST(4.25)), a = atan2(0.5, 2), beta = acos(1 / rho);
  for (int k = 0; k < 5; k++) {
    char text[600];
    snprintf(text, sizeof text,
             "dimension: 2\nbodies:\n  - {name: p, mass: 1, inertia: 1, at: [2, 0.5]}\n"
             "  - {name: q, mass: 1, inertia: 1, at: [9, 9]}\n"
             "%s: [{name: g, along: [{at: [-2, 0.5]}, {at: [0, 0], radius: 1%s}, {body: p, at: [2, "
             "0.5]}]}]\n",
             k < 4 ? "tendons" : "ropes", sides[k < 4 ? k : 1]);
    if (k == 4) {
      assert_refused(read_as("my.yaml", text, strlen(text)),
                     "my.yaml:5:", "side is a key of tendons");
      break;
    }
    bodies = read_as("my.yaml", text, strlen(text));
    ck_assert_msg(bodies != NULL, "%s", message);
    const N_Vector start = build_as(bodies, CP_ABSOLUTE, &mech);
    ck_assert_double_eq_tol(
        quantity_at(mech, "g.length", 0, start, 0),
        2 * sqrt(SUN_RCONST(3.25)) + acos(-1.0) + (k < 2 ? -2 : 2) * a - 2 * beta, 1e-14);
    N_VDestroy(start);
    CPMechFree(&mech);
    CPBodiesFree(&bodies);
  }
}
END_TEST

/* Room is made for the sum of both numbers. */
START_TEST(negative_numbers_of_nodes_or_coordinates_are_refused) {
  const CPCoordinate of[]   = {{"a", 0}, {"a", 0}};
  const sunrealtype ratio[] = {1, 1};
  const CPRopeNode node[]   = {{.body = NULL}, {.body = "p", .point = {1, 0, 0}}};
  const CPTendon wrong_[]   = {
        {CP_NEW_TENDON("g"), .ncoordinates = 2, .of = of, .ratio = ratio, .nnodes = -1, .node = node},
        {CP_NEW_TENDON("g"), .ncoordinates = -1, .of = of, .ratio = ratio, .nnodes = 2, .node = node}};
  const char text[] = "bodies: [{name: p, mass: 1, inertia: [1, 1, 1]}]\n"
                      "joints: [{name: a, kind: revolute, b: p}]\n";
  bodies            = read_as("my.yaml", text, strlen(text));
  ck_assert_msg(bodies != NULL, "%s", message);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(CPBodiesAdd(bodies, &wrong_[i].head, NULL), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "g: a tendon has coordinates");
  }
  CPBodiesFree(&bodies);
}
END_TEST

/* x^2 has no period; as a function of an angle in space it needs joint coordinates. */
START_TEST(functions_of_angles_need_a_period_or_turns) {
  static const char text[] =
      "bodies:\n  - {name: p, mass: 1, inertia: [1, 1, 1]}\n"
      "  - {name: q, mass: 1, inertia: [1, 1, 1]}\n"
      "joints:\n  - {name: a, kind: revolute, b: p}\n"
      "  - {name: b, kind: prismatic, b: q}\n"
      "couplers: [{name: g, of: [b, a], ratio: [1, -1], function: 1 m*x*x}]\n";
  CPModel model;
  bodies = read_as("my.yaml", text, strlen(text));
  ck_assert_msg(bodies != NULL, "%s", message);
  ck_assert_int_eq(CPBodiesBuild(bodies, &model), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)),
                     "g: its function must have the period");
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesBuild(bodies, &model), CP_SUCCESS);
  CPModelFree(&model);
  CPBodiesFree(&bodies);
}
END_TEST

TEST_SUITE(couplers) {
  Suite *suite = suite_create("bodies/couplers");
  TCase *tc    = tcase_create("couplers");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_differential_shares_its_torque, 0, NMETHODS * NTOLS * FORMULATIONS);
  tcase_add_loop_test(tc, a_cam_moves_its_follower_by_its_lift, 0, NMETHODS * NTOLS * FORMULATIONS);
  tcase_add_test(tc, polynomials_of_equalities_hold_beyond_a_turn);
  tcase_add_loop_test(tc, wrong_couplers_are_refused_by_name, 0, sizeof wrong / sizeof *wrong);
  tcase_add_loop_test(tc, tendons_of_files_vibrate_about_their_rest, 0,
                      NMETHODS * NTOLS * FORMULATIONS);
  tcase_add_loop_test(tc, wrong_tendons_are_refused_by_name, 0,
                      sizeof wrong_tendons / sizeof *wrong_tendons);
  tcase_add_test(tc, the_side_on_which_a_path_of_a_file_runs_is_a_point);
  tcase_add_test(tc, negative_numbers_of_nodes_or_coordinates_are_refused);
  tcase_add_test(tc, functions_of_angles_need_a_period_or_turns);
  suite_add_tcase(suite, tc);
  return suite;
}
