/* CPProjector: life cycle and actions. */
#include "projector_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static CPProjector newProjector(N_Vector y_tmpl, SUNContext ctx) {
  CPProjector P = calloc(1, sizeof *P);
  if (!P) return NULL;
  P->ctx        = ctx;
  P->linsol     = CP_LINSOL_AUTO;
  P->norm       = CP_NORM_ERROR;
  P->eps        = CP_EPS_DEFAULT;
  P->maxiters   = CP_MAXITERS_DEFAULT;
  P->jacfreq    = CP_JACFREQ_DEFAULT;
  P->stats.rank = -1;
  P->y_tmpl     = N_VClone(y_tmpl);
  if (!P->y_tmpl) CPProjectorFree(&P);
  return P;
}

CPProjector CPProjectorCreate(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx) {
  const char *missing = !c ? "c" : !y_tmpl ? "y_tmpl" : !c_tmpl ? "c_tmpl" : !ctx ? "ctx" : NULL;
  if (missing) {
    cpReport(NULL, CP_ILL_INPUT, __func__, "%s must not be NULL", missing);
    return NULL;
  }
  if (!cpHasData(y_tmpl) || !cpHasData(c_tmpl)) {
    cpReport(NULL, CP_ILL_INPUT, __func__,
             "y_tmpl and c_tmpl must be vectors in one memory (serial, OpenMP, pthreads)");
    return NULL;
  }
  const sunindextype n = N_VGetLength(y_tmpl), m = N_VGetLength(c_tmpl);
  if (m < 1 || m > n || n > INT_MAX) {
    cpReport(
        NULL, CP_ILL_INPUT, __func__,
        "1 <= length of c_tmpl <= length of y_tmpl <= %d is needed: c_tmpl has %ld, y_tmpl %ld",
        INT_MAX, (long)m, (long)n);
    return NULL;
  }
  CPProjector P = newProjector(y_tmpl, ctx);
  if (P) {
    P->c         = c;
    P->n         = (int)n;
    P->m         = (int)m;
    P->c_tmpl    = N_VClone(c_tmpl);
    P->row_level = calloc((size_t)m, sizeof *P->row_level);
    P->col_level = calloc((size_t)n, sizeof *P->col_level);
    if (!P->c_tmpl || !P->row_level || !P->col_level || cpWorkCreate(&P->work, P))
      CPProjectorFree(&P);
  }
  if (!P)
    cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a projector (n = %ld, m = %ld)", (long)n,
             (long)m);
  return P;
}

CPProjector CPProjectorCreateUser(CPProjFn g, CPErrProjFn g_eps, N_Vector y_tmpl, SUNContext ctx) {
  const char *missing = !g ? "g" : !y_tmpl ? "y_tmpl" : !ctx ? "ctx" : NULL;
  if (missing) {
    cpReport(NULL, CP_ILL_INPUT, __func__, "%s must not be NULL", missing);
    return NULL;
  }
  CPProjector P = newProjector(y_tmpl, ctx);
  if (P) {
    P->user_kind = 1;
    P->nlevels   = 1;
    P->g         = g;
    P->g_eps     = g_eps;
    if (cpWorkCreate(&P->work, P)) CPProjectorFree(&P);
  }
  if (!P) cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a projector");
  return P;
}

void CPProjectorFree(CPProjector *P_address) {
  CPProjector P = P_address ? *P_address : NULL;
  if (!P) return;
  cpWorkFree(&P->work);
  if (P->y_tmpl) N_VDestroy(P->y_tmpl);
  if (P->c_tmpl) N_VDestroy(P->c_tmpl);
  free(P->ctol);
  free(P->free);
  free(P->row_level);
  free(P->col_level);
  free(P);
  *P_address = NULL;
}

/* ---- actions ---- */

static int checkVector(CPProjector P, N_Vector v, const char *name, const char *function) {
  if (!v) return cpReport(&P->log, CP_ILL_INPUT, function, "%s must not be NULL", name);
  if (N_VGetLength(v) != N_VGetLength(P->y_tmpl))
    return cpReport(&P->log, CP_ILL_INPUT, function, "%s must have length %ld, has %ld", name,
                    (long)N_VGetLength(P->y_tmpl), (long)N_VGetLength(v));
  if (P->user_kind) return CP_SUCCESS;
  if (!cpHasData(v))
    return cpReport(&P->log, CP_ILL_INPUT, function, "%s must be a vector in one memory", name);
  int bad = cpFirstNonFinite(v);
  if (bad >= 0)
    return cpReport(&P->log, CP_ILL_INPUT, function, "%s must be finite: %s[%d] = %g", name, name,
                    bad, N_VGetArrayPointer(v)[bad]);
  return CP_SUCCESS;
}

