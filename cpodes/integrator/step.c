/* The projecting nonlinear solver: a SUNNonlinearSolver around another one.
 *
 * Its solve function runs the inner solver (y = ypred + ycor), moves y to the manifold (y + delta),
 * projects the error estimate (P ycor) and hands CVODES both. A projection that fails recoverably
 * is reported as a convergence failure, so that CVODES refreshes the Jacobian, cuts the step and tries again.
 *
 * Return codes of solve: 0; SUN_NLS_CONV_RECVR and CP_CV_RHSFUNC_RECVR (CVODES loops for ever on other
 * positive ones); negative: fatal, mem->fatal and mem->text say why if the projection was the cause.
 */
#include "integrator_impl.h"

#include <math.h>
#include <stdio.h>
#include <sundials/sundials_nonlinearsolver.h>

/* Rejections are foreseen with this margin for roundoff. */
#define SURELY_REJECTED 1.0000001
/* A step below this many units of roundoff of the time scale goes nowhere. */
#define CREEPING 1.0e3
/* Roundoff that the self-check allows, in units of the largest component. */
#define SELFCHECK 1.0e3

static CPodeMem content(SUNNonlinearSolver NLS) { return NLS->content; }

int cpAttemptRead(CPodeMem mem, CPAttempt *a) {
  sunrealtype gamma = 0.0;
  N_Vector yn;
  long int ncfn = 0, netf = 0;
  int flag = CVodeGetNonlinearSystemData(mem->cvode_mem, &a->t, &a->ypred, &yn, &a->f, &gamma,
                                         &a->rl1, &a->zn1, &a->user_data);
  if (!flag) flag = CVodeGetNumSteps(mem->cvode_mem, &a->nst);
  if (!flag) flag = CVodeGetNumStepSolveFails(mem->cvode_mem, &ncfn);
  if (!flag) flag = CVodeGetNumErrTestFails(mem->cvode_mem, &netf);
  a->nfail = ncfn + netf;
  a->h     = a->rl1 != 0.0 ? gamma / a->rl1 : 0.0;
  return flag;
}

/* ------------------------------------------------------------------------------------ failures -- */

static int fatal(CPodeMem mem, int code) {
  mem->cause = mem->fatal = code;
  return CP_SELFCHECK_FAIL; /* any negative number: CVODES stops */
}

/* Is the step so short that repeating it leads nowhere? */
static int creeping(CPodeMem mem, const CPAttempt *a) {
  const sunrealtype scale = fmax(fabs(a->t), fabs(a->t - mem->t0));
  return a->nst > 0 && fabs(a->h) < CREEPING * CP_UROUND * scale;
}

/* A projection failed for flag's reason, which stands in mem->text. */
static int failed(CPodeMem mem, const CPAttempt *a, int flag) {
  mem->stats.nprojfails++;
  if (flag < 0) return fatal(mem, flag);
  mem->cause = -flag;
  return creeping(mem, a) ? fatal(mem, -flag) : SUN_NLS_CONV_RECVR;
}

static int failedWork(CPodeMem mem, const CPAttempt *a, int flag) {
  cpReason(mem->text, 0, "%s", mem->step->text);
  return failed(mem, a, flag);
}

/* SUNDIALS' fixed-point solver calls every failure of f one of convergence, fatal ones too: f is asked again. */
static int askAgain(CPodeMem mem, N_Vector ycor, int flag) {
  if (flag != SUN_NLS_CONV_RECVR || !mem->sysfn ||
      SUNNonlinSolGetType(mem->inner) != SUNNONLINEARSOLVER_FIXEDPOINT)
    return flag;
  const int again = mem->sysfn(ycor, mem->tmp, mem->cvode_mem);
  return again ? again : flag;
}

