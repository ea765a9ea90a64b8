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

#endif
