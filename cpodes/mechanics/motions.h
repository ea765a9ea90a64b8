/* Prescribed motions, and the names of rows */
#ifndef CPODES_MECHANICS_MOTIONS_H
#define CPODES_MECHANICS_MOTIONS_H

#include "mech.h"

/* Evaluates value, rate and curvature of all motions at t. Returns 0, or a code with the reason in
 * mech->text. The values are not cached, because data of the user's functions may change at the
 * same t (a kink). */
int cpMechMotions(CPMech mech, sunrealtype t);
/* The name of row i of A in messages: the model's, "constraint 2", or "the prescribed motion of
 * coordinate 0". */
enum { CP_MECH_ROW_NAME = 256 }; /* and for CP_NAME_STATE CP_TEXT_LENGTH */
const char *cpMechRowName(const CPMech mech, int i, char name[CP_MECH_ROW_NAME]);
/* The answer of the model to another question, in name [length], which is empty if it has none */
void cpMechAskName(const CPMech mech, CPMechName what, int i, sunrealtype t, char *name,
                   size_t length);
/* limit.c: CPSystem's limit */
int cpMechLimit(sunrealtype t, N_Vector y, char *text, void *mech);
/* The same: CPSystem's fastest */
void cpMechFastest(sunrealtype t, N_Vector y, char *text, size_t length, void *mech);
/* Tells a drive that asks a rigid structure to move at s, and what holds it. Returns whether there is one. */
int cpMechHeld(CPMech mech, const CPMechState *s, char *text);
/* "; prescribed are the coordinates 0, 3", or an empty text without motions. Messages about
 * contradictions append it, because FULL motions have no row of A that could be named. */
enum { CP_MECH_MOTIONS = 80 };
const char *cpMechMotionNames(const CPMech mech, char names[CP_MECH_MOTIONS]);

#endif
