/* Are the products those of the constraints, and each other's transpose? */
#include "krylov_impl.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* (G v, w) - (v, G^T w) next to the size of its terms: roundoff leaves 1e-15; products in single
 * precision 1e-7. */
#define NOT_TRANSPOSED 1.0e-6

sunindextype cpLocalLength(N_Vector v) {
  if (cpHasData(v)) return N_VGetLength(v);
  const N_Vector_ID id = N_VGetVectorID(v);
  const int parallel   = id == SUNDIALS_NVEC_PARALLEL || id == SUNDIALS_NVEC_CUSTOM;
  if (!parallel || !v->ops->nvgetarraypointer || !v->ops->nvgetlocallength) return -1;
  return v->ops->nvgetlocallength(v);
}

/* Where vectors are distributed that of the first state (FNV-1a): the same in each run, and on
 * another process another one, since equal directions there might cancel in a constraint between
 * the two. */
static unsigned seedOf(N_Vector y) {
  const sunindextype length = cpHasData(y) ? 0 : cpLocalLength(y);
  const sunrealtype *entry  = length > 0 ? N_VGetArrayPointer(y) : NULL;
  uint32_t hash             = 2166136261u;
  for (sunindextype j = 0; j < length; j++) {
    unsigned char bytes[sizeof entry[j]];
    memcpy(bytes, &entry[j], sizeof bytes);
    for (size_t b = 0; b < sizeof bytes; b++) hash = (hash ^ bytes[b]) * 16777619u;
  }
  return hash ? hash : 1u;
}

int cpKrylovRandom(CPWork work, int number, N_Vector v) {
  const CPKrylov k          = work->krylov;
  const sunindextype length = cpLocalLength(v);
  if (length < 0) {
    N_VConst(1.0, v);
    return 0;
  }
  if (k->seed == 0) k->seed = seedOf(k->y);
  unsigned state     = k->seed + 7919u * (unsigned)number;
  sunrealtype *entry = N_VGetArrayPointer(v);
  for (int i = 0; i < 4; i++) cpUniform(&state); /* apart from its neighbours' */
  for (sunindextype j = 0; j < length; j++) entry[j] = cpUniformAwayFromZero(&state);
  return 1;
}

/* v <- u h max(|y|, typical, 1/w), roughly: u pseudo-random, h the step of a central difference */
static void chooseStep(CPWork work, N_Vector y, int number, N_Vector v) {
  const CPKrylov k = work->krylov;
  const double h   = cbrt(CP_UROUND);
  cpKrylovRandom(work, number, v);
  N_VAbs(y, k->s);
  N_VAddConst(k->s, cpTypicalSize(y), k->s);
  N_VInv(k->w, k->g);
  N_VLinearSum(h, k->s, h, k->g, k->s);
  N_VProd(v, k->s, v);
}

/* k->q <- G v, k->Bq <- (c(t, y + v) - c(t, y - v)) / 2, v in k->d; k->c2 is c at the last */
static int bothProducts(CPWork work, sunrealtype t, N_Vector y) {
  const CPKrylov k = work->krylov;
  int flag         = cpKrylovTimes(work, t, y, k->d, k->q);
  if (flag) return flag;
  if (!cpVectorFinite(k->q))
    return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                    "at t = %.15g: the product G v has a NaN or Inf", t);
  N_VLinearSum(1.0, y, 1.0, k->d, work->v);
  flag = cpUserConstraint(work, t, work->v, k->Bq);
  N_VLinearSum(1.0, y, -1.0, k->d, work->v);
  if (!flag) flag = cpUserConstraint(work, t, work->v, k->c2);
  if (!flag) N_VLinearSum(0.5, k->Bq, -0.5, k->c2, k->Bq);
  return flag;
}

/* |(G v, w) - (v, G^T w)| over its terms, with w such that all rows weigh the same: G v in k->q */
static int transposeError(CPWork work, sunrealtype t, N_Vector y, int number, double *err) {
  const CPKrylov k   = work->krylov;
  const double least = 1.0e-14 * N_VMaxNorm(k->q);
  cpKrylovRandom(work, number, k->z);
  N_VAbs(k->q, k->m1);
  N_VAddConst(k->m1, least > 0.0 ? least : 1.0, k->m1);
  N_VDiv(k->z, k->m1, k->z); /* w */
  const int flag = cpKrylovTransTimes(work, t, y, k->z, k->g);
  if (flag) return flag;
  if (!cpVectorFinite(k->g))
    return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                    "at t = %.15g: the product G^T w has a NaN or Inf", t);
  const double difference = fabs(N_VDotProd(k->q, k->z) - N_VDotProd(k->d, k->g));
  N_VProd(k->q, k->z, k->m1);
  N_VProd(k->d, k->g, k->s);
  const double terms = N_VL1Norm(k->m1) + N_VL1Norm(k->s);
  *err               = terms > 0.0 ? difference / terms : 0.0;
  return CP_SUCCESS;
}

