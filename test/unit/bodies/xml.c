/* Robots in MJCF and URDF: the same mechanisms as built by hand, all equivalent forms, what is left
 * out, errors, and broken files of all kinds. */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CPBodies read_text(const char *text) { return read_as("robot.xml", text, strlen(text)); }
static CPBodies read_good(const char *text) {
  CPBodies b = read_text(text);
  ck_assert_msg(b != NULL, "%s", message);
  return b;
}

/* The state of the mechanism at t; the mechanism is freed. */
static N_Vector motion(CPBodies b, sunrealtype t_end) {
  CPMech mech;
  MessageLog log = {0};
  sunrealtype t;
  ck_assert_msg(build_mech(b, &mech) == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  N_Vector y       = CPBodiesState(b, test_context);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_msg(CPMechAssemble(mech, 0, y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  ck_assert_msg(CPMechAttach(mech, mem, 0, y) == CP_SUCCESS, "%s", log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-10, 1e-10), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, log.text);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPBodiesFree(&b);
  return y;
}

/* Both move alike for a second, to within the errors of two integrations at 1e-10. */
static void expect_same_motion(CPBodies a, CPBodies b, sunindextype n) {
  N_Vector ya = motion(a, 1), yb = motion(b, 1);
  for (sunindextype i = 0; i < n; i++)
    ck_assert_double_eq_tol(entries(ya)[i], entries(yb)[i], 1e-7);
  N_VDestroy(ya);
  N_VDestroy(yb);
}

#define HEAD                   "<mujoco>\n<compiler angle=\"radian\"/>\n"
#define INERTIAL               "<inertial pos=\"0.1 0.2 0.3\" mass=\"2\" diaginertia=\"0.3 0.4 0.5\"/>"
#define HINGE(attributes)      "<joint name=\"j\" " attributes "/>"
#define WORLD(text)            HEAD "<worldbody>\n" text "\n</worldbody></mujoco>"
#define BODY(attributes, text) WORLD("<body name=\"a\" " attributes ">" text "</body>")

/* -------------------------------------------------------------------- the same as built by hand -- */

static const char four_bar[] =
    HEAD "<option gravity=\"0 0 -9.81\"/>\n"
         "<default><joint axis=\"0 1 0\" damping=\"0.1\"/>\n"
         "<default class=\"stiff\"><joint stiffness=\"3\" springref=\"0.7\" "
         "ref=\"0.2\"/></default></default>\n"
         "<worldbody>\n"
         "<body name=\"crank\"><joint name=\"j1\" armature=\"0.05\"/>\n"
         "<inertial pos=\"0.15 0 0\" mass=\"1\" diaginertia=\"0.01 0.02 0.03\"/>\n"
         "<body name=\"rod\" pos=\"0.3 0 0\" quat=\"0.8 0 0.6 0\"><joint name=\"j2\"/>\n"
         "<inertial pos=\"0.2 0 0.2\" mass=\"2\" fullinertia=\"0.02 0.03 0.04 0.001 0.002 "
         "-0.003\"/></body></body>\n"
         "<body name=\"arm\" pos=\"0.9 0 0\"><joint name=\"j3\" class=\"stiff\"/>\n"
         "<inertial pos=\"0 0 0.25\" mass=\"3\" diaginertia=\"0.03 0.03 0.01\"/></body>\n"
         "</worldbody>\n"
         "<equality><connect name=\"loop\" body1=\"arm\" body2=\"rod\" anchor=\"-0.2 0 "
         "0.5\"/></equality></mujoco>";

static CPBodies four_bar_by_hand(void) {
  CPBodies b            = CPBodiesCreate(3, NULL);
  const CPBody bodies[] = {
      {CP_NEW_BODY("crank"), .mass = 1, .inertia = {0.01, 0.02, 0.03}, .centre = {0.15, 0, 0}},
      {CP_NEW_BODY("rod"), .mass = 2, .inertia = {0.02, 0.03, 0.04, 0.001, 0.002, -0.003},
       .centre = {0.2, 0, 0.2}, .position = {0.3, 0, 0}, .quaternion = {0.8, 0, 0.6, 0}},
      {CP_NEW_BODY("arm"), .mass = 3, .inertia = {0.03, 0.03, 0.01}, .centre = {0, 0, 0.25},
       .position = {0.9, 0, 0}}};
  const struct {
    const char *name, *a, *b;
    sunrealtype x;
  } hinges[] = {{"j1", NULL, "crank", 0}, {"j2", "crank", "rod", 0.3}, {"j3", NULL, "arm", 0.9}};
  const CPJoint loop = {CP_NEW_JOINT("loop"), .kind = CP_JOINT_BALL, .a = "arm", .b = "rod",
                        .on_a.point = {0.7, 0, 0.5}};
  ck_assert_int_eq(set_gravity(b, (sunrealtype[]){0, 0, -9.81}), CP_SUCCESS);
  for (int i = 0; i < 3; i++) ck_assert_int_eq(CPBodiesAdd(b, &bodies[i].head, NULL), CP_SUCCESS);
  for (int i = 0; i < 3; i++) {
    const CPJoint joint = {CP_NEW_JOINT(hinges[i].name), .kind = CP_JOINT_REVOLUTE,
                           .a = hinges[i].a, .b = hinges[i].b,
                           .on_a = {.point = {hinges[i].x, 0, 0}, .axis = {0, 1, 0}}};
    const char *names[] = {"s1", "s2", "s3"};
    const CPSpring law  = {
         CP_NEW_SPRING(names[i]),        .of = {hinges[i].name, 0},   .damping = 0.1,
         .inertance = i == 0 ? 0.05 : 0, .stiffness = i == 2 ? 3 : 0, .free = i == 2 ? 0.5 : 0};
    ck_assert_int_eq(CPBodiesAdd(b, &joint.head, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPBodiesAdd(b, &law.head, NULL), CP_SUCCESS);
  }
  ck_assert_int_eq(CPBodiesAdd(b, &loop.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesSetBalance(b), CP_SUCCESS);
  return b;
}

START_TEST(a_four_bar_linkage_moves_as_the_one_put_together_by_hand) {
  CPBodies b = read_good(four_bar);
  ck_assert_str_eq(file.notes, "");
  expect_same_motion(b, four_bar_by_hand(), 3 * 13 + 1);
}
END_TEST

/* An arm of two links on a fixed base: welded parts, a slide and a coupling, in both formats */
static const char arm_mjcf[] =
    HEAD "<worldbody><body name=\"base\" pos=\"0 0 1\"><body name=\"one\" pos=\"0.1 0.2 0.3\" "
         "quat=\"0.8 0.6 0 0\">\n"
         "<joint name=\"j1\" axis=\"0 1 1\" damping=\"0.3\"/><inertial pos=\"0.1 0 0\" mass=\"2\" "
         "diaginertia=\"0.1 0.2 0.15\"/>\n"
         "<body name=\"tip\" pos=\"0 0 0.5\" quat=\"0.6 0 0.8 0\"><inertial pos=\"0 0.1 0\" "
         "mass=\"1\" fullinertia=\"0.1 0.2 0.15 0.01 0.02 0.03\"/>\n"
         "<body name=\"two\" pos=\"0.2 0 0\"><joint name=\"j2\" type=\"slide\" axis=\"1 0 "
         "0\"/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"0.1 0.1 "
         "0.1\"/></body></body></body></body>\n"
         "</worldbody><equality><joint joint1=\"j2\" joint2=\"j1\" polycoef=\"0.05 0.4 0 0 "
         "0\"/></equality></mujoco>";
static const char arm_urdf[] =
    "<robot name=\"arm\"><link name=\"base\"/><link name=\"one\"><inertial><origin xyz=\"0.1 0 "
    "0\"/><mass value=\"2\"/>\n"
    "<inertia ixx=\"0.1\" iyy=\"0.2\" izz=\"0.15\" ixy=\"0\" ixz=\"0\" "
    "iyz=\"0\"/></inertial></link>\n"
    "<link name=\"tip\"><inertial><origin xyz=\"0 0.1 0\"/><mass value=\"1\"/><inertia ixx=\"0.1\" "
    "iyy=\"0.2\" izz=\"0.15\" ixy=\"0.01\" ixz=\"0.02\" iyz=\"0.03\"/></inertial></link>\n"
    "<link name=\"two\"><inertial><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" "
    "izz=\"0.1\"/></inertial></link>\n"
    "<joint name=\"slide\" type=\"prismatic\"><parent link=\"tip\"/><child link=\"two\"/><origin "
    "xyz=\"0.2 0 0\"/><mimic joint=\"hinge\" multiplier=\"0.4\" offset=\"0.05\"/></joint>\n"
    "<joint name=\"hinge\" type=\"revolute\"><parent link=\"base\"/><child link=\"one\"/><origin "
    "xyz=\"0.1 0.2 1.3\" rpy=\"1.2870022175865685 0 0\"/>\n"
    "<axis xyz=\"0 1 1\"/><dynamics damping=\"0.3\"/><limit effort=\"1\" velocity=\"1\"/></joint>\n"
    "<joint name=\"weld\" type=\"fixed\"><parent link=\"one\"/><child link=\"tip\"/><origin "
    "xyz=\"0 0 0.5\" rpy=\"0 1.8545904360032244 0\"/></joint></robot>";

START_TEST(both_formats_say_the_same) {
  CPBodies urdf = read_good(arm_urdf);
  ck_assert_str_eq(file.notes, "");
  ck_assert_mentions(
      file.remarks,
      "robot.xml:6:1: changed: joints whose limit has no lower and upper are not limited\n");
  ck_assert_int_eq(CPBodiesCount(urdf, CP_BODY), 2);
  ck_assert_str_eq(file.title, "arm");
  expect_same_motion(read_good(arm_mjcf), urdf, 2 * 13 + 1);
}
END_TEST

/* Equalities of fixed tendons are those of their joints, whose coordinates are 0.3 and -0.2 in the reference pose: y + 0.2 = 0.05 + 0.4 (x - 0.3), and
 * y + 0.2 = 0.05 */
START_TEST(equalities_of_fixed_tendons_are_couplings) {
  static const char *const cases[][2] = {
      {"<joint joint1=\"y\" joint2=\"x\" polycoef=\"0.05 0.4\"/>",
       "<tendon tendon1=\"both\" polycoef=\"0.1\"/>"},
      {"<joint joint1=\"y\" joint2=\"x\" polycoef=\"0.05 0.4\"/>",
       "<tendon tendon1=\"one\" tendon2=\"two\" polycoef=\"0.1 0.2\"/>"},
      {"<joint joint1=\"y\" polycoef=\"0.05\"/>", "<tendon tendon1=\"one\" polycoef=\"0.1\"/>"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CPBodies b[2];
    for (int k = 0; k < 2; k++) {
      char text[2000];
      snprintf(text, sizeof text,
               HEAD
               "<worldbody><body name=\"a\"><joint name=\"x\" axis=\"0 1 0\" ref=\"0.3\"/>" INERTIAL
               "<body name=\"b\" pos=\"0.2 0 0\"><joint name=\"y\" type=\"slide\" axis=\"1 0 0\" "
               "ref=\"-0.2\"/>" INERTIAL "</body></body></worldbody><equality>%s</equality><tendon>"
               "<fixed name=\"both\"><joint joint=\"y\" coef=\"2\"/><joint joint=\"x\" "
               "coef=\"-0.8\"/></fixed>"
               "<fixed name=\"one\"><joint joint=\"y\" coef=\"2\"/></fixed>"
               "<fixed name=\"two\"><joint joint=\"x\" coef=\"4\"/></fixed></tendon></mujoco>",
               cases[i][k]);
      b[k] = read_good(text);
      ck_assert_str_eq(file.notes, "");
    }
    expect_same_motion(b[0], b[1], 2 * 13);
  }
}
END_TEST

/* x + y = 0, and both are 0.1 at least: the file starts, but for these limits. */
START_TEST(limits_that_an_equality_of_tendons_violates_are_told) {
  CPBodies b = read_good(
      HEAD
      "<worldbody><body name=\"a\"><joint name=\"x\" axis=\"0 1 0\" range=\"0.1 1\"/>" INERTIAL
      "<body name=\"b\"><joint name=\"y\" axis=\"1 0 0\" range=\"0.1 1\"/>" INERTIAL
      "</body></body></worldbody><equality><tendon tendon1=\"t\"/></equality><tendon><fixed "
      "name=\"t\"><joint joint=\"x\" coef=\"1\"/><joint joint=\"y\" coef=\"1\"/></fixed></tendon>"
      "</mujoco>");
  ck_assert_mentions(file.notes, "limits of joints within which no loop closes");
  CPBodiesFree(&b);
}
END_TEST

/* A rotor that turns three times as fast on the ground is equivalent to an armature of nine times
 * its inertia. */
START_TEST(an_armature_is_a_rotor_behind_a_gear) {
  const char *head = HEAD "<worldbody><body name=\"a\"><joint name=\"j\" axis=\"1 0 0\"";
  const char *rest = "<inertial pos=\"0 0.4 -0.3\" mass=\"1\" diaginertia=\"0.2 0.1 0.1\"/></body>";
  char with[1500], geared[1500];
  snprintf(with, sizeof with, "%s armature=\"0.18\"/>%s</worldbody></mujoco>", head, rest);
  snprintf(geared, sizeof geared,
           "%s/>%s<body name=\"rotor\" pos=\"1 0 0\"><joint name=\"r\" axis=\"1 0 0\"/><inertial "
           "pos=\"0 0 0\" mass=\"3\" "
           "diaginertia=\"0.02 0.02 0.02\"/></body></worldbody><equality><joint joint1=\"r\" "
           "joint2=\"j\" polycoef=\"0 3\"/></equality></mujoco>",
           head, rest);
  N_Vector a = motion(read_good(with), 1), b = motion(read_good(geared), 1);
  for (int i = 0; i < 7; i++) ck_assert_double_eq_tol(entries(a)[i], entries(b)[i], 1e-7);
  N_VDestroy(a);
  N_VDestroy(b);
}
END_TEST

/* ----------------------------------------------------------------------------- equivalent forms -- */

/* The rotation by 2 arccos 0.8 about (0, 1, 0), and one by 90 degrees about z after 90 about x */
static const struct {
  const char *compiler, *attributes;
  double e[4];
} turns[] = {
    {"", "quat=\"1.6 0 1.2 0\"", {0.8, 0, 0.6, 0}},
    {"angle=\"radian\"", "axisangle=\"0 2 0 1.2870022175865685\"", {0.8, 0, 0.6, 0}},
    {"", "axisangle=\"0 -1 0 -73.73979529168804\"", {0.8, 0, 0.6, 0}},
    {"", "xyaxes=\"0.28 0 -0.96 0.28 1 -0.96\"", {0.8, 0, 0.6, 0}},
    {"", "zaxis=\"96 0 28\"", {0.8, 0, 0.6, 0}},
    {"", "zaxis=\"0 0 -1\"", {0, 1, 0, 0}},
    {"angle=\"radian\"", "euler=\"0 1.2870022175865685 0\"", {0.8, 0, 0.6, 0}},
    {"", "euler=\"90 0 90\"", {0.5, 0.5, -0.5, 0.5}}, /* turns with the body: x, then the new z */
    {"eulerseq=\"XYZ\"", "euler=\"90 0 90\"", {0.5, 0.5, 0.5, 0.5}}, /* about the axes of space */
    {"eulerseq=\"zyx\"", "euler=\"90 0 90\"", {0.5, 0.5, 0.5, 0.5}},
    {"", "xyaxes=\"-1 0 0 0 1 0\"", {0, 0, 1, 0}},
    {"", "xyaxes=\"-1 0 0 0 -1 0\"", {0, 0, 0, 1}},
    {"", "xyaxes=\"1 0 0 0 -1 0\"", {0, 1, 0, 0}},
};

START_TEST(an_orientation_may_be_given_in_all_ways) {
  char text[1000];
  snprintf(
      text, sizeof text,
      "<mujoco><compiler %s/><worldbody><body name=\"a\" pos=\"1 2 3\" %s><freejoint/>" INERTIAL
      "</body></worldbody></mujoco>",
      turns[_i].compiler, turns[_i].attributes);
  CPBodies b = read_good(text);
  N_Vector y = CPBodiesState(b, test_context);
  double dot = 0;
  for (int k = 0; k < 4; k++) dot += entries(y)[3 + k] * turns[_i].e[k];
  ck_assert_double_eq_tol(fabs(dot), 1, 1e-14);
  N_VDestroy(y);
  CPBodiesFree(&b);
}
END_TEST

static double parameter(CPBodies b, const char *name) {
  const int i = thing_named(b, CP_PARAMETER, name);
  ck_assert_msg(i >= 0, "%s", name);
  return CPBodiesParameters(b)[i];
}

/* Solids, against the closed forms. The box is divided into parts, and rotated inertias are
 * compared by invariants. */
static const struct {
  const char *geoms;
  double mass, J[6];
} solids[] = {
    {"<geom size=\"0.2\" mass=\"5\"/>", 5, {0.08, 0.08, 0.08}},
    {"<geom type=\"box\" size=\"0.1 0.2 0.3\" density=\"500\"/>", 24, {1.04, 0.8, 0.4}},
    {"<geom type=\"ellipsoid\" size=\"0.1 0.2 0.3\" mass=\"10\"/>", 10, {0.26, 0.2, 0.1}},
    {"<geom type=\"cylinder\" size=\"0.2 0.3\" mass=\"12\"/>", 12, {0.48, 0.48, 0.24}},
    {"<geom type=\"cylinder\" size=\"0.2\" fromto=\"-0.3 0 0 0.3 0 0\" mass=\"12\"/>",
     12,
     {0.24, 0.48, 0.48}},
    /* cylinder and ball: 2 pi r^2 h : 4 pi r^3 / 3 = 9 : 4 */
    {"<geom type=\"capsule\" size=\"0.2 0.3\" mass=\"13\"/>",
     13,
     {0.36 + 0.604, 0.36 + 0.604, 0.18 + 0.064}},
    {"<geom type=\"box\" size=\"0.1 0.2 0.15\" pos=\"0 0 0.15\" mass=\"12\"/><geom type=\"box\" "
     "size=\"0.1 0.2 0.15\" "
     "pos=\"0 0 -0.15\" mass=\"12\"/>",
     24,
     {1.04, 0.8, 0.4}},
    {"<geom type=\"box\" size=\"0.2 0.1 0.3\" euler=\"0 0 90\" mass=\"24\"/>", 24, {1.04, 0.8, 0.4}},
    {"<geom type=\"box\" size=\"1 1 1\" mass=\"0\"/><geom type=\"plane\" size=\"1 1 1\"/><geom "
     "group=\"7\" size=\"3\"/><geom size=\"0.2\" mass=\"5\"/>",
     5,
     {0.08, 0.08, 0.08}},
    {"<frame pos=\"1 0 0\"><geom pos=\"-1 0 0\" size=\"0.2\" mass=\"5\"/></frame>",
     5,
     {0.08, 0.08, 0.08}},
};

START_TEST(masses_come_from_shapes) {
  static const char *const fields[] = {"J_xx", "J_yy", "J_zz", "J_xy", "J_xz", "J_yz"};
  char text[1500], name[20];
  snprintf(text, sizeof text,
           "<mujoco><worldbody><body name=\"a\"><freejoint/>%s</body></worldbody></mujoco>",
           solids[_i].geoms);
  CPBodies b = read_good(text);
  ck_assert_double_eq_tol(parameter(b, "a.mass"), solids[_i].mass, 1e-12);
  for (int k = 0; k < 6; k++) {
    snprintf(name, sizeof name, "a.%s", fields[k]);
    ck_assert_double_eq_tol(parameter(b, name), solids[_i].J[k], 1e-13);
  }
  CPBodiesFree(&b);
}
END_TEST

/* A box of 0.2 x 0.4 x 0.6 as a mesh, with corner 0 at (1, 1, 1), in units of a tenth */
static const int box_corner[8][3] = {{0, 0, 0}, {2, 0, 0}, {2, 4, 0}, {0, 4, 0},
                                     {0, 0, 6}, {2, 0, 6}, {2, 4, 6}, {0, 4, 6}};
static const int box_face[6][4]   = {{4, 3, 2, 1}, {5, 6, 7, 8}, {1, 2, 6, 5},
                                     {3, 4, 8, 7}, {2, 3, 7, 6}, {1, 5, 8, 4}};

/* The same in COLLADA, in half metres, where a node moves and turns it, and the node within mirrors it: faces of three kinds, seen from
 * outside in their own axes, (y, -x, -z) of the box */
static void write_dae(FILE *f) {
  static const char inputs[] = "<input semantic='NORMAL' source='#n' offset='0'/>"
                               "<input semantic='VERTEX' source='#v' offset='1'/>";
  fprintf(f, "<?xml version='1.0'?><COLLADA xmlns='http://www.collada.org/2005/11/COLLADASchema' "
             "version='1.4.1'><asset><unit meter='0.5'/></asset><library_geometries><geometry "
             "id='g'><mesh><source id='n'><float_array>0 0 1</float_array></source><source "
             "id='x'><float_array count='24'>");
  for (int i = 0; i < 8; i++)
    fprintf(f, "%d %d %d ", box_corner[i][1], -box_corner[i][0], -box_corner[i][2]);
  fprintf(f,
          "</float_array></source><vertices id='v'><input semantic='POSITION' source='#x'/>"
          "</vertices><polylist>%s<vcount>4 4</vcount><p>",
          inputs);
  for (int i = 0; i < 2; i++)
    for (int k = 3; k >= 0; k--) fprintf(f, "0 %d ", box_face[i][k] - 1);
  fprintf(f, "</p></polylist><polygons>%s", inputs);
  for (int i = 2; i < 4; i++) {
    fprintf(f, "<p>");
    for (int k = 3; k >= 0; k--) fprintf(f, "0 %d ", box_face[i][k] - 1);
    fprintf(f, "</p>");
  }
  fprintf(f, "</polygons><lines><p>0 1</p></lines><triangles>%s<p>", inputs);
  for (int i = 4; i < 6; i++) {
    const int *c = box_face[i];
    fprintf(f, "0 %d 0 %d 0 %d 0 %d 0 %d 0 %d ", c[2] - 1, c[1] - 1, c[0] - 1, c[3] - 1, c[2] - 1,
            c[0] - 1);
  }
  fprintf(f, "</p></triangles></mesh></geometry><geometry id='e'><mesh><triangles count='0'><p/>"
             "</triangles></mesh></geometry></library_geometries><library_visual_scenes>"
             "<visual_scene id='s'><node><translate>20 20 20</translate><rotate>0 0 1 90</rotate>"
             "<node><scale>2 2 -2</scale><instance_geometry url='#e'/><instance_geometry "
             "url='#g'/></node></node>"
             "</visual_scene></library_visual_scenes><scene><instance_visual_scene url='#s'/>"
             "</scene></COLLADA>");
}

static void write_mesh(const char *path, int kind) {
  FILE *f = fopen(path, "wb");
  ck_assert_msg(f != NULL, "%s", path);
  if (kind == 4) {
    write_dae(f);
    fclose(f);
    return;
  }
  if (kind == 0) {
    for (int i = 0; i < 8; i++)
      fprintf(f, "v %d %d %d\n", 10 + box_corner[i][0], 10 + box_corner[i][1],
              10 + box_corner[i][2]);
    for (int i = 0; i < 6; i++)
      fprintf(f, "f %d//1 %d//2 %d/3/1 %d\n", box_face[i][0], box_face[i][1], box_face[i][2] - 9,
              box_face[i][3]);
  }
  if (kind == 3) { /* the points, a normal and a texture coordinate, and the triangles */
    const int32_t counts[4]   = {8, 1, 1, 12};
    const float normal[3 + 2] = {0, 0, 1};
    fwrite(counts, sizeof counts, 1, f);
    for (int i = 0; i < 8; i++)
      for (int k = 0; k < 3; k++) {
        const float x = (float)(10 + box_corner[i][k]);
        fwrite(&x, sizeof x, 1, f);
      }
    fwrite(normal, sizeof normal, 1, f);
  }
  const char head[81]          = "box";
  const unsigned char count[4] = {12, 0, 0, 0};
  if (kind == 1) fwrite(head, 80, 1, f), fwrite(count, 4, 1, f);
  if (kind == 2) fprintf(f, "solid box\n");
  for (int i = 0; i < 12 && kind > 0; i++) {
    const int *face     = box_face[i / 2],
              corner[3] = {face[0], face[i % 2 ? 2 : 1], face[i % 2 ? 3 : 2]};
    float x[12]         = {0};
    if (kind == 3) {
      const int32_t from_0[3] = {corner[0] - 1, corner[1] - 1, corner[2] - 1};
      fwrite(from_0, sizeof from_0, 1, f);
      continue;
    }
    for (int k = 0; k < 9; k++) x[3 + k] = (float)(10 + box_corner[corner[k / 3] - 1][k % 3]);
    if (kind == 1) fwrite(x, sizeof x, 1, f), fwrite(count + 1, 2, 1, f);
    else {
      fprintf(f, "facet normal 0 0 0\nouter loop\n");
      for (int k = 0; k < 3; k++)
        fprintf(f, "vertex %g %g %g\n", (double)x[3 + 3 * k], (double)x[4 + 3 * k],
                (double)x[5 + 3 * k]);
      fprintf(f, "endloop\nendfacet\n");
    }
  }
  fclose(f);
}

START_TEST(masses_come_from_meshes) {
  static const char *const names[] = {"box.obj", "box.STL", "text.stl", "box.msh", "box.dae"};
  const int kind = _i % 5, mirrored = _i / 5;
  char path[200], text[1500];
  snprintf(path, sizeof path, "%s/%s", CPODES_TEST_FOLDER, names[kind]);
  write_mesh(path, kind);
  snprintf(
      text, sizeof text,
      "<mujoco><compiler meshdir=\"%s\"/><default><default class=\"small\"><mesh scale=\"0.1 %s "
      "0.1\"/></default></default>"
      "<asset><mesh class=\"small\" file=\"%s\"/></asset><worldbody><body name=\"a\"><freejoint/>"
      "<geom type=\"mesh\" mesh=\"%.*s\" density=\"500\"/></body></worldbody></mujoco>",
      CPODES_TEST_FOLDER, mirrored ? "-0.1" : "0.1", names[kind], (int)strcspn(names[kind], "."),
      names[kind]);
  CPBodies b                        = read_good(text);
  static const char *const fields[] = {"a.mass", "a.J_xx", "a.J_yy", "a.J_zz",
                                       "a.J_xy", "a.J_xz", "a.J_yz"};
  const double values[]             = {24, 1.04, 0.8, 0.4, 0, 0, 0},
               centre[]             = {1.1, mirrored ? -1.2 : 1.2, 1.3};
  for (int k = 0; k < 7; k++) ck_assert_double_eq_tol(parameter(b, fields[k]), values[k], 1e-11);
  N_Vector y = CPBodiesState(b, test_context);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(entries(y)[k], centre[k], 1e-13);
  N_VDestroy(y);
  CPBodiesFree(&b);
}
END_TEST

/* Joints in a row of the body a */
static const struct {
  const char *joints;
  int njoints;
  double v[3], w[3]; /* of the body, whose coordinates then change by the rates */
  double rate[3];
} rows[] = {
    {"<joint name=\"x\" axis=\"1 0 0\" damping=\"1\"/><joint name=\"y\" axis=\"0 1 0\" "
     "damping=\"1\"/>",
     2,
     {0},
     {2, 3, 0},
     {2, 3}},
    {"<joint name=\"x\" axis=\"0 -1 0\" damping=\"1\"/><joint name=\"y\" axis=\"0 0 1\" pos=\"0 1 "
     "0\" damping=\"1\"/>",
     2,
     {0},
     {0, 2, 3},
     {-2, 3}},
    {"<joint name=\"x\" type=\"slide\" axis=\"0 0 -2\" damping=\"1\"/><joint name=\"y\" "
     "damping=\"1\"/>",
     2,
     {0, 0, 4},
     {0, 0, 3},
     {-4, 3}},
    {"<joint name=\"x\" damping=\"1\"/><joint name=\"y\" type=\"slide\" damping=\"1\"/>",
     2,
     {0, 0, 4},
     {0, 0, 3},
     {3, 4}},
    {"<joint name=\"x\" type=\"slide\" axis=\"1 0 0\" damping=\"1\"/><joint name=\"y\" "
     "type=\"slide\" axis=\"0 -1 0\" damping=\"1\"/><joint name=\"z\" damping=\"1\"/>",
     3,
     {4, 5, 0},
     {0, 0, 3},
     {4, -5, 3}},
    {"<joint name=\"x\" type=\"slide\" axis=\"0 -1 0\" damping=\"1\"/><joint name=\"y\" "
     "axis=\"1 0 0\" damping=\"1\"/>",
     2,
     {0, 4, 0},
     {3, 0, 0},
     {-4, 3}},
    {"<joint name=\"x\" type=\"slide\" axis=\"0 1 0\" damping=\"1\"/><joint name=\"y\" "
     "type=\"slide\" axis=\"1 0 0\" damping=\"1\"/>",
     2,
     {5, 4, 0},
     {0},
     {4, 5}},
};

START_TEST(joints_in_a_row_move_the_body_together) {
  const int n = rows[_i].njoints, turned = _i == 1; /* whose second hinge is at (0, 1, 0) */
  char text[1500];
  snprintf(text, sizeof text,
           BODY("", "%s<inertial pos=\"0 0 0\" mass=\"2\" diaginertia=\"0.3 0.4 0.5\"/>"),
           rows[_i].joints);
  CPBodies b = read_good(text);
  CPMech mech;
  CPPowers p  = CP_INIT(CPPowers);
  double lost = 0, x[3], v[3];
  ck_assert_int_eq(CPBodiesCount(b, CP_JOINT), n);
  ck_assert_int_eq(CPBodiesCount(b, CP_BODY), n);
  ck_assert_str_eq(thing_at(b, CP_BODY, 0).name, "a_x");
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  for (int k = 0; k < n; k++) entries(y)[n + k] = rows[_i].rate[k];
  for (int k = 0; k < n; k++) lost += rows[_i].rate[k] * rows[_i].rate[k];
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, NULL, &p), CP_SUCCESS);
  ck_assert_double_eq_tol(p.dissipation, lost, 1e-12);
  for (int end = 0; end < 2; end++) { /* v, and v + w x z */
    const double *w = rows[_i].w, turn[] = {w[1] * end, -w[0] * end, 0};
    const sunrealtype point[] = {0, 0, end};
    ck_assert_int_eq(body_point(mech, thing_named(b, CP_BODY, "a"), point, y, x, v), CP_SUCCESS);
    for (int k = 0; k < 3; k++)
      ck_assert_double_eq_tol(v[k], rows[_i].v[k] + turn[k] + (turned && k == 0 ? 3 : 0), 1e-12);
  }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A spring at rest where the coordinate is springref, in degrees; for a slide in metres. */
START_TEST(springs_rest_at_their_reference) {
  static const char *const joints[] = {
      "ref=\"-45\" springref=\"-75\" stiffness=\"2\"",
      "type=\"slide\" ref=\"0.3\" springref=\"1\" stiffness=\"2\""};
  const double frees[] = {-5 * atan(1) / 3, 1}; /* -75 degrees */
  char text[1000];
  snprintf(text, sizeof text,
           "<mujoco><worldbody><body name=\"a\"><joint name=\"j\" %s/>" INERTIAL
           "</body></worldbody></mujoco>",
           joints[_i]);
  CPBodies b = read_good(text);
  ck_assert_double_eq_tol(parameter(b, "j_spring.free"), frees[_i], 1e-15);
  ck_assert_double_eq(parameter(b, "j_spring.stiffness"), 2);
  CPBodiesFree(&b);
}
END_TEST

/* Loops by anchor, by sites, by welds; each joins the points of the two free bodies. */
static const struct {
  const char *equality;
  int rows;
  double x[3]; /* where the origin of b is after the assembly, with a in its place */
} loops[] = {
    {"<connect body1=\"a\" body2=\"b\" anchor=\"1 0 0\"/>", 3, {0, 1, 0}},
    {"<connect body1=\"a\" body2=\"world\" anchor=\"1 0 0\"/>", 3, {0, 1, 0}},
    {"<weld body1=\"a\" body2=\"b\"/>", 6, {0, 1, 0}},
    {"<weld body1=\"a\" body2=\"b\" relpose=\"0 1 0 1 0 0 0\"/>", 6, {0, 1, 0}},
    {"<weld site1=\"sa\" site2=\"sb\"/>", 6, {0, 1, 0}},
    {"<connect site1=\"sa\" site2=\"sb\"/>", 3, {0, 1, 0}},
    {"<weld body1=\"a\"/>", 6, {0, 1, 0}},
    {"<connect body1=\"a\" body2=\"b\" anchor=\"1 0 0\" active=\"false\"/>", 0, {0, 1, 0}},
};

START_TEST(loops_are_closed) {
  char text[2000];
  snprintf(text, sizeof text,
           HEAD "<worldbody><body name=\"a\"><freejoint/>" INERTIAL
                "<site name=\"sa\" pos=\"0 0.5 0\"/></body>"
                "<body name=\"b\" pos=\"0 1 0\"><freejoint/>" INERTIAL
                "<site name=\"sb\" pos=\"0 -0.5 0\"/></body></worldbody>"
                "<equality>%s</equality></mujoco>",
           loops[_i].equality);
  CPBodies b = read_good(text);
  CPMech mech;
  sunrealtype p[6], x[3];
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  const CPEquations model = equations_of(mech);
  ck_assert_int_eq((int)model.np, loops[_i].rows);
  N_Vector y = CPBodiesState(b, test_context);
  if (model.p) ck_assert_int_eq(model.p(0, entries(y), p, CPMechGetUserData(mech)), 0);
  for (int k = 0; k < (int)model.np; k++) ck_assert_double_eq_tol(p[k], 0, 1e-15);
  ck_assert_int_eq(
      body_point(mech, thing_named(b, CP_BODY, "b"), (sunrealtype[]){0, 0, 0}, y, x, NULL),
      CP_SUCCESS);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(x[k], loops[_i].x[k], 1e-15);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* In joint coordinates, by which two turns of one are 1.45 of the other */
START_TEST(couplings_of_angles_have_any_ratio) {
  const char *text = HEAD
      "<worldbody><body name=\"a\"><joint name=\"p\"/>" INERTIAL
      "</body><body name=\"b\"><joint name=\"q\"/>" INERTIAL
      "</body></worldbody><equality><joint name=\"c\" joint1=\"p\" "
      "joint2=\"q\" polycoef=\"0.1 -1.131691357\"/>"
      "<joint name=\"d\" joint1=\"p\" polycoef=\"0.25\" active=\"false\"/></equality></mujoco>";
  CPBodies b = read_good(text);
  CPMech mech;
  sunrealtype row;
  ck_assert_int_eq(build_mech(b, &mech), CP_ILL_INPUT);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(b)), "c: ratios of angles must be whole");
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  const CPEquations e = equations_of(mech);
  ck_assert_int_eq((int)e.np, 1);
  for (int laps = 0; laps < 3; laps++) {
    const sunrealtype q[] = {0.1 - 1.131691357 * 2 * M_PI * laps, 2 * M_PI * laps};
    ck_assert_int_eq(e.p(0, q, &row, CPMechGetUserData(mech)), 0);
    ck_assert_double_eq_tol(row, 0, 1e-14);
  }
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* Names are made distinct and valid; balls and free bodies have their damping. */
START_TEST(names_are_made_fit) {
  CPBodies b = read_good(
      WORLD("<body name=\"a.b c\"><joint name=\"a.b c\" type=\"ball\" damping=\"0.5\"/>" INERTIAL
            "</body><body name=\"ground\"><joint type=\"free\" damping=\"0.25\"/>" INERTIAL
            "</body><body><joint/>" INERTIAL "</body><body><joint stiffness=\"1\"/>" INERTIAL
            "</body><body name=\"c&#x7f;d&#x85;\"><joint/>" INERTIAL "</body>"));
  ck_assert_str_eq(thing_at(b, CP_BODY, 0).name, "a_b_c");
  ck_assert_str_eq(thing_at(b, CP_BODY, 1).name, "ground_2");
  ck_assert_str_eq(thing_at(b, CP_BODY, 2).name, "body");
  ck_assert_str_eq(thing_at(b, CP_BODY, 3).name, "body_2");
  ck_assert_str_eq(thing_at(b, CP_BODY, 4).name, "c_d__");
  ck_assert_str_eq(thing_at(b, CP_JOINT, 0).name, "a_b_c_joint");
  ck_assert_str_eq(thing_at(b, CP_JOINT, 1).name, "body_joint");
  ck_assert_double_eq(parameter(b, "a_b_c_spring.drag"), 0.5);
  ck_assert_double_eq(parameter(b, "ground_2_spring.drag"), 0.25);
  ck_assert_double_eq(parameter(b, "ground_2_spring.dy"), 0.25);
  ck_assert_double_eq(parameter(b, "body_2_spring.stiffness"), 1);
  CPBodiesFree(&b);
}
END_TEST

/* ------------------------------------------------------------------------------ what is left out -- */

/* Neither what only looks different nor what is switched off in the file acts, nor contacts that cannot be. */
START_TEST(elements_without_effect_on_the_motion_give_no_notes) {
  CPBodies b = read_good(
      "<mujoco><compiler autolimits=\"false\"/><option timestep=\"1\"><flag "
      "actuation=\"disable\"/></option>"
      "<visual/><statistic/><asset><texture name=\"t\"/><material "
      "name=\"m\"/></asset><worldbody><light/><camera/>"
      "<geom size=\"1\" contype=\"2\" conaffinity=\"4\"/><body name=\"a\" gravcomp=\"0\" "
      "user=\"1\">"
      "<joint axis=\"1 0 0\" range=\"0 1\" frictionloss=\"0\" solreflimit=\"1 1\"/>" INERTIAL
      "<geom size=\"1\"/><geom "
      "size=\"1\"/></body></worldbody><actuator><motor/></actuator><tendon/>"
      "<contact><exclude body1=\"a\" body2=\"a\"/></contact><sensor><clock/></sensor><keyframe/>"
      "<equality><tendon active=\"false\"/></equality></mujoco>");
  ck_assert_str_eq(file.notes, "");
  CPBodiesFree(&b);
  b = read_good("<robot name=\"r\"><material name=\"m\"/><gazebo/><link name=\"base\"/><link "
                "name=\"one\"><visual/>"
                "<collision/><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" "
                "izz=\"1\"/></inertial></link>"
                "<joint name=\"j\" type=\"continuous\"><parent link=\"base\"/><child link=\"one\"/>"
                "<dynamics friction=\"0\"/><limit effort=\"1\" velocity=\"1\"/></joint></robot>");
  ck_assert_str_eq(file.notes, "");
  CPBodiesFree(&b);
}
END_TEST

START_TEST(what_is_left_out_is_listed) {
  CPBodies b = read_good(
      "<mujoco>\n<option timestep=\"1\" wind=\"0 1 0\"><flag spring=\"disable\" "
      "gravity=\"disable\"/></option>\n"
      "<worldbody>\n<light/><geom size=\"1\"/>\n<body name=\"a\" gravcomp=\"-1\">\n<joint "
      "range=\"0 "
      "1\" frictionloss=\"1\" axis=\"1 0 "
      "0\"/>" INERTIAL "\n<geom size=\"1\"/>\n<geom size=\"1\"/>\n<wing/></body>\n</worldbody>\n"
      "<actuator>\n<motor/></actuator>\n<equality><tendon solref=\"1\"/></equality></mujoco>");
  static const char *const lines[] = {"robot.xml:12:1: actuators\n",
                                      "robot.xml:2:35: the flag spring\n",
                                      "robot.xml:5:1: gravcomp below 0\n",
                                      "robot.xml:7:1: the contact of a geom of the world and a, "
                                      "which begin 2 m in each other (2 times)\n",
                                      "robot.xml:9:1: the unknown element wing\n",
                                      "robot.xml:13:11: the equality constraint tendon\n"};
  size_t length                    = 0;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    ck_assert_mentions(file.notes, lines[i]);
    length += strlen(lines[i]);
  }
  ck_assert_uint_eq(strlen(file.notes), length);
  ck_assert_double_eq(parameter(b, "gravity.z"), 0);
  CPBodiesFree(&b);
}
END_TEST

/* Geoms touch by contype and conaffinity, but for those of one tree and of excluded bodies; and as pairs. The friction is the larger one,
 * and none where condim is 1. */
START_TEST(geoms_touch_each_other_and_the_world) {
  CPBodies b = read_good(
      "<mujoco><worldbody><geom name=\"floor\" type=\"plane\" size=\"0 0 1\" friction=\"0.4\"/>"
      "<body name=\"a\" pos=\"0 0 1\"><freejoint/><geom name=\"ball\" size=\"0.1\" "
      "friction=\"0.7\"/>"
      "<body name=\"e\" pos=\"0 0 0.5\"><joint/><geom name=\"tip\" type=\"capsule\" size=\"0.1 "
      "0.2\" "
      "condim=\"1\"/></body></body>"
      "<body name=\"b\" pos=\"1 0 1\"><freejoint/><geom name=\"egg\" type=\"ellipsoid\" size=\"0.1 "
      "0.2 0.3\" contype=\"2\" "
      "conaffinity=\"1\" friction=\"0.2\"/><geom name=\"ghost\" type=\"box\" size=\"1 1 1\" "
      "contype=\"0\" conaffinity=\"0\" mass=\"0\"/></body>"
      "<body name=\"c\" pos=\"3 0 1\"><freejoint/><geom name=\"block\" type=\"box\" size=\"0.1 0.2 "
      "0.3\" condim=\"1\"/></body>"
      "<body name=\"d\" pos=\"5 0 0.05\"><freejoint/><geom name=\"sunk\" size=\"0.1\" "
      "contype=\"4\" conaffinity=\"1\"/></body>"
      "</worldbody><contact><exclude body1=\"a\" body2=\"b\"/><exclude body1=\"world\" "
      "body2=\"c\"/><exclude body1=\"a\" body2=\"d\"/>"
      "<exclude body1=\"c\" body2=\"d\"/><pair geom1=\"tip\" geom2=\"ball\" condim=\"3\" "
      "friction=\"0.9\"/><exclude body1=\"e\" body2=\"d\"/></contact></mujoco>");
  static const struct {
    const char *name;
    double friction;
  } want[] = {{"ball_floor", 0.7}, {"tip_floor_1", 1}, {"tip_floor_2", 1}, {"egg_floor", 0.4},
              {"egg_tip", 1},      {"block_ball", 1},  {"ball_tip", 0.9},  {"block_tip_1", 0},
              {"block_tip_2", 0},  {"block_tip_3", 0}, {"block_tip_4", 0}, {"block_egg_1", 1},
              {"block_egg_8", 1}};
  int seen = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_CONTACT); i++) {
    const CPDescription d = thing_at(b, CP_CONTACT, i);
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
      if (!strcmp(d.name, want[k].name)) {
        ck_assert_double_eq(d.law->mu, want[k].friction);
        seen++;
      }
  }
  ck_assert_int_eq(seen, 13);
  ck_assert_int_eq(CPBodiesCount(b, CP_CONTACT), 19);
  ck_assert_mentions(file.notes, "the contact of floor and sunk, which begin 0.05 m in each other");
  ck_assert_mentions(file.remarks,
                     "changed: the shape of egg, where it meets boxes and meshes or lies flat");
  CPBodiesFree(&b);
}
END_TEST

/* Shapes that begin in each other by less than a hundredth of their size touch: a copy of one is moved by the depth, which is told. Places
 * are computed by hand: the floor is 0.0005 m and 0.0004 m lower, the block below 0.0015 m, the ball 0.0004 m away from the other one, and
 * the brick, whose frame is at a corner, 0.0003 m lower. */
START_TEST(shapes_that_begin_a_little_in_each_other_touch) {
  static const struct {
    const char *name;
    double at[3];
  } want[] = {{"floor_shape_2", {0, 0, -0.0005}},
              {"floor_shape_3", {0, 0, -0.0004}},
              {"below_shape_2", {1, 0, 0.1981}},
              {"ball_shape_2", {-0.00024, 0, 0.09918}},
              {"brick_shape_2", {2.1, 0.1, 0.8997}}};
  CPMech mech;
  MessageLog log = {0};
  CPBodies b     = read_good(
          "<mujoco><asset><mesh name=\"brick\" vertex=\"0 0 0 0.2 0 0 0 0.2 0 0.2 0.2 0 0 0 0.2 "
              "0.2 0 0.2 0 0.2 0.2 0.2 0.2 0.2\"/></asset><worldbody><geom name=\"floor\" type=\"plane\" "
              "size=\"0 0 1\"/>"
              "<body name=\"a\" pos=\"0 0 0.0995\"><freejoint/><geom name=\"ball\" size=\"0.1\"/></body>"
              "<body name=\"b\" pos=\"1 0 0.1996\" euler=\"90 0 0\"><freejoint/><geom name=\"below\" "
              "type=\"box\" size=\"0.1 0.2 0.1\"/></body>"
              "<body name=\"c\" pos=\"1 0 0.5981\" euler=\"0 0 30\"><freejoint/><geom name=\"above\" "
              "type=\"box\" size=\"0.1 0.1 0.2\"/></body>"
              "<body name=\"d\" pos=\"0.11976 0 0.25918\"><freejoint/><geom name=\"other\" "
              "size=\"0.1\"/></body><body name=\"e\" pos=\"2 0 1\" euler=\"0 90 0\"><freejoint/><geom "
              "name=\"brick\" type=\"mesh\" mesh=\"brick\"/></body><body name=\"f\" pos=\"2.1 0.1 1.0997\">"
              "<freejoint/><geom name=\"last\" size=\"0.1\"/></body></worldbody></mujoco>");
  ck_assert_mentions(file.remarks,
                     "changed: the contact of ball and other, which begin 0.0004 m in "
                     "each other, to one in which they touch\n");
  ck_assert_msg(build_mech(b, &mech) == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  int seen   = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++)
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
      sunrealtype frame[12];
      if (strcmp(thing_at(b, CP_SHAPE, i).name, want[k].name)) continue;
      ck_assert_int_eq(CPMechGetPoints(mech, CP_SHAPE, i, y, frame), CP_SUCCESS);
      for (int j = 0; j < 3; j++) ck_assert_double_eq_tol(frame[j], want[k].at[j], 4e-15);
      seen++;
    }
  ck_assert_int_eq(seen, 5);
  ck_assert_str_eq(file.notes, "");
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* The largest difference of the support functions of an ellipsoid, or of a cylinder, and of its corners, for random directions: the
 * distance of the shapes; all corners must be on the surface. half [3]: radius twice and half the length, or half axes */
static double distance_within(const CPDescription *d, const double *half, int is_cylinder) {
  unsigned long long seed = 7;
  double most             = 0;
  for (int i = 0; i < d->npoints; i++) {
    const sunrealtype *x = d->points + 3 * i;
    const double rho = pow(x[0] / half[0], 2) + pow(x[1] / half[1], 2), z = pow(x[2] / half[2], 2);
    ck_assert_double_eq_tol(is_cylinder ? rho : rho + z, 1, 1e-12);
    if (is_cylinder) ck_assert_double_eq_tol(z, 1, 1e-12);
  }
  for (int k = 0; k < 20000; k++) {
    double n[3], inner = 0;
    for (int i = 0; i < 3; i++) n[i] = random_number(&seed);
    const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]),
                 rho = hypot(n[0] * half[0], n[1] * half[1]), z = fabs(n[2]) * half[2];
    for (int i = 0; i < d->npoints; i++) {
      const sunrealtype *x = d->points + 3 * i;
      inner                = fmax(inner, n[0] * x[0] + n[1] * x[1] + n[2] * x[2]);
    }
    most = fmax(most, ((is_cylinder ? rho + z : hypot(rho, z)) - inner) / length);
  }
  return most;
}

