/* Functionals and their gradients by adjoint sensitivities: one backward problem of CVODES' for each,
 *
 *   l' = -J^T l - dh/dy,   l(t1) = dg/dy,   q' = -(l^T df/dp + dh/dp),   q(t1) = 0
 *   dG/dp = dg/dp + q(t0) + l(t0)^T dy0/dp
 *
 * at forward states put back on the manifold. */
#include "functional_impl.h"

#include "cpodes/base/differences.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#define FUNCTION "CPodeFunctionalAdjoint"

#define DEFAULT_STEPS 150
/* CVODES' polynomials have one point more than the order, which is 12 at most. */
#define LEAST_STEPS       13
#define DEFAULT_TOLERANCE SUN_RCONST(1.0e-8)
/* Most steps of a backward problem */
#define MOST_STEPS 1000000

typedef struct {
  CPodeMem mem;
  const CPFunctional *F;
  const CPParams *params; /* NULL: none */
  CPAdjointOptions o;
  int Np;                             /* parameters, at least one for CVODES' vectors */
  sunrealtype *G, *values, *lfp, *gp; /* [ng], [ng], [Np], [Np] */
  N_Vector y, y1, f, Jl, gy, q;       /* [n], ..., [Np]; y1: the state at t1 */
  N_Vector value, unit, along;        /* [ng]: values, a unit vector, derivatives */
} Adjoint;

/* The backward problem of functional k, and what CVODES has been given for it */
typedef struct {
  Adjoint *a;
  int k, which;
  N_Vector l, q;
  SUNNonlinearSolver fixed_point;
  SUNMatrix J;
  SUNLinearSolver LS;
} Problem;

/* ---- differences ---- */

/* result_j = d(weights . fn)/dy_j by sixth-order differences, for all j. fn leaves a vector in value. */
static int gradientOf(CVRhsFn fn, void *data, sunrealtype t, N_Vector y, N_Vector weights,
                      N_Vector value, N_Vector result) {
  sunrealtype *yd = N_VGetArrayPointer(y), *rd = N_VGetArrayPointer(result);
  const sunrealtype least = cpSensLeastSize(y);
  int flag                = CP_SUCCESS;
  for (sunindextype j = 0; !flag && j < N_VGetLength(y); j++) {
    const sunrealtype kept = yd[j], e = CP_PARAM_PART * fmax(fabs(kept), least);
    rd[j] = 0.0;
    for (int p = -3; !flag && p <= 3; p++) {
      if (p == 0) continue;
      yd[j] = kept + p * e;
      flag  = fn(t, y, value, data);
      if (!flag)
        rd[j] += (p > 0 ? 1 : -1) * cpSixthOrder[abs(p) - 1] / e * N_VDotProd(weights, value);
    }
    yd[j] = kept;
  }
  return flag;
}

typedef struct {
  CVRhsFn fn;
  void *data;
  sunrealtype t;
  N_Vector y;
} Held;

static int heldState(void *data, N_Vector value) {
  const Held *held = data;
  return held->fn(held->t, held->y, value, held->data);
}

/* result_i = d(weights . fn)/dp_i; derivative: work of value's length */
static int parametersOf(const CPParams *params, CVRhsFn fn, void *data, sunrealtype t, N_Vector y,
                        N_Vector weights, N_Vector value, N_Vector derivative, sunrealtype *result) {
  Held held = {fn, data, t, y};
  int flag  = CP_SUCCESS;
  for (int i = 0; !flag && params && params->p && i < params->Ns; i++) {
    flag      = cpParamDifference(params, i, heldState, &held, value, derivative);
    result[i] = N_VDotProd(weights, derivative);
  }
  return flag;
}

/* ---- the functional ---- */

/* For value k alone weights are a unit vector. */
static int gradientByDifferences(Adjoint *a, CPFunctionalCalled *called, sunrealtype t, N_Vector y,
                                 int k) {
  N_VConst(0.0, a->unit);
  N_VGetArrayPointer(a->unit)[k] = 1.0;
  const int flag = gradientOf(cpFunctionalAsRhs, called, t, y, a->unit, a->value, a->gy);
  return flag ? flag
              : parametersOf(a->params, cpFunctionalAsRhs, called, t, y, a->unit, a->value,
                             a->along, a->gp);
}

