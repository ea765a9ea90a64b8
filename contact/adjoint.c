/* Gradients of functionals by adjoint problems through events. Between events
 * CPIntegratorGradient solves them, from the last flight to the first. The sensitivities S+_j (gradient.c) after an event at tau whose
 * S- are the tangents P e_j make up the matrix that takes S- to S+, whose transpose takes l+ after the event, with the integrand h, to
 *
 *   l-_j = l+^T S+_j + (h(t, y-) - h(t, y+)) dtau_j,
 *
 * and dG/dp gets the same of this parameter and the smallest S- that is consistent with it. */
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
  sunrealtype *h_minus, *h_plus; /* [ng] the integrand on both sides of an event */
  int nleft;                     /* F->times that no flight has had yet */
  N_Vector *l;                   /* [ng] */
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
  CPContact c               = b->c;
  const CPFunctional *F     = b->F;
  CPFunctional own          = *F;
  CPGradientOptions options = optionsOf(b->options, e);
  const int last            = b->nleft;
  while (b->nleft > 0 && F->times[b->nleft - 1] >= e->t) b->nleft--;
  own.ntimes = last - b->nleft;
  own.times  = own.ntimes > 0 ? F->times + b->nleft : NULL;
  if (F->times ? own.ntimes == 0 : later != NULL) own.end = NULL;
  if (later) options.after = b->l;
  if (later && !own.end && !(t1 - e->t > 4 * DBL_EPSILON * fabs(t1))) return CP_SUCCESS;
  if (!later && !own.end && !F->integrand) { /* after the last of the times */
    for (int k = 0; k < F->ng; k++) N_VConst(0.0, b->l[k]);
    return CP_SUCCESS;
  }
  int flag = enter(c, e->after, e, e->t, e->plus, b->function);
  if (flag) return flag;
  c->share = e->share;
  N_VScale(1.0, e->plus, c->sens.y);
  flag = contactRestart(c, e->t, c->sens.y);
  if (!flag)
    flag = contactOfIntegrator(c, CPIntegratorGradient(c->integrator, t1, &own, b->parameters,
                                                       &options, b->part, b->part_grad, b->l));
  for (int k = 0; k < F->ng && !flag; k++) {
    b->G[k] += b->part[k];
    for (int i = 0; i < b->Np; i++) b->dG[k * b->Np + i] += b->part_grad[k * b->Np + i];
  }
  return flag;
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

/* h_minus, h_plus <- the integrand on both sides of the event. Returns 0 or an error code that has been reported. */
static int findIntegrands(Backwards *b, const Passage *e) {
  const CPFunctional *F = b->F;
  if (!F->integrand) return CP_SUCCESS;
  int flag = F->integrand(e->t, e->minus, b->h_minus, F->user_data);
  if (!flag) flag = F->integrand(e->t, e->plus, b->h_plus, F->user_data);
  return flag ? contactUserFailed(b->c, b->function, "the integrand", e->t, flag) : CP_SUCCESS;
}

/* Takes l from after an event to before it, or at the start, whose time is fixed. Returns 0 or an
 * error code that has been reported. */
static int jump(Backwards *b, const Passage *e, int is_start) {
  CPContact c = b->c;
  int flag    = is_start ? CP_SUCCESS : checkSliding(c, e, b->function);
  c->t        = e->earlier ? e->earlier->t : e->t; /* then the newest event */
  if (!flag) flag = enter(c, e->before, e, e->t, e->minus, b->function);
  takeImpact(c, e);
  N_VScale(1.0, e->minus, c->saved);
  if (!flag) flag = contactDirections(c, e->t, e->minus, b->function);
  if (!flag && !is_start) flag = contactSensBefore(c, e->t, e->minus, b->function);
  for (int i = 0; i < 2 * c->npoints; i++) c->sens.decided[i] = (char)(!is_start && e->decided[i]);
  if (!flag) flag = contactEventTimes(c, e->t, b->function);
  if (!flag) flag = enter(c, e->after, e, e->t, e->plus, b->function);
  if (!flag) flag = contactSensAfter(c, e->t, e->plus, b->function);
  if (!flag) flag = findIntegrands(b, e);
  for (int k = 0; k < b->F->ng && !flag; k++) {
    for (int j = 0; j < b->Np + c->n; j++) {
      const sunrealtype value =
          N_VDotProd(b->l[k], c->sens.S[j]) + (b->h_minus[k] - b->h_plus[k]) * c->sens.dtau[j];
      if (j < b->Np) b->dG[k * b->Np + j] += value;
      else N_VGetArrayPointer(c->sens.y)[j - b->Np] = value;
    }
    N_VScale(1.0, c->sens.y, b->l[k]);
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
}

/* Allocates the workspace. Returns 0, or 1 without memory. */
static int openBackwards(Backwards *b) {
  const size_t ng = (size_t)b->F->ng, Np = (size_t)b->Np;
  b->part = calloc(3 * ng + 2 * ng * (Np + 1), sizeof *b->part);
  b->l    = N_VCloneVectorArray(b->F->ng, b->c->newest);
  if (!b->part || !b->l) return 1;
  b->h_minus = b->part + ng, b->h_plus = b->h_minus + ng, b->part_grad = b->h_plus + ng;
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
  if (contactSensAllocate(c, Np + c->n) || openBackwards(&b))
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
