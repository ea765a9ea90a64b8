/* Tyres: the curves of the brush model, wheels that brake and corner, and derivatives. References are the closed forms of H. B. Pacejka,
 * Tire and Vehicle Dynamics, chapter 3, and integrations of equations that were derived by hand, by scipy 1.x (solve_ivp, DOP853 at
 * rtol 2.3e-14 and Radau at 1e-12, atol 1e-13, which agree to the digits given). */
#include "one.h"

#include <math.h>

static const CPTyre tyre = {CP_NEW_TYRE("tyre"),   .body = "wheel",     .radius = 0.3,
                            .stiffness = 2e5,      .damping = 0.02,     .friction = 0.9,
                            .slip_stiffness = 4e4, .half_length = 0.06, .rolling = 0.015,
                            .speed = 0.5};

/* The same vector on a ground that is turned about x by 0.5 rad */
static void tilted(double vx, double vy, double vz, sunrealtype *x) {
  x[0] = vx, x[1] = cos(0.5) * vy - sin(0.5) * vz, x[2] = sin(0.5) * vy + cos(0.5) * vz;
}

static double within(double x, double expected, double error) {
  return fabs(x - expected) / (error * fmax(1, fabs(expected)));
}
#define ASSERT_WITHIN(x, expected, error) ck_assert_double_le(within(x, expected, error), 1)

/* Pure and combined slips from small ones to full sliding, forwards and backwards, upright and inclined */
START_TEST(forces_are_those_of_the_brush_model) {
  static const double side[] = {0, 1e-3, 0.1, 0.4, 3}, spin[] = {0, 20, 32, 34, 40, -35};
  const double lean = _i ? 0.2 : 0, h = 0.28, sinking = 0.3, vx = 10, c = cos(lean), rho = h / c,
               rounding = 1e-13;
  int sliding = 0, adhering = 0;
  for (int k = 0; k < 5 * 6; k++) {
    const double vy = side[k % 5], O = spin[k / 5];
    CPBody wheel = {CP_NEW_BODY("wheel"), .mass = 10, .inertia = {0.3, 0.6, 0.3}};
    CPTyre own   = tyre;
    sunrealtype expected[3], torque[3], F[3];
    begin(3, NULL);
    tilted(0.7, 0.2, h, wheel.position);
    tilted(vx, vy, -sinking, wheel.velocity);
    tilted(0, O * c, O * sin(lean), wheel.omega);
    tilted(0.7, 0.2, h, own.point);
    tilted(0, c, sin(lean), own.axis);
    tilted(0.3, -0.4, 0, own.ground);
    tilted(0, 0, 2, own.normal);
    own.in = CP_IN_SPACE;
    /* The centre of mass is at another point, which has the velocity of a body that turns about the wheel's centre. */
    const sunrealtype arm[3] = {0.02, 0.1, 0.05}, *w = wheel.omega;
    for (int i = 0; i < 3; i++) {
      const int j = (i + 1) % 3, l = (i + 2) % 3;
      wheel.position[i] += arm[i];
      wheel.velocity[i] += w[j] * arm[l] - w[l] * arm[j];
    }
    add_element(bodies, &wheel.head);
    add_element(bodies, &own.head);
    build((CPFormulation)(k % 2));
    const double N = 2e5 * (0.3 * c - h) * (1 + 0.02 * sinking), rolling = rho * O,
                 W = hypot(rolling, 0.5), x = -(vx - rolling) / W, z = -vy / W, size = hypot(x, z),
                 s     = 4e4 / (3 * 0.9 * N) * size;
    const double force = s < 1 ? 0.9 * N * (3 * s - 3 * s * s + s * s * s) : 0.9 * N,
                 trail = s < 1 ? 0.06 * pow(1 - s, 3) / (3 - 3 * s + s * s) : 0,
                 Fx = force * x / size, Fy = force * z / size, Mz = -trail * Fy * rolling / W,
                 Ma = -0.015 * N * rho * rolling / W;
    if (s < 1) adhering++;
    else sliding++;
    ASSERT_WITHIN(quantity("tyre.load", 0), N, rounding * 10);
    ASSERT_WITHIN(quantity("tyre.slip", 0), x, rounding);
    ASSERT_WITHIN(quantity("tyre.side_slip", 0), z, rounding);
    tilted(Fx, Fy, N, expected);
    for (int i = 0; i < 3; i++) F[i] = quantity("tyre.force", i);
    for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(F[i], expected[i], 1e-11 * N);
    /* (0, sin, -cos) rho x F, and the other two */
    const double r[3] = {0, rho * sin(lean), -rho * c};
    tilted(r[1] * N - r[2] * Fy, r[2] * Fx + Ma * c, -r[1] * Fx + Mz + Ma * sin(lean), torque);
    for (int i = 0; i < 3; i++) F[i] = quantity("tyre.torque", i);
    for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(F[i], torque[i], 1e-11 * N);
    stop();
  }
  ck_assert_int_gt(sliding, 5);
  ck_assert_int_gt(adhering, 5);
}
END_TEST

