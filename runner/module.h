/* User models in shared objects. */
#ifndef CPODES_RUNNER_MODULE_H
#define CPODES_RUNNER_MODULE_H

#include <argp.h>
#include <cpodes/cpodes_plugin.h>

/* Loads the model of the shared object at path, which stays loaded. type: out. Returns 0 or, after a
 * complaint, ECHILD if loading it ends a process, EINVAL if the object cannot be loaded, has no model, has a
 * model of another ABI, or one whose table is invalid. */
error_t module_load(const char *path, const CPPluginType **type);

#endif
