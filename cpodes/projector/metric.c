/* Weights w that measure, and the root of the diagonal inverse metric D. */
#include "projector_impl.h"

#include <math.h>

/* Weight of a component when no error weights are known: half of its digits count. */
#define BLIND_TOLERANCE 1.0e-8

int cpWeights(CPWork work, N_Vector y, N_Vector ewt) {
  CPProjector P        = work->P;
  const int n          = P->n;
  const sunrealtype *z = N_VGetArrayPointer(y), *weight = ewt ? N_VGetArrayPointer(ewt) : NULL;
  for (int j = 0; j < n; j++) {
    const double w = weight ? weight[j] : 1.0 / (BLIND_TOLERANCE * (1.0 + fabs(z[j])));
    if (!(w > 0.0) || !isfinite(w))
      return cpReason(work->text, CP_ILL_INPUT, "ewt must be positive and finite: ewt[%d] = %g", j,
                      w);
    work->w[j]     = w;
    work->sqrtd[j] = P->norm == CP_NORM_L2 ? 1.0 : 1.0 / w;
    if (P->free && P->free[j] == 0.0) work->sqrtd[j] = 0.0;
  }
  return CP_SUCCESS;
}
