/* The run itself, in its own process: integrates the model and tells a listener. */
#ifndef CPODES_RUNNER_SIMULATE_H
#define CPODES_RUNNER_SIMULATE_H

#include "records.h"

/* result: out, all but those that only the parent knows */
void simulate(const RunSettings *settings, Listener *listener, RunResult *result);

#endif
