/* The projecting solver of sensitivities: one SUNNonlinearSolver for all of them, which CVODES
 * calls for one after the other once it has found the state of an attempt.
 *
 * The return codes of solve are those of stepping/multistep/step.c. A correction that enters only
 * the predicted vector is *pending* until CVODES has accepted the step, like that of the state
 * (step.c): a retry finds it in its predicted vector and takes it back. */
#include "sens_impl.h"

#include <math.h>
#include <string.h>
#include <sundials/sundials_nonlinearsolver.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

/* ---- CVODES' history of sensitivities ---- */

/* Gets the vectors that CVODES has predicted, and the columns zn[1] of their Nordsieck arrays. */
static void history(CPSens sens, N_Vector **predicted, N_Vector **zn1) {
  sunrealtype t, gamma, rl1;
  N_Vector *corrected;
  void *user_data;
  CVodeGetNonlinearSystemDataSens(((CPMultistep)sens->mem)->cvode_mem, &t, predicted, &corrected,
                                  &gamma, &rl1, zn1, &user_data);
}

/* At a retry, takes pending corrections back from the predicted vectors. None is pending
 * afterwards. */
static void takeBack(CPSens sens, int isRetry) {
  N_Vector *predicted = NULL, *zn1; /* remains NULL if CVODES has no sensitivities any more */
  if (isRetry) history(sens, &predicted, &zn1);
  for (int i = 0; i < sens->params.Ns; i++) {
    if (predicted && sens->pending[i]) {
      N_VLinearSum(1.0, predicted[i], -1.0, sens->delta[i], predicted[i]);
      sens->stats.ntakenback++;
    }
    sens->pending[i] = 0;
  }
}

/* If f fails, CVODES' difference quotients leave the parameter as they have changed it. So
 * keepParameters is called first, and restoreParameters at the end. */
static void keepParameters(void *data) {
  const CPSens sens      = data;
  const CPParams *params = &sens->params;
  cpWorkLend(sens->work, cpStepperLent(sens->mem));
  for (int i = 0; params->p && i < params->Ns; i++) params->kept[i] = params->p[params->plist[i]];
}
static void restoreParameters(void *data) {
  const CPSens sens      = data;
  const CPParams *params = &sens->params;
  for (int i = 0; sens->is_rough && params->p && i < params->Ns; i++)
    params->p[params->plist[i]] = params->kept[i];
}

static void beginAttempt(void *data, const CPAttempt *a) {
  CPSens sens = data;
  N_Vector *predicted, *zn1;
  sens->attempted = 1;
  restoreParameters(sens);
  takeBack(sens, cpIsRetry(&sens->mark, a));
  /* Like the states' first predictions (step.c), these are made from the start. */
  if (a->nst > 0 || !sens->has_start || sens->off) return;
  history(sens, &predicted, &zn1);
  for (int i = 0; i < sens->params.Ns; i++)
    N_VLinearSum(1.0, sens->start[i], 1.0, zn1[i], predicted[i]);
}

/* Returns whether NaN has entered the history. */
static int takeBackHistory(void *data, const CPAttempt *a) {
  CPSens sens = data;
  N_Vector *predicted, *zn1;
  int lost = 0;
  takeBack(sens, a->nst == sens->mark.nst);
  if (!sens->attempted || sens->off) return 0;
  history(sens, &predicted, &zn1);
  for (int i = 0; i < sens->params.Ns && a->nst == 0 && sens->has_start; i++)
    N_VScale(1.0, sens->start[i],
             predicted[i]); /* as for the states: the prediction may have lost it (cpode.c) */
  for (int i = 0; i < sens->params.Ns; i++)
    lost = lost || !cpVectorFinite(predicted[i]) || !cpVectorFinite(zn1[i]);
  return lost;
}

void cpSensRestart(void *data) {
  CPSens sens = data;
  takeBack(sens, 0);
  sens->start_checked = sens->has_start = sens->attempted = 0;
  sens->nsolves = sens->nsolves_before = 0;
  cpWorkForget(sens->work);
}

/* ---- projection ---- */

/* Projects s by (S1). If G consists of rough difference quotients, G s is computed by differences
 * of sixth order, and only K uses G:
 *   s <- s - K r,   r = G s + dc/dp. */
