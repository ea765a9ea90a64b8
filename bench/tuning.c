/* The settings that cpodes makes, or could make, in CVODES: one setting at a time is varied and the
 * others are kept, with projection, over mechanisms as f, c and G and as CPMech, BDF (Newton) and
 * Adams (fixed point), and 21 tolerances from 1e-5 to 1e-10.
 *
 * Errors and work are combined. On a mechanism the evaluations of f grow like error^-s; s is fitted
 * to the runs with the default. Runs with another value that take F times the evaluations and make
 * E times the error cost F E^s at equal error: the column "work", and "at steps" the same for the
 * steps. least, most: of one mechanism. In the mean over a mechanism's 21 runs roundoff leaves
 * about 2 % in work, over all runs of a method 0.7 %.
 *
 *   tuning [SETTING...]     tuning targets: the ladders used as the project's targets */
#include "check.h"
#include "options.h"
#include "run.h"
#include <math.h>

typedef struct {
  const char *mechanism;
  Projected by;
  bool stiff; /* BDF only; the reference is by this library, 100 times below the least tolerance */
} Case;

static const Case cases[] = {
    {"pendulum", BY_CPODES, false},        {"slider_crank", BY_CPODES, false},
    {"car_axis", BY_CPODES, false},        {"knife_edge", BY_CPODES, false},
    {"chain3", BY_CPODES, false},          {"chain10", BY_CPODES, false},
    {"slider_crank", BY_MECHANICS, false}, {"car_axis", BY_MECHANICS, false},
    {"andrews", BY_MECHANICS, false},      {"chain10", BY_MECHANICS, false},
    {"bushing_crank", BY_MECHANICS, true}, {"bending_chain", BY_MECHANICS, true},
    {"flexible_crank", BY_MECHANICS, true}};
static const int methods[] = {CV_BDF, CV_ADAMS};
enum {
  NCASES     = sizeof cases / sizeof cases[0],
  NMETHODS   = sizeof methods / sizeof methods[0],
  NTOLS      = 21,
  MAX_VALUES = 7
};

static sunrealtype tolerance(int k) { return pow(10.0, -5.0 - 0.25 * k); }

/* ------------------------------------------------------------------------------ the settings -- */

typedef struct {
  const char *name;
  const char *what;
  int (*set)(CPIntegrator mem, double value); /* NULL for newton and anderson */
  int lmm;                                    /* 0: both */
  int nvalues;
  double value[MAX_VALUES]; /* the first is the default */
} Setting;

static int set_convergence(CPIntegrator mem, double value) {
  return CVodeSetNonlinConvCoef(CPIntegratorGetCVodeMem(mem), value);
}
static int set_error_norm(CPIntegrator mem, double value) {
  return CPIntegratorSetErrEst(mem, (CPErrEst)value);
}
static int set_iterations(CPIntegrator mem, double value) {
  return CVodeSetMaxNonlinIters(CPIntegratorGetCVodeMem(mem), (int)value);
}
static int set_matrix_age(CPIntegrator mem, double value) {
  return CVodeSetLSetupFrequency(CPIntegratorGetCVodeMem(mem), (long int)value);
}
static int set_gamma_change(CPIntegrator mem, double value) {
  return CVodeSetDeltaGammaMaxLSetup(CPIntegratorGetCVodeMem(mem), value);
}
static int set_jacobian_age(CPIntegrator mem, double value) {
  return CVodeSetJacEvalFrequency(CPIntegratorGetCVodeMem(mem), (long int)value);
}
static int set_kept_step(CPIntegrator mem, double value) {
  return CVodeSetEtaFixedStepBounds(CPIntegratorGetCVodeMem(mem), 0.0, value);
}
/* CVODES' defaults instead of those of CPIntegratorCreate */
static int set_cvodes_defaults(CPIntegrator mem, double unused) {
  (void)unused;
  const int flag = CVodeSetEtaFixedStepBounds(CPIntegratorGetCVodeMem(mem), 0.0, 1.5);
  return flag ? flag : CVodeSetLSetupFrequency(CPIntegratorGetCVodeMem(mem), 20);
}
static int set_growth(CPIntegrator mem, double value) {
  return CVodeSetEtaMax(CPIntegratorGetCVodeMem(mem), value);
}
static int set_early_growth(CPIntegrator mem, double value) {
  return CVodeSetEtaMaxEarlyStep(CPIntegratorGetCVodeMem(mem), value);
}
static int set_convergence_cut(CPIntegrator mem, double value) {
  return CVodeSetEtaConvFail(CPIntegratorGetCVodeMem(mem), value);
}
static int set_error_cut(CPIntegrator mem, double value) {
  return CVodeSetEtaMinErrFail(CPIntegratorGetCVodeMem(mem), value);
}
static int set_order(CPIntegrator mem, double value) {
  return CVodeSetMaxOrd(CPIntegratorGetCVodeMem(mem), (int)value);
}

