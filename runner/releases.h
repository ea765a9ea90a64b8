/* Releases of joints of mechanisms from files (CPRelease), as one event source. */
#ifndef CPODES_RUNNER_RELEASES_H
#define CPODES_RUNNER_RELEASES_H

#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_session.h>

typedef struct Releases_ Releases;

/* Makes the source of all releases of a mechanism. all: out, NULL if there are none. Returns 0, or -1 without memory. */
int releases_create(CPBodies bodies, Releases **all);
void releases_free(Releases **all);
/* The source, whose events have the names of what they release: "pin released" */
const CPEventSource *releases_source(const Releases *all);

#endif
