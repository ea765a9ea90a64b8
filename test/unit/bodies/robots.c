/* Robots as their files are: start poses, bases, and what is changed and told. */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static CPBodies read_good(const char *name, const char *text, const char *settings) {
  CPBodies b = read_with(name, text, settings);
  ck_assert_msg(b != NULL, "%s", message);
  return b;
}

static sunrealtype parameter(CPBodies b, const char *name) {
  const int i = thing_named(b, CP_PARAMETER, name);
  ck_assert_msg(i >= 0, "%s", name);
  return CPBodiesParameters(b)[i];
}

/* ------------------------------------------------------------------------------------- starts -- */

static const char moving[] =
    "<mujoco><compiler angle=\"degree\"/><worldbody>\n"
    "<body name=\"a\" pos=\"0 0 1\"><joint name=\"h\" axis=\"0 1 0\" ref=\"20\"/>"
    "<geom type=\"capsule\" fromto=\"0 0 0 .3 0 0\" size=\".02\"/>\n"
    "<body name=\"b\" pos=\".3 0 0\"><joint name=\"s\" type=\"slide\" axis=\"1 0 1\" ref=\".1\"/>"
    "<geom type=\"box\" size=\".1 .05 .02\"/>\n"
    "<body name=\"c\" pos=\".1 0.1 0\" euler=\"10 20 30\"><joint name=\"q\" type=\"ball\" pos=\"0 "
    ".1 0\"/>"
    "<geom type=\"box\" size=\".1 .05 .02\" pos=\".1 0 0\"/></body></body></body>\n"
    "<body name=\"f\" pos=\"1 1 1\" euler=\"30 0 0\"><freejoint/>"
    "<geom type=\"box\" size=\".1 .05 .02\" pos=\".1 0 0\"/></body></worldbody>\n"
    "<keyframe><key/><key name=\"home\" qpos=\"0.5 .25 .8 .6 0 0 1 2 3 .6 0 .8 0\" "
    "qvel=\"1 2 .1 .2 .3 1 2 3 .4 .5 .6\"/><key name=\"short\" qpos=\"1 2\"/></keyframe></mujoco>";

/* xpos, and the velocities of mj_objectVelocity (XBODY, in space), of MuJoCo 4.0.0 at the keyframe */
static const struct {
  const char *body;
  double x[3], v[3];
} at_home[] = {
    {"a", {0, 0, 1}, {0, 0, 0}},
    {"b", {0.417397742057045, 0, 1.04380337010402}, {1.6545824016666, 0, 0.768094101642577}},
    {"c",
     {0.44044902838566, 0.174933339486463, 0.973653108447411},
     {1.60230890004135, 0.0246744970943329, 0.736581689861475}},
    {"f", {1, 2, 3}, {1, 2, 3}}};

