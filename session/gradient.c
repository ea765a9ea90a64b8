/* Gradients of functionals through the events of a session. Between two events lies a flight, whose gradient is that of
 * CPIntegratorGradient. A first run records the events; then the flights follow one another, backwards (adjoint) or forwards.
 *
 * Samples at a fixed time t_k leave the state alone, and set numbers c, on which f depends until the next one,
 *
 *   c+ = Phi(t_k, y, p, c-),   so that   dc+ = Phi_y S + Phi_p dp + Phi_c dc-.
 *
 * In a flight c are parameters like p. Backwards, mu^T Phi is an end term of the flight before t_k, where mu = dG/dc+; forwards, the values
 * of such end terms are Phi and y themselves. So nothing but flights has to be differentiated.
 *
 * Events that change the right-hand side f alone, and whose time is the root of a margin g(t, y, p), have
 *
 *   S+ = S- + (f- - f+) dtau,   dtau = -(g_y S- + g_p) / g',   g' = g_t + g_y f-,
 *
 * and here g is an end term of the flight before it, backwards with the factor -(l+ . (f- - f+) + h- - h+) / g', where h is the integrand.
 * If such an event, or one at a given time (dtau = 0), also takes y- to y+ = R(t, y-, p),
 *
 *   S+ = R_y S- + R_p + (R_t + R_y f- - f+) dtau,
 *
 * R is an end term as well: backwards l+ . R in place of l+ . y, and forwards R in place of y. What R leaves in numbers c, such as the place
 * where a joint closes, is taken as samples are, at a time that moves: dc+ = C_y S + C_p + (C_t + C_y f-) dtau.
 *
 * At other events the source takes S- to S+ (CPEventDerivatives.jump), and with the derivatives dtau of the event's time
 *
 *   l-_j = l+^T S+_j + (h(t, y-) - h(t, y+)) dtau_j,
 *
 * where S-_j is the tangent P e_j; dG/dp and mu get the same of their parameter and the smallest S- that is consistent with it. */
#include "session_impl.h"

#include "cpodes/base/differences.h"
#include "cpodes/base/gradient_tolerance.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An event, or the start */
typedef struct Passage {
  sunrealtype t;
  N_Vector minus, plus; /* the states before and after it */
  void **record;        /* [nsources] of CPEventDerivatives.record, or NULL */
  char *samples;        /* [nsources] 1: the source has sampled */
  int sets, jumps;      /* sets: samples, or the map, set numbers */
  int margin,
      map; /* the numbers of the sources whose margin is the event, and that map the state, or -1 */
  sunrealtype *held; /* [nheld] after it */
  struct Passage *earlier, *later;
} Passage;

struct SessionTape_ {
  Passage *first, *newest;
  /* [nheld] all numbers that samples set; on the first nactive of them f depends, the others are memory of the sources */
  sunrealtype **held;
  int nheld, nactive;
};

static const CPEventDerivatives *ofSource(CPSession s, int i) {
  return s->source[i].is.derivatives;
}

/* ---- the record ---- */

static void freePassage(CPSession s, Passage *e) {
  if (e->minus) N_VDestroy(e->minus);
  if (e->plus) N_VDestroy(e->plus);
  for (int i = 0; i < s->nsources && e->record; i++)
    if (e->record[i]) ofSource(s, i)->drop(e->record[i], s->source[i].is.data);
  free(e->record), free(e->samples), free(e->held), free(e);
}

static void freeTape(CPSession s, SessionTape *tape) {
  while (tape->first) {
    Passage *e  = tape->first;
    tape->first = e->later;
    freePassage(s, e);
  }
  free(tape->held);
  tape->held = NULL;
}

static Passage *newPassage(CPSession s) {
  const size_t n = (size_t)s->nsources + 1, nheld = (size_t)s->tape->nheld + 1;
  Passage *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->record = calloc(n, sizeof *e->record), e->samples = calloc(n, 1);
  e->held  = calloc(nheld, sizeof *e->held);
  e->minus = N_VClone(s->y), e->plus = N_VClone(s->y);
  if (e->record && e->samples && e->held && e->minus && e->plus) return e;
  freePassage(s, e);
  return NULL;
}

/* Returns the number of a source that has asked for a restart, says nothing of jumps of the state, and has it after one that is larger than
 * the tolerances, or -1. */
static int whoJumped(CPSession s, N_Vector minus) {
  const sunrealtype *before = N_VGetArrayPointer(minus), *after = N_VGetArrayPointer(s->y),
                    *atol = s->vatol ? N_VGetArrayPointer(s->vatol) : NULL;
  int jumped = 0, who = -1;
  for (sunindextype i = 0; i < N_VGetLength(s->y); i++)
    jumped |= !(fabs(after[i] - before[i]) <=
                s->rtol * fmax(fabs(before[i]), fabs(after[i])) + (atol ? atol[i] : s->atol));
  for (int i = 0; i < s->nsources && jumped; i++) {
    if (!s->source[i].restarts) continue;
    if (ofSource(s, i)->jump) return -1; /* It may have been that one. */
    who = i;
  }
  return who;
}

