/* A bicycle with two rolling discs against published linear equations of lean phi and steer delta at the speed v,
 *
 *   M x'' + v C1 x' + (g K0 + v^2 K2) x = 0,   x = (phi, delta)
 *
 * Source: J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Linearized dynamics equations for the balance and
 * steer of a bicycle, Proc. R. Soc. A 463, 2007, whose benchmark has the parameters below (x forwards and, here, z
 * upwards) and these matrices, which follow from a derivation by hand. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>

static const sunrealtype g        = 9.81,
                         M[2][2]  = {{80.81722, 2.31941332208709},
                                     {2.31941332208709, 0.29784188199686}},
                         C1[2][2] = {{0, 33.86641391492494}, {-0.85035641456978, 1.68540397397560}},
                         K0[2][2] = {{-80.95, -2.59951685249872},
                                     {-2.59951685249872, -0.80329488458618}},
                         K2[2][2] = {{0, 76.59734589573222}, {0, 2.65431523794604}};

/* xdot [4] of x = (phi, delta, phi', delta') */
static void linear(sunrealtype v, const sunrealtype *x, sunrealtype *xdot) {
  sunrealtype r[2] = {0};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      r[i] -= v * C1[i][j] * x[2 + j] + (g * K0[i][j] + v * v * K2[i][j]) * x[j];
  const sunrealtype det = M[0][0] * M[1][1] - M[0][1] * M[1][0];
  xdot[0]               = x[2];
  xdot[1]               = x[3];
  xdot[2]               = (M[1][1] * r[0] - M[0][1] * r[1]) / det;
  xdot[3]               = (M[0][0] * r[1] - M[1][0] * r[0]) / det;
}

/* The classical Runge-Kutta method with steps of 1 ms, whose error is below 1e-9 of x. */
static void advance(sunrealtype v, sunrealtype *x, int steps) {
  static const sunrealtype c[] = {0, 0.5e-3, 0.5e-3, 1e-3}, weight[] = {1, 2, 2, 1};
  for (int n = 0; n < steps; n++) {
    sunrealtype k[4] = {0}, sum[4] = {0}, stage[4];
    for (int s = 0; s < 4; s++) {
      for (int i = 0; i < 4; i++) stage[i] = x[i] + c[s] * k[i];
      linear(v, stage, k);
      for (int i = 0; i < 4; i++) sum[i] += weight[s] * k[i];
    }
    for (int i = 0; i < 4; i++) x[i] += 1e-3 / 6 * sum[i];
  }
}

static CPBodies bicycle(sunrealtype v, sunrealtype lean_rate) {
  const sunrealtype w = 1.02, trail = 0.08, tilt = SUN_RCONST(3.14159265358979324) / 10, R = 0.3,
                    F   = 0.35;
  const CPBody body[]   = {{CP_NEW_BODY("rear"),
                            2,
                            {0.0603, 0.12, 0.0603},
                            .position = {0, 0, R},
                            .velocity = {v},
                            .omega    = {0, v / R, 0}},
                           {CP_NEW_BODY("frame"),
                            85,
                            {9.2, 11, 2.8, 0, -2.4, 0},
                            .position = {0.3, 0, 0.9},
                            .velocity = {v},
                            .omega    = {lean_rate, 0, 0}},
                           {CP_NEW_BODY("fork"),
                            4,
                            {0.05892, 0.06, 0.00708, 0, 0.00756, 0},
                            .position = {0.9, 0, 0.7},
                            .velocity = {v}},
                           {CP_NEW_BODY("front"),
                            3,
                            {0.1405, 0.28, 0.1405},
                            .position = {w, 0, F},
                            .velocity = {v},
                            .omega    = {0, v / F, 0}}};
  const CPJoint joint[] = {
      {CP_NEW_JOINT("hub"), CP_JOINT_REVOLUTE, "frame", "rear", .on_a = {{0, 0, R}, {0, 1, 0}}},
      {CP_NEW_JOINT("head"), CP_JOINT_REVOLUTE, "frame", "fork",
       .on_a = {{w + trail, 0, 0}, {-sin(tilt), 0, cos(tilt)}}},
      {CP_NEW_JOINT("axle"), CP_JOINT_REVOLUTE, "fork", "front", .on_a = {{w, 0, F}, {0, 1, 0}}},
      {CP_NEW_JOINT("road"), CP_JOINT_ROLLING_DISC, NULL, "rear", .on_b = {{0, 0, R}, {0, 1, 0}},
       .length = R},
      {CP_NEW_JOINT("path"), CP_JOINT_ROLLING_DISC, NULL, "front", .on_b = {{w, 0, F}, {0, 1, 0}},
       .length = F}};
  CPBodies b = CPBodiesCreate(3, NULL);
  ck_assert_int_eq(set_gravity(b, (sunrealtype[]){0, 0, -g}), CP_SUCCESS);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(CPBodiesAdd(b, &body[i].head, NULL), CP_SUCCESS);
  for (int i = 0; i < 5; i++) ck_assert_int_eq(CPBodiesAdd(b, &joint[i].head, NULL), CP_SUCCESS);
  return b;
}

