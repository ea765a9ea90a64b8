/* The linear operators at one state: projectors in the kinetic metric, the Delassus operator
 * S = A M^{-1} A^T, and the effective mass S^+.
 *
 * Velocities F of FULL motions are not unknowns: for the constraints their masses are infinite. S
 * contains neither columns F of A nor rows and columns F of M, and tangent vectors have x_F = 0:
 *
 *   P = Z (Z^T M Z)^{-1} Z^T M,    Z a basis of { x: A x = 0, x_F = 0 } */
#include "actions.h"
#include "cpodes/mechanics/functions.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Opens the state for an argument x, which must not be NULL. Returns 0, or a code that has been
 * reported. */
static int open(CPAction *act, CPMech mech, sunrealtype t, N_Vector y, const void *x,
                const char *name, const char *function) {
  *act = (CPAction){.mech = NULL};
  if (!mech) return cpReport(NULL, CP_MEM_NULL, function, "mech must not be NULL");
  if (!x) return cpRefuse(&mech->log, function, "%s must not be NULL", name);
  return cpActionOpen(act, mech, t, y, function);
}

static int checkArgument(CPMech mech, const sunrealtype *x, int length) {
  for (int i = 0; i < length; i++)
    if (!isfinite(x[i]))
      return cpReason(mech->text, CP_ILL_INPUT, "x must be finite: x[%d] = %g", i, x[i]);
  return CP_SUCCESS;
}

/* result <- d, unless the numbers have overflowed */
static int giveResult(CPAction *act, const double *d, int length, sunrealtype *result) {
  const int flag = cpMechChecked(act->mech, 0, act->s.t, "result", d, length);
  if (!flag) memcpy(result, d, (size_t)length * sizeof *d);
  return flag;
}

/* ---- projectors ---- */

/*   (P - I) x = d:  M d + A^T mu = 0,  A (x + d) = 0,  d_F = -x_F
 *   P^T x = M d:    M d + A^T mu = x (free velocities),  A d = 0,  d_F = 0 */
static int apply(CPAction *act, CPSpace which, sunrealtype *x) {
  const CPMech mech = act->mech;
  double *d = act->d, *r = act->r, *w = act->w;
  cpActionRows(act, 1);
  int flag = checkArgument(mech, x, mech->nu);
  if (!flag) flag = cpActionFactor(act);
  if (flag) return flag;
  if (which == CP_COTANGENT) {
    memset(d, 0, (size_t)mech->nu * sizeof *d);
    flag = cpActionSolve(act, x, NULL, d, act->mu);
    if (!flag && mech->motions->nfull > 0) flag = cpActionMass(act, d, w);
    else if (!flag) flag = cpActionTransposedTimes(act, act->mu, w);
    for (int j = 0; j < mech->nu; j++) d[j] = mech->motions->nfull > 0 ? w[j] : x[j] - w[j];
    return flag ? flag : giveResult(act, d, mech->nu, x);
  }
  flag = cpActionTimes(act, x, r);
  for (int i = 0; i < mech->m; i++) r[i] = -r[i];
  for (int j = 0; j < mech->nu; j++) d[j] = -x[j];
  if (!flag) flag = cpActionSolve(act, NULL, r, d, act->mu);
  for (int j = 0; j < mech->nu; j++) d[j] = which == CP_TANGENT ? x[j] + d[j] : -d[j];
  return flag ? flag : giveResult(act, d, mech->nu, x);
}

int CPMechProject(CPMech mech, CPSpace space, sunrealtype t, N_Vector y, sunrealtype *x) {
  CPAction act;
  int flag = open(&act, mech, t, y, x, "x", __func__);
  if (!flag && space != CP_TANGENT && space != CP_NORMAL && space != CP_COTANGENT)
    flag = cpRefuse(&mech->log, __func__, "space must be a CPSpace, is %d", (int)space);
  if (!flag) flag = cpMechReport(mech, apply(&act, space, x), __func__);
  cpActionClose(&act);
  return flag;
}

/* ---- Delassus operator S and effective mass S^+ ---- */

typedef enum { DELASSUS, EFFECTIVE_MASS } Operator;

/* Makes factors for the effective mass with all active rows. Those for the Delassus operator are
 * factors of M alone, since no row takes part before; the active rows then take part in the
 * products. */
static int factor(CPAction *act, Operator which) {
  if (which == EFFECTIVE_MASS) cpActionRows(act, 0);
  const int flag = cpActionFactor(act);
  if (which == DELASSUS) cpActionRows(act, 0);
  return flag;
}

/* S x = A M^{-1} A^T x, with factors of M alone. S^+ x is computed from the part Pi x of x in the
 * range of A (free velocities):
 *
 *   Pi x    M d + A^T mu = A^T x,  A d = 0  has d = 0, and mu is the vector of minimum norm with
 *           A^T mu = A^T x. With operators, x - Pi x is the residual of the least-squares problem.
 *   S^+ x   M d + A^T mu = 0,  A d = Pi x  has mu = -S^+ x */
