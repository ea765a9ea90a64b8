/* Systems of one model of bodies in several threads at the same time, each with its own parameters and offsets, give the
 * bits that each gives alone. */
#include <cpodes/cpodes_integrator.h>
#include <cvodes/cvodes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/things.h"

/* A hanging chain of ball joints and hinges with springs to the ground, and a loop whose redundant rows get offsets */
enum { RODS = 8, BODIES = RODS + 1, STATES = 13 * BODIES };

static CPBodies chain(void) {
  CPBodies b          = CPBodiesCreate(3, (sunrealtype[]){0, -9.81, 0});
  const CPBody cover  = {CP_NEW_BODY("cover"), .mass = 2, .inertia = {0.1, 0.1, 0.1},
                         .position = {0, 3, 0}, .velocity = {0, 0, 1}};
  const CPMarker at[] = {{.point = {-1, 3, 0}}, {.point = {1, 3, 1e-8}}};
  for (int i = 0; i < RODS; i++) {
    char name[4][16], other[16];
    snprintf(name[0], sizeof *name, "rod_%d", i);
    snprintf(name[1], sizeof *name, "pin_%d", i);
    snprintf(name[2], sizeof *name, "spring_%d", i);
    snprintf(other, sizeof other, "rod_%d", i - 1);
    const CPBody rod  = {CP_NEW_BODY(name[0]), .mass = 1, .inertia = {0.001, 0.08, 0.08},
                         .position = {i + SUN_RCONST(0.5), 0, 0}};
    const CPJoint pin = {CP_NEW_JOINT(name[1]), .kind = i % 3 ? CP_JOINT_BALL : CP_JOINT_REVOLUTE,
                         .a = i ? other : NULL, .b = name[0], .on_a = {.point = {i}}};
    const CPSpring support = {CP_NEW_SPRING(name[2]),   .b = name[0],    .point_a = {i + 1, 2, 0.5},
                              .point_b = {i + 1, 0, 0}, .stiffness = 40, .free = 1};
    ck_assert_int_eq(CPBodiesAdd(b, &rod.head, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPBodiesAdd(b, &pin.head, NULL), CP_SUCCESS);
    ck_assert_int_eq(CPBodiesAdd(b, &support.head, NULL), CP_SUCCESS);
  }
  /* Two hinges with one axis, of which one point is 1e-8 beside it */
  ck_assert_int_eq(CPBodiesAdd(b, &cover.head, NULL), CP_SUCCESS);
  for (int i = 0; i < 2; i++) {
    const CPJoint hinge = {CP_NEW_JOINT(i ? "right" : "left"),
                           .kind = CP_JOINT_REVOLUTE,
                           .b    = "cover",
                           .in   = CP_IN_BODIES,
                           .on_a = {.point = {at[i].point[0], 3, at[i].point[2]}, .axis = {1, 0, 0}},
                           .on_b = {.point = {at[i].point[0], 0, 0}, .axis = {1, 0, 0}}};
    ck_assert_int_eq(CPBodiesAdd(b, &hinge.head, NULL), CP_SUCCESS);
  }
  return b;
}

/* One integration: arguments and results. Functions of Check are not called in a thread. */
typedef struct {
  const char *method;
  sunrealtype stiffness;
  CPModel model;
  int stiffness_at;
  sunrealtype start[STATES]; /* the placement */
  sunrealtype y[STATES], F[3], offset;
  int flag;
} Job;

static void *work(void *argument) {
  Job *job       = argument;
  SUNContext ctx = NULL;
  sunrealtype t = 0, *values = NULL, T[3];
#if SUNDIALS_VERSION_MAJOR >= 7
  SUNContext_Create(SUN_COMM_NULL, &ctx);
#else
  SUNContext_Create(NULL, &ctx);
#endif
  N_Vector y = N_VNew_Serial(STATES, ctx);
  memcpy(N_VGetArrayPointer(y), job->start, sizeof job->start);
  CPMech mech         = CPMechCreate(job->model, y, ctx);
  CPIntegrator mem    = CPIntegratorCreate(job->method, ctx);
  CPAssembly assembly = CP_INIT(CPAssembly);
  int flag            = CPMechGetParameters(mech, &values, NULL);
  if (!flag) values[job->stiffness_at] = job->stiffness;
  if (!flag) flag = CPMechAssemble(mech, 0, y, &assembly);
  for (int k = 0; k < assembly.noffsets; k++) job->offset += fabs(assembly.offsets[k]);
  if (!flag) flag = CPMechAttach(mech, mem, 0, y);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1e-6, 1e-6);
  for (int k = 0; !flag && k < 40; k++) flag = CPIntegratorEvolve(mem, 1, y, &t, CV_ONE_STEP);
  sunrealtype *lambda = flag ? NULL : calloc((size_t)CPMechGetNumMultipliers(mech), sizeof *lambda);
  CPMechOutput output = {CP_SIZED(CPMechOutput), .lambda = lambda};
  if (lambda) flag = CPMechEvaluate(mech, t, y, &output);
  if (lambda && !flag) flag = CPMechGetReaction(mech, 1, t, y, lambda, job->F, T);
  memcpy(job->y, N_VGetArrayPointer(y), sizeof job->y);
  job->flag = flag;
  free(lambda);
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  SUNContext_Free(&ctx);
  return NULL;
}

