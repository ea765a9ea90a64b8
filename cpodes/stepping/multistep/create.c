/* CPodeMem: life cycle, and the installation of the projecting solver. */
#include "integrator_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

/* CVODES' messages: passed on at once, except inside CPode, which knows better what the cause was.
 */
#ifdef CP_CVODES_HAS_EHFUN
static void fromCVODES(int code, const char *module, const char *function, char *msg, void *data) {
  CPodeMem mem = data;
  (void)module;
  for (char *s = msg; *s; s++)
    if (*s == '\n') *s = ' ';
  if (mem->holding && code < 0) cpReason(mem->cvodes.text, code, "%s: %s", function, msg);
  else cpReport(&mem->log, code, function, "%s", msg);
}
#endif

/* What CVODES is given in place of its own defaults, measured by bench/tuning.c (guide, "Defaults").
 * A step is kept where it might grow by less than KEPT: CVODES' 1.5 saves Newton matrices, which
 * fixed-point iteration has none of. */
#define KEPT_BDF   1.3
#define KEPT_ADAMS 1.25
/* Steps with one Newton matrix at the most; CVODES: 20. */
#define NEWTON_AGE 60

/* Of our own memory, before anyone else can set anything. */
static int setDefaults(CPodeMem mem) {
  const sunrealtype kept = mem->lmm == CV_ADAMS ? KEPT_ADAMS : KEPT_BDF;
  const int flag         = CVodeSetEtaFixedStepBounds(mem->cvode_mem, 0.0, kept);
  return flag ? flag : CVodeSetLSetupFrequency(mem->cvode_mem, NEWTON_AGE);
}

static CPodeMem newIntegrator(int lmm, SUNContext ctx) {
  CPodeMem mem = calloc(1, sizeof *mem);
  if (!mem) return NULL;
  mem->ctx            = ctx;
  mem->lmm            = lmm;
  mem->coef           = CP_CV_NLSCOEF;
  mem->frequency      = 1;
  mem->project_output = SUNTRUE;
  mem->max_correction = CP_MAX_CORRECTION_DEFAULT;
  mem->troot          = NAN;
  return mem;
}

static int checkMethod(int lmm, SUNContext ctx, const char *function) {
  if (!ctx) return cpReport(NULL, CP_ILL_INPUT, function, "ctx must not be NULL");
  if (lmm != CV_ADAMS && lmm != CV_BDF)
    return cpReport(NULL, CP_ILL_INPUT, function, "lmm must be CV_ADAMS (%d) or CV_BDF (%d), is %d",
                    CV_ADAMS, CV_BDF, lmm);
  return CP_SUCCESS;
}

CPodeMem CPodeCreate(int lmm, SUNContext ctx) {
  if (checkMethod(lmm, ctx, __func__)) return NULL;
  CPodeMem mem = newIntegrator(lmm, ctx);
  if (mem && !(mem->cvode_mem = CVodeCreate(lmm, ctx))) CPodeFree(&mem);
  if (mem && setDefaults(mem)) CPodeFree(&mem);
#ifdef CP_CVODES_HAS_EHFUN
  if (mem && CVodeSetErrHandlerFn(mem->cvode_mem, fromCVODES, mem)) CPodeFree(&mem);
#endif
  if (!mem) cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for an integrator");
  return mem;
}

int cpAllocateVectors(CPodeMem mem, N_Vector y_tmpl) {
  N_Vector *all[] = {&mem->y_tmpl, &mem->y0,  &mem->y,   &mem->ygood,        &mem->delta,
                     &mem->err,    &mem->ewt, &mem->tmp, &mem->pending.delta};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (!*all[i] && !(*all[i] = N_VClone(y_tmpl))) return CP_MEM_FAIL;
  return CP_SUCCESS;
}

