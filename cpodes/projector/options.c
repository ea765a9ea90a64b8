/* Options of CPProjector. */
#include "projector_impl.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks that P exists and takes such options (CPProjectorKind.takes; 0: all projectors do). */
static int check(CPProjector P, int takes, const char *function) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
  const int flag = cpIdle(&P->log, function);
  if (flag || ((int)P->kind->takes & takes) == takes) return flag;
  return cpReport(&P->log, CP_NOT_SUPPORTED, function, "%s",
                  P->kind->refusal
                      ? P->kind->refusal
                      : "P has products alone (CPProjectorCreateProducts), no matrices");
}

int cpCheckLike(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, const char *function) {
  if (!tmpl)
    return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                    "%s is for the rows of a constraint function, and there is none", name);
  if (P->in_memory && !cpHasData(v))
    return cpRefuse(&P->log, function, "%s must be a vector in one memory", name);
  if (N_VGetLength(v) != N_VGetLength(tmpl))
    return cpRefuse(&P->log, function, "%s must have length %ld, has %ld", name,
                    (long)N_VGetLength(tmpl), (long)N_VGetLength(v));
  return CP_SUCCESS;
}

int cpCheckEntries(CPProjector P, N_Vector v, double least, const char *name, const char *function) {
  char what[48] = "finite";
  if (least > 0.0 ? cpVectorAtLeast(v, least)
                  : cpVectorFinite(v) && (least < 0.0 || N_VMin(v) >= least))
    return CP_SUCCESS;
  const sunrealtype *value  = cpHasData(v) ? N_VGetArrayPointer(v) : NULL;
  const sunindextype length = value ? N_VGetLength(v) : 0;
  if (least == CP_POSITIVE) snprintf(what, sizeof what, "positive and finite");
  else if (least > 0.0) snprintf(what, sizeof what, "finite and at least %g", least);
  for (sunindextype i = 0; i < length; i++)
    if (!isfinite(value[i]) || !(value[i] >= least))
      return cpRefuse(&P->log, function, "%s must be %s: %s[%ld] = %g", name, what, name, (long)i,
                      value[i]);
  return cpRefuse(&P->log, function, "%s must be %s", name, what);
}

/* To be called after a change of an option. changedValues: values are computed anew; changedSolver:
 * also levels and solvers are set up anew; changedShape: also the storage is created anew, and
 * levels are detected anew, because the templates or the rows have changed. */
static int changedValues(CPProjector P) {
  P->options.contents++;
  return CP_SUCCESS;
}

static int changedSolver(CPProjector P) {
  P->revision++;
  return changedValues(P);
}

static int changedShape(CPProjector P) {
  P->shape++;
  if (!P->has_levels) P->nlevels = 0;
  return changedSolver(P);
}

/* Replaces *copy by a copy of the entries of mask that this process has, or by NULL if mask is NULL. */
static int replaceMask(CPProjector P, int **copy, const int *mask, int length, const char *function) {
  if (mask && length < 0)
    return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                    "these vectors give no access to their entries");
  int *own = mask ? malloc(((size_t)length + 1) * sizeof *own) : NULL;
  if (mask && !own) return cpReport(&P->log, CP_MEM_FAIL, function, "no memory");
  if (mask) memcpy(own, mask, (size_t)length * sizeof *own);
  free(*copy);
  *copy = own;
  return CP_SUCCESS;
}

/* ---- the solver and limits ---- */

int CPProjectorSetUserData(CPProjector P, void *user_data) {
  const int flag = check(P, 0, __func__);
  if (flag) return flag;
  P->user.data = user_data;
  return changedValues(P); /* results computed with the old data are not to be used again */
}

int CPProjectorSetLinearSolver(CPProjector P, CPLinSol type) {
  int flag = check(P, CP_TAKES_SOLVER, __func__);
  if (flag) return flag;
  if (type < CP_LINSOL_AUTO || type > CP_LINSOL_KKT)
    return cpRefuse(&P->log, __func__,
                    "type must be one of CP_LINSOL_AUTO ... CP_LINSOL_KKT, is %d", (int)type);
  P->options.linsol = type;
  return changedSolver(P);
}

