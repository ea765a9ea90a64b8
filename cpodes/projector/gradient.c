/* The entries of G that are not zero, by columns: constraints of mechanisms touch few components
 * each, so that products with G cost little next to a pass over the whole matrix. */
#include "projector_impl.h"

#include <math.h>
#include <sunmatrix/sunmatrix_dense.h>

int cpGradientGather(CPWork work, sunrealtype t) {
  const int m = work->P->m, n = work->P->n;
  CPEntries *g = &work->g;
  size_t k     = 0;
  for (int j = 0; j < n; j++) {
    const sunrealtype *column = SUNDenseMatrix_Column(work->G, j);
    g->start[j]               = k;
    for (int i = 0; i < m; i++) {
      if (column[i] == 0.0) continue;
      if (!isfinite(column[i]))
        return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                        "at t = %.15g: entry (%d, %d) of the constraint Jacobian is %g", t, i, j,
                        column[i]);
      g->row[k]     = i;
      g->value[k++] = column[i];
    }
  }
  g->start[n] = k;
  return CP_SUCCESS;
}

void cpGradientTimes(const CPWork work, const double *v, double *r) {
  const CPEntries *g = &work->g;
  for (int i = 0; i < work->P->m; i++) r[i] = 0.0;
  for (int j = 0; j < work->P->n; j++)
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) r[g->row[k]] += g->value[k] * v[j];
}

void cpGradientTransposedTimes(const CPWork work, const double *mu, double *w) {
  const CPEntries *g = &work->g;
  for (int j = 0; j < work->P->n; j++) {
    double sum = 0.0;
    for (size_t k = g->start[j]; k < g->start[j + 1]; k++) sum += g->value[k] * mu[g->row[k]];
    w[j] -= sum;
  }
}
