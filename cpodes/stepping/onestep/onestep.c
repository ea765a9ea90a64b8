/* CPOneStepMem: life cycle. */
#include "onestep_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

/* Takes B over. B NULL: DOP853. */
static CPOneStepMem newIntegrator(const char *name, ARKodeButcherTable B, SUNContext ctx,
                                  const char *function) {
  CPOneStepMem mem = calloc(1, sizeof *mem);
  if (mem) {
    mem->ctx            = ctx;
    mem->table          = B;
    mem->ops            = !B || cpTableIsExplicit(B) ? &cpExplicitOps : &cpImplicitOps;
    mem->mxsteps        = CP_MXSTEPS_DEFAULT;
    mem->project_output = SUNTRUE;
    mem->max_correction = CP_MAX_CORRECTION_DEFAULT;
    snprintf(mem->name, sizeof mem->name, "%s", name);
    if (mem->ops->create(mem)) CPOneStepFree(&mem);
  } else ARKodeButcherTable_Free(B);
  if (!mem) cpReport(NULL, CP_MEM_FAIL, function, "no memory for an integrator");
  return mem;
}

CPOneStepMem CPOneStepCreate(const char *method, SUNContext ctx) {
  if (!ctx) return cpReport(NULL, CP_ILL_INPUT, __func__, "ctx must not be NULL"), NULL;
  if (!method || !strcmp(method, CP_DOP853)) return newIntegrator(CP_DOP853, NULL, ctx, __func__);
  ARKodeButcherTable B = cpOneStepTable(method);
  char text[CP_TEXT_LENGTH];
  const char *rule = NULL;
  if (!B) rule = "is none of DOP853 and the tables of this ARKODE's (ARKODE_...)";
  else if (!B->d) rule = "has no embedded method: CPOneStepCreateTable takes it, for fixed steps";
  else rule = cpTableRule(B, text);
  if (!rule) return newIntegrator(method, B, ctx, __func__);
  ARKodeButcherTable_Free(B);
  cpReport(NULL, CP_ILL_INPUT, __func__, "the method \"%s\" %s", method, rule);
  return NULL;
}

CPOneStepMem CPOneStepCreateTable(ARKodeButcherTable B, SUNContext ctx) {
  char text[CP_TEXT_LENGTH];
  const char *rule = ctx ? cpTableRule(B, text) : "ctx must not be NULL";
  if (rule) return cpReport(NULL, CP_ILL_INPUT, __func__, "%s", rule), NULL;
  ARKodeButcherTable copy = ARKodeButcherTable_Copy(B);
  if (!copy) return cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for an integrator"), NULL;
  return newIntegrator("a table of the user's", copy, ctx, __func__);
}

static int allocateVectors(CPOneStepMem mem, N_Vector y0) {
  N_Vector *all[] = {&mem->y0, &mem->y, &mem->ylast, &mem->ynew, &mem->ewt, &mem->err, &mem->ytmp};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (!*all[i] && !(*all[i] = N_VClone(y0))) return CP_MEM_FAIL;
  return CP_SUCCESS;
}

static void freeVectors(CPOneStepMem mem) {
  N_Vector all[] = {mem->y0, mem->y, mem->ylast, mem->ynew, mem->ewt, mem->err, mem->ytmp};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i]) N_VDestroy(all[i]);
}

void CPOneStepFree(CPOneStepMem *mem_address) {
  CPOneStepMem mem = mem_address ? *mem_address : NULL;
  if (!mem) return;
  mem->ops->free(mem);
  if (mem->model.detach) mem->model.detach(mem->model.data);
  ARKodeButcherTable_Free(mem->table);
  cpRootsFree(&mem->roots);
  cpTolerancesFree(&mem->tol);
  cpWorkFree(&mem->step);
  cpWorkFree(&mem->out);
  freeVectors(mem);
  free(mem);
  *mem_address = NULL;
}

/* ---- starts ---- */

/* The step size that a new start at t0 keeps; 0: none. After a root it is no longer than the motion that led
 * to the root: where an error is zero at any size (free fall) steps would grow from event to event. */
