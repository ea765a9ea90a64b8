#include "estimate.h"

#include <float.h>
#include <math.h>
#include <models/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 3 };

const double estimate_limit = 3e-3;

/* The further runs together cost at most as much as cost_limit first runs, or as short_work over the
 * number of components, which takes about a second. The cost is counted by RunResult.work, so that
 * repeated runs give the same result. Most second runs cost 1.5 times as much as the first; those that
 * cost more have to resolve what the first one did not, and are needed most. */
static const double cost_limit = 5, short_work = 5e6;
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
/* Digits are lost where the runs differ by this fraction of a scale. */
static const double lost_part = 0.1;
/* The tight pair: a motion is chaotic if its runs differ by more than `parted` of a scale. Each has
 * the limit of cost that all further runs before them have together. They are made for doubtful
 * errors, and for smaller ones that are far above a tolerance which is tight itself. If a run does not reach the end, since roundoff limits it, the next tolerance is tried. */
static const double parted = 1e-4, tight_itself = 1e-9;
static const double tight[] = {1e-12, 1e-11, 1e-10, 1e-9};
enum { TIGHT = sizeof tight / sizeof tight[0] };

/* ---------------------------------------------------------------------------- the second run -- */

/* Compares a run with the states in `against`, and ends it when it costs too much */
typedef struct {
  Listener listener;
  const Rows *against;
  const Measure *measure;
  long ncompared;       /* of the norm of plugin_error */
  const double *spent;  /* the cost of the run so far */
  double before, limit; /* before: the cost before the newest step; limit: its bound */
  double dearest;       /* cost of the most expensive step so far */
  double *t, *distance; /* [compared] distance: in the norm of plugin_error */
  double *part;         /* [compared] the largest distance of the motions in units of scales */
  long compared;
  Distance worst;
  double apart; /* the largest distance of the motions, without reactions */
  double t_end;
  bool over_limit, may_give_up, hopeless; /* hopeless: at its pace it will not reach the end */
  const CPPlugin *model;
  double *first, *least, *drift; /* [nquantities] of this run */
  double *x;                     /* [n + nreactions] the newest state and its reactions */
  double *keep; /* [n + nreactions for each row] those of this run; NULL: not kept */
} Second;

/* Updates the largest change from the start for conserved quantities, and the largest rise for
 * others. */
static void take_drifts(Second *second, const Sample *s) {
  for (int i = 0; i < second->model->type->nquantities; i++) {
    const double value = s->quantity[i];
    if (second->compared == 0) second->first[i] = second->least[i] = value, second->drift[i] = 0;
    const bool kept    = plugin_conserves(second->model, i) != 0;
    const double drift = kept ? fabs(value - second->first[i]) : value - second->least[i];
    second->drift[i]   = fmax(second->drift[i], drift);
    second->least[i]   = fmin(second->least[i], value);
  }
}

