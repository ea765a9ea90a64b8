/* Functionals and their gradients by adjoint sensitivities, with one backward problem of CVODES for
 * each functional:
 *
 *   l' = -J^T l - dh/dy,   l(t1) = dg/dy,   q' = -(l^T df/dp + dh/dp),   q(t1) = 0
 *   dG/dp = dg/dp + q(t0) + l(t0)^T dy0/dp
 *
 * at forward states that are projected onto the manifold. */
#include "functional_impl.h"

#include "cpodes/base/differences.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#define DEFAULT_STEPS 150
/* CVODES' interpolating polynomials have one point more than their order, which is at most 12. */
#define LEAST_STEPS       13
#define DEFAULT_TOLERANCE SUN_RCONST(1.0e-8)

typedef struct {
  CPFunctionalRun run; /* the forward run */
  CPGradientOptions o;
  N_Vector Jl, f, q; /* [n] J^T l and f; [Np] for quadratures */
  sunrealtype *lfp;  /* [Np] l^T df/dp */
  N_Vector unit;     /* [ng] a unit vector */
} Adjoint;

/* The backward problem of functional k. */
typedef struct {
  Adjoint *a;
  int k, which; /* which: CVODES' index of the problem */
  N_Vector l, q;
  sunrealtype good,
      stuck; /* latest time when its right-hand side was evaluated, and when it has failed since */
  int failures; /* number of failures near there */
} Problem;

/* ---- differences ---- */

/* result_j = d(weights . fn)/dy_j for all j, by sixth-order differences. Overwrites value. */
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

/* result_i = d(weights . fn)/dp_i for all parameters. derivative: workspace of value's length. */
static int parametersOf(const CPParams *params, CVRhsFn fn, void *data, sunrealtype t, N_Vector y,
                        N_Vector weights, N_Vector value, N_Vector derivative, sunrealtype *result) {
  int flag = CP_SUCCESS;
  for (int i = 0; !flag && params && params->p && i < params->Ns; i++) {
    flag      = cpParamDifference(params, i, CP_PARAM_PART, fn, t, y, data, value, derivative);
    result[i] = N_VDotProd(weights, derivative);
  }
  return flag;
}

/* Computes run.gy and run.gp, the derivatives of value k of fn at (t, run.y); they are zero if fn
 * is NULL. */
static int gradient(Adjoint *a, CPFunctionalFn fn, CPFunctionalGradFn grad, sunrealtype t, int k) {
  CPFunctionalRun *w        = &a->run;
  CPFunctionalCalled called = {fn, w->F->user_data};
  N_VConst(0.0, w->gy);
  memset(w->gp, 0, (size_t)w->Np * sizeof *w->gp);
  if (!fn) return CP_SUCCESS;
  if (grad) return grad(t, w->y, k, w->gy, w->gp, w->F->user_data);
  N_VConst(0.0, a->unit);
  N_VGetArrayPointer(a->unit)[k] = 1.0;
  const int flag = gradientOf(cpFunctionalAsRhs, &called, t, w->y, a->unit, w->value, w->gy);
  return flag ? flag
              : parametersOf(w->params, cpFunctionalAsRhs, &called, t, w->y, a->unit, w->value,
                             w->along, w->gp);
}

static int integrandGradient(Adjoint *a, sunrealtype t, int k) {
  return gradient(a, a->run.F->integrand, a->run.F->integrand_grad, t, k);
}

/* ---- right-hand sides ---- */

/* Computes a->Jl = J^T l if states is set, and a->lfp = l^T df/dp if parameters is set, at (t,
 * run.y). */
