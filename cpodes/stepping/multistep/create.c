/* Life cycle, and installation of the projecting solver. */
#include "multistep_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

/* Passes CVODES' messages on at once, except during a call of CPIntegratorEvolve, which knows the
 * cause better. */
#ifdef CP_CVODES_HAS_EHFUN
static void fromCVODES(int code, const char *module, const char *function, char *msg, void *data) {
  CPMultistep mem = data;
  (void)module;
  for (char *s = msg; *s; s++)
    if (*s == '\n') *s = ' ';
  if (mem->holding && code < 0) cpReason(mem->cvodes, code, "%s: %s", function, msg);
  else cpReport(&mem->base.log, code, function, "%s", msg);
}
#endif

/* Values that replace CVODES' defaults, measured by bench/tuning.c (bench/defaults.rst). The step
 * size is kept if it could grow by less than KEPT. CVODES' 1.5 avoids refactorisations; fixed-point
 * iteration has none. */
#define KEPT_BDF   1.3
#define KEPT_ADAMS 1.25
/* A Newton matrix serves at most this many steps; CVODES' default is 20. */
#define NEWTON_AGE 60

static CPMultistep newIntegrator(int lmm, SUNContext ctx) {
  CPMultistep mem = calloc(1, sizeof *mem);
  if (!mem) return NULL;
  cpStepperCreate(&mem->base, &cpMultistepOps, ctx);
  mem->lmm       = lmm;
  mem->coef      = CP_CV_NLSCOEF; /* until the first step, if it is CVODES' own */
  mem->frequency = 1;
  mem->tstop = mem->root.t = NAN;
  return mem;
}

int cpMultistepMethod(const char *method) {
  return !strcmp(method, "BDF") ? CV_BDF : !strcmp(method, "ADAMS") ? CV_ADAMS : 0;
}

CPIntegrator cpMultistepCreate(int lmm, SUNContext ctx, const char *function) {
  CPMultistep mem = newIntegrator(lmm, ctx);
  CPIntegrator s  = (CPIntegrator)mem;
  if (mem && !(mem->cvode_mem = CVodeCreate(lmm, ctx))) CPIntegratorFree(&s);
  const sunrealtype kept = lmm == CV_ADAMS ? KEPT_ADAMS : KEPT_BDF;
  if (s && (CVodeSetEtaFixedStepBounds(mem->cvode_mem, 0.0, kept) ||
            CVodeSetLSetupFrequency(mem->cvode_mem, NEWTON_AGE)))
    CPIntegratorFree(&s);
#ifdef CP_CVODES_HAS_EHFUN
  if (s && CVodeSetErrHandlerFn(mem->cvode_mem, fromCVODES, mem)) CPIntegratorFree(&s);
#endif
  if (!s) cpReport(NULL, CP_MEM_FAIL, function, "no memory for an integrator");
  return s;
}

static int allocateVectors(CPMultistep mem, N_Vector like) {
  N_Vector *const own[] = {&mem->attempt.y, &mem->pending.delta};
  return cpStepperAllocate(&mem->base, like, own, 2);
}

void cpMultistepFree(CPIntegrator s) {
  const CPMultistep mem    = (CPMultistep)s;
  SUNNonlinearSolver inner = mem->nls.inner;
  if (s->attached && mem->nls.wrapper && inner && !mem->nls.inner_owned) {
    /* Returns the user's solver to CVODES without changing its iteration limit. */
    int (*setmaxiters)(SUNNonlinearSolver, int) = inner->ops->setmaxiters;
    inner->ops->setmaxiters                     = NULL;
    CVodeSetNonlinearSolver(mem->cvode_mem, inner);
    inner->ops->setmaxiters = setmaxiters;
  }
  if (!s->attached) CVodeFree(&mem->cvode_mem);
  if (mem->nls.wrapper) SUNNonlinSolFree(mem->nls.wrapper);
  if (mem->nls.inner_owned) SUNNonlinSolFree(inner);
  if (mem->idle_solver) SUNNonlinSolFree(mem->idle_solver);
  cpArenaFree(&mem->roots.memory);
  cpStepperFree(&mem->base);
}

