/* Checks that end an attempt or the run. cpSelfCheck tests cpodes' assumptions about CVODES; the
 * functions after it report a failure to CVODES and keep its cause. */
#include "multistep_impl.h"

#include <float.h>
#include <math.h>
#include <sundials/sundials_nonlinearsolver.h>

void cpAttemptRead(CPMultistep mem, CPAttempt *a) {
  sunrealtype gamma = 0.0;
  N_Vector yn;
  long int ncfn = 0, netf = 0;
  CVodeGetNonlinearSystemData(mem->cvode_mem, &a->t, &a->ypred, &yn, &a->f, &gamma, &a->rl1,
                              &a->zn1, &a->user_data);
  CVodeGetNumStepSolveFails(mem->cvode_mem, &ncfn);
  CVodeGetNumErrTestFails(mem->cvode_mem, &netf);
  a->nst   = cpStepsTaken(mem);
  a->nfail = ncfn + netf;
  a->netf  = netf;
  a->h     = a->rl1 != 0.0 ? gamma / a->rl1 : 0.0;
}

long int cpStepsTaken(CPMultistep mem) {
  long int nst = 0;
  CVodeGetNumSteps(mem->cvode_mem, &nst);
  return nst;
}

sunrealtype cpLastStep(CPMultistep mem) {
  sunrealtype h = 0.0;
  CVodeGetLastStep(mem->cvode_mem, &h);
  return h;
}

int cpSameTime(sunrealtype t1, sunrealtype t2, sunrealtype h) {
  return fabs(t1 - t2) <= CP_FUZZ * (fabs(t1) + fabs(h));
}

/* If the largest step was set to NaN, CVODES accepts every step, and never finds that tout is
 * reached. A step that underflows makes no progress and ends in 0 / 0, since CVODES compares
 * products of a step and the roundoff of t to see whether tout is reached. If f is not finite, the
 * solver reports it. */
#define LEAST_STEP (DBL_MIN / CP_UROUND)

static int checkSize(CPMultistep mem, const CPAttempt *a) {
  if (fabs(a->h) >= LEAST_STEP && isfinite(a->t)) return CP_SUCCESS;
  if (isfinite(a->h) && !cpVectorFinite(a->zn1)) return CP_SUCCESS;
  return cpReason(mem->base.text, isfinite(a->h) ? CV_TOO_CLOSE : CV_ILL_INPUT,
                  "the step size is %g: was it set (CVodeSetMaxStep, ...MinStep, ...InitStep) to "
                  "what is not finite, or does tout, tstop or the first step lie too near to t?",
                  a->h);
}

/* CVODES ends a prediction at tstop whatever the step size. After a first attempt that failed for
 * good, it rescales its history once more by a change of step size that the history already
 * contains, if the distance to tstop has been rounded (seen in 6.4.1). The step then leads beyond
 * tstop, and its state would be returned as that of tstop. Reported as a failure of the solver, the
 * attempt is repeated with a shorter step, which fits its history. */
int cpIsClipped(CPMultistep mem, const CPAttempt *a) {
  if (!mem->holding || cpSameTime(a->t - a->h, mem->base.t, a->h)) return 0;
  mem->failure.cause = CV_CONV_FAILURE;
  cpWrite(
      mem->base.text,
      "at t = %.10g: CVODES' step of %g does not lead there from t = %.15g, since it goes beyond "
      "tstop",
      a->t, a->h, mem->base.t);
  return 1;
}

/* A retry has a step size other than that of the attempt before it, perhaps a larger one
 * (CVodeSetConstraints), or it follows a failed error test. If f fails recoverably between a state
 * and its staggered sensitivities, CVODES predicts once more with the same step size without having
 * undone the first prediction (6.4.1 to 7.5), and its history is lost. */
static int checkRetry(CPMultistep mem, const CPAttempt *a) {
  const CPTrial *before = &mem->attempt;
  if (!mem->holding || !before->complete || a->nst != before->nst || a->netf != before->netf ||
      fabs(a->h - before->h) > 1.0e2 * CP_UROUND * fabs(a->h))
    return CP_SUCCESS;
  mem->failure.history_lost = 1;
  return cpReason(mem->base.text, CV_UNREC_RHSFUNC_ERR,
                  "at t = %.10g: f failed recoverably between the state and its sensitivities, "
                  "which CVODES cannot repeat",
                  before->t);
}

