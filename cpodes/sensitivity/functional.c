/* Functionals, their gradients by forward sensitivities, and the comparison of both ways with
 * finite differences.
 *
 *   dG_k/dp_i = dg_k/dy s_i + dg_k/dp_i + int (dh_k/dy s_i + dh_k/dp_i) dt
 *
 * Integrals are Gauss formulas on the projected interpolant of each step. CVODES' own quadratures
 * are not used, since they receive CVODES' user_data, which is the user's. */
#include "functional_impl.h"

#include "cpodes/base/gradient_tolerance.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>

/* Gauss-Legendre formula with six nodes on [-1, 1], exact to degree 11 (Abramowitz and Stegun,
 * 25.4.30). */
enum { NODES = 6 };
static const sunrealtype node_at[NODES / 2]     = {0.238619186083196909, 0.661209386466264514,
                                                   0.932469514203152028};
static const sunrealtype node_weight[NODES / 2] = {0.467913934572691047, 0.360761573048138608,
                                                   0.171324492379170345};

/* ---- arguments ---- */

/* What a call is about, copied from the structs of callers; parameters and options remain NULL if they were. */
typedef struct {
  CPFunctional F;
  CPParameters parameters;
  CPGradientOptions options;
} Arguments;

/* Copies and checks what calls share. Returns 0 or an error code that has been reported. */
static int take(CPIntegrator mem, const CPFunctional **F, const CPParameters **parameters,
                const CPGradientOptions **options, const sunrealtype *G, Arguments *own,
                const char *function) {
  int flag = cpStepperCheck(mem, function);
  if (flag) return flag;
  CPLog *log = &mem->log;
  flag = cpTake(log, &own->F, *F, function), *F = &own->F;
  if (!flag && *parameters)
    flag = cpTake(log, &own->parameters, *parameters, function), *parameters = &own->parameters;
  if (!flag && *options)
    flag = cpTake(log, &own->options, *options, function), *options = &own->options;
  if (flag) return flag;
  if (!G) return cpRefuse(log, function, "G must not be NULL");
  if (own->F.ng <= 0) return cpRefuse(log, function, "F->ng must be positive: %d", own->F.ng);
  if (!own->F.end && !own->F.integrand && !(*options && (*options)->after))
    return cpRefuse(log, function, "F must have end terms or integrands");
  return CP_SUCCESS;
}

int cpFunctionalResult(const CPFunctionalRun *w, int flag, sunrealtype t, int in_gradient,
                       const char *name) {
  const char *of = in_gradient ? "gradient of the " : "";
  if (!flag) return CP_SUCCESS;
  if (flag == CP_FUNCTIONAL_NONFINITE)
    return cpRefuse(&w->mem->log, w->function,
                    "at t = %.10g: the functional's %s%s returned NaN or Inf", t, of, name);
  return cpRefuse(&w->mem->log, w->function, "at t = %.10g: the functional's %s%s failed (%d)", t,
                  of, name, flag);
}

int cpFunctionalDerivatives(const CPFunctionalRun *w, CPFunctionalGradFn grad, sunrealtype t, int k) {
  int flag = grad(t, w->y, k, w->gy, w->gp, w->F->user_data);
  if (!flag && !cpVectorFinite(w->gy)) flag = CP_FUNCTIONAL_NONFINITE;
  for (int i = 0; i < w->Np && !flag; i++)
    if (!isfinite(w->gp[i])) flag = CP_FUNCTIONAL_NONFINITE;
  return flag;
}

int cpFunctionalAsRhs(sunrealtype t, N_Vector y, N_Vector value, void *data) {
  const CPFunctionalCalled *called = data;
  N_VConst(0.0, value);
  const int flag = called->fn(t, y, N_VGetArrayPointer(value), called->user_data);
  return !flag && !cpVectorFinite(value) ? CP_FUNCTIONAL_NONFINITE : flag;
}

