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
  for (int i = 0; i < 8; i++) {
    sunrealtype x[3], dot = 0;
    const char *name = at_half_a_second[i].body;
    const int body   = thing_named(bodies, CP_BODY, name);
    ck_assert_int_eq(CPMechGetPoint(mech, body, origin, y, x, NULL), CP_SUCCESS);
    for (int k = 0; k < 3; k++)
      ck_assert_msg(fabs(x[k] - at_half_a_second[i].x[k]) <= bound, "%s x[%d] = %.12f", name, k,
                    (double)x[k]);
    if (_i == CP_JOINT_COORDINATES) continue;
    const sunrealtype *e = entries(y) + 7 * body + 3; /* either sign is right */
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

/* qpos, qvel, ctrl and qacc of mj_forward, MuJoCo 4.0.0, at random states and controls: each kind of actuator, with gear, ranges and
 * shared defaults */
static const struct {
  double q[5], u[5], control[7], acceleration[5];
} at_random[] = {{{0.6100058474907604, 0.6158815794729875, 0.030651122084284, -0.4283972398237168,
                   -0.8921385952366871},
                  {-0.4665244768579271, -0.3661071783200054, -1.8188992243902193,
                   -1.8049691570913278, 1.9967044602602857},
                  {0.9142146695279263, -1.5929387899810563, -0.3903146866491478, 2.8451171595555325,
                   2.386065648651293, 2.0653862256524462, -0.6455720139913312},
                  {2.630350436721696, -75.40046131023618, 34.80521416672832, 681.6092604278679,
                   70.59478912872612}},
                 {{-0.013953962536514819, 0.3533787036621321, -0.8783945740838879,
                   0.11119223384144683, -0.45709679093979694},
                  {1.5186046933396886, -1.743142250751236, 0.7167261320854599, 1.4803540093100134,
                   -1.0907258993563675},
                  {2.372689436484756, 2.2331728081460103, -2.8888966939787357, 1.2449734040230638,
                   2.992801898479028, 0.020183793321987054, -0.3799976869460835},
                  {24.735927459765612, -71.92339144350521, -36.64383267330483, -949.3161337102089,
                   284.33173649648523}},
                 {{-0.5934943277708704, -0.35011471084878787, 0.6124306620540871,
                   -0.3670958251910197, -0.7019228329328884},
                  {0.7940479612732432, -0.20582359695849517, 1.195757963852536, -1.0579341707753143,
                   -0.7208613827268548},
                  {1.7992771563297207, 0.04240883354034786, 0.038310008529425676,
                   -1.582835229624819, 2.91278231781712, 2.599343401352602, -2.4850452534790204},
                  {15.189292197044713, 12.471615398471803, -25.767065801905478, 209.66288320202443,
                   344.3120822968988}},
                 {{0.20695608088416598, -0.07927155665308995, 0.27061378871747965,
                   -0.060344843052716146, 0.2618652371052018},
                  {0.22463910213558824, -1.0394586867888966, 0.9656866801112511, 0.6975588595470512,
                   0.7368208495383932},
                  {-0.21705383949979673, -1.6686686450132717, 0.8456408488878657,
                   -2.3574630231762814, 1.1533336478689797, 0.8123207993442647, -0.7409248464738467},
                  {11.55947306197849, 45.688188020600194, -10.834544450418, -887.5395479199311,
                   144.52005291160498}},
                 {{0.1791140074836633, -0.18358471439577326, -0.06572465172136706,
                   0.1787603316582126, -0.07171477761400584},
                  {0.8530314564978085, 0.4500712166612475, 1.7640039009704074, 1.9667068679607853,
                   0.8947050186031853},
                  {1.8530628542080194, -2.0828098611259627, 1.2773415753994106, 2.0857462815272036,
                   0.5926455120442116, 0.31950023876124556, -0.12307348943482754},
                  {24.921403043377843, 123.51941900393875, -54.12848098629395, -886.581176319559,
                   373.19061040084097}},
                 {{0.27511379987962287, -0.10963329583397059, -0.05874928383734048,
                   -0.2994481265334805, -0.04788927918412173},
                  {0.5257444245291603, 1.7398443767466012, 1.6947063390309385, -0.6906007467036086,
                   1.955444102476077},
                  {-1.8739503585928872, 1.9395121082161895, -2.0564430774957323,
                   -0.5694080828330428, 2.559160129156335, 2.1482335871881038, 1.9727884258591342},
                  {-0.0031212764864988864, -234.5567645216384, -40.9725584177514,
                   2047.8597129015297, 311.26749881613966}}};

START_TEST(actuators_accelerate_as_in_mujoco) {
  static const char *const states[] = {"shoulder.angle", "elbow.angle", "rail.displacement",
                                       "pan.angle", "tilt.angle"},
                           *const controls[] = {"a.control",           "b.control", "b2.control",
                                                "c.control",           "d.control", "e.control",
                                                "pan_actuator.control"};
  sunrealtype a[5], *values;
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  read_file(CPODES_BODIES_TEST "/actuators.xml", CP_JOINT_COORDINATES);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  for (size_t k = 0; k < sizeof at_random / sizeof *at_random; k++) {
    for (int i = 0; i < 7; i++)
      values[thing_named(bodies, CP_PARAMETER, controls[i])] = at_random[k].control[i];
    for (int i = 0; i < 5; i++) {
      entries(y)[thing_named(bodies, CP_STATE, states[i])]     = at_random[k].q[i];
      entries(y)[5 + thing_named(bodies, CP_STATE, states[i])] = at_random[k].u[i];
    }
    ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
    for (int i = 0; i < 5; i++) {
      const double want = at_random[k].acceleration[i],
                   off  = fabs(a[thing_named(bodies, CP_STATE, states[i])] - want);
      ck_assert_msg(off <= 1e-10 * fmax(1, fabs(want)), "%zu: %s'' is off by %g of %g", k,
                    states[i], off, want);
    }
  }
  clear();
}
END_TEST

/* K and C against differences, in both formulations, within the ranges and beyond */
START_TEST(derivatives_of_actuators_are_exact) {
  unsigned int seed = 3;
  sunrealtype *values;
  read_file(CPODES_BODIES_TEST "/actuators.xml", (CPFormulation)_i);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  for (int k = 0; k < 6; k++) {
    CPMechReport r                                         = CP_INIT(CPMechReport);
    values[thing_named(bodies, CP_PARAMETER, "e.control")] = k - 3.5;
    values[thing_named(bodies, CP_PARAMETER, "b.control")] = 1.5 - k;
    for (sunindextype i = 0; i < N_VGetLength(y); i++)
      entries(y)[i] += 0.2 * (double)(seed = seed * 1103515245u + 12345u) / 4294967296.0;
    const int flag = CPMechCheck(mech, 0.3, y, &r);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_le(r.K, 1e-8);
    ck_assert_double_le(r.C, 1e-8);
  }
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
  tcase_add_test(tc, actuators_accelerate_as_in_mujoco);
  tcase_add_loop_test(tc, derivatives_of_actuators_are_exact, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  suite_add_tcase(suite, tc);
  return suite;
}
