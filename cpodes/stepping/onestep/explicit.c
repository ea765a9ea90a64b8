/* The step of explicit Runge-Kutta methods: stages, projection, error test, step size. */
#include "explicit.h"

#include <math.h>
#include <stdlib.h>

/* ---- life cycle ---- */

static int create(CPOneStepMem mem) {
  CPExplicit e = calloc(1, sizeof *e);
  if (!e) return CP_MEM_FAIL;
  mem->stepper = e;
  e->kind      = mem->table ? &cpTableKind : &cpDop853Kind;
  int flag     = e->kind->create(mem);
  if (flag) return flag;
  mem->order  = mem->table->q;
  mem->stages = mem->table->stages;
  return CP_SUCCESS;
}

static int init(CPOneStepMem mem) {
  CPExplicit e = mem->stepper;
  if (!e->k) e->k = calloc((size_t)e->nk, sizeof *e->k);
  if (!e->x) e->x = calloc((size_t)e->nk + 2, sizeof *e->x);
  if (!e->w) e->w = calloc((size_t)e->nk + 2, sizeof *e->w);
  if (!e->k || !e->x || !e->w) return CP_MEM_FAIL;
  for (int i = 0; i < e->nk; i++)
    if (!e->k[i] && !(e->k[i] = N_VClone(mem->y))) return CP_MEM_FAIL;
  return CP_SUCCESS;
}

static void freeExplicit(CPOneStepMem mem) {
  CPExplicit e = mem->stepper;
  if (!e) return;
  for (int i = 0; e->k && i < e->nk; i++)
    if (e->k[i]) N_VDestroy(e->k[i]);
  free(e->k);
  free(e->x);
  free(e->w);
  free(e->ip);
  free(e);
  mem->stepper = NULL;
}

static int start(CPOneStepMem mem) {
  CPExplicit e     = mem->stepper;
  e->k_is_last     = 0;
  e->is_prepared   = 0;
  mem->on_manifold = 0;
  mem->sine        = 1.0;
  e->norm          = 1.0e-4; /* cautious at first */
  const int flag   = cpOneStepRhs(mem, mem->t, mem->y, e->k[0], 0);
  if (flag == -CV_REPTD_RHSFUNC_ERR) return CV_FIRST_RHSFUNC_ERR;
  return flag > 0 ? -flag : flag;
}

/* ---- an attempt ---- */

int cpExplicitCombine(CPOneStepMem mem, int terms, N_Vector z) {
  const CPExplicit e = mem->stepper;
  if (N_VLinearCombination(terms, e->w, e->x, z) == 0) return CP_SUCCESS;
  return cpReason(mem->text, CP_VECTOROP_ERR, "N_VLinearCombination failed");
}

int cpExplicitSum(CPOneStepMem mem, N_Vector y, sunrealtype h, const sunrealtype *a, int n,
                  N_Vector z) {
  CPExplicit e = mem->stepper;
  int terms    = 0;
  if (y) e->x[terms] = y, e->w[terms++] = 1.0;
  for (int j = 0; j < n; j++)
    if (a[j] != 0.0) e->x[terms] = e->k[j], e->w[terms++] = h * a[j];
  return cpExplicitCombine(mem, terms, z);
}

/* k_i = f(t, y); a failure is one of the attempt's. */
static int evaluate(CPOneStepMem mem, sunrealtype t, N_Vector y, int i) {
  const CPExplicit e = mem->stepper;
  const int flag     = cpOneStepRhs(mem, t, y, e->k[i], 0);
  if (flag > 0) mem->stats.nrhsfails++;
  return flag;
}

/* k_1 ... and ynew, before its projection. */
static int evaluateStages(CPOneStepMem mem, sunrealtype h) {
  CPExplicit e               = mem->stepper;
  const ARKodeButcherTable B = mem->table;
  const int n                = e->fsal ? B->stages - 1 : B->stages;
  int flag                   = CP_SUCCESS;
  for (int i = 1; i < n && !flag; i++) {
    flag = cpExplicitSum(mem, mem->y, h, B->A[i], i, mem->ynew); /* Y_i = y + h sum_j a_ij k_j */
    if (!flag) flag = evaluate(mem, mem->t + B->c[i] * h, mem->ynew, i);
  }
  if (!flag) flag = cpExplicitSum(mem, mem->y, h, B->b, B->stages - e->fsal, mem->ynew);
  return flag;
}

/* The same, with one right-hand side for all stages: next to a singular position that of the manifold, as soon as one
 * of them needs it, and in the next attempt from the beginning. */
static int stages(CPOneStepMem mem, sunrealtype h) {
  const CPModel *model = &mem->model;
  if (!model->on_manifold) return evaluateStages(mem, h);
  model->on_manifold(model->data, mem->on_manifold);
  int flag            = evaluateStages(mem, h);
  const int needed    = model->on_manifold(model->data, mem->on_manifold);
  const int once_more = needed && !mem->on_manifold && flag >= 0;
  mem->on_manifold    = needed;
  if (!once_more) return flag;
  model->on_manifold(model->data, 1);
  return evaluateStages(mem, h);
}

