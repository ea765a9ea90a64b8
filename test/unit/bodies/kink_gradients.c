/* Gradients through the ends of pieces of functions, by all methods, forward and adjoint, against whole runs of the same file with another
 * value: where forces jump, derivatives do. What has no derivative, or none that is known, is refused. */
#include "reading.h"
#include "support/support.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLIDER                                                   \
  "dimension: 2\nparameters: {M: 1.3 kg, k: 20 N/m}\n"           \
  "bodies: [{name: b, mass: M, inertia: 1, velocity: [1, 0]}]\n" \
  "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
/* a second slider with a parameter, which moves as the first one allows */
#define COUPLED                                                                                \
  "dimension: 2\nparameters: {M: 1.3 kg, k: 4 N/m}\n"                                          \
  "bodies: [{name: b, mass: M, inertia: 1, velocity: [1, 0]}, {name: c, mass: 1, inertia: 1, " \
  "velocity: [0, 0.3]}]\n"                                                                     \
  "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}, {name: y, kind: prismatic, b: c, " \
  "axis: [0, 1]}]\nsprings: [{name: k, of: s, stiffness: k}]\n"

/* a pendulum under a slider, for a drive of that */
#define HUNG_AT(k)                                                                               \
  "dimension: 2\nparameters: {M: 1.3 kg, k: " #k "}\n"                                           \
  "bodies: [{name: b, mass: 1, inertia: 1, velocity: [1, 0]}, {name: c, mass: M, inertia: 0.1, " \
  "at: [0.2, -0.4], velocity: [1, 0]}]\n"                                                        \
  "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}, {name: pin, kind: revolute, a: b, "  \
  "b: c, at: [0, 0]}]\n"
#define HUNG HUNG_AT(2) "springs: [{name: k, of: pin, stiffness: k}]\n"

typedef struct {
  const char *name, *text;
  sunrealtype t_end;
} Case;

static const char *const methods[] = {"DOP853", "RADAU", "BDF", "Adams"};
enum { METHODS = sizeof methods / sizeof *methods, PARAMETERS = 2, VALUES = 2 };

static CPBodies bodies;
static CPMech mech;
static CPSession session;
static N_Vector y;
static CPBodiesFile by_name;
#define POSITION "s.displacement"
#define RATE     "s.rate"
static const char *at = POSITION, *rate = RATE; /* what is observed */

