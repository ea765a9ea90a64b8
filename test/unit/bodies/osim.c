/* OpenSim's models: leg.osim and the same in version 3 against OpenSim 4.6, motions, starts, and what is refused or told. */
#include "reading.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* All coordinates but beta, and their rates; beta and its rate are those of the coupler. */
static const char start[] =
    "start.tilt=0\nstart.tilt'=0.2\nstart.tx=-0.03\nstart.tx'=0.4\nstart.ty=1\nstart.ty'=-1.7\n"
    "start.flexion=0.11\nstart.flexion'=1.3\nstart.adduction=-0.2\nstart.adduction'=-1.1\n"
    "start.rotation=0.25\nstart.rotation'=-0.1\nstart.knee_angle=-0.45\nstart.knee_angle'=1.3\n"
    "start.beta=0.20123145272601795\nstart.beta'=-0.5692957786979527\n"
    "start.ankle_x=0.26\nstart.ankle_x'=-1.4\nstart.ankle_y=-0.1\nstart.ankle_y'=1.5\n"
    "start.arm_x=0.21\nstart.arm_x'=1\nstart.arm_y=0.17\nstart.arm_y'=-1.7\nstart.arm_z=-0.2\n"
    "start.arm_z'=0.4\nstart.reach=-0.04\nstart.reach'=-1.9\nstart.bx=0.25\nstart.bx'=-0.1\n"
    "start.by=0.29\nstart.by'=1.5\nstart.bz=-0.11\nstart.bz'=1.7\nstart.btx=0.06\nstart.btx'=1.2\n"
    "start.bty=0.48\nstart.bty'=1.7\nstart.btz=0.15\nstart.btz'=-1.6";

/* By OpenSim 4.6 (opensim of pip, November 2026) with these coordinates and speeds, without forces: getPositionInGround,
 * getLinearAccelerationInGround, getAngularAccelerationInGround */
static const struct {
  const char *body;
  double x[3], a[3], alpha[3];
} reference[] = {{"patella",
                  {0.0236860489829645, 1.4443827038003, 0.144418435558377},
                  {-1.56987497421784, -8.96437549494387, -0.242000150122972},
                  {2.89320113394341, 1.34836330026534, 6.26495373182249}},
                 {"toe",
                  {-0.0238870188766531, 0.967180429668467, 0.231295535647534},
                  {-0.364175485049229, -8.5752610609167, 0.799975746900927},
                  {-52.9547101573075, 7.34184827679418, 11.543916200776}},
                 {"heel",
                  {-0.232032444070296, 1.01830282238789, 0.280651383713026},
                  {2.17435672460157, -8.2194383576805, 0.630757970965401},
                  {-52.9547101573074, 7.34184827679417, 11.5439162007761}},
                 {"hand",
                  {-0.0121876264196704, 2.04057462367961, 0.15322172546084},
                  {-1.1747248367867, -9.91687723072085, 2.95419254885462},
                  {8.15211171813725, -8.41513300088443, 4.13863689511397}},
                 {"block",
                  {1.04538397149779, 0.416401591947157, 0.184940187352678},
                  {0.473074787295472, -9.88444563022691, 0.0157653167350466},
                  {0.579139435967374, -0.499077166143997, 0.372042072919825}}};
enum { NUM_REFERENCES = sizeof reference / sizeof *reference };
static const char *const files[] = {CPODES_BODIES_TEST "/leg.osim",
                                    CPODES_BODIES_TEST "/leg_3.osim"};

static CPBodies read_leg(const char *path, const char *parameters) {
  CPBodies b = read_with(path, NULL, parameters);
  ck_assert_msg(b != NULL, "%s", message);
  return b;
}

static void assert_vector(CPMech mech, N_Vector y, const sunrealtype *udot, const char *body,
                          const char *quantity, const double *expected) {
  char name[100];
  CPSensor s = CP_INIT(CPSensor);
  snprintf(name, sizeof name, "%s.%s", body, quantity);
  s.udot = udot;
  ck_assert_int_eq(CPMechGetSensor(mech, name, 0, y, &s), CP_SUCCESS);
  const double size = 1 + fabs(expected[0]) + fabs(expected[1]) + fabs(expected[2]);
  for (int k = 0; k < 3; k++)
    ck_assert_msg(fabs(s.value[k] - expected[k]) <= 1e-12 * size, "%s[%d]: %.15g, not %.15g", name,
                  k, (double)s.value[k], expected[k]);
}

