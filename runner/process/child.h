/* Processes in which a model's code runs: what they start ends with them, and they end with this program. */
#ifndef CPODES_RUNNER_CHILD_H
#define CPODES_RUNNER_CHILD_H

#include <sys/types.h>

typedef enum { CHILD_ENDED, CHILD_OVER_LIMIT, CHILD_INTERRUPTED, CHILD_LOST } ChildEnd;

/* As fork; what the child starts is of its group. Ctrl-C is the parent's business. */
pid_t child_start(void);
/* In the parent: until the child ends, for limit seconds at most (0: none), or until catch_interrupts' signals. It is killed
   then, as is what it had started. status: out, of waitpid */
ChildEnd child_wait(pid_t child, double limit, int *status);
/* Of a model that did not come to its end: "the model crashed: Killed", "the model ended the process, ..." */
void child_describe(int status, char *text, size_t length);

#endif
