/* Gradients with respect to parameters that a file names, by the chain rule through all its numbers, against whole runs of the same file
 * with another value (CPBodiesFile's parameters): central differences whose error of second order is extrapolated away. */
#include "reading.h"
#include "support/alloc.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const char *what, *named; /* the parameters */
  sunrealtype t_end;
  const char *text;
} Case;

#define PENDULUM                                                                    \
  "dimension: 2\n"                                                                  \
  "gravity: [0, -9.81]\n"                                                           \
  "bodies: [{name: rod, mass: density*l, inertia: density*l^3/12, at: [l/2, 0]}]\n" \
  "joints: [{name: pin, kind: revolute, b: rod}]\n"
#define CRANK                                                                                     \
  "dimension: 2\n"                                                                                \
  "gravity: [0, -9.81]\n"                                                                         \
  "parameters: {crank: 0.2 m, rod: 0.5 m, m: 0.4 kg, area: 2e-3 m^2, speed: 3 rad/s, k: 40 N, "   \
  "lift: 0 m}\n"                                                                                  \
  "functions:\n"                                                                                  \
  "  gas: {units: [m, bar], rows: [[0, 3], [0.5, 2], [0.8, 1], [1, 1]]}\n"                        \
  "bodies:\n"                                                                                     \
  "- {name: crank, mass: m*crank/(0.1 m), inertia: m*crank^2, angle: 40 deg, centre: [crank/2, "  \
  "0], "                                                                                          \
  "omega: [0, 0, speed]}\n"                                                                       \
  "- {name: rod, mass: m, inertia: m*rod^2/12, at: [crank, 0], centre: [rod/2, 0]}\n"             \
  "- {name: piston, mass: 2*m, inertia: 1e-3, at: [crank+rod, lift]}\n"                           \
  "joints:\n"                                                                                     \
  "- {name: main, kind: revolute, b: crank, in: bodies}\n"                                        \
  "- {name: pin, kind: revolute, a: crank, b: rod, in: bodies, at: [crank, 0]}\n"                 \
  "- {name: gudgeon, kind: revolute, a: rod, b: piston, in: bodies, at: [rod, 0]}\n"              \
  "- {name: guide, kind: prismatic, b: piston, in: bodies, at: [0, lift], axis: [1, 0], axis_b: " \
  "[1, 0]}\n"                                                                                     \
  "springs:\n"                                                                                    \
  "- {name: spring, of: main, stiffness: k*crank, damping: 0.1, free: 20 deg}\n"                  \
  "- {name: push, of: guide, force: -area*gas(x)}\n"
#define SPACE                                                                                 \
  "gravity: [0, 0, -9.81]\n"                                                                  \
  "parameters: {r: 0.08 m, tilt: 20 deg, k: 300 N/m, mass: 0.5 kg}\n"                         \
  "bodies:\n"                                                                                 \
  "- {name: arm, mass: mass, inertia: [2e-3, mass*r^2, 3e-3], at: [r, 0, 0], centre: [0, 0, " \
  "r/4], quaternion: [cos(tilt/2), sin(tilt/2), 0, 0]}\n"                                     \
  "- {name: bob, mass: 0.3, inertia: [1e-3, 2e-3, 1.5e-3, 1e-4, 0, 0], at: [r, 0, -2*r], "    \
  "velocity: [0.2, r/(1 s), 0]}\n"                                                            \
  "joints:\n"                                                                                 \
  "- {name: axle, kind: revolute, b: arm, axis: [sin(tilt), 0, cos(tilt)]}\n"                 \
  "- {name: socket, kind: ball, a: arm, b: bob, at: [r, 0, -r]}\n"                            \
  "springs:\n"                                                                                \
  "- {name: tie, b: bob, at: [0, 0.3, 0], at_b: [0, 0, -3*r], stiffness: k, damping: 1, in: " \
  "space}\n"
