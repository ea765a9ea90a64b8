/* Reactions, energies and sensors against closed forms; assembly from rough guesses. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <stdio.h>

static const sunrealtype G = 9.81;
static CPBodies bodies;
static CPMech mech;
static N_Vector y;
static sunrealtype lambda[64];
static MessageLog log_;

#define ADD(call) ck_assert_msg((call) >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(bodies)))

static void create(int dimension) {
  bodies = CPBodiesCreate(dimension, NULL);
  ADD(set_gravity(bodies, (sunrealtype[]){0, -G, 0}));
}

/* A body with its centre and frame at (x, y, z). */
static void body_at(const char *name, sunrealtype mass, sunrealtype x, sunrealtype yy,
                    sunrealtype z) {
  const CPBody body = {CP_NEW_BODY(name), .mass = mass, .inertia = {0.3, 0.4, 0.5},
                       .position = {x, yy, z}};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
}

static void joint_at(const char *name, CPJointKind kind, const char *a, const char *b,
                     sunrealtype x, sunrealtype yy, const sunrealtype *axis) {
  const CPJoint joint = {CP_NEW_JOINT(name),
                         .kind   = kind,
                         .a      = a,
                         .b      = b,
                         .on_a   = {.point = {x, yy, 0}, .axis = {axis[0], axis[1], axis[2]}},
                         .on_b   = {.point = {x, yy, 0}},
                         .length = kind == CP_JOINT_ROLLING ? 0.5 : 0};
  ADD(CPBodiesAdd(bodies, &joint.head, NULL));
}

static void start(void) {
  ck_assert_msg(build_mech(bodies, &mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log_), CP_SUCCESS);
  y = CPBodiesState(bodies, test_context);
}

static void solve(sunrealtype t) {
  sunrealtype udot[64];
  ck_assert_msg(CPMechAccelerations(mech, t, y, udot, lambda) == CP_SUCCESS, "%s", log_.text);
}

static void run(sunrealtype t_end, sunrealtype tol) { evolve_mech(mech, y, "DOP853", tol, t_end); }

static void expect(const char *joint, sunrealtype t, const sunrealtype *F, const sunrealtype *T) {
  sunrealtype gotF[3], gotT[3];
  ck_assert_int_eq(
      CPMechGetReaction(mech, thing_named(bodies, CP_JOINT, joint), t, y, lambda, gotF, gotT),
      CP_SUCCESS);
  for (int k = 0; k < 3; k++) {
    ck_assert_double_eq_tol(gotF[k], F[k], 1e-12 * 100);
    ck_assert_double_eq_tol(gotT[k], T[k], 1e-12 * 100);
  }
}

