/* Forces that depend on the multipliers (joint friction, wheel on rail):
 *
 *   lambda = L(f + f_lambda(lambda)),
 *
 * where L maps forces to multipliers by the KKT system. If the derivative Fl = df_lambda/dlambda is
 * given, the iteration is Newton's,
 *
 *   (I - L' Fl) (lambda_new - lambda) = L(f + f_lambda(lambda)) - lambda,
 *
 * otherwise it is a fixed-point iteration. It starts from the multipliers without these forces, so
 * that the result depends on the state alone. */
#include "accelerations.h"
#include "forces.h"

#include "cpodes/matrix/lapack.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* next <- lambda + J^{-1} (next - lambda), J = I - L' Fl. If J is singular, next is unchanged. */
static int newtonStep(CPMech mech, const CPMechState *s, const double *lambda, double *next) {
  CPMechMultipliers *it = &mech->multipliers;
  const int m = mech->m, one = 1;
  int info = 0;
  int flag = cpMechLambdaJac(mech, s, lambda, &it->sum);
  if (flag) return flag;
  for (int k = 0; k < m; k++) {
    double *column = it->J + (size_t)k * (size_t)m; /* J e_k = e_k - L' (Fl e_k) */
    int depends    = 0;
    for (int j = 0; k < mech->na && j < mech->nu; j++) { /* Fl has no columns of motions. */
      it->f[j] = mech->motions->is_full[j] ? 0.0 : *cpMatAt(&it->sum, j, k) /* dense */;
      depends |= it->f[j] != 0.0;
    }
    memset(column, 0, (size_t)m * sizeof *column);
    if (depends) flag = cpSaddleSolve(mech->kkt, it->f, it->zero, it->a, column);
    if (flag) return cpReason(mech->text, flag, "the KKT solver failed");
    for (int i = 0; i < m; i++) column[i] = (i == k) - column[i];
  }
  for (int i = 0; i < m; i++) it->step[i] = next[i] - lambda[i];
  F77(dgesv)(&m, &one, it->J, &m, it->pivot, it->step, &m, &info);
  for (int i = 0; info == 0 && i < m; i++) next[i] = lambda[i] + it->step[i];
  return CP_SUCCESS;
}

int cpMechIterate(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                  double *lambda) {
  CPMechMultipliers *it = &mech->multipliers;
  const int nu = mech->nu, m = mech->m;
  double change = 0.0, *next = it->next, *before = it->before;
  int flag = cpMechKkt(mech, s->t, f, b, a, lambda);
  for (int k = 0; !flag && k < CP_MOST_ITERATIONS; k++) {
    double size = 0.0, total = 0.0, moved = 0.0;
    mech->stats.nlambda++;
    memcpy(it->f, f, (size_t)nu * sizeof *f);
    flag = cpMechAddForces(mech, s, 1, lambda, it->f);
    if (!flag) flag = cpMechKkt(mech, s->t, it->f, b, a, next); /* next = L(f + f_lambda(lambda)) */
    if (flag) return flag;
    change = 0.0;
    for (int i = 0; i < m; i++) {
      size   = fmax(size, fabs(next[i]));
      change = fmax(change, fabs(next[i] - lambda[i]));
    }
    for (int j = 0; j < nu; j++) {
      total     = fmax(total, fabs(it->f[j]));
      moved     = fmax(moved, fabs(it->f[j] - before[j]));
      before[j] = it->f[j];
    }
    /* Multipliers that are zero, as at an event at which a contact opens, are known only up to the
     * roundoff of the forces. */
    const int resolved  = k > 0 && moved <= DBL_EPSILON * total;
    const int converged = resolved || change <= CP_ITERATED * size;
    if (!converged && it->Fl.S) flag = newtonStep(mech, s, lambda, next);
    memcpy(lambda, next, (size_t)m * sizeof *lambda);
    if (converged) return CP_SUCCESS;
    if (!flag && !cpAllFinite(lambda, m)) break;
  }
  if (flag) return flag;
  return cpReason(mech->text, -CP_LAMBDA_CONV_FAIL,
                  "at t = %.10g: forces that depend on the multipliers do not converge in %d "
                  "iterations (last change of lambda %.3e)",
                  s->t, CP_MOST_ITERATIONS, change);
}
