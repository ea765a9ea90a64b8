/* Options of CPode. */
#include "integrator_impl.h"

#include <math.h>
#include <string.h>

static int missing(const char *function) {
  return cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
}

/* Weights that a model scales. CVODES' user_data is its data, which start with its integrator. */
static int scaledWeights(N_Vector y, N_Vector ewt, void *user_data);

static int applyScaled(CPodeMem mem) {
  return mem->tol == CP_TOL_NONE ? CP_SUCCESS : CVodeWFtolerances(mem->cvode_mem, scaledWeights);
}

int cpApplyTolerances(CPodeMem mem) {
  if (mem->model.scale) return applyScaled(mem);
  switch (mem->tol) {
  case CP_TOL_SS: return CVodeSStolerances(mem->cvode_mem, mem->reltol, mem->abstol);
  case CP_TOL_SV: return CVodeSVtolerances(mem->cvode_mem, mem->reltol, mem->vabstol);
  case CP_TOL_WF: return CVodeWFtolerances(mem->cvode_mem, mem->efun);
  default: return CP_SUCCESS;
  }
}

static int checkReltol(CPodeMem mem, sunrealtype reltol, const char *function) {
  if (!(reltol >= 0.0) || isinf(reltol))
    return cpReport(&mem->log, CP_ILL_INPUT, function,
                    "reltol must be >= 0 and finite: reltol = %g", reltol);
  return CP_SUCCESS;
}

static int applied(CPodeMem mem, CPTolKind kind) {
  mem->tol        = kind;
  mem->tol_is_new = 1;
  return mem->nls.wrapper ? cpApplyTolerances(mem) : CP_SUCCESS; /* else CPodeInit does it */
}

int CPodeSStolerances(CPodeMem mem, sunrealtype reltol, sunrealtype abstol) {
  if (!mem) return missing(__func__);
  int flag = checkReltol(mem, reltol, __func__);
  if (flag) return flag;
  if (!(abstol >= 0.0) || isinf(abstol))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "abstol must be >= 0 and finite: abstol = %g", abstol);
  mem->reltol = reltol;
  mem->abstol = abstol;
  return applied(mem, CP_TOL_SS);
}

int CPodeSVtolerances(CPodeMem mem, sunrealtype reltol, N_Vector abstol) {
  if (!mem) return missing(__func__);
  int flag = checkReltol(mem, reltol, __func__);
  if (flag) return flag;
  if (!abstol) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "abstol must not be NULL");
  if (mem->y_tmpl && N_VGetLength(abstol) != N_VGetLength(mem->y_tmpl))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "abstol must have the length of the state, %ld, has %ld",
                    (long)N_VGetLength(mem->y_tmpl), (long)N_VGetLength(abstol));
  if (!(N_VMin(abstol) >= 0.0) || !cpVectorFinite(abstol))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "abstol must be >= 0 and finite: its least entry is %g", N_VMin(abstol));
  N_Vector copy = N_VClone(abstol);
  if (!copy) return cpReport(&mem->log, CP_MEM_FAIL, __func__, "no memory");
  N_VScale(1.0, abstol, copy);
  if (mem->vabstol) N_VDestroy(mem->vabstol);
  mem->vabstol = copy;
  mem->reltol  = reltol;
  return applied(mem, CP_TOL_SV);
}

int CPodeWFtolerances(CPodeMem mem, CVEwtFn efun) {
  if (!mem) return missing(__func__);
  if (!efun) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "efun must not be NULL");
  mem->efun = efun;
  return applied(mem, CP_TOL_WF);
}

/* ewt_i = 1 / (rtol |y_i| + atol_i) */
static int weights(CPodeMem mem, N_Vector y, N_Vector ewt) {
  CPAttempt a;
  switch (mem->tol) {
  case CP_TOL_WF:
    if (cpAttemptRead(mem, &a) || mem->efun(y, ewt, a.user_data)) return CP_ILL_INPUT;
    return N_VMin(ewt) > 0.0 ? CP_SUCCESS : CP_ILL_INPUT;
  case CP_TOL_SS:
  case CP_TOL_SV:
    N_VAbs(y, ewt);
    N_VScale(mem->reltol, ewt, ewt);
    if (mem->tol == CP_TOL_SS) N_VAddConst(ewt, mem->abstol, ewt);
    else N_VLinearSum(1.0, ewt, 1.0, mem->vabstol, ewt);
    if (!(N_VMin(ewt) > 0.0)) return CP_ILL_INPUT;
    N_VInv(ewt, ewt);
    return CP_SUCCESS;
  default: return CP_NO_INIT;
  }
}

