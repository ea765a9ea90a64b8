/* Gradients of functionals by adjoint problems through events. Between events
 * CPIntegratorGradient solves them, from the last flight to the first. At an event (gradient.c),
 * with l+ after it, the integrand h, and the margin g whose root it is,
 *
 *   s = (l+^T (R_y f- + R_t - f+) + h(t, y-) - h(t, y+)) / (g_t + g_y f-)       dG / dtau, over the rate of g
 *   l- = R_y^T l+ - s g_y^T
 *   dG/dp gets l+^T R_p - s g_p. */
#include "contact_impl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tolerances of adjoint problems: the default, and the least. */
#define DEFAULT_TOLERANCE SUN_RCONST(1.0e-8)
#define LEAST_TOLERANCE   SUN_RCONST(1.0e-13)

/* An event, or the start */
typedef struct Passage {
  sunrealtype t, share;
  N_Vector minus, plus; /* the states before and after it */
  Point *before, *after;
  int has_impact;
  char *keep, *plastic, *glued, *decided;
  struct Passage *earlier;
} Passage;

struct ContactTape_ {
  Passage *newest;
};

static void freePassage(Passage *e) {
  if (!e) return;
  if (e->minus) N_VDestroy(e->minus);
  if (e->plus) N_VDestroy(e->plus);
  free(e->before), free(e->after), free(e->keep);
  free(e);
}

int contactRecord(CPContact c, sunrealtype t, N_Vector y) {
  const size_t n = (size_t)c->npoints;
  Passage *e     = calloc(1, sizeof *e);
  if (!e) return 1;
  e->minus = N_VClone(y), e->plus = N_VClone(y);
  e->before = calloc(n, sizeof *e->before), e->after = calloc(n, sizeof *e->after);
  e->keep = calloc(5 * n, sizeof *e->keep);
  if (!e->minus || !e->plus || !e->before || !e->after || !e->keep) {
    freePassage(e);
    return 1;
  }
  e->plastic = e->keep + n, e->glued = e->plastic + n, e->decided = e->glued + n;
  e->t = t, e->share = c->share, e->has_impact = c->impact.any;
  N_VScale(1.0, c->saved, e->minus);
  N_VScale(1.0, y, e->plus);
  memcpy(e->before, c->before, n * sizeof *e->before);
  memcpy(e->after, c->point, n * sizeof *e->after);
  memcpy(e->keep, c->impact.keep, n);
  memcpy(e->plastic, c->impact.plastic, n);
  memcpy(e->glued, c->impact.glued, n);
  contactDecided(c, e->decided);
  e->earlier      = c->tape->newest;
  c->tape->newest = e;
  return 0;
}

/* ---- the functional on one flight ---- */

typedef struct {
  const CPFunctional *F;
  sunrealtype t1; /* its end */
  N_Vector *l;    /* [ng] gradients there, or NULL for the last flight */
  N_Vector y1;    /* the state there */
} Flight;

/* At the end of a flight the term is l (y - y1), whose gradient is l. */
static int end(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  const Flight *flight = data;
  if (!flight->l || t != flight->t1) return flight->F->end(t, y, values, flight->F->user_data);
  for (int k = 0; k < flight->F->ng; k++)
    values[k] = N_VDotProd(flight->l[k], y) - N_VDotProd(flight->l[k], flight->y1);
  return 0;
}

static int endGradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp, void *data) {
  const Flight *flight = data;
  if (!flight->l || t != flight->t1)
    return flight->F->end_grad(t, y, k, gy, gp, flight->F->user_data);
  N_VScale(1.0, flight->l[k], gy);
  return 0;
}

static int integrand(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  const Flight *flight = data;
  return flight->F->integrand(t, y, values, flight->F->user_data);
}

static int integrandGradient(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                             void *data) {
  const Flight *flight = data;
  return flight->F->integrand_grad(t, y, k, gy, gp, flight->F->user_data);
}

/* ---- the backward run ---- */

