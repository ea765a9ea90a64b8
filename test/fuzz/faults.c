/* Makes every allocation and every callback fail in turn, over a table of scenarios:
 *
 *   the n-th allocation returns NULL              the code is negative, there is a message, nothing leaks
 *   the n-th callback returns +1, -1, NaN, Inf    the result is that of the undisturbed run, or a failure with a
 *     once, or from then on                       message and a finite state; once the fault has been repaired,
 *                                                 the same objects continue to that result
 *   the n-th call of a linear solver fails        likewise */
#include "cpodes/base/compat.h"
#include "cpodes/lu/lu.h"
#include "cpodes/saddle/saddle.h"
#include "cpodes/stepping/stepper.h"
#include "disturb.h"
#include "mechanism.h"
#include "unit/support/alloc.h"
#include "unit/support/support.h"

#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_matrixfree.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <unistd.h>

/* ---- scenarios ---- */

typedef enum { BY_NOBODY, BY_CONSTRAINTS, BY_USER, BY_MECHANICS } Projection;

/* Calls in addition to the integration */
enum {
  JACOBIAN   = 1, /* G by the user's function; otherwise by differences */
  PRODUCTS   = 2, /* G v and G^T w, diagonal and preconditioner */
  METRIC     = 4, /* a metric matrix; of a CPMech: L2 */
  INITIAL    = 8, /* a consistent start from an inconsistent one */
  ROOTS      = 16,
  OUTPUT     = 32,  /* output within the steps */
  SENSITIVE  = 64,  /* with forward sensitivities */
  FUNCTIONAL = 128, /* forward, with SENSITIVE, and backward */
  CHECK      = 256, /* of the Jacobian, or of the model */
  QUANTITIES =
      512, /* for a CPMech: outputs, multipliers, impacts, Delassus operator, a row switched */
  PARTIALS    = 1024,
  WEIGHTS     = 2048, /* the user's error weights */
  ATTACHED    = 4096, /* to the program's own CVODES memory */
  QUADRATURE  = 8192,
  FIXED_POINT = 16384
};

typedef struct {
  const char *name;
  const char *method; /* BDF, ADAMS, or that of CPIntegratorCreate */
  Projection projection;
  Form form;
  CPLinSol linsol;
  unsigned features, options;
} Scenario;

