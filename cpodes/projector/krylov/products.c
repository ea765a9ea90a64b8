/* The user's products, metric and preconditioner, called, counted and masked. */
#include "krylov_impl.h"

static int productFlag(CPWork work, sunrealtype t, const char *name, int flag) {
  if (flag < 0)
    return cpReason(work->text, CP_USERFUNC_FAIL, "at t = %.15g: the product %s failed (%d)", t,
                    name, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.15g: the product %s failed recoverably (%d)", t, name, flag);
  return CP_SUCCESS;
}

int cpKrylovTimes(CPWork work, sunrealtype t, N_Vector y, N_Vector v, N_Vector Gv) {
  CP_COUNT(work, nprods);
  return productFlag(work, t, "G v", work->P->Gv(t, y, v, Gv, work->P->user_data));
}

int cpKrylovTransTimes(CPWork work, sunrealtype t, N_Vector y, N_Vector w, N_Vector GTw) {
  CP_COUNT(work, nprods);
  return productFlag(work, t, "G^T w", work->P->GTw(t, y, w, GTw, work->P->user_data));
}

int cpKrylovTimesChecked(CPWork work, N_Vector v, N_Vector Gv) {
  const CPKrylov k = work->krylov;
  const int flag   = cpKrylovTimes(work, k->t, k->y, v, Gv);
  if (flag || cpVectorFinite(Gv)) return flag;
  return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                  "at t = %.15g: the product G v has a NaN or Inf", k->t);
}

int cpKrylovTransTimesChecked(CPWork work, N_Vector w, N_Vector GTw) {
  const CPKrylov k = work->krylov;
  const int flag   = cpKrylovTransTimes(work, k->t, k->y, w, GTw);
  if (flag || cpVectorFinite(GTw)) return flag;
  return cpReason(work->text, -CP_CNSTRJAC_NONFINITE,
                  "at t = %.15g: the product G^T w has a NaN or Inf", k->t);
}

int cpKrylovMetricChecked(CPWork work, int l, N_Vector x, N_Vector Dx) {
  const int flag = cpKrylovMetric(work, l, x, Dx);
  if (flag || cpVectorFinite(Dx)) return flag;
  return cpReason(work->text, -CP_REPTD_USERFUNC_ERR, "at t = %.15g: the metric gave NaN or Inf",
                  work->krylov->t);
}

int cpKrylovMetric(CPWork work, int l, N_Vector x, N_Vector Dx) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  if (!P->metric) {
    if (P->metric_matrix) return cpKrylovMetricTimes(work, l, x, Dx);
    N_VProd(k->D[l], x, Dx);
    return CP_SUCCESS;
  }
  const int flag = P->metric(k->t, k->y, x, Dx, P->user_data);
  if (flag < 0)
    return cpReason(work->text, CP_USERFUNC_FAIL, "at t = %.15g: the metric failed (%d)", k->t,
                    flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.15g: the metric failed recoverably (%d)", k->t, flag);
  return CP_SUCCESS;
}

static int precFlag(CPWork work, const char *name, int flag) {
  if (flag < 0)
    return cpReason(work->text, CP_USERFUNC_FAIL, "at t = %.15g: %s failed (%d)", work->krylov->t,
                    name, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR, "at t = %.15g: %s failed recoverably (%d)",
                    work->krylov->t, name, flag);
  return CP_SUCCESS;
}

void cpKrylovMask(const CPWork work, int l, N_Vector x) {
  if (work->krylov->masked) N_VProd(work->krylov->rows[l], x, x);
}

int cpKrylovPrecondition(CPWork work, int l, N_Vector r, N_Vector z) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  if (!P->psolve) {
    N_VProd(k->jacobi, r, z);
    return CP_SUCCESS;
  }
  CP_COUNT(work, npsolves);
  if (k->masked) N_VConst(0.0, z); /* rows that are not asked for may be left as they are */
  const int flag = P->psolve(k->t, k->y, r, z, P->user_data);
  cpKrylovMask(work, l, z);
  return precFlag(work, "the preconditioner's solve", flag);
}

int cpKrylovSchurDiag(CPWork work, N_Vector D, N_Vector diag) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  int flag         = P->schurdiag(k->t, k->y, D, diag, P->user_data);
  flag             = precFlag(work, "the diagonal of G D G^T", flag);
  if (flag) return flag;
  if (!cpVectorFinite(diag))
    return cpReason(work->text, -CP_REPTD_USERFUNC_ERR,
                    "at t = %.15g: the diagonal of G D G^T has a NaN or Inf", k->t);
  if (N_VMin(diag) < 0.0)
    return cpReason(work->text, CP_USERFUNC_FAIL,
                    "at t = %.15g: the diagonal of G D G^T, a sum of squares, has the entry %g",
                    k->t, N_VMin(diag));
  return CP_SUCCESS;
}

/* The diagonal of all levels together. */
int cpKrylovPrecSetup(CPWork work) {
  const CPKrylov k = work->krylov;
  CPProjector P    = work->P;
  N_Vector D       = NULL;
  if (!P->psolve || !P->psetup) return CP_SUCCESS;
  if (cpHasDiagonalMetric(P)) {
    D = k->d;
    N_VScale(1.0, k->D[0], D);
    for (int l = 1; l < k->nlevels; l++) N_VLinearSum(1.0, D, 1.0, k->D[l], D);
  }
  CP_COUNT(work, nsetups);
  return precFlag(work, "the preconditioner's set-up", P->psetup(k->t, k->y, D, P->user_data));
}
