/* CPode: one call of CVode, with what has to be right before and after it. */
#include "integrator_impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- before ---- */

static int checkArguments(CPodeMem mem, sunrealtype tout, N_Vector yout, const sunrealtype *tret,
                          int itask, const char *function) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
  if (!mem->nls.wrapper) return cpReport(&mem->log, CP_NO_INIT, function, "call CPodeInit first");
  return cpCheckCall(tout, yout, tret, itask, mem->y_tmpl, &mem->log, function);
}

/* Nearer to the start than this CVODES' formula for the first step, in which the distance is squared, underflows:
 * a step of 0 and a state of NaN. */
static sunrealtype leastDistance(void) { return sqrt(DBL_MIN) / CP_UROUND; }

/* Is tout on the side to which CVODES goes? It would look for roots between the last step and a time on the
 * other one, in states that are extrapolated. One step at a time tout may be passed, but not turn round. */
static int checkTime(CPodeMem mem, sunrealtype tout, int itask, long int nst) {
  sunrealtype t = mem->tgood, h = 0.0;
  if (nst == 0)
    return fabs(tout - t) >= leastDistance()
               ? CP_SUCCESS
               : cpReport(&mem->log, CV_TOO_CLOSE, mem->function,
                          "tout must not be t0, %.15g, but for roundoff: tout = %.15g", t, tout);
  int flag = CVodeGetLastStep(mem->cvode_mem, &h);
  if (!flag) flag = CVodeGetCurrentTime(mem->cvode_mem, &t);
  if (flag) return flag;
  const sunrealtype begin = itask == CV_NORMAL ? t - h : mem->t0;
  if ((tout - begin) * h >= 0.0 || cpSameTime(tout, begin, h)) return CP_SUCCESS;
  if (itask == CV_NORMAL)
    return cpReport(&mem->log, CP_ILL_INPUT, mem->function,
                    "tout must not lie before the last step, which began at %.15g: tout = %.15g",
                    begin, tout);
  return cpReport(&mem->log, CP_ILL_INPUT, mem->function,
                  "tout must not lie on the other side of the start, %.15g: the run goes to %s t, "
                  "and tout = %.15g",
                  begin, h > 0.0 ? "larger" : "smaller", tout);
}

/* CVODES looks for roots between what it has returned last and tout also where tout lies before it, and finds
 * once more what has been passed. In the last step before it there is output only. */
static int isPassed(CPodeMem mem, sunrealtype tout, int itask, long int nst) {
  sunrealtype h = 0.0;
  long int nge  = 0;
  if (itask != CV_NORMAL || nst == 0 || CVodeGetNumGEvals(mem->cvode_mem, &nge) || nge == 0)
    return 0;
  return !CVodeGetLastStep(mem->cvode_mem, &h) && (tout - mem->treturned) * h < 0.0;
}

static int outputAt(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret) {
  const int flag = cpOfCVODES(mem, CVodeGetDky(mem->cvode_mem, tout, 0, yout), mem->function);
  if (flag) return flag;
  *tret = tout;
  return cpProjectOutput(mem, tout, yout, mem->function, "");
}

/* CVODES clips a state for its inequality constraints after the solver has returned: such a state
 * is off the manifold. It does not tell whether it has any, but its workspace shrinks when they are
 * taken away. */
static int workSpace(CPodeMem mem, long int *words) {
  long int integers = 0;
  CP_DEPRECATED_OK_BEGIN
  return CVodeGetWorkSpace(mem->cvode_mem, words, &integers);
  CP_DEPRECATED_OK_END
}

