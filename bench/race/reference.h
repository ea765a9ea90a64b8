/* References of problems that have none: from methods that run here, much tighter than what is compared, and never from
 * one alone. */
#ifndef CPODES_BENCH_REFERENCE_H
#define CPODES_BENCH_REFERENCE_H

#include "problem.h"

/* Sets problem->reference to the first of two solutions by different methods, and problem->reference_error to the largest
   difference of their compared components; where less than two succeed the reference stays NULL. origin says which.
   limit: CPU time of each [s]. 0, or -1 without memory */
int reference_compute(Problem *problem, double limit, const char *log);

#endif
