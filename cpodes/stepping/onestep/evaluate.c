/* What steps are made of: f, and projections of states and errors. */
#include "onestep_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- f ---- */

/* f returned result (not 0), or NaN or Inf: in place of it the reason that an attached model knows. */
static int failedRhs(CPOneStepMem mem, sunrealtype t, N_Vector ydot, int result) {
  const char *reason = NULL;
  const int code     = mem->model.cause ? mem->model.cause(&reason, mem->model.data) : 0;
  if (result && code) return cpReason(mem->text, result > 0 ? abs(code) : -abs(code), "%s", reason);
  if (result > 0)
    return cpReason(mem->text, -CV_REPTD_RHSFUNC_ERR,
                    "at t = %.15g: the right-hand side f failed recoverably (%d)", t, result);
  if (result < 0)
    return cpReason(mem->text, CV_RHSFUNC_FAIL,
                    "at t = %.15g: the right-hand side f failed for good (%d)", t, result);
  return cpReason(mem->text, -CP_RHS_NONFINITE,
                  "at t = %.15g: the right-hand side f returned NaN or Inf (component %d)", t,
                  cpFirstNonFinite(ydot));
}

int cpOneStepRhs(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector ydot, int output) {
  mem->stats.nfe++;
  if (output) mem->stats.nfe_output++;
  const int result = mem->f(t, y, ydot, cpOneStepUserData(mem));
  return !result && cpVectorFinite(ydot) ? CP_SUCCESS : failedRhs(mem, t, ydot, result);
}

/* ---- projections ---- */

static int failedProjection(CPOneStepMem mem, int flag) {
  mem->stats.nprojfails++;
  return flag;
}

sunrealtype cpOneStepMaxCorrection(CPOneStepMem mem) {
  const int is_new = mem->nst_tol > 0 && mem->stats.nst <= mem->nst_tol + 1;
  return mem->hfixed > 0.0 || is_new ? INFINITY : mem->max_correction;
}

int cpOneStepProject(CPOneStepMem mem, sunrealtype t, N_Vector y) {
  CPProjected projected;
  if (!mem->P) return CP_SUCCESS;
  N_VScale(1.0, y, mem->ytmp);
  const int flag = cpProject(mem->step, t, y, mem->ewt, 0, &projected);
  if (flag) return failedProjection(mem, cpReason(mem->text, flag, "%s", cpWorkText(mem->step)));
  mem->stats.violation = projected.violation;
  N_VLinearSum(1.0, y, -1.0, mem->ytmp, mem->ytmp);
  const sunrealtype correction = N_VWrmsNorm(mem->ytmp, mem->ewt);
  if (!(correction <= cpOneStepMaxCorrection(mem))) {
    mem->stats.nlargecorr++;
    cpExplainCorrection(mem->step, t, correction, mem->max_correction, "CPOneStep", mem->text);
    return failedProjection(mem, -CP_PROJ_CORRECTION);
  }
  mem->stats.nproj++;
  mem->stats.correction    = correction;
  mem->stats.maxcorrection = fmax(mem->stats.maxcorrection, correction);
  return CP_SUCCESS;
}

/* Next to a singular position one direction counts as normal in which a state that is off keeps moving: its error is
 * to be seen. */
int cpOneStepProjectsErrors(CPOneStepMem mem) {
  return mem->P && mem->errest == CP_ERREST_PROJECTED && !mem->on_manifold;
}

int cpOneStepProjectError(CPOneStepMem mem, sunrealtype t, N_Vector y, N_Vector e) {
  const int flag = cpProjectError(mem->step, t, y, mem->ewt, e);
  if (flag) return failedProjection(mem, cpReason(mem->text, flag, "%s", cpWorkText(mem->step)));
  mem->stats.nerrproj++;
  return CP_SUCCESS;
}
