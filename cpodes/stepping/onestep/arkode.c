/* ARKODE solves for the stages: its memory, its callbacks, and one attempt. */
#include "implicit.h"

#include <arkode/arkode_arkstep.h>
#include <arkode/arkode_ls.h>
#include <stdlib.h>
#include <sunnonlinsol/sunnonlinsol_newton.h>

/* ARKODE's defaults are 0.1, 3 and 0.2. Measured on stiff and oscillating mechanisms with orders 3 to 5 (bench/implicit.c,
 * geometric means over tolerances 1e-4 to 1e-9): with the coefficient 0.01 errors are 0.2 to 0.7 of those with 0.1, for
 * 1.1 to 1.3 times the evaluations of f. With a fourth iteration, and factors that are renewed when gamma has changed by
 * a tenth, 0.2 to 0.6 of the Jacobians are enough. */
#define NLSCOEF    0.01
#define MAX_ITERS  4
#define MAX_DGAMMA 0.1

/* ---- what ARKODE calls ---- */

/* Before the stages ARKODE asks for f(t, y) at the integrator's state: at the first call after a reset, and for an
 * explicit first stage. (Version 7 copies the derivative of the last stage for the latter, and version 6 is given the
 * same vector here.) Even if f fails, ARKODE goes on to the stages, so that afterStage needs k[0]. Failures outside of
 * Newton's iteration are hidden from ARKODE, as those of the iteration are (solve). */
static int rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *data) {
  CPOneStepMem mem = data;
  CPImplicit *st   = cpImplicit(mem);
  int flag         = CP_SUCCESS;
  if (!st->unsolved && st->in_stages) {
    flag = cpOneStepRhs(mem, t, y, ydot, 0);
  } else if (!st->unsolved) {
    st->k[0] = ydot;
    flag     = cpImplicitRhs(mem, mem->base.t, mem->base.y, st->f1, &st->have_f1, 0);
    if (!flag) N_VScale(1.0, st->f1, ydot);
  }
  if (flag) st->f_failed = flag;
  if (flag && !st->iterating) st->unsolved = flag;
  if (st->unsolved) N_VConst(0.0, ydot);
  if (!st->iterating) return 0;
  return flag > 0 ? 1 : flag < 0 ? -1 : 0;
}

/* ARKODE asks for the weights of its own state, which are known. */
static int weights(N_Vector y, N_Vector ewt, void *data) {
  (void)y;
  N_VScale(1.0, ((CPStepper)data)->ewt, ewt);
  return 0;
}

/* The guess for a stage continues the last step's polynomial. Compared to ARKODE's default, the last state, it takes 0.3
 * to 0.5 of the evaluations of f (slider-crank in a bushing; a stiff chain: 0.7 to 1.1), and 0.9 of those with the best of
 * ARKODE's other guesses (pendulum), with orders 3 to 5. */
static int predict(sunrealtype t, N_Vector guess, void *data) {
  cpImplicit(data)->in_stages = 1;
  cpImplicitPredict(data, t, guess);
  return 0;
}

/* Returns the integrator that ARKODE works for, and sets k to the derivative of the newest stage. */
static CPOneStepMem integratorOf(void *ark, N_Vector *k) {
  sunrealtype t, gamma;
  N_Vector predicted, z, known;
  void *data = NULL;
  CP_ARK(GetNonlinearSystemData)(ark, &t, &predicted, &z, k, &gamma, &known, &data);
  return data;
}

/* Version 6 calls this for an explicit first stage too, whose place is known. */
static int afterStage(sunrealtype t, N_Vector z, void *data) {
  CPImplicit *st = cpImplicit(data);
  N_Vector k     = NULL;
  (void)t, (void)z;
  integratorOf(st->ark, &k);
  if (st->stage == 0 || k != st->k[0]) st->k[st->stage++] = k;
  return 0;
}

/* A rejected step is taken back by a reset, since a failure returned from here would end ARKODE's run. */
static int afterStep(sunrealtype t, N_Vector y, void *data) {
  CPImplicit *st = cpImplicit(data);
  (void)t;
  st->judged  = 1;
  st->verdict = st->unsolved ? st->unsolved : cpImplicitJudge(data, y);
  return 0;
}

/* ---- Newton's iteration ---- */

/* Without this check, SUNDIALS 7 would call the iteration without a linear solver. */
static int initialize(SUNNonlinearSolver NLS) {
  const SUNNonlinearSolverContent_Newton newton = NLS->content;
  return newton->LSolve ? SUNNonlinSolInitialize_Newton(NLS) : CP_ILL_INPUT; /* any error */
}

/* With steps of given sizes ARKODE would call a failure final, and would not tell its cause. So it is recorded in unsolved
 * and hidden from ARKODE, and the rest of the attempt is skipped. A matrix that is not finite is a failure as well: f is
 * finite (cpOneStepRhs), but the user's Jacobian may not be. Each matrix is checked once, after a linear solve. */
