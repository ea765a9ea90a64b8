/* Actuators: activations, what they act on, and their derivatives. References are closed forms. */
#include "one.h"
#include "support/alloc.h"
#include <cpodes/cpodes_language.h>
#include <cpodes/cpodes_sens.h>
#include <math.h>

/* A rod of length 1 and inertia 1 about its hinge at the origin, along x, which turns about z */
static void start(int dimension) {
  const CPBody rod = {CP_NEW_BODY("rod"), .mass = 1, .inertia = {0.5, 0.75, 0.75, 0.01, 0.02, 0.03},
                      .position = {0.5, 0, 0}};
  const CPJoint hinge = {CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .b = "rod"};
  begin(dimension, NULL);
  add_element(bodies, &rod.head);
  add_element(bodies, &hinge.head);
}

static double acceleration(void) {
  sunrealtype a[12];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .udot = a};
  ck_assert_int_eq(CPMechEvaluate(mech, 0, y, &out), CP_SUCCESS);
  return a[0];
}

static const char *const methods[] = {"DOP853", "RADAU"};

/* x'' = z, z' = (w - z)/T, from rest: z = w (1 - e), x = w (t^2/2 - T t + T^2 (1 - e)), e = exp(-t/T); and the work of F on it */
START_TEST(a_filtered_torque_moves_as_its_closed_form) {
  const char *method = methods[_i / 4];
  const double tol = 1e-8, T = 0.2, w = 1.5, t = 1, e = exp(-t / T);
  CPPowers p = {CP_SIZED(CPPowers)};
  start(2 + _i % 2);
  const CPActuator a = {
      CP_NEW_ACTUATOR("motor"),         .of = {"hinge", 0}, .gain = {1}, .control = w,
      .dynamics = CP_ACTIVATION_FILTER, .times = {T}};
  add_element(bodies, &a.head);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  build((CPFormulation)(_i / 2 % 2));
  const int n = (int)N_VGetLength(y), at = thing_named(bodies, CP_STATE, "motor.activation");
  ck_assert_int_eq(at, n - 2);
  ck_assert_str_eq(thing_at(bodies, CP_STATE, at).name, "motor.activation");
  ck_assert_int_eq(thing_at(bodies, CP_STATE, at).kind, 3);
  ck_assert_str_eq(thing_at(bodies, CP_STATE, n - 1).name, "W");
  run(method, tol, t);
  ck_assert_double_eq_tol(entries(y)[at], w * (1 - e), 10 * tol);
  ck_assert_double_eq(quantity("motor.activation", 0), entries(y)[at]);
  ck_assert_double_eq_tol(quantity("hinge.angle", 0), w * (t * t / 2 - T * t + T * T * (1 - e)),
                          10 * tol);
  ck_assert_double_eq_tol(quantity("motor.torque", 0), w * (1 - e), 10 * tol);
  ck_assert_int_eq(CPMechGetPowers(mech, t, y, NULL, &p), CP_SUCCESS);
  ck_assert_double_eq_tol(p.kinetic, entries(y)[n - 1], 10 * tol);
  ck_assert_double_eq_tol(p.applied, quantity("motor.power", 0), 1e-14);
  stop();
}
END_TEST

/* z grows with w = 2 from 0.5 on to 1, where it stays from t = 0.25 on: x = t^2/4 + t^3/3 up to there */
START_TEST(an_integrator_stays_at_its_limit) {
  const double tol = 1e-8, t1 = 0.25, rest = 0.75, v = t1 / 2 + t1 * t1,
               x = t1 * t1 / 4 + t1 * t1 * t1 / 3;
  start(2);
  const CPActuator a = {CP_NEW_ACTUATOR("motor"),
                        .of               = {"hinge", 0},
                        .gain             = {1},
                        .control          = 2,
                        .dynamics         = CP_ACTIVATION_INTEGRATOR,
                        .activation       = 0.5,
                        .activation_range = {-1, 1}};
  add_element(bodies, &a.head);
  build(CP_JOINT_COORDINATES);
  run(methods[_i], tol, 1);
  ck_assert_double_eq_tol(fmin(quantity("motor.activation", 0), 1), 1, 10 * tol);
  ck_assert_double_eq_tol(quantity("hinge.angle", 0), x + v * rest + rest * rest / 2, 10 * tol);
  stop();
}
END_TEST

