/* Every call of a model's functions fails in turn, within every action on one state: permanently,
 * once, by NaN, by numbers that overflow, or by zeros. */
#include "mechanics/systems.h"
#include "support/mech_run.h"

#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_sens.h>
#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

typedef enum { FOR_GOOD, FOR_ONCE, NOT_A_NUMBER, HUGE_NUMBERS, ZEROS, WAYS } Way;

/* Wraps the model's functions: call number `next` from now on fails. */
typedef struct {
  CPEquations model; /* the functions themselves */
  void *user_data;
  Way way;
  long next; /* 0: none */
  int struck;
} Gate;

static int strikes(Gate *g) {
  if (g->next == 0 || --g->next > 0) return 0;
  g->struck = 1;
  return 1;
}

static int spoil(Gate *g, int flag, sunrealtype *result, sunindextype n) {
  if (flag || n == 0 || !strikes(g)) return flag;
  switch (g->way) {
  case FOR_GOOD: return -1;
  case FOR_ONCE: return 1;
  case NOT_A_NUMBER: result[n - 1] = NAN; break;
  case HUGE_NUMBERS:
    for (sunindextype i = 0; i < n; i++) result[i] = 1.0e200;
    break;
  default: memset(result, 0, (size_t)n * sizeof *result);
  }
  return 0;
}

static int spoil_matrix(Gate *g, int flag, SUNMatrix S) {
  if (!S) return flag;
  return SUNMatGetID(S) == SUNMATRIX_DENSE
             ? spoil(g, flag, SUNDenseMatrix_Data(S), SUNDenseMatrix_LData(S))
             : spoil(g, flag, SUNSparseMatrix_Data(S),
                     SUNSparseMatrix_IndexPointers(S)[SUNSparseMatrix_NP(S)]);
}

#define OF_MATRIX(name)                                                           \
  static int name(sunrealtype t, const sunrealtype *q, SUNMatrix S, void *data) { \
    Gate *g = data;                                                               \
    return spoil_matrix(g, g->model.name(t, q, S, g->user_data), S);              \
  }
OF_MATRIX(M)
OF_MATRIX(A)

#define OF_VELOCITIES(name, n)                                                               \
  static int name(sunrealtype t, const sunrealtype *q, const sunrealtype *u, sunrealtype *r, \
                  void *data) {                                                              \
    Gate *g = data;                                                                          \
    return spoil(g, g->model.name(t, q, u, r, g->user_data), r, n);                          \
  }
OF_VELOCITIES(v, 1)
OF_VELOCITIES(b, 1)
OF_VELOCITIES(Au, 1)
OF_VELOCITIES(ATl, g->model.nu)
OF_VELOCITIES(Minv, g->model.nu)
OF_VELOCITIES(Mu, g->model.nu)

static int f(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
             sunrealtype *r, void *data) {
  Gate *g = data;
  return spoil(g, g->model.f(t, q, u, z, r, g->user_data), r, g->model.nu);
}

static int p(sunrealtype t, const sunrealtype *q, sunrealtype *r, void *data) {
  Gate *g = data;
  return spoil(g, g->model.p(t, q, r, g->user_data), r, 1);
}

static int zdot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                const sunrealtype *lambda, sunrealtype *r, void *data) {
  Gate *g = data;
  return spoil(g, g->model.zdot(t, q, u, z, lambda, r, g->user_data), r, g->model.nz);
}

/* Friction by multipliers, added to a model that has none */
static int f_lambda(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                    const sunrealtype *lambda, sunrealtype *r, void *data) {
  Gate *g = data;
  (void)t, (void)q, (void)z;
  for (int j = 0; j < g->model.nu; j++) r[j] = -1.0e-3 * fabs(lambda[0]) * u[j];
  return spoil(g, 0, r, g->model.nu);
}

static int udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u, const sunrealtype *z,
                sunrealtype *r, sunrealtype *lambda, void *data) {
  Gate *g = data;
  return spoil(g, g->model.udot(t, q, u, z, r, lambda, g->user_data), r, g->model.nu);
}

static int dynamics_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                        const sunrealtype *z, const sunrealtype *a, const sunrealtype *lambda,
                        SUNMatrix K, SUNMatrix C, SUNMatrix Fz, void *data) {
  Gate *g = data;
  return spoil_matrix(g, g->model.dynamics_jac(t, q, u, z, a, lambda, K, C, Fz, g->user_data), K);
}

static int constraint_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                          const sunrealtype *a, SUNMatrix Bq, SUNMatrix Bu, void *data) {
  Gate *g = data;
  return spoil_matrix(g, g->model.constraint_jac(t, q, u, a, Bq, Bu, g->user_data), Bq);
}

