/* SUNDIALS' context of a run. */
#ifndef CPODES_RUNNER_CONTEXT_H
#define CPODES_RUNNER_CONTEXT_H

#include <sundials/sundials_context.h>

/* Silent: cpodes has the messages, and tells them. NULL: failed */
SUNContext context_create(void);

#endif
