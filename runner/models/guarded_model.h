/* A model created, and used, in a process of its own. */
#ifndef CPODES_RUNNER_GUARDED_MODEL_H
#define CPODES_RUNNER_GUARDED_MODEL_H

#include "../options.h"
#include "guarded.h"

typedef int (*ModelWork)(const Guarded *guarded, const CPModel *model, void *data);

/* As run_guarded; STATUS_USAGE if the model cannot be created */
int run_with_model(const ModelChoice *choice, long limit, ModelWork work, void *data);

#endif
