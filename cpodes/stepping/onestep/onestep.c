/* One-step methods by name, life cycle, options. */
#include "onestep_impl.h"

#include "cpodes/matrix/matrix.h"

#include <arkode/arkode_butcher_erk.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MXSTEPS_DEFAULT 500

/* ---- methods ---- */

static int rowIsConsistent(const sunrealtype *row, int stages, sunrealtype sum) {
  sunrealtype largest = 1.0;
  for (int j = 0; j < stages; j++) {
    sum -= row[j];
    largest = fmax(largest, fabs(row[j]));
  }
  return fabs(sum) <= CP_ROUNDED * largest;
}

/* Returns the rule that B violates, or NULL. text [CP_TEXT_LENGTH]: workspace for the rule. */
static const char *brokenRule(ARKodeButcherTable B, char *text) {
  if (!B) return "B must not be NULL";
  if (B->stages < 1 || B->q < 1 || !B->A || !B->b || !B->c)
    return "B must have a stage, an order, and A, b and c";
  for (int i = 0; i < B->stages; i++) {
    if (!cpAllFinite(B->A[i], B->stages) || !isfinite(B->b[i]) || !isfinite(B->c[i]) ||
        (B->d && !isfinite(B->d[i])))
      return cpWrite(text, "B must be finite: row %d is not", i), text;
    for (int j = i; j < B->stages; j++)
      if (B->A[i][j] != 0.0)
        return cpWrite(
                   text,
                   "B->A must be strictly lower triangular (for stiff problems there is RADAU): "
                   "A[%d][%d] = %g",
                   i, j, B->A[i][j]),
               text;
    if (!rowIsConsistent(B->A[i], B->stages, B->c[i]))
      return cpWrite(text, "row %d of B->A must have the sum c[%d] = %.15g", i, i, B->c[i]), text;
  }
  if (!rowIsConsistent(B->b, B->stages, 1.0)) return "B->b must have the sum 1";
  if (B->d && (B->p < 1 || !rowIsConsistent(B->d, B->stages, 1.0)))
    return "B->d, of order B->p >= 1, must have the sum 1";
  return NULL;
}

/* ---- creation ---- */

static const CPIntegratorOps ops;

void cpOneStepFreeTable(void *B) { ARKodeButcherTable_Free(B); }

/* Takes ownership of B, which is NULL if the method has coefficients of its own, as DOP853. */
static CPIntegrator newIntegrator(const char *name, const CPOneStepMethod *method,
                                  ARKodeButcherTable B, SUNContext ctx, const char *function) {
  const CPOneStep mem = calloc(1, sizeof *mem);
  CPIntegrator s      = (CPIntegrator)mem;
  if (mem) {
    cpStepperCreate(&mem->base, &ops, ctx);
    mem->method = method;
    if (B) mem->table = cpArenaOwn(&mem->memory, B, cpOneStepFreeTable);
    mem->mxsteps = MXSTEPS_DEFAULT;
    snprintf(mem->name, sizeof mem->name, "%s", name);
    if (cpArenaStatus(&mem->memory) || mem->method->create(mem)) CPIntegratorFree(&s);
  } else ARKodeButcherTable_Free(B);
  if (!s) cpReport(NULL, CP_MEM_FAIL, function, "no memory for an integrator");
  return s;
}

