/* One call of CVode, with the checks before and after it. */
#include "multistep_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- before ---- */

/* CVODES' formula for the first step squares the distance to tout. Below this distance the square
 * underflows, which gives a step of 0 and a state of NaN. */
#define LEAST_DISTANCE (sqrt(DBL_MIN) / CP_UROUND)

/* Checks that tout lies in the direction of integration. For a time on the other side CVODES would
 * look for roots in extrapolated states. With CV_ONE_STEP the run may pass tout, but tout must not
 * reverse its direction. */
static int checkTime(CPMultistep mem, sunrealtype tout, int itask, long int nst) {
  sunrealtype t = mem->base.t;
  if (nst == 0)
    return cpStepperIsThere(t, tout) || fabs(tout - t) >= LEAST_DISTANCE
               ? CP_SUCCESS
               : cpReport(&mem->base.log, CV_TOO_CLOSE, mem->function,
                          "tout is too close to t0 = %.15g for a step: tout = %.15g", t, tout);
  const sunrealtype h = cpLastStep(mem);
  CVodeGetCurrentTime(mem->cvode_mem, &t);
  const sunrealtype begin = itask == CV_NORMAL ? t - h : mem->base.t0;
  if ((tout - begin) * h >= 0.0 || cpSameTime(tout, begin, h)) return CP_SUCCESS;
  if (itask == CV_NORMAL)
    return cpRefuse(&mem->base.log, mem->function,
                    "tout must not lie before the last step, which began at %.15g: tout = %.15g",
                    begin, tout);
  return cpRefuse(&mem->base.log, mem->function,
                  "tout must not lie on the other side of the start, %.15g: the run goes to %s t, "
                  "and tout = %.15g",
                  begin, h > 0.0 ? "larger" : "smaller", tout);
}

/* Has the run passed tout? CVODES would look for roots between the latest time that it has returned
 * and this earlier one, and find again those already passed. So tout is only interpolated within
 * the last step. */
static int isPassed(CPMultistep mem, sunrealtype tout, int itask, long int nst) {
  long int nge = 0;
  CVodeGetNumGEvals(mem->cvode_mem, &nge);
  return itask == CV_NORMAL && nst > 0 && nge > 0 && (tout - mem->treturned) * cpLastStep(mem) < 0.0;
}

/* CVODES clips a state to its inequality constraints after the solver has returned, which moves it
 * off the manifold. No getter says whether there are such constraints, but CVODES' workspace
 * shrinks when they are removed. */
static long int workSpace(CPMultistep mem) {
  long int words = 0, integers = 0;
  CP_DEPRECATED_OK_BEGIN
  CVodeGetWorkSpace(mem->cvode_mem, &words, &integers);
  CP_DEPRECATED_OK_END
  return words;
}

static int refuseInequalities(CPMultistep mem) {
  if (!mem->base.y0->ops->nvspace)
    return CP_SUCCESS; /* CVODES cannot count its workspace, so nothing is known */
  const long int words = workSpace(mem);
  CVodeSetConstraints(mem->cvode_mem, NULL);
  if (workSpace(mem) >= words) return CP_SUCCESS;
  return cpReport(&mem->base.log, CP_NOT_SUPPORTED, mem->function,
                  "inequality constraints (CVodeSetConstraints) cannot be combined with "
                  "projection: CVODES would clip projected states; they have been switched off");
}

/* Has the user changed CVODES or the system so that steps after the nst taken are
 * impossible? Returns 0, or a code that has been reported for mem->function. */
