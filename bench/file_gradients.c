/* Errors of gradients of mechanisms that are files, through loops, redundant rows, limits, friction, kinks, corners of motions, releases and
 * samples: in absolute and in joint coordinates, by each method and both ways, for the tolerances 1e-3, 1e-4, ... the largest
 *
 *   |dG/dp_i - reference_i| / largest |reference|
 *
 * over values and parameters. References are differences of sixth order of whole runs by DOP853 at 1e-13. The program fails if a gradient
 * does, if one is off by more than 100 tolerances and roundoff of the references, or one at 1e-10 has less than 7 digits.
 *
 *   file_gradients [--repeat N] [names of mechanisms], N = 7 tolerances unless given: from 1e-3 on, or with 1, 1e-10 alone */
#include "check.h"
#include "options.h"

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_contact.h>
#include <cpodes/cpodes_session.h>
#include <math.h>
#include <string.h>

enum { NAMED = 2, VALUES = 2, MOST_CONTACTS = 4 };

typedef struct {
  const char *name, *text, *parameter[NAMED], *value[VALUES];
  sunrealtype p[NAMED], t_end;
} Case;

#define BODY(name, mass, x, y) "{name: " name ", mass: " mass ", inertia: 0.1, at: [" x ", " y "]}"
#define IN_PLANE               "dimension: 2\ngravity: [0, -9.81]\nparameters: {p: 1, r: 1}\n"
#define IN_SPACE               "dimension: 3\ngravity: [0, -9.81, 0]\nparameters: {p: 1, r: 1}\n"
#define TWO_LINKS                                                                                \
  IN_PLANE "bodies: [" BODY("a", "p", "0.5", "0") ", " BODY(                                     \
      "b", "1", "1.3",                                                                           \
      "0") "]\n"                                                                                 \
           "joints: [{name: s, kind: revolute, b: a, at: [0, 0]}, {name: o, kind: revolute, a: " \
           "a, b: b, at: [1, 0]}]\n"
#define SLIDERS                                                                                    \
  "dimension: 2\nparameters: {p: 1, r: 1}\n"                                                       \
  "bodies: [{name: a, mass: p, inertia: 1, velocity: [1, 0]}, {name: b, mass: 1, inertia: 1, at: " \
  "[0, 1], velocity: [0, 0.3]}]\n"                                                                 \
  "joints: [{name: s, kind: prismatic, b: a, axis: [1, 0]}, {name: o, kind: prismatic, b: b, "     \
  "axis: [0, 1]}]\n"
/* a loop whose rows depend on each other in space */
#define LOOP                                                                                 \
  IN_SPACE "bodies:\n"                                                                       \
           " - {name: a, mass: p, inertia: [0.01, 0.01, 0.01], at: [0, 0.05, 0]}\n"          \
           " - {name: c, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0.15, 0.175, 0]}\n"         \
           " - {name: b, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0.35, 0.125, 0]}\n"         \
           "joints:\n"                                                                       \
           " - {name: s, kind: revolute, b: a, at: [0, 0, 0], axis: [0, 0, 1]}\n"            \
           " - {name: B, kind: revolute, a: a, b: c, at: [0, 0.1, 0], axis: [0, 0, 1]}\n"    \
           " - {name: C, kind: revolute, a: c, b: b, at: [0.3, 0.25, 0], axis: [0, 0, 1]}\n" \
           " - {name: o, kind: revolute, b: b, at: [0.4, 0, 0], axis: [0, 0, 1]}\n"
#define OF_LINKS \
  { "a.position.x", "b.velocity.y" }
#define OF_SLIDERS \
  { "s.displacement", "o.rate" }

