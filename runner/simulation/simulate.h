/* The run itself, in its own process: integrates the model and sends records to a listener. */
#ifndef CPODES_RUNNER_SIMULATE_H
#define CPODES_RUNNER_SIMULATE_H

#include "../output/rows.h"
#include "records.h"

/* result: out, everything except what only the parent knows. end is called once; again with the
 * estimate of the error, if the settings request one; and again with the error against the model's
 * reference, if there is one, which may take long. */
void simulate(const RunSettings *settings, Listener *listener, RunResult *result);
/* The same without begin, end and estimate. times: its first column holds the times of the start
 * and of all outputs, as many as in the settings; NULL: equally spaced. */
void simulate_beside(const RunSettings *settings, const Rows *times, Listener *listener,
                     RunResult *result);

#endif