static int addPassage(CPSession s, N_Vector minus, const char *function) {
  SessionTape *tape = s->tape;
  Passage *e        = newPassage(s);
  int flag = CP_SUCCESS, others = 0;
  if (!e) return cpReport(&s->log, CP_MEM_FAIL, function, "no memory for the events of a gradient");
  e->t = s->t, e->earlier = tape->newest, e->margin = e->map = -1;
  if (tape->newest) tape->newest->later = e;
  else tape->first = e;
  tape->newest = e;
  N_VScale(1.0, minus, e->minus);
  N_VScale(1.0, s->y, e->plus);
  for (int j = 0; j < tape->nheld; j++) e->held[j] = *tape->held[j];
  for (int i = 0; i < s->nsources && !flag; i++) {
    const Source *source        = &s->source[i];
    const CPEventDerivatives *d = source->is.derivatives;
    e->samples[i] = (char)(e->earlier && source->acted && d && d->nheld > 0 && !d->record);
    e->sets |= e->samples[i];
    int jumps = 0;
    if (d && d->record)
      flag = d->record(&e->record[i], s->t, !e->earlier, source->handled, &jumps, source->is.data);
    if (flag) flag = sessionOfSource(s, source, flag, function);
    if (jumps && d->jump) e->jumps = 1;
    else if (jumps) others++, e->margin = jumps & 1 ? i : -1, e->map = jumps & 2 ? i : -1;
  }
  const int who = flag || !e->earlier || e->map >= 0 ? -1 : whoJumped(s, minus);
  if (who >= 0)
    flag = cpReport(
        &s->log, CP_NOT_SUPPORTED, function,
        "at t = %.10g: the state jumps at an event of \"%s\", which derivatives do not pass", s->t,
        s->source[who].is.name);
  if (!flag && others > 0 && (others > 1 || e->jumps || e->sets))
    flag =
        cpReport(&s->log, CP_NOT_SUPPORTED, function,
                 "at t = %.10g: derivatives do not pass an event of \"%s\" at the time of another",
                 s->t, s->source[e->margin >= 0 ? e->margin : e->map].is.name);
  e->sets |= e->map >= 0 && ofSource(s, e->map)->nheld > 0;
  return flag;
}

int sessionRecord(CPSession s, const char *function) {
  int matters = 0, restarts = 0;
  for (int i = 0; i < s->nsources; i++) restarts |= s->source[i].restarts;
  for (int i = 0; i < s->nsources; i++) {
    const Source *source        = &s->source[i];
    const CPEventDerivatives *d = source->is.derivatives;
    if (source->restarts && !d)
      return cpReport(&s->log, CP_NOT_SUPPORTED, function,
                      "at t = %.10g: derivatives do not pass the events of \"%s\"", s->t,
                      source->is.name);
    matters |= d && (d->record ? restarts : source->acted && d->nheld > 0);
  }
  return matters ? addPassage(s, s->saved, function) : CP_SUCCESS;
}

/* ---- a gradient ---- */

typedef struct {
  CPSession s;
  const char *function;
  const CPFunctional *F;
  const CPGradientOptions *options; /* or NULL */
  sunrealtype t1;
  int forwards, n, ng;
  int Np, nheld, nactive; /* parameters, and numbers that samples set */
  int count;              /* Np + nactive, those of `all` */
  CPParameters all;
  int *index, *alias;  /* [count] plist; [Np] the held number that is this parameter, or -1 */
  sunrealtype *size;   /* [count] */
  sunrealtype *G, *dG; /* [ng], [ng x Np] sums */
  /* [nvalues], [nvalues x count] of a flight, whose values forwards are G, Phi, y and the margin */
  int nvalues;
  sunrealtype *part, *part_grad;
  sunrealtype *h_minus, *h_plus; /* [ng] the integrand on both sides of an event */
  sunrealtype *mu;               /* [ng x nheld] dG/dc */
  sunrealtype *by_memory; /* [(nheld - nactive) x nheld] the derivatives of Phi, which is linear in these */
  sunrealtype *rates;      /* [nheld x Np] dc/dp */
  sunrealtype *kept, *phi; /* [nheld] workspace */
  sunrealtype *times;      /* [F->ntimes + 1] of a flight */
  sunrealtype *dtau;       /* [count + n] */
  N_Vector *l;             /* [ng] */
  int ndirections;
  N_Vector *S;       /* [ndirections] */
  const Passage *to; /* at the end of the flight, or NULL */
  /* where `to` has a margin: its rate, R' - f+, and [ng] the factors of the margin backwards; along: workspace, [5 (1 + nheld + n)], for
   * derivatives of the margin, of C and of R; drift: [nheld] C', in it */
  sunrealtype slope, *factor, *along, *drift;
  N_Vector step, moved, passed;
  sunrealtype until; /* user's end terms of the flight are before this time, or NAN: all */
} Gradient;

/* *margin <- that of the event g->to at (t, y), or 0; passed <- R, or y; held [nheld] <- Phi, with the present numbers, which stay as they
 * are. The system is that before the event. Returns 0 or what a source has returned. */
static int passAt(Gradient *g, sunrealtype t, N_Vector y, sunrealtype *margin, sunrealtype *held) {
  const Passage *e      = g->to;
  const CPSession s     = g->s;
  const Source *source  = s->source;
  sunrealtype **numbers = s->tape->held;
  CPObject integrator   = CP_OBJECT(s->mem);
  const int running     = integrator->running;
  int failed            = 0;
  integrator->running   = 0; /* It does not step, and maps may switch rows. */
  *margin               = 0.0;
  N_VScale(1.0, y, g->passed);
  if (e->margin >= 0)
    failed =
        ofSource(s, e->margin)->margin(e->record[e->margin], t, y, margin, source[e->margin].is.data);
  for (int j = 0; j < g->nheld; j++) g->kept[j] = *numbers[j];
  if (e->map >= 0 && !failed)
    failed = ofSource(s, e->map)->map(e->record[e->map], t, g->passed, source[e->map].is.data);
  for (int i = 0; i < s->nsources && !failed; i++) {
    const CPEventSource *is = &source[i].is;
    const CPEvent event = {.size = sizeof event, .t = t, .source = i, .name = is->name, .timed = 1};
    const int asked     = e->samples[i] ? is->handle(s, &event, y, is->data) : CP_CONTINUE;
    if (asked < 0) failed = asked;
  }
  for (int j = 0; j < g->nheld; j++) held[j] = *numbers[j], *numbers[j] = g->kept[j];
  integrator->running = running;
  return failed;
}

