/* Tests and elementary operations of vectors. */
#ifndef CPODES_VECTORS_H
#define CPODES_VECTORS_H

#include <float.h>
#include <math.h>
#include <nvector/nvector_serial.h>

int cpVectorFinite(N_Vector v);
/* Are x[0] ... x[n - 1] finite? From CP_MANY on, lanes are faster. */
#define CP_MANY 13
int cpManyFinite(const sunrealtype *x, sunindextype n);
static inline int cpAllFinite(const sunrealtype *x, sunindextype n) {
  sunindextype i = 0;
  if (n >= CP_MANY) return cpManyFinite(x, n);
  while (i < n && fabs(x[i]) <= DBL_MAX) i++;
  return i >= n;
}
/* Are they finite and at least `least`, which is positive? */
int cpManyAtLeast(const sunrealtype *x, sunindextype n, double least);
static inline int cpAllAtLeast(const sunrealtype *x, sunindextype n, double least) {
  if (n >= CP_MANY) return cpManyAtLeast(x, n, least);
  while (n > 0 && x[n - 1] >= least && x[n - 1] < INFINITY) n--;
  return n == 0;
}
/* The same of a vector's entries */
int cpVectorAtLeast(N_Vector v, double least);
int cpFirstNonFinite(N_Vector v); /* index, or -1 */
int cpHasData(N_Vector v);        /* direct access to all entries */
/* Entries of a serial vector, else NULL. A step of a small system takes a few thousand instructions. Calls through
 * N_Vector's operation table would be a third of them (bench/overhead.sh) and are avoided for serial vectors. */
static inline sunrealtype *cpSerialData(N_Vector v) {
  return v->ops->nvgetvectorid == N_VGetVectorID_Serial ? NV_DATA_S(v) : NULL;
}
/* N_VGetArrayPointer of a vector with direct access */
static inline sunrealtype *cpData(N_Vector v) {
  sunrealtype *data = cpSerialData(v);
  return data ? data : v->ops->nvgetarraypointer(v);
}
/* The name of an operation that cpodes calls for this purpose and that this kind of vector lacks, or NULL. */
typedef enum { CP_FOR_STEPS = 1, CP_FOR_PRODUCTS = 2 } CPVectorUse;
const char *cpVectorLacks(N_Vector v, CPVectorUse use);
/* These give the same results as N_VScale, N_VLinearSum and N_VWrmsNorm to the last bit. The vectors are of the same
 * kind. cpSerialLinearSum is for serial ones, whatever their tables of operations are. */
void cpCopy(N_Vector to, N_Vector from);
void cpLinearSum(double a, N_Vector x, double b, N_Vector y, N_Vector z); /* z = a x + b y */
void cpSerialLinearSum(double a, N_Vector x, double b, N_Vector y, N_Vector z);
/* z = sum_j c_j X_j of count > 0 vectors, of which z may be any: 0, or N_VLinearCombination's error. */
int cpLinearCombination(int count, sunrealtype *c, N_Vector *X, N_Vector z);
sunrealtype cpWrmsNorm(N_Vector x, N_Vector w);
/* The size below which a component counts as zero when it is perturbed. The tolerance alone may be far below the
 * resolution of the other terms of a constraint, and components in large units say nothing about the others. */
double cpTypicalSize(N_Vector y);
double cpTypicalOf(double largest); /* the same from the largest component */
/* max_i |x_i|, and x.y */
double cpLargest(const double *x, int length);
double cpDot(const double *x, const double *y, int length);

#endif
