#include "judge.h"
#include "report.h"

enum { NAME = 100, MOST_COMPONENTS = 24, DIGITS = 10 };

/* A run may fail before its first */
static bool has_samples(const Report *r) { return r->history->curves.rows > 0; }

/* ------------------------------------------------------------- what is kept, and what is left -- */

static void invariant(const Report *r, FILE *out, int i) {
  const CPModelQuantity *q = &r->type->quantities[i];
  const History *h         = r->history;
  table_row(out, q->name);
  table_unit(out, q->unit);
  table_number(out, h->first_quantity[i], 8);
  table_number(out, h->last_quantity[i], 8);
  table_text(out, q->conserved ? "conserved" : "may only fall");
  table_number(out, judge_drift(h, i), 3);
  table_row_end(out);
}

void report_invariants(const Report *r, FILE *out) {
  static const Column columns[] = {{"Quantity", false},    {"Unit", false},
                                   {"At the start", true}, {"At the end", true},
                                   {"Kind", false},        {"Off by, of its scale", true}};
  if (r->info->nquantities == 0 || !has_samples(r)) return;
  table_begin(out, "invariants", true, "What the motion keeps", columns,
              sizeof columns / sizeof columns[0]);
  for (int i = 0; i < r->info->nquantities; i++) invariant(r, out, i);
  table_end(out, "Off by: the largest change from the start of a conserved quantity, the largest "
                 "rise of one that may only fall; in units of a size by which to judge it.");
}

static bool has_levels(const Report *r) {
  for (int l = 0; l < NUM_LEVELS; l++)
    if (level_exists(r->info, (RunLevel)l)) return true;
  return false;
}

void report_violations(const Report *r, FILE *out) {
  static const Column columns[] = {
      {"Constraints", false}, {"Largest violation", true}, {"At t [s]", true}};
  if (!has_levels(r) || !has_samples(r)) return;
  table_begin(out, "violations", false, "What is left of the constraints", columns,
              sizeof columns / sizeof columns[0]);
  for (int l = 0; l < NUM_LEVELS; l++) {
    if (!level_exists(r->info, (RunLevel)l)) continue;
    table_row(out, level_name((RunLevel)l));
    table_number(out, r->history->most_violation[l], 3);
    table_number(out, r->history->when[l], 5);
    table_row_end(out);
  }
  table_end(out, "In the constraints' own units.");
}

/* ----------------------------------------------------------------------------------- the work -- */

static void rank(const RunResult *result, FILE *out) {
  if (result->rank < 0) return;
  pair(out, "Rank of the constraints", "%ld of %ld%s%s", result->rank, result->constraints,
       result->rank < result->constraints ? ", redundant" : "",
       result->unique ? "" : "; the multipliers are not unique");
}

static void error(const Report *r, FILE *out) {
  char text[NUMBER_TEXT], known[NUMBER_TEXT];
  const RunResult *result = &r->history->result;
  if (!r->info->known) {
    pair(out, "Error at the end", "not known: there is no reference");
    return;
  }
  if (result->late > 0)
    pair(out, "Error at the end", "not known: the reference takes longer than %g s", result->late);
  else pair(out, "Error at the end", "%s", number_text(text, result->error, 3));
  pair(out, "The reference's own", "%s", number_text(known, r->info->reference_error, 2));
}

static void counts(const RunResult *result, FILE *out) {
  char rejected[RUN_TEXT], seconds[NUMBER_TEXT];
  describe_rejections(result, rejected, sizeof rejected);
  pair(out, "Steps", "%ld", result->steps);
  pair(out, "Rejected attempts", "%s", rejected);
  pair(out, "Evaluations of f", "%ld", result->rhs);
  pair(out, "Evaluations of Jacobians", "%ld", result->jacobians);
  pair(out, "Factorisations", "%ld", result->factorisations);
  pair(out, "Projections", "%ld", result->projections);
  pair(out, "Events", "%ld", result->events);
  pair(out, "CPU time", "%s s", number_text(seconds, result->seconds, 3));
}

/* A model that crashed took the counts along */
void report_work(const Report *r, FILE *out) {
  const RunResult *result = &r->history->result;
  pairs_begin(out, "work", "The run");
  error(r, out);
  rank(result, out);
  if (result->steps > 0) counts(result, out);
  else pair(out, "Outputs", "%ld", result->samples);
  table_end(out, NULL);
}

/* ---------------------------------------------------------------------------------- the state -- */

static const char *meaning(const Report *r, long i) {
  const bool named = i < r->type->ncoordinates && i < r->info->nq;
  const char *text = named ? r->type->coordinates[i].meaning : NULL;
  return text ? text : "";
}

static void component(const Report *r, FILE *out, long i) {
  char name[NAME], unit[NAME];
  component_name(r->info, i, name, sizeof name);
  table_row(out, name);
  table_number(out, r->history->last[i], DIGITS);
  if (r->type->coordinates) {
    table_unit(out, component_unit(r->info, i, unit, sizeof unit));
    table_text(out, meaning(r, i));
  }
  table_row_end(out);
}

static void some_components(const Report *r, FILE *out) {
  for (int i = 0; i < r->history->nq; i++) component(r, out, r->history->q[i]);
  for (int i = 0; i < r->history->nu; i++) component(r, out, r->info->nq + r->history->u[i]);
}

void report_state(const Report *r, FILE *out) {
  static const Column columns[] = {
      {"Name", false}, {"Value", true}, {"Unit", false}, {"Meaning", false}};
  const bool all = r->info->n <= MOST_COMPONENTS;
  char caption[NAME], t[NUMBER_TEXT], note[NAME];
  if (!has_samples(r)) return;
  snprintf(caption, sizeof caption, "State at t = %s s", number_text(t, r->history->last_t, 6));
  snprintf(note, sizeof note, "Some of %ld components; --json writes all of them.", r->info->n);
  table_begin(out, "state", false, caption, columns, r->type->coordinates ? 4 : 2);
  for (long i = 0; all && i < r->info->n; i++) component(r, out, i);
  if (!all) some_components(r, out);
  table_end(out, all ? NULL : note);
}