/* by_memory <- the derivatives of Phi at the end of the flight */
static int findByMemory(Gradient *g) {
  const Passage *to = g->to;
  sunrealtype margin;
  int failed = 0;
  for (int m = g->nactive; m < g->nheld && !failed; m++) {
    sunrealtype *number = g->s->tape->held[m], *row = g->by_memory + (m - g->nactive) * g->nheld;
    const sunrealtype value = *number,
                      step  = fmax(1.0, fabs(value)); /* of any size: Phi is linear */
    *number                 = value + step;
    failed                  = passAt(g, to->t, to->minus, &margin, row);
    *number                 = value - step;
    if (!failed) failed = passAt(g, to->t, to->minus, &margin, g->phi);
    *number = value;
    for (int j = 0; j < g->nheld; j++) row[j] = (row[j] - g->phi[j]) / (2.0 * step);
  }
  return failed ? cpReport(&g->s->log, failed < 0 ? failed : CP_USERFUNC_FAIL, g->function,
                           "at t = %.10g: the derivatives of a sample failed (%d)", to->t, failed)
                : CP_SUCCESS;
}

/* ---- the system beside an event ---- */

/* Puts the sources, and the numbers that samples set, where they were before (after = 0) or after an event. */
static int enter(Gradient *g, const Passage *e, int after, sunrealtype *part) {
  const CPSession s      = g->s;
  int flag               = CP_SUCCESS;
  const Passage *numbers = after || !e->earlier ? e : e->earlier;
  for (int j = 0; j < g->nheld; j++) *s->tape->held[j] = numbers->held[j];
  if (g->nheld > 0 && s->mech) CPMechSetUserData(s->mech, CPMechGetUserData(s->mech));
  for (int i = 0; i < s->nsources && !flag; i++) {
    const CPEventSource *is = &s->source[i].is;
    if (!e->record[i]) continue;
    flag = is->derivatives->enter(e->record[i], after, e->t, after ? e->plus : e->minus, part,
                                  is->data);
    if (flag) flag = sessionOfSource(s, &s->source[i], flag, g->function);
  }
  return flag;
}

/* h_minus, h_plus <- the integrand on both sides of the event. Returns 0 or an error code that has been reported. */
static int findIntegrands(Gradient *g, const Passage *e) {
  const CPFunctional *F = g->F;
  if (!F->integrand) return CP_SUCCESS;
  int flag = F->integrand(e->t, e->minus, g->h_minus, F->user_data);
  if (!flag) flag = F->integrand(e->t, e->plus, g->h_plus, F->user_data);
  return flag ? cpReport(&g->s->log, CP_USERFUNC_FAIL, g->function,
                         "at t = %.10g: the integrand failed (%d)", e->t, flag)
              : CP_SUCCESS;
}

static int rightHandSide(Gradient *g, sunrealtype t, N_Vector y, N_Vector f) {
  const CPSession s = g->s;
  const int flag    = s->mech ? CPMechRhs(t, y, f, s->mech) : s->f(t, y, f, s->f_data);
  return flag ? cpReport(&s->log, flag < 0 ? flag : CP_USERFUNC_FAIL, g->function,
                         "at t = %.10g: the right-hand side failed beside an event (%d)", t, flag)
              : CP_SUCCESS;
}

/* The margin and, if the event has one, Phi and R along the motion; for cpDifferentiate */
static int alongMotion(double e, double *value, void *data) {
  Gradient *g       = data;
  const Passage *to = g->to;
  N_VLinearSum(1.0, to->minus, e, g->step, g->moved);
  const int flag = passAt(g, to->t + e, g->moved, value, g->phi);
  if (to->map < 0) return flag;
  memcpy(value + 1, g->phi, (size_t)g->nheld * sizeof *value);
  memcpy(value + 1 + g->nheld, N_VGetArrayPointer(g->passed), (size_t)g->n * sizeof *value);
  return flag;
}

/* Finds g->slope and, if it has one that is not zero, g->step = R_t + R_y f- - f+ and g->drift = C_t + C_y f- at the event g->to. */
static int findMargin(Gradient *g) {
  const Passage *e = g->to;
  sunrealtype part = 1.0;
  int flag         = enter(g, e, 0, &part);
  if (!flag) flag = rightHandSide(g, e->t, e->minus, g->step);
  if (!flag) {
    const sunrealtype h = CP_SIXTH_ORDER_STEP * (e->t - e->earlier->t);
    const int all = 1 + g->nheld + g->n, n = e->map >= 0 ? all : 1;
    memset(g->along, 0, (size_t)all * sizeof *g->along);
    if (!(h > 0.0) || cpDifferentiate(alongMotion, g, n, h, 0.0, g->along, g->along + all) ||
        g->along[0] == 0.0 || !isfinite(g->along[0]))
      flag = cpReport(&g->s->log, CP_CONTACT_NO_GRADIENT, g->function,
                      "at t = %.10g: the time of an event of \"%s\" cannot be differentiated", e->t,
                      g->s->source[e->margin].is.name);
    g->slope = g->along[0];
    if (n > 1)
      memcpy(N_VGetArrayPointer(g->step), g->drift + g->nheld, (size_t)g->n * sizeof *g->along);
  }
  if (!flag) flag = enter(g, e, 1, &part);
  if (!flag) flag = rightHandSide(g, e->t, e->plus, g->moved);
  if (!flag) N_VLinearSum(1.0, g->step, -1.0, g->moved, g->step);
  return flag ? flag : findIntegrands(g, e);
}

