/* The chain that resists bending as y' = f(t, y) = (u, a), and the derivatives of a. With S = A A^T,
 *
 *   a = f - A^T lambda,           S lambda = A f - b
 *   da = X - A^T S^-1 (A X - B),  X = K, B = Bq with respect to q;  X = C, B = Bu to u
 */
#include "bending_chain_impl.h"

#include <sunmatrix/sunmatrix_dense.h>

void bending_chain_forces(const BendingChain *chain, const sunrealtype *q, const sunrealtype *u,
                          sunrealtype *f) {
  const sunindextype n = chain->rods->n;
  for (sunindextype i = 0; i < n; i++) {
    f[2 * i]     = 0;
    f[2 * i + 1] = -chain->rods->g;
  }
  for (sunindextype i = 0; i + 1 < n; i++)
    for (int k = 0; k < 2; k++) {
      const sunrealtype force = chain->k * bend(q, i, k) + chain->d * bend(u, i, k);
      if (i > 0) f[2 * (i - 1) + k] -= force;
      f[2 * i + k] += 2 * force;
      f[2 * (i + 1) + k] -= force;
    }
}

/* x [2 n]: in; out, x - A^T S^-1 (A x - b). lambda [n]: in, b; out, S^-1 (A x - b). S: factored */
static void project(const Chain *c, const sunrealtype *r, sunrealtype *lambda, sunrealtype *x) {
  const sunindextype n = c->n;
  for (sunindextype i = 0; i < n; i++) lambda[i] = dot_diff(r, i, x, i) - lambda[i];
  ldl_solve(n, c->diag, c->sub, lambda);
  for (sunindextype i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) {
      x[2 * i + k] -= diff(r, i, k) * lambda[i];
      if (i + 1 < n) x[2 * i + k] += diff(r, i + 1, k) * lambda[i + 1];
    }
}

/* S is factored; a [2 n], lambda [n]: out. Returns 1 if S is not positive definite. */
static int accelerations(BendingChain *chain, const sunrealtype *r, const sunrealtype *u,
                         sunrealtype *a, sunrealtype *lambda) {
  Chain *c             = chain->rods;
  const sunindextype n = c->n;
  if (factor_block(n, 0, r, NULL, c->diag, c->sub)) return 1;

  bending_chain_forces(chain, r, u, a);
  for (sunindextype i = 0; i < n; i++) lambda[i] = -dot_diff(u, i, u, i);
  project(c, r, lambda, a);
  return 0;
}

int bending_chain_tensions(BendingChain *chain, N_Vector y, sunrealtype *lambda) {
  const sunrealtype *r = N_VGetArrayPointer(y);
  return accelerations(chain, r, r + 2 * chain->rods->n, chain->rods->delta, lambda);
}

int bending_chain_udot(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                       const sunrealtype *z, sunrealtype *udot, sunrealtype *lambda,
                       void *user_data) {
  (void)t, (void)z;
  return accelerations(user_data, q, u, udot, lambda);
}

int bending_chain_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *user_data) {
  (void)t;
  BendingChain *chain   = user_data;
  const sunindextype nu = 2 * chain->rods->n;
  const sunrealtype *r  = N_VGetArrayPointer(y);
  sunrealtype *rd       = N_VGetArrayPointer(ydot);
  for (sunindextype i = 0; i < nu; i++) rd[i] = r[nu + i];
  return accelerations(chain, r, r + nu, rd + nu, chain->work);
}

/* X = -scale D^T D - d(A^T tension)/dq, without the last term if tension is NULL. With x = across, row i
   of B is factor (x_i - x_{i-1})^T at mass i and the opposite at mass i - 1 */
typedef struct {
  sunrealtype scale;
  const sunrealtype *tension;
  sunrealtype factor;
  const sunrealtype *across;
} Partials;

/* da [2 n]: out, column of X - A^T S^-1 (A X - B); lambda [n]: work */
static void derivative(const Chain *c, const sunrealtype *r, sunindextype column, const Partials *P,
                       sunrealtype *lambda, sunrealtype *da) {
  const sunindextype n = c->n, j = column / 2;
  const int k = (int)(column % 2);
  for (sunindextype i = 0; i < n; i++) {
    lambda[i] = da[2 * i] = da[2 * i + 1] = 0;
    if (i >= j - 2 && i <= j + 2) da[2 * i + k] = -P->scale * bend_product(n, i, j);
    if (P->tension) da[2 * i + k] -= tension_entry(n, P->tension, i, j);
  }
  lambda[j] = P->factor * diff(P->across, j, k);
  if (j + 1 < n) lambda[j + 1] = -P->factor * diff(P->across, j + 1, k);
  project(c, r, lambda, da);
}

/* dq [2 n], du [2 n]: columns of d(u')/dq and d(u')/du, out, from row `first` on */
static int derivatives(BendingChain *chain, const sunrealtype *r, const sunrealtype *u,
                       sunrealtype **dq, sunrealtype **du, sunindextype first) {
  Chain *c             = chain->rods;
  sunrealtype *tension = c->rhs, *a = c->delta;
  if (accelerations(chain, r, u, a, tension)) return 1;
  const Partials by_q = {chain->k, tension, -1, a}, by_u = {chain->d, NULL, -2, u};
  for (sunindextype j = 0; j < 2 * c->n; j++) {
    derivative(c, r, j, &by_q, chain->work, dq[j] + first);
    derivative(c, r, j, &by_u, chain->work, du[j] + first);
  }
  return 0;
}

int bending_chain_udot_jac(sunrealtype t, const sunrealtype *q, const sunrealtype *u,
                           const sunrealtype *z, SUNMatrix Uq, SUNMatrix Uu, SUNMatrix Uz,
                           void *user_data) {
  (void)t, (void)z, (void)Uz;
  return derivatives(user_data, q, u, SM_COLS_D(Uq), SM_COLS_D(Uu), 0);
}

int bending_chain_jacobian(sunrealtype t, N_Vector y, N_Vector ydot, SUNMatrix J, void *user_data,
                           N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
  (void)t, (void)ydot, (void)tmp1, (void)tmp2, (void)tmp3;
  BendingChain *chain   = user_data;
  const sunindextype nu = 2 * chain->rods->n;
  const sunrealtype *r  = N_VGetArrayPointer(y);
  SUNMatZero(J);
  for (sunindextype j = 0; j < nu; j++) SM_ELEMENT_D(J, j, nu + j) = 1;
  return derivatives(chain, r, r + nu, SM_COLS_D(J), SM_COLS_D(J) + nu, nu);
}
