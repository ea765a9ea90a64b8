/* Difference quotients. */
#ifndef CPODES_DIFFERENCES_H
#define CPODES_DIFFERENCES_H

/* Weights of the central difference of sixth order, x' = sum_k w_k (x(t + k e) - x(t - k e)) / e,
 * with k from 1 to 3. */
static const double cpSixthOrder[3] = {3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0};

/* Its increment, relative to the size of x: truncation (0.01)^6 / 140 and roundoff DBL_EPSILON / 0.01 are of
 * similar size. */
#define CP_SIXTH_ORDER_STEP 0.01

#endif
