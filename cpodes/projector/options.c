/* Options of CPProjector. */
#include "projector_impl.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Checks that P exists and is of a kind to which the option applies. */
typedef enum { ANY_KIND, OWN_ITERATION, OWN_CONSTRAINTS } For;

static int check(CPProjector P, For kind, const char *function) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
  const int flag = cpIdle(&P->log, function);
  if (flag) return flag;
  if (kind != ANY_KIND && P->user_kind)
    return cpRefuse(&P->log, function,
                    "P has a user-supplied projection: this option is for CPProjectorCreate's");
  if (kind == OWN_CONSTRAINTS && P->kind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                    "P is the projector of a mechanical system: its constraints and metric are "
                    "options of that");
  return CP_SUCCESS;
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
  if (!P->row_level_v) P->nlevels = 0;
  return changedSolver(P);
}

/* Replaces *copy by a copy of v, or by NULL if v is NULL. */
static int replaceCopy(CPProjector P, N_Vector *copy, N_Vector v, const char *function) {
  N_Vector clone = v ? N_VClone(v) : NULL;
  if (v && !clone) return cpReport(&P->log, CP_MEM_FAIL, function, "no memory");
  if (v) N_VScale(1.0, v, clone);
  if (*copy) N_VDestroy(*copy);
  *copy = clone;
  return CP_SUCCESS;
}

/* ---- the solver, sizes and limits ---- */

int CPProjectorSetUserData(CPProjector P, void *user_data) {
  const int flag = check(P, ANY_KIND, __func__);
  if (flag) return flag;
  P->user.data = user_data;
  return changedValues(P); /* results computed with the old data are not to be used again */
}

int CPProjectorSetLinearSolver(CPProjector P, CPLinSol type) {
  int flag = check(P, OWN_ITERATION, __func__);
  if (flag) return flag;
  if (type < CP_LINSOL_AUTO || type > CP_LINSOL_KRYLOV)
    return cpRefuse(&P->log, __func__,
                    "type must be one of CP_LINSOL_AUTO ... CP_LINSOL_KRYLOV, is %d", (int)type);
  P->options.linsol = type == CP_LINSOL_BLOCK ? CP_LINSOL_SPARSE : type;
  return changedSolver(P);
}

int CPProjectorSetNorm(CPProjector P, CPNorm norm) {
  int flag = check(P, OWN_CONSTRAINTS, __func__);
  if (flag) return flag;
  if (norm != CP_NORM_ERROR && norm != CP_NORM_L2)
    return cpRefuse(&P->log, __func__, "norm must be CP_NORM_ERROR or CP_NORM_L2, is %d", (int)norm);
  P->norm = norm;
  return changedValues(P);
}

int CPProjectorSetViolationFn(CPProjector P, CPViolationFn norm) {
  const int flag = check(P, ANY_KIND, __func__);
  if (flag) return flag;
  if (P->kind) return check(P, OWN_CONSTRAINTS, __func__);
  P->user.violation = norm;
  return CP_SUCCESS;
}

int CPProjectorSetStateErrorFn(CPProjector P, CPStateErrorProjFn both) {
  const int flag = check(P, ANY_KIND, __func__);
  if (flag) return flag;
  if (!P->user_kind)
    return cpRefuse(&P->log, __func__,
                    "only a projector of CPProjectorCreateUser has a projection by the user");
  P->user.both = both;
  return CP_SUCCESS;
}

int CPProjectorSetEps(CPProjector P, sunrealtype eps) {
  const int flag = check(P, ANY_KIND, __func__);
  if (flag) return flag;
  if (!(eps >= 0.0 && eps <= 1.0))
    return cpRefuse(&P->log, __func__, "eps must be in (0, 1], or 0 for the default: eps = %g", eps);
  P->options.eps = eps > 0.0 ? eps : CP_EPS_DEFAULT;
  return CP_SUCCESS;
}

