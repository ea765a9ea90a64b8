/* The nonlinear solver that is given to CVODES. It wraps the user's, has its operations except
 * solve, and tests the convergence of Newton's iteration. */
#include "multistep_impl.h"

#include "cpodes/base/random.h"

#include <float.h>
#include <math.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

static CPWrapped *content(SUNNonlinearSolver NLS) { return NLS->content; }

static SUNNonlinearSolver_Type getType(SUNNonlinearSolver NLS) {
  return SUNNonlinSolGetType(content(NLS)->inner);
}
/* Without its checks SUNDIALS 7 calls the linear solver of a Newton solver even if none has been set. */
static int initialize(SUNNonlinearSolver NLS) {
  CPWrapped *nls   = content(NLS);
  nls->initialized = 1;
  if (nls->inner->ops->setlsolvefn && !nls->lsolve && getType(NLS) == SUNNONLINEARSOLVER_ROOTFIND)
    return CP_ILL_INPUT; /* CVODES returns CV_NLS_INIT_FAIL for any error */
  return SUNNonlinSolInitialize(nls->inner);
}
static int setup(SUNNonlinearSolver NLS, N_Vector y, void *cvode_mem) {
  return SUNNonlinSolSetup(content(NLS)->inner, y, cvode_mem);
}
static int setSysFn(SUNNonlinearSolver NLS, SUNNonlinSolSysFn fn) {
  content(NLS)->sysfn = fn;
  return SUNNonlinSolSetSysFn(content(NLS)->inner, fn);
}
static int setLSetupFn(SUNNonlinearSolver NLS, SUNNonlinSolLSetupFn fn) {
  content(NLS)->lsetup = fn;
  return SUNNonlinSolSetLSetupFn(content(NLS)->inner, fn);
}
/* CVODES passes NULL if there is no linear solver. In SUNDIALS 7 with its checks, as on Debian 13, a
 * Newton solver that gets it ends in a crash; initialize refuses it. */
static int setLSolveFn(SUNNonlinearSolver NLS, SUNNonlinSolLSolveFn fn) {
  content(NLS)->lsolve = fn;
  return fn ? SUNNonlinSolSetLSolveFn(content(NLS)->inner, fn) : CP_SUCCESS;
}
/* An iteration continues only while its corrections shrink by half within NO_PROGRESS iterations.
 * CVODES gives up after 3 iterations, but a user may set any limit, and CVODES' test ends the
 * iteration neither for NaN, with which all comparisons are false, nor for corrections that keep
 * their size. */
enum { NO_PROGRESS = 50, FEW_ITERATIONS = 3 /* fixed-point iterations that are not tested */ };
static int progresses(CPNewton *newton, int m, sunrealtype d) {
  if (m == 0 || d < 0.5 * newton->d_halved) newton->d_halved = d, newton->m_halved = m;
  return isfinite(d) && m < newton->m_halved + NO_PROGRESS;
}
static int fixedPointTest(SUNNonlinearSolver inner, N_Vector ycor, N_Vector d, sunrealtype tol,
                          N_Vector ewt, void *data) {
  CPWrapped *nls = data;
  int m          = 0;
  const int flag = SUNNonlinSolGetCurIter(inner, &m); /* may fail: inner may be the user's */
  if (flag) return flag;
  const int beyond = m - FEW_ITERATIONS;
  if (beyond >= 0 && !progresses(&nls->newton, beyond, cpWrmsNorm(d, ewt)))
    return SUN_NLS_CONV_RECVR;
  return nls->ctest(inner, ycor, d, tol, ewt, nls->ctest_data);
}
static int setConvTestFn(SUNNonlinearSolver NLS, SUNNonlinSolConvTestFn fn, void *data) {
  CPWrapped *nls  = content(NLS);
  nls->ctest      = fn;
  nls->ctest_data = data;
  return getType(NLS) == SUNNONLINEARSOLVER_FIXEDPOINT
             ? SUNNonlinSolSetConvTestFn(nls->inner, fixedPointTest, nls)
             : SUNNonlinSolSetConvTestFn(nls->inner, fn, data);
}
static int setMaxIters(SUNNonlinearSolver NLS, int maxiters) {
  if (content(NLS)->keep_maxiters) return CP_SUCCESS; /* attaching must not change the limit */
  return SUNNonlinSolSetMaxIters(content(NLS)->inner, maxiters);
}
static int getNumIters(SUNNonlinearSolver NLS, long int *niters) {
  return SUNNonlinSolGetNumIters(content(NLS)->inner, niters);
}
/* The linear solver interface asks for the iteration while the inner solver runs. Otherwise CVODES'
 * test is given a norm as that of iteration 0, or of later iterations in cpInnerSolve. */
