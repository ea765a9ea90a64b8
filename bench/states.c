#include "states.h"
#include <complex.h>

static const double turn = 0.9,
                    wave = 1.7; /* incommensurable with pi and each other: all rods differ */

/* e^{i th} + e^{2 i th} + ... + e^{n i th} */
static double complex sum_of_turns(double th, sunindextype n) {
  const double complex q = cexp(I * th);
  return q * (cexp(I * th * (double)n) - 1.0) / (q - 1.0);
}

/* In the complex plane, rod k is d_k = e^{i a k}, and its rate is w_k = i cos(b k) d_k. */
void coil_mass(sunindextype i, sunrealtype r[2], sunrealtype v[2]) {
  const double complex position = sum_of_turns(turn, i + 1);
  const double complex velocity =
      0.5 * I * (sum_of_turns(turn + wave, i + 1) + sum_of_turns(turn - wave, i + 1));
  r[0] = creal(position);
  r[1] = cimag(position);
  v[0] = creal(velocity);
  v[1] = cimag(velocity);
}

void coil_state(sunindextype n, N_Vector y) {
  sunrealtype *r = N_VGetArrayPointer(y), *v = r + 2 * n;
  for (sunindextype i = 0; i < n; i++) coil_mass(i, r + 2 * i, v + 2 * i);
}

void error_weights(N_Vector y, sunrealtype tol, N_Vector ewt) {
  N_VAbs(y, ewt);
  N_VScale(tol, ewt, ewt);
  N_VAddConst(ewt, tol, ewt);
  N_VInv(ewt, ewt);
}

/* The linear congruential generator of Numerical Recipes, 7.1 */
sunrealtype random_number(unsigned *seed) {
  *seed = 1664525u * *seed + 1013904223u;
  return (sunrealtype)*seed / 2147483648.0 - 1.0;
}

void disturb(sunindextype n, N_Vector y, N_Vector ewt, sunrealtype size) {
  sunrealtype *z            = N_VGetArrayPointer(y);
  const sunrealtype *weight = N_VGetArrayPointer(ewt);
  unsigned seed             = 1;
  for (sunindextype i = 0; i < n; i++) z[i] += size * random_number(&seed) / weight[i];
}