static sunrealtype keptSize(CPOneStepMem mem, sunrealtype t0) {
  sunrealtype size = fabs(mem->h);
  if (cpRootsAt(&mem->roots, t0) && t0 != mem->t0) size = fmin(size, fabs(t0 - mem->t0));
  return size > cpLeastStep(t0) ? copysign(size, mem->h) : 0.0;
}

/* A new start at t0 from y0, which is checked. */
static void restart(CPOneStepMem mem, sunrealtype t0, N_Vector y0) {
  mem->h = keptSize(mem, t0);
  N_VScale(1.0, y0, mem->y0);
  N_VScale(1.0, y0, mem->y);
  mem->t0 = mem->t = mem->tlast = mem->tret = t0;
  mem->dir                                  = 0.0;
  mem->have_step                            = 0;
  mem->started = mem->start_checked = 0;
  mem->nst_tol                      = 0;
  mem->have_err                     = 0;
  mem->floor_told                   = 0;
  mem->nst_out                      = -1;
  mem->creeping                     = (CPCreeping){.t = t0};
  mem->roots.have_lo                = 0;
  mem->roots.pending                = 0;
  memset(&mem->stats, 0, sizeof mem->stats);
  cpWorkRestart(mem->step, &mem->base);
}

static int checkStart(CPOneStepMem mem, sunrealtype t0, N_Vector y0, const char *function) {
  return cpCheckStartVector(t0, y0, mem->y0, mem->P, &mem->tol, &mem->log, function);
}

int CPOneStepInit(CPOneStepMem mem, CVRhsFn f, sunrealtype t0, N_Vector y0) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!f) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "f must not be NULL");
  if (mem->f)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__, "mem is initialised: use CPOneStepReInit");
  int flag = checkStart(mem, t0, y0, __func__);
  if (flag) return flag;
  flag = allocateVectors(mem, y0);
  if (!flag) flag = mem->ops->init(mem);
  if (flag) return cpReport(&mem->log, flag, __func__, "no memory for an integrator");
  mem->f = f;
  restart(mem, t0, y0);
  return CP_SUCCESS;
}

int CPOneStepReInit(CPOneStepMem mem, sunrealtype t0, N_Vector y0) {
  int flag = cpOneStepCheck(mem, __func__);
  if (!flag) flag = checkStart(mem, t0, y0, __func__);
  if (flag) return flag;
  restart(mem, t0, y0);
  return CP_SUCCESS;
}

int cpOneStepCheck(CPOneStepMem mem, const char *function) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, function, "mem must not be NULL");
  if (!mem->f) return cpReport(&mem->log, CP_NO_INIT, function, "call CPOneStepInit first");
  return CP_SUCCESS;
}

/* ---- consistent initial conditions ---- */

int CPOneStepCalcIC(CPOneStepMem mem) {
  int flag = cpOneStepCheck(mem, __func__);
  if (flag) return flag;
  if (!mem->P)
    return cpReport(&mem->log, CP_NO_PROJECTOR, __func__, "call CPOneStepSetProjector first");
  if (mem->stats.nst > 0)
    return cpReport(&mem->log, CP_TOO_LATE, __func__,
                    "%ld steps have been taken: call CPOneStepReInit first", mem->stats.nst);
  N_VScale(1.0, mem->y0, mem->ytmp);
  flag = cpMakeConsistent(mem->out, mem->t0, mem->ytmp, mem->ewt,
                          cpOneStepWeights(mem, mem->y0, mem->ewt));
  if (flag) return cpReport(&mem->log, flag, __func__, "%s", cpWorkText(mem->out));
  restart(mem, mem->t0, mem->ytmp);
  return CP_SUCCESS;
}

int CPOneStepGetConsistentIC(CPOneStepMem mem, N_Vector y0) {
  int flag = cpOneStepCheck(mem, __func__);
  if (!flag) flag = cpCheckLength(y0, "y0", mem->y0, &mem->log, __func__);
  if (!flag) N_VScale(1.0, mem->y0, y0);
  return flag;
}
