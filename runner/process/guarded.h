/* Runs code that calls a model's functions in a process of its own: crashes and endless loops
 * become one clear line. */
#ifndef CPODES_RUNNER_GUARDED_H
#define CPODES_RUNNER_GUARDED_H

#include "../options.h"

#include <stdio.h>

enum { GUARDED_TEXT = 200 };

typedef struct {
  FILE *out;   /* our stdout; the model's own output goes to stderr */
  char *doing; /* [GUARDED_TEXT] the current activity, for the line; "" at first */
} Guarded;

/* The same with a model, which is created in that process. Returns STATUS_USAGE if it cannot be
 * created. */
typedef int (*ModelWork)(const Guarded *guarded, const CPPlugin *model, void *data);
int run_with_model(const ModelChoice *choice, long limit, ModelWork work, void *data);

#endif
