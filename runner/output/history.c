#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_COORDINATES = 600000, FEWEST_FRAMES = 40 };
enum { STEP_COLUMNS = 4, STEP_REJECTED = 3 };

long history_column_u(const History *history) { return 1 + history->nq; }
long history_column_lambda(const History *history) {
  return history_column_u(history) + history->nu;
}
long history_column_quantity(const History *history) {
  return history_column_lambda(history) + history->nlambda;
}
long history_column_gap(const History *history) {
  return history_column_quantity(history) + history->info->nquantities;
}
long history_column_violation(const History *history) {
  return history_column_gap(history) + history->ngap;
}

/* --------------------------------------------------------------------------------------- begin -- */

/* Chooses those of `count` items that are selected, up to the number that is drawn; without a
 * selection, that many evenly spaced ones. Returns their number. */
static int choose(const RunInfo *info, NameOf *name_of, long count, long *chosen) {
  const char *selected = info->settings->curves;
  const int most       = count < RUN_CURVES ? (int)count : RUN_CURVES;
  int found            = 0;
  for (long i = 0; selected && i < count && found < most; i++) {
    char name[RUN_TEXT];
    name_of(info, i, name, sizeof name);
    if (is_selected(selected, name)) chosen[found++] = i;
  }
  if (selected) return found;
  for (int i = 0; i < most; i++) chosen[i] = most > 1 ? i * (count - 1) / (most - 1) : 0;
  return most;
}

static int create_rows(History *h, const RunInfo *info) {
  const long width = 1 + 3 * (long)info->npoints + 6 * (long)info->narrows;
  const long most  = FRAME_COORDINATES / width;
  long frames      = most < HISTORY_FRAMES ? most : HISTORY_FRAMES;
  if (frames < FEWEST_FRAMES) frames = FEWEST_FRAMES;
  return rows_create(&h->curves, history_column_violation(h) + NUM_LEVELS, HISTORY_ROWS) ||
         rows_create(&h->steps, STEP_COLUMNS, HISTORY_STEPS) ||
         rows_create(&h->differences, 2, HISTORY_ROWS) ||
         (info->npoints > 0 && rows_create(&h->frames, width, frames));
}

/* Makes the arrays of numbers, which are one. */
static int create_numbers(History *h, const RunInfo *info) {
  double **const arrays[] = {&h->first_quantity, &h->last_quantity, &h->least_quantity,
                             &h->most_drift,     &h->most_rise,     &h->most_spread,
                             &h->least_at,       &h->most_at};
  enum { ARRAYS = sizeof arrays / sizeof arrays[0] };
  h->last = calloc((size_t)(info->n + ARRAYS * info->nquantities + 1), sizeof *h->last);
  if (!h->last) return -1;
  for (int i = 0; i < ARRAYS; i++) *arrays[i] = h->last + info->n + i * info->nquantities;
  return 0;
}

static void point_at_sizes(History *h) {
  h->scales.quantity  = h->sizes;
  h->scales.allowance = h->sizes + h->info->nquantities;
  h->scales.tighter   = h->sizes + 2 * h->info->nquantities;
}

/* The sizes of quantities are not known before the end. */
static int create_sizes(History *h, const RunInfo *info) {
  h->sizes = calloc(3 * (size_t)info->nquantities + 1, sizeof *h->sizes);
  for (int i = 0; h->sizes && i < info->nquantities; i++)
    h->sizes[i] = h->sizes[i + 2 * info->nquantities] = NAN;
  if (h->sizes) point_at_sizes(h);
  return h->sizes ? 0 : -1;
}

static int begin(Listener *self, const RunInfo *info) {
  History *h = (History *)self;
  h->info    = info;
  h->nq      = choose(info, component_name, info->nq, h->q);
  h->nu      = choose(info, velocity_name, info->nu, h->u);
  h->nlambda = choose(info, multiplier_name, info->nlambda, h->lambda);
  h->ngap    = choose(info, gap_name, info->ncontacts, h->gap);
  h->nphase  = choose(info, contact_phase_name, info->ncontacts, h->phase);
  for (int l = 0; l < NUM_LEVELS; l++) h->most_violation[l] = h->when[l] = NAN;
  if (!create_numbers(h, info) && !create_sizes(h, info) &&
      !phases_create(&h->phases, info->ncontacts) && !create_rows(h, info))
    return 0;
  return complain("there is no memory to keep the run's samples");
}

/* ------------------------------------------------------------------------------------- the run -- */

static void put_curves(History *h, const Sample *s) {
  const RunInfo *info = h->info;
  double *row         = rows_next(&h->curves);
  *row++              = s->t;
  for (int i = 0; i < h->nq; i++) *row++ = s->y[h->q[i]];
  for (int i = 0; i < h->nu; i++) *row++ = s->y[info->nq + h->u[i]];
  for (int i = 0; i < h->nlambda; i++) *row++ = s->lambda[h->lambda[i]];
  for (int i = 0; i < info->nquantities; i++) *row++ = s->quantity[i];
  for (int i = 0; i < h->ngap; i++) *row++ = s->gap[h->gap[i]];
  for (int l = 0; l < NUM_LEVELS; l++) *row++ = s->violation[l];
  rows_put(&h->curves, history_column_violation(h), fmax);
}

