/* Mechanisms of the catalogue, built from bodies by calls and from files, against their references:
 * Andrews' mechanism and the slider-crank (end values in examples/models, with their sources),
 * Bricard's mechanism (closed-form kinematics), the four-bar linkage in space and the chain (the
 * hand-written models). */
#include "models/andrews.h"
#include "models/bricard.h"
#include "models/model.h"
#include "models/slider_crank.h"
#include "models/spatial_four_bar.h"
#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <models/counters.h>
#include <stdio.h>
#include <string.h>

static CPBodies bodies;
static CPMech mech;
static N_Vector y;
static sunrealtype t;

static void create(int dimension) {
  bodies = CPBodiesCreate(dimension, NULL);
  ck_assert_ptr_nonnull(bodies);
}

/* The mechanism of a file in examples/mechanisms */
static void read_file(const char *name) {
  char path[500], message[READ_MESSAGE];
  CPBodiesFile file;
  snprintf(path, sizeof path, "%s/%s.yaml", CPODES_MECHANISMS, name);
  bodies = read_bodies(path, NULL, 0, &file, message);
  ck_assert_msg(bodies != NULL, "%s", message);
}

#define ADD(call) ck_assert_msg((call) >= 0, "%s", CPObjectGetLastMessage(CP_OBJECT(bodies)))

/* Integrates from the placement to t_end */
static void run_by(const char *method, sunrealtype t_end, sunrealtype tol) {
  static MessageLog log;
  ck_assert_msg(build_mech(bodies, &mech) == CP_SUCCESS, "%s",
                CPObjectGetLastMessage(CP_OBJECT(bodies)));
  y                = CPBodiesState(bodies, test_context);
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &log), CP_SUCCESS);
  ck_assert_msg(CPMechAttach(mech, mem, 0, y) == CP_SUCCESS, "%s", log.text);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  const int flag = CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL);
  ck_assert_msg(flag == CP_SUCCESS, "%d: %s", flag, log.text);
  CPIntegratorFree(&mem);
}

static void run(sunrealtype t_end, sunrealtype tol) { run_by("DOP853", t_end, tol); }

static void clear(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
}

/* A body in the plane at (x, y), with its frame turned by the angle, and its centre at (cx, cy) in
 * the frame. */
static void planar(const char *name, sunrealtype m, sunrealtype J, sunrealtype x, sunrealtype yy,
                   sunrealtype angle, sunrealtype cx, sunrealtype cy) {
  const CPBody body = {CP_NEW_BODY(name),  .mass = m,           .inertia = {0, 0, J},
                       .centre = {cx, cy}, .position = {x, yy}, .angle = angle};
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
}

static void hinge(const char *name, const char *a, const char *b, sunrealtype x, sunrealtype yy) {
  const CPJoint joint = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE, .a = a, .b = b,
                         .on_a.point = {x, yy}};
  ADD(CPBodiesAdd(bodies, &joint.head, NULL));
}

/* Masses and lengths: examples/models/andrews.c. The end values there have 17 digits; angles of
 * bodies are sums of its angles. DOP853 at 1e-13 reaches an error of some hundred steps' errors of
 * beta, which turns by 16 rad. */
