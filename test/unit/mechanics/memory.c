/* Mechanical systems when memory runs out: every allocation fails in turn, from creation to the first
 * steps; nothing leaks, and what failed works when it is called again, or gives a reason. */
#include "mechanics/systems.h"
#include "support/alloc.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A system in all of its actions, in the order of their first use. */
typedef struct {
  System *s; /* the functions, states and weights; its own CPMech is unused */
  int lmm;
  const char *method; /* one-step; NULL: by lmm */
  CPMech mech;
  CPIntegrator mem;
  CPIntegrator one;
  N_Vector y, v;
  sunrealtype t;
  MessageLog log;
} Script;

static const SystemName names[] = {PENDULUM, BODIES_IN_SPACE, OPERATORS_CHAIN, BENDING_CHAIN,
                                   SPATIAL_LOOP};
enum { NAMES = sizeof names / sizeof names[0], METHODS = 4, MOST = 2000 };

static int turn(sunrealtype t, sunrealtype *g, void *data) {
  (void)data;
  *g = t;
  return 0;
}

static int create(Script *c) {
  /* of a coordinate outside quaternions; unavailable with operators */
  static const CPMotion by = {.kind = CP_MOTION_RATE, .g = turn, .step = 1e-3};
  CPEquations model        = c->s->model;
  if (model.M && c->s->nquaternions == 0) model.motions = &by, model.nmotions = 1;
  c->mech = create_mech(&model, c->s->y, test_context);
  return c->mech ? CP_SUCCESS : CP_MEM_FAIL;
}

static int set_options(Script *c) {
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(c->mech), message_log, &c->log);
  if (!flag) flag = CPMechSetUserData(c->mech, c->s->user_data);
  if (!flag && !c->s->model.M) flag = CPMechSetNewton(c->mech, CP_NEWTON_HALF);
  return flag;
}

static int project(Script *c) {
  return CPProjectorProject(CPMechGetProjector(c->mech), c->t, c->y, c->s->ewt);
}

static int project_vectors(Script *c) {
  CPProjector P  = CPMechGetProjector(c->mech);
  const int flag = CPProjectorProjectVector(P, CP_TANGENT, c->t, c->y, c->s->ewt, c->v);
  return flag ? flag : CPProjectorProjectVector(P, CP_COTANGENT, c->t, c->y, c->s->ewt, c->v);
}

static int initial(Script *c) { return CPMechCalcIC(c->mech, c->t, c->y, NULL, NULL, NULL, NULL); }

static int change_metric(Script *c) { return CPMechSetMetric(c->mech, CP_METRIC_L2); }
static int restore_metric(Script *c) { return CPMechSetMetric(c->mech, CP_METRIC_DEFAULT); }

static int switch_rows(Script *c) {
  int mask[MAX_ROWS];
  for (int i = 0; i < MAX_ROWS; i++) mask[i] = i > 0;
  int flag = CPMechSetActive(c->mech, mask);
  if (!flag) flag = project(c);
  if (!flag) flag = CPMechSetActive(c->mech, NULL);
  return flag;
}

static int evaluate(Script *c) {
  CPMechOutput out = CP_INIT(CPMechOutput);
  return CPMechEvaluate(c->mech, c->t, c->y, &out);
}

