/* The data behind the defaults: one option at a time is varied, with all others at their defaults,
 * over six mechanisms, BDF (Newton) and Adams (fixed point), and 21 tolerances from 1e-5 to 1e-10.
 *
 * A line gives, for one value of the option and one method, geometric means over the 126 runs; a
 * run that fails with any value of the option is excluded from the means of all values, and
 * counted. error: the error at the end divided by that with the option's default. |c|/tol: the
 * largest |c_i| after a step, in the units of c, per tolerance. */
#include "check.h"
#include "options.h"
#include "run.h"
#include <float.h>
#include <math.h>

static const char *const mechanisms[] = {"pendulum",   "slider_crank", "car_axis",
                                         "knife_edge", "chain3",       "chain10"};
static const int methods[]            = {CV_BDF, CV_ADAMS};
enum {
  NMECHANISMS = sizeof mechanisms / sizeof mechanisms[0],
  NMETHODS    = sizeof methods / sizeof methods[0],
  NTOLS       = 21,
  MAX_VALUES  = 10
};

static sunrealtype tolerance(int k) { return pow(10.0, -5.0 - 0.25 * k); }

/* All runs with one value of an option */
typedef struct {
  Figures run[NMETHODS][NMECHANISMS][NTOLS];
} Grid;

/* ------------------------------------------------------------------------------- the options -- */

typedef struct {
  const char *name;
  const char *what;
  void (*set)(RunOptions *options, double value);
  int nvalues;
  double value[MAX_VALUES];
  const char *label[MAX_VALUES]; /* if NULL, the value is printed */
} Sweep;

static void set_eps(RunOptions *o, double value) { o->eps = value; }
static void set_norm_of_error(RunOptions *o, double value) { o->err_est = (CPErrEst)value; }
static void set_correction(RunOptions *o, double value) { o->max_correction = value; }
static void set_frequency(RunOptions *o, double value) { o->proj_frequency = (long int)value; }
static void set_skipping(RunOptions *o, double value) { o->test_constraint = value > 0.0; }
static void set_linsol(RunOptions *o, double value) { o->linsol = (CPLinSol)value; }
static void set_coupled(RunOptions *o, double value) { o->coupled = value > 0.0; }
static void set_norm(RunOptions *o, double value) { o->norm = (CPNorm)value; }
static void set_difference_G(RunOptions *o, double value) { o->difference_G = value > 0.0; }
/* no projection at all, for comparison */
static void set_projection(RunOptions *o, double value) {
  o->by = value > 0.0 ? BY_NOBODY : BY_CPODES;
}

static const Sweep sweeps[] = {
    {"eps",
     "accuracy of a projection, CPProjectorSetEps",
     set_eps,
     8,
     {1.0, 0.3, 0.1, 3.0e-2, 1.0e-2, 1.0e-3, 1.0e-5, 1.0e-8},
     {NULL}},
    {"errest",
     "norm of the error estimate, CPIntegratorSetErrEst",
     set_norm_of_error,
     2,
     {CP_ERREST_PROJECTED, CP_ERREST_UNPROJECTED},
     {"projected", "unprojected"}},
    {"correction",
     "largest correction allowed, CPIntegratorSetMaxCorrection",
     set_correction,
     6,
     {1.0, 3.0, 10.0, 100.0, 1000.0, INFINITY},
     {NULL}},
    {"frequency",
     "projection every n-th step, CPIntegratorSetProjFrequency",
     set_frequency,
     4,
     {1.0, 2.0, 5.0, 10.0},
     {NULL}},
    {"skipping",
     "projection only where the violation is above eps, CPIntegratorSetProjFrequency",
     set_skipping,
     2,
     {0.0, 1.0},
     {"off", "on"}},
    {"linsol",
     "linear solver, CPProjectorSetLinearSolver",
     set_linsol,
     3,
     {CP_LINSOL_AUTO, CP_LINSOL_SCHUR, CP_LINSOL_QR},
     {"auto", "Schur", "QR"}},
    {"levels",
     "positions before velocities, CPProjectorSetLevels",
     set_coupled,
     2,
     {0.0, 1.0},
     {"detected", "coupled"}},
    {"norm",
     "norm in which corrections are smallest, CPProjectorSetNorm",
     set_norm,
     2,
     {CP_NORM_ERROR, CP_NORM_L2},
     {"error", "L2"}},
    {"jacobian",
     "constraint Jacobian, CPProjectorSetJacFn",
     set_difference_G,
     2,
     {0.0, 1.0},
     {"user's", "differences"}},
    {"projection", "with and without projection", set_projection, 2, {0.0, 1.0}, {"cpodes", "none"}}};