CPIntegrator cpOneStepCreate(const char *method, SUNContext ctx, const char *function) {
  if (!strcmp(method, CP_DOP853))
    return newIntegrator(CP_DOP853, &cpExplicitMethod, NULL, ctx, function);
  if (!strcmp(method, CP_BS54) || !strcmp(method, CP_BS32)) {
    ARKodeButcherTable table = cpBogackiShampine(strcmp(method, CP_BS32) ? 5 : 3);
    if (!table) return cpReport(NULL, CP_MEM_FAIL, function, "no memory for an integrator"), NULL;
    return newIntegrator(method, &cpExplicitMethod, table, ctx, function);
  }
  if (!strcmp(method, CP_RADAU) || !strcmp(method, CP_RADAU5) || !strcmp(method, CP_RADAU9) ||
      !strcmp(method, CP_RADAU13))
    return newIntegrator(method, &cpRadauMethod, NULL, ctx, function);
  /* ARKODE prints a line about a name that it does not know, so it gets only names with its
   * prefix. */
  ARKodeButcherTable B = strncmp(method, "ARKODE_", sizeof "ARKODE_" - 1)
                             ? NULL
                             : ARKodeButcherTable_LoadERKByName(method);
  char text[CP_TEXT_LENGTH];
  const char *rule = NULL;
  if (!B)
    rule = "is none of BDF, ADAMS, DOP853, BS54, BS32, RADAU, RADAU5, RADAU9, RADAU13 and the "
           "explicit "
           "tables "
           "of this ARKODE's (ARKODE_...)";
  else if (!B->d)
    rule = "has no embedded method: CPIntegratorCreateTable takes it, for fixed steps";
  else rule = brokenRule(B, text);
  if (!rule) return newIntegrator(method, &cpExplicitMethod, B, ctx, function);
  ARKodeButcherTable_Free(B);
  return cpRefuse(NULL, function, "the method \"%s\" %s", method, rule), NULL;
}

CPIntegrator cpOneStepCreateTable(ARKodeButcherTable B, SUNContext ctx, const char *function) {
  char text[CP_TEXT_LENGTH];
  const char *rule = brokenRule(B, text);
  if (rule) return cpRefuse(NULL, function, "%s", rule), NULL;
  ARKodeButcherTable copy = ARKodeButcherTable_Copy(B);
  if (!copy) return cpReport(NULL, CP_MEM_FAIL, function, "no memory for an integrator"), NULL;
  return newIntegrator("a table of the user's", &cpExplicitMethod, copy, ctx, function);
}

static void freeOwn(CPIntegrator s) {
  const CPOneStep mem = (CPOneStep)s;
  cpRootsFree(&mem->roots);
  if (mem->J_tmpl) SUNMatDestroy(mem->J_tmpl);
  cpStepperFree(s);
  cpArenaFree(&mem->memory);
}

/* ---- starts ---- */

/* A restart keeps the step size. After a root it is limited to the time from the last start to the
 * root: where the error is zero at any size (free fall), steps would otherwise grow from event to
 * event. */
static void restart(CPOneStep mem, sunrealtype t0, N_Vector y0) {
  const CPIntegrator s = &mem->base;
  sunrealtype h        = fabs(mem->h);
  const int at_root    = cpRootsAt(&mem->roots, t0);
  if (at_root && t0 != s->t0) h = fmin(h, fabs(t0 - s->t0));
  cpWatchRestart(&mem->roots.watch, t0, s->t, at_root);
  mem->h              = h > cpLeastStep(t0) ? copysign(h, mem->h) : 0.0;
  mem->beside.started = 0;
  if (mem->beside.of.data) mem->beside.of.restart(mem->beside.of.data);
  cpStepperRestart(s, t0, y0);
  mem->tlast = mem->tret = t0;
  mem->dir               = 0.0;
  mem->started = mem->have_step = mem->have_err = mem->failed = 0;
  mem->nst_tol                                                = 0;
  mem->roots.have_lo = mem->roots.pending = mem->roots.watching = 0;
  mem->stats                                                    = (CPIntegratorStats){0};
}

static int init(CPIntegrator s, CVRhsFn f, sunrealtype t0, N_Vector y0, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  if (mem->method->implicit && !cpHasData(y0))
    return cpRefuse(&s->log, function,
                    "y0 must be a vector in one memory (serial, OpenMP, pthreads) for %s",
                    mem->name);
  if (mem->J_tmpl && cpCheckPattern(&s->log, mem->J_tmpl, (int)N_VGetLength(y0),
                                    (int)N_VGetLength(y0), "J_tmpl", function))
    return CP_ILL_INPUT;
  N_Vector *const own[] = {&mem->ylast, &mem->ynew};
  int flag              = cpStepperAllocate(s, y0, own, 2);
  if (!flag && mem->method->init) flag = mem->method->init(mem);
  if (flag) {
    cpArenaFree(&s->memory);
    s->y0 = NULL;
    return cpReport(&s->log, flag, function, "no memory for an integrator");
  }
  s->f           = f;
  s->initialised = s->begun = 1;
  restart(mem, t0, y0);
  return CP_SUCCESS;
}

