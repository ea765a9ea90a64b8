/* Forward sensitivities: life cycle, options, start and output. */
#include "sens_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

/* The log for messages: the integrator's, if there is one. */
static CPLog *logOf(CPSens sens) { return sens->mem ? &sens->mem->log : &sens->log; }

static int exists(CPSens sens, const char *function) {
  return sens ? CP_SUCCESS : cpReport(NULL, CP_MEM_NULL, function, "sens must not be NULL");
}

/* Checks that an integrator computes sens, and is idle. Returns 0 or an error code that has been reported. */
static int check(CPSens sens, const char *function) {
  const int flag = exists(sens, function);
  if (flag) return flag;
  if (!sens->mem)
    return cpReport(&sens->log, CP_NO_INIT, function, "call CPIntegratorSetSens first");
  return cpStepperIdle(sens->mem, function);
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

/* The integrator computes sens no longer. freeing: it is being freed itself. */
static void detach(CPSens sens, int freeing) {
  const CPIntegrator mem = sens->mem;
  if (mem->system.sens && mem->system.data) mem->system.sens->start(mem->system.data, NULL);
  cpSensNewProjector(sens);
  if (mem->ops->multistep) cpSensLeave(sens, freeing);
  else mem->ops->carry(mem, NULL);
  mem->sens = NULL;
  sens->mem = NULL;
}

static void release(void *sens) { detach(sens, 1); }

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
  if (!sens || (sens->mem && cpStepperIdle(sens->mem, __func__))) return;
  if (sens->mem) detach(sens, 0);
  cpParamsFree(&sens->params);
  cpArenaFree(&sens->arena);
  free(sens);
  *address = NULL;
}

