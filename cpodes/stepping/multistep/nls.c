/* A nonlinear solver around another one: all operations but solve are the inner solver's. */
#include "multistep_impl.h"

#include <float.h>

static CPWrapped *content(SUNNonlinearSolver NLS) { return NLS->content; }

static SUNNonlinearSolver_Type getType(SUNNonlinearSolver NLS) {
  return SUNNonlinSolGetType(content(NLS)->inner);
}
/* SUNDIALS 7 does not look whether a Newton solver has been given its linear solver, and calls it.
 */
static int initialize(SUNNonlinearSolver NLS) {
  CPWrapped *nls   = content(NLS);
  nls->initialized = 1;
  if (nls->inner->ops->setlsolvefn && !nls->lsolve && getType(NLS) == SUNNONLINEARSOLVER_ROOTFIND)
    return CP_ILL_INPUT; /* any error: CVODES returns CV_NLS_INIT_FAIL */
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
static int setLSolveFn(SUNNonlinearSolver NLS, SUNNonlinSolLSolveFn fn) {
  content(NLS)->lsolve = fn;
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
 * a norm is iteration 0 (forgetRate: and more). */
static int getCurIter(SUNNonlinearSolver NLS, int *iter) {
  *iter = content(NLS)->iteration;
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

int cpMatrixFails(const CPWrapped *nls, N_Vector ycor, void *cvode_mem) {
  return nls->lsolve && SUNNonlinSolGetType(nls->inner) == SUNNONLINEARSOLVER_ROOTFIND &&
         cpNewtonMatrixFails(nls->lsolve, cvode_mem, ycor, nls->tmp);
}

/* Has CVODES made a matrix that has not been looked at? */
static int isNewMatrix(CPWrapped *nls, sunbooleantype callLSetup) {
  const long int before = nls->nsetups;
  CVodeGetNumLinSolvSetups(nls->ctest_data, &nls->nsetups);
  return callLSetup || nls->nsetups != before;
}

/* After corrections of equal size CVODES' rate of convergence is max(0.3^m rate, 1). */
enum { EQUAL_CORRECTIONS = 32 };

/* CVODES' test begins each solve with the rate 1, but for fixed-point iteration next to a linear solver, which
 * takes over the rate of the solve before: what CVodeB repeats would not come out the same. */
static void forgetRate(CPWrapped *nls, N_Vector ewt) {
  if (getType(nls->wrapper) != SUNNONLINEARSOLVER_FIXEDPOINT || !nls->lsetup) return;
  N_VInv(ewt, nls->tmp); /* of norm 1, and no tolerance is met: the test would keep no size */
  for (; nls->iteration <= EQUAL_CORRECTIONS; nls->iteration++)
    nls->ctest(nls->wrapper, nls->tmp, nls->tmp, DBL_MIN, ewt, nls->ctest_data);
  nls->iteration = 0;
}

int cpInnerSolve(CPWrapped *nls, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *mem) {
  forgetRate(nls, ewt);
  nls->inner_running = 1;
  const int flag     = SUNNonlinSolSolve(nls->inner, y0, ycor, ewt, tol, callLSetup, mem);
  nls->inner_running = 0;
  nls->matrix_not_finite =
      !flag && isNewMatrix(nls, callLSetup) && cpMatrixFails(nls, ycor, nls->ctest_data);
  return nls->matrix_not_finite ? SUN_NLS_CONV_RECVR : flag;
}
