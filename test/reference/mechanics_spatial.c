/* Rigid bodies with quaternions against closed forms: Euler's top (Jacobi's elliptic functions),
 * Lagrange's top (its first integrals), a body on an inclined axle (the pendulum's period). */
#include "support/mech_run.h"

#include "models/elliptic.h"
#include "models/rigid_body.h"
#include "reference.h"
#include <math.h>

#define ROUNDOFF SUN_RCONST(1.2e-16) /* of one operation */

static const sunrealtype PI = SUN_RCONST(3.14159265358979323846);

/* Bits of the loop index: frame, method, storage of the matrices */
static CPFrame frame_of(int index) { return index & 1 ? CP_FRAME_WORLD : CP_FRAME_BODY; }
static int method_of(int index) { return index & 2 ? CV_BDF : CV_ADAMS; }
static int sparse_of(int index) { return index >> 2 & 1; }

static MechRun *run_of(RigidBodies *bodies, int sparse, N_Vector y0) {
  CPEquations model;
  CPQuaternion quaternion;
  bodies->quaternion = &quaternion; /* of the one body */
  ck_assert_int_eq(rigid_body_model(bodies, sparse, test_context, &model), 0);
  MechRun *run = mech_run_create(&model, bodies, entries(y0));
  rigid_body_model_free(&model);
  return run;
}

static sunrealtype distance3(const sunrealtype *a, const sunrealtype *b) {
  return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* ------------------------------------------------------------------------------- Euler's top -- */

/* Principal moments J_1 < J_2 < J_3, start without u_2: L. D. Landau, E. M. Lifshitz, Mechanics,
   1976, 37.10 */
static const RigidBody EULER      = {.m = 1, .J = {1, 2, 3}};
static const sunrealtype START[3] = {1, 0, 1.2};

static void euler_exact(sunrealtype t, sunrealtype u[3]) {
  const sunrealtype *J = EULER.J;
  sunrealtype E2 = 0, M2 = 0;
  for (int i = 0; i < 3; i++) {
    E2 += J[i] * START[i] * START[i];
    M2 += J[i] * J[i] * START[i] * START[i];
  }
  const sunrealtype high = E2 * J[2] - M2, low = M2 - E2 * J[0];
  const sunrealtype m  = (J[1] - J[0]) * high / ((J[2] - J[1]) * low);
  const sunrealtype am = elliptic_amplitude(t * sqrt((J[2] - J[1]) * low / (J[0] * J[1] * J[2])), m);
  u[0]                 = sqrt(high / (J[0] * (J[2] - J[0]))) * cos(am);
  u[1]                 = sqrt(high / (J[1] * (J[2] - J[1]))) * sin(am);
  u[2]                 = sqrt(low / (J[2] * (J[2] - J[0]))) * sqrt(1 - m * sin(am) * sin(am));
}

static MechRun *euler_run(RigidBodies *top, int index) {
  const sunrealtype zero[3] = {0, 0, 0};
  *top                      = (RigidBodies){.nbodies = 1, .body = &EULER, .frame = frame_of(index)};
  N_Vector y                = vector_of(13, NULL);
  rigid_body_place(top, 0, zero, zero, zero, START, y);
  MechRun *run = run_of(top, sparse_of(index), y);
  N_VDestroy(y);
  return run;
}

static sunrealtype norm_error(N_Vector y) {
  const sunrealtype *q = entries(y) + 3;
  return fabs(sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) - 1);
}

/* A perturbed angular velocity changes the rates of the motion by about as much: errors grow by
   1 + 2 t. */
START_TEST(euler_top_is_jacobis) {
  RigidBodies top;
  MechRun *run            = euler_run(&top, _i);
  const sunrealtype L0[3] = {1, 0, 3.6}, t_end = 20;
  const sunrealtype energy0 = rigid_body_energy(&top, run->y);
  mech_run_start(run, method_of(_i), 1e-8);
  for (int i = 1; i <= 10; i++) {
    sunrealtype exact[3], omega[3], body[3], L[3];
    mech_run_to(run, i * t_end / 10);
    euler_exact(run->t, exact);
    rigid_body_omega(&top, 0, run->y, omega);
    for (int k = 0; k < 3; k++) { /* components along the body's axes */
      sunrealtype axis[3] = {k == 0, k == 1, k == 2};
      rigid_body_direction(&top, 0, run->y, axis);
      body[k] = axis[0] * omega[0] + axis[1] * omega[1] + axis[2] * omega[2];
    }
    ck_assert_double_le(distance3(body, exact), mech_run_bound(run, 1.6, 1 + 2 * t_end));

    /* |L| and 2 E are below 4 and 6, their derivatives below 8 and 6 */
    rigid_body_momentum(&top, run->y, L);
    ck_assert_double_le(distance3(L, L0), mech_run_bound(run, 1.6, 8));
    ck_assert_double_le(fabs(rigid_body_energy(&top, run->y) - energy0),
                        mech_run_bound(run, 1.6, 6));
    ck_assert_double_le(norm_error(run->y), 1e-12);
  }
  mech_run_free(&run);
}
END_TEST

