/* Roots of g along the solution: changes of sign between the ends of a step are located by the
 * Illinois variant of the regula falsi (M. Dowell, P. Jarratt, BIT 11 (1971) 168-174). If there are
 * several roots, the first one is located. States inside the step are interpolated and projected.
 *
 * If g_i has the same sign at both ends, but approaches zero at the start and moves away from it at
 * the end, |g_i| is followed to its minimum, as long as the tangents at both sides intersect below
 * zero: a convex function lies above its tangents. */
#include "onestep_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* If g_i is zero at a start up to errors, its sign is the one that it has after leaving zero. That
 * sign is looked for at CP_ROOT_MARGIN times the roundoff of t after the start, then at this multiple of that
 * distance, and so on. g_i counts as zero up to CP_ROOT_MARGIN times the change that errors of the state cause
 * in it. */

/* Secants usually need fewer than SECANTS iterations. After these, every second iteration is a
 * bisection, because of jumps and multiple roots. */
#define SECANTS 8
/* Slopes of g are difference quotients over this part of the step, and the search for an extremum, by secants of the
 * slope, ends after SECANTS states. */
#define SLOPE_STEP CP_INEXACT

/* ---- options ---- */

void cpRootsFree(CPRoots *roots) {
  cpArenaFree(&roots->values);
  cpArenaFree(&roots->vectors);
}

int cpOneStepRoots(CPIntegrator s, int nrtfn, CVRootFn g, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  CPRoots roots       = {.g = g, .n = nrtfn, .tfound = NAN};
  CP_NEW(&roots.values, roots.direction, nrtfn);
  CP_NEW(&roots.values, roots.found, nrtfn);
  CP_NEW(&roots.values, roots.at_zero, nrtfn);
  CP_NEW(&roots.values, roots.begin.at_zero, nrtfn);
  CP_ARRAYS(&roots.values, nrtfn, &roots.zero, &roots.noise, &roots.begin.values, &roots.lo,
            &roots.hi, &roots.mid, &roots.slope_lo, &roots.slope_hi, &roots.slope_mid, &roots.end);
  CP_ARRAYS(&roots.values, 2 * nrtfn, &roots.room);
  cpWatchCreate(&roots.watch, &roots.values, nrtfn);
  if (cpArenaStatus(&roots.values)) {
    cpRootsFree(&roots);
    return cpReport(&mem->base.log, CP_MEM_FAIL, function, "no memory");
  }
  cpRootsFree(&mem->roots);
  mem->roots = roots;
  return CP_SUCCESS;
}

static int checkRoots(CPOneStep mem, const char *function) {
  if (mem->roots.n) return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_NO_INIT, function, "call CPIntegratorRootInit first");
}

int cpOneStepDirection(CPIntegrator s, const int *rootdir, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  const int flag      = checkRoots(mem, function);
  if (flag) return flag;
  CPRoots *r = &mem->roots;
  for (int i = 0; i < r->n; i++)
    if (rootdir[i] < -1 || rootdir[i] > 1)
      return cpRefuse(&mem->base.log, function, "rootdir must be -1, 0 or 1: rootdir[%d] = %d", i,
                      rootdir[i]);
  for (int i = 0; i < r->n; i++) r->direction[i] = rootdir[i];
  r->pending = 0; /* It was found with the old directions. */
  return CP_SUCCESS;
}

int cpOneStepFound(CPIntegrator s, int *rootsfound, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  const int flag      = checkRoots(mem, function);
  if (flag) return flag;
  for (int i = 0; i < mem->roots.n; i++) rootsfound[i] = mem->roots.found[i];
  return CP_SUCCESS;
}

int cpOneStepWindow(CPIntegrator s, sunrealtype *low, sunrealtype *high, const char *function) {
  const CPOneStep mem = (CPOneStep)s;
  const CPRoots *r    = &mem->roots;
  if (!cpRootsAt(r, mem->tret))
    return cpReport(&mem->base.log, CP_NO_INIT, function, "the last call has not returned a root");
  *low = r->tbefore, *high = r->tfound;
  return CP_SUCCESS;
}

/* ---- values ---- */

static void swapValues(sunrealtype **a, sunrealtype **b) {
  sunrealtype *kept = *a;
  *a                = *b;
  *b                = kept;
}