/* ---- the functional of a flight ---- */

static int endOf(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  Gradient *g   = data;
  const int own = g->F->end && (isnan(g->until) || t < g->until);
  int flag      = own ? g->F->end(t, y, values, g->F->user_data) : 0;
  if (!g->to || t != g->to->t) return flag;
  sunrealtype margin = 0.0;
  if (!flag) flag = passAt(g, t, y, &margin, g->phi);
  for (int k = 0; k < g->ng && !g->forwards; k++) {
    if (g->to->margin >= 0) values[k] += g->factor[k] * margin;
    if (g->to->map < 0) continue;
    N_VLinearSum(1.0, g->passed, -1.0, g->to->plus, g->moved);
    values[k] += N_VDotProd(g->l[k], g->moved);
  }
  if (g->forwards) {
    values[g->nvalues - 1] = margin;
    if (g->to->sets) memcpy(values + g->ng, g->phi, (size_t)g->nheld * sizeof *values);
    memcpy(values + g->ng + g->nheld, N_VGetArrayPointer(g->passed), (size_t)g->n * sizeof *values);
  } else if (g->to->sets)
    for (int k = 0; k < g->ng; k++)
      for (int j = 0; j < g->nheld; j++)
        values[k] += g->mu[k * g->nheld + j] * (g->phi[j] - g->to->held[j]);
  return flag;
}
static int endGradOf(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp, void *data) {
  const CPFunctional *F = ((Gradient *)data)->F;
  return F->end_grad(t, y, k, gy, gp, F->user_data);
}
static int integrandOf(sunrealtype t, N_Vector y, sunrealtype *values, void *data) {
  const CPFunctional *F = ((Gradient *)data)->F;
  return F->integrand(t, y, values, F->user_data);
}
static int integrandGradOf(sunrealtype t, N_Vector y, int k, N_Vector gy, sunrealtype *gp,
                           void *data) {
  const Gradient *g = data;
  return k < g->ng ? g->F->integrand_grad(t, y, k, gy, gp, g->F->user_data) : 0;
}

/* Fills in the functional of the flight from e on: the end terms of the user at times from e to before the next event, which has those at its
 * own time, and those of samples and states at the end. */
static CPFunctional functionalOf(Gradient *g, const Passage *e) {
  const CPFunctional *F = g->F;
  CPFunctional own      = *F;
  const int ends = g->to && (g->forwards || g->to->sets || g->to->margin >= 0 || g->to->map >= 0);
  own.ng = g->forwards && g->to ? g->nvalues : F->ng, own.user_data = g;
  own.times = NULL, own.ntimes = 0;
  g->until = g->to ? g->to->t : NAN;
  for (int i = 0; F->times && i < F->ntimes; i++)
    if (F->times[i] >= e->t && !(F->times[i] >= g->until)) g->times[own.ntimes++] = F->times[i];
  const int has_own = F->end && (F->times ? own.ntimes > 0 : !g->to);
  if (F->times && ends) g->times[own.ntimes++] = g->to->t;
  if (F->times && own.ntimes > 0) own.times = g->times;
  own.end            = has_own || ends ? endOf : NULL;
  own.end_grad       = has_own && !ends && F->end_grad ? endGradOf : NULL;
  own.integrand      = F->integrand ? integrandOf : NULL;
  own.integrand_grad = F->integrand_grad ? integrandGradOf : NULL;
  return own;
}

/* ---- flights ---- */

/* Integrates over the flight that begins with e: g->part and g->part_grad, backwards also g->l, are its results. *empty: out, 1 if there
 * is nothing to integrate. */
static int flight(Gradient *g, const Passage *e, int *empty) {
  const CPSession s = g->s;
  CPGradientOptions options =
      g->options ? *g->options : (CPGradientOptions)CP_INIT(CPGradientOptions);
  const sunrealtype t1 = e->later ? e->later->t : g->t1;
  sunrealtype part     = 1.0;
  g->to                = e->later;
  CPFunctional own     = functionalOf(g, e);
  /* after the last of the times, or an event at the time of another */
  *empty = !own.end &&
           (g->to ? !(t1 - e->t > 4 * DBL_EPSILON * fabs(t1)) : !own.integrand && !options.after);
  if (*empty) return CP_SUCCESS;
  int flag = enter(g, e, 1, &part);
  if (flag) return flag;
  /* The adjoint of a height is that of a velocity over the duration of a flight, and the errors of the latter add up over flights. */
  options.reltol = options.reltol > 0.0 ? options.reltol : cp_gradient_tolerance;
  options.reltol = fmax(sqrt(part) * options.reltol, CP_LEAST_TOLERANCE);
  options.abstol *= sqrt(part);
  options.flight = 1;
  if (!g->forwards && g->to && g->to->map < 0) options.after = g->l;
  s->t = e->t;
  N_VScale(1.0, e->plus, s->y);
  flag = sessionRestart(s, g->function);
  if (flag < 0) return flag;
  return sessionOfIntegrator(
      s, CPIntegratorGradient(s->mem, t1, &own, g->count > 0 ? &g->all : NULL, &options, g->part,
                              g->count > 0 ? g->part_grad : NULL, g->forwards ? NULL : g->l));
}

/* The part of the derivative with respect to parameter i that is not that of the number that samples set in its place */
static sunrealtype ownPart(const Gradient *g, const sunrealtype *row, int i) {
  return row[i] - (g->alias[i] >= 0 ? row[g->Np + g->alias[i]] : 0.0);
}

