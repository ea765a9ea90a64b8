/* Files with units, parameters and functions: the same bits as numbers, motions and forces as functions of time and coordinates, and
 * what is wrong with them. */
#include "reading.h"

#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_language.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CPBodies read_text(const char *text) { return read_as("my.yaml", text, strlen(text)); }

/* ---- units in place of numbers ---- */

/* All examples */
static const char *const names[] = {"andrews",
                                    "arm_control",
                                    "axle",
                                    "barrier",
                                    "box_over_edge",
                                    "box_stack",
                                    "bricard",
                                    "chain_floor",
                                    "crank_rocker",
                                    "dead_centre",
                                    "engine",
                                    "excavator",
                                    "hoist",
                                    "double_wishbone",
                                    "four_bar",
                                    "four_bar_clearance",
                                    "rocking_block",
                                    "rolling_log",
                                    "slider_crank",
                                    "spatial_crank",
                                    "spatial_four_bar",
                                    "tippe_top",
                                    "trebuchet",
                                    "wheel_curb",
                                    "wiper"};
enum { FILES = sizeof names / sizeof names[0], LONGEST = 40000 };

/* A key, the power of ten that its numbers are multiplied by, and the unit that makes up for it, of angles the one behind the bar. Without a dimension
 * are dimension, side, repeat, directions, the gain of an actuator, and rows of tables, whose units are given at their heads. */
static const struct {
  const char *key, *unit;
  int power;
} keys[] = {{"mass", "g", 3},
            {"inertia", "g mm^2", 9},
            {"centre", "mm", 3},
            {"at", "mm", 3},
            {"at_b", "cm", 2},
            {"velocity", "km/s", -3},
            {"omega", "mrad/s", 3},
            {"spin", "mrad s^-1", 3},
            {"rate", "mrad/s", 3},
            {"angle", "mrad", 3},
            {"length", "um", 6},
            {"radius", "mm", 3},
            {"radius_a", "dm", 1},
            {"size", "mm", 3},
            {"width", "cm", 2},
            {"gravity", "mm/s^2", 3},
            {"t_end", "ms", 3},
            {"stiffness", "N/mm|kN m/rad", -3},
            {"damping", "kN s/m|kN m s", -3},
            {"free", "mm|mrad", 3},
            {"force", "kN|kN m", -3},
            {"force_range", "kN|kN m", -3},
            {"lower", "mm|mrad", 3},
            {"friction", "%", 2},
            {"restitution", "%", 2},
            {"quaternion", "%", 2},
            {"omega_body", "mrad/s", 3}};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* Is the joint of this name, which ends like a word, one that moves along an axis? */
static int is_slider(const char *text, const char *name) {
  char entry[100];
  snprintf(entry, sizeof entry, "{name: %.*s, kind: prismatic", (int)strcspn(name, ",} \n"), name);
  return strstr(text, entry) != NULL;
}

/* with: out, the text with units at the numbers of these keys, but not within expressions. Returns the number of numbers. */
static int add_units(const char *text, char *with) {
  const char *const all = text;
  int count = 0, key = -1, in_list = 0, in_comment = 0,
      of = 0; /* the coordinate of an element, an angle */
  while (*text) {
    if (*text == '#') in_comment = 1;
    if (*text == '\n') in_comment = of = 0;
    if (isalpha((unsigned char)*text) && !in_comment) {
      const size_t length =
          strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.");
      if (text[length] == ':') {
        for (key = KEYS - 1; key >= 0; key--)
          if (strlen(keys[key].key) == length && !strncmp(keys[key].key, text, length)) break;
        in_list = 0;
        if (length == 2 && !strncmp(text, "of", 2)) of = !is_slider(all, text + 4);
      }
      memcpy(with, text, length);
      text += length, with += length;
      continue;
    }
    if (*text == '[') in_list = 1;
    if (*text == ']' || *text == '}' || *text == '\n') key = in_list && *text != ']' ? key : -1;
    char *end = NULL;
    if (isdigit((unsigned char)*text) || *text == '-' || *text == '.') strtod(text, &end);
    const size_t after = end ? strspn(end, " ") : 0;
    const int alone = end && end > text && strchr(",]}\n#", end[after]) && strchr(" [", text[-1]) &&
                      !strchr("*/+-", text[-2]);
    if (end && end > text && !(key >= 0 && !in_comment && alone)) {
      memcpy(with, text, (size_t)(end - text));
      with += end - text, text = end;
      continue;
    }
    if (alone) {
      const size_t length   = (size_t)(end - text),
                   mantissa = strcspn(text, "eE") < length ? strcspn(text, "eE") : length;
      const int exponent    = mantissa < length ? atoi(text + mantissa + 1) : 0;
      const char *unit = keys[key].unit, *bar = strchr(unit, '|');
      if (of && bar) unit = bar + 1;
      with += sprintf(with, "%.*se%d %.*s", (int)mantissa, text, exponent + keys[key].power,
                      (int)strcspn(unit, "|"), unit);
      text = end;
      count++;
      continue;
    }
    *with++ = *text++;
  }
  *with = '\0';
  return count;
}

/* The states of a run of 20 ms, sampled; y: out, owned by the caller */
static N_Vector moved(CPBodies b) {
  CPMech mech;
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .held = file.held}),
                   CP_SUCCESS);
  evolve_mech(mech, y, "DOP853", 1e-6, 0.02);
  CPMechFree(&mech);
  return y;
}

