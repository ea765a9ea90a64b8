/* Shared by bending_chain.c and bending_chain_rhs.c: the joints' bends D q and D^T D. Masses and
 * joints count from 0. */
#ifndef CPODES_EXAMPLES_BENDING_CHAIN_IMPL_H
#define CPODES_EXAMPLES_BENDING_CHAIN_IMPL_H

#include "bending_chain.h"
#include "chain_impl.h"

/* Component k of (D x)_i = x_{i-1} - 2 x_i + x_{i+1}, i < n - 1 */
static inline sunrealtype bend(const sunrealtype *x, sunindextype i, int k) {
  return diff(x, i + 1, k) - diff(x, i, k);
}

/* Entry of D^T D for the masses i and j: a sum over the joints that touch both */
static inline sunrealtype bend_product(sunindextype n, sunindextype i, sunindextype j) {
  sunrealtype sum = 0;
  for (sunindextype joint = i - 1; joint <= i + 1; joint++) {
    if (joint < 0 || joint >= n - 1 || joint < j - 1 || joint > j + 1) continue;
    sum += (joint == i ? -2 : 1) * (joint == j ? -2 : 1);
  }
  return sum;
}

/* f [2 n]: out, gravity and the spring-dampers' forces -D^T (k D q + d D u) */
void bending_chain_forces(const BendingChain *chain, const sunrealtype *q, const sunrealtype *u,
                          sunrealtype *f);

/* CPEquations's udot and udot_jac */
int bending_chain_udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda,
                       void *user_data);
int bending_chain_udot_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz,
                           void *user_data);

#endif