/* Reads the text with other values of the parameters, or NULL, and starts a run. */
static void start(const char *text, const char *values, CPFormulation formulation,
                  const char *method, sunrealtype tol, sunrealtype t_end) {
  test_context_setup();
  by_name =
      (CPBodiesFile){CP_SIZED(CPBodiesFile), .named = values ? NULL : "M k", .parameters = values};
  const int flag = CPBodiesRead("slider.yaml", text, strlen(text), &bodies, &by_name);
  ck_assert_msg(!flag, "%s", CPObjectGetLastMessage(NULL));
  y       = build_as(bodies, formulation, &mech);
  session = CPSessionCreate(method, test_context);
  ck_assert_int_eq(CPSessionSetMech(session, mech), CP_SUCCESS);
  ck_assert_int_eq(CPSessionSetTolerances(session, tol, tol, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPSessionStart(session, 0, y, t_end), CP_SUCCESS);
}

static void stop(void) {
  CPSessionFree(&session);
  CPMechFree(&mech);
  N_VDestroy(y);
  CPBodiesFree(&bodies);
  test_context_teardown();
}

/* The position of the slider, or of what else is observed, and the square of its velocity */
static int objective(sunrealtype t, N_Vector state, sunrealtype *values, void *data) {
  (void)data;
  const sunrealtype v = quantity_at(mech, rate, t, state, 0);
  values[0]           = quantity_at(mech, at, t, state, 0);
  values[1]           = v * v;
  return 0;
}

/* d [2]: out, central differences of sixth order of the objective */
static void expect(const Case *c, int parameter, CPFormulation formulation, sunrealtype *d) {
  const sunrealtype value = atof(strstr(c->text, parameter ? "k: " : "M: ") + 3), e = 2e-3 * value;
  d[0] = d[1] = 0;
  for (int k = -3; k <= 3; k++) {
    sunrealtype t, values[2];
    char text[40];
    if (k == 0) continue;
    snprintf(text, sizeof text, "%s=%.17g", parameter ? "k" : "M", (double)(value + k * e));
    start(c->text, text, formulation, "DOP853", 1e-13, c->t_end);
    ck_assert_msg(!CPSessionRun(session, c->t_end, y, &t), "%s: %s", c->name,
                  CPObjectGetLastMessage(CP_OBJECT(session)));
    objective(t, y, values, NULL);
    for (int j = 0; j < 2; j++) d[j] += sixth_order(k) / e * values[j];
    stop();
  }
}

/* G, dG: out. Returns what CPSessionGradient returns; the run is to be stopped. */
static int gradient_within(sunrealtype tol, const char *text, CPFormulation formulation,
                           const char *method, CPGradientMode mode, sunrealtype t_end,
                           sunrealtype *G, sunrealtype *dG) {
  sunrealtype *values;
  int plist[PARAMETERS];
  start(text, NULL, formulation, method, tol, t_end);
  ck_assert_int_eq(CPBodiesFind(bodies, CP_PARAMETER, "M", &plist[0]), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesFind(bodies, CP_PARAMETER, "k", &plist[1]), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetParameters(mech, &values, NULL), CP_SUCCESS);
  const CPFunctional F            = {CP_SIZED(CPFunctional), .ng = VALUES, .end = objective};
  const CPParameters by           = {CP_SIZED(CPParameters), .n = PARAMETERS, .values = values,
                                     .plist = plist};
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .mode = mode, .reltol = tol};
  return CPSessionGradient(session, t_end, &F, &by, &options, G, dG, NULL);
}
static int gradient(const char *text, CPFormulation formulation, const char *method,
                    CPGradientMode mode, sunrealtype t_end, sunrealtype *G, sunrealtype *dG) {
  return gradient_within(1e-10, text, formulation, method, mode, t_end, G, dG);
}

static const Case passed[] = {
    {"a force that jumps in space",
     SLIDER "springs: [{name: f, of: s, force: \"if(x > 0.3 m, 5 N, 1 N) - k*x\"}]\n", 0.8},
    {"a sign of the velocity", SLIDER "springs: [{name: f, of: s, force: -1 N*sign(v) - k*x}]\n",
     0.6},
    {"a jump whose size is a parameter, there and back",
     SLIDER "springs: [{name: f, of: s, force: \"-k*if(x^2 + x*(0.1 m) > 0.03 m^2, 0.3 m, 0.1 m) - "
            "k*x\"}]\n",
     0.7},
    {"a kink", SLIDER "springs: [{name: f, of: s, force: \"-max(k*x, 5 N/m*x)\"}]\n", 1.5},
    {"an end at a known time",
     SLIDER "springs: [{name: f, of: s, force: \"if(t > 0.4 s, 5 N, 1 N) - k*x\"}]\n", 0.8},
    {"an end that is a parameter",
     "dimension: 2\nparameters: {M: 1.3 kg, k: 0.3 m}\nbodies: [{name: b, mass: M, inertia: 1, "
     "velocity: [1, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
     "springs: [{name: f, of: s, force: \"if(x > k, 5 N, 1 N)\"}]\n",
     0.8},
    {"a time that is a parameter",
     "dimension: 2\nparameters: {M: 1.3 kg, k: 0.3 s}\nbodies: [{name: b, mass: M, inertia: 1, "
     "velocity: [1, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
     "springs: [{name: f, of: s, force: \"if(t > k, 5 N, 1 N)\"}]\n",
     0.8},
    {"a release at a time that follows a parameter",
     "dimension: 2\ngravity: [0, -9.81]\nparameters: {M: 1.3 kg, k: 0.3 s}\n"
     "bodies: [{name: b, mass: M, inertia: 1}, {name: c, mass: 1, inertia: 1, at: [0.5, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, -1]}, {name: pin, kind: revolute, a: b, "
     "b: "
     "c, at: [0, 0]}]\n"
     "releases: [{name: r, joint: pin, at: 1.2*k}]\n",
     0.8},
    {"two forces that jump together",
     SLIDER "springs: [{name: f, of: s, force: \"if(x > 0.2 m, 5 N, 1 N) - k*x\"}, {name: g, of: "
            "s, force: "
            "\"if(x < 0.2 m, 1 N, -1 N)\"}]\n",
     0.8},
    {"a cam of smooth pieces",
     COUPLED
     "couplers: [{name: cam, of: [y, s], ratio: [1, -1], function: \"if(x < 0.3 m, 0.3*x, 0.3*x + "
     "2*(x - 0.3 m)^2/(1 m))\"}]\n",
     0.8},
    {"an activation that reaches the end of its range",
     "dimension: 2\nparameters: {M: 1.3 kg, k: 3}\nbodies: [{name: b, mass: M, inertia: 1}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
     "actuators: [{name: a, of: s, gain: [1, 0, 0], control: k, dynamics: integrator, "
     "activation_range: [-0.3, 0.6]}]\n",
     0.5}};