/* a->gy, a->gp: derivatives of value k */
static int gradient(Adjoint *a, CPFunctionalFn fn, CPFunctionalGradFn grad, sunrealtype t,
                    N_Vector y, int k) {
  CPFunctionalCalled called = {fn, a->F->user_data};
  N_VConst(0.0, a->gy);
  memset(a->gp, 0, (size_t)a->Np * sizeof *a->gp);
  if (!fn) return CP_SUCCESS;
  return grad ? grad(t, y, k, a->gy, a->gp, a->F->user_data)
              : gradientByDifferences(a, &called, t, y, k);
}

static int integrandGradient(Adjoint *a, sunrealtype t, int k) {
  return gradient(a, a->F->integrand, a->F->integrand_grad, t, a->y, k);
}

/* ---- right-hand sides ---- */

/* a->Jl = J^T l and, if wanted, a->lfp = l^T df/dp */
static int products(Adjoint *a, sunrealtype t, N_Vector l, int states, int parameters) {
  CPodeMem mem = a->mem;
  CPAttempt at;
  int flag = CP_SUCCESS;
  memset(a->lfp, 0, (size_t)a->Np * sizeof *a->lfp);
  N_VConst(0.0, a->Jl);
  if (a->o.adjoint) return a->o.adjoint(t, a->y, l, a->Jl, a->lfp, a->o.user_data);
  if (mem->base.system.sens) {
    if (states) flag = mem->base.system.sens->adjoint(t, a->y, l, a->Jl, mem->base.system.data);
    N_VScale(-1.0, a->Jl, a->Jl);
    if (flag || !parameters || !a->params) return flag;
    flag = mem->base.system.sens->quadrature(t, a->y, l, a->q, mem->base.system.data);
    for (int i = 0; i < a->params->Ns; i++) a->lfp[i] = -N_VGetArrayPointer(a->q)[i];
    return flag;
  }
  flag = cpAttemptRead(mem, &at);
  if (!flag && states) flag = gradientOf(mem->base.f, at.user_data, t, a->y, l, a->f, a->Jl);
  if (!flag && parameters)
    flag = parametersOf(a->params, mem->base.f, at.user_data, t, a->y, l, a->f, a->gy, a->lfp);
  return flag;
}

static int backward(sunrealtype t, N_Vector y, N_Vector l, N_Vector ldot, void *data) {
  const Problem *problem = data;
  Adjoint *a             = problem->a;
  int flag               = CPodeForwardState(a->mem, t, y, a->y);
  if (!flag) flag = products(a, t, l, 1, 0);
  if (!flag) flag = integrandGradient(a, t, problem->k);
  if (!flag) N_VLinearSum(-1.0, a->Jl, -1.0, a->gy, ldot);
  if (!flag && !cpVectorFinite(ldot)) flag = 1; /* CVODES' difference Jacobian would not notice */
  return flag;
}

static int quadrature(sunrealtype t, N_Vector y, N_Vector l, N_Vector qdot, void *data) {
  const Problem *problem = data;
  Adjoint *a             = problem->a;
  int flag               = CPodeForwardState(a->mem, t, y, a->y);
  if (!flag) flag = products(a, t, l, 0, 1);
  if (!flag) flag = integrandGradient(a, t, problem->k);
  for (int i = 0; i < a->Np; i++) N_VGetArrayPointer(qdot)[i] = -a->lfp[i] - a->gp[i];
  return flag;
}

/* ---- backward problems ---- */

static int setSolvers(Problem *problem) {
  const CPodeMem mem = problem->a->mem;
  if (problem->a->o.lmm == CV_ADAMS) {
    problem->fixed_point = SUNNonlinSol_FixedPoint(problem->l, 0, mem->base.ctx);
    return problem->fixed_point
               ? CVodeSetNonlinearSolverB(mem->cvode_mem, problem->which, problem->fixed_point)
               : CP_MEM_FAIL;
  }
  const sunindextype n = N_VGetLength(problem->l);
  problem->J           = SUNDenseMatrix(n, n, mem->base.ctx);
  if (problem->J) problem->LS = SUNLinSol_Dense(problem->l, problem->J, mem->base.ctx);
  return problem->LS ? CVodeSetLinearSolverB(mem->cvode_mem, problem->which, problem->LS, problem->J)
                     : CP_MEM_FAIL;
}