/* Wraps inner, or a Newton solver of our own if inner is NULL, and gives the wrapper to CVODES. */
int cpInstall(CPMultistep mem, SUNNonlinearSolver inner, int keep_maxiters) {
  SUNNonlinearSolver own       = inner ? NULL : SUNNonlinSol_Newton(mem->base.y0, mem->base.ctx);
  SUNNonlinearSolver old_inner = mem->nls.inner, old_wrapper = mem->nls.wrapper;
  const int old_owned = mem->nls.inner_owned;
  if (!inner && !own) return CP_MEM_FAIL;
  mem->nls.inner         = inner ? inner : own;
  mem->nls.inner_owned   = !inner;
  mem->nls.wrapper       = NULL;
  mem->nls.keep_maxiters = keep_maxiters;
  int flag = cpWrapperCreate(&mem->nls, cpSolveStep, mem, mem->base.tmp, mem->base.ctx);
  if (!flag) flag = CVodeSetNonlinearSolver(mem->cvode_mem, mem->nls.wrapper);
  mem->nls.keep_maxiters = 0;
  if (flag) { /* CVODES may have kept the solver that it refused */
    SUNNonlinearSolver back = old_wrapper ? old_wrapper : inner;
    if (mem->nls.wrapper && back) CVodeSetNonlinearSolver(mem->cvode_mem, back);
    if (mem->nls.wrapper) SUNNonlinSolFree(mem->nls.wrapper);
    if (own) SUNNonlinSolFree(own);
    mem->nls.inner = old_inner, mem->nls.inner_owned = old_owned, mem->nls.wrapper = old_wrapper;
    return flag;
  }
  mem->base.initialised = 1;
  if (old_wrapper) SUNNonlinSolFree(old_wrapper);
  if (old_owned) SUNNonlinSolFree(old_inner);
  return CP_SUCCESS;
}

/* Resets the state of the run before a new start. */
static void restart(CPMultistep mem, sunrealtype t0, N_Vector y0) {
  cpPendingClear(mem);
  if (mem->base.sens) mem->sens.restart(mem->base.sens);
  if (t0 != mem->base.t0) mem->root.motion = t0 == mem->root.t ? fabs(t0 - mem->base.t0) : 0.0;
  cpStepperRestart(&mem->base, t0, y0);
  mem->attempt = (CPTrial){.y = mem->attempt.y, .t = t0, .projected = -1, .expect_rejected = -1};
  /* The first step is projected, and counts as one that was not cut. */
  mem->rough            = 0;
  mem->last             = (CPAccepted){.since = LONG_MAX / 2, .uncut = INT_MAX / 2};
  mem->failure          = (CPFailure){0};
  mem->treturned        = t0;
  mem->ndiverged        = 0;
  mem->stability_warned = 0;
  mem->norms.choice     = (CPOrderChoice){.nst = -1};
  mem->nls.newton       = (CPNewton){.ratio = -1.0};
  if (mem->base.system.expect) mem->base.system.expect(NULL, NULL, 0.0, 0.0, mem->base.system.data);
  cpOrderNormsForget(mem);
}

int cpMultistepInit(CPIntegrator s, CVRhsFn f, sunrealtype t0, N_Vector y0, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  int flag              = cpOfCVODES(mem, cpInitCVodes(mem, f, t0, y0), function);
  if (flag && !mem->norms.no_memory) return flag;
  s->f = f;
  if (!flag) flag = allocateVectors(mem, y0);
  if (!flag && !(mem->y = cpArenaTake(&s->memory, cpAdoptedVector(mem)))) flag = CP_MEM_FAIL;
  if (flag) return cpReport(&s->log, flag, function, "no memory for an integrator");
  restart(mem, t0, y0);
  flag = cpInstall(mem, mem->nls.inner, 0);
  if (flag) return cpReport(&s->log, flag, function, "the nonlinear solver could not be installed");
  return cpOfCVODES(mem, cpApplyTolerances(mem), function);
}

