/* Functionals and their gradients by adjoint sensitivities: for each functional, from t1 back to t0,
 *
 *   l' = -J^T l - dh/dy,   l(t1) = 0,   q' = -(l^T df/dp + dh/dp),   q(t1) = 0,
 *   l <- l + dg/dy and dG/dp <- dG/dp + dg/dp at the times of end terms,
 *   dG/dp <- dG/dp + q(t0) + l(t0)^T dy0/dp,
 *
 * along the forward run, which a tape keeps as polynomials, at states that are projected onto the manifold. All functionals
 * are one system of equations of a one-step method, with which they share the states and their factors. */
#include "adjoint_impl.h"

#include "cpodes/base/differences.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

#define DEFAULT_TOLERANCE SUN_RCONST(1.0e-8)
/* Steps in memory: as many as DEFAULT_MEMORY bytes hold, and at least LEAST_STEPS */
#define DEFAULT_MEMORY 3.2e7
#define LEAST_STEPS    150.0

/* The default absolute tolerance of functional k is reltol times the larger one of |l| and |dh/dy| at the start; that of
 * q_i is divided by the size of the parameter, as those of sensitivities are. */
static int setTolerances(Adjoint *a, sunrealtype t) {
  CPFunctionalRun *w       = &a->run;
  const sunrealtype reltol = a->reltol = a->o.reltol;
  int flag                             = cpAdjointState(a, t);
  for (int k = 0; k < w->F->ng && !flag; k++) {
    const sunrealtype *l = N_VGetArrayPointer(a->Z) + (size_t)k * (size_t)a->N;
    sunrealtype *tol     = N_VGetArrayPointer(a->abstol) + (size_t)k * (size_t)a->N;
    flag                 = cpCallUser(&w->mem->log, cpAdjointIntegrand(a, t, k));
    if (flag) break;
    sunrealtype size = N_VMaxNorm(w->gy);
    for (size_t j = 0; j < a->tape.n; j++) size = fmax(size, fabs(l[j]));
    const sunrealtype least = a->o.abstol > 0.0 ? a->o.abstol : reltol * (size > 0.0 ? size : 1.0);
    for (size_t j = 0; j < (size_t)a->N; j++)
      tol[j] = j < a->tape.n ? least : least / w->params->pbar[j - a->tape.n];
  }
  return cpFunctionalResult(w, flag, t, "gradient of the integrand");
}

/* Of functional k at node i: sum H g_y [n], sum K g_y [n] */
static sunrealtype *nodeSum(const Adjoint *a, int i, int k) {
  return a->nodes.sum + 2 * a->tape.n * (size_t)(i * a->run.F->ng + k);
}

/* At the time of an end term: dG += dg/dp, and l += dg/dy, or, if there are nodes, theirs take it over. */
static int addEnds(Adjoint *a, sunrealtype t, sunrealtype *dG) {
  CPFunctionalRun *w  = &a->run;
  const size_t n      = a->tape.n;
  const CPStencil all = a->nodes.count ? cpNodesAround(&a->nodes, t) : (CPStencil){.count = 0};
  if (!w->F->end) return CP_SUCCESS;
  for (int k = 0; k < w->F->ng; k++) {
    sunrealtype *l  = N_VGetArrayPointer(a->Z) + (size_t)k * (size_t)a->N,
                *gy = N_VGetArrayPointer(w->gy);
    int flag        = cpAdjointState(a, t);
    if (flag) return cpReport(&w->mem->log, -abs(flag), w->function, "%s", w->mem->text);
    flag = cpCallUser(&w->mem->log, cpAdjointGradient(a, w->F->end, w->F->end_grad, &a->end, t, k));
    flag = cpFunctionalResult(w, flag, t, "gradient of the end term");
    if (flag) return flag;
    for (size_t j = 0; j < n && !all.count; j++) l[j] += gy[j];
    for (int i = 0; i < all.count; i++) {
      sunrealtype *sum = nodeSum(a, all.first + i, k);
      for (size_t j = 0; j < n; j++)
        sum[j] += all.value[i] * gy[j], sum[n + j] += all.rate[i] * gy[j];
    }
    for (int i = 0; w->params && i < w->Np; i++) dG[k * w->Np + i] += w->gp[i];
  }
  return CP_SUCCESS;
}

