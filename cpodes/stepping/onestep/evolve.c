/* CPIntegratorEvolve takes steps until there is something to return. A step consists of attempts of
 * the method, whose sizes shrink until one is accepted. */
#include "onestep_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts of an attempt ---- */

int cpOneStepRhs(CPOneStep mem, sunrealtype t, N_Vector y, N_Vector ydot, int output) {
  const CPIntegrator s = &mem->base;
  const char *reason   = NULL;
  mem->stats.nfe++;
  if (output) mem->stats.nfe_output++;
  const int result = s->f(t, y, ydot, cpOneStepUserData(s));
  if (!result && (s->system.data || cpVectorFinite(ydot))) return CP_SUCCESS;
  const int code = result && s->system.cause ? s->system.cause(&reason, s->system.data) : 0;
  if (code) return cpReason(s->text, result > 0 ? abs(code) : -abs(code), "%s", reason);
  if (result)
    return cpReason(s->text, result > 0 ? -CV_REPTD_RHSFUNC_ERR : CV_RHSFUNC_FAIL,
                    "at t = %.10g: the right-hand side f failed %s (%d)", t,
                    result > 0 ? "recoverably" : "for good", result);
  return cpReason(s->text, -CP_RHS_NONFINITE,
                  "at t = %.10g: the right-hand side f returned NaN or Inf (component %d)", t,
                  cpFirstNonFinite(ydot));
}

int cpOneStepRhsBatch(CPOneStep mem, int k, const sunrealtype *t, const sunrealtype *Y,
                      sunrealtype *F) {
  const CPIntegrator s = &mem->base;
  const size_t n       = (size_t)N_VGetLength(s->y);
  mem->stats.nfe += k;
  const int result = mem->batch(k, t, Y, F, cpOneStepUserData(s));
  if (result)
    return cpReason(
        s->text, result > 0 ? -CV_REPTD_RHSFUNC_ERR : CV_RHSFUNC_FAIL,
        "the right-hand side f failed %s (%d) at one of %d points from t = %.15g to %.15g",
        result > 0 ? "recoverably" : "for good", result, k, t[0], t[k - 1]);
  for (size_t j = 0; j < (size_t)k * n; j++)
    if (!isfinite(F[j]))
      return cpReason(s->text, -CP_RHS_NONFINITE,
                      "at t = %.10g: the right-hand side f returned NaN or Inf (component %d)",
                      t[j / n], (int)(j % n));
  return CP_SUCCESS;
}

sunrealtype cpOneStepMaxCorrection(CPOneStep mem) {
  const int tol_is_new = mem->nst_tol > 0 && mem->stats.nst <= mem->nst_tol + 1;
  return mem->hfixed > 0.0 || tol_is_new ? INFINITY : mem->base.max_correction;
}

int cpOneStepProject(CPOneStep mem, sunrealtype t, N_Vector y) {
  CPProjected projected;
  if (!mem->base.P) return CP_SUCCESS;
  return cpStepperProject(&mem->base, t, y, mem->base.ewt, NULL, cpOneStepMaxCorrection(mem),
                          &projected);
}

/* ---- a step ---- */

/* A step that would end just before tstop is stretched to end there, by at most this factor (E. Hairer's RADAU5 and
 * DOP853). */
#define STRETCH 1.01
/* The ratio of sizes after an attempt fails, unless the method sets mem->shrink (CVODES' ETACF) */
#define SHRINK_FAILED 0.25

/* Returns the signed size to be tried in place of h, within all bounds on sizes and tlimit. Sets
 * tnew. */
static sunrealtype sized(CPOneStep mem, sunrealtype h) {
  const sunrealtype t = mem->base.t;
  sunrealtype size    = fabs(h);
  if (mem->base.hmax > 0.0) size = fmin(size, mem->base.hmax);
  size = fmax(size, mem->hmin);
  if (mem->hfixed > 0.0) size = mem->hfixed;
  mem->tnew = t + mem->dir * size;
  if (!((t + STRETCH * mem->dir * size - mem->tlimit) * mem->dir > 0.0)) return mem->dir * size;
  mem->tnew = mem->tlimit;
  return mem->tlimit - t;
}

/* Returns a smaller size after an attempt of size h was rejected, or 0 if there is none. failed: it
 * was not the error test that rejected the attempt. */
