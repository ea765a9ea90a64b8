/* Mechanisms as YAML files: what is written is read as the same mechanism, to the last bit. */
#include "reading.h"

#include "support/alloc.h"
#include "support/support.h"
#include "support/things.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { YAML = 1, MJCF, URDF, SDF }; /* CPBodiesFile.writes */

/* Reads a file, or a text, that is to be written. written: out, a copy, which the caller frees */
static CPBodies read_to_write(const char *path, const char *text, int format, char **written) {
  CPBodies b;
  file           = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.writes    = format;
  const int flag = CPBodiesRead(path, text, text ? strlen(text) : 0, &b, &file);
  snprintf(message, sizeof message, "%s", flag ? CPObjectGetLastMessage(NULL) : "");
  if (!b) return NULL;
  *written = malloc(strlen(file.written) + 1);
  strcpy(*written, file.written);
  return b;
}

static void assert_same_numbers(const sunrealtype *x, const sunrealtype *y, sunindextype n,
                                const char *what) {
  for (sunindextype i = 0; i < n; i++)
    ck_assert_msg(x[i] == y[i], "%s %ld: %.17g and %.17g", what, (long)i, (double)x[i],
                  (double)y[i]);
}

/* Both have the same state, the same forces and the same rows, at the start. */
static void assert_same(CPBodies a, CPBodies b) {
  CPBodies both[] = {a, b};
  CPMech mech[2];
  N_Vector y[2];
  sunrealtype *f[2], *v[2];
  static const CPThing things[] = {CP_BODY, CP_JOINT, CP_COORDINATE, CP_CONTACT, CP_PARAMETER};
  for (size_t i = 0; i < sizeof things / sizeof *things; i++)
    ck_assert_int_eq(CPBodiesCount(a, things[i]), CPBodiesCount(b, things[i]));
  for (int i = 0; i < CPBodiesCount(a, CP_PARAMETER); i++) { /* Their order may differ. */
    const char *name = thing_at(a, CP_PARAMETER, i).name;
    const int j      = thing_named(b, CP_PARAMETER, name);
    ck_assert_msg(j >= 0, "%s", name);
    ck_assert_msg(CPBodiesParameters(a)[i] == CPBodiesParameters(b)[j], "%s", name);
  }
  for (int k = 0; k < 2; k++) {
    ck_assert_int_eq(build_mech(both[k], &mech[k]), CP_SUCCESS);
    y[k]                = CPBodiesState(both[k], test_context);
    const CPEquations e = equations_of(mech[k]);
    f[k]                = calloc((size_t)(e.nu + e.na) + 1, sizeof **f),
    v[k]                = calloc((size_t)e.na + 1, sizeof **v);
    sunrealtype *q      = entries(y[k]);
    ck_assert_int_eq(e.f(0.3, q, q + e.nq, q + e.nq + e.nu, f[k], CPMechGetUserData(mech[k])), 0);
    if (e.p) ck_assert_int_eq(e.p(0.3, q, v[k], CPMechGetUserData(mech[k])), 0);
  }
  const CPEquations e = equations_of(mech[0]);
  assert_same_numbers(entries(y[0]), entries(y[1]), N_VGetLength(y[0]), "state");
  assert_same_numbers(f[0], f[1], e.nu, "force");
  for (int i = 0; i < CPBodiesCount(a, CP_JOINT); i++) { /* The order of their rows may differ. */
    const CPDescription one = thing_at(a, CP_JOINT, i),
                        two = thing_at(b, CP_JOINT, thing_named(b, CP_JOINT, one.name));
    assert_same_numbers(v[0] + one.first, v[1] + two.first, one.count, two.name);
  }
  for (int k = 0; k < 2; k++) {
    free(f[k]);
    free(v[k]);
    N_VDestroy(y[k]);
    CPMechFree(&mech[k]);
  }
}

static void assert_written(const char *path, const char *text) {
  char *written;
  CPBodies a = read_to_write(path, text, YAML, &written), b;
  ck_assert_msg(a != NULL, "%s: %s", path, message);
  b = read_as("w.yaml", written, strlen(written));
  ck_assert_msg(b != NULL, "%s: %s\n%s", path, message, written);
  ck_assert_int_eq(CPBodiesSetFormulation(b, file.formulation), CP_SUCCESS);
  assert_same(a, b);
  CPBodiesFree(&a);
  CPBodiesFree(&b);
  free(written);
}