/* The specification's bounds for a free body: 1,000 revolutions, tol 1e-9 */
START_TEST(thousand_revolutions_keep_norm_energy_and_momentum) {
  RigidBodies top;
  MechRun *run            = euler_run(&top, _i);
  const sunrealtype L0[3] = {1, 0, 3.6}, zero[3] = {0, 0, 0}, t_end = 1000 * 2 * PI / hypot(1, 1.2);
  const sunrealtype energy0 = rigid_body_energy(&top, run->y);
  sunrealtype norm = 0, energy = 0, momentum = 0;
  mech_run_start(run, CV_ADAMS, 1e-9);
  for (int i = 1; i <= 100; i++) {
    sunrealtype L[3];
    mech_run_to(run, i * t_end / 100);
    rigid_body_momentum(&top, run->y, L);
    norm     = fmax(norm, norm_error(run->y));
    energy   = fmax(energy, fabs(rigid_body_energy(&top, run->y) / energy0 - 1));
    momentum = fmax(momentum, distance3(L, L0) / distance3(L0, zero));
  }
  if (wants_figures())
    printf("1,000 revolutions, %s axes: %ld steps, norm %.1e, energy %.1e, momentum %.1e\n",
           _i ? "space" : "body", mech_run_steps(run), norm, energy, momentum);
  ck_assert_double_le(norm, 1e-12);
  ck_assert_double_le(energy, 1e-5);
  ck_assert_double_le(momentum, 1e-5);
  mech_run_free(&run);
}
END_TEST

/* ---------------------------------------------------------------------------- Lagrange's top -- */

/* On its tip, a distance l below the centre; released at rest but for the spin, so that it nods.
   With c = cos(tilt), A = J_1 + m l^2, a = J_3 w_3 / A, beta = 2 m g l / A and the upper turning
   point c_0,

     c'^2 = (c_0 - c) (beta (1 - c^2) - a^2 (c_0 - c))

   (H. Goldstein, C. Poole, J. Safko, Classical Mechanics, 2002, 5.62 with the cusp's constants). */
START_TEST(lagrange_top_nods_by_its_cubic) {
  const sunrealtype l = 0.1, g = 9.81, tilt = 0.5, spin = 40, t_end = 2;
  const RigidBody body   = {.m = 1, .J = {0.02, 0.02, 0.01}};
  const Joint tip        = {.kind = JOINT_BALL, .a = 0, .b = GROUND, .point_a = {0, 0, -l}};
  RigidBodies top        = {.nbodies = 1,
                            .njoints = 1,
                            .body    = &body,
                            .joint   = &tip,
                            .g       = {0, 0, -g},
                            .frame   = frame_of(_i)};
  const sunrealtype r[3] = {0, -l * sin(tilt), l * cos(tilt)}, turn[3] = {tilt, 0, 0};
  const sunrealtype zero[3] = {0, 0, 0}, omega0[3] = {0, spin * r[1] / l, spin * r[2] / l};
  const sunrealtype A = body.J[0] + body.m * l * l, a = body.J[2] * spin / A;
  const sunrealtype beta = 2 * body.m * g * l / A, c0 = cos(tilt);
  N_Vector y = vector_of(13, NULL);
  rigid_body_place(&top, 0, r, turn, zero, omega0, y);
  MechRun *run       = run_of(&top, sparse_of(_i), y);
  sunrealtype lowest = c0;
  mech_run_start(run, method_of(_i), 1e-9);

  /* The angular velocity is off by the local errors of the steps. The top nods with frequency a, so
   * that c is off by an a-th of that, which the cubic multiplies by about beta + 2 a^2
   * (c_0 - c) < 11 a; c'^2 is off by 2 |c'| < 4 times it. The phase does not enter. */
  for (int i = 1; i <= 200; i++) {
    sunrealtype axis[3] = {0, 0, 1}, omega[3];
    mech_run_to(run, i * t_end / 200);
    rigid_body_direction(&top, 0, run->y, axis);
    rigid_body_omega(&top, 0, run->y, omega);
    const sunrealtype c = axis[2], c_rate = omega[0] * axis[1] - omega[1] * axis[0];
    const sunrealtype cubic = (c0 - c) * (beta * (1 - c * c) - a * a * (c0 - c));
    ck_assert_double_le(fabs(c_rate * c_rate - cubic), mech_run_bound(run, spin, 15));
    ck_assert_double_le(norm_error(run->y), 1e-12);
    lowest = fmin(lowest, c);
  }
  /* The top descends to the cubic's other root; outputs miss that by at most (c'' / 2) (t_end /
   * 400)^2, |c''| < beta + a^2. */
  const sunrealtype p = a * a / beta, root = (p - sqrt(p * p - 4 * (p * c0 - 1))) / 2;
  ck_assert_double_ge(lowest, root - mech_run_bound(run, spin, 1));
  ck_assert_double_le(lowest, root + (beta + a * a) / 2 * pow(t_end / 400, 2));
  mech_run_free(&run);
  N_VDestroy(y);
}
END_TEST