static sunrealtype smaller(CPOneStep mem, sunrealtype h, sunrealtype ratio, int failed) {
  const sunrealtype t = mem->base.t, size = fmax(fabs(h) * ratio, mem->hmin);
  if (mem->hfixed > 0.0 || !(size < fabs(h)) || t + mem->dir * size == t) return 0.0;
  if (failed && mem->stats.nst > 0 && cpStepperIsStuck(&mem->base, mem->tnew, h)) return 0.0;
  return mem->dir * size;
}

/* A step has passed, and the newest right-hand side of an explicit method is at its end. */
static int tellEnd(CPOneStep mem) {
  const CPSystem *system = &mem->base.system;
  const char *reason     = NULL;
  if (mem->method->implicit || !system->ends || system->ends(system->data) >= 0) return CP_SUCCESS;
  const int code = system->cause(&reason, system->data);
  return cpReason(mem->base.text, -abs(code), "%s", reason);
}

/* Do attempts fail because the roundoff of the constraints, at narrow angles, exceeds the tolerance
 * (cpStepperRoundoff)? Shorter steps only bring the start of the next one nearer to the singular position,
 * where it grows, so that none passes. After TRIES attempts the tolerance of this step is therefore multiplied
 * by what the best attempt that may pass the position needs, or else by FACTOR, up to CP_FLOOR_FACTOR times
 * that roundoff. Accelerations at a stage contain it as the inverse cube of the sine, and of the dozen stages of an
 * explicit method the nearest one has a sine that is smaller by FACTOR than that of the start. */
#define TRIES  2
#define FACTOR 10.0

/* The sizes of the first attempt and of the best one, with the error norm `least`; the factor of the
 * tolerance, and its maximum. */
typedef struct {
  sunrealtype first, best, least, factor, most;
} Relaxed;

/* Returns 1 if the tolerance has been relaxed, and mem->h is the size to be tried again. */
static int isRelaxed(CPOneStep mem, Relaxed *r, sunrealtype h, sunrealtype norm, int tries) {
  const CPIntegrator s = &mem->base;
  const int implicit   = mem->method->implicit;
  const int may_pass   = implicit ? tries == 1 : fabs(h) >= SHRINK_FAILED * fabs(r->first);
  if (!s->P || mem->hfixed > 0.0 || (!implicit && !mem->on_manifold)) return 0;
  if (may_pass && norm < r->least) r->least = norm, r->best = h;
  if (tries == TRIES)
    r->most = CP_FLOOR_FACTOR * cpStepperRoundoff(s, s->t, s->y, s->ewt) *
              (implicit ? 1.0 : FACTOR * FACTOR * FACTOR);
  if (!(cpWorkSine(s->step) < CP_NARROW_ANGLE)) return 0;
  if (tries < TRIES || r->factor >= r->most) return 0;
  const sunrealtype left   = r->most / r->factor;
  const sunrealtype factor = fmin(left, r->least < left ? 1.01 * r->least : FACTOR);
  N_VScale(1.0 / factor, s->ewt, s->ewt);
  r->factor *= factor;
  mem->h   = isinf(r->least) ? r->first : r->best;
  r->least = INFINITY;
  return 1;
}

static int giveUp(CPOneStep mem, sunrealtype h, int flag) {
  const CPIntegrator s = &mem->base;
  char reason[CP_TEXT_LENGTH], fastest[CP_TEXT_LENGTH];
  if (flag == 0)
    return cpReason(s->text, CV_ERR_FAILURE,
                    "from t = %.10g no step size passes the error test, down to %.3g%s", s->t, h,
                    cpStepperFastest(s, fastest));
  if (cpStepperTellLimit(s)) return -flag;
  memcpy(reason, s->text, sizeof reason);
  return cpReason(s->text, -flag,
                  "every attempt of the next step failed, down to a size of %.3g: %s%s", h,
                  cpStepperWithoutTime(reason), cpStepperFastest(s, fastest));
}

/* Ever shorter steps towards a fault fail again and again before one passes: the message gives the reason. */
static int tooMany(CPOneStep mem, long int n, sunrealtype tout) {
  const CPIntegrator s = &mem->base;
  const int failed     = mem->failed;
  char reason[CP_TEXT_LENGTH];
  memcpy(reason, s->text, sizeof reason);
  mem->failed = 0; /* The text is now that of this failure. */
  return cpReason(
      s->text, CV_TOO_MUCH_WORK,
      "%ld steps have not reached tout = %.15g (CPIntegratorSetMaxNumSteps), the last one "
      "had a size of %.3g%s%s",
      n, tout, mem->hlast, failed ? "; attempts fail: " : "", failed ? reason : "");
}

