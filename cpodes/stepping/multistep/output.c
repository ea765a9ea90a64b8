/* Output on the manifold, and what CVODES' own output functions cannot know. */
#include "integrator_impl.h"

#include <math.h>

int cpCheckOutput(CPodeMem mem, N_Vector v, const char *name, const char *function) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
  if (!mem->nls.wrapper) return cpReport(&mem->log, CP_NO_INIT, function, "call CPodeInit first");
  const int flag = cpCheckLength(v, name, mem->y_tmpl, &mem->log, function);
  return flag ? flag : cpRefuseOtherVectors(mem, function);
}

int cpIsProjectedState(CPodeMem mem, sunrealtype t) {
  sunrealtype h = 0.0;
  CVodeGetLastStep(mem->cvode_mem, &h);
  return mem->since == 0 && cpSameTime(t, mem->tgood, h);
}

/* After projected steps an interpolated state is as near to the manifold as they were: if it is
 * not, constraints have been switched, or changed in another way, within this step. */
static sunrealtype outputBound(CPodeMem mem) {
  return mem->frequency > 1 || mem->test_cnstr ? INFINITY : mem->max_correction;
}

int cpProjectOutput(CPodeMem mem, sunrealtype t, N_Vector y, const char *function,
                    const char *event) {
  if (!mem->P || !mem->project_output || cpIsProjectedState(mem, t)) return CP_SUCCESS;
  long int nst = 0;
  int cause    = 0;
  int flag     = CVodeGetNumSteps(mem->cvode_mem, &nst);
  if (!flag) flag = CVodeGetErrWeights(mem->cvode_mem, mem->ewt);
  if (flag) return flag;
  if (nst != mem->nst_out) cpWorkForget(mem->out); /* outputs of one step share their factors */
  mem->nst_out = nst;
  flag = cpProjectBetween(mem->out, t, y, mem->ewt, mem->tmp, outputBound(mem), event, "CPode",
                          mem->text, &cause);
  if (flag) return cpReport(&mem->log, flag, function, "%s", mem->text);
  mem->stats.noutputs++;
  return CP_SUCCESS;
}

/* Before the first step CVODES' polynomial is 0/0. */
int cpCheckStepTaken(CPodeMem mem, const char *function) {
  long int nst = 0;
  if (!CVodeGetNumSteps(mem->cvode_mem, &nst) && nst > 0) return CP_SUCCESS;
  return cpReport(&mem->log, CP_NO_INIT, function, "no step has been taken since the start");
}

int CPodeGetDky(CPodeMem mem, sunrealtype t, int k, N_Vector dky) {
  int flag = cpCheckOutput(mem, dky, "dky", __func__);
  if (!flag) flag = cpCheckStepTaken(mem, __func__);
  if (flag) return flag;
  flag = cpOfCVODES(mem, CVodeGetDky(mem->cvode_mem, t, k, dky), __func__);
  return flag || k > 0 ? flag : cpProjectOutput(mem, t, dky, __func__, "");
}

/* CVODES keeps tq2 times the correction that it was given. */
int CPodeGetEstLocalErrors(CPodeMem mem, N_Vector ele) {
  if (mem && ele && !mem->have_estimate)
    return cpReport(&mem->log, CP_NO_INIT, __func__, "the newest attempt is not an accepted step");
  int flag = cpCheckOutput(mem, ele, "ele", __func__);
  if (flag) return flag;
  if (mem->err_valid) {
    N_VScale(mem->tq2, mem->err, ele);
    return CP_SUCCESS;
  }
  flag = cpOfCVODES(mem, CVodeGetEstLocalErrors(mem->cvode_mem, ele), __func__);
  if (flag || !mem->P) return flag;
  if (mem->entered) N_VLinearSum(1.0, ele, -mem->tq2, mem->delta, ele);
  flag = CVodeGetErrWeights(mem->cvode_mem, mem->ewt);
  if (flag) return flag;
  cpWorkForget(mem->out); /* factors of this state */
  flag = cpProjectError(mem->out, mem->tgood, mem->ygood, mem->ewt, ele);
  cpWorkForget(mem->out);
  if (flag > 0) flag = -flag;
  return flag ? cpReport(&mem->log, flag, __func__, "%s", cpWorkText(mem->out)) : CP_SUCCESS;
}