static const Scenario scenarios[] = {
    {"BDF alone", "BDF", BY_NOBODY, DENSE, 0, 0, ROOTS | OUTPUT | QUADRATURE},
    {"Schur", "BDF", BY_CONSTRAINTS, DENSE, CP_LINSOL_SCHUR, EXTRA, JACOBIAN | OUTPUT},
    {"QR, Adams", "ADAMS", BY_CONSTRAINTS, DENSE, CP_LINSOL_QR, 0, INITIAL | FIXED_POINT},
    {"QR, BDF", "BDF", BY_CONSTRAINTS, DENSE, CP_LINSOL_QR, REDUNDANT, JACOBIAN | METRIC | CHECK},
    {"sparse", "ADAMS", BY_CONSTRAINTS, CSC, CP_LINSOL_SPARSE, REDUNDANT, JACOBIAN | METRIC},
    {"automatic", "BDF", BY_CONSTRAINTS, CSC, CP_LINSOL_AUTO, EXTRA, JACOBIAN},
    {"sparse by rows", "BDF", BY_CONSTRAINTS, CSR, CP_LINSOL_SPARSE, RHEONOMIC | QUATERNION,
     JACOBIAN},
    {"Krylov", "ADAMS", BY_CONSTRAINTS, DENSE, CP_LINSOL_PRODUCTS, 0, PRODUCTS | INITIAL | CHECK},
    {"user's projection", "BDF", BY_USER, DENSE, 0, QUATERNION, OUTPUT | ROOTS | WEIGHTS},
    {"attached", "BDF", BY_CONSTRAINTS, DENSE, 0, 0, ATTACHED | OUTPUT | ROOTS},
    {"sensitivities", "BDF", BY_CONSTRAINTS, DENSE, 0, 0, SENSITIVE | JACOBIAN},
    {"functionals", "ADAMS", BY_CONSTRAINTS, DENSE, 0, 0, SENSITIVE | FUNCTIONAL | FIXED_POINT},
    {"mechanics, dense", "BDF", BY_MECHANICS, DENSE, 0, AUXILIARY, PARTIALS | OUTPUT | ROOTS},
    {"mechanics, sparse", "BDF", BY_MECHANICS, CSC, 0, RHEONOMIC, QUANTITIES | CHECK},
    {"mechanics, by rows", "ADAMS", BY_MECHANICS, CSR, 0, NONHOLONOMIC, INITIAL | WEIGHTS},
    {"mechanics, redundant", "ADAMS", BY_MECHANICS, DENSE, 0, REDUNDANT, QUANTITIES | METRIC},
    {"mechanics, quaternion", "BDF", BY_MECHANICS, DENSE, 0, QUATERNION | ACCELERATION, CHECK},
    {"mechanics, kinematics", "ADAMS", BY_MECHANICS, DENSE, 0, QUATERNION | KINEMATICS,
     OUTPUT | CHECK},
    {"mechanics, friction", "BDF", BY_MECHANICS, DENSE, 0, FRICTION, QUANTITIES | CHECK},
    {"mechanics, operators", "BDF", BY_MECHANICS, OPERATORS, 0, EXTRA, QUANTITIES | INITIAL | CHECK},
    {"mechanics, recursion", "ADAMS", BY_MECHANICS, BESIDE, 0, EXTRA, CHECK},
    {"mechanics, motion", "BDF", BY_MECHANICS, DENSE, 0, DRIVEN, OUTPUT | CHECK},
    {"mechanics, sensitivities", "BDF", BY_MECHANICS, DENSE, 0, 0, SENSITIVE | PARTIALS},
    {"mechanics, functionals", "ADAMS", BY_MECHANICS, CSC, 0, EXTRA, SENSITIVE | FUNCTIONAL},
    {"mechanics, adjoint", "BDF", BY_MECHANICS, DENSE, 0, 0, SENSITIVE | FUNCTIONAL | PARTIALS},
    {"DOP853", "DOP853", BY_CONSTRAINTS, DENSE, 0, EXTRA, JACOBIAN | OUTPUT | ROOTS | INITIAL},
    {"explicit table", "ARKODE_DORMAND_PRINCE_7_4_5", BY_USER, DENSE, 0, 0, OUTPUT | WEIGHTS},
    {"RADAU", "RADAU", BY_CONSTRAINTS, DENSE, 0, EXTRA, JACOBIAN | OUTPUT | ROOTS},
    {"RADAU, mechanics", "RADAU", BY_MECHANICS, DENSE, 0, REDUNDANT | AUXILIARY, PARTIALS | OUTPUT},
    {"RADAU5, sparse", "RADAU5", BY_MECHANICS, CSC, 0, EXTRA, OUTPUT | ROOTS},
    {"DOP853, mechanics", "DOP853", BY_MECHANICS, DENSE, 0, REDUNDANT | AUXILIARY, OUTPUT},
    {"DOP853, sensitivities", "DOP853", BY_CONSTRAINTS, DENSE, 0, 0,
     SENSITIVE | JACOBIAN | FUNCTIONAL},
    {"DOP853, mechanics, sensitivities", "DOP853", BY_MECHANICS, DENSE, 0, 0, SENSITIVE | PARTIALS},
    {"RADAU, sensitivities", "RADAU", BY_CONSTRAINTS, DENSE, 0, 0, SENSITIVE | OUTPUT},
    {"RADAU, mechanics, sensitivities", "RADAU", BY_MECHANICS, DENSE, 0, AUXILIARY,
     SENSITIVE | PARTIALS | FUNCTIONAL}};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* Replaces the code if a state is not finite */
enum { NOT_FINITE = 12345 };

#define TOL   SUN_RCONST(1e-6)
#define T_END SUN_RCONST(0.3)
/* Errors of all methods at the tolerance TOL, for the pendulum until T_END */
#define SAME (1e3 * TOL)

/* ---- a stage: a program's objects before it calls cpodes, and cpodes' objects ---- */

typedef struct {
  const Scenario *is;
  Mechanism m;
  CPEquations model;
  CPSens sens;
  N_Vector y, y0, start, out, v, ewt, c, yS[PARAMETERS], q;
  SUNMatrix A, G, W;
  SUNLinearSolver LS;
  SUNNonlinearSolver NLS;
  void *cvode_mem; /* attached */
  /* cpodes' */
  CPProjector P;
  CPMech mech;
  CPIntegrator mem;
  CPIntegrator one;
  /* the integration */
  sunrealtype t;
  sunrealtype results[MOST_N + 2 + 2 * PARAMETERS];
  MessageLog log;
} Stage;

static int has(const Stage *s, unsigned option) { return (s->is->options & option) != 0; }
static int is_one_step(const Stage *s) {
  return strcmp(s->is->method, "BDF") && strcmp(s->is->method, "ADAMS");
}

