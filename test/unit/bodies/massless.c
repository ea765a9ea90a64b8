/* Bodies without mass against closed forms: they need only that every motion of the tree moves some mass. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>

static const sunrealtype gravity = 9.81;

/* A body with its frame at the origin */
static void add_body(CPBodies b, const char *name, sunrealtype mass, sunrealtype J, sunrealtype J_z,
                     sunrealtype z) {
  const CPBody body = {CP_NEW_BODY(name), .mass = mass, .inertia = {J, J, J_z}, .centre = {0, 0, z}};
  add_element(b, &body.head);
}

static void join(CPBodies b, const char *name, CPJointKind kind, const char *a, const char *body,
                 sunrealtype x, sunrealtype y, sunrealtype z) {
  const CPJoint joint = {CP_NEW_JOINT(name), .kind = kind, .a = a, .b = body,
                         .on_a = {.axis = {x, y, z}}};
  add_element(b, &joint.head);
}

typedef struct {
  CPBodies bodies;
  int body;             /* whose point moves */
  sunrealtype point[3]; /* in its frame */
  sunrealtype start[6]; /* of the state */
  void (*exact)(sunrealtype t, sunrealtype *x);
} Motion;

/* A point mass hangs on a cross between two hinges, and goes round at an angle: omega^2 = g / (l cos alpha). */
static const sunrealtype alpha = 0.4;

static void cone(sunrealtype t, sunrealtype *x) {
  const sunrealtype omega = sqrt(gravity / cos(alpha));
  x[0]                    = sin(alpha) * cos(omega * t);
  x[1]                    = sin(alpha) * sin(omega * t);
  x[2]                    = -cos(alpha);
}

static Motion cross(void) {
  const sunrealtype g[] = {0, 0, -gravity};
  CPBodies b            = CPBodiesCreate(3, g);
  add_body(b, "cross", 0, 0, 0, 0);
  add_body(b, "bob", 2, 0, 0, -1);
  join(b, "first", CP_JOINT_REVOLUTE, "ground", "cross", 1, 0, 0);
  join(b, "second", CP_JOINT_REVOLUTE, "cross", "bob", 0, 1, 0);
  /* x = (-sin q_2, sin q_1 cos q_2, -cos q_1 cos q_2) */
  const sunrealtype omega = sqrt(gravity / cos(alpha));
  return (Motion){b, 1, {0, 0, -1}, {0, -alpha, tan(alpha) * omega, 0}, cone};
}

/* A symmetric body turns freely about its centre on three hinges: it precesses about its angular momentum L = J omega + (J_z - J) omega_z z,
 * with omega_p = |L| / J, while z keeps its angle. */
static const sunrealtype slim = 0.5, spin[] = {0.3, 0.5, 1.1};

static void precession(sunrealtype t, sunrealtype *x) {
  const sunrealtype L[]  = {spin[0], spin[1], slim * spin[2]},
                    size = sqrt(L[0] * L[0] + L[1] * L[1] + L[2] * L[2]), c = cos(size * t),
                    s = sin(size * t), n[] = {L[0] / size, L[1] / size, L[2] / size};
  /* z turned about n (Rodrigues) */
  x[0] = n[1] * s + n[0] * n[2] * (1 - c);
  x[1] = -n[0] * s + n[1] * n[2] * (1 - c);
  x[2] = c + n[2] * n[2] * (1 - c);
}

static Motion gimbals(void) {
  CPBodies b = CPBodiesCreate(3, NULL);
  add_body(b, "outer", 0, 0, 0, 0);
  add_body(b, "inner", 0, 0, 0, 0);
  add_body(b, "rotor", 3, 1, slim, 0);
  join(b, "first", CP_JOINT_REVOLUTE, "ground", "outer", 1, 0, 0);
  join(b, "second", CP_JOINT_REVOLUTE, "outer", "inner", 0, 1, 0);
  join(b, "third", CP_JOINT_REVOLUTE, "inner", "rotor", 0, 0, 1);
  return (Motion){b, 2, {0, 0, 1}, {0, 0, 0, spin[0], spin[1], spin[2]}, precession};
}

/* A carriage on two slides, which are not at right angles, and a load in springs along the axes of space */
static void ellipse(sunrealtype t, sunrealtype *x) {
  x[0] = 0.2 * cos(2 * t);
  x[1] = 0.3 * sin(3 * t);
  x[2] = 0;
}

static Motion carriage(void) {
  const sunrealtype s = sqrt(0.5), g[] = {0, 0, -gravity};
  CPBodies b = CPBodiesCreate(3, g);
  add_body(b, "carriage", 0, 0, 0, 0);
  add_body(b, "load", 1, 0, 0, 0);
  join(b, "along", CP_JOINT_PRISMATIC, "ground", "carriage", 1, 0, 0);
  join(b, "askew", CP_JOINT_PRISMATIC, "carriage", "load", s, s, 0);
  const CPBushing bushing = {CP_NEW_BUSHING("springs"), .b = "load", .stiffness = {4, 9, 0}};
  add_element(b, &bushing.head);
  /* x = x_1 + s x_2, y = s x_2 */
  return (Motion){b, 1, {0, 0, 0}, {0.2, 0, -0.9, 0.9 / s}, ellipse};
}