/* The inner solver failed: is it NaN out of f? */
static int innerFailed(CPodeMem mem, const CPAttempt *a, N_Vector ycor, int flag) {
  mem->cause = 0;
  flag       = askAgain(mem, ycor, flag);
  if (flag < 0) return flag;
  if (!cpVectorFinite(a->f) || !cpVectorFinite(ycor) || !cpVectorFinite(a->ypred)) {
    mem->cause = CP_RHS_NONFINITE;
    cpReason(mem->text, 0, "at t = %g: the right-hand side f returned NaN or Inf (component %d)",
             a->t, cpFirstNonFinite(cpVectorFinite(a->f) ? ycor : a->f));
  }
  if (creeping(mem, a)) {
    const int f = flag == CP_CV_RHSFUNC_RECVR;
    if (!mem->cause)
      cpReason(mem->text, 0, "at t = %g: %s again and again, down to a step of %g", a->t,
               f ? "the right-hand side f failed" : "the nonlinear solver did not converge", a->h);
    return fatal(mem, mem->cause ? mem->cause : f ? CV_REPTD_RHSFUNC_ERR : CV_CONV_FAILURE);
  }
  return flag == CP_CV_RHSFUNC_RECVR ? flag : SUN_NLS_CONV_RECVR;
}

/* ---------------------------------------------------------------------------------- self-checks -- */

/* Is CVODES what cpodes takes it for? After the first step (order 1) ypred - zn[1] is the state
 * that was handed over, and an attempt that was foreseen to be rejected was. */
static int selfCheck(CPodeMem mem, const CPAttempt *a) {
  if (mem->expect_rejected >= 0 && a->nst != mem->expect_rejected) {
    cpReason(mem->text, 0,
             "CVODES accepted a step that its error test was to reject: "
             "has CVodeSetNonlinConvCoef been called? (use CPodeSetNonlinConvCoef)");
    return CP_SELFCHECK_FAIL;
  }
  if (a->nst != 1 || mem->nst_attempt != 0 || mem->projected < 0) return CP_SUCCESS;
  N_Vector y1 = mem->have_attempt ? mem->y : mem->ygood; /* settled already? */
  N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, mem->tmp);
  N_VLinearSum(1.0, mem->tmp, -1.0, y1, mem->tmp);
  const sunrealtype scale = N_VMaxNorm(y1) + N_VMaxNorm(a->zn1);
  if (N_VMaxNorm(mem->tmp) <= SELFCHECK * CP_UROUND * scale) return CP_SUCCESS;
  cpReason(mem->text, 0,
           "at t = %g: the first step's state is not the one handed over (off by %g): "
           "this CVODES works differently",
           a->t, N_VMaxNorm(mem->tmp));
  return CP_SELFCHECK_FAIL;
}

/* Attached memory does not tell its method. At order 2, which every run passes, l_1 = 3/2 with CVODES' BDF, where
 * Adams never has it, and 2 with Adams, where BDF never has it. */
static int checkMethod(CPodeMem mem, const CPAttempt *a) {
  const int adams = fabs(a->rl1 - 1.0 / 2.0) < 1.0e-12, bdf = fabs(a->rl1 - 2.0 / 3.0) < 1.0e-12;
  if (!(adams && mem->lmm == CV_BDF) && !(bdf && mem->lmm == CV_ADAMS)) return CP_SUCCESS;
  cpReason(mem->text, 0, "lmm given to CPodeAttach was %s, but the memory integrates with %s",
           adams ? "CV_BDF" : "CV_ADAMS", adams ? "CV_ADAMS" : "CV_BDF");
  return CP_SELFCHECK_FAIL;
}

/* Is the start on the manifold, and G the Jacobian of c? Also sets up all workspace. The reason of
 * a failure is in mem->text. */
int cpCheckStart(CPodeMem mem, sunrealtype t, N_Vector y, N_Vector ewt) {
  CPWork work      = mem->step;
  sunrealtype norm = 0.0;
  int worst = -1, moved = 0, flag;
  if (!mem->P || mem->start_checked) return CP_SUCCESS;
  mem->text[0] = '\0';
  if (mem->P->user_kind && !mem->P->violation) { /* how far would the projection go? */
    N_VScale(1.0, y, mem->tmp);
    flag = cpProject(work, t, mem->tmp, ewt, 0, &moved);
    N_VLinearSum(1.0, mem->tmp, -1.0, y, mem->tmp);
    if (!flag) norm = N_VWrmsNorm(mem->tmp, ewt);
  } else {
    flag = cpStateViolation(work, t, y, ewt, &norm, &worst);
    if (!flag && !mem->P->user_kind) flag = cpJacobianProbe(work, t, y, ewt);
  }
  if (flag) {
    cpReason(mem->text, 0, "%s", work->text);
    return flag == -CP_REPTD_CNSTRFUNC_ERR ? CP_FIRST_CNSTRFUNC_ERR : flag > 0 ? -flag : flag;
  }
  if (norm > 1.0) {
    char where[64] = "";
    long int nst   = 0;
    CVodeGetNumSteps(mem->cvode_mem, &nst);
    if (worst >= 0)
      snprintf(where, sizeof where, " (constraint %d: %.3e)", worst,
               N_VGetArrayPointer(work->c)[worst]);
    cpReason(mem->text, 0, "at t = %g: the start is %.3g times the tolerance off the manifold%s; %s",
             t, norm, where,
             nst == 0 ? "CPodeCalcIC makes it consistent"
                      : "project it and call CPodeReInit to go on from there");
    return CP_INCONSISTENT_IC;
  }
  mem->start_checked = 1;
  return CP_SUCCESS;
}