typedef struct {
  Case at;
  const char *value, *rate; /* what is observed */
  int joint_only;           /* 1: it has no absolute coordinates */
} Observed;

/* Where the slope of a motion jumps, velocities do. */
static const Observed corners[] = {
    {{"a corner of a cam",
      COUPLED "couplers: [{name: cam, of: [y, s], ratio: [1, -1], function: \"max(0.3*x, x - 0.245 "
              "m)\"}]\n",
      0.8},
     POSITION,
     RATE,
     0},
    {{"a corner of a joint by functions",
      "dimension: 3\nparameters: {M: 1.3 kg, k: 4 N/m}\n"
      "bodies: [{name: b, mass: M, inertia: [1, 1, 1], velocity: [1, 0.3, 0]}]\n"
      "joints: [{name: s, kind: custom, b: b, motions: [{along: [1, 0, 0], by: (1 m)*x, of: 0}, "
      "{along: [0, 1, 0], by: \"(1 m)*max(0.3*x, x - 0.245)\", of: 0}]}]\n"
      "springs: [{name: k, of: s, stiffness: k}]\n",
      0.8},
     "b.position.y",
     "b.velocity.y",
     1},
    {{"a corner of a drive at a known time",
      HUNG
      "functions: {p: {units: [s, m], order: 1, rows: [[0, 0], [0.5, 0.5], [1, 0.5], [2, -1]]}}\n"
      "drives: [{name: d, of: s, motion: p(t)}]\n",
      0.8},
     "pin.angle",
     "pin.rate",
     0},
    {{"a corner of a drive at a time that is a parameter",
      HUNG_AT(0.4 s) "drives: [{name: d, of: s, motion: \"(1 m/s)*min(t, k)\"}]\n", 0.8},
     "pin.angle",
     "pin.rate",
     0},
    {{"a corner of a drive of a loop whose rows depend on each other",
      "dimension: 3\ngravity: [0, -9.81, 0]\nparameters: {M: 1.3 kg, k: 0.4 s}\n"
      "bodies: [{name: one, mass: 1, inertia: [1, 1, 1], at: [0, 0.05, 0], velocity: [-0.1, 0, 0], "
      "omega: [0, 0, 2]}, "
      "{name: coupler, mass: 1, inertia: [1, 1, 1], at: [0.15, 0.1, 0], velocity: [-0.2, 0, 0]}, "
      "{name: other, mass: 1, inertia: [1, 1, 1], at: [0.3, 0.05, 0], velocity: [-0.1, 0, 0], "
      "omega: [0, 0, 2]}, "
      "{name: b, mass: M, inertia: [0.01, 0.01, 0.01], at: [0.15, 0, 0.05], velocity: [-0.2, 0, "
      "0]}]\n"
      "joints: [{name: A, kind: revolute, b: one, at: [0, 0, 0], axis: [0, 0, 1]}, {name: B, kind: "
      "revolute, a: one, b: coupler, at: [0, 0.1, 0], axis: [0, 0, 1]}, {name: C, kind: revolute, "
      "a: "
      "coupler, b: other, at: [0.3, 0.1, 0], axis: [0, 0, 1]}, {name: D, kind: revolute, b: other, "
      "at: [0.3, 0, 0], axis: [0, 0, 1]}, {name: hang, kind: ball, a: coupler, b: b, at: [0.15, "
      "0.1, "
      "0]}]\n"
      "drives: [{name: d, of: A, motion: \"(2 rad/s)*min(t, k)\"}]\n",
      0.8},
     "b.position.y",
     "b.velocity.x",
     0}};

