#include "judge.h"
#include "report.h"

#include <math.h>

static bool is_doubtful(const Report *r) {
  bool doubtful = judge_error_is_large(r->history) || r->history->unevaluated > 0;
  for (int i = 0; i < r->info->nquantities; i++)
    doubtful =
        doubtful || judge_quantity_is_lost(r->history, i) || judge_drift_is_large(r->history, i);
  for (int l = 0; l < NUM_LEVELS; l++)
    doubtful = doubtful || judge_violation_is_large(r->history, (RunLevel)l);
  return doubtful;
}

void report_verdict_class(const Report *r, FILE *out) {
  const RunResult *result = &r->history->result;
  fputs(result->ending != RUN_DONE ? "bad" : is_doubtful(r) ? "doubt" : "good", out);
}

void report_verdict(const Report *r, FILE *out) {
  static const char *const ended[] = {
      [RUN_FAILED]      = "Failed",
      [RUN_CRASHED]     = "Crashed",
      [RUN_INTERRUPTED] = "Interrupted",
      [RUN_UNWRITTEN]   = "Stopped, because a file could not be written,",
  };
  const RunResult *result = &r->history->result;
  char t[NUMBER_TEXT], end[NUMBER_TEXT];
  number_text(t, result->t, 6);
  number_text(end, r->info->settings->t_end, 6);
  if (result->ending == RUN_DONE)
    fprintf(out, "Reached its end, t = %s s%s", t, is_doubtful(r) ? ", with doubts" : "");
  else fprintf(out, "%s at t = %s s of %s s", ended[result->ending], t, end);
}

static void concern_lost(const Report *r, FILE *out, int i) {
  fputs("<li>", out);
  html_text(out, r->type->quantities[i].name);
  fputs(" is not a number at some outputs.</li>\n", out);
}

static void concern_drift(const Report *r, FILE *out, int i) {
  const CPModelQuantity *quantity = &r->type->quantities[i];
  char text[NUMBER_TEXT];
  fputs("<li>", out);
  html_text(out, quantity->name);
  fprintf(out, " %s by %s of its scale.</li>\n",
          is_conserved(r->info, i) ? "is to be conserved, and changes" : "may only fall, and rises",
          number_text(text, judge_drift(r->history, i), 2));
}

static void concern_violation(const Report *r, FILE *out, RunLevel level) {
  const History *h = r->history;
  char most[NUMBER_TEXT], when[NUMBER_TEXT];
  fprintf(out,
          "<li>The %s constraints are violated by up to %s, at t = %s s: more than the tolerances "
          "explain.</li>\n",
          level_name(level), number_text(most, h->most_violation[level], 2),
          number_text(when, h->when[level], 4));
}

static void concern_unevaluated(const Report *r, FILE *out) {
  const History *h = r->history;
  fprintf(
      out,
      "<li>At %ld of %ld outputs the constraints and multipliers could not be evaluated: what is "
      "said of them is of the others.</li>\n",
      h->unevaluated, h->curves.seen);
}

static void concern_error(const Report *r, FILE *out) {
  char text[NUMBER_TEXT];
  fprintf(out, "<li>The end is far from the reference: the error is %s.</li>\n",
          number_text(text, r->history->result.error, 2));
}

void report_concerns(const Report *r, FILE *out) {
  const RunResult *result = &r->history->result;
  if (result->message[0]) {
    fputs("<p>", out);
    html_text(out, result->message);
    fputs("</p>\n", out);
  }
  if (result->ending != RUN_DONE && result->samples > 0)
    fputs("<p>All below is of the time until then.</p>\n", out);
  if (!is_doubtful(r)) return;
  fputs("<ul>\n", out);
  for (int i = 0; i < r->info->nquantities; i++) {
    if (judge_quantity_is_lost(r->history, i)) concern_lost(r, out, i);
    if (judge_drift_is_large(r->history, i)) concern_drift(r, out, i);
  }
  if (r->history->unevaluated > 0) concern_unevaluated(r, out);
  for (int l = 0; l < NUM_LEVELS; l++)
    if (judge_violation_is_large(r->history, (RunLevel)l)) concern_violation(r, out, (RunLevel)l);
  if (judge_error_is_large(r->history)) concern_error(r, out);
  fputs("</ul>\n", out);
}