#define EXAMPLE(name) CPODES_MECHANISMS "/" name
static const char *const examples[] = {CPODES_BODIES_TEST "/activations.xml",
                                       CPODES_BODIES_TEST "/actuators.xml",
                                       CPODES_BODIES_TEST "/fluid.xml",
                                       CPODES_BODIES_TEST "/joints.xml",
                                       EXAMPLE("gripper.xml"),
                                       EXAMPLE("arm.urdf"),
                                       EXAMPLE("parallelogram.sdf"),
                                       EXAMPLE("andrews.yaml"),
                                       EXAMPLE("arm_control.yaml"),
                                       EXAMPLE("axle.yaml"),
                                       EXAMPLE("barrier.yaml"),
                                       EXAMPLE("box_over_edge.yaml"),
                                       EXAMPLE("box_stack.yaml"),
                                       EXAMPLE("bricard.yaml"),
                                       EXAMPLE("chain_floor.yaml"),
                                       EXAMPLE("crank_rocker.yaml"),
                                       EXAMPLE("dead_centre.yaml"),
                                       EXAMPLE("disc_cam.yaml"),
                                       EXAMPLE("double_wishbone.yaml"),
                                       EXAMPLE("engine.yaml"),
                                       EXAMPLE("excavator.yaml"),
                                       EXAMPLE("four_bar.yaml"),
                                       EXAMPLE("four_bar_clearance.yaml"),
                                       EXAMPLE("hoist.yaml"),
                                       EXAMPLE("rocking_block.yaml"),
                                       EXAMPLE("rolling_log.yaml"),
                                       EXAMPLE("slider_crank.yaml"),
                                       EXAMPLE("spatial_crank.yaml"),
                                       EXAMPLE("spatial_four_bar.yaml"),
                                       EXAMPLE("tippe_top.yaml"),
                                       EXAMPLE("trebuchet.yaml"),
                                       EXAMPLE("wheel_curb.yaml"),
                                       EXAMPLE("wiper.yaml")};

START_TEST(a_file_and_what_is_written_of_it_are_the_same) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) assert_written(examples[i], NULL);
}
END_TEST

/* Parameters and expressions of a file, of those that it includes, and of repetitions are those of what is written of it: another value makes
 * the same mechanism of both. */
START_TEST(parameters_and_expressions_are_written) {
  static const char
      part[] = "dimension: 2\nparameters: {w: 2*d, d: 5 mm, x: 1 m}\n"
               "bodies:\n  - {name: q, mass: 1 kg, inertia: w*d*1 kg, at: [L + w, x]}\n",
      text[] = "dimension: 2\nparameters: {L: 100 mm, k: 2*k0, k0: 1 kN/m, f1: 3}\n"
               "functions: {g: {of: {a: m}, is: k*a}, c: {rows: [[0, f1], [1, 2]]}}\n"
               "bodies:\n  - {name: m, mass: 1 kg, inertia: 2 kg*L^2, at: [0, -L]}\n"
               "  - {name: \"r{i}\", repeat: {i: 2}, mass: 1, inertia: 1, at: [i*L, L/i]}\n"
               "joints: [{name: j, kind: prismatic, b: m, at: [0, 0], axis: [1, 0]}]\n"
               "springs: [{name: s, of: j, force: -k*x - L/(1 s^2)*1 kg},\n"
               "  {name: u, of: j, force: -g(x)}]\n"
               "include: [{file: part.yaml, prefix: a_, parameters: {d: L/20}, mirror: x},\n"
               "  {file: part.yaml, prefix: b_, parameters: {x: 2*L}}]\n";
  FILE *out  = fopen("part.yaml", "w");
  ck_assert_ptr_nonnull(out);
  fputs(part, out);
  ck_assert_int_eq(fclose(out), 0);
  char *written;
  CPBodies first = read_to_write("p.yaml", text, YAML, &written);
  CPBodiesFree(&first);
  ck_assert_mentions(written, "k: \"2*k0\"");
  ck_assert_mentions(written, "mass: \"1 kg\", inertia: \"2 kg*L^2\", at: [0, \"-L\", 0]");
  ck_assert_mentions(written, "force: \"-k*x - L/(1 s^2)*1 kg\"");
  ck_assert_mentions(written, "\"a_q\", mass: \"1 kg\", inertia: \"(2*(L/20))*(L/20)*1 kg\", at: "
                              "[\"-(L + (2*(L/20)))\", \"(1 m)\", 0]");
  ck_assert_mentions(written, "at: [\"(2)*L\", \"L/(2)\", 0]");
  /* what is a number all the same is told */
  ck_assert_mentions(written, "#   p.yaml:3: a function: k*a\n");
  ck_assert_mentions(written, "#   p.yaml:3: rows: f1\n");
  ck_assert_ptr_null(strstr(written, "-g(x)"));
  for (int moved = 0; moved < 2; moved++) {
    CPBodies b[2];
    for (int of = 0; of < 2; of++) {
      const char *data = of ? written : text;
      CPBodiesFile own = CP_INIT(CPBodiesFile);
      own.parameters   = moved ? "L=70 mm\nf1=2" : NULL;
      ck_assert_msg(CPBodiesRead("p.yaml", data, strlen(data), &b[of], &own) == CP_SUCCESS,
                    "%s: %s", CPObjectGetLastMessage(NULL), data);
    }
    assert_same(b[0], b[1]);
    for (int of = 0; of < 2; of++) CPBodiesFree(&b[of]);
  }
  free(written);
  remove("part.yaml");
}
END_TEST

