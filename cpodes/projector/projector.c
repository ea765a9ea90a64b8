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

/* Sets the sizes of a projector with constraints; returns 0 if memory runs out. */
static int setSizes(CPProjector P, N_Vector y_tmpl, N_Vector c_tmpl) {
  if (c_tmpl && !(P->c_tmpl = N_VClone(c_tmpl))) return 0;
  const sunindextype n = cpLocalLength(y_tmpl), mc = c_tmpl ? cpLocalLength(c_tmpl) : 0;
  P->n = n > INT_MAX ? -1 : (int)n;
  P->m = P->mc = mc > INT_MAX ? -1 : (int)mc;
  P->in_memory = P->kind != &cpUserKind && P->n >= 0 && P->mc >= 0 && cpHasData(y_tmpl) &&
                 (!c_tmpl || cpHasData(c_tmpl));
  P->is_dependent = calloc((size_t)(P->mc < 0 ? 0 : P->mc) + 1, sizeof *P->is_dependent);
  if (!(P->kind->takes & CP_TAKES_ROWS)) return P->is_dependent != NULL; /* there are no levels */
  P->row_level = calloc((size_t)(P->m < 0 ? 0 : P->m) + 1, sizeof *P->row_level);
  P->col_level = calloc((size_t)(P->n < 0 ? 0 : P->n) + 1, sizeof *P->col_level);
  return P->row_level && P->col_level && P->is_dependent;
}

CPProjector cpProjectorCreateKind(const CPProjectorKind *kind, void *model, CPConstraintFn c,
                                  N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx) {
  CPProjector P = calloc(1, sizeof *P);
  if (!P) {
    if (kind->release) kind->release(model);
    return NULL;
  }
  P->log.kind       = &objects;
  P->ctx            = ctx;
  P->options.linsol = CP_LINSOL_AUTO;
  P->norm           = CP_NORM_ERROR;
  P->options.eps    = CP_EPS_DEFAULT;
  P->stats.rank     = -1;
  P->kind           = kind;
  P->model          = model;
  P->user.c         = c;
  P->y_tmpl         = cpVectorTemplate(y_tmpl);
  if (!kind->spares_vectors) P->result = N_VClone(y_tmpl);
  if (!P->y_tmpl || (!kind->spares_vectors && !P->result) || !setSizes(P, y_tmpl, c_tmpl) ||
      cpWorkCreate(&P->work, P))
    CPProjectorFree(&P);
  return P;
}

int cpCheckTemplates(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx,
                     const char *function) {
  const char *missing = !y_tmpl        ? "y_tmpl must not be NULL"
                        : !ctx         ? "ctx must not be NULL"
                        : c && !c_tmpl ? "c_tmpl must not be NULL with a function c"
                        : !c && c_tmpl ? "c must not be NULL with a template c_tmpl"
                                       : NULL;
  if (missing) return cpRefuse(NULL, function, "%s", missing);
  const int is_empty = N_VGetLength(y_tmpl) < 1;
  if (!is_empty && !(c_tmpl && N_VGetLength(c_tmpl) < 1)) return CP_SUCCESS;
  return cpRefuse(NULL, function, "%s must have length >= 1, has %ld",
                  is_empty ? "y_tmpl" : "c_tmpl", (long)N_VGetLength(is_empty ? y_tmpl : c_tmpl));
}

CPProjector CPProjectorCreate(CPConstraintFn c, N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx) {
  if (cpCheckTemplates(c, y_tmpl, c_tmpl, ctx, __func__)) return NULL;
  CPProjector P = cpProjectorCreateKind(&cpMatrixKind, NULL, c, y_tmpl, c_tmpl, ctx);
  if (!P) cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a projector");
  return P;
}

CPProjector CPProjectorCreateUser(const CPUserProjection *user, N_Vector y_tmpl, SUNContext ctx) {
  CPUserProjection own;
  const char *missing = !y_tmpl ? "y_tmpl" : !ctx ? "ctx" : NULL;
  if (missing) return cpRefuse(NULL, __func__, "%s must not be NULL", missing), NULL;
  if (cpTake(NULL, &own, user, __func__)) return NULL;
  if (!own.state) return cpRefuse(NULL, __func__, "the function user->state must be set"), NULL;
  CPProjector P = cpProjectorCreateKind(&cpUserKind, NULL, NULL, y_tmpl, NULL, ctx);
  if (P) P->user.own = own;
  else cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a projector");
  return P;
}

void CPProjectorFree(CPProjector *P_address) {
  CPProjector P = P_address ? *P_address : NULL;
  if (!P || cpIdle(&P->log, __func__)) return;
  cpWorkFree(&P->work);
  if (P->kind->release) P->kind->release(P->model);
  N_Vector const vectors[] = {P->y_tmpl, P->c_tmpl, P->ctol, P->result};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
    if (vectors[i]) N_VDestroy(vectors[i]);
  if (P->G_tmpl) SUNMatDestroy(P->G_tmpl);
  if (P->M_tmpl) SUNMatDestroy(P->M_tmpl);
  free(P->norms);
  free(P->free);
  free(P->active);
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
  return flag || P->kind == &cpUserKind ? flag : cpCheckEntries(P, v, CP_ANY, name, function);
}

