/* Roots that CVODES finds: the function that wraps the user's, and restarts at a root. */
#include "multistep_impl.h"

#include <math.h>
#include <string.h>

/* ---- the user's function ----
 *
 * CVODES looks for roots without end if a value is not finite, and on its own interpolant, which is
 * off the manifold. It takes a zero at the end of a step for the root, wherever in the step the
 * function reached zero, and fails if the function is still zero after that. So it is given a
 * function that checks values, evaluates them at projected states, and replaces an exact zero of
 * g_i by a value of the sign opposite to that from which g_i came. This function finds its
 * integrator through the state, an adopted vector of CVODES (norms.c), like the one to which CVODES
 * writes the solution. */

/* Is t the end of an interval to be searched, and not within it? */
static int beginsSearch(const CPRootFunction *r, sunrealtype t0, sunrealtype t) {
  return isnan(r->end) || (t - r->end) * (t - t0) > 0.0;
}

/* Records that g was evaluated at t: where a search begins, at the end of the interval that is
 * searched, or within it, where CVODES brackets a root. */
static void note(CPRootFunction *r, sunrealtype t0, sunrealtype t, const sunrealtype *g) {
  if (beginsSearch(r, t0, t)) { /* Here the last search has ended, or one begins. */
    for (int i = 0; i < r->n; i++) {
      const int known = !isnan(r->end);
      r->rests[i]     = known && r->at_end[i] == 0.0;
      if (known && r->at_end[i] != 0.0) r->beyond[i] = -r->at_end[i];
      r->at_end[i] = g[i];
    }
    r->low = isnan(r->end) ? t : r->end;
    r->end = r->high = r->between = t;
  } else if ((t - r->low) * (t - t0) > 0.0 && t != r->between) {
    if ((t - r->between) * (t - t0) < 0.0) { /* The previous point is now the upper end, */
      sunrealtype *room = r->at_high;
      r->high = r->between, r->at_high = r->at_between, r->at_between = room;
    } else {
      r->low = r->between; /* or the lower end. */
    }
    r->between = t;
  }
  if (t == r->between) memcpy(r->at_between, g, (size_t)r->n * sizeof *g);
}

/* values <- g(t, y), which may be NaN. Returns 0, or -1 with the failure recorded. */
static int raw(void *data, sunrealtype t, N_Vector y, sunrealtype *values) {
  const CPMultistep mem = data;
  const int result      = cpStepperRoots(&mem->base, mem->roots.g, t, y, values);
  if (!result) return 0;
  mem->failure.cause = mem->failure.fatal = CV_RTFUNC_FAIL;
  cpWrite(mem->base.text, "at t = %.10g: the root function g failed (%d)", t, result);
  return -1;
}

/* gout <- g at (t, y), with y projected if `moves` is set. Returns 0, or -1 with the failure recorded. */
static int evaluated(CPMultistep mem, sunrealtype t, N_Vector y, int moves, sunrealtype *gout) {
  CPRootFunction *roots = &mem->roots;
  const int again       = t == roots->root && y != roots->inner && moves;
  int lost              = CP_SUCCESS;
  /* y, CVODES' interpolated state at t, is projected, as it will be when it is returned. If that
   * fails, y is left unchanged, and the failure is reported when y is returned as the state at a
   * root. */
  if (moves && !again && mem->base.P && t != mem->base.t0) {
    cpSettle(mem, cpStepsTaken(mem));
    lost = cpMoveOutput(mem, t, y, " (CV_ROOT_RETURN)");
  }
  if (lost && !(lost == CP_OUTPUT_PROJ_FAIL && mem->base.output_cause >= 0)) {
    mem->failure.cause = mem->failure.fatal =
        lost == CP_OUTPUT_PROJ_FAIL ? mem->base.output_cause : lost;
    return -1;
  }
  if (again) memcpy(gout, roots->at_root, (size_t)roots->n * sizeof *gout);
  else if (raw(mem, t, y, gout)) return -1;
  int bad = 0;
  while (bad < roots->n && isfinite(gout[bad])) bad++;
  if (bad == roots->n) return 0;
  mem->failure.cause = mem->failure.fatal = CV_RTFUNC_FAIL;
  cpWrite(mem->base.text, "at t = %.10g: the root function g[%d] is %g", t, bad, gout[bad]);
  return -1;
}

