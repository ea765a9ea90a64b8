/* The projecting nonlinear solver: a SUNNonlinearSolver around another one.
 *
 * Its solve function runs the inner solver (y = ypred + ycor), moves y to the manifold (y + delta),
 * projects the error estimate (P ycor) and hands CVODES both. A projection that fails recoverably
 * is reported as a convergence failure, so that CVODES refreshes the Jacobian, cuts the step and
 * tries again.
 *
 * Return codes of solve: 0; SUN_NLS_CONV_RECVR and CP_CV_RHSFUNC_RECVR (CVODES loops for ever on
 * other positive ones); negative: fatal, mem->fatal and mem->text say why if the projection was the
 * cause.
 */
#include "integrator_impl.h"

#include <float.h>
#include <math.h>
#include <sundials/sundials_nonlinearsolver.h>

/* Rejections are foreseen with this margin for roundoff. */
#define SURELY_REJECTED 1.0000001

/* ---- the projection ---- */

/* Does the correction enter the whole history, as part of what the solver returns? With BDF that
 * damps the component normal to the manifold at once, if every step is projected. Next to steps
 * that are left alone it makes that component grow: 1.35 times at order 4 and 1.9 times at order 5
 * for every second step (spectral radius of the history's update). Then, as always with Adams, only
 * the predicted state takes it. */
int cpEntersHistory(CPodeMem mem) {
  return mem->lmm == CV_BDF && mem->frequency == 1 && !mem->test_cnstr;
}

static CPErrEst errEstMode(CPodeMem mem) {
  if (mem->errest != CP_ERREST_DEFAULT) return mem->errest;
  if (mem->model.errest != CP_ERREST_DEFAULT) return mem->model.errest;
  return cpEntersHistory(mem) ? CP_ERREST_PROJECTED : CP_ERREST_UNPROJECTED;
}

/* CVODES stores the WRMS norm of the error that its convergence test sees at iteration 0 with a
 * tolerance that it cannot miss. */
static int handOverNorm(CPodeMem mem, N_Vector err, N_Vector ewt) {
  return mem->nls.ctest(mem->nls.wrapper, err, err, 1.0e300, ewt, mem->nls.ctest_data);
}

/* err = P ycor at the projected state, and which norm CVODES gets. tested: in, ||ycor||; out, the
 * one that it tests. */
static int projectError(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt,
                        sunrealtype *tested) {
  const CPErrEst mode = errEstMode(mem);
  if (mode == CP_ERREST_UNPROJECTED || (mode == CP_ERREST_ACCEPTANCE && mem->tq2 * *tested <= 1.0))
    return CP_SUCCESS;
  cpCopy(mem->err, ycor);
  int flag = cpProjectError(mem->step, a->t, mem->y, ewt, mem->err);
  if (flag) return cpFailedProjection(mem, a, flag);
  mem->stats.nerrproj++;
  if (!cpVectorFinite(mem->err)) {
    cpWrite(mem->text, "at t = %.15g: the projected error estimate is not finite", a->t);
    return cpFailed(mem, a, -CP_PROJ_NONFINITE);
  }
  mem->err_valid = 1;
  if (mode == CP_ERREST_ACCEPTANCE || !cpEntersHistory(mem)) {
    const sunrealtype norm = cpWrmsNorm(mem->err, ewt);
    if (mode == CP_ERREST_ACCEPTANCE && mem->tq2 * norm > 1.0) return CP_SUCCESS;
    *tested = norm; /* else CVODES may find out: what it rejects is gone with ycor */
  }
  if (handOverNorm(mem, mem->err, ewt) == CP_SUCCESS) return CP_SUCCESS;
  cpWrite(mem->text, "at t = %.15g: the projected error estimate has no finite norm", a->t);
  /* the test's own positive return would have the step repeated for ever */
  return cpFailed(mem, a, -CP_PROJ_NONFINITE);
}

/* The bound is for the drift of one step: after steps that were left alone no smaller step would
 * help. */
static int tooLarge(CPodeMem mem, const CPAttempt *a, sunrealtype correction) {
  cpExplainCorrection(mem->step, a->t, correction, mem->max_correction, "CPode", mem->text);
  mem->stats.nlargecorr++;
  return cpFailed(mem, a, -CP_PROJ_CORRECTION);
}

/* y -> y + delta. */
static int projectState(CPodeMem mem, const CPAttempt *a, N_Vector ewt, int *moved) {
  cpCopy(mem->delta, mem->y);
  int flag = cpProject(mem->step, a->t, mem->y, ewt, mem->test_cnstr, moved);
  if (flag) return cpFailedProjection(mem, a, flag);
  mem->stats.violation = mem->step->violation;
  if (!*moved) return CP_SUCCESS;
  cpSubtract(mem->y, mem->delta, mem->delta);
  const sunrealtype correction = cpWrmsNorm(mem->delta, ewt);
  const int bounded            = mem->since == 0 || a->nst == 0;
  if (!(correction <= (bounded ? mem->max_correction : DBL_MAX)))
    return tooLarge(mem, a, correction);
  mem->stats.nproj++;
  mem->stats.correction    = correction;
  mem->stats.maxcorrection = fmax(mem->stats.maxcorrection, correction);
  return CP_SUCCESS;
}