#define BALL "<inertial pos=\"0 0 .1\" mass=\"2\" diaginertia=\"1 1.5 1.25\"/>"
/* Names with signs, limits at 0, a polynomial coupler of a slide, a ball with drag, servos */
static const char robot[] =
    "<mujoco><worldbody><body name='a\"b\\c: #1'><joint name='x/1' axis='0 1 0' range='0 60' "
    "stiffness='3' "
    "springref='0' damping='.1' armature='.2'/>" BALL
    "<body name='b'><joint name='s' type='slide' axis='1 0 1' frictionloss='.3'/>" BALL
    "<body name='c' pos='0 .1 0'><joint name='q' type='ball' damping='.4'/>" BALL
    "</body></body></body></worldbody>"
    "<equality><joint joint1='x/1' joint2='s' polycoef='0 1 .5 .25 .125'/></equality>"
    "<actuator><position joint='s' kp='4' kv='.5' ctrlrange='-1 2'/></actuator></mujoco>";

START_TEST(everything_of_a_robot_is_written) { assert_written("r.xml", robot); }
END_TEST

/* Shapes that stand for others in a contact: polyhedra of round ones, and copies of a plane and a mesh that are moved */
START_TEST(shapes_of_single_contacts_are_written) {
  assert_written(
      "r.xml",
      "<mujoco><asset><mesh name='brick' vertex='0 0 0 .2 0 0 0 .2 0 .2 .2 0 0 0 .2 "
      ".2 0 .2 0 .2 .2 .2 .2 .2'/></asset><worldbody><geom type='plane' size='0 0 1'/>"
      "<body pos='0 0 .0999' euler='0 0 20'><freejoint/><geom type='cylinder' size='.1 .1'/></body>"
      "<body pos='2 0 1' euler='0 90 0'><freejoint/><geom type='mesh' mesh='brick'/></body>"
      "<body pos='2.1 .1 1.0997'><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
}
END_TEST

/* More coordinates than a coupler may have, as in tails and spines of animals */
START_TEST(a_tendon_of_many_coordinates_is_written) {
  enum { JOINTS = 12 };
  char text[4000] = "<mujoco><worldbody>", sum[2000] = "";
  for (int i = 0; i < JOINTS; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "<body name='b%d' pos='.1 0 0'><joint name='j%d' axis='0 1 0'/>" BALL, i, i);
    snprintf(sum + strlen(sum), sizeof sum - strlen(sum), "<joint joint='j%d' coef='1.%d'/>", i, i);
  }
  for (int i = 0; i < JOINTS; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "</body>");
  snprintf(text + strlen(text), sizeof text - strlen(text),
           "</worldbody><tendon><fixed name='tail' stiffness='3'>%s</fixed></tendon>"
           "<actuator><motor name='pull' tendon='tail'/></actuator></mujoco>",
           sum);
  assert_written("r.xml", text);
}
END_TEST

/* Tendons of one and of two coordinates, and along a path that wraps around a geom on the side of a site, with what acts on them.
 * divisor: what stands behind the first site */
