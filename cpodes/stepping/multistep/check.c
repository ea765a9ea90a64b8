/* What ends an attempt, or the run: is CVODES what cpodes takes it for, and is the start on the manifold? After a failure,
 * what CVODES is told, and what is remembered as the cause. */
#include "multistep_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <sundials/sundials_nonlinearsolver.h>

/* Roundoff that the self-check allows, in units of the largest component. */
#define SELFCHECK 1.0e3
/* Roundoff in times, as in CVODES. */
#define FUZZ_FACTOR 100.0

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
  a->netf  = netf;
  a->h     = a->rl1 != 0.0 ? gamma / a->rl1 : 0.0;
  return flag;
}

int cpSameTime(sunrealtype t1, sunrealtype t2, sunrealtype h) {
  return fabs(t1 - t2) <= FUZZ_FACTOR * CP_UROUND * (fabs(t1) + fabs(h));
}

/* Is CVODES what cpodes takes it for? After the first step (order 1) ypred - zn[1] is the state
 * that was handed over, and an attempt that was foreseen to be rejected was. */
static int checkHistory(CPodeMem mem, const CPAttempt *a) {
  if (mem->attempt.expect_rejected >= 0 && a->nst != mem->attempt.expect_rejected) {
    cpWrite(mem->base.text, "CVODES accepted a step that its error test was to reject: "
                            "has CVodeSetNonlinConvCoef been called? (use CPodeSetNonlinConvCoef)");
    return CP_SELFCHECK_FAIL;
  }
  if (a->nst != 1 || mem->attempt.nst != 0 || mem->attempt.projected < 0) return CP_SUCCESS;
  N_Vector y1 = mem->attempt.complete ? mem->attempt.y : mem->base.y; /* settled already? */
  N_VLinearSum(1.0, a->ypred, -1.0, a->zn1, mem->base.tmp);
  N_VLinearSum(1.0, mem->base.tmp, -1.0, y1, mem->base.tmp);
  const sunrealtype scale = N_VMaxNorm(y1) + N_VMaxNorm(a->zn1);
  if (N_VMaxNorm(mem->base.tmp) <= SELFCHECK * CP_UROUND * scale) return CP_SUCCESS;
  cpWrite(mem->base.text,
          "at t = %.15g: the first step's state is not the one handed over (off by %g): "
          "this CVODES works differently",
          a->t, N_VMaxNorm(mem->base.tmp));
  return CP_SELFCHECK_FAIL;
}

/* Attached memory does not tell its method. At order 2, which every run passes, l_1 = 3/2 with
 * CVODES' BDF, where Adams never has it, and 2 with Adams, where BDF never has it. */
static int checkCoefficient(CPodeMem mem, const CPAttempt *a) {
  const int adams = fabs(a->rl1 - 1.0 / 2.0) < 1.0e-12, bdf = fabs(a->rl1 - 2.0 / 3.0) < 1.0e-12;
  if (!(adams && mem->lmm == CV_BDF) && !(bdf && mem->lmm == CV_ADAMS)) return CP_SUCCESS;
  cpWrite(mem->base.text, "lmm given to CPodeAttach was %s, but the memory integrates with %s",
          adams ? "CV_BDF" : "CV_ADAMS", adams ? "CV_ADAMS" : "CV_BDF");
  return CP_SELFCHECK_FAIL;
}

/* A retry begins where the attempt before it began, with a step that may be larger (CVodeSetConstraints). Where f
 * fails recoverably between a state and its staggered sensitivities, CVODES predicts once more without having taken
 * its prediction back (6.4.1 to 7.5), and the attempt begins where that one ended: its history is lost. */
static int checkRetry(CPodeMem mem, const CPAttempt *a) {
  const sunrealtype begin = a->t - a->h;
  if (!mem->holding || !mem->attempt.complete || a->nst != mem->attempt.nst ||
      (a->t - mem->attempt.t) * a->h <= 0.0 || !cpSameTime(begin, mem->attempt.t, a->h) ||
      cpSameTime(begin, mem->attempt.begin, a->h))
    return CP_SUCCESS;
  mem->failure.history_lost = 1;
  cpWrite(mem->base.text,
          "at t = %.15g: f failed recoverably between the state and its sensitivities, which "
          "CVODES cannot repeat",
          mem->attempt.t);
  return CV_UNREC_RHSFUNC_ERR;
}

/* The record of where steps begin, with room for n of them. 0 or CP_MEM_FAIL. */
static int makeRoom(CPodeMem mem, long int n) {
  if (n <= mem->checkpoints.room) return CP_SUCCESS;
  sunrealtype *t = realloc(mem->checkpoints.begins, 2 * (size_t)n * sizeof *t);
  if (!t) return CP_MEM_FAIL;
  mem->checkpoints.begins = t;
  mem->checkpoints.room   = 2 * n;
  return CP_SUCCESS;
}