#define LOOP                                                                                      \
  "gravity: [0, 0, -9.81]\n"                                                                      \
  "parameters: {a: 0.1 m, b: 0.3 m, h: 0.25 m, w: 4 rad/s}\n"                                     \
  "bodies:\n"                                                                                     \
  "- {name: crank, mass: 0.12, inertia: [1e-4, 1e-4, 1e-5], at: [0, 0, 0], centre: [0, 0, a/2], " \
  "omega: [w, 0, 0]}\n"                                                                           \
  "- {name: coupler, mass: 0.5, inertia: [2e-3, 3e-3, 2e-3], at: [b/2, h/2, a], velocity: [0, "   \
  "-w*a/2, 0]}\n"                                                                                 \
  "- {name: rocker, mass: 0.3, inertia: [1e-3, 1e-3, 1e-4], at: [b, h, 0]}\n"                     \
  "joints:\n"                                                                                     \
  "- {name: O, kind: revolute, b: crank, axis: [1, 0, 0]}\n"                                      \
  "- {name: A, kind: ball, a: crank, b: coupler, at: [0, 0, a]}\n"                                \
  "- {name: B, kind: universal, a: coupler, b: rocker, at: [b, h, a], axis: [0, 0, 1], axis_b: "  \
  "[0, 1, 0]}\n"                                                                                  \
  "- {name: C, kind: revolute, b: rocker, at: [b, h, 0], axis: [0, 1, 0]}\n"
#define BRAKED                                                     \
  "dimension: 2\n"                                                 \
  "gravity: [0, -9.81]\n"                                          \
  "parameters: {l: 0.4 m, T: 0.5 s, F: 3 N}\n"                     \
  "bodies:\n"                                                      \
  "- {name: rod, mass: 1, inertia: 0.02, at: [l, 0]}\n"            \
  "- {name: car, mass: 2, inertia: 0.1, at: [0, 0]}\n"             \
  "joints:\n"                                                      \
  "- {name: rail, kind: prismatic, b: car, axis: [1, 0, 0]}\n"     \
  "- {name: pin, kind: revolute, a: car, b: rod}\n"                \
  "drives: [{name: shake, of: rail, motion: l/8*sin(2*pi*t/T)}]\n" \
  "forces: [{name: blow, body: rod, at: [l, 0], force: [F*cos(t/T), F*x/l], in: space}]\n"

#define CAM                                                                                        \
  "dimension: 2\n"                                                                                 \
  "gravity: [0, -9.81]\n"                                                                          \
  "parameters: {e: 20 mm, k: 50 N/m, a: 0.3, T: 0.2 s, M: 0.7 kg}\n"                               \
  "bodies:\n"                                                                                      \
  "- {name: cam, mass: 2, inertia: 0.01}\n"                                                        \
  "- {name: rod, mass: M, inertia: 1e-3, at: [0, 0.1]}\n"                                          \
  "joints:\n"                                                                                      \
  "- {name: turn, kind: revolute, b: cam}\n"                                                       \
  "- {name: lift, kind: prismatic, b: rod, axis: [0, 1, 0]}\n"                                     \
  "couplers: [{name: face, of: [lift, turn], ratio: [1, -1], function: e*(1 - cos(x + a))}]\n"     \
  "springs: [{name: spring, of: lift, stiffness: k}]\n"                                            \
  "actuators: [{name: motor, of: turn, gain: [0.4, 0, 0], dynamics: filter, time: T, activation: " \
  "a, "                                                                                            \
  "control: 1}]\n"

static const Case cases[] = {
    {"pendulum", "l density", 1, "parameters: {l: 0.6 m, density: 2 kg/m}\n" PENDULUM},
    {"slider-crank", "crank rod area speed", 0.1, CRANK},
    {"in space", "r tilt k mass", 0.5, SPACE},
    {"spatial loop", "a b h w", 0.2, LOOP},
    {"driven", "l T F", 0.8, BRAKED},
    {"cam", "e k a T M", 0.5, CAM},
};
enum { CASES = sizeof cases / sizeof *cases, MOST = 8 };
static const char *const methods[] = {"DOP853", "RADAU"};

typedef struct {
  CPBodies bodies;
  CPMech mech;
  N_Vector y;
  sunrealtype *values;
  int first, n;
} Run;

