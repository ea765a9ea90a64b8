/* Joints by functions: closed forms, Lagrange's equations from the energies, partial derivatives against sixth-order
 * differences, couplers, springs and loops on their coordinates, and what is refused. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_language.h>
#include <math.h>

static CPMech built(CPBodies b, N_Vector *y) {
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_msg(build_mech(b, &mech) == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(b)));
  *y = CPBodiesState(b, test_context);
  ck_assert_ptr_nonnull(*y);
  return mech;
}

static CPFunction function_of(const char *text) {
  static const char *const variable[] = {"x"};
  const CPFunctionOptions options     = {CP_SIZED(CPFunctionOptions), .text = text, .nvariables = 1,
                                         .variable = variable};
  CPFunction f;
  ck_assert_msg(CPFunctionCreate(&options, &f) == CP_SUCCESS, "%s", CPObjectGetLastMessage(NULL));
  return f;
}

#define MOTION(...) \
  { CP_SIZED(CPJointMotion), __VA_ARGS__ }

/* (J + m p^2) x'' = -m g p for a screw of pitch p per radian whose axis is vertical */
START_TEST(a_screw_falls_as_its_closed_form) {
  const sunrealtype g[] = {0, 0, -9.81}, m = 1.7, J = 0.3, pitch = 0.2;
  CPBodies b                    = CPBodiesCreate(3, g);
  const CPBody nut              = {CP_NEW_BODY("nut"), .mass = m, .inertia = {J, J, J}};
  const CPJointMotion motions[] = {MOTION(.about = 1, .axis = {0, 0, 1}),
                                   MOTION(.axis = {0, 0, 3}, .ratio = pitch)};
  const CPJoint screw           = {CP_NEW_JOINT("screw"), .kind = CP_JOINT_CUSTOM, .b = "nut",
                                   .motion = motions,     .nmotions = 2,           .ncoordinates = 1};
  N_Vector y, ydot;
  add_element(b, &nut.head);
  add_element(b, &screw.head);
  CPMech mech = built(b, &y);
  ck_assert_int_eq(N_VGetLength(y), 2);
  ydot = N_VClone(y);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  const double expected = -m * 9.81 * pitch / (J + m * pitch * pitch);
  ck_assert_double_eq_tol(N_VGetArrayPointer(ydot)[1], expected, 1e-14 * fabs(expected));
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A point mass on the ellipse (a cos x, b sin x): m (a^2 s^2 + b^2 c^2) x'' = -m (a^2 - b^2) s c x'^2 - m g b c */
START_TEST(a_mass_on_an_ellipse_moves_as_its_closed_form) {
  const sunrealtype g[] = {0, -9.81, 0}, m = 0.8, p = 1.4, r = 0.6, x = 0.7, rate = 2.3;
  CPBodies b        = CPBodiesCreate(3, g);
  CPFunction across = function_of("1.4*cos(x)"), up = function_of("0.6*sin(x)");
  const CPBody mass = {CP_NEW_BODY("mass"), .mass = m, .position = {p * cos(x), r * sin(x), 0},
                       .velocity = {-p * sin(x) * rate, r * cos(x) * rate, 0}};
  const CPJointMotion motions[] = {MOTION(.axis = {1, 0, 0}, .function = across),
                                   MOTION(.axis = {0, 1, 0}, .function = up)};
  const CPJoint ellipse         = {CP_NEW_JOINT("ellipse"), .kind = CP_JOINT_CUSTOM, .b = "mass",
                                   .in = CP_IN_BODIES,      .motion = motions,       .nmotions = 2,
                                   .ncoordinates = 1,       .start = {0.5}};
  add_element(b, &mass.head);
  add_element(b, &ellipse.head);
  CPFunctionFree(&across);
  CPFunctionFree(&up);
  N_Vector y, ydot;
  CPMech mech = built(b, &y);
  ydot        = N_VClone(y);
  /* the placement and its velocity as coordinates */
  ck_assert_double_eq_tol(N_VGetArrayPointer(y)[0], x, 1e-14);
  ck_assert_double_eq_tol(N_VGetArrayPointer(y)[1], rate, 1e-13);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  const double s = sin(x), c = cos(x), inertia = p * p * s * s + r * r * c * c,
               expected = (-(p * p - r * r) * s * c * rate * rate - 9.81 * r * c) / inertia;
  ck_assert_double_eq_tol(N_VGetArrayPointer(ydot)[1], expected, 1e-13 * fabs(expected));
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* Three bodies: a base that moves freely by Euler angles, a knee whose motions share their coordinates, and a screw, some of them
 * from side b to side a */
static const char *const names[] = {"base", "shank", "nut"};
enum { BACK = 1, HINGED = 2, ALL_WAYS = 4 };

static CPBodies three_bodies(int how) {
  const sunrealtype g[] = {0.3, -9.81, 0.7};
  CPBodies b            = CPBodiesCreate(3, g);
  CPFunction f[]        = {function_of("0.3*x - 0.2*x^2 + 0.05*x^3"), function_of("0.4*sin(1.3*x)"),
                           function_of("0.1*exp(0.5*x)"), function_of("0.2*x^2 + 0.6*x")};
  for (int i = 0; i < 3; i++) {
    const CPBody body = {CP_NEW_BODY(names[i]), .mass = 1.3 - 0.2 * i,
                         .inertia = {0.4, 0.5, 0.6, 0.05, -0.04, 0.03}, .centre = {0.1, -0.2, 0.15}};
    add_element(b, &body.head);
  }
  const CPJointMotion free[] = {MOTION(.axis = {1, 0, 0}, .coordinate = 3),
                                MOTION(.axis = {0, 1, 0}, .coordinate = 4),
                                MOTION(.axis = {0, 0, 1}, .coordinate = 5),
                                MOTION(.about = 1, .axis = {1, 0, 0}),
                                MOTION(.about = 1, .axis = {0, 1, 0}, .coordinate = 1),
                                MOTION(.about = 1, .axis = {0, 0, 1}, .coordinate = 2)};
  const CPJointMotion knee[] = {
      MOTION(.axis = {1, 0.2, 0}, .function = f[0]),
      MOTION(.axis = {0, 1, -0.3}, .coordinate = 1, .function = f[1]),
      MOTION(.axis = {0.4, 0, 1}, .coordinate = -1, .offset = 0.2),
      MOTION(.about = 1, .axis = {0.2, 0.1, 1}, .function = f[2], .offset = 0.1),
      MOTION(.about = 1, .axis = {1, 0, 0.2}, .coordinate = 1, .ratio = -0.7),
      MOTION(.about = 1, .axis = {0, 1, 0}, .function = f[3])};
  const CPJointMotion screw[] = {MOTION(.about = 1, .axis = {0.2, 0.3, 1}, .offset = 0.4),
                                 MOTION(.axis = {0, 0, 1}, .ratio = 0.3)};
  const int back              = how & BACK;
  const CPMarker on_a = {.point = {0.3, -0.4, 0.2}, .axis = {0.5, 1, 0.3}, .across = {1, -0.2, 0.4}},
                 on_b = {.point = {-0.2, 0.4, 0.1}, .axis = {0.1, 0.6, 0.9}, .across = {1, 0.3, 0}};
  const CPJoint joints[] = {
      {CP_NEW_JOINT("free"), .kind = CP_JOINT_CUSTOM, .a = back ? "base" : NULL,
       .b = back ? NULL : "base", .in = CP_IN_BODIES, .on_a = on_b, .on_b = on_a, .motion = free,
       .nmotions = 6, .ncoordinates = 6},
      {CP_NEW_JOINT("knee"), .kind = CP_JOINT_CUSTOM, .a = back ? "shank" : "base",
       .b = back ? "base" : "shank", .in = CP_IN_BODIES, .on_a = on_a, .on_b = on_b, .motion = knee,
       .nmotions = 6, .ncoordinates = 2},
      {CP_NEW_JOINT("screw"), .kind = how & HINGED ? CP_JOINT_REVOLUTE : CP_JOINT_CUSTOM,
       .a = "shank", .b = "nut", .in = CP_IN_BODIES, .on_a = on_b, .on_b = on_a,
       .motion = how & HINGED ? NULL : screw, .nmotions = how & HINGED ? 0 : 2,
       .ncoordinates = how & HINGED ? 0 : 1}};
  for (int i = 0; i < 3; i++) add_element(b, &joints[i].head);
  for (int i = 0; i < 4; i++) CPFunctionFree(&f[i]);
  return b;
}

/* Kinetic (sign 1) or Lagrange's function (-1) at (q + a e_i + b e_j, u + c e_k) */
static sunrealtype lagrangian(CPMech mech, N_Vector y) {
  CPPowers p = CP_INIT(CPPowers);
  ck_assert_int_eq(CPMechGetPowers(mech, 0, y, NULL, &p), CP_SUCCESS);
  return p.kinetic - p.potential;
}

/* A central difference of eighth order of a quadratic or smooth function along component i of y */
static sunrealtype slope(CPMech mech, N_Vector y, int i, sunrealtype (*f)(CPMech, N_Vector, int),
                         int k) {
  static const sunrealtype weight[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280}, h = 0.02;
  sunrealtype *x = N_VGetArrayPointer(y), sum = 0, at = x[i];
  for (int n = 1; n <= 4; n++) {
    x[i]                 = at + n * h;
    const sunrealtype up = f(mech, y, k);
    x[i]                 = at - n * h;
    sum += weight[n - 1] * (up - f(mech, y, k));
  }
  x[i] = at;
  return sum / h;
}
static sunrealtype value(CPMech mech, N_Vector y, int k) {
  (void)k;
  return lagrangian(mech, y);
}
static sunrealtype momentum(CPMech mech, N_Vector y, int k) { /* dL/du_k */
  return slope(mech, y, k, value, 0);
}

/* d/dt dL/du = dL/dq, where energies come from positions and velocities of bodies alone */
START_TEST(accelerations_are_those_of_lagranges_equations) {
  unsigned long long seed = 11;
  CPBodies b              = three_bodies(_i);
  N_Vector y, ydot;
  CPMech mech = built(b, &y);
  ydot        = N_VClone(y);
  const int n = (int)N_VGetLength(y) / 2;
  ck_assert_int_eq(n, 9);
  random_fill(y, &seed);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  const sunrealtype *x = N_VGetArrayPointer(y), *a = N_VGetArrayPointer(ydot) + n;
  for (int k = test_is_short() ? n - 2 : 0; k < n; k++) {
    sunrealtype left = 0, size = 0;
    for (int i = 0; i < n; i++) {
      const sunrealtype by_q = slope(mech, y, i, momentum, n + k) * x[n + i],
                        by_u = slope(mech, y, n + i, momentum, n + k) * a[i];
      left += by_q + by_u;
      size += fabs(by_q) + fabs(by_u);
    }
    /* differences of differences: roundoff of L over h^2 */
    const sunrealtype right = slope(mech, y, k, value, 0);
    ck_assert_msg(fabs(left - right) <= 1e-9 * size, "%d: equation %d: %g, not %g", _i, k,
                  (double)left, (double)right);
  }
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* The rates of a body's points are those of their positions. */
START_TEST(velocities_are_those_of_positions) {
  unsigned long long seed          = 5;
  static const sunrealtype point[] = {0.3, 0.2, -0.5}, h = 1e-3;
  CPBodies b = three_bodies(_i);
  N_Vector y, there;
  CPMech mech = built(b, &y);
  there       = N_VClone(y);
  const int n = (int)N_VGetLength(y) / 2;
  random_fill(y, &seed);
  sunrealtype v[3], sum[3] = {0, 0, 0}, x[3];
  ck_assert_int_eq(body_point(mech, 2, point, y, x, v), CP_SUCCESS);
  for (int step = -3; step <= 3; step++) {
    N_VScale(1, y, there);
    for (int i = 0; i < n; i++)
      N_VGetArrayPointer(there)[i] += step * h * N_VGetArrayPointer(y)[n + i];
    ck_assert_int_eq(body_point(mech, 2, point, there, x, NULL), CP_SUCCESS);
    for (int k = 0; k < 3; k++) sum[k] += sixth_order(step) * x[k] / h;
  }
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(sum[k], v[k], 1e-11 * (1 + fabs(v[k])));
  sunrealtype J[6 * 9], rate[6] = {0}; /* J u is the velocity. */
  CPBodyFrame frame = {CP_SIZED(CPBodyFrame), .jacobian = J};
  ck_assert_int_le(n, 9);
  ck_assert_int_eq(CPMechGetFrame(mech, 2, point, y, &frame), CP_SUCCESS);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 6; k++) rate[k] += J[6 * i + k] * N_VGetArrayPointer(y)[n + i];
  for (int k = 0; k < 3; k++) {
    ck_assert_double_eq_tol(frame.velocity[k], v[k], 1e-13 * (1 + fabs(v[k])));
    ck_assert_double_eq_tol(rate[k], v[k], 1e-13 * (1 + fabs(v[k])));
    ck_assert_double_eq_tol(rate[3 + k], frame.omega[k], 1e-13 * (1 + fabs(frame.omega[k])));
  }
  N_VDestroy(y);
  N_VDestroy(there);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* All of CPMechCheck: M, A, b and the partial derivatives, with loops, couplers, limits and springs on the coordinates */
START_TEST(partial_derivatives_are_exact) {
  unsigned long long seed = 7;
  CPBodies b              = three_bodies(_i);
  CPMechReport r          = CP_INIT(CPMechReport);
  const CPSpring spring   = {CP_NEW_SPRING("spring"), .of = {"knee", 1}, .stiffness = 3,
                             .damping = 0.4,          .free = 0.2,       .inertance = 0.3};
  const CPSpring line     = {
          CP_NEW_SPRING("line"), .b = "nut",   .in = CP_IN_BODIES, .point_a = {1, 2, 3},
          .stiffness = 20,       .damping = 2, .free = 1};
  const CPCoupler coupler = {CP_NEW_COUPLER("coupler"), .of = {{"knee", 0}, {"screw", 0}},
                             .ratio = {0.7, 1.3}, .offset = 0.1};
  const CPCoupler own     = {CP_NEW_COUPLER("own"), .of = {{"free", 1}, {"free", 4}},
                             .ratio = {0.7, 1.3}, .offset = 0.1};
  CPFunction lift         = function_of("0.4*sin(x) + 0.2*x^2");
  const CPCoupler cam     = {CP_NEW_COUPLER("cam"), .of = {{"free", 0}, {"free", 3}},
                             .ratio = {0.7, 1.3}, .offset = 0.1, .function = lift};
  const CPJoint loop      = {CP_NEW_JOINT("loop"), .kind = CP_JOINT_POINT_ON_LINE, .a = "base",
                             .b = "nut", .in = CP_IN_BODIES};
  const CPDrive drive     = {CP_NEW_DRIVE("drive"), .of = {"free", 2}, .rate = 1};
  add_element(b, &spring.head);
  add_element(b, &line.head);
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  add_element(b, &coupler.head);
  add_element(b, &own.head);
  add_element(b, &cam.head);
  CPFunctionFree(&lift);
  add_element(b, &loop.head);
  add_element(b, &drive.head);
  N_Vector y;
  MessageLog log = {0};
  CPMech mech    = built(b, &y);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  random_fill(y, &seed);
  ck_assert_msg(CPMechCheck(mech, 0.3, y, &r) == CP_SUCCESS, "%s", log.text);
  const double errors[] = {r.A_p, r.A_v, r.v_p, r.b_v, r.M, r.K, r.C, r.Bq, r.Bu, r.udot};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    ck_assert_msg(errors[i] <= 1e-8, "%d: entry %zu of the report is %g", _i, i, errors[i]);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A coordinate is as far from its lower stop as it is above it, and from its upper one as it is below it, whichever of the joint it is. */
START_TEST(stops_hold_coordinates_from_both_sides) {
  const sunrealtype lower = -0.5, upper = SUN_RCONST(0.7),
                    x[2]        = {SUN_RCONST(0.2), SUN_RCONST(-0.3)};
  CPBodies b                    = CPBodiesCreate(3, NULL);
  const CPBody mass             = {CP_NEW_BODY("mass"), .mass = 1, .inertia = {1, 1, 1}};
  const CPJointMotion motions[] = {MOTION(.axis = {1, 0, 0}),
                                   MOTION(.axis = {0, 1, 0}, .coordinate = 1)};
  const CPJoint table           = {CP_NEW_JOINT("table"), .kind = CP_JOINT_CUSTOM, .b = "mass",
                                   .motion = motions,     .nmotions = 2,           .ncoordinates = 2};
  add_element(b, &mass.head);
  add_element(b, &table.head);
  for (int k = 0; k < 2; k++) {
    const CPLimit stops = {CP_NEW_LIMIT(k ? "y" : "x"), .of = {{"table", k}}, .lower = lower,
                           .upper = upper};
    add_element(b, &stops.head);
  }
  N_Vector y;
  CPMech mech         = built(b, &y);
  const CPEquations e = equations_of(mech);
  sunrealtype gap[4], rate[4], *state = N_VGetArrayPointer(y);
  memcpy(state, x, sizeof x), memcpy(state + 2, x, sizeof x);
  ck_assert_int_eq(e.np, 4);
  ck_assert_int_eq(e.p(0, state, gap, CPMechGetUserData(mech)), 0);
  ck_assert_int_eq(e.v(0, state, state + 2, rate, CPMechGetUserData(mech)), 0);
  for (int k = 0; k < 2; k++) {
    ck_assert_double_eq_tol(gap[2 * k], x[k] - lower, 1e-15);
    ck_assert_double_eq_tol(gap[2 * k + 1], upper - x[k], 1e-15);
    ck_assert_double_eq_tol(rate[2 * k], x[k], 1e-15);
    ck_assert_double_eq_tol(rate[2 * k + 1], -x[k], 1e-15);
  }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* Each coordinate as a sensor, and its rate, have the derivative 1 with respect to itself. */
START_TEST(coordinates_are_sensors_with_derivatives) {
  CPBodies b = three_bodies(0);
  N_Vector y;
  CPMech mech             = built(b, &y);
  unsigned long long seed = 5;
  const int nu = (int)equations_of(mech).nu, nq = (int)equations_of(mech).nq;
  sunrealtype *g = calloc(2 * (size_t)nu, sizeof *g), *state = N_VGetArrayPointer(y);
  ck_assert_ptr_nonnull(g);
  random_fill(y, &seed);
  for (int k = 0; k < 2; k++) {
    static const char *const of[] = {"knee.1", "free.3"};
    CPSensor s                    = {CP_SIZED(CPSensor), .gradient = g};
    int at                        = -1;
    ck_assert_msg(CPMechGetSensor(mech, of[k], 0, y, &s) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    for (int i = 0; i < nu; i++)
      if (state[i] == s.value[0]) at = i;
    ck_assert_int_ge(at, 0);
    for (int i = 0; i < 2 * nu; i++) ck_assert_double_eq_tol(g[i], i == at, 1e-12);
  }
  ck_assert_int_eq(nq, nu);
  free(g);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* The power of the reaction in the velocity of the joint is 0, and what passes it moves the outer body as it accelerates. */
START_TEST(reactions_do_no_work) {
  unsigned long long seed = 3;
  CPBodies b              = three_bodies(0);
  N_Vector y, ydot;
  CPMech mech = built(b, &y);
  ydot        = N_VClone(y);
  random_fill(y, &seed);
  ck_assert_int_eq(CPMechRhs(0, y, ydot, mech), 0);
  sunrealtype F[3], T[3], lambda[1] = {0}, origin[3] = {0.3, -0.4, 0.2}, v_b[3], v_a[3], x_a[3],
                          x[3];
  const int joint = thing_named(b, CP_JOINT, "screw"), shank = thing_named(b, CP_BODY, "shank"),
            nut = thing_named(b, CP_BODY, "nut");
  ck_assert_int_eq(CPMechGetReaction(mech, joint, 0, y, lambda, F, T), CP_SUCCESS);
  /* velocities at P_b of both bodies, and their angular velocities, from the rates of points */
  sunrealtype w[2][3], power = 0, size = 0;
  ck_assert_int_eq(body_point(mech, nut, origin, y, x, v_b), CP_SUCCESS);
  for (int side = 0; side < 2; side++) {
    CPSensor s = CP_INIT(CPSensor);
    ck_assert_int_eq(CPMechGetSensor(mech, side ? "nut.omega" : "shank.omega", 0, y, &s),
                     CP_SUCCESS);
    for (int k = 0; k < 3; k++) w[side][k] = s.value[k];
  }
  const sunrealtype zero[3] = {0, 0, 0};
  ck_assert_int_eq(body_point(mech, shank, zero, y, x_a, v_a), CP_SUCCESS);
  const sunrealtype d[3] = {x[0] - x_a[0], x[1] - x_a[1], x[2] - x_a[2]};
  for (int k = 0; k < 3; k++) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const sunrealtype rel = v_b[k] - v_a[k] - (w[0][i] * d[j] - w[0][j] * d[i]);
    power += F[k] * rel + T[k] * (w[1][k] - w[0][k]);
    size += fabs(F[k] * rel) + fabs(T[k] * (w[1][k] - w[0][k]));
  }
  ck_assert_double_gt(size, 1e-3);
  ck_assert_double_le(fabs(power), 1e-12 * size);
  N_VDestroy(y);
  N_VDestroy(ydot);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

/* A loop with joints by functions, whose point starts far from its line, and one of whose coordinates has a value */
START_TEST(loops_are_assembled) {
  CPBodies b         = three_bodies(0);
  const CPJoint loop = {CP_NEW_JOINT("loop"), .kind = CP_JOINT_POINT_ON_LINE, .b = "nut",
                        .in = CP_IN_BODIES, .on_a = {.point = {1, 0.5, 0.2}}};
  add_element(b, &loop.head);
  N_Vector y;
  CPMech mech             = built(b, &y);
  const int knee          = thing_named(b, CP_COORDINATE, "knee.1");
  const CPRange bent      = {knee, 0.8, 0.8};
  CPAssembly assembly     = {CP_SIZED(CPAssembly), .ranges = &bent, .nranges = _i};
  unsigned long long seed = 5;
  random_fill(y, &seed);
  sunrealtype open[2], x, rate;
  const CPEquations e = equations_of(mech);
  ck_assert_int_eq(e.p(0, N_VGetArrayPointer(y), open, CPMechGetUserData(mech)), 0);
  ck_assert_double_gt(fabs(open[0]) + fabs(open[1]), 0.1);
  ck_assert_msg(CPMechAssemble(mech, 0, y, &assembly) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(mech)));
  ck_assert_int_eq(e.p(0, N_VGetArrayPointer(y), open, CPMechGetUserData(mech)), 0);
  ck_assert_double_le(fabs(open[0]) + fabs(open[1]), 1e-12);
  ck_assert_int_eq(CPMechGetCoordinate(mech, knee, y, &x, &rate), CP_SUCCESS);
  if (_i) ck_assert_double_eq_tol(x, 0.8, 1e-12);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&b);
}
END_TEST

static void refuses(CPBodies b, const CPElement *element, int code, const char *message) {
  ck_assert_int_eq(CPBodiesAdd(b, element, NULL), code);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(b)), message);
}

START_TEST(what_makes_no_joint_is_refused_by_its_name) {
  CPBodies b                      = three_bodies(0);
  CPFunction two                  = NULL;
  const char *variables[]         = {"x", "y"};
  const CPFunctionOptions options = {CP_SIZED(CPFunctionOptions), .text = "x*y", .nvariables = 2,
                                     .variable = variables};
  ck_assert_int_eq(CPFunctionCreate(&options, &two), CP_SUCCESS);
  CPJointMotion motion = MOTION(.about = 1, .axis = {0, 0, 1});
  CPJoint j = {CP_NEW_JOINT("bad"), .kind = CP_JOINT_CUSTOM, .a = "base",      .b = "nut",
               .motion = &motion,   .nmotions = 1,           .ncoordinates = 2};
  refuses(b, &j.head, CP_ILL_INPUT, "bad: no motion depends on coordinate 1");
  j.ncoordinates = 7;
  refuses(b, &j.head, CP_ILL_INPUT, "bad: ncoordinates must be 0 ... 6, and is 7");
  j.ncoordinates = 1, motion.coordinate = 1;
  refuses(b, &j.head, CP_ILL_INPUT, "bad: coordinate of motion 0 must be -1 ... 0, and is 1");
  motion.coordinate = 0, motion.function = two;
  refuses(b, &j.head, CP_ILL_INPUT, "bad: the function of motion 0 must have 1 variable, and has 2");
  motion.function = NULL, motion.axis[2] = 0;
  refuses(b, &j.head, CP_ILL_INPUT, "bad: axis of motion 0 must not be zero");
  motion.axis[2] = 1, j.kind = CP_JOINT_REVOLUTE;
  refuses(b, &j.head, CP_ILL_INPUT, "bad: only joints of the kind custom have motions");
  const CPFriction rough = {CP_NEW_FRICTION("rough"), .of = {"knee", 0}, .factor = 1, .speed = 1};
  refuses(b, &rough.head, CP_NOT_SUPPORTED,
          "rough: friction that depends on the load needs a joint without functions");
  j.kind = CP_JOINT_CUSTOM; /* closes a loop */
  add_element(b, &j.head);
  CPModel model;
  CPFunctionFree(&two);
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesBuild(b, &model), CP_ILL_INPUT);
  ck_assert_ptr_nonnull(
      strstr(CPObjectGetLastMessage(CP_OBJECT(b)), "a joint by functions cannot close a loop"));
  ck_assert_int_eq(CPBodiesSetFormulation(b, CP_ABSOLUTE), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesBuild(b, &model), CP_ILL_INPUT);
  ck_assert_str_eq(CPObjectGetLastMessage(CP_OBJECT(b)),
                   "free: a joint by functions needs joint coordinates (CP_JOINT_COORDINATES)");
  CPBodiesFree(&b);
}
END_TEST

/* A crank of length 1 and, on its end, a slider that moves along y at x = 0.5 without turning. Upside down, where the rows of the guide
 * hold as well, it is no position of the mechanism: neither a state that is nearly there nor a start half a turn off may lead to it. */
START_TEST(axes_are_not_closed_opposite_to_each_other) {
  for (int i = 0; i < 2; i++) {
    CPBodies b                   = CPBodiesCreate(3, NULL);
    const CPBody crank           = {CP_NEW_BODY("crank"), .mass = 1, .inertia = {1, 1, 1},
                                    .quaternion = {cos(0.5), 0, 0, sin(0.5)}},
                 slider          = {CP_NEW_BODY("slider"), .mass = 1, .inertia = {1, 1, 1},
                                    .position = {0.5, 0.8, 0}};
    const CPJointMotion turn[]   = {MOTION(.about = 1, .axis = {0, 0, 1})},
                        follow[] = {MOTION(.axis = {1, 0, 0}, .coordinate = -1, .offset = 1),
                                    MOTION(.about = 1, .axis = {0, 0, 1})};
    const CPJoint
        pin   = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_CUSTOM, .b = "crank",
                 .motion = turn,      .nmotions = 1,           .ncoordinates = 1},
        wrist = {CP_NEW_JOINT("wrist"), .kind = CP_JOINT_CUSTOM, .a = "crank",
                 .b = "slider",         .in = CP_IN_BODIES,      .motion = follow,
                 .nmotions = 2,         .ncoordinates = 1,       .start = {i ? M_PI - 1 : -1}},
        guide = {CP_NEW_JOINT("guide"), .kind = CP_JOINT_PRISMATIC, .b = "slider",
                 .on_a = {.point = {0.5, 0, 0}, .axis = {0, 1, 0}}};
    N_Vector y;
    add_element(b, &crank.head);
    add_element(b, &slider.head);
    add_element(b, &pin.head);
    add_element(b, &wrist.head);
    add_element(b, &guide.head);
    CPMech mech = built(b, &y);
    if (!i)
      ck_assert_int_eq(
          CPMechSetCoordinate(mech, thing_named(b, CP_COORDINATE, "wrist"), y, M_PI - 0.9, 0),
          CP_SUCCESS);
    CPAssembly assembly = CP_INIT(CPAssembly);
    ck_assert_msg(CPMechAssemble(mech, 0, y, &assembly) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    CPBodyFrame frame = CP_INIT(CPBodyFrame);
    ck_assert_int_eq(CPMechGetFrame(mech, thing_named(b, CP_BODY, "slider"), NULL, y, &frame),
                     CP_SUCCESS);
    ck_assert_double_eq_tol(frame.position[0], 0.5, 1e-9);
    ck_assert_double_eq_tol(frame.axes[4], 1, 1e-9); /* y of the slider is that of space */
    N_VDestroy(y);
    CPMechFree(&mech);
    CPBodiesFree(&b);
  }
}
END_TEST

TEST_SUITE(custom) {
  Suite *suite = suite_create("bodies/custom");
  TCase *tc    = tcase_create("custom");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, a_screw_falls_as_its_closed_form);
  tcase_add_test(tc, a_mass_on_an_ellipse_moves_as_its_closed_form);
  tcase_add_loop_test(tc, accelerations_are_those_of_lagranges_equations, 0, ALL_WAYS);
  tcase_add_loop_test(tc, velocities_are_those_of_positions, 0, ALL_WAYS);
  tcase_add_loop_test(tc, partial_derivatives_are_exact, 0, ALL_WAYS);
  tcase_add_test(tc, stops_hold_coordinates_from_both_sides);
  tcase_add_test(tc, coordinates_are_sensors_with_derivatives);
  tcase_add_test(tc, reactions_do_no_work);
  tcase_add_loop_test(tc, loops_are_assembled, 0, 2);
  tcase_add_test(tc, axes_are_not_closed_opposite_to_each_other);
  tcase_add_test(tc, what_makes_no_joint_is_refused_by_its_name);
  suite_add_tcase(suite, tc);
  return suite;
}
