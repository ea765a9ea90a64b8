/* One mechanism of bodies, with a CPMech and a state, and its runs */
#ifndef CPODES_TEST_BODIES_ONE_H
#define CPODES_TEST_BODIES_ONE_H

#include "support/support.h"
#include "support/things.h"
#include <cpodes/cpodes_bodies.h>
#include <cpodes/cpodes_integrator.h>

static CPBodies bodies;
static CPMech mech;
static N_Vector y;

static inline void begin(int dimension, const sunrealtype *gravity) {
  test_context_setup();
  bodies = CPBodiesCreate(dimension, gravity);
}

static inline void build(CPFormulation formulation) { y = build_as(bodies, formulation, &mech); }

static inline void stop(void) {
  N_VDestroy(y);
  CPMechFree(&mech);
  CPBodiesFree(&bodies);
  test_context_teardown();
}

static inline void run(const char *method, double tol, double t_end) {
  evolve_mech(mech, y, method, tol, t_end);
}

/* Component k of a quantity at t = 0 */
static inline double quantity(const char *name, int k) { return quantity_at(mech, name, 0, y, k); }

#endif
