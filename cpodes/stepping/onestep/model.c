/* A model in CPOneStep, and what it asks of the integrator. */
#include "onestep_impl.h"

#include <string.h>

void cpOneStepSetModel(CPOneStepMem mem, const CPModel *model) { mem->model = *model; }

static sunrealtype step(void *mem) { return ((CPOneStepMem)mem)->h; }

static int weights(void *mem, N_Vector ewt) {
  N_VScale(1.0, ((CPOneStepMem)mem)->ewt, ewt);
  return CP_SUCCESS;
}

static N_Vector newest(void *mem, sunrealtype *t) {
  *t = ((CPOneStepMem)mem)->t;
  return ((CPOneStepMem)mem)->y;
}

static int setLinearSolver(void *address, SUNLinearSolver LS, SUNMatrix S) {
  const CPOneStepMem mem = address;
  return mem->ops->set_linear_solver(mem, LS, S);
}

static void lose(void *address) {
  const CPOneStepMem mem = address;
  CPOneStepSetProjector(mem, NULL);
  memset(&mem->model, 0, sizeof mem->model);
  mem->model_gone = 1;
}

const CPHostOps cpOneStepHostOps = {.step            = step,
                                    .weights         = weights,
                                    .newest          = newest,
                                    .setLinearSolver = setLinearSolver,
                                    .lose            = lose};