static int reinit(CPIntegrator s, sunrealtype t0, N_Vector y0, const char *function) {
  (void)function;
  restart((CPOneStep)s, t0, y0);
  return CP_SUCCESS;
}

/* ---- options ---- */

/* Stored factors are discarded, because they contain the scales of constraints in units of the old
 * tolerances. */
static int newTolerances(CPIntegrator s, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  (void)function;
  mem->nst_tol = mem->stats.nst;
  cpWorkForget(s->step), cpWorkForget(s->out);
  return CP_SUCCESS;
}

/* The newest state is checked like a start, since it may be off the manifold of P. */
static void newProjector(CPIntegrator s, int same) {
  const CPOneStepBeside *b = &((CPOneStep)s)->beside;
  s->start_checked         = 0;
  if (!same && b->of.data) b->of.projector(b->of.data);
}

/* Returns 0 if `what`, which only RADAU uses, may be set now, or a reported code. */
static int takes(CPOneStep mem, const char *what, const char *caller) {
  if (!mem->method->implicit)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, caller,
                    "the method %s does not use %s of this kind: RADAU does", mem->name, what);
  if (mem->base.system.implicit)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, caller,
                    "the attached mechanical system has functions of its own");
  if (mem->allocated)
    return cpReport(&mem->base.log, CP_TOO_LATE, caller, "call it before the first step");
  return CP_SUCCESS;
}

static int setBatch(CPIntegrator s, CPRhsBatchFn batch, const char *function) {
  const int flag = takes((CPOneStep)s, "a function", function);
  if (!flag) ((CPOneStep)s)->batch = batch;
  return flag;
}

static int setJacobian(CPIntegrator s, SUNMatrix J_tmpl, CVLsJacFn jac, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  const int flag      = takes(mem, "a Jacobian", function);
  if (flag) return flag;
  const int n = s->y0 ? (int)N_VGetLength(s->y0) : 0;
  if (J_tmpl && s->y0 && cpCheckPattern(&s->log, J_tmpl, n, n, "J_tmpl", function))
    return CP_ILL_INPUT;
  SUNMatrix copy = J_tmpl ? SUNMatClone(J_tmpl) : NULL;
  if (J_tmpl && (!copy || SUNMatCopy(J_tmpl, copy))) {
    if (copy) SUNMatDestroy(copy);
    return cpReport(&s->log, CP_MEM_FAIL, function, "no memory for a template of the Jacobian");
  }
  if (mem->J_tmpl) SUNMatDestroy(mem->J_tmpl);
  mem->J_tmpl = copy;
  mem->jac    = jac;
  return CP_SUCCESS;
}

static int setUserData(CPIntegrator s, void *user_data, const char *function) {
  (void)function;
  ((CPOneStep)s)->user_data = user_data;
  return CP_SUCCESS;
}

static int setFirstStep(CPIntegrator s, sunrealtype h, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  if (h * mem->dir < 0.0)
    return cpRefuse(&s->log, function, "h must lead in the direction of integration: h = %g", h);
  mem->hinit = h;
  mem->h     = mem->dir != 0.0 ? h : 0.0;
  return CP_SUCCESS;
}

static int setSize(CPIntegrator s, CPStepSize which, sunrealtype h, const char *function) {
  const CPOneStep mem    = (CPOneStep)s;
  const sunrealtype hmin = which == CP_LEAST_STEP ? h : mem->hmin,
                    hmax = which == CP_LARGEST_STEP ? h : s->hmax;
  if (hmax > 0.0 && hmin > hmax)
    return cpRefuse(&s->log, function, "h must leave the least step, %g, below the largest, %g",
                    hmin, hmax);
  mem->hmin = hmin;
  if (which == CP_FIXED_STEP) mem->hfixed = h;
  return CP_SUCCESS;
}

