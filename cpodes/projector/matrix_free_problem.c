/* The problem kept by the matrix-free kind: state of the products, metric, levels and
 * preconditioner. */
#include "matrix_free.h"

#include <float.h>
#include <stdlib.h>

/* ---- the user's functions ---- */

/* Returns the code for the result of a user function. Failures of the products G v and G^T w, of
 * the metric and of the preconditioner may be recoverable, since they may vanish with a smaller
 * step. */
static int codeOf(CPWork work, const char *name, int flag) {
  return cpUserResult(work->text, flag, work->free->t, name);
}

static int product(CPWork work, CPJacTimesFn function, const char *name, N_Vector v,
                   N_Vector result) {
  const CPMatrixFree k = work->free;
  CP_COUNT(work, nprods);
  const int flag =
      codeOf(work, name, cpCallProjector(work, function(k->t, k->y, v, result, cpWorkData(work))));
  if (flag || cpVectorFinite(result)) return flag;
  return cpReason(work->text, -CP_CNSTRJAC_NONFINITE, "at t = %.10g: %s has a NaN or Inf", k->t,
                  name);
}

int cpFreeTimes(CPWork work, N_Vector v, N_Vector Gv) {
  return product(work, work->P->user.Gv, "the product G v", v, Gv);
}

int cpFreeTransposed(CPWork work, N_Vector w, N_Vector GTw) {
  return product(work, work->P->user.GTw, "the product G^T w", w, GTw);
}

int cpFreeMetric(CPWork work, int l, N_Vector x, N_Vector Dx) {
  const CPMatrixFree k = work->free;
  const CPProjector P  = work->P;
  int flag             = CP_SUCCESS;
  if (!P->user.metric) N_VProd(k->level[l].D, x, Dx);
  else
    flag = codeOf(work, "the metric",
                  cpCallProjector(work, P->user.metric(k->t, k->y, x, Dx, cpWorkData(work))));
  if (flag || cpVectorFinite(Dx)) return flag;
  return cpReason(work->text, -CP_REPTD_USERFUNC_ERR, "at t = %.10g: the metric gave NaN or Inf",
                  k->t);
}

int cpFreeSchurDiag(CPWork work, N_Vector D, N_Vector diag) {
  const CPMatrixFree k = work->free;
  CPProjector P        = work->P;
  const int flag =
      codeOf(work, "the diagonal of G D G^T",
             cpCallProjector(work, P->user.schurdiag(k->t, k->y, D, diag, cpWorkData(work))));
  if (flag) return flag;
  if (!cpVectorFinite(diag))
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.10g: the diagonal of G D G^T has a NaN or Inf", k->t);
  if (N_VMin(diag) < 0.0)
    return cpReason(work->text, CP_USERFUNC_FAIL,
                    "at t = %.10g: the diagonal of G D G^T, a sum of squares, has the entry %g",
                    k->t, N_VMin(diag));
  return CP_SUCCESS;
}

/* ---- the functions for conjugate gradients ---- */

void cpFreeMask(const CPWork work, int l, N_Vector x) {
  if (work->free->masked) N_VProd(work->free->level[l].rows, x, x);
}

static int levelTimes(void *self, N_Vector v, N_Vector Gv) {
  const CPFreeLevel *level = self;
  const int flag           = cpFreeTimes(level->work, v, Gv);
  if (!flag) cpFreeMask(level->work, level->l, Gv);
  return flag;
}

static int levelTransposed(void *self, N_Vector w, N_Vector GTw) {
  return cpFreeTransposed(((const CPFreeLevel *)self)->work, w, GTw);
}

static int levelMetric(void *self, N_Vector x, N_Vector Dx) {
  const CPFreeLevel *level = self;
  return cpFreeMetric(level->work, level->l, x, Dx);
}

static int byUser(void *self, N_Vector r, N_Vector z) {
  const CPFreeLevel *level = self;
  const CPWork work        = level->work;
  const CPMatrixFree k     = work->free;
  CP_COUNT(work, npsolves);
  if (k->masked) N_VConst(0.0, z); /* psolve need not set rows that are masked */
  const int flag = cpCallProjector(work, work->P->user.psolve(k->t, k->y, r, z, cpWorkData(work)));
  cpFreeMask(work, level->l, z);
  return codeOf(work, "the preconditioner's solve", flag);
}