int cpSensProject(CPSens sens, sunrealtype t, N_Vector y, N_Vector ewt, int iS, N_Vector s) {
  N_Vector r = NULL;
  int flag   = cpSensRows(sens, t, y, iS, &r);
  if (flag || !cpProjectorIsRough(sens->mem->P))
    return flag ? flag : cpTangentTo(sens->work, t, y, ewt, s, r);
  flag = cpSensRowsAlong(sens, t, y, s);
  if (flag) return flag;
  if (r) N_VLinearSum(1.0, sens->Gs, 1.0, r, sens->Gs);
  N_VConst(0.0, sens->moved);
  flag = cpTangentTo(sens->work, t, y, ewt, sens->moved, sens->Gs);
  if (!flag) N_VLinearSum(1.0, s, 1.0, sens->moved, s);
  return flag;
}

static int failed(CPSens sens, const CPAttempt *a, int iS, int flag) {
  sens->stats.nprojfails++;
  cpWrite(sens->mem->text, "sensitivity %d could not be projected: %s", iS, cpWorkText(sens->work));
  return cpRejected((CPMultistep)sens->mem, a, flag);
}

static int checkStart(CPSens sens, const CPAttempt *a) {
  const CPMultistep mem = (CPMultistep)sens->mem;
  int iS;
  CVodeGetSensErrWeights(mem->cvode_mem, sens->delta); /* not used yet */
  const int flag = cpSensCheckStart(sens, sens->delta, &iS);
  if (!flag) return CP_SUCCESS;
  return iS >= 0 ? failed(sens, a, iS, flag) : cpFatal(mem, flag);
}

/* To be called at the first sensitivity of an attempt. */
static int begin(CPSens sens, const CPAttempt *a) {
  const CPMultistep mem = (CPMultistep)sens->mem;
  sens->nsolves++;
  if (!sens->has_start) {
    cpWrite(sens->mem->text, CP_SENS_NO_START ", or CVodeSensToggleOff");
    return cpFatal(mem, CP_NO_INIT);
  }
  int flag = cpSensUpdate(sens);
  CVodeGetErrWeights(mem->cvode_mem, sens->ewt);
  if (flag) return cpFatal(mem, flag);
  if (!sens->work) return CP_SUCCESS;
  if (!sens->start_checked && a->nst == 0 && !sens->mem->attached) flag = checkStart(sens, a);
  cpWorkForget(sens->work);
  return flag;
}

/* Replaces s0 + scor by s0 + scor + delta. */
static int project(CPSens sens, const CPAttempt *a, int iS, N_Vector s0, N_Vector scor) {
  CPMultistep mem = (CPMultistep)sens->mem;
  N_Vector delta  = sens->delta[iS];
  N_VLinearSum(1.0, s0, 1.0, scor, sens->s);
  N_VScale(1.0, sens->s, delta);
  int flag = cpSensProject(sens, a->t, mem->attempt.y, sens->ewt, iS, sens->s);
  if (flag) return failed(sens, a, iS, flag);
  N_VLinearSum(1.0, sens->s, -1.0, delta, delta);
  sens->stats.nproj++;
  if (mem->attempt.entered) N_VLinearSum(1.0, scor, 1.0, delta, scor);
  else {
    N_VLinearSum(1.0, s0, 1.0, delta, s0);
    sens->pending[iS] = 1;
    sens->mark        = cpMark(a);
  }
  return CP_SUCCESS;
}

/* ---- the solver ---- */

static int notFinite(CPSens sens, const CPAttempt *a, int iS) {
  if (sens->nls.matrix_not_finite)
    cpWrite(sens->mem->text, "at t = %.10g: " CP_MATRIX_NONFINITE, a->t);
  else
    cpWrite(sens->mem->text, "at t = %.10g: the right-hand side of sensitivity %d is NaN or Inf",
            a->t, iS);
  return cpRejected((CPMultistep)sens->mem, a, -CP_RHS_NONFINITE);
}

