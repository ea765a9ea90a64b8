/* The public functions of an integrator, whatever its method: what all methods share, and calls of the back-end. */
#include "stepper.h"

#include "multistep/multistep.h"
#include "onestep/onestep.h"

#include <math.h>
#include <string.h>

/* ---- life cycle ---- */

static void inCapitals(const char *method, char name[CP_METHOD_NAME]) {
  size_t i = 0;
  for (; method[i] && i < CP_METHOD_NAME - 1; i++) {
    name[i] = method[i];
    if (method[i] >= 'a' && method[i] <= 'z') name[i] = (char)(method[i] - 'a' + 'A');
  }
  name[i] = '\0';
}

CPIntegrator CPIntegratorCreate(const char *method, SUNContext ctx) {
  char name[CP_METHOD_NAME];
  const int is_table =
      method && !strncmp(method, "ARKODE_", 7); /* whose names have small letters as well */
  if (!ctx) return cpRefuse(NULL, __func__, "ctx must not be NULL"), NULL;
  inCapitals(method ? method : "DOP853", name);
  const int lmm = cpMultistepMethod(name);
  return lmm ? cpMultistepCreate(lmm, ctx, __func__)
             : cpOneStepCreate(is_table ? method : name, ctx, __func__);
}

CPIntegrator CPIntegratorCreateTable(ARKodeButcherTable B, SUNContext ctx) {
  if (!ctx) return cpRefuse(NULL, __func__, "ctx must not be NULL"), NULL;
  return cpOneStepCreateTable(B, ctx, __func__);
}

CPIntegrator CPIntegratorAttach(void *cvode_mem, const char *method, SUNNonlinearSolver inner,
                                N_Vector y_tmpl, SUNContext ctx) {
  char name[CP_METHOD_NAME];
  inCapitals(method ? method : "", name);
  const int lmm = cpMultistepMethod(name);
  if (!ctx) return cpRefuse(NULL, __func__, "ctx must not be NULL"), NULL;
  if (!lmm)
    return cpRefuse(NULL, __func__, "method must be BDF or ADAMS, is %s", method ? method : "NULL"),
           NULL;
  return cpMultistepAttach(cvode_mem, lmm, inner, y_tmpl, ctx, __func__);
}

void CPIntegratorFree(CPIntegrator *mem) {
  const CPIntegrator s = mem ? *mem : NULL;
  if (!s || cpIdle(&s->log, __func__)) return;
  if (s->sens) s->free_sens(s->sens);
  s->ops->free(s);
  free(s);
  *mem = NULL;
}

int CPIntegratorInit(CPIntegrator mem, CVRhsFn f, sunrealtype t0, N_Vector y0) {
  int flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  if (!f) return cpRefuse(&mem->log, __func__, "f must not be NULL");
  if (mem->initialised)
    return cpRefuse(&mem->log, __func__, "mem is initialised: use CPIntegratorReInit");
  flag = cpStepperCheckStart(mem, t0, y0, __func__);
  if (flag) return flag;
  if (mem->begun)
    return cpRefuse(
        &mem->log, __func__,
        "mem is what an earlier CPIntegratorInit left when it failed: create another one");
  return mem->ops->init(mem, f, t0, y0, __func__);
}

int CPIntegratorReInit(CPIntegrator mem, sunrealtype t0, N_Vector y0) {
  int flag = cpStepperCheck(mem, __func__);
  if (!flag) flag = cpStepperCheckStart(mem, t0, y0, __func__);
  return flag ? flag : mem->ops->reinit(mem, t0, y0, __func__);
}

/* ---- tolerances ---- */

static int setTolerances(CPIntegrator mem, CPTolerances tol, const char *function) {
  const int flag = cpStepperSetTolerances(mem, tol, function);
  return flag ? flag : mem->ops->tolerances(mem, function);
}

int CPIntegratorSStolerances(CPIntegrator mem, sunrealtype reltol, sunrealtype abstol) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_SS, .reltol = reltol, .abstol = abstol},
                       __func__);
}

int CPIntegratorSVtolerances(CPIntegrator mem, sunrealtype reltol, N_Vector abstol) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_SV, .reltol = reltol, .vabstol = abstol},
                       __func__);
}

int CPIntegratorWFtolerances(CPIntegrator mem, CVEwtFn efun) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_WF, .efun = efun}, __func__);
}

/* ---- options ---- */

/* Returns 0, or a reported code if the integrator does not exist or its method lacks an entry of its table. */
static int has(CPIntegrator mem, int entry, const char *others, const char *function) {
  if (entry) return CP_SUCCESS;
  return cpReport(&mem->log, CP_NOT_SUPPORTED, function, "the method %s does not have this: %s",
                  mem->ops->method(mem, NULL, NULL, NULL), others);
}
static const char multistep_only[] = "BDF and ADAMS do", radau_only[] = "RADAU does",
                  onestep_only[] = "one-step methods do";

/* Calls an entry of the back-end's table, or reports that there is none. */
#define DISPATCH(mem, entry, others, ...)                                      \
  do {                                                                         \
    int flag_ = cpStepperIdle(mem, __func__);                                  \
    if (!flag_) flag_ = has(mem, (mem)->ops->entry != NULL, others, __func__); \
    return flag_ ? flag_ : (mem)->ops->entry(mem, __VA_ARGS__);                \
  } while (0)