static int refuseInequalities(CPodeMem mem) {
  long int rw = 0, rw_without = 0;
  if (!mem->y_tmpl->ops->nvspace) return CP_SUCCESS; /* nothing to be seen: leave all as it is */
  int flag = workSpace(mem, &rw);
  if (!flag) flag = CVodeSetConstraints(mem->cvode_mem, NULL);
  if (!flag) flag = workSpace(mem, &rw_without);
  if (flag || rw_without >= rw) return flag;
  return cpReport(&mem->log, CP_NOT_SUPPORTED, mem->function,
                  "inequality constraints (CVodeSetConstraints) cannot be combined with "
                  "projection: CVODES would "
                  "clip projected states; they have been switched off");
}

/* The functions of a model find it in CVODES' user_data. */
static int refuseUserData(CPodeMem mem) {
  CPAttempt a;
  if (mem->model_gone)
    return cpReport(&mem->log, CP_ILL_INPUT, mem->function,
                    "the attached mechanical system has been freed: free the integrator first");
  if (!mem->model.data) return CP_SUCCESS;
  const int flag = cpAttemptRead(mem, &a);
  if (flag || a.user_data == mem->model.data) return flag;
  return cpReport(&mem->log, CP_NOT_SUPPORTED, mem->function,
                  "CVodeSetUserData has replaced the attached mechanical system, which is CVODES' "
                  "user_data: CPMechSetUserData is for the data of its functions");
}

/* Where the error weights are known before the first step, the start is checked before f is ever
 * called. */
static int checkStart(CPodeMem mem, long int nst) {
  int flag;
  if (!mem->P || mem->start_checked) return CP_SUCCESS;
  if (mem->tol.kind == CP_TOL_CVODES && nst == 0) return CP_SUCCESS; /* in the first solve */
  if (nst > 0) flag = CVodeGetErrWeights(mem->cvode_mem, mem->ewt);
  else flag = cpErrWeights(mem, mem->ygood);
  if (flag) /* CVODES has the better words for these */
    return flag == CP_ILL_INPUT
               ? cpReport(&mem->log, flag, mem->function,
                          "the tolerances give an error weight that is not positive")
               : flag;
  flag = cpCheckStart(mem, mem->tgood, mem->ygood, mem->ewt);
  return flag ? cpReport(&mem->log, flag, mem->function, "%s", mem->text) : CP_SUCCESS;
}

/* ---- after ---- */

/* CVODES starts again from the last good state: also the start that CPodeCalcIC works on. */
static int startAgain(CPodeMem mem) {
  int flag = CVodeReInit(mem->cvode_mem, mem->tgood, mem->ygood);
  if (mem->sens.data) mem->sens.restart(mem->sens.data);
  N_VScale(1.0, mem->ygood, mem->y0);
  mem->t0 = mem->treturned = mem->tgood;
  mem->nst_attempt         = 0;
  mem->projected           = -1;
  mem->expect_rejected     = -1;
  mem->nst_out             = -1;
  mem->history_lost        = 0;
  return flag;
}

/* CVODES' state after a failed step is the one before it, unless NaN got into its history or it
 * gave up between the parts of a step. From a step below the roundoff of t it would not come back. */
static int restoreState(CPodeMem mem, N_Vector yout, sunrealtype *tret) {
  CPAttempt a;
  cpPendingTakeBack(mem);
  cpOrderNormsForget(mem); /* one failure is told */
  int flag = cpAttemptRead(mem, &a);
  if (flag) return flag;
  if (mem->sens.data && mem->sens.take_back(mem->sens.data, &a)) mem->history_lost = 1;
  mem->have_attempt = 0;
  mem->restarted    = mem->history_lost || !cpVectorFinite(a.ypred) ||
                   !cpSameTime(a.t, mem->tgood, a.h) || mem->tgood + a.h == mem->tgood;
  if (mem->restarted) flag = startAgain(mem);
  if (flag) return flag;
  cpWorkForget(mem->step);
  mem->creeping.count =
      0; /* the next call gets its attempts: CVODES' Jacobian may be of the failure */
  N_VScale(1.0, mem->ygood, yout);
  *tret = mem->tgood;
  return CP_SUCCESS;
}