#define PULLED(divisor)                                                                    \
  "<mujoco><worldbody><site name='w' pos='-.3 .2 1'/><body name='a'><joint name='j' "      \
  "axis='0 1 0'/>" BALL "<site name='on' pos='.1 .1 .05'/><geom name='g' type='cylinder' " \
  "size='.05 .1' pos='.2 0 0' density='0'/><site name='by' pos='.2 .2 0'/><body name='b' " \
  "pos='.4 0 0'><joint name='k' axis='0 0 1'/>" BALL "<site name='end' pos='.1 0 .1'/>"    \
  "</body></body></worldbody><tendon><fixed name='one' limited='true' range='-1 1' "       \
  "frictionloss='.2'><joint joint='j' coef='.5'/></fixed><fixed name='two' stiffness='3' " \
  "springlength='0'><joint joint='j' coef='.5'/><joint joint='k' coef='-2'/></fixed>"      \
  "<spatial name='path' stiffness='20' springlength='.4' damping='.3' limited='true' "     \
  "range='0 9'><site site='w'/>" divisor                                                   \
  "<site site='on'/><geom geom='g' sidesite='by'/><site site='end'/></spatial></tendon>"   \
  "<actuator><motor tendon='path' gear='3'/><position tendon='two' kp='5'/></actuator></mujoco>"

START_TEST(tendons_and_what_acts_on_them_are_written) { assert_written("r.xml", PULLED("")); }
END_TEST

/* A motion by a function of time, of a displacement, where the file's time is a plain number */
static const char press[] = "Assembly\n\tName\n\t\tA\n\tRefPoints\n\t\tRefPoint\n\t\t\tMarkers\n\t"
                            "\t\t\tMarker\n\t\t\t\t\tName\n\t\t\t\t\t\tg\n"
                            "\tParts\n\t\tPart\n\t\t\tName\n\t\t\t\ta\n\t\t\tPrincipalMassMarker\n"
                            "\t\t\t\tMass\n\t\t\t\t\t2\n\t\t\t\tMomentOfInertias\n"
                            "\t\t\t\t\t1 1 "
                            "1\n\t\t\tRefPoints\n\t\t\t\tRefPoint\n\t\t\t\t\tMarkers\n\t\t\t\t\t\tM"
                            "arker\n\t\t\t\t\t\t\tName\n"
                            "\t\t\t\t\t\t\t\tm\n\tConstraintSets\n\t\tJoints\n\t\t\tTranslationalJo"
                            "int\n\t\t\t\tName\n\t\t\t\t\tJ\n\t\t\t\tMarkerI\n"
                            "\t\t\t\t\t/A/g\n\t\t\t\tMarkerJ\n\t\t\t\t\t/A/a/"
                            "m\n\t\tMotions\n\t\t\tTranslationalMotion\n\t\t\t\tName\n\t\t\t\t\tM\n"
                            "\t\t\t\tMotionJoint\n\t\t\t\t\t/A/"
                            "J\n\t\t\t\tTranslationZ\n\t\t\t\t\t0.5d*sin(2*pi*time) + time^2\n";

START_TEST(motions_are_written_with_units) { assert_written("p.asmt", press); }
END_TEST

/* Everything that a function may be made of, each kind of element with functions, and names that begin a function of the file. Parentheses
 * are where they matter: a - (b - c), (a*b)^2, -x^2, 1/(x*y). */
