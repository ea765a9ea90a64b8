/* Assemblies in the text of OndselSolver, written here line by line: where parts are and how they move, by closed forms. */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char text[40000];

/* Adds lines; each ">" before one is a tabulator. */
static void put(const char *format, ...) {
  char lines[4000], *to = text + strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(lines, sizeof lines, format, args);
  va_end(args);
  int at_start = 1;
  for (const char *c = lines; *c; c++) {
    *to++ = (char)(at_start && *c == '>' ? '\t' : *c);
    if (*c != '>') at_start = *c == '\n';
  }
  *to = '\0';
}

#define UPRIGHT "1 0 0", "0 1 0", "0 0 1"
#define ABOUT_Y "0 0 1", "0 1 0", "-1 0 0" /* z along x, x along -z */

static void put_marker(const char *tabs, const char *name, const char *at, const char *r1,
                       const char *r2, const char *r3) {
  put("%s>RefPoint\n%s>>Markers\n%s>>>Marker\n%s>>>>Name\n%s>>>>>%s\n%s>>>>Position3D\n%s>>>>>%s\n"
      "%s>>>>RotationMatrix\n%s>>>>>%s\n%s>>>>>%s\n%s>>>>>%s\n",
      tabs, tabs, tabs, tabs, tabs, name, tabs, tabs, at, tabs, tabs, r1, tabs, r2, tabs, r3);
}

static void begin(void) {
  text[0] = '\0';
  put("freeCAD: 3D CAD\nAssembly\n>Name\n>>A\n>RefPoints\n");
}

static void put_part(const char *name, const char *at, const char *mass, const char *moments) {
  put(">>Part\n>>>Name\n>>>>%s\n>>>Position3D\n>>>>%s\n>>>PrincipalMassMarker\n>>>>Mass\n>>>>>%s\n"
      ">>>>MomentOfInertias\n>>>>>%s\n>>>RefPoints\n",
      name, at, mass, moments);
}

static void put_joint(const char *kind, const char *name, const char *i, const char *j,
                      const char *more) {
  put(">>>%s\n>>>>Name\n>>>>>%s\n>>>>MarkerI\n>>>>>/A/%s\n>>>>MarkerJ\n>>>>>/A/%s\n%s", kind, name,
      i, j, more);
}

/* Begins an assembly with a part "a" at this place, whose marker "m" and that of the ground, "g", are upright, up to its joints. */
static void begin_with_part(const char *at) {
  begin();
  put_marker(">", "g", "0 0 0", UPRIGHT);
  put(">Parts\n");
  put_part("a", at, "1", "1 1 1");
  put_marker(">>>", "m", "0 0 0", UPRIGHT);
  put(">ConstraintSets\n>>Joints\n");
}

static void put_motion(const char *kind, const char *name, const char *joint, const char *function) {
  put(">>>%s\n>>>>Name\n>>>>>%s\n>>>>MotionJoint\n>>>>>/A/%s\n>>>>%s\n>>>>>%s\n", kind, name, joint,
      !strcmp(kind, "RotationalMotion") ? "RotationZ" : "TranslationZ", function);
}

static void end(const char *gravity) {
  put(">ForceTorques\n>ConstantGravity\n>>%s\n>SimulationParameters\n>>tstart\n>>>0.0\n>>tend\n>>>"
      "2.5\n"
      "TimeSeries\nanything\n",
      gravity);
}

/* A crank of radius 1 and a rod of length 2, of point masses at their middles, and a piston; all of the crank's motion is given. */
static void put_crank(const char *function) {
  begin();
  put_marker(">", "axis", "0 0 0", UPRIGHT);
  put_marker(">", "guide", "0 0 0", ABOUT_Y);
  put(">Parts\n");
  put_part("crank", "0 0 0", "1", "0.1 0.1 0.1");
  put_marker(">>>", "m1", "0 0 0", UPRIGHT);
  put_marker(">>>", "m2", "1 0 0", UPRIGHT);
  put_part("rod", "1 0 0", "1", "0.1 0.1 0.1");
  put_marker(">>>", "m1", "0 0 0", UPRIGHT);
  put_marker(">>>", "m2", "2 0 0", "1 0 0", "0 -1 0", "0 0 -1"); /* z turned over */
  put_part("piston", "3 0 0", "3", "0.1 0.1 0.1");
  put_marker(">>>", "m1", "0 0 0", UPRIGHT);
  put_marker(">>>", "m2", "0 0 0", ABOUT_Y);
  put(">ConstraintSets\n>>Joints\n");
  put_joint("RevoluteJoint", "J1", "axis", "crank/m1", "");
  put_joint("RevoluteJoint", "J2", "crank/m2", "rod/m1", "");
  put_joint("RevoluteJoint", "J3", "rod/m2", "piston/m1", "");
  put_joint("CylindricalJoint", "J4", "piston/m2", "guide", "");
  put(">>Motions\n");
  put_motion("RotationalMotion", "drive", "J1", function);
  end("0 -9.81 0");
}

