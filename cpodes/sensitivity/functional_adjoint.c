/* Functionals and their gradients by adjoint sensitivities: for each functional, from t1 back to t0,
 *
 *   l' = -J^T l - dh/dy,   l(t1) = 0,   q' = -(l^T df/dp + dh/dp),   q(t1) = 0,
 *   l <- l + dg/dy and dG/dp <- dG/dp + dg/dp at the times of end terms,
 *   dG/dp <- dG/dp + q(t0) + l(t0)^T dy0/dp,
 *
 * along the forward run, which a tape keeps as polynomials, at states that are projected onto the manifold. All functionals
 * are one system of equations of a one-step method, with which they share the states and their factors. */
#include "functional_impl.h"

#include "cpodes/base/differences.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#define DEFAULT_STEPS     150
#define DEFAULT_TOLERANCE SUN_RCONST(1.0e-8)

typedef struct {
  CPFunctionalRun run; /* the forward run */
  CPGradientOptions o;
  CPTape tape;
  CPIntegrator back; /* from t1 to t0 */
  int N;             /* l [n] and q [N - n] of a functional; q is empty without parameters */
  N_Vector Z;        /* [ng N] (l, q) of all functionals */
  N_Vector l, Jl, f; /* [n] l of one functional, J^T l, and f */
  sunrealtype *lfp;  /* [Np] l^T df/dp */
  N_Vector unit;     /* [ng] a unit vector */
  long int taken;    /* steps back */
  int cause; /* code of the latest failure of the right-hand side, with its reason in mem->text; or 0 */
} Adjoint;

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
    flag      = cpParamDifference(params, (CPAlong){.iS = i}, CP_PARAM_PART, fn, t, y, data, value,
                                  derivative);
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

/* Computes a->Jl = J^T l and a->lfp = l^T df/dp at (t, run.y). */
static int products(Adjoint *a, sunrealtype t, N_Vector l) {
  CPFunctionalRun *w        = &a->run;
  const CPIntegrator mem    = w->mem;
  const CPSensSystem *model = mem->system.sens;
  int flag                  = CP_SUCCESS;
  memset(a->lfp, 0, (size_t)w->Np * sizeof *a->lfp);
  N_VConst(0.0, a->Jl);
  if (a->o.adjoint) return a->o.adjoint(t, w->y, l, a->Jl, a->lfp, a->o.user_data);
  if (model && model->transposes(mem->system.data))
    return model->products(t, w->y, l, a->Jl, w->params ? a->lfp : NULL, mem->system.data);
  flag = gradientOf(mem->f, mem->ops->data(mem), t, w->y, l, a->f, a->Jl);
  if (!flag)
    flag = parametersOf(w->params, mem->f, mem->ops->data(mem), t, w->y, l, a->f, w->gy, a->lfp);
  return flag;
}

/* run.y <- the projected state at t. The result must depend on t only. */
static int stateAt(Adjoint *a, sunrealtype t) {
  CPFunctionalRun *w     = &a->run;
  const CPIntegrator mem = w->mem;
  cpTapeState(&a->tape, t, w->y);
  if (!mem->P) return CP_SUCCESS;
  cpStepperEnter(mem);
  int flag = cpStepperWeights(mem, w->y, mem->ewt);
  cpWorkForget(mem->out);
  if (!flag) flag = cpProject(mem->out, t, w->y, mem->ewt, NULL, 0, &(CPProjected){0});
  cpWorkForget(mem->out);
  cpStepperLeave(mem, flag);
  if (flag)
    cpWrite(mem->text, "the state at t = %.10g cannot be projected: %s", t, cpWorkText(mem->out));
  return flag;
}