/* It is 0 above the ground, whatever the wheel's attitude, and where the damping would make it pull. */
START_TEST(a_tyre_does_not_pull) {
  static const double height[] = {0.300001, 0.29, 2}, velocity[] = {-3, 51, 0}, axis[] = {0, 0, 1};
  for (int k = 0; k < 3; k++) {
    const CPBody wheel = {CP_NEW_BODY("wheel"), .mass = 10, .inertia = {0.3, 0.6, 0.3},
                          .position = {0, 0, height[k]}, .velocity = {4, 1, velocity[k]}};
    CPTyre own         = tyre;
    own.in             = CP_IN_BODIES;
    own.axis[1] = 1 - axis[k], own.axis[2] = axis[k];
    begin(3, NULL);
    add_element(bodies, &wheel.head);
    add_element(bodies, &own.head);
    build(CP_ABSOLUTE);
    ck_assert_double_eq(quantity("tyre.load", 0), 0);
    for (int i = 0; i < 3; i++) {
      ck_assert_double_eq(quantity("tyre.force", i), 0);
      ck_assert_double_eq(quantity("tyre.torque", i), 0);
    }
    stop();
  }
}
END_TEST

static int brake(sunrealtype t, sunrealtype x, sunrealtype rate, sunrealtype *T, void *data) {
  (void)t, (void)x, (void)data;
  T[0] = -250 * tanh(rate);
  T[2] = -250 * (1 - tanh(rate) * tanh(rate));
  return 0;
}

/* A wheel's spin follows the velocity of its centre at a rate of C h^2 / (J W), from some hundred to 8000/s in these tests: along solutions
 * that are smooth, DOP853 is at the limit of its stability, where its estimate of the error says nothing of the spin. So that is RADAU's. */
static const char *const methods[] = {"DOP853", "RADAU"};
static const double tolerances[]   = {1e-5, 1e-8};

/* A wheel of 12 kg on a knuckle of 8 kg with a suspension below a mass of 80 kg that slides along x: with the centre at z, the load
 * N = k (R - z) (1 - d z') and the brush force F(N, v - z O, z O)
 *   100 v' = F,  20 z'' = N - (20 + 80) 9.81 - 30000 (z - 0.28) - 1500 z',  0.9 O' = -z F - f N z^2 O / W - 250 tanh(O) */
