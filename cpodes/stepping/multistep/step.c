/* The projecting nonlinear solver: a SUNNonlinearSolver around another one.
 *
 * Its solve function runs the inner solver (y = ypred + ycor), projects y onto the manifold (y +
 * delta) and the error estimate (P ycor), and gives both to CVODES. A projection that fails
 * recoverably is reported as a convergence failure, so that CVODES refreshes the Jacobian, reduces
 * the step and tries again.
 *
 * solve returns 0, SUN_NLS_CONV_RECVR or CP_CV_RHSFUNC_RECVR (other positive codes make CVODES loop
 * forever), or a negative code if the failure is fatal. If the projection was the cause,
 * failure.fatal and base.text say why. */
#include "multistep_impl.h"

#include <float.h>
#include <math.h>
#include <sundials/sundials_nonlinearsolver.h>

/* ---- the pending correction of the Adams methods ----
 *
 * CVODES keeps a predicted state that a solver has changed. cvRestore undoes only the prediction,
 * so that a correction stays in zn[0] if the attempt fails after it (error test, quadratures,
 * sensitivities). It is taken back at the retry, which is recognised by an unchanged step count and
 * a larger failure counter or a smaller step: CVODES never retries without one of them.
 * (Re-initialised memory or a restored adjoint checkpoint may happen to have the same step count,
 * but neither of these marks.) */

CPMark cpMark(const CPAttempt *a) { return (CPMark){a->nst, a->nfail, a->h}; }

int cpIsRetry(const CPMark *mark, const CPAttempt *a) {
  return a->nst == mark->nst && a->nfail >= mark->nfail &&
         (a->nfail > mark->nfail || fabs(a->h) < fabs(mark->h));
}

void cpPendingClear(CPMultistep mem) { mem->pending.active = 0; }

static void takeBack(CPMultistep mem, N_Vector zn0) {
  cpLinearSum(1.0, zn0, -1.0, mem->pending.delta, zn0);
  mem->base.stats.ntakenback++;
}

void cpPendingTakeBack(CPMultistep mem) {
  CPAttempt a;
  cpAttemptRead(mem, &a);
  if (mem->pending.active && a.nst == mem->pending.mark.nst) takeBack(mem, a.ypred);
  cpPendingClear(mem);
}

/* ---- the projection ---- */

static int everyStepIsProjected(CPMultistep mem) {
  return mem->frequency == 1 && !mem->base.test_cnstr;
}

/* Does the correction enter the whole history, as part of what the solver returns? With BDF this
 * damps the component of the history normal to the manifold at once, if nothing else disturbs it:
 * its polynomial is forced through 0 at each new time, and with constant steps the component
 * vanishes after q steps. In other cases this makes the component grow (spectral radius of the
 * history's update, f = 0 along the normals):
 *
 *   if every second step is left unprojected, 1.35 times at order 4 and 1.9 times at order 5;
 *   after reductions of the step size, since the factor 1/xi*_q of the fixed-leading-coefficient
 *   form belongs to a time other than t_{n-q}: 1.3 times a step at order 4 and 1.7 times at order 5
 *   if h is multiplied by 1/4, 1, 1.85, 1.37 periodically. Redundant constraints stall in this way:
 *   f fails off the manifold, h is reduced, and that moves the prediction farther off.
 *
 * In these cases, and always with Adams, only the predicted state is corrected; the factors are
 * then 0.53 and 0.61. So it is where the projection is rough in time: differences of high order would
 * amplify what no size of a step reduces. CVodeF and CVodeB must repeat steps to the last bit from
 * checkpoints, which do not contain the steps before. */
static int entersHistory(CPMultistep mem) {
  int q = 0;
  if (mem->lmm != CV_BDF || !everyStepIsProjected(mem) || !cpCarriesOver(mem)) return 0;
  if (mem->rough) return 0;
  CVodeGetLastOrder(mem->cvode_mem, &q);
  return mem->attempt.uncut >= q;
}

/* Projects the state of a rejected attempt at times between which it moves by a tolerance at most, and sets
 * mem->rough. Nothing smooth shows in differences of fourth order: these are the roundoff of the constraints, as that
 * of a motion g(t) after a million turns. ROUGH: in tolerances; the error test amplifies it up to 50 times (BDF of
 * order 5). A user's own projection may be less accurate than that. */
#define ROUGH 0.02