typedef struct {
  CPContact c;
  const char *function;
  const CPFunctional *F;
  const CPParameters *parameters; /* without y0S, or NULL */
  const CPGradientOptions *options;
  int Np;
  sunrealtype *G, *dG;           /* sums: [ng], [ng Np] */
  sunrealtype *part, *part_grad; /* as G and dG, for one flight */
  /* [n + Np, 2 npoints] derivatives of margins with respect to states and parameters */
  sunrealtype *slope;
  sunrealtype *h_minus, *h_plus; /* [ng] the integrand on both sides of an event */
  sunrealtype *s;                /* [ng] s of an event */
  sunrealtype *times;            /* [ntimes + 1] of the end terms of a flight */
  int nleft;                     /* F->times that no flight has had yet */
  N_Vector *l, *l_plus;          /* [ng] before and after an event */
  N_Vector unit, v;              /* unit: a direction; v: R_y f- + R_t - f+ */
  N_Vector weights;              /* of the errors of states */
} Backwards;

/* Puts the contacts into these phases at (t, y). Returns 0 or an error code that has been reported. */
static int enter(CPContact c, const Point *phases, const Passage *e, sunrealtype t, N_Vector y,
                 const char *function) {
  memcpy(c->point, phases, (size_t)c->npoints * sizeof *phases);
  memcpy(c->before, e->before, (size_t)c->npoints * sizeof *phases);
  /* No root functions follow how contacts slide: contactSpeed is |v_T|. */
  for (int i = 0; i < c->npoints; i++)
    c->point[i].heading[0].t_half = c->point[i].heading[1].t_half = INFINITY;
  int flag = contactRows(c, t, N_VGetArrayPointer(y));
  if (flag) return contactUserFailed(c, function, "A", t, flag);
  contactScales(c, y);
  contactTolerances(c, y);
  flag = contactActivate(c);
  return flag ? contactPassOn(c, flag) : CP_SUCCESS;
}

static void takeImpact(CPContact c, const Passage *e) {
  const size_t n = (size_t)c->npoints;
  c->impact.any  = e->has_impact;
  memcpy(c->impact.keep, e->keep, n);
  memcpy(c->impact.plastic, e->plastic, n);
  memcpy(c->impact.glued, e->glued, n);
}

/* Tolerances of a flight after a bounce: the adjoint of a height is the adjoint of a velocity over
 * the duration, and the errors of the latter accumulate over the flights. */
static CPGradientOptions optionsOf(const CPGradientOptions *options, const Passage *e) {
  CPGradientOptions own  = options ? *options : (CPGradientOptions)CP_INIT(CPGradientOptions);
  const sunrealtype part = sqrt(e->share);
  own.reltol = fmax(part * (own.reltol > 0.0 ? own.reltol : DEFAULT_TOLERANCE), LEAST_TOLERANCE);
  own.abstol *= part;
  return own;
}

/* Integrates l from t1, the time of the later event, if there is one, back to the event e with which the flight began; adds the
 * flight's part to G and dG. */
static int flight(Backwards *b, const Passage *e, const Passage *later, sunrealtype t1) {
  CPContact c           = b->c;
  const CPFunctional *F = b->F;
  const Flight data     = {F, t1, later ? b->l : NULL, later ? later->minus : NULL};
  const int ends        = !later && F->end && !F->times;
  int n                 = 0;
  while (b->nleft > 0 && F->times[b->nleft - 1] >= e->t) b->nleft--, n++;
  const int samples = n;
  if (later && samples == 0 && !(t1 - e->t > 4 * DBL_EPSILON * fabs(t1))) return CP_SUCCESS;
  if (samples > 0) memcpy(b->times, F->times + b->nleft, (size_t)n * sizeof *b->times);
  if (later || ends) b->times[n++] = t1;
  if (n == 0 && !F->integrand) { /* after the last of the times */
    for (int k = 0; k < F->ng; k++) N_VConst(0.0, b->l[k]);
    return CP_SUCCESS;
  }
  const CPFunctional own          = {CP_SIZED(CPFunctional),
                                     .ng        = F->ng,
                                     .end       = n > 0 ? end : NULL,
                                     .integrand = F->integrand ? integrand : NULL,
                                     .end_grad  = (samples > 0 || ends) && !F->end_grad ? NULL : endGradient,
                                     .integrand_grad = F->integrand_grad ? integrandGradient : NULL,
                                     .user_data      = (void *)&data,
                                     .mxsteps        = F->mxsteps,
                                     .ntimes         = n,
                                     .times          = n > 0 ? b->times : NULL};
  const CPGradientOptions options = optionsOf(b->options, e);
  int flag                        = enter(c, e->after, e, e->t, e->plus, b->function);
  if (flag) return flag;
  c->share = e->share;
  N_VScale(1.0, e->plus, c->sens.y);
  flag = contactRestart(c, e->t, c->sens.y);
  if (!flag)
    flag = contactOfIntegrator(c, CPIntegratorGradient(c->integrator, t1, &own, b->parameters,
                                                       &options, b->part, b->part_grad, b->l_plus));
  if (flag) return flag;
  for (int k = 0; k < F->ng; k++) {
    b->G[k] += b->part[k];
    for (int i = 0; i < b->Np; i++) b->dG[k * b->Np + i] += b->part_grad[k * b->Np + i];
    N_VScale(1.0, b->l_plus[k], b->l[k]);
  }
  return CP_SUCCESS;
}