int CPProjectorSetEps(CPProjector P, sunrealtype eps) {
  const int flag = check(P, 0, __func__);
  if (flag) return flag;
  if (!(eps >= 0.0 && eps <= 1.0))
    return cpRefuse(&P->log, __func__, "eps must be in (0, 1], or 0 for the default: eps = %g", eps);
  P->options.eps = eps > 0.0 ? eps : CP_EPS_DEFAULT;
  return CP_SUCCESS;
}

/* ---- functions and templates of G and of the metric, unit norms ---- */

/* Replaces a template by a copy of A if A is sparse, else by NULL. */
static int replaceTemplate(CPProjector P, SUNMatrix *copy, SUNMatrix A, const char *function) {
  const int sparse = A && SUNMatGetID(A) == SUNMATRIX_SPARSE;
  SUNMatrix clone  = sparse ? cpTemplateClone(A, P->ctx) : NULL;
  if (sparse && !clone) return cpReport(&P->log, CP_MEM_FAIL, function, "no memory");
  if (*copy) SUNMatDestroy(*copy);
  *copy = clone;
  return CP_SUCCESS;
}

/* Options that imply a matrix need vectors in one memory. */
static int checkMatrix(CPProjector P, const char *function) {
  int flag = check(P, CP_TAKES_MATRICES, function);
  if (flag || P->in_memory) return flag;
  return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                  "the vectors do not lie in one memory: products are needed "
                  "(CPProjectorCreateProducts)");
}

int CPProjectorSetJacFn(CPProjector P, CPConstraintJacFn jac, SUNMatrix G_tmpl) {
  int flag = checkMatrix(P, __func__);
  if (flag) return flag;
  if (P->mc == 0 && (jac || G_tmpl))
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__, "P has no constraint function");
  if (jac && !G_tmpl) return cpRefuse(&P->log, __func__, "G_tmpl must not be NULL with a jac");
  if (G_tmpl) flag = cpCheckTemplate(&P->log, G_tmpl, P->mc, P->n, "G_tmpl", __func__);
  if (!flag) flag = replaceTemplate(P, &P->G_tmpl, G_tmpl, __func__);
  if (flag) return flag;
  P->user.jac = jac;
  return changedShape(P);
}

/* Makes room for one more norm, by doubling at powers of two. Returns 0 if memory runs out. */
static int growNorms(CPProjector P) {
  const int count = P->nnorms;
  if (count > 0 && (count & (count - 1))) return 1;
  const size_t room = count ? 2 * (size_t)count : 1;
  CPUnitNorm *norms = realloc(P->norms, room * sizeof *norms);
  if (norms) P->norms = norms;
  int *row_level = realloc(P->row_level, ((size_t)P->mc + room) * sizeof *row_level);
  if (row_level) P->row_level = row_level;
  return norms && row_level;
}

/* A norm has the level of its components, which must all have the same level. */
static int checkNormLevel(CPProjector P, int first, int length, const int *level,
                          const char *function) {
  for (int j = first + 1; j < first + length; j++)
    if (level[j] != level[first])
      return cpRefuse(&P->log, function,
                      "the components of a norm must have one level: col_level[%d] = %d, "
                      "col_level[%d] = %d",
                      first, level[first], j, level[j]);
  return CP_SUCCESS;
}

