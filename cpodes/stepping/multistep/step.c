/* The projecting nonlinear solver: a SUNNonlinearSolver around another one.
 *
 * Its solve function runs the inner solver (y = ypred + ycor), moves y to the manifold (y + delta),
 * projects the error estimate (P ycor) and hands CVODES both. A projection that fails recoverably
 * is reported as a convergence failure, so that CVODES refreshes the Jacobian, cuts the step and
 * tries again.
 *
 * Return codes of solve: 0; SUN_NLS_CONV_RECVR and CP_CV_RHSFUNC_RECVR (CVODES loops for ever on
 * other positive ones); negative: fatal, mem->failure.fatal and mem->base.text say why if the projection was the
 * cause.
 */
#include "multistep_impl.h"

#include <float.h>
#include <math.h>
#include <sundials/sundials_nonlinearsolver.h>

/* Rejections are foreseen with this margin for roundoff. */
#define SURELY_REJECTED 1.0000001

/* ---- the projection ---- */

static int everyStepIsProjected(CPodeMem mem) {
  return mem->frequency == 1 && !mem->base.test_cnstr;
}

/* Next to a singular position one direction counts as normal in which a state that is off keeps moving: its error is to be
 * seen. */
#define NARROW 0.1

static int isNarrow(CPodeMem mem) {
  return mem->lmm == CV_ADAMS && cpCarriesOver(mem) && !mem->base.P->user_kind &&
         mem->base.step->valid && cpWorkSine(mem->base.step) < NARROW;
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
  if (mem->lmm != CV_BDF || !everyStepIsProjected(mem) || !cpCarriesOver(mem) ||
      CVodeGetLastOrder(mem->cvode_mem, &q))
    return 0;
  return mem->attempt.uncut >= q;
}

/* All three norms by which CVODES chooses step and order must be of one kind (norms.c). */
static CPErrEst errEstMode(CPodeMem mem) {
  if (mem->base.errest != CP_ERREST_DEFAULT) return mem->base.errest;
  return everyStepIsProjected(mem) && mem->norms.possible && !isNarrow(mem) ? CP_ERREST_PROJECTED
                                                                            : CP_ERREST_UNPROJECTED;
}

/* With BDF projected norms count three times, and the nonlinear solver is asked for as much more: errors at the end are a
 * third then, and work at equal error the same. Without it the mean error of BDF is 600 tolerances on the knife edge, 60
 * with Adams: a tolerance would not mean the same. A factor on the norms alone would have them hit the noise that the
 * nonlinear solver leaves: stiff bushings then take half as many steps more (guide, "Defaults"). */
#define BDF_FACTOR 3.0

/* CVODES stores the WRMS norm of the error that its convergence test sees at iteration 0 with a
 * tolerance that it cannot miss. */
static int handOverNorm(CPodeMem mem, N_Vector err, N_Vector ewt) {
  return mem->nls.ctest(mem->nls.wrapper, err, err, CP_CANNOT_MISS, ewt, mem->nls.ctest_data);
}

/* The estimate at the projected state, into err, whose norm CVODES gets. norm: of what CVODES tests; 0 where it may find
 * out by itself, since what it rejects is gone with ycor. */
static int projectError(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt,
                        sunrealtype *norm) {
  const CPStepper s = &mem->base;
  const int flag    = cpProjectEstimate(mem, ewt, ycor, s->err);
  if (flag) return cpFailedProjection(mem, a, flag);
  s->stats.nerrproj++;
  if (mem->norms.factor != 1.0) N_VScale(mem->norms.factor, s->err, s->err);
  if (!cpVectorFinite(s->err)) {
    cpWrite(s->text, "at t = %.15g: the projected error estimate is not finite", a->t);
    return cpFailed(mem, a, -CP_PROJ_NONFINITE);
  }
  mem->attempt.err_valid = 1;
  if (!mem->attempt.enters) *norm = cpWrmsNorm(s->err, ewt);
  if (handOverNorm(mem, s->err, ewt) == CP_SUCCESS) return CP_SUCCESS;
  cpWrite(s->text, "at t = %.15g: the projected error estimate has no finite norm", a->t);
  /* the test's own positive return would have the step repeated for ever */
  return cpFailed(mem, a, -CP_PROJ_NONFINITE);
}

/* y -> y + delta. The bound is for the drift of one step: after steps that were left alone no smaller step would help. */
static int projectState(CPodeMem mem, const CPAttempt *a, N_Vector ewt, int *moved) {
  const int bounded = mem->last.since == 0 || a->nst == 0;
  const int flag    = cpStepperProject(&mem->base, a->t, mem->attempt.y, ewt,
                                    bounded ? mem->base.max_correction : DBL_MAX, moved);
  return flag ? cpRejected(mem, a, flag) : CP_SUCCESS;
}

/* Will CVODES' error test reject the attempt? Then nothing of the projection may stay in its state.
 */
static int surelyRejected(CPodeMem mem, const CPAttempt *a, sunrealtype norm) {
  if (!(mem->attempt.tq2 * norm > SURELY_REJECTED)) return 0;
  mem->attempt.expect_rejected = a->nst;
  return 1;
}