static int times(CPAction *act, Operator which, const double *x, double *result) {
  const CPMech mech  = act->mech;
  const size_t of_nu = (size_t)mech->nu * sizeof *act->d;
  int flag           = CP_SUCCESS;
  if (which == DELASSUS) {
    flag = cpActionTransposedTimes(act, x, act->w);
    memset(act->d, 0, of_nu);
    if (!flag && mech->operators) flag = cpActionInverseMass(act, act->w, act->d);
    else if (!flag) flag = cpActionSolve(act, act->w, NULL, act->d, act->mu);
    return flag ? flag : cpActionTimes(act, act->d, result);
  }
  double *Pix = act->x, *rest = act->r;
  for (int i = 0; i < mech->m; i++) rest[i] = Pix[i] = act->out[i] ? 0.0 : x[i];
  if (mech->operators) {
    flag = cpActionCG(act, rest, act->d, act->mu);
    for (int i = 0; i < mech->m; i++) Pix[i] -= rest[i];
  } else if (mech->kkt->dependent >= 0) {
    flag = cpActionTransposedTimes(act, Pix, act->w);
    memset(act->d, 0, of_nu);
    if (!flag) flag = cpActionSolve(act, act->w, NULL, act->d, Pix);
  }
  memset(act->d, 0, of_nu);
  if (!flag) flag = cpActionSolve(act, NULL, Pix, act->d, act->mu);
  for (int i = 0; !flag && i < mech->m; i++) result[i] = -act->mu[i];
  return flag;
}

/* Computes S [m m] column by column. As entries (i, j) and (j, i) differ by roundoff, their mean is
 * taken. */
static int columns(CPAction *act, Operator which, double *S) {
  const size_t m = (size_t)act->mech->m;
  double *e, *all;
  CP_NEW(&act->arena, e, m);
  CP_NEW(&act->arena, all, m * m);
  if (!all) return cpReason(act->mech->text, CP_MEM_FAIL, "out of memory");
  int flag = factor(act, which);
  for (size_t j = 0; !flag && j < m; j++) {
    e[j] = 1.0;
    flag = times(act, which, e, all + j * m);
    e[j] = 0.0;
  }
  for (size_t j = 0; !flag && j < m; j++)
    for (size_t i = 0; i < m; i++) S[i + j * m] = 0.5 * (all[i + j * m] + all[j + i * m]);
  return flag;
}

static int matrix(CPMech mech, sunrealtype t, N_Vector y, Operator which, SUNMatrix S,
                  const char *function) {
  CPAction act;
  if (SUNMatGetID(S) != SUNMATRIX_DENSE || SUNDenseMatrix_Rows(S) != mech->m ||
      SUNDenseMatrix_Columns(S) != mech->m)
    return cpRefuse(&mech->log, function, "the matrix must be dense, %d x %d", mech->m, mech->m);
  int flag = cpActionOpen(&act, mech, t, y, function);
  if (!flag) flag = cpMechReport(mech, columns(&act, which, SUNDenseMatrix_Data(S)), function);
  cpActionClose(&act);
  return flag;
}

int CPMechDelassus(CPMech mech, sunrealtype t, N_Vector y, SUNMatrix S, SUNMatrix W) {
  int flag = cpMechCheckState(mech, y, __func__);
  if (flag) return flag;
  if (!S && !W) return cpRefuse(&mech->log, __func__, "S and W must not both be NULL");
  if (S) flag = matrix(mech, t, y, DELASSUS, S, __func__);
  return flag || !W ? flag : matrix(mech, t, y, EFFECTIVE_MASS, W, __func__);
}

int CPMechSolve(CPMech mech, sunrealtype t, N_Vector y, int n, const sunrealtype *f,
                const sunrealtype *r, sunrealtype *d, sunrealtype *mu) {
  CPAction act;
  int flag = open(&act, mech, t, y, d, "d", __func__);
  if (!flag && n < 0) flag = cpRefuse(&mech->log, __func__, "n must be >= 0: n = %d", n);
  else if (!flag) {
    const size_t nu = (size_t)mech->nu, m = (size_t)mech->m;
    cpActionRows(&act, 0);
    flag = cpActionFactor(&act);
    for (size_t k = 0; !flag && k < (size_t)n; k++) {
      if (f) flag = checkArgument(mech, f + k * nu, mech->nu);
      if (!flag && r) flag = checkArgument(mech, r + k * m, mech->m);
      memset(act.d, 0, nu * sizeof *act.d);
      if (!flag)
        flag = cpActionSolve(&act, f ? f + k * nu : NULL, r ? r + k * m : NULL, act.d, act.mu);
      if (flag) break;
      memcpy(d + k * nu, act.d, nu * sizeof *d);
      if (mu) memcpy(mu + k * m, act.mu, m * sizeof *mu);
    }
    flag = cpMechReport(mech, flag, __func__);
  }
  cpActionClose(&act);
  return flag;
}