/* Checks the arguments that all actions share. */
static int checkState(CPProjector P, N_Vector y, N_Vector ewt, const char *function) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
  int flag = cpIdle(&P->log, function);
  if (!flag) flag = checkVector(P, y, "y", function);
  if (flag || P->kind == &cpUserKind) return flag;
  if (!ewt && (P->kind->takes & CP_TAKES_ROWS) && P->norm == CP_NORM_ERROR && !P->has_metric)
    return cpRefuse(&P->log, function, "ewt must not be NULL with CP_NORM_ERROR");
  if (!ewt) return CP_SUCCESS;
  flag = checkShape(P, ewt, "ewt", function);
  return flag ? flag : cpCheckEntries(P, ewt, CP_LEAST_WEIGHT, "ewt", function);
}

static int report(CPProjector P, int flag, const char *function) {
  return flag ? cpReport(&P->log, flag, function, "%s", P->work->text) : CP_SUCCESS;
}

int CPProjectorProject(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt) {
  const int flag = checkState(P, y, ewt, __func__);
  return flag ? flag
              : report(P, cpProject(P->work, t, y, ewt, NULL, 0, &(CPProjected){0}), __func__);
}

/* Creates P->result. Returns 0, or a code that has been reported. */
static int needResult(CPProjector P, const char *function) {
  if (!P->result) P->result = N_VClone(P->y_tmpl);
  return P->result ? CP_SUCCESS : cpReport(&P->log, CP_MEM_FAIL, function, "no memory for a vector");
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
  int flag = checkState(P, y, ewt, __func__);
  if (!flag) flag = needResult(P, __func__);
  if (flag) return flag;
  N_Vector result = P->result;
  cpCopy(result, y);
  flag = cpAssemble(P->work, t, result, ewt);
  return accept(P, -abs(flag), result, y, "assembled state", __func__);
}

/* The vector is projected with factors at its own y, never with those of another state. */
int CPProjectorProjectVector(CPProjector P, CPSpace space, sunrealtype t, N_Vector y, N_Vector ewt,
                             N_Vector x) {
  int flag = checkState(P, y, ewt, __func__);
  if (!flag) flag = checkVector(P, x, "x", __func__);
  if (flag) return flag;
  if (space < CP_TANGENT || space > CP_COTANGENT)
    return cpRefuse(&P->log, __func__, "space must be one of CP_TANGENT ... CP_COTANGENT, is %d",
                    (int)space);
  if ((flag = needResult(P, __func__))) return flag;
  N_Vector result = P->result;
  cpCopy(result, x);
  cpWorkForget(P->work);
  flag = space == CP_COTANGENT ? cpCotangent(P->work, t, y, ewt, result)
                               : cpTangent(P->work, t, y, ewt, result);
  if (!flag && space == CP_NORMAL) N_VLinearSum(1.0, x, -1.0, result, result);
  return accept(P, flag, result, x, "projected vector", __func__);
}

int CPProjectorGetViolation(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                            sunrealtype *norm, sunindextype *worst) {
  CPViolation violation;
  int flag = checkState(P, y, ewt, __func__);
  if (flag) return flag;
  if (!norm) return cpRefuse(&P->log, __func__, "norm must not be NULL");
  flag = cpStateViolation(P->work, t, y, ewt, &violation);
  if (!flag) *norm = violation.norm;
  if (!flag && worst) *worst = violation.worst;
  return report(P, -abs(flag), __func__); /* no smaller step to try: all failures are errors */
}

int CPProjectorCheckJac(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt, sunrealtype *err,
                        sunindextype *row, sunindextype *col) {
  int i, j, flag = checkState(P, y, ewt, __func__);
  if (flag) return flag;
  if (!err) return cpRefuse(&P->log, __func__, "err must not be NULL");
  if (!P->kind->check)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    P->kind == &cpUserKind
                        ? "a user-supplied projection has no Jacobian"
                        : "P is the projector of a mechanical system: see CPMechCheck");
  flag = P->kind->update(P->work->self, t, y, ewt);
  if (!flag) flag = P->kind->check(P->work->self, t, y, ewt, err, &i, &j);
  cpWorkForget(P->work);
  if (flag) return report(P, -abs(flag), __func__);
  if (row) *row = i;
  if (col) *col = j;
  return CP_SUCCESS;
}

int CPProjectorGetRank(CPProjector P, sunindextype *rank, int *dependent) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, __func__, "P must not be NULL");
  if (!rank) return cpRefuse(&P->log, __func__, "rank must not be NULL");
  if (P->kind == &cpUserKind || P->stats.linsol == CP_LINSOL_PRODUCTS)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "only the solvers that factor a matrix find a rank");
  if (dependent && !P->c_tmpl)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "dependent is for the rows of a constraint function, and there is none");
  if (P->stats.rank < 0)
    return cpReport(&P->log, CP_NO_INIT, __func__, "nothing has been factored yet");
  *rank = P->stats.rank;
  for (int i = 0; dependent && i < P->mc; i++) dependent[i] = P->is_dependent[i];
  return CP_SUCCESS;
}

int CPProjectorGetLinearSolver(CPProjector P, CPLinSol *type, const char **reason) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, __func__, "P must not be NULL");
  if (!type) return cpRefuse(&P->log, __func__, "type must not be NULL");
  if (P->kind == &cpUserKind)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "a user-supplied projection has no linear solver of ours");
  if (P->stats.linsol == CP_LINSOL_AUTO)
    return cpReport(&P->log, CP_NO_INIT, __func__, "nothing has been projected yet");
  *type = P->stats.linsol;
  if (reason) *reason = P->reason;
  return CP_SUCCESS;
}
