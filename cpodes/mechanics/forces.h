/* Forces beside those of the model's f. */
#ifndef CPODES_MECHANICS_FORCES_H
#define CPODES_MECHANICS_FORCES_H

#include "mech.h"

int cpMechForcesSetUp(CPMech mech);
/* Begins differences around s, or ends them if s is NULL. Returns 1 if a force has become its linearization there, else 0,
 * or a code. */
int cpMechLinearizeForces(CPMech mech, const CPMechState *s);
static inline int cpMechHasLambdaForces(const CPMech mech) {
  return mech->eq->f_lambda || mech->forces.on_lambda > 0;
}
/* f += the forces that depend on lambda, or those of CPMechAddForce that do not */
int cpMechAddForces(CPMech mech, const CPMechState *s, int on_lambda, const double *lambda,
                    double *f);
/* Adds the springs and dampers of the model. Returns 0 or CP_MEM_FAIL. */
int cpMechTakeSprings(CPMech mech);
/* Are they, with a constant M, all terms of the equations that depend on the state? */
int cpMechIsLinear(const CPMech mech);
/* Is there a force of CPMechAddForce without partial derivatives? */
int cpMechForcesByDifference(const CPMech mech);
/* f += one of CPMechAddForce's */
int cpMechAddForce(CPMech mech, const CPMechForce *force, const CPMechState *s,
                   const double *lambda, double *f);
/* power += that of those of CPMechAddForce */
int cpMechForcePower(CPMech mech, const CPMechState *s, const double *lambda, double *power);
/* Are the derivatives of all forces that depend on lambda given? Then Fl [nu x na, dense] <- their sum, in the columns of rows that are
 * on; others stay as they are, since their lambda is 0. */
int cpMechKnowsLambdaJac(const CPMech mech);
int cpMechLambdaJac(CPMech mech, const CPMechState *s, const double *lambda, CPMat *Fl);

#endif
