/* The summary by which a physicist judges a run. */
#include "../mechanism.h"
#include "judge.h"
#include "writers.h"

#include <math.h>
#include <string.h>

enum { MOST_COMPONENTS = 12 };

static void row(FILE *out, const char *name) { fprintf(out, "  %-14s", name); }

static void print_end(FILE *out, const RunInfo *info, const RunResult *r) {
  static const char *const verdict[] = {[RUN_DONE]        = "reached",
                                        [RUN_FAILED]      = "FAILED",
                                        [RUN_CRASHED]     = "CRASHED",
                                        [RUN_INTERRUPTED] = "INTERRUPTED",
                                        [RUN_UNWRITTEN]   = "STOPPED"};
  row(out, "end");
  if (r->ending == RUN_DONE) {
    fprintf(out, "t = %g reached\n", r->t);
    return;
  }
  fprintf(out, "%s at t = %.6g of %g\n", verdict[r->ending], r->t, info->settings->t_end);
  row(out, "");
  fprintf(out, "%s\n", r->message);
}

static void print_method(FILE *out, const RunInfo *info, const History *h) {
  const RunSettings *s = info->settings;
  row(out, "method");
  fprintf(out, "%s, rtol %g, atol %g\n", info->method, s->rtol, s->atol);
  for (long i = 0; i < h->changes && i < HISTORY_CHANGES; i++) {
    row(out, "");
    fprintf(out, "from t = %.6g on by %s, since %s\n", h->change[i].t, h->change[i].method,
            reason_of_method(&h->change[i]));
  }
}

static void print_parameters(FILE *out, const ModelChoice *choice) {
  for (int i = 0; i < choice->type->nparameters; i++) {
    const CPPluginParameter *p = &choice->type->parameters[i];
    if (choice->values[i] == p->value) continue;
    row(out, "parameter");
    fprintf(out, "%s = %g%s%s (default %g)\n", p->name, (double)choice->values[i],
            unit_space(p->unit), unit_text(p->unit), (double)p->value);
  }
}

static void print_state(FILE *out, const History *h) {
  const RunInfo *info = h->info;
  char name[RUN_TEXT], unit[40];
  for (long i = 0; i < info->n && i < MOST_COMPONENTS; i++) {
    component_name(info, i, name, sizeof name);
    component_unit(info, i, unit, sizeof unit);
    if (i == 0 && h->last_t != h->result.t) {
      row(out, "newest output");
      fprintf(out, "t = %.10g\n", h->last_t);
    }
    row(out, i ? "" : "state");
    fprintf(out, "%-8s %- .10g%s%s\n", name, h->last[i], unit_space(unit), unit);
  }
  if (info->n <= MOST_COMPONENTS) return;
  row(out, "");
  fprintf(out, "... %ld more; --csv and --json have all\n", info->n - MOST_COMPONENTS);
}

/* "fell from 2 to 1 J", "stayed at 2 J" */
static void print_change(FILE *out, double first, double last, const char *unit) {
  const int digits = digits_apart(first, last);
  if (first == last) fprintf(out, "stayed at %.*g", digits, first);
  else
    fprintf(out, "%s from %.*g to %.*g", last < first ? "fell" : "rose", digits, first, digits,
            last);
  fprintf(out, "%s%s", unit_space(unit), unit_text(unit));
}

/* What the file asks for: the range of values, and when they were taken */
static void print_outputs(FILE *out, const History *h) {
  int shown = 0;
  for (int i = 0; i < h->info->nquantities; i++) {
    const CPPluginQuantity *q = &h->info->settings->model.type->quantities[i];
    if (!is_output(h->info, i) || mechanism_recorded_size(i) >= 0) continue;
    row(out, shown++ ? "" : "outputs");
    if (isnan(h->most_drift[i])) {
      fprintf(out, "%s: not a finite number at some outputs\n", q->name);
      continue;
    }
    const double least = h->least_quantity[i], most = least + h->most_spread[i];
    const int digits = digits_apart(least, most);
    fprintf(out, "%s: from %.*g (t = %.6g) to %.*g (t = %.6g), at the end %.*g%s%s\n", q->name,
            digits, least, h->least_at[i], digits, most, h->most_at[i], digits, h->last_quantity[i],
            unit_space(q->unit), unit_text(q->unit));
  }
}