/* A body that swings, and one that flies by, for latches between them */
#define FLYING                                                                                  \
  "dimension: 2\ngravity: [0, -9.81]\nparameters: {M: 1.3 kg, k: 0.3}\n"                        \
  "bodies: [{name: b, mass: M, inertia: 0.1, at: [0.5, 0], velocity: [0, 1], spin: 2}, {name: " \
  "c, mass: 0.7, inertia: 0.04, at: [1.1, 0.3], velocity: [-1, 1], spin: -1}]\n"
#define SWINGING FLYING "joints: [{name: s, kind: revolute, b: b, at: [0, 0]}, "
/* The same in space, without a joint */
#define CAPTURED                                                                                  \
  "dimension: 3\ngravity: [0, 0, -9.81]\nparameters: {M: 1.3 kg, k: 0.2 m}\n"                     \
  "bodies: [{name: b, mass: M, inertia: [0.1, 0.12, 0.15], at: [0.5, 0, 0], velocity: [0, -0.5, " \
  "-1], omega: [1, 2, -1]}, {name: c, mass: 0.7, inertia: [0.04, 0.03, 0.05], at: [1.1, 0.3, "    \
  "0.1], velocity: [-1, 1, 0.5], omega: [0.5, 1, 3]}]\njoints: [{name: hang, kind: ball, b: b, "  \
  "at: [0, 0, 0]}, {name: hold, a: b, b: c, at: [0.8, 0.1, k], "
#define GRIP_AT_A_HEIGHT \
  "latches: [{name: grip, joint: hold, when: k/(1.7 m) - c.position.z/(2 m) - 0.2}]\n"

/* A latch closes its joint where the bodies are: the frame of the joint, and the velocities, depend on the state there. */
static const Observed latches[] = {
    {{"a latch at a known time",
      SWINGING "{name: hold, kind: revolute, a: b, b: c, at: [0.8, 0.1]}]\n"
               "latches: [{name: grip, joint: hold, at: 0.2 s}]\n",
      0.6},
     "c.position.x",
     "c.velocity.y",
     0},
    {{"a latch at a time that is a parameter",
      SWINGING "{name: hold, kind: fixed, a: b, b: c, at: [0.8, 0.1]}]\n"
               "latches: [{name: grip, joint: hold, at: 0.8 s*k}]\n",
      0.6},
     "c.position.x",
     "c.velocity.y",
     0},
    {{"a latch by a function, on a joint whose place is a parameter",
      SWINGING "{name: hold, kind: revolute, a: b, b: c, at: [2 m*k, 0.1]}]\n"
               "latches: [{name: grip, joint: hold, when: k - c.position.y/(1 m) - 0.1}]\n",
      0.6},
     "c.position.x",
     "c.velocity.y",
     0},
    {{"a latch, whose joint is released later",
      FLYING "joints: [{name: hold, kind: prismatic, a: b, b: c, at: [0.8, 0.1], axis: [1, "
             "2*k]}]\n"
             "latches: [{name: grip, joint: hold, when: k - c.position.y/(1 m) - 0.1}]\n"
             "releases: [{name: open, joint: hold, at: k*(1.5 s)}]\n",
      0.6},
     "c.position.x",
     "c.velocity.y",
     0},
    {{"two latches, the second of which closes a loop",
      SWINGING "{name: hold, kind: revolute, a: b, b: c, at: [0.8, 0.1]}, {name: end, kind: "
               "revolute, b: c, at: [1.3, 0.3]}]\n"
               "latches: [{name: grip, joint: hold, at: 0.2 s}, {name: last, joint: end, when: "
               "t/(1.3 s) - k}]\n",
      0.6},
     "c.position.x",
     "c.velocity.y",
     0},
    {{"a hinge in space", CAPTURED "kind: revolute, axis: [1, 2, 1]}]\n" GRIP_AT_A_HEIGHT, 0.6},
     "c.position.x",
     "c.velocity.y",
     0},
    {{"a universal joint in space",
      CAPTURED "kind: universal, axis: [1, 0, 1], axis_b: [0, 1, 0]}]\n" GRIP_AT_A_HEIGHT, 0.6},
     "c.position.x",
     "c.velocity.y",
     0},
    {{"a joint that is welded in space", CAPTURED "kind: fixed}]\n" GRIP_AT_A_HEIGHT, 0.6},
     "c.position.x",
     "c.velocity.y",
     0}};