static void clear(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

/* The support carries all weights below it. */
START_TEST(a_hanging_chain_pulls_with_its_weight) {
  const int n = 6, flipped = _i;
  create(3);
  for (int i = 0; i < n; i++) {
    char name[8], before[8], joint[8];
    snprintf(name, sizeof name, "b%d", i);
    snprintf(before, sizeof before, "b%d", i - 1);
    snprintf(joint, sizeof joint, "j%d", i);
    body_at(name, 1 + i, 0, -i - 0.5, 0);
    const char *a = i ? before : NULL;
    joint_at(joint, i % 2 ? CP_JOINT_BALL : CP_JOINT_REVOLUTE, flipped ? name : a,
             flipped ? a : name, 0, -i, (sunrealtype[]){0, 0, 1});
  }
  start();
  solve(0);
  sunrealtype weight = 0;
  for (int i = n - 1; i >= 0; i--) {
    char joint[8];
    snprintf(joint, sizeof joint, "j%d", i);
    weight += (1 + i) * G;
    expect(joint, 0, (sunrealtype[]){0, flipped ? -weight : weight, 0}, (sunrealtype[]){0, 0, 0});
  }
  clear();
}
END_TEST

/* A body held to the ground at the distance (1, 0, 0.4): the force balances the weight, with the
 * torque -r x W. From either side. */
START_TEST(a_clamped_body_has_the_torque_of_its_weight) {
  const CPJointKind kind = _i / 2 ? CP_JOINT_PRISMATIC : CP_JOINT_FIXED;
  const int flipped      = _i % 2;
  const sunrealtype m = 2, W = m * G, s = flipped ? -1 : 1;
  create(3);
  body_at("body", m, 1, 0, 0.4);
  joint_at("joint", kind, flipped ? "body" : NULL, flipped ? NULL : "body", 0, 0,
           (sunrealtype[]){1, 0, 0});
  start();
  solve(0);
  /* (1, 0, 0.4) x (0, -W, 0) = (0.4 W, 0, -W) */
  expect("joint", 0, (sunrealtype[]){0, s * W, 0}, (sunrealtype[]){s * -0.4 * W, 0, s * W});
  clear();
}
END_TEST

/* A pendulum of length l at the angle phi from the downward vertical with the rate w: the force
 * along the rod is m (l w^2 + g cos phi), and nothing else if it has no moment of inertia about its
 * centre. With the physical J, phi'' = -m g l sin phi / (J + m l^2). A rod to a mass point carries
 * the first part. */
START_TEST(a_pendulum_pulls_with_its_centrifugal_force) {
  const sunrealtype m = 1.5, l = 0.8, J = 0.5, phi = 0.7, w = 2.3, dim = _i;
  const CPBody body = {CP_NEW_BODY("bob"),
                       .mass     = m,
                       .inertia  = {0.3, 0.4, J},
                       .position = {l * sin(phi), -l * cos(phi)},
                       .velocity = {l * w * cos(phi), l * w * sin(phi)},
                       .omega    = {0, 0, w}};
  create((int)dim + 2);
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  joint_at("pivot", CP_JOINT_REVOLUTE, NULL, "bob", 0, 0, (sunrealtype[]){0, 0, 1});
  start();
  solve(0);
  const sunrealtype acc = -m * G * l * sin(phi) / (J + m * l * l);
  const sunrealtype r[] = {l * (acc * cos(phi) - w * w * sin(phi)),
                           l * (acc * sin(phi) + w * w * cos(phi))};
  expect("pivot", 0, (sunrealtype[]){m * r[0], m * (r[1] + G), 0}, (sunrealtype[]){0, 0, 0});
  sunrealtype x, rate;
  ck_assert_int_eq(
      CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "pivot"), y, &x, &rate),
      CP_SUCCESS);
  ck_assert_double_eq_tol(x, 0, 1e-14);
  ck_assert_double_eq_tol(rate, w, 1e-14);
  clear();
}
END_TEST

START_TEST(a_rod_pulls_along_itself) {
  const sunrealtype m = 1.5, l = 0.8, phi = 0.7, w = 2.3;
  const CPBody body = {CP_NEW_BODY("bob"), .mass = m, .inertia = {0.3, 0.4, 0.5},
                       .position = {l * sin(phi), -l * cos(phi)},
                       .velocity = {l * w * cos(phi), l * w * sin(phi)}};
  create(_i + 2);
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  const CPJoint joint = {CP_NEW_JOINT("rod"), .kind = CP_JOINT_ROD, .b = "bob",
                         .on_b.point = {l * sin(phi), -l * cos(phi)}};
  ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  start();
  solve(0);
  const sunrealtype pull = m * (l * w * w + G * cos(phi));
  expect("rod", 0, (sunrealtype[]){-pull * sin(phi), pull * cos(phi), 0}, (sunrealtype[]){0, 0, 0});
  clear();
}
END_TEST

/* A crank at the constant rate w: the drive's torque is m g l cos(w t), and its work is m g l sin(w
 * t). */