/* values <- g(t, y), which may be NaN */
static int rawAt(void *data, sunrealtype t, N_Vector y, sunrealtype *values) {
  const CPOneStep mem = data;
  mem->stats.nge++;
  const int result = cpStepperRoots(&mem->base, mem->roots.g, t, y, values);
  if (!result) return CP_SUCCESS;
  return cpReason(mem->base.text, CV_RTFUNC_FAIL, "at t = %.10g: the root function g failed (%d)",
                  t, result);
}

static int evaluateAt(CPOneStep mem, sunrealtype t, N_Vector y, sunrealtype *values) {
  const int flag = rawAt(mem, t, y, values);
  if (flag || cpAllFinite(values, mem->roots.n)) return flag;
  return cpReason(mem->base.text, CV_RTFUNC_FAIL,
                  "at t = %.10g: the root function g returned NaN or Inf", t);
}

/* y <- the state at t. If the projection fails recoverably, the state stays unprojected (raw),
 * since the projection may succeed nearer to the root. A fatal failure ends the search. */
static int stateAt(CPOneStep mem, sunrealtype t, N_Vector y, int *raw) {
  const CPIntegrator s = &mem->base;
  const int flag       = cpOneStepSolution(mem, t, y, " (CV_ROOT_RETURN)");
  *raw                 = flag == CP_OUTPUT_PROJ_FAIL;
  if (*raw && s->output_cause < 0)
    return cpReason(s->text, s->output_cause, "at t = %.10g: no state for root functions: %s", t,
                    cpWorkText(s->out));
  return *raw ? CP_SUCCESS : flag;
}

/* Evaluates mid at t, in the state trial. */
static int evaluateBetween(CPOneStep mem, sunrealtype t) {
  CPRoots *r     = &mem->roots;
  const int flag = stateAt(mem, t, r->trial, &r->trial_raw);
  return flag ? flag : evaluateAt(mem, t, r->trial, r->mid);
}

/* size_i = |g_i(t, trial + CP_ROOT_MARGIN off) - values_i|, where values is g(t, trial), and off contains
 * errors of the state; 0 if g_i is not defined there, as a square root that is zero at the start. */
static int sensitivity(CPOneStep mem, sunrealtype t, const sunrealtype *values, N_Vector off,
                       sunrealtype *size) {
  CPRoots *r = &mem->roots;
  cpVaryByErrors(r->trial, off);
  const int flag = rawAt(mem, t, off, size);
  for (int i = 0; i < r->n; i++) size[i] = isfinite(size[i]) ? fabs(size[i] - values[i]) : 0.0;
  return flag;
}

int cpRootsAt(const CPRoots *r, sunrealtype t) { return r->n && t == r->tfound; }

/* Determines which g_i are zero at the start up to errors: roundoff and, for functions whose root
 * has just been returned, also errors of the size of the tolerances. */
int cpRootsStart(CPOneStep mem) {
  CPRoots *r = &mem->roots;
  if (!r->n || r->have_lo) return CP_SUCCESS;
  if (!r->y) {
    CP_VECTORS(&r->vectors, mem->base.y, &r->y, &r->trial, &r->rate);
    if (cpArenaStatus(&r->vectors)) { /* The next call tries again. */
      cpArenaFree(&r->vectors);
      r->y = NULL;
      return cpReason(mem->base.text, CP_MEM_FAIL, "no memory for root finding");
    }
  }
  r->tlo   = mem->tret;
  int flag = evaluateBetween(mem, r->tlo);
  if (flag) return flag;
  swapValues(&r->lo, &r->mid);
  N_VInv(mem->base.ewt, r->y); /* the tolerances */
  flag = sensitivity(mem, r->tlo, r->lo, r->y, r->hi);
  N_VAbs(r->trial, r->y);
  N_VScale(CP_UROUND, r->y, r->y);
  if (!flag) flag = sensitivity(mem, r->tlo, r->lo, r->y, r->noise);
  /* Its root may lie a resolution beyond (cpRootsAtEnd). */
  const sunrealtype earlier = r->tlo - mem->dir * cpOneStepTimeRoundoff(mem);
  if (!flag && cpRootsAt(r, r->tlo)) flag = rawAt(mem, earlier, r->trial, r->mid);
  else memcpy(r->mid, r->lo, (size_t)r->n * sizeof *r->mid);
  if (flag) return flag;
  for (int i = 0; i < r->n; i++) {
    const int returned        = cpRootsAt(r, r->tlo) && r->found[i];
    const sunrealtype in_time = fabs(r->mid[i] - r->lo[i]); /* 0 unless a root has been returned */
    r->at_zero[i] =
        fabs(r->lo[i]) <= (returned ? fmax(r->hi[i] + in_time, r->noise[i]) : r->noise[i]);
    r->zero[i] = r->lo[i];
  }
  r->t_slope_lo = r->t_slope_hi = NAN;
  r->zero_is_new = r->have_lo = 1;
  return CP_SUCCESS;
}