static int auxiliary_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, const sunrealtype *lambda, SUNMatrix Zq,
                         SUNMatrix Zu, SUNMatrix Zz, void *data) {
  Gate *g = data;
  return spoil_matrix(g, g->model.auxiliary_jac(t, q, u, z, lambda, Zq, Zu, Zz, g->user_data), Zq);
}

static int moving(sunrealtype t, sunrealtype *r, void *data) {
  *r = 1.0 + t;
  return spoil(data, 0, r, 1);
}

/* ---- the mechanisms ---- */

static const struct {
  SystemName name;
  int motion; /* of the coordinate 0, or -1 */
  int friction;
} cases[] = {{PENDULUM, -1, 0},        {PENDULUM, CP_MOTION_FULL, 0}, {FLEXIBLE_CRANK, -1, 0},
             {BODIES, -1, 0},          {SPATIAL_LOOP, -1, 0},         {OPERATORS_CHAIN, -1, 0},
             {KNIFE_EDGE, -1, 0},      {BUSHING_CRANK, -1, 0},        {CAR_AXIS, CP_MOTION_RATE, 0},
             {FOUR_BAR_SPARSE, -1, 0}, {SLIDER_CRANK, -1, 1}};
enum { CASES = sizeof cases / sizeof cases[0], MOST = 1024 };

static sunrealtype nothing = 1.0; /* a parameter on which nothing depends */

typedef struct {
  System *s;
  Gate gate;
  CPMech mech;
  N_Vector y, along, out, spare1, spare2;
  unsigned long long seed;
} Script;

static void gated(CPEquations *m, int friction) {
#define BEHIND(name) \
  if (m->name) m->name = name
  BEHIND(M);
  BEHIND(A);
  BEHIND(v);
  BEHIND(b);
  BEHIND(Au);
  BEHIND(ATl);
  BEHIND(Minv);
  BEHIND(Mu);
  BEHIND(f);
  BEHIND(p);
  BEHIND(zdot);
  BEHIND(udot);
  BEHIND(dynamics_jac);
  BEHIND(constraint_jac);
  BEHIND(auxiliary_jac);
  m->udot_jac = NULL; /* it needs the model's own data */
  if (friction) m->f_lambda = f_lambda;
}

static void create(Script *c, int k) {
  CPEquations model = c->s->model;
  c->gate           = (Gate){.model = c->s->model, .user_data = c->s->user_data};
  gated(&model, cases[k].friction);
  const CPMotion by = {
      .kind = (CPMotionKind)cases[k].motion, .g = moving, .step = 1.0e-3, .data = &c->gate};
  if (cases[k].motion >= 0) model.motions = &by, model.nmotions = 1;
  c->mech = create_mech(&model, c->s->y, test_context);
  ck_assert_ptr_nonnull(c->mech);
  ck_assert_int_eq(CPObjectSetErrHandlerFn(CP_OBJECT(c->mech), message_log, &c->s->log), CP_SUCCESS);
  ck_assert_int_eq(CPMechSetUserData(c->mech, &c->gate), CP_SUCCESS);
  N_VScale(1.0, c->s->y, c->y);
  N_VConst(0.0, c->out);
}

/* ---- actions: a code, and numbers in c->out ---- */