static int create_integrator(Script *c) {
  if (c->method) c->one = CPIntegratorCreate(c->method, test_context);
  else c->mem = CPIntegratorCreate(c->lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  if (!c->mem && !c->one) return CP_MEM_FAIL;
  return c->method ? CPObjectSetErrHandlerFn(CP_OBJECT(c->one), message_log, &c->log)
                   : CPObjectSetErrHandlerFn(CP_OBJECT(c->mem), message_log, &c->log);
}

static int attach(Script *c) {
  return c->method ? CPMechAttach(c->mech, c->one, c->t, c->y)
                   : CPMechAttach(c->mech, c->mem, c->t, c->y);
}

/* Short steps, since the prescribed motion soon ends where the pendulum is level. */
static int integrate_onestep(Script *c) {
  int flag = c->t > c->s->t ? CP_SUCCESS : CPIntegratorSStolerances(c->one, 1e-6, 1e-6);
  if (!flag) flag = CPIntegratorSetMaxStep(c->one, 1e-5);
  for (int k = 0; !flag && k < 3; k++)
    flag = CPIntegratorEvolve(c->one, c->t + 1, c->y, &c->t, CV_ONE_STEP);
  return flag;
}

static int integrate(Script *c) {
  if (c->method) return integrate_onestep(c);
  int flag = c->t > c->s->t ? CP_SUCCESS : CPIntegratorSStolerances(c->mem, 1e-6, 1e-6);
  for (int k = 0; !flag && k < 3; k++)
    flag = CPIntegratorEvolve(c->mem, c->t + 1, c->y, &c->t, CV_ONE_STEP);
  return flag;
}

typedef int (*Action)(Script *);
static const Action actions[] = {
    create,      set_options,    project,  project_vectors,   initial, change_metric, project,
    switch_rows, restore_metric, evaluate, create_integrator, attach,  integrate};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static int silenced;
static FILE *printed;

/* What is written to stderr is counted. */
static void silence(void) {
  printed  = tmpfile();
  silenced = dup(STDERR_FILENO);
  ck_assert_int_ge(silenced, 0);
  ck_assert_ptr_nonnull(printed);
  ck_assert_int_ge(dup2(fileno(printed), STDERR_FILENO), 0);
}

/* Returns the number of bytes printed. */
static long unsilence(void) {
  fseek(printed, 0, SEEK_END);
  const long size = ftell(printed);
  fclose(printed);
  ck_assert_int_ge(dup2(silenced, STDERR_FILENO), 0);
  close(silenced);
  return size;
}

/* Runs all actions with the n-th allocation failing. Returns the number of the action that failed,
 * and its code. */
static int run(Script *c, int *code) {
  int k = 0;
  for (*code = CP_SUCCESS; k < ACTIONS; k++)
    if ((*code = actions[k](c)) < 0 || (*code > 0 && k != ACTIONS - 1)) return k;
  return k;
}

static void reset(Script *c) {
  N_VScale(1, c->s->y, c->y);
  N_VScale(1, c->s->y, c->v);
  c->t    = c->s->t;
  c->mech = NULL;
  c->mem  = NULL;
  c->one  = NULL;
}

static void free_integrator(Script *c) {
  CPIntegratorFree(&c->mem);
  CPIntegratorFree(&c->one);
}

static void release(Script *c) {
  free_integrator(c);
  CPMechFree(&c->mech);
}

static Script start(int index) {
  static const char *const methods[METHODS] = {NULL, NULL, "DOP853", "RADAU"};
  const SystemName name                     = names[index / METHODS];
  /* RADAU refuses operators. */
  const int kind = name == OPERATORS_CHAIN && index % METHODS == METHODS - 1 ? 2 : index % METHODS;
  Script c = {.s = system_create(name), .lmm = kind ? CV_ADAMS : CV_BDF, .method = methods[kind]};
  c.y      = vector_copy(c.s->y);
  c.v      = vector_copy(c.s->y);
  return c;
}

static void finish(Script *c) {
  N_VDestroy(c->y);
  N_VDestroy(c->v);
  system_free(&c->s);
}

START_TEST(every_allocation_may_fail) {
  Script c = start(_i);
  int n, code;
  for (n = 1; n < MOST; n++) {
    reset(&c);
    silence();
    alloc_watch_failing(n);
    const int failed = run(&c, &code);
    release(&c);
    alloc_unwatch();
    const long size = unsilence();
    ck_assert_msg(size == 0, "%s: %ld bytes were printed with the allocation %d (action %d)",
                  c.s->name, size, n, failed);
    ck_assert_msg(alloc_live() == 0, "%s: %ld lost with the allocation %d (action %d)", c.s->name,
                  alloc_live(), n, failed);
    if (!alloc_has_failed()) break;
    ck_assert_msg(failed < ACTIONS, "%s: nobody noticed that allocation %d failed", c.s->name, n);
    ck_assert_msg(code == CP_MEM_FAIL || code == CV_MEM_FAIL /* of CVodeInit */,
                  "%s: allocation %d, action %d: %d, %s", c.s->name, n, failed, code, c.log.text);
  }
  ck_assert_int_gt(n, 20);
  ck_assert_int_lt(n, MOST);
  finish(&c);
}
END_TEST

/* After a failed allocation the run continues with the action that failed, as if nothing had
 * happened. Only an integrator that could not be started, or that stopped, is created anew. */
START_TEST(failures_can_be_repeated) {
  Script c = start(_i);
  int code, ended = 0;
  for (int n = 1; n < MOST && !ended; n++) {
    reset(&c);
    silence();
    alloc_watch_failing(n);
    int k = run(&c, &code);
    alloc_unwatch();
    unsilence();
    ended = !alloc_has_failed();
    if (k >= ACTIONS - 2) { /* attach, integrate */
      const int again = k == ACTIONS - 2 ? attach(&c) : CP_SUCCESS;
      ck_assert_msg(k >= ACTIONS - 1 || again == CP_SUCCESS ||
                        strstr(c.log.text, "another one") != NULL ||
                        strstr(c.log.text, "a new one") != NULL,
                    "%s, allocation %d: %d, %s", c.s->name, n, again, c.log.text);
      free_integrator(&c);
      c.t = c.s->t;
      k   = ACTIONS - 3;
    }
    for (; k < ACTIONS; k++) {
      if (actions[k] == create_integrator) ck_assert_int_eq(initial(&c), CP_SUCCESS);
      code = actions[k](&c);
      ck_assert_msg(code == CP_SUCCESS, "%s, allocation %d: action %d: %d, %s", c.s->name, n, k,
                    code, c.log.text);
    }
    release(&c);
  }
  ck_assert(ended);
  finish(&c);
}
END_TEST

/* A metric that lacks memory leaves the old one usable. */
START_TEST(without_memory_for_a_metric_the_run_goes_on) {
  Script c = start(_i);
  int code;
  reset(&c);
  ck_assert_int_eq(run(&c, &code), ACTIONS);
  for (int n = 1, failed = 1; failed; n++) {
    alloc_watch_failing(n);
    code = restore_metric(&c); /* the one that is in use */
    alloc_unwatch();
    failed = alloc_has_failed();
    ck_assert_int_eq(code, failed ? CP_MEM_FAIL : CP_SUCCESS);
    code = integrate(&c);
    ck_assert_msg(code >= 0, "%s, t = %g: %s", c.s->name, c.t, c.log.text);
  }
  release(&c);
  finish(&c);
}
END_TEST

/* Once they have run, projections keep no further allocations, however often they are called. The first
 * states with narrow angles, whenever they come, allocate workspace for f and what decides on the rank, and
 * the first steps that request derivatives at each stage that of RADAU: a leak would show in each window. */
START_TEST(repeated_projections_keep_no_memory) {
  enum { WINDOWS = 8, PROJECTIONS = 10 };
  Script c  = start(_i);
  long kept = 1;
  int code;
  reset(&c);
  ck_assert_int_eq(run(&c, &code), ACTIONS);
  for (int window = 0; kept > 0 && window < WINDOWS; window++) {
    if (window > 0) alloc_watch();
    for (int k = 0; k < PROJECTIONS; k++) {
      ck_assert_int_eq(project(&c), CP_SUCCESS);
      N_VScale(1, c.s->y, c.v); /* P and P^T in turn are no projection, so v would grow */
      ck_assert_msg(project_vectors(&c) == CP_SUCCESS, "%s: %s", c.s->name, c.log.text);
      code = integrate(&c);
      ck_assert_msg(code >= 0, "%s, t = %g: %s", c.s->name, c.t, c.log.text);
    }
    if (window > 0) alloc_unwatch();
    if (window > 0) kept = alloc_live();
  }
  ck_assert_int_eq(kept, 0);
  release(&c);
  finish(&c);
}
END_TEST

TEST_SUITE(memory) {
  Suite *suite = suite_create("memory");
  TCase *tcase = tcase_create("memory");
  tcase_set_timeout(tcase, 60);
  tcase_add_checked_fixture(tcase, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tcase, every_allocation_may_fail, 0, METHODS * NAMES);
  tcase_add_loop_test(tcase, failures_can_be_repeated, 0, METHODS * NAMES);
  tcase_add_loop_test(tcase, without_memory_for_a_metric_the_run_goes_on, 0, METHODS * NAMES);
  tcase_add_loop_test(tcase, repeated_projections_keep_no_memory, 0, METHODS * NAMES);
  suite_add_tcase(suite, tcase);
  return suite;
}