/* Largest part of a row by which G v is not the derivative; noise is let off. */
static double rowError(CPWork work) {
  const CPKrylov k = work->krylov;
  N_VLinearSum(1.0, k->q, -1.0, k->Bq, k->z); /* what is wrong */
  N_VAbs(k->q, k->m1);
  N_VAbs(k->Bq, k->m2);
  N_VLinearSum(1.0, k->m1, 1.0, k->m2, k->m1);
  N_VAbs(k->c2, k->m2);
  N_VAddConst(k->m2, 1.0, k->m2);
  N_VLinearSum(1.0, k->m1, 1.0e3 * CP_UROUND / CP_WRONG_JACOBIAN, k->m2, k->m1);
  N_VDiv(k->z, k->m1, k->z);
  return N_VMaxNorm(k->z);
}

/* Both errors along one pair of directions. */
static int probeOnce(CPWork work, sunrealtype t, N_Vector y, int number, double *transpose,
                     double *product) {
  const CPKrylov k = work->krylov;
  chooseStep(work, y, number, k->d);
  int flag = bothProducts(work, t, y);
  if (flag) return flag;
  *product = rowError(work);
  return transposeError(work, t, y, number + 1, transpose);
}

int cpKrylovProductsWrong(CPWork work, sunrealtype t, N_Vector y, const char *before) {
  double transpose = 0.0, product = 0.0;
  int flag = CP_SUCCESS;
  for (int number = 10; number <= 12; number += 2) { /* suspicious twice is wrong */
    flag = probeOnce(work, t, y, number, &transpose, &product);
    if (flag)
      return flag > 0 ? CP_SUCCESS : flag; /* c does not reach that far: nothing to compare */
    if (transpose <= NOT_TRANSPOSED && product <= CP_WRONG_JACOBIAN) return CP_SUCCESS;
  }
  if (product > CP_WRONG_JACOBIAN)
    return cpReason(
        work->text, -CP_CNSTRJAC_WRONG,
        "at t = %.15g: %sthe product G v is not the derivative of c along v (relative error "
        "%.1e of a constraint, CPProjectorCheckJacTimes)",
        t, before, product);
  return cpReason(
      work->text, -CP_CNSTRJAC_WRONG,
      "at t = %.15g: %sthe product G^T w is not the transpose of G v: (G v, w) and (v, G^T "
      "w) differ by %.1e of their terms (CPProjectorCheckJacTimes)",
      t, before, transpose);
}

int cpKrylovProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  int flag = cpKrylovUpdate(work);
  if (!flag) flag = cpKrylovPlace(work, t, y, ewt);
  return flag ? flag : cpKrylovProductsWrong(work, t, y, "");
}

/* Largest difference between G v and that of c, over the largest entry of G v. */
static double productError(const CPKrylov k) {
  N_VLinearSum(1.0, k->q, -1.0, k->Bq, k->m1);
  const double size = N_VMaxNorm(k->q), difference = N_VMaxNorm(k->m1);
  return size > 0.0 ? difference / size : difference > 0.0 ? 1.0 : 0.0;
}

static int checkProducts(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt, double *transpose,
                         double *product) {
  int flag = cpKrylovStorage(work);
  if (!flag) flag = cpKrylovPlace(work, t, y, ewt);
  if (!flag) flag = probeOnce(work, t, y, 10, transpose, product);
  if (!flag) *product = productError(work->krylov);
  work->valid = 0;
  return flag;
}

int CPProjectorCheckJacTimes(CPProjector P, sunrealtype t, N_Vector y, N_Vector ewt,
                             sunrealtype *err_transpose, sunrealtype *err_product) {
  double transpose, product;
  int flag = cpCheckState(P, y, ewt, __func__);
  if (flag) return flag;
  if (P->method)
    return cpReport(&P->log, CP_NOT_SUPPORTED, __func__,
                    "P is the projector of a mechanical system: see CPMechCheck");
  if (P->user_kind || !P->Gv)
    return cpReport(&P->log, CP_ILL_INPUT, __func__,
                    "there are no products to check: CPProjectorSetJacTimes gives them");
  flag = checkProducts(P->work, t, y, ewt, &transpose, &product);
  if (flag) return cpReport(&P->log, flag > 0 ? -flag : flag, __func__, "%s", P->work->text);
  if (err_transpose) *err_transpose = transpose;
  if (err_product) *err_product = product;
  return CP_SUCCESS;
}
