/* Derivatives of functions along a motion by central differences of sixth order,
 *   sum_k w_k (g(ke) - g(-ke)) / e   and   sum_k w_k (g(ke) - 2 g(0) + g(-ke)) / e^2,   k = 1, 2, 3. */
#include "differences.h"
#include "cpodes/base/differences.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Weights of the central differences of the first and second derivative. The part of the time in which a
 * function changes that is the step e: truncation, (0.02)^6 / 140 and (0.03)^6 / 560, and roundoff,
 * DBL_EPSILON / 0.02 and 6 DBL_EPSILON / (0.03)^2, are then of similar size. */
typedef struct {
  double second, fourth[2]; /* by order */
  const double *sixth;      /* [3] */
  double part;
} Differences;
static const double sixth_of_curvatures[3] = {1.5, -0.15, 1.0 / 90.0};
static const Differences FIRST      = {1.0 / 2.0, {2.0 / 3.0, -1.0 / 12.0}, cpSixthOrder, 0.02};
static const Differences CURVATURES = {1.0, {4.0 / 3.0, -1.0 / 12.0}, sixth_of_curvatures, 0.03};

/* The relative difference between the results of fourth and sixth order at which the latter is
 * accurate to about 1e-13, or 1e-12 for the second derivative. */
#define GOOD_MATCH CP_HALF_DIGITS

/* d->plus <- g(e) - g(-e), or g(e) - 2 g(0) + g(-e) with d->centre = g(0) */
static int pair(CPMech mech, const CPMechState *s, CPMechAlong g, int rows, double e, int curvature,
                CPMechDifferences *d) {
  int flag = g(mech, s, e, d->plus);
  if (!flag) flag = g(mech, s, -e, d->minus);
  for (int i = 0; !flag && i < rows; i++)
    d->plus[i] = curvature ? (d->plus[i] - d->centre[i]) + (d->minus[i] - d->centre[i])
                           : d->plus[i] - d->minus[i];
  return flag;
}

/* Computes d->sixth with the step e, and *mismatch, the largest difference from the result of fourth order. If
 * that of second order is as good up to noise, g is a quadratic there, and fourth order is enough. */
static int differences(CPMech mech, const CPMechState *s, CPMechAlong g, int rows, double e,
                       double noise, const Differences *w, CPMechDifferences *d, double *mismatch) {
  const double unit = w == &CURVATURES ? e * e : e;
  double quadratic = 0.0, largest = 0.0;
  *mismatch = 0.0, d->quadratic = 0;
  for (int k = 0; k < 3; k++) {
    const int flag = pair(mech, s, g, rows, (k + 1) * e, w == &CURVATURES, d);
    if (flag) return flag;
    for (int i = 0; i < rows; i++) {
      const double x = d->plus[i] / unit, *const four = w->fourth;
      if (k == 0) {
        d->fourth[i] = x;
        largest      = fmax(largest, fabs(x));
      } else if (k == 1) {
        const double second = w->second * d->fourth[i];
        d->sixth[i]         = w->sixth[0] * d->fourth[i] + w->sixth[1] * x;
        d->fourth[i]        = four[0] * d->fourth[i] + four[1] * x;
        quadratic           = fmax(quadratic, fabs(d->fourth[i] - second));
      } else {
        d->sixth[i] += w->sixth[2] * x;
        *mismatch = fmax(*mismatch, fabs(d->sixth[i] - d->fourth[i]));
      }
    }
    if (k == 0 && largest == 0.0) memset(d->sixth, 0, (size_t)rows * sizeof *d->sixth);
    d->quadratic = (k == 0 && largest == 0.0) || (k == 1 && quadratic <= noise);
    if (k == 1 && quadratic <= noise) memcpy(d->sixth, d->fourth, (size_t)rows * sizeof *d->sixth);
    if (d->quadratic) return CP_SUCCESS;
  }
  return CP_SUCCESS;
}

int cpMechDifferentiate(CPMech mech, const CPMechState *s, CPMechAlong g, int rows, double size,
                        double time, CPMechDerivative which, CPMechDifferences *d) {
  const Differences *w = which == CP_SECOND ? &CURVATURES : &FIRST;
  int flag             = w == &CURVATURES ? g(mech, s, 0.0, d->centre) : CP_SUCCESS;
  for (int k = 0; !flag && k < CP_MOST_ATTEMPTS; k++) {
    const double e     = ldexp(1.0, ilogb(w->part * time));
    const double noise = 100.0 * DBL_EPSILON * size / (w == &CURVATURES ? e * e : e);
    double mismatch    = 0.0;
    d->noise           = noise;
    if (which == CP_LINEAR) {
      flag = pair(mech, s, g, rows, e, 0, d);
      for (int i = 0; i < rows; i++) d->sixth[i] = w->second * d->plus[i] / e;
      return flag;
    }
    flag = differences(mech, s, g, rows, e, noise, w, d, &mismatch);
    if (flag) return flag;
    const double good = fmax(GOOD_MATCH * cpLargest(d->sixth, rows), noise);
    d->time           = time;
    if (mismatch <= good) break;
    time = e / w->part * fmax(0.5 * pow(good / mismatch, 0.25), 0.01); /* mismatch falls as e^4 */
  }
  return flag;
}