static void stage_open(Stage *s, const Scenario *scenario) {
  const sunrealtype choice[4] = {-0.3, 0.4, 0.2, 0.3};
  memset(s, 0, sizeof *s);
  s->is = scenario;
  mechanism_set_up(&s->m, scenario->features, scenario->form, CP_FRAME_BODY);
  mechanism_use(&s->m);
  s->y0 = vector_of(s->m.n, NULL);
  mechanism_start(&s->m, 0.0, choice, entries(s->y0));
  if (has(s, INITIAL)) entries(s->y0)[0] += 1e-3;
  s->y     = vector_copy(s->y0);
  s->start = vector_copy(s->y0);
  s->out   = vector_copy(s->y0);
  s->v     = vector_copy(s->y0);
  s->ewt   = vector_of(s->m.n, NULL);
  s->c     = vector_of(s->m.m, NULL);
  s->q     = vector_of(1, NULL);
  N_VConst(1 / TOL, s->ewt);
  for (int i = 0; i < PARAMETERS; i++) s->yS[i] = vector_of(s->m.n, NULL);
  /* the start has the same angle and angular velocity for all lengths */
  for (int k = 0; k < 2; k++) {
    entries(s->yS[BY_LENGTH])[k]           = entries(s->y0)[k];
    entries(s->yS[BY_LENGTH])[s->m.nq + k] = entries(s->y0)[s->m.nq + k];
  }
  s->A   = SUNDenseMatrix(s->m.n, s->m.n, test_context);
  s->LS  = SUNLinSol_Dense(s->y, s->A, test_context);
  s->NLS = SUNNonlinSol_FixedPoint(s->y, 0, test_context);
  s->G   = mechanism_jacobian_template(&s->m, scenario->form, test_context);
  s->W   = mechanism_metric_template(&s->m, scenario->form, test_context);
  ck_assert(mechanism_model(&s->m, has(s, PARTIALS), 1, 1, test_context, &s->model));
  if (!has(s, ATTACHED)) return;
  s->cvode_mem = CVodeCreate(CV_BDF, test_context);
  ck_assert_int_eq(CVodeInit(s->cvode_mem, mechanism_rhs, 0.0, s->y0), CV_SUCCESS);
  ck_assert_int_eq(CVodeSStolerances(s->cvode_mem, TOL, TOL), CV_SUCCESS);
  ck_assert_int_eq(CVodeSetNonlinearSolver(s->cvode_mem, s->NLS), CV_SUCCESS);
}

static void stage_close(Stage *s) {
  N_Vector const v[] = {s->y, s->y0, s->start, s->out, s->v, s->ewt, s->c, s->q};
  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) N_VDestroy(v[i]);
  for (int i = 0; i < PARAMETERS; i++) N_VDestroy(s->yS[i]);
  CVodeFree(&s->cvode_mem);
  SUNNonlinSolFree(s->NLS);
  SUNLinSolFree(s->LS);
  SUNMatDestroy(s->A);
  SUNMatDestroy(s->G);
  SUNMatDestroy(s->W);
  SUNMatDestroy(s->model.M_tmpl);
  SUNMatDestroy(s->model.A_tmpl);
}

/* ---- cpodes' objects; each function returns the first code that is not 0 ---- */

static int create_projector(Stage *s) {
  const CPUserProjection user = {sizeof user, mechanism_projection, mechanism_error_projection,
                                 NULL, NULL};
  if (s->is->projection == BY_USER) s->P = CPProjectorCreateUser(&user, s->y, test_context);
  else if (has(s, PRODUCTS))
    s->P = CPProjectorCreateProducts(mechanism_c, mechanism_jac_times, mechanism_jac_trans_times,
                                     s->y, s->c, test_context);
  else s->P = CPProjectorCreate(mechanism_c, s->y, s->c, test_context);
  if (!s->P) return CP_MEM_FAIL;
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(s->P), message_log, &s->log);
  if (s->is->projection == BY_USER) return flag;
  if (!flag && s->m.quaternion >= 0) flag = CPProjectorAddUnitNorm(s->P, s->m.quaternion, 4, 1.0);
  if (!flag && has(s, JACOBIAN)) flag = CPProjectorSetJacFn(s->P, mechanism_jacobian, s->G);
  if (!flag && has(s, PRODUCTS)) {
    flag = CPProjectorSetSchurDiag(s->P, mechanism_schur_diag);
    if (!flag)
      flag = CPProjectorSetPreconditioner(s->P, mechanism_prec_setup, mechanism_prec_solve);
  }
  if (!flag && !has(s, PRODUCTS)) flag = CPProjectorSetLinearSolver(s->P, s->is->linsol);
  if (!flag && has(s, METRIC))
    flag = CPProjectorSetNorm(s->P, CP_NORM_MATRIX, mechanism_metric_matrix, s->W);
  return flag;
}

