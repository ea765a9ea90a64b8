/* The error of a run, estimated by a second, more accurate run.
 *
 * If the second run's own error is small, the distance of the two runs is the error of the first.
 * The states at the ends of the first run's steps are kept, and the second run is compared with
 * them, in the norm of CPModelError. */
#ifndef CPODES_RUNNER_ESTIMATE_H
#define CPODES_RUNNER_ESTIMATE_H

#include "problem.h"
#include "simulate.h"

/* Makes room for the states of the first run, of which n components are compared. Returns 0, or -1
 * without memory. Call rows_free in any case. */
int estimate_begin(Rows *track, long n);
/* Keeps the state y at the start, and at the end of each step. */
void estimate_track(Rows *track, sunrealtype t, N_Vector y);
/* Makes the second run. first: the problem of the first run, whose states are in track; result: in,
 * of the first run; out, with the estimate. The listener gets the differences, then the result. */
void estimate_error(const Problem *first, Rows *track, Listener *listener, RunResult *result);

#endif