START_TEST(units_in_place_of_numbers_give_the_same_motion_bit_for_bit) {
  char path[500], *plain = calloc(1, LONGEST), *with = calloc(1, 4 * LONGEST);
  snprintf(path, sizeof path, "%s/%s.yaml", CPODES_MECHANISMS, names[_i]);
  FILE *f = fopen(path, "rb");
  ck_assert_ptr_nonnull(f);
  const size_t size = fread(plain, 1, LONGEST - 1, f);
  fclose(f);
  ck_assert_int_ge(add_units(plain, with), 1); /* the others have units already */
  CPBodies a = read_as(path, plain, size);
  ck_assert_msg(a != NULL, "%s", message);
  const CPBodiesFile first = file;
  const sunrealtype t_end  = first.t_end;
  N_Vector y               = moved(a);
  CPBodies b               = read_as(path, with, strlen(with));
  ck_assert_msg(b != NULL, "%s in\n%s", message, with);
  N_Vector z = moved(b);
  ck_assert(file.t_end == t_end);
  const int n = CPBodiesCount(a, CP_PARAMETER);
  ck_assert_int_eq(n, CPBodiesCount(b, CP_PARAMETER));
  ck_assert(!memcmp(CPBodiesParameters(a), CPBodiesParameters(b), (size_t)n * sizeof(sunrealtype)));
  ck_assert(same_bits(y, z));
  N_VDestroy(y);
  N_VDestroy(z);
  CPBodiesFree(&a);
  CPBodiesFree(&b);
  free(plain);
  free(with);
}
END_TEST

/* ---- the road of the axle ---- */

/* The mean squares of octaves of waves are those of class B of ISO 8608, but for the ramp of 5 m at the beginning. */
START_TEST(the_road_has_the_spectrum_that_it_says) {
  enum { ROWS = 400, LENGTH = 100 };
  static const char *const tracks[] = {"left", "right"};
  static char text[LONGEST];
  char path[500];
  snprintf(path, sizeof path, "%s/parts/road.csv", CPODES_MECHANISMS);
  FILE *f = fopen(path, "rb");
  ck_assert_ptr_nonnull(f);
  const size_t size = fread(text, 1, sizeof text, f);
  fclose(f);
  for (int track = 0; track < 2; track++) {
    const CPTable table             = {CP_SIZED(CPTable), .csv = text, .length = size,
                                       .column = {"distance", tracks[track]}};
    const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .table = &table};
    CPFunction road;
    ck_assert_int_eq(CPFunctionCreate(&options, &road), CP_SUCCESS);
    for (int first = 2; first <= 50; first *= 2) {
      sunrealtype found = 0, wanted = 0;
      for (int k = first; k < 2 * first; k++) {
        const sunrealtype n = (sunrealtype)k / LENGTH;
        sunrealtype c = 0, s = 0, z;
        for (int i = 0; i < ROWS; i++) {
          const sunrealtype x = 0.25 * i, phase = 2 * acos(-1.0) * n * x;
          ck_assert_int_eq(CPFunctionEvaluate(road, &x, &z, NULL, NULL), CP_SUCCESS);
          c += 2 * z * cos(phase) / ROWS, s += 2 * z * sin(phase) / ROWS;
        }
        found += (c * c + s * s) / 2;
        wanted += 64e-6 / pow(n / 0.1, 2) / LENGTH;
      }
      ck_assert_double_eq_tol(found / wanted, 1, 0.2);
    }
    CPFunctionFree(&road);
  }
}
END_TEST

/* ---- parameters ---- */

#define CRANK                                                                                  \
  "parameters: {crank: 50 mm, rod: 2*crank + 2*crank - (crank + 0 mm), speed: 60 rpm, m: 0.5 " \
  "kg}\n"                                                                                      \
  "dimension: 2\ngravity: [0, -9.81 m/s^2]\nbodies:\n"                                         \
  "  - {name: crank, mass: m, inertia: m*crank^2/12, at: [0, crank/2], spin: speed}\n"         \
  "  - {name: rod, mass: 2*m, inertia: 2*m*rod^2/12, at: [rod/2, crank], angle: \"atan2(0, "   \
  "rod)\"}\n"                                                                                  \
  "joints:\n"                                                                                  \
  "  - {name: A, kind: revolute, b: crank}\n"                                                  \
  "  - {name: B, kind: revolute, a: crank, b: rod, at: [0, crank]}\n"                          \
  "drives:\n  - {name: motor, of: A, rate: speed}\n"

static sunrealtype parameter(CPBodies b, const char *name) {
  return CPBodiesParameters(b)[thing_named(b, CP_PARAMETER, name)];
}

START_TEST(parameters_are_names_for_numbers_and_may_be_replaced) {
  CPBodies b = read_text(CRANK);
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert(fabs(parameter(b, "rod.J_zz") - 0.15 * 0.15 / 12) < 1e-18);
  ck_assert(fabs(parameter(b, "motor.rate") - 2 * acos(-1.0)) < 1e-15);
  CPBodiesFree(&b);
  CPBodiesFile own = {CP_SIZED(CPBodiesFile), .parameters = "crank=0.05\ncrank=0.06\nm = 250 g"};
  ck_assert_int_eq(CPBodiesRead("my.yaml", CRANK, strlen(CRANK), &b, &own), CP_SUCCESS);
  ck_assert(fabs(parameter(b, "rod.mass") - 0.5) < 1e-16);
  ck_assert(fabs(parameter(b, "rod.J_zz") - 0.5 * 0.18 * 0.18 / 12) < 1e-18);
  CPBodiesFree(&b);
  static const struct {
    const char *parameters, *message;
  } wrong[] = {
      {"crank=60 kg", "crank:1:1: it must have the dimension of what it replaces, m, and has kg"},
      {"crnk=1", "my.yaml:1:13: there is no parameter \"crnk\", but crank, rod, speed, m"},
      {"crank", "a parameter must be NAME=VALUE"},
      {"crank=rod", "crank depends on itself"},
      {"crank=60 mn", "crank:1:4: there is no unit \"mn\""}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    own = (CPBodiesFile){CP_SIZED(CPBodiesFile), .parameters = wrong[i].parameters};
    ck_assert_int_eq(CPBodiesRead("my.yaml", CRANK, strlen(CRANK), &b, &own), CP_ILL_INPUT);
    ck_assert_msg(strstr(CPObjectGetLastMessage(NULL), wrong[i].message), "%s",
                  CPObjectGetLastMessage(NULL));
  }
  ck_assert_int_eq(CPBodiesRead("a.xml", "<robot/>", 8, &b, &own), CP_ILL_INPUT);
}
END_TEST

/* ---- functions ---- */

