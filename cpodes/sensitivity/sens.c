/* Forward sensitivities: life cycle, options, start and output. */
#include "sens_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

int cpSensExist(CPMultistep mem, const char *function) {
  const int flag = cpStepperExists(&mem->base, function);
  if (flag) return flag;
  if (!mem->sens.data)
    return cpReport(&mem->base.log, CP_NO_INIT, function, "call CPIntegratorSensInit1 first");
  return CP_SUCCESS;
}

int cpSensCheck(CPMultistep mem, const char *function) {
  const int flag = cpSensExist(mem, function);
  return flag ? flag : cpStepperIdle(&mem->base, function);
}

static int checkStart(CPMultistep mem, int Ns, N_Vector *yS0, const char *function) {
  if (!yS0) return cpRefuse(&mem->base.log, function, "yS0 must not be NULL");
  for (int i = 0; i < Ns; i++) {
    if (!yS0[i] || N_VGetLength(yS0[i]) != N_VGetLength(mem->base.y0))
      return cpRefuse(&mem->base.log, function, "yS0[%d] must be a vector of the state's length %ld",
                      i, (long)N_VGetLength(mem->base.y0));
    if (!cpVectorFinite(yS0[i]))
      return cpRefuse(&mem->base.log, function, "yS0[%d] must be finite: component %d is not", i,
                      cpFirstNonFinite(yS0[i]));
  }
  return CP_SUCCESS;
}

/* ---- life cycle ---- */

N_Vector *cpSensVectors(CPArena *arena, int count, N_Vector tmpl) {
  N_Vector *v = cpArenaAlloc(arena, (size_t)count, sizeof *v);
  for (int i = 0; v && i < count; i++) v[i] = cpArenaVector(arena, tmpl);
  return v;
}

/* CVodeSensFree keeps a pointer to a solver that is not CVODES' own: CVODES would initialise our
 * solver once more after it has been freed. New sensitivities have a solver of CVODES' own, which
 * replaces it. */
static void leaveCVODES(CPMultistep mem) {
  CVodeSensFree(mem->cvode_mem);
  if (!CVodeSensInit1(mem->cvode_mem, 1, CV_STAGGERED1, NULL, &mem->base.y0))
    CVodeSensFree(mem->cvode_mem);
}

static void release(void **data) {
  CPSens sens     = *data;
  CPMultistep mem = sens->mem;
  if (mem->base.system.sens && mem->base.system.data)
    mem->base.system.sens->start(mem->base.system.data, NULL);
  cpSensNewProjector(sens);
  if (mem->base.attached) leaveCVODES(mem);
  if (sens->nls.wrapper) SUNNonlinSolFree(sens->nls.wrapper);
  if (sens->nls.inner_owned) SUNNonlinSolFree(sens->nls.inner);
  cpParamsFree(&sens->params);
  cpArenaFree(&sens->arena);
  free(sens);
  *data = NULL;
}

static CPSens create(CPMultistep mem, int Ns) {
  CPSens sens = calloc(1, sizeof *sens);
  void *data  = sens;
  if (!sens) return NULL;
  CPArena *arena = &sens->arena;
  sens->mem      = mem;
  CP_VECTORS(arena, mem->base.y0, &sens->ewt, &sens->s, &sens->moved);
  sens->start = cpSensVectors(arena, Ns, mem->base.y0);
  sens->delta = cpSensVectors(arena, Ns, mem->base.y0);
  CP_NEW(arena, sens->pending, Ns);
  if (cpArenaStatus(arena) || cpParamsCreate(&sens->params, Ns)) release(&data);
  return data;
}

static void readCounters(void *data, CPIntegratorSensStats *stats) {
  const CPSens sens = data;
  *stats            = sens->stats;
  if (sens->work) stats->nsetups = cpWorkStats(sens->work)->nsetups - sens->base_setups;
}

static void keepStart(CPSens sens, N_Vector *yS0) {
  for (int i = 0; i < sens->params.Ns; i++) N_VScale(1.0, yS0[i], sens->start[i]);
  memset(&sens->stats, 0, sizeof sens->stats);
  sens->base_setups = sens->work ? cpWorkStats(sens->work)->nsetups : 0;
  cpSensRestart(sens);
  sens->has_start = 1;
  sens->off       = 0;
}

