/* Results of CPode: outputs on the manifold, consistent starts, statistics. */
#include "multistep_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- outputs ---- */

int cpCheckOutput(CPodeMem mem, N_Vector v, const char *name, const char *function) {
  const int flag = cpStepperCheckVector((CPStepper)mem, v, name, function);
  return flag ? flag : cpRefuseOtherVectors(mem, function);
}

int cpIsProjectedState(CPodeMem mem, sunrealtype t) {
  return mem->last.since == 0 && cpSameTime(t, mem->base.t, cpLastStep(mem));
}

int cpMoveOutput(CPodeMem mem, sunrealtype t, N_Vector y, const char *event) {
  const CPStepper s = &mem->base;
  if (!s->P || !s->project_output || cpIsProjectedState(mem, t)) return CP_SUCCESS;
  CVodeGetErrWeights(mem->cvode_mem, s->ewt);
  /* After projected steps an interpolated state is as near to the manifold as they are. If it is
   * not, constraints have been switched, or have changed in another way, within this step. */
  const int drifts = mem->frequency > 1 || s->test_cnstr;
  return cpStepperProjectOutput(s, t, y, drifts ? INFINITY : s->max_correction, cpStepsTaken(mem),
                                event);
}

int cpProjectOutput(CPodeMem mem, sunrealtype t, N_Vector y, const char *function,
                    const char *event) {
  const int flag = cpMoveOutput(mem, t, y, event);
  return flag == CP_OUTPUT_PROJ_FAIL ? cpReport(&mem->base.log, flag, function, "%s", mem->base.text)
                                     : flag;
}

int cpCheckHistory(CPodeMem mem, const char *function) {
  if (!mem->checkpoints.overwritten) return CP_SUCCESS;
  return cpReport(
      &mem->base.log, CP_TOO_LATE, function,
      "a backward problem has used the history of the forward run: call CPodeReInit first");
}

/* Before the first step CVODES' interpolating polynomial is 0/0. */
int cpCheckStepTaken(CPodeMem mem, const char *function) {
  const int flag = cpCheckHistory(mem, function);
  if (flag || cpStepsTaken(mem) > 0) return flag;
  return cpReport(&mem->base.log, CP_NO_INIT, function, "no step has been taken since the start");
}

int CPodeGetDky(CPodeMem mem, sunrealtype t, int k, N_Vector dky) {
  int flag = cpCheckOutput(mem, dky, "dky", __func__);
  if (!flag) flag = cpStepperIdle(&mem->base, __func__);
  if (!flag) flag = cpCheckStepTaken(mem, __func__);
  if (flag) return flag;
  flag = cpOfCVODES(mem, CVodeGetDky(mem->cvode_mem, t, k, dky), __func__);
  if (flag || k > 0) return flag;
  cpStepperEnter(&mem->base);
  return cpStepperLeave(&mem->base, cpProjectOutput(mem, t, dky, __func__, ""));
}

/* CVODES' own estimate is tq2 times the correction that the nonlinear solver has returned. */
int CPodeGetEstLocalErrors(CPodeMem mem, N_Vector ele) {
  const CPStepper s = (CPStepper)mem;
  if (mem && ele && !mem->last.have_estimate)
    return cpReport(&s->log, CP_NO_INIT, __func__, "the newest attempt is not an accepted step");
  int flag = cpCheckOutput(mem, ele, "ele", __func__);
  if (!flag) flag = cpStepperIdle(&mem->base, __func__);
  if (flag) return flag;
  if (mem->attempt.err_valid) {
    N_VScale(mem->attempt.tq2, s->err, ele);
    return CP_SUCCESS;
  }
  flag = cpOfCVODES(mem, CVodeGetEstLocalErrors(mem->cvode_mem, ele), __func__);
  if (flag || !s->P) return flag;
  if (mem->attempt.entered) N_VLinearSum(1.0, ele, -mem->attempt.tq2, s->delta, ele);
  CVodeGetErrWeights(mem->cvode_mem, s->ewt);
  cpWorkForget(s->out); /* the factors must be those of this state */
  cpStepperEnter(s);
  flag = cpStepperLeave(s, cpProjectError(s->out, s->t, s->y, s->ewt, ele));
  cpWorkForget(s->out);
  return flag ? cpReport(&s->log, -abs(flag), __func__, "%s", cpWorkText(s->out)) : CP_SUCCESS;
}

/* ---- consistent starts ---- */

int CPodeCalcIC(CPodeMem mem) {
  int flag = cpStepperCheck((CPStepper)mem, __func__);
  if (!flag) flag = cpStepperMakeConsistent(&mem->base, cpStepsTaken(mem), __func__);
  return flag ? flag : CPodeReInit(mem, mem->base.t0, mem->base.tmp);
}

int CPodeGetConsistentIC(CPodeMem mem, N_Vector y0) {
  const int flag = cpCheckOutput(mem, y0, "y0", __func__);
  if (!flag) N_VScale(1.0, mem->base.y0, y0);
  return flag;
}

/* ---- statistics ---- */

int CPodeGetProjStats(CPodeMem mem, CPodeProjStats *stats) {
  const int flag = cpStepperExists((CPStepper)mem, __func__);
  if (flag) return flag;
  if (!stats) return cpRefuse(&mem->base.log, __func__, "stats must not be NULL");
  *stats = cpStepperStats(&mem->base);
  return CP_SUCCESS;
}

int CPodePrintAllStats(CPodeMem mem, FILE *out, SUNOutputFormat fmt) {
  const CPStepper s = (CPStepper)mem;
  int flag          = cpStepperInitialised(s, __func__);
  if (!flag) flag = cpStepperCheckFormat(s, out, fmt, __func__);
  if (!flag) flag = cpOfCVODES(mem, CVodePrintAllStats(mem->cvode_mem, out, fmt), __func__);
  return flag || !s->P ? flag : cpStepperPrint(s, out, fmt, 0, __func__);
}

char *CPodeGetReturnFlagName(long int flag) {
  const char *name = flag ? cpCodeName(flag) : "CP_SUCCESS";
  if (!name) return CVodeGetReturnFlagName(flag);
  char *copy = malloc(strlen(name) + 1);
  return copy ? strcpy(copy, name) : NULL;
}
