/* Parameters of a file as parameters of the mechanism, which its numbers follow */
#ifndef CPODES_BODIES_FOLLOWING_H
#define CPODES_BODIES_FOLLOWING_H

#include "bodies_impl.h"
#include "language/language.h"

typedef struct Follow_ Follow;

/* The number of these parameters */
int bodiesFollowers(const Mechanism *m);
/* The pairs have become those of the model: moves them to where the mechanism is. */
void bodiesFollowBuilt(Mechanism *m);
/* Gives a mechanism of the same description the parameters of another one, and what follows them. */
void bodiesTakeParameters(Mechanism *m, const Mechanism *from);
/* Adds to component k of a function, its value, gradient g and Hessian H (or NULL) at x, with pieces or NULL, by how much they have moved. Returns what
 * CPFunctionEvaluate returns. */
int bodiesAddMoved(const Mechanism *m, int formula, int k, const sunrealtype *x,
                   const Pieces *pieces, sunrealtype *value, sunrealtype *g, sunrealtype *H);
/* Replaces what is at the address by a copy. Returns 0, or 1 if there is no memory; then it is NULL. */
int bodiesCopyFollow(Follow **address);
void bodiesFreeFollow(Follow **address);

#endif
