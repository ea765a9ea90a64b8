/* Difference quotients. */
#ifndef CPODES_DIFFERENCES_H
#define CPODES_DIFFERENCES_H

/* Weights of the central difference of sixth order, x' = sum_k w_k (x(t + k e) - x(t - k e)) / e,
 * with k from 1 to 3. */
static const double cpSixthOrder[3] = {3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0};

/* The same weights of its difference from that of fourth order, which estimates the error of the latter. Increments are divided by
 * CP_FINER while this falls, as long as it is not small: CP_FINEST times at most, and CP_FINE times at least, since errors of increments that
 * are much too large need not fall. */
static const double cpFourthOrder[3] = {3.0 / 4.0 - 2.0 / 3.0, -3.0 / 20.0 + 1.0 / 12.0, 1.0 / 60.0};
enum { CP_FINER = 4, CP_FINE = 3, CP_FINEST = 8 };

/* Its increment, relative to the size of x: truncation (0.01)^6 / 140 and roundoff DBL_EPSILON / 0.01 are of
 * similar size. */
#define CP_SIXTH_ORDER_STEP 0.01

#endif