static const Case cases[] = {
    {"spinning_top",
     "dimension: 3\ngravity: [0, 0, -9.81]\nparameters: {p: 1, r: 1}\n"
     "bodies: [{name: a, mass: p, inertia: [0.05, 0.05, r], at: [0.2, 0, 0.3], velocity: [0.15, 6, "
     "-0.1], omega: [0, 0.5, 30]}]\n"
     "joints: [{name: s, kind: ball, b: a, at: [0, 0, 0]}]\n",
     {"p", "r"},
     {"a.position.x", "a.velocity.z"},
     {1.3, 0.02},
     1},
    {"cardan_joint",
     IN_SPACE
     "bodies: [{name: a, mass: p, inertia: [0.02, 0.03, 0.04], at: [0.2, 0, 0]}, {name: b, "
     "mass: 1, inertia: [0.02, 0.03, 0.04], at: [0.4, 0, 0]}]\n"
     "joints: [{name: s, kind: ball, b: a, at: [0, 0, 0]}, {name: o, kind: universal, a: a, b: b, "
     "at: [0.3, 0, 0], axis: [1, 0, 0], axis_b: [0, 1, 0]}]\n"
     "springs: [{name: k, a: a, b: b, stiffness: 20, damping: r, free: 0.1, at: [0.2, 0, "
     "0.05], at_b: [0.4, 0, 0.1]}]\n",
     {"p", "r"},
     OF_LINKS,
     {1.3, 0.5},
     0.8},
    {"corner_of_a_drive",
     LOOP "drives: [{name: d, of: s, motion: \"(2 rad/s)*min(t, r*(1 s))\"}]\n"
          "springs: [{name: k, of: o, stiffness: p}]\n",
     {"p", "r"},
     {"b.position.x", "d.torque"},
     {1, 0.2},
     0.4},
    {"ball_on_a_floor",
     "dimension: 2\ngravity: [0, -9.81]\nparameters: {p: 1, r: 1}\n"
     "bodies: [{name: a, mass: p, inertia: 0.004, at: [0, 0.5], velocity: [1, 0], spin: 2}]\n"
     "contacts: [{name: f, b: a, at: [0, 0], axis: [0, 1], at_b: [0, 0.5], radius: 0.1, friction: "
     "r, "
     "restitution: 0.6}]\n",
     {"p", "r"},
     {"a.position.x", "a.omega"},
     {1, 0.1},
     0.9},
    {"pulleys",
     IN_PLANE "bodies: [" BODY("a", "p", "-0.5", "-1") ", " BODY(
         "b", "1", "0.5", "-1") "]\n"
                                "joints: [{name: s, kind: prismatic, b: a, axis: [0, 1]}, {name: "
                                "o, kind: prismatic, b: b, "
                                "axis: [0, 1]}]\n"
                                "couplers: [{name: r, of: [s, o], ratio: [1, r]}]\n",
     {"p", "r"},
     {"a.position.y", "b.velocity.y"},
     {1.5, 2},
     0.8},
    {"double_pendulum",
     TWO_LINKS "springs: [{name: k, of: o, stiffness: r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1.3, 5},
     1},
    {"stiff_joint",
     TWO_LINKS "springs: [{name: k, of: o, stiffness: 1e4, damping: r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1.3, 300},
     0.5},
    {"loop", LOOP "springs: [{name: k, of: o, stiffness: r}]\n", {"p", "r"}, OF_LINKS, {1, 3}, 0.6},
    {"loop_with_stops",
     LOOP "limits: [{name: l, of: o, lower: -0.3, upper: 0.3, restitution: r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 0.7},
     0.6},
    {"gear",
     TWO_LINKS "couplers: [{name: g, of: [s, o], ratio: [1, 2]}]\nsprings: [{name: k, of: s, "
               "stiffness: r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1.3, 5},
     1},
    {"cam",
     TWO_LINKS "couplers: [{name: g, of: [o, s], ratio: [1, -1], function: \"r*sin(x)\"}]\n",
     {"p", "r"},
     OF_LINKS,
     {1.3, 0.4},
     0.8},
    {"corner_of_a_cam",
     SLIDERS "couplers: [{name: g, of: [o, s], ratio: [1, -1], function: \"max(0.3*x, x - 0.7*r*(1 "
             "m))\"}]\n",
     {"p", "r"},
     OF_SLIDERS,
     {1.3, 0.35},
     0.8},
    {"stop",
     TWO_LINKS "limits: [{name: l, of: s, lower: -0.8, restitution: r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 0.7},
     0.6},
    {"dry_friction",
     TWO_LINKS "frictions: [{name: f, of: s, force: r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 3},
     0.6},
    {"jump_in_space",
     TWO_LINKS "springs: [{name: k, of: s, force: \"if(x < -0.3, r, 0)*(1 N m)\"}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 3},
     0.6},
    {"jump_in_time",
     TWO_LINKS "springs: [{name: k, of: s, force: \"if(t > r*(1 s), 8, 0)*(1 N m)\"}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 0.3},
     0.6},
    {"kink",
     TWO_LINKS "springs: [{name: k, of: s, force: \"-r*min(x + 0.2, 0)*(1 N m)\"}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 300},
     0.6},
    {"pin_that_breaks",
     TWO_LINKS "releases: [{name: e, joint: o, load: r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 15},
     1},
    {"pin_at_a_time",
     TWO_LINKS "releases: [{name: e, joint: o, at: 1.5*r}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 0.3},
     0.8},
    {"samples",
     TWO_LINKS "actuators: [{name: m, of: s, gain: [1, 0, 0]}]\n"
               "controllers: [{name: h, of: m, every: 10 ms, control: \"-r*s.rate/(1 rad/s)\"}]\n",
     {"p", "r"},
     OF_LINKS,
     {1, 3},
     0.3},
};