/* A cylinder from (0, -1) to the end of the rod at the angle phi: its length is l = sqrt(2 + 2 sin(phi)), dl/dphi = cos(phi) / l. */
START_TEST(a_cylinder_acts_along_its_length) {
  const double phi = 0.3, l = sqrt(2 + 2 * sin(phi)), torque = 3 * cos(phi) / l;
  start(2);
  const CPActuator a = {CP_NEW_ACTUATOR("ram"), .gain = {1},      .control = 3, .b = "rod",
                        .point_a = {0, -1},     .point_b = {1, 0}};
  add_element(bodies, &a.head);
  build(CP_JOINT_COORDINATES);
  entries(y)[0] = phi;
  entries(y)[1] = 2;
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SPRING), 1); /* it is drawn */
  ck_assert_double_eq_tol(quantity("ram.length", 0), l, 1e-15);
  ck_assert_double_eq_tol(quantity("ram.rate", 0), 2 * cos(phi) / l, 1e-15);
  ck_assert_double_eq(quantity("ram.force", 0), 3);
  ck_assert_double_eq_tol(quantity("ram.power", 0), 2 * torque, 1e-14);
  ck_assert_double_eq_tol(acceleration(), torque, 1e-14);
  stop();
}
END_TEST

/* A force along y of the rod at its end, and a torque: x'' = F (1 + 0.5); a force along x of space, whose coordinate is cos(phi) */
START_TEST(directions_act_as_their_levers) {
  const double phi = 0.4;
  start(3);
  const CPActuator a = {CP_NEW_ACTUATOR("jet"), .gain = {1},       .control = 2,        .b = "rod",
                        .point_b = {1, 0, 0},   .push = {0, 1, 0}, .about = {0, 0, 0.5}};
  const CPActuator c = {CP_NEW_ACTUATOR("pull"), .gain = {5}, .control = 1,
                        .bias = {0, -2},         .b = "rod",  .point_b = {1, 0, 0},
                        .along = {1, 0, 0}};
  add_element(bodies, &a.head);
  add_element(bodies, &c.head);
  build(CP_JOINT_COORDINATES);
  entries(y)[0] = phi;
  entries(y)[1] = 1;
  ck_assert_double_eq_tol(quantity("jet.power", 0), 2 * 1.5, 1e-14);
  ck_assert_double_eq_tol(quantity("pull.force", 0), 5 - 2 * cos(phi), 1e-14);
  ck_assert_double_eq_tol(acceleration(), 2 * 1.5 - (5 - 2 * cos(phi)) * sin(phi), 1e-14);
  stop();
}
END_TEST

/* Every kind of actuator on two links, at random states: K, C and Fz against differences */
START_TEST(all_derivatives_are_exact) {
  const CPBody arm    = {CP_NEW_BODY("arm"), .mass = 0.7, .inertia = {0.2, 0.3, 0.3, 0.01, 0, 0.02},
                         .position = {1.5, 0.2, 0}};
  const CPJoint ball  = {CP_NEW_JOINT("ball"), .kind = CP_JOINT_BALL, .a = "rod", .b = "arm",
                         .on_a = {.point = {1, 0, 0}}};
  const CPMuscle pull = {.force = 4, .length = {0.5, 1.6}};
  const CPActuator all[] = {
      {CP_NEW_ACTUATOR("filtered"), .of = {"hinge", 0}, .gain = {1, 0.3, -0.2}, .control = 0.7,
       .bias = {0.1, -2, -0.3}, .gear = -1.5, .dynamics = CP_ACTIVATION_FILTER, .times = {0.1},
       .activation = 0.4},
      {CP_NEW_ACTUATOR("muscle"), .a = "rod", .b = "arm", .point_a = {0.2, 0.3, 0},
       .point_b = {1.4, 0.5, 0.2}, .muscle = pull, .control = 0.8, .dynamics = CP_ACTIVATION_MUSCLE,
       .times = {0.01, 0.04, 0.3}, .activation = 0.5},
      {CP_NEW_ACTUATOR("line"), .a = "rod", .b = "arm", .point_a = {0.2, 0.3, 0},
       .point_b = {1.4, 0.5, 0.2}, .along = {0.3, 1, 0.5}, .gain = {1}, .bias = {0, -1, -0.5},
       .control = 0.3},
      {CP_NEW_ACTUATOR("thrust"), .b = "arm", .point_b = {1.2, 0.4, 0.3}, .push = {0.4, 0.5, -1},
       .about = {0.3, 0.2, 0.1}, .gain = {2}, .bias = {0, 0, -0.3}, .control = 0.4,
       .dynamics = CP_ACTIVATION_INTEGRATOR, .activation = 0.3},
      {CP_NEW_ACTUATOR("spin"), .a = "rod", .b = "arm", .about = {0.3, -0.2, 0.7}, .gain = {1.5},
       .bias = {0, 0, -0.2}, .control = 0.5}};
  unsigned int seed = 5;
  start(3);
  add_element(bodies, &arm.head);
  add_element(bodies, &ball.head);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) add_element(bodies, &all[k].head);
  build((CPFormulation)_i);
  for (int k = 0; k < 6; k++) {
    CPMechReport r = CP_INIT(CPMechReport);
    for (sunindextype i = 0; i < N_VGetLength(y) - 3; i++)
      entries(y)[i] += 0.2 * (double)(seed = seed * 1103515245u + 12345u) / 4294967296.0;
    const int flag = CPMechCheck(mech, 0.3, y, &r);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_le(r.K, 1e-8);
    ck_assert_double_le(r.C, 1e-8);
    ck_assert_double_le(r.Fz, 1e-8);
    ck_assert_double_le(r.Zz, 1e-8);
  }
  stop();
}
END_TEST

