/* Adams with fixed-point iteration on ladders of close tolerances, for each norm of the error estimate.
 *
 * The order of an Adams method follows from differences of numbers that the projection changes, so a single
 * tolerance says little: neighbouring ones can differ by a factor. Each ladder has nine tolerances from 0.8 to
 * 1.25 times its middle, in equal ratios.
 *
 * Bounds, with the default norm: pendulum around 1e-9, t = 20: at most 1750 steps in the geometric mean, none above
 * 1900, errors below 1e-5. Car axis around 1e-10: 1900 steps in the mean. Orders above 6 in use at 1e-10.
 */
#include "check.h"
#include "options.h"
#include "run.h"
#include <math.h>

enum { RUNGS = 9 };

typedef struct {
  const char *name;
  Projected by;
  CPErrEst err_est;
} Variant;

static const Variant variants[] = {{"plain CVODES", BY_NOBODY, CP_ERREST_DEFAULT},
                                   {"cpodes default", BY_CPODES, CP_ERREST_DEFAULT},
                                   {"cpodes PROJECTED", BY_CPODES, CP_ERREST_PROJECTED},
                                   {"cpodes UNPROJECTED", BY_CPODES, CP_ERREST_UNPROJECTED}};
enum { NVARIANTS = sizeof variants / sizeof variants[0] };

/* Bounds of 0: none */
typedef struct {
  const char *mechanism;
  int lmm;
  sunrealtype middle;
  double mean_bound;       /* steps, geometric mean */
  long int most_bound;     /* steps of each run */
  sunrealtype error_bound; /* error of each run */
} Ladder;

static const Ladder ladders[] = {{"pendulum", CV_ADAMS, 1.0e-9, 1750.0, 1900, 1.0e-5},
                                 {"pendulum", CV_ADAMS, 1.0e-10, 0.0, 0, 0.0},
                                 {"car_axis", CV_ADAMS, 1.0e-10, 1900.0, 0, 0.0},
                                 {"slider_crank", CV_ADAMS, 1.0e-9, 0.0, 0, 0.0},
                                 {"chain3", CV_ADAMS, 1.0e-9, 0.0, 0, 0.0},
                                 {"pendulum", CV_BDF, 1.0e-7, 0.0, 0, 0.0},
                                 {"car_axis", CV_BDF, 1.0e-7, 0.0, 0, 0.0},
                                 {"slider_crank", CV_BDF, 1.0e-7, 0.0, 0, 0.0},
                                 {"chain3", CV_BDF, 1.0e-7, 0.0, 0, 0.0}};

static sunrealtype rung(const Ladder *ladder, int i) {
  return ladder->middle * 0.8 * pow(1.25 / 0.8, (double)i / (RUNGS - 1));
}

typedef struct {
  GeometricMean steps, rhs, error;
  long int most_steps, failed;
  sunrealtype largest_error;
} Summary;

static void summarise(Summary *summary, const Figures *f) {
  if (f->flag < 0) {
    summary->failed++;
    return;
  }
  mean_add(&summary->steps, (double)f->steps);
  mean_add(&summary->rhs, (double)f->rhs);
  mean_add(&summary->error, (double)f->error);
  if (f->steps > summary->most_steps) summary->most_steps = f->steps;
  summary->largest_error = fmax(summary->largest_error, f->error);
}

static void print_summary(const Summary *s) {
  printf("  %-10s %7.0f %8.0f %17s %9.1e   most steps %ld, largest error %.1e, failed runs %ld\n",
         "geom. mean", mean_value(&s->steps), mean_value(&s->rhs), "", mean_value(&s->error),
         s->most_steps, (double)s->largest_error, s->failed);
}

static void print_verdict(const char *what, double value, double bound) {
  if (bound > 0.0)
    printf("  bound on the %s: %g, %s\n", what, bound, value <= bound ? "kept" : "EXCEEDED");
}

static void print_bounds(const Ladder *ladder, const Summary *s) {
  print_verdict("mean steps", mean_value(&s->steps), ladder->mean_bound);
  print_verdict("steps of each run", (double)s->most_steps, (double)ladder->most_bound);
  print_verdict("error of each run", (double)s->largest_error, (double)ladder->error_bound);
}

static void print_run(sunrealtype tol, const Figures *f) {
  if (f->flag < 0) {
    printf("  %10.3e  failed with %d: %s\n", (double)tol, f->flag, f->message);
    return;
  }
  printf("  %10.3e %7ld %8ld %6d %8.0f %% %9.1e %9.1e %8ld\n", (double)tol, f->steps, f->rhs,
         highest_order(f), 100.0 * share_above_order(f, 6), (double)f->error, (double)f->violation,
         f->rejected);
}

static void climb(const Ladder *ladder, const Variant *variant, Mechanism *mechanism, FILE *csv,
                  SUNContext ctx) {
  Summary summary = {0};
  printf("%s, %s, t = %g, tol about %.0e: %s\n", mechanism->name, method_name(ladder->lmm),
         (double)mechanism->t_end, (double)ladder->middle, variant->name);
  printf("  %10s %7s %8s %6s %10s %9s %9s %8s\n", "tol", "steps", "f evals", "order", "order > 6",
         "error", "max |c|", "rejected");
  for (int i = 0; i < RUNGS; i++) {
    RunOptions options = {
        .lmm = ladder->lmm, .tol = rung(ladder, i), .by = variant->by, .err_est = variant->err_est};
    Figures figures = run_observed(mechanism, &options, ctx);
    csv_run(csv, "ladder", variant->name, mechanism, &options, &figures);
    print_run(options.tol, &figures);
    summarise(&summary, &figures);
  }
  print_summary(&summary);
  if (variant->by == BY_CPODES && variant->err_est == CP_ERREST_DEFAULT)
    print_bounds(ladder, &summary);
  printf("\n");
}

int main(int argc, char **argv) {
  Options options = options_parse(argc, argv, "Ladders of close tolerances for each error norm",
                                  "[MECHANISM...]", 0);
  SUNContext ctx  = check_context();
  csv_header(options.csv);
  for (size_t i = 0; i < sizeof ladders / sizeof ladders[0]; i++) {
    if (!options_select(&options, ladders[i].mechanism)) continue;
    Mechanism *mechanism = mechanism_create(ladders[i].mechanism, ctx);
    for (int j = 0; j < NVARIANTS; j++)
      climb(&ladders[i], &variants[j], mechanism, options.csv, ctx);
    mechanism_free(&mechanism);
  }
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