static CPBodies bodies;
static CPMech mech;
static N_Vector y;

static void open_text(CPFormulation formulation) {
  bodies = read_bodies("a.asmt", text, strlen(text), &file, message);
  ck_assert_msg(bodies != NULL, "%s", message);
  y = build_as(bodies, formulation, &mech);
}

static void close_text(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

static sunrealtype quantity(const char *name, sunrealtype t, int k) {
  return quantity_at(mech, name, t, y, k);
}

/* x = cos a + sqrt(4 - sin^2 a); on the piston m x'' = F. */
START_TEST(a_crank_moves_its_piston_as_the_motion_says) {
  put_crank("2.0d*pi*time");
  for (int i = 0; i < 2; i++) {
    CPAssembly assembly = CP_INIT(CPAssembly);
    const double t = 0.1, h = 1e-3;
    double x[3];
    open_text((CPFormulation)i);
    ck_assert_double_eq(file.t_end, 2.5);
    ck_assert_msg(CPMechAssemble(mech, t, y, &assembly) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    for (int k = -1; k <= 1; k++) {
      const double a = 2 * M_PI * (t + k * h);
      x[k + 1]       = cos(a) + sqrt(4 - sin(a) * sin(a));
    }
    const double a = 2 * M_PI * t, root = sqrt(4 - sin(a) * sin(a)),
                 rate = -2 * M_PI * sin(a) * (1 + cos(a) / root);
    ck_assert_double_eq_tol(quantity("piston.position", t, 0), x[1], 1e-12);
    ck_assert_double_eq_tol(quantity("piston.velocity", t, 0), rate, 1e-11);
    /* central differences are exact to h^2 x''''/12, here 4e-3 */
    ck_assert_double_eq_tol(quantity("piston.acceleration", t, 0),
                            (x[0] - 2 * x[1] + x[2]) / (h * h), 5e-3);
    ck_assert_double_eq_tol(quantity("J3.force", t, 0), 3 * quantity("piston.acceleration", t, 0),
                            1e-9);
    close_text();
  }
}
END_TEST

/* Two wheels on hinges along z, of radii 1 and 2.5: the second one turns back at 1/2.5 of the rate. A rack at radius 0.5 on the
 * first one, and a nut on a screw with pitch 0.25 on the second one. */
START_TEST(gears_racks_and_screws_couple_coordinates) {
  begin();
  put_marker(">", "one", "0 0 0", UPRIGHT);
  put_marker(">", "two", "3.5 0 0", UPRIGHT);
  put_marker(">", "bed", "0 -0.5 0", ABOUT_Y);
  put_marker(">", "column", "3.5 0 0", UPRIGHT);
  put(">Parts\n");
  put_part("a", "0 0 0", "1", "1 1 1");
  put_marker(">>>", "m", "0 0 0", UPRIGHT);
  put_part("b", "3.5 0 0", "1", "1 1 1");
  put_marker(">>>", "m", "0 0 0", UPRIGHT);
  put_part("rack", "0 -0.5 0", "1", "1 1 1");
  put_marker(">>>", "slide", "0 0 0", ABOUT_Y);
  put_marker(">>>", "m", "0 0.5 0", UPRIGHT);
  put_part("nut", "3.5 0 1", "1", "1 1 1");
  put_marker(">>>", "m", "0 0 0", UPRIGHT);
  put(">ConstraintSets\n>>Joints\n");
  put_joint("RevoluteJoint", "J1", "one", "a/m", "");
  put_joint("RevoluteJoint", "J2", "two", "b/m", "");
  put_joint("TranslationalJoint", "J3", "bed", "rack/slide", "");
  put_joint("TranslationalJoint", "J4", "column", "nut/m", "");
  put(">>>GearJoint\n>>>>MarkerI\n>>>>>/A/a/m\n>>>>MarkerJ\n>>>>>/A/b/"
      "m\n>>>>radiusI\n>>>>>1.0\n>>>>"
      "radiusJ\n>>>>>2.5\n"); /* without a name */
  put_joint("RackPinionJoint", "R", "rack/m", "a/m", ">>>>pitchRadius\n>>>>>0.5\n");
  put_joint("ScrewJoint", "S", "nut/m", "b/m", ">>>>pitch\n>>>>>0.25\n");
  put(">>Motions\n");
  put_motion("TranslationalMotion", "lift", "J4", "1 + 0.5*time^2");
  end("0 0 0");
  CPAssembly assembly = CP_INIT(CPAssembly);
  const double t = 0.3, lift = 0.5 * t * t, b = -2 * M_PI * lift / 0.25, a = -2.5 * b;
  open_text(CP_JOINT_COORDINATES);
  ck_assert_msg(CPMechAssemble(mech, t, y, &assembly) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  /* 2 pi z_I . d - pitch theta: d is from the nut to the screw, so that the nut rises as b turns back. */
  ck_assert_double_eq_tol(quantity("nut.position", t, 2), 1 + lift, 1e-13);
  ck_assert_double_eq_tol(quantity("J2.angle", t, 0), b, 1e-12);
  ck_assert_double_eq_tol(quantity("J1.angle", t, 0), a, 1e-12);
  /* x_I . d + R theta is constant, where d is from the rack to the wheel */
  ck_assert_double_eq_tol(quantity("rack.position", t, 0), 0.5 * a, 1e-12);
  close_text();
}
END_TEST

/* The rows that each kind of joint has, or leaves as freedoms in a chain of bodies without mass */
START_TEST(joints_leave_the_freedoms_of_their_kind) {
  static const struct {
    const char *kind, *more;
    int freedoms;
  } cases[] = {{"RevoluteJoint", "", 1},
               {"CylindricalJoint", "", 2},
               {"TranslationalJoint", "", 1},
               {"SphericalJoint", "", 3},
               {"UniversalJoint", "", 2},
               {"PlanarJoint", ">>>>offset\n>>>>>0\n", 3},
               {"PointInPlaneJoint", ">>>>offset\n>>>>>0\n", 5},
               {"PointInLineJoint", "", 4},
               {"SphSphJoint", ">>>>distanceIJ\n>>>>>2\n", 5},
               {"CylSphJoint", ">>>>distanceIJ\n>>>>>0\n", 4},
               {"CylSphJoint", ">>>>distanceIJ\n>>>>>2\n", 5},
               {"RevCylJoint", ">>>>distanceIJ\n>>>>>2\n", 3},
               {"RevRevJoint", ">>>>distanceIJ\n>>>>>2\n", 2},
               {"NoRotationJoint", "", 3},
               {"ParallelAxesJoint", "", 4},
               {"PerpendicularJoint", "", 5},
               {"LineInPlaneJoint", "", 4}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int crosses = strstr(cases[i].kind, "Universal") || strstr(cases[i].kind, "Perpend") ||
                        strstr(cases[i].kind, "LineIn"),
              is_rod = !strcmp(cases[i].kind, "SphSphJoint"), is_link = !!strstr(cases[i].more, "2");
    begin();
    put_marker(">", "g", "0 0 0", UPRIGHT);
    put(">Parts\n");
    put_part("a", is_rod ? "0 0 2" : is_link ? "1.2 1.6 0" : "0 0 0", "1", "1 1 1");
    if (crosses) put_marker(">>>", "m", "0 0 0", ABOUT_Y);
    else put_marker(">>>", "m", "0 0 0", UPRIGHT);
    put(">ConstraintSets\n>>Joints\n");
    put_joint(cases[i].kind, "J", "g", "a/m", cases[i].more);
    end("0 0 0");
    open_text(CP_JOINT_COORDINATES);
    const CPEquations e = equations_of(mech);
    ck_assert_msg((int)(e.nu - e.na) == cases[i].freedoms, "%s: %d velocities, %d rows",
                  cases[i].kind, (int)e.nu, (int)e.na);
    close_text();
  }
}
END_TEST

/* Both shafts of a constant-velocity joint, at an angle of 0.5 rad, turn by the same angle. */
START_TEST(constant_velocity_joints_turn_alike) {
  begin();
  put_marker(">", "one", "0 0 0", UPRIGHT);
  put_marker(">", "two", "0 0 0", "0.8775825618903728 0 0.479425538604203", "0 1 0",
             "-0.479425538604203 0 0.8775825618903728");
  put(">Parts\n");
  put_part("a", "0 0 0", "1", "1 1 1");
  put_marker(">>>", "m", "0 0 0", UPRIGHT);
  put_part("b", "0 0 0", "1", "1 1 1");
  put_marker(">>>", "m", "0 0 0", "0.8775825618903728 0 0.479425538604203", "0 1 0",
             "-0.479425538604203 0 0.8775825618903728");
  put(">ConstraintSets\n>>Joints\n");
  put_joint("RevoluteJoint", "J1", "one", "a/m", "");
  put_joint("RevoluteJoint", "J2", "two", "b/m", "");
  put_joint("ConstantVelocityJoint", "C", "a/m", "b/m", "");
  put(">>Motions\n");
  put_motion("RotationalMotion", "drive", "J1", "3*time");
  end("0 0 0");
  open_text(CP_ABSOLUTE);
  for (double t = 0.1; t < 1; t += 0.2) {
    CPAssembly assembly = CP_INIT(CPAssembly);
    ck_assert_msg(CPMechAssemble(mech, t, y, &assembly) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_eq_tol(remainder(quantity("J2.angle", t, 0) - 3 * t, 2 * M_PI), 0, 1e-11);
    ck_assert_double_eq_tol(quantity("J2.rate", t, 0), 3, 1e-10);
  }
  close_text();
}
END_TEST

/* A circle about the origin of a part by 48 points of a periodic spline, whose error is of the size (2 pi/48)^6 / 30240 = 2e-10, with the
 * marker "c" at the angle of 2 pi s. */
static void put_circle(double radius, double s, const char *z) {
  char row[3][2000] = {"", "", ""};
  for (int i = 0; i <= 48; i++) {
    const double at[] = {i / 48.0, radius * cos(2 * M_PI * (i % 48) / 48),
                         radius * sin(2 * M_PI * (i % 48) / 48)};
    for (int k = 0; k < 3; k++)
      snprintf(row[k] + strlen(row[k]), sizeof row[k] - strlen(row[k]), "\t%.17g", at[k]);
  }
  put(">>>RefCurves\n>>>>RefCurve\n>>>>>Position3D\n>>>>>>0 0 %s\n", z);
  put(">>>>>GeneralSpline\n>>>>>>Order\n>>>>>>>5\n>>>>>>DataPoints\n>>>>>>s%s\n", row[0]);
  put(">>>>>>x%s\n", row[1]);
  put(">>>>>>y%s\n", row[2]);
  put(">>>>>CurveMarkers\n>>>>>>CurveMarker\n>>>>>>>Name\n>>>>>>>>c\n>>>>>>>s\n>>>>>>>>%.17g\n", s);
}

/* An eccentric disc of radius R turns about an axis at e from its centre, and a roller of radius r above it slides along y:
 *   y = e sin(w t) + sqrt((R + r)^2 - e^2 cos^2(w t)). */
static void put_cam(double e, double R, double r, double w) {
  char at[100], motion[100];
  begin();
  put_marker(">", "axis", "0 0 0", UPRIGHT);
  put_marker(">", "guide", "0 0 0", "1 0 0", "0 0 1", "0 -1 0"); /* z along y */
  put(">Parts\n");
  snprintf(at, sizeof at, "%.17g 0 0", e);
  put_part("cam", at, "1", "1 1 1");
  snprintf(at, sizeof at, "%.17g 0 0", -e);
  put_marker(">>>", "m", at, UPRIGHT);
  put_circle(R, 0.2, "0.25"); /* the planes of both curves need not meet */
  snprintf(at, sizeof at, "0 %.17g 0", sqrt((R + r) * (R + r) - e * e) + 0.01);
  put_part("roller", at, "2", "1 1 1");
  put_marker(">>>", "m", "0 0 0", "1 0 0", "0 0 1", "0 -1 0");
  put_circle(r, 0.8, "0");
  put(">ConstraintSets\n>>Joints\n");
  put_joint("CurveCurveContact", "contact", "cam/c", "roller/c", ">>>>coeffRestitution\n>>>>>0\n");
  put_joint("RevoluteJoint", "turn", "axis", "cam/m", "");
  put_joint("TranslationalJoint", "slide", "guide", "roller/m", "");
  put(">>Motions\n");
  snprintf(motion, sizeof motion, "%.17g*time", w);
  put_motion("RotationalMotion", "drive", "turn", motion);
  end("0 -9.81 0");
}

START_TEST(curves_in_contact_move_as_a_cam) {
  const double e = 0.2, R = 0.5, r = 0.15, w = 3, h = 1e-3, l = R + r;
  put_cam(e, R, r, w);
  open_text(CP_JOINT_COORDINATES);
  for (int k = 0; k < 20; k++) {
    const double t = 0.13 * k;
    double at[3]; /* y(t - h), y(t), y(t + h) */
    for (int i = 0; i < 3; i++) {
      const double phi = w * (t + h * (i - 1));
      at[i]            = e * sin(phi) + sqrt(l * l - e * e * cos(phi) * cos(phi));
    }
    CPAssembly assembly = CP_INIT(CPAssembly);
    ck_assert_msg(CPMechAssemble(mech, t, y, &assembly) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_eq_tol(quantity("roller.position", t, 1), at[1], 1e-9);
    /* the slope of the spline's error is about 48 times that; central differences have errors of h^2 w^3 e = 5e-6, and four times w of that */
    ck_assert_double_eq_tol(quantity("roller.velocity", t, 1), (at[2] - at[0]) / (2 * h), 1e-5);
    const double acc = (at[2] - 2 * at[1] + at[0]) / (h * h),
                 /* the normal is along the line of the centres, of which the roller's guide takes the part across y */
        rise = sqrt(l * l - pow(e * cos(w * t), 2)) / l, force = 2 * (9.81 + acc) / rise;
    ck_assert_double_eq_tol(hypot(quantity("contact.force", t, 0), quantity("contact.force", t, 1)),
                            fabs(force), 2e-4);
  }
  close_text();
}
END_TEST

START_TEST(what_is_no_plane_spline_is_left_out_and_told) {
  static const char *const wrong[][2] = {{">>>>>>>5\n", ">>>>>>>3\n"}, {">>>>>>y\t", ">>>>>>q\t"}};
  for (int i = 0; i < 2; i++) {
    put_cam(0.2, 0.5, 0.15, 3);
    char from[40];
    snprintf(from, sizeof from, "%s", wrong[i][0]);
    char *c = from, *to = from;
    for (; *c; c++) *to++ = (char)(*c == '>' ? '\t' : *c);
    *to         = '\0';
    char *place = strstr(text, from);
    ck_assert_ptr_nonnull(place);
    place[strlen(from) - 2] = wrong[i][1][strlen(from) - 2];
    open_text(CP_JOINT_COORDINATES);
    ck_assert_int_lt(thing_named(bodies, CP_JOINT, "contact"), 0);
    close_text();
  }
}
END_TEST

/* A part whose mass marker goes along x, y, z of the ground's marker and turns about its own z, then x, then y: R_z(c) R_x(a) R_y(b). */
START_TEST(general_motions_give_all_six_coordinates) {
  const double t = 0.4, at[3] = {sin(t), 2 * t, 0.3}, c = t * t, a = 0.2 + atan(3 * t), b = -t;
  begin();
  put_marker(">", "g", "0 0 0", UPRIGHT);
  put(">Parts\n");
  put_part("a", "0 0 0", "2", "1 1 1");
  put(">>>RefCurves\n");
  char *mass = strstr(text, "PrincipalMassMarker\n") + strlen("PrincipalMassMarker\n");
  static const char name[] = "\t\t\t\tName\n\t\t\t\t\tcentre\n";
  memmove(mass + strlen(name), mass, strlen(mass) + 1);
  memcpy(mass, name, strlen(name));
  put(">ConstraintSets\n>>Joints\n>>Motions\n>>>GeneralMotion\n>>>>Name\n>>>>>M\n>>>>MarkerI\n>>>>>"
      "/A/g\n"
      ">>>>MarkerJ\n>>>>>/A/a/centre\n>>>>rIJI1\n>>>>>\"(time - "
      "T1)\"<n>sin(time)<n>\n>>>>rIJI2\n>>>>>2.0d*time\n"
      ">>>>rIJI3\n>>>>>0.3d\n>>>>angIJJ1\n>>>>>time^2\n>>>>angIJJ2\n>>>>>0.2 + "
      "arctan(3*time)\n>>>>angIJJ3\n>>>>>-1*time\n"
      ">>>>RotationOrder\n>>>>>3\t1\t2\n");
  end("0 0 0");
  open_text(CP_JOINT_COORDINATES);
  CPAssembly assembly = CP_INIT(CPAssembly);
  ck_assert_msg(CPMechAssemble(mech, t, y, &assembly) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  CPBodyFrame frame = CP_INIT(CPBodyFrame);
  ck_assert_int_eq(CPMechGetFrame(mech, thing_named(bodies, CP_BODY, "a"), NULL, y, &frame),
                   CP_SUCCESS);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(frame.position[k], at[k], 1e-12);
  /* y of the body, which the last rotation leaves: R_z R_x e_y; and its z: R_z R_x (sin b e_x + cos b e_z) */
  const double across[3] = {-sin(c) * cos(a), cos(c) * cos(a), sin(a)},
               last[3]   = {cos(c) * sin(b) + sin(c) * sin(a) * cos(b),
                            sin(c) * sin(b) - cos(c) * sin(a) * cos(b), cos(a) * cos(b)};
  for (int k = 0; k < 3; k++) {
    ck_assert_double_eq_tol(frame.axes[3 + k], across[k], 1e-12);
    ck_assert_double_eq_tol(frame.axes[6 + k], last[k], 1e-12);
  }
  close_text();
}
END_TEST

/* A mass of 2 kg on a line with the tension 50 N/m (r - 1.5) + 0 v: it swings about r = 1.5 with sqrt(50/2) = 5 rad/s. */
START_TEST(forces_between_markers_follow_their_function) {
  const sunrealtype t = 0.7;
  begin();
  put_marker(">", "g", "0 0 0", ABOUT_Y);
  put(">Parts\n");
  put_part("a", "2 0 0", "2", "1 1 1");
  put_marker(">>>", "m", "0 0 0", ABOUT_Y);
  put(">ConstraintSets\n>>Joints\n");
  put_joint("TranslationalJoint", "J", "g", "a/m", "");
  put(">ForceTorques\n>>InLineForceTorque\n>>>Name\n>>>>S\n>>>MarkerI\n>>>>/A/g\n>>>MarkerJ\n>>>>/"
      "A/a/m\n"
      ">>>tension\n>>>>(0.0d + 50.0d*(rIJ(self) + (-1.5d)) + 0.0d*vrIJ(self))\n>>>twist\n>>>>0\n");
  put(">ConstantGravity\n>>0 -9.81 0\n>SimulationParameters\n>>tstart\n>>>0\n>>tend\n>>>2.5\n");
  open_text(CP_ABSOLUTE);
  evolve_mech(mech, y, "DOP853", 1e-10, t);
  ck_assert_double_eq_tol(quantity("a.position", t, 0), 1.5 + 0.5 * cos(5 * 0.7), 1e-8);
  close_text();
}
END_TEST

/* A part on a link of length 2 whose hinges are along z: the centre runs about the axis at that distance, which no force changes. */
START_TEST(a_link_between_two_hinges_keeps_their_distance) {
  const sunrealtype t = 0.7;
  begin_with_part("1.2 1.6 0");
  put_joint("RevRevJoint", "J", "g", "a/m", ">>>>distanceIJ\n>>>>>2\n");
  end("0 -9.81 0");
  open_text(CP_JOINT_COORDINATES);
  evolve_mech(mech, y, "DOP853", 1e-10, t);
  const sunrealtype x = quantity("a.position", t, 0), z = quantity("a.position", t, 1);
  ck_assert_double_eq_tol(hypot(x, z), 2, 1e-12);
  ck_assert_double_lt(z, 1); /* it has fallen: a pendulum with all of its mass at its end */
  const sunrealtype v = hypot(quantity("a.velocity", t, 0), quantity("a.velocity", t, 1));
  ck_assert_double_eq_tol(v * v / 2, 9.81 * (1.6 - z), 1e-7);
  close_text();
}
END_TEST

/* The z axes of a part and of the ground keep their angle, whatever else moves. */
START_TEST(axes_stay_at_the_angle_of_their_joint) {
  static const double angles[] = {0, 0.4, 2.2, M_PI};
  for (int i = 0; i < 4; i++) {
    /* z of the marker is (s, 0, c) or (s, 0, -c): at 0.5 rad, or at pi - 0.5, at the placement */
    const sunrealtype z[3]    = {0.479425538604203, 0, (i < 2 ? 1 : -1) * 0.8775825618903728},
                      none[3] = {0, 0, 0};
    sunrealtype p[2][3];
    char more[100];
    begin();
    put_marker(">", "g", "0 0 0", UPRIGHT);
    put(">Parts\n");
    put_part("a", "0.3 0.1 -0.2", "1", "1 2 2.5");
    if (i < 2)
      put_marker(">>>", "m", "0.2 0.5 0.1", "0.8775825618903728 0 0.479425538604203", "0 1 0",
                 "-0.479425538604203 0 0.8775825618903728");
    else
      put_marker(">>>", "m", "0.2 0.5 0.1", "0.8775825618903728 0 0.479425538604203", "0 -1 0",
                 "0.479425538604203 0 -0.8775825618903728");
    put(">ConstraintSets\n>>Joints\n");
    snprintf(more, sizeof more, ">>>>theIzJz\n>>>>>%.17g\n", angles[i]);
    put_joint("AngleJoint", "J", "g", "a/m", more);
    end("0 -9.81 0");
    open_text(CP_ABSOLUTE);
    CPAssembly assembly = CP_INIT(CPAssembly);
    ck_assert_msg(CPMechAssemble(mech, 0, y, &assembly) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    const CPEquations e = equations_of(mech);
    ck_assert_int_eq((int)(e.nu - e.na), i % 3 ? 5 : 4);
    evolve_mech(mech, y, "DOP853", 1e-8, 0.3);
    const int body = thing_named(bodies, CP_BODY, "a");
    ck_assert_int_eq(body_point(mech, body, none, y, p[0], NULL), CP_SUCCESS);
    ck_assert_int_eq(body_point(mech, body, z, y, p[1], NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(p[1][2] - p[0][2], cos(angles[i]), 1e-10);
    close_text();
  }
}
END_TEST

START_TEST(limits_are_stops_and_the_rest_is_told) {
  begin_with_part("0 0 0.5");
  put_joint("CylindricalJoint", "J", "g", "a/m", "");
  put_joint("CurveCurveContact", "C", "g", "a/m", "");
  put(">>Motions\n>>Limits\n");
  for (int i = 0; i < 3; i++)
    put(">>>%s\n>>>>Name\n>>>>>L%d\n>>>>MotionJoint\n>>>>>/A/"
        "J\n>>>>Limit\n>>>>>%s\n>>>>Type\n>>>>>%s\n",
        i == 1 ? "RotationLimit" : "TranslationLimit", i,
        i == 0   ? "0.2"
        : i == 1 ? "pi/2"
                 : "0.1",
        i == 0 ? "=>" : "=<");
  put(">ForceTorques\n>>OtherForceTorque\n");
  open_text(CP_ABSOLUTE);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_CONTACT), 2);
  ck_assert_double_eq(CPBodiesParameters(bodies)[thing_named(bodies, CP_PARAMETER, "L0.lower")],
                      0.2);
  ck_assert_double_eq(CPBodiesParameters(bodies)[thing_named(bodies, CP_PARAMETER, "L1.upper")],
                      M_PI / 2);
  ck_assert_mentions(file.notes, "contacts of curves that are no plane splines of order 5: C\n");
  ck_assert_mentions(file.notes, "limits of joints that the start violates\n");
  ck_assert_mentions(file.notes, "OtherForceTorque\n");
  close_text();
}
END_TEST

/* A joint without a name, a limit that names no joint but its markers, a joint within a part, and axes of seven digits */
START_TEST(what_freecad_leaves_empty_is_found) {
  begin();
  put_marker(">", "g", "0 0 0", "0.9999995 0 0", "0 0.9999995 0", "0 0 0.9999995");
  put(">Parts\n");
  put_part("a", "0 0 0.5", "1", "1 1 1");
  put_marker(">>>", "m", "0 0 0", UPRIGHT);
  put_marker(">>>", "n", "0 1 0", UPRIGHT);
  put(">ConstraintSets\n>>Joints\n");
  put_joint("CylindricalJoint", "", "g", "a/m", "");
  put_joint("PlanarJoint", "P", "a/n", "a/m", "");
  put(">>Motions\n>>Limits\n>>>RotationLimit\n>>>>Name\n>>>>>L\n>>>>MarkerI\n>>>>>/A/"
      "g\n>>>>MarkerJ\n"
      ">>>>>/A/a/m\n>>>>MotionJoint\n>>>>>\n>>>>Limit\n>>>>>0.5\n>>>>Type\n>>>>>=<\n");
  open_text(CP_JOINT_COORDINATES);
  ck_assert_int_eq((int)equations_of(mech).nu, 2);
  ck_assert_int_ge(thing_named(bodies, CP_JOINT, "CylindricalJoint"), 0);
  ck_assert_double_eq(CPBodiesParameters(bodies)[thing_named(bodies, CP_PARAMETER, "L.upper")], 0.5);
  ck_assert_double_eq_tol(quantity("a.position", 0, 2), 0.5, 1e-15);
  close_text();
}
END_TEST

START_TEST(what_is_wrong_is_refused_where_it_is) {
  static const char *const wrong[][3] = {
      {"", "a.asmt: ", "there is no Assembly"},
      {"Assembly\n", "a.asmt:1:1: Assembly:", "Name must be given"},
      {"Assembly\n\tName\n\t\tA\n", "a.asmt:1:1: Assembly:", "there is no part"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_refused(read_as("a.asmt", wrong[i][0], strlen(wrong[i][0])), wrong[i][1], wrong[i][2]);
  static const char *const changes[][3] = {
      {"/A/rod/m1", "/A/rod/m7", "there is no marker \"/A/rod/m7\""},
      {"RevoluteJoint", "RobertsJoint_", "RobertsJoint_: this kind of joint is not supported"},
      {"2.0d*pi*time", "2.0d*pi*tame", "tame"},
      {"/A/J1", "/A/J9", "there is no joint \"/A/J9\""},
      {"RotationalMotion", "GeneralMotion__2", "this kind of motion is not supported"},
      {"0 -1 0", "0 -2 0", "its columns must be perpendicular unit vectors"},
      {"0 -1 0", "0 +1 0", "it must be a rotation, and is a reflection"},
      {"0.1 0.1 0.1", "0.1 nan 0.1", "there must be 3 finite numbers"},
      {"0 -9.81 0", "0 -9.81  ", "there must be 3 finite numbers"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    put_crank("2.0d*pi*time");
    char *at = strstr(text, changes[i][0]);
    memcpy(at, changes[i][1], strlen(changes[i][1]));
    assert_refused(read_as("a.asmt", text, strlen(text)), "a.asmt:", changes[i][2]);
  }
}
END_TEST

START_TEST(any_beginning_of_a_file_is_harmless) {
  put_crank("2*pi*time");
  const size_t size = strlen(text);
  for (size_t length = 0; length < size; length += test_is_short() ? 17 : 1)
    assert_harmless(read_as("a.asmt", text, length));
}
END_TEST

START_TEST(the_nth_allocation_may_fail) {
  put_crank("2*pi*time");
  CPBodies warm = read_as("a.asmt", text, strlen(text));
  CPBodiesFree(&warm);
  assert_allocations_may_fail("a.asmt", text, strlen(text), 20);
}
END_TEST

TEST_SUITE(asmt) {
  Suite *suite = suite_create("bodies/asmt");
  TCase *tc    = tcase_create("asmt");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, a_crank_moves_its_piston_as_the_motion_says);
  tcase_add_test(tc, gears_racks_and_screws_couple_coordinates);
  tcase_add_test(tc, joints_leave_the_freedoms_of_their_kind);
  tcase_add_test(tc, constant_velocity_joints_turn_alike);
  tcase_add_test(tc, curves_in_contact_move_as_a_cam);
  tcase_add_test(tc, what_is_no_plane_spline_is_left_out_and_told);
  tcase_add_test(tc, forces_between_markers_follow_their_function);
  tcase_add_test(tc, general_motions_give_all_six_coordinates);
  tcase_add_test(tc, a_link_between_two_hinges_keeps_their_distance);
  tcase_add_test(tc, axes_stay_at_the_angle_of_their_joint);
  tcase_add_test(tc, what_freecad_leaves_empty_is_found);
  tcase_add_test(tc, limits_are_stops_and_the_rest_is_told);
  tcase_add_test(tc, what_is_wrong_is_refused_where_it_is);
  tcase_add_test(tc, any_beginning_of_a_file_is_harmless);
  tcase_add_test(tc, the_nth_allocation_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
