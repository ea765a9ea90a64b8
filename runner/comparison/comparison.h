/* Runs of one model by several methods and tolerances, with their work and their errors at the end. */
#ifndef CPODES_RUNNER_COMPARISON_H
#define CPODES_RUNNER_COMPARISON_H

#include "../process/run.h"

#include <stdio.h>

enum { MOST_METHODS = 16, MOST_TOLERANCES = 40 };

typedef struct {
  const Method *method;
  double tol; /* relative and absolute */
  /* max_i |y_i - reference_i|; NaN: the run did not reach the end, or there is no reference */
  double error;
  RunResult result;
} ComparedRun;

typedef struct {
  /* in */
  RunSettings settings; /* model, t_end */
  double limit;         /* of CPU time for each run [s] */
  Method method[MOST_METHODS];
  int nmethods; /* 0: comparison_prepare takes those that suit the model */
  double tol[MOST_TOLERANCES];
  int ntols;                   /* 0: a ladder from `from` to `to` */
  double from, to, per_decade; /* 0: the default */
  /* by comparison_prepare */
  bool stiff;
  bool known;        /* does the model have a reference for its end? */
  double *reference; /* [n] the model's, or else computed here */
  long n, ncompared;
  double accuracy;       /* of the reference, absolute */
  char origin[RUN_TEXT]; /* in words */
  /* by comparison_run */
  ComparedRun run[MOST_METHODS * MOST_TOLERANCES];
  int nruns;
} Comparison;

/* Finds out what the model is, chooses methods and tolerances that were not given, and finds the
 * reference. Returns STATUS_DONE, or another exit status after a complaint. */
int comparison_prepare(Comparison *comparison);
void comparison_free(Comparison *comparison);

/* Makes run number `place`, 0 ... nmethods ntols - 1, which becomes the last of comparison->run.
 * Returns its exit status. */
int comparison_run(Comparison *comparison, int place);

/* Runs the model. y: out, the state at the end, which the caller frees, or NULL; [*n]. */
int run_to_end(const Comparison *comparison, const Method *method, double tol, bool judged,
               RunInfo *info, RunResult *result, double **y, long *n);
/* Finds a method that always exists by its name in method.h. */
const Method *method_named(const char *name);

/* Computes the reference by two methods. Returns STATUS_DONE, or another exit status after a
 * complaint. */
int reference_compute(Comparison *comparison);
/* Returns max |a_i - b_i| over the compared components, or NaN if one of them is NaN. */
double reference_distance(const Comparison *comparison, const double *a, const double *b);

/* ---- output ---- */

void comparison_print_head(const Comparison *comparison, FILE *out);
void comparison_print_row(const Comparison *comparison, const ComparedRun *run, FILE *out);
/* Writes all runs as a table for programs. Returns 0, or -1 after a complaint. */
int comparison_write_csv(const Comparison *comparison, const char *path);
int comparison_write_json(const Comparison *comparison, const char *path);

/* Plots error against work by gnuplot, as text, or to a file (.svg, .png, .pdf). Returns 0, -1
 * after a complaint, or 1 if no run has an error to plot. */
int work_precision_print(const Comparison *comparison, FILE *out);
int work_precision_write(const Comparison *comparison, const char *path);

#endif
