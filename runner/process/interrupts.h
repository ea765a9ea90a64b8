/* Ctrl-C and similar signals, which end a run in the regular way. */
#ifndef CPODES_RUNNER_INTERRUPTS_H
#define CPODES_RUNNER_INTERRUPTS_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP are recorded; another one after a second ends the program
 * at once. Writing to a pipe without a reader, or to a file that must not grow, fails instead of
 * ending the program. */
void catch_interrupts(void);
/* Restores the earlier handlers, in a child. */
void forget_interrupts(void);
bool was_interrupted(void);

#endif