/* Attached memory that has not stepped yet keeps its error weights to itself until now: y0 = ypred - zn[1]. */
static int checkStartLate(CPodeMem mem, const CPAttempt *a, N_Vector ewt) {
  if (!mem->P || mem->start_checked) return CP_SUCCESS;
  N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, mem->y);
  return cpCheckStart(mem, a->t - a->h, mem->y, ewt);
}

/* -------------------------------------------------------------------------------- the projection -- */

/* Does the correction enter the whole history, as part of what the solver returns? With BDF that damps the
 * component normal to the manifold at once, if every step is projected. Next to steps that are left alone it
 * makes that component grow: 1.35 times at order 4 and 1.9 times at order 5 for every second step (spectral
 * radius of the history's update). Then, as always with Adams, only the predicted state takes it. */
int cpEntersHistory(CPodeMem mem) {
  return mem->lmm == CV_BDF && mem->frequency == 1 && !mem->test_cnstr;
}

static CPErrEst errEstMode(CPodeMem mem) {
  if (mem->errest != CP_ERREST_DEFAULT) return mem->errest;
  return cpEntersHistory(mem) ? CP_ERREST_PROJECTED : CP_ERREST_UNPROJECTED;
}

/* CVODES stores the WRMS norm of the error that its convergence test sees at iteration 0 with a
 * tolerance that it cannot miss. */
static int handOverNorm(CPodeMem mem, N_Vector err, N_Vector ewt) {
  return mem->ctest(mem->wrapper, err, err, 1.0e300, ewt, mem->ctest_data);
}

/* err = P ycor at the projected state, and which norm CVODES gets. tested: in, ||ycor||; out, the
 * one that it tests. */
static int projectError(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt,
                        sunrealtype *tested) {
  const CPErrEst mode = errEstMode(mem);
  if (mode == CP_ERREST_UNPROJECTED || (mode == CP_ERREST_ACCEPTANCE && mem->tq2 * *tested <= 1.0))
    return CP_SUCCESS;
  N_VScale(1.0, ycor, mem->err);
  int flag = cpTangent(mem->step, a->t, mem->y, ewt, mem->err);
  if (flag) return failedWork(mem, a, flag);
  mem->stats.nerrproj++;
  if (!cpVectorFinite(mem->err)) {
    cpReason(mem->text, 0, "at t = %g: the projected error estimate is not finite", a->t);
    return failed(mem, a, -CP_PROJ_NONFINITE);
  }
  mem->err_valid = 1;
  if (mode == CP_ERREST_ACCEPTANCE || !cpEntersHistory(mem)) {
    const sunrealtype norm = N_VWrmsNorm(mem->err, ewt);
    if (mode == CP_ERREST_ACCEPTANCE && mem->tq2 * norm > 1.0) return CP_SUCCESS;
    *tested = norm; /* else CVODES may find out: what it rejects is gone with ycor */
  }
  if (handOverNorm(mem, mem->err, ewt) == CP_SUCCESS) return CP_SUCCESS;
  cpReason(mem->text, 0, "at t = %g: the projected error estimate has no finite norm", a->t);
  return failed(
      mem, a, -CP_PROJ_NONFINITE); /* the test's own positive return would repeat the step for ever */
}

