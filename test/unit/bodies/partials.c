/* Every joint, drive and force: A against differences of p, v and b along the motion, and the partial derivatives K, C,
 * B_q, B_u, F_lambda against sixth-order differences, at states in general position that violate the constraints. */
#include "by_parameters.h"
#include "support/support.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_language.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STATES = 3, EVERYWHERE = STATES };
static const double BOUND =
    1e-8; /* of sixth-order differences, relative to the largest entry of a row or block */

/* The same where friction may change within the increments of multipliers: |F| of the few rows that a joint has in joint
 * coordinates is small at some of the random states. */
static const double BOUND_OF_FRICTION = 1e-7;

/* Derivatives of u' by two ways that have K, C, Bq and Bu in common: roundoff, times the condition of the constraints at random states */
static const double BOUND_OF_ACCELERATIONS = 1e-11;

/* The state of case i where there are many cases: each value of each of their properties is checked at all states. */
static int state_of(int i) { return (i + i / 3) % STATES; }

static CPBodies bodies;
static int dimension;

static void create(int d) {
  const sunrealtype g[] = {0.3, -9.81, d == 3 ? 0.7 : 0};
  dimension             = d;
  bodies                = CPBodiesCreate(d, NULL);
  ck_assert_ptr_nonnull(bodies);
  ck_assert_int_eq(set_gravity(bodies, g), CP_SUCCESS);
  CPBody one = {CP_NEW_BODY("one"), .mass = 1.3, .inertia = {0.4, 0.5, 0.6, 0.05, -0.04, 0.03},
                .centre = {0.1, -0.2, d == 3 ? 0.3 : 0}, .position = {0.5, 0.4, 0}};
  CPBody two = {CP_NEW_BODY("two"), .mass = 0.7, .inertia = {0.2, 0.3, 0.35},
                .position = {1.5, -0.3, 0}};
  ck_assert_int_eq(CPBodiesAdd(bodies, &one.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &two.head, NULL), CP_SUCCESS);
}

static CPMarker marker(int side) {
  CPMarker m = {
      .point = {0.3 + side, -0.4, 0.2}, .axis = {0.5, 1, 0.3 + side}, .across = {1, -0.2, 0.4}};
  if (dimension == 2) m.point[2] = m.axis[2] = m.across[2] = 0;
  return m;
}

static CPJoint joint_of(CPJointKind kind, int from_ground) {
  return (CPJoint){CP_NEW_JOINT("joint"),
                   .kind   = kind,
                   .a      = from_ground == 1 ? "ground" : "one",
                   .b      = from_ground == 2 ? "ground" : "two",
                   .in     = CP_IN_BODIES,
                   .on_a   = marker(0),
                   .on_b   = marker(1),
                   .length = 0.8};
}

/* The derivatives of u' with respect to q and u by the recursion are those by K, C, Bq, Bu and the factors of M and A, which the report
 * has compared with differences; relative to the largest entry. Returns the largest error, or -1 if u' is left to M and A. */
static double error_of_accelerations(CPMech mech, sunrealtype t, N_Vector y) {
  const CPEquations e  = equations_of(mech);
  const sunindextype n = e.nu, m = e.na;
  const sunrealtype *q = entries(y), *u = q + e.nq, *z = u + e.nu;
  CPMechOutput out = CP_INIT(CPMechOutput);
  SUNMatrix U[3]   = {SUNDenseMatrix(n, n, test_context), SUNDenseMatrix(n, n, test_context),
                    e.nz > 0 ? SUNDenseMatrix(n, e.nz, test_context) : NULL};
  SUNMatrix K[]    = {copy_of(e.K_tmpl, (int)n, (int)n), copy_of(e.C_tmpl, (int)n, (int)n)};
  SUNMatrix B[]    = {copy_of(e.Bq_tmpl, m > 0 ? (int)m : 1, (int)n),
                      copy_of(e.Bu_tmpl, m > 0 ? (int)m : 1, (int)n)};
  SUNMatrix Fz     = e.nz > 0 ? SUNDenseMatrix(n, e.nz, test_context) : NULL;
  const size_t nn = (size_t)n, nm = (size_t)m;
  sunrealtype *f = calloc(nn * nn, sizeof *f), *r = calloc(nm * nn + 1, sizeof *r),
              *d = calloc(nn * nn, sizeof *d), *unit = calloc(nn, sizeof *unit);
  double error = -1, largest = 0;
  void *data;
  out.udot = calloc(nn, sizeof *out.udot), out.lambda = calloc(nm + 1, sizeof *out.lambda);
  ck_assert_int_eq(CPMechGetData(mech, &data), CP_SUCCESS);
  for (int k = 0; k < 2; k++) zero_entries(K[k]), zero_entries(B[k]);
  if (!CPMechEvaluate(mech, t, y, &out) && !e.udot_jac(t, q, u, z, U[0], U[1], U[2], data)) {
    ck_assert_int_eq(e.dynamics_jac(t, q, u, z, out.udot, out.lambda, K[0], K[1], Fz, data), 0);
    if (m > 0) ck_assert_int_eq(e.constraint_jac(t, q, u, out.udot, B[0], B[1], data), 0);
    for (int k = 0; k < 2; k++) {
      memset(f, 0, nn * nn * sizeof *f), memset(r, 0, nn * nm * sizeof *r);
      for (size_t j = 0; j < nn; j++) {
        unit[j] = 1;
        add_times(K[k], 0, 1, unit, f + j * nn);
        if (m > 0) add_times(B[k], 0, 1, unit, r + j * nm);
        unit[j] = 0;
      }
      if (CPMechSolve(mech, t, y, (int)n, f, m > 0 ? r : NULL, d, NULL)) break;
      for (size_t i = 0; i < nn * nn; i++) {
        largest = fmax(largest, fabs(d[i]));
        error   = fmax(error, fabs(d[i] - SM_DATA_D(U[k])[i]));
      }
    }
  }
  for (int k = 0; k < 2; k++) SUNMatDestroy(U[k]), SUNMatDestroy(K[k]), SUNMatDestroy(B[k]);
  if (Fz) SUNMatDestroy(Fz), SUNMatDestroy(U[2]);
  free(f), free(r), free(d), free(unit), free(out.udot), free(out.lambda);
  return error > 0 ? error / largest : error;
}