/* Will CVODES' error test reject the attempt? Then nothing of the projection may stay in its state.
 */
static int surelyRejected(CPodeMem mem, const CPAttempt *a, sunrealtype norm) {
  if (!(mem->tq2 * norm > SURELY_REJECTED)) return 0;
  mem->expect_rejected = a->nst;
  return 1;
}

static int projectStep(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt) {
  const CPErrEst mode = errEstMode(mem);
  int moved           = 0;
  sunrealtype norm    = mode == CP_ERREST_PROJECTED ? 0.0 : cpWrmsNorm(ycor, ewt);
  if (!isfinite(norm)) return cpFailedInner(mem, a, ycor, SUN_NLS_CONV_RECVR);
  if (mode == CP_ERREST_UNPROJECTED && surelyRejected(mem, a, norm)) return CP_SUCCESS;
  int flag = projectState(mem, a, ewt, &moved);
  if (!flag && moved) flag = projectError(mem, a, ycor, ewt, &norm);
  if (flag) return flag;
  if (!moved) mem->stats.nskipped++;
  if (!moved || surelyRejected(mem, a, norm)) return CP_SUCCESS;
  mem->projected = 1;
  if (cpEntersHistory(mem)) {
    cpAdd(ycor, mem->delta, ycor);
    mem->entered = 1;
  } else {
    cpAdd(a->ypred, mem->delta, a->ypred);
    cpPendingSet(mem, a);
  }
  cpAdd(a->ypred, ycor, mem->y); /* as CVODES will add it up, to the last bit */
  return CP_SUCCESS;
}

/* ---- the solver ---- */

void cpSettle(CPodeMem mem, long int nst) {
  if (!mem->have_attempt || nst <= mem->nst_attempt) return;
  N_Vector y         = mem->ygood;
  mem->ygood         = mem->y;
  mem->y             = y;
  mem->tgood         = mem->t;
  mem->since         = mem->projected ? 0 : mem->since + 1;
  mem->have_attempt  = 0;
  mem->have_estimate = 1;
}

/* Is the state of this attempt to be projected? CVodeF drives CVODES without CPode, and CVodeB
 * repeats its steps from checkpoints: they have to come out the same to the last bit, since CVODES
 * keeps room for the same number of steps only. Nothing is carried from step to step then: neither
 * factors nor the count of steps. */
static int isDue(CPodeMem mem, const CPAttempt *a) {
  if (!mem->P) return 0;
  if (mem->holding && !mem->repeatable) return mem->since + 1 >= mem->frequency;
  mem->step->valid = 0;
  return a->nst % mem->frequency == 0;
}

/* Factors grow older with each step, projected or not. */
static void leaveAlone(CPodeMem mem) {
  mem->stats.nskipped++;
  mem->step->age++;
}

static int solve(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem) {
  CPodeMem mem = ((CPWrapped *)NLS->content)->owner;
  CPAttempt a;
  mem->nsolves++;
  int flag = cpAttemptRead(mem, &a);
  if (flag) return flag;
  flag = cpSelfCheck(mem, &a);
  if (!flag) flag = cpCheckStartLate(mem, &a, ewt);
  if (flag) return cpFatal(mem, flag);
  cpPendingResolve(mem, &a);
  if (mem->sens.data) mem->sens.attempt(mem->sens.data, &a);
  cpSettle(mem, a.nst);
  if (a.nst == 0) cpAdoptTolerances(mem, ewt);
  mem->t               = a.t;
  mem->nst_attempt     = a.nst;
  mem->have_attempt    = 0;
  mem->projected       = 0;
  mem->err_valid       = 0;
  mem->have_estimate   = 0;
  mem->entered         = 0;
  mem->expect_rejected = -1;
  mem->setup_due       = callLSetup;
  mem->tq2             = mem->coef / tol; /* tol = nlscoef / tq[2] */

  flag = cpInnerSolve(&mem->nls, y0, ycor, ewt, tol, callLSetup, cvode_mem);
  if (flag) return cpFailedInner(mem, &a, ycor, flag);

  cpAdd(a.ypred, ycor, mem->y);
  mem->have_attempt = 1;
  if (isDue(mem, &a)) flag = projectStep(mem, &a, ycor, ewt);
  else if (mem->P) leaveAlone(mem);
  if (!flag && !mem->projected && !isfinite(cpWrmsNorm(ycor, ewt))) /* which CVODES tests then */
    flag = cpFailedInner(mem, &a, ycor, SUN_NLS_CONV_RECVR);
  if (!flag) mem->cause = 0;
  return flag;
}

const CPSolveFn cpSolveStep = solve;
