#include "judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../simulation/estimate.h"

/* Relative to the scale. Drift is measured, not estimated, and smaller errors of the states may cause a
 * few times as much of it. */
static const double most_drift     = 1e-2;
static const double most_violation = 10;  /* in units of the tolerance */
static const double by_far         = 100; /* beyond a limit by this factor, there is no doubt */

typedef struct {
  void (*tell)(void *data, const char *reason);
  void *data;
  Verdict verdict;
} Judgement;

/* excess: the number in units of its limit, > 1. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
doubt(Judgement *j, double excess, const char *format, ...) {
  char reason[2 * RUN_TEXT];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  if (excess > by_far) j->verdict = VERDICT_WRONG;
  else if (j->verdict == VERDICT_OK) j->verdict = VERDICT_DOUBTFUL;
  if (j->tell) j->tell(j->data, reason);
}

/* Each line of left_out is "place: what"; the place is for the report. */
const char *verdict_text(const History *h, Verdict verdict, char *text) {
  static const char *const names[] = {"ok", "ok, but without ", "doubtful", "wrong"};
  snprintf(text, VERDICT_TEXT, "%s", names[verdict]);
  const char *line = h->info->settings->model.type->left_out;
  for (int i = 0; verdict == VERDICT_WITHOUT && line && *line; i++) {
    const size_t used = strlen(text), length = strcspn(line, "\n");
    const char *what = line, *next;
    while ((next = strstr(what, ": ")) && next < line + length) what = next + 2;
    snprintf(text + used, VERDICT_TEXT - used, "%s%.*s", i ? ", " : "", (int)(line + length - what),
             what);
    line += length + (line[length] == '\n');
  }
  return text;
}

double judge_drift(const History *h, int i) {
  const double scale = h->scales.quantity[i];
  const double drift = is_conserved(h->info, i) ? h->most_drift[i] : h->most_rise[i];
  if (!(scale > 0) || is_output(h->info, i)) return NAN;
  return drift / scale;
}

/* Auxiliary states, such as the work in an energy balance, have errors of their own. */
static double limit_of_drift(const History *h, int i) {
  return fmax(most_drift, h->scales.allowance[i] / h->scales.quantity[i]);
}

static void judge_quantities(Judgement *j, const History *h) {
  char by[NUMBER_TEXT], limit[NUMBER_TEXT];
  for (int i = 0; i < h->info->nquantities; i++) {
    const char *name   = h->info->settings->model.type->quantities[i].name;
    const double drift = judge_drift(h, i);
    if (isnan(h->most_drift[i])) doubt(j, 1, "%s is not a finite number at some outputs.", name);
    const double limit_of = limit_of_drift(h, i);
    if (drift > limit_of)
      doubt(j, drift / limit_of, "%s %s by %s of its scale; the limit is %s.", name,
            is_conserved(h->info, i) ? "should be conserved, but changes"
                                     : "may only fall, but rises",
            number_text(by, drift, 2), number_text(limit, limit_of, 2));
  }
}

/* The drift that tolerances cause falls with them: by a factor of at most 0.3 over the catalogue
 * and its methods, in a second run that is 30 times tighter. Drift that stays, beyond a thousand
 * tolerances, is the model's. */
static const double staying = 0.5, most_tolerances = 1000;

static void judge_staying(Judgement *j, const History *h) {
  const Estimate *e = &h->result.estimate;
  char first[NUMBER_TEXT], second[NUMBER_TEXT], rtol[NUMBER_TEXT];
  for (int i = 0; e->wanted && i < h->info->nquantities; i++) {
    const double drift = judge_drift(h, i), tighter = h->scales.tighter[i];
    const double own = fmax(most_tolerances * e->rtol, limit_of_drift(h, i) - most_drift);
    if (drift <= limit_of_drift(h, i) && tighter > staying * drift && tighter > own)
      doubt(j, 1,
            "%s %s by %s of its scale, and by %s at rtol %s. The tighter tolerance should at least "
            "halve it, so the fault is in the model. `cpodes check` may say more.",
            h->info->settings->model.type->quantities[i].name,
            is_conserved(h->info, i) ? "changes" : "rises", number_text(first, drift, 2),
            number_text(second, tighter, 2), number_text(rtol, e->rtol, 2));
  }
}