/* As cpFailedInner: steps that make no progress end the run. */
static int failedInner(CPSens sens, const CPAttempt *a, int iS, N_Vector scor, int flag) {
  CPMultistep mem    = (CPMultistep)sens->mem;
  mem->failure.cause = 0;
  flag               = cpFunctionFailure(&sens->nls, scor, sens->s, flag);
  if (flag < 0) return flag;
  const int fS = flag == CP_CV_SRHSFUNC_RECVR; /* it reported its failure itself */
  if (!fS && (sens->nls.matrix_not_finite || !cpVectorFinite(scor) || !cpVectorFinite(sens->s)))
    return notFinite(sens, a, iS);
  cpWrite(mem->base.text, "at t = %.10g: %s sensitivity %d %s, with a step of %g", a->t,
          fS ? "the right-hand side of" : "the nonlinear solver of", iS,
          fS ? "failed recoverably" : "did not converge", a->h);
  const int again = cpRejected(mem, a, fS ? -CV_REPTD_SRHSFUNC_ERR : -CV_CONV_FAILURE);
  return fS && again > 0 ? flag : again;
}

static int solve(SUNNonlinearSolver NLS, N_Vector s0, N_Vector scor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem) {
  CPSens sens     = ((CPWrapped *)NLS->content)->owner;
  CPMultistep mem = (CPMultistep)sens->mem;
  CPAttempt a;
  int iS = 0;
  cpAttemptRead(mem, &a);
  CVodeGetCurrentSensSolveIndex(cvode_mem, &iS);
  int flag = iS == 0 ? begin(sens, &a) : CP_SUCCESS;
  if (flag) return flag;
  flag = cpInnerSolve(&sens->nls, s0, scor, ewt, tol, callLSetup, cvode_mem);
  if (flag) return failedInner(sens, &a, iS, scor, flag);
  if (!isfinite(N_VWrmsNorm(scor, ewt))) return notFinite(sens, &a, iS);
  return mem->attempt.projected == 1 && sens->work ? project(sens, &a, iS, s0, scor) : CP_SUCCESS;
}

/* ---- installation ---- */

/* Gives CVODES a solver of the kind of the states' one, at first and when these have got another one. */
static int install(void *data) {
  const CPSens sens      = data;
  CPMultistep mem        = (CPMultistep)sens->mem;
  const CPWrapped before = sens->nls;
  CPWrapped *nls         = &sens->nls;
  const int fixed        = SUNNonlinSolGetType(mem->nls.inner) == SUNNONLINEARSOLVER_FIXEDPOINT;
  *nls     = (CPWrapped){.inner       = fixed ? SUNNonlinSol_FixedPoint(mem->base.y0, 0, mem->base.ctx)
                                              : SUNNonlinSol_Newton(mem->base.y0, mem->base.ctx),
                         .inner_owned = 1};
  int flag = nls->inner ? CP_SUCCESS : CP_MEM_FAIL;
  if (!flag) flag = cpWrapperCreate(nls, solve, sens, sens->s, mem->base.ctx);
  if (!flag) flag = CVodeSetNonlinearSolverSensStg1(mem->cvode_mem, nls->wrapper);
  const CPWrapped gone = flag ? *nls : before;
  if (flag) *nls = before;
  if (gone.wrapper) SUNNonlinSolFree(gone.wrapper);
  if (gone.inner) SUNNonlinSolFree(gone.inner);
  return flag;
}

/* ---- life cycle ---- */

/* CVODES tells only by an error code whether it has sensitivities. */
static int isOff(CPMultistep mem) {
  long int nfS      = 0;
  const int holding = mem->holding;
  mem->holding      = 1; /* its message is not for the user */
  const int flag    = CVodeGetSensNumRhsEvals(mem->cvode_mem, &nfS);
  mem->holding      = holding;
  return flag == CV_NO_SENS;
}

static int bypassed(void *data, long int steps) {
  CPSens sens          = data;
  const long int seen  = sens->nsolves - sens->nsolves_before;
  sens->nsolves_before = sens->nsolves;
  if (seen >= steps || sens->off) return 0;
  return !(sens->off = isOff((CPMultistep)sens->mem));
}