int cpFunctionalOpen(CPFunctionalRun *w) {
  CPArena *arena = &w->arena;
  N_Vector y     = w->mem->y0;
  CP_VECTORS(arena, y, &w->y1, &w->y, &w->gy, &w->moved);
  w->value = cpArenaTake(arena, N_VNew_Serial(w->F->ng, w->mem->ctx));
  w->along = cpArenaTake(arena, N_VNew_Serial(w->F->ng, w->mem->ctx));
  if (w->dG) w->yS = cpSensVectors(arena, w->Np, y);
  CP_NEW(arena, w->gp, w->Np);
  const int flag = cpArenaStatus(arena);
  return flag ? cpReport(&w->mem->log, flag, w->function, "no memory") : CP_SUCCESS;
}

/* ---- the run ---- */

/* G_k += weight fn_k,   dG_ki += weight (d fn_k/dy s_i + d fn_k/dp_i)   at (t, w->y). */
static int add(CPFunctionalRun *w, CPFunctionalFn fn, CPFunctionalGradFn grad, const char *name,
               sunrealtype t, sunrealtype weight) {
  const int ng = w->F->ng, Ns = w->dG ? w->Np : 0;
  CPFunctionalCalled called = {fn, w->F->user_data};
  cpStepperEnter(w->mem);
  int flag = cpFunctionalAsRhs(t, w->y, w->value, &called), in_gradient = !flag;
  for (int k = 0; !flag && k < ng; k++) w->G[k] += weight * N_VGetArrayPointer(w->value)[k];
  for (int k = 0; !flag && Ns && grad && k < ng; k++) {
    N_VConst(0.0, w->gy);
    memset(w->gp, 0, (size_t)Ns * sizeof *w->gp);
    flag = cpFunctionalDerivatives(w, grad, t, k);
    for (int i = 0; !flag && i < Ns; i++)
      w->dG[k * Ns + i] += weight * (N_VDotProd(w->gy, w->yS[i]) + w->gp[i]);
  }
  for (int i = 0; !flag && !grad && i < Ns; i++) {
    flag =
        cpSensDirection(&w->mem->system, w->params, cpFunctionalAsRhs, t, w->y, (CPAlong){.iS = i},
                        w->yS[i], w->along, w->moved, w->value, NULL, &called);
    for (int k = 0; !flag && k < ng; k++)
      w->dG[k * Ns + i] += weight * N_VGetArrayPointer(w->along)[k];
  }
  return cpFunctionalResult(w, cpStepperLeave(w->mem, flag), t, in_gradient, name);
}

long int cpFunctionalMaxSteps(const CPFunctional *F) {
  return F->mxsteps > 0 ? F->mxsteps : 1000000;
}

/* Are all times of end terms between the start and t1, in this order? Returns 0 or an error code that has been reported. */
static int checkTimes(CPIntegrator mem, const CPFunctional *F, sunrealtype t0, sunrealtype t1,
                      const char *function) {
  const sunrealtype dir = t1 > t0 ? 1.0 : -1.0;
  sunrealtype before    = t0;
  if (!F->times) return CP_SUCCESS;
  if (!F->end || F->ntimes <= 0)
    return cpRefuse(&mem->log, function, "F->times needs F->end, and ntimes > 0: %d", F->ntimes);
  for (int j = 0; j < F->ntimes; before = F->times[j++])
    if (!((F->times[j] - before) * dir >= 0.0 && (t1 - F->times[j]) * dir >= 0.0) ||
        (j > 0 && F->times[j] == before))
      return cpRefuse(&mem->log, function,
                      "F->times must lead from t0 = %.15g to t1 = %.15g: times[%d] = %.15g", t0, t1,
                      j, F->times[j]);
  return CP_SUCCESS;
}

/* Adds the end terms at times up to now, where the run is. *next: the first of them */
static int addEnds(CPFunctionalRun *w, sunrealtype now, sunrealtype t1, int *next) {
  const CPIntegrator mem = w->mem;
  const CPFunctional *F  = w->F;
  const int count        = !F->end ? 0 : F->times ? F->ntimes : 1;
  int flag               = CP_SUCCESS;
  for (; !flag && *next < count; ++*next) {
    const sunrealtype t = F->times ? F->times[*next] : t1;
    if ((now - t) * (t1 - mem->t0) < 0.0) break;
    if (t == now) N_VScale(1.0, mem->y, w->y), cpStepperAddTurns(mem, w->y);
    else flag = CPIntegratorGetDky(mem, t, 0, w->y);
    if (!flag && w->dG) flag = CPSensGetDky(mem->sens, t == now ? mem->t : t, 0, w->yS);
    if (!flag) flag = add(w, F->end, F->end_grad, "end term", t, 1.0);
  }
  return flag;
}