static const CPKrylovProducts plain    = {levelTimes, levelTransposed, levelMetric, NULL};
static const CPKrylovProducts withUser = {levelTimes, levelTransposed, levelMetric, byUser};

int cpFreeSolve(CPWork work, int l, double goal, N_Vector mu) {
  const CPMatrixFree k      = work->free;
  char text[CP_TEXT_LENGTH] = "";
  long int iterations       = 0;
  CP_COUNT(work, nlinsolves);
  k->level[l].cg->products = work->P->user.psolve ? &withUser : &plain;
  const int flag = cpKrylovSolve(k->level[l].cg, k->weight, goal, k->r, k->x, mu, &iterations, text);
  cpWorkCount(work, CP_COUNTER(nli), iterations);
  if (text[0]) cpReason(work->text, flag, "at t = %.10g: %s", k->t, text);
  return flag;
}

/* ---- life cycle ---- */

void cpMatrixFreeFree(CPMatrixFree *address) {
  CPMatrixFree k = *address;
  if (!k) return;
  for (int l = 0; l < k->nlevels; l++) cpKrylovFree(&k->level[l].cg);
  cpArenaFree(&k->arena);
  free(k);
  *address = NULL;
}

static CPMatrixFree create(CPWork work, int nlevels) {
  const CPProjector P = work->P;
  CPMatrixFree k      = calloc(1, sizeof *k);
  if (!k) return NULL;
  CP_VECTORS(&k->arena, P->y_tmpl, &k->y, &k->w, &k->x);
  CP_VECTORS(&k->arena, P->c_tmpl, &k->dead, &k->weight, &k->distance, &k->jacobi, &k->frozen,
             &k->c, &k->c2, &k->r, &k->mu, &k->m1, &k->m2);
  int flag    = cpArenaStatus(&k->arena);
  k->nlevels  = nlevels;
  k->revision = -1;
  for (int l = 0; !flag && l < nlevels; l++) {
    CPFreeLevel *level = &k->level[l];
    level->work        = work;
    level->l           = l;
    level->D           = cpArenaVector(&k->arena, P->y_tmpl);
    level->rows        = cpArenaVector(&k->arena, P->c_tmpl);
    flag               = cpKrylovCreate(&level->cg, &plain, level, P->y_tmpl, k->jacobi);
  }
  if (flag || cpArenaStatus(&k->arena)) {
    cpMatrixFreeFree(&k);
    return NULL;
  }
  const CPKrylov cg = k->level[0].cg;
  k->z = cg->z, k->q = cg->q, k->Bq = cg->Bq, k->p = cg->p;
  k->d = cg->d, k->g = cg->g, k->s = cg->s;
  return k;
}

/* ---- set-up ---- */

int cpFreeStorage(CPWork work) {
  CPProjector P = work->P;
  if (!P->user.Gv) /* CPProjectorSetJacTimes sets both products, or neither */
    return cpReason(work->text, CP_ILL_INPUT, "CP_LINSOL_KRYLOV needs CPProjectorSetJacTimes");
  const char *missing = cpVectorLacks(P->y_tmpl, CP_FOR_PRODUCTS);
  if (!missing) missing = cpVectorLacks(P->c_tmpl, CP_FOR_PRODUCTS);
  if (missing)
    return cpReason(work->text, CP_VECTOROP_ERR,
                    "CP_LINSOL_KRYLOV needs vectors with the operation %s", missing);
  const int nlevels = P->row_level_v ? (int)N_VMaxNorm(P->row_level_v) + 1 : 1; /* with rows */
  if (work->free && work->free->nlevels == nlevels) return CP_SUCCESS;
  cpMatrixFreeFree(&work->free);
  work->free = create(work, nlevels);
  return work->free ? CP_SUCCESS
                    : cpReason(work->text, CP_MEM_FAIL, "no memory for conjugate gradients");
}