#define SLIDER                                         \
  "bodies: [{name: a, mass: 2, inertia: [1, 1, 1]}]\n" \
  "joints: [{name: guide, kind: prismatic, b: a, axis: [1, 0, 0]}]\n"

/* The mechanism's partial derivatives are right, and the force of the spring or point on the slider, along x, at x and x' and t = 0.3,
 * is f. */
static void assert_force(const char *text, sunrealtype x, sunrealtype v, sunrealtype f) {
  CPBodies b = read_text(text);
  ck_assert_msg(b != NULL, "%s", message);
  CPMech mech;
  CPMechReport report = CP_INIT(CPMechReport);
  MessageLog log      = {0};
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  CPBodiesFree(&b); /* the model keeps the functions */
  CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log);
  entries(y)[0] = x, entries(y)[7] = v;
  ck_assert_msg(CPMechCheck(mech, 0.3, y, &report) == CP_SUCCESS, "%s", log.text);
  const CPEquations e  = equations_of(mech);
  sunrealtype force[6] = {0};
  ck_assert_int_eq(e.f(0.3, entries(y), entries(y) + 7, NULL, force, CPMechGetUserData(mech)), 0);
  ck_assert_msg(fabs(force[0] - f) <= 1e-14 * (1 + fabs(f)), "%.17g, not %.17g", (double)force[0],
                (double)f);
  N_VDestroy(y);
  CPMechFree(&mech);
}

START_TEST(forces_and_springs_are_functions_of_time_and_motion) {
  const sunrealtype x = 0.2, v = -1.5, t = 0.3;
  assert_force(
      SLIDER
      "springs: [{name: s, of: guide, force: -3 N/m*x^2/(1 m) + 2 N s/m*v*cos(t*5 rad s^-1)}]\n",
      x, v, -3 * x * x + 2 * v * cos(5 * t));
  assert_force(SLIDER "springs: [{name: s, of: guide, stiffness: 7 N/m, force: 1 kN/m^3*x^3}]\n", x,
               v, 1000 * x * x * x - 7 * x);
  assert_force(SLIDER "forces: [{name: s, body: a, in: bodies, force: [\"2 N*sin(x*3 rad "
                      "m^-1)*y/(1 m) - 4 N s/m*vx\", 1 N, 5 N*t/(1 s)]}]\n",
               x, v, -4 * v);
  assert_force(
      "functions: {law: {of: {u: m, w: m/s}, is: 5 N/m*u + 1 N s^2 m^-2*w^2, unit: N}}\n" SLIDER
      "springs: [{name: s, of: guide, force: \"-law(x, v)\"}]\n",
      x, v, -5 * x - v * v);
  assert_force("functions: {curve: {rows: [[-100, 3], [0, 1], [100, 2], [300, 5]], units: [mm, "
               "kN], order: 1}}\n" SLIDER "springs: [{name: s, of: guide, force: curve(x)}]\n",
               x, v, 3500);
  assert_force("functions:\n  map: {x: [0, 1, 2], y: [0, 1], values: [[0, 1], [1, 2], [2, 3]], "
               "units: [m, s, N], order: 1}\n" SLIDER
               "springs: [{name: s, of: guide, force: \"2*map(x, t)\"}]\n",
               x, v, 2 * (x + t));
  assert_force("parameters: {k: 9 N/m}\n" SLIDER
               "springs: [{name: s, of: guide, force: k*0.5 m}]\n",
               x, v, 4.5);
}
END_TEST

/* A drive by an expression, and by a table of the same motion, moves as its function does. */
START_TEST(functions_of_other_elements_need_no_file) {
  static const char *const variables[] = {"t", "x", "v", "angle", "rate"};
  CPFunction f = NULL, g = NULL;
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .text = "3*sin(angle) - v*rate",
                                     .nvariables = 5, .variable = variables},
                          of_time = {CP_SIZED(CPFunctionOptions), .text = "2*t + t^2",
                                     .nvariables = 1, .variable = variables};
  CPBodies b                      = CPBodiesCreate(2, NULL);
  CPMech mech;
  ck_assert_int_eq(CPFunctionCreate(&options, &f), CP_SUCCESS);
  ck_assert_int_eq(CPFunctionCreate(&of_time, &g), CP_SUCCESS);
  const char *const bodies[] = {"one", "two"}, *const joints[] = {"A", "B"};
  for (int i = 0; i < 2; i++) {
    const CPBody body   = {CP_NEW_BODY(bodies[i]), .mass = 1, .inertia = {1, 1, 2},
                           .omega = {0, 0, 1 + i}};
    const CPJoint joint = {CP_NEW_JOINT(joints[i]), .kind = CP_JOINT_REVOLUTE, .b = bodies[i]};
    ck_assert_int_eq(CPBodiesAdd(b, &body.head, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPBodiesAdd(b, &joint.head, NULL), CP_SUCCESS);
  }
  CPSpring spring = {CP_NEW_SPRING("law"), .of = {.joint = "B"}, .function = f, .inputs = "A.angle"};
  CPDrive drive   = {CP_NEW_DRIVE("motor"), .of = {.joint = "A"}, .function = g, .rate = 1};
  ck_assert_int_eq(CPBodiesAdd(b, &spring.head, NULL), CP_ILL_INPUT); /* 5 variables, and not 4 */
  ck_assert_msg(strstr(CPObjectGetLastMessage(CP_OBJECT(b)), "must have 4 variables, and has 5") !=
                    NULL,
                "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  spring.inputs = "A.angle A.force";
  ck_assert_int_eq(CPBodiesAdd(b, &spring.head, NULL), CP_NOT_SUPPORTED);
  spring.inputs = "A.angle C.rate";
  ck_assert_int_eq(CPBodiesAdd(b, &spring.head, NULL), CP_ILL_INPUT);
  spring.inputs = "A.angle A.rate";
  ck_assert_int_eq(CPBodiesAdd(b, &spring.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(b, &drive.head, NULL), CP_ILL_INPUT);
  drive.rate = 0;
  ck_assert_int_eq(CPBodiesAdd(b, &drive.head, NULL), CP_SUCCESS);
  CPFunctionFree(&f); /* the mechanism keeps them */
  CPFunctionFree(&g);
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context);
  CPBodiesFree(&b); /* and so does its model */
  CPSensor s               = CP_INIT(CPSensor);
  N_VGetArrayPointer(y)[2] = 0.5, N_VGetArrayPointer(y)[6 + 2] = 1.5;
  ck_assert_int_eq(CPMechGetSensor(mech, "law.torque", 0, y, &s), CP_SUCCESS);
  ck_assert_double_eq_tol(s.value[0], 3 * sin(0.5) - 2 * 1.5, 1e-14);
  ck_assert_int_eq(CPMechGetSensor(mech, "two.alpha.z", 0, y, &s), CP_SUCCESS);
  ck_assert_double_eq_tol(s.value[0], (3 * sin(0.5) - 2 * 1.5) / 2, 1e-14);
  ck_assert_int_eq(CPMechGetSensor(mech, "A.acceleration", 0.3, y, &s), CP_SUCCESS);
  ck_assert_double_eq_tol(s.value[0], 2, 1e-14);
  N_VDestroy(y);
  CPMechFree(&mech);
}
END_TEST

START_TEST(a_drive_follows_its_function) {
  static const char text[] =
      SLIDER "drives: [{name: d, of: guide, motion: 20 mm*sin(7 rad s^-1*t)^2 + 3 mm/s*t}]\n";
  CPBodies b = read_text(text);
  ck_assert_msg(b != NULL, "%s", message);
  CPMech mech;
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y       = CPBodiesState(b, test_context);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  sunrealtype t;
  CPBodiesFree(&b);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-9, 1e-9), CP_SUCCESS);
  for (int i = 1; i <= 10; i++) {
    ck_assert_int_ge(CPIntegratorEvolve(mem, 0.1 * i, y, &t, CV_NORMAL), 0);
    const sunrealtype s = sin(7 * t);
    ck_assert(fabs(entries(y)[0] - (0.02 * s * s + 0.003 * t)) < 1e-12);
    ck_assert(fabs(entries(y)[7] - (0.28 * s * cos(7 * t) + 0.003)) < 1e-11);
  }
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
}
END_TEST

