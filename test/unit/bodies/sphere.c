/* Elastic spheres on planes and spheres: the law against its closed form, the restitution of a bounce, and derivatives. */
#include "one.h"

#include <math.h>

static const CPElasticSphere soft = {CP_NEW_SPHERE("soft"), .b = "ball",     .in = CP_IN_BODIES,
                                     .radius = 0.3,         .modulus = 2e4,  .damping = 0.2,
                                     .friction = 0.4,       .sticking = 0.7, .viscous = 0.05,
                                     .speed = 0.1,          .share = 0.25};

static double coefficient(double s) {
  const double q = s / soft.speed;
  return fmin(q, 1) * (0.4 + 2 * (0.7 - 0.4) / (1 + q * q)) + 0.05 * s;
}

/* A ball at the depth 0.05 in the plane z = 0, or above a ball of radius 0.6, that sinks at 0.8, slides along x, and spins about y: at
 * the place of contact, 0.3 - 0.75 0.05 below its centre, the slip is vx - 0.2625 wy */
START_TEST(forces_are_those_of_the_law) {
  static const double slip[] = {0, 0.02, 0.0999, 0.1001, 0.5, -3};
  const double x = 0.05, sinking = 0.8, lever = 0.3 - 0.75 * x, wy = 2;
  for (int k = 0; k < 12; k++) {
    const double s = slip[k % 6], on_ball = k < 6 ? 0 : 0.6, height = on_ball + 0.3 - x,
                 R       = on_ball > 0 ? 0.6 * 0.3 / 0.9 : 0.3;
    const CPBody parts[] = {{CP_NEW_BODY("ball"), .mass = 2, .inertia = {0.1, 0.1, 0.1},
                             .centre = {0.02, -0.01, 0.03}, .position = {0, 0, height},
                             .velocity = {s + lever * wy, 0, -sinking}, .omega = {0, wy, 0}},
                            {CP_NEW_BODY("other"), .mass = 3, .inertia = {0.1, 0.1, 0.1}}};
    CPElasticSphere own  = soft;
    begin(3, NULL);
    for (int i = 0; i < 2; i++) add_element(bodies, &parts[i].head);
    own.radius_a = on_ball;
    if (on_ball > 0) own.a = "other";
    add_element(bodies, &own.head);
    build((CPFormulation)_i);
    const double N = 4.0 / 3 * 2e4 * sqrt(R) * pow(x, 1.5) * (1 + 1.5 * 0.2 * sinking),
                 T = -copysign(N * coefficient(fabs(s)), s), rounding = 1e-13 * N;
    const double force[] = {T, 0, N}, torque[] = {0, -lever * T, 0};
    ck_assert_double_eq_tol(quantity("soft.load", 0), N, rounding);
    for (int i = 0; i < 3; i++) {
      ck_assert_double_eq_tol(quantity("soft.force", i), force[i], rounding);
      ck_assert_double_eq_tol(quantity("soft.torque", i), torque[i], rounding);
    }
    ck_assert_double_eq_tol(quantity("soft.power", 0), T * s - N * sinking, 10 * rounding);
    stop();
  }
}
END_TEST

/* Above the surface, and where it parts faster than the material expands */
START_TEST(a_sphere_does_not_pull) {
  static const double height[] = {0.3000001, 0.29}, velocity[] = {-3, 3.34};
  for (int k = 0; k < 2; k++) {
    const CPBody ball = {CP_NEW_BODY("ball"), .mass = 2, .inertia = {0.1, 0.1, 0.1},
                         .position = {0, 0, height[k]}, .velocity = {4, 1, velocity[k]}};
    begin(3, NULL);
    add_element(bodies, &ball.head);
    add_element(bodies, &soft.head);
    build(CP_ABSOLUTE);
    for (int i = 0; i < 3; i++) ck_assert_double_eq(quantity("soft.force", i), 0);
    stop();
  }
}
END_TEST

/* Without gravity and friction a ball leaves with the velocity v+ of Hunt and Crossley: with w = 3/2 damping
 *   v dv = -(k / m) x^(3/2) (1 + w v) dx, in and out along the same x:   F(v) = v / w - log(1 + w v) / w^2 has F(v-) = F(-v+)
 * The force is not smooth where x = 0. A step h that begins or ends the contact errs by its impulse at most, h (k / m) (v h)^(3/2) (1 + w v). */
START_TEST(a_bounce_has_the_restitution_of_hunt_and_crossley) {
  const double v = 1.5, w = 1.5 * 0.2, tol = 1e-9, h = _i % 2 ? 1e-4 : 4e-4,
               k      = 4.0 / 3 * 2e4 * sqrt(0.3),
               bound  = 2 * h * k / 2 * pow(v * h, 1.5) * (1 + w * v) + 10 * tol;
  const CPBody ball   = {CP_NEW_BODY("ball"), .mass = 2, .inertia = {0.1, 0.1, 0.1},
                         .position = {0, 0, 0.31}, .velocity = {0, 0, -v}};
  CPElasticSphere own = soft;
  CPPowers p          = {CP_SIZED(CPPowers)};
  sunrealtype t;
  double out   = 0.9 * v;
  own.friction = own.sticking = own.viscous = 0;
  begin(3, NULL);
  add_element(bodies, &ball.head);
  add_element(bodies, &own.head);
  ck_assert_int_eq(CPBodiesSetBalance(bodies), CP_SUCCESS);
  build((CPFormulation)(_i / 2));
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxStep(mem, h), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 10000), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.5, y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
  for (int i = 0; i < 50; i++) { /* Newton's method, F'(-out) = out / (1 - w out) */
    const double F = v / w - log(1 + w * v) / (w * w) + out / w + log(1 - w * out) / (w * w);
    out -= F / (1 / w - 1 / (w * (1 - w * out)));
  }
  ck_assert_double_gt(v - out, 0.3);
  ck_assert_double_eq_tol(quantity("soft.velocity", 2), out, bound);
  ck_assert_int_eq(CPMechGetPowers(mech, t, y, NULL, &p), CP_SUCCESS);
  ck_assert_double_eq_tol(p.kinetic + p.potential - entries(y)[N_VGetLength(y) - 1], 2 * v * v / 2,
                          bound);
  stop();
}
END_TEST

