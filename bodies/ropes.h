/* Ropes: their lengths and tensions */
#ifndef CPODES_BODIES_ROPES_H
#define CPODES_BODIES_ROPES_H

#include "elements.h"

/* A rope at one state: x, x', L'; and of an elastic one x - L >= 0, its tension >= 0, its energy and the power that is lost */
typedef struct {
  sunrealtype length, rate, winch, stretch, tension, energy, lost;
  int is_elastic;
} RopeState;

/* x: out, the sum of n terms from `first` on at the placement, which may be the parts of a rope. Returns 0, or 1 if out of memory. */
int bodiesPlacedSum(CPBodies b, int first, int n, int rope, sunrealtype *x);
int bodiesAddRope(CPBodies b, const CPRope *rope);
/* What whole turns of directions add to the sum of terms that are the parts of a rope, with the factor 1 */
sunrealtype bodiesRopeTurns(const Mechanism *b, int first, int n);
/* The law of a rope that rubs on its drum at q: from the coefficients of friction of the rope those of the contact that it is */
void bodiesRopeFriction(Mechanism *b, const sunrealtype *q, const Contact *contact,
                        CPContactLaw *law);
/* Part i of the ropes and tendons between two nodes. part: out, its term; name: out, of the element. Returns the number of parts if i is
 * NONE, else 0. */
int bodiesPathPart(const Mechanism *b, int i, const Term **part, int *name);
/* The pair of its ends */
int bodiesPathPair(const Term *part);
/* Its points (CPMechGetPoints) at the poses of its bodies and those of the next part: xyz [12] */
void bodiesPathPoints(const Mechanism *b, int i, sunrealtype *xyz);
/* Evaluates the rope of a joint at the current poses. Returns what the function of its winch returned. */
int bodiesRope(const Mechanism *b, const Joint *joint, sunrealtype t, RopeState *rope);

#endif