static int getCurIter(SUNNonlinearSolver NLS, int *iter) {
  *iter = content(NLS)->iteration;
  return content(NLS)->inner_running ? SUNNonlinSolGetCurIter(content(NLS)->inner, iter)
                                     : CP_SUCCESS;
}
static int getNumConvFails(SUNNonlinearSolver NLS, long int *nfails) {
  return SUNNonlinSolGetNumConvFails(content(NLS)->inner, nfails);
}
static int freeWrapper(SUNNonlinearSolver NLS) {
  NLS->content = NULL; /* it belongs to the integrator */
  SUNNonlinSolFreeEmpty(NLS);
  return CP_SUCCESS;
}

int cpWrapperCreate(CPWrapped *nls, CPSolveFn solve, void *owner, N_Vector tmp, SUNContext ctx) {
  SUNNonlinearSolver NLS = SUNNonlinSolNewEmpty(ctx);
  if (!NLS) return CP_MEM_FAIL;
  NLS->content              = nls;
  NLS->ops->gettype         = getType;
  NLS->ops->initialize      = initialize;
  NLS->ops->setup           = nls->inner->ops->setup ? setup : NULL;
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
  nls->owner                = owner;
  nls->tmp                  = tmp;
  nls->nsetups              = -1;
  nls->wrapper              = NLS;
  return CP_SUCCESS;
}

/* ---- is Newton's matrix finite? ----
 *
 * Pivoting takes an Inf as the largest entry of its column and divides by it: the row is lost, and
 * the solution's component for that column is exactly 0 for every right-hand side. Newton's
 * iteration then converges to a state in which that component keeps its predicted value, without
 * NaN anywhere. (A NaN in the matrix spreads over the solution, and no convergence test passes.)
 * The same holds for left and right preconditioners. */

static int hasZero(N_Vector v, N_Vector tmp) {
  N_VAbs(v, tmp);
  return N_VMin(tmp) == 0.0;
}

int cpMatrixFails(const CPWrapped *nls, N_Vector ycor, void *cvode_mem) {
  const N_Vector tmp = nls->tmp;
  if (!nls->lsolve || SUNNonlinSolGetType(nls->inner) != SUNNONLINEARSOLVER_ROOTFIND) return 0;
  if (!cpHasData(ycor) || (cpVectorFinite(ycor) && !hasZero(ycor, tmp))) return 0;
  /* No row of an inverse is orthogonal to a random right-hand side, by symmetry or otherwise. */
  sunrealtype *x = N_VGetArrayPointer(tmp);
  unsigned state = 1u;
  for (sunindextype i = 0; i < N_VGetLength(tmp); i++) x[i] = cpUniformAwayFromZero(&state);
  if (nls->lsolve(tmp, cvode_mem)) return 0; /* an iterative solver may fail with a good matrix */
  return !cpVectorFinite(tmp) || hasZero(tmp, tmp);
}

/* After m corrections of equal size CVODES' rate of convergence is max(0.3^m rate, 1). */
enum { EQUAL_CORRECTIONS = 32 };

/* SUNDIALS' fixed-point solver reports every failure of its function as a convergence failure. This
 * function keeps the code. */