/* Notes why functional k's equations failed at t. */
static int failed(Adjoint *a, sunrealtype t, int k, int flag) {
  const CPIntegrator mem = a->run.mem;
  const char *reason     = NULL;
  const int code         = cpStepperCause(mem, &reason);
  if (code) cpWrite(mem->text, "%s", reason);
  else
    cpWrite(mem->text, "at t = %.10g: the backward problem of functional %d failed%s (%d)", t, k,
            flag < 0 ? "" : " recoverably, again and again", flag);
  a->cause = code ? code : flag < 0 ? CV_RHSFUNC_FAIL : CV_REPTD_RHSFUNC_ERR;
  return flag;
}

static int backward(sunrealtype t, N_Vector Z, N_Vector Zdot, void *data) {
  Adjoint *a         = data;
  CPFunctionalRun *w = &a->run;
  const size_t n     = a->tape.n;
  int flag           = stateAt(a, t);
  if (flag) return a->cause = flag < 0 ? flag : CP_OUTPUT_PROJ_FAIL, flag;
  for (int k = 0; k < w->F->ng; k++) {
    const sunrealtype *z = N_VGetArrayPointer(Z) + (size_t)k * (size_t)a->N;
    sunrealtype *zdot = N_VGetArrayPointer(Zdot) + (size_t)k * (size_t)a->N, *qdot = zdot + n;
    memcpy(N_VGetArrayPointer(a->l), z, n * sizeof *z);
    flag = products(a, t, a->l);
    if (!flag) flag = integrandGradient(a, t, k);
    if (!flag && !(cpVectorFinite(a->Jl) && cpVectorFinite(w->gy))) flag = 1;
    if (flag) return failed(a, t, k, flag);
    const sunrealtype *Jl = N_VGetArrayPointer(a->Jl), *gy = N_VGetArrayPointer(w->gy);
    for (size_t j = 0; j < n; j++) zdot[j] = -Jl[j] - gy[j];
    for (int i = 0; w->params && i < w->Np; i++) qdot[i] = -a->lfp[i] - w->gp[i];
  }
  return CP_SUCCESS;
}

/* At the time of an end term: l += dg/dy, dG += dg/dp. */
static int addEnds(Adjoint *a, sunrealtype t, sunrealtype *dG) {
  CPFunctionalRun *w = &a->run;
  if (!w->F->end) return CP_SUCCESS;
  for (int k = 0; k < w->F->ng; k++) {
    sunrealtype *l = N_VGetArrayPointer(a->Z) + (size_t)k * (size_t)a->N;
    int flag       = stateAt(a, t);
    if (flag) return cpReport(&w->mem->log, -abs(flag), w->function, "%s", w->mem->text);
    flag = cpCallUser(&w->mem->log, gradient(a, w->F->end, w->F->end_grad, t, k));
    flag = cpFunctionalResult(w, flag, t, "gradient of the end term");
    if (flag) return flag;
    for (size_t j = 0; j < a->tape.n; j++) l[j] += N_VGetArrayPointer(w->gy)[j];
    for (int i = 0; w->params && i < w->Np; i++) dG[k * w->Np + i] += w->gp[i];
  }
  return CP_SUCCESS;
}

/* The default absolute tolerance of functional k is reltol times the larger one of |l| and |dh/dy| at the start; that of
 * q_i is divided by the size of the parameter, as those of sensitivities are. */
static int setTolerances(Adjoint *a, sunrealtype t) {
  CPFunctionalRun *w       = &a->run;
  const sunrealtype reltol = a->o.reltol > 0.0 ? a->o.reltol : DEFAULT_TOLERANCE;
  N_Vector abstol          = N_VClone(a->Z);
  int flag                 = abstol ? stateAt(a, t) : CP_MEM_FAIL;
  for (int k = 0; k < w->F->ng && !flag; k++) {
    const sunrealtype *l = N_VGetArrayPointer(a->Z) + (size_t)k * (size_t)a->N;
    sunrealtype *tol     = N_VGetArrayPointer(abstol) + (size_t)k * (size_t)a->N;
    flag                 = cpCallUser(&w->mem->log, integrandGradient(a, t, k));
    if (flag) break;
    sunrealtype size = N_VMaxNorm(w->gy);
    for (size_t j = 0; j < a->tape.n; j++) size = fmax(size, fabs(l[j]));
    const sunrealtype least = a->o.abstol > 0.0 ? a->o.abstol : reltol * (size > 0.0 ? size : 1.0);
    for (size_t j = 0; j < (size_t)a->N; j++)
      tol[j] = j < a->tape.n ? least : least / w->params->pbar[j - a->tape.n];
  }
  if (flag && flag != CP_MEM_FAIL)
    flag = cpFunctionalResult(w, flag, t, "gradient of the integrand");
  if (!flag) flag = CPIntegratorSVtolerances(a->back, reltol, abstol);
  if (abstol) N_VDestroy(abstol);
  return flag;
}