int CPIntegratorSensInit1(CPIntegrator s, int Ns, int ism, CVSensRhs1Fn fS1, N_Vector *yS0) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  int flag = cpStepperCheck((CPIntegrator)mem, __func__);
  if (flag) return flag;
  if (mem->sens.data)
    return cpRefuse(&mem->base.log, __func__,
                    "there are sensitivities already: use CPIntegratorSensReInit");
  if (Ns <= 0) return cpRefuse(&mem->base.log, __func__, "Ns must be positive: Ns = %d", Ns);
  if (ism != CV_STAGGERED1)
    return cpReport(
        &mem->base.log, CP_NOT_SUPPORTED, __func__,
        "ism must be CV_STAGGERED1 (%d), is %d: only its solver sees one sensitivity at "
        "a time",
        CV_STAGGERED1, ism);
  flag = cpCheckNoSteps(mem, __func__); /* CVODES takes up sensitivities only at its first step. */
  if (!flag) flag = checkStart(mem, Ns, yS0, __func__);
  if (flag) return flag;
  CPSens sens = create(mem, Ns);
  if (!sens) return cpReport(&mem->base.log, CP_MEM_FAIL, __func__, "no memory for sensitivities");
  const CPSensSystem *model = mem->base.system.sens;
  sens->is_rough            = !fS1 && !model;
  keepStart(sens, yS0);
  flag = CVodeSensInit1(mem->cvode_mem, Ns, ism, !fS1 && model ? model->rhs : fS1, yS0);
  if (!flag) flag = cpSensInstall(sens, NULL);
  if (!flag && model) flag = model->start(mem->base.system.data, &sens->params);
  if (flag) {
    void *data = sens;
    if (!mem->base.attached) leaveCVODES(mem);
    release(&data);
    return cpReport(&mem->base.log, flag, __func__, "sensitivities could not be set up");
  }
  mem->sens = (CPSensHooks){.data      = sens,
                            .begin     = cpSensBegin,
                            .end       = cpSensEnd,
                            .attempt   = cpSensAttempt,
                            .take_back = cpSensTakeBack,
                            .restart   = cpSensRestart,
                            .projector = cpSensNewProjector,
                            .solver    = cpSensNewSolver,
                            .stats     = readCounters,
                            .bypassed  = cpSensBypassed,
                            .free      = release};
  return CP_SUCCESS;
}

int CPIntegratorSensReInit(CPIntegrator s, N_Vector *yS0) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  int flag = cpSensCheck(mem, __func__);
  if (!flag) flag = cpCheckNoSteps(mem, __func__);
  if (!flag) flag = checkStart(mem, cpSensOf(mem)->params.Ns, yS0, __func__);
  if (!flag) flag = cpOfCVODES(mem, CVodeSensReInit(mem->cvode_mem, CV_STAGGERED1, yS0), __func__);
  if (!flag) keepStart(cpSensOf(mem), yS0);
  return flag;
}

void cpSensNewProjector(void *data) {
  CPSens sens = data;
  if (sens->r) N_VDestroy(sens->r);
  if (sens->c) N_VDestroy(sens->c);
  if (sens->Gs) N_VDestroy(sens->Gs);
  sens->r = sens->c = sens->Gs = NULL;
  cpWorkFree(&sens->work);
  sens->base_setups   = 0;
  sens->start_checked = sens->attempted = 0;
}

int cpSensUpdate(CPSens sens) {
  if (sens->work || !sens->mem->base.P) return CP_SUCCESS;
  const int flag = cpWorkCreate(&sens->work, sens->mem->base.P);
  cpWorkLend(sens->work, cpStepperLent(&sens->mem->base));
  return flag;
}

int cpSensOff(CPMultistep mem) {
  if (!mem->sens.data || cpSensOf(mem)->off) return CP_SUCCESS;
  cpSensOf(mem)->off = 1;
  return CVodeSensToggleOff(mem->cvode_mem);
}

/* CVODES tells only by an error code whether it has sensitivities. */
static int isOff(CPMultistep mem) {
  long int nfS      = 0;
  const int holding = mem->holding;
  mem->holding      = 1; /* its message is not for the user */
  const int flag    = CVodeGetSensNumRhsEvals(mem->cvode_mem, &nfS);
  mem->holding      = holding;
  return flag == CV_NO_SENS;
}

int cpSensLacksParameters(CPSens sens) {
  return sens->is_rough && !sens->params.p && !isOff(sens->mem);
}

int cpSensBypassed(void *data, long int steps) {
  CPSens sens          = data;
  const long int seen  = sens->nsolves - sens->nsolves_before;
  sens->nsolves_before = sens->nsolves;
  if (seen >= steps || sens->off) return 0;
  return !(sens->off = isOff(sens->mem));
}

/* ---- options ---- */

int CPIntegratorSetSensParams(CPIntegrator s, sunrealtype *p, const sunrealtype *pbar,
                              const int *plist) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  CPParams params = {0};
  int flag        = cpSensCheck(mem, __func__);
  if (flag) return flag;
  CPParams *now = &cpSensOf(mem)->params;
  flag          = cpParamsSet(&params, now->Ns, p, pbar, plist, &mem->base.log, __func__);
  if (flag) return flag;
  cpParamsFree(now);
  *now = params;
  if (mem->base.system.sens) flag = mem->base.system.sens->start(mem->base.system.data, now);
  if (flag) return cpReport(&mem->base.log, flag, __func__, "no memory for parameters");
  return cpOfCVODES(mem, CVodeSetSensParams(mem->cvode_mem, p, now->pbar, now->plist), __func__);
}

int CPIntegratorSetSensConstraintFn(CPIntegrator s, CPConstraintSensFn cS) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  const int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (mem->base.system.sens)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, __func__,
                    "the constraints are those of a mechanical system: use CPMechSetParamJac");
  cpSensOf(mem)->cS = cS;
  return CP_SUCCESS;
}

