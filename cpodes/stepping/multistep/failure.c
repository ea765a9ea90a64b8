/* Failed attempts: what CVODES is told, and what is remembered as the cause. */
#include "integrator_impl.h"

#include <math.h>
#include <stdlib.h>
#include <sundials/sundials_nonlinearsolver.h>

int cpFatal(CPodeMem mem, int code) {
  mem->cause = mem->fatal = code;
  return CP_SELFCHECK_FAIL; /* any negative number: CVODES stops */
}

static int creeping(CPodeMem mem, const CPAttempt *a) {
  return a->nst > 0 && cpIsCreeping(&mem->creeping, a->t, a->h, mem->t0, mem->tgood);
}

int cpRejected(CPodeMem mem, const CPAttempt *a, int flag) {
  if (flag < 0) return cpFatal(mem, flag);
  mem->cause = -flag;
  return creeping(mem, a) ? cpFatal(mem, -flag) : SUN_NLS_CONV_RECVR;
}

int cpFailed(CPodeMem mem, const CPAttempt *a, int flag) {
  mem->stats.nprojfails++;
  return cpRejected(mem, a, flag);
}

int cpFailedProjection(CPodeMem mem, const CPAttempt *a, int flag) {
  cpWrite(mem->text, "%s", cpWorkText(mem->step));
  return cpFailed(mem, a, flag);
}

int cpAskAgain(CPWrapped *nls, N_Vector ycor, N_Vector tmp, void *cvode_mem, int flag) {
  N_VConst(0.0, tmp);
  if (flag != SUN_NLS_CONV_RECVR || !nls->sysfn ||
      SUNNonlinSolGetType(nls->inner) != SUNNONLINEARSOLVER_FIXEDPOINT)
    return flag;
  const int again = nls->sysfn(ycor, tmp, cvode_mem);
  return again ? again : flag;
}

/* The first vector that is not finite among those that an f with NaN or Inf spoils, or NULL. CVODES
 * keeps the newest f in a->f for a Newton solver only. */
static N_Vector spoilt(CPodeMem mem, const CPAttempt *a, N_Vector ycor) {
  const int newton    = SUNNonlinSolGetType(mem->nls.inner) == SUNNONLINEARSOLVER_ROOTFIND;
  const N_Vector fn   = newton ? a->f : mem->tmp;
  const N_Vector v[3] = {fn, ycor, a->ypred};
  for (int k = 0; k < 3; k++)
    if (!cpVectorFinite(v[k])) return v[k];
  return NULL;
}

/* Which component of f it was: at ypred, before NaN has spread over the others. */
static int spoiltComponent(CPodeMem mem, N_Vector bad, N_Vector ycor) {
  int first = cpFirstNonFinite(bad);
  N_VConst(0.0, ycor);
  if (mem->nls.sysfn && mem->nls.sysfn(ycor, mem->tmp, mem->cvode_mem) == 0 &&
      !cpVectorFinite(mem->tmp))
    first = cpFirstNonFinite(mem->tmp);
  return first;
}

/* The code of steps that lead nowhere, and the reason in mem->text: the attached model's where one of
 * its functions failed. f: the right-hand side failed, else the solver did not converge. */
static int crept(CPodeMem mem, const CPAttempt *a, int f) {
  const char *reason = NULL;
  const int code     = mem->model.cause ? -abs(mem->model.cause(&reason, mem->model.data)) : 0;
  if (code) cpWrite(mem->text, "%s; again and again, down to a step of %g", reason, a->h);
  else
    cpWrite(mem->text, "at t = %.15g: %s again and again, down to a step of %g", a->t,
            f ? "the right-hand side f failed" : "the nonlinear solver did not converge", a->h);
  return code ? code : f ? CV_REPTD_RHSFUNC_ERR : CV_CONV_FAILURE;
}

/* Newton's iteration has not converged: is it the matrix? Where ycor is 0 there may have been no solve. */
static int matrixFailed(CPodeMem mem, N_Vector ycor, int flag) {
  if (mem->nls.matrix_not_finite) return 1;
  return flag == SUN_NLS_CONV_RECVR && N_VMaxNorm(ycor) != 0.0 &&
         cpMatrixFails(&mem->nls, ycor, mem->cvode_mem);
}

/* bad: a vector that is not finite; NULL: there is none. Where f is finite at ypred, the matrix is the cause. */
static void nameNonFinite(CPodeMem mem, const CPAttempt *a, N_Vector bad, N_Vector ycor, int matrix) {
  if (matrix) N_VConst(0.0, mem->tmp);
  const int component = bad ? spoiltComponent(mem, bad, ycor) : -1;
  if (matrix && cpVectorFinite(mem->tmp))
    cpWrite(mem->text, "at t = %.15g: " CP_MATRIX_NONFINITE, a->t);
  else
    cpWrite(mem->text, "at t = %.15g: the right-hand side f returned NaN or Inf (component %d)",
            a->t, component);
  mem->cause = CP_RHS_NONFINITE;
}

int cpFailedInner(CPodeMem mem, const CPAttempt *a, N_Vector ycor, int flag) {
  mem->cause       = 0;
  const int matrix = matrixFailed(mem, ycor, flag);
  flag             = cpAskAgain(&mem->nls, ycor, mem->tmp, mem->cvode_mem, flag);
  if (flag < 0) return flag;
  const int f        = flag == CP_CV_RHSFUNC_RECVR; /* said so itself */
  const N_Vector bad = f ? NULL : spoilt(mem, a, ycor);
  if (bad || matrix) nameNonFinite(mem, a, bad, ycor, matrix);
  if (!creeping(mem, a)) return f ? flag : SUN_NLS_CONV_RECVR;
  return cpFatal(mem, mem->cause ? mem->cause : crept(mem, a, f));
}

int cpFailedTest(CPodeMem mem, const CPAttempt *a) {
  const sunrealtype roundoff = CP_UROUND * fmax(fabs(a->t), fabs(a->t - mem->t0));
  if (fabs(a->h) >= roundoff || !creeping(mem, a)) return CP_SUCCESS;
  char why[128] = "";
  if (mem->P) cpTellAngle(mem->step, why, sizeof why);
  cpWrite(mem->text, "at t = %.15g: the error test fails again and again, down to a step of %g%s",
          a->t, a->h, why);
  return cpFatal(mem, CV_ERR_FAILURE);
}
