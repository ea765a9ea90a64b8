/* Consistent initial conditions. */
#include "integrator_impl.h"

int CPodeCalcIC(CPodeMem mem) {
  long int nst = 0;
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!mem->nls.wrapper) return cpReport(&mem->log, CP_NO_INIT, __func__, "call CPodeInit first");
  if (!mem->P)
    return cpReport(&mem->log, CP_NO_PROJECTOR, __func__, "call CPodeSetProjector first");
  int flag = CVodeGetNumSteps(mem->cvode_mem, &nst);
  if (flag) return flag;
  if (nst > 0)
    return cpReport(&mem->log, CP_TOO_LATE, __func__,
                    "%ld steps have been taken: call CPodeReInit first", nst);
  N_VScale(1.0, mem->y0, mem->tmp);
  flag = cpMakeConsistent(mem->out, mem->t0, mem->tmp, mem->ewt, cpErrWeights(mem, mem->y0));
  if (flag) return cpReport(&mem->log, flag, __func__, "%s", cpWorkText(mem->out));
  return CPodeReInit(mem, mem->t0, mem->tmp);
}

int CPodeGetConsistentIC(CPodeMem mem, N_Vector y0) {
  int flag = cpCheckOutput(mem, y0, "y0", __func__);
  if (flag) return flag;
  N_VScale(1.0, mem->y0, y0);
  return CP_SUCCESS;
}