void cpClearStopTime(CPMultistep mem, sunrealtype towards) {
#ifdef CP_CVODES_CLEARS_STOP_TIME
  (void)towards;
  CVodeClearStopTime(mem->cvode_mem);
#else /* one that no run in this direction reaches */
  CVodeSetStopTime(mem->cvode_mem, towards < mem->base.t0 ? -DBL_MAX / 4 : DBL_MAX / 4);
#endif
}

/* Tests cpodes' assumptions about CVODES.
 *
 * An attempt that was expected to be rejected must have been rejected. After the first step, which
 * has order 1, ypred - zn[1] must be the state that was handed over. Attached memory does not
 * reveal its method, but at order 2, which every run passes through, l_1 is 3/2 for CVODES' BDF and
 * 2 for Adams, and neither method ever has the other's value. */
static int checkMethod(CPMultistep mem, const CPAttempt *a) {
  const CPIntegrator s  = &mem->base;
  const CPTrial *before = &mem->attempt;
  if (before->expect_rejected >= 0 && a->nst != before->expect_rejected)
    return cpReason(s->text, CP_SELFCHECK_FAIL,
                    "CVODES accepted a step that its error test was to reject: has "
                    "CVodeSetNonlinConvCoef been called after the first step?");
  if (a->nst == 1 && before->nst == 0 && before->projected >= 0) {
    N_Vector y1 = before->complete ? before->y : s->y; /* cpSettle has moved it to s->y */
    N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, s->tmp);
    N_VLinearSum(1.0, s->tmp, -1.0, y1, s->tmp);
    const sunrealtype off = N_VMaxNorm(s->tmp), scale = N_VMaxNorm(y1) + N_VMaxNorm(a->zn1);
    if (!(off <= CP_ROUNDED * scale))
      return cpReason(s->text, CP_SELFCHECK_FAIL,
                      "at t = %.10g: the first step's state is not the one handed over (off by "
                      "%g): this CVODES works differently",
                      a->t, off);
  }
  const int adams = fabs(a->rl1 - 1.0 / 2.0) < 1.0e-12, bdf = fabs(a->rl1 - 2.0 / 3.0) < 1.0e-12;
  if ((adams && mem->lmm == CV_BDF) || (bdf && mem->lmm == CV_ADAMS))
    return cpReason(s->text, CP_SELFCHECK_FAIL,
                    "lmm given to CPIntegratorAttach was %s, but the memory integrates with %s",
                    adams ? "CV_BDF" : "CV_ADAMS", adams ? "CV_ADAMS" : "CV_BDF");
  return CP_SUCCESS;
}

int cpSelfCheck(CPMultistep mem, const CPAttempt *a) {
  int flag = checkSize(mem, a);
  if (!flag) flag = checkRetry(mem, a);
  return flag ? flag : checkMethod(mem, a);
}

/* Attached memory does not show its error weights before its first step, so that the start, ypred -
 * zn[1], is checked here, in the first solve. */
int cpCheckStartLate(CPMultistep mem, const CPAttempt *a, N_Vector ewt) {
  if (!mem->base.P || mem->base.start_checked) return CP_SUCCESS;
  N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, mem->attempt.y);
  return cpStepperCheckConsistent(&mem->base, a->t - a->h, mem->attempt.y, ewt, a->nst > 0);
}

/* ---- failures ---- */

int cpFatal(CPMultistep mem, int code) {
  mem->failure.cause = mem->failure.fatal = code;
  return CP_SELFCHECK_FAIL; /* any negative number makes CVODES stop */
}

static int isCreeping(CPMultistep mem, const CPAttempt *a) {
  return a->nst > 0 && cpStepperIsStuck(&mem->base, a->t, a->h);
}

int cpRejected(CPMultistep mem, const CPAttempt *a, int flag) {
  if (flag < 0) return cpFatal(mem, flag);
  mem->failure.cause = -flag;
  return isCreeping(mem, a) ? cpFatal(mem, -flag) : SUN_NLS_CONV_RECVR;
}

int cpFailed(CPMultistep mem, const CPAttempt *a, int flag) {
  mem->base.stats.nprojfails++;
  return cpRejected(mem, a, flag);
}

