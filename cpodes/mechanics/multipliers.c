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

#include <float.h>
#include <math.h>
#include <string.h>

/* Solves J x = r for the rows and columns that are listed, by elimination with partial pivoting; J [m m] and x [m]: in, out. Returns 1
 * if they are singular. They are few, and calls of LAPACK would wake the threads of its BLAS. */
static int eliminate(int n, const int *on, int m, double *J, double *x) {
  for (int k = 0; k < n; k++) {
    double *column = J + (size_t)on[k] * (size_t)m;
    int pivot      = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(column[on[i]]) > fabs(column[on[pivot]])) pivot = i;
    if (!(fabs(column[on[pivot]]) > 0.0)) return 1;
    for (int j = k; j < n && pivot != k; j++) {
      double *of = J + (size_t)on[j] * (size_t)m, other = of[on[k]];
      of[on[k]] = of[on[pivot]], of[on[pivot]] = other;
    }
    const double other = x[on[k]];
    x[on[k]] = x[on[pivot]], x[on[pivot]] = other;
    for (int i = k + 1; i < n; i++) {
      const double part = column[on[i]] / column[on[k]];
      for (int j = k + 1; j < n && part != 0.0; j++) {
        double *of = J + (size_t)on[j] * (size_t)m;
        of[on[i]] -= part * of[on[k]];
      }
      x[on[i]] -= part * x[on[k]];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) x[on[k]] -= J[on[k] + (size_t)on[j] * (size_t)m] * x[on[j]];
    x[on[k]] /= J[on[k] + (size_t)on[k] * (size_t)m];
  }
  return 0;
}

/* next <- lambda + J^{-1} (next - lambda), J = I - L' Fl. Columns of J are those of I where no force depends on the multiplier, so that
 * the others are solved for first. If J is singular, next is unchanged. */
static int newtonStep(CPMech mech, const CPMechState *s, const double *lambda, double *next) {
  CPMechMultipliers *it = &mech->multipliers;
  const int m           = mech->m;
  int n = 0, *on = it->on, flag = cpMechLambdaJac(mech, s, lambda, &it->sum);
  if (flag) return flag;
  for (int k = 0; k < mech->na; k++) {                  /* Fl has no columns of motions. */
    if (mech->rows.off[k]) continue;                    /* lambda_k = 0 */
    double *column     = it->J + (size_t)k * (size_t)m; /* J e_k = e_k - L' (Fl e_k) */
    int depends        = 0;
    const double *Fl_k = cpMatAt(&it->sum, 0, k); /* dense */
    for (int j = 0; j < mech->nu; j++) {
      it->f[j] = mech->motions->is_full[j] ? 0.0 : Fl_k[j];
      depends |= it->f[j] != 0.0;
    }
    if (!depends) continue;
    memset(column, 0, (size_t)m * sizeof *column);
    flag = cpSaddleSolve(mech->kkt, it->f, it->zero, it->a, column);
    if (flag) return cpReason(mech->text, flag, "the KKT solver failed");
    for (int i = 0; i < m; i++) column[i] = (i == k) - column[i];
    on[n++] = k;
  }
  for (int i = 0; i < m; i++) it->step[i] = next[i] - lambda[i];
  if (eliminate(n, on, m, it->J, it->step)) return CP_SUCCESS;
  for (int i = 0, solved = 0; i < m; i++) { /* the elimination left all other rows as they were */
    if (solved < n && on[solved] == i) solved++;
    else if (!mech->rows.off[i])
      for (int l = 0; l < n; l++)
        it->step[i] -= it->J[i + (size_t)on[l] * (size_t)m] * it->step[on[l]];
  }
  for (int i = 0; i < m; i++) next[i] = lambda[i] + it->step[i];
  return CP_SUCCESS;
}

/* The part of the multipliers that roundoff of the solver is: of rows at a narrow angle, as those of bodies that friction wedges, it is
 * that of A M^{-1} A^T divided by the square of the sine. */
static double roundoffOf(const CPMech mech) {
  const double sine = mech->kkt->sine;
  return fmin(CP_INEXACT, CP_FUZZ / (sine * sine));
}

int cpMechIterate(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                  double *lambda) {
  CPMechMultipliers *it = &mech->multipliers;
  const int nu = mech->nu, m = mech->m;
  double change = 0.0, last = INFINITY, *next = it->next, *before = it->before;
  int flag = cpMechKkt(mech, s, f, b, a, lambda);
  for (int k = 0; !flag && k < CP_MOST_ITERATIONS; k++) {
    double size = 0.0, total = 0.0, moved = 0.0;
    mech->stats.nlambda++;
    memcpy(it->f, f, (size_t)nu * sizeof *f);
    flag = cpMechAddForces(mech, s, 1, lambda, it->f);
    if (!flag) flag = cpMechKkt(mech, s, it->f, b, a, next); /* next = L(f + f_lambda(lambda)) */
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
    const int stagnates = change <= roundoffOf(mech) * size && !(change < 0.5 * last);
    const int converged = resolved || stagnates || change <= CP_ITERATED * size;
    last                = change;
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
