/* What ends an attempt or the run. cpSelfCheck asks whether CVODES is what cpodes takes it for; the functions after it tell
 * CVODES of a failure and remember its cause. */
#include "multistep_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <sundials/sundials_nonlinearsolver.h>

/* Roundoff that the self-check allows, in units of the largest component. */
#define SELFCHECK 1.0e3
/* Roundoff in times, as in CVODES. */
#define FUZZ_FACTOR 100.0

void cpAttemptRead(CPodeMem mem, CPAttempt *a) {
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

long int cpStepsTaken(CPodeMem mem) {
  long int nst = 0;
  CVodeGetNumSteps(mem->cvode_mem, &nst);
  return nst;
}

sunrealtype cpLastStep(CPodeMem mem) {
  sunrealtype h = 0.0;
  CVodeGetLastStep(mem->cvode_mem, &h);
  return h;
}

int cpSameTime(sunrealtype t1, sunrealtype t2, sunrealtype h) {
  return fabs(t1 - t2) <= FUZZ_FACTOR * CP_UROUND * (fabs(t1) + fabs(h));
}

/* CVODES takes a NaN for the largest step, and then every step for good and none for the last. A step that underflows leads
 * nowhere, and ends in 0 / 0, since CVODES compares products of a step and a roundoff of t when it asks whether tout was
 * reached. If f is not finite, the solver will say so. */
#define LEAST_STEP (DBL_MIN / CP_UROUND)

static int checkSize(CPodeMem mem, const CPAttempt *a) {
  if (fabs(a->h) >= LEAST_STEP && isfinite(a->t)) return CP_SUCCESS;
  if (isfinite(a->h) && !cpVectorFinite(a->zn1)) return CP_SUCCESS;
  return cpReason(mem->base.text, isfinite(a->h) ? CV_TOO_CLOSE : CV_ILL_INPUT,
                  "the step size is %g: was it set (CVodeSetMaxStep, ...MinStep, ...InitStep) to "
                  "what is not finite, or does tout, tstop or the first step lie too near to t?",
                  a->h);
}

/* CVODES ends a prediction at tstop whatever its step is. After a first attempt that failed for good it scales its history
 * once more by the change of step that is already in there, if the distance to tstop has been rounded (seen in 6.4.1). The
 * step then leads beyond tstop, and its state would be handed out as that of tstop. As a failure of the solver the attempt
 * is repeated with a shorter step, which fits its history. (Where CVodeB repeats steps, base.t is the end of the forward run.) */
int cpIsClipped(CPodeMem mem, const CPAttempt *a) {
  if (!mem->holding || mem->checkpoints.repeating || cpSameTime(a->t - a->h, mem->base.t, a->h))
    return 0;
  mem->failure.cause = CV_CONV_FAILURE;
  cpWrite(
      mem->base.text,
      "at t = %.15g: CVODES' step of %g does not lead there from t = %.15g, since it goes beyond "
      "tstop",
      a->t, a->h, mem->base.t);
  return 1;
}

/* A retry has another step than the attempt before it, which may be larger (CVodeSetConstraints), or follows a failed error
 * test. Where f fails recoverably between a state and its staggered sensitivities, CVODES predicts once more with the same
 * step, without having taken its prediction back (6.4.1 to 7.5), and its history is lost. */
static int checkRetry(CPodeMem mem, const CPAttempt *a) {
  const CPTrial *before = &mem->attempt;
  if (!mem->holding || !before->complete || a->nst != before->nst || a->netf != before->netf ||
      fabs(a->h - before->h) > 1.0e2 * CP_UROUND * fabs(a->h))
    return CP_SUCCESS;
  mem->failure.history_lost = 1;
  return cpReason(mem->base.text, CV_UNREC_RHSFUNC_ERR,
                  "at t = %.15g: f failed recoverably between the state and its sensitivities, "
                  "which CVODES cannot repeat",
                  before->t);
}

/* A stop time that no run in the direction of towards comes to */
static int stopFarAway(CPodeMem mem, sunrealtype towards) {
  return CVodeSetStopTime(mem->cvode_mem, towards < mem->base.t0 ? -DBL_MAX / 4 : DBL_MAX / 4);
}

void cpClearStopTime(CPodeMem mem, sunrealtype towards) {
#ifdef CP_CVODES_CLEARS_STOP_TIME
  (void)towards;
  CVodeClearStopTime(mem->cvode_mem);
#else
  stopFarAway(mem, towards);
#endif
}

/* CVodeB knows the last stop time of CVodeF at most, and where a checkpoint lies on it, it stores one point more than there
 * is room for (6.4.1 to 7.5). It is shown none, and each repeated step sets the one ahead of it. */
int cpStopReached(CPodeMem mem, sunrealtype tstop, N_Vector y) {
  CPCheckpoints *points = &mem->checkpoints;
  sunrealtype tn, t, *stops = realloc(points->stops, ((size_t)points->nstops + 1) * sizeof *stops);
  int none;
  if (!stops) return CP_MEM_FAIL;
  points->stops           = stops;
  stops[points->nstops++] = tstop;
  CVodeGetCurrentTime(mem->cvode_mem, &tn);
  int flag = stopFarAway(mem, tstop);
  /* This returns the present state, and CVodeF takes the stop time for the one that CVodeB has to set. */
  if (!flag) flag = CVodeF(mem->cvode_mem, tn, y, &t, CV_NORMAL, &none);
  /* CVODES forgets a stop time when it is reached. */
  if (!flag) flag = CVodeSetStopTime(mem->cvode_mem, tn);
  if (!flag) flag = CVode(mem->cvode_mem, tstop, y, &t, CV_ONE_STEP);
  return flag == CV_TSTOP_RETURN ? CP_SUCCESS : flag;
}

/* A step that ends at a stop time has it in force to its end, where CVODES gives t its bits. */
static int setNextStop(CPodeMem mem, const CPAttempt *a) {
  const CPCheckpoints *points = &mem->checkpoints;
  for (long int k = 0; k < points->nstops; k++)
    if ((points->stops[k] - a->t) * a->h >= 0.0)
      return CVodeSetStopTime(mem->cvode_mem, points->stops[k]);
  if (points->nstops > 0) cpClearStopTime(mem, a->t + a->h);
  return CP_SUCCESS;
}

/* CVodeB stores the steps that it repeats where there is room for as many as CVodeF made between two checkpoints, and would
 * write behind that with more. So CVodeF records where steps begin, and they must begin there again. */
static int checkRepetition(CPodeMem mem, const CPAttempt *a) {
  CPCheckpoints *points = &mem->checkpoints;
  if (!points->repeating && a->nst == 0) points->nbegins = points->nstops = 0;
  if (!mem->holding || !points->repeatable) return CP_SUCCESS;
  if (!points->repeating) {
    const long int n = a->nst + 2;
    if (n > points->room) {
      sunrealtype *more = realloc(points->begins, 2 * (size_t)n * sizeof *more);
      if (!more) return cpReason(mem->base.text, CP_MEM_FAIL, "no memory for a record of steps");
      points->begins = more;
      points->room   = 2 * n;
    }
    while (points->nbegins <= a->nst) points->begins[points->nbegins++] = NAN;
    if (!cpSameTime(points->begins[a->nst], a->t - a->h, a->h))
      points->begins[a->nst] = a->t - a->h;
    points->begins[a->nst + 1] = a->t; /* the next step, if there is one, begins here */
    points->nbegins            = n;
    return CP_SUCCESS;
  }
  if (a->nst >= points->nbegins || isnan(points->begins[a->nst])) return setNextStop(mem, a);
  const sunrealtype was = points->begins[a->nst];
  /* Where a step before ends short of a checkpoint, be it by roundoff, CVodeB makes one step more. */
  const CPTrial *before = &mem->attempt;
  const int follows     = before->complete && a->nst == before->nst + 1,
            is_short    = follows && (was - before->t) * a->h > 0.0;
  if (!is_short && cpSameTime(a->t - a->h, was, a->h)) return setNextStop(mem, a);
  return cpReason(
      mem->base.text, CV_FWD_FAIL,
      "step %ld from a checkpoint begins at t = %.17g, not at %.17g as in the forward "
      "run: do functions fail, or return other values, when they are called with the "
      "same arguments again, or does CVodeSetMinStep or CVodeSetMaxStep decide about the "
      "first step?",
      a->nst + 1, follows ? before->t : a->t - a->h, was);
}

/* Is CVODES what cpodes takes it for?
 *
 * An attempt that was foreseen to be rejected must have been. After the first step, of order 1, ypred - zn[1] must be the
 * state that was handed over. Attached memory does not tell its method, but at order 2, which every run passes, l_1 is 3/2
 * with CVODES' BDF and 2 with Adams, and neither of them ever has the other's value. */
static int checkMethod(CPodeMem mem, const CPAttempt *a) {
  const CPStepper s     = &mem->base;
  const CPTrial *before = &mem->attempt;
  if (before->expect_rejected >= 0 && a->nst != before->expect_rejected)
    return cpReason(s->text, CP_SELFCHECK_FAIL,
                    "CVODES accepted a step that its error test was to reject: has "
                    "CVodeSetNonlinConvCoef been called? (use CPodeSetNonlinConvCoef)");
  if (a->nst == 1 && before->nst == 0 && before->projected >= 0) {
    N_Vector y1 = before->complete ? before->y : s->y; /* after cpSettle it is in s->y */
    N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, s->tmp);
    N_VLinearSum(1.0, s->tmp, -1.0, y1, s->tmp);
    const sunrealtype off = N_VMaxNorm(s->tmp), scale = N_VMaxNorm(y1) + N_VMaxNorm(a->zn1);
    if (!(off <= SELFCHECK * CP_UROUND * scale))
      return cpReason(s->text, CP_SELFCHECK_FAIL,
                      "at t = %.15g: the first step's state is not the one handed over (off by "
                      "%g): this CVODES works differently",
                      a->t, off);
  }
  const int adams = fabs(a->rl1 - 1.0 / 2.0) < 1.0e-12, bdf = fabs(a->rl1 - 2.0 / 3.0) < 1.0e-12;
  if ((adams && mem->lmm == CV_BDF) || (bdf && mem->lmm == CV_ADAMS))
    return cpReason(s->text, CP_SELFCHECK_FAIL,
                    "lmm given to CPodeAttach was %s, but the memory integrates with %s",
                    adams ? "CV_BDF" : "CV_ADAMS", adams ? "CV_ADAMS" : "CV_BDF");
  return CP_SUCCESS;
}