static int findRoughness(CPMultistep mem, const CPAttempt *a, N_Vector ewt) {
  static const sunrealtype binomial[] = {1, -4, 6, -4, 1};
  const CPIntegrator s                = &mem->base;
  const sunrealtype t = mem->attempt.t, whole = (t - s->t0) / 4;
  sunrealtype squares = 0;
  int flag            = CP_SUCCESS;
  if (!cpProjectorMeasures(s->P)) return CP_SUCCESS;
  N_VProd(a->zn1, ewt, s->tmp);
  const sunrealtype e = a->h / N_VMaxNorm(s->tmp), apart = fabs(e) < fabs(whole) ? e : whole;
  N_VConst(0.0, s->delta);
  cpWorkForget(s->step); /* The factors must be those of this state. */
  for (int k = 0; k < 5 && !flag; k++) {
    N_VScale(1.0, mem->attempt.y, s->tmp);
    flag = cpProject(s->step, t - k * apart, s->tmp, ewt, NULL, 0, &(CPProjected){0});
    N_VLinearSum(1.0, s->delta, binomial[k], s->tmp, s->delta);
    squares += binomial[k] * binomial[k];
  }
  mem->rough = !flag && cpWrmsNorm(s->delta, ewt) > ROUGH * sqrt(squares);
  if (flag < 0) cpWrite(s->text, "%s", cpWorkText(s->step));
  return flag < 0 ? flag : CP_SUCCESS;
}

/* All three norms by which CVODES chooses step size and order must be of one kind (norms.c); for
 * attached memory they are all CVODES' own. */
static void chooseNorms(CPMultistep mem) {
  const CPIntegrator s = &mem->base;
  CPOrderNorms *norms  = &mem->norms;
  const int all        = everyStepIsProjected(mem) && norms->possible;
  norms->mode          = s->P ? s->errest : CP_ERREST_UNPROJECTED;
  if (norms->mode == CP_ERREST_DEFAULT)
    norms->mode = all ? CP_ERREST_PROJECTED : CP_ERREST_UNPROJECTED;
}

/* Will CVODES' error test reject an estimate of this norm, with a margin for roundoff? Then no part
 * of the projection may stay in CVODES' state. */

static int surelyRejected(CPMultistep mem, sunrealtype norm) {
  if (!(mem->attempt.tq2 * norm > 1.0 + CP_HALF_DIGITS)) return 0;
  mem->attempt.expect_rejected = mem->attempt.nst;
  return 1;
}

/* f has been evaluated with the normal error e_n = e - P e. So h df/dy e_n, which may be
 * tangential, stays in the solution: a fraction h |df/dy| of e_n, which is 0.1 to 0.3 where
 * accuracy limits the step. Without this share evaluations of f at equal error are 1.25 times as many on a
 * heavy top with another spin than those that it was chosen with, and if all of e_n counts, 1.2 times as
 * many on the pendulum (bench/defaults.rst). */
#define NORMAL_SHARE 0.125

/* CVODES compares 6, 6 and 10 times the error estimates of the orders q-1, q and q+1 (BIAS1, BIAS2, BIAS3). If
 * every step is projected, BIAS2 / BIAS3 times the last one makes that 6, 6 and 6: no order is preferred.
 * The bias against higher orders costs steps at equal error, and where the estimates of every second order
 * are mostly normal, as for a rotation, it would keep an order that is the best only among its
 * neighbours. (A bias against lower orders saves more steps, but where stability limits the step,
 * Adams takes up to twice as many. bench/defaults.rst.) */
#define HIGHER_ORDER 0.6

/* err = P e + share (e - P e) is the projected estimate of the error e = ycor. CVODES gets its norm
 * through its convergence test, which stores the norm of the vector that it is given at iteration
 * 0; the tolerance is one that is always met. On entry err is e, or P e if it is already projected.
 * Sets *norm. */
static int projectError(CPMultistep mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt,
                        int is_projected, sunrealtype *norm) {
  const CPIntegrator s = &mem->base;
  int flag             = CP_SUCCESS;
  if (!is_projected) flag = cpProjectError(s->step, mem->attempt.t, mem->attempt.y, ewt, s->err);
  if (flag) {
    cpWrite(s->text, "%s", cpWorkText(s->step));
    return cpFailed(mem, a, flag);
  }
  s->stats.nerrproj++;
  cpLinearSum(1.0 - NORMAL_SHARE, s->err, NORMAL_SHARE, ycor, s->err);
  *norm = cpWrmsNorm(s->err, ewt);
  mem->attempt.err_valid =
      isfinite(*norm) &&
      !mem->nls.ctest(mem->nls.wrapper, s->err, s->err, CP_CANNOT_MISS, ewt, mem->nls.ctest_data);
  if (!mem->attempt.err_valid) {
    cpWrite(s->text, "at t = %.10g: the projected error estimate has no finite norm", a->t);
    return cpFailed(mem, a, -CP_PROJ_NONFINITE);
  }
  const sunrealtype unprojected = cpWrmsNorm(ycor, ewt);
  mem->norms.ratio              = unprojected > 0.0 ? *norm / unprojected : 1.0;
  mem->norms.higher             = everyStepIsProjected(mem) ? HIGHER_ORDER : 1.0;
  return CP_SUCCESS;
}

