/* The error of a run, estimated by a second, more accurate run.
 *
 * If the second run's own error is small, the distance of the two runs is the error of the first.
 * The states at the ends of the first run's steps and at its outputs, which may be interpolated less
 * accurately, are kept (scales.h), and the second run is compared with them in all components, each in units of its scale.
 *
 * If the distance is large, the motion may be chaotic. Two runs at tight tolerances then decide: it
 * is chaotic if they differ by more than 1e-4 of a scale; if not, their common solution replaces the
 * second run. */
#ifndef CPODES_RUNNER_ESTIMATE_H
#define CPODES_RUNNER_ESTIMATE_H

#include "scales.h"
#include "simulate.h"

/* Distances up to this part of a scale are no reason for doubt. Estimates are right to a factor of
 * three: no error above 1 % passes, and none below 0.1 % is blamed. */
extern const double estimate_limit;

/* Makes the further runs. first: the problem of the first run, whose states are in track; measure:
 * its sizes, whose `tighter` is set; result: in, of the first run; out, with the estimate. The
 * listener gets the differences, the sizes, then the result. */
void estimate_error(const Problem *first, const Rows *track, Measure *measure, Listener *listener,
                    RunResult *result);

#endif
