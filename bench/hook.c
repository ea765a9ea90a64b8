/* cpodes compared with CVODES' own projection hook, on planar chains of 1, 2, 3 and 10 point
 * masses.
 *
 * Both run CVODES' BDF with Newton, the same dense linear solver and the same difference quotients
 * for df/dy. The hook has a projection written by hand for the chain: positions, then velocities,
 * then the error estimate, each by one tridiagonal system. cpodes has c and G.
 *
 * Bounds: steps at equal error at most 0.97 of the hook's in the geometric mean over chains and 21
 * tolerances 1e-5 ... 1e-10 (single cases scatter by 12 %, with the roundoff that the step control
 * amplifies); time of the longest chain at most 1.25 times that of the hook. Steps at equal error:
 * each run by cpodes is moved to the hook's error along the hook's own line of log steps over log
 * error on that chain, by least squares. */
#include "check.h"
#include "options.h"
#include "run.h"
#include "timing.h"
#include <math.h>

static const char *const chains[] = {"chain1", "chain2", "chain3", "chain10"};
static const double bound_steps   = 0.97;
static const double bound_time    = 1.25;
enum { NCHAINS = sizeof chains / sizeof chains[0], PER_DECADE = 4, NTOLS = 5 * PER_DECADE + 1 };

static sunrealtype tolerance(int j) { return pow(10.0, -5.0 - (double)j / PER_DECADE); }

/* ---------------------------------------------------------------------------- steps and errors -- */

typedef struct {
  GeometricMean steps, rhs, setups, error;
} Ratios; /* cpodes / hook */

/* Sums for the hook's line of y = log steps over x = log error, for n runs */
typedef struct {
  double n, x, y, xx, xy;
} Line;

static void line_add(Line *line, const Figures *hook) {
  const double x = log((double)hook->error), y = log((double)hook->steps);
  line->n++;
  line->x += x;
  line->y += y;
  line->xx += x * x;
  line->xy += x * y;
}

static double line_slope(const Line *line) {
  return (line->n * line->xy - line->x * line->y) / (line->n * line->xx - line->x * line->x);
}

static double steps_at_equal_error(const Ratios *r, const Line *line) {
  return mean_value(&r->steps) * pow(mean_value(&r->error), -line_slope(line));
}

static void add_ratios(Ratios *ratios, const Figures *hook, const Figures *cpodes) {
  mean_add(&ratios->steps, (double)cpodes->steps / (double)hook->steps);
  mean_add(&ratios->rhs, (double)cpodes->rhs / (double)hook->rhs);
  mean_add(&ratios->setups, (double)cpodes->setups / (double)hook->setups);
  mean_add(&ratios->error, (double)(cpodes->error / hook->error));
}

static void print_ratios(const char *what, const Ratios *ratios, double equal) {
  printf("%-18s %26.3f %24.3f %19.3f %21.2f %20.3f\n", what, mean_value(&ratios->steps),
         mean_value(&ratios->rhs), mean_value(&ratios->setups), mean_value(&ratios->error), equal);
}

static void compare(Mechanism *chain, sunrealtype tol, Ratios *ratios, Ratios *all, Line *line,
                    FILE *csv, SUNContext ctx) {
  RunOptions with_hook = {.lmm = CV_BDF, .tol = tol, .by = BY_HOOK};
  RunOptions with_us   = {.lmm = CV_BDF, .tol = tol, .by = BY_CPODES};
  Figures hook         = run_observed(chain, &with_hook, ctx);
  Figures cpodes       = run_observed(chain, &with_us, ctx);
  csv_run(csv, "hook", "hook", chain, &with_hook, &hook);
  csv_run(csv, "hook", "cpodes", chain, &with_us, &cpodes);
  if (hook.flag < 0 || cpodes.flag < 0) {
    printf("%-8s %8.0e  failed: hook %d, cpodes %d %s\n", chain->name, (double)tol, hook.flag,
           cpodes.flag, cpodes.message);
    return;
  }
  printf("%-8s %8.0e | %7ld %7ld %6.3f | %8ld %8ld %5.2f | %6ld %6ld %5.2f | %9.2e %9.2e\n",
         chain->name, (double)tol, hook.steps, cpodes.steps,
         (double)cpodes.steps / (double)hook.steps, hook.rhs, cpodes.rhs,
         (double)cpodes.rhs / (double)hook.rhs, hook.setups, cpodes.setups,
         (double)cpodes.setups / (double)hook.setups, (double)hook.error, (double)cpodes.error);
  add_ratios(ratios, &hook, &cpodes);
  add_ratios(all, &hook, &cpodes);
  line_add(line, &hook);
}

