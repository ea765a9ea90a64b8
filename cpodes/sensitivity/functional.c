/* Functionals and their gradients by forward sensitivities.
 *
 *   dG_k/dp_i = dg_k/dy s_i + dg_k/dp_i + int (dh_k/dy s_i + dh_k/dp_i) dt
 *
 * Integrals are Gauss formulas on the projected interpolant of each step: CVODES' own quadratures get
 * CVODES' user_data, which is the user's. */
#include "functional_impl.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>

/* Gauss-Legendre formula of six nodes on [-1, 1], exact to degree 11 (Abramowitz and Stegun, 25.4.30) */
enum { NODES = 6 };
static const sunrealtype node_at[NODES / 2]     = {0.238619186083196909, 0.661209386466264514,
                                                   0.932469514203152028};
static const sunrealtype node_weight[NODES / 2] = {0.467913934572691047, 0.360761573048138608,
                                                   0.171324492379170345};

/* What stands for a value that is not finite, beside what a user's function returns. */
#define NOT_FINITE INT_MIN

/* ---- arguments ---- */

int cpFunctionalCheck(CPodeMem mem, const CPFunctional *F, const sunrealtype *G,
                      const char *function) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
  if (!mem->base.initialised)
    return cpReport(&mem->base.log, CP_NO_INIT, function, "call CPodeInit first");
  if (!F || !G)
    return cpReport(&mem->base.log, CP_ILL_INPUT, function, "%s must not be NULL", F ? "G" : "F");
  if (F->ng <= 0)
    return cpReport(&mem->base.log, CP_ILL_INPUT, function, "F->ng must be positive: %d", F->ng);
  if (!F->end && !F->integrand)
    return cpReport(&mem->base.log, CP_ILL_INPUT, function, "F must have end terms or integrands");
  return CP_SUCCESS;
}

int cpFunctionalResult(CPodeMem mem, int flag, sunrealtype t, const char *name,
                       const char *function) {
  if (!flag) return CP_SUCCESS;
  if (flag == NOT_FINITE)
    return cpReport(&mem->base.log, CP_ILL_INPUT, function,
                    "at t = %.15g: the functional's %s returned NaN or Inf", t, name);
  return cpReport(&mem->base.log, CP_ILL_INPUT, function,
                  "at t = %.15g: the functional's %s failed (%d)", t, name, flag);
}

/* ---- values ---- */

int cpFunctionalAsRhs(sunrealtype t, N_Vector y, N_Vector value, void *data) {
  const CPFunctionalCalled *called = data;
  N_VConst(0.0, value);
  const int flag = called->fn(t, y, N_VGetArrayPointer(value), called->user_data);
  return !flag && !cpVectorFinite(value) ? NOT_FINITE : flag;
}

int cpFunctionalAdd(const CPFunctional *F, CPFunctionalFn fn, sunrealtype t, N_Vector y,
                    sunrealtype weight, sunrealtype *values, sunrealtype *G) {
  memset(values, 0, (size_t)F->ng * sizeof *values);
  const int flag = fn(t, y, values, F->user_data);
  if (flag) return flag;
  for (int k = 0; k < F->ng; k++) {
    if (!isfinite(values[k])) return NOT_FINITE;
    G[k] += weight * values[k];
  }
  return CP_SUCCESS;
}

/* ---- marching ---- */

static int overStep(sunrealtype t0, sunrealtype t1, CPAtNode node, void *data) {
  const sunrealtype middle = (t0 + t1) / 2, half = (t1 - t0) / 2;
  int flag = CP_SUCCESS;
  for (int k = 0; !flag && node && k < NODES; k++) {
    const sunrealtype x = k % 2 ? node_at[k / 2] : -node_at[k / 2];
    flag                = node(data, middle + half * x, half * node_weight[k / 2]);
  }
  return flag;
}

void cpClearStopTime(CPodeMem mem, sunrealtype towards) {
#ifdef CP_CVODES_CLEARS_STOP_TIME
  (void)towards;
  CVodeClearStopTime(mem->cvode_mem);
#else
  CVodeSetStopTime(mem->cvode_mem, towards < mem->base.t0 ? -DBL_MAX / 4 : DBL_MAX / 4);
#endif
}

int cpMarch(CPodeMem mem, sunrealtype t1, N_Vector y, int *ncheck, CPAtNode node, void *data) {
  sunrealtype before = mem->base.t, t = before;
  int flag = cpOfCVODES(mem, CVodeSetStopTime(mem->cvode_mem, t1), "CPode");
  while (!flag && (t1 - t) * (t1 - mem->base.t0) > 0.0) {
    const int result =
        ncheck ? CPodeF(mem, t1, y, &t, CV_ONE_STEP, ncheck) : CPode(mem, t1, y, &t, CV_ONE_STEP);
    if (result < 0) {
      cpClearStopTime(mem, t1);
      return result;
    }
    flag   = overStep(before, t, node, data);
    before = t;
  }
  return flag;
}

/* ---- gradients at one state ---- */