START_TEST(a_drive_has_the_torque_of_the_weight) {
  const sunrealtype m = 2, l = 1, w = 3, t = 1.7;
  create(_i + 2);
  body_at("crank", m, l, 0, 0);
  joint_at("pivot", CP_JOINT_REVOLUTE, NULL, "crank", 0, 0, (sunrealtype[]){0, 0, 1});
  const CPDrive drive = {CP_NEW_DRIVE("motor"), .of = {"pivot", 0}, .rate = w};
  ADD(CPBodiesAdd(bodies, &drive.head, NULL));
  ADD(CPBodiesSetBalance(bodies));
  start();
  ck_assert_msg(CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .held = "crank"}) ==
                    CP_SUCCESS,
                "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
  run(t, 1e-11);
  solve(t);
  sunrealtype F[3], T[3], x, rate;
  CPPowers powers = CP_INIT(CPPowers);
  ck_assert_int_eq(
      CPMechGetReaction(mech, thing_named(bodies, CP_JOINT, "motor"), t, y, lambda, F, T),
      CP_SUCCESS);
  ck_assert_double_eq_tol(F[0], m * G * l * cos(w * t), 1e-8);
  ck_assert_int_eq(
      CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "pivot"), y, &x, &rate),
      CP_SUCCESS);
  ck_assert_double_eq_tol(remainder(x - w * t, 4 * acos(0.0)), 0, 1e-10);
  ck_assert_int_eq(CPMechGetPowers(mech, t, y, lambda, &powers), CP_SUCCESS);
  ck_assert_double_eq_tol(powers.drives, m * G * l * cos(w * t) * w, 1e-7);
  ck_assert_double_eq_tol(entries(y)[N_VGetLength(y) - 1], m * G * l * sin(w * t), 1e-8);
  clear();
}
END_TEST

/* A block slides on an inclined line with friction: constant deceleration g (sin a - mu cos a), as long as tanh is 1 */
START_TEST(friction_is_proportional_to_the_reaction) {
  const sunrealtype a = 0.5, mu = 0.3, m = 3, t = 0.5, v0 = 4;
  const sunrealtype axis[] = {cos(a), -sin(a), 0};
  create(3);
  const CPBody body = {CP_NEW_BODY("block"), .mass = m, .inertia = {1, 1, 1},
                       .velocity = {v0 * axis[0], v0 * axis[1]}};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  joint_at("slide", CP_JOINT_PRISMATIC, NULL, "block", 0, 0, axis);
  const CPFriction friction = {CP_NEW_FRICTION("friction"), .of = {"slide", 0}, .factor = mu,
                               .speed = 1e-2};
  ADD(CPBodiesAdd(bodies, &friction.head, NULL));
  ADD(CPBodiesSetBalance(bodies));
  start();
  run(t, 1e-10);
  sunrealtype x, rate;
  const sunrealtype acc = G * (sin(a) - mu * cos(a));
  ck_assert_int_eq(
      CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "slide"), y, &x, &rate),
      CP_SUCCESS);
  ck_assert_double_eq_tol(x, v0 * t + acc * t * t / 2, 1e-8);
  ck_assert_double_eq_tol(rate, v0 + acc * t, 1e-8);
  ck_assert_double_eq_tol(entries(y)[13], -mu * m * G * cos(a) * x, 1e-7); /* dissipated so far */
  clear();
}
END_TEST