int CPProjectorAddUnitNorm(CPProjector P, sunindextype first, sunindextype length,
                           sunrealtype value) {
  int flag = checkMatrix(P, __func__);
  if (flag) return flag;
  if (first < 0 || length < 1 || length > P->n || first > P->n - length)
    return cpRefuse(&P->log, __func__, "components 0 ... %d are there: first = %ld, length = %ld",
                    P->n - 1, (long)first, (long)length);
  if (!(value > 0.0) || !isnormal(value * value))
    return cpRefuse(&P->log, __func__,
                    "value and its square must be positive and finite: value = %g", value);
  if (P->m == INT_MAX)
    return cpRefuse(&P->log, __func__, "there are %d constraints already", INT_MAX);
  if (P->has_levels) flag = checkNormLevel(P, (int)first, (int)length, P->col_level, __func__);
  if (flag) return flag;
  if (!growNorms(P)) return cpReport(&P->log, CP_MEM_FAIL, __func__, "no memory");
  P->norms[P->nnorms++] = (CPUnitNorm){(int)first, (int)length, value};
  P->row_level[P->m++]  = P->has_levels ? P->col_level[first] : 0;
  return changedShape(P);
}

int CPProjectorSetNorm(CPProjector P, CPNorm norm, CPMetricMatrixFn M, SUNMatrix M_tmpl) {
  const int matrix = norm == CP_NORM_MATRIX;
  int flag         = matrix ? checkMatrix(P, __func__) : check(P, CP_TAKES_ROWS, __func__);
  if (flag) return flag;
  if (norm < CP_NORM_ERROR || norm > CP_NORM_MATRIX)
    return cpRefuse(&P->log, __func__,
                    "norm must be one of CP_NORM_ERROR ... CP_NORM_MATRIX, is %d", (int)norm);
  if (!M != !matrix || !M_tmpl != !matrix)
    return cpRefuse(&P->log, __func__,
                    matrix ? "%s must not be NULL with CP_NORM_MATRIX"
                           : "%s must be NULL without CP_NORM_MATRIX",
                    !M != !matrix ? "M" : "M_tmpl");
  if (matrix) flag = cpCheckMetricTemplate(&P->log, M_tmpl, P->n, __func__);
  if (!flag) flag = replaceTemplate(P, &P->M_tmpl, M_tmpl, __func__);
  if (flag) return flag;
  const int changes = matrix || P->norm == CP_NORM_MATRIX;
  if (changes) P->has_metric = matrix;
  P->norm        = norm;
  P->user.metric = M;
  return changes ? changedShape(P) : changedValues(P);
}

/* ---- rows and components ---- */

/* *largest <- the largest entry of level [length], over all processes that share vectors like tmpl, or -1
 * if one is negative. Returns 0, or a code that has been reported. */
static int largestLevel(CPProjector P, const int *level, int length, N_Vector tmpl, int *largest) {
  N_Vector all = P->in_memory ? NULL : N_VClone(tmpl);
  if (!P->in_memory && !all)
    return cpReport(&P->log, CP_MEM_FAIL, "CPProjectorSetLevels", "no memory");
  sunrealtype *entry = all && length > 0 ? N_VGetArrayPointer(all) : NULL;
  for (int i = 0; i < length; i++) {
    if (entry) entry[i] = level[i];
    if (*largest >= 0 && (level[i] > *largest || level[i] < 0)) *largest = level[i];
  }
  if (!all) return CP_SUCCESS;
  *largest = N_VMin(all) < 0.0 ? -1 : (int)N_VMaxNorm(all);
  N_VDestroy(all);
  return CP_SUCCESS;
}

static int checkLevels(CPProjector P, const int *level, int length, N_Vector tmpl, const char *name,
                       int *most) {
  int largest    = 0;
  const int flag = largestLevel(P, level, length, tmpl, &largest);
  if (flag) return flag;
  if (largest < 0 || largest >= CP_MAX_LEVELS)
    return cpRefuse(&P->log, "CPProjectorSetLevels", "%s must be from 0 to %d, has an entry %d",
                    name, CP_MAX_LEVELS - 1, largest);
  if (largest > *most) *most = largest;
  return CP_SUCCESS;
}

/* Rows need columns of their own level. A level may have no rows: it then holds its columns (positions
 * under velocity constraints only). It may have more rows than columns if they are redundant. */