START_TEST(bodies_move_as_in_opensim) {
  CPBodies b = read_leg(files[_i], start);
  ck_assert_str_eq(file.title, "leg");
  CPMech mech;
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y = CPBodiesState(b, test_context), ydot = N_VClone(y);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  const sunrealtype *udot = N_VGetArrayPointer(ydot) + equations_of(mech).nq;
  for (int i = 0; i < NUM_REFERENCES; i++) {
    assert_vector(mech, y, udot, reference[i].body, "position", reference[i].x);
    assert_vector(mech, y, udot, reference[i].body, "acceleration", reference[i].a);
    assert_vector(mech, y, udot, reference[i].body, "alpha", reference[i].alpha);
  }
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(what_acts_and_is_left_out_is_listed) {
  CPBodies b = read_leg(files[_i], NULL);
  ck_assert_ptr_nonnull(strstr(file.notes, "muscles of the kind Thelen2003Muscle (2 times)"));
  ck_assert_ptr_nonnull(strstr(file.notes, "forces of the kind ElasticFoundationForce"));
  ck_assert_ptr_null(strstr(file.notes, "CoordinateActuator"));
  /* the motor's control is 0, and its force is the optimal one times the control */
  ck_assert_int_ge(thing_named(b, CP_PARAMETER, "knee_motor.control"), 0);
  CPBodiesFree(&b);
}
END_TEST

/* The coupled start satisfies its coupler, and energy is kept for a second. */
START_TEST(legs_fall_without_losing_energy) {
  CPBodies b = read_leg(files[0], NULL);
  CPMech mech;
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y    = CPBodiesState(b, test_context);
  CPPowers p[2] = {CP_INIT(CPPowers), CP_INIT(CPPowers)};
  sunrealtype open[1];
  ck_assert_int_eq(equations_of(mech).p(0, N_VGetArrayPointer(y), open, CPMechGetUserData(mech)), 0);
  ck_assert_double_le(fabs(open[0]), 1e-15);
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, NULL, &p[0]), CP_SUCCESS);
  evolve_mech(mech, y, _i ? "RADAU" : "DOP853", 1e-9, 0.5);
  ck_assert_int_eq(CPMechGetPowers(mech, 0.5, y, NULL, &p[1]), CP_SUCCESS);
  const sunrealtype before = p[0].kinetic + p[0].potential, after = p[1].kinetic + p[1].potential;
  ck_assert_double_gt(p[1].kinetic, 1);
  ck_assert_double_le(fabs(after - before), 1e-6 * p[1].kinetic);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* beta and its rate follow from the other coordinates, which keep theirs. */
START_TEST(dependent_coordinates_start_as_their_couplers_say) {
  char without[sizeof start];
  strcpy(without, start);
  char *const from = strstr(without, "start.beta="), *const to = strstr(without, "start.ankle_x=");
  memmove(from, to, strlen(to) + 1);
  CPBodies b[2] = {read_leg(files[0], start), read_leg(files[0], without)};
  CPMech mech[2];
  N_Vector y[2];
  for (int k = 0; k < 2; k++) {
    ck_assert_int_eq(build_mech(b[k], &mech[k]), CP_SUCCESS);
    y[k] = CPBodiesState(b[k], test_context);
  }
  for (sunindextype i = 0; i < N_VGetLength(y[0]); i++)
    ck_assert_double_eq_tol(N_VGetArrayPointer(y[0])[i], N_VGetArrayPointer(y[1])[i], 1e-14);
  for (int k = 0; k < 2; k++) {
    N_VDestroy(y[k]);
    CPMechFree(&mech[k]);
    CPBodiesFree(&b[k]);
  }
}
END_TEST

#define MODEL(inner) \
  "<OpenSimDocument Version=\"40000\"><Model name=\"m\">" inner "</Model></OpenSimDocument>"
#define BODY                                                             \
  "<BodySet><objects><Body name=\"a\"><mass>1</mass><inertia>1 1 1 0 0 " \
  "0</inertia></Body></objects></BodySet>"
