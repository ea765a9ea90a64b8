/* Runs of one model by several methods and tolerances: their work, and their errors at the end. */
#ifndef CPODES_RUNNER_COMPARISON_H
#define CPODES_RUNNER_COMPARISON_H

#include "../process/run.h"

#include <stdio.h>

enum { MOST_METHODS = 16, MOST_TOLERANCES = 40 };

typedef struct {
  const Method *method;
  double tol;   /* relative and absolute */
  double error; /* max_i |y_i - reference_i|; NaN: no end, or no reference */
  RunResult result;
} ComparedRun;

typedef struct {
  /* in */
  RunSettings settings; /* model, t_end */
  double limit;         /* of CPU time for each run [s] */
  Method method[MOST_METHODS];
  int nmethods; /* 0: those that suit the model, by comparison_prepare */
  double tol[MOST_TOLERANCES];
  int ntols;                   /* 0: from ... to */
  double from, to, per_decade; /* 0: the default */
  /* by comparison_prepare */
  bool stiff;
  bool known;        /* does the model know its end? */
  double *reference; /* [n] else computed here */
  long n, ncompared;
  double accuracy;       /* of the reference, absolute */
  char origin[RUN_TEXT]; /* in words */
  /* by comparison_run */
  ComparedRun run[MOST_METHODS * MOST_TOLERANCES];
  int nruns;
} Comparison;

/* What the model is, methods and tolerances that were not given, and the reference. STATUS_DONE, or a complaint and
   another exit status */
int comparison_prepare(Comparison *comparison);
void comparison_free(Comparison *comparison);

/* One run by its place 0 ... nmethods ntols - 1; the newest is the last of comparison->run. Returns its exit status. */
int comparison_run(Comparison *comparison, int place);

/* A run of the model; y: out, its end, which the caller frees, NULL without one; [*n] */
int run_to_end(const Comparison *comparison, const Method *method, double tol, bool judged,
               RunInfo *info, RunResult *result, double **y, long *n);
/* By name; methods of method.h that always exist */
const Method *method_named(const char *name);

/* The reference, by two methods. STATUS_DONE, or a complaint and another exit status */
int reference_compute(Comparison *comparison);
/* max |a_i - b_i| over the compared components; NaN if one is */
double reference_distance(const Comparison *comparison, const double *a, const double *b);

/* ---- what it shows ---- */

void comparison_print_head(const Comparison *comparison, FILE *out);
void comparison_print_row(const Comparison *comparison, const ComparedRun *run, FILE *out);
/* All runs as a table for programs; 0, or a complaint and -1 */
int comparison_write_csv(const Comparison *comparison, const char *path);
int comparison_write_json(const Comparison *comparison, const char *path);

/* Work and precision, by gnuplot: as letters, or as a file (.svg, .png, .pdf). 0, or -1 after a complaint; 1: no run has an
   error that could be drawn */
int work_precision_print(const Comparison *comparison, FILE *out);
int work_precision_write(const Comparison *comparison, const char *path);

#endif
