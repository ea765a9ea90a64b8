/* What functions.c needs of constraints.c for all terms of one evaluation. Functions return 0, or a code (positive if
 * recoverable) with the reason in mech->text. */
#ifndef CPODES_MECHANICS_CONSTRAINTS_H
#define CPODES_MECHANICS_CONSTRAINTS_H

#include "functions.h"

/* To be called before workspace is used that not every system needs. */
int cpMechCreateRoom(CPMech mech, CPMechRoom which);
static inline int cpMechNeed(CPMech mech, CPMechRoom which) {
  return mech->room.memory[which].newest ? CP_SUCCESS : cpMechCreateRoom(mech, which);
}

/* Tells the model's functions of rows that those which are off may be left out, or, with 0, that all are to be set. */
static inline void cpMechSkipRows(CPMech mech, int skip) {
  if (mech->eq->skip_rows && !mech->rows.all)
    cpMechCall(mech, skip_rows, skip ? mech->rows.off : NULL);
}
/* userA, which has been cleared, and b [m] <- the model's rows, unchecked */
int cpMechCallA(CPMech mech, sunrealtype t, const sunrealtype *q);
int cpMechCallB(CPMech mech, const CPMechState *s, double *b);
/* Copies the model's rows to A, above the rows of motions, which are constant; without these A is userA.A. */
void cpMechPlaceA(CPMech mech);
/* Sets the rows of motions in b. */
int cpMechPlaceB(CPMech mech, sunrealtype t, double *b);

#endif
