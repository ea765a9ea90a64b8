/* S mu = r, S = A M^{-1} A^T, by products: conjugate gradients in least-squares form (CGLS: Bjorck,
 * Numerical Methods for Least Squares Problems, 1996, 7.4). From mu = 0 on they minimise |r - A d|
 * over d = M^{-1} A^T mu; where rows depend on each other, what contradicts stays in r.
 *
 *   g = A^T r,  s = M^{-1} g,  gamma = g.s,  dir = s,  p = r
 *   repeat:  alpha = gamma / |A dir|^2,  d += alpha dir,  mu += alpha p,  r -= alpha A dir
 *            g, s, gamma' as above,  dir = s + gamma'/gamma dir,  p = r + gamma'/gamma p
 */
#include "actions.h"

#include <math.h>
#include <string.h>

/* Reduction of the residual at which roundoff is all that is left. */
#define GOAL 1.0e-14
/* Least eigenvalue of S, next to the largest, that counts as one: below, r is orthogonal to the
 * range of A but for roundoff, and what remains of it contradicts. */
#define ZERO_EIGENVALUE 1.0e-14

static void add(double alpha, const double *x, double *y, int length) {
  for (int i = 0; i < length; i++) y[i] += alpha * x[i];
}

static void addTo(const double *x, double beta, double *y, int length) {
  for (int i = 0; i < length; i++) y[i] = x[i] + beta * y[i];
}

/* s = M^{-1} A^T r, *gamma = r.S r */
static int steepest(CPAction *act, const double *r, double *gamma) {
  int flag = cpActionTransposedTimes(act, r, act->f);
  if (!flag) flag = cpActionInverseMass(act, act->f, act->s_cg);
  if (flag) return flag;
  *gamma = cpDot(act->f, act->s_cg, act->mech->nu);
  if (*gamma >= 0.0) return CP_SUCCESS;
  return cpReason(act->mech->text, -CP_MASS_INDEFINITE,
                  "at t = %.15g: M^{-1} must be positive definite, and is not: x.M^{-1} x = %g",
                  act->s.t, *gamma);
}

int cpActionCG(CPAction *act, double *r, double *d, double *mu) {
  const int nu = act->mech->nu, m = act->mech->m;
  const double first = cpDot(r, r, m);
  double gamma, next, largest = 0.0;
  memset(d, 0, (size_t)nu * sizeof *d);
  memset(mu, 0, (size_t)m * sizeof *mu);
  if (first == 0.0) return CP_SUCCESS;
  int flag = steepest(act, r, &gamma);
  if (flag) return flag;
  memcpy(act->dir, act->s_cg, (size_t)nu * sizeof *d);
  memcpy(act->p, r, (size_t)m * sizeof *r);
  for (long int i = 0; i < 10L * m + 100; i++) { /* m without roundoff */
    const double rr = cpDot(r, r, m);
    largest         = fmax(largest, gamma / rr);
    if (rr <= GOAL * GOAL * first || gamma <= ZERO_EIGENVALUE * largest * rr) return CP_SUCCESS;
    flag = cpActionTimes(act, act->dir, act->Ad);
    if (flag) return flag;
    const double curvature = cpDot(act->Ad, act->Ad, m);
    if (curvature <= ZERO_EIGENVALUE * largest * gamma) return CP_SUCCESS;
    largest            = fmax(largest, curvature / gamma);
    const double alpha = gamma / curvature;
    add(alpha, act->dir, d, nu);
    add(alpha, act->p, mu, m);
    add(-alpha, act->Ad, r, m);
    flag = steepest(act, r, &next);
    if (flag) return flag;
    addTo(act->s_cg, next / gamma, act->dir, nu);
    addTo(r, next / gamma, act->p, m);
    gamma = next;
  }
  return cpReason(act->mech->text, -CP_PROJ_CONV_FAILURE,
                  "at t = %.15g: conjugate gradients on A M^{-1} A^T do not converge: are Au and "
                  "ATl each other's transpose (CPMechCheck)?",
                  act->s.t);
}