START_TEST(systems_of_one_model_in_threads_have_their_own_parameters) {
  static const Job jobs[] = {{.method = "RADAU", .stiffness = 40},
                             {.method = "RADAU", .stiffness = 20},
                             {.method = "BDF", .stiffness = 40},
                             {.method = "DOP853", .stiffness = 10}};
  enum { JOBS = sizeof jobs / sizeof *jobs };
  static Job alone[JOBS], together[JOBS];
  pthread_t threads[JOBS];
  CPModel model;
  CPBodies b = chain();
  N_Vector y = CPBodiesState(b, test_context);
  for (int k = 0; k < JOBS; k++) {
    alone[k]              = jobs[k];
    alone[k].stiffness_at = thing_named(b, CP_PARAMETER, "spring_3.stiffness");
    memcpy(alone[k].start, N_VGetArrayPointer(y), sizeof alone[k].start);
    together[k] = alone[k];
  }
  for (int k = 0; k < JOBS; k++) {
    ck_assert_int_eq(CPBodiesBuild(b, &alone[k].model), CP_SUCCESS);
    work(&alone[k]);
    CPModelFree(&alone[k].model);
    ck_assert_msg(alone[k].flag == CP_SUCCESS, "%s: %d", alone[k].method, alone[k].flag);
    ck_assert_double_gt(alone[k].offset, 0);
  }
  ck_assert_mem_ne(alone[0].y, alone[1].y, sizeof alone->y);
  ck_assert_int_eq(CPBodiesBuild(b, &model), CP_SUCCESS);
  CPBodiesFree(&b); /* of which the model keeps nothing */
  for (int k = 0; k < JOBS; k++) {
    together[k].model = model;
    ck_assert_int_eq(pthread_create(&threads[k], NULL, work, &together[k]), 0);
  }
  for (int k = 0; k < JOBS; k++) ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
  for (int k = 0; k < JOBS; k++) {
    ck_assert_msg(together[k].flag == CP_SUCCESS, "%s: %d", together[k].method, together[k].flag);
    ck_assert_mem_eq(together[k].y, alone[k].y, sizeof alone->y);
    ck_assert_mem_eq(together[k].F, alone[k].F, sizeof alone->F);
    ck_assert_double_eq(together[k].offset, alone[k].offset);
  }
  CPModelFree(&model);
  N_VDestroy(y);
}
END_TEST

TEST_SUITE(threads) {
  Suite *suite = suite_create("bodies/threads");
  TCase *tc    = tcase_create("threads");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, systems_of_one_model_in_threads_have_their_own_parameters);
  suite_add_tcase(suite, tc);
  return suite;
}