void cpSensStats(void *data, CPIntegratorSensStats *stats) {
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

/* Gives the integrator the sensitivities. Returns 0 or a code. */
static int attach(CPIntegrator mem, CPSens sens) {
  const CPSensSystem *model = mem->system.sens;
  sens->mem                 = mem;
  keepStart(sens, sens->given);
  int flag = mem->ops->multistep ? cpSensJoin(sens) : cpSensCarry(sens);
  if (!flag && model) flag = model->start(mem->system.data, &sens->params);
  mem->sens      = sens;
  mem->free_sens = release;
  if (flag) detach(sens, 0);
  return flag;
}

static int noSteps(CPIntegrator mem, const char *function) {
  const long int nst = mem->ops->steps(mem);
  if (nst == 0) return CP_SUCCESS;
  return cpReport(&mem->log, CP_TOO_LATE, function,
                  "%ld steps have been taken: call CPIntegratorReInit first", nst);
}

int cpSensPasses(CPIntegrator mem, const char *function) {
  if (!mem->system.acts) return CP_SUCCESS;
  return cpReport(&mem->log, CP_NOT_SUPPORTED, function,
                  "an integrator knows neither the samples of controllers nor the releases of "
                  "joints, nor where forces jump: derivatives pass samples in CPSessionGradient");
}

int cpSensSet(CPIntegrator mem, CPSens sens, const char *function) {
  const CPSens before = mem->sens;
  CPLog *log          = &mem->log;
  if (sens == before) return !sens || sens->has_start ? CP_SUCCESS : CPSensReInit(sens, NULL);
  if (!sens) {
    detach(before, 0);
    return CP_SUCCESS;
  }
  if (sens->mem) return cpRefuse(log, function, "another integrator computes these sensitivities");
  /* CVODES takes up sensitivities only at its first step. */
  int flag = noSteps(mem, function);
  if (!flag) flag = checkStart(log, sens->params.Ns, sens->given, mem->y0, function);
  if (flag) return flag;
  if (!sens->fS1 && !sens->params.p && !mem->system.sens)
    return cpRefuse(log, function,
                    "df/dp is not known: give the values of the parameters (CPParameters), or "
                    "CPSensSetRhsFn a right-hand side");
  if (sens->cS && mem->system.sens)
    return cpReport(log, CP_NOT_SUPPORTED, function,
                    "the constraints are those of a mechanical system, which knows their "
                    "derivatives: use CPMechSetParamPartialsFn in place of cS");
  if (before) detach(before, 0);
  flag = attach(mem, sens);
  return flag ? cpReport(log, flag, function, "sensitivities could not be set up") : CP_SUCCESS;
}

int CPIntegratorSetSens(CPIntegrator mem, CPSens sens) {
  int flag = cpStepperCheck(mem, __func__);
  if (!flag && sens && sens != mem->sens) flag = cpSensPasses(mem, __func__);
  return flag ? flag : cpSensSet(mem, sens, __func__);
}

CPSens CPIntegratorGetSens(CPIntegrator mem, CPParameters *parameters) {
  const CPSens sens = mem ? mem->sens : NULL;
  if (sens && parameters)
    cpGive(parameters, (&(CPParameters){CP_SIZED(CPParameters), .n = sens->params.Ns,
                                        .values = sens->params.p, .pbar = sens->params.pbar,
                                        .plist = sens->params.plist, .y0S = sens->given}));
  return sens;
}

int CPSensReInit(CPSens sens, N_Vector *yS0) {
  int flag = check(sens, __func__);
  if (flag) return flag;
  const CPIntegrator mem = sens->mem;
  if (!yS0) yS0 = sens->given;
  flag = noSteps(mem, __func__);
  if (!flag) flag = checkStart(logOf(sens), sens->params.Ns, yS0, mem->y0, __func__);
  if (!flag && mem->ops->multistep) flag = cpSensRestartCVODES(sens, yS0, __func__);
  else if (!flag && sens->off && cpSensCarry(sens))
    flag = cpReport(logOf(sens), CP_MEM_FAIL, __func__, "no memory for sensitivities");
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
  if (sens->work || !sens->mem->P) return CP_SUCCESS;
  const int flag = cpWorkCreate(&sens->work, sens->mem->P);
  cpWorkLend(sens->work, cpStepperLent(sens->mem));
  return flag;
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
  return sens->mem && sens->mem->ops->multistep ? cpSensTest(sens, __func__) : CP_SUCCESS;
}

/* ---- the start ---- */

/* Compares the user's dc/dp with difference quotients of c, if the parameters are known. weight: of
 * the sensitivity. */
static int checkRows(CPSens sens, int iS, N_Vector weight, int *failed) {
  const CPIntegrator mem = sens->mem;
  N_Vector s[2] = {sens->s, mem->tmp}, r = NULL; /* s = -K dc/dp for each */
  int flag = CP_SUCCESS;
  if (!sens->cS || !sens->params.p) return CP_SUCCESS;
  for (int k = 0; !flag && k < 2; k++) {
    flag = k == 0 ? cpSensRows(sens, mem->t, mem->y, iS, &r)
                  : cpSensRowsByDifferences(sens, mem->t, mem->y, iS, &r);
    N_VConst(0.0, s[k]);
    if (!flag) flag = cpTangentTo(sens->work, mem->t, mem->y, sens->ewt, s[k], r);
  }
  if (flag) return *failed = iS, -abs(flag);
  const sunrealtype size = N_VWrmsNorm(s[1], weight);
  N_VLinearSum(1.0, s[0], -1.0, s[1], s[0]);
  const sunrealtype off = N_VWrmsNorm(s[0], weight);
  if (off <= fmax(1.0, CP_INEXACT * size)) return CP_SUCCESS;
  return cpReason(mem->text, CP_CNSTRSENS_WRONG,
                  "at t = %.10g: dc/dp of sensitivity %d (CPSensSetRhsFn) is not the derivative of "
                  "c: differences of c move the sensitivity by %.3g times its tolerance, and that "
                  "by %.3g more or less",
                  mem->t, iS, size, off);
}

int cpSensCheckStart(CPSens sens, N_Vector *weight, int *failed) {
  const CPIntegrator mem = sens->mem;
  *failed                = -1;
  cpWorkForget(sens->work);
  for (int i = 0; i < sens->params.Ns; i++) {
    int flag = checkRows(sens, i, weight[i], failed);
    if (flag) return flag;
    N_VScale(1.0, sens->start[i], sens->s);
    flag = cpSensProject(sens, mem->t, mem->y, sens->ewt, i, sens->s);
    if (flag) return *failed = i, -abs(flag);
    N_VLinearSum(1.0, sens->s, -1.0, sens->start[i], sens->s);
    const sunrealtype off = N_VWrmsNorm(sens->s, weight[i]);
    if (off > 1.0)
      return cpReason(mem->text, CP_INCONSISTENT_IC,
                      "at t = %.10g: the start of sensitivity %d is %.3g times its tolerance off "
                      "G s + dc/dp = 0; CPSensCalcIC makes it consistent",
                      mem->t, i, off);
  }
  cpWorkForget(sens->work);
  sens->start_checked = 1;
  return CP_SUCCESS;
}

int CPSensCalcIC(CPSens sens, N_Vector *yS0) {
  int flag = check(sens, __func__);
  if (flag) return flag;
  const CPIntegrator mem = sens->mem;
  CPLog *log             = logOf(sens);
  if (!mem->P)
    return cpReport(log, CP_NO_PROJECTOR, __func__, "call CPIntegratorSetProjector first");
  flag = noSteps(mem, __func__);
  if (flag) return flag;
  flag = cpSensUpdate(sens);
  if (!flag) flag = cpStepperWeights(mem, mem->y0, mem->ewt);
  N_Vector ewt = flag ? NULL : sens->ewt; /* without tolerances the norm is Euclidean */
  if (!flag) N_VScale(1.0, mem->ewt, ewt);
  if (flag && flag != CP_NO_INIT)
    return cpReport(log, flag, __func__, "no error weights, or no memory");
  flag = CP_SUCCESS;
  cpWorkForget(sens->work);
  cpSensEnter(sens);
  for (int i = 0; !flag && i < sens->params.Ns; i++) {
    N_VScale(1.0, sens->start[i], sens->delta[i]);
    flag = cpSensProject(sens, mem->t0, mem->y0, ewt, i, sens->delta[i]);
  }
  cpStepperLeave(mem, flag);
  cpWorkForget(sens->work);
  if (flag) return cpReport(log, flag > 0 ? -flag : flag, __func__, "%s", cpWorkText(sens->work));
  flag = CPSensReInit(sens, sens->delta);
  for (int i = 0; i < sens->params.Ns && yS0 && !flag; i++) N_VScale(1.0, sens->start[i], yS0[i]);
  return flag;
}

/* ---- output ---- */

int CPSensGetDky(CPSens sens, sunrealtype t, int k, N_Vector *dkyS) {
  int flag = check(sens, __func__);
  if (flag) return flag;
  const CPIntegrator mem = sens->mem;
  const int Ns           = sens->params.Ns;
  if (!dkyS) return cpRefuse(logOf(sens), __func__, "yS must not be NULL");
  for (int i = 0; !flag && i < Ns; i++)
    flag = cpStepperCheckVector(mem, dkyS[i], "yS[i]", __func__);
  if (flag) return flag;
  if (k == 0 && t == mem->t0 && sens->has_start && mem->ops->steps(mem) == 0) {
    for (int i = 0; i < Ns; i++) N_VScale(1.0, sens->start[i], dkyS[i]);
    return CP_SUCCESS;
  }
  if (sens->off && !mem->ops->multistep)
    return cpReport(logOf(sens), CP_NO_INIT, __func__, "they are switched off: call CPSensReInit");
  cpStepperTurned(mem, 1);
  flag = mem->ops->multistep ? cpSensInterpolate(sens, t, k, dkyS, __func__)
                             : mem->ops->carried(mem, t, k, dkyS, __func__);
  cpStepperTurned(mem, 0);
  return flag;
}