/* Makes (tnew, ynew), reached by a step of size h with this error norm, the state, and proposes the
 * next size. If tstop has cut the step, the size proposed before is kept if it is larger. */
static void accept(CPOneStep mem, sunrealtype h, sunrealtype norm, int rejected_before) {
  const CPIntegrator s = &mem->base;
  const int cut        = !rejected_before && mem->tnew == mem->tlimit;
  mem->hlast           = mem->tnew - s->t;
  mem->stats.hlast     = h;
  if (mem->hfixed == 0.0) {
    sunrealtype ratio = mem->method->ratio(mem, norm, 1);
    if (rejected_before) ratio = fmin(ratio, 1.0);
    if (!cut || fabs(h * ratio) > fabs(mem->h)) mem->h = h * ratio;
  }
  mem->method->accepted(mem);
  cpWorkAccepted(s->step);
  const N_Vector spare = mem->ylast;
  mem->ylast = s->y, mem->tlast = s->t;
  s->y = mem->ynew, s->t = mem->tnew;
  mem->ynew     = spare;
  mem->is_blind = 0;
  if (mem->beside.of.data) cpOneStepVaryAccept(mem);
  if (mem->stats.nst++ == 0) mem->stats.hfirst = h;
  mem->have_step = 1;
}

/* Sets ewt to the weights of the state. */
static int weights(CPOneStep mem) {
  const CPIntegrator s = &mem->base;
  const int flag       = cpStepperWeights(s, s->y, s->ewt);
  if (flag)
    return cpReason(s->text, flag,
                    "at t = %.10g: an error weight is not positive and finite, or efun failed",
                    s->t);
  const sunrealtype norm = cpStepperSize(s, s->y, s->tmp);
  if (norm * CP_UROUND <= 1.0) return CP_SUCCESS;
  return cpReason(
      s->text, CV_TOO_MUCH_ACC,
      "at t = %.10g: the tolerances are below roundoff: they must be %.2g times as large", s->t,
      norm * CP_UROUND);
}

/* Takes one step from (t, y) in the direction dir, not beyond tlimit. mem->h (in, out) is the
 * proposed size. If the method proposes it, the weights do not know it yet, which may depend on it. */
static int attempts(CPOneStep mem) {
  const CPIntegrator s = &mem->base;
  const int has_size   = mem->h != 0.0;
  int flag             = mem->method->begin(mem);
  if (!flag && !has_size && s->system.scale) flag = weights(mem);
  if (flag) return flag;
  sunrealtype h = sized(mem, mem->h), norm = 0.0;
  sunrealtype whole = 0.0; /* the size first proposed, if the tolerance has been relaxed for it */
  Relaxed relaxed   = {.first = mem->h, .best = mem->h, .least = INFINITY, .factor = 1.0};
  char fastest[CP_TEXT_LENGTH];
  for (int tries = 1;; tries++) {
    if (s->t + h == s->t)
      return mem->failed ? giveUp(mem, h, mem->failed)
                         : cpReason(s->text, CV_TOO_MUCH_ACC,
                                    "at t = %.10g: a step of %g is below the roundoff of t%s", s->t,
                                    h, cpStepperFastest(s, fastest));
    mem->stats.nattempts++;
    cpWorkAttempt(s->step);
    mem->shrink = SHRINK_FAILED;
    /* to (tnew, ynew), exactly: a large t rounds digits of h away, always the same ones if h is */
    flag = mem->method->attempt(mem, mem->tnew - s->t, &norm);
    if (flag < 0) return flag;
    if (flag == 0 && norm <= 1.0) {
      flag = tellEnd(mem);
      if (!flag && mem->beside.of.data) flag = mem->method->vary(mem, mem->tnew - s->t, &norm);
      if (flag < 0) return flag;
    }
    if (flag > 0) mem->failed = flag;
    if (flag == 0 && norm <= 1.0) {
      accept(mem, h, norm, tries > 1);
      if (relaxed.factor > 1.0) cpStepperRelaxed(s, relaxed.factor);
      if (fabs(mem->h) < fabs(whole)) mem->h = whole;
      if (tries == 1) mem->failed = 0;
      return CP_SUCCESS;
    }
    if (isRelaxed(mem, &relaxed, h, flag ? INFINITY : norm, tries)) {
      if (!mem->method->implicit) whole = relaxed.first;
      h = sized(mem, mem->h);
      continue;
    }
    if (flag == 0) mem->stats.netf++;
    const sunrealtype ratio = flag == 0 ? mem->method->ratio(mem, norm, 0) : mem->shrink;
    mem->h                  = smaller(mem, h, ratio, flag != 0);
    if (mem->h == 0.0 || tries == CP_MOST_ITERATIONS) return giveUp(mem, h, flag);
    h = sized(mem, mem->h);
  }
}

