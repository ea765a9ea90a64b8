/* Options of multistep methods, the table of their functions, and the system attached to them. */
#include "multistep_impl.h"

#include <cvodes/cvodes_ls.h>
#include <math.h>
#include <stdlib.h>

/* CVODES 6 reports errors to the handler that our own memory was given. CVODES 7 and attached
 * memory report elsewhere, so the error is reported here as well. */
int cpOfCVODES(CPMultistep mem, int flag, const char *function) {
#ifdef CP_CVODES_HAS_EHFUN
  if (!mem->base.attached) return flag;
#endif
  if (flag >= 0) return flag;
  char *name = CVodeGetReturnFlagName(flag);
  cpReport(&mem->base.log, flag, function, "CVODES returned %s (%d)", name ? name : "an error",
           flag);
  free(name);
  return flag;
}

/* ---- tolerances ---- */

/* Error estimates contain the roundoff of the steps before, less with each step. Smaller steps would not reduce the roundoff at narrow angles, which would fail the error test at every
 * size; at most the bound of corrections is granted. */
static void relax(CPMultistep mem, N_Vector ewt) {
  const sunrealtype before = CP_FADES * mem->roundoff;
  mem->roundoff            = 0.0;
  if (!mem->base.P || !cpCarriesOver(mem)) return;
  mem->roundoff = fmax(fmin(mem->attempt.roundoff, mem->base.max_correction), before);
  if (!(mem->roundoff > 1.0)) return;
  N_VScale(1.0 / mem->roundoff, ewt, ewt);
  cpStepperRelaxed(&mem->base, mem->roundoff);
}

/* CVODES' user_data is the system. */
static int systemWeights(N_Vector y, N_Vector ewt, void *data) {
  const CPMultistep mem = (CPMultistep)((CPSystemHead *)data)->host;
  const int flag        = cpStepperWeights(&mem->base, y, ewt);
  mem->own_weights      = 1;
  if (!flag) relax(mem, ewt);
  return flag;
}

int cpApplyTolerances(CPMultistep mem) {
  const CPTolerances *tol = &mem->base.tol;
  if (tol->kind == CP_TOL_NONE || tol->kind == CP_TOL_CVODES) return CP_SUCCESS;
  if (mem->base.system.data) return CVodeWFtolerances(mem->cvode_mem, systemWeights);
  if (tol->kind == CP_TOL_WF) return CVodeWFtolerances(mem->cvode_mem, tol->efun);
  return tol->kind == CP_TOL_SS ? CVodeSStolerances(mem->cvode_mem, tol->reltol, tol->abstol)
                                : CVodeSVtolerances(mem->cvode_mem, tol->reltol, tol->vabstol);
}

static int setTolerances(CPIntegrator s, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  mem->tol_is_new       = 1;
  if (!s->initialised) return CP_SUCCESS; /* CPIntegratorInit applies them */
  return cpOfCVODES(mem, cpApplyTolerances(mem), function);
}

/* All ratios of the entries of two weight vectors are 1 if the mean squares of the ratios and of
 * their inverses are 1. The weights of a system depend on the step, and CVODES asks for them. */
void cpAdoptTolerances(CPMultistep mem, N_Vector ewt) {
  const CPIntegrator s = &mem->base;
  if (s->tol.kind == CP_TOL_CVODES || (s->system.data && mem->own_weights)) return;
  if (!s->system.data && !cpStepperWeights(s, s->y, s->ewt)) {
    N_VInv(ewt, s->tmp);
    const sunrealtype ratio = cpWrmsNorm(s->tmp, s->ewt);
    N_VInv(s->ewt, s->tmp);
    const sunrealtype inverse = cpWrmsNorm(s->tmp, ewt);
    if (fabs(ratio - 1.0) <= CP_INEXACT && fabs(inverse - 1.0) <= CP_INEXACT) return;
  }
  s->tol.kind = CP_TOL_CVODES;
}

/* ---- the projection ---- */

static void newProjector(CPIntegrator s, int same) {
  const CPMultistep mem = (CPMultistep)s;
  /* The same projector may have new data, so the state is checked again, unless it was left
   * unprojected. */
  if (!same || mem->last.since == 0) s->start_checked = 0;
  if (same) return;
  cpOrderNormsForget(mem);
  if (mem->base.sens) mem->sens.projector(mem->base.sens);
}