static int refuseChanges(CPMultistep mem, long int nst) {
  const CPIntegrator s = &mem->base;
  CPAttempt a;
  int flag = cpRefuseOtherVectors(mem, mem->function);
  if (flag) return flag;
  /* CVODES reads the data of its weight function only at the first step. A function that is set
   * later receives NULL. */
  if (mem->tol_is_new && nst > 0)
    return cpReport(
        &s->log, CP_TOO_LATE, mem->function,
        "tolerances were set after the first step: CPIntegratorReInit makes them valid");
  mem->tol_is_new = 0;
  if (s->system_gone)
    return cpRefuse(&s->log, mem->function,
                    "the attached mechanical system has been freed: free the integrator first");
  cpAttemptRead(mem, &a);
  if (!s->system.data || a.user_data == s->system.data) return CP_SUCCESS;
  return cpReport(&s->log, CP_NOT_SUPPORTED, mem->function,
                  "CVodeSetUserData has replaced the attached mechanical system, which is CVODES' "
                  "user_data: CPMechSetUserData is for the data of its functions");
}

static int prepare(CPMultistep mem, sunrealtype tout, int itask, long int nst) {
  const CPIntegrator s = &mem->base;
  int flag             = refuseChanges(mem, nst);
  if (nst == 0) mem->own_weights = 0, mem->roundoff = 0.0;
  if (!flag) flag = checkTime(mem, tout, itask, nst);
  if (!flag && s->P) flag = refuseInequalities(mem);
  if (nst > 0) CVodeSetNonlinConvCoef(mem->cvode_mem, mem->coef);
  if (flag || !s->P || s->start_checked) return flag;

  /* If the error weights are known before the first step, the start is checked before f is called.
   * CVODES' own weights are known only in the first solve (cpCheckStartLate). */
  if (s->tol.kind == CP_TOL_CVODES && nst == 0) return CP_SUCCESS;
  if (nst > 0) CVodeGetErrWeights(mem->cvode_mem, s->ewt);
  else flag = cpStepperWeights(s, s->y, s->ewt);
  if (flag == CP_ILL_INPUT)
    return cpReport(&s->log, flag, mem->function,
                    "the tolerances give an error weight that is not positive");
  if (flag) return flag; /* CVODES has reported it */
  flag = cpStepperCheckConsistent(s, s->t, s->y, s->ewt, nst > 0);
  return flag ? cpReport(&s->log, flag, mem->function, "%s", s->text) : CP_SUCCESS;
}

/* Turns are put aside before CVODES chooses the first step, by differences of f, and tests the tolerances. */
static int putAside(CPMultistep mem) {
  const CPIntegrator s = &mem->base;
  CPAttempt a;
  if (s->attached) return CP_SUCCESS;
  const int flag = cpStepperStartTurns(s);
  cpAttemptRead(mem, &a);
  if (s->turned) N_VScale(1.0, s->y, a.ypred); /* the state before the first step */
  return flag ? cpReport(&s->log, flag, mem->function, "%s", s->text) : CP_SUCCESS;
}

/* ---- after ---- */

/* After a failed step CVODES has the state before it, unless NaN has entered its history or it gave
 * up between the parts of a step. Nor does it recover from a step below the roundoff of t. In these
 * cases it is re-initialised with the last good state, which then is also the start for
 * CPIntegratorCalcIC. */
static void restoreState(CPMultistep mem, N_Vector yout, sunrealtype *tret) {
  const CPIntegrator s = &mem->base;
  CPFailure *failure   = &mem->failure;
  CPAttempt a;
  cpPendingTakeBack(mem);
  cpOrderNormsForget(mem);
  cpAttemptRead(mem, &a);
  if (mem->base.sens && mem->sens.take_back(mem->base.sens, &a)) failure->history_lost = 1;
  mem->attempt.complete = 0;
  /* Undoing a first prediction whose step was much too long loses y0 (step.c), with which
   * checkpoints begin. */
  if (a.nst == 0) N_VScale(1.0, s->y, a.ypred);
  failure->restarted = failure->history_lost || !cpVectorFinite(a.ypred) ||
                       !cpSameTime(a.t, s->t, a.h) || s->t + a.h == s->t;
  if (failure->restarted) {
    cpStepperAddTurns(s, s->y), cpStepperForgetTurns(s);
    CVodeReInit(mem->cvode_mem, s->t, s->y); /* no failure: it is initialised, with such a vector */
    cpRootsForget(&mem->roots);
    if (mem->base.sens) mem->sens.restart(mem->base.sens);
    N_VScale(1.0, s->y, s->y0);
    s->t0 = mem->treturned       = s->t;
    s->nst_out                   = -1;
    mem->attempt.nst             = 0;
    mem->attempt.projected       = -1;
    mem->attempt.expect_rejected = -1;
    failure->history_lost        = 0;
  }
  cpWorkForget(s->step);
  s->short_steps.count = 0; /* CVODES' Jacobian may be that of the failure: a new call tries again */
  N_VScale(1.0, s->y, yout);
  *tret = s->t;
}