static const Setting settings[] = {
    {"before", "CVODES' own defaults (1)", set_cvodes_defaults, 0, 2, {0, 1}},
    {"newton", "convergence test of Newton's iteration (1: CVODES')", NULL, CV_BDF, 2, {0, 1}},
    {"kept-bdf",
     "growth below which the step is kept, CVodeSetEtaFixedStepBounds",
     set_kept_step,
     CV_BDF,
     7,
     {1.3, 1.1, 1.2, 1.25, 1.4, 1.5, 1.7}},
    {"kept-adams",
     "growth below which the step is kept, CVodeSetEtaFixedStepBounds",
     set_kept_step,
     CV_ADAMS,
     7,
     {1.25, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7}},
    {"matrix",
     "steps with one Newton matrix at the most, CVodeSetLSetupFrequency",
     set_matrix_age,
     CV_BDF,
     7,
     {60, 5, 10, 20, 40, 100, 1000}},
    {"gamma",
     "change of gamma for a new Newton matrix, CVodeSetDeltaGammaMaxLSetup",
     set_gamma_change,
     CV_BDF,
     5,
     {0.3, 0.1, 0.2, 0.5, 0.8}},
    {"jacobian",
     "steps with one Jacobian at the most, CVodeSetJacEvalFrequency",
     set_jacobian_age,
     CV_BDF,
     5,
     {51, 10, 20, 100, 1000}},
    {"convergence",
     "convergence coefficient, CVodeSetNonlinConvCoef",
     set_convergence,
     0,
     6,
     {0.1, 0.001, 0.01, 0.03, 0.2, 0.33}},
    {"iterations",
     "nonlinear iterations at the most, CVodeSetMaxNonlinIters",
     set_iterations,
     0,
     4,
     {3, 2, 4, 6}},
    {"growth", "largest growth of a step, CVodeSetEtaMax", set_growth, 0, 5, {10, 1.6, 2, 3, 5}},
    {"early",
     "largest growth of steps 2 to 10, CVodeSetEtaMaxEarlyStep",
     set_early_growth,
     0,
     3,
     {10, 2, 5}},
    {"solver-cut",
     "cut after a failed solve, CVodeSetEtaConvFail",
     set_convergence_cut,
     0,
     3,
     {0.25, 0.1, 0.5}},
    {"error-cut",
     "least cut after a failed error test, CVodeSetEtaMinErrFail",
     set_error_cut,
     0,
     3,
     {0.1, 0.3, 0.5}},
    {"order-bdf", "highest order, CVodeSetMaxOrd", set_order, CV_BDF, 2, {5, 4}},
    {"order-adams", "highest order, CVodeSetMaxOrd", set_order, CV_ADAMS, 3, {12, 8, 10}},
    {"anderson",
     "depth of Anderson acceleration, SUNNonlinSol_FixedPoint",
     NULL,
     CV_ADAMS,
     4,
     {0, 1, 2, 3}},
    {"errest",
     "norm of the error estimate (0 default, 1 projected, 2 unprojected)",
     set_error_norm,
     0,
     3,
     {CP_ERREST_DEFAULT, CP_ERREST_PROJECTED, CP_ERREST_UNPROJECTED}}};
enum { NSETTINGS = sizeof settings / sizeof settings[0] };

/* ---------------------------------------------------------------------------------- the runs -- */

typedef struct {
  Mechanism *mechanism[NCASES];
  const Options *options;
  SUNContext ctx;
} Bench;

/* All runs with one value of a setting, by one method */
typedef struct {
  Figures run[NCASES][NTOLS];
} Grid;

static bool applies(const Case *c, int lmm) { return !c->stiff || lmm == CV_BDF; }

static void run_grid(Bench *b, const Setting *setting, int value, int lmm, Grid *grid) {
  char variant[64];
  snprintf(variant, sizeof variant, "%s %g", setting->name, setting->value[value]);
  for (int j = 0; j < NCASES; j++)
    for (int k = 0; applies(&cases[j], lmm) && k < NTOLS; k++) {
      RunOptions o = {.lmm = lmm, .tol = tolerance(k), .by = cases[j].by};
      if (value > 0 && setting->set) o.set = setting->set, o.value = setting->value[value];
      if (!setting->set && setting->lmm == CV_BDF) o.cvodes_test = setting->value[value] > 0.0;
      else if (!setting->set) o.anderson = (int)setting->value[value];
      grid->run[j][k] = run_timed(b->mechanism[j], &o, b->ctx);
      csv_run(b->options->csv, "tuning", variant, b->mechanism[j], &o, &grid->run[j][k]);
    }
}