static void setFrequency(CPIntegrator s, long int nsteps) { ((CPMultistep)s)->frequency = nsteps; }

/* ---- the nonlinear solver ---- */

/* Hybrid solvers (SUNDIALS 7.8 and later) receive two functions by an operation that older solvers
 * do not have. */
int cpLacksOperations(SUNNonlinearSolver inner) {
  if (!inner->ops->gettype || !inner->ops->solve || !inner->ops->setsysfn || !inner->ops->setctestfn)
    return 1;
  const SUNNonlinearSolver_Type type = SUNNonlinSolGetType(inner);
  return type != SUNNONLINEARSOLVER_ROOTFIND && type != SUNNONLINEARSOLVER_FIXEDPOINT;
}

/* Checks that no steps have been taken. Returns 0, or the code that was reported. */
static int checkNoSteps(CPMultistep mem, const char *function) {
  if (cpStepsTaken(mem) == 0) return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_TOO_LATE, function,
                  "%ld steps have been taken: call CPIntegratorReInit first", cpStepsTaken(mem));
}

static int setNonlinearSolver(CPIntegrator s, SUNNonlinearSolver inner, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  if (inner && cpLacksOperations(inner)) return cpRefuse(&s->log, function, CP_INNER_MUST);
  if (!s->initialised) { /* CPIntegratorInit will install it */
    mem->nls.inner = inner;
    return CP_SUCCESS;
  }
  int flag = checkNoSteps(mem, function);
  if (flag) return flag;
  flag = cpInstall(mem, inner, 0);
  if (!flag && mem->base.sens) flag = mem->sens.solver(mem->base.sens);
  return flag ? cpReport(&s->log, flag, function, "the nonlinear solver could not be installed")
              : CP_SUCCESS;
}

/* ---- what CVODES sets ---- */

static void *cvodes(CPIntegrator s) { return ((CPMultistep)s)->cvode_mem; }

static int setUserData(CPIntegrator s, void *user_data, const char *function) {
  return cpOfCVODES((CPMultistep)s, CVodeSetUserData(cvodes(s), user_data), function);
}

static int setFirstStep(CPIntegrator s, sunrealtype h, const char *function) {
  ((CPMultistep)s)->has_first = h != 0.0;
  return cpOfCVODES((CPMultistep)s, CVodeSetInitStep(cvodes(s), h), function);
}

static int setSize(CPIntegrator s, CPStepSize which, sunrealtype h, const char *function) {
  return cpOfCVODES((CPMultistep)s,
                    which == CP_LEAST_STEP ? CVodeSetMinStep(cvodes(s), h)
                                           : CVodeSetMaxStep(cvodes(s), h),
                    function);
}

static int setMaxSteps(CPIntegrator s, long int mxsteps, const char *function) {
  return cpOfCVODES((CPMultistep)s, CVodeSetMaxNumSteps(cvodes(s), mxsteps), function);
}

static int setStop(CPIntegrator s, sunrealtype tstop, const char *function) {
  ((CPMultistep)s)->tstop = tstop;
  if (isinf(tstop)) return cpClearStopTime((CPMultistep)s, tstop), CP_SUCCESS;
  return cpOfCVODES((CPMultistep)s, CVodeSetStopTime(cvodes(s), tstop), function);
}

static int getFound(CPIntegrator s, int *rootsfound, const char *function) {
  return cpOfCVODES((CPMultistep)s, CVodeGetRootInfo(cvodes(s), rootsfound), function);
}

static int evolve(CPIntegrator s, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                  const char *function) {
  return cpRun((CPMultistep)s, tout, yout, tret, itask, function);
}

static const char *method(CPIntegrator s, int *order, int *embedded, int *stages) {
  (void)embedded, (void)stages;
  if (order && s->begun) CVodeGetLastOrder(cvodes(s), order);
  return ((CPMultistep)s)->lmm == CV_BDF ? "BDF" : "ADAMS";
}

/* ---- an attached system ---- */

