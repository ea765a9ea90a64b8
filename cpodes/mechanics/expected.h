/* Accelerations near expected ones, by inverse dynamics */
#ifndef CPODES_MECHANICS_EXPECTED_H
#define CPODES_MECHANICS_EXPECTED_H

#include "mech.h"

/* Returns 0, also if the model does not allow that, or CP_MEM_FAIL. */
int cpMechExpectedCreate(CPMech mech);
void cpMechExpect(N_Vector ydot, N_Vector ewt, sunrealtype gamma, sunrealtype tol,
                  void *mech); /* CPSystem's expect */
/* Is this evaluation of the right-hand side to be near expected accelerations? The next one is not, unless it is
 * expected, too. */
int cpMechTakeExpected(CPMech mech);
/* As cpMechSolve, with the accuracy that is expected. */
int cpMechAccelerateExpected(CPMech mech, const CPMechState *s, double *a, double *lambda);
/* Factors M and A at a state with these multipliers, if such evaluations take place. */
void cpMechExpectedFactor(CPMech mech, const CPMat *M, const CPMat *A, const double *lambda);
void cpMechExpectedFree(CPMech mech);

#endif
