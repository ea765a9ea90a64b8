/* Tests and elementary operations of N_Vectors. */
#include "vectors.h"

#include "compat.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Entries are tested by their bits, in loops that compilers vectorise. This takes a small part of
 * the time of comparing them one by one, which would dominate the projection of unit quaternions
 * (bench/quaternions). */
static inline uint64_t bitsOf(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

#define EXPONENT     UINT64_C(0x7ff0000000000000) /* all bits are set in Inf and NaN, */
#define LOWEST       UINT64_C(0x0010000000000000) /* and adding this carries into the sign bit */
#define SIGN_OF(any) ((any) >> 63)

/* Sets the sign bit if x is not finite; if `positive`, also if x < a, where `least` holds the bits
 * of the positive number a. As integers, the bits of positive numbers have the order of the
 * numbers. */
static inline uint64_t isOut(double x, uint64_t least, int positive) {
  const uint64_t bits = bitsOf(x);
  return positive ? (bits - least) | (bits + LOWEST) : (bits & EXPONENT) + LOWEST;
}

/* -O2 vectorises only if there are several independent results. For fewer entries than MANY, the
 * choice of the version costs more than wide registers save. */
enum { LANES = 8, MANY = 2 * LANES };

CP_WIDE_PART int manyWithin(const sunrealtype *x, sunindextype n, uint64_t least, int positive) {
  uint64_t any = 0, lanes[LANES] = {0};
  for (; n >= LANES; n -= LANES, x += LANES)
    for (int k = 0; k < LANES; k++) lanes[k] |= isOut(x[k], least, positive);
  for (int k = 0; k < LANES; k++) any |= lanes[k];
  for (int k = 0; k < n; k++) any |= isOut(x[k], least, positive);
  return !SIGN_OF(any);
}

CP_WIDE static int manyFinite(const sunrealtype *x, sunindextype n) {
  return manyWithin(x, n, 0, 0);
}

CP_WIDE static int manyAtLeast(const sunrealtype *x, sunindextype n, uint64_t least) {
  return manyWithin(x, n, least, 1);
}

int cpManyFinite(const sunrealtype *x, sunindextype n) { return manyFinite(x, n); }

int cpManyAtLeast(const sunrealtype *x, sunindextype n, double least) {
  return manyAtLeast(x, n, bitsOf(least));
}

/* Returns the entries of a contiguous vector and their number n, or NULL for other vectors. */
static sunrealtype *entriesOf(N_Vector v, sunindextype *n) {
  sunrealtype *data = cpSerialData(v);
  if (data) *n = NV_LENGTH_S(v);
  else if (cpHasData(v)) *n = N_VGetLength(v), data = N_VGetArrayPointer(v);
  return data;
}

/* For vectors that are not contiguous, sums are tested, because N_VMaxNorm may miss a NaN. */
int cpVectorFinite(N_Vector v) {
  sunindextype n;
  const sunrealtype *x = entriesOf(v, &n);
  if (x) return cpAllFinite(x, n);
  if (v->ops->nvdotprod) return isfinite(N_VDotProd(v, v)) || isfinite(N_VL1Norm(v));
  return isfinite(N_VMaxNorm(v));
}

int cpVectorAtLeast(N_Vector v, double least) {
  sunindextype n;
  const sunrealtype *x = entriesOf(v, &n);
  return x ? cpAllAtLeast(x, n, least) : cpVectorFinite(v) && N_VMin(v) >= least;
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

sunindextype cpLocalLength(N_Vector v) {
  if (cpHasData(v)) return N_VGetLength(v);
  const N_Vector_ID id = N_VGetVectorID(v);
  const int parallel   = id == SUNDIALS_NVEC_PARALLEL || id == SUNDIALS_NVEC_CUSTOM;
  if (!parallel || !v->ops->nvgetarraypointer || !v->ops->nvgetlocallength) return -1;
  return v->ops->nvgetlocallength(v);
}

/* Vectors of others may copy the entries of what they clone. */
N_Vector cpVectorTemplate(N_Vector v) {
  const N_Vector_ID id = N_VGetVectorID(v);
  const int is_plain =
      id == SUNDIALS_NVEC_SERIAL || id == SUNDIALS_NVEC_OPENMP || id == SUNDIALS_NVEC_PTHREADS;
  return is_plain ? N_VCloneEmpty(v) : N_VClone(v);
}

const char *cpVectorLacks(N_Vector v, CPVectorUse use) {
  const N_Vector_Ops o = v->ops;
  const struct {
    const char *name;
    int there, uses;
  } all[] = {{"N_VClone", o->nvclone != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VDestroy", o->nvdestroy != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VGetLength", o->nvgetlength != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VLinearSum", o->nvlinearsum != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VScale", o->nvscale != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VAbs", o->nvabs != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VInv", o->nvinv != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VAddConst", o->nvaddconst != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VDotProd", o->nvdotprod != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VMaxNorm", o->nvmaxnorm != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VMin", o->nvmin != NULL, CP_FOR_STEPS | CP_FOR_PRODUCTS},
             {"N_VWrmsNorm", o->nvwrmsnorm != NULL, CP_FOR_STEPS},
             {"N_VConst", o->nvconst != NULL, CP_FOR_PRODUCTS},
             {"N_VProd", o->nvprod != NULL, CP_FOR_PRODUCTS},
             {"N_VDiv", o->nvdiv != NULL, CP_FOR_PRODUCTS},
             {"N_VL1Norm", o->nvl1norm != NULL, CP_FOR_PRODUCTS},
             {"N_VCompare", o->nvcompare != NULL, CP_FOR_PRODUCTS}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if ((all[i].uses & (int)use) && !all[i].there) return all[i].name;
  return NULL;
}

void cpCopy(N_Vector to, N_Vector from) {
  sunindextype n;
  const sunrealtype *x = cpSerialData(from);
  if (x) memcpy(NV_DATA_S(to), x, (size_t)NV_LENGTH_S(from) * sizeof *x);
  else if ((x = entriesOf(from, &n))) memcpy(N_VGetArrayPointer(to), x, (size_t)n * sizeof *x);
  else N_VScale(1.0, from, to);
}

/* Returns the number of entries that it has computed, all but the last few. */
CP_WIDE static sunindextype sumMany(sunindextype n, double a, const sunrealtype *x, double b,
                                    const sunrealtype *y, sunrealtype *z) {
  sunindextype i = 0;
  for (; i + LANES <= n; i += LANES) {
    sunrealtype sum[LANES]; /* z may be x or y */
    for (int k = 0; k < LANES; k++) sum[k] = a * x[i + k] + b * y[i + k];
    for (int k = 0; k < LANES; k++) z[i + k] = sum[k];
  }
  return i;
}

/* For a few entries compilers generate the fewest instructions for pairs. For |a| = |b|,
 * N_VLinearSum_Serial adds before it multiplies, so it is called to give the same bits. */
static void linearSum(double a, N_Vector x, double b, N_Vector y, N_Vector z) {
  const sunrealtype *xd = NV_DATA_S(x), *yd = NV_DATA_S(y);
  sunrealtype *zd      = NV_DATA_S(z);
  const sunindextype n = NV_LENGTH_S(x);
  if (a != 1.0 && fabs(a) == fabs(b)) {
    N_VLinearSum_Serial(a, x, b, y, z);
    return;
  }
  sunindextype i = n < MANY ? 0 : sumMany(n, a, xd, b, yd, zd);
  for (i++; i < n; i += 2) {
    const sunrealtype sum[2] = {a * xd[i - 1] + b * yd[i - 1], a * xd[i] + b * yd[i]};
    memcpy(zd + i - 1, sum, sizeof sum);
  }
  if (n % 2) zd[n - 1] = a * xd[n - 1] + b * yd[n - 1];
}

void cpLinearSum(double a, N_Vector x, double b, N_Vector y, N_Vector z) {
  if (cpSerialData(x)) linearSum(a, x, b, y, z);
  else N_VLinearSum(a, x, b, y, z);
}

enum { MOST_TOGETHER = 16 };

/* z_k = sum_j c_j X_j,k for k = i, ..., i + entries - 1; the sums stay in registers. */
CP_WIDE_PART void combineSome(int entries, int count, const sunrealtype *c, N_Vector *X,
                              sunindextype i, sunrealtype *z) {
  sunrealtype sum[MOST_TOGETHER];
  for (int k = 0; k < entries; k++) sum[k] = c[0] * NV_DATA_S(X[0])[i + k];
  for (int j = 1; j < count; j++) {
    const sunrealtype *x = NV_DATA_S(X[j]) + i;
    for (int k = 0; k < entries; k++) sum[k] += c[j] * x[k];
  }
  memcpy(z + i, sum, (size_t)entries * sizeof *sum);
}

/* Makes one pass over the entries instead of one for each vector. */
int cpLinearCombination(int count, sunrealtype *c, N_Vector *X, N_Vector z) {
  sunrealtype *zd = cpSerialData(z);
  if (!zd) return N_VLinearCombination(count, c, X, z);
  const sunindextype n = NV_LENGTH_S(z);
  sunindextype i       = 0;
  for (; i + MOST_TOGETHER <= n; i += MOST_TOGETHER) combineSome(MOST_TOGETHER, count, c, X, i, zd);
  for (; i + 4 <= n; i += 4) combineSome(4, count, c, X, i, zd);
  for (; i < n; i++) combineSome(1, count, c, X, i, zd);
  return 0;
}

sunrealtype cpWrmsNorm(N_Vector x, N_Vector w) {
  const sunrealtype *xd = cpSerialData(x), *wd = xd ? NV_DATA_S(w) : NULL;
  sunrealtype sum = 0.0;
  if (!xd) return N_VWrmsNorm(x, w);
  const sunindextype n = NV_LENGTH_S(x);
  for (sunindextype i = 0; i < n; i++) sum += (xd[i] * wd[i]) * (xd[i] * wd[i]);
  return sqrt(sum / (sunrealtype)n);
}

/* ---- operations for CVODES ---- */

typedef enum { SET, SCALE, ADD, ABSOLUTE, INVERSE } Operation;

static inline double resultOf(Operation what, double c, double x) {
  switch (what) {
  case SET: return c;
  case SCALE: return c * x;
  case ADD: return x + c;
  case ABSOLUTE: return fabs(x);
  default: return 1.0 / x;
  }
}

CP_WIDE_PART void eachEntry(Operation what, double c, N_Vector xv, N_Vector zv) {
  const sunrealtype *x = NV_DATA_S(xv);
  sunrealtype *z       = NV_DATA_S(zv), result[LANES];
  sunindextype n       = NV_LENGTH_S(xv);
  for (; n >= LANES; n -= LANES, x += LANES, z += LANES) {
    for (int k = 0; k < LANES; k++) result[k] = resultOf(what, c, x[k]);
    for (int k = 0; k < LANES; k++) z[k] = result[k];
  }
  for (sunindextype k = 0; k < n; k++) z[k] = resultOf(what, c, x[k]);
}

CP_WIDE static void set(double c, N_Vector z) { eachEntry(SET, c, z, z); }
CP_WIDE static void multiply(double c, N_Vector x, N_Vector z) { eachEntry(SCALE, c, x, z); }
CP_WIDE static void addConst(N_Vector x, double c, N_Vector z) { eachEntry(ADD, c, x, z); }
CP_WIDE static void absolute(N_Vector x, N_Vector z) { eachEntry(ABSOLUTE, 0.0, x, z); }
CP_WIDE static void inverse(N_Vector x, N_Vector z) { eachEntry(INVERSE, 0.0, x, z); }

static void scale(double c, N_Vector x, N_Vector z) {
  if (c != 1.0) multiply(c, x, z);
  else if (x != z) cpCopy(z, x);
}

void cpUseOwnLoops(N_Vector v) {
  const N_Vector_Ops ops = v->ops;
  if (!cpSerialData(v)) return; /* another kind may have some operations of serial vectors */
  if (ops->nvlinearsum == N_VLinearSum_Serial) ops->nvlinearsum = linearSum;
  if (ops->nvconst == N_VConst_Serial) ops->nvconst = set;
  if (ops->nvscale == N_VScale_Serial) ops->nvscale = scale;
  if (ops->nvaddconst == N_VAddConst_Serial) ops->nvaddconst = addConst;
  if (ops->nvabs == N_VAbs_Serial) ops->nvabs = absolute;
  if (ops->nvinv == N_VInv_Serial) ops->nvinv = inverse;
  if (ops->nvwrmsnorm == N_VWrmsNorm_Serial) ops->nvwrmsnorm = cpWrmsNorm;
}

/* ---- sizes ---- */

double cpTypicalOf(double largest) { return largest > 0.0 ? fmin(0.1 * largest, 1.0) : 1.0; }

double cpTypicalSize(N_Vector y) { return cpTypicalOf(N_VMaxNorm(y)); }

double cpLargest(const double *x, int length) {
  double largest = 0.0;
  for (int i = 0; i < length; i++)
    if (fabs(x[i]) > largest) largest = fabs(x[i]);
  return largest;
}

double cpDot(const double *x, const double *y, int length) {
  double sum = 0.0;
  for (int i = 0; i < length; i++) sum += x[i] * y[i];
  return sum;
}
