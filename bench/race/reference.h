/* References for problems without one: by methods that run here, with much smaller tolerances than
 * the compared runs, and never by a single method. */
#ifndef CPODES_BENCH_REFERENCE_H
#define CPODES_BENCH_REFERENCE_H

#include "problem.h"

/* Sets problem->reference to the first of two solutions by different methods, and
 * problem->reference_error to the largest difference of their compared components; if fewer than
 * two succeed, the reference stays NULL. origin names the methods. limit: CPU time of each [s].
 * Returns 0, or -1 if memory is lacking. */
int reference_compute(Problem *problem, double limit, const char *log);

#endif
