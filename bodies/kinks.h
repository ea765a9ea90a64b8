/* Kinks of functions in a run */
#ifndef CPODES_BODIES_KINKS_H
#define CPODES_BODIES_KINKS_H

#include "bodies_impl.h"
#include "language/language.h"

typedef struct Kinks_ Kinks;
struct CPEventSource_;
struct Formula_;

/* Have functions or ranges of actuators pieces, those of controllers and releases aside? */
int bodiesHasKinks(const Mechanism *m);
/* May forces, rates of activations or velocities jump at one of them, at a time that depends on the state or on parameters, so that derivatives of
 * solutions do? */
int bodiesKinksJump(const Mechanism *m);
/* The pieces of component k of a formula that are held, in *pieces, or NULL outside of a run */
const Pieces *bodiesPieces(const Mechanism *m, const struct Formula_ *formula, int k,
                           Pieces *pieces);
/* The piece of a number at this place that counts, of -1, 0, 1: the one that is held in a run or, if none is, `own`, where the number is.
 * inside [3]: how far it is inside each of them, above its lower end and below its upper one, INFINITY if there is no such end */
int bodiesPieceOf(const Mechanism *m, int place, int own, const sunrealtype inside[3][2]);
/* *source: out, that of the kinks; m: the data of a CPMech. Returns 0 or a negative code. */
int bodiesKinkSource(struct CPEventSource_ *source, Mechanism *m);
void bodiesFreeKinks(Mechanism *m);

#endif