static void freeVectors(CPodeMem mem) {
  N_Vector *all[] = {&mem->y_tmpl, &mem->y0,  &mem->y,   &mem->ygood,        &mem->delta,
                     &mem->err,    &mem->ewt, &mem->tmp, &mem->pending.delta};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (*all[i]) N_VDestroy(*all[i]);
}

/* CVodeSetNonlinearSolver without its change of the iteration limit, which is the owner's. */
static void giveBack(CPodeMem mem) {
  SUNNonlinearSolver inner                    = mem->nls.inner;
  int (*setmaxiters)(SUNNonlinearSolver, int) = inner->ops->setmaxiters;
  inner->ops->setmaxiters                     = NULL;
  CVodeSetNonlinearSolver(mem->cvode_mem, inner);
  inner->ops->setmaxiters = setmaxiters;
}

/* CVodeAdjFree leaves CVODES a pointer to what it has freed, which CVodeFree frees again (6.4 to 7.2). So there
 * must always be checkpoints after the first ones. */
int cpAdjointRenew(CPodeMem mem, long int steps, int interp) {
  if (mem->has_adjoint && !mem->adjoint_lost) CVodeAdjFree(mem->cvode_mem);
  const int flag    = CVodeAdjInit(mem->cvode_mem, steps, interp);
  mem->adjoint_lost = flag && mem->has_adjoint;
  if (!flag) mem->has_adjoint = 1;
  return flag;
}

/* Where there is no memory for the least checkpoints, CVODES' memory is lost, for it cannot be freed. */
static void freeCVODES(CPodeMem mem) {
  if (mem->adjoint_lost) cpAdjointRenew(mem, 1, CV_HERMITE);
  if (!mem->attached && !mem->adjoint_lost) CVodeFree(&mem->cvode_mem);
}

void CPodeFree(CPodeMem *mem_address) {
  CPodeMem mem = mem_address ? *mem_address : NULL;
  if (!mem) return;
  if (mem->sens.data) mem->sens.free(&mem->sens.data);
  if (mem->attached && mem->nls.wrapper && mem->nls.inner && !mem->nls.inner_owned) giveBack(mem);
  freeCVODES(mem);
  if (mem->model.detach) mem->model.detach(mem->model.data);
  if (mem->nls.wrapper) SUNNonlinSolFree(mem->nls.wrapper);
  if (mem->nls.inner_owned) SUNNonlinSolFree(mem->nls.inner);
  cpWorkFree(&mem->step);
  cpWorkFree(&mem->out);
  freeVectors(mem);
  free(mem->begins);
  cpTolerancesFree(&mem->tol);
  free(mem);
  *mem_address = NULL;
}

/* Wraps inner (NULL: a Newton solver of our own) and gives the wrapper to CVODES. */
int cpInstall(CPodeMem mem, SUNNonlinearSolver inner, int keep_maxiters) {
  SUNNonlinearSolver own       = inner ? NULL : SUNNonlinSol_Newton(mem->y_tmpl, mem->ctx);
  SUNNonlinearSolver old_inner = mem->nls.inner, old_wrapper = mem->nls.wrapper;
  const int old_owned = mem->nls.inner_owned;
  if (!inner && !own) return CP_MEM_FAIL;
  mem->nls.inner         = inner ? inner : own;
  mem->nls.inner_owned   = !inner;
  mem->nls.wrapper       = NULL;
  mem->nls.keep_maxiters = keep_maxiters;
  int flag               = cpWrapperCreate(&mem->nls, cpSolveStep, mem, mem->tmp, mem->ctx);
  if (!flag) flag = CVodeSetNonlinearSolver(mem->cvode_mem, mem->nls.wrapper);
  mem->nls.keep_maxiters = 0;
  if (flag) { /* CVODES may have kept the one that it refused */
    SUNNonlinearSolver back = old_wrapper ? old_wrapper : inner;
    if (mem->nls.wrapper && back) CVodeSetNonlinearSolver(mem->cvode_mem, back);
    if (mem->nls.wrapper) SUNNonlinSolFree(mem->nls.wrapper);
    if (own) SUNNonlinSolFree(own);
    mem->nls.inner = old_inner, mem->nls.inner_owned = old_owned, mem->nls.wrapper = old_wrapper;
    return flag;
  }
  if (old_wrapper) SUNNonlinSolFree(old_wrapper);
  if (old_owned) SUNNonlinSolFree(old_inner);
  return CP_SUCCESS;
}

