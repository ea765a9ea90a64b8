/* A mechanical system in CPode. */
#include "attach.h"
#include "cpodes/stepping/multistep/multistep_impl.h"

#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

static int check(CPMech mech, void *address, const char *function) {
  const CPodeMem mem = address;
  if (!mem->attached) return CP_SUCCESS;
  return cpReport(&mech->log, CP_NOT_SUPPORTED, function,
                  "mem has memory of CVODES' that is not its own (CPodeAttach): use CPodeCreate");
}

static int isInitialised(void *mem) { return ((CPodeMem)mem)->cvode_inited; }

static int start(void *mem, sunrealtype t0, N_Vector y0) {
  return isInitialised(mem) ? CPodeReInit(mem, t0, y0) : CPodeInit(mem, cpMechRhs, t0, y0);
}

static CPLog *logOf(void *mem) { return &((CPStepper)mem)->log; }

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
  return cpMechNewtonAttach(mech);
}

static int install(CPMech mech, void *address) {
  CPodeMem mem          = address;
  const CPSystem system = cpMechSystem(mech);
  int flag              = cpSetSystem(mem, &system);
  if (!flag && mech->maxord > 0) flag = CVodeSetMaxOrd(mem->cvode_mem, mech->maxord);
  if (!flag) flag = installSolver(mech, mem);
  return flag ? flag : CPodeSetProjector(mem, mech->P);
}

static const CPAttachment multistep = {.check         = check,
                                       .isInitialised = isInitialised,
                                       .start         = start,
                                       .install       = install,
                                       .log           = logOf,
                                       .create        = "CPodeCreate"};

int CPMechAttach(CPMech mech, CPodeMem mem, sunrealtype t0, N_Vector y0) {
  return cpMechAttach(mech, &multistep, mem, t0, y0, __func__);
}