/* ---- changes of sign ---- */

/* Does g_i cross zero between lo_i and value, in a direction to be found? */
static int crosses(const CPRoots *r, int i, sunrealtype value) {
  if (r->at_zero[i] || r->direction[i] * r->lo[i] > 0.0) return 0;
  return value == 0.0 || (r->lo[i] > 0.0) != (value > 0.0);
}

static int anyCrosses(const CPRoots *r, const sunrealtype *values) {
  for (int i = 0; i < r->n; i++)
    if (crosses(r, i, values[i])) return 1;
  return 0;
}

/* Decides which g_i have left zero at tlo: those that exceed their noise and have moved away from
 * zero. (A function that an error has put on one side may cross zero on its way to the other one,
 * which is no root.) Returns the number of functions that are still at zero. */
static int leaveZero(CPRoots *r) {
  int remaining = 0;
  for (int i = 0; i < r->n; i++) {
    const sunrealtype g = r->lo[i], way = g - r->zero[i];
    if (r->at_zero[i]) r->at_zero[i] = !(g * way > 0.0) || !(fabs(g) > r->noise[i]);
    remaining += r->at_zero[i];
  }
  return remaining;
}

/* mid, which was evaluated at t in the state trial, becomes the upper end. */
static void moveUpper(CPRoots *r, sunrealtype t) {
  N_Vector kept = r->y;
  r->y          = r->trial;
  r->trial      = kept;
  r->raw        = r->trial_raw;
  r->thi        = t;
  swapValues(&r->hi, &r->mid);
}

static void moveLower(CPRoots *r, sunrealtype t) {
  r->tlo = t;
  swapValues(&r->lo, &r->mid);
}

/* After a start, tlo advances until each g_i that is zero there has left zero, or until another
 * function crosses zero, whose root is then bracketed. Functions that are still at zero may leave
 * it at the ends of later steps. */
static int activate(CPOneStep mem) {
  CPRoots *r              = &mem->roots;
  const sunrealtype start = r->tlo, length = fabs(r->thi - start);
  sunrealtype s = fmax(CP_ROOT_MARGIN * cpOneStepTimeRoundoff(mem),
                       DBL_MIN); /* the roundoff of t = 0 may underflow */
  for (; r->zero_is_new && leaveZero(r) && s < length; s *= CP_ROOT_MARGIN) {
    const sunrealtype t = start + mem->dir * s;
    const int flag      = evaluateBetween(mem, t);
    if (flag) return flag;
    if (anyCrosses(r, r->mid)) {
      moveUpper(r, t);
      return CP_SUCCESS;
    }
    moveLower(r, t);
  }
  r->zero_is_new = 0;
  return CP_SUCCESS;
}

/* After a root g_i may still be within its noise at the start of a step, on its new side. It has left
 * zero if the step takes it back to the old side, or if it exceeds its noise in the middle. */
static int leaveWithin(CPOneStep mem) {
  CPRoots *r    = &mem->roots;
  int evaluated = 0;
  for (int i = 0; i < r->n; i++) {
    const sunrealtype side = r->lo[i] > 0.0 ? 1.0 : -1.0;
    if (!r->at_zero[i] || !isinf(r->zero[i]) || !(r->zero[i] * r->lo[i] < 0.0)) continue;
    r->at_zero[i] = fabs(r->hi[i]) <= r->noise[i];
    if (!r->at_zero[i]) continue;
    const int flag = evaluated ? 0 : evaluateBetween(mem, r->tlo + 0.5 * (r->thi - r->tlo));
    if (flag) return flag;
    evaluated     = 1;
    r->at_zero[i] = !(side * r->mid[i] > r->noise[i]);
  }
  return CP_SUCCESS;
}

/* If the step ends where the call does, at tstop, hi may become zero there (cpRootsAtEnd). */
static int reachEnd(CPOneStep mem) {
  CPRoots *r          = &mem->roots;
  const sunrealtype t = mem->base.t, resolution = mem->dir * cpOneStepTimeRoundoff(mem);
  if (!mem->have_tstop || fabs(t - mem->tstop) > fabs(resolution) || r->thi != t) return CP_SUCCESS;
  const int flag = mem->method->interpolate(mem, t, 1, r->rate);
  if (flag) return flag;
  const CPSearchEnd end = {.data       = mem,
                           .s          = &mem->base,
                           .g          = rawAt,
                           .n          = r->n,
                           .direction  = r->direction,
                           .at_zero    = r->at_zero,
                           .t          = t,
                           .resolution = resolution,
                           .y          = r->y,
                           .ydot       = r->rate,
                           .tmp        = r->trial,
                           .before     = r->lo};
  return cpRootsAtEnd(&end, r->hi, r->room);
}