int cpSensJoin(CPSens sens) {
  const CPMultistep mem     = (CPMultistep)sens->mem;
  const CPSensSystem *model = mem->base.system.sens;
  const CPParams *params    = &sens->params;
  const int knows_f         = mem->base.f && mem->norms.possible;
  const CVSensRhs1Fn fS1    = sens->fS1 ? sens->fS1
                              : model   ? model->rhs
                              : knows_f ? cpSensDifferences
                                        : NULL; /* CVODES' difference quotients */
  if (!mem->idle_solver) mem->idle_solver = SUNNonlinSol_FixedPoint(mem->base.y0, 0, mem->base.ctx);
  if (!mem->idle_solver) return CP_MEM_FAIL;
  sens->is_rough = !fS1;
  int flag       = CVodeSensInit1(mem->cvode_mem, params->Ns, CV_STAGGERED1, fS1, sens->given);
  if (!flag) flag = install(sens);
  if (!flag) flag = CVodeSetSensParams(mem->cvode_mem, params->p, params->pbar, params->plist);
  if (!flag) flag = CVodeSensEEtolerances(mem->cvode_mem);
  if (!flag) flag = CVodeSetSensErrCon(mem->cvode_mem, sens->errcon);
  mem->sens = (CPSensHooks){.begin     = keepParameters,
                            .end       = restoreParameters,
                            .attempt   = beginAttempt,
                            .take_back = takeBackHistory,
                            .restart   = cpSensRestart,
                            .projector = cpSensNewProjector,
                            .solver    = install,
                            .stats     = cpSensStats,
                            .bypassed  = bypassed};
  return flag;
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

void cpSensLeave(CPSens sens, int freeing) {
  const CPMultistep mem = (CPMultistep)sens->mem;
  if (mem->base.attached || !freeing) leaveCVODES(mem, sens);
  if (sens->nls.wrapper) SUNNonlinSolFree(sens->nls.wrapper);
  if (sens->nls.inner) SUNNonlinSolFree(sens->nls.inner);
  sens->nls = (CPWrapped){0};
  memset(sens->pending, 0, (size_t)sens->params.Ns);
}

int cpSensRestartCVODES(CPSens sens, N_Vector *yS0, const char *function) {
  const CPMultistep mem = (CPMultistep)sens->mem;
  return cpOfCVODES(mem, CVodeSensReInit(mem->cvode_mem, CV_STAGGERED1, yS0), function);
}

int cpSensTest(CPSens sens, const char *function) {
  const CPMultistep mem = (CPMultistep)sens->mem;
  return cpOfCVODES(mem, CVodeSetSensErrCon(mem->cvode_mem, sens->errcon), function);
}

int cpSensOff(CPIntegrator mem) {
  if (!mem->sens || cpSensOf(mem)->off) return CP_SUCCESS;
  cpSensOf(mem)->off = 1;
  if (mem->ops->multistep) return CVodeSensToggleOff(((CPMultistep)mem)->cvode_mem);
  cpSensNewProjector(mem->sens); /* Nothing tells them of another one. */
  return mem->ops->carry(mem, NULL);
}

/* ---- output; sens->delta[0] holds the projected state ---- */

int cpSensInterpolate(CPSens sens, sunrealtype t, int k, N_Vector *dkyS, const char *function) {
  const CPMultistep mem = (CPMultistep)sens->mem;
  const CPIntegrator s  = sens->mem;
  const int Ns          = sens->params.Ns;
  int flag = cpCheckStepTaken(mem, function), i = 0;
  if (!flag) flag = cpOfCVODES(mem, CVodeGetSensDky(mem->cvode_mem, t, k, dkyS), function);
  if (flag || k > 0 || !s->P || !s->project_output || cpIsProjectedState(mem, t)) return flag;
  flag = CVodeGetDky(mem->cvode_mem, t, 0, sens->delta[0]);
  cpStepperEnter(s);
  if (!flag) flag = cpProjectOutput(mem, t, sens->delta[0], function, "");
  cpStepperLeave(s, flag);
  if (!flag && cpSensUpdate(sens)) flag = cpReport(&s->log, CP_MEM_FAIL, function, "no memory");
  if (flag) return flag;
  CVodeGetErrWeights(mem->cvode_mem, sens->ewt);
  cpWorkForget(sens->work);
  cpSensEnter(sens);
  while (i < Ns && !cpSensProject(sens, t, sens->delta[0], sens->ewt, i, dkyS[i])) i++;
  cpStepperLeave(s, flag);
  if (i < Ns)
    return cpReport(&s->log, CP_OUTPUT_PROJ_FAIL, function,
                    "sensitivity %d at t = %.10g is given unprojected: %s", i, t,
                    cpWorkText(sens->work));
  return CP_SUCCESS;
}
