/* Small questions about N_Vectors. */
#include "vectors.h"

#include "compat.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Tests of all entries by their bits, in loops that compilers turn into vector instructions: a
 * small part of the time of comparisons one by one, which would be most of the cost of projecting
 * unit quaternions (bench/quaternions). */
CP_WIDE_PART uint64_t bitsOf(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

#define EXPONENT     UINT64_C(0x7ff0000000000000) /* all ones: Inf or NaN                  */
#define LOWEST       UINT64_C(0x0010000000000000) /* ... and one more carries into the sign */
#define SIGN_OF(any) ((any) >> 63)

CP_WIDE_PART uint64_t notFinite(double x) { return (bitsOf(x) & EXPONENT) + LOWEST; }

/* 1 less than zero carries, too. */
CP_WIDE_PART uint64_t notPositive(double x) { return (bitsOf(x) - 1) | (bitsOf(x) + LOWEST); }

/* Sums side by side: without them -O2 does not vectorise. */
enum { LANES = 16 };

CP_WIDE_PART uint64_t anyOf(const uint64_t *lanes) {
  uint64_t any = 0;
  for (int k = 0; k < LANES; k++) any |= lanes[k];
  return any;
}

CP_WIDE static int allFinite(const sunrealtype *x, sunindextype n) {
  uint64_t lanes[LANES] = {0};
  for (; n >= LANES; n -= LANES, x += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] |= notFinite(x[k]);
  for (int k = 0; k < n; k++) lanes[k] |= notFinite(x[k]);
  return !SIGN_OF(anyOf(lanes));
}

int cpAllFinite(const sunrealtype *x, sunindextype n) { return allFinite(x, n); }

CP_WIDE static int allPositive(const sunrealtype *x, sunindextype n) {
  uint64_t lanes[LANES] = {0};
  for (; n >= LANES; n -= LANES, x += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] |= notPositive(x[k]);
  for (int k = 0; k < n; k++) lanes[k] |= notPositive(x[k]);
  return !SIGN_OF(anyOf(lanes));
}

/* Any N_Vector: max |v_i| - max |v_i| is zero unless it is not finite; a NaN may get lost in a
 * maximum, not in a sum. */
int cpVectorFinite(N_Vector v) {
  if (cpHasData(v)) return cpAllFinite(N_VGetArrayPointer(v), N_VGetLength(v));
  if (v->ops->nvdotprod) return isfinite(N_VDotProd(v, v)) || isfinite(N_VL1Norm(v));
  return isfinite(N_VMaxNorm(v));
}

int cpVectorPositive(N_Vector v) {
  if (cpHasData(v)) return allPositive(N_VGetArrayPointer(v), N_VGetLength(v));
  return N_VMin(v) > 0.0 && cpVectorFinite(v);
}

int cpFirstNonFinite(N_Vector v) {
  if (!cpHasData(v)) return -1;
  const sunrealtype *x = N_VGetArrayPointer(v);
  sunindextype n       = N_VGetLength(v);
  for (sunindextype i = 0; i < n; i++)
    if (!isfinite(x[i])) return (int)i;
  return -1;
}

int cpHasData(N_Vector v) {
  switch (N_VGetVectorID(v)) {
  case SUNDIALS_NVEC_SERIAL:
  case SUNDIALS_NVEC_OPENMP:
  case SUNDIALS_NVEC_PTHREADS: return 1;
  case SUNDIALS_NVEC_CUSTOM: return v->ops->nvgetarraypointer && !v->ops->nvgetcommunicator;
  default: return 0;
  }
}

void cpCopy(N_Vector to, N_Vector from) {
  if (!cpHasData(from)) N_VScale(1.0, from, to);
  else
    memcpy(N_VGetArrayPointer(to), N_VGetArrayPointer(from),
           (size_t)N_VGetLength(from) * sizeof(sunrealtype));
}

double cpTypicalOf(double largest) { return largest > 0.0 ? fmin(0.1 * largest, 1.0) : 1.0; }

double cpTypicalSize(N_Vector y) { return cpTypicalOf(N_VMaxNorm(y)); }

double cpLargest(const double *x, int length) {
  double largest = 0.0;
  for (int i = 0; i < length; i++) largest = fmax(largest, fabs(x[i]));
  return largest;
}

double cpDot(const double *x, const double *y, int length) {
  double sum = 0.0;
  for (int i = 0; i < length; i++) sum += x[i] * y[i];
  return sum;
}