static int products(Adjoint *a, sunrealtype t, N_Vector l, int states, int parameters) {
  CPFunctionalRun *w        = &a->run;
  const CPMultistep mem     = (CPMultistep)w->mem;
  const CPSensSystem *model = mem->base.system.sens;
  int flag                  = CP_SUCCESS;
  memset(a->lfp, 0, (size_t)w->Np * sizeof *a->lfp);
  N_VConst(0.0, a->Jl);
  if (a->o.adjoint) return a->o.adjoint(t, w->y, l, a->Jl, a->lfp, a->o.user_data);
  if (model && model->transposes(mem->base.system.data))
    return model->products(t, w->y, l, states ? a->Jl : NULL,
                           parameters && w->params ? a->lfp : NULL, mem->base.system.data);
  if (states) flag = gradientOf(mem->base.f, cpUserData(mem), t, w->y, l, a->f, a->Jl);
  if (!flag && parameters)
    flag = parametersOf(w->params, mem->base.f, cpUserData(mem), t, w->y, l, a->f, w->gy, a->lfp);
  return flag;
}

/* If a right-hand side fails recoverably from some time on, CVODES approaches that time as far as
 * roundoff allows, and then takes steps that do not change t, up to its limit. So more than
 * CP_CREEPING failures end the run if they are within the roundoff of good values and
 * of each other. */

static int isStuck(Problem *problem, sunrealtype t) {
  const sunrealtype near = CP_FUZZ * fabs(t);
  if (fabs(t - problem->good) > near) return 0;
  problem->failures = fabs(t - problem->stuck) > near ? 1 : problem->failures + 1;
  problem->stuck    = t;
  return problem->failures > CP_CREEPING;
}

/* l' = -J^T l - dh/dy. SUNDIALS' fixed-point solver takes a fatal failure for a convergence
 * failure, so all calls after it fail as well. */
static int backward(sunrealtype t, N_Vector y, N_Vector l, N_Vector ldot, void *data) {
  Problem *problem      = data;
  Adjoint *a            = problem->a;
  const CPMultistep mem = (CPMultistep)a->run.mem;
  const char *reason    = NULL;
  long int nst          = 0;
  if (mem->failure.fatal) return CP_SELFCHECK_FAIL;
  /* CVODES' limit applies between two checkpoints. This one applies to the whole backward
   * problem. */
  CVodeGetNumSteps(CVodeGetAdjCVodeBmem(mem->cvode_mem, problem->which), &nst);
  if (nst >= cpFunctionalMaxSteps(a->run.F)) {
    cpWrite(mem->base.text,
            "%ld steps have taken the backward problem of functional %d to t = %.15g only "
            "(CPFunctional's mxsteps)",
            cpFunctionalMaxSteps(a->run.F), problem->k, t);
    return cpFatal(mem, CV_TOO_MUCH_WORK);
  }
  int flag = cpForwardState(mem, t, y, a->run.y, a->run.function);
  if (!flag) flag = products(a, t, l, 1, 0);
  if (!flag) flag = integrandGradient(a, t, problem->k);
  if (!flag) N_VLinearSum(-1.0, a->Jl, -1.0, a->run.gy, ldot);
  if (!flag && !cpVectorFinite(ldot)) flag = 1; /* CVODES' difference Jacobian would not notice */
  if (!flag) problem->good = t;
  if (flag == 0 || mem->failure.fatal || (flag > 0 && !isStuck(problem, t))) return flag;
  const int code = cpStepperCause(&mem->base, &reason);
  if (code) cpWrite(mem->base.text, "%s", reason);
  else
    cpWrite(mem->base.text, "at t = %.10g: the backward problem of functional %d failed%s (%d)", t,
            problem->k, flag < 0 ? "" : " recoverably, again and again", flag);
  return cpFatal(mem, code ? code : flag < 0 ? CV_RHSFUNC_FAIL : CV_REPTD_RHSFUNC_ERR);
}

/* q' = -(l^T df/dp + dh/dp) */
static int quadrature(sunrealtype t, N_Vector y, N_Vector l, N_Vector qdot, void *data) {
  const Problem *problem = data;
  Adjoint *a             = problem->a;
  int flag               = cpForwardState((CPMultistep)a->run.mem, t, y, a->run.y, a->run.function);
  if (!flag) flag = products(a, t, l, 0, 1);
  if (!flag) flag = integrandGradient(a, t, problem->k);
  for (int i = 0; i < a->run.Np; i++) N_VGetArrayPointer(qdot)[i] = -a->lfp[i] - a->run.gp[i];
  return flag;
}