/* What the user has to do after CVODES was re-initialised, or nothing. */
static const char *afterRestart(CPodeMem mem) {
  return mem->restarted ? "; CVODES has been re-initialised there: quadratures and sensitivities "
                          "must be, too (CVodeQuadReInit, CPodeSensReInit, CVodeSensReInit)"
                        : "";
}

/* Did a function of the attached model end the run? Its code, and why. */
static int modelFailed(CPodeMem mem, int flag, int *code, const char **reason) {
  if (!mem->model.cause) return 0;
  if (flag != CV_RHSFUNC_FAIL && flag != CV_FIRST_RHSFUNC_ERR && flag != CV_REPTD_RHSFUNC_ERR &&
      flag != CV_UNREC_RHSFUNC_ERR && flag != CV_SRHSFUNC_FAIL && flag != CV_FIRST_SRHSFUNC_ERR &&
      flag != CV_REPTD_SRHSFUNC_ERR && flag != CV_UNREC_SRHSFUNC_ERR && flag != CV_LSETUP_FAIL &&
      flag != CV_LSOLVE_FAIL && flag != CV_CONV_FAILURE)
    return 0;
  *code = -abs(mem->model.cause(reason, mem->model.data));
  return *code != 0;
}

/* What CVODES means by "the nonlinear solver's init routine failed". */
static const char *lackingSolver(int flag) {
  if (flag != CV_NLS_INIT_FAIL) return "";
  return " Newton's iteration, of the states or of sensitivities, lacks a linear solver "
         "(CVodeSetLinearSolver); fixed-point iteration needs none (CPodeSetNonlinearSolver, "
         "CVodeSetNonlinearSolverSensStg1)";
}

/* What is to be told: the projection's reason where it was the cause, else CVODES' own. */
static int explain(CPodeMem mem, int flag) {
  const char *again = afterRestart(mem), *lacking = lackingSolver(flag), *reason = NULL;
  int code = 0;
  if (mem->fatal)
    return cpReport(&mem->log, mem->fatal, mem->function,
                    "%s; the last good state is that of t = %.15g%s", mem->text, mem->tgood, again);
  if (flag == CV_CONV_FAILURE && mem->cause)
    return cpReport(&mem->log, mem->cause, mem->function,
                    "every attempt of the step from t = %.15g failed: %s%s", mem->tgood, mem->text,
                    again);
  if (modelFailed(mem, flag, &code, &reason))
    return cpReport(&mem->log, code, mem->function,
                    "%s; the last good state is that of t = %.15g%s", reason, mem->tgood, again);
  if (mem->cvodes.text[0])
    return cpReport(&mem->log, flag, mem->function, "%s%s%s", mem->cvodes.text, lacking, again);
  char *name = CVodeGetReturnFlagName(flag); /* NONE for some */
  cpWrite(mem->log.text, "CVode returned %s (%d) at t = %.15g%s%s%s", name ? name : "an error",
          flag, mem->tgood, lacking[0] ? ":" : "", lacking, again);
  if (mem->log.handler) mem->log.handler(flag, mem->function, mem->log.text, mem->log.data);
  free(name);
  return flag;
}

/* CVODES does not tell whether it has been given tolerances, but asks for them first of all. */
static int lackTolerances(CPodeMem mem) {
  mem->tol.kind = CP_TOL_NONE;
  return cpReport(&mem->log, CP_NO_INIT, mem->function,
                  "set tolerances first (CPodeSStolerances)%s%s", mem->cvodes.text[0] ? ": " : "",
                  mem->cvodes.text);
}

/* unknown: CVODES may have no tolerances. */
static int failedCall(CPodeMem mem, int flag, int unknown, N_Vector yout, sunrealtype *tret) {
  long int nst = 0;
  if (!CVodeGetNumSteps(mem->cvode_mem, &nst)) cpSettle(mem, nst);
  restoreState(mem, yout, tret);
  if (unknown && flag == CV_ILL_INPUT && !mem->nls.initialized) return lackTolerances(mem);
  return explain(mem, flag);
}

