/* The work W of an energy balance: right with every method, at the cost of one that has none. */
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_sens.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <models/counters.h>
#include <stdio.h>
#include <string.h>

static CPBodies bodies;
static CPMech mech, own; /* own: with the equations as they are */
static N_Vector y;
static long int steps;

#define ADD(call) ck_assert_msg((call) >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(bodies)))

/* The model's zdot, and how often it has been called */
static CPMechLambdaFn power;
static long int powers;
static int counted(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                   const sunrealtype *lambda, sunrealtype *zdot, void *data) {
  powers++;
  return power(t, q, u, z, lambda, zdot, data);
}

static void create(int dimension) {
  bodies = CPBodiesCreate(dimension, NULL);
  ADD(set_gravity(bodies, (sunrealtype[]){0, -9.81, 0}));
}

/* A rod from one point to the other */
static void rod(const char *name, sunrealtype x0, sunrealtype y0, sunrealtype x1, sunrealtype y1) {
  const sunrealtype angle = atan2(y1 - y0, x1 - x0), length = hypot(x1 - x0, y1 - y0),
                    J = length * length * length / 12;
  const CPBody body   = {CP_NEW_BODY(name),
                         .mass       = length,
                         .inertia    = {J / 50, J, J},
                         .position   = {(x0 + x1) / 2, (y0 + y1) / 2},
                         .angle      = angle,
                         .quaternion = {cos(angle / 2), 0, 0, sin(angle / 2)}};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
}

static void hinge(const char *name, const char *a, const char *b, sunrealtype x, sunrealtype yy) {
  const CPJoint joint = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE, .a = a, .b = b,
                         .on_a = {.point = {x, yy, 0}, .axis = {0, 0, 1}}};
  ADD(CPBodiesAdd(bodies, &joint.head, NULL));
}

/* A driven four-bar linkage with damper, spring, friction and force. In space three of its rows are dependent. */
static void four_bar(int dimension) {
  create(dimension);
  rod("crank", 0, 0, 0, 0.3);
  rod("coupler", 0, 0.3, 0.8, 0.6);
  rod("rocker", 0.8, 0.6, 0.9, 0);
  hinge("O", NULL, "crank", 0, 0);
  hinge("A", "crank", "coupler", 0, 0.3);
  hinge("B", "coupler", "rocker", 0.8, 0.6);
  hinge("C", NULL, "rocker", 0.9, 0);
  const CPDrive drive   = {CP_NEW_DRIVE("motor"), .of = {"O", 0}, .rate = 6};
  const CPSpring spring = {CP_NEW_SPRING("spring"), .of = {"C", 0}, .stiffness = 3, .damping = 0.5};
  const CPFriction friction = {CP_NEW_FRICTION("bearing"), .of = {"B", 0}, .factor = 0.02,
                               .speed = 0.1};
  const CPForce force       = {CP_NEW_FORCE("load"), .body = "coupler", .point = {0.5, 0.5},
                               .force = {2, 1}};
  ADD(CPBodiesAdd(bodies, &drive.head, NULL));
  ADD(CPBodiesAdd(bodies, &spring.head, NULL));
  ADD(CPBodiesAdd(bodies, &friction.head, NULL));
  ADD(CPBodiesAdd(bodies, &force.head, NULL));
}

/* A horizontal chain of n rods that falls, with a damper in each joint */
static void chain(int n) {
  char name[2][24] = {"", ""}, joint[24], damper[24];
  create(2);
  for (int i = 0; i < n; i++) {
    snprintf(name[i % 2], sizeof name[0], "rod%d", i);
    snprintf(joint, sizeof joint, "hinge%d", i);
    snprintf(damper, sizeof damper, "damper%d", i);
    rod(name[i % 2], i, 0, i + 1, 0);
    hinge(joint, i ? name[(i + 1) % 2] : NULL, name[i % 2], i, 0);
    const CPSpring spring = {CP_NEW_SPRING(damper), .of = {joint, 0}, .damping = 0.3};
    ADD(CPBodiesAdd(bodies, &spring.head, NULL));
  }
}

/* Integrates from the placement, with or without W. */
static void run(const char *method, sunrealtype tol, sunrealtype t_end, int with_balance) {
  static MessageLog log;
  IntegratorCounters stats;
  sunrealtype t;
  int flag;
  if (with_balance) ADD(CPBodiesSetBalance(bodies));
  ADD(build_mech(bodies, &own));
  CPEquations model     = equations_of(own);
  model.free_model_data = NULL; /* own has it */
  power                 = model.zdot;
  powers                = 0;
  if (power) model.zdot = counted;
  y                = CPBodiesState(bodies, test_context);
  CPModel counting = CPModelCreate(&model);
  mech             = CPMechCreate(counting, y, test_context);
  ck_assert_ptr_nonnull(mech);
  CPModelFree(&counting);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  ADD(CPMechAssemble(mech, 0, y, NULL));
  if (!strcmp(method, "BDF")) {
    CPIntegrator mem = CPIntegratorCreate("BDF", test_context);
    ck_assert_msg(CPMechAttach(mech, mem, 0, y) == CP_SUCCESS, "%s", log.text);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_int_eq(CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), -1), CV_SUCCESS);
    flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
    ck_assert_int_eq(CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &steps), CV_SUCCESS);
    CPIntegratorFree(&mem);
  } else {
    CPIntegrator mem = CPIntegratorCreate(method, test_context);
    ck_assert_msg(CPMechAttach(mech, mem, 0, y) == CP_SUCCESS, "%s", log.text);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
    flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
    ck_assert_int_eq(integrator_counters(mem, &stats), CP_SUCCESS);
    steps = stats.nst;
    CPIntegratorFree(&mem);
  }
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, log.text);
}

