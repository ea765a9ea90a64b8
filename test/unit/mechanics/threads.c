/* Systems of one model in several threads at the same time give the bits that each gives alone, whichever of them is
 * the first to need what the model finds out once. */
#include <cvodes/cvodes.h>
#include <pthread.h>
#include <string.h>

#include "models/rigid_body.h"
#include "support/support.h"

/* A chain in space, on ball joints and hinges */
enum { RODS = 12, N = 13 * RODS };

typedef struct {
  RigidBodies bodies;
  RigidBody body[RODS];
  Joint joint[RODS];
  CPQuaternion quaternion[RODS];
} Chain;

/* One integration: arguments and results. Functions of Check are not called in a thread. */
typedef struct {
  const char *method;
  CPModel model;
  const Chain *chain;
  sunrealtype spin;
  sunrealtype y[N];
  int flag;
  MessageLog log;
} Job;

static void build(Chain *chain) {
  for (int i = 0; i < RODS; i++) {
    chain->body[i]  = (RigidBody){.m = 1, .J = {0.001, 0.08, 0.09}};
    chain->joint[i] = (Joint){.kind    = i % 3 ? JOINT_BALL : JOINT_REVOLUTE,
                              .a       = i ? i - 1 : GROUND,
                              .b       = i,
                              .point_a = {i ? 0.5 : 0},
                              .point_b = {-0.5},
                              .axis_a  = {0, 0, 1},
                              .axis_b  = {0, 0, 1}};
  }
  chain->bodies = (RigidBodies){.nbodies    = RODS,
                                .njoints    = RODS,
                                .body       = chain->body,
                                .joint      = chain->joint,
                                .g          = {0, -9.81, 0},
                                .frame      = CP_FRAME_BODY,
                                .quaternion = chain->quaternion};
}

static void place(const Chain *chain, sunrealtype spin, N_Vector y) {
  const sunrealtype omega[3] = {0, 0, spin}, turn[3] = {0, 0, 0};
  for (int i = 0; i < RODS; i++) {
    const sunrealtype r[3] = {i + SUN_RCONST(0.5), 0, 0}, v[3] = {0, spin * r[0], 0};
    rigid_body_place(&chain->bodies, i, r, turn, v, omega, y);
  }
}

static CPModel model_of(Chain *chain) {
  CPEquations equations;
  if (rigid_body_model(&chain->bodies, 1, test_context, &equations)) return NULL;
  equations.model_data = &chain->bodies;
  CPModel model        = CPModelCreate(&equations);
  rigid_body_model_free(&equations);
  return model;
}

static void *work(void *argument) {
  Job *job       = argument;
  SUNContext ctx = NULL;
  sunrealtype t  = 0, udot[6 * RODS];
#if SUNDIALS_VERSION_MAJOR >= 7
  SUNContext_Create(SUN_COMM_NULL, &ctx);
#else
  SUNContext_Create(NULL, &ctx);
#endif
  N_Vector y = N_VNew_Serial(N, ctx);
  place(job->chain, job->spin, y);
  CPMech mech      = CPMechCreate(job->model, y, ctx);
  CPIntegrator mem = CPIntegratorCreate(job->method, ctx);
  int flag         = CPObjectSetErrHandlerFn(CP_OBJECT(mech), message_log, &job->log);
  if (!flag) flag = CPMechAccelerations(mech, 0, y, udot, NULL);
  if (!flag) flag = CPMechAttach(mech, mem, 0, y);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1e-6, 1e-6);
  for (int k = 0; !flag && k < 40; k++) flag = CPIntegratorEvolve(mem, 1, y, &t, CV_ONE_STEP);
  memcpy(job->y, N_VGetArrayPointer(y), sizeof job->y);
  job->flag = flag;
  CPIntegratorFree(&mem);
  CPMechFree(&mech);
  N_VDestroy(y);
  SUNContext_Free(&ctx);
  return NULL;
}

START_TEST(systems_of_one_model_in_threads_give_the_bits_of_systems_alone) {
  static const Job jobs[] = {{.method = "RADAU", .spin = 1},
                             {.method = "BDF", .spin = 1},
                             {.method = "RADAU", .spin = 2},
                             {.method = "DOP853", .spin = 2}};
  enum { JOBS = sizeof jobs / sizeof *jobs };
  static Chain chain;
  static Job alone[JOBS], together[JOBS];
  pthread_t threads[JOBS];
  build(&chain);
  for (int k = 0; k < JOBS; k++) {
    alone[k]       = jobs[k];
    alone[k].chain = &chain, alone[k].model = model_of(&chain);
    work(&alone[k]);
    CPModelFree(&alone[k].model);
    ck_assert_msg(alone[k].flag == CP_SUCCESS, "%s: %d, %s", alone[k].method, alone[k].flag,
                  alone[k].log.text);
  }
  CPModel model = model_of(&chain);
  for (int k = 0; k < JOBS; k++) {
    together[k]       = jobs[k];
    together[k].chain = &chain, together[k].model = model;
  }
  for (int k = 0; k < JOBS; k++)
    ck_assert_int_eq(pthread_create(&threads[k], NULL, work, &together[k]), 0);
  for (int k = 0; k < JOBS; k++) ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
  for (int k = 0; k < JOBS; k++) {
    ck_assert_msg(together[k].flag == CP_SUCCESS, "%s: %d", together[k].method, together[k].flag);
    ck_assert_mem_eq(together[k].y, alone[k].y, sizeof alone[k].y);
  }
  CPModelFree(&model);
}
END_TEST

TEST_SUITE(threads) {
  Suite *suite = suite_create("mechanics/threads");
  TCase *tc    = tcase_create("threads");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_test(tc, systems_of_one_model_in_threads_give_the_bits_of_systems_alone);
  suite_add_tcase(suite, tc);
  return suite;
}