/* ---- functions that reach zero and turn back within the step ---- */

/* slope = dg/ds along the solution at (t, y), s = dir t, by a forward difference along y', or a
 * backward one at the end of the step. values: g(t, y). */
static int slopesAt(CPOneStep mem, sunrealtype t, N_Vector y, const sunrealtype *values,
                    sunrealtype *slope) {
  const CPIntegrator s    = &mem->base;
  const sunrealtype least = CP_ROOT_MARGIN * cpOneStepTimeRoundoff(mem);
  sunrealtype ds          = fmax(SLOPE_STEP * fabs(mem->hlast), least);
  if (t == s->t) ds = -ds;
  int flag = mem->method->interpolate(mem, t, 1, s->tmp);
  if (flag) return flag;
  N_VLinearSum(1.0, y, mem->dir * ds, s->tmp, s->tmp);
  flag = evaluateAt(mem, t + mem->dir * ds, s->tmp, slope);
  for (int i = 0; i < mem->roots.n; i++) slope[i] = (slope[i] - values[i]) / ds;
  return flag;
}

/* Follows g_i, which has the same sign at both ends of [tlo, thi], to its extremum. The first state
 * found where any function crosses zero becomes thi. A state where g_i has the other sign, but
 * whose crossing is not to be found, becomes tlo. */
static int follow(CPOneStep mem, int i) {
  CPRoots *r             = &mem->roots;
  const sunrealtype sign = r->lo[i] > 0.0 ? 1.0 : -1.0;
  sunrealtype a = r->tlo, ga = sign * r->lo[i], sa = sign * r->slope_lo[i]; /* |g_i|, its slope */
  sunrealtype b = r->thi, gb = sign * r->hi[i], sb = sign * r->slope_hi[i];
  for (int k = 0; k < SECANTS && sa < 0.0 && sb > 0.0; k++) {
    const sunrealtype crossing = ga + sa * (gb - ga - sb * fabs(b - a)) / (sa - sb);
    if (crossing > 0.0) return CP_SUCCESS; /* The tangents intersect above zero. */
    const sunrealtype t = a + fmin(fmax(sa / (sa - sb), 0.1), 0.9) * (b - a);
    int flag            = evaluateBetween(mem, t);
    if (flag) return flag;
    if (anyCrosses(r, r->mid)) {
      moveUpper(r, t);
      return slopesAt(mem, t, r->y, r->hi, r->slope_hi);
    }
    const sunrealtype g = sign * r->mid[i];
    if (g < 0.0) {
      moveLower(r, t);
      return CP_SUCCESS;
    }
    flag = slopesAt(mem, t, r->trial, r->mid, r->slope_mid);
    if (flag) return flag;
    const sunrealtype slope = sign * r->slope_mid[i];
    if (slope > 0.0) b = t, gb = g, sb = slope;
    else a = t, ga = g, sa = slope;
  }
  return CP_SUCCESS;
}

/* Looks for functions that reach zero and turn back within [tlo, thi]. Slopes at tlo are those at the end of the step
 * before, or computed if a slope at thi requires them. */
static int followAll(CPOneStep mem) {
  CPRoots *r  = &mem->roots;
  int have_lo = r->t_slope_lo == r->tlo, flag = slopesAt(mem, r->thi, r->y, r->hi, r->slope_hi);
  for (int i = 0; !flag && i < r->n; i++) {
    const sunrealtype start = r->tlo, end = r->thi;
    if (r->at_zero[i] || r->hi[i] * r->lo[i] <= 0.0 || r->slope_hi[i] * r->lo[i] <= 0.0) continue;
    if (!have_lo) {
      flag = stateAt(mem, start, r->trial, &r->trial_raw);
      if (!flag) flag = slopesAt(mem, start, r->trial, r->lo, r->slope_lo);
      have_lo = 1;
    }
    if (!flag) flag = follow(mem, i);
    if (r->tlo == start && r->thi == end) continue;
    have_lo = r->tlo == start;
    i       = -1; /* The remaining interval may contain others. */
  }
  r->t_slope_hi = r->thi;
  return flag;
}