/* A new start at (t0, mem->y0). */
void cpRestart(CPodeMem mem, sunrealtype t0) {
  cpPendingClear(mem);
  if (mem->sens.data) mem->sens.restart(mem->sens.data);
  N_VScale(1.0, mem->y0, mem->ygood);
  if (t0 != mem->t0) mem->motion = t0 == mem->troot ? fabs(t0 - mem->t0) : 0.0;
  mem->t0 = mem->t = mem->tgood = mem->treturned = t0;
  mem->root_beyond = mem->first_root = NAN;
  mem->have_attempt                  = 0;
  mem->nst_attempt                   = 0;
  mem->uncut                         = INT_MAX / 2; /* a start is no cut */
  mem->norms.choice                  = (CPOrderChoice){.nst = -1};
  cpOrderNormsForget(mem);
  mem->projected       = -1;
  mem->err_valid       = 0;
  mem->since           = LONG_MAX / 2; /* the first step is projected */
  mem->expect_rejected = -1;
  mem->nst_out         = -1;
  mem->start_checked   = 0;
  mem->cause = mem->fatal = 0;
  mem->history_lost = mem->restarted = mem->has_repeated = 0;
  mem->creeping.count                                    = 0;
  mem->creeping.t                                        = t0;
  mem->have_estimate                                     = 0;
  mem->floor_told                                        = 0;
  mem->nls.newton                                        = (CPNewton){.ratio = -1.0};
  memset(&mem->stats, 0, sizeof mem->stats);
  cpWorkRestart(mem->step, &mem->base);
}

static int checkStart(CPodeMem mem, sunrealtype t0, N_Vector y0, const char *function) {
  return cpCheckStartVector(t0, y0, mem->y_tmpl, mem->P, &mem->tol, &mem->log, function);
}

int CPodeInit(CPodeMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!f) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "f must not be NULL");
  if (mem->nls.wrapper || mem->attached)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__, "mem is initialised: use CPodeReInit");
  int flag = checkStart(mem, t0, y0, __func__);
  if (flag) return flag;
  if (mem->cvode_inited)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "mem is what an earlier CPodeInit left when it failed: create another one");
  flag = cpOfCVODES(mem, cpInitCVodes(mem, f, t0, y0), __func__);
  if (flag && !mem->norms.no_memory) return flag;
  mem->f = f;
  if (!flag) flag = cpAllocateVectors(mem, y0);
  if (flag) return cpReport(&mem->log, flag, __func__, "no memory for an integrator");
  N_VScale(1.0, y0, mem->y0);
  cpRestart(mem, t0);
  flag = cpInstall(mem, mem->nls.inner, 0);
  if (flag)
    return cpReport(&mem->log, flag, __func__, "the nonlinear solver could not be installed");
  return cpOfCVODES(mem, cpApplyTolerances(mem), __func__);
}

/* CVODES may multiply the first step by 1e4. After a root the motion to the next one may be lower than the tolerance,
 * and where a single step of order 1 spans it, the secant through its ends has a root at its beginning: ten is what
 * CVODES allows its next steps (bouncing_ball.c in test/reference). */
#define GROWTH_AFTER_ROOT 10.0

static int reinitialise(CPodeMem mem, sunrealtype t0, N_Vector y0) {
  const int at_root = t0 == mem->troot;
  if (at_root) CVodeSetEtaMaxFirstStep(mem->cvode_mem, GROWTH_AFTER_ROOT);
  const int flag = CVodeReInit(mem->cvode_mem, t0, y0); /* which takes that over */
  if (at_root) CVodeSetEtaMaxFirstStep(mem->cvode_mem, 0.0);
  return flag;
}