static int solve(SUNNonlinearSolver NLS, N_Vector y0, N_Vector ycor, N_Vector ewt, sunrealtype tol,
                 sunbooleantype callLSetup, void *ark) {
  const SUNNonlinearSolverContent_Newton newton = NLS->content;
  N_Vector k                                    = NULL;
  CPOneStepMem mem                              = integratorOf(ark, &k);
  CPImplicit *st                                = cpImplicit(mem);
  st->iterating                                 = 1;
  if (!st->unsolved) {
    const long int before = st->nsetups;
    st->unsolved          = SUNNonlinSolSolve_Newton(NLS, y0, ycor, ewt, tol, callLSetup, ark);
    if (st->unsolved >= 0 && !st->f_failed) {
      CP_ARK(GetNumLinSolvSetups)(ark, &st->nsetups);
      const int is_new = callLSetup || st->nsetups != before;
      const int solved = !st->unsolved || N_VMaxNorm(ycor) != 0.0;
      if (is_new && solved && cpNewtonMatrixFails(newton->LSolve, ark, ycor, mem->base.tmp))
        st->unsolved = -CP_RHS_NONFINITE; /* positive */
    }
  }
  st->iterating = 0;
  if (st->unsolved) N_VConst(0.0, ycor);
  return CP_SUCCESS;
}

/* ---- the model's iteration matrix ---- */

/* A reset makes ARKODE ask for a new Jacobian. An attempt does not need one if the attempt before has failed for another
 * reason than its iteration. */
static int linearSystem(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix S, SUNMatrix M,
                        sunbooleantype jok, sunbooleantype *jcur, sunrealtype gamma, void *data,
                        N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  CPOneStepMem mem = data;
  CPImplicit *st   = cpImplicit(mem);
  (void)fy, (void)S, (void)M, (void)tmp1, (void)tmp2, (void)tmp3;
  if (st->jacobian_serves) jok = SUNTRUE;
  st->jacobian_serves = 0;
  return mem->base.system.linsys(t, y, jok, jcur, gamma, mem->base.system.data);
}

int cpArkSetLinearSolver(CPOneStepMem mem, SUNLinearSolver LS, SUNMatrix S) {
  void *ark      = cpImplicit(mem)->ark;
  const int flag = CP_ARK(SetLinearSolver)(ark, LS, S);
  return flag ? flag : CP_ARK(SetLinSysFn)(ark, linearSystem);
}

/* ---- life cycle ---- */

/* SUNDIALS 7 reports through the SUNContext. */
#ifdef CP_CVODES_HAS_EHFUN
static void heard(int code, const char *module, const char *function, char *msg, void *data) {
  CPOneStepMem mem = data;
  (void)module;
  for (char *s = msg; *s; s++)
    if (*s == '\n') *s = ' ';
  cpReport(&mem->base.log, code, function, "%s", msg);
}
#endif

static void freeSolver(void *NLS) { SUNNonlinSolFree(NLS); }
static void freeArk(void *ark) { CP_ARK(Free)(&ark); }

int cpArkCreate(CPOneStepMem mem) {
  CPImplicit *st  = cpImplicit(mem);
  CPArena *memory = &mem->base.memory;
  N_Vector y0     = mem->base.y0;
  st->handed      = cpArenaVector(memory, y0);
  if (cpArenaStatus(memory)) return CP_MEM_FAIL;
  st->NLS = cpArenaOwn(memory, SUNNonlinSol_Newton(y0, mem->base.ctx), freeSolver);
  if (!st->NLS) return CP_MEM_FAIL;
  st->NLS->ops->initialize = initialize;
  st->NLS->ops->solve      = solve;
  N_VConst(0.0, st->handed);
  st->ark = cpArenaOwn(memory, ARKStepCreate(NULL, rhs, 0.0, st->handed, mem->base.ctx), freeArk);
  if (!st->ark) return CP_MEM_FAIL;
  void *ark = st->ark;
  int flag  = CP_ARK(SetUserData)(ark, mem);
#ifdef CP_CVODES_HAS_EHFUN
  if (!flag) flag = ARKStepSetErrHandlerFn(ark, heard, mem);
#endif
  if (!flag) flag = ARKStepSetTables(ark, mem->table->q, mem->table->p, mem->table, NULL);
  if (!flag) flag = CP_ARK(WFtolerances)(ark, weights);
  /* ARKODE's interpolation is not used. Of its two kinds only Lagrange's evaluates no f. */
  if (!flag) flag = CP_ARK(SetInterpolantType)(ark, ARK_INTERP_LAGRANGE);
  if (!flag) flag = CP_ARK(SetInterpolantDegree)(ark, 0);
  if (!flag) flag = CP_ARK(SetDeduceImplicitRhs)(ark, SUNTRUE);
  if (!flag) flag = CP_ARK(SetStagePredictFn)(ark, predict);
  if (!flag) flag = CP_ARK(SetPostprocessStageFn)(ark, afterStage);
  if (!flag) flag = CP_ARK(SetPostprocessStepFn)(ark, afterStep);
  if (!flag) flag = CP_ARK(SetNonlinearSolver)(ark, st->NLS);
  if (!flag) flag = CP_ARK(SetNonlinConvCoef)(ark, NLSCOEF);
  if (!flag) flag = CP_ARK(SetMaxNonlinIters)(ark, MAX_ITERS);
  if (!flag) flag = CP_ARK(SetDeltaGammaMax)(ark, MAX_DGAMMA);
  return flag ? CP_MEM_FAIL : CP_SUCCESS;
}