/* A cylinder that stands on a plane, one that lies beside a box, and an ellipsoid on a box touch as polyhedra within them. */
START_TEST(round_shapes_touch_flat_ones_as_polyhedra) {
  static const struct {
    const char *name;
    double half[3];
    int is_cylinder, contacts;
    const char *told;
  } cases[]  = {{"can", {0.05, 0.05, 0.1}, 1, 8, "0.000961"},
                {"egg", {0.03, 0.04, 0.05}, 0, 8, "0.0019"}};
  CPBodies b = read_good("<mujoco><worldbody><geom name=\"floor\" type=\"plane\" size=\"0 0 1\"/>"
                         "<geom name=\"table\" type=\"box\" size=\"0.5 0.5 0.1\" pos=\"3 0 0.1\"/>"
                         "<body name=\"a\" pos=\"0 0 0.1\"><freejoint/><geom name=\"can\" "
                         "type=\"cylinder\" size=\"0.05 0.1\"/></body>"
                         "<body name=\"b\" pos=\"3 0.3 0.26\"><freejoint/><geom name=\"egg\" "
                         "type=\"ellipsoid\" size=\"0.03 0.04 0.05\"/></body>"
                         "</worldbody></mujoco>");
  ck_assert_str_eq(file.notes, "");
  /* the can on the floor, table and egg; the egg on the floor, as one contact of its own shape, and the table */
  ck_assert_int_eq(CPBodiesCount(b, CP_CONTACT), 8 + 8 + 1 + 1 + 8);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[200];
    int seen = 0;
    snprintf(text, sizeof text, "%s_facets", cases[k].name);
    for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++) {
      const CPDescription d = thing_at(b, CP_SHAPE, i);
      if (strcmp(d.name, text)) continue;
      const double within = distance_within(&d, cases[k].half, cases[k].is_cylinder);
      snprintf(text, sizeof text,
               "the shape of %s, where it meets boxes and meshes or lies flat, to a polyhedron "
               "within it, by at most %s m",
               cases[k].name, cases[k].told);
      ck_assert_mentions(file.remarks, text);
      ck_assert_double_le(within, atof(cases[k].told));
      ck_assert_double_ge(within, 0.7 * atof(cases[k].told)); /* a bound for ellipsoids */
      seen++;
    }
    ck_assert_int_eq(seen, 1);
  }
  CPBodiesFree(&b);
}
END_TEST