/* At node i: l += sum H g_y + J^T sum K g_y, dG += (sum K g_y)^T f_p. Tolerances are those of the first part, as the second one has
 * rates, which may be stiff. */
static int addNode(Adjoint *a, int i, sunrealtype *dG) {
  CPFunctionalRun *w  = &a->run;
  const size_t n      = a->tape.n;
  const sunrealtype t = a->nodes.t[i];
  int flag            = CP_SUCCESS;
  for (int k = 0; k < w->F->ng; k++)
    for (size_t j = 0; j < n; j++)
      N_VGetArrayPointer(a->Z)[(size_t)k * (size_t)a->N + j] += nodeSum(a, i, k)[j];
  if (!(a->reltol > 0.0)) flag = setTolerances(a, t);
  if (flag) return flag;
  cpStepperEnter(w->mem);
  flag = cpAdjointState(a, t);
  for (int k = 0; !flag && k < w->F->ng; k++) {
    memcpy(N_VGetArrayPointer(a->l), nodeSum(a, i, k) + n, n * sizeof(sunrealtype));
    flag = cpAdjointProducts(a, t, a->l);
    for (size_t j = 0; j < n && !flag; j++)
      N_VGetArrayPointer(a->Z)[(size_t)k * (size_t)a->N + j] += N_VGetArrayPointer(a->Jl)[j];
    for (int p = 0; w->params && p < w->Np && !flag; p++) dG[k * w->Np + p] += a->lfp[p];
    if (flag) cpAdjointFailed(a, t, k, flag);
  }
  cpStepperLeave(w->mem, flag);
  return flag ? cpReport(&w->mem->log, a->cause ? a->cause : -abs(flag), w->function, "%s",
                         w->mem->text)
              : CP_SUCCESS;
}

/* End terms at times that are closer than the steps are taken together at nodes of the segment that is in memory, which begins at
 * `begins`. *next: in, the last time; out, if there are nodes, the last one before the segment. */
static int takeTogether(Adjoint *a, sunrealtype begins, int *next, sunrealtype *dG) {
  CPFunctionalRun *w    = &a->run;
  const CPFunctional *F = w->F;
  const char *method    = w->mem->ops->method(w->mem, NULL, NULL, NULL);
  int first = *next, flag = CP_SUCCESS;
  while (first >= 0 && (F->times[first] - begins) * a->tape.ordered >= 0.0) first--;
  a->nodes.count = 0;
  if (*next - first <= CP_STENCIL) return CP_SUCCESS;
  const sunrealtype accuracy = a->o.reltol / cpFunctionalTolerance(method, a->o.reltol, 0);
  flag = cpNodesChoose(&a->nodes, &a->tape, F->times + first + 1, *next - first, F->ng, accuracy,
                       w->mem->ewt, w->y);
  a->t = NAN; /* run.y has been used */
  if (flag) return cpReport(&w->mem->log, flag, w->function, "no memory for %d times", F->ntimes);
  for (; a->nodes.count && !flag && *next > first; --*next) flag = addEnds(a, F->times[*next], dG);
  return flag;
}

static int setJacobian(Adjoint *a) {
  const sunindextype n = (sunindextype)a->tape.n, all = (sunindextype)a->N * a->run.F->ng;
  SUNMatrix J = SUNSparseMatrix(all, all, n * all, CSC_MAT, a->run.mem->ctx);
  if (!J) return CP_MEM_FAIL;
  sunindextype *start = SUNSparseMatrix_IndexPointers(J), *row = SUNSparseMatrix_IndexValues(J);
  start[0] = 0;
  for (sunindextype j = 0; j < all; j++) {
    start[j + 1] = start[j];
    for (sunindextype i = 0; j % a->N < n && i < a->N; i++) row[start[j + 1]++] = j - j % a->N + i;
  }
  const int flag = CPIntegratorSetJacFn(a->back, J, cpAdjointJacobian);
  SUNMatDestroy(J);
  return flag;
}