/* The largest error of positions up to t = 5, as a part of what the tolerances allow in each step, of an angle reltol 1 rad + abstol */
static double error_of(const Motion *m, CPMech mech, N_Vector y0, const char *method, double tol) {
  double worst    = 0;
  N_Vector y      = N_VClone(y0);
  CPIntegrator of = CPIntegratorCreate(method, test_context);
  sunrealtype t   = 0;
  N_VScale(1, y0, y);
  ck_assert_int_eq(CPMechAttach(mech, of, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(of, tol, tol), CP_SUCCESS);
  for (int steps = 1; t < 5; steps++) {
    sunrealtype x[3], exact[3];
    ck_assert_msg(CPIntegratorEvolve(of, 5, y, &t, CV_ONE_STEP) >= 0, "%s: %s", method,
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    ck_assert_int_eq(body_point(mech, m->body, m->point, y, x, NULL), CP_SUCCESS);
    m->exact(t, exact);
    for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(x[i] - exact[i]) / (steps * 2 * tol));
  }
  CPIntegratorFree(&of);
  N_VDestroy(y);
  return worst;
}

START_TEST(bodies_without_mass_move_as_the_closed_form) {
  static Motion (*const make[])(void) = {cross, gimbals, carriage};
  static const char *const methods[]  = {"DOP853", "RADAU", "BDF"};
  const Motion m                      = make[_i]();
  CPMech mech;
  ck_assert_int_eq(CPBodiesSetFormulation(m.bodies, CP_JOINT_COORDINATES), CP_SUCCESS);
  ck_assert_msg(build_mech(m.bodies, &mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(m.bodies)));
  N_Vector y = CPBodiesState(m.bodies, test_context);
  for (int i = 0; i < N_VGetLength(y); i++) entries(y)[i] = m.start[i];
  for (int method = 0; method < 3; method++)
    for (int digits = 3; digits <= 9; digits++) {
      const double tol = pow(10, -digits), error = error_of(&m, mech, y, methods[method], tol);
      ck_assert_msg(error <= 1, "%s at %g: %g", methods[method], tol, error);
    }
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodies b = m.bodies;
  CPBodiesFree(&b);
}
END_TEST

/* What moves no mass is refused by name, in both formulations, and what rows hold is not. */
START_TEST(what_moves_no_mass_is_named) {
  static const struct {
    const char *what, *words;
  } cases[]      = {{"end", "joint \"tip\" has a motion that moves no mass, as body \"light\""},
                    {"coincident", "has a motion that moves no mass, as body \"light\""},
                    {"afloat", "nothing holds body \"light\""},
                    {"welded", NULL},
                    {"between", NULL},
                    {"rods", NULL},
                    {"rods, but one", "\"light\""}};
  const int kind = _i / 2;
  const sunrealtype g[] = {0, 0, -gravity};
  CPBodies b            = CPBodiesCreate(3, g);
  CPModel model         = NULL;
  add_body(b, "link", 1, 1, 1, -1);
  add_body(b, "light", 0, 0, 0, 0);
  join(b, "root", CP_JOINT_REVOLUTE, "ground", kind == 1 ? "light" : "link", 1, 0, 0);
  switch (kind) {
  case 0: join(b, "tip", CP_JOINT_REVOLUTE, "link", "light", 0, 1, 0); break;
  case 1: join(b, "tip", CP_JOINT_REVOLUTE, "light", "link", 1, 0, 0); break;
  case 2: break;
  case 3: join(b, "tip", CP_JOINT_FIXED, "link", "light", 0, 1, 0); break;
  case 4:
    add_body(b, "end", 1, 1, 1, 0);
    join(b, "tip", CP_JOINT_REVOLUTE, "link", "light", 0, 1, 0);
    join(b, "other", CP_JOINT_REVOLUTE, "light", "end", 0, 0, 1);
    break;
  default: /* six rods, or five, hold a body, which turns about no edge */
    for (int k = 0; k < 11 - kind; k++) {
      static const double at[6][6]     = {{1, 0, 0, 2, 0.3, 0}, {0, 1, 0, 0, 2, 0.4},
                                          {0, 0, 1, 0.2, 0, 2}, {1, 1, 0, 1, 1.2, -2},
                                          {0, 1, 1, -2, 1, 1},  {1, 0, 1, 1, -2, 1.3}};
      static const char *const names[] = {"r1", "r2", "r3", "r4", "r5", "r6"};
      const CPJoint rod                = {CP_NEW_JOINT(names[k]),
                                          .kind       = CP_JOINT_ROD,
                                          .a          = "light",
                                          .b          = "link",
                                          .on_a.point = {at[k][0], at[k][1], at[k][2]},
                                          .on_b.point = {at[k][3], at[k][4], at[k][5]}};
      add_element(b, &rod.head);
    }
  }
  ck_assert_int_eq(CPBodiesSetFormulation(b, (CPFormulation)(_i % 2)), CP_SUCCESS);
  const int flag = CPBodiesBuild(b, &model);
  ck_assert_msg((flag == CP_SUCCESS) == !cases[kind].words, "%s: %d, %s", cases[kind].what, flag,
                CPObjectGetLastMessage(CP_OBJECT(b)));
  if (cases[kind].words)
    ck_assert_mentions(CPObjectGetLastMessage(CP_OBJECT(b)), cases[kind].words);
  CPModelFree(&model);
  CPBodiesFree(&b);
}
END_TEST

TEST_SUITE(massless) {
  Suite *suite = suite_create("bodies/massless");
  TCase *tc    = tcase_create("massless");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, bodies_without_mass_move_as_the_closed_form, 0, 3);
  tcase_add_loop_test(tc, what_moves_no_mass_is_named, 0, 14);
  suite_add_tcase(suite, tc);
  return suite;
}
