/* The run itself, in its own process: integrates the model and tells a listener. */
#ifndef CPODES_RUNNER_SIMULATE_H
#define CPODES_RUNNER_SIMULATE_H

#include "records.h"

/* result: out, all but what only the parent knows. end is called once, and where the model has a reference a second time with
   the error, which may take long. */
void simulate(const RunSettings *settings, Listener *listener, RunResult *result);

#endif
