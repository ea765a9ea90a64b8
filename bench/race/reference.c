/* Not stiff: extrapolation of order 16 on y' = f, unprojected, with ever smaller steps, and Adams
 * as the second method. Stiff: IDA and BDF. */
#include "reference.h"

#include "contestants.h"
#include "forked.h"
#include "support.h"

#include <math.h>
#include <models/extrapolation.h>
#include <models/plugin.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_STEPS = 8, MOST_STEPS = 1 << 16 };

/* ------------------------------------------------------------------------------ extrapolation -- */

static sunrealtype difference(const CPPlugin *model, N_Vector a, N_Vector b) {
  sunrealtype most = 0;
  for (sunindextype i = 0; i < plugin_num_compared(model); i++) {
    const sunrealtype d = fabs(N_VGetArrayPointer(a)[i] - N_VGetArrayPointer(b)[i]);
    if (isnan(d)) return NAN; /* fmax would ignore it */
    most = fmax(most, d);
  }
  return most;
}

/* Doubles the number of steps until two results agree, or agree no better than the two before,
 * which means roundoff. */
static void extrapolate_until(const Contestant *self, const CPPlugin *model, sunrealtype t_end,
                              sunrealtype tol, N_Vector y, RaceFigures *figures) {
  (void)self;
  RaceOde ode;
  N_Vector before    = N_VClone(y);
  sunrealtype change = INFINITY;
  const double start = cpu_seconds();
  if (!before || race_ode_create(model, &ode)) {
    figures_fail(figures, -1, "no memory");
    return;
  }
  N_VScale(1, model->y0, before);
  for (int steps = FIRST_STEPS; steps <= MOST_STEPS; steps *= 2) {
    N_VScale(1, model->y0, y);
    const bool failed          = extrapolate(race_ode_rhs, &ode, 0, t_end, steps, y);
    const sunrealtype last     = change;
    change                     = failed ? INFINITY : difference(model, y, before);
    const bool at_the_roundoff = change >= last / 4 && last < 1e-9;
    if (change <= tol || at_the_roundoff) break;
    N_VScale(1, y, before);
  }
  figures->t       = t_end;
  figures->rhs     = ode.evaluations;
  figures->seconds = cpu_seconds() - start;
  if (!(change < 1e-8)) figures_fail(figures, -1, "does not converge");
  N_VDestroy(before);
  race_ode_free(&ode);
}

static bool takes_extrapolation(const CPPlugin *model) {
  return !model->stiff && race_ode_takes(model);
}

static const Contestant extrapolation = {
    .name = "extrapolation of order 16", .takes = takes_extrapolation, .solve = extrapolate_until};

/* ------------------------------------------------------------------------------------- choosing -- */

typedef struct {
  const char *method; /* if NULL, extrapolation */
  int stiff;          /* for which problems */
  sunrealtype tol;
} Candidate;

/* In this order, until two succeed */
static const Candidate candidates[] = {
    {NULL, 0, 1e-13},           {"cpodes-adams", 0, 1e-13},  {"cpodes-adams-fc", 0, 1e-13},
    {"cvodes-adams", 0, 1e-13}, {"cpodes-dop853", 0, 1e-13}, {"cpodes-bdf", 0, 1e-13},
    {"cpodes-bdf", 1, 1e-12},   {"ida-klu", 1, 1e-12},       {"ida-dense", 1, 1e-12},
    {"cpodes-bdf", 1, 1e-11},   {"ida-klu", 1, 1e-10},       {"ida-dense", 1, 1e-10}};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

static const Contestant *willing(const Candidate *candidate, const CPPlugin *model) {
  const Contestant *c = candidate->method ? contestant_find(candidate->method) : &extrapolation;
  if (!candidate->stiff != !model->stiff || !c || (c->missing && c->missing())) return NULL;
  return c->takes(model) ? c : NULL;
}

int reference_compute(Problem *p, double limit, const char *log) {
  const Contestant *first = NULL;
  N_Vector y              = N_VClone(p->model->y0);
  p->reference            = N_VClone(p->model->y0);
  if (!y || !p->reference) return -1;
  p->reference_error = NAN;
  for (int i = 0; i < CANDIDATES && isnan(p->reference_error); i++) {
    const Contestant *c = willing(&candidates[i], p->model);
    RaceFigures figures;
    if (!c || c == first) continue;
    run_forked(c, p->model, p->t_end, candidates[i].tol, limit, log, y, &figures);
    if (figures.flag) continue;
    if (!first) {
      first = c;
      N_VScale(1, y, p->reference);
      snprintf(p->origin, sizeof p->origin, "%s (%.0e)", c->name, (double)candidates[i].tol);
    } else {
      const size_t used  = strlen(p->origin);
      p->reference_error = difference(p->model, y, p->reference);
      snprintf(p->origin + used, sizeof p->origin - used, ", beside %s (%.0e)", c->name,
               (double)candidates[i].tol);
    }
  }
  N_VDestroy(y);
  if (!isnan(p->reference_error)) return 0;
  N_VDestroy(p->reference);
  p->reference = NULL;
  snprintf(p->origin, sizeof p->origin, "no two methods succeeded");
  return 0;
}