static int keptSystem(N_Vector ycor, N_Vector value, void *mem) {
  CPWrapped *nls    = mem;
  nls->sysfn_failed = nls->sysfn(ycor, value, nls->ctest_data);
  return nls->sysfn_failed;
}

/* The corrections of quadratures, which the iteration has left out, follow from the others:
 * ycor = gamma y' - rl1 zn_1. */
static int integrate(CPWrapped *nls, N_Vector ycor) {
  const CPSystem *system = &((CPMultistep)nls->owner)->base.system;
  N_Vector ypred, y, f, zn1;
  sunrealtype t, gamma, rl1;
  void *data;
  int flag =
      CVodeGetNonlinearSystemData(nls->ctest_data, &t, &ypred, &y, &f, &gamma, &rl1, &zn1, &data);
  if (flag) return flag;
  N_VLinearSum(1.0, ypred, 1.0, ycor, nls->tmp);
  flag = system->quadratures(t, nls->tmp, system->data);
  if (flag) return flag < 0 ? CV_RHSFUNC_FAIL : CP_CV_RHSFUNC_RECVR;
  const sunrealtype *rates = N_VGetArrayPointer(nls->tmp), *before = N_VGetArrayPointer(zn1);
  const sunindextype n = N_VGetLength(ycor);
  for (sunindextype i = n - nls->nquad; i < n; i++)
    N_VGetArrayPointer(ycor)[i] = gamma * rates[i] - rl1 * before[i];
  return CP_SUCCESS;
}

int cpInnerSolve(CPWrapped *nls, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *mem) {
  const int keeps = nls->inner->ops->solve == SUNNonlinSolSolve_FixedPoint;
  /* CVODES' test starts each solve with the rate 1, except for fixed-point iteration beside a
   * linear solver, where it continues with the rate of the previous solve. CVodeB could then not
   * repeat steps to the last bit. */
  if (nls->lsetup && getType(nls->wrapper) == SUNNONLINEARSOLVER_FIXEDPOINT) {
    N_VInv(ewt, nls->tmp); /* norm 1: no tolerance is met, and the test stores no norm */
    for (; nls->iteration <= EQUAL_CORRECTIONS; nls->iteration++)
      nls->ctest(nls->wrapper, nls->tmp, nls->tmp, DBL_MIN, ewt, nls->ctest_data);
    nls->iteration = 0;
  }
  nls->sysfn_failed  = 0;
  nls->inner_running = 1;
  if (keeps) SUNNonlinSolSetSysFn(nls->inner, keptSystem); /* the solver only passes memory on */
  int flag = SUNNonlinSolSolve(nls->inner, y0, ycor, ewt, tol, callLSetup, keeps ? nls : mem);
  if (!flag && nls->nquad > 0) flag = integrate(nls, ycor);
  if (keeps) SUNNonlinSolSetSysFn(nls->inner, nls->sysfn);
  nls->inner_running     = 0;
  nls->matrix_not_finite = 0;
  if (!flag) { /* Each matrix is checked once. */
    const long int before = nls->nsetups;
    CVodeGetNumLinSolvSetups(nls->ctest_data, &nls->nsetups);
    nls->matrix_not_finite =
        (callLSetup || nls->nsetups != before) && cpMatrixFails(nls, ycor, nls->ctest_data);
  }
  return nls->matrix_not_finite ? SUN_NLS_CONV_RECVR : flag;
}

