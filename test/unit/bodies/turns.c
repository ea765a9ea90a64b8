/* Whole turns of angles: they choose no steps, and all that sees an angle sees them. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes.h>
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <float.h>
#include <math.h>

static const char *const methods[] = {"DOP853", "BS54", "RADAU", "BDF", "ADAMS"};
enum { METHODS = 5 };

/* What its kind says: joint coordinates in space, and in the plane, and absolute coordinates in the plane */
typedef struct {
  CPBodies bodies;
  CPMech mech;
  N_Vector y;
  int dimension, absolute;
} Machine;

static Machine machine(int kind, const sunrealtype *g) {
  const int dimension = kind == 0 ? 3 : 2;
  return (Machine){
      .bodies = CPBodiesCreate(dimension, g), .dimension = dimension, .absolute = kind == 2};
}

static void assemble(Machine *m) {
  m->y = build_as(m->bodies, m->absolute ? CP_ABSOLUTE : CP_JOINT_COORDINATES, &m->mech);
}

static void discard(Machine *m) {
  N_VDestroy(m->y);
  CPMechFree(&m->mech);
  CPBodiesFree(&m->bodies);
}

/* A rod of the length 1 that begins at (0, y) along -y, on a hinge along z */
static void add_rod(Machine *m, const char *name, const char *hinge, const char *on, sunrealtype y) {
  const CPBody rod  = {CP_NEW_BODY(name), .mass = 1, .inertia = {0.1, 0.1, 0.1},
                       .position = {0, y - SUN_RCONST(0.5), 0}};
  const CPJoint pin = {CP_NEW_JOINT(hinge), .kind = CP_JOINT_REVOLUTE, .a = on, .b = name,
                       .on_a = {.point = {0, y, 0}, .axis = {0, 0, m->dimension == 3}}};
  add_element(m->bodies, &rod.head);
  add_element(m->bodies, &pin.head);
}

/* The entry of the state that is the angle of body i, or of its hinge, and that of its rate */
static int angle_of(const Machine *m, int i) { return m->absolute ? 3 * i + 2 : i; }
static int rate_of(const Machine *m, int i) {
  return m->absolute ? (int)N_VGetLength(m->y) / 2 + 3 * i + 2 : (int)N_VGetLength(m->y) / 2 + i;
}