/* ---- an attempt ---- */

/* Returns the code of a failure to solve for the stages, and writes its reason. flag was returned by Newton's iteration or
 * by ARKODE. */
static int failed(CPOneStepMem mem, int flag) {
  CPImplicit *st     = cpImplicit(mem);
  const char *reason = NULL;
  if (st->f_failed) {
    mem->stats.nrhsfails++;
    return st->f_failed;
  }
  mem->stats.nsolvefails++;
  const int code =
      mem->base.system.cause ? mem->base.system.cause(&reason, mem->base.system.data) : 0;
  if (code) return cpReason(mem->base.text, code, "%s", reason);
  if (flag == -CP_RHS_NONFINITE)
    return cpReason(mem->base.text, flag, "at t = %.15g: " CP_MATRIX_NONFINITE, mem->base.t);
  if (flag > 0 || flag == ARK_CONV_FAILURE)
    return cpReason(mem->base.text, -CV_CONV_FAILURE,
                    "at t = %.15g: Newton's iteration for the stages does not converge (h = %g)",
                    mem->base.t, st->h);
  if (flag == ARK_LSETUP_FAIL || flag == ARK_LSOLVE_FAIL)
    return cpReason(mem->base.text, flag, "at t = %.15g: the linear solver's %s failed for good",
                    mem->base.t, flag == ARK_LSETUP_FAIL ? "setup" : "solve");
  if (flag == ARK_NLS_INIT_FAIL)
    return cpReason(
        mem->base.text, CV_NLS_INIT_FAIL,
        "Newton's iteration lacks a linear solver: CPOneStepGetARKodeMem is to be given "
        "one; a mechanical system brings its own (CPMechSetNewton)");
  char *name = CP_ARK(GetReturnFlagName)(flag);
  cpReason(mem->base.text, flag, "at t = %.15g: ARKODE returned %s (%d)", mem->base.t,
           name ? name : "an error", flag);
  free(name);
  switch (flag) { /* CVODES has other numbers, except down to ARK_RTFUNC_FAIL. */
  case ARK_NLS_SETUP_FAIL: return CV_NLS_SETUP_FAIL;
  case ARK_NLS_OP_ERR: return CV_NLS_FAIL;
  case ARK_VECTOROP_ERR: return CP_VECTOROP_ERR;
  case ARK_MEM_FAIL: return CP_MEM_FAIL;
  case ARK_ILL_INPUT: return CP_ILL_INPUT;
  default: return flag >= ARK_RTFUNC_FAIL ? flag : CV_UNRECOGNIZED_ERR;
  }
}

int cpArkAttempt(CPOneStepMem mem, sunrealtype h) {
  CPImplicit *st = cpImplicit(mem);
  st->h          = h;
  st->in_stages = st->iterating = st->unsolved = st->f_failed = st->judged = 0;
  st->error                                                                = 0.0;
  st->stage                                                                = !st->solves_first;

  sunrealtype t = mem->base.t;
  int flag      = CP_ARK(SetFixedStep)(st->ark, h);
  if (!flag && !st->ready) flag = CP_ARK(Reset)(st->ark, t, mem->base.y);
  if (!flag) flag = CP_ARK(Evolve)(st->ark, t + h, st->handed, &t, ARK_ONE_STEP);
  st->ready           = flag >= 0 && st->judged && !st->verdict && st->error <= 1.0;
  st->jacobian_serves = flag >= 0 && !st->unsolved && !st->ready;
  if (flag < 0 || st->unsolved) return failed(mem, flag < 0 ? flag : st->unsolved);
  if (!st->judged)
    return cpReason(mem->base.text, CP_SELFCHECK_FAIL,
                    "ARKODE made no step of ours: is another post-processing function installed?");
  return st->verdict;
}

/* ---- a start, and counters since then ---- */

static void count(CPOneStepMem mem, CPArkCounters *c) {
  void *ark = cpImplicit(mem)->ark;
  CP_ARK(GetNumJacEvals)(ark, &c->njev);
  CP_ARK(GetNumLinSolvSetups)(ark, &c->nlinsetups);
  CP_ARK(GetNumNonlinSolvIters)(ark, &c->nni);
}

void cpArkStart(CPOneStepMem mem) {
  CPImplicit *st = cpImplicit(mem);
  st->ready = st->jacobian_serves = 0;
  count(mem, &st->base);
}

void cpArkStats(CPOneStepMem mem, CPOneStepStats *stats) {
  const CPArkCounters base = cpImplicit(mem)->base;
  CPArkCounters now        = base;
  if (!mem->started) return; /* The counters in base are those of another start. */
  count(mem, &now);
  stats->njev       = now.njev - base.njev;
  stats->nlinsetups = now.nlinsetups - base.nlinsetups;
  stats->nni        = now.nni - base.nni;
}