static int create_mechanics(Stage *s) {
  CPEquations model = s->model;
  mechanism_coordinates(&s->m, &model);
  CPModel made = CPModelCreate(&model);
  s->mech      = made ? CPMechCreate(made, s->y, test_context) : NULL;
  CPModelFree(&made);
  if (!s->mech) return CP_MEM_FAIL;
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(s->mech), message_log, &s->log);
  if (!flag && has(s, METRIC)) flag = CPMechSetMetric(s->mech, CP_METRIC_L2);
  if (!flag && s->is->form == OPERATORS) flag = CPMechSetNewton(s->mech, CP_NEWTON_HALF);
  if (!flag && has(s, INITIAL)) flag = CPMechCalcIC(s->mech, 0.0, s->y, NULL, NULL, NULL, NULL);
  return flag;
}

static int set_up_sensitivities(Stage *s, CPIntegrator mem) {
  const CPParameters parameters = {CP_SIZED(CPParameters), .n = 2, .values = s->m.p, .y0S = s->yS};
  s->sens                       = CPSensCreate(&parameters, s->y, test_context);
  const int flag                = s->sens ? CPIntegratorSetSens(mem, s->sens) : CP_MEM_FAIL;
  return flag ? flag : CPSensCalcIC(s->sens, NULL);
}

static int set_up_one_step(Stage *s) {
  s->one = CPIntegratorCreate(s->is->method, test_context);
  if (!s->one) return CP_MEM_FAIL;
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(s->one), message_log, &s->log);
  if (s->mech) {
    if (!flag) flag = CPMechAttach(s->mech, s->one, 0.0, s->y);
  } else {
    if (!flag) flag = CPIntegratorInit(s->one, mechanism_rhs, 0.0, s->y);
  }
  if (!flag)
    flag = has(s, WEIGHTS) ? CPIntegratorWFtolerances(s->one, mechanism_weights)
                           : CPIntegratorSStolerances(s->one, TOL, TOL);
  if (!flag && s->P) flag = CPIntegratorSetProjector(s->one, s->P);
  if (!flag && has(s, ROOTS)) flag = CPIntegratorRootInit(s->one, 2, mechanism_roots);
  if (!flag && has(s, INITIAL)) flag = CPIntegratorCalcIC(s->one, NULL);
  return !flag && has(s, SENSITIVE) ? set_up_sensitivities(s, s->one) : flag;
}

static int set_up_cpode(Stage *s) {
  const int lmm = strcmp(s->is->method, "BDF") ? CV_ADAMS : CV_BDF;
  s->mem = s->cvode_mem ? CPIntegratorAttach(s->cvode_mem, lmm == CV_BDF ? "BDF" : "ADAMS", s->NLS,
                                             s->y, test_context)
                        : CPIntegratorCreate(lmm == CV_BDF ? "BDF" : "ADAMS", test_context);
  if (!s->mem) return CP_MEM_FAIL;
  void *cv = CPIntegratorGetCVodeMem(s->mem);
  int flag = CPObjectSetErrHandlerFn(CP_OBJECT(s->mem), message_log, &s->log);
  if (!flag && has(s, FIXED_POINT)) flag = CPIntegratorSetNonlinearSolver(s->mem, s->NLS);
  if (!flag && s->mech) flag = CPMechAttach(s->mech, s->mem, 0.0, s->y);
  else if (!flag && !s->cvode_mem) flag = CPIntegratorInit(s->mem, mechanism_rhs, 0.0, s->y);
  if (!flag && !s->cvode_mem)
    flag = has(s, WEIGHTS) ? CPIntegratorWFtolerances(s->mem, mechanism_weights)
                           : CPIntegratorSStolerances(s->mem, TOL, TOL);
  if (!flag && !s->mech && !s->cvode_mem && !has(s, FIXED_POINT))
    flag = CVodeSetLinearSolver(cv, s->LS, s->A);
  if (!flag && s->P) flag = CPIntegratorSetProjector(s->mem, s->P);
  if (!flag && has(s, ROOTS))
    flag = s->cvode_mem ? CVodeRootInit(cv, 2, mechanism_roots)
                        : CPIntegratorRootInit(s->mem, 2, mechanism_roots);
  if (!flag && has(s, QUADRATURE)) flag = CVodeQuadInit(cv, mechanism_quadrature, s->q);
  if (!flag && has(s, INITIAL)) flag = CPIntegratorCalcIC(s->mem, NULL);
  return !flag && has(s, SENSITIVE) ? set_up_sensitivities(s, s->mem) : flag;
}

