/* Results of CPOneStep: the solution within the last step, estimates, the method. */
#include "onestep_impl.h"

#include <math.h>

/* Roundoff in times, as in CVODES. */
#define FUZZ_FACTOR 100.0

sunrealtype cpOneStepTimeRoundoff(CPOneStepMem mem) {
  return FUZZ_FACTOR * CP_UROUND * (fabs(mem->t) + fabs(mem->hlast));
}

int cpOneStepSolution(CPOneStepMem mem, sunrealtype t, N_Vector y, const char *event) {
  const int at_end = !mem->have_step || (t - mem->t) * mem->dir >= 0.0;
  if (at_end || (t - mem->tlast) * mem->dir <= 0.0) { /* these are projected */
    N_VScale(1.0, at_end ? mem->y : mem->ylast, y);
    return CP_SUCCESS;
  }
  int flag = mem->ops->interpolate(mem, t, 0, y);
  if (flag || !mem->P || !mem->project_output) return flag;
  if (mem->nst_out != mem->stats.nst)
    cpWorkForget(mem->out); /* outputs of one step share factors */
  mem->nst_out = mem->stats.nst;
  flag = cpProjectBetween(mem->out, t, y, mem->ewt, mem->ytmp, cpOneStepMaxCorrection(mem), event,
                          "CPOneStep", mem->text, &mem->output_cause);
  if (!flag) mem->stats.noutputs++;
  return flag;
}

/* Is t within the last step? It is moved onto its ends from outside by roundoff. */
static int checkTime(CPOneStepMem mem, sunrealtype *t, const char *function) {
  const sunrealtype fuzz = cpOneStepTimeRoundoff(mem);
  if (fabs(*t - mem->t) <= fuzz) *t = mem->t;
  if (fabs(*t - mem->tlast) <= fuzz) *t = mem->tlast;
  if ((*t - mem->tlast) * mem->dir >= 0.0 && (mem->t - *t) * mem->dir >= 0.0) return CP_SUCCESS;
  return cpReport(&mem->log, CV_BAD_T, function,
                  "t must lie in the last step, %.15g to %.15g: t = %.15g", mem->tlast, mem->t, *t);
}

int CPOneStepGetDky(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky) {
  int flag = cpOneStepCheck(mem, __func__);
  if (!flag) flag = cpCheckLength(dky, "dky", mem->y, &mem->log, __func__);
  if (flag) return flag;
  if (!mem->have_step)
    return cpReport(&mem->log, CP_NO_INIT, __func__, "the newest attempt is not an accepted step");
  if (k < 0 || k > mem->ops->degree(mem))
    return cpReport(&mem->log, CV_BAD_K, __func__, "k must be 0 ... %d: k = %d",
                    mem->ops->degree(mem), k);
  flag = checkTime(mem, &t, __func__);
  if (flag) return flag;
  flag = k ? mem->ops->interpolate(mem, t, k, dky) : cpOneStepSolution(mem, t, dky, "");
  return flag ? cpReport(&mem->log, flag, __func__, "%s", mem->text) : CP_SUCCESS;
}

int CPOneStepGetEstLocalErrors(CPOneStepMem mem, N_Vector ele) {
  int flag = cpOneStepCheck(mem, __func__);
  if (!flag) flag = cpCheckLength(ele, "ele", mem->y, &mem->log, __func__);
  if (flag) return flag;
  if (!mem->have_step || !mem->have_err)
    return cpReport(&mem->log, CP_NO_INIT, __func__,
                    "the newest attempt is not an accepted step with an error test");
  N_VScale(1.0, mem->err, ele);
  return CP_SUCCESS;
}

int CPOneStepGetMethod(CPOneStepMem mem, const char **name, int *order, int *embedded, int *stages) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (name) *name = mem->name;
  if (order) *order = mem->order;
  if (embedded) *embedded = mem->embedded;
  if (stages) *stages = mem->stages;
  return CP_SUCCESS;
}

void *CPOneStepGetARKodeMem(CPOneStepMem mem) {
  return mem && mem->ops->arkode_mem ? mem->ops->arkode_mem(mem) : NULL;
}