int cpSelfCheck(CPodeMem mem, const CPAttempt *a) {
  int flag = checkSize(mem, a);
  if (!flag) flag = checkRetry(mem, a);
  if (!flag) flag = checkMethod(mem, a);
  return flag ? flag : checkRepetition(mem, a);
}

/* Attached memory that has not stepped yet keeps its error weights to itself until now. The start is ypred - zn[1]. */
int cpCheckStartLate(CPodeMem mem, const CPAttempt *a, N_Vector ewt) {
  if (!mem->base.P || mem->base.start_checked) return CP_SUCCESS;
  N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, mem->attempt.y);
  return cpStepperCheckConsistent(&mem->base, a->t - a->h, mem->attempt.y, ewt, a->nst > 0);
}

/* ---- failures ---- */

int cpFatal(CPodeMem mem, int code) {
  mem->failure.cause = mem->failure.fatal = code;
  return CP_SELFCHECK_FAIL; /* any negative number makes CVODES stop */
}

static int isCreeping(CPodeMem mem, const CPAttempt *a) {
  return a->nst > 0 && cpStepperIsCreeping(&mem->base, a->t, a->h);
}

int cpRejected(CPodeMem mem, const CPAttempt *a, int flag) {
  if (flag < 0) return cpFatal(mem, flag);
  mem->failure.cause = -flag;
  return isCreeping(mem, a) ? cpFatal(mem, -flag) : SUN_NLS_CONV_RECVR;
}

