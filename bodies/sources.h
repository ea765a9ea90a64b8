/* Controllers and releases in a run */
#ifndef CPODES_BODIES_SOURCES_H
#define CPODES_BODIES_SOURCES_H

#include "bodies_impl.h"

struct CPEventSource_;

/* CPEquations.event_source; mechanism: the data of a CPMech */
int bodiesEventSource(int i, struct CPEventSource_ *source, void *mechanism);
/* Frees what it has made. */
void bodiesFreeActing(Mechanism *m);
/* latches.c: moves the frame of joint i on its body b so that the joint is closed at the present poses. */
void bodiesCloseHere(Mechanism *m, int i);
/* A plastic impact: the velocities become the nearest ones that the rows allow, and what this takes or gives is in the balance of energy.
 * m: the data of the CPMech; before: the powers at velocities before, or NULL: at y. Returns 0, or an error code that has been reported. */
int bodiesStrike(Mechanism *m, CPMech mech, sunrealtype t, N_Vector y, const CPPowers *before);

#endif