static int set_up(Stage *s) {
  int flag = CP_SUCCESS;
  N_VScale(1.0, s->y0, s->y);
  s->t = 0.0;
  if (s->is->projection == BY_MECHANICS) flag = create_mechanics(s);
  else if (s->is->projection != BY_NOBODY) flag = create_projector(s);
  if (flag) return flag;
  return is_one_step(s) ? set_up_one_step(s) : set_up_cpode(s);
}

static void tear_down(Stage *s) {
  CPIntegratorFree(&s->mem);
  CPSensFree(&s->sens);
  CPIntegratorFree(&s->one);
  CPMechFree(&s->mech);
  CPProjectorFree(&s->P);
}

/* ---- what is done with them ---- */

static int evolve(Stage *s, sunrealtype tout) {
  int flag = CV_ROOT_RETURN;
  while (flag == CV_ROOT_RETURN)
    flag = s->one ? CPIntegratorEvolve(s->one, tout, s->out, &s->t, CV_NORMAL)
                  : CPIntegratorEvolve(s->mem, tout, s->out, &s->t, CV_NORMAL);
  for (int i = 0; i < s->m.n; i++)
    if (!isfinite(entries(s->out)[i])) s->log.code = NOT_FINITE;
  return flag;
}

static int output(Stage *s) {
  if (!has(s, OUTPUT)) return CP_SUCCESS;
  if (s->mem) return CPIntegratorGetDky(s->mem, s->t, 0, s->v);
  return CPIntegratorGetDky(s->one, s->t, 0, s->v);
}

static int march(Stage *s) {
  int flag = CP_SUCCESS;
  for (int k = 1; !flag && k <= 3; k++) {
    const sunrealtype tout = T_END * k / 3.0;
    if (s->t >= tout && k < 3)
      continue; /* after a failure the last good state may be beyond tout */
    flag = evolve(s, tout);
    if (!flag) flag = output(s);
  }
  for (int i = 0; !flag && i < s->m.n; i++) s->results[i] = entries(s->out)[i];
  return flag;
}

static int restart(Stage *s) {
  int flag = s->one ? CPIntegratorReInit(s->one, 0.0, s->start)
                    : CPIntegratorReInit(s->mem, 0.0, s->start);
  if (!flag && has(s, SENSITIVE)) flag = CPSensReInit(s->sens, s->yS);
  if (!flag && has(s, SENSITIVE)) flag = CPSensCalcIC(s->sens, NULL);
  s->t = 0.0;
  return flag;
}

/* G and dG, forward and backward */
static int functional(Stage *s) {
  const CPFunctional F             = {CP_SIZED(CPFunctional), .ng = 1, .end = mechanism_functional,
                                      .integrand = mechanism_functional};
  const CPGradientOptions forwards = {CP_SIZED(CPGradientOptions), .mode = CP_GRADIENT_FORWARD},
                          newton   = {CP_SIZED(CPGradientOptions), .method = "RADAU"};
  const CPIntegrator mem           = s->one ? s->one : s->mem;
  sunrealtype *r                   = s->results + MOST_N;
  if (!has(s, FUNCTIONAL)) return CP_SUCCESS;
  int flag = restart(s);
  if (!flag) flag = CPIntegratorGradient(mem, T_END / 3.0, &F, NULL, &forwards, r, r + 1, NULL);
  if (!flag) flag = restart(s);
  if (!flag)
    flag = CPIntegratorGradient(mem, T_END / 3.0, &F, NULL, has(s, PARTIALS) ? &newton : NULL,
                                r + 3, r + 4, &s->v);
  return flag;
}

static int check(Stage *s) {
  CPMechReport report = CP_INIT(CPMechReport);
  sunrealtype err;
  if (!has(s, CHECK)) return CP_SUCCESS;
  if (s->mech) {
    CPMechSuggestion suggestion = CP_INIT(CPMechSuggestion);
    const int flag              = CPMechCheck(s->mech, 0.0, s->y, &report);
    return flag ? flag : CPMechSuggestMethod(s->mech, 0.0, s->y, T_END, TOL, &suggestion);
  }
  return CPProjectorCheckJac(s->P, 0.0, s->y, s->ewt, &err, NULL, NULL);
}