/* The four-cylinder engine after 5 ms, 90 degrees: rows of the table at cylinders 1, 2 and 4. A piston's pin carries what its acceleration,
 * weight and gas need, with x'' = -w^2 (r cos + (r^2 cos 2phi)/s + (r^2 cos sin)^2/s^3), s^2 = l^2 - r^2 sin^2 (Heywood, section 2.2). */
START_TEST(bearing_forces_of_an_engine_are_those_of_its_gas_and_motion) {
  static const struct {
    const char *pin;
    double degrees, bar;
  } cylinders[]        = {{"c1_small", 90, 9}, {"c2_small", 270, 1.1}, {"c4_small", 450, 0.9}};
  const sunrealtype pi = acos(-1.0), r = 0.045, l = 0.15, w = 100 * pi,
                    area = pi * 0.086 * 0.086 / 4, m = 0.45;
  const char *path = CPODES_MECHANISMS "/engine.yaml";
  CPBodies b       = read_as(path, NULL, 0);
  ck_assert_msg(b != NULL, "%s", message);
  CPMech mech;
  sunrealtype t, udot[27], lambda[27];
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y       = CPBodiesState(b, test_context);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-12, 1e-12), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetStopTime(mem, 0.005), CP_SUCCESS);
  ck_assert_int_ge(CPIntegratorEvolve(mem, 0.005, y, &t, CV_NORMAL), 0);
  ck_assert_int_eq(CPMechAccelerations(mech, 0.005, y, udot, lambda), CP_SUCCESS);
  for (size_t i = 0; i < sizeof cylinders / sizeof cylinders[0]; i++) {
    const sunrealtype phi = cylinders[i].degrees * pi / 180, c = cos(phi), n = sin(phi),
                      s = sqrt(l * l - r * r * n * n);
    const sunrealtype a =
        -w * w * (r * c + r * r * (c * c - n * n) / s + pow(r * r * c * n, 2) / pow(s, 3));
    const sunrealtype gas = -area * (cylinders[i].bar - 1) * 1e5, want = m * (a + 9.81) - gas;
    sunrealtype F[3], T[3];
    ck_assert_int_eq(
        CPMechGetReaction(mech, thing_named(b, CP_JOINT, cylinders[i].pin), 0.005, y, lambda, F, T),
        CP_SUCCESS);
    ck_assert_msg(fabs(F[1] - want) <= 1e-10 * 5e3, "%s: %.15g, not %.15g", cylinders[i].pin,
                  (double)F[1], (double)want);
  }
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  CPBodiesFree(&b);
}
END_TEST

/* ---- patterns ---- */

/* Do both have the same things of all kinds, parameters to the last bit, and the same start? */
static void expect_equal(CPBodies a, CPBodies b) {
  static const CPThing kinds[] = {CP_BODY,   CP_JOINT,     CP_COORDINATE,
                                  CP_SPRING, CP_PARAMETER, CP_STATE};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    ck_assert_int_eq(CPBodiesCount(a, kinds[k]), CPBodiesCount(b, kinds[k]));
    for (int i = 0; i < CPBodiesCount(a, kinds[k]); i++) {
      char name[200];
      snprintf(name, sizeof name, "%s", thing_at(a, kinds[k], i).name);
      ck_assert_str_eq(name, thing_at(b, kinds[k], i).name);
    }
  }
  ck_assert(!memcmp(CPBodiesParameters(a), CPBodiesParameters(b),
                    (size_t)CPBodiesCount(a, CP_PARAMETER) * sizeof(sunrealtype)));
  N_Vector y = CPBodiesState(a, test_context), z = CPBodiesState(b, test_context);
  ck_assert(same_bits(y, z));
  N_VDestroy(y);
  N_VDestroy(z);
}

