/* The metrics of mechanical systems' projections on ladders of close tolerances: steps, evaluations of f and
 * errors at the end, relative to those of CP_METRIC_ERROR.
 *
 * Each ladder has nine tolerances from 0.8 to 1.25 times its middle, in equal ratios; what is printed are
 * geometric means over it. The default metric is chosen by these figures (cpodes/mechanics/projection/metric.c).
 * The bushing crank is stiff along the normals of its constraints: there is no ladder for Adams.
 *
 * Bound: the bushing crank at 1e-8 takes fewer steps with NEWTON than without projection.
 */
#include "check.h"
#include "options.h"
#include "run.h"
#include <math.h>
#include <string.h>

enum { VARIANTS = 5 };

static const sunrealtype middles[] = {1.0e-6, 1.0e-8, 1.0e-10};
enum { MIDDLES = sizeof middles / sizeof middles[0] };

typedef struct {
  const char *name;
  CPMechMetric metric;
  bool projected;
} Variant;

static const Variant variants[VARIANTS] = {{"ERROR", CP_METRIC_ERROR, true},
                                           {"KINETIC", CP_METRIC_KINETIC, true},
                                           {"NEWTON", CP_METRIC_NEWTON, true},
                                           {"L2", CP_METRIC_L2, true},
                                           {"none", CP_METRIC_ERROR, false}};

static const char *const names[] = {"pendulum", "slider_crank", "car_axis", "andrews",
                                    "bushing_crank"};
enum { NAMES = sizeof names / sizeof names[0] };

/* --------------------------------------------------------------------------------- one run -- */

static int drop_projector(CPodeMem mem, double unused) {
  (void)unused;
  return CPodeSetProjector(mem, NULL);
}

static RunOptions options_of(const Variant *variant, int lmm, sunrealtype tol) {
  return (RunOptions){.lmm    = lmm,
                      .tol    = tol,
                      .by     = BY_MECHANICS,
                      .metric = variant->metric,
                      .set    = variant->projected ? NULL : drop_projector};
}

/* ---------------------------------------------------------------------------------- ladders -- */

/* Ratios to ERROR over all ladders of a method on mechanisms that are not stiff along normals */
typedef struct {
  GeometricMean mean;
  double least, largest;
} Range;

static void range_add(Range *range, double ratio) {
  if (range->mean.count == 0) range->least = range->largest = ratio;
  range->least   = fmin(range->least, ratio);
  range->largest = fmax(range->largest, ratio);
  mean_add(&range->mean, ratio);
}

/* Stiff along normals: BDF only, and also without projection */
static bool applies(Mechanism *m, const Variant *variant, int lmm) {
  if (!variant->projected) return m->model->stiff;
  return variant->metric != CP_METRIC_NEWTON || lmm == CV_BDF; /* Adams has no Newton matrix */
}

/* steps, errors [VARIANTS]: ratios are added */
static void print_ladder(Mechanism *m, int lmm, sunrealtype middle, Range *steps, Range *errors,
                         FILE *csv, SUNContext ctx) {
  Ladder base = {0};
  printf("%s, %s, tol about %.0e\n", m->name, method_name(lmm), (double)middle);
  for (int k = 0; k < VARIANTS; k++) {
    if (!applies(m, &variants[k], lmm)) continue;
    const Ladder s = run_ladder(m, options_of(&variants[k], lmm, middle), "metrics",
                                variants[k].name, csv, NULL, ctx);
    if (k == 0) base = s;
    const double fewer = mean_value(&s.steps) / mean_value(&base.steps);
    const double worse = mean_value(&s.position_error) / mean_value(&base.position_error);
    printf("  %-8s %9.1f %9.1f %9.2e   %6.3f %6.3f %8.3f", variants[k].name, mean_value(&s.steps),
           mean_value(&s.rhs), mean_value(&s.position_error), fewer,
           mean_value(&s.rhs) / mean_value(&base.rhs), worse);
    if (s.failed > 0) printf("   %d runs failed", s.failed);
    printf("\n");
    if (m->model->stiff) continue;
    range_add(&steps[k], fewer);
    range_add(&errors[k], worse);
  }
}

static void print_ranges(int lmm, const Range *steps, const Range *errors) {
  for (int k = 1; k < VARIANTS; k++)
    if (steps[k].mean.count > 0)
      printf("%s, %s: relative to ERROR steps %.3f in the mean, %.3f to %.3f; errors %.2f, %.2f to "
             "%.2f\n",
             method_name(lmm), variants[k].name, mean_value(&steps[k].mean), steps[k].least,
             steps[k].largest, mean_value(&errors[k].mean), errors[k].least, errors[k].largest);
}

static void print_bound(Mechanism *m, SUNContext ctx) {
  const int shown[3] = {2, 4, 0}; /* NEWTON, none, ERROR */
  Figures f[3];
  for (int k = 0; k < 3; k++) {
    const RunOptions o = options_of(&variants[shown[k]], CV_BDF, 1.0e-8);
    f[k]               = run_timed(m, &o, ctx);
  }
  printf(
      "%s, BDF, tol 1e-8: %ld steps with NEWTON, %ld without projection (ERROR: %ld): bound %s\n",
      m->name, f[0].steps, f[1].steps, f[2].steps,
      f[0].flag >= 0 && f[0].steps < f[1].steps ? "kept" : "EXCEEDED");
}

int main(int argc, char **argv) {
  Options options =
      options_parse(argc, argv, "Metrics of mechanical systems' projections", "[MECHANISM...]", 0);
  SUNContext ctx           = check_context();
  Range steps[2][VARIANTS] = {0}, errors[2][VARIANTS] = {0};
  csv_header(options.csv);
  printf("  %-8s %9s %9s %9s   relative to ERROR\n", "metric", "steps", "f evals", "error");
  for (int i = 0; i < NAMES; i++) {
    if (!options_select(&options, names[i])) continue;
    Mechanism *m = mechanism_create(names[i], ctx);
    for (int adams = 0; adams < (m->model->stiff ? 1 : 2); adams++)
      for (int k = 0; k < MIDDLES; k++)
        print_ladder(m, adams ? CV_ADAMS : CV_BDF, middles[k], steps[adams], errors[adams],
                     options.csv, ctx);
    if (m->model->stiff) print_bound(m, ctx);
    mechanism_free(&m);
  }
  print_ranges(CV_BDF, steps[0], errors[0]);
  print_ranges(CV_ADAMS, steps[1], errors[1]);
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
