/* The results of the race, and the tables made from them. */
#ifndef CPODES_BENCH_RESULT_H
#define CPODES_BENCH_RESULT_H

#include "contestant.h"
#include "curve.h"
#include "problem.h"

#include <stdio.h>

/* The runs of a method at a tolerance: the figures of the first one, with the median of all seconds */
typedef struct {
  const Contestant *contestant;
  sunrealtype tol;
  RaceFigures figures;
  double error, violation;
  bool counts; /* it finished, and its error is well above that of the reference */
} Result;

enum { RACE_MOST_RESULTS = 1000 };

/* All results of one problem, by method, then by tolerance */
typedef struct {
  char problem[PROBLEM_NAME];
  char origin[PROBLEM_MESSAGE]; /* of the reference */
  double reference_error, t_end;
  int nresults;
  Result result[RACE_MOST_RESULTS];
} Results;

typedef enum { COST_SECONDS, COST_EVALUATIONS } Cost;

/* points [results->nresults]: the envelope of a method, which is empty for evaluations of a
 * different f. Returns their number. */
int results_curve(const Results *results, const Contestant *contestant, Cost cost,
                  CurvePoint *points);

void csv_begin(FILE *csv);
void csv_write(FILE *csv, const Results *results);

/* Markdown: ratios at equal accuracy, one table over all problems and one for each */
void markdown_write(FILE *out, Results *const *results, int nproblems, const char *heading);

#endif