static int along(void *data, sunrealtype t, sunrealtype *g) {
  const CPMultistep mem = data;
  mem->roots.nwatched++;
  return CVodeGetDky(mem->cvode_mem, t, 0, mem->roots.inner)
             ? -1
             : evaluated(mem, t, mem->roots.inner, 1, g);
}

static int frozen(void *data, sunrealtype t, sunrealtype *g) {
  const CPMultistep mem = data;
  mem->roots.nwatched++;
  return evaluated(mem, t, mem->roots.newest, 0, g);
}

/* Watches the functions in (a, b], the interval that CVODES is about to search, at whose ends they are at_begin and gout.
 * If one has crossed zero before b, they count as what they are there from there on, so that CVODES brackets that root. */
static int watch(CPMultistep mem, sunrealtype a, sunrealtype b, N_Vector y, sunrealtype *gout) {
  CPRootFunction *r       = &mem->roots;
  const CPWatched watched = {
      .data = mem, .direction = r->direction, .from_start = 1, .along = along, .frozen = frozen};
  const int n = r->n;
  r->newest   = y;
  memcpy(r->at_new, gout, (size_t)n * sizeof *gout);
  const int flag = cpWatch(&r->watch, &watched, r->tout, a, r->at_begin, b, r->at_new, r->at_new, b,
                           &r->crossed);
  if (flag || isnan(r->crossed)) return flag;
  memcpy(r->at_crossed, r->watch.at, (size_t)n * sizeof *gout);
  memcpy(gout, r->at_crossed, (size_t)n * sizeof *gout);
  return 0;
}

/* If the search ends where the call does, g may become zero there (cpRootsAtEnd). */
static int reachEnd(CPMultistep mem, sunrealtype t, N_Vector y, sunrealtype *gout) {
  CPRootFunction *r   = &mem->roots;
  const sunrealtype h = cpLastStep(mem);
  if (t != r->tout && !cpSameTime(t, mem->tstop, h)) return 0;
  if (CVodeGetDky(mem->cvode_mem, t, 1, r->inner)) return -1;
  mem->roots.nwatched += 2;
  const CPSearchEnd end = {.data       = mem,
                           .s          = &mem->base,
                           .g          = raw,
                           .n          = r->n,
                           .direction  = r->direction,
                           .t          = t,
                           .resolution = copysign(CP_FUZZ * (fabs(t) + fabs(h)), h),
                           .y          = y,
                           .ydot       = r->inner,
                           .tmp        = r->spare,
                           .before     = r->at_begin};
  return cpRootsAtEnd(&end, gout, r->room);
}

/* g_i at a restart at its root counts as zero up to CP_ROOT_MARGIN times its value at the root, since a projection may change it.
 * Where the run restarts at a root, the g_i of that root is zero up to roundoff, and may have the sign from which the motion
 * has just turned away: a ball that bounces is below the floor by the roundoff of t. Its way back through zero belongs to the same root.
 * So until it has passed zero, it counts as beyond. A g_i that moves away from zero there does not return. */
static void leaveZero(CPRootFunction *r, sunrealtype t, sunrealtype t0, int at_root, sunrealtype *g) {
  for (int i = 0; i < r->n; i++) {
    if (at_root && t == t0) {
      const int is_zero = r->found[i] && fabs(g[i]) <= CP_ROOT_MARGIN * fabs(r->at_root[i]);
      r->leaves[i]      = is_zero ? g[i] : 0.0;
    } else if (r->leaves[i] != 0.0) {
      if (g[i] * r->leaves[i] <= 0.0 || fabs(g[i]) >= fabs(r->leaves[i])) r->leaves[i] = 0.0;
      else g[i] = -g[i];
    }
  }
}

