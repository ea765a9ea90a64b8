/* Loops at rest in shaky positions, where accelerations that satisfy the equations lead to no motion */
#ifndef CPODES_MECHANICS_SHAKY_H
#define CPODES_MECHANICS_SHAKY_H

#include "mech.h"

/* Are loops at rest at s, the start of a run, in a shaky position, where the accelerations a (of the newest
 * solution, which returned flag) lead to no motion? Returns 0, or CP_KKT_INCONSISTENT or CP_MEM_FAIL with the reason
 * in mech->text, or flag, with what the model knows about the state. */
int cpMechShakyStart(CPMech mech, const CPMechState *s, const double *a, int flag);
/* The same at the end of a step, for loops that have rested there since the start (CPSystem's accepted). */
int cpMechShakyStep(sunrealtype t, N_Vector y, void *mech);
void cpMechShakyFree(CPMech mech);

#endif
