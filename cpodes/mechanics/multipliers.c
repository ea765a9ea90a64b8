/* Forces that depend on the multipliers (joint friction, wheel on rail):
 *
 *   lambda = L(f + f_lambda(lambda)),
 *
 * L the map from forces to multipliers that the KKT system is. Newton's iteration where the
 * derivative Fl = df_lambda/dlambda is given,
 *
 *   (I - L' Fl) (lambda_new - lambda) = L(f + f_lambda(lambda)) - lambda,
 *
 * else fixed point iteration. It starts from the multipliers without these forces, so that the
 * result depends on the state alone. */
#include "mechanics_impl.h"

#include "cpodes/saddle/lapack.h"

#include <math.h>
#include <string.h>

static int hasConverged(CPMech mech, const double *before, const double *after, double *change) {
  double size = 0.0;
  *change     = 0.0;
  for (int i = 0; i < mech->m; i++) {
    size    = fmax(size, fabs(after[i]));
    *change = fmax(*change, fabs(after[i] - before[i]));
  }
  return *change <= mech->multipliers.rtol * size + mech->multipliers.atol;
}

/* a, image <- KKT solution for the forces at lambda */
static int image(CPMech mech, const CPMechState *s, const double *f, const double *b,
                 const double *lambda, double *a, double *image) {
  double *total = mech->multipliers.f;
  memcpy(total, f, (size_t)mech->nu * sizeof *total);
  const int flag = cpMechAddLambdaForces(mech, s, lambda, total);
  return flag ? flag : cpMechKkt(mech, s->t, total, b, a, image);
}

/* ---- Newton ---- */

static int derivative(CPMech mech, const CPMechState *s, const double *lambda) {
  int i = 0, j = 0;
  cpUserMatClear(&mech->multipliers.Fl);
  int flag = mech->model.lambda_jac(s->t, s->q, s->u, s->z, lambda, mech->multipliers.Fl.S,
                                    mech->user_data);
  flag     = cpMechResult(mech, flag, s->t, "lambda_jac");
  if (!flag && cpUserMatTake(&mech->multipliers.Fl, &i, &j))
    flag = cpReason(mech->text, -CP_MECH_NONFINITE,
                    "at t = %.15g: entry (%d, %d) of Fl is not finite", s->t, i, j);
  return flag;
}

/* Column k of J = I - L' Fl: the identity's where no force depends on lambda_k, and for motions, which Fl
 * has no columns for. */
static int column(CPMech mech, int k, double *a, double *J) {
  double *out = J + (size_t)k * (size_t)mech->m, *f = mech->multipliers.f;
  int zero = 1;
  for (int j = 0; k < mech->na && j < mech->nu; j++) {
    f[j] = mech->is_full[j] ? 0.0 : *cpMatAt(&mech->multipliers.Fl.A, j, k) /* dense */;
    if (f[j] != 0.0) zero = 0;
  }
  memset(out, 0, (size_t)mech->m * sizeof *out);
  const int flag = zero ? CP_SUCCESS : cpSaddleSolve(mech->kkt, f, mech->multipliers.zero, a, out);
  if (flag) return cpReason(mech->text, flag, "the KKT solver failed");
  for (int i = 0; i < mech->m; i++) out[i] = (i == k) - out[i];
  return CP_SUCCESS;
}

/* next <- lambda + J^{-1} (next - lambda); a: workspace. A singular J is left alone. */
static int newton(CPMech mech, const CPMechState *s, const double *lambda, double *a, double *next) {
  const int m = mech->m, one = 1;
  int info = 0, flag = derivative(mech, s, lambda);
  for (int k = 0; !flag && k < m; k++) flag = column(mech, k, a, mech->multipliers.J);
  if (flag) return flag;
  double *d = mech->multipliers.step;
  for (int i = 0; i < m; i++) d[i] = next[i] - lambda[i];
  F77(dgesv)(&m, &one, mech->multipliers.J, &m, mech->multipliers.pivot, d, &m, &info);
  for (int i = 0; info == 0 && i < m; i++) next[i] = lambda[i] + d[i];
  return CP_SUCCESS;
}

static int noConvergence(CPMech mech, sunrealtype t, double change) {
  return cpReason(mech->text, -CP_LAMBDA_CONV_FAIL,
                  "at t = %.15g: forces that depend on the multipliers do not converge in %d "
                  "iterations (last change of lambda %.3e)",
                  t, mech->multipliers.maxiters, change);
}

int cpMechIterate(CPMech mech, const CPMechState *s, const double *f, const double *b, double *a,
                  double *lambda) {
  double change = 0.0, *next = mech->multipliers.next;
  int flag = cpMechKkt(mech, s->t, f, b, a, lambda);
  for (int k = 0; !flag && k < mech->multipliers.maxiters; k++) {
    mech->stats.nlambda++;
    flag = image(mech, s, f, b, lambda, a, next);
    if (flag) return flag;
    const int done = hasConverged(mech, lambda, next, &change);
    if (!done && mech->multipliers.Fl.S) flag = newton(mech, s, lambda, mech->multipliers.a, next);
    memcpy(lambda, next, (size_t)mech->m * sizeof *lambda);
    if (done) return flag;
    if (!flag && !cpAllFinite(lambda, mech->m)) break;
  }
  return flag ? flag : noConvergence(mech, s->t, change);
}
