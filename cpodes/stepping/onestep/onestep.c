/* CPOneStepMem: methods by name, life cycle, options. */
#include "onestep_impl.h"

#include "cpodes/matrix/matrix.h"

#include <arkode/arkode_butcher_erk.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MXSTEPS_DEFAULT 500

/* ---- methods ---- */

/* Tolerance of the sums of a table's entries, in roundoffs of the largest entry (at least 1). */
#define TABLE_ROUNDOFF 1.0e6

static int rowIsConsistent(const sunrealtype *row, int stages, sunrealtype sum) {
  sunrealtype largest = 1.0;
  for (int j = 0; j < stages; j++) {
    sum -= row[j];
    largest = fmax(largest, fabs(row[j]));
  }
  return fabs(sum) <= TABLE_ROUNDOFF * CP_UROUND * largest;
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

/* ---- functions for the base (CPStepperOps) ---- */

static sunrealtype size(CPStepper s) { return ((CPOneStepMem)s)->h; }

static int weights(CPStepper s, N_Vector ewt) {
  N_VScale(1.0, s->ewt, ewt);
  return CP_SUCCESS;
}

void *cpOneStepUserData(CPStepper s) {
  return s->system.data ? s->system.data : ((CPOneStepMem)s)->user_data;
}

static int setProjector(CPStepper s, CPProjector P) {
  return CPOneStepSetProjector((CPOneStepMem)s, P);
}

static const CPStepperOps ops = {.name          = "CPOneStep",
                                 .size          = size,
                                 .weights       = weights,
                                 .user_data     = cpOneStepUserData,
                                 .set_projector = setProjector};

/* ---- creation ---- */

void cpOneStepFreeTable(void *B) { ARKodeButcherTable_Free(B); }

/* Takes ownership of B, which is NULL if the method has coefficients of its own, as DOP853. */
static CPOneStepMem newIntegrator(const char *name, const CPOneStepMethod *method,
                                  ARKodeButcherTable B, SUNContext ctx, const char *function) {
  CPOneStepMem mem = calloc(1, sizeof *mem);
  if (mem) {
    cpStepperCreate(&mem->base, &ops, ctx);
    mem->method = method;
    if (B) mem->table = cpArenaOwn(&mem->memory, B, cpOneStepFreeTable);
    mem->mxsteps = MXSTEPS_DEFAULT;
    snprintf(mem->name, sizeof mem->name, "%s", name);
    if (cpArenaStatus(&mem->memory) || mem->method->create(mem)) CPOneStepFree(&mem);
  } else ARKodeButcherTable_Free(B);
  if (!mem) cpReport(NULL, CP_MEM_FAIL, function, "no memory for an integrator");
  return mem;
}

CPOneStepMem CPOneStepCreate(const char *method, SUNContext ctx) {
  if (!ctx) return cpRefuse(NULL, __func__, "ctx must not be NULL"), NULL;
  if (!method || !strcmp(method, CP_DOP853))
    return newIntegrator(CP_DOP853, &cpExplicitMethod, NULL, ctx, __func__);
  if (!strcmp(method, CP_RADAU) || !strcmp(method, CP_RADAU5) || !strcmp(method, CP_RADAU9) ||
      !strcmp(method, CP_RADAU13))
    return newIntegrator(method, &cpRadauMethod, NULL, ctx, __func__);
  /* ARKODE prints a line about a name that it does not know, so it gets only names with its
   * prefix. */
  ARKodeButcherTable B = strncmp(method, "ARKODE_", sizeof "ARKODE_" - 1)
                             ? NULL
                             : ARKodeButcherTable_LoadERKByName(method);
  char text[CP_TEXT_LENGTH];
  const char *rule = NULL;
  if (!B)
    rule = "is none of DOP853, RADAU, RADAU5, RADAU9, RADAU13 and the explicit tables of this "
           "ARKODE's "
           "(ARKODE_...)";
  else if (!B->d) rule = "has no embedded method: CPOneStepCreateTable takes it, for fixed steps";
  else rule = brokenRule(B, text);
  if (!rule) return newIntegrator(method, &cpExplicitMethod, B, ctx, __func__);
  ARKodeButcherTable_Free(B);
  return cpRefuse(NULL, __func__, "the method \"%s\" %s", method, rule), NULL;
}

CPOneStepMem CPOneStepCreateTable(ARKodeButcherTable B, SUNContext ctx) {
  char text[CP_TEXT_LENGTH];
  const char *rule = ctx ? brokenRule(B, text) : "ctx must not be NULL";
  if (rule) return cpRefuse(NULL, __func__, "%s", rule), NULL;
  ARKodeButcherTable copy = ARKodeButcherTable_Copy(B);
  if (!copy) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for an integrator"), NULL;
  return newIntegrator("a table of the user's", &cpExplicitMethod, copy, ctx, __func__);
}

void CPOneStepFree(CPOneStepMem *mem_address) {
  CPOneStepMem mem = mem_address ? *mem_address : NULL;
  if (!mem || cpIdle(&mem->base.log, __func__)) return;
  cpRootsFree(&mem->roots);
  if (mem->J_tmpl) SUNMatDestroy(mem->J_tmpl);
  cpStepperFree(&mem->base);
  cpArenaFree(&mem->memory);
  free(mem);
  *mem_address = NULL;
}

/* ---- starts ---- */

/* A restart keeps the step size. After a root it is limited to the time from the last start to the
 * root: where the error is zero at any size (free fall), steps would otherwise grow from event to
 * event. */
static void restart(CPOneStepMem mem, sunrealtype t0, N_Vector y0) {
  const CPStepper s = &mem->base;
  sunrealtype h     = fabs(mem->h);
  if (cpRootsAt(&mem->roots, t0) && t0 != s->t0) h = fmin(h, fabs(t0 - s->t0));
  mem->h = h > cpLeastStep(t0) ? copysign(h, mem->h) : 0.0;
  cpStepperRestart(s, t0, y0);
  mem->tlast = mem->tret = t0;
  mem->dir               = 0.0;
  mem->started = mem->have_step = mem->have_err = mem->failed = 0;
  mem->nst_tol                                                = 0;
  mem->roots.have_lo = mem->roots.pending = 0;
  mem->stats                              = (CPOneStepStats){0};
}

int CPOneStepInit(CPOneStepMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0) {
  const CPStepper s = (CPStepper)mem;
  int flag          = cpStepperIdle(s, __func__);
  if (flag) return flag;
  if (!f) return cpRefuse(&s->log, __func__, "f must not be NULL");
  if (s->initialised) return cpRefuse(&s->log, __func__, "mem is initialised: use CPOneStepReInit");
  flag = cpStepperCheckStart(s, t0, y0, __func__);
  if (flag) return flag;
  if (mem->method->implicit && !cpHasData(y0))
    return cpRefuse(&s->log, __func__,
                    "y0 must be a vector in one memory (serial, OpenMP, pthreads) for %s",
                    mem->name);
  if (mem->J_tmpl && cpCheckPattern(&s->log, mem->J_tmpl, (int)N_VGetLength(y0),
                                    (int)N_VGetLength(y0), "J_tmpl", __func__))
    return CP_ILL_INPUT;
  N_Vector *const own[] = {&mem->ylast, &mem->ynew};
  flag                  = cpStepperAllocate(s, y0, own, 2);
  if (!flag && mem->method->init) flag = mem->method->init(mem);
  if (flag) {
    cpArenaFree(&s->memory);
    s->y0 = NULL;
    return cpReport(&s->log, flag, __func__, "no memory for an integrator");
  }
  s->f           = f;
  s->initialised = 1;
  restart(mem, t0, y0);
  return CP_SUCCESS;
}

int CPOneStepReInit(CPOneStepMem mem, sunrealtype t0, N_Vector y0) {
  int flag = cpStepperCheck((CPStepper)mem, __func__);
  if (!flag) flag = cpStepperCheckStart(&mem->base, t0, y0, __func__);
  if (!flag) restart(mem, t0, y0);
  return flag;
}

int CPOneStepCalcIC(CPOneStepMem mem) {
  int flag = cpStepperCheck((CPStepper)mem, __func__);
  if (!flag) flag = cpStepperMakeConsistent(&mem->base, mem->stats.nst, __func__);
  if (!flag) restart(mem, mem->base.t0, mem->base.tmp);
  return flag;
}

int CPOneStepGetConsistentIC(CPOneStepMem mem, N_Vector y0) {
  const int flag = cpStepperCheckVector((CPStepper)mem, y0, "y0", __func__);
  if (!flag) N_VScale(1.0, mem->base.y0, y0);
  return flag;
}

/* ---- options ---- */

/* Stored factors are discarded, because they contain the scales of constraints in units of the old
 * tolerances. */
static int setTolerances(CPOneStepMem mem, CPTolerances tol, const char *function) {
  const int flag = cpStepperSetTolerances((CPStepper)mem, tol, function);
  if (flag) return flag;
  mem->nst_tol = mem->stats.nst;
  cpWorkForget(mem->base.step), cpWorkForget(mem->base.out);
  return CP_SUCCESS;
}

int CPOneStepSStolerances(CPOneStepMem mem, sunrealtype reltol, sunrealtype abstol) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_SS, .reltol = reltol, .abstol = abstol},
                       __func__);
}

