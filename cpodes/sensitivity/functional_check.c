/* Forward, adjoint and finite differences of functionals side by side. */
#include "functional_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION "CPodeFunctionalCheck"

typedef struct {
  CPodeMem mem;
  sunrealtype t0, t1;
  const CPFunctional *F;
  const CPAdjointOptions *options;
  CPStartFn start;
  CPParams *params;
  N_Vector y0, value; /* [n] */
  N_Vector *y0S;      /* [Ns] */
  /* [ng], [ng x Ns] each; G2: of runs that are not kept; G3: work */
  sunrealtype *G, *forward, *adjoint, *difference, *G2, *G3;
} Check;

static int startAt(void *data, N_Vector y0) {
  const Check *c = data;
  return c->start(c->t0, y0, c->F->user_data);
}

static int startFailed(Check *c, int flag) {
  return cpReport(&c->mem->base.log, CP_ILL_INPUT, FUNCTION, "start failed (%d)", flag);
}

static int restart(Check *c) {
  const int flag = startAt(c, c->y0);
  return flag ? startFailed(c, flag) : CPodeReInit(c->mem, c->t0, c->y0);
}

/* ---- finite differences of the whole run ---- */

typedef struct {
  const Check *c;
  sunrealtype *G;
  N_Vector y;
} Plain;

static int atNode(void *data, sunrealtype t, sunrealtype weight) {
  const Plain *p = data;
  const Check *c = p->c;
  int flag       = CPodeGetDky(c->mem, t, 0, p->y);
  if (flag) return flag;
  flag = cpFunctionalAdd(c->F, c->F->integrand, t, p->y, weight, c->G3, p->G);
  return cpFunctionalResult(c->mem, flag, t, "integrand", FUNCTION);
}

static int plainRun(Check *c, sunrealtype *G) {
  const CPFunctional *F = c->F;
  Plain p               = {c, G, c->value};
  memset(G, 0, (size_t)F->ng * sizeof *G);
  int flag = restart(c);
  if (!flag) flag = cpMarch(c->mem, c->t1, c->y0, NULL, F->integrand ? atNode : NULL, &p);
  if (flag || !F->end) return flag;
  flag = cpFunctionalAdd(F, F->end, c->t1, c->y0, 1.0, c->G3, G);
  return cpFunctionalResult(c->mem, flag, c->t1, "end term", FUNCTION);
}

static int finiteDifferences(Check *c, sunrealtype step) {
  const CPParams *params = c->params;
  const int ng = c->F->ng, Ns = params->Ns;
  int flag = cpSensOff(c->mem);
  for (int i = 0; !flag && i < Ns; i++) {
    sunrealtype *p         = &params->p[params->plist[i]];
    const sunrealtype kept = *p, e = step * params->pbar[i];
    *p   = kept + e;
    flag = plainRun(c, c->G);
    *p   = kept - e;
    if (!flag) flag = plainRun(c, c->G2);
    *p = kept;
    for (int k = 0; k < ng; k++) c->difference[k * Ns + i] = (c->G[k] - c->G2[k]) / (2 * e);
  }
  return flag;
}

/* ---- both ways ---- */

static int forwards(Check *c) {
  int flag = CP_SUCCESS;
  for (int i = 0; !flag && i < c->params->Ns; i++)
    flag = cpParamDifference(c->params, i, startAt, c, c->value, c->y0S[i]);
  if (flag) return startFailed(c, flag);
  flag = restart(c);
  if (!flag) flag = CPodeSensReInit(c->mem, c->y0S);
  if (!flag) flag = CPodeSensCalcIC(c->mem);
  if (!flag) flag = CPodeGetConsistentSensIC(c->mem, c->y0S);
  return flag ? flag : CPodeFunctionalForward(c->mem, c->t1, c->F, c->G, c->forward);
}

static int backwards(Check *c) {
  const int flag = restart(c);
  return flag ? flag
              : CPodeFunctionalAdjoint(c->mem, c->t1, c->F, c->options, c->y0S, c->G2, c->adjoint,
                                       NULL);
}

/* ---- the table ---- */

static sunrealtype worstDifference(const Check *c) {
  const int Ns      = c->params->Ns;
  sunrealtype worst = 0.0;
  for (int k = 0; k < c->F->ng; k++) {
    sunrealtype size = 0.0, off = 0.0;
    for (int i = 0; i < Ns; i++) {
      size = fmax(size, fabs(c->forward[k * Ns + i]));
      off  = fmax(off, fabs(c->forward[k * Ns + i] - c->adjoint[k * Ns + i]));
    }
    worst = fmax(worst, size > 0.0 ? off / size : off);
  }
  return worst;
}

static void print(const Check *c, FILE *out) {
  const int Ns = c->params->Ns;
  fprintf(out, "%4s %4s %23s %23s %23s\n", "G", "p", "forward", "adjoint", "finite differences");
  for (int k = 0; k < c->F->ng; k++)
    for (int i = 0; i < Ns; i++)
      fprintf(out, "%4d %4d %23.15e %23.15e %23.15e\n", k, c->params->plist[i],
              c->forward[k * Ns + i], c->adjoint[k * Ns + i], c->difference[k * Ns + i]);
}

static int create(Check *c) {
  const size_t ng = (size_t)c->F->ng, all = ng * (size_t)c->params->Ns;
  c->y0    = N_VClone(c->mem->base.y0);
  c->value = N_VClone(c->mem->base.y0);
  c->y0S   = N_VCloneVectorArray(c->params->Ns, c->mem->base.y0);
  c->G     = calloc(3 * ng + 3 * all, sizeof *c->G);
  if (!c->y0 || !c->value || !c->y0S || !c->G)
    return cpReport(&c->mem->base.log, CP_MEM_FAIL, FUNCTION, "no memory");
  c->G2         = c->G + ng;
  c->G3         = c->G2 + ng;
  c->forward    = c->G3 + ng;
  c->adjoint    = c->forward + all;
  c->difference = c->adjoint + all;
  return CP_SUCCESS;
}

static void release(Check *c) {
  if (c->y0) N_VDestroy(c->y0);
  if (c->value) N_VDestroy(c->value);
  if (c->y0S) N_VDestroyVectorArray(c->y0S, c->params->Ns);
  free(c->G);
}

int CPodeFunctionalCheck(CPodeMem mem, sunrealtype t0, sunrealtype t1, const CPFunctional *F,
                         const CPAdjointOptions *options, CPStartFn start, sunrealtype step,
                         FILE *out, sunrealtype *worst) {
  int flag = cpSensCheck(mem, __func__);
  if (!flag) flag = cpFunctionalCheck(mem, F, &t0, __func__);
  if (flag) return flag;
  if (!start) return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "start must not be NULL");
  if (!(step > 0.0))
    return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "step must be positive: %g", step);
  if (!cpSensOf(mem)->params.p)
    return cpReport(&mem->base.log, CP_NO_INIT, __func__, "call CPodeSetSensParams first");
  Check c = {.mem     = mem,
             .t0      = t0,
             .t1      = t1,
             .F       = F,
             .options = options,
             .start   = start,
             .params  = &cpSensOf(mem)->params};
  flag    = create(&c);
  if (!flag) flag = finiteDifferences(&c, step);
  if (!flag) flag = forwards(&c);
  if (!flag) flag = backwards(&c);
  if (!flag && out) print(&c, out);
  if (!flag && worst) *worst = worstDifference(&c);
  release(&c);
  return flag;
}
