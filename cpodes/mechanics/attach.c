/* A mechanical system in an integrator: right-hand side, projector, linear solver, error weights. */
#include "actions/actions.h"

#include <math.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ---- error weights ---- */

/* Errors of velocities, and of z as often as z_order says, count in the unit of positions:
 * w_u <- tau w_u, tau a time, or the step size where that is below one (E. Hairer, G. Wanner,
 * Solving Ordinary Differential Equations II, section VII.7: RADAU5 multiplies them by h). */
static int scaleWeights(N_Vector ewt, void *data) {
  const CPMech mech = data;
  sunrealtype *w    = N_VGetArrayPointer(ewt);
  double tau        = mech->tau;
  if (tau == CP_TAU_STEP) {
    sunrealtype h = 0.0;
    CVodeGetCurrentStep(CPodeGetCVodeMem(mech->mem), &h);
    tau = h != 0.0 ? fmin(1.0, fabs(h)) : 1.0; /* before the first step there is none */
  }
  for (int j = 0; j < mech->nu; j++) w[mech->nq + j] *= tau;
  for (int k = 0; mech->z_order && k < mech->nz; k++)
    w[mech->nq + mech->nu + k] *= pow(tau, mech->z_order[k]);
  return CP_SUCCESS;
}

/* ---- attaching ---- */

static int start(CPMech mech, CPodeMem mem, sunrealtype t0, N_Vector y0) {
  return mech->mem ? CPodeReInit(mem, t0, y0) : CPodeInit(mem, cpMechRhs, t0, y0);
}

static int cause(const char **reason, void *data) {
  const CPMech mech = data;
  *reason           = mech->text;
  return mech->cause;
}

static int print(CPodeMem mem, FILE *out, SUNOutputFormat fmt, void *data) {
  (void)mem;
  return cpMechPrintStats(data, out, fmt);
}

/* After CVODES is gone. */
static void detach(void *data) {
  const CPMech mech = data;
  cpMechNewtonFree(&mech->newton);
  if (mech->fixed_point) SUNNonlinSolFree(mech->fixed_point);
  mech->fixed_point = NULL;
  mech->mem         = NULL;
  mech->installed   = 0;
}

/* Adams methods are for what is not stiff: no matrix, unless one is asked for. Fixed point iteration
 * takes 0.9 of the evaluations of f that Newton's does (pendulum), and no partial derivatives. */
static int installFixedPoint(CPMech mech, CPodeMem mem) {
  if (mem->nls.inner && !mem->nls.inner_owned) return CP_SUCCESS; /* the user's own */
  mech->fixed_point = SUNNonlinSol_FixedPoint(mech->y_tmpl, 0, mech->ctx);
  return mech->fixed_point ? CPodeSetNonlinearSolver(mem, mech->fixed_point) : CP_MEM_FAIL;
}

static int installSolver(CPMech mech, CPodeMem mem) {
  if (mech->newton_type == CP_NEWTON_NONE) return CP_SUCCESS;
  if (mem->lmm == CV_ADAMS && mech->newton_type == CP_NEWTON_AUTO)
    return installFixedPoint(mech, mem);
  return cpMechNewtonAttach(mech, mem);
}

/* Do constraints depend on time? (A failure shows later.) */
static int isRheonomic(CPMech mech, sunrealtype t0, const sunrealtype *q, const sunrealtype *u) {
  const double e = 0.02 * mech->difference_time;
  double *before = mech->p_plus, *after = mech->p_minus;
  const size_t length = (size_t)mech->m * sizeof *before;
  if (mech->nprescribed > 0) return 1;
  if (cpMechPositions(mech, t0, q, before) || cpMechPositions(mech, t0 + e, q, after)) return 0;
  if (memcmp(before, after, length)) return 1;
  before = mech->lambda_new, after = mech->lambda_step; /* v's differences use the others */
  if (cpMechVelocities(mech, t0, q, u, before) || cpMechVelocities(mech, t0 + e, q, u, after))
    return 0;
  return memcmp(before, after, length) != 0;
}

/* What a motion prescribes has no projected error. Steps that only that norm tests are too long for
 * the history to follow the motion: projections that move too far then cut them, at order 1 (BDF, a
 * mass driven with 10 /s beside one that hardly moves, tol 1e-8: 48,861 steps against 3,573;
 * test/reference/mechanics_motion.c). */
static CPErrEst defaultErrEst(CPMech mech, sunrealtype t0, N_Vector y0) {
  const sunrealtype *q = N_VGetArrayPointer(y0);
  return isRheonomic(mech, t0, q, q + mech->nq) ? CP_ERREST_UNPROJECTED : CP_ERREST_DEFAULT;
}

static int install(CPMech mech, CPodeMem mem, sunrealtype t0, N_Vector y0) {
  void *cvode_mem     = CPodeGetCVodeMem(mem);
  const CPModel model = {.data   = mech,
                         .scale  = mech->tau != 0.0 ? scaleWeights : NULL,
                         .cause  = cause,
                         .print  = print,
                         .detach = detach,
                         .errest = defaultErrEst(mech, t0, y0),
                         .sens   = &cpMechSensModel};
  int flag            = cpSetModel(mem, &model);
  if (!flag && mech->maxord > 0) flag = CVodeSetMaxOrd(cvode_mem, mech->maxord);
  if (!flag) flag = installSolver(mech, mem);
  if (!flag) flag = cpMechSpaceMetric(mech); /* which may be that of Newton's matrix */
  return flag ? flag : CPodeSetProjector(mem, mech->P);
}

int CPMechAttach(CPMech mech, CPodeMem mem, sunrealtype t0, N_Vector y0) {
  int flag = cpMechCheckState(mech, y0, __func__);
  if (flag) return flag;
  if (!mem) return cpReport(&mech->log, CP_ILL_INPUT, __func__, "mem must not be NULL");
  if (mem->attached)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, __func__,
                    "mem has memory of CVODES' that is not its own (CPodeAttach): use CPodeCreate");
  if (mech->mem && mech->mem != mem)
    return cpReport(&mech->log, CP_ILL_INPUT, __func__,
                    "the system is attached to another integrator: free that first");
  if (!mech->mem && mem->cvode_inited)
    return cpReport(&mech->log, CP_ILL_INPUT, __func__,
                    "mem has a right-hand side already: use a new one of CPodeCreate's");
  if (mech->mem && !mech->installed)
    return cpReport(&mech->log, CP_ILL_INPUT, __func__,
                    "mem is what an earlier CPMechAttach left when it failed: free it and create "
                    "another one");
  mech->cause = 0;
  flag        = start(mech, mem, t0, y0);
  if (!flag && !mech->mem) {
    mech->mem       = mem;
    flag            = install(mech, mem, t0, y0);
    mech->installed = !flag;
  }
  if (!flag) return CP_SUCCESS;
  if (flag == CP_MEM_FAIL) return cpReport(&mech->log, flag, __func__, "no memory");
  return cpReport(&mech->log, flag, __func__, "the integrator refused it: %s",
                  CPodeGetLastMessage(mem));
}
