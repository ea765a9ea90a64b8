/* Options of CPProjector: functions and templates of G and of the metric, unit norms. */
#include "options_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* Replaces a template by a copy of A; dense ones are not kept. */
static int replaceTemplate(CPProjector P, SUNMatrix *copy, SUNMatrix A, const char *function) {
  SUNMatrix clone = NULL;
  if (A && SUNMatGetID(A) == SUNMATRIX_SPARSE) {
    clone = SUNMatClone(A);
    if (!clone || SUNMatCopy(A, clone)) {
      if (clone) SUNMatDestroy(clone);
      return cpReport(&P->log, CP_MEM_FAIL, function, "no memory");
    }
  }
  if (*copy) SUNMatDestroy(*copy);
  *copy = clone;
  return CP_SUCCESS;
}

/* A matrix needs vectors in one memory. */
static int checkMatrix(CPProjector P, const char *function) {
  int flag = cpOptionOfConstraints(P, function);
  if (flag || P->in_memory) return flag;
  return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                  "the vectors do not lie in one memory: products are needed "
                  "(CPProjectorSetJacTimes)");
}

int CPProjectorSetJacFn(CPProjector P, CPConstraintJacFn jac, SUNMatrix G_tmpl) {
  int flag = checkMatrix(P, __func__);
  if (flag) return flag;
  if (P->mc == 0 && (jac || G_tmpl))
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__, "P has no constraint function");
  if (jac && !G_tmpl)
    return cpReport(&P->log, CP_ILL_INPUT, __func__, "G_tmpl must not be NULL with a jac");
  if (G_tmpl) flag = cpCheckTemplate(&P->log, G_tmpl, P->mc, P->n, "G_tmpl", __func__);
  if (!flag) flag = replaceTemplate(P, &P->G_tmpl, G_tmpl, __func__);
  if (flag) return flag;
  P->jac = jac;
  cpChangedShape(P);
  return CP_SUCCESS;
}

int CPProjectorSetJacTimes(CPProjector P, CPJacTimesFn Gv, CPJacTransTimesFn GTw) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (flag) return flag;
  if (!Gv != !GTw)
    return cpReport(&P->log, CP_ILL_INPUT, __func__, "%s is NULL and %s is not: give both",
                    Gv ? "GTw" : "Gv", Gv ? "Gv" : "GTw");
  if (Gv && !P->c_tmpl)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__, "P has no constraint function");
  P->Gv  = Gv;
  P->GTw = GTw;
  cpChangedSolver(P);
  return CP_SUCCESS;
}

int CPProjectorSetSchurDiag(CPProjector P, CPSchurDiagFn diag) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (flag) return flag;
  P->schurdiag = diag;
  cpChangedSolver(P);
  return CP_SUCCESS;
}

int CPProjectorSetPreconditioner(CPProjector P, CPPrecSetupFn psetup, CPPrecSolveFn psolve) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (flag) return flag;
  if (psetup && !psolve)
    return cpReport(&P->log, CP_ILL_INPUT, __func__, "psolve must not be NULL with a psetup");
  P->psetup = psetup;
  P->psolve = psolve;
  cpChangedSolver(P);
  return CP_SUCCESS;
}

static int checkUnitNorm(CPProjector P, sunindextype first, sunindextype length, sunrealtype value) {
  const char *function = "CPProjectorAddUnitNorm";
  if (first < 0 || length < 1 || length > P->n || first > P->n - length)
    return cpReport(&P->log, CP_ILL_INPUT, function,
                    "components 0 ... %d are there: first = %ld, length = %ld", P->n - 1,
                    (long)first, (long)length);
  if (!(value > 0.0) || !isnormal(value * value))
    return cpReport(&P->log, CP_ILL_INPUT, function,
                    "value and its square must be positive and finite: value = %g", value);
  if (P->m == INT_MAX)
    return cpReport(&P->log, CP_ILL_INPUT, function, "there are %d constraints already", INT_MAX);
  return CP_SUCCESS;
}

/* Room for one more, by doubling at powers of two. */
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

/* The level of a norm is that of its components, as far as levels are given. */
static int checkNormLevel(CPProjector P, int first, int length, const char *function) {
  for (int j = first + 1; P->row_level_v && j < first + length; j++)
    if (P->col_level[j] != P->col_level[first])
      return cpReport(&P->log, CP_ILL_INPUT, function,
                      "the components of a norm must have one level: col_level[%d] = %d, "
                      "col_level[%d] = %d",
                      first, P->col_level[first], j, P->col_level[j]);
  return CP_SUCCESS;
}

int CPProjectorAddUnitNorm(CPProjector P, sunindextype first, sunindextype length,
                           sunrealtype value) {
  int flag = checkMatrix(P, __func__);
  if (!flag) flag = checkUnitNorm(P, first, length, value);
  if (!flag) flag = checkNormLevel(P, (int)first, (int)length, __func__);
  if (flag) return flag;
  if (!growNorms(P)) return cpReport(&P->log, CP_MEM_FAIL, __func__, "no memory");
  P->norms[P->nnorms++] = (CPUnitNorm){(int)first, (int)length, value};
  P->row_level[P->m++]  = P->row_level_v ? P->col_level[first] : 0;
  cpChangedShape(P);
  return CP_SUCCESS;
}

int CPProjectorSetMetric(CPProjector P, CPMetricFn D) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (!flag) flag = replaceTemplate(P, &P->M_tmpl, NULL, __func__);
  if (flag) return flag;
  P->metric        = D;
  P->metric_matrix = NULL;
  cpChangedShape(P);
  return CP_SUCCESS;
}

int CPProjectorSetMetricMatrix(CPProjector P, CPMetricMatrixFn M, SUNMatrix M_tmpl) {
  int flag = checkMatrix(P, __func__);
  if (flag) return flag;
  if (M && !M_tmpl)
    return cpReport(&P->log, CP_ILL_INPUT, __func__, "M_tmpl must not be NULL with a function M");
  if (M) flag = cpCheckMetricTemplate(&P->log, M_tmpl, P->n, __func__);
  if (!flag) flag = replaceTemplate(P, &P->M_tmpl, M ? M_tmpl : NULL, __func__);
  if (flag) return flag;
  P->metric_matrix = M;
  P->metric        = NULL;
  cpChangedShape(P);
  return CP_SUCCESS;
}