START_TEST(repetitions_and_merge_keys_are_the_elements_written_out) {
  static const char
      pattern[] =
          "parameters: {n: 3, L: 20 cm}\ndimension: 2\nbodies:\n"
          "  - {name: link1, <<: &link {mass: 2 kg, inertia: 0.01, angle: 0.1}, at: [L/2, 0]}\n"
          "  - {repeat: {k: n - 1}, <<: [{mass: 3}, *link], name: \"link{k + 1}\", at: [(k + "
          "0.5)*L, 0]}\n"
          "joints:\n  - {name: j1, kind: revolute, b: link1}\n"
          "  - {repeat: {i: 2}, name: \"j{i+1}\", kind: revolute, a: \"link{i}\", b: \"link{i + "
          "1}\", at: [i*L, 0]}\n"
          "springs:\n  - {repeat: {i: n}, name: \"s{i}\", of: \"j{i}\", stiffness: i*1 N m}\n",
      plain[] =
          "dimension: 2\nbodies:\n"
          "  - {name: link1, mass: 2, inertia: 0.01, angle: 0.1, at: [0.1, 0]}\n"
          "  - {name: link2, mass: 3, inertia: 0.01, angle: 0.1, at: [1.5*0.2, 0]}\n"
          "  - {name: link3, mass: 3, inertia: 0.01, angle: 0.1, at: [2.5*0.2, 0]}\n"
          "joints:\n  - {name: j1, kind: revolute, b: link1}\n"
          "  - {name: j2, kind: revolute, a: link1, b: link2, at: [0.2, 0]}\n"
          "  - {name: j3, kind: revolute, a: link2, b: link3, at: [2*0.2, 0]}\n"
          "springs:\n  - {name: s1, of: j1, stiffness: 1}\n  - {name: s2, of: j2, stiffness: 2}\n"
          "  - {name: s3, of: j3, stiffness: 3}\n";
  CPBodies a = read_as("pattern.yaml", pattern, strlen(pattern));
  ck_assert_msg(a != NULL, "%s", message);
  CPBodies b = read_as("plain.yaml", plain, strlen(plain));
  ck_assert_msg(b != NULL, "%s", message);
  expect_equal(a, b);
  CPBodiesFree(&a);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(included_files_have_parameters_and_prefixes) {
  static const char
      pattern[] = "parameters: {n: 3, L: 20 cm}\ndimension: 2\nbodies: [{name: base, mass: 1, "
                  "inertia: 1}]\n"
                  "joints: [{name: pivot, kind: revolute, b: base}]\n"
                  "include:\n  - {file: part.yaml, prefix: \"p{i}_\", repeat: {i: n}, parameters: "
                  "{x: i*L, k: i*1 N m}, with: {foot: base}}\n"
                  "springs: [{name: tie, of: p2_pin, force: p3_pin.angle*1 N m}]\n",
      part[] =
          "parameters: {x: 0 m, k: 1 N m, m: 2 kg}\ndimension: 2\nrun: {t_end: 3}\n"
          "bodies: [{name: arm, mass: m, inertia: 0.01, at: [x, L]}]\n"
          "joints: [{name: pin, kind: revolute, a: foot, b: arm, at: [x, 0]}]\n"
          "springs: [{name: s, of: pin, stiffness: k, force: pivot.angle*k + pin.rate*1 N m s}]\n",
      plain[] = "dimension: 2\nbodies: [{name: base, mass: 1, inertia: 1},\n"
                "  {name: p1_arm, mass: 2, inertia: 0.01, at: [0.2, 0.2]},\n"
                "  {name: p2_arm, mass: 2, inertia: 0.01, at: [2*0.2, 0.2]},\n"
                "  {name: p3_arm, mass: 2, inertia: 0.01, at: [3*0.2, 0.2]}]\n"
                "joints: [{name: pivot, kind: revolute, b: base},\n"
                "  {name: p1_pin, kind: revolute, a: base, b: p1_arm, at: [0.2, 0]},\n"
                "  {name: p2_pin, kind: revolute, a: base, b: p2_arm, at: [2*0.2, 0]},\n"
                "  {name: p3_pin, kind: revolute, a: base, b: p3_arm, at: [3*0.2, 0]}]\n"
                "springs: [{name: tie, of: p2_pin, force: p3_pin.angle*1 N m},\n"
                "  {name: p1_s, of: p1_pin, stiffness: 1, force: pivot.angle*1 N m + v*1 N m s},\n"
                "  {name: p2_s, of: p2_pin, stiffness: 2, force: pivot.angle*2 N m + v*1 N m s},\n"
                "  {name: p3_s, of: p3_pin, stiffness: 3, force: pivot.angle*3 N m + v*1 N m s}]\n";
  FILE *f     = fopen("part.yaml", "w");
  ck_assert_ptr_nonnull(f);
  fputs(part, f);
  fclose(f);
  CPBodies a = read_as("pattern.yaml", pattern, strlen(pattern));
  ck_assert_msg(a != NULL, "%s", message);
  CPBodies b = read_as("plain.yaml", plain, strlen(plain));
  ck_assert_msg(b != NULL, "%s", message);
  expect_equal(a, b);
  N_Vector y = moved(a), z = moved(b);
  for (int i = 0; i < (int)N_VGetLength(y); i++)
    ck_assert_double_eq_tol(N_VGetArrayPointer(y)[i], N_VGetArrayPointer(z)[i], 1e-12);
  N_VDestroy(y);
  N_VDestroy(z);
  CPBodiesFree(&a);
  CPBodiesFree(&b);
  static const struct {
    const char *text, *rule;
  } wrong[] = {
      {"include: [{file: part.yaml, parameters: {y: 1}}]\n",
       "p.yaml:1:42: part.yaml has no parameter \"y\""},
      {"dimension: 2\nparameters: {L: 1 m}\ninclude: [{file: part.yaml, parameters: {x: 1 kg}}]\n",
       "p.yaml:3:45: it must have the dimension of what it replaces, m, and has kg"},
      {"dimension: 2\nparameters: {L: 1 m}\ninclude: [{file: part.yaml, parameters: {xx: 1 m}}]\n",
       "p.yaml:3:42: part.yaml has no parameter \"xx\", but"},
      {"include: [{file: part.yam}]\n", "cannot be read"},
      {"include: [{file: p.yaml, prefx: a}]\n", "an included file has no key \"prefx\""},
      {"include: {file: part.yaml}\n", "include must be a list"},
      {"include: [{file: part.yaml, repeat: {i: 0.5}}]\n", "whole number"},
      {"dimension: 2\ninclude: [{file: self.yaml}]\n", "the file \"self.yaml\" includes itself"},
      {"dimension: 2\nparameters: {L: 1}\ninclude: [{file: part.yaml, prefix: a}]\n",
       "part.yaml:5:10: apin: there is no body \"foot\""},
      {"bodies: [{<<: 3, name: a}]\n", "<< must be another mapping"},
      {"bodies: [{repeat: 3, name: a}]\n", "repeat must be {i: number of times}"},
      {"bodies: [{repeat: {i: 2}, name: \"a{i/2}\", mass: 1, inertia: [1, 1, 1]}]\n",
       "must be a whole number"},
      {"bodies: [{repeat: {i: 2}, name: \"a{i\", mass: 1, inertia: [1, 1, 1]}]\n", "needs }"},
      {"bodies: [{repeat: {i: 2}, name: a, mass: 1, inertia: [1, 1, 1]}]\n", "name must be new"}};
  f = fopen("self.yaml", "w");
  ck_assert_ptr_nonnull(f);
  fputs("dimension: 2\ninclude: [{file: self.yaml}]\n", f);
  fclose(f);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    ck_assert_ptr_null(read_as("p.yaml", wrong[i].text, strlen(wrong[i].text)));
    ck_assert_msg(strstr(message, wrong[i].rule) != NULL, "%s: %s", wrong[i].text, message);
  }
  remove("part.yaml");
  remove("self.yaml");
}
END_TEST

