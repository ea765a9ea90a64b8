/* Files in SDF: where frames are, in which directions axes point, and how the joints move, by closed forms. */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A mechanism of a file, and its state at the start */
static CPBodies bodies;
static CPMech mech;
static N_Vector y;

static void open_file(const char *path, const char *text, const char *settings,
                      CPFormulation formulation) {
  bodies = read_with(path, text, settings);
  ck_assert_msg(bodies != NULL, "%s", message);
  y = build_as(bodies, formulation, &mech);
}

static void close_file(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

static sunrealtype quantity(const char *name, int k) { return quantity_at(mech, name, 0, y, k); }

static void assert_vector(const char *name, double x1, double x2, double x3) {
  const double x[] = {x1, x2, x3};
  for (int k = 0; k < 3; k++)
    ck_assert_msg(fabs(quantity(name, k) - x[k]) < 1e-13, "%s [%d] is %.17g, not %g", name, k,
                  (double)quantity(name, k), x[k]);
}

static sunrealtype parameter(const char *name) {
  const int i = thing_named(bodies, CP_PARAMETER, name);
  ck_assert_msg(i >= 0, "%s", name);
  return CPBodiesParameters(bodies)[i];
}

#define RIGHT "1.5707963267948966"
#define MASS(m, J)                                                                        \
  "<inertial><mass>" m "</mass><inertia><ixx>" J "</ixx><iyy>" J "</iyy><izz>" J "</izz>" \
  "</inertia></inertial>"
#define LINK(name, pose) "<link name='" name "'>" pose MASS("1", "1") "</link>\n"
#define JOINT(name, type, parent, child, more)                                      \
  "<joint name='" name "' type='" type "'><parent>" parent "</parent><child>" child \
  "</child>" more "</joint>\n"
#define SDF(version, text) "<sdf version='" version "'>\n" text "</sdf>"

/* ----------------------------------------------------------------------------------- frames -- */

/* Rotations are by right angles, so that all places can be told by hand. */
START_TEST(frames_are_where_the_format_puts_them) {
  open_file(
      "f.sdf",
      SDF("1.9",
          "<world name='w'><frame name='corner'><pose>10 0 0 0 0 0</pose></frame>"
          "<model name='m'><pose relative_to='corner'>1 0 0 0 0 " RIGHT "</pose>\n" LINK(
              "a",
              "<pose>1 0 0 0 0 0</pose>") "<frame name='tip' attached_to='a'><pose>0 1 0 0 0 " RIGHT
                                          "</pose></frame>\n" LINK(
                                              "b", "<pose relative_to='tip'>2 0 0 0 0 0</pose>")
                                              LINK("c", "<pose rotation_format='quat_xyzw' "
                                                        "relative_to='j'>0 0 3 0 0 0 1</pose>")
                                                  JOINT("j", "ball", "b", "tip", "<pose degrees='true'>0 0 1 0 90 0</pose>") "<model name='in' placement_frame='hand'><pose>0 0 5 0 0 0</pose>" LINK(
                                                      "d",
                                                      "") "<frame name='hand'><pose>1 2 3 0 0 "
                                                          "0</pose></frame></model>\n" LINK(
                                                              "e",
                                                              "<pose relative_to='in::hand'>0 0 1 "
                                                              "0 0 0</pose>") "</model></world>"),
      "", CP_ABSOLUTE);
  /* The model: origin (11, 0, 0), x is y of space, y is -x. */
  assert_vector("a.position", 11, 1, 0);
  /* tip: at (1, 1, 0) of the model, its x is the model's y, -x of space */
  assert_vector("b.position", 8, 1, 0);
  assert_vector("b.point([1, 0, 0]).position", 7, 1, 0);
  assert_vector("b.point([0, 1, 0]).position", 8, 0, 0);
  /* j: 1 above tip; its z is the tip's x */
  assert_vector("c.position", 7, 1, 1);
  assert_vector("c.point([1, 0, 0]).position", 7, 1, 0);
  /* d: hand is at (0, 0, 5) of m, so that d is at (-1, -2, 2) */
  assert_vector("in::d.position", 13, -1, 2);
  assert_vector("e.position", 11, 0, 6);
  close_file();
}
END_TEST

/* The frame of a nested model moves with its canonical link, as the parent of a joint, too. */
START_TEST(a_nested_model_is_the_parent_of_a_joint) {
  open_file("n.sdf",
            SDF("1.9", "<model name='m'><model name='n'><pose>1 2 3 0 0 0</pose>" LINK(
                           "a", "") "</model>" LINK("b", "")
                           JOINT("j", "fixed", "n::__model__", "b", "") "</model>"),
            "", CP_JOINT_COORDINATES);
  ck_assert_int_eq((int)equations_of(mech).nu, 6);
  ck_assert_double_eq_tol(parameter("n::a.mass"), 2, 1e-14);
  close_file();
}
END_TEST

/* A joint's axis is in its own frame, that of the child, from version 1.5 on, unless the file names another one. */
START_TEST(axes_point_as_each_version_says) {
  static const struct {
    const char *version, *axis;
    double x[3];
  } cases[] = {{"1.4", "<axis><xyz>1 0 0</xyz></axis>", {0, 1, 0}},
               {"1.5", "<axis><xyz>1 0 0</xyz></axis>", {-1, 0, 0}},
               {"1.6",
                "<axis><xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>",
                {0, 1, 0}},
               {"1.7", "<axis><xyz>1 0 0</xyz></axis>", {-1, 0, 0}},
               {"1.8", "<axis><xyz expressed_in='__model__'>0 2 0</xyz></axis>", {-1, 0, 0}},
               {"1.12", "<axis><xyz expressed_in='other'>0 0 1</xyz></axis>", {0, 1, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[2000];
    snprintf(text, sizeof text,
             "<sdf version='%s'><model name='m'><pose>0 0 0 0 0 " RIGHT
             "</pose>" LINK("a", "<pose>0 0 0 0 0 " RIGHT "</pose>")
                 JOINT("j", "revolute", "world", "a", "%s") "%s</model></sdf>",
             cases[i].version, cases[i].axis,
             strstr(cases[i].axis, "other")
                 ? "<frame name='other' attached_to='a'><pose>0 0 0 " RIGHT " 0 0</pose></frame>"
                 : "");
    open_file("a.sdf", text, "start.j'=2", CP_JOINT_COORDINATES);
    assert_vector("a.omega", 2 * cases[i].x[0], 2 * cases[i].x[1], 2 * cases[i].x[2]);
    ck_assert_int_eq((int)equations_of(mech).nu, 1);
    close_file();
  }
}
END_TEST

/* ----------------------------------------------------------------------------------- joints -- */

#define WORLD_OF(gravity, text) \
  SDF("1.8",                    \
      "<world name='w'><gravity>" gravity "</gravity><model name='m'>" text "</model></world>")
#define AXIS(xyz, more) "<axis><xyz>" xyz "</xyz>" more "</axis>"

/* J phi'' = -m g l sin(phi) - d phi' - k (phi - phi_0), with J = 1 + 1 l^2 */
START_TEST(hinges_swing_with_their_springs_and_dampers) {
  open_file(
      "h.sdf",
      WORLD_OF(
          "0 0 -10",
          JOINT("j", "revolute", "world", "a",
                "<pose>0 0 0.5 0 0 0</pose>" AXIS(
                    "0 1 0", "<dynamics><damping>0.3</damping><spring_reference>0.2"
                             "</spring_reference><spring_stiffness>7</spring_stiffness></dynamics>"
                             "<limit><lower>-inf</lower><upper>1e16</upper></limit>"))
              LINK("a", "<pose>0 0 -0.5 0 0 0</pose>")),
      "start.j=0.7\nstart.j'=-2", CP_JOINT_COORDINATES);
  ck_assert_double_eq_tol(quantity("j.acceleration", 0),
                          (-10 * 0.5 * sin(0.7) + 0.3 * 2 - 7 * 0.5) / 1.25, 1e-13);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 0);
  close_file();
}
END_TEST

/* A nut on a vertical screw: (m + J (2 pi / p)^2) a = -m g, and 2 pi x = p angle. The older thread_pitch is -2 pi / p. */
START_TEST(screws_turn_as_they_move) {
  static const char *const pitches[] = {"<screw_thread_pitch>0.4</screw_thread_pitch>",
                                        "<thread_pitch>-15.707963267948966</thread_pitch>"};
  for (int i = 0; i < 4; i++) {
    char text[2000];
    /* the second time from the nut to the ground, which is the child */
    snprintf(text, sizeof text,
             WORLD_OF("0 0 -10",
                      "<joint name='j' type='screw'><parent>%s</parent><child>%s</child>" AXIS(
                          "0 0 1", "") "%s</joint>" LINK("a", "")),
             i < 2 ? "world" : "a", i < 2 ? "a" : "world", pitches[i % 2]);
    open_file("s.sdf", text, "", CP_JOINT_COORDINATES);
    const double turns = 2 * M_PI / 0.4, a = -10 / (1 + turns * turns);
    ck_assert_double_eq_tol(quantity("a.acceleration", 2), a, 1e-13);
    ck_assert_double_eq_tol(quantity("a.alpha", 2), a * turns, 1e-12);
    close_file();
  }
}
END_TEST

/* Two wheels with J = 1 on one axis, of which the gearbox gives theta_2 = -3 theta_1: with a mass on the first one's rim,
 * (1 + 1 l^2 + 9) theta_1'' = -m g l. A reference that is the child changes nothing. */
START_TEST(gearboxes_couple_the_angles_of_two_hinges) {
  static const char *const hinge[] = {
      JOINT("j1", "revolute", "world", "a", "<pose>-0.5 0 0 0 0 0</pose>" AXIS("0 1 0", "")),
      JOINT("j1", "revolute", "a", "world",
            "<pose relative_to='a'>-0.5 0 0 0 0 0</pose>" AXIS("0 -1 0", ""))};
  for (int i = 0; i < 2; i++) {
    char text[2000];
    snprintf(text, sizeof text,
             WORLD_OF("0 0 -10",
                      "%s" LINK("a", "<pose>0.5 0 0 0 0 0</pose>") LINK("b", "")
                          JOINT("j2", "revolute", "world", "b", AXIS("0 -1 0", ""))
                              JOINT("g", "gearbox", "a", "b",
                                    "<gearbox_ratio>3</gearbox_ratio>"
                                    "<gearbox_reference_body>world</gearbox_reference_body>" AXIS(
                                        "0 1 0", "") "<axis2><xyz>0 1 0</xyz></axis2>")),
             hinge[i]);
    open_file("g.sdf", text, "", CP_JOINT_COORDINATES);
    const double alpha = 10 * 0.5 / (1.25 + 9); /* about y */
    assert_vector("a.alpha", 0, alpha, 0);
    assert_vector("b.alpha", 0, -3 * alpha, 0);
    close_file();
  }
}
END_TEST

/* theta_2 = 2 (theta_1 - 0.1) + 0.3, for hinges through the centres of two wheels; a torsion spring acts on the second one:
 * (1 + 4) theta_1'' = -2 k theta_2 */
START_TEST(mimics_follow_their_leaders) {
  open_file("m.sdf",
            WORLD_OF("0 0 0",
                     LINK("a", "") LINK("b", "<pose>2 0 0 0 0 0</pose>")
                         JOINT("j1", "continuous", "world", "a", AXIS("0 0 1", "")) JOINT(
                             "j2", "revolute", "world", "b",
                             AXIS("1 0 0",
                                  "<dynamics><spring_stiffness>5</spring_stiffness></dynamics>"
                                  "<mimic joint='j1'><multiplier>2</multiplier><offset>0.3</offset>"
                                  "<reference>0.1</reference></mimic>"))),
            "start.j1=0.4\nstart.j2=0.9", CP_JOINT_COORDINATES);
  ck_assert_double_eq_tol(quantity("j1.acceleration", 0), -2 * 5 * 0.9 / 5, 1e-13);
  ck_assert_double_eq_tol(quantity("j2.acceleration", 0), -4 * 5 * 0.9 / 5, 1e-13);
  close_file();
}
END_TEST

/* Both axes of a universal joint, the first one of the parent, through the centre of a body with J = 1 about all axes. */
START_TEST(universal_joints_have_two_axes) {
  for (int i = 0; i < 4; i++) {
    char text[2000];
    snprintf(
        text, sizeof text,
        WORLD_OF("0 0 0", "<joint name='u' type='%s'><parent>%s</parent><child>%s</child>" AXIS(
                              "1 0 0", "") "<axis2><xyz>0 0 1</xyz></axis2></joint>" LINK("a", "")),
        i % 2 ? "universal" : "revolute2", i < 2 ? "world" : "a", i < 2 ? "a" : "world");
    open_file("u.sdf", text, "start.u=0.5\nstart.u'=2\nstart.u_2'=3", CP_JOINT_COORDINATES);
    /* From the ground on, z is turned by u about x; to the ground, the first axis is that of the body, turned by -u_2 = 0 about z. */
    if (i < 2) assert_vector("a.omega", 2, -3 * sin(0.5), 3 * cos(0.5));
    else assert_vector("a.omega", -2, 0, -3);
    close_file();
  }
}
END_TEST

/* A parallelogram of two cranks and a coupler, which has one mass more on it than a pendulum: the coupler is the child of
 * both cranks. (2 (m l^2/4 + J) + m l^2) theta'' = -(2 m l/2 + m l) g sin theta, with l = 2, m = J = 1 */
START_TEST(a_link_with_two_parents_closes_a_loop) {
  for (int i = 0; i < 2; i++) {
    char text[3000];
    snprintf(
        text, sizeof text,
        WORLD_OF("0 0 -10",
                 LINK("a", "<pose>0.6 0 -0.8 0 0 0</pose>")
                     LINK("b", "<pose>3.6 0 -0.8 0 0 0</pose>")
                         LINK("c", "<pose>2.7 0 -1.6 0 0 0</pose>")
                             JOINT("j1", "revolute", "world", "a",
                                   "<pose>-0.6 0 0.8 0 0 0</pose>" AXIS("0 1 0", ""))
                                 JOINT("j2", "revolute", "world", "b",
                                       "<pose>-0.6 0 0.8 0 0 0</pose>" AXIS("0 1 0", ""))
                                     JOINT("j3", "revolute", "a", "c",
                                           "<pose>-1.5 0 0 0 0 0</pose>" AXIS("0 1 0", ""))
                                         JOINT("j4", "%s", "b", "c",
                                               "<pose>1.5 0 0 0 0 0</pose>" AXIS(
                                                   "0 1 0", "") "<axis2><xyz>0 0 1</xyz></axis2>")),
        i ? "universal" : "revolute");
    open_file("p.sdf", text, "", CP_JOINT_COORDINATES);
    ck_assert_int_eq((int)equations_of(mech).np, 5);
    const double alpha = 10 * 4 * 0.6 / (2 * 2 + 4);
    assert_vector("a.alpha", 0, alpha, 0);
    assert_vector("b.alpha", 0, alpha, 0);
    assert_vector("c.alpha", 0, 0, 0);
    close_file();
  }
}
END_TEST

START_TEST(joints_with_limits_and_friction_have_stops) {
  open_file(
      "l.sdf",
      WORLD_OF("0 0 0",
               LINK("a", "") LINK("b", "") LINK("c", "") JOINT(
                   "j", "prismatic", "world", "a",
                   AXIS("1 0 0", "<limit><lower>-0.25</lower><upper>0.5</upper></limit>"
                                 "<dynamics><friction>0.7</friction></dynamics>"))
                   JOINT("k", "revolute", "a", "b", AXIS("1 0 0", "<limit><upper>2</upper></limit>"))
                       JOINT("held", "revolute", "b", "c",
                             AXIS("0 1 0", "<limit><lower>0.3</lower><upper>0.3</upper></limit>"))),
      "", CP_JOINT_COORDINATES);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 4);
  ck_assert_double_eq(parameter("j_limit.lower"), -0.25);
  ck_assert_double_eq(parameter("k_limit.upper"), 2);
  ck_assert_double_eq(parameter("j_friction.force"), 0.7);
  CPBodyFrame frame = CP_INIT(CPBodyFrame);
  ck_assert_int_eq(CPMechGetFrame(mech, thing_named(bodies, CP_BODY, "c"), NULL, y, &frame),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(2 * atan2(frame.quaternion[2], frame.quaternion[0]), 0.3, 1e-15);
  ck_assert_mentions(file.remarks, "joints whose limits are equal are held there");
  close_file();
}
END_TEST

/* ------------------------------------------------------------------------------------ masses -- */

/* With auto="true" a link has the mass of its shapes: m of a box abc is abc, J_xx = m (b^2 + c^2) / 12; of a cone m = pi r^2 h / 3,
 * J_zz = 3/10 m r^2, J_xx = 3/20 m r^2 + 3/80 m h^2, its centre h/4 above the base; of a sphere J = 2/5 m r^2; of a cylinder
 * J_zz = m r^2 / 2. */
START_TEST(shapes_have_their_mass) {
#define SHAPE(text) "<collision name='s'><geometry>" text "</geometry></collision>"
  static const struct {
    const char *shape;
    double m, J_xx, J_zz, z;
  } cases[] = {{SHAPE("<box><size>1 2 3</size></box>"), 6, 6.5, 2.5, 0},
               {SHAPE("<sphere><radius>0.5</radius></sphere>"), M_PI / 6, M_PI / 60, M_PI / 60, 0},
               {SHAPE("<cylinder><radius>0.5</radius><length>2</length></cylinder>"), M_PI / 2,
                M_PI / 6 + M_PI / 32, M_PI / 16, 0},
               {SHAPE("<cone><radius>2</radius><length>4</length></cone>"), 16 * M_PI / 3,
                16 * M_PI / 3 * (0.6 + 0.6), 16 * M_PI / 3 * 1.2, -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1000];
    snprintf(text, sizeof text,
             WORLD_OF("0 0 0",
                      "<link name='a'><inertial auto='true'><density>2</density></inertial>"
                      "%s</link>"),
             cases[i].shape);
    open_file("m.sdf", text, "", CP_ABSOLUTE);
    ck_assert_double_eq_tol(parameter("a.mass") / cases[i].m, 2, 1e-13);
    ck_assert_double_eq_tol(parameter("a.J_xx"), 2 * cases[i].J_xx, 1e-12);
    ck_assert_double_eq_tol(parameter("a.J_zz"), 2 * cases[i].J_zz, 1e-12);
    ck_assert_double_eq_tol(thing_at(bodies, CP_BODY, 0).centre[2], cases[i].z, 1e-14);
    close_file();
  }
}
END_TEST

/* What is fixed to each other is one body; gravity acts on none of b: (2 kg) a = -1 kg 10 m/s^2. A static model is the ground. */
START_TEST(gravity_leaves_out_what_the_file_says) {
  open_file(
      "g.sdf",
      SDF("1.7",
          "<world name='w'><gravity>0 0 -10</gravity>\n"
          "<model name='m'>" LINK(
              "a",
              "<pose>1 0 0 0 0 0</pose>") "<link name='b'><pose>-1 0 0 0 0 "
                                          "0</pose>" MASS(
                                              "1",
                                              "1") "<gravity>0</gravity></"
                                                   "link>" JOINT(
                                                       "f", "fixed", "a", "b",
                                                       "") "</model>\n"
                                                           "<model "
                                                           "name='n'><static>1</static>" LINK(
                                                               "a",
                                                               "") "</model>\n"
                                                                   "<model name='o'><link "
                                                                   "name='a'/></model></world>"),
      "", CP_ABSOLUTE);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_BODY), 2);
  assert_vector("m::a.centre.acceleration", 0, 0, -5);
  /* about y, from the weight of a at x = 1: J_yy = 2 (1 + 1 1^2) */
  assert_vector("m::a.alpha", 0, 10.0 / 4, 0);
  assert_vector("o::a.acceleration", 0, 0, -10);
  ck_assert_double_eq(parameter("o::a.mass"), 1);
  ck_assert_mentions(file.remarks, "links without inertial have 1 kg");
  close_file();
}
END_TEST