/* Meshes touch as their convex hulls: scaled, moved by refpos, with maxhullvert corners at most, also in pairs of what touches nothing else. A missing file is no error where no mass
 * comes from it, and what is plane has no hull. */
START_TEST(meshes_of_mjcf_touch_as_their_hulls) {
  CPBodies b = read_good(
      "<mujoco><asset><mesh name=\"cube\" scale=\"0.1 0.2 -0.3\" refpos=\"1 0 0\" vertex=\"0 -1 -1 "
      "2 -1 "
      "-1 0 1 -1 2 1 -1 0 -1 1 2 -1 1 0 1 1 2 1 1 1 0.2 0.1\"/>"
      "<mesh name=\"few\" maxhullvert=\"6\" vertex=\"-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 "
      "1 -1 1 1 1 "
      "1 1\"/>"
      "<mesh name=\"none\" file=\"nowhere.stl\"/></asset><worldbody><geom name=\"floor\" "
      "type=\"plane\" "
      "size=\"0 0 1\"/>"
      "<body name=\"a\" pos=\"0 0 3\"><freejoint/><geom name=\"dice\" type=\"mesh\" "
      "mesh=\"cube\"/><geom name=\"ghost\" type=\"mesh\" mesh=\"few\" contype=\"0\" "
      "conaffinity=\"0\" mass=\"0\"/></body>"
      "<body name=\"b\" pos=\"3 0 3\"><freejoint/><geom name=\"rock\" type=\"mesh\" "
      "mesh=\"few\"/></body>"
      "<body name=\"c\" pos=\"6 0 3\"><freejoint/><inertial pos=\"0 0 0\" mass=\"1\" "
      "diaginertia=\"1 1 "
      "1\"/><geom name=\"lost\" type=\"mesh\" mesh=\"none\"/></body></worldbody><contact><pair "
      "geom1=\"floor\" geom2=\"ghost\"/></contact></mujoco>");
  int shapes = 0;
  for (int i = 0; i < CPBodiesCount(b, CP_SHAPE); i++) {
    const CPDescription d = thing_at(b, CP_SHAPE, i);
    if (d.kind != CP_SHAPE_MESH) continue;
    shapes++;
    if (strcmp(d.name, "dice_shape") != 0) {
      ck_assert_int_eq(d.npoints, 6);
      continue;
    }
    ck_assert_int_eq(d.npoints, 8);
    ck_assert_int_eq(d.nedges, 12);
    for (int k = 0; k < 24; k++)
      ck_assert_double_eq_tol(fabs(d.points[k]), 0.1 * (k % 3 + 1), 1e-15);
  }
  ck_assert_int_eq(shapes, 3);
  ck_assert_int_eq(CPBodiesCount(b, CP_CONTACT),
                   32); /* eight each with the floor, with each other, and of the pair */
  ck_assert_mentions(file.notes, "contacts of meshes that have no convex hull, or no file");
  CPBodiesFree(&b);
}
END_TEST

