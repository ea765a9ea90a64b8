/* Frames of bodies: poses, Jacobians and biases against the points of bodies, and the terms of the equations of motion. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <string.h>

typedef struct {
  CPBodies bodies;
  CPMech mech;
  N_Vector y, ydot;
  int nq, nu;
} Built;

static void add(CPBodies b, const CPElement *element) {
  ck_assert_msg(CPBodiesAdd(b, element, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(b)));
}

/* A free body, and three that hang on a hinge, a ball joint and a slide; at a random state */
static void build(Built *b, CPFormulation formulation, int dimension, unsigned long long seed) {
  static const char *const names[] = {"drone", "arm", "hand", "drawer"};
  static const CPJointKind kinds[] = {CP_JOINT_NONE, CP_JOINT_REVOLUTE, CP_JOINT_BALL,
                                      CP_JOINT_PRISMATIC};
  const sunrealtype g[]            = {0.4, -9.81, dimension == 3 ? 1.2 : 0};
  const int in_space               = dimension == 3;
  b->bodies                        = CPBodiesCreate(dimension, g);
  for (int i = 0; i < 4; i++) {
    const CPBody body = {CP_NEW_BODY(names[i]), .mass = 1.5 - 0.2 * i, .inertia = {0.4, 0.5, 0.6},
                         .centre = {0.1, -0.2, 0.3 * in_space}, .position = {0.3 * i, 0.2, 0}};
    add(b->bodies, &body.head);
    if (i == 0 || (i == 2 && !in_space)) continue;
    const CPJoint joint = {CP_NEW_JOINT(i == 1   ? "shoulder"
                                        : i == 2 ? "wrist"
                                                 : "rail"),
                           .kind = kinds[i],
                           .a    = i == 1 ? NULL : "arm",
                           .b    = names[i],
                           .in   = CP_IN_BODIES,
                           .on_a = {.point = {0.3, 0.1, 0}, .axis = {i == 3, 0, in_space && i != 3}},
                           .on_b = {.point = {-0.2, 0, 0}, .axis = {i == 3, 0, in_space && i != 3}}};
    add(b->bodies, &joint.head);
  }
  ck_assert_int_eq(CPBodiesSetFormulation(b->bodies, formulation), CP_SUCCESS);
  ck_assert_msg(build_mech(b->bodies, &b->mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(b->bodies)));
  const CPEquations e = equations_of(b->mech);
  b->y                = CPBodiesState(b->bodies, test_context);
  b->ydot             = N_VClone(b->y);
  b->nu               = (int)e.nu;
  b->nq               = (int)(N_VGetLength(b->y) - e.nu);
  random_fill(b->y, &seed);
  for (int i = 0; i < e.nquaternions; i++) {
    sunrealtype *quaternion = entries(b->y) + e.quaternions[i].first_q, size = 0;
    for (int k = 0; k < 4; k++) size += quaternion[k] * quaternion[k];
    for (int k = 0; k < 4; k++) quaternion[k] /= sqrt(size);
  }
}

static void discard(Built *b) {
  N_VDestroy(b->y);
  N_VDestroy(b->ydot);
  CPMechFree(&b->mech);
  CPBodiesFree(&b->bodies);
}

static CPBodyFrame frame_at(Built *b, int body, const sunrealtype *point, N_Vector y,
                            sunrealtype *jacobian) {
  CPBodyFrame frame = {CP_SIZED(CPBodyFrame), .jacobian = jacobian};
  ck_assert_msg(CPMechGetFrame(b->mech, body, point, y, &frame) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(b->mech)));
  return frame;
}

static const sunrealtype tip[] = {0.25, -0.15, 0.1}, flat_tip[] = {0.25, -0.15, 0};