static void setUnit(N_Vector unit, int j) {
  N_VConst(0.0, unit);
  if (j >= 0) N_VGetArrayPointer(unit)[j] = 1.0;
}

/* Do margins k and l give the same derivatives of the event's time? Those with respect to the
 * states are projected, since only directions along the manifold count. */
static int agree(Backwards *b, const Passage *e, int k, int l) {
  CPContact c      = b->c;
  const int m      = 2 * c->npoints;
  N_Vector d[2]    = {b->unit, b->v};
  sunrealtype size = 0, most = 0;
  for (int i = 0; i < c->n + b->Np; i++) {
    const sunrealtype *slope = b->slope + (size_t)i * (size_t)m;
    const sunrealtype one = slope[k] / c->sens.rate[k], other = slope[l] / c->sens.rate[l];
    if (i < c->n) N_VGetArrayPointer(d[0])[i] = one, N_VGetArrayPointer(d[1])[i] = one - other;
    else size = fmax(size, fabs(one)), most = fmax(most, fabs(one - other));
  }
  int flag = CP_SUCCESS;
  for (int i = 0; i < 2 && !flag; i++)
    flag = CPProjectorProjectVector(CPMechGetProjector(c->mech), CP_COTANGENT, e->t, e->minus,
                                    b->weights, d[i]);
  if (flag) return contactPassOn(c, flag);
  size = fmax(size, N_VMaxNorm(d[0])), most = fmax(most, N_VMaxNorm(d[1]));
  return most <= CONTACT_SAME_TIME * size ? CP_SUCCESS : contactDiffer(c, k, l, e->t, b->function);
}

/* At an event: computes f- and the derivatives of all margins. k: out, the deciding margin. Returns
 * 0 or an error code that has been reported. */
static int differentiateMargins(Backwards *b, const Passage *e, int *k) {
  CPContact c    = b->c;
  const int m    = 2 * c->npoints;
  N_Vector minus = e->minus;
  int flag       = contactMarginRates(c, e->t, minus, b->function);
  for (int i = 0; i < c->n + b->Np && !flag; i++) {
    setUnit(b->unit, i < c->n ? i : -1);
    flag = contactDerivative(c, contactMarginValues, m, e->t, 0.0, minus, b->unit, i - c->n,
                             b->slope + (size_t)i * (size_t)m, b->function);
  }
  *k = -1;
  for (int i = 0; i < m && !flag; i++) {
    if (!e->decided[i]) continue;
    flag = contactCheckRate(c, i, e->t, b->function);
    if (!flag && *k >= 0) flag = agree(b, e, *k, i);
    if (*k < 0) *k = i;
  }
  return flag;
}

/* b->v += the derivative of the impact along (dt, d) and parameter i. Returns 0 or an error code
 * that has been reported. */