/* ---- backwards ---- */

/* Adds row [count], derivatives of functional k, to dG and mu. */
static void take(Gradient *g, int k, const sunrealtype *row) {
  for (int i = 0; i < g->Np; i++) g->dG[k * g->Np + i] += ownPart(g, row, i);
  for (int j = 0; j < g->nactive; j++) g->mu[k * g->nheld + j] += row[g->Np + j];
}

/* S <- S+ of the sources' jumps; S is in: S- if given is set, otherwise the directions that are described at the top. */
static int jump(Gradient *g, const Passage *e, int given) {
  const CPSession s = g->s;
  int flag          = enter(g, e, 0, &(sunrealtype){1.0});
  for (int i = 0; i < s->nsources && !flag; i++) {
    const CPEventSource *is = &s->source[i].is;
    if (!e->record[i] || !is->derivatives->jump) continue;
    flag = is->derivatives->jump(e->record[i], e->earlier ? e->earlier->t : e->t,
                                 g->count > 0 ? &g->all : NULL, g->ndirections, given, g->S,
                                 g->dtau, is->data);
    if (flag) flag = sessionOfSource(s, &s->source[i], flag, g->function);
  }
  return flag ? flag : findIntegrands(g, e);
}

static int jumpBack(Gradient *g, const Passage *e) {
  const int flag = jump(g, e, 0);
  for (int k = 0; k < g->ng && !flag; k++) {
    sunrealtype *row = g->part_grad;
    for (int j = 0; j < g->count + g->n; j++)
      row[j] = N_VDotProd(g->l[k], g->S[j]) + (g->h_minus[k] - g->h_plus[k]) * g->dtau[j];
    take(g, k, row);
    memcpy(N_VGetArrayPointer(g->l[k]), row + g->count, (size_t)g->n * sizeof *row);
  }
  return flag;
}

/* mu before the samples at the end of the flight, whose part from other numbers than memory is the flight's */
static int passSamples(Gradient *g) {
  const int flag = findByMemory(g);
  for (int k = 0; k < g->ng && !flag; k++) {
    sunrealtype *mu = g->mu + k * g->nheld;
    memset(g->phi, 0, (size_t)g->nheld * sizeof *g->phi);
    for (int m = g->nactive; m < g->nheld; m++)
      for (int j = 0; j < g->nheld; j++)
        g->phi[m] += g->by_memory[(m - g->nactive) * g->nheld + j] * mu[j];
    memcpy(mu, g->phi, (size_t)g->nheld * sizeof *mu);
  }
  return flag;
}

/* The factors of the margin of the event e in the flight before it */
static int findFactors(Gradient *g, const Passage *e) {
  g->to          = e;
  const int flag = findMargin(g);
  for (int k = 0; k < g->ng && !flag; k++) {
    sunrealtype sum = N_VDotProd(g->l[k], g->step) + g->h_minus[k] - g->h_plus[k];
    for (int j = 0; j < g->nheld; j++) sum += g->mu[k * g->nheld + j] * g->drift[j];
    g->factor[k] = -sum / g->slope;
  }
  return flag;
}

static int backwards(Gradient *g, N_Vector *y0S) {
  int flag = CP_SUCCESS, empty;
  for (const Passage *e = g->s->tape->newest; e && !flag; e = e->earlier) {
    if (e->later && e->later->margin >= 0) flag = findFactors(g, e->later);
    if (!flag) flag = flight(g, e, &empty);
    if (!flag && empty && !g->to) /* after the last of the times */
      for (int k = 0; k < g->ng; k++) N_VConst(0.0, g->l[k]);
    if (!flag && !empty && g->to && g->to->sets) flag = passSamples(g);
    for (int k = 0; k < g->ng && !flag && !empty; k++)
      g->G[k] += g->part[k], take(g, k, g->part_grad + k * g->count);
    if (!flag && e->jumps) flag = jumpBack(g, e);
  }
  for (int k = 0; k < g->ng && !flag; k++)
    for (int i = 0; i < g->Np; i++) {
      if (y0S) g->dG[k * g->Np + i] += N_VDotProd(g->l[k], y0S[i]);
      if (g->alias[i] >= 0) g->dG[k * g->Np + i] += g->mu[k * g->nheld + g->alias[i]];
    }
  return flag;
}

/* ---- forwards ---- */

/* The derivative with respect to parameter i of what has this row [count] of derivatives */
static sunrealtype total(const Gradient *g, const sunrealtype *row, int i) {
  sunrealtype sum = ownPart(g, row, i);
  for (int j = 0; j < g->nactive; j++) sum += row[g->Np + j] * g->rates[j * g->Np + i];
  return sum;
}

/* After a flight: G, dG, and at its end S and dc/dp */
static int arrive(Gradient *g) {
  const int Np = g->Np, sets = g->to && g->to->sets;
  const int moves = g->to && g->to->margin >= 0;
  int flag        = sets ? findByMemory(g) : CP_SUCCESS;
  if (!flag && moves) flag = findMargin(g);
  if (flag) return flag;
  for (int k = 0; k < g->ng; k++) {
    g->G[k] += g->part[k];
    for (int i = 0; i < Np; i++) g->dG[k * Np + i] += total(g, g->part_grad + k * g->count, i);
  }
  if (!g->to) return CP_SUCCESS;
  const sunrealtype *phi = g->part_grad + g->ng * g->count, *y = phi + g->nheld * g->count;
  for (int i = 0; i < Np; i++) {
    for (int m = 0; m < g->n; m++) N_VGetArrayPointer(g->S[i])[m] = total(g, y + m * g->count, i);
    for (int j = 0; j < g->nheld; j++) {
      g->phi[j] = total(g, phi + j * g->count, i);
      for (int m = g->nactive; m < g->nheld; m++)
        g->phi[j] += g->by_memory[(m - g->nactive) * g->nheld + j] * g->rates[m * Np + i];
    }
    const sunrealtype dtau = moves ? -total(g, y + g->n * g->count, i) / g->slope : 0.0;
    for (int j = 0; j < g->nheld && sets; j++)
      g->rates[j * Np + i] = g->phi[j] + (moves ? g->drift[j] * dtau : 0.0);
    if (!moves) continue;
    N_VLinearSum(1.0, g->S[i], dtau, g->step, g->S[i]);
    for (int k = 0; k < g->ng; k++) g->dG[k * Np + i] += (g->h_minus[k] - g->h_plus[k]) * dtau;
  }
  return CP_SUCCESS;
}