static int project(Stage *s) {
  sunrealtype norm;
  if (!s->P && !s->mech) return CP_SUCCESS;
  CPProjector P = s->P ? s->P : CPMechGetProjector(s->mech);
  N_VScale(1.0, s->y, s->v);
  int flag = CPProjectorProject(P, 0.0, s->v, s->ewt);
  if (!flag) flag = CPProjectorProjectVector(P, CP_TANGENT, 0.0, s->y, s->ewt, s->v);
  if (!flag && s->is->projection != BY_USER)
    flag = CPProjectorProjectVector(P, CP_COTANGENT, 0.0, s->y, s->ewt, s->v);
  if (!flag && s->P && s->is->projection != BY_USER) {
    flag = CPProjectorGetViolation(P, 0.0, s->y, s->ewt, &norm, NULL);
    N_VScale(1.0, s->y, s->v);
    if (!flag) flag = CPProjectorAssemble(P, 0.0, s->v, s->ewt);
  }
  return flag;
}

static int quantities(Stage *s) {
  sunrealtype udot[MOST_U], lambda[MOST_ROWS + 1], x[MOST_U] = {1, 2, 3, 4, 5, 6};
  const int mask[MOST_ROWS + 1] = {0, 1, 1, 1, 1};
  CPMechOutput out              = {CP_SIZED(CPMechOutput), .udot = udot, .lambda = lambda};
  if (!has(s, QUANTITIES)) return CP_SUCCESS;
  int flag = CPMechEvaluate(s->mech, 0.0, s->y, &out);
  if (!flag) flag = CPMechAccelerations(s->mech, 0.0, s->y, udot, lambda);
  if (!flag) flag = CPMechProject(s->mech, CP_TANGENT, 0.0, s->y, x);
  if (!flag) flag = CPMechProject(s->mech, CP_COTANGENT, 0.0, s->y, x);
  if (!flag) flag = CPMechSolve(s->mech, 0.0, s->y, 1, NULL, lambda, udot, NULL);
  N_VScale(1.0, s->y, s->v);
  if (!flag) flag = CPMechImpact(s->mech, 0.0, s->v, NULL, 0.5, lambda);
  if (!flag && s->m.na > 1) flag = CPMechSetActive(s->mech, mask);
  if (!flag) flag = CPMechAccelerations(s->mech, 0.0, s->y, udot, lambda);
  const int back = CPMechSetActive(s->mech, NULL);
  return flag ? flag : back;
}

static const struct {
  const char *name;
  int (*run)(Stage *);
} actions[] = {{"set-up", set_up}, {"projection", project}, {"quantities", quantities},
               {"check", check},   {"march", march},        {"functional", functional}};
enum { SET_UP, PROJECT, QUANTITY, CHECKS, MARCH, ACTIONS = sizeof actions / sizeof actions[0] };

/* Takes all actions until one fails. Returns its number, and its code. */
static int run(Stage *s, int first, int *code) {
  int k = first;
  for (*code = CP_SUCCESS; k < ACTIONS; k++) {
    if (k == MARCH && first < MARCH) { N_VScale(1.0, (s->one ? s->one : s->mem)->y0, s->start); }
    if ((*code = actions[k].run(s))) return k;
  }
  return k;
}

/* ---- the n-th allocation ---- */

static Stage stage;

/* A constructor that fails reports it on stderr, which would clutter the test's output. */
static void quietly(int on) {
  static int kept = -1;
  fflush(stderr);
  if (on) {
    kept = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
  } else {
    dup2(kept, STDERR_FILENO);
    close(kept);
  }
}

enum { MOST_ALLOCATIONS = 4000 };

START_TEST(every_allocation_that_fails_is_told_and_nothing_is_lost) {
  const char *name = scenarios[_i].name;
  int n = 1, code, missed = 1;
  for (; n < MOST_ALLOCATIONS && missed; n++) {
    stage_open(&stage, &scenarios[_i]);
    quietly(1);
    alloc_watch_failing(n);
    const int failed = run(&stage, SET_UP, &code);
    tear_down(&stage);
    alloc_unwatch();
    quietly(0);
    missed = alloc_has_failed();
    ck_assert_msg(alloc_live() == 0, "%s, allocation %d: %ld blocks are lost", name, n,
                  alloc_live());
    ck_assert_msg(missed || code == CP_SUCCESS, "%s: %s returned %d: %s", name,
                  actions[failed].name, code, stage.log.text);
    ck_assert_msg(stage.log.count == 0 || code == CP_SUCCESS || stage.log.code == code,
                  "%s, allocation %d: %s returned %d, and the message says %d", name, n,
                  actions[failed].name, code, stage.log.code);
    ck_assert_msg(!missed || code < 0, "%s: nobody noticed that allocation %d failed", name, n);
    stage_close(&stage);
  }
  ck_assert_int_lt(n, MOST_ALLOCATIONS);
  ck_assert_int_gt(n, 10);
}
END_TEST

/* Covers all of the first, and then ever fewer. */
static long following(long n) { return n < 16 ? n + 1 : n + 1 + n / 4; }