/* The norm of the error estimate; 0 with fixed steps. */
static int estimate(CPOneStepMem mem, sunrealtype h, sunrealtype *norm) {
  const CPExplicit e = mem->stepper;
  *norm              = 0.0;
  mem->have_err      = mem->hfixed == 0.0;
  if (!mem->have_err) return CP_SUCCESS;
  const int flag = e->kind->estimate(mem, h, norm);
  if (isnan(*norm)) *norm = INFINITY; /* overflow */
  return flag;
}

/* From (t, y) to (tnew, ynew); norm above 1: the error is too large. An estimate that is not projected
 * needs no projected state either, unless the last stage is f there. */
static int attempt(CPOneStepMem mem, sunrealtype h, sunrealtype *norm) {
  const CPExplicit e = mem->stepper;
  const int early    = !e->fsal && !cpOneStepProjectsErrors(mem);
  int flag           = stages(mem, h);
  if (!flag && early) flag = estimate(mem, h, norm);
  if (flag || (early && *norm > 1.0)) return flag;
  flag = cpOneStepProject(mem, mem->tnew, mem->ynew);
  if (!flag && e->fsal) flag = evaluate(mem, mem->tnew, mem->ynew, e->last);
  if (!flag && !early) flag = estimate(mem, h, norm);
  if (flag || e->fsal || *norm > 1.0) return flag;
  return evaluate(mem, mem->tnew, mem->ynew, e->last);
}

/* ---- before and after ---- */

/* f(t, y) to its place; the first size. */
static int begin(CPOneStepMem mem) {
  const CPExplicit e = mem->stepper;
  e->is_prepared     = 0;
  if (e->k_is_last) {
    N_Vector k0   = e->k[0];
    e->k[0]       = e->k[e->last];
    e->k[e->last] = k0;
    e->k_is_last  = 0;
  }
  if (mem->h != 0.0 || mem->hfixed > 0.0) return CP_SUCCESS;
  return cpInitialStep(mem, e->k[0], mem->ytmp, &mem->h);
}

static void accepted(CPOneStepMem mem) { ((CPExplicit)mem->stepper)->k_is_last = 1; }

/* ---- interpolation ---- */

sunrealtype cpPolynomialValue(const CPPolynomial *p, int degree, sunrealtype theta, int k) {
  sunrealtype value = 0.0;
  for (int i = degree; i >= k; i--) {
    sunrealtype factor = 1.0;
    for (int j = 0; j < k; j++) factor *= i - j;
    value = value * theta + factor * p->a[i];
  }
  return value;
}

int cpInterpolate(CPOneStepMem mem, const CPInterpolant *ip, sunrealtype theta, int k, N_Vector dky) {
  CPExplicit e        = mem->stepper;
  const sunrealtype h = mem->hlast, scale = pow(h, -k);
  const sunrealtype change = scale * cpPolynomialValue(&ip->difference, ip->degree, theta, k);
  int terms                = 0;
  e->x[terms] = mem->ylast, e->w[terms++] = (k == 0) - change;
  e->x[terms] = mem->y, e->w[terms++] = change;
  for (int j = 0; j < ip->terms; j++)
    e->x[terms]   = e->k[ip->place[j]],
    e->w[terms++] = h * scale * cpPolynomialValue(&ip->p[j], ip->degree, theta, k);
  return cpExplicitCombine(mem, terms, dky);
}

static int interpolate(CPOneStepMem mem, sunrealtype t, int k, N_Vector dky) {
  CPExplicit e = mem->stepper;
  if (!e->is_prepared) {
    const int flag = e->kind->prepare(mem);
    if (flag) return flag > 0 ? -flag : flag;
    e->is_prepared = 1;
  }
  return cpInterpolate(mem, e->kind->interpolant(mem), (t - mem->tlast) / mem->hlast, k, dky);
}

static int degree(CPOneStepMem mem) {
  const CPExplicit e = mem->stepper;
  return e->kind->interpolant(mem)->degree;
}

void cpInterpolantHermite(CPInterpolant *ip, int last) {
  *ip = (CPInterpolant){.degree     = 3,
                        .terms      = 2,
                        .difference = {{0, 0, 3, -2}},
                        .p          = {{{0, 1, -2, 1}}, {{0, 0, -1, 1}}},
                        .place      = {0, last}};
}

const CPStepperOps cpExplicitOps = {.create      = create,
                                    .init        = init,
                                    .start       = start,
                                    .begin       = begin,
                                    .attempt     = attempt,
                                    .ratio       = cpStepRatio,
                                    .accepted    = accepted,
                                    .interpolate = interpolate,
                                    .degree      = degree,
                                    .free        = freeExplicit};