/* Says in messages what the user has to do if CVODES has been re-initialised. */
static const char *afterRestart(CPMultistep mem) {
  return mem->failure.restarted
             ? "; CVODES has been re-initialised there: quadratures and sensitivities must be, too "
               "(CVodeQuadReInit, CPSensReInit, CVodeSensReInit)"
             : "";
}

/* Reports a failure of CVODES with its cause: the projection, a function of the attached system, or
 * CVODES itself. */
static int explain(CPMultistep mem, int flag) {
  static const int by_system[] = {
      CV_RHSFUNC_FAIL,  CV_FIRST_RHSFUNC_ERR,  CV_REPTD_RHSFUNC_ERR,  CV_UNREC_RHSFUNC_ERR,
      CV_SRHSFUNC_FAIL, CV_FIRST_SRHSFUNC_ERR, CV_REPTD_SRHSFUNC_ERR, CV_UNREC_SRHSFUNC_ERR,
      CV_LSETUP_FAIL,   CV_LSOLVE_FAIL,        CV_CONV_FAILURE};
  const CPIntegrator s = &mem->base;
  const char *function = mem->function, *again = afterRestart(mem), *reason = NULL;
  char last[CP_LAST_GOOD];
  int code = 0;
  for (size_t i = 0; i < sizeof by_system / sizeof by_system[0]; i++)
    if (flag == by_system[i]) code = cpStepperCause(s, &reason);
  /* Not if a function has failed for good: it must not be called again. */
  const int fatal = mem->failure.fatal;
  if (flag < 0 &&
      (!fatal || fatal == CV_ERR_FAILURE || fatal == CV_CONV_FAILURE ||
       fatal == CP_PROJ_CONV_FAILURE || fatal == CP_PROJ_CORRECTION) &&
      cpStepperTellLimit(s))
    return cpReport(&s->log,
                    fatal                ? fatal
                    : mem->failure.cause ? mem->failure.cause
                    : code               ? code
                                         : flag,
                    function, "%s%s", s->text, again);
  char fastest[CP_TEXT_LENGTH] = "";
  const int failed             = fatal ? fatal : code ? 0 : flag;
  if (failed == CV_ERR_FAILURE || failed == CV_CONV_FAILURE || failed == CP_RHS_NONFINITE)
    cpStepperFastest(s, fastest);
  if (fatal)
    return cpReport(&s->log, fatal, function, "%s%s%s%s", s->text,
                    cpStepperLastGood(s, s->text, last), fastest, again);
  if (flag == CV_CONV_FAILURE && mem->failure.cause)
    return cpReport(&s->log, mem->failure.cause, function,
                    "every attempt of the step from t = %.10g failed: %s%s", s->t,
                    cpStepperWithoutTime(s->text), again);
  if (code)
    return cpReport(&s->log, code, function, "%s%s%s", reason, cpStepperLastGood(s, reason, last),
                    again);
  const char *lacking = /* what CVODES means by "the nonlinear solver's init routine failed" */
      flag == CV_NLS_INIT_FAIL
          ? " Newton's iteration, of the states or of sensitivities, lacks a linear solver "
            "(CVodeSetLinearSolver); fixed-point iteration needs none "
            "(CPIntegratorSetNonlinearSolver, "
            "CVodeSetNonlinearSolverSensStg1)"
          : "";
  char why[128] = "";
  if (flag == CV_ERR_FAILURE && s->P) cpStepperTellAngle(s, why, sizeof why);
  if (mem->cvodes[0])
    return cpReport(&s->log, flag, function, "%s%s%s%s%s", mem->cvodes, why, lacking, fastest,
                    again);
  char *name = CVodeGetReturnFlagName(flag); /* CVODES has no name for some codes */
  cpReport(&s->log, flag, function, "CVode returned %s (%d) at t = %.10g%s%s%s%s%s",
           name ? name : "an error", flag, s->t, why, lacking[0] ? ":" : "", lacking, fastest,
           again);
  free(name);
  return flag;
}

