/* Functionals and their gradients by adjoint sensitivities: for each functional, from t1 back to t0,
 *
 *   l' = -J^T l - dh/dy,   l(t1) = 0, or the gradient of what follows,  q' = -(l^T df/dp + dh/dp),   q(t1) = 0,
 *   l <- l + dg/dy and dG/dp <- dG/dp + dg/dp at the times of end terms,
 *   dG/dp <- dG/dp + q(t0) + l(t0)^T dy0/dp,
 *
 * along the forward run, which a tape keeps as polynomials. All functionals are one system of equations of a one-step method, with
 * which they share the states and their factors. */
#include "adjoint_impl.h"
#include "cpodes/base/gradient_tolerance.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* Steps in memory: as many as DEFAULT_MEMORY bytes hold, and at least LEAST_STEPS */
#define DEFAULT_MEMORY 3.2e7
#define LEAST_STEPS    150.0

static int backFailed(const Adjoint *a, int flag) {
  return cpReport(&a->run.mem->log, flag, a->run.function, "the backward problem: %s",
                  CPObjectGetLastMessage(CP_OBJECT(a->back)));
}

/* The default absolute tolerance of functional k is reltol times the larger one of the sum of |dg/dy| over the end terms up to now and
 * |dh/dy| at t; that of q_i is divided by the size of the parameter, as those of sensitivities are. */
static int setTolerances(Adjoint *a, sunrealtype t) {
  CPFunctionalRun *w = &a->run;
  const sunrealtype reltol =
      cpGradientTolerance(a->back->ops->method(a->back, NULL, NULL, NULL), a->o.reltol, 1);
  int flag = cpAdjointState(a, t);
  for (int k = 0; k < w->F->ng && !flag; k++) {
    sunrealtype *tol = N_VGetArrayPointer(a->abstol) + (size_t)k * (size_t)a->N;
    flag             = cpCallUser(&w->mem->log, cpAdjointIntegrand(a, t, k));
    if (flag) break;
    const sunrealtype size = fmax(a->size[k], N_VMaxNorm(w->gy));
    const sunrealtype least =
        a->o.abstol > 0.0 ? a->o.abstol * reltol / a->o.reltol : reltol * (size > 0.0 ? size : 1.0);
    for (size_t j = 0; j < (size_t)a->N; j++)
      tol[j] = j < a->tape.n ? least : least / w->params->pbar[j - a->tape.n];
  }
  if (flag) return cpFunctionalResult(w, flag, t, 1, "integrand");
  flag = CPIntegratorSVtolerances(a->back, reltol, a->abstol);
  return flag ? backFailed(a, flag) : CP_SUCCESS;
}

/* Of functional k at node i: sum H g_y [n], sum K g_y [n] */
static sunrealtype *nodeSum(const Adjoint *a, int i, int k) {
  return a->nodes.sum + a->nodes.all * (size_t)i + 2 * a->tape.n * (size_t)k;
}

/* At the time of an end term: dG += dg/dp, and l += dg/dy, or the nodes around take that over. */
static int addEnds(Adjoint *a, sunrealtype t, int at_nodes, sunrealtype *dG) {
  CPFunctionalRun *w  = &a->run;
  const size_t n      = a->tape.n;
  const CPStencil all = at_nodes ? cpNodesAround(&a->nodes, t) : (CPStencil){.count = 0};
  if (!w->F->end) return CP_SUCCESS;
  for (int k = 0; k < w->F->ng; k++) {
    sunrealtype *l  = N_VGetArrayPointer(a->Z) + (size_t)k * (size_t)a->N,
                *gy = N_VGetArrayPointer(w->gy);
    int flag        = cpAdjointState(a, t);
    if (flag) return cpReport(&w->mem->log, -abs(flag), w->function, "%s", w->mem->text);
    flag = cpCallUser(&w->mem->log, cpAdjointGradient(a, w->F->end, w->F->end_grad, &a->end, t, k));
    flag = cpFunctionalResult(w, flag, t, 1, "end term");
    if (flag) return flag;
    a->size[k] += N_VMaxNorm(w->gy);
    for (size_t j = 0; j < n && !at_nodes; j++) l[j] += gy[j];
    for (int i = 0; i < all.count; i++) {
      sunrealtype *sum = nodeSum(a, all.first + i, k);
      for (size_t j = 0; j < n; j++)
        sum[j] += all.value[i] * gy[j], sum[n + j] += all.rate[i] * gy[j];
    }
    for (int i = 0; w->params && i < w->Np; i++) dG[k * w->Np + i] += w->gp[i];
  }
  return CP_SUCCESS;
}

