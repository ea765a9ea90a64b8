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
  sunrealtype t;
  CPIntegrator mem = CPIntegratorCreate(method, test_context);
  ck_assert_int_eq(CPMechAttach(mech, mem, 0, y), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSStolerances(mem, tol, tol), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorSetMaxNumSteps(mem, 20000), CP_SUCCESS);
  ck_assert_int_eq(CPIntegratorEvolve(mem, t_end, y, &t, CV_NORMAL), CP_SUCCESS);
  CPIntegratorFree(&mem);
}

/* Component k of a quantity at t = 0 */
static inline double quantity(const char *name, int k) { return quantity_at(mech, name, 0, y, k); }

#endif
