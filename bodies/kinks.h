/* Kinks of functions in a run */
#ifndef CPODES_BODIES_KINKS_H
#define CPODES_BODIES_KINKS_H

#include "bodies_impl.h"
#include "language/language.h"

typedef struct Kinks_ Kinks;
struct CPEventSource_;
struct Formula_;

/* Have the functions of forces and drives pieces? */
int bodiesHasKinks(const Mechanism *m);
/* The pieces of component k of a formula that are held, in *pieces, or NULL outside of a run */
const Pieces *bodiesPieces(const Mechanism *m, const struct Formula_ *formula, int k,
                           Pieces *pieces);
/* *source: out, that of the kinks; m: the data of a CPMech. Returns 0 or a negative code. */
int bodiesKinkSource(struct CPEventSource_ *source, Mechanism *m);
void bodiesFreeKinks(Mechanism *m);

#endif