static int checkCount(CPProjector P, long int value, const char *name, const char *function) {
  const int flag = check(P, OWN_ITERATION, function);
  if (flag || value >= 0) return flag;
  return cpRefuse(&P->log, function, "%s must be positive, or 0 for the default: %s = %ld", name,
                  name, value);
}

int CPProjectorSetMaxIters(CPProjector P, int maxit) {
  const int flag = checkCount(P, maxit, "maxit", __func__);
  if (!flag) P->options.maxiters = maxit ? maxit : CP_MAXITERS_DEFAULT;
  return flag;
}

int CPProjectorSetJacFrequency(CPProjector P, long int nproj) {
  const int flag = checkCount(P, nproj, "nproj", __func__);
  if (!flag) P->options.jacfreq = nproj ? nproj : CP_JACFREQ_DEFAULT;
  return flag;
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
  int flag = check(P, OWN_CONSTRAINTS, function);
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
  if (jac && !G_tmpl) return cpRefuse(&P->log, __func__, "G_tmpl must not be NULL with a jac");
  if (G_tmpl) flag = cpCheckTemplate(&P->log, G_tmpl, P->mc, P->n, "G_tmpl", __func__);
  if (!flag) flag = replaceTemplate(P, &P->G_tmpl, G_tmpl, __func__);
  if (flag) return flag;
  P->user.jac = jac;
  return changedShape(P);
}

int CPProjectorSetJacTimes(CPProjector P, CPJacTimesFn Gv, CPJacTransTimesFn GTw) {
  int flag = check(P, OWN_CONSTRAINTS, __func__);
  if (flag) return flag;
  if (!Gv != !GTw)
    return cpRefuse(&P->log, __func__, "%s is NULL and %s is not: give both", Gv ? "GTw" : "Gv",
                    Gv ? "Gv" : "GTw");
  if (Gv && !P->c_tmpl)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__, "P has no constraint function");
  P->user.Gv  = Gv;
  P->user.GTw = GTw;
  return changedSolver(P);
}

int CPProjectorSetSchurDiag(CPProjector P, CPSchurDiagFn diag) {
  const int flag = check(P, OWN_CONSTRAINTS, __func__);
  if (flag) return flag;
  P->user.schurdiag = diag;
  return changedSolver(P);
}

