/* Roots that CVODES finds: the user's function behind one of ours, and restarts at a root. */
#include "multistep_impl.h"

#include <math.h>

/* ---- the user's function ----
 *
 * CVODES looks for roots without an end where a value is not finite. So it gets a function that checks the values. This
 * finds its integrator through the state, a vector of CVODES' that is adopted (norms.c), as is the one into which CPode has
 * it write the solution. */

static int checked(sunrealtype t, N_Vector y, sunrealtype *gout, void *user_data) {
  const CPodeMem mem = cpAdoptedBy(y);
  if (!mem) return -1; /* CVode has been called directly */
  CPRootFunction *roots = &mem->roots;
  const int result      = roots->g(t, y, gout, user_data);
  int bad               = 0;
  roots->called         = 1;
  while (!result && bad < roots->n && isfinite(gout[bad])) bad++;
  if (result || bad < roots->n) {
    mem->failure.cause = mem->failure.fatal = CV_RTFUNC_FAIL;
    if (result) cpWrite(mem->base.text, "at t = %.15g: the root function g failed (%d)", t, result);
    else cpWrite(mem->base.text, "at t = %.15g: the root function g[%d] is %g", t, bad, gout[bad]);
    return -1;
  }
  /* Where the run goes on from a root, its g_i is zero but for roundoff and the tolerance. CVODES takes the sign that a g_i
   * has after a part of the first step where it is exactly zero. */
  if (t == mem->root.t && t == mem->base.t0)
    for (int i = 0; i < roots->n; i++)
      if (roots->found[i]) gout[i] = 0.0;
  return 0;
}

static void destroyVector(void *v) { N_VDestroy(v); }

int CPodeRootInit(CPodeMem mem, int nrtfn, CVRootFn g) {
  int flag = cpStepperCheck((CPStepper)mem, __func__);
  if (flag) return flag;
  CPLog *log = &mem->base.log;
  if (nrtfn < 0)
    return cpReport(log, CP_ILL_INPUT, __func__, "nrtfn must be >= 0: nrtfn = %d", nrtfn);
  if (nrtfn > 0 && !g) return cpReport(log, CP_ILL_INPUT, __func__, "g must not be NULL");
  if (mem->attached)
    return cpReport(log, CP_NOT_SUPPORTED, __func__,
                    "attached memory (CPodeAttach) gets its root functions by CVodeRootInit");
  CPRootFunction roots = {.g = g, .n = nrtfn};
  if (nrtfn > 0) {
    CP_NEW(&roots.memory, roots.found, nrtfn);
    roots.y     = cpArenaOwn(&roots.memory, cpAdoptedVector(mem), destroyVector);
    roots.spare = cpArenaOwn(&roots.memory, cpAdoptedVector(mem), destroyVector);
    flag        = cpArenaStatus(&roots.memory);
  }
  if (!flag) flag = CVodeRootInit(mem->cvode_mem, nrtfn, nrtfn > 0 ? checked : NULL);
  if (flag) {
    cpArenaFree(&roots.memory);
    return flag == CP_MEM_FAIL ? cpReport(log, flag, __func__, "no memory")
                               : cpOfCVODES(mem, flag, __func__);
  }
  cpArenaFree(&mem->roots.memory);
  mem->roots = roots;
  return CP_SUCCESS;
}

int cpRootReturned(CPodeMem mem, sunrealtype t) {
  mem->root.t = t;
  return mem->roots.called ? CVodeGetRootInfo(mem->cvode_mem, mem->roots.found) : CP_SUCCESS;
}

/* ---- restarts at a root ---- */

/* CVODES may multiply the first step by 1e4. After a root the motion to the next one may be lower than the tolerance, and
 * where a single step of order 1 spans it, the secant through its ends has a root at its beginning. Ten is what CVODES
 * allows its next steps (bouncing_ball.c in test/reference). */
#define GROWTH_AFTER_ROOT 10.0

int cpReInitCVODES(CPodeMem mem, sunrealtype t0, N_Vector y0) {
  const int at_root = t0 == mem->root.t;
  if (at_root) CVodeSetEtaMaxFirstStep(mem->cvode_mem, GROWTH_AFTER_ROOT);
  const int flag = CVodeReInit(mem->cvode_mem, t0, y0); /* which takes that over */
  if (at_root) CVodeSetEtaMaxFirstStep(mem->cvode_mem, 0.0);
  return flag;
}

/* After a root the sign of g at the start is roundoff to CVODES, and a first step that is longer than the motion to the
 * next root ends where g has that sign again: the root would be lost. Such a step, whose error is below the tolerance, is
 * possible where the motion is. CVODES' first step is a tenth of the way to tout at the most; so tout is this part of the
 * motion that led here. */
#define FIRST_PART 0.1
/* Times nearer than that, in units of t, are left to CVODES, which calls them too close. */
#define CLOSE (1.0e3 * CP_UROUND)

int cpStartsAtRoot(const CPodeMem mem, sunrealtype tout, sunrealtype *near) {
  const sunrealtype t0 = mem->base.t0, part = FIRST_PART * mem->root.motion, way = tout - t0;
  *near = t0 + copysign(part, way);
  return fabs(way) > part && fabs(*near - t0) > CLOSE * fabs(t0);
}
