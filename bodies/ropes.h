/* Ropes: their lengths and tensions */
#ifndef CPODES_BODIES_ROPES_H
#define CPODES_BODIES_ROPES_H

#include "elements.h"

/* An elastic rope at one state: x - L >= 0, x' - L', L', its tension >= 0, and whether it pulls */
typedef struct {
  sunrealtype stretch, rate, winch, tension;
  int pulls;
} RopeState;

/* x: out, the sum of n terms from `first` on at the placement, which may be the parts of a rope. Returns 0, or 1 without memory. */
int bodiesPlacedSum(CPBodies b, int first, int n, int rope, sunrealtype *x);
int bodiesAddRope(CPBodies b, const CPRope *rope);
/* What whole turns of directions add to the sum of terms that are the parts of a rope, with the factor 1 */
sunrealtype bodiesRopeTurns(const Mechanism *b, int first, int n);
/* Evaluates an elastic rope with the length x and the rate x'. Returns what the function of its winch returned. */
int bodiesRope(const Mechanism *b, const Law *law, sunrealtype t, sunrealtype x, sunrealtype rate,
               RopeState *rope);

#endif