static int projectStep(CPMultistep mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt) {
  const CPIntegrator s = &mem->base;
  CPTrial *trial       = &mem->attempt;
  const int projects   = mem->norms.mode == CP_ERREST_PROJECTED;
  CPProjected projected;
  sunrealtype norm = projects ? 0.0 : cpWrmsNorm(ycor, ewt);
  if (!isfinite(norm)) return cpFailedInner(mem, a, ycor, SUN_NLS_CONV_RECVR);
  if (!projects && surelyRejected(mem, norm)) return CP_SUCCESS;

  /* The bound is for the drift of one step: after unprojected steps no smaller step would help. */
  const int bounded = mem->last.since == 0 || a->nst == 0;
  if (projects) cpCopy(s->err, ycor);
  int flag = cpStepperProject(s, a->t, trial->y, ewt, projects ? s->err : NULL,
                              bounded ? s->max_correction : DBL_MAX,
                              &projected); /* y <- y + delta, err <- P err */
  if (flag) return cpRejected(mem, a, flag);
  if (!projected.moved) {
    s->stats.nskipped++;
    return CP_SUCCESS;
  }
  /* within the step, since questions of the user's at its end must not change the next one */
  if (mem->own_weights && cpWorkSine(s->step) < CP_NARROW_ANGLE)
    trial->roundoff = cpStepperRoundoff(s, a->t, trial->y, ewt) * fmax(mem->roundoff, 1.0);
  if (projects) flag = projectError(mem, a, ycor, ewt, projected.with_error, &norm);
  if (flag) return flag;
  /* A correction that enters the history leaves it with ycor when CVODES' error test rejects the
   * step. */
  if (!(projects && trial->enters) && surelyRejected(mem, norm)) return CP_SUCCESS;

  trial->projected = 1;
  if (trial->enters) {
    cpLinearSum(1.0, ycor, 1.0, s->delta, ycor);
    trial->entered = 1;
  } else {
    cpLinearSum(1.0, a->ypred, 1.0, s->delta, a->ypred);
    cpCopy(mem->pending.delta, s->delta);
    mem->pending.active = 1;
    mem->pending.mark   = cpMark(a);
  }
  cpLinearSum(1.0, a->ypred, 1.0, ycor, trial->y); /* as CVODES will compute it, to the last bit */
  return CP_SUCCESS;
}

/* ---- the solver ---- */

void cpSettle(CPMultistep mem, long int nst) {
  CPTrial *trial = &mem->attempt;
  if (!trial->complete || nst <= trial->nst) return;
  const N_Vector y = mem->base.y;
  mem->base.y      = trial->y;
  mem->base.t      = trial->t;
  trial->y         = y;
  trial->complete  = 0;
  mem->last        = (CPAccepted){.since         = trial->projected ? 0 : mem->last.since + 1,
                                  .uncut         = trial->uncut,
                                  .have_estimate = 1};
  cpWorkAccepted(mem->base.step);
}

int cpCarriesOver(CPMultistep mem) { return mem->holding; }

/* Is the state of this attempt to be projected? If nothing may be carried over from step to step,
 * the stored factors and the count of unprojected steps are not used. */
static int isDue(CPMultistep mem, const CPAttempt *a) {
  if (cpCarriesOver(mem)) return mem->last.since + 1 >= mem->frequency;
  cpWorkForget(mem->base.step);
  return a->nst % mem->frequency == 0;
}

/* Is the step shorter than the latest accepted one, by more than the roundoff of a->h = gamma /
 * rl1? */
static int isCut(CPMultistep mem, const CPAttempt *a) {
  return a->nst > 0 && fabs(a->h) < (1.0 - CP_FUZZ) * fabs(cpLastStep(mem));
}

/* Whole turns are put aside from the history's first entry, that is from its polynomial. Who calls CVODES directly gets the states
 * of CVODES, which must be complete. */
static void takeTurns(CPMultistep mem, N_Vector ypred) {
  const CPIntegrator s = &mem->base;
  if (cpCarriesOver(mem)) cpStepperPutAside(s, ypred, s->y);
  else if (s->turned) {
    cpStepperAddTurns(s, ypred);
    cpStepperAddTurns(s, s->y);
    cpStepperForgetTurns(s);
  }
}

