/* The base of all methods: life cycle, options, tolerances, statistics. */
#include "stepper.h"

#include "cpodes/base/random.h"

#include <math.h>
#include <string.h>

/* ---- life cycle ---- */

void cpStepperCreate(CPIntegrator s, const CPIntegratorOps *ops, SUNContext ctx) {
  s->log.kind       = &cpIntegratorKind;
  s->ops            = ops;
  s->ctx            = ctx;
  s->project_output = SUNTRUE;
  s->max_correction = CP_MAX_CORRECTION_DEFAULT;
}

int cpStepperAllocate(CPIntegrator s, N_Vector like, N_Vector *const own[], size_t count) {
  CP_VECTORS(&s->memory, like, &s->y0);
  if (s->y0) cpUseOwnLoops(s->y0), like = s->y0;
  CP_VECTORS(&s->memory, like, &s->y, &s->ewt, &s->err, &s->delta, &s->tmp, &s->rates, &s->whole);
  cpArenaVectors(&s->memory, like, own, count);
  if (!s->memory.failed) {
    N_VConst(0.0, s->rates);
    s->rates_t = NAN;
    return CP_SUCCESS;
  }
  cpArenaFree(&s->memory);
  s->y0 = NULL;
  return CP_MEM_FAIL;
}

void cpStepperFree(CPIntegrator s) {
  cpArenaFree(&s->memory); /* first, since it may own a solver that uses the system */
  if (s->system.detach) s->system.detach(s->system.data);
  cpWorkFree(&s->step);
  cpWorkFree(&s->out);
  if (s->tol.vabstol) N_VDestroy(s->tol.vabstol);
}

void cpStepperRestart(CPIntegrator s, sunrealtype t0, N_Vector y0) {
  N_VScale(1.0, y0, s->y0);
  N_VScale(1.0, y0, s->y);
  cpStepperForgetTurns(s);
  s->t0 = s->t     = t0;
  s->start_checked = 0;
  s->nst_out       = -1;
  s->short_steps   = (CPShortSteps){.t = t0};
  s->stats         = (CPIntegratorStats){0};
  cpWorkRestart(s->step, &s->stats_before);
}

/* ---- checks of arguments ---- */

int cpStepperExists(CPIntegrator s, const char *function) {
  return s ? CP_SUCCESS : cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
}

int cpStepperInitialised(CPIntegrator s, const char *function) {
  if (!s) return cpStepperExists(s, function);
  if (s->initialised) return CP_SUCCESS;
  return cpReport(&s->log, CP_NO_INIT, function, "call CPIntegratorInit first");
}

int cpStepperIdle(CPIntegrator s, const char *function) {
  return s ? cpIdle(&s->log, function) : cpStepperExists(s, function);
}

int cpStepperCheck(CPIntegrator s, const char *function) {
  const int flag = cpStepperInitialised(s, function);
  return flag ? flag : cpIdle(&s->log, function);
}

void *cpStepperLent(CPIntegrator s) { return s->system.data ? NULL : s->ops->data(s); }

void cpStepperEnter(CPIntegrator s) {
  void *data = cpStepperLent(s);
  cpWorkLend(s->step, data);
  cpWorkLend(s->out, data);
  s->log.running++;
}

int cpStepperCheckVector(CPIntegrator s, N_Vector v, const char *name, const char *function) {
  const int flag = cpStepperInitialised(s, function);
  if (flag) return flag;
  if (!v) return cpRefuse(&s->log, function, "%s must not be NULL", name);
  if (N_VGetLength(v) == N_VGetLength(s->y0)) return CP_SUCCESS;
  return cpRefuse(&s->log, function, "%s must have length %ld, has %ld", name,
                  (long)N_VGetLength(s->y0), (long)N_VGetLength(v));
}

