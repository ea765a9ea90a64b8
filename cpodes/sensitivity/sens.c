/* Forward sensitivities: life cycle, options, start and output. */
#include "sens_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ---- checks ---- */

/* The log for messages: the integrator's, if there is one. */
static CPLog *logOf(CPSens sens) { return sens->mem ? &sens->mem->base.log : &sens->log; }

static int exists(CPSens sens, const char *function) {
  return sens ? CP_SUCCESS : cpReport(NULL, CP_MEM_NULL, function, "sens must not be NULL");
}

/* Checks that an integrator computes sens, and is idle. Returns 0 or an error code that has been reported. */
static int check(CPSens sens, const char *function) {
  const int flag = exists(sens, function);
  if (flag) return flag;
  if (!sens->mem)
    return cpReport(&sens->log, CP_NO_INIT, function, "call CPIntegratorSetSens first");
  return cpStepperIdle(&sens->mem->base, function);
}

static int checkStart(CPLog *log, int Ns, N_Vector *yS0, N_Vector y, const char *function) {
  for (int i = 0; i < Ns; i++) {
    if (!yS0[i] || N_VGetLength(yS0[i]) != N_VGetLength(y))
      return cpRefuse(log, function, "yS0[%d] must be a vector of the state's length %ld", i,
                      (long)N_VGetLength(y));
    if (!cpVectorFinite(yS0[i]))
      return cpRefuse(log, function, "yS0[%d] must be finite: component %d is not", i,
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

/* CVodeSensFree keeps a pointer to a solver that is not CVODES' own, and CVODES initialises that once more at the next start.
 * Therefore our solver is replaced by one that outlives CVODES' memory or, for memory of a program, by CVODES' own, which new
 * sensitivities bring. The solver can be replaced while sensitivities are switched on, as a new start does. */
static void leaveCVODES(CPMultistep mem, CPSens sens) {
  void *cvode_mem = mem->cvode_mem;
  if (sens->nls.wrapper && !CVodeSensReInit(cvode_mem, CV_STAGGERED1, sens->start))
    CVodeSetNonlinearSolverSensStg1(cvode_mem, mem->idle_solver);
  CVodeSensFree(cvode_mem);
  if (!mem->base.attached) return;
  if (!CVodeSensInit1(cvode_mem, 1, CV_STAGGERED1, NULL, &mem->base.y0)) CVodeSensFree(cvode_mem);
  else mem->idle_solver = NULL; /* There is no memory, and CVODES keeps it. */
}

/* The integrator computes sens no longer. freeing: it is being freed itself. */
static void detach(CPSens sens, int freeing) {
  CPMultistep mem = sens->mem;
  if (mem->base.system.sens && mem->base.system.data)
    mem->base.system.sens->start(mem->base.system.data, NULL);
  cpSensNewProjector(sens);
  if (mem->base.attached || !freeing) leaveCVODES(mem, sens);
  if (sens->nls.wrapper) SUNNonlinSolFree(sens->nls.wrapper);
  if (sens->nls.inner) SUNNonlinSolFree(sens->nls.inner);
  sens->nls = (CPWrapped){0};
  memset(sens->pending, 0, (size_t)sens->params.Ns);
  mem->sens.data = NULL;
  sens->mem      = NULL;
}

static void release(void **data) { detach(*data, 1); }

CPSens CPSensCreate(const CPParameters *parameters, N_Vector y_tmpl, SUNContext ctx) {
  CPParameters own;
  CPSens sens = NULL;
  if (!y_tmpl || !ctx) cpRefuse(NULL, __func__, "y_tmpl and ctx must not be NULL");
  else if (!cpTake(NULL, &own, parameters, __func__)) cpSensCreate(&own, y_tmpl, &sens);
  return sens;
}

int cpSensCreate(const CPParameters *parameters, N_Vector y_tmpl, CPSens *address) {
  static const char *const function = "CPSensCreate";
  const int Ns                      = parameters->n;
  CPParams kept                     = {0};
  int flag                          = cpParamsSet(&kept, parameters, NULL, function);
  if (!flag && parameters->y0S) flag = checkStart(NULL, Ns, parameters->y0S, y_tmpl, function);
  CPSens sens = flag ? NULL : calloc(1, sizeof *sens);
  if (!sens) cpParamsFree(&kept);
  if (flag) return flag;
  if (!sens) return cpReport(NULL, CP_MEM_FAIL, function, "no memory for sensitivities");
  static const CPKind kind = {0};
  CPArena *arena           = &sens->arena;
  sens->log.kind           = &kind;
  sens->params             = kept;
  CP_VECTORS(arena, y_tmpl, &sens->ewt, &sens->s, &sens->moved);
  sens->given = cpSensVectors(arena, Ns, y_tmpl);
  sens->start = cpSensVectors(arena, Ns, y_tmpl);
  sens->delta = cpSensVectors(arena, Ns, y_tmpl);
  CP_NEW(arena, sens->pending, Ns);
  if (cpArenaStatus(arena)) {
    CPSensFree(&sens);
    return cpReport(NULL, CP_MEM_FAIL, function, "no memory for sensitivities");
  }
  for (int i = 0; i < Ns; i++)
    if (parameters->y0S) N_VScale(1.0, parameters->y0S[i], sens->given[i]);
    else N_VConst(0.0, sens->given[i]);
  *address = sens;
  return CP_SUCCESS;
}

void CPSensFree(CPSens *address) {
  CPSens sens = address ? *address : NULL;
  if (!sens || (sens->mem && cpStepperIdle(&sens->mem->base, __func__))) return;
  if (sens->mem) detach(sens, 0);
  cpParamsFree(&sens->params);
  cpArenaFree(&sens->arena);
  free(sens);
  *address = NULL;
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

/* Gives CVODES the sensitivities. Returns 0 or a code. */
static int attach(CPMultistep mem, CPSens sens) {
  const CPSensSystem *model = mem->base.system.sens;
  const CPParams *params    = &sens->params;
  const int knows_f         = mem->base.f && mem->norms.possible;
  const CVSensRhs1Fn fS1    = sens->fS1 ? sens->fS1
                              : model   ? model->rhs
                              : knows_f ? cpSensDifferences
                                        : NULL; /* CVODES' difference quotients */
  if (!mem->idle_solver) mem->idle_solver = SUNNonlinSol_FixedPoint(mem->base.y0, 0, mem->base.ctx);
  if (!mem->idle_solver) return CP_MEM_FAIL;
  sens->mem      = mem;
  sens->is_rough = !fS1;
  keepStart(sens, sens->given);
  int flag = CVodeSensInit1(mem->cvode_mem, params->Ns, CV_STAGGERED1, fS1, sens->given);
  if (!flag) flag = cpSensInstall(sens);
  if (!flag) flag = CVodeSetSensParams(mem->cvode_mem, params->p, params->pbar, params->plist);
  if (!flag) flag = CVodeSensEEtolerances(mem->cvode_mem);
  if (!flag) flag = CVodeSetSensErrCon(mem->cvode_mem, sens->errcon);
  if (!flag && model) flag = model->start(mem->base.system.data, params);
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
  if (flag) detach(sens, 0);
  return flag;
}

int cpSensSet(CPMultistep mem, CPSens sens, const char *function) {
  const CPSens before = mem->sens.data;
  CPLog *log          = &mem->base.log;
  if (sens == before) return !sens || sens->has_start ? CP_SUCCESS : CPSensReInit(sens, NULL);
  if (!sens) {
    detach(before, 0);
    return CP_SUCCESS;
  }
  if (sens->mem) return cpRefuse(log, function, "another integrator computes these sensitivities");
  int flag =
      cpCheckNoSteps(mem, function); /* CVODES takes up sensitivities only at its first step. */
  if (!flag) flag = checkStart(log, sens->params.Ns, sens->given, mem->base.y0, function);
  if (flag) return flag;
  if (!sens->fS1 && !sens->params.p && !mem->base.system.sens)
    return cpRefuse(log, function,
                    "df/dp is not known: give the values of the parameters (CPParameters), or "
                    "CPSensSetRhsFn a right-hand side");
  if (sens->cS && mem->base.system.sens)
    return cpReport(log, CP_NOT_SUPPORTED, function,
                    "the constraints are those of a mechanical system, which knows their "
                    "derivatives: use CPMechSetParamPartialsFn in place of cS");
  if (before) detach(before, 0);
  flag = attach(mem, sens);
  return flag ? cpReport(log, flag, function, "sensitivities could not be set up") : CP_SUCCESS;
}

int CPIntegratorSetSens(CPIntegrator s, CPSens sens) {
  const CPMultistep mem = cpMultistep(s, "sensitivities", __func__);
  if (!mem) return s ? CP_NOT_SUPPORTED : CP_MEM_NULL;
  const int flag = cpStepperCheck(s, __func__);
  return flag ? flag : cpSensSet(mem, sens, __func__);
}

CPSens CPIntegratorGetSens(CPIntegrator s, CPParameters *parameters) {
  const CPSens sens = s && CPIntegratorGetCVodeMem(s) ? ((CPMultistep)s)->sens.data : NULL;
  if (sens && parameters)
    cpGive(parameters, (&(CPParameters){CP_SIZED(CPParameters), .n = sens->params.Ns,
                                        .values = sens->params.p, .pbar = sens->params.pbar,
                                        .plist = sens->params.plist, .y0S = sens->given}));
  return sens;
}

int CPSensReInit(CPSens sens, N_Vector *yS0) {
  int flag = check(sens, __func__);
  if (flag) return flag;
  CPMultistep mem = sens->mem;
  if (!yS0) yS0 = sens->given;
  flag = cpCheckNoSteps(mem, __func__);
  if (!flag) flag = checkStart(logOf(sens), sens->params.Ns, yS0, mem->base.y0, __func__);
  if (!flag) flag = cpOfCVODES(mem, CVodeSensReInit(mem->cvode_mem, CV_STAGGERED1, yS0), __func__);
  if (!flag) keepStart(sens, yS0);
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

int cpSensBypassed(void *data, long int steps) {
  CPSens sens          = data;
  const long int seen  = sens->nsolves - sens->nsolves_before;
  sens->nsolves_before = sens->nsolves;
  if (seen >= steps || sens->off) return 0;
  return !(sens->off = isOff(sens->mem));
}

/* ---- options ---- */

int CPSensSetRhsFn(CPSens sens, CVSensRhs1Fn fS1, CPConstraintSensFn cS) {
  const int flag = exists(sens, __func__);
  if (flag) return flag;
  if (sens->mem)
    return cpReport(logOf(sens), CP_TOO_LATE, __func__, "call it before CPIntegratorSetSens");
  sens->fS1 = fS1, sens->cS = cS;
  return CP_SUCCESS;
}

int CPSensSetErrCon(CPSens sens, sunbooleantype on) {
  const int flag = exists(sens, __func__);
  if (flag) return flag;
  sens->errcon = on != 0;
  return sens->mem ? cpOfCVODES(sens->mem, CVodeSetSensErrCon(sens->mem->cvode_mem, sens->errcon),
                                __func__)
                   : CP_SUCCESS;
}

/* ---- the start ---- */

int CPSensCalcIC(CPSens sens, N_Vector *yS0) {
  int flag = check(sens, __func__);
  if (flag) return flag;
  CPMultistep mem = sens->mem;
  CPLog *log      = logOf(sens);
  if (!mem->base.P)
    return cpReport(log, CP_NO_PROJECTOR, __func__, "call CPIntegratorSetProjector first");
  flag = cpCheckNoSteps(mem, __func__);
  if (flag) return flag;
  flag = cpSensUpdate(sens);
  if (!flag) flag = cpStepperWeights(&mem->base, mem->base.y0, mem->base.ewt);
  N_Vector ewt = flag ? NULL : sens->ewt; /* without tolerances the norm is Euclidean */
  if (!flag) N_VScale(1.0, mem->base.ewt, ewt);
  if (flag && flag != CP_NO_INIT)
    return cpReport(log, flag, __func__, "no error weights, or no memory");
  flag = CP_SUCCESS;
  cpWorkForget(sens->work);
  cpSensEnter(sens);
  for (int i = 0; !flag && i < sens->params.Ns; i++) {
    N_VScale(1.0, sens->start[i], sens->delta[i]);
    flag = cpSensProject(sens, mem->base.t0, mem->base.y0, ewt, i, sens->delta[i]);
  }
  cpStepperLeave(&mem->base, flag);
  cpWorkForget(sens->work);
  if (flag) return cpReport(log, flag > 0 ? -flag : flag, __func__, "%s", cpWorkText(sens->work));
  flag = CPSensReInit(sens, sens->delta);
  for (int i = 0; i < sens->params.Ns && yS0 && !flag; i++) N_VScale(1.0, sens->start[i], yS0[i]);
  return flag;
}

/* ---- output ---- */

/* sens->delta[0] holds the projected state. */
int CPSensGetDky(CPSens sens, sunrealtype t, int k, N_Vector *dkyS) {
  int flag = check(sens, __func__);
  if (flag) return flag;
  CPMultistep mem = sens->mem;
  CPLog *log      = logOf(sens);
  const int Ns    = sens->params.Ns;
  if (!dkyS) return cpRefuse(log, __func__, "yS must not be NULL");
  for (int i = 0; !flag && i < Ns; i++)
    flag = cpStepperCheckVector(&mem->base, dkyS[i], "yS[i]", __func__);
  if (flag) return flag;
  if (k == 0 && t == mem->base.t0 && sens->has_start && cpStepsTaken(mem) == 0) {
    for (int i = 0; i < Ns; i++) N_VScale(1.0, sens->start[i], dkyS[i]);
    return CP_SUCCESS;
  }
  flag = cpCheckStepTaken(mem, __func__);
  if (!flag) flag = cpOfCVODES(mem, CVodeGetSensDky(mem->cvode_mem, t, k, dkyS), __func__);
  if (flag || k > 0 || !mem->base.P || !mem->base.project_output || cpIsProjectedState(mem, t))
    return flag;
  flag = CVodeGetDky(mem->cvode_mem, t, 0, sens->delta[0]);
  cpStepperEnter(&mem->base);
  if (!flag) flag = cpProjectOutput(mem, t, sens->delta[0], __func__, "");
  cpStepperLeave(&mem->base, flag);
  if (!flag && cpSensUpdate(sens)) flag = cpReport(log, CP_MEM_FAIL, __func__, "no memory");
  if (flag) return flag;
  CVodeGetErrWeights(mem->cvode_mem, sens->ewt);
  cpWorkForget(sens->work);
  cpSensEnter(sens);
  int i = 0;
  while (i < Ns && !cpSensProject(sens, t, sens->delta[0], sens->ewt, i, dkyS[i])) i++;
  cpStepperLeave(&mem->base, flag);
  if (i < Ns)
    return cpReport(log, CP_OUTPUT_PROJ_FAIL, __func__,
                    "sensitivity %d at t = %.10g is given unprojected: %s", i, t,
                    cpWorkText(sens->work));
  return CP_SUCCESS;
}
