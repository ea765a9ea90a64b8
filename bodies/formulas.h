/* Functions of files as motions, laws and forces */
#ifndef CPODES_BODIES_FORMULAS_H
#define CPODES_BODIES_FORMULAS_H

#include "bodies_impl.h"

#include <cpodes/cpodes_language.h>

/* f: of t (a motion); of t, x, x' (a law); of t and the position and velocity of a point (the components of a force, NULL: 0) */
typedef struct Formula_ {
  struct Formula_ *next;
  CPFunction f[3];
} Formula;

/* Makes an empty formula, which the mechanism owns. Returns NULL without memory. */
Formula *bodiesNewFormula(Mechanism *m);
/* A copy of a mechanism owns the formulas as well, and gives them back. */
void bodiesShareFormulas(Mechanism *m);
void bodiesFreeFormulas(Mechanism *m);

/* A CPDriveFn, a CPLawFn and a CPPointForceFn, whose data is a Formula */
int bodiesMotionOf(sunrealtype t, sunrealtype *g, void *formula);
int bodiesLawOf(sunrealtype t, sunrealtype x, sunrealtype rate, sunrealtype *T, void *formula);
int bodiesForceOf(sunrealtype t, const sunrealtype *x, const sunrealtype *v, sunrealtype *F,
                  sunrealtype *Fx, sunrealtype *Fv, void *formula);

#endif