static int step(CPOneStep mem) {
  const CPIntegrator s       = &mem->base;
  const sunrealtype proposed = mem->h;
  cpStepperPutAside(s, s->y, mem->have_step ? mem->ylast : NULL);
  int flag = weights(mem);
  if (flag) return flag;
  mem->have_step = 0; /* Attempts overwrite what interpolation in the last step needs. */
  flag           = attempts(mem);
  if (!flag && cpStepperIsAtLimit(s, mem->hlast)) flag = CP_PROJ_CONV_FAILURE;
  if (!flag) flag = cpStepperAccepted(s);
  /* The sizes tried in a failed step say nothing about later ones. A proposal that was below the
   * roundoff of t is chosen anew, lest the run could never continue. */
  if (flag) mem->h = s->t + proposed == s->t ? 0.0 : proposed;
  return flag;
}

/* ---- roots ---- */

/* Interpolants have a lower order than methods. Where the interpolation error at a root may exceed
 * MISPLACED times the tolerance, the step is repeated with STRETCH times the length from its start
 * to the root, since interpolants are accurate near the ends of steps. */
#define MISPLACED 0.1

/* May the interpolation error at the new root exceed MISPLACED times the tolerance? Returns 1, 0,
 * or the negative code of a fatal failure. The error is estimated by the integral of the norm of
 * the defect u' - f(t, u) of the interpolant u, with Gauss' formula of two points. */
static int isMisplaced(CPOneStep mem) {
  const CPIntegrator s    = &mem->base;
  const CPRoots *r        = &mem->roots;
  const sunrealtype whole = r->thi - mem->tlast;
  sunrealtype error       = 0.0;
  if (mem->hfixed > 0.0 || STRETCH * fabs(whole) > fabs(mem->hlast)) return 0;
  for (int i = 0; i < 2; i++) {
    const sunrealtype t = mem->tlast + (0.5 + (i - 0.5) / sqrt(3.0)) * whole;
    int flag            = mem->method->interpolate(mem, t, 0, r->trial);
    if (!flag) flag = cpOneStepRhs(mem, t, r->trial, r->rate, 1);
    if (!flag) flag = mem->method->interpolate(mem, t, 1, s->tmp);
    if (flag) return flag < 0 ? flag : 0;
    N_VLinearSum(1.0, s->tmp, -1.0, r->rate, r->rate);
    error += 0.5 * fabs(whole) * cpWrmsNorm(r->rate, s->ewt);
  }
  return error > MISPLACED;
}

/* Takes the last step back and repeats it, to end at t at the latest. */
static int repeat(CPOneStep mem, sunrealtype t) {
  const CPIntegrator s    = &mem->base;
  const sunrealtype limit = mem->tlimit;
  const N_Vector end      = s->y;
  mem->tlimit             = t;
  s->y = mem->ylast, s->t = mem->tlast;
  mem->ylast = end;
  if (mem->beside.of.data) cpOneStepVaryTakeBack(mem);
  mem->stats.nst--;
  mem->method->taken_back(mem);
  const int flag = step(mem);
  mem->tlimit    = limit;
  return flag;
}

/* Finds the first root in the last step, and repeats the step if the root is misplaced. */
static int search(CPOneStep mem, sunrealtype tout, sunrealtype limit) {
  const sunrealtype known = mem->roots.pending ? mem->roots.thi : NAN;
  int flag                = cpRootsSearch(mem, tout, limit);
  if (flag || !mem->roots.pending || mem->roots.thi == known) return flag;
  const int misplaced = isMisplaced(mem);
  if (misplaced <= 0) return misplaced;
  const sunrealtype beyond = mem->tlast + STRETCH * (mem->roots.thi - mem->tlast);
  cpRootsSearchAgain(&mem->roots);
  flag = repeat(mem, beyond);
  return flag ? flag : cpRootsSearch(mem, tout, limit);
}

/* ---- before the first step ---- */

/* Can the run go on towards tout? The first call after a start sets its direction, unless tout is
 * the start, and the size of the first step. If steps are returned one at a time, they may pass tout, but the run must not
 * reverse. */