/* S+ of the parameters, each with the numbers that follow it */
static int jumpForward(Gradient *g, const Passage *e) {
  for (int j = g->Np; j < g->count; j++) N_VConst(0.0, g->S[j]);
  int flag = jump(g, e, 1);
  for (int i = 0; i < g->Np && !flag; i++) {
    const sunrealtype *r = g->rates + i;
    if (g->alias[i] >= 0) { /* Its change is that of the number in its place, which is added below. */
      N_VLinearSum(1.0, g->S[i], -1.0, g->S[g->Np + g->alias[i]], g->S[i]);
      g->dtau[i] -= g->dtau[g->Np + g->alias[i]];
    }
    for (int j = 0; j < g->nactive; j++) {
      N_VLinearSum(1.0, g->S[i], r[j * g->Np], g->S[g->Np + j], g->S[i]);
      g->dtau[i] += r[j * g->Np] * g->dtau[g->Np + j];
    }
    for (int k = 0; k < g->ng; k++)
      g->dG[k * g->Np + i] += (g->h_minus[k] - g->h_plus[k]) * g->dtau[i];
  }
  return flag;
}

static int forwards(Gradient *g, N_Vector *y0S) {
  int flag   = CP_SUCCESS, empty;
  g->all.y0S = g->S;
  for (int i = 0; i < g->Np; i++) {
    if (y0S) N_VScale(1.0, y0S[i], g->S[i]);
    else N_VConst(0.0, g->S[i]);
    if (g->alias[i] >= 0) g->rates[g->alias[i] * g->Np + i] = 1.0;
  }
  for (const Passage *e = g->s->tape->first; e && !flag; e = e->later) {
    g->to = e->later;
    if (e->jumps) flag = jumpForward(g, e);
    for (int j = g->Np; j < g->count; j++) N_VConst(0.0, g->S[j]);
    if (!flag) flag = flight(g, e, &empty);
    if (!flag && !empty) flag = arrive(g);
  }
  return flag;
}

/* ---- the whole computation ---- */

typedef struct {
  sunrealtype rtol, atol;
  N_Vector vatol;
} Kept;

/* The tolerances become those of the states of a gradient, from which events have their times and flights their starts. kept: out, those before; its vector is not the session's any more. Returns 0 or an error code that has been reported. */
static int tighten(CPSession s, Kept *kept) {
  const sunrealtype *y    = N_VGetArrayPointer(s->y);
  const sunrealtype *atol = s->vatol ? N_VGetArrayPointer(s->vatol) : NULL;
  const sunindextype n    = N_VGetLength(s->y);
  sunrealtype sum         = 0.0;
  for (sunindextype i = 0; i < n; i++) {
    const sunrealtype size = y[i] / (s->rtol * fabs(y[i]) + (atol ? atol[i] : s->atol));
    if (isfinite(size)) sum += size * size;
  }
  const sunrealtype tol  = 1.0 / fmax(1.0, sqrt(sum / (sunrealtype)n)),
                    part = cpGradientTolerance(s->now, tol, 0) / tol;
  *kept                  = (Kept){s->rtol, s->atol, s->vatol};
  if (s->vatol && !(s->vatol = N_VClone(kept->vatol)))
    return s->vatol = kept->vatol, cpReport(&s->log, CP_MEM_FAIL, "CPSessionGradient", "no memory");
  s->rtol *= part, s->atol *= part;
  if (s->vatol) N_VScale(part, kept->vatol, s->vatol);
  int flag = sessionOfIntegrator(s, sessionTolerances(s));
  /* which a start that satisfies the tolerances as given need not satisfy */
  if (!flag && s->mech) flag = sessionOfIntegrator(s, CPIntegratorCalcIC(s->mem, s->y));
  return flag;
}

static void relax(CPSession s, const Kept *kept) {
  if (s->vatol != kept->vatol) N_VDestroy(s->vatol);
  s->rtol = kept->rtol, s->atol = kept->atol, s->vatol = kept->vatol;
  sessionTolerances(s);
}

/* Runs from the start, and records the events. Returns 0 or an error code that has been reported. */
static int run(Gradient *g) {
  const CPSession s = g->s;
  sunrealtype t     = s->t;
  Kept kept         = {s->rtol, s->atol, s->vatol};
  int flag          = s->nsources > 0 ? tighten(s, &kept) : CP_SUCCESS;
  if (!flag) flag = addPassage(s, s->y, g->function);
  N_Vector y = flag ? NULL : N_VClone(s->y);
  if (!flag && !y) flag = cpReport(&s->log, CP_MEM_FAIL, g->function, "no memory for a state");
  if (!flag) flag = CP_STOPPED;
  while (flag == CP_STOPPED) flag = CPSessionRun(s, g->t1, y, &t);
  relax(s, &kept);
  if (y) N_VDestroy(y);
  return flag;
}