enum { NSWEEPS = sizeof sweeps / sizeof sweeps[0] };

/* ---------------------------------------------------------------------------------- the runs -- */

typedef struct {
  Mechanism *mechanism[NMECHANISMS];
  const Options *options;
  SUNContext ctx;
} Bench;

static double shortest_time(Bench *b, Mechanism *mechanism, const RunOptions *options) {
  double shortest = b->options->repeat ? HUGE_VAL : 0.0;
  for (int i = 0; i < b->options->repeat; i++) {
    Figures f = run_timed(mechanism, options, b->ctx);
    shortest  = fmin(shortest, f.seconds);
  }
  return shortest;
}

/* If sweep is NULL, everything has its default. */
static void run_grid(Bench *b, const Sweep *sweep, int value, Grid *grid) {
  char variant[64] = "default";
  if (sweep) snprintf(variant, sizeof variant, "%s %g", sweep->name, sweep->value[value]);
  for (int i = 0; i < NMETHODS; i++)
    for (int j = 0; j < NMECHANISMS; j++)
      for (int k = 0; k < NTOLS; k++) {
        RunOptions options = {.lmm = methods[i], .tol = tolerance(k), .by = BY_CPODES};
        if (sweep) sweep->set(&options, sweep->value[value]);
        Figures f = run_observed(b->mechanism[j], &options, b->ctx);
        if (f.flag >= 0) f.seconds = shortest_time(b, b->mechanism[j], &options);
        csv_run(b->options->csv, "defaults", variant, b->mechanism[j], &options, &f);
        grid->run[i][j][k] = f;
      }
}

/* -------------------------------------------------------------------------------- the tables -- */

typedef struct {
  GeometricMean steps, rhs, c, G, factorisations, error, seconds, violation;
  long int rejected, projection_fails, large_corrections, failed;
  sunrealtype correction;
} Summary;

static double at_least_one(long int count) { return count > 0 ? (double)count : 1.0; }

static void summarise(Summary *s, const Figures *f, const Figures *with_default, sunrealtype tol) {
  mean_add(&s->steps, at_least_one(f->steps));
  mean_add(&s->rhs, at_least_one(f->rhs));
  mean_add(&s->c, at_least_one(f->proj.nce));
  mean_add(&s->G, at_least_one(f->proj.nje));
  mean_add(&s->factorisations, at_least_one(f->proj.nsetups));
  mean_add(&s->error, (double)(f->error / with_default->error));
  mean_add(&s->seconds, f->seconds);
  mean_add(&s->violation, (double)(fmax(f->violation, DBL_EPSILON) / tol));
  s->rejected += f->rejected;
  s->projection_fails += f->proj.nprojfails;
  s->large_corrections += f->proj.nlargecorr;
  s->correction = fmax(s->correction, f->proj.maxcorrection);
}

static bool succeeds_everywhere(const Sweep *sweep, const Grid *grid, int i, int j, int k) {
  for (int value = 0; value < sweep->nvalues; value++)
    if (grid[value].run[i][j][k].flag < 0) return false;
  return true;
}

static void print_line(const Sweep *sweep, int value, const Summary *s) {
  if (sweep->label[value]) printf("  %-12s", sweep->label[value]);
  else printf("  %-12g", sweep->value[value]);
  printf(" %7.0f %7.0f %7.0f %7.0f %7.0f %7.3f %8.3f %8ld %6ld %6ld %8.1e %8.1e %6ld\n",
         mean_value(&s->steps), mean_value(&s->rhs), mean_value(&s->c), mean_value(&s->G),
         mean_value(&s->factorisations), mean_value(&s->error), 1.0e3 * mean_value(&s->seconds),
         s->rejected, s->projection_fails, s->large_corrections, (double)s->correction,
         mean_value(&s->violation), s->failed);
}