int cpFunctionalMarch(CPFunctionalRun *w, sunrealtype t1, CPTape *tape) {
  const CPIntegrator mem = w->mem;
  const CPFunctional *F  = w->F;
  sunrealtype t          = mem->t;
  const int is_there     = cpStepperIsThere(t, t1);
  int next = 0, ends = is_there;
  memset(w->G, 0, (size_t)F->ng * sizeof *w->G);
  if (w->dG) memset(w->dG, 0, (size_t)F->ng * (size_t)w->Np * sizeof *w->dG);
  int flag = checkTimes(mem, F, t, t1, w->function);
  if (!flag) flag = mem->ops->stop(mem, t1, w->function);
  if (flag) return flag;
  flag = addEnds(w, ends ? t1 : t, t1, &next);
  for (long int left = cpFunctionalMaxSteps(F); !flag && !ends; left--) {
    const sunrealtype before = mem->t;
    if (left == 0) {
      flag = cpReport(&mem->log, CV_TOO_MUCH_WORK, w->function,
                      "%ld steps have reached t = %.15g, not t1 = %.15g (CPFunctional's mxsteps)",
                      cpFunctionalMaxSteps(F), before, t1);
      break;
    }
    flag = CPIntegratorEvolve(mem, t1, w->y1, &t, CV_ONE_STEP);
    ends = flag == CV_TSTOP_RETURN;
    if (flag > 0) flag = CP_SUCCESS; /* t1, or a root on the way */
    const sunrealtype middle = (before + mem->t) / 2, half = (mem->t - before) / 2;
    for (int k = 0; !flag && half != 0.0 && F->integrand && k < NODES; k++) {
      const sunrealtype x = k % 2 ? node_at[k / 2] : -node_at[k / 2], tk = middle + half * x;
      flag = CPIntegratorGetDky(mem, tk, 0, w->y);
      if (!flag && w->dG) flag = CPSensGetDky(mem->sens, tk, 0, w->yS);
      if (!flag)
        flag = add(w, F->integrand, F->integrand_grad, "integrand", tk, half * node_weight[k / 2]);
    }
    if (!flag) flag = addEnds(w, ends ? t1 : mem->t, t1, &next);
    if (!flag && tape && half != 0.0) flag = cpTapeRecord(tape, before);
  }
  if (flag || is_there) /* not reached */
    mem->ops->stop(mem, copysign(INFINITY, t1 - mem->t0), w->function);
  return flag;
}

static int forward(CPFunctionalRun *w, sunrealtype t1, sunrealtype *dG) {
  if (!dG) return cpRefuse(&w->mem->log, w->function, "dG must not be NULL");
  if (!w->params)
    return cpReport(&w->mem->log, CP_NO_INIT, w->function, "parameters must not be NULL");
  w->dG    = dG;
  int flag = cpFunctionalOpen(w);
  if (!flag) flag = cpFunctionalMarch(w, t1, NULL);
  cpArenaFree(&w->arena);
  return flag;
}

/* ---- tolerances ---- */

/* Tightens the tolerances of the run from the start, which has to satisfy the present ones, and moves it to the manifold as far
 * as the new ones require. *kept: out, the tolerances before, for relax. Weights by a function of the user's
 * stay. Returns 0 or an error code that has been reported. */
