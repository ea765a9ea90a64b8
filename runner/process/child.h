/* Processes in which a model's code runs. The processes that they start end with them, and they end
 * with this program. */
#ifndef CPODES_RUNNER_CHILD_H
#define CPODES_RUNNER_CHILD_H

#include <sys/types.h>

typedef enum { CHILD_ENDED, CHILD_OVER_LIMIT, CHILD_INTERRUPTED, CHILD_LOST } ChildEnd;

/* As fork; the processes that the child starts are in its group. The parent handles Ctrl-C. */
pid_t child_start(void);
/* In the parent: waits until the child ends, for at most limit seconds (0: no limit), or until one
 * of catch_interrupts' signals. The child and the processes that it started are then killed.
 * status: out, as from waitpid. */
ChildEnd child_wait(pid_t child, double limit, int *status);
/* Describes a model that did not come to its end: "the model crashed: Killed", "the model ended the
 * process, ..." */
void child_describe(int status, char *text, size_t length);

#endif