int cpMultistepReInit(CPIntegrator s, sunrealtype t0, N_Vector y0, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  int flag              = cpRefuseOtherVectors(mem, function);
  if (!flag) flag = cpOfCVODES(mem, cpReInitCVODES(mem, t0, y0), function);
  if (!flag) restart(mem, t0, y0);
  return flag;
}

/* The first getter has no message. It may find vectors of sensitivities that are switched off, or
 * have been freed. */
static int hasSensitivities(void *cvode_mem) {
  sunrealtype gamma, rl1, t;
  N_Vector *predicted = NULL, *yS, *zn1;
  void *data;
  long int count;
  return !CVodeGetNonlinearSystemDataSens(cvode_mem, &t, &predicted, &yS, &gamma, &rl1, &zn1,
                                          &data) &&
         predicted && !CVodeGetSensNumRhsEvals(cvode_mem, &count);
}

/* Returns the rule that an argument of CPIntegratorAttach breaks, or NULL. A rule with values is written
 * to text. */
static const char *attachRule(void *cvode_mem, SUNNonlinearSolver inner, N_Vector y_tmpl,
                              char *text) {
  sunrealtype gamma, rl1, t;
  N_Vector ypred = NULL, yn, f, zn1;
  void *data;
  long int nst = 0;
  if (!cvode_mem) return "cvode_mem must not be NULL";
  if (!y_tmpl) return "y_tmpl must not be NULL";
  if (cpMissingOperation(y_tmpl))
    return cpWrite(text, "y_tmpl must have the operation %s", cpMissingOperation(y_tmpl)), text;
  if (CVodeGetNonlinearSystemData(cvode_mem, &t, &ypred, &yn, &f, &gamma, &rl1, &zn1, &data) ||
      !ypred)
    return "cvode_mem must be initialised (CVodeInit)";
  if (N_VGetLength(y_tmpl) != N_VGetLength(ypred))
    return cpWrite(text, "y_tmpl must have the length of the state, %ld, has %ld",
                   (long)N_VGetLength(ypred), (long)N_VGetLength(y_tmpl)),
           text;
  if (inner && cpLacksOperations(inner)) return CP_INNER_MUST;
  if (hasSensitivities(cvode_mem))
    return "cvode_mem must have no sensitivities (CVodeSensInit1), which would not be projected: "
           "CPIntegratorSetSens sets them up after CPIntegratorAttach";
  CVodeGetNumSteps(cvode_mem, &nst);
  if (!inner && nst > 0)
    return "inner must be the nonlinear solver in use once CVODES has stepped, is NULL";
  return NULL;
}

CPIntegrator cpMultistepAttach(void *cvode_mem, int lmm, SUNNonlinearSolver inner, N_Vector y_tmpl,
                               SUNContext ctx, const char *function) {
  sunrealtype t = 0.0;
  char text[CP_TEXT_LENGTH];
  const char *rule = attachRule(cvode_mem, inner, y_tmpl, text);
  if (rule) return cpRefuse(NULL, function, "%s", rule), NULL;
  CPMultistep mem = newIntegrator(lmm, ctx);
  CPIntegrator s  = (CPIntegrator)mem;
  if (mem) {
    mem->cvode_mem = cvode_mem;
    s->attached = s->begun = 1;
    s->tol.kind            = CP_TOL_CVODES;
    int flag               = allocateVectors(mem, y_tmpl);
    CPAttempt a;
    cpAttemptRead(mem, &a);
    if (!flag && a.nst > 0) flag = CVodeGetDky(cvode_mem, a.t, 0, s->y0);
    else if (!flag) N_VScale(1.0, a.ypred, s->y0); /* no step has been predicted yet */
    t = a.t;
    if (!flag) flag = cpInstall(mem, inner, 1);
    if (flag) CPIntegratorFree(&s);
  }
  if (s) restart(mem, t, s->y0);
  else cpReport(NULL, CP_MEM_FAIL, function, "no memory, or CVODES refused the nonlinear solver");
  return s;
}