/* within: the relative difference, at the tolerance tol */
static void compare_with_whole_runs(const Case *c, int first, sunrealtype tol, sunrealtype within) {
  for (int f = first; f < 2; f++) {
    const CPFormulation formulation = f ? CP_JOINT_COORDINATES : CP_ABSOLUTE;
    sunrealtype d[PARAMETERS][VALUES];
    for (int i = 0; i < PARAMETERS; i++) expect(c, i, formulation, d[i]);
    for (int m = 0; m < METHODS; m += test_is_short() ? METHODS - 1 : 1)
      for (int mode = 0; mode < 2; mode++) {
        sunrealtype G[VALUES], dG[VALUES * PARAMETERS];
        if (test_is_short() && m > 0) continue;
        const int flag = gradient_within(tol, c->text, formulation, methods[m],
                                         (CPGradientMode)mode, c->t_end, G, dG);
        ck_assert_msg(!flag, "%s by %s: %s", c->name, methods[m],
                      CPObjectGetLastMessage(CP_OBJECT(session)));
        for (int i = 0; i < PARAMETERS; i++)
          for (int j = 0; j < VALUES; j++)
            ck_assert_msg(fabs(dG[PARAMETERS * j + i] - d[i][j]) <= within * fmax(1, fabs(d[i][j])),
                          "%s by %s, formulation %d, mode %d: value %d by %d: %.12g for %.12g",
                          c->name, methods[m], f, mode, j, i, dG[PARAMETERS * j + i], d[i][j]);
        stop();
      }
  }
}

START_TEST(gradients_are_those_of_whole_runs) {
  compare_with_whole_runs(&passed[_i], 0, 1e-10, 1e-9);
}
END_TEST

static void observe(const Observed *o, sunrealtype tol, sunrealtype within) {
  at = o->value, rate = o->rate;
  compare_with_whole_runs(&o->at, o->joint_only, tol, within);
  at = POSITION, rate = RATE;
}

START_TEST(gradients_pass_corners_of_motions) { observe(&corners[_i], 1e-10, 1e-9); }
END_TEST
/* 30 tolerances, of the 10^2 that a gradient may be off */
START_TEST(gradients_pass_latches) { observe(&latches[_i], 1e-8, 3e-7); }
END_TEST

/* 1 N up to 0.3 m, and 5 N from there on: v^2 = 1 + 0.6 / M at the end of the first piece, which M (v - 1) takes. */
static sunrealtype in_two_pieces(sunrealtype M, sunrealtype t) {
  const sunrealtype v = sqrt(1 + 0.6 / M), later = t - M * (v - 1);
  return 0.3 + v * later + 2.5 / M * later * later;
}