/* ---- functions of time, within the step ---- */

static int along(void *data, sunrealtype t, sunrealtype *g) {
  const CPOneStep mem = data;
  const int flag      = evaluateBetween(mem, t);
  if (!flag) memcpy(g, mem->roots.mid, (size_t)mem->roots.n * sizeof *g);
  return flag;
}

static int frozen(void *data, sunrealtype t, sunrealtype *g) {
  const CPOneStep mem = data;
  return evaluateAt(mem, t, mem->base.y, g);
}

/* Watches the functions from a, where they are ga, up to limit, in an interval that ends at thi. A state where one has
 * crossed zero becomes thi. */
static int watch(CPOneStep mem, sunrealtype tout, sunrealtype limit, sunrealtype a,
                 const sunrealtype *ga) {
  CPRoots *r              = &mem->roots;
  const CPWatched watched = {.data      = mem,
                             .direction = r->direction,
                             .at_zero   = r->at_zero,
                             .along     = along,
                             .frozen    = frozen};
  const sunrealtype last  = (limit - r->thi) * mem->dir < 0.0 ? limit : r->thi;
  sunrealtype found;
  const int flag = cpWatch(&r->watch, &watched, tout, a, ga, r->thi, r->hi, r->end, last, &found);
  if (flag) return flag;
  r->watching = last != r->thi;
  if (isnan(found)) return CP_SUCCESS;
  const int within = (r->watch.t - a) * mem->dir >= 0.0;
  memcpy(r->mid, within ? r->watch.at_t : ga, (size_t)r->n * sizeof *r->mid);
  moveLower(r, within ? r->watch.t : a);
  memcpy(r->mid, r->watch.at, (size_t)r->n * sizeof *r->mid);
  const int failed = stateAt(mem, found, r->trial, &r->trial_raw);
  if (!failed) moveUpper(r, found);
  return failed;
}

/* ---- location ---- */

/* Narrows [tlo, thi] down to roundoff around the earliest root. Of the functions that cross zero,
 * the one whose secant has the earliest zero is used. Illinois variant: the values at the ends have
 * weights, and the weight of an end that stays twice in a row is halved. */
static int locate(CPOneStep mem) {
  CPRoots *r            = &mem->roots;
  const sunrealtype tol = cpOneStepTimeRoundoff(mem);
  sunrealtype wlo = 1.0, whi = 1.0;
  int followed = -1,
      last     = 0; /* last is 1 if the upper end has moved last, -1 if it was the lower one */
  for (int k = 0; fabs(r->thi - r->tlo) > tol; k++) {
    const sunrealtype length = r->thi - r->tlo;
    sunrealtype fraction     = 0.5;
    if (k < SECANTS || k % 2 == 0) {
      const sunrealtype margin = 0.5 * tol / fabs(length);
      sunrealtype nearest      = INFINITY;
      int first = -1; /* remains if all functions that cross zero are exactly zero at thi */
      for (int i = 0; i < r->n; i++) {
        if (r->hi[i] == 0.0 || !crosses(r, i, r->hi[i])) continue;
        const sunrealtype zero = r->lo[i] / (r->lo[i] - r->hi[i]);
        if (zero < nearest) nearest = zero, first = i;
      }
      if (first != followed) followed = first, last = 0, wlo = whi = 1.0;
      fraction = 1.0;
      if (first >= 0) fraction = wlo * r->lo[first] / (wlo * r->lo[first] - whi * r->hi[first]);
      fraction = fmin(fmax(fraction, margin), 1.0 - margin);
    }
    const sunrealtype t = r->tlo + fraction * length;
    if (t == r->tlo || t == r->thi) break; /* tol may have underflowed next to t = 0 */
    const int flag = evaluateBetween(mem, t);
    if (flag) return flag;
    if (anyCrosses(r, r->mid)) {
      moveUpper(r, t);
      whi = 1.0, wlo *= last == 1 ? 0.5 : 1.0, last = 1;
    } else {
      moveLower(r, t);
      wlo = 1.0, whi *= last == -1 ? 0.5 : 1.0, last = -1;
    }
  }
  return CP_SUCCESS;
}

