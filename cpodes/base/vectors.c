/* Small questions about N_Vectors. */
#include "vectors.h"

#include "compat.h"

#include <math.h>
#include <nvector/nvector_serial.h>
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

int cpAllFinite(const sunrealtype *x, sunindextype n) {
  uint64_t any = 0;
  if (n >= LANES) return allFinite(x, n);
  for (sunindextype k = 0; k < n; k++) any |= notFinite(x[k]);
  return !SIGN_OF(any);
}

CP_WIDE static int allPositive(const sunrealtype *x, sunindextype n) {
  uint64_t lanes[LANES] = {0};
  for (; n >= LANES; n -= LANES, x += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] |= notPositive(x[k]);
  for (int k = 0; k < n; k++) lanes[k] |= notPositive(x[k]);
  return !SIGN_OF(anyOf(lanes));
}

/* A step of a small system costs a few thousand instructions: of serial vectors nothing is asked by
 * N_Vector's functions, whose detours would be a third of them (bench/overhead.sh). */
static sunrealtype *serialData(N_Vector v) {
  return N_VGetVectorID(v) == SUNDIALS_NVEC_SERIAL ? NV_DATA_S(v) : NULL;
}

/* The entries of a vector in one memory, and how many; NULL: of another one. */
static sunrealtype *entriesOf(N_Vector v, sunindextype *n) {
  sunrealtype *data = serialData(v);
  if (data) *n = NV_LENGTH_S(v);
  else if (cpHasData(v)) *n = N_VGetLength(v), data = N_VGetArrayPointer(v);
  return data;
}

/* Any N_Vector: max |v_i| - max |v_i| is zero unless it is not finite; a NaN may get lost in a
 * maximum, not in a sum. */
int cpVectorFinite(N_Vector v) {
  sunindextype n;
  const sunrealtype *x = entriesOf(v, &n);
  if (x) return cpAllFinite(x, n);
  if (v->ops->nvdotprod) return isfinite(N_VDotProd(v, v)) || isfinite(N_VL1Norm(v));
  return isfinite(N_VMaxNorm(v));
}

int cpVectorPositive(N_Vector v) {
  if (cpHasData(v)) return allPositive(N_VGetArrayPointer(v), N_VGetLength(v));
  return N_VMin(v) > 0.0 && cpVectorFinite(v);
}

int cpFirstNonFinite(N_Vector v) {
  sunindextype n       = 0;
  const sunrealtype *x = entriesOf(v, &n);
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
  sunindextype n;
  const sunrealtype *x = entriesOf(from, &n);
  if (x) memcpy(N_VGetArrayPointer(to), x, (size_t)n * sizeof *x);
  else N_VScale(1.0, from, to);
}

void cpAdd(N_Vector x, N_Vector y, N_Vector z) {
  const sunrealtype *xd = serialData(x), *yd = xd ? NV_DATA_S(y) : NULL;
  if (!xd) {
    N_VLinearSum(1.0, x, 1.0, y, z);
    return;
  }
  for (sunindextype i = 0; i < NV_LENGTH_S(x); i++) NV_Ith_S(z, i) = xd[i] + yd[i];
}

void cpSubtract(N_Vector x, N_Vector y, N_Vector z) {
  const sunrealtype *xd = serialData(x), *yd = xd ? NV_DATA_S(y) : NULL;
  if (!xd) {
    N_VLinearSum(1.0, x, -1.0, y, z);
    return;
  }
  for (sunindextype i = 0; i < NV_LENGTH_S(x); i++) NV_Ith_S(z, i) = xd[i] - yd[i];
}

sunrealtype cpWrmsNorm(N_Vector x, N_Vector w) {
  const sunrealtype *xd = serialData(x), *wd = xd ? NV_DATA_S(w) : NULL;
  sunrealtype sum = 0.0;
  if (!xd) return N_VWrmsNorm(x, w);
  const sunindextype n = NV_LENGTH_S(x);
  for (sunindextype i = 0; i < n; i++) sum += (xd[i] * wd[i]) * (xd[i] * wd[i]);
  return sqrt(sum / (sunrealtype)n);
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
