/* Controllers and releases in a run */
#ifndef CPODES_BODIES_SOURCES_H
#define CPODES_BODIES_SOURCES_H

#include "bodies_impl.h"

struct CPEventSource_;

/* CPEquations.event_source; mechanism: the data of a CPMech */
int bodiesEventSource(int i, struct CPEventSource_ *source, void *mechanism);
/* Frees what it has made. */
void bodiesFreeActing(Mechanism *m);

/* ---- latches.c ---- */
/* The frame on body b of a joint with a latch: `open` before it has closed, which parameters move, and from then on `closed`, moved by the
 * numbers m->moved, by which gradients follow it: [3] along the axes of the body, [3] a small turn about them. They are 0 otherwise. */
typedef struct Latch_ {
  int pair, is_closed;
  Side open, closed;
} Latch;
/* *closed <- the frame of joint i on its body b with which the joint is closed at the present poses */
void bodiesCloseHere(const Mechanism *m, int i, Side *closed);
/* Makes latch i closed or open. */
void bodiesSetLatch(Mechanism *m, int i, int is_closed);
/* The numbers [OF_LATCH] that move latch i to this frame, up to terms of second order */
void bodiesLatchMoves(const Latch *latch, const Side *side, sunrealtype *moves);

/* A plastic impact: the velocities become the nearest ones that the rows allow but for those of contacts, and what this takes or gives is in the balance of energy.
 * m: the data of the CPMech; before: the powers at velocities before, or NULL: at y. Returns 0, or an error code that has been reported. */
int bodiesStrike(Mechanism *m, CPMech mech, sunrealtype t, N_Vector y, const CPPowers *before);

/* ---- strike.c ---- */
/* What derivatives need of a plastic impact at (t, y), the state after it. u [nu]: the velocities before it; p [nu]: the momenta before it that the
 * motions of joints take, or NULL: M u. The system is that after it. Returns 0 or a code that the mech has reported, CP_NOT_SUPPORTED where rows of
 * contacts, limits or frictions are on, which answer by impulses of their own. */
typedef struct Strike_ Strike;
int bodiesKeepStrike(const Mechanism *m, CPMech mech, sunrealtype t, N_Vector y,
                     const sunrealtype *u, const sunrealtype *p, Strike **strike);
/* y <- the state after the impact from y, near the state that has been kept, to first order; p: from which momenta, NULL: M u. T: the kinetic
 * energy before it, or NAN: that of p = M u. */
int bodiesStrikeBeside(const Strike *strike, Mechanism *m, CPMech mech, sunrealtype t, N_Vector y,
                       const sunrealtype *p, sunrealtype T);
/* `drop` of a CPEventDerivatives: frees a record that begins with the address of its Strike or with NULL. */
void bodiesDropEvent(void *record, void *data);
/* message [TEXT] <- the time and why, which is what the mech has reported if NULL. Returns the code of the failure, below 0. */
int bodiesRefuseEvent(char *message, sunrealtype t, CPMech mech, int flag, const char *why);

#endif
