/* What every integrator is given: right-hand side, projector, error weights, iteration matrix. */
#include "attach.h"

#include <math.h>
#include <string.h>

/* ---- error weights ---- */

/* Errors of velocities, and of z as often as z_order says, count in the unit of positions:
 * w_u <- tau w_u, tau a time, or the step size where that is below one (E. Hairer, G. Wanner,
 * Solving Ordinary Differential Equations II, section VII.7: RADAU5 multiplies them by h). */
static int scaleWeights(N_Vector ewt, void *data) {
  const CPMech mech = data;
  sunrealtype *w    = N_VGetArrayPointer(ewt);
  double tau        = mech->tau;
  if (tau == CP_TAU_STEP) {
    const double h = cpStepperSize(mech->host);
    tau            = h != 0.0 ? fmin(1.0, fabs(h)) : 1.0; /* before the first step there is none */
  }
  for (int j = 0; j < mech->nu; j++) w[mech->nq + j] *= tau;
  for (int k = 0; mech->z_order && k < mech->nz; k++)
    w[mech->nq + mech->nu + k] *= pow(tau, mech->z_order[k]);
  return CP_SUCCESS;
}

/* ---- the model ---- */

static int cause(const char **reason, void *data) {
  const CPMech mech = data;
  *reason           = mech->text;
  return mech->cause;
}

static int print(FILE *out, SUNOutputFormat fmt, void *data) {
  return cpMechPrintStats(data, out, fmt);
}

void cpMechDetach(void *data) {
  const CPMech mech = data;
  cpMechNewtonFree(&mech->newton);
  if (mech->fixed_point) SUNNonlinSolFree(mech->fixed_point);
  mech->fixed_point = NULL;
  mech->host        = NULL;
  mech->installed   = 0;
}

CPSystem cpMechSystem(CPMech mech) {
  return (CPSystem){.data        = mech,
                    .scale       = mech->tau != 0.0 ? scaleWeights : NULL,
                    .linsys      = cpMechLinearSystem,
                    .on_manifold = cpMechOnManifold,
                    .sine        = cpMechStageSine,
                    .cause       = cause,
                    .print       = print,
                    .detach      = cpMechDetach,
                    .sens        = &cpMechSensModel};
}

/* ---- attaching ---- */

static int check(CPMech mech, const CPAttachment *kind, void *mem, const char *function) {
  if (!mem) return cpReport(&mech->log, CP_ILL_INPUT, function, "mem must not be NULL");
  const int flag = kind->check(mech, mem, function);
  if (flag) return flag;
  if (mech->host && mech->host != mem)
    return cpReport(&mech->log, CP_ILL_INPUT, function,
                    "the system is attached to another integrator: free that first");
  if (!mech->host && kind->isInitialised(mem))
    return cpReport(&mech->log, CP_ILL_INPUT, function,
                    "mem has a right-hand side already: use a new one of %s's", kind->create);
  if (mech->host && !mech->installed)
    return cpReport(&mech->log, CP_ILL_INPUT, function,
                    "mem is what an earlier %s left when it failed: free it and create another one",
                    function);
  return CP_SUCCESS;
}

static int attach(CPMech mech, const CPAttachment *kind, void *mem, sunrealtype t0, N_Vector y0,
                  const char *function) {
  int flag = cpMechCheckState(mech, y0, function);
  if (!flag) flag = check(mech, kind, mem, function);
  if (flag) return flag;
  CPLog *log    = kind->log(mem);
  log->text[0]  = '\0';
  mech->text[0] = '\0';
  mech->cause   = 0;
  flag          = kind->start(mem, t0, y0);
  if (!flag && !mech->host) {
    mech->host      = mem;
    flag            = kind->install(mech, mem);
    mech->installed = !flag;
  }
  if (!flag) return CP_SUCCESS;
  if (flag == CP_MEM_FAIL) return cpReport(&mech->log, flag, function, "no memory");
  return cpReport(&mech->log, flag, function, "the integrator refused it: %s",
                  log->text[0] ? log->text : mech->text);
}

/* Both objects keep the message: either may be asked for it. */
int cpMechAttach(CPMech mech, const CPAttachment *kind, void *mem, sunrealtype t0, N_Vector y0,
                 const char *function) {
  const int flag = attach(mech, kind, mem, t0, y0, function);
  if (flag && mem)
    cpWrite(kind->log(mem)->text, "%s", mech ? mech->log.text : "mech must not be NULL");
  return flag;
}