static int bypassed(CPodeMem mem, N_Vector yout, sunrealtype *tret) {
  restoreState(mem, yout, tret);
  return cpReport(
      &mem->log, CP_BYPASSED, mem->function,
      "CVODES stepped without calling the projecting solver: sensitivities need CV_STAGGERED or "
      "CV_STAGGERED1, and a nonlinear solver is set with CPodeSetNonlinearSolver%s",
      afterRestart(mem));
}

/* The state is projected, the sensitivities are not. */
static int bypassedBySens(CPodeMem mem) {
  return cpReport(
      &mem->log, CP_BYPASSED, mem->function,
      "CVODES stepped without calling the projecting solver of the sensitivities: theirs "
      "is set with CPodeSetSensNonlinearSolver; re-initialise them (CPodeReInit, "
      "CPodeSensReInit)");
}

static int refuseLostCheckpoints(CPodeMem mem) {
  if (!mem->adjoint_lost || !cpAdjointRenew(mem, 1, CV_HERMITE)) return CP_SUCCESS;
  return cpReport(&mem->log, CP_MEM_FAIL, mem->function, "no memory for checkpoints");
}

static int refuseRepeated(CPodeMem mem) {
  if (!mem->has_repeated) return CP_SUCCESS;
  return cpReport(
      &mem->log, CP_TOO_LATE, mem->function,
      "a backward problem has had earlier steps repeated: CVODES stands at the end of these, call "
      "CPodeReInit first");
}

/* CVODES reads what its weight function needs at the first step only: functions set later get NULL. */
static int refuseLateTolerances(CPodeMem mem, long int nst) {
  if (mem->tol_is_new && nst > 0)
    return cpReport(&mem->log, CP_TOO_LATE, mem->function,
                    "tolerances were set after the first step: CPodeReInit makes them valid");
  mem->tol_is_new = 0;
  return CP_SUCCESS;
}

/* After a root the sign of g at the start is roundoff to CVODES, and a first step that is longer than the motion to the
 * next root ends where g has that sign again: the root would be lost. Such a step, whose error is below the tolerance,
 * is possible where the motion is. CVODES' first step is a tenth of the way to tout at the most; so tout is this part
 * of the motion that led here (and steps grow slowly from there, create.c). */
#define FIRST_PART 0.1
/* Times nearer than that, in units of t, are left to CVODES, which calls them too close. */
#define CLOSE (1.0e3 * CP_UROUND)

/* Is the first step to be made towards *near, before tout? */
static int startsAtRoot(const CPodeMem mem, sunrealtype tout, long int nst, sunrealtype *near) {
  const sunrealtype part = FIRST_PART * mem->motion, way = tout - mem->t0;
  *near = mem->t0 + copysign(part, way);
  return nst == 0 && fabs(way) > part && fabs(*near - mem->t0) > CLOSE * fabs(mem->t0);
}

/* ncheck: by CVodeF, whose steps have to come out the same again; NULL: by CVode. nst: steps taken. */
static int advance(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask,
                   int *ncheck, long int nst) {
  sunrealtype near;
  int result = CP_SUCCESS, done = 0;
  mem->holding    = 1;
  mem->repeatable = ncheck != NULL;
  /* Checkpoints begin with the first step. After a start that failed, or another one, CVodeF would
   * interpolate in a step that does not exist. */
  if (ncheck && nst == 0) CVodeAdjReInit(mem->cvode_mem);
  if (mem->sens.data) mem->sens.begin(mem->sens.data);
  if (!ncheck && startsAtRoot(mem, tout, nst, &near)) {
    result = CVode(mem->cvode_mem, near, yout, tret, CV_ONE_STEP);
    done   = result != CV_SUCCESS || itask == CV_ONE_STEP;
  }
  if (!done)
    result = ncheck ? CVodeF(mem->cvode_mem, tout, yout, tret, itask, ncheck)
                    : CVode(mem->cvode_mem, tout, yout, tret, itask);
  if (mem->sens.data) mem->sens.end(mem->sens.data);
  mem->holding = 0;
  return result;
}