/* A mesh with a hollow is told where its hull touches in its place, and a convex one is not. _i: 0, the corner in the middle of the slanted
 * face of a tetrahedron is pressed in; 1, it sticks out */
START_TEST(hollows_of_meshes_are_told) {
  char text[800];
  snprintf(text, sizeof text,
           "<mujoco><asset><mesh name=\"m\" vertex=\"0 0 0 1 0 0 0 1 0 0 0 1 %s\" "
           "face=\"0 2 1 0 1 3 0 3 2 1 2 4 2 3 4 3 1 4\"/></asset><worldbody><geom type=\"plane\" "
           "size=\"0 0 1\"/><body name=\"a\" pos=\"0 0 3\"><freejoint/><geom type=\"mesh\" "
           "mesh=\"m\"/></body></worldbody></mujoco>",
           _i ? "0.4 0.4 0.4" : "0.3 0.3 0.3");
  CPBodies b = read_good(text);
  ck_assert_int_eq(strstr(file.remarks, "not convex, to its convex hull") != NULL, !_i);
  ck_assert_int_eq(CPBodiesCount(b, CP_CONTACT), 8);
  CPBodiesFree(&b);
}
END_TEST

/* ------------------------------------------------------------------------------- included files -- */

/* A tree in URDF becomes a loop by a YAML file beside it, whose gravity and title take precedence. */
START_TEST(a_file_may_add_to_a_robot) {
  static const char *const bad[][2] = {
      {"robot: none.urdf\n", "loop.yaml:1:8: the file \"none.urdf\" cannot"},
      {"robot: loop.yaml\n", "loop.yaml:1:"},
      {"dimension: 2\nrobot: tree.urdf\n", "loop.yaml:2:8: a robot needs"},
      {"robot: tree.urdf\nbodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\n",
       "loop.yaml:2:10: name must be new"}};
  char path[300];
  write_file("tree.urdf",
             "<robot name=\"tree\"><link name=\"base\"/>"
             "<link name=\"a\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" "
             "izz=\"1\"/></inertial></link>"
             "<joint name=\"j\" type=\"continuous\"><parent link=\"base\"/><child link=\"a\"/>"
             "<origin xyz=\"1 0 0\"/><axis xyz=\"0 1 0\"/></joint></robot>");
  snprintf(path, sizeof path, "%s/loop.yaml", CPODES_TEST_FOLDER);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    write_file("loop.yaml", bad[i][0]);
    ck_assert_ptr_null(read_bodies(path, NULL, 0, &file, message));
    ck_assert_mentions(message, bad[i][1]);
    ck_assert_ptr_null(strchr(message, '\n'));
  }
  for (int all = 0; all < 2; all++) {
    write_file("loop.yaml",
               all ? "robot: tree.urdf\ngravity: [0, 0, -2]\nrun: {title: loop, balance: "
                     "false, coordinates: absolute}\njoints: [{name: rod, kind: rod, b: a, at_b: "
                     "[1, 0, 0]}]\n"
                   : "robot: tree.urdf\n");
    CPBodies b = read_bodies(path, NULL, 0, &file, message);
    ck_assert_msg(b != NULL, "%s", message);
    ck_assert_str_eq(file.title, all ? "loop" : "tree");
    ck_assert_double_eq(parameter(b, "gravity.z"), all ? -2 : -9.81);
    ck_assert_int_eq(CPBodiesCount(b, CP_JOINT), 1 + all);
    if (all) ck_assert_double_eq(parameter(b, "rod.length"), 1);
    N_Vector y = CPBodiesState(b, test_context);
    /* else the angle of its joint, the rate, and the work */
    ck_assert_int_eq((int)N_VGetLength(y), all ? 13 : 3);
    ck_assert_int_eq(file.formulation, all ? CP_ABSOLUTE : CP_JOINT_COORDINATES);
    N_VDestroy(y);
    CPBodiesFree(&b);
  }
  write_file("loop.yaml", "robot: tree.urdf\nrun: {coordinates: polar}\n");
  ck_assert_ptr_null(read_bodies(path, NULL, 0, &file, message));
  ck_assert_mentions(message, "loop.yaml:2:20: coordinates must be \"absolute\" or \"joint\"");
}
END_TEST