static CPIntegrator start(const Machine *m, const char *method, sunrealtype tol, sunrealtype t_end) {
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  ck_assert_int_eq(CPMechAttach(m->mech, mem, 0, m->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  if (m->absolute) ck_assert_int_eq(CPIntegratorCalcIC(mem, m->y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetStopTime(mem, t_end), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  return mem;
}

static sunrealtype turn(void) { return 2 * acos(SUN_RCONST(-1.0)); }

/* A double pendulum, whose second hinge has a spring that is free after as many turns as are added to the start, takes the same steps
 * after 0, 10^3 and 10^6 of them, and moves alike up to 10 tolerances. Loop index: methods, for each kind. */
START_TEST(turns_do_not_choose_steps) {
  static const sunrealtype turns[] = {0, 1e3, 1e6}, tip[] = {0, -0.5, 0}, g[] = {0, -9.81, 0};
  const int count = (int)(sizeof turns / sizeof *turns);
  sunrealtype steps[3], x[3][3];
  for (int k = 0; k < count; k++) {
    const sunrealtype T = turn() * turns[k];
    Machine m           = machine(_i / METHODS, g);
    const CPSpring coil = {CP_NEW_SPRING("coil"), .of = {"elbow", 0}, .stiffness = 2, .free = -T};
    sunrealtype t, *y;
    add_rod(&m, "upper", "pin", NULL, 0);
    add_rod(&m, "lower", "elbow", "upper", -1);
    add_element(m.bodies, &coil.head);
    assemble(&m);
    y = entries(m.y);
    y[angle_of(&m, 0)] += T;
    if (!m.absolute) y[angle_of(&m, 1)] -= T;
    y[rate_of(&m, 0)] = 6, y[rate_of(&m, 1)] = m.absolute ? 4 : -2;
    CPIntegrator mem = start(&m, methods[_i % METHODS], SUN_RCONST(1e-6), 1);
    ck_assert_int_ge(CPIntegratorEvolve(mem, 1, m.y, &t, CV_NORMAL), 0);
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(mem), "steps", &steps[k]), CP_SUCCESS);
    ck_assert_int_eq(body_point(m.mech, 1, tip, m.y, x[k], NULL), CP_SUCCESS);
    CPIntegratorFree(&mem);
    discard(&m);
  }
  for (int k = 1; k < count; k++) {
    ck_assert_msg(steps[0] == steps[k], "%s: %g and %g steps", methods[_i % METHODS],
                  (double)steps[0], (double)steps[k]);
    for (int l = 0; l < 3; l++) ck_assert_double_eq_tol(x[0][l], x[k][l], 1e-5);
  }
}
END_TEST

/* ---- J phi'' = -k phi from 1000 turns ---- */

static const sunrealtype stiffness = 3, inertia = 0.5;
static sunrealtype from(void) { return 1000 * turn(); }
static sunrealtype frequency(void) { return sqrt(stiffness / inertia); }

/* as a force of the user's */
static int pull(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *f, void *angle) {
  (void)t, (void)u, (void)z, (void)lambda;
  f[*(int *)angle] -= stiffness * q[*(int *)angle];
  return 0;
}

/* phi and phi - from / 2 */
static int passes(sunrealtype t, N_Vector y, sunrealtype *g, void *angle) {
  (void)t;
  g[0] = entries(y)[*(int *)angle];
  g[1] = g[0] - from() / 2;
  return 0;
}

/* A disc on a hinge with a spring, or a force in its place */
static Machine disc(int kind, int by_force, int *angle) {
  Machine m           = machine(kind, NULL);
  const CPBody body   = {CP_NEW_BODY("disc"), .mass = 1, .inertia = {inertia, inertia, inertia}};
  const CPJoint pin   = {CP_NEW_JOINT("pin"), .kind = CP_JOINT_REVOLUTE, .b = "disc",
                         .on_a = {.axis = {0, 0, m.dimension == 3}}};
  const CPSpring coil = {CP_NEW_SPRING("coil"), .of = {"pin", 0}, .stiffness = stiffness};
  const CPMechForce force = {CP_SIZED(CPMechForce), .f = pull, .data = angle};
  add_element(m.bodies, &body.head);
  add_element(m.bodies, &pin.head);
  if (!by_force) add_element(m.bodies, &coil.head);
  assemble(&m);
  *angle = angle_of(&m, 0);
  if (by_force) ck_assert_int_eq(CPMechAddForce(m.mech, &force, NULL), CP_SUCCESS);
  entries(m.y)[*angle] = from();
  return m;
}

/* In steps of many turns springs, forces of the user's, root functions, outputs within a step and states see them. Errors are tolerances
 * times the number of steps at most. Loop index: methods, for each kind, for a spring and a force */
START_TEST(all_that_sees_an_angle_sees_its_turns) {
  const sunrealtype omega = frequency(), tol = 1e-8, quarter = turn() / 4 / omega;
  const sunrealtype at[] = {acos(SUN_RCONST(0.5)) / omega, quarter}; /* of the two roots */
  int angle, found[2];
  Machine m        = disc(_i / METHODS % 3, _i / METHODS / 3, &angle);
  CPIntegrator mem = start(&m, methods[_i % METHODS], tol, 2 * quarter);
  N_Vector within  = N_VClone(m.y);
  sunrealtype t = 0, before = 0, steps, x;
  ck_assert_int_eq(CPIntegratorRootInit(mem, 2, passes), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetRootData(mem, &angle), CP_SUCCESS);
  for (int roots = 0, flag = 0; flag != CV_TSTOP_RETURN; before = t) {
    flag = CPIntegratorEvolve(mem, 2 * quarter, m.y, &t, CV_ONE_STEP);
    ck_assert_int_ge(flag, 0);
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(mem), "steps", &steps), CP_SUCCESS);
    const sunrealtype most = tol * (100 + 10 * steps);
    ck_assert_double_eq_tol(entries(m.y)[angle], from() * cos(omega * t), from() * most);
    ck_assert_int_eq(CPMechGetCoordinate(m.mech, 0, m.y, &x, NULL), CP_SUCCESS);
    ck_assert_double_eq(x, entries(m.y)[angle]);
    if (flag == CV_ROOT_RETURN) {
      ck_assert_int_eq(CPIntegratorGetRootInfo(mem, found), CP_SUCCESS);
      ck_assert_int_ne(found[roots == 0], 0);
      ck_assert_double_eq_tol(t, at[roots], most);
      roots++;
      continue;
    }
    const sunrealtype middle = before + (t - before) / 2;
    ck_assert_int_eq(CPIntegratorGetDky(mem, middle, 0, within), CP_SUCCESS);
    ck_assert_double_eq_tol(entries(within)[angle], from() * cos(omega * middle), from() * most);
    if (flag == CV_TSTOP_RETURN) ck_assert_int_eq(roots, 2);
  }
  N_VDestroy(within);
  CPIntegratorFree(&mem);
  discard(&m);
}
END_TEST

/* The angle at the end */
static int last(sunrealtype t, N_Vector y, sunrealtype *g, void *angle) {
  (void)t;
  g[0] = entries(y)[*(int *)angle];
  return 0;
}

