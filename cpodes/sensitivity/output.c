/* Sensitivities at any time of the last step, on the manifold. */
#include "sens_impl.h"

static int checkOutput(CPodeMem mem, N_Vector v, const char *name, const char *function) {
  return cpStepperCheckVector(&mem->base, v, name, function);
}

/* Are the vectors at t those of a projected step, or not to be projected? */
static int isDone(CPodeMem mem, sunrealtype t) {
  return !mem->base.P || !mem->base.project_output || cpIsProjectedState(mem, t);
}

/* The state at t, on the manifold, in sens->delta[0], and factors there */
static int stateAt(CPodeMem mem, sunrealtype t, const char *function) {
  CPSens sens = cpSensOf(mem);
  int flag    = CVodeGetDky(mem->cvode_mem, t, 0, sens->delta[0]);
  if (!flag) flag = cpProjectOutput(mem, t, sens->delta[0], function, "");
  if (!flag && cpSensUpdate(sens))
    flag = cpReport(&mem->base.log, CP_MEM_FAIL, function, "no memory");
  if (!flag) flag = CVodeGetErrWeights(mem->cvode_mem, sens->ewt);
  if (!flag) cpWorkForget(sens->work);
  return flag;
}

static int projectAt(CPodeMem mem, sunrealtype t, int iS, N_Vector s, const char *function) {
  CPSens sens    = cpSensOf(mem);
  const int flag = cpSensProject(sens, t, sens->delta[0], sens->ewt, iS, s);
  if (!flag) return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_OUTPUT_PROJ_FAIL, function,
                  "sensitivity %d at t = %.15g is given unprojected: %s", iS, t,
                  cpWorkText(sens->work));
}

int CPodeGetSensDky1(CPodeMem mem, sunrealtype t, int k, int iS, N_Vector dkyS) {
  int flag = cpSensCheck(mem, __func__);
  if (!flag) flag = cpSensCheckIndex(mem, iS, __func__);
  if (!flag) flag = checkOutput(mem, dkyS, "dkyS", __func__);
  if (!flag) flag = cpCheckStepTaken(mem, __func__);
  if (!flag) flag = cpOfCVODES(mem, CVodeGetSensDky1(mem->cvode_mem, t, k, iS, dkyS), __func__);
  if (flag || k > 0 || isDone(mem, t)) return flag;
  flag = stateAt(mem, t, __func__);
  return flag ? flag : projectAt(mem, t, iS, dkyS, __func__);
}

int CPodeGetSensDky(CPodeMem mem, sunrealtype t, int k, N_Vector *dkyS) {
  int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (!dkyS) return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "dkyS must not be NULL");
  const int Ns = cpSensOf(mem)->params.Ns;
  for (int i = 0; !flag && i < Ns; i++) flag = checkOutput(mem, dkyS[i], "dkyS[i]", __func__);
  if (!flag) flag = cpCheckStepTaken(mem, __func__);
  if (!flag) flag = cpOfCVODES(mem, CVodeGetSensDky(mem->cvode_mem, t, k, dkyS), __func__);
  if (flag || k > 0 || isDone(mem, t)) return flag;
  flag = stateAt(mem, t, __func__);
  for (int i = 0; !flag && i < Ns; i++) flag = projectAt(mem, t, i, dkyS[i], __func__);
  return flag;
}

int CPodeGetSens(CPodeMem mem, sunrealtype *tret, N_Vector *yS) {
  int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (!tret || !yS)
    return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "%s must not be NULL",
                    tret ? "yS" : "tret");
  flag = cpCheckStepTaken(mem, __func__);
  if (flag) return flag;
  flag = cpOfCVODES(mem, CVodeGetSens(mem->cvode_mem, tret, yS),
                    __func__); /* which tells the time of the newest output */
  return flag ? flag : CPodeGetSensDky(mem, *tret, 0, yS);
}

int CPodeGetSensStats(CPodeMem mem, CPodeSensStats *stats) {
  const int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (!stats) return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "stats must not be NULL");
  const CPSens sens = cpSensOf(mem);
  *stats            = sens->stats;
  if (sens->work) stats->nsetups = cpWorkStats(sens->work)->nsetups - sens->base_setups;
  return CP_SUCCESS;
}