/* ---- convergence of Newton's iteration: a test that allows for the age of the derivatives ----
 *
 * Let J = -lambda n n^T be the stiff part of df/dy, and theta the angle by which n has turned since
 * J was evaluated. An iteration with the old matrix M = I - gamma J takes the components of the
 * iterate's error e along n and along a tangent t to
 *
 *   t.e  <-  -gamma lambda theta (n.e),   n.e  <-  -theta (t.e):  by sqrt(gamma lambda) theta each,
 *
 * which is almost 0 right after the evaluation, and above 1 some steps later. CVODES relies on the
 * rate of the previous iterations, and on corrections only, in which n.e, small as it is, does not
 * show. The remaining error then differs from step to step: the history becomes noisy, error tests
 * fail, steps are short and errors accumulate.
 *
 * Here the corrections d_m = -M^-1 F_m are compared with residuals, in which n.e has the weight
 * gamma lambda:
 *
 *   error after iteration m  =  ratio |F_m|,    ratio = |d_m| / |F_(m-1)|.
 *
 * The first iteration of a step takes the ratio from earlier steps, and lets it grow with the
 * square of the derivatives' age: one factor for the angle, and one because steps, and gamma with
 * them, mostly grow as well. With old derivatives the estimate is multiplied by the stiffness |F_0| /
 * |d_0|, so that the residual itself has to be small. As few iterations are allowed, CVODES then also
 * requests new derivatives in time. The stiffness is the largest of the last steps, since |F_0| is small
 * where a prediction happens to be good along n. (On a mechanism that did not take part in the choice,
 * spatial_bending_chain of 3 rods, evaluations of f at equal error are 1.7 times as many without the
 * stiffness, and 4.8 times as many without the memory. bench/tuning.c (newton) measures it.) */

#define MEMORY    0.9 /* part of the stiffness kept from step to step */
#define DIVERGING 2.0 /* growth of a correction, as in CVODES */

/* Tells the system y' = (rl1 zn_1 + ycor) / gamma, which f equals if ycor is right. Steps that must be repeated
 * to the last bit, and sensitivities, need an f that does not depend on this. */
static int expect(CPWrapped *nls, N_Vector ycor) {
  const CPMultistep mem  = nls->owner;
  const CPSystem *system = &mem->base.system;
  N_Vector ypred, y, f, zn1;
  sunrealtype t, gamma, rl1;
  void *data;
  if (!system->expect || !cpCarriesOver(mem) || mem->base.sens) return CP_SUCCESS;
  const int flag =
      CVodeGetNonlinearSystemData(nls->ctest_data, &t, &ypred, &y, &f, &gamma, &rl1, &zn1, &data);
  if (flag) return flag;
  N_VLinearSum(rl1 / gamma, zn1, 1.0 / gamma, ycor, nls->tmp);
  system->expect(nls->tmp, nls->newton.ewt, gamma, nls->newton.tol, system->data);
  return CP_SUCCESS;
}

/* The inner solver receives nls instead of CVODES' memory, and passes it to these functions. */
static int residual(N_Vector ycor, N_Vector F, void *mem) {
  CPWrapped *nls = mem;
  int flag       = expect(nls, ycor);
  if (!flag) flag = nls->sysfn(ycor, F, nls->ctest_data);
  for (int k = 1; k <= nls->nquad; k++) N_VGetArrayPointer(F)[N_VGetLength(F) - k] = 0.0;
  if (!flag) nls->newton.residual = cpWrmsNorm(F, nls->newton.ewt);
  return flag;
}
static int setUp(sunbooleantype jbad, sunbooleantype *jcur, void *mem) {
  CPWrapped *nls   = mem;
  CPNewton *newton = &nls->newton;
  const int flag   = nls->lsetup(jbad, jcur, nls->ctest_data);
  if (flag || !*jcur) return flag;
  newton->t_jac = newton->t; /* the derivatives are new */
  newton->ratio = -1.0;
  if (!cpCarriesOver(nls->owner)) newton->stiffness = 0.0;
  return CP_SUCCESS;
}
static int solveLinear(N_Vector delta, void *mem) {
  const CPWrapped *nls = mem;
  return nls->lsolve(delta, nls->ctest_data);
}

