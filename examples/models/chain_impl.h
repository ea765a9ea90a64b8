/* Shared by chain.c and its relatives: differences along the chain, and L D L^T of the tridiagonal
 * matrix S = G D G^T. */
#ifndef CPODES_EXAMPLES_CHAIN_IMPL_H
#define CPODES_EXAMPLES_CHAIN_IMPL_H

#include <sundials/sundials_types.h>

/* Component k (0: x, 1: y) of d_i = r_i - r_{i-1}; i counts from 0, r_{-1} = 0. Also for
   velocities. */
static inline sunrealtype diff(const sunrealtype *r, sunindextype i, int k) {
  return r[2 * i + k] - (i > 0 ? r[2 * (i - 1) + k] : 0);
}

/* d_i . d_j of the vectors a and b */
static inline sunrealtype dot_diff(const sunrealtype *a, sunindextype i, const sunrealtype *b,
                                   sunindextype j) {
  return diff(a, i, 0) * diff(b, j, 0) + diff(a, i, 1) * diff(b, j, 1);
}

/* Step i of S = L D L^T in place, after the steps before it; diag [n]: diagonal of S, then D; sub
   [n]: subdiagonal of S, then L, sub[0] unused. Returns 1 if S is not positive definite. */
static inline int ldl_step(sunrealtype *diag, sunrealtype *sub, sunindextype i) {
  if (i > 0) {
    const sunrealtype l = sub[i] / diag[i - 1];
    diag[i] -= l * sub[i];
    sub[i] = l;
  }
  return !(diag[i] > 0); /* also catches NaN */
}

/* x [n] <- S^-1 x */
static inline void ldl_solve(sunindextype n, const sunrealtype *diag, const sunrealtype *sub,
                             sunrealtype *x) {
  for (sunindextype i = 1; i < n; i++) x[i] -= sub[i] * x[i - 1];
  for (sunindextype i = 0; i < n; i++) x[i] /= diag[i];
  for (sunindextype i = n - 1; i > 0; i--) x[i - 1] -= sub[i] * x[i];
}

#endif
