/* Counters. */
#include "actions.h"

int CPMechGetStats(CPMech mech, CPMechStats *stats) {
  if (!mech) return cpReport(NULL, CP_MEM_NULL, __func__, "mech must not be NULL");
  if (!stats) return cpReport(&mech->log, CP_ILL_INPUT, __func__, "stats must not be NULL");
  *stats = mech->stats;
  return CP_SUCCESS;
}

static const char *solverName(const CPMech mech) {
  if (mech->operators) return "operators";
  return mech->kkt ? cpSaddleName(mech->kkt) : "none yet";
}

static const char *newtonName(CPMechNewton type) {
  switch (type) {
  case CP_NEWTON_KKT: return "KKT";
  case CP_NEWTON_HALF: return "half size";
  default: return "none";
  }
}

typedef struct {
  const char *name;
  enum { COUNT, VALUE, TEXT } kind;
  long int count;
  double value;
  const char *text;
} Line;

static int printLine(FILE *out, SUNOutputFormat fmt, const Line *line, int first) {
  const int table = fmt == SUN_OUTPUTFORMAT_TABLE;
  int bad         = table ? fprintf(out, "%-28s = ", line->name) < 0
                          : fprintf(out, "%s%s,", first ? "" : ",", line->name) < 0;
  switch (line->kind) {
  case COUNT: bad |= fprintf(out, "%ld", line->count) < 0; break;
  case VALUE: bad |= fprintf(out, "%.6e", line->value) < 0; break;
  case TEXT: bad |= fprintf(out, "%s", line->text) < 0; break;
  }
  return bad || (table && fputc('\n', out) == EOF);
}

/* At the newest state of the integrator, if accelerations exist there. */
static void evaluateNewest(CPMech mech) {
  CPMechOutput out = {0};
  sunrealtype t    = 0.0;
  N_Vector y       = mech->host.mem ? mech->host.ops->newest(mech->host.mem, &t) : NULL;
  if (y) cpMechEvaluateAt(mech, t, y, &out);
}

int cpMechPrintStats(CPMech mech, FILE *out, SUNOutputFormat fmt) {
  const CPMechStats before = mech->stats, *s = &before;
  evaluateNewest(mech); /* not to be counted as work of the integrator */
  const CPMechOutput newest = mech->stats.last, *last = &newest;
  mech->stats        = before;
  mech->stats.last   = newest;
  const Line lines[] = {
      {"Mass matrix evals", COUNT, .count = s->nM},
      {"Constraint matrix evals", COUNT, .count = s->nA},
      {"Force evals", COUNT, .count = s->nf},
      {"Acceleration constr evals", COUNT, .count = s->nb},
      {"Velocity constr evals", COUNT, .count = s->nv},
      {"Position constr evals", COUNT, .count = s->np},
      {"Accelerations", COUNT, .count = s->nudot},
      {"KKT factorizations", COUNT, .count = s->nkkt},
      {"Multiplier iterations", COUNT, .count = s->nlambda},
      {"Partial derivative evals", COUNT, .count = s->npartials},
      {"Difference evals", COUNT, .count = s->nDQ},
      {"Newton factorizations", COUNT, .count = s->nnewton},
      {"Projection factorizations", COUNT, .count = s->nprojfact},
      {"KKT solver", TEXT, .text = solverName(mech)},
      {"Newton matrix", TEXT, .text = newtonName(s->newton)},
      {"Rank of A", COUNT, .count = (long)last->rank},
      {"Multipliers unique", TEXT, .text = last->unique ? "yes" : "no"},
      {"Kinetic energy", VALUE, .value = last->kinetic},
      {"Power of constraints", VALUE, .value = last->power},
      {"Position residual", VALUE, .value = last->position},
      {"Velocity residual", VALUE, .value = last->velocity},
      {"Acceleration residual", VALUE, .value = last->acceleration},
      {"Quaternion norm error", VALUE, .value = last->norms},
  };
  int bad = 0;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    bad |= printLine(out, fmt, &lines[i], i == 0);
  if (fmt != SUN_OUTPUTFORMAT_TABLE) bad |= fputc('\n', out) == EOF;
  return bad;
}
