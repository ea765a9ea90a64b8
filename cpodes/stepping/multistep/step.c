/* The projecting nonlinear solver: a SUNNonlinearSolver around another one.
 *
 * Its solve function runs the inner solver (y = ypred + ycor), moves y to the manifold (y + delta),
 * projects the error estimate (P ycor) and hands CVODES both. A projection that fails recoverably
 * is reported as a convergence failure, so that CVODES refreshes the Jacobian, cuts the step and
 * tries again.
 *
 * Return codes of solve: 0; SUN_NLS_CONV_RECVR and CP_CV_RHSFUNC_RECVR (CVODES loops for ever on
 * other positive ones); negative: fatal, mem->fatal and mem->text say why if the projection was the
 * cause.
 */
#include "integrator_impl.h"

#include <float.h>
#include <math.h>
#include <sundials/sundials_nonlinearsolver.h>

/* Rejections are foreseen with this margin for roundoff. */
#define SURELY_REJECTED 1.0000001

/* ---- the projection ---- */

static int everyStepIsProjected(CPodeMem mem) { return mem->frequency == 1 && !mem->test_cnstr; }

/* Next to a singular position one direction counts as normal in which a state that is off keeps moving: its error is to be
 * seen. */
#define NARROW 0.1

static int isNarrow(CPodeMem mem) {
  return mem->lmm == CV_ADAMS && cpCarriesOver(mem) && cpWorkHasFactors(mem->step) &&
         cpWorkSine(mem->step) < NARROW;
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
  return mem->uncut_attempt >= q;
}

