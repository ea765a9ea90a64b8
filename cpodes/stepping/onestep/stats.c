/* Counters of CPOneStep. */
#include "onestep_impl.h"

int CPOneStepGetStats(CPOneStepMem mem, CPOneStepStats *stats) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!stats) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "stats must not be NULL");
  *stats       = mem->stats;
  stats->hlast = mem->hlast;
  stats->hnext = mem->hfixed > 0.0 ? mem->dir * mem->hfixed : mem->h;
  stats->t     = mem->t;
  if (mem->ops->stats) mem->ops->stats(mem, stats);
  if (!mem->step) return CP_SUCCESS;
  const CPProjectorStats *s = cpWorkStats(mem->step), *base = &mem->base;
  stats->nce     = s->nce - base->nce;
  stats->nje     = s->nje - base->nje;
  stats->nsetups = s->nsetups - base->nsetups;
  stats->niters  = s->niters - base->niters;
  return CP_SUCCESS;
}

static int printSteps(CPOneStepMem mem, FILE *out, SUNOutputFormat fmt, const CPOneStepStats *s) {
  const CPCounter counters[] = {{"Steps", s->nst},
                                {"Step attempts", s->nattempts},
                                {"Error test fails", s->netf},
                                {"RHS fn fails", s->nrhsfails},
                                {"Nonlinear solver fails", s->nsolvefails},
                                {"RHS fn evals", s->nfe},
                                {"RHS fn evals for output", s->nfe_output},
                                {"Jacobian evals", s->njev},
                                {"Linear solver setups", s->nlinsetups},
                                {"Nonlinear solver iterations", s->nni},
                                {"Root fn evals", s->nge}};
  const size_t count         = sizeof counters / sizeof counters[0];
  if (fmt != SUN_OUTPUTFORMAT_TABLE) return cpPrintCounters(out, fmt, counters, count);
  int bad = fprintf(out, "%-28s = %s\n", "Method", mem->name) < 0;
  bad |= cpPrintNumber(out, "Current time", s->t);
  bad |= cpPrintNumber(out, "Initial step size", s->hfirst);
  bad |= cpPrintNumber(out, "Last step size", s->hlast);
  bad |= cpPrintNumber(out, "Next step size", s->hnext);
  return bad | cpPrintCounters(out, fmt, counters, count);
}

static int printProjection(CPOneStepMem mem, FILE *out, SUNOutputFormat fmt,
                           const CPOneStepStats *s) {
  enum { OWN = 5, ALL = OWN + CP_WORK_COUNTERS };
  CPCounter counters[ALL] = {{"States projected", s->nproj},
                             {"Error estimates projected", s->nerrproj},
                             {"Projection failures", s->nprojfails},
                             {"Corrections too large", s->nlargecorr},
                             {"Outputs projected", s->noutputs}};
  cpWorkCounters(mem->step, &mem->base, counters + OWN);
  const int bad = cpPrintCounters(out, fmt, counters, ALL);
  if (fmt != SUN_OUTPUTFORMAT_TABLE) return bad;
  return bad | cpPrintProjection(mem->P, s->violation, s->maxcorrection, out);
}

int CPOneStepPrintAllStats(CPOneStepMem mem, FILE *out, SUNOutputFormat fmt) {
  CPOneStepStats s;
  int flag = cpOneStepCheck(mem, __func__);
  if (!flag) flag = cpCheckFormat(out, fmt, &mem->log, __func__);
  if (!flag) flag = CPOneStepGetStats(mem, &s);
  if (flag) return flag;
  int bad = printSteps(mem, out, fmt, &s);
  if (mem->P) bad |= printProjection(mem, out, fmt, &s);
  if (!bad && mem->model.print) bad = mem->model.print(out, fmt, mem->model.data);
  return bad ? cpReport(&mem->log, CP_ILL_INPUT, __func__, "writing to out failed") : CP_SUCCESS;
}