/* -------------------------------------------------------------------------------- the tables -- */

/* s of: count ~ error^-s, by least squares over the runs of a mechanism with the default */
static double slope(const Figures *runs, bool of_steps) {
  double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  int n = 0;
  for (int k = 0; k < NTOLS; k++) {
    if (runs[k].flag < 0) continue;
    const double x = log((double)runs[k].error);
    const double y = log((double)(of_steps ? runs[k].steps : runs[k].rhs));
    sx += x, sy += y, sxx += x * x, sxy += x * y, n++;
  }
  return -(n * sxy - sx * sy) / (n * sxx - sx * sx);
}

typedef struct {
  GeometricMean steps, rhs, setups, error, work, at_steps;
  long int failed;
} Summary;

static void compare(Summary *s, const Figures *runs, const Figures *defaults) {
  const double s_rhs = slope(defaults, false), s_steps = slope(defaults, true);
  for (int k = 0; k < NTOLS; k++) {
    if (runs[k].flag < 0) s->failed++;
    if (runs[k].flag < 0 || defaults[k].flag < 0) continue;
    const double steps = (double)runs[k].steps / (double)defaults[k].steps;
    const double rhs   = (double)runs[k].rhs / (double)defaults[k].rhs;
    const double error = (double)(runs[k].error / defaults[k].error);
    mean_add(&s->steps, steps);
    mean_add(&s->rhs, rhs);
    mean_add(&s->error, error);
    mean_add(&s->work, rhs * pow(error, s_rhs));
    mean_add(&s->at_steps, steps * pow(error, s_steps));
    if (defaults[k].setups > 0)
      mean_add(&s->setups, (double)runs[k].setups / (double)defaults[k].setups);
  }
}

static void print_line(const Grid *grid, const Grid *defaults, int lmm, double value) {
  Summary all  = {0};
  double least = HUGE_VAL, most = 0.0;
  int which_least = 0, which_most = 0;
  for (int j = 0; j < NCASES; j++) {
    Summary one = {0};
    if (!applies(&cases[j], lmm)) continue;
    compare(&one, grid->run[j], defaults->run[j]);
    compare(&all, grid->run[j], defaults->run[j]);
    const double work = mean_value(&one.work);
    if (work < least) least = work, which_least = j;
    if (work > most) most = work, which_most = j;
  }
  printf("  %-8g %6.3f %6.3f %7.3f %6.2f %6.3f %8.3f   %5.3f %-13s %5.3f %-13s", value,
         mean_value(&all.steps), mean_value(&all.rhs),
         all.setups.count ? mean_value(&all.setups) : 0.0, mean_value(&all.error),
         mean_value(&all.work), mean_value(&all.at_steps), least, cases[which_least].mechanism,
         most, cases[which_most].mechanism);
  if (all.failed > 0) printf(" %ld runs failed", all.failed);
  printf("\n");
}

static void sweep(Bench *b, const Setting *setting, int lmm) {
  Grid *grid = CHECK_POINTER(calloc((size_t)setting->nvalues, sizeof *grid));
  printf("%s, %s\n  %-8s %6s %6s %7s %6s %6s %8s   %-19s %-19s\n", method_name(lmm), setting->what,
         "value", "steps", "f", "set-ups", "error", "work", "at steps", "least work", "most work");
  for (int value = 0; value < setting->nvalues; value++) {
    run_grid(b, setting, value, lmm, &grid[value]);
    print_line(&grid[value], &grid[0], lmm, setting->value[value]);
  }
  printf("\n");
  free(grid);
}

/* ------------------------------------------------------------------------------- the targets -- */

/* Measured elsewhere with hand-written projections; error: of the positions at the end */
typedef struct {
  const char *mechanism;
  int lmm;
  sunrealtype middle;
  double steps, rhs, error;
} Target;

static const Target targets[] = {{"andrews", CV_BDF, 1.0e-8, 606, 957, 1.1e-5},
                                 {"andrews", CV_ADAMS, 1.0e-10, 772, 1353, 3.7e-8},
                                 {"car_axis", CV_ADAMS, 1.0e-10, 1828, 2704, 5.0e-10},
                                 {"chain10", CV_BDF, 1.0e-10, 1066, 1971, 1.3e-8},
                                 {"chain10", CV_ADAMS, 1.0e-10, 715, 1195, 1.8e-9},
                                 {"chain100", CV_ADAMS, 1.0e-8, 106, 176, 1.2e-7}};
enum { NTARGETS = sizeof targets / sizeof targets[0] };

typedef struct {
  const char *name;
  Projected by;
  CPMechMetric metric;
  CPErrEst err_est;
  bool newton;
  int anderson;
} Variant;