/* ------------------------------------------------------------------------------------- files -- */

static const char *path_of(const char *name) {
  static char path[400];
  snprintf(path, sizeof path, "%s/sdf/%s", CPODES_TEST_FOLDER, name);
  return path;
}

static void make_folder(const char *name) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", CPODES_TEST_FOLDER, name);
  mkdir(path, 0777);
}

START_TEST(models_are_included_from_the_folder_of_the_file) {
  make_folder("sdf");
  make_folder("sdf/arm");
  make_folder("sdf/shop");
  make_folder("sdf/shop/hand");
  write_file("sdf/arm/model.config",
             "<model><sdf version='1.5'>old.sdf</sdf><sdf version='1.8'>new.sdf</sdf></model>");
  write_file("sdf/arm/new.sdf", SDF("1.8", "<model name='arm'><pose>9 9 9 0 0 0</pose>" LINK(
                                               "l", "<pose>0 0 1 0 0 0</pose>") "</model>"));
  write_file("sdf/shop/hand/model.sdf", SDF("1.8", "<model name='hand'>" LINK("h", "") "</model>"));
  static const char world[] =
      SDF("1.10",
          "<world name='w'><model name='robot'>\n<include><uri>model://arm</uri><name>one</name>"
          "<pose>1 0 0 0 0 0</pose></include>"
          "<include merge='true'><uri>arm</uri><pose>2 0 0 0 0 " RIGHT "</pose></include>\n"
          "<include><uri>%s</uri></include>" JOINT("j", "fixed", "one::l", "l",
                                                   "") "%s</model></world>");
  char text[2000];
  snprintf(text, sizeof text, world, "https://example.org/lamp", "");
  open_file(path_of("w.sdf"), text, "", CP_ABSOLUTE);
  assert_vector("one::l.position", 1, 0, 1);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_BODY), 1);
  /* merged: its frame is at x = 2, turned by a right angle */
  ck_assert_double_eq_tol(thing_at(bodies, CP_BODY, 0).centre[0], 0.5, 1e-15);
  ck_assert_mentions(file.notes, "the model https://example.org/lamp, which is not in the folder");
  close_file();
  assert_allocations_may_fail(path_of("w.sdf"), text, strlen(text), 20);

  snprintf(text, sizeof text, world, "hand", JOINT("k", "ball", "l", "hand::h", ""));
  assert_refused(
      read_with(path_of("w.sdf"), text, ""), path_of("w.sdf"),
      "there is no frame \"hand::h\"; the model hand has not been found: --param models=");
  open_file(path_of("w.sdf"), text, "models=nowhere:shop", CP_ABSOLUTE);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_BODY), 2);
  close_file();

  /* Nothing outside the folder is read, unless it is asked for. */
  static const char *const outside[] = {"../sdf/arm", "arm/../../sdf/arm", "/etc", "file:///etc",
                                        "model://../sdf/arm"};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
    snprintf(text, sizeof text, world, outside[i], "");
    open_file(path_of("w.sdf"), text, "", CP_ABSOLUTE);
    ck_assert_mentions(file.notes, outside[i]);
    ck_assert_mentions(file.notes, "which is not in the folder");
    close_file();
  }
  /* A configuration cannot lead out either. */
  make_folder("sdf/bad");
  write_file("sdf/bad/model.config", "<model><sdf>../arm/new.sdf</sdf></model>");
  snprintf(text, sizeof text, world, "bad", "");
  open_file(path_of("w.sdf"), text, "", CP_ABSOLUTE);
  ck_assert_mentions(file.notes, "the model bad, which is not in the folder");
  close_file();
  /* A file that includes itself ends. */
  make_folder("sdf/self");
  write_file(
      "sdf/self/model.sdf",
      SDF("1.8", "<model name='s'>" LINK("l", "") "<include><uri>self</uri></include></model>"));
  snprintf(text, sizeof text, world, "self", "");
  CPBodies b = read_with(path_of("w.sdf"), text, "");
  ck_assert_ptr_null(b);
  ck_assert_mentions(message, "models are nested deeper than");
}
END_TEST

