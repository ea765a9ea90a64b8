/* User models in shared objects. */
#ifndef CPODES_RUNNER_MODULE_H
#define CPODES_RUNNER_MODULE_H

#include <cpodes/cpodes_model.h>

/* Returns the model of the shared object at path, which stays loaded. Returns NULL after a
 * complaint: the object cannot be loaded, has no model, has a model of another ABI, or one whose
 * table is invalid. */
const CPModelType *module_load(const char *path);

#endif