/* Absolute tolerance: reltol of the size of l at t1, or of what drives it there. */
static int tolerance(Adjoint *a, const Problem *problem, sunrealtype t1, sunrealtype reltol,
                     sunrealtype *abstol) {
  *abstol = a->o.abstol;
  if (*abstol > 0.0) return CP_SUCCESS;
  sunrealtype size = N_VMaxNorm(problem->l);
  N_VScale(1.0, a->y1, a->y);
  const int flag = integrandGradient(a, t1, problem->k);
  if (!flag) size = fmax(size, N_VMaxNorm(a->gy));
  *abstol = reltol * (size > 0.0 ? size : 1.0);
  return cpFunctionalResult(a->mem, flag, t1, "gradient of the integrand", FUNCTION);
}

/* l(t1), q(t1), tolerances and solvers */
static int begin(Adjoint *a, Problem *problem, sunrealtype t1, sunrealtype *dG) {
  void *cvode_mem          = a->mem->cvode_mem;
  const sunrealtype reltol = a->o.reltol > 0.0 ? a->o.reltol : DEFAULT_TOLERANCE;
  problem->l               = N_VClone(a->y);
  problem->q               = N_VClone(a->q);
  if (!problem->l || !problem->q)
    return cpReport(&a->mem->base.log, CP_MEM_FAIL, FUNCTION, "no memory for a backward problem");
  int flag = gradient(a, a->F->end, a->F->end_grad, t1, a->y1, problem->k);
  flag     = cpFunctionalResult(a->mem, flag, t1, "gradient of the end term", FUNCTION);
  if (flag) return flag;
  for (int i = 0; a->params && i < a->Np; i++) dG[i] = a->gp[i];
  N_VScale(1.0, a->gy, problem->l);
  N_VConst(0.0, problem->q);
  sunrealtype abstol = 0.0;
  flag               = tolerance(a, problem, t1, reltol, &abstol);
  if (flag) return flag;
  flag            = CVodeCreateB(cvode_mem, a->o.lmm, &problem->which);
  const int which = problem->which;
  if (!flag) flag = CVodeInitB(cvode_mem, which, backward, t1, problem->l);
  if (!flag) flag = CVodeSetUserDataB(cvode_mem, which, problem);
  if (!flag) flag = CVodeSStolerancesB(cvode_mem, which, reltol, abstol);
  if (!flag) flag = CVodeSetMaxNumStepsB(cvode_mem, which, MOST_STEPS);
  if (!flag) flag = setSolvers(problem);
  if (!flag && a->params) flag = CVodeQuadInitB(cvode_mem, which, quadrature, problem->q);
  if (!flag && a->params) flag = CVodeQuadSStolerancesB(cvode_mem, which, reltol, abstol);
  if (!flag && a->params) flag = CVodeSetQuadErrConB(cvode_mem, which, SUNTRUE);
  return flag ? cpReport(&a->mem->base.log, flag, FUNCTION, "a backward problem could not be set up")
              : CP_SUCCESS;
}

/* dG [Np] += q(t0) + l(t0)^T dy0/dp */
static int finish(Adjoint *a, Problem *problem, N_Vector *y0S, sunrealtype *dG, N_Vector P_l) {
  void *cvode_mem = a->mem->cvode_mem;
  sunrealtype t   = 0.0;
  int flag        = CVodeGetB(cvode_mem, problem->which, &t, problem->l);
  if (!flag && a->params) flag = CVodeGetQuadB(cvode_mem, problem->which, &t, problem->q);
  for (int i = 0; !flag && a->params && i < a->Np; i++)
    dG[i] += N_VGetArrayPointer(problem->q)[i] + (y0S ? N_VDotProd(problem->l, y0S[i]) : 0.0);
  if (flag || !P_l) return cpOfCVODES(a->mem, flag, FUNCTION);
  N_VScale(1.0, problem->l, P_l);
  return CPodeProjectGradient(a->mem, t, a->mem->base.y0, P_l);
}

static void freeProblem(Problem *problem) {
  if (problem->fixed_point) SUNNonlinSolFree(problem->fixed_point);
  if (problem->LS) SUNLinSolFree(problem->LS);
  if (problem->J) SUNMatDestroy(problem->J);
  if (problem->l) N_VDestroy(problem->l);
  if (problem->q) N_VDestroy(problem->q);
}

