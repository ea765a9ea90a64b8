/* A mechanical system in CPOneStep. */
#include "attach.h"
#include "cpodes/stepping/onestep/onestep_impl.h"

static int check(CPMech mech, void *mem, const char *function) {
  (void)mech, (void)mem, (void)function;
  return CP_SUCCESS;
}

static int isInitialised(void *mem) { return ((CPStepper)mem)->f != NULL; }

static int start(void *mem, sunrealtype t0, N_Vector y0) {
  return isInitialised(mem) ? CPOneStepReInit(mem, t0, y0) : CPOneStepInit(mem, cpMechRhs, t0, y0);
}

static CPLog *logOf(void *mem) { return &((CPStepper)mem)->log; }

/* Explicit methods have no iteration matrix. */
static int installSolver(CPMech mech, CPOneStepMem mem) {
  mech->stats.newton = CP_NEWTON_NONE;
  if (!mem->method->implicit || mech->newton_type == CP_NEWTON_NONE) return CP_SUCCESS;
  return cpMechNewtonAttach(mech);
}

static int install(CPMech mech, void *address) {
  CPOneStepMem mem      = address;
  const CPSystem system = cpMechSystem(mech);
  mem->base.system      = system;
  const int flag        = installSolver(mech, mem);
  return flag ? flag : CPOneStepSetProjector(mem, mech->P);
}

static const CPAttachment onestep = {.check         = check,
                                     .isInitialised = isInitialised,
                                     .start         = start,
                                     .install       = install,
                                     .log           = logOf,
                                     .create        = "CPOneStepCreate"};

int CPMechAttachOneStep(CPMech mech, CPOneStepMem mem, sunrealtype t0, N_Vector y0) {
  return cpMechAttach(mech, &onestep, mem, t0, y0, __func__);
}