/* mech of the bodies with a balance. Returns a consistent state. */
static N_Vector build_with_balance(void) {
  ADD(CPBodiesSetBalance(bodies));
  N_Vector start = build_as(bodies, CP_ABSOLUTE, &mech);
  ADD(CPMechAssemble(mech, 0, start, NULL));
  return start;
}

static sunrealtype work(void) { return N_VGetArrayPointer(y)[N_VGetLength(y) - 1]; }

static sunrealtype energy(sunrealtype t) {
  CPPowers p = CP_INIT(CPPowers);
  ADD(CPMechGetPowers(mech, t, y, NULL, &p));
  return p.kinetic + p.potential;
}

static void clear(void) {
  if (y) N_VDestroy(y);
  y = NULL;
  CPMechFree(&mech);
  CPMechFree(&own);
  CPBodiesFree(&bodies);
}

static const char *const implicit[] = {"BDF", "RADAU"};

/* The crank turns steadily, so that the start has the energy of assembly. W = energy - energy(0). */
START_TEST(the_work_of_drive_damper_friction_and_force_is_that_of_dop853_and_of_the_energy) {
  const sunrealtype t_end = 3, tol = 1e-8;
  const int dimension = 2 + _i / 2;
  four_bar(dimension);
  run("DOP853", 1e-11, t_end, 1);
  const sunrealtype reference = work(), start = energy(t_end) - reference;
  clear();
  four_bar(dimension);
  run(implicit[_i % 2], tol, t_end, 1);
  ck_assert_double_eq_tol(work(), reference, 300 * tol * fabs(reference));
  ck_assert_double_eq_tol(energy(t_end) - work(), start, 300 * tol * fabs(reference));
  clear();
}
END_TEST

START_TEST(the_work_of_dampers_takes_no_more_steps) {
  long int without = 0;
  for (int with = 0; with <= 1; with++) {
    chain(6);
    run(implicit[_i], 1e-7, 1, with);
    if (!with) without = steps;
    clear();
  }
  ck_assert_int_le(steps, without + without / 20);
}
END_TEST

/* A difference for each column of Newton's matrix would take 3 n evaluations and more. */
START_TEST(evaluations_of_the_power_per_step_do_not_grow_with_the_mechanism) {
  const int n[] = {20, 80};
  double each[2];
  MechCounters stats[2];
  for (int k = 0; k < 2; k++) {
    chain(n[k]);
    run(implicit[_i], 1e-5, 0.1, 1);
    each[k] = (double)powers / (double)steps;
    ck_assert_int_eq(mech_counters(mech, &stats[k]), CP_SUCCESS);
    clear();
  }
  ck_assert_double_le(each[1], 1.5 * each[0]);
  ck_assert_int_le(stats[1].nDQ, 2 * stats[0].nDQ);
}
END_TEST

/* An iteration that contained W would take two evaluations in each iteration of BDF and for each stage of RADAU, and W
 * would ask for more iterations than the motion: 2 to 3 evaluations and 40 to 47 for each step. Where the crank is
 * driven all accelerations are known and the reactions converge last, so that W needs two iterations of RADAU, and now
 * and then a third. */
START_TEST(the_power_is_integrated_after_the_iteration) {
  for (int driven = 0; driven <= 1; driven++) {
    if (driven) four_bar(2);
    else chain(20);
    run(implicit[_i], 1e-7, driven ? 3 : 0.5, 1);
    if (!strcmp(implicit[_i], "BDF")) ck_assert_int_le(powers, steps + steps / 4);
    else ck_assert_int_le(powers, 4 * 5 * steps);
    clear();
  }
}
END_TEST

/* The crank is 10 um off its hinge, a thousand tolerances; then the coupler is turned as well. Roundoff of W, at which no constraint looks,
 * is larger than the first, and 1e-10 of W than both. */