/* ---- backward problems ---- */

static void destroySolver(void *NLS) { SUNNonlinSolFree(NLS); }
static void destroyMatrix(void *J) { SUNMatDestroy(J); }
static void destroyLinearSolver(void *LS) { SUNLinSolFree(LS); }

/* Sets fixed-point iteration, or Newton's with a dense matrix. */
static int setSolvers(const Problem *problem) {
  CPArena *arena        = &problem->a->run.arena;
  const CPMultistep mem = (CPMultistep)problem->a->run.mem;
  if (problem->a->o.lmm == CV_ADAMS) {
    SUNNonlinearSolver fixed =
        cpArenaOwn(arena, SUNNonlinSol_FixedPoint(problem->l, 0, mem->base.ctx), destroySolver);
    return fixed ? CVodeSetNonlinearSolverB(mem->cvode_mem, problem->which, fixed) : CP_MEM_FAIL;
  }
  const sunindextype n = N_VGetLength(problem->l);
  SUNMatrix J          = cpArenaOwn(arena, SUNDenseMatrix(n, n, mem->base.ctx), destroyMatrix);
  SUNLinearSolver LS =
      J ? cpArenaOwn(arena, SUNLinSol_Dense(problem->l, J, mem->base.ctx), destroyLinearSolver)
        : NULL;
  /* The codes of CVODES' linear solver interface differ from CVode's. */
  return LS && !CVodeSetLinearSolverB(mem->cvode_mem, problem->which, LS, J) ? CP_SUCCESS
                                                                             : CP_MEM_FAIL;
}

/* Sets l(t1) = dg/dy, q(t1) = 0, dG = dg/dp, tolerances and solvers. The default absolute tolerance
 * is reltol times the larger one of |l| and |dh/dy| at t1. */
static int begin(Problem *problem, sunrealtype t1, sunrealtype *dG) {
  Adjoint *a         = problem->a;
  CPFunctionalRun *w = &a->run;
  void *cvode_mem    = ((CPMultistep)w->mem)->cvode_mem;
  problem->l         = cpArenaVector(&w->arena, w->y);
  problem->q         = cpArenaVector(&w->arena, a->q);
  if (!problem->l || !problem->q)
    return cpReport(&w->mem->log, CP_MEM_FAIL, w->function, "no memory for a backward problem");
  N_VScale(1.0, w->y1, w->y);
  CPLog *log = &w->mem->log;
  int flag   = cpCallUser(log, gradient(a, w->F->end, w->F->end_grad, t1, problem->k));
  flag       = cpFunctionalResult(w, flag, t1, "gradient of the end term");
  if (flag) return flag;
  for (int i = 0; w->params && i < w->Np; i++) dG[i] = w->gp[i];
  N_VScale(1.0, w->gy, problem->l);
  N_VConst(0.0, problem->q);
  flag = cpCallUser(log, integrandGradient(a, t1, problem->k));
  flag = cpFunctionalResult(w, flag, t1, "gradient of the integrand");
  if (flag) return flag;
  const sunrealtype size   = fmax(N_VMaxNorm(problem->l), N_VMaxNorm(w->gy));
  const sunrealtype reltol = a->o.reltol > 0.0 ? a->o.reltol : DEFAULT_TOLERANCE;
  const sunrealtype abstol = a->o.abstol > 0.0 ? a->o.abstol : reltol * (size > 0.0 ? size : 1.0);
  flag                     = CVodeCreateB(cvode_mem, a->o.lmm, &problem->which);
  const int which          = problem->which;
  if (!flag) flag = CVodeInitB(cvode_mem, which, backward, t1, problem->l);
  if (!flag) flag = CVodeSetUserDataB(cvode_mem, which, problem);
  if (!flag) flag = CVodeSStolerancesB(cvode_mem, which, reltol, abstol);
  if (!flag) flag = CVodeSetMaxNumStepsB(cvode_mem, which, cpFunctionalMaxSteps(w->F));
  if (!flag) flag = setSolvers(problem);
  if (!flag && w->params) flag = CVodeQuadInitB(cvode_mem, which, quadrature, problem->q);
  if (!flag && w->params) flag = CVodeQuadSStolerancesB(cvode_mem, which, reltol, abstol);
  if (!flag && w->params) flag = CVodeSetQuadErrConB(cvode_mem, which, SUNTRUE);
  return flag ? cpReport(&w->mem->log, flag, w->function, "a backward problem could not be set up")
              : CP_SUCCESS;
}