static int addImpact(Backwards *b, const Passage *e, sunrealtype dt, N_Vector d, int i) {
  CPContact c    = b->c;
  N_Vector added = c->sens.direction;
  if (!e->has_impact) return CP_SUCCESS;
  const int flag = contactDerivative(c, contactImpactValue, c->n, e->t, dt, e->minus, d, i,
                                     N_VGetArrayPointer(added), b->function);
  if (!flag) N_VLinearSum(1.0, b->v, 1.0, added, b->v);
  return flag;
}

/* Computes b->s for all functionals; k is the deciding margin. Returns 0 or an error code that has
 * been reported. */
static int findWeights(Backwards *b, const Passage *e, int k) {
  CPContact c           = b->c;
  const CPFunctional *F = b->F;
  int flag              = contactRightHandSide(c, e->t, e->plus, c->sens.after, b->function);
  N_VScale(1.0, c->sens.before, b->v);
  if (!flag) flag = addImpact(b, e, 1.0, c->sens.before, -1);
  if (flag) return flag;
  N_VLinearSum(1.0, b->v, -1.0, c->sens.after, b->v);
  memset(b->h_minus, 0, (size_t)F->ng * sizeof *b->h_minus);
  memset(b->h_plus, 0, (size_t)F->ng * sizeof *b->h_plus);
  if (F->integrand) flag = F->integrand(e->t, e->minus, b->h_minus, F->user_data);
  if (F->integrand && !flag) flag = F->integrand(e->t, e->plus, b->h_plus, F->user_data);
  if (flag) return contactUserFailed(c, b->function, "the integrand", e->t, flag);
  for (int i = 0; i < F->ng; i++)
    b->s[i] = (N_VDotProd(b->l[i], b->v) + b->h_minus[i] - b->h_plus[i]) / c->sens.rate[k];
  return CP_SUCCESS;
}

/* Does a contact begin or end to slide in space at the event? The derivative of the direction of
 * sliding is unbounded there, and differences of f do not resolve it. */
static int checkSliding(CPContact c, const Passage *e, const char *function) {
  for (int i = 0; i < c->npoints; i++) {
    const int ends = contactSlidesInSpace(&e->before[i]) && e->decided[2 * i + 1],
              begins =
                  contactSlidesInSpace(&e->after[i]) && e->before[i].phase == CP_CONTACT_STICKING;
    if (ends || begins)
      return cpReport(&c->log, CP_CONTACT_NO_GRADIENT, function,
                      "at t = %.10g: contact \"%s\" %s to slide in space, which adjoints do not "
                      "pass: use forward sensitivities (CPIntegratorSetSens)",
                      e->t, c->point[i].name, ends ? "ceases" : "begins");
  }
  return CP_SUCCESS;
}

/* Takes l from after an event to before it, or at the start, whose time is fixed. Returns 0 or an
 * error code that has been reported. */
static int jump(Backwards *b, const Passage *e, int is_start) {
  CPContact c  = b->c;
  const int ng = b->F->ng, n = c->n, m = 2 * c->npoints;
  int k = -1, flag = is_start ? CP_SUCCESS : checkSliding(c, e, b->function);
  c->t = e->earlier ? e->earlier->t : e->t; /* then the newest event */
  if (!flag) flag = enter(c, e->before, e, e->t, e->minus, b->function);
  takeImpact(c, e);
  memset(b->s, 0, (size_t)ng * sizeof *b->s);
  if (!flag && !is_start) flag = differentiateMargins(b, e, &k);
  if (!flag) flag = enter(c, e->after, e, e->t, e->plus, b->function);
  if (!flag && k >= 0) flag = findWeights(b, e, k);
  for (int i = 0; i < ng; i++) N_VScale(1.0, b->l[i], b->l_plus[i]);
  for (int j = 0; j < n + b->Np && !flag; j++) {
    setUnit(b->unit, j < n ? j : -1);
    N_VScale(1.0, b->unit, b->v); /* column j of R_y, or R_p */
    flag = addImpact(b, e, 0.0, b->unit, j - n);
    for (int i = 0; i < ng && !flag; i++) {
      const sunrealtype of_time = k >= 0 ? b->s[i] * b->slope[k + j * m] : 0.0;
      const sunrealtype value   = N_VDotProd(b->l_plus[i], b->v) - of_time;
      if (j < n) N_VGetArrayPointer(b->l[i])[j] = value;
      else b->dG[i * b->Np + j - n] += value;
    }
  }
  return flag;
}