/* Lean is positive to the right as in the paper; steer is an angle about the axis that points downwards there. */
static void measure(CPBodies b, CPMech mech, N_Vector y, sunrealtype *x) {
  sunrealtype steer, rate, hub[3], side[3];
  const sunrealtype *omega = entries(y) + 4 * 7 + 6 + 3; /* of the frame, in its own axes */
  ck_assert_int_eq(CPMechGetCoordinate(mech, thing_named(b, CP_COORDINATE, "head"), y, &steer, &rate),
                   CP_SUCCESS);
  ck_assert_int_eq(
      body_point(mech, thing_named(b, CP_BODY, "frame"), (sunrealtype[]){0, 0, 0}, y, hub, NULL),
      CP_SUCCESS);
  ck_assert_int_eq(
      body_point(mech, thing_named(b, CP_BODY, "frame"), (sunrealtype[]){0, 1, 0}, y, side, NULL),
      CP_SUCCESS);
  x[0] = asin(side[2] - hub[2]);
  x[1] = -steer;
  x[2] = omega[0];
  x[3] = -rate;
}

/* Quadratic terms vanish by symmetry, and cubic ones are 1e-9 of x, which grows to some 1e-5. The motion is integrated to
 * 1e-13. The speeds are below, within and above the range in which the bicycle is stable by itself, 4.29 to 6.02 m/s. */
START_TEST(a_bicycle_moves_as_in_the_paper) {
  static const sunrealtype speed[] = {3, 5, 7};
  const sunrealtype v              = speed[_i / 2];
  CPBodies b                       = bicycle(v, 1e-5);
  CPMech mech;
  sunrealtype x[4], measured[4], t = 0, largest = 0, error = 0;
  ck_assert_int_eq(build_mech(b, &mech), CP_SUCCESS);
  N_Vector y       = CPBodiesState(b, test_context);
  CPIntegrator mem = CPIntegratorCreate(_i % 2 ? "RADAU" : "DOP853", test_context);
  ck_assert_int_eq(CPMechAssemble(mech, 0, y, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-13, 1e-13), CP_SUCCESS);
  measure(b, mech, y, x);
  for (int k = 1; k <= 20; k++) {
    ck_assert_int_eq(CPIntegratorEvolve(mem, 0.1 * k, y, &t, CV_NORMAL), CP_SUCCESS);
    measure(b, mech, y, measured);
    advance(v, x, 100);
    for (int i = 0; i < 4; i++) {
      largest = fmax(largest, fabs(x[i]));
      error   = fmax(error, fabs(measured[i] - x[i]));
    }
  }
  ck_assert_double_le(error, 1e-6 * largest);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  CPBodiesFree(&b);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(bicycle) {
  Suite *suite = suite_create("bodies/bicycle");
  TCase *tc    = tcase_create("bicycle");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_bicycle_moves_as_in_the_paper, 0, 6);
  suite_add_tcase(suite, tc);
  return suite;
}