START_TEST(andrews_mechanism_reaches_its_reference) {
  N_Vector start = vector_of(2 * ANDREWS_NQ, NULL), end = vector_of(2 * ANDREWS_NQ, NULL);
  sunrealtype x[ANDREWS_JOINTS][2];
  const sunrealtype *q = entries(start), *r = entries(end);
  CPPlugin *model = CPPluginCreate(model_find("andrews"), NULL, test_context, (char[99]){0}, 99);
  ck_assert_int_eq(model->type->reference(model, model->type->t_end, end), 0);
  andrews_initial(start);
  andrews_joints(start, x);
  const sunrealtype *O = x[ANDREWS_O], *A = x[ANDREWS_A], *B = x[ANDREWS_B], *C = x[ANDREWS_C],
                    *P = x[ANDREWS_P], *F = x[ANDREWS_F], *D = x[ANDREWS_D], *E = x[ANDREWS_E],
                    *G = x[ANDREWS_G];
  if (_i) read_file("andrews");
  else {
    create(2);
    planar("K1", 0.04325, 2.194e-6, O[0], O[1], q[0], 0.00092, 0);
    planar("K2", 0.00365, 4.410e-7, P[0], P[1], q[0] + q[1], -0.0115, 0);
    planar("K3", 0.02373, 5.255e-6, B[0], B[1], q[2], 0.01043, -0.01874);
    planar("K4", 0.00706, 5.667e-7, E[0], E[1], q[3] + q[4], 0, -(0.02 - 0.01421));
    planar("K5", 0.07050, 1.169e-5, A[0], A[1], q[4], 0.02308, 0.00916);
    planar("K6", 0.00706, 5.667e-7, G[0], G[1], q[5] + q[6], 0.02 - 0.01421, 0);
    planar("K7", 0.05498, 1.912e-5, A[0], A[1], q[6], 0.00449, -0.01228);
    hinge("O", NULL, "K1", O[0], O[1]);
    hinge("P", "K1", "K2", P[0], P[1]);
    hinge("B", NULL, "K3", B[0], B[1]);
    hinge("F3", "K2", "K3", F[0], F[1]);
    hinge("F4", "K2", "K4", F[0], F[1]);
    hinge("F6", "K2", "K6", F[0], F[1]);
    hinge("E", "K4", "K5", E[0], E[1]);
    hinge("A5", NULL, "K5", A[0], A[1]);
    hinge("G", "K6", "K7", G[0], G[1]);
    hinge("A7", NULL, "K7", A[0], A[1]);
    const CPSpring spring = {CP_NEW_SPRING("spring"), .b = "K3",         .point_a = {C[0], C[1]},
                             .point_b = {D[0], D[1]}, .stiffness = 4530, .free = 0.07785};
    const CPSpring motor  = {CP_NEW_SPRING("motor"), .of = {"O", 0}, .force = 0.033};
    ADD(CPBodiesAdd(bodies, &spring.head, NULL));
    ADD(CPBodiesAdd(bodies, &motor.head, NULL));
  }
  run(0.03, 1e-13);
  const sunrealtype *now     = entries(y),
                    angle[7] = {r[0], r[0] + r[1], r[2], r[3] + r[4], r[4], r[5] + r[6], r[6]};
  for (int i = 0; i < 7; i++) ck_assert_double_eq_tol(now[3 * i + 2], angle[i], 1e-10);
  N_VDestroy(start);
  N_VDestroy(end);
  CPPluginFree(&model);
  clear();
}
END_TEST