static int checkTimes(CPSession s, sunrealtype t1, const CPFunctional *F, const char *function) {
  if (F->times && (!F->end || F->ntimes < 1))
    return cpReport(&s->log, CP_ILL_INPUT, function, "F->times needs F->end, and ntimes > 0: %d",
                    F->ntimes);
  for (int j = 0; F->times && j < F->ntimes; j++)
    if (!(F->times[j] >= s->t && F->times[j] <= t1 && (j == 0 || F->times[j] > F->times[j - 1])))
      return cpReport(&s->log, CP_ILL_INPUT, function,
                      "F->times must lead from t0 = %.15g to t1 = %.15g: times[%d] = %.15g", s->t,
                      t1, j, F->times[j]);
  return CP_SUCCESS;
}

static int checkArguments(CPSession s, sunrealtype t1, const CPFunctional *F,
                          const CPParameters *parameters, const CPGradientOptions *options,
                          const sunrealtype *G, const sunrealtype *dG, N_Vector *gradient,
                          const char *function) {
  sunrealtype steps  = 0;
  const int forwards = options && options->mode == CP_GRADIENT_FORWARD;
  if (!s->started) return cpReport(&s->log, CP_NO_INIT, function, "call CPSessionStart first");
  CPObjectGetStat(CP_OBJECT(s->mem), "steps", &steps);
  if (steps > 0 || s->t != s->t0 || CPIntegratorGetSens(s->mem, NULL))
    return cpReport(
        &s->log, CP_TOO_LATE, function,
        "steps have been taken, or there are forward sensitivities: call CPSessionStart again");
  if (options && options->mode != CP_GRADIENT_ADJOINT && !forwards)
    return cpReport(&s->log, CP_ILL_INPUT, function,
                    "options->mode must be of CPGradientMode, is %d", (int)options->mode);
  if (F->ng < 1 || !G || (parameters && (parameters->n < 1 || !dG || !parameters->values)) ||
      !(t1 > s->t && isfinite(t1)))
    return cpReport(&s->log, CP_ILL_INPUT, function,
                    "G, and with parameters dG and their values, must not be NULL, F->ng > 0, "
                    "their number > 0, t1 finite and after the start: t1 = %g",
                    t1);
  if (forwards && (!parameters || gradient || options->after))
    return cpReport(
        &s->log, CP_ILL_INPUT, function,
        "forwards parameters must not be NULL, and gradient and options->after must be");
  return checkTimes(s, t1, F, function);
}

/* Collects the numbers that samples set. Returns 0 or CP_MEM_FAIL. */
static int findHeld(CPSession s, SessionTape *tape) {
  int n = 0;
  for (int i = 0; i < s->nsources; i++) n += ofSource(s, i) ? ofSource(s, i)->nheld : 0;
  tape->held = calloc((size_t)n + 1, sizeof *tape->held);
  if (!tape->held) return CP_MEM_FAIL;
  for (int memory = 0; memory < 2; memory++) {
    for (int i = 0; i < s->nsources; i++) {
      const CPEventDerivatives *d = ofSource(s, i);
      const int nactive           = d ? d->nheld - d->nmemory : 0;
      for (int j = memory ? nactive : 0; d && j < (memory ? d->nheld : nactive); j++) {
        int known = 0; /* Several sources may set one. */
        for (int k = 0; k < tape->nheld; k++) known |= tape->held[k] == d->held[j];
        if (!known) tape->held[tape->nheld++] = d->held[j];
      }
    }
    if (!memory) tape->nactive = tape->nheld;
  }
  return CP_SUCCESS;
}

/* g->all <- the given parameters, and the held numbers. The array of values begins with the first of all. */
static int gather(Gradient *g, const CPParameters *given) {
  const SessionTape *tape = g->s->tape;
  uintptr_t first         = UINTPTR_MAX;
  if (given) first = (uintptr_t)given->values;
  for (int j = 0; j < g->nactive; j++)
    if ((uintptr_t)tape->held[j] < first) first = (uintptr_t)tape->held[j];
  for (int k = 0; k < g->count; k++) {
    const int j = k - g->Np;
    const sunrealtype *own =
        j >= 0 ? tape->held[j] : given->values + (given->plist ? given->plist[k] : k);
    const uintptr_t at = ((uintptr_t)own - first) / sizeof *own;
    if (at > INT32_MAX)
      return cpReport(&g->s->log, CP_ILL_INPUT, g->function,
                      "the numbers that samples set must be in the array of the parameters");
    g->index[k] = (int)at;
    g->size[k]  = j < 0 && given->pbar ? given->pbar[k] : fabs(*own);
    for (const Passage *e = tape->first; e && j >= 0; e = e->later)
      g->size[k] = fmax(g->size[k], fabs(e->held[j]));
    if (j >= 0 && g->size[k] == 0.0) g->size[k] = 1.0;
  }
  for (int i = 0; i < g->Np; i++) {
    g->alias[i] = -1;
    for (int j = 0; j < g->nactive; j++)
      if (g->index[i] == g->index[g->Np + j]) g->alias[i] = j;
  }
  g->all = (CPParameters){CP_SIZED(CPParameters), .n = g->count, .values = (sunrealtype *)first,
                          .plist = g->index, .pbar = g->size};
  return CP_SUCCESS;
}

static void freeGradient(Gradient *g) {
  free(g->part), free(g->index);
  if (g->step) N_VDestroy(g->step);
  if (g->moved) N_VDestroy(g->moved);
  if (g->passed) N_VDestroy(g->passed);
  if (g->l) N_VDestroyVectorArray(g->l, g->ng);
  if (g->S) N_VDestroyVectorArray(g->S, g->ndirections);
}

