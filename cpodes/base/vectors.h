/* Tests and elementary operations of vectors. */
#ifndef CPODES_VECTORS_H
#define CPODES_VECTORS_H

#include <float.h>
#include <math.h>
#include <nvector/nvector_serial.h>

int cpVectorFinite(N_Vector v);
/* Are x[0] ... x[n - 1] finite? From CP_MANY entries on, the vectorised test is faster. */
#define CP_MANY 13
int cpManyFinite(const sunrealtype *x, sunindextype n);
static inline int cpAllFinite(const sunrealtype *x, sunindextype n) {
  sunindextype i = 0;
  if (n >= CP_MANY) return cpManyFinite(x, n);
  while (i < n && fabs(x[i]) <= DBL_MAX) i++;
  return i >= n;
}
/* Are all entries finite and at least `least`, which must be positive? */
int cpManyAtLeast(const sunrealtype *x, sunindextype n, double least);
static inline int cpAllAtLeast(const sunrealtype *x, sunindextype n, double least) {
  if (n >= CP_MANY) return cpManyAtLeast(x, n, least);
  while (n > 0 && x[n - 1] >= least && x[n - 1] < INFINITY) n--;
  return n == 0;
}
/* As cpAllAtLeast, for the entries of a vector. */
int cpVectorAtLeast(N_Vector v, double least);
int cpFirstNonFinite(N_Vector v); /* index, or -1 */
int cpHasData(N_Vector v);        /* Does N_VGetArrayPointer give all entries? */
/* Number of entries that this process holds and N_VGetArrayPointer gives; -1: there is no access */
sunindextype cpLocalLength(N_Vector v);
/* Returns a vector like v to be passed to N_VClone and N_VGetLength only: it has no entries, where these need none.
 * NULL: there is no memory. */
N_Vector cpVectorTemplate(N_Vector v);
/* Returns the entries of a serial vector, or NULL for other vectors. A step of a small system takes
 * a few thousand instructions; calls through N_Vector's operation table would take a third of them
 * (bench/overhead.sh), and are avoided for serial vectors. */
static inline sunrealtype *cpSerialData(N_Vector v) {
  return v->ops->nvgetvectorid == N_VGetVectorID_Serial ? NV_DATA_S(v) : NULL;
}
/* N_VGetArrayPointer of a vector with direct access. */
static inline sunrealtype *cpData(N_Vector v) {
  sunrealtype *data = cpSerialData(v);
  return data ? data : v->ops->nvgetarraypointer(v);
}
/* Returns the name of an operation that cpodes needs for this purpose and that this kind of vector
 * lacks, or NULL. */
typedef enum { CP_FOR_STEPS = 1, CP_FOR_PRODUCTS = 2 } CPVectorUse;
const char *cpVectorLacks(N_Vector v, CPVectorUse use);
/* Gives v, which must belong to the library, and all its later clones operations with loops of our
 * own in place of those of serial vectors. The results are the same to the last bit. SUNDIALS'
 * loops may have been compiled without optimisation: on Debian 12 they take 15 to 40 instructions
 * for an entry, and CVODES spent an eighth of all instructions for a chain of 100 in them. */
void cpUseOwnLoops(N_Vector v);
/* These give the same results as N_VScale, N_VLinearSum and N_VWrmsNorm to the last bit. All
 * vectors of a call are of the same kind. */
void cpCopy(N_Vector to, N_Vector from);
void cpLinearSum(double a, N_Vector x, double b, N_Vector y, N_Vector z); /* z = a x + b y */
/* z = sum_j c_j X_j over count > 0 vectors; z may be one of them. Returns 0, or
 * N_VLinearCombination's error. */
int cpLinearCombination(int count, sunrealtype *c, N_Vector *X, N_Vector z);
sunrealtype cpWrmsNorm(N_Vector x, N_Vector w);
/* The least size that a component counts as having when it is perturbed. The tolerance alone may be
 * far below the resolution of the other terms of a constraint, and components in large units say
 * nothing about the others. */
double cpTypicalSize(N_Vector y);
double cpTypicalOf(double largest); /* as cpTypicalSize, from the largest component */
/* max_i |x_i|, and x.y */
double cpLargest(const double *x, int length);
double cpDot(const double *x, const double *y, int length);

#endif
