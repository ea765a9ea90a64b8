#include "elliptic.h"

#include <math.h>

/* Convergence is quadratic: enough even for 1 - m = eps */
enum { STEPS = 8 };

/* a, c [STEPS + 1]: out, means and half differences from 1 and sqrt(1 - m) */
static void means(sunrealtype m, sunrealtype *a, sunrealtype *c) {
  sunrealtype b = sqrt(1 - m);
  a[0]          = 1;
  c[0]          = sqrt(m);
  for (int i = 0; i < STEPS; i++) {
    a[i + 1] = (a[i] + b) / 2;
    c[i + 1] = (a[i] - b) / 2;
    b        = sqrt(a[i] * b);
  }
}

sunrealtype elliptic_quarter(sunrealtype m) {
  sunrealtype a[STEPS + 1], c[STEPS + 1];
  means(m, a, c);
  return acos(SUN_RCONST(0.0)) / a[STEPS];
}

sunrealtype elliptic_amplitude(sunrealtype u, sunrealtype m) {
  sunrealtype a[STEPS + 1], c[STEPS + 1];
  means(m, a, c);
  sunrealtype phi = ldexp(a[STEPS] * u, STEPS); /* 2^n a_n u */
  for (int i = STEPS; i > 0; i--) phi = (phi + asin(c[i] / a[i] * sin(phi))) / 2;
  return phi;
}