/* Checks at one of the random states, or EVERYWHERE */
static void check_in(CPFormulation formulation, int only) {
  CPMech mech;
  MessageLog log          = {0};
  unsigned long long seed = 7;
  ck_assert_int_eq(CPBodiesSetFormulation(bodies, formulation), CP_SUCCESS);
  ck_assert_msg(build_mech(bodies, &mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  N_Vector y = CPBodiesState(bodies, test_context);
  ck_assert_ptr_nonnull(y);
  int compared = 0;
  for (int state = 0; state < STATES; state++) {
    CPMechReport r = CP_INIT(CPMechReport);
    random_fill(y, &seed);
    if (only != EVERYWHERE && state != only) continue;
    const int flag = CPMechCheck(mech, 0.3, y, &r);
    ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, log.text);
    const double errors[] = {r.A_p, r.A_v, r.v_p, r.b_v, r.M,  r.K,  r.C,
                             r.Bq,  r.Bu,  r.Fl,  r.Zu,  r.Zz, r.Zq, r.udot};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
      ck_assert_msg(errors[i] <= (formulation == CP_JOINT_COORDINATES && equations_of(mech).f_lambda
                                      ? BOUND_OF_FRICTION
                                      : BOUND),
                    "formulation %d: entry %zu of the report is %g", (int)formulation, i, errors[i]);
    if (equations_of(mech).udot_jac) {
      const double error = error_of_accelerations(mech, 0.3, y);
      ck_assert_double_le(error, BOUND_OF_ACCELERATIONS);
      compared += error >= 0;
    }
    ck_assert_int_gt(check_by_parameters(mech, 0.3, y, 0, BOUND), 0);
  }
  if (equations_of(mech).udot_jac) ck_assert_int_gt(compared, 0);
  N_VDestroy(y);
  CPMechFree(&mech);
}

/* Checks in both formulations, and frees the mechanism */
static void check_at(int only) {
  check_in(CP_ABSOLUTE, only);
  check_in(CP_JOINT_COORDINATES, only);
  CPBodiesFree(&bodies);
}
static void check(void) { check_at(test_is_short() ? 0 : EVERYWHERE); }

START_TEST(every_joint_has_exact_derivatives) {
  const int kind        = _i % (CP_JOINT_ROLLING_DISC + 1),
            from_ground = _i / (CP_JOINT_ROLLING_DISC + 1) % 3,
            d           = 2 + _i / (3 * (CP_JOINT_ROLLING_DISC + 1));
  create(d);
  const CPJoint joint = joint_of((CPJointKind)kind, from_ground);
  const int flag      = CPBodiesAdd(bodies, &joint.head, NULL);
  if (d == 2 && flag == CP_NOT_SUPPORTED) {
    CPBodiesFree(&bodies);
    return;
  }
  ck_assert_msg(flag == 0, "%s", CPObjectGetLastMessage(CP_OBJECT(bodies)));
  check();
}
END_TEST

/* Joints whose coordinates together are all kinds of measures */
static const struct {
  CPJointKind kind;
  int k, planar;
} coordinates[] = {
    {CP_JOINT_REVOLUTE, 0, 1},  {CP_JOINT_PRISMATIC, 0, 1},   {CP_JOINT_UNIVERSAL, 0, 0},
    {CP_JOINT_UNIVERSAL, 1, 0}, {CP_JOINT_CYLINDRICAL, 0, 0}, {CP_JOINT_CYLINDRICAL, 1, 0},
    {CP_JOINT_PLANAR, 1, 0},    {CP_JOINT_PLANAR, 2, 0},      {CP_JOINT_POINT_ON_LINE, 0, 1}};
enum { NCOORDINATES = sizeof coordinates / sizeof *coordinates };

static int law(sunrealtype t, sunrealtype x, sunrealtype rate, sunrealtype *T, void *data) {
  (void)t, (void)data;
  T[0] = -3 * x * x * x - rate * rate * rate + x * rate;
  T[1] = -9 * x * x + rate;
  T[2] = -3 * rate * rate + x;
  return 0;
}

static int path(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  g[0] = 0.1 * t * t * t;
  g[1] = 0.3 * t * t;
  g[2] = 0.6 * t;
  return 0;
}

START_TEST(springs_drives_and_friction_on_every_coordinate_have_exact_derivatives) {
  const int i = _i % NCOORDINATES, d = 2 + _i / NCOORDINATES;
  if (d == 2 && !coordinates[i].planar) return;
  create(d);
  const CPCoordinate of = {"joint", coordinates[i].k}, other = {"second", 0};
  const CPJoint joint = joint_of(coordinates[i].kind, 0);
  CPJoint second      = joint_of(CP_JOINT_REVOLUTE, 1);
  second.head.name    = "second";
  const int is_angle =
      coordinates[i].kind == CP_JOINT_REVOLUTE || coordinates[i].kind == CP_JOINT_UNIVERSAL;
  const CPSpring spring = {
      CP_NEW_SPRING("spring"), .of = of,  .stiffness = 30, .damping = 2, .free = 0.2,
      .inertance = 1.7,        .law = law};
  const CPDrive drive       = {CP_NEW_DRIVE("drive"), .of = other,      .start = 0.1,
                               .rate = 0.4,           .amplitude = 0.3, .frequency = 2};
  const CPDrive driven      = {CP_NEW_DRIVE("driven"), .of = of, .g = path};
  const CPFriction friction = {CP_NEW_FRICTION("friction"), .of = of, .factor = 0.02, .speed = 0.5};
  const CPCoupler gear      = {CP_NEW_COUPLER("gear"), .of = {of, other},
                               .ratio = {is_angle ? 3 : 0.7, -2}, .offset = 0.1};
  ck_assert_int_eq(CPBodiesAdd(bodies, &joint.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &second.head, NULL), CP_SUCCESS);
  ck_assert_msg(CPBodiesAdd(bodies, &spring.head, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  ck_assert_int_eq(CPBodiesAdd(bodies, &friction.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &drive.head, NULL), CP_SUCCESS);
  if (i % 2) ck_assert_int_eq(CPBodiesAdd(bodies, &driven.head, NULL), CP_SUCCESS);
  else
    ck_assert_msg(CPBodiesAdd(bodies, &gear.head, NULL) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(bodies)));
  check();
}
END_TEST

/* ratio_1 x_1 + ratio_2 f(x_2) + ratio_3 x_3 = offset, where x_2 is of each kind; of angles in space f has the period of a turn */
START_TEST(couplers_by_functions_and_of_three_coordinates_have_exact_derivatives) {
  const int i = _i % NCOORDINATES, d = 2 + _i / NCOORDINATES;
  if (d == 2 && !coordinates[i].planar) return;
  create(d);
  static const char *const variable[] = {"x"};
  CPFunctionOptions options           = CP_INIT(CPFunctionOptions);
  options.text = "0.3*sin(x) + 0.1*cos(2*x)", options.nvariables = 1, options.variable = variable;
  CPFunction cam = NULL;
  ck_assert_int_eq(CPFunctionCreate(&options, &cam), CP_SUCCESS);
  const CPJoint joint = joint_of(coordinates[i].kind, 0);
  const CPBody body   = {CP_NEW_BODY("three"), .mass = 0.9, .inertia = {0.3, 0.2, 0.4}};
  CPJoint second = joint_of(CP_JOINT_REVOLUTE, 1), third = joint_of(CP_JOINT_PRISMATIC, 1);
  second.head.name = "second", third.head.name = "third", third.b = "three";
  const CPCoordinate of = {"joint", coordinates[i].k}, other = {"second", 0}, more = {"third", 0};
  const sunrealtype more_ratio = 0.7;
  const CPCoupler coupler      = {CP_NEW_COUPLER("coupler"),
                                  .of         = {other, of},
                                  .ratio      = {2, -1.3},
                                  .offset     = 0.1,
                                  .nmore      = 1,
                                  .more       = &more,
                                  .more_ratio = &more_ratio,
                                  .function   = cam};
  ck_assert_int_eq(CPBodiesAdd(bodies, &body.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &joint.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &second.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &third.head, NULL), CP_SUCCESS);
  ck_assert_msg(CPBodiesAdd(bodies, &coupler.head, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  CPFunctionFree(&cam);
  check();
}
END_TEST

static int wind(sunrealtype t, const sunrealtype *x, const sunrealtype *v, sunrealtype *F,
                sunrealtype *Fx, sunrealtype *Fv, void *data) {
  (void)t, (void)data;
  F[0]  = -x[0] * v[1];
  Fx[0] = -v[1];
  Fv[1] = -x[0];
  F[1]  = x[0] * x[1];
  Fx[3] = x[1];
  Fx[4] = x[0];
  return 0;
}

START_TEST(forces_have_exact_derivatives) {
  create(2 + _i % 2);
  const CPMarker a = marker(0), b = marker(1);
  CPSpring spring   = {CP_NEW_SPRING("spring"),
                       .a         = "one",
                       .b         = "two",
                       .in        = CP_IN_BODIES,
                       .stiffness = 40,
                       .damping   = 3,
                       .free      = 0.5,
                       .inertance = 0.9,
                       .law       = law};
  CPSpring tied     = {CP_NEW_SPRING("tied"), .a = "ground", .b = "two", .in = CP_IN_BODIES,
                       .stiffness = 40,       .damping = 3,  .free = 0.5};
  CPBushing bushing = {CP_NEW_BUSHING("bushing"),
                       .a              = "one",
                       .b              = "two",
                       .in             = CP_IN_BODIES,
                       .on_a           = a,
                       .on_b           = b,
                       .stiffness      = {10, 20, 30},
                       .damping        = {1, 2, 3},
                       .turn_stiffness = {5, 6, 7},
                       .turn_damping   = {0.5, 0.6, 0.7},
                       .drag           = dimension == 3 ? 0.4 : 0};
  CPForce constant  = {CP_NEW_FORCE("constant"), .body = "one", .in = CP_IN_BODIES,
                       .force = {1, 2, 0}};
  CPForce follower  = {CP_NEW_FORCE("follower"), .body = "one", .in = CP_IN_BODIES,
                       .force = {3, -2, 0}, .follows = 1};
  CPForce user = {CP_NEW_FORCE("user"), .body = "two", .in = CP_IN_BODIES, .force = {0.3, 0, 0},
                  .fn = wind};
  for (int k = 0; k < 3; k++) {
    spring.point_a[k] = constant.point[k] = follower.point[k] = a.point[k];
    spring.point_b[k] = tied.point_b[k] = user.point[k] = b.point[k];
  }
  if (_i / 2 == 0)
    ck_assert_msg(CPBodiesAdd(bodies, &spring.head, NULL) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(bodies)));
  if (_i / 2 == 1) ck_assert_int_eq(CPBodiesAdd(bodies, &tied.head, NULL), CP_SUCCESS);
  bushing.angles = _i == 13; /* which are not in the plane */
  if (_i / 2 == 2 || _i == 13)
    ck_assert_int_eq(CPBodiesAdd(bodies, &bushing.head, NULL), CP_SUCCESS);
  if (_i / 2 == 3) ck_assert_int_eq(CPBodiesAdd(bodies, &constant.head, NULL), CP_SUCCESS);
  if (_i / 2 == 4) ck_assert_int_eq(CPBodiesAdd(bodies, &follower.head, NULL), CP_SUCCESS);
  if (_i / 2 == 5) ck_assert_int_eq(CPBodiesAdd(bodies, &user.head, NULL), CP_SUCCESS);
  check();
}
END_TEST

/* phi = 0.3 x^2 + 0.5 y z + 0.2 x y z + 0.1 z^3 + z: no derivative up to the third one is constant
 * in all directions. */
static int curved(const sunrealtype *x, sunrealtype *phi, sunrealtype *g, sunrealtype *H,
                  sunrealtype *T, void *data) {
  (void)data;
  const sunrealtype a = x[0], b = x[1], c = x[2];
  *phi = 0.3 * a * a + 0.5 * b * c + 0.2 * a * b * c + 0.1 * c * c * c + c;
  g[0] = 0.6 * a + 0.2 * b * c;
  g[1] = 0.5 * c + 0.2 * a * c;
  g[2] = 0.5 * b + 0.2 * a * b + 0.3 * c * c + 1;
  H[0] = 0.6, H[8] = 0.6 * c;
  H[1] = H[3] = 0.2 * c;
  H[2] = H[6] = 0.2 * b;
  H[5] = H[7] = 0.5 + 0.2 * a;
  T[5] = T[7] = T[11] = T[15] = T[19] = T[21] = 0.2;
  T[26]                                       = 0.6;
  return 0;
}

/* A plane in general position, given by a distance, which balls need */
static int slope(const sunrealtype *x, sunrealtype *phi, sunrealtype *g, sunrealtype *H,
                 sunrealtype *T, void *data) {
  (void)H, (void)T, (void)data;
  g[0] = 0.36, g[1] = 0.48, g[2] = -0.8;
  *phi = g[0] * x[0] + g[1] * x[1] + g[2] * x[2];
  return 0;
}

static const struct {
  CPContactOn on;
  CPContactTouch touch;
  sunrealtype radius, radius_a;
  CPSurfaceFn surface;
  int planar;
} shapes[] = {{CP_ON_PLANE, CP_TOUCH_BALL, 0.8, 0, NULL, 1},
              {CP_ON_PLANE, CP_TOUCH_DISC, 0.8, 0, NULL, 0},
              {CP_ON_PLANE, CP_TOUCH_CYLINDER, 0.8, 0, NULL, 0},
              {CP_ON_PLANE, CP_TOUCH_BOX, 0, 0, NULL, 1},
              {CP_ON_SPHERE, CP_TOUCH_BALL, 0.8, 0.5, NULL, 1},
              {CP_ON_SPHERE, CP_TOUCH_BALL, 0.3, -0.5, NULL, 1},
              {CP_ON_SPHERE, CP_TOUCH_BOX, 0.1, 0.5, NULL, 1},
              {CP_ON_SURFACE, CP_TOUCH_BALL, 0, 0, curved, 1},
              {CP_ON_SURFACE, CP_TOUCH_BALL, 0.7, 0, slope, 0}};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

/* Connects both bodies by a contact of these shapes. Returns 0 if there is none in the plane. */
static int touching(int i) {
  const int from_ground = i % 3, k = i / 3 % NSHAPES, d = 2 + i / (3 * NSHAPES);
  if (d == 2 && !shapes[k].planar) return 0;
  create(d);
  const CPBodyContact contact = {CP_NEW_CONTACT("contact"),
                                 .a        = from_ground == 1 ? "ground" : "one",
                                 .b        = from_ground == 2 ? "ground" : "two",
                                 .in       = CP_IN_BODIES,
                                 .on_a     = marker(0),
                                 .on_b     = marker(1),
                                 .radius   = shapes[k].radius,
                                 .on       = shapes[k].on,
                                 .touch    = shapes[k].touch,
                                 .radius_a = shapes[k].radius_a,
                                 .surface  = shapes[k].surface,
                                 .size     = {0.3, 0.5, 0.7}};
  ck_assert_msg(CPBodiesAdd(bodies, &contact.head, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  return 1;
}

START_TEST(contacts_of_all_shapes_have_exact_derivatives) {
  if (touching(_i)) check_at(state_of(_i));
}
END_TEST

/* v [3] += sign times the velocity of the point of a body, or of the ground, that is at x in space. */
static void add_velocity(CPMech mech, sunrealtype sign, int body, N_Vector y, const sunrealtype *x,
                         sunrealtype *v) {
  static const sunrealtype unit[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  sunrealtype at[4][3], rate[4][3];
  if (body < 0) return;
  for (int k = 0; k < 4; k++)
    ck_assert_int_eq(body_point(mech, body, unit[k], y, at[k], rate[k]), CP_SUCCESS);
  for (int k = 0; k < 4; k++) {
    sunrealtype c = k == 0; /* coordinate k of x in the body */
    for (int i = 0; i < 3 && k > 0; i++) c += (x[i] - at[0][i]) * (at[k][i] - at[0][i]);
    for (int i = 0; i < 3; i++) v[i] += sign * c * (rate[k][i] - (k > 0 ? rate[0][i] : 0));
  }
}

/* The rows are the velocity of the touching point of b relative to that of a, along the normal and
 * the tangents, which are orthonormal and right-handed. On surfaces they are multiplied by the
 * length of the gradient, which is that of the normal's row. */
START_TEST(rows_of_contacts_are_velocities_of_the_points_that_touch) {
  unsigned long long seed = 7;
  CPMech mech;
  if (!touching(_i)) return;
  ck_assert_int_eq(build_mech(bodies, &mech), CP_SUCCESS);
  const CPEquations model = equations_of(mech);
  N_Vector y              = CPBodiesState(bodies, test_context);
  sunrealtype rows[64], frame[12];
  for (int state = 0; state < STATES; state++) {
    random_fill(y, &seed);
    for (int i = 0; i < 2 && dimension == 3; i++) { /* unit quaternions */
      sunrealtype *e = entries(y) + 7 * i + 3, size = 0;
      for (int k = 0; k < 4; k++) size += e[k] * e[k];
      for (int k = 0; k < 4; k++) e[k] /= sqrt(size);
    }
    ck_assert_int_eq(model.v(0, entries(y), entries(y) + model.nq, rows, CPMechGetUserData(mech)),
                     0);
    for (int i = 0; i < CPBodiesCount(bodies, CP_CONTACT); i++) {
      const CPDescription of = thing_at(bodies, CP_CONTACT, i);
      sunrealtype v[3] = {0, 0, 0}, part[3] = {0, 0, 0};
      ck_assert_int_eq(CPMechGetPoints(mech, CP_CONTACT, i, y, frame), CP_SUCCESS);
      for (int k = 0; k <= of.nrates; k++)
        for (int l = 0; l <= of.nrates; l++)
          ck_assert_double_eq_tol(frame[3 + 3 * k] * frame[3 + 3 * l] +
                                      frame[4 + 3 * k] * frame[4 + 3 * l] +
                                      frame[5 + 3 * k] * frame[5 + 3 * l],
                                  k == l, 1e-14);
      const sunrealtype *n = frame + 3, *s = frame + 6, *t = frame + 9;
      if (dimension == 3)
        ck_assert_double_gt(n[0] * (s[1] * t[2] - s[2] * t[1]) + n[1] * (s[2] * t[0] - s[0] * t[2]) +
                                n[2] * (s[0] * t[1] - s[1] * t[0]),
                            0);
      add_velocity(mech, 1, of.b, y, frame, v);
      add_velocity(mech, -1, of.a, y, frame, v);
      for (int k = 0; k <= of.nrates; k++)
        for (int l = 0; l < 3; l++) part[k] += frame[3 + 3 * k + l] * v[l];
      const sunrealtype size =
          shapes[_i / 3 % NSHAPES].on == CP_ON_PLANE ? 1 : rows[of.first] / part[0];
      ck_assert_double_gt(size, 0);
      ck_assert_double_eq_tol(rows[of.first], size * part[0], 1e-13);
      for (int k = 0; k < of.nrates; k++)
        ck_assert_double_eq_tol(rows[of.first_rate + k], size * part[1 + k],
                                1e-13 * (1 + size) / fmin(1, fabs(part[0])));
    }
  }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

/* Nine bodies: M and A are sparse */
/* From the ground over a pulley of each body, and a point of the first one, to the second one; _i: which kind of rope, dimension */
START_TEST(ropes_have_exact_derivatives) {
  const int kind = _i % 3, d = 2 + _i / 3;
  create(d);
  const CPRopeNode nodes[]            = {{NULL, {0.1, 3, 0}, 0, {0, 0, 0}, 0, 0, 0},
                                         {"one", {0.1, 0.2, 0}, 0.07, {0, 0, 1}, 0, 0, 0},
                                         {"two", {-0.3, 0.1, 0}, -0.05, {0, 0, 1}, 1, 0, 0},
                                         {"one", {0.4, 0.3, 0}, 0, {0, 0, 0}, 0, 0, 0},
                                         {"two", {0.2, 0.4, 0}, 0, {0, 0, 0}, 0, 0, 0}};
  static const char *const variable[] = {"t"};
  CPFunctionOptions options           = CP_INIT(CPFunctionOptions);
  options.text = "0.1*sin(3*t)", options.nvariables = 1, options.variable = variable;
  CPRope rope = {CP_NEW_ROPE("rope"), .in = CP_IN_BODIES, .nnodes = 5, .node = nodes};
  ck_assert_int_eq(CPFunctionCreate(&options, &rope.function), CP_SUCCESS);
  if (kind == 1) rope.taut = 1;
  if (kind == 2) rope.length = 0.1, rope.stiffness = 30, rope.damping = 0.1;
  ck_assert_msg(CPBodiesAdd(bodies, &rope.head, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  CPFunctionFree(&rope.function);
  check();
}
END_TEST

/* Tendons of coordinates and along points, with a function, an inertance, stops, dry friction and an actuator */
START_TEST(tendons_have_exact_derivatives) {
  const int path = _i % 2, d = 2 + _i / 2;
  create(d);
  const CPJoint joint = joint_of(CP_JOINT_REVOLUTE, 0);
  CPJoint second      = joint_of(CP_JOINT_PRISMATIC, 1);
  second.head.name    = "second";
  ck_assert_int_eq(CPBodiesAdd(bodies, &joint.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &second.head, NULL), CP_SUCCESS);
  const CPCoordinate of[]   = {{"joint", 0}, {"second", 0}};
  const sunrealtype ratio[] = {0.7, -1.3}, divisor[] = {1, 2, 0, 2};
  static const char *const variable[] = {"t", "x", "v"};
  CPFunctionOptions options           = CP_INIT(CPFunctionOptions);
  options.text = "-0.3*x^2 - 0.1*v*x", options.nvariables = 3, options.variable = variable;
  const CPRopeNode nodes[] = {{NULL, {0.1, 3, 0}, 0, {0, 0, 0}, 0, 0, 0},
                              {"one", {0.1, 0.2, 0}, 0, {0, 0, 0}, 0, 0, 0},
                              {"one", {0.4, 0.2, 0}, 0, {0, 0, 0}, 0, 0, 0},
                              {"one", {0.4, 0.3, 0}, 0, {0, 0, 0}, 0, 0, 0},
                              {"two", {0.2, 0.4, 0}, 0, {0, 0, 0}, 0, 0, 0}};
  CPTendon tendon          = {CP_NEW_TENDON("tendon"), .in = CP_IN_BODIES, .stiffness = 7,
                              .damping = 0.4,          .free = 0.2,        .force = 0.3,
                              .inertance = 0.6};
  if (path) tendon.nnodes = 5, tendon.node = nodes, tendon.divisor = divisor;
  else tendon.ncoordinates = 2, tendon.of = of, tendon.ratio = ratio;
  const CPLimit limit = {CP_NEW_LIMIT("limit"), .of = {{"tendon", 0}}, .lower = -99, .upper = 99};
  const CPFriction friction = {CP_NEW_FRICTION("friction"), .of = {"tendon", 0}, .force = 1};
  const CPActuator motor    = {CP_NEW_ACTUATOR("motor"), .of = {"tendon", 0}, .gear = 2,
                               .control = 0.4,           .gain = {1.5},       .bias = {0.1, -3, -0.2}};
  ck_assert_int_eq(CPFunctionCreate(&options, &tendon.function), CP_SUCCESS);
  ck_assert_msg(CPBodiesAdd(bodies, &tendon.head, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  CPFunctionFree(&tendon.function);
  ck_assert_int_eq(CPBodiesAdd(bodies, &limit.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &friction.head, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesAdd(bodies, &motor.head, NULL), CP_SUCCESS);
  check();
}
END_TEST

/* Tendons that wrap around a sphere or a cylinder of a third body, of that of one point, or of the ground: on either side, and inside */
START_TEST(tendons_that_wrap_have_exact_derivatives) {
  if (test_is_short() && _i % 5) return;
  static const char *const on[] = {"three", "one", NULL};
  const int inside = _i % 2, cylinder = _i / 2 % 2, inert = _i / 4 % 2, d = 2 + _i / 8 % 2;
  create(d);
  const CPBody three = {CP_NEW_BODY("three"), .mass = 0.9, .inertia = {0.3, 0.4, 0.35},
                        .position = {1, 0.1, 0}};
  ck_assert_int_eq(CPBodiesAdd(bodies, &three.head, NULL), CP_SUCCESS);
  const sunrealtype z = d == 3;
  const CPRopeNode nodes[] =
      {{"one", {4, 0.2, 0.3 * z}, 0, {0, 0, 0}, 0, 0, 0},
       {on[_i / 16], {0.1, 0.2, 0.1 * z}, inside ? 0.8 : 1.8, {0, 0, 0}, 0, 0, 0},
       {"two", {-3, 0.4, 0.2 * z}, 0, {0, 0, 0}, 0, 0, 0}},
                   side     = {"three", {0, inside ? 0 : 2, 0.2 * z}, 0, {0, 0, 0}, 0, 0, 0},
                   *sides[] = {NULL, inside ? &side : NULL, NULL};
  CPRopeNode path[3];
  memcpy(path, nodes, sizeof path);
  if (cylinder) path[1].axis[0] = 0.3 * z, path[1].axis[2] = 1;
  const CPTendon tendon = {CP_NEW_TENDON("tendon"),
                           .in        = CP_IN_BODIES,
                           .nnodes    = 3,
                           .node      = path,
                           .side      = sides,
                           .stiffness = 7,
                           .damping   = 0.4,
                           .free      = 0.2,
                           .inertance = inert ? 0.6 : 0};
  const CPLimit limit   = {CP_NEW_LIMIT("limit"), .of = {{"tendon", 0}}, .lower = -99, .upper = 99};
  ck_assert_msg(CPBodiesAdd(bodies, &tendon.head, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  ck_assert_int_eq(CPBodiesAdd(bodies, &limit.head, NULL), CP_SUCCESS);
  check_at(state_of(_i));
}
END_TEST

START_TEST(sparse_matrices_are_exact_too) {
  create(3);
  for (int i = 0; i < 7; i++) {
    char name[8], joint[8];
    snprintf(name, sizeof name, "b%d", i);
    snprintf(joint, sizeof joint, "j%d", i);
    const CPBody body = {CP_NEW_BODY(name), .mass = 1, .inertia = {1, 1, 1, 0.1},
                         .position = {i, 0, 0}};
    CPJoint hinge     = joint_of((CPJointKind)(i % 5), 0);
    hinge.head.name   = joint;
    hinge.b           = name;
    ck_assert_int_eq(CPBodiesAdd(bodies, &body.head, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPBodiesAdd(bodies, &hinge.head, NULL), CP_SUCCESS);
  }
  const CPSpring spring = {CP_NEW_SPRING("s"), .a = "b0",        .b = "b5", .stiffness = 9,
                           .damping = 1,       .inertance = 0.5, .free = 1, .point_a = {0, 1, 0}};
  ck_assert_int_eq(CPBodiesAdd(bodies, &spring.head, NULL), CP_SUCCESS);
  check();
}
END_TEST

/* Two limbs of four bodies each on a trunk that moves freely, or on the ground: springs, a bushing, an inertance, a loop and a ball
 * between them act below and above the node that moves both, dense and, in space, sparse. */
START_TEST(forces_between_limbs_have_exact_derivatives) {
  const int kind = _i % 5, d = 2 + _i / 5 % 2, is_free = _i / 10;
  static const CPJointKind links[] = {CP_JOINT_REVOLUTE, CP_JOINT_PRISMATIC, CP_JOINT_UNIVERSAL,
                                      CP_JOINT_BALL};
  create(d);
  for (int i = 0; i < 8; i++) {
    char name[8], joint[8], above[8];
    const int planar = links[i % 4] == CP_JOINT_REVOLUTE || links[i % 4] == CP_JOINT_PRISMATIC;
    snprintf(name, sizeof name, "b%d", i);
    snprintf(joint, sizeof joint, "j%d", i);
    snprintf(above, sizeof above, i % 4 ? "b%d" : is_free ? "one" : "ground", i - 1);
    const CPBody body = {CP_NEW_BODY(name), .mass = 1, .inertia = {1, 1, 1, 0.1}};
    CPJoint link      = joint_of(d == 3 || planar ? links[i % 4] : CP_JOINT_REVOLUTE, 0);
    link.head.name = joint, link.a = above, link.b = name;
    ck_assert_int_eq(CPBodiesAdd(bodies, &body.head, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPBodiesAdd(bodies, &link.head, NULL), CP_SUCCESS);
  }
  const CPSpring spring    = {CP_NEW_SPRING("s"), .a = "b2",
                              .b = "b6",          .stiffness = 9,
                              .damping = 1,       .inertance = kind == 1 ? 0.5 : 0,
                              .free = 0.3,        .point_a = {0.1, 1, 0}};
  const CPBushing bushing  = {CP_NEW_BUSHING("bushing"),
                              .a              = "b3",
                              .b              = "b5",
                              .in             = CP_IN_BODIES,
                              .on_a           = marker(0),
                              .on_b           = marker(1),
                              .stiffness      = {10, 20, 30},
                              .damping        = {1, 2, 3},
                              .turn_stiffness = {5, 6, 7},
                              .turn_damping   = {0.5, 0.6, 0.7}};
  CPJoint loop             = joint_of(CP_JOINT_POINT_ON_LINE, 0);
  const CPBodyContact ball = {CP_NEW_CONTACT("ball"), .a = "b1",          .b = "b6",
                              .in = CP_IN_BODIES,     .on_a = marker(0),  .on_b = marker(1),
                              .radius = 0.3,          .on = CP_ON_SPHERE, .touch = CP_TOUCH_BALL,
                              .radius_a = 0.5};
  loop.a = "b3", loop.b = "b7";
  const CPElement *const element[] = {&spring.head, &spring.head, &bushing.head, &loop.head,
                                      &ball.head};
  ck_assert_msg(CPBodiesAdd(bodies, element[kind], NULL) == 0, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  check_in(CP_JOINT_COORDINATES, EVERYWHERE);
  CPBodiesFree(&bodies);
}
END_TEST

/* Limbs of a free body, with joints of one velocity and of three, of which the columns of the derivatives of u' take two groups of panels, the
 * last one of which is not full; and by the recursion, which takes a chain of 44. */
START_TEST(limbs_of_a_free_body_and_long_chains_have_exact_derivatives) {
  static const CPJointKind kinds[] = {CP_JOINT_REVOLUTE, CP_JOINT_PRISMATIC, CP_JOINT_BALL,
                                      CP_JOINT_REVOLUTE};
  const int chain = _i, count = chain ? 44 : 13;
  const sunrealtype g[] = {0.3, -9.81, 0.7};
  dimension             = 3;
  bodies                = CPBodiesCreate(3, NULL);
  ck_assert_ptr_nonnull(bodies);
  ck_assert_int_eq(set_gravity(bodies, g), CP_SUCCESS);
  for (int k = 0; k < count; k++) {
    const int up = chain ? k - 1 : k < 4 ? 0 : k - 3;
    char name[2][16], joint_name[16];
    snprintf(name[0], sizeof name[0], "b%d", k);
    snprintf(name[1], sizeof name[1], "b%d", up);
    snprintf(joint_name, sizeof joint_name, "j%d", k);
    const CPBody body = {CP_NEW_BODY(name[0]), .mass = 1 + 0.1 * k,
                         .inertia = {0.4, 0.5, 0.6, 0.05, -0.04, 0.03}, .centre = {0.1, -0.2, 0.3}};
    ck_assert_int_eq(CPBodiesAdd(bodies, &body.head, NULL), CP_SUCCESS);
    if (k == 0 && !chain) continue;
    CPJoint joint   = joint_of(chain ? CP_JOINT_REVOLUTE : kinds[k % 4], 0);
    joint.head.name = joint_name, joint.a = up < 0 ? "ground" : name[1], joint.b = name[0];
    joint.length = 0;
    ck_assert_msg(CPBodiesAdd(bodies, &joint.head, NULL) == 0, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(bodies)));
  }
  check_in(CP_JOINT_COORDINATES, EVERYWHERE);
  CPBodiesFree(&bodies);
}
END_TEST

TEST_SUITE(partials) {
  Suite *suite = suite_create("bodies/partials");
  TCase *tc    = tcase_create("partials");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, every_joint_has_exact_derivatives, 0, 6 * (CP_JOINT_ROLLING_DISC + 1));
  tcase_add_loop_test(tc, springs_drives_and_friction_on_every_coordinate_have_exact_derivatives, 0,
                      2 * NCOORDINATES);
  tcase_add_loop_test(tc, couplers_by_functions_and_of_three_coordinates_have_exact_derivatives, 0,
                      2 * NCOORDINATES);
  tcase_add_loop_test(tc, forces_have_exact_derivatives, 0, 14);
  tcase_add_loop_test(tc, ropes_have_exact_derivatives, 0, 6);
  tcase_add_loop_test(tc, tendons_have_exact_derivatives, 0, 4);
  tcase_add_loop_test(tc, tendons_that_wrap_have_exact_derivatives, 0, 48);
  tcase_add_loop_test(tc, contacts_of_all_shapes_have_exact_derivatives, 0, 6 * NSHAPES);
  tcase_add_loop_test(tc, rows_of_contacts_are_velocities_of_the_points_that_touch, 0, 6 * NSHAPES);
  tcase_add_test(tc, sparse_matrices_are_exact_too);
  tcase_add_loop_test(tc, forces_between_limbs_have_exact_derivatives, 0, 20);
  tcase_add_loop_test(tc, limbs_of_a_free_body_and_long_chains_have_exact_derivatives, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
