/* Failed attempts: what CVODES is told, and what is remembered as the cause. */
#include "multistep_impl.h"

#include <math.h>
#include <stdlib.h>
#include <sundials/sundials_nonlinearsolver.h>

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

int cpAskAgain(CPWrapped *nls, N_Vector ycor, N_Vector tmp, void *cvode_mem, int flag) {
  N_VConst(0.0, tmp);
  if (flag != SUN_NLS_CONV_RECVR || !nls->sysfn ||
      SUNNonlinSolGetType(nls->inner) != SUNNONLINEARSOLVER_FIXEDPOINT)
    return flag;
  const int again = nls->sysfn(ycor, tmp, cvode_mem);
  return again ? again : flag;
}

/* The first vector that is not finite among those into which NaN or Inf of f spreads, or NULL. CVODES keeps the newest f
 * in a->f for a Newton solver only; of a fixed-point solver it is in tmp (cpAskAgain). */
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
  flag = cpAskAgain(&mem->nls, ycor, s->tmp, mem->cvode_mem, flag);
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