/* ---- what is wrong ---- */

#define BODY "bodies:\n  - {name: a, mass: 1, inertia: [1, 1, 1]}\n"
#define PIN  BODY "joints: [{name: j, kind: revolute, b: a}]\n"
static const struct {
  const char *text, *place, *rule;
} bad[] = {
    {"bodies:\n  - {name: a, mass: 3 mm, inertia: [1, 1, 1]}\n",
     "my.yaml:2:21:", "dimension of kg, and has that of m"},
    {"bodies:\n  - {name: a, mass: 1, inertia: [1, 2 kg, 1]}\n",
     "my.yaml:2:37:", "dimension of kg m^2, and has that of kg"},
    {"bodies:\n  - {name: a, mass: 2*masss, inertia: [1, 1, 1]}\nparameters: {mass: 3}\n",
     "my.yaml:2:23:", "there is no \"masss\"; did you mean mass?"},
    {"bodies:\n  - {name: a, mass: \"2* 3 kgg\", inertia: [1, 1, 1]}\n",
     "my.yaml:2:27:", "there is no unit \"kgg\""},
    {BODY "parameters: 3\n", "my.yaml:3:13:", "parameters must be a mapping"},
    {BODY "parameters: {a: [1]}\n", "my.yaml:3:17:", "a parameter must be a number or an expression"},
    {BODY "parameters: {a: 1, a: 2}\n", "my.yaml:3:23:", "there is a \"a\" already"},
    {BODY "parameters: {a b: 1}\n", "my.yaml:3:19:", "a name has at most"},
    {BODY "parameters: {a: b, b: c, c: 2*a}\n", "my.yaml:3:17:", "a depends on itself"},
    {BODY "parameters: {a: 1/0}\n", "my.yaml:3:18:", "not a finite number"},
    {BODY "parameters: {unused: 1 m + 1 s}\n",
     "my.yaml:3:26:", "dimensions must be equal, and are m and s"},
    {PIN "drives: [{name: d, of: j, rate: 3 m/s}]\n",
     "my.yaml:4:33:", "dimension of s^-1, and has that of m/s"},
    {PIN "drives: [{name: d, of: j, rate: 3*t}]\n", "my.yaml:4:35:", "there is no \"t\""},
    {"bodies: [{name: crank, mass: 1, inertia: [1, 1, 1]}]\njoints: [{name: j, kind: revolute, b: "
     "crnk}]\n",
     "my.yaml:2:10:", "j: there is no body \"crnk\"; did you mean \"crank\"?"},
    {PIN "drives: [{name: d, of: jj}]\n",
     "my.yaml:4:24:", "there is no joint \"jj\"; did you mean \"j\"?"},
    /* not that N m is no unit of a stiffness along an unknown coordinate */
    {PIN "springs: [{name: s, of: jj, stiffness: 3 N m}]\n",
     "my.yaml:4:25:", "there is no joint \"jj\"; did you mean \"j\"?"},
    {PIN "springs: [{name: s, of: j, force: 1 N m*atan2(v, x)}]\n",
     "my.yaml:4:48:", "within { } or [ ], a text with commas needs quotation marks"},
    {PIN "springs: [{name: s, of: j, force: \"1 N m*atan2(v)\"}]\n",
     "my.yaml:4:50:", "atan2 needs 2 arguments, and has 1 (force)"},
    {BODY "functions: {f: {of: {x: m}, is: 2*g(x)}, g: {of: {x: m}, is: f(x)}}\n",
     "my.yaml:3:35:", "g is defined further below, or by itself"},
    {BODY "functions: {f: {of: {x: m}, is: 2*f(x)}}\n",
     "my.yaml:3:35:", "f is defined further below, or by itself"},
    {BODY "functions: {f: {of: {x: m}, is: x}, f: {of: {x: m}, is: x}}\n",
     "my.yaml:3:37:", "there is a \"f\" already"},
    {BODY "functions: {f: {rows: [[0, 1], [1, 2]], units: [m]}}\n",
     "my.yaml:3:48:", "units must be a list of 2 texts"},
    {PIN "drives: [{name: d, of: j, motion: 3*t}]\n",
     "my.yaml:4:35:", "the value must have no dimension, and has that of s"},
    {PIN "drives: [{name: d, of: j, motion: x}]\n", "my.yaml:4:35:", "there is no \"x\""},
    {PIN "drives: [{name: d, of: j, motion: t/(1 s), rate: 1}]\n",
     "my.yaml:4:50:", "a drive has no rate beside motion"},
    {PIN "springs: [{name: s, of: j, stiffness: 3 N/m}]\n",
     "my.yaml:4:39:", "dimension of N m, and has that of N/m"},
    {PIN "springs: [{name: s, of: j, force: 3 N*x}]\n",
     "my.yaml:4:35:", "dimension of N m, and has that of N"},
    {BODY "forces: [{name: f, body: a, in: bodies, force: [x*2 N/m, 0, 0], follows: true}]\n",
     "my.yaml:3:10:", "must not follow"},
    {"dimension: 2\nbodies: [{name: a, mass: 1, inertia: 1}]\n"
     "forces: [{name: f, body: a, in: bodies, force: [0, 0, x*2 N/m]}]\n",
     "my.yaml:3:48:", "force must lie in the plane"},
    {BODY "functions: [f]\n", "my.yaml:3:12:", "functions must be a mapping"},
    {BODY "functions: {f: {}}\n",
     "my.yaml:3:16:", "a function needs one of is, file, rows and values"},
    {BODY "functions: {f: {is: 3}}\n", "my.yaml:3:16:", "a function needs of"},
    {BODY "functions: {f: {is: x, of: {x: m}, rows: []}}\n",
     "my.yaml:3:16:", "a function by an expression has no rows"},
    {BODY "functions: {f: {is: 3*y, of: {x: m}}}\n", "my.yaml:3:23:", "there is no \"y\""},
    {BODY "functions: {f: {is: x, of: {x: mmm}}}\n", "my.yaml:3:21:", "there is no unit \"mmm\""},
    {BODY "functions: {f: {rows: [[0, 1], [0, 2]]}}\n",
     "my.yaml:3:16:", "x must increase; row 2 has 0 after 0"},
    {BODY "functions: {f: {rows: [[0, 1], [1]]}}\n",
     "my.yaml:3:32:", "must be a list of 2 numbers, and has 1"},
    {BODY "functions: {f: {rows: [[0, 1 m], [1, 2]]}}\n", "my.yaml:3:28:", "and has that of m"},
    {BODY "functions: {f: {rows: 3, units: [m, m]}}\n",
     "my.yaml:3:23:", "rows must be a list of lists of 2 numbers"},
    {BODY "functions: {f: {rows: [[0, 1], [1, 2]], ends: loose}}\n",
     "my.yaml:3:47:", "no kind of ends \"loose\", but natural, clamped, periodic"},
    {BODY "functions: {f: {rows: [[0, 1], [1, 2]], order: 2}}\n",
     "my.yaml:3:16:", "the order must be 1, 3 or 5"},
    {BODY "functions: {f: {rows: [[0, 1], [1, 2]], slopes: [1, 2]}}\n",
     "my.yaml:3:49:", "slopes need ends: clamped, and order 3 or 5"},
    {BODY "functions: {f: {rows: [[0, 1], [1, 2]], ends: clamped, slopes: [1]}}\n",
     "my.yaml:3:64:", "slopes of order 3 must be a list of 2 numbers"},
    {BODY "functions: {f: {rows: [[0, 1], [1, 2]], ends: clamped, order: 5, slopes: [1, 2]}}\n",
     "my.yaml:3:74:", "slopes of order 5 must be a list of 4 numbers"},
    {BODY "functions: {f: {of: {a: m, a: m}, is: a}}\n",
     "my.yaml:3:39:", "two variables have the name \"a\""},
    {BODY "functions: {f: {of: {a b: m}, is: 1}}\n", "my.yaml:3:35:", "and one is \"a b\""},
    {BODY "functions: {f: {of: {pi: m}, is: pi}}\n",
     "my.yaml:3:34:", "a variable has the name pi, which has a meaning already"},
    {BODY "functions: {f: {of: {t: s}, is: h(t)}}\n", "my.yaml:3:33:", "there is no \"h\""},
    {BODY "functions: {f: {rows: [[0, 1], [1, 2]], of: {x: m}}}\n",
     "my.yaml:3:16:", "a table has units"},
    {BODY "functions: {f: {file: nowhere.csv}}\n",
     "my.yaml:3:23:", "the file \"nowhere.csv\" cannot be read"},
    {BODY "functions: {f: {values: [[0, 1]]}}\n", "my.yaml:3:16:", "a map needs x and y"},
    {BODY "functions: {f: {x: [0, 1], y: [0, 1], values: [[0, 1]]}}\n",
     "my.yaml:3:47:", "values must have a row for each of x, 2, and has 1"},
    {PIN "functions: {f: {rows: [[0, 1], [1, 2]], units: [m, N m]}}\nsprings: [{name: s, of: j, "
         "force: f(x)}]\n",
     "my.yaml:5:35:", "argument 1 of f must have the dimension of m, and has none"}};

