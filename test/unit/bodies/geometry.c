/* Derivatives with respect to placements, points, axes, masses and lengths that a file's parameters move, against differences: joints of
 * all kinds as edges of a tree, from either side, as loops, and in absolute coordinates, with what acts between their bodies */
#include "by_parameters.h"
#include "reading.h"

#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <stdlib.h>

#define PARAMETERS "parameters: {l: 0.6, phi: 0.35, m: 0.8, r: 0.11}\n"
#define INERTIA    "inertia: [m*l^2, 0.3, 0.5, 0.02, m*l*r, 0.01], centre: [l/3, r, -l/4]"
#define FRAME                                                                                   \
  "in: bodies, at: [l, r, -l/2], axis: [sin(phi), 0.3, cos(phi)], at_b: [-r, l, 0.1], axis_b: " \
  "[0.2, cos(phi), 1]"
#define BODY(name) "- {name: " name ", mass: m, " INERTIA "}\n"
#define JOINT(name, kind, a, b) \
  "- {name: " name ", kind: " kind ", a: " a ", b: " b ", " FRAME "}\n"
/* A chain of all kinds of edges, of which `lower` leads from its body to that of its parent, and a body afloat */
#define TREE                                                                                \
  PARAMETERS                                                                                \
  "gravity: [0.3, 2*l, -9.81]\nbodies:\n" BODY("a") BODY("b") BODY("c") BODY("d") BODY("e") \
      BODY("f") BODY("g") BODY("h") "joints:\n" JOINT("hinge", "revolute", "ground", "a")   \
          JOINT("cross", "universal", "a", "b") JOINT("ball", "ball", "b", "c")             \
              JOINT("lower", "cylindrical", "d", "c") JOINT("back", "universal", "e", "a")  \
                  JOINT("slide", "prismatic", "e", "f") JOINT("weld", "fixed", "f", "g")
#define PLANE                                                                                 \
  PARAMETERS                                                                                  \
  "dimension: 2\ngravity: [0.3, -9.81]\nbodies:\n"                                            \
  "- {name: a, mass: m, inertia: m*l^2, centre: [l/3, r]}\n"                                  \
  "- {name: b, mass: m, inertia: 0.3, centre: [-r, l]}\n"                                     \
  "- {name: c, mass: 2*m, inertia: 0.2, centre: [-r, r]}\n"                                   \
  "joints:\n- {name: pin, kind: revolute, b: a, in: bodies, at: [l, r], at_b: [-r, 0]}\n"     \
  "- {name: rail, kind: prismatic, a: b, b: a, in: bodies, at: [l, r], at_b: [-r, 0], axis: " \
  "[cos(phi), sin(phi)], axis_b: [1, l]}\n"
#define TIES                                                                                       \
  "springs:\n- {name: s, a: b, b: d, at: [l, 0, 0.1], at_b: [0, r, 0], stiffness: 40*l, damping: " \
  "2, free: l, inertance: r, in: bodies}\n"                                                        \
  "- {name: turn, of: hinge, stiffness: 7*l, damping: r, free: phi, inertance: 0.2*m}\n"           \
  "bushings:\n- {name: pad, a: c, b: g, " FRAME                                                    \
  ", stiffness: [50, 90*l, 20], damping: [1, 2, 3], "                                              \
  "turn_stiffness: [1, 2, 3]}\n"                                                                   \
  "forces:\n- {name: wind, body: g, in: bodies, at: [l, r, 0.2], force: [3*l, sin(phi), 0.3]}\n"   \
  "- {name: jet, body: d, in: bodies, at: [r, l, 0], force: [1, 2*l, 3], follows: true}\n"         \
  "actuators:\n- {name: push, b: f, in: bodies, push: [1, 0.5, 0], about: [0.1, 0.2, 0.3], "       \
  "control: 0.4*l, gain: [1, 0, 0]}\n"                                                             \
  "couplers: [{name: gear, of: [hinge, slide], ratio: [l, -2], offset: r}]\n"                      \
  "drives: [{name: ram, of: slide, amplitude: r, frequency: 3, start: l}]\n"