/* The mechanism of the case, with its parameters replaced by `parameters` and named ones, both of which may be NULL */
static void open_run(const Case *c, CPFormulation formulation, const char *parameters,
                     const char *named, Run *run) {
  CPBodiesFile settings = {CP_SIZED(CPBodiesFile), .parameters = parameters, .named = named};
  CPModel model         = NULL;
  memset(run, 0, sizeof *run);
  ck_assert_msg(CPBodiesRead("case.yaml", c->text, strlen(c->text), &run->bodies, &settings) == 0,
                "%s", CPObjectGetLastMessage(NULL));
  ck_assert_int_eq(CPBodiesSetFormulation(run->bodies, formulation), CP_SUCCESS);
  ck_assert_int_eq(CPBodiesBuild(run->bodies, &model), CP_SUCCESS);
  run->y    = CPBodiesState(run->bodies, test_context);
  run->mech = CPMechCreate(model, run->y, test_context);
  CPModelFree(&model);
  ck_assert_ptr_nonnull(run->mech);
  ck_assert_int_eq(CPMechGetParameters(run->mech, &run->values, NULL), CP_SUCCESS);
  for (const char *name = named ? named : ""; *name; run->n++) {
    char own[20];
    int i;
    const size_t length = strcspn(name, " ");
    snprintf(own, sizeof own, "%.*s", (int)length, name);
    name += length + (name[length] == ' ');
    ck_assert_int_eq(CPBodiesFind(run->bodies, CP_PARAMETER, own, &i), CP_SUCCESS);
    if (run->n == 0) run->first = i;
    ck_assert_int_eq(i, run->first + run->n);
  }
}
static void close_run(Run *run) {
  CPMechFree(&run->mech);
  CPBodiesFree(&run->bodies);
  N_VDestroy(run->y);
}

/* y <- the assembled start */
static void start(Run *run, N_Vector y) {
  N_Vector placed = CPBodiesState(run->bodies, test_context);
  N_VScale(1, placed, y);
  N_VDestroy(placed);
  ck_assert_msg(CPMechAssemble(run->mech, 0, y, NULL) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(run->mech)));
}

/* The objective: a weighted sum of all components */
static int objective(sunrealtype t, N_Vector y, sunrealtype *g, void *user_data) {
  (void)t, (void)user_data;
  g[0] = 0;
  for (int i = 0; i < (int)N_VGetLength(y); i++) g[0] += cos(1.3 * i) * entries(y)[i];
  return 0;
}