START_TEST(a_wheel_brakes_to_a_stop) {
  /* t; x, z, v, O */
  static const double reference[][5] = {
      {0.8, 7.0792586312735, 0.29312608695652, 5.678664235005, 18.8648056793},
      {3, 9.1240560185946, 0.29312608695652, 0, 0}};
  const sunrealtype gravity[] = {0, 0, -9.81}, z = 0.296, v = 12;
  const double tol          = tolerances[_i / 4 % 2];
  const CPBody parts[]      = {{CP_NEW_BODY("mass"), .mass = 80, .inertia = {9, 9, 9},
                                .position = {0, 0, 1}, .velocity = {v}},
                               {CP_NEW_BODY("knuckle"), .mass = 8, .inertia = {0.1, 0.1, 0.1},
                                .position = {0, 0, z}, .velocity = {v}},
                               {CP_NEW_BODY("wheel"), .mass = 12, .inertia = {0.5, 0.9, 0.5},
                                .position = {0, 0, z}, .velocity = {v}, .omega = {0, v / z, 0}}};
  const CPJoint joints[]    = {{CP_NEW_JOINT("track"), .kind = CP_JOINT_PRISMATIC, .b = "mass",
                                .on_a = {{0, 0, 1}, {1, 0, 0}, {0}}},
                               {CP_NEW_JOINT("slide"), .kind = CP_JOINT_PRISMATIC, .a = "mass",
                                .b = "knuckle", .on_a = {{0, 0, z}, {0, 0, 1}, {0}}},
                               {CP_NEW_JOINT("axle"), .kind = CP_JOINT_REVOLUTE, .a = "knuckle",
                                .b = "wheel", .on_a = {{0, 0, z}, {0, 1, 0}, {0}}}};
  const CPSpring suspension = {CP_NEW_SPRING("suspension"),
                               .of        = {"slide", 0},
                               .stiffness = 3e4,
                               .damping   = 1500,
                               .free      = 0.28 - z,
                               .force     = -80 * 9.81},
                 brakes     = {CP_NEW_SPRING("brakes"), .of = {"axle", 0}, .law = brake};
  CPTyre own                = tyre;
  own.in                    = CP_IN_SPACE;
  own.point[2]              = z;
  begin(3, gravity);
  for (int k = 0; k < 3; k++) add_element(bodies, &parts[k].head);
  for (int k = 0; k < 3; k++) add_element(bodies, &joints[k].head);
  add_element(bodies, &suspension.head);
  add_element(bodies, &brakes.head);
  add_element(bodies, &own.head);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  build((CPFormulation)(_i / 8));
  CPPowers at_start = {CP_SIZED(CPPowers)}, p = {CP_SIZED(CPPowers)};
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, NULL, &at_start), CP_SUCCESS);
  const double *r = reference[_i / 2 % 2], E = at_start.kinetic + at_start.potential;
  run(methods[_i % 2], tol, r[0]);
  ASSERT_WITHIN(quantity("track.displacement", 0), r[1], 10 * tol);
  ASSERT_WITHIN(z + quantity("slide.displacement", 0), r[2], 10 * tol);
  ASSERT_WITHIN(quantity("track.rate", 0), r[3], 10 * tol);
  if (_i % 2) ASSERT_WITHIN(quantity("axle.rate", 0), r[4], 10 * tol);
  ck_assert_int_eq(CPMechGetPowers(mech, r[0], y, NULL, &p), CP_SUCCESS);
  ASSERT_WITHIN(p.kinetic + p.potential - entries(y)[N_VGetLength(y) - 1], E, 10 * tol);
  stop();
}
END_TEST

/* A caster whose pivot moves along x with 10 m/s, at the angle p, 0.4 m before the centre of its wheel at the height h = 0.29:
 *   V = (10 cos p - h O, -10 sin p - 0.4 p'),  I = 0.2 + 0.3 + 5 0.2^2 + 12 0.4^2
 *   I p'' = M_n - 0.4 F_y,  0.6 O' = -h F_x - f N h^2 O / W */
START_TEST(a_caster_turns_into_its_course) {
  /* t; p, O, p' */
  static const double reference[][4] = {
      {0.1, 0.072401291164885, 34.3533173783976, -2.06027933073799}, {1, 0, 34.4567713107947, 0}};
  const double tol = tolerances[_i / 4 % 2], p = 0.6, c = cos(p), s = sin(p);
  const CPBody parts[]   = {{CP_NEW_BODY("trolley"), .mass = 3, .inertia = {1, 1, 1},
                             .position = {0, 0, 0.29}, .velocity = {10}},
                            {CP_NEW_BODY("arm"), .mass = 5, .inertia = {0.2, 0.2, 0.2},
                             .position   = {-0.2 * c, -0.2 * s, 0.29},
                             .quaternion = {cos(p / 2), 0, 0, sin(p / 2)}, .velocity = {10}},
                            {CP_NEW_BODY("wheel"), .mass = 12, .inertia = {0.3, 0.6, 0.3},
                             .position   = {-0.4 * c, -0.4 * s, 0.29},
                             .quaternion = {cos(p / 2), 0, 0, sin(p / 2)}, .velocity = {10},
                             .omega = {-20 * s, 20 * c, 0}}};
  const CPJoint joints[] = {{CP_NEW_JOINT("track"), .kind = CP_JOINT_PRISMATIC, .b = "trolley",
                             .on_a = {{0, 0, 0.29}, {1, 0, 0}, {0}}},
                            {CP_NEW_JOINT("swivel"), .kind = CP_JOINT_REVOLUTE, .a = "trolley",
                             .b = "arm", .on_a = {{0, 0, 0.29}, {0, 0, 1}, {0}}},
                            {CP_NEW_JOINT("axle"), .kind = CP_JOINT_REVOLUTE, .a = "arm",
                             .b = "wheel", .on_a = {{-0.4 * c, -0.4 * s, 0.29}, {-s, c, 0}, {0}}}};
  const CPDrive tow      = {CP_NEW_DRIVE("tow"), .of = {"track", 0}, .rate = 10};
  CPTyre own             = tyre;
  own.in                 = CP_IN_BODIES; /* the frame of the wheel has its centre and axis */
  begin(3, NULL);
  for (int k = 0; k < 3; k++) add_element(bodies, &parts[k].head);
  for (int k = 0; k < 3; k++) add_element(bodies, &joints[k].head);
  add_element(bodies, &tow.head);
  add_element(bodies, &own.head);
  build((CPFormulation)(_i / 8));
  const double *r = reference[_i / 2 % 2];
  run(methods[_i % 2], tol, r[0]);
  ASSERT_WITHIN(p + quantity("swivel.angle", 0), r[1], 10 * tol);
  if (_i % 2) ASSERT_WITHIN(quantity("axle.rate", 0), r[2], 10 * tol);
  ASSERT_WITHIN(quantity("swivel.rate", 0), r[3], 10 * tol);
  stop();
}
END_TEST

