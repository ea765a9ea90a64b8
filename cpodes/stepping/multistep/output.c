/* Results of multistep methods: outputs on the manifold, estimates, statistics. */
#include "multistep_impl.h"

#include <math.h>

/* ---- outputs ---- */

int cpIsProjectedState(CPMultistep mem, sunrealtype t) {
  return mem->last.since == 0 && cpSameTime(t, mem->base.t, cpLastStep(mem));
}

int cpMoveOutput(CPMultistep mem, sunrealtype t, N_Vector y, const char *event) {
  const CPIntegrator s = &mem->base;
  if (!s->P || !s->project_output || cpIsProjectedState(mem, t)) return CP_SUCCESS;
  CVodeGetErrWeights(mem->cvode_mem, s->ewt);
  /* After projected steps an interpolated state is as near to the manifold as they are. If it is
   * not, constraints have been switched, or have changed in another way, within this step. */
  const int drifts = mem->frequency > 1 || s->test_cnstr;
  return cpStepperProjectOutput(s, t, y, drifts ? INFINITY : s->max_correction, cpStepsTaken(mem),
                                event);
}

int cpProjectOutput(CPMultistep mem, sunrealtype t, N_Vector y, const char *function,
                    const char *event) {
  const int flag = cpMoveOutput(mem, t, y, event);
  return flag == CP_OUTPUT_PROJ_FAIL ? cpReport(&mem->base.log, flag, function, "%s", mem->base.text)
                                     : flag;
}

/* Before the first step CVODES' interpolating polynomial is 0/0. */
int cpCheckStepTaken(CPMultistep mem, const char *function) {
  if (cpStepsTaken(mem) > 0) return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_NO_INIT, function, "no step has been taken since the start");
}

int cpMultistepDky(CPIntegrator s, sunrealtype t, int k, N_Vector dky, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  int flag              = cpRefuseOtherVectors(mem, function);
  if (!flag) flag = cpCheckStepTaken(mem, function);
  if (flag) return flag;
  flag = cpOfCVODES(mem, CVodeGetDky(mem->cvode_mem, t, k, dky), function);
  if (flag || k > 0) return flag;
  cpStepperEnter(s);
  return cpStepperLeave(s, cpProjectOutput(mem, t, dky, function, ""));
}

/* CVODES' own estimate is tq2 times the correction that the nonlinear solver has returned. */
int cpMultistepErrors(CPIntegrator s, N_Vector ele, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  if (!mem->last.have_estimate)
    return cpReport(&s->log, CP_NO_INIT, function, "the newest attempt is not an accepted step");
  int flag = cpRefuseOtherVectors(mem, function);
  if (flag) return flag;
  if (mem->attempt.err_valid) {
    N_VScale(mem->attempt.tq2, s->err, ele);
    return CP_SUCCESS;
  }
  flag = cpOfCVODES(mem, CVodeGetEstLocalErrors(mem->cvode_mem, ele), function);
  if (flag || !s->P) return flag;
  if (mem->attempt.entered) N_VLinearSum(1.0, ele, -mem->attempt.tq2, s->delta, ele);
  CVodeGetErrWeights(mem->cvode_mem, s->ewt);
  cpWorkForget(s->out); /* the factors must be those of this state */
  cpStepperEnter(s);
  flag = cpStepperLeave(s, cpProjectError(s->out, s->t, s->y, s->ewt, ele));
  cpWorkForget(s->out);
  return flag ? cpReport(&s->log, -abs(flag), function, "%s", cpWorkText(s->out)) : CP_SUCCESS;
}

/* ---- statistics ---- */

void cpMultistepStats(CPIntegrator s, CPIntegratorStats *stats) {
  const CPMultistep mem = (CPMultistep)s;
  long int differences = 0, fails = 0;
  int q = 0;
  if (mem->base.sens) mem->sens.stats(mem->base.sens, &stats->sens);
  if (!s->begun) return;
  CVodeGetIntegratorStats(mem->cvode_mem, &stats->nst, &stats->nfe, &stats->nlinsetups, &stats->netf,
                          &q, &q, &stats->hfirst, &stats->hlast, &stats->hnext, &stats->t);
  CVodeGetNumStepSolveFails(mem->cvode_mem, &fails); /* failed projections are counted as such */
  CVodeGetNumNonlinSolvIters(mem->cvode_mem, &stats->nni);
  CVodeGetNumGEvals(mem->cvode_mem, &stats->nge);
  stats->nge += mem->roots.nwatched;
  stats->nattempts   = stats->nst + stats->netf + fails;
  stats->nsolvefails = fails - stats->nprojfails;
  if (!mem->nls.lsolve) return; /* Without a linear solver CVODES would report an error. */
  CVodeGetNumLinRhsEvals(mem->cvode_mem, &differences);
  CVodeGetNumJacEvals(mem->cvode_mem, &stats->njev);
  stats->nfe += differences;
}