START_TEST(a_force_that_jumps_has_the_gradient_of_its_closed_form) {
  static const char text[] =
      SLIDER "springs: [{name: f, of: s, force: \"if(x > 0.3 m, 5 N, 1 N)\"}]\n";
  sunrealtype d = 0;
  for (int k = -3; k <= 3; k++) d += sixth_order(k) / 2e-3 * in_two_pieces(1.3 + k * 2e-3, 0.8);
  for (int m = 0; m < METHODS; m++)
    for (int mode = 0; mode < 2; mode++) {
      sunrealtype G[VALUES], dG[VALUES * PARAMETERS];
      const int flag = gradient(text, CP_ABSOLUTE, methods[m], (CPGradientMode)mode, 0.8, G, dG);
      ck_assert_msg(!flag, "%s", CPObjectGetLastMessage(CP_OBJECT(session)));
      ck_assert_double_eq_tol(G[0], in_two_pieces(1.3, 0.8), 1e-9);
      ck_assert_double_eq_tol(dG[0], d, 1e-9);
      stop();
    }
}
END_TEST

/* At the corner x = k the slope of the cam becomes 1, from 0.3, and what (1, 0.3) carries is taken over by (1, 1). */
START_TEST(a_corner_of_a_cam_has_the_gradient_of_its_closed_form) {
  static const char text[] =
      "dimension: 2\nparameters: {M: 1.3 kg, k: 0.35 m}\n"
      "bodies: [{name: b, mass: M, inertia: 1, velocity: [1, 0]}, {name: c, mass: 1, inertia: 1, "
      "velocity: [0, 0.3]}]\n"
      "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}, {name: y, kind: prismatic, b: c, "
      "axis: [0, 1]}]\n"
      "couplers: [{name: cam, of: [y, s], ratio: [1, -1], function: \"max(0.3*x, x - 0.7*k)\"}]\n";
  const sunrealtype M = 1.3, k = 0.35, t = 0.8, u = (M + 0.3) / (M + 1),
                    u_M     = 0.7 / (M + 1) / (M + 1);
  const sunrealtype exact[] = {u_M * (t - k), 1 - u, 2 * u * u_M, 0};
  for (int f = 0; f < 2; f++)
    for (int m = 0; m < METHODS; m++)
      for (int mode = 0; mode < 2; mode++) {
        sunrealtype G[VALUES], dG[VALUES * PARAMETERS];
        const int flag = gradient(text, f ? CP_JOINT_COORDINATES : CP_ABSOLUTE, methods[m],
                                  (CPGradientMode)mode, t, G, dG);
        ck_assert_msg(!flag, "%s", CPObjectGetLastMessage(CP_OBJECT(session)));
        for (int i = 0; i < VALUES * PARAMETERS; i++)
          ck_assert_msg(fabs(dG[i] - exact[i]) < 1e-9,
                        "%s, formulation %d, mode %d: %d is %.12g, not %.12g", methods[m], f, mode,
                        i, dG[i], exact[i]);
        stop();
      }
}
END_TEST

/* What projects the sensitivities at each step has no error of its own that the tolerance does not make smaller: forward gradients are as
 * accurate as adjoint ones, which are not projected. */
START_TEST(forward_gradients_of_a_spinning_top_are_those_of_the_adjoint) {
  static const char text[] =
      "dimension: 3\ngravity: [0, 0, -9.81]\nparameters: {M: 1.3 kg, k: 0.02}\n"
      "bodies: [{name: b, mass: M, inertia: [0.05, 0.05, k], at: [0.2, 0, 0.3], velocity: [0.15, "
      "6, "
      "-0.1], omega: [0, 0.5, 30]}]\n"
      "joints: [{name: s, kind: ball, b: b, at: [0, 0, 0]}]\n";
  sunrealtype G[2][VALUES], dG[2][VALUES * PARAMETERS], largest = 0;
  at = "b.position.x", rate = "b.velocity.z";
  for (int mode = 0; mode < 2; mode++) {
    const int flag =
        gradient(text, CP_ABSOLUTE, "DOP853", (CPGradientMode)mode, 1, G[mode], dG[mode]);
    ck_assert_msg(!flag, "%s", CPObjectGetLastMessage(CP_OBJECT(session)));
    stop();
  }
  at = POSITION, rate = RATE;
  for (int i = 0; i < VALUES * PARAMETERS; i++) largest = fmax(largest, fabs(dG[0][i]));
  for (int i = 0; i < VALUES * PARAMETERS; i++)
    ck_assert_msg(fabs(dG[1][i] - dG[0][i]) <= 5e-11 * largest, "%d: %.14g for %.14g", i, dG[1][i],
                  dG[0][i]);
}
END_TEST