/* z' of a muscle has different times on both sides of z = w. With z close to w, also with a balance of energy beside it,
 *
 *   dz'/dz = -1/tau - (w - z) tau_z / tau^2,   dz'/dw = 1/tau,   dz'/dT_1 = -(w - z) (1/2 + 3/2 z) / tau^2,   tau = T_1 (1/2 + 3/2 z)  */
START_TEST(derivatives_of_activations_are_those_of_their_own_side) {
  const double w = 0.6, T[3] = {0.01, 0.04, 0};
  const CPActuator muscle = {CP_NEW_ACTUATOR("muscle"),
                             .of         = {"hinge", 0},
                             .gain       = {1},
                             .control    = w,
                             .activation = 0.2,
                             .dynamics   = CP_ACTIVATION_MUSCLE,
                             .times      = {T[0], T[1], T[2]}};
  start(3);
  add_element(bodies, &muscle.head);
  if (_i / 2) ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  build(_i % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE);
  sunrealtype *values;
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  const int plist[2]            = {thing_named(bodies, CP_PARAMETER, "muscle.control"),
                                   thing_named(bodies, CP_PARAMETER, "muscle.time")};
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 2, .values = values, .plist = plist};
  const sunindextype at         = N_VGetLength(y) - 1 - _i / 2;
  N_Vector s = N_VClone(y), sdot = N_VClone(y), l = N_VClone(y), Jl = N_VClone(y);
  for (int k = 0; k < 6; k++) {
    const double z = w - pow(10, -k - 2), d = w - z, tau = T[0] * (0.5 + 1.5 * z), rate = d / tau;
    const double exact[3] = {-1 / tau - rate * 1.5 * T[0] / tau, 1 / tau, -rate / T[0]};
    entries(y)[at]        = z;
    N_VConst(0, l);
    entries(l)[at] = 1;
    for (int j = 0; j < 3; j++) {
      const sunrealtype dp[2] = {j == 1, j == 2};
      N_VConst(0, s);
      entries(s)[at] = j == 0;
      ck_assert_int_eq(CPMechJvp(mech, 0, y, &parameters, s, dp, sdot, NULL), CP_SUCCESS);
      ck_assert_double_eq_tol(entries(sdot)[at], exact[j], 1e-12 * fabs(exact[j]));
    }
    sunrealtype lfp[2];
    ck_assert_int_eq(CPMechVjp(mech, 0, y, &parameters, l, Jl, lfp), CP_SUCCESS);
    ck_assert_double_eq_tol(entries(Jl)[at], exact[0], 1e-12 * fabs(exact[0]));
    for (int j = 0; j < 2; j++)
      ck_assert_double_eq_tol(lfp[j], exact[1 + j], 1e-12 * fabs(exact[1 + j]));
  }
  N_Vector all[] = {s, sdot, l, Jl};
  for (int k = 0; k < 4; k++) N_VDestroy(all[k]);
  stop();
}
END_TEST