int cpRun(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask, int *ncheck,
          const char *function) {
  long int nst = 0, nst_before = 0;
  int flag = checkArguments(mem, tout, yout, tret, itask, function);
  if (flag) return flag;
  const int unknown = mem->tol.kind == CP_TOL_NONE; /* CVODES may have its own */
  if (unknown) mem->tol.kind = CP_TOL_CVODES;
  mem->function = function;
  flag          = cpRefuseOtherVectors(mem, function);
  if (!flag) flag = CVodeGetNumSteps(mem->cvode_mem, &nst_before);
  if (!flag) flag = refuseRepeated(mem);
  if (!flag) flag = checkTime(mem, tout, itask, nst_before);
  if (!flag) flag = refuseLateTolerances(mem, nst_before);
  if (!flag) flag = refuseUserData(mem);
  if (!flag && mem->P) flag = refuseInequalities(mem);
  if (!flag) flag = CVodeSetNonlinConvCoef(mem->cvode_mem, mem->coef);
  if (!flag && ncheck) flag = refuseLostCheckpoints(mem);
  if (!flag) flag = checkStart(mem, nst_before);
  if (flag) {
    if (unknown) mem->tol.kind = CP_TOL_NONE;
    N_VScale(1.0, mem->ygood, yout);
    *tret = mem->tgood;
    return flag;
  }

  if (isPassed(mem, tout, itask, nst_before)) return outputAt(mem, tout, yout, tret);
  const long int nsolves_before = mem->nsolves;
  mem->cause = mem->fatal = mem->nls.initialized = 0;
  mem->cvodes.text[0]                            = '\0';
  const int result = advance(mem, tout, yout, tret, itask, ncheck, nst_before);

  if (result < 0) return failedCall(mem, result, unknown, yout, tret);
  if (result == CV_ROOT_RETURN) mem->troot = *tret;
  flag = CVodeGetNumSteps(mem->cvode_mem, &nst);
  if (flag) return flag;
  if (nst - nst_before > mem->nsolves - nsolves_before) return bypassed(mem, yout, tret);
  if (mem->expect_rejected >= 0 && nst > mem->expect_rejected) {
    restoreState(mem, yout, tret);
    return cpReport(&mem->log, CP_SELFCHECK_FAIL, mem->function,
                    "CVODES accepted a step that its error test was to reject (is "
                    "CVodeSetNonlinConvCoef used?)");
  }
  flag =
      result == CV_ROOT_RETURN ? CP_SUCCESS : cpOrderNormsFailed(mem); /* a root must not be lost */
  if (flag) return failedCall(mem, cpFatal(mem, flag), 0, yout, tret);
  mem->treturned = *tret;
  cpSettle(mem, nst);
  cpPendingClear(mem);
  if (mem->sens.data && mem->sens.bypassed(mem->sens.data, nst - nst_before))
    return bypassedBySens(mem);
  if (mem->step) {
    cpWarnOfFloor(mem->step, &mem->floor_told, mem->tgood, &mem->log, mem->function);
    cpWarnOfRank(mem->step, mem->tgood, &mem->log, mem->function);
  }
  flag = cpProjectOutput(mem, *tret, yout, mem->function,
                         result == CV_ROOT_RETURN    ? " (CV_ROOT_RETURN)"
                         : result == CV_TSTOP_RETURN ? " (CV_TSTOP_RETURN)"
                                                     : "");
  return flag ? flag : result;
}

int CPode(CPodeMem mem, sunrealtype tout, N_Vector yout, sunrealtype *tret, int itask) {
  return cpRun(mem, tout, yout, tret, itask, NULL, __func__);
}
