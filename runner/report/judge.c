#include "judge.h"

#include <math.h>

/* Of the scale: a thousandth can be seen in a plot */
static const double most_drift = 1e-3;
/* In units of the tolerance */
static const double most_violation = 10;
/* Of the largest component: a hundredth can be seen in a picture */
static const double most_error = 1e-2;

bool judge_quantity_is_lost(const History *h, int i) { return isnan(h->most_drift[i]); }

double judge_drift(const History *h, int i) {
  const double scale = i < RUN_SCALES ? h->info->scale[i] : 0;
  if (!(scale > 0)) return NAN;
  return (is_conserved(h->info, i) ? h->most_drift[i] : h->most_rise[i]) / scale;
}

bool judge_drift_is_large(const History *h, int i) { return judge_drift(h, i) > most_drift; }

/* Largest absolute value in columns from ... to - 1 of the curves */
static double size_of(const History *h, long from, long to) {
  double size = 0;
  for (long k = 0; k < h->curves.rows; k++)
    for (long c = from; c < to; c++)
      size = fmax(size, fabs(h->curves.data[k * h->curves.width + c]));
  return size;
}

static double size_of_positions(const History *h) { return size_of(h, 1, history_column_u(h)); }

static double size_of_velocities(const History *h) {
  return size_of(h, history_column_u(h), history_column_lambda(h));
}

bool judge_violation_is_large(const History *h, RunLevel level) {
  const RunSettings *s  = h->info->settings;
  const bool velocities = level == LEVEL_VELOCITY || level == LEVEL_INVARIANT;
  const double size = fmax(1, fmax(size_of_positions(h), velocities ? size_of_velocities(h) : 0));
  return h->most_violation[level] > most_violation * (s->atol + s->rtol * size);
}

bool judge_error_is_large(const History *h) {
  return h->result.error > most_error * size_of_positions(h);
}