/* K and C of a tyre on a fork that moves freely, in random attitudes, adhering and sliding, on a slope */
START_TEST(all_derivatives_are_exact) {
  const CPBody parts[] = {
      {CP_NEW_BODY("fork"), .mass = 3, .inertia = {0.3, 0.2, 0.4}, .position = {0.5, 0.1, 0.6}},
      {CP_NEW_BODY("wheel"), .mass = 2, .inertia = {0.1, 0.2, 0.1}, .centre = {0, 0.05, 0.01}}};
  const CPJoint axle  = {CP_NEW_JOINT("axle"), .kind = CP_JOINT_REVOLUTE, .a = "fork", .b = "wheel",
                         .on_a = {{0}, {0, 1, 0}, {0}}};
  CPTyre own          = tyre;
  unsigned int random = 7;
  double smallest = 1e9, largest = 0;
  own.in        = CP_IN_SPACE;
  own.normal[0] = 0.2, own.normal[1] = -0.3, own.normal[2] = 1;
  own.ground[2] = -0.15;
  /* numbers of order 1, so that the differences are good to 1e-9 */
  own.stiffness = 20, own.slip_stiffness = 3, own.damping = 0.1, own.half_length = 0.3;
  own.rolling = 0.2;
  begin(3, NULL);
  for (int k = 0; k < 2; k++) add_element(bodies, &parts[k].head);
  add_element(bodies, &axle.head);
  add_element(bodies, &own.head);
  build((CPFormulation)_i);
  for (int k = 0; k < 12; k++) {
    CPMechReport r  = CP_INIT(CPMechReport);
    N_Vector before = N_VClone(y);
    N_VScale(1, y, before);
    for (sunindextype i = 0; i < N_VGetLength(y); i++)
      entries(y)[i] += 0.1 * ((random = random * 1103515245u + 12345u) / 4294967296.0 - 0.4) *
                       (k % 2 && i > N_VGetLength(y) / 2 ? 40 : 1);
    const double slip = hypot(quantity("tyre.slip", 0), quantity("tyre.side_slip", 0)),
                 s    = slip * 3 / (3 * 0.9 * quantity("tyre.load", 0));
    ck_assert_double_gt(quantity("tyre.load", 0), 0);
    smallest = fmin(smallest, s), largest = fmax(largest, s);
    const int flag = CPMechCheck(mech, 0.3, y, &r);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_le(r.K, 1e-8);
    ck_assert_double_le(r.C, 1e-8);
    N_VScale(1, before, y);
    N_VDestroy(before);
  }
  ck_assert_double_lt(smallest, 0.5);
  ck_assert_double_gt(largest, 1);
  stop();
}
END_TEST