START_TEST(files_are_included) {
  char path[300];
  write_file("robot_main.xml", "<mujoco><include file=\"robot_part.xml\"/><worldbody>\n<body "
                               "name=\"b\" childclass=\"c\"><joint/>\n<include "
                               "file=\"robot_inertial.xml\"/></body></worldbody></mujoco>");
  write_file("robot_part.xml", "<mujocoinclude><default><default class=\"c\"><joint axis=\"1 0 0\" "
                               "stiffness=\"4\"/></default></default></mujocoinclude>");
  write_file("robot_inertial.xml", "<mujocoinclude>\n<fin/>\n<inertial pos=\"0 0 0\" mass=\"1\" "
                                   "colour=\"red\" diaginertia=\"1 1 1\"/></mujocoinclude>");
  snprintf(path, sizeof path, "%s/robot_main.xml", CPODES_TEST_FOLDER);
  CPBodies b = read_bodies(path, NULL, 0, &file, message);
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert_double_eq(parameter(b, "b_spring.stiffness"), 4);
  ck_assert_str_eq(file.notes, "robot_inertial.xml:2:1: the unknown element fin\n");
  CPBodiesFree(&b);
  write_file("robot_part.xml", "<mujoco><include file=\"robot_part.xml\"/></mujoco>");
  ck_assert_ptr_null(read_bodies(path, NULL, 0, &file, message));
  ck_assert_mentions(message,
                     "robot_part.xml:1:9: include: there is a file \"robot_part.xml\" already");
  write_file("robot_part.xml", "<mujoco>\n<default></mujoco>");
  ck_assert_ptr_null(read_bodies(path, NULL, 0, &file, message));
  ck_assert_mentions(message, "robot_part.xml:2:");
}
END_TEST