/* A ball with J = c m r^2 rolls down: a = g sin / (1 + c); in the plane and in space */
START_TEST(a_ball_rolls_down_an_incline) {
  const sunrealtype r = 0.5, J = 0.3, m = 2, tilt = 0.4, t = 1.1;
  const sunrealtype n[] = {sin(tilt), cos(tilt), 0};
  create(_i + 2);
  const CPBody body = {CP_NEW_BODY("ball"), .mass = m, .inertia = {J, J, J},
                       .position = {r * n[0], r * n[1], 0}};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  const CPJoint joint = {CP_NEW_JOINT("roll"),
                         .kind       = CP_JOINT_ROLLING,
                         .b          = "ball",
                         .on_a.axis  = {n[0], n[1], 0},
                         .on_b.point = {r * n[0], r * n[1], 0},
                         .length     = r};
  ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  start();
  run(t, 1e-11);
  const sunrealtype acc = G * sin(tilt) / (1 + J / (m * r * r)), s = acc * t * t / 2;
  ck_assert_double_eq_tol(entries(y)[0], r * n[0] + s * cos(tilt), 1e-9);
  ck_assert_double_eq_tol(entries(y)[1], r * n[1] - s * sin(tilt), 1e-9);
  ck_assert_double_eq_tol(entries(y)[_i ? 7 + 5 : 5], -acc * t / r, 1e-9);
  solve(t);
  const sunrealtype normal = m * G * cos(tilt), along = m * G * sin(tilt) - m * acc; /* uphill */
  sunrealtype F[3], T[3];
  ck_assert_int_eq(CPMechGetReaction(mech, thing_named(bodies, CP_JOINT, "roll"), t, y, lambda, F, T),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(F[0], normal * n[0] - along * cos(tilt), 1e-8);
  ck_assert_double_eq_tol(F[1], normal * n[1] + along * sin(tilt), 1e-8);
  ck_assert_double_eq_tol(T[2], -along * r, 1e-8);
  clear();
}
END_TEST

/* A disc with the axis k, inclined by the angle theta from the vertical, circles with the rate
 * Omega if the component n of its angular velocity along k is (A Omega^2 s c - m g r c)/((C + m
 * r^2) Omega s), c = cos theta, s = sin theta. This is the balance of moments about the centre,
 * L' = rho x F, with L = C n k + A Omega s e2, the contact at rho = -r e2, e2 = (e_z - c k)/s and
 * F = m (g e_z + a). The centre moves on a circle of radius |r n/Omega|. */
START_TEST(a_tilted_disc_circles_steadily) {
  const sunrealtype r = 0.5, m = 2, C = m * r * r / 2, A = C / 2, c = _i ? -0.6 : 0.6, s = 0.8,
                    rate = 1.5, t = 2.3;
  const sunrealtype n  = (A * rate * rate * s * c - m * G * r * c) / ((C + m * r * r) * rate * s);
  const sunrealtype xi = r * n / rate, k[] = {-s, c, 0}, e2[] = {c, s, 0};
  create(3);
  const CPBody body = {CP_NEW_BODY("disc"),
                       .mass     = m,
                       .inertia  = {A + (C - A) * s * s, A + (C - A) * c * c, A, -(C - A) * s * c},
                       .position = {r * c, r * s, 0},
                       .velocity = {0, 0, -r * n},
                       .omega    = {n * k[0] + rate * s * e2[0], n * k[1] + rate * s * e2[1], 0}};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  const CPJoint joint = {CP_NEW_JOINT("roll"),
                         .kind      = CP_JOINT_ROLLING_DISC,
                         .b         = "disc",
                         .on_a.axis = {0, 1, 0},
                         .on_b      = {.point = {r * c, r * s, 0}, .axis = {k[0], k[1], 0}},
                         .length    = r};
  ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  start();
  solve(0);
  sunrealtype F[3], T[3];
  ck_assert_int_eq(CPMechGetReaction(mech, thing_named(bodies, CP_JOINT, "roll"), 0, y, lambda, F, T),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(F[0], -m * r * n * rate, 1e-11); /* m a of the circle */
  ck_assert_double_eq_tol(F[1], m * G, 1e-11);
  ck_assert_double_eq_tol(F[2], 0, 1e-11);
  ck_assert_double_eq_tol(T[2], r * c * -F[1] + r * s * F[0], 1e-11); /* -r e2 x F */
  run(t, 1e-11);
  ck_assert_double_eq_tol(entries(y)[0], r * c - xi + xi * cos(rate * t), 1e-8);
  ck_assert_double_eq_tol(entries(y)[1], r * s, 1e-8);
  ck_assert_double_eq_tol(entries(y)[2], -xi * sin(rate * t), 1e-8);
  clear();
}
END_TEST

/* A weight that falls along a line and turns a flywheel: acceleration m g / (m + I), and the energy
 * is conserved. */
START_TEST(a_flywheel_slows_a_falling_weight) {
  const sunrealtype m = 2, I = 3, t = 0.9, acc = m * G / (m + I);
  create(3);
  body_at("weight", m, 0, 0, 0);
  joint_at("guide", CP_JOINT_PRISMATIC, NULL, "weight", 0, 0, (sunrealtype[]){0, -1, 0});
  const CPSpring wheel = {CP_NEW_SPRING("wheel"), .of = {"guide", 0}, .inertance = I};
  ADD(CPBodiesAdd(bodies, &wheel.head, NULL));
  start();
  run(t, 1e-11);
  sunrealtype x, rate;
  CPPowers p = CP_INIT(CPPowers);
  ck_assert_int_eq(
      CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "guide"), y, &x, &rate),
      CP_SUCCESS);
  ck_assert_double_eq_tol(x, acc * t * t / 2, 1e-9);
  ck_assert_double_eq_tol(rate, acc * t, 1e-9);
  ck_assert_int_eq(CPMechGetPowers(mech, t, y, NULL, &p), CP_SUCCESS);
  ck_assert_double_eq_tol(p.kinetic, (m + I) * acc * acc * t * t / 2, 1e-8);
  ck_assert_double_eq_tol(p.kinetic + p.potential, 0, 1e-8);
  clear();
}
END_TEST