/* All three norms by which CVODES chooses step and order must be of one kind (norms.c). */
static CPErrEst errEstMode(CPodeMem mem) {
  if (mem->errest != CP_ERREST_DEFAULT) return mem->errest;
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

/* The estimate at the projected state, into err, and which norm CVODES gets. tested: in, ||ycor||; out, the
 * one that it tests. */
static int projectError(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt,
                        sunrealtype *tested) {
  const CPErrEst mode = mem->norms.mode;
  if (mode == CP_ERREST_UNPROJECTED || (mode == CP_ERREST_ACCEPTANCE && mem->tq2 * *tested <= 1.0))
    return CP_SUCCESS;
  int flag = cpProjectEstimate(mem->step, a->t, mem->y, ewt, ycor, mem->err);
  if (flag) return cpFailedProjection(mem, a, flag);
  mem->stats.nerrproj++;
  if (mem->norms.factor != 1.0) N_VScale(mem->norms.factor, mem->err, mem->err);
  if (!cpVectorFinite(mem->err)) {
    cpWrite(mem->text, "at t = %.15g: the projected error estimate is not finite", a->t);
    return cpFailed(mem, a, -CP_PROJ_NONFINITE);
  }
  mem->err_valid = 1;
  if (mode == CP_ERREST_ACCEPTANCE || !mem->enters) {
    const sunrealtype norm = cpWrmsNorm(mem->err, ewt);
    if (mode == CP_ERREST_ACCEPTANCE && mem->tq2 * norm > 1.0) return CP_SUCCESS;
    *tested = norm; /* else CVODES may find out: what it rejects is gone with ycor */
  }
  if (handOverNorm(mem, mem->err, ewt) == CP_SUCCESS) return CP_SUCCESS;
  cpWrite(mem->text, "at t = %.15g: the projected error estimate has no finite norm", a->t);
  /* the test's own positive return would have the step repeated for ever */
  return cpFailed(mem, a, -CP_PROJ_NONFINITE);
}

/* The bound is for the drift of one step: after steps that were left alone no smaller step would
 * help. */
static int tooLarge(CPodeMem mem, const CPAttempt *a, sunrealtype correction) {
  cpExplainCorrection(mem->step, a->t, correction, mem->max_correction, "CPode", mem->text);
  mem->stats.nlargecorr++;
  return cpFailed(mem, a, -CP_PROJ_CORRECTION);
}

/* y -> y + delta. */
static int projectState(CPodeMem mem, const CPAttempt *a, N_Vector ewt, int *moved) {
  CPProjected projected;
  cpCopy(mem->delta, mem->y);
  int flag = cpProject(mem->step, a->t, mem->y, ewt, mem->test_cnstr, &projected);
  if (flag) return cpFailedProjection(mem, a, flag);
  mem->stats.violation = projected.violation;
  *moved               = projected.moved;
  if (!*moved) return CP_SUCCESS;
  cpSubtract(mem->y, mem->delta, mem->delta);
  const sunrealtype correction = cpWrmsNorm(mem->delta, ewt);
  const int bounded            = mem->since == 0 || a->nst == 0;
  if (!(correction <= (bounded ? mem->max_correction : DBL_MAX)))
    return tooLarge(mem, a, correction);
  mem->stats.nproj++;
  mem->stats.correction    = correction;
  mem->stats.maxcorrection = fmax(mem->stats.maxcorrection, correction);
  return CP_SUCCESS;
}

/* Will CVODES' error test reject the attempt? Then nothing of the projection may stay in its state.
 */
static int surelyRejected(CPodeMem mem, const CPAttempt *a, sunrealtype norm) {
  if (!(mem->tq2 * norm > SURELY_REJECTED)) return 0;
  mem->expect_rejected = a->nst;
  return 1;
}

static int projectStep(CPodeMem mem, const CPAttempt *a, N_Vector ycor, N_Vector ewt) {
  const CPErrEst mode = mem->norms.mode;
  int moved           = 0;
  sunrealtype norm    = mode == CP_ERREST_PROJECTED ? 0.0 : cpWrmsNorm(ycor, ewt);
  if (!isfinite(norm)) return cpFailedInner(mem, a, ycor, SUN_NLS_CONV_RECVR);
  if (mode == CP_ERREST_UNPROJECTED && surelyRejected(mem, a, norm)) return CP_SUCCESS;
  int flag = projectState(mem, a, ewt, &moved);
  if (!flag && moved) flag = projectError(mem, a, ycor, ewt, &norm);
  if (flag) return flag;
  if (!moved) mem->stats.nskipped++;
  if (!moved || surelyRejected(mem, a, norm)) return CP_SUCCESS;
  mem->projected = 1;
  if (mem->enters) {
    cpAdd(ycor, mem->delta, ycor);
    mem->entered = 1;
  } else {
    cpAdd(a->ypred, mem->delta, a->ypred);
    cpPendingSet(mem, a);
  }
  cpAdd(a->ypred, ycor, mem->y); /* as CVODES will add it up, to the last bit */
  return CP_SUCCESS;
}

/* ---- the solver ---- */

void cpSettle(CPodeMem mem, long int nst) {
  if (!mem->have_attempt || nst <= mem->nst_attempt) return;
  N_Vector y         = mem->ygood;
  mem->ygood         = mem->y;
  mem->y             = y;
  mem->tgood         = mem->t;
  mem->since         = mem->projected ? 0 : mem->since + 1;
  mem->uncut         = mem->uncut_attempt;
  mem->have_attempt  = 0;
  mem->have_estimate = 1;
  cpWorkAccepted(mem->step);
}

int cpCarriesOver(CPodeMem mem) { return mem->holding && !mem->repeatable; }

/* Is the state of this attempt to be projected? Where nothing may be carried over, neither factors nor
 * the count of steps are. */
static int isDue(CPodeMem mem, const CPAttempt *a) {
  if (!mem->P) return 0;
  if (cpCarriesOver(mem)) return mem->since + 1 >= mem->frequency;
  cpWorkForget(mem->step);
  return a->nst % mem->frequency == 0;
}

/* Factors grow older with each step, projected or not. */
static void leaveAlone(CPodeMem mem) {
  mem->stats.nskipped++;
  cpWorkAge(mem->step);
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
  if (a.nst == mem->nst_attempt && a.netf > mem->netf_attempt && (flag = cpFailedTest(mem, &a)))
    return flag;
  cpPendingResolve(mem, &a);
  if (mem->sens.data) mem->sens.attempt(mem->sens.data, &a);
  cpSettle(mem, a.nst);
  if (a.nst == 0) cpAdoptTolerances(mem, ewt);
  mem->t               = a.t;
  mem->begin           = a.t - a.h;
  mem->nst_attempt     = a.nst;
  mem->netf_attempt    = a.netf;
  mem->have_attempt    = 0;
  mem->projected       = 0;
  mem->err_valid       = 0;
  mem->have_estimate   = 0;
  mem->uncut_attempt   = isCut(mem, &a) ? 0 : mem->uncut + 1;
  mem->enters          = entersHistory(mem);
  mem->entered         = 0;
  mem->expect_rejected = -1;
  mem->setup_due       = callLSetup;
  mem->tq2             = mem->coef / tol; /* tol = nlscoef / tq[2] */
  cpWorkAttempt(mem->step);

  mem->norms.mode = mem->P ? errEstMode(mem) : CP_ERREST_UNPROJECTED;
  mem->norms.factor =
      mem->norms.mode == CP_ERREST_PROJECTED && mem->norms.possible && mem->lmm == CV_BDF
          ? BDF_FACTOR
          : 1.0;
  flag = cpNewtonIterate(&mem->nls, a.t, y0, ycor, ewt, tol / mem->norms.factor, callLSetup,
                         cvode_mem);
  if (flag) return cpFailedInner(mem, &a, ycor, flag);

  cpAdd(a.ypred, ycor, mem->y);
  mem->have_attempt = 1;
  if (isDue(mem, &a)) flag = projectStep(mem, &a, ycor, ewt);
  else if (mem->P) leaveAlone(mem);
  if (!flag && !mem->projected && !isfinite(cpWrmsNorm(ycor, ewt))) /* which CVODES tests then */
    flag = cpFailedInner(mem, &a, ycor, SUN_NLS_CONV_RECVR);
  if (flag) mem->have_attempt = 0;
  else mem->cause = 0;
  if (!flag && mem->err_valid && mem->norms.mode == CP_ERREST_PROJECTED)
    cpOrderNormsBegin(mem, &a, ewt);
  return flag;
}

const CPSolveFn cpSolveStep = solve;
