/* CPProjector: life cycle and actions. */
#include "projector_impl.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- counters ---- */

static const CPCounter table[] = {CP_STAT(CPProjectorStats, nproj, "projections"),
                                  CP_STAT(CPProjectorStats, nskipped, "skipped_projections"),
                                  CP_STAT(CPProjectorStats, ntangent, "vector_projections"),
                                  CP_STAT(CPProjectorStats, niters, "iters"),
                                  CP_STAT(CPProjectorStats, nfails, "fails"),
                                  CP_STAT(CPProjectorStats, nce, "constraint_evals"),
                                  CP_STAT(CPProjectorStats, nceDQ, "constraint_evals_dq"),
                                  CP_STAT(CPProjectorStats, nje, "constraint_jac_evals"),
                                  CP_STAT(CPProjectorStats, nsetups, "setups"),
                                  CP_STAT(CPProjectorStats, nfloor, "accepted_at_roundoff"),
                                  CP_STAT(CPProjectorStats, nli, "krylov_iters"),
                                  CP_STAT(CPProjectorStats, nlinsolves, "krylov_solves"),
                                  CP_STAT(CPProjectorStats, nprods, "jac_products"),
                                  CP_STAT(CPProjectorStats, npsolves, "prec_solves"),
                                  CP_STAT(CPProjectorStats, rank, "rank"),
                                  CP_STAT(CPProjectorStats, nlevels, "levels"),
                                  CP_STAT(CPProjectorStats, linsol, "linear_solver"),
                                  {NULL, 0, CP_OF_INT}};

static void readCounters(CPObject P, void *counters) {
  *(CPProjectorStats *)counters = ((CPProjector)P)->stats;
}

static const CPKind objects = {table, readCounters, NULL};

/* ---- life cycle ---- */

/* Sets the sizes of the matrix method; returns 0 if memory runs out. */
static int setSizes(CPProjector P, N_Vector y_tmpl, N_Vector c_tmpl) {
  if (c_tmpl && !(P->c_tmpl = N_VClone(c_tmpl))) return 0;
  /* data access, and lengths that fit into an int */
  P->in_memory = cpHasData(y_tmpl) && N_VGetLength(y_tmpl) <= INT_MAX &&
                 (!c_tmpl || (cpHasData(c_tmpl) && N_VGetLength(c_tmpl) <= INT_MAX));
  if (!P->in_memory) return 1;
  P->n = (int)N_VGetLength(y_tmpl);
  P->m = P->mc    = c_tmpl ? (int)N_VGetLength(c_tmpl) : 0;
  P->row_level    = calloc((size_t)P->m + 1, sizeof *P->row_level);
  P->col_level    = calloc((size_t)P->n, sizeof *P->col_level);
  P->is_dependent = calloc((size_t)P->mc + 1, sizeof *P->is_dependent);
  return P->row_level && P->col_level && P->is_dependent;
}

/* c_tmpl: template of the constraints of CPProjectorCreate, or NULL. kind: a kind from another
 * room, which works on model, or NULL. */
static CPProjector newProjector(N_Vector y_tmpl, N_Vector c_tmpl, int user_kind,
                                const CPProjectorKind *kind, void *model, SUNContext ctx) {
  CPProjector P = calloc(1, sizeof *P);
  if (!P) return NULL;
  P->log.kind         = &objects;
  P->ctx              = ctx;
  P->options.linsol   = CP_LINSOL_AUTO;
  P->norm             = CP_NORM_ERROR;
  P->options.eps      = CP_EPS_DEFAULT;
  P->options.maxiters = CP_MAXITERS_DEFAULT;
  P->options.jacfreq  = CP_JACFREQ_DEFAULT;
  P->stats.rank       = -1;
  P->user_kind        = user_kind;
  P->kind             = kind;
  P->model            = model;
  P->nlevels          = user_kind || kind;
  P->y_tmpl           = N_VClone(y_tmpl);
  if (!P->y_tmpl || (!user_kind && !setSizes(P, y_tmpl, c_tmpl)) || cpWorkCreate(&P->work, P))
    CPProjectorFree(&P);
  return P;
}

CPProjector CPProjectorCreate(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx) {
  const char *missing = !y_tmpl        ? "y_tmpl must not be NULL"
                        : !ctx         ? "ctx must not be NULL"
                        : c && !c_tmpl ? "c_tmpl must not be NULL with a function c"
                        : !c && c_tmpl ? "c must not be NULL with a template c_tmpl"
                                       : NULL;
  if (missing) return cpRefuse(NULL, __func__, "%s", missing), NULL;
  const int is_empty = N_VGetLength(y_tmpl) < 1;
  if (is_empty || (c_tmpl && N_VGetLength(c_tmpl) < 1))
    return cpRefuse(NULL, __func__, "%s must have length >= 1, has %ld",
                    is_empty ? "y_tmpl" : "c_tmpl", (long)N_VGetLength(is_empty ? y_tmpl : c_tmpl)),
           NULL;
  CPProjector P = newProjector(y_tmpl, c_tmpl, 0, NULL, NULL, ctx);
  if (P) P->user.c = c;
  else cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a projector");
  return P;
}