int CPOneStepSVtolerances(CPOneStepMem mem, sunrealtype reltol, N_Vector abstol) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_SV, .reltol = reltol, .vabstol = abstol},
                       __func__);
}

int CPOneStepWFtolerances(CPOneStepMem mem, CVEwtFn efun) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_WF, .efun = efun}, __func__);
}

/* Returns 0 if `what`, which only RADAU uses, may be set now, or a reported code. */
static int takes(CPOneStepMem mem, const char *what, const char *caller) {
  const int flag = cpStepperIdle((CPStepper)mem, caller);
  if (flag) return flag;
  if (!mem->method->implicit)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, caller,
                    "the method %s does not use %s of this kind: RADAU does", mem->name, what);
  if (mem->base.initialised)
    return cpReport(&mem->base.log, CP_TOO_LATE, caller, "call it before CPOneStepInit");
  return CP_SUCCESS;
}

int CPOneStepSetRhsBatchFn(CPOneStepMem mem, CPOneStepRhsBatchFn batch) {
  const int flag = takes(mem, "a function", __func__);
  if (!flag) mem->batch = batch;
  return flag;
}

int CPOneStepSetJacobian(CPOneStepMem mem, SUNMatrix J_tmpl, CVLsJacFn jac) {
  const int flag = takes(mem, "a Jacobian", __func__);
  if (flag) return flag;
  const CPStepper s = &mem->base;
  SUNMatrix copy    = J_tmpl ? SUNMatClone(J_tmpl) : NULL;
  if (J_tmpl && (!copy || SUNMatCopy(J_tmpl, copy))) {
    if (copy) SUNMatDestroy(copy);
    return cpReport(&s->log, CP_MEM_FAIL, __func__, "no memory for a template of the Jacobian");
  }
  if (mem->J_tmpl) SUNMatDestroy(mem->J_tmpl);
  mem->J_tmpl = copy;
  mem->jac    = jac;
  return CP_SUCCESS;
}