static int checkColumns(CPProjector P, const int *row_level, const int *col_level) {
  const char *function            = "CPProjectorSetLevels";
  char has_columns[CP_MAX_LEVELS] = {0};
  for (int j = 0; j < P->n; j++) has_columns[col_level[j]] = 1;
  for (int i = 0; i < P->mc; i++)
    if (!has_columns[row_level[i]])
      return cpRefuse(&P->log, function,
                      "row_level[%d] = %d, and col_level has no columns of that level", i,
                      row_level[i]);
  for (int k = 0; k < P->nnorms; k++) {
    const int flag = checkNormLevel(P, P->norms[k].first, P->norms[k].length, col_level, function);
    if (flag) return flag;
  }
  return CP_SUCCESS;
}

int CPProjectorSetLevels(CPProjector P, const int *row_level, const int *col_level) {
  const int given = row_level || col_level;
  int most = 0, flag = check(P, CP_TAKES_ROWS, __func__);
  if (flag) return flag;
  if (given && (!col_level || (!row_level && P->c_tmpl)))
    return cpRefuse(&P->log, __func__, "%s must not be NULL unless both are",
                    col_level ? "row_level" : "col_level");
  if (given && (P->n < 0 || P->mc < 0))
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "these vectors give no access to their entries");
  if (row_level) flag = checkLevels(P, row_level, P->mc, P->c_tmpl, "row_level", &most);
  if (given && !flag) flag = checkLevels(P, col_level, P->n, P->y_tmpl, "col_level", &most);
  if (given && !flag && P->in_memory) flag = checkColumns(P, row_level, col_level);
  if (flag) return flag;
  P->has_levels = given;
  P->nlevels    = given ? most + 1 : 0;
  for (int i = 0; row_level && i < P->mc; i++) P->row_level[i] = row_level[i];
  for (int j = 0; given && j < P->n; j++) P->col_level[j] = col_level[j];
  for (int k = 0; given && k < P->nnorms; k++)
    P->row_level[P->mc + k] = P->col_level[P->norms[k].first];
  return changedSolver(P);
}

int CPProjectorSetConstraintTol(CPProjector P, N_Vector ctol) {
  int flag = check(P, CP_TAKES_ROWS, __func__);
  if (!flag && ctol) flag = cpCheckLike(P, ctol, P->c_tmpl, "ctol", __func__);
  if (!flag && ctol) flag = cpCheckEntries(P, ctol, CP_POSITIVE, "ctol", __func__);
  if (flag) return flag;
  N_Vector copy = ctol ? N_VClone(ctol) : NULL;
  if (ctol && !copy) return cpReport(&P->log, CP_MEM_FAIL, __func__, "no memory");
  if (ctol) N_VScale(1.0, ctol, copy);
  if (P->ctol) N_VDestroy(P->ctol);
  P->ctol = copy;
  return changedValues(P);
}

int CPProjectorSetFree(CPProjector P, const int *id) {
  int flag = check(P, CP_TAKES_ROWS, __func__);
  if (!flag) flag = replaceMask(P, &P->free, id, P->n, __func__);
  return flag ? flag : changedValues(P);
}

int CPProjectorSetActive(CPProjector P, const int *mask) {
  int flag = check(P, CP_TAKES_ROWS, __func__), any = !mask;
  if (flag) return flag;
  if (mask && !P->c_tmpl)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "mask is for the rows of a constraint function, and there is none");
  for (int i = 0; !any && i < P->mc; i++) any = mask[i] != 0;
  if (!any && P->in_memory && P->nnorms == 0)
    return cpRefuse(&P->log, __func__,
                    "mask must leave a constraint switched on (CPIntegratorSetProjector(mem, NULL) "
                    "switches projection off)");
  flag = replaceMask(P, &P->active, mask, P->mc, __func__);
  return flag ? flag : changedValues(P);
}