/* The largest distances from what the file has recorded, of positions [m], then of reactions [N] */
static void print_reference(FILE *out, const History *h) {
  static const char *const what[2][3] = {{"m", "reference", "positions"}, {"N", "", "reactions"}};
  for (int k = 0; k < 2; k++) {
    const CPPluginQuantity *q = h->info->settings->model.type->quantities;
    int worst                 = -1;
    double most               = -1;
    for (int i = 0; i < h->info->nquantities; i++) {
      const double largest = h->least_quantity[i] + h->most_spread[i];
      if (mechanism_recorded_size(i) < 0 || strcmp(q[i].unit, what[k][0]) || largest <= most)
        continue;
      worst = i, most = largest;
      if (isnan(largest)) break;
    }
    if (worst < 0) continue;
    row(out, what[k][1]);
    fprintf(out, "%s: by at most %.2g of %.3g %s, %.*s at t = %.6g%s\n", what[k][2], most,
            mechanism_recorded_size(worst), what[k][0], (int)strcspn(q[worst].name, " "),
            q[worst].name, h->most_at[worst],
            k && !h->result.unique ? "; they are not unique, and have the least norm here" : "");
  }
}

/* Why positions differ although both motions may be right: the record has another start, or is no motion. The first part tells. */
static void print_doubts(FILE *out, const History *h) {
  const CPPluginQuantity *q = h->info->settings->model.type->quantities;
  bool starts = false, contradicts = false;
  for (int i = 0; i < h->info->nquantities; i++) {
    const double bound =
        mechanism_recorded_bound(i, h->info->settings->rtol, h->info->settings->atol);
    const int length = (int)strcspn(q[i].name, " ");
    if (bound < 0 || strcmp(q[i].unit, "m")) continue;
    if (!starts && h->first_quantity[i] > bound) {
      row(out, "");
      fprintf(out, "another start is recorded: %.*s is %.2g m off already at t = 0\n", length,
              q[i].name, h->first_quantity[i]);
      starts = true;
    }
    if (!contradicts && mechanism_recorded_contradicts(i) &&
        h->least_quantity[i] + h->most_spread[i] > bound) {
      row(out, "");
      fprintf(out, "no motion is recorded: %.*s does not follow its recorded accelerations\n",
              length, q[i].name);
      contradicts = true;
    }
  }
}

/* Conserved quantities have a drift, quantities that may only decrease have a rise; both are judged
 * by their scale. */
static void print_quantities(FILE *out, const History *h) {
  const RunInfo *info = h->info;
  int shown           = 0;
  for (int i = 0; i < info->nquantities; i++) {
    const CPPluginQuantity *q = &info->settings->model.type->quantities[i];
    const double scale        = h->scales.quantity[i];
    const bool conserved      = is_conserved(info, i);
    const double error        = conserved ? h->most_drift[i] : h->most_rise[i];
    if (is_output(info, i)) continue;
    row(out, shown++ ? "" : "quantities");
    if (isnan(error)) {
      fprintf(out, "%s: not a finite number at some outputs\n", q->name);
      continue;
    }
    fprintf(out, "%s: ", q->name);
    if (!conserved) print_change(out, h->first_quantity[i], h->last_quantity[i], q->unit);
    if (error > 0)
      fprintf(out, "%s by at most %.2g%s%s", conserved ? "changed" : ", rose on the way", error,
              unit_space(q->unit), unit_text(q->unit));
    else fprintf(out, "%s", conserved ? "did not change" : ", never rose");
    if (error > 0 && scale > 0)
      fprintf(out, ", %.1e of %.3g%s%s", error / scale, scale, unit_space(q->unit),
              unit_text(q->unit));
    fputc('\n', out);
  }
}

/* The largest of the other values is no bound then. */
static void print_unevaluated(FILE *out, const History *h) {
  if (h->unevaluated == 0) return;
  row(out, "not evaluated");
  fprintf(out, "constraints and multipliers at %ld of %ld outputs\n", h->unevaluated,
          h->curves.seen);
}

static void print_violations(FILE *out, const History *h) {
  int first = 1;
  for (int i = 0; i < NUM_LEVELS; i++) {
    if (isnan(h->most_violation[i])) continue;
    row(out, first ? "violation" : "");
    fprintf(out, "%-9s at most %.2g, at t = %.6g\n", level_name(i), h->most_violation[i],
            h->when[i]);
    first = 0;
  }
}

static void print_rank(FILE *out, const RunResult *r) {
  if (r->rank < 0) return;
  row(out, "rank");
  fprintf(out, "%ld of %ld constraints%s\n", r->rank, r->constraints,
          r->unique ? "" : "; the multipliers are not unique, those of least norm are given");
}