/* A torsion spring with its free angle at 2.5 rad pulls a body from 0 beyond it, to more than 3.14:
 * J phi'' = -k (phi - 2.5). */
START_TEST(a_torsion_spring_acts_around_its_free_angle) {
  const sunrealtype J = 0.5, k = 2, t = 1.9;
  create(3);
  body_at("disc", 1, 0, 0, 0); /* with J_zz = 0.5 */
  joint_at("pivot", CP_JOINT_REVOLUTE, NULL, "disc", 0, 0, (sunrealtype[]){0, 0, 1});
  const CPSpring spring = {CP_NEW_SPRING("spring"), .of = {"pivot", 0}, .stiffness = k, .free = 2.5};
  ADD(CPBodiesAdd(bodies, &spring.head, NULL));
  start();
  run(t, 1e-11);
  sunrealtype x, rate;
  CPPowers p              = CP_INIT(CPPowers);
  const sunrealtype angle = 2.5 - 2.5 * cos(sqrt(k / J) * t); /* 4.477 */
  ck_assert_int_eq(
      CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "pivot"), y, &x, &rate),
      CP_SUCCESS);
  ck_assert_double_eq_tol(x, angle - 4 * acos(0.0), 1e-8);
  ck_assert_int_eq(CPMechGetPowers(mech, t, y, NULL, &p), CP_SUCCESS);
  ck_assert_double_eq_tol(p.kinetic + p.potential, k * 2.5 * 2.5 / 2, 1e-8);
  clear();
}
END_TEST

/* A ball turns about its centre against a drag d with exp(-d t / J), and its energy dissipates. */
START_TEST(drag_brakes_a_turning_ball) {
  const sunrealtype J = 0.5, d = 0.2, t = 3, w[] = {2, -1, 0.5}, left = exp(-d * t / J);
  create(3);
  const CPBody body       = {CP_NEW_BODY("ball"), .mass = 1, .inertia = {J, J, J},
                             .omega = {w[0], w[1], w[2]}};
  const CPBushing bushing = {CP_NEW_BUSHING("oil"), .b = "ball", .drag = d};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
  joint_at("socket", CP_JOINT_BALL, NULL, "ball", 0, 0, (sunrealtype[]){0, 0, 1});
  ADD(CPBodiesAdd(bodies, &bushing.head, NULL));
  ADD(CPBodiesSetBalance(bodies));
  start();
  run(t, 1e-11);
  sunrealtype x[3], v[3];
  ck_assert_int_eq(
      body_point(mech, thing_named(bodies, CP_BODY, "ball"), (sunrealtype[]){0, 0, 0}, y, x, v),
      CP_SUCCESS);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(entries(y)[7 + 3 + k], w[k] * left, 1e-9);
  ck_assert_double_eq_tol(entries(y)[13], J * 5.25 / 2 * (left * left - 1), 1e-9);
  clear();
}
END_TEST