/* The backward run begins at (t, Z) by this method. */
static int create(Adjoint *a, sunrealtype t, const char *method) {
  const CPIntegrator mem = a->run.mem;
  CPIntegratorFree(&a->back);
  a->back  = CPIntegratorCreate(method, mem->ctx);
  a->h     = 0.0;
  int flag = a->back ? CP_SUCCESS : CP_ILL_INPUT;
  if (!flag) flag = CPIntegratorInit(a->back, cpAdjointRhs, t, a->Z);
  if (!flag) flag = CPIntegratorSetUserData(a->back, a);
  const sunrealtype reltol = cpFunctionalTolerance(method, a->o.reltol, 1);
  N_VScale(reltol / a->reltol, a->abstol, a->abstol);
  if (!flag) flag = CPIntegratorSVtolerances(a->back, a->reltol = reltol, a->abstol);
  if (!flag && a->back->ops->iteration(a->back) == CP_IMPLICIT) flag = setJacobian(a);
  return flag ? cpReport(&mem->log, flag, a->run.function,
                         "the backward problem could not be set up: %s",
                         CPObjectGetLastMessage(CP_OBJECT(a->back)))
              : CP_SUCCESS;
}

/* With an implicit forward method, the run is stiff if DOP853 takes more than STIFF steps for each step of RADAU, which takes
 * several iterations with more stages, or one for each of BDF. */
enum { WINDOW = 25, STIFF = 3 };

static int isStiff(Adjoint *a, sunrealtype t) {
  const CPIteration how = a->run.mem->ops->iteration(a->run.mem);
  const long int now    = cpTapeSteps(&a->tape, t);
  if (a->taken < a->window + WINDOW) return 0;
  const long int passed = a->covered - now;
  a->window = a->taken, a->covered = now;
  return !a->o.method && a->back->ops->iteration(a->back) == CP_EXPLICIT &&
         (how == CP_IMPLICIT || how == CP_NEWTON) &&
         passed * (how == CP_IMPLICIT ? STIFF : 1) < WINDOW;
}

/* Integrates back from *t to the time `to`, in the segment of the tape that is in memory. */
static int integrate(Adjoint *a, sunrealtype *t, sunrealtype to) {
  const CPIntegrator mem = a->run.mem;
  const long int most    = cpFunctionalMaxSteps(a->run.F);
  int flag               = CP_SUCCESS;
  a->cause               = 0;
  while (!flag && !cpStepperIsThere(*t, to)) {
    const sunrealtype before = *t;
    if (a->taken++ == most)
      return cpReport(
          &mem->log, CV_TOO_MUCH_WORK, a->run.function,
          "%ld steps have taken the backward problem to t = %.15g only (CPFunctional's mxsteps)",
          most, *t);
    if (isStiff(a, *t)) flag = create(a, *t, "RADAU");
    if (flag) return flag;
    cpStepperEnter(mem);
    flag = CPIntegratorSetStopTime(a->back, to);
    if (!flag) flag = CPIntegratorEvolve(a->back, to, a->Z, t, CV_ONE_STEP);
    cpStepperLeave(mem, flag);
    const int is_short = flag == CV_TSTOP_RETURN;
    if (flag > 0) flag = CP_SUCCESS;
    if (!flag && (!is_short || fabs(*t - before) > fabs(a->h))) a->h = *t - before;
  }
  if (!flag) return CP_SUCCESS;
  if (a->cause) return cpReport(&mem->log, a->cause, a->run.function, "%s", mem->text);
  return cpReport(&mem->log, flag, a->run.function, "the backward problem: %s",
                  CPObjectGetLastMessage(CP_OBJECT(a->back)));
}

