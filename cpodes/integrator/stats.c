/* Counters, and names of return values. */
#include "integrator_impl.h"

#include <stdlib.h>
#include <string.h>

int CPodeGetProjStats(CPodeMem mem, CPodeProjStats *stats) {
  if (!mem) return cpReport(NULL, CP_MEM_NULL, __func__, "mem must not be NULL");
  if (!stats) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "stats must not be NULL");
  *stats = mem->stats;
  if (!mem->step) return CP_SUCCESS;
  const CPProjectorStats *s = &mem->step->stats, *base = &mem->base;
  stats->nce     = s->nce - base->nce;
  stats->nje     = s->nje - base->nje;
  stats->nsetups = s->nsetups - base->nsetups;
  stats->niters  = s->niters - base->niters;
  return CP_SUCCESS;
}

/* The solver, and why it was chosen. */
static int printSolver(CPProjector P, FILE *out) {
  const char *label = "Projector linear solver";
  if (P->user_kind) return fprintf(out, "%-28s = %s\n", label, "the user's") < 0;
  if (P->owner) return fprintf(out, "%-28s = %s\n", label, cpSolverName(P->stats.linsol)) < 0;
  return fprintf(out, "%-28s = %s (%s)\n", label, cpSolverName(P->stats.linsol),
                 P->stats.linsol ? P->reason : "no projection yet") < 0;
}

typedef struct {
  const char *name;
  long int value;
} Counter;

static int printCounters(FILE *out, SUNOutputFormat fmt, const Counter *counters, size_t count) {
  int bad = 0;
  for (size_t i = 0; i < count; i++)
    if (fmt == SUN_OUTPUTFORMAT_TABLE)
      bad |= fprintf(out, "%-28s = %ld\n", counters[i].name, counters[i].value) < 0;
    else bad |= fprintf(out, "%s%s,%ld", i ? "," : "", counters[i].name, counters[i].value) < 0;
  if (fmt != SUN_OUTPUTFORMAT_TABLE) bad |= fputc('\n', out) == EOF;
  return bad;
}

int CPodePrintAllStats(CPodeMem mem, FILE *out, SUNOutputFormat fmt) {
  CPodeProjStats s;
  int flag = CPodeGetProjStats(mem, &s);
  if (flag) return flag;
  if (!out) return cpReport(&mem->log, CP_ILL_INPUT, __func__, "out must not be NULL");
  if (!mem->nls.wrapper) return cpReport(&mem->log, CP_NO_INIT, __func__, "call CPodeInit first");
  if (fmt != SUN_OUTPUTFORMAT_TABLE && fmt != SUN_OUTPUTFORMAT_CSV)
    return cpReport(&mem->log, CP_ILL_INPUT, __func__,
                    "fmt must be SUN_OUTPUTFORMAT_TABLE or _CSV, is %d", (int)fmt);
  flag = CVodePrintAllStats(mem->cvode_mem, out, fmt);
  if (flag || !mem->P) return flag;
  const Counter counters[] = {
      {"States projected", s.nproj},
      {"Steps not projected", s.nskipped},
      {"Error estimates projected", s.nerrproj},
      {"Projection failures", s.nprojfails},
      {"Corrections too large", s.nlargecorr},
      {"Corrections taken back", s.ntakenback},
      {"Outputs projected", s.noutputs},
      {"Constraint evals", s.nce},
      {"Constraint Jac evals", s.nje},
      {"Projector factorizations", s.nsetups},
      {"Projection iterations", s.niters},
      {"Krylov iterations", mem->step->stats.nli - mem->base.nli},
      {"Rank", (long)mem->P->stats.rank},
      {"Levels", (long)mem->P->stats.nlevels},
  };
  int bad = printCounters(out, fmt, counters, sizeof counters / sizeof counters[0]);
  if (fmt == SUN_OUTPUTFORMAT_TABLE) {
    bad |= printSolver(mem->P, out);
    bad |= fprintf(out, "%-28s = %.3e\n", "Last violation", s.violation) < 0;
    bad |= fprintf(out, "%-28s = %.3e\n", "Largest correction (WRMS)", s.maxcorrection) < 0;
  }
  if (!bad && mem->model.print) bad = mem->model.print(mem, out, fmt, mem->model.data);
  return bad ? cpReport(&mem->log, CP_ILL_INPUT, __func__, "writing to out failed") : CP_SUCCESS;
}

char *CPodeGetReturnFlagName(long int flag) {
  const char *name = flag ? cpCodeName(flag) : "CP_SUCCESS";
  if (!name) return CVodeGetReturnFlagName(flag);
  char *copy = malloc(strlen(name) + 1);
  return copy ? strcpy(copy, name) : NULL;
}