/* --------------------------------------------------------------------------------------- errors -- */

#define FREE_BODY(text) BODY("", "<freejoint/>" text)
#define LOOP(text)                                                          \
  HEAD "<worldbody><body name=\"a\"><joint name=\"j\"/>" INERTIAL           \
       "</body><body name=\"b\"><joint name=\"k\" type=\"ball\"/>" INERTIAL \
       "</body></worldbody>\n<equality>" text "</equality></mujoco>"
#define LINK(name)     \
  "<link name=\"" name \
  "\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial></link>\n"
#define TREE(joint) \
  "<robot name=\"r\">\n<link name=\"base\"/>\n" LINK("a") LINK("b") joint "</robot>"
#define ON(attributes, parent, child, text)                                                        \
  "<joint name=\"j\" " attributes "><parent link=\"" parent "\"/><child link=\"" child "\"/>" text \
  "</joint>\n"

static const struct {
  const char *text, *place, *rule;
} bad[] = {
    {"", "robot.xml:1:", "no XML"},
    {"bodies: []", "robot.xml:1:", "no XML"},
    {"<mujoco>\n<worldbody>\n</mujoco>", "robot.xml:3:", "no XML"},
    {"<a><b></a>", "robot.xml:1:", "no XML"},
    {"<!DOCTYPE x [<!ENTITY a \"b\">]><mujoco/>", "robot.xml:1:", "document types are refused"},
    {"<html/>", "robot.xml:1: html:", "the root must be mujoco"},
    {"<mujoco/>", "robot.xml:1: mujoco:", "no body moves"},
    {BODY("pos=\"0 0\"", ""), "robot.xml:4: body a:", "pos must be 3 finite numbers, and is \"0 0\""},
    {BODY("pos=\"0 0 nan\"", ""), "robot.xml:4: body a:", "pos must be 3 finite numbers"},
    {BODY("pos=\"0 0 1 2\"", ""), "robot.xml:4: body a:", "pos must be 3 finite numbers"},
    {BODY("pos=\"0 0 1x\"", ""), "robot.xml:4: body a:", "pos must be 3 finite numbers"},
    {BODY("quat=\"0 0 0 0\"", ""), "robot.xml:4: body a:", "quat must not be zero"},
    {BODY("xyaxes=\"1 0 0 2 0 0\"", ""), "robot.xml:4: body a:", "xyaxes must not be zero"},
    {BODY("quat=\"1 0 0 0\" zaxis=\"0 0 1\"", ""),
     "robot.xml:4: body a:", "given twice: by quat and by zaxis"},
    {BODY("childclass=\"x\"", ""), "robot.xml:4: body a:", "there is no class \"x\""},
    {BODY("", "<freejoint/>"), "robot.xml:4: body a:", "must have mass"},
    {FREE_BODY("<inertial pos=\"0 0 0\" mass=\"1\"/>"),
     "robot.xml:4: inertial:", "one of diaginertia and fullinertia"},
    {FREE_BODY("<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 -0.1\"/>"),
     "robot.xml:4: body", "principal moments must not be negative"},
    {FREE_BODY("<inertial mass=\"1\" diaginertia=\"1 1 1\"/>"),
     "robot.xml:4: inertial:", "pos and mass must be given"},
    {FREE_BODY("<inertial pos=\"0 0 0\" mass=\"-1\" diaginertia=\"1 1 1\"/>"),
     "robot.xml:4: inertial:", "mass must not be negative"},
    {FREE_BODY("<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 3\"/>"),
     "robot.xml:4: body a:", "at most the sum"},
    {FREE_BODY(INERTIAL INERTIAL), "robot.xml:4: body a:", "one inertial element, and has 2"},
    {FREE_BODY("<geom size=\"0\"/>"), "robot.xml:4: geom:", "size must be 1 positive numbers"},
    {FREE_BODY("<geom type=\"box\" size=\"1 1\"/>"),
     "robot.xml:4: geom:", "size must be 3 finite numbers"},
    {FREE_BODY("<geom type=\"egg\" size=\"1 1\"/>"),
     "robot.xml:4: geom:", "there is no type \"egg\""},
    {FREE_BODY("<geom size=\"1\" density=\"-1\"/>"),
     "robot.xml:4: geom:", "density must not be negative"},
    {FREE_BODY("<geom type=\"mesh\" mesh=\"m\"/>"), "robot.xml:4: geom:", "there is no mesh \"m\""},
    {FREE_BODY("<geom size=\"1\" shellinertia=\"true\"/>"), "robot.xml:4: geom:", "not supported"},
    {BODY("", HINGE("axis=\"0 0 0\"") INERTIAL), "robot.xml:4: joint j:", "axis must not be zero"},
    {BODY("", HINGE("type=\"screw\"") INERTIAL),
     "robot.xml:4: joint j:", "there is no type \"screw\""},
    {BODY("", HINGE("damping=\"-1\"") INERTIAL),
     "robot.xml:4: joint j:", "damping must not be negative"},
    {BODY("", HINGE("") HINGE("") INERTIAL),
     "robot.xml:4: joint j:", "there is a joint \"j\" already"},
    {BODY("", HINGE("") "<joint type=\"free\"/>" INERTIAL),
     "robot.xml:4: joint:", "a free joint must be alone"},
    {WORLD("<joint name=\"j\"/>"), "robot.xml:4: joint j:", "the world must have no joint"},
    {WORLD("<frame>\n<joint/></frame>"), "robot.xml:5: joint:", "the world must have no joint"},
    {BODY("", HINGE("") INERTIAL "\n<body><freejoint/>" INERTIAL "</body>"),
     "robot.xml:5: freejoint:", "on a body of the world"},
    {BODY("", HINGE("") INERTIAL "\n<body name=\"a\"/>"),
     "robot.xml:5: body a:", "there is a body \"a\" already"},
    {WORLD("<composite/>"), "robot.xml:4: composite:", "type must be cable"},
    {"<mujoco><compiler eulerseq=\"xy\"/></mujoco>",
     "robot.xml:1: compiler:", "eulerseq must be three letters"},
    {"<mujoco><compiler coordinate=\"global\"/></mujoco>",
     "robot.xml:1: compiler:", "coordinate must be local"},
    {"<mujoco><compiler angle=\"turn\"/></mujoco>",
     "robot.xml:1: compiler:", "there is no angle \"turn\""},
    {"<mujoco><option gravity=\"9.81\"/></mujoco>",
     "robot.xml:1: option:", "gravity must be 3 finite numbers"},
    {"<mujoco><default><default/></default></mujoco>",
     "robot.xml:1: default:", "class must be given"},
    {"<mujoco><include/></mujoco>", "robot.xml:1: include:", "file must be given"},
    {"<mujoco>\n<include file=\"/nowhere/x\"/></mujoco>",
     "robot.xml:2: include:", "the file \"/nowhere/x\" cannot be read"},
    {"<mujoco>\n<asset><mesh name=\"m\" "
     "file=\"/nowhere/m.stl\"/></asset><worldbody><body><freejoint/><geom type=\"mesh\" "
     "mesh=\"m\"/></body></worldbody></mujoco>",
     "robot.xml:2: mesh m:", "the file \"/nowhere/m.stl\" cannot be read"},
    {LOOP("<connect body1=\"a\" body2=\"b\"/>"), "robot.xml:4: connect:", "anchor must be given"},
    {LOOP("<connect anchor=\"0 0 0\"/>"), "robot.xml:4: connect:", "must be given"},
    {LOOP("<connect body1=\"c\" anchor=\"0 0 0\"/>"),
     "robot.xml:4: connect:", "there is no body \"c\""},
    {LOOP("<connect site1=\"c\" site2=\"d\"/>"), "robot.xml:4: connect:", "there is no site \"c\""},
    {LOOP("<joint joint1=\"j\" joint2=\"k\"/>"), "robot.xml:4: joint:", "no coordinate of its own"},
    {LOOP("<joint joint1=\"x\"/>"), "robot.xml:4: joint:", "there is no joint \"x\""},
    {LOOP("<joint joint1=\"j\" joint2=\"j\" polycoef=\"0 x 2\"/>"),
     "robot.xml:4: joint:", "polycoef"},
    {"<robot/>", "robot.xml:1: robot:", "there must be a link"},
    {TREE(""),
     "robot.xml:3: link a:", "one link must be the root, which no joint leads to, and 3 are"},
    {TREE(ON("type=\"fixed\"", "base", "a",
             "") "<joint name=\"k\"><parent link=\"b\"/><child link=\"b\"/></joint>"),
     "robot.xml:6: joint k:", "1 links form cycles"},
    {"<robot>\n<link name=\"a\"/>\n<joint name=\"j\"><parent link=\"a\"/><child "
     "link=\"a\"/></joint></robot>",
     "robot.xml:3: joint j:", "one link must be the root, which no joint leads to, and 0 are"},
    {LOOP("<joint joint1=\"j\" joint2=\"j\"/>"), "robot.xml:4: joint:", "coordinates must differ"},
    {TREE(ON("type=\"fixed\"", "base", "a", "") ON("type=\"fixed\"", "base", "a", "")),
     "robot.xml:6: joint j:", "has a joint that leads to it already"},
    {TREE(
         ON("type=\"screw\"", "base", "a",
            "") "<joint name=\"k\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint>"),
     "robot.xml:5: joint j:", "there is no type \"screw\""},
    {TREE(ON("type=\"fixed\"", "base", "c", "")), "robot.xml:5: child:", "there is no link \"c\""},
    {TREE("<joint name=\"j\"/>"), "robot.xml:5: joint j:", "parent and child must be given"},
    {TREE(LINK("a")), "robot.xml:5: link a:", "there is a link \"a\" already"},
    {TREE("<link/>"), "robot.xml:5: link:", "name must be given"},
    {TREE(ON("type=\"planar\"", "base", "a",
             "<dynamics damping=\"1\"/>") "<joint name=\"k\" type=\"fixed\"><parent "
                                          "link=\"a\"/><child link=\"b\"/></joint>"),
     "robot.xml:5: dynamics:", "of a planar joint is not supported"},
    {TREE(ON("type=\"revolute\"", "base", "a",
             "<axis xyz=\"0 0\"/>") "<joint name=\"k\" type=\"fixed\"><parent link=\"a\"/><child "
                                    "link=\"b\"/></joint>"),
     "robot.xml:5: axis:", "xyz must be 3 finite numbers"},
    {"<robot>\n<link name=\"a\"/><link name=\"b\"><inertial/></link><joint name=\"j\" "
     "type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/></joint></robot>",
     "robot.xml:2: inertial:", "mass and inertia must be given"},
};