START_TEST(slider_crank_reaches_its_reference) {
  CPPlugin *model =
      CPPluginCreate(model_find("slider_crank"), NULL, test_context, (char[99]){0}, 99);
  N_Vector end = N_VClone(model->y0);
  ck_assert_int_eq(model->type->reference(model, 10, end), 0);
  const sunrealtype a = 0.5, q = acos(0.0), p = asin(-a), x = cos(p), *r = entries(end);
  if (_i) read_file("slider_crank");
  else {
    create(2);
    planar("crank", 1, 1, 0, 0, q, 0, 0);
    planar("rod", 1, 2, x, 0, p, 0, 0);
    hinge("pivot", NULL, "crank", 0, 0);
    hinge("pin", "crank", "rod", 0, a);
    const CPJoint slide   = {CP_NEW_JOINT("slide"), .kind = CP_JOINT_POINT_ON_LINE, .b = "rod",
                             .on_a.axis = {1, 0, 0}, .on_b.point = {x, 0, 0}};
    const CPSpring spring = {CP_NEW_SPRING("spring"), .a = "crank",       .b = "rod",
                             .in = CP_IN_BODIES,      .point_a = {a / 2}, .point_b = {-0.5},
                             .stiffness = 1,          .damping = 1,       .free = 1};
    const CPForce force   = {CP_NEW_FORCE("force"), .body = "rod", .in = CP_IN_BODIES, .point = {1},
                             .force = {1, 0, 0}};
    ADD(CPBodiesAdd(bodies, &slide.head, NULL));
    ADD(CPBodiesAdd(bodies, &spring.head, NULL));
    ADD(CPBodiesAdd(bodies, &force.head, NULL));
    ADD(CPBodiesSetBalance(bodies));
  }
  run(10, 1e-12);
  const sunrealtype *now   = entries(y);
  const sunrealtype got[6] = {now[2], now[3], now[5], now[8], now[9], now[11]};
  for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(got[i], r[i], 1e-10);
  sunrealtype lambda[5], at[3], rate[3], s, v;
  ck_assert_int_eq(CPMechGetCoordinate(mech, thing_named(bodies, CP_COORDINATE, "slide"), y, &s, &v),
                   CP_SUCCESS);
  ck_assert_double_eq_tol(s, r[1], 1e-10);
  ck_assert_double_eq_tol(v, r[4], 1e-10);
  ck_assert_int_eq(
      body_point(mech, thing_named(bodies, CP_BODY, "rod"), (sunrealtype[]){1, 0, 0}, y, at, rate),
      CP_SUCCESS);
  ck_assert_double_eq_tol(at[0], r[1] + cos(r[2]), 1e-10);
  ck_assert_double_eq_tol(rate[1], r[5] * cos(r[2]), 1e-10);
  /* energy - W is the energy at the start, with the spring at rest */
  CPPowers powers = CP_INIT(CPPowers);
  ck_assert_int_eq(CPMechAccelerations(mech, 10, y, (sunrealtype[6]){0}, lambda), CP_SUCCESS);
  ck_assert_int_eq(CPMechGetPowers(mech, 10, y, lambda, &powers), CP_SUCCESS);
  const sunrealtype start = slider_crank_energy(model->data, model->y0) + 2 * x;
  ck_assert_double_eq_tol(powers.kinetic + powers.potential - now[12], start, 1e-10);
  N_VDestroy(end);
  CPPluginFree(&model);
  clear();
}
END_TEST

/* A rod in space between two points, its axes those of space, as in spatial_loop.h */
static void rod(const char *name, sunrealtype mass, const sunrealtype *J, const sunrealtype *from,
                const sunrealtype *to) {
  CPBody body = {CP_NEW_BODY(name), .mass = mass, .inertia = {J[0], J[1], J[2]}};
  for (int k = 0; k < 3; k++) body.position[k] = (from[k] + to[k]) / 2;
  ADD(CPBodiesAdd(bodies, &body.head, NULL));
}

/* The reference is accurate to 1e-12 (its header); DOP853 at 1e-12 makes some hundred steps. */
START_TEST(bricards_mechanism_reaches_its_reference) {
  static SpatialLoop loop;
  bricard_create(&loop, 9.81);
  const LoopShape *s = &loop.shape;
  if (_i) read_file("bricard");
  else {
    create(3);
    ADD(set_gravity(bodies, (sunrealtype[]){0, -9.81, 0}));
    const char *const names[] = {"r1", "r2", "r3", "r4", "r5"};
    for (int i = 0; i < BRICARD_RODS; i++)
      rod(names[i], s->m[i], s->J[i], s->point[i], s->point[i + 1]);
    for (int j = 0; j <= BRICARD_RODS; j++) {
      const char name[] = {'J', (char)('1' + j), 0};
      CPJoint joint = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE, .a = j ? names[j - 1] : NULL,
                       .b = j < 5 ? names[j] : NULL};
      memcpy(joint.on_a.point, s->point[j], sizeof joint.on_a.point);
      memcpy(joint.on_a.axis, s->axis[j], sizeof joint.on_a.axis);
      ADD(CPBodiesAdd(bodies, &joint.head, NULL));
    }
  }
  run(10, 1e-12);
  N_Vector known = N_VClone(y);
  N_VConst(0, known);
  ck_assert_int_eq(bricard_motion(&loop, 10, known), 0);
  ck_assert_double_le(max_distance(known, y), 1e-9);
  N_VDestroy(known);
  clear();
}
END_TEST

