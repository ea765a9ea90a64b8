/* Counters, and names of return values. */
#include "integrator_impl.h"

#include <stdlib.h>
#include <string.h>

int CPodeGetProjStats(CPodeMem mem, CPodeProjStats *stats) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!stats) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "stats must not be NULL");
  *stats = mem->stats;
  if (!mem->step) return CP_SUCCESS;
  const CPProjectorStats *s = cpWorkStats(mem->step), *base = &mem->base;
  stats->nce     = s->nce - base->nce;
  stats->nje     = s->nje - base->nje;
  stats->nsetups = s->nsetups - base->nsetups;
  stats->niters  = s->niters - base->niters;
  return CP_SUCCESS;
}

int CPodePrintAllStats(CPodeMem mem, FILE *out, SUNOutputFormat fmt) {
  CPodeProjStats s;
  int flag = CPodeGetProjStats(mem, &s);
  if (flag) return flag;
  if (!mem->nls.wrapper) return cpReport(&mem->log, CP_NO_INIT, __func__, "call CPodeInit first");
  flag = cpCheckFormat(out, fmt, &mem->log, __func__);
  if (flag) return flag;
  flag = cpOfCVODES(mem, CVodePrintAllStats(mem->cvode_mem, out, fmt), __func__);
  if (flag || !mem->P) return flag;
  enum { OWN = 7, ALL = OWN + CP_WORK_COUNTERS };
  CPCounter counters[ALL] = {{"States projected", s.nproj},
                             {"Steps not projected", s.nskipped},
                             {"Error estimates projected", s.nerrproj},
                             {"Projection failures", s.nprojfails},
                             {"Corrections too large", s.nlargecorr},
                             {"Corrections taken back", s.ntakenback},
                             {"Outputs projected", s.noutputs}};
  cpWorkCounters(mem->step, &mem->base, counters + OWN);
  int bad = cpPrintCounters(out, fmt, counters, ALL);
  if (fmt == SUN_OUTPUTFORMAT_TABLE)
    bad |= cpPrintProjection(mem->P, s.violation, s.maxcorrection, out);
  if (!bad && mem->model.print) bad = mem->model.print(out, fmt, mem->model.data);
  return bad ? cpReport(&mem->log, CP_ILL_INPUT, __func__, "writing to out failed") : CP_SUCCESS;
}

char *CPodeGetReturnFlagName(long int flag) {
  const char *name = flag ? cpCodeName(flag) : "CP_SUCCESS";
  if (!name) return CVodeGetReturnFlagName(flag);
  char *copy = malloc(strlen(name) + 1);
  return copy ? strcpy(copy, name) : NULL;
}