static int checked(sunrealtype t, N_Vector y, sunrealtype *gout, void *user_data) {
  (void)user_data;
  const CPMultistep mem = cpAdoptedBy(y);
  if (!mem) return -1; /* CVode has been called directly */
  CPRootFunction *roots   = &mem->roots;
  const int is_new        = beginsSearch(roots, mem->base.t0, t);
  const sunrealtype begin = is_new ? roots->end : NAN;
  roots->called           = 1;
  if (is_new) roots->crossed = NAN;
  int flag = 0;
  if (!isnan(roots->crossed) && (t - roots->crossed) * (t - mem->base.t0) >= 0.0)
    memcpy(gout, roots->at_crossed, (size_t)roots->n * sizeof *gout);
  else flag = evaluated(mem, t, y, 1, gout);
  if (!flag) leaveZero(roots, t, mem->base.t0, t == mem->root.t, gout);
  /* At a start CVODES also evaluates g shortly after it. */
  if (!isnan(begin)) memcpy(roots->at_begin, roots->at_end, (size_t)roots->n * sizeof *gout);
  const int searches = !isnan(begin) && cpStepsTaken(mem) > 0;
  if (!flag && searches) flag = reachEnd(mem, t, y, gout);
  if (!flag && searches) flag = watch(mem, begin, t, y, gout);
  if (flag) return -1;
  /* Where the run restarts at a root, the g_i of that root is zero up to roundoff and the
   * tolerance. If g_i is exactly zero, CVODES takes the sign that it has after a fraction of the
   * first step. */
  if (t == mem->root.t && t == mem->base.t0)
    for (int i = 0; i < roots->n; i++)
      if (roots->found[i]) gout[i] = 0.0;
  note(roots, mem->base.t0, t, gout);
  for (int i = 0; i < roots->n; i++)
    if (gout[i] == 0.0) gout[i] = roots->beyond[i];
  return 0;
}

int cpMultistepRoots(CPIntegrator s, int nrtfn, CVRootFn g, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  CPLog *log            = &s->log;
  int flag              = CP_SUCCESS;
  if (s->attached)
    return cpReport(
        log, CP_NOT_SUPPORTED, function,
        "attached memory (CPIntegratorAttach) gets its root functions by CVodeRootInit");
  CPRootFunction roots = {.g = g, .n = nrtfn, .end = NAN, .root = NAN, .crossed = NAN};
  if (nrtfn > 0) {
    CP_NEW(&roots.memory, roots.found, nrtfn);
    CP_NEW(&roots.memory, roots.rests, nrtfn);
    CP_NEW(&roots.memory, roots.seen, nrtfn);
    CP_NEW(&roots.memory, roots.direction, nrtfn);
    CP_ARRAYS(&roots.memory, nrtfn, &roots.at_end, &roots.beyond, &roots.at_between, &roots.at_high,
              &roots.at_root, &roots.at_crossed, &roots.at_begin, &roots.at_new, &roots.leaves);
    CP_ARRAYS(&roots.memory, 2 * nrtfn, &roots.room);
    cpWatchCreate(&roots.watch, &roots.memory, nrtfn);
    roots.spare = cpArenaTake(&roots.memory, cpAdoptedVector(mem));
    roots.inner = cpArenaTake(&roots.memory, cpAdoptedVector(mem));
    flag        = cpArenaStatus(&roots.memory);
  }
  if (!flag) flag = CVodeRootInit(mem->cvode_mem, nrtfn, nrtfn > 0 ? checked : NULL);
  if (flag) {
    cpArenaFree(&roots.memory);
    return flag == CP_MEM_FAIL ? cpReport(log, flag, function, "no memory")
                               : cpOfCVODES(mem, flag, function);
  }
  cpArenaFree(&mem->roots.memory);
  mem->roots = roots;
  return CP_SUCCESS;
}

int cpMultistepDirection(CPIntegrator s, const int *rootdir, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  const int flag        = CVodeSetRootDirection(mem->cvode_mem, (int *)rootdir);
  for (int i = 0; i < mem->roots.n && !flag; i++) mem->roots.direction[i] = rootdir[i];
  return cpOfCVODES(mem, flag, function);
}

