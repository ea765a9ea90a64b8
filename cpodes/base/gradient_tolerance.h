/* Tolerances of the runs inside a gradient.
 *
 * The backward run differentiates along the computed motion, whose residual it takes for given: the errors of the state, one
 * tolerance for each step with BDF and Adams, enter the gradient multiplied by second derivatives, and those of the start of a
 * motion, or of an event, grow with the sensitivities. The runs of a gradient therefore have tolerances of their own, a part of those of the
 * gradient that falls like the number of steps rises, tol^(1 / (order + 1)). Forward sensitivities differentiate the steps
 * themselves, and the equations of the backward run are linear, so that their errors are those of the steps, and the root of that
 * part suffices.
 *
 * Largest errors on pendulum and slider-crank, in tolerances of 1e-3 to 1e-9, against the parts: bench/gradients.c. */
#ifndef CPODES_GRADIENT_TOLERANCE_H
#define CPODES_GRADIENT_TOLERANCE_H

#include <math.h>
#include <string.h>

/* The relative tolerance of a gradient whose user gives none */
static const double cp_gradient_tolerance = 1.0e-8;
/* Tolerances are not tightened below this. */
#define CP_LEAST_TOLERANCE 1.0e-13

/* The tolerance of a run by this method for a gradient to the relative tolerance tol; linear: of forward sensitivities and the backward run */
static inline double cpGradientTolerance(const char *method, double tol, int linear) {
  static const struct {
    const char *method; /* its beginning */
    int order;          /* its highest order */
    double part;
  } parts[] = {{"BDF", 5, 0.005}, {"ADAMS", 12, 0.01}, {"RADAU", 13, 0.5}, {"", 8, 0.05}};
  int k     = 0;
  while (strncmp(method, parts[k].method, strlen(parts[k].method))) k++;
  const double part = parts[k].part * pow(tol, 1.0 / (parts[k].order + 1));
  return fmin(tol, fmax(CP_LEAST_TOLERANCE, tol * (linear ? pow(part, 2.0 / 3.0) : part)));
}

#endif
