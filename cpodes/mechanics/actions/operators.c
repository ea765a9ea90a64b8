/* The linear operators of one state: projectors of the kinetic metric, the Delassus operator
 * S = A M^{-1} A^T, and the effective mass S^+.
 *
 * Velocities F of FULL motions are no unknowns: seen from the constraints their masses are infinite.
 * S has neither columns F of A nor rows and columns F of M, and tangent vectors have x_F = 0:
 *
 *   P = Z (Z^T M Z)^{-1} Z^T M,    Z a basis of { x: A x = 0, x_F = 0 }
 */
#include "actions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Opens the state for an argument x; 0, or the reported code. */
static int open(CPAction *act, CPMech mech, sunrealtype t, N_Vector y, const void *x,
                const char *name, const char *function) {
  *act = (CPAction){0};
  if (!mech) return cpReport(NULL, CP_MEM_NULL, function, "mech must not be NULL");
  if (!x) return cpReport(&mech->log, CP_ILL_INPUT, function, "%s must not be NULL", name);
  return cpActionOpen(act, mech, t, y, function);
}

static int checkArgument(CPMech mech, const sunrealtype *x, int length) {
  for (int i = 0; i < length; i++)
    if (!isfinite(x[i]))
      return cpReason(mech->text, CP_ILL_INPUT, "x must be finite: x[%d] = %g", i, x[i]);
  return CP_SUCCESS;
}

/* ---- projectors ---- */

/* act->d = (P - I) x:  M d + A^T mu = 0,  A (x + d) = 0,  d_F = -x_F */
static int changeToTangent(CPAction *act, const sunrealtype *x) {
  const CPMech mech = act->mech;
  cpActionRows(act, 1);
  int flag = checkArgument(mech, x, mech->nu);
  if (!flag) flag = cpActionFactor(act);
  if (!flag) flag = cpActionTimes(act, x, act->r);
  for (int i = 0; i < mech->m; i++) act->r[i] = -act->r[i];
  for (int j = 0; j < mech->nu; j++) act->d[j] = -x[j];
  return flag ? flag : cpActionSolve(act, NULL, act->r, act->d, act->mu);
}

int CPMechProjectTangent(CPMech mech, sunrealtype t, N_Vector y, sunrealtype *x) {
  CPAction act;
  int flag = open(&act, mech, t, y, x, "x", __func__);
  if (!flag) flag = cpMechReport(mech, changeToTangent(&act, x), __func__);
  for (int j = 0; !flag && j < mech->nu; j++) x[j] += act.d[j];
  cpActionClose(&act);
  return flag;
}

int CPMechProjectNormal(CPMech mech, sunrealtype t, N_Vector y, sunrealtype *x) {
  CPAction act;
  int flag = open(&act, mech, t, y, x, "x", __func__);
  if (!flag) flag = cpMechReport(mech, changeToTangent(&act, x), __func__);
  for (int j = 0; !flag && j < mech->nu; j++) x[j] = -act.d[j];
  cpActionClose(&act);
  return flag;
}

/* act->w = P^T x = M d,  M d + A^T mu = x (free velocities),  A d = 0,  d_F = 0 */
static int cotangent(CPAction *act, const sunrealtype *x) {
  const CPMech mech = act->mech;
  cpActionRows(act, 1);
  memset(act->d, 0, (size_t)mech->nu * sizeof *act->d);
  int flag = checkArgument(mech, x, mech->nu);
  if (!flag) flag = cpActionFactor(act);
  if (!flag) flag = cpActionSolve(act, x, NULL, act->d, act->mu);
  if (!flag && mech->nfull > 0) return cpActionMass(act, act->d, act->w);
  if (!flag) flag = cpActionTransposedTimes(act, act->mu, act->w);
  for (int j = 0; !flag && j < mech->nu; j++) act->w[j] = x[j] - act->w[j];
  return flag;
}

int CPMechProjectCotangent(CPMech mech, sunrealtype t, N_Vector y, sunrealtype *x) {
  CPAction act;
  int flag = open(&act, mech, t, y, x, "x", __func__);
  if (!flag) flag = cpMechReport(mech, cotangent(&act, x), __func__);
  if (!flag) memcpy(x, act.w, (size_t)mech->nu * sizeof *x);
  cpActionClose(&act);
  return flag;
}

/* ---- Delassus operator ---- */

/* Of M alone, as no row takes part so far; rows do in the products. */
static int factorMass(CPAction *act) {
  const int flag = cpActionFactor(act);
  cpActionRows(act, 0);
  return flag;
}

/* Sx = A M^{-1} A^T x */
static int delassusTimes(CPAction *act, const double *x, double *Sx) {
  const CPMech mech = act->mech;
  int flag          = cpActionTransposedTimes(act, x, act->w);
  memset(act->d, 0, (size_t)mech->nu * sizeof *act->d);
  if (!flag && mech->operators) flag = cpActionInverseMass(act, act->w, act->d);
  else if (!flag) flag = cpActionSolve(act, act->w, NULL, act->d, act->mu);
  return flag ? flag : cpActionTimes(act, act->d, Sx);
}

/* ---- effective mass ---- */

static int factorAll(CPAction *act) {
  cpActionRows(act, 0);
  return cpActionFactor(act);
}

/* act->x = Pi x, the part of x in the range of A (free velocities):  M d + A^T mu = A^T x,  A d = 0
 * has d = 0, and mu is the vector of minimum norm with A^T mu = A^T x. */