int cpStepperCheckCall(CPIntegrator s, sunrealtype tout, N_Vector yout, const sunrealtype *tret,
                       int itask, const char *function) {
  int flag = cpStepperCheck(s, function);
  if (!flag) flag = cpStepperCheckVector(s, yout, "yout", function);
  if (flag) return flag;
  if (!tret) return cpRefuse(&s->log, function, "tret must not be NULL");
  if (!isfinite(tout)) return cpRefuse(&s->log, function, "tout must be finite: tout = %g", tout);
  if (itask == CV_NORMAL || itask == CV_ONE_STEP) return CP_SUCCESS;
  return cpRefuse(&s->log, function, "itask must be CV_NORMAL (%d) or CV_ONE_STEP (%d), is %d",
                  CV_NORMAL, CV_ONE_STEP, itask);
}

int cpStepperCheckStart(CPIntegrator s, sunrealtype t0, N_Vector y0, const char *function) {
  const CPProjector P = s->P;
  if (!y0) return cpRefuse(&s->log, function, "y0 must not be NULL");
  if (!isfinite(t0)) return cpRefuse(&s->log, function, "t0 must be finite: t0 = %g", t0);
  if (cpMissingOperation(y0))
    return cpReport(&s->log, CP_VECTOROP_ERR, function, "y0 must have the operation %s",
                    cpMissingOperation(y0));
  if (!cpVectorFinite(y0))
    return cpRefuse(&s->log, function, "y0 must be finite: component %d is not",
                    cpFirstNonFinite(y0));
  if (P && cpProjectorNeedsData(P) && !cpHasData(y0))
    return cpRefuse(
        &s->log, function,
        "y0 must be a vector in one memory (serial, OpenMP, pthreads) for this projector");
  const sunindextype length = s->y0 ? N_VGetLength(s->y0) : P ? cpProjectorLength(P) : -1;
  if (length >= 0 && N_VGetLength(y0) != length)
    return cpRefuse(&s->log, function, "y0 must have the length of the %s, %ld, has %ld",
                    s->y0 ? "state" : "projector's states", (long)length, (long)N_VGetLength(y0));
  if (!s->y0 && s->tol.vabstol && N_VGetLength(s->tol.vabstol) != N_VGetLength(y0))
    return cpRefuse(&s->log, function,
                    "abstol, set before, must have the length of y0, %ld, has %ld",
                    (long)N_VGetLength(y0), (long)N_VGetLength(s->tol.vabstol));
  return CP_SUCCESS;
}

/* ---- tolerances ---- */

static int checkTolerances(CPIntegrator s, const CPTolerances *tol, const char *function) {
  const N_Vector v = tol->vabstol;
  if (tol->kind == CP_TOL_WF)
    return tol->efun ? CP_SUCCESS : cpRefuse(&s->log, function, "efun must not be NULL");
  if (!(tol->reltol >= 0.0) || isinf(tol->reltol))
    return cpRefuse(&s->log, function, "reltol must be >= 0 and finite: reltol = %g", tol->reltol);
  if (tol->kind == CP_TOL_SS && (!(tol->abstol >= 0.0) || isinf(tol->abstol)))
    return cpRefuse(&s->log, function, "abstol must be >= 0 and finite: abstol = %g", tol->abstol);
  if (tol->kind == CP_TOL_SS) return CP_SUCCESS;
  if (!v) return cpRefuse(&s->log, function, "abstol must not be NULL");
  if (s->y0 && N_VGetLength(v) != N_VGetLength(s->y0))
    return cpRefuse(&s->log, function, "abstol must have the length of the state, %ld, has %ld",
                    (long)N_VGetLength(s->y0), (long)N_VGetLength(v));
  if (N_VMin(v) >= 0.0 && cpVectorFinite(v)) return CP_SUCCESS;
  return cpRefuse(&s->log, function, "abstol must be >= 0 and finite: its least entry is %g",
                  N_VMin(v));
}

int cpStepperSetTolerances(CPIntegrator s, CPTolerances tol, const char *function) {
  int flag = cpStepperIdle(s, function);
  if (!flag) flag = checkTolerances(s, &tol, function);
  if (flag) return flag;
  if (tol.vabstol) {
    const N_Vector copy = N_VClone(tol.vabstol);
    if (!copy) return cpReport(&s->log, CP_MEM_FAIL, function, "no memory");
    N_VScale(1.0, tol.vabstol, copy);
    tol.vabstol = copy;
  }
  if (s->tol.vabstol) N_VDestroy(s->tol.vabstol);
  s->tol = tol;
  return CP_SUCCESS;
}