/* unknown: CVODES may have no tolerances. No getter says whether it has any, but it checks for them
 * before it initialises the nonlinear solver. */
static int failedCall(CPMultistep mem, int flag, int unknown, N_Vector yout, sunrealtype *tret) {
  cpSettle(mem, cpStepsTaken(mem));
  restoreState(mem, yout, tret);
  if (!unknown || flag != CV_ILL_INPUT || mem->nls.initialized) return explain(mem, flag);
  mem->base.tol.kind = CP_TOL_NONE;
  return cpReport(&mem->base.log, CP_NO_INIT, mem->function,
                  "set tolerances first (CPIntegratorSStolerances)%s%s", mem->cvodes[0] ? ": " : "",
                  mem->cvodes);
}

/* ---- the call ---- */

/* With tiny tolerances, the first steps are below the roundoff of t0, each about ten times as long
 * as the one before. They are returned together as one step. Where steps shrink until t no longer
 * changes, each is returned, since a failure comes next. */
enum { MOST_IDLE_STEPS = 1000 };

static int run(CPMultistep mem, sunrealtype tout, N_Vector y, sunrealtype *tret, int itask,
               long int nst) {
  for (int k = 0; k < MOST_IDLE_STEPS; k++) {
    const int result = CVode(mem->cvode_mem, tout, y, tret, itask);
    if (result != CV_SUCCESS || itask != CV_ONE_STEP || *tret != mem->base.t0 ||
        cpStepsTaken(mem) == nst)
      return result;
    nst = cpStepsTaken(mem);
  }
  cpWrite(mem->cvodes, "%d steps from t = %.15g have not changed t", MOST_IDLE_STEPS, *tret);
  return CV_TOO_MUCH_WORK;
}

static int ownRhs(CPIntegrator s, sunrealtype t, N_Vector y, N_Vector ydot) {
  const int flag = s->f(t, y, ydot, cpUserData((CPMultistep)s));
  return flag < 0 ? CV_RHSFUNC_FAIL : flag;
}

/* CVODES' own first step is bounded by the component with the least |y_i| + atol_i, to some 1e-10 of the motion where a
 * component is 0 at the start, and steps grow from there. From a singular position no such step may pass: the angle between
 * constraints is as small as the step, and roundoff moves states by its inverse square (cpStepperRoundoff). So if the rank at the
 * start is lower than beside it, the first step is as one-step methods choose it. Beside: after that step, by Euler's method, or, since angles as
 * narrow as the violation of the constraints there may not be believed, at a distance whose square is roundoff. Neither a step that the user
 * has set is replaced, nor one at a root (cpStartsAtRoot). Returns the codes of CVode; chosen: out. */
