/* CPOneStepEvolve: steps until there is something to return. */
#include "onestep_impl.h"

#include <float.h>
#include <math.h>

static const char *const function = "CPOneStepEvolve";

/* ---- before ---- */

static int checkProblem(CPOneStepMem mem) {
  if (mem->model_gone)
    return cpReport(&mem->log, CP_ILL_INPUT, function,
                    "the attached mechanical system has been freed: free the integrator first");
  if (mem->tol.kind == CP_TOL_NONE)
    return cpReport(&mem->log, CP_NO_INIT, function, "set tolerances first (CPOneStepSStolerances)");
  if (mem->embedded <= 0 && mem->hfixed == 0.0)
    return cpReport(&mem->log, CV_ILL_INPUT, function,
                    "the method has no embedded one to estimate errors: it needs "
                    "CPOneStepSetFixedStep");
  return CP_SUCCESS;
}

/* The direction, at the first call after a start, and the size of the first step. */
static int setDirection(CPOneStepMem mem, sunrealtype tout) {
  if (mem->dir != 0.0) return CP_SUCCESS;
  const sunrealtype roundoff = fmax(CP_UROUND * fmax(fabs(mem->t), fabs(tout)), DBL_MIN);
  if (fabs(tout - mem->t) <= 2.0 * roundoff)
    return cpReport(&mem->log, CV_TOO_CLOSE, function,
                    "tout must not be t0, %.15g, but for roundoff: tout = %.15g", mem->t, tout);
  const sunrealtype dir = tout > mem->t ? 1.0 : -1.0;
  if (mem->h == 0.0 && mem->hinit * dir < 0.0)
    return cpReport(&mem->log, CP_ILL_INPUT, function,
                    "the first step (CPOneStepSetInitStep), %g, must lead towards tout = %.15g",
                    mem->hinit, tout);
  mem->dir = dir;
  mem->h   = mem->h == 0.0 ? mem->hinit : dir * fabs(mem->h);
  return CP_SUCCESS;
}

/* One step at a time tout may be passed, but not turn round. */
static int checkTimes(CPOneStepMem mem, sunrealtype tout, int itask) {
  if (itask == CV_ONE_STEP && (tout - mem->t0) * mem->dir < -cpOneStepTimeRoundoff(mem))
    return cpReport(
        &mem->log, CP_ILL_INPUT, function,
        "tout must not lie on the other side of the start, %.15g: the run goes to %s t, "
        "and tout = %.15g",
        mem->t0, mem->dir > 0.0 ? "larger" : "smaller", tout);
  const sunrealtype first = mem->have_step ? mem->tlast : mem->t;
  if (itask == CV_NORMAL && (tout - first) * mem->dir < -cpOneStepTimeRoundoff(mem))
    return cpReport(&mem->log, CP_ILL_INPUT, function,
                    "tout must not lie before %.15g, %s: tout = %.15g", first,
                    mem->have_step ? "where the last step began"
                                   : "the last good state: the newest attempt is no step",
                    tout);
  mem->tlimit = mem->dir * INFINITY;
  if (!mem->have_tstop) return CP_SUCCESS;
  if ((mem->tstop - mem->t) * mem->dir < -cpOneStepTimeRoundoff(mem))
    return cpReport(&mem->log, CP_ILL_INPUT, function,
                    "tstop must not lie behind t = %.15g: tstop = %.15g", mem->t, mem->tstop);
  mem->tlimit = mem->tstop;
  return CP_SUCCESS;
}

/* Into ewt, those of the state. */
static int weights(CPOneStepMem mem) {
  const int flag = cpOneStepWeights(mem, mem->y, mem->ewt);
  if (flag)
    return cpReason(mem->text, flag,
                    "at t = %.15g: an error weight is not positive, or efun failed", mem->t);
  const sunrealtype norm = N_VWrmsNorm(mem->y, mem->ewt);
  if (norm * CP_UROUND <= 1.0) return CP_SUCCESS;
  return cpReason(
      mem->text, CV_TOO_MUCH_ACC,
      "at t = %.15g: the tolerances are below roundoff: they must be %.2g times as large", mem->t,
      norm * CP_UROUND);
}

/* What has to be done once: the reason of a failure is in mem->text. */
static int start(CPOneStepMem mem) {
  int flag = CP_SUCCESS;
  if (!mem->started || !mem->start_checked) flag = weights(mem);
  if (!flag && mem->P && !mem->start_checked)
    flag = cpCheckConsistent(mem->step, mem->t, mem->y, mem->ewt, mem->ytmp, mem->stats.nst > 0,
                             "CPOneStep", mem->text);
  if (!flag) mem->start_checked = 1;
  if (!flag && !mem->started) {
    flag         = mem->ops->start(mem);
    mem->started = !flag;
  }
  return flag ? flag : cpRootsStart(mem);
}

