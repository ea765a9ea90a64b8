/* Runs a model in a process of its own, so that crashes and endless loops do not affect the
 * listeners. */
#ifndef CPODES_RUNNER_RUN_H
#define CPODES_RUNNER_RUN_H

#include "../simulation/records.h"
#include "interrupts.h"

/* Runs the model and notifies the listeners [count]; result: out. info: out, what the listeners got
 * at the start, valid until run_info_free; its settings are a copy. After limit > 0 seconds the run
 * ends as RUN_FAILED. The error against a reference is waited for as long, or for a second without
 * a limit. Returns the exit status. */
int run_process(const RunSettings *settings, Listener *const *listeners, int count, double limit,
                RunInfo *info, RunResult *result);
void run_info_free(RunInfo *info);

#endif