/* Solves all backward problems at once, since they share the forward steps that CVODES repeats.
 * Returns 0 or an error code that has been reported. */
static int solveBackwards(Adjoint *a, sunrealtype t0, sunrealtype t1, N_Vector *y0S,
                          sunrealtype *dG, N_Vector *gradients) {
  CPFunctionalRun *w = &a->run;
  const int ng       = w->F->ng;
  Problem *problems  = cpArenaAlloc(&w->arena, (size_t)ng, sizeof *problems);
  int flag = problems ? CP_SUCCESS : cpReport(&w->mem->log, CP_MEM_FAIL, w->function, "no memory");
  for (int k = 0; !flag && k < ng; k++) {
    problems[k] = (Problem){.a = a, .k = k};
    flag        = begin(&problems[k], t1, dG ? dG + k * w->Np : NULL);
  }
  if (!flag) flag = cpBackward((CPMultistep)w->mem, t0, CV_NORMAL, w->function);
  for (int k = 0; !flag && k < ng; k++) { /* dG += q(t0) + l(t0)^T dy0/dp */
    const Problem *now = &problems[k];
    sunrealtype t      = 0.0;
    flag               = CVodeGetB(((CPMultistep)w->mem)->cvode_mem, now->which, &t, now->l);
    if (!flag && w->params)
      flag = CVodeGetQuadB(((CPMultistep)w->mem)->cvode_mem, now->which, &t, now->q);
    if (flag) return cpOfCVODES((CPMultistep)w->mem, flag, w->function);
    for (int i = 0; w->params && i < w->Np; i++)
      dG[k * w->Np + i] += N_VGetArrayPointer(now->q)[i] + (y0S ? N_VDotProd(now->l, y0S[i]) : 0.0);
    if (!gradients || !gradients[k]) continue;
    N_VScale(1.0, now->l, gradients[k]);
    flag = cpProjectGradient((CPMultistep)w->mem, t, w->mem->y0, gradients[k], w->function);
  }
  return flag;
}

/* ---- the whole computation ---- */

/* In a run backwards in time, or with few steps between checkpoints, CVODES' polynomials read
 * points that do not exist (6.4 to 7.5). */
static int lacksPoints(const CPGradientOptions *o, int backwards) {
  return backwards || o->steps < LEAST_STEPS;
}

/* Checks the arguments before anything is done. */
static int check(const Adjoint *a, int backwards, N_Vector *y0S, const sunrealtype *dG,
                 N_Vector *gradients) {
  const CPMultistep mem      = (CPMultistep)a->run.mem;
  const CPGradientOptions *o = &a->o;
  const char *function       = a->run.function;
  const long int nst         = cpStepsTaken(mem);
  int flag                   = CP_SUCCESS;
  if (a->run.params && !dG) return cpRefuse(&mem->base.log, function, "dG must not be NULL");
  if (!mem->base.f && !o->adjoint)
    return cpReport(&mem->base.log, CP_NOT_SUPPORTED, function,
                    "f is not known (CPIntegratorAttach): options->adjoint must be given");
  if (o->interp != CV_POLYNOMIAL && o->interp != CV_HERMITE)
    return cpRefuse(&mem->base.log, function,
                    "options->interp must be CV_POLYNOMIAL (%d) or CV_HERMITE (%d), is %d",
                    CV_POLYNOMIAL, CV_HERMITE, o->interp);
  if (o->interp == CV_POLYNOMIAL && lacksPoints(o, backwards))
    return cpReport(
        &mem->base.log, CP_NOT_SUPPORTED, function,
        "options->interp must be CV_HERMITE with t1 < t0 or options->steps below %d: CVODES' "
        "polynomials would take points that do not exist",
        LEAST_STEPS);
  if (o->lmm != CV_ADAMS && o->lmm != CV_BDF)
    return cpRefuse(&mem->base.log, function,
                    "options->lmm must be CV_ADAMS (%d) or CV_BDF (%d), is %d", CV_ADAMS, CV_BDF,
                    o->lmm);
  if (nst > 0)
    return cpReport(
        &mem->base.log, CP_TOO_LATE, function,
        "%ld steps have been taken: checkpoints begin at a start, call CPIntegratorReInit first",
        nst);
  for (int i = 0; !flag && y0S && a->run.params && i < a->run.Np; i++)
    flag = cpStepperCheckVector(&mem->base, y0S[i], "y0S[i]", function);
  for (int k = 0; !flag && gradients && k < a->run.F->ng; k++)
    flag = cpStepperCheckVector(&mem->base, gradients[k], "gradient[k]", function);
  return flag;
}