/* SuiteSparse continues by itself if it does not need the memory: the result is then that of the
 * undisturbed run. */
START_TEST(allocations_of_suitesparse_may_fail) {
  const char *name = scenarios[_i].name;
  int code, missed = 1, failures = 0;
  sunrealtype right[sizeof stage.results / sizeof *stage.results];
  if (scenarios[_i].form == DENSE && scenarios[_i].linsol != CP_LINSOL_SPARSE) return;
  alloc_count_suitesparse(1);
  for (long n = 0; missed; n = following(n)) { /* n = 0: none fails */
    stage_open(&stage, &scenarios[_i]);
    quietly(1);
    alloc_watch_failing(n);
    const int failed = run(&stage, SET_UP, &code);
    missed           = n == 0 || alloc_has_failed();
    if (n == 0) memcpy(right, stage.results, sizeof right);
    tear_down(&stage);
    alloc_unwatch();
    quietly(0);
    ck_assert_msg(alloc_live() == 0, "%s, allocation %ld: %ld blocks are lost", name, n,
                  alloc_live());
    ck_assert_msg(code <= 0 && (!code || (n > 0 && missed)),
                  "%s, allocation %ld: %s returned %d: %s", name, n, actions[failed].name, code,
                  stage.log.text);
    for (int i = 0; !code && i < stage.m.n; i++)
      ck_assert_double_le(fabs(stage.results[i] - right[i]), SAME * (1.0 + fabs(right[i])));
    failures += code < 0;
    stage_close(&stage);
  }
  alloc_count_suitesparse(0);
  ck_assert_int_gt(failures, 10);
}
END_TEST

/* ---- the n-th callback ---- */

static void expect_same(const char *name, const char *what, Fault fault, long n,
                        const sunrealtype *right, const Stage *s) {
  const int count = (int)(sizeof s->results / sizeof *s->results);
  for (int i = 0; i < count; i++)
    ck_assert_msg(fabs(s->results[i] - right[i]) <= SAME * (1.0 + fabs(right[i])),
                  "%s, %s, %s at callback %ld: result %d is %.12g, undisturbed %.12g", name, what,
                  fault_names[fault], n, i, s->results[i], right[i]);
}

/* The objects continue, or report that they need a new start. */
static void go_on(Stage *s, int failed) {
  int code;
  const char *name = s->is->name;
  if (failed == SET_UP) tear_down(s);
  int again = run(s, failed, &code);
  if (code && again == MARCH) {
    ck_assert_msg(strstr(s->log.text, "ReInit") || strstr(s->log.text, "re-init") ||
                      strstr(s->log.text, "CalcIC"),
                  "%s, repaired, %s: %d, %s", name, actions[again].name, code, s->log.text);
    ck_assert_int_eq(restart(s), CP_SUCCESS);
    again = run(s, MARCH, &code);
  }
  ck_assert_msg(code == CP_SUCCESS, "%s, repaired, %s: %d, %s", name, actions[again].name, code,
                s->log.text);
}

static void spoil(const Scenario *is, Fault fault, long n, int lasting, const sunrealtype *right) {
  int code;
  Callback first;
  stage_open(&stage, is);
  quietly(1);
  disturb_arm(ON_ANY, fault, n, lasting);
  const int failed = run(&stage, SET_UP, &code);
  disturb_repair();
  quietly(0);
  const long struck = disturb_struck(&first);
  ck_assert_msg(stage.log.code != NOT_FINITE,
                "%s, %s (%s) at callback %ld: a state that is not finite", is->name,
                fault_names[fault], callback_names[first], n);
  if (code == CP_SUCCESS && struck > 0)
    expect_same(is->name, callback_names[first], fault, n, right, &stage);
  if (code) {
    ck_assert_msg(stage.log.text[0], "%s: %d without a message", is->name, code);
    go_on(&stage, failed);
    expect_same(is->name, "repaired", fault, n, right, &stage);
  }
  tear_down(&stage);
  stage_close(&stage);
}

START_TEST(every_callback_may_fail) {
  const Scenario *is = &scenarios[_i / 2 / FAULTS];
  const Fault fault  = (Fault)(_i / 2 % FAULTS);
  int code;
  sunrealtype right[sizeof stage.results / sizeof *stage.results];
  stage_open(&stage, is);
  disturb_restart_count(0, NULL);
  const int failed = run(&stage, SET_UP, &code);
  ck_assert_msg(code == CP_SUCCESS, "%s: %s returned %d: %s", is->name, actions[failed].name, code,
                stage.log.text);
  memcpy(right, stage.results, sizeof right);
  const long calls = disturb_count();
  tear_down(&stage);
  stage_close(&stage);
  ck_assert_int_gt(calls, 50);
  /* Each kind of fault strikes different ones of the later calls. */
  for (long n = 1; n <= calls; n = following(n))
    spoil(is, fault, n < 16 ? n : n + n / 4 * (_i % (2 * FAULTS)) / (2 * FAULTS), _i % 2, right);
}
END_TEST