int cpFunctionFailure(CPWrapped *nls, N_Vector ycor, N_Vector tmp, int flag) {
  N_VConst(0.0, tmp);
  if (flag != SUN_NLS_CONV_RECVR || !nls->sysfn ||
      SUNNonlinSolGetType(nls->inner) != SUNNONLINEARSOLVER_FIXEDPOINT)
    return flag;
  if (nls->sysfn_failed) return nls->sysfn_failed;
  const int again = nls->sysfn(ycor, tmp, nls->ctest_data);
  return again ? again : flag;
}

/* Names f, or Newton's matrix, as the cause if it was not finite when the solver failed with ycor.
 * The latest f is in a->f for a Newton solver, and in tmp for a fixed-point solver
 * (cpFunctionFailure). The message gives the component of f at ypred, where NaN has not yet spread
 * to other components. If f is finite there, the matrix is the cause. */
static void nameNonFinite(CPMultistep mem, const CPAttempt *a, N_Vector ycor, int matrix) {
  const CPIntegrator s = &mem->base;
  const int newton     = SUNNonlinSolGetType(mem->nls.inner) == SUNNONLINEARSOLVER_ROOTFIND;
  const N_Vector v[3]  = {newton ? a->f : s->tmp, ycor, a->ypred};
  int bad = 0, component = -1;
  while (bad < 3 && cpVectorFinite(v[bad])) bad++;
  if (bad == 3 && !matrix) return;
  if (bad < 3) component = cpFirstNonFinite(v[bad]);
  if (matrix) N_VConst(0.0, s->tmp);
  if (bad < 3) {
    N_VConst(0.0, ycor);
    if (mem->nls.sysfn && mem->nls.sysfn(ycor, s->tmp, mem->cvode_mem) == 0 &&
        !cpVectorFinite(s->tmp))
      component = cpFirstNonFinite(s->tmp);
  }
  mem->failure.cause = CP_RHS_NONFINITE;
  if (matrix && cpVectorFinite(s->tmp))
    cpWrite(s->text, "at t = %.10g: " CP_MATRIX_NONFINITE, a->t);
  else
    cpWrite(s->text, "at t = %.10g: the right-hand side f returned NaN or Inf (component %d)", a->t,
            component);
}

int cpFailedInner(CPMultistep mem, const CPAttempt *a, N_Vector ycor, int flag) {
  const CPIntegrator s = &mem->base;
  const char *reason   = NULL;
  mem->failure.cause   = 0;
  /* Has Newton's iteration not converged because its matrix is not finite? If ycor = 0, there may
   * have been no solve. */
  const int matrix =
      mem->nls.matrix_not_finite || (flag == SUN_NLS_CONV_RECVR && N_VMaxNorm(ycor) != 0.0 &&
                                     cpMatrixFails(&mem->nls, ycor, mem->cvode_mem));
  flag = cpFunctionFailure(&mem->nls, ycor, s->tmp, flag);
  if (flag < 0) return flag;
  const int f_failed = flag == CP_CV_RHSFUNC_RECVR;
  if (!f_failed) nameNonFinite(mem, a, ycor, matrix);
  mem->ndiverged += !f_failed && !mem->failure.cause &&
                    SUNNonlinSolGetType(mem->nls.inner) == SUNNONLINEARSOLVER_FIXEDPOINT;
  if (!isCreeping(mem, a)) return f_failed ? flag : SUN_NLS_CONV_RECVR;
  if (mem->failure.cause) return cpFatal(mem, mem->failure.cause);
  const int code = cpStepperCause(s, &reason);
  if (code) cpWrite(s->text, "%s; again and again, down to a step of %g", reason, a->h);
  else
    cpWrite(s->text, "at t = %.10g: %s again and again, down to a step of %g", a->t,
            f_failed ? "the right-hand side f failed" : "the nonlinear solver did not converge",
            a->h);
  return cpFatal(mem, code ? code : f_failed ? CV_REPTD_RHSFUNC_ERR : CV_CONV_FAILURE);
}

int cpFailedTest(CPMultistep mem, const CPAttempt *a) {
  const CPIntegrator s       = &mem->base;
  const sunrealtype roundoff = CP_UROUND * fmax(fabs(a->t), fabs(a->t - s->t0));
  char why[128]              = "";
  if (fabs(a->h) >= roundoff || !isCreeping(mem, a)) return CP_SUCCESS;
  if (s->P) cpStepperTellAngle(s, why, sizeof why);
  cpWrite(s->text, "at t = %.10g: the error test fails again and again, down to a step of %g%s",
          a->t, a->h, why);
  return cpFatal(mem, CV_ERR_FAILURE);
}