static void put_frame(History *h, const Sample *s) {
  double *row          = rows_next(&h->frames);
  row[0]               = s->t;
  const size_t npoints = (size_t)h->info->npoints, narrows = (size_t)h->info->narrows;
  memcpy(row + 1, s->points, 3 * npoints * sizeof *row);
  if (narrows > 0) memcpy(row + 1 + 3 * npoints, s->arrows, 6 * narrows * sizeof *row);
  rows_put(&h->frames, 0, NULL);
}

/* fmax ignores NaN; here NaN persists, since a quantity that was NaN once is not conserved. */
static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }

static void note_quantities(History *h, const Sample *s) {
  for (int i = 0; i < h->info->nquantities; i++) {
    const double value = isfinite(s->quantity[i]) ? s->quantity[i] : NAN;
    if (h->curves.seen == 0) h->first_quantity[i] = value;
    h->last_quantity[i] = value;
    h->most_drift[i]    = larger(h->most_drift[i], fabs(value - h->first_quantity[i]));
    const double least  = h->curves.seen == 0 ? value : fmin(value, h->least_quantity[i]);
    const double most   = h->least_quantity[i] + h->most_spread[i];
    if (h->curves.seen == 0 || value < h->least_quantity[i]) h->least_at[i] = s->t;
    if (h->curves.seen == 0 || value > most) h->most_at[i] = s->t;
    h->most_spread[i] = larger(
        h->most_spread[i] + (h->least_quantity[i] - least) * (h->curves.seen > 0), value - least);
    h->least_quantity[i] = least;
    h->most_rise[i]      = larger(h->most_rise[i], value - h->least_quantity[i]);
  }
}

static void note_violations(History *h, const Sample *s) {
  bool evaluated = true;
  for (int l = 0; l < NUM_LEVELS; l++) {
    const double value = s->violation[l];
    if (!level_exists(h->info, (RunLevel)l)) continue;
    evaluated = evaluated && !isnan(value);
    if (isnan(value) || value <= h->most_violation[l]) continue;
    h->most_violation[l] = value;
    h->when[l]           = s->t;
  }
  for (long i = 0; i < h->info->nlambda; i++) evaluated = evaluated && !isnan(s->lambda[i]);
  h->unevaluated += !evaluated;
}

static int sample(Listener *self, const Sample *s) {
  History *h = (History *)self;
  for (int i = 0; i < h->info->ncontacts; i++)
    phases_note(&h->phases, i, s->t, (RunPhase)s->phase[i]);
  note_quantities(h, s);
  note_violations(h, s);
  put_curves(h, s);
  if (h->info->npoints > 0 && s->points) put_frame(h, s);
  memcpy(h->last, s->y, (size_t)h->info->n * sizeof *h->last);
  h->last_t = s->t;
  return 0;
}

static double sum(double a, double b) { return a + b; }

static int step(Listener *self, const Step *s) {
  History *h  = (History *)self;
  double *row = rows_next(&h->steps);
  row[0]      = s->t;
  row[1]      = s->h;
  row[2]      = s->order;
  row[3]      = (double)(s->attempts - 1);
  rows_put(&h->steps, STEP_REJECTED, sum);
  return 0;
}

static int event(Listener *self, const RunEvent *e) {
  History *h = (History *)self;
  if (e->kind == EVENT_METHOD) {
    if (h->changes < HISTORY_CHANGES) h->change[h->changes] = *e;
    h->changes++;
    return 0;
  }
  if (h->events < HISTORY_EVENTS) h->event[h->events] = *e;
  h->events++;
  if (e->kind == EVENT_CONTACT) phases_note(&h->phases, e->root, e->t, (RunPhase)e->after);
  for (int i = 0; i < h->info->ncontacts && e->kind == EVENT_TIME_STEPPING; i++)
    phases_note(&h->phases, i, e->t, e->direction > 0 ? PHASE_STEPPED : PHASE_OPEN);
  return 0;
}

static int scales(Listener *self, const Scales *s) {
  History *h                 = (History *)self;
  const size_t length        = (size_t)h->info->nquantities * sizeof *h->sizes;
  const double *const from[] = {s->quantity, s->allowance, s->tighter};
  for (int k = 0; k < 3; k++) memcpy(h->sizes + k * h->info->nquantities, from[k], length);
  h->scales = *s;
  point_at_sizes(h);
  return 0;
}

static int difference(Listener *self, const Difference *d) {
  History *h  = (History *)self;
  double *row = rows_next(&h->differences);
  row[0]      = d->t;
  row[1]      = d->distance;
  rows_put(&h->differences, 1, fmax);
  return 0;
}

/* The newest step does not become the last row, since its rejected attempts are already counted. */
static int end(Listener *self, const RunResult *result) {
  History *h = (History *)self;
  rows_end(&h->curves);
  rows_end(&h->frames);
  rows_end(&h->differences);
  h->result = *result;
  h->ended  = true;
  return 0;
}

/* ---------------------------------------------------------------------------------- life cycle -- */

void history_create(History *history) {
  *history          = (History){.last_t = NAN};
  history->listener = (Listener){begin, sample, step, event, scales, difference, end};
}

void history_free(History *history) {
  rows_free(&history->curves);
  rows_free(&history->frames);
  rows_free(&history->steps);
  rows_free(&history->differences);
  phases_free(&history->phases);
  free(history->last);
  free(history->sizes);
  *history = (History){.info = NULL};
}