/* A slider on a rough way, x'' = -k x / M - mu g tanh(x' / 0.1 m/s): increments of differences are parts of an angle's size, 1 rad, where all
 * coordinates are roundoff. */
START_TEST(derivatives_at_rest_at_the_origin_do_not_depend_on_roundoff) {
  static const char text[] =
      "dimension: 2\ngravity: [0, -9.81]\nparameters: {M: 1.3 kg, k: 20 N/m}\n"
      "bodies: [{name: b, mass: M, inertia: 1}]\n"
      "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
      "frictions: [{name: r, of: s, factor: 0.2, speed: 0.1 m/s}]\n"
      "springs: [{name: k, of: s, stiffness: k}]\n";
  const int column[]        = {0, 3};
  const sunrealtype exact[] = {-20 / 1.3, -0.2 * 9.81 / 0.1};
  start(text, NULL, CP_ABSOLUTE, "DOP853", 1e-6, 1);
  N_Vector s = N_VClone(y), sdot = N_VClone(y);
  N_VConst(1e-17, y);
  for (int k = 0; k < 2; k++) {
    N_VConst(0, s);
    N_VGetArrayPointer(s)[column[k]] = 1;
    ck_assert_int_eq(CPMechJvp(mech, 0, y, NULL, s, NULL, sdot, NULL), CP_SUCCESS);
    ck_assert_double_eq_tol(N_VGetArrayPointer(sdot)[3], exact[k], 1e-9 * fabs(exact[k]));
  }
  N_VDestroy(s), N_VDestroy(sdot);
  stop();
}
END_TEST

/* After a gradient, functions are evaluated where they are, not in the pieces of the run. */
START_TEST(a_gradient_leaves_no_piece_held) {
  static const char text[] =
      SLIDER "springs: [{name: f, of: s, force: \"if(x > 0.3 m, 5 N, 1 N)\"}]\n";
  sunrealtype G[VALUES], dG[VALUES * PARAMETERS];
  ck_assert_int_eq(gradient(text, CP_JOINT_COORDINATES, "DOP853", CP_GRADIENT_FORWARD, 0.8, G, dG),
                   CP_SUCCESS);
  ck_assert_double_eq(quantity_at(mech, "f.force", 0, y, 0), 1);
  stop();
}
END_TEST

static const struct {
  const char *name, *text, *rule;
} refused[] = {
    {"a body that comes to rest by a sign",
     SLIDER "springs: [{name: f, of: s, force: -3 N*sign(v)}]\n",
     "derivatives do not exist where a force jumps"},
    {"two forces that jump at one time by accident",
     "dimension: 2\nparameters: {M: 1 kg, k: 1 N/m}\nbodies: [{name: b, mass: M, inertia: 1, "
     "velocity: [1, 0]}, "
     "{name: c, mass: 1, inertia: 1, velocity: [1, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}, {name: o, kind: prismatic, b: c, "
     "axis: [1, 0]}]\n"
     "springs: [{name: f, of: s, force: \"if(x > 0.5 m, 1 N, 0 N)\"}, {name: g, of: o, force: "
     "\"if(x > 0.5 m, "
     "1 N, 0 N)\"}]\n",
     "at one time by accident"},
    {"two parameters that are equal by accident",
     "dimension: 2\nparameters: {M: 0.3 m, k: 0.3 m}\nbodies: [{name: b, mass: 1, inertia: 1, "
     "velocity: [1, 0]}]\n"
     "joints: [{name: s, kind: prismatic, b: b, axis: [1, 0]}]\n"
     "springs: [{name: f, of: s, force: \"if(x > k, 5 N, 1 N)\"}, {name: g, of: s, force: \"if(x > "
     "M, 2 N, 1 N)\"}]\n",
     "at one time by accident"},
    {"a latch and a release at one time",
     SWINGING "{name: hold, kind: revolute, a: b, b: c, at: [0.8, 0.1]}]\n"
              "latches: [{name: grip, joint: hold, at: 0.2 s}]\nreleases: [{name: r, joint: s, at: "
              "0.2 s}]\n",
     "derivatives do not pass a latch and a release at one time"}};