/* Moves the start of the interval to thi. */
static void goOn(CPRoots *r) {
  r->tlo = r->thi;
  swapValues(&r->lo, &r->hi);
  swapValues(&r->slope_lo, &r->slope_hi);
  r->t_slope_lo = r->t_slope_hi, r->t_slope_hi = NAN;
  for (int i = 0; i < r->n; i++) /* From the old side g_i may leave zero to either side. */
    if (isinf(r->zero[i]) && !(r->lo[i] * r->zero[i] < 0.0)) r->zero[i] = 0.0;
  leaveZero(r);
  for (int i = 0; i < r->n; i++) {
    if (r->at_zero[i] || r->lo[i] != 0.0) continue;
    r->at_zero[i] = r->zero_is_new = 1;
    r->zero[i]                     = 0.0;
  }
}

/* Continues to watch a step that has been searched. */
static int watchOn(CPOneStep mem, sunrealtype tout, sunrealtype limit) {
  CPRoots *r = &mem->roots;
  if (!r->watching) return CP_SUCCESS;
  if (!r->pending) { /* The interval that was searched is that of the step again. */
    swapValues(&r->lo, &r->hi);
    r->thi = mem->base.t;
  }
  const sunrealtype end = r->thi;
  int flag              = watch(mem, tout, limit, r->begin.t, r->begin.values);
  if (!flag && r->thi != end) {
    flag       = locate(mem);
    r->pending = !flag;
  } else if (!r->pending) {
    swapValues(&r->lo, &r->hi);
  }
  return flag;
}

int cpRootsSearch(CPOneStep mem, sunrealtype tout, sunrealtype limit) {
  CPRoots *r = &mem->roots;
  if (!r->n || !mem->have_step) return CP_SUCCESS;
  /* A step that has been repeated after it returned a root may end before that root. */
  if (r->pending || (mem->base.t - r->tlo) * mem->dir <= 0.0) return watchOn(mem, tout, limit);
  memcpy(r->begin.values, r->lo, (size_t)r->n * sizeof *r->lo);
  memcpy(r->begin.at_zero, r->at_zero, (size_t)r->n * sizeof *r->at_zero);
  r->begin.t = r->tlo, r->begin.zero_is_new = r->zero_is_new;
  N_VScale(1.0, mem->base.y, r->y);
  int flag = evaluateAt(mem, mem->base.t, r->y, r->hi);
  r->thi   = mem->base.t;
  r->raw   = 0;
  if (!flag) memcpy(r->end, r->hi, (size_t)r->n * sizeof *r->end);
  if (!flag) flag = activate(mem);
  if (!flag) flag = leaveWithin(mem);
  if (!flag) flag = reachEnd(mem);
  if (!flag) flag = watch(mem, tout, limit, r->tlo, r->lo);
  if (!flag) flag = followAll(mem);
  if (flag) return flag;
  if (!anyCrosses(r, r->hi)) {
    goOn(r);
    return CP_SUCCESS;
  }
  flag       = locate(mem);
  r->pending = !flag;
  return flag;
}

void cpRootsSearchAgain(CPRoots *r) {
  cpWatchBack(&r->watch, r->tlo, r->lo);
  memcpy(r->lo, r->begin.values, (size_t)r->n * sizeof *r->lo);
  memcpy(r->at_zero, r->begin.at_zero, (size_t)r->n * sizeof *r->at_zero);
  r->tlo = r->begin.t, r->zero_is_new = r->begin.zero_is_new;
  r->t_slope_lo = NAN;
  r->pending = r->watching = 0;
}

int cpRootsReturned(CPOneStep mem) {
  CPRoots *r = &mem->roots;
  /* At a root the sign of g is due to errors of the projection, which are as large as the
   * tolerances. If g fails here, the root remains pending. */
  N_VScale(1.0, r->y, r->trial);
  N_VInv(mem->base.ewt, mem->base.tmp);
  const int flag = sensitivity(mem, r->thi, r->hi, mem->base.tmp, r->mid);
  if (flag) return flag;
  for (int i = 0; i < r->n; i++)
    r->found[i] = !crosses(r, i, r->hi[i]) ? 0 : r->lo[i] > 0.0 ? -1 : 1;
  r->tbefore = r->tlo;
  r->tfound  = r->thi;
  r->pending = r->watching = 0;
  goOn(r);
  cpWatchContinue(&r->watch, 0);
  for (int i = 0; i < r->n; i++) {
    if (!r->found[i]) continue;
    r->at_zero[i] = r->zero_is_new = 1;
    r->zero[i]                     = r->found[i] > 0 ? -INFINITY : INFINITY;
    r->noise[i]                    = fmax(r->noise[i], r->mid[i]);
  }
  return CP_SUCCESS;
}
