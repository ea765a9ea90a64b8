/* Adams with fixed-point iteration on ladders of close tolerances, for each norm of the error
 * estimate.
 *
 * The order of an Adams method follows from differences of numbers that the projection changes, so
 * a single tolerance is not conclusive: neighbouring ones can differ by a factor. Each ladder has
 * nine tolerances from 0.8 to 1.25 times its middle, in equal ratios.
 *
 * Bounds, with the default norm: pendulum around 1e-9, t = 20: at most 1750 steps in the geometric
 * mean, no run above 1900, errors below 1e-5. Car axis around 1e-10: 1900 steps in the mean. Orders
 * above 6 in use at 1e-10. */
#include "check.h"
#include "options.h"
#include "run.h"

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

/* A bound of 0 means none. */
typedef struct {
  const char *mechanism;
  int lmm;
  sunrealtype middle;
  double mean_bound;       /* steps, geometric mean */
  long int most_bound;     /* steps of each run */
  sunrealtype error_bound; /* error of each run */
} Case;

static const Case cases[] = {{"pendulum", CV_ADAMS, 1.0e-9, 1750.0, 1900, 1.0e-5},
                             {"pendulum", CV_ADAMS, 1.0e-10, 0.0, 0, 0.0},
                             {"car_axis", CV_ADAMS, 1.0e-10, 1900.0, 0, 0.0},
                             {"slider_crank", CV_ADAMS, 1.0e-9, 0.0, 0, 0.0},
                             {"chain3", CV_ADAMS, 1.0e-9, 0.0, 0, 0.0},
                             {"pendulum", CV_BDF, 1.0e-7, 0.0, 0, 0.0},
                             {"car_axis", CV_BDF, 1.0e-7, 0.0, 0, 0.0},
                             {"slider_crank", CV_BDF, 1.0e-7, 0.0, 0, 0.0},
                             {"chain3", CV_BDF, 1.0e-7, 0.0, 0, 0.0}};

static void print_verdict(const char *what, double value, double bound) {
  if (bound > 0.0)
    printf("  bound on the %s: %g, %s\n", what, bound, value <= bound ? "kept" : "EXCEEDED");
}

static void print_bounds(const Case *bounds, const Ladder *s) {
  print_verdict("mean steps", mean_value(&s->steps), bounds->mean_bound);
  print_verdict("steps of each run", (double)s->most_steps, (double)bounds->most_bound);
  print_verdict("error of each run", (double)s->largest_error, (double)bounds->error_bound);
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

static void climb(const Case *c, const Variant *variant, Mechanism *mechanism, FILE *csv,
                  SUNContext ctx) {
  const RunOptions options = {
      .lmm = c->lmm, .tol = c->middle, .by = variant->by, .err_est = variant->err_est};
  printf("%s, %s, t = %g, tol about %.0e: %s\n", mechanism->name, method_name(c->lmm),
         (double)mechanism->t_end, (double)c->middle, variant->name);
  printf("  %10s %7s %8s %6s %10s %9s %9s %8s\n", "tol", "steps", "f evals", "order", "order > 6",
         "error", "max |c|", "rejected");
  const Ladder s = run_ladder(mechanism, options, "ladder", variant->name, csv, print_run, ctx);
  printf("  %-10s %7.0f %8.0f %17s %9.1e   most steps %ld, largest error %.1e, failed runs %d\n",
         "geom. mean", mean_value(&s.steps), mean_value(&s.rhs), "", mean_value(&s.error),
         s.most_steps, (double)s.largest_error, s.failed);
  if (variant->by == BY_CPODES && variant->err_est == CP_ERREST_DEFAULT) print_bounds(c, &s);
  printf("\n");
}

int main(int argc, char **argv) {
  Options options = options_parse(argc, argv, "Ladders of close tolerances for each error norm",
                                  "[MECHANISM...]", 0);
  SUNContext ctx  = check_context();
  csv_header(options.csv);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (!options_select(&options, cases[i].mechanism)) continue;
    Mechanism *mechanism = mechanism_create(cases[i].mechanism, ctx);
    for (int j = 0; j < NVARIANTS; j++) climb(&cases[i], &variants[j], mechanism, options.csv, ctx);
    mechanism_free(&mechanism);
  }
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
