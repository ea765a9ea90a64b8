/* The problem kept by the matrix-free kind: state of the products, metric, levels and
 * preconditioner. */
#include "matrixfree_impl.h"

#include <stdlib.h>

/* ---- the user's functions ---- */

/* Returns the code for the result of a user function. Failures of the products G v and G^T w, of
 * the metric and of the preconditioner may be recoverable, since they may vanish with a smaller
 * step. */
static int codeOf(CPMatrixFree k, const char *name, int flag) {
  return cpUserResult(k->work->text, flag, k->t, name);
}

static int product(CPMatrixFree k, CPProductFn function, const char *name, N_Vector v,
                   N_Vector result) {
  CP_COUNT(k->work, nprods);
  const int flag = codeOf(
      k, name, cpCallProjector(k->work, function(k->t, k->y, v, result, cpWorkData(k->work))));
  if (flag || cpVectorFinite(result)) return flag;
  return cpReason(k->work->text, -CP_CNSTRJAC_NONFINITE, "at t = %.10g: %s has a NaN or Inf", k->t,
                  name);
}

int cpFreeTimes(CPMatrixFree k, N_Vector v, N_Vector Gv) {
  return product(k, k->given->Gv, "the product G v", v, Gv);
}

int cpFreeTransposed(CPMatrixFree k, N_Vector w, N_Vector GTw) {
  return product(k, k->given->GTw, "the product G^T w", w, GTw);
}

int cpFreeMetric(CPMatrixFree k, int l, N_Vector x, N_Vector Dx) {
  int flag = CP_SUCCESS;
  if (!k->given->metric) N_VProd(k->level[l].D, x, Dx);
  else
    flag =
        codeOf(k, "the metric",
               cpCallProjector(k->work, k->given->metric(k->t, k->y, x, Dx, cpWorkData(k->work))));
  if (flag || cpVectorFinite(Dx)) return flag;
  return cpReason(k->work->text, -CP_REPTD_USERFUNC_ERR, "at t = %.10g: the metric gave NaN or Inf",
                  k->t);
}

