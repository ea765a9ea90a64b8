#include "chain_mechanism.h"

#include "chain_impl.h"

/* A x */
static int times(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *Ax,
                 void *user_data) {
  (void)t;
  const sunindextype n = ((const Chain *)user_data)->n;
  for (sunindextype i = 0; i < n; i++) Ax[i] = dot_diff(q, i, x, i);
  return 0;
}

/* A^T x */
static int transposed_times(sunrealtype t, const sunrealtype *q, const sunrealtype *x,
                            sunrealtype *ATx, void *user_data) {
  (void)t;
  const sunindextype n = ((const Chain *)user_data)->n;
  for (sunindextype i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) {
      const sunrealtype from_right = i + 1 < n ? diff(q, i + 1, k) * x[i + 1] : 0;
      ATx[2 * i + k]               = diff(q, i, k) * x[i] - from_right;
    }
  return 0;
}

/* M x = M^-1 x = x */
static int unit_times(sunrealtype t, const sunrealtype *q, const sunrealtype *x, sunrealtype *y,
                      void *user_data) {
  (void)t, (void)q;
  const sunindextype n = ((const Chain *)user_data)->n;
  for (sunindextype i = 0; i < 2 * n; i++) y[i] = x[i];
  return 0;
}

/* A A^T lambda = A f + |w_i|^2,  u' = f - A^T lambda */
static int accelerations(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                         const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda,
                         void *user_data) {
  (void)z;
  Chain *c             = user_data;
  const sunindextype n = c->n;
  if (factor_block(n, 0, q, NULL, c->diag, c->sub)) return 1;

  for (sunindextype i = 0; i < n; i++) lambda[i] = dot_diff(u, i, u, i);
  lambda[0] -= c->g * q[1]; /* A f is zero except for the first rod, since all masses fall alike */
  ldl_solve(n, c->diag, c->sub, lambda);
  transposed_times(t, q, lambda, udot, c);
  for (sunindextype i = 0; i < 2 * n; i++) udot[i] = -udot[i] - (i % 2 ? c->g : 0);
  return 0;
}

CPEquations chain_mechanism(const Chain *chain) {
  return (CPEquations){CP_SIZED(CPEquations), .nu = 2 * chain->n,      .np = chain->n,
                       .p = chain_lengths,    .v = chain_rates,        .udot = accelerations,
                       .Au = times,           .ATl = transposed_times, .Minv = unit_times,
                       .Mu = unit_times};
}