static int checkCall(CPOneStep mem, sunrealtype tout, int itask, const char *function) {
  const CPIntegrator s = &mem->base;
  if (s->system_gone)
    return cpRefuse(&s->log, function,
                    "the attached mechanical system has been freed: free the integrator first");
  if (s->tol.kind == CP_TOL_NONE)
    return cpReport(&s->log, CP_NO_INIT, function,
                    "set tolerances first (CPIntegratorSStolerances)");
  if (mem->embedded <= 0 && mem->hfixed == 0.0)
    return cpReport(&s->log, CV_ILL_INPUT, function,
                    "the method has no embedded one to estimate errors: it needs "
                    "CPIntegratorSetFixedStep");
  if (mem->dir == 0.0) {
    if (cpStepperIsThere(s->t, tout)) return CP_SUCCESS;
    if (fabs(tout - s->t) <= 2.0 * DBL_MIN)
      return cpReport(&s->log, CV_TOO_CLOSE, function,
                      "tout is too close to t0 = %.15g for a step: tout = %.15g", s->t, tout);
    const sunrealtype dir = tout > s->t ? 1.0 : -1.0;
    if (mem->h == 0.0 && mem->hinit * dir < 0.0)
      return cpRefuse(
          &s->log, function,
          "the first step (CPIntegratorSetInitStep), %g, must lead towards tout = %.15g",
          mem->hinit, tout);
    mem->dir = dir;
    mem->h   = mem->h == 0.0 ? mem->hinit : dir * fabs(mem->h);
  }
  const sunrealtype roundoff = cpOneStepTimeRoundoff(mem);
  const sunrealtype first    = mem->have_step ? mem->tlast : s->t;
  if (itask == CV_ONE_STEP && (tout - s->t0) * mem->dir < -roundoff)
    return cpRefuse(
        &s->log, function,
        "tout must not lie on the other side of the start, %.15g: the run goes to %s t, "
        "and tout = %.15g",
        s->t0, mem->dir > 0.0 ? "larger" : "smaller", tout);
  if (itask == CV_NORMAL && (tout - first) * mem->dir < -roundoff)
    return cpRefuse(&s->log, function, "tout must not lie before %.15g, %s: tout = %.15g", first,
                    mem->have_step ? "where the last step began"
                                   : "the last good state: the newest attempt is no step",
                    tout);
  if (mem->have_tstop && (mem->tstop - s->t) * mem->dir < -roundoff)
    return cpRefuse(&s->log, function, "tstop must not lie behind t = %.15g: tstop = %.15g", s->t,
                    mem->tstop);
  mem->tlimit = mem->have_tstop ? mem->tstop : mem->dir * INFINITY;
  return CP_SUCCESS;
}

/* Checks the state, and starts the method and the search for roots, unless that has been done. */
static int start(CPOneStep mem) {
  const CPIntegrator s = &mem->base;
  int flag             = CP_SUCCESS;
  if (!mem->started || !s->start_checked) flag = weights(mem);
  if (!flag) flag = cpStepperCheckConsistent(s, s->t, s->y, s->ewt, mem->stats.nst > 0);
  if (flag) return flag;
  s->start_checked = 1;
  if (!mem->started) flag = cpStepperStartTurns(s);
  if (!flag && !mem->started) flag = mem->method->start(mem);
  if (flag) return flag;
  mem->started = 1;
  flag         = cpOneStepVaryStart(mem);
  return flag ? flag : cpRootsStart(mem);
}

/* ---- the loop ---- */

static int atEnd(CPOneStep mem, N_Vector yout, int result) {
  mem->tret = mem->base.t;
  N_VScale(1.0, mem->base.y, yout);
  return result;
}

/* Interpolants have stages of their own, for which no error is estimated. In a step that passes a singular
 * position they may come so near to it that roundoff makes the interpolant useless: the step is then repeated
 * with a shorter one, up to CP_MOST_ATTEMPTS times. Returns whether output within the last step can be given. */

static int interpolates(CPOneStep mem) {
  const CPIntegrator s   = &mem->base;
  const long int outputs = s->stats.noutputs;
  int flag               = CP_SUCCESS;
  if (!mem->on_manifold || mem->hfixed > 0.0) return 1;
  for (int i = 1; !flag && i < 4; i++)
    flag = cpOneStepSolution(mem, mem->tlast + 0.25 * i * (s->t - mem->tlast), mem->ynew, "");
  s->stats.noutputs = outputs;
  return !flag;
}