static int tighten(CPIntegrator mem, int forwards, CPTolerances *kept, const char *function) {
  *kept    = mem->tol;
  int flag = mem->tol.kind == CP_TOL_NONE ? CP_SUCCESS : cpStepperWeights(mem, mem->y, mem->ewt);
  if (flag || mem->ops->steps(mem) > 0 || (kept->kind != CP_TOL_SS && kept->kind != CP_TOL_SV))
    return CP_SUCCESS; /* The run reports what is missing. */
  cpStepperEnter(mem);
  flag = cpStepperCheckConsistent(mem, mem->t, mem->y, mem->ewt, 0);
  cpStepperLeave(mem, flag);
  if (flag) return cpReport(&mem->log, flag, function, "%s", mem->text);
  const sunrealtype tol = 1.0 / fmax(1.0, N_VWrmsNorm(mem->y, mem->ewt));
  const sunrealtype part =
      cpGradientTolerance(mem->ops->method(mem, NULL, NULL, NULL), tol, forwards) / tol;
  CPTolerances own = *kept;
  own.reltol *= part, own.abstol *= part;
  if (kept->vabstol && !(own.vabstol = N_VClone(kept->vabstol)))
    return cpReport(&mem->log, CP_MEM_FAIL, function, "no memory for tolerances");
  if (own.vabstol) N_VScale(part, kept->vabstol, own.vabstol);
  mem->tol = own;
  flag     = mem->ops->tolerances(mem, function);
  if (flag || !mem->P) return flag;
  cpStepperEnter(mem);
  flag = cpStepperWeights(mem, mem->y, mem->ewt);
  if (!flag) flag = cpProject(mem->out, mem->t, mem->y, mem->ewt, NULL, 1, &(CPProjected){0});
  cpWorkForget(mem->out);
  cpStepperLeave(mem, flag);
  N_VScale(1.0, mem->y, mem->y0);
  if (flag)
    return cpReport(&mem->log, -abs(flag), function, "the start cannot be projected: %s",
                    cpWorkText(mem->out));
  return mem->ops->reinit(mem, mem->t0, mem->y0, function);
}

static void relax(CPIntegrator mem, CPTolerances kept, const char *function) {
  if (mem->tol.vabstol != kept.vabstol) N_VDestroy(mem->tol.vabstol);
  const int same = mem->tol.reltol == kept.reltol && mem->tol.abstol == kept.abstol;
  mem->tol       = kept;
  if (!same) mem->ops->tolerances(mem, function);
}

/* The starts of sensitivities, which often are differences, have to satisfy the tolerances as given, before they are projected. */
static int checkStart(CPIntegrator mem, CPSens sens, const char *function) {
  int flag = cpStepperWeights(mem, mem->y, mem->ewt);
  if (flag || !mem->P || mem->ops->steps(mem) > 0) return CP_SUCCESS;
  N_Vector rows = NULL;
  flag          = cpSensUpdate(sens);
  if (!flag) flag = cpRowsVector(sens->work, &rows);
  if (!flag && !rows) return CP_SUCCESS; /* norms, or a projection of the user's */
  if (rows) N_VDestroy(rows);
  if (flag) return cpReport(&mem->log, flag, function, "no memory for sensitivities");
  cpSensEnter(sens);
  flag = cpSensVerify(sens);
  cpStepperLeave(mem, flag);
  return flag ? cpReport(&mem->log, flag, function, "%s", mem->text) : CP_SUCCESS;
}