static const Variant variants[] = {
    {"projector", BY_CPODES, 0, 0, false, 0},
    {"projector, unprojected norm", BY_CPODES, 0, CP_ERREST_UNPROJECTED, false, 0},
    {"projector, Newton", BY_CPODES, 0, 0, true, 0},
    {"CPMech", BY_MECHANICS, CP_METRIC_DEFAULT, 0, false, 0},
    {"CPMech, unprojected norm", BY_MECHANICS, CP_METRIC_DEFAULT, CP_ERREST_UNPROJECTED, false, 0},
    {"CPMech, Newton", BY_MECHANICS, CP_METRIC_DEFAULT, 0, true, 0},
    {"CPMech, metric ERROR", BY_MECHANICS, CP_METRIC_ERROR, 0, false, 0},
    {"CPMech, metric L2", BY_MECHANICS, CP_METRIC_L2, 0, false, 0},
    {"CPMech, metric KINETIC", BY_MECHANICS, CP_METRIC_KINETIC, 0, false, 0}};
enum { NVARIANTS = sizeof variants / sizeof variants[0] };

static void climb(const Target *target, const Variant *variant, Mechanism *mechanism, FILE *csv,
                  SUNContext ctx) {
  const RunOptions o = {.lmm      = target->lmm,
                        .tol      = target->middle,
                        .by       = variant->by,
                        .metric   = variant->metric,
                        .err_est  = variant->err_est,
                        .newton   = variant->newton,
                        .anderson = variant->anderson};
  const Ladder s     = run_ladder(mechanism, o, "tuning", variant->name, csv, NULL, ctx);
  const double steps = mean_value(&s.steps), rhs = mean_value(&s.rhs);
  const double error = mean_value(&s.position_error);
  printf("  %-28s %8.0f %8.0f %9.1e   %6.2f %6.2f %6.2f", variant->name, steps, rhs, error,
         steps / target->steps, rhs / target->rhs, error / target->error);
  if (s.failed) printf("   %d runs failed", s.failed);
  printf("\n");
}

static bool can_run(const Mechanism *mechanism, const Variant *variant, int lmm) {
  if (variant->newton && lmm == CV_BDF) return false; /* Newton is the default for BDF */
  return variant->by == BY_MECHANICS ? mechanism->model->mech.nu > 0 : mechanism->G != NULL;
}

static void compare_targets(FILE *csv, SUNContext ctx) {
  for (int i = 0; i < NTARGETS; i++) {
    const Target *target = &targets[i];
    Mechanism *mechanism = mechanism_create(target->mechanism, ctx);
    printf("%s, %s, tol about %.0e: steps, f, error of positions; relative to %g, %g, %.1e\n",
           target->mechanism, method_name(target->lmm), (double)target->middle, target->steps,
           target->rhs, target->error);
    for (int k = 0; k < NVARIANTS; k++)
      if (can_run(mechanism, &variants[k], target->lmm))
        climb(target, &variants[k], mechanism, csv, ctx);
    mechanism_free(&mechanism);
  }
}

/* -------------------------------------------------------------------------------------- main -- */

static Mechanism *create(const Case *c, SUNContext ctx) {
  Mechanism *m           = mechanism_create(c->mechanism, ctx);
  const RunOptions tight = {.lmm = CV_BDF, .tol = 1.0e-12, .by = c->by};
  if (c->stiff) CHECK(run_to_end(m, &tight, m->y_end, ctx).flag < 0);
  return m;
}

int main(int argc, char **argv) {
  Options options = options_parse(
      argc, argv, "Settings of CVODES under projection",
      "[targets] [before] [newton] [kept-bdf] [kept-adams] [matrix] [gamma] [jacobian] "
      "[convergence] "
      "[iterations] [growth] [early] [solver-cut] [error-cut] [order-bdf] [order-adams] [anderson] "
      "[errest]",
      0);
  Bench b = {.options = &options, .ctx = check_context()};
  csv_header(options.csv);
  if (options_select(&options, "targets")) compare_targets(options.csv, b.ctx);
  for (int j = 0; j < NCASES; j++) b.mechanism[j] = create(&cases[j], b.ctx);
  for (int i = 0; i < NSETTINGS; i++)
    for (int k = 0; k < NMETHODS; k++)
      if (options_select(&options, settings[i].name) &&
          (!settings[i].lmm || settings[i].lmm == methods[k]))
        sweep(&b, &settings[i], methods[k]);
  for (int j = 0; j < NCASES; j++) mechanism_free(&b.mechanism[j]);
  SUNContext_Free(&b.ctx);
  options_close(&options);
  return EXIT_SUCCESS;
}
