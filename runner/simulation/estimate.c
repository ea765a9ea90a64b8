#include "estimate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 400, FEWEST_ROWS = 40, MOST_NUMBERS = 4000000, ATTEMPTS = 3 };

/* The second run's steps cost at most twice the first run's, counted by RunResult.work, so that
 * repeated runs give the same result. Costs up to short_work over the number of components are
 * allowed in any case: they take about 0.01 s. */
static const double cost_limit = 2, short_work = 5e4;
/* Factors on the tolerance. With `tighter`, the second run's own error is negligible; DOP853 costs
 * 1.5 times as much there. For BDF, Adams and RADAU a factor of 30 costs that much, and a factor of
 * 10 costs 1.3 times as much. */
static const double tighter = 100, tighter_itself = 30, tighter_again = 10, tighter_at_last = 4;
/* After this fraction of its budget, a second run that has not advanced as far is replaced by one
 * with the method of the first run. */
static const double trial = 0.25;
/* No further run begins with less than this fraction of the first run's cost, since it would not
 * get far. */
static const double least_budget = 0.5;
/* Factor on the longest step, if the settings limit it */
static const double shorter = 0.7;
/* Tolerances below are limited by roundoff. */
static const double tightest = 1e-14;
/* Digits are lost where the runs differ by this fraction of the range of a coordinate. Coordinates
 * with small ranges are left out. */
static const double lost_part = 0.1, still_part = 1e-3;
/* A distance that grows like t^4 grows by 16 from t/2 to t. */
static const double polynomial_growth = 16;

int estimate_begin(Rows *track, long n) {
  const long most = MOST_NUMBERS / (n + 1);
  return rows_create(track, n + 1,
                     most > MOST_ROWS     ? MOST_ROWS
                     : most < FEWEST_ROWS ? FEWEST_ROWS
                                          : most);
}

void estimate_track(Rows *track, sunrealtype t, N_Vector y) {
  double *row             = rows_next(track);
  const sunrealtype *from = N_VGetArrayPointer(y);
  row[0]                  = t;
  for (long i = 1; i < track->width; i++) row[i] = from[i - 1];
  rows_put(track, 0, NULL);
}

/* ---------------------------------------------------------------------------- the second run -- */

/* Compares the second run with the first, and ends it when it costs too much */
typedef struct {
  Listener listener;
  const Rows *track;
  double *range;        /* [track->width - 1] range of each component */
  double least_range;   /* of the components that count for lost digits */
  double largest;       /* largest absolute value of all components */
  const double *spent;  /* the cost of the second run so far */
  double before, limit; /* before: the cost before the newest step; limit: its bound */
  double dearest;       /* cost of the most expensive step so far */
  double *t, *distance; /* [compared] */
  double *part;         /* [compared] the largest distance in units of the component's range */
  long compared;
  double t_end;
  bool over_limit, may_give_up, hopeless; /* hopeless: at its pace it will not reach the end */
  const CPModel *model;
  int nquantities; /* number of entries in the following arrays */
  double first[RUN_SCALES], least[RUN_SCALES], drift[RUN_SCALES]; /* of the second run */
} Second;

/* Updates the largest change from the start for conserved quantities, and the largest rise for
 * others. */
static void take_drifts(Second *second, const Sample *s) {
  for (int i = 0; i < second->nquantities; i++) {
    const double value = s->quantity[i];
    if (second->compared == 0) second->first[i] = second->least[i] = value;
    const bool kept    = CPModelConserves(second->model, i) != 0;
    const double drift = kept ? fabs(value - second->first[i]) : value - second->least[i];
    second->drift[i]   = fmax(second->drift[i], drift);
    second->least[i]   = fmin(second->least[i], value);
  }
}

static int compare_sample(Listener *self, const Sample *s) {
  Second *second    = (Second *)self;
  const Rows *track = second->track;
  const double *row = track->data + second->compared * track->width;
  double largest    = 0;
  double part       = 0;
  take_drifts(second, s);
  for (long i = 0; i < track->width - 1; i++) {
    const double distance = fabs(s->y[i] - row[i + 1]);
    largest               = fmax(largest, distance);
    if (second->range[i] > second->least_range) part = fmax(part, distance / second->range[i]);
  }
  second->t[second->compared]        = s->t;
  second->distance[second->compared] = largest;
  second->part[second->compared++]   = part;
  return 0;
}

