#include "../output/judge.h"
#include "report.h"

#include <sundials/sundials_version.h>
#include <sys/utsname.h>

enum { NAME = 100, MOST_COMPONENTS = 48, DIGITS = 10, MOST_ROWS = 200 };

/* A run may fail before its first sample. */
static bool has_samples(const Report *r) { return r->history->curves.rows > 0; }

/* ------------------------------------------------------------- what is kept, and what is left -- */

static void name_quantity(const Report *r, FILE *out, int i, const char *kind) {
  const CPPluginQuantity *q = &r->type->quantities[i];
  char name[2 * NAME];
  snprintf(name, sizeof name, *unit_text(q->unit) ? "%s [%s]%s" : "%s%s%s", q->name,
           unit_text(q->unit), kind);
  table_row(out, name);
}

static void invariant(const Report *r, FILE *out, int i) {
  const History *h = r->history;
  const int digits = digits_apart(h->first_quantity[i], h->last_quantity[i]);
  name_quantity(r, out, i, is_conserved(h->info, i) ? ", conserved" : ", may only fall");
  table_number(out, h->first_quantity[i], digits);
  table_number(out, h->last_quantity[i], digits);
  table_number(out, judge_drift(h, i), 2);
  table_row_end(out);
}

static void output(const Report *r, FILE *out, int i) {
  const History *h   = r->history;
  const double least = h->least_quantity[i], most = least + h->most_spread[i];
  const int digits = digits_apart(least, most);
  name_quantity(r, out, i, "");
  table_number(out, least, digits);
  table_number(out, h->least_at[i], 6);
  table_number(out, most, digits);
  table_number(out, h->most_at[i], 6);
  table_number(out, h->last_quantity[i], digits);
  table_row_end(out);
}

void report_invariants(const Report *r, FILE *out) {
  static const Column columns[]  = {{"Quantity", false},
                                    {"At the start", true},
                                    {"At the end", true},
                                    {"Off by, of its scale", true}},
                      extremes[] = {{"Output", false}, {"Least", true},    {"at t [s]", true},
                                    {"Largest", true}, {"at t [s]", true}, {"At the end", true}};
  int outputs                    = 0;
  for (int i = 0; i < r->info->nquantities; i++) outputs += is_output(r->info, i);
  if (!has_samples(r)) return;
  if (outputs > 0) {
    table_begin(out, "outputs", true, "Outputs", extremes, sizeof extremes / sizeof extremes[0]);
    for (int i = 0; i < r->info->nquantities; i++)
      if (is_output(r->info, i)) output(r, out, i);
    table_end(out, "The values at the times of the outputs, in the order of the file.");
  }
  if (r->info->nquantities == outputs) return;
  table_begin(out, "invariants", true, "Quantities", columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < r->info->nquantities; i++)
    if (!is_output(r->info, i)) invariant(r, out, i);
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
      {"Level", false}, {"Largest", true}, {"Limit", true}, {"At t [s]", true}};
  if (!has_levels(r) || !has_samples(r)) return;
  table_begin(out, "violations", false, "Violations of the constraints", columns,
              sizeof columns / sizeof columns[0]);
  for (int l = 0; l < NUM_LEVELS; l++) {
    if (!level_exists(r->info, (RunLevel)l)) continue;
    table_row(out, level_name((RunLevel)l));
    table_number(out, r->history->most_violation[l], 3);
    table_number(out, judge_violation_limit(r->history, (RunLevel)l), 2);
    table_number(out, r->history->when[l], 5);
    table_row_end(out);
  }
  table_end(out, "In the constraints' own units. Limit: what the tolerances explain; more is a "
                 "reason for doubt.");
}

/* ----------------------------------------------------------------------------------- the work -- */

static void rank(const RunResult *result, FILE *out) {
  if (result->rank < 0) return;
  pair(out, "Rank of the constraints", "%ld of %ld%s%s", result->rank, result->constraints,
       result->rank < result->constraints ? ", redundant" : "",
       result->unique ? "" : "; the multipliers are not unique");
}

static void error(const Report *r, FILE *out) {
  char text[NUMBER_TEXT], known[NUMBER_TEXT], when[NUMBER_TEXT], estimate[2 * RUN_TEXT];
  const RunResult *result = &r->history->result;
  const Estimate *e       = &result->estimate;
  const bool estimated    = e->wanted && result->ending == RUN_DONE;
  if (estimated) {
    describe_estimate(e, estimate, sizeof estimate);
    pair(out, "Error at the end", "%s", estimate);
  }
  if (estimated && e->worst.component >= 0) {
    char name[NAME];
    const char *unit = distance_unit(r->info, &r->history->scales, &e->worst);
    component_name(r->info, e->worst.component, name, sizeof name);
    pair(out, "Largest error", "%s of a scale: %s%s%s of %s at t = %s s",
         number_text(text, e->worst.part, 2), number_text(known, e->worst.error, 2),
         unit_space(unit), unit, name, number_text(when, e->worst.t, 4));
  }
  if (r->info->known && result->late > 0)
    pair(out, "Against the reference", "not known: it takes longer than %g s", result->late);
  else if (r->info->known)
    pair(out, "Against the reference", "%s, known to %s", number_text(text, result->error, 3),
         number_text(known, r->info->reference_error, 2));
  else if (!estimated) pair(out, "Error at the end", "not known");
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
  if (result->estimate.wanted)
    pair(out, "CPU time of the estimate", "%s s", number_text(seconds, result->estimate.seconds, 3));
}

