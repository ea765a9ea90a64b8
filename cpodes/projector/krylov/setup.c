/* The Krylov method's object, and the problem that it keeps: products at a state, metric, levels.
 */
#include "krylov_impl.h"

#include <float.h>
#include <stdlib.h>

/* ---- life cycle ---- */

/* The vectors by length, for a loop; NULL ends. */
static void listVectors(CPKrylov k, N_Vector *ofN[16], N_Vector *ofM[20]) {
  N_Vector *n[] = {&k->y, &k->w, &k->x, &k->d, &k->g, &k->s, NULL};
  N_Vector *m[] = {&k->dead, &k->weight, &k->distance, &k->jacobi, &k->c,  &k->c2,
                   &k->r,    &k->z,      &k->q,        &k->Bq,     &k->mu, &k->p,
                   &k->m1,   &k->m2,     &k->frozen,   NULL};
  for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) ofN[i] = n[i];
  for (size_t i = 0; i < sizeof m / sizeof m[0]; i++) ofM[i] = m[i];
}

static void destroy(N_Vector *v) {
  if (*v) N_VDestroy(*v);
  *v = NULL;
}

void cpKrylovFree(CPKrylov *address) {
  CPKrylov k = address ? *address : NULL;
  if (!k) return;
  N_Vector *ofN[16], *ofM[20];
  listVectors(k, ofN, ofM);
  for (int i = 0; ofN[i]; i++) destroy(ofN[i]);
  for (int i = 0; ofM[i]; i++) destroy(ofM[i]);
  for (int l = 0; l < CP_MAX_LEVELS; l++) {
    destroy(&k->D[l]);
    destroy(&k->rows[l]);
  }
  free(k->xl);
  free(k);
  *address = NULL;
}

static CPKrylov create(const CPProjector P, int nlevels) {
  CPKrylov k = calloc(1, sizeof *k);
  N_Vector *ofN[16], *ofM[20];
  int memory = k != NULL;
  if (!memory) return NULL;
  listVectors(k, ofN, ofM);
  for (int i = 0; memory && ofN[i]; i++) memory = (*ofN[i] = N_VClone(P->y_tmpl)) != NULL;
  for (int i = 0; memory && ofM[i]; i++) memory = (*ofM[i] = N_VClone(P->c_tmpl)) != NULL;
  for (int l = 0; memory && l < nlevels; l++)
    memory = (k->D[l] = N_VClone(P->y_tmpl)) && (k->rows[l] = N_VClone(P->c_tmpl));
  k->nlevels  = nlevels;
  k->revision = -1;
  if (!memory) cpKrylovFree(&k);
  return k;
}

/* ---- what is asked for ---- */

