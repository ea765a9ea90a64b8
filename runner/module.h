/* Models of the user's, in shared objects. */
#ifndef CPODES_RUNNER_MODULE_H
#define CPODES_RUNNER_MODULE_H

#include <cpodes/cpodes_model.h>

/* The model of the shared object at path, which stays loaded; NULL after a complaint: it cannot be loaded, has no model, has
   one of another ABI, or one whose table is impossible */
const CPModelType *module_load(const char *path);

#endif