/* J u is the velocity. The rate of J u where u' = 0 is the bias: a difference of fourth order along q', whose error is h^4. */
START_TEST(jacobians_give_velocities_and_biases_their_rates) {
  const CPFormulation formulation = (CPFormulation)(_i % 2);
  const int dimension             = 2 + _i / 2;
  const sunrealtype h             = SUN_RCONST(1e-3);
  const sunrealtype *point        = dimension == 3 ? tip : flat_tip;
  Built b;
  build(&b, formulation, dimension, 7 + (unsigned long long)_i);
  N_Vector moved       = N_VClone(b.y);
  const sunrealtype *u = entries(b.y) + b.nq;
  sunrealtype J[6 * 24];
  ck_assert_int_le(b.nu, 24);
  ck_assert_int_ge(CPMechRhs(0, b.y, b.ydot, b.mech), 0);
  for (int i = 0; i < 4; i++) {
    const CPBodyFrame frame = frame_at(&b, i, point, b.y, J);
    sunrealtype x[3], v[3], rate[6] = {0}, slope[6] = {0};
    ck_assert_int_eq(CPMechGetPoint(b.mech, i, point, b.y, x, v), CP_SUCCESS);
    for (int k = 0; k < 3; k++) {
      ck_assert_double_eq_tol(frame.position[k], x[k], 1e-14);
      ck_assert_double_eq_tol(frame.velocity[k], v[k], 1e-14);
    }
    for (int j = 0; j < b.nu; j++)
      for (int k = 0; k < 6; k++) rate[k] += J[6 * j + k] * u[j];
    for (int k = 0; k < 3; k++) {
      ck_assert_double_eq_tol(frame.velocity[k], rate[k], 1e-13);
      ck_assert_double_eq_tol(frame.omega[k], rate[3 + k], 1e-13);
    }
    for (int side = -2; side <= 2; side++) {
      const sunrealtype weight = side == 0 ? 0 : (abs(side) == 1 ? 8 : -1) * (side > 0 ? 1 : -1);
      N_VScale(1, b.y, moved);
      for (int j = 0; j < b.nq; j++) entries(moved)[j] += side * h * entries(b.ydot)[j];
      const CPBodyFrame at = frame_at(&b, i, point, moved, NULL);
      for (int k = 0; k < 3; k++) {
        slope[k] += weight * at.velocity[k] / (12 * h);
        slope[3 + k] += weight * at.omega[k] / (12 * h);
      }
    }
    for (int k = 0; k < 6; k++) ck_assert_double_eq_tol(frame.bias[k], slope[k], 1e-8);
  }
  N_VDestroy(moved);
  discard(&b);
}
END_TEST

/* Axes are those along which points of the body lie, and the quaternion turns to them. */
START_TEST(axes_and_quaternions_are_those_of_the_frame) {
  Built b;
  build(&b, CP_JOINT_COORDINATES, 3, 11);
  for (int i = 0; i < 4; i++) {
    const CPBodyFrame frame = frame_at(&b, i, NULL, b.y, NULL);
    const sunrealtype *e    = frame.quaternion;
    ck_assert_double_ge(e[0], 0);
    for (int k = 0; k < 3; k++) {
      sunrealtype unit[3] = {k == 0, k == 1, k == 2}, x[3], w[3], turned[3];
      ck_assert_int_eq(CPMechGetPoint(b.mech, i, unit, b.y, x, NULL), CP_SUCCESS);
      /* x + 2 e_0 (e x x) + 2 e x (e x x) */
      for (int j = 0; j < 3; j++)
        w[j] = e[1 + (j + 1) % 3] * unit[(j + 2) % 3] - e[1 + (j + 2) % 3] * unit[(j + 1) % 3];
      for (int j = 0; j < 3; j++)
        turned[j] = unit[j] + 2 * (e[0] * w[j] + e[1 + (j + 1) % 3] * w[(j + 2) % 3] -
                                   e[1 + (j + 2) % 3] * w[(j + 1) % 3]);
      for (int j = 0; j < 3; j++) {
        ck_assert_double_eq_tol(frame.axes[3 * k + j], x[j] - frame.position[j], 1e-14);
        ck_assert_double_eq_tol(frame.axes[3 * k + j], turned[j], 1e-14);
      }
    }
  }
  discard(&b);
}
END_TEST

