/* Every system in every metric by every solver of the projector, one after the other:
 *
 *   FOR_CASES(c, system, SOLVERS) { ... c.s, c.P ... }
 *
 * Solvers that need independent rows are left out if rows are dependent, and those that need
 * matrices if the system has operators. */
#ifndef CPODES_TEST_CASES_H
#define CPODES_TEST_CASES_H

#include "mechanics/systems.h"

enum { METRICS = 5, SOLVERS = 4 };
extern const CPMechMetric metrics[METRICS]; /* all of them */

typedef struct {
  System *s;     /* only metric and solver have been set */
  CPProjector P; /* its projector */
  CPMechMetric metric;
  int index; /* of the next case */
  char name[80];
} Case;

#define FOR_CASES(c, system, nsolvers) \
  for (Case c = {.s = NULL}; case_next(&c, (system), (nsolvers)); system_free(&c.s))

/* The next configuration with one of the first nsolvers solvers (1: AUTO), or 0 after the last. */
int case_next(Case *c, int system, int nsolvers);
/* Do positions and velocities share their factors? */
int case_is_shared(const Case *c);

/* s->y with w and u off by up to size; quaternions also longer by up to size */
N_Vector case_disturbed(const System *s, double size);
/* Projects y, or fails the test. */
void case_project(const Case *c, N_Vector y);
/* Checks |value| <= bound; a failure has the name of the case and the index i. */
void case_no_larger(const Case *c, const char *what, int i, double value, double bound);

#endif
