/* Printed statistics. */
#include "integration.h"

int cpCheckFormat(FILE *out, SUNOutputFormat fmt, CPLog *log, const char *function) {
  if (!out) return cpReport(log, CP_ILL_INPUT, function, "out must not be NULL");
  if (fmt == SUN_OUTPUTFORMAT_TABLE || fmt == SUN_OUTPUTFORMAT_CSV) return CP_SUCCESS;
  return cpReport(log, CP_ILL_INPUT, function, "fmt must be SUN_OUTPUTFORMAT_TABLE or _CSV, is %d",
                  (int)fmt);
}

int cpPrintSolver(CPProjector P, FILE *out) {
  const char *label = "Projector linear solver";
  if (P->user_kind) return fprintf(out, "%-28s = %s\n", label, "the user's") < 0;
  if (P->owner) return fprintf(out, "%-28s = %s\n", label, cpSolverName(P->stats.linsol)) < 0;
  return fprintf(out, "%-28s = %s (%s)\n", label, cpSolverName(P->stats.linsol),
                 P->stats.linsol ? P->reason : "no projection yet") < 0;
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