/* Gears of 20 and 30 teeth turn many times, and the ratio remains exact. Then a rack. */
START_TEST(gears_keep_their_ratio_over_many_turns) {
  create(_i + 2);
  body_at("one", 1, 0, 0, 0);
  body_at("two", 2, 1, 0, 0);
  body_at("rack", 2, 2, 0, 0);
  joint_at("p1", CP_JOINT_REVOLUTE, NULL, "one", 0, 0, (sunrealtype[]){0, 0, 1});
  joint_at("p2", CP_JOINT_REVOLUTE, NULL, "two", 1, 0, (sunrealtype[]){0, 0, 1});
  joint_at("s", CP_JOINT_PRISMATIC, NULL, "rack", 2, 0, (sunrealtype[]){1, 0, 0});
  const CPCoupler gear = {CP_NEW_COUPLER("gear"), .of = {{"p1", 0}, {"p2", 0}}, .ratio = {20, 30}};
  const CPCoupler rack = {CP_NEW_COUPLER("gearrack"), .of = {{"s", 0}, {"p2", 0}},
                          .ratio = {1, 0.3}};
  const CPDrive drive  = {CP_NEW_DRIVE("motor"), .of = {"p1", 0}, .rate = 40, .amplitude = 0.5,
                          .frequency = 2};
  ADD(CPBodiesAdd(bodies, &gear.head, NULL));
  ADD(CPBodiesAdd(bodies, &rack.head, NULL));
  ADD(CPBodiesAdd(bodies, &drive.head, NULL));
  start();
  ck_assert_msg(CPMechAssemble(mech, 0, y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  run(2, 1e-9);
  sunrealtype x, rate;
  const sunrealtype turned = 80 + 0.5 * sin(4);
  ck_assert_int_eq(CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "p2"), y, &x, &rate),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(remainder(x + turned * 2 / 3, 4 * acos(0.0)), 0, 1e-8);
  ck_assert_double_eq_tol(rate, -(40 + cos(4)) * 2 / 3, 1e-7);
  if (_i == 0) ck_assert_double_eq_tol(x, -turned * 2 / 3, 1e-8); /* the plane counts turns */
  ck_assert_int_eq(CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "s"), y, &x, &rate),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(x, 0.3 * turned * 2 / 3, 1e-7);
  clear();
}
END_TEST

/* Assembly: a four-bar linkage from a guess that is off by some centimetres closes, with the crank held */
/* A four-bar linkage of cranks of 1 and 1.5, a rod of 2 and a base of 2.2 m, by a guess whose hinges are open */
static void rough_four_bar(sunrealtype spin, sunrealtype velocity) {
  create(2);
  const CPBody crank = {CP_NEW_BODY("crank"),  .mass = 1,
                        .inertia = {0, 0, 1},  .angle = 1.2,
                        .omega = {0, 0, spin}, .velocity = {velocity}};
  const CPBody rod_  = {CP_NEW_BODY("rod"), .mass = 1, .inertia = {0, 0, 1}, .position = {0.3, 0.9},
                        .angle = 0.1};
  const CPBody arm   = {CP_NEW_BODY("arm"), .mass = 1, .inertia = {0, 0, 1}, .position = {2, 0.1},
                        .angle = 1.4};
  ADD(CPBodiesAdd(bodies, &crank.head, NULL));
  ADD(CPBodiesAdd(bodies, &rod_.head, NULL));
  ADD(CPBodiesAdd(bodies, &arm.head, NULL));
  const struct {
    const char *name, *a, *b;
    sunrealtype at_a, at_b;
  } hinges[] = {{"A", NULL, "crank", 0, 0},
                {"B", "crank", "rod", 1, 0},
                {"C", "rod", "arm", 2, 1.5},
                {"D", NULL, "arm", 2.2, 0}};
  for (int i = 0; i < 4; i++) {
    const CPJoint joint = {CP_NEW_JOINT(hinges[i].name),
                           .kind       = CP_JOINT_REVOLUTE,
                           .a          = hinges[i].a,
                           .b          = hinges[i].b,
                           .in         = CP_IN_BODIES,
                           .on_a.point = {hinges[i].at_a},
                           .on_b.point = {hinges[i].at_b}};
    ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  }
  start();
}