static void print_work(FILE *out, const RunResult *r) {
  char rejections[RUN_TEXT];
  describe_rejections(r, rejections, sizeof rejections);
  row(out, "work");
  fprintf(out, "%ld steps, %ld evaluations of f", r->steps, r->rhs);
  if (r->factorisations > 0)
    fprintf(out, ", %ld Jacobians, %ld factorisations", r->jacobians, r->factorisations);
  fputc('\n', out);
  row(out, "rejected");
  fprintf(out, "%s\n", rejections);
  row(out, "time");
  fprintf(out, "%.3g s of CPU time for the integration\n", r->seconds);
}

static void print_events(FILE *out, const History *h) {
  const RunResult *r = &h->result;
  if (r->ncontacts > 0) {
    row(out, "contacts");
    fprintf(out, "%ld; %ld event%s, %ld impact%s, %ld accumulation%s of impacts closed",
            r->ncontacts, r->contact_events, r->contact_events == 1 ? "" : "s", r->impacts,
            r->impacts == 1 ? "" : "s", r->accumulations, r->accumulations == 1 ? "" : "s");
    if (r->reduced > 0)
      fprintf(out, ", %ld with less restitution, as the laws of contact demand", r->reduced);
    if (r->intervals > 0)
      fprintf(out, ", %ld interval%s of time stepping", r->intervals, r->intervals == 1 ? "" : "s");
    if (h->events > 0) fprintf(out, "; the first event at t = %.6g", h->event[0].t);
    fputc('\n', out);
  }
  if (h->events == 0 || r->ncontacts > 0) return; /* models with contacts have no other events */
  row(out, "events");
  fprintf(out, "%ld, the first at t = %.6g\n", h->events, h->event[0].t);
}

static void print_error(FILE *out, const History *h) {
  const RunResult *r = &h->result;
  char estimate[2 * RUN_TEXT];
  if (r->late > 0 || isfinite(r->error)) row(out, "error");
  if (r->late > 0)
    fprintf(out, "not known: the model's reference takes longer than %g s\n", r->late);
  else if (isfinite(r->error))
    fprintf(out, "%.2g against the model's reference, which is known to %.0e\n", r->error,
            h->info->reference_error);
  if (!r->estimate.wanted || r->ending != RUN_DONE) return;
  describe_estimate(&r->estimate, estimate, sizeof estimate);
  row(out, r->late > 0 || isfinite(r->error) ? "" : "error");
  fprintf(out, "%s\n", estimate);
}

/* The largest errors in each unit are in the JSON file and the report; here is the worst of them. */
static void print_worst(FILE *out, const History *h) {
  const Distance *d = &h->result.estimate.worst;
  char name[RUN_TEXT];
  if (h->result.ending != RUN_DONE || d->component < 0) return;
  component_name(h->info, d->component, name, sizeof name);
  const char *unit = distance_unit(h->info, &h->scales, d);
  row(out, "");
  fprintf(out, "at most %.1g of a scale: %s %.1g of %.3g%s%s, at t = %.6g\n", d->part, name,
          d->error, d->error / d->part, unit_space(unit), unit, d->t);
}

static void print_reason(void *out, const char *reason) {
  row(out, "");
  fprintf(out, "%s\n", reason);
}

static void print_verdict(FILE *out, const History *h) {
  char text[VERDICT_TEXT];
  row(out, "verdict");
  fprintf(out, "%s\n", verdict_text(h, judge(h, NULL, NULL), text));
  judge(h, print_reason, out);
}

void summary_print(const History *h, FILE *out) {
  const RunInfo *info      = h->info;
  const ModelChoice *model = &info->settings->model;
  fprintf(out, "%s (%s)\n", model->type->title, model->type->name);
  print_parameters(out, model);
  print_method(out, info, h);
  print_end(out, info, &h->result);
  if (h->curves.rows > 0) {
    print_outputs(out, h);
    print_reference(out, h);
    print_doubts(out, h);
    print_state(out, h);
    print_quantities(out, h);
    print_violations(out, h);
    print_unevaluated(out, h);
  }
  print_rank(out, &h->result);
  print_events(out, h);
  if (h->result.ending == RUN_DONE || h->result.ending == RUN_FAILED) print_work(out, &h->result);
  print_error(out, h);
  print_worst(out, h);
  if (h->result.ending == RUN_DONE) print_verdict(out, h);
}
