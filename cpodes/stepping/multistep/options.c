/* Options of CPode. */
#include "integrator_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int missing(const char *function) {
  return cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
}

/* CVODES 6 has told the handler of our own memory; 7, and attached memory, tell somebody else. */
int cpOfCVODES(CPodeMem mem, int flag, const char *function) {
#ifdef CP_CVODES_HAS_EHFUN
  if (!mem->attached) return flag;
#endif
  if (flag >= 0) return flag;
  char *name = CVodeGetReturnFlagName(flag);
  cpReport(&mem->log, flag, function, "CVODES returned %s (%d)", name ? name : "an error", flag);
  free(name);
  return flag;
}

static int applyScaled(CPodeMem mem) {
  const CPTolKind kind = mem->tol.kind;
  return kind == CP_TOL_NONE || kind == CP_TOL_CVODES
             ? CP_SUCCESS
             : CVodeWFtolerances(mem->cvode_mem, cpScaledWeights);
}

int cpApplyTolerances(CPodeMem mem) {
  const CPTolerances *tol = &mem->tol;
  if (mem->model.scale) return applyScaled(mem);
  switch (tol->kind) {
  case CP_TOL_SS: return CVodeSStolerances(mem->cvode_mem, tol->reltol, tol->abstol);
  case CP_TOL_SV: return CVodeSVtolerances(mem->cvode_mem, tol->reltol, tol->vabstol);
  case CP_TOL_WF: return CVodeWFtolerances(mem->cvode_mem, tol->efun);
  default: return CP_SUCCESS;
  }
}

/* flag: of the check. */
static int applied(CPodeMem mem, int flag, const char *function) {
  if (flag) return flag;
  mem->tol_is_new = 1;
  if (!mem->nls.wrapper) return CP_SUCCESS; /* CPodeInit does it */
  return cpOfCVODES(mem, cpApplyTolerances(mem), function);
}

int CPodeSStolerances(CPodeMem mem, sunrealtype reltol, sunrealtype abstol) {
  if (!mem) return missing(__func__);
  return applied(mem, cpTolerancesSS(&mem->tol, reltol, abstol, &mem->log, __func__), __func__);
}

int CPodeSVtolerances(CPodeMem mem, sunrealtype reltol, N_Vector abstol) {
  if (!mem) return missing(__func__);
  return applied(mem, cpTolerancesSV(&mem->tol, reltol, abstol, mem->y_tmpl, &mem->log, __func__),
                 __func__);
}

int CPodeWFtolerances(CPodeMem mem, CVEwtFn efun) {
  if (!mem) return missing(__func__);
  return applied(mem, cpTolerancesWF(&mem->tol, efun, &mem->log, __func__), __func__);
}

int cpErrWeightsInto(CPodeMem mem, N_Vector y, N_Vector ewt) {
  CPAttempt a = {0};
  if (mem->tol.kind == CP_TOL_WF && cpAttemptRead(mem, &a)) return CP_ILL_INPUT;
  return cpModelWeights(&mem->tol, &mem->model, y, ewt, a.user_data);
}

/* Roundoff in weights, by far. */
#define SAME_WEIGHTS 1.0e-6

/* Weights that a model scales may depend on the step. All ratios are 1 if their mean square and that of their
 * inverses are. */
void cpAdoptTolerances(CPodeMem mem, N_Vector ewt) {
  if (mem->tol.kind == CP_TOL_CVODES || mem->model.scale) return;
  if (!cpErrWeights(mem, mem->ygood)) {
    N_VInv(ewt, mem->tmp);
    const sunrealtype ratio = cpWrmsNorm(mem->tmp, mem->ewt);
    N_VInv(mem->ewt, mem->tmp);
    const sunrealtype inverse = cpWrmsNorm(mem->tmp, ewt);
    if (fabs(ratio - 1.0) <= SAME_WEIGHTS && fabs(inverse - 1.0) <= SAME_WEIGHTS) return;
  }
  mem->tol.kind = CP_TOL_CVODES;
}

int cpErrWeights(CPodeMem mem, N_Vector y) { return cpErrWeightsInto(mem, y, mem->ewt); }