static void assemble(const char *held) {
  ck_assert_msg(CPMechAssemble(mech, 0, y, &(CPAssembly){CP_SIZED(CPAssembly), .held = held}) ==
                    CP_SUCCESS,
                "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
}

START_TEST(a_rough_guess_is_assembled) {
  rough_four_bar(0, 0);
  assemble("crank");
  ck_assert_double_eq(entries(y)[2], 1.2);
  for (int i = 0; i < 4; i++) {
    sunrealtype P[12];
    ck_assert_int_eq(CPMechGetPoints(mech, CP_JOINT, i, y, P), CP_SUCCESS);
    ck_assert_double_le(hypot(P[0] - P[3], P[1] - P[4]), 1e-9);
  }
  clear();
}
END_TEST

/* A held body keeps all its velocities or, if the hinge does not let it move, only its angular
 * velocity. The loop's velocities follow from that of the crank alone. */
START_TEST(a_held_body_keeps_the_velocities_that_are_possible) {
  rough_four_bar(3, _i ? 0.5 : 0);
  assemble("crank");
  const sunrealtype *u = entries(y) + 9;
  ck_assert_double_eq(entries(y)[2], 1.2);
  ck_assert_double_eq(u[2], 3);
  for (int k = 0; k < 2; k++) ck_assert_double_le(fabs(u[k]), 1e-9); /* the hinge is its centre */
  for (int i = 0; i < 4; i++) { /* velocities of both points of each hinge, r' + omega x arm */
    sunrealtype P[12];
    const CPDescription joint = thing_at(bodies, CP_JOINT, i);
    const int body[2]         = {joint.a, joint.b};
    ck_assert_int_eq(CPMechGetPoints(mech, CP_JOINT, i, y, P), CP_SUCCESS);
    sunrealtype v[2][2] = {{0, 0}, {0, 0}};
    for (int side = 0; side < 2; side++)
      if (body[side] >= 0) {
        const sunrealtype *q = entries(y) + 3 * body[side], *w = u + 3 * body[side];
        v[side][0] = w[0] - w[2] * (P[3 * side + 1] - q[1]);
        v[side][1] = w[1] + w[2] * (P[3 * side] - q[0]);
      }
    for (int k = 0; k < 2; k++) ck_assert_double_le(fabs(v[0][k] - v[1][k]), 1e-9);
  }
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(bodies)), "");
  clear();
}
END_TEST

START_TEST(a_held_body_that_cannot_move_is_at_rest) {
  create(2);
  const CPBody bar    = {CP_NEW_BODY("bar"), .mass = 1, .inertia = {0, 0, 1}, .omega = {0, 0, 3}};
  const CPJoint clamp = {CP_NEW_JOINT("clamp"), .kind = CP_JOINT_FIXED, .b = "bar"};
  ADD(CPBodiesAdd(bodies, &bar.head, NULL));
  ADD(CPBodiesAdd(bodies, &clamp.head, NULL));
  start();
  assemble("bar");
  for (int k = 0; k < 6; k++) ck_assert_double_le(fabs(entries(y)[k]), 1e-9);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(bodies)), "");
  clear();
}
END_TEST

