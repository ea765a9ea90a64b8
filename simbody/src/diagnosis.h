/* Why a system cannot be integrated, in one sentence. Elements are called q[i], u[i] and z[i], and constraints constraint[i], by
 * Simbody's indices, so that clients can replace them by names of their own. */
#ifndef CPODES_SIMBODY_DIAGNOSIS_H
#define CPODES_SIMBODY_DIAGNOSIS_H

#include <SimTKsimbody.h>

#include <string>

namespace cpodes {

/** Each function returns "" if there is nothing to say. */

/** What is not finite: of a state, or of the vector of some elements */
std::string notFinite(const SimTK::State &state);
std::string notFinite(const SimTK::Vector &values, const char *name);
/** Speeds that move no mass. state: realized to Velocity */
std::string withoutMass(const SimTK::MultibodySystem &system, const SimTK::State &state);
/** Constraints that a state violates by more than a tolerance, those that are violated most first, and what is locked. */
std::string violated(const SimTK::MultibodySystem &system, SimTK::State state, double tolerance);

} // namespace cpodes
#endif