START_TEST(what_is_wrong_is_refused_where_it_is) {
#define MODEL(text) SDF("1.9", "<model name='m'>\n" text "</model>")
  static const char *const wrong[][3] = {
      {SDF("1.13", ""),
       "r.sdf:1:1: sdf:", "the version must be one from 1.4 to 1.12, and is \"1.13\""},
      {"<sdf/>", "r.sdf:1:1: sdf:", "the version must be one from 1.4 to 1.12, and is \"\""},
      {SDF("1.9", ""), "r.sdf:1:1: sdf:", "there is neither a model nor a world"},
      {SDF("1.9", "<model/>"), "r.sdf:2:1: model:", "name must be given"},
      {MODEL(LINK("a", "") LINK("a", "")),
       "r.sdf:4:1: link a:", "there is a link of this name already"},
      {MODEL(LINK("a", "<pose>0 0 0</pose>")), "r.sdf:3:16: pose:", "pose must be 6 finite numbers"},
      {MODEL(LINK("a", "<pose relative_to='b'>0 0 0 0 0 0</pose>")
                 LINK("b", "<pose relative_to='a'>0 0 0 0 0 0</pose>")),
       "r.sdf:3:1: link a:", "its pose is relative to itself"},
      {MODEL(LINK("a", "<pose relative_to='c'>0 0 0 0 0 0</pose>")),
       "r.sdf:3:1: link a:", "there is no frame \"c\""},
      {MODEL(LINK("a", "") JOINT("j", "hinge", "world", "a", "")),
       "r.sdf:4:1: joint j:", "there is no type \"hinge\""},
      {MODEL(LINK("a", "") JOINT("j", "ball", "a", "a", "")),
       "r.sdf:4:1: joint j:", "parent and child must be two links"},
      {MODEL(LINK("a", "") "<joint name='j' type='ball'><child>a</child></joint>"),
       "r.sdf:4:1: joint j:", "parent must be given"},
      {MODEL(LINK("a", "") JOINT("j", "revolute", "world", "a", AXIS("0 0 0", ""))),
       "r.sdf:4:1: joint j:", "axis must not be zero"},
      {MODEL(LINK("a", "") JOINT("j", "revolute", "world", "a", AXIS("0 0 1", "<mimic joint='k'/>"))),
       "r.sdf:4:93: mimic:", "there is no \"k\""},
      {MODEL("<link name='a'><inertial><mass>-1</mass></inertial></link>"),
       "r.sdf:3:16: inertial:", "mass must not be negative, and is -1"},
      {MODEL("<link name='a'><inertial auto='1'/></link>"),
       "r.sdf:3:16: inertial:", "a mass from shapes needs a collision"},
      {MODEL("<frame name='f' attached_to='f'/>" LINK("a", "") JOINT("j", "ball", "world", "f", "")),
       "r.sdf:3:1: frame f:", "frames follow each other over more than"},
      {MODEL("<static>1</static>" LINK("a", "")), "r.sdf:1:1: sdf:", "no body moves"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_refused(read_with("r.sdf", wrong[i][0], ""), wrong[i][1], wrong[i][2]);
}
END_TEST

#define COLLISION(pose, geometry, more) \
  "<collision name='c'>" pose "<geometry>" geometry "</geometry>" more "</collision>"
#define BALL   "<sphere><radius>0.5</radius></sphere>"
#define MU(mu) "<surface><friction><ode><mu>" mu "</mu></ode></friction></surface>"
#define BODY(name, pose, shape) \
  "<model name='" name "'>" pose "<link name='l'>" MASS("1", "1") shape "</link></model>\n"

/* Models touch each other and static ones, with the smaller friction. The plane x + z = sqrt(2) is 1 from the origin. */
START_TEST(models_touch_each_other) {
  open_file("t.sdf",
            SDF("1.9",
                "<world name='w'><model name='hill'><static>1</static><pose>0 0 1 0 0 0</pose>"
                "<link name='g'>" COLLISION(
                    "<pose>0.4142135623730951 0 0 0 0 0</pose>",
                    "<plane><normal>-1 0 -1</normal></plane>",
                    MU("0.3")) "</link></model>" BODY("a", "", COLLISION("", BALL, MU("0.7")))
                    BODY("b", "<pose>-3 0 0 0 0 0</pose>", COLLISION("", BALL, ""))
                        BODY("sunk", "<pose>0 5 0 0 0 0</pose>",
                             COLLISION("<pose>0 0 0.75 0 1.5 0</pose>", BALL, MU("0.1")))
                            BODY("other", "<pose>-9 0 0 0 0 0</pose>",
                                 COLLISION("", BALL,
                                           "<surface><contact><collide_bitmask>0</collide_bitmask>"
                                           "</contact></surface>")) "</world>"),
            NULL, CP_JOINT_COORDINATES);
  static const struct {
    const char *name;
    double friction;
  } want[] = {{"a::l_hill::g", 0.3},
              {"b::l_hill::g", 0.3},
              {"b::l_a::l", 0.7},
              {"sunk::l_a::l", 0.1},
              {"sunk::l_b::l", 0.1}};
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 5);
  for (int i = 0; i < 5; i++) {
    const CPDescription d = thing_at(bodies, CP_CONTACT, i);
    int found             = 0;
    for (int k = 0; k < 5; k++)
      found |= !strcmp(d.name, want[k].name) && d.law->mu == want[k].friction;
    ck_assert_msg(found, "%s with friction %g", d.name, (double)d.law->mu);
  }
  /* 0.75 / sqrt(2) along the normal, and the radius, less 1 */
  ck_assert_mentions(file.notes, "hill::g and sunk::l, which begin 0.0303 m in each other");
  close_file();
}
END_TEST

/* Links of one model touch each other if both collide with it, unless a joint connects them; meshes do if the user asks for it. */
START_TEST(a_model_may_touch_itself) {
#define PART(name, x, self)                                                \
  "<link name='" name "'><pose>" x " 0 0 0 0 0</pose>" self MASS("1", "1") \
      COLLISION("", BALL, "") "</link>"
#define SELF "<self_collide>true</self_collide>"
  write_file("tip.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  static const char *const joints =
      JOINT("j", "ball", "a", "b", "") JOINT("k", "ball", "b", "c", "");
  for (int self = 0; self < 2; self++) {
    char text[2000];
    snprintf(text, sizeof text, "<sdf version='1.9'><model name='m'>%s%s%s%s%s</model></sdf>",
             self ? SELF : "", PART("a", "0", ""), PART("b", "2", ""), PART("c", "4", ""), joints);
    open_file("t.sdf", text, NULL, CP_JOINT_COORDINATES);
    ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), self);
    if (self) ck_assert_str_eq(thing_at(bodies, CP_CONTACT, 0).name, "c_a");
    close_file();
    if (!self) continue;
    open_file("t.sdf", text, "contacts=no", CP_JOINT_COORDINATES);
    ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 0);
    close_file();
    for (int meshes = 0; meshes < 2; meshes++) {
      snprintf(text, sizeof text, "<sdf version='1.9'><model name='m'>%s%s%s%s%s</model></sdf>",
               SELF, PART("a", "0", ""), PART("b", "2", ""),
               "<link name='c'><pose>4 0 0 0 0 0</pose>" MASS("1", "1")
                   COLLISION("", "<mesh><uri>tip.obj</uri></mesh>", "") "</link>",
               joints);
      open_file(CPODES_TEST_FOLDER "/t.sdf", text, meshes ? "contacts=meshes" : NULL,
                CP_JOINT_COORDINATES);
      ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), meshes);
      ck_assert_int_eq(strstr(file.notes, "meshes of one model (contacts=meshes)") == NULL, meshes);
      close_file();
    }
  }
}
END_TEST

