/* Printed statistics. */
#include "integration.h"

int cpCheckFormat(FILE *out, SUNOutputFormat fmt, CPLog *log, const char *function) {
  if (!out) return cpReport(log, CP_ILL_INPUT, function, "out must not be NULL");
  if (fmt == SUN_OUTPUTFORMAT_TABLE || fmt == SUN_OUTPUTFORMAT_CSV) return CP_SUCCESS;
  return cpReport(log, CP_ILL_INPUT, function, "fmt must be SUN_OUTPUTFORMAT_TABLE or _CSV, is %d",
                  (int)fmt);
}

/* The solver, and why it was chosen. */
static int printSolver(CPProjector P, FILE *out) {
  char text[CP_TEXT_LENGTH];
  cpProjectorSolverText(P, text);
  return fprintf(out, "%-28s = %s\n", "Projector linear solver", text) < 0;
}

int cpPrintNumber(FILE *out, const char *name, sunrealtype value) {
  return fprintf(out, "%-28s = %.3e\n", name, value) < 0;
}

int cpPrintCounters(FILE *out, SUNOutputFormat fmt, const CPCounter *counters, size_t count) {
  int bad = 0;
  for (size_t i = 0; i < count; i++)
    if (fmt == SUN_OUTPUTFORMAT_TABLE)
      bad |= fprintf(out, "%-28s = %ld\n", counters[i].name, counters[i].value) < 0;
    else bad |= fprintf(out, "%s%s,%ld", i ? "," : "", counters[i].name, counters[i].value) < 0;
  if (fmt != SUN_OUTPUTFORMAT_TABLE) bad |= fputc('\n', out) == EOF;
  return bad;
}

void cpWorkCounters(CPWork work, const CPProjectorStats *base, CPCounter counters[CP_WORK_COUNTERS]) {
  const CPProjectorStats *s = cpWorkStats(work);
  CPProjectorStats now;
  CPProjectorGetStats(cpWorkProjector(work), &now);
  const CPCounter all[] = {{"Constraint evals", s->nce - base->nce},
                           {"Constraint Jac evals", s->nje - base->nje},
                           {"Projector factorizations", s->nsetups - base->nsetups},
                           {"Projection iterations", s->niters - base->niters},
                           {"Krylov iterations", s->nli - base->nli},
                           {"Rank", (long)now.rank},
                           {"Levels", (long)now.nlevels}};
  for (int i = 0; i < CP_WORK_COUNTERS; i++) counters[i] = all[i];
}

int cpPrintProjection(CPProjector P, sunrealtype violation, sunrealtype correction, FILE *out) {
  int bad = printSolver(P, out);
  bad |= cpPrintNumber(out, "Last violation", violation);
  return bad | cpPrintNumber(out, "Largest correction (WRMS)", correction);
}