int CPodeReInit(CPodeMem mem, sunrealtype t0, N_Vector y0) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!mem->nls.wrapper) return cpReport(&mem->log, CP_NO_INIT, __func__, "call CPodeInit first");
  int flag = checkStart(mem, t0, y0, __func__);
  if (!flag) flag = cpRefuseOtherVectors(mem, __func__);
  if (!flag) flag = cpOfCVODES(mem, reinitialise(mem, t0, y0), __func__);
  if (flag) return flag;
  N_VScale(1.0, y0, mem->y0);
  cpRestart(mem, t0);
  return CP_SUCCESS;
}

void *CPodeGetCVodeMem(CPodeMem mem) { return mem ? mem->cvode_mem : NULL; }

/* The state that the attached memory is at. */
static int readState(CPodeMem mem, sunrealtype *t) {
  CPAttempt a;
  int flag = cpAttemptRead(mem, &a);
  if (flag) return flag;
  *t = a.t;
  if (a.nst > 0) return CVodeGetDky(mem->cvode_mem, a.t, 0, mem->y0);
  N_VScale(1.0, a.ypred, mem->y0);
  return CP_SUCCESS;
}

/* The rule that an argument of CPodeAttach breaks, or NULL; text: room for it. */
static const char *attachRule(void *cvode_mem, SUNNonlinearSolver inner, N_Vector y_tmpl,
                              char *text) {
  sunrealtype gamma, rl1, t;
  N_Vector ypred = NULL, yn, f, zn1;
  void *data;
  long int nst = 0;
  if (!cvode_mem) return "cvode_mem must not be NULL";
  if (!y_tmpl) return "y_tmpl must not be NULL";
  if (cpMissingOperation(y_tmpl)) {
    cpWrite(text, "y_tmpl must have the operation %s", cpMissingOperation(y_tmpl));
    return text;
  }
  if (CVodeGetNonlinearSystemData(cvode_mem, &t, &ypred, &yn, &f, &gamma, &rl1, &zn1, &data) ||
      !ypred)
    return "cvode_mem must be initialised (CVodeInit)";
  if (N_VGetLength(y_tmpl) != N_VGetLength(ypred)) {
    cpWrite(text, "y_tmpl must have the length of the state, %ld, has %ld",
            (long)N_VGetLength(ypred), (long)N_VGetLength(y_tmpl));
    return text;
  }
  if (inner && cpLacksOperations(inner)) return CP_INNER_MUST;
  if (!inner && !CVodeGetNumSteps(cvode_mem, &nst) && nst > 0)
    return "inner must be the nonlinear solver in use once CVODES has stepped, is NULL";
  return NULL;
}

CPodeMem CPodeAttach(void *cvode_mem, int lmm, SUNNonlinearSolver inner, N_Vector y_tmpl,
                     SUNContext ctx) {
  sunrealtype t = 0.0;
  if (checkMethod(lmm, ctx, __func__)) return NULL;
  char text[CP_TEXT_LENGTH];
  const char *rule = attachRule(cvode_mem, inner, y_tmpl, text);
  if (rule) {
    cpReport(NULL, CP_ILL_INPUT, __func__, "%s", rule);
    return NULL;
  }
  CPodeMem mem = newIntegrator(lmm, ctx);
  if (mem) {
    mem->cvode_mem = cvode_mem;
    mem->attached  = 1;
    mem->tol.kind  = CP_TOL_CVODES;
    int flag       = cpAllocateVectors(mem, y_tmpl);
    if (!flag) flag = readState(mem, &t);
    if (!flag) flag = cpInstall(mem, inner, 1);
    if (flag) CPodeFree(&mem);
  }
  if (mem) cpRestart(mem, t);
  else cpReport(NULL, CP_MEM_FAIL, __func__, "no memory, or CVODES refused the nonlinear solver");
  return mem;
}