static int modelWeights(CPodeMem mem, N_Vector y, N_Vector ewt) {
  const int flag = weights(mem, y, ewt);
  return flag || !mem->model.scale ? flag : mem->model.scale(ewt, mem->model.data);
}

int cpErrWeights(CPodeMem mem, N_Vector y) { return modelWeights(mem, y, mem->ewt); }

static int scaledWeights(N_Vector y, N_Vector ewt, void *user_data) {
  return modelWeights(*(CPodeMem *)user_data, y, ewt);
}

int cpSetModel(CPodeMem mem, const CPModel *model) {
  const int flag = CVodeSetUserData(mem->cvode_mem, model->data);
  mem->model     = *model;
  return flag || !model->scale ? flag : cpApplyTolerances(mem);
}

void cpLoseModel(CPodeMem mem) {
  CPodeSetProjector(mem, NULL);
  memset(&mem->model, 0, sizeof mem->model);
  mem->model_gone = 1;
}

/* The factors for steps and for output are apart, so that asking for output never changes a
 * trajectory. */
int cpWorksCreate(CPodeMem mem) {
  CPWork step = NULL, out = NULL;
  if (mem->P && (cpWorkCreate(&step, mem->P) || cpWorkCreate(&out, mem->P))) {
    cpWorkFree(&step);
    return CP_MEM_FAIL;
  }
  cpWorkFree(&mem->step);
  cpWorkFree(&mem->out);
  memset(&mem->base, 0, sizeof mem->base);
  mem->step = step;
  mem->out  = out;
  return CP_SUCCESS;
}

int CPodeSetProjector(CPodeMem mem, CPProjector P) {
  if (!mem) return missing(__func__);
  if (P && mem->y_tmpl && N_VGetLength(P->y_tmpl) != N_VGetLength(mem->y_tmpl))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "P must be for states of length %ld, is for %ld",
                    (long)N_VGetLength(mem->y_tmpl), (long)N_VGetLength(P->y_tmpl));
  if (P && mem->y_tmpl && P->in_memory && !cpHasData(mem->y_tmpl))
    return cpReport(
        &mem->log, CP_ILL_INPUT, __func__,
        "P needs states in one memory (serial, OpenMP, pthreads): use CPProjectorCreateUser");
  if (P && P == mem->P) { /* its data may be new; a state between two projections is no start */
    if (mem->since == 0) mem->start_checked = 0;
    mem->step->valid = mem->out->valid = 0;
    return CP_SUCCESS;
  }
  CPProjector before = mem->P;
  mem->P             = P;
  if (cpWorksCreate(mem)) {
    mem->P = before;
    return cpReport(&mem->log, CP_MEM_FAIL, __func__, "no memory");
  }
  mem->start_checked = 0;
  if (mem->sens.data) mem->sens.projector(mem->sens.data);
  return CP_SUCCESS;
}

int cpLacksOperations(SUNNonlinearSolver inner) {
  return !inner->ops->gettype || !inner->ops->solve || !inner->ops->setsysfn ||
         !inner->ops->setctestfn;
}

int CPodeSetNonlinearSolver(CPodeMem mem, SUNNonlinearSolver inner) {
  long int nst = 0;
  if (!mem) return missing(__func__);
  if (inner && cpLacksOperations(inner))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "inner must have the operations gettype, solve, setsysfn and setctestfn");
  if (!mem->nls.wrapper) { /* CPodeInit installs it */
    mem->nls.inner = inner;
    return CP_SUCCESS;
  }
  if (CVodeGetNumSteps(mem->cvode_mem, &nst) || nst > 0)
    return cpReport(&mem->log, CP_TOO_LATE, __func__,
                    "%ld steps have been taken: call CPodeReInit first", nst);
  int flag = cpInstall(mem, inner, 0);
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
  if (!(wrms >= 0.0))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "wrms must be positive, or 0 for the default: wrms = %g", wrms);
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