/* The end of a step is known up to the roundoff of t, in which y_i moves by |y_i'| u |t|: no size of the step
 * reduces this part of an error estimate, to which differences of high order give a multiple. Tolerances
 * below CP_FLOOR_FACTOR times the motion at both ends would fail the error test at every size. */
/* Rates of earlier steps count as well, less with each step, since y_i' may vanish at the start of a step and
 * not at its end. */

static void boundByTime(CPIntegrator s, N_Vector ewt) {
  sunrealtype t = s->rates_t, *rate = cpData(s->rates), *w = cpData(ewt);
  const sunindextype n = N_VGetLength(ewt);
  if (s->ops->rates(s, &t, s->tmp) && t != s->rates_t) {
    const sunrealtype *ydot = cpData(s->tmp);
    for (sunindextype i = 0; i < n; i++) {
      const sunrealtype now = fabs(ydot[i]), faded = CP_FADES * rate[i];
      rate[i] = now > faded ? now : faded;
    }
    s->rates_t = t;
  }
  const sunrealtype floor = 2.0 * CP_FLOOR_FACTOR * CP_UROUND * fabs(s->t);
  for (sunindextype i = 0; i < n; i++)
    if (floor * rate[i] * w[i] > 1.0) w[i] = 1.0 / (floor * rate[i]);
}

double cpStepperRoundoff(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ewt) {
  double norm = 0.0;
  return cpRoundoff(s->step, t, y, ewt, &norm) ? 0.0 : norm;
}

/* y, or if it lacks turns, a copy that has them */
static N_Vector whole(CPIntegrator s, N_Vector y) {
  if (!s->turned) return y;
  N_VScale(1.0, y, s->whole);
  cpStepperAddTurns(s, s->whole);
  return s->whole;
}

int cpStepperWeights(CPIntegrator s, N_Vector y, N_Vector ewt) {
  const CPTolerances *tol = &s->tol;
  if (tol->kind == CP_TOL_NONE || tol->kind == CP_TOL_CVODES) return CP_NO_INIT;
  if (tol->kind == CP_TOL_WF) {
    const int failed = tol->efun(whole(s, y), ewt, s->ops->data(s));
    if (failed || !(N_VMin(ewt) > 0.0) || !cpVectorFinite(ewt)) return CP_ILL_INPUT;
  } else if (cpHasData(y)) { /* one pass; five would take a fiftieth of a step of a small system */
    const sunrealtype *x = N_VGetArrayPointer(y),
                      *a = tol->kind == CP_TOL_SS ? NULL : N_VGetArrayPointer(tol->vabstol);
    sunrealtype *w       = N_VGetArrayPointer(ewt);
    const sunindextype n = N_VGetLength(y);
    for (sunindextype i = 0; i < n; i++) {
      const sunrealtype size = tol->reltol * fabs(x[i]) + (a ? a[i] : tol->abstol);
      if (size <= 0.0) return CP_ILL_INPUT;
      w[i] = 1.0 / size;
    }
    for (int k = 0; k < s->system.nangles; k++) {
      const sunindextype i = s->system.angles[k];
      w[i]                 = 1.0 / (tol->reltol + (a ? a[i] : tol->abstol));
    }
  } else {
    N_VAbs(y, ewt);
    N_VScale(tol->reltol, ewt, ewt);
    if (tol->kind == CP_TOL_SS) N_VAddConst(ewt, tol->abstol, ewt);
    else N_VLinearSum(1.0, ewt, 1.0, tol->vabstol, ewt); /* reltol |y_i| + abstol_i */
    if (!(N_VMin(ewt) > 0.0)) return CP_ILL_INPUT;
    N_VInv(ewt, ewt);
  }
  if (s->system.data) boundByTime(s, ewt);
  return s->system.scale ? s->system.scale(ewt, s->system.data) : CP_SUCCESS;
}

