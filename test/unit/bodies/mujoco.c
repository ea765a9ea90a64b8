/* Robots in MJCF against MuJoCo 2.2.2 (Debian's libmujoco2.2.2), by its public functions: a motion,
 * and accelerations of closed loops. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>

static CPBodies bodies;
static CPMech mech;
static N_Vector y;

static void read_file(const char *path, CPFormulation formulation) {
  char message[READ_MESSAGE];
  CPBodiesFile file;
  bodies = read_bodies(path, NULL, 0, &file, message);
  ck_assert_msg(bodies != NULL, "%s", message);
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, formulation), CP_SUCCESS);
  ck_assert_msg(build_mech(bodies, &mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  y = CPBodiesState(bodies, test_context);
}

static void clear(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

/* xpos, xquat of mjData at t = 0.5 after mj_step by mjINT_RK4 with steps of 1e-5 from qpos0 at
 * rest. Ten times longer steps differ by 5e-10, and the order is two if there is a ball joint. */
static const struct {
  const char *body;
  double x[3], e[4];
} at_half_a_second[] = {{"upper",
                         {0.118314862243, 0.314178388287, 1.195246127750},
                         {0.710365436385, 0.379673831026, 0.274313465972, 0.525338796597}},
                        {"elbow",
                         {0.286441664640, 0.575457756989, 1.254122861752},
                         {0.595450078250, 0.238959387055, 0.625485693762, 0.443965384405}},
                        {"hand",
                         {0.473216740572, 0.651351803991, 1.260801746160},
                         {-0.356480193486, 0.507964887331, 0.712970884681, 0.326444577973}},
                        {"wrist",
                         {-0.100662178005, 0.200000000000, 0.316556038874},
                         {0.796552346322, -0.074191371252, 0.597414259742, 0.055643528439}},
                        {"pendant",
                         {-0.049466292371, 0.209681208638, 0.114510542354},
                         {0.463987088543, 0.597152399485, 0.540421120931, 0.368876680622}},
                        {"sled",
                         {1.195327493304, 1.185395696716, 0.443388111326},
                         {0.987378995931, -0.091895165925, 0.060043667487, 0.114161091745}},
                        {"rider",
                         {1.096707020845, 1.321773267703, 0.688178742748},
                         {-0.798423907401, 0.451472619358, 0.358329480202, -0.174045171373}},
                        {"loose",
                         {-0.962500000000, -0.025000000000, 0.787500000001},
                         {0.995957553569, 0.058628245231, 0.054847870293, 0.040286368331}}};

START_TEST(all_joints_move_as_in_mujoco) {
  static const sunrealtype origin[3] = {0, 0, 0};
  const double bound = 1e-9; /* for the errors of MuJoCo's steps, and of those here */
  sunrealtype t;
  read_file(CPODES_BODIES_TEST "/joints.xml", (CPFormulation)_i);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-12, 1e-12), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, y, &t, CV_NORMAL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_BODY), 8);
  for (int i = 0; i < 8; i++) {
    sunrealtype x[3], dot = 0;
    const char *name = at_half_a_second[i].body;
    ck_assert_str_eq(thing_at(bodies, CP_BODY, i).name, name);
    ck_assert_int_eq(CPMechGetPoint(mech, thing_named(bodies, CP_BODY, name), origin, y, x, NULL),
                     CP_SUCCESS);
    for (int k = 0; k < 3; k++)
      ck_assert_msg(fabs(x[k] - at_half_a_second[i].x[k]) <= bound, "%s x[%d] = %.12f", name, k,
                    (double)x[k]);
    if (_i == CP_JOINT_COORDINATES) continue;
    const sunrealtype *e = entries(y) + 7 * i + 3; /* either sign is right */
    for (int k = 0; k < 4; k++) dot += e[k] * at_half_a_second[i].e[k];
    for (int k = 0; k < 4; k++)
      ck_assert_msg(fabs(copysign(1, dot) * e[k] - at_half_a_second[i].e[k]) <= bound,
                    "%s e[%d] = %.12f", name, k, (double)e[k]);
  }
  CPIntegratorFree(&mem);
  clear();
}
END_TEST

/* MuJoCo's constraints are soft. The exact accelerations at rest solve [M J^T; J 0] with its
 * matrices at qpos0: mj_fullM, efc_J of `equality`, and the forces qfrc_passive - qfrc_bias. The
 * fingers of the parallelograms do not turn. */
START_TEST(closed_loops_accelerate_as_with_the_matrices_of_mujoco) {
  static const struct {
    const char *body;
    double turn; /* about y */
  } want[] = {{"crank_l", 103.98383094478557},  {"finger_l", 0}, {"rocker_l", 103.98383094478557},
              {"crank_r", -103.98383094478557}, {"finger_r", 0}, {"rocker_r", -103.98383094478557}};
  sunrealtype a[36] = {0};
  CPMechOutput out  = {CP_SIZED(CPMechOutput), .udot = a};
  read_file(CPODES_MECHANISMS "/gripper.xml", CP_ABSOLUTE);
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  for (int i = 0; i < 6; i++) {
    ck_assert_str_eq(thing_at(bodies, CP_BODY, i).name, want[i].body);
    ck_assert_double_eq_tol(a[6 * i + 4], want[i].turn, 1e-11);
    ck_assert_double_eq_tol(a[6 * i + 3], 0, 1e-11);
    ck_assert_double_eq_tol(a[6 * i + 5], 0, 1e-11);
  }
  clear();
}
END_TEST

/* The same numbers: absolute angular accelerations are sums along the tree. */
START_TEST(joint_coordinates_of_closed_loops_accelerate_as_with_the_matrices_of_mujoco) {
  static const struct {
    const char *state;
    double turn;
  } want[] = {
      {"hinge_l.angle'", 103.98383094478557},        {"knuckle_l.angle'", -103.98383094478557},
      {"rocker_l_joint.angle'", 103.98383094478557}, {"hinge_r.angle'", 103.98383094478557},
      {"knuckle_r.angle'", -103.98383094478557},     {"rocker_r_joint.angle'", 103.98383094478557}};
  sunrealtype a[6] = {0};
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  read_file(CPODES_MECHANISMS "/gripper.xml", CP_JOINT_COORDINATES);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_STATE), 13);
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  for (int i = 0; i < 6; i++)
    ck_assert_double_eq_tol(fabs(a[thing_named(bodies, CP_STATE, want[i].state) - 6]),
                            fabs(want[i].turn), 1e-11);
  clear();
}
END_TEST

TEST_SUITE(mujoco) {
  Suite *suite = suite_create("bodies/mujoco");
  TCase *tc    = tcase_create("mujoco");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, all_joints_move_as_in_mujoco, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  tcase_add_test(tc, joint_coordinates_of_closed_loops_accelerate_as_with_the_matrices_of_mujoco);
  tcase_add_test(tc, closed_loops_accelerate_as_with_the_matrices_of_mujoco);
  suite_add_tcase(suite, tc);
  return suite;
}
