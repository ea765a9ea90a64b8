/* Controllers of mechanisms from files (CPController), as event sources. */
#ifndef CPODES_RUNNER_CONTROLLERS_H
#define CPODES_RUNNER_CONTROLLERS_H

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_session.h>

typedef struct Controllers_ Controllers;

/* Makes the sources of all controllers, which evaluate and set what mech has. all: out, NULL if there are none. Returns 0, or -1 without
 * memory. */
int controllers_create(CPBodies bodies, CPMech mech, Controllers **all);
void controllers_free(Controllers **all);
/* The sources; n: out, their number */
const CPEventSource *controllers_sources(const Controllers *all, int *n);

#endif
