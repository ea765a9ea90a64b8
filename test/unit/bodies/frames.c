/* Frames of bodies: poses, Jacobians and biases against the points of bodies, and the terms of the equations of motion. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef struct {
  CPBodies bodies;
  CPMech mech;
  N_Vector y, ydot;
  int nq, nu;
} Built;

/* At a random state */
static void start(Built *b, CPFormulation formulation, unsigned long long seed) {
  b->y                = build_as(b->bodies, formulation, &b->mech);
  const CPEquations e = equations_of(b->mech);
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

/* A spring and damper on a sum of two coordinates, and a spring on one of them, turned about */
static void add_tendon(CPBodies bodies, const char *first, const char *second) {
  const CPCoordinate of[]   = {{first, 0}, {second, 0}};
  const sunrealtype ratio[] = {1.5, -0.7}, alone[] = {-2};
  const CPTendon both = {CP_NEW_TENDON("both"), .ncoordinates = 2, .of = of,   .ratio = ratio,
                         .stiffness = 9,        .damping = 0.8,    .free = 0.2};
  const CPTendon one  = {CP_NEW_TENDON("one"), .ncoordinates = 1, .of = of,   .ratio = alone,
                         .stiffness = 3,       .damping = 0.5,    .free = 0.1};
  add_element(bodies, &both.head);
  add_element(bodies, &one.head);
}

/* A free body, and three that hang on a hinge, a ball joint and a slide */
static void build(Built *b, CPFormulation formulation, int dimension, int tendon,
                  unsigned long long seed) {
  static const char *const names[] = {"drone", "arm", "hand", "drawer"};
  static const CPJointKind kinds[] = {CP_JOINT_NONE, CP_JOINT_REVOLUTE, CP_JOINT_BALL,
                                      CP_JOINT_PRISMATIC};
  const sunrealtype g[]            = {0.4, -9.81, dimension == 3 ? 1.2 : 0};
  const int in_space               = dimension == 3;
  b->bodies                        = CPBodiesCreate(dimension, g);
  for (int i = 0; i < 4; i++) {
    const CPBody body = {CP_NEW_BODY(names[i]), .mass = 1.5 - 0.2 * i, .inertia = {0.4, 0.5, 0.6},
                         .centre = {0.1, -0.2, 0.3 * in_space}, .position = {0.3 * i, 0.2, 0}};
    add_element(b->bodies, &body.head);
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
    add_element(b->bodies, &joint.head);
  }
  if (tendon) add_tendon(b->bodies, "shoulder", "rail");
  start(b, formulation, seed);
}

/* A branched tree of 20 links, whose matrices are sparse */
static void build_tree(Built *b, int tendon, unsigned long long seed) {
  char name[21][12] = {"ground"};
  b->bodies         = CPBodiesCreate(3, (sunrealtype[]){0.4, -9.81, 1.2});
  for (int i = 1; i <= 20; i++) {
    char hinge[20];
    snprintf(name[i], sizeof name[i], "link_%d", i);
    snprintf(hinge, sizeof hinge, "hinge_%d", i);
    const CPBody body   = {CP_NEW_BODY(name[i]), .mass = 1 + 0.1 * i, .inertia = {0.4, 0.5, 0.6},
                           .centre = {0.1, -0.2, 0.3}};
    const CPJoint joint = {CP_NEW_JOINT(hinge),
                           .kind = i % 7 == 0 ? CP_JOINT_PRISMATIC : CP_JOINT_REVOLUTE,
                           .a    = name[i > 3 ? i - 1 - i % 3 : i - 1],
                           .b    = name[i],
                           .in   = CP_IN_BODIES,
                           .on_a = {.point = {0.3, 0.1, 0}, .axis = {i % 2, 1, i % 3}},
                           .on_b = {.point = {-0.2, 0, 0}, .axis = {i % 3, 1, i % 2}}};
    add_element(b->bodies, &body.head);
    add_element(b->bodies, &joint.head);
  }
  if (tendon) add_tendon(b->bodies, "hinge_9", "hinge_20"); /* in different branches */
  start(b, CP_JOINT_COORDINATES, seed);
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
  build(&b, formulation, dimension, 0, 7 + (unsigned long long)_i);
  N_Vector moved       = N_VClone(b.y);
  const sunrealtype *u = entries(b.y) + b.nq;
  sunrealtype J[6 * 24];
  ck_assert_int_le(b.nu, 24);
  ck_assert_int_ge(CPMechRhs(0, b.y, b.ydot, b.mech), 0);
  for (int i = 0; i < 4; i++) {
    const CPBodyFrame frame = frame_at(&b, i, point, b.y, J);
    sunrealtype x[3], v[3], rate[6] = {0}, slope[6] = {0};
    ck_assert_int_eq(body_point(b.mech, i, point, b.y, x, v), CP_SUCCESS);
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
  build(&b, CP_JOINT_COORDINATES, 3, 0, 11);
  for (int i = 0; i < 4; i++) {
    const CPBodyFrame frame = frame_at(&b, i, NULL, b.y, NULL);
    const sunrealtype *e    = frame.quaternion;
    ck_assert_double_ge(e[0], 0);
    for (int k = 0; k < 3; k++) {
      sunrealtype unit[3] = {k == 0, k == 1, k == 2}, x[3], w[3], turned[3];
      ck_assert_int_eq(body_point(b.mech, i, unit, b.y, x, NULL), CP_SUCCESS);
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
  build(&b, (CPFormulation)(_i % 2), 2 + _i / 2, 0, 3);
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

/* r [nu]: out, f - M a at y */
static void residual_at(Built *b, N_Vector y, const sunrealtype *a, sunrealtype *r) {
  sunrealtype M[24 * 24];
  CPMechOutput out = {CP_SIZED(CPMechOutput), .M = M, .f = r};
  ck_assert_int_eq(CPMechEvaluate(b->mech, 0, y, &out), CP_SUCCESS);
  for (int j = 0; j < b->nu; j++)
    for (int k = 0; k < b->nu; k++) r[j] -= M[j + b->nu * k] * a[k];
}

/* slope [nu]: out, the derivative of the residual along d, where `first` is the first component that moves: a difference of fourth order */
static void slope_along(Built *b, const sunrealtype *a, int first, const sunrealtype *d, int length,
                        sunrealtype *slope) {
  const sunrealtype h = SUN_RCONST(1e-3);
  N_Vector moved      = N_VClone(b->y);
  for (int j = 0; j < b->nu; j++) slope[j] = 0;
  for (int side = -2; side <= 2; side++) {
    sunrealtype r[24];
    if (side == 0) continue;
    N_VScale(1, b->y, moved);
    for (int j = 0; j < length; j++) entries(moved)[first + j] += side * h * d[j];
    residual_at(b, moved, a, r);
    for (int j = 0; j < b->nu; j++)
      slope[j] += (abs(side) == 1 ? 8 : -1) * (side > 0 ? 1 : -1) * r[j] / (12 * h);
  }
  N_VDestroy(moved);
}

static sunrealtype entry_of(SUNMatrix S, int i, int j) {
  if (SUNMatGetID(S) != SUNMATRIX_SPARSE) return SM_ELEMENT_D(S, i, j);
  for (sunindextype p = SM_INDEXPTRS_S(S)[j]; p < SM_INDEXPTRS_S(S)[j + 1]; p++)
    if (SM_INDEXVALS_S(S)[p] == i) return SM_DATA_S(S)[p];
  return 0;
}

/* K and C of trees without forces on bodies are those of their inverse dynamics, here with a free body, a ball joint and a slide, or of hinges
 * and slides with sparse matrices; without and with forces on sums of coordinates. */
START_TEST(derivatives_of_trees_are_those_of_their_inverse_dynamics) {
  Built b;
  unsigned long long seed = 17;
  if (_i < 4) build(&b, CP_JOINT_COORDINATES, 2 + _i % 2, _i > 1, 13);
  else build_tree(&b, _i > 4, 13);
  const CPEquations e = equations_of(b.mech);
  const int nu        = b.nu;
  ck_assert_int_eq(e.nv, 0);
  void *data;
  ck_assert_int_eq(CPMechGetData(b.mech, &data), CP_SUCCESS);
  N_Vector a = N_VNew_Serial(nu, test_context), of = N_VClone(b.y);
  random_fill(a, &seed);
  const int is_sparse = e.K_tmpl && SUNMatGetID(e.K_tmpl) == SUNMATRIX_SPARSE;
  ck_assert_int_eq(is_sparse, _i >= 4);
  SUNMatrix K = is_sparse ? SUNMatClone(e.K_tmpl) : SUNDenseMatrix(nu, nu, test_context);
  SUNMatrix C = SUNMatClone(K);
  if (is_sparse) SUNMatCopy(e.K_tmpl, K), SUNMatCopy(e.K_tmpl, C);
  else SUNMatZero(K), SUNMatZero(C);
  const sunrealtype *q = entries(b.y), *u = q + b.nq;
  ck_assert_int_eq(e.dynamics_jac(0, q, u, NULL, entries(a), NULL, K, C, NULL, data), 0);
  for (int k = 0; k < nu; k++) {
    sunrealtype slope[2][24], unit[24] = {0}, size = 1;
    unit[k] = 1;
    N_VScale(1, b.y, of);
    for (int j = 0; j < nu; j++) entries(of)[b.nq + j] = unit[j];
    ck_assert_int_ge(CPMechRhs(0, of, b.ydot, b.mech), 0); /* q' for u = e_k */
    slope_along(&b, entries(a), 0, entries(b.ydot), b.nq, slope[0]);
    slope_along(&b, entries(a), b.nq, unit, nu, slope[1]);
    for (int j = 0; j < nu; j++) size = fmax(size, fmax(fabs(slope[0][j]), fabs(slope[1][j])));
    for (int j = 0; j < nu; j++) {
      ck_assert_double_eq_tol(entry_of(K, j, k), slope[0][j], 1e-8 * size);
      ck_assert_double_eq_tol(entry_of(C, j, k), slope[1][j], 1e-8 * size);
    }
  }
  SUNMatDestroy(K), SUNMatDestroy(C);
  N_VDestroy(a), N_VDestroy(of);
  discard(&b);
}
END_TEST

/* A chain of so many hinges that all derivatives of u' come by the recursion */
static void build_chain(Built *b, int n, unsigned long long seed) {
  char above[16] = "ground", link[16], hinge[16];
  b->bodies      = CPBodiesCreate(3, (sunrealtype[]){0.4, -9.81, 1.2});
  for (int i = 0; i < n; i++) {
    snprintf(link, sizeof link, "link_%d", i);
    snprintf(hinge, sizeof hinge, "hinge_%d", i);
    const CPBody body   = {CP_NEW_BODY(link), .mass = 1, .inertia = {0.02, 0.03, 0.01},
                           .centre = {0, 0, -0.1}};
    const CPJoint joint = {CP_NEW_JOINT(hinge),
                           .kind = CP_JOINT_REVOLUTE,
                           .a    = above,
                           .b    = link,
                           .in   = CP_IN_BODIES,
                           .on_a = {.point = {0, 0, i > 0 ? -0.2 : 0}, .axis = {i % 2, 1 - i % 2, 0}},
                           .on_b = {.axis = {i % 2, 1 - i % 2, 0}}};
    add_element(b->bodies, &body.head);
    add_element(b->bodies, &joint.head);
    snprintf(above, sizeof above, "%s", link);
  }
  start(b, CP_JOINT_COORDINATES, seed);
}

/* slope [nu]: out, the derivative of u' along d, where `first` is the first component that moves, by differences of sixth order */
static void accelerations_along(Built *b, int first, const sunrealtype *d, int length,
                                sunrealtype *slope) {
  const sunrealtype h = SUN_RCONST(1e-3);
  N_Vector moved      = N_VClone(b->y);
  for (int j = 0; j < b->nu; j++) slope[j] = 0;
  for (int k = -3; k <= 3; k++) {
    N_VScale(1, b->y, moved);
    for (int j = 0; j < length; j++) entries(moved)[first + j] += k * h * d[j];
    ck_assert_int_eq(CPMechRhs(0, moved, b->ydot, b->mech), CP_SUCCESS);
    for (int j = 0; j < b->nu; j++) slope[j] += sixth_order(k) * entries(b->ydot)[b->nq + j] / h;
  }
  N_VDestroy(moved);
}

/* du'/dq and du'/du of the trees above, and of a chain of 110 hinges, of which some columns are compared */
START_TEST(derivatives_of_accelerations_are_their_differences) {
  Built b;
  if (_i < 4) build(&b, CP_JOINT_COORDINATES, 2 + _i % 2, _i > 1, 13);
  else if (_i < 6) build_tree(&b, _i > 4, 13);
  else build_chain(&b, 110, 13);
  const CPEquations e = equations_of(b.mech);
  const int nu = b.nu, every = nu > 24 ? 10 : 1;
  const size_t n = (size_t)nu;
  void *data;
  ck_assert(e.udot_jac != NULL);
  ck_assert_int_eq(CPMechGetData(b.mech, &data), CP_SUCCESS);
  SUNMatrix U[]      = {SUNDenseMatrix(nu, nu, test_context), SUNDenseMatrix(nu, nu, test_context)};
  N_Vector of        = N_VClone(b.y);
  sunrealtype *slope = calloc(2 * n, sizeof *slope), *unit = calloc(n, sizeof *unit);
  const sunrealtype *q = entries(b.y), *u = q + b.nq;
  ck_assert_int_eq(e.udot_jac(0, q, u, NULL, U[0], U[1], NULL, data), 0);
  for (int k = 0; k < nu; k += every) {
    sunrealtype size = 1;
    unit[k]          = 1;
    N_VScale(1, b.y, of);
    memcpy(entries(of) + b.nq, unit, n * sizeof *unit);
    ck_assert_int_ge(CPMechRhs(0, of, b.ydot, b.mech), 0); /* q' for u = e_k */
    N_VScale(1, b.ydot, of);
    accelerations_along(&b, 0, entries(of), b.nq, slope);
    accelerations_along(&b, b.nq, unit, nu, slope + n);
    for (size_t j = 0; j < 2 * n; j++) size = fmax(size, fabs(slope[j]));
    for (size_t j = 0; j < 2 * n; j++)
      ck_assert_double_eq_tol(SM_ELEMENT_D(U[j / n], (int)(j % n), k), slope[j], 1e-8 * size);
    unit[k] = 0;
  }
  for (int k = 0; k < 2; k++) SUNMatDestroy(U[k]);
  free(slope), free(unit);
  N_VDestroy(of);
  discard(&b);
}
END_TEST

START_TEST(coordinates_of_the_tree_can_be_set) {
  sunrealtype x, rate;
  Built b;
  build(&b, CP_JOINT_COORDINATES, 3, 0, 5);
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
  build(&b, CP_ABSOLUTE, 3, 0, 5);
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
  tcase_add_loop_test(tc, derivatives_of_accelerations_are_their_differences, 0, 7);
  tcase_add_loop_test(tc, derivatives_of_trees_are_those_of_their_inverse_dynamics, 0, 6);
  tcase_add_test(tc, coordinates_of_the_tree_can_be_set);
  suite_add_tcase(suite, tc);
  return suite;
}