sunrealtype cpStepperSize(CPIntegrator s, N_Vector y, N_Vector work) {
  if (s->system.nangles == 0) return cpWrmsNorm(y, s->ewt);
  N_VScale(1.0, y, work);
  sunrealtype *x = cpData(work);
  for (int k = 0; k < s->system.nangles; k++) x[s->system.angles[k]] = 1.0;
  return cpWrmsNorm(work, s->ewt);
}

/* The first step aims at an error of this fraction of the tolerance, estimated by y''. If |y| or
 * |f| is below VANISHES, its first guess is SMALL_STEP. */
#define FIRST_ERROR 0.01
#define VANISHES    1.0e-5
#define SMALL_STEP  1.0e-6

int cpStepperFirstStep(CPIntegrator s,
                       int (*rhs)(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ydot),
                       int order, N_Vector f0, N_Vector f1, N_Vector y, sunrealtype *h) {
  const sunrealtype d0 = cpStepperSize(s, s->y, y), d1 = N_VWrmsNorm(f0, s->ewt), longest = *h;
  sunrealtype h0 = d0 < VANISHES || d1 < VANISHES ? SMALL_STEP : FIRST_ERROR * d0 / d1;
  h0             = fmax(fmin(h0, fabs(longest)), cpLeastStep(s->t));
  *h             = copysign(h0, longest);
  N_VLinearSum(1.0, s->y, *h, f0, y); /* Euler's step */
  const int flag = rhs(s, s->t + *h, y, f1);
  if (flag) return flag < 0 ? flag : CP_SUCCESS; /* If f failed recoverably, h0 remains. */
  N_VLinearSum(1.0, f1, -1.0, f0, f1);
  const sunrealtype d2 = N_VWrmsNorm(f1, s->ewt) / h0, d = fmax(d1, d2); /* d2 = |y''| */
  const sunrealtype h1 =
      d <= 1.0e-15 ? fmax(SMALL_STEP, 1.0e-3 * h0) : pow(FIRST_ERROR / d, 1.0 / (order + 1));
  *h = copysign(fmin(100.0 * h0, h1), longest);
  return CP_SUCCESS;
}

/* ---- whole turns of angles ---- */

int cpStepperPutAside(CPIntegrator s, N_Vector y, N_Vector also) {
  const CPSystem *system = &s->system;
  if (!system->turns || !cpPutTurnsAside(system->nangles, system->angles, cpData(y),
                                         also ? cpData(also) : NULL, system->turns))
    return 0;
  s->turned = 1;
  cpStepperTurned(s, 1);
  return 1;
}

int cpStepperStartTurns(CPIntegrator s) {
  if (!cpStepperPutAside(s, s->y, NULL) || !s->P) return CP_SUCCESS;
  cpWorkForget(s->step); /* The factors must be those of this state. */
  const int flag = cpProject(s->step, s->t, s->y, s->ewt, NULL, 0, &(CPProjected){0});
  cpWorkForget(s->step);
  return flag ? cpReason(s->text, -abs(flag), "%s", cpWorkText(s->step)) : CP_SUCCESS;
}

void cpStepperAddTurns(CPIntegrator s, N_Vector y) {
  for (int k = 0; s->turned && k < s->system.nangles; k++) {
    const sunindextype i = s->system.angles[k];
    cpData(y)[i]         = cpTurnedBy(s->system.turns[i], cpData(y)[i]);
  }
}

void cpStepperForgetTurns(CPIntegrator s) {
  cpStepperTurned(s, 0);
  s->turned = 0;
  for (int k = 0; s->system.turns && k < s->system.nangles; k++)
    s->system.turns[s->system.angles[k]] = 0;
}

void cpStepperTurned(CPIntegrator s, int on) {
  if (s->turned && s->system.turned) s->system.turned(on, s->system.data);
}

int cpStepperEvolve(CPIntegrator s, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                    const char *function) {
  cpStepperTurned(s, 1);
  const int flag = s->ops->evolve(s, tout, yout, tret, itask, function);
  cpStepperTurned(s, 0);
  cpStepperAddTurns(s, yout);
  return flag;
}

