/* The run itself, in its own process: integrates the model and tells a listener. */
#ifndef CPODES_RUNNER_SIMULATE_H
#define CPODES_RUNNER_SIMULATE_H

#include "../output/rows.h"
#include "records.h"

/* result: out, all but what only the parent knows. end is called once, again with the estimate of the error if the settings want
   one, and where the model has a reference once more with the error, which may take long. */
void simulate(const RunSettings *settings, Listener *listener, RunResult *result);
/* The same without begin, end and estimate. times: in its first column those of the start and of all outputs, as many
   as the settings have; NULL: equally spaced */
void simulate_beside(const RunSettings *settings, const Rows *times, Listener *listener,
                     RunResult *result);

#endif