static int setMaxSteps(CPIntegrator s, long int mxsteps, const char *function) {
  (void)function;
  ((CPOneStep)s)->mxsteps = mxsteps ? mxsteps : MXSTEPS_DEFAULT;
  return CP_SUCCESS;
}

static int setStop(CPIntegrator s, sunrealtype tstop, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  if (isfinite(tstop) && (tstop - s->t) * mem->dir < 0.0)
    return cpRefuse(&s->log, function, "tstop must not lie behind t = %.15g: tstop = %.15g", s->t,
                    tstop);
  mem->tstop      = tstop;
  mem->have_tstop = isfinite(tstop);
  return CP_SUCCESS;
}

static const char *method(CPIntegrator s, int *order, int *embedded, int *stages) {
  const CPOneStep mem = (CPOneStep)s;
  if (order) *order = mem->order;
  if (embedded) *embedded = mem->embedded;
  if (stages) *stages = mem->stages;
  return mem->name;
}

static long int stepsTaken(CPIntegrator s) { return ((CPOneStep)s)->stats.nst; }

/* ---- the system that is attached ---- */

static sunrealtype step(CPIntegrator s) { return ((CPOneStep)s)->h; }

static int weights(CPIntegrator s, N_Vector ewt) {
  N_VScale(1.0, s->ewt, ewt);
  return CP_SUCCESS;
}

static int rates(CPIntegrator s, sunrealtype *t, N_Vector ydot) {
  const CPOneStep mem = (CPOneStep)s;
  const sunrealtype h = s->t - mem->tlast;
  *t                  = s->t;
  if (!mem->have_step || h == 0.0) return 0;
  const sunrealtype *y = cpData(s->y), *ylast = cpData(mem->ylast); /* of a mechanical system */
  sunrealtype *yd      = cpData(ydot);
  const sunindextype n = N_VGetLength(ydot);
  for (sunindextype i = 0; i < n; i++) yd[i] = (y[i] - ylast[i]) * (1.0 / h);
  return 1;
}

void *cpOneStepUserData(CPIntegrator s) {
  return s->system.data ? s->system.data : ((CPOneStep)s)->user_data;
}

static CPIteration iteration(CPIntegrator s) {
  return ((CPOneStep)s)->method->implicit ? CP_IMPLICIT : CP_EXPLICIT;
}

static int setSystem(CPIntegrator s, const CPSystem *system) {
  s->system = *system;
  return CP_SUCCESS;
}

static const CPIntegratorOps ops = {.free       = freeOwn,
                                    .init       = init,
                                    .reinit     = reinit,
                                    .evolve     = cpOneStepEvolve,
                                    .tolerances = newTolerances,
                                    .projector  = newProjector,
                                    .user_data  = setUserData,
                                    .jacobian   = setJacobian,
                                    .batch      = setBatch,
                                    .first_step = setFirstStep,
                                    .size       = setSize,
                                    .max_steps  = setMaxSteps,
                                    .stop       = setStop,
                                    .roots      = cpOneStepRoots,
                                    .direction  = cpOneStepDirection,
                                    .found      = cpOneStepFound,
                                    .window     = cpOneStepWindow,
                                    .dky        = cpOneStepDky,
                                    .errors     = cpOneStepErrors,
                                    .carry      = cpOneStepCarry,
                                    .carried    = cpOneStepCarried,
                                    .method     = method,
                                    .steps      = stepsTaken,
                                    .stats      = cpOneStepStats,
                                    .step       = step,
                                    .weights    = weights,
                                    .rates      = rates,
                                    .data       = cpOneStepUserData,
                                    .iteration  = iteration,
                                    .system     = setSystem};