/* Allocates the workspace. Returns 0, or 1 if out of memory. */
static int allocate(Gradient *g) {
  const size_t ng = (size_t)g->ng, Np = (size_t)g->Np, nheld = (size_t)g->nheld, n = (size_t)g->n,
               nactive = (size_t)g->nactive, count = Np + nactive;
  const size_t nvalues = g->forwards ? ng + nheld + n + 1 : ng, ntimes = (size_t)g->F->ntimes + 1;
  const size_t rows = nvalues * (count + 1) + count + n; /* jumpBack needs one row of all */
  g->count = (int)count, g->nvalues = (int)nvalues;
  g->index = calloc(count + Np + 1, sizeof *g->index);
  g->part =
      calloc(nvalues + rows + 2 * ng + ng * nheld + nheld * Np + 2 * nheld + ntimes + 2 * count +
                 n + ng * (Np + 1) + (nheld - nactive) * nheld + ng + 5 * (1 + nheld + n),
             sizeof *g->part);
  g->l    = N_VCloneVectorArray(g->ng, g->s->y);
  g->step = N_VClone(g->s->y), g->moved = N_VClone(g->s->y), g->passed = N_VClone(g->s->y);
  if (!g->index || !g->part || !g->l || !g->step || !g->moved || !g->passed) return 1;
  g->alias     = g->index + count;
  g->part_grad = g->part + nvalues, g->h_minus = g->part_grad + rows;
  g->h_plus = g->h_minus + ng, g->mu = g->h_plus + ng, g->rates = g->mu + ng * nheld;
  g->kept = g->rates + nheld * Np, g->phi = g->kept + nheld, g->times = g->phi + nheld;
  g->dtau = g->times + ntimes, g->size = g->dtau + count + n;
  g->by_memory = g->size + count;
  g->factor    = g->by_memory + (nheld - nactive) * nheld;
  g->along     = g->factor + ng;
  g->drift     = g->along + 1;
  if (!g->dG) g->dG = g->along + 5 * (1 + nheld + n);
  return 0;
}

/* Backwards a jump takes one direction for each component of the state, too. Returns 0 or an error code that has been reported. */
static int allocateDirections(Gradient *g) {
  int jumps = 0;
  for (const Passage *e = g->s->tape->first; e; e = e->later) jumps |= e->jumps;
  g->ndirections = g->count + (jumps && !g->forwards ? g->n : 0);
  if (g->ndirections == 0 || (g->S = N_VCloneVectorArray(g->ndirections, g->s->y)))
    return CP_SUCCESS;
  return cpReport(&g->s->log, CP_MEM_FAIL, g->function, "no memory for derivatives at events");
}

/* Restores what a run begins with, and frees the record. */
static void end(Gradient *g) {
  const CPSession s       = g->s;
  const SessionTape *tape = s->tape;
  for (int j = 0; j < tape->nheld && tape->first; j++) *tape->held[j] = tape->first->held[j];
  if (tape->nheld > 0 && s->mech) CPMechSetUserData(s->mech, CPMechGetUserData(s->mech));
  freeTape(s, s->tape);
  sessionPause(s);
  s->tape    = NULL;
  s->started = s->log.running = 0;
  freeGradient(g);
}

int CPSessionGradient(CPSession s, sunrealtype t1, const CPFunctional *F,
                      const CPParameters *parameters, const CPGradientOptions *options,
                      sunrealtype *G, sunrealtype *dG, N_Vector *gradient) {
  CPFunctional functional;
  CPParameters own;
  CPGradientOptions given;
  int flag = sessionIdle(s, 0, __func__);
  if (!flag) flag = cpTake(&s->log, &functional, F, __func__);
  if (!flag && parameters) flag = cpTake(&s->log, &own, parameters, __func__), parameters = &own;
  if (!flag && options) flag = cpTake(&s->log, &given, options, __func__), options = &given;
  if (!flag)
    flag = checkArguments(s, t1, &functional, parameters, options, G, dG, gradient, __func__);
  if (flag) return flag;
  SessionTape tape = {.first = NULL};
  Gradient g       = {.s        = s,
                      .function = __func__,
                      .F        = &functional,
                      .options  = options,
                      .t1       = t1,
                      .forwards = options && options->mode == CP_GRADIENT_FORWARD,
                      .n        = (int)N_VGetLength(s->y),
                      .ng       = functional.ng,
                      .Np       = parameters ? parameters->n : 0,
                      .G        = G,
                      .dG       = dG};
  s->tape          = &tape;
  flag             = findHeld(s, &tape);
  g.nheld = tape.nheld, g.nactive = tape.nactive;
  if (flag || allocate(&g))
    flag = cpReport(&s->log, CP_MEM_FAIL, __func__, "no memory for %d functionals", F->ng);
  if (!flag) flag = run(&g);
  s->log.running = 1;
  if (!flag) flag = gather(&g, parameters);
  if (!flag) flag = allocateDirections(&g);
  if (!flag && s->nroots > 0) flag = sessionOfIntegrator(s, CPIntegratorRootInit(s->mem, 0, NULL));
  if (!flag) memset(G, 0, (size_t)g.ng * sizeof *G);
  if (!flag) memset(g.dG, 0, (size_t)(g.ng * g.Np) * sizeof *dG);
  N_Vector *y0S = parameters ? parameters->y0S : NULL;
  if (!flag) flag = g.forwards ? forwards(&g, y0S) : backwards(&g, y0S);
  for (int k = 0; k < g.ng && gradient && !flag; k++)
    if (gradient[k]) N_VScale(1.0, g.l[k], gradient[k]);
  end(&g);
  return flag;
}
