/* Parameters of a file as parameters of the mechanism, which its numbers follow */
#ifndef CPODES_BODIES_FOLLOWING_H
#define CPODES_BODIES_FOLLOWING_H

#include "bodies_impl.h"
#include "language/language.h"

typedef struct Follow_ Follow;

/* The number of these parameters, and the index of the first one */
int bodiesFollowers(const Mechanism *m);
int bodiesFirstFollower(const Mechanism *m);
/* The pairs have become those of the model: moves them to where the mechanism is. */
void bodiesFollowBuilt(Mechanism *m);
/* Gives a mechanism of the same description the parameters of another one, and what follows them. */
void bodiesTakeParameters(Mechanism *m, const Mechanism *from);
/* A number that moves with a parameter: where it is, its slope, what it belongs to, and which one it is of this */
typedef struct {
  sunrealtype *at, slope;
  enum { OF_PARAMETERS, OF_SIDE_A, OF_SIDE_B, OF_TERMS, OF_REST } of;
  int index, part; /* of a side: the pair; its point, its axes by columns, then what its solid has */
} Number;
enum { OF_SIDE = 16, RIGID = 12 };
/* Number i = 0, 1, ... of those that move with a parameter, of which the first one is the parameter itself. Returns 0 if there are no
 * more. */
int bodiesMovedNumber(const Mechanism *m, int parameter, int i, Number *n);
/* Is it one of the numbers m->moved, which are parameters beyond those of the mechanism? */
int bodiesMovesLatch(const Mechanism *m, int parameter);
/* Adds to component k of a function, its value, gradient g and Hessian H (or NULL, as g) at x, with pieces or NULL, and to `inside` of these,
 * which has room for 2 nplaces numbers more, by how much they have moved. Returns what
 * CPFunctionEvaluate returns. */
int bodiesAddMoved(const Mechanism *m, int formula, int k, const sunrealtype *x,
                   const Pieces *pieces, sunrealtype *value, sunrealtype *g, sunrealtype *H);
/* Replaces what is at the address by a copy. Returns 0, or 1 if there is no memory; then it is NULL. */
int bodiesCopyFollow(Follow **address);
void bodiesFreeFollow(Follow **address);

#endif