static int projectStep(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt) {
  const int projects = mem->norms.mode == CP_ERREST_PROJECTED;
  int moved          = 0;
  sunrealtype norm   = projects ? 0.0 : cpWrmsNorm(ycor, ewt);
  if (!isfinite(norm)) return cpFailedInner(mem, a, ycor, SUN_NLS_CONV_RECVR);
  if (!projects && surelyRejected(mem, a, norm)) return CP_SUCCESS;
  int flag = projectState(mem, a, ewt, &moved);
  if (!flag && moved && projects) flag = projectError(mem, a, ycor, ewt, &norm);
  if (flag) return flag;
  if (!moved) mem->base.stats.nskipped++;
  if (!moved || surelyRejected(mem, a, norm)) return CP_SUCCESS;
  mem->attempt.projected = 1;
  if (mem->attempt.enters) {
    cpAdd(ycor, mem->base.delta, ycor);
    mem->attempt.entered = 1;
  } else {
    cpAdd(a->ypred, mem->base.delta, a->ypred);
    cpPendingSet(mem, a);
  }
  cpAdd(a->ypred, ycor, mem->attempt.y); /* as CVODES will add it up, to the last bit */
  return CP_SUCCESS;
}

/* ---- the solver ---- */

void cpSettle(CPodeMem mem, long int nst) {
  if (!mem->attempt.complete || nst <= mem->attempt.nst) return;
  N_Vector y              = mem->base.y;
  mem->base.y             = mem->attempt.y;
  mem->attempt.y          = y;
  mem->base.t             = mem->attempt.t;
  mem->last.since         = mem->attempt.projected ? 0 : mem->last.since + 1;
  mem->last.uncut         = mem->attempt.uncut;
  mem->attempt.complete   = 0;
  mem->last.have_estimate = 1;
  cpWorkAccepted(mem->base.step);
}

int cpCarriesOver(CPodeMem mem) { return mem->holding && !mem->checkpoints.repeatable; }

/* Is the state of this attempt to be projected? Where nothing may be carried over, neither factors nor
 * the count of steps are. */
static int isDue(CPodeMem mem, const CPAttempt *a) {
  if (!mem->base.P) return 0;
  if (cpCarriesOver(mem)) return mem->last.since + 1 >= mem->frequency;
  mem->base.step->valid = 0;
  return a->nst % mem->frequency == 0;
}

/* Factors grow older with each step, projected or not. */
static void leaveAlone(CPodeMem mem) {
  mem->base.stats.nskipped++;
  mem->base.step->age++;
}

/* Is the step shorter than the newest accepted one, by more than the roundoff of a->h = gamma / rl1? */
static int isCut(CPodeMem mem, const CPAttempt *a) {
  sunrealtype h = 0.0;
  return a->nst > 0 && !CVodeGetLastStep(mem->cvode_mem, &h) &&
         fabs(a->h) < (1.0 - 1.0e2 * CP_UROUND) * fabs(h);
}

static int solve(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *cvode_mem) {
  CPodeMem mem = ((CPWrapped *)NLS->content)->owner;
  CPAttempt a;
  mem->nsolves++;
  int flag = cpAttemptRead(mem, &a);
  if (flag) return flag;
  flag = cpOrderNormsEnd(mem, &a);
  if (!flag) flag = cpSelfCheck(mem, &a);
  if (!flag) flag = cpCheckStartLate(mem, &a, ewt);
  if (flag) return cpFatal(mem, flag);
  if (a.nst == mem->attempt.nst && a.netf > mem->attempt.netf && (flag = cpFailedTest(mem, &a)))
    return flag;
  cpPendingResolve(mem, &a);
  if (mem->sens.data) mem->sens.attempt(mem->sens.data, &a);
  cpSettle(mem, a.nst);
  if (a.nst == 0) cpAdoptTolerances(mem, ewt);
  mem->attempt.t               = a.t;
  mem->attempt.begin           = a.t - a.h;
  mem->attempt.nst             = a.nst;
  mem->attempt.netf            = a.netf;
  mem->attempt.complete        = 0;
  mem->attempt.projected       = 0;
  mem->attempt.err_valid       = 0;
  mem->last.have_estimate      = 0;
  mem->attempt.uncut           = isCut(mem, &a) ? 0 : mem->last.uncut + 1;
  mem->attempt.enters          = entersHistory(mem);
  mem->attempt.entered         = 0;
  mem->attempt.expect_rejected = -1;
  mem->attempt.setup_due       = callLSetup;
  mem->attempt.tq2             = mem->coef / tol; /* tol = nlscoef / tq[2] */
  cpWorkAttempt(mem->base.step);

  mem->norms.mode = mem->base.P ? errEstMode(mem) : CP_ERREST_UNPROJECTED;
  mem->norms.factor =
      mem->norms.mode == CP_ERREST_PROJECTED && mem->norms.possible && mem->lmm == CV_BDF
          ? BDF_FACTOR
          : 1.0;
  flag = cpNewtonIterate(&mem->nls, a.t, y0, ycor, ewt, tol / mem->norms.factor, callLSetup,
                         cvode_mem);
  if (flag) return cpFailedInner(mem, &a, ycor, flag);

  cpAdd(a.ypred, ycor, mem->attempt.y);
  mem->attempt.complete = 1;
  if (isDue(mem, &a)) flag = projectStep(mem, &a, ycor, ewt);
  else if (mem->base.P) leaveAlone(mem);
  if (!flag && !mem->attempt.projected &&
      !isfinite(cpWrmsNorm(ycor, ewt))) /* which CVODES tests then */
    flag = cpFailedInner(mem, &a, ycor, SUN_NLS_CONV_RECVR);
  if (flag) mem->attempt.complete = 0;
  else mem->failure.cause = 0;
  if (!flag && mem->attempt.err_valid && mem->norms.mode == CP_ERREST_PROJECTED)
    cpOrderNormsBegin(mem, &a, ewt);
  return flag;
}

const CPSolveFn cpSolveStep = solve;
