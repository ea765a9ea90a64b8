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

/* J <- L U with the rows in order[], by elimination with partial pivoting; J [n n], columns. Returns 1 if J is singular. There are few
 * columns, and calls of LAPACK would wake the threads of its BLAS. */
static int factor(int n, double *J, int *order) {
  for (int k = 0; k < n; k++) {
    double *column = J + (size_t)k * (size_t)n;
    int pivot      = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(column[i]) > fabs(column[pivot])) pivot = i;
    order[k] = pivot;
    if (!(fabs(column[pivot]) > 0.0)) return 1;
    for (int j = 0; j < n && pivot != k; j++) {
      double *of = J + (size_t)j * (size_t)n, other = of[k];
      of[k] = of[pivot], of[pivot] = other;
    }
    for (int i = k + 1; i < n; i++) column[i] /= column[k];
    for (int j = k + 1; j < n; j++) {
      double *of = J + (size_t)j * (size_t)n;
      for (int i = k + 1; i < n && of[k] != 0.0; i++) of[i] -= column[i] * of[k];
    }
  }
  return 0;
}

/* x <- J^{-1} x */
static void substitute(int n, const double *J, const int *order, double *x) {
  for (int k = 0; k < n; k++) {
    const double other = x[k];
    x[k] = x[order[k]], x[order[k]] = other;
  }
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) x[i] -= J[i + k * n] * x[k];
  for (int k = n - 1; k >= 0; k--) {
    x[k] /= J[k + k * n];
    for (int i = 0; i < k; i++) x[i] -= J[i + k * n] * x[k];
  }
}

/* Finds the n multipliers on which forces depend, those of the columns of Fl that are not zero. FULL motions feel no forces. Returns n. */
static int findDepends(CPMech mech) {
  CPMechMultipliers *it = &mech->multipliers;
  int n                 = 0;
  for (int k = 0; k < mech->na; k++) {        /* Fl has no columns of motions. */
    if (mech->rows.off[k]) continue;          /* lambda_k = 0 */
    double *column = cpMatAt(&it->sum, 0, k); /* dense */
    int depends    = 0;
    for (int j = 0; j < mech->nu; j++) {
      if (mech->motions->is_full[j]) column[j] = 0.0;
      depends |= column[j] != 0.0;
    }
    if (depends) it->on[n++] = k;
  }
  return n;
}

/* Memory for n multipliers on which forces depend: of thousands of contacts few slide. */
static int makeRoom(CPMech mech, int n) {
  CPMechMultipliers *it = &mech->multipliers;
  if (n <= it->most) return CP_SUCCESS;
  cpArenaFree(&it->memory);
  it->most = n;
  CP_ARRAYS(&it->memory, (size_t)n * (size_t)n, &it->J);
  CP_NEW(&it->memory, it->order, n);
  if (!cpArenaStatus(&it->memory)) return CP_SUCCESS;
  cpArenaFree(&it->memory); /* Memory may be found the next time. */
  it->most = 0;
  return cpReason(mech->text, CP_MEM_FAIL, "no memory for %d forces that depend on multipliers", n);
}

/* J [n n] <- the rows and columns of I - L' Fl of these multipliers */
static int formJ(CPMech mech, int n) {
  CPMechMultipliers *it = &mech->multipliers;
  for (int l = 0; l < n; l++) {
    double *column = it->J + (size_t)l * (size_t)n;
    const int flag =
        cpSaddleSolve(mech->kkt, cpMatAt(&it->sum, 0, it->on[l]), NULL, NULL, it->response);
    if (flag) return cpReason(mech->text, flag, "the KKT solver failed");
    for (int k = 0; k < n; k++) column[k] = (k == l) - it->response[it->on[k]];
  }
  return CP_SUCCESS;
}

/* next <- lambda + (I - L' Fl)^{-1} (next - lambda). With the step x of the n multipliers on which forces depend, J x = their part of the
 * right-hand side, that of all is next - lambda + L' Fl x. If J is singular, next is unchanged. */
static int newtonStep(CPMech mech, const CPMechState *s, const double *lambda, double *next) {
  CPMechMultipliers *it = &mech->multipliers;
  double *x             = it->step;
  int flag              = cpMechLambdaJac(mech, s, lambda, &it->sum);
  const int n           = flag ? 0 : findDepends(mech);
  if (!flag) flag = makeRoom(mech, n);
  if (!flag) flag = formJ(mech, n);
  if (flag || n == 0 || factor(n, it->J, it->order)) return flag;
  for (int l = 0; l < n; l++) x[l] = next[it->on[l]] - lambda[it->on[l]];
  substitute(n, it->J, it->order, x);
  memset(it->f, 0, (size_t)mech->nu * sizeof *it->f);
  for (int l = 0; l < n; l++) {
    const double *Fl = cpMatAt(&it->sum, 0, it->on[l]);
    for (int j = 0; j < mech->nu; j++) it->f[j] += Fl[j] * x[l];
  }
  flag = cpSaddleSolve(mech->kkt, it->f, NULL, NULL, it->response);
  if (flag) return cpReason(mech->text, flag, "the KKT solver failed");
  for (int i = 0; i < mech->m; i++) next[i] += it->response[i];
  return CP_SUCCESS;
}

/* An iteration that converges, however slowly, does not go so many times without its change becoming the least one so far: what is left
 * is roundoff. */
enum { STALLED = 5 };

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
  double change = 0.0, last = INFINITY, least = INFINITY, *next = it->next, *before = it->before;
  int stalled = 0;
  int flag    = cpMechKktTrial(mech, s, f, b, a, lambda);
  for (int k = 0; !flag && k < CP_MOST_ITERATIONS; k++) {
    double size = 0.0, total = 0.0, moved = 0.0;
    mech->stats.nlambda++;
    memcpy(it->f, f, (size_t)nu * sizeof *f);
    flag = cpMechAddForces(mech, s, 1, lambda, it->f);
    if (!flag)
      flag = cpMechKktTrial(mech, s, it->f, b, a, next); /* next = L(f + f_lambda(lambda)) */
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
     * roundoff of the forces, that of the solver included. */
    const int resolved  = k > 0 && moved <= DBL_EPSILON * total;
    const int rounded   = change <= roundoffOf(mech) * size || moved <= roundoffOf(mech) * total;
    stalled             = change < least ? 0 : stalled + 1;
    const int stagnates = (k > 0 && rounded && !(change < 0.5 * last)) ||
                          (change <= CP_HALF_DIGITS * size && stalled >= STALLED);
    const int converged = resolved || stagnates || change <= CP_ITERATED * size;
    last                = change;
    least               = fmin(least, change);
    if (!converged && it->Fl.S) flag = newtonStep(mech, s, lambda, next);
    memcpy(lambda, next, (size_t)m * sizeof *lambda);
    if (converged) return cpMechKktCheck(mech, s, it->f, b, a);
    if (!flag && !cpAllFinite(lambda, m)) break;
  }
  if (flag) return flag;
  return cpReason(mech->text, -CP_LAMBDA_CONV_FAIL,
                  "at t = %.10g: forces that depend on the multipliers do not converge in %d "
                  "iterations (last change of lambda %.3e)",
                  s->t, CP_MOST_ITERATIONS, change);
}