START_TEST(a_keyframe_places_and_moves_all_bodies) {
  static const sunrealtype origin[3] = {0, 0, 0};
  CPBodies b                         = read_good("robot.xml", moving, "start=home");
  CPMech mech;
  sunrealtype x[3], v[3];
  ck_assert_int_eq(CPBodiesSetFormulation(b, (CPFormulation)_i), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  for (int i = 0; i < 4; i++) {
    ck_assert_int_eq(body_point(mech, thing_named(b, CP_BODY, at_home[i].body), origin, y, x, v),
                     CP_SUCCESS);
    for (int k = 0; k < 3; k++) {
      ck_assert_double_eq_tol(x[k], at_home[i].x[k], 1e-14);
      ck_assert_double_eq_tol(v[k], at_home[i].v[k], 1e-14);
    }
  }
  for (int k = 0; k < 2; k++) { /* The coordinates are those of the file. */
    ck_assert_int_eq(CPMechGetCoordinate(mech, k, y, &x[0], &v[0]), CP_SUCCESS);
    ck_assert_double_eq_tol(x[0], k ? 0.25 : 0.5, 1e-14);
    ck_assert_double_eq_tol(v[0], k + 1, 1e-14);
  }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A body without a keyframe starts at ref, and joints by name at their values. The joints in a row of each body are one. */
START_TEST(joints_start_at_ref_or_at_their_values) {
  static const char *const rows[] = {
      "<joint name=\"j\" axis=\"1 0 0\" ref=\"30\"/>",
      "<joint name=\"j\" type=\"slide\" axis=\"1 0 0\" ref=\"0.3\"/>",
      "<joint name=\"j\" axis=\"1 0 0\" ref=\"10\"/><joint name=\"k\" axis=\"0 1 0\" ref=\"40\"/>",
      "<joint name=\"j\" type=\"slide\" axis=\"1 0 0\" ref=\"0.2\"/><joint name=\"k\" axis=\"1 0 "
      "0\" ref=\"50\"/>",
      "<joint name=\"j\" type=\"slide\" axis=\"1 0 0\" ref=\"0.2\"/><joint name=\"k\" "
      "type=\"slide\" axis=\"0 1 0\" "
      "ref=\"0.5\"/><joint axis=\"0 0 1\" ref=\"60\"/>"};
  static const double values[][3] = {{30 * M_PI / 180},
                                     {0.3},
                                     {10 * M_PI / 180, 40 * M_PI / 180},
                                     {0.2, 50 * M_PI / 180},
                                     {0.2, 0.5, 60 * M_PI / 180}};
  char text[1000];
  for (int moved = 0; moved < 2; moved++) {
    CPMech mech;
    sunrealtype x, rate;
    snprintf(text, sizeof text,
             "<mujoco><worldbody><body pos=\"1 2 3\" euler=\"10 20 30\">%s<geom size=\"1\"/></body>"
             "</worldbody></mujoco>",
             rows[_i]);
    CPBodies b = read_good("robot.xml", text, moved ? "start.j=0.7\nstart.j'=-2" : "");
    ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(b, test_context);
    for (int k = 0; k < CPBodiesCount(b, CP_COORDINATE); k++) {
      ck_assert_int_eq(CPMechGetCoordinate(mech, k, y, &x, &rate), CP_SUCCESS);
      ck_assert_double_eq_tol(x, k == 0 && moved ? 0.7 : values[_i][k], 1e-14);
      ck_assert_double_eq_tol(rate, k == 0 && moved ? -2 : 0, 1e-14);
    }
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

#define LINK(name, mass, J)                                                        \
  "<link name=\"" name "\"><inertial><origin xyz=\"0 0 0.1\"/><mass value=\"" mass \
  "\"/><inertia " J "/></inertial></link>\n"
#define ROUND "ixx=\".1\" iyy=\".1\" izz=\".1\""
#define JOINT(name, type, parent, child, text)                                                   \
  "<joint name=\"" name "\" type=\"" type "\"><parent link=\"" parent "\"/><child link=\"" child \
  "\"/>" text "</joint>\n"
#define ARM(J, text)                                                                            \
  "<robot name=\"arm\">\n" LINK("base", "3", ROUND) LINK("one", "1", J) LINK("two", "1", ROUND) \
      JOINT("j1", "continuous", "base", "one", "")                                              \
          JOINT("j2", "continuous", "one", "two", text) "</robot>"

START_TEST(wrong_starts_are_refused) {
  static const struct {
    const char *settings, *urdf, *rule;
  } wrong[] = {
      {"start.q=1", NULL, "start.q: it must be a hinge or a slide"},
      {"start.h=north", NULL, "start.h must be a finite number, in rad or m, and is \"north\""},
      {"start.h=", NULL, "start.h must be a finite number"},
      {"start.h=30 mm", NULL, "the value must have no dimension, and has that of m"},
      {"start.j1=1/0", "", "the value is not a finite number"},
      {"start.x=1", NULL, "there is no joint \"x\""},
      {"start=away", NULL, "there is no keyframe \"away\""},
      {"start=short", NULL, "qpos must be 13 finite numbers"},
      {"colour=red", NULL, "there is no parameter \"colour\""},
      {"colour", NULL, "there is no parameter \"colour\""},
      {"base=free", NULL, "there is no parameter \"base\""},
      {"start=home", "", "there is no parameter \"start\""},
      {"base=loose", "", "base must be fixed or free, and is \"loose\""}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const int urdf = wrong[i].urdf != NULL;
    assert_refused(
        read_with(urdf ? "r.urdf" : "r.xml", urdf ? ARM(ROUND, "") : moving, wrong[i].settings),
        urdf ? "r.urdf" : "r.xml", wrong[i].rule);
  }
}
END_TEST

/* -------------------------------------------------------------------------------- URDF as it is -- */

START_TEST(the_root_of_urdf_is_the_ground_or_free) {
  CPBodies b = read_good("r.urdf", ARM(ROUND, ""), "");
  ck_assert_int_eq(CPBodiesCount(b, CP_BODY), 2);
  ck_assert_str_eq(file.remarks, "r.urdf:2:1: without effect in this run: the mass of base, which "
                                 "is the ground (base=fixed)\n");
  CPBodiesFree(&b);
  b = read_good("r.urdf", ARM(ROUND, ""), "base=free\nstart.j2=0.5");
  ck_assert_int_eq(CPBodiesCount(b, CP_BODY), 3);
  ck_assert_str_eq(file.remarks, "");
  ck_assert_double_eq(parameter(b, "base.mass"), 3);
  CPBodiesFree(&b);
}
END_TEST

/* The nearest tensor that a body can have has the same trace of second moments, and the two smaller moments have the sum
 * of the largest one. */
START_TEST(moments_that_no_body_has_are_changed_to_the_nearest_ones) {
  CPBodies b = read_good("r.urdf", ARM("ixx=\"0.0167\" iyy=\"0.0166\" izz=\"0.0336\"", ""), "");
  const double J[] = {parameter(b, "one.J_xx"), parameter(b, "one.J_yy"), parameter(b, "one.J_zz")};
  ck_assert_double_eq_tol(J[0], 0.0167 + 1e-4, 1e-16);
  ck_assert_double_eq_tol(J[1], 0.0166 + 1e-4, 1e-16);
  ck_assert_double_eq_tol(J[2], 0.0336 - 1e-4, 1e-16);
  ck_assert_mentions(file.remarks, "r.urdf:3:1: changed: the moments of inertia of one");
  ck_assert_mentions(file.remarks, "the largest was 0.9 % more than the others together");
  CPBodiesFree(&b);
  /* The same turned by 45 degrees about y: the products count. */
  b = read_good("r.urdf", ARM("ixx=\"0.02515\" iyy=\"0.0166\" izz=\"0.02515\" ixz=\"0.00845\"", ""),
                "");
  ck_assert_double_eq_tol(parameter(b, "one.J_xx"), (J[0] + J[2]) / 2, 1e-16);
  ck_assert_double_eq_tol(parameter(b, "one.J_xz"), (J[2] - J[0]) / 2, 1e-16);
  ck_assert_double_eq_tol(parameter(b, "one.J_yy"), J[1], 1e-16);
  ck_assert_double_eq(parameter(b, "one.J_xy"), 0);
  CPBodiesFree(&b);
  assert_refused(read_with("r.urdf", ARM("ixx=\"0.01\" iyy=\"0.01\" izz=\"0.05\"", ""), ""),
                 "r.urdf:3:1: link one", "more than twice the sum of the others");
}
END_TEST

/* Links with zero tensors, as iCub's, at one point: rounding must not make their moments negative. */
START_TEST(point_masses_at_one_point_have_no_moments) {
  CPBodies b = read_good(
      "r.urdf",
      "<robot name=\"r\"><link name=\"base\"/>"
      "<link name=\"one\"><inertial><origin xyz=\"0.0216 -0.143 0.0313\"/><mass "
      "value=\"0.754\"/><inertia ixx=\"0\" iyy=\"0\" izz=\"0\"/></inertial></link>"
      "<link name=\"two\"><inertial><origin xyz=\"0 0 0\"/><mass value=\"0.1\"/><inertia ixx=\"0\" "
      "iyy=\"0\" izz=\"0\"/></inertial></link>" JOINT(
          "j", "continuous", "base", "one", "<origin xyz=\"0.1 0.2 0.3\" rpy=\"0.1 0.2 0.3\"/>")
          JOINT("k", "fixed", "one", "two", "<origin xyz=\"0.0216 -0.143 0.0313\"/>") "</robot>",
      "");
  ck_assert_double_eq_tol(parameter(b, "one.mass"), 0.854, 1e-15);
  for (int k = 0; k < 6; k++) {
    static const char *const J[] = {"one.J_xx", "one.J_yy", "one.J_zz",
                                    "one.J_xy", "one.J_xz", "one.J_yz"};
    ck_assert_double_eq(parameter(b, J[k]), 0);
  }
  CPBodiesFree(&b);
}
END_TEST

/* A rod that falls and tumbles: w' = 0 for each w across its axis, whatever the moment about the axis is. */
START_TEST(a_free_rod_needs_no_inertia_about_its_axis) {
  CPBodies b =
      read_good("r.urdf",
                "<robot name=\"r\"><link name=\"rod\"><inertial><origin rpy=\"0.3 0.2 0.1\"/>"
                "<mass value=\"0.1\"/><inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" "
                "iyz=\"0\" izz=\"0\"/></inertial></link></robot>",
                "");
  CPMech mech;
  ck_assert_mentions(file.remarks, "the moment of inertia of rod about its axis");
  N_Vector y = build_as(b, CP_ABSOLUTE, &mech), ydot = N_VClone(y);
  entries(y)[10] = 0.5, entries(y)[11] = -0.7;
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  ck_assert_double_eq_tol(entries(ydot)[9], -9.81, 1e-14);
  for (int k = 10; k < 13; k++) ck_assert_double_le(fabs(entries(ydot)[k]), 1e-14);
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(mimics_of_fixed_joints_and_by_fixed_joints_are_read) {
  CPBodies b = read_good(
      "r.urdf",
      "<robot name=\"r\">" LINK("base", "0", ROUND) LINK("a", "1", ROUND) LINK("b", "1", ROUND)
          LINK("c", "1", ROUND) JOINT("j", "continuous", "base", "a",
                                      "") JOINT("k", "fixed", "a", "b", "<mimic joint=\"none\"/>")
              JOINT("l", "continuous", "b", "c", "<mimic joint=\"k\" offset=\"0.25\"/>") "</robot>",
      "");
  ck_assert_mentions(file.remarks, "without effect in this run: the mimic of fixed joints");
  ck_assert_double_eq(parameter(b, "l_coupler.start"), 0.25);
  CPBodiesFree(&b);
  b = read_good("r.urdf",
                "<robot name=\"r\">" LINK("base", "0", ROUND) LINK("a", "1", ROUND)
                    JOINT("j", "continuous", "base", "a", "<mimic joint=\"none\"/>") "</robot>",
                "");
  ck_assert_mentions(file.notes, "mimics of joints that the file does not have");
  CPBodiesFree(&b);
}
END_TEST

START_TEST(what_other_programs_use_is_told) {
  CPBodies b =
      read_good("r.urdf", ARM(ROUND, "<safety_controller k_velocity=\"1\"/>\n<wing/>\n"), "");
  ck_assert_str_eq(file.notes, "r.urdf:7:1: the unknown element wing\n");
  ck_assert_mentions(file.remarks, "r.urdf:6:75: without effect in this run: safety_controller\n");
  CPBodiesFree(&b);
  b = read_good("r.urdf",
                "<robot name=\"r\"><link name=\"base\"/>" LINK("a", "1", ROUND)
                    JOINT("j", "continuous", "base", "a",
                          "") "<transmission/><ros2_control/><frame/></robot>",
                "");
  ck_assert_str_eq(file.notes, "");
  ck_assert_mentions(file.remarks, "r.urdf:3:1: without effect in this run: transmission\n");
  ck_assert_mentions(file.remarks, "r.urdf:3:16: without meaning here: ros2_control\n");
  ck_assert_mentions(file.remarks, "r.urdf:3:31: without meaning here: frame\n");
  CPBodiesFree(&b);
}
END_TEST

/* libxml2 refuses these, and they tell nothing. Places are as in the file. */
START_TEST(declarations_of_no_version_are_read) {
  static const char *const heads[] = {"<?xml version=\"0.0\" ?>\n", "\n<?xml version=\"1.0\"?>",
                                      "<!-- <?xml --> <!---->\n<?xml version = '1.0'?>",
                                      "\xEF\xBB\xBF<?xml version=\"2.0\"?>\n"};
  char text[200];
  for (int i = 0; i < 4; i++) {
    snprintf(text, sizeof text, "%s<robot><link/></robot>", heads[i]);
    assert_refused(read_with("r.urdf", text, ""), "r.urdf:2:", "name must be given");
  }
  static const char *const bad[] = {"<?xml version=\"0.0\"",
                                    "<?xml\n?><robot/>",
                                    "<?xml version",
                                    "<!-- <?xml version=\"0.0\"?>",
                                    "<?xml ",
                                    "<!--"};
  for (int i = 0; i < 6; i++) assert_refused(read_with("r.urdf", bad[i], ""), "r.urdf:", "no XML");
}
END_TEST

/* Copies, their names, springs by time constants, and what the compiler does to masses: qacc of MuJoCo 4.0.0 at q_i = (-1)^i (i + 1) / 10,
 * q_i' = 1 - 0.3 i. */
static const char copies[] = "<mujoco><compiler settotalmass=\"20\" boundmass=\"0.5\" "
                             "boundinertia=\"0.02\" balanceinertia=\"true\"/><worldbody>"
                             "<body><geom type=\"box\" size=\".1 .1 .1\"/></body>"
                             "<body name=\"top\" pos=\"0 0 1\"><joint name=\"t\" axis=\"0 1 0\" "
                             "springdamper=\"0.2 0.7\" armature=\".01\"/>"
                             "<geom type=\"box\" size=\".1 .2 .3\"/>"
                             "<replicate count=\"2\" offset=\"0.2 0 0.1\" euler=\"10 20 30\" "
                             "sep=\"-\"><body name=\"a\" pos=\"0 0.1 0\" euler=\"0 0 20\">"
                             "<joint name=\"h\" axis=\"0 1 1\" springdamper=\"0.1 1\"/><geom "
                             "type=\"capsule\" fromto=\"0 0 0 .3 0 0\" size=\".02\"/>"
                             "<replicate count=\"2\" offset=\"0 0.2 0\"><body pos=\".3 0 "
                             "0\"><joint name=\"s\" type=\"slide\" axis=\"1 0 1\" "
                             "springdamper=\".3 .5\"/><inertial pos=\"0.1 0 0\" mass=\".3\" "
                             "diaginertia=\".1 .05 .02\"/></body></replicate></body></replicate>"
                             "</body></worldbody></mujoco>";
/* Component i of the velocities, and its acceleration, in the order of MuJoCo */
typedef struct {
  const char *name;
  double acceleration;
} Accelerated;

/* The accelerations at hinges of q_i = (-1)^i (i + 1) / 10, with q_i' = 1 - 0.3 i, are those of a table of n rows. */
static void assert_accelerates(CPBodies b, const Accelerated *is, int n) {
  CPMech mech;
  sunrealtype a[50];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  ck_assert_int_eq((int)equations_of(mech).nu, n);
  const int nq = (int)equations_of(mech).nq;
  N_Vector y   = CPBodiesState(b, test_context);
  for (int i = 0; i < n; i++) {
    char position[60];
    const int at = thing_named(b, CP_STATE, is[i].name);
    ck_assert_msg(at >= 0, "%s", is[i].name);
    snprintf(position, sizeof position, "%.*s", (int)strlen(is[i].name) - 1, is[i].name);
    if (strchr(is[i].name, '\''))
      entries(y)[thing_named(b, CP_STATE, position)] = (i % 2 ? -0.1 : 0.1) * (i + 1);
    entries(y)[at] = 1 - 0.3 * i;
  }
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  for (int i = 0; i < n; i++)
    ck_assert_double_eq_tol(a[thing_named(b, CP_STATE, is[i].name) - nq], is[i].acceleration,
                            1e-12 * (1 + fabs(is[i].acceleration)));
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}

static const Accelerated of_copies[] = {
    {"t.angle'", -13.336225642370106},           {"h-0.angle'", 17.378377697062724},
    {"s0-0.displacement'", -20.890204463617998}, {"s1-0.displacement'", 8.7838336922588116},
    {"h-1.angle'", -24.397640705186834},         {"s0-1.displacement'", 17.853059931665875},
    {"s1-1.displacement'", -31.984950201566051}};

START_TEST(copies_have_names_springs_and_masses_as_in_mujoco) {
  assert_accelerates(read_good("robot.xml", copies, ""), of_copies, 7);
}
END_TEST

/* A file attached as a whole, by a body and by a frame, with the settings of its own compiler and classes, a file attached to it, and one that it
 * includes; and a copy of a body with all that is attached to it: qacc of MuJoCo 4.0.0 without contacts and limits */
static const char attaching[] =
    "<mujoco><compiler angle=\"radian\"/><default><joint damping=\"0.7\"/><default "
    "class=\"arm\"><joint armature=\"0.02\"/><geom density=\"500\"/></default></default>\n"
    "<asset><model name=\"arm\" file=\"attached/arm.xml\"/></asset><worldbody>\n"
    "<body name=\"base\" pos=\"0 0 1\" childclass=\"arm\"><joint name=\"swing\" axis=\"0 1 "
    "0\"/><geom type=\"box\" size=\".1 .1 .1\"/>\n"
    "<frame pos=\"0.2 0 0\" euler=\"0 0 0.3\"><attach model=\"arm\" prefix=\"l_\"/></frame>\n"
    "<attach model=\"arm\" body=\"fore\" prefix=\"r_\"/></body>\n"
    "<frame pos=\"0 1 0\"><attach model=\"arm\" frame=\"mount\" prefix=\"w_\"/></frame>\n"
    "<frame pos=\"0 2 0\"><attach body=\"base\" prefix=\"x_\"/></frame>\n"
    "</worldbody><actuator><motor name=\"drive\" joint=\"swing\" "
    "gear=\"2\"/></actuator></mujoco>\n";
static const char *const attached[][2] = {
    {"attached/arm.xml",
     "<mujoco model=\"child\"><compiler angle=\"degree\" eulerseq=\"zyx\"/><option gravity=\"0 0 "
     "-1\"/><include file=\"classes.xml\"/>\n"
     "<asset><model file=\"tip.xml\"/></asset><worldbody><geom name=\"plate\" size=\"0.05\"/>\n"
     "<body name=\"upper\" pos=\"0.1 0 0\" euler=\"10 20 30\" childclass=\"arm\"><joint name=\"a\" "
     "axis=\"0 1 1\" ref=\"20\"/>\n"
     "<geom type=\"capsule\" fromto=\"0 0 0 0.3 0 0\" size=\"0.03\"/>\n"
     "<body name=\"fore\" pos=\"0.3 0 0\"><joint name=\"b\" axis=\"0 0 1\" range=\"-100 "
     "100\"/><geom type=\"box\" size=\".1 .02 .03\" pos=\".1 0 0\"/>\n"
     "<frame pos=\"0.2 0 0\"><attach model=\"tip\" body=\"t\" "
     "prefix=\"t-\"/></frame></body></body>\n"
     "<frame name=\"mount\" pos=\"0 0 0.5\" euler=\"0 0 90\"><body name=\"pod\" pos=\"0.1 0 "
     "0\"><joint name=\"d\" axis=\"1 0 0\"/><geom type=\"box\" size=\".1 .05 "
     ".02\"/></body></frame>\n"
     "</worldbody><tendon><fixed name=\"ab\" stiffness=\"2\"><joint joint=\"a\" coef=\"1\"/><joint "
     "joint=\"b\" coef=\"-1\"/></fixed>\n"
     "<fixed name=\"be\" damping=\"1\"><joint joint=\"b\" coef=\"0.3\"/><joint joint=\"t-e\" "
     "coef=\"-1\"/></fixed></tendon>\n"
     "<actuator><motor name=\"ma\" joint=\"a\"/><motor name=\"mb\" joint=\"b\" "
     "gear=\"3\"/><position name=\"mt\" tendon=\"be\" kp=\"4\"/><motor name=\"md\" joint=\"d\" "
     "gear=\"2\"/></actuator>\n"
     "<contact><exclude body1=\"upper\" body2=\"pod\"/></contact>\n"
     "<keyframe><key name=\"home\" qpos=\"0.4 -0.5 0.6 0.7\" qvel=\"1 -2 3 -4\" ctrl=\"1 2 3 "
     "4\"/></keyframe></mujoco>\n"},
    {"attached/classes.xml",
     "<mujocoinclude><default><joint stiffness=\"3\"/><default class=\"arm\"><joint "
     "damping=\"0.1\"/></default></default></mujocoinclude>\n"},
    {"attached/tip.xml",
     "<mujoco model=\"tip\"><default><geom density=\"2000\"/></default><worldbody><body "
     "name=\"t\"><joint name=\"e\" axis=\"0 1 0\"/><geom size=\".03\" pos=\".05 0 "
     "0\"/></body></worldbody></mujoco>\n"}};
static const Accelerated of_attached[] = {
    {"swing.angle'", 17.874742938205},    {"l_a.angle'", -92.1249872073355},
    {"l_b.angle'", 40.0647607494539},     {"l_t-e.angle'", 3616.10574490155},
    {"l_d.angle'", -1945.2155831247},     {"r_b.angle'", 144.992588347662},
    {"r_t-e.angle'", -4443.94479329846},  {"w_d.angle'", 3103.44827586207},
    {"x_swing.angle'", 23.958541336868},  {"x_l_a.angle'", -237.035500742186},
    {"x_l_b.angle'", -299.07033457653},   {"x_l_t-e.angle'", 13455.8838474348},
    {"x_l_d.angle'", -5050.51756099796},  {"x_r_b.angle'", 437.633320760398},
    {"x_r_t-e.angle'", -8333.39235778809}};

static void write_attached(void) {
  mkdir(CPODES_TEST_FOLDER "/attached", 0777);
  for (int i = 0; i < 3; i++) write_file(attached[i][0], attached[i][1]);
}

START_TEST(attached_files_move_as_in_mujoco) {
  write_attached();
  assert_accelerates(read_good(CPODES_TEST_FOLDER "/robot.xml", attaching, ""), of_attached, 15);
}
END_TEST

/* Its keyframe is that of its joints and actuators. */
START_TEST(an_attached_file_has_its_keyframe) {
  static const char *const names[] = {"l_a.angle", "l_b.angle", "l_t-e.angle", "l_d.angle"};
  static const double qpos[] = {0.4, -0.5, 0.6, 0.7}, qvel[] = {1, -2, 3, -4};
  write_attached();
  CPBodies b = read_good(CPODES_TEST_FOLDER "/robot.xml", attaching, "start=l_home");
  CPMech mech;
  char rate[60];
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  for (int i = 0; i < 4; i++) {
    snprintf(rate, sizeof rate, "%s'", names[i]);
    ck_assert_double_eq_tol(entries(y)[thing_named(b, CP_STATE, names[i])], qpos[i], 1e-15);
    ck_assert_double_eq_tol(entries(y)[thing_named(b, CP_STATE, rate)], qvel[i], 1e-15);
  }
  ck_assert_double_eq(entries(y)[thing_named(b, CP_STATE, "r_b.angle")], 0);
  ck_assert_double_eq(parameter(b, "l_mb.control"), 2);
  ck_assert_double_eq(parameter(b, "r_mb.control"), 0);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* Cables, also copied, whose actuators follow: qacc of MuJoCo 3.3.7, the joints at rest */
static const char cables[] =
    "<mujoco><default><joint damping=\"5\"/><geom density=\"1\"/></default><worldbody>\n"
    "<replicate count=\"2\" offset=\"0 1 0\"><body name=\"b\" pos=\"0 0 1\"><joint name=\"j\" "
    "axis=\"0 1 0\" damping=\"0\"/><geom size=\".1\" pos=\".1 0 0\" density=\"1000\"/>\n"
    "<composite prefix=\"c\" type=\"cable\" curve=\"cos(s) sin(s) s\" count=\"4\" size=\"0.4 0.3 "
    "1.5\" offset=\"0.1 0 0\" quat=\"0.8 0 0.6 0\" initial=\"none\">\n"
    "<joint kind=\"main\" damping=\"0.02\"/><geom type=\"cylinder\" "
    "size=\"0.02\"/></composite></body></replicate>\n"
    "<frame pos=\"1 0 1\" euler=\"0 0 20\"><composite prefix=\"s\" type=\"cable\" vertex=\"0 0 0  "
    "0 0 0.25  0 0 0.5  0 0 0.75\" initial=\"ball\"><geom type=\"box\" size=\"1 0.02 "
    "0.01\"/></composite></frame>\n"
    "</worldbody><actuator><motor name=\"m\" joint=\"j\"/></actuator></mujoco>\n";
static const Accelerated of_cables[] = {
    {"j0.angle'", 51.1381982334663},    {"cJ_10.wx", 58.9442940597414},
    {"cJ_10.wy", 39.3978269270606},     {"cJ_10.wz", -3.30189308387789},
    {"cJ_last0.wx", 33.595137245912},   {"cJ_last0.wy", 22.3558458288726},
    {"cJ_last0.wz", 12.8619168323423},  {"j1.angle'", 39.1662446070979},
    {"cJ_11.wx", 912.826801014594},     {"cJ_11.wy", 47.2701770811781},
    {"cJ_11.wz", 3.2154109355396},      {"cJ_last1.wx", 318.765948499386},
    {"cJ_last1.wy", 752.794812295693},  {"cJ_last1.wz", 467.988736820495},
    {"sJ_first.wx", -7.98000000000027}, {"sJ_first.wy", 12.149269893809},
    {"sJ_first.wz", -11.1664771218504}, {"sJ_1.wx", -32.0399999999995},
    {"sJ_1.wy", 49.7349083438462},      {"sJ_1.wz", -47.6088019336473},
    {"sJ_last.wx", -70.5719999999942},  {"sJ_last.wy", 108.287430990384},
    {"sJ_last.wz", -98.4398935736533}};

START_TEST(cables_are_chains_as_in_mujoco) {
  assert_accelerates(read_good("robot.xml", cables, ""), of_cables, 23);
}
END_TEST

/* Tendons from a joint to each of several copies, with their actuators: qacc of MuJoCo 4.0.0 */
static const char tied[] =
    "<mujoco><worldbody><body><joint name=\"o\" axis=\"0 1 0\"/><geom pos=\".2 0 0\" "
    "size=\".1\"/></body>\n"
    "<replicate count=\"2\" offset=\"0 1 0\"><body pos=\"0 1 0\"><joint name=\"r\" axis=\"0 1 "
    "0\"/><geom pos=\".3 0 0\" size=\".1\"/></body></replicate></worldbody>\n"
    "<tendon><fixed name=\"t\" stiffness=\"50\"><joint joint=\"o\" coef=\"1\"/><joint joint=\"r\" "
    "coef=\"-2\"/></fixed></tendon>\n"
    "<actuator><general tendon=\"t\" biastype=\"affine\" biasprm=\"0 0 "
    "-3\"/></actuator></mujoco>\n";
static const Accelerated of_tied[] = {{"o.angle'", 47.6235822967771},
                                      {"r0.angle'", 151.574456120724},
                                      {"r1.angle'", -94.0275164556392}};

START_TEST(what_refers_to_copies_and_to_others_is_copied) {
  assert_accelerates(read_good("robot.xml", tied, ""), of_tied, 3);
}
END_TEST

/* Reads a file, and what is written from it in MJCF. */
static CPBodies by_way_of_mjcf(const char *text) {
  CPBodies b;
  file        = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.writes = 2;
  ck_assert_int_eq(CPBodiesRead(CPODES_TEST_FOLDER "/robot.xml", text, strlen(text), &b, &file),
                   CP_SUCCESS);
  CPBodies back = read_good("back.xml", file.written, "");
  CPBodiesFree(&b);
  return back;
}

START_TEST(files_written_in_mjcf_move_as_in_mujoco) {
  write_attached();
  assert_accelerates(by_way_of_mjcf(copies), of_copies, 7);
  assert_accelerates(by_way_of_mjcf(attaching), of_attached, 15);
  assert_accelerates(by_way_of_mjcf(cables), of_cables, 23);
}
END_TEST

/* A keyframe has the start, with a free body whose frame is not at its centre of mass. */
START_TEST(files_written_in_mjcf_start_as_their_originals) {
  CPBodies b;
  file            = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.writes     = 2;
  file.parameters = "start=home";
  ck_assert_int_eq(CPBodiesRead("robot.xml", moving, strlen(moving), &b, &file), CP_SUCCESS);
  CPBodies back = read_good("back.xml", file.written, "start=start");
  N_Vector y = CPBodiesState(b, test_context), z = CPBodiesState(back, test_context);
  ck_assert_int_eq((int)N_VGetLength(y), (int)N_VGetLength(z));
  for (int i = 0; i < CPBodiesCount(b, CP_STATE); i++) {
    const char *name = thing_at(b, CP_STATE, i).name;
    ck_assert_msg(fabs(entries(y)[i] - entries(z)[thing_named(back, CP_STATE, name)]) < 1e-14, "%s",
                  name);
  }
  N_VDestroy(y);
  N_VDestroy(z);
  CPBodiesFree(&back);
  CPBodiesFree(&b);
}
END_TEST

/* Each coordinate becomes a joint of its own, whose names count from 1. */
START_TEST(joints_of_several_coordinates_start_in_mjcf_as_they_are) {
  static const char text[] =
      "run: {coordinates: joint}\nbodies:\n"
      "- {name: a, mass: 1, inertia: [1, 1, 1], at: [0.1, 0.2, 0.3], velocity: [0.2, 1, 0.5], "
      "omega: [0.4, 2, 1]}\n"
      "- {name: p, mass: 2, inertia: [1, 2, 1.5], at: [1, 0, 0.1], velocity: [0, 0.3, 0]}\n"
      "joints:\n- {name: c, kind: cylindrical, b: a, at: [0.1, 0.2, 0.3], axis: [0.2, 1, 0.5]}\n"
      "- {name: f, kind: planar, a: a, b: p, at: [1, 0, 0], axis: [0, 0, 1]}\n";
  static const char *const names[][2] = {{"c.displacement'", "c.displacement'"},
                                         {"c.1.angle'", "c_2.angle'"},
                                         {"f.displacement'", "f.displacement'"},
                                         {"f.1.displacement'", "f_2.displacement'"},
                                         {"f.2.angle'", "f_3.angle'"}};
  CPBodies b;
  file        = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.writes = 2;
  ck_assert_int_eq(CPBodiesRead("joints.yaml", text, strlen(text), &b, &file), CP_SUCCESS);
  CPBodies back = read_good("back.xml", file.written, "start=start");
  N_Vector y = CPBodiesState(b, test_context), z = CPBodiesState(back, test_context);
  for (int i = 0; i < 5; i++) {
    const int from = thing_named(b, CP_STATE, names[i][0]),
              to   = thing_named(back, CP_STATE, names[i][1]);
    ck_assert_msg(from >= 0 && to >= 0, "%s", names[i][0]);
    ck_assert_double_gt(fabs(entries(y)[from]), 0.1);
    ck_assert_double_eq_tol(entries(z)[to], entries(y)[from], 1e-14);
  }
  N_VDestroy(y);
  N_VDestroy(z);
  CPBodiesFree(&back);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(wrong_attachments_and_cables_are_refused) {
  static const char *const wrong[][2] = {
      {"<attach model=\"m\"/>", "prefix must be given"},
      {"<attach prefix=\"p\"/>", "model, body or frame must be given"},
      {"<attach model=\"n\" prefix=\"p\"/>", "there is no model \"n\""},
      {"<attach model=\"m\" body=\"n\" prefix=\"p\"/>", "there is no body \"n\""},
      {"<attach frame=\"n\" prefix=\"p\"/>", "there is no frame \"n\""},
      {"<composite type=\"cloth\"/>", "type must be cable"},
      {"<composite type=\"cable\" count=\"4\"/>", "must be a capsule, a cylinder or a box"},
      {"<composite type=\"cable\" count=\"1\"><geom type=\"box\"/></composite>",
       "two points or more"},
      {"<composite type=\"cable\" count=\"3\" curve=\"tan(s)\"><geom type=\"box\"/></composite>",
       "curve must be"},
      {"<composite type=\"cable\" count=\"3\" curve=\"s\"><geom type=\"box\" "
       "size=\"a\"/></composite>",
       "size must be"}};
  char text[600];
  write_attached();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(text, sizeof text,
             "<mujoco><asset><model name=\"m\" file=\"attached/tip.xml\"/></asset><worldbody>\n%s"
             "</worldbody></mujoco>",
             wrong[i][0]);
    assert_refused(read_with(CPODES_TEST_FOLDER "/r.xml", text, ""),
                   CPODES_TEST_FOLDER "/r.xml:2:", wrong[i][1]);
  }
  write_file("attached/tip.xml",
             "<mujoco><asset><model name=\"m\" file=\"tip.xml\"/></asset><worldbody>"
             "<attach model=\"m\" prefix=\"p\"/></worldbody></mujoco>");
  assert_refused(read_with(CPODES_TEST_FOLDER "/r.xml",
                           "<mujoco><asset><model name=\"m\" file=\"attached/tip.xml\"/></asset>"
                           "<worldbody><attach model=\"m\" prefix=\"p\"/></worldbody></mujoco>",
                           ""),
                 "attached/tip.xml:1:", "contain each other");
}
END_TEST

/* Each pair of bodies may touch, up to the bound; contacts with the floor remain. */
START_TEST(crowds_do_not_touch_each_other) {
  char text[400];
  for (int crowd = 0; crowd < 2; crowd++) {
    const int n = crowd ? 70 : 50;
    snprintf(text, sizeof text,
             "<mujoco><worldbody><geom type=\"plane\" size=\"1 1 1\"/>\n<replicate count=\"%d\" "
             "offset=\"1 0 0\"><body pos=\"0 0 1\"><freejoint/><geom size=\"0.1\"/></body>"
             "</replicate></worldbody></mujoco>",
             n);
    CPBodies b = read_good("r.xml", text, "");
    ck_assert_int_eq(CPBodiesCount(b, CP_CONTACT), crowd ? n : n + n * (n - 1) / 2);
    ck_assert_int_eq(strstr(file.notes, "of more than 2000 pairs") != NULL, crowd);
    CPBodiesFree(&b);
  }
}
END_TEST

START_TEST(copies_have_bounds) {
  static const char *const wrong[][2] = {{"", "count must be given"},
                                         {"count=\"0\"", "count must be positive, and is 0"},
                                         {"count=\"300000\"", "replicate makes more than"},
                                         {"count=\"2\" offset=\"1\"", "offset must be 3 finite"}};
  char text[400];
  for (int i = 0; i < 4; i++) {
    snprintf(
        text, sizeof text,
        "<mujoco><worldbody>\n<replicate %s><body><joint/><geom size=\"1\"/></body></replicate>"
        "</worldbody></mujoco>",
        wrong[i][0]);
    assert_refused(read_with("r.xml", text, ""), "r.xml:2:", wrong[i][1]);
  }
}
END_TEST

START_TEST(springs_and_rotors_of_ball_joints_are_left_out) {
  CPBodies b = read_good(
      "r.xml",
      "<mujoco><worldbody><body><joint/><geom size=\"1\"/><body name=\"a\">\n<joint name=\"j\" "
      "type=\"ball\" stiffness=\"1\" armature=\"0.1\" damping=\"2\"/><geom "
      "size=\"1\"/></body></body></worldbody></mujoco>",
      "");
  ck_assert_str_eq(file.notes, "r.xml:2:1: the stiffness of ball and free joints\nr.xml:2:1: the "
                               "armature of ball joints of bodies that move\n");
  ck_assert_double_eq(parameter(b, "j_spring.drag"), 2);
  CPBodiesFree(&b);
}
END_TEST

/* A body with the mass m = 2 at c = (1/2, 0, 0) of its frame and the moment J_yy = 3, whose free joint has the armature a = 1/4, begins
 * to move from rest with the accelerations z'' and w' about y of the origin, where
 *
 *   (m + a) z'' - m c w' = -m g,    -m c z'' + (J_yy + m c^2 + a) w' = m g c
 *
 * On a ball joint of the world z'' = 0. */
START_TEST(free_bodies_have_rotors) {
  static const double m = 2, c = 0.5, J = 3, a = 0.25, g = 9.81;
  static const sunrealtype origin[3];
  for (int ball = 0; ball < 2; ball++) {
    char text[500];
    CPMech mech;
    sunrealtype udot[6], jacobian[36];
    snprintf(text, sizeof text,
             "<mujoco><worldbody><body name=\"b\" pos=\"1 2 3\"><joint name=\"j\" type=\"%s\" "
             "armature=\"0.25\"/><inertial pos=\"0.5 0 0\" mass=\"2\" diaginertia=\"1 3 "
             "3.5\"/></body></worldbody></mujoco>",
             ball ? "ball" : "free");
    CPBodies b = read_good("r.xml", text, "");
    ck_assert_str_eq(file.notes, "");
    N_Vector y        = build_as(b, CP_JOINT_COORDINATES, &mech);
    CPBodyFrame frame = CP_INIT(CPBodyFrame);
    frame.jacobian    = jacobian;
    ck_assert_int_eq(CPMechAccelerations(mech, 0, y, udot, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetFrame(mech, 0, origin, y, &frame), CP_SUCCESS);
    sunrealtype z = frame.bias[2], w = frame.bias[4];
    for (int k = 0; k < (int)equations_of(mech).nu; k++)
      z += jacobian[6 * k + 2] * udot[k], w += jacobian[6 * k + 4] * udot[k];
    const double D = (m + a) * (J + m * c * c + a) - m * m * c * c, about = J + m * c * c + a;
    ck_assert_double_eq_tol(z, ball ? 0 : (-m * g * about + m * m * g * c * c) / D, 1e-13);
    ck_assert_double_eq_tol(w, ball ? m * g * c / about : a * m * g * c / D, 1e-13);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

START_TEST(deformable_bodies_and_plugins_are_left_out) {
  CPBodies b =
      read_good("r.xml",
                "<mujoco>\n<extension><plugin plugin=\"p\"/></extension><worldbody>\n<flexcomp "
                "name=\"f\"/><body><joint/><geom size=\"1\" contype=\"0\" "
                "conaffinity=\"0\"/><plugin/></body></worldbody></mujoco>",
                "");
  ck_assert_str_eq(file.notes, "r.xml:2:1: plugins\nr.xml:3:1: deformable bodies (flexcomp)\n");
  CPBodiesFree(&b);
}
END_TEST

/* Three hinges on one body, like the hips of humanoids; these do not meet. */
static const char hip[] =
    "<mujoco><worldbody><body name=\"a\" pos=\"0 0 1\"><joint name=\"x\" axis=\"1 0 0\" pos=\"0 .1 "
    "0\" stiffness=\"7\" springref=\"260\"/>"
    "<joint name=\"y\" axis=\"1 2 0\" armature=\".02\" damping=\".3\"/><joint name=\"z\" axis=\"0 "
    "1 1\" pos=\".1 0 .2\" ref=\"20\"/>"
    "<geom type=\"box\" size=\".1 .2 .3\" pos=\".1 .2 -.3\"/></body></worldbody></mujoco>";
/* qacc of MuJoCo 4.0.0 at q = (0.3, -0.4, 0.5), q' = (1, -2, 3) */
static const double of_hip[] = {19.152861156808697, -28.536845441082953, 21.964270562444963};

START_TEST(any_joints_in_a_row_accelerate_as_in_mujoco) {
  static const sunrealtype state[] = {0.3, -0.4, 0.5, 1, -2, 3};
  CPBodies b                       = read_good("robot.xml", hip, "");
  CPMech mech;
  sunrealtype a[3];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_ABSOLUTE), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(b)),
                     "x_spring: the free angle must be at most half a turn");
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  for (int k = 0; k < 6; k++) entries(y)[k] = state[k];
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(a[k], of_hip[k], 1e-12 * fabs(of_hip[1]));
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* gravcomp carries a part of the weight of a body, whose children, also those without joints, have their own: at rest
 * m a = -(1 - c) m g; c of the whole body is 2/3 (0.5 * 2 + 1 * 1) / 3. settotalmass changes all masses alike. */
START_TEST(gravity_compensation_carries_a_part_of_the_weight) {
  static const char *const compilers[] = {"", "<compiler settotalmass=\"12\"/>"};
  for (int i = 0; i < 2; i++) {
    char text[1000];
    CPMech mech;
    CPSensor sensor = CP_INIT(CPSensor);
    snprintf(text, sizeof text,
             "<mujoco>%s<option gravity=\"0 0 -9\"/><worldbody><body name=\"a\" "
             "gravcomp=\"0.5\"><freejoint/>"
             "<inertial pos=\"0 0 0\" mass=\"2\" diaginertia=\"1 1 1\"/><body gravcomp=\"1\">"
             "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 "
             "1\"/></body></body></worldbody></mujoco>",
             compilers[i]);
    CPBodies b = read_good("r.xml", text, "");
    ck_assert_str_eq(file.notes, "");
    ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(b, test_context);
    ck_assert_int_eq(CPMechGetSensor(mech, "a.acceleration", 0, y, &sensor), CP_SUCCESS);
    ck_assert_double_eq_tol(sensor.value[2], -9 * (1 - 2 / 3.0), 1e-14);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

/* Two arms of length 1, whose end is at (1.2, 0): the elbow is at +- acos(-0.28), and the shoulder at -+ acos(0.6). The position that is
 * nearest to the guess has the upper signs. */
static const struct {
  const char *range;
  double shoulder, elbow;
  int is_told;
} elbows[] = {
    {"", -0.92729521800161219, 1.8545904360032244, 0},
    {"range=\"-1 3\"", -0.92729521800161219, 1.8545904360032244, 0},
    {"range=\"-3 0.1\"", 0.92729521800161219, -1.8545904360032244, 1},
    {"range=\"-1 1\"", -0.92729521800161219, 1.8545904360032244, 0}}; /* Neither is within it. */

START_TEST(loops_close_within_limits_if_they_can) {
  char text[1000];
  snprintf(text, sizeof text,
           "<mujoco><compiler angle=\"radian\"/><worldbody><site name=\"w\" pos=\"1.2 0 0\"/>"
           "<body name=\"a\"><joint name=\"h\"/><geom size=\".1\" pos=\".5 0 0\"/>"
           "<body name=\"b\" pos=\"1 0 0\"><joint name=\"k\" %s/><geom size=\".1\" pos=\".5 0 0\"/>"
           "<site name=\"e\" pos=\"1 0 0\"/></body></body>"
           "<body name=\"beside\" pos=\"1 2 3\"><freejoint/><geom size=\".1\"/></body></worldbody>"
           "<equality><connect site1=\"e\" site2=\"w\"/></equality></mujoco>",
           elbows[_i].range);
  for (int i = 0; i < (elbows[_i].is_told ? 4 : 2); i++) { /* also with a second, wider limit */
    static const CPLimit more = {CP_NEW_LIMIT("more"), .of = {{"k", 0}}, .lower = -2.9, .upper = 3};
    static const sunrealtype origin[] = {0, 0, 0};
    const int form                    = i % 2;
    CPBodies b =
        read_good("r.xml", text,
                  i % 2 ? "start.h=0.8\nstart.k=0.05" : "start.h=-(-800 mrad)\nstart.k=1/20 rad");
    if (i > 1) add_element(b, &more.head);
    CPMech mech;
    CPAssembly assembly = CP_INIT(CPAssembly);
    sunrealtype h, k, at[3];
    int beside;
    ck_assert_int_eq(CPBodiesSetFormulation(b, form ? CP_JOINT_COORDINATES : CP_ABSOLUTE),
                     CP_SUCCESS);
    ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(b, test_context);
    ck_assert_int_eq(CPMechAssemble(mech, 0, y, &assembly), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetCoordinate(mech, 0, y, &h, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetCoordinate(mech, 1, y, &k, NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(h, elbows[_i].shoulder, 1e-9);
    ck_assert_double_eq_tol(k, elbows[_i].elbow, 1e-9);
    ck_assert_int_eq(CPBodiesFind(b, CP_BODY, "beside", &beside), CP_SUCCESS);
    ck_assert_int_eq(body_point(mech, beside, origin, y, at, NULL), CP_SUCCESS);
    for (int l = 0; l < 3; l++) ck_assert_double_eq_tol(at[l], l + 1, 1e-12);
    ck_assert_int_eq(strstr(assembly.notes, "within all limits") != NULL, elbows[_i].is_told);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

/* A leg of two links of length a that its file describes folded, where the foot, on a slide, is at the hip: there the loop is singular,
 * and three joints are outside their limits. It starts within them, closed: the foot is at 2 a sin theta below the hip, the
 * angle of the knee is 2 theta. What the user gives within them is not changed. */
START_TEST(folded_loops_start_within_limits) {
  static const sunrealtype a = 0.38, low[] = {0.15, 0.17, 0.35}, high[] = {0.7, 1.2, 2.4};
  static const char text[] =
      "<mujoco><compiler angle=\"radian\"/><worldbody><body name=\"foot\">"
      "<joint name=\"length\" type=\"slide\" axis=\"0 0 -1\" range=\"0.15 0.7\"/><geom "
      "size=\".05\"/>"
      "</body><body name=\"thigh\"><joint name=\"hip\" axis=\"0 1 0\" range=\"0.17 1.2\"/>"
      "<geom size=\".05\" pos=\".2 0 0\"/><body name=\"shank\" pos=\".38 0 0\">"
      "<joint name=\"knee\" axis=\"0 -1 0\" range=\"0.35 2.4\"/><geom size=\".05\" pos=\"-.2 0 "
      "0\"/>"
      "</body></body></worldbody><equality><connect body1=\"foot\" body2=\"shank\" anchor=\"0 0 "
      "0\"/>"
      "</equality></mujoco>";
  for (int given = 0; given < 2; given++) {
    CPBodies b =
        read_good("leg.xml", text,
                  given ? "start.length=0.3643634093391943\nstart.hip=0.5\nstart.knee=1" : "");
    CPMech mech;
    sunrealtype x[3];
    ck_assert_int_eq(strstr(file.remarks, "changed: starts of joints to their limits") != NULL,
                     !given);
    ck_assert_int_eq(CPBodiesSetFormulation(b, _i ? CP_JOINT_COORDINATES : CP_ABSOLUTE), CP_SUCCESS);
    ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(b, test_context);
    ck_assert_msg(CPMechAssemble(mech, 0, y, NULL) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    for (int i = 0; i < 3; i++) {
      ck_assert_int_eq(CPMechGetCoordinate(mech, i, y, &x[i], NULL), CP_SUCCESS);
      ck_assert_double_ge(x[i], low[i] - 1e-9);
      ck_assert_double_le(x[i], high[i] + 1e-9);
    }
    ck_assert_double_eq_tol(x[0], 2 * a * sin(x[1]), 1e-9);
    ck_assert_double_eq_tol(x[2], 2 * x[1], 1e-9);
    if (given) ck_assert_double_eq_tol(x[1], 0.5, 1e-9);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

/* An arm whose elbow cannot be straight, as that of a Panda, but is so in the file: it starts at the limit, which acts, and so does one
 * that a keyframe or the user starts beyond it. */
START_TEST(joints_start_at_limits_that_the_pose_violates) {
  static const char text[] = "<mujoco><compiler angle=\"radian\"/><worldbody><body><joint "
                             "name=\"shoulder\" axis=\"0 1 0\" "
                             "range=\"-1 1\"/><geom size=\".1\" pos=\".5 0 0\"/><body pos=\"1 0 "
                             "0\"><joint name=\"elbow\" axis=\"0 "
                             "1 0\" range=\"-3 -.07\"/><geom name=\"hand\" size=\".1\" pos=\".5 0 "
                             "0\"/></body></body></worldbody>"
                             "<keyframe><key name=\"up\" qpos=\"-1.5 -2\"/></keyframe></mujoco>";
  static const struct {
    const char *settings;
    double shoulder, elbow;
  } starts[] = {{"", 0, -0.07}, {"start=up", -1, -2}, {"start.elbow=-3.5", 0, -3}};
  for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
    CPBodies b = read_good("arm.xml", text, starts[k].settings);
    CPMech mech;
    sunrealtype x[2];
    int i;
    ck_assert_str_eq(file.notes, "");
    ck_assert_mentions(file.remarks, "changed: starts of joints to their limits");
    ck_assert_int_eq(CPBodiesFind(b, CP_CONTACT, "elbow_limit_upper", &i), CP_SUCCESS);
    ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
    N_Vector y = CPBodiesState(b, test_context);
    for (i = 0; i < 2; i++)
      ck_assert_int_eq(CPMechGetCoordinate(mech, i, y, &x[i], NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(x[0], starts[k].shoulder, 1e-15);
    ck_assert_double_eq_tol(x[1], starts[k].elbow, 1e-15);
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

/* Bullet, Drake and Gazebo hold a joint whose limits are equal: a hinge at 0.3 turns the arm behind it, a slide at 0.2 moves it on, to
 * (cos 0.3, sin 0.3) (1 + 0.2). In files for Bullet a lower limit above the upper one means none. */
START_TEST(equal_limits_hold_and_crossed_ones_do_not_limit) {
  static const char text[] =
      "<robot name=\"r\"><link name=\"base\"/>" LINK("a", "1", ROUND) LINK("b", "1", ROUND)
          LINK("c", "1", ROUND) JOINT("h", "revolute", "base", "a",
                                      "<axis xyz=\"0 0 1\"/><limit lower=\"0.3\" upper=\"0.3\" "
                                      "effort=\"0\" velocity=\"0\"/>")
              JOINT("s", "prismatic", "a", "b",
                    "<origin xyz=\"1 0 0\"/><limit lower=\"0.2\" upper=\"0.2\" effort=\"0\" "
                    "velocity=\"0\"/>")
                  JOINT("free", "revolute", "b", "c",
                        "<axis xyz=\"0 0 1\"/><limit lower=\"1\" upper=\"-1\" effort=\"0\" "
                        "velocity=\"0\"/>") "</robot>";
  CPBodies b = read_good("r.urdf", text, "");
  CPMech mech;
  sunrealtype x[3];
  ck_assert_str_eq(file.notes, "");
  ck_assert_mentions(file.remarks,
                     "changed: joints whose limits are equal are held there (2 times)");
  ck_assert_mentions(file.remarks,
                     "changed: joints whose lower limit is above the upper one are not limited");
  N_Vector y = build_as(b, CP_JOINT_COORDINATES, &mech);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
  ck_assert_int_eq(equations_of(mech).nu, 1);
  ck_assert_int_eq(
      body_point(mech, thing_named(b, CP_BODY, "c"), (sunrealtype[3]){0, 0, 0}, y, x, NULL),
      CP_SUCCESS);
  ck_assert_double_eq_tol(x[0], 1.2 * cos(0.3), 1e-12);
  ck_assert_double_eq_tol(x[1], 1.2 * sin(0.3), 1e-12);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* Two rods of length 1 whose ends meet, on hinges that are 1.2 apart: the first one stands at the angle arccos 0.6, which its limits exclude.
 * They are left out and told, and the pendulum beside the rods keeps those that it can have. */
START_TEST(limits_within_which_no_loop_closes_are_left_out) {
  static const char text[] =
      "<mujoco><compiler angle=\"radian\"/><worldbody><body><joint name=\"A\" axis=\"0 -1 0\" "
      "range=\"-.2 .2\"/><geom size=\".05\" pos=\".5 0 0\"/><site name=\"tip\" pos=\"1 0 "
      "0\"/></body>"
      "<body pos=\"1.2 0 0\"><joint name=\"B\" axis=\"0 -1 0\"/><geom size=\".05\" pos=\"-.3 0 "
      ".4\"/><site name=\"end\" pos=\"-.6 0 .8\"/></body>"
      "<body pos=\"0 1 0\"><joint name=\"C\" axis=\"0 -1 0\" range=\".1 2\"/><geom size=\".05\" "
      "pos=\".5 0 0\"/></body></worldbody>"
      "<equality><connect site1=\"tip\" site2=\"end\"/></equality></mujoco>";
  CPBodies b = read_good("rods.xml", text, "");
  CPMech mech;
  sunrealtype x;
  int i;
  ck_assert_mentions(file.notes, "limits of joints within which no loop closes\n");
  ck_assert_int_ne(CPBodiesFind(b, CP_CONTACT, "A_limit_lower", &i), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesFind(b, CP_CONTACT, "C_limit_lower", &i), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetCoordinate(mech, 0, y, &x, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(x, acos(0.6), 1e-9);
  ck_assert_int_eq(CPMechGetCoordinate(mech, 2, y, &x, NULL), CP_SUCCESS);
  ck_assert_double_eq_tol(x, 0.1, 1e-9);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A file of one body is that of something that falls: a part of mass 1 at the origin and one of mass 3 at x = 0.4 */
static const char thrown[] = "<robot name=\"r\">" LINK("a", "1", ROUND) LINK("b", "3", ROUND)
    JOINT("j", "fixed", "a", "b", "<origin xyz=\"0.4 0 0\"/>") "</robot>";

START_TEST(a_single_body_of_urdf_moves_freely) {
  CPBodies b = read_good("r.urdf", thrown, "");
  ck_assert_mentions(file.remarks, "changed: the base to a free one, as no joint moves");
  ck_assert_int_eq(CPBodiesCount(b, CP_BODY), 1);
  ck_assert_double_eq_tol(parameter(b, "a.mass"), 4, 1e-15);
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  ck_assert_int_eq((int)equations_of(mech).nu, 6);
  CPMechFree(&mech);
  CPBodiesFree(&b);
  ck_assert_ptr_null(read_with("r.urdf", thrown, "base=fixed"));
  ck_assert_mentions(message, "no body moves");
}
END_TEST

/* A link without a mass, as the plane of many scenes, and a root without one below fixed joints are the ground. */
START_TEST(a_single_link_without_mass_is_the_ground) {
  static const char *const grounds[] = {
      "<robot name=\"r\"><link name=\"a\"/></robot>",
      "<robot name=\"r\">" LINK("a", "0", ROUND) "</robot>",
      "<robot name=\"r\"><link name=\"world\"/>" LINK("a", "1", ROUND)
          JOINT("j", "fixed", "world", "a", "") "</robot>"};
  for (size_t i = 0; i < sizeof grounds / sizeof *grounds; i++) {
    ck_assert_ptr_null(read_with("r.urdf", grounds[i], ""));
    ck_assert_mentions(message, "no body moves");
  }
}
END_TEST

#define LIMB(name, x, geometry)                                                          \
  "<link name=\"" name "\"><inertial><mass value=\"1\"/><inertia " ROUND "/></inertial>" \
  "<collision><origin xyz=\"" x " 0 0\"/><geometry>" geometry "</geometry></collision></link>"
#define NEXT(parent, child) \
  JOINT(child "_joint", "continuous", parent, child, "<origin xyz=\"1 0 0\"/>")

/* Links touch each other, if the user asks for it, unless a joint connects them, also through a link that is fixed; what begins in each other, and meshes if the user
 * does not ask for them, are told. The mesh is a tetrahedron with a hollow, in a package above the robot, 2 m from the first link. */
START_TEST(links_of_urdf_touch_unless_they_are_neighbours) {
  static const char text[] = "<robot name=\"r\">" LIMB("a", "0", "<sphere radius=\"0.5\"/>")
      LIMB("b", "0", "<box size=\"0.4 0.4 0.4\"/>")
          LIMB("f", "0", "<capsule radius=\"0.1\" length=\"0.3\"/>")
              LIMB("c", "0", "<mesh filename=\"package://kit/tip.obj\"/>")
                  LIMB("d", "-2.8", "<sphere radius=\"0.1\"/>")
                      LIMB("bad", "0", "<sphere radius=\"x\"/>") JOINT("fix", "fixed", "b", "f", "")
                          NEXT("a", "b") NEXT("f", "c") NEXT("c", "d") NEXT("d", "bad") "</robot>";
  static const char tip[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.1 0.1 0.1\n"
                            "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 5\nf 3 4 5\nf 4 2 5\n";
  mkdir(CPODES_TEST_FOLDER "/kit", 0777);
  mkdir(CPODES_TEST_FOLDER "/kit/urdf", 0777);
  write_file("kit/tip.obj", tip);
  static const struct {
    const char *setting;
    int contacts;
  } cases[] = {{"base=free", 0}, {"base=free\ncontacts=yes", 2}, {"base=free\ncontacts=meshes", 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CPBodies b = read_good(CPODES_TEST_FOLDER "/kit/urdf/r.urdf", text, cases[i].setting);
    ck_assert_int_eq(CPBodiesCount(b, CP_CONTACT), cases[i].contacts);
    if (i == 0) ck_assert_mentions(file.remarks, "touch each other with contacts=yes or meshes");
    if (i > 0) { /* 0.5 + 0.1 - 0.2 */
      ck_assert_mentions(file.notes, "the contact of a and d, which begin 0.4 m in each other");
      ck_assert_mentions(file.notes, "collision shapes that are not known, or have no size");
    }
    if (i == 1) ck_assert_mentions(file.notes, "meshes of a robot with itself (contacts=meshes)");
    if (i == 2) {
      ck_assert_mentions(file.remarks, "the shape of c, which is not convex, to its convex hull");
      ck_assert_ptr_nonnull(strstr(thing_at(b, CP_CONTACT, 0).name, "c_a"));
    }
    CPBodiesFree(&b);
  }
  assert_refused(read_with("r.urdf", text, "contacts=some"), "r.urdf:", "yes, no or meshes");
}
END_TEST

/* Bullet's joint of type spherical */
START_TEST(spherical_joints_of_urdf_are_balls) {
  CPBodies b = read_good(
      "r.urdf",
      "<robot name=\"r\">" LINK("base", "0", ROUND)
          LINK("a", "2", ROUND) "<link name=\"tip\"><inertial><origin xyz=\"0.5 0 0\"/><mass "
                                "value=\"3\"/><inertia ixx=\"0\" "
                                "iyy=\"0\" izz=\"0\"/></inertial></link>" JOINT(
                                    "j", "spherical", "base", "a", "<dynamics damping=\"0.1\"/>")
                                    JOINT("k", "fixed", "a", "tip", "") "</robot>",
      "");
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  ck_assert_int_eq((int)equations_of(mech).nu, 3);
  ck_assert_double_eq_tol(parameter(b, "j_spring.drag"), 0.1, 1e-15);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A cross of two hinges has no mass, and the link at the tip none that moves. */
START_TEST(links_of_urdf_need_no_mass) {
  CPBodies b = read_good(
      "r.urdf",
      "<robot name=\"r\"><link name=\"base\"/><link name=\"cross\"/>" LINK(
          "arm", "1", ROUND) "<link name=\"tip\"/><link name=\"tool\"/>" JOINT("pan", "continuous",
                                                                               "base", "cross", "")
          JOINT("tilt", "continuous", "cross", "arm", "<axis xyz=\"0 1 0\"/>")
              JOINT("grip", "prismatic", "arm", "tip", "<limit lower=\"0\" upper=\"1\"/>")
                  JOINT("spin", "continuous", "tip", "tool", "<mimic joint=\"pan\"/>") "</robot>",
      "");
  ck_assert_int_eq(CPBodiesCount(b, CP_BODY), 4);
  ck_assert_mentions(file.remarks, "changed: joints that move no mass are held, as spin\n");
  ck_assert_mentions(file.remarks, "changed: joints that move no mass are held, as grip\n");
  ck_assert_mentions(file.remarks,
                     "without effect in this run: couplings of joints that are held\n");
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  ck_assert_int_eq((int)equations_of(mech).nu, 2);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* -------------------------------------------------------------------------------- loops of URDF -- */

#define ABOUT_Y "<axis xyz=\"0 1 0\"/>"
/* Two arms of two links each, whose tips meet at (0.5, 0, 1): a five-bar linkage */
static const char arms[] = "<robot name=\"five\"><link name=\"base\"/>" LINK("l", "1", ROUND)
    LINK("m", "1", ROUND) LINK("r", "1", ROUND)
        LINK("s", "1", ROUND) "<link name=\"tip_l\"/><link name=\"tip_r\"/>" JOINT(
            "jl", "continuous", "base", "l", ABOUT_Y)
            JOINT("jm", "continuous", "l", "m", "<origin xyz=\"0.2 0 0.5\"/>" ABOUT_Y)
                JOINT("jr", "continuous", "base", "r", "<origin xyz=\"1 0 0\"/>" ABOUT_Y)
                    JOINT("js", "continuous", "r", "s", "<origin xyz=\"-0.2 0 0.5\"/>" ABOUT_Y)
                        JOINT("end_l", "fixed", "m", "tip_l", "<origin xyz=\"0.3 0 0.5\"/>")
                            JOINT("end_r", "fixed", "s", "tip_r",
                                  "<origin xyz=\"-0.3 0 0.5\"/>") "</robot>";

START_TEST(a_yaml_file_beside_urdf_closes_its_loops) {
  static const struct {
    const char *yaml, *rule;
    int rows, freedoms, joints;
  } cases[] = {
      {"closed_loop: [[tip_l, end_r]]\ntype: ['3d']\nname_mot: [jl, jr]\n", NULL, 3, 4, 5},
      {"closed_loop: [[tip_l, tip_r]]\ntype: ['6d']\n", NULL, 5, 3, 5},
      {"closed_loop: [[tip_l, tip_r]]\ntype: ['3d']\njoint_name: [js, jm]\njoint_type: [SPHERICAL, "
       "UJOINT_XY]\n",
       NULL, 3, 7, 6},
      {"closed_loop: []\ntype: []\njoint_name: [js]\njoint_type: [FIXED]\n", NULL, 0, 3, 3},
      {"unlike: 1\n", NULL, 0, 4, 4},
      {"closed_loop: [[tip_l, tip]]\ntype: ['3d']\n",
       "five.yaml:1:15: there is no link or joint \"tip\"", 0, 0, 0},
      {"closed_loop: [[tip_l]]\ntype: ['3d']\n", "five.yaml:1:15: a loop must be a list of two", 0,
       0, 0},
      {"closed_loop: [[tip_l, tip_r]]\ntype: ['5d']\n", "five.yaml:2:8: type must be 3d or 6d", 0,
       0, 0},
      {"closed_loop: [[tip_l, tip_r]]\n", "five.yaml:1:1: each loop must have a type", 0, 0, 0},
      {"closed_loop: 1\n", "five.yaml:1:14: closed_loop must be a list", 0, 0, 0},
      {"closed_loop: []\njoint_name: [js]\njoint_type: [SCREW]\n",
       "five.yaml:2:14: there is no joint_type \"SCREW\"", 0, 0, 0}};
  char path[300];
  write_file("five.urdf", arms);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file("five.yaml", cases[i].yaml);
    for (int yaml = 0; yaml < 2; yaml++) { /* read by either name */
      CPMech mech;
      if (yaml && strstr(cases[i].yaml, "unlike")) continue;
      snprintf(path, sizeof path, "%s/five.%s", CPODES_TEST_FOLDER, yaml ? "yaml" : "urdf");
      CPBodies b = read_bodies(path, NULL, 0, &file, message);
      if (cases[i].rule) {
        ck_assert_ptr_null(b);
        ck_assert_mentions(message, cases[i].rule);
        continue;
      }
      ck_assert_msg(b != NULL, "%s", message);
      ck_assert_int_eq(CPBodiesCount(b, CP_JOINT), cases[i].joints);
      ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
      ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
      ck_assert_int_eq((int)equations_of(mech).np, cases[i].rows);
      ck_assert_int_eq((int)equations_of(mech).nu, cases[i].freedoms);
      N_Vector y = CPBodiesState(b, test_context);
      sunrealtype p[6];
      if (cases[i].rows) { /* The loop, which is the last joint, is between the links that have the tips. */
        const CPDescription loop = thing_at(b, CP_JOINT, cases[i].joints - 1);
        ck_assert_str_eq(thing_at(b, CP_BODY, loop.a).name, "m");
        ck_assert_str_eq(thing_at(b, CP_BODY, loop.b).name, "s");
        ck_assert_int_eq(equations_of(mech).p(0, entries(y), p, CPMechGetUserData(mech)), 0);
        for (int k = 0; k < cases[i].rows; k++) ck_assert_double_eq_tol(p[k], 0, 1e-15);
      }
      N_VDestroy(y);
      CPMechFree(&mech);
      CPBodiesFree(&b);
    }
  }
}
END_TEST

/* The five-bar linkage above, whose tips have the names that onshape-to-robot gives them */
START_TEST(links_named_as_pairs_close_loops) {
  char text[sizeof arms + 200];
  const char *from = arms;
  size_t n         = 0;
  while (*from) {
    const int left = !strncmp(from, "\"tip_l\"", 7), right = !strncmp(from, "\"tip_r\"", 7);
    if (left || right) {
      n += (size_t)sprintf(text + n, "\"closing_tip_%d\"", left ? 1 : 2);
      from += 7;
    } else text[n++] = *from++;
  }
  text[n]    = '\0';
  CPBodies b = read_good("pair.urdf", text, "");
  CPMech mech;
  ck_assert_int_eq(CPBodiesCount(b, CP_JOINT), 5);
  const CPDescription loop = thing_at(b, CP_JOINT, 4);
  ck_assert_str_eq(thing_at(b, CP_BODY, loop.a).name, "m");
  ck_assert_str_eq(thing_at(b, CP_BODY, loop.b).name, "s");
  ck_assert_mentions(file.remarks, "changed: pairs of links closing_NAME_1 and _2 to loops");
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  ck_assert_int_eq((int)equations_of(mech).np, 3);
  N_Vector y = CPBodiesState(b, test_context);
  sunrealtype p[3];
  ck_assert_int_eq(equations_of(mech).p(0, entries(y), p, CPMechGetUserData(mech)), 0);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(p[k], 0, 1e-15);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* -------------------------------------------------------------------------------------- meshes -- */

#define CORNERS                                                                                    \
  "0 0 0 1 0 0 1 0.25 0 0.25 0.25 0 0.25 1 0 0 1 0 0 0 0.5 1 0 0.5 1 0.25 0.5 0.25 0.25 0.5 0.25 " \
  "1 0.5 0 1 0.5"
#define OPEN_FACES                                                                                 \
  "0 1 7 0 7 6 1 2 8 1 8 7 2 3 9 2 9 8 3 4 10 3 10 9 4 5 11 4 11 10 5 0 6 5 6 11 0 2 1 0 3 2 0 5 " \
  "3 3 5 4"
#define FACES OPEN_FACES " 6 7 8 6 8 9 6 9 11 9 10 11"

/* A prism over an L: mass, tensor and centre of mass in the body's axes from MuJoCo 4.0.0. The fourth one lacks its top; MuJoCo
 * keeps the points of the sixth one, which are turned and mirrored, in single precision. */
static const struct {
  const char *mesh;
  double bound, mass, J[6], centre[3];
} meshes[] = {{"inertia=\"legacy\" face=\"" FACES "\"",
               1e-13,
               2.70759367489622,
               {0.257392512000908, 0.257392512000908, 0.410636848796076, 0.108767573981544, 0, 0},
               {0.354018734979244, 0.354018734979244, 0.25}},
              {"inertia=\"convex\" face=\"" FACES "\"",
               1e-13,
               3.59375,
               {0.325308537137684, 0.325308537137684, 0.500877490942033, 0.100309952445653, 0, 0},
               {0.402173913043478, 0.402173913043478, 0.25}},
              {"inertia=\"exact\" face=\"" FACES "\"",
               1e-13,
               2.1875,
               {0.229957217261907, 0.229957217261907, 0.368768601190479, 0.100446428571429, 0, 0},
               {0.339285714285714, 0.339285714285714, 0.25}},
              {"inertia=\"shell\" face=\"" FACES "\"",
               1e-13,
               28.75,
               {3.93823596014496, 3.93823596014496, 5.94938858695657, 1.49796195652175, 0, 0},
               {0.353260869565217, 0.353260869565217, 0.25}},
              {"face=\"" OPEN_FACES "\"",
               1e-13,
               2.30329118489895,
               {0.219718234199094, 0.219718234199095, 0.369401321391743, 0.0975275789423807,
                -0.000808857666400879, -0.00080885766640089},
               {0.356502179187635, 0.356502179187635, 0.214249341001677}},
              {"inertia=\"exact\" face=\"" FACES
               "\" scale=\"-.5 2 1\" refpos=\".25 .5 0\" refquat=\".6 0 .8 0\"",
               1e-7,
               2.1875,
               {0.911038694316767, 0.187615420533648, 0.751651130685303, 0.0281250062018344,
                -0.0186562305209129, 0.192857142464593},
               {0.1325, -0.321428571428571, 0.0157142857142857}},
              {"",
               1e-13,
               3.59375, /* no faces: the convex hull */
               {0.325308537137684, 0.325308537137684, 0.500877490942033, 0.100309952445653, 0, 0},
               {0.402173913043478, 0.402173913043478, 0.25}}};

/* Points on the edges of turned boxes, in single precision as in files of triangles, so that no edge is straight and triangles are as
 * narrow as roundoff. The hull has the volume of the box, up to that precision. */
START_TEST(hulls_of_points_on_edges_have_the_volume_of_the_box) {
  enum { POINTS = 40, LENGTH = 12 * POINTS * 3 * 16 };
  static const sunrealtype half[3] = {0.05, 0.03, 0.02};
  char *text                       = malloc(LENGTH + 512);
  unsigned long long state         = 1;
  ck_assert_ptr_nonnull(text);
  for (int trial = 0; trial < 40; trial++) {
    sunrealtype q[4], size = 0;
    for (int k = 0; k < 4; k++) q[k] = random_number(&state), size += q[k] * q[k];
    const sunrealtype s       = 2 / size,
                      R[3][3] = {{1 - s * (q[2] * q[2] + q[3] * q[3]),
                                  s * (q[1] * q[2] - q[0] * q[3]), s * (q[1] * q[3] + q[0] * q[2])},
                                 {s * (q[1] * q[2] + q[0] * q[3]),
                                  1 - s * (q[1] * q[1] + q[3] * q[3]),
                                  s * (q[2] * q[3] - q[0] * q[1])},
                                 {s * (q[1] * q[3] - q[0] * q[2]), s * (q[2] * q[3] + q[0] * q[1]),
                                  1 - s * (q[1] * q[1] + q[2] * q[2])}};
    int used                  = sprintf(text, "<mujoco><asset><mesh name=\"m\" vertex=\"");
    for (int edge = 0; edge < 12; edge++)
      for (int i = 0; i < POINTS; i++) {
        sunrealtype x[3];
        x[edge % 3]       = (2 * i / (sunrealtype)(POINTS - 1) - 1) * half[edge % 3];
        x[(edge + 1) % 3] = (edge / 3 % 2 ? 1 : -1) * half[(edge + 1) % 3];
        x[(edge + 2) % 3] = (edge / 6 ? 1 : -1) * half[(edge + 2) % 3];
        for (int k = 0; k < 3; k++)
          used += sprintf(text + used, "%.9g ",
                          (float)(R[k][0] * x[0] + R[k][1] * x[1] + R[k][2] * x[2]));
      }
    sprintf(text + used, "\"/></asset><worldbody><body name=\"a\"><freejoint/><geom type=\"mesh\" "
                         "mesh=\"m\" density=\"1000\"/></body></worldbody></mujoco>");
    CPBodies b              = read_good("r.xml", text, "");
    const sunrealtype whole = 8000 * half[0] * half[1] * half[2];
    ck_assert_double_eq_tol(parameter(b, "a.mass"), whole, 1e-6 * whole);
    CPBodiesFree(&b);
  }
  free(text);
}
END_TEST

START_TEST(meshes_have_the_mass_that_mujoco_gives_them) {
  static const char *const fields[] = {"a.J_xx", "a.J_yy", "a.J_zz", "a.J_xy", "a.J_xz", "a.J_yz"};
  char text[1500];
  snprintf(text, sizeof text,
           "<mujoco><asset><mesh name=\"m\" vertex=\"" CORNERS "\" %s/></asset><worldbody>"
           "<body name=\"a\"><freejoint/><geom type=\"mesh\" mesh=\"m\" "
           "density=\"10\"/></body></worldbody></mujoco>",
           meshes[_i].mesh);
  CPBodies b = read_good("r.xml", text, "");
  ck_assert_int_eq(strstr(file.remarks, "changed: the mesh m, which is open") != NULL, _i == 4);
  ck_assert_double_eq_tol(parameter(b, "a.mass"), meshes[_i].mass, meshes[_i].bound * 30);
  for (int k = 0; k < 6; k++)
    ck_assert_double_eq_tol(parameter(b, fields[k]), meshes[_i].J[k], meshes[_i].bound * 6);
  N_Vector y = CPBodiesState(b, test_context);
  for (int k = 0; k < 3; k++)
    ck_assert_double_eq_tol(entries(y)[k], meshes[_i].centre[k], meshes[_i].bound);
  N_VDestroy(y);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(wrong_lists_of_meshes_are_refused) {
  static const char *const wrong[][2] = {
      {"vertex=\"0 0 0 1 0 0 0 1 0 1 1 0\"", "the mesh \"m\" encloses no volume"},
      {"vertex=\"0 0 0 1 0 0 0 1 0\"", "has less than four points"},
      {"vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\" face=\"0 1 4\"", "has a face with an undefined corner"},
      {"vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\" face=\"0 1 -1\"", "has a face with an undefined corner"},
      {"inertia=\"exact\" vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\" face=\"0 1 2 0 3 1 0 2 3 1 3 2\"",
       "has triangles that point inwards"},
      {"vertex=\"0 0 zero\"", "vertex must be"},
      {"builtin=\"sphere\"", "must have a file or vertices"},
      {"vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\" refquat=\"0 0 0 0\"", "refquat must not be zero"}};
  char text[600];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(
        text, sizeof text,
        "<mujoco><asset>\n<mesh name=\"m\" %s/></asset><worldbody>"
        "<body name=\"a\"><freejoint/><geom type=\"mesh\" mesh=\"m\"/></body></worldbody></mujoco>",
        wrong[i][0]);
    assert_refused(read_with("r.xml", text, ""), "r.xml:2:1: mesh m:", wrong[i][1]);
  }
}
END_TEST

START_TEST(the_nth_allocation_may_fail) {
  static const char *const texts[] = {
      moving, copies, cables, attaching,
      "\n<?xml version=\"1.0\"?><!-- a -- b --><mujoco><worldbody><body><freejoint/><geom "
      "size=\"1\"/></body></worldbody></mujoco>"};
  static const char path[] = CPODES_TEST_FOLDER "/robot.xml";
  write_attached();
  CPBodies warm = read_good(path, texts[_i], "");
  CPBodiesFree(&warm);
  assert_allocations_may_fail(path, texts[_i], strlen(texts[_i]), 20);
}
END_TEST

TEST_SUITE(robots) {
  Suite *suite = suite_create("bodies/robots");
  TCase *tc    = tcase_create("robots");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_keyframe_places_and_moves_all_bodies, 0, 2);
  tcase_add_loop_test(tc, joints_start_at_ref_or_at_their_values, 0, 5);
  tcase_add_test(tc, wrong_starts_are_refused);
  tcase_add_test(tc, the_root_of_urdf_is_the_ground_or_free);
  tcase_add_test(tc, moments_that_no_body_has_are_changed_to_the_nearest_ones);
  tcase_add_test(tc, point_masses_at_one_point_have_no_moments);
  tcase_add_test(tc, a_free_rod_needs_no_inertia_about_its_axis);
  tcase_add_test(tc, mimics_of_fixed_joints_and_by_fixed_joints_are_read);
  tcase_add_test(tc, what_other_programs_use_is_told);
  tcase_add_test(tc, declarations_of_no_version_are_read);
  tcase_add_test(tc, copies_have_names_springs_and_masses_as_in_mujoco);
  tcase_add_test(tc, any_joints_in_a_row_accelerate_as_in_mujoco);
  tcase_add_test(tc, gravity_compensation_carries_a_part_of_the_weight);
  tcase_add_test(tc, links_of_urdf_need_no_mass);
  tcase_add_loop_test(tc, loops_close_within_limits_if_they_can, 0,
                      (int)(sizeof elbows / sizeof *elbows));
  tcase_add_test(tc, a_single_body_of_urdf_moves_freely);
  tcase_add_test(tc, a_single_link_without_mass_is_the_ground);
  tcase_add_test(tc, links_of_urdf_touch_unless_they_are_neighbours);
  tcase_add_test(tc, spherical_joints_of_urdf_are_balls);
  if (CPODES_TEST_YAML) tcase_add_test(tc, a_yaml_file_beside_urdf_closes_its_loops);
  tcase_add_test(tc, links_named_as_pairs_close_loops);
  tcase_add_test(tc, hulls_of_points_on_edges_have_the_volume_of_the_box);
  tcase_add_loop_test(tc, meshes_have_the_mass_that_mujoco_gives_them, 0,
                      (int)(sizeof meshes / sizeof *meshes));
  tcase_add_test(tc, wrong_lists_of_meshes_are_refused);
  tcase_add_test(tc, attached_files_move_as_in_mujoco);
  tcase_add_test(tc, an_attached_file_has_its_keyframe);
  tcase_add_test(tc, cables_are_chains_as_in_mujoco);
  tcase_add_test(tc, what_refers_to_copies_and_to_others_is_copied);
  tcase_add_test(tc, files_written_in_mjcf_move_as_in_mujoco);
  tcase_add_test(tc, files_written_in_mjcf_start_as_their_originals);
  tcase_add_test(tc, joints_of_several_coordinates_start_in_mjcf_as_they_are);
  tcase_add_test(tc, wrong_attachments_and_cables_are_refused);
  tcase_add_test(tc, crowds_do_not_touch_each_other);
  tcase_add_test(tc, copies_have_bounds);
  tcase_add_test(tc, springs_and_rotors_of_ball_joints_are_left_out);
  tcase_add_test(tc, free_bodies_have_rotors);
  tcase_add_test(tc, deformable_bodies_and_plugins_are_left_out);
  tcase_add_loop_test(tc, folded_loops_start_within_limits, 0, 2);
  tcase_add_test(tc, joints_start_at_limits_that_the_pose_violates);
  tcase_add_test(tc, equal_limits_hold_and_crossed_ones_do_not_limit);
  tcase_add_test(tc, limits_within_which_no_loop_closes_are_left_out);
  tcase_add_loop_test(tc, the_nth_allocation_may_fail, 0, 5);
  suite_add_tcase(suite, tc);
  return suite;
}