/* The force of a muscle has a corner in its slope at L = 1: beside it, at L = 1 + d without speed, u' = F and
 *
 *   dF/dr_1 = -P (p - w) d / ((l_max - 1) / 2)^2 (1 - (L - r_1) / (r_2 - r_1)),   r: range, P: peak force, p: fpmax  */
START_TEST(parameters_beside_a_corner_have_the_derivatives_of_their_side) {
  const double d = 1e-6, w = 0.4, P = 4, r[2] = {0.75, 1.05}, unit = 1.1 / (r[1] - r[0]), half = 0.3,
               exact = -P * (1.3 - w) * d / (half * half) * (1 - (1 + d - r[0]) / (r[1] - r[0]));
  const CPActuator muscle = {CP_NEW_ACTUATOR("muscle"), .of = {"hinge", 0}, .control = w,
                             .muscle = {.force = P, .length = {0.5, 1.6}}};
  start(2);
  add_element(bodies, &muscle.head);
  build(CP_JOINT_COORDINATES);
  sunrealtype *values;
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  const int number              = thing_named(bodies, CP_PARAMETER, "muscle.range_min");
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = values,
                                   .plist = &number};
  N_Vector s = N_VClone(y), sdot = N_VClone(y);
  N_VConst(0, s);
  entries(y)[0] = 0.5 + (1 + d - r[0]) * unit;
  ck_assert_int_eq(CPMechJvp(mech, 0, y, &parameters, s, (sunrealtype[]){1}, sdot, NULL),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(entries(sdot)[1], exact, 1e-8 * P);
  N_VDestroy(s), N_VDestroy(sdot);
  stop();
}
END_TEST

START_TEST(wrong_actuators_are_named) {
  const CPActuator good = {CP_NEW_ACTUATOR("motor"), .b = "rod", .point_a = {0, -1},
                           .point_b = {1, 0}};
  CPActuator a          = good;
  start(2);
#define REFUSED(change, words)                                        \
  a = good, change;                                                   \
  ck_assert_int_eq(CPBodiesAdd(bodies, &a.head, NULL), CP_ILL_INPUT); \
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "motor: " words)
  REFUSED(a.dynamics = CP_ACTIVATION_FILTER, "times must be positive");
  REFUSED(a.activation = 0.1, "activation needs dynamics");
  REFUSED(a.dynamics = (CPActivation)7, "dynamics must be one of CPActivation's, and is 7");
  REFUSED(a.point_a[0] = 1; a.point_a[1] = 0, "the points must not meet");
  REFUSED(a.muscle.force = -1, "of a muscle force must be positive");
  REFUSED(a.muscle.force = 1, "of a muscle length must begin below its end");
  REFUSED(a.muscle.force = 1; a.muscle.length[1] = 1;
          a.gain[0]                              = 1, "a muscle has neither gain nor bias");
  REFUSED(a.along[0] = 1; a.push[0] = 1, "along must be 0 beside push and about");
  REFUSED(a.b = NULL, "bodies a and b must differ");
  ck_assert_int_eq(CPBodiesAdd(bodies, &good.head, NULL), CP_SUCCESS);
  CPBodiesFree(&bodies);
  test_context_teardown();
}
END_TEST

/* The same in a file, with a curve, F = w - v^3 + t/2 of a motor behind a gear, and a muscle */
/* Its control is its torque; a gain or a bias that is given is all that it has. */
START_TEST(an_actuator_of_a_file_without_numbers_is_a_motor) {
  static const char text[] =
      "dimension: 2\nbodies: [{name: rod, mass: 1, inertia: 1}]\n"
      "joints: [{name: hinge, kind: revolute, b: rod}]\nactuators:\n"
      "- {name: motor, of: hinge}\n- {name: spring, of: hinge, bias: [0, -1, 0]}\n";
  ck_assert_int_eq(CPBodiesRead("motor.yaml", text, sizeof text - 1, &bodies, NULL), CP_SUCCESS);
  ck_assert_double_eq(
      thing_at(bodies, CP_PARAMETER, thing_named(bodies, CP_PARAMETER, "motor.gain")).value, 1);
  ck_assert_double_eq(
      thing_at(bodies, CP_PARAMETER, thing_named(bodies, CP_PARAMETER, "spring.gain")).value, 0);
  CPBodiesFree(&bodies);
}
END_TEST