static int attemptStep(CPMultistep mem, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                       sunbooleantype callLSetup, void *cvode_mem) {
  const CPIntegrator s = &mem->base;
  CPTrial *trial       = &mem->attempt;
  CPAttempt a;
  mem->nsolves++;
  cpAttemptRead(mem, &a);
  if (a.nst == 0) mem->coef = 0.5 * tol; /* tol = coef / tq[2], and tq[2] is 1/2 at order 1 */
  cpWorkLend(s->step, s->system.data ? NULL : a.user_data); /* CVODES may have been called directly */

  /* Evaluates how the attempt before has ended. */
  int flag = cpOrderNormsEnd(mem, &a);
  if (!flag) flag = cpSelfCheck(mem, &a);
  if (!flag) flag = cpCheckStartLate(mem, &a, ewt);
  if (flag) return cpFatal(mem, flag);
  if (a.nst == trial->nst && a.netf > trial->netf) flag = cpFailedTest(mem, &a);
  if (flag) return flag;
  if (a.nst == trial->nst && a.netf > trial->netf && trial->entered)
    flag = findRoughness(mem, &a, ewt);
  if (flag) return cpFatal(mem, flag);
  if (mem->pending.active && cpIsRetry(&mem->pending.mark, &a)) takeBack(mem, a.ypred);
  cpPendingClear(mem);
  /* CVODES undoes a prediction y0 + h f by subtraction. If h was much too long (some 1e140 with
   * tout at 1e300), nothing of y0 would remain, and a retry with a good h would succeed from
   * another start. (Without its turns it is y, but not where CVodeB repeats steps.) */
  if (a.nst == 0 && cpSameTime(a.t - a.h, s->t0, a.h))
    N_VLinearSum(1.0, s->turned ? s->y : s->y0, 1.0, a.zn1, a.ypred);
  if (mem->base.sens) mem->sens.attempt(mem->base.sens, &a);
  const int settled = trial->complete && a.nst > trial->nst;
  cpSettle(mem, a.nst);
  if (settled && (flag = cpStepperAccepted(s))) return cpFatal(mem, flag);
  takeTurns(mem, a.ypred);
  if (a.nst == 0) {
    cpAdoptTolerances(mem, ewt);
    /* CVODES evaluates f after the weights of the start. */
    if (s->system.data && !cpStepperWeights(s, s->y0, s->ewt)) cpCopy(ewt, s->ewt);
  }

  /* A new attempt begins. */
  *trial = (CPTrial){.y               = trial->y,
                     .t               = a.t,
                     .h               = a.h,
                     .nst             = a.nst,
                     .netf            = a.netf,
                     .tq2             = mem->coef / tol,
                     .uncut           = isCut(mem, &a) ? 0 : mem->last.uncut + 1,
                     .expect_rejected = -1};
  if (cpIsClipped(mem, &a)) return SUN_NLS_CONV_RECVR;
  trial->enters           = entersHistory(mem);
  mem->last.have_estimate = 0;
  cpWorkAttempt(s->step);
  chooseNorms(mem);
  flag = cpNewtonIterate(&mem->nls, a.t, y0, ycor, ewt, tol, callLSetup, cvode_mem);
  if (flag) return cpFailedInner(mem, &a, ycor, flag);

  cpLinearSum(1.0, a.ypred, 1.0, ycor, trial->y);
  trial->complete = 1;
  if (s->P && isDue(mem, &a)) flag = projectStep(mem, &a, ycor, ewt);
  else if (s->P) s->stats.nskipped++, cpWorkAge(s->step); /* factors age with each step */
  if (!flag && !trial->projected && !isfinite(cpWrmsNorm(ycor, ewt))) /* CVODES tests this norm */
    flag = cpFailedInner(mem, &a, ycor, SUN_NLS_CONV_RECVR);
  if (flag) trial->complete = 0;
  else mem->failure.cause = 0;
  if (!flag && trial->err_valid) cpOrderNormsBegin(mem, &a, ewt);
  return flag;
}

/* A function of the user's that calls CVode itself, for the memory that has called it, destroys the step
 * that is under way: both calls end. */
static int solve(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem) {
  CPMultistep mem = ((CPWrapped *)NLS->content)->owner;
  const int outer = mem->solving++ == 0,
            flag  = outer ? attemptStep(mem, y0, ycor, ewt, tol, callLSetup, cvode_mem) : 0;
  const int alone = outer && mem->solving == 1;
  if (outer) mem->solving = 0;
  if (alone) return flag;
  cpWrite(mem->base.text, "a function that CVODES has called must not call CVODES");
  return cpFatal(mem, CP_REENTERED);
}

const CPSolveFn cpSolveStep = solve;