/* If the model crashed, the counts are lost. */
void report_work(const Report *r, FILE *out) {
  const RunResult *result = &r->history->result;
  pairs_begin(out, "work", "The run");
  error(r, out);
  rank(result, out);
  for (long i = 0; i < r->history->changes && i < HISTORY_CHANGES; i++) {
    char since[NUMBER_TEXT];
    pair(out, "Method", "%s from t = %s s on", r->history->change[i].method,
         number_text(since, r->history->change[i].t, 6));
  }
  if (result->steps > 0) counts(result, out);
  else pair(out, "Outputs", "%ld", result->samples);
  table_end(out, NULL);
}

/* ---------------------------------------------------------------------------------- the state -- */

static void component(const Report *r, FILE *out, long i) {
  char name[NAME], unit[NAME];
  component_name(r->info, i, name, sizeof name);
  table_row(out, name);
  table_number(out, r->history->last[i], DIGITS);
  if (r->type->coordinates) {
    table_unit(out, component_unit(r->info, i, unit, sizeof unit));
    table_text(out, component_meaning(r->info, i));
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

/* ----------------------------------------------------------------------------------- the events -- */

static long rows_shown(const Report *r) {
  const long kept = r->history->events < HISTORY_EVENTS ? r->history->events : HISTORY_EVENTS;
  return kept < MOST_ROWS ? kept : MOST_ROWS;
}

void report_events_summary(const Report *r, FILE *out) {
  const long events = r->history->events;
  if (events == 1) fputs("There was one.", out);
  else fprintf(out, "There were %ld.", events);
  if (rows_shown(r) < events) fprintf(out, " These are the first %ld.", rows_shown(r));
}

void report_events_table(const Report *r, FILE *out) {
  static const Column columns[] = {{"Number", false}, {"t [s]", true}, {"What happened", false}};
  table_begin(out, "event-list", true, "Events in the order of time", columns,
              sizeof columns / sizeof columns[0]);
  for (long i = 0; i < rows_shown(r); i++) {
    const RunEvent *e = &r->history->event[i];
    char number[NUMBER_TEXT], what[RUN_EVENT_NAME + 100];
    snprintf(number, sizeof number, "%ld", i + 1);
    describe_event(e, what, sizeof what);
    table_row(out, number);
    table_number(out, e->t, 10);
    table_text(out, what);
    table_row_end(out);
  }
  table_end(out, NULL);
}

/* -------------------------------------------------------------------------- how to reproduce it -- */

#if defined(__clang__)
#define COMPILER "Clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "not known"
#endif

/* argv[0] is "cpodes run" */
void report_command(const Report *r, FILE *out) {
  html_text(out, r->argv[0]);
  for (int i = 1; i < r->argc; i++) {
    fputc(' ', out);
    html_argument(out, r->argv[i]);
  }
}

void report_settings(const Report *r, FILE *out) {
  const RunSettings *s = r->info->settings;
  char text[NUMBER_TEXT];
  pairs_begin(out, "settings", "Settings");
  pair(out, "Model", "%s", r->type->name);
  pair(out, "Integrated as", "%s",
       s->form == FORM_MECH ? "mechanical system, M u′ + Aᵀ λ = f, 0 = p"
                            : "ODE with invariants, y′ = f, 0 = c");
  pair(out, "Method", "%s", r->info->method);
  pair(out, "Relative tolerance", "%s", number_text(text, s->rtol, 3));
  pair(out, "Absolute tolerance", "%s", number_text(text, s->atol, 3));
  pair(out, "End", "%s s", number_text(text, s->t_end, 10));
  if (s->outputs > 0) pair(out, "Outputs", "%ld", s->outputs);
  else pair(out, "Outputs", "each step");
  pair(out, "State", "%ld: q %ld, u %ld, z %ld", r->info->n, r->info->nq, r->info->nu, r->info->nz);
  table_end(out, NULL);
}

void report_parameters(const Report *r, FILE *out) {
  static const Column columns[] = {
      {"Parameter", false}, {"Value", true}, {"Unit", false}, {"Meaning", false}};
  if (r->type->nparameters == 0) return;
  table_begin(out, "parameters", false, "Parameters", columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < r->type->nparameters; i++) {
    const CPPluginParameter *p = &r->type->parameters[i];
    table_row(out, p->name);
    table_number(out, r->info->settings->model.values[i], 10);
    table_unit(out, p->unit);
    table_text(out, p->meaning ? p->meaning : "");
    table_row_end(out);
  }
  table_end(out, NULL);
}

void report_versions(const Report *r, FILE *out) {
  (void)r;
  char sundials[80] = "not known";
  struct utsname system;
  SUNDIALSGetVersion(sundials, sizeof sundials);
  pairs_begin(out, "versions", "Versions");
  pair(out, "cpodes", "%s", CPGetVersion(NULL, NULL, NULL));
  pair(out, "SUNDIALS", "%s", sundials);
  pair(out, "Compiler", "%s", COMPILER);
  if (uname(&system) >= 0)
    pair(out, "System", "%s %s, %s", system.sysname, system.release, system.machine);
  table_end(out, NULL);
}

void report_source(const Report *r, FILE *out) {
  html_text(out, r->type->source ? r->type->source : "not given");
}