START_TEST(what_is_wrong_is_named_with_its_place) {
  assert_refused(read_text(bad[_i].text), bad[_i].place, bad[_i].rule);
}
END_TEST

/* A table in a file beside the mechanism, found by its columns */
START_TEST(a_table_is_read_from_a_file) {
  write_file("motor.csv", "speed [rpm], torque [N m]\n0, 10\n1000, 9\n3000, 4\n");
  static const char text[] =
      "functions: {torque: {file: motor.csv, columns: [speed, torque], order: 1}}\n" PIN
      "springs: [{name: motor, of: j, force: torque(v)}]\n";
  CPBodies b = read_as(CPODES_TEST_FOLDER "/m.yaml", text, strlen(text));
  ck_assert_msg(b != NULL, "%s", message);
  CPMech mech;
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y           = CPBodiesState(b, test_context);
  entries(y)[7 + 5]    = 2000 * acos(-1.0) / 30;
  sunrealtype force[6] = {0};
  const CPEquations e  = equations_of(mech);
  ck_assert_int_eq(e.f(0, entries(y), entries(y) + 7, NULL, force, CPMechGetUserData(mech)), 0);
  ck_assert(fabs(force[5] - 6.5) < 1e-13);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

#define MESH(keys)                                                                     \
  "bodies: [{name: b, mass: 1, inertia: [1, 1, 1]}]\nshapes:\n  - {name: s, body: b, " \
  "kind: mesh, " keys "}\n"

/* A mesh in a file beside the mechanism has the corners of its hull, scaled, and no others. */
START_TEST(a_mesh_is_read_from_a_file) {
  enum { CORNERS = 6 };
  static const char *const corners[CORNERS] = {"[2, 0, 0]",  "[-2, 0, 0]", "[0, 2, 0]",
                                               "[0, -2, 0]", "[0, 0, 2]",  "[0, 0, -2]"};
  static const char text[]                  = MESH("file: [stone.obj, 2]");
  CPBodies b;
  write_file("stone.obj",
             "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\nv 0.1 0.1 0.1\n"
             "f 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n");
  file        = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.writes = 1; /* YAML */
  ck_assert_int_eq(CPBodiesRead(CPODES_TEST_FOLDER "/m.yaml", text, strlen(text), &b, &file),
                   CP_SUCCESS);
  const char *points = strstr(file.written, "points: [["), *comma = points;
  int count = 0;
  ck_assert_ptr_nonnull(points);
  for (int i = 0; i < CORNERS; i++) ck_assert_mentions(points, corners[i]);
  for (; (comma = strstr(comma, "], [")); comma++) count++;
  ck_assert_int_eq(count + 1, CORNERS);
  CPBodiesFree(&b);
  assert_refused(read_text(MESH("file: none.obj")), "my.yaml:3:", "\"none.obj\" cannot be read");
  assert_refused(read_text(MESH("file: [none.obj]")),
                 "my.yaml:3:", "must be a name, or [name, scale]");
  assert_refused(read_text(MESH("file: [none.obj, 0]")), "my.yaml:3:", "scale must be positive");
  write_file("stone.txt", "v 1 0 0\n");
  static const struct {
    const char *text, *rule;
  } bad_files[] = {{MESH("file: stone.txt"), "no STL, OBJ, MSH or DAE file"},
                   {MESH("file: stone.obj, points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]"),
                    "no file beside points"}};
  for (int i = 0; i < 2; i++)
    assert_refused(
        read_as(CPODES_TEST_FOLDER "/m.yaml", bad_files[i].text, strlen(bad_files[i].text)),
        CPODES_TEST_FOLDER, bad_files[i].rule);
}
END_TEST

START_TEST(allocations_may_fail) {
  static const char text[] =
      "parameters: {k: 2 N/m}\nfunctions: {law: {of: {u: m}, is: k*u, unit: N}, "
      "map: {x: [0, 1], y: [0, 1], values: [[0, 1], [1, 2]], units: [m, s, N]}, "
      "curve: {rows: [[0, 1], [1, 2]], units: [m, N], slopes: [0, 0], ends: clamped}}\n" SLIDER
      "springs: [{name: s, of: guide, force: \"law(x) + map(x, t) + curve(x)\"}]\n"
      "forces: [{name: f, body: a, in: bodies, force: [1 N, t*1 N/(1 s), 0]}]\n"
      "drives: [{name: d, of: guide, motion: t*1 m/(1 s)}]\n";
  assert_allocations_may_fail("my.yaml", text, strlen(text), 50);
}
END_TEST

START_TEST(allocations_of_patterns_may_fail) {
  static const char text[] =
      "parameters: {n: 2}\nrun: {sensors: [\"link1.point([n, 0]).velocity.x\", p2_j.force]}\n"
      "dimension: 2\nbodies:\n"
      "  - {repeat: {i: n}, <<: &m {mass: 2, inertia: 1}, name: \"link{i}\", at: [i, 0]}\n"
      "joints:\n  - {repeat: {i: n}, name: \"j{i}\", kind: revolute, b: \"link{i}\", at: [i, 0]}\n"
      "springs: [{name: s, of: j2, force: 1 N m*j1.angle + 1 N*link1.position.x}]\n"
      "include: [{file: failing.yaml, prefix: \"p{i}_\", repeat: {i: n}, parameters: {x: i}, with: "
      "{foot: link1}}]\n",
                    part[] = "parameters: {x: 1 m}\ndimension: 2\nbodies: [{name: b, mass: 1, "
                             "inertia: 1, at: [x, 1]}]\n"
                             "joints: [{name: j, kind: revolute, a: foot, b: b, at: [x, 1]}]\n";
  FILE *file_of_part       = fopen("failing.yaml", "w");
  ck_assert_ptr_nonnull(file_of_part);
  fputs(part, file_of_part);
  fclose(file_of_part);
  assert_allocations_may_fail("my.yaml", text, strlen(text), 50);
  remove("failing.yaml");
}
END_TEST

TEST_SUITE(names) {
  Suite *suite = suite_create("bodies/names");
  TCase *tcase = tcase_create("names");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, the_road_has_the_spectrum_that_it_says);
  tcase_add_loop_test(tcase, units_in_place_of_numbers_give_the_same_motion_bit_for_bit, 0, FILES);
  tcase_add_test(tcase, parameters_are_names_for_numbers_and_may_be_replaced);
  tcase_add_test(tcase, forces_and_springs_are_functions_of_time_and_motion);
  tcase_add_test(tcase, repetitions_and_merge_keys_are_the_elements_written_out);
  tcase_add_test(tcase, included_files_have_parameters_and_prefixes);
  tcase_add_test(tcase, functions_of_other_elements_need_no_file);
  tcase_add_test(tcase, a_drive_follows_its_function);
  tcase_add_test(tcase, bearing_forces_of_an_engine_are_those_of_its_gas_and_motion);
  tcase_add_loop_test(tcase, what_is_wrong_is_named_with_its_place, 0, sizeof bad / sizeof bad[0]);
  tcase_add_test(tcase, a_table_is_read_from_a_file);
  tcase_add_test(tcase, a_mesh_is_read_from_a_file);
  tcase_add_test(tcase, allocations_may_fail);
  tcase_add_test(tcase, allocations_of_patterns_may_fail);
  suite_add_tcase(suite, tcase);
  return suite;
}
