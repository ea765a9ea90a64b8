/* Objects of different threads are independent: two integrators at the same time give the same bits
 * as each gives alone. */
#include "stepping/multistep/fixture.h"

#include <pthread.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

/* One integration: arguments and results. Functions of Check are not called in a thread. */
typedef struct {
  int lmm;
  sunrealtype speed; /* of the throw */
  sunrealtype y[PENDULUM_N];
  long int steps;
  int flag;
  Pendulum p;
  MessageLog log;
} Job;

static int job_constraints(sunrealtype t, N_Vector y, N_Vector c, void *user_data) {
  return pendulum_constraints(t, y, c, &((Job *)user_data)->p);
}

static int job_jacobian(sunrealtype t, N_Vector y, N_Vector c, SUNMatrix G, void *user_data) {
  return pendulum_jacobian(t, y, c, G, &((Job *)user_data)->p);
}

static int job_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  return pendulum_rhs(t, y, ydot, &((Job *)user_data)->p);
}

static SUNContext new_context(void) {
  SUNContext ctx = NULL;
#if SUNDIALS_VERSION_MAJOR >= 7
  SUNContext_Create(SUN_COMM_NULL, &ctx);
#else
  SUNContext_Create(NULL, &ctx);
#endif
  return ctx;
}

/* Work of every kind: steps, outputs, messages, a restart. */
static int integrate(Job *job, CPIntegrator mem, N_Vector y) {
  sunrealtype t = 0.0;
  int flag      = CPIntegratorSetProjFrequency(mem, -1, 0) == CP_ILL_INPUT ? 0 : -1; /* a message */
  for (int k = 1; !flag && k <= 50; k++) flag = CPIntegratorEvolve(mem, 0.1 * k, y, &t, CV_NORMAL);
  if (!flag) flag = CVodeGetNumSteps(CPIntegratorGetCVodeMem(mem), &job->steps);
  for (int i = 0; i < PENDULUM_N; i++) job->y[i] = N_VGetArrayPointer(y)[i];
  return flag;
}

static void *work(void *argument) {
  Job *job       = argument;
  SUNContext ctx = new_context();
  N_Vector y = N_VNew_Serial(PENDULUM_N, ctx), c = N_VNew_Serial(PENDULUM_M, ctx);
  SUNMatrix G        = SUNDenseMatrix(PENDULUM_M, PENDULUM_N, ctx),
            A        = SUNDenseMatrix(PENDULUM_N, PENDULUM_N, ctx);
  SUNLinearSolver LS = SUNLinSol_Dense(y, A, ctx);
  SUNNonlinearSolver inner =
      job->lmm == CV_BDF ? SUNNonlinSol_Newton(y, ctx) : SUNNonlinSol_FixedPoint(y, 0, ctx);
  job->p = (Pendulum){1.0, 9.81};
  pendulum_initial(&job->p, y);
  N_VGetArrayPointer(y)[2] = 0.0;
  N_VGetArrayPointer(y)[3] = job->speed; /* thrown upwards */

  CPProjector P    = CPProjectorCreate(job_constraints, y, c, ctx);
  CPIntegrator mem = CPIntegratorCreate(job->lmm == CV_BDF ? "BDF" : "ADAMS", ctx);
  int flag         = CPProjectorSetUserData(P, job);
  if (!flag) flag = CPProjectorSetJacFn(P, job_jacobian, G);
  if (!flag) flag = CPObjectSetErrHandlerFn(CP_OBJECT(mem), message_log, &job->log);
  if (!flag) flag = CPIntegratorSetNonlinearSolver(mem, inner);
  if (!flag) flag = CPIntegratorInit(mem, job_rhs, 0.0, y);
  if (!flag) flag = CPIntegratorSStolerances(mem, 1.0e-8, 1.0e-8);
  if (!flag) flag = CPIntegratorSetProjector(mem, P);
  if (!flag) flag = CVodeSetUserData(CPIntegratorGetCVodeMem(mem), job);
  if (!flag) flag = CVodeSetMaxNumSteps(CPIntegratorGetCVodeMem(mem), 100000);
  if (!flag && job->lmm == CV_BDF) flag = CVodeSetLinearSolver(CPIntegratorGetCVodeMem(mem), LS, A);
  if (!flag) flag = CPIntegratorCalcIC(mem, NULL);
  job->flag = flag ? flag : integrate(job, mem, y);

  CPIntegratorFree(&mem);
  CPProjectorFree(&P);
  SUNNonlinSolFree(inner);
  SUNLinSolFree(LS);
  SUNMatDestroy(A);
  SUNMatDestroy(G);
  N_VDestroy(y);
  N_VDestroy(c);
  SUNContext_Free(&ctx);
  return NULL;
}

enum { N_JOBS = 4 };

START_TEST(integrators_in_threads_give_the_bits_of_integrators_alone) {
  Job alone[N_JOBS] = {{.lmm = CV_ADAMS, .speed = 1.0},
                       {.lmm = CV_BDF, .speed = 1.0},
                       {.lmm = CV_ADAMS, .speed = 2.0},
                       {.lmm = CV_BDF, .speed = 0.0}};
  Job together[N_JOBS];
  pthread_t threads[N_JOBS];
  for (int k = 0; k < N_JOBS; k++) {
    together[k] = alone[k];
    work(&alone[k]);
    ck_assert_msg(alone[k].flag == CP_SUCCESS, "%d: %s", alone[k].flag, alone[k].log.text);
  }
  for (int k = 0; k < N_JOBS; k++)
    ck_assert_int_eq(pthread_create(&threads[k], NULL, work, &together[k]), 0);
  for (int k = 0; k < N_JOBS; k++) ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
  for (int k = 0; k < N_JOBS; k++) {
    ck_assert_int_eq(together[k].flag, CP_SUCCESS);
    ck_assert_int_eq(together[k].steps, alone[k].steps);
    ck_assert_mem_eq(together[k].y, alone[k].y, sizeof alone[k].y);
    ck_assert_str_eq(together[k].log.text, alone[k].log.text);
  }
}
END_TEST

TEST_SUITE(threads) {
  Suite *suite = suite_create("threads");
  TCase *tc    = tcase_create("threads");
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, integrators_in_threads_give_the_bits_of_integrators_alone);
  suite_add_tcase(suite, tc);
  return suite;
}