int cpFreeSchurDiag(CPMatrixFree k, N_Vector D, N_Vector diag) {
  const int flag =
      codeOf(k, "the diagonal of G D G^T",
             cpCallProjector(k->work, k->given->diag(k->t, k->y, D, diag, cpWorkData(k->work))));
  if (flag) return flag;
  if (!cpVectorFinite(diag))
    return cpReason(k->work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.10g: the diagonal of G D G^T has a NaN or Inf", k->t);
  if (N_VMin(diag) < 0.0)
    return cpReason(k->work->text, CP_USERFUNC_FAIL,
                    "at t = %.10g: the diagonal of G D G^T, a sum of squares, has the entry %g",
                    k->t, N_VMin(diag));
  return CP_SUCCESS;
}

/* ---- the functions for conjugate gradients ---- */

void cpFreeMask(const CPMatrixFree k, int l, N_Vector x) {
  if (k->masked) N_VProd(k->level[l].rows, x, x);
}

static int levelTimes(void *self, N_Vector v, N_Vector Gv) {
  const CPFreeLevel *level = self;
  const int flag           = cpFreeTimes(level->k, v, Gv);
  if (!flag) cpFreeMask(level->k, level->l, Gv);
  return flag;
}

static int levelTransposed(void *self, N_Vector w, N_Vector GTw) {
  return cpFreeTransposed(((const CPFreeLevel *)self)->k, w, GTw);
}

static int levelMetric(void *self, N_Vector x, N_Vector Dx) {
  const CPFreeLevel *level = self;
  return cpFreeMetric(level->k, level->l, x, Dx);
}

static int byUser(void *self, N_Vector r, N_Vector z) {
  const CPFreeLevel *level = self;
  const CPMatrixFree k     = level->k;
  CP_COUNT(k->work, npsolves);
  if (k->masked) N_VConst(0.0, z); /* psolve need not set rows that are masked */
  const int flag = cpCallProjector(k->work, k->given->psolve(k->t, k->y, r, z, cpWorkData(k->work)));
  cpFreeMask(k, level->l, z);
  return codeOf(k, "the preconditioner's solve", flag);
}

static const CPKrylovProducts plain    = {levelTimes, levelTransposed, levelMetric, NULL};
static const CPKrylovProducts withUser = {levelTimes, levelTransposed, levelMetric, byUser};

int cpFreeSolve(CPMatrixFree k, int l, double rtol, N_Vector mu) {
  char text[CP_TEXT_LENGTH] = "";
  long int iterations       = 0;
  CP_COUNT(k->work, nlinsolves);
  k->level[l].cg->products = k->given->psolve ? &withUser : &plain;
  const int flag = cpKrylovSolve(k->level[l].cg, k->weight, rtol, k->r, k->x, mu, &iterations, text);
  cpWorkCount(k->work, CP_COUNTER(nli), iterations);
  if (text[0]) cpReason(k->work->text, flag, "at t = %.10g: %s", k->t, text);
  return flag;
}

/* ---- life cycle ---- */

/* Frees what depends on the number of levels. */
static void clear(CPMatrixFree k) {
  for (int l = 0; l < k->nlevels; l++) cpKrylovFree(&k->level[l].cg);
  cpArenaFree(&k->arena);
  k->nlevels = 0;
}

static void freeWork(void *self) {
  clear(self);
  cpArenaFree(&((CPMatrixFree)self)->base);
  free(self);
}

static void *create(void *model, CPWork work) {
  CPMatrixFree k = calloc(1, sizeof *k);
  if (!k) return NULL;
  k->work     = work;
  k->given    = model;
  k->revision = -1;
  cpNewtonInit(&k->newton, &k->base, &cpFreeParts, k, work, work->P->y_tmpl);
  cpWorkSetIterations(work, &k->newton, NULL);
  if (!cpArenaStatus(&k->base)) return k;
  freeWork(k);
  return NULL;
}

static int open(CPMatrixFree k, int nlevels) {
  const CPProjector P = k->work->P;
  clear(k);
  CP_VECTORS(&k->arena, P->y_tmpl, &k->y, &k->w, &k->x);
  CP_VECTORS(&k->arena, P->c_tmpl, &k->dead, &k->weight, &k->distance, &k->jacobi, &k->frozen,
             &k->c, &k->c2, &k->r, &k->mu, &k->m1, &k->m2);
  int flag = cpArenaStatus(&k->arena);
  for (int l = 0; !flag && l < nlevels; l++) {
    CPFreeLevel *level = &k->level[l];
    *level             = (CPFreeLevel){.k = k, .l = l};
    level->D           = cpArenaVector(&k->arena, P->y_tmpl);
    level->rows        = cpArenaVector(&k->arena, P->c_tmpl);
    k->nlevels         = l + 1;
    flag               = cpKrylovCreate(&level->cg, &plain, level, P->y_tmpl, k->jacobi);
  }
  if (flag || cpArenaStatus(&k->arena)) {
    clear(k);
    return CP_MEM_FAIL;
  }
  const CPKrylov cg = k->level[0].cg;
  k->z = cg->z, k->q = cg->q, k->Bq = cg->Bq, k->p = cg->p;
  k->d = cg->d, k->g = cg->g, k->s = cg->s;
  return CP_SUCCESS;
}

/* ---- set-up ---- */

static int update(void *self, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPMatrixFree k = self;
  const CPProjector P  = k->work->P;
  const int nlevels    = P->nlevels > 0 ? P->nlevels : 1;
  (void)t, (void)y, (void)ewt;
  if (k->revision == P->revision && k->contents == P->options.contents) return CP_SUCCESS;
  k->products_are_right = 0;
  cpNewtonReset(&k->newton);
  const char *missing = cpVectorLacks(P->y_tmpl, CP_FOR_PRODUCTS);
  if (!missing) missing = cpVectorLacks(P->c_tmpl, CP_FOR_PRODUCTS);
  if (missing)
    return cpReason(k->work->text, CP_VECTOROP_ERR, "products need vectors with the operation %s",
                    missing);
  if (k->given->metric && (nlevels > 1 || P->free))
    return cpReason(k->work->text, CP_NOT_SUPPORTED,
                    "products cannot honour %s with a metric of the user's "
                    "(CPProjectorSetMetricProduct): use the error norm, or G as a matrix",
                    P->free ? "components that are fixed" : "levels");
  if (k->nlevels != nlevels && open(k, nlevels))
    return cpReason(k->work->text, CP_MEM_FAIL, "no memory for conjugate gradients");
  k->revision = P->revision;
  k->contents = P->options.contents;
  cpWorkSetSolver(k->work, CP_LINSOL_PRODUCTS, nlevels);
  cpWrite(P->reason, "products with G are all that was given");
  return CP_SUCCESS;
}

/* ---- the kept problem ---- */

int cpFreePlace(CPMatrixFree k, sunrealtype t, N_Vector y, N_Vector ewt) {
  k->t = t;
  N_VScale(1.0, y, k->y);
  if (!ewt) {
    N_VAbs(y, k->w);
    N_VAddConst(k->w, 1.0, k->w);
    N_VScale(CP_BLIND_TOLERANCE, k->w, k->w);
    N_VInv(k->w, k->w);
    return CP_SUCCESS;
  }
  N_VScale(1.0, ewt, k->w);
  if (cpVectorFinite(ewt) && N_VMin(ewt) >= CP_LEAST_WEIGHT) return CP_SUCCESS;
  return cpReason(k->work->text, CP_ILL_INPUT,
                  "ewt must be finite and at least %g: its least entry is %g", CP_LEAST_WEIGHT,
                  N_VMin(ewt));
}

/* mask_i <- 1 if level_i = l and on_i is not 0, else 0; level and on may be NULL. */
static void setMask(const int *level, int l, const int *on, N_Vector mask) {
  const sunindextype length = level || on ? cpLocalLength(mask) : 0;
  sunrealtype *entry        = length > 0 ? N_VGetArrayPointer(mask) : NULL;
  N_VConst(1.0, mask);
  for (sunindextype i = 0; i < length; i++)
    entry[i] = (!level || level[i] == l) && (!on || on[i] != 0);
}

/* Sets the rows of a level that are switched on, and D on its free columns: 1/w^2, which
 * CP_LEAST_WEIGHT keeps finite, or 1. */
static void setLevel(CPMatrixFree k, int l) {
  CPProjector P = k->work->P;
  N_Vector D    = k->level[l].D;
  cpKrylovReset(k->level[l].cg);
  setMask(P->nlevels > 1 ? P->row_level : NULL, l, P->active, k->level[l].rows);
  setMask(P->nlevels > 1 ? P->col_level : NULL, l, P->free, D);
  if (k->work->norm == CP_NORM_L2 || k->given->metric) return;
  N_VDiv(D, k->w, D);
  N_VDiv(D, k->w, D);
}

int cpFreeRenew(CPMatrixFree k, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = cpFreePlace(k, t, y, ewt);
  CP_COUNT(k->work, nje);
  if (flag) return flag;
  for (int l = 0; l < k->nlevels; l++) setLevel(k, l);
  flag = cpFreeMeasure(k);
  if (!flag) flag = cpFreeCheckLevels(k);
  if (flag || !k->given->psolve || !k->given->psetup) return flag;
  N_VConst(0.0, k->d); /* the preconditioner is set up for D of all levels together */
  for (int l = 0; l < k->nlevels; l++) N_VLinearSum(1.0, k->d, 1.0, k->level[l].D, k->d);
  CP_COUNT(k->work, nsetups);
  return codeOf(k, "the preconditioner's set-up",
                cpCallProjector(k->work, k->given->psetup(k->t, k->y, k->given->metric ? NULL : k->d,
                                                          cpWorkData(k->work))));
}

/* ---- the kind ---- */

static const CPProjectorKind kind = {.takes     = CP_TAKES_ROWS,
                                     .create    = create,
                                     .free      = freeWork,
                                     .release   = free,
                                     .update    = update,
                                     .tangent   = cpFreeTangent,
                                     .cotangent = cpFreeCotangent,
                                     .probe     = cpFreeProbe,
                                     .check     = cpFreeCheck};

CPProjector CPProjectorCreateProducts(CPConstraintFn c, CPProductFn Gv, CPProductFn GTw,
                                      N_Vector y_tmpl, N_Vector c_tmpl, SUNContext ctx) {
  const char *missing = !c ? "c" : !Gv ? "Gv" : !GTw ? "GTw" : !c_tmpl ? "c_tmpl" : NULL;
  if (missing) return cpRefuse(NULL, __func__, "%s must not be NULL", missing), NULL;
  if (cpCheckTemplates(c, y_tmpl, c_tmpl, ctx, __func__)) return NULL;
  CPProducts *given = calloc(1, sizeof *given);
  if (given) *given = (CPProducts){.Gv = Gv, .GTw = GTw};
  CPProjector P = given ? cpProjectorCreateKind(&kind, given, c, y_tmpl, c_tmpl, ctx) : NULL;
  if (!P) cpReport(NULL, CP_MEM_FAIL, __func__, "no memory for a projector");
  return P;
}

static int check(CPProjector P, const char *function) {
  if (!P) return cpReport(NULL, CP_MEM_NULL, function, "P must not be NULL");
  const int flag = cpIdle(&P->log, function);
  if (flag || P->kind == &kind) return flag;
  return cpReport(&P->log, CP_NOT_SUPPORTED, function, "%s",
                  P->kind->refusal ? P->kind->refusal
                                   : "P is not a projector of CPProjectorCreateProducts");
}

/* The products of P, whose results so far are not to be used again. */
static CPProducts *change(CPProjector P) {
  P->revision++;
  return P->model;
}

int CPProjectorSetSchurDiag(CPProjector P, CPProductFn diag) {
  const int flag = check(P, __func__);
  if (!flag) change(P)->diag = diag;
  return flag;
}

int CPProjectorSetPreconditioner(CPProjector P, CPPrecSetupFn psetup, CPProductFn psolve) {
  const int flag = check(P, __func__);
  if (flag) return flag;
  if (psetup && !psolve)
    return cpRefuse(&P->log, __func__, "psolve must not be NULL with a psetup");
  CPProducts *given = change(P);
  given->psetup     = psetup;
  given->psolve     = psolve;
  return CP_SUCCESS;
}

int CPProjectorSetMetricProduct(CPProjector P, CPProductFn D) {
  const int flag = check(P, __func__);
  if (flag) return flag;
  change(P)->metric = D;
  P->has_metric     = D != NULL;
  return CP_SUCCESS;
}