double judge_violation_limit(const History *h, RunLevel level) {
  const RunSettings *s  = h->info->settings;
  const bool velocities = level == LEVEL_VELOCITY || level == LEVEL_INVARIANT;
  const double size     = fmax(h->scales.largest_q, velocities ? h->scales.largest_u : 0);
  return most_violation * (s->atol + s->rtol * fmax(1, size));
}

static void judge_violations(Judgement *j, const History *h) {
  char most[NUMBER_TEXT], when[NUMBER_TEXT], at_most[NUMBER_TEXT];
  for (int l = 0; l < NUM_LEVELS; l++) {
    const double limit = judge_violation_limit(h, (RunLevel)l);
    if (h->most_violation[l] > limit)
      doubt(j, h->most_violation[l] / limit,
            "The %s constraints are violated by up to %s, at t = %s s: more than the tolerances "
            "explain, "
            "which is %s.",
            level_name((RunLevel)l), number_text(most, h->most_violation[l], 2),
            number_text(when, h->when[l], 4), number_text(at_most, limit, 2));
  }
}

/* Judges a distance from a better solution. */
static void judge_distance(Judgement *j, const History *h, const Distance *d, const char *from) {
  char name[RUN_TEXT], error[NUMBER_TEXT], when[NUMBER_TEXT], of[NUMBER_TEXT], limit[NUMBER_TEXT];
  if (!(d->part > estimate_limit) || d->component < 0) return;
  const char *unit = distance_unit(h->info, &h->scales, d);
  component_name(h->info, d->component, name, sizeof name);
  doubt(j, d->part / estimate_limit,
        "%s: at t = %s s %s is off by %s%s%s, %s of its scale; the limit is %s.", from,
        number_text(when, d->t, 4), name, number_text(error, d->error, 2), unit_space(unit), unit,
        number_text(of, d->part, 2), number_text(limit, estimate_limit, 2));
}

/* Judges the error against the reference, or else its estimate. In a chaotic motion the error is as
 * large as the motion. */
static void judge_error(Judgement *j, const History *h) {
  const Estimate *e = &h->result.estimate;
  char lost[NUMBER_TEXT], end[NUMBER_TEXT], estimate[2 * RUN_TEXT], apart[NUMBER_TEXT],
      one[NUMBER_TEXT], other[NUMBER_TEXT];
  if (e->wanted && e->chaotic) {
    doubt(j, 1,
          "The motion is chaotic: runs at rtol %s and %s differ by %s of a scale, and digits are "
          "lost after t = %s s of %s s.",
          number_text(one, e->tight[0], 2), number_text(other, e->tight[1], 2),
          number_text(apart, e->apart, 2), number_text(lost, e->lost, 3),
          number_text(end, h->result.t, 6));
    return;
  }
  judge_distance(j, h, &h->result.off, "The end is far from the reference");
  if (!e->wanted) return;
  judge_distance(j, h, &e->worst, "A more accurate run differs");
  if (e->stopped)
    doubt(j, 1,
          "A more accurate run, %s at rtol %s, was compared only up to t = %s s of %s s, where it "
          "was "
          "stopped at its limit of cost.",
          e->method, number_text(one, e->rtol, 2), number_text(other, e->reached, 3),
          number_text(end, h->result.t, 6));
  describe_estimate(e, estimate, sizeof estimate);
  if (estimate_failed(e)) doubt(j, 1, "The error is %s.", estimate);
}

Verdict judge(const History *h, void (*tell)(void *data, const char *reason), void *data) {
  Judgement j = {tell, data, VERDICT_OK};
  judge_quantities(&j, h);
  if (h->unevaluated > 0)
    doubt(&j, 1,
          "At %ld of %ld outputs the constraints and multipliers could not be evaluated: "
          "statements on them are for the others.",
          h->unevaluated, h->curves.seen);
  judge_violations(&j, h);
  judge_error(&j, h);
  if (h->result.ending == RUN_DONE) judge_staying(&j, h);
  if (j.verdict == VERDICT_OK && h->info->settings->model.type->left_out)
    j.verdict = VERDICT_WITHOUT;
  return h->result.ending == RUN_DONE ? j.verdict : VERDICT_WRONG;
}
