/* A run in a process of its own: a model that crashes, or never ends, leaves those that listen alive. */
#ifndef CPODES_RUNNER_RUN_H
#define CPODES_RUNNER_RUN_H

#include "../simulation/records.h"
#include "interrupts.h"

/* Runs and tells the listeners [count]; result: out. info: out, what they were told at the start, valid until
   run_info_free; its settings are a copy. A seconds limit > 0 ends the run as RUN_FAILED; so long the error against a
   reference is waited for, too, else a second. Returns the exit status. */
int run_process(const RunSettings *settings, Listener *const *listeners, int count, double limit,
                RunInfo *info, RunResult *result);
void run_info_free(RunInfo *info);

#endif
