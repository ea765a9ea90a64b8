/* The projecting nonlinear solver: a SUNNonlinearSolver around another one.
 *
 * Its solve function runs the inner solver (y = ypred + ycor), moves y to the manifold (y + delta), projects the error
 * estimate (P ycor) and hands CVODES both. A projection that fails recoverably is reported as a convergence failure, so
 * that CVODES refreshes the Jacobian, cuts the step and tries again.
 *
 * solve returns 0, SUN_NLS_CONV_RECVR or CP_CV_RHSFUNC_RECVR (other positive codes make CVODES loop for ever), or a negative
 * code if the failure is fatal. failure.fatal and base.text say why if the projection was the cause. */
#include "multistep_impl.h"

#include <float.h>
#include <math.h>
#include <sundials/sundials_nonlinearsolver.h>

/* ---- the pending correction of the Adams methods ----
 *
 * CVODES keeps the predicted state that a solver has changed. cvRestore undoes only the prediction, so that a correction
 * stays in zn[0] when the attempt fails after it (error test, quadratures, sensitivities). It is taken back at the retry,
 * which is recognised by an unchanged step count and a larger failure counter or a smaller step: CVODES never retries
 * without one. (A re-initialised memory or a restored adjoint checkpoint may have the step count by chance, but neither
 * mark.) */

CPMark cpMark(const CPAttempt *a) { return (CPMark){a->nst, a->nfail, a->h}; }

int cpIsRetry(const CPMark *mark, const CPAttempt *a) {
  return a->nst == mark->nst && a->nfail >= mark->nfail &&
         (a->nfail > mark->nfail || fabs(a->h) < fabs(mark->h));
}

void cpPendingClear(CPodeMem mem) { mem->pending.active = 0; }

static void takeBack(CPodeMem mem, N_Vector zn0) {
  cpLinearSum(1.0, zn0, -1.0, mem->pending.delta, zn0);
  mem->base.stats.ntakenback++;
}

void cpPendingTakeBack(CPodeMem mem) {
  CPAttempt a;
  cpAttemptRead(mem, &a);
  if (mem->pending.active && a.nst == mem->pending.mark.nst) takeBack(mem, a.ypred);
  cpPendingClear(mem);
}

/* ---- the projection ---- */

static int everyStepIsProjected(CPodeMem mem) {
  return mem->frequency == 1 && !mem->base.test_cnstr;
}

/* Does the correction enter the whole history, as part of what the solver returns? With BDF that damps the component
 * of the history normal to the manifold at once, where nothing else disturbs it: its polynomial is forced through 0 at
 * each new time, and with constant steps nothing of it is left after q of them. Elsewhere it makes that component
 * grow (spectral radius of the history's update, f = 0 along the normals):
 *
 *   next to steps that are left unprojected, 1.35 times at order 4 and 1.9 times at order 5 for every second step;
 *   after cuts of the step, since the factor 1/xi*_q of the fixed-leading-coefficient form belongs to another time than
 *   t_{n-q}: 1.3 times a step at order 4 and 1.7 times at order 5 where h goes by 1/4, 1, 1.85, 1.37 again and again.
 *   Redundant constraints stall like this: f fails off the manifold, h is cut, and that moves the prediction farther off.
 *
 * There, as always with Adams, only the predicted state takes it; these factors are then 0.53 and 0.61. CVodeF and CVodeB
 * must repeat steps to the last bit from checkpoints, which do not contain the steps before. */
static int entersHistory(CPodeMem mem) {
  int q = 0;
  if (mem->lmm != CV_BDF || !everyStepIsProjected(mem) || !cpCarriesOver(mem)) return 0;
  CVodeGetLastOrder(mem->cvode_mem, &q);
  return mem->attempt.uncut >= q;
}

/* With BDF projected norms count three times, and the nonlinear solver is asked for as much more: errors at the end are a
 * third then, and work at equal error the same. Without it the mean error of BDF is 600 tolerances on the knife edge, 60
 * with Adams: a tolerance would not mean the same. A factor on the norms alone would have them hit the noise that the
 * nonlinear solver leaves: stiff bushings then take half as many steps more (guide, "Defaults"). Where steps are left
 * unprojected their norms are CVODES' own; estimates would alternate between the factors. */
#define BDF_FACTOR 3.0

