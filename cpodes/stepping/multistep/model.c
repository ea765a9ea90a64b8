/* A model in CVODES: its weights, its iteration matrix, and what it asks of the integrator. */
#include "integrator_impl.h"

#include <cvodes/cvodes_ls.h>
#include <string.h>

/* CVODES' user_data is the model's data, which start with their integrator. */
static CPodeMem integrator(void *data) { return ((const CPHost *)data)->mem; }

int cpScaledWeights(N_Vector y, N_Vector ewt, void *data) {
  return cpErrWeightsInto(integrator(data), y, ewt);
}

int cpSetModel(CPodeMem mem, const CPModel *model) {
  const int flag = CVodeSetUserData(mem->cvode_mem, model->data);
  mem->model     = *model;
  return flag || !model->scale ? flag : cpApplyTolerances(mem);
}

/* ---- what the model asks ---- */

static sunrealtype step(void *mem) {
  sunrealtype h = 0.0;
  CVodeGetCurrentStep(((CPodeMem)mem)->cvode_mem, &h);
  return h;
}

static int weights(void *mem, N_Vector ewt) {
  return CVodeGetErrWeights(((CPodeMem)mem)->cvode_mem, ewt);
}

static N_Vector newest(void *mem, sunrealtype *t) {
  *t = ((CPodeMem)mem)->tgood;
  return ((CPodeMem)mem)->ygood;
}

static int linearSystem(sunrealtype t, N_Vector y, N_Vector fy, SUNMatrix S, sunbooleantype jok,
                        sunbooleantype *jcur, sunrealtype gamma, void *data, N_Vector tmp1,
                        N_Vector tmp2, N_Vector tmp3) {
  (void)fy, (void)S, (void)tmp1, (void)tmp2, (void)tmp3;
  return integrator(data)->model.linsys(t, y, jok, jcur, gamma, data);
}

static int setLinearSolver(void *mem, SUNLinearSolver LS, SUNMatrix S) {
  void *cvode_mem = ((CPodeMem)mem)->cvode_mem;
  const int flag  = CVodeSetLinearSolver(cvode_mem, LS, S);
  return flag ? flag : CVodeSetLinSysFn(cvode_mem, linearSystem);
}

static void lose(void *address) {
  CPodeMem mem = address;
  CPodeSetProjector(mem, NULL);
  memset(&mem->model, 0, sizeof mem->model);
  mem->model_gone = 1;
}

const CPHostOps cpCPodeOps = {.step            = step,
                              .weights         = weights,
                              .newest          = newest,
                              .setLinearSolver = setLinearSolver,
                              .lose            = lose};