typedef struct {
  CPBodies bodies;
  CPModel model;
  CPMech mech;
  CPContact contact;
  CPSession session;
  N_Vector y;
} Run;

static const Case *of; /* whose values are computed */

static void open_run(const Case *c, const sunrealtype *p, const char *named,
                     CPFormulation formulation, SUNContext ctx, Run *run) {
  char values[80];
  CPBodiesFile file = {CP_SIZED(CPBodiesFile), .named = named, .parameters = values};
  CPContactPoint points[MOST_CONTACTS];
  snprintf(values, sizeof values, "p=%.17g\nr=%.17g", (double)p[0], (double)p[1]);
  *run = (Run){.y = NULL};
  if (CPBodiesRead(c->name, c->text, strlen(c->text), &run->bodies, &file))
    fprintf(stderr, "%s\n", CPObjectGetLastMessage(NULL)), exit(EXIT_FAILURE);
  CHECK(CPBodiesSetFormulation(run->bodies, formulation));
  CHECK(CPBodiesBuild(run->bodies, &run->model));
  run->y    = CHECK_POINTER(CPBodiesState(run->bodies, ctx));
  run->mech = CHECK_POINTER(CPMechCreate(run->model, run->y, ctx));
  CHECK(CPMechAssemble(run->mech, 0, run->y, NULL));
  const int n = CPBodiesCount(run->bodies, CP_CONTACT);
  for (int i = 0; i < n && i < MOST_CONTACTS; i++) {
    CPDescription d = CP_INIT(CPDescription);
    CHECK(CPBodiesDescribe(run->bodies, CP_CONTACT, i, &d));
    points[i] = (CPContactPoint){CP_SIZED(CPContactPoint),   .name = d.name,
                                 .normal = d.first,          .tangent = d.first_rate,
                                 .ntangents = (int)d.nrates, .period = d.period,
                                 .nearest = d.nearest,       .law = *d.law};
  }
  if (n > 0) run->contact = CHECK_POINTER(CPContactCreate(run->mech, n, points));
}

static void start(Run *run, const Case *c, const char *method, sunrealtype tol, SUNContext ctx) {
  run->session = CHECK_POINTER(CPSessionCreate(method, ctx));
  CHECK(run->contact ? CPContactAttach(run->contact, run->session)
                     : CPSessionSetMech(run->session, run->mech));
  CHECK(CPSessionSetTolerances(run->session, tol, tol, NULL));
  CHECK(CPSessionStart(run->session, 0, run->y, c->t_end));
}

static void close_run(Run *run) {
  CPSessionFree(&run->session);
  CPContactFree(&run->contact);
  CPMechFree(&run->mech);
  CPModelFree(&run->model);
  N_VDestroy(run->y);
  CPBodiesFree(&run->bodies);
}

static int values_at(sunrealtype t, N_Vector y, sunrealtype *values, void *mech) {
  int flag = 0;
  for (int k = 0; k < VALUES && !flag; k++) {
    CPSensor sensor = CP_INIT(CPSensor);
    flag            = CPMechGetSensor(mech, of->value[k], t, y, &sensor);
    values[k]       = sensor.value[0];
  }
  return flag;
}

static const sunrealtype weight[] = {-1.0 / 60, 9.0 / 60,  -45.0 / 60, 0,
                                     45.0 / 60, -9.0 / 60, 1.0 / 60};

/* d [VALUES NAMED], S [NAMED] <- derivatives of the values at the end, by whole runs, and of the start; either may be NULL */
static void differentiate(const Case *c, CPFormulation formulation, SUNContext ctx, sunrealtype *d,
                          N_Vector *S) {
  for (int i = 0; i < NAMED; i++)
    for (int k = -3; k <= 3; k++) {
      sunrealtype p[]     = {c->p[0], c->p[1]}, values[VALUES], t;
      const sunrealtype e = 1e-3 * p[i];
      Run run;
      if (k == 0) continue;
      p[i] += k * e;
      open_run(c, p, NULL, formulation, ctx, &run);
      if (S) N_VLinearSum(1, S[i], weight[k + 3] / e, run.y, S[i]);
      if (d) {
        start(&run, c, "DOP853", 1e-13, ctx);
        CHECK(CPSessionRun(run.session, c->t_end, run.y, &t));
        CHECK(values_at(t, run.y, values, run.mech));
      }
      for (int j = 0; j < VALUES && d; j++) d[j * NAMED + i] += weight[k + 3] / e * values[j];
      close_run(&run);
    }
}