/* CVODES has found a root at t. The next call starts there and asks for the values again. They are
 * kept, since those of a second projection may have other signs. */
static void endSearch(CPRootFunction *r, sunrealtype t) {
  const int newest = t == r->between;
  if (!newest) r->high = t, r->low = r->between;
  memcpy(r->at_root, newest ? r->at_between : r->at_high, (size_t)r->n * sizeof *r->at_root);
  r->root = t;
  r->end  = NAN;
  cpWatchContinue(&r->watch, 0);
}

int cpOnlyLeavesZero(CPMultistep mem, sunrealtype t) {
  CPRootFunction *r = &mem->roots;
  int only          = 1;
  if (!r->called) return 0;
  CVodeGetRootInfo(mem->cvode_mem, r->seen);
  for (int i = 0; i < r->n; i++) only &= !r->seen[i] || r->rests[i];
  if (only) endSearch(r, t);
  return only;
}

void cpRootReturned(CPMultistep mem, sunrealtype t) {
  CPRootFunction *r = &mem->roots;
  mem->root.t       = t;
  if (!r->called) return;
  endSearch(r, t);
  CVodeGetRootInfo(mem->cvode_mem, r->found);
}

int cpMultistepWindow(CPIntegrator s, sunrealtype *low, sunrealtype *high, const char *function) {
  const CPMultistep mem = (CPMultistep)s;
  if (!mem->roots.n || mem->root.t != mem->treturned)
    return cpReport(&mem->base.log, CP_NO_INIT, function,
                    "the last call has not returned a root of CPIntegratorRootInit's functions");
  *low = mem->roots.low, *high = mem->root.t;
  return CP_SUCCESS;
}

/* ---- restarts at a root ---- */

void cpRootsForget(CPRootFunction *r) {
  r->end = r->root = NAN;
  for (int i = 0; i < r->n; i++) r->beyond[i] = r->leaves[i] = 0.0;
}

/* After a root the sign of g at the start is roundoff for CVODES, and a first step longer than the
 * motion to the next root ends where g has that sign again, so that the root would be lost. Such a
 * step is possible if the motion is so small that its error is below the tolerance. CVODES' first
 * step is at most a tenth of the distance to tout; so tout is replaced by this fraction of the
 * motion that led here. */
#define FIRST_PART 0.1

/* CVODES may multiply the first step by 1e4. After a root the motion to the next one may be smaller
 * than the tolerance, and if a single step of order 1 spans it, the secant through its ends has a
 * root at its beginning. Ten is the factor that CVODES allows for its next steps. With that factor
 * they would interpolate roots where g still moves away from zero; with two, no step is longer than
 * the motion since the restart. */
#define GROWTH_LATER 2.0

int cpReInitCVODES(CPMultistep mem, sunrealtype t0, N_Vector y0) {
  const int at_root = t0 == mem->root.t;
  cpRootsForget(&mem->roots);
  mem->roots.nwatched = 0;
  cpWatchRestart(&mem->roots.watch, t0, mem->base.t, at_root);
  CVodeSetEtaMaxFirstStep(mem->cvode_mem, at_root ? 1.0 / FIRST_PART : 0.0);
  CVodeSetEtaMaxEarlyStep(mem->cvode_mem, at_root ? GROWTH_LATER : 0.0);
  const int flag = CVodeReInit(mem->cvode_mem, t0, y0); /* uses this bound */
  CVodeSetEtaMaxFirstStep(mem->cvode_mem, 0.0);
  return flag;
}

/* Times nearer than the roundoff of t are left to CVODES, which reports them as too close. */

int cpStartsAtRoot(const CPMultistep mem, sunrealtype tout, sunrealtype *near) {
  const sunrealtype t0 = mem->base.t0, part = FIRST_PART * mem->root.motion, way = tout - t0;
  *near = t0 + copysign(part, way);
  return fabs(way) > part && fabs(*near - t0) > CP_FUZZ * fabs(t0);
}