static int leaveSingular(CPMultistep mem, sunrealtype tout, int *chosen) {
  const CPIntegrator s = &mem->base;
  sunrealtype h        = tout - s->t;
  int rows             = 0;
  if (mem->has_first || mem->root.motion > 0.0 || !s->f || !s->P || !s->system.rank)
    return CV_SUCCESS;
  if (cpStepperWeights(s, s->y, s->ewt)) return CV_SUCCESS; /* CVODES will say so. */
  int flag = ownRhs(s, s->t, s->y, s->tmp);
  if (flag) return flag < 0 ? flag : CV_FIRST_RHSFUNC_ERR;
  const int there = s->system.rank(s->system.data, &rows);
  if (there < 0 || there == rows) return CV_SUCCESS;
  flag = cpStepperFirstStep(s, ownRhs, 1, s->tmp, s->err, s->delta, &h);
  if (flag) return flag;
  if (s->system.rank(s->system.data, &rows) <= there) {
    const sunrealtype part = cpStepperSize(s, s->y, s->delta) / N_VWrmsNorm(s->tmp, s->ewt);
    N_VLinearSum(1.0, s->y, copysign(fmin(CP_HALF_DIGITS * part, fabs(h)), h), s->tmp, s->delta);
    flag = ownRhs(s, s->t, s->delta, s->err);
    if (flag || s->system.rank(s->system.data, &rows) <= there) return flag < 0 ? flag : CV_SUCCESS;
  }
  *chosen = 1;
  return CVodeSetInitStep(mem->cvode_mem, h);
}

/* Continues after nst steps. */
static int advance(CPMultistep mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                   long int nst) {
  const N_Vector y = mem->y ? mem->y : yout;
  sunrealtype near;
  int result = CP_SUCCESS, done = 0, chosen = 0;
  mem->holding      = 1;
  mem->roots.called = 0;
  if (mem->base.sens) mem->sens.begin(mem->base.sens);
  if (nst == 0 && (result = leaveSingular(mem, tout, &chosen)) != CV_SUCCESS) done = 1;
  else if (nst == 0 && cpStartsAtRoot(mem, tout, &near)) {
    result = CVode(mem->cvode_mem, near, y, tret, CV_ONE_STEP);
    done   = result != CV_SUCCESS || itask == CV_ONE_STEP;
  }
  if (!done) result = run(mem, tout, y, tret, itask, nst);
  while (result == CV_ROOT_RETURN && cpOnlyLeavesZero(mem, *tret))
    result = run(mem, tout, y, tret, itask, nst);
  if (chosen) CVodeSetInitStep(mem->cvode_mem, 0.0);
  if (mem->base.sens) mem->sens.end(mem->base.sens);
  mem->holding = 0;
  if (result >= 0 && y != yout) N_VScale(1.0, y, yout);
  return result;
}

/* All steps must have gone through the projecting solver, and a step that the solver made CVODES
 * reject must not have been accepted. Otherwise restores the last good state. */
static int checkSteps(CPMultistep mem, long int nst, long int taken, long int nsolves,
                      N_Vector yout, sunrealtype *tret) {
  const int bypassed = taken > nsolves;
  const int accepted = mem->attempt.expect_rejected >= 0 && nst > mem->attempt.expect_rejected;
  if (!bypassed && !accepted) return CP_SUCCESS;
  restoreState(mem, yout, tret);
  if (bypassed)
    return cpReport(&mem->base.log, CP_BYPASSED, mem->function,
                    "CVODES stepped without calling the projecting solver: sensitivities need "
                    "CV_STAGGERED or CV_STAGGERED1, and a nonlinear solver is set with "
                    "CPIntegratorSetNonlinearSolver%s",
                    afterRestart(mem));
  return cpReport(&mem->base.log, CP_SELFCHECK_FAIL, mem->function,
                  "CVODES accepted a step that its error test was to reject (is "
                  "CVodeSetNonlinConvCoef used?)");
}

