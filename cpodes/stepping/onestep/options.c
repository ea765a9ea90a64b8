/* Options of CPOneStep. */
#include "onestep_impl.h"

#include <math.h>
#include <string.h>

static int missing(const char *function) {
  return cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
}

/* ---- tolerances ---- */

/* flag: of the check. Factors have the sizes of constraints in the units of other tolerances. */
static int changed(CPOneStepMem mem, int flag) {
  if (flag) return flag;
  mem->nst_tol = mem->stats.nst;
  cpWorkForget(mem->step), cpWorkForget(mem->out);
  return CP_SUCCESS;
}

int CPOneStepSStolerances(CPOneStepMem mem, sunrealtype reltol, sunrealtype abstol) {
  if (!mem) return missing(__func__);
  return changed(mem, cpTolerancesSS(&mem->tol, reltol, abstol, &mem->log, __func__));
}

int CPOneStepSVtolerances(CPOneStepMem mem, sunrealtype reltol, N_Vector abstol) {
  if (!mem) return missing(__func__);
  return changed(mem, cpTolerancesSV(&mem->tol, reltol, abstol, mem->y0, &mem->log, __func__));
}

int CPOneStepWFtolerances(CPOneStepMem mem, CVEwtFn efun) {
  if (!mem) return missing(__func__);
  return changed(mem, cpTolerancesWF(&mem->tol, efun, &mem->log, __func__));
}

int cpOneStepWeights(CPOneStepMem mem, N_Vector y, N_Vector ewt) {
  return cpModelWeights(&mem->tol, &mem->model, y, ewt, cpOneStepUserData(mem));
}

/* ---- the problem's ---- */

void *cpOneStepUserData(CPOneStepMem mem) {
  return mem->model.data ? mem->model.data : mem->user_data;
}

int CPOneStepSetUserData(CPOneStepMem mem, void *user_data) {
  if (!mem) return missing(__func__);
  if (mem->model.data)
    return cpReport(&mem->log, CP_NOT_SUPPORTED, __func__,
                    "user_data is the attached mechanical system: CPMechSetUserData is for the "
                    "data of its functions");
  mem->user_data = user_data;
  return CP_SUCCESS;
}

void *CPOneStepGetUserData(CPOneStepMem mem) { return mem ? mem->user_data : NULL; }

int CPOneStepSetErrHandlerFn(CPOneStepMem mem, CPErrHandlerFn handler, void *data) {
  if (!mem) return missing(__func__);
  mem->log.handler = handler;
  mem->log.data    = data;
  return CP_SUCCESS;
}

const char *CPOneStepGetLastMessage(CPOneStepMem mem) { return mem ? mem->log.text : ""; }

/* ---- the projection ---- */

/* The same projector once more has other data now. The start, or the newest state, is checked
 * again, and its factors are made anew. */
int CPOneStepSetProjector(CPOneStepMem mem, CPProjector P) {
  if (!mem) return missing(__func__);
  int flag = cpCheckProjector(P, mem->y0, &mem->log, __func__);
  if (flag) return flag;
  if (P && P == mem->P) {
    cpWorkForget(mem->step), cpWorkForget(mem->out);
  } else {
    if (cpWorksCreate(P, &mem->step, &mem->out))
      return cpReport(&mem->log, CP_MEM_FAIL, __func__, "no memory");
    memset(&mem->base, 0, sizeof mem->base);
    mem->P = P;
  }
  mem->start_checked = 0;
  return CP_SUCCESS;
}

int CPOneStepSetProjErrEst(CPOneStepMem mem, CPErrEst mode) {
  if (!mem) return missing(__func__);
  if (mode < CP_ERREST_DEFAULT || mode > CP_ERREST_ACCEPTANCE)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__, "mode must be one of CP_ERREST_..., is %d",
                    (int)mode);
  if (mode == CP_ERREST_ACCEPTANCE)
    return cpReport(&mem->log, CP_NOT_SUPPORTED, __func__,
                    "CP_ERREST_ACCEPTANCE is for multistep methods, which choose their order");
  if (mode == CP_ERREST_PROJECTED && mem->ops->implicit)
    return cpReport(&mem->log, CP_NOT_SUPPORTED, __func__,
                    "implicit methods test errors before the projection");
  mem->errest = mode;
  return CP_SUCCESS;
}