int CPIntegratorSetSensNonlinearSolver(CPIntegrator s, SUNNonlinearSolver inner) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (inner && cpLacksOperations(inner)) return cpRefuse(&mem->base.log, __func__, CP_INNER_MUST);
  flag = cpCheckNoSteps(mem, __func__);
  if (flag) return flag;
  flag = cpSensInstall(cpSensOf(mem), inner);
  return flag ? cpReport(&mem->base.log, flag, __func__,
                         "the nonlinear solver could not be installed")
              : CP_SUCCESS;
}

/* ---- the start ---- */

int CPIntegratorSensCalcIC(CPIntegrator s) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  CPSens sens = cpSensOf(mem);
  if (!mem->base.P)
    return cpReport(&mem->base.log, CP_NO_PROJECTOR, __func__,
                    "call CPIntegratorSetProjector first");
  flag = cpCheckNoSteps(mem, __func__);
  if (flag) return flag;
  flag = cpSensUpdate(sens);
  if (!flag) flag = cpStepperWeights(&mem->base, mem->base.y0, mem->base.ewt);
  N_Vector ewt = flag ? NULL : sens->ewt; /* without tolerances the norm is Euclidean */
  if (!flag) N_VScale(1.0, mem->base.ewt, ewt);
  if (flag && flag != CP_NO_INIT)
    return cpReport(&mem->base.log, flag, __func__, "no error weights, or no memory");
  flag = CP_SUCCESS;
  cpWorkForget(sens->work);
  cpSensEnter(sens);
  for (int i = 0; !flag && i < sens->params.Ns; i++) {
    N_VScale(1.0, sens->start[i], sens->delta[i]);
    flag = cpSensProject(sens, mem->base.t0, mem->base.y0, ewt, i, sens->delta[i]);
  }
  cpStepperLeave(&mem->base, flag);
  cpWorkForget(sens->work);
  if (flag)
    return cpReport(&mem->base.log, flag > 0 ? -flag : flag, __func__, "%s", cpWorkText(sens->work));
  return CPIntegratorSensReInit(&mem->base, sens->delta);
}

int CPIntegratorGetConsistentSensIC(CPIntegrator s, N_Vector *yS0) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  int flag = cpSensExist(mem, __func__);
  if (flag) return flag;
  if (!yS0) return cpRefuse(&mem->base.log, __func__, "yS0 must not be NULL");
  for (int i = 0; i < cpSensOf(mem)->params.Ns; i++) N_VScale(1.0, cpSensOf(mem)->start[i], yS0[i]);
  return CP_SUCCESS;
}

/* ---- output ---- */

/* Returns the sensitivities, projected, if k = 0, or derivatives of their interpolants.
 * sens->delta[0] holds the projected state. */
int CPIntegratorGetSensDky(CPIntegrator s, sunrealtype t, int k, N_Vector *dkyS) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (!dkyS) return cpRefuse(&mem->base.log, __func__, "dkyS must not be NULL");
  CPSens sens  = cpSensOf(mem);
  const int Ns = sens->params.Ns;
  for (int i = 0; !flag && i < Ns; i++)
    flag = cpStepperCheckVector(&mem->base, dkyS[i], "dkyS[i]", __func__);
  if (!flag) flag = cpCheckStepTaken(mem, __func__);
  if (!flag) flag = cpOfCVODES(mem, CVodeGetSensDky(mem->cvode_mem, t, k, dkyS), __func__);
  if (flag || k > 0 || !mem->base.P || !mem->base.project_output || cpIsProjectedState(mem, t))
    return flag;
  flag = CVodeGetDky(mem->cvode_mem, t, 0, sens->delta[0]);
  cpStepperEnter(&mem->base);
  if (!flag) flag = cpProjectOutput(mem, t, sens->delta[0], __func__, "");
  cpStepperLeave(&mem->base, flag);
  if (!flag && cpSensUpdate(sens))
    flag = cpReport(&mem->base.log, CP_MEM_FAIL, __func__, "no memory");
  if (flag) return flag;
  CVodeGetErrWeights(mem->cvode_mem, sens->ewt);
  cpWorkForget(sens->work);
  cpSensEnter(sens);
  int i = 0;
  while (i < Ns && !cpSensProject(sens, t, sens->delta[0], sens->ewt, i, dkyS[i])) i++;
  cpStepperLeave(&mem->base, flag);
  if (i < Ns)
    return cpReport(&mem->base.log, CP_OUTPUT_PROJ_FAIL, __func__,
                    "sensitivity %d at t = %.10g is given unprojected: %s", i, t,
                    cpWorkText(sens->work));
  return CP_SUCCESS;
}

int CPIntegratorGetSens(CPIntegrator s, sunrealtype *tret, N_Vector *yS) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  int flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (!tret || !yS)
    return cpRefuse(&mem->base.log, __func__, "%s must not be NULL", tret ? "yS" : "tret");
  flag = cpCheckStepTaken(mem, __func__);
  if (flag) return flag;
  flag = cpOfCVODES(mem, CVodeGetSens(mem->cvode_mem, tret, yS),
                    __func__); /* sets tret to the time of the latest output */
  return flag ? flag : CPIntegratorGetSensDky(&mem->base, *tret, 0, yS);
}
