/* cpodes: everything for y' = f(t, y), 0 = c(t, y) and for mechanical systems; bodies, contacts and models are in headers of
 * their own. */
#ifndef CPODES_H
#define CPODES_H

#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_mechanics.h>
#include <cpodes/cpodes_projector.h>
#include <cpodes/cpodes_sens.h>

#endif