/* l has jumped. The step goes on with the size that it had before it was shortened to arrive here. */
static int restart(Adjoint *a, sunrealtype t) {
  int flag = CPIntegratorReInit(a->back, t, a->Z);
  if (!flag) flag = CPIntegratorSetInitStep(a->back, a->h);
  return flag ? cpReport(&a->run.mem->log, flag, a->run.function, "the backward problem: %s",
                         CPObjectGetLastMessage(CP_OBJECT(a->back)))
              : CP_SUCCESS;
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
    flag      = cpTapeLoad(&a->tape, k, cpFunctionalMaxSteps(F));
    a->window = a->taken, a->covered = cpTapeSteps(&a->tape, t);
    if (!flag && F->times) flag = takeTogether(a, begins, &next, dG);
    int node = a->nodes.count - 1;
    for (int done = 0; !done && !flag;) {
      const int at           = node >= 0;
      const sunrealtype time = at ? a->nodes.t[node] : F->times && next >= 0 ? F->times[next] : t1;
      const int ends         = at || (next >= 0 && (time - begins) * a->tape.ordered >= 0.0);
      const sunrealtype to   = ends ? time : begins;
      const int moves        = !cpStepperIsThere(t, to);
      if (!a->back && moves) {
        if (!(a->reltol > 0.0)) flag = setTolerances(a, t);
        if (!flag) flag = create(a, t, a->o.method ? a->o.method : "DOP853");
      } else if (moved && moves) flag = restart(a, t);
      if (moves) moved = 0;
      if (!flag && moves) flag = integrate(a, &t, to);
      if (!flag && ends) {
        t    = time;
        flag = at ? addNode(a, node--, dG) : addEnds(a, t, dG);
        next -= !at, moved = 1;
      }
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
static int check(const Adjoint *a, const sunrealtype *dG, N_Vector *gradients) {
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
  for (int k = 0; !flag && gradients && k < a->run.F->ng; k++)
    flag = cpStepperCheckVector(mem, gradients[k], "gradient[k]", function);
  return flag;
}

static void freeBack(void *back) { CPIntegratorFree((CPIntegrator *)back); }
static void freeTape(void *tape) { cpTapeFree(tape); }
static void freeNodes(void *nodes) { cpNodesFree(nodes); }

int cpGradientAdjoint(CPFunctionalRun *run, sunrealtype t1, const CPGradientOptions *options,
                      N_Vector *y0S, sunrealtype *dG, N_Vector *gradients) {
  const CPIntegrator mem    = run->mem;
  const CPSensSystem *model = mem->system.sens;
  const int ng              = run->F->ng;
  Adjoint a                 = {.run = *run};
  if (options) a.o = *options;
  const sunindextype n = N_VGetLength(mem->y0);
  if (a.o.steps <= 0)
    a.o.steps = (long int)fmax(LEAST_STEPS,
                               DEFAULT_MEMORY / (CP_TAPE_NODES * sizeof(sunrealtype) * (double)n));
  if (!(a.o.reltol > 0.0)) a.o.reltol = DEFAULT_TOLERANCE;
  int flag = check(&a, dG, gradients);
  if (!flag) flag = cpSensOff(mem);
  if (flag) return flag;
  CPArena *arena = &a.run.arena;
  cpArenaOwn(arena, &a.tape, freeTape);
  cpArenaOwn(arena, &a.nodes, freeNodes);
  cpArenaOwn(arena, &a.back, freeBack);
  CP_VECTORS(arena, mem->y0, &a.l, &a.Jl);
  a.N = (int)n + (run->params ? run->Np : 0);
  a.t = a.f.t = a.end.t = a.integrand.t = NAN;
  a.Z      = cpArenaTake(arena, N_VNew_Serial((sunindextype)a.N * ng, mem->ctx));
  a.abstol = cpArenaTake(arena, N_VNew_Serial((sunindextype)a.N * ng, mem->ctx));
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