#define JOINT(kind, inner)                                                                    \
  "<JointSet><objects><" kind " name=\"j\"><socket_parent_frame>ground</socket_parent_frame>" \
  "<socket_child_frame>/bodyset/a</socket_child_frame>" inner "</" kind "></objects></JointSet>"
#define COORDINATE "<coordinates><Coordinate name=\"x\"/></coordinates>"

static const struct {
  const char *text, *place, *rule;
} wrong[] = {
    {"<OpenSimDocument Version=\"40000\"></OpenSimDocument>", "m.osim:1:1", "there is no Model"},
    {MODEL("<BodySet/>"), "m.osim:1:1", "no body moves"},
    {MODEL(BODY JOINT("PinJoint", "")), "m.osim:1", "it must have 1 coordinates, and has 0"},
    {MODEL(BODY JOINT("ScapulothoracicJoint", "")), "m.osim:1", "this kind of joint is not read"},
    {MODEL(BODY JOINT("CustomJoint", COORDINATE)), "m.osim:1", "SpatialTransform must be given"},
    {MODEL(BODY JOINT(
         "CustomJoint", COORDINATE
         "<SpatialTransform><TransformAxis name=\"rotation1\"><coordinates>y</coordinates>"
         "<axis>1 0 0</axis></TransformAxis></SpatialTransform>")),
     "m.osim:1", "the joint has no coordinate \"y\""},
    {MODEL(BODY JOINT(
         "CustomJoint", COORDINATE
         "<SpatialTransform><TransformAxis name=\"rotation1\"><coordinates>x</coordinates>"
         "<axis>0 0 0</axis></TransformAxis></SpatialTransform>")),
     "m.osim:1", "axis must be given, and not be zero"},
    {MODEL(BODY JOINT(
         "CustomJoint", COORDINATE
         "<SpatialTransform><TransformAxis name=\"rotation1\"><coordinates>x</coordinates>"
         "<axis>1 0 "
         "0</axis><function><StepFunction/></function></TransformAxis></SpatialTransform>")),
     "m.osim:1", "this function is not read"},
    {MODEL(BODY JOINT(
         "CustomJoint", COORDINATE
         "<SpatialTransform><TransformAxis name=\"rotation1\"><coordinates>x</coordinates>"
         "<axis>1 0 0</axis><function><SimmSpline><x>0 2 1</x><y>0 1 2</y></SimmSpline></function>"
         "</TransformAxis></SpatialTransform>")),
     "m.osim:1", "x must increase, and number 2 is 1"},
    {MODEL(BODY "<JointSet><objects><WeldJoint "
                "name=\"j\"><socket_parent_frame>nowhere</socket_parent_frame>"
                "<socket_child_frame>a</socket_child_frame></WeldJoint></objects></JointSet>"),
     "m.osim:1", "there is no body \"nowhere\""},
    {MODEL("<BodySet><objects><Body name=\"a\"/><Body name=\"a\"/></objects></BodySet>"),
     "m.osim:1", "there is a body \"a\" already"}};

START_TEST(what_cannot_be_read_is_refused_at_its_place) {
  assert_refused(read_as("m.osim", wrong[_i].text, strlen(wrong[_i].text)), wrong[_i].place,
                 wrong[_i].rule);
}
END_TEST

/* A model whose bodies have no mass: OpenSim reads it, and its accelerations are no numbers. */
START_TEST(a_motion_without_mass_is_refused_by_its_joint) {
  static const char text[] =
      MODEL("<BodySet><objects><Body name=\"a\"><mass>0</mass></Body></objects></BodySet>" JOINT(
          "PinJoint", COORDINATE));
  CPBodies b = read_as("m.osim", text, sizeof text - 1);
  CPMech mech;
  ck_assert_ptr_nonnull(b);
  ck_assert_int_eq(build_mech(b, &mech), CP_ILL_INPUT);
  ck_assert_str_eq(
      CPObjectGetLastMessage(CP_OBJECT(b)),
      "joint \"j\" has a motion that moves no mass, as body \"a\" has no mass or inertia: "
      "give it mass, or weld it");
  CPBodiesFree(&b);
}
END_TEST