int CPOneStepSetUserData(CPOneStepMem mem, void *user_data) {
  const int flag = cpStepperIdle((CPStepper)mem, __func__);
  if (flag) return flag;
  if (mem->base.system.data)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, __func__,
                    "user_data is the attached mechanical system: CPMechSetUserData is for the "
                    "data of its functions");
  mem->user_data = user_data;
  return CP_SUCCESS;
}

void *CPOneStepGetUserData(CPOneStepMem mem) { return mem ? mem->user_data : NULL; }

int CPOneStepSetErrHandlerFn(CPOneStepMem mem, CPErrHandlerFn handler, void *data) {
  return cpStepperSetErrHandler((CPStepper)mem, handler, data, __func__);
}

const char *CPOneStepGetLastMessage(CPOneStepMem mem) { return mem ? mem->base.log.text : ""; }

/* The newest state is checked like a start, since it may be off the manifold of P. */
int CPOneStepSetProjector(CPOneStepMem mem, CPProjector P) {
  const int flag = cpStepperSetProjector((CPStepper)mem, P, __func__);
  if (!flag) mem->base.start_checked = 0;
  return flag;
}

int CPOneStepSetProjErrEst(CPOneStepMem mem, CPErrEst mode) {
  if (mem && mode == CP_ERREST_PROJECTED && mem->method->implicit)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, __func__,
                    "implicit methods test errors before the projection");
  return cpStepperSetErrEst((CPStepper)mem, mode, __func__);
}