static int rangePart(CPAction *act, const double *x) {
  const CPMech mech = act->mech;
  for (int i = 0; i < mech->m; i++) act->x[i] = act->out[i] ? 0.0 : x[i];
  if (mech->kkt->dependent < 0) return CP_SUCCESS;
  int flag = cpActionTransposedTimes(act, act->x, act->w);
  memset(act->d, 0, (size_t)mech->nu * sizeof *act->d);
  if (!flag) flag = cpActionSolve(act, act->w, NULL, act->d, act->x);
  return flag;
}

/* The same by products: what is left of the least-squares problem contradicts. */
static int rangePartByProducts(CPAction *act, const double *x) {
  const int m = act->mech->m;
  for (int i = 0; i < m; i++) act->r[i] = act->x[i] = act->out[i] ? 0.0 : x[i];
  const int flag = cpActionCG(act, act->r, act->d, act->mu);
  for (int i = 0; i < m; i++) act->x[i] -= act->r[i];
  return flag;
}

/* Wx = S^+ x:  M d + A^T mu = 0,  A d = Pi x  has  mu = -S^+ x */
static int effectiveMassTimes(CPAction *act, const double *x, double *Wx) {
  const CPMech mech = act->mech;
  int flag          = mech->operators ? rangePartByProducts(act, x) : rangePart(act, x);
  memset(act->d, 0, (size_t)mech->nu * sizeof *act->d);
  if (!flag) flag = cpActionSolve(act, NULL, act->x, act->d, act->mu);
  for (int i = 0; !flag && i < mech->m; i++) Wx[i] = -act->mu[i];
  return flag;
}

/* ---- both, as products and as matrices ---- */

typedef struct {
  int (*factor)(CPAction *act);
  int (*times)(CPAction *act, const double *x, double *y);
} SymmetricOperator;

static const SymmetricOperator delassus      = {factorMass, delassusTimes};
static const SymmetricOperator effectiveMass = {factorAll, effectiveMassTimes};

/* act->r = operator x */
static int product(CPAction *act, const SymmetricOperator *op, const sunrealtype *x) {
  int flag = checkArgument(act->mech, x, act->mech->m);
  if (!flag) flag = op->factor(act);
  return flag ? flag : op->times(act, x, act->r);
}

static int times(CPMech mech, sunrealtype t, N_Vector y, const SymmetricOperator *op,
                 const sunrealtype *x, sunrealtype *result, const char *function) {
  CPAction act;
  int flag = open(&act, mech, t, y, x && result ? x : NULL, x ? "the result" : "x", function);
  if (!flag) flag = cpMechReport(mech, product(&act, op, x), function);
  if (!flag) memcpy(result, act.r, (size_t)mech->m * sizeof *result);
  cpActionClose(&act);
  return flag;
}

static int checkMatrix(CPMech mech, SUNMatrix S, const char *function) {
  if (SUNMatGetID(S) == SUNMATRIX_DENSE && SUNDenseMatrix_Rows(S) == mech->m &&
      SUNDenseMatrix_Columns(S) == mech->m)
    return CP_SUCCESS;
  return cpReport(&mech->log, CP_ILL_INPUT, function,
                  "the matrix must be dense, %d x %d (CPMechGetNumMultipliers)", mech->m, mech->m);
}

/* S [m m]: column by column. Roundoff makes (i, j) differ from (j, i): their mean is taken. */
static int columns(CPAction *act, const SymmetricOperator *op, double *e, double *S) {
  const size_t m = (size_t)act->mech->m;
  int flag       = op->factor(act);
  for (size_t j = 0; !flag && j < m; j++) {
    e[j] = 1.0;
    flag = op->times(act, e, S + j * m);
    e[j] = 0.0;
  }
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < j; i++)
      S[i + j * m] = S[j + i * m] = 0.5 * (S[i + j * m] + S[j + i * m]);
  return flag;
}

static int matrix(CPMech mech, sunrealtype t, N_Vector y, const SymmetricOperator *op, SUNMatrix S,
                  const char *function) {
  CPAction act;
  int flag = open(&act, mech, t, y, S, "the matrix", function);
  if (!flag) flag = checkMatrix(mech, S, function);
  const size_t m = flag ? 0 : (size_t)mech->m;
  double *memory = flag ? NULL : calloc(m * m + m + 1, sizeof *memory);
  if (!flag && !memory) flag = cpReport(&mech->log, CP_MEM_FAIL, function, "out of memory");
  if (!flag) flag = cpMechReport(mech, columns(&act, op, memory, memory + m), function);
  if (!flag && m > 0) memcpy(SUNDenseMatrix_Data(S), memory + m, m * m * sizeof *memory);
  free(memory);
  cpActionClose(&act);
  return flag;
}

int CPMechDelassus(CPMech mech, sunrealtype t, N_Vector y, SUNMatrix S) {
  return matrix(mech, t, y, &delassus, S, __func__);
}

int CPMechDelassusTimes(CPMech mech, sunrealtype t, N_Vector y, const sunrealtype *x,
                        sunrealtype *Sx) {
  return times(mech, t, y, &delassus, x, Sx, __func__);
}

int CPMechEffectiveMass(CPMech mech, sunrealtype t, N_Vector y, SUNMatrix W) {
  return matrix(mech, t, y, &effectiveMass, W, __func__);
}

int CPMechEffectiveMassTimes(CPMech mech, sunrealtype t, N_Vector y, const sunrealtype *x,
                             sunrealtype *Wx) {
  return times(mech, t, y, &effectiveMass, x, Wx, __func__);
}