/* J x'' = -K (x - x_1) - d x' beyond the transition, with numbers per degree; and within it smooth(s) = s^3 (10 - 15 s + 6 s^2) times
 * that */
START_TEST(limit_forces_are_those_of_their_formula) {
  static const char text[]   = MODEL(BODY JOINT(
        "PinJoint", COORDINATE) "<ForceSet><objects><CoordinateLimitForce "
                                  "name=\"stop\"><coordinate>x</coordinate>"
                                  "<upper_stiffness>2</upper_stiffness><upper_limit>10</"
                                  "upper_limit><lower_stiffness>3</lower_stiffness>"
                                  "<lower_limit>-20</lower_limit><damping>0.5</damping><transition>4</"
                                  "transition></CoordinateLimitForce></objects></ForceSet>");
  static const double degree = 0.017453292519943295, rate = 0.7, at[] = {20, 11, 5, -22, -30};
  CPBodies b = read_as("m.osim", text, sizeof text - 1);
  CPMech mech;
  ck_assert_msg(b != NULL, "%s", message);
  N_Vector y = build_as(b, CP_JOINT_COORDINATES, &mech), ydot = N_VClone(y);
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    const double over = fmax(at[i] - 10, fmax(-20 - at[i], 0)), s = fmin(over / 4, 1),
                 part = s * s * s * (10 - 15 * s + 6 * s * s), K = at[i] > 0 ? 2 : 3,
                 force       = -part * ((at[i] > 0 ? 1 : -1) * K * over + 0.5 * rate / degree);
    N_VGetArrayPointer(y)[0] = at[i] * degree, N_VGetArrayPointer(y)[1] = rate;
    ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
    ck_assert_double_eq_tol(N_VGetArrayPointer(ydot)[1], force, 1e-12 * (1 + fabs(force)));
  }
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* Accelerations of the coordinates by OpenSim 4.6 (opensim of pip, November 2026): getAccelerationValue */
START_TEST(bushings_turn_as_in_opensim) {
  static const double expected[3] = {-41.574540621570435, 18.1911272024639, -74.2115822145636};
  static const char text[]        = MODEL(
             "<BodySet><objects><Body name=\"a\"><mass>2</mass><mass_center>0.1 -0.2 0.05</mass_center>"
                    "<inertia>0.2 0.3 0.25 0.01 0 0.02</inertia></Body></objects></BodySet>" JOINT(
                 "GimbalJoint", "<coordinates><Coordinate name=\"x\"><default_value>0.4</default_value>"
                                       "<default_speed_value>1</default_speed_value></Coordinate><Coordinate "
                                       "name=\"y\">"
                                       "<default_value>-0.7</default_value><default_speed_value>-2</"
                                       "default_speed_value>"
                                       "</Coordinate><Coordinate name=\"z\"><default_value>1.2</default_value>"
                                       "<default_speed_value>0.5</default_speed_value></Coordinate></"
                                       "coordinates>") "<ForceSet><objects><BushingForce "
                                                       "name=\"b\"><socket_frame1>at</socket_frame1>"
                                                       "<socket_frame2>/bodyset/a</"
                                                       "socket_frame2><frames><PhysicalOffsetFrame name=\"at\">"
                                                       "<socket_parent>/ground</socket_parent><translation>0.3 0 "
                                                       "0.1</translation>"
                                                       "<orientation>0.2 0.1 "
                                                       "-0.3</orientation></PhysicalOffsetFrame></frames>"
                                                       "<rotational_stiffness>3 5 "
                                                       "7</rotational_stiffness><translational_stiffness>20 30 40"
                                                       "</translational_stiffness><rotational_damping>0.3 0.2 "
                                                       "0.1</rotational_damping>"
                                                       "<translational_damping>1 2 "
                                                       "3</translational_damping></BushingForce></objects></"
                                                       "ForceSet>");
  CPBodies b = read_as("m.osim", text, sizeof text - 1);
  CPMech mech;
  ck_assert_msg(b != NULL, "%s", message);
  N_Vector y = build_as(b, CP_JOINT_COORDINATES, &mech), ydot = N_VClone(y);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  for (int k = 0; k < 3; k++)
    ck_assert_double_eq_tol(N_VGetArrayPointer(ydot)[3 + k], expected[k], 1e-12 * 74);
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A ball of another material on a half-space and on a ball, also as the file that is written of it. By OpenSim 4.6 (opensim of pip, November 2026):
 * getLinearAccelerationInGround, getAngularAccelerationInGround */
START_TEST(contacts_push_as_in_opensim) {
  static const double a[3]     = {-577.252350946327, 494.850970434188, -430.655965991384},
                      alpha[3] = {268.946995542396, 149.056285146442, -336.942622606048};
  CPBodies b, again;
  CPMech mech;
  file        = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.writes = _i;
  ck_assert_int_eq(CPBodiesRead(CPODES_BODIES_TEST "/spheres.osim", NULL, 0, &b, &file), CP_SUCCESS);
  ck_assert_str_eq(file.notes, "");
  if (_i) { /* as it is written */
    ck_assert_ptr_nonnull(file.written);
    ck_assert_msg(CPBodiesRead("again.yaml", file.written, strlen(file.written), &again, NULL) ==
                      CP_SUCCESS,
                  "%s", CPObjectGetLastMessage(NULL));
    CPBodiesFree(&b);
    b = again;
  }
  N_Vector y = build_as(b, CP_JOINT_COORDINATES, &mech);
  assert_vector(mech, y, NULL, "a", "acceleration", a);
  assert_vector(mech, y, NULL, "a", "alpha", alpha);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

START_TEST(coordinates_have_their_names) {
  CPBodies b            = read_leg(files[_i], NULL);
  const CPDescription d = thing_at(b, CP_COORDINATE, thing_named(b, CP_COORDINATE, "adduction"));
  ck_assert_str_eq(d.name, "hip.1");
  const int i = thing_named(b, CP_STATE, "hip.1.angle");
  ck_assert_int_ge(i, 0);
  ck_assert_str_eq(thing_at(b, CP_STATE, i).meaning, "adduction");
  CPBodiesFree(&b);
}
END_TEST

/* A joint with more coordinates than a body has motions */
START_TEST(joints_have_six_coordinates_at_most) {
  static const char text[] = MODEL(BODY JOINT(
      "CustomJoint",
      "<coordinates><Coordinate name=\"a\"/><Coordinate name=\"b\"/><Coordinate name=\"c\"/>"
      "<Coordinate name=\"d\"/><Coordinate name=\"e\"/><Coordinate name=\"f\"/><Coordinate "
      "name=\"g\"/>"
      "</coordinates><SpatialTransform><TransformAxis "
      "name=\"rotation1\"><coordinates>g</coordinates>"
      "<axis>1 0 0</axis><LinearFunction/></TransformAxis></SpatialTransform>"));
  assert_refused(read_as("m.osim", text, sizeof text - 1), "m.osim:1",
                 "ncoordinates must be 0 ... 6");
}
END_TEST

START_TEST(start_values_are_those_of_coordinates) {
  static const char *const wrong_starts[][2] = {
      {"start.knee=1", "there is no coordinate \"knee\""},
      {"start.knee_angle=bent", "start.knee_angle must be a finite number, in rad or m"},
      {"base=free", "there is no parameter \"base\""},
      {"base", "there is no parameter \"base\""}};
  for (size_t i = 0; i < sizeof wrong_starts / sizeof *wrong_starts; i++) {
    CPBodies b;
    file            = (CPBodiesFile)CP_INIT(CPBodiesFile);
    file.parameters = wrong_starts[i][0];
    ck_assert_int_eq(CPBodiesRead(files[0], NULL, 0, &b, &file), CP_ILL_INPUT);
    ck_assert_mentions(CPObjectGetLastMessage(NULL), wrong_starts[i][1]);
  }
}
END_TEST

START_TEST(allocations_may_fail) {
  static char text[20000];
  FILE *leg = fopen(files[0], "r");
  ck_assert_ptr_nonnull(leg);
  const size_t size = fread(text, 1, sizeof text, leg);
  fclose(leg);
  ck_assert_uint_lt(size, sizeof text);
  assert_allocations_may_fail("leg.osim", text, size, 100);
}
END_TEST

/* Paths along points and over a sphere, ligaments and forces by expressions; accelerations of the coordinates by OpenSim 4.6 (opensim of pip,
 * November 2026): getAccelerationValue. In the first state the path is straight, in the others it wraps and a ligament is in its toe region. */
START_TEST(paths_pull_as_in_opensim) {
  static const double state[][6]    = {{0.35, -0.4, 0.6, 1.1, -0.7, 0.9},
                                       {-0.16, 0.63, 0.68, -1.24, 0.5, -1.34},
                                       {1.14, -0.14, 0.99, 0.91, 0.43, -0.95},
                                       {0.23, -0.77, 0.66, 0.23, 1.19, -1.74}},
                      expected[][3] = {{-39.80032096804183, -1.757285801818313, 193.1172220359099},
                                       {-30.02718588886725, -20.43849685078057, 187.0670760657803},
                                       {-75.92195490659753, -14.13048241051757, 196.3718304225474},
                                       {-9.561916663118531, 0.3048551515650431, 192.8342181671195}};
  CPBodies b                        = read_with(CPODES_BODIES_TEST "/paths.osim", NULL, NULL);
  CPMech mech;
  ck_assert_msg(b != NULL, "%s", message);
  ck_assert_str_eq(file.notes ? file.notes : "", "");
  N_Vector y = build_as(b, CP_JOINT_COORDINATES, &mech), ydot = N_VClone(y);
  for (int i = 0; i < 4; i++) {
    memcpy(N_VGetArrayPointer(y), state[i], sizeof state[i]);
    ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
    for (int k = 0; k < 3; k++)
      ck_assert_double_eq_tol(N_VGetArrayPointer(ydot)[3 + k], expected[i][k], 1e-12 * 200);
  }
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* What a tendon has not is told with its reason; the path does not act. */
START_TEST(paths_that_tendons_do_not_have_are_told) {
  static const char *const changes[][3] = {
      {"<quadrant>all<", "<quadrant>+x <", "paths of the kind PathSpring on one side of a surface"},
      {"<range>1 2<", "<range>1 3<",
       "paths of the kind PathSpring over a surface between any of several points"},
      {"WrapSphere", "WrapTorus ", "paths of the kind PathSpring over ellipsoids and tori"}};
  static char text[20000];
  FILE *in          = fopen(CPODES_BODIES_TEST "/paths.osim", "r");
  const size_t size = in ? fread(text, 1, sizeof text - 1, in) : 0;
  ck_assert_uint_gt(size, 1000);
  fclose(in);
  for (int i = 0; i < 3; i++) {
    char changed[sizeof text], *at = changed;
    memcpy(changed, text, size + 1);
    while ((at = strstr(at, changes[i][0])) != NULL)
      memcpy(at, changes[i][1], strlen(changes[i][0])), at++;
    CPBodies b = read_as("m.osim", changed, size);
    ck_assert_msg(b != NULL, "%s", message);
    ck_assert_mentions(file.notes, changes[i][2]);
    CPBodiesFree(&b);
  }
}
END_TEST

TEST_SUITE(osim) {
  Suite *suite = suite_create("bodies/osim");
  TCase *tc    = tcase_create("osim");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, bodies_move_as_in_opensim, 0, 2);
  tcase_add_loop_test(tc, what_acts_and_is_left_out_is_listed, 0, 2);
  tcase_add_loop_test(tc, legs_fall_without_losing_energy, 0, 2);
  tcase_add_test(tc, dependent_coordinates_start_as_their_couplers_say);
  tcase_add_loop_test(tc, what_cannot_be_read_is_refused_at_its_place, 0,
                      sizeof wrong / sizeof *wrong);
  tcase_add_test(tc, a_motion_without_mass_is_refused_by_its_joint);
  tcase_add_test(tc, limit_forces_are_those_of_their_formula);
  tcase_add_test(tc, bushings_turn_as_in_opensim);
  tcase_add_test(tc, paths_pull_as_in_opensim);
  tcase_add_test(tc, paths_that_tendons_do_not_have_are_told);
  tcase_add_loop_test(tc, contacts_push_as_in_opensim, 0, 1 + CPODES_TEST_YAML);
  tcase_add_loop_test(tc, coordinates_have_their_names, 0, 2);
  tcase_add_test(tc, joints_have_six_coordinates_at_most);
  tcase_add_test(tc, start_values_are_those_of_coordinates);
  tcase_add_test(tc, allocations_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