/* The arguments that all actions share. */
static int checkState(CPProjector P, N_Vector y, N_Vector ewt, const char *function) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
  int flag = checkVector(P, y, "y", function);
  if (flag || P->user_kind) return flag;
  if (!ewt && P->norm == CP_NORM_ERROR)
    return cpReport(&P->log, CP_ILL_INPUT, function, "ewt must not be NULL with CP_NORM_ERROR");
  if (!ewt) return CP_SUCCESS;
  flag = checkVector(P, ewt, "ewt", function);
  if (flag) return flag;
  const sunrealtype *w = N_VGetArrayPointer(ewt);
  for (int j = 0; j < P->n; j++)
    if (!(w[j] > 0.0))
      return cpReport(&P->log, CP_ILL_INPUT, function, "ewt must be positive: ewt[%d] = %g", j,
                      w[j]);
  return CP_SUCCESS;
}

static int report(CPProjector P, int flag, const char *function) {
  return flag ? cpReport(&P->log, flag, function, "%s", P->work->text) : CP_SUCCESS;
}

/* Where there is no smaller step to try, a recoverable failure is an error like another. */
static int reportError(CPProjector P, int flag, const char *function) {
  return report(P, flag > 0 ? -flag : flag, function);
}

int CPProjectorProject(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt) {
  int moved, flag = checkState(P, y, ewt, __func__);
  return flag ? flag : report(P, cpProject(P->work, t, y, ewt, 0, &moved), __func__);
}

int CPProjectorAssemble(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = checkState(P, y, ewt, __func__);
  return flag ? flag : reportError(P, cpAssemble(P->work, t, y, ewt), __func__);
}

/* A vector is projected with factors made at its own y, not with those of another state. */
int CPProjectorProjectTangent(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  int flag = checkState(P, y, ewt, __func__);
  if (!flag) flag = checkVector(P, v, "v", __func__);
  if (flag) return flag;
  P->work->valid = 0;
  return report(P, cpTangent(P->work, t, y, ewt, v), __func__);
}

int CPProjectorProjectCotangent(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  int flag = checkState(P, y, ewt, __func__);
  if (!flag) flag = checkVector(P, w, "w", __func__);
  if (flag) return flag;
  if (P->user_kind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "a user-supplied projection has no transpose; use an internal projector");
  P->work->valid = 0;
  return report(P, cpCotangent(P->work, t, y, ewt, w), __func__);
}

int CPProjectorGetViolation(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                            sunrealtype *norm, sunindextype *worst) {
  int which, flag = checkState(P, y, ewt, __func__);
  if (flag) return flag;
  if (!norm) return cpReport(&P->log, CP_ILL_INPUT, __func__, "norm must not be NULL");
  if (P->user_kind && !P->violation)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "a user-supplied projection needs CPProjectorSetViolationFn for that");
  flag = cpStateViolation(P->work, t, y, ewt, norm, &which);
  if (!flag && worst) *worst = which;
  return reportError(P, flag, __func__);
}

int CPProjectorCheckJac(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt, sunrealtype *err,
                        sunindextype *row, sunindextype *col) {
  int i, j, flag = checkState(P, y, ewt, __func__);
  if (flag) return flag;
  if (!err) return cpReport(&P->log, CP_ILL_INPUT, __func__, "err must not be NULL");
  if (P->user_kind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "a user-supplied projection has no Jacobian");
  flag = cpWeights(P->work, y, ewt);
  if (!flag) flag = cpJacobianError(P->work, t, y, err, &i, &j);
  P->work->valid = 0;
  if (flag) return reportError(P, flag, __func__);
  if (row) *row = i;
  if (col) *col = j;
  return CP_SUCCESS;
}

int CPProjectorGetRank(CPProjector P, sunindextype *rank) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, __func__, "P must not be NULL");
  if (!rank) return cpReport(&P->log, CP_ILL_INPUT, __func__, "rank must not be NULL");
  if (P->stats.rank < 0)
    return cpReport(&P->log, CP_NO_INIT, __func__, "nothing has been factored yet");
  *rank = P->stats.rank;
  return CP_SUCCESS;
}

int CPProjectorGetStats(CPProjector P, CPProjectorStats *stats) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, __func__, "P must not be NULL");
  if (!stats) return cpReport(&P->log, CP_ILL_INPUT, __func__, "stats must not be NULL");
  *stats = P->stats;
  return CP_SUCCESS;
}

const char *CPProjectorGetLastMessage(CPProjector P) { return P ? P->log.text : ""; }