/* RADAU's Jacobian consists of the blocks -J^T and -df/dp^T of each functional, whose columns are differenced together. */
static int setPattern(Adjoint *a) {
  const sunindextype n = (sunindextype)a->tape.n, N = a->N, all = N * a->run.F->ng;
  SUNMatrix J = SUNSparseMatrix(all, all, n * all, CSC_MAT, a->run.mem->ctx);
  if (!J) return CP_MEM_FAIL;
  sunindextype *start = SUNSparseMatrix_IndexPointers(J), *row = SUNSparseMatrix_IndexValues(J),
               at = 0;
  for (sunindextype j = 0; j < all; j++) {
    start[j] = at;
    for (sunindextype i = 0; j % N < n && i < N; i++) row[at++] = j - j % N + i;
  }
  start[all]     = at;
  const int flag = CPIntegratorSetJacFn(a->back, J, NULL);
  SUNMatDestroy(J);
  return flag;
}

/* The backward run takes the forward one's kind of method. */
static int create(Adjoint *a, sunrealtype t) {
  const CPIntegrator mem   = a->run.mem;
  const CPIteration how    = mem->ops->iteration(mem);
  const int is_stiff       = how == CP_IMPLICIT || how == CP_NEWTON;
  const char *const method = a->o.method ? a->o.method : is_stiff ? "RADAU" : "DOP853";
  a->back                  = CPIntegratorCreate(method, mem->ctx);
  int flag                 = a->back ? CP_SUCCESS : CP_ILL_INPUT;
  if (!flag) flag = CPIntegratorInit(a->back, backward, t, a->Z);
  if (!flag) flag = CPIntegratorSetUserData(a->back, a);
  if (!flag) flag = setTolerances(a, t);
  if (!flag && a->back->ops->iteration(a->back) == CP_IMPLICIT) flag = setPattern(a);
  return flag ? cpReport(&mem->log, flag, a->run.function,
                         "the backward problem could not be set up: %s",
                         CPObjectGetLastMessage(CP_OBJECT(a->back)))
              : CP_SUCCESS;
}

/* Integrates back from *t to the time `to`, in the segment of the tape that is in memory. */
static int integrate(Adjoint *a, sunrealtype *t, sunrealtype to) {
  const CPIntegrator mem = a->run.mem;
  if (cpStepperIsThere(*t, to)) return CP_SUCCESS;
  a->cause = 0;
  cpStepperEnter(mem);
  const long int before = a->back->ops->steps(a->back),
                 left   = cpFunctionalMaxSteps(a->run.F) - a->taken;
  int flag              = CPIntegratorSetStopTime(a->back, to);
  if (!flag) flag = CPIntegratorSetMaxNumSteps(a->back, left > 0 ? left : 1);
  if (!flag) flag = CPIntegratorEvolve(a->back, to, a->Z, t, CV_NORMAL);
  a->taken += a->back->ops->steps(a->back) - before;
  cpStepperLeave(mem, flag);
  if (flag >= 0) return CP_SUCCESS;
  if (flag == CV_TOO_MUCH_WORK)
    return cpReport(
        &mem->log, flag, a->run.function,
        "%ld steps have taken the backward problem to t = %.15g only (CPFunctional's mxsteps)",
        cpFunctionalMaxSteps(a->run.F), *t);
  if (a->cause) return cpReport(&mem->log, a->cause, a->run.function, "%s", mem->text);
  return cpReport(&mem->log, flag, a->run.function, "the backward problem: %s",
                  CPObjectGetLastMessage(CP_OBJECT(a->back)));
}

