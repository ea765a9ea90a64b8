/* Options of CPode, and the system attached to it. */
#include "multistep_impl.h"

#include <cvodes/cvodes_ls.h>
#include <math.h>
#include <stdlib.h>

/* CVODES 6 reports errors to the handler that our own memory was given. CVODES 7 and attached
 * memory report elsewhere, so the error is reported here as well. */
int cpOfCVODES(CPodeMem mem, int flag, const char *function) {
#ifdef CP_CVODES_HAS_EHFUN
  if (!mem->attached) return flag;
#endif
  if (flag >= 0) return flag;
  char *name = CVodeGetReturnFlagName(flag);
  cpReport(&mem->base.log, flag, function, "CVODES returned %s (%d)", name ? name : "an error",
           flag);
  free(name);
  return flag;
}

/* ---- tolerances ---- */

/* CVODES' user_data is the system, which begins with its integrator. */
static int scaledWeights(N_Vector y, N_Vector ewt, void *data) {
  return cpStepperWeights(*(CPStepper *)data, y, ewt);
}

int cpApplyTolerances(CPodeMem mem) {
  const CPTolerances *tol = &mem->base.tol;
  if (tol->kind == CP_TOL_NONE || tol->kind == CP_TOL_CVODES) return CP_SUCCESS;
  if (mem->base.system.scale) return CVodeWFtolerances(mem->cvode_mem, scaledWeights);
  if (tol->kind == CP_TOL_WF) return CVodeWFtolerances(mem->cvode_mem, tol->efun);
  return tol->kind == CP_TOL_SS ? CVodeSStolerances(mem->cvode_mem, tol->reltol, tol->abstol)
                                : CVodeSVtolerances(mem->cvode_mem, tol->reltol, tol->vabstol);
}

static int setTolerances(CPodeMem mem, CPTolerances tol, const char *function) {
  const int flag = cpStepperSetTolerances((CPStepper)mem, tol, function);
  if (flag) return flag;
  mem->tol_is_new = 1;
  if (!mem->base.initialised) return CP_SUCCESS; /* CPodeInit applies them */
  return cpOfCVODES(mem, cpApplyTolerances(mem), function);
}

int CPodeSStolerances(CPodeMem mem, sunrealtype reltol, sunrealtype abstol) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_SS, .reltol = reltol, .abstol = abstol},
                       __func__);
}

int CPodeSVtolerances(CPodeMem mem, sunrealtype reltol, N_Vector abstol) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_SV, .reltol = reltol, .vabstol = abstol},
                       __func__);
}

int CPodeWFtolerances(CPodeMem mem, CVEwtFn efun) {
  return setTolerances(mem, (CPTolerances){.kind = CP_TOL_WF, .efun = efun}, __func__);
}

/* Far above the roundoff of weights. */
#define SAME_WEIGHTS 1.0e-6

/* All ratios of the entries of two weight vectors are 1 if the mean squares of the ratios and of
 * their inverses are 1. Weights that a system scales may depend on the step, and are not
 * compared. */
void cpAdoptTolerances(CPodeMem mem, N_Vector ewt) {
  const CPStepper s = &mem->base;
  if (s->tol.kind == CP_TOL_CVODES || s->system.scale) return;
  if (!cpStepperWeights(s, s->y, s->ewt)) {
    N_VInv(ewt, s->tmp);
    const sunrealtype ratio = cpWrmsNorm(s->tmp, s->ewt);
    N_VInv(s->ewt, s->tmp);
    const sunrealtype inverse = cpWrmsNorm(s->tmp, ewt);
    if (fabs(ratio - 1.0) <= SAME_WEIGHTS && fabs(inverse - 1.0) <= SAME_WEIGHTS) return;
  }
  s->tol.kind = CP_TOL_CVODES;
}

/* ---- the projection ---- */

static int checkOption(CPodeMem mem, double value, const char *name, const char *function) {
  const int flag = cpStepperIdle((CPStepper)mem, function);
  if (flag || (value >= 0.0 && !isinf(value))) return flag;
  return cpRefuse(&mem->base.log, function, "%s must be positive, or 0 for the default: %s = %g",
                  name, name, value);
}

int CPodeSetProjector(CPodeMem mem, CPProjector P) {
  const int same = mem && P && P == mem->base.P;
  const int flag = cpStepperSetProjector((CPStepper)mem, P, __func__);
  if (flag) return flag;
  /* The same projector may have new data, so the state is checked again, unless it was left
   * unprojected. */
  if (!same || mem->last.since == 0) mem->base.start_checked = 0;
  if (same) return CP_SUCCESS;
  cpOrderNormsForget(mem);
  if (mem->sens.data) mem->sens.projector(mem->sens.data);
  return CP_SUCCESS;
}

int CPodeSetProjFrequency(CPodeMem mem, long int nsteps) {
  const int flag = checkOption(mem, (double)nsteps, "nsteps", __func__);
  if (!flag) mem->frequency = nsteps ? nsteps : 1;
  return flag;
}

