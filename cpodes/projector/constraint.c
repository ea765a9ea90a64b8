/* The user's c and G, called and checked; G by difference quotients. */
#include "projector_impl.h"

#include <math.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

static int evaluate(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  int flag = work->P->c(t, y, c, work->P->user_data);
  if (flag < 0)
    return cpReason(work->text, CP_CNSTRFUNC_FAIL,
                    "at t = %.15g: the constraint function failed (%d)", t, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_CNSTRFUNC_ERR,
                    "at t = %.15g: the constraint function failed recoverably (%d)", t, flag);
  int bad = cpFirstNonFinite(c);
  if (bad >= 0)
    return cpReason(work->text, -CP_CNSTR_NONFINITE, "at t = %.15g: constraint %d is %g", t, bad,
                    N_VGetArrayPointer(c)[bad]);
  return CP_SUCCESS;
}

int cpConstraint(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  CP_COUNT(work, nce);
  return evaluate(work, t, y, c);
}

/* Increment of y_j, as a machine number. Where states are small next to the constants of a
 * constraint (displacements from a reference position), the root of roundoff in them is nothing;
 * one tolerance, over which G must be good anyway, is what such a constraint resolves. */
static double increment(double y, double size, double tolerance) {
  const double root = sqrt(CP_UROUND);
  volatile double z = y + fmax(root * size, fmin(tolerance, root));
  return z - y;
}

/* work->c2 <- (c(t, y + h e_j) - c(t, y)) / h; y is perturbed and put back. */
static int differenceColumn(CPWork work, sunrealtype t, N_Vector y, N_Vector c, int j,
                            double typical) {
  sunrealtype *z        = N_VGetArrayPointer(y);
  const sunrealtype *c0 = N_VGetArrayPointer(c);
  sunrealtype *c1       = N_VGetArrayPointer(work->c2);
  const double zj = z[j], h = increment(zj, fmax(fabs(zj), typical), 1.0 / work->w[j]);
  CP_COUNT(work, nceDQ);
  z[j]     = zj + h;
  int flag = evaluate(work, t, y, work->c2);
  z[j]     = zj;
  for (int i = 0; !flag && i < work->P->m; i++) c1[i] = (c1[i] - c0[i]) / h;
  return flag;
}

static int differences(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  const double typical = cpTypicalSize(y);
  int flag             = CP_SUCCESS;
  N_VScale(1.0, y, work->v);
  for (int j = 0; !flag && j < work->P->n; j++) {
    flag = differenceColumn(work, t, work->v, c, j, typical);
    if (!flag)
      memcpy(SUNDenseMatrix_Column(work->G, j), N_VGetArrayPointer(work->c2),
             (size_t)work->P->m * sizeof(sunrealtype));
  }
  return flag;
}

int cpJacobian(CPWork work, sunrealtype t, N_Vector y, N_Vector c) {
  CPProjector P = work->P;
  CP_COUNT(work, nje);
  memset(SUNDenseMatrix_Data(work->G), 0,
         (size_t)SUNDenseMatrix_LData(work->G) * sizeof(sunrealtype));
  if (!P->jac) return differences(work, t, y, c);
  int flag = P->jac(t, y, c, work->G, P->user_data);
  if (flag < 0)
    return cpReason(work->text, CP_CNSTRJAC_FAIL,
                    "at t = %.15g: the constraint Jacobian failed (%d)", t, flag);
  if (flag > 0)
    return cpReason(work->text, -CP_REPTD_CNSTRJAC_ERR,
                    "at t = %.15g: the constraint Jacobian failed recoverably (%d)", t, flag);
  return CP_SUCCESS; /* whose entries cpGradientGather checks */
}

/* Columns weighted by their units 1/w_j; the error of a row is relative to the row's norm. Of each
 * row are kept: its norm squared (work->r), its largest difference (work->rl) and where that is
 * (work->s). */