static int record(CPodeMem mem, const CPAttempt *a) {
  if (makeRoom(mem, a->nst + 2)) {
    cpWrite(mem->base.text, "no memory for a record of steps");
    return CP_MEM_FAIL;
  }
  while (mem->checkpoints.nbegins <= a->nst)
    mem->checkpoints.begins[mem->checkpoints.nbegins++] = NAN;
  mem->checkpoints.begins[a->nst]     = a->t - a->h;
  mem->checkpoints.begins[a->nst + 1] = a->t; /* of the next step, if there is one */
  mem->checkpoints.nbegins            = a->nst + 2;
  return CP_SUCCESS;
}

/* CVodeB stores the steps that it repeats where there is room for as many as CVodeF made between two checkpoints: with
 * more of them it would write behind that. */
static int checkRepetition(CPodeMem mem, const CPAttempt *a) {
  if (!mem->checkpoints.repeating && a->nst == 0) mem->checkpoints.nbegins = 0;
  if (!mem->holding || !mem->checkpoints.repeatable) return CP_SUCCESS;
  if (!mem->checkpoints.repeating) return record(mem, a);
  mem->checkpoints.repeated = 1;
  if (a->nst >= mem->checkpoints.nbegins || isnan(mem->checkpoints.begins[a->nst]) ||
      cpSameTime(a->t - a->h, mem->checkpoints.begins[a->nst], a->h))
    return CP_SUCCESS;
  cpWrite(mem->base.text,
          "step %ld from a checkpoint begins at t = %.15g, not at %.15g as in the forward run: do "
          "functions "
          "fail, or return other values, when they are called with the same arguments again?",
          a->nst + 1, a->t - a->h, mem->checkpoints.begins[a->nst]);
  return CV_FWD_FAIL;
}

/* Products of smaller steps and a roundoff of t underflow, by which CVODES asks whether tout was reached. */
#define LEAST_STEP (DBL_MIN / CP_UROUND)

/* CVODES takes a NaN for the largest step, and then every step for good and none for the last. A step that
 * underflows leads nowhere, and ends in 0 / 0. (Where f is not finite, that is told.) */
static int checkSize(CPodeMem mem, const CPAttempt *a) {
  if (fabs(a->h) >= LEAST_STEP && isfinite(a->t)) return CP_SUCCESS;
  if (isfinite(a->h) && !cpVectorFinite(a->zn1)) return CP_SUCCESS;
  cpWrite(mem->base.text,
          "the step size is %g: was it set (CVodeSetMaxStep, ...MinStep, ...InitStep) to what is "
          "not finite, "
          "or does tout, tstop or the first step lie too near to t?",
          a->h);
  return isfinite(a->h) ? CV_TOO_CLOSE : CV_ILL_INPUT;
}

int cpSelfCheck(CPodeMem mem, const CPAttempt *a) {
  int flag = checkSize(mem, a);
  if (!flag) flag = checkRetry(mem, a);
  if (!flag) flag = checkHistory(mem, a);
  if (!flag) flag = checkRepetition(mem, a);
  return flag ? flag : checkCoefficient(mem, a);
}

/* Attached memory that has not stepped yet keeps its error weights to itself until now: y0 = ypred
 * - zn[1]. */
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

/* The first vector that is not finite among those into which NaN or Inf of f spreads, or NULL. CVODES keeps the newest f
 * in a->f for a Newton solver only; of a fixed-point solver it is in tmp (cpFunctionFailure). */
static N_Vector nonFinite(CPodeMem mem, const CPAttempt *a, N_Vector ycor) {
  const int newton    = SUNNonlinSolGetType(mem->nls.inner) == SUNNONLINEARSOLVER_ROOTFIND;
  const N_Vector v[3] = {newton ? a->f : mem->base.tmp, ycor, a->ypred};
  for (int k = 0; k < 3; k++)
    if (!cpVectorFinite(v[k])) return v[k];
  return NULL;
}

/* Which component of f was it: that at ypred, before NaN has spread over the others. If f is finite there, the matrix is
 * the cause. bad may be NULL if matrix is set. */
static void nameNonFinite(CPodeMem mem, const CPAttempt *a, N_Vector bad, N_Vector ycor, int matrix) {
  const CPStepper s = &mem->base;
  int component     = bad ? cpFirstNonFinite(bad) : -1;
  if (matrix) N_VConst(0.0, s->tmp);
  if (bad) {
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
  /* Newton's iteration has not converged: is it the matrix? Where ycor is 0 there may have been no solve. */
  const int matrix =
      mem->nls.matrix_not_finite || (flag == SUN_NLS_CONV_RECVR && N_VMaxNorm(ycor) != 0.0 &&
                                     cpMatrixFails(&mem->nls, ycor, mem->cvode_mem));
  flag = cpFunctionFailure(&mem->nls, ycor, s->tmp, flag);
  if (flag < 0) return flag;
  const int f_failed = flag == CP_CV_RHSFUNC_RECVR;
  const N_Vector bad = f_failed ? NULL : nonFinite(mem, a, ycor);
  if (bad || matrix) nameNonFinite(mem, a, bad, ycor, matrix);
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