START_TEST(what_has_no_gradient_is_refused) {
  for (int f = 0; f < 2; f++)
    for (int mode = 0; mode < 2; mode++) {
      sunrealtype G[VALUES], dG[VALUES * PARAMETERS];
      const int flag = gradient(refused[_i].text, f ? CP_JOINT_COORDINATES : CP_ABSOLUTE, "DOP853",
                                (CPGradientMode)mode, 0.8, G, dG);
      const char *said = CPObjectGetLastMessage(CP_OBJECT(session));
      ck_assert_msg(flag == CP_NOT_SUPPORTED && strstr(said, refused[_i].rule),
                    "%s: %d, %s (dG %g)", refused[_i].name, flag, said, dG[0]);
      stop();
    }
}
END_TEST

/* An integrator without a session does not stop where forces jump. */
START_TEST(an_integrator_alone_refuses_forces_that_jump) {
  static const struct {
    const char *text, *values;
    int flag;
  } cases[] = {
      {SLIDER "springs: [{name: f, of: s, force: \"if(x > 0.3 m, 5 N, 1 N)\"}]\n", "k=20",
       CP_NOT_SUPPORTED},
      {SLIDER "springs: [{name: f, of: s, force: \"-max(k*x, 5 N/m*x)\"}]\n", NULL, CP_SUCCESS},
      {SLIDER "springs: [{name: f, of: s, force: \"if(t > 0.3 s, 5 N, 1 N)\"}]\n", "k=20",
       CP_SUCCESS},
      /* the time may be a parameter of the file */
      {SLIDER "springs: [{name: f, of: s, force: \"if(t > 0.3 s, 5 N, 1 N)\"}]\n", NULL,
       CP_NOT_SUPPORTED}};
  for (int i = 0; i < 4; i++) {
    sunrealtype G[VALUES];
    const CPFunctional F = {CP_SIZED(CPFunctional), .ng = VALUES, .end = objective};
    start(cases[i].text, cases[i].values, CP_ABSOLUTE, "DOP853", 1e-6, 0.8);
    CPSessionFree(&session);
    CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
    ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-6, 1e-6), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorGradient(mem, 0.8, &F, NULL, NULL, G, NULL, NULL), cases[i].flag);
    CPIntegratorFree(&mem);
    stop();
  }
}
END_TEST

TEST_SUITE(kink_gradients) {
  Suite *suite = suite_create("bodies/kink_gradients");
  TCase *tc    = tcase_create("kink_gradients");
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, gradients_are_those_of_whole_runs, 0, sizeof passed / sizeof *passed);
  tcase_add_loop_test(tc, gradients_pass_corners_of_motions, 0, sizeof corners / sizeof *corners);
  tcase_add_test(tc, a_force_that_jumps_has_the_gradient_of_its_closed_form);
  tcase_add_test(tc, a_corner_of_a_cam_has_the_gradient_of_its_closed_form);
  tcase_add_test(tc, forward_gradients_of_a_spinning_top_are_those_of_the_adjoint);
  tcase_add_test(tc, derivatives_at_rest_at_the_origin_do_not_depend_on_roundoff);
  tcase_add_test(tc, a_gradient_leaves_no_piece_held);
  tcase_add_loop_test(tc, what_has_no_gradient_is_refused, 0, sizeof refused / sizeof *refused);
  tcase_add_test(tc, an_integrator_alone_refuses_forces_that_jump);
  suite_add_tcase(suite, tc);
  TCase *closing = tcase_create("latches");
  tcase_set_timeout(closing, 60);
  tcase_add_loop_test(closing, gradients_pass_latches, 0, sizeof latches / sizeof *latches);
  suite_add_tcase(suite, closing);
  return suite;
}