int CPIntegratorSetUserData(CPIntegrator mem, void *user_data) {
  const int flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  if (mem->system.data)
    return cpReport(&mem->log, CP_NOT_SUPPORTED, __func__,
                    "user_data is the attached mechanical system: CPMechSetUserData is for the "
                    "data of its functions");
  return mem->ops->user_data(mem, user_data, __func__);
}

int CPIntegratorSetProjector(CPIntegrator mem, CPProjector P) {
  const int same = mem && P && P == mem->P;
  const int flag = cpStepperSetProjector(mem, P, __func__);
  if (!flag) mem->ops->projector(mem, same);
  return flag;
}

int CPIntegratorSetProjFrequency(CPIntegrator mem, long int nsteps, int violated) {
  int flag = cpStepperIdle(mem, __func__);
  if (!flag) flag = has(mem, mem->ops->frequency != NULL, multistep_only, __func__);
  if (flag) return flag;
  if (nsteps < 0)
    return cpRefuse(&mem->log, __func__,
                    "nsteps must be positive, or 0 for the default: nsteps = %ld", nsteps);
  mem->test_cnstr = violated != 0;
  mem->ops->frequency(mem, nsteps ? nsteps : 1);
  return CP_SUCCESS;
}

int CPIntegratorSetErrEst(CPIntegrator mem, CPErrEst mode) {
  const int flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  if (mode < CP_ERREST_DEFAULT || mode > CP_ERREST_UNPROJECTED)
    return cpRefuse(&mem->log, __func__, "mode must be one of CP_ERREST_..., is %d", (int)mode);
  if (mode == CP_ERREST_PROJECTED && mem->ops->iteration(mem) == CP_IMPLICIT)
    return cpReport(&mem->log, CP_NOT_SUPPORTED, __func__,
                    "implicit methods test errors before the projection");
  mem->errest = mode;
  return CP_SUCCESS;
}

int CPIntegratorSetMaxCorrection(CPIntegrator mem, sunrealtype wrms) {
  const int flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  if (!(wrms >= 0.0))
    return cpRefuse(&mem->log, __func__, "wrms must be positive, or 0 for the default: wrms = %g",
                    wrms);
  mem->max_correction = wrms > 0.0 ? wrms : CP_MAX_CORRECTION_DEFAULT;
  return CP_SUCCESS;
}

int CPIntegratorSetProjOutput(CPIntegrator mem, sunbooleantype on) {
  const int flag = cpStepperIdle(mem, __func__);
  if (!flag) mem->project_output = on;
  return flag;
}

int CPIntegratorSetNonlinearSolver(CPIntegrator mem, SUNNonlinearSolver inner) {
  DISPATCH(mem, nonlinear_solver, multistep_only, inner, __func__);
}

int CPIntegratorSetJacFn(CPIntegrator mem, SUNMatrix J_tmpl, CVLsJacFn jac) {
  DISPATCH(mem, jacobian, "RADAU does, and BDF by CVodeSetJacFn", J_tmpl, jac, __func__);
}

int CPIntegratorSetRhsBatchFn(CPIntegrator mem, CPRhsBatchFn batch) {
  DISPATCH(mem, batch, radau_only, batch, __func__);
}

int CPIntegratorSetInitStep(CPIntegrator mem, sunrealtype h) {
  const int flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  if (!isfinite(h)) return cpRefuse(&mem->log, __func__, "h must be finite: h = %g", h);
  return mem->ops->first_step(mem, h, __func__);
}

static int setSize(CPIntegrator mem, CPStepSize which, sunrealtype h, const char *function) {
  int flag = cpStepperIdle(mem, function);
  if (!flag && which == CP_FIXED_STEP)
    flag = has(mem, !mem->ops->multistep, onestep_only, function);
  if (flag) return flag;
  if (!(h >= 0.0) || isinf(h))
    return cpRefuse(&mem->log, function, "h must be >= 0 and finite: h = %g", h);
  return mem->ops->size(mem, which, h, function);
}

int CPIntegratorSetMinStep(CPIntegrator mem, sunrealtype h) {
  return setSize(mem, CP_LEAST_STEP, h, __func__);
}
int CPIntegratorSetMaxStep(CPIntegrator mem, sunrealtype h) {
  const int flag = setSize(mem, CP_LARGEST_STEP, h, __func__);
  if (!flag) mem->hmax = h;
  return flag;
}
int CPIntegratorSetFixedStep(CPIntegrator mem, sunrealtype h) {
  return setSize(mem, CP_FIXED_STEP, h, __func__);
}

int CPIntegratorSetMaxNumSteps(CPIntegrator mem, long int mxsteps) {
  const int flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  if (mxsteps < -1)
    return cpRefuse(&mem->log, __func__,
                    "mxsteps must be positive, 0 for the default or -1 for no bound: mxsteps = %ld",
                    mxsteps);
  return mem->ops->max_steps(mem, mxsteps, __func__);
}

