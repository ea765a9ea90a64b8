/* Options of CPProjector. */
#include "projector_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

static int missing(const char *function) {
  return cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
}

/* Options of the internal kind only. */
static int internalOnly(CPProjector P, const char *function) {
  if (!P) return missing(function);
  if (P->user_kind)
    return cpReport(&P->log, CP_ILL_INPUT, function,
                    "P has a user-supplied projection: this option is for CPProjectorCreate's");
  return CP_SUCCESS;
}

static int checkLength(CPProjector P, N_Vector v, int length, const char *name,
                       const char *function) {
  if (!cpHasData(v))
    return cpReport(&P->log, CP_ILL_INPUT, function, "%s must be a vector in one memory", name);
  if (N_VGetLength(v) != length)
    return cpReport(&P->log, CP_ILL_INPUT, function, "%s must have length %d, has %ld", name,
                    length, (long)N_VGetLength(v));
  return CP_SUCCESS;
}

/* Replaces *copy by the entries of v [length], or by NULL if v is NULL. */
static int replaceCopy(CPProjector P, double **copy, N_Vector v, int length, const char *function) {
  double *values = NULL;
  if (v) {
    values = malloc((size_t)length * sizeof *values);
    if (!values) return cpReport(&P->log, CP_MEM_FAIL, function, "no memory");
    memcpy(values, N_VGetArrayPointer(v), (size_t)length * sizeof *values);
  }
  free(*copy);
  *copy = values;
  P->revision++;
  return CP_SUCCESS;
}

int CPProjectorSetUserData(CPProjector P, void *user_data) {
  if (!P) return missing(__func__);
  P->user_data = user_data;
  P->revision++; /* what was computed with the other data is not to be used again */
  return CP_SUCCESS;
}

int CPProjectorSetErrHandlerFn(CPProjector P, CPErrHandlerFn handler, void *data) {
  if (!P) return missing(__func__);
  P->log.handler = handler;
  P->log.data    = data;
  return CP_SUCCESS;
}

int CPProjectorSetJacFn(CPProjector P, CPConstraintJacFn jac, SUNMatrix G_tmpl) {
  int flag = internalOnly(P, __func__);
  if (flag) return flag;
  if (jac && !G_tmpl)
    return cpReport(&P->log, CP_ILL_INPUT, __func__, "G_tmpl must not be NULL with a jac");
  if (G_tmpl && SUNMatGetID(G_tmpl) != SUNMATRIX_DENSE)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "G_tmpl must be a dense matrix (type %d), is of type %d", SUNMATRIX_DENSE,
                    (int)SUNMatGetID(G_tmpl));
  if (G_tmpl && (SUNDenseMatrix_Rows(G_tmpl) != P->m || SUNDenseMatrix_Columns(G_tmpl) != P->n))
    return cpReport(&P->log, CP_ILL_INPUT, __func__, "G_tmpl must be %d x %d, is %ld x %ld", P->m,
                    P->n, (long)SUNDenseMatrix_Rows(G_tmpl), (long)SUNDenseMatrix_Columns(G_tmpl));
  P->jac = jac;
  if (!P->levels_given) P->nlevels = 0;
  P->revision++;
  return CP_SUCCESS;
}

/* Whole numbers from 0 to CP_MAX_LEVELS - 1; largest: in, out. */
static int checkLevels(CPProjector P, N_Vector v, int length, const char *name, int *largest) {
  const char *function = "CPProjectorSetLevels";
  int flag             = checkLength(P, v, length, name, function);
  if (flag) return flag;
  const sunrealtype *level = N_VGetArrayPointer(v);
  for (int i = 0; !flag && i < length; i++) {
    if (!(level[i] >= 0.0 && level[i] < CP_MAX_LEVELS && level[i] == floor(level[i])))
      return cpReport(&P->log, CP_ILL_INPUT, function,
                      "%s must be whole numbers from 0 to %d: %s[%d] = %g", name, CP_MAX_LEVELS - 1,
                      name, i, level[i]);
    if (level[i] > *largest) *largest = (int)level[i];
  }
  return flag;
}

static int count(N_Vector v, int length, int l) {
  const sunrealtype *level = N_VGetArrayPointer(v);
  int number               = 0;
  for (int i = 0; i < length; i++) number += (int)level[i] == l;
  return number;
}

/* Rows need columns of their level to move. A level may have no rows: it holds its columns
 * (positions under velocity constraints only); and more rows than columns, if they are redundant.
 */
static int checkCounts(CPProjector P, N_Vector row_level, N_Vector col_level, int largest) {
  for (int l = 0; l <= largest; l++)
    if (count(row_level, P->m, l) > 0 && count(col_level, P->n, l) == 0)
      return cpReport(&P->log, CP_ILL_INPUT, "CPProjectorSetLevels",
                      "row_level has %d rows of level %d, col_level no columns",
                      count(row_level, P->m, l), l);
  return CP_SUCCESS;
}