/* One of everything that is told */
static const char all[] = SDF(
    "1.9",
    "<world name='w'><!-- two -- hyphens --><plugin name='gz::sim::systems::Physics' filename='p'/>"
    "<plugin name='Buoyancy' filename='b'/><wind><linear_velocity>1 0 0</linear_velocity></wind>"
    "<state world_name='w'/>\n"
    "<model name='m'><enable_wind>true</enable_wind><plugin name='drive' filename='d'/><gripper/>"
    "<link name='a'><velocity_decay><linear>0.1</linear></velocity_decay><collision "
    "name='c'/>" MASS("1", "1") "</link>" LINK("b", "") LINK("c", "")
        JOINT("j", "universal", "a", "b", AXIS("1 0 0", ""))
            JOINT("k", "screw", "b", "c", AXIS("1 0 0", ""))
                JOINT("l", "revolute2", "a", "c",
                      AXIS("1 0 0", "")) "</model><model name='ground'><static>1</static><link "
                                         "name='g'><collision name='c'/></link></model>"
                                         "</world>");

START_TEST(what_acts_and_is_left_out_is_told) {
  static const char *const told[] = {"the plugin Buoyancy", "wind\n",   "the state of the world",
                                     "the plugin drive",    "grippers", "velocity_decay"};
  CPBodies b                      = read_with("r.sdf", all, "");
  ck_assert_msg(b != NULL, "%s", message);
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) ck_assert_mentions(file.notes, told[i]);
  ck_assert(!strstr(file.notes, "Physics"));
  CPBodiesFree(&b);
}
END_TEST