START_TEST(starts_are_consistent_however_much_work_has_been_done) {
  static MessageLog log;
  sunrealtype t;
  four_bar(2);
  N_Vector start                          = build_with_balance();
  entries(start)[N_VGetLength(start) - 1] = 1e12;
  entries(start)[0] += 1e-5;
  CPIntegrator mem = CPIntegratorCreate(_i ? "BDF" : "DOP853", test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, start), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-8, 1e-8), CP_SUCCESS);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &log), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 0.01, start, &t, CV_NORMAL), CP_INCONSISTENT_IC);
  entries(start)[5] += 0.05;
  ck_assert_int_eq(CPMechCalcIC(mech, 0, start, NULL, NULL, NULL, NULL), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorReInit(mem, 0, start), CP_SUCCESS);
  ck_assert_msg(CPIntegratorEvolve(mem, 0.01, start, &t, CV_NORMAL) == CP_SUCCESS, "%s", log.text);
  CPIntegratorFree(&mem);
  N_VDestroy(start);
  clear();
}
END_TEST

/* Increments of differences are parts of the sizes of components, and nothing depends on W. The friction of the bearing depends on
 * multipliers, so that y' is differentiated as a whole; at the start the angles are 0. */
START_TEST(derivatives_of_the_motion_do_not_depend_on_how_much_work_has_been_done) {
  const int n             = 2 * 9 + 1;
  unsigned long long seed = 5;
  four_bar(2);
  N_Vector start = build_with_balance();
  N_Vector s = N_VClone(start), rate[] = {N_VClone(start), N_VClone(start)};
  random_fill(s, &seed);
  for (int much = 0; much <= 1; much++) {
    entries(start)[n - 1] = much ? 1e9 : 0;
    ck_assert_msg(CPMechJvp(mech, 0.1, start, NULL, s, NULL, rate[much], NULL) == CP_SUCCESS, "%s",
                  CPObjectGetLastMessage(CP_OBJECT(mech)));
  }
  for (int i = 0; i < n; i++)
    ck_assert_double_eq_tol(entries(rate[1])[i], entries(rate[0])[i], 1e-9 * N_VMaxNorm(rate[0]));
  N_VDestroy(start);
  N_VDestroy(s);
  for (int k = 0; k < 2; k++) N_VDestroy(rate[k]);
  clear();
}
END_TEST

/* The sine of seven times the angle of the first rod */
static int swing(sunrealtype t, N_Vector at, sunrealtype *values, void *data) {
  (void)t, (void)data;
  values[0] = sin(7 * entries(at)[2]);
  return 0;
}

START_TEST(gradients_do_not_depend_on_how_much_work_has_been_done) {
  const CPFunctional F      = {CP_SIZED(CPFunctional), .ng = 1, .end = swing};
  CPGradientOptions options = CP_INIT(CPGradientOptions);
  sunrealtype G[2], dG[2];
  options.mode = _i ? CP_GRADIENT_FORWARD : CP_GRADIENT_ADJOINT;
  for (int much = 0; much <= 1; much++) {
    chain(2);
    N_Vector start    = build_with_balance();
    CPIntegrator mem  = CPIntegratorCreate("DOP853", test_context);
    CPParameters of_g = {CP_SIZED(CPParameters), .n = 1, .plist = (int[]){1}};
    ADD(CPMechGetParameters(mech, &of_g.values, NULL));
    entries(start)[N_VGetLength(start) - 1] = much ? 1e9 : 0;
    ck_assert_int_eq(CPMechAttach(mech, mem, 0, start), CP_SUCCESS);
    ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-9, 1e-9), CP_SUCCESS);
    ck_assert_msg(CPIntegratorGradient(mem, 0.3, &F, &of_g, &options, G + much, dG + much, NULL) ==
                      CP_SUCCESS,
                  "%s", CPObjectGetLastMessage(CP_OBJECT(mem)));
    N_VDestroy(start);
    CPIntegratorFree(&mem);
    clear();
  }
  ck_assert_double_gt(fabs(dG[0]), 0.01);
  ck_assert_double_eq_tol(dG[1], dG[0], 1e-7 * fabs(dG[0]));
}
END_TEST

TEST_SUITE(balance) {
  Suite *suite = suite_create("bodies/balance");
  TCase *tc    = tcase_create("balance");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(
      tc, the_work_of_drive_damper_friction_and_force_is_that_of_dop853_and_of_the_energy, 0, 4);
  tcase_add_loop_test(tc, the_work_of_dampers_takes_no_more_steps, 0, 2);
  tcase_add_loop_test(tc, evaluations_of_the_power_per_step_do_not_grow_with_the_mechanism, 0, 2);
  tcase_add_loop_test(tc, the_power_is_integrated_after_the_iteration, 0, 2);
  tcase_add_loop_test(tc, starts_are_consistent_however_much_work_has_been_done, 0, 2);
  tcase_add_test(tc, derivatives_of_the_motion_do_not_depend_on_how_much_work_has_been_done);
  tcase_add_loop_test(tc, gradients_do_not_depend_on_how_much_work_has_been_done, 0, 2);
  suite_add_tcase(suite, tc);
  return suite;
}
