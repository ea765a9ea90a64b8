/* Difference quotients. */
#ifndef CPODES_DIFFERENCES_H
#define CPODES_DIFFERENCES_H

#include "cpodes/base/roundoff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of the central difference of sixth order, x' = sum_k w_k (x(t + k e) - x(t - k e)) / e,
 * with k from 1 to 3. */
static const double cpSixthOrder[3] = {3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0};

/* The same weights of its difference from that of fourth order, which estimates the error of the latter. Increments are divided by
 * CP_FINER while this falls, as long as it is not small: CP_FINEST times at most, and CP_FINE times at least, since errors of increments that
 * are much too large need not fall. */
static const double cpFourthOrder[3] = {3.0 / 4.0 - 2.0 / 3.0, -3.0 / 20.0 + 1.0 / 12.0, 1.0 / 60.0};
enum { CP_FINER = 4, CP_FINE = 3, CP_FINEST = 8 };

/* The weight of the value k steps away, k = -3, -2, -1, 1, 2, 3, in such a difference */
static inline double cpCentralWeight(const double *weight, int k) {
  return k > 0 ? weight[k - 1] : -weight[-k - 1];
}

/* Its increment, relative to the size of x: truncation (0.01)^6 / 140 and roundoff DBL_EPSILON / 0.01 are of
 * similar size. */
#define CP_SIXTH_ORDER_STEP 0.01

/* value [n] <- a function moved by e. Returns 0 or a code. */
typedef int (*CPMoved)(double e, double *value, void *data);

/* result [n] <- its derivative at e = 0, by increments h. Entries that bend within them get those of smaller ones, as long as their errors
 * fall. size: of the terms that cancel in values, if these are smaller. room [4 n]. Returns the code of the function. */
static inline int cpDifferentiate(CPMoved moved, void *data, int n, double h, double size,
                                  double *result, double *room) {
  double *value = room, *sum = value + n, *error = sum + n, *least = error + n;
  for (int finer = 0, goes_on = 1; finer <= CP_FINEST && goes_on; finer++, h /= CP_FINER) {
    memset(sum, 0, 2 * (size_t)n * sizeof *sum); /* and error */
    for (int l = 0; l < 6; l++) { /* Pairs of equal values cancel without roundoff. */
      const int k    = (l % 2 ? -1 : 1) * (1 + l / 2);
      const int flag = moved(k * h, value, data);
      if (flag) return flag;
      for (int j = 0; j < n; j++) {
        sum[j] += cpCentralWeight(cpSixthOrder, k) / h * value[j];
        error[j] += cpCentralWeight(cpFourthOrder, k) / h * value[j];
      }
    }
    goes_on = 0;
    for (int j = 0; j < n; j++) {
      const int improves = finer == 0 || fabs(error[j]) < least[j];
      if (improves) result[j] = sum[j], least[j] = fabs(error[j]);
      if (improves || finer < CP_FINE)
        goes_on |=
            least[j] > CP_INEXACT * fabs(result[j]) + CP_FUZZ * fmax(fabs(value[j]), size) / h;
    }
  }
  return 0;
}

#endif