/* The segments from the last one to the first, and in each of them the times of end terms */
static int solveBackwards(Adjoint *a, sunrealtype t1, sunrealtype *dG) {
  CPFunctionalRun *w    = &a->run;
  const CPFunctional *F = w->F;
  const sunrealtype t0  = w->mem->t0;
  int next = F->times ? F->ntimes - 1 : 0, flag = CP_SUCCESS, moved = 1;
  sunrealtype t = t1;
  for (long int k = a->tape.nsegments - 1; k >= 0 && !flag; k--) {
    const sunrealtype begins = a->tape.begins[k];
    if (cpStepperIsThere(begins, t) && k > 0) continue;
    flag = cpTapeLoad(&a->tape, k, cpFunctionalMaxSteps(F));
    for (int done = 0; !done && !flag;) {
      const sunrealtype time = F->times && next >= 0 ? F->times[next] : t1;
      const int ends         = next >= 0 && (time - begins) * a->tape.ordered >= 0.0;
      const sunrealtype to   = ends ? time : begins;
      if (!a->back && !cpStepperIsThere(t, to)) flag = create(a, t);
      else if (moved && a->back) flag = CPIntegratorReInit(a->back, t, a->Z);
      moved = 0;
      if (!flag) flag = integrate(a, &t, to);
      if (!flag && ends) flag = addEnds(a, t = time, dG), next--, moved = 1;
      done = !ends;
    }
  }
  return flag                       ? flag
         : !cpStepperIsThere(t, t0) ? cpReport(&w->mem->log, CP_SELFCHECK_FAIL, w->function,
                                               "the backward problem has ended at t = %.15g", t)
                                    : CP_SUCCESS;
}

/* dG += q(t0) + l(t0)^T dy0/dp; gradients <- P^T l(t0) */
static int finish(Adjoint *a, N_Vector *y0S, sunrealtype *dG, N_Vector *gradients) {
  CPFunctionalRun *w     = &a->run;
  const CPIntegrator mem = w->mem;
  int flag               = CP_SUCCESS;
  for (int k = 0; !flag && k < w->F->ng; k++) {
    const sunrealtype *z = N_VGetArrayPointer(a->Z) + (size_t)k * (size_t)a->N;
    memcpy(N_VGetArrayPointer(a->l), z, a->tape.n * sizeof *z);
    for (int i = 0; w->params && i < w->Np; i++)
      dG[k * w->Np + i] += z[a->tape.n + (size_t)i] + (y0S ? N_VDotProd(a->l, y0S[i]) : 0.0);
    if (!gradients || !gradients[k]) continue;
    cpTapeState(&a->tape, mem->t0, w->y); /* that of the start */
    flag = cpStepperWeights(mem, w->y, mem->ewt);
    cpWorkForget(mem->out);
    cpStepperEnter(mem);
    if (!flag && mem->P) flag = cpCotangent(mem->out, mem->t0, w->y, mem->ewt, a->l);
    cpStepperLeave(mem, flag);
    cpWorkForget(mem->out);
    if (!flag && !cpVectorFinite(a->l)) flag = CP_PROJ_NONFINITE;
    if (flag)
      return cpReport(&mem->log, -abs(flag), w->function,
                      "the gradient with respect to the start: %s",
                      flag == CP_PROJ_NONFINITE ? "it is not finite" : cpWorkText(mem->out));
    N_VScale(1.0, a->l, gradients[k]);
  }
  return flag;
}

/* ---- the whole computation ---- */