int CPOneStepSetProjMaxCorrection(CPOneStepMem mem, sunrealtype wrms) {
  return cpStepperSetMaxCorrection((CPStepper)mem, wrms, __func__);
}

int CPOneStepSetProjOutput(CPOneStepMem mem, sunbooleantype on) {
  return cpStepperSetOutput((CPStepper)mem, on, __func__);
}

int CPOneStepSetInitStep(CPOneStepMem mem, sunrealtype h) {
  const int flag = cpStepperIdle((CPStepper)mem, __func__);
  if (flag) return flag;
  if (!isfinite(h)) return cpRefuse(&mem->base.log, __func__, "h must be finite: h = %g", h);
  if (h * mem->dir < 0.0)
    return cpRefuse(&mem->base.log, __func__, "h must lead in the direction of integration: h = %g",
                    h);
  mem->hinit = h;
  mem->h     = mem->dir != 0.0 ? h : 0.0;
  return CP_SUCCESS;
}

typedef enum { LEAST, LARGEST, FIXED } StepSize;

static int setSize(CPOneStepMem mem, StepSize which, sunrealtype h, const char *function) {
  const int flag = cpStepperIdle((CPStepper)mem, function);
  if (flag) return flag;
  const sunrealtype hmin = which == LEAST ? h : mem->hmin, hmax = which == LARGEST ? h : mem->hmax;
  if (hmax > 0.0 && hmin > hmax)
    return cpRefuse(&mem->base.log, function,
                    "h must leave the least step, %g, below the largest, %g", hmin, hmax);
  if (!(h >= 0.0) || isinf(h))
    return cpRefuse(&mem->base.log, function, "h must be >= 0 and finite: h = %g", h);
  mem->hmin = hmin;
  mem->hmax = hmax;
  if (which == FIXED) mem->hfixed = h;
  return CP_SUCCESS;
}

int CPOneStepSetMinStep(CPOneStepMem mem, sunrealtype h) {
  return setSize(mem, LEAST, h, __func__);
}

int CPOneStepSetMaxStep(CPOneStepMem mem, sunrealtype h) {
  return setSize(mem, LARGEST, h, __func__);
}

int CPOneStepSetFixedStep(CPOneStepMem mem, sunrealtype h) {
  return setSize(mem, FIXED, h, __func__);
}

int CPOneStepSetMaxNumSteps(CPOneStepMem mem, long int mxsteps) {
  const int flag = cpStepperIdle((CPStepper)mem, __func__);
  if (flag) return flag;
  if (mxsteps < -1)
    return cpRefuse(&mem->base.log, __func__,
                    "mxsteps must be positive, 0 for the default or -1 for no bound: mxsteps = %ld",
                    mxsteps);
  mem->mxsteps = mxsteps ? mxsteps : MXSTEPS_DEFAULT;
  return CP_SUCCESS;
}

int CPOneStepSetStopTime(CPOneStepMem mem, sunrealtype tstop) {
  const int flag = cpStepperIdle((CPStepper)mem, __func__);
  if (flag) return flag;
  if (!isfinite(tstop))
    return cpRefuse(&mem->base.log, __func__, "tstop must be finite: tstop = %g", tstop);
  if ((tstop - mem->base.t) * mem->dir < 0.0)
    return cpRefuse(&mem->base.log, __func__, "tstop must not lie behind t = %.15g: tstop = %.15g",
                    mem->base.t, tstop);
  mem->tstop      = tstop;
  mem->have_tstop = 1;
  return CP_SUCCESS;
}

int CPOneStepClearStopTime(CPOneStepMem mem) {
  const int flag = cpStepperIdle((CPStepper)mem, __func__);
  if (!flag) mem->have_tstop = 0;
  return flag;
}
