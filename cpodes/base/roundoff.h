/* The unit roundoff u, and what computations leave of it. Whoever asks "is this zero?" compares with one
 * of these multiples of the size of the terms:
 *
 *   CP_ROUNDED      u^(2/3) = 4e-11: the roundoff of a sum whose terms cancel, of up to u^(-1/3) = 2e5
 *                   operations, and of central difference quotients
 *   CP_HALF_DIGITS  u^(1/2) = 1.5e-8: the roundoff of one-sided difference quotients, and of the root of a
 *                   rounded square
 *   CP_INEXACT      the roundoff of single precision, 1.2e-7, and of differences with increments ten times off
 *                   the best: what functions of the user may be wrong by
 *
 * The first and the last one are rounded up to powers of ten. */
#ifndef CPODES_ROUNDOFF_H
#define CPODES_ROUNDOFF_H

#include <float.h>
#include <sundials/sundials_config.h>
#include <sundials/sundials_types.h>

#if SUNDIALS_VERSION_MAJOR < 7
#define CP_UROUND UNIT_ROUNDOFF
#else
#define CP_UROUND SUN_UNIT_ROUNDOFF
#endif

#define CP_ROUNDED     1.0e-10
#define CP_HALF_DIGITS 0x1p-26
#define CP_INEXACT     1.0e-6
/* What iterations are to reach: four digits less than roundoff, to which those that contract fast get by themselves */
#define CP_ITERATED 1.0e-12

/* Times, or values of parameters, that differ by less than this many roundoffs are the same: CVODES' FUZZ_FACTOR.
 * Steps below that make no progress. */
#define CP_FUZZ (100.0 * CP_UROUND)

/* Events are located, and motions resolved, to within this part of t: CVODES' search for roots ends within CP_FUZZ, at the end of a step. */
#define CP_LOCATED (1000.0 * CP_UROUND)

/* A residual below this multiple of the roundoff in the terms of its constraint is noise: c_i = O(u
 * sum_j |G_ij y_j|). */
#define CP_FLOOR_FACTOR 8.0

/* Sums of squares below this may have lost digits by underflow; above the inverse, by overflow. */
#define CP_LEAST_SQUARES (DBL_MIN / DBL_EPSILON)

#endif
