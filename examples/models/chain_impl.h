/* Shared by chain.c and its relatives: differences along the chain, L D L^T of the tridiagonal matrix
 * S = G D G^T, and the derivative of A^T lambda. Masses count from 0. */
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

/* D_j. If D is NULL, it is the unit matrix, which is the metric of the masses. */
static inline sunrealtype weight(const sunrealtype *D, sunindextype j) { return D ? D[j] : 1; }

/* Diagonal entry i of G_r D G_r^T (r: the positions) or W D W^T (r: the velocities) */
static inline sunrealtype schur_entry(const sunrealtype *r, const sunrealtype *D, sunindextype i) {
  sunrealtype entry = 0;
  for (int k = 0; k < 2; k++) {
    const sunrealtype d = diff(r, i, k), left = i > 0 ? weight(D, 2 * (i - 1) + k) : 0;
    entry += d * d * (weight(D, 2 * i + k) + left);
  }
  return entry;
}

/* L D L^T of n rows of G_r D G_r^T from row `first` on, without their coupling to the row before. A row of
   zeros (a rod between masses that are held) is replaced by a row of the unit matrix, since its multiplier has
   no effect. diag, sub [n]: out. Returns 1 if the other rows are not positive definite. */
static inline int factor_block(sunindextype n, sunindextype first, const sunrealtype *r,
                               const sunrealtype *D, sunrealtype *diag, sunrealtype *sub) {
  for (sunindextype i = 0; i < n; i++) {
    const sunindextype row = first + i;
    diag[i]                = schur_entry(r, D, row);
    sub[i]                 = 0;
    if (diag[i] == 0) diag[i] = 1;
    for (int k = 0; k < 2 && i > 0; k++)
      sub[i] -= diff(r, row, k) * diff(r, row - 1, k) * weight(D, 2 * (row - 1) + k);
    if (ldl_step(diag, sub, i)) return 1;
  }
  return 0;
}

/* Entry of d(A^T lambda)/dq for one component of the masses i and j */
static inline sunrealtype tension_entry(sunindextype n, const sunrealtype *lambda, sunindextype i,
                                        sunindextype j) {
  if (i == j) return lambda[i] + (i + 1 < n ? lambda[i + 1] : 0);
  if (i == j + 1) return -lambda[i];
  return j == i + 1 ? -lambda[j] : 0;
}

#endif