int cpStepperDky(CPIntegrator s, sunrealtype t, int k, N_Vector dky, const char *function) {
  cpStepperTurned(s, 1);
  const int flag = s->ops->dky(s, t, k, dky, function);
  cpStepperTurned(s, 0);
  if (k == 0) cpStepperAddTurns(s, dky);
  return flag;
}

int cpStepperRoots(CPIntegrator s, CVRootFn g, sunrealtype t, N_Vector y, sunrealtype *values) {
  void *data = s->root_data ? s->root_data : s->ops->data(s);
  cpStepperTurned(s, 0);
  const int flag = g(t, whole(s, y), values, data);
  cpStepperTurned(s, 1);
  return flag;
}

/* ---- options ---- */

int cpStepperSetProjector(CPIntegrator s, CPProjector P, const char *function) {
  const int flag = cpStepperIdle(s, function);
  if (flag) return flag;
  if (P && s->y0 && cpProjectorLength(P) != N_VGetLength(s->y0))
    return cpRefuse(&s->log, function, "P must be for states of length %ld, is for %ld",
                    (long)N_VGetLength(s->y0), (long)cpProjectorLength(P));
  if (P && s->y0 && cpProjectorNeedsData(P) && !cpHasData(s->y0))
    return cpRefuse(
        &s->log, function,
        "P needs states in one memory (serial, OpenMP, pthreads): use CPProjectorCreateUser");
  if (P && P == s->P) {
    cpWorkForget(s->step), cpWorkForget(s->out);
    return CP_SUCCESS;
  }
  CPWork step = NULL, out = NULL;
  if (P && (cpWorkCreate(&step, P) || cpWorkCreate(&out, P))) {
    cpWorkFree(&step);
    return cpReport(&s->log, CP_MEM_FAIL, function, "no memory");
  }
  cpWorkFree(&s->step);
  cpWorkFree(&s->out);
  s->step         = step;
  s->out          = out;
  s->stats_before = (CPProjectorStats){0};
  s->P            = P;
  return CP_SUCCESS;
}

/* ---- functions for an attached system ---- */

int cpStepperIsRunning(CPIntegrator s) { return s->log.running > 0; }

void cpStepperSystemFreed(CPIntegrator s) {
  CPIntegratorSetProjector(s, NULL);
  s->system      = (CPSystem){0};
  s->system_gone = 1;
}

/* ---- steps that make no progress ---- */

/* A step below the roundoff of t hardly makes progress. The run is given up when CP_MOST_ATTEMPTS attempts fail within
 * as many steps of this size. */

const char *cpStepperWithoutTime(const char *text) {
  const char *end = strncmp(text, "at t = ", 7) ? NULL : strstr(text, ": ");
  return end ? end + 2 : text;
}

const char *cpStepperLastGood(CPIntegrator s, const char *text, char last[CP_LAST_GOOD]) {
  char time[CP_LAST_GOOD / 2];
  snprintf(time, sizeof time, "t = %.10g", s->t);
  const char *there = strstr(text, time);
  /* not the beginning of a longer number */
  const char after = there ? there[strlen(time)] : '\0';
  if (there && (after == '\0' || !strchr("0123456789.e", after))) last[0] = '\0';
  else snprintf(last, CP_LAST_GOOD, "; the last good state is that of %s", time);
  return last;
}

/* A step that fails although its size is a negligible part of the time of the run may have reached the end of the motion, which
 * shorter steps would only approach. */
static int isShort(CPIntegrator s, sunrealtype t, sunrealtype h) {
  /* t counts a little, since a restart at t0 may be near the end as well */
  return fabs(h) < CP_INEXACT * fmax(1.0e-3 * fabs(t), fabs(t - s->t0));
}

const char *cpStepperFastest(CPIntegrator s, char text[CP_TEXT_LENGTH]) {
  text[0] = '\0';
  if (s->system.fastest) s->system.fastest(s->t, s->y, text, CP_TEXT_LENGTH, s->system.data);
  return text;
}

