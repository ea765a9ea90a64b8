/* Difference quotients, and comparisons with them. */
#ifndef CPODES_DIFFERENCES_H
#define CPODES_DIFFERENCES_H

#include "random.h"

#include <math.h>

/* Weights of the central difference of sixth order, x' = sum_k w_k (x(t + k e) - x(t - k e)) / e,
 * with k from 1 to 3. */
static const double cpSixthOrder[3] = {3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0};

/* ---- gross errors of given partial derivatives ----
 *
 * With a matrix that is far too large corrections of Newton's iteration are small although the
 * equations are not satisfied, and no test of corrections sees it. (One that is too small, or has the
 * wrong sign, makes them large.) A product J v with a random direction v is therefore compared with
 * the change of the function. A row counts as wrong if it is CP_GROSS times as large in each of
 * CP_TRIES comparisons: f may bend within an increment, or have another slope on the other side, and
 * changes along a direction may cancel by chance. (With factors of 30 no run of three mechanisms and four
 * plain equations was wrong by 300 tolerances, with 100 and 300 some were.) */
enum { CP_TRIES = 4 };
#define CP_GROSS 30.0

/* v [n]: in, the increments of difference quotients; out, those of a comparison, 0 <= k < CP_TRIES:
 * shorter each time, to both sides of two directions */
static inline void cpAlong(int k, int n, double *v) {
  unsigned random     = k < CP_TRIES / 2 ? 1u : 2654435769u;
  const double factor = ldexp(k % 2 ? -1.0 : 1.0, -5 * k);
  for (int j = 0; j < n; j++) v[j] *= factor * cpUniformAwayFromZero(&random);
}

/* Returns the first row, of those that right [rows] does not mark, in which |product| > CP_GROSS
 * |change|, or -1, and marks the others. A product does not count if it would not matter beside `least`
 * in steps a million times as long, nor does it beside that of another row: it may be roundoff. */
static inline int cpGrosslyLarger(int rows, const double *product, const double *change,
                                  const double *least, char *right) {
  double largest = 0.0;
  int first      = -1;
  for (int i = 0; i < rows; i++) largest = fmax(largest, fabs(product[i]));
  for (int i = 0; i < rows; i++) {
    const double size = fabs(product[i]);
    right[i] |= !(size > CP_GROSS * fabs(change[i]) && size > 1.0e-6 * fabs(least[i]) &&
                  size > 1.0e-10 * largest);
    if (!right[i] && first < 0) first = i;
  }
  return first;
}

#endif