int CPOneStepSetProjMaxCorrection(CPOneStepMem mem, sunrealtype wrms) {
  if (!mem) return missing(__func__);
  int flag = cpCheckPositive(wrms, "wrms", &mem->log, __func__);
  if (flag) return flag;
  mem->max_correction = wrms > 0.0 ? wrms : CP_MAX_CORRECTION_DEFAULT;
  return CP_SUCCESS;
}

int CPOneStepSetProjOutput(CPOneStepMem mem, sunbooleantype on) {
  if (!mem) return missing(__func__);
  mem->project_output = on;
  return CP_SUCCESS;
}

/* ---- step sizes ---- */

int CPOneStepSetInitStep(CPOneStepMem mem, sunrealtype h) {
  if (!mem) return missing(__func__);
  if (!isfinite(h))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__, "h must be finite: h = %g", h);
  if (h * mem->dir < 0.0)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "h must lead in the direction of integration: h = %g", h);
  mem->hinit = h;
  mem->h     = mem->dir != 0.0 ? h : 0.0;
  return CP_SUCCESS;
}

/* h >= 0 and finite, into *place. */
static int setSize(CPOneStepMem mem, sunrealtype h, sunrealtype *place, const char *function) {
  if (!(h >= 0.0) || isinf(h))
    return cpReport(&mem->log, CP_ILL_INPUT, function, "h must be >= 0 and finite: h = %g", h);
  *place = h;
  return CP_SUCCESS;
}

static int checkBounds(CPOneStepMem mem, sunrealtype hmin, sunrealtype hmax, const char *function) {
  if (hmax <= 0.0 || !(hmin > hmax)) return CP_SUCCESS;
  return cpReport(&mem->log, CP_ILL_INPUT, function,
                  "h must leave the least step, %g, below the largest, %g", hmin, hmax);
}

int CPOneStepSetMinStep(CPOneStepMem mem, sunrealtype h) {
  if (!mem) return missing(__func__);
  int flag = checkBounds(mem, h, mem->hmax, __func__);
  return flag ? flag : setSize(mem, h, &mem->hmin, __func__);
}

int CPOneStepSetMaxStep(CPOneStepMem mem, sunrealtype h) {
  if (!mem) return missing(__func__);
  int flag = checkBounds(mem, mem->hmin, h, __func__);
  return flag ? flag : setSize(mem, h, &mem->hmax, __func__);
}

int CPOneStepSetFixedStep(CPOneStepMem mem, sunrealtype h) {
  if (!mem) return missing(__func__);
  return setSize(mem, h, &mem->hfixed, __func__);
}

int CPOneStepSetMaxNumSteps(CPOneStepMem mem, long int mxsteps) {
  if (!mem) return missing(__func__);
  if (mxsteps < -1)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "mxsteps must be positive, 0 for the default or -1 for no bound: mxsteps = %ld",
                    mxsteps);
  mem->mxsteps = mxsteps ? mxsteps : CP_MXSTEPS_DEFAULT;
  return CP_SUCCESS;
}

int CPOneStepSetStopTime(CPOneStepMem mem, sunrealtype tstop) {
  if (!mem) return missing(__func__);
  if (!isfinite(tstop))
    return cpReport(&mem->log, CP_ILL_INPUT, __func__, "tstop must be finite: tstop = %g", tstop);
  if ((tstop - mem->t) * mem->dir < 0.0)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "tstop must not lie behind t = %.15g: tstop = %.15g", mem->t, tstop);
  mem->tstop      = tstop;
  mem->have_tstop = 1;
  return CP_SUCCESS;
}

int CPOneStepClearStopTime(CPOneStepMem mem) {
  if (!mem) return missing(__func__);
  mem->have_tstop = 0;
  return CP_SUCCESS;
}
