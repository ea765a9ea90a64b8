#include "comparison.h"

#include "../command.h"
#include "../simulation/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const Method *method_named(const char *name) {
  for (int i = 0; method_at(i); i++)
    if (!strcmp(method_at(i)->name, name)) return method_at(i);
  return NULL;
}

/* ---------------------------------------------------------------------------------------- one run -- */

/* Keeps the newest state. */
typedef struct {
  Listener listener;
  long n;
  double *y;
} EndState;

static int begin(Listener *self, const RunInfo *info) {
  EndState *end = (EndState *)self;
  end->n        = info->n;
  end->y        = calloc((size_t)info->n, sizeof *end->y);
  if (end->y) return 0;
  return complain("there is no memory for a state");
}

static int sample(Listener *self, const Sample *s) {
  EndState *end = (EndState *)self;
  memcpy(end->y, s->y, (size_t)end->n * sizeof *end->y);
  return 0;
}

int run_to_end(const Comparison *comparison, const Method *method, double tol, bool judged,
               RunInfo *info, RunResult *result, double **y, long *n) {
  EndState end          = {.listener = {.begin = begin, .sample = sample}};
  Listener *listeners[] = {&end.listener};
  RunSettings settings  = comparison->settings;
  settings.method       = *method;
  settings.rtol = settings.atol = tol;
  settings.outputs              = 1;
  settings.unjudged             = !judged;
  const int status = run_process(&settings, listeners, 1, comparison->limit, info, result);
  if (status != STATUS_DONE) {
    free(end.y);
    end.y = NULL;
  }
  *y = end.y;
  *n = end.n;
  return status;
}

int comparison_run(Comparison *c, int place) {
  ComparedRun *run = &c->run[c->nruns++];
  RunInfo info;
  double *y;
  long n;
  run->method      = &c->method[place / c->ntols];
  run->tol         = c->tol[place % c->ntols];
  const int status = run_to_end(c, run->method, run->tol, c->known, &info, &run->result, &y, &n);
  run->error       = c->known                         ? run->result.error
                     : y && c->reference && n == c->n ? reference_distance(c, y, c->reference)
                                                      : NAN;
  free(y);
  run_info_free(&info);
  return status;
}

/* -------------------------------------------------------------------------------------- preparing -- */

static void choose_methods(Comparison *c) {
  static const char *const stiff[] = {"bdf", "bdf2", "radau"};
  static const char *const other[] = {"bdf", "adams", "dop853"};
  enum { CHOSEN = sizeof stiff / sizeof stiff[0] };
  if (c->nmethods) return;
  for (int i = 0; i < CHOSEN; i++)
    c->method[c->nmethods++] = *method_named(c->stiff ? stiff[i] : other[i]);
}

/* Gives 1e-05 instead of 1.0000000000000001e-05. */
static double round_tolerance(double tol) {
  char text[32];
  snprintf(text, sizeof text, "%.4g", tol);
  return strtod(text, NULL);
}

static int choose_tolerances(Comparison *c) {
  const double step = c->per_decade > 0 ? c->per_decade : 1;
  if (c->ntols) return 0;
  if (c->from <= 0) c->from = fmax(1e-4, c->to);
  if (c->to <= 0) c->to = fmin(c->stiff ? 1e-8 : 1e-10, c->from);
  const double count = floor(log10(c->from / c->to) * step + 1e-6) + 1;
  if (count > MOST_TOLERANCES)
    return complain("from %g to %g, %g per decade, are %.0f tolerances, more than %d", c->from,
                    c->to, step, count, MOST_TOLERANCES);
  for (c->ntols = 0; c->ntols < (int)count; c->ntols++)
    c->tol[c->ntols] = round_tolerance(c->from * pow(10, -c->ntols / step));
  return 0;
}

/* Takes a run's description of the model. The model knows its end if the run has an error there. */
static void take_info(Comparison *c, const RunInfo *info, const RunResult *result) {
  c->stiff     = info->stiff;
  c->known     = info->known && !isnan(result->error);
  c->accuracy  = info->reference_error;
  c->ncompared = info->ncompared;
  c->n         = info->n;
}

/* Makes a first run. If that does not reach an end that the model may know, makes others, since
 * some mechanisms pass singular positions only by chance. */
static int look_at_model(Comparison *c) {
  static const double tols[] = {1e-6, 1e-9, 1e-4};
  enum { TRIES = sizeof tols / sizeof tols[0] };
  for (int i = 0;; i++) {
    RunInfo info;
    RunResult result;
    double *y;
    const int status = run_to_end(c, method_at(0), tols[i], true, &info, &result, &y, &c->n);
    const bool begun = info.settings != NULL, again = begun && info.known && i + 1 < TRIES;
    if (begun) take_info(c, &info, &result);
    free(y);
    run_info_free(&info);
    if (status == STATUS_DONE) return status;
    if (!begun || status == STATUS_INTERRUPTED) {
      char line[2 * RUN_TEXT];
      describe_ending(c->settings.model.type->name, begun, &result, line, sizeof line);
      complain("%s", line);
      return status;
    }
    if (!again) return STATUS_DONE; /* Another method may reach the end. */
  }
}

int comparison_prepare(Comparison *c) {
  const int status = look_at_model(c);
  if (status != STATUS_DONE) return status;
  choose_methods(c);
  if (choose_tolerances(c)) return STATUS_USAGE;
  if (c->known) {
    snprintf(c->origin, sizeof c->origin, "the model's own");
    return STATUS_DONE;
  }
  return reference_compute(c);
}

void comparison_free(Comparison *c) { free(c->reference); }