/* At the first node: l += sum H g_y + J^T sum K g_y, dG += (sum K g_y)^T f_p */
static int addNode(Adjoint *a, sunrealtype t, sunrealtype *dG) {
  CPFunctionalRun *w = &a->run;
  const size_t n     = a->tape.n;
  cpStepperEnter(w->mem);
  int flag = cpAdjointState(a, t);
  for (int k = 0; !flag && k < w->F->ng; k++) {
    sunrealtype *l = N_VGetArrayPointer(a->Z) + (size_t)k * (size_t)a->N, *sum = nodeSum(a, 0, k);
    memcpy(N_VGetArrayPointer(a->l), sum + n, n * sizeof *sum);
    flag = cpAdjointProducts(a, t, a->l);
    for (size_t j = 0; j < n && !flag; j++) l[j] += sum[j] + N_VGetArrayPointer(a->Jl)[j];
    for (int p = 0; w->params && p < w->Np && !flag; p++) dG[k * w->Np + p] += a->lfp[p];
    if (flag) cpAdjointFailed(a, t, k, flag);
  }
  cpStepperLeave(w->mem, flag);
  return flag ? cpReport(&w->mem->log, a->cause ? a->cause : -abs(flag), w->function, "%s",
                         w->mem->text)
              : CP_SUCCESS;
}

/* At t, the first node: gives the nodes the end terms before the middle of them or, if they reach the time `begins`, where the segment
 * that is in memory begins, all, as far as the state itself is interpolated there as accurately as the gradient is to be.
 * *next: in, out, the last time that is left */