int CPIntegratorGradient(CPIntegrator mem, sunrealtype t1, const CPFunctional *F,
                         const CPParameters *parameters, const CPGradientOptions *options,
                         sunrealtype *G, sunrealtype *dG, N_Vector *gradient) {
  Arguments arguments;
  int flag = take(mem, &F, &parameters, &options, G, &arguments, __func__);
  if (!flag && !(options && options->flight)) flag = cpSensPasses(mem, __func__);
  if (flag) return flag;
  CPLog *log         = &mem->log;
  const CPSens sens  = mem->sens;
  const int forwards = options && options->mode == CP_GRADIENT_FORWARD;
  if (options && options->mode != CP_GRADIENT_ADJOINT && !forwards)
    return cpRefuse(log, __func__, "options->mode must be of CPGradientMode, is %d",
                    (int)options->mode);
  if (!isfinite(t1)) return cpRefuse(log, __func__, "t1 must be finite: %g", t1);
  if (options && !(options->reltol >= 0.0 && options->abstol >= 0.0 && options->steps >= 0))
    return cpRefuse(log, __func__,
                    "options->reltol, abstol and steps must not be negative: %g, %g, %ld",
                    options->reltol, options->abstol, options->steps);
  if (forwards && options->after)
    return cpRefuse(log, __func__, "options->after is for the backward run");
  if (sens && parameters)
    return cpRefuse(log, __func__,
                    "parameters must be NULL: they are those of the integrator's sensitivities "
                    "(CPIntegratorSetSens)");
  CPFunctionalRun w = {.mem = mem, .function = __func__, .F = F, .Np = 1, .G = G};
  CPTolerances kept = mem->tol;
  CPSens own        = NULL;
  for (int i = 0; !flag && parameters && parameters->y0S && i < parameters->n; i++)
    flag = cpStepperCheckVector(mem, parameters->y0S[i], "y0S[i]", __func__);
  if (flag) return flag;
  if (parameters && (flag = cpSensCreate(parameters, mem->y0, &own)))
    return cpReport(log, flag, __func__, "%s", CPObjectGetLastMessage(NULL));
  if (sens || own) w.params = sens ? &sens->params : &own->params, w.Np = w.params->Ns;
  N_Vector *y0S = sens ? sens->start : own ? own->given : NULL;
  /* Whoever wants the gradient with respect to the start, P^T l, knows how that depends on the parameters along the manifold. The start
   * that is projected from y0S, or from 0, has the rest. */
  const int projects = w.params && !forwards && dG && mem->P && mem->f &&
                       (!gradient || w.params->p || mem->system.sens);
  const int starts = own && (forwards || projects);
  if (own) own->errcon = 1;
  if (starts) flag = cpSensSet(mem, own, __func__);
  /* That of a flight is what events have made of the end of the one before, which has the errors of that. */
  const int is_flight = options && options->flight;
  if (!flag && !is_flight && (forwards ? starts : projects && !gradient))
    flag = checkStart(mem, mem->sens, __func__);
  if (!flag && (own || !forwards)) flag = tighten(mem, forwards, &kept, __func__);
  if (!flag && starts) flag = mem->P ? CPSensCalcIC(own, NULL) : CPSensReInit(own, NULL);
  if (starts) y0S = own->start;
  if (!flag)
    flag = forwards ? forward(&w, t1, dG) : cpGradientAdjoint(&w, t1, options, y0S, dG, gradient);
  /* l . s0 + P^T l . (s - s0) = l . s for all starts s. P^T l . s0 is 0, unless the metric has changed since s0 was projected, as that of RADAU's
   * newest matrix does. */
  for (int k = 0; k < F->ng && !flag && projects && gradient && own && !parameters->y0S; k++)
    for (int i = 0; i < w.Np && gradient[k]; i++)
      dG[k * w.Np + i] -= N_VDotProd(gradient[k], own->start[i]);
  relax(mem, kept, __func__);
  CPSensFree(&own);
  return flag;
}

/* ---- forward, adjoint and finite differences side by side ---- */

typedef struct {
  CPFunctionalRun run; /* for the finite differences */
  sunrealtype t0, t1;
  CPStartFn start;
  CPParameters *parameters;
  CPParams *params;
  N_Vector y0, value, values;                      /* [n], [n], [ng] */
  N_Vector *y0S;                                   /* [Ns] */
  sunrealtype *G, *forward, *adjoint, *difference; /* [ng], [ng x Ns] each */
} Check;

static int startAt(sunrealtype t, N_Vector y, N_Vector y0, void *data) {
  const Check *c = data;
  (void)t, (void)y;
  return cpCallUser(&c->run.mem->log, c->start(c->t0, y0, c->run.F->user_data));
}

static int startFailed(const Check *c, int flag) {
  return cpRefuse(&c->run.mem->log, c->run.function, "start failed (%d)", flag);
}

static int restart(Check *c) {
  const int flag = startAt(c->t0, NULL, c->y0, c);
  return flag ? startFailed(c, flag) : CPIntegratorReInit(c->run.mem, c->t0, c->y0);
}

/* The values of a run, for differences by parameters */
static int runAt(sunrealtype t, N_Vector y, N_Vector values, void *data) {
  Check *c       = data;
  const int flag = restart(c);
  (void)t, (void)y;
  c->run.G = N_VGetArrayPointer(values);
  return flag ? flag : cpFunctionalMarch(&c->run, c->t1, NULL);
}