/* Against the hand-written model of the planar linkage in space: the same equations, other
 * functions. */
START_TEST(spatial_four_bar_moves_as_the_hand_written_one) {
  CPPlugin *model =
      CPPluginCreate(model_find("spatial_four_bar"), NULL, test_context, (char[99]){0}, 99);
  const SpatialFourBar *s          = model->own;
  const sunrealtype *q             = entries(model->y0);
  static const char *const names[] = {"crank", "coupler", "rocker"};
  if (_i) read_file("spatial_four_bar");
  else {
    create(3);
    ADD(set_gravity(bodies, s->bodies.g));
    for (int i = 0; i < 3; i++) {
      CPBody body = {CP_NEW_BODY(names[i]), .mass = s->body[i].m};
      memcpy(body.inertia, s->body[i].J, sizeof s->body[i].J);
      memcpy(body.position, q + 7 * i, sizeof body.position);
      memcpy(body.quaternion, q + 7 * i + 3, sizeof body.quaternion);
      ADD(CPBodiesAdd(bodies, &body.head, NULL));
    }
    for (int j = 0; j < 4; j++) {
      const Joint *from = &s->joint[j];
      const char name[] = {'J', (char)('1' + j), 0};
      CPJoint joint     = {CP_NEW_JOINT(name), .kind = CP_JOINT_REVOLUTE,
                           .a = from->a < 0 ? NULL : names[from->a], .b = names[from->b],
                           .in = CP_IN_BODIES};
      memcpy(joint.on_a.point, from->point_a, sizeof from->point_a);
      memcpy(joint.on_b.point, from->point_b, sizeof from->point_b);
      ADD(CPBodiesAdd(bodies, &joint.head, NULL));
    }
  }
  run(5, 1e-12);
  CPMech hand      = CPPluginMech(model);
  N_Vector yh      = vector_copy(model->y0);
  CPIntegrator mem = CPIntegratorCreate("DOP853", test_context);
  ck_assert_int_eq(CPMechAttach(hand, mem, 0, yh), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, 1e-12, 1e-12), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, -1), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, 5, yh, &t, CV_NORMAL), CP_SUCCESS);
  for (int i = 0; i < SPATIAL_FOUR_BAR_N; i++)
    ck_assert_double_eq_tol(entries(y)[i], entries(yh)[i], 1e-9);
  CPIntegratorFree(&mem);
  CPMechFree(&hand);
  N_VDestroy(yh);
  CPPluginFree(&model);
  clear();
}
END_TEST

/* A chain of hinges that falls from an angle of 0.8 below the horizontal. across: a direction on
 * the hinges, which determines their rows. Returns the number of evaluations of f. */
