/* The kinks of a run, which their event source (kinks.c) and its derivatives (kink_derivatives.c) share */
#ifndef CPODES_BODIES_KINKS_IMPL_H
#define CPODES_BODIES_KINKS_IMPL_H

#include "kinks.h"

#include <cpodes/cpodes_session.h>

enum { NOTHING, ROOT, STOP }; /* nothing: of functions that are evaluated only at events */

struct Kinks_ {
  Mechanism *m;
  CPMech mech; /* of the newest run */
  int n;
  int locked; /* pieces are held: a session is at work */
  int nroots; /* n, or 0 if all ends are at given times */
  /* held, own [n]: as in Pieces; before [n]: held at the newest event; moved [n]: what has happened there at this event */
  int *held, *own, *before, *moved;
  int *left;           /* [n] the piece that was held before none was */
  int *direction;      /* [n] */
  char *ends;          /* [n] what the ends of pieces are */
  sunrealtype *inside; /* [2 n], and as many for functions that follow parameters */
  sunrealtype sign, t_end;
  N_Vector ydot, ahead, bend;
  /* Of joints by functions, or NULL: [length] momenta of the bodies, and [nu] those of the coordinates, then new velocities */
  sunrealtype *momenta, *pulled, *rates;
  /* For derivatives: the time of the newest event, of this or of another source, or NaN; the pieces before it [n], the states before and
   * after it, the ends that are roots there [n], and whether there are some or ends at known times, and velocities that jump */
  sunrealtype t_met;
  int *prior, acted, strikes;
  N_Vector from, met;
  char *ended;
  char message[TEXT];
};

/* How often the piece at a place has changed at an event */
enum { UNMOVED, CHOSEN, MOVED, FREED };

/* The poses have been found with other pieces. */
void kinksForget(const Kinks *all);
/* Computes `own` and `inside` at (t, y) by evaluating all that has pieces; what fails there is reported by those who need its value. */
void kinksWatch(Kinks *all, sunrealtype t, N_Vector y);
/* The time in which y changes by its size */
sunrealtype kinksTimeOf(const Kinks *all, sunrealtype t, N_Vector y);

/* ---- kink_derivatives.c ---- */
/* How derivatives pass the events */
extern const CPEventDerivatives kinksDerivatives;

#endif