/* The largest error relative to the largest derivative, or a negative number if the gradient fails */
static sunrealtype error_of(const Case *c, CPFormulation formulation, const char *method,
                            CPGradientMode mode, sunrealtype tol, SUNContext ctx,
                            const sunrealtype *d) {
  sunrealtype G[VALUES], dG[VALUES * NAMED], *values, worst = 0, largest = 0;
  int plist[NAMED];
  Run run;
  open_run(c, c->p, "p r", formulation, ctx, &run);
  N_Vector *S = CHECK_POINTER(N_VCloneVectorArray(NAMED, run.y));
  for (int i = 0; i < NAMED; i++) N_VConst(0, S[i]);
  differentiate(c, formulation, ctx, NULL, S);
  start(&run, c, method, tol, ctx);
  CHECK(CPMechGetParameters(run.mech, &values, NULL));
  for (int i = 0; i < NAMED; i++)
    CHECK(CPBodiesFind(run.bodies, CP_PARAMETER, c->parameter[i], &plist[i]));
  const CPFunctional F  = {CP_SIZED(CPFunctional), .ng = VALUES, .end = values_at,
                           .user_data = run.mech};
  const CPParameters by = {CP_SIZED(CPParameters), .n = NAMED, .values = values, .plist = plist,
                           .y0S = S};
  const CPGradientOptions options = {CP_SIZED(CPGradientOptions), .mode = mode, .reltol = tol};
  const int flag = CPSessionGradient(run.session, c->t_end, &F, &by, &options, G, dG, NULL);
  if (flag) fprintf(stderr, "%s\n", CPObjectGetLastMessage(CP_OBJECT(run.session)));
  for (int k = 0; k < VALUES * NAMED; k++) {
    largest = fmax(largest, fabs(d[k]));
    if (!flag && !(fabs(dG[k] - d[k]) <= worst)) worst = fabs(dG[k] - d[k]);
  }
  N_VDestroyVectorArray(S, NAMED);
  close_run(&run);
  return flag ? -1 : worst / largest;
}

/* Returns the number of gradients that are not as they should be. */
static int compare(const Case *c, CPFormulation formulation, int ntols, SUNContext ctx) {
  static const char *const methods[] = {"DOP853", "RADAU", "BDF", "ADAMS", "auto"};
  const sunrealtype roundoff         = 1e-9; /* of references */
  sunrealtype d[VALUES * NAMED]      = {0};
  int bad                            = 0;
  differentiate(c, formulation, ctx, d, NULL);
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (int mode = 0; mode < 2; mode++) {
      printf("%-16s %-8s %-6s %-8s", c->name, formulation == CP_ABSOLUTE ? "absolute" : "joint",
             methods[m], mode == CP_GRADIENT_FORWARD ? "forward" : "adjoint");
      for (int k = 0; k < ntols; k++) {
        const int digits      = ntols == 1 ? 10 : 3 + k;
        const sunrealtype tol = pow(10, -digits), off = error_of(c, formulation, methods[m],
                                                                 (CPGradientMode)mode, tol, ctx, d);
        const int is_bad =
            !(off >= 0 && off <= 100 * tol + roundoff && (digits < 10 || off <= 1e-7));
        printf(" %7.1e%s", off, is_bad ? "!" : "");
        bad += is_bad;
      }
      printf("\n");
      fflush(stdout);
    }
  return bad;
}

int main(int argc, char **argv) {
  Options options =
      options_parse(argc, argv, "errors of gradients of files", "names of mechanisms", 7);
  SUNContext ctx = check_context();
  int bad        = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    of = &cases[i];
    if (!options_select(&options, of->name)) continue;
    bad += compare(of, CP_ABSOLUTE, options.repeat, ctx);
    bad += compare(of, CP_JOINT_COORDINATES, options.repeat, ctx);
  }
  printf("%d gradients fail or are off\n", bad);
  SUNContext_Free(&ctx);
  options_close(&options);
  return bad > 0;
}
