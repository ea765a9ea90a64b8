/* Adjoint sensitivities: CVODES' checkpoints and backward problems around a projected forward run.
 *
 * CVodeB repeats the forward steps from checkpoints, through the same projecting solver, which
 * carries nothing from step to step then (step.c): they come out the same to the last bit. */
#include "sens_impl.h"

#include <stdlib.h>

int CPodeF(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask, int *ncheck) {
  if (mem && !ncheck)
    return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "ncheck must not be NULL");
  if (mem && mem->sens.data && cpSensLacksParameters(cpSensOf(mem))) /* CVodeF does not look */
    return cpReport(&mem->base.log, CV_ILL_INPUT, __func__,
                    "CVODES' differences for sensitivities need the parameters: call "
                    "CPodeSetSensParams first, or give fS1 to CPodeSensInit1");
  return cpRun(mem, tout, yout, tret, itask, ncheck, __func__);
}

/* Why CVodeB ended with flag: what cpodes knows of the forward steps that it repeated, or CVODES' words. */
static int failedBackward(CPodeMem mem, int flag, const char *function) {
  const char *reason = NULL;
  const int model =
      mem->base.system.cause ? -abs(mem->base.system.cause(&reason, mem->base.system.data)) : 0;
  const int code = mem->failure.fatal       ? mem->failure.fatal
                   : flag == CV_REIFWD_FAIL ? mem->failure.cause
                                            : 0;
  if (code) return cpReport(&mem->base.log, code, function, "a forward step: %s", mem->base.text);
  if (model && flag != CV_NO_FWD && flag != CV_NO_BCK && flag != CV_BAD_TB0)
    return cpReport(&mem->base.log, model, function, "%s", reason);
  if (mem->cvodes.text[0]) return cpReport(&mem->base.log, flag, function, "%s", mem->cvodes.text);
  return cpReport(&mem->base.log, flag, function, "CVodeB ended with code %d", flag);
}

int cpBackward(CPodeMem mem, sunrealtype tBout, int itaskB, const char *function) {
  mem->function      = function;
  mem->failure.cause = mem->failure.fatal = 0;
  mem->cvodes.text[0]                     = '\0';
  mem->attempt.complete                   = 0;
  mem->holding = mem->checkpoints.repeatable = mem->checkpoints.repeating = 1;
  if (mem->sens.data) mem->sens.begin(mem->sens.data);
  const int flag = CVodeB(mem->cvode_mem, tBout, itaskB);
  if (mem->sens.data) mem->sens.end(mem->sens.data);
  mem->holding = mem->checkpoints.repeating = 0;
  cpPendingClear(mem);
  if (flag < 0) return failedBackward(mem, flag, function);
  return flag == CV_TSTOP_RETURN ? CP_SUCCESS : flag; /* SUNDIALS 7: of a stop time of its own */
}

int CPodeB(CPodeMem mem, sunrealtype tBout, int itaskB) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!mem->base.initialised)
    return cpReport(&mem->base.log, CP_NO_INIT, __func__, "call CPodeInit first");
  return cpBackward(mem, tBout, itaskB, __func__);
}

/* The weights of states at y; with weights that CVODES keeps to itself those of its newest step. */
static int weightsAt(CPodeMem mem, N_Vector y) {
  const int flag = cpStepperWeights(&mem->base, y, mem->base.ewt);
  return flag == CP_NO_INIT ? CVodeGetErrWeights(mem->cvode_mem, mem->base.ewt) : flag;
}

int CPodeForwardState(CPodeMem mem, sunrealtype t, N_Vector y, N_Vector yproj) {
  int flag = cpCheckOutput(mem, y, "y", __func__);
  if (!flag) flag = cpCheckOutput(mem, yproj, "yproj", __func__);
  if (flag) return flag;
  N_VScale(1.0, y, yproj);
  if (!mem->base.P) return CP_SUCCESS;
  flag = weightsAt(mem, yproj);
  cpWorkForget(mem->base.out); /* the same result for the same state, whatever was asked before */
  if (!flag) flag = cpProject(mem->base.out, t, yproj, mem->base.ewt, 0, &(CPProjected){0});
  cpWorkForget(mem->base.out);
  if (!flag) return CP_SUCCESS;
  cpReport(&mem->base.log, CP_OUTPUT_PROJ_FAIL, __func__,
           "the state at t = %.15g cannot be projected: %s", t, cpWorkText(mem->base.out));
  return flag; /* positive: a smaller backward step may help */
}

int CPodeProjectGradient(CPodeMem mem, sunrealtype t, N_Vector y, N_Vector lambda) {
  int flag = cpCheckOutput(mem, y, "y", __func__);
  if (!flag) flag = cpCheckOutput(mem, lambda, "lambda", __func__);
  if (flag) return flag;
  if (!mem->base.P)
    return cpReport(&mem->base.log, CP_NO_PROJECTOR, __func__, "call CPodeSetProjector first");
  if (weightsAt(mem, y))
    return cpReport(&mem->base.log, CP_ILL_INPUT, __func__,
                    "there are no positive error weights at y");
  cpWorkForget(mem->base.out); /* factors of this state */
  flag = cpCotangent(mem->base.out, t, y, mem->base.ewt, lambda);
  cpWorkForget(mem->base.out);
  return flag ? cpReport(&mem->base.log, flag > 0 ? -flag : flag, __func__, "%s",
                         cpWorkText(mem->base.out))
              : CP_SUCCESS;
}