static const char *missingOperation(N_Vector v) {
  const N_Vector_Ops o = v->ops;
  const struct {
    const char *name;
    int there;
  } all[] = {{"N_VClone", o->nvclone != NULL},
             {"N_VDestroy", o->nvdestroy != NULL},
             {"N_VGetLength", o->nvgetlength != NULL},
             {"N_VLinearSum", o->nvlinearsum != NULL},
             {"N_VConst", o->nvconst != NULL},
             {"N_VProd", o->nvprod != NULL},
             {"N_VDiv", o->nvdiv != NULL},
             {"N_VScale", o->nvscale != NULL},
             {"N_VAbs", o->nvabs != NULL},
             {"N_VInv", o->nvinv != NULL},
             {"N_VAddConst", o->nvaddconst != NULL},
             {"N_VDotProd", o->nvdotprod != NULL},
             {"N_VMaxNorm", o->nvmaxnorm != NULL},
             {"N_VMin", o->nvmin != NULL},
             {"N_VL1Norm", o->nvl1norm != NULL},
             {"N_VCompare", o->nvcompare != NULL}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (!all[i].there) return all[i].name;
  return NULL;
}

/* The products, and vectors that can be computed with. */
static int checkProducts(CPWork work) {
  CPProjector P = work->P;
  if (!P->Gv || !P->GTw)
    return cpReason(work->text, CP_ILL_INPUT, "CP_LINSOL_KRYLOV needs CPProjectorSetJacTimes");
  const char *missing = missingOperation(P->y_tmpl);
  if (!missing) missing = missingOperation(P->c_tmpl);
  if (missing)
    return cpReason(work->text, CP_VECTOROP_ERR,
                    "CP_LINSOL_KRYLOV needs vectors with the operation %s", missing);
  return CP_SUCCESS;
}

static int checkCombination(CPWork work, int nlevels) {
  CPProjector P = work->P;
  if (P->nnorms > 0)
    return cpReason(
        work->text, CP_NOT_SUPPORTED,
        "unit norms (CPProjectorAddUnitNorm) do not go with CP_LINSOL_KRYLOV: write them "
        "into c and its products");
  if (P->metric && (nlevels > 1 || P->id))
    return cpReason(work->text, CP_NOT_SUPPORTED,
                    "CP_LINSOL_KRYLOV cannot honour %s with a metric that is an operator "
                    "(CPProjectorSetMetric): give it as a matrix, or use the error norm",
                    P->id ? "components that are held" : "levels");
  return CP_SUCCESS;
}

/* Levels 0 ... that have rows. */
static int countLevels(const CPProjector P) {
  return P->row_level_v ? (int)N_VMaxNorm(P->row_level_v) + 1 : 1;
}

int cpKrylovStorage(CPWork work) {
  CPProjector P = work->P;
  int flag      = checkProducts(work);
  if (flag) return flag;
  const int nlevels = countLevels(P);
  if (work->krylov && work->krylov->nlevels == nlevels) return CP_SUCCESS;
  cpKrylovFree(&work->krylov);
  work->krylov = create(P, nlevels);
  return work->krylov ? CP_SUCCESS
                      : cpReason(work->text, CP_MEM_FAIL, "no memory for conjugate gradients");
}

int cpKrylovUpdate(CPWork work) {
  CPProjector P        = work->P;
  const int is_current = work->krylov && work->krylov->revision == P->revision;
  if (is_current && work->contents == P->contents) return CP_SUCCESS;
  work->valid = work->jac_is_right = 0;
  int flag                         = cpKrylovStorage(work);
  if (!flag) flag = checkCombination(work, work->krylov->nlevels);
  if (!flag && !is_current) flag = cpKrylovMetricCreate(work);
  if (flag) return flag;
  work->krylov->revision = P->revision;
  work->contents         = P->contents;
  work->linsol = P->stats.linsol = CP_LINSOL_KRYLOV;
  cpWrite(P->reason, "%s",
          P->linsol == CP_LINSOL_AUTO ? "products with G are all that was given" : "asked for");
  return CP_SUCCESS;
}

/* ---- the kept problem ---- */

int cpKrylovPlace(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPKrylov k = work->krylov;
  work->valid      = 0;
  k->t             = t;
  if (y != k->y) N_VScale(1.0, y, k->y);
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

/* mask <- 1 where level is l, else 0 */
static void levelMask(N_Vector level, int l, N_Vector mask) {
  N_VAddConst(level, -l, mask);
  N_VCompare(0.5, mask, mask); /* 1: another level */
  N_VScale(-1.0, mask, mask);
  N_VAddConst(mask, 1.0, mask);
}

static void setMasks(CPWork work, int l) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  N_VConst(1.0, k->rows[l]);
  if (P->row_level_v) levelMask(P->row_level_v, l, k->rows[l]);
  if (P->active) {
    N_VCompare(DBL_MIN, P->active, k->m1);
    N_VProd(k->m1, k->rows[l], k->rows[l]);
  }
  N_VConst(1.0, k->D[l]);
  if (P->col_level_v) levelMask(P->col_level_v, l, k->D[l]);
  if (P->id) {
    N_VCompare(DBL_MIN, P->id, k->s);
    N_VProd(k->s, k->D[l], k->D[l]);
  }
}

/* D on the level's free columns: 1/w^2 or 1. */
static int setMetric(CPWork work, int l) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  if (work->norm == CP_NORM_L2 || !cpHasDiagonalMetric(P)) return CP_SUCCESS;
  N_VDiv(k->D[l], k->w, k->D[l]);
  N_VDiv(k->D[l], k->w, k->D[l]);
  return cpVectorFinite(k->D[l]) ? CP_SUCCESS
                                 : cpReason(work->text, CP_ILL_INPUT, "1/ewt^2 overflows");
}

int cpKrylovRenew(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovPlace(work, t, y, ewt);
  CP_COUNT(work, nje);
  for (int l = 0; !flag && l < k->nlevels; l++) {
    k->largest[l] = 0.0;
    setMasks(work, l);
    flag = setMetric(work, l);
  }
  if (!flag) flag = cpKrylovMetricRenew(work);
  if (!flag) flag = cpKrylovMeasure(work);
  if (!flag) flag = cpKrylovCheckLevels(work);
  if (!flag) flag = cpKrylovPrecSetup(work);
  if (flag) return flag;
  work->valid            = 1;
  work->stale            = 0;
  work->age              = 0;
  work->P->stats.rank    = -1;
  work->P->stats.nlevels = k->nlevels;
  work->P->stats.linsol  = CP_LINSOL_KRYLOV;
  return CP_SUCCESS;
}
