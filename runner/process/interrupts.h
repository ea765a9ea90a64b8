/* Ctrl-C and its like, which end a run in the regular way. */
#ifndef CPODES_RUNNER_INTERRUPTS_H
#define CPODES_RUNNER_INTERRUPTS_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP are noted; one more after a second ends the program at once. Writing to a pipe
   that nobody reads, or to a file that must not grow, fails in place of ending it. */
void catch_interrupts(void);
/* As they were, in a child */
void forget_interrupts(void);
bool was_interrupted(void);

#endif