int cpGradientAdjoint(CPFunctionalRun *run, sunrealtype t1, const CPGradientOptions *options,
                      N_Vector *y0S, sunrealtype *dG, N_Vector *gradients) {
  const CPMultistep mem     = (CPMultistep)run->mem;
  const CPSensSystem *model = mem->base.system.sens;
  const sunrealtype t0      = mem->base.t;
  const int backwards = t1 < t0, at_root = t0 == mem->root.t;
  int ncheck = 0, flag;
  Adjoint a  = {.run = *run};
  if (options) a.o = *options;
  if (a.o.steps <= 0) a.o.steps = DEFAULT_STEPS;
  if (!a.o.interp) a.o.interp = lacksPoints(&a.o, backwards) ? CV_HERMITE : CV_POLYNOMIAL;
  if (!a.o.lmm) a.o.lmm = CV_ADAMS;
  flag = check(&a, backwards, y0S, dG, gradients);
  if (!flag) flag = cpSensOff(&mem->base);
  if (flag) return flag;
  CPArena *arena = &a.run.arena;
  CP_VECTORS(arena, mem->base.y0, &a.f, &a.Jl);
  a.q    = cpArenaTake(arena, N_VNew_Serial(a.run.Np, mem->base.ctx));
  a.unit = cpArenaTake(arena, N_VNew_Serial(a.run.F->ng, mem->base.ctx));
  CP_NEW(arena, a.lfp, a.run.Np);
  flag = cpFunctionalOpen(&a.run); /* checks the arena */
  /* The sensitivities that the integrator has have given the system their parameters. */
  const int gives = model && run->params && !mem->base.sens;
  if (!flag && gives && (flag = model->start(mem->base.system.data, run->params)))
    cpReport(&mem->base.log, flag, run->function, "no memory for parameters");
  if (!flag && (flag = cpAdjointRenew(mem, a.o.steps, a.o.interp)))
    cpReport(&mem->base.log, flag, run->function, "no memory for checkpoints");
  /* CVODES repeats the first steps after a restart of its own, with the bound that it has then. */
  if (at_root) cpBoundFirstStep(mem, 1);
  if (!flag) flag = cpFunctionalMarch(&a.run, t1, &ncheck);
  if (!flag) flag = solveBackwards(&a, t0, t1, y0S, dG, gradients);
  if (at_root) cpBoundFirstStep(mem, 0);
  /* The smallest possible checkpoints remain. CVodeB has set the forward run's stop time again, so
   * it is cleared. */
  if (mem->checkpoints.exist) {
    const int lost = cpAdjointRenew(mem, 1, CV_HERMITE);
    cpClearStopTime(mem, t1);
    if (lost && !flag)
      flag = cpReport(&mem->base.log, lost, run->function, "no memory for checkpoints");
  }
  if (gives) model->start(mem->base.system.data, NULL);
  cpArenaFree(&a.run.arena);
  return flag;
}