static const struct {
  const char *what, *text;
} cases[] = {
    {"a tree", TREE},
    {"a tree with ties", TREE TIES},
    {"a point on a line", TREE JOINT("loop", "point_on_line", "d", "g")},
    {"a point on a plane", TREE JOINT("loop", "point_on_plane", "d", "h")},
    {"a hinge in a loop", TREE JOINT("loop", "revolute", "d", "g")},
    {"a universal joint in a loop", TREE JOINT("loop", "universal", "h", "g")},
    {"a planar joint", TREE JOINT("loop", "planar", "g", "h")},
    {"a planar joint to the ground", TREE JOINT("loop", "planar", "ground", "h")},
    {"a planar joint from the ground", TREE JOINT("loop", "planar", "h", "ground")},
    {"a rod", TREE "- {name: loop, kind: rod, a: d, b: g, length: l, in: bodies, at: [r, 0, "
                   "l], at_b: [0, l, r]}\n"},
    {"a rolling disc", TREE "- {name: loop, kind: rolling_disc, b: h, length: r, " FRAME "}\n"},
    {"a joint by functions", TREE "- {name: own, kind: custom, a: g, b: h, " FRAME
                                  ", motions: [{about: [0, 0, 1], by: x}, {along: [0.3, 0, 2], by: "
                                  "50 mm * x}, {about: [1, 0.2, 0], by: 0.3*x*x}]}\n"},
    {"a ball on a sphere", TREE "contacts: [{name: touch, a: d, b: g, on: sphere, touch: ball, "
                                "radius: r, radius_a: l, " FRAME "}]\n"},
    {"laws of other quantities", TREE
     "springs: [{name: law, of: slide, force: (5 N*(hinge.angle) + 3 N*(a.position.x)*(10 cm)^-1 + "
     "2 N s*(e.velocity.y)*(10 cm)^-1)*(1 + l)}]\n"
     "forces: [{name: push, body: d, in: bodies, at: [r, l, 0], "
     "force: [5 N*(hinge.angle), 3 N*(f.position.x)*(10 cm)^-1*l, 2 N s*(a.velocity.y)*(10 "
     "cm)^-1]}]\n"},
    {"a rope",
     TREE "ropes:\n- {name: rope, in: bodies, along: [{at: [0.1, 3, 0]}, {body: h, at: [l, "
          "0.2, 0], radius: 0.6*r, axis: [0, 0, 1]}, {body: d, at: [0.4, l, 0]}]}\n"},
    {"a tyre",
     TREE "tyres: [{name: tyre, body: h, in: bodies, axis: [0.1, cos(phi), 0], radius: 3*l, "
          "stiffness: 2000, damping: 0.02, friction: 0.9, slip_stiffness: 400, "
          "half_length: 60 mm, rolling: 0.015, speed: 0.5}]\n"},
    {"an elastic sphere", TREE "elastic_spheres: [{name: sphere, a: d, b: h, in: bodies, at: [0, "
                               "l, 0], axis: [0.1, cos(phi), 0], at_b: [l, 0, r], "
                               "radius: 9*l, radius_a: 9*r, modulus: 2000, damping: 0.02, "
                               "friction: 0.9, sticking: 1.1, viscous: 0.1, speed: 0.5, "
                               "share: 0.3}]\n"},
    {"the plane",
     PLANE "springs: [{name: s, a: b, b: c, at: [l, 0], at_b: [r, r], stiffness: 40*l, "
           "free: l, in: bodies}]\n"},
    {"a loop in the plane",
     PLANE "- {name: loop, kind: revolute, a: b, b: c, in: bodies, at: [l, r], at_b: [r, l]}\n"
           "- {name: more, kind: revolute, b: c, in: bodies, at: [l, -r], at_b: [-r, l]}\n"}};
enum { CASES = sizeof cases / sizeof *cases, STATES = 2 };