CPProjector CPProjectorCreateUser(CPProjFn g, CPErrProjFn g_eps, N_Vector y_tmpl, SUNContext ctx) {
  const char *missing = !g ? "g" : !y_tmpl ? "y_tmpl" : !ctx ? "ctx" : NULL;
  if (missing) return cpRefuse(NULL, __func__, "%s must not be NULL", missing), NULL;
  CPProjector P = newProjector(y_tmpl, NULL, 1, NULL, NULL, ctx);
  if (P) P->user.g = g, P->user.g_eps = g_eps;
  else cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a projector");
  return P;
}

CPProjector cpProjectorCreateKind(const CPProjectorKind *kind, void *model, N_Vector y_tmpl,
                                  SUNContext ctx) {
  return newProjector(y_tmpl, NULL, 0, kind, model, ctx);
}

void CPProjectorFree(CPProjector *P_address) {
  CPProjector P = P_address ? *P_address : NULL;
  if (!P || cpIdle(&P->log, __func__)) return;
  cpWorkFree(&P->work);
  if (P->y_tmpl) N_VDestroy(P->y_tmpl);
  if (P->c_tmpl) N_VDestroy(P->c_tmpl);
  N_Vector *const vectors[] = {&P->ctol, &P->id, &P->active, &P->row_level_v, &P->col_level_v};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
    if (*vectors[i]) N_VDestroy(*vectors[i]);
  if (P->G_tmpl) SUNMatDestroy(P->G_tmpl);
  if (P->M_tmpl) SUNMatDestroy(P->M_tmpl);
  free(P->norms);
  free(P->row_level);
  free(P->col_level);
  free(P->is_dependent);
  free(P);
  *P_address = NULL;
}

/* ---- actions ---- */

static int checkShape(CPProjector P, N_Vector v, const char *name, const char *function) {
  if (!v) return cpRefuse(&P->log, function, "%s must not be NULL", name);
  return cpCheckLike(P, v, P->y_tmpl, name, function);
}

static int checkVector(CPProjector P, N_Vector v, const char *name, const char *function) {
  const int flag = checkShape(P, v, name, function);
  return flag || P->user_kind ? flag : cpCheckEntries(P, v, CP_ANY, name, function);
}

/* Checks the arguments that all actions share. */
int cpCheckState(CPProjector P, N_Vector y, N_Vector ewt, const char *function) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
  int flag = cpIdle(&P->log, function);
  if (!flag) flag = checkVector(P, y, "y", function);
  if (flag || P->user_kind) return flag;
  if (!ewt && !P->kind && P->norm == CP_NORM_ERROR && cpHasDiagonalMetric(P))
    return cpRefuse(&P->log, function, "ewt must not be NULL with CP_NORM_ERROR");
  if (!ewt) return CP_SUCCESS;
  flag = checkShape(P, ewt, "ewt", function);
  return flag ? flag : cpCheckEntries(P, ewt, CP_LEAST_WEIGHT, "ewt", function);
}

static int report(CPProjector P, int flag, const char *function) {
  return flag ? cpReport(&P->log, flag, function, "%s", P->work->text) : CP_SUCCESS;
}

int CPProjectorProject(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt) {
  const int flag = cpCheckState(P, y, ewt, __func__);
  return flag ? flag
              : report(P, cpProject(P->work, t, y, ewt, NULL, 0, &(CPProjected){0}), __func__);
}

/* Replaces v by the result of an action if that is finite. After a failure v is unchanged, also if
 * products with extreme weights have overflowed. */
static int accept(CPProjector P, int flag, N_Vector result, N_Vector v, const char *what,
                  const char *function) {
  if (!flag && !cpVectorFinite(result))
    flag = cpReason(P->work->text, CP_PROJ_NONFINITE,
                    "the %s is not finite: products of y, ewt and the vector overflow", what);
  if (!flag) cpCopy(v, result);
  return report(P, flag, function);
}

int CPProjectorAssemble(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = cpCheckState(P, y, ewt, __func__);
  if (flag) return flag;
  N_Vector result = P->y_tmpl; /* workspace: the entries of the template are not used */
  cpCopy(result, y);
  flag = cpAssemble(P->work, t, result, ewt);
  return accept(P, -abs(flag), result, y, "assembled state", __func__);
}