static const char functions[] =
    "parameters: {k: 2 N m, late: 0.2 s}\n"
    "functions:\n"
    "  curve: {rows: [[0, 1], [1, 2], [3, 0], [4, 1]], units: [rad, N m], order: 5, ends: "
    "periodic}\n"
    "  steps: {rows: [[-1, 1], [1, 2], [3, 0.3]], units: [rad, N m], order: 1}\n"
    "  held: {rows: [[-1, 1], [1, 2], [3, 0.3]], units: [rad, N m], ends: clamped, slopes: [1, "
    "3]}\n"
    "  map: {x: [0, 1, 2], y: [0, 1], values: [[0, 1], [1, 2], [5, 3]], units: [rad, s, N m]}\n"
    "  inner: {of: {a: rad, t: s}, is: \"map(a, t) - (k - held(a)) - k*min(a, 1, t/late)\", unit: "
    "N m}\n"
    "  law: {of: {a: rad, t: s, w: rad/s}, is: \"inner(a, t)*2 + inner(2*a, t)/3 - -curve(a)^1\"}\n"
    "bodies:\n"
    "  - {name: a, mass: 1, inertia: [1, 1, 1], omega: [0, 0, 0.3]}\n"
    "  - {name: b, mass: 2, inertia: [1, 1, 1], at: [1, 0, 0], velocity: [0, 1, 0]}\n"
    "  - {name: c, mass: 2, inertia: [1, 1, 1], at: [1, 2, 0]}\n"
    "joints:\n"
    "  - {name: j, kind: revolute, b: a}\n"
    "  - {name: s, kind: prismatic, a: a, b: b, at: [1, 0, 0], axis: [0, 1, 0]}\n"
    "  - {name: g, kind: custom, b: c, in: bodies, start: [0.1], motions: [{along: [1, 0, 0], by: "
    "1 m}, "
    "{along: [0, 1, 0], by: 2 m + 0.1 m*x^2}, {about: [0, 0, 1], by: x}]}\n"
    "springs:\n"
    "  - {name: one, of: j, force: \"law(x, t, v) - steps(x) - curve''(x)*1 rad^2 - held'(x)\"}\n"
    "  - {name: two, of: s, force: \"if(j.angle > 0.2, 1 N, -2 N)*tanh(v/(1 m/s))\", stiffness: "
    "3}\n"
    "  - {name: three, of: j, force: \"-k*x^2 - k*(2*x)^3 + k*2^x - k/(1 + x*x)^-0.5 + k*atan2(x, "
    "1)\"}\n"
    "  - {name: four, of: j, force: \"k*(x - (x - (2 - x)))/4 + k*max(sign(x), abs(v/(1 rad/s)), "
    "x)\"}\n"
    "forces:\n"
    "  - {name: push, body: b, in: bodies, force: [\"3 N*sin(2*t/(1 s))\", 2, \"-vy*2 N "
    "s/m*hypot(x/(1 m), 2)\"]}\n"
    "drives: [{name: d, of: g, motion: 0.1 + 0.2*t/(1 s)}]\n"
    "actuators: [{name: m, of: j, gain: [1, 0, 0], curve: \"k*exp(-w) - k*poly(x, 1, 2, 3)\"}]\n"
    "controllers: [{name: loop, of: m, every: 0.1, delay: 0.01, control: 3 N m*(j.angle - 1) - "
    "j.rate*1 N m s}]\n"
    "ropes: [{name: rope, motion: \"0.1 m*smooth(t/(1 s))\", stiffness: 100, damping: 2, along: "
    "[{at: [3, 0, 0]}, "
    "{at: [3, 2, 0], radius: -0.1}, {body: b, at: [1, 0, 0]}]}]\n"
    "releases: [{name: lets, joint: s, when: 3 m - s.displacement}]\n"
    "run: {t_end: 1, coordinates: joint, sensors: \"j.angle b.point([1, 0, 0]).velocity.x\"}\n";

START_TEST(functions_are_written) {
  char *written, *again;
  assert_written("f.yaml", functions);
  CPBodies a = read_to_write("f.yaml", functions, YAML, &written), b;
  ck_assert_msg(a != NULL, "%s", message);
  ck_assert_msg(strstr(written, "is missing") == NULL, "%s", written);
  ck_assert_mentions(written, "sensors: \"j.angle b.point([1,0,0]).velocity.x\"");
  ck_assert(strstr(written, "latches:") == NULL);
  /* What is written of it is the same text but for what is told of the first file, whose functions had parameters. */
  b = read_to_write("f.yaml", written, YAML, &again);
  ck_assert_msg(b != NULL, "%s\n%s", message, written);
  ck_assert_mentions(written, "#   f.yaml:7: a function: map(a, t) - (k - held(a))");
  ck_assert_ptr_null(strstr(again, "a function"));
  ck_assert(!strcmp(strstr(written, "\ndimension:"), strstr(again, "\ndimension:")));
  CPBodiesFree(&a);
  CPBodiesFree(&b);
  free(written);
  free(again);
}
END_TEST

/* A chain of additions, to the left, is as deep as one; parentheses within each other are counted. */
START_TEST(long_and_deep_functions_are_written) {
  enum { TERMS = 20000, DEPTH = 40 };
  static const char head[] =
      "bodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\njoints: [{name: j, kind: "
      "revolute, b: a}]\nsprings: [{name: s, of: j, force: \"1 N m*(";
  char *text = malloc(sizeof head + 10 * TERMS);
  char *end  = text + sprintf(text, "%s", head);
  for (int i = 0; i < TERMS; i++) end += sprintf(end, "x + ");
  for (int i = 0; i < DEPTH; i++) end += sprintf(end, "(1 - x*");
  end += sprintf(end, "v/(1 rad/s)");
  for (int i = 0; i < DEPTH; i++) end += sprintf(end, ")");
  sprintf(end, ")\"}]\n");
  assert_written("f.yaml", text);
  free(text);
}
END_TEST

