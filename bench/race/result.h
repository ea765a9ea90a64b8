/* What the race measures, and the tables made of it. */
#ifndef CPODES_BENCH_RESULT_H
#define CPODES_BENCH_RESULT_H

#include "contestant.h"
#include "curve.h"
#include "problem.h"

#include <stdio.h>

/* The runs of a method at a tolerance: figures of the first one, seconds the median of all */
typedef struct {
  const Contestant *contestant;
  sunrealtype tol;
  RaceFigures figures;
  double error, violation;
  bool counts; /* finished, and its error well above that of the reference */
} Result;

enum { RACE_MOST_RESULTS = 1000 };

/* All of one problem, by method, then by tolerance */
typedef struct {
  char problem[PROBLEM_NAME];
  char origin[PROBLEM_MESSAGE]; /* of the reference */
  double reference_error, t_end;
  int nresults;
  Result result[RACE_MOST_RESULTS];
} Results;

typedef enum { COST_SECONDS, COST_EVALUATIONS } Cost;

/* points [results->nresults]: out, the envelope of a method, none for evaluations of another f. Returns their number */
int results_curve(const Results *results, const Contestant *contestant, Cost cost,
                  CurvePoint *points);

void csv_begin(FILE *csv);
void csv_write(FILE *csv, const Results *results);

/* Markdown: ratios at equal accuracy, one table over all problems and one for each */
void markdown_write(FILE *out, Results *const *results, int nproblems, const char *heading);

#endif
