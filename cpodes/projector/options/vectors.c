/* Options of CPProjector: vectors over the constraints and the components. */
#include "options_impl.h"

#include <math.h>

/* Of a distributed vector only its range can be seen. */
static int checkRange(CPProjector P, N_Vector v, const char *name, int *largest) {
  const sunrealtype most = N_VMaxNorm(v);
  if (!(N_VMin(v) >= 0.0 && most < CP_MAX_LEVELS))
    return cpReport(&P->log, CP_ILL_INPUT, "CPProjectorSetLevels",
                    "%s must be whole numbers from 0 to %d: the largest is %g", name,
                    CP_MAX_LEVELS - 1, most);
  if (most > *largest) *largest = (int)most;
  return CP_SUCCESS;
}

/* Whole numbers from 0 to CP_MAX_LEVELS - 1; largest: in, out. */
static int checkLevels(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, int *largest) {
  const char *function = "CPProjectorSetLevels";
  int flag             = cpCheckLike(P, v, tmpl, name, function);
  if (flag) return flag;
  if (!P->in_memory) return checkRange(P, v, name, largest);
  const int length         = (int)N_VGetLength(v);
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
    if (count(row_level, P->mc, l) > 0 && count(col_level, P->n, l) == 0)
      return cpReport(&P->log, CP_ILL_INPUT, "CPProjectorSetLevels",
                      "row_level has %d rows of level %d, col_level no columns",
                      count(row_level, P->mc, l), l);
  return CP_SUCCESS;
}

/* A norm has the level of its components, which must have one. */
static int checkNorms(CPProjector P, N_Vector col_level) {
  for (int k = 0; k < P->nnorms; k++) {
    const CPUnitNorm *u      = &P->norms[k];
    const sunrealtype *level = N_VGetArrayPointer(col_level) + u->first;
    for (int j = 1; j < u->length; j++)
      if (level[j] != level[0])
        return cpReport(&P->log, CP_ILL_INPUT, "CPProjectorSetLevels",
                        "the components of a norm must have one level: col_level[%d] = %g, "
                        "col_level[%d] = %g",
                        u->first, level[0], u->first + j, level[j]);
  }
  return CP_SUCCESS;
}

static int detectLevels(CPProjector P, const char *function) {
  cpReplaceCopy(P, &P->row_level_v, NULL, function);
  cpReplaceCopy(P, &P->col_level_v, NULL, function);
  P->nlevels = 0;
  cpChangedSolver(P);
  return CP_SUCCESS;
}

/* Both, or none. */
static int replaceLevels(CPProjector P, N_Vector row_level, N_Vector col_level,
                         const char *function) {
  N_Vector rows = NULL;
  int flag      = cpReplaceCopy(P, &rows, row_level, function);
  if (!flag) flag = cpReplaceCopy(P, &P->col_level_v, col_level, function);
  if (flag) {
    if (rows) N_VDestroy(rows);
    return flag;
  }
  if (P->row_level_v) N_VDestroy(P->row_level_v);
  P->row_level_v = rows;
  return CP_SUCCESS;
}

static void copyLevels(CPProjector P, N_Vector row_level, N_Vector col_level) {
  for (int i = 0; i < P->mc; i++) P->row_level[i] = (int)N_VGetArrayPointer(row_level)[i];
  for (int j = 0; j < P->n; j++) P->col_level[j] = (int)N_VGetArrayPointer(col_level)[j];
  for (int k = 0; k < P->nnorms; k++) P->row_level[P->mc + k] = P->col_level[P->norms[k].first];
}

int CPProjectorSetLevels(CPProjector P, N_Vector row_level, N_Vector col_level) {
  int largest = 0, flag = cpOptionOfConstraints(P, __func__);
  if (flag) return flag;
  if (!row_level && !col_level) return detectLevels(P, __func__);
  if (!row_level || !col_level)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "%s is NULL and %s is not: give both, or neither",
                    row_level ? "col_level" : "row_level", row_level ? "row_level" : "col_level");
  flag = checkLevels(P, row_level, P->c_tmpl, "row_level", &largest);
  if (!flag) flag = checkLevels(P, col_level, P->y_tmpl, "col_level", &largest);
  if (!flag && P->in_memory) flag = checkCounts(P, row_level, col_level, largest);
  if (!flag && P->in_memory) flag = checkNorms(P, col_level);
  if (!flag) flag = replaceLevels(P, row_level, col_level, __func__);
  if (flag) return flag;
  if (P->in_memory) copyLevels(P, row_level, col_level);
  P->nlevels = largest + 1;
  cpChangedSolver(P);
  return CP_SUCCESS;
}