/* All three norms by which CVODES chooses step and order must be of one kind (norms.c), of attached memory all of its own. */
static void chooseNorms(CPodeMem mem) {
  const CPStepper s   = &mem->base;
  CPOrderNorms *norms = &mem->norms;
  const int all       = everyStepIsProjected(mem) && norms->possible;
  norms->mode         = s->P ? s->errest : CP_ERREST_UNPROJECTED;
  if (norms->mode == CP_ERREST_DEFAULT)
    norms->mode = all ? CP_ERREST_PROJECTED : CP_ERREST_UNPROJECTED;
  const int counts = norms->mode == CP_ERREST_PROJECTED && all && mem->lmm == CV_BDF;
  norms->factor    = counts ? BDF_FACTOR : 1.0;
}

/* Will CVODES' error test reject an estimate of this norm, with a margin for roundoff? Then nothing of the projection may
 * stay in CVODES' state. */
#define SURELY_REJECTED 1.0000001

static int surelyRejected(CPodeMem mem, sunrealtype norm) {
  if (!(mem->attempt.tq2 * norm > SURELY_REJECTED)) return 0;
  mem->attempt.expect_rejected = mem->attempt.nst;
  return 1;
}

/* f has been evaluated with the normal error e_n = e - P e, so that h df/dy e_n, which may be tangential, stays in the
 * solution: a part of e_n that is h |df/dy|, of the size 0.1 to 0.3 where accuracy limits the step. The heavy top's error
 * is 23 times as large without this share as in a test that counts all of e_n, and 4 times with it; work at equal error
 * is best for shares up to 0.1 (guide, "Defaults"). */
#define NORMAL_SHARE 0.125

/* CVODES compares 6, 6 and 10 times the error estimates of the orders q-1, q and q+1. With this factor of the last, where
 * every step is projected, it is 6, 6 and 6: no order is preferred. The bias against higher orders costs steps at equal
 * error, and where estimates of every second order are mostly normal, as of a rotation, it would stay at an order that is
 * better than none but its neighbours. (A bias against lower orders saves more steps, but where stability limits them
 * Adams takes up to twice as many. Guide, "Defaults".) */
#define HIGHER_ORDER 0.6

/* err = P e + share (e - P e), the projected estimate of the error e = ycor, whose norm CVODES gets: it stores the norm of
 * what its convergence test sees at iteration 0, with a tolerance that cannot be missed. err is e on entry, or P e if it
 * is projected already. Sets *norm. */
static int projectError(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt,
                        int is_projected, sunrealtype *norm) {
  const CPStepper s        = &mem->base;
  const sunrealtype factor = mem->norms.factor;
  int flag                 = CP_SUCCESS;
  if (!is_projected) flag = cpProjectError(s->step, mem->attempt.t, mem->attempt.y, ewt, s->err);
  if (flag) {
    cpWrite(s->text, "%s", cpWorkText(s->step));
    return cpFailed(mem, a, flag);
  }
  s->stats.nerrproj++;
  cpLinearSum(factor * (1.0 - NORMAL_SHARE), s->err, factor * NORMAL_SHARE, ycor, s->err);
  *norm = cpWrmsNorm(s->err, ewt);
  mem->attempt.err_valid =
      isfinite(*norm) &&
      !mem->nls.ctest(mem->nls.wrapper, s->err, s->err, CP_CANNOT_MISS, ewt, mem->nls.ctest_data);
  if (!mem->attempt.err_valid) {
    cpWrite(s->text, "at t = %.15g: the projected error estimate has no finite norm", a->t);
    return cpFailed(mem, a, -CP_PROJ_NONFINITE);
  }
  const sunrealtype unprojected = cpWrmsNorm(ycor, ewt);
  mem->norms.ratio              = unprojected > 0.0 ? *norm / unprojected : factor;
  mem->norms.higher             = everyStepIsProjected(mem) ? HIGHER_ORDER : 1.0;
  return CP_SUCCESS;
}

static int projectStep(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt) {
  const CPStepper s  = &mem->base;
  CPTrial *trial     = &mem->attempt;
  const int projects = mem->norms.mode == CP_ERREST_PROJECTED;
  CPProjected projected;
  sunrealtype norm = projects ? 0.0 : cpWrmsNorm(ycor, ewt);
  if (!isfinite(norm)) return cpFailedInner(mem, a, ycor, SUN_NLS_CONV_RECVR);
  if (!projects && surelyRejected(mem, norm)) return CP_SUCCESS;

  /* The bound is for the drift of one step: after steps that were left alone no smaller step would help. */
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
  if (projects) flag = projectError(mem, a, ycor, ewt, projected.with_error, &norm);
  if (flag) return flag;
  /* What enters the history leaves with ycor when CVODES finds out for itself that it rejects it. */
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
  cpLinearSum(1.0, a->ypred, 1.0, ycor, trial->y); /* as CVODES will add it up, to the last bit */
  return CP_SUCCESS;
}