/* The message's column is the beginning of the tag that it names. */
START_TEST(what_is_wrong_is_named_with_its_place) {
  const char *place = bad[_i].place, *named = strstr(place, ": "), *at = bad[_i].text;
  char line[40], *rest;
  snprintf(line, sizeof line, "%.*s:", (int)strcspn(place + 10, ":") + 10, place);
  assert_refused(read_text(bad[_i].text), line, bad[_i].rule);
  const long column = strtol(message + strlen(line), &rest, 10);
  ck_assert_int_gt(column, 0);
  if (!named) return;
  ck_assert_msg(strstr(rest, named) == rest, "%s", message);
  for (long k = strtol(place + 10, NULL, 10); k > 1; k--) at = strchr(at, '\n') + 1;
  at += column - 1;
  ck_assert_msg(*at == '<' && !strncmp(at + 1, named + 2, strcspn(at + 1, " >/\n")), "%s: %s",
                message, at);
}
END_TEST

START_TEST(places_are_those_of_tags_of_any_kind) {
  static const struct {
    const char *text, *place;
  } places[] = {
      {"<mujoco><worldbody>\n\t<body name=\"\xc3\xa4\"\npos=\"1\"\n></body></worldbody></mujoco>",
       "robot.xml:2:2: body"},
      {"<mujoco\n\n><worldbody><body name=\"\xc3\xa4\"/><body pos=\"1\"/></worldbody></mujoco>",
       "robot.xml:3:29: body"},
      {"<mujoco><!-- <\n< --><worldbody><body\r\nname=\"a>\" pos=\"1\" /></worldbody></mujoco>",
       "robot.xml:2:17: body"},
      {"<?xml version=\"1.0\"?>\n <!DOCTYPE x SYSTEM\n\"y\"><mujoco/>",
       "robot.xml:2:2: document types"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    assert_refused(read_text(places[i].text), places[i].place, "");
}
END_TEST

START_TEST(wrong_meshes_are_named) {
  static const struct {
    const char *name, *text, *rule;
  } meshes[] = {{"m.ply", "", "is no STL, OBJ, MSH or DAE file"},
                {"m.dae", "", "is no XML"},
                {"m.dae", "<!DOCTYPE a [<!ENTITY b 'c'>]><COLLADA/>", "has a document type"},
                {"m.dae", "<COLLADA/>", "has no scene"},
                {"m.dae", "<COLLADA><asset><unit meter='-1'/></asset></COLLADA>", "a unit of length"},
                {"m.dae", "<COLLADA><visual_scene><node><skew/></node></visual_scene></COLLADA>",
                 "nodes of a kind"},
                {"m.dae",
                 "<COLLADA><visual_scene><node><instance_geometry "
                 "url='#g'/></node></visual_scene></COLLADA>",
                 "no mesh, or not in the file"},
                {"m.dae",
                 "<COLLADA><geometry id='g'><mesh><source id='x'><float_array>0 0 0</float_array>"
                 "</source><vertices><input semantic='POSITION' source='#x'/></vertices>"
                 "<triangles><input semantic='VERTEX' offset='0'/><p>0 0 1</p></triangles></mesh>"
                 "</geometry><visual_scene><node><instance_geometry url='#g'/></node>"
                 "</visual_scene></COLLADA>",
                 "undefined corner"},
                {"m.msh", "too short", "shorter than the head of an MSH file"},
                {"m.msh", "0123456789012345", "has not the size that its numbers"},
                {"m.stl", "too short", "shorter than the head"},
                {"m.obj", "v 0 0 0\nf 1 2 3\n", "undefined corner"},
                {"m.obj", "v 0 0\n", "without three numbers"},
                {"m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "encloses no volume"},
                {"t.stl", "solid x\nfacet\nvertex 0 0 0\n", "ends within a triangle"}};
  char text[600];
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
    write_file(meshes[i].name, meshes[i].text);
    snprintf(text, sizeof text,
             "<mujoco><asset><mesh name=\"m\" "
             "file=\"%s/%s\"/></asset><worldbody><body><freejoint/><geom type=\"mesh\" "
             "mesh=\"m\"/></body></worldbody></mujoco>",
             CPODES_TEST_FOLDER, meshes[i].name);
    ck_assert_ptr_null(read_text(text));
    ck_assert_mentions(message, meshes[i].rule);
  }
}
END_TEST

/* Each beginning of a file, and each file with one byte changed, is a mechanism or has a message. */
START_TEST(broken_files_do_no_harm) {
  static const char *const texts[] = {four_bar, arm_mjcf, arm_urdf};
  unsigned long long seed          = 5;
  char text[4000];
  const size_t size = strlen(texts[_i]);
  for (size_t i = 0; i < size; i += 5) assert_harmless(read_as("robot.xml", texts[_i], i));
  for (int i = 0; i < 1000; i++) {
    strcpy(text, texts[_i]);
    const size_t at = (size_t)((random_number(&seed) + 1) / 2 * (sunrealtype)(size - 1));
    text[at]        = i % 2 ? (char)(random_number(&seed) * 127) : " <>/\"=&#-0e"[i / 2 % 11];
    assert_harmless(read_as("robot.xml", text, size));
  }
}
END_TEST

/* A chain of nested bodies: 100 are read, 300 are deeper than libxml2 allows. */
START_TEST(deep_files_are_read_or_refused) {
  for (int depth = 100; depth <= 300; depth += 200) {
    char *text = malloc(200 * (size_t)depth + 100);
    ck_assert_ptr_nonnull(text);
    strcpy(text, "<mujoco><worldbody>");
    for (int i = 0; i < depth; i++) strcat(text, "<body pos=\"0 0 1\"><joint/>" INERTIAL);
    for (int i = 0; i < depth; i++) strcat(text, "</body>");
    strcat(text, "</worldbody></mujoco>");
    CPBodies b = read_text(text);
    ck_assert_int_eq(CPBodiesCount(b, CP_BODY), depth == 100 ? 100 : 0);
    if (!b) ck_assert_mentions(message, "Excessive depth");
    CPBodiesFree(&b);
    free(text);
  }
}
END_TEST

START_TEST(many_bodies_are_read) {
  enum { BODIES = 20000, LINE = 200, EMPTY = 70000 }; /* libxml2 itself knows 65,535 lines. */
  char *text = malloc(BODIES * LINE + EMPTY + 100);
  ck_assert_ptr_nonnull(text);
  memset(text, '\n', EMPTY);
  size_t size = EMPTY + (size_t)sprintf(text + EMPTY, "<mujoco>\n<worldbody>\n");
  for (int i = 0; i < BODIES; i++)
    size += (size_t)sprintf(text + size,
                            "<body name=\"b%d\"><joint name=\"j%d\"/><inertial pos=\"0 0 0\" "
                            "mass=\"%d\" diaginertia=\"1 1 1\"/></body>\n",
                            i, i, i < BODIES - 1);
  sprintf(text + size, "</worldbody></mujoco>");
  ck_assert_ptr_null(read_text(text));
  ck_assert_mentions(message, "robot.xml:90002:1: body b19999: this body moves and must have mass");
  free(text);
}
END_TEST

START_TEST(an_element_has_a_bounded_number_of_attributes) {
  enum { MANY = 100000, LINE = 20 };
  char *text = malloc(MANY * LINE);
  ck_assert_ptr_nonnull(text);
  for (int equals = 0; equals < 2; equals++) { /* in a comment they are none */
    size_t size = (size_t)sprintf(text, equals ? "<!-- <" : "<mujoco ");
    for (int i = 0; i < MANY; i++)
      size += (size_t)sprintf(text + size, equals ? "= " : "a%d = '>' ", i);
    sprintf(text + size, equals ? "-->" BODY("", "<freejoint/>" INERTIAL) : "/>");
    CPBodies b = read_text(text);
    ck_assert_msg((b != NULL) == equals, "%s", message);
    if (!b) ck_assert_mentions(message, "robot.xml: an element has more than 1000 attributes");
    CPBodiesFree(&b);
  }
  free(text);
}
END_TEST

/* Each of these takes a minute if time grows with the square of a number. */
START_TEST(time_is_proportional_to_the_length) {
  enum { MANY = 100000, LINE = 60 };
  for (int which = 0; which < 2; which++) {
    char *text = malloc(MANY * LINE + 500);
    ck_assert_ptr_nonnull(text);
    size_t size = (size_t)sprintf(text, "<mujoco>");
    if (which == 0)
      for (int i = 0; i < MANY; i++) size += (size_t)sprintf(text + size, "<u%d/>", i);
    for (int i = 0; i < MANY && which == 1; i++)
      size += (size_t)sprintf(text + size, "<default><site group=\"%d\"/></default>", i);
    size += (size_t)sprintf(text + size, "<worldbody><body name=\"a\"><freejoint/>" INERTIAL);
    for (int i = 0; i < MANY / 10 && which == 1; i++)
      size += (size_t)sprintf(text + size, "<site pos=\"%d 0 0\"/>", i);
    sprintf(text + size, "</body></worldbody></mujoco>");
    CPBodies b        = read_good(text);
    const char *lines = file.notes;
    long int nlines   = 0;
    for (; (lines = strchr(lines, '\n')); lines++) nlines++;
    ck_assert_int_eq(nlines, which == 0 ? MANY : 0);
    CPBodiesFree(&b);
    free(text);
  }
}
END_TEST

START_TEST(bodies_without_names_are_numbered) {
  enum { BODIES = 20000, LINE = 200 };
  char *text = malloc(BODIES * LINE);
  ck_assert_ptr_nonnull(text);
  size_t size = (size_t)sprintf(text, "<mujoco><worldbody>");
  for (int i = 0; i < BODIES; i++)
    size += (size_t)sprintf(text + size, "<body%s><joint/>" INERTIAL "</body>\n",
                            i == 5 ? " name=\"body_3\"" : "");
  sprintf(text + size, "</worldbody></mujoco>");
  CPBodies b = read_good(text);
  ck_assert_str_eq(thing_at(b, CP_BODY, 0).name, "body");
  ck_assert_str_eq(thing_at(b, CP_BODY, 2).name, "body_3");
  ck_assert_str_eq(thing_at(b, CP_BODY, 5).name, "body_3_2");
  ck_assert_str_eq(thing_at(b, CP_BODY, BODIES - 1).name, "body_19999");
  CPBodiesFree(&b);
  free(text);
}
END_TEST

/* MuJoCo 4.0.0: body_mass 2, body_ipos (0.1, -0.3, -0.8), inertia (0.1, 0.2, 0.15) in axes turned by
 * 90 degrees about x */
START_TEST(an_inertial_may_stand_in_a_frame) {
  CPBodies b =
      read_good("<mujoco><worldbody><body name=\"a\"><frame pos=\"0 0 -1\" euler=\"90 0 0\">"
                "<joint/><inertial pos=\".1 .2 .3\" mass=\"2\" diaginertia=\".1 .2 .15\"/>"
                "<geom type=\"box\" size=\".2 .2 .2\"/></frame></body></worldbody></mujoco>");
  N_Vector y = CPBodiesState(b, test_context);
  ck_assert_double_eq(parameter(b, "a.mass"), 2);
  ck_assert_double_eq_tol(parameter(b, "a.J_xx"), 0.1, 1e-15);
  ck_assert_double_eq_tol(parameter(b, "a.J_yy"), 0.15, 1e-15);
  ck_assert_double_eq_tol(parameter(b, "a.J_zz"), 0.2, 1e-15);
  ck_assert_double_eq_tol(entries(y)[0], 0.1, 1e-15);
  ck_assert_double_eq_tol(entries(y)[1], -0.3, 1e-15);
  ck_assert_double_eq_tol(entries(y)[2], -0.8, 1e-15);
  N_VDestroy(y);
  CPBodiesFree(&b);
  assert_refused(
      read_text(BODY("", "<joint/>" INERTIAL "<frame><frame>" INERTIAL "</frame></frame>")),
      "robot.xml:4:1: body a:", "one inertial element, and has 2");
}
END_TEST

/* Each file is within libxml2's limit of depth, and all together would overflow the stack. */
START_TEST(included_files_may_not_nest_without_end) {
  enum { FILES = 30, DEPTH = 200, LONGEST = 20 };
  char text[DEPTH * LONGEST], name[40];
  for (int i = 0; i < FILES; i++) {
    size_t size = (size_t)sprintf(text, i ? "<mujoco>" : "<mujoco><worldbody>");
    for (int k = 0; k < DEPTH; k++) size += (size_t)sprintf(text + size, "<frame>");
    if (i < FILES - 1)
      size += (size_t)sprintf(text + size, "<include file=\"deep_%d.xml\"/>", i + 1);
    for (int k = 0; k < DEPTH; k++) size += (size_t)sprintf(text + size, "</frame>");
    sprintf(text + size, i ? "</mujoco>" : "</worldbody></mujoco>");
    sprintf(name, "deep_%d.xml", i);
    write_file(name, text);
  }
  snprintf(text, sizeof text, "%s/deep_0.xml", CPODES_TEST_FOLDER);
  ck_assert_ptr_null(read_bodies(text, NULL, 0, &file, message));
  ck_assert_mentions(message, "elements are nested deeper than 1000");
}
END_TEST

START_TEST(other_encodings_are_read) {
  const char *plain = BODY("", "<freejoint/>" INERTIAL);
  char wide[1000];
  CPBodies b = read_as("robot.xml", wide, widen(plain, wide));
  ck_assert_msg(b != NULL, "%s", message);
  CPBodiesFree(&b);
  b = read_good("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><mujoco "
                "model=\"\xe4\"><worldbody><body name=\"a\"><freejoint/>" INERTIAL
                "</body></worldbody></mujoco>");
  ck_assert_str_eq(file.title, "\xc3\xa4");
  CPBodiesFree(&b);
}
END_TEST

/* libxml2 would print errors of an encoding. */
START_TEST(nothing_is_printed) {
  static const char wide[] = "\xfe\xff\0<\0m\xd8\0\0A";
  char path[300];
  snprintf(path, sizeof path, "%s/printed", CPODES_TEST_FOLDER);
  const int before = dup(STDERR_FILENO);
  ck_assert_ptr_nonnull(freopen(path, "w", stderr));
  CPBodies b = read_as("robot.xml", wide, sizeof wide - 1);
  fflush(stderr);
  const long size = ftell(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  assert_refused(b, "robot.xml:1:", "no XML");
  ck_assert_int_eq(size, 0);
}
END_TEST

/* allocations of cpodes; libxml2 has its own */
START_TEST(the_nth_allocation_may_fail) {
  static const char *const texts[] = {four_bar, arm_urdf};
  CPBodies warm                    = read_good(texts[_i]);
  CPBodiesFree(&warm);
  assert_allocations_may_fail("robot.xml", texts[_i], strlen(texts[_i]), 20);
}
END_TEST

#define NUMBER(array) (int)(sizeof(array) / sizeof *(array))

TEST_SUITE(xml) {
  Suite *suite = suite_create("bodies/xml");
  TCase *tc    = tcase_create("xml");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, a_four_bar_linkage_moves_as_the_one_put_together_by_hand);
  tcase_add_test(tc, both_formats_say_the_same);
  tcase_add_test(tc, equalities_of_fixed_tendons_are_couplings);
  tcase_add_test(tc, limits_that_an_equality_of_tendons_violates_are_told);
  tcase_add_test(tc, an_armature_is_a_rotor_behind_a_gear);
  tcase_add_loop_test(tc, an_orientation_may_be_given_in_all_ways, 0, NUMBER(turns));
  tcase_add_loop_test(tc, masses_come_from_shapes, 0, NUMBER(solids));
  tcase_add_loop_test(tc, masses_come_from_meshes, 0, 10);
  tcase_add_loop_test(tc, joints_in_a_row_move_the_body_together, 0, NUMBER(rows));
  tcase_add_loop_test(tc, springs_rest_at_their_reference, 0, 2);
  tcase_add_loop_test(tc, loops_are_closed, 0, NUMBER(loops));
  tcase_add_test(tc, couplings_of_angles_have_any_ratio);
  tcase_add_test(tc, names_are_made_fit);
  tcase_add_test(tc, what_is_left_out_is_listed);
  tcase_add_test(tc, geoms_touch_each_other_and_the_world);
  tcase_add_test(tc, shapes_that_begin_a_little_in_each_other_touch);
  tcase_add_test(tc, round_shapes_touch_flat_ones_as_polyhedra);
  tcase_add_test(tc, meshes_of_mjcf_touch_as_their_hulls);
  tcase_add_loop_test(tc, hollows_of_meshes_are_told, 0, 2);
  tcase_add_test(tc, elements_without_effect_on_the_motion_give_no_notes);
  tcase_add_test(tc, files_are_included);
  if (CPODES_TEST_YAML) tcase_add_test(tc, a_file_may_add_to_a_robot);
  tcase_add_loop_test(tc, what_is_wrong_is_named_with_its_place, 0, NUMBER(bad));
  tcase_add_test(tc, wrong_meshes_are_named);
  tcase_add_loop_test(tc, broken_files_do_no_harm, 0, 3);
  tcase_add_test(tc, deep_files_are_read_or_refused);
  tcase_add_test(tc, places_are_those_of_tags_of_any_kind);
  tcase_add_test(tc, nothing_is_printed);
  tcase_add_test(tc, many_bodies_are_read);
  tcase_add_test(tc, time_is_proportional_to_the_length);
  tcase_add_test(tc, an_element_has_a_bounded_number_of_attributes);
  tcase_add_test(tc, bodies_without_names_are_numbered);
  tcase_add_test(tc, an_inertial_may_stand_in_a_frame);
  tcase_add_test(tc, included_files_may_not_nest_without_end);
  tcase_add_test(tc, other_encodings_are_read);
  tcase_add_loop_test(tc, the_nth_allocation_may_fail, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