/* Computes the gradients in all three ways. */
static int compute(Check *c, const CPGradientOptions *options, sunrealtype step) {
  const CPIntegrator mem = c->run.mem;
  const int ng = c->run.F->ng, Ns = c->params->Ns;
  int flag = CP_SUCCESS;
  for (int i = 0; !flag && i < Ns; i++) {
    flag = cpParamDifference(c->params, (CPAlong){.iS = i}, step, runAt, c->t0, c->y0, c, c->values,
                             c->run.along);
    for (int k = 0; !flag && k < ng; k++)
      c->difference[k * Ns + i] = N_VGetArrayPointer(c->run.along)[k];
  }
  for (int i = 0; !flag && i < Ns; i++) {
    flag = cpParamDifference(c->params, (CPAlong){.iS = i}, CP_PARAM_PART, startAt, c->t0, c->y0, c,
                             c->value, c->y0S[i]);
    if (flag) return startFailed(c, flag);
  }
  c->parameters->y0S = c->y0S;
  if (!flag) flag = restart(c);
  const CPGradientOptions forwards = {CP_SIZED(CPGradientOptions), .mode = CP_GRADIENT_FORWARD};
  if (!flag)
    flag = CPIntegratorGradient(mem, c->t1, c->run.F, c->parameters, &forwards, c->G, c->forward,
                                NULL);
  if (!flag) flag = restart(c);
  return flag ? flag
              : CPIntegratorGradient(mem, c->t1, c->run.F, c->parameters, options, c->G, c->adjoint,
                                     NULL);
}

int CPIntegratorGradientCheck(CPIntegrator mem, sunrealtype t0, sunrealtype t1,
                              const CPFunctional *F, const CPParameters *parameters,
                              const CPGradientOptions *options, sunrealtype step, FILE *out,
                              sunrealtype *worst) {
  Arguments arguments;
  int flag = take(mem, &F, &parameters, &options, &t0, &arguments, __func__);
  if (flag) return flag;
  CPLog *log = &mem->log;
  if (!parameters || !parameters->values)
    return cpRefuse(log, __func__, "parameters and their values must not be NULL");
  if (!options || !options->start)
    return cpRefuse(log, __func__, "options->start must not be NULL");
  if (!(step > 0.0 && step < 1.0))
    return cpRefuse(log, __func__,
                    "step must be a part of the parameters' sizes, between 0 and 1: %g", step);
  CPParams params = {0};
  flag            = cpParamsSet(&params, parameters, log, __func__);
  if (flag) return flag;
  const int Ns        = params.Ns;
  CPParameters own    = *parameters;
  CPGradientOptions o = *options;
  o.mode              = CP_GRADIENT_ADJOINT;
  Check c        = {.run        = {.mem = mem, .function = __func__, .F = F, .params = &params, .Np = Ns},
                    .t0         = t0,
                    .t1         = t1,
                    .start      = options->start,
                    .parameters = &own,
                    .params     = &params};
  CPArena *arena = &c.run.arena;
  CP_VECTORS(arena, mem->y0, &c.y0, &c.value);
  c.values = cpArenaTake(arena, N_VNew_Serial(F->ng, mem->ctx));
  c.y0S    = cpSensVectors(arena, Ns, mem->y0);
  CP_NEW(arena, c.G, F->ng);
  CP_ARRAYS(arena, F->ng * Ns, &c.forward, &c.adjoint, &c.difference);
  flag = cpFunctionalOpen(&c.run); /* checks the arena */
  if (!flag) flag = cpSensSet(mem, NULL, __func__);
  if (!flag) flag = compute(&c, &o, step);
  if (!flag && worst) *worst = 0.0;
  if (!flag && out)
    fprintf(out, "%4s %4s %23s %23s %23s\n", "G", "p", "forward", "adjoint", "finite differences");
  for (int k = 0; !flag && k < F->ng; k++) {
    sunrealtype size = 0.0, off = 0.0;
    for (int i = k * Ns; i < (k + 1) * Ns; i++) {
      size = fmax(size, fabs(c.forward[i]));
      off  = fmax(off, fabs(c.forward[i] - c.adjoint[i]));
      if (out)
        fprintf(out, "%4d %4d %23.15e %23.15e %23.15e\n", k, params.plist[i - k * Ns], c.forward[i],
                c.adjoint[i], c.difference[i]);
    }
    if (worst) *worst = fmax(*worst, size > 0.0 ? off / size : off);
  }
  cpArenaFree(arena);
  cpParamsFree(&params);
  return flag;
}