START_TEST(wrong_tyres_are_named) {
  const CPBody wheel = {CP_NEW_BODY("wheel"), .mass = 1};
  CPTyre own;
  begin(3, NULL);
  add_element(bodies, &wheel.head);
#define REFUSED(change, words)                                          \
  own = tyre, change;                                                   \
  ck_assert_int_eq(CPBodiesAdd(bodies, &own.head, NULL), CP_ILL_INPUT); \
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "tyre: " words)
  REFUSED(own.radius = 0, "radius must be");
  REFUSED(own.stiffness = NAN, "stiffness must be");
  REFUSED(own.damping = -1, "damping must");
  REFUSED(own.friction = 0, "friction must be");
  REFUSED(own.speed = 0, "speed must be");
  REFUSED(own.slip_stiffness = INFINITY, "slip_stiffness must be");
  REFUSED(own.rolling = -0.1, "rolling must");
  REFUSED(own.body = "car", "");
  CPBodiesFree(&bodies);
  bodies = CPBodiesCreate(2, NULL);
  add_element(bodies, &wheel.head);
  ck_assert_int_eq(CPBodiesAdd(bodies, &tyre.head, NULL), CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)),
                     "tyre: there are no tyres in the plane");
  CPBodiesFree(&bodies);
  test_context_teardown();
}
END_TEST

#if CPODES_TEST_YAML
/* A file, the file that is written of it, and the rule that its centre is above the ground */
START_TEST(files_have_tyres) {
  static const char text[] =
      "bodies: [{name: wheel, mass: 12, inertia: [0.3, 0.6, 0.3], at: [0, 0, 0.29], velocity: [10, "
      "0.5, 0], omega: [0, 35, 0]}]\n"
      "tyres: [{name: tyre, body: wheel, in: bodies, axis: [0, 1, 0], radius: 300 mm, stiffness: "
      "200 N/mm, damping: 0.02,\n"
      "  friction: 0.9, slip_stiffness: 40 kN, half_length: 60 mm, rolling: 0.015, speed: 0.5}]\n";
  CPBodiesFile file = CP_INIT(CPBodiesFile);
  double force[2][3];
  test_context_setup();
  file.writes = 1;
  ck_assert_msg(CPBodiesRead("wheel.yaml", text, sizeof text - 1, &bodies, &file) == CP_SUCCESS,
                "%s", CPObjectGetLastMessage(NULL));
  for (int k = 0; k < 2; k++) {
    build(CP_ABSOLUTE);
    for (int i = 0; i < 3; i++) force[k][i] = quantity("tyre.force", i);
    N_VDestroy(y);
    CPMechFree(&mech);
    if (k) break;
    CPBodies again;
    ck_assert_ptr_nonnull(file.written);
    ck_assert_msg(CPBodiesRead("again.yaml", file.written, strlen(file.written), &again, NULL) ==
                      CP_SUCCESS,
                  "%s", CPObjectGetLastMessage(NULL));
    CPBodiesFree(&bodies);
    bodies = again;
  }
  for (int i = 0; i < 3; i++) ck_assert_double_eq(force[0][i], force[1][i]);
  /* s = C sigma / (3 mu N), sigma = (0.15, -0.5) / W, N = 2000 */
  const double W = hypot(10.15, 0.5), sigma = hypot(0.15, 0.5) / W,
               s = 4e4 * sigma / (3 * 0.9 * 2000),
               F = 0.9 * 2000 * (1 - pow(1 - s, 3)) / hypot(0.15, 0.5);
  ck_assert_double_eq_tol(force[0][0], F * 0.15, 1e-9);
  ck_assert_double_eq_tol(force[0][1], -F * 0.5, 1e-9);
  ck_assert_double_eq_tol(force[0][2], 2000, 1e-9);
  build(CP_ABSOLUTE);
  entries(y)[2] = -0.01;
  N_Vector ydot = N_VClone(y);
  ck_assert_int_gt(CPMechRhs(0, y, ydot, mech), 0);
  ck_assert_int_lt(CPMechAccelerations(mech, 0, y, entries(ydot), NULL), 0);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(mech)),
                     "tyre \"tyre\" has its centre below the ground");
  N_VDestroy(ydot);
  stop();
}
END_TEST
#endif

TEST_SUITE(tyre) {
  Suite *suite = suite_create("bodies/tyre");
  TCase *tc    = tcase_create("tyre");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, forces_are_those_of_the_brush_model, 0, 2);
  tcase_add_test(tc, a_tyre_does_not_pull);
  tcase_add_loop_test(tc, a_wheel_brakes_to_a_stop, 0, test_is_short() ? 2 : 16);
  tcase_add_loop_test(tc, a_caster_turns_into_its_course, 0, test_is_short() ? 2 : 16);
  tcase_add_loop_test(tc, all_derivatives_are_exact, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  tcase_add_test(tc, wrong_tyres_are_named);
#if CPODES_TEST_YAML
  tcase_add_test(tc, files_have_tyres);
#endif
  suite_add_tcase(suite, tc);
  return suite;
}
