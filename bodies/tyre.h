/* The force of a tyre on its wheel */
#ifndef CPODES_BODIES_TYRE_H
#define CPODES_BODIES_TYRE_H

#include "wrench.h"

/* Those of wrench.h for a tyre; 1: the wheel's centre is below the ground */
int bodiesTyre(const Mechanism *b, const PointForce *tyre, WrenchState *state);
int bodiesAddTyreForce(const Mechanism *b, const PointForce *tyre, sunrealtype *f);
int bodiesFillTyre(const Mechanism *b, const PointForce *tyre, Writer *K, Writer *C);

#endif