int CPodeSetProjTestCnstr(CPodeMem mem, sunbooleantype on) {
  const int flag = cpStepperIdle((CPStepper)mem, __func__);
  if (!flag) mem->base.test_cnstr = on;
  return flag;
}

int CPodeSetProjErrEst(CPodeMem mem, CPErrEst mode) {
  return cpStepperSetErrEst((CPStepper)mem, mode, __func__);
}

int CPodeSetProjMaxCorrection(CPodeMem mem, sunrealtype wrms) {
  return cpStepperSetMaxCorrection((CPStepper)mem, wrms, __func__);
}

int CPodeSetProjOutput(CPodeMem mem, sunbooleantype on) {
  return cpStepperSetOutput((CPStepper)mem, on, __func__);
}

/* ---- the nonlinear solver ---- */

/* Hybrid solvers (SUNDIALS 7.8 and later) receive two functions by an operation that older solvers
 * do not have. */
int cpLacksOperations(SUNNonlinearSolver inner) {
  if (!inner->ops->gettype || !inner->ops->solve || !inner->ops->setsysfn || !inner->ops->setctestfn)
    return 1;
  const SUNNonlinearSolver_Type type = SUNNonlinSolGetType(inner);
  return type != SUNNONLINEARSOLVER_ROOTFIND && type != SUNNONLINEARSOLVER_FIXEDPOINT;
}

int cpCheckNoSteps(CPodeMem mem, const char *function) {
  if (cpStepsTaken(mem) == 0) return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_TOO_LATE, function,
                  "%ld steps have been taken: call CPodeReInit first", cpStepsTaken(mem));
}

int CPodeSetNonlinearSolver(CPodeMem mem, SUNNonlinearSolver inner) {
  int flag = cpStepperIdle((CPStepper)mem, __func__);
  if (flag) return flag;
  if (inner && cpLacksOperations(inner)) return cpRefuse(&mem->base.log, __func__, CP_INNER_MUST);
  if (!mem->base.initialised) { /* CPodeInit will install it */
    mem->nls.inner = inner;
    return CP_SUCCESS;
  }
  flag = cpCheckNoSteps(mem, __func__);
  if (flag) return flag;
  flag = cpInstall(mem, inner, 0);
  if (!flag && mem->sens.data) flag = mem->sens.solver(mem->sens.data);
  return flag ? cpReport(&mem->base.log, flag, __func__,
                         "the nonlinear solver could not be installed")
              : CP_SUCCESS;
}

int CPodeSetNonlinConvCoef(CPodeMem mem, sunrealtype coef) {
  const int flag = checkOption(mem, coef, "coef", __func__);
  if (!flag) mem->coef = coef > 0.0 ? coef : CP_CV_NLSCOEF;
  return flag;
}

/* ---- messages ---- */

int CPodeSetErrHandlerFn(CPodeMem mem, CPErrHandlerFn handler, void *data) {
  return cpStepperSetErrHandler((CPStepper)mem, handler, data, __func__);
}

const char *CPodeGetLastMessage(CPodeMem mem) { return mem ? mem->base.log.text : ""; }

/* ---- an attached system ---- */

int cpSetSystem(CPodeMem mem, const CPSystem *system) {
  CVodeSetUserData(mem->cvode_mem, system->data); /* fails only if cvode_mem is NULL */
  mem->base.system = *system;
  return system->scale ? cpApplyTolerances(mem) : CP_SUCCESS;
}

static sunrealtype size(CPStepper s) {
  sunrealtype h = 0.0;
  CVodeGetCurrentStep(((CPodeMem)s)->cvode_mem, &h);
  return h;
}

static int weights(CPStepper s, N_Vector ewt) {
  return CVodeGetErrWeights(((CPodeMem)s)->cvode_mem, ewt);
}

static void *userData(CPStepper s) {
  CPAttempt a = {0};
  cpAttemptRead((CPodeMem)s, &a);
  return a.user_data;
}

static int setProjector(CPStepper s, CPProjector P) { return CPodeSetProjector((CPodeMem)s, P); }

static int linearSystem(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix S, sunbooleantype jok,
                        sunbooleantype *jcur, sunrealtype gamma, void *data, N_Vector tmp1,
                        N_Vector tmp2, N_Vector tmp3) {
  const CPStepper s = *(CPStepper *)data;
  (void)fy, (void)S, (void)tmp1, (void)tmp2, (void)tmp3;
  return s->system.linsys(t, y, jok, jcur, gamma, data);
}

int cpSetLinearSolver(CPodeMem mem, SUNLinearSolver LS, SUNMatrix S) {
  /* Its codes differ from CVode's; the only possible failure is a lack of memory. */
  if (CVodeSetLinearSolver(mem->cvode_mem, LS, S)) return CP_MEM_FAIL;
  return CVodeSetLinSysFn(mem->cvode_mem, linearSystem);
}

const CPStepperOps cpMultistepOps = {.name          = "CPode",
                                     .multistep     = 1,
                                     .size          = size,
                                     .weights       = weights,
                                     .user_data     = userData,
                                     .set_projector = setProjector};