/* Checkpoints and backward problems: the least that there can be stays. flag: of what was done with them, which
 * is returned, or a code, reported. */
static int discard(CPodeMem mem, sunrealtype t1, int flag) {
  const int lost = cpAdjointRenew(mem, 1, CV_HERMITE);
  cpClearStopTime(mem, t1); /* CVodeB has set that of the forward run again */
  return lost && !flag ? cpReport(&mem->base.log, CP_MEM_FAIL, FUNCTION, "no memory for checkpoints")
                       : flag;
}

/* All at once: they share the forward steps that CVODES repeats. 0, or a code, reported. */
static int solveBackwards(Adjoint *a, sunrealtype t0, sunrealtype t1, N_Vector *y0S,
                          sunrealtype *dG, N_Vector *gradients) {
  const int ng      = a->F->ng;
  Problem *problems = calloc((size_t)ng, sizeof *problems);
  int flag = problems ? CP_SUCCESS : cpReport(&a->mem->base.log, CP_MEM_FAIL, FUNCTION, "no memory");
  for (int k = 0; !flag && k < ng; k++) {
    problems[k].a = a;
    problems[k].k = k;
    flag          = begin(a, &problems[k], t1, dG ? dG + k * a->Np : NULL);
  }
  if (!flag) flag = cpBackward(a->mem, t0, CV_NORMAL, FUNCTION);
  for (int k = 0; !flag && k < ng; k++)
    flag = finish(a, &problems[k], y0S, dG ? dG + k * a->Np : NULL, gradients ? gradients[k] : NULL);
  flag = discard(a->mem, t1, flag);
  for (int k = 0; problems && k < ng; k++) freeProblem(&problems[k]);
  free(problems);
  return flag;
}

/* ---- all of it ---- */

static int atNode(void *data, sunrealtype t, sunrealtype weight) {
  Adjoint *a = data;
  int flag   = CPodeGetDky(a->mem, t, 0, a->y);
  if (flag) return flag;
  flag = cpFunctionalAdd(a->F, a->F->integrand, t, a->y, weight, a->values, a->G);
  return cpFunctionalResult(a->mem, flag, t, "integrand", FUNCTION);
}

static int allocate(Adjoint *a) {
  N_Vector *states[] = {&a->y, &a->y1, &a->f, &a->Jl, &a->gy};
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
    if (!(*states[i] = N_VClone(a->mem->base.y0))) return CP_MEM_FAIL;
  a->q               = N_VNew_Serial(a->Np, a->mem->base.ctx);
  N_Vector *values[] = {&a->value, &a->unit, &a->along};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
    if (!(*values[i] = N_VNew_Serial(a->F->ng, a->mem->base.ctx))) return CP_MEM_FAIL;
  a->values = calloc((size_t)(a->F->ng + 2 * a->Np), sizeof *a->values);
  if (!a->q || !a->values) return CP_MEM_FAIL;
  a->lfp = a->values + a->F->ng;
  a->gp  = a->lfp + a->Np;
  return CP_SUCCESS;
}

static void release(Adjoint *a) {
  N_Vector v[] = {a->y, a->y1, a->f, a->Jl, a->gy, a->q, a->value, a->unit, a->along};
  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
    if (v[i]) N_VDestroy(v[i]);
  free(a->values);
}

static const CPParams *paramsOf(CPodeMem mem) {
  if (mem->sens.data) return &cpSensOf(mem)->params;
  return mem->base.system.sens ? mem->base.system.sens->params(mem->base.system.data) : NULL;
}

/* CVODES' polynomials of a run backwards, or of few steps, read points that do not exist (6.4 to 7.5). */
static int lacksPoints(const CPAdjointOptions *o, int backwards) {
  return backwards || o->steps < LEAST_STEPS;
}

static void setDefaults(CPAdjointOptions *o, int backwards) {
  if (o->steps <= 0) o->steps = DEFAULT_STEPS;
  if (!o->interp) o->interp = lacksPoints(o, backwards) ? CV_HERMITE : CV_POLYNOMIAL;
  if (!o->lmm) o->lmm = CV_ADAMS;
}