/* ---- a step ---- */

/* The state becomes (tlast, ylast), and (tnew, ynew) the state. */
static void accept(CPOneStepMem mem) {
  N_Vector spare = mem->ylast;
  mem->ylast     = mem->y;
  mem->y         = mem->ynew;
  mem->ynew      = spare;
  mem->tlast     = mem->t;
  mem->t         = mem->tnew;
  if (mem->stats.nst++ == 0) mem->stats.hfirst = mem->hlast;
  mem->have_step = 1;
}

static int step(CPOneStepMem mem) {
  int flag = weights(mem);
  if (flag) return flag;
  mem->have_step = 0;
  flag           = cpOneStepStep(mem);
  if (!flag) accept(mem);
  return flag;
}

/* ---- after ---- */

static int isBefore(const CPOneStepMem mem, sunrealtype t1, sunrealtype t2) {
  return (t1 - t2) * mem->dir < 0.0;
}

static int atRoot(CPOneStepMem mem, N_Vector yout) {
  CPRoots *r = &mem->roots;
  mem->tret  = r->thi;
  N_VScale(1.0, r->y, yout);
  cpRootsReturned(r);
  if (!r->raw) return CV_ROOT_RETURN;
  const int flag = cpOneStepSolution(mem, mem->tret, yout, " (CV_ROOT_RETURN)"); /* says why */
  return flag ? flag : CV_ROOT_RETURN;
}

static int atEnd(CPOneStepMem mem, N_Vector yout, int result) {
  mem->tret = mem->t;
  N_VScale(1.0, mem->y, yout);
  return result;
}

static int between(CPOneStepMem mem, sunrealtype tout, N_Vector yout) {
  const int flag = cpOneStepSolution(mem, tout, yout, "");
  if (!flag || flag == CP_OUTPUT_PROJ_FAIL) mem->tret = tout;
  return flag;
}

/* What the last step has to be returned, the earliest first. NONE: nothing. */
#define NONE 3

static int offer(CPOneStepMem mem, sunrealtype tout, int itask, N_Vector yout) {
  const int normal = itask == CV_NORMAL;
  const int flag   = cpRootsSearch(mem);
  if (flag) return flag;
  if (mem->roots.pending && !(normal && isBefore(mem, tout, mem->roots.thi)))
    return atRoot(mem, yout);
  if (mem->have_tstop && fabs(mem->t - mem->tstop) <= cpOneStepTimeRoundoff(mem) &&
      !(normal && isBefore(mem, tout, mem->tstop))) {
    mem->have_tstop = 0;
    return atEnd(mem, yout, CV_TSTOP_RETURN);
  }
  if (normal && !isBefore(mem, mem->t, tout)) return between(mem, tout, yout);
  if (!normal && mem->tret != mem->t) return atEnd(mem, yout, CP_SUCCESS);
  return NONE;
}

static int march(CPOneStepMem mem, sunrealtype tout, int itask, N_Vector yout) {
  int flag = start(mem);
  for (long int n = 0; !flag; n++) {
    flag = offer(mem, tout, itask, yout);
    if (flag != NONE) return flag;
    if (mem->mxsteps >= 0 && n >= mem->mxsteps)
      return cpReason(mem->text, CV_TOO_MUCH_WORK,
                      "%ld steps have not reached tout = %.15g (CPOneStepSetMaxNumSteps)", n, tout);
    flag = step(mem);
  }
  return flag;
}

int CPOneStepEvolve(CPOneStepMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask) {
  int flag = cpOneStepCheck(mem, function);
  if (!flag) flag = cpCheckCall(tout, yout, tret, itask, mem->y, &mem->log, function);
  if (flag) return flag;
  flag = checkProblem(mem);
  if (!flag) flag = setDirection(mem, tout);
  if (!flag) flag = checkTimes(mem, tout, itask);
  if (flag) {
    *tret = mem->t;
    atEnd(mem, yout, flag);
    return flag;
  }
  flag = march(mem, tout, itask, yout);
  if (mem->step) {
    cpWarnOfFloor(mem->step, &mem->floor_told, mem->t, &mem->log, function);
    cpWarnOfRank(mem->step, mem->t, &mem->log, function);
  }
  if (flag < 0 && flag != CP_OUTPUT_PROJ_FAIL) atEnd(mem, yout, flag);
  *tret = mem->tret;
  if (flag == CP_OUTPUT_PROJ_FAIL) return cpReport(&mem->log, flag, function, "%s", mem->text);
  return flag >= 0 ? flag
                   : cpReport(&mem->log, flag, function,
                              "%s; the last good state is that of t = %.15g", mem->text, mem->t);
}
