/* Mechanisms from files, as models. */
#ifndef CPODES_RUNNER_MECHANISM_H
#define CPODES_RUNNER_MECHANISM_H

#include <cpodes/cpodes_model.h>

/* Is this the name of a file with a mechanism: .yaml, .yml, .xml, .urdf, .mjcf? */
int mechanism_is_file(const char *name);

/* The model of the file, of which there is one in a process; it lasts as long. NULL after a complaint. */
const CPModelType *mechanism_load(const char *path);

#endif