START_TEST(derivatives_by_geometry_are_exact) {
  static const double bound       = 1e-8; /* of differences */
  const CPFormulation formulation = _i % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE;
  CPBodiesFile settings           = {CP_SIZED(CPBodiesFile), .named = "l phi m r"};
  const char *text                = cases[_i / 2].text;
  unsigned long long seed         = 3;
  CPBodies bodies;
  CPMech mech;
  int first;
  ck_assert_msg(CPBodiesRead("case.yaml", text, strlen(text), &bodies, &settings) == CP_SUCCESS,
                "%s: %s", cases[_i / 2].what, CPObjectGetLastMessage(NULL));
  if (formulation == CP_ABSOLUTE && strstr(text, "custom")) {
    CPBodiesFree(&bodies);
    return; /* It has joint coordinates only. */
  }
  N_Vector y = build_as(bodies, formulation, &mech), random = N_VClone(y);
  ck_assert_int_eq(CPBodiesFind(bodies, CP_PARAMETER, "l", &first), CP_SUCCESS);
  for (int state = 0; state < STATES; state++) {
    random_fill(random, &seed);
    N_VLinearSum(1, y, 0.4, random, random); /* near the placement, where all is defined */
    const int active = check_by_parameters(mech, 0.3, random, first, bound);
    ck_assert_msg(active == 4, "%s: %d", cases[_i / 2].what, active);
  }
  N_VDestroy(random);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

/* l^3 along the first velocity, and against it */
static int added(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                 const sunrealtype *lambda, sunrealtype *f, void *length) {
  const sunrealtype l = *(sunrealtype *)length;
  (void)t, (void)q, (void)z, (void)lambda;
  f[0] = l * l * l - l * u[0];
  return 0;
}

/* y' along each parameter, with the power of the force in the balance, which is the last component, against differences of y' */
START_TEST(forces_that_are_added_depend_on_parameters) {
  static const double bound = 1e-9;
  const char *text          = PLANE;
  CPBodiesFile settings     = {CP_SIZED(CPBodiesFile), .named = "l phi m r"};
  unsigned long long seed   = 3;
  CPBodies bodies;
  CPMech mech;
  sunrealtype *values;
  int plist[4];
  ck_assert_int_eq(CPBodiesRead("case.yaml", text, strlen(text), &bodies, &settings), CP_SUCCESS);
  N_Vector y    = build_as(bodies, _i ? CP_JOINT_COORDINATES : CP_ABSOLUTE, &mech);
  N_Vector s[4] = {N_VClone(y), N_VClone(y), N_VClone(y), N_VClone(y)};
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesFind(bodies, CP_PARAMETER, "l", plist), CP_SUCCESS);
  for (int k = 1; k < 4; k++) plist[k] = plist[0] + k;
  const CPMechForce force = {CP_SIZED(CPMechForce), .f = added, .data = values + plist[0]};
  ck_assert_int_eq(CPMechAddForce(mech, &force, NULL), CP_SUCCESS);
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 4, .values = values, .plist = plist};
  random_fill(y, &seed);
  for (int k = 0; k < 4; k++) {
    sunrealtype dp[4] = {0}, *own = values + plist[k];
    const sunrealtype kept = *own, e = 0.01 * kept;
    dp[k] = 1;
    N_VConst(0, s[0]), N_VConst(0, s[2]);
    ck_assert_msg(CPMechJvp(mech, 0.3, y, &parameters, s[0], dp, s[1], NULL) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
    for (int i = -3; i <= 3; i++) {
      *own = kept + i * e;
      if (i != 0) ck_assert_int_eq(CPMechRhs(0.3, y, s[3], mech), 0);
      if (i != 0) N_VLinearSum(1, s[2], sixth_order(i) / e, s[3], s[2]);
    }
    *own           = kept;
    const int last = (int)N_VGetLength(y) - 1;
    if (k == 0) ck_assert_double_gt(fabs(entries(s[1])[last]), 0.1);
    for (int i = 0; i <= last; i++)
      ck_assert_double_eq_tol(entries(s[1])[i], entries(s[2])[i], bound * N_VMaxNorm(s[2]));
  }
  for (int k = 0; k < 4; k++) N_VDestroy(s[k]);
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}
END_TEST

TEST_SUITE(geometry) {
  Suite *suite = suite_create("bodies/geometry");
  TCase *tc    = tcase_create("geometry");
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, derivatives_by_geometry_are_exact, 0, 2 * CASES);
  tcase_add_loop_test(tc, forces_that_are_added_depend_on_parameters, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