/* ---- the solver ---- */

void cpSettle(CPodeMem mem, long int nst) {
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

int cpCarriesOver(CPodeMem mem) { return mem->holding && !mem->checkpoints.repeatable; }

/* Is the state of this attempt to be projected? Where nothing may be carried over, neither factors nor the count of
 * steps are. */
static int isDue(CPodeMem mem, const CPAttempt *a) {
  if (cpCarriesOver(mem)) return mem->last.since + 1 >= mem->frequency;
  cpWorkForget(mem->base.step);
  return a->nst % mem->frequency == 0;
}

/* Is the step shorter than the newest accepted one, by more than the roundoff of a->h = gamma / rl1? */
static int isCut(CPodeMem mem, const CPAttempt *a) {
  return a->nst > 0 && fabs(a->h) < (1.0 - 1.0e2 * CP_UROUND) * fabs(cpLastStep(mem));
}

static int solve(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem) {
  CPodeMem mem      = ((CPWrapped *)NLS->content)->owner;
  const CPStepper s = &mem->base;
  CPTrial *trial    = &mem->attempt;
  CPAttempt a;
  mem->nsolves++;
  cpAttemptRead(mem, &a);

  /* How did the attempt before end? */
  int flag = cpOrderNormsEnd(mem, &a);
  if (!flag) flag = cpSelfCheck(mem, &a);
  if (!flag) flag = cpCheckStartLate(mem, &a, ewt);
  if (flag) return cpFatal(mem, flag);
  if (a.nst == trial->nst && a.netf > trial->netf) flag = cpFailedTest(mem, &a);
  if (flag) return flag;
  if (mem->pending.active && cpIsRetry(&mem->pending.mark, &a)) takeBack(mem, a.ypred);
  cpPendingClear(mem);
  /* CVODES takes back a prediction y0 + h f by subtraction. If h was much too long (some 1e140 with tout at 1e300), nothing
   * would be left of y0, and a retry with a good h would be a success from another start. */
  if (a.nst == 0 && cpSameTime(a.t - a.h, s->t0, a.h))
    N_VLinearSum(1.0, s->y0, 1.0, a.zn1, a.ypred);
  if (mem->sens.data) mem->sens.attempt(mem->sens.data, &a);
  cpSettle(mem, a.nst);
  if (a.nst == 0) cpAdoptTolerances(mem, ewt);

  /* A new attempt begins. */
  *trial = (CPTrial){.y               = trial->y,
                     .t               = a.t,
                     .h               = a.h,
                     .nst             = a.nst,
                     .netf            = a.netf,
                     .setup_due       = callLSetup,
                     .tq2             = mem->coef / tol, /* tol = nlscoef / tq[2] */
                     .uncut           = isCut(mem, &a) ? 0 : mem->last.uncut + 1,
                     .expect_rejected = -1};
  if (cpIsClipped(mem, &a)) return SUN_NLS_CONV_RECVR;
  trial->enters           = entersHistory(mem);
  mem->last.have_estimate = 0;
  cpWorkAttempt(s->step);
  chooseNorms(mem);
  flag = cpNewtonIterate(&mem->nls, a.t, y0, ycor, ewt, tol / mem->norms.factor, callLSetup,
                         cvode_mem);
  if (flag) return cpFailedInner(mem, &a, ycor, flag);

  cpLinearSum(1.0, a.ypred, 1.0, ycor, trial->y);
  trial->complete = 1;
  if (s->P && isDue(mem, &a)) flag = projectStep(mem, &a, ycor, ewt);
  else if (s->P) s->stats.nskipped++, cpWorkAge(s->step); /* factors grow older with each step */
  if (!flag && !trial->projected && !isfinite(cpWrmsNorm(ycor, ewt))) /* CVODES tests this norm */
    flag = cpFailedInner(mem, &a, ycor, SUN_NLS_CONV_RECVR);
  if (flag) trial->complete = 0;
  else mem->failure.cause = 0;
  if (!flag && trial->err_valid) cpOrderNormsBegin(mem, &a, ewt);
  return flag;
}

const CPSolveFn cpSolveStep = solve;
