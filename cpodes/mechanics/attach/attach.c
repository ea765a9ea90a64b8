/* Attaches a mechanical system to an integrator: right-hand side, projector, error weights,
 * iteration matrix. */
#include "cpodes/mechanics/actions/actions.h"
#include "cpodes/stepping/multistep/multistep_impl.h"
#include "cpodes/stepping/onestep/onestep_impl.h"

#include <math.h>
#include <string.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* ---- error weights ---- */

/* Multiplied by a time tau, errors of velocities have the unit of positions, and so have those of z
 * multiplied by a power of tau: w_u <- tau w_u, w_z <- tau^z_order w_z. CP_TAU_STEP stands for the
 * step size, at most 1 (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section
 * VII.7: RADAU5 multiplies these errors by h).
 *
 * Group norms: w_i <- sqrt(n / n_g) w_i for the n_g components of group g = q, u, z, so that
 * 1/n sum_i (w_i e_i)^2 = sum_g 1/n_g sum_{i in g} (w_i e_i)^2 with the former weights on the
 * right. */
static int scaleWeights(N_Vector ewt, void *data) {
  const CPMech mech   = data;
  sunrealtype *w      = N_VGetArrayPointer(ewt);
  const int groups[3] = {mech->nq, mech->nu, mech->nz}, *z_order = mech->options.z_order;
  double tau = mech->options.tau;
  if (tau == CP_TAU_STEP) {
    const double h = mech->host->ops->size(mech->host);
    /* There is no step size before the first step. */
    tau = h != 0.0 ? fmin(1.0, fabs(h)) : 1.0;
  }
  for (int j = 0; tau != 0.0 && j < mech->nu; j++) w[mech->nq + j] *= tau;
  for (int k = 0; tau != 0.0 && z_order && k < mech->nz; k++)
    w[mech->nq + mech->nu + k] *= pow(tau, z_order[k]);
  for (int g = 0; mech->options.group_norms && g < 3; g++)
    for (int i = 0; i < groups[g]; i++) *w++ *= sqrt((double)mech->n / groups[g]);
  return CP_SUCCESS;
}

/* ---- the system, as an integrator sees it ---- */

static int cause(const char **reason, void *data) {
  const CPMech mech = data;
  *reason           = mech->text;
  return mech->attached.cause;
}

void cpMechDetach(void *data) {
  const CPMech mech = data;
  cpMechImplicitFree(&mech->implicit);
  cpMechNewtonFree(&mech->newton);
  cpMechNearFree(mech);
  if (mech->attached.fixed_point) SUNNonlinSolFree(mech->attached.fixed_point);
  mech->attached.fixed_point = NULL;
  mech->host                 = NULL;
  mech->attached.installed   = 0;
}

/* ---- attaching ---- */

/* Called once, after the first start. Explicit methods have no iteration matrix. Adams methods,
 * which are for nonstiff problems, have one only on request: fixed-point iteration takes 0.9 times
 * as many evaluations of f as Newton's iteration (pendulum), and no partial derivatives. */
static int install(CPMech mech, CPStepper s) {
  const int scaled      = mech->options.tau != 0.0 || mech->options.group_norms;
  const CPSystem system = {.data        = mech,
                           .scale       = scaled ? scaleWeights : NULL,
                           .linsys      = cpMechLinearSystem,
                           .on_manifold = cpMechOnManifold,
                           .expect      = mech->model.inverse ? cpMechExpect : NULL,
                           .sine        = cpMechStageSine,
                           .limit       = cpMechLimit,
                           .cause       = cause,
                           .print       = cpMechPrintStats,
                           .detach      = cpMechDetach,
                           .sens        = &cpMechSensModel};
  int flag              = CP_SUCCESS;
  mech->stage.narrows   = 0;
  if (s->ops->multistep) {
    const CPodeMem mem    = (CPodeMem)s;
    const int fixed_point = mem->lmm == CV_ADAMS && mech->options.newton_type == CP_NEWTON_AUTO;
    const int users_own   = mem->nls.inner && !mem->nls.inner_owned;
    flag                  = cpSetSystem(mem, &system);
    if (!flag && mech->options.maxord > 0)
      flag = CVodeSetMaxOrd(mem->cvode_mem, mech->options.maxord);
    if (!flag && fixed_point && !users_own) {
      mech->attached.fixed_point = SUNNonlinSol_FixedPoint(mech->y_tmpl, 0, mech->ctx);
      flag = mech->attached.fixed_point ? CPodeSetNonlinearSolver(mem, mech->attached.fixed_point)
                                        : CP_MEM_FAIL;
    }
    if (!flag && !fixed_point && mech->options.newton_type != CP_NEWTON_NONE)
      flag = cpMechNewtonAttach(mech, mem);
    if (!flag && mech->newton) flag = cpMechNearCreate(mech);
  } else {
    s->system          = system;
    mech->stats.newton = CP_NEWTON_NONE;
    if (((CPOneStepMem)s)->method->implicit) flag = cpMechImplicitAttach(mech, &s->system.implicit);
  }
  return flag ? flag : s->ops->set_projector(s, mech->P);
}