int cpFreeUpdate(CPWork work) {
  CPProjector P = work->P;
  if (work->free && work->free->revision == P->revision && work->contents == P->options.contents)
    return CP_SUCCESS;
  work->jac_is_right = 0;
  cpNewtonReset(&work->newton);
  int flag = cpFreeStorage(work);
  if (flag) return flag;
  if (P->nnorms > 0)
    return cpReason(
        work->text, CP_NOT_SUPPORTED,
        "unit norms (CPProjectorAddUnitNorm) do not go with CP_LINSOL_KRYLOV: write them "
        "into c and its products");
  if (P->user.metric && (work->free->nlevels > 1 || P->id))
    return cpReason(work->text, CP_NOT_SUPPORTED,
                    "CP_LINSOL_KRYLOV cannot honour %s with a metric of the user's "
                    "(CPProjectorSetMetric): use the error norm, or another solver with a matrix",
                    P->id ? "components that are held" : "levels");
  if (P->user.metric_matrix)
    return cpReason(work->text, CP_NOT_SUPPORTED,
                    "CP_LINSOL_KRYLOV factors no metric matrix: CPProjectorSetMetric takes an "
                    "operator");
  work->free->revision = P->revision;
  work->contents       = P->options.contents;
  work->linsol         = CP_LINSOL_KRYLOV;
  cpWorkSetSolver(work, CP_LINSOL_KRYLOV, work->free->nlevels);
  cpWrite(P->reason, "%s",
          P->options.linsol == CP_LINSOL_AUTO ? "products with G are all that was given"
                                              : "asked for");
  return CP_SUCCESS;
}

/* ---- the kept problem ---- */

int cpFreePlace(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPMatrixFree k = work->free;
  k->t                 = t;
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
  return cpReason(work->text, CP_ILL_INPUT,
                  "ewt must be finite and at least %g: its least entry is %g", CP_LEAST_WEIGHT,
                  N_VMin(ewt));
}

/* mask_i <- 1 if level_i = l and id_i is not 0, else 0. level and id may be NULL; work: like id */
static void setMask(N_Vector level, int l, N_Vector id, N_Vector work, N_Vector mask) {
  N_VConst(1.0, mask);
  if (level) {
    N_VAddConst(level, -l, mask);
    N_VCompare(0.5, mask, mask); /* 1: another level */
    N_VScale(-1.0, mask, mask);
    N_VAddConst(mask, 1.0, mask);
  }
  if (!id) return;
  N_VCompare(DBL_MIN, id, work);
  N_VProd(work, mask, mask);
}

/* Sets the rows of a level that are switched on, and D on its free columns: 1/w^2, which
 * CP_LEAST_WEIGHT keeps finite, or 1. */
static void setLevel(CPWork work, int l) {
  const CPMatrixFree k = work->free;
  CPProjector P        = work->P;
  N_Vector D           = k->level[l].D;
  cpKrylovReset(k->level[l].cg);
  setMask(P->row_level_v, l, P->active, k->m1, k->level[l].rows);
  setMask(P->col_level_v, l, P->id, k->s, D);
  if (work->norm == CP_NORM_L2 || !cpHasDiagonalMetric(P)) return;
  N_VDiv(D, k->w, D);
  N_VDiv(D, k->w, D);
}

int cpFreeRenew(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPMatrixFree k = work->free;
  CPProjector P        = work->P;
  int flag             = cpFreePlace(work, t, y, ewt);
  CP_COUNT(work, nje);
  if (flag) return flag;
  for (int l = 0; l < k->nlevels; l++) setLevel(work, l);
  flag = cpFreeMeasure(work);
  if (!flag) flag = cpFreeCheckLevels(work);
  if (flag || !P->user.psolve || !P->user.psetup) return flag;
  N_VConst(0.0, k->d); /* the preconditioner is set up for D of all levels together */
  for (int l = 0; l < k->nlevels; l++) N_VLinearSum(1.0, k->d, 1.0, k->level[l].D, k->d);
  CP_COUNT(work, nsetups);
  return codeOf(work, "the preconditioner's set-up",
                cpCallProjector(work, P->user.psetup(k->t, k->y, cpHasDiagonalMetric(P) ? k->d : NULL,
                                                     cpWorkData(work))));
}