/* A query about one element does not take the time of all; otherwise this test takes minutes. */
START_TEST(parameters_and_points_of_many_thousand_elements_are_found) {
  enum { MANY = 40000 };
  char name[3][20], parameter[30];
  sunrealtype P[12];
  create(2);
  for (int i = 0; i < MANY; i++) {
    for (int k = 0; k < 3; k++) snprintf(name[k], sizeof name[k], "%c%d", "bjs"[k], i);
    const CPBody body = {CP_NEW_BODY(name[0]), .mass = 1 + i, .inertia = {0, 0, 1}, .position = {i}};
    const CPJoint rod     = {CP_NEW_JOINT(name[1]), .kind = CP_JOINT_ROD, .b = name[0],
                             .on_a.point = {i, 1}, .on_b.point = {i}};
    const CPSpring spring = {CP_NEW_SPRING(name[2]), .b = name[0], .point_a = {i, 2},
                             .point_b = {i}, .free = 1};
    ADD(CPBodiesAdd(bodies, &body.head, NULL));
    ADD(CPBodiesAdd(bodies, &rod.head, NULL));
    ADD(CPBodiesAdd(bodies, &spring.head, NULL));
  }
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  y = CPBodiesState(bodies, test_context);
  ck_assert_int_eq(CPBodiesCount(bodies, CP_SPRING), MANY);
  for (int i = 0; i < MANY; i++) {
    snprintf(parameter, sizeof parameter, "b%d.mass", i);
    ck_assert_double_eq(CPBodiesParameters(bodies)[thing_named(bodies, CP_PARAMETER, parameter)],
                        1 + i);
    ck_assert_int_eq(CPMechGetPoints(mech, CP_JOINT, i, y, P), CP_SUCCESS);
    ck_assert(P[0] == i && P[1] == 1 && P[3] == i && P[4] == 0);
    ck_assert_int_eq(CPMechGetPoints(mech, CP_SPRING, i, y, P), CP_SUCCESS);
    ck_assert(P[0] == i && P[1] == 2 && P[3] == i && P[4] == 0);
  }
  ck_assert_int_eq(thing_named(bodies, CP_PARAMETER, "b1.weight"), CP_ILL_INPUT);
  ck_assert_int_eq(thing_named(bodies, CP_PARAMETER, "b40000.mass"), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetPoints(mech, CP_SPRING, MANY, y, P), CP_ILL_INPUT);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

TEST_SUITE(reactions) {
  Suite *suite = suite_create("bodies/reactions");
  TCase *tc    = tcase_create("reactions");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_hanging_chain_pulls_with_its_weight, 0, 2);
  tcase_add_loop_test(tc, a_clamped_body_has_the_torque_of_its_weight, 0, 4);
  tcase_add_loop_test(tc, a_pendulum_pulls_with_its_centrifugal_force, 0, 2);
  tcase_add_loop_test(tc, a_rod_pulls_along_itself, 0, 2);
  tcase_add_loop_test(tc, a_drive_has_the_torque_of_the_weight, 0, 2);
  tcase_add_test(tc, friction_is_proportional_to_the_reaction);
  tcase_add_loop_test(tc, a_ball_rolls_down_an_incline, 0, 2);
  tcase_add_loop_test(tc, a_tilted_disc_circles_steadily, 0, 2);
  tcase_add_test(tc, a_flywheel_slows_a_falling_weight);
  tcase_add_test(tc, a_torsion_spring_acts_around_its_free_angle);
  tcase_add_test(tc, drag_brakes_a_turning_ball);
  tcase_add_loop_test(tc, gears_keep_their_ratio_over_many_turns, 0, 2);
  tcase_add_test(tc, a_rough_guess_is_assembled);
  tcase_add_loop_test(tc, a_held_body_keeps_the_velocities_that_are_possible, 0, 2);
  tcase_add_test(tc, a_held_body_that_cannot_move_is_at_rest);
  tcase_add_test(tc, parameters_and_points_of_many_thousand_elements_are_found);
  suite_add_tcase(suite, tc);
  return suite;
}