static int setSystem(CPIntegrator s, const CPSystem *system) {
  CVodeSetUserData(cvodes(s), system->data); /* fails only if cvode_mem is NULL */
  s->system = *system;
  return s->initialised ? cpApplyTolerances((CPMultistep)s) : CP_SUCCESS;
}

static sunrealtype step(CPIntegrator s) {
  sunrealtype h = 0.0;
  CVodeGetCurrentStep(((CPMultistep)s)->cvode_mem, &h);
  return h;
}

static int weights(CPIntegrator s, N_Vector ewt) {
  return CVodeGetErrWeights(((CPMultistep)s)->cvode_mem, ewt);
}

/* Before the first attempt CVODES has not evaluated f. Steps that CVodeB repeats must have the same weights, which are
 * then those of y' at their start alone. */
static int rates(CPIntegrator s, sunrealtype *t, N_Vector ydot) {
  const CPMultistep mem = (CPMultistep)s;
  CPAttempt a           = {0};
  cpAttemptRead(mem, &a);
  if (!cpCarriesOver(mem)) {
    N_VConst(0.0, s->rates);
    s->rates_t = NAN;
  }
  if ((a.nst == 0 && !mem->solving) || a.h == 0.0) return 0;
  *t = a.nst == 0 ? s->t0 : a.t;
  N_VScale(1.0 / a.h, a.zn1, ydot);
  return 1;
}

static void *userData(CPIntegrator s) {
  CPAttempt a = {0};
  cpAttemptRead((CPMultistep)s, &a);
  return a.user_data;
}

static CPIteration iteration(CPIntegrator s) {
  const CPMultistep mem = (CPMultistep)s;
  if (mem->lmm == CV_BDF) return CP_NEWTON;
  return mem->nls.inner && !mem->nls.inner_owned ? CP_USERS_ITERATION : CP_FIXED_POINT;
}

static long int stepsTaken(CPIntegrator s) { return cpStepsTaken((CPMultistep)s); }

static int linearSystem(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix S, sunbooleantype jok,
                        sunbooleantype *jcur, sunrealtype gamma, void *data, N_Vector tmp1,
                        N_Vector tmp2, N_Vector tmp3) {
  const CPIntegrator s = ((CPSystemHead *)data)->host;
  (void)fy, (void)S, (void)tmp1, (void)tmp2, (void)tmp3;
  return s->system.linsys(t, y, jok, jcur, gamma, data);
}

static int setLinearSystem(CPIntegrator s, SUNLinearSolver LS, SUNMatrix S) {
  /* Its codes differ from CVode's; the only possible failure is a lack of memory. */
  if (CVodeSetLinearSolver(cvodes(s), LS, S)) return CP_MEM_FAIL;
  return CVodeSetLinSysFn(cvodes(s), linearSystem);
}

const CPIntegratorOps cpMultistepOps = {.multistep        = 1,
                                        .free             = cpMultistepFree,
                                        .init             = cpMultistepInit,
                                        .reinit           = cpMultistepReInit,
                                        .evolve           = evolve,
                                        .tolerances       = setTolerances,
                                        .projector        = newProjector,
                                        .user_data        = setUserData,
                                        .frequency        = setFrequency,
                                        .nonlinear_solver = setNonlinearSolver,
                                        .first_step       = setFirstStep,
                                        .size             = setSize,
                                        .max_steps        = setMaxSteps,
                                        .stop             = setStop,
                                        .roots            = cpMultistepRoots,
                                        .direction        = cpMultistepDirection,
                                        .found            = getFound,
                                        .window           = cpMultistepWindow,
                                        .dky              = cpMultistepDky,
                                        .errors           = cpMultistepErrors,
                                        .method           = method,
                                        .steps            = stepsTaken,
                                        .stats            = cpMultistepStats,
                                        .step             = step,
                                        .weights          = weights,
                                        .rates            = rates,
                                        .data             = userData,
                                        .iteration        = iteration,
                                        .system           = setSystem,
                                        .linear_system    = setLinearSystem};

void *cpMultistepCVodeMem(CPIntegrator s) { return s->ops == &cpMultistepOps ? cvodes(s) : NULL; }