/* ---- the whole computation ---- */

/* Runs forward from the start, and records the events. Returns 0 or an error code that has been
 * reported. */
static int forwards(CPContact c, sunrealtype t1, const char *function) {
  sunrealtype t = c->t;
  if (contactRecord(c, t, c->newest))
    return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for the events of an adjoint");
  N_Vector y = N_VClone(c->newest);
  if (!y) return cpReport(&c->log, CP_MEM_FAIL, function, "no memory for a state");
  int flag = CP_STOPPED;
  while (flag == CP_STOPPED) flag = CPSessionRun(c->session, t1, y, &t);
  N_VDestroy(y);
  return flag
             ? cpReport(&c->log, flag, function, "%s", CPObjectGetLastMessage(CP_OBJECT(c->session)))
             : flag;
}

/* Sums over all flights and events. Returns 0 or an error code that has been reported. */
static int backwards(Backwards *b, sunrealtype t1, N_Vector *y0S) {
  CPContact c          = b->c;
  const Passage *later = NULL;
  int flag             = contactOfIntegrator(c, CPIntegratorRootInit(c->integrator, 0, NULL));
  b->nleft             = b->F->times ? b->F->ntimes : 0;
  for (const Passage *e = c->tape->newest; e && !flag; t1 = e->t, later = e, e = e->earlier) {
    flag = flight(b, e, later, t1);
    if (!flag && (e->earlier || e->has_impact)) flag = jump(b, e, !e->earlier);
  }
  for (int k = 0; k < b->F->ng && !flag; k++)
    for (int i = 0; i < b->Np && y0S; i++) b->dG[k * b->Np + i] += N_VDotProd(b->l[k], y0S[i]);
  return flag;
}

static int checkArguments(CPContact c, sunrealtype t1, const CPFunctional *F,
                          const CPParameters *parameters, const CPGradientOptions *options,
                          const sunrealtype *G, const sunrealtype *dG, const char *function) {
  sunrealtype steps = 0;
  if (!CPMechIsAttached(c->mech) || !c->integrator || c->sens.spent)
    return cpReport(&c->log, CP_NO_INIT, function, "call CPSessionStart first");
  if (c->dense > 0)
    return cpReport(&c->log, CP_NOT_SUPPORTED, function,
                    "time stepping (CPContactSetTimeStepping) has no sensitivities");
  CPObjectGetStat(CP_OBJECT(c->integrator), "steps", &steps);
  if (steps > 0 || c->t != c->t_first || c->sens.Ns > 0)
    return cpReport(
        &c->log, CP_TOO_LATE, function,
        "steps have been taken, or there are forward sensitivities: call CPSessionStart again");
  if (options && options->mode != CP_GRADIENT_ADJOINT)
    return cpReport(&c->log, CP_NOT_SUPPORTED, function,
                    "forward sensitivities are those of CPIntegratorSetSens");
  if (F->ng < 1 || !G || (parameters && (parameters->n < 1 || !dG)) || !(t1 > c->t && isfinite(t1)))
    return cpReport(&c->log, CP_ILL_INPUT, function,
                    "G, and with parameters dG must not be NULL, F->ng > 0, their number > 0, "
                    "t1 finite and after the start: t1 = %g",
                    t1);
  if (F->times && (!F->end || F->ntimes < 1))
    return cpReport(&c->log, CP_ILL_INPUT, function, "F->times needs F->end, and ntimes > 0: %d",
                    F->ntimes);
  for (int j = 0; F->times && j < F->ntimes; j++)
    if (!(F->times[j] >= c->t && F->times[j] <= t1 && (j == 0 || F->times[j] > F->times[j - 1])))
      return cpReport(&c->log, CP_ILL_INPUT, function,
                      "F->times must lead from t0 = %.15g to t1 = %.15g: times[%d] = %.15g", c->t,
                      t1, j, F->times[j]);
  return CP_SUCCESS;
}