/* ---------------------------------------------------------------- a body on an inclined axle -- */

/* Revolute joint on the ground, the axle along x, out of the vertical by `lean`: what swings the
   body is g sin(lean), at the distance l from the axle. Released at rest at phi_0 from where it
   hangs, it is at -phi_0 after half the period

     T = 2 pi sqrt(J / (m g sin(lean) l)) / agm(1, cos(phi_0 / 2)),   J = J_1 + m l^2 */
static sunrealtype agm(sunrealtype a, sunrealtype b) {
  while (fabs(a - b) > 4 * ROUNDOFF * a) {
    const sunrealtype mean = (a + b) / 2;
    b                      = sqrt(a * b);
    a                      = mean;
  }
  return a;
}

static void hang(const RigidBodies *bodies, sunrealtype l, sunrealtype phi, N_Vector y) {
  const sunrealtype r[3] = {0, l * sin(phi), -l * cos(phi)}, turn[3] = {phi, 0, 0};
  const sunrealtype zero[3] = {0, 0, 0};
  rigid_body_place(bodies, 0, r, turn, zero, zero, y);
}

/* A perturbed amplitude changes the period: errors grow by 1 + rate T, velocities by the rate
   more. */
START_TEST(axle_pendulum_has_its_period) {
  const sunrealtype l = 0.5, g = 9.81, phi0 = 1.2, lean = 0.9;
  const RigidBody body    = {.m = 2, .J = {0.3, 0.2, 0.4}};
  const Joint axle        = {.kind    = JOINT_REVOLUTE,
                             .a       = 0,
                             .b       = GROUND,
                             .point_a = {0, 0, l},
                             .axis_a  = {1, 0, 0},
                             .axis_b  = {1, 0, 0}};
  RigidBodies bodies      = {.nbodies = 1,
                             .njoints = 1,
                             .body    = &body,
                             .joint   = &axle,
                             .g       = {g * cos(lean), 0, -g * sin(lean)},
                             .frame   = frame_of(_i)};
  const sunrealtype J     = body.J[0] + body.m * l * l;
  const sunrealtype rate  = sqrt(body.m * g * sin(lean) * l / J);
  const sunrealtype half  = PI / rate / agm(1, cos(phi0 / 2));
  sunrealtype reaction[6] = {0};
  CPMechOutput out        = {CP_SIZED(CPMechOutput), .reaction = reaction};
  N_Vector y              = vector_of(13, NULL);
  hang(&bodies, l, phi0, y);
  MechRun *run = run_of(&bodies, sparse_of(_i), y);
  mech_run_start(run, method_of(_i), 1e-9);

  for (int i = 1; i <= 4; i++) {
    mech_run_to(run, i * half);
    hang(&bodies, l, i % 2 ? -phi0 : phi0, y);
    const sunrealtype bound = mech_run_bound(run, rate, (1 + rate) * (1 + rate * run->t));
    ck_assert_double_le(mech_run_error(run, 13, entries(y)), bound);

    /* at rest: the weight along the axle, and across it the part that does not swing the body */
    ck_assert_int_eq(CPMechEvaluate(run->mech, run->t, run->y, &out), CP_SUCCESS);
    ck_assert_int_eq(out.rank, 5);
    ck_assert(out.unique);
    const sunrealtype swing = rate * rate * sin(phi0); /* |phi''| */
    const sunrealtype up    = body.m * (g * sin(lean) - swing * l * sin(phi0));
    ck_assert_double_le(fabs(reaction[0] + body.m * g * cos(lean)), 100 * ROUNDOFF * body.m * g);
    ck_assert_double_le(fabs(reaction[2] - up), body.m * (g + rate * rate) * bound);
    ck_assert_double_le(norm_error(run->y), 1e-12);
  }
  mech_run_free(&run);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(mechanics_spatial) {
  Suite *suite = suite_create("mechanics_spatial");
  TCase *tcase = tcase_create("spatial");
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, euler_top_is_jacobis, 0, 8);
  tcase_add_loop_test(tcase, thousand_revolutions_keep_norm_energy_and_momentum, 0, 2);
  tcase_add_loop_test(tcase, lagrange_top_nods_by_its_cubic, 0, 8);
  tcase_add_loop_test(tcase, axle_pendulum_has_its_period, 0, 8);
  suite_add_tcase(suite, tcase);
  return suite;
}