START_TEST(any_beginning_of_a_file_is_harmless) {
  for (size_t length = 0; length < sizeof all - 1; length++)
    assert_harmless(read_as("r.sdf", all, length));
}
END_TEST

START_TEST(the_nth_allocation_may_fail) {
  CPBodies warm = read_with("r.sdf", all, "");
  CPBodiesFree(&warm);
  assert_allocations_may_fail("r.sdf", all, sizeof all - 1, 20);
}
END_TEST

TEST_SUITE(sdf) {
  Suite *suite = suite_create("bodies/sdf");
  TCase *tc    = tcase_create("sdf");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, frames_are_where_the_format_puts_them);
  tcase_add_test(tc, a_nested_model_is_the_parent_of_a_joint);
  tcase_add_test(tc, axes_point_as_each_version_says);
  tcase_add_test(tc, hinges_swing_with_their_springs_and_dampers);
  tcase_add_test(tc, screws_turn_as_they_move);
  tcase_add_test(tc, gearboxes_couple_the_angles_of_two_hinges);
  tcase_add_test(tc, mimics_follow_their_leaders);
  tcase_add_test(tc, universal_joints_have_two_axes);
  tcase_add_test(tc, a_link_with_two_parents_closes_a_loop);
  tcase_add_test(tc, joints_with_limits_and_friction_have_stops);
  tcase_add_test(tc, shapes_have_their_mass);
  tcase_add_test(tc, gravity_leaves_out_what_the_file_says);
  tcase_add_test(tc, models_are_included_from_the_folder_of_the_file);
  tcase_add_test(tc, what_is_wrong_is_refused_where_it_is);
  tcase_add_test(tc, models_touch_each_other);
  tcase_add_test(tc, a_model_may_touch_itself);
  tcase_add_test(tc, what_acts_and_is_left_out_is_told);
  tcase_add_test(tc, any_beginning_of_a_file_is_harmless);
  tcase_add_test(tc, the_nth_allocation_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