/* Forward and backward, d phi / dk = -phi_0 t sin(omega t) / (2 omega J). Loop index: methods with both, for each kind */
START_TEST(gradients_see_turns) {
  static const char *const some[] = {"DOP853", "RADAU", "BDF"};
  const sunrealtype omega = frequency(), t_end = 1, tol = 1e-8;
  const sunrealtype slope = -from() * t_end * sin(omega * t_end) / (2 * omega * inertia);
  for (int backward = 0; backward < 2; backward++) {
    int angle, index;
    sunrealtype *values, G, dG;
    Machine m = disc(_i / 3, 0, &angle);
    ck_assert_int_eq(CPBodiesFind(m.bodies, CP_PARAMETER, "coil.stiffness", &index), CP_SUCCESS);
    ck_assert_int_eq(CPMechGetParameters(m.mech, &values, NULL), CP_SUCCESS);
    CPIntegrator mem       = start(&m, some[_i % 3], tol, t_end);
    const CPFunctional F   = {CP_SIZED(CPFunctional), .ng = 1, .end = last, .user_data = &angle};
    CPParameters parameter = {CP_SIZED(CPParameters), .n = 1, .values = values, .plist = &index};
    const CPGradientOptions by = {CP_SIZED(CPGradientOptions),
                                  .mode = backward ? CP_GRADIENT_ADJOINT : CP_GRADIENT_FORWARD};
    const int flag = CPIntegratorGradient(mem, t_end, &F, &parameter, &by, &G, &dG, NULL);
    ck_assert_msg(flag == CP_SUCCESS, "%s", CPObjectGetLastMessage(CP_OBJECT(mem)));
    ck_assert_double_eq_tol(G, from() * cos(omega * t_end), 1e-5 * from());
    ck_assert_double_eq_tol(dG, slope, 1e-5 * from());
    CPIntegratorFree(&mem);
    discard(&m);
  }
}
END_TEST

/* Two wheels with 2 phi_1 + 5 phi_2 = 0, of which a torque turns one: the steps are the same from any number of turns, and the teeth stay
 * in mesh to roundoff of one turn: turns of gears cancel before they are added to angles. Loop index: methods */
START_TEST(gears_stay_in_mesh) {
  static const sunrealtype rounds[] = {0, 1e3, 1e6};
  sunrealtype steps[3];
  for (int k = 0; k < 3; k++) {
    Machine m             = machine(0, NULL);
    const CPCoupler gear  = {CP_NEW_COUPLER("gear"), .of = {{"a", 0}, {"b", 0}}, .ratio = {2, 5}};
    const CPSpring torque = {CP_NEW_SPRING("torque"), .of = {"a", 0}, .force = 30, .damping = 1};
    sunrealtype t;
    add_rod(&m, "wheel", "a", NULL, 0);
    add_rod(&m, "pinion", "b", NULL, 5);
    add_element(m.bodies, &gear.head);
    add_element(m.bodies, &torque.head);
    assemble(&m);
    entries(m.y)[0]  = 5 * turn() * rounds[k];
    entries(m.y)[1]  = -2 * turn() * rounds[k];
    CPIntegrator mem = start(&m, methods[_i], SUN_RCONST(1e-6), 20);
    ck_assert_int_ge(CPIntegratorEvolve(mem, 20, m.y, &t, CV_NORMAL), 0);
    ck_assert_int_eq(CPObjectGetStat(CP_OBJECT(mem), "steps", &steps[k]), CP_SUCCESS);
    ck_assert_double_gt(fabs(entries(m.y)[0] - 5 * turn() * rounds[k]), 50 * turn());
    /* two roundings of the complete angles */
    ck_assert_double_eq_tol(2 * entries(m.y)[0] + 5 * entries(m.y)[1], 0,
                            4e-12 + 2 * DBL_EPSILON * 10 * turn() * rounds[k]);
    CPIntegratorFree(&mem);
    discard(&m);
  }
  for (int k = 1; k < 3; k++)
    ck_assert_msg(steps[0] == steps[k], "%s: %g and %g steps", methods[_i], (double)steps[0],
                  (double)steps[k]);
}
END_TEST

TEST_SUITE(turns) {
  Suite *suite = suite_create("bodies/turns");
  TCase *tc    = tcase_create("turns");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, turns_do_not_choose_steps, 0, 3 * METHODS);
  tcase_add_loop_test(tc, all_that_sees_an_angle_sees_its_turns, 0, 6 * METHODS);
  tcase_add_loop_test(tc, gradients_see_turns, 0, 9);
  tcase_add_loop_test(tc, gears_stay_in_mesh, 0, METHODS);
  suite_add_tcase(suite, tc);
  return suite;
}