/* ---- the n-th call of a linear solver: LAPACK or SuiteSparse fails, or a matrix is singular ---- */

static struct {
  long count, fail_at; /* 0: none */
  int lasting, code;
} solver;

static int solver_fails(void) {
  solver.count++;
  return solver.fail_at &&
         (solver.lasting ? solver.count >= solver.fail_at : solver.count == solver.fail_at);
}

/* The linker binds X to __wrap_X and __real_X to the library's X. */
int __real_cpSaddleFactor(CPSaddle s, CPWeight W, const CPMat *A, double ranktol);
int __real_cpSaddleSolve(CPSaddle s, const double *f, const double *b, double *x, double *mu);
int __real_cpLuFactor(CPLu lu);
int __real_cpLuSolve(CPLu lu, double *re, double *im);
int __wrap_cpSaddleFactor(CPSaddle s, CPWeight W, const CPMat *A, double ranktol);
int __wrap_cpSaddleSolve(CPSaddle s, const double *f, const double *b, double *x, double *mu);
int __wrap_cpLuFactor(CPLu lu);
int __wrap_cpLuSolve(CPLu lu, double *re, double *im);

int __wrap_cpSaddleFactor(CPSaddle s, CPWeight W, const CPMat *A, double ranktol) {
  return solver_fails() ? CP_LINSOL_FAIL : __real_cpSaddleFactor(s, W, A, ranktol);
}
int __wrap_cpSaddleSolve(CPSaddle s, const double *f, const double *b, double *x, double *mu) {
  return solver_fails() ? CP_LINSOL_FAIL : __real_cpSaddleSolve(s, f, b, x, mu);
}
int __wrap_cpLuFactor(CPLu lu) { return solver_fails() ? solver.code : __real_cpLuFactor(lu); }
int __wrap_cpLuSolve(CPLu lu, double *re, double *im) {
  return solver_fails() ? CP_LINSOL_FAIL : __real_cpLuSolve(lu, re, im);
}

/* singular: LU factors fail; otherwise LAPACK fails. */
START_TEST(linear_solvers_may_fail) {
  const Scenario *is = &scenarios[_i / 4];
  const int lasting = _i % 2, singular = _i / 2 % 2;
  int code;
  long calls = 0, failures = 0;
  sunrealtype right[sizeof stage.results / sizeof *stage.results];
  solver.code = singular ? 1 : CP_LINSOL_FAIL, solver.lasting = lasting;
  for (long n = 0; n == 0 || n <= calls; n = following(n)) { /* n = 0: none fails */
    stage_open(&stage, is);
    quietly(1);
    solver.count = 0, solver.fail_at = n;
    const int failed = run(&stage, SET_UP, &code);
    solver.fail_at   = 0;
    quietly(0);
    if (n == 0) {
      ck_assert_int_eq(code, CP_SUCCESS);
      memcpy(right, stage.results, sizeof right);
      calls = solver.count;
    }
    ck_assert_msg(!code || stage.log.text[0], "%s: %d without a message", is->name, code);
    failures += code != 0;
    if (code) go_on(&stage, failed);
    expect_same(is->name, "solver", FAULT_FATAL, n, right, &stage);
    tear_down(&stage);
    stage_close(&stage);
  }
  ck_assert(calls == 0 || failures > 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("faults");
  TCase *tc[3] = {tcase_create("allocations"), tcase_create("callbacks"), tcase_create("solvers")};
  for (int k = 0; k < 3; k++) {
    tcase_add_checked_fixture(tc[k], test_context_setup, test_context_teardown);
    tcase_set_timeout(tc[k], 60);
    suite_add_tcase(suite, tc[k]);
  }
  tcase_add_loop_test(tc[0], every_allocation_that_fails_is_told_and_nothing_is_lost, 0, SCENARIOS);
  tcase_add_loop_test(tc[0], allocations_of_suitesparse_may_fail, 0, SCENARIOS);
  tcase_add_loop_test(tc[1], every_callback_may_fail, 0, 2 * FAULTS * SCENARIOS);
  tcase_add_loop_test(tc[2], linear_solvers_may_fail, 0, 4 * SCENARIOS);
  return run_suite(suite);
}