static int takeTogether(Adjoint *a, sunrealtype t, sunrealtype begins, int *next, sunrealtype *dG) {
  CPNodes *nodes               = &a->nodes;
  const CPFunctionalRun *w     = &a->run;
  const sunrealtype *const all = w->F->times;
  const char *method           = w->mem->ops->method(w->mem, NULL, NULL, NULL);
  const sunrealtype accuracy   = a->o.reltol / cpGradientTolerance(method, a->o.reltol, 0);
  sunrealtype worst            = 0.0;
  int flag                     = CP_SUCCESS;
  cpNodesFill(nodes, &a->tape, t, a->h, begins);
  const int ahead      = nodes->t[nodes->count - 1] == begins ? 1 : CP_STENCIL / 2;
  const sunrealtype to = nodes->t[nodes->count - ahead];
  while (!flag && *next >= 0 && (all[*next] - to) * a->tape.ordered >= 0.0) {
    const sunrealtype off = cpNodesError(nodes, &a->tape, all[*next], w->mem->ewt, a->Jl) / accuracy;
    worst                 = fmax(worst, off);
    if (off <= 1.0) flag = addEnds(a, all[(*next)--], 1, dG), nodes->used = nodes->count;
    else if (!cpNodesRefine(nodes, &a->tape, all[*next])) { /* It remains by itself. */
      nodes->count = nodes->used > 0 ? nodes->used : 1;
      break;
    }
  }
  if (worst > 0.0)
    nodes->part *= fmin(1.0 / nodes->part, fmax(0.5, CP_SAFETY * pow(worst, -0.5 / CP_STENCIL)));
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
  int flag = a->back ? CPIntegratorInit(a->back, cpAdjointRhs, t, a->Z) : CP_ILL_INPUT;
  if (!flag) flag = CPIntegratorSetUserData(a->back, a);
  if (!flag) a->back->system.leave_out = cpAdjointLeave;
  if (!flag && a->back->ops->iteration(a->back) == CP_IMPLICIT) flag = setJacobian(a);
  return flag ? cpReport(&mem->log, flag, a->run.function,
                         "the backward problem could not be set up: %s",
                         CPObjectGetLastMessage(CP_OBJECT(a->back)))
              : setTolerances(a, t);
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

/* Integrates back from *t to the time `to`, in the segment of the tape that is in memory, by at most this number of steps. */
static int integrate(Adjoint *a, sunrealtype *t, sunrealtype to, int steps) {
  const CPIntegrator mem = a->run.mem;
  const long int most    = cpFunctionalMaxSteps(a->run.F);
  int flag               = CP_SUCCESS;
  a->cause               = 0;
  while (!flag && steps-- > 0 && !cpStepperIsThere(*t, to)) {
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
    /* A stop within the roundoff of the integrator's t is reached without a step: a run may begin with steps that short. */
    if (flag == CV_TSTOP_RETURN) *t = to;
    if (flag > 0) flag = CP_SUCCESS;
    if (!flag) a->h = a->back->ops->step(a->back);
  }
  if (!flag) return CP_SUCCESS;
  return a->cause ? cpReport(&mem->log, a->cause, a->run.function, "%s", mem->text)
                  : backFailed(a, flag);
}

/* Goes from *t to the time `to`, by at most this number of steps. After a jump of l the first one has the size that was proposed, or
 * reaches `to` if that is hardly farther. */
static int move(Adjoint *a, sunrealtype *t, sunrealtype to, int steps) {
  int flag = CP_SUCCESS;
  if (cpStepperIsThere(*t, to)) return CP_SUCCESS;
  if (!a->back) flag = create(a, *t, a->o.method ? a->o.method : "DOP853");
  else if (a->has_jumped) {
    const sunrealtype h = CP_SAFETY * fabs(to - *t) <= fabs(a->h) ? to - *t : a->h;
    flag                = CPIntegratorReInit(a->back, *t, a->Z);
    if (!flag) flag = CPIntegratorSetInitStep(a->back, h);
    flag = flag ? backFailed(a, flag) : setTolerances(a, *t);
  }
  if (flag) return flag;
  a->has_jumped = 0;
  return integrate(a, t, to, steps);
}

/* Finds the size of the run's own steps by some that are taken back: those between close times say nothing about it. */
static int findSize(Adjoint *a, sunrealtype t, sunrealtype begins) {
  sunrealtype before = t;
  int flag           = CP_SUCCESS;
  N_VScale(1.0, a->Z, a->kept);
  for (int grows = 1; !flag && grows && !cpStepperIsThere(t, begins); before = t) {
    flag  = move(a, &t, begins, 1);
    grows = fabs(a->h) > 2.0 * fabs(t - before);
  }
  N_VScale(1.0, a->kept, a->Z);
  a->has_jumped = 1;
  return flag;
}

/* The segments from the last one to the first, and in each of them end terms, by themselves or at nodes */
static int solveBackwards(Adjoint *a, sunrealtype t1, sunrealtype *dG) {
  CPFunctionalRun *w          = &a->run;
  const CPFunctional *F       = w->F;
  const sunrealtype *const at = F->times ? F->times : &t1, t0 = w->mem->t0;
  const int dir  = a->tape.ordered;
  CPNodes *nodes = &a->nodes;
  int next = F->times ? F->ntimes - 1 : 0, flag = CP_SUCCESS;
  sunrealtype t = F->integrand || a->o.after ? t1 : at[next];
  for (int j = 0; a->o.after && j < F->ng; j++) { /* l(t1) */
    memcpy(N_VGetArrayPointer(a->Z) + (size_t)j * (size_t)a->N, N_VGetArrayPointer(a->o.after[j]),
           a->tape.n * sizeof(sunrealtype));
    a->size[j] = N_VMaxNorm(a->o.after[j]);
  }
  for (long int k = a->tape.nsegments - 1; k >= 0 && !flag; k--) {
    const sunrealtype begins = a->tape.begins[k];
    if ((cpStepperIsThere(begins, t) || (begins - t) * dir > 0.0) && k > 0) continue;
    flag      = cpTapeLoad(&a->tape, k, cpFunctionalMaxSteps(F));
    a->window = a->taken, a->covered = cpTapeSteps(&a->tape, t);
    for (int done = 0; !done && !flag;) {
      const sunrealtype stop = nodes->count > 0 ? nodes->t[0] : begins;
      const int alone        = next >= 0 && (at[next] - stop) * dir >= 0.0;
      int is_node            = nodes->count > 0 && !alone;
      flag                   = move(a, &t, alone ? at[next] : stop, INT_MAX);
      if (flag) break;
      t = alone ? at[next] : stop;
      if (alone) flag = addEnds(a, t, 0, dG), next--, a->has_jumped = 1;
      const int more = next >= 0 && (at[next] - begins) * dir >= 0.0;
      if (alone && more && nodes->count == 0 && !flag) {
        if (a->h == 0.0) flag = findSize(a, t, begins);
        nodes->part = fmin(1.0, 2.0 * nodes->part);
        is_node     = 2 * fabs(at[next] - t) < CP_STENCIL * nodes->part * fabs(a->h);
      }
      if (is_node && more && !flag) flag = takeTogether(a, t, begins, &next, dG);
      if (is_node && nodes->used > 0 && !flag) flag = addNode(a, t, dG), a->has_jumped = 1;
      if (is_node && !flag) cpNodesDrop(nodes);
      const sunrealtype last = nodes->count > 0 ? nodes->t[nodes->count - 1] : t;
      if (nodes->used == 0 && !(next >= 0 && (at[next] - last) * dir >= 0.0)) nodes->count = 0;
      done = !alone && !is_node;
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
  for (int k = 0; !flag && k < a->run.F->ng; k++) {
    if (gradients && gradients[k])
      flag = cpStepperCheckVector(mem, gradients[k], "gradient[k]", function);
    if (!flag && a->o.after) flag = cpStepperCheckVector(mem, a->o.after[k], "after[k]", function);
  }
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
  const sunindextype n = N_VGetLength(mem->y0);
  if (a.o.steps <= 0)
    a.o.steps = (long int)fmax(LEAST_STEPS,
                               DEFAULT_MEMORY / (CP_TAPE_NODES * sizeof(sunrealtype) * (double)n));
  if (!(a.o.reltol > 0.0)) a.o.reltol = cp_gradient_tolerance;
  int flag = check(&a, dG, gradients);
  if (!flag) flag = cpSensOff(mem);
  if (flag) return flag;
  CPArena *arena = &a.run.arena;
  cpArenaOwn(arena, &a.tape, freeTape);
  cpArenaOwn(arena, &a.back, freeBack);
  CP_VECTORS(arena, mem->y0, &a.l, &a.Jl);
  a.N = (int)n + (run->params ? run->Np : 0);
  a.t = a.f.t = a.end.t = a.integrand.t = NAN;
  a.Z      = cpArenaTake(arena, N_VNew_Serial((sunindextype)a.N * ng, mem->ctx));
  a.abstol = cpArenaTake(arena, N_VNew_Serial((sunindextype)a.N * ng, mem->ctx));
  a.kept   = cpArenaTake(arena, N_VNew_Serial((sunindextype)a.N * ng, mem->ctx));
  cpNodesCreate(&a.nodes, arena, (size_t)n, (size_t)ng);
  CP_NEW(arena, a.lfp, a.run.Np);
  CP_NEW(arena, a.size, ng);
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