/* y -> y + delta. */
static int projectState(CPodeMem mem, const CPAttempt *a, N_Vector ewt, int *moved) {
  N_VScale(1.0, mem->y, mem->delta);
  int flag = cpProject(mem->step, a->t, mem->y, ewt, mem->test_cnstr, moved);
  if (flag) return failedWork(mem, a, flag);
  mem->stats.violation = mem->step->violation;
  if (!*moved) return CP_SUCCESS;
  N_VLinearSum(1.0, mem->y, -1.0, mem->delta, mem->delta);
  const sunrealtype correction = N_VWrmsNorm(mem->delta, ewt);
  if (!(correction <= mem->max_correction)) {
    int used = snprintf(mem->text, sizeof mem->text,
                        "at t = %g: the projection moved the state by %.3g times the tolerance, "
                        "more than the bound %.3g",
                        a->t, correction, mem->max_correction);
    if (!mem->P->user_kind)
      snprintf(mem->text + used, sizeof mem->text - (size_t)used,
               "; constraint %d was violated most", mem->step->worst_start);
    mem->stats.nlargecorr++;
    return failed(mem, a, -CP_PROJ_CORRECTION);
  }
  mem->stats.nproj++;
  mem->stats.correction    = correction;
  mem->stats.maxcorrection = fmax(mem->stats.maxcorrection, correction);
  return CP_SUCCESS;
}

/* Will CVODES' error test reject the attempt? Then nothing of the projection may stay in its state. */
static int surelyRejected(CPodeMem mem, const CPAttempt *a, sunrealtype norm) {
  if (!(mem->tq2 * norm > SURELY_REJECTED)) return 0;
  mem->expect_rejected = a->nst;
  return 1;
}

static int projectStep(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt) {
  const CPErrEst mode = errEstMode(mem);
  int moved           = 0;
  sunrealtype norm    = mode == CP_ERREST_PROJECTED ? 0.0 : N_VWrmsNorm(ycor, ewt);
  if (!isfinite(norm)) return innerFailed(mem, a, ycor, SUN_NLS_CONV_RECVR);
  if (mode == CP_ERREST_UNPROJECTED && surelyRejected(mem, a, norm)) return CP_SUCCESS;
  int flag = projectState(mem, a, ewt, &moved);
  if (!flag && moved) flag = projectError(mem, a, ycor, ewt, &norm);
  if (flag) return flag;
  if (!moved) mem->stats.nskipped++;
  if (!moved || surelyRejected(mem, a, norm)) return CP_SUCCESS;
  mem->projected = 1;
  if (cpEntersHistory(mem)) {
    N_VLinearSum(1.0, ycor, 1.0, mem->delta, ycor);
  } else {
    N_VLinearSum(1.0, a->ypred, 1.0, mem->delta, a->ypred);
    cpPendingSet(mem, a);
  }
  N_VLinearSum(1.0, a->ypred, 1.0, ycor, mem->y); /* as CVODES will add it up, to the last bit */
  return CP_SUCCESS;
}

/* ------------------------------------------------------------------------------------- the solver -- */

void cpSettle(CPodeMem mem, long int nst) {
  if (!mem->have_attempt || nst <= mem->nst_attempt) return;
  N_Vector y        = mem->ygood;
  mem->ygood        = mem->y;
  mem->y            = y;
  mem->tgood        = mem->t;
  mem->since        = mem->projected ? 0 : mem->since + 1;
  mem->have_attempt = 0;
}

/* Is the state of this attempt to be projected? CVodeF drives CVODES without CPode, and CVodeB repeats its steps from
 * checkpoints: they have to come out the same to the last bit, since CVODES keeps room for the same number of steps only.
 * Nothing is carried from step to step then: neither factors nor the count of steps. */
static int isDue(CPodeMem mem, const CPAttempt *a) {
  if (!mem->P) return 0;
  if (mem->holding) return mem->since + 1 >= mem->frequency;
  mem->step->valid = 0;
  return a->nst % mem->frequency == 0;
}

static int solve(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem) {
  CPodeMem mem = content(NLS);
  CPAttempt a;
  mem->nsolves++;
  int flag = cpAttemptRead(mem, &a);
  if (flag) return flag;
  cpPendingResolve(mem, &a);
  flag = selfCheck(mem, &a);
  if (!flag) flag = checkMethod(mem, &a);
  if (!flag) flag = checkStartLate(mem, &a, ewt);
  if (flag) return fatal(mem, flag);
  cpSettle(mem, a.nst);
  mem->t               = a.t;
  mem->nst_attempt     = a.nst;
  mem->have_attempt    = 0;
  mem->projected       = 0;
  mem->err_valid       = 0;
  mem->expect_rejected = -1;
  mem->tq2             = mem->coef / tol; /* tol = nlscoef / tq[2] */

  mem->inner_running = 1;
  flag               = SUNNonlinSolSolve(mem->inner, y0, ycor, ewt, tol, callLSetup, cvode_mem);
  mem->inner_running = 0;
  if (flag) return innerFailed(mem, &a, ycor, flag);

  N_VLinearSum(1.0, a.ypred, 1.0, ycor, mem->y);
  mem->have_attempt = 1;
  if (isDue(mem, &a)) flag = projectStep(mem, &a, ycor, ewt);
  else if (mem->P) mem->stats.nskipped++;
  if (!flag) mem->cause = 0;
  return flag;
}