int CPProjectorSetPreconditioner(CPProjector P, CPPrecSetupFn psetup, CPPrecSolveFn psolve) {
  int flag = check(P, OWN_CONSTRAINTS, __func__);
  if (flag) return flag;
  if (psetup && !psolve)
    return cpRefuse(&P->log, __func__, "psolve must not be NULL with a psetup");
  P->user.psetup = psetup;
  P->user.psolve = psolve;
  return changedSolver(P);
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
static int checkNormLevel(CPProjector P, int first, int length, N_Vector col_level,
                          const char *function) {
  const sunrealtype *level = N_VGetArrayPointer(col_level);
  for (int j = first + 1; j < first + length; j++)
    if (level[j] != level[first])
      return cpRefuse(&P->log, function,
                      "the components of a norm must have one level: col_level[%d] = %g, "
                      "col_level[%d] = %g",
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
  if (P->col_level_v) flag = checkNormLevel(P, (int)first, (int)length, P->col_level_v, __func__);
  if (flag) return flag;
  if (!growNorms(P)) return cpReport(&P->log, CP_MEM_FAIL, __func__, "no memory");
  P->norms[P->nnorms++] = (CPUnitNorm){(int)first, (int)length, value};
  P->row_level[P->m++]  = P->row_level_v ? P->col_level[first] : 0;
  return changedShape(P);
}

int CPProjectorSetMetric(CPProjector P, CPMetricFn D) {
  int flag = check(P, OWN_CONSTRAINTS, __func__);
  if (!flag) flag = replaceTemplate(P, &P->M_tmpl, NULL, __func__);
  if (flag) return flag;
  P->user.metric        = D;
  P->user.metric_matrix = NULL;
  return changedShape(P);
}

int CPProjectorSetMetricMatrix(CPProjector P, CPMetricMatrixFn M, SUNMatrix M_tmpl) {
  int flag = checkMatrix(P, __func__);
  if (flag) return flag;
  if (M && !M_tmpl) return cpRefuse(&P->log, __func__, "M_tmpl must not be NULL with a function M");
  if (M) flag = cpCheckMetricTemplate(&P->log, M_tmpl, P->n, __func__);
  if (!flag) flag = replaceTemplate(P, &P->M_tmpl, M ? M_tmpl : NULL, __func__);
  if (flag) return flag;
  P->user.metric_matrix = M;
  P->user.metric        = NULL;
  return changedShape(P);
}

/* ---- vectors over the constraints and the components ---- */

/* Checks that the entries are whole numbers from 0 to CP_MAX_LEVELS - 1; of a distributed vector
 * only the range is checked. largest: in and out, the largest level. */
static int checkLevels(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, int *largest) {
  const char *function = "CPProjectorSetLevels";
  int flag             = cpCheckLike(P, v, tmpl, name, function);
  if (flag) return flag;
  const int length         = P->in_memory ? (int)N_VGetLength(v) : 0;
  const sunrealtype *level = P->in_memory ? N_VGetArrayPointer(v) : NULL;
  for (int i = 0; i < length; i++)
    if (!(level[i] >= 0.0 && level[i] < CP_MAX_LEVELS && level[i] == floor(level[i])))
      return cpRefuse(&P->log, function, "%s must be whole numbers from 0 to %d: %s[%d] = %g", name,
                      CP_MAX_LEVELS - 1, name, i, level[i]);
  const sunrealtype most = N_VMaxNorm(v);
  if (!P->in_memory && !(N_VMin(v) >= 0.0 && most < CP_MAX_LEVELS))
    return cpRefuse(&P->log, function, "%s must be whole numbers from 0 to %d: the largest is %g",
                    name, CP_MAX_LEVELS - 1, most);
  if (most > *largest) *largest = (int)most;
  return CP_SUCCESS;
}

int CPProjectorSetLevels(CPProjector P, N_Vector row_level, N_Vector col_level) {
  const int given = row_level && col_level; /* 0: levels are to be detected */
  int largest     = given ? 0 : -1;
  int flag        = check(P, OWN_CONSTRAINTS, __func__);
  if (flag) return flag;
  if (!row_level != !col_level)
    return cpRefuse(&P->log, __func__, "%s is NULL and %s is not: give both, or neither",
                    row_level ? "col_level" : "row_level", row_level ? "row_level" : "col_level");
  if (given) flag = checkLevels(P, row_level, P->c_tmpl, "row_level", &largest);
  if (given && !flag) flag = checkLevels(P, col_level, P->y_tmpl, "col_level", &largest);
  if (given && P->in_memory && !flag) {
    /* Rows need columns of their own level. A level may have no rows: it then holds its columns
     * (positions under velocity constraints only). It may have more rows than columns if they are
     * redundant. */
    const sunrealtype *row = N_VGetArrayPointer(row_level), *col = N_VGetArrayPointer(col_level);
    char has_columns[CP_MAX_LEVELS] = {0};
    for (int j = 0; j < P->n; j++) has_columns[(int)col[j]] = 1;
    for (int i = 0; i < P->mc; i++)
      if (!has_columns[(int)row[i]])
        return cpRefuse(&P->log, __func__,
                        "row_level[%d] = %g, and col_level has no columns of that level", i, row[i]);
    for (int k = 0; !flag && k < P->nnorms; k++)
      flag = checkNormLevel(P, P->norms[k].first, P->norms[k].length, col_level, __func__);
  }
  N_Vector rows = NULL; /* both copies are replaced, or neither */
  if (!flag) flag = replaceCopy(P, &rows, row_level, __func__);
  if (!flag) flag = replaceCopy(P, &P->col_level_v, col_level, __func__);
  N_Vector unused = flag ? rows : P->row_level_v;
  if (!flag) P->row_level_v = rows;
  if (unused) N_VDestroy(unused);
  if (flag) return flag;
  if (given && P->in_memory) {
    for (int i = 0; i < P->mc; i++) P->row_level[i] = (int)N_VGetArrayPointer(row_level)[i];
    for (int j = 0; j < P->n; j++) P->col_level[j] = (int)N_VGetArrayPointer(col_level)[j];
    for (int k = 0; k < P->nnorms; k++) P->row_level[P->mc + k] = P->col_level[P->norms[k].first];
  }
  P->nlevels = largest + 1;
  return changedSolver(P);
}

/* Levels cannot be detected from products: there is one level unless they are given. */
static int isOneLevel(CPProjector P) { return !P->row_level_v && cpKindOf(P) == &cpKrylovKind; }

static void giveLevels(CPProjector P, N_Vector given, const int *found, int length, N_Vector level) {
  if (level && isOneLevel(P)) N_VConst(0.0, level);
  else if (level && !P->in_memory) N_VScale(1.0, given, level);
  else
    for (int i = 0; level && i < length; i++) N_VGetArrayPointer(level)[i] = found[i];
}

int CPProjectorGetLevels(CPProjector P, N_Vector row_level, N_Vector col_level) {
  int flag = check(P, OWN_CONSTRAINTS, __func__);
  if (flag) return flag;
  if (P->nlevels == 0 && !isOneLevel(P))
    return cpReport(&P->log, CP_NO_INIT, __func__, "levels are detected at the first projection");
  if (row_level) flag = cpCheckLike(P, row_level, P->c_tmpl, "row_level", __func__);
  if (!flag && col_level) flag = cpCheckLike(P, col_level, P->y_tmpl, "col_level", __func__);
  if (flag) return flag;
  giveLevels(P, P->row_level_v, P->row_level, P->mc, row_level);
  giveLevels(P, P->col_level_v, P->col_level, P->n, col_level);
  return CP_SUCCESS;
}

/* Sets the option *copy to a copy of v, with entries of at least `least`, or to NULL. */
static int setVector(CPProjector P, N_Vector *copy, N_Vector v, int of_rows, double least,
                     const char *name, const char *function) {
  int flag = check(P, OWN_CONSTRAINTS, function);
  if (!flag && v) flag = cpCheckLike(P, v, of_rows ? P->c_tmpl : P->y_tmpl, name, function);
  if (!flag && v) flag = cpCheckEntries(P, v, least, name, function);
  if (!flag) flag = replaceCopy(P, copy, v, function);
  return flag ? flag : changedValues(P);
}

int CPProjectorSetConstraintTol(CPProjector P, N_Vector ctol) {
  return setVector(P, P ? &P->ctol : NULL, ctol, 1, CP_POSITIVE, "ctol", __func__);
}

int CPProjectorSetFixed(CPProjector P, N_Vector id) {
  return setVector(P, P ? &P->id : NULL, id, 0, CP_ANY, "id", __func__);
}

int CPProjectorSetActive(CPProjector P, N_Vector mask) {
  int flag = check(P, OWN_CONSTRAINTS, __func__);
  if (!flag && mask) flag = cpCheckLike(P, mask, P->c_tmpl, "mask", __func__);
  if (!flag && mask) flag = cpCheckEntries(P, mask, CP_ANY, "mask", __func__);
  if (!flag && mask && P->nnorms == 0 && !(N_VMaxNorm(mask) > 0.0))
    return cpRefuse(
        &P->log, __func__,
        "mask must leave a constraint switched on (CPIntegratorSetProjector(mem, NULL) switches "
        "projection off)");
  return flag ? flag : setVector(P, &P->active, mask, 1, CP_ANY, "mask", __func__);
}