int cpStepperTellLimit(CPIntegrator s) {
  return s->system.limit && s->system.limit(s->t, s->y, s->text, s->system.data);
}

int cpStepperAccepted(CPIntegrator s) {
  const char *reason = "";
  if (!s->system.accepted || !s->system.accepted(s->t, s->y, s->system.data)) return CP_SUCCESS;
  const int code = s->system.cause(&reason, s->system.data);
  return cpReason(s->text, -abs(code), "%s", reason);
}

int cpStepperIsAtLimit(CPIntegrator s, sunrealtype h) {
  if (!isShort(s, s->t, h)) s->short_steps.nshort = 0;
  else if (++s->short_steps.nshort % CP_MOST_ATTEMPTS == 0) return cpStepperTellLimit(s);
  return 0;
}

int cpStepperIsStuck(CPIntegrator s, sunrealtype t, sunrealtype h) {
  CPShortSteps *short_steps  = &s->short_steps;
  const sunrealtype shortest = CP_FUZZ * fmax(fabs(t), fabs(t - s->t0));
  if (isShort(s, t, h) && s->system.limit) {
    char text[CP_TEXT_LENGTH]; /* that of the stepper is the reason of the failure */
    if (s->system.limit(s->t, s->y, text, s->system.data)) return 1;
  }
  if (fabs(h) >= shortest) return 0;
  if (fabs(s->t - short_steps->t) > CP_MOST_ATTEMPTS * shortest)
    short_steps->count = 0, short_steps->t = s->t;
  return ++short_steps->count >= CP_MOST_ATTEMPTS;
}

/* ---- roots at the end of a search ---- */

void cpVaryByErrors(N_Vector y, N_Vector off) {
  if (cpHasData(off)) {
    unsigned state = 1;
    sunrealtype *d = N_VGetArrayPointer(off);
    for (sunindextype i = 0; i < N_VGetLength(off); i++) d[i] *= cpUniformAwayFromZero(&state);
  }
  N_VLinearSum(1.0, y, CP_ROOT_MARGIN, off, off);
}

int cpRootsAtEnd(const CPSearchEnd *at, sunrealtype *g, sunrealtype *room) {
  sunrealtype *earlier = room, *off = room + at->n; /* g a resolution before, and at errors of y */
  N_VLinearSum(1.0, at->y, -at->resolution, at->ydot, at->tmp);
  int flag = at->g(at->data, at->t - at->resolution, at->tmp, earlier);
  if (flag) return flag;
  N_VScale(1.0, at->y, at->tmp);
  cpStepperAddTurns(at->s, at->tmp); /* as g gets it */
  N_VAbs(at->tmp, at->tmp);
  N_VScale(CP_UROUND, at->tmp, at->tmp);
  cpVaryByErrors(at->y, at->tmp);
  flag = at->g(at->data, at->t, at->tmp, off);
  for (int i = 0; i < at->n && !flag; i++) {
    const sunrealtype moved = fabs(earlier[i] - g[i]), noise = fabs(off[i] - g[i]),
                      size = moved + noise, from = at->before[i];
    if ((at->at_zero && at->at_zero[i]) || at->direction[i] * g[i] > 0.0) continue;
    /* Motion within a resolution tells whether it approaches zero, or if that is noise, motion since the search began. */
    const int comes =
        moved > noise ? fabs(earlier[i]) > fabs(g[i]) : fabs(from) > size && from * g[i] > 0.0;
    if (comes && fabs(g[i]) <= size) g[i] = 0.0;
  }
  return flag;
}

/* ---- statistics ---- */

CPIntegratorStats cpStepperStats(CPIntegrator s) {
  CPIntegratorStats stats = s->stats;
  stats.hmax              = s->hmax;
  if (!s->step) return stats;
  const CPProjectorStats *now = cpWorkStats(s->step), *before = &s->stats_before;
  stats.nce     = now->nce - before->nce;
  stats.nje     = now->nje - before->nje;
  stats.nsetups = now->nsetups - before->nsetups;
  stats.niters  = now->niters - before->niters;
  return stats;
}