static int forward(Adjoint *a, sunrealtype t1) {
  int ncheck = 0;
  int flag   = cpAdjointRenew(a->mem, a->o.steps, a->o.interp);
  if (flag) return cpReport(&a->mem->base.log, flag, FUNCTION, "no memory for checkpoints");
  flag = cpMarch(a->mem, t1, a->y1, &ncheck, a->F->integrand ? atNode : NULL, a);
  if (flag || !a->F->end) return flag;
  flag = cpFunctionalAdd(a->F, a->F->end, t1, a->y1, 1.0, a->values, a->G);
  return cpFunctionalResult(a->mem, flag, t1, "end term", FUNCTION);
}

/* Arguments, before anything is done */
static int check(CPodeMem mem, const Adjoint *a, int backwards, const sunrealtype *dG) {
  long int nst = 0;
  if (a->params && !dG)
    return cpReport(&mem->base.log, CP_ILL_INPUT, FUNCTION, "dG must not be NULL");
  if (!mem->base.f && !a->o.adjoint)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, FUNCTION,
                    "f is not known (CPodeAttach): options->adjoint must be given");
  if (a->o.interp != CV_POLYNOMIAL && a->o.interp != CV_HERMITE)
    return cpReport(&mem->base.log, CP_ILL_INPUT, FUNCTION,
                    "options->interp must be CV_POLYNOMIAL (%d) or CV_HERMITE (%d), is %d",
                    CV_POLYNOMIAL, CV_HERMITE, a->o.interp);
  if (a->o.interp == CV_POLYNOMIAL && lacksPoints(&a->o, backwards))
    return cpReport(
        &mem->base.log, CP_NOT_SUPPORTED, FUNCTION,
        "options->interp must be CV_HERMITE with t1 < t0 or options->steps below %d: CVODES' "
        "polynomials would take points that do not exist",
        LEAST_STEPS);
  if (a->o.lmm != CV_ADAMS && a->o.lmm != CV_BDF)
    return cpReport(&mem->base.log, CP_ILL_INPUT, FUNCTION,
                    "options->lmm must be CV_ADAMS (%d) or CV_BDF (%d), is %d", CV_ADAMS, CV_BDF,
                    a->o.lmm);
  if (CVodeGetNumSteps(mem->cvode_mem, &nst) || nst > 0)
    return cpReport(
        &mem->base.log, CP_TOO_LATE, FUNCTION,
        "%ld steps have been taken: checkpoints begin at a start, call CPodeReInit first", nst);
  return CP_SUCCESS;
}

static int checkVectors(CPodeMem mem, N_Vector *v, int count, const char *name) {
  int flag = CP_SUCCESS;
  for (int i = 0; !flag && v && i < count; i++)
    flag = cpStepperCheckVector(&mem->base, v[i], name, FUNCTION);
  return flag;
}

int CPodeFunctionalAdjoint(CPodeMem mem, sunrealtype t1, const CPFunctional *F,
                           const CPAdjointOptions *options, N_Vector *y0S, sunrealtype *G,
                           sunrealtype *dG, N_Vector *gradients) {
  int flag = cpFunctionalCheck(mem, F, G, __func__);
  if (flag) return flag;
  Adjoint a = {.mem = mem, .F = F, .G = G, .params = paramsOf(mem)};
  if (options) a.o = *options;
  const int backwards = t1 < mem->base.t;
  setDefaults(&a.o, backwards);
  a.Np = a.params ? a.params->Ns : 1;
  flag = check(mem, &a, backwards, dG);
  if (!flag) flag = checkVectors(mem, y0S, a.params ? a.Np : 0, "y0S[i]");
  if (!flag) flag = checkVectors(mem, gradients, F->ng, "gradient[k]");
  if (!flag) flag = cpSensOff(mem);
  if (flag) return flag;
  const sunrealtype t0 = mem->base.t;
  memset(G, 0, (size_t)F->ng * sizeof *G);
  if (allocate(&a)) flag = cpReport(&mem->base.log, CP_MEM_FAIL, FUNCTION, "no memory");
  if (!flag) flag = forward(&a, t1);
  if (!flag) flag = solveBackwards(&a, t0, t1, y0S, dG, gradients);
  else if (mem->checkpoints.exist) flag = discard(mem, t1, flag);
  release(&a);
  return flag;
}
