/* A reference for the end if the model has none: it is computed at a tolerance so tight that a
 * second method agrees. */
#include "comparison.h"

#include "../command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *method;
  int stiff; /* whether it is for stiff models */
  double tol;
} Candidate;

/* They are tried in this order, until two have reached the end. */
static const Candidate candidates[] = {
    {"dop853", 0, 1e-13}, {"adams", 0, 1e-13}, {"adams-newton", 0, 1e-13}, {"bdf", 0, 1e-12},
    {"radau", 1, 1e-12},  {"bdf", 1, 1e-12},   {"adams-newton", 1, 1e-12}, {"dop853", 1, 1e-12}};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

/* Factor on the time that a run may take */
static const double patience = 5;

double reference_distance(const Comparison *c, const double *a, const double *b) {
  double most = 0;
  for (long i = 0; i < c->ncompared; i++) {
    const double d = fabs(a[i] - b[i]);
    if (isnan(d)) return NAN; /* fmax would lose it */
    most = fmax(most, d);
  }
  return most;
}

/* The outcome of the candidates */
typedef struct {
  int tried, crashed;
  char reason[2 * RUN_TEXT]; /* of the newest one that did not reach the end */
} Attempts;

/* Returns the end by a candidate, which the caller frees, or NULL if it did not get there. */
static double *end_by(const Comparison *c, const Candidate *candidate, Attempts *attempts) {
  RunInfo info;
  RunResult result;
  double *y;
  long n;
  run_to_end(c, method_named(candidate->method), candidate->tol, false, &info, &result, &y, &n);
  attempts->tried++;
  attempts->crashed += result.ending == RUN_CRASHED;
  if (!y)
    describe_ending(candidate->method, info.settings != NULL, &result, attempts->reason,
                    sizeof attempts->reason);
  run_info_free(&info);
  return y;
}

static void take(Comparison *c, const Candidate *candidate, double *y) {
  const size_t used = strlen(c->origin);
  snprintf(c->origin + used, sizeof c->origin - used,
           c->reference ? ", beside %s at %.0e" : "computed by %s at %.0e", candidate->method,
           candidate->tol);
  if (c->reference) {
    c->accuracy = reference_distance(c, y, c->reference);
    free(y);
  } else c->reference = y;
}

/* Returns the exit status */
static int complain_of_none(const Comparison *c, const Attempts *attempts) {
  const char *name  = c->settings.model.type->name;
  const int crashed = attempts->crashed == attempts->tried;
  if (was_interrupted()) return complain("interrupted"), STATUS_INTERRUPTED;
  if (crashed) complain("%s: no method comes to the end; %s", name, attempts->reason);
  else
    complain(
        "%s: the end at t = %g is not known, and no two methods find it; %s%sa shorter --t-end "
        "or a longer --time-limit may help",
        name, c->settings.t_end, attempts->reason, attempts->reason[0] ? "; " : "");
  return crashed ? STATUS_CRASHED : STATUS_FAILED;
}

int reference_compute(Comparison *c) {
  Attempts attempts = {0};
  Comparison longer = *c;
  longer.limit      = patience * c->limit;
  c->accuracy       = NAN;
  for (int i = 0; i < CANDIDATES && isnan(c->accuracy) && !was_interrupted(); i++) {
    double *y = candidates[i].stiff == c->stiff ? end_by(&longer, &candidates[i], &attempts) : NULL;
    if (y) take(c, &candidates[i], y);
  }
  return isnan(c->accuracy) ? complain_of_none(c, &attempts) : STATUS_DONE;
}