/* Fixed-point iteration converges for |h df/dy| of about 1 or less. If accuracy allows longer steps,
 * CVODES tries them again and again, and a third to a half of the attempts fails (stiff mechanisms of the
 * catalogue; of the others, at most a fortieth). Then the error test is blind: first corrections are below
 * the tolerance, and pass, although the iteration hardly contracts. After CP_MOST_ITERATIONS failed attempts this part of
 * the steps says that stability limits their size: */
#define DIVERGED_PART 0.1

static void warnOfStability(CPMultistep mem, long int nst) {
  if (mem->stability_warned || mem->ndiverged < CP_MOST_ITERATIONS ||
      (double)mem->ndiverged < DIVERGED_PART * (double)nst)
    return;
  mem->stability_warned = 1;
  cpReport(
      &mem->base.log, CV_WARNING, mem->function,
      "at t = %.15g: fixed-point iteration has failed in %ld attempts of %ld steps: the problem is "
      "stiff, stability limits the steps, now to %.3g, and errors may be many tolerances; use BDF "
      "or RADAU",
      mem->base.t, mem->ndiverged, nst, cpLastStep(mem));
}

static int call(CPMultistep mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                const char *function) {
  const CPIntegrator s = &mem->base;
  int flag;
  mem->function     = function;
  const int unknown = s->tol.kind == CP_TOL_NONE; /* CVODES may have tolerances of its own */
  if (unknown) s->tol.kind = CP_TOL_CVODES;
  const long int before = cpStepsTaken(mem);
  flag                  = prepare(mem, tout, itask, before);
  const int is_there    = !flag && before == 0 && cpStepperIsThere(s->t, tout);
  if (!flag && !is_there && before == 0) flag = putAside(mem);
  if (flag || is_there) {
    if (unknown) s->tol.kind = CP_TOL_NONE;
    N_VScale(1.0, s->y, yout);
    *tret = is_there ? tout : s->t;
    return flag;
  }
  if (isPassed(mem, tout, itask, before)) {
    flag = cpOfCVODES(mem, CVodeGetDky(mem->cvode_mem, tout, 0, yout), function);
    if (!flag) *tret = tout;
    return flag ? flag : cpProjectOutput(mem, tout, yout, function, "");
  }

  const long int nsolves = mem->nsolves;
  mem->failure.cause = mem->failure.fatal = mem->nls.initialized = 0;
  mem->cvodes[0]                                                 = '\0';
  mem->roots.tout                                                = tout;
  const int result = advance(mem, tout, yout, tret, itask, before);
  if (result < 0) return failedCall(mem, result, unknown, yout, tret);
  if (result == CV_ROOT_RETURN) cpRootReturned(mem, *tret);
  const long int nst = cpStepsTaken(mem);
  flag               = checkSteps(mem, nst, nst - before, mem->nsolves - nsolves, yout, tret);
  if (flag) return flag;
  mem->treturned = *tret;
  cpSettle(mem, nst);
  cpPendingClear(mem);
  if (nst > before && (flag = cpStepperAccepted(s))) {
    N_VScale(1.0, s->y, yout);
    *tret = s->t;
    return cpReport(&s->log, flag, function, "%s", s->text);
  }
  if (mem->base.sens && mem->sens.bypassed(mem->base.sens, nst - before)) /* the state is projected */
    return cpReport(&s->log, CP_BYPASSED, function,
                    "CVODES stepped without calling the projecting solver of the sensitivities "
                    "(CPIntegratorSetSens), which must not be replaced");
  cpStepperWarn(s, function);
  warnOfStability(mem, nst);
  flag = cpProjectOutput(mem, *tret, yout, function,
                         result == CV_ROOT_RETURN    ? " (CV_ROOT_RETURN)"
                         : result == CV_TSTOP_RETURN ? " (CV_TSTOP_RETURN)"
                                                     : "");
  return flag ? flag : result;
}

int cpRun(CPMultistep mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
          const char *function) {
  cpStepperEnter(&mem->base);
  return cpStepperLeave(&mem->base, call(mem, tout, yout, tret, itask, function));
}