/* Projects a vector with factors at its own y, never with those of another state. */
static int projectVector(CPProjector P,
                         int (*project)(CPWork, sunrealtype, N_Vector, N_Vector, N_Vector),
                         sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v, const char *function) {
  N_Vector result = P->y_tmpl; /* workspace: the entries of the template are not used */
  cpCopy(result, v);
  cpWorkForget(P->work);
  return accept(P, project(P->work, t, y, ewt, result), result, v, "projected vector", function);
}

int CPProjectorProjectTangent(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector v) {
  int flag = cpCheckState(P, y, ewt, __func__);
  if (!flag) flag = checkVector(P, v, "v", __func__);
  return flag ? flag : projectVector(P, cpTangent, t, y, ewt, v, __func__);
}

int CPProjectorProjectCotangent(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt, N_Vector w) {
  int flag = cpCheckState(P, y, ewt, __func__);
  if (!flag) flag = checkVector(P, w, "w", __func__);
  return flag ? flag : projectVector(P, cpCotangent, t, y, ewt, w, __func__);
}

int CPProjectorGetViolation(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                            sunrealtype *norm, sunindextype *worst) {
  CPViolation violation;
  int flag = cpCheckState(P, y, ewt, __func__);
  if (flag) return flag;
  if (!norm) return cpRefuse(&P->log, __func__, "norm must not be NULL");
  flag = cpStateViolation(P->work, t, y, ewt, &violation);
  if (!flag) *norm = violation.norm;
  if (!flag && worst) *worst = violation.worst;
  return report(P, -abs(flag), __func__); /* no smaller step to try: all failures are errors */
}

int CPProjectorCheckJac(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt, sunrealtype *err,
                        sunindextype *row, sunindextype *col) {
  int i, j, flag = cpCheckState(P, y, ewt, __func__);
  if (flag) return flag;
  if (!err) return cpRefuse(&P->log, __func__, "err must not be NULL");
  if (P->user_kind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "a user-supplied projection has no Jacobian");
  if (P->kind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "P is the projector of a mechanical system: see CPMechCheck");
  if (cpKindOf(P) == &cpKrylovKind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "there is no matrix: see CPProjectorCheckJacTimes");
  flag = cpMatrixKind.update(P->work, t, y, ewt);
  if (!flag) flag = cpWeights(P->work, y, ewt);
  if (!flag) flag = cpJacobianError(P->work, t, y, err, &i, &j);
  cpWorkForget(P->work);
  if (flag) return report(P, -abs(flag), __func__);
  if (row) *row = i;
  if (col) *col = j;
  return CP_SUCCESS;
}

static int checkFactored(CPProjector P, const char *function) {
  const int inner_krylov = P->kind && P->stats.linsol == CP_LINSOL_KRYLOV;
  if (P->user_kind || inner_krylov || cpKindOf(P) == &cpKrylovKind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, function,
                    "only the solvers that factor a matrix find a rank");
  if (P->stats.rank < 0)
    return cpReport(&P->log, CP_NO_INIT, function, "nothing has been factored yet");
  return CP_SUCCESS;
}

int CPProjectorGetRank(CPProjector P, sunindextype *rank) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, __func__, "P must not be NULL");
  if (!rank) return cpRefuse(&P->log, __func__, "rank must not be NULL");
  const int flag = checkFactored(P, __func__);
  if (!flag) *rank = P->stats.rank;
  return flag;
}

int CPProjectorGetDependent(CPProjector P, sunindextype *count, N_Vector dependent) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, __func__, "P must not be NULL");
  if (!count) return cpRefuse(&P->log, __func__, "count must not be NULL");
  int flag = checkFactored(P, __func__);
  if (!flag && dependent) flag = cpCheckLike(P, dependent, P->c_tmpl, "dependent", __func__);
  if (flag) return flag;
  *count = P->ndependent;
  for (int i = 0; dependent && i < P->mc; i++)
    N_VGetArrayPointer(dependent)[i] = P->is_dependent[i];
  return CP_SUCCESS;
}

int CPProjectorGetLinearSolver(CPProjector P, CPLinSol *type, const char **reason) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, __func__, "P must not be NULL");
  if (!type) return cpRefuse(&P->log, __func__, "type must not be NULL");
  if (P->user_kind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "a user-supplied projection has no linear solver of ours");
  if (P->stats.linsol == CP_LINSOL_AUTO)
    return cpReport(&P->log, CP_NO_INIT, __func__, "nothing has been projected yet");
  *type = P->stats.linsol;
  if (reason) *reason = P->reason;
  return CP_SUCCESS;
}