static int attach(CPMech mech, CPStepper s, sunrealtype t0, N_Vector y0, const char *function) {
  int flag = cpMechCheckState(mech, y0, function);
  if (flag) return flag;
  if (!s) return cpRefuse(&mech->log, function, "mem must not be NULL");
  const CPodeMem cpode       = s->ops->multistep ? (CPodeMem)s : NULL;
  const CPOneStepMem onestep = cpode ? NULL : (CPOneStepMem)s;
  const int initialised      = cpode ? cpode->cvode_inited : s->f != NULL;
  if (cpode && cpode->attached)
    return cpReport(&mech->log, CP_NOT_SUPPORTED, function,
                    "mem has memory of CVODES' that is not its own (CPodeAttach): use CPodeCreate");
  memset(mech->room.reach, 0, (size_t)mech->nu * sizeof *mech->room.reach); /* runs are alike */
  if (mech->host && mech->host != s)
    return cpRefuse(&mech->log, function,
                    "the system is attached to another integrator: free that first");
  if (!mech->host && initialised)
    return cpRefuse(&mech->log, function,
                    "mem has a right-hand side already: use a new one of %sCreate's", s->ops->name);
  if (mech->host && !mech->attached.installed)
    return cpRefuse(&mech->log, function,
                    "mem is what an earlier %s left when it failed: free it and create another one",
                    function);
  s->log.text[0]       = '\0';
  mech->text[0]        = '\0';
  mech->attached.cause = 0;
  if (cpode) flag = initialised ? CPodeReInit(cpode, t0, y0) : CPodeInit(cpode, CPMechRhs, t0, y0);
  else
    flag =
        initialised ? CPOneStepReInit(onestep, t0, y0) : CPOneStepInit(onestep, CPMechRhs, t0, y0);
  if (!flag && !mech->host) {
    mech->host               = s;
    flag                     = install(mech, s);
    mech->attached.installed = !flag;
  }
  if (!flag) return CP_SUCCESS;
  if (flag == CP_MEM_FAIL) return cpReport(&mech->log, flag, function, "no memory");
  return cpReport(&mech->log, flag, function, "the integrator refused it: %s",
                  s->log.text[0] ? s->log.text : mech->text);
}

/* Both objects keep the message, because the user may query either of them. */
static int report(CPMech mech, CPStepper s, int flag) {
  if (flag && s) cpWrite(s->log.text, "%s", mech ? mech->log.text : "mech must not be NULL");
  return flag;
}

int CPMechAttach(CPMech mech, CPodeMem mem, sunrealtype t0, N_Vector y0) {
  const CPStepper s = (CPStepper)mem;
  return report(mech, s, attach(mech, s, t0, y0, __func__));
}

int CPMechAttachOneStep(CPMech mech, CPOneStepMem mem, sunrealtype t0, N_Vector y0) {
  const CPStepper s = (CPStepper)mem;
  return report(mech, s, attach(mech, s, t0, y0, __func__));
}

int CPMechIsAttached(CPMech mech) { return mech && mech->host; }