typedef struct {
  CPodeMem mem;
  const CPFunctional *F;
  const CPParams *params;
  sunrealtype *G, *dG;                 /* [ng], [ng x Ns] */
  sunrealtype *values;                 /* [ng] */
  sunrealtype *gp;                     /* [Ns] */
  N_Vector y, moved, gy, value, along; /* [n], [n], [n], [ng], [ng] */
  N_Vector *yS;                        /* [Ns] */
} Forward;

/* dG_ki += weight (d fn_k/dy s_i + d fn_k/dp_i) */
static int addDerivatives(Forward *w, CPFunctionalFn fn, CPFunctionalGradFn grad, sunrealtype t,
                          sunrealtype weight) {
  const int ng = w->F->ng, Ns = w->params->Ns;
  int flag = CP_SUCCESS;
  for (int k = 0; grad && !flag && k < ng; k++) {
    N_VConst(0.0, w->gy);
    memset(w->gp, 0, (size_t)Ns * sizeof *w->gp);
    flag = grad(t, w->y, k, w->gy, w->gp, w->F->user_data);
    for (int i = 0; !flag && i < Ns; i++)
      w->dG[k * Ns + i] += weight * (N_VDotProd(w->gy, w->yS[i]) + w->gp[i]);
  }
  CPFunctionalCalled called = {fn, w->F->user_data};
  for (int i = 0; !grad && !flag && i < Ns; i++) {
    flag = cpSensDirection(w->params, cpFunctionalAsRhs, t, w->y, i, w->yS[i], w->along, w->moved,
                           w->value, &called);
    for (int k = 0; !flag && k < ng; k++)
      w->dG[k * Ns + i] += weight * N_VGetArrayPointer(w->along)[k];
  }
  return flag;
}

/* G, dG += weight times the values at (t, w->y), w->yS */
static int add(Forward *w, CPFunctionalFn fn, CPFunctionalGradFn grad, const char *name,
               sunrealtype t, sunrealtype weight) {
  int flag = cpFunctionalAdd(w->F, fn, t, w->y, weight, w->values, w->G);
  if (!flag) flag = addDerivatives(w, fn, grad, t, weight);
  return cpFunctionalResult(w->mem, flag, t, name, "CPodeFunctionalForward");
}

static int atNode(void *data, sunrealtype t, sunrealtype weight) {
  Forward *w = data;
  int flag   = CPodeGetDky(w->mem, t, 0, w->y);
  if (!flag) flag = CPodeGetSensDky(w->mem, t, 0, w->yS);
  return flag ? flag : add(w, w->F->integrand, w->F->integrand_grad, "integrand", t, weight);
}

static int create(Forward *w) {
  const int ng = w->F->ng, Ns = w->params->Ns;
  w->y      = N_VClone(w->mem->base.y0);
  w->moved  = N_VClone(w->mem->base.y0);
  w->gy     = N_VClone(w->mem->base.y0);
  w->value  = N_VNew_Serial(ng, w->mem->base.ctx);
  w->along  = N_VNew_Serial(ng, w->mem->base.ctx);
  w->yS     = N_VCloneVectorArray(Ns, w->mem->base.y0);
  w->values = calloc((size_t)(ng + Ns), sizeof *w->values);
  if (!w->y || !w->moved || !w->gy || !w->value || !w->along || !w->yS || !w->values)
    return cpReport(&w->mem->base.log, CP_MEM_FAIL, "CPodeFunctionalForward", "no memory");
  w->gp = w->values + ng;
  return CP_SUCCESS;
}

static void release(Forward *w) {
  N_Vector v[] = {w->y, w->moved, w->gy, w->value, w->along};
  for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
    if (v[i]) N_VDestroy(v[i]);
  if (w->yS) N_VDestroyVectorArray(w->yS, w->params->Ns);
  free(w->values);
}

int CPodeFunctionalForward(CPodeMem mem, sunrealtype t1, const CPFunctional *F, sunrealtype *G,
                           sunrealtype *dG) {
  sunrealtype t = t1;
  int flag      = cpFunctionalCheck(mem, F, G, __func__);
  if (!flag) flag = cpSensCheck(mem, __func__);
  if (flag) return flag;
  if (!dG) return cpReport(&mem->base.log, CP_ILL_INPUT, __func__, "dG must not be NULL");
  Forward w = {.mem = mem, .F = F, .params = &cpSensOf(mem)->params, .G = G, .dG = dG};
  memset(G, 0, (size_t)F->ng * sizeof *G);
  memset(dG, 0, (size_t)(F->ng * w.params->Ns) * sizeof *dG);
  flag = create(&w);
  if (!flag) flag = cpMarch(mem, t1, w.y, NULL, F->integrand ? atNode : NULL, &w);
  if (!flag && F->end) {
    flag = CPodeGetDky(mem, t, 0, w.y);
    if (!flag) flag = CPodeGetSens(mem, &t, w.yS);
    if (!flag) flag = add(&w, F->end, F->end_grad, "end term", t1, 1.0);
  }
  release(&w);
  return flag;
}