static void print_table(const Sweep *sweep, const Grid *grid, const Grid *with_default, int i) {
  printf("%s, %s\n", method_name(methods[i]), sweep->what);
  printf("  %-12s %7s %7s %7s %7s %7s %7s %8s %8s %6s %6s %8s %8s %6s\n", sweep->name, "steps", "f",
         "c", "G", "factor.", "error", "ms", "rejected", "proj.", "large", "largest", "|c|/tol",
         "failed");
  for (int value = 0; value < sweep->nvalues; value++) {
    Summary s = {0};
    for (int j = 0; j < NMECHANISMS; j++)
      for (int k = 0; k < NTOLS; k++) {
        const Figures *f = &grid[value].run[i][j][k];
        if (f->flag < 0) s.failed++;
        if (succeeds_everywhere(sweep, grid, i, j, k))
          summarise(&s, f, &with_default->run[i][j][k], tolerance(k));
      }
    print_line(sweep, value, &s);
  }
  printf("\n");
}

static void print_failures(const Sweep *sweep, const Grid *grid) {
  for (int value = 0; value < sweep->nvalues; value++)
    for (int i = 0; i < NMETHODS; i++)
      for (int j = 0; j < NMECHANISMS; j++)
        for (int k = 0; k < NTOLS; k++) {
          const Figures *f = &grid[value].run[i][j][k];
          if (f->flag < 0)
            printf("  failed: %s %g, %s, %s, tol %.0e: %d %s\n", sweep->name, sweep->value[value],
                   mechanisms[j], method_name(methods[i]), (double)tolerance(k), f->flag,
                   f->message);
        }
}

/* The sizes of corrections in the default runs: counts by decade */
static void print_corrections(const Grid *grid) {
  printf("Corrections of the default runs, in WRMS: number of steps by size, all tolerances\n");
  printf("  %-6s %-13s %9s %8s %8s %8s %8s %8s %8s %8s %9s\n", "", "", "< 1e-2", "< 1e-1", "< 1",
         "< 10", "< 1e2", "< 1e3", "< 1e4", "above", "largest");
  for (int i = 0; i < NMETHODS; i++)
    for (int j = 0; j < NMECHANISMS; j++) {
      long int corrections[CORRECTION_DECADES] = {0};
      sunrealtype largest                      = 0.0;
      for (int k = 0; k < NTOLS; k++) {
        const Figures *f = &grid->run[i][j][k];
        for (int d = 0; d < CORRECTION_DECADES; d++) corrections[d] += f->corrections[d];
        largest = fmax(largest, f->proj.maxcorrection);
      }
      printf("  %-6s %-13s", method_name(methods[i]), mechanisms[j]);
      for (int d = 0; d < CORRECTION_DECADES; d++) printf(" %8ld", corrections[d]);
      printf(" %9.1e\n", (double)largest);
    }
  printf("\n");
}

static void sweep_option(Bench *b, const Sweep *sweep, const Grid *with_default) {
  Grid *grid = CHECK_POINTER(calloc((size_t)sweep->nvalues, sizeof *grid));
  for (int value = 0; value < sweep->nvalues; value++) run_grid(b, sweep, value, &grid[value]);
  for (int i = 0; i < NMETHODS; i++) print_table(sweep, grid, with_default, i);
  print_failures(sweep, grid);
  free(grid);
}

int main(int argc, char **argv) {
  Options options = options_parse(argc, argv, "Sweeps of one option at a time",
                                  "[eps] [errest] [correction] [frequency] "
                                  "[skipping] [linsol] [levels] [norm] [jacobian] [projection]",
                                  2);
  Bench b         = {.options = &options, .ctx = check_context()};
  for (int j = 0; j < NMECHANISMS; j++) b.mechanism[j] = mechanism_create(mechanisms[j], b.ctx);

  csv_header(options.csv);
  Grid *with_default = CHECK_POINTER(calloc(1, sizeof *with_default));
  run_grid(&b, NULL, 0, with_default);
  print_corrections(with_default);
  for (int i = 0; i < NSWEEPS; i++)
    if (options_select(&options, sweeps[i].name)) sweep_option(&b, &sweeps[i], with_default);

  free(with_default);
  for (int j = 0; j < NMECHANISMS; j++) mechanism_free(&b.mechanism[j]);
  SUNContext_Free(&b.ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