int CPIntegratorSetStopTime(CPIntegrator mem, sunrealtype tstop) {
  const int flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  if (isnan(tstop))
    return cpRefuse(&mem->log, __func__, "tstop must be finite, or infinite for none: tstop = %g",
                    tstop);
  return mem->ops->stop(mem, tstop, __func__);
}

/* ---- roots ---- */

int CPIntegratorRootInit(CPIntegrator mem, int nrtfn, CVRootFn g) {
  const int flag = cpStepperCheck(mem, __func__);
  if (flag) return flag;
  if (nrtfn < 0) return cpRefuse(&mem->log, __func__, "nrtfn must be >= 0: nrtfn = %d", nrtfn);
  if (nrtfn > 0 && !g) return cpRefuse(&mem->log, __func__, "g must not be NULL");
  return mem->ops->roots(mem, nrtfn, g, __func__);
}

int CPIntegratorSetRootData(CPIntegrator mem, void *data) {
  const int flag = cpStepperIdle(mem, __func__);
  if (!flag) mem->root_data = data;
  return flag;
}

int CPIntegratorSetRootDirection(CPIntegrator mem, const int *rootdir) {
  const int flag = cpStepperCheck(mem, __func__);
  if (flag) return flag;
  if (!rootdir) return cpRefuse(&mem->log, __func__, "rootdir must not be NULL");
  return mem->ops->direction(mem, rootdir, __func__);
}

int CPIntegratorGetRootInfo(CPIntegrator mem, int *rootsfound) {
  const int flag = cpStepperInitialised(mem, __func__);
  if (flag) return flag;
  if (!rootsfound) return cpRefuse(&mem->log, __func__, "rootsfound must not be NULL");
  return mem->ops->found(mem, rootsfound, __func__);
}

int CPIntegratorGetRootWindow(CPIntegrator mem, sunrealtype *low, sunrealtype *high) {
  const int flag = cpStepperInitialised(mem, __func__);
  if (flag) return flag;
  if (!low || !high) return cpRefuse(&mem->log, __func__, "low and high must not be NULL");
  return mem->ops->window(mem, low, high, __func__);
}

/* ---- actions ---- */

int CPIntegratorCalcIC(CPIntegrator mem, N_Vector y0) {
  int flag = cpStepperCheck(mem, __func__);
  if (!flag && y0) flag = cpStepperCheckVector(mem, y0, "y0", __func__);
  if (!flag) flag = cpStepperMakeConsistent(mem, mem->ops->steps(mem), __func__);
  if (!flag) flag = mem->ops->reinit(mem, mem->t0, mem->tmp, __func__);
  if (!flag && y0) N_VScale(1.0, mem->y0, y0);
  return flag;
}

int CPIntegratorEvolve(CPIntegrator mem, sunrealtype tout, N_Vector yout, sunrealtype *tret,
                       int itask) {
  const int flag = cpStepperCheckCall(mem, tout, yout, tret, itask, __func__);
  return flag ? flag : cpStepperEvolve(mem, tout, yout, tret, itask, __func__);
}

/* ---- results ---- */

int CPIntegratorGetDky(CPIntegrator mem, sunrealtype t, int k, N_Vector dky) {
  int flag = cpStepperCheckVector(mem, dky, "dky", __func__);
  if (!flag) flag = cpStepperIdle(mem, __func__);
  return flag ? flag : cpStepperDky(mem, t, k, dky, __func__);
}

int CPIntegratorGetEstLocalErrors(CPIntegrator mem, N_Vector ele) {
  int flag = cpStepperCheckVector(mem, ele, "ele", __func__);
  if (!flag) flag = cpStepperIdle(mem, __func__);
  if (flag) return flag;
  cpStepperTurned(mem, 1);
  flag = mem->ops->errors(mem, ele, __func__);
  cpStepperTurned(mem, 0);
  return flag;
}

int CPIntegratorGetMethod(CPIntegrator mem, const char **name, int *order, int *embedded,
                          int *stages) {
  int q = 0, p = 0, s = 0;
  const int flag = cpStepperExists(mem, __func__);
  if (flag) return flag;
  const char *method = mem->ops->method(mem, &q, &p, &s);
  if (name) *name = method;
  if (order) *order = q;
  if (embedded) *embedded = p;
  if (stages) *stages = s;
  return CP_SUCCESS;
}

static void readCounters(CPObject object, void *counters) {
  const CPIntegrator s     = (CPIntegrator)object;
  CPIntegratorStats *stats = counters;
  *stats                   = cpStepperStats(s);
  s->ops->stats(s, stats);
}

const CPKind cpIntegratorKind = {cpIntegratorCounters, readCounters, NULL};

void *CPIntegratorGetCVodeMem(CPIntegrator mem) { return mem ? cpMultistepCVodeMem(mem) : NULL; }

char *CPGetReturnFlagName(long int flag) {
  const char *name = flag ? cpCodeName(flag) : "CP_SUCCESS";
  if (!name) return CVodeGetReturnFlagName(flag);
  char *copy = malloc(strlen(name) + 1);
  return copy ? strcpy(copy, name) : NULL;
}