static void compare_steps(Mechanism *chain[NCHAINS], FILE *csv, SUNContext ctx) {
  Ratios of_chain[NCHAINS] = {0}, all = {0};
  Line line[NCHAINS]  = {{0}};
  GeometricMean equal = {0};
  printf("BDF + Newton, error estimate projected, against CVODES' own projection hook\n\n");
  printf("%-8s %8s | %22s | %23s | %19s | %19s\n", "", "", "steps", "evaluations of f",
         "set-ups of Newton", "error at the end");
  printf("%-8s %8s | %7s %7s %6s | %8s %8s %5s | %6s %6s %5s | %9s %9s\n", "", "tol", "hook",
         "cpodes", "ratio", "hook", "cpodes", "ratio", "hook", "cpodes", "ratio", "hook", "cpodes");
  for (int i = 0; i < NCHAINS; i++)
    for (int j = 0; j < NTOLS; j++)
      compare(chain[i], tolerance(j), &of_chain[i], &all, &line[i], csv, ctx);

  printf("\nGeometric means of cpodes / hook\n");
  printf("%-18s %26s %24s %19s %21s %20s\n", "", "steps", "evaluations", "set-ups", "error",
         "steps, equal error");
  for (int i = 0; i < NCHAINS; i++) {
    const double here = steps_at_equal_error(&of_chain[i], &line[i]);
    print_ratios(chain[i]->name, &of_chain[i], here);
    mean_add(&equal, here);
  }
  print_ratios("all", &all, mean_value(&equal));
  printf("bound on the steps at equal error: %.2f, %s\n", bound_steps,
         mean_value(&equal) <= bound_steps ? "kept" : "EXCEEDED");
}

/* ------------------------------------------------------------------------------------- time -- */

/* Median times of both, run alternately so that disturbances affect both */
static double compare_time(Mechanism *chain, sunrealtype tol, int repeat, SUNContext ctx) {
  RunOptions with_hook = {.lmm = CV_BDF, .tol = tol, .by = BY_HOOK};
  RunOptions with_us   = {.lmm = CV_BDF, .tol = tol, .by = BY_CPODES};
  double *hook_seconds = CHECK_POINTER(calloc((size_t)repeat, sizeof *hook_seconds));
  double *our_seconds  = CHECK_POINTER(calloc((size_t)repeat, sizeof *our_seconds));
  long int hook_steps = 0, our_steps = 0;
  for (int i = 0; i < repeat; i++) {
    Figures hook = run_timed(chain, &with_hook, ctx), cpodes = run_timed(chain, &with_us, ctx);
    CHECK(hook.flag < 0);
    CHECK(cpodes.flag < 0);
    hook_seconds[i] = hook.seconds;
    our_seconds[i]  = cpodes.seconds;
    hook_steps      = hook.steps;
    our_steps       = cpodes.steps;
  }
  double hook = median(hook_seconds, repeat), ours = median(our_seconds, repeat);
  printf("%-8s %8.0e | %9.3f %9.3f %6.3f | %9.2f %9.2f %6.3f\n", chain->name, (double)tol,
         1.0e3 * hook, 1.0e3 * ours, ours / hook, 1.0e6 * hook / (double)hook_steps,
         1.0e6 * ours / (double)our_steps, ours / (double)our_steps / (hook / (double)hook_steps));
  free(hook_seconds);
  free(our_seconds);
  return ours / hook;
}

static void compare_times(Mechanism *chain, int repeat, SUNContext ctx) {
  GeometricMean ratio = {0};
  printf("\nWall time, medians of %d runs each, in turns; G by the user's function\n\n", repeat);
  printf("%-8s %8s | %26s | %26s\n", "", "", "whole run [ms]", "one step [us]");
  printf("%-8s %8s | %9s %9s %6s | %9s %9s %6s\n", "", "tol", "hook", "cpodes", "ratio", "hook",
         "cpodes", "ratio");
  for (int j = 0; j < NTOLS; j += PER_DECADE)
    mean_add(&ratio, compare_time(chain, tolerance(j), repeat, ctx));
  printf("geometric mean of the ratios: %.3f", mean_value(&ratio));
  if (chain->chain->n == 10)
    printf(", bound %.2f, %s", bound_time, mean_value(&ratio) <= bound_time ? "kept" : "EXCEEDED");
  printf("\n");
}

int main(int argc, char **argv) {
  Options options =
      options_parse(argc, argv, "cpodes against CVODES' own projection hook", NULL, 21);
  SUNContext ctx = check_context();
  Mechanism *chain[NCHAINS];
  for (int i = 0; i < NCHAINS; i++) chain[i] = mechanism_create(chains[i], ctx);

  csv_header(options.csv);
  compare_steps(chain, options.csv, ctx);
  for (int i = 0; i < NCHAINS && options.repeat; i++)
    if (chain[i]->chain->n == 1 || chain[i]->chain->n == 10)
      compare_times(chain[i], options.repeat, ctx);

  for (int i = 0; i < NCHAINS; i++) mechanism_free(&chain[i]);
  SUNContext_Free(&ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
