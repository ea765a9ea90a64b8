/* What iteration matrices are compared with: the Jacobian of y' = f(t, y). */
#ifndef CPODES_TEST_NEWTON_FIXTURE_H
#define CPODES_TEST_NEWTON_FIXTURE_H

#include <cpodes/mechanics/newton/newton_impl.h>

#include "support/support.h"

/* By central differences of sixth order, with steps of 0.005, of the right-hand side at (t, y): errors of
 * truncation and roundoff are some 1e-12 where derivatives are of order one. The caller's. */
SUNMatrix ode_jacobian(CPMech mech, sunrealtype t, N_Vector y);

/* Largest entry of (I - gamma J) x - r, x the solution by newton's factors, over some r of order one.
 * Where the norm of the inverse is of order one, so is the error of x. */
double system_residual(CPMechNewtonMem newton, N_Vector y, SUNMatrix J, double gamma);

#endif
