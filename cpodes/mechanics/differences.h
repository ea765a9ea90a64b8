/* Derivatives along a path by central differences of sixth order. */
#ifndef CPODES_MECHANICS_DIFFERENCES_H
#define CPODES_MECHANICS_DIFFERENCES_H

#include "mech.h"

/* Evaluates g [rows] at e. s is the state at e = 0. */
typedef int (*CPMechAlong)(CPMech mech, const CPMechState *s, double e, double *g);
/* CP_LINEAR: the first derivative from the values at both sides alone, for functions that are known to be quadratic */
typedef enum { CP_FIRST, CP_SECOND, CP_LINEAR } CPMechDerivative;
/* d->sixth <- dg/de, or d^2g/de^2. During a run the step depends on s alone, so that f is a function of (t, y): it is
 * first a part of `time`, and shrinks until both orders agree. It is a power of two, so that t + e is exact. size:
 * the size of the terms of g, which determines their roundoff. */
int cpMechDifferentiate(CPMech mech, const CPMechState *s, CPMechAlong g, int rows, double size,
                        double time, CPMechDerivative which, CPMechDifferences *d);

#endif
