/* One integration, and what it cost. Shared by the benchmarks. */
#ifndef CPODES_BENCH_RUN_H
#define CPODES_BENCH_RUN_H

#include "mechanisms.h"
#include <stdbool.h>

/* Who projects */
typedef enum {
  BY_CPODES,    /* this library, with the options below */
  BY_MECHANICS, /* this library, the mechanism as a CPMech */
  BY_HOOK, /* CVODES itself, by a hand-written function given to CVodeSetProjFn; BDF and chains only */
  BY_NOBODY /* plain CVODES */
} Projected;

/* What is run. lmm and tol must be set; every other member means its default when it is 0. */
typedef struct {
  int lmm; /* CV_BDF: Newton, dense, difference quotients for df/dy; CV_ADAMS: fixed point */
  sunrealtype tol; /* rtol = atol */
  Projected by;

  sunrealtype eps;        /* CPProjectorSetEps */
  int max_iters;          /* CPProjectorSetMaxIters */
  long int jac_frequency; /* CPProjectorSetJacFrequency */
  CPLinSol linsol;        /* CPProjectorSetLinearSolver */
  CPNorm norm;            /* CPProjectorSetNorm */
  bool coupled;           /* one level in place of those detected */
  bool difference_G;      /* G by difference quotients in place of the mechanism's function */

  CPErrEst err_est;           /* CPodeSetProjErrEst */
  sunrealtype max_correction; /* CPodeSetProjMaxCorrection */
  long int proj_frequency;    /* CPodeSetProjFrequency */
  bool test_constraint;       /* CPodeSetProjTestCnstr */
  sunrealtype hook_eps;       /* CVodeSetEpsProj; 0: CVODES' default, 0.1 */

  int anderson;        /* depth of Anderson acceleration of the fixed-point solver */
  bool newton;         /* Newton in place of fixed-point iteration for CV_ADAMS */
  bool cvodes_test;    /* CVODES' own convergence test for Newton */
  CPMechMetric metric; /* CPMechSetMetric */
  /* A setting of the integrator, made before the first step, or NULL */
  int (*set)(CPodeMem mem, double value);
  double value;
} RunOptions;

enum { MAX_ORDER = 12, CORRECTION_DECADES = 8 };

typedef struct {
  int flag;          /* of the last call; negative: the run failed, its figures are of no use */
  char message[200]; /* why */
  long int steps;
  long int rhs;      /* evaluations of f, with those for difference quotients */
  long int setups;   /* set-ups of Newton's linear solver */
  long int rejected; /* failed error tests and failed solves, projections included */
  long int order_steps[MAX_ORDER + 1]; /* steps taken with each order */
  long int corrections[CORRECTION_DECADES]; /* of the projections' corrections, in WRMS: below 1e-2, 1e-1, ..., 1e4, above */
  sunrealtype violation;      /* largest |c_i| after a step, in the units of c */
  sunrealtype error;          /* largest |y_i - reference_i| at t_end */
  sunrealtype position_error; /* the same of the positions alone */
  double seconds;             /* of the integration alone */
  CPodeProjStats proj;        /* zero unless cpodes projects */
} Figures;

/* Integrates step by step and looks at each step: seconds is of no use then. */
Figures run_observed(Mechanism *mechanism, const RunOptions *options, SUNContext ctx);
/* Integrates in one call: of the figures by step, order_steps, corrections and violation, there are none. */
Figures run_timed(Mechanism *mechanism, const RunOptions *options, SUNContext ctx);
/* The same; y [n]: out, the state at the end */
Figures run_to_end(Mechanism *mechanism, const RunOptions *options, N_Vector y, SUNContext ctx);

/* Highest order with at least one step */
int highest_order(const Figures *figures);
/* Share of the steps taken with orders above order */
double share_above_order(const Figures *figures, int order);

const char *method_name(int lmm);

/* Geometric mean under construction; of no values it is NaN. */
typedef struct {
  double sum_of_logs;
  int count;
} GeometricMean;
void mean_add(GeometricMean *mean, double value);
double mean_value(const GeometricMean *mean);

/* Means over a ladder of close tolerances, nine from 0.8 to 1.25 times its middle in equal ratios: a single tolerance says
   little. Runs that fail are in `failed` only. */
typedef struct {
  GeometricMean steps, rhs, error, position_error;
  long int most_steps;
  sunrealtype largest_error;
  int failed;
} Ladder;
/* options.tol is the middle. program, variant: for csv. print, which may be NULL, gets each run, which is observed then. */
Ladder run_ladder(Mechanism *mechanism, RunOptions options, const char *program, const char *variant,
                  FILE *csv, void (*print)(sunrealtype tol, const Figures *figures), SUNContext ctx);

/* One line per run with all figures, for further evaluation, unless csv is NULL. */
void csv_header(FILE *csv);
void csv_run(FILE *csv, const char *program, const char *variant, const Mechanism *mechanism,
             const RunOptions *options, const Figures *figures);

#endif
