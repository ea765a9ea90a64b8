/* The reference for iteration matrices: the Jacobian of y' = f(t, y). */
#ifndef CPODES_TEST_NEWTON_FIXTURE_H
#define CPODES_TEST_NEWTON_FIXTURE_H

#include <cpodes/mechanics/newton/newton_impl.h>

#include "support/support.h"

/* By central differences of sixth order, with steps of 0.005, of the right-hand side at (t, y):
 * errors of truncation and roundoff are about 1e-12 where derivatives are of order one. The caller
 * frees it. */
SUNMatrix ode_jacobian(CPMech mech, sunrealtype t, N_Vector y);

/* The largest entry of (I - gamma J) x - r, where x is the solution by newton's factors, over
 * several r of order one. If the norm of the inverse is of order one, so is the error of x. */
double system_residual(CPMechNewtonMem newton, N_Vector y, SUNMatrix J, double gamma);

#endif