/* K and C between bodies of a tree, on planes of a body and on balls, sticking and sliding */
START_TEST(all_derivatives_are_exact) {
  const CPBody parts[] = {{CP_NEW_BODY("base"), .mass = 3, .inertia = {0.3, 0.2, 0.4},
                           .position = {0.1, 0.05, 0.02}, .centre = {0.1, 0, -0.1}},
                          {CP_NEW_BODY("arm"), .mass = 2, .inertia = {0.1, 0.2, 0.1},
                           .position = {0.2, 0.1, 0.3}, .centre = {0, 0.05, 0.01}},
                          {CP_NEW_BODY("ball"), .mass = 1, .inertia = {0.1, 0.1, 0.2},
                           .position = {0, 0, 1}, .centre = {0.03, 0.02, 0}}};
  const CPJoint hinge  = {
       CP_NEW_JOINT("hinge"), .kind = CP_JOINT_REVOLUTE, .a = "arm",
       .b = "ball",           .in = CP_IN_SPACE,         .on_a = {{0, 0.3, 0.6}, {0.2, 1, 0}, {0}}};
  const int on_ball   = _i % 2;
  CPElasticSphere own = soft;
  unsigned int random = 11;
  double slow = 1e9, fast = 0;
  own.a = "base", own.modulus = 30, own.speed = 1, own.radius = 0.8;
  own.on_a.axis[0] = 0.2, own.on_a.axis[2] = 1, own.on_a.point[2] = on_ball ? 0.1 : 0.4;
  own.on_b.point[0] = 0.1, own.radius_a = on_ball ? 0.7 : 0;
  begin(3, NULL);
  for (int k = 0; k < 3; k++) add_element(bodies, &parts[k].head);
  add_element(bodies, &hinge.head);
  add_element(bodies, &own.head);
  build((CPFormulation)(_i / 2));
  for (int k = 0; k < 12; k++) {
    CPMechReport r  = CP_INIT(CPMechReport);
    N_Vector before = N_VClone(y);
    N_VScale(1, y, before);
    for (sunindextype i = 0; i < N_VGetLength(y); i++)
      entries(y)[i] += 0.1 * ((random = random * 1103515245u + 12345u) / 4294967296.0 - 0.5) *
                       (k % 2 && i > N_VGetLength(y) / 2 ? 20 : 1);
    const double N = quantity("soft.load", 0);
    ck_assert_double_gt(N, 0);
    const double F[] = {quantity("soft.force", 0), quantity("soft.force", 1),
                        quantity("soft.force", 2)};
    const double T   = sqrt(fmax(0, F[0] * F[0] + F[1] * F[1] + F[2] * F[2] - N * N)) / N;
    slow = fmin(slow, T), fast = fmax(fast, T);
    const int flag = CPMechCheck(mech, 0.3, y, &r);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_double_le(r.K, 1e-8);
    ck_assert_double_le(r.C, 1e-8);
    N_VScale(1, before, y);
    N_VDestroy(before);
  }
  ck_assert_double_lt(slow, 0.3);
  ck_assert_double_gt(fast, 0.5);
  stop();
}
END_TEST

START_TEST(wrong_spheres_are_named) {
  const CPBody ball = {CP_NEW_BODY("ball"), .mass = 1};
  CPElasticSphere own;
  begin(3, NULL);
  add_element(bodies, &ball.head);
#define REFUSED(change, words)                                          \
  own = soft, change;                                                   \
  ck_assert_int_eq(CPBodiesAdd(bodies, &own.head, NULL), CP_ILL_INPUT); \
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)), "soft: " words)
  REFUSED(own.radius = 0, "radius must be");
  REFUSED(own.radius_a = -1, "radius_a must");
  REFUSED(own.modulus = NAN, "modulus must be");
  REFUSED(own.damping = -1, "damping must");
  REFUSED(own.sticking = INFINITY, "sticking must");
  REFUSED(own.speed = 0, "speed must be");
  REFUSED(own.share = 1.5, "share must be at most 1, and is 1.5");
  REFUSED(own.a = "ball", "");
  CPBodiesFree(&bodies);
  bodies = CPBodiesCreate(2, NULL);
  add_element(bodies, &ball.head);
  ck_assert_int_eq(CPBodiesAdd(bodies, &soft.head, NULL), CP_NOT_SUPPORTED);
  ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(bodies)),
                     "soft: there are no elastic spheres in the plane");
  CPBodiesFree(&bodies);
  test_context_teardown();
}
END_TEST

TEST_SUITE(sphere) {
  Suite *suite = suite_create("bodies/sphere");
  TCase *tc    = tcase_create("sphere");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, forces_are_those_of_the_law, CP_ABSOLUTE, CP_JOINT_COORDINATES + 1);
  tcase_add_test(tc, a_sphere_does_not_pull);
  tcase_add_loop_test(tc, a_bounce_has_the_restitution_of_hunt_and_crossley, 0, 4);
  tcase_add_loop_test(tc, all_derivatives_are_exact, 0, 4);
  tcase_add_test(tc, wrong_spheres_are_named);
  suite_add_tcase(suite, tc);
  return suite;
}