static CPIntegrator integrator_of(Run *run, const char *method, sunrealtype tol) {
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  ck_assert_int_eq(CPMechAttach(run->mech, mem, 0, run->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  return mem;
}

/* The objective of the file with this value of one parameter */
static sunrealtype value_at(const Case *c, CPFormulation formulation, const char *name,
                            sunrealtype value) {
  char parameters[60];
  Run run;
  sunrealtype t, G;
  snprintf(parameters, sizeof parameters, "%s=%.17g", name, value);
  open_run(c, formulation, parameters, NULL, &run);
  start(&run, run.y);
  CPIntegrator mem = integrator_of(&run, "DOP853", 1e-13);
  ck_assert_int_ge(CPIntegratorEvolve(mem, c->t_end, run.y, &t, CV_NORMAL), 0);
  objective(t, run.y, &G, NULL);
  CPIntegratorFree(&mem);
  close_run(&run);
  return G;
}

static sunrealtype reference(const Case *c, CPFormulation formulation, const char *name,
                             sunrealtype value) {
  sunrealtype d[2];
  for (int k = 0; k < 2; k++) {
    const sunrealtype h = 1e-3 / (1 + k) * fabs(value);
    d[k] = (value_at(c, formulation, name, value + h) - value_at(c, formulation, name, value - h)) /
           (2 * h);
  }
  return (4 * d[1] - d[0]) / 3;
}

/* The run's start, and its derivatives by differences of sixth order, in which description and mechanism move */
static void starts(Run *run, N_Vector *y0S) {
  N_Vector y = N_VClone(run->y);
  for (int i = 0; i < run->n; i++) {
    sunrealtype *own[]     = {run->values + run->first + i,
                              CPBodiesParameters(run->bodies) + run->first + i};
    const sunrealtype kept = *own[0], e = 3e-3 * fabs(kept);
    N_VConst(0, y0S[i]);
    for (int k = -3; k <= 3; k++) {
      if (k == 0) continue;
      *own[0] = *own[1] = kept + k * e;
      start(run, y);
      N_VLinearSum(1, y0S[i], sixth_order(k) / e, y, y0S[i]);
    }
    *own[0] = *own[1] = kept;
  }
  start(run, run->y);
  N_VDestroy(y);
}

START_TEST(gradients_are_those_of_the_file_read_with_other_values) {
  const Case *c                   = &cases[_i / 2];
  const CPFormulation formulation = _i % 2 ? CP_JOINT_COORDINATES : CP_ABSOLUTE;
  const CPFunctional F            = {CP_SIZED(CPFunctional), .ng = 1, .end = objective};
  Run run;
  sunrealtype expected[MOST], pbar[MOST], G, dG[MOST];
  int plist[MOST];
  open_run(c, formulation, NULL, c->named, &run);
  if (test_is_short()) run.n = 1;
  N_Vector *y0S = N_VCloneVectorArray(run.n, run.y);
  starts(&run, y0S);
  const char *name = c->named;
  for (int i = 0; i < run.n; i++) {
    char own[20];
    const size_t length = strcspn(name, " ");
    snprintf(own, sizeof own, "%.*s", (int)length, name);
    name += length + (name[length] == ' ');
    plist[i]    = run.first + i;
    pbar[i]     = fabs(run.values[plist[i]]);
    expected[i] = reference(c, formulation, own, run.values[plist[i]]);
  }
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = run.n,     .values = run.values,
                                   .pbar = pbar,           .plist = plist, .y0S = y0S};
  for (int k = 0; k < (test_is_short() ? 1 : 3);
       k++) { /* DOP853 and RADAU backwards, and forward sensitivities */
    const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .reltol = 1e-10,
                                       .mode = k == 2 ? CP_GRADIENT_FORWARD : CP_GRADIENT_ADJOINT};
    CPIntegrator mem                = integrator_of(&run, methods[k % 2], 1e-10);
    ck_assert_msg(CPIntegratorGradient(mem, c->t_end, &F, &parameters, &options, &G, dG, NULL) == 0,
                  "%s: %s", c->what, CPObjectGetLastMessage(CP_OBJECT(mem)));
    for (int i = 0; i < run.n; i++)
      ck_assert_msg(
          fabs(dG[i] - expected[i]) * pbar[i] <= 1e-7 * fmax(fabs(G), fabs(expected[i]) * pbar[i]),
          "%s, parameter %d: %.10g, expected %.10g (G %g)", c->what, i, dG[i], expected[i], G);
    CPIntegratorFree(&mem);
  }
  N_VDestroyVectorArray(y0S, run.n);
  close_run(&run);
}
END_TEST

#define FLOOR                                                                                    \
  "parameters: {l: 0.3 m}\nbodies: [{name: a, mass: 1, inertia: [1, 1, 1], at: [0, 0, 1]}]\n"    \
  "shapes: [{name: floor, body: ground, kind: box, size: [4, 4, 1]}, {name: cube, body: a, at: " \
  "[0, 0, 1], "
#define TOUCH "contacts: [{name: c, a: floor, b: cube, on: shape}]\n"

