/* Adjoint sensitivities: CVODES' checkpoints and backward problems around a projected forward run.
 *
 * CVodeB repeats the forward steps from checkpoints through the same projecting solver, which then
 * carries nothing over from step to step (step.c), so that the steps are the same to the last
 * bit. */
#include "sens_impl.h"

#include <math.h>
#include <stdlib.h>

int cpForwards(CPMultistep mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
               int *ncheck, const char *function) {
  const int bad = cpStepperCheckCall(&mem->base, tout, yout, tret, itask, function);
  if (bad) return bad;
  return cpRun(mem, tout, yout, tret, itask, ncheck, function);
}

/* Reports why CVodeB ended with flag: what cpodes knows about the forward steps that CVodeB
 * repeated, or CVODES' own message. */
static int failedBackward(CPMultistep mem, int flag, const char *function) {
  const char *reason = NULL;
  const int model    = cpStepperCause(&mem->base, &reason);
  const int code     = mem->failure.fatal       ? mem->failure.fatal
                       : flag == CV_REIFWD_FAIL ? mem->failure.cause
                                                : 0;
  if (code)
    return cpReport(&mem->base.log, code, function, "%s%s",
                    flag == CV_REIFWD_FAIL || flag == CV_FWD_FAIL ? "a forward step: " : "",
                    mem->base.text);
  if (model && flag != CV_NO_FWD && flag != CV_NO_BCK && flag != CV_BAD_TB0)
    return cpReport(&mem->base.log, model, function, "%s", reason);
  if (mem->cvodes[0]) return cpReport(&mem->base.log, flag, function, "%s", mem->cvodes);
  return cpReport(&mem->base.log, flag, function, "CVodeB ended with code %d", flag);
}

/* CVodeB stores each root that it finds in repeated steps as an additional step, beyond its arrays
 * and with the state of another time (SUNDIALS 6.4 to 7.5). Steps after the latest checkpoint are
 * not repeated. */
static int refuseRoots(CPMultistep mem, const char *function) {
  if (isnan(mem->checkpoints.first_root)) return CP_SUCCESS;
  CVadjCheckPointRec *points = calloc((size_t)mem->checkpoints.count + 1, sizeof *points);
  if (!points) return cpReport(&mem->base.log, CP_MEM_FAIL, function, "no memory for checkpoints");
  const int flag           = CVodeGetAdjCheckPointsInfo(mem->cvode_mem, points);
  const sunrealtype newest = points[0].t0;
  free(points);
  if (flag) return cpOfCVODES(mem, flag, function);
  if ((newest - mem->checkpoints.first_root) * (mem->base.t - mem->base.t0) < 0.0)
    return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_NOT_SUPPORTED, function,
                  "a root function crossed zero at t = %.10g, before the newest checkpoint: CVODES "
                  "cannot repeat these steps; call CVodeRootInit(cvode_mem, 0, NULL) before",
                  mem->checkpoints.first_root);
}

int cpBackward(CPMultistep mem, sunrealtype tBout, int itaskB, const char *function) {
  mem->function = function;
  int flag      = cpRefuseChanges(mem, cpStepsTaken(mem));
  if (!flag) flag = refuseRoots(mem, function);
  if (flag) return flag;
  mem->failure.cause = mem->failure.fatal = 0;
  mem->cvodes[0]                          = '\0';
  mem->attempt.complete                   = 0;
  mem->holding = mem->checkpoints.repeatable = mem->checkpoints.repeating = 1;
  if (mem->base.sens) mem->sens.begin(mem->base.sens);
  cpStepperEnter(&mem->base);
  flag = cpStepperLeave(&mem->base, CVodeB(mem->cvode_mem, tBout, itaskB));
  if (mem->base.sens) mem->sens.end(mem->base.sens);
  mem->holding = mem->checkpoints.repeating = 0;
  /* With these codes CVodeB has only checked its arguments. */
  if (flag != CV_NO_ADJ && flag != CV_NO_FWD && flag != CV_NO_BCK && flag != CV_BAD_TB0)
    mem->checkpoints.overwritten = 1;
  cpPendingClear(mem);
  /* SUNDIALS' fixed-point solver (6.4) repeats a step with a smaller one even after a fatal
   * failure. */
  if (flag < 0 || mem->failure.fatal) return failedBackward(mem, flag, function);
  return flag == CV_TSTOP_RETURN ? CP_SUCCESS : flag; /* SUNDIALS 7: at a stop time of its own */
}

