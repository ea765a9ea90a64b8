/* One integration, and its cost. Shared by the benchmarks. */
#ifndef CPODES_BENCH_RUN_H
#define CPODES_BENCH_RUN_H

#include "mechanisms.h"
#include <models/counters.h>
#include <stdbool.h>

/* The code that projects */
typedef enum {
  BY_CPODES,    /* this library, with the options below */
  BY_MECHANICS, /* this library, the mechanism as a CPMech */
  BY_HOOK, /* CVODES itself, by a hand-written function given to CVodeSetProjFn; BDF and chains only */
  BY_NOBODY /* plain CVODES */
} Projected;

/* The integration to run. lmm and tol must be set; every other member means its default if it is 0. */
typedef struct {
  int lmm; /* CV_BDF: Newton, dense, difference quotients for df/dy; CV_ADAMS: fixed point */
  sunrealtype tol; /* rtol = atol */
  Projected by;

  sunrealtype eps;   /* CPProjectorSetEps */
  CPLinSol linsol;   /* CPProjectorSetLinearSolver */
  CPNorm norm;       /* CPProjectorSetNorm */
  bool coupled;      /* one level instead of those detected */
  bool difference_G; /* G by difference quotients instead of the mechanism's function */

  CPErrEst err_est;           /* CPIntegratorSetErrEst */
  sunrealtype max_correction; /* CPIntegratorSetMaxCorrection */
  long int proj_frequency;    /* CPIntegratorSetProjFrequency */
  bool test_constraint;       /* its argument violated */
  sunrealtype hook_eps;       /* CVodeSetEpsProj; 0: CVODES' default, 0.1 */

  int anderson;        /* depth of Anderson acceleration of the fixed-point solver */
  bool newton;         /* Newton instead of fixed-point iteration for CV_ADAMS */
  bool cvodes_test;    /* CVODES' own convergence test for Newton */
  CPMechMetric metric; /* CPMechSetMetric */
  /* A setting of the integrator, made before the first step, or NULL */
  int (*set)(CPIntegrator mem, double value);
  double value;
} RunOptions;

enum { MAX_ORDER = 12, CORRECTION_DECADES = 8 };

typedef struct {
  int flag; /* of the last call; negative: the run failed, and its figures are meaningless */
  char message[200]; /* the reason */
  long int steps;
  long int rhs;      /* evaluations of f, including those for difference quotients */
  long int setups;   /* set-ups of Newton's linear solver */
  long int rejected; /* failed error tests and failed solves, including projections */
  long int order_steps[MAX_ORDER + 1]; /* steps taken with each order */
  long int corrections[CORRECTION_DECADES]; /* of the projections' corrections, in WRMS: below 1e-2, 1e-1, ..., 1e4, above */
  sunrealtype violation;      /* largest |c_i| after a step, in the units of c */
  sunrealtype error;          /* largest |y_i - reference_i| at t_end */
  sunrealtype position_error; /* the same for the positions alone */
  double seconds;             /* of the integration alone */
  IntegratorCounters proj;    /* zero unless cpodes projects */
} Figures;

/* Integrates step by step and examines each step, so that seconds is meaningless. */
Figures run_observed(Mechanism *mechanism, const RunOptions *options, SUNContext ctx);
/* Integrates in one call, without the figures by step: order_steps, corrections and violation. */
Figures run_timed(Mechanism *mechanism, const RunOptions *options, SUNContext ctx);
/* The same; y [n]: the final state */
Figures run_to_end(Mechanism *mechanism, const RunOptions *options, N_Vector y, SUNContext ctx);

/* Highest order with at least one step */
int highest_order(const Figures *figures);
/* Share of the steps taken with orders above order */
double share_above_order(const Figures *figures, int order);

const char *method_name(int lmm);

/* A geometric mean under construction; without values it is NaN. */
typedef struct {
  double sum_of_logs;
  int count;
} GeometricMean;
void mean_add(GeometricMean *mean, double value);
double mean_value(const GeometricMean *mean);

/* Means over a ladder of close tolerances, nine from 0.8 to 1.25 times its middle in equal ratios,
 * since a single tolerance is not conclusive. Failed runs are counted in `failed` only. */
typedef struct {
  GeometricMean steps, rhs, error, position_error;
  long int most_steps;
  sunrealtype largest_error;
  int failed;
} Ladder;
/* options.tol is the middle. program, variant: for csv. print may be NULL; it receives each run,
 * which is then observed. */
Ladder run_ladder(Mechanism *mechanism, RunOptions options, const char *program, const char *variant,
                  FILE *csv, void (*print)(sunrealtype tol, const Figures *figures), SUNContext ctx);

/* One line per run with all figures, for further analysis, unless csv is NULL. */
void csv_header(FILE *csv);
void csv_run(FILE *csv, const char *program, const char *variant, const Mechanism *mechanism,
             const RunOptions *options, const Figures *figures);

#endif