/* Checks the arguments before anything is done. */
static int check(const Adjoint *a, N_Vector *y0S, const sunrealtype *dG, N_Vector *gradients) {
  const CPIntegrator mem = a->run.mem;
  const char *function   = a->run.function;
  const long int nst     = mem->ops->steps(mem);
  int flag               = CP_SUCCESS;
  if (a->run.params && !dG) return cpRefuse(&mem->log, function, "dG must not be NULL");
  if (!mem->f && !a->o.adjoint)
    return cpReport(&mem->log, CP_NOT_SUPPORTED, function,
                    "f is not known (CPIntegratorAttach): options->adjoint must be given");
  if (!cpHasData(mem->y0))
    return cpReport(&mem->log, CP_NOT_SUPPORTED, function,
                    "adjoints need states in one memory (serial, OpenMP, pthreads): take "
                    "CP_GRADIENT_FORWARD");
  if (a->o.method && (!strcmp(a->o.method, "BDF") || !strcmp(a->o.method, "ADAMS")))
    return cpRefuse(&mem->log, function, "options->method must be a one-step method, is %s",
                    a->o.method);
  if (nst > 0)
    return cpReport(&mem->log, CP_TOO_LATE, function,
                    "%ld steps have been taken: adjoints begin at a start, call CPIntegratorReInit "
                    "first",
                    nst);
  for (int i = 0; !flag && y0S && a->run.params && i < a->run.Np; i++)
    flag = cpStepperCheckVector(mem, y0S[i], "y0S[i]", function);
  for (int k = 0; !flag && gradients && k < a->run.F->ng; k++)
    flag = cpStepperCheckVector(mem, gradients[k], "gradient[k]", function);
  return flag;
}

static void freeBack(void *back) { CPIntegratorFree((CPIntegrator *)back); }
static void freeTape(void *tape) { cpTapeFree(tape); }

int cpGradientAdjoint(CPFunctionalRun *run, sunrealtype t1, const CPGradientOptions *options,
                      N_Vector *y0S, sunrealtype *dG, N_Vector *gradients) {
  const CPIntegrator mem    = run->mem;
  const CPSensSystem *model = mem->system.sens;
  const int ng              = run->F->ng;
  Adjoint a                 = {.run = *run};
  if (options) a.o = *options;
  if (a.o.steps <= 0) a.o.steps = DEFAULT_STEPS;
  int flag = check(&a, y0S, dG, gradients);
  if (!flag) flag = cpSensOff(mem);
  if (flag) return flag;
  CPArena *arena = &a.run.arena;
  cpArenaOwn(arena, &a.tape, freeTape);
  cpArenaOwn(arena, &a.back, freeBack);
  CP_VECTORS(arena, mem->y0, &a.f, &a.l, &a.Jl);
  a.N    = (int)N_VGetLength(mem->y0) + (run->params ? run->Np : 0);
  a.Z    = cpArenaTake(arena, N_VNew_Serial((sunindextype)a.N * ng, mem->ctx));
  a.unit = cpArenaTake(arena, N_VNew_Serial(ng, mem->ctx));
  CP_NEW(arena, a.lfp, a.run.Np);
  flag = cpFunctionalOpen(&a.run); /* checks the arena */
  if (!flag) N_VConst(0.0, a.Z);
  if (!flag && dG) memset(dG, 0, (size_t)ng * (size_t)run->Np * sizeof *dG);
  /* The sensitivities that the integrator has have given the system their parameters. */
  const int gives = model && run->params && !mem->sens;
  if (!flag && gives && (flag = model->start(mem->system.data, run->params)))
    cpReport(&mem->log, flag, run->function, "no memory for parameters");
  if (!flag) flag = cpTapeCreate(&a.tape, mem, t1, a.o.steps, run->function);
  if (!flag) flag = cpFunctionalMarch(&a.run, t1, &a.tape);
  if (!flag) flag = solveBackwards(&a, t1, dG);
  if (!flag) flag = finish(&a, y0S, dG, gradients);
  if (gives) model->start(mem->system.data, NULL);
  cpArenaFree(arena);
  return flag;
}