/* Computes the error weights of states at y, or gets those of CVODES' latest step if CVODES keeps
 * its weights to itself. */
static int weightsAt(CPMultistep mem, N_Vector y) {
  const int flag = cpStepperWeights(&mem->base, y, mem->base.ewt);
  if (flag != CP_NO_INIT) return flag;
  CVodeGetErrWeights(mem->cvode_mem, mem->base.ewt);
  return CP_SUCCESS;
}

/* Functions of backward problems may call the actions below, but not so those of the projector. */
static int mayProject(CPMultistep mem, const char *function) {
  if (!mem->checkpoints.repeating) return cpStepperIdle(&mem->base, function);
  return mem->base.P ? cpProjectorIdle(mem->base.P, function) : CP_SUCCESS;
}

int cpForwardState(CPMultistep mem, sunrealtype t, N_Vector y, N_Vector yproj, const char *function) {
  int flag = mayProject(mem, function);
  if (flag) return flag;
  N_VScale(1.0, y, yproj);
  if (!mem->base.P) return CP_SUCCESS;
  cpStepperEnter(&mem->base);
  flag = weightsAt(mem, yproj);
  if (flag) cpWrite(cpWorkText(mem->base.out), "there are no positive error weights there");
  cpWorkForget(mem->base.out); /* the result must depend on the state only */
  if (!flag) flag = cpProject(mem->base.out, t, yproj, mem->base.ewt, NULL, 0, &(CPProjected){0});
  cpWorkForget(mem->base.out);
  cpStepperLeave(&mem->base, flag);
  if (!flag) return CP_SUCCESS;
  cpWrite(mem->base.text, "the state at t = %.10g cannot be projected: %s", t,
          cpWorkText(mem->base.out));
  if (flag < 0) cpFatal(mem, flag); /* the backward run must end with this code */
  cpReport(&mem->base.log, flag < 0 ? flag : CP_OUTPUT_PROJ_FAIL, function, "%s", mem->base.text);
  return flag; /* positive: a smaller backward step may help */
}

int cpProjectGradient(CPMultistep mem, sunrealtype t, N_Vector y, N_Vector lambda,
                      const char *function) {
  int flag = mayProject(mem, function);
  if (flag) return flag;
  if (!mem->base.P)
    return cpReport(&mem->base.log, CP_NO_PROJECTOR, function,
                    "call CPIntegratorSetProjector first");
  if (weightsAt(mem, y))
    return cpRefuse(&mem->base.log, function, "there are no positive error weights at y");
  N_VScale(1.0, lambda, mem->base.tmp);
  cpWorkForget(mem->base.out); /* the factors must be those of this state */
  cpStepperEnter(&mem->base);
  flag = cpStepperLeave(&mem->base, cpCotangent(mem->base.out, t, y, mem->base.ewt, mem->base.tmp));
  cpWorkForget(mem->base.out);
  if (!flag && !cpVectorFinite(mem->base.tmp))
    flag = cpReason(cpWorkText(mem->base.out), CP_PROJ_NONFINITE,
                    "the projected gradient is not finite");
  if (!flag) N_VScale(1.0, mem->base.tmp, lambda);
  return flag ? cpReport(&mem->base.log, flag > 0 ? -flag : flag, function, "%s",
                         cpWorkText(mem->base.out))
              : CP_SUCCESS;
}
