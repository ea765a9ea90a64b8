/* Sensitivities beside the state (CPBeside): they take the steps of the state after it, by the same method. */
#include "onestep_impl.h"

#include <math.h>

static void release(CPOneStep mem) {
  cpArenaFree(&mem->beside.memory);
  mem->beside = (CPOneStepBeside){.started = 0};
}

int cpOneStepCarry(CPIntegrator s, const CPBeside *beside) {
  const CPOneStep mem = (CPOneStep)s;
  CPArena *memory     = &mem->beside.memory;
  release(mem);
  if (!beside) return CP_SUCCESS;
  CPOneStepBeside *b = &mem->beside;
  b->of              = *beside;
  CP_VECTORS(memory, s->y0, &b->y, &b->moved, &b->ewt, &b->err);
  CP_NEW(memory, b->s, beside->count);
  CP_NEW(memory, b->slast, beside->count);
  CP_NEW(memory, b->snew, beside->count);
  for (int p = 0; b->snew && p < beside->count; p++)
    CP_VECTORS(memory, s->y0, &b->s[p], &b->slast[p], &b->snew[p]);
  int flag = cpArenaStatus(memory);
  if (!flag) flag = mem->method->vary_init(mem);
  if (flag) release(mem);
  return flag;
}

int cpOneStepVaryStart(CPOneStep mem) {
  CPOneStepBeside *b = &mem->beside;
  if (!b->of.data || b->started) return CP_SUCCESS;
  int flag = b->of.start(b->of.data, b->s);
  if (!flag) flag = mem->method->vary_start(mem);
  b->started = !flag;
  return flag > 0 ? -flag : flag;
}

void cpOneStepVaryAccept(CPOneStep mem) {
  CPOneStepBeside *b = &mem->beside;
  N_Vector *spare    = b->slast;
  b->slast = b->s, b->s = b->snew;
  b->snew = spare;
}

void cpOneStepVaryTakeBack(CPOneStep mem) {
  CPOneStepBeside *b = &mem->beside;
  N_Vector *end      = b->s;
  b->s = b->slast, b->slast = end;
}

int cpOneStepCarried(CPIntegrator s, sunrealtype t, int k, N_Vector *dkyS, const char *function) {
  const CPOneStep mem      = (CPOneStep)s;
  const CPOneStepBeside *b = &mem->beside;
  if (k == 0 && b->started && fabs(t - s->t) <= cpOneStepTimeRoundoff(mem)) {
    for (int p = 0; p < b->of.count; p++) N_VScale(1.0, b->s[p], dkyS[p]);
    return CP_SUCCESS; /* also after a step that failed */
  }
  int flag = cpOneStepDky(s, t, 0, b->y, function); /* checks t */
  if (flag) return flag;
  if (k < 0 || k > mem->method->degree(mem))
    return cpReport(&s->log, CV_BAD_K, function, "k must be 0 ... %d: k = %d",
                    mem->method->degree(mem), k);
  cpStepperEnter(s);
  for (int p = 0; p < b->of.count && !flag; p++) {
    flag = mem->method->vary_interpolate(mem, p, t, k, dkyS[p]);
    if (flag || k > 0 || !s->P || !s->project_output) continue;
    /* b->y is the state: preparing the interpolation may have overwritten it. */
    if (p == 0) flag = cpOneStepSolution(mem, t, b->y, "");
    if (!flag) flag = b->of.project(t, b->y, p == 0, p, dkyS[p], b->of.data);
    if (flag) flag = CP_OUTPUT_PROJ_FAIL;
  }
  cpStepperLeave(s, flag);
  return flag ? cpReport(&s->log, flag, function, "%s", s->text) : CP_SUCCESS;
}