static int evaluate(Script *c) {
  CPMechOutput at = {CP_SIZED(CPMechOutput), .udot = entries(c->out)};
  return CPMechEvaluate(c->mech, c->s->t, c->y, &at);
}
static const CPParameters parameters = {CP_SIZED(CPParameters), .n = 1, .values = &nothing};
static int forward(Script *c) {
  const sunrealtype dp[1] = {1.0};
  return CPMechJvp(c->mech, c->s->t, c->y, &parameters, c->along, dp, c->out, NULL);
}
static int adjoint(Script *c) {
  return CPMechVjp(c->mech, c->s->t, c->y, &parameters, c->along, c->out, entries(c->spare1));
}
static int tangent(Script *c) {
  N_VScale(1.0, c->along, c->out);
  return CPMechProject(c->mech, CP_TANGENT, c->s->t, c->y, entries(c->out));
}
static int cotangent(Script *c) {
  N_VScale(1.0, c->along, c->out);
  return CPMechProject(c->mech, CP_COTANGENT, c->s->t, c->y, entries(c->out));
}
static int of_matrices(Script *c) {
  const int m = (int)CPMechGetNumMultipliers(c->mech);
  SUNMatrix S = SUNDenseMatrix(m, m, test_context), W = SUNDenseMatrix(m, m, test_context);
  const int flag = CPMechDelassus(c->mech, c->s->t, c->y, S, W);
  if (!flag) entries(c->out)[0] = SUNDenseMatrix_Data(S)[0] + SUNDenseMatrix_Data(W)[0];
  SUNMatDestroy(S), SUNMatDestroy(W);
  return flag;
}
static int impact(Script *c) {
  N_VScale(1.0, c->s->y, c->out);
  return CPMechImpact(c->mech, c->s->t, c->out, NULL, 0.0, NULL);
}
static int initial(Script *c) {
  sunrealtype a[MAX_U];
  N_VScale(1.0, c->s->y, c->out);
  return CPMechCalcIC(c->mech, c->s->t, c->out, NULL, NULL, a, NULL);
}
static int check(Script *c) {
  CPMechReport report = CP_INIT(CPMechReport);
  return CPMechCheck(c->mech, c->s->t, c->y, &report);
}
static int suggest(Script *c) {
  CPMechSuggestion s = CP_INIT(CPMechSuggestion);
  const int flag     = CPMechSuggestMethod(c->mech, c->s->t, c->y, c->s->t + 1.0, 1.0e-4, &s);
  if (!flag) entries(c->out)[0] = s.radius;
  return flag;
}
static int project(Script *c) {
  CPProjector P = CPMechGetProjector(c->mech);
  N_VScale(1.0, c->s->y, c->out);
  entries(c->out)[c->s->nq - 1] += 1.0e-4;
  int flag = CPProjectorProject(P, c->s->t, c->out, c->s->ewt);
  N_VScale(1.0, c->along, c->spare1);
  if (!flag) flag = CPProjectorProjectVector(P, CP_TANGENT, c->s->t, c->out, c->s->ewt, c->spare1);
  if (!flag)
    flag = CPProjectorProjectVector(P, CP_COTANGENT, c->s->t, c->out, c->s->ewt, c->spare1);
  return flag;
}

static const struct {
  const char *name;
  int (*run)(Script *);
  int is_silent; /* the integrator, or the projector, gives the reason */
} actions[] = {{"CPMechEvaluate", evaluate, 0},   {"CPMechJvp", forward, 0},
               {"CPMechVjp", adjoint, 0},         {"CPMechProject", tangent, 0},
               {"CPMechProject", cotangent, 0},   {"CPMechDelassus", of_matrices, 0},
               {"CPMechImpact", impact, 0},       {"CPMechCalcIC", initial, 0},
               {"CPMechCheck", check, 0},         {"CPMechSuggestMethod", suggest, 0},
               {"CPProjectorProject", project, 1}};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

static void open_script(Script *c, int k) {
  memset(c, 0, sizeof *c);
  c->s             = system_create(cases[k].name);
  N_Vector *copy[] = {&c->y, &c->along, &c->out, &c->spare1, &c->spare2};
  for (int i = 0; i < 5; i++) *copy[i] = vector_copy(c->s->y);
  random_fill(c->along, &c->seed);
}

static void close_script(Script *c) {
  N_Vector all[] = {c->y, c->along, c->out, c->spare1, c->spare2};
  for (int i = 0; i < 5; i++) N_VDestroy(all[i]);
  system_free(&c->s);
}

/* The result of the action without a failure, for a system of its own */
static int undisturbed(Script *c, int k, int a, N_Vector expected) {
  create(c, k);
  const int flag = actions[a].run(c);
  N_VScale(1.0, c->out, expected);
  CPMechFree(&c->mech);
  return flag;
}

/* A failure has a code of its own and a reason, or does not affect the result; and the same system
 * then gives the undisturbed result at once. */
START_TEST(a_failure_leaves_nothing_behind) {
  const int k   = _i / WAYS;
  const Way way = (Way)(_i % WAYS);
  Script c;
  open_script(&c, k);
  N_Vector expected = vector_copy(c.out);
  for (int a = 0; a < ACTIONS; a++) {
    const int good = undisturbed(&c, k, a, expected);
    int struck     = 1;
    for (long n = 1; struck && n < MOST; n += 1 + n / 8) {
      create(&c, k);
      c.gate.way = way, c.gate.next = n;
      const int flag = actions[a].run(&c);
      struck         = c.gate.struck;
      c.gate.next    = 0;
      if (struck && way <= FOR_ONCE && good == CP_SUCCESS)
        ck_assert_msg(flag != -1 && flag != 1, "%s, %s, call %ld: %d", c.s->name, actions[a].name,
                      n, flag);
      if (flag != CP_SUCCESS && flag != good && !actions[a].is_silent)
        ck_assert_msg(strlen(CPObjectGetLastMessage(CP_OBJECT(c.mech))) > 0,
                      "%s, %s, call %ld: %d without a reason", c.s->name, actions[a].name, n, flag);
      if (way <= NOT_A_NUMBER && flag < 0) {
        const int again = actions[a].run(&c);
        ck_assert_msg(again == good, "%s, %s, after call %ld: %d in place of %d, %s", c.s->name,
                      actions[a].name, n, again, good, c.s->log.text);
        if (good == CP_SUCCESS)
          ck_assert_msg(max_distance(c.out, expected) <= 1.0e-9 * (1.0 + N_VMaxNorm(expected)),
                        "%s, %s, after call %ld: off by %g", c.s->name, actions[a].name, n,
                        max_distance(c.out, expected));
      }
      CPMechFree(&c.mech);
    }
  }
  N_VDestroy(expected);
  close_script(&c);
}
END_TEST