static void freeBackwards(Backwards *b) {
  free(b->part);
  if (b->l) N_VDestroyVectorArray(b->l, b->F->ng);
  if (b->l_plus) N_VDestroyVectorArray(b->l_plus, b->F->ng);
  if (b->unit) N_VDestroy(b->unit);
  if (b->v) N_VDestroy(b->v);
  if (b->weights) N_VDestroy(b->weights);
}

/* Allocates the workspace. Returns 0, or 1 without memory. */
static int openBackwards(Backwards *b) {
  const size_t ng = (size_t)b->F->ng, Np = (size_t)b->Np, n = (size_t)b->c->n,
               m     = 2 * (size_t)b->c->npoints;
  const N_Vector y   = b->c->newest;
  const size_t times = b->F->times ? (size_t)b->F->ntimes + 1 : 1;
  b->part            = calloc(4 * ng + 2 * ng * (Np + 1) + (n + Np) * m + times, sizeof *b->part);
  b->l               = N_VCloneVectorArray(b->F->ng, y);
  b->l_plus          = N_VCloneVectorArray(b->F->ng, y);
  b->unit = N_VClone(y), b->v = N_VClone(y), b->weights = N_VClone(y);
  if (!b->part || !b->l || !b->l_plus || !b->unit || !b->v || !b->weights) return 1;
  N_VConst(1.0, b->weights);
  b->h_minus = b->part + ng, b->h_plus = b->h_minus + ng, b->s = b->h_plus + ng;
  b->part_grad = b->s + ng, b->slope = b->part_grad + 2 * ng * (Np + 1);
  b->times = b->slope + (n + Np) * m;
  if (!b->dG) b->dG = b->part_grad + ng * (Np + 1);
  return 0;
}

int CPContactGradient(CPContact c, sunrealtype t1, const CPFunctional *F,
                      const CPParameters *parameters, const CPGradientOptions *options,
                      sunrealtype *G, sunrealtype *dG, N_Vector *gradient) {
  CPFunctional functional;
  CPParameters own = CP_INIT(CPParameters);
  CPGradientOptions backward;
  int flag = contactIdle(c, __func__);
  if (!flag) flag = cpTake(&c->log, &functional, F, __func__);
  if (!flag && parameters) flag = cpTake(&c->log, &own, parameters, __func__);
  if (!flag && options) flag = cpTake(&c->log, &backward, options, __func__), options = &backward;
  F = &functional;
  if (!flag) flag = checkArguments(c, t1, F, parameters ? &own : NULL, options, G, dG, __func__);
  if (flag) return flag;
  N_Vector *y0S            = own.y0S;
  own.y0S                  = NULL; /* flights but the first one have other starts */
  const int Np             = own.n;
  Backwards b              = {.c          = c,
                              .function   = __func__,
                              .F          = F,
                              .parameters = parameters ? &own : NULL,
                              .options    = options,
                              .Np         = Np,
                              .G          = G,
                              .dG         = dG};
  struct ContactTape_ tape = {NULL};
  if (contactSensAllocate(c, Np > 0 ? Np : 1) || openBackwards(&b))
    flag = cpReport(&c->log, CP_MEM_FAIL, __func__, "no memory for %d functionals", F->ng);
  if (!flag && parameters) flag = contactSensParameters(c, &own, __func__);
  const int begins = !flag;
  memset(G, 0, (size_t)F->ng * sizeof *G);
  if (dG) memset(dG, 0, (size_t)(F->ng * Np) * sizeof *dG);
  c->tape = &tape;
  if (!flag) flag = forwards(c, t1, __func__);
  if (!flag) flag = backwards(&b, t1, y0S);
  for (int k = 0; k < F->ng && gradient && !flag; k++)
    if (gradient[k]) N_VScale(1.0, b.l[k], gradient[k]);
  while (tape.newest) {
    Passage *e  = tape.newest;
    tape.newest = e->earlier;
    freePassage(e);
  }
  c->tape = NULL, c->sens.spent = begins;
  freeBackwards(&b);
  return flag;
}