START_TEST(files_have_all_of_it) {
  static const char text[] =
      "dimension: 2\nbodies: [{name: rod, mass: 1, inertia: 0.75, at: [0.5, 0]}]\n"
      "joints: [{name: hinge, kind: revolute, b: rod}]\n"
      "actuators:\n"
      "- {name: motor, of: hinge, gain: [1, 0, 0], gear: 2, control: 3,\n"
      "   curve: \"-(v/(1 rad/s))^3*(1 N m) + (0.5 N m/s)*t\"}\n"
      "- {name: pull, b: rod, at: [0, -1], at_b: [1, 0], dynamics: muscle, times: [0.01, 0.04, 0], "
      "activation: 0.5, control: 1,\n"
      "   peak_force: 2 N, lengths: [0.5 m, 2 m], range: [0.7, 1.3]}\n";
  CPBodiesFile file;
  char message[READ_MESSAGE];
  test_context_setup();
  bodies = read_bodies("actuators.yaml", text, sizeof text - 1, &file, message);
  ck_assert_msg(bodies != NULL, "%s", message);
  build(CP_JOINT_COORDINATES);
  entries(y)[0] = 0.3;
  entries(y)[1] = 0.7;
  /* of the muscle L = 0.7 + (l - 0.5) / 2.5, V = l' / (2.5 * 1.5), L between 1 and 1.3: L_f = 1 - ((L - 1) / 0.3)^2 / 2, V_f = 1.2 - (0.2 - V)^2 / 0.2 */
  const double l = sqrt(2 + 2 * sin(0.3)), rate = 0.7 * cos(0.3) / l, L = 0.7 + (l - 0.5) / 2.5,
               V = rate / 3.75, x = (L - 1) / 0.3,
               F = -2 *
                   ((1 - x * x / 2) * (1.2 - (0.2 - V) * (0.2 - V) / 0.2) * 0.5 + 1.3 * x * x / 2);
  ck_assert_double_eq_tol(quantity("pull.force", 0), F, 1e-14);
  ck_assert_double_eq_tol(quantity("motor.torque", 0), 2 * (3 - pow(2 * 0.7, 3)), 1e-14);
  ck_assert_double_eq_tol(acceleration(), 2 * (3 - pow(1.4, 3)) + F * cos(0.3) / l, 1e-13);
  stop();
}
END_TEST

/* A controller is evaluated by its quantity, and described; what it must not be is named. */
START_TEST(controllers_are_quantities_with_times) {
  static const char good[] =
      "control: \"-4*(hinge.angle/(1 rad)) - rod.velocity.y/(1 m/s) + t/(1 s)\"";
  static const struct {
    const char *rest, *says;
  } bad[] = {
      {"of: none, every: 1 ms, control: \"t/(1 s)\"",
       "hold: there is no parameter \"none.control\" to set"},
      {"of: motor, every: 0, control: \"t/(1 s)\"", "hold: period must be positive"},
      {"of: motor, every: 1, delay: -1, control: \"t/(1 s)\"", "hold: delay must not be negative"},
      {"of: motor, every: 1, control: 3", "control must depend on t or on quantities"},
      {"of: motor, every: 1, control: \"hinge.force.x/(1 N)\"",
       "hinge.force.x depends on accelerations"}};
  static const char head[] =
      "dimension: 2\nbodies: [{name: rod, mass: 1, inertia: 0.75, at: [0.5, 0]}]\n"
      "joints: [{name: hinge, kind: revolute, b: rod}]\n"
      "actuators: [{name: motor, of: hinge, gain: [1, 0, 0]}]\n";
  char text[1000], message[READ_MESSAGE];
  CPBodiesFile file;
  test_context_setup();
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    const int n =
        snprintf(text, sizeof text, "%scontrollers: [{name: hold, %s}]\n", head, bad[k].rest);
    ck_assert_ptr_null(read_bodies("loop.yaml", text, (size_t)n, &file, message));
    ck_assert_mentions(message, bad[k].says);
  }
  const int n = snprintf(
      text, sizeof text,
      "%scontrollers: [{name: hold, of: motor, every: 2 ms, first: 1 ms, delay: 5 ms, %s}]\n", head,
      good);
  bodies = read_bodies("loop.yaml", text, (size_t)n, &file, message);
  ck_assert_msg(bodies != NULL, "%s", message);
  const CPDescription d = thing_at(bodies, CP_CONTROLLER, 0);
  ck_assert_str_eq(d.name, "hold");
  ck_assert_int_eq(d.parameter, thing_named(bodies, CP_PARAMETER, "motor.control"));
  ck_assert(d.period == 0.002 && d.begin == 0.001 && d.delay == 0.005);
  build(CP_JOINT_COORDINATES);
  entries(y)[0] = 0.3;
  entries(y)[1] = 2;
  CPSensor s    = {CP_SIZED(CPSensor)};
  ck_assert_int_eq(CPMechGetSensor(mech, "hold.output", 0.7, y, &s), CP_SUCCESS);
  ck_assert_double_eq_tol(s.value[0], -4 * 0.3 - 0.5 * 2 * cos(0.3) + 0.7, 1e-14);
  stop();
}
END_TEST