static long int fall(int n, const sunrealtype *across, sunrealtype tol) {
  MechCounters stats;
  create(3);
  ck_assert_int_eq(set_gravity(bodies, (sunrealtype[]){0, -9.81, 0}), CP_SUCCESS);
  for (int i = 0; i < n; i++) {
    char name[2][13], joint_name[13];
    for (int k = 0; k < 2; k++) snprintf(name[k], sizeof name[k], "b%d", i - 1 + k);
    snprintf(joint_name, sizeof joint_name, "j%d", i);
    const CPBody body = {CP_NEW_BODY(name[1]), .mass = 1, .inertia = {0.00125, 0.0839583, 0.0839583},
                         .position   = {(i + 0.5) * cos(0.8), -(i + 0.5) * sin(0.8)},
                         .quaternion = {cos(0.4), 0, 0, -sin(0.4)}};
    CPJoint joint     = {CP_NEW_JOINT(joint_name), .kind = CP_JOINT_REVOLUTE,
                         .a = i ? name[0] : NULL,  .b = name[1],
                         .in = CP_IN_BODIES,       .on_a.point = {i ? 0.5 : 0},
                         .on_b.point = {-0.5}};
    memcpy(joint.on_a.across, across, sizeof joint.on_a.across);
    ADD(CPBodiesAdd(bodies, &body.head, NULL));
    ADD(CPBodiesAdd(bodies, &joint.head, NULL));
  }
  run(0.1, tol);
  ck_assert_int_eq(mech_counters(mech, &stats), CP_SUCCESS);
  clear();
  return stats.nf;
}

/* The sizes of first steps are guesses: the rows of joints at their stages must not decide which
 * field is integrated. */
START_TEST(steps_of_a_chain_do_not_depend_on_the_rows_of_its_hinges) {
  for (int k = 6; k <= 14; k++) {
    const sunrealtype tol = pow(10, -k / 2.0);
    ck_assert_int_eq(fall(40, (sunrealtype[]){1, 0, 0}, tol),
                     fall(40, (sunrealtype[]){0, 1, 0}, tol));
  }
}
END_TEST

/* At loose tolerances RADAU's predictions of a scotch yoke reach velocities of 1e100, where
 * differences of f are roundoff: derivatives are not wrong for that. Loop index: the tolerance, 0.1 to
 * 0.01 */
START_TEST(predictions_far_off_do_not_make_derivatives_wrong) {
  create(2);
  const CPBody crank = {CP_NEW_BODY("crank"), .mass = 1, .inertia = {0, 0, 1 / 48.0},
                        .centre = {0.25}, .omega = {0, 0, 3}},
               yoke  = {CP_NEW_BODY("yoke"), .mass = 2, .inertia = {0, 0, 0.2}, .position = {0.5}};
  ADD(CPBodiesAdd(bodies, &crank.head, NULL));
  ADD(CPBodiesAdd(bodies, &yoke.head, NULL));
  hinge("pivot", NULL, "crank", 0, 0);
  const CPJoint slot  = {CP_NEW_JOINT("slot"), .kind = CP_JOINT_POINT_ON_LINE,
                         .a = "yoke",          .b = "crank",
                         .on_a.point = {0.5},  .on_a.axis = {0, 1},
                         .on_b.point = {0.5}},
                guide = {CP_NEW_JOINT("guide"), .kind = CP_JOINT_PRISMATIC, .b = "yoke",
                         .on_a.point = {0.5}, .on_a.axis = {1}};
  ADD(CPBodiesAdd(bodies, &slot.head, NULL));
  ADD(CPBodiesAdd(bodies, &guide.head, NULL));
  run_by("RADAU", 4, pow(10, -1 - _i / 200.0));
  clear();
}
END_TEST

TEST_SUITE(catalogue) {
  Suite *suite = suite_create("bodies/catalogue");
#ifdef CPODES_MECHANISMS_READ
  const int with_files = 2;
#else
  const int with_files = 1;
#endif
  TCase *tc = tcase_create("catalogue");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, andrews_mechanism_reaches_its_reference, 0, with_files);
  tcase_add_loop_test(tc, slider_crank_reaches_its_reference, 0, with_files);
  tcase_add_loop_test(tc, bricards_mechanism_reaches_its_reference, 0, with_files);
  tcase_add_loop_test(tc, spatial_four_bar_moves_as_the_hand_written_one, 0, with_files);
  tcase_add_test(tc, steps_of_a_chain_do_not_depend_on_the_rows_of_its_hinges);
  tcase_add_loop_test(tc, predictions_far_off_do_not_make_derivatives_wrong, 0, 201);
  suite_add_tcase(suite, tc);
  return suite;
}