int cpFailed(CPodeMem mem, const CPAttempt *a, int flag) {
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

/* Says that f, or Newton's matrix, is not finite if that is what made the solver fail with ycor. CVODES keeps the newest f in
 * a->f for a Newton solver only; with a fixed-point solver it is in tmp (cpFunctionFailure). The component named is that of
 * f at ypred, before NaN has spread over the others. If f is finite there, the matrix is the cause. */
static void nameNonFinite(CPodeMem mem, const CPAttempt *a, N_Vector ycor, int matrix) {
  const CPStepper s   = &mem->base;
  const int newton    = SUNNonlinSolGetType(mem->nls.inner) == SUNNONLINEARSOLVER_ROOTFIND;
  const N_Vector v[3] = {newton ? a->f : s->tmp, ycor, a->ypred};
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
    cpWrite(s->text, "at t = %.15g: " CP_MATRIX_NONFINITE, a->t);
  else
    cpWrite(s->text, "at t = %.15g: the right-hand side f returned NaN or Inf (component %d)", a->t,
            component);
}

int cpFailedInner(CPodeMem mem, const CPAttempt *a, N_Vector ycor, int flag) {
  const CPStepper s  = &mem->base;
  const char *reason = NULL;
  mem->failure.cause = 0;
  /* Is it the matrix that Newton's iteration has not converged with? If ycor is 0, there may have been no solve. */
  const int matrix =
      mem->nls.matrix_not_finite || (flag == SUN_NLS_CONV_RECVR && N_VMaxNorm(ycor) != 0.0 &&
                                     cpMatrixFails(&mem->nls, ycor, mem->cvode_mem));
  flag = cpFunctionFailure(&mem->nls, ycor, s->tmp, flag);
  if (flag < 0) return flag;
  const int f_failed = flag == CP_CV_RHSFUNC_RECVR;
  if (!f_failed) nameNonFinite(mem, a, ycor, matrix);
  if (!isCreeping(mem, a)) return f_failed ? flag : SUN_NLS_CONV_RECVR;
  if (mem->failure.cause) return cpFatal(mem, mem->failure.cause);
  const int code = s->system.cause ? -abs(s->system.cause(&reason, s->system.data)) : 0;
  if (code) cpWrite(s->text, "%s; again and again, down to a step of %g", reason, a->h);
  else
    cpWrite(s->text, "at t = %.15g: %s again and again, down to a step of %g", a->t,
            f_failed ? "the right-hand side f failed" : "the nonlinear solver did not converge",
            a->h);
  return cpFatal(mem, code ? code : f_failed ? CV_REPTD_RHSFUNC_ERR : CV_CONV_FAILURE);
}

int cpFailedTest(CPodeMem mem, const CPAttempt *a) {
  const CPStepper s          = &mem->base;
  const sunrealtype roundoff = CP_UROUND * fmax(fabs(a->t), fabs(a->t - s->t0));
  char why[128]              = "";
  if (fabs(a->h) >= roundoff || !isCreeping(mem, a)) return CP_SUCCESS;
  if (s->P) cpStepperTellAngle(s, why, sizeof why);
  cpWrite(s->text, "at t = %.15g: the error test fails again and again, down to a step of %g%s",
          a->t, a->h, why);
  return cpFatal(mem, CV_ERR_FAILURE);
}