/* Returns the error after iteration m, whose correction has the norm d. */
static sunrealtype errorLeft(CPNewton *newton, int m, sunrealtype d) {
  const sunrealtype age = fabs(newton->t - newton->t_jac);
  sunrealtype ratio     = newton->ratio; /* negative if unknown */
  if (m == 0) {
    newton->stiffness = fmax(newton->residual / d, MEMORY * newton->stiffness);
    if (ratio >= 0.0 && age > newton->ratio_age) {
      const sunrealtype older = newton->ratio_age > 0.0 ? age / newton->ratio_age : 0.0;
      ratio                   = older > 0.0 ? ratio * older * older : -1.0;
    }
  } else {
    ratio             = d / newton->residual_before; /* |d_m| / |F_(m-1)| */
    newton->ratio     = ratio;
    newton->ratio_age = age;
  }
  const sunrealtype error = ratio < 0.0 ? d : ratio * newton->residual;
  return age > 0.0 ? error * fmax(newton->stiffness, 1.0) : error;
}

static int converged(SUNNonlinearSolver inner, N_Vector ycor, N_Vector delta, sunrealtype tol,
                     N_Vector ewt, void *data) {
  CPNewton *newton = &((CPWrapped *)data)->newton;
  int m            = 0;
  (void)ycor;
  SUNNonlinSolGetCurIter(inner, &m); /* SUNDIALS' solver does not fail there */
  const sunrealtype d = cpWrmsNorm(delta, ewt);
  if (d == 0.0 || errorLeft(newton, m, d) <= tol) return CP_SUCCESS;
  if (!progresses(newton, m, d) || (m > 0 && d > DIVERGING * newton->d_before))
    return SUN_NLS_CONV_RECVR;
  newton->residual_before = newton->residual;
  newton->d_before        = d;
  return SUN_NLS_CONTINUE;
}

/* SUNDIALS' Newton solver accepts all functions that are not NULL. */
static void setFunctions(SUNNonlinearSolver inner, SUNNonlinSolSysFn sys,
                         SUNNonlinSolLSetupFn lsetup, SUNNonlinSolLSolveFn lsolve,
                         SUNNonlinSolConvTestFn ctest, void *data) {
  SUNNonlinSolSetSysFn(inner, sys);
  SUNNonlinSolSetLSetupFn(inner, lsetup);
  SUNNonlinSolSetLSolveFn(inner, lsolve);
  SUNNonlinSolSetConvTestFn(inner, ctest, data);
}

int cpNewtonIterate(CPWrapped *nls, sunrealtype t, N_Vector y0, N_Vector ycor, N_Vector ewt,
                    sunrealtype tol, sunbooleantype callLSetup, void *cvode_mem) {
  const SUNNonlinearSolver inner = nls->inner;
  /* SUNDIALS' Newton solver only passes the memory on. It keeps a convergence test that the user
   * has set. */
  if (inner->ops->solve != SUNNonlinSolSolve_Newton || !nls->lsetup || !nls->lsolve ||
      ((SUNNonlinearSolverContent_Newton)inner->content)->CTest != nls->ctest)
    return cpInnerSolve(nls, y0, ycor, ewt, tol, callLSetup, cvode_mem);
  const CPSystem *system = &((CPMultistep)nls->owner)->base.system;
  nls->newton.t          = t;
  nls->newton.ewt        = ewt;
  nls->newton.tol        = tol;
  nls->nquad             = system->leave_out ? system->leave_out(1, system->data) : 0;
  setFunctions(inner, residual, setUp, solveLinear, converged, nls);
  const int flag = cpInnerSolve(nls, y0, ycor, ewt, tol, callLSetup, nls);
  if (system->leave_out) system->leave_out(0, system->data);
  nls->nquad = 0;
  /* The user may take the inner solver back, so it gets CVODES' functions again. */
  setFunctions(inner, nls->sysfn, nls->lsetup, nls->lsolve, nls->ctest, nls->ctest_data);
  if (flag) return flag;
  /* CVODES' test stores the norm of the accepted correction. */
  return nls->ctest(nls->wrapper, ycor, ycor, CP_CANNOT_MISS, ewt, nls->ctest_data)
             ? SUN_NLS_CONV_RECVR
             : CP_SUCCESS;
}