static int watch_cost(Listener *self, const Step *step) {
  Second *second     = (Second *)self;
  const double spent = *second->spent, newest = spent - second->before;
  second->before  = spent;
  second->dearest = fmax(second->dearest, newest);
  /* The next step may cost as much as the most expensive one. */
  second->over_limit = step->t < second->t_end && spent + second->dearest > second->limit;
  second->hopeless =
      second->may_give_up && spent > trial * second->limit && step->t < 0.8 * trial * second->t_end;
  return second->over_limit || second->hopeless ? -1 : 0;
}

static int ignore_event(Listener *self, const RunEvent *event) {
  (void)self, (void)event;
  return 0;
}

static void take_ranges(Second *second) {
  const Rows *track = second->track;
  double largest    = 0;
  for (long i = 0; i < track->width - 1; i++) {
    double least = INFINITY, most = -INFINITY;
    for (long k = 0; k < track->rows; k++) {
      least = fmin(least, track->data[k * track->width + i + 1]);
      most  = fmax(most, track->data[k * track->width + i + 1]);
    }
    second->range[i] = most - least;
    second->largest  = fmax(second->largest, fmax(most, -least));
    largest          = fmax(largest, most - least);
  }
  second->least_range = still_part * largest;
}

/* The first attempt uses the method that suits the model best, which is DOP853 unless the model is
 * stiff. An explicit method of the first run has resolved all oscillations, and so must the second.
 * RADAU is often more accurate than another method at a hundredth of its tolerance. If the first
 * attempt does not get far, or fails, the second uses the method of the first run; if that fails,
 * another tolerance is tried. */
static RunSettings settings_beside(const Problem *first, int attempt, long outputs) {
  const double itself[ATTEMPTS] = {tighter_itself, tighter_again, tighter_at_last};
  RunSettings second            = first->settings;
  const Method *its             = &first->settings.method;
  char reason[METHOD_REASON];
  if (attempt > 0 || method_is_radau(its)) second.method = *its;
  else if (method_is_explicit(its)) method_find("dop853", &second.method);
  else {
    second.method = *method_at(0);
    method_resolve(&second.method, first->model, second.t_end, second.rtol, reason);
  }
  const bool same =
      attempt > 0 || (!method_is_explicit(its) && !strcmp(its->name, second.method.name));
  second.rtol = fmax(second.rtol / (same ? itself[attempt] : tighter), tightest);
  /* If both runs are limited by roundoff, the one with the larger tolerance has the larger error. */
  if (second.rtol > first->settings.rtol / 3) second.rtol = 3 * first->settings.rtol;
  second.atol *= second.rtol / first->settings.rtol;
  second.max_step *= shorter; /* otherwise both runs would take the same steps of that size */
  second.outputs = outputs;
  second.curves  = NULL; /* they may name multipliers, which the second run does not have */
  second.forces = second.drawing = second.estimated = false;
  second.steps = second.silent = true;
  return second;
}

/* ------------------------------------------------------------------------------- its results -- */

/* The largest `part` up to t. */
static double largest_until(const Second *s, double t) {
  double most = 0;
  for (long k = 0; k < s->compared && s->t[k] <= t; k++) most = fmax(most, s->part[k]);
  return most;
}

/* Sorts the distances from row `from` to `to` - 1 and returns the median, since single values
 * scatter, and peak in some positions. */
static double median(Second *s, long from, long to) {
  qsort(s->distance + from, (size_t)(to - from), sizeof *s->distance, ascending);
  return s->distance[(from + to) / 2];
}

/* Extrapolates from the medians of both halves of the comparison, with growth like t^p, p from 0 to
 * 2. */