START_TEST(what_files_have_not_is_listed) {
  char *written;
  CPBodies a;
  a = read_to_write("t.xml", PULLED("<site site='on'/><pulley divisor='2'/>"), YAML, &written);
  ck_assert_msg(a != NULL, "%s", message);
  ck_assert_mentions(written, "files have, which files have not, is missing: path\n");
  ck_assert_mentions(
      written, "# what acts on a missing tendon, which files have not, is missing: path_limit\n");
  ck_assert(strstr(written, "of: \"path\"") == NULL && strstr(written, "of: \"two\"") != NULL);
  CPBodies b = read_as("w.yaml", written, strlen(written));
  ck_assert_msg(b != NULL, "%s", message);
  CPBodiesFree(&a);
  CPBodiesFree(&b);
  free(written);
  a = read_to_write(
      "g.sdf",
      "<sdf version='1.9'><model name='m'><link name='a'/><plugin name='wings'/></model></sdf>",
      YAML, &written);
  ck_assert_mentions(written, "#   g.sdf:1:52: the plugin wings\n");
  CPBodiesFree(&a);
  free(written);
}
END_TEST

START_TEST(the_nth_allocation_may_fail) {
  static const char called[] =
      "dimension: 2\nparameters: {m: 1 kg, l: 2*m}\n"
      "functions: {c: {rows: [[0, 1], [1, 2], [3, 0]], units: [rad, N m]}, f: {of: "
      "{x: rad}, "
      "is: \"c(x)*min(x, 1) - c'(x)*1 rad\"}}\nbodies: [{name: a, mass: l, inertia: l*1 m^2}]\n"
      "joints: [{name: j, kind: revolute, b: a}]\nsprings: [{name: s, of: j, force: 2*f(x)}]\n";
  const int is_yaml = _i == 4; /* with functions and parameters */
  const char *path = is_yaml ? "f.yaml" : "r.xml", *text = is_yaml ? called : robot;
  const int format = is_yaml ? YAML : YAML + _i;
  char *written;
  CPBodies warm = read_to_write(path, text, format, &written);
  CPBodiesFree(&warm);
  free(written);
  long n = 0;
  for (int failed = 1; failed;) {
    CPBodies b;
    CPBodiesFile own = CP_INIT(CPBodiesFile);
    own.writes       = format;
    alloc_watch_failing(++n);
    CPBodiesRead(path, text, strlen(text), &b, &own);
    failed = alloc_has_failed();
    ck_assert_msg((b == NULL) == failed, "allocation %ld: %s", n,
                  b ? "" : CPObjectGetLastMessage(NULL));
    CPBodiesFree(&b);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_gt(n, 20);
}
END_TEST

START_TEST(keyframes_of_mjcf_have_controls_and_activations) {
  static const char text[] =
      "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><actuator>"
      "<motor joint='j'/><general joint='j' dyntype='filter' dynprm='2'/></actuator><keyframe>"
      "<key name='k' qpos='.5' ctrl='3 4' act='5'/></keyframe></mujoco>";
  char *written;
  CPBodies b;
  file            = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.writes     = MJCF;
  file.parameters = "start=k";
  ck_assert_int_eq(CPBodiesRead("k.xml", text, sizeof text - 1, &b, &file), CP_SUCCESS);
  ck_assert_mentions(file.written, " ctrl=\"3 4\" act=\"5\"/>");
  written = malloc(strlen(file.written) + 1);
  strcpy(written, file.written);
  CPBodiesFree(&b);
  b = read_with("k.xml", written, "start=start");
  ck_assert_msg(b != NULL, "%s", message);
  N_Vector y = CPBodiesState(b, test_context);
  ck_assert_double_eq_tol(entries(y)[0], 0.5, 1e-15); /* The angle is that of the placement. */
  const int control = thing_named(b, CP_PARAMETER, "j_actuator.control");
  ck_assert_double_eq(CPBodiesParameters(b)[control], 3);
  N_VDestroy(y);
  CPBodiesFree(&b);
  free(written);
}
END_TEST

/* A screw between a rod that turns and a nut that slides: its link without mass closes a loop, whose angle no joint of MJCF has. */
START_TEST(mjcf_of_a_screw_in_a_loop_is_read) {
  static const char text[] =
      "<sdf version='1.7'><model name='press'><link "
      "name='nut'><inertial><mass>1</mass></inertial></link><link "
      "name='rod'><inertial><mass>2</mass></inertial></link><joint name='slide' "
      "type='prismatic'><parent>world</parent>"
      "<child>nut</child><axis><xyz>0 0 1</xyz></axis></joint><joint name='turn' "
      "type='revolute'><parent>world</parent>"
      "<child>rod</child><axis><xyz>0 0 1</xyz></axis></joint><joint name='screw' "
      "type='screw'><parent>rod</parent>"
      "<child>nut</child><axis><xyz>0 0 "
      "1</xyz></axis><screw_thread_pitch>0.01</screw_thread_pitch></joint></model></sdf>";
  char *written = NULL;
  CPBodies b    = read_to_write("press.sdf", text, MJCF, &written), again;
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert_ptr_nonnull(strstr(written, "the coupler of a joint that closes a loop: screw_"));
  ck_assert_ptr_null(strstr(written, "polycoef"));
  ck_assert_msg(CPBodiesRead("press.xml", written, strlen(written), &again, NULL) == CP_SUCCESS,
                "%s", CPObjectGetLastMessage(NULL));
  CPBodiesFree(&again);
  CPBodiesFree(&b);
  free(written);
}
END_TEST

/* Links that are turned by the poses of the file start where all coordinates are 0, up to rounding. */
START_TEST(rounded_zeros_are_no_start) {
  static const char text[] =
      "<sdf version='1.7'><model name='m'><link name='a'><pose>0.1 0.2 0.3 0.4 0.5 "
      "0.6</pose></link><link "
      "name='b'><pose>1.3 0.7 -0.3 -1.4 0.3 2.6</pose></link><link name='c'><pose>0.3 -0.9 0.7 2.4 "
      "-0.7 0.1</pose></link>"
      "<joint name='i' type='revolute'><parent>world</parent><child>a</child><axis><xyz>0.3 1 "
      "0.2</xyz></axis></joint>"
      "<joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>1 0.2 "
      "0.4</xyz></axis></joint>"
      "<joint name='k' type='prismatic'><parent>b</parent><child>c</child><axis><xyz>0.1 -0.7 "
      "0.4</xyz></axis></joint>"
      "</model></sdf>";
  char *written = NULL;
  CPBodies b    = read_to_write("m.sdf", text, URDF, &written);
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert_msg(!strstr(written, "the start"), "%s", written);
  CPBodiesFree(&b);
  free(written);
}
END_TEST

/* Three angles next to a pitch of a quarter of a turn, where two of them are nearly about one axis */
START_TEST(attitudes_survive_their_three_angles) {
  static const double off[] = {0, 1e-15, 1e-12, 1e-9, 1e-6, 0.3};
  for (int i = 0; i < 12; i++) {
    char text[400], *written;
    const double pitch = (i % 2 ? -1 : 1) * (acos(0.0) - off[i / 2]), c = cos(pitch / 2),
                 s = sin(pitch / 2), x = 0.35, z = -0.6; /* halves of the others */
    snprintf(text, sizeof text,
             "bodies: [{name: b, mass: 1, inertia: [1, 1, 1], quaternion: [%.17g, %.17g, %.17g, "
             "%.17g]}]\n",
             cos(z) * c * cos(x) + sin(z) * s * sin(x), cos(z) * c * sin(x) - sin(z) * s * cos(x),
             cos(z) * s * cos(x) + sin(z) * c * sin(x), sin(z) * c * cos(x) - cos(z) * s * sin(x));
    CPBodies a = read_to_write("b.yaml", text, SDF, &written);
    ck_assert_msg(a != NULL, "%s", message);
    CPBodies b = read_as("w.sdf", written, strlen(written));
    ck_assert_msg(b != NULL, "%s", message);
    N_Vector y[2]   = {CPBodiesState(a, test_context), CPBodiesState(b, test_context)};
    sunrealtype dot = 0;
    for (int k = 3; k < 7; k++) dot += entries(y[0])[k] * entries(y[1])[k];
    for (int k = 3; k < 7; k++)
      ck_assert_double_eq_tol(copysign(1, dot) * entries(y[0])[k], entries(y[1])[k], 1e-14);
    for (int k = 0; k < 2; k++) N_VDestroy(y[k]);
    CPBodiesFree(&a);
    CPBodiesFree(&b);
    free(written);
  }
}
END_TEST

/* The gap of each contact of a mechanism at its start; most: the size of gap. Returns their number. */
static int gaps_of(CPBodies b, int most, sunrealtype *gap) {
  const int n = CPBodiesCount(b, CP_CONTACT);
  CPMech mech;
  ck_assert_int_le(n, most);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y          = CPBodiesState(b, test_context);
  const CPEquations e = equations_of(mech);
  sunrealtype *p      = calloc((size_t)e.na + 1, sizeof *p);
  ck_assert_int_eq(e.p(0, entries(y), p, CPMechGetUserData(mech)), 0);
  for (int i = 0; i < n; i++) gap[i] = p[thing_at(b, CP_CONTACT, i).first];
  free(p);
  N_VDestroy(y);
  CPMechFree(&mech);
  return n;
}

/* Shapes that touch are collision shapes: what is read of the file has the same gaps and friction, in URDF those of the shapes that it has. */
START_TEST(contacts_are_written_as_collision_shapes) {
  static const char text[] =
      "bodies:\n"
      "  - {name: one, mass: 1, inertia: [1, 1, 1], at: [0, 0, 2]}\n"
      "  - {name: two, mass: 1, inertia: [1, 1, 1], at: [2, 0, 3], quaternion: [0.8, 0, 0.6, 0]}\n"
      "  - {name: three, mass: 1, inertia: [1, 1, 1], at: [0, 2, 4], quaternion: [0.6, 0.8, 0, "
      "0]}\n"
      "  - {name: four, mass: 1, inertia: [1, 1, 1], at: [2, 2, 5]}\n"
      "shapes:\n"
      "  - {name: floor, body: ground, kind: plane, at: [0, 0, 0.5], axis: [0.1, 0.2, 1]}\n"
      "  - {name: ball, body: one, in: bodies, kind: sphere, radius: 0.1, at: [0.01, 0, 0]}\n"
      "  - {name: can, body: two, in: bodies, kind: cylinder, radius: 0.1, length: 0.3}\n"
      "  - {name: rod, body: three, in: bodies, kind: capsule, radius: 0.2, length: 0.4}\n"
      "  - {name: egg, body: four, in: bodies, kind: ellipsoid, size: [0.4, 0.6, 0.8]}\n"
      "  - {name: seen, body: four, in: bodies, kind: sphere, radius: 5}\n"
      "contacts:\n";
  static const char *const shape[] = {"floor", "ball", "can", "rod", "egg"};
  enum { SHAPES = sizeof shape / sizeof *shape, MOST = 16 };
  char all[4000], *written;
  strcpy(all, text);
  for (int i = 0; i < SHAPES; i++)
    for (int k = 0; k < i; k++)
      snprintf(all + strlen(all), sizeof all - strlen(all),
               "  - {name: c%d%d, on: shape, a: %s, b: %s, friction: 0.3}\n", k, i, shape[k],
               shape[i]);
  for (int format = URDF; format <= SDF; format++) {
    sunrealtype gap[2][MOST];
    CPBodies a = read_to_write("a.yaml", all, format, &written);
    ck_assert_msg(a != NULL, "%s", message);
    CPBodies b = format == SDF ? read_as("w.sdf", written, strlen(written))
                               : read_with("w.urdf", written, "contacts=yes");
    ck_assert_msg(b != NULL, "%s", message);
    const int n = gaps_of(a, MOST, gap[0]), count = gaps_of(b, MOST, gap[1]);
    ck_assert_int_eq(count, format == SDF ? n : 1);
    for (int i = 0; i < count; i++) {
      sunrealtype off = INFINITY;
      for (int k = 0; k < n; k++) off = fmin(off, fabs(gap[1][i] - gap[0][k]));
      ck_assert_double_le(off, 1e-14);
      if (format == SDF) ck_assert_double_eq(thing_at(b, CP_CONTACT, i).law->mu, 0.3);
    }
    CPBodiesFree(&a);
    CPBodiesFree(&b);
    free(written);
  }
}
END_TEST

TEST_SUITE(writing) {
  Suite *suite = suite_create("bodies/writing");
  TCase *tc    = tcase_create("writing");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, a_file_and_what_is_written_of_it_are_the_same);
  tcase_add_test(tc, parameters_and_expressions_are_written);
  tcase_add_test(tc, everything_of_a_robot_is_written);
  tcase_add_test(tc, shapes_of_single_contacts_are_written);
  tcase_add_test(tc, a_tendon_of_many_coordinates_is_written);
  tcase_add_test(tc, tendons_and_what_acts_on_them_are_written);
  tcase_add_test(tc, motions_are_written_with_units);
  tcase_add_test(tc, functions_are_written);
  tcase_add_test(tc, long_and_deep_functions_are_written);
  tcase_add_test(tc, what_files_have_not_is_listed);
  tcase_add_loop_test(tc, the_nth_allocation_may_fail, 0, 5);
  tcase_add_test(tc, mjcf_of_a_screw_in_a_loop_is_read);
  tcase_add_test(tc, rounded_zeros_are_no_start);
  tcase_add_test(tc, attitudes_survive_their_three_angles);
  tcase_add_test(tc, keyframes_of_mjcf_have_controls_and_activations);
  tcase_add_test(tc, contacts_are_written_as_collision_shapes);
  suite_add_tcase(suite, tc);
  return suite;
}