/* Products say nothing of levels: one, unless they are given. */
static int isOneLevel(CPProjector P) { return !P->row_level_v && cpKindOf(P) == &cpKrylovKind; }

int CPProjectorGetLevels(CPProjector P, N_Vector row_level, N_Vector col_level) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (flag) return flag;
  if (P->nlevels == 0 && !isOneLevel(P))
    return cpReport(&P->log, CP_NO_INIT, __func__, "levels are detected at the first projection");
  if (row_level) flag = cpCheckLike(P, row_level, P->c_tmpl, "row_level", __func__);
  if (!flag && col_level) flag = cpCheckLike(P, col_level, P->y_tmpl, "col_level", __func__);
  if (flag) return flag;
  if (isOneLevel(P)) {
    if (row_level) N_VConst(0.0, row_level);
    if (col_level) N_VConst(0.0, col_level);
    return CP_SUCCESS;
  }
  if (!P->in_memory) {
    if (row_level) N_VScale(1.0, P->row_level_v, row_level);
    if (col_level) N_VScale(1.0, P->col_level_v, col_level);
    return CP_SUCCESS;
  }
  for (int i = 0; row_level && i < P->mc; i++) N_VGetArrayPointer(row_level)[i] = P->row_level[i];
  for (int j = 0; col_level && j < P->n; j++) N_VGetArrayPointer(col_level)[j] = P->col_level[j];
  return CP_SUCCESS;
}

static int checkPositive(CPProjector P, N_Vector v, const char *name, const char *function) {
  if (N_VMin(v) > 0.0 && cpVectorFinite(v)) return CP_SUCCESS;
  const sunindextype length = cpHasData(v) ? N_VGetLength(v) : 0;
  for (sunindextype i = 0; i < length; i++) {
    const sunrealtype value = N_VGetArrayPointer(v)[i];
    if (!(value > 0.0) || isinf(value))
      return cpReport(&P->log, CP_ILL_INPUT, function,
                      "%s must be positive and finite: %s[%ld] = %g", name, name, (long)i, value);
  }
  return cpReport(&P->log, CP_ILL_INPUT, function, "%s must be positive and finite", name);
}

int CPProjectorSetConstraintTol(CPProjector P, N_Vector ctol) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (!flag && ctol) flag = cpCheckLike(P, ctol, P->c_tmpl, "ctol", __func__);
  if (!flag && ctol) flag = checkPositive(P, ctol, "ctol", __func__);
  if (!flag) flag = cpReplaceCopy(P, &P->ctol, ctol, __func__);
  if (!flag) cpChangedValues(P);
  return flag;
}

int CPProjectorSetFixed(CPProjector P, N_Vector id) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (!flag && id) flag = cpCheckLike(P, id, P->y_tmpl, "id", __func__);
  if (!flag && id) flag = cpCheckFinite(P, id, "id", __func__);
  if (!flag) flag = cpReplaceCopy(P, &P->id, id, __func__);
  if (!flag) cpChangedValues(P);
  return flag;
}

int CPProjectorSetActive(CPProjector P, N_Vector mask) {
  int flag = cpOptionOfConstraints(P, __func__);
  if (!flag && mask) flag = cpCheckLike(P, mask, P->c_tmpl, "mask", __func__);
  if (!flag && mask) flag = cpCheckFinite(P, mask, "mask", __func__);
  if (flag) return flag;
  if (mask && P->nnorms == 0 && !(N_VMaxNorm(mask) > 0.0))
    return cpReport(
        &P->log, CP_ILL_INPUT, __func__,
        "mask must leave a constraint switched on (CPodeSetProjector(mem, NULL) switches "
        "projection off)");
  flag = cpReplaceCopy(P, &P->active, mask, __func__);
  if (!flag) cpChangedValues(P);
  return flag;
}