/* The mechanism is refused as a whole. */
START_TEST(what_has_no_derivatives_is_refused) {
  static const struct {
    const char *name, *named, *text, *place, *rule;
  } wrong[] = {
      {"a.yaml", "mass", "parameters: {l: 1}\nbodies: [{name: a, mass: l, inertia: [1, 1, 1]}]\n",
       "a.yaml:1:13", "there is no parameter \"mass\", but l"},
      {"a.yaml", "l  l", "parameters: {l: 1}\nbodies: [{name: a, mass: l, inertia: [1, 1, 1]}]\n",
       "a.yaml: ", "\"l\": it is named twice"},
      {"a.yaml", "l",
       "parameters: {l: 0}\nbodies: [{name: a, mass: 1, inertia: [1, 1, 1], at: [abs(l), 0, 0]}]\n",
       "a.yaml: ", "jumps or has a kink"},
      {"a.yaml",
       "l", "parameters: {l: 1}\nbodies: [{name: a, mass: 1, inertia: [1, 1, 1], at: ['min(l, 1)', 0, 0]}]\n",
       "a.yaml: ", "jumps or has a kink"},
      {"a.yaml", "l", "parameters: {l: 0 kg}\nbodies: [{name: a, mass: l, inertia: [1, 1, 1]}]\n",
       "a.yaml:2:10", "mass must not be negative"},
      {"a.xml", "l",
       "<mujoco><worldbody><body name='a'><freejoint/><geom size='1'/></body></worldbody></mujoco>",
       "a.xml: ", "only YAML files have named parameters"},
      {"a.yaml", "l", FLOOR "kind: box, size: [0.2, l, 0.2]}]\n" TOUCH,
       "a.yaml: ", "\"l\": the size of \"cube\" depends on it"},
      {"a.yaml", "l",
       FLOOR "kind: mesh, points: [[0, 0, 0], [l, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]}]\n" TOUCH,
       "a.yaml: ", "\"l\": the size of \"cube\" depends on it"}};
  CPBodiesFile settings = {CP_SIZED(CPBodiesFile), .named = wrong[_i].named};
  CPBodies b            = NULL;
  const int flag =
      CPBodiesRead(wrong[_i].name, wrong[_i].text, strlen(wrong[_i].text), &b, &settings);
  const char *told = CPObjectGetLastMessage(NULL);
  ck_assert_int_eq(flag, CP_ILL_INPUT);
  ck_assert_ptr_null(b);
  ck_assert_mentions(told, wrong[_i].place);
  ck_assert_mentions(told, wrong[_i].rule);
  ck_assert_ptr_null(strchr(told, '\n'));
}
END_TEST

/* They would not follow its parameters. */
START_TEST(no_element_is_added_afterwards) {
  CPBody more = {CP_NEW_BODY("more"), .mass = 1, .inertia = {1, 1, 1}, .quaternion = {1}};
  Run run;
  open_run(&cases[0], CP_ABSOLUTE, NULL, "l", &run);
  ck_assert_int_eq(CPBodiesAdd(run.bodies, &more.head, NULL), CP_TOO_LATE);
  close_run(&run);
}
END_TEST

/* Its value in the file is kept, and the numbers are those of a file without named parameters, to the last bit. */
START_TEST(at_its_own_value_nothing_changes) {
  Run named, plain;
  open_run(&cases[1], CP_ABSOLUTE, NULL, "crank lift", &named);
  open_run(&cases[1], CP_ABSOLUTE, NULL, NULL, &plain);
  start(&named, named.y);
  start(&plain, plain.y);
  ck_assert_double_eq(named.values[named.first], 0.2);
  ck_assert_double_eq(named.values[named.first + 1], 0);
  ck_assert_mem_eq(entries(named.y), entries(plain.y),
                   (size_t)N_VGetLength(plain.y) * sizeof(sunrealtype));
  close_run(&named);
  close_run(&plain);
}
END_TEST

START_TEST(each_allocation_may_fail) {
  const char *text = cases[1].text;
  long n           = 0;
  for (int failed = 1; failed;) {
    CPBodiesFile settings = {CP_SIZED(CPBodiesFile), .named = "crank speed"};
    CPBodies b            = NULL;
    alloc_watch_failing(n += test_is_short() ? 197 : 41);
    CPBodiesRead("a.yaml", text, strlen(text), &b, &settings);
    failed = alloc_has_failed();
    ck_assert_int_eq(b == NULL, failed);
    if (failed) ck_assert_mentions(CPObjectGetLastMessage(NULL), "no memory");
    CPBodiesFree(&b);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_gt(n, 1000);
}
END_TEST

TEST_SUITE(named) {
  Suite *suite = suite_create("bodies/named");
  TCase *tc    = tcase_create("named");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, gradients_are_those_of_the_file_read_with_other_values, 0, 2 * CASES);
  tcase_add_loop_test(tc, what_has_no_derivatives_is_refused, 0, 8);
  tcase_add_test(tc, no_element_is_added_afterwards);
  tcase_add_test(tc, at_its_own_value_nothing_changes);
  tcase_add_test(tc, each_allocation_may_fail);
  suite_add_tcase(suite, tc);
  return suite;
}