/* M u' + A^T lambda = f, A u' = b, and u M u / 2 is the kinetic energy. */
START_TEST(terms_are_those_of_the_equations_of_motion) {
  Built b;
  build(&b, (CPFormulation)(_i % 2), 2 + _i / 2, 3);
  const int nu = b.nu, m = (int)CPMechGetNumMultipliers(b.mech);
  sunrealtype M[24 * 24], A[24 * 24], f[24], right[24], udot[24], lambda[24], alone[24 * 24];
  CPMechOutput out = {
      CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda, .M = M, .A = A, .f = f, .b = right};
  ck_assert_int_le(m, 24);
  ck_assert_int_eq(CPMechEvaluate(b.mech, 0, b.y, &out), CP_SUCCESS);
  const sunrealtype *u = entries(b.y) + b.nq;
  sunrealtype kinetic = 0, size = 0;
  for (int j = 0; j < nu; j++) size = fmax(size, fabs(f[j]));
  for (int j = 0; j < nu; j++) {
    sunrealtype r = -f[j];
    for (int k = 0; k < nu; k++)
      r += M[j + nu * k] * udot[k], kinetic += u[j] * M[j + nu * k] * u[k] / 2;
    for (int i = 0; i < m; i++) r += A[i + m * j] * lambda[i];
    ck_assert_double_eq_tol(r, 0, 1e-12 * size);
  }
  for (int i = 0; i < m; i++) {
    sunrealtype r = -right[i];
    for (int k = 0; k < nu; k++) r += A[i + m * k] * udot[k];
    ck_assert_double_eq_tol(r, 0, 1e-11 * size);
  }
  ck_assert_double_eq_tol(kinetic, out.kinetic, 1e-13 * kinetic);
  CPMechOutput only = {CP_SIZED(CPMechOutput), .M = alone}; /* nothing else is computed */
  ck_assert_int_eq(CPMechEvaluate(b.mech, 0, b.y, &only), CP_SUCCESS);
  for (int k = 0; k < nu * nu; k++) ck_assert(alone[k] == M[k]);
  ck_assert(isnan(only.kinetic));
  discard(&b);
}
END_TEST

START_TEST(coordinates_of_the_tree_can_be_set) {
  sunrealtype x, rate;
  Built b;
  build(&b, CP_JOINT_COORDINATES, 3, 5);
  const int hinge = thing_named(b.bodies, CP_COORDINATE, "shoulder");
  ck_assert_int_eq(CPMechSetCoordinate(b.mech, hinge, b.y, 2.5, -1), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetCoordinate(b.mech, hinge, b.y, &x, &rate), CP_SUCCESS);
  ck_assert_double_eq_tol(x, 2.5, 1e-15);
  ck_assert_double_eq_tol(rate, -1, 1e-15);
  ck_assert_int_eq(CPMechSetCoordinate(b.mech, hinge, b.y, NAN, 0), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechSetCoordinate(b.mech, 99, b.y, 0, 0), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechSetCoordinate(b.mech, hinge, NULL, 0, 0), CP_MEM_NULL);
  CPBodyFrame frame = {CP_SIZED(CPBodyFrame)};
  ck_assert_int_eq(CPMechGetFrame(b.mech, 9, NULL, b.y, &frame), CP_ILL_INPUT);
  ck_assert_int_eq(CPMechGetFrame(b.mech, 0, NULL, b.y, NULL), CP_ILL_INPUT);
  discard(&b);
  build(&b, CP_ABSOLUTE, 3, 5);
  ck_assert_int_eq(CPMechSetCoordinate(b.mech, hinge, b.y, 1, 0), CP_NOT_SUPPORTED);
  const char *text = CPObjectGetLastMessage(CP_OBJECT(b.mech));
  ck_assert_msg(strstr(text, "shoulder") != NULL, "%s", text);
  discard(&b);
}
END_TEST

TEST_SUITE(frames) {
  Suite *suite = suite_create("bodies/frames");
  TCase *tc    = tcase_create("frames");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, jacobians_give_velocities_and_biases_their_rates, 0, 4);
  tcase_add_test(tc, axes_and_quaternions_are_those_of_the_frame);
  tcase_add_loop_test(tc, terms_are_those_of_the_equations_of_motion, 0, 4);
  tcase_add_test(tc, coordinates_of_the_tree_can_be_set);
  suite_add_tcase(suite, tc);
  return suite;
}
