#include "judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* relative to the scale: a thousandth is visible in a plot */
static const double most_drift     = 1e-3;
static const double most_violation = 10; /* in units of the tolerance */
static const double most_error =
    1e-2; /* relative to the largest component: a hundredth is visible in a picture */
static const double by_far = 100; /* beyond a limit by this factor, there is no doubt */

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

const char *verdict_name(Verdict verdict) {
  static const char *const names[] = {"ok", "doubtful", "wrong"};
  return names[verdict];
}

double judge_drift(const History *h, int i) {
  const double scale = i < RUN_SCALES ? h->info->scale[i] : 0;
  if (!(scale > 0) || is_output(h->info, i)) return NAN;
  return (is_conserved(h->info, i) ? h->most_drift[i] : h->most_rise[i]) / scale;
}

static void judge_quantities(Judgement *j, const History *h) {
  char by[NUMBER_TEXT], limit[NUMBER_TEXT];
  for (int i = 0; i < h->info->nquantities; i++) {
    const char *name   = h->info->settings->model.type->quantities[i].name;
    const double drift = judge_drift(h, i);
    if (isnan(h->most_drift[i])) doubt(j, 1, "%s is not a finite number at some outputs.", name);
    if (drift > most_drift)
      doubt(j, drift / most_drift, "%s %s by %s of its scale; the limit is %s.", name,
            is_conserved(h->info, i) ? "should be conserved, but changes"
                                     : "may only fall, but rises",
            number_text(by, drift, 2), number_text(limit, most_drift, 2));
  }
}

/* The drift that tolerances cause falls with them: by a factor of at most 0.3 over the catalogue
 * and its methods, in a second run that is 30 times tighter. Drift that stays, beyond a thousand
 * tolerances, is the model's. */
static const double staying = 0.5, most_tolerances = 1000;

static void judge_staying(Judgement *j, const History *h) {
  const Estimate *e = &h->result.estimate;
  char first[NUMBER_TEXT], second[NUMBER_TEXT], rtol[NUMBER_TEXT];
  for (int i = 0; e->wanted && i < h->info->nquantities && i < RUN_SCALES; i++) {
    const double drift = judge_drift(h, i);
    if (drift <= most_drift && e->drift[i] > staying * drift &&
        e->drift[i] > most_tolerances * e->rtol)
      doubt(j, 1,
            "%s %s by %s of its scale, and by %s at rtol %s. The tighter tolerance should at least "
            "halve it, so the fault is in the model. `cpodes check` may say more.",
            h->info->settings->model.type->quantities[i].name,
            is_conserved(h->info, i) ? "changes" : "rises", number_text(first, drift, 2),
            number_text(second, e->drift[i], 2), number_text(rtol, e->rtol, 2));
  }
}

/* The largest absolute value in columns from ... to - 1 of the curves. */
static double size_of(const History *h, long from, long to) {
  double size = 0;
  for (long k = 0; k < h->curves.rows; k++)
    for (long c = from; c < to; c++)
      size = fmax(size, fabs(h->curves.data[k * h->curves.width + c]));
  return size;
}

double judge_violation_limit(const History *h, RunLevel level) {
  const RunSettings *s  = h->info->settings;
  const bool velocities = level == LEVEL_VELOCITY || level == LEVEL_INVARIANT;
  const double size = size_of(h, 1, velocities ? history_column_lambda(h) : history_column_u(h));
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

/* Judges the error against the reference, or else its estimate. */
static void judge_error(Judgement *j, const History *h) {
  const Estimate *e    = &h->result.estimate;
  const bool known     = isfinite(h->result.error);
  const double largest = known ? h->result.error : e->wanted ? e->error : NAN;
  const double limit   = most_error * size_of(h, 1, history_column_u(h));
  char error[NUMBER_TEXT], at_most[NUMBER_TEXT], estimate[2 * RUN_TEXT];
  /* In a chaotic motion the error is as large as the motion. */
  if (largest > limit && !(e->wanted && e->chaotic))
    doubt(j, largest / limit, "%s the error is %s; the limit is %s.",
          known ? "The end is far from the reference:"
                : "The end is far from that of a tighter run:",
          number_text(error, largest, 2), number_text(at_most, limit, 2));
  if (!e->wanted) return;
  describe_estimate(e, estimate, sizeof estimate);
  if (e->chaotic)
    doubt(j, 1, "The motion is chaotic: digits are lost after t = %s s of %s s.",
          number_text(error, e->lost, 3), number_text(at_most, h->result.t, 6));
  else if (!isnan(e->lost))
    doubt(j, 1, "Digits are lost after t = %s s: a tighter run differs by a tenth of the motion.",
          number_text(error, e->lost, 3));
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
  return h->result.ending == RUN_DONE ? j.verdict : VERDICT_WRONG;
}