static double extrapolate(Second *s, double t, double t_end) {
  const double early = median(s, 0, s->compared / 2), late = median(s, s->compared / 2, s->compared);
  const double p = early > 0 ? fmin(fmax(log2(late / early), 0), 2) : 1;
  return late * pow(t_end / (0.75 * t), p);
}

/* Sets lost, interpolated geometrically between two rows, and chaotic: growth that is faster than a
 * power in both preceding quarters. */
static void judge_growth(const Second *s, Estimate *e) {
  long k = 0;
  while (k < s->compared && s->part[k] < lost_part) k++;
  if (k == s->compared) return;
  const double before = k > 0 ? s->part[k - 1] : 0;
  const double way    = before > 0 ? log(lost_part / before) / log(s->part[k] / before) : 1;
  e->lost             = k > 0 ? s->t[k - 1] + way * (s->t[k] - s->t[k - 1]) : s->t[k];
  const double half = largest_until(s, 0.5 * e->lost), late = largest_until(s, 0.75 * e->lost);
  e->chaotic =
      half > 0 && lost_part / half > polynomial_growth && late > 2 * half && lost_part > 2 * late;
}

/* Is the second run of this attempt to be replaced by another one? */
static bool is_in_vain(const Second *second, const RunResult *other) {
  return second->hopeless || (other->ending == RUN_FAILED && !second->over_limit);
}

void estimate_error(const Problem *first, Rows *track, Listener *listener, RunResult *result) {
  Estimate *e   = &result->estimate;
  Second second = {.listener = {.sample = compare_sample, .step = watch_cost, .event = ignore_event},
                   .track    = track,
                   .model    = first->model,
                   .limit = fmax(cost_limit * result->work, short_work / (double)first->model->n)};
  RunResult other = {.ending = RUN_DONE};
  second.spent    = &other.work;
  rows_end(track);
  second.nquantities = first->model->type->nquantities;
  if (second.nquantities > RUN_SCALES) second.nquantities = RUN_SCALES;
  RunSettings settings = settings_beside(first, 0, track->rows - 1);
  double *numbers      = calloc((size_t)(track->width + 3 * track->rows), sizeof *numbers);
  if (numbers) {
    second.range    = numbers;
    second.t        = numbers + track->width;
    second.distance = second.t + track->rows;
    second.part     = second.distance + track->rows;
    take_ranges(&second);
    second.t_end = first->settings.t_end;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      settings           = settings_beside(first, attempt, track->rows - 1);
      second.may_give_up = strcmp(settings.method.name, first->settings.method.name) != 0;
      second.hopeless    = false;
      second.compared    = 0;
      second.before      = 0;
      memset(second.drift, 0, sizeof second.drift);
      simulate_beside(&settings, track, &second.listener, &other);
      e->work += other.work;
      e->seconds += other.seconds;
      second.limit -= other.work;
      if (!is_in_vain(&second, &other) || second.limit < least_budget * result->work) break;
    }
    judge_growth(&second, e);
    for (long k = 0; k < second.compared; k++)
      listener->difference(listener, &(Difference){second.t[k], second.distance[k]});
  }
  snprintf(e->method, METHOD_NAME, "%s", settings.method.name);
  e->rtol    = settings.rtol;
  e->reached = second.compared > 0 ? second.t[second.compared - 1] : 0;
  if (!numbers) snprintf(e->message, RUN_TEXT, "no memory for a second run");
  else if (second.over_limit)
    snprintf(e->message, RUN_TEXT, "it was stopped at twice the cost of the first");
  else if (other.ending != RUN_DONE) snprintf(e->message, RUN_TEXT, "%s", other.message);
  e->stopped = second.over_limit && second.compared > 1;
  if (e->stopped) e->error = extrapolate(&second, e->reached, first->settings.t_end);
  else if (!e->message[0])
    e->error = fmax(second.distance[second.compared - 1], DBL_EPSILON * second.largest);
  for (int i = 0; i < second.nquantities; i++)
    e->drift[i] = second.drift[i] / CPModelScale(first->model, i);
  e->pending = false;
  listener->end(listener, result);
  free(numbers);
}