/* ---- runs ---- */

typedef struct {
  CPIntegrator mem;
  CPIntegrator one;
  CPSens sens;
} Run;

/* BDF with the structured Newton iteration, the same with a sensitivity, DOP853, RADAU */
enum { BDF, BDF_WITH_SENSITIVITY, DOP853, RADAU, METHODS };

static int start_cpode(Script *c, Run *r, int method) {
  r->mem = CPIntegratorCreate("BDF", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(r->mem), message_log, &c->s->log);
  int flag = CPMechAttach(c->mech, r->mem, c->s->t, c->y);
  if (!flag) flag = CPIntegratorSStolerances(r->mem, 1.0e-5, 1.0e-5);
  if (flag || method == BDF) return flag;
  r->sens = CPSensCreate(&parameters, c->y, test_context); /* from 0 */
  flag    = r->sens ? CPIntegratorSetSens(r->mem, r->sens) : CP_MEM_FAIL;
  return flag ? flag : CPSensCalcIC(r->sens, NULL);
}

static int start_onestep(Script *c, Run *r, int method) {
  r->one = CPIntegratorCreate(method == RADAU ? "RADAU" : "DOP853", test_context);
  CPObjectSetErrHandlerFn(CP_OBJECT(r->one), message_log, &c->s->log);
  const int flag = CPMechAttach(c->mech, r->one, c->s->t, c->y);
  return flag ? flag : CPIntegratorSStolerances(r->one, 1.0e-5, 1.0e-5);
}

static int steps(Script *c, Run *r, int method) {
  sunrealtype t = c->s->t;
  int flag =
      method <= BDF_WITH_SENSITIVITY ? start_cpode(c, r, method) : start_onestep(c, r, method);
  for (int k = 0; flag >= 0 && k < 4; k++)
    flag = r->mem ? CPIntegratorEvolve(r->mem, c->s->t + 1.0, c->y, &t, CV_ONE_STEP)
                  : CPIntegratorEvolve(r->one, c->s->t + 1.0, c->y, &t, CV_ONE_STEP);
  return flag;
}

/* A failed call makes a step shorter or ends the run with a reason; the state is one that has been
 * reached. */
START_TEST(a_run_goes_on_or_says_why_not) {
  const int k = _i / WAYS / METHODS, method = _i / WAYS % METHODS;
  Script c;
  open_script(&c, k);
  int struck = 1;
  for (long n = 1; struck && n < MOST; n += 1 + n / 4) {
    Run r = {.mem = NULL};
    create(&c, k);
    c.s->log.text[0] = '\0';
    c.gate.way = (Way)(_i % WAYS), c.gate.next = n;
    const int flag = steps(&c, &r, method);
    struck         = c.gate.struck;
    ck_assert_msg(flag >= 0 || strlen(c.s->log.text) > 0, "%s, call %ld: %d without a reason",
                  c.s->name, n, flag);
    ck_assert_msg(isfinite(N_VMaxNorm(c.y)), "%s, call %ld: the state is not finite", c.s->name, n);
    CPIntegratorFree(&r.mem);
    CPIntegratorFree(&r.one);
    CPSensFree(&r.sens);
    CPMechFree(&c.mech);
  }
  close_script(&c);
}
END_TEST

TEST_SUITE(interruptions) {
  Suite *suite = suite_create("Interruptions");
  TCase *tc    = tcase_create("interruptions");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, test_context_setup, test_context_teardown);
  tcase_add_loop_test(tc, a_failure_leaves_nothing_behind, 0, CASES * WAYS);
  tcase_add_loop_test(tc, a_run_goes_on_or_says_why_not, 0, CASES * METHODS * WAYS);
  suite_add_tcase(suite, tc);
  return suite;
}