/* ------------------------------------------------------------- everything else is the inner solver's -- */

static SUNNonlinearSolver_Type getType(SUNNonlinearSolver NLS) {
  return SUNNonlinSolGetType(content(NLS)->inner);
}
static int initialize(SUNNonlinearSolver NLS) {
  return SUNNonlinSolInitialize(content(NLS)->inner);
}
static int setup(SUNNonlinearSolver NLS, N_Vector y, void *cvode_mem) {
  return SUNNonlinSolSetup(content(NLS)->inner, y, cvode_mem);
}
static int setSysFn(SUNNonlinearSolver NLS, SUNNonlinSolSysFn fn) {
  content(NLS)->sysfn = fn;
  return SUNNonlinSolSetSysFn(content(NLS)->inner, fn);
}
static int setLSetupFn(SUNNonlinearSolver NLS, SUNNonlinSolLSetupFn fn) {
  return SUNNonlinSolSetLSetupFn(content(NLS)->inner, fn);
}
static int setLSolveFn(SUNNonlinearSolver NLS, SUNNonlinSolLSolveFn fn) {
  return SUNNonlinSolSetLSolveFn(content(NLS)->inner, fn);
}
static int setConvTestFn(SUNNonlinearSolver NLS, SUNNonlinSolConvTestFn fn, void *data) {
  content(NLS)->ctest      = fn;
  content(NLS)->ctest_data = data;
  return SUNNonlinSolSetConvTestFn(content(NLS)->inner, fn, data);
}
static int setMaxIters(SUNNonlinearSolver NLS, int maxiters) {
  if (content(NLS)->keep_maxiters) return CP_SUCCESS; /* attaching is no reason to change it */
  return SUNNonlinSolSetMaxIters(content(NLS)->inner, maxiters);
}
static int getNumIters(SUNNonlinearSolver NLS, long int *niters) {
  return SUNNonlinSolGetNumIters(content(NLS)->inner, niters);
}
/* The linear solver interface asks for the iteration while the inner solver runs; the hand-over of
 * a norm is iteration 0. */
static int getCurIter(SUNNonlinearSolver NLS, int *iter) {
  *iter = 0;
  return content(NLS)->inner_running ? SUNNonlinSolGetCurIter(content(NLS)->inner, iter)
                                     : CP_SUCCESS;
}
static int getNumConvFails(SUNNonlinearSolver NLS, long int *nfails) {
  return SUNNonlinSolGetNumConvFails(content(NLS)->inner, nfails);
}
static int freeWrapper(SUNNonlinearSolver NLS) {
  if (!NLS) return CP_SUCCESS;
  NLS->content = NULL; /* the integrator's, not ours */
  SUNNonlinSolFreeEmpty(NLS);
  return CP_SUCCESS;
}

SUNNonlinearSolver cpWrapperCreate(CPodeMem mem) {
  SUNNonlinearSolver NLS = SUNNonlinSolNewEmpty(mem->ctx);
  if (!NLS) return NULL;
  NLS->content              = mem;
  NLS->ops->gettype         = getType;
  NLS->ops->initialize      = initialize;
  NLS->ops->setup           = mem->inner->ops->setup ? setup : NULL;
  NLS->ops->solve           = solve;
  NLS->ops->free            = freeWrapper;
  NLS->ops->setsysfn        = setSysFn;
  NLS->ops->setlsetupfn     = setLSetupFn;
  NLS->ops->setlsolvefn     = setLSolveFn;
  NLS->ops->setctestfn      = setConvTestFn;
  NLS->ops->setmaxiters     = setMaxIters;
  NLS->ops->getnumiters     = getNumIters;
  NLS->ops->getcuriter      = getCurIter;
  NLS->ops->getnumconvfails = getNumConvFails;
  return NLS;
}