int cpJacobianError(CPWork work, sunrealtype t, N_Vector y, double *err, int *row, int *col) {
  const int m = work->P->m, n = work->P->n;
  double *norm2 = work->r, *worst = work->rl, *where = work->s;
  *err = 0.0, *row = *col = -1;
  if (!work->P->jac) return CP_SUCCESS;
  int flag = cpConstraint(work, t, y, work->c);
  if (!flag) flag = cpJacobian(work, t, y, work->c);
  if (!flag) flag = cpGradientGather(work, t);
  if (flag) return flag;
  const double typical      = cpTypicalSize(y);
  const sunrealtype *column = N_VGetArrayPointer(work->c2);
  N_VScale(1.0, y, work->v);
  for (int i = 0; i < m; i++) norm2[i] = where[i] = 0.0, worst[i] = -1.0;
  for (int j = 0; j < n; j++) {
    flag = differenceColumn(work, t, work->v, work->c, j, typical);
    if (flag) return flag;
    for (int i = 0; i < m; i++) {
      const double gij = SM_ELEMENT_D(work->G, i, j), dq = column[i];
      const double size = fmax(fabs(gij), fabs(dq)) / work->w[j];
      norm2[i] += size * size;
      if (fabs(gij - dq) / work->w[j] > worst[i])
        worst[i] = fabs(gij - dq) / work->w[j], where[i] = j;
    }
  }
  for (int i = 0; i < m; i++)
    if (norm2[i] > 0.0 && worst[i] / sqrt(norm2[i]) > *err)
      *err = worst[i] / sqrt(norm2[i]), *row = i, *col = (int)where[i];
  return CP_SUCCESS;
}

/* In +-[0.5, 1). */
static double nextDirection(unsigned *state) {
  const double u = cpUniform(state);
  return u < 0.0 ? 0.5 * u - 0.5 : 0.5 * u + 0.5;
}

/* c(t, y + v) - c(t, y - v) against 2 G v for one v without zeros: work->r their difference,
 * work->rl the size of its terms. */
static int probeDirection(CPWork work, sunrealtype t, N_Vector y, int *suspicious) {
  CPProjector P = work->P;
  const int m = P->m, n = P->n;
  const sunrealtype *y0 = N_VGetArrayPointer(y), *c = N_VGetArrayPointer(work->c2);
  sunrealtype *z = N_VGetArrayPointer(work->v);
  const double h = cbrt(CP_UROUND), typical = cpTypicalSize(y);
  for (int i = 0; i < m; i++) work->r[i] = work->rl[i] = 0.0;
  for (int sign = 1; sign >= -1; sign -= 2) {
    unsigned state = 12345u;
    for (int j = 0; j < n; j++) {
      const double vj =
          h * fmax(fmax(fabs(y0[j]), typical), 1.0 / work->w[j]) * nextDirection(&state);
      z[j] = y0[j] + sign * vj;
      for (int i = 0; i < m; i++) {
        const double step = SM_ELEMENT_D(work->G, i, j) * vj;
        work->r[i] -= step;
        work->rl[i] += fabs(step);
      }
    }
    int flag = cpConstraint(work, t, work->v, work->c2);
    if (flag) return flag;
    for (int i = 0; i < m; i++) work->r[i] += sign * c[i];
  }
  *suspicious = 0;
  for (int i = 0; i < m; i++) {
    const double size  = fmax(work->rl[i], fabs(work->r[i]));
    const double noise = 1.0e3 * CP_UROUND * fmax(1.0, fabs(c[i]));
    if (fabs(work->r[i]) > CP_WRONG_JACOBIAN * size + noise) *suspicious = 1;
  }
  return CP_SUCCESS;
}

int cpJacobianProbe(CPWork work, sunrealtype t, N_Vector y, N_Vector ewt) {
  double err;
  int row, col, suspicious = 0;
  if (!work->P->jac) return CP_SUCCESS;
  int flag = CP_SUCCESS;
  if (!work->valid) {
    flag = cpWeights(work, y, ewt);
    if (!flag) flag = cpConstraint(work, t, y, work->c);
    if (!flag) flag = cpJacobian(work, t, y, work->c);
    if (!flag) flag = cpGradientGather(work, t);
  }
  if (flag) return flag;
  flag        = probeDirection(work, t, y, &suspicious);
  work->valid = 0;
  if (flag > 0) return CP_SUCCESS; /* c does not reach that far: nothing to compare */
  if (flag || !suspicious) return flag;
  flag = cpJacobianError(work, t, y, &err, &row, &col);
  if (flag > 0 || (!flag && err <= CP_WRONG_JACOBIAN)) return CP_SUCCESS;
  if (flag) return flag;
  return cpReason(
      work->text, -CP_CNSTRJAC_WRONG,
      "at t = %.15g: entry (%d, %d) of the constraint Jacobian is %g and not the derivative of "
      "constraint %d with respect to component %d (relative error %.1e of the row)",
      t, row, col, SM_ELEMENT_D(work->G, row, col), row, col, err);
}