int CPProjectorSetLevels(CPProjector P, N_Vector row_level, N_Vector col_level) {
  int largest = 0, flag = internalOnly(P, __func__);
  if (flag) return flag;
  if (!row_level && !col_level) {
    P->nlevels = P->levels_given = 0;
    P->revision++;
    return CP_SUCCESS;
  }
  if (!row_level || !col_level)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "%s is NULL and %s is not: give both, or neither",
                    row_level ? "col_level" : "row_level", row_level ? "row_level" : "col_level");
  flag = checkLevels(P, row_level, P->m, "row_level", &largest);
  if (!flag) flag = checkLevels(P, col_level, P->n, "col_level", &largest);
  if (!flag) flag = checkCounts(P, row_level, col_level, largest);
  if (flag) return flag;
  for (int i = 0; i < P->m; i++) P->row_level[i] = (int)N_VGetArrayPointer(row_level)[i];
  for (int j = 0; j < P->n; j++) P->col_level[j] = (int)N_VGetArrayPointer(col_level)[j];
  P->nlevels      = largest + 1;
  P->levels_given = 1;
  P->revision++;
  return CP_SUCCESS;
}

int CPProjectorGetLevels(CPProjector P, N_Vector row_level, N_Vector col_level) {
  int flag = internalOnly(P, __func__);
  if (flag) return flag;
  if (P->nlevels == 0)
    return cpReport(&P->log, CP_NO_INIT, __func__, "levels are detected at the first projection");
  if (row_level) flag = checkLength(P, row_level, P->m, "row_level", __func__);
  if (!flag && col_level) flag = checkLength(P, col_level, P->n, "col_level", __func__);
  if (flag) return flag;
  for (int i = 0; row_level && i < P->m; i++) N_VGetArrayPointer(row_level)[i] = P->row_level[i];
  for (int j = 0; col_level && j < P->n; j++) N_VGetArrayPointer(col_level)[j] = P->col_level[j];
  return CP_SUCCESS;
}

int CPProjectorSetLinearSolver(CPProjector P, CPLinSol type) {
  int flag = internalOnly(P, __func__);
  if (flag) return flag;
  if (type < CP_LINSOL_AUTO || type > CP_LINSOL_QRP)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "type must be one of CP_LINSOL_AUTO ... CP_LINSOL_QRP, is %d", (int)type);
  P->linsol = type;
  P->revision++;
  return CP_SUCCESS;
}

int CPProjectorSetNorm(CPProjector P, CPNorm norm) {
  int flag = internalOnly(P, __func__);
  if (flag) return flag;
  if (norm != CP_NORM_ERROR && norm != CP_NORM_L2)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "norm must be CP_NORM_ERROR or CP_NORM_L2, is %d", (int)norm);
  P->norm = norm;
  P->revision++;
  return CP_SUCCESS;
}

int CPProjectorSetConstraintTol(CPProjector P, N_Vector ctol) {
  int flag = internalOnly(P, __func__);
  if (!flag && ctol) flag = checkLength(P, ctol, P->m, "ctol", __func__);
  if (flag) return flag;
  for (int i = 0; ctol && i < P->m; i++) {
    const sunrealtype tol = N_VGetArrayPointer(ctol)[i];
    if (!(tol > 0.0) || isinf(tol))
      return cpReport(&P->log, CP_ILL_INPUT, __func__,
                      "ctol must be positive and finite: ctol[%d] = %g", i, tol);
  }
  return replaceCopy(P, &P->ctol, ctol, P->m, __func__);
}

int CPProjectorSetViolationFn(CPProjector P, CPViolationFn norm) {
  if (!P) return missing(__func__);
  P->violation = norm;
  return CP_SUCCESS;
}

int CPProjectorSetEps(CPProjector P, sunrealtype eps) {
  if (!P) return missing(__func__);
  if (!(eps >= 0.0 && eps <= 1.0))
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "eps must be in (0, 1], or 0 for the default: eps = %g", eps);
  P->eps = eps > 0.0 ? eps : CP_EPS_DEFAULT;
  return CP_SUCCESS;
}

int CPProjectorSetMaxIters(CPProjector P, int maxit) {
  int flag = internalOnly(P, __func__);
  if (flag) return flag;
  if (maxit < 0)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "maxit must be positive, or 0 for the default: maxit = %d", maxit);
  P->maxiters = maxit ? maxit : CP_MAXITERS_DEFAULT;
  return CP_SUCCESS;
}

int CPProjectorSetJacFrequency(CPProjector P, long int nproj) {
  int flag = internalOnly(P, __func__);
  if (flag) return flag;
  if (nproj < 0)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "nproj must be positive, or 0 for the default: nproj = %ld", nproj);
  P->jacfreq = nproj ? nproj : CP_JACFREQ_DEFAULT;
  return CP_SUCCESS;
}

int CPProjectorSetFixed(CPProjector P, N_Vector id) {
  int flag = internalOnly(P, __func__);
  if (!flag && id) flag = checkLength(P, id, P->n, "id", __func__);
  if (flag) return flag;
  int bad = id ? cpFirstNonFinite(id) : -1;
  if (bad >= 0)
    return cpReport(&P->log, CP_ILL_INPUT, __func__, "id must be finite: id[%d] = %g", bad,
                    N_VGetArrayPointer(id)[bad]);
  return replaceCopy(P, &P->free, id, P->n, __func__);
}