/* A step is good, but f, which a stage of its interpolant needs, fails recoverably, as it would have done in a stage
 * of the method, which shrinks the step: where contacts become redundant just behind the event that is sought. Nothing within the step has
 * been returned. Repeats it with half its length. tries: in and out, how often that has been done. Returns 0, or `failed` if it cannot
 * be done. */
static int shorten(CPOneStep mem, int failed, int *tries) {
  if (failed >= 0 || !mem->is_blind || mem->hfixed > 0.0 || *tries == CP_MOST_ATTEMPTS ||
      (mem->tret - mem->tlast) * mem->dir > 0.0)
    return failed;
  ++*tries;
  if (mem->roots.n) cpRootsSearchAgain(&mem->roots);
  return repeat(mem, mem->tlast + 0.5 * (mem->base.t - mem->tlast));
}

/* Takes steps until the last one contains something to return, and returns what comes first in
 * it. */
static int march(CPOneStep mem, sunrealtype tout, int itask, N_Vector yout) {
  const CPIntegrator s = &mem->base;
  const int normal     = itask == CV_NORMAL;
  int flag = start(mem), tries = 0;
  for (long int n = 0; !flag; n++) {
    while ((flag = search(mem, tout, normal && (tout - s->t) * mem->dir < 0.0 ? tout : s->t)) != 0)
      if ((flag = shorten(mem, flag, &tries)) != 0) return flag;
    CPRoots *r               = &mem->roots;
    const sunrealtype beyond = normal ? (r->thi - tout) * mem->dir : 0.0;
    if (r->pending && beyond <= cpOneStepTimeRoundoff(mem)) {
      if (beyond > 0.0) r->thi = tout, r->tlo = mem->dir * fmin(mem->dir * r->tlo, mem->dir * tout);
      flag = cpRootsReturned(mem);
      if (flag) return flag;
      mem->tret = r->tfound;
      N_VScale(1.0, r->y, yout);
      if (r->raw) flag = cpOneStepSolution(mem, mem->tret, yout, " (CV_ROOT_RETURN)");
      return flag ? flag : CV_ROOT_RETURN;
    }
    if (mem->have_tstop && fabs(s->t - mem->tstop) <= cpOneStepTimeRoundoff(mem) &&
        !(normal && (tout - mem->tstop) * mem->dir < 0.0)) {
      mem->have_tstop = 0;
      return atEnd(mem, yout, CV_TSTOP_RETURN);
    }
    if (normal && (s->t - tout) * mem->dir >= 0.0) {
      flag = cpOneStepSolution(mem, tout, yout, "");
      if (flag && (flag = shorten(mem, flag, &tries)) == 0) continue;
      if (!flag || flag == CP_OUTPUT_PROJ_FAIL) mem->tret = tout;
      return flag;
    }
    if (!normal && (s->t - mem->tret) * mem->dir > 0.0) return atEnd(mem, yout, CP_SUCCESS);
    if (mem->mxsteps >= 0 && n >= mem->mxsteps) return tooMany(mem, n, tout);
    flag  = step(mem);
    tries = 0;
    for (int k = 0; !flag && k < CP_MOST_ATTEMPTS && !interpolates(mem); k++)
      flag = repeat(mem, mem->tlast + 0.5 * (s->t - mem->tlast));
  }
  return flag;
}

int cpOneStepEvolve(CPIntegrator s, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                    const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  int flag            = checkCall(mem, tout, itask, function);
  if (flag) {
    *tret = s->t;
    return atEnd(mem, yout, flag);
  }
  if (mem->dir == 0.0) { /* tout is the start. */
    const int stops = mem->have_tstop && cpStepperIsThere(s->t, mem->tstop);
    if (stops) mem->have_tstop = 0;
    *tret = tout;
    return atEnd(mem, yout, stops ? CV_TSTOP_RETURN : CP_SUCCESS);
  }
  cpStepperEnter(s);
  flag = cpStepperLeave(s, march(mem, tout, itask, yout));
  cpStepperWarn(s, function);
  if (flag < 0 && flag != CP_OUTPUT_PROJ_FAIL) atEnd(mem, yout, flag);
  *tret = mem->tret;
  if (flag >= 0) return flag;
  if (flag == CP_OUTPUT_PROJ_FAIL) return cpReport(&s->log, flag, function, "%s", s->text);
  return cpReport(&s->log, flag, function, "%s%s", s->text,
                  cpStepperLastGood(s, s->text, (char[CP_LAST_GOOD]){0}));
}