static int compare_sample(Listener *self, const Sample *s) {
  Second *second   = (Second *)self;
  const Measure *m = second->measure;
  const long all   = m->n + m->nreactions;
  const double *to = second->against->data + second->compared * second->against->width + 1;
  double *x = second->x, largest = 0;
  memcpy(x, s->y, (size_t)m->n * sizeof *x);
  for (long i = m->n; i < all; i++) x[i] = NAN;
  if (all > m->n && !isnan(to[m->n])) measure_reactions(m, s->t, s->y, x + m->n);
  const Distance d      = measure_distance(m, x, to, all, s->t);
  const Distance motion = measure_distance(m, x, to, m->n, s->t);
  take_drifts(second, s);
  for (long i = 0; i < second->ncompared; i++) largest = fmax(largest, fabs(s->y[i] - to[i]));
  if (second->keep) memcpy(second->keep + second->compared * all, x, (size_t)all * sizeof *x);
  if (!(d.part <= second->worst.part)) second->worst = d;
  second->t[second->compared]        = s->t;
  second->distance[second->compared] = largest;
  second->part[second->compared++]   = motion.part;
  if (!(motion.part <= second->apart)) second->apart = motion.part;
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

/* The first attempt uses the method that suits the model best, which is DOP853 unless the model is
 * stiff. An explicit method of the first run has resolved all oscillations, and so must the second.
 * RADAU is often more accurate than another method at a hundredth of its tolerance. If the first
 * attempt does not get far, or fails, the second uses the method of the first run; if that fails,
 * another tolerance is tried. */
static RunSettings settings_beside(const Problem *first, int attempt, long outputs) {
  const double itself[ATTEMPTS] = {tighter_itself, tighter_again, tighter_at_last};
  RunSettings second            = first->settings;
  const Method *its             = &first->settings.method;
  char reason[METHOD_REASON], unresolved[METHOD_REASON];
  if (attempt > 0 || method_is_radau(its)) second.method = *its;
  else if (method_is_explicit(its)) method_find("dop853", &second.method);
  else {
    second.method = *method_at(0);
    method_resolve(&second.method, first->model, second.t_end, second.rtol, reason, unresolved);
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

/* Of two runs at tight tolerances. An explicit method of high order unless the model is stiff. */
static RunSettings settings_tight(const Problem *first, double rtol, long outputs) {
  RunSettings s = settings_beside(first, 0, outputs);
  s.atol        = first->settings.atol * rtol / first->settings.rtol;
  s.rtol        = rtol;
  method_find(first->stiff ? "radau13" : "dop853", &s.method);
  return s;
}

static void run_beside(Second *second, const RunSettings *settings, RunResult *other) {
  second->hopeless = second->over_limit = false;
  second->compared                      = 0;
  second->before = second->dearest = 0;
  second->worst                    = (Distance){.component = -1};
  second->apart                    = 0;
  simulate_beside(settings, second->against, &second->listener, other);
}

/* ------------------------------------------------------------------------------- its results -- */

/* Returns from when on digits are lost, interpolated geometrically between two rows, or NaN. */
static double find_loss(const Second *s) {
  long k = 0;
  while (k < s->compared && s->part[k] < lost_part) k++;
  if (k == s->compared) return NAN;
  const double before = k > 0 ? s->part[k - 1] : 0;
  const double way    = before > 0 ? log(lost_part / before) / log(s->part[k] / before) : 1;
  return k > 0 ? s->t[k - 1] + way * (s->t[k] - s->t[k - 1]) : s->t[k];
}

/* Is the second run of this attempt to be replaced by another one? */
static bool is_in_vain(const Second *second, const RunResult *other) {
  return second->hopeless || (other->ending == RUN_FAILED && !second->over_limit);
}

/* Takes the error from the newest run, as far as that was compared. */
static void take_error(Second *s, const RunSettings *settings, const RunResult *other, Estimate *e) {
  snprintf(e->method, METHOD_NAME, "%s", settings->method.name);
  e->rtol       = settings->rtol;
  e->reached    = s->compared > 0 ? s->t[s->compared - 1] : 0;
  e->stopped    = s->over_limit && s->compared > 1;
  e->worst      = s->worst;
  e->lost       = find_loss(s);
  e->message[0] = '\0';
  if (s->over_limit) snprintf(e->message, RUN_TEXT, "it was stopped at its limit of cost");
  else if (other->ending != RUN_DONE) snprintf(e->message, RUN_TEXT, "%s", other->message);
  if (!e->stopped && e->message[0]) return;
  e->error = fmax(s->distance[s->compared - 1],
                  DBL_EPSILON * fmax(s->measure->scales.largest_q, s->measure->scales.length));
  e->part  = e->worst.part;
}

/* The limit of cost of further runs */
static double limit_of(const Problem *first, const RunResult *result) {
  return fmax(cost_limit * result->work, short_work / (double)first->model->n);
}

/* Makes two runs at tight tolerances. If they agree, the first of them is the solution. */
static void run_tight(const Problem *first, Second *second, RunResult *other, const Rows *track,
                      const RunResult *result, Estimate *e) {
  const long n = second->measure->n, all = n + second->measure->nreactions;
  Rows solution       = {.rows = track->rows, .width = all + 1};
  int done            = 0;
  second->limit       = limit_of(first, result);
  solution.data       = calloc((size_t)(track->rows * solution.width), sizeof *solution.data);
  second->keep        = calloc((size_t)(track->rows * all), sizeof *second->keep);
  second->may_give_up = true;
  for (int i = 0; solution.data && second->keep && i < TIGHT && done < 2; i++) {
    const RunSettings settings = settings_tight(first, tight[i], track->rows - 1);
    if (settings.rtol >= first->settings.rtol) break;
    run_beside(second, &settings, other);
    e->work += other->work;
    e->seconds += other->seconds;
    if (second->over_limit || second->hopeless) break;
    if (other->ending != RUN_DONE) continue;
    e->tight[done++] = tight[i];
    if (done == 2) {
      e->apart   = second->apart;
      e->chaotic = e->apart > parted;
      break;
    }
    take_error(second, &settings, other, e);
    for (long k = 0; k < track->rows; k++) {
      double *row = solution.data + k * solution.width;
      row[0]      = second->t[k];
      memcpy(row + 1, second->keep + k * all, (size_t)all * sizeof *row);
    }
    second->against = &solution;
  }
  free(solution.data);
  free(second->keep);
}

void estimate_error(const Problem *first, const Rows *track, Measure *measure, Listener *listener,
                    RunResult *result) {
  Estimate *e           = &result->estimate;
  const int nquantities = first->model->type->nquantities;
  RunResult other       = {.ending = RUN_DONE};
  RunSettings settings  = settings_beside(first, 0, track->rows - 1);
  double *drift         = measure->numbers + 2L * nquantities; /* measure->scales.tighter */
  double *numbers =
      calloc((size_t)(3 * track->rows + 3L * nquantities + measure->n + measure->nreactions) + 1,
             sizeof *numbers);
  Second second = {.listener = {.sample = compare_sample, .step = watch_cost, .event = ignore_event},
                   .against  = measure->nreactions > 0 ? &measure->full : track,
                   .measure  = measure,
                   .model    = first->model,
                   .spent    = &other.work,
                   .t_end    = first->settings.t_end,
                   .limit    = limit_of(first, result)};
  e->pending    = false;
  if (!numbers) {
    snprintf(e->message, RUN_TEXT, "no memory for a second run");
    listener->end(listener, result);
    return;
  }
  second.ncompared = (long)plugin_num_compared(first->model);
  second.t         = numbers;
  second.distance  = numbers + track->rows;
  second.part      = numbers + 2 * track->rows;
  second.first     = numbers + 3 * track->rows;
  second.least     = second.first + nquantities;
  second.drift     = second.least + nquantities;
  second.x         = second.drift + nquantities;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    settings           = settings_beside(first, attempt, track->rows - 1);
    second.may_give_up = strcmp(settings.method.name, first->settings.method.name) != 0;
    run_beside(&second, &settings, &other);
    e->work += other.work;
    e->seconds += other.seconds;
    second.limit -= other.work;
    if (!is_in_vain(&second, &other) || second.limit < least_budget * result->work) break;
  }
  take_error(&second, &settings, &other, e);
  for (int i = 0; i < nquantities; i++) drift[i] = second.drift[i] / measure->scales.quantity[i];
  for (long k = 0; k < second.compared; k++)
    listener->difference(listener, &(Difference){second.t[k], second.part[k]});
  if (e->part > estimate_limit || (first->settings.rtol <= tight_itself && e->part > parted))
    run_tight(first, &second, &other, track, result, e);
  listener->scales(listener, &measure->scales);
  listener->end(listener, result);
  free(numbers);
}
