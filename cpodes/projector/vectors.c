/* Small questions about N_Vectors. */
#include "projector_impl.h"

#include <math.h>

/* Any N_Vector: max |v_i| - max |v_i| is zero unless it is not finite; a NaN may get lost in a
 * maximum, not in a sum. */
int cpVectorFinite(N_Vector v) {
  if (cpHasData(v)) return cpFirstNonFinite(v) < 0;
  if (v->ops->nvdotprod) return isfinite(N_VDotProd(v, v)) || isfinite(N_VL1Norm(v));
  return isfinite(N_VMaxNorm(v));
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

double cpTypicalSize(N_Vector y) {
  const double largest = N_VMaxNorm(y);
  return largest > 0.0 ? fmin(0.1 * largest, 1.0) : 1.0;
}

double cpUniform(unsigned *state) {
  *state = *state * 1664525u + 1013904223u; /* Knuth, Lewis */
  return *state / 2147483648.0 - 1.0;
}