/* What holds the output of a controller between its samples moves x'' = w_k, w_k = -9 x_k - 3 x_k' with inertia 1:
 * x_{k+1} = x_k + x_k' T + w_k T^2/2, x_{k+1}' = x_k' + w_k T. */
START_TEST(a_controller_in_c_is_held_between_its_samples) {
  const double T = 0.05, tol = 1e-8;
  static const char *const variable[] = {"t", "x", "v"};
  const CPFunctionOptions options     = {CP_SIZED(CPFunctionOptions), .text = "-9*x - 3*v",
                                         .nvariables = 3, .variable = variable};
  const CPActuator motor = {CP_NEW_ACTUATOR("motor"), .of = {"hinge", 0}, .gain = {1, 0, 0}};
  CPFunction law;
  sunrealtype *values;
  double x[] = {0.4, -0.2};
  start(3);
  add_element(bodies, &motor.head);
  ck_assert_int_eq(CPFunctionCreate(&options, &law), CP_SUCCESS);
  const CPController hold = {CP_NEW_CONTROLLER("hold"), .of = "motor", .period = T, .function = law,
                             .inputs = "hinge.angle hinge.rate"};
  add_element(bodies, &hold.head);
  CPFunctionFree(&law); /* the mechanism keeps it */
  build(CP_JOINT_COORDINATES);
  const CPDescription d = thing_at(bodies, CP_CONTROLLER, 0);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  entries(y)[0] = x[0], entries(y)[1] = x[1];
  for (int k = 0; k < 40; k++) {
    const double w      = -9 * x[0] - 3 * x[1];
    values[d.parameter] = quantity("hold.output", 0);
    run("DOP853", tol, T);
    x[0] += x[1] * T + w * T * T / 2, x[1] += w * T;
    for (int i = 0; i < 2; i++) ck_assert_double_eq_tol(entries(y)[i], x[i], 10 * tol);
  }
  stop();
}
END_TEST

TEST_SUITE(actuators) {
  Suite *suite = suite_create("bodies/actuators");
  TCase *tc    = tcase_create("actuators");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, a_filtered_torque_moves_as_its_closed_form, 0, 8);
  tcase_add_loop_test(tc, an_integrator_stays_at_its_limit, 0, 2);
  tcase_add_test(tc, a_cylinder_acts_along_its_length);
  tcase_add_test(tc, directions_act_as_their_levers);
  tcase_add_loop_test(tc, all_derivatives_are_exact, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  tcase_add_loop_test(tc, derivatives_of_activations_are_those_of_their_own_side, 0, 4);
  tcase_add_test(tc, parameters_beside_a_corner_have_the_derivatives_of_their_side);
  tcase_add_test(tc, an_actuator_of_a_file_without_numbers_is_a_motor);
  tcase_add_test(tc, files_have_all_of_it);
  tcase_add_test(tc, wrong_actuators_are_named);
  tcase_add_test(tc, controllers_are_quantities_with_times);
  tcase_add_test(tc, a_controller_in_c_is_held_between_its_samples);
  suite_add_tcase(suite, tc);
  return suite;
}