int CPodeSetProjector(CPodeMem mem, CPProjector P) {
  if (!mem) return missing(__func__);
  int flag = cpCheckProjector(P, mem->y_tmpl, &mem->log, __func__);
  if (flag) return flag;
  if (P && P == mem->P) { /* its data may be new; a state between two projections is no start */
    if (mem->since == 0) mem->start_checked = 0;
    cpWorkForget(mem->step), cpWorkForget(mem->out);
    return CP_SUCCESS;
  }
  flag = cpWorksCreate(P, &mem->step, &mem->out);
  if (flag) return cpReport(&mem->log, flag, __func__, "no memory");
  memset(&mem->base, 0, sizeof mem->base);
  cpOrderNormsForget(mem);
  mem->P             = P;
  mem->start_checked = 0;
  if (mem->sens.data) mem->sens.projector(mem->sens.data);
  return CP_SUCCESS;
}

/* From 7.8 on there are hybrid solvers, which are given two functions by an operation that older ones do not have. */
static int hasOneFunction(SUNNonlinearSolver inner) {
  const SUNNonlinearSolver_Type type = SUNNonlinSolGetType(inner);
  return type == SUNNONLINEARSOLVER_ROOTFIND || type == SUNNONLINEARSOLVER_FIXEDPOINT;
}

int cpLacksOperations(SUNNonlinearSolver inner) {
  return !inner->ops->gettype || !inner->ops->solve || !inner->ops->setsysfn ||
         !inner->ops->setctestfn || !hasOneFunction(inner);
}

int CPodeSetNonlinearSolver(CPodeMem mem, SUNNonlinearSolver inner) {
  long int nst = 0;
  if (!mem) return missing(__func__);
  if (inner && cpLacksOperations(inner))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__, CP_INNER_MUST);
  if (!mem->nls.wrapper) { /* CPodeInit installs it */
    mem->nls.inner = inner;
    return CP_SUCCESS;
  }
  if (CVodeGetNumSteps(mem->cvode_mem, &nst) || nst > 0)
    return cpReport(&mem->log, CP_TOO_LATE, __func__,
                    "%ld steps have been taken: call CPodeReInit first", nst);
  int flag = cpInstall(mem, inner, 0);
  if (!flag && mem->sens.data) flag = mem->sens.solver(mem->sens.data);
  return flag ? cpReport(&mem->log, flag, __func__, "the nonlinear solver could not be installed")
              : CP_SUCCESS;
}

int CPodeSetNonlinConvCoef(CPodeMem mem, sunrealtype coef) {
  if (!mem) return missing(__func__);
  if (!(coef >= 0.0) || isinf(coef))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "coef must be positive, or 0 for the default: coef = %g", coef);
  mem->coef = coef > 0.0 ? coef : CP_CV_NLSCOEF;
  return CP_SUCCESS;
}

int CPodeSetProjFrequency(CPodeMem mem, long int nsteps) {
  if (!mem) return missing(__func__);
  if (nsteps < 0)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "nsteps must be positive, or 0 for the default: nsteps = %ld", nsteps);
  mem->frequency = nsteps ? nsteps : 1;
  return CP_SUCCESS;
}

int CPodeSetProjTestCnstr(CPodeMem mem, sunbooleantype on) {
  if (!mem) return missing(__func__);
  mem->test_cnstr = on;
  return CP_SUCCESS;
}

int CPodeSetProjErrEst(CPodeMem mem, CPErrEst mode) {
  if (!mem) return missing(__func__);
  if (mode < CP_ERREST_DEFAULT || mode > CP_ERREST_ACCEPTANCE)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__, "mode must be one of CP_ERREST_..., is %d",
                    (int)mode);
  mem->errest = mode;
  return CP_SUCCESS;
}

int CPodeSetProjMaxCorrection(CPodeMem mem, sunrealtype wrms) {
  if (!mem) return missing(__func__);
  int flag = cpCheckPositive(wrms, "wrms", &mem->log, __func__);
  if (flag) return flag;
  mem->max_correction = wrms > 0.0 ? wrms : CP_MAX_CORRECTION_DEFAULT;
  return CP_SUCCESS;
}

int CPodeSetProjOutput(CPodeMem mem, sunbooleantype on) {
  if (!mem) return missing(__func__);
  mem->project_output = on;
  return CP_SUCCESS;
}

int CPodeSetErrHandlerFn(CPodeMem mem, CPErrHandlerFn handler, void *data) {
  if (!mem) return missing(__func__);
  mem->log.handler = handler;
  mem->log.data    = data;
  return CP_SUCCESS;
}

const char *CPodeGetLastMessage(CPodeMem mem) { return mem ? mem->log.text : ""; }
